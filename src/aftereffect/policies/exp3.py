"""EXP3 (Auer, Cesa-Bianchi, Freund and Schapire 2002) over base arms, and over whole allocations (mEXP3 of App. I)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aftereffect._compile import helper
from aftereffect._random import Words, uniform
from aftereffect.errors import AftereffectError
from aftereffect.model.curves import Floats, Records, record
from aftereffect.model.feedback import SPLIT
from aftereffect.policies.base import (
    Policy,
    check_between,
    check_bool,
    check_choice,
    check_positive,
    check_whole,
    need_horizon,
    refuse_limits,
    register,
)
from aftereffect.policies.by_name import named
from aftereffect.policies.grid import tuned_grid
from aftereffect.policies.options import is_option, largest_utility, list_allocations, nearest_option, round_utility
from aftereffect.policies.rules import register_rule
from aftereffect.policies.sense import require_sense
from aftereffect.policies.setting import Grid, Setting
from aftereffect.theory.tuning import action_levels, exp3_loss_rate, exp3_rate

SETTINGS = np.dtype(
    [
        ("feedback", "i8"),
        ("loss", "i8"),  # form?
        ("distribution", "i8"),  # is it deployed itself?
        ("meta", "i8"),  # over whole allocations?
        ("rate", "f8"),
        ("largest", "f8"),  # most that a round can be worth
    ]
)
NOW = np.dtype([("drawn", "i8"), ("chance", "f8")])  # the last option, and what it was drawn with

HUGE = 1e200  # weights are rescaled before they leave [1/HUGE, HUGE]
STEEPEST = 50.0  # largest exponent of one update
LIMIT = 2_000_000  # allocations that meta-EXP3 keeps weights for


class Exp3State(NamedTuple):
    rng: Words
    settings: Records  # one record
    now: Records  # one record
    options: Floats  # (options, arms)
    tree: Floats  # weights in the second half, each node above the sum of its two: drawing and updating in O(log A)


@helper
def mixing(settings: Records) -> float:
    """The part of the distribution that is uniform: the rate, in loss form none."""
    return 0.0 if settings[0].loss == 1 else float(settings[0].rate)


@helper
def chance_of(settings: Records, tree: Floats, count: int, i: int) -> float:
    """Probability of option i."""
    mix = mixing(settings)
    chance = (1.0 - mix) * tree[tree.shape[0] // 2 + i] / tree[1] + mix / count
    return min(1.0, float(chance))  # a single option's can round to more


@helper
def draw_option(rng: Words, mix: float, tree: Floats, count: int) -> int:
    """One draw u: below the mixing rate it picks uniformly, else by weight, walking down the tree."""
    u = uniform(rng)
    if u < mix:
        return int(min(int(u / mix * count), count - 1))
    half = tree.shape[0] // 2
    mark = (u - mix) / (1.0 - mix) * tree[1]
    node = 1
    while node < half:
        node *= 2
        if mark >= tree[node] and tree[node + 1] > 0.0:
            mark -= tree[node]
            node += 1
    return int(min(node - half, count - 1))


@helper
def reweigh(tree: Floats, i: int, exponent: float) -> None:
    """Multiply option i's weight by exp(exponent)."""
    half = tree.shape[0] // 2
    node = half + i
    # Tiny shares, which people may deploy, have huge weights: a factor beyond these bounds could not matter more.
    tree[node] *= math.exp(min(max(exponent, -STEEPEST), STEEPEST))
    while node > 1:
        node //= 2
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    if tree[1] > HUGE or tree[1] < 1.0 / HUGE:
        factor = 1.0 / tree[1]
        for node in range(half, 2 * half):
            tree[node] *= factor
        for node in range(half - 1, 0, -1):
            tree[node] = tree[2 * node] + tree[2 * node + 1]


@helper
def learn(settings: Records, tree: Floats, count: int, i: int, gain: float, chance: float) -> None:
    """EXP3's update of option i, whose gain in [0, 1] was seen with this chance."""
    if settings[0].loss == 1:
        reweigh(tree, i, -settings[0].rate * (1.0 - gain) / chance)
    else:
        reweigh(tree, i, settings[0].rate * gain / chance / count)


