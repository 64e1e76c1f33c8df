"""Results are the same bytes wherever and in whatever pieces they are computed."""

from __future__ import annotations

import itertools
import signal
import socket
from pathlib import Path

import pytest

from aftereffect.errors import AftereffectError
from aftereffect.experiments.executors import DaskCluster, Executor, Threads
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.store import Store
from tests.experiments.processes import LONG, cluster
from tests.experiments.specs import SMALL, TUNED, check_whole, rows, shard_names, spec


def test_one_thread_and_two(tmp_path: Path) -> None:
    for text in (SMALL, TUNED):
        wanted = spec(text)
        one, two = (run_spec(wanted, tmp_path / f"{wanted.name}{n}", executor=Threads(n)) for n in (1, 2))
        assert shard_names(one) == shard_names(two)
        assert rows(one).equals(rows(two))


@pytest.mark.parametrize("text", [SMALL, TUNED], ids=["small", "tuned"])
def test_pieces_in_any_order_are_the_whole(text: str, tmp_path: Path) -> None:
    wanted = spec(text)
    whole = run_spec(wanted, tmp_path / "whole", executor=Threads(1))
    for order in itertools.permutations((1, 2, 3)):
        out = tmp_path / "-".join(map(str, order))
        for done, i in enumerate(order):
            if done:
                assert not Results(out).complete
            store = run_spec(wanted, out, executor=Threads(2), piece=(i, 3))
        assert shard_names(store) == shard_names(whole)
        assert Results(out).complete


def test_pieces_share_no_work(tmp_path: Path) -> None:
    names: list[str] = []
    for i in (1, 2, 3):
        names += shard_names(run_spec(spec(), tmp_path / str(i), piece=(i, 3)))
    assert len(set(names)) == len(names) == Plan(spec()).shard_count


def test_more_pieces_than_shards(tmp_path: Path) -> None:
    for i in range(1, 16):
        store = run_spec(spec(), tmp_path, piece=(i, 15))
    check_whole(store, spec(), problems=2, policies=3)


@pytest.mark.parametrize("piece", [(0, 3), (4, 3), (1, 0), (-1, 3)])
def test_pieces_that_do_not_exist(piece: tuple[int, int], tmp_path: Path) -> None:
    with pytest.raises(AftereffectError, match="--shard i/n needs 1 <= i <= n"):
        run_spec(spec(), tmp_path / "out", piece=piece)
    assert not (tmp_path / "out").exists()


def test_threads_count_from_one() -> None:
    with pytest.raises(AftereffectError, match="threads must be a whole number from 1, got 0"):
        Threads(0)


def _progress_by_label(executor: Executor, directory: Path) -> dict[str, int]:
    done: dict[str, int] = {}

    def progress(label: str, rounds: int) -> None:
        done[label] = done.get(label, 0) + rounds

    run_spec(spec(), directory, executor=executor, progress=progress)
    return done


def test_threads_report_every_round_by_policy(tmp_path: Path) -> None:
    each = 2 * 2 * 3 * 300
    wanted = {"d-ucb:discount=0.7": each, "d-ucb:discount=0.9": each, "round-robin": each}
    assert _progress_by_label(Threads(1), tmp_path / "out") == wanted


# A Dask cluster.


@pytest.fixture
def _dask() -> None:
    pytest.importorskip("distributed")


@pytest.mark.usefixtures("_dask")
def test_a_cluster_that_loses_a_worker(tmp_path: Path) -> None:
    wanted = spec(LONG)
    undisturbed = run_spec(wanted, tmp_path / "threads", executor=Threads(1))
    out = tmp_path / "cluster"
    with cluster(tmp_path, workers=2) as (address, [_, first, second]):
        calls = 0

        def kill_in_the_middle(label: str, rounds: int) -> None:
            nonlocal calls
            calls += 1
            if calls == 4:
                assert len(list(out.glob("shards/*.parquet"))) == 3
                first.send_signal(signal.SIGKILL)

        store = run_spec(wanted, out, executor=DaskCluster(address), progress=kill_in_the_middle)
        assert first.wait() == -signal.SIGKILL
        assert second.poll() is None
    assert calls == Plan(wanted).shard_count
    assert shard_names(store) == shard_names(undisturbed)
    assert rows(store).equals(rows(undisturbed))
    check_whole(store, wanted, problems=6, policies=3)


@pytest.mark.usefixtures("_dask")
def test_a_cluster_started_here(tmp_path: Path) -> None:
    wanted = spec(TUNED)
    store = run_spec(wanted, tmp_path / "local", executor=DaskCluster("local:2"))
    assert shard_names(store) == shard_names(run_spec(wanted, tmp_path / "threads", executor=Threads(1)))
    assert Results(store.directory).complete


@pytest.mark.usefixtures("_dask")
@pytest.mark.parametrize("address", ["local:", "local:0", "local:two", "local:-1"])
def test_a_cluster_of_no_workers(address: str, tmp_path: Path) -> None:
    with pytest.raises(AftereffectError, match="local:N needs a number of workers from 1, got 'local:"):
        run_spec(spec(), tmp_path / "out", executor=DaskCluster(address))


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@pytest.mark.usefixtures("_dask")
@pytest.mark.parametrize("address", ["tcp://127.0.0.1:PORT", "nonsense", "tcp://", "ftp://127.0.0.1:9", ""])
def test_a_scheduler_that_does_not_answer(address: str, tmp_path: Path) -> None:
    wanted = address.replace("PORT", str(_free_port()))
    with pytest.raises(AftereffectError, match="no scheduler answers at '") as error:
        run_spec(spec(), tmp_path / "out", executor=DaskCluster(wanted))
    assert len(str(error.value).splitlines()) == 1
    assert Results(run_spec(spec(), tmp_path / "out").directory).complete


@pytest.mark.usefixtures("_dask")
def test_a_scheduler_that_dies_leaves_what_is_finished(tmp_path: Path) -> None:
    wanted, out = spec(LONG), tmp_path / "out"
    calls = 0
    with cluster(tmp_path, workers=1) as (address, [scheduler, _]):

        def kill_in_the_middle(label: str, rounds: int) -> None:
            nonlocal calls
            calls += 1
            if calls == 3:
                scheduler.kill()

        with pytest.raises(AftereffectError, match=r"the cluster at 'tcp://.*' was lost") as error:
            run_spec(wanted, out, executor=DaskCluster(address), progress=kill_in_the_middle)
    assert len(str(error.value).splitlines()) == 1
    kept = shard_names(Store(out))
    assert len(kept) >= 2
    store = run_spec(wanted, out, executor=Threads(2))
    assert set(kept) <= set(shard_names(store))
    check_whole(store, wanted, problems=6, policies=3)
