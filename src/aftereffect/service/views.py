"""What a program's page shows, put together from its record and its agent."""

from __future__ import annotations

from typing import Any

import numpy as np

from aftereffect.model.curves import Floats
from aftereffect.model.impacts import discounted_average
from aftereffect.model.reward_range import RewardRange
from aftereffect.model.units import whole_units
from aftereffect.policies.agent import Agent
from aftereffect.policies.curve_thompson import believed
from aftereffect.policies.curves.estimates import BAND, seen_means
from aftereffect.policies.curves.state import CurvesState
from aftereffect.programs.program import Program
from aftereffect.report.style import arm_looks
from aftereffect.service.words import alarms, event_in_words, why

EVENTS_SHOWN = 50
SEARCHED = 5000  # latest events that a search looks through
ROUNDS_DRAWN = 520
NODES_DRAWN = 101


def program_view(program: Program, search: str = "", before: int | None = None, audit: bool = False) -> dict[str, Any]:
    """Everything that the page's template names."""
    shown = program.show()
    found, older = _events(program, shown, search, before)
    advice = shown["asked"]
    rounds = latest_rounds(program, shown["rounds"])
    deployed = [row["allocation"] for row in rounds]
    reasons = {} if shown["archived"] else program.explain()
    return {
        "program": {"sample": shown["name"] == "sample", **shown},
        "advice": None if advice is None else _advice(advice, shown, deployed[-1] if deployed else {}),
        "reason": why(reasons) if advice is not None else [],
        "alarms": alarms(reasons),
        "open_rounds": _open(program, rounds, shown),
        "limits": [{"arm": arm, "floor": shown["floors"][arm], "cap": shown["caps"][arm]} for arm in shown["arms"]],
        "events": found,
        "older": older,
        "search": search,
        "audit": _audited(program) if audit else None,
    }


def _advice(advice: dict[str, Any], shown: dict[str, Any], latest: dict[str, float]) -> list[dict[str, Any]]:
    rows, units = [], _units(advice["allocation"], shown)
    for arm, share in advice["allocation"].items():
        change = share - latest[arm] if arm in latest else None
        rows.append(
            {
                "arm": arm,
                "share": share,
                "units": units.get(arm),
                "change": "new" if change is None else "same" if abs(change) < 5e-4 else f"{100 * change:+.1f} points",
            }
        )
    return rows


def _units(allocation: dict[str, float], shown: dict[str, Any]) -> dict[str, int]:
    return whole_units(allocation, shown["units"]) if shown["units"] else {}


def latest_rounds(program: Program, count: int) -> list[dict[str, Any]]:
    """The rounds that the page draws."""
    return program.log_after(max(0, count - ROUNDS_DRAWN), ROUNDS_DRAWN)


def _events(
    program: Program, shown: dict[str, Any], search: str, before: int | None
) -> tuple[list[dict[str, Any]], int | None]:
    """The page's part of the log, latest first, and where the older part begins."""
    count, counted = shown["events"], RewardRange.of(shown["reward_range"]).usual
    end = count if before is None else max(0, min(count, before - 1))
    if search:
        rows = [_row(event, counted) for event in program.events(after=max(0, count - SEARCHED))]
        wanted = search.casefold()
        found = [row for row in rows if wanted in f"{row['words']} {row['by']} {row['at']}".casefold()]
        return found[::-1][:EVENTS_SHOWN], None
    first = max(0, end - EVENTS_SHOWN)
    rows = [_row(event, counted) for event in program.events(after=first, limit=end - first)] if end else []
    return rows[::-1], first + 1 if first > 0 else None


def _row(event: dict[str, Any], counted: bool) -> dict[str, Any]:
    words = event_in_words(event, counted)
    return {"number": event["sequence"], "at": event["at"], "by": event["by"] or "", "words": words}


def _open(program: Program, latest: list[dict[str, Any]], shown: dict[str, Any]) -> list[dict[str, Any]]:
    """Rounds that wait for rewards, with what each arm had and whether it has reported."""
    drawn = {row["round"]: row for row in latest}
    older = {n: row for n in shown["open_rounds"] if n not in drawn for row in program.log_after(n - 1, 1)}
    waiting = [(drawn | older)[number] for number in shown["open_rounds"]]
    return [
        {
            "round": row["round"],
            "deployed_at": row["at"],
            "arms": [
                {
                    "name": arm,
                    "share": row["allocation"].get(arm, 0.0),
                    "told": arm in row["rewards"] or row["trials"].get(arm) == 0,
                    "units": _units(row["allocation"], shown).get(arm),
                }
                for arm in shown["arms"]
            ],
        }
        for row in waiting
    ]


