"""What `run`, `reproduce` and `report` do: read the request, run it with progress on a terminal, say where things are."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from aftereffect.cli.messages import say
from aftereffect.cli.progress import duration, sweep_bars
from aftereffect.errors import AftereffectError, require_one_of
from aftereffect.experiments.executors import DaskCluster, Executor, Threads
from aftereffect.experiments.paper import load_experiments, read_verdicts, reproduce, to_do, write_verdicts
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec, write_rows
from aftereffect.experiments.spec import Spec, load_specs, parse_specs, read_content
from aftereffect.experiments.store import require_ours
from aftereffect.report.drawing import BANDS
from aftereffect.simulation.provenance import written_command
from aftereffect.simulation.result import in_words


def executor_for(scheduler: str | None, threads: int | None) -> Executor:
    """Where to compute: this process's threads, or a Dask cluster."""
    return DaskCluster(scheduler) if scheduler is not None else Threads(threads)


def read_piece(text: str | None) -> tuple[int, int] | None:
    """`--shard i/n` as two numbers."""
    if text is None:
        return None
    found = re.fullmatch(r"(\d+)/(\d+)", text.strip())
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise AftereffectError(f"--shard takes i/n with 1 <= i <= n, for example 3/16, got {text!r}")
    return int(found[1]), int(found[2])


def check_spec(path: str, threads: int | None) -> None:
    """Say what a spec would run, and about how long."""
    for spec in load_specs(path):
        print("\n".join(_described(Plan(spec), threads)))


def _described(plan: Plan, threads: int | None) -> Iterator[str]:
    spec = plan.spec
    runs = in_words(spec.instances, spec.runs) + " of 1 instance" * (spec.instances == 1)
    yield f"{spec.name}: {runs}, {spec.horizon:,} rounds each, for each policy on each problem, seed {spec.seed}"
    yield from (f"  problem {problem}" for problem in plan.problems)
    for (_, candidates), label in zip(plan.policies, plan.labels, strict=True):
        yield f"  policy  {label}" + (f", chosen from {len(candidates)}" if candidates else "")
    work = f"  {plan.shard_count} shards, {plan.work:,} rounds"
    if plan.unknown_cost:
        yield f"{work}: how long cannot be told, rounds can be thousands of times slower with {', '.join(plan.unknown_cost)}"
        return
    cores = threads or os.cpu_count() or 1
    seconds = plan.estimated_seconds / cores
    yield f"{work}: about {duration(seconds)} on {cores} cores (from typical speeds, compiling not counted)"


@contextmanager
def resumable(directory: Path) -> Iterator[None]:
    """Say how to go on when a run is interrupted."""
    try:
        yield
    except KeyboardInterrupt:
        say(f"stopped; what is finished is kept in {str(directory)!r}, the same command goes on from there")
        raise


def run_file(
    path: str,
    out: str | None,
    scheduler: str | None,
    threads: int | None,
    piece: str | None,
    fresh: bool,
    quiet: bool,
    band: str,
) -> None:
    """`aftereffect run`."""
    require_one_of("band", band, BANDS)
    content = read_content(path)
    specs = parse_specs(content)
    directory = Path(out) if out is not None else Path("out") / content["name"]
    places = _places(directory, specs)
    part = read_piece(piece)
    if part is not None and fresh:
        raise AftereffectError(
            "--fresh with --shard would remove the other pieces; empty the directory once, then start them"
        )
    with resumable(directory), sweep_bars(_work(places.values()), quiet) as progress:
        for place, plan in places.items():
            run_spec(
                plan,
                place,
                executor=executor_for(scheduler, threads),
                fresh=fresh,
                piece=part,
                command=written_command(),
                progress=progress,
                say=say,
            )
    if part is None:
        _show(directory, load_experiments(directory), band, [])
    else:
        print(f"piece {part[0]} of {part[1]} is in {directory}; when all are there: aftereffect report {directory}")


def _places(directory: Path, specs: list[Spec]) -> dict[Path, Plan]:
    """Where each of a file's experiments goes: several have a directory of their own each."""
    if len(specs) == 1:
        return {directory: Plan(specs[0])}
    require_ours(directory)
    if (directory / "manifest.json").exists():
        raise AftereffectError(f"{str(directory)!r} holds one experiment, not {len(specs)}; choose another --out")
    return {directory / spec.name: Plan(spec) for spec in specs}


