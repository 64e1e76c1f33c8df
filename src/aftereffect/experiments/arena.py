"""The arena: every policy on a fixed set of scenarios, on common random numbers. What is run; `scores` says who is better.

Each scenario is an experiment of its own in a directory of its own, so a policy that cannot start in one is missing there only,
and what is finished is kept.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
import polars

import aftereffect.policies  # noqa: F401 (makes every policy known)
from aftereffect.experiments.executors import Progress
from aftereffect.experiments.plan import refusal
from aftereffect.experiments.run import How, run_spec
from aftereffect.experiments.spec import Spec, parse_spec
from aftereffect.model.family_notation import family_from
from aftereffect.policies.base import Policy, policy_from, registry
from aftereffect.simulation.runs import run_once
from aftereffect.simulation.simulate import draw_instance

REFERENCES = (
    "history-ucb",
    "history-ucb:log=printed",
)  # Algorithm 3 in both readings of its radius: what ratios are to

DRAWN = ("gaussian", "patrol", "loan", "bump", "lipschitz")
FIXED = ("lending", "tent")  # the same problem whatever the seed: runs take the place of instances
MEMORY = 0.5
OFF = 0.2  # by how much a policy is told too little or too much memory
CONVEX, CONCAVE = "power(exponent=2)", "power(exponent=0.5)"  # the g of the figure `general`, and its inverse
KINDS = {
    "memory-low": f"told a memory {OFF:g} below the true one",
    "memory-high": f"told a memory {OFF:g} above the true one",
    "realised": "impact driven by realised activations",
    "convex": "a monotone g, x^2, that no policy was told of",
    "concave": "a monotone g, the square root, that no policy was told of",
    "transient": "exponential smoothing that starts at 1",
    "drift": "responses that drift to others over the horizon",
}

CHECKPOINTS = 20  # the scores need the last only; `aftereffect report` draws them all
SPEED_ROUNDS = 20_000  # enough to tell rounds a second, few enough for a policy in plain Python
SPEED_RUNS = 3  # the quickest counts: the first may have to compile


@dataclass(frozen=True)
class Scale:
    """How much is run in each scenario."""

    horizon: int
    runs: int


FULL, QUICK = Scale(100_000, 40), Scale(2_000, 4)


@dataclass(frozen=True)
class Scenario:
    """One world of the arena, and what policies are told of it."""

    name: str
    family: str
    arms: int
    memory: float
    problem: str
    kind: str = ""  # of stress
    told: float | None = None  # instead of the memory
    driver: str | None = None  # what drives the impact, for policies that have a choice

    @property
    def drawn(self) -> bool:
        """Does each run have an instance of its own?"""
        return self.family not in FIXED


def plain_scenarios() -> list[Scenario]:
    """The scenarios in which policies know what they need."""
    wanted = [(family, arms, MEMORY) for family in (*DRAWN, "lending") for arms in (2, 4)] + [("tent", 2, MEMORY)]
    wanted += [("gaussian", 2, memory) for memory in (0.2, 0.4, 0.6)] + [("gaussian", arms, 0.4) for arms in (3, 5)]
    return [Scenario(f"{f}-k{k}-m{m:g}", f, k, m, f"{f}:arms={k},memory={m:g}") for f, k, m in wanted]


def stress_scenarios(horizon: int) -> list[Scenario]:
    """The scenarios in which the policies' model is wrong, kind by kind."""
    worlds = {
        "realised": f"memory={MEMORY:g},driver=realised",
        "convex": f"impact=discounted(memory={MEMORY:g},g={CONVEX})",
        "concave": f"impact=discounted(memory={MEMORY:g},g={CONCAVE})",
        "transient": f"impact=smoothed(memory={MEMORY:g},start=1)",
        "drift": f"memory={MEMORY:g},drift={horizon}",
    }
    told = {"memory-low": round(MEMORY - OFF, 6), "memory-high": round(MEMORY + OFF, 6)}
    return [
        Scenario(
            name=f"{kind}-{family}",
            family=family,
            arms=2,
            memory=MEMORY,
            problem=f"{family}:arms=2,{worlds.get(kind, f'memory={MEMORY:g}')}",
            kind=kind,
            told=told.get(kind),
            driver="realised" if kind == "realised" else None,
        )
        for kind in KINDS
        for family in DRAWN
    ]


