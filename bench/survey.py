"""For information: how fast every policy runs."""

from __future__ import annotations

from aftereffect.policies.base import registry
from bench.loops import gaussian, simulation
from bench.rows import Row
from bench.timing import in_turns

HORIZON = 500_000


def rates() -> list[Row]:
    rows = []
    problem = gaussian(2, 0.4)
    for name, cls in registry().items():
        run = simulation(problem, cls.examples()[0], HORIZON)
        run()
        nanoseconds = 1e9 * in_turns({name: run}, 3)[name] / HORIZON
        rows.append(Row(name, f"{1e3 / nanoseconds:.2f}", note=f"{nanoseconds:.0f}"))
    return rows
