"""Ask, tell, skip and note: generic functions that pick a policy's rule by the type of its state.

A policy exists once. Its state is a NamedTuple of arrays; its rule is two to four functions on that state, written in
the part of Python that numba compiles. The simulator's kernel and the agent both call the generic functions below, so
simulation and live use cannot drift apart. A policy in plain Python has a `PlainState` and runs in the interpreter.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from aftereffect._by_address import passed_by_address
from aftereffect._compile import dispatch, explaining, kernel, without_annotations
from aftereffect._fingerprint import belonging_to_types
from aftereffect._sources import is_ours, take_sources
from aftereffect.errors import AftereffectError, require_one_of
from aftereffect.model.curves import Floats

Ask = Callable[[Any, int, Floats], None]
Tell = Callable[[Any, int, Floats, Floats, Floats], None]
Note = Callable[[Any, int, Floats, Floats], None]


def _skip_nothing(state: Any, t: int, allocation: Floats) -> None:
    pass


def _note_nothing(state: Any, t: int, allocation: Floats, measured: Floats) -> None:
    pass


class Rule(NamedTuple):
    """What a policy does with its state. Rounds count from 1.

    `ask(state, t, allocation)` fills the allocation of round t. `tell(state, t, allocation, seen, reward)` takes what was
    deployed, how often each arm was observed (0: not) and the mean reward. `skip(state, t, allocation)` takes a round
    whose rewards are unknown. `note(state, t, allocation, measured)` takes the fairness measures seen in a round (NaN: not
    seen), after its tell or skip; policies that do not care for fairness need none.
    """

    ask: Ask
    tell: Tell
    skip: Ask = _skip_nothing
    note: Note = _note_nothing


_RULES: dict[type, Rule] = {}


Saved = dict[
    str, Any
]  # a state's fields as a file holds them: lists of numbers, of records one for each of their names
Migration = Callable[[Saved, Mapping[str, np.ndarray[Any, Any]]], None]
"""Turns the fields that one version of a state saved into those of the next, in place; beside them a fresh state's."""


class Filing(NamedTuple):
    """How the states of a class are kept in files."""

    scratch: frozenset[str] = frozenset()
    version: int = 1
    migrations: Mapping[int, Migration] = {}


_FILING: dict[type, Filing] = {}


def register_rule(
    state: type,
    ask: Ask,
    tell: Tell,
    skip: Ask = _skip_nothing,
    note: Note = _note_nothing,
    scratch: Sequence[str] = (),
    version: int = 1,
    migrations: Mapping[int, Migration] | None = None,
) -> None:
    """Give a state class its rule. The functions' parameters must have the names used in `Rule`.

    `scratch` names the fields that hold nothing from one call to the next: they are not saved with an agent. A state class
    whose fields change goes to the next `version`; `migrations[v]` turns what version v saved into what v + 1 would have.
    """
    known = getattr(state, "_fields", ())
    for given, wanted in ((ask, "ask"), (tell, "tell"), (skip, "skip"), (note, "note")):
        _check_rule(given, PARAMETERS[wanted], known, f"{wanted} of {state.__name__}")
    take_sources(state.__module__)
    for name in scratch:
        require_one_of(f"scratch field of {state.__name__}:", name, known)
    _RULES[state] = Rule(ask, tell, skip, note)
    if is_ours(state.__module__):  # others may do with their states whatever tuples can
        passed_by_address(state)
    _FILING[state] = Filing(frozenset(scratch), version, migrations or {})


PARAMETERS = {
    "ask": ("state", "t", "allocation"),
    "tell": ("state", "t", "allocation", "seen", "reward"),
    "skip": ("state", "t", "allocation"),
    "note": ("state", "t", "allocation", "measured"),
}


def _check_rule(function: Callable[..., Any], wanted: tuple[str, ...], fields: Sequence[str], what: str) -> None:
    """Numba compares the names of parameters with those of the generic functions."""
    found = tuple(inspect.signature(function).parameters)
    if found != wanted:
        raise AftereffectError(f"{what}: its parameters must be ({', '.join(wanted)}), got ({', '.join(found)})")
    if _draws_unseeded(function, fields):
        raise AftereffectError(
            f"{what} draws from numpy.random or random, which no seed of ours rules; draw with aftereffect.author, "
            "for example uniform(state.rng)"
        )


