"""Bounds against numbers worked out by hand, and those with explicit constants against simulation.

Failure rates are compared with the stated ones plus four standard deviations of the count; each comparison is also made with
a smaller radius (or fewer samples) that must fail, so that it is known to be able to.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.curves import Floats
from aftereffect.model.world import Ints
from aftereffect.theory import bounds
from aftereffect.theory.tuning import approach_rounds

REPEATS = 20_000


def allowed(probability: float, repeats: int = REPEATS) -> float:
    """A frequency that a rate of at most `probability` exceeds once in some thirty thousand tests."""
    return probability + 4 * math.sqrt(probability * (1 - probability) / repeats)


# By hand.


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (bounds.action_radius(4, math.e, 4), 1.0),
        (bounds.action_radius_failure(10), 0.02),
        (bounds.action_threshold(2, math.e, 0.5), 32.0),
        (bounds.action_choice_failure(10), 0.04),
        (bounds.action_samples(2, math.e, 0.5), 32 + 6.5797),
        # ceil(2 * 10) (1 + 0) + 8 * 2 / .5 + 8 * 2 / .25
        (bounds.action_instance_bound(2, math.e, 10, [0.5, 0.25], 1.0, order_one=0.0), 20 + 32 + 64),
        (bounds.action_independent_rate(3, math.e, 0.25), 3 * math.sqrt(math.e / 0.25)),
        (bounds.action_regret_rate(3, math.e**8), 3 * math.exp(16 / 3) * 2),
        (bounds.discretisation_rate(3, 0.1, 2.0), 0.9),
        (bounds.naive_regret_rate(2, math.e**8), math.exp(16 / 3) * 2),
        (bounds.naive_regret_rate(2, math.e**8, lipschitz=7.0), 2 * 2 * math.exp(16 / 3) * 2),
        (bounds.cucb_regret_rate(16, math.e**16), 8 * math.exp(12) * 2),
        (bounds.one_arm_radius(4, math.e / 2, 16), 1.0),
        (bounds.one_arm_threshold(4, math.e / 2, 0.5), 256.0),
        (bounds.one_arm_independent_rate(4, math.e / 2, 0.5), 4 * math.sqrt(4 * math.e)),
        (bounds.one_arm_regret_rate(8, 1000), 1600.0),
        (bounds.impact_gap(0.5, 3), 0.125),
        (bounds.approach_error(0.5, 3, 2, 1.0), 0.5),
        (bounds.history_radius(4, math.e, 4, 0.25), 3.25),
        (bounds.history_radius_failure(10), 0.06),
        (bounds.history_threshold(2, math.e, 1.0, 0.25), 288.0),
        (bounds.history_choice_failure(10), 0.12),
        (bounds.history_samples(2, math.e, 1.0, 2, 0.25), 288 + math.pi**2),
        # 2 * 1 * 10 / (5 * .25) + (9 * 2 / .5)(.5/.0625 + 2/.25)
        (bounds.history_instance_bound(2, 2 * math.e, 10, 5, 0.5, [0.5], 1.0, 0.0, order_one=1.0), 16 + 36 * 16),
        (bounds.history_independent_rate(2, 2 * math.e, 0.25, 4, 0.5), 2 * math.sqrt(16 * math.e) + 8),
        (bounds.history_regret_rate(3, 2 * math.e, 0.5), 3 * (2 * math.e) ** (2 / 3) * 2 ** (1 / 3)),
        (bounds.lower_bound_rate(5, 1000), 500.0),
        (bounds.history_lower_slack(0.5, 2, 2, 3.0), 0.25 * 0.75 * 6 / 0.75),
        (bounds.linear_slope(0.2), 0.1),
    ],
)
def test_by_hand(value: float, expected: float) -> None:
    assert value == pytest.approx(expected, rel=1e-5)


def test_every_public_function_is_documented_with_its_number_and_rates_say_that_the_constant_is_missing() -> None:
    for name in bounds.__all__:
        text = getattr(bounds, name).__doc__
        assert any(word in text for word in ("Theorem", "Lemma", "App.", "Remark")), name
        assert name.endswith("_rate") == ("not stated" in text and "order_one" not in text), name


def test_a_gap_that_the_error_hides_is_never_resolved() -> None:
    assert bounds.history_threshold(2, 100, 0.1, 0.05) == math.inf
    assert bounds.history_instance_bound(2, 1000, 10, 5, 0.2, [0.3, 0.1], 0.3, 0.05) == math.inf


def test_the_error_after_the_tuned_approach_is_below_a_step() -> None:
    for memory, levels, arms, lipschitz in itertools.product((0.2, 0.6, 0.9), (8, 30), (2, 5), (0.5, 3.0)):
        approach = approach_rounds(memory, levels, arms, lipschitz)
        assert bounds.approach_error(memory, approach, arms, lipschitz) <= 1 / levels * (1 + 1e-9)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: bounds.action_radius(0, 10, 5),
        lambda: bounds.action_radius(2, 0.5, 5),
        lambda: bounds.action_radius(2, 10, 0),
        lambda: bounds.action_threshold(2, 10, 0),
        lambda: bounds.action_instance_bound(2, 10, 5, [0.0], 1.0),
        lambda: bounds.impact_gap(1.0, 3),
        lambda: bounds.history_regret_rate(2, 1000, 0.0),
        lambda: bounds.history_regret_rate(2, float("nan"), 0.2),
        lambda: bounds.linear_slope(0.5),
    ],
)
def test_nonsense_is_refused(wrong: Any) -> None:
    with pytest.raises(ae.AftereffectError, match=r"^bound: "):
        wrong()


# Radii and thresholds.


def random_case(random: np.random.Generator, arms: int) -> tuple[Floats, Floats, Ints]:
    """An allocation without zero, expected rewards, and deployments of each cell."""
    shares = random.dirichlet(np.ones(arms)) * 0.9 + 0.1 / arms
    return shares, random.uniform(0, 1, arms), random.integers(5, 60, arms)


def mean_utilities(random: np.random.Generator, shares: Floats, means: Floats, counts: Ints) -> Floats:
    """sum_k p_k times the mean of n_k importance-weighted Bernoulli rewards: p_k times each is 0 or 1, 1 with p_k r_k."""
    return np.asarray((random.binomial(counts, shares * means, (REPEATS, len(shares))) / counts).sum(axis=1))


@pytest.mark.parametrize("seed", range(6))
def test_step_1_covers_as_often_as_stated(seed: int) -> None:
    random = np.random.default_rng(seed)
    arms, t = int(random.integers(2, 6)), float(random.integers(3, 12))
    shares, means, counts = random_case(random, arms)
    off = np.abs(mean_utilities(random, shares, means, counts) - shares @ means)
    assert (off > bounds.action_radius(arms, t, counts.min())).mean() <= allowed(bounds.action_radius_failure(t))


def test_step_1_is_not_much_too_wide() -> None:
    """Where Hoeffding's inequality is nearly tight, half the radius fails more often than stated."""
    shares, means, counts = np.array([0.5, 0.5]), np.ones(2), np.array([40, 40])
    off = np.abs(mean_utilities(np.random.default_rng(1), shares, means, counts) - 1.0)
    radius, stated = bounds.action_radius(2, 3, 40), bounds.action_radius_failure(3)
    assert (off > radius).mean() <= allowed(stated)
    assert (off > radius / 2).mean() > allowed(stated)


