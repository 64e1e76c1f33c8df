"""Records: how much of the best split's gain a fit's advice earns, whether its bands hold, and how fast records are read.

`python -m bench.records [--worlds weekly|others|..] [--runs R] [--seed S] [--wander slow|fresh]` prints the two first.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars
from rich.console import Console
from rich.table import Table

import aftereffect as ae
from aftereffect.experiments.weekly import weekly_scenarios
from aftereffect.model.family_notation import family_from
from bench.rows import Row

ROUNDS = 104
BY = 1 / 3  # of its value: how far a share wanders


@dataclass(frozen=True)
class World:
    """A problem whose curves are known, and records of it."""

    name: str
    problem: ae.Problem
    base: Any
    records: ae.Records
    impact: Any  # (rounds, arms): as it really was

    def utility(self, split: Any) -> float:
        return self.problem.utility(np.asarray(split))


def wandering(base: Any, rounds: int, rng: np.random.Generator, how: str) -> Any:
    """Shares around a split: slow, so that a week is like the one before, or fresh in every round, up to a third."""
    if how == "fresh":
        table = base * (1 + BY * rng.uniform(-1, 1, (rounds, len(base))))
    else:
        noise, rows = rng.normal(size=len(base)), []
        for _ in range(rounds):
            noise = 0.7 * noise + np.sqrt(1 - 0.49) * rng.normal(size=len(base))
            rows.append(base * np.exp(BY * noise))
        table = np.array(rows)
    return table / table.sum(axis=1, keepdims=True)


def world(name: str, problem: ae.Problem, seed: int, how: str) -> World:
    """Two years of weeks in which shares wander, after a past with the split around which they do."""
    rng = np.random.default_rng(seed)
    base = np.array(problem.limits.even if problem.start is None else problem.start)
    shares = wandering(base, ROUNDS, rng, how)
    memory, shock = problem.memory or 0.0, 0.0 if problem.shock is None else problem.shock.deviation  # type: ignore[union-attr]
    impact, impacts, rewards = base, [], []
    given = np.maximum(1, np.round(shares * (problem.units or 300)))
    for t in range(ROUNDS):
        impact = memory * impact + (1 - memory) * shares[t]
        impacts.append(impact)
        mean = np.array([float(problem.steady(k, impact[k])) for k in range(problem.arms)])
        mean = np.clip(mean + shock * rng.normal(size=problem.arms), 0, 1)
        rewards.append(rng.binomial(given[t].astype(int), mean) / given[t])
    names = tuple(f"arm {k}" for k in range(problem.arms))
    labels = tuple(str(t + 1) for t in range(ROUNDS))
    return World(name, problem, base, ae.Records(names, labels, shares, np.array(rewards), given), np.array(impacts))


def weekly_worlds(runs: int, seed: int, how: str) -> Iterator[World]:
    for scenario in weekly_scenarios():
        family = family_from(scenario.problem)[0]
        for run in range(runs):
            yield world(scenario.name, family.draw(seed + run), seed + 1000 * run, how)


# Families that are neither the arena's nor the prior's. The advice's constants were chosen on the first, never on the others.
CHOSEN_ON = ("saturating", "tiring", "bump", "linear", "logistic", "low rates")
HELD_OUT = ("hill", "power", "kinked", "valley", "waves", "of every kind")
NARROW = ("hump", "spire", "threshold", "dip", "rise and fall")  # what turns soon after where anybody looked


def other_worlds(runs: int, seed: int, how: str, kinds: Sequence[str] = CHOSEN_ON) -> Iterator[World]:
    """Worlds of some families: three to six arms, 100 to 500 units, any memory up to .9."""
    for kind in kinds:
        for run in range(runs):
            rng = np.random.default_rng([seed + run, len(kind)])
            arms = int(rng.integers(3, 7))
            base = (rng.dirichlet([5] * arms) + 0.05) / (1 + 0.05 * arms)
            problem = ae.Problem(
                [_curve(kind, rng) for _ in range(arms)],
                impact=ae.Discounted(float(rng.uniform(0, 0.9))),
                units=int(rng.integers(100, 501)),
                shock=0.02 if kind != "low rates" and rng.random() < 0.3 else None,
                start=(base / base.sum()).tolist(),
            )
            yield world(kind, problem, seed + 1000 * run, how)


def held_out_worlds(runs: int, seed: int, how: str) -> Iterator[World]:
    return other_worlds(runs, seed, how, HELD_OUT)


def narrow_worlds(runs: int, seed: int, how: str) -> Iterator[World]:
    return other_worlds(runs, seed, how, NARROW)


def _curve(kind: str, rng: np.random.Generator) -> Any:
    low, size, place = rng.uniform(0.05, 0.4), rng.uniform(0.1, 0.5), rng.uniform(0.1, 0.6)
    if kind == "low rates":
        inner = _curve(("saturating", "tiring", "bump", "linear", "logistic")[int(rng.integers(5))], rng)
        return lambda x: 0.01 + 0.09 * inner(x)
    if kind == "of every kind":
        return _curve((*CHOSEN_ON[:5], *HELD_OUT[:5])[int(rng.integers(10))], rng)
    speed, width = rng.uniform(1, 8), rng.uniform(0.1, 0.35)
    return {
        "saturating": lambda x: low + size * (1 - np.exp(-speed * x)),
        "tiring": lambda x: low + size * np.exp(-speed * x),
        "bump": lambda x: low + size * np.exp(-0.5 * ((x - place) / width) ** 2),
        "linear": lambda x: low + size * (x if speed < 4 else 1 - x),
        "logistic": lambda x: low + size / (1 + np.exp(-3 * speed * (x - place))),
        "hill": lambda x: low + size * x**2 / (x**2 + place**2),
        "power": lambda x: low + size * (np.sqrt(x) if speed < 4 else 1 - np.sqrt(x)),
        "kinked": lambda x: low + size * (np.minimum(x, place) / place if speed < 4 else np.maximum(0, 1 - x / place)),
        "valley": lambda x: low + size * np.minimum(1, np.abs(x - place) / 0.5),
        "hump": lambda x: low + size * x / place * np.exp(1 - x / place),
        "spire": lambda x: low + size / (1 + ((x - place) / (0.7 * width)) ** 2),
        "threshold": lambda x: (
            low + size * (1 - np.clip((x - place) / 0.3, 0, 1) if speed < 4 else np.clip((x - place) / 0.3, 0, 1))
        ),
        "dip": lambda x: low + size * (1 - np.exp(-0.5 * ((x - place) / (0.6 * width)) ** 2)),
        "rise and fall": lambda x: low + size * (1 - np.exp(-40 * width * x)) * np.exp(-0.5 * speed * x),
        "waves": lambda x: low + 0.5 * size * (1 + np.sin(speed * x + 20 * place)),
    }[kind]


@dataclass(frozen=True)
class Score:
    """One fit against the truth; utilities are a round's."""

    gain: float
    possible: float
    current: float
    inside: float
    outside: float


