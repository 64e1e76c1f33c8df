"""`plan`: the numbers as a table or as JSON, and the picture."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable, Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import show
from aftereffect.cli.files import check_target
from aftereffect.cli.progress import duration
from aftereffect.cli.reading import MOST, read_number, read_real, real
from aftereffect.simulation.planning import EXAMPLE_GAP, MOST_ARMS, PlanOfRounds, plan
from aftereffect.theory import bounds

PICTURES = (".pdf", ".png", ".svg")


def show_plan(
    arms: str,
    horizon: str,
    memory: str | None,
    half_life: str | None,
    estimation: str,
    zero: bool,
    lipschitz: str,
    as_json: bool,
    out: str | None,
) -> None:
    """`aftereffect plan`."""
    picture = None if out is None else check_target(Path(out), kinds=PICTURES)
    made = plan(
        arms=read_number("--arms", arms, 1, MOST_ARMS),
        horizon=read_number("--horizon", horizon, 1, MOST),
        memory=real("--memory", memory),
        half_life=real("--half-life", half_life),
        estimation=read_real("--estimation", estimation),
        zero=zero,
        lipschitz=read_real("--lipschitz", lipschitz),
    )
    if picture is not None:
        from aftereffect.experiments.first_phases import first_phases
        from aftereffect.report.plan_figure import draw_plan

        draw_plan(made, *first_phases(made), picture)
    if as_json:
        print(json.dumps(made.document(), indent=2))
    else:
        show(*_tables(made), *([Text(f"\npicture: {picture}")] if picture else []), as_wide_as_needed=True)


def _tables(made: PlanOfRounds) -> Iterator[Table | Text]:
    yield Text(f"history-ucb, {made.arms} arms, {made.horizon:,} rounds", "bold")
    yield _table(_numbers(made))
    yield Text("\nThe paper's bounds at these numbers (a rate's constant is not stated and taken as one)", "bold")
    yield _table((name, _bound(number), _about(name, number, made)) for name, number in made.bounds.items())


def _table(rows: Iterable[tuple[str, str, str]]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name, value, note in rows:
        table.add_row(name, Text(value, "cyan"), note)
    return table


def _numbers(made: PlanOfRounds) -> Iterator[tuple[str, str, str]]:
    half = f"a share's weight halves in {made.half_life:,.3g} rounds" if made.half_life else "nothing is remembered"
    yield "memory", f"{made.memory:.4g}", half
    yield "levels", f"{made.levels:,}", f"shares in steps of {made.eps:.4f}{'' if made.zero else ', none of them zero'}"
    yield "cells", f"{made.cells:,}", "(arm, level): what statistics are kept of"
    yield "allocations", _count(made.allocations), "on the grid"
    yield (
        "phase",
        f"{made.phase_length:,}",
        f"rounds: approach {made.approach_rounds:,}, then estimation {made.estimation_rounds:,}",
    )
    asked = f"share of a phase that counts; asked for {made.estimation:g}" if made.memory else "every round counts"
    yield "effective rho", f"{made.effective_estimation:.3f}", asked
    yield "phases", f"{made.phases:,}", f"{made.leftover_rounds:,} rounds left over"
    yield "approach", f"{made.share_approach:.1%}", "of all rounds"
    yield "estimation", f"{made.share_estimation:.1%}", "of all rounds"
    yield "initial sweep", f"{made.share_sweep:.1%}", _sweep(made)
    yield "state", _size(made.state_bytes), "in memory"
    yield "simulation", duration(made.seconds), "a run on one core, about (compiling not counted)"


def _sweep(made: PlanOfRounds) -> str:
    least = "" if made.sweep_exact else "at least "
    text = f"of all rounds: {least}{made.sweep_phases:,} phases that deploy every cell once"
    if made.sweep_phases > made.phases:
        text += "; THE HORIZON ENDS BEFORE THEY DO"
    return text


def _about(name: str, value: float, made: PlanOfRounds) -> str:
    """First sentence of the bound's documentation, and whether it says anything."""
    where = (inspect.getdoc(getattr(bounds, name)) or "").splitlines()[0].partition(":")[0]
    extra = {
        "discretisation_rate": ", times the horizon",
        "action_radius": ", at the end, were all cells deployed equally often",
        "history_radius": ", at the end, were all cells deployed equally often",
        "action_threshold": f", for an allocation {EXAMPLE_GAP:g} worse than the best",
        "history_threshold": f", for an allocation {EXAMPLE_GAP:g} worse than the best",
    }.get(name, "")
    empty = name.endswith("_rate") and "lower" not in name and value > made.horizon
    return where + extra + ("; more than the horizon: says nothing" if empty else "")


def _bound(value: float) -> str:
    if not math.isfinite(value):
        return "never"
    return f"{value:,.0f}" if value >= 100 else f"{value:.4g}"


def _count(value: int) -> str:
    return f"{value:,}" if value < 10**12 else f"about 1e{len(str(value)) - 1}"


def _size(count: int) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:,.3g} {unit}"
        count //= 1000
    return f"{count:,} GB"
