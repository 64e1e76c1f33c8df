"""The paper's figures as pictures, PNG and PDF, drawn from an experiment's files alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from aftereffect._files import output_folder, write_output
from aftereffect.experiments.figures.fig3d import by_estimation
from aftereffect.experiments.figures.negative import PREDICTED_SLOPE
from aftereffect.experiments.run import Results
from aftereffect.policies.phased import HistoryUCB
from aftereffect.policies.setting import Setting
from aftereffect.report.drawing import BANDS, Line, draw_curves, finish_axes, label_ends, subplots
from aftereffect.report.plan_figure import WIDE, draw_phases
from aftereffect.report.style import Look, free_name, looks, plain
from aftereffect.simulation.result import in_words, mean_interval

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Axis(NamedTuple):
    """How curves are drawn: their bands, and on which axes."""

    band: str = "sd"
    log: bool = False


AS_IN_THE_PAPER = Axis()


def draw_figure(
    name: str, experiments: Sequence[Results], out: Path, axis: Axis = AS_IN_THE_PAPER, figure_of: str | None = None
) -> list[Path]:
    """Draw one figure of the paper, or a user's own experiment whatever its name, as PNG and PDF."""
    return save_figure(_DRAWINGS.get(figure_of or "", _panels)(experiments, axis), out, name)


def save_figure(figure: Figure, out: Path, name: str) -> list[Path]:
    """A figure as PNG and PDF."""
    import matplotlib.pyplot as plt

    png, pdf = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=130)
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
    plt.close(figure)
    return [write_output(out / f"{name}.{kind}", file.getvalue()) for kind, file in (("png", png), ("pdf", pdf))]


def _lines(results: Results, problem: str) -> list[Line]:
    return [
        Line(policy, results.rounds, results.curves(problem, policy), results.spec.instances, look)
        for policy, look in looks(results.policies).items()
    ]


def runs_of(results: Results) -> str:
    """How many runs stand behind a figure, in words."""
    return in_words(results.spec.instances, results.spec.runs)


def _panels(experiments: Sequence[Results], axis: Axis) -> Figure:
    """A panel for each problem of each experiment."""
    places = [(r, problem) for r in experiments for problem in r.problems]
    figure, axes = subplots(len(places))
    for (r, problem), ax in zip(places, axes, strict=True):
        title = (
            f"{_title(r)}\n{runs_of(r)}; {BANDS[axis.band]}" if len(places) == 1 else plain(problem.replace(",", ", "))
        )
        draw_curves(ax, _lines(r, problem), title, band=axis.band, log=axis.log)
    if len(places) > 1:
        first = experiments[0]
        figure.suptitle(f"{_title(first)} ({runs_of(first)}; {BANDS[axis.band]})", fontsize=10)
    return figure


def _title(results: Results) -> str:
    return plain(results.spec.title or results.spec.name)


def _trace(experiments: Sequence[Results], axis: Axis) -> Figure:
    """Fig. 1: allocation and impact round by round, the two stages of each phase shaded."""
    (r,) = experiments
    problem, policy = r.problems[0], r.policies[0]
    shares, impacts = r.averages(problem, policy, "allocation"), r.averages(problem, policy, "impact")
    chosen, world = r.spec.entrants[0].policies[policy], r.problem_values[problem]
    assert isinstance(chosen, HistoryUCB)
    phases = chosen.phases(Setting(world["arms"], r.spec.horizon, memory=world["memory"]))
    figure, (ax,) = subplots(1, size=WIDE)
    draw_phases(ax, shares[:, 0], impacts[:, 0], phases, f"{_title(r)}\nmemory {world['memory']:g}")
    return figure


def _shares_of_estimation(experiments: Sequence[Results], axis: Axis) -> Figure:
    """Fig. 3(d): a panel for each reading, a line for each rho."""
    (r,) = experiments
    figure, axes = subplots(2)
    colours = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
    markers = ("o", "s", "D", "^", "v")
    for log, ax in zip(("lemma", "printed"), axes, strict=True):
        lines = [
            Line(f"rho {rho:g}", r.rounds, r.curves(r.problems[0], p), r.spec.instances, Look(colour, marker))
            for (rho, p), colour, marker in zip(by_estimation(r, log).items(), colours, markers, strict=False)
        ]
        words = "ln(L rho m), as in the lemmas" if log == "lemma" else "ln(L rho), as printed"
        draw_curves(ax, lines, f"Algorithm 3 with {words}", band=axis.band, log=axis.log)
    figure.suptitle(f"{_title(r)} ({runs_of(r)}; {BANDS[axis.band]})", fontsize=10)
    return figure


