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
import math
import re
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError, shown
from aftereffect.experiments.grids import (
    Entrant,
    PolicyEntry,
    ProblemEntry,
    entrants_of,
    families_of,
    key_of,
    said_of,
    unique,
)
from aftereffect.model.catalog import Family
from aftereffect.plugins import import_modules
from aftereffect.simulation.simulate import checkpoint_rounds

# Limits far beyond what anyone computes: a slip of the keyboard is refused before it fills the memory.
LARGEST = 2**63 - 1  # TOML's own range of whole numbers
EXPERIMENTS = 1_000  # that lists of horizons and seeds may come to
DEEPEST = 10  # lists and tables in one another
LARGEST_FILE = 1_000_000  # bytes
PARTS = 100  # of a key: reading one takes the square of them in time and memory
_PART = r"""(?:(?<![\w-])[\w-]+|"[^"\n]*"|'[^'\n]*')"""
_DOTTED = re.compile(rf"(?:{_PART}[ \t]*\.[ \t]*){{{PARTS},}}")

Rounds = Annotated[int, Field(ge=1, le=10**12, strict=True)]
Whole = Annotated[int, Field(ge=1, le=10**6, strict=True)]
Kept = Annotated[int, Field(ge=1, le=10**5, strict=True)]
Seed = Annotated[int, Field(ge=0, le=LARGEST, strict=True)]

GRIDS = {"horizon": "", "seed": "seed"}  # top-level keys whose list is a grid, and what marks their values in a name


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checkpoints(_Strict):
    """How many rounds are kept, and how they are spaced."""

    count: Kept = 50
    spacing: Literal["linear", "log"] = "linear"


def _or_alone(key: str) -> BeforeValidator:
    """A name in the short notation may stand alone: it is the table with nothing else in it."""
    return BeforeValidator(lambda value: {key: value} if isinstance(value, str) else value)


class Tuning(_Strict):
    """How much goes into choosing parameters: instances of their own, runs on each."""

    instances: Whole = 10
    runs: Whole = 4
    horizon: Rounds | None = None


class Scale(_Strict):
    """What another scale of the same experiment changes."""

    horizon: Rounds | None = None
    instances: Whole | None = None
    runs: Whole | None = None
    checkpoints: Kept | list[Rounds] | Checkpoints | None = None
    tuning: Tuning | None = None


class Spec(_Strict):
    """A whole experiment: every policy on every problem, on common random numbers."""

    name: Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
    title: str = ""
    caption: str = ""
    horizon: Rounds
    instances: Whole = 1
    runs: Whole = 10
    seed: Seed = 0
    checkpoints: Kept | list[Rounds] | Checkpoints = 50
    tuning: Tuning = Tuning()
    imports: list[str] = Field(default_factory=list)
    problems: Annotated[list[Annotated[ProblemEntry, _or_alone("family")]], Field(min_length=1)]
    policies: Annotated[list[Annotated[PolicyEntry, _or_alone("policy")]], Field(min_length=1)]
    scales: dict[str, Scale] = Field(default_factory=dict)

    @cached_property
    def families(self) -> dict[str, Family]:
        """Every problem by its short notation, checked."""
        return families_of(self.problems)

    @cached_property
    def entrants(self) -> list[Entrant]:
        """Every policy, checked."""
        return entrants_of(self.policies)

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
    """Read a spec from a TOML file; one with a list of horizons or seeds is several."""
    found = load_specs(path)
    if len(found) > 1:
        raise AftereffectError(f"{str(path)!r} is a grid of {len(found)} experiments, not one; use load_specs")
    return found[0]


def load_specs(path: str | Path) -> list[Spec]:
    """Read every spec that a TOML file comes to."""
    return parse_specs(read_content(path))


def read_content(path: str | Path) -> dict[str, Any]:
    """What stands in a TOML file, not yet checked."""
    try:
        text = read_regular(Path(path), LARGEST_FILE).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise AftereffectError(f"cannot read the spec {str(path)!r}: {reason}") from error
    deep = _DOTTED.search(text)
    if deep:
        raise AftereffectError(f"{str(path)!r} is not a spec: the key {deep[0][:30]!r}.. has more than {PARTS} parts")
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also numbers of more digits than Python reads
        raise AftereffectError(f"{str(path)!r} is not valid TOML: {error}") from error


def at_scale(content: dict[str, Any], scale: str) -> dict[str, Any]:
    """A spec's content at one of its scales, if it has any."""
    scales: dict[str, Any] = content.get("scales", {})
    if scales and scale not in scales:
        raise AftereffectError(f"{content['name']} has no scale {scale!r} (it has {', '.join(sorted(scales))})")
    return {**{key: value for key, value in content.items() if key != "scales"}, **scales.get(scale, {})}


