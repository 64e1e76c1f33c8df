"""`arena`: read the request, run it with progress on a terminal, show and keep the leaderboard."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple, TypedDict

import polars
from rich.console import RenderableType
from rich.text import Text

from aftereffect._files import table_bytes, write_named
from aftereffect.cli.console import ranking, show
from aftereffect.cli.experiments import executor_for, resumable
from aftereffect.cli.files import check_target
from aftereffect.cli.messages import say
from aftereffect.cli.outcome import show_json
from aftereffect.cli.progress import sweep_bars
from aftereffect.cli.reading import read_number
from aftereffect.cli.request import read_policies
from aftereffect.errors import AftereffectError
from aftereffect.experiments.arena import Arena, run_arena, set_up, speeds
from aftereffect.experiments.executors import Executor
from aftereffect.experiments.gains import Gains, score_weekly
from aftereffect.experiments.scores import Board, score
from aftereffect.experiments.spec import LARGEST
from aftereffect.experiments.store import Say, Store, require_ours
from aftereffect.experiments.weekly import Weekly, play_weekly, set_up_weekly
from aftereffect.report import weekly_page
from aftereffect.report.leaderboard import SMOKE, Sheet, document, in_scenarios, overall, page, remarks, under_stress
from aftereffect.simulation.provenance import commit_of_checkout, written_command


def run_the_arena(
    quick: bool,
    stress: bool,
    weekly: bool,
    policies: list[str],
    seed: str,
    out: str | None,
    threads: int | None,
    docs: str | None,
    fresh: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """`aftereffect arena`."""
    if stress and weekly:
        raise AftereffectError("--stress and --weekly are two arenas; give one of them")
    target = None if docs is None else check_target(Path(docs), "--docs", (".md",))
    name = f"arena{'-weekly' * weekly}{'-stress' * stress}{'-quick' * quick}"
    directory = Path(out) if out is not None else Path("out") / name
    entrants, number = list(read_policies(policies).values()), read_number("--seed", seed, 0, LARGEST)
    require_ours(directory)
    options: Options = {
        "executor": executor_for(None, threads),
        "fresh": fresh,
        "command": written_command(),
        "say": say,
    }
    if weekly:
        shown = _weekly(set_up_weekly(entrants, quick=quick, seed=number), directory, target, quiet, options)
    else:
        shown = _ranking(set_up(entrants, quick=quick, stress=stress, seed=number), directory, target, quiet, options)
    if as_json:
        show_json(shown.document())
    else:
        show(*shown.parts(), as_wide_as_needed=True)


class Options(TypedDict):
    """How an arena is run."""

    executor: Executor
    fresh: bool
    command: str
    say: Say


class Shown(NamedTuple):
    """A leaderboard in both forms; only the one that is asked for is made."""

    document: Callable[[], dict[str, Any]]
    parts: Callable[[], list[RenderableType]]


def _ranking(arena: Arena, directory: Path, target: Path | None, quiet: bool, options: Options) -> Shown:
    """Regret against Algorithm 3's."""
    with resumable(directory), sweep_bars(arena.work, quiet) as progress:
        rows = run_arena(arena, directory, progress=progress, **options)
        speed = speeds(arena)
    board = score(arena, rows, speed)
    kept = _keep(directory, runs=rows.with_columns(rounds_per_second=_column(rows, speed)), leaderboard=board.frame())
    kept += _write_page(target, lambda commit: page(board, options["command"], commit))
    return Shown(lambda: document(board), lambda: _shown(board, kept))


def _weekly(arena: Weekly, directory: Path, target: Path | None, quiet: bool, options: Options) -> Shown:
    """Gain shares."""
    with resumable(directory), sweep_bars(arena.work, quiet) as progress:
        rows = play_weekly(arena, directory, progress=progress, **options)
    gains = score_weekly(arena, rows)
    kept = _keep(directory, runs=rows, leaderboard=gains.frame())
    kept += _write_page(target, lambda commit: weekly_page.page(gains, options["command"], commit))
    return Shown(lambda: weekly_page.document(gains), lambda: _shown_weekly(gains, kept))


def _write_page(target: Path | None, text: Callable[[str | None], str]) -> list[Path]:
    if target is None:
        return []
    write_named(target, text(commit_of_checkout()).encode())
    return [target]


def _column(rows: polars.DataFrame, speed: dict[str, float | None]) -> polars.Series:
    return rows["policy"].replace_strict(speed, return_dtype=polars.Float64)


def _keep(directory: Path, **frames: polars.DataFrame) -> list[Path]:
    """The tidy rows, and the scores by scenario and policy, as Parquet."""
    kept = []
    for name, frame in frames.items():
        kept.append(directory / f"{name}.parquet")
        Store(directory).write(kept[-1], table_bytes(frame, ".parquet"))
    return kept


def _shown(board: Board, files: list[Path]) -> list[RenderableType]:
    """The scenarios first: on a terminal the leaderboard should be what is left to see."""
    stress = [under_stress(board)] if board.stress else []
    partly = any(s.rank is None for s in board.standings)
    notes = ["* over the scenarios that it could start in\n"] if partly else []
    return _parts([*in_scenarios(board), *stress, overall(board)], [*notes, *remarks(board)], board.arena.quick, files)


def _shown_weekly(gains: Gains, files: list[Path]) -> list[RenderableType]:
    sheets = [*weekly_page.in_scenarios(gains), *weekly_page.overall(gains)]
    return _parts(sheets, weekly_page.remarks(gains), gains.arena.quick, files)


def _parts(sheets: Iterable[Sheet], notes: Iterable[str], quick: bool, files: list[Path]) -> list[RenderableType]:
    smoke = [Text(SMOKE, "bold")] if quick else []
    tables = [part for sheet in sheets for part in _table(sheet)]
    return [*tables, *map(Text, notes), *smoke, *(Text(f"written: {path}") for path in files)]


def _table(sheet: Sheet) -> list[RenderableType]:
    table = ranking(*sheet.headers)
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    return [Text(sheet.title + "\n", "bold"), table, Text("")]