@pytest.mark.parametrize("arms", [2, 3, 5])
def test_one_arm_radius_covers_as_often_as_stated(arms: int) -> None:
    """One arm a round is drawn from p, so the arms' estimates depend on each other."""
    random = np.random.default_rng(arms)
    shares, means, samples, t = random.dirichlet(np.full(arms, 3.0)), np.ones(arms), 30, 3.0
    means[-1] = 0.3
    drawn = random.multinomial(samples, shares, REPEATS)
    paid = random.binomial(drawn, means).sum(axis=1) / samples
    off = np.abs(paid - shares @ means)
    stated = bounds.action_radius_failure(t)
    assert (off > bounds.one_arm_radius(arms, t, samples)).mean() <= allowed(stated)
    assert (off > bounds.one_arm_radius(arms, t, samples) / (6 * arms)).mean() > allowed(stated)


def chosen_by_mistake(seed: int, arms: int, scale: float, t: float, samples: int, factor: float) -> tuple[float, float]:
    """How often a worse allocation's index reaches the best one's, at equal counts; and its gap."""
    random = np.random.default_rng(seed)
    best, worse = random.dirichlet(np.full(arms, 5.0), 2)
    good, bad = np.full(arms, 0.9), np.full(arms, 0.4)
    many = 3 * samples  # the best allocation's cells have been deployed more often, so its index is lower
    first = mean_utilities(random, best, good, np.full(arms, many)) + factor * scale * math.sqrt(
        arms * math.log(t) / many
    )
    second = mean_utilities(random, worse, bad, np.full(arms, samples))
    second += factor * scale * math.sqrt(arms * math.log(t) / samples)
    return float((second >= first).mean()), float(best @ good - worse @ bad)


