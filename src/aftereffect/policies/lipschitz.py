"""The naive learners of App. D: a standard bandit over every allocation of the grid, with zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats, Records, record
from aftereffect.oracle.search import pick
from aftereffect.policies.base import Policy, check_positive, check_whole, need_horizon, register
from aftereffect.policies.by_name import named
from aftereffect.policies.grid import make_grid
from aftereffect.policies.options import largest_utility, list_allocations, nearest_option, round_utility
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import naive_levels

LIMIT = 200_000  # allocations; each is looked at in every round

SETTINGS = np.dtype([("feedback", "i8"), ("largest", "f8")])  # largest: the most that a round can be worth
NOW = np.dtype([("chosen", "i8")])  # option
OPTION = np.dtype([("count", "f8"), ("utility", "f8"), ("index", "f8")])  # rounds, and what they gave in all


class LipschitzUCBState(NamedTuple):
    rng: Words
    settings: Records  # one record
    now: Records  # one record
    options: Floats  # (options, arms)
    tally: Records  # of each option


def ask_ucb(state: LipschitzUCBState, t: int, allocation: Floats) -> None:
    tally, options = state.tally, state.options
    count = options.shape[0]
    total = 0.0
    for i in range(count):
        total += tally[i].count
    spread = math.sqrt(2.0 * math.log(max(1.0, total)))
    largest = state.settings[0].largest
    best = -math.inf
    chosen = 0
    equals = 1
    for i in range(count):
        option = tally[i]
        n = option.count
        index = option.utility / (n * largest) + spread / math.sqrt(n) if n > 0.0 else math.inf
        option.index = index
        if index > best:
            best = index
            chosen = i
            equals = 1
        elif index == best:
            equals += 1
            if pick(state.rng, equals):
                chosen = i
    state.now[0].chosen = chosen
    for k in range(allocation.shape[0]):
        allocation[k] = options[chosen, k]


def tell_ucb(state: LipschitzUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    option = state.tally[nearest_option(state.options, state.now[0].chosen, allocation)]
    option.count += 1.0
    option.utility += round_utility(state.settings[0].feedback, allocation, seen, reward)


register_rule(
    LipschitzUCBState,
    ask_ucb,
    tell_ucb,
    version=2,
    migrations={
        1: named(
            codes=("settings.feedback", "now.chosen"),
            constants=("settings.largest",),
            tally=("tally.count", "tally.utility", "tally.index"),
        )
    },
)

ELIMINATION = np.dtype([*SETTINGS.descr, ("log", "f8")])  # log: in the radius
CANDIDATE = np.dtype([("count", "f8"), ("utility", "f8"), ("active", "f8")])


class EliminationState(NamedTuple):
    settings: Records  # one record
    now: Records  # one record
    options: Floats  # (options, arms)
    tally: Records  # of each option


def ask_elimination(state: EliminationState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        allocation[k] = state.options[state.now[0].chosen, k]


def tell_elimination(state: EliminationState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    settings, now, tally = state.settings[0], state.now[0], state.tally
    count = state.options.shape[0]
    played = tally[nearest_option(state.options, now.chosen, allocation)]
    played.count += 1.0
    played.utility += round_utility(settings.feedback, allocation, seen, reward)
    upcoming = now.chosen + 1
    while upcoming < count and tally[upcoming].active == 0.0:
        upcoming += 1
    if upcoming == count:  # a pass over the active options is over: drop what is surely worse than the best
        highest, largest = -math.inf, settings.largest
        for i in range(count):
            option = tally[i]
            if option.active > 0.0 and option.count > 0.0:
                lower = option.utility / (option.count * largest) - math.sqrt(settings.log / option.count)
                highest = max(highest, lower)
        for i in range(count):
            option = tally[i]
            if option.active > 0.0 and option.count > 0.0:
                upper = option.utility / (option.count * largest) + math.sqrt(settings.log / option.count)
                if upper < highest:
                    option.active = 0.0
        upcoming = 0
        while tally[upcoming].active == 0.0:
            upcoming += 1
    now.chosen = upcoming


register_rule(
    EliminationState,
    ask_elimination,
    tell_elimination,
    version=2,
    migrations={
        1: named(
            codes=("settings.feedback", "now.chosen"),
            constants=("settings.largest", "settings.log"),
            tally=("tally.count", "tally.utility", "tally.active"),
        )
    },
)


@dataclass(frozen=True)
class _Naive(Policy):
    levels: int | None = None
    resolution: float = 1.0

    def __post_init__(self) -> None:
        check_whole(self, 1, levels=self.levels)
        check_positive(self, resolution=self.resolution)

    def grid(self, setting: Setting) -> Grid:
        return make_grid(
            self, setting, self.levels, True, lambda horizon: naive_levels(horizon, setting.arms, self.resolution)
        )

    def learns_in_parts(self) -> bool:
        return False

    def check_state(self, state: Any, fresh: Any) -> None:
        chosen = state.now["chosen"]
        require_sense("now.chosen", bool(0 <= chosen[0] < len(state.options)), chosen)

    def _options(self, setting: Setting) -> Floats:
        return list_allocations(self.grid(setting), LIMIT, self.name)


@register
@dataclass(frozen=True)
class LipschitzUCB(_Naive):
    """UCB1 over every allocation of the grid, eps = (ln T / T)^(1/(K+1)): the naive learner of App. D.

    >>> agent = LipschitzUCB().start(arms=2, horizon=100)  # eps is .357: shares in thirds
    >>> agent.ask().tolist()
    [0.0, 1.0]
    """

    name: ClassVar[str] = "lipschitz-ucb"
    only_stage: ClassVar[str] = "index"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#5F6B6D", "p")

    def state(self, setting: Setting) -> LipschitzUCBState:
        options = self._options(setting)
        return LipschitzUCBState(
            rng=setting.rng.copy(),
            settings=record(SETTINGS, feedback=setting.feedback_code, largest=largest_utility(setting)),
            now=record(NOW),
            options=options,
            tally=np.zeros(len(options), dtype=OPTION),
        )

    def explain(self, state: LipschitzUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        index, chosen = state.tally["index"], int(state.now["chosen"][0])
        others = np.delete(np.arange(len(index)), chosen)
        second = int(others[np.argmax(index[others])]) if len(others) else None
        return {"chosen": _option(state, chosen), "runner_up": None if second is None else _option(state, second)}


@register
@dataclass(frozen=True)
class LipschitzElimination(_Naive):
    """Successive elimination over every allocation of the grid; drops what sqrt(2 ln T / n) shows to be worse.

    >>> LipschitzElimination(levels=10).start(arms=3, horizon=1000).explain()["active_options"]  # 12 choose 2
    66
    """

    name: ClassVar[str] = "lipschitz-elimination"
    only_stage: ClassVar[str] = "elimination"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#5F6B6D", "h")

    def state(self, setting: Setting) -> EliminationState:
        horizon = need_horizon(self, setting, "its confidence radius is sqrt(2 ln T / n)")
        options = self._options(setting)
        tally = np.zeros(len(options), dtype=CANDIDATE)
        tally["active"] = 1.0
        return EliminationState(
            settings=record(
                ELIMINATION,
                feedback=setting.feedback_code,
                largest=largest_utility(setting),
                log=2.0 * math.log(max(horizon, 2)),
            ),
            now=record(NOW),
            options=options,
            tally=tally,
        )

    def check_state(self, state: EliminationState, fresh: EliminationState) -> None:
        super().check_state(state, fresh)
        active = state.tally["active"]
        require_sense(
            "tally.active", bool(np.isin(active, (0.0, 1.0)).all() and active.any()), active
        )  # some option is left

    def explain(self, state: EliminationState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        active = np.flatnonzero(state.tally["active"] > 0)
        chosen = int(state.now["chosen"][0])
        means = [(_option(state, int(i))) for i in active if i != chosen and state.tally["count"][i] > 0]
        return {
            "chosen": _option(state, chosen),
            "active_options": len(active),
            "runner_up": max(means, key=lambda o: o["estimate"]) if means else None,
        }


def _option(state: LipschitzUCBState | EliminationState, i: int) -> dict[str, Any]:
    """One option in plain data; estimates are utilities."""
    n, total = float(state.tally["count"][i]), float(state.tally["utility"][i])
    return {
        "allocation": state.options[i].tolist(),
        "rounds": int(n),
        "estimate": total / n if n else None,
    }
