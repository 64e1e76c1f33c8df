"""`plan`: the numbers as a table or as JSON, and the picture."""

from __future__ import annotations

import inspect
import json
import math
import os
from collections.abc import Iterator
from pathlib import Path

from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import show
from aftereffect.cli.request import MOST, read_number
from aftereffect.errors import AftereffectError, UnknownName
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
    picture = None if out is None else check_picture(Path(out))
    made = plan(
        arms=read_number("--arms", arms, 1, MOST_ARMS),
        horizon=read_number("--horizon", horizon, 1, MOST),
        memory=None if memory is None else read_real("--memory", memory),
        half_life=None if half_life is None else read_real("--half-life", half_life),
        estimation=read_real("--estimation", estimation),
        zero=zero,
        lipschitz=read_real("--lipschitz", lipschitz),
    )
    if picture is not None:
        _draw(made, picture)
    if as_json:
        print(json.dumps(made.document(), indent=2))
    else:
        show(*_tables(made), *([Text(f"\npicture: {picture}")] if picture else []), as_wide_as_needed=True)


def read_real(option: str, text: str) -> float:
    """A finite number, or the user's mistake."""
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise AftereffectError(f"{option} must be a number, got {text!r}")
    return number


def check_picture(path: Path) -> Path:
    """The path, if a picture can be written there; asked before the work."""
    if path.suffix.lower() not in PICTURES:
        raise UnknownName(f"extension of --out {str(path)!r}:", path.suffix, PICTURES)
    if path.is_dir() or not path.parent.is_dir():
        raise AftereffectError(f"cannot write {str(path)!r}: it is a folder, or its folder does not exist")
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise AftereffectError(f"cannot write {str(path)!r}: no permission to write in {str(path.parent)!r}")
    return path


def _draw(made: PlanOfRounds, path: Path) -> None:
    from aftereffect.experiments.first_phases import first_phases
    from aftereffect.report.plan_figure import draw_plan

    try:
        draw_plan(made, *first_phases(made), path)
    except OSError as error:
        raise AftereffectError(f"cannot write {str(path)!r}: {error.strerror or error}") from error


def _tables(made: PlanOfRounds) -> Iterator[Table | Text]:
    yield Text(f"history-ucb, {made.arms} arms, {made.horizon:,} rounds", "bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name, value, note in _numbers(made):
        table.add_row(name, Text(value, "cyan"), note)
    yield table
    yield Text("\nThe paper's bounds at these numbers (a rate's constant is not stated and taken as one)", "bold")
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column()
    for name, number in made.bounds.items():
        table.add_row(name, Text(_bound(number), "cyan"), _about(name, number, made))
    yield table


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
    yield "simulation", _duration(made.seconds), "a run on one core, about (compiling not counted)"


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


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"
