"""A kernel's fingerprint: it changes with all that the kernel reaches, and with nothing else."""

from __future__ import annotations

import itertools
import textwrap
from collections import namedtuple
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import pytest
from numba import typeof
from numba.core import types
from numba.core.dispatcher import Dispatcher

import aftereffect as ae
from aftereffect._fingerprint import Unknown, fingerprint
from aftereffect.policies.base import registry
from aftereffect.policies.rules import _compiled, register_rule
from aftereffect.policies.setting import Setting

SOURCE = """
from aftereffect._compile import helper, kernel

LIMIT = {limit}
TABLE = (1.0, {entry})
UNUSED = {unused}


@helper
def inner(x):
    return x + {constant}


def in_between(x):
    {comment}
    return inner(x) * TABLE[1]


between = kernel(in_between)


def outer(x):
    "{docstring}"
    return between(x) if x < LIMIT else 0.0


def stranger(x):
    return {elsewhere}
"""
USUAL = {
    "limit": 3,
    "entry": 2.0,
    "unused": 1,
    "constant": 1.5,
    "comment": "pass",
    "docstring": "What it does.",
    "elsewhere": 1,
}
_names = itertools.count()


def _print(**changed: Any) -> str:
    module = ModuleType(f"made_up_{next(_names)}")
    exec(textwrap.dedent(SOURCE.format(**{**USUAL, **changed})), module.__dict__)
    return fingerprint(module.outer, (types.float64,), {})


def test_the_same_code_has_the_same_fingerprint() -> None:
    assert _print() == _print()


@pytest.mark.parametrize("change", [{"limit": 4}, {"limit": 3.0}, {"entry": 2.5}, {"constant": 1.0}])
def test_what_a_kernel_reaches_changes_it(change: dict[str, Any]) -> None:
    assert _print(**change) != _print()


@pytest.mark.parametrize(
    "change", [{"unused": 2}, {"docstring": "Something else."}, {"elsewhere": 2}, {"comment": "pass  # why"}]
)
def test_what_a_kernel_does_not_reach_does_not(change: dict[str, Any]) -> None:
    assert _print(**change) == _print()


def test_types_and_options_count() -> None:
    def double(x: float) -> float:
        return 2.0 * x

    prints = {
        fingerprint(double, (types.float64,), {}),
        fingerprint(double, (types.int64,), {}),
        fingerprint(double, (types.float64,), {"error_model": "numpy"}),
    }
    assert len(prints) == 3


def test_the_rule_that_a_state_picks_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Edit one function that a policy's rule calls: its kernels change, another policy's do not."""
    from aftereffect.policies import exp3

    def prints() -> list[str]:
        states = [ae.policy(name).state(Setting(3, 100)) for name in ("exp3", "ucb1")]
        return [fingerprint(_compiled.ask, (typeof(state),), {}) for state in states]

    before = prints()
    called = next(name for name, value in vars(exp3).items() if isinstance(value, Dispatcher) and "ask" not in name)

    def other(*arguments: Any) -> None:
        pass

    monkeypatch.setattr(exp3, called, other)
    after = prints()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_the_rule_of_an_own_state_counts_also_if_its_fields_are_all_alike() -> None:
    def printed(change: int) -> str:
        class Alike(NamedTuple):
            first: Any
            second: Any

        def ask(state: Any, t: Any, allocation: Any) -> None:
            allocation[0] = change

        def tell(state: Any, t: Any, allocation: Any, seen: Any, reward: Any) -> None:
            pass

        register_rule(Alike, ask, tell)
        return fingerprint(_compiled.ask, (typeof(Alike(np.ones(2), np.ones(2))),), {})

    assert printed(1) == printed(1) != printed(2)


@pytest.mark.parametrize("name", sorted(registry()))
def test_every_kernel_of_the_package_can_be_kept(name: str) -> None:
    given: dict[str, Any] = {"phased": {"inner": ae.policy("ucb1")}, "fair-thompson": {"tolerance": 0.1}}.get(name, {})  # type: ignore[assignment]
    state = ae.policy(name, **given).state(Setting(3, 1000, memory=0.4))
    for call in _compiled:
        assert len(fingerprint(call, (typeof(state), types.int64, typeof(np.zeros(3))), {})) == 32


def test_something_whose_change_could_not_be_noticed_is_refused() -> None:
    secret = object()

    def reads(x: float) -> bool:
        return x is secret

    with pytest.raises(Unknown, match="object"):
        fingerprint(reads, (types.float64,), {})


def test_a_state_that_moves_to_another_module_has_another_fingerprint() -> None:
    """What is kept on disk names the class: it could not be read where the old module is gone."""

    def first(state: Any) -> Any:
        return state.x[0]

    def of_module(name: str) -> str:
        state: Any = namedtuple("state", ["x"])
        state.__module__ = name
        return fingerprint(first, (typeof(state(np.zeros(2))),), {})

    assert of_module("before") == of_module("before")
    assert of_module("before") != of_module("after")
