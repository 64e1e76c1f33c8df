"""Figures of a fit: every arm's curve with its band and what was seen, and the shares and impacts over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.records.advice import Advice
from aftereffect.records.fit import Fit
from aftereffect.report.drawing import finish_axes
from aftereffect.report.style import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

COLUMNS, PANEL = 3, (3.6, 2.9)
ESTIMATE, TODAY, ADVISED = "#0072B2", "#555555", "#D55E00"
ARMS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
DATES = 6  # along the rounds, where they have some
DRAWN = 24  # arms at most: a picture of more shows nothing
LARGEST = 60.0  # area of the mark of what was seen at one impact


def draw_fit(fit: Fit) -> Figure:
    """A panel for each arm: response against share, with a 95 percent band, what was seen, today's and the advised share."""
    from matplotlib.figure import Figure

    best, names = fit.best(), fit.names[:DRAWN]
    columns = min(COLUMNS, len(names))
    rows = math.ceil(len(names) / columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False, sharey=True).ravel()  # so that arms can be compared
    for ax, name in zip(panels, names, strict=False):
        _draw_arm(ax, fit, best, name)
    for ax in panels[len(names) :]:
        ax.set_visible(False)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, fontsize=8, frameon=False)
    return figure


def draw_response(ax: Axes, share: Floats, estimate: Any, low: Any, high: Any, seen: tuple[Floats, ...]) -> None:
    """A response against the share, with its band and what was seen: where, the mean, how often."""
    ax.fill_between(share, low, high, color=ESTIMATE, alpha=0.18, linewidth=0, label="95 % band")
    ax.plot(share, estimate, color=ESTIMATE, linewidth=1.6, label="estimate")
    places, means, counts = seen
    if len(places):
        size = LARGEST * counts / counts.max()
        ax.scatter(places, means, s=size, color="0.35", alpha=0.55, linewidth=0, label="seen (area: how often)")
    ax.set_xlim(0, 1)


def _draw_arm(ax: Axes, fit: Fit, best: Advice, name: str) -> None:
    curve, k = fit.curve(name), fit.names.index(name)
    draw_response(ax, curve["share"].to_numpy(), curve["estimate"], curve["low"], curve["high"], fit.seen(name))
    ax.axvline(fit.now.allocation[name], color=TODAY, linewidth=1.2, linestyle="--", label="today")
    ax.axvline(best.allocation[name], color=ADVISED, linewidth=1.6, label="advised")
    low, high = (side[k] for side in fit.visited)
    for edge_low, edge_high in ((0.0, low), (high, 1.0)) if np.isfinite(low) else ((0.0, 1.0),):
        ax.axvspan(edge_low, edge_high, color="0.5", alpha=0.08, linewidth=0)
    _in_percent(ax.xaxis)
    ax.yaxis.set_tick_params(labelleft=True)
    finish_axes(ax, "share held", "response (reward a unit)", plain(name))


def draw_history(fit: Fit) -> Figure:
    """Shares over the rounds, and the impact that they made."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PANEL[0] * 2.6, PANEL[1] + 0.5), layout="constrained")
    ax = figure.subplots()
    rounds, impact = np.arange(1, fit.records.rounds + 1), fit.impacts()
    for k, name in enumerate(fit.names[:DRAWN]):
        colour = ARMS[k % len(ARMS)]
        ax.plot(rounds, fit.records.shares[:, k], color=colour, linewidth=0.7, alpha=0.5)
        ax.plot(rounds, impact[:, k], color=colour, linewidth=1.8, label=plain(name))
    if not fit.records.labels[0].lstrip("-").isdigit():  # dates
        ticks = np.unique(np.linspace(1, fit.records.rounds, DATES).round().astype(int))
        ax.set_xticks(ticks, [plain(fit.records.labels[t - 1]) for t in ticks], fontsize=8)
    ax.set_ylim(bottom=0)
    _in_percent(ax.yaxis)
    ax.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    finish_axes(ax, "round", "share (thin) and impact (thick)", "What was given, and what the past made of it")
    return figure


def _in_percent(axis: Axis) -> None:
    """Shares as the words beside the figure have them."""
    from matplotlib.ticker import PercentFormatter

    axis.set_major_formatter(PercentFormatter(1.0, decimals=0, symbol=" %"))
