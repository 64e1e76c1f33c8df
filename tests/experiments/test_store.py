"""An experiment's directory: whole files or none, nothing lost, nothing twice, nothing of another experiment."""

from __future__ import annotations

import errno
import json
import os
import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

import aftereffect as ae
from aftereffect import _files
from aftereffect.errors import AftereffectError
from aftereffect.experiments import executors
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.manifest import describe_difference, sealed
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.shards import Block
from aftereffect.experiments.spec import Spec
from aftereffect.experiments.store import Store
from tests.experiments.specs import TUNED, check_whole, rows, shard_names, spec


@pytest.fixture
def wanted() -> Spec:
    return spec()


@pytest.fixture
def store(wanted: Spec, tmp_path: Path) -> Store:
    return run_spec(wanted, tmp_path / "out")


def _no_computing(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> bytes:
        raise AssertionError("nothing was to be computed")

    monkeypatch.setattr(executors, "compute", refuse)


# What is in the files.


def test_results_are_those_of_simulate_number_for_number(store: Store, wanted: Spec) -> None:
    results = Results(store.directory)
    assert results.complete
    for memory in (0.2, 0.6):
        policies = [ae.policy("d-ucb", discount=0.7), ae.policy("d-ucb", discount=0.9), ae.policy("round-robin")]
        direct = ae.simulate(
            ae.family("gaussian", memory=memory), policies, horizon=300, instances=2, runs=3, seed=7, checkpoints=4
        )
        for policy in policies:
            problem = f"gaussian:memory={memory}"
            for column in ("regret", "realised_regret", "utility"):
                np.testing.assert_array_equal(
                    results.curves(problem, policy.key, column), getattr(direct[policy.key], column)
                )
            np.testing.assert_allclose(
                results.averages(problem, policy.key, "allocation"),
                direct[policy.key].allocations.mean(axis=0),
                rtol=1e-6,
            )
            np.testing.assert_allclose(
                results.averages(problem, policy.key, "impact"), direct[policy.key].impacts.mean(axis=0), rtol=1e-6
            )


def test_grid_regret_is_there_for_policies_with_a_grid(tmp_path: Path) -> None:
    policies = [{"policy": "history-ucb"}, {"policy": "round-robin"}]
    results = Results(run_spec(spec(policies=policies, runs=1, instances=2), tmp_path / "out").directory)
    direct = ae.simulate(
        ae.family("gaussian", memory=0.2), ae.policy("history-ucb"), 300, instances=2, runs=1, seed=7, checkpoints=4
    )
    np.testing.assert_array_equal(
        results.curves("gaussian:memory=0.2", "history-ucb", "grid_regret"), direct.grid_regret
    )
    assert results.rows("gaussian:memory=0.2", "round-robin")["grid_regret"].null_count() == 2 * 4


def test_no_row_is_lost_or_there_twice(store: Store, wanted: Spec) -> None:
    check_whole(store, wanted, problems=2, policies=3)
    assert len(shard_names(store)) == store.manifest()["shards"] == 12


def test_pandas_reads_the_files(store: Store) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    read = pandas.concat(pandas.read_parquet(path) for path in store.shards.glob("*.parquet"))
    assert len(read) == rows(store).height
    assert read["regret"].sum() == pytest.approx(rows(store)["regret"].sum())


def test_duckdb_reads_the_files(store: Store) -> None:
    duckdb = pytest.importorskip("duckdb")
    found = duckdb.sql(f"select count(*), sum(regret) from '{store.shards}/*.parquet'").fetchall()[0]
    assert found == (rows(store).height, pytest.approx(rows(store)["regret"].sum()))


def test_the_manifest_says_where_results_come_from(store: Store, wanted: Spec) -> None:
    manifest = json.loads((store.directory / "manifest.json").read_text())
    assert manifest["hash"] == Plan(wanted).digest
    assert manifest["seed"] == 7
    assert store.plan.spec == wanted
    assert {"aftereffect", "numpy", "numba", "polars", "python"} <= set(manifest["versions"])
    assert all(manifest["versions"].values())
    assert set(manifest["machine"]) == {"system", "architecture", "cores"}
    assert manifest["commit"] is None or len(manifest["commit"]) == 40


# Running again.


def test_running_again_computes_nothing(store: Store, wanted: Spec, monkeypatch: pytest.MonkeyPatch) -> None:
    before = shard_names(store)
    _no_computing(monkeypatch)
    done: list[int] = []
    run_spec(wanted, store.directory, progress=lambda _, rounds: done.append(rounds))
    assert shard_names(store) == before
    assert sum(done) == Plan(wanted).work  # what is there counts as progress


def test_words_about_an_experiment_may_change(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    _no_computing(monkeypatch)
    run_spec(spec(title="Another title", caption="Another caption", scales={"quick": {}}), store.directory)


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"seed": 8}, "seed is 7 there, 8 here"),
        ({"horizon": 301}, "horizon is 300 there, 301 here"),
        ({"checkpoints": [5]}, r"checkpoints is 4 there, \[5\] here"),
        ({"problems": [{"family": "gaussian", "memory": [0.2, 0.5]}]}, r"problems\[0\].memory\[1\] is 0.6 there, 0.5 here"),
        ({"policies": [{"policy": "round-robin"}]}, r"policies\[0\].policy is 'd-ucb' there, 'round-robin' here"),
        ({"problems": [{"family": "gaussian", "memory": [0.2]}]}, r"problems\[0\].memory has 2 entries there, 1 here"),
    ],
)  # fmt: skip
def test_another_spec_is_refused_naming_the_difference(store: Store, changes: dict[str, Any], difference: str) -> None:
    before = shard_names(store)
    with pytest.raises(AftereffectError, match=rf"holds another experiment \({difference}\); use --fresh"):
        run_spec(spec(**changes), store.directory)
    assert shard_names(store) == before


