"""Parameters of problems and policies as values and as columns of results, so that nobody has to read them out of a name.

A column is called `problem_memory` or `policy_discount`; there is one for each parameter that the spec gives somewhere, beside
the name, the number of arms and the memory. It holds a default where nothing else was given, and nothing where a policy has
no such parameter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars

from aftereffect.errors import AftereffectError
from aftereffect.experiments.grids import Entrant
from aftereffect.experiments.spec import Spec
from aftereffect.model.catalog import Family, entry_of
from aftereffect.model.delay import Delay
from aftereffect.model.feedback import Noise, Shock
from aftereffect.model.impacts import MonotoneTable
from aftereffect.notation import parse
from aftereffect.policies.base import Policy, written

Values = dict[str, Any]
PROBLEM, POLICY = "problem_", "policy_"
ALWAYS = ("name", "arms", "memory")  # of a problem


class Which(NamedTuple):
    """A problem or a policy by its name and some of its parameters."""

    name: str
    parameters: Values

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{key}={in_words(value)}" for key, value in self.parameters.items())])


def which(name: str, /, **parameters: Any) -> Which:
    """The one that is called so and has these parameters.

    >>> str(which("history-ucb", log="lemma", memory=None))
    'history-ucb log=lemma memory=none'
    """
    return Which(name, parameters)


def the_one(wanted: Which, known: Mapping[str, Values]) -> str:
    """What the only problem or policy that fits is called in results."""
    fitting = [
        label
        for label, values in known.items()
        if all(values.get(key) == value for key, value in {"name": wanted.name, **wanted.parameters}.items())
    ]
    if len(fitting) != 1:
        raise AftereffectError(f"{len(fitting)} of {', '.join(known)} are {wanted}, not one")
    return fitting[0]


def problem_values(family: Family) -> Values:
    """Every parameter of a problem; its memory is the slowest arm's."""
    common = {f.name: getattr(family, f.name) for f in dataclasses.fields(family) if f.name != "parameters"}
    return {**entry_of(family.name).parameters, **family.parameters, **common, "memory": family.draw(0).memory}


def policy_values(policy: Policy) -> Values:
    """Every parameter of a policy."""
    return {"name": policy.name, **policy.parameters}


def values_of(entrant: Entrant) -> Values:
    """Every parameter of a spec's policy; None for those that are left to tuning."""
    first, *others = map(policy_values, entrant.policies.values())
    return {key: value if all(o[key] == value for o in others) else None for key, value in first.items()}


def with_parameters(rows: polars.LazyFrame, spec: Spec) -> polars.LazyFrame:
    """Rows with the spec's horizon and seed, and the parameters of their problems and policies."""
    problems = {notation: _given(notation, problem_values(family)) for notation, family in spec.families.items()}
    policies = {n: policy_values(p) for entrant in spec.entrants for n, p in entrant.policies.items()}
    return rows.with_columns(
        polars.lit(spec.horizon, polars.Int64).alias("horizon"),
        polars.lit(spec.seed, polars.Int64).alias("seed"),
        *_columns(PROBLEM, "problem", problems, ALWAYS),
        *_columns(POLICY, "parameters", policies, ("name",)),
    )


def _given(notation: str, values: Values) -> Values:
    """Without an impact that the memory alone has made."""
    return values if "impact" in parse(notation).parameters else {**values, "impact": None}


def _columns(prefix: str, by: str, known: Mapping[str, Values], always: Sequence[str]) -> Iterable[polars.Expr]:
    given = dict.fromkeys([*always, *(key for notation in known for key in parse(notation).parameters)])
    for key in given:
        if any(key in values for values in known.values()):
            found = _column([values.get(key) for values in known.values()])
            yield polars.col(by).replace_strict(list(known), found, return_dtype=found.dtype).alias(f"{prefix}{key}")


def _column(values: Sequence[Any]) -> polars.Series:
    """Values as they are where they are of one kind, else in words."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return polars.Series(values, dtype=polars.Boolean)
    if kinds == {int}:
        return polars.Series(values, dtype=polars.Int64)
    if kinds and kinds <= {int, float}:
        return polars.Series([None if v is None else float(v) for v in values], dtype=polars.Float64)
    return polars.Series([None if v is None else in_words(v) for v in values], dtype=polars.String)


def in_words(value: Any) -> str:
    """A parameter's value in the short notation, as specs and the command line take it.

    >>> from aftereffect.model.impacts import Discounted, Power
    >>> in_words([Discounted(0.4, Power(2)), 0.50, None])
    '[discounted(memory=0.4,g=power(exponent=2)),0.5,none]'
    """
    if value is None:
        return "none"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(map(in_words, value))}]"
    if isinstance(value, (Noise, Shock, Delay)):  # called by their kind
        usual = {f.name: f.default for f in dataclasses.fields(value)}
        parts = {n: getattr(value, n) for n in usual if n != "kind" and getattr(value, n) != usual[n]}
        return _in_brackets(value.kind, parts)
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, Policy)):
        parts = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
        name = "table" if isinstance(value, MonotoneTable) else type(value).__name__.lower()
        return _in_brackets(name, {key: part for key, part in parts.items() if part is not None})
    return written(value)


def _in_brackets(name: str, parts: Mapping[str, Any]) -> str:
    inside = ",".join(f"{key}={in_words(part)}" for key, part in parts.items())
    return f"{name}({inside})" if inside else name
