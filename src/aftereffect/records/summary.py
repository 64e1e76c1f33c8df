"""Everything a fit says, as plain data: what the terminal's table, the page and `--json` show."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from aftereffect.errors import AftereffectError
from aftereffect.model.history import usual_change
from aftereffect.policies.explanation import amount, percent
from aftereffect.records.advice import Advice, unseen_share
from aftereffect.records.checking import Check

if TYPE_CHECKING:
    from aftereffect.records.fit import Fit

SURE = ((0.995, "almost certain"), (0.9, "likely"), (0.5, "more likely than not"), (0.0, "not likely"))  # by chance


def summary(fit: Fit, tolerance: float | None = None) -> dict[str, Any]:
    """What is known, what is suggested, what that should bring, how sure it is, what is not known."""
    best, check = fit.best(tolerance=tolerance), fit.check()
    careful = fit.best(seen_only=True) if best.unseen and tolerance is None else None
    table = fit.records
    return {
        "records": {
            "rounds": table.rounds,
            "from": table.labels[0],
            "to": table.labels[-1],
            "arms": list(table.names),
            "observations": float(table.trials.sum()),
            "reward_range": list(table.reward_range),
            "notes": list(table.notes),
        },
        "memory": {**dataclasses.asdict(fit.memory), "half_life": fit.memory.half_life, "words": memory_words(fit)},
        "now": dataclasses.asdict(fit.now),
        "best": described(best),
        "careful": None if careful is None else described(careful),
        "frontier": None if table.measures is None else fit.frontier().to_dicts(),
        "arms": [_arm(fit, best, k) for k in range(table.arms)],
        "experiment": _experiment(fit),
        "check": dataclasses.asdict(check) | {"words": list(check.words)},
        "words": {
            "known": list(known(fit)),
            "suggested": list(suggested(fit, best, careful, check)),
            "sure": list(how_sure(best, check)),
            "unknown": list(unknown(fit, best, check)),
        },
    }


def described(advice: Advice) -> dict[str, Any]:
    """Advice as plain data."""
    plain = {f.name: getattr(advice, f.name) for f in dataclasses.fields(advice) if f.name != "path"}
    words = {"chance_words": chance_in_words(advice)}
    return plain | words | {"unseen": list(advice.unseen), "path": advice.path.to_dicts()}


def chance_in_words(advice: Advice) -> str:
    """How likely it is that a split is better at all; nothing is ever certain."""
    chance = round(100 * advice.chance_better)
    return "more than 99 in 100" if chance > 99 else "less than 1 in 100" if chance < 1 else f"{chance} in 100"


def _arm(fit: Fit, best: Advice, k: int) -> dict[str, Any]:
    name = fit.names[k]
    curve, (low, high) = fit.curve(name), fit.visited
    now, then = int(fit.home[k]), round(best.allocation[name] * fit.steps)
    return {
        "arm": name,
        "share_now": fit.now.allocation[name],
        "share_best": best.allocation[name],
        "response_now": curve["estimate"][now],
        "response_now_low": curve["low"][now],
        "response_now_high": curve["high"][now],
        "response_best": curve["estimate"][then],
        "response_best_low": curve["low"][then],
        "response_best_high": curve["high"][then],
        "seen_from": None if np.isnan(low[k]) else float(low[k]),
        "seen_to": None if np.isnan(high[k]) else float(high[k]),
        "observations": float(fit.records.trials[:, k].sum()),
        "reason": best.reasons[name],
    }


def _experiment(fit: Fit) -> dict[str, Any] | None:
    try:
        found = fit.experiment()
    except AftereffectError:  # floors and caps leave no room for a small change
        return None
    return {f.name: getattr(found, f.name) for f in dataclasses.fields(found) if f.name != "others"}


def memory_words(fit: Fit) -> str:
    """How strongly the past weighs, for people."""
    memory = fit.memory
    if memory.given:
        half = f"half of it is forgotten after {memory.half_life:.1f} rounds"
        return f"the past weighs with a memory of {memory.estimate:.2f}, as given: {half}"
    if not memory.can_tell:
        return (
            "the records cannot tell how strongly the past weighs: everything from a memory of "
            f"{memory.low:.2f} to {memory.high:.2f} explains them about as well, and all of it is allowed for"
        )
    return (
        f"the past weighs with a memory of about {memory.estimate:.2f} ({memory.low:.2f} to {memory.high:.2f}): half of "
        f"a change's effect has come after {memory.half_life:.1f} rounds"
    )


def known(fit: Fit) -> Iterator[str]:
    """What the records say."""
    table = fit.records
    span = f"{table.rounds:,} rounds from {table.labels[0]} to {table.labels[-1]}"
    yield f"{span}, {table.trials.sum():,.0f} observations of {table.arms} arms"
    yield from table.notes
    yield from _last_round(fit)
    yield memory_words(fit)
    low, high = fit.visited
    for k, name in enumerate(fit.names):
        if np.isnan(low[k]):
            yield f"{name}: never seen"
            continue
        here = fit.curve(name).row(int(fit.home[k]), named=True)
        yield (
            f"{name}: responds with {amount(here['estimate'])} ({amount(here['low'])} to {amount(here['high'])}) at today's "
            f"{percent(fit.now.allocation[name])}; it was seen from {100 * low[k]:.3g} to {percent(high[k])}"
        )


def _last_round(fit: Fit) -> Iterator[str]:
    """A last round unlike today's split is a whim or the first of a change: nobody can tell yet, and it is said."""
    last, today, usual = fit.records.shares[-1], fit.recent, usual_change(fit.records.shares)
    if np.any(np.abs(last - today) > usual):
        split = ", ".join(f"{name} {percent(share)}" for name, share in zip(fit.names, last, strict=True))
        yield f"the last round's split is far from today's, the mean of the latest rounds: {split}"


