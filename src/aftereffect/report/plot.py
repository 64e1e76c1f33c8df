"""`plot`: a result, a comparison, a fit or an agent as a figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aftereffect.errors import AftereffectError, require_one_of, shown
from aftereffect.policies.agent import Agent
from aftereffect.records.fit import Fit
from aftereffect.report.agent_figure import draw_agent
from aftereffect.report.drawing import BANDS, Line, draw_curves
from aftereffect.report.fit_figure import draw_fit
from aftereffect.report.style import looks
from aftereffect.simulation.result import Comparison, Result, in_words

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def plot(
    result: Result | Comparison | Fit | Agent,
    *,
    band: str = "sd",
    log: bool = False,
    title: str | None = None,
    ax: Axes | None = None,
) -> Figure:
    """Mean regret over rounds, a line per policy with a band of two standard deviations, as in the paper.

    `band="ci"` draws the confidence interval of the mean instead, `"none"` no band; `log` takes logarithmic axes. Of a fit: every
    arm's curve with its band, what was seen, today's and the advised share. Of an agent: its
    curves, its rounds, expected against achieved.
    """
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

    if isinstance(result, Fit):
        return draw_fit(result)
    if isinstance(result, Agent):
        return draw_agent(result)
    require_one_of("band", band, BANDS)
    if not isinstance(result, (Result, Comparison)):
        raise AftereffectError(f"plot takes a Result, a Comparison, a Fit or an Agent, got {shown(result)}")
    results = [result] if isinstance(result, Result) else list(result.values())
    if ax is None:
        figure, ax = plt.subplots(figsize=(6.4, 4.2), layout="constrained")
    else:
        owner = ax.get_figure()
        assert isinstance(owner, Figure)
        figure = owner
    styles = looks([r.policy for r in results])
    lines = [Line(r.policy, r.rounds, r.regret, r.instances, styles[r.policy]) for r in results]
    draw_curves(ax, lines, title if title is not None else _title(results[0], band), band=band, log=log)
    return figure


def _title(result: Result, band: str) -> str:
    return f"{result.problem}, {in_words(result.instances, result.runs)}" + (f"; {BANDS[band]}" if BANDS[band] else "")
