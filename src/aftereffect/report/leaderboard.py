"""The arena's leaderboard for people: sheets for the terminal, a Markdown page, and a JSON document."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from aftereffect import __version__
from aftereffect.experiments.arena import KINDS, SPEED_ROUNDS, Arena
from aftereffect.experiments.scores import (
    FLOOR,
    LUCKY,
    NEAR,
    Board,
    Corner,
    Luck,
    Score,
    Standing,
    is_own,
)
from aftereffect.experiments.statistics import BOOTSTRAPS, Interval

SMOKE = "Smoke version: so few and so short runs show that everything works, not which policy is better."
NOTHING = "-"


class Sheet(NamedTuple):
    """A table in words; its first column is a name, the others stand to the right."""

    title: str
    headers: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]


def overall(board: Board) -> Sheet:
    """The policies, best first."""
    interval = "95 percent interval"
    headers = ("policy", "rank", "gain", interval, "scenarios", "smallest gain", "in", "ratio", interval, "rounds/s")
    return Sheet("Leaderboard", headers, [_standing(s, len(board.scores)) for s in board.standings])


def _standing(s: Standing, scenarios: int) -> tuple[str, ...]:
    return (
        s.policy,
        NOTHING if s.rank is None else str(s.rank),
        f"{_gain(s.gain)}{'' if s.scenarios == scenarios else '*'}",
        _between(s.interval, _gain),
        f"{s.scenarios} of {scenarios}",
        _gain(s.smallest),
        s.where,
        _ratio(s.ratio) + (f" ({s.ratio_scenarios})" if s.ratio_scenarios < s.scenarios else ""),
        _between(s.ratio_interval, _ratio),
        NOTHING if s.speed is None else f"{s.speed:,.0f}",
    )


def in_scenarios(board: Board) -> Iterator[Sheet]:
    """A sheet for each scenario: its policies, best first, then those that could not start."""
    headers = ("policy", "rank", "regret", "95 percent interval", "largest", "gain", "gap closed", "ratio")
    for match in board.arena.matches:
        scores = board.scores[match.scenario.name]
        rows = [_score(policy, s) for policy, s in sorted(scores.items(), key=lambda item: item[1].mean)]
        rows += [(policy, *[NOTHING] * (len(headers) - 1)) for policy in match.refused]
        told = f", memory told {match.scenario.told:g}" if match.scenario.told is not None else ""
        yield Sheet(f"{match.scenario.name}: {match.scenario.problem}{told}", headers, rows)


def _score(policy: str, s: Score) -> tuple[str, ...]:
    closed = NOTHING if s.closed is None else f"{round(100 * s.closed) + 0:,} %"
    ends = _gain(s.gain), closed, _ratio(s.ratio)
    return policy, str(s.rank), _regret(s.mean), _between(s.interval, _regret), _regret(s.largest), *ends


def _gain(value: float) -> str:
    """In thousandths; less than nothing that rounds to nothing is nothing."""
    return f"{round(1000 * value, 1) + 0.0:,.1f}"


def _between(interval: Interval, words: Callable[[float], str]) -> str:
    return NOTHING if interval is None else f"{words(interval[0])} to {words(interval[1])}"


def _ratio(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}"


def _regret(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:,.1f}"


def under_stress(board: Board) -> Sheet:
    """For each kind of stress, in how many families each policy that is not the paper's is below all of those."""
    headers = ("stress", "policy", "lower regret", "clearly so", "in")
    rows = [
        (
            s.kind,
            s.policy,
            f"{len(s.lower)} of {s.families}",
            str(len(s.clearly)),
            ", ".join(s.lower) or NOTHING,
        )
        for s in board.stress
    ]
    return Sheet("Stress: lower regret than every policy of the paper", headers, rows)


def absences(arena: Arena) -> Iterator[str]:
    """Who could not start where, and why."""
    for (policy, reason), scenarios in arena.refused.items():
        yield f"{policy} cannot start in {', '.join(scenarios)}: {reason}"


def remarks(board: Board) -> Iterator[str]:
    """What a reader of the tables must know besides: who could not start and why, and where luck was at work."""
    yield from absences(board.arena)
    if board.arena.stress and not board.stress:
        yield "no policy besides the paper's and those that do not learn took part: nothing to count under stress"
    yield from (luck_line(luck, board.arena.scale.horizon) for luck in board.luck)
    yield from map(corner_line, board.corners)


def luck_line(luck: Luck, horizon: int) -> str:
    """Why a policy that does not learn does well in a scenario."""
    alike = f" (and {', '.join(luck.alike)}, which comes down to it)" if luck.alike else ""
    return (
        f"{luck.scenario.name}: {luck.policy}{alike} does not learn and is rank {luck.rank} with a regret of "
        f"{_regret(luck.mean)}; the best that learns, {luck.best}, has {_regret(luck.best_mean)}. {_why(luck, horizon)}"
    )


def corner_line(corner: Corner) -> str:
    """Why a policy that cannot share does well in a scenario."""
    return (
        f"{corner.scenario.name}: {corner.policy}, which gives everything to one arm whatever it learns, is rank {corner.rank} "
        f"with a regret of {_regret(corner.mean)} (the first has {_regret(corner.best)}): in {100 * corner.share:.0f} percent "
        "of the problems there the best allocation does just that. Where it does not, such a policy loses a constant "
        "share for ever."
    )


