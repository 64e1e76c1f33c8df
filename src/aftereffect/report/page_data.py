"""What the page draws and offers for download: experiments as plain data that goes into the page as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from aftereffect.experiments.run import Results
from aftereffect.model.curves import Floats
from aftereffect.model.family_notation import family_from
from aftereffect.report.style import drawn, looks
from aftereffect.simulation.result import mean_interval
from aftereffect.theory.fair import pairs_of


def describe(results: Results, anchor: str) -> dict[str, Any]:
    """An experiment as plain data: curves, looks, tuning and manifest."""
    spec = results.spec
    styles = looks(results.policies)
    return {
        "id": anchor,
        "name": spec.name,
        "title": spec.title or spec.name,
        "caption": spec.caption,
        "horizon": spec.horizon,
        "instances": spec.instances,
        "runs": spec.runs,
        "complete": results.complete,
        "rounds": [int(r) for r in results.rounds],
        "policies": [{"name": p} | drawn(styles[p]) for p in results.policies],
        "problems": [_problem(results, problem) for problem in results.problems],
        "tuning": results.tuning(),
        "manifest": results.manifest,
    }


def _problem(results: Results, problem: str) -> dict[str, Any]:
    curves = [_curve(results, problem, policy) for policy in results.policies]
    arms = max((len(c["allocation"]) for c in curves if c), default=0)
    drawn = family_from(problem)[0].draw(0)
    fair = drawn.fairness
    parity = None if fair is None else {"tolerance": float(fair.tolerance), "meaning": fair.meaning}
    return {"name": problem, "arms": list(drawn.arm_names[:arms]), "curves": curves, "fairness": parity}


def _curve(results: Results, problem: str, policy: str) -> dict[str, Any] | None:
    """Mean regret with what its bands need, and mean allocation and impact by arm; None where no run is finished."""
    regret = results.curves(problem, policy)
    if not len(regret):
        return None
    instances = results.spec.instances
    whole = len(regret) == instances * results.spec.runs  # else runs cannot be told apart by instance
    interval = mean_interval(regret, instances) if whole else None
    bounded = interval is not None and bool(np.isfinite(interval.high).all())
    return {
        "runs": len(regret),
        "mean": rounded(regret.mean(axis=0)),
        "sd": rounded(regret.std(axis=0, ddof=1)) if len(regret) > 1 else None,
        "half": rounded(interval.high - interval.mean) if interval is not None and bounded else None,
        "allocation": [rounded(a, 4) for a in results.averages(problem, policy, "allocation").T],
        "impact": [rounded(a, 4) for a in results.averages(problem, policy, "impact").T],
        "fair": _parity(results, problem, policy),
    }


def _parity(results: Results, problem: str, policy: str) -> dict[str, Any] | None:
    """Gaps between the arms' measures over time and what they add up to; None without a fairness measure."""
    rows = results.rows(problem, policy)
    if "violation" not in rows.columns or rows["violation"].null_count():
        return None
    shape = (-1, len(results.rounds))
    violation, violated = (rows[name].to_numpy().reshape(shape) for name in ("violation", "violated"))
    measures = rows["measure"].explode().to_numpy().astype(np.float64)
    measures = measures.reshape(*shape, len(measures) // len(rows))
    arms = measures.shape[-1]
    pairs = pairs_of(arms)
    earned = rows["utility"].to_numpy().reshape(shape)[:, -1] / results.rounds[-1]
    fair, price = (
        rows[name].to_numpy().reshape(shape)[:, -1].astype(np.float64) for name in ("fair_utility", "fair_price")
    )
    return {
        "pairs": pairs,
        "gaps": [rounded(np.abs(measures[..., i] - measures[..., j]).mean(axis=0), 4) for i, j in pairs],
        "violation": rounded((violation / results.rounds).mean(axis=0), 4),
        "violated": rounded((violated / results.rounds).mean(axis=0), 4),
        "lost": _mean_known(fair - earned),
        "price": _mean_known(price),
    }


def _mean_known(values: Floats) -> float | None:
    """Mean over the runs whose instance has a fair optimum; None without any."""
    known = values[np.isfinite(values)]
    return rounded(known.mean(keepdims=True))[0] if len(known) else None


def rounded(values: Floats, digits: int = 6) -> list[float | None]:
    """Numbers to so many significant digits, short when written.

    >>> rounded(np.array([1234567.8, 2.0, 1 / 3, np.nan]), 4)
    [1235000, 2, 0.3333, None]
    """
    short = (float(f"{v:.{digits}g}") if math.isfinite(v) else None for v in values)
    return [int(v) if v is not None and v.is_integer() else v for v in short]


def embedded_json(data: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    try:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except ValueError:  # an endless interval, say: JSON has no word for it
        text = json.dumps(_finite(data), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c")


def _finite(data: Any) -> Any:
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    if isinstance(data, (list, tuple)):
        return [_finite(value) for value in data]
    return None if isinstance(data, float) and not math.isfinite(data) else data
