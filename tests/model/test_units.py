"""Whole units: who gets how many, what they report, and that nothing else shifts."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest
from scipy import stats

import aftereffect as ae
from aftereffect._random import generator, next_word
from aftereffect.errors import AftereffectError
from aftereffect.model.units import share_out
from aftereffect.model.world import observe, step, unit
from tests.model.worlds import drive, sequence

RESPONSES = [ae.Gaussian(0.45), ae.LinearDecline(0.9, 0.2), ae.SaturatingRise(0.2, 0.8, 4.0)]


def shared(shares: list[float], units: int) -> list[float]:
    given = np.zeros(len(shares))
    share_out(np.array(shares), units, given)
    return given.tolist()


def test_people_split_units_as_the_simulator_does_by_name_too() -> None:
    for shares in np.random.default_rng(5).dirichlet(np.ones(5), 50):
        assert ae.whole_units(shares, 37).tolist() == shared(shares.tolist(), 37)
    assert ae.whole_units({"south": 0.3, "north": 0.7}, 5) == {"south": 2, "north": 3}  # a tie: the first


def test_a_series_goes_by_its_labels() -> None:
    assert ae.whole_units(pandas.Series({"south": 0.3, "north": 0.7}), 5) == {"south": 2, "north": 3}


def test_what_is_owed_is_given_over_the_weeks() -> None:
    shares, owed, got = np.array([0.5, 0.488, 0.012]), np.zeros(3), np.zeros(3)
    for week in range(1, 201):
        calls = ae.whole_units(shares, 40, owed=owed)
        owed = owed + shares * 40 - calls
        got += calls
        assert calls.sum() == 40
        assert np.abs(got - week * 40 * shares).max() < 1.0


def test_nobody_is_owed_much_whatever_the_splits_and_nobody_gets_less_than_nothing() -> None:
    rng = np.random.default_rng(8)
    owed = np.zeros(6)
    for _ in range(2_000):
        shares = rng.dirichlet(np.full(6, 0.2))
        calls = ae.whole_units(shares, 7, owed=owed)
        owed = owed + shares * 7 - calls
        assert calls.min() >= 0
        assert calls.sum() == 7
        assert np.abs(owed).max() < 3.0


def test_what_is_owed_goes_by_name_and_never_to_a_closed_arm() -> None:
    split = {"north": 0.5, "south": 0.5, "west": 0.0}
    assert ae.whole_units(split, 5, owed={"south": 1.0, "west": 9.0}) == {"north": 2, "south": 3, "west": 0}
    series = pandas.Series({"south": 0.5, "north": 0.5})
    assert ae.whole_units(series, 5, owed=pandas.Series({"north": 1.0, "south": -1.0})) == {"south": 2, "north": 3}
    for shares in np.random.default_rng(6).dirichlet(np.ones(5), 50):
        assert ae.whole_units(shares, 37, owed=np.zeros(5)).tolist() == shared(shares.tolist(), 37)
    assert ae.whole_units([0.4, 0.6], 3, owed=[1e9, 0]).tolist() == [3, 0]


@pytest.mark.parametrize(
    ("allocation", "owed", "line"),
    [
        ([0.5, 0.5], {"a": 1.0}, "owed must go by names where the allocation does"),
        ({"a": 0.5, "b": 0.5}, [0.0, 0.0], "owed must go by names"),
        ({"a": 0.5, "b": 0.5}, {"c": 1.0}, "unknown arm in owed: 'c'"),
        ([0.5, 0.5], [1.0], "owed must be 2 finite numbers"),
        ([0.5, 0.5], [math.nan, 0.0], "owed must be 2 finite numbers"),
        ([0.5, 0.5], "much", "owed must be a list of numbers"),
    ],
)
def test_what_cannot_be_owed_is_refused(allocation: Any, owed: Any, line: str) -> None:
    with pytest.raises(AftereffectError, match=line):
        ae.whole_units(allocation, 10, owed=owed)


@pytest.mark.parametrize("wrong", [[0.5, 0.6], [1.5, -0.5], [math.nan, 1.0], {"north": 0.5}, "even", None])
def test_what_is_no_split_is_not_rounded_to_units(wrong: Any) -> None:
    with pytest.raises(AftereffectError, match=r"^allocation must be "):
        ae.whole_units(wrong, 10)


def test_an_arm_too_small_for_a_unit_is_told_as_not_seen() -> None:
    agent = ae.CurveThompson(memory_bound=0.95).start(arms=2, seed=1, feedback="split")
    calls = ae.whole_units([0.999, 0.001], 100)
    agent.ask()
    agent.tell([0.4, math.nan], trials=calls, allocation=[0.999, 0.001])
    assert agent.open_rounds == []
    assert agent.log["trials"].to_list()[0] == 100


def by_fractions(shares: list[Fraction], units: int) -> list[int]:
    """Largest remainder in exact arithmetic."""
    given = [int(p * units) for p in shares]
    order = sorted(range(len(shares)), key=lambda k: (-(shares[k] * units - given[k]), k))
    for k in order[: units - sum(given)]:
        given[k] += 1
    return given


def test_units_go_by_largest_remainder_ties_to_the_lowest_index() -> None:
    assert shared([0.5, 0.3, 0.2], 10) == [5, 3, 2]
    assert shared([1 / 3, 1 / 3, 1 / 3], 10) == [4, 3, 3]
    assert shared([0.25, 0.25, 0.25, 0.25], 2) == [1, 1, 0, 0]
    assert shared([0.0, 1.0], 7) == [0, 7]
    assert shared([0.999, 0.001], 100) == [100, 0]


def test_units_agree_with_exact_arithmetic() -> None:
    random = np.random.default_rng(1)
    for _ in range(300):
        parts = random.integers(0, 12, random.integers(1, 7)).tolist()
        total = sum(parts)
        if total:
            units = int(random.integers(1, 1_000))
            exact = by_fractions([Fraction(p, total) for p in parts], units)
            assert shared([p / total for p in parts], units) == exact


def test_each_arm_reports_the_mean_of_its_own_units() -> None:
    """Counts are the binomial quantile of the round's one variate for the arm."""
    problem = ae.Problem(RESPONSES, ae.Discounted(0.5), units=120)
    shares = sequence(60, 3, seed=3)
    came, words = drive(problem, shares, seed=5), generator(5)
    assert problem.feedback == "split"
    for t in range(60):
        given = shared(shares[t].tolist(), 120)
        assert came.seen[t].tolist() == given
        by_hand = 0.0
        for k in range(3):
            u = float(unit(np.uint64(next_word(words))))
            mean = float(RESPONSES[k](came.before_g[t, k]))
            wins = stats.binom.ppf(u, given[k], mean) if given[k] else 0.0
            assert came.reward[t, k] == (wins / given[k] if given[k] else 0.0)
            by_hand += shares[t, k] * mean
        assert came.expected[t] == pytest.approx(by_hand, abs=1e-9)  # of the intended shares
    assert came.realised == pytest.approx((came.seen * came.reward).sum(axis=1) / 120)