def ask(state: Exp3State, t: int, allocation: Floats) -> None:
    settings, now, tree, options = state.settings, state.now[0], state.tree, state.options
    count = options.shape[0]
    if settings[0].distribution == 1:
        for k in range(count):
            allocation[k] = chance_of(settings, tree, count, k)
    else:
        i = draw_option(state.rng, mixing(settings), tree, count)
        now.drawn = i
        now.chance = chance_of(settings, tree, count, i)
        for k in range(allocation.shape[0]):
            allocation[k] = options[i, k]


def tell(state: Exp3State, t: int, allocation: Floats, seen: Floats, reward: Floats) -> None:
    settings, now, tree, options = state.settings, state.now[0], state.tree, state.options
    own, count, drawn = settings[0], options.shape[0], now.drawn
    advised = own.distribution == 0 and is_option(options, drawn, allocation)
    if own.meta == 0 and advised and seen[drawn] == 0.0:
        return  # an arm with the whole share is always activated: this reward got lost
    if own.meta == 1 or advised:
        gain = round_utility(own.feedback, allocation, seen, reward) / own.largest
        # An allocation that people chose themselves was not drawn: it counts as seen for certain.
        i = nearest_option(options, drawn, allocation)
        learn(settings, tree, count, i, min(1.0, gain), now.chance if advised else 1.0)
    else:
        for k in range(allocation.shape[0]):
            if seen[k] > 0.0:
                chance = 1.0 if own.feedback == SPLIT else allocation[k]
                learn(settings, tree, count, k, reward[k], chance)


register_rule(
    Exp3State,
    ask,
    tell,
    version=2,
    migrations={
        1: named(
            codes=(
                *("settings.feedback", "settings.loss", "settings.distribution", "settings.meta"),
                "now.drawn",
            ),
            constants=("settings.rate", "settings.largest", "now.chance"),
        )
    },
)


def exp3_state(setting: Setting, options: Floats, rate: float, loss: bool, distribution: bool, meta: bool) -> Exp3State:
    """EXP3 over the rows of `options`, all weights one."""
    count = len(options)
    half = 1
    while half < count:
        half *= 2
    tree = np.zeros(2 * half)
    tree[half : half + count] = 1.0
    for node in range(half - 1, 0, -1):
        tree[node] = tree[2 * node] + tree[2 * node + 1]
    return Exp3State(
        rng=setting.rng.copy(),
        settings=record(
            SETTINGS,
            feedback=setting.feedback_code,
            loss=loss,
            distribution=distribution,
            meta=meta,
            rate=rate,
            largest=largest_utility(setting) if meta else 1.0,
        ),
        now=record(NOW, chance=1.0),
        options=options,
        tree=tree,
    )


