"""`frontier`: what fairness costs, as a table or JSON, and as files that the report picks up."""

from __future__ import annotations

import json
from pathlib import Path

from rich import box
from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import show
from aftereffect.cli.reading import read_number
from aftereffect.experiments.frontier import Document, frontier_document, read_frontier
from aftereffect.experiments.store import require_ours
from aftereffect.model.family_notation import family_from
from aftereffect.report.frontier import chosen_rows, write_frontier
from aftereffect.report.page import write_page
from aftereffect.theory.fair import LEVELS


def show_frontier(problem: str, out: str | None, levels: str | None, as_json: bool) -> None:
    """`aftereffect frontier`."""
    family, seed = family_from(problem)
    count = max(LEVELS, family.arms) if levels is None else read_number("--levels", levels, family.arms, 2000)
    if out is not None and read_frontier(Path(out)) is None:
        require_ours(Path(out))
    document = frontier_document(problem, family.draw(0 if seed is None else seed), count)
    files: list[Path] = []
    if out is not None:
        files = write_frontier(Path(out), document)
        files.append(write_page(Path(out) / "report.html", [], frontiers=[document]))
    if as_json:
        print(json.dumps(document))
        return
    said = [Text("\n" + "\n".join(str(f) for f in files))] if files else []
    show(Text(f"{problem}: {document['meaning']}\n", "bold"), _table(document), *said, as_wide_as_needed=True)


def _table(document: Document) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for title in ("tolerance", "utility", "price", *document["arms"]):
        table.add_column(title, justify="right", no_wrap=True)
    for p in chosen_rows(document):
        numbers = f"{p['tolerance']:.4f}", f"{p['utility']:.5f}", f"{p['price']:.5f}"
        table.add_row(*numbers, *(f"{share:.3f}" for share in p["allocation"]))
    return table
