"""Allocation and impact through phases: Fig. 1, and a plan's first phases."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aftereffect._files import write_named
from aftereffect.experiments.first_phases import SHOWN
from aftereffect.model.curves import Floats
from aftereffect.report.drawing import finish_axes, label_ends, picture, subplots
from aftereffect.simulation.planning import PlanOfRounds
from aftereffect.theory.tuning import Phases

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDE = (8.4, 3.8)  # inches: time runs along it


def draw_phases(ax: Axes, shares: Floats, impacts: Floats, phases: Phases, title: str, arm: int = 0) -> None:
    """One arm's share and impact round by round, through the first phases, the approach shaded."""
    rounds = min(len(shares), SHOWN * phases.length)
    for start in range(0, rounds, phases.length):
        ax.axvspan(start, start + phases.approach, color="0.93", linewidth=0)
        ax.axvline(start, color="0.75", linewidth=0.7)
    t = np.arange(rounds + 1)
    steps = np.append(shares[:rounds], shares[rounds - 1])
    ax.step(t, steps, where="post", color="#D55E00", linewidth=1.6, linestyle="--")
    ax.plot(t[1:] - 0.5, impacts[:rounds], color="#0072B2", marker="o", markersize=3, linewidth=1.2)
    ax.set_xlim(0, rounds)
    ax.set_ylim(0, 1)
    stages = f"grey the approach ({phases.approach} rounds), white the estimation ({phases.estimation})"
    finish_axes(ax, "round t", f"share and impact of arm {arm}", f"{title}, phases of {phases.length} rounds: {stages}")
    ax.figure.canvas.draw()
    ends = [
        (float(shares[rounds - 1]), "allocation p", "#D55E00"),
        (float(impacts[rounds - 1]), "impact f", "#0072B2"),
    ]
    label_ends(ax, ends, rounds)


def draw_plan(plan: PlanOfRounds, shares: Floats, impacts: Floats, path: Path) -> None:
    """Draw a plan's first phases, (rounds, arms), into a file."""
    import matplotlib.pyplot as plt

    # The arm that is moved most shows best how the impact follows.
    arm = int(np.abs(np.diff(shares, axis=0)).sum(axis=0).argmax()) if len(shares) > 1 else 0
    figure, (ax,) = subplots(1, size=WIDE)
    title = f"The first phases of history-ucb: {plan.arms} arms, T = {plan.horizon:,}\nmemory {plan.memory:.3g}"
    draw_phases(ax, shares[:, arm], impacts[:, arm], plan.cut, title, arm)
    content = picture(figure, path.suffix[1:].lower())
    plt.close(figure)
    write_named(path, content)
