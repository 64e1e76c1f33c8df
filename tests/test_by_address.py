"""States passed by address: what kernels read and write through it is what is in the arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import typeof

import aftereffect as ae
from aftereffect._by_address import ByAddress, passed_by_address
from aftereffect._compile import WITH_RUNTIME, helper, kernel
from aftereffect.policies.rules import register_rule
from aftereffect.policies.setting import Setting


class Inner(NamedTuple):
    counts: Any
    flags: Any


class Outer(NamedTuple):
    values: Any
    inner: Any


passed_by_address(Inner)
passed_by_address(Outer)


@helper
def count(inner: Any, k: int) -> int:
    inner.counts[k] += 1
    return int(inner.counts[k])


@kernel
def visit(state: Any, k: int) -> int:
    """Reads, changes and passes on: its own fields, and the state inside."""
    state.values[1, k] += state.values.shape[0]
    state.inner.flags[k] = True
    return count(state.inner, k)


def _state() -> Outer:
    return Outer(np.zeros((2, 3)), Inner(np.arange(3), np.zeros(3, dtype=bool)))


def test_kernels_work_on_the_arrays_themselves() -> None:
    state = _state()
    assert [visit(state, 1), visit(state, 1), visit(state, 2)] == [2, 3, 3]
    assert state.values.tolist() == [[0.0, 0.0, 0.0], [0.0, 4.0, 2.0]]
    assert state.inner.counts.tolist() == [0, 3, 3]
    assert state.inner.flags.tolist() == [False, True, True]


def test_with_numbas_runtime_too() -> None:
    state = _state()
    fill = numba.njit(**WITH_RUNTIME)(lambda state: state.inner.counts.sum() + state.values.copy().size)
    assert [fill(state) for _ in range(3)] == [9, 9, 9]


def test_other_fields_are_refused() -> None:
    with pytest.raises(numba.TypingError, match="Unknown attribute 'missing'"):
        numba.njit(lambda state: state.missing)(_state())


def test_what_is_no_array_has_no_type() -> None:
    with pytest.raises(numba.TypingError, match="Cannot determine Numba type"):
        visit(Outer(np.zeros((2, 3)), object()), 0)


def test_own_states_stay_tuples_of_which_any_use_can_be_made() -> None:
    class Mine(NamedTuple):
        first: Any
        second: Any

    def ask(state: Any, t: Any, allocation: Any) -> None:
        pass

    def tell(state: Any, t: Any, allocation: Any, seen: Any, reward: Any) -> None:
        pass

    register_rule(Mine, ask, tell)
    mine = Mine(np.ones(2), np.ones((2, 2)))
    assert not isinstance(typeof(mine), ByAddress)
    ours = ae.policy("d-ucb").state(Setting(arms=2, horizon=10))
    assert isinstance(typeof(ours), ByAddress)