def test_impact_and_expected_utility_do_not_know_of_units() -> None:
    shares = sequence(100, 3, seed=4)
    plain = drive(ae.Problem(RESPONSES, ae.Discounted(0.6), feedback="split"), shares)
    whole = drive(ae.Problem(RESPONSES, ae.Discounted(0.6), units=7), shares)
    assert np.array_equal(plain.expected, whole.expected)
    assert np.array_equal(plain.before_g, whole.before_g)


def test_a_round_has_the_same_variates_whatever_was_deployed_before() -> None:
    problem = ae.Problem([ae.Gaussian(0.5)] * 3, units=90, shock=0.05)
    first, second = sequence(50, 3, seed=1), sequence(50, 3, seed=2)
    second[-1] = first[-1]
    one, two = drive(problem, first, seed=7), drive(problem, second, seed=7)
    assert np.array_equal(one.reward[-1], two.reward[-1])
    assert not np.array_equal(one.reward[:-1], two.reward[:-1])


def test_counts_have_the_binomial_law() -> None:
    """Chi-square over 4,000 rounds at error rate 1e-4."""
    problem = ae.Problem([lambda _x: 0.3] * 2, units=40)
    came = drive(problem, np.full((4_000, 2), 0.5), seed=9)
    counts = np.bincount((came.reward * 20).round().astype(int).ravel(), minlength=21)
    chances = stats.binom.pmf(np.arange(21), 20, 0.3)
    kept = chances * 8_000 >= 5
    observed = np.append(counts[kept], counts[~kept].sum())
    expected = np.append(chances[kept], chances[~kept].sum()) * 8_000
    assert stats.chisquare(observed, expected).pvalue > 1e-4


@pytest.mark.parametrize(
    "noise", [ae.Noise("beta", 3.0), ae.Noise("continuous", deviation=0.1)], ids=["beta", "continuous"]
)
def test_means_of_units_have_the_deviation_of_one_over_the_root_of_their_number(noise) -> None:
    """Mean within 5 standard errors; deviation within 5 percent (4,000 draws: 4 standard errors)."""
    problem = ae.Problem([lambda _x: 0.4] * 2, units=50, noise=noise)
    came = drive(problem, np.full((2_000, 2), 0.5), seed=2)
    single = 0.1 if noise.kind == "continuous" else np.sqrt(0.4 * 0.6 / 4.0)
    assert came.reward.mean() == pytest.approx(0.4, abs=5 * single / np.sqrt(25 * 4_000))
    assert came.reward.std() == pytest.approx(single / 5.0, rel=0.05)


def test_measures_are_means_of_the_units_too() -> None:
    problem = ae.problem("lending", units=400, observed="activated", seed=1)
    world = problem.world(generator(3))
    seen, reward, measured = np.zeros(4), np.zeros(4), np.zeros(4)
    step(world, 1, np.array([0.5, 0.25, 0.25, 0.0]), seen, reward)
    observe(world, seen, measured)
    assert np.isnan(measured[3])
    assert all((measured[:3] * seen[:3]).round(9) % 1 == 0)
    assert measured[:3] == pytest.approx(problem.measure([0.5, 0.25, 0.25, 0.0])[:3], abs=0.2)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"units": 0}, "units must be a whole number from 1 to 1,000,000, got 0"),
        ({"units": 2.5}, "units must be a whole number"),
        ({"units": 30, "feedback": "one"}, "units are split over the arms: feedback must be 'split', got 'one'"),
        ({"units": 30, "feedback": "independent"}, "feedback must be 'split'"),
    ],
)
def test_units_that_cannot_be(options, said) -> None:
    with pytest.raises(ae.AftereffectError, match=said):
        ae.problem("loan", **options)
    with pytest.raises(ae.AftereffectError, match=said):
        ae.Problem(RESPONSES, **options)
