"""What `agent.explain()` says: as typed data, by name, and in plain words. docs/agents.md has the glossary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from aftereffect.model.curves import Floats
from aftereffect.model.reward_range import RewardRange

Shares = dict[str, float]

LEAST_GAIN = 1e-3  # of what is earned: what is less is no reason to name another split


class Split(TypedDict, total=False):
    """A split that was thought of: what it is expected to earn a round, its index, or the chance that it is drawn."""

    allocation: Shares
    expected: float
    index: float
    chance: float


class Memory(TypedDict, total=False):
    """How strongly the past weighs: given, or estimated with a 95 percent interval; `can_tell`: do the data say anything?"""

    given: float
    estimate: float
    low: float
    high: float
    can_tell: bool


class Model(TypedDict, total=False):
    """Do the data contradict the memory that was given, and which would be better?"""

    contradicted: bool
    can_tell: bool
    log10_evidence_against: float
    better: dict[str, Any]


class Drift(TypedDict, total=False):
    """Do responses move, and which part of the past is still trusted?"""

    drifting: bool
    log10_evidence: float
    trusts_latest: float


class Arm(TypedDict, total=False):
    """One arm: its share and impact, its estimated response there, and how much was seen of it."""

    arm: str
    level: int
    share: float
    impact: float
    estimate: Any  # None: nothing is known yet
    deviation: float
    radius: Any  # None: nothing is known yet
    index: Any  # None: nothing is known yet
    sample: float
    chance: float
    measure: float
    observations: float
    observations_here: float
    dispersion: float
    shock: float
    never_visited: list[list[float]]
    multiplier: float
    bound: Any
    observations_to_go: float


class Explanation(TypedDict, total=False):
    """Why this allocation. Which entries there are depends on the policy."""

    round: int
    policy: str
    allocation: Shares
    open_rounds: list[int]
    stage: str
    phase: int
    expected: float
    index: Any  # None: nothing is known yet
    home: Split
    target: Split
    favourite: Split
    runner_up: Any  # a split, or an arm's name
    chosen_arm: str
    held_until_round: int
    takes_turns: bool
    memory: Memory
    model: Model
    drift: Drift
    arms: list[Arm]
    inner: dict[str, Any]
    smoothness: dict[str, float]
    round_of_phase: int
    approach_rounds: int
    phase_length: int
    effective_estimation: float
    epoch: int
    rate: float
    options: int
    chance: float
    tolerance: float
    estimated_gap: float
    tolerance_seems_unattainable_using: float


def name_arms(reasons: Any, names: Sequence[str]) -> None:
    """Put the arms' names into every list of arms and allocation, and in place of every arm number."""
    if not isinstance(reasons, dict):
        return
    for key, value in reasons.items():
        if key == "arms":
            for name, arm in zip(names, value, strict=True):
                arm["arm"] = name
        elif key == "allocation" and isinstance(value, list):
            reasons[key] = dict(zip(names, value, strict=True))
        elif key in ("chosen_arm", "runner_up") and isinstance(value, int):
            reasons[key] = names[value]
        else:
            name_arms(value, names)


REWARDS = ("expected", "estimate", "index", "sample", "bound")
DIFFERENCES = ("deviation", "radius", "shock", "amplitude")  # of rewards


def in_unit(reasons: Any, unit: RewardRange) -> Any:
    """The same with every reward in the user's unit; a memory's estimate is none."""
    if isinstance(reasons, list):
        return [in_unit(part, unit) for part in reasons]
    if not isinstance(reasons, dict):
        return reasons
    told = {}
    for name, value in reasons.items():
        if name in REWARDS and value is not None:
            told[name] = unit.as_told(value)
        elif name in DIFFERENCES and value is not None:
            told[name] = unit.scale * value
        elif name == "parabola":  # constant, slope, curvature
            told[name] = [unit.as_told(value[0]), *(unit.scale * part for part in value[1:])]
        else:
            told[name] = value if name == "memory" else in_unit(value, unit)
    return told


