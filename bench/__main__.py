"""`python -m bench`: measure, print the table, write the page."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from bench import agents, loops, mixes, native, oracle, processes, programs, records, report, service, survey
from bench.machine import load
from bench.rows import Row, guarded

Measure = Callable[[], list[Row]]


def plan(peers: Path, mmm: Path) -> list[tuple[str, str, Measure]]:
    """What is measured, what is wanted, and how."""
    return [
        ("d-ucb, K 2: time over C's", "at most 1.35", loops.d_ucb_against_c),
        ("d-ucb, K 2: rounds/s over pymab's", "at least 50", lambda: loops.d_ucb_against_pymab(peers)),
        ("action-ucb, K 2: time over C's", "at most 1.4", lambda: loops.action_ucb_against_c(2, 1.4)),
        ("action-ucb, K 5: time over C's", "at most 2", lambda: loops.action_ucb_against_c(5, 2.0)),
        ("history-ucb, K 2: time over action-ucb's", "at most 1", lambda: loops.history_against_action(2)),
        ("history-ucb, K 5: time over action-ucb's", "at most 1", lambda: loops.history_against_action(5)),
        ("best_levels: speed over HiGHS's", "at least 1,000", oracle.against_milp),
        ("agent ask + tell: speed over river's UCB", "at least 0.5", lambda: agents.against_river(peers)),
        ("two threads: speed over one's", "at least 1.7", loops.threads),
        ("aftereffect --help", "at most 0.5 s", processes.help_time),
        ("a second process's first simulate", "at most 2.5 s", processes.second_process),
        ("the first minute: compiling with an empty cache", "at most 12 and 20 s", processes.cold_start),
        ("peak memory", "", processes.memory),
        ("records: a million rows", "at most 5 s", records.a_million_rows),
        ("advice from records", "above PyMC-Marketing's", lambda: mixes.against_mmm(mmm)),
        ("program on SQLite: rounds/s over bare commits/s", "at least 0.1", programs.writes),
        (
            "service: rounds/s, with three durable writes each",
            "at least 150, and 0.1 of bare commits/s",
            service.writes,
        ),
        ("service: reads/s", "at least 1,000", service.reads),
        ("opening and auditing a program of 10,000 rounds", "at most 1 s and 60 s", programs.long_record),
        ("memory over 100,000 events of a program", "at most 1.1", programs.memory),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    parser.add_argument("--peers", type=Path, default=Path(".venv-bench/bin/python"), help="the peers' interpreter")
    parser.add_argument("--mmm", type=Path, default=Path(".venv-mmm/bin/python"), help="PyMC-Marketing's interpreter")
    parser.add_argument("--out", type=Path, help="the page to write; with --only, whose rows to renew")
    parser.add_argument("--only", default="", help="measure only what contains this text")
    options = parser.parse_args()
    start, busy = time.perf_counter(), load()
    rows: list[Row] = []
    console = Console(stderr=True)
    for what, target, measure in plan(options.peers, options.mmm):
        if options.only in what:
            console.print(f"measuring: {what}", style="dim")
            rows += guarded(what, target, measure)
    report.terminal(rows, "Speed", report.TARGETS)
    flags = "gcc " + " ".join(native.FLAGS)
    if options.only:
        if options.out is not None:
            options.out.write_text(report.renewed(options.out.read_text(), rows, flags))
        return
    rates = survey.rates()
    report.terminal(rates, "Every policy, K 2, one thread", report.RATES)
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(report.page(rows, rates, flags, busy))
    console.print(f"took {time.perf_counter() - start:.0f} s", style="dim")


if __name__ == "__main__":
    main()