def parse_specs(content: dict[str, Any]) -> list[Spec]:
    """Checked specs: one, or one for each choice from the lists of horizons and seeds, which their names then tell apart."""
    lists = {key: content[key] for key in GRIDS if isinstance(content.get(key), list)}
    for key, values in lists.items():
        if not values:
            raise AftereffectError(f"{key}: an empty list has no values to try")
        unique(key, [shown(value) for value in values])
    count = math.prod(map(len, lists.values()))
    if count > EXPERIMENTS:
        raise AftereffectError(f"{' and '.join(lists)}: {count:,} experiments are more than {EXPERIMENTS:,}")
    return [parse_spec(_picked(content, dict(zip(lists, c, strict=True)))) for c in itertools.product(*lists.values())]


def _picked(content: dict[str, Any], chosen: dict[str, Any]) -> dict[str, Any]:
    marks = [f"-{GRIDS[key]}{value}" for key, value in chosen.items() if isinstance(value, int)]
    named = {"name": content["name"] + "".join(marks)} if isinstance(content.get("name"), str) else {}
    return {**content, **chosen, **named}


def parse_spec(content: dict[str, Any]) -> Spec:
    """A checked spec; the first mistake is said with its key's path and the nearest valid name."""
    _check_values(content, ())
    try:
        spec = Spec.model_validate(content)
    except ValidationError as error:
        raise AftereffectError(_first_mistake(error, content)) from None
    with said_of("imports", ""):
        import_modules(spec.imports)
    try:
        spec.rounds  # noqa: B018  checkpoints must fit the horizon
    except AftereffectError as error:
        raise AftereffectError(f"checkpoints: {error}") from None
    spec.families, spec.entrants  # noqa: B018  are checked as they are made
    return spec


def _check_values(value: Any, path: tuple[Any, ...]) -> None:
    """Refuse what no key of a spec can take: numbers out of range, lists in lists in lists."""
    if len(path) > DEEPEST:
        raise AftereffectError(f"{_path(path[:3])}: lists and tables are nested more than {DEEPEST} deep")
    if isinstance(value, (dict, list)):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_values(inner, (*path, key))
    elif isinstance(value, int) and abs(value) > LARGEST:
        raise AftereffectError(f"{_path(path)}: whole numbers go up to {LARGEST}")
    elif isinstance(value, float) and not math.isfinite(value):
        raise AftereffectError(f"{_path(path)}: numbers must be finite, got {value}")


KINDS = {  # what a value must be, in the words of TOML
    "dict_type": "a table",
    "int_type": "a whole number",
    "list_type": "a list",
    "model_type": "a name in the short notation, or a table",
    "string_type": "text",
}


def _first_mistake(error: ValidationError, content: Any) -> str:
    found = error.errors(include_url=False)
    # A wrong name explains most other complaints; of those about one key the most exact says most.
    roots = [e["loc"][:1] for e in found]
    first = min(found, key=lambda e: (e["type"] != "extra_forbidden", roots.index(e["loc"][:1]), -len(e["loc"])))
    path, key = _path(first["loc"]), str(first["loc"][-1]) if first["loc"] else ""
    if first["type"] == "extra_forbidden":
        near = difflib.get_close_matches(key, _siblings(first["loc"]), n=1, cutoff=0.5)
        return f"unknown key {path!r}" + (f"; did you mean {near[0]!r}?" if near else "")
    if first["type"] == "missing":
        keys = [k for k in _keys_at(content, first["loc"][:-1]) if path != key or k not in Spec.model_fields]
        near = difflib.get_close_matches(key, keys, n=1, cutoff=0.6) or [k for k in keys if k == "name"]
        return f"missing key {path!r}" + (f"; is {near[0]!r} a slip for it?" if near else "")
    value = first.get("input")
    got = f", got {shown(value)}" if isinstance(value, (str, int, float, bool, list)) else ""
    kind = KINDS.get(first["type"])
    wanted = f"must be {kind}" if kind else first["msg"][0].lower() + first["msg"][1:]
    return f"{path or 'spec'}: {wanted}{got if len(got) < 80 else ''}"


def _siblings(loc: tuple[Any, ...]) -> list[str]:
    """The keys allowed where an unknown one stands."""
    model: Any = (
        {"tuning": Tuning, "scales": Scale, "checkpoints": Checkpoints}.get(str(loc[0])) if len(loc) > 1 else Spec
    )
    if len(loc) > 3 and loc[0] == "scales":
        model = {"tuning": Tuning, "checkpoints": Checkpoints}.get(str(loc[2]))
    return list((model or Spec).model_fields)


def _keys_at(content: Any, loc: tuple[Any, ...]) -> list[str]:
    """The keys a table of the spec holds."""
    for part in loc:
        content = content[part]
    return list(content)


def _path(loc: tuple[Any, ...]) -> str:
    """`problems[0].family` from pydantic's location, without the names of union members."""
    text, before = "", ""
    for part in loc:
        if isinstance(part, int):
            text += f"[{part}]"
        elif before != "checkpoints" or part in Checkpoints.model_fields or not _UNION.match(part):
            text += f".{key_of(part)}" if text else key_of(part)
        before = str(part)
    return text


_UNION = re.compile(r"Checkpoints$|constrained-int$|int$|list\[|function-")  # how pydantic names a union's members