def test_fresh_starts_over(store: Store, wanted: Spec, tmp_path: Path) -> None:
    (store.directory / "notes.txt").write_text("mine")
    left = store.shards / ".part-01234567-0123456789abcdef"
    left.write_text("torn")
    other = spec(seed=8)
    run_spec(other, store.directory, fresh=True)
    assert shard_names(store) == shard_names(run_spec(other, tmp_path / "other"))
    assert Store(store.directory).plan.spec == other
    assert (store.directory / "notes.txt").read_text() == "mine"
    assert not left.exists()


# Other people's files.


@pytest.fixture
def own(store: Store) -> dict[Path, str]:
    """A user's own files in places where ours are."""
    stranger = f"main-{'0' * 24}.{'1' * 24}.parquet"
    files = {
        store.shards / "data.parquet": "my data",
        store.shards / stranger: "a shard of something else",
        store.shards / "notes.txt": "my notes",
        store.shards / ".part-of my own": "mine",
        store.directory / ".part-mine": "mine",
        store.directory / "tuning.json": "my own tuning",
    }
    for path, content in files.items():
        path.write_text(content)
    return files


@pytest.mark.parametrize("fresh", [False, True])
def test_files_of_others_are_left_alone_and_left_out(
    fresh: bool, store: Store, own: dict[Path, str], tmp_path: Path
) -> None:
    wanted = spec(seed=8) if fresh else spec()
    said: list[str] = []
    run_spec(wanted, store.directory, fresh=fresh, say=said.append)
    for path, content in own.items():
        assert path.read_text() == content
    assert sorted(said) == [
        f"{name} is no shard of this experiment; it is left out"
        for name in sorted(p.name for p in own if p.suffix == ".parquet")
    ]
    results = Results(store.directory)
    assert results.complete
    assert sorted(results.remarks) == sorted(said)
    whole = Results(run_spec(wanted, tmp_path / "other").directory)
    for problem in whole.problems:
        for policy in whole.policies:
            np.testing.assert_array_equal(results.curves(problem, policy), whole.curves(problem, policy))
    assert results.store.frame().collect().height == whole.store.frame().collect().height


def test_fresh_removes_the_tuning_that_it_wrote(tmp_path: Path) -> None:
    store = run_spec(spec(TUNED), tmp_path / "out")
    run_spec(spec(name="tuned"), store.directory, fresh=True)
    assert not (store.directory / "tuning.json").exists()