def default_policies() -> list[Policy]:
    """Every policy that takes part unasked, and Algorithm 3 in both readings, by name."""
    found = {p.key: p for p in [*entrants("regret"), *map(policy_from, REFERENCES)]}
    return sorted(found.values(), key=lambda p: p.name)


def entrants(arena: str) -> list[Policy]:
    """The first example of every policy that takes part in an arena unasked, by name.

    Those that keep a tolerance are left out: they pay for fairness, and that is not what regret and gains measure.
    """
    first = [p for name, cls in sorted(registry().items()) if arena in cls.arenas for p in cls.examples()[:1]]
    return [p for p in first if "tolerance" not in p.parameters]


def told(policy: Policy, scenario: Scenario) -> Policy:
    """The policy as it stands in a scenario: a memory that it left open is told, wrongly where the scenario says so."""
    changes: dict[str, object] = {}
    estimates = getattr(policy, "memory_bound", None) is not None  # it was told not to believe anybody
    for f in dataclasses.fields(policy):
        value = getattr(policy, f.name)
        if isinstance(value, Policy):
            changes[f.name] = told(value, scenario)
        elif f.name == "memory" and value is None and scenario.told is not None and not estimates:
            changes[f.name] = scenario.told
        elif f.name == "driver" and value == f.default and scenario.driver is not None:
            changes[f.name] = scenario.driver
    return dataclasses.replace(policy, **changes) if changes else policy


@dataclass(frozen=True)
class Match:
    """A scenario, the experiment in it, and who takes part: by the policies' keys, what they are there, or why they are not."""

    scenario: Scenario
    spec: Spec
    playing: dict[str, str]
    refused: dict[str, str]

    @property
    def work(self) -> dict[str, int]:
        """Rounds to simulate, by the policies' keys; of two that are the same here only one is run."""
        rounds = self.spec.horizon * self.spec.instances * self.spec.runs
        return dict.fromkeys(self.key_of.values(), rounds)

    @property
    def key_of(self) -> dict[str, str]:
        """The policies' keys by what they are here."""
        return {notation: key for key, notation in reversed(self.playing.items())}


@dataclass(frozen=True)
class Arena:
    """All matches at one scale and seed."""

    matches: list[Match]
    policies: list[Policy]
    scale: Scale
    seed: int
    stress: bool

    @property
    def quick(self) -> bool:
        """Is this the smoke version?"""
        return self.scale == QUICK

    @property
    def work(self) -> dict[str, int]:
        """Rounds to simulate, by the policies' keys."""
        total: Counter[str] = Counter()
        for match in self.matches:
            total.update(match.work)
        return total

    @property
    def refused(self) -> dict[tuple[str, str], list[str]]:
        """Scenarios by policy and the reason for which it could not start in them."""
        found: dict[tuple[str, str], list[str]] = {}
        for match in self.matches:
            for policy, reason in match.refused.items():
                found.setdefault((policy, reason), []).append(match.scenario.name)
        return found


def set_up(
    policies: Sequence[Policy] = (),
    *,
    quick: bool = False,
    stress: bool = False,
    seed: int = 0,
    scale: Scale | None = None,
    scenarios: Sequence[Scenario] | None = None,
) -> Arena:
    """An arena for the policies given (default: all) and what they are measured against."""
    scale = scale or (QUICK if quick else FULL)
    chosen = list({p.key: p for p in [*(policies or default_policies()), *map(policy_from, REFERENCES)]}.values())
    if scenarios is None:
        scenarios = stress_scenarios(scale.horizon) if stress else plain_scenarios()
    return Arena([match_in(scenario, chosen, scale, seed) for scenario in scenarios], chosen, scale, seed, stress)


