"""`docs/robustness.md`: what the recommended policy makes of what it was not told; what was not measured again stays.

python -m aftereffect.experiments.robustness_rows --out out/robustness.json [--section change]
python -m aftereffect.report.robustness_page out/robustness.json --docs docs
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import geometric_mean
from typing import Any, TypeVar

from aftereffect.experiments.long_run import PER_ROUND, TIMES_MEDIAN, Growth, LargestRuns, ManyArms
from aftereffect.experiments.robustness import (
    Alarms,
    Bands,
    Changes,
    Drifts,
    Estimates,
    FalseAlarms,
    QuietRewards,
    UnknownMemory,
)
from aftereffect.policies.curves.trial import SHORT
from aftereffect.report.measured import measured_at, write_measured

Part = Mapping[str, Any]
Row = TypeVar("Row")

INTRODUCTION = """# What the recommended policy makes of what it was not told

This page is generated from what `python -m aftereffect.experiments.robustness_rows` measures (`--section NAME` for one of its
sections, `--seed N` for other instances), by `python -m aftereffect.report.robustness_page out/robustness.json --docs docs`.
The true memory is .5 throughout; commit and seed stand below each section. How it fares when its model is wrong in other ways
(impact driven by activations, an unknown g, a transient, drift) is on the arena's stress board: `aftereffect arena --stress`.
"""


def _table(headers: str, rows: Iterable[str]) -> str:
    """A table in Markdown; cells are apart by bars."""
    return "\n".join([f"| {headers} |", "|---" * (headers.count("|") + 1) + "|", *(f"| {row} |" for row in rows)])


def unknown_memory_section(rows: Sequence[UnknownMemory], horizon: int, instances: int, bounds: Sequence[float]) -> str:
    """Regret with an unknown horizon or memory over regret with both known."""
    others = [[r.untold, *r.bounded] for r in rows]
    means = [
        geometric_mean([x / r.known for x, r in zip(column, rows, strict=True)]) for column in zip(*others, strict=True)
    ]
    table = _table(
        "problem | both told | "
        + " | ".join(f"{what} | ratio" for what in ("no horizon", *(f"memory at most {b:g}" for b in bounds))),
        [
            *(
                f"{r.scenario} | {r.known:,.0f} | " + " | ".join(f"{x:,.0f} | {x / r.known:.2f}" for x in other)
                for r, other in zip(rows, others, strict=True)
            ),
            "geometric mean | | " + " | ".join(f"| {mean:.2f}" for mean in means),
        ],
    )
    text = (
        f"Mean regret at T = {horizon:,} over {instances} instances; ratios are to the policy that knows memory and horizon. "
        f"Up to {SHORT:,.0f} rounds an unknown horizon costs nothing: runs are the same bit by bit, told or not."
    )
    return f"{text}\n\n{table}"


def estimates_section(rows: Sequence[Estimates], horizon: int, instances: int) -> str:
    """How good the estimates of the memory are."""
    table = _table(
        "family | bound | interval holds .5 | its mean width | mean error | says it can tell",
        (
            f"{r.family} | {r.bound:g} | {r.covered:.0%} | {r.width:.2f} | {r.error:.2f} | {r.can_tell:.0%}"
            for r in rows
        ),
    )
    return (
        f"After {horizon:,} rounds, {instances} instances a family. `agent.explain()` gives estimate and interval, and says "
        f"when the data cannot tell: a policy that rarely switches sees few impacts that differ between memories.\n\n{table}"
    )


def alarms_section(rows: Sequence[Alarms]) -> str:
    """False alarms and power."""
    table = _table(
        "family | rewards | T | told | contradicted | says it can tell | instances",
        (
            f"{r.family} | {'single' if r.units is None else f'{r.units} units'} | {r.horizon:,} | {r.told:g} | "
            f"{r.contradicted:.1%} | {r.can_tell:.1%} | {r.instances}"
            for r in rows
        ),
    )
    return (
        "Share of runs in which, at some time by the end, the data contradicted the memory it was told "
        "(`agent.explain()` says so). Told .5 this is a false alarm (at most 5 percent wanted); told .2 or .8 it is the alarm's "
        f"power. Told too *small* a memory, the policy sees little that speaks against it.\n\n{table}"
    )


def drifts_section(rows: Sequence[Drifts], horizon: int) -> str:
    """Does it see drift where there is some, and only there?"""
    table = _table(
        "family | they stay | they drift | instances",
        (f"{r.family} | {r.still:.1%} | {r.drifting:.1%} | {r.instances}" for r in rows),
    )
    return (
        f"Share of runs that say, after {horizon:,} rounds, that responses drift (`agent.explain()` does). Where they stay as "
        "they are this is a false alarm (at most 5 percent wanted); where they drift to others, drawn anew, over these rounds it "
        f"is the alarm's power. Gaussian curves drawn twice hardly differ: there is little to see.\n\n{table}"
    )


def _held(rows: Sequence[FalseAlarms]) -> str:
    """Intervals that hold the memory, of those that say they can tell it: counts, as there may be one."""
    told = [(r.can_tell * r.runs, r.covered) for r in rows if r.covered is not None]
    return f"{sum(n * part for n, part in told):.0f} of {sum(n for n, _ in told):.0f}" if told else "-"


def false_alarms_section(rows: Sequence[FalseAlarms]) -> str:
    """How often a right model cries, at several horizons and kinds of rewards."""
    lines = []
    for r in rows:
        cries = " | ".join(f"{share:.1%}" for share in (r.contradicted, *r.drifting))
        lines.append(f"{r.setting} | {r.horizon:,} | {cries} | {r.can_tell:.1%} | {_held([r])} | {r.runs}")
    for horizon in sorted({r.horizon for r in rows}):
        here = [r for r in rows if r.horizon == horizon]
        pooled = [
            sum(values) / len(here) for values in zip(*((r.contradicted, *r.drifting) for r in here), strict=True)
        ]
        runs = sum(r.runs for r in here)
        lines.append(
            f"all | {horizon:,} | " + " | ".join(f"{share:.1%}" for share in pooled) + f" | | {_held(here)} | {runs}"
        )
    table = _table(
        "rewards | T | contradicted | drifting | drifting, bound told | can tell memory | interval holds it | runs",
        lines,
    )
    return (
        "Share of runs in which, by the end, the data are said to contradict a memory that is right, or responses that stay as "
        "they are to drift (with the memory told, and with only a bound on it: .95). At most 5 percent are wanted. Then the runs "
        "that say they can tell an unknown memory, and of these those whose interval holds it (90 percent wanted). The "
        f"drawn families in turn, with two arms and with four.\n\n{table}"
    )


def changes_section(rows: Sequence[Changes], horizon: int) -> str:
    """Regret where responses change at once, and where they come and go."""
    table = _table(
        "family | change | restart | ratio | seasons | best single split | ratio | nothing changes",
        (
            f"{r.family} | {r.change:,.0f} | {r.restart:,.0f} | {r.change / r.restart:.2f} "
            f"| {r.season:,.0f} | {r.single:,.0f} | {r.season / r.single:.2f} | {r.still:,.0f}"
            for r in rows
        ),
    )
    return (
        f"Mean regret against the best allocation of each moment, T = {horizon:,}, {rows[0].instances} instances a family. "
        "Half-way all responses are replaced by others, drawn anew; a restart would begin from nothing in that round (at "
        "most twice its regret is wanted). Or they go to others and back ten times; the best single split is the one that "
        "earns most over all rounds (at most twice its regret is wanted). It is not learned: the last column is what learning "
        "costs this policy where nothing changes. Where that is more than the single split loses, twice the latter leaves less "
        f"for the seasons than the single split itself loses by them.\n\n{table}"
    )


def noise_section(bands: Sequence[Bands], quiet: Sequence[QuietRewards], horizon: int, deviation: float) -> str:
    """Is the noise that it learns the right one?"""
    learned, told = (sum(getattr(q, what) for q in quiet) for what in ("learned", "told"))
    total = f"all | {learned:.2f} | {told:.2f} | {learned / told:.2f} | {sum(q.instances for q in quiet)}"
    by_family = (
        f"{q.family} | {q.learned:.2f} | {q.told:.2f} | {q.learned / q.told:.2f} | {q.instances}" for q in quiet
    )
    held = (f"{b.setting} | {b.horizon:,} | {b.covered:.1%} | {b.bands}" for b in bands)
    return "\n\n".join(
        [
            "Share of the 95 percent bands (estimate and 1.96 deviations, as `agent.explain()` gives them) of the shares "
            "deployed last that hold the mean reward there (the response, as far as a shock leaves it between zero and one); "
            "four arms, of which those without a share do not count, memory unknown (90 to 99 percent wanted).",
            _table("rewards | T | bands that hold the mean | bands", held),
            f"Mean regret after {horizon:,} rounds of continuous rewards with deviation {deviation:g}, two arms, both seen: "
            f"told as one reward each, and told as {round(0.25 / deviation**2):,} trials, which says how little they scatter "
            "(at most 1.5 times is wanted).",
            _table("family | learned | told | ratio | instances", [*by_family, total]),
        ]
    )


def largest_section(rows: Sequence[LargestRuns], horizon: int) -> str:
    """The worst runs."""
    total = f"all | {sum(r.runs for r in rows):,} | | | | {sum(r.stuck for r in rows)}"
    table = _table(
        "problem | runs | median | largest | limit | beyond it",
        [
            *(
                f"{r.scenario} | {r.runs} | {r.median:,.0f} | {r.largest:,.0f} | {r.limit:,.0f} | {r.stuck}"
                for r in rows
            ),
            total,
        ],
    )
    return (
        f"Regret at T = {horizon:,}, one run on each of as many drawn problems. A run counts as stuck beyond the larger of "
        f"{TIMES_MEDIAN:g} times the median and {PER_ROUND:g} a round (none is wanted). *Two peaks* are curves that the "
        f"catalog does not have: a peak on either side of the middle, of different height and width.\n\n{table}"
    )


def growth_section(rows: Sequence[Growth]) -> str:
    """How regret grows with the horizon at a kink."""
    table = _table(
        "T | mean regret | a round | median | runs",
        (f"{r.horizon:,} | {r.mean:,.0f} | {r.mean / r.horizon:.5f} | {r.median:,.0f} | {r.runs}" for r in rows),
    )
    return (
        "Bump with two arms, whose best allocation is a kink: between two levels of a fixed grid it would cost the same in every "
        f"round for ever. Levels become finer with the horizon.\n\n{table}"
    )


def many_arms_section(rows: Sequence[ManyArms], horizon: int, arms: int) -> str:
    """Many arms, beside plain Thompson sampling."""
    table = _table(
        "family | mean | median | plain Thompson's mean | its median | ratio of means | runs",
        (
            f"{r.family} | {r.mean:,.0f} | {r.median:,.0f} | {r.thompson_mean:,.0f} | {r.thompson_median:,.0f} "
            f"| {r.mean / r.thompson_mean:.2f} | {r.runs}"
            for r in rows
        ),
    )
    return (
        f"Regret at T = {horizon:,} with {arms} arms, beside that of `thompson`, which gives everything to one arm: where one "
        "is best it has less to learn, and where none is it loses for ever (at most 3 times its mean is wanted)."
        f"\n\n{table}"
    )


Render = Callable[[Part], str]
SECTIONS: dict[str, tuple[str, Render]] = {
    "unknown-memory": (
        "Horizon or memory unknown",
        lambda p: unknown_memory_section(_as(UnknownMemory, p["rows"]), p["horizon"], p["instances"], p["bounds"]),
    ),
    "estimates": (
        "The memory it estimates",
        lambda p: estimates_section(_as(Estimates, p["rows"]), p["horizon"], p["instances"]),
    ),
    "false-alarms": (
        "Nothing is wrong: does it cry all the same?",
        lambda p: false_alarms_section(_as(FalseAlarms, p["rows"])),
    ),
    "alarms": (
        "Told a wrong memory: does it notice?",
        lambda p: alarms_section(_as(Alarms, p["rows"])),
    ),
    "drift": (
        "Responses that drift: does it notice?",
        lambda p: drifts_section(_as(Drifts, p["rows"]), p["horizon"]),
    ),
    "change": (
        "Responses that change at once, or with the seasons",
        lambda p: changes_section(_as(Changes, p["rows"]), p["horizon"]),
    ),
    "noise": (
        "Noise that nobody told",
        lambda p: noise_section(_as(Bands, p["bands"]), _as(QuietRewards, p["quiet"]), p["horizon"], p["deviation"]),
    ),
    "largest": ("Its worst runs", lambda p: largest_section(_as(LargestRuns, p["rows"]), p["horizon"])),
    "growth": ("A million rounds and more", lambda p: growth_section(_as(Growth, p["rows"]))),
    "many-arms": ("Many arms", lambda p: many_arms_section(_as(ManyArms, p["rows"]), p["horizon"], p["arms"])),
}


def _as(kind: type[Row], rows: Sequence[Part]) -> list[Row]:
    return [kind(**row) for row in rows]


def sections_of(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = page.split("\n## ")[1:]
    return {part.split("\n", 1)[0].strip(): f"## {part.strip()}" for part in parts}


def page(measured: Part, before: str = "") -> str:
    """The page with what was measured, and with what was there before of the rest."""
    found = sections_of(before) | {
        title: f"## {title}\n\n{show(measured[name])}\n\n{measured_at(measured[name], measured[name].get('seed'))}"
        for name, (title, show) in SECTIONS.items()
        if name in measured
    }
    kept = [found[title].strip() for title, _ in SECTIONS.values() if title in found]
    return "\n\n".join([INTRODUCTION.strip(), *kept]) + "\n"


def main() -> None:
    """Command line of this module."""
    write_measured("robustness.md", page)


if __name__ == "__main__":
    main()
