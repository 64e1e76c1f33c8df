"""What all policies share: parameters, names, what they need from the world, how they are started."""

from __future__ import annotations

import dataclasses
import inspect
import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import numpy as np

from aftereffect._sources import is_ours, take_sources
from aftereffect.errors import (
    AftereffectError,
    MissingParameter,
    numbers,
    require_one_of,
    require_whole,
    shown,
)
from aftereffect.model.curves import Floats
from aftereffect.model.fairness import Observed
from aftereffect.model.feedback import Feedback
from aftereffect.model.problem import Problem
from aftereffect.notation import Named, parse
from aftereffect.plugins import load_installed
from aftereffect.policies.agent import Agent
from aftereffect.policies.rules import PARAMETERS, Migration, PlainState
from aftereffect.policies.setting import Grid, Setting
from aftereffect.policies.starting import start_agent
from aftereffect.policies.state_files import carry_over


@dataclass(frozen=True)
class Policy:
    """An immutable description of how to choose: parameters only."""

    name: ClassVar[str] = ""
    holds: ClassVar[bool] = False  # does it hold a split, and leave it only for a better one?
    resizes: ClassVar[bool] = False  # can arms and limits change under way? Its arrays then keep what they hold of arms
    paper: ClassVar[bool] = False  # the paper's own, or one that it compares with; not inherited
    learns: ClassVar[bool] = True  # does what comes back change what it does?
    one_hot: ClassVar[bool] = False  # gives everything to one arm, so keeps neither floors and caps nor small steps
    arenas: ClassVar[tuple[str, ...]] = ("regret",)  # of "regret" and "weekly", those where it takes part unasked
    look: ClassVar[tuple[str, str] | None] = None  # its colour and marker in figures; not inherited
    only_stage: ClassVar[str] = ""  # what `stage` gives for rules that know a single one
    once_called: ClassVar[
        Mapping[str, str]
    ] = {}  # parameters by the names that files and specs of earlier versions have

    def __init_subclass__(cls) -> None:
        cls.paper, cls.look = vars(cls).get("paper", False), vars(cls).get("look")

    @classmethod
    def examples(cls) -> list[Policy]:
        """Some of its kind for arenas, benchmarks and tests: the first as most would use it, the others where its rule differs.

        The memory is left open. Without parameters that only a user can give there are none.
        """
        return [cls()] if all(_has_default(f) for f in dataclasses.fields(cls)) else []

    def state(self, setting: Setting) -> Any:
        """A fresh state for a world: a NamedTuple of arrays."""
        raise TypeError(f"{type(self).__name__} must define state(setting)")

    def grid(self, setting: Setting) -> Grid | None:
        """The grid of allocations it searches, if it does."""
        return None

    def explain(self, state: Any, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        """In plain data, why this allocation in round t."""
        return {}

    def stage(self, state: Any, t: int) -> str:
        """The stage of its rule that the advice of round t came from, a word of `explanation.STAGES`; logged with each round."""
        return self.only_stage

    def doubts(self, problem: Problem) -> list[str]:
        """What it takes for granted that does not hold in this problem, one clause each."""
        told, bound, true = getattr(self, "memory", None), getattr(self, "memory_bound", None), problem.memory
        found = []
        if true is not None and told is not None and abs(told - true) > 1e-9:
            found.append(f"it is told a memory of {told:g}, the problem's is {true:g}")
        if true is not None and bound is not None and bound < true - 1e-9:
            found.append(f"it is told a memory of at most {bound:g}, the problem's is {true:g}")
        return found

    def check_state(self, state: Any, fresh: Any) -> None:
        """Refuse (`CorruptFile`) a state read from a file that no course of rounds leads to.

        `fresh` is a state before any round. Numbers that are none, and what a start alone decides, are looked at elsewhere.
        """

    def drawn(self, state: Any) -> Any:
        """What the advice just asked for was drawn with, for rules that need it when told; None for all others."""
        return None

    def recall(self, state: Any, drawn: Any) -> None:
        """Let a state that was asked again be told of a round that was advised with this draw."""

    @property
    def recalls(self) -> bool:
        """Does its rule need, when told, what the advice was drawn with?"""
        return type(self).drawn is not Policy.drawn

    def await_rewards(self, state: Any, rounds: int) -> None:
        """Before a state is asked: of so many rounds that it has taken in nothing is known yet."""

    @property
    def awaits(self) -> bool:
        """Does it want to know how many rounds are out?"""
        return type(self).await_rewards is not Policy.await_rewards

    def learns_in_parts(self) -> bool:
        """Does it learn from single arms' rewards? Where it needs the round's total, rounds told in part wait."""
        return True

    def resized(self, state: Any, before: Setting, after: Setting, shares: Floats | None) -> Any:
        """The state with other limits, or with more arms at the end; `shares` is the split to go on from, if one is given."""
        if not self.resizes:
            raise AftereffectError(
                f"{self.name} cannot change arms or limits under way; start a new agent with the past rounds as history="
            )
        return carry_over(state, self.state(after), self.name)

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters and their values."""
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    @property
    def document(self) -> dict[str, Any]:
        """Name and parameters as plain data, without tuples and numpy's numbers, which JSON does not know."""
        return {"name": self.name, "parameters": {name: _plain(value) for name, value in self.parameters.items()}}

    @property
    def key(self) -> str:
        """NAME[:non-default k=v,..], as on the command line."""
        defaults = {f.name: _default(f) for f in dataclasses.fields(self)}
        changed = [f"{n}={written(v)}" for n, v in self.parameters.items() if not _same(v, defaults[n])]
        return self.name + (":" + ",".join(changed) if changed else "")

    def start(
        self,
        arms: int,
        horizon: int | None = None,
        seed: int = 0,
        *,
        feedback: Feedback = "independent",
        floors: Sequence[float] | Mapping[Any, float] | float | None = None,
        caps: Sequence[float] | Mapping[Any, float] | float | None = None,
        names: Sequence[str | int] | None = None,
        history: Sequence[Any] | None = None,
        observed: Observed = "all",
        start: Sequence[float] | Mapping[Any, float] | str | None = None,
        step: float | None = None,
        caution: float | None = None,
        keep: int = 1_000,
    ) -> Agent:
        """An agent: this policy under way, to be asked and told.

        `observed` says whose fairness measures it will be told: every arm's, or only those of activated arms. `start` is the
        split held until today (shares, by name too, or "even"), `step` the largest change of any share from one round to the
        next, `caution` how sure to be before leaving what is known to be good, for policies that know it. The latest `keep`
        rounds can be corrected.
        """
        return start_agent(
            self,
            arms,
            horizon,
            seed,
            feedback=feedback,
            floors=floors,
            caps=caps,
            names=names,
            history=history,
            observed=observed,
            start=start,
            step=step,
            caution=caution,
            keep=keep,
        )


@dataclass(frozen=True)
class PlainPolicy(Policy):
    """Base of policies in plain Python: slower, but nothing to compile.

    Write `arrays(setting)`, which gives the state as a dict of numpy arrays (changed in place and saved with the agent),
    `ask(arrays, t, allocation)`, which fills the allocation, and `tell(arrays, t, allocation, seen, reward)`. When other arrays
    are kept than before, raise `version` and say in `migrations` how to read those of earlier ones (see `register_rule`).
    """

    version: ClassVar[int] = 1
    migrations: ClassVar[Mapping[int, Migration]] = {}

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        for name in PARAMETERS:
            if not inspect.isfunction(vars(cls).get(name)):
                continue
            taken, wanted = (inspect.signature(getattr(owner, name)) for owner in (cls, PlainPolicy))
            try:
                taken.bind(*wanted.parameters)
            except TypeError:
                names = ", ".join(wanted.parameters)
                raise AftereffectError(f"{cls.__name__}: {name} must take ({names}), got {taken}") from None

    def arrays(self, setting: Setting) -> dict[str, np.ndarray[Any, Any]]:
        """The state: a dict of arrays; `rng` is added to it, a generator for the draws of `aftereffect.author`."""
        return {}

    def ask(self, arrays: Any, t: int, allocation: Floats) -> None:
        """Fill the allocation of round t (from 1)."""
        raise TypeError(f"{type(self).__name__} must define ask(arrays, t, allocation)")

    def tell(self, arrays: Any, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
        """Take what came back: how often each arm was observed (0: not) and its mean reward."""

    def skip(self, arrays: Any, t: int, allocation: Floats) -> None:
        """Take a round whose rewards are unknown."""

    def note(self, arrays: Any, t: int, allocation: Floats, measured: Floats) -> None:
        """Take the fairness measures seen in a round (NaN: not seen)."""

    def state(self, setting: Setting) -> PlainState:
        return PlainState(self, {"rng": setting.rng.copy(), **self.arrays(setting)})


# The registry: name -> class. Adding a policy is one file and one line.
_REGISTRY: dict[str, type[Policy]] = {}
_Class = TypeVar("_Class", bound=type[Policy])


def register(cls: _Class) -> _Class:
    """Make a policy known by its name, for `ae.policy`, the command line and `load_agent`."""
    if not cls.name:
        raise AftereffectError(f"{cls.__name__} needs a class attribute `name`")
    held = _REGISTRY.get(cls.name)
    if held is not None and is_ours(held.__module__) and not is_ours(cls.__module__):
        raise AftereffectError(f"{cls.__name__}: {cls.name!r} is the name of a policy of this library; choose another")
    take_sources(cls.__module__)
    _REGISTRY[cls.name] = cls
    return cls


def registry() -> Mapping[str, type[Policy]]:
    """Every policy known by name, those of installed plugins too."""
    load_installed()
    return dict(_REGISTRY)


def policy(name: str, /, **parameters: Any) -> Policy:
    """A policy by name.

    >>> policy("d-ucb", discount=0.9).key
    'd-ucb:discount=0.9'
    """
    cls = policy_class(name)
    parameters = {cls.once_called.get(key, key): value for key, value in parameters.items()}
    known = [f.name for f in dataclasses.fields(cls)]
    for key in parameters:
        require_one_of(f"parameter of policy {name!r}:", key, known)
    missing = [f.name for f in dataclasses.fields(cls) if f.name not in parameters and not _has_default(f)]
    if missing:
        raise MissingParameter(f"policy {name!r} needs {missing[0]}=")
    return cls(**parameters)


def policy_class(name: str) -> type[Policy]:
    """The class of a policy by name."""
    if not isinstance(name, str) or name not in _REGISTRY:
        require_one_of("policy", name, registry())
    return _REGISTRY[name]


def _plain(value: Any) -> Any:
    if isinstance(value, Policy):
        return value.document
    return list(value) if isinstance(value, tuple) else value.item() if isinstance(value, np.generic) else value


def policy_of(document: Mapping[str, Any]) -> Policy:
    """A policy from its name and parameters as plain data."""
    given = document["parameters"]
    return policy(document["name"], **{n: policy_of(v) if isinstance(v, dict) else v for n, v in given.items()})


def _has_default(f: dataclasses.Field[Any]) -> bool:
    return f.default is not dataclasses.MISSING or f.default_factory is not dataclasses.MISSING


def _default(f: dataclasses.Field[Any]) -> Any:
    return f.default if f.default is not dataclasses.MISSING else None


def _same(a: Any, b: Any) -> bool:
    return type(a) is type(b) and a == b if isinstance(a, bool) or isinstance(b, bool) else a == b


def written(value: Any) -> str:
    """A parameter's value as the command line reads it."""
    if isinstance(value, Policy):
        head, _, rest = value.key.partition(":")
        return f"{head}({rest})" if rest else head
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (tuple, list)):
        return "[" + ",".join(map(written, value)) + "]"
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    return str(value)


# Checks of parameters, shared by all policies.


def _left_open(owner: Policy, name: str, value: Any) -> bool:
    """None, where None is the default; elsewhere None is a wrong value."""
    return value is None and any(f.name == name and f.default is None for f in dataclasses.fields(owner))


def check_positive(owner: Policy, **values: Any) -> None:
    """Numbers that must be above zero and finite."""
    for name, value in values.items():
        if not _left_open(owner, name, value) and not (_is_number(value) and 0 < value < math.inf):
            raise AftereffectError(f"{owner.name}: {name} must be a number above 0, got {shown(value)}")


def check_between(owner: Policy, low: float, high: float, **values: Any) -> None:
    """Numbers that must lie in (low, high)."""
    for name, value in values.items():
        if not _left_open(owner, name, value) and not (_is_number(value) and low < value < high):
            raise AftereffectError(f"{owner.name}: {name} must lie between {low:g} and {high:g}, got {shown(value)}")


def check_memory(owner: Policy, memory: float | None) -> None:
    """A memory in [0, 1), or None to take it from the problem."""
    if memory is not None and not (_is_number(memory) and 0 <= memory < 1):
        raise AftereffectError(f"{owner.name}: memory must lie in [0, 1), got {shown(memory)}")


def check_multipliers(owner: Policy, multipliers: Any) -> None:
    """App. B's lambda_k, of either sign, as a tuple; or None."""
    if multipliers is None:
        return
    given = numbers(f"{owner.name}: multipliers", multipliers)
    if not given or not all(map(math.isfinite, given)):
        raise AftereffectError(
            f"{owner.name}: multipliers must be finite numbers, one per arm, got {shown(multipliers)}"
        )
    object.__setattr__(owner, "multipliers", given)  # a tuple: policies are compared and saved


def check_whole(owner: Policy, least: int, **values: Any) -> None:
    """Whole numbers that must be at least `least`."""
    for name, value in values.items():
        if not _left_open(owner, name, value):
            require_whole(f"{owner.name}: {name}", value, least)


def check_choice(owner: Policy, allowed: Sequence[str], **values: Any) -> None:
    """Options by name."""
    for name, value in values.items():
        require_one_of(f"{name} of policy {owner.name!r}:", value, allowed)


def check_bool(owner: Policy, **values: Any) -> None:
    """Options that are on or off."""
    for name, value in values.items():
        if not isinstance(value, (bool, np.bool_)):
            raise AftereffectError(f"{owner.name}: {name} must be true or false, got {shown(value)}")


def _is_number(value: Any) -> bool:
    if isinstance(value, int) and abs(value) > sys.float_info.max:  # 10**400: no float holds it
        return False
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def need_horizon(owner: Policy, setting: Setting, why: str) -> int:
    """The horizon, or a clear error that says what it is needed for."""
    if setting.horizon is None:
        raise MissingParameter(f"{owner.name} needs a horizon: {why}")
    return int(setting.horizon)


def need_memory(owner: Policy, given: float | None, setting: Setting) -> float:
    """The memory: as given, else the problem's, else a clear error."""
    memory = setting.memory if given is None else given
    if memory is None:
        raise MissingParameter(f"{owner.name} needs memory= (how strongly the past weighs, in [0, 1))")
    return float(memory)


def refuse_limits(owner: Policy, setting: Setting) -> None:
    """For policies that cannot keep floors and caps; nor, if they give everything to one arm, move in small steps."""
    if setting.step is not None and owner.one_hot:
        raise AftereffectError(
            f"{owner.name} gives everything to one arm and cannot keep a largest step a round; use a policy that can"
        )
    if not setting.limits.trivial:
        raise AftereffectError(
            f"{owner.name} does not search the grid and cannot keep floors or caps; use a policy that can"
        )


def policy_from(notation: str | Named) -> Policy:
    """A policy from its short notation.

    >>> policy_from("phased:inner=cucb(zero=true),memory=0.4").key
    'phased:inner=cucb(zero=true),memory=0.4'
    """
    named = parse(notation) if isinstance(notation, str) else notation
    parameters = {}
    for key, value in named.parameters.items():
        inner = key == "inner" and isinstance(value, str)
        parameters[key] = policy_from(value) if inner or isinstance(value, Named) else value
    return policy(named.name, **parameters)
