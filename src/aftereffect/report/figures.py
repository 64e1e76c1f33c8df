"""The paper's figures as pictures, PNG and PDF, drawn from an experiment's files alone."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from aftereffect._files import output_folder, write_output
from aftereffect.experiments.judges import HORIZONS, PREDICTED_SLOPE
from aftereffect.experiments.run import Results
from aftereffect.model.catalog import family_from
from aftereffect.policies.base import Setting, policy_from
from aftereffect.policies.phased import HistoryUCB
from aftereffect.report.plan_figure import draw_phases
from aftereffect.report.plot import BANDS, Line, draw_curves, finish_axes, label_ends
from aftereffect.report.style import Look, looks, plain
from aftereffect.simulation.result import in_words, mean_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PANEL = (5.6, 3.6)  # inches: two beside each other fill a page's width


def draw_figure(
    name: str, experiments: Sequence[Results], out: Path, band: str = "sd", figure_of: str | None = None
) -> list[Path]:
    """Draw one figure of the paper, or a user's own experiment whatever its name, as PNG and PDF."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    drawing = _DRAWINGS.get(figure_of or "", _panels)
    figure = drawing(experiments, band)
    png, pdf = io.BytesIO(), io.BytesIO()
    figure.savefig(png, format="png", dpi=130)
    figure.savefig(pdf, format="pdf", metadata={"CreationDate": None})
    plt.close(figure)
    return [write_output(out / f"{name}.{kind}", file.getvalue()) for kind, file in (("png", png), ("pdf", pdf))]


