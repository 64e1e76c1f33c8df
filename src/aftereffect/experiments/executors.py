"""Where shards are computed: threads here, or a Dask cluster. Results are the same bytes everywhere."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import partial
from typing import Any, Protocol

from aftereffect.errors import AftereffectError, require_whole, shown
from aftereffect.experiments.shards import Task, compute

Progress = Callable[[str, int], None]
"""Called with a policy's label and the rounds just finished."""


class Executor(Protocol):
    """Computes tasks in any order and gives each one's bytes as it is done."""

    def __call__(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, bytes]]: ...


class Threads:
    """Threads of this process; kernels run without the interpreter lock."""

    def __init__(self, count: int | None = None) -> None:
        self.count = os.cpu_count() or 1 if count is None else require_whole("threads", count)

    def __call__(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, bytes]]:
        """Compute tasks; an interrupt stops all of them at their next look at the flag."""
        stop = threading.Event()
        with ThreadPoolExecutor(self.count) as pool:
            waiting: dict[Future[bytes], Task] = {}
            upcoming = iter(tasks)
            try:
                while True:
                    for task in upcoming:
                        report = partial(progress, task.label)
                        waiting[pool.submit(compute, task, report, stop.is_set)] = task
                        if len(waiting) >= 2 * self.count:
                            break
                    if not waiting:
                        return
                    for done in wait(waiting, return_when=FIRST_COMPLETED).done:
                        yield waiting.pop(done), done.result()
            finally:
                stop.set()
                pool.shutdown(wait=True, cancel_futures=True)


class DaskCluster:
    """A Dask cluster: `tcp://host:port` of a scheduler, or `local:N` to start one with N worker processes here."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __call__(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, bytes]]:
        """Compute tasks on the cluster; a lost worker's tasks are computed again elsewhere."""
        if not tasks:
            return
        distributed = _distributed()
        with _client(distributed, self.address) as client:
            futures = {client.submit(compute, task, pure=False, retries=3): task for task in tasks}
            try:
                for future in distributed.as_completed(list(futures)):
                    task = futures[future]
                    with _lost_cluster(distributed, self.address):
                        content = future.result()
                    progress(task.label, task.work)
                    yield task, content
                    future.release()
            finally:
                client.cancel(list(futures))


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise AftereffectError("--scheduler needs Dask: pip install 'aftereffect[cluster]'") from None
    return distributed


@contextmanager
def _lost_cluster(distributed: Any, address: str) -> Iterator[None]:
    """Say in one line that the scheduler is gone, or that a task took one worker after the other with it."""
    try:
        yield
    except (CancelledError, OSError, distributed.KilledWorker) as error:
        reason = str(error).partition("\n")[0]
        raise AftereffectError(
            f"the cluster at {address!r} was lost: {reason}; finished shards are kept, the same command goes on"
        ) from error


@contextmanager
def _client(distributed: Any, address: str) -> Iterator[Any]:
    if address.startswith("local:"):
        count = address.removeprefix("local:")
        if not count.isdigit() or int(count) < 1:
            raise AftereffectError(f"--scheduler local:N needs a number of workers from 1, got {shown(address)}")
        with (
            distributed.LocalCluster(
                n_workers=int(count), threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
            ) as cluster,
            distributed.Client(cluster) as client,
        ):
            yield client
        return
    try:
        client = distributed.Client(address, timeout="10s")
    except (OSError, ValueError, TimeoutError) as error:
        raise AftereffectError(f"no scheduler answers at {address!r}: {error}") from error
    with client:
        yield client