def _audited(program: Program) -> dict[str, Any]:
    found = program.audit()
    if not found.fits:
        return {"fits": False, "words": f"Something does not fit: {found.reason}"}
    words = f"All fits: {found.events:,} events chained, {found.recomputed:,} decisions recomputed bit by bit"
    if found.not_recomputed:
        words += f", {found.not_recomputed:,} made by other versions and not recomputed"
    return {"fits": True, "words": f"{words}."}


def charts(program: Program) -> dict[str, Any]:
    """The numbers behind the page's charts."""
    shown = program.show()
    unit = RewardRange.of(shown["reward_range"])
    found = program.look(lambda agent: curves(agent, unit))
    known = {} if shown["archived"] else program.explain().get("memory", {})
    memory = known.get("given", known.get("estimate"))
    rounds = latest_rounds(program, shown["rounds"])
    return {
        "looks": arm_looks(),
        "curves": found,
        "time": _over_time(shown["arms"], rounds, memory, _even_split(found)),
    }


def _even_split(curves: list[dict[str, Any]]) -> float | None:
    """What equal shares held for long would earn a round, by today's curves."""
    if not curves:
        return None
    share = 1 / len(curves)
    return float(sum(share * np.interp(share, curve["share"], curve["estimate"]) for curve in curves))


def _impacts(arms: list[str], rounds: list[dict[str, Any]], memory: float) -> list[dict[str, Any]]:
    """The discounted average of each arm's past shares, from the first round that is drawn."""
    impacts = discounted_average([[row["allocation"].get(arm, 0.0) for arm in arms] for row in rounds], memory)
    return [{"label": arm, "values": values} for arm, values in zip(arms, impacts.T.tolist(), strict=True)]


def curves(agent: Agent, unit: RewardRange) -> list[dict[str, Any]]:
    """Each arm's curve with its band and the means that were seen, in the user's unit, where the policy keeps curves."""
    state = getattr(agent.state, "curves", agent.state)
    if not isinstance(state, CurvesState) or not state.banks["count"].any():
        return []
    mean, deviation = believed(state)
    return [_drawn(state, k, mean[k], deviation[k], unit) | {"arm": name} for k, name in enumerate(agent.arm_names)]


def _drawn(state: CurvesState, k: int, mean: Floats, deviation: Floats, unit: RewardRange) -> dict[str, Any]:
    """An arm's curve at as many nodes as a chart shows, and wherever it was seen."""
    steps = len(mean) - 1
    seen, means, _ = seen_means(state, k)
    nodes = np.union1d(np.linspace(0, steps, NODES_DRAWN).round().astype(int), seen)
    found = dict(zip(seen.tolist(), unit.as_told(means).tolist(), strict=True))
    return {
        "share": (nodes / steps).tolist(),
        "estimate": unit.as_told(mean[nodes]).tolist(),
        "low": unit.as_told((mean - BAND * deviation)[nodes].clip(0, 1)).tolist(),
        "high": unit.as_told((mean + BAND * deviation)[nodes].clip(0, 1)).tolist(),
        "seen": [found.get(node) for node in nodes.tolist()],
    }


def _over_time(
    arms: list[str], rounds: list[dict[str, Any]], memory: float | None, even: float | None
) -> list[dict[str, Any]]:
    """Shares, impacts where the memory is known, rewards, and what was expected beside what was achieved."""
    if not rounds:
        return []
    numbers = [row["round"] for row in rounds]

    def lines(part: str) -> list[dict[str, Any]]:
        return [{"label": arm, "values": [row[part].get(arm) for row in rounds]} for arm in arms]

    def chart(title: str, unit: str, drawn: list[dict[str, Any]], percent: bool = False) -> dict[str, Any]:
        return {"title": title, "unit": unit, "percent": percent, "rounds": numbers, "lines": drawn}

    earned = [
        {"label": "expected when advised", "values": [row["expected"] for row in rounds]},
        {"label": "achieved", "values": [_achieved(row) for row in rounds]},
    ]
    if even is not None:
        earned.append({"label": "even split, by today's curves", "values": [even] * len(rounds)})
    found = [chart("Shares deployed", "share", lines("allocation"), percent=True)]
    if memory is not None:
        found.append(chart(f"Impacts at memory {memory:.2f}", "impact", _impacts(arms, rounds, memory), percent=True))
    return [
        *found,
        chart("Rewards told", "mean reward", lines("rewards")),
        chart("Expected and achieved", "reward of a round", earned),
    ]


def _achieved(row: dict[str, Any]) -> float | None:
    """The split's reward, once all of its arms have reported."""
    split = {arm: share for arm, share in row["allocation"].items() if share > 0}
    if not split or any(row["rewards"].get(arm) is None for arm in split):
        return None
    return float(sum(share * row["rewards"][arm] for arm, share in split.items()))
