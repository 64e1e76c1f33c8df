"""A progress bar over all rounds, with their rate and the time left; on a terminal only."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from aftereffect.simulation.runs import Progress as Report


class RateColumn(ProgressColumn):
    """Rounds a second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text(f"{short(speed)} rounds/s" if speed else "", "cyan")


def short(number: float) -> str:
    """A number in three digits or so.

    >>> short(15_300_000), short(820)
    ('15.3M', '820')
    """
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def duration(seconds: float) -> str:
    """A time in two digits or so.

    >>> duration(0.25), duration(80), duration(600), duration(9000)
    ('250 ms', '80 s', '10 min', '2.5 h')
    """
    if seconds < 1:
        return f"{1000 * seconds:.0f} ms" if seconds >= 0.001 else "< 1 ms"
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:,.1f} h"


def _bars() -> Progress:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        RateColumn(),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    return Progress(*columns, console=Console(stderr=True), transient=True)


@contextmanager
def progress_bar(rounds: int) -> Iterator[Report | None]:
    """What `simulate` reports to; nothing where standard error is not a terminal."""
    if not sys.stderr.isatty():
        yield None
        return
    with _bars() as bar:
        # Best allocations are found and kernels compiled before the first rounds are reported.
        task = bar.add_task("preparing", total=rounds)

        def report(policy: str, finished: int) -> None:
            bar.update(task, description="simulating", advance=finished)

        yield report


@contextmanager
def sweep_bars(work: dict[str, int], quiet: bool = False) -> Iterator[Report]:
    """What a sweep reports to: a bar over everything and one per policy, on a terminal only and not when `quiet`."""
    if quiet or not sys.stderr.isatty():
        yield lambda *_: None
        return
    with _bars() as bars:
        overall = bars.add_task("all", total=sum(work.values()))
        tasks = {label: bars.add_task(label, total=rounds) for label, rounds in work.items()}

        def report(label: str, finished: int) -> None:
            bars.update(overall, advance=finished)
            if label in tasks:
                bars.update(tasks[label], advance=finished)

        yield report