def explain_exp3(state: Exp3State, allocation: Floats) -> dict[str, Any]:
    """The chances behind a draw: the option drawn, and the most likely other one."""
    count = len(state.options)
    weights = state.tree[len(state.tree) // 2 :][:count] / state.tree[1]
    settings = state.settings[0]
    mix = mixing(state.settings)
    chances = (1 - mix) * weights + mix / count
    drawn = int(state.now["drawn"][0])
    others = np.delete(np.arange(count), drawn)
    likely = int(others[np.argmax(chances[others])]) if count > 1 else None
    result: dict[str, Any] = {"rate": float(settings["rate"]), "options": count}
    if not settings["distribution"]:
        result["chance"] = float(chances[drawn])
    if likely is not None:
        result["runner_up"] = {"allocation": state.options[likely].tolist(), "chance": float(chances[likely])}
    if count == len(allocation):
        result["arms"] = [{"chance": float(c)} for c in chances]
    return result


@dataclass(frozen=True)
class _Exp3(Policy):
    only_stage: ClassVar[str] = "chance"
    rate: float | None = None
    form: str = "mixing"

    def __post_init__(self) -> None:
        if self.form == "loss":
            check_positive(self, rate=self.rate)
        else:
            check_between(self, 0, 1 + 1e-12, rate=self.rate)
        check_choice(self, ("mixing", "loss"), form=self.form)

    def _rate(self, setting: Setting, options: int) -> float:
        if self.rate is not None:
            return float(self.rate)
        horizon = need_horizon(self, setting, "it sets the learning rate (or give rate=)")
        return exp3_loss_rate(options, horizon) if self.form == "loss" else exp3_rate(options, horizon)

    def check_state(self, state: Exp3State, fresh: Exp3State) -> None:
        drawn, chance = state.now["drawn"], state.now["chance"]
        require_sense("now.drawn", bool(0 <= drawn[0] < len(state.options)), drawn)
        require_sense("now.chance", bool(0 < chance[0] <= 1 + 1e-9), chance)
        tree, half = state.tree, len(state.tree) // 2
        require_sense("tree", bool(np.all((tree >= 0) & (tree <= HUGE**1.2)) and tree[1] > 0), tree)
        sums = np.allclose(tree[1:half], tree[2::2] + tree[3::2], rtol=1e-9, atol=0)  # each node is the sum of its two
        require_sense("tree", bool(sums), tree)

    def drawn(self, state: Exp3State) -> tuple[int, float]:
        return int(state.now["drawn"][0]), float(state.now["chance"][0])

    def recall(self, state: Exp3State, drawn: tuple[int, float]) -> None:
        """The chance that an option was really drawn with is the one to divide by."""
        state.now["drawn"], state.now["chance"] = drawn

    def learns_in_parts(self) -> bool:
        return False

    def explain(self, state: Exp3State, setting: Setting, t: int, allocation: Floats) -> dict[str, Any]:
        return explain_exp3(state, allocation)


@register
@dataclass(frozen=True)
class Exp3(_Exp3):
    """EXP3 over base arms: draws an arm from its distribution, or deploys the distribution itself.

    `form="mixing"` is Auer et al.'s, with a uniform part of size `rate`; `"loss"` is exponential weights on estimated losses.

    >>> told = [{"allocation": [1, 0], "rewards": [1.0, None]}]
    >>> round(Exp3(rate=0.1).start(arms=2, history=told).explain()["arms"][0]["chance"], 4)  # .9 e^.05 / (e^.05 + 1) + .05
    0.5112
    """

    name: ClassVar[str] = "exp3"
    paper: ClassVar[bool] = True
    one_hot: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#009E73", "D")
    deploy: str = "arm"

    @classmethod
    def examples(cls) -> list[Policy]:
        return [cls(), cls(rate=0.1, deploy="distribution"), cls(form="loss")]

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self, ("arm", "distribution"), deploy=self.deploy)

    def state(self, setting: Setting) -> Exp3State:
        if setting.step is not None and self.deploy == "distribution":
            raise AftereffectError(
                f"{self.name} divides by the chances that it deployed itself and cannot keep a largest step a round; "
                "use a policy that can"
            )
        refuse_limits(self, setting)
        rate = self._rate(setting, setting.arms)
        return exp3_state(
            setting, np.eye(setting.arms), rate, self.form == "loss", self.deploy == "distribution", False
        )


@register
@dataclass(frozen=True)
class MetaExp3(_Exp3):
    """EXP3 over every allocation of Algorithm 1's grid (mEXP3).

    A round's gain is its utility over the most it can be: K under independent activation, as in the paper, else 1.

    >>> MetaExp3(levels=10, zero=True).start(arms=3, horizon=1000).explain()["options"]  # 12 choose 2
    66
    """

    name: ClassVar[str] = "meta-exp3"
    paper: ClassVar[bool] = True
    look: ClassVar[tuple[str, str] | None] = ("#CC79A7", "P")
    zero: bool = False
    levels: int | None = None
    resolution: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_bool(self, zero=self.zero)
        check_whole(self, 1, levels=self.levels)
        check_positive(self, resolution=self.resolution)

    def grid(self, setting: Setting) -> Grid:
        return tuned_grid(self, setting, action_levels)

    def state(self, setting: Setting) -> Exp3State:
        options = list_allocations(self.grid(setting), LIMIT, self.name)
        return exp3_state(setting, options, self._rate(setting, len(options)), self.form == "loss", False, True)
