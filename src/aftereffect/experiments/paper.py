"""The paper's figures: which experiments each consists of, and running them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.resources import as_file, files
from pathlib import Path
from typing import Any, Unpack

from aftereffect._files import write_output
from aftereffect.errors import AftereffectError, UnknownName, require_one_of
from aftereffect.experiments.claims import judge_all
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import How, Results, run_spec
from aftereffect.experiments.spec import Spec, at_scale, parse_specs, read_content

SCALES = ("quick", "paper")
FIGURES = (
    "fig1", "fig2a", "fig2b", "fig2c", "fig2d", "fig3a", "fig3b", "fig3c", "fig3d", "options", "negative", "general", "tuning",
)  # fmt: skip
VERDICTS = "verdicts.json"
EXTRA = ("long",)  # not part of `all`: it takes longer than everything else together


@dataclass(frozen=True)
class Experiment:
    """One experiment of a figure; it lives in a directory of its own."""

    figure: str
    spec: Spec

    @cached_property
    def plan(self) -> Plan:
        """What it comes to."""
        return Plan(self.spec)


@cache
def shipped_specs(name: str, scale: str) -> tuple[Spec, ...]:
    """The specs of a figure that comes with the package; Example 1 has several horizons."""
    with as_file(files("aftereffect.experiments").joinpath(f"figures/{name}.toml")) as path:
        return tuple(parse_specs(at_scale(read_content(path), scale)))


def figure_names(wanted: list[str]) -> list[str]:
    """The figures asked for; none or `all` means all of the paper's."""
    names: list[str] = []
    for name in wanted or ["all"]:
        if name == "all":
            names += [f for f in FIGURES if f not in names]
        elif name not in (*FIGURES, *EXTRA):
            raise UnknownName("figure", name, ("all", *FIGURES, *EXTRA))
        elif name not in names:
            names.append(name)
    return names


def experiments_of(figure: str, scale: str) -> list[Experiment]:
    """A figure's experiments at a scale."""
    require_one_of("scale", scale, SCALES)
    return [Experiment(figure, spec) for spec in shipped_specs(figure, scale)]


def to_do(figures: list[str], scale: str) -> list[Experiment]:
    """The experiments of the figures asked for."""
    return [e for name in figure_names(figures) for e in experiments_of(name, scale)]


def reproduce(experiments: list[Experiment], out: Path, **how: Unpack[How]) -> list[Results]:
    """Run experiments, each into its own directory under `out`, and judge the claims that all there bear on."""
    for experiment in experiments:
        run_spec(experiment.plan, out / experiment.spec.name, figure=experiment.figure, **how)
    results = load_experiments(out)
    write_verdicts(out, results)
    return results


def load_experiments(directory: Path) -> list[Results]:
    """Every experiment in a directory: itself, or its subdirectories, in the figures' order."""
    if (directory / "manifest.json").exists():
        return [Results(directory)]
    found = [Results(path.parent) for path in sorted(directory.glob("*/manifest.json"))]
    if not found:
        raise AftereffectError(f"{str(directory)!r} holds no experiment (no manifest.json in it or one level below)")
    order = {name: i for i, name in enumerate((*FIGURES, *EXTRA))}
    return sorted(found, key=lambda r: (order.get(r.figure or "", len(order)), r.spec.horizon, r.spec.name))


def write_verdicts(directory: Path, results: list[Results]) -> list[dict[str, Any]]:
    """Judge the claims that the paper's experiments among these bear on; keep the verdicts beside them."""
    verdicts = judge_all({r.spec.name: r for r in results if r.figure is not None})
    write_output(directory / VERDICTS, json.dumps(verdicts, indent=2).encode())
    return verdicts


def read_verdicts(directory: Path) -> list[dict[str, Any]]:
    """The verdicts kept in a directory."""
    found: list[dict[str, Any]] = json.loads((directory / VERDICTS).read_text())
    return found
