"""For information: how fast every policy runs."""

from __future__ import annotations

from typing import Any

import aftereffect as ae
from aftereffect.policies.base import registry
from bench.loops import gaussian, simulation
from bench.rows import Row
from bench.timing import in_turns

HORIZON = 500_000


def build(name: str) -> ae.Policy:
    """A policy with its defaults, and with what has none."""
    needed: dict[str, dict[str, Any]] = {
        "phased": {"inner": ae.CUCB()},
        "fixed": {"allocation": (0.5, 0.5)},
        "fair-thompson": {"tolerance": 0.1},
    }
    return ae.policy(name, **needed.get(name, {}))


def rates() -> list[Row]:
    rows = []
    problem = gaussian(2, 0.4)
    for name in registry():
        run = simulation(problem, build(name), HORIZON)
        run()
        nanoseconds = 1e9 * in_turns({name: run}, 3)[name] / HORIZON
        rows.append(Row(name, f"{1e3 / nanoseconds:.2f}", note=f"{nanoseconds:.0f}"))
    return rows
