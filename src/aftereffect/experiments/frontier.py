"""The frontier of fairness, utility against tolerance, with the relaxation beside it: computed, kept as a file, read back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError
from aftereffect.model.problem import Problem
from aftereffect.theory.fair import fair_frontier
from aftereffect.theory.fair_dual import fair_dual

FILE = "frontier.json"
LARGEST = 100_000_000  # bytes
RELAXED = 9  # tolerances at which the Lagrangian relaxation is solved beside the frontier

Document = dict[str, Any]


def frontier_document(notation: str, problem: Problem, levels: int) -> Document:
    """The whole frontier and the relaxation beside it, in plain data."""
    points = fair_frontier(problem, levels)
    fairness = problem.fairness
    assert fairness is not None  # fair_frontier has refused a problem without one
    at = np.linspace(points[0].tolerance, points[-1].tolerance, RELAXED)
    relaxed = [fair_dual(problem, min(1.0, float(t) + 1e-12), levels) for t in at] if len(points) > 1 else []
    return {
        "problem": notation,
        "meaning": fairness.meaning,
        "levels": levels,
        "arms": list(problem.arm_names),
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


def frontier_files(document: Document) -> dict[str, bytes]:
    """The frontier as JSON and CSV, by file name."""
    rows = ["tolerance,utility,price," + ",".join(f"share {n},measure {n}" for n in document["arms"])]
    for point in document["frontier"]:
        pairs = zip(point["allocation"], point["measures"], strict=True)
        ends = ",".join(f"{share:.10g},{measure:.10g}" for share, measure in pairs)
        rows.append(f"{point['tolerance']:.10g},{point['utility']:.10g},{point['price']:.10g},{ends}")
    return {
        FILE: (json.dumps(document, indent=1) + "\n").encode(),
        "frontier.csv": ("\n".join(rows) + "\n").encode(),
    }


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