STAGES = {
    "home": "It stays with the split it holds: nothing else promises enough, for what is known, to be worth trying this round.",
    "trying": "This is a trial: part of the way to a split that may well be better, as far as the look is worth its price.",
    "searching": "This is a search: it looks where little is known and a better split could hide.",
    "moving": "By the estimates this split is better, by more than its caution asks for, so it becomes the one to hold.",
    "seems fair": "No split is surely within the tolerance yet; this one seems to be well within it, so it stays.",
    "fairer": "No split is surely within the tolerance yet: it goes half of the way to where measures seem closest together.",
    "perhaps fair": "No split seems to be within the tolerance: it goes half of the way to one that may be.",
    "approach": "The allocation is held until the past has settled; nothing is learned from these rounds yet.",
    "estimation": "The past has settled; these rounds count for the estimates.",
    "sweep": "Every level is tried before any are compared.",
    "index": "Of all choices it promises most, with what is not known counted in its favour.",
    "chance": "It is left to chance: what has done well so far has the larger part of it.",
    "elimination": "What has not been shown to be worse takes turns.",
    "turn": "The arms take turns.",
    "given": "It is the split that was given.",
    "random weeks": "Splits are drawn at random at first, to learn from.",
    "best of the fit": "It is the best split of the fitted parabolas.",
}


def in_words(reasons: Mapping[str, Any], before: Floats | None, told: Sequence[int], since: Sequence[int] = ()) -> str:
    """Why this split, what changed since the last round, how sure it is and what would change it.

    Rounds were `told` before the advice was asked for, or `since`, so that it does not rest on them.
    """
    parts = [
        f"Round {reasons['round']}: {_split(reasons['allocation'])}.",
        _why(reasons),
        _changed(reasons["allocation"], before, told) + _since(since),
        _sure(reasons),
        _what_would_change_it(reasons),
    ]
    return "\n".join(part for part in parts if part)


def percent(share: float) -> str:
    """A share as people write it.

    >>> percent(0.125)
    '12.5 %'
    """
    return f"{100 * share:.3g} %"


def amount(value: float, digits: int = 3, sign: str = "") -> str:
    """A reward as people write it, whatever unit it has: never as a power of ten if it is large.

    >>> amount(0.41277), amount(1834.2, 2, "+")
    ('0.413', '+1,834')
    """
    text = f"{value:{sign}.{digits}g}"
    return f"{value:{sign},.0f}" if "e+" in text else text


