from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pandas
import pytest

import aftereffect as ae
from aftereffect.records.advice import LOSS, Gain, worth
from aftereffect.records.summary import chance_in_words
from tests.records.worlds import usual

NAMES = [f"arm {k}" for k in range(4)]


@pytest.fixture(scope="module")
def fit():
    return ae.fit(usual().rows(104, seed=1), floors=0.05)


def test_a_curve_is_a_frame_that_holds_the_truth_where_it_was_visited(fit):
    world = usual()
    inside = []
    for k, name in enumerate(NAMES):
        frame = fit.curve(name)
        assert frame.columns == ["share", "estimate", "low", "high", "observations"]
        assert frame["observations"].sum() == fit.records.trials[:, k].sum()
        truth, seen = world.curves[k](frame["share"].to_numpy()), frame["observations"].to_numpy() > 0
        inside.append((frame["low"].to_numpy() <= truth)[seen] & (truth <= frame["high"].to_numpy())[seen])
    assert np.concatenate(inside).mean() > 0.8


def test_where_nobody_looked_the_band_widens(fit):
    frame = fit.curve("arm 1")
    width = (frame["high"] - frame["low"]).to_numpy()
    assert width[180] > 5 * width[frame["observations"].arg_max()]
    low, high = fit.visited
    assert low[1] > 0.1
    assert high[1] < 0.4


def test_the_recommendation_earns_more_and_keeps_the_floors(fit):
    world, best = usual(), fit.best()
    split = [best.allocation[name] for name in NAMES]
    assert sum(split) == pytest.approx(1.0)
    assert min(split) >= 0.05 - 1e-9
    assert world.utility(split) > world.utility(world.base) + 0.01
    assert best.gain_low < best.gain < best.gain_high
    assert best.expected - best.current == pytest.approx(best.gain)
    assert 0.5 < best.chance_better <= 1.0


def levels_of(fit, advice):
    return np.array([round(advice.allocation[name] * fit.steps) for name in NAMES])


@pytest.mark.parametrize("caution", [0.0, 0.7, 1.28, 2.0])
def test_no_other_split_that_is_as_safe_is_worth_more(fit, caution):
    best = fit.best(caution=caution)
    levels = levels_of(fit, best)
    allowed, top = 0.5 * math.erfc(caution / math.sqrt(2)) if caution else 1.0, worth(fit.gains.of(levels), caution)
    assert fit.gains.of(levels).chance_above(-LOSS * best.current) >= 1 - allowed
    rng = np.random.default_rng(3)
    others = [10 + rng.multinomial(fit.steps - 40, p) for p in rng.dirichlet([1] * 4, 300)]
    near = [levels + np.array(d) for d in itertools.product((-3, -1, 0, 1, 3), repeat=4) if sum(d) == 0]
    for other in [*others, *(n for n in near if n.min() >= 10)]:
        gain = fit.gains.of(other)
        if gain.chance_above(-LOSS * best.current) >= 1 - allowed:
            assert worth(gain, caution) <= top + 2e-3


def test_caution_stays_nearer(fit):
    def moved(advice):
        return sum(abs(advice.allocation[n] - fit.now.allocation[n]) for n in NAMES)

    assert moved(fit.best(caution=30.0)) < moved(fit.best(caution=1.28)) <= moved(fit.best(caution=0.0))
    assert fit.best(caution=30.0).gain_low > -LOSS * fit.now.expected


def test_where_limits_leave_nothing_safe_the_safest_is_advised(fit):
    far = fit.best(caps={"arm 1": 0.05, "arm 0": 0.05, "arm 3": 0.05}, caution=8.0)
    assert far.allocation["arm 2"] == pytest.approx(0.85)


def test_what_lies_beyond_what_was_tried_is_said(fit):
    far = fit.what_if({"arm 2": 0.9, "arm 0": 0.1})
    assert any(line.startswith("arm 2 beyond") and "never tried" in line for line in far.unseen)
    assert fit.what_if(fit.now.allocation).unseen == ()
    assert set(far.reasons) == set(NAMES)


def test_words_speak_of_shares_in_percent_and_of_nothing_as_certain(fit):
    words = fit.summary()["words"]
    here = [line for line in words["known"] if "at today's" in line]
    assert len(here) == 4
    assert all(line.endswith(" %") for line in here)
    arms = [line[:5] for line in words["unknown"] if line.startswith("arm ")]
    assert len(arms) == len(set(arms))
    for chance, said in ((1 - 1e-12, "more than 99 in 100"), (0.93, "93 in 100"), (0.001, "less than 1 in 100")):
        assert chance_in_words(dataclasses.replace(fit.best(), chance_better=chance)) == said


def test_holding_todays_split_gains_nothing_and_the_path_leads_to_the_split(fit):
    same = fit.what_if(fit.now.allocation)
    assert (same.gain, same.chance_better, same.moves) == (0.0, 0.0, False)
    wanted = {"arm 0": 0.25, "arm 1": 0.25, "arm 2": 0.25, "arm 3": 0.25}
    path = fit.what_if(pandas.Series(wanted)).path
    assert path["round"].to_list() == list(range(1, len(path) + 1))
    gap = [abs(path[name].to_numpy() - 0.25) for name in NAMES]
    assert all(np.all(np.diff(g) <= 1e-12) for g in gap)
    assert max(g[-1] for g in gap) < 0.02