def _example_1(experiments: Sequence[Results], axis: Axis) -> Figure:
    """Example 1: regret at T against T, each point a run made for that horizon."""
    figure, axes = subplots(2)
    by_horizon = {r.spec.horizon: r for r in experiments}
    horizons = sorted(by_horizon)
    first = by_horizon[horizons[0]]
    styles = looks(first.policies)
    for problem, ax in zip(first.problems, axes, strict=True):
        ends = []
        for policy in first.policies:
            colour, marker, dash = styles[policy]
            finals = [by_horizon[h].curves(problem, policy)[:, -1:] for h in horizons]
            means = np.array([f.mean() for f in finals])
            spans = [mean_interval(f, 1) for f in finals]
            errors = np.array([[m - s.low[0], s.high[0] - m] for m, s in zip(means, spans, strict=True)]).T
            ax.errorbar(
                horizons,
                means,
                yerr=errors,
                color=colour,
                marker=marker,
                linestyle=dash,
                markersize=5,
                linewidth=1.4,
                capsize=2,
            )
            ends.append((float(means[-1]), policy, colour))
        predicted = PREDICTED_SLOPE * np.array(horizons)
        ax.plot(horizons, predicted, color="0.6", linewidth=0.8, linestyle=(0, (1, 2)))
        ends.append((float(predicted[-1]), "eps/2 a round", "0.45"))
        ax.set_xscale("log")
        ax.set_yscale("log")
        finish_axes(ax, "horizon T (rounds)", "regret at T (reward units)", problem)
        figure.canvas.draw()
        label_ends(ax, ends, horizons[-1])
    title = f"{_title(first)} ({runs_of(first)} at each T; bars: 95 % confidence intervals)"
    figure.suptitle(title, fontsize=10)
    return figure


def _searches(experiments: Sequence[Results], axis: Axis) -> Figure:
    """The grid searches: mean regret on the tuning instances against the parameter."""
    (r,) = experiments
    searches = r.tuning()
    policies = sorted({s["policy"] for s in searches})
    figure, axes = subplots(len(policies))
    colours = ("#0072B2", "#E69F00", "#009E73")
    for policy, ax in zip(policies, axes, strict=True):
        ends = []
        values = r.candidates(policy)
        (parameter,) = (key for key in r.policy_values[policy] if len({v[key] for v in values.values()}) > 1)
        mine = [s for s in searches if s["policy"] == policy]
        for search, colour in zip(mine, colours, strict=False):
            candidates = {float(values[c][parameter]): regret for c, regret in search["candidates"].items()}
            ax.plot(list(candidates), list(candidates.values()), color=colour, marker="o", linewidth=1.4)
            best = min(candidates, key=lambda c: candidates[c])
            ax.plot([best], [candidates[best]], color=colour, marker="*", markersize=13)
            ends.append((list(candidates.values())[-1], str(search["problem"]), colour))
        ax.yaxis.set_major_formatter("{x:,.0f}")
        finish_axes(ax, parameter, "mean regret at T", f"{r.policy_values[policy]['name']}; star: chosen")
        figure.canvas.draw()
        label_ends(ax, ends, ax.get_xlim()[1])
    tuning = r.spec.tuning
    figure.suptitle(f"{_title(r)} (tuning: {in_words(tuning.instances, tuning.runs)})", fontsize=10)
    return figure


_DRAWINGS: dict[str, Callable[[Sequence[Results], Axis], Figure]] = {
    "fig1": _trace,
    "fig3d": _shares_of_estimation,
    "negative": _example_1,
    "tuning": _searches,
}


def draw_all(results: Sequence[Results], out: Path, axis: Axis = AS_IN_THE_PAPER) -> list[Path]:
    """Every figure that these experiments make up: the paper's, of which one may have several, and each of the user's own."""
    output_folder(out)
    paper: dict[str, list[Results]] = {}
    for r in results:
        if r.figure is not None:
            paper.setdefault(r.figure, []).append(r)
    paths = [path for name, parts in paper.items() for path in draw_figure(name, parts, out, axis, name)]
    taken = set(paper)
    for r in (r for r in results if r.figure is None):
        name = free_name(r.spec.name, taken)
        taken.add(name)
        paths += draw_figure(name, [r], out, axis)
    return paths
