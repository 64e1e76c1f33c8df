"""`plot`: regret over rounds of one result or of a comparison."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import AftereffectError, UnknownName
from aftereffect.report.style import looks
from aftereffect.simulation.result import Comparison, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BANDS = {
    "sd": "band: ±2 standard deviations over runs",
    "ci": "band: 95 % confidence interval of the mean",
    "none": "",
}


def plot(
    result: Result | Comparison,
    *,
    band: str = "sd",
    log: bool = False,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Mean regret over rounds, a line per policy with a band of two standard deviations, as in the paper.

    `band="ci"` draws the confidence interval of the mean instead, `"none"` no band; `log` takes logarithmic axes.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    if band not in _BANDS:
        raise UnknownName("band", str(band), _BANDS)
    if not isinstance(result, (Result, Comparison)):
        raise AftereffectError(f"plot takes a Result or a Comparison, got {result!r}")
    results = [result] if isinstance(result, Result) else list(result.values())
    if ax is None:
        figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    else:
        owner = ax.get_figure()
        assert isinstance(owner, Figure)
        figure = owner
    ends = []
    styles = looks([r.policy for r in results])
    for r in results:
        colour, marker, line = styles[r.policy]
        every = max(1, len(r.rounds) // 8)
        ax.plot(
            r.rounds, r.mean, color=colour, marker=marker, linestyle=line, markevery=every, markersize=5, linewidth=1.5
        )
        if band != "none":
            low, high = (r.mean - 2 * r.std, r.mean + 2 * r.std) if band == "sd" else r.interval()[1:]
            if np.all(np.isfinite(low)):
                ax.fill_between(r.rounds, low, high, color=colour, alpha=0.15, linewidth=0)
        ends.append((float(r.mean[-1]), r.policy, colour))
    first = results[0]
    if log:
        ax.set_xscale("log")
        ax.set_yscale("log")
    else:
        ax.set_xlim(0, first.horizon)
        ax.set_ylim(bottom=min(0.0, *(e[0] for e in ends)))
    ax.set_xlabel("round t")
    ax.set_ylabel("regret so far (reward units)")
    ax.set_title(title if title is not None else _title(first, band), fontsize=9)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", color="0.9", linewidth=0.6)
    ax.set_axisbelow(True)
    figure.canvas.draw()
    _label_ends(ax, ends, first.horizon)
    return figure


def _title(result: Result, band: str) -> str:
    runs = f"{result.instances} instances x {result.runs} runs" if result.instances > 1 else f"{result.runs} runs"
    return f"{result.problem}, {runs}" + (f"; {_BANDS[band]}" if _BANDS[band] else "")


def _label_ends(ax: Any, ends: list[tuple[float, str, str]], horizon: int) -> None:
    """Name each line at its right end, in its colour, pushed apart so that no two names overlap."""
    transform = ax.transData
    height = ax.get_window_extent().height
    gap = 13.0 * ax.get_figure().dpi / 100
    wanted = sorted(((transform.transform((horizon, value))[1], key, colour) for value, key, colour in ends))
    places: list[float] = []
    for y, _, _ in wanted:
        places.append(max(y, places[-1] + gap) if places else y)
    base = ax.get_window_extent().y0
    over = (places[-1] - base) - height if places else 0.0
    if over > 0:  # too high in all: shift down together, as far as the lowest allows
        places = [y - over for y in places]
        for i in range(len(places)):
            places[i] = max(places[i], base + i * gap)
    for (y, key, colour), place in zip(wanted, places, strict=True):
        ax.annotate(
            key,
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
