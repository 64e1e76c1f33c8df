"""Regret against a parameter: a panel for each problem, a line for each policy."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from aftereffect._files import output_folder
from aftereffect.errors import AftereffectError
from aftereffect.experiments.against import Curve, curves_against
from aftereffect.experiments.run import Results
from aftereffect.report.drawing import finish_axes, label_ends, subplots
from aftereffect.report.figures import save_figure
from aftereffect.report.style import looks, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PANELS = 24  # more cannot be read


def draw_against(parameter: str, experiments: Sequence[Results], out: Path, log: bool = False) -> list[Path]:
    """Draw regret at T against a parameter that has several values in these experiments."""
    panels = curves_against(parameter, experiments)
    output_folder(out)
    if len(panels) > PANELS:
        raise AftereffectError(
            f"{parameter}: {len(panels)} problems are more than the {PANELS} panels that can be read"
        )
    figure, axes = subplots(len(panels))
    for (title, curves), ax in zip(panels.items(), axes, strict=True):
        _draw(ax, curves, parameter, title, log)
    figure.suptitle(f"regret at T against {parameter} (bars: 95 % confidence intervals)", fontsize=10)
    return save_figure(figure, out, f"regret-against-{parameter}")


def _draw(ax: Axes, curves: Sequence[Curve], parameter: str, title: str, log: bool) -> None:
    styles, ends = looks([curve.policy for curve in curves]), []
    for policy, values, regrets in curves:
        colour, marker, dash = styles[policy]
        bars = [[r.value - r.low for r in regrets], [r.high - r.value for r in regrets]]
        errors = bars if all(r.interval for r in regrets) else None
        means = [r.value for r in regrets]
        ax.errorbar(values, means, errors, color=colour, marker=marker, linestyle=dash, linewidth=1.4, capsize=2)
        ends.append((means[-1], policy, colour))
    if log:
        ax.set_yscale("log")
        if min(c.values[0] for c in curves) > 0 and max(c.values[-1] / c.values[0] for c in curves) >= 10:
            ax.set_xscale("log")
    else:
        ax.yaxis.set_major_formatter("{x:,.0f}")
    finish_axes(ax, parameter, "regret at T (reward units)", plain(title))
    ax.figure.canvas.draw()
    label_ends(ax, ends, ax.get_xlim()[1])