def _subplots(count: int, columns: int = 2, size: tuple[float, float] = PANEL) -> tuple[Figure, list[Axes]]:
    import matplotlib.pyplot as plt

    columns = min(columns, count)
    rows = -(-count // columns)
    shape = (size[0] * columns, size[1] * rows)
    figure, axes = plt.subplots(rows, columns, figsize=shape, layout="constrained", squeeze=False)
    flat = list(axes.ravel())
    for ax in flat[count:]:
        ax.set_visible(False)
    return figure, flat[:count]


def _lines(results: Results, problem: str, policies: Sequence[str], names: dict[str, str] | None = None) -> list[Line]:
    styles = looks(list(policies))
    return [
        Line((names or {}).get(p, p), results.rounds, results.curves(problem, p), results.spec.instances, styles[p])
        for p in policies
    ]


def runs_of(results: Results) -> str:
    """How many runs stand behind a figure, in words."""
    return in_words(results.spec.instances, results.spec.runs)


def _panels(experiments: Sequence[Results], band: str) -> Figure:
    """A panel for each problem of each experiment."""
    places = [(r, problem) for r in experiments for problem in r.problems]
    figure, axes = _subplots(len(places))
    for (r, problem), ax in zip(places, axes, strict=True):
        title = f"{_title(r)}\n{runs_of(r)}; {BANDS[band]}" if len(places) == 1 else plain(problem.replace(",", ", "))
        draw_curves(ax, _lines(r, problem, r.policies), title, band=band)
    if len(places) > 1:
        first = experiments[0]
        figure.suptitle(f"{_title(first)} ({runs_of(first)}; {BANDS[band]})", fontsize=10)
    return figure


def _title(results: Results) -> str:
    return plain(results.spec.title or results.spec.name)


def _trace(experiments: Sequence[Results], band: str) -> Figure:
    """Fig. 1: allocation and impact round by round, the two stages of each phase shaded."""
    (r,) = experiments
    problem, policy = r.problems[0], r.policies[0]
    shares, impacts = r.averages(problem, policy, "allocation"), r.averages(problem, policy, "impact")
    chosen = policy_from(policy)
    assert isinstance(chosen, HistoryUCB)
    family = family_from(problem)[0]
    phases = chosen.plan(Setting(family.arms, r.spec.horizon, memory=family.draw(0).memory))
    figure, (ax,) = _subplots(1, size=(8.4, 3.8))
    draw_phases(ax, shares[:, 0], impacts[:, 0], phases, f"{_title(r)}\nmemory .6")
    return figure


def _shares_of_estimation(experiments: Sequence[Results], band: str) -> Figure:
    """Fig. 3(d): a panel for each reading, a line for each rho."""
    (r,) = experiments
    figure, axes = _subplots(2)
    colours = ("#0072B2", "#56B4E9", "#009E73", "#E69F00", "#D55E00")
    markers = ("o", "s", "D", "^", "v")
    for log, ax in zip(("lemma", "printed"), axes, strict=True):
        policies = [p for p in r.policies if p.endswith(f"log={log}")]
        lines = [
            Line(
                f"rho {p.split('estimation=')[1].split(',')[0]}",
                r.rounds,
                r.curves(r.problems[0], p),
                r.spec.instances,
                Look(colour, marker),
            )
            for p, colour, marker in zip(policies, colours, markers, strict=False)
        ]
        words = "ln(L rho m), as in the lemmas" if log == "lemma" else "ln(L rho), as printed"
        draw_curves(ax, lines, f"Algorithm 3 with {words}", band=band)
    figure.suptitle(f"{_title(r)} ({runs_of(r)}; {BANDS[band]})", fontsize=10)
    return figure


def _example_1(experiments: Sequence[Results], band: str) -> Figure:
    """Example 1: regret at T against T, each point a run made for that horizon."""
    figure, axes = _subplots(2)
    by_horizon = {r.spec.horizon: r for r in experiments}
    horizons = [h for h in HORIZONS if h in by_horizon]
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


def _searches(experiments: Sequence[Results], band: str) -> Figure:
    """The grid searches: mean regret on the tuning instances against the parameter."""
    (r,) = experiments
    searches = r.tuning()
    policies = sorted({str(s["policy"]) for s in searches})
    figure, axes = _subplots(len(policies))
    colours = ("#0072B2", "#E69F00", "#009E73")
    for policy, ax in zip(policies, axes, strict=True):
        ends = []
        mine = [s for s in searches if s["policy"] == policy]
        for search, colour in zip(mine, colours, strict=False):
            candidates = {float(str(c).rpartition("=")[2]): float(v) for c, v in search["candidates"].items()}
            ax.plot(list(candidates), list(candidates.values()), color=colour, marker="o", linewidth=1.4)
            best = min(candidates, key=lambda c: candidates[c])
            ax.plot([best], [candidates[best]], color=colour, marker="*", markersize=13)
            ends.append((list(candidates.values())[-1], str(search["problem"]), colour))
        ax.yaxis.set_major_formatter("{x:,.0f}")
        name = policy.removesuffix(" (tuned)")
        finish_axes(
            ax, "discount" if name == "d-ucb" else "window (rounds)", "mean regret at T", f"{name}; star: chosen"
        )
        figure.canvas.draw()
        label_ends(ax, ends, ax.get_xlim()[1])
    tuning = r.spec.tuning
    figure.suptitle(f"{_title(r)} ({tuning.instances} tuning instances x {tuning.runs} runs)", fontsize=10)
    return figure


_DRAWINGS: dict[str, Callable[[Sequence[Results], str], Figure]] = {
    "fig1": _trace,
    "fig3d": _shares_of_estimation,
    "negative": _example_1,
    "tuning": _searches,
}


def draw_all(results: Sequence[Results], out: Path, band: str = "sd") -> list[Path]:
    """Every figure that these experiments make up: the paper's, of which one may have several, and each of the user's own."""
    output_folder(out)
    paper: dict[str, list[Results]] = {}
    for r in results:
        if r.figure is not None:
            paper.setdefault(r.figure, []).append(r)
    paths = [path for name, parts in paper.items() for path in draw_figure(name, parts, out, band, name)]
    taken = set(paper)
    for r in (r for r in results if r.figure is None):
        name = _free(r.spec.name, taken)
        taken.add(name)
        paths += draw_figure(name, [r], out, band)
    return paths


def _free(name: str, taken: set[str]) -> str:
    """The name, numbered where another figure has it."""
    return next(n for n in chain([name], (f"{name}-{i}" for i in count(2))) if n not in taken)