def score(world: World, fit: ae.Fit | None = None) -> Score:
    problem = world.problem
    limits = {"floors": None if problem.floors is None else problem.limits.floors.tolist()}
    fit = fit or ae.fit(world.records, **limits)
    split = list(fit.best().allocation.values())
    best = ae.best_fixed(problem).utility
    current = world.utility(world.base)
    held = {True: [], False: []}  # type: dict[bool, list[bool]]
    for k, name in enumerate(fit.names):
        curve = fit.curve(name)
        truth = problem.steady(k, curve["share"].to_numpy())
        low, high = world.impact[:, k].min(), world.impact[:, k].max()
        for share, r, a, b in zip(curve["share"], truth, curve["low"], curve["high"], strict=True):
            held[bool(low <= share <= high)].append(bool(a <= r <= b))
    inside, outside = (float(np.mean(held[side])) for side in (True, False))
    return Score(world.utility(split) - current, best - current, current, inside, outside)


def table(scores: dict[str, list[Score]], title: str) -> Table:
    shown = Table("world", "gain share, %", "below by > 1 %", "inside, %", "outside, %", title=title)
    for name, found in [*scores.items(), ("all", [])]:
        every = found or [s for part in scores.values() for s in part]
        worth = [p for p in scores.values() if sum(s.possible for s in p) > 0.01 * sum(s.current for s in p)]
        shares = [sum(s.gain for s in p) / sum(s.possible for s in p) for p in ([found] if found else worth)]
        lost = np.mean([s.gain < -0.01 * s.current for s in every])
        shown.add_row(
            name,
            f"{100 * np.mean(shares):.0f}",
            f"{100 * lost:.1f}",
            *(f"{100 * np.mean([getattr(s, side) for s in every]):.1f}" for side in ("inside", "outside")),
        )
    return shown


def measure(worlds: Iterator[World]) -> dict[str, list[Score]]:
    scores: dict[str, list[Score]] = {}
    for one in worlds:
        scores.setdefault(one.name, []).append(score(one))
    return scores


READ = """
import resource, sys, time
import aftereffect as ae
ae.read_records
start = time.perf_counter()
records = ae.read_records(sys.argv[1])
print(time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6, records.rounds * records.arms)
"""


def a_million_rows() -> list[Row]:
    """A CSV of a million rows, five arms: seconds, and the whole process's memory."""
    rounds, arms = 200_000, 5
    rng = np.random.default_rng(0)
    amount = rng.integers(20, 100, rounds * arms)
    frame = polars.DataFrame(
        {
            "round": np.repeat(np.arange(1, rounds + 1), arms),
            "arm": np.tile([f"region {k}" for k in range(arms)], rounds),
            "amount": amount,
            "trials": amount,
            "successes": rng.binomial(amount, 0.3),
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        frame.write_csv(path)
        done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    seconds, gigabytes, cells = map(float, done.stdout.split())
    assert cells == rounds * arms
    return [
        Row("a million rows of records read", f"{seconds:.1f} s", "at most 5 s", seconds <= 5),
        Row("peak memory while reading them", f"{gigabytes:.2f} GB", "at most 1 GB", gigabytes <= 1),
    ]


WORLDS = {"weekly": weekly_worlds, "others": other_worlds, "held-out": held_out_worlds, "narrow": narrow_worlds}


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench.records", description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--wander", choices=("slow", "fresh"), default="slow")
    parser.add_argument("--worlds", choices=tuple(WORLDS), action="append", help="again for more; all if never given")
    options = parser.parse_args()
    start, console = time.perf_counter(), Console()
    for which in options.worlds or WORLDS:
        console.print(table(measure(WORLDS[which](options.runs, options.seed, options.wander)), which))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    console.print(f"took {time.perf_counter() - start:.0f} s, {peak:.2f} GB", style="dim")


if __name__ == "__main__":
    main()