def _draws_unseeded(function: Any, fields: Sequence[str]) -> bool:
    """Numba would compile such draws, with a generator of its own that nobody seeds or saves."""
    names = function.__code__.co_names
    used = [function.__globals__.get(name) for name in names]
    by_numpy = any(value is np for value in used) and "random" in names and "random" not in fields
    return by_numpy or any(value is np.random or value is random for value in used)


def filing_of(state: Any) -> Filing:
    """How a state is kept in files; one in plain Python as its policy says."""
    if isinstance(state, PlainState):
        return Filing(version=state.policy.version, migrations=state.policy.migrations)
    return _FILING.get(type(state), Filing())


@dataclass
class PlainState:
    """State of a policy written in plain Python: the policy, and its own arrays, which are saved with the agent."""

    policy: Any
    arrays: dict[str, Any]


def is_plain(state: Any) -> bool:
    """Does a state, or one inside it, belong to a policy in plain Python?"""
    if isinstance(state, tuple):
        return any(is_plain(part) for part in state)
    return not isinstance(state, np.ndarray)


def is_foreign(state: Any) -> bool:
    """Does a state, or one inside it, come from outside this package?"""
    if not isinstance(state, tuple):
        return False
    return not is_ours(type(state).__module__) or any(is_foreign(part) for part in state)


def is_own(state: Any) -> bool:
    """Is a state, or one inside it, that of a policy of a user's own?"""
    return is_plain(state) or is_foreign(state)


def bind(state: Any) -> Rule:
    """A state's rule in the fastest form it can run in: compiled and cached, compiled, or plain Python."""
    if isinstance(state, PlainState):
        policy = state.policy
        return Rule(
            lambda state, t, allocation: policy.ask(state.arrays, t, allocation),
            lambda state, t, allocation, seen, reward: policy.tell(state.arrays, t, allocation, seen, reward),
            lambda state, t, allocation: policy.skip(state.arrays, t, allocation),
            lambda state, t, allocation, measured: policy.note(state.arrays, t, allocation, measured),
        )
    if is_plain(state):
        return _RULES[type(state)]
    return _foreign if is_foreign(state) else _compiled


def ask(state: Any, t: int, allocation: Floats) -> None:
    """Fill the allocation of round t."""
    bind(state).ask(state, t, allocation)


def tell(state: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    """Take what came back in round t."""
    bind(state).tell(state, t, allocation, seen, reward)


def skip(state: Any, t: int, allocation: Floats) -> None:
    """Take a round whose rewards are unknown."""
    bind(state).skip(state, t, allocation)


def note(state: Any, t: int, allocation: Floats, measured: Floats) -> None:
    """Take the fairness measures seen in round t."""
    bind(state).note(state, t, allocation, measured)


@dispatch(ask)
def _overload_ask(state: Any, t: Any, allocation: Any) -> Any:
    return without_annotations(_rule_of(state).ask)


@dispatch(tell)
def _overload_tell(state: Any, t: Any, allocation: Any, seen: Any, reward: Any) -> Any:
    return without_annotations(_rule_of(state).tell)


@dispatch(skip)
def _overload_skip(state: Any, t: Any, allocation: Any) -> Any:
    return without_annotations(_rule_of(state).skip)


@dispatch(note)
def _overload_note(state: Any, t: Any, allocation: Any, measured: Any) -> Any:
    return without_annotations(_rule_of(state).note)


@belonging_to_types
def _functions_of(state: type) -> Rule | tuple[()]:
    return _RULES.get(state, ())


def _rule_of(state: Any) -> Rule:
    return _RULES[state.instance_class]


def _call_ask(state: Any, t: int, allocation: Floats) -> None:
    ask(state, t, allocation)


def _call_tell(state: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    tell(state, t, allocation, seen, reward)


def _call_skip(state: Any, t: int, allocation: Floats) -> None:
    skip(state, t, allocation)


def _call_note(state: Any, t: int, allocation: Floats, measured: Floats) -> None:
    note(state, t, allocation, measured)


_CALLS: Any = (_call_ask, _call_tell, _call_skip, _call_note)
_compiled = Rule(*(kernel(call) for call in _CALLS))
_explaining: Any = explaining
_foreign = Rule(*(_explaining(compiled) for compiled in _compiled))
