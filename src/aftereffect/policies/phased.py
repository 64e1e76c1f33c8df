"""Algorithm 2, the reduction template around any policy, and Algorithm 3, history-dependent UCB, in it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect.errors import AftereffectError, shown
from aftereffect.model.curves import Floats, Records, record
from aftereffect.policies.action_ucb import ActionUCB
from aftereffect.policies.base import (
    Policy,
    check_between,
    check_bool,
    check_choice,
    check_memory,
    check_multipliers,
    check_positive,
    check_whole,
    need_memory,
    register,
)
from aftereffect.policies.by_name import named
from aftereffect.policies.cucb import CUCB
from aftereffect.policies.rules import ask as ask_inner
from aftereffect.policies.rules import note as note_inner
from aftereffect.policies.rules import register_rule
from aftereffect.policies.rules import skip as skip_inner
from aftereffect.policies.rules import tell as tell_inner
from aftereffect.policies.sense import check_shares, require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import Phases, history_levels, phases, phases_of

SETTINGS = np.dtype([("approach", "i8"), ("length", "i8"), ("horizon", "i8")])  # of a phase; horizon 0: none
NOW = np.dtype(
    [
        ("phase", "i8"),  # how many were begun
        ("open", "i8"),  # is one?
        ("position", "i8"),  # in it
        ("run", "i8"),  # rounds for which the allocation has stood
        ("told", "i8"),  # rounds that the inner policy was told of
    ]
)


class PhasedState(NamedTuple):
    settings: Records  # one record
    now: Records  # one record
    held: Floats  # the phase's allocation
    deployed: Floats  # last
    inner: Any


# Around a policy in plain Python these run in the interpreter, where a record's numbers are items, not attributes.


def ask(state: PhasedState, t: int, allocation: Floats) -> None:
    settings, now = state.settings[0], state.now[0]
    if now["open"] == 0:
        left = settings["horizon"] - (t - 1)
        if not (
            0 < left < settings["length"] and now["phase"] > 0
        ):  # rounds left after the last whole phase go on as they are
            ask_inner(state.inner, now["told"] + 1, state.held)
            now["open"] = 1
            now["position"] = 0
            now["run"] = 0
            now["phase"] += 1
    for k in range(allocation.shape[0]):
        allocation[k] = state.held[k]


@helper
def pass_round(settings: Records, moment: Records, deployed: Floats, allocation: Floats) -> bool:
    """Take in what was deployed; does the round count for the inner policy?

    It does once the same allocation has stood for longer than the approach, whoever chose it.
    """
    now = moment[0]
    stood = now.run > 0
    for k in range(allocation.shape[0]):
        stood = stood and allocation[k] == deployed[k]
        deployed[k] = allocation[k]
    now.run = now.run + 1 if stood else 1
    if now.open == 1:
        now.position += 1
        if now.position >= settings[0].length:
            now.open = 0
    return bool(now.run > settings[0].approach)


def tell(state: PhasedState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    if pass_round(state.settings, state.now, state.deployed, allocation):
        now = state.now[0]
        now["told"] += 1
        tell_inner(state.inner, now["told"], allocation, seen, reward)


def skip(state: PhasedState, t: int, allocation: Floats) -> None:
    if pass_round(state.settings, state.now, state.deployed, allocation):
        skip_inner(state.inner, state.now[0]["told"] + 1, allocation)


def note(state: PhasedState, t: int, allocation: Floats, measured: Floats) -> None:
    now = state.now[0]
    if now["run"] > state.settings[0]["approach"]:  # the round counted
        note_inner(state.inner, now["told"], allocation, measured)


register_rule(
    PhasedState,
    ask,
    tell,
    skip,
    note,
    version=2,
    migrations={
        1: named(
            clock=(
                *("settings.approach", "settings.length", "settings.horizon"),
                *("now.position", "now.run", "now.told", "now.phase", "now.open"),
            ),
            held=("held", "deployed"),
        )
    },
)


def check_phases(state: PhasedState, fresh: PhasedState) -> None:
    """What is settled at the start is so; all else counts; what is held was deployed or is still empty."""
    settings, now = state.settings, state.now
    require_sense("settings", bool(np.array_equal(settings, fresh.settings)), settings)
    for name in NOW.names or ():
        require_sense(f"now.{name}", bool(now[name][0] >= 0), now[name])
    require_sense("now.open", bool(now["open"][0] <= 1), now["open"])
    require_sense("now.position", bool(now["position"][0] <= settings["length"][0]), now["position"])
    if now["open"][0] or now["phase"][0] or state.held.any():  # empty only before the first phase
        check_shares("held", state.held)
    if state.deployed.any():
        check_shares("deployed", state.deployed)


def phased_stage(state: PhasedState) -> str:
    """Does the impact still settle, or do rounds count?"""
    return "approach" if _round_of_phase(state) <= state.settings["approach"][0] else "estimation"


def _round_of_phase(state: PhasedState) -> int:
    now = state.now[0]
    return int(now["position"]) + 1 if now["open"] else int(state.settings["length"][0])


@register
@dataclass(frozen=True)
class Phased(Policy):
    """Algorithm 2: hold each choice of an inner policy for a whole phase and learn only after the impact has settled.

    Each phase has `approach` rounds that move the impact to the allocation (default: App. E's s_a, from the memory) and
    then estimation rounds, about a share `estimation` of the phase, that the inner policy is told of. `inner` is any policy;
    its clock and its horizon count estimation rounds.

    >>> reasons = Phased(CUCB(zero=True), memory=0.4).start(arms=2, horizon=100_000).explain()
    >>> reasons["approach_rounds"], reasons["phase_length"]
    (5, 6)
    """

    name: ClassVar[str] = "phased"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#56B4E9", "o")
    inner: Policy
    memory: float | None = None
    estimation: float = 0.2
    lipschitz: float = 1.0
    approach: int | None = None

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(CUCB(zero=True))]

    def __post_init__(self) -> None:
        if not isinstance(self.inner, Policy):
            raise AftereffectError(f"phased: inner must be a policy, got {shown(self.inner)}")
        check_memory(self, self.memory)
        check_between(self, 0, 1, estimation=self.estimation)
        check_positive(self, lipschitz=self.lipschitz)
        check_whole(self, 0, approach=self.approach)

    def settled(self, setting: Setting) -> tuple[Phases, Policy, Setting]:
        """Phases, the inner policy with its grid settled, and what it is told about the world."""
        memory = need_memory(self, self.memory, setting) if self.approach is None else 0.0
        at_once = self.approach is None and memory == 0.0
        estimation = 1.0 if at_once else self.estimation
        about = None if setting.horizon is None else max(1, round(setting.horizon * estimation))
        inner, grid = self.inner, self.inner.grid(dataclasses.replace(setting, horizon=about))
        if grid is not None:
            levels = grid.levels
            if hasattr(inner, "levels"):
                inner = dataclasses.replace(inner, levels=levels)  # type: ignore[call-arg]
        elif setting.horizon is not None:
            levels = history_levels(setting.horizon, estimation, setting.arms)
        elif self.approach is None and not at_once:
            raise AftereffectError("phased needs a horizon (it sets how exactly the impact must settle) or approach=")
        else:
            levels = 1
        if at_once:
            cut = Phases(0, 1)
        elif self.approach is not None:
            cut = phases_of(self.approach, self.estimation)
        else:
            cut = phases(memory, self.estimation, levels, setting.arms, self.lipschitz)
        horizon = None if setting.horizon is None else cut.estimation_rounds(setting.horizon)
        return cut, inner, dataclasses.replace(setting, horizon=horizon)

    def check_state(self, state: PhasedState, fresh: PhasedState) -> None:
        check_phases(state, fresh)
        self.inner.check_state(state.inner, fresh.inner)

    def drawn(self, state: PhasedState) -> Any:
        return self.inner.drawn(state.inner)

    def recall(self, state: PhasedState, drawn: Any) -> None:
        self.inner.recall(state.inner, drawn)

    def learns_in_parts(self) -> bool:
        return self.inner.learns_in_parts()

    def state(self, setting: Setting) -> PhasedState:
        cut, inner, inner_setting = self.settled(setting)
        return PhasedState(
            settings=record(SETTINGS, approach=cut.approach, length=cut.length, horizon=setting.horizon or 0),
            now=record(NOW),
            held=np.zeros(setting.arms),
            deployed=np.zeros(setting.arms),
            inner=inner.state(inner_setting),
        )

    def grid(self, setting: Setting) -> Grid | None:
        _, inner, inner_setting = self.settled(setting)
        return inner.grid(inner_setting)

    def stage(self, state: PhasedState, t: int) -> str:
        return phased_stage(state)

    def explain(self, state: PhasedState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        cut, inner, inner_setting = self.settled(setting)
        now = state.now[0]
        return {
            "phase": int(now["phase"]),
            "round_of_phase": _round_of_phase(state),
            "approach_rounds": cut.approach,
            "phase_length": cut.length,
            "effective_estimation": cut.effective_estimation,
            "inner": {
                "policy": inner.key,
                "stage": inner.stage(state.inner, int(now["told"]) + 1),
                **inner.explain(state.inner, inner_setting, int(now["told"]) + 1, state.held),
            },
        }


@register
@dataclass(frozen=True)
class HistoryUCB(Policy):
    """Algorithm 3, history-dependent UCB: Algorithm 1's rule in phases, with the radius 3 sqrt(K ln(L rho m) / min n).

    `log="lemma"` takes ln(L rho m) as in Lemmas E.2-E.4; `"printed"` the box's ln(L rho), nearly greedy at rho = .2.
    Without memory there is nothing to wait for and it is Algorithm 1, whose scale is a third of this one's. `multipliers` are
    App. B's lambda_k; then L* = 1 + lipschitz + max |lambda_k| measure_lipschitz sets the approach.

    >>> reasons = HistoryUCB(memory=0.4, estimation=0.5).start(arms=2, horizon=100_000).explain()
    >>> reasons["approach_rounds"], reasons["phase_length"]
    (5, 10)
    """

    name: ClassVar[str] = "history-ucb"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#0072B2", "o")
    memory: float | None = None
    estimation: float = 0.2
    log: str = "lemma"
    scale: float = 3.0
    zero: bool = False
    levels: int | None = None
    lipschitz: float = 1.0
    resolution: float = 1.0
    multipliers: Sequence[float] | None = None
    measure_lipschitz: float = 1.0

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(log="printed", zero=True), cls(memory=0.0)]

    def __post_init__(self) -> None:
        check_memory(self, self.memory)
        check_between(self, 0, 1, estimation=self.estimation)
        check_choice(self, ("lemma", "printed"), log=self.log)
        check_positive(self, scale=self.scale, lipschitz=self.lipschitz, resolution=self.resolution)
        check_positive(self, measure_lipschitz=self.measure_lipschitz)
        check_multipliers(self, self.multipliers)
        check_bool(self, zero=self.zero)
        check_whole(self, 1, levels=self.levels)

    def composed(self, setting: Setting) -> Phased:
        """The same policy, put together from Algorithm 2 and Algorithm 1's rule."""
        memory = need_memory(self, self.memory, setting)

        steepest = self.lipschitz + max(map(abs, self.multipliers or (0.0,))) * self.measure_lipschitz

        def around(scale: float, log: str | float) -> Phased:
            inner = ActionUCB(scale, self.zero, self.levels, self.resolution, self.multipliers, log)
            return Phased(inner, memory, self.estimation, steepest)

        if memory == 0.0:
            return around(self.scale / 3.0, "clock")
        if self.log == "lemma":
            return around(self.scale, "told")
        cut, _, _ = around(self.scale, "told").settled(setting)
        return around(self.scale, float(cut.estimation))

    def phases(self, setting: Setting) -> Phases:
        """How it cuts time."""
        return self.composed(setting).settled(setting)[0]

    def check_state(self, state: PhasedState, fresh: PhasedState) -> None:
        check_phases(state, fresh)

    def state(self, setting: Setting) -> PhasedState:
        return self.composed(setting).state(setting)

    def grid(self, setting: Setting) -> Grid | None:
        return self.composed(setting).grid(setting)

    def stage(self, state: PhasedState, t: int) -> str:
        return phased_stage(state)

    def explain(self, state: PhasedState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return self.composed(setting).explain(state, setting, t, allocation)