def _split(allocation: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {percent(share)}" for name, share in allocation.items())


def stage_in_words(reasons: Mapping[str, Any]) -> str:
    """What the rule is about; with a largest step, where it is going first."""
    stage = STAGES.get(reasons.get("stage", ""), "")
    if "target" not in reasons:
        return stage
    way = f"It is on its way to {_split(reasons['target']['allocation'])}, as fast as the largest step allows."
    return f"{way} Of that split: {stage[:1].lower()}{stage[1:]}" if stage else way


def _why(reasons: Mapping[str, Any]) -> str:
    inner, stage = reasons.get("inner", {}), stage_in_words(reasons)
    chosen, second = (
        inner.get("chosen_arm", reasons.get("chosen_arm")),
        inner.get("runner_up", reasons.get("runner_up")),
    )
    if chosen is not None:
        next_best = f"; next is {second}" if isinstance(second, str) else ""
        stage = f"{stage} Chosen: {chosen}{next_best}."
    return f"Why: {stage or 'it is the choice of ' + str(reasons['policy']) + '.'}"


def _since(numbers: Sequence[int]) -> str:
    return f" Told after this advice, which does not rest on it: {_rounds(numbers)}." if numbers else ""


def _changed(allocation: Mapping[str, float], before: Floats | None, told: Sequence[int]) -> str:
    if before is None:
        return "It is the first round."
    held_before = [*before.tolist(), *[0.0] * (len(allocation) - len(before))]  # new arms had nothing
    moved = [
        f"{name} {100 * change:+.3g} points"
        for (name, share), held in zip(allocation.items(), held_before, strict=True)
        if abs(change := share - held) > 5e-4
    ]
    news = f" Told since the last advice: {_rounds(told)}." if told else " Nothing was told since the last advice."
    return f"Since the last round: {', '.join(moved) if moved else 'no share has changed'}.{news}"


def _rounds(numbers: Sequence[int]) -> str:
    shown = ", ".join(map(str, numbers[:6])) + (f" and {len(numbers) - 6} more" if len(numbers) > 6 else "")
    return f"round {shown}" if len(numbers) == 1 else f"rounds {shown}"


def _sure(reasons: Mapping[str, Any]) -> str:
    arms = [arm for arm in reasons.get("arms", []) if arm.get("estimate") is not None]
    known = [f"{arm['arm']} {amount(arm['estimate'])}{_give_or_take(arm)}" for arm in arms]
    lines = []
    if "expected" in reasons:
        lines.append(f"It is expected to earn {amount(reasons['expected'])} a unit once the past has settled.")
    if known:
        lines.append(f"Estimated responses there: {', '.join(known)}.")
    if "tolerance" in reasons:
        lines.append(_fairness(reasons))
    memory = reasons.get("memory", {})
    if "estimate" in memory:
        lines.append(_memory(memory))
    return "How sure: " + " ".join(lines) if lines else ""


def _fairness(reasons: Mapping[str, Any]) -> str:
    measures = ", ".join(f"{arm['arm']} {arm['measure']:.3g}" for arm in reasons["arms"])
    gap, tolerance = reasons["estimated_gap"], reasons["tolerance"]
    said = f"Estimated measures there: {measures}; they are {gap:.2g} apart, {tolerance:.2g} is allowed."
    if "tolerance_seems_unattainable_using" in reasons:
        said += f" By the estimates no split has them closer than {reasons['tolerance_seems_unattainable_using']:.2g}."
    return said


def _memory(memory: Mapping[str, Any]) -> str:
    if not memory["can_tell"]:
        return f"How strongly the past weighs the data cannot tell yet (memory {memory['low']:.2g} to {memory['high']:.2g})."
    seems, half = memory["estimate"], half_life(memory["estimate"])
    return (
        f"The past seems to weigh with a memory of {seems:.2g} (95 %: {memory['low']:.2g} to {memory['high']:.2g}): half of a "
        f"change's effect comes within {half:.1f} rounds."
    )


def half_life(memory: float) -> float:
    """Rounds after which a past split weighs half.

    >>> half_life(0.5)
    1.0
    """
    return math.log(0.5) / math.log(memory) if memory > 0 else 0.0


def _give_or_take(arm: Mapping[str, Any]) -> str:
    spread = 2 * arm["deviation"] if "deviation" in arm else arm.get("radius")
    return "" if spread is None else f" ± {amount(spread, 2)}"


def _never_seen(arm: Mapping[str, Any]) -> str:
    spans = [f"{100 * low:.3g} to {percent(high)}" for low, high in arm.get("never_visited", [])]
    return f"{arm['arm']} from {' and from '.join(spans)}" if spans else ""


def _what_would_change_it(reasons: Mapping[str, Any]) -> str:
    lines = []
    favourite, home = reasons.get("favourite"), reasons.get("home")
    if favourite and home and favourite["allocation"] != reasons["allocation"]:
        gain = favourite["expected"] - home["expected"]
        if gain > LEAST_GAIN * home["expected"]:
            lines.append(
                f"By the estimates {_split(favourite['allocation'])} would earn {amount(gain, 2)} a unit more than the "
                "split it holds: it goes there once that is sure enough."
            )
    if never := [line for arm in reasons.get("arms", []) if (line := _never_seen(arm))]:
        lines.append(f"Never held long enough to be seen, and could matter: {'; '.join(never)}.")
    if reasons.get("open_rounds"):
        lines.append(f"Rewards are still out for {_rounds(reasons['open_rounds'])}.")
    if reasons.get("model", {}).get("contradicted"):
        lines.append("The data contradict the memory it was given: check that first.")
    if reasons.get("drift", {}).get("drifting"):
        lines.append("Responses seem to be changing; it trusts the recent past more.")
    return "What would change it: " + " ".join(lines) if lines else ""