def _why(luck: Luck, horizon: int) -> str:
    scenario = luck.scenario
    if luck.mean > NEAR * horizon:
        return f"It loses {luck.mean / horizon:.3f} a round, but within this horizon nobody learns enough to do better."
    if luck.policy == "fixed":
        return f"The equal shares that it holds, {1 / scenario.arms:.2f} each, happen to lie near the best allocation."
    if luck.mean < 0:
        return "Taking turns earns more here than holding any allocation does."
    if luck.policy == "round-robin" and scenario.kind in ("", "memory-low", "memory-high"):
        memory = scenario.memory
        met = (1 - memory) / (1 - memory**scenario.arms)  # (2) for a share of 1 every K rounds, in the long run
        return f"Taking turns meets each arm at an impact of {met:.2f}, which happens to lie where the curves are high."
    return "What it does all the time happens to suit this scenario."


# The page.


def page(board: Board, command: str, commit: str | None) -> str:
    """The whole leaderboard in Markdown."""
    return "\n".join(_page(board, command, commit)).rstrip() + "\n"


def _page(board: Board, command: str, commit: str | None) -> Iterator[str]:
    arena = board.arena
    yield f"# Leaderboard{' under stress' if arena.stress else ''}\n"
    yield generated(command, commit, arena.seed)
    if arena.quick:
        yield f"**{SMOKE}**\n"
    yield from _meaning(board)
    if arena.stress:
        yield "## Kinds of stress\n"
        yield from (f"- `{kind}`: {meaning}" for kind, meaning in KINDS.items())
        yield ""
    if board.stress:
        yield from section(under_stress(board))
        yield f"Compared with: {', '.join(f'`{p.key}`' for p in arena.policies if p.paper)}.\n"
    yield from section(overall(board))
    yield "`*`: over the scenarios that it could start in only, and so not ranked.\n"
    notes = list(remarks(board))
    if notes:
        yield "## Luck, and who could not start\n"
        yield from (f"- {note}" for note in notes)
        yield ""
    yield "## Scenario by scenario\n"
    for sheet in in_scenarios(board):
        yield from section(sheet, "###")


def generated(command: str, commit: str | None, seed: int) -> str:
    """Where a page comes from."""
    return (
        f"This page is generated: `{command}`, aftereffect {__version__}, commit {commit or 'unknown'}, seed {seed}. "
        "Do not edit it.\n"
    )


def _meaning(board: Board) -> Iterator[str]:
    arena = board.arena
    own = [f"`{p.key}`" for p in arena.policies if is_own(p)]
    yield (
        f"Every policy runs {arena.scale.runs} times in each of {len(board.scores)} scenarios, T = {arena.scale.horizon:,}, on "
        "common random numbers: as many drawn problems with one run on each, or as many runs where the problem is fixed "
        f"(lending, tent). The library's own policies: {', '.join(own) or 'none took part'}.\n"
    )
    yield "- *regret*: mean at T with Student's 95 percent interval; *largest*: that of the worst run."
    yield (
        "- *gain*: regret of `history-ucb`, the better of its two readings in that scenario, minus the policy's on the same "
        "random numbers, divided by T: by how many thousandths of a reward a round it does better than the paper. It may "
        "exceed the whole regret: a policy that moves can earn more than every fixed allocation, and its regret is then "
        "negative. *gap closed*: the same as a part of that regret."
    )
    yield (
        "- The leaderboard's gain is the mean over scenarios; its interval, and the ratio's, comes from resampling the runs, the "
        f"same ones in every scenario ({BOOTSTRAPS:,} times); *smallest gain* is that of the policy's worst scenario."
    )
    yield (
        f"- *ratio*: that regret over the policy's, where both are at least {FLOOR:g}; on the leaderboard the geometric mean "
        "over the scenarios that have one (how many, if not all)."
    )
    yield (
        f"- *rounds/s*: one run of {min(SPEED_ROUNDS, arena.scale.horizon):,} rounds on one thread, gaussian with two arms, the "
        "quickest of three, compiling not counted."
    )
    yield (
        f"- *luck*: a policy that does not learn is first, or loses at most {NEAR:g} a round and has at most {LUCKY:g} times the "
        "regret of the best one that learns. Of those that learn and give everything to one arm, the best is named where it has "
        f"at most {LUCKY:g} times the regret of the first."
    )
    if arena.stress:
        yield (
            "- *clearly so*: the paired difference's 95 percent interval excludes zero. Regret under drift is against the best "
            "allocation of each moment."
        )
    yield ""


def section(sheet: Sheet, mark: str = "##") -> Iterator[str]:
    """A sheet in Markdown."""
    yield f"{mark} {sheet.title}\n"
    yield f"| {' | '.join(sheet.headers)} |"
    yield "|---" + "|---:" * (len(sheet.headers) - 1) + "|"
    yield from (f"| {' | '.join(row)} |" for row in sheet.rows)
    yield ""


# JSON.


def document(board: Board) -> dict[str, Any]:
    """The whole leaderboard in plain data."""
    arena = board.arena
    return {
        "quick": arena.quick,
        "horizon": arena.scale.horizon,
        "runs": arena.scale.runs,
        "seed": arena.seed,
        "policies": [dataclasses.asdict(s) for s in board.standings],
        "scenarios": [
            {
                "scenario": match.scenario.name,
                "problem": match.scenario.problem,
                "memory_told": match.scenario.told,
                "policies": [
                    {"policy": policy, **dataclasses.asdict(s)}
                    for policy, s in board.scores[match.scenario.name].items()
                ],
                "refused": match.refused,
            }
            for match in arena.matches
        ],
        "stress": [dataclasses.asdict(s) for s in board.stress] if arena.stress else None,
        "corners": [{**dataclasses.asdict(corner), "scenario": corner.scenario.name} for corner in board.corners],
        "luck": [{**dataclasses.asdict(luck), "scenario": luck.scenario.name} for luck in board.luck],
    }