def _work(plans: Iterable[Plan]) -> dict[str, int]:
    """Rounds by policy label."""
    work: Counter[str] = Counter()
    for task in (task for plan in plans for task in (*plan.tuning_tasks(), *plan.main_tasks({}))):
        work[task.label] += task.work
    return work


def reproduce_figures(
    figures: list[str],
    scale: str,
    out: str | None,
    scheduler: str | None,
    threads: int | None,
    fresh: bool,
    quiet: bool,
    band: str,
) -> None:
    """`aftereffect reproduce`."""
    require_one_of("band", band, BANDS)
    directory = Path(out) if out is not None else Path("out") / f"reproduction-{scale}"
    experiments = to_do(figures, scale)
    require_ours(directory)
    with resumable(directory), sweep_bars(_work(e.plan for e in experiments), quiet) as progress:
        results = reproduce(
            experiments,
            directory,
            command=written_command(),
            executor=executor_for(scheduler, threads),
            fresh=fresh,
            progress=progress,
            say=say,
        )
    _show(directory, results, band, read_verdicts(directory))


def report_directory(out: str, band: str, log: bool, against: list[str]) -> None:
    """`aftereffect report`."""
    require_one_of("band", band, BANDS)
    directory = Path(out)
    if _only_a_frontier(directory):
        return
    results = load_experiments(directory)
    for remark in (remark for r in results for remark in r.remarks):
        say(remark)
    _show(directory, results, band, write_verdicts(directory, results), log, against)


def _only_a_frontier(directory: Path) -> bool:
    """A directory that `frontier` wrote and no experiment: its page is written again."""
    from aftereffect.experiments.frontier import read_frontier
    from aftereffect.report.page import write_page

    if any(directory.glob("manifest.json")) or any(directory.glob("*/manifest.json")):
        return False
    document = read_frontier(directory)
    if document is None:
        return False
    print(f"page:    {write_page(directory / 'report.html', [], frontiers=[document])}")
    return True


def _show(
    directory: Path,
    results: list[Results],
    band: str,
    verdicts: list[dict[str, Any]],
    log: bool = False,
    against: Sequence[str] = (),
) -> None:
    """Draw the figures, write the page and the rows, print verdicts or means, and say where everything is."""
    from aftereffect.experiments.frontier import read_frontier
    from aftereffect.report.against import draw_against
    from aftereffect.report.figures import Axis, draw_all
    from aftereffect.report.page import write_page

    for r in results:
        if not r.complete:
            say(f"{r.spec.name} is not complete: {r.shards} of {r.store.plan.shard_count} shards are there")
    whole = [r for r in results if r.complete]
    if not whole:
        raise AftereffectError(f"{str(directory)!r} holds no complete experiment yet; run the missing pieces first")
    for parameter in against:  # first: an unknown one is said before anything is shown
        draw_against(parameter, whole, directory / "figures", log)
    for line in (text for r in whole for text in _means(r)):
        print(line)
    print()
    for line in _verdict_lines(verdicts):
        print(line)
    draw_all(whole, directory / "figures", Axis(band, log))
    frontier = read_frontier(directory)
    page = write_page(directory / "report.html", whole, verdicts, [frontier] if frontier else [])
    rows = write_rows(directory, whole)
    print(f"figures: {directory / 'figures'}")
    print(f"page:    {page}")
    print(f"rows:    {rows}")


_MARKS: dict[str, str] = {"holds": "holds    ", "fails": "FAILS    ", "undecided": "undecided"}


def _verdict_lines(verdicts: list[dict[str, object]]) -> Iterator[str]:
    for v in verdicts:
        low, high = (f"{v[end]:,.4g}" if v[end] is not None else "?" for end in ("low", "high"))
        span = f"{v['estimate']:,.4g} [{low}, {high}]"
        yield f"{_MARKS[str(v['verdict'])]}  {v['sentence']}  ({span})"


def _means(results: Results) -> Iterator[str]:
    yield f"\n{results.spec.title or results.spec.name}"
    for problem in results.problems:
        yield f"  {problem}: mean regret at T = {results.spec.horizon:,}"
        order: Callable[[str], float] = lambda p: float(results.curves(problem, p)[:, -1].mean())  # noqa: E731, B023
        for policy in sorted(results.policies, key=order):
            yield f"    {order(policy):>12,.1f}  {policy}"
