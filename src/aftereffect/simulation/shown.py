"""Results in a notebook: tables in HTML, and arrays with named dimensions."""

from __future__ import annotations

import json
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import AftereffectError

if TYPE_CHECKING:
    import xarray

    from aftereffect.simulation.result import Result


def html_table(head: str, results: dict[str, Result]) -> str:
    """Regret at the horizon, policy by policy, the smallest first."""
    rows = []
    for name, result in sorted(results.items(), key=lambda item: item[1].mean[-1]):
        mean, low, high = (float(v[-1]) for v in result.interval())
        span = f"{low:,.1f} to {high:,.1f}" if np.isfinite(low) else "one run only"
        cells = (f"{mean:,.1f}", span, f"{result.std[-1]:,.1f}", f"{mean / result.horizon:.5f}")
        rows.append(f"<tr><th>{escape(name)}</th>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>")
    titles = ("policy", "regret", "95 percent interval", "sd", "per round")
    header = "".join(f"<th>{title}</th>" for title in titles)
    return f"<table><caption>{escape(head)}</caption><thead><tr>{header}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def dataset(results: list[Result]) -> xarray.Dataset:
    """Curves by policy, run and round, shares and impacts by arm too."""
    try:
        import xarray
    except ImportError:
        raise AftereffectError("to_xarray needs xarray: pip install 'aftereffect[xarray]'") from None
    first = results[0]
    curves = {n: np.stack([getattr(r, n) for r in results]) for n in ("regret", "realised_regret", "utility")}
    by_arm = {n: np.stack([getattr(r, f"{n}s") for r in results]) for n in ("allocation", "impact")}
    number = np.arange(len(first.regret))
    variables: dict[str, Any] = {n: (("policy", "run", "round"), v) for n, v in curves.items()}
    variables |= {n: (("policy", "run", "round", "arm"), v) for n, v in by_arm.items()}
    coordinates = {
        "policy": [r.policy for r in results],
        "round": first.rounds,
        "arm": list(first.names),
        "instance": ("run", number // first.runs),
        "number": ("run", number % first.runs),
    }
    told = {r.policy: r.provenance for r in results}
    return xarray.Dataset(variables, coordinates, {"problem": first.problem, "provenance": json.dumps(told)})
