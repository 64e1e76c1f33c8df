"""The conformance suite: every policy passes it, and broken ones do not."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.policies import base
from aftereffect.policies.rules import register_rule
from aftereffect.testing import CHECKS, check_policy
from tests.simulation.cases import FEEDBACKS, IDS, POLICIES


@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
def test_every_policy_conforms(policy: ae.Policy) -> None:
    check_policy(policy, feedback=FEEDBACKS[POLICIES.index(policy) % 3])


@pytest.mark.parametrize(
    ("policy", "arms", "horizon", "feedback"),
    [
        (ae.ActionUCB(), 1, 50, "one"),
        (ae.Exp3(), 1, 30, "independent"),
        (ae.CUCB(), 6, 60, "split"),
        (ae.HistoryUCB(memory=0.9), 2, 40, "one"),
        (ae.Thompson(), 2, 1, "split"),
        (ae.Fixed([0.1, 0.2, 0.7]), 3, 30, "one"),
        (ae.Phased(ae.Phased(ae.UCB1(), approach=1), approach=2), 2, 60, "independent"),
    ],
)
def test_policies_conform_in_odd_places(policy: ae.Policy, arms: int, horizon: int, feedback) -> None:
    check_policy(policy, arms, horizon, feedback, seed=9)


@pytest.mark.soak
@pytest.mark.parametrize("policy", POLICIES, ids=IDS)
@pytest.mark.parametrize("feedback", FEEDBACKS)
@pytest.mark.parametrize("arms", [1, 2, 4])
def test_every_policy_conforms_everywhere(policy: ae.Policy, feedback, arms: int) -> None:
    check_policy(policy, arms, 400, feedback, seed=0)


# Users' own policies.


class Base(ae.PlainPolicy):
    """Equal shares, honestly kept; what is broken below is broken in one place."""

    name: ClassVar[str] = "own"

    def ask(self, arrays: Any, t: int, allocation) -> None:
        allocation[:] = 1.0 / len(allocation)

    def arrays(self, setting: ae.Setting) -> dict[str, Any]:
        if not setting.limits.trivial:
            raise ae.AftereffectError("own cannot keep floors or caps")
        return {"counts": np.zeros(setting.arms), "seen": np.zeros(1)}


class Greedy(Base):
    """A policy in plain Python with nothing wrong."""

    name: ClassVar[str] = "greedy"

    def ask(self, arrays: Any, t: int, allocation) -> None:
        weights = 1.0 + arrays["counts"]
        allocation[:] = weights / weights.sum()

    def tell(self, arrays: Any, t: int, allocation, seen, reward) -> None:
        arrays["counts"] += reward * (seen > 0)


@pytest.mark.parametrize("feedback", FEEDBACKS)
def test_a_users_own_policy_conforms(feedback, monkeypatch: pytest.MonkeyPatch) -> None:
    check_policy(Greedy(), feedback=feedback)
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    ae.register(Greedy)
    check_policy(Greedy(), feedback=feedback)
    check_policy(ae.Phased(Greedy(), 0.4), feedback=feedback)


class OffTheSimplex(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.9 / len(allocation)


class Negative(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[0], allocation[1] = 1.5, -0.5


class NotANumber(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = np.nan if t == 30 else 1.0 / len(allocation)


class DriftsAway(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = (1.0 + 1e-8 * t) / len(allocation)


class PastTheHorizon(Base):
    def arrays(self, setting):
        return {**super().arrays(setting), "plan": np.ones(setting.horizon)}

    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = arrays["plan"][t - 1] / len(allocation)


class IgnoresLimits(Base):
    def arrays(self, setting):
        return {}

    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[0] = 1.0


class GlobalRandomness(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[np.random.randint(len(allocation))] = 1.0


class CounterOutside(Base):
    counter: ClassVar[Any] = itertools.count()

    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[next(self.counter) % 2] = 1.0


_TOTALS: dict[int, float] = {}


class StateOutside(Base):
    """Keeps its sums beside the arrays, one entry for each agent: only a copy or a resumed agent shows it."""

    def ask(self, arrays, t, allocation) -> None:
        total = _TOTALS.get(id(arrays), 0.0)
        allocation[:] = 0.0
        allocation[int(total) % len(allocation)] = 1.0

    def tell(self, arrays, t, allocation, seen, reward) -> None:
        _TOTALS[id(arrays)] = _TOTALS.get(id(arrays), 0.0) + float(reward.sum()) if t > 1 else 0.0


class SharedArrays(Base):
    shared: ClassVar[Any] = np.zeros(3)

    def arrays(self, setting):
        super().arrays(setting)
        self.shared[:] = 0.0
        return {"counts": self.shared}

    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[int(arrays["counts"].sum()) % len(allocation)] = 1.0

    def tell(self, arrays, t, allocation, seen, reward) -> None:
        arrays["counts"] += seen > 0


class ListInTheState(Base):
    def arrays(self, setting):
        return {**super().arrays(setting), "past": []}


@dataclass(frozen=True)
class ChangesItself(Base):
    memo: list[int] = field(default_factory=list)

    def tell(self, arrays, t, allocation, seen, reward) -> None:
        self.memo.append(t)


class WritesRewards(Base):
    def tell(self, arrays, t, allocation, seen, reward) -> None:
        reward *= 2.0


class WritesAllocation(Base):
    def skip(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0


class TrustsTheBuffer(Base):
    def ask(self, arrays, t, allocation) -> None:
        allocation += 1.0
        allocation /= allocation.sum()
        if t % 2:
            allocation[0] += 1.0
            allocation /= allocation.sum()


class DividesByWhatWasSeen(Base):
    def tell(self, arrays, t, allocation, seen, reward) -> None:
        arrays["counts"] += 1.0 / int(seen.sum())


class NeverFails(Base):
    def tell(self, arrays, t, allocation, seen, reward) -> None:
        arrays["seen"] += float(np.sum(seen))
        arrays["counts"] += reward
        if arrays["seen"][0] > 40 and not arrays["counts"].any():
            raise ZeroDivisionError("nothing but failures")


class CountsTrialsAsOne(Base):
    def tell(self, arrays, t, allocation, seen, reward) -> None:
        if seen.max() > 1:
            raise IndexError("an arm seen twice")


class KnowsItsOwnAdviceOnly(Base):
    def tell(self, arrays, t, allocation, seen, reward) -> None:
        if not np.allclose(allocation, 1.0 / len(allocation)):
            raise KeyError("not what I said")


class CannotSkip(Base):
    def skip(self, arrays, t, allocation) -> None:
        raise NotImplementedError("skip")


class ExplainsWithArrays(Base):
    def explain(self, state, setting, t, allocation):
        return {"weights": allocation}


class ExplainsInfinity(Base):
    def explain(self, state, setting, t, allocation):
        return {"radius": float("inf")}


class ExplainingCosts(Base):
    def explain(self, state, setting, t, allocation):
        state.arrays["counts"] += 1.0
        return {}

    def ask(self, arrays, t, allocation) -> None:
        allocation[:] = 0.0
        allocation[int(arrays["counts"][0]) % len(allocation)] = 1.0


BROKEN: list[tuple[type[ae.PlainPolicy], str, str]] = [
    (OffTheSimplex, "simplex", r"sum to 0\.9"),
    (Negative, "simplex", r"below 0: \[1\.5, -0\.5"),
    (NotANumber, "simplex", "in round 30.*finite"),
    (DriftsAway, "simplex", "sum to"),
    (PastTheHorizon, "simplex", "IndexError"),
    (IgnoresLimits, "limits", "floors"),
    (GlobalRandomness, "asking is free", "round"),
    (CounterOutside, "same seed, same choices", "round"),
    (StateOutside, "state in arrays", "goes on differently"),
    (SharedArrays, "same seed, same choices", "round"),
    (ListInTheState, "state in arrays", "list"),
    (ChangesItself, "parameters stay", "memo"),
    (WritesRewards, "arguments are left alone", "reward"),
    (WritesAllocation, "arguments are left alone", "allocation"),
    (TrustsTheBuffer, "agent and simulator agree", "choose differently"),
    (DividesByWhatWasSeen, "", "ZeroDivisionError"),
    (NeverFails, "rewards 0 and 1", "nothing but failures"),
    (CountsTrialsAsOne, "trials", "an arm seen twice"),
    (KnowsItsOwnAdviceOnly, "overrides", "not what I said"),
    (CannotSkip, "", "NotImplementedError"),
    (ExplainsWithArrays, "explanation", "ndarray"),
    (ExplainsInfinity, "explanation", "inf"),
    (ExplainingCosts, "asking is free", "explaining"),
]


@pytest.mark.parametrize(("broken", "check", "shown"), BROKEN, ids=[b[0].__name__ for b in BROKEN])
def test_a_broken_policy_is_found_out(broken: type[ae.PlainPolicy], check: str, shown: str) -> None:
    with pytest.raises(AssertionError, match=f"own.*: check '{check}.*{shown}"):
        check_policy(broken())


def test_a_policy_that_does_not_come_back_from_disk_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    @dataclass(frozen=True)
    class Lossy(Base):
        name: ClassVar[str] = "lossy"
        shares: Any = (0.5, 0.5)

    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))
    ae.register(Lossy)
    with pytest.raises(AssertionError, match=r"lossy: check 'save and load'.*loaded as"):
        check_policy(Lossy(), arms=2)


class LeakyState(NamedTuple):
    unused: Any


def ask_leaky(state: LeakyState, t: int, allocation) -> None:
    last = allocation[0]  # the agent hands in a fresh array, the simulator last round's
    for k in range(allocation.shape[0]):
        allocation[k] = 0.0
    allocation[0 if last == 0.0 else 1] = 1.0


def tell_leaky(state: LeakyState, t: int, allocation, seen, reward) -> None:
    pass


register_rule(LeakyState, ask_leaky, tell_leaky)


@dataclass(frozen=True)
class Leaky(ae.Policy):
    name: ClassVar[str] = "leaky"

    def state(self, setting: ae.Setting) -> LeakyState:
        if not setting.limits.trivial:
            raise ae.AftereffectError("leaky cannot keep floors or caps")
        return LeakyState(np.zeros(1))


def test_a_compiled_policy_that_differs_from_its_agent_is_found_out() -> None:
    with pytest.raises(AssertionError, match="leaky: check 'agent and simulator agree'"):
        check_policy(Leaky())


def test_what_cannot_start_says_why_itself() -> None:
    with pytest.raises(ae.MissingParameter, match="memory"):
        check_policy(ae.HistoryUCB())
    with pytest.raises(ae.AftereffectError, match="3 shares"):
        check_policy(ae.Fixed([0.5, 0.5]))


def test_checks_have_names_and_explanations() -> None:
    assert len(CHECKS) >= 15
    assert all(check.__doc__ for check in CHECKS.values())


def test_the_suite_is_not_cheated_by_a_wrong_registration(monkeypatch: pytest.MonkeyPatch) -> None:
    """A class of the same name that is registered by someone else is not taken for this one."""
    monkeypatch.setattr(base, "_REGISTRY", dict(base._REGISTRY))

    @ae.register
    class Other(Base):
        name: ClassVar[str] = "greedy"

    check_policy(Greedy())