@pytest.mark.parametrize("fresh", [False, True])
@pytest.mark.parametrize("content", ['{"name": "a web page", "manifest_version": 3}', "[]", "", "{", "null", "\udcff"])
def test_a_foreign_manifest_is_left_alone(content: str, fresh: bool, wanted: Spec, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_bytes(content.encode("utf-8", "surrogateescape"))
    with pytest.raises(AftereffectError, match="manifest") as error:
        run_spec(wanted, tmp_path, fresh=fresh)
    assert len(str(error.value).splitlines()) == 1
    assert path.read_bytes() == content.encode("utf-8", "surrogateescape")
    assert [p.name for p in tmp_path.iterdir()] == ["manifest.json"]


@pytest.mark.parametrize("fresh", [False, True])
def test_shards_behind_a_symlink_are_left_alone(fresh: bool, store: Store, wanted: Spec) -> None:
    elsewhere = store.directory.with_name("elsewhere")
    store.shards.rename(elsewhere)
    store.shards.symlink_to(elsewhere)
    before = sorted(p.name for p in elsewhere.iterdir())
    with pytest.raises(AftereffectError, match="is a symlink"):
        run_spec(wanted, store.directory, fresh=fresh)
    assert sorted(p.name for p in elsewhere.iterdir()) == before


def test_a_symlink_in_place_of_tuning_is_left_alone(tmp_path: Path) -> None:
    store = run_spec(spec(TUNED), tmp_path / "out")
    (tmp_path / "mine.json").write_text("mine")
    (store.directory / "tuning.json").unlink()
    (store.directory / "tuning.json").symlink_to(tmp_path / "mine.json")
    with pytest.raises(AftereffectError, match="is a symlink"):
        run_spec(spec(TUNED), store.directory)
    assert (tmp_path / "mine.json").read_text() == "mine"


def test_a_directory_named_by_a_symlink_is_the_users_choice(wanted: Spec, tmp_path: Path) -> None:
    (tmp_path / "disk").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "disk")
    assert Results(run_spec(wanted, tmp_path / "out").directory).complete


# Several at once.


def _at_once(specs: list[Spec], directory: Path, monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """Start all into one directory, none before all have seen that it is empty; what each was refused with."""
    together = threading.Barrier(len(specs))
    looked = Store._is_foreign

    def look(store: Store) -> bool:
        found = looked(store)
        together.wait(timeout=60)
        return found

    def start(wanted: Spec) -> str | None:
        try:
            run_spec(wanted, directory, executor=Threads(1))
        except AftereffectError as error:
            return str(error)
        return None

    monkeypatch.setattr(Store, "_is_foreign", look)
    with ThreadPoolExecutor(len(specs)) as pool:
        return list(pool.map(start, specs))


def test_of_two_experiments_started_at_once_one_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outcomes = _at_once([spec(seed=1), spec(seed=2)], tmp_path, monkeypatch)
    assert sorted(o is None for o in outcomes) == [False, True]
    assert "holds another experiment (seed is" in next(o for o in outcomes if o)
    won = Results(tmp_path)
    assert won.spec.seed == 1 + outcomes.index(None)
    assert (won.complete, won.remarks) == (True, [])


def test_processes_of_one_experiment_may_start_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _at_once([spec()] * 3, tmp_path, monkeypatch) == [None] * 3
    assert Results(tmp_path).complete


def test_fresh_waits_for_nobody_and_removes_nothing_under_others(store: Store, wanted: Spec) -> None:
    before = shard_names(store)
    with store.opened(Plan(wanted), ""):
        run_spec(wanted, store.directory)  # the same experiment may come in
        with pytest.raises(AftereffectError, match="another process works in it, and --fresh would remove"):
            run_spec(spec(seed=8), store.directory, fresh=True)
    assert shard_names(store) == before
    run_spec(spec(seed=8), store.directory, fresh=True)


def test_without_locks_a_directory_that_was_taken_over_is_noticed(
    store: Store, wanted: Spec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_files, "fcntl", None)
    with pytest.raises(AftereffectError, match="holds another experiment"):  # noqa: SIM117
        with store.opened(Plan(wanted), ""):
            run_spec(spec(seed=8), store.directory, fresh=True)
    assert Results(store.directory).complete


def test_without_links_the_directory_is_still_claimed_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: Any) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", unsupported)
    outcomes = _at_once([spec(seed=1), spec(seed=2)], tmp_path, monkeypatch)
    assert sorted(o is None for o in outcomes) == [False, True]


# Words.


