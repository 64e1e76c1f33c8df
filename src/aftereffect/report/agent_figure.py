"""A picture of an agent: every arm's curve as it stands, shares and impacts over time, expected against achieved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.impacts import discounted_average
from aftereffect.model.world import Ints
from aftereffect.policies.agent import Agent
from aftereffect.policies.curve_thompson import believed
from aftereffect.policies.curves.estimates import BAND, seen_means
from aftereffect.policies.curves.state import CurvesState
from aftereffect.report.drawing import finish_axes
from aftereffect.report.fit_figure import ARMS, COLUMNS, DRAWN, ESTIMATE, PANEL, TODAY, draw_response
from aftereffect.report.style import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def draw_agent(agent: Agent) -> Figure:
    """Curves with bands and what was seen, where the policy has curves; below, the rounds that its log holds."""
    from matplotlib.figure import Figure

    names = [plain(name) for name in agent.arm_names]
    agent.ask()
    curves = _curves(agent)
    if curves is None and not agent.rounds:
        raise AftereffectError("nothing to plot yet: this agent has no curves and no rounds")
    shown = [] if curves is None else [(curves, k) for k in range(min(len(names), DRAWN))]
    columns = COLUMNS
    rows = math.ceil(len(shown) / columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * (rows + 1) + 0.4), layout="constrained")
    grid = figure.add_gridspec(rows + 1, columns)
    for believed_now, k in shown:
        _draw_curve(figure.add_subplot(grid[k // columns, k % columns]), agent, believed_now, k, names[k])
    _draw_shares(figure.add_subplot(grid[rows, :2]), agent, curves, names)
    _draw_achieved(figure.add_subplot(grid[rows, 2:]), agent, curves)
    return figure


class Curves(NamedTuple):
    """The curves that the advice came from, as they are believed."""

    state: CurvesState
    mean: Floats  # (arms, N + 1)
    deviation: Floats

    @property
    def memory(self) -> float:
        """The memory of the track in use."""
        return float(self.state.tracks["memory"][int(self.state.now["track"][0])])


def _curves(agent: Agent) -> Curves | None:
    answered = agent.answered
    state = getattr(answered, "curves", answered)
    return Curves(state, *believed(state)) if isinstance(state, CurvesState) else None


def _draw_curve(ax: Axes, agent: Agent, curves: Curves, k: int, name: str) -> None:
    mean, deviation = curves.mean[k], curves.deviation[k]
    share = np.linspace(0, 1, len(mean))
    low, high = np.clip(mean - BAND * deviation, 0, 1), np.clip(mean + BAND * deviation, 0, 1)
    seen, means, counts = seen_means(curves.state, k)
    draw_response(ax, share, mean, low, high, (share[seen], means, counts))
    ax.axvline(float(agent.ask()[k]), color=TODAY, linewidth=1.2, linestyle="--", label="advised")
    finish_axes(ax, "share held", "response", name)


def _shares(agent: Agent) -> tuple[Ints, Floats]:
    """The numbers of the rounds in the log, and what was deployed in them."""
    log = agent._course.log
    shares = np.zeros((len(log), agent.setting.arms))
    for row, happened in zip(shares, log, strict=True):
        row[: len(happened.deployed)] = happened.deployed
    return np.arange(agent.rounds - len(log) + 1, agent.rounds + 1), shares


def _draw_shares(ax: Axes, agent: Agent, curves: Curves | None, names: list[str]) -> None:
    rounds, shares = _shares(agent)
    impact = None if curves is None else discounted_average(shares, curves.memory)
    for k, name in enumerate(names[:DRAWN]):
        colour = ARMS[k % len(ARMS)]
        ax.plot(rounds, shares[:, k], color=colour, linewidth=0.8, alpha=0.6, label=name if impact is None else None)
        if impact is not None:
            ax.plot(rounds, impact[:, k], color=colour, linewidth=1.8, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8, frameon=False, ncols=3)
    what = "share" if impact is None else "share (thin), impact (thick)"
    finish_axes(ax, "round", what, "What was given, and what the past made of it")


def _draw_achieved(ax: Axes, agent: Agent, curves: Curves | None) -> None:
    """What each round earned, beside what today's curves expect of its shares where the past has made them the impact."""
    rounds, shares = _shares(agent)
    log = agent._course.log
    earned = [
        float(np.sum(r.deployed * r.reward * (r.seen > 0)) / np.sum(r.deployed[r.seen > 0]))
        if np.any(r.seen > 0)
        else np.nan
        for r in log
    ]
    ax.plot(rounds, earned, "o", markersize=3, color="0.35", alpha=0.7, label="achieved")
    if curves is not None and len(rounds):
        impact = discounted_average(shares, curves.memory)
        nodes = np.rint(impact * (curves.mean.shape[1] - 1)).astype(int)
        mean = np.stack([curves.mean[k, nodes[:, k]] for k in range(shares.shape[1])], axis=1)
        ax.plot(rounds, (shares * mean).sum(axis=1), color=ESTIMATE, linewidth=1.6, label="expected by today's curves")
    ax.legend(fontsize=8, frameon=False)
    finish_axes(ax, "round", "reward a unit", "Expected against achieved")
