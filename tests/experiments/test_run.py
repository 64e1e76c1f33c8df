"""Running a spec: killed and resumed, interrupted, tuned on instances of its own."""

from __future__ import annotations

import itertools
import json
import random
import signal
import time
from pathlib import Path

import numpy as np
import polars
import pytest

import aftereffect as ae
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.spec import Spec
from aftereffect.experiments.store import Store
from tests.experiments.processes import LONG, RUN, running, until
from tests.experiments.specs import TUNED, check_whole, rows, shard_names, spec, write_spec

# Kills.


def _shards_in(out: Path) -> int:
    return len(list(out.glob("shards/*.parquet")))


def _run_and_kill(path: Path, out: Path, chance: random.Random) -> bool:
    """Start the experiment and kill it at a random moment; False if it was done before."""
    with running("-c", RUN, path, out) as process:
        if chance.random() < 0.3:  # at any time, also before there is anything
            end = time.monotonic() + chance.uniform(0.0, 4.0)
            until(lambda: time.monotonic() > end or process.poll() is not None, "a moment")
        else:  # soon after some more shards are there
            wanted = _shards_in(out) + chance.randint(1, 3)
            until(lambda: _shards_in(out) >= wanted or process.poll() is not None, "more shards")
            time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        return process.wait() == -signal.SIGKILL


def _kill_again_and_again(wanted: Spec, directory: Path, kills: int, seed: int) -> None:
    undisturbed = run_spec(wanted, directory / "undisturbed")
    path = write_spec(directory, LONG)
    chance = random.Random(seed)
    killed = rounds = 0
    while killed < kills:
        out = directory / f"out-{rounds}"
        rounds += 1
        while killed < kills and _run_and_kill(path, out, chance):
            killed += 1
        said: list[str] = []
        store = run_spec(wanted, out, executor=Threads(2), say=said.append)
        assert said == []  # a kill leaves no torn file under a shard's name
        assert shard_names(store) == shard_names(undisturbed)
        assert rows(store).equals(rows(undisturbed))
        check_whole(store, wanted, problems=6, policies=3)


def test_killed_three_times_and_resumed(tmp_path: Path) -> None:
    _kill_again_and_again(spec(LONG), tmp_path, kills=3, seed=1)


@pytest.mark.soak
def test_killed_thirty_times_and_resumed(tmp_path: Path) -> None:
    _kill_again_and_again(spec(LONG), tmp_path, kills=30, seed=2)


def test_an_interrupt_keeps_what_is_finished_and_leaves_nothing_torn(tmp_path: Path) -> None:
    wanted, out = spec(LONG), tmp_path / "out"
    with running("-c", RUN, write_spec(tmp_path, LONG), out) as process:
        until(lambda: _shards_in(out) >= 2 or process.poll() is not None, "two shards")
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert (process.returncode, errors) == (130, "")
    kept = shard_names(Store(out))
    assert 2 <= len(kept) < Plan(wanted).shard_count
    assert not list(out.rglob(".part-*"))
    store = run_spec(wanted, out)
    assert set(kept) <= set(shard_names(store))
    check_whole(store, wanted, problems=6, policies=3)


# Tuning.


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Results:
    return Results(run_spec(spec(TUNED), tmp_path_factory.mktemp("tuned") / "out").directory)


CANDIDATES = [f"d-ucb:discount={d}" for d in (0.5, 0.7, 0.95)]


def test_the_whole_search_is_written(tuned: Results) -> None:
    searches = json.loads((tuned.store.directory / "tuning.json").read_text())
    assert searches == tuned.tuning()
    assert [s["problem"] for s in searches] == ["gaussian:memory=0.2", "gaussian:memory=0.6"]
    for search in searches:
        assert search["policy"] == "d-ucb (tuned)"
        assert list(search["candidates"]) == CANDIDATES
    frame = rows(tuned.store, "tuning")
    assert frame.height == 2 * len(CANDIDATES) * 3 * 2
    assert set(frame["round"]) == {200}