def test_describe_difference_ignores_words() -> None:
    assert describe_difference({"title": "a", "runs": 1}, {"title": "b", "runs": 2}) == "runs is 1 there, 2 here"
    assert describe_difference({"a": {"b": [1, 2]}}, {"a": {"b": [1, 3]}}) == "a.b[1] is 2 there, 3 here"
    assert describe_difference({"a": 1}, {"a": 1, "b": 2}) == "b is None there, 2 here"


# Damage.


def _torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _edited(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _renamed(path: Path) -> None:
    path.rename(path.with_name(f"{path.name.partition('.')[0]}.{'0' * 24}.parquet"))


@pytest.mark.parametrize("damage", [_torn, _empty, _edited, _renamed])
def test_a_damaged_shard_is_said_and_computed_again(damage: Callable[[Path], None], store: Store, wanted: Spec) -> None:
    before, undisturbed = shard_names(store), rows(store)
    damage(store.shards / before[3])
    assert not Results(store.directory).complete  # reading neither counts it nor removes it
    assert len(shard_names(store)) == len(before)
    said: list[str] = []
    run_spec(wanted, store.directory, say=said.append)
    assert len(said) == 1
    assert "was torn or edited; it is computed again" in said[0]
    assert shard_names(store) == before
    assert rows(store).equals(undisturbed)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_a_shard_that_is_no_file_is_refused_at_once(kind: str, store: Store, wanted: Spec) -> None:
    path = store.shards / shard_names(store)[3]
    path.unlink()
    os.mkfifo(path) if kind == "pipe" else path.symlink_to("/dev/zero")
    for attempt in (lambda: Results(store.directory), lambda: run_spec(wanted, store.directory)):
        with pytest.raises(AftereffectError, match=r"cannot check the shards in .*: it is no regular file"):
            attempt()


def test_missing_shards_are_computed_again(store: Store, wanted: Spec) -> None:
    before = shard_names(store)
    for name in before[::5]:
        (store.shards / name).unlink()
    assert not Results(store.directory).complete
    run_spec(wanted, store.directory)
    assert shard_names(store) == before
    assert Results(store.directory).complete


def test_damaged_tuning_is_searched_again(tmp_path: Path) -> None:
    wanted = spec(TUNED)
    store = run_spec(wanted, tmp_path / "out")
    before, chosen = shard_names(store), Results(store.directory).tuning()
    _torn(store.shards / next(name for name in before if name.startswith("tuning")))
    (store.directory / "tuning.json").unlink()
    said: list[str] = []
    run_spec(wanted, store.directory, say=said.append)
    assert len(said) == 1
    assert shard_names(store) == before
    assert Results(store.directory).tuning() == chosen


def _swap(first: Path, second: Path) -> None:
    aside = first.with_name("aside")
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


def _swap_works(first: Path, second: Path) -> None:
    """Each keeps its digest and takes the other's place."""
    (one, _, rest), (two, _, end) = (path.name.partition(".") for path in (first, second))
    first.rename(first.with_name("aside"))
    second.rename(second.with_name(f"{one}.{end}"))
    first.with_name("aside").rename(first.with_name(f"{two}.{rest}"))


@pytest.mark.parametrize("swap", [_swap, _swap_works])
def test_shards_in_one_anothers_place_do_not_count(
    swap: Callable[[Path, Path], None], store: Store, wanted: Spec
) -> None:
    before, undisturbed = shard_names(store), rows(store)
    swap(store.shards / before[1], store.shards / before[7])
    results = Results(store.directory)
    assert results.shards == 10
    assert len(results.remarks) == 2
    run_spec(wanted, store.directory)
    assert shard_names(store) == before
    assert rows(store).equals(undisturbed)


def test_a_shard_of_another_seed_is_named_and_left_out(store: Store, tmp_path: Path) -> None:
    other = run_spec(spec(seed=8), tmp_path / "other")
    stray = shard_names(other)[0]
    (store.shards / stray).write_bytes((other.shards / stray).read_bytes())
    results = Results(store.directory)
    assert results.remarks == [f"{stray} is no shard of this experiment; it is left out"]
    assert results.shards == len(shard_names(store)) - 1


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ({"title": "Another"}, 12),
        ({"name": "other"}, 12),
        ({"policies": [{"policy": "round-robin"}, {"policy": "d-ucb", "discount": [0.9, 0.7]}]}, 12),
        ({"policies": [{"policy": "round-robin"}, {"policy": "exp3"}]}, 4),
        ({"problems": [{"family": "gaussian", "memory": [0.9, 0.6, 0.2]}]}, 12),
        ({"seed": 8}, 0),
        ({"horizon": 301}, 0),
        ({"checkpoints": 5}, 0),
    ],
)
def test_a_shards_name_is_its_work_and_neither_the_spec_nor_a_place_in_it(changes: dict[str, Any], kept: int) -> None:
    assert len(Plan(spec()).names & Plan(spec(**changes)).names) == kept


