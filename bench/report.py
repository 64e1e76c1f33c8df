"""The table on the terminal and the page in the docs."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bench.machine import describe
from bench.mixes import KINDS
from bench.rows import Row

HOW = """\
`make bench` measures all of this and writes this page. Figures with a target are ratios of two things measured in the same
run: the contestants take turns, and the shortest time of each counts, because whatever else a machine does only makes times
longer. What runs on one thread is timed by processor time, which leaves out the moments when somebody else held the core;
HiGHS, the two threads and the whole processes by wall time. Times in seconds are absolute, medians of whole processes.

* **Hand-written C**: `bench/c`, compiled with
  `{flags}`.
  The loops draw the same numbers from the same generator (xoshiro256++), advance the same discounted impact, look up the
  same tabulated responses, keep the same utilities at the checkpoints, and use the same rule with the same ties; before
  anything is timed, both utilities must agree at every checkpoint to 1e-9 (in practice they are bit-identical). The number
  of arms is a run-time parameter in both; for information `d-ucb` is also compared with C that is compiled for two arms
  only, which is faster still. C knows at compile time what `simulate` looks up each round: the feedback, the noise, the
  kind of impact. Our side is timed through `ae.simulate`, best fixed allocation and result included.
* **pymab**: its own `Experiment` with its discounted UCB on two Bernoulli arms, in its compiled backend, which it takes of
  itself. It records every round and its world has no aftereffects; ours has them and keeps 50 checkpoints.
* **HiGHS**: `scipy.optimize.milp` on binary x[k, l] (arm k gets level l) and y[k, l] <= x[k, l] (the one bonus is taken
  there), to optimality. Building the programme is not timed.
* **river**: `bandit.UCB`, pull and update. Ours: ask and tell of an agent with `d-ucb`, with all its checks. In both the
  rewards are drawn beforehand.
* **Two threads** need two idle cores. What the C loop gains from a second thread in the same minute stands beside: it is
  the most that the machine could give.
* **The program and the service** write to SQLite in write-ahead mode with full synchronisation; the bare loop commits one
  row of 500 bytes at a time with the same settings, before and after. A round is ask, deploy and tell, each durable when it
  is answered, with the recommended policy and its reasons. The service runs in a process of its own with its rate limits on;
  eight clients, threads of the measuring process, hold a connection and a program each. Optuna's RDB storage asks and tells
  in the process itself, with a random sampler and the same settings.
* **PyMC-Marketing**: its media-mix model (geometric adstock over 12 weeks, logistic saturation, two chains of 500 draws after
  500 of tuning) and its budget optimiser for the 26 weeks to come, fed with what each arm got and what came back in all, as
  such models are; ours reads each arm's own count. {worlds} worlds, one draw each, of the kinds in `bench/records.py`: 104 weeks
  in which shares wander slowly by a third of their value. An even split earns 0, the best one 100 percent.
* **history-ucb** and **action-ucb** run on the same problem (memory .4) and the same grid.
"""

SURVEY = """\
Every policy with its defaults at K 2 on `gaussian` with memory .4, one thread, 500,000 rounds (`phased` around `cucb`).
"""


def terminal(rows: list[Row], title: str, headings: tuple[str, ...]) -> None:
    table = Table(*headings, title=title)
    for row in rows:
        style = "red" if row.ok is False else "green" if row.ok else None
        table.add_row(*cells(row, len(headings)), style=style)
    Console().print(table)


def cells(row: Row, count: int) -> tuple[str, ...]:
    if count == 3:
        return row.what, row.measured, row.note
    return row.what, row.measured, row.target, row.verdict, row.note


def markdown(rows: list[Row], headings: tuple[str, ...]) -> str:
    lines = ["| " + " | ".join(headings) + " |", "|" + "---|" * len(headings)]
    for row in rows:
        lines.append("| " + " | ".join(cells(row, len(headings))) + " |")
    return "\n".join(lines) + "\n"


HOW_HEADING, SURVEY_HEADING = "## How\n", "## Every policy\n"
TARGETS = ("what", "measured", "target", "", "behind it")
RATES = ("policy", "million rounds/s", "ns a round")


def renewed(page: str, rows: list[Row], flags: str) -> str:
    """The page with some of its targets' rows measured again; those that it had not come last."""
    head, _, rest = page.partition(HOW_HEADING)
    lines = head.splitlines()
    first = lines.index("|" + "---|" * len(TARGETS)) + 1
    table = {line.split(" | ")[0]: line for line in lines[first:] if line}
    for line in markdown(rows, TARGETS).splitlines()[2:]:
        table[line.split(" | ")[0]] = line
    survey = rest.partition(SURVEY_HEADING)[2]
    return "\n".join([*lines[:first], *table.values(), "", HOW_HEADING, how(flags), SURVEY_HEADING]) + survey


def how(flags: str) -> str:
    return HOW.format(flags=flags, worlds=len(KINDS))


def page(rows: list[Row], rates: list[Row], flags: str, busy: str) -> str:
    return "\n".join(
        [
            "# Performance\n",
            f"Measured on: {describe()}. {busy}\n",
            markdown(rows, TARGETS),
            HOW_HEADING,
            how(flags),
            SURVEY_HEADING,
            SURVEY,
            markdown(rates, RATES),
        ]
    )
