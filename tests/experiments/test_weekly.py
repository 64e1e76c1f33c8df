"""The weekly arena: its scenarios, and that even is 0 and the best fixed split 1, each on its own history."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars
import pytest

import aftereffect as ae
from aftereffect.experiments.arena import Scale, Scenario, told
from aftereffect.experiments.gains import score_weekly
from aftereffect.experiments.weekly import (
    FULL,
    HORIZONS,
    QUICK,
    TOLD,
    horizons_up_to,
    play_weekly,
    run_weekly,
    set_up_weekly,
    weekly_policies,
    weekly_scenarios,
)
from aftereffect.model.family_notation import family_from
from aftereffect.policies.base import policy_from

SMALL = Scale(30, 3)
STARTED = "lending-k4-m0.8-start"


def scenario(name: str) -> Scenario:
    return next(c for c in weekly_scenarios() if c.name == name)


def test_scenarios_and_policies_may_stand_alone_and_unknown_ones_are_refused() -> None:
    alone = run_weekly("fixed", runs=1, horizon=10, scenarios="loan-k3-m0.6", threads=1)
    assert set(alone["scenario"]) == {"loan-k3-m0.6"}
    with pytest.raises(ae.AftereffectError, match="unknown scenario 'nosuch'"):
        run_weekly(["fixed"], runs=1, horizon=10, scenarios=["loan-k3-m0.6", "nosuch"])


def test_scenarios_are_what_institutions_have() -> None:
    scenarios = weekly_scenarios()
    assert len(scenarios) >= 14
    assert len({c.name for c in scenarios}) == len(scenarios)
    problems = [family_from(c.problem)[0].draw(0) for c in scenarios]
    assert {p.arms for p in problems} == {3, 4, 5, 6}
    assert min(p.units or 0 for p in problems) == 50
    assert max(p.units or 0 for p in problems) == 1000
    assert {p.memory for p in problems} >= {0.3, 0.9}
    successes = [ae.best_fixed(p).utility * (p.units or 0) for p in problems]
    assert sum(a_week < 10 for a_week in successes) >= 2
    for having in ("rate", "floors", "shock", "start"):
        assert sum(having in c.problem for c in scenarios) >= 2
    assert (FULL.horizon, FULL.runs, QUICK.horizon) == (520, 40, 104)
    assert horizons_up_to(104) == [26, 52, 104]
    assert horizons_up_to(520) == list(HORIZONS)


def test_nobody_knows_the_memory() -> None:
    first, *others = weekly_policies()
    for world in weekly_scenarios():
        here = told(first, world)
        assert here.parameters["memory"] is None
        assert here.parameters["memory_bound"] == 0.95
        assert told(ae.KLUCB(), world).parameters["memory"] == TOLD
    assert {p.name for p in others} == {"fixed", "thompson-split", "quadratic", "kl-ucb"}


def test_every_policy_can_start_in_every_scenario() -> None:
    assert set_up_weekly(quick=True).refused == {}


@pytest.mark.parametrize("name", [STARTED, "patrol-k4-m0.3-floors"])
def test_even_is_0_and_the_best_fixed_split_is_1(name: str) -> None:
    """The best split of the very instance, deployed as a policy; on lending every run is on the same instance."""
    world, rounds = scenario(name), SMALL.horizon
    runs = SMALL.runs if name == STARTED else 1
    problem = family_from(world.problem)[0].draw(np.random.SeedSequence(5, spawn_key=(0,)))
    best = ae.Fixed(ae.best_fixed(problem, rounds).allocation.tolist())
    rows = run_weekly([best], 5, runs, horizon=rounds, scenarios=[name], threads=1)
    assert rows.columns == ["scenario", "policy", "run", "T", "achieved", "even", "best"]
    even, mine = rows.filter(policy="fixed"), rows.filter(policy=best.key)
    assert even["T"].unique().sort().to_list() == [26, 30]
    assert (even["achieved"] == even["even"]).all()  # bit by bit
    assert mine["achieved"].to_numpy() == pytest.approx(mine["best"].to_numpy(), rel=1e-12)
    assert (mine["best"] > mine["even"]).all()
    gains = score_weekly(set_up_weekly([best], seed=5, scale=Scale(rounds, runs), scenarios=[world]), rows)
    assert gains.scenarios[name]["fixed"][30].share == 0.0
    assert gains.scenarios[name][best.key][30].share == pytest.approx(1.0, abs=1e-9)


def test_a_start_counts_for_the_even_split_and_the_best_alike() -> None:
    """Exponential smoothing from the start, by hand."""
    rows = run_weekly(["fixed"], 1, 1, horizon=26, scenarios=[STARTED], threads=1)
    problem = family_from(scenario(STARTED).problem)[0].draw(0)
    shares, impact, total = np.full(4, 0.25), np.array([0.6, 0.1, 0.1, 0.2]), 0.0
    for _ in range(26):
        impact = 0.8 * impact + 0.2 * shares
        total += sum(p * float(c(x)) for p, c, x in zip(shares, problem.curves, impact, strict=True))
    assert rows["even"].to_list() == pytest.approx([total], rel=1e-9)


def test_an_interrupted_arena_goes_on(tmp_path: Path) -> None:
    arena = set_up_weekly(
        [policy_from("quadratic")], seed=2, scale=SMALL, scenarios=[scenario(STARTED), scenario("loan-k3-m0.6")]
    )
    whole = play_weekly(arena, tmp_path / "whole")

    class Stop(Exception):
        pass

    def interrupt(policy: str, rounds: int) -> None:
        raise Stop

    with pytest.raises(Stop):
        play_weekly(arena, tmp_path / "cut", progress=interrupt)
    assert play_weekly(arena, tmp_path / "cut").equals(whole)
    assert whole.height == 2 * 2 * SMALL.runs * 2  # scenarios, policies, runs, horizons
    again = play_weekly(arena, tmp_path / "whole")
    assert again.equals(whole)
    assert isinstance(again, polars.DataFrame)