def test_a_block_is_the_same_work_with_more_instances_or_runs() -> None:
    def work(**changes: Any) -> dict[Block, set[str]]:
        found: dict[Block, set[str]] = {}
        for task in Plan(spec(**changes)).main_tasks({}):
            found.setdefault(task.block, set()).add(task.name)
        return found

    small, tall = work(instances=2, runs=3), work(instances=4, runs=1)
    wide, high = work(instances=2, runs=6), work(instances=4, runs=3)
    for more in (wide, high):
        assert all(names == small[block] for block, names in more.items() if block in small)
    assert not set().union(*small.values()) & set().union(*tall.values())


def test_another_version_of_the_code_is_other_work() -> None:
    assert not Plan(spec()).names & Plan(spec(), code="another").names


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(policies=m["policies"][::-1]),
        lambda m: m["spec"].update(seed=8),
        lambda m: m["spec"]["policies"].pop(),
        lambda m: m["spec"].update(title="Mine"),
        lambda m: m.update(seed=8),
        lambda m: m.update(hash="0" * 64),
        lambda m: m.update(command="rm -rf /"),
        lambda m: m.update(own=1),
        lambda m: m.update(digest="0" * 64),
    ],
    ids=range(9),
)
def test_an_edited_manifest_is_refused(change: Callable[[dict[str, Any]], Any], store: Store, wanted: Spec) -> None:
    manifest = json.loads(store.manifest_path.read_text())
    change(manifest)
    store.manifest_path.write_text(json.dumps(manifest))
    for attempt in (lambda: Results(store.directory), lambda: run_spec(wanted, store.directory)):
        with pytest.raises(AftereffectError, match=r"manifest.json' was edited or damaged: its digest does not fit"):
            attempt()


def test_a_manifest_without_a_key_is_refused_whatever_its_digest(store: Store) -> None:
    whole = json.loads(store.manifest_path.read_text())
    for key in whole:
        less = {k: v for k, v in whole.items() if k != key}
        store.manifest_path.write_bytes(sealed(less) if key != "digest" else json.dumps(less).encode())
        with pytest.raises(AftereffectError, match=r"manifest.json' is (damaged: it has no|not)") as error:
            Results(store.directory)
        assert len(str(error.value).splitlines()) == 1


@pytest.mark.parametrize("value", [None, 3, "x", [], {}, ["x"], {"x": None}, 10**400])
def test_a_manifest_with_a_wrong_value_is_refused_whatever_its_digest(value: Any, store: Store) -> None:
    whole = json.loads(store.manifest_path.read_text())
    for key in whole:
        if type(whole[key]) is type(value) or (key, value) in (("commit", "x"), ("commit", None), ("figure", "x")):
            continue
        store.manifest_path.write_bytes(sealed({**whole, key: value}))
        if key != "digest":
            with pytest.raises(AftereffectError, match=r"manifest.json' is (damaged|not)") as error:
                Results(store.directory)
            assert len(str(error.value).splitlines()) == 1


def test_a_spec_in_the_manifest_that_is_none_is_refused(store: Store) -> None:
    whole = json.loads(store.manifest_path.read_text())
    store.manifest_path.write_bytes(sealed({**whole, "spec": {**whole["spec"], "horizon": -1}}))
    with pytest.raises(AftereffectError, match="horizon"):
        Results(store.directory)


def _mutated_manifests(store: Store, count: int) -> None:
    whole = store.manifest_path.read_bytes()
    chance = random.Random(3)
    for _ in range(count):
        damaged = bytearray(whole)
        for _ in range(chance.randint(1, 3)):
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        try:
            same = json.loads(damaged) == json.loads(whole)
        except ValueError:
            same = False
        store.manifest_path.write_bytes(damaged)
        if not same:
            with pytest.raises(AftereffectError, match=r"manifest.json"):
                Results(store.directory)


def test_mutated_manifests_are_refused(store: Store) -> None:
    _mutated_manifests(store, 300)


