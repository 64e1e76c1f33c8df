"""`docs/reproduction.md`, written from a finished reproduction: figures, verdicts, and for those that fail, why.

python -m aftereffect.report.reproduction out/reproduction-paper --docs docs
"""

from __future__ import annotations

import argparse
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from aftereffect.experiments.figures.general import CARRIES_OVER
from aftereffect.experiments.figures.judging import INSENSITIVE
from aftereffect.experiments.figures.negative import SLOPE_TOLERANCE
from aftereffect.experiments.outlook import remarks
from aftereffect.experiments.paper import load_experiments, read_verdicts
from aftereffect.experiments.run import Results
from aftereffect.experiments.statistics import LEVEL
from aftereffect.report.figures import draw_all, runs_of

INTRODUCTION = f"""# Does the paper reproduce?

This page is generated from finished runs of {{commands}}, T = {{horizon:,}} unless a caption says otherwise.
Nothing was tuned to make a claim hold. Each claim is one sentence, a statistic on runs paired by common random
numbers with a {LEVEL:.0%} interval, and a verdict; a claim about several comparisons needs all of them, with
intervals widened accordingly (Bonferroni). Three thresholds are ours, since the paper names none:
"insensitive" and "robust" mean that the regrets lie within {INSENSITIVE:.0%} of their mean, a slope "is" the predicted one within
{SLOPE_TOLERANCE:.0%}, and "at most half again" is {CARRIES_OVER:g} times the regret.

Where the paper leaves something open, the caption says what was taken; [policies.md](policies.md) lists the
readings. Algorithm 3 is judged in both readings of its radius, side by side in one row.
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
    commands = dict.fromkeys(f"`{r.manifest['command']}`" for r in results)
    horizon, _ = Counter(r.spec.horizon for r in results).most_common(1)[0]
    yield INTRODUCTION.format(commands=" and ".join(commands), horizon=horizon)
    yield from _table("The paper's claims", [v for v in verdicts if not v["ours"]])
    yield from _table("Questions of our own", [v for v in verdicts if v["ours"]])
    yield "## What this means\n"
    yield from (f"- {remark}" for remark in remarks(verdicts, {r.spec.name: r for r in results}))
    yield ""
    yield "## Figures\n"
    for name in figures:
        mine = [r for r in results if r.figure == name]
        yield from _figure(name, mine, [v for v in verdicts if {r.spec.name for r in mine} & set(v["figures"])])
    yield "## Provenance\n"
    yield from dict.fromkeys(_provenance(r) for r in results)
    yield ""


def _table(title: str, verdicts: list[dict[str, Any]]) -> Iterator[str]:
    """One row for each statement, with all its readings."""
    if not verdicts:
        return
    rows: dict[str, list[dict[str, Any]]] = {}
    for v in verdicts:
        rows.setdefault(v["statement"], []).append(v)
    found = Counter(_common([v["verdict"] for v in readings]) for readings in rows.values())
    yield f"## {title}\n"
    yield f"**{len(rows)}: {', '.join(f'{found[word]} {words}' for word, words in _WORDS.items() if found[word])}.**\n"
    yield "| claim | measured | verdict |\n|---|---|---|"
    for statement, readings in rows.items():
        measured = "<br>".join(f"{v['reading']}{': ' * bool(v['reading'])}{_measured(v)}" for v in readings)
        yield f"| {statement} | {measured} | {'<br>'.join('**' + v['verdict'] + '**' for v in readings)} |"
    yield ""


_WORDS = {"holds": "hold", "fails": "fail", "undecided": "undecided", "": "differ between the readings"}


def _common(words: list[str]) -> str:
    return words[0] if len(set(words)) == 1 else ""


def _measured(v: dict[str, Any]) -> str:
    return f"{_number(v['estimate'])} [{_number(v['low'])}, {_number(v['high'])}]"


def _figure(name: str, parts: Sequence[Results], verdicts: list[dict[str, Any]]) -> Iterator[str]:
    """A figure with its caption, runs and seed, and the verdicts that rest on it."""
    spec = parts[0].spec
    seeds = ", ".join(f"{seed}" for seed in dict.fromkeys(r.spec.seed for r in parts))
    yield f"### {spec.title}\n"
    yield f"![{spec.title}](images/reproduction/{name}.png)\n"
    yield f"{spec.caption} ({runs_of(parts[0])}, seed {seeds}.)\n"
    for v in verdicts:
        yield f"- **{v['verdict']}**: {v['sentence']} {v['statistic']}: {_number(v['estimate'])} "
        yield f"  [{_number(v['low'])}, {_number(v['high'])}]. {v['explanation']}".rstrip()
    yield ""


def _provenance(results: Results) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in results.manifest["versions"].items())
    return f"{versions}; commit {results.manifest['commit'] or 'unknown'}."


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
