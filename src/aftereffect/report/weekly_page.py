"""The weekly leaderboard for people: sheets for the terminal, a Markdown page, and a JSON document."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from aftereffect.experiments.gains import BELOW, FLAT, Gain, Gains, Total
from aftereffect.experiments.statistics import BOOTSTRAPS, Interval
from aftereffect.experiments.weekly import EVEN, TOLD
from aftereffect.report.leaderboard import NOTHING, SMOKE, Sheet, absences, generated, section


def percent(value: float | None, digits: int = 0) -> str:
    """A share in percent; less than nothing that rounds to nothing is nothing."""
    return NOTHING if value is None else f"{round(100 * value, digits) + 0.0:.{digits}f}"


def _span(interval: Interval) -> str:
    return NOTHING if interval is None else f"{percent(interval[0])} to {percent(interval[1])}"


def overall(gains: Gains) -> Iterator[Sheet]:
    """The mean over scenarios at each horizon, and how many runs fell behind the even split."""
    horizons = gains.horizons
    heads = tuple(f"T = {t}" for t in horizons)
    yield Sheet(
        "Gain share, percent (mean over scenarios, 95 percent interval)",
        ("policy", *heads),
        [(_named(gains, p), *(_share(totals[t]) for t in horizons)) for p, totals in gains.totals.items()],
    )
    yield Sheet(
        f"Runs more than {percent(BELOW)} percent below the even split, percent (and the worst run)",
        ("policy", *heads),
        [
            (p, *(f"{percent(x[t].below, 1)} ({percent(x[t].worst, 1)})" for t in horizons))
            for p, x in gains.totals.items()
        ],
    )
    yield Sheet(
        "The scenario with the smallest gain share, percent",
        ("policy", *heads),
        [(p, *(_smallest(totals[t]) for t in horizons)) for p, totals in gains.totals.items()],
    )
    if gains.flat:
        yield Sheet(
            f"Scenarios with next to nothing to gain: largest loss against even, percent (at most {percent(FLAT)} is asked)",
            ("policy", *heads),
            [(p, *(percent(totals[t].loss, 1) for t in horizons)) for p, totals in gains.totals.items()],
        )


def _named(gains: Gains, policy: str) -> str:
    """A policy, marked where its mean is over some of the scenarios only."""
    return policy + ("" if all(policy in here for here in gains.scenarios.values()) else " *")


def _share(total: Total) -> str:
    return NOTHING if total.share is None else f"{percent(total.share)} ({_span(total.interval)})"


def _smallest(total: Total) -> str:
    return NOTHING if total.smallest is None else f"{percent(total.smallest)} ({total.where})"


def in_scenarios(gains: Gains) -> Iterator[Sheet]:
    """A sheet for each scenario: its policies' gain shares at each horizon, best first."""
    last = gains.horizons[-1]
    flat = gains.flat
    for match in gains.arena.matches:
        scenario = match.scenario
        scores, what = gains.scenarios[scenario.name], "over even" if scenario.name in flat else "gain share"
        headers = ("policy", *(f"{what} {t}" for t in gains.horizons), "interval", f"below even {last}", "worst run")
        ordered = sorted(scores.items(), key=lambda item: -item[1][last].over_even)
        rows = [_row(policy, here, gains.horizons, scenario.name in flat) for policy, here in ordered]
        rows += [(policy, *[NOTHING] * (len(headers) - 1)) for policy in match.refused]
        best = percent(gains.available[scenario.name][last], 1)
        yield Sheet(f"{scenario.name}: {scenario.problem} (best over even: {best} percent)", headers, rows)


def _row(policy: str, here: Any, horizons: list[int], flat: bool) -> tuple[str, ...]:
    last: Gain = here[horizons[-1]]
    shown = [percent(here[t].over_even, 1) if flat else percent(here[t].share) for t in horizons]
    interval = NOTHING if flat else _span(last.interval)
    return policy, *shown, interval, percent(last.below, 1), percent(last.worst, 1)


def remarks(gains: Gains) -> Iterator[str]:
    """What a reader of the tables must know besides."""
    yield from absences(gains.arena)
    if gains.flat:
        yield f"the best gains less than {percent(FLAT)} percent over even in {', '.join(gains.flat)}: not in the mean"
    if any(policy not in here for here in gains.scenarios.values() for policy in gains.totals):
        yield "*: over the scenarios that it could start in only"


def page(gains: Gains, command: str, commit: str | None) -> str:
    """The whole weekly leaderboard in Markdown."""
    return "\n".join(_page(gains, command, commit)).rstrip() + "\n"


def _page(gains: Gains, command: str, commit: str | None) -> Iterator[str]:
    yield "# Weekly leaderboard\n"
    yield generated(command, commit, gains.arena.seed)
    if gains.arena.quick:
        yield f"**{SMOKE}**\n"
    yield from _meaning(gains)
    for sheet in overall(gains):
        yield from section(sheet)
    notes = list(remarks(gains))
    if notes:
        yield "## Notes\n"
        yield from (f"- {note}" for note in notes)
        yield ""
    yield "## Scenario by scenario\n"
    yield "In percent; the interval is that of the gain share at the last horizon.\n"
    for sheet in in_scenarios(gains):
        yield from section(sheet, "###")


def _meaning(gains: Gains) -> Iterator[str]:
    scale = gains.arena.scale
    yield (
        f"How institutions decide: every policy runs {scale.runs} times for {scale.horizon} rounds in each of "
        f"{len(gains.scenarios)} scenarios, with 50 to 1,000 units a round, on common random numbers, each run on a problem of "
        "its own (lending is the same in each). The memory is known to nobody: policies that cannot estimate it are told "
        f"{TOLD:g}.\n"
    )
    yield (
        "- *gain share*: (achieved - even) / (best fixed - even), each summed over the runs: 0 is the even split, 100 percent "
        "the best fixed one. Utility is the expected one from round 1 on, every split on its own history from the same start."
    )
    yield f"- `{EVEN}` is the even split, or the split nearest to it within floors."
    yield (
        f"- The mean is over scenarios in which the best gains at least {percent(FLAT)} percent over even; its interval "
        f"comes from resampling the runs, the same ones in every scenario ({BOOTSTRAPS:,} times). The others "
        "are scored by their loss."
    )
    yield ""


def document(gains: Gains) -> dict[str, Any]:
    """The whole weekly leaderboard in plain data."""
    arena = gains.arena
    return {
        "weekly": True,
        "quick": arena.quick,
        "horizons": gains.horizons,
        "runs": arena.scale.runs,
        "seed": arena.seed,
        "policies": [
            {"policy": p, "horizons": [{"T": t, **dataclasses.asdict(total)} for t, total in totals.items()]}
            for p, totals in gains.totals.items()
        ],
        "scenarios": [
            {
                "scenario": match.scenario.name,
                "problem": match.scenario.problem,
                "memory_told": match.scenario.told,
                "flat": match.scenario.name in gains.flat,
                "available": [{"T": t, "over_even": a} for t, a in gains.available[match.scenario.name].items()],
                "policies": [
                    {"policy": p, "horizons": [{"T": t, **dataclasses.asdict(g)} for t, g in here.items()]}
                    for p, here in gains.scenarios[match.scenario.name].items()
                ],
                "refused": match.refused,
            }
            for match in arena.matches
        ],
    }
