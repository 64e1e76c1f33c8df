"""Scores: gains, ratios and means against a hand computation, negative regrets, ranks, stress, luck."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.experiments.arena import KINDS, Scale, run_arena
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.scores import score
from aftereffect.policies import base
from aftereffect.simulation.simulate import draw_instance
from tests.experiments.boards import GAUSSIAN, SCALE, TENT, Own, arena_of, made_up, with_defaults


def test_gains_and_ratios_and_their_means_by_hand(tmp_path: Path) -> None:
    arena = arena_of("gaussian-k2-m0.5", "patrol-k2-m0.5", TENT, policies=["round-robin", "fixed"])
    rows = run_arena(arena, tmp_path, executor=Threads(1))
    board = score(arena, rows, {"fixed": 7.0})
    sums: dict[tuple[str, str], float] = {}
    for row in rows.to_dicts():
        key = row["scenario"], row["policy"]
        sums[key] = sums.get(key, 0.0) + row["regret"] / SCALE.runs
    gains: dict[str, list[float]] = {}
    for (scenario, policy), mean in sums.items():
        reference = min(sums[scenario, "history-ucb"], sums[scenario, "history-ucb:log=printed"])
        found = board.scores[scenario][policy]
        assert found.mean == pytest.approx(mean)
        assert found.gain == pytest.approx((reference - mean) / 1000)
        assert found.closed == pytest.approx((reference - mean) / reference)
        assert found.ratio == (pytest.approx(reference / mean) if mean >= 1 else None)
        assert found.rank == 1 + sum(other < mean for (c, _), other in sums.items() if c == scenario)
        assert found.largest >= mean - 1e-9
        gains.setdefault(policy, []).append(found.gain)
    for standing in board.standings:
        ratios = [board.scores[scenario][standing.policy].ratio for scenario in board.scores]
        logs = [math.log(r) for r in ratios if r is not None]
        assert standing.gain == pytest.approx(sum(gains[standing.policy]) / 3)
        assert standing.smallest == min(gains[standing.policy])
        assert board.scores[standing.where][standing.policy].gain == standing.smallest
        assert (standing.scenarios, standing.ratio_scenarios) == (3, len(logs))
        assert standing.ratio == pytest.approx(math.exp(sum(logs) / len(logs)))
    assert [s.rank for s in board.standings] == [1, 2, 3, 4]
    assert {s.policy: s.speed for s in board.standings}["fixed"] == 7.0
    assert board.frame().height == 3 * 4


def test_the_interval_of_a_student_mean() -> None:
    values = [1.0, 2.0, 3.0, 4.0, 10.0]
    board = made_up(arena_of(TENT), with_defaults(TENT, d_ucb=values))
    found = board.scores[TENT]["d-ucb"]
    half = 2.7764451 * np.std(values, ddof=1) / math.sqrt(5)
    assert found.interval == pytest.approx((4.0 - half, 4.0 + half))
    assert found.largest == 10.0


def test_negative_regret_counts_for_what_it_is() -> None:
    regrets = with_defaults(TENT, round_robin=-50.0, d_ucb=0.01) | with_defaults(GAUSSIAN)
    board = made_up(arena_of(TENT, GAUSSIAN), regrets)
    scores = board.scores[TENT]
    assert (scores["round-robin"].gain, scores["round-robin"].closed) == pytest.approx((0.15, 1.5))
    assert (scores["d-ucb"].gain, scores["d-ucb"].closed) == pytest.approx((0.09999, 0.9999))
    assert scores["round-robin"].ratio is scores["d-ucb"].ratio is None  # next to nothing: no number of times says it
    assert (scores["round-robin"].rank, scores["d-ucb"].rank) == (1, 2)
    standing = {s.policy: s for s in board.standings}["round-robin"]
    assert standing.gain == pytest.approx((0.15 - 0.4) / 2)
    assert (standing.ratio_scenarios, standing.scenarios) == (1, 2)
    assert standing.ratio == pytest.approx(0.2)


def test_a_ratio_has_the_interval_of_its_runs() -> None:
    """Against a fixed reference it is that of the mean's bootstrap, for a geometric mean of two scenarios with its root."""
    random = np.random.default_rng(4)
    regrets = random.uniform(5, 15, 40)
    arena = arena_of(GAUSSIAN, TENT, scale=Scale(1000, 40))
    board = made_up(arena, with_defaults(GAUSSIAN, d_ucb=regrets.tolist()) | with_defaults(TENT, d_ucb=25.0))
    found = {s.policy: s for s in board.standings}["d-ucb"]
    means = regrets[random.integers(0, 40, (20_000, 40))].mean(axis=1)
    expected = np.quantile(np.sqrt(100.0 / means * 100.0 / 25.0), [0.025, 0.975])
    assert found.ratio == pytest.approx(math.sqrt(100.0 / regrets.mean() * 4.0))
    assert found.ratio_interval == pytest.approx(tuple(expected), rel=0.01)


def test_nothing_is_closed_where_the_reference_loses_nothing() -> None:
    regrets = with_defaults(TENT, **{"history-ucb": -10.0, "d_ucb": -20.0})
    found = made_up(arena_of(TENT), regrets)
    assert found.scores[TENT]["d-ucb"].closed is None
    assert found.scores[TENT]["d-ucb"].gain == pytest.approx(0.01)
    assert found.frame()["closed"].null_count() == 4
    assert all(s.ratio is None for s in found.standings)