def test_the_choice_has_the_least_mean_regret(tuned: Results) -> None:
    means = rows(tuned.store, "tuning").group_by("problem", "policy").agg(polars.col("regret").mean())
    for search in tuned.tuning():
        found = search["candidates"]
        assert isinstance(found, dict)
        measured = means.filter(polars.col("problem") == search["problem"])
        assert found == pytest.approx(dict(zip(measured["policy"], measured["regret"], strict=True)))
        assert search["chosen"] == min(found, key=lambda c: found[c])


def test_the_search_is_what_simulate_gives_on_the_tuning_seed(tuned: Results) -> None:
    seed = Plan(spec(TUNED)).tuning_seed
    policies = [ae.policy("d-ucb", discount=d) for d in (0.5, 0.7, 0.95)]
    direct = ae.simulate(
        ae.family("gaussian", memory=0.2), policies, 200, instances=3, runs=2, seed=seed, checkpoints=1
    )
    found = tuned.tuning()[0]["candidates"]
    assert found == pytest.approx({p.key: direct[p.key].regret.mean() for p in policies})


def test_the_experiment_uses_the_choice(tuned: Results) -> None:
    for search in tuned.tuning():
        problem, chosen = str(search["problem"]), str(search["chosen"])
        assert set(tuned.rows(problem, "d-ucb (tuned)")["parameters"]) == {chosen}
        direct = ae.simulate(
            ae.family("gaussian", memory=float(problem.partition("=")[2])),
            ae.policy("d-ucb", discount=float(chosen.partition("=")[2])),
            horizon=300,
            instances=2,
            runs=2,
            checkpoints=3,
        )
        np.testing.assert_array_equal(tuned.curves(problem, "d-ucb (tuned)"), direct.regret)
        assert set(tuned.rows(problem, "round-robin")["parameters"]) == {"round-robin"}


def test_tuning_instances_are_never_the_experiments_own() -> None:
    for seed in range(60):
        plan = Plan(spec(TUNED, seed=seed))
        main, tuning = plan.main_tasks({}), plan.tuning_tasks()
        assert {t.seed for t in main} == {seed}
        assert {t.seed for t in tuning} == {plan.tuning_seed}
        assert plan.tuning_seed != seed
    seeds = {Plan(spec(TUNED, seed=seed)).tuning_seed for seed in range(60)}
    assert len(seeds) == 60
    assert not seeds & set(range(60))


def test_nothing_is_written_about_tuning_where_there_is_none(tmp_path: Path) -> None:
    results = Results(run_spec(spec(), tmp_path / "out").directory)
    assert results.tuning() == []
    assert not (results.store.directory / "tuning.json").exists()


# Plans.


def test_blocks_cover_every_run_once() -> None:
    for runs, horizon, checkpoints in (
        (1, 100, 1),
        (7, 100, 3),
        (9, 10_000_000, 5),
        (3, 30_000_000, 2),
        (40, 100_000, 100_000),
    ):
        plan = Plan(spec(runs=runs, horizon=horizon, checkpoints=checkpoints, instances=3))
        first = plan.problems[0], plan.labels[0]
        blocks = [t.block for t in plan.main_tasks({}) if (t.problem, t.label) == first]
        covered = [place for b in blocks for place in itertools.product(range(*b.instances), range(*b.runs))]
        assert sorted(covered) == list(itertools.product(range(3), range(runs)))
        assert len(blocks) >= 2
        assert plan.shard_count == len(plan.main_tasks({}))
        assert plan.work == sum(t.work for t in plan.main_tasks({}))
        assert all(block.count * checkpoints <= 500_000 for block in blocks)


def test_tuning_counts_in_the_plan() -> None:
    plan = Plan(spec(TUNED))
    tasks = [*plan.tuning_tasks(), *plan.main_tasks({})]
    assert plan.shard_count == len(tasks) == len({t.name for t in tasks})
    assert plan.work == sum(t.work for t in tasks)
