"""The short notation: what it reads, what it refuses, and that every policy's key can be read back."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import aftereffect as ae
import aftereffect.policies
from aftereffect.errors import AftereffectError
from aftereffect.notation import Named, parse
from aftereffect.policies.base import policy_from, registry


@pytest.mark.parametrize(
    ("text", "name", "parameters"),
    [
        ("ucb1", "ucb1", {}),
        (" ucb1 ", "ucb1", {}),
        ("gaussian:arms=3,memory=0.2", "gaussian", {"arms": 3, "memory": 0.2}),
        ("gaussian: arms = 3 , memory = .2", "gaussian", {"arms": 3, "memory": 0.2}),
        ("a:x=1e-3,y=-2,z=1_000", "a", {"x": 1e-3, "y": -2, "z": 1000}),
        ("a:x=true,y=False,z=none", "a", {"x": True, "y": False, "z": None}),
        ("a:x=word,y=two words", "a", {"x": "word", "y": "two words"}),
        ("a:x=[0.3,0.7]", "a", {"x": [0.3, 0.7]}),
        ("a:x=[],y=[[1],[2,3]]", "a", {"x": [], "y": [[1], [2, 3]]}),
        ("a:x=b()", "a", {"x": Named("b")}),
        ("a:x=b(y=1,z=c(w=[1,true]))", "a", {"x": Named("b", {"y": 1, "z": Named("c", {"w": [1, True]})})}),
        ("a:x=[b,c(y=1)]", "a", {"x": ["b", Named("c", {"y": 1})]}),
        ("a:x=b=c", "a", {"x": "b=c"}),
    ],
)
def test_it_reads(text: str, name: str, parameters: dict[str, Any]):
    assert parse(text) == Named(name, parameters)


def test_whole_numbers_stay_whole():
    found = parse("a:x=3,y=3.0").parameters
    assert [type(v) for v in found.values()] == [int, float]


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", ":", ":x=1", "a:", "a: ", "a:x", "a:=1", "a:x=", "a:x=1,", "a:,x=1", "a:x=1,,y=2", "a:x=1,x=2"),
        *(
            "a:x=(1",
            "a:x=1)",
            "a:x=[1",
            "a:x=1]",
            "a:x=[1)",
            "a:x=(1]",
            "a:x=b([1)]",
            "a:x=[1,]",
            "a:x=[,]",
            "a:x=[1]]",
        ),
        *("a:x=(y=1)", "a:x=b(y)", "a:x=b(y=1", "a:x=b(y=1)c", "a:x=b(y=1)(z=2)", "a:x=b(y=1,y=2)", "a:x=b(,)"),
        *("a:x=" + "[" * 10_000 + "]" * 10_000, "a:x=" + "b(x=" * 10_000 + ")" * 10_000),
    ],
)
def test_it_refuses(text: str):
    with pytest.raises(AftereffectError):
        parse(text)


def test_the_message_quotes_what_was_wrong():
    with pytest.raises(AftereffectError, match=r"got 'y' in 'a:x=1,y'"):
        parse("a:x=1,y")


@given(st.text() | st.text(alphabet="ab01.:=,()[]- \n"))
def test_whatever_is_written_it_is_read_or_refused(text: str):
    for candidate in (text, f"a:{text}", f"a:x={text}", f"a:x=b({text})", f"a:x=[{text}]"):
        try:
            assert isinstance(parse(candidate), Named)
        except AftereffectError:
            continue


_WORDS = st.text(alphabet="abcdefgh-", min_size=1, max_size=6)
_VALUES = st.recursive(
    st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none() | _WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.builds(Named, _WORDS, st.dictionaries(_WORDS, inner, max_size=3)),
    max_leaves=8,
)


def _spelled(value: Any) -> str:
    if isinstance(value, Named):
        return f"{value.name}({','.join(f'{k}={_spelled(v)}' for k, v in value.parameters.items())})"
    if isinstance(value, list):
        return f"[{','.join(map(_spelled, value))}]"
    return str(value)


@given(_WORDS, st.dictionaries(_WORDS, _VALUES, min_size=1, max_size=4))
def test_what_is_spelled_is_what_is_read(name: str, parameters: dict[str, Any]):
    text = f"{name}:{','.join(f'{k}={_spelled(v)}' for k, v in parameters.items())}"
    assert parse(text) == Named(name, parameters)


# Every policy: each parameter away from its default, alone and all together, survives its key.

OTHER_VALUES: dict[str, list[Any]] = {
    "allocation": [(0.25, 0.75), (1 / 3, 2 / 3), (1.0,)],
    "approach": [0, 12],
    "clip": [False],
    "delta": [0.01],
    "deploy": ["distribution"],
    "discount": [0.5, 0.123456789012345],
    "estimation": [0.35],
    "caution": [2.0],
    "driver": ["realised"],
    "form": ["loss"],
    "grid_for": ["cucb"],
    "inner": [ae.CUCB(zero=True, levels=7), ae.UCB1(), ae.Phased(ae.DUCB(xi=2), memory=0.1), ae.Fixed((0.5, 0.5))],
    "levels": [9],
    "lipschitz": [2.5, 1e-7],
    "log": ["printed", "told", 2.5],
    "measure_lipschitz": [2.0],
    "memory": [0.0, 0.4, 1 / 3],
    "memory_bound": [0.9],
    "multipliers": [(0.1, -0.1), (1 / 3, 0.0, -1 / 3)],
    "rate": [0.05],
    "resolution": [0.5, 3],
    "scale": [2, 0.1],
    "temperature": [0.2],
    "tolerance": [0.0, 0.15],
    "xi": [0.6, 1e22],
    "zero": [True],
}


def _accepts(name: str, **parameters: Any) -> bool:
    try:
        ae.policy(name, **parameters)
    except AftereffectError:
        return False
    return True


def _values(field: dataclasses.Field[Any]) -> list[Any]:
    """Values of a parameter away from its default; numbers need none of their own."""
    known = OTHER_VALUES.get(field.name)
    if known is None:
        usual: Any = field.default
        assert type(usual) in (int, float), f"give {field.name} a value in OTHER_VALUES"
        return [usual + 1, 2 * usual + 1, usual / 2]
    return known


def _cases() -> list[ae.Policy]:
    cases: list[ae.Policy] = []
    for name, cls in registry().items():
        fields = {f.name: _values(f) for f in dataclasses.fields(cls)}
        needed = {"inner": ae.UCB1()} if "inner" in fields else {}
        cases.append(ae.policy(name, **needed))
        for field, values in fields.items():
            fitting = [v for v in values if _accepts(name, **{**needed, field: v})]
            if not fitting:  # one that excludes another (a memory and a bound on it) is tried alone
                alone = [v for v in values if _accepts(name, **{field: v})]
                assert alone, f"{name}: no value to try for {field}"
                cases += [ae.policy(name, **{field: v}) for v in alone]
                continue
            cases += [ae.policy(name, **{**needed, field: v}) for v in fitting]
            needed = {**needed, field: fitting[0]}  # from here on also away from its default
        cases.append(ae.policy(name, **needed))
    return cases


@pytest.mark.parametrize("policy", _cases(), ids=lambda policy: policy.key)
def test_a_policys_key_reads_back_as_the_policy(policy: ae.Policy):
    assert policy_from(policy.key) == policy
    assert policy_from(policy.key).key == policy.key


def test_keys_leave_out_defaults():
    assert ae.policy("d-ucb", discount=0.8, xi=1).key == "d-ucb"
    assert ae.policy("history-ucb", zero=True, scale=3).key == "history-ucb:zero=true"
