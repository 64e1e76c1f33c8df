"""A picture of an agent: every arm's curve as it stands, shares and impacts over time, expected against achieved."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats
from aftereffect.model.world import Ints
from aftereffect.policies.agent import Agent
from aftereffect.policies.curves.fit import COUNT, PRECISION, PULLED
from aftereffect.policies.curves.look import mix
from aftereffect.policies.curves.state import CurvesState, bank_of
from aftereffect.report.drawing import finish_axes
from aftereffect.report.fit_figure import ARMS, COLUMNS, DRAWN, ESTIMATE, LARGEST, PANEL, TODAY
from aftereffect.report.style import plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BAND = 2.0  # deviations


def draw_agent(agent: Agent) -> Figure:
    """Curves with bands and what was seen, where the policy has curves; below, the rounds that its log holds."""
    from matplotlib.figure import Figure

    names = [plain(name) for name in agent.arm_names]
    agent.ask()
    curves = _curves(agent)
    if curves is None and not agent.rounds:
        raise AftereffectError("nothing to plot yet: this agent has no curves and no rounds")
    shown = 0 if curves is None else min(len(names), DRAWN)
    columns = COLUMNS
    rows = math.ceil(shown / columns)
    figure = Figure(figsize=(PANEL[0] * columns, PANEL[1] * (rows + 1) + 0.4), layout="constrained")
    grid = figure.add_gridspec(rows + 1, columns)
    for k in range(shown):
        _draw_curve(figure.add_subplot(grid[k // columns, k % columns]), agent, curves, k, names[k])
    _draw_shares(figure.add_subplot(grid[rows, :2]), agent, curves, names)
    _draw_achieved(figure.add_subplot(grid[rows, 2:]), agent, curves)
    return figure


def _curves(agent: Agent) -> CurvesState | None:
    """The curves that the advice came from, mixed over what is believed."""
    answered = agent.answered
    state = getattr(answered, "curves", answered)
    if not isinstance(state, CurvesState):
        return None
    mix(state)
    return state


def _draw_curve(ax: Axes, agent: Agent, curves: Any, k: int, name: str) -> None:
    mean, deviation = curves.mixed[0, k], np.sqrt(curves.mixed[1, k])
    share = np.linspace(0, 1, len(mean))
    low, high = np.clip(mean - BAND * deviation, 0, 1), np.clip(mean + BAND * deviation, 0, 1)
    ax.fill_between(share, low, high, color=ESTIMATE, alpha=0.18, linewidth=0, label="95 % band")
    ax.plot(share, mean.clip(0, 1), color=ESTIMATE, linewidth=1.6, label="estimate")
    booked = curves.banks[bank_of(curves, int(curves.now["age"][0]))][:, k]
    seen = np.flatnonzero(booked[COUNT] > 0)
    if len(seen):
        size = LARGEST * booked[COUNT, seen] / booked[COUNT, seen].max()
        ax.scatter(
            share[seen], booked[PULLED, seen] / booked[PRECISION, seen], s=size, color="0.35", alpha=0.55, linewidth=0
        )
    ax.axvline(float(agent.ask()[k]), color=TODAY, linewidth=1.2, linestyle="--", label="advised")
    ax.set_xlim(0, 1)
    finish_axes(ax, "share held", "response", name)


def _shares(agent: Agent) -> tuple[Ints, Floats]:
    """The numbers of the rounds in the log, and what was deployed in them."""
    log = agent._course.log
    shares = np.zeros((len(log), agent.setting.arms))
    for row, happened in zip(shares, log, strict=True):
        row[: len(happened.deployed)] = happened.deployed
    return np.arange(agent.rounds - len(log) + 1, agent.rounds + 1), shares


def _draw_shares(ax: Axes, agent: Agent, curves: Any, names: list[str]) -> None:
    rounds, shares = _shares(agent)
    impact = None if curves is None else _impacts(shares, float(curves.tracks["memory"][int(curves.now["track"][0])]))
    for k, name in enumerate(names[:DRAWN]):
        colour = ARMS[k % len(ARMS)]
        ax.plot(rounds, shares[:, k], color=colour, linewidth=0.8, alpha=0.6, label=name if impact is None else None)
        if impact is not None:
            ax.plot(rounds, impact[:, k], color=colour, linewidth=1.8, label=name)
    ax.set_ylim(bottom=0)
    ax.legend(fontsize=8, frameon=False, ncols=3)
    what = "share" if impact is None else "share (thin), impact (thick)"
    finish_axes(ax, "round", what, "What was given, and what the past made of it")


def _impacts(shares: Floats, memory: float) -> Floats:
    """Discounted averages of the shares, from the first round of the log on."""
    impact, held, weight = np.zeros_like(shares), np.zeros(shares.shape[1]), 0.0
    for i, row in enumerate(shares):
        weight = 1.0 + memory * weight
        held = held + (row - held) / weight
        impact[i] = held
    return impact


def _draw_achieved(ax: Axes, agent: Agent, curves: Any) -> None:
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
        impact = _impacts(shares, float(curves.tracks["memory"][int(curves.now["track"][0])]))
        nodes = np.rint(impact * (curves.mixed.shape[2] - 1)).astype(int)
        mean = np.stack([curves.mixed[0, k, nodes[:, k]] for k in range(shares.shape[1])], axis=1).clip(0, 1)
        ax.plot(rounds, (shares * mean).sum(axis=1), color=ESTIMATE, linewidth=1.6, label="expected by today's curves")
    ax.legend(fontsize=8, frameon=False)
    finish_axes(ax, "round", "reward a unit", "Expected against achieved")
