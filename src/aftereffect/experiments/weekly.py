"""The weekly arena: the scale at which institutions decide. What is run; `gains` says who is better.

Tens to hundreds of rounds, 50 to 1,000 units a round, a memory that nobody knows. Every policy is measured between the even
split and the best fixed one, each on its own history from the same start. Scenarios and storage are the arena's.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import polars

from aftereffect.errors import AftereffectError, require_one_of, require_whole, shown
from aftereffect.experiments.arena import Arena, Match, Scale, Scenario, by_policy, entrants, match_in, played
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.run import How
from aftereffect.notation import parse
from aftereffect.policies.base import Policy, policy_from
from aftereffect.policies.recommend import recommended

HORIZONS = (26, 52, 104, 208, 520)  # half a year to ten years of weeks; checkpoints of one run
FULL, QUICK = Scale(520, 40), Scale(104, 6)
EVEN = "fixed"  # equal shares, or the split nearest to them within floors and caps: always takes part
TOLD = 0.9  # the memory that policies are told which cannot estimate it: a cautious guess, since nobody knows it

# Family, arms and memory, then what makes it a week: units, rates as they are or of a few percent, floors, shocks, starts.
SCENARIOS: tuple[tuple[str, int, float, str], ...] = (
    ("patrol", 3, 0.5, "units=200,floors=0.25"),  # next to nothing to gain: a policy must not lose there either
    ("patrol", 4, 0.3, "units=100,floors=0.05"),
    ("patrol", 5, 0.8, "units=500,shock=0.03"),
    ("patrol", 6, 0.7, "units=300,rate=0.1"),
    ("loan", 3, 0.6, "units=100"),
    ("loan", 4, 0.8, "units=300,shock=0.05"),
    ("loan", 5, 0.4, "units=50,floors=0.05"),
    ("loan", 6, 0.9, "units=1000,rate=0.1"),
    ("loan", 4, 0.9, "units=500,start=[0.55,0.25,0.15,0.05]"),
    ("gaussian", 4, 0.4, "units=200"),
    ("gaussian", 5, 0.6, "units=500,rate=0.1"),
    ("lipschitz", 3, 0.7, "units=300"),
    ("lipschitz", 4, 0.5, "units=1000,shock=each(deviation=0.03)"),
    ("lipschitz", 5, 0.8, "units=400,start=[0.1,0.4,0.1,0.1,0.3]"),
    ("lipschitz", 6, 0.3, "units=800,rate=0.1,shock=0.005"),
    ("bump", 4, 0.5, "units=500"),
    ("lending", 4, 0.8, "units=200,start=[0.6,0.1,0.1,0.2]"),
    ("lending", 3, 0.6, "units=600,rate=0.05,floors=0.1"),
    ("loan", 4, 0.8, "units=300,delay=4"),  # rewards that are seen a month or two later
    ("lipschitz", 3, 0.7, "units=300,delay=8"),
    ("loan", 5, 0.5, "units=50,rate=0.1"),  # a few successes a week: there is little to go by for years
    ("lipschitz", 4, 0.6, "units=100,rate=0.05"),
    ("bump", 5, 0.6, "units=100"),
)


@dataclass(frozen=True)
class Weekly(Arena):
    """All weekly matches at one scale and seed."""

    @property
    def quick(self) -> bool:
        return self.scale == QUICK


def horizons_up_to(horizon: int) -> list[int]:
    """The checkpoints that a run of so many rounds passes, its end included."""
    return sorted({*(t for t in HORIZONS if t <= horizon), horizon})


def weekly_scenarios() -> list[Scenario]:
    """The worlds of the weekly arena."""
    return [
        Scenario(
            name=_scenario_name(family, arms, memory, week),
            family=family,
            arms=arms,
            memory=memory,
            problem=f"{family}:arms={arms},memory={memory:g},{week}",
            kind="weekly",
            told=TOLD,
        )
        for family, arms, memory, week in SCENARIOS
    ]


def _scenario_name(family: str, arms: int, memory: float, week: str) -> str:
    given = parse(f"{family}:{week}").parameters
    marks = [word for word in ("rate", "floors", "shock", "start", "delay") if word in given]
    return "-".join([family, f"k{arms}", f"m{memory:g}", *marks])


def weekly_policies() -> list[Policy]:
    """What we would use ourselves, and what it is measured against."""
    return [recommended(3), *entrants("weekly")]


def set_up_weekly(
    policies: Sequence[Policy] = (),
    *,
    quick: bool = False,
    seed: int = 0,
    scale: Scale | None = None,
    scenarios: Sequence[Scenario] | None = None,
) -> Weekly:
    """A weekly arena for the policies given (default: the recommended one and the baselines) and the even split."""
    scale = scale or (QUICK if quick else FULL)
    chosen = list({p.key: p for p in [*(policies or weekly_policies()), policy_from(EVEN)]}.values())
    rounds = horizons_up_to(scale.horizon)
    matches = [
        match_in(scenario, chosen, scale, seed, rounds)
        for scenario in (weekly_scenarios() if scenarios is None else scenarios)
    ]
    return Weekly(matches, chosen, scale, seed, stress=False)


def play_weekly(arena: Weekly, out: Path, **how: Unpack[How]) -> polars.DataFrame:
    """Compute what a directory still lacks; one row per scenario, policy, run and horizon."""
    return polars.concat(_against_even(match, rows.collect()) for match, rows in played(arena, out, **how))


def run_weekly(
    policies: Sequence[Policy | str] = (),
    seed: int = 0,
    runs: int = FULL.runs,
    *,
    horizon: int = FULL.horizon,
    scenarios: Sequence[str] | None = None,
    threads: int | None = None,
    out: Path | None = None,
) -> polars.DataFrame:
    """The weekly arena from Python: run, scenario, policy, T, achieved, even and best, summed from round 1 to T.

    `scenarios` picks scenarios by name. Without `out` nothing is kept; with it, finished work is, and the same call goes on.
    """
    scale = Scale(require_whole("horizon", horizon), require_whole("runs", runs))
    policies = [policies] if isinstance(policies, (str, Policy)) else policies
    policies = list(policies) if isinstance(policies, Iterable) else policies
    if not isinstance(policies, list) or not all(isinstance(p, (str, Policy)) for p in policies):
        raise AftereffectError(f"policies must be a list of policies or of their names, got {shown(policies)}")
    given = [p if isinstance(p, Policy) else policy_from(p) for p in policies]
    known = {scenario.name: scenario for scenario in weekly_scenarios()}
    wanted = [scenarios] if isinstance(scenarios, str) else known if scenarios is None else scenarios
    if not isinstance(wanted, Collection) or not wanted:
        raise AftereffectError(f"scenarios must be a list of at least one name (without it: all), got {shown(wanted)}")
    for name in wanted:
        require_one_of("scenario", name, known)
    chosen = [scenario for name, scenario in known.items() if name in wanted]
    arena = set_up_weekly(given, seed=require_whole("seed", seed, 0), scale=scale, scenarios=chosen)
    if out is not None:
        return play_weekly(arena, Path(out), executor=Threads(threads))
    with tempfile.TemporaryDirectory() as folder:
        return play_weekly(arena, Path(folder), executor=Threads(threads))


def _against_even(match: Match, rows: polars.DataFrame) -> polars.DataFrame:
    """Each run beside what the even split and the best fixed one earn in it.

    All come from the same stored runs: the even split is a policy among others, and its regret leads to the best.
    """
    keys = ["instance", "run", "round"]
    mine = by_policy(match, rows)
    even = mine.filter(polars.col("policy") == EVEN).select(
        *keys, even=polars.col("utility"), best=polars.col("utility") + polars.col("regret")
    )
    return (
        mine.join(even, on=keys)
        .select(
            scenario=polars.lit(match.scenario.name),
            policy=polars.col("policy"),
            run=polars.col("instance") * match.spec.runs + polars.col("run"),
            T=polars.col("round"),
            achieved=polars.col("utility"),
            even=polars.col("even"),
            best=polars.col("best"),
        )
        .sort("policy", "run", "T")
    )