def test_memory_is_estimated_or_given():
    free = ae.fit(usual(memory=0.3).rows(300, seed=2))
    assert free.memory.low <= 0.3 <= free.memory.high
    assert not free.memory.given
    given = ae.fit(usual().rows(20, seed=1), memory=0.6)
    assert (given.memory.estimate, given.memory.given, str(given.memory)) == (0.6, True, "0.60 (given)")
    still = [dict(row, share=0.25) for row in usual().rows(30, seed=1)]
    assert str(ae.fit(still).memory).startswith("cannot tell")


def test_money_in_money_out():
    rows = usual().rows(60, seed=4)
    plain = [{**r, "reward": r["successes"] / r["trials"]} for r in rows]
    money = [{**r, "reward": 100 + 400 * r["reward"]} for r in plain]
    for table in (plain, money):
        for row in table:
            del row["successes"]
    a, b = ae.fit(plain), ae.fit(ae.read_records(money, reward_range=(100, 500)))
    even = [0.25] * 4
    assert b.what_if(even).expected == pytest.approx(100 + 400 * a.what_if(even).expected)
    assert b.what_if(even).gain_high == pytest.approx(400 * a.what_if(even).gain_high, abs=1e-6)
    assert b.curve("arm 1")["low"][40] == pytest.approx(100 + 400 * a.curve("arm 1")["low"][40])
    assert b.best().allocation == pytest.approx(a.best().allocation)


def test_gain_is_a_mixture_of_normals():
    gain = Gain(np.array([0.25, 0.75]), np.array([-1.0, 1.0]), np.array([0.5, 2.0]))
    rng = np.random.default_rng(0)
    part = rng.random(400_000) < 0.25
    draws = np.where(part, rng.normal(-1.0, 0.5, part.size), rng.normal(1.0, 2.0, part.size))
    assert gain.expected == pytest.approx(draws.mean(), abs=0.02)
    assert gain.spread == pytest.approx(draws.std(), abs=0.02)
    assert gain.chance_above(0.3) == pytest.approx((draws > 0.3).mean(), abs=0.005)
    assert gain.quantile(0.025) == pytest.approx(np.quantile(draws, 0.025), abs=0.05)


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda f: f.curve("west"), "unknown arm 'west'"),
        (lambda f: f.what_if({"arm 0": 0.5}), "sum to 1.*which sum to 0.5"),
        (lambda f: f.what_if({"west": 1.0}), "unknown arm 'west'"),
        (lambda f: f.best(caution=-1), "caution must be at least 0"),
        (lambda f: f.best(caution="much"), "caution must be a finite number"),
        (lambda f: f.best(floors={"west": 0.1}), "unknown arm 'west'"),
        (lambda f: f.best(floors=0.3), "floors must sum to at most 1"),
        (lambda f: ae.fit(f.records, memory=1.0), r"memory must lie in \[0, 1\)"),
        (lambda f: ae.fit(f.records, memory=0.5, memory_bound=0.9), "memory or memory_bound, not both"),
    ],
)
def test_mistakes_get_one_line(fit, call, line):
    with pytest.raises(ae.AftereffectError, match=line) as caught:
        call(fit)
    assert "\n" not in str(caught.value)


def plan(*parts):
    rng, rows = np.random.default_rng(5), []
    splits = [split for split, count in parts for _ in range(count)]
    for week, split in enumerate(splits):
        for arm, share, rate in zip(("north", "centre", "south"), split, (0.5, 0.4, 0.3), strict=True):
            n = round(300 * share)
            rows.append({"round": week, "arm": arm, "share": share, "trials": n, "successes": rng.binomial(n, rate)})
    return rows


def test_after_a_lasting_change_advice_is_against_the_new_split():
    closed = ae.fit(plan(((0.5, 0.3, 0.2), 40), ((0.6, 0.4, 0.0), 4)))
    assert closed.now.allocation == pytest.approx({"north": 0.6, "centre": 0.4, "south": 0.0})
    changed = ae.fit(plan(((0.5, 0.3, 0.2), 36), ((0.2, 0.4, 0.4), 4)))
    assert changed.now.allocation == pytest.approx({"north": 0.2, "centre": 0.4, "south": 0.4})
    assert not any("far from today's" in line for line in changed.summary()["words"]["known"])


def test_a_last_round_that_is_far_from_todays_split_is_said():
    odd = ae.fit(plan(((0.5, 0.3, 0.2), 40), ((0.2, 0.4, 0.4), 1)))
    assert any("far from today's" in line and "south 40 %" in line for line in odd.summary()["words"]["known"])


def test_arms_with_numbers_for_names_go_by_them_everywhere():
    rows = [{**row, "arm": {"north": 7, "centre": 8, "south": 9}[row["arm"]]} for row in plan(((0.5, 0.3, 0.2), 12))]
    records = ae.read_records(rows)
    for floors in ({7: 0.4}, pandas.Series({7: 0.4}), {np.int64(7): 0.4}):
        assert ae.fit(records, floors=floors).limits.floors.tolist() == [0.4, 0.0, 0.0]
    fit = ae.fit(records)
    assert fit.curve(7).equals(fit.curve("7"))
    assert fit.best(floors={7: 0.55}).allocation["7"] >= 0.55
    with pytest.raises(ae.AftereffectError, match=r"unknown arm '10'"):
        fit.curve(10)
