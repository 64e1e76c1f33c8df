"""`arena`: read the request, run it with progress on a terminal, show and keep the leaderboard."""

from __future__ import annotations

import io
from pathlib import Path

import polars
from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import show
from aftereffect.cli.experiments import executor_for, resumable
from aftereffect.cli.files import check_target, write_target
from aftereffect.cli.messages import say
from aftereffect.cli.outcome import show_json
from aftereffect.cli.progress import sweep_bars
from aftereffect.cli.request import read_number, read_policies
from aftereffect.experiments.arena import run_arena, set_up, speeds
from aftereffect.experiments.scores import Board, score
from aftereffect.experiments.spec import LARGEST
from aftereffect.experiments.store import Store, commit_of_checkout, require_ours, written_command
from aftereffect.report.leaderboard import SMOKE, Sheet, document, in_cells, overall, page, remarks, under_stress


def run_the_arena(
    quick: bool,
    stress: bool,
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
    target = None if docs is None else check_target(Path(docs), "--docs", (".md",))
    directory = Path(out) if out is not None else Path("out") / f"arena{'-stress' * stress}{'-quick' * quick}"
    arena = set_up(
        list(read_policies(policies).values()),
        quick=quick,
        stress=stress,
        seed=read_number("--seed", seed, 0, LARGEST),
    )
    require_ours(directory)
    command = written_command()
    with resumable(directory), sweep_bars(arena.work, quiet) as progress:
        rows = run_arena(
            arena,
            directory,
            executor=executor_for(None, threads),
            fresh=fresh,
            command=command,
            progress=progress,
            say=say,
        )
        speed = speeds(arena)
    board = score(arena, rows, speed)
    kept = _keep(directory, rows.with_columns(rounds_per_second=_column(rows, speed)), board)
    if target is not None:
        write_target(target, page(board, command, commit_of_checkout()).encode())
    if as_json:
        show_json(document(board))
    else:
        show(*_shown(board, [*kept, *([target] if target else [])]), as_wide_as_needed=True)


def _column(rows: polars.DataFrame, speed: dict[str, float | None]) -> polars.Series:
    return rows["policy"].replace_strict(speed, return_dtype=polars.Float64)


def _keep(directory: Path, rows: polars.DataFrame, board: Board) -> list[Path]:
    """The tidy rows, and the scores by cell and policy, as Parquet."""
    kept = []
    for name, frame in (("runs", rows), ("leaderboard", board.frame())):
        content = io.BytesIO()
        frame.write_parquet(content)
        kept.append(directory / f"{name}.parquet")
        Store(directory).write(kept[-1], content.getvalue())
    return kept


def _shown(board: Board, files: list[Path]) -> list[RenderableType]:
    """The cells first: on a terminal the leaderboard should be what is left to see."""
    parts: list[RenderableType] = []
    for sheet in in_cells(board):
        parts += _table(sheet)
    if board.stress:
        parts += _table(under_stress(board))
    parts += _table(overall(board))
    if any(s.rank is None for s in board.standings):
        parts.append(Text("* over the cells that it could start in\n"))
    parts += [Text(note) for note in remarks(board)]
    if board.arena.quick:
        parts.append(Text(SMOKE, "bold"))
    return [*parts, *(Text(f"written: {path}") for path in files)]


def _table(sheet: Sheet) -> list[RenderableType]:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(sheet.headers[0], overflow="fold")
    for header in sheet.headers[1:]:
        table.add_column(header, justify="right", no_wrap=True)
    for row in sheet.rows:
        table.add_row(*map(Text, row))
    return [Text(sheet.title + "\n", "bold"), table, Text("")]
