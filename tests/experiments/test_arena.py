"""The arena: its scenarios, what policies are told in them, and that running it is running the library."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars
import pytest

import aftereffect as ae
from aftereffect.experiments.arena import (
    DRAWN,
    KINDS,
    QUICK,
    REFERENCES,
    Arena,
    Scale,
    Scenario,
    default_policies,
    plain_scenarios,
    rounds_per_second,
    run_arena,
    set_up,
    speeds,
    stress_scenarios,
    told,
)
from aftereffect.experiments.executors import Progress, Threads
from aftereffect.experiments.shards import Task
from aftereffect.model.curves import Floats
from aftereffect.model.family_notation import family_from
from aftereffect.policies import base
from aftereffect.policies.base import policy_from, registry

TINY = Scale(horizon=300, runs=4)
SCENARIOS = {scenario.name: scenario for scenario in [*plain_scenarios(), *stress_scenarios(TINY.horizon)]}


def tiny(*names: str, policies: Sequence[str] = ("round-robin",), seed: int = 3) -> Arena:
    """An arena that takes no time."""
    return set_up([*map(policy_from, policies)], seed=seed, scale=TINY, scenarios=[SCENARIOS[name] for name in names])


def regrets(rows: polars.DataFrame, scenario: str, policy: str) -> Floats:
    found = rows.filter((polars.col("scenario") == scenario) & (polars.col("policy") == policy)).sort("instance", "run")
    return found["regret"].to_numpy()


# Scenarios.


def test_the_scenarios_are_the_issues() -> None:
    scenarios = {(c.family, c.arms, c.memory) for c in plain_scenarios()}
    expected = {(f, k, 0.5) for f in ("gaussian", "patrol", "loan", "bump", "lipschitz", "lending") for k in (2, 4)}
    expected |= {
        ("tent", 2, 0.5),
        *(("gaussian", 2, m) for m in (0.2, 0.4, 0.6)),
        *(("gaussian", k, 0.4) for k in (3, 5)),
    }
    assert scenarios == expected
    assert len(plain_scenarios()) == len(scenarios) == 18


@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=lambda scenario: scenario.name)
def test_a_scenarios_problem_is_what_it_says(scenario: Scenario) -> None:
    problem = family_from(scenario.problem)[0].draw(0)
    assert (problem.label, problem.arms, problem.memory) == (scenario.family, scenario.arms, scenario.memory)


def test_the_stress_is_in_the_world() -> None:
    scenarios = stress_scenarios(1234)
    assert [(c.kind, c.family) for c in scenarios] == [(kind, family) for kind in KINDS for family in DRAWN]
    worlds = {c.kind: family_from(c.problem)[0] for c in scenarios}
    assert worlds["realised"].driver == "realised"
    assert worlds["drift"].drift == 1234
    assert worlds["transient"].impact == ae.Smoothed(0.5, start=1)
    assert worlds["convex"].impact == ae.Discounted(0.5, g=ae.Power(2))
    assert worlds["concave"].impact == ae.Discounted(0.5, g=ae.Power(0.5))
    assert worlds["memory-low"].impact == worlds["memory-high"].impact == ae.Discounted(0.5)


def test_drawn_problems_get_instances_and_fixed_ones_runs() -> None:
    arena = set_up([ae.policy("fixed")], quick=True)
    shapes = {m.scenario.family: (m.spec.instances, m.spec.runs, m.spec.horizon) for m in arena.matches}
    drawn, fixed = (
        dict.fromkeys(DRAWN, (QUICK.runs, 1, 2000)),
        dict.fromkeys(("lending", "tent"), (1, QUICK.runs, 2000)),
    )
    assert shapes == drawn | fixed


# Policies.


PAPER = (
    "action-ucb", "cucb", "d-ucb", "exp3", "history-ucb", "lipschitz-elimination", "lipschitz-ucb", "meta-exp3", "one-arm-ucb",
    "phased", "sw-ucb", "thompson", "ucb1",
)  # fmt: skip


def test_every_registered_policy_takes_part_and_algorithm_3_in_both_readings() -> None:
    keys = [p.key for p in default_policies()]
    assert set(REFERENCES) <= set(keys)
    assert len(keys) == len(set(keys))
    taking_part = {p.name for p in default_policies()}
    assert taking_part == set(registry()) - {"fair-thompson", "quadratic", "thompson-split"}
    assert {name for name in taking_part if registry()[name].paper} == set(PAPER)
    assert {name for name in taking_part if not registry()[name].learns} == {"fixed", "round-robin"}


@dataclass(frozen=True)
class Fair(ae.PlainPolicy):
    name: ClassVar[str] = "fair"
    tolerance: float | None = None


@dataclass(frozen=True)
class Needy(ae.PlainPolicy):
    name: ClassVar[str] = "needy"
    secret: float


def test_policies_with_another_aim_or_a_parameter_to_give_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    before = default_policies()
    for cls in (Fair, Needy):
        monkeypatch.setitem(base._REGISTRY, cls.name, cls)
    assert default_policies() == before
    monkeypatch.setitem(base._REGISTRY, Follower.name, Follower)  # a new one takes part by itself
    assert set(default_policies()) - set(before) == {Follower()}


def test_what_ratios_are_to_is_always_there() -> None:
    keys = [p.key for p in tiny("tent-k2-m0.5").policies]
    assert keys == ["round-robin", *REFERENCES]


@dataclass(frozen=True)
class Follower(ae.PlainPolicy):
    name: ClassVar[str] = "follower"
    memory: float | None = None
    driver: str = "intended"


@dataclass(frozen=True)
class Holder(ae.PlainPolicy):
    name: ClassVar[str] = "holder"
    within: ae.Policy | None = None


def test_what_a_scenario_tells() -> None:
    follower = Follower()
    assert told(follower, SCENARIOS["gaussian-k2-m0.2"]) == follower  # filled from the problem
    assert told(follower, SCENARIOS["memory-low-bump"]) == Follower(0.3)
    assert told(follower, SCENARIOS["memory-high-bump"]) == Follower(0.7)
    assert told(follower, SCENARIOS["realised-bump"]) == Follower(None, "realised")
    assert told(Follower(0.9, "both"), SCENARIOS["memory-low-bump"]) == Follower(0.9, "both")  # what a user says stands
    assert told(Holder(follower), SCENARIOS["memory-low-bump"]) == Holder(Follower(0.3))
    assert told(ae.policy("d-ucb"), SCENARIOS["memory-low-bump"]) == ae.policy("d-ucb")


def test_a_wrong_memory_reaches_the_policy_and_not_the_world(tmp_path: Path) -> None:
    arena = tiny("memory-low-gaussian")
    assert arena.matches[0].playing["history-ucb"] == "history-ucb:memory=0.3"
    rows = run_arena(arena, tmp_path, executor=Threads(1))
    family = ae.family("gaussian", arms=2, memory=0.5)
    given = [ae.HistoryUCB(memory=0.3), ae.HistoryUCB()]
    expected = ae.simulate(family, given, TINY.horizon, 1, TINY.runs, seed=3, threads=1)
    found = regrets(rows, "memory-low-gaussian", "history-ucb")
    assert np.array_equal(found, expected["history-ucb:memory=0.3"].regret[:, -1])
    assert not np.array_equal(found, expected["history-ucb"].regret[:, -1])


def test_two_policies_that_are_the_same_in_a_scenario_are_run_once(tmp_path: Path) -> None:
    arena = tiny("memory-low-gaussian", "memory-high-gaussian", policies=["history-ucb:memory=0.3"])
    assert [len(m.spec.policies) for m in arena.matches] == [2, 3]
    seen: dict[str, int] = {}

    def progress(key: str, rounds: int) -> None:
        seen[key] = seen.get(key, 0) + rounds

    rows = run_arena(arena, tmp_path, executor=Threads(1), progress=progress)
    assert seen == arena.work
    scenario = "memory-low-gaussian"
    assert np.array_equal(regrets(rows, scenario, "history-ucb"), regrets(rows, scenario, "history-ucb:memory=0.3"))


def test_a_policy_that_cannot_start_is_missing_there_only(tmp_path: Path) -> None:
    arena = tiny("gaussian-k2-m0.5", "gaussian-k4-m0.5", policies=["fixed:allocation=[0.2,0.8]"])
    assert [list(m.refused) for m in arena.matches] == [[], ["fixed:allocation=[0.2,0.8]"]]
    assert "needs 4 shares" in arena.matches[1].refused["fixed:allocation=[0.2,0.8]"]
    rows = run_arena(arena, tmp_path, executor=Threads(1))
    there = rows.filter(polars.col("policy") == "fixed:allocation=[0.2,0.8]")
    assert there["scenario"].unique().to_list() == ["gaussian-k2-m0.5"]


# Running.


def test_runs_are_the_librarys_on_common_random_numbers(tmp_path: Path) -> None:
    """The same problems and the same numbers for every policy, whoever else takes part."""
    names = ["patrol-k2-m0.5", "lending-k2-m0.5"]
    rows = run_arena(tiny(*names, policies=["round-robin", "d-ucb"]), tmp_path / "both", executor=Threads(1))
    alone = run_arena(tiny(*names, policies=["d-ucb"]), tmp_path / "one", executor=Threads(1))
    for name, runs, instances in zip(names, (1, TINY.runs), (TINY.runs, 1), strict=True):
        family = family_from(SCENARIOS[name].problem)[0]
        policies = [ae.policy("round-robin"), ae.policy("d-ucb"), ae.policy("history-ucb", log="printed")]
        expected = ae.simulate(family, policies, TINY.horizon, runs, instances, seed=3, threads=1)
        for key in expected:
            assert np.array_equal(regrets(rows, name, key), expected[key].regret[:, -1])
        assert np.array_equal(regrets(alone, name, "d-ucb"), regrets(rows, name, "d-ucb"))


class Counting:
    """Threads that count tasks and are interrupted after some."""

    def __init__(self, most: float = math.inf) -> None:
        self.tasks, self.most = 0, most

    def __call__(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, bytes]]:
        for done in Threads(1)(tasks, progress):
            if self.tasks >= self.most:
                raise KeyboardInterrupt
            self.tasks += 1
            yield done


def test_it_goes_on_where_it_stopped(tmp_path: Path) -> None:
    arena = tiny("gaussian-k2-m0.5", "tent-k2-m0.5")
    whole = Counting()
    undisturbed = run_arena(arena, tmp_path / "undisturbed", executor=whole)
    with pytest.raises(KeyboardInterrupt):
        run_arena(arena, tmp_path / "out", executor=Counting(most=whole.tasks - 2))
    rest = Counting()
    assert run_arena(arena, tmp_path / "out", executor=rest).equals(undisturbed)
    assert 0 < rest.tasks <= 3  # what was not yet written
    again = Counting()
    assert run_arena(arena, tmp_path / "out", executor=again).equals(undisturbed)
    assert again.tasks == 0


def test_another_seed_is_another_arena(tmp_path: Path) -> None:
    first = run_arena(tiny("gaussian-k2-m0.5"), tmp_path, executor=Threads(1))
    with pytest.raises(ae.AftereffectError, match="seed is 3 there, 4 here"):
        run_arena(tiny("gaussian-k2-m0.5", seed=4), tmp_path)
    other = run_arena(tiny("gaussian-k2-m0.5", seed=4), tmp_path, executor=Threads(1), fresh=True)
    assert not np.array_equal(first["regret"].to_numpy(), other["regret"].to_numpy())


def test_speeds_are_measured_where_a_policy_can_start() -> None:
    found: dict[str, Any] = speeds(tiny("gaussian-k2-m0.5", policies=["round-robin", "fixed:allocation=[0.2,0.3,0.5]"]))
    assert found["round-robin"] > 0
    assert found["fixed:allocation=[0.2,0.3,0.5]"] is None
    assert rounds_per_second(ae.policy("fixed"), 100) is not None