def test_the_better_reading_is_chosen_in_each_scenario() -> None:
    regrets = with_defaults(TENT) | with_defaults(GAUSSIAN, **{"history-ucb": 300.0})
    board = made_up(arena_of(TENT, GAUSSIAN), regrets)
    assert board.scores[TENT]["d-ucb"].ratio == pytest.approx(100 / 600)
    assert board.scores[GAUSSIAN]["d-ucb"].ratio == pytest.approx(120 / 600)


def test_a_policy_that_misses_scenarios_has_a_mean_over_the_others_and_no_rank() -> None:
    arena = arena_of(TENT, GAUSSIAN, policies=["round-robin", "fixed:allocation=[0.2,0.8]"])
    absent = "fixed:allocation=[0.2,0.8]"
    regrets = {
        key: value for key, value in (with_defaults(TENT) | with_defaults(GAUSSIAN)).items() if key[1] != "d-ucb"
    }
    board = made_up(arena, {**regrets, (TENT, absent): 10.0})
    first = board.standings[0]
    assert (first.policy, first.rank, first.scenarios) == (absent, None, 1)
    assert (first.gain, first.ratio) == pytest.approx((0.09, 10.0))
    assert [s.rank for s in board.standings[1:]] == [1, 2, 3]
    assert [(policy, scenarios) for (policy, _), scenarios in board.arena.refused.items()] == [(absent, [GAUSSIAN])]


def test_resampling_gives_an_interval_that_narrows_with_the_runs() -> None:
    random = np.random.default_rng(1)
    widths = []
    for runs in (10, 160):
        arena = arena_of(GAUSSIAN, scale=Scale(1000, runs))
        board = made_up(arena, with_defaults(GAUSSIAN, d_ucb=random.uniform(5, 15, runs).tolist()))
        standing = next(s for s in board.standings if s.policy == "d-ucb")
        assert standing.interval is not None
        assert standing.interval[0] < standing.gain < standing.interval[1]
        assert standing.interval[0] < 0.09 < standing.interval[1]
        widths.append(standing.interval[1] - standing.interval[0])
    assert 2 < widths[0] / widths[1] < 8  # a quarter, as the root of 16


def test_one_run_has_no_interval() -> None:
    board = made_up(arena_of(TENT, scale=Scale(1000, 1)), with_defaults(TENT))
    assert board.standings[0].interval is None
    assert board.scores[TENT]["d-ucb"].interval is None


def test_stress_counts_families_below_every_policy_of_the_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base._REGISTRY, "own", Own)
    names = [f"drift-{family}" for family in ("gaussian", "patrol", "loan")]
    arena = arena_of(*names, policies=["round-robin", "d-ucb", "own"])
    regrets = {
        **with_defaults(names[0], own=90.0),  # below all, in every run
        **with_defaults(names[1], own=[0.0, 0.0, 0.0, 0.0, 480.0]),  # below all, but by luck
        **with_defaults(names[2], own=110.0, round_robin=1.0),  # below all but one
    }
    found = made_up(arena, regrets).stress
    assert [(s.kind, s.policy, s.families, s.lower, s.clearly) for s in found] == [
        ("drift", "own", 3, ("gaussian", "patrol"), ("gaussian",))
    ]
    regrets |= with_defaults(names[0], own=90.0, round_robin=1.0)  # not the paper's: a yardstick, no baseline
    assert made_up(arena, regrets).stress[0].lower == ("gaussian", "patrol")
    assert set(KINDS) >= {s.kind for s in found}


def test_luck_is_told_from_learning() -> None:
    arena = arena_of(GAUSSIAN)
    lucky = made_up(arena, with_defaults(GAUSSIAN, round_robin=15.0, d_ucb=15.1, **{"history-ucb": 14.0})).luck
    assert [(entry.policy, entry.rank, entry.best, entry.alike) for entry in lucky] == [
        ("round-robin", 2, "history-ucb", ("d-ucb",))
    ]
    far = with_defaults(GAUSSIAN, round_robin=19.0, d_ucb=5.0)  # three times the best
    assert made_up(arena, far).luck == []
    poor = with_defaults(GAUSSIAN, round_robin=90.0, d_ucb=95.0)  # first, since nobody has learned yet
    assert [entry.rank for entry in made_up(arena, poor).luck] == [1]


def test_those_that_cannot_share_are_named_where_that_is_best() -> None:
    """In `loan` often one arm should get everything, in `tent` never."""
    loan = "loan-k2-m0.5"
    arena = arena_of(loan, TENT, policies=["thompson", "ucb1"])
    board = made_up(
        arena, with_defaults(loan, thompson=50.0, ucb1=70.0) | with_defaults(TENT, thompson=50.0, ucb1=70.0)
    )
    problems = [
        draw_instance(ae.family("loan", arms=2, memory=0.5), arena.seed, number) for number in range(SCALE.runs)
    ]
    shares = np.linspace(0.0, 1.0, 2001)
    best = [shares[int(np.argmax([p.utility(np.array([x, 1.0 - x])) for x in shares]))] for p in problems]
    assert np.isin(best, (0.0, 1.0)).any()
    (found,) = board.corners
    assert (found.scenario.name, found.policy, found.rank, found.best) == (loan, "thompson", 1, 50.0)
    assert found.share == pytest.approx(np.isin(best, (0.0, 1.0)).mean())
    far = made_up(arena, with_defaults(loan, thompson=250.0, ucb1=250.0) | with_defaults(TENT))
    assert far.corners == []
