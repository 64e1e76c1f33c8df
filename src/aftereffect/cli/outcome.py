"""What `simulate` shows: the JSON document, or a table for people."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import ranking, show
from aftereffect.cli.request import Request
from aftereffect.simulation.result import Comparison, Result, in_words

if TYPE_CHECKING:
    import polars


def document(request: Request, comparison: Comparison) -> dict[str, Any]:
    """The results in plain data, names as they were given."""
    results = _by_notation(request, comparison)
    first = next(iter(results.values()))
    return {
        "problem": request.notation,
        "horizon": first.horizon,
        "instances": first.instances,
        "seed": request.numbers["seed"],
        "arms": list(first.names),
        "best_fixed": [{"allocation": b.allocation.tolist(), "utility": float(b.utility)} for b in first.best],
        "policies": [
            {
                "policy": notation,
                "rounds": result.rounds.tolist(),
                "regret_mean": result.mean.tolist(),
                "regret_std": result.std.tolist(),
                "runs": request.numbers["runs"],
                **_parity(result),
            }
            for notation, result in results.items()
        ],
    }


def _parity(result: Result) -> dict[str, Any]:
    """How fair a policy was, where the problem has a fairness measure."""
    if result.parity is None:
        return {}
    return {
        "violation_mean": result.parity.mean_violation.mean(axis=0).tolist(),
        "violated_share": result.parity.violated_share.mean(axis=0).tolist(),
    }


def tidy(request: Request, comparison: Comparison) -> polars.DataFrame:
    """One row per policy, run and checkpoint; the problem with its parameters, so that files can be put together."""
    import polars

    return comparison.to_frame().with_columns(polars.lit(request.notation).alias("problem"))


def show_json(results: dict[str, Any]) -> None:
    """The document and nothing else."""
    print(json.dumps(results, allow_nan=False))


def show_table(request: Request, comparison: Comparison) -> None:
    """The policies, best first, and what they are measured against."""
    results = _by_notation(request, comparison)
    first = next(iter(results.values()))
    heading = Text(_heading(request, first) + "\n", "bold")
    lines = [best_fixed_line(first)]
    if first.moving:
        lines.insert(0, moving_line(first))
    if first.parity is not None:
        tolerance = first.parity.tolerance
        lines.insert(0, f"violation: how far the largest gap exceeds the tolerance {tolerance:g}, mean over rounds")
    if first.remark:
        lines.append(first.remark)
    show(heading, regret_table(results), Text("\n" + "\n".join(lines)), as_wide_as_needed=True)


def regret_table(results: dict[str, Result]) -> Table:
    """Regret at the horizon, policy by policy, the smallest first."""
    fair = ["violation"] if next(iter(results.values())).parity is not None else []
    table = ranking("policy", "regret", "95 percent interval", "std. dev.", "per round", *fair)
    digits = _digits([float(r.mean[-1]) for r in results.values()])
    for notation, result in sorted(results.items(), key=lambda item: item[1].mean[-1]):
        mean, low, high = (float(curve[-1]) for curve in result.interval())
        table.add_row(
            Text(notation),
            f"{mean:,.{digits}f}",
            f"{low:,.{digits}f} to {high:,.{digits}f}" if np.isfinite(low) else "-",
            f"{result.std[-1]:,.{digits}f}" if len(result.regret) > 1 else "-",
            f"{mean / result.horizon:.5f}",
            *([] if result.parity is None else [f"{result.parity.mean_violation[:, -1].mean():.5f}"]),
        )
    return table


SHOWN_ARMS = 8
SMALLEST_SHOWN = 5e-5  # what four decimals can tell from nothing


def best_fixed_line(result: Result) -> str:
    """The best fixed allocation: its shares for one instance, its utility for several."""
    utilities = [b.utility for b in result.best]
    if len(set(utilities)) > 1:
        return (
            f"best fixed allocation: utility {np.mean(utilities):.5f} a round, mean over {len(utilities)} instances"
            f" ({min(utilities):.5f} to {max(utilities):.5f})"
        )
    shares = result.best[0].allocation
    shown = [k for k in np.argsort(-shares, kind="stable")[:SHOWN_ARMS].tolist() if shares[k] >= SMALLEST_SHOWN]
    named = ", ".join(f"{result.names[k]} {shares[k]:.4f}" for k in sorted(shown))
    others = len(shares) - len(shown)
    rest = f", {others} other{'s' * (others > 1)} {max(0.0, 1 - shares[shown].sum()):.4f}" if others else ""
    return f"best fixed allocation: {named}{rest}; utility {utilities[0]:.5f} a round"


def moving_line(result: Result) -> str:
    """What the regret is measured against where responses move."""
    earned, several = result.benchmarks, len(result.benchmarks) > 1
    mean = f", mean over {len(earned)} instances" if several else ""
    return f"regret is against the best allocation of each moment: utility {np.mean(earned):.5f} a round{mean}"


def _heading(request: Request, result: Result) -> str:
    times = in_words(result.instances, result.runs)
    return f"{request.notation}: {result.horizon:,} rounds, {times}, seed {request.numbers['seed']}"


def _by_notation(request: Request, comparison: Comparison) -> dict[str, Result]:
    return {notation: comparison[policy.key] for notation, policy in request.policies.items()}


def _digits(values: list[float]) -> int:
    """Decimals that leave the smallest regret some three digits."""
    smallest = min(abs(v) for v in values)
    return 0 if smallest >= 1000 else 1 if smallest >= 10 else 2 if smallest >= 1 else 3
