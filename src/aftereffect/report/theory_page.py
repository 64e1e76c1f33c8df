"""`docs/theory.md`: every bound with its number, and the measured slopes, from what `experiments.theory_rows` wrote.

python -m aftereffect.experiments.theory_rows --out out/theory.json
python -m aftereffect.report.theory_page out/theory.json --docs docs
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from aftereffect.experiments.theory_rows import STANDING_HORIZONS, SWITCHING_HORIZONS
from aftereffect.report.measured import write_measured
from aftereffect.theory import bounds, tuning

Rows = Sequence[Mapping[str, Any]]

INTRODUCTION = """# The paper's theory as tools

This page is generated from what `python -m aftereffect.experiments.theory_rows` measures, by
`python -m aftereffect.report.theory_page out/theory.json --docs docs`. Every bound is a function in
`aftereffect.theory.bounds` with its number in the paper and its constants as printed. Where the text gives an order
only, the name ends in `_rate`: the constant is not stated and taken as one, so such a number compares horizons and
arms, and is not a guarantee.

```python
from aftereffect.theory import bounds
from aftereffect.simulation.planning import plan

print(bounds.action_radius(arms=2, t=100, samples=50))
made = plan(arms=4, horizon=100_000, memory=0.4)
print(made.levels, made.cut, made.sweep_phases, made.bounds["history_radius"])
```

```sh
aftereffect plan --arms 4 --horizon 100000 --memory 0.4 --out plan.png
aftereffect plan --arms 4 --horizon 100000 --half-life 3 --json
```

`plan` says what will happen before anybody is affected: the grid, the phases, how many rounds go into approaching,
estimating and the first sweep over all cells, what the radius will have come down to, and how many samples the lemmas
need to tell an allocation that is .1 worse. At horizons people have, that last number is often more than there are
rounds: the lemmas' radii are wide, and the policy explores for the whole horizon.
"""

FAULTS = """## What does not hold as printed

- **Lemma D.3 (and E.4)** bounds how often the rarest cell of a worse allocation is deployed by that allocation's own
  gap. A cell is also part of other allocations; with three arms it can be deployed in a constant share of all rounds
  although the allocation is far from best (a test shows one). What Lemma D.4 needs is weaker: a bound on its own
  counters, with the smallest gap among the allocations that contain the cell.
- **Lemma D.4, first claim**: its proof needs every allocation's estimate to be right, and counts one failure for each
  cell; there are exponentially many allocations.
- **Lemmas D.5 and E.6** print that counters add up to at most K T/eps (K M/eps). The result needs T (M), which is
  true: one counter grows a round.
- **Lemma E.1** bounds the mean of an absolute difference and its proof the difference of means. It is true when both
  are read off the same random numbers.
- **Lemmas E.5, E.6 and Theorem 5.1** count L rounds of a phase at the gap of its allocation. While the impact still
  moves, a round can pay less than either allocation. See *What switching costs* below. Nor is the initial sweep in
  Lemma E.5.
- **App. F**: levels must add up to N_p + K/2 (K even), not N_p + K - 1; the routine from I to J may leave J's set of
  actions; Step 1 counts a pair as lost only if both of its arms are, where one suffices. The regret is in the sum of
  r_k; for U the factor K cannot hold for all T > 2K.
- **App. G** needs strictly proper responses. None are bounded, Lipschitz and proper on the whole simplex for three
  arms and more, the bumps of App. F are not proper either, and the inequality compares the two worlds on one sequence
  of allocations, while a learner would choose another one in the other world. It does not carry Theorem 6.1 over to
  history-dependent bandits.
"""

NOTES = {
    "example": """## Linear regret on Example 1

Regret a round in the second half of T rounds, 8 runs, with a 95 percent interval over runs, beside the eps/2 that
App. C predicts for whoever ignores the impact of his own actions (eps = .2). Algorithm 3 explores for a long time, and
its slope falls with T.
""",
    "hard": """## Hard instances

Four arms, bumps at random p*, eps the closest to T^(-1/3), all arms seen, App. F's own regret (the sum of r_k), 8
instances at each T. The slope is that of ln regret in ln T with a bootstrap interval, beside 2/3. Nobody can lose
more than K eps T, which grows like T^(2/3), so the lower bound says that a constant *share* of it is lost at every T.
The shares below rise towards one: the instances still get harder for these learners, which is why the slopes lie
above 2/3. `sum-ucb` learns the sum of r_k, the others the sum of p_k r_k. The twin is the discrete instance on the
same choices; it never loses more.
""",
    "properness": """## App. G on runs

Regret with the impact, and what it would be had the same allocations paid r_k(p_k); 20,000 rounds, one run. Brier's
responses are strictly proper for two arms, the paper's Gaussian ones are not.
""",
    "switching": """## What switching costs

Two equal arms with responses of slope 1, as the theorems take them, best wherever one has between .2 and .3 and the other
the rest, less in between, memory .4; 4 runs, seed 1. Equal arms tie with their mirror image on every grid. Lemma E.5's bound
grows like ln T, a slope of 0 in these units. Algorithm 3 goes to and fro between the two sides for ever. With noise it does so
less and less often: on a grid of four levels regret grows more slowly than the root of T, more than Lemma E.5 allows and less
than Theorem 5.1 does. Without noise, where all arms are seen, the tied indices take turns: a constant share of phases changes
sides, each change costs a constant, there are T/L phases, and L grows like ln T only. That is more than T^(2/3): Theorem 5.1
does not hold there. On the tuned grid other allocations are still being explored at these T, which adds to all rows.
""",
    "standing": """## What stands

