"""What policies of one's own are written with: draws, clear mistakes, compiled once."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import aftereffect as ae
from aftereffect import author
from aftereffect.errors import AftereffectError, CannotCompile
from aftereffect.testing import CHECKS, PolicyConformance, check_policy

GUIDE = Path(__file__).parent.parent / "docs" / "authors.md"


class State(NamedTuple):
    rng: np.ndarray[Any, Any]
    room: np.ndarray[Any, Any]


def nothing(state, t, allocation, seen, reward):
    pass


def policy_of(ask: Any, tell: Any = nothing) -> ae.Policy:
    fresh: Any = type("Fresh", (State,), {})  # numba compiles the rule of a class once
    author.register_rule(fresh, ask, tell)

    class Own(ae.Policy):
        name = "own"

        def state(self, setting: ae.Setting) -> Any:
            return fresh(setting.rng.copy(), np.zeros(setting.arms))

    return Own()


LOOKED_UP = {"a": 1.0}


def creates(state, t, allocation):
    room = np.zeros(3)
    allocation[0] = room[0]


def lists(state, t, allocation):
    values = [1.0, 2.0]
    allocation[0] = values[t]


def misses(state, t, allocation):
    allocation[0] = state.nowhere[0]


def looks_up(state, t, allocation):
    allocation[0] = LOOKED_UP["a"]


def calls_plain(state, t, allocation):
    allocation[0] = policy_of(t)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (creates, "it creates an array or a list; give the state a field"),
        (lists, "it creates an array or a list"),
        (misses, "the state has no field 'nowhere'"),
        (looks_up, "it uses 'LOOKED_UP', which is no number"),
        (calls_plain, "it uses 'policy_of', which is no number"),
    ],
)
def test_what_cannot_be_compiled_is_said_in_one_line(rule: Any, said: str) -> None:
    with pytest.raises(CannotCompile, match=re.escape(said)) as error:
        policy_of(rule).start(3).ask()
    assert "\n" not in str(error.value)


def formats(state, t, allocation):
    said = f"{t:.3f}"
    allocation[len(said)] = 1.0


def test_what_numba_cannot_read_is_said_in_one_line_too() -> None:
    with pytest.raises(CannotCompile, match=r"^a rule cannot be compiled.*PlainPolicy needs no compiling$"):
        policy_of(formats).start(3).ask()


def twice_all(state, t, allocation):
    for k in range(allocation.shape[0]):
        allocation[k] = 2.0 / allocation.shape[0]


class Returns(ae.PlainPolicy):
    name = "returns"

    def ask(self, arrays: Any, t: int, allocation: Any) -> Any:
        return np.full(len(allocation), 1 / len(allocation))  # and fills nothing


@pytest.mark.parametrize(("policy", "total"), [(policy_of(twice_all), 2), (Returns(), 0)], ids=["compiled", "plain"])
def test_what_is_no_allocation_is_refused_by_agents_and_simulations(policy: ae.Policy, total: int) -> None:
    said = rf"^{policy.key}: in round \d+ the shares sum to {total}, not to 1: .*fills the allocation in place"
    with pytest.raises(AftereffectError, match=said):
        policy.start(4).ask()
    with pytest.raises(AftereffectError, match=said):
        ae.simulate(ae.problem("gaussian", arms=4), policy, horizon=10, runs=1)


class Answers(ae.PlainPolicy):
    """The first round even, then what was given."""

    name = "answers"

    def __init__(self, *shares: float) -> None:
        self.shares = shares

    def ask(self, arrays: Any, t: int, allocation: Any) -> None:
        allocation[:] = 1 / len(allocation) if t == 1 else self.shares


def always_nan(state, t, allocation):
    for k in range(allocation.shape[0]):
        allocation[k] = np.nan


@pytest.mark.parametrize("options", [{}, {"units": 30}, {"step": 0.1, "start": "even"}, {"delay": 2}], ids=str)
@pytest.mark.parametrize(
    ("shares", "said"),
    [
        ((math.nan, 0.5, 0.5), "is not a finite number"),
        ((1.5, -0.5, 0.0), "is below 0"),
        ((0.5, 0.5, 0.5), "sum to 1.5"),
        ((0.7, 0.2, 0.1), r"leaves the floors \[0.2, 0.2, 0.2\] or caps \[0.6, 0.6, 0.6\]"),
    ],
)
def test_a_simulation_stops_at_what_cannot_be_deployed(
    shares: tuple[float, ...], said: str, options: dict[str, Any]
) -> None:
    """Between two checkpoints too, and before the step hides it: machine code would read beyond the curves."""
    problem = ae.problem("loan", arms=3, floors=0.2, caps=0.6, seed=1, **options)
    with pytest.raises(AftereffectError, match=rf"^answers: in round 2 .*{said}"):
        ae.simulate(problem, Answers(*shares), horizon=50, runs=1, checkpoints=1)


def test_a_compiled_rule_of_ones_own_is_stopped_as_well() -> None:
    with pytest.raises(AftereffectError, match="in round 1 a share is not a finite number"):
        ae.simulate(ae.problem("loan", arms=3, units=100, seed=1), policy_of(always_nan), horizon=52, runs=1)


def test_a_policy_that_breaks_limits_is_refused_by_agents_and_the_conformance_suite() -> None:
    agent = Answers(0.7, 0.2, 0.1).start(3, caps=0.6)
    agent.tell(agent.ask())
    with pytest.raises(
        AftereffectError, match=r"in round 2 .* or caps \[0.6, 0.6, 0.6\]; a policy that cannot keep them"
    ):
        agent.ask()
    with pytest.raises(AssertionError, match="check 'limits': in round 2"):
        check_policy(Answers(0.7, 0.2, 0.1), arms=3)


def test_a_plain_rule_with_other_parameters_is_refused_where_it_is_written() -> None:
    with pytest.raises(
        AftereffectError, match=r"^Short: ask must take \(self, arrays, t, allocation\), got \(self, t\)"
    ):

        class Short(ae.PlainPolicy):
            def ask(self, t):  # type: ignore[override]
                pass


def unseeded(state, t, allocation):
    allocation[0] = np.random.random()


def misnamed(state, round, allocation):
    allocation[0] = 1.0


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (unseeded, "ask of State draws from numpy.random or random"),
        (misnamed, r"ask of State: its parameters must be \(state, t, allocation\), got \(state, round, allocation\)"),
    ],
)
def test_what_would_go_wrong_silently_is_refused_at_once(rule: Any, said: str) -> None:
    with pytest.raises(AftereffectError, match=said):
        author.register_rule(State, rule, nothing)


def test_levels_are_drawn_uniformly() -> None:
    rng, allocation, found = author.generator(3), np.zeros(3), Counter[tuple[float, ...]]()
    for _ in range(15_000):
        author.deploy_levels(allocation, 4, rng)
        found[tuple(allocation.tolist())] += 1
    expected = 15_000 / 15  # (4 + 2 choose 2) allocations
    assert len(found) == 15
    assert all(abs(sum(shares) - 1) < 1e-12 for shares in found)
    chi_square = sum((count - expected) ** 2 / expected for count in found.values())
    assert chi_square < 36.1  # 14 degrees of freedom: exceeded once in a thousand


def test_whole_numbers_are_drawn_uniformly() -> None:
    rng = author.generator(5)
    counts = np.bincount([author.whole(rng, 6) for _ in range(6_000)], minlength=6)
    assert len(counts) == 6
    assert ((counts - 1_000) ** 2 / 1_000).sum() < 20.5  # 5 degrees of freedom: once in a thousand


class TestAsAClass(PolicyConformance):
    """The class has the checks as tests, and they are run on this policy."""

    policy = ae.RoundRobin()
    arms = 2
    horizon = 20

    def test_every_check_is_a_test(self) -> None:
        tests = [name for name in dir(PolicyConformance) if name.startswith("test_")]
        assert len(tests) == len(CHECKS)


def test_a_broken_policy_fails_the_test_of_what_it_breaks() -> None:
    class Mute(ae.PlainPolicy):
        name = "mute"

        def ask(self, arrays: Any, t: int, allocation: Any) -> None:
            allocation[:] = 1.0 / len(allocation)

        def explain(self, state: Any, setting: ae.Setting, t: int, allocation: Any) -> Any:
            return {"why": float("nan")}

    case: Any = type("TestMute", (PolicyConformance,), {"policy": Mute()})()
    case.test_simplex()
    with pytest.raises(AssertionError, match="mute: check 'explanation': explain gives what JSON cannot hold"):
        case.test_explanation()


ASK = """
import time
import aftereffect as ae
from compiled_drawing import Draws
agent = Draws(levels=SHARES).start(3, seed=1)
print(agent.ask().tolist())
"""


def test_compiled_once_and_again_after_an_edit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The guide's own policy: a second process compiles nothing, an edit of a constant is seen."""
    text = next(b for b in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL) if "# compiled_draw" in b)
    text = text.replace("state.levels[0]", "PARTS * state.levels[0]").replace(
        "class DrawState", "PARTS = 1\n\nclass DrawState"
    )
    module, home = tmp_path / "compiled_drawing.py", tmp_path / "cache"
    home.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))

    def ask() -> tuple[str, int]:
        line = [sys.executable, "-c", ASK.replace("SHARES", "1")]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout, len(list(home.rglob("*.kernel")))

    module.write_text(text)
    first, kept = ask()
    assert kept > 0
    assert ask() == (first, kept)
    module.write_text(text.replace("PARTS = 1", "PARTS = 7"))
    second, more = ask()
    assert more > kept
    assert {share % 1 for share in eval(first)} == {0.0}
    assert any(share % 1 for share in eval(second))