def suggested(fit: Fit, best: Advice, careful: Advice | None, check: Check) -> Iterator[str]:
    """What we would do."""
    if check.drifting:
        yield "responses drift, so before anything else look at the latest rounds alone: what follows rests on all of them"
    if not best.moves:
        yield "stay with today's split: nothing is likely enough to be better"
        return
    for name in fit.names:
        yield f"{name}: {best.reasons[name]}"
    if best.measures is not None:
        told = ", ".join(f"{name} {measure:.3g}" for name, measure in best.measures.items())
        yield f"the arms' measures would then be {told}: {best.gap:.3g} apart"
    if careful is not None and not careful.moves:
        yield "without leaving what was seen: stay with today's split"
    elif careful is not None:
        split = ", ".join(f"{name} {percent(share)}" for name, share in careful.allocation.items())
        chance = f"better at all: {chance_in_words(careful)}"
        yield f"without leaving what was seen: {split}, which should bring {amount(careful.gain, sign='+')} a unit ({chance})"


def how_sure(best: Advice, check: Check) -> Iterator[str]:
    """How sure the gain is, and whether the model is any good here."""
    if best.moves:
        gain, low, high = (amount(value, sign="+") for value in (best.gain, best.gain_low, best.gain_high))
        yield (
            f"it should bring {amount(best.expected, 4)} a unit in the long run instead of {amount(best.current, 4)}: "
            f"{gain}, with 95 percent between {low} and {high}"
        )
        sure = next(words for least, words in SURE if best.chance_better >= least)
        yield f"that it is better at all is {sure}: {chance_in_words(best)}"
    yield from check.words


def unknown(fit: Fit, best: Advice, check: Check) -> Iterator[str]:
    """What nobody can know from these records."""
    guesses = [unseen_share(fit, k, round(best.allocation[name] * fit.steps)) for k, name in enumerate(fit.names)]
    for line in filter(None, guesses):
        yield f"{line}: the estimate there is a guess from how the arm and all arms respond, and the band is wide"
    if not fit.memory.given and not fit.memory.can_tell:
        yield "how strongly the past weighs: a change that is held for a while would tell"
    low, high = fit.visited
    for k, name in enumerate(fit.names):
        sides = (f"below {percent(low[k])}" if low[k] > 0 else "", f"beyond {percent(high[k])}" if high[k] < 1 else "")
        if any(sides) and not guesses[k]:
            yield f"{name} {' and '.join(filter(None, sides))}: never held long enough to be seen"
    if check.dependence:
        yield "what else moves the rewards: " + "; ".join(check.dependence)
    yield "anything that changes from tomorrow on: the records only say how it was"