@pytest.mark.soak
def test_many_mutated_manifests_are_refused(store: Store) -> None:
    _mutated_manifests(store, 20_000)


def _mutated_shards(store: Store, wanted: Spec, count: int) -> None:
    before, undisturbed = shard_names(store), rows(store)
    chance = random.Random(4)
    for _ in range(count):
        path = store.shards / chance.choice(before)
        damaged = bytearray(path.read_bytes())
        damaged[chance.randrange(len(damaged))] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged[: chance.choice((len(damaged), len(damaged), chance.randrange(len(damaged))))])
        assert not Results(store.directory).complete
        run_spec(wanted, store.directory)
        assert shard_names(store) == before
    assert rows(store).equals(undisturbed)


def test_mutated_shards_are_computed_again(store: Store, wanted: Spec) -> None:
    _mutated_shards(store, wanted, 15)


@pytest.mark.soak
def test_many_mutated_shards_are_computed_again(store: Store, wanted: Spec) -> None:
    _mutated_shards(store, wanted, 1000)


# Directories.


def test_an_empty_directory_is_taken(wanted: Spec, tmp_path: Path) -> None:
    assert Results(run_spec(wanted, tmp_path).directory).complete


def test_a_directory_of_something_else_is_left_alone(wanted: Spec, tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("mine")
    with pytest.raises(AftereffectError, match="is not empty and holds no experiment"):
        run_spec(wanted, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_shards_without_a_manifest_are_not_taken_over(store: Store, wanted: Spec) -> None:
    store.manifest_path.unlink()
    with pytest.raises(AftereffectError, match="holds no experiment"):
        run_spec(wanted, store.directory)


def test_a_start_that_was_cut_short_does_no_harm(wanted: Spec, tmp_path: Path) -> None:
    (tmp_path / "shards").mkdir()
    (tmp_path / ".part-abc").write_text('{"format":')
    (tmp_path / "shards" / ".part-def").write_bytes(b"PAR1")
    store = run_spec(wanted, tmp_path)
    check_whole(store, wanted, problems=2, policies=3)


def test_a_file_in_place_of_the_directory(wanted: Spec, tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("a file")
    with pytest.raises(AftereffectError, match=r"cannot write into '.*out'"):
        run_spec(wanted, path)


def test_no_experiment_there(tmp_path: Path) -> None:
    with pytest.raises(AftereffectError, match="holds no experiment: No such file"):
        Results(tmp_path)


# Disks that are full or read-only.


def _failing_after(successes: int, code: int, real: Callable[..., Any]) -> Callable[..., Any]:
    left = [successes]

    def replace(*arguments: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise OSError(code, os.strerror(code))
        return real(*arguments, **options)

    return replace


@pytest.mark.parametrize("call", ["replace", "fsync"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EROFS])
def test_a_disk_that_stops_taking_files_loses_nothing_finished(
    call: str, code: int, wanted: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = run_spec(wanted, tmp_path / "undisturbed")
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(os, call, _failing_after(4, code, getattr(os, call)))
        with pytest.raises(AftereffectError, match=f"cannot write into '.*': {os.strerror(code)}; finished") as error:
            run_spec(wanted, out, executor=Threads(2))
    assert len(str(error.value).splitlines()) == 1
    kept = shard_names(Store(out))
    assert len(kept) == (3 if call == "fsync" else 4)  # the first file was the manifest, which is linked, not renamed
    assert set(kept) <= set(shard_names(undisturbed))
    assert not list(out.rglob(".part-*"))
    assert shard_names(run_spec(wanted, out)) == shard_names(undisturbed)


def test_a_directory_that_cannot_be_made(wanted: Spec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "mkdir", _failing_after(0, errno.EACCES, Path.mkdir))
    with pytest.raises(AftereffectError, match=r"cannot write into '.*out': Permission denied"):
        run_spec(wanted, tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_directory(wanted: Spec, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(AftereffectError, match=r"cannot write into '.*': Permission denied"):
            run_spec(wanted, tmp_path)
    finally:
        tmp_path.chmod(0o700)


def test_rows_of_an_experiment_that_has_not_begun(tmp_path: Path) -> None:
    frame = Store(tmp_path).frame().collect()
    assert frame.height == 0
    assert isinstance(frame, polars.DataFrame)
    assert "regret" in frame.columns