def match_in(
    scenario: Scenario, policies: Sequence[Policy], scale: Scale, seed: int, checkpoints: int | list[int] = CHECKPOINTS
) -> Match:
    """The experiment in a scenario, with the policies that can start there."""
    problem = family_from(scenario.problem)[0].draw(0)
    playing, refused = {}, {}
    for policy in policies:
        here = told(policy, scenario)
        reason = refusal(here, problem, scale.horizon)
        if reason is None:
            playing[policy.key] = here.key
        else:
            refused[policy.key] = reason
    spec = parse_spec(
        {
            "name": scenario.name,
            "title": f"The arena: {scenario.name}",
            "horizon": scale.horizon,
            "instances": scale.runs if scenario.drawn else 1,
            "runs": 1 if scenario.drawn else scale.runs,
            "seed": seed,
            "checkpoints": checkpoints,
            "problems": [{"family": scenario.problem}],
            "policies": [{"policy": notation} for notation in dict.fromkeys(playing.values())],
        }
    )
    return Match(scenario, spec, playing, refused)


def run_arena(arena: Arena, out: Path, **how: Unpack[How]) -> polars.DataFrame:
    """Compute what a directory still lacks; the regret of every run at the horizon."""
    return polars.concat(
        _tidy(match, rows.filter(polars.col("round") == match.spec.horizon).collect())
        for match, rows in played(arena, out, **how)
    )


def played(arena: Arena, out: Path, **how: Unpack[How]) -> Iterator[tuple[Match, polars.LazyFrame]]:
    """Match after match, computed as far as its directory lacks it, with the rows of all its checkpoints."""
    for match in arena.matches:
        here: How = {**how, "progress": _under_keys(match, how["progress"])} if "progress" in how else how
        yield match, run_spec(match.spec, out / match.scenario.name, **here).frame()


def _under_keys(match: Match, progress: Progress) -> Progress:
    """Bars are by policy, whatever each was told in this scenario."""
    keys = match.key_of
    return lambda notation, rounds: progress(keys[notation], rounds)


def _tidy(match: Match, last: polars.DataFrame) -> polars.DataFrame:
    """One row per policy and run."""
    scenario = match.scenario
    rows = by_policy(match, last).with_columns(
        scenario=polars.lit(scenario.name), kind=polars.lit(scenario.kind), family=polars.lit(scenario.family)
    )
    columns = ("scenario", "kind", "family", "problem", "policy", "parameters", "instance", "run", "round", "regret")
    return rows.select(*columns, "realised_regret").sort("policy", "instance", "run")


def by_policy(match: Match, rows: polars.DataFrame) -> polars.DataFrame:
    """Rows under the policies' keys instead of what they are in this scenario; two that are the same here have the same rows."""
    mine = polars.DataFrame({"policy": list(match.playing), "parameters": list(match.playing.values())})
    return rows.drop("policy").join(mine, on="parameters")


def rounds_per_second(policy: Policy, rounds: int = SPEED_ROUNDS) -> float | None:
    """Speed of one run on one thread, on the gaussian scenario with two arms; None where it cannot start."""
    problem = draw_instance(family_from(f"gaussian:memory={MEMORY:g}")[0], 0, 0)
    if refusal(policy, problem, rounds) is not None:
        return None
    seconds = []
    for _ in range(SPEED_RUNS):
        begun = time.perf_counter()
        run_once(problem, policy, np.array([rounds]), 0)
        seconds.append(time.perf_counter() - begun)
    return rounds / min(seconds)


def speeds(arena: Arena) -> dict[str, float | None]:
    """Rounds a second by the policies' keys, one after the other on one thread."""
    return {p.key: rounds_per_second(p, min(SPEED_ROUNDS, arena.scale.horizon)) for p in arena.policies}
