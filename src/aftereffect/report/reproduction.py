"""`docs/reproduction.md`, written from a finished reproduction: figures, verdicts, and for those that fail, why.

python -m aftereffect.report.reproduction out/reproduction-paper --docs docs
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aftereffect.experiments.paper import load_experiments, write_verdicts
from aftereffect.experiments.run import Results
from aftereffect.report.figures import draw_all, runs_of

INTRODUCTION = """# Does the paper reproduce?

This page is generated from a paper-scale run (40 instances x 40 runs, T = 100,000 unless a caption says otherwise)
of `aftereffect reproduce --scale paper`, and of `aftereffect reproduce long --scale paper` for T = 1,000,000.
Nothing was tuned to make a claim hold. Each claim is one sentence, a statistic on runs paired by common random
numbers with a 95 percent interval, and a verdict; a claim about several comparisons needs all of them, with
intervals widened accordingly.

Where the paper leaves something open, the caption says what was taken; [policies.md](policies.md) lists the
readings. Algorithm 3 is judged in both readings of its radius.
"""

OUTLOOK = """## What this means

- **Fig. 2(a), 2(b) and 2(c)** come out as the paper says, in its own reading of the baselines.
- **At memory .6 and for three arms and more, D-UCB with discount .8 has lower regret than Algorithm 3 at
  T = 100,000.** With that discount D-UCB keeps at most five effective samples and plays the arms in turn, whatever
  they pay. That is not learning: its regret is a straight line. But on this problem an arm that comes up every K
  rounds happens to have, when it is played, an impact close to the responses' peak, so the line is flat; Algorithm
  3's radii, as wide as its proof needs, make it explore almost uniformly for the whole of this horizon.
- **At T = 1,000,000** the printed radius has passed D-UCB at memory .6, and with zero on the grid it is level with it
  for three arms. Everywhere else D-UCB still leads. Sublinear beats linear in the end, but with these radii the end is
  beyond a million rounds.
- **The grid without zero** costs Algorithm 3 a constant share for three arms and more, where the best allocation
  gives all but two arms nothing. At T = 1,000,000 and five arms the printed radius loses a third less with zero than
  without; under the lemmas' radius exploration nearly hides the difference.
- **Fig. 2(a)'s order turns with details** that the paper does not state: CUCB without clipping on the coarser grid of
  its own analysis passes Algorithm 1. With clipped bounds many cells tie; ties are broken at random here.
- **The printed radius** ln(L rho) is nearly greedy at rho = .2. It often does better than the lemmas' and sometimes
  gets stuck: its spread over runs is many times wider.
- **The grid searches** do not pick .8 and 200. All discounts up to .8 are round-robin and differ by less than one
  percent; for SW-UCB the shortest window on offer is the best at every memory.
- **A fixed allocation is not always the best one can do.** With g(x) = x^2 (figure `general`) D-UCB's regret is
  negative: playing the arms in turn earns more than any fixed allocation does; see [dynamic.md](dynamic.md).
"""


def write_reproduction(directory: Path, docs: Path) -> Path:
    """Draw the figures and write the page."""
    results = [r for r in load_experiments(directory) if r.complete and r.figure is not None]
    verdicts = write_verdicts(directory, results)
    pictures = {path.stem: path for path in draw_all(results, directory / "figures") if path.suffix == ".png"}
    images = docs / "images" / "reproduction"
    images.mkdir(parents=True, exist_ok=True)
    for path in pictures.values():
        shutil.copy(path, images / path.name)
    page = docs / "reproduction.md"
    page.write_text("\n".join(_page(results, verdicts, list(pictures))))
    return page


def _page(results: Sequence[Results], verdicts: list[dict[str, Any]], figures: list[str]) -> Iterator[str]:
    yield INTRODUCTION
    counts = {word: sum(v["verdict"] == word for v in verdicts) for word in ("holds", "fails", "undecided")}
    yield f"**{len(verdicts)} claims: {counts['holds']} hold, {counts['fails']} fail, {counts['undecided']} undecided.**\n"
    yield "| claim | measured | verdict |\n|---|---|---|"
    for v in verdicts:
        yield f"| {v['sentence']} | {_number(v['estimate'])} [{_number(v['low'])}, {_number(v['high'])}] | **{v['verdict']}** |"
    yield ""
    yield OUTLOOK
    yield "## Figures\n"
    for name in figures:
        first = next(r for r in results if r.figure == name)
        yield f"### {first.spec.title}\n"
        yield f"![{first.spec.title}](images/reproduction/{name}.png)\n"
        yield f"{first.spec.caption} ({runs_of(first)}.)\n"
        mine = [v for v in verdicts if any(f == name or f.startswith(f"{name}-") for f in v["figures"])]
        for v in mine:
            yield f"- **{v['verdict']}**: {v['sentence']} {v['statistic']}: {_number(v['estimate'])} "
            yield f"  [{_number(v['low'])}, {_number(v['high'])}]. {v['explanation']}".rstrip()
        yield ""
    yield "## Provenance\n"
    manifest = results[0].manifest
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    yield f"Seed {manifest['seed']}; {versions}; commit {manifest['commit'] or 'unknown'}.\n"


def _number(value: float | None) -> str:
    if value is None:
        return "?"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def main() -> None:
    """Command line of this module."""
    parser = argparse.ArgumentParser(description="Write docs/reproduction.md from a finished reproduction.")
    parser.add_argument("directory", type=Path)
    parser.add_argument("--docs", type=Path, default=Path("docs"))
    arguments = parser.parse_args()
    print(write_reproduction(arguments.directory, arguments.docs))


if __name__ == "__main__":
    main()
