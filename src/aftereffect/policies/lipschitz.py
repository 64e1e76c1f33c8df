"""The naive learners of App. D: a standard bandit over every allocation of the grid, with zero."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._random import Words
from aftereffect.model.curves import Floats
from aftereffect.oracle.search import Ints, pick
from aftereffect.policies.base import Policy, check_positive, check_whole, need_horizon, register
from aftereffect.policies.grid import make_grid
from aftereffect.policies.options import largest_utility, list_allocations, nearest_option, round_utility
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import naive_levels

LIMIT = 200_000  # allocations; each is looked at in every round

# rows of `tally`
COUNT, SUM, INDEX = 0, 1, 2
# entries of `codes`
FEEDBACK, CHOSEN = 0, 1


class LipschitzUCBState(NamedTuple):
    rng: Words
    codes: Ints  # feedback, option chosen last
    constants: Floats  # most a round can be worth
    options: Floats  # (options, arms)
    tally: Floats  # (3, options): rounds, summed utilities, indices


def ask_ucb(state: LipschitzUCBState, t: int, allocation: Floats) -> None:
    tally, options = state.tally, state.options
    count = options.shape[0]
    total = 0.0
    for i in range(count):
        total += tally[COUNT, i]
    spread = math.sqrt(2.0 * math.log(max(1.0, total)))
    largest = state.constants[0]
    best = -math.inf
    chosen = 0
    equals = 1
    for i in range(count):
        n = tally[COUNT, i]
        index = tally[SUM, i] / (n * largest) + spread / math.sqrt(n) if n > 0.0 else math.inf
        tally[INDEX, i] = index
        if index > best:
            best = index
            chosen = i
            equals = 1
        elif index == best:
            equals += 1
            if pick(state.rng, equals):
                chosen = i
    state.codes[CHOSEN] = chosen
    for k in range(allocation.shape[0]):
        allocation[k] = options[chosen, k]


def tell_ucb(state: LipschitzUCBState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    i = nearest_option(state.options, state.codes[CHOSEN], allocation)
    state.tally[COUNT, i] += 1.0
    state.tally[SUM, i] += round_utility(state.codes[FEEDBACK], allocation, seen, reward)


register_rule(LipschitzUCBState, ask_ucb, tell_ucb)


class EliminationState(NamedTuple):
    codes: Ints  # feedback, option to play now
    constants: Floats  # most a round can be worth, logarithm in the radius
    options: Floats
    tally: Floats  # (3, options): rounds, summed utilities, 1 while active


def ask_elimination(state: EliminationState, t: int, allocation: Floats) -> None:
    for k in range(allocation.shape[0]):
        allocation[k] = state.options[state.codes[CHOSEN], k]


def tell_elimination(state: EliminationState, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    codes, tally = state.codes, state.tally
    count = state.options.shape[0]
    played = nearest_option(state.options, codes[CHOSEN], allocation)
    tally[COUNT, played] += 1.0
    tally[SUM, played] += round_utility(codes[FEEDBACK], allocation, seen, reward)
    upcoming = codes[CHOSEN] + 1
    while upcoming < count and tally[INDEX, upcoming] == 0.0:
        upcoming += 1
    if upcoming == count:  # a pass over the active options is over: drop what is surely worse than the best
        highest, largest = -math.inf, state.constants[0]
        for i in range(count):
            if tally[INDEX, i] > 0.0 and tally[COUNT, i] > 0.0:
                lower = tally[SUM, i] / (tally[COUNT, i] * largest) - math.sqrt(state.constants[1] / tally[COUNT, i])
                highest = max(highest, lower)
        for i in range(count):
            if tally[INDEX, i] > 0.0 and tally[COUNT, i] > 0.0:
                upper = tally[SUM, i] / (tally[COUNT, i] * largest) + math.sqrt(state.constants[1] / tally[COUNT, i])
                if upper < highest:
                    tally[INDEX, i] = 0.0
        upcoming = 0
        while tally[INDEX, upcoming] == 0.0:
            upcoming += 1
    codes[CHOSEN] = upcoming


register_rule(EliminationState, ask_elimination, tell_elimination)


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
        known = state.codes[FEEDBACK] == fresh.codes[FEEDBACK]
        require_sense("codes", bool(known and 0 <= state.codes[CHOSEN] < len(state.options)), state.codes)
        require_sense("tally", bool(np.all(state.tally[COUNT] >= 0)), state.tally)

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
            codes=np.array([setting.feedback_code, 0]),
            constants=np.array([largest_utility(setting)]),
            options=options,
            tally=np.zeros((3, len(options))),
        )

    def explain(self, state: LipschitzUCBState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        counts, _, index = state.tally
        chosen = int(state.codes[CHOSEN])
        others = np.delete(np.arange(len(counts)), chosen)
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
        tally = np.zeros((3, len(options)))
        tally[INDEX] = 1.0
        return EliminationState(
            codes=np.array([setting.feedback_code, 0]),
            constants=np.array([largest_utility(setting), 2.0 * math.log(max(horizon, 2))]),
            options=options,
            tally=tally,
        )

    def check_state(self, state: EliminationState, fresh: EliminationState) -> None:
        super().check_state(state, fresh)
        active = state.tally[INDEX]
        require_sense("tally", bool(np.isin(active, (0.0, 1.0)).all() and active.any()), active)  # some option is left

    def explain(self, state: EliminationState, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        active = np.flatnonzero(state.tally[INDEX] > 0)
        chosen = int(state.codes[CHOSEN])
        means = [(_option(state, int(i))) for i in active if i != chosen and state.tally[COUNT, i] > 0]
        return {
            "chosen": _option(state, chosen),
            "active_options": len(active),
            "runner_up": max(means, key=lambda o: o["estimate"]) if means else None,
        }


def _option(state: LipschitzUCBState | EliminationState, i: int) -> dict[str, Any]:
    """One option in plain data; estimates are utilities."""
    n, total = float(state.tally[COUNT, i]), float(state.tally[SUM, i])
    return {
        "allocation": state.options[i].tolist(),
        "rounds": int(n),
        "estimate": total / n if n else None,
    }
