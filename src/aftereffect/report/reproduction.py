"""`docs/reproduction.md`, written from a finished reproduction: figures, verdicts, and for those that fail, why.

python -m aftereffect.report.reproduction out/reproduction-paper --docs docs
"""

from __future__ import annotations

import argparse
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aftereffect.experiments.judges import CARRIES_OVER, INSENSITIVE, SLOPE_TOLERANCE
from aftereffect.experiments.outlook import remarks
from aftereffect.experiments.paper import load_experiments, read_verdicts
from aftereffect.experiments.run import Results
from aftereffect.report.figures import draw_all, runs_of

INTRODUCTION = f"""# Does the paper reproduce?

This page is generated from a paper-scale run (40 instances x 40 runs, T = 100,000 unless a caption says otherwise)
of `aftereffect reproduce --scale paper`, and of `aftereffect reproduce long --scale paper` for T = 1,000,000.
Nothing was tuned to make a claim hold. Each claim is one sentence, a statistic on runs paired by common random
numbers with a 95 percent interval, and a verdict; a claim about several comparisons needs all of them, with
intervals widened accordingly. "Insensitive" and "robust" mean that the regrets lie within {INSENSITIVE:.0%} of their mean,
a slope "is" the predicted one within {SLOPE_TOLERANCE:.0%}, and "carries over" means at most {CARRIES_OVER:g} times the regret.

Where the paper leaves something open, the caption says what was taken; [policies.md](policies.md) lists the
readings. Algorithm 3 is judged in both readings of its radius.
"""


def write_reproduction(directory: Path, docs: Path) -> Path:
    """Draw the figures and write the page."""
    results = [r for r in load_experiments(directory) if r.complete and r.figure is not None]
    verdicts = read_verdicts(directory)
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
    yield "## What this means\n"
    yield from (f"- {remark}" for remark in remarks(verdicts, {r.spec.name: r for r in results}))
    yield ""
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
    seeds = {
        r.manifest["seed"]: [o.spec.name for o in results if o.manifest["seed"] == r.manifest["seed"]] for r in results
    }
    said = "; ".join(f"seed {seed}: {', '.join(names)}" for seed, names in seeds.items())
    yield f"{said[0].upper()}{said[1:]}; {versions}; commit {manifest['commit'] or 'unknown'}.\n"


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
