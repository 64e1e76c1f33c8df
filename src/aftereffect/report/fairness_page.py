"""The measured parts of `docs/fairness.md`, between marks, from what `experiments.parity` wrote.

python -m aftereffect.experiments.parity --out out/parity.json [--weekly]
python -m aftereffect.report.fairness_page out/parity.json --docs docs
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aftereffect.experiments.parity import UNITS, GapRow, Kept, ParityRow, WeeklyRow
from aftereffect.report.measured import measured_at, write_measured

BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
KEPT = ("fair", "unknown", "even", "fair_there", "even_there")
WEEKLY_BEGIN, WEEKLY_END = "<!-- weekly: begin -->", "<!-- weekly: end -->"


def measured_section(rows: Sequence[ParityRow], gaps: Sequence[GapRow], horizon: int, instances: int, seed: int) -> str:
    """Both tables in Markdown."""
    lines = [
        f"T = {horizon:,}, memory .5, tolerance .1, seed {seed}; {instances} runs on `lending`, {instances} drawn instances "
        "of the others. Violation a round is the running mean after T/10, T/2 and T rounds, over runs; lost is the fair "
        "optimum's utility minus the run's, a round (negative: violations pay). Multipliers were tuned on T/10 rounds of as many "
        "other instances: one set for all of them.",
        "",
        "| problem | policy | violation at T/10 | T/2 | T | largest run | rounds in violation | lost | largest |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        violations = " | ".join(f"{v:.4f}" for v in (*r.violation, r.largest_violation))
        lines.append(
            f"| {r.problem}, K {r.arms} | {r.policy} | {violations} | {r.violated:.0%} | {r.lost:+.4f} | {r.largest_lost:+.4f} |"
        )
    lines += [
        "",
        "The relaxation solved exactly on the grid of 200 levels, mean over the same instances, utility a round. The last "
        "column is how far apart the measures are at the allocation to which the best multipliers lead.",
        "",
        "| problem | price of fairness | duality gap | largest | gap reached (tolerance .1) |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {g.problem}, K {g.arms} | {g.price:.4f} | {g.duality_gap:.4f} | {g.largest_duality_gap:.4f} | {g.reached_gap:.3f} |"
        for g in gaps
    ]
    return "\n".join(lines)


def weekly_section(rows: Sequence[WeeklyRow], instances: int, seed: int) -> str:
    """The tables of weekly decisions in Markdown: all runs, and those in which the even split is fair."""
    lines = [
        f"{UNITS} units a round, memory .5, tolerance .1, seed {seed}; {instances} runs on `lending`, {instances} drawn "
        "instances of the others; means over runs, a round, from round 1 on: `fair-thompson` that is told the memory / that is "
        "not / even split. The fair optimum is the best that a fair split can earn; where the even split has more, it is in "
        "violation.",
        "",
        "| problem | T | utility | fair optimum | rounds in violation | violation |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_problem(r)} | {r.horizon} | {_beside(r, 'utility', '.4f')} | {r.optimum:.4f} "
        f"| {_beside(r, 'violated', '.1%')} | {_beside(r, 'violation', '.4f')} |"
        for r in rows
    ]
    lines += [
        "",
        "The runs in which the even split is fair, so that one may stay there; the memory told / even split:",
        "",
        "| problem | T | runs | utility | rounds in violation | violation |",
        "|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {_problem(r)} | {r.horizon} | {r.runs_even_is_fair} | {r.fair_there.utility:.4f} / {r.even_there.utility:.4f} "
        f"| {r.fair_there.violated:.1%} / 0 | {r.fair_there.violation:.4f} / 0 |"
        for r in rows
        if r.fair_there is not None and r.even_there is not None
    ]
    return "\n".join(lines)


def _beside(row: WeeklyRow, what: str, digits: str) -> str:
    """A number of the three policies, one beside the other."""
    return " / ".join(format(getattr(kept, what), digits) for kept in (row.fair, row.unknown, row.even))


def _problem(row: WeeklyRow) -> str:
    return f"{row.problem}, K {row.arms}"


def _weekly_row(found: dict[str, Any]) -> WeeklyRow:
    """A row as it was written down."""
    kept = {name: value if value is None else Kept(**value) for name, value in found.items() if name in KEPT}
    return WeeklyRow(**{**found, **kept})


def replace_measured(text: str, section: str, begin: str = BEGIN, end: str = END) -> str:
    """The page with a measured part replaced."""
    before, found, rest = text.partition(begin)
    _, found_end, after = rest.partition(end)
    if not found or not found_end:
        raise SystemExit(f"the page has no {begin} .. {end}")
    return f"{before}{begin}\n{section}\n{end}{after}"


def page(found: dict[str, Any], before: str) -> str:
    """The page with what was measured; a part that was not measured stays."""
    at = f"\n\n{measured_at(found)}".rstrip()
    weekly = weekly_section([_weekly_row(r) for r in found["weekly"]], found["weekly_instances"], found["seed"])
    text = replace_measured(before, weekly + at, WEEKLY_BEGIN, WEEKLY_END)
    if "rows" in found:
        rows, gaps = [ParityRow(**r) for r in found["rows"]], [GapRow(**g) for g in found["gaps"]]
        section = measured_section(rows, gaps, found["horizon"], found["instances"], found["seed"])
        text = replace_measured(text, section + at)
    return text


def main() -> None:
    """Command line of this module."""
    write_measured("fairness.md", page)


if __name__ == "__main__":
    main()
