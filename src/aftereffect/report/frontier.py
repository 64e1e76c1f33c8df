"""The frontier of fairness, utility against tolerance: as plain data, as a table's rows, as a figure."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aftereffect._files import read_regular, write_output
from aftereffect.errors import AftereffectError
from aftereffect.model.problem import Problem
from aftereffect.report.plot import finish_axes
from aftereffect.report.style import plain
from aftereffect.theory.fair import fair_frontier
from aftereffect.theory.fair_dual import fair_dual

FILE = "frontier.json"
LARGEST = 100_000_000  # bytes
RELAXED = 9  # tolerances at which the Lagrangian relaxation is solved beside the frontier
SHOWN = 12  # rows of the table; the files hold all

Document = dict[str, Any]


def frontier_document(notation: str, problem: Problem, levels: int) -> Document:
    """The whole frontier and the relaxation beside it, in plain data."""
    points = fair_frontier(problem, levels)
    names = list(problem.names or (f"arm {k}" for k in range(problem.arms)))
    fairness = problem.fairness
    assert fairness is not None  # fair_frontier has refused a problem without one
    at = np.linspace(points[0].tolerance, points[-1].tolerance, RELAXED)
    relaxed = [fair_dual(problem, min(1.0, float(t) + 1e-12), levels) for t in at] if len(points) > 1 else []
    return {
        "problem": notation,
        "meaning": fairness.meaning,
        "levels": levels,
        "arms": names,
        "unconstrained": points[-1].unconstrained,
        "frontier": [
            {
                "tolerance": p.tolerance,
                "utility": p.utility,
                "price": p.price,
                "allocation": p.allocation.tolist(),
                "measures": p.measures.tolist(),
            }
            for p in points
        ],
        "relaxation": [
            {"tolerance": d.fair.tolerance, "value": d.value, "gap": d.duality_gap, "multipliers": list(d.multipliers)}
            for d in relaxed
        ],
    }


def chosen_rows(document: Document, count: int = SHOWN) -> list[Mapping[str, Any]]:
    """Some of the frontier's points, evenly over the tolerances, the ends among them."""
    points = document["frontier"]
    tolerances = np.array([p["tolerance"] for p in points])
    wanted = np.linspace(tolerances[0], tolerances[-1], count)
    places = np.unique(np.searchsorted(tolerances, wanted + 1e-12, side="right") - 1)
    return [points[i] for i in places]


def write_frontier(directory: Path, document: Document) -> list[Path]:
    """The frontier as JSON, CSV and figure in a directory; gives the files."""
    rows = ["tolerance,utility,price," + ",".join(f"share {n},measure {n}" for n in document["arms"])]
    for point in document["frontier"]:
        pairs = zip(point["allocation"], point["measures"], strict=True)
        ends = ",".join(f"{share:.10g},{measure:.10g}" for share, measure in pairs)
        rows.append(f"{point['tolerance']:.10g},{point['utility']:.10g},{point['price']:.10g},{ends}")
    contents = {
        FILE: (json.dumps(document, indent=1) + "\n").encode(),
        "frontier.csv": ("\n".join(rows) + "\n").encode(),
        "frontier.png": draw_frontier(document, "png"),
        "frontier.svg": draw_frontier(document, "svg"),
    }
    return [write_output(directory / name, content) for name, content in contents.items()]


class Point(BaseModel):
    """One allocation of a frontier."""

    tolerance: float
    utility: float
    price: float
    allocation: list[float]
    measures: list[float]


class Relaxed(BaseModel):
    """The Lagrangian relaxation at one tolerance."""

    tolerance: float
    value: float
    gap: float
    multipliers: list[float]


class Frontier(BaseModel):
    """What frontier.json must hold, so that nobody who reads it meets a surprise."""

    model_config = ConfigDict(allow_inf_nan=False)

    problem: str
    meaning: str
    levels: int
    arms: Annotated[list[str], Field(min_length=1)]
    unconstrained: float
    frontier: Annotated[list[Point], Field(min_length=1)]
    relaxation: list[Relaxed]

    @model_validator(mode="after")
    def _one_of_each_per_arm(self) -> Frontier:
        if any(not len(p.allocation) == len(p.measures) == len(self.arms) for p in self.frontier):
            raise ValueError(f"each point needs {len(self.arms)} shares and measures")
        return self


def read_frontier(directory: Path) -> Document | None:
    """The frontier that a directory holds, if it does."""
    path = directory / FILE
    if not path.exists():
        return None
    try:
        return Frontier.model_validate_json(read_regular(path, LARGEST)).model_dump()
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise AftereffectError(f"{str(path)!r} does not hold a frontier: {place}: {first['msg']}") from error
    except OSError as error:
        raise AftereffectError(f"{str(path)!r} does not hold a frontier: {error.strerror or error}") from error


def draw_frontier(document: Document, kind: str) -> bytes:
    """Utility against tolerance, the relaxation beside it, and the measures' shares below."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    points = document["frontier"]
    tolerance = [p["tolerance"] for p in points]
    last = max(tolerance[-1] * 1.08, 1e-3)
    figure, (above, below) = plt.subplots(2, 1, figsize=(7.6, 6.6), sharex=True, layout="constrained")
    above.axhline(document["unconstrained"], color="0.6", linewidth=1, linestyle=":", label="without fairness")
    above.step(
        [*tolerance, last],
        [*(p["utility"] for p in points), points[-1]["utility"]],
        where="post",
        color="#0072B2",
        linewidth=1.8,
        label="best fair allocation",
    )
    relaxed = document["relaxation"]
    if relaxed:
        values = [r["value"] for r in relaxed]
        at = [r["tolerance"] for r in relaxed]
        above.plot(
            at, values, "o--", color="#D55E00", markersize=4, linewidth=1, label="what fixed multipliers promise"
        )
    above.legend(frameon=False, loc="lower right")
    title = f"{document['problem']}: what fairness costs\n{document['meaning']}"
    finish_axes(above, "", "utility a round", plain(title))
    looks = ("#332288", "#117733", "#AA4499", "#997700", "#882255", "#44AA99")
    styles = ("-", "--", ":", "-.")
    for k, name in enumerate(document["arms"][: len(looks)]):
        shares = [p["allocation"][k] for p in points]
        below.step(
            [*tolerance, last],
            [*shares, shares[-1]],
            where="post",
            label=plain(name),
            color=looks[k],
            linestyle=styles[k % len(styles)],
        )
    below.set_xlim(0, last)
    below.set_ylim(0, None)
    below.legend(frameon=False, ncols=3)
    finish_axes(below, "tolerance: largest gap allowed between two arms' measures", "share of the allocation", "")
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, dpi=130)
    plt.close(figure)
    return buffer.getvalue()


def described_frontier(document: Document) -> dict[str, Any]:
    """What the report's section on a frontier shows: its rows, its picture, the largest duality gap."""
    return {
        **document,
        "rows": chosen_rows(document),
        "worst": max((r["gap"] for r in document["relaxation"]), default=0.0),
        "picture": base64.b64encode(draw_frontier(document, "svg")).decode(),
    }
