"""Where tables go: standard output, coloured on a terminal, plain lines in a file or a pipe."""

from __future__ import annotations

import sys

from rich import box
from rich.console import Console, RenderableType
from rich.measure import Measurement
from rich.table import Table


def ranking(name: str, *numbers: str) -> Table:
    """A table whose first column holds names and whose others numbers, to the right."""
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column(name, overflow="fold")
    for title in numbers:
        table.add_column(title, justify="right", no_wrap=True)
    return table


def show(*parts: RenderableType, as_wide_as_needed: bool = False) -> None:
    """Print on standard output; words are printed as they are, without guessing at numbers or markup.

    A file or a pipe gets no padding at the ends of lines and, on request, lines as long as they need to be, so that a
    long name stays in one piece.
    """
    console = Console(file=sys.stdout, highlight=False, markup=False, emoji=False)
    if console.is_terminal:
        console.print(*parts, sep="\n")
        return
    if as_wide_as_needed:
        unlimited = console.options.update(max_width=10_000)
        console.width = max(console.width, *(Measurement.get(console, unlimited, part).maximum for part in parts))
    with console.capture() as captured:
        console.print(*parts, sep="\n")
    for line in captured.get().splitlines():
        print(line.rstrip())
