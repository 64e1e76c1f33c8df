"""What the problems and policies of a spec come to: every combination of listed values, named in the short notation.

That name is also what identifies it in results.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from aftereffect.errors import AftereffectError, shown
from aftereffect.model.catalog import Family
from aftereffect.model.family_notation import family_from
from aftereffect.notation import parse
from aftereffect.policies.base import Policy, policy_from, written

NEARLY = 1e-6  # how far from one the chances of delays may sum
COMBINATIONS = 10_000  # that one entry's lists may come to
LISTS = ("floors", "caps", "start", "allocation", "x", "y")  # parameters of which a list of numbers is one value


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


def families_of(problems: Sequence[ProblemEntry]) -> dict[str, Family]:
    """Every problem by its short notation, checked."""
    found: list[tuple[str, Family]] = []
    for i, entry in enumerate(problems):
        for notation, _ in _combinations(entry.family, entry.parameters, f"problems[{i}]"):
            with said_of(f"problems[{i}]", notation):
                family, seed = family_from(notation)
            if seed is not None:
                raise AftereffectError(f"problems[{i}].seed: a spec draws its instances with the top-level seed")
            found.append((notation, family))
    unique("problems", [notation for notation, _ in found])
    return dict(found)


def entrants_of(policies: Sequence[PolicyEntry]) -> list[Entrant]:
    """Every policy, checked."""
    found: list[Entrant] = []
    for i, entry in enumerate(policies):
        path = f"policies[{i}]"
        clash = set(entry.tune) & set(entry.parameters)
        if clash:
            raise AftereffectError(f"{path}.tune.{key_of(min(clash))}: given as a parameter too")
        for notation, values in _combinations(entry.policy, entry.parameters, path):
            names = [notation]
            if entry.tune:
                tuned = _combinations(entry.policy, {**values, **entry.tune}, f"{path}.tune")
                names = unique(f"{path}.tune", [name for name, _ in tuned])
            checked = {name: _checked_policy(name, path) for name in names}
            found.append(Entrant(notation, checked, bool(entry.tune)))
    unique("policies", [e.label for e in found])
    return found


def _checked_policy(notation: str, path: str) -> Policy:
    with said_of(path, notation):
        return policy_from(notation)


@contextmanager
def said_of(path: str, notation: str) -> Iterator[None]:
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
            raise AftereffectError(f"{path}.{key_of(key)}: an empty list has no values to try")
        choices.append([(key, v) for v in value] if _is_grid(key, value) else [(key, value)])
    count = math.prod(map(len, choices))
    if count > COMBINATIONS:
        raise AftereffectError(f"{path}: its lists come to {count:,} combinations, more than {COMBINATIONS:,}")
    sets = [dict(combination) for combination in itertools.product(*choices)]
    return [(_notation(name, values, path), values) for values in sets]


def _is_grid(key: str, value: Any) -> bool:
    """Is a parameter's list one of values to try? It is none if it is one value itself, made of numbers.

    Delays are chances if a number with a fraction (1.0 is one) is among them and they sum to one; else rounds.
    """
    if not isinstance(value, list):
        return False
    if not all(isinstance(v, (int, float)) for v in value):
        return True
    if key == "delay":
        return not (any(isinstance(v, float) for v in value) and abs(sum(value) - 1.0) < NEARLY)
    return key not in LISTS


def _notation(name: str, values: dict[str, Any], path: str) -> str:
    if not values:
        return name
    if ":" in name:
        raise AftereffectError(f"{path}: {name!r} holds parameters already; give them all as keys")
    parts = []
    for key, value in values.items():
        if not isinstance(value, (str, int, float, bool, list)):
            raise AftereffectError(
                f"{path}.{key_of(key)}: a number, a truth value, a word or a list, got {shown(value)}"
            )
        part = f"{key}={written(value)}"
        with said_of(f"{path}.{key_of(key)}", part):
            if list(parse(f"{name}:{part}").parameters) != [key]:  # a comma or an equals sign where none belongs
                raise AftereffectError(f"{part!r} is not one parameter")
        parts.append(part)
    return f"{name}:{','.join(parts)}"


def unique(what: str, names: list[str]) -> list[str]:
    """Names, none of them twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise AftereffectError(f"{what}: {twice!r} is given twice")
    return names


def key_of(name: str) -> str:
    """A key as TOML would have it: odd ones in quotes."""
    return name if re.fullmatch(r"[\w-]+", name) else repr(name)
