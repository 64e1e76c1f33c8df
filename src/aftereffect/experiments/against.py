"""Mean regret against a parameter, whatever it belongs to: for each problem a curve for each policy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import polars

from aftereffect.errors import AftereffectError, require_one_of
from aftereffect.experiments.parameters import POLICY, PROBLEM, in_words
from aftereffect.experiments.run import Results
from aftereffect.experiments.statistics import Estimate, mean_of

_RUN = ("problem", "parameters", "horizon", "seed", "instance", "run")
_NAME = f"{POLICY}name"


class Curve(NamedTuple):
    """One policy's mean regret at T, with its interval, by the parameter's values."""

    policy: str
    values: list[float]
    regrets: list[Estimate]


def curves_against(parameter: str, experiments: Sequence[Results]) -> dict[str, list[Curve]]:
    """For each problem (all its other parameters) every policy (all its other parameters) with several values."""
    rows = polars.concat([_last(r) for r in experiments], how="diagonal_relaxed").unique(_RUN, maintain_order=True)
    varied = [c for c in rows.columns if _is_parameter(c) and rows[c].n_unique() > 1]
    numeric = [c for c in varied if rows[c].dtype.is_numeric()]
    if parameter in varied and parameter not in numeric:
        having = f"; those with several numbers: {', '.join(numeric)}" if numeric else ""
        raise AftereffectError(f"{parameter}: an axis needs numbers, which its values are not{having}")
    require_one_of("parameter with several values", parameter, numeric)
    rows = rows.filter(polars.col(parameter).is_not_null())
    others = [c for c in rows.columns if _is_parameter(c) and c != parameter and rows[c].n_unique() > 1]
    of_problem = [c for c in others if not c.startswith(POLICY)]
    of_policy = [c for c in others if c.startswith(POLICY) and c != _NAME]
    found: dict[str, list[Curve]] = {}
    for (problem, policy), part in _groups(rows, parameter, of_problem, of_policy):
        values = sorted(part[parameter].unique())
        if len(values) > 1:
            regrets = [_mean(part.filter(polars.col(parameter) == value)) for value in values]
            found.setdefault(problem, []).append(Curve(policy, values, regrets))
    if not found:
        raise AftereffectError(f"{parameter}: no policy has several values of it on problems that are alike otherwise")
    return found


def _is_parameter(column: str) -> bool:
    return column.startswith((PROBLEM, POLICY)) or column in ("horizon", "seed")


def _last(results: Results) -> polars.DataFrame:
    """Every run's regret at T."""
    rows = results.frame().filter(polars.col("round") == results.spec.horizon)
    columns = [c for c in rows.collect_schema() if _is_parameter(c)]
    return rows.select("problem", "policy", "parameters", "instance", "run", "regret", *columns).collect()


def _groups(
    rows: polars.DataFrame, parameter: str, of_problem: Sequence[str], of_policy: Sequence[str]
) -> Iterator[tuple[tuple[str, str], polars.DataFrame]]:
    """Runs by what their problem and their policy are apart from the parameter, in words; tuning is part of a policy."""

    def words(row: dict[str, Any]) -> tuple[str, str]:
        problem = " ".join([row[f"{PROBLEM}name"], *_given(row, of_problem)])
        if row["policy"] != row["parameters"]:  # tuned: what was chosen may be another on each problem
            return problem, row["policy"]
        return problem, ":".join(filter(None, [row[_NAME], ",".join(_given(row, of_policy))]))

    keys = [words(row) for row in rows.to_dicts()]
    tuned = [row[0] != row[1] for row in rows.select("policy", "parameters").iter_rows()]
    named = rows.with_columns(
        polars.Series("panel", [k[0] for k in keys]), polars.Series("line", [k[1] for k in keys])
    ).filter(~polars.Series(tuned) if parameter.startswith(POLICY) else True)
    for (panel, line), part in named.group_by("panel", "line", maintain_order=True):
        yield (str(panel), str(line)), part


def _given(row: dict[str, Any], columns: Sequence[str]) -> list[str]:
    short = {c: c.removeprefix(PROBLEM).removeprefix(POLICY) for c in columns}
    return [f"{short[c]}={in_words(row[c])}" for c in columns if row[c] is not None and c != f"{PROBLEM}name"]


def _mean(part: polars.DataFrame) -> Estimate:
    ordered = part.sort("seed", "instance", "run")
    return mean_of(ordered["regret"].to_numpy(), ordered.select("seed", "instance").n_unique())
