"""Events and alarms in plain words."""

from __future__ import annotations

from typing import Any

from aftereffect.policies.explanation import amount, stage_in_words


def split_in_words(shares: dict[str, float]) -> str:
    """Shares by arm, as people write them."""
    return ", ".join(f"{arm} {100 * share:.1f} %" for arm, share in shares.items())


def event_in_words(event: dict[str, Any], counted: bool = True) -> str:
    """One line for an event of any kind; `counted`: rewards with trials are successes among them."""
    request, answer, kind = event["request"], event["answer"], event["kind"]
    if kind == "create":
        return f"Created with {', '.join(request['arms'])}, decided by {request['policy']}"
    if kind == "ask":
        return f"Round {answer['round']}: advised {split_in_words(answer['allocation'])}"
    if kind == "deploy":
        as_advised = "as advised" if request.get("allocation") is None else "differently"
        return f"Round {answer['round']}: deployed {as_advised}, {split_in_words(answer['allocation'])}"
    if kind == "tell":
        return _tell_in_words(request, answer, counted)
    if kind == "limits":
        return f"Limits changed: floors {split_in_words(request.get('floors') or {}) or 'as before'}; caps " + (
            split_in_words(request.get("caps") or {}) or "as before"
        )
    if kind == "upgrade":
        return "From here on decided with another version or on another machine"
    named = request.get("arm") or request.get("policy") or ""
    return f"{kind.replace('-', ' ').replace('_', ' ').capitalize()} {named}".strip()


def _tell_in_words(request: dict[str, Any], answer: dict[str, Any], counted: bool) -> str:
    number, rewards = answer.get("round"), request.get("rewards")
    if rewards is None:
        return f"Round {number}: closed without rewards"
    trials = request.get("trials") or {}
    parts = [f"{arm} {_outcome(value, trials.get(arm), counted)}" for arm, value in rewards.items()]
    return f"Round {number}: {'corrected to' if request.get('replace') else 'told'} {', '.join(parts)}"


def _outcome(mean: float, trials: float | None, counted: bool) -> str:
    if trials is None:
        return f"{mean:.6g}"
    return f"{round(mean * trials, 3):g} of {trials:g}" if counted else f"{mean:.6g} ({trials:g} trials)"


def alarms(reasons: dict[str, Any]) -> list[str]:
    """What somebody should look at, from an explanation."""
    found = []
    if reasons.get("drift", {}).get("drifting"):
        found.append(
            "Responses have changed over time: recent rounds are foretold better by the recent past than by all of it. "
            "Older rounds count less now."
        )
    if reasons.get("model", {}).get("contradicted"):
        better = reasons["model"].get("better", {})
        found.append(
            "What came back contradicts the memory that was given"
            + (f"; a memory of {better['memory']:.2f} explains it better." if "memory" in better else ".")
        )
    arms = reasons.get("arms", [])
    for arm in arms if isinstance(arms, list) else [{"arm": name, **rest} for name, rest in arms.items()]:
        for low, high in arm.get("never_visited", []):
            found.append(
                f"{arm['arm']} between {100 * low:.0f} and {100 * high:.0f} percent: never held long enough to be seen, and it "
                "could matter."
            )
    return found


def why(reasons: dict[str, Any]) -> list[str]:
    """Why the advice is what it is, in a few lines."""
    stage = stage_in_words(reasons)
    lines = [stage] if stage else []
    if "expected" in reasons and "home" in reasons:
        lines.append(
            f"Expected reward of a round: {amount(reasons['expected'], 4)}; of the split it holds: "
            f"{amount(reasons['home']['expected'], 4)}."
        )
    return lines
