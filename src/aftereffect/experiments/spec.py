"""A spec: an experiment as a short TOML file.

name = "mine"
horizon = 20000
instances = 4
runs = 10

[[problems]]
family = "gaussian"
memory = [0.2, 0.4]            # a list is a grid

[[policies]]
policy = "d-ucb"
tune = { discount = [0.7, 0.8, 0.9] }
"""

from __future__ import annotations

import difflib
import itertools
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from aftereffect.errors import AftereffectError
from aftereffect.model.catalog import family_from
from aftereffect.policies.base import Policy, policy_from, written
from aftereffect.simulation.simulate import checkpoint_rounds

Whole = Annotated[int, Field(ge=1, strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]

LISTS = ("floors", "caps", "impact", "allocation", "x", "y")  # parameters whose value is itself a list


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checkpoints(_Strict):
    """How many rounds are kept, and how they are spaced."""

    count: Whole = 50
    spacing: Literal["linear", "log"] = "linear"


class Entry(BaseModel):
    """A family or a policy by name, with parameters; a parameter's list is a grid."""

    model_config = ConfigDict(extra="allow", frozen=True)

    @property
    def parameters(self) -> dict[str, Any]:
        """What was written besides the name."""
        return dict(self.__pydantic_extra__ or {})


class ProblemEntry(Entry):
    """One `[[problems]]` table."""

    family: str


class PolicyEntry(Entry):
    """One `[[policies]]` table; `tune` holds lists of parameter values to choose from on separate instances."""

    policy: str
    tune: dict[str, Annotated[list[Any], Field(min_length=1)]] = Field(default_factory=dict)


class Tuning(_Strict):
    """How much goes into choosing parameters: instances of their own, runs on each."""

    instances: Whole = 10
    runs: Whole = 4
    horizon: Whole | None = None


class Scale(_Strict):
    """What another scale of the same experiment changes."""

    horizon: Whole | None = None
    instances: Whole | None = None
    runs: Whole | None = None
    checkpoints: Whole | list[Whole] | Checkpoints | None = None
    tuning: Tuning | None = None


class Spec(_Strict):
    """A whole experiment: every policy on every problem, on common random numbers."""

    name: Annotated[str, Field(min_length=1, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    title: str = ""
    caption: str = ""
    horizon: Whole
    instances: Whole = 1
    runs: Whole = 10
    seed: Seed = 0
    checkpoints: Whole | list[Whole] | Checkpoints = 50
    tuning: Tuning = Tuning()
    problems: Annotated[list[ProblemEntry], Field(min_length=1)]
    policies: Annotated[list[PolicyEntry], Field(min_length=1)]
    scales: dict[str, Scale] = Field(default_factory=dict)

    def at(self, scale: str) -> Spec:
        """The spec at another scale."""
        if scale not in self.scales:
            if not self.scales:
                return self
            raise AftereffectError(f"{self.name} has no scale {scale!r} (it has {', '.join(sorted(self.scales))})")
        changes = self.scales[scale].model_dump(exclude_none=True)
        return parse_spec({**self.model_dump(), **changes, "scales": {}})

    @property
    def rounds(self) -> list[int]:
        """The rounds that are kept."""
        wanted = self.checkpoints
        if isinstance(wanted, Checkpoints):
            if wanted.spacing == "log":
                count = min(wanted.count, self.horizon)
                steps = {round(self.horizon ** (i / max(count - 1, 1))) for i in range(count)}
                return [int(r) for r in checkpoint_rounds(self.horizon, sorted(steps))]
            wanted = wanted.count
        return [int(r) for r in checkpoint_rounds(self.horizon, wanted)]


def load_spec(path: str | Path) -> Spec:
    """Read a spec from a TOML file."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AftereffectError(f"cannot read the spec {str(path)!r}: {reason}") from error
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise AftereffectError(f"{str(path)!r} is not valid TOML: {error}") from error
    return parse_spec(content)


def parse_spec(content: dict[str, Any]) -> Spec:
    """A checked spec; the first mistake is said with its key's path and the nearest valid name."""
    try:
        spec = Spec.model_validate(content)
    except ValidationError as error:
        raise AftereffectError(_first_mistake(error, content)) from None
    try:
        spec.rounds  # noqa: B018  checkpoints must fit the horizon
    except AftereffectError as error:
        raise AftereffectError(f"checkpoints: {error}") from None
    expand_problems(spec)
    expand_policies(spec)
    return spec


def _first_mistake(error: ValidationError, content: Any) -> str:
    found = error.errors(include_url=False)
    first = min(found, key=lambda e: e["type"] != "extra_forbidden")  # a wrong name explains most other complaints
    path = _path(first["loc"])
    if first["type"] == "extra_forbidden":
        key = str(first["loc"][-1])
        near = difflib.get_close_matches(key, _siblings(first["loc"]), n=1, cutoff=0.5)
        return f"unknown key {path!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    if first["type"] == "missing":
        return f"missing key {path!r}"
    value = first.get("input")
    shown = f", got {value!r}" if isinstance(value, (str, int, float, bool, list)) else ""
    return f"{path or 'spec'}: {first['msg'][0].lower()}{first['msg'][1:]}{shown if len(shown) < 80 else ''}"


def _siblings(loc: tuple[Any, ...]) -> list[str]:
    """The keys allowed where an unknown one stands."""
    model: Any = (
        {"tuning": Tuning, "scales": Scale, "checkpoints": Checkpoints}.get(str(loc[0])) if len(loc) > 1 else Spec
    )
    if len(loc) > 2 and str(loc[2]) in ("tuning", "checkpoints"):
        model = {"tuning": Tuning, "checkpoints": Checkpoints}[str(loc[2])]
    return list((model or Spec).model_fields)


def _path(loc: tuple[Any, ...]) -> str:
    """`problems[0].family` from pydantic's location, without the names of union members."""
    text = ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif part not in ("Checkpoints", "constrained-int", "int") and not str(part).startswith(("list[", "function-")):
            text += f".{part}" if text else str(part)
    return text


# Grids: every combination as a name in the short notation, which is also what identifies it in results.


def expand_problems(spec: Spec) -> list[str]:
    """Every problem of a spec in the short notation, checked."""
    found: list[str] = []
    for i, entry in enumerate(spec.problems):
        for notation in _combinations(entry.family, entry.parameters):
            try:
                _, seed = family_from(notation)
            except AftereffectError as error:
                raise AftereffectError(f"problems[{i}]: {error}") from None
            if seed is not None:
                raise AftereffectError(f"problems[{i}].seed: a spec draws its instances with the top-level seed")
            found.append(notation)
    return _unique("problems", found)


def expand_policies(spec: Spec) -> list[tuple[str, list[str]]]:
    """Every policy of a spec in the short notation, with the candidates of its tuning (none: it is what it is)."""
    found: list[tuple[str, list[str]]] = []
    for i, entry in enumerate(spec.policies):
        for notation in _combinations(entry.policy, entry.parameters):
            candidates = []
            clash = set(entry.tune) & set(entry.parameters)
            if clash:
                raise AftereffectError(f"policies[{i}].tune.{min(clash)}: given as a parameter too")
            if entry.tune:
                fixed = _parameters_of(entry.policy, notation, entry.parameters)
                candidates = _combinations(entry.policy, {**fixed, **entry.tune})
            for name in candidates or [notation]:
                _checked_policy(name, f"policies[{i}]")
            found.append((notation, candidates))
    _unique("policies", [n for n, c in found if not c] + [f"{n} (tuned)" for n, c in found if c])
    return found


def _parameters_of(name: str, notation: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """The single values that one combination of a grid took."""
    for values in _value_sets(parameters):
        if _notation(name, values) == notation:
            return values
    return {}


def _checked_policy(notation: str, path: str) -> Policy:
    try:
        return policy_from(notation)
    except AftereffectError as error:
        raise AftereffectError(f"{path}: {error}") from None
    except (TypeError, ValueError) as error:
        raise AftereffectError(f"{path}: {notation!r}: {error}") from None


def _combinations(name: str, parameters: dict[str, Any]) -> list[str]:
    return [_notation(name, values) for values in _value_sets(parameters)]


def _value_sets(parameters: dict[str, Any]) -> list[dict[str, Any]]:
    choices = []
    for key, value in parameters.items():
        grid = isinstance(value, list) and (key not in LISTS or any(isinstance(v, list) for v in value))
        if isinstance(value, list) and not value:
            raise AftereffectError(f"{key}: an empty list has no values to try")
        choices.append([(key, v) for v in value] if grid else [(key, value)])
    return [dict(combination) for combination in itertools.product(*choices)]


def _notation(name: str, values: dict[str, Any]) -> str:
    for key, value in values.items():
        if isinstance(value, dict) or not isinstance(value, (str, int, float, bool, list)):
            raise AftereffectError(f"{key}: a number, a truth value, a word or a list, got {value!r}")
    inside = ",".join(f"{k}={written(v)}" for k, v in values.items())
    return f"{name}:{inside}" if inside else name


def _unique(what: str, names: list[str]) -> list[str]:
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice is not None:
        raise AftereffectError(f"{what}: {twice!r} is given twice")
    return names