@pytest.mark.parametrize("seed", range(4))
def test_lemma_d2_sufficient_sampling(seed: int) -> None:
    arms, t = 2 + seed % 3, 5.0
    gap = chosen_by_mistake(seed, arms, 1.0, t, 10, 1.0)[1]
    enough = math.ceil(bounds.action_threshold(arms, t, gap))
    assert chosen_by_mistake(seed, arms, 1.0, t, enough, 1.0)[0] <= allowed(bounds.action_choice_failure(t))
    few = max(1, enough // 40)
    assert chosen_by_mistake(seed, arms, 1.0, t, few, 1.0)[0] > allowed(bounds.action_choice_failure(t))


@pytest.mark.parametrize("seed", range(4))
def test_lemma_e3_sufficient_sampling_once_the_impact_has_settled(seed: int) -> None:
    arms, counted = 2 + seed % 3, 8.0
    gap = chosen_by_mistake(seed, arms, 3.0, counted, 10, 1.0)[1]
    enough = math.ceil(bounds.history_threshold(arms, counted, gap))
    stated = bounds.history_choice_failure(counted)
    assert chosen_by_mistake(seed, arms, 3.0, counted, enough, 1.0)[0] <= allowed(stated)
    assert chosen_by_mistake(seed, arms, 3.0, counted, max(1, enough // 40), 1.0)[0] > allowed(stated)


@dataclass(frozen=True)
class TakeTurns(ae.PlainPolicy):
    """Two allocations in turn, each held for a phase: the most that the past can distort."""

    name: ClassVar[str] = "take-turns"
    length: int = 6

    def ask(self, arrays: Any, t: int, allocation: Floats) -> None:
        first = (t - 1) // self.length % 2 == 0
        allocation[:] = [0.9, 0.1] if first else [0.1, 0.9]


@pytest.mark.parametrize("memory", [0.3, 0.6])
def test_lemmas_e1_and_e2_in_worlds_with_a_memory(memory: float) -> None:
    phases, runs, counting, arms = 4, 400, 2, 2
    random = ae.family("lipschitz", arms=2, memory=memory)
    approach = approach_rounds(memory, 8, arms)
    length = approach + counting
    coverage, narrow = [], []
    for seed in range(3):
        problem = random.draw(seed)
        err = bounds.approach_error(memory, approach, arms, problem.lipschitz)
        trace = ae.simulate(
            problem, TakeTurns(length), phases * length, runs=runs, seed=seed, checkpoints=1, trace=True
        ).trace
        assert trace is not None
        shares, impacts = trace.allocation[0], trace.impact[0]
        held = np.arange(phases * length) % length + 1
        off = np.abs(impacts - shares)
        later = np.arange(phases * length) >= length
        assert np.all(off[later] <= memory ** held[later, None] * (1 + 1e-9))
        assert np.max(off[later] / memory ** held[later, None]) > 0.5  # the bound is not far from what happens
        counts = held > approach
        paid = np.stack([problem.curves[k](impacts[:, k]) - problem.curves[k](shares[:, k]) for k in range(arms)], 1)
        assert np.all(np.abs((shares * paid).sum(axis=1))[counts] <= err)
        # The mean utility of the first allocation over its estimation rounds, with importance weights.
        mine = counts & (shares[:, 0] == 0.9)
        mean = (trace.seen[:, mine] * trace.reward[:, mine]).sum(axis=2).mean(axis=1)
        samples, counted = int(mine.sum()), phases * counting
        wrong = np.abs(mean - problem.utility([0.9, 0.1]))
        coverage.append((wrong > bounds.history_radius(arms, counted, samples, err)).mean())
        narrow.append((wrong > bounds.history_radius(arms, counted, samples) / 12).mean())
    stated = bounds.history_radius_failure(counted)
    assert max(coverage) <= allowed(stated, runs)
    assert max(narrow) > allowed(stated, runs)


# How often, and how much in all.


def gaps_of_cells(problem: ae.Problem, levels: int) -> tuple[list[float], float]:
    """For each cell in no best allocation the smallest gap of those that contain it; and the largest gap."""
    found = {
        p: problem.utility(np.array(p) / levels)
        for p in itertools.product(range(1, levels), repeat=problem.arms)
        if sum(p) == levels
    }
    best = max(found.values())
    smallest: dict[tuple[int, int], float] = {}
    for p, utility in found.items():
        for cell in enumerate(p):
            smallest[cell] = min(smallest.get(cell, math.inf), best - utility)
    return [g for g in smallest.values() if g > 1e-12], best - min(found.values())


@pytest.mark.parametrize("seed", range(3))
def test_lemmas_d3_and_d4_hold_for_two_arms(seed: int) -> None:
    horizon, levels, runs = 4000, 5, 20
    problem = ae.problem("patrol", arms=2, memory=0.0, seed=seed)
    result = ae.simulate(problem, ae.ActionUCB(levels=levels), horizon, runs=runs, seed=seed, checkpoints=1, trace=True)
    gaps, largest = gaps_of_cells(problem, levels)
    assert result.grid_regret is not None
    assert result.trace is not None
    bound = bounds.action_instance_bound(2, horizon, levels, gaps, largest)
    assert 0 < result.grid_regret[:, -1].mean() <= bound
    best = max(problem.utility([level / levels, 1 - level / levels]) for level in range(1, levels))
    chosen = np.rint(result.trace.allocation[:, :, 0] * levels).astype(int)
    for level in range(1, levels):
        gap = best - problem.utility([level / levels, 1 - level / levels])
        if gap > 0:
            assert (chosen == level).sum(axis=1).mean() <= bounds.action_samples(2, horizon, gap)


def test_lemma_d3_fails_as_printed_for_three_arms() -> None:
    """Cells (k, 2) of 6 are in best allocations, the permutations of (1, 2, 3); together they are the worst, (2, 2, 2)."""
    response = ae.Table([1 / 6, 2 / 6, 3 / 6, 4 / 6], [1.0, 0.0, 1 / 3, 0.0])
    problem = ae.Problem([response] * 3)
    assert problem.utility([1 / 6, 2 / 6, 3 / 6]) == pytest.approx(1 / 3)
    assert problem.utility([1 / 3] * 3) == pytest.approx(0)
    horizon = 20_000
    trace = ae.simulate(problem, ae.ActionUCB(levels=6), horizon, runs=2, checkpoints=1, trace=True).trace
    assert trace is not None
    deployed = (np.rint(trace.allocation * 6) == 2).sum(axis=1).min(axis=1)  # the rarest of the three, each run
    assert np.all(deployed > 2 * bounds.action_samples(3, horizon, 1 / 3))


@pytest.mark.parametrize("name", ["gaussian", "lipschitz", "patrol"])
@pytest.mark.parametrize("arms", [2, 3])
def test_the_grid_with_zero_loses_at_most_k_times_one_plus_l_times_eps(name: str, arms: int) -> None:
    for seed, levels in itertools.product(range(3), (3, 7)):
        problem = ae.problem(name, arms=arms, memory=0.0, seed=seed)
        best = ae.best_fixed(problem)
        lost = best.utility - best.on_grid(levels, np.zeros(arms, dtype=np.int64), np.full(arms, levels))
        assert -1e-9 <= lost <= bounds.discretisation_rate(arms, 1 / levels, problem.lipschitz)
