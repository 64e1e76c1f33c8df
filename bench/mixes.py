"""Advice from the same records: ours, an even split, and PyMC-Marketing's media-mix model with its budget optimiser."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import aftereffect as ae
from bench.peers import Peer
from bench.records import World, other_worlds
from bench.rows import Row

KINDS = ("saturating", "hill", "tiring", "bump")  # the first two are what media-mix models are made for
SEED = 80_000


@dataclass(frozen=True)
class Case:
    """One world: parts of the best split's gain over an even one, and processor seconds; ours and theirs."""

    world: str
    gain: tuple[float, float]
    seconds: tuple[float, float]
    version: str


def cases(python: Path) -> Iterator[Case]:
    """Every world's records to both."""
    with Peer(python, "mmm.py") as peer:
        for i, world in enumerate(other_worlds(1, SEED, "slow", KINDS)):
            if i == 0:
                _ours(world)  # imports and compiles
            split, seconds = _ours(world)
            answer = peer.run(json.dumps(asked_of(world)))
            gains = gain_share(world, split), gain_share(world, answer["split"])
            yield Case(world.name, gains, (seconds, answer["seconds"]), answer["version"])


def asked_of(world: World) -> dict[str, Any]:
    """A world's records as media-mix models take them: what each channel got, and what came back in all."""
    records = world.records
    return {"amounts": records.trials.tolist(), "total": (records.trials * records.rewards).sum(axis=1).tolist()}


def _ours(world: World) -> tuple[list[float], float]:
    begun = time.process_time()
    split = list(ae.fit(world.records).best().allocation.values())
    return split, time.process_time() - begun


def gain_share(world: World, split: Any) -> float:
    """What a split earns: 0 as an even one, 1 as the best."""
    even = world.utility(np.full(world.problem.arms, 1 / world.problem.arms))
    return (world.utility(split) - even) / (ae.best_fixed(world.problem).utility - even)


def against_mmm(python: Path) -> list[Row]:
    """The handful in two lines: gain share and seconds, ours against theirs."""
    found = list(cases(python))
    ours, theirs = np.mean([case.gain for case in found], axis=0).tolist()
    fast, slow = np.mean([case.seconds for case in found], axis=0).tolist()
    each = ", ".join(f"{case.world} {_percent(case.gain[0])} and {_percent(case.gain[1])}" for case in found)
    return [
        Row(
            "advice from records: part of the best split's gain over an even split",
            f"{_percent(ours)} %",
            "above PyMC-Marketing's",
            ours > theirs,
            f"PyMC-Marketing {found[0].version}: {_percent(theirs)} %; by worlds {each}",
        ),
        Row(
            "advice from records: speed over PyMC-Marketing's",
            f"{slow / fast:,.0f}",
            note=f"{fast:.2f} and {slow:.0f} s a fit",
        ),
    ]


def _percent(part: float) -> str:
    return f"{100 * part:.0f}"
