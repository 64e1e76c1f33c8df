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
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from aftereffect._files import read_regular
from aftereffect.errors import AftereffectError, shown
from aftereffect.model.catalog import Family
from aftereffect.model.family_notation import family_from
from aftereffect.notation import parse
from aftereffect.plugins import import_modules
from aftereffect.policies.base import Policy, policy_from, written
from aftereffect.simulation.simulate import checkpoint_rounds

# Limits far beyond what anyone computes: a slip of the keyboard is refused before it fills the memory.
LARGEST = 2**63 - 1  # TOML's own range of whole numbers
COMBINATIONS = 10_000  # that one entry's lists may come to
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
LISTS = ("floors", "caps", "start", "impact", "allocation", "x", "y")  # parameters whose value is itself a list


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Checkpoints(_Strict):
    """How many rounds are kept, and how they are spaced."""

    count: Kept = 50
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


@dataclass(frozen=True)
class Entrant:
    """One policy of a spec: what it may turn out to be, by the short notation; only tuning leaves a choice."""

    notation: str
    policies: dict[str, Policy]
    tuned: bool

    @property
    def label(self) -> str:
        """What it is called in results."""
        return f"{self.notation} (tuned)" if self.tuned else self.notation


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
        return _families(self)

    @cached_property
    def entrants(self) -> list[Entrant]:
        """Every policy, checked."""
        return _entrants(self)

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
        _unique(key, [shown(value) for value in values])
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
    with _said_of("imports", ""):
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
            text += f".{_key(part)}" if text else _key(part)
        before = str(part)
    return text


def _key(name: str) -> str:
    """A key as TOML would have it: odd ones in quotes."""
    return name if re.fullmatch(r"[\w-]+", name) else repr(name)


_UNION = re.compile(r"Checkpoints$|constrained-int$|int$|list\[|function-")  # how pydantic names a union's members


# Grids: every combination as a name in the short notation, which is also what identifies it in results.


def _families(spec: Spec) -> dict[str, Family]:
    found: list[tuple[str, Family]] = []
    for i, entry in enumerate(spec.problems):
        for notation, _ in _combinations(entry.family, entry.parameters, f"problems[{i}]"):
            with _said_of(f"problems[{i}]", notation):
                family, seed = family_from(notation)
            if seed is not None:
                raise AftereffectError(f"problems[{i}].seed: a spec draws its instances with the top-level seed")
            found.append((notation, family))
    _unique("problems", [notation for notation, _ in found])
    return dict(found)


def _entrants(spec: Spec) -> list[Entrant]:
    found: list[Entrant] = []
    for i, entry in enumerate(spec.policies):
        path = f"policies[{i}]"
        clash = set(entry.tune) & set(entry.parameters)
        if clash:
            raise AftereffectError(f"{path}.tune.{_key(min(clash))}: given as a parameter too")
        for notation, values in _combinations(entry.policy, entry.parameters, path):
            names = [notation]
            if entry.tune:
                tuned = _combinations(entry.policy, {**values, **entry.tune}, f"{path}.tune")
                names = _unique(f"{path}.tune", [name for name, _ in tuned])
            policies = {name: _checked_policy(name, path) for name in names}
            found.append(Entrant(notation, policies, bool(entry.tune)))
    _unique("policies", [e.label for e in found])
    return found


def _checked_policy(notation: str, path: str) -> Policy:
    with _said_of(path, notation):
        return policy_from(notation)


@contextmanager
def _said_of(path: str, notation: str) -> Iterator[None]:
    """Say where in the spec a mistake is, whatever noticed it."""
    try:
        yield
    except AftereffectError as error:
        raise AftereffectError(_short(f"{path}: {error}")) from None
    except (TypeError, ValueError, ArithmeticError, MemoryError) as error:
        raise AftereffectError(_short(f"{path}: {notation!r}: {str(error) or type(error).__name__}")) from None


def _short(message: str) -> str:
    """One line that can be read, also where it repeats a list of thousands."""
    return message if len(message) <= 600 else f"{message[:600]}.."


def _combinations(name: str, parameters: dict[str, Any], path: str) -> list[tuple[str, dict[str, Any]]]:
    """Every choice of one value from each grid, in the short notation and as values."""
    choices = []
    for key, value in parameters.items():
        if isinstance(value, list) and not value:
            raise AftereffectError(f"{path}.{_key(key)}: an empty list has no values to try")
        grid = isinstance(value, list) and (key not in LISTS or any(isinstance(v, list) for v in value))
        choices.append([(key, v) for v in value] if grid else [(key, value)])
    count = math.prod(map(len, choices))
    if count > COMBINATIONS:
        raise AftereffectError(f"{path}: its lists come to {count:,} combinations, more than {COMBINATIONS:,}")
    sets = [dict(combination) for combination in itertools.product(*choices)]
    return [(_notation(name, values, path), values) for values in sets]


def _notation(name: str, values: dict[str, Any], path: str) -> str:
    if not values:
        return name
    if ":" in name:
        raise AftereffectError(f"{path}: {name!r} holds parameters already; give them all as keys")
    parts = []
    for key, value in values.items():
        if not isinstance(value, (str, int, float, bool, list)):
            raise AftereffectError(f"{path}.{_key(key)}: a number, a truth value, a word or a list, got {shown(value)}")
        part = f"{key}={written(value)}"
        with _said_of(f"{path}.{_key(key)}", part):
            if list(parse(f"{name}:{part}").parameters) != [key]:  # a comma or an equals sign where none belongs
                raise AftereffectError(f"{part!r} is not one parameter")
        parts.append(part)
    return f"{name}:{','.join(parts)}"


def _unique(what: str, names: list[str]) -> list[str]:
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise AftereffectError(f"{what}: {twice!r} is given twice")
    return names