Algorithm 1 without memory and Algorithm 3 with memory .4, on their tuned grids, where one allocation is best (responses of
slope 1, best at .3 and .7) and on the two peaks above; regret against the best of all allocations, 4 runs, seed 1, beside how
fast the theorems' T^(2/3) (ln T)^(1/3) grows between these T. Theorem 4.2 is about memory 0, where nothing moves and switching
is free: Algorithm 1 grows as it says. Algorithm 3 grows a little faster than Theorem 5.1 says where one allocation is best, and
clearly faster where two far apart tie, with noise or without. That is measured up to T = 1,000,000: it shows no limit.
""",
}


def _functions(module: ModuleType) -> Iterator[tuple[str, str]]:
    for name, found in vars(module).items():
        if inspect.isfunction(found) and found.__module__ == module.__name__ and not name.startswith("_"):
            yield (
                f"{name}({', '.join(inspect.signature(found).parameters)})",
                (inspect.getdoc(found) or "").splitlines()[0],
            )


def _interval(slope: Mapping[str, float], digits: int = 3) -> str:
    return f"{slope['estimate']:.{digits}f} [{slope['low']:.{digits}f}, {slope['high']:.{digits}f}]"


def _example_1(rows: Rows) -> Iterator[str]:
    yield "| policy | memory | T | measured | predicted |\n|---|---|---|---|---|"
    for r in rows:
        predicted = "falls with T" if r["falls"] else f"{r['slope']['predicted']:.3f}"
        yield f"| {r['policy']} | {r['memory']:g} | {r['horizon']:,} | {_interval(r['slope'], 4)} | {predicted} |"


def _hard(rows: Rows) -> Iterator[str]:
    columns = [f"T = {t:,}, N_p = {n}" for t, n in zip(rows[0]["horizons"], rows[0]["intervals"], strict=True)]
    yield f"| learner | slope | {' | '.join(columns)} |\n|---|---|{'---|' * len(columns)}"
    for r in rows:
        found = zip(r["regret"], r["share"], r["twin"], strict=True)
        cells = [f"{regret:,.0f} ({share:.0%}); twin {twin:,.0f}" for regret, share, twin in found]
        yield f"| {r['learner']} | {_interval(r['slope'])} | {' | '.join(cells)} |"


def _properness(rows: Rows) -> Iterator[str]:
    yield "| problem | memory | policy | with the impact | had it paid r(p) | slack | holds |\n|---|---|---|---|---|---|---|"
    for r in rows:
        numbers = f"{r['history']:,.1f} | {r['action']:,.1f} | {r['slack']:.2f}"
        yield f"| {r['problem']} | {r['memory']:g} | {r['policy']} | {numbers} | {'yes' if r['holds'] else 'no'} |"


def _switching(rows: Rows) -> Iterator[str]:
    columns = " | ".join(f"regret at T = {t:,}" for t in SWITCHING_HORIZONS)
    yield f"| grid | feedback | noise | {columns} | slope |\n|---|---|---|---|---|---|---|"
    for r in rows:
        cells = " | ".join(f"{regret:,.0f}" for regret in r["regret"])
        yield f"| {r['levels'] or 'tuned'} | {r['feedback']} | {r['noise']} | {cells} | {_interval(r['slope'])} |"


def _standing(rows: Rows) -> Iterator[str]:
    columns = " | ".join(f"regret at T = {t:,}" for t in STANDING_HORIZONS)
    yield f"| policy | memory | problem | feedback | noise | {columns} | slope | the theorems' |\n{'|---' * 9}|"
    for r in rows:
        cells = " | ".join(f"{regret:,.0f}" for regret in r["regret"])
        about = f"{r['policy']} | {r['memory']:g} | {r['problem']} | {r['feedback']} | {r['noise']}"
        yield f"| {about} | {cells} | {_interval(r['slope'])} | {r['slope']['predicted']:.3f} |"


PARTS = {
    "example": _example_1,
    "hard": _hard,
    "properness": _properness,
    "switching": _switching,
    "standing": _standing,
}


def page(measured: Mapping[str, Rows]) -> Iterator[str]:
    """The page, line by line."""
    yield INTRODUCTION
    yield "## Bounds\n\n| function | what it is |\n|---|---|"
    for signature, first in _functions(bounds):
        yield f"| `{signature}` | {first.replace('|', chr(92) + '|')} |"
    yield "\n## Tuning\n\n| function | what it is |\n|---|---|"
    for signature, first in _functions(tuning):
        yield f"| `{signature}` | {first} |"
    yield """
## Hard instances and properness

| function | what it is |
|---|---|
| `theory.hard.draw_hard(arms, intervals, seed)` | App. F's instance I(p*, eps) with random p*; `.problem()` makes it a problem |
| `theory.hard.to_levels`, `to_allocation`, `HardInstance.mean` | the routine between I and its discrete twin J, and J's means |
| `theory.hard.hard_regret`, `twin_regret` | App. F's regret of a trace's allocations, and the twin's |
| `theory.hard.compare_history_with_action(problem, allocations)` | App. G's inequality on a run |
| `theory.proper.check_proper(responses)` | strict properness on a grid (App. G), with a counterexample |
| `experiments.slopes.measured_slope`, `hard_slope`, `switching_slope` | the measurements below, for any policy |
"""
    yield FAULTS
    for name, table in PARTS.items():
        yield NOTES[name]
        yield from table(measured[name])
        yield ""


def main() -> None:
    """Command line of this module."""
    write_measured("theory.md", lambda measured, _: "\n".join(page(measured)).rstrip() + "\n")


if __name__ == "__main__":
    main()
