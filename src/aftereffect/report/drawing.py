"""The drawing that all figures share: lines with bands, named at their ends, on quiet axes."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.model.world import Ints
from aftereffect.report.style import Look, plain
from aftereffect.simulation.result import mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (5.6, 3.6)  # inches: two beside each other fill a page's width
BANDS = {"sd": "band: ±2 standard deviations over runs", "ci": "band: 95 % confidence interval of the mean", "none": ""}


def subplots(count: int, columns: int = 2, size: tuple[float, float] = PANEL) -> tuple[Figure, list[Axes]]:
    """A figure of so many panels."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=shape, layout="constrained", squeeze=False)
    flat = list(axes.ravel())
    for ax in flat[count:]:
        ax.set_visible(False)
    return figure, flat[:count]


def picture(figure: Figure, kind: str, **metadata: Any) -> bytes:
    """A figure as the bytes of a file."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=130, metadata=metadata)
    return buffer.getvalue()


class Line(NamedTuple):
    """One policy's runs, ready to be drawn."""

    label: str
    rounds: Ints
    runs: Floats  # (runs, checkpoints)
    instances: int
    look: Look


def draw_curves(ax: Axes, lines: Sequence[Line], title: str, *, band: str = "sd", log: bool = False) -> None:
    """Means with bands, named at their right ends."""
    from matplotlib.ticker import MaxNLocator

    ends, bottom = [], 0.0
    for line in lines:
        colour, marker, dash = line.look
        mean = line.runs.mean(axis=0)
        every = max(1, len(line.rounds) // 8)
        ax.plot(
            line.rounds, mean, color=colour, marker=marker, linestyle=dash, markevery=every, markersize=5, linewidth=1.5
        )
        low, high = _band(line, band)
        if band != "none" and np.all(np.isfinite(low)):
            ax.fill_between(line.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        bottom = min(bottom, float(mean.min()))
        ends.append((float(mean[-1]), line.label, colour))
    horizon = int(lines[0].rounds[-1])
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    else:
        ax.set_xlim(0, horizon)
        ax.set_ylim(bottom=1.05 * bottom)
        ax.xaxis.set_major_locator(MaxNLocator(4))
        ax.xaxis.set_major_formatter("{x:,.0f}")
        ax.yaxis.set_major_formatter("{x:,.0f}")
    finish_axes(ax, "round t", "regret so far (reward units)", title)
    ax.figure.canvas.draw()
    label_ends(ax, ends, horizon)


def _band(line: Line, band: str) -> tuple[Floats, Floats]:
    mean = line.runs.mean(axis=0)
    if band == "ci":
        found = mean_interval(line.runs, line.instances)
        return found.low, found.high
    spread = 2 * line.runs.std(axis=0, ddof=1) if len(line.runs) > 1 else np.zeros(len(mean))
    return mean - spread, mean + spread


def finish_axes(ax: Axes, x: str, y: str, title: str) -> None:
    """Labels and the quiet look that all figures share."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    wrapped = "\n".join(textwrap.fill(part, 72, break_on_hyphens=False) for part in title.split("\n"))
    ax.set_title(wrapped, fontsize=9, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)


def label_ends(ax: Any, ends: list[tuple[float, str, str]], x: float) -> None:
    """Name each line at its right end, in its colour, pushed apart so that no two names overlap."""
    transform = ax.transData
    height = ax.get_window_extent().height
    gap = 13.0 * ax.get_figure().dpi / 100
    wanted = sorted(((transform.transform((x, value))[1], key, colour) for value, key, colour in ends))
    places: list[float] = []
    for y, _, _ in wanted:
        places.append(max(y, places[-1] + gap) if places else y)
    base = ax.get_window_extent().y0
    top = base + height
    for i in reversed(range(len(places))):  # what was pushed over the top comes back down, and only that
        places[i] = min(places[i], top)
        top = places[i] - gap
    for (y, key, colour), place in zip(wanted, places, strict=True):
        ax.annotate(
            plain(key),
            xy=(1.0, (y - base) / height),
            xytext=(1.02, (place - base) / height),
            xycoords="axes fraction",
            textcoords="axes fraction",
            color=colour,
            fontsize=8,
            va="center",
            ha="left",
            annotation_clip=False,
            arrowprops={"arrowstyle": "-", "color": colour, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0},
        )
