"""The frontier of fairness, utility against tolerance: as a table's rows and as a figure."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from aftereffect._files import write_output
from aftereffect.experiments.frontier import Document, frontier_files
from aftereffect.report.drawing import finish_axes, picture
from aftereffect.report.style import plain

SHOWN = 12  # rows of the table; the files hold all


def chosen_rows(document: Document) -> list[Mapping[str, Any]]:
    """Some of the frontier's points, evenly over the tolerances, the ends among them."""
    points = document["frontier"]
    tolerances = np.array([p["tolerance"] for p in points])
    wanted = np.linspace(tolerances[0], tolerances[-1], SHOWN)
    places = np.unique(np.searchsorted(tolerances, wanted + 1e-12, side="right") - 1)
    return [points[i] for i in places]


def write_frontier(directory: Path, document: Document) -> list[Path]:
    """The frontier as JSON, CSV and figure in a directory; gives the files."""
    pictures = {f"frontier.{kind}": draw_frontier(document, kind) for kind in ("png", "svg")}
    contents = {**frontier_files(document), **pictures}
    return [write_output(directory / name, content) for name, content in contents.items()]


def draw_frontier(document: Document, kind: str) -> bytes:
    """Utility against tolerance, the relaxation beside it, and the measures' shares below."""
    from matplotlib.figure import Figure

    points = document["frontier"]
    tolerance = [p["tolerance"] for p in points]
    last = max(tolerance[-1] * 1.08, 1e-3)
    figure = Figure(figsize=(7.6, 6.6), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    above.axhline(document["unconstrained"], color="0.6", linewidth=1, linestyle=":", label="without fairness")
    above.step(
        [*tolerance, last],
        [*(p["utility"] for p in points), points[-1]["utility"]],
        where="post",
        color="#0072B2",
        linewidth=1.8,
        label="best fair allocation",
    )
    relaxed = document["relaxation"]
    if relaxed:
        values = [r["value"] for r in relaxed]
        at = [r["tolerance"] for r in relaxed]
        above.plot(
            at, values, "o--", color="#D55E00", markersize=4, linewidth=1, label="what fixed multipliers promise"
        )
    above.legend(frameon=False, loc="lower right")
    title = f"{document['problem']}: what fairness costs\n{document['meaning']}"
    finish_axes(above, "", "utility a round", plain(title))
    looks = ("#332288", "#117733", "#AA4499", "#997700", "#882255", "#44AA99")
    styles = ("-", "--", ":", "-.")
    for k, name in enumerate(document["arms"][: len(looks)]):
        shares = [p["allocation"][k] for p in points]
        below.step(
            [*tolerance, last],
            [*shares, shares[-1]],
            where="post",
            label=plain(name),
            color=looks[k],
            linestyle=styles[k % len(styles)],
        )
    below.set_xlim(0, last)
    below.set_ylim(0, None)
    below.legend(frameon=False, ncols=3)
    finish_axes(below, "tolerance: largest gap allowed between two arms' measures", "share of the allocation", "")
    return picture(figure, kind)


def described_frontier(document: Document) -> dict[str, Any]:
    """What the report's section on a frontier shows: its rows, its picture, the largest duality gap."""
    return {
        **document,
        "rows": chosen_rows(document),
        "worst": max((r["gap"] for r in document["relaxation"]), default=0.0),
        "picture": base64.b64encode(draw_frontier(document, "svg")).decode(),
    }
