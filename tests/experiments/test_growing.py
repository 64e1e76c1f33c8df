"""A spec that grows: only what is new is computed, and the results are those of the grown spec."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from aftereffect.errors import AftereffectError
from aftereffect.experiments.executors import Progress, Threads
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.shards import Block, Task
from tests.experiments.specs import TUNED, rows, shard_names, spec


class Counting:
    """Threads that count the runs they were asked for."""

    def __init__(self) -> None:
        self.tasks: list[Task] = []

    def __call__(self, tasks: Sequence[Task], progress: Progress) -> Iterator[tuple[Task, bytes]]:
        self.tasks += tasks
        yield from Threads(1)(tasks, progress)

    @property
    def runs(self) -> int:
        return sum(task.block.count for task in self.tasks)


GAUSSIAN = {"family": "gaussian", "memory": [0.2, 0.6]}
DUCB, ROUND_ROBIN = {"policy": "d-ucb", "discount": [0.7, 0.9]}, {"policy": "round-robin"}

# Two problems, three policies, two instances, three runs: 36 runs.
GROWTHS: dict[str, tuple[dict[str, Any], int]] = {
    "a policy": ({"policies": [{"policy": "fixed"}, DUCB, ROUND_ROBIN]}, 2 * 2 * 3),
    "a problem": ({"problems": [GAUSSIAN, {"family": "tent"}]}, 3 * 2 * 3),
    "a value in a list": ({"problems": [{"family": "gaussian", "memory": [0.2, 0.4, 0.6]}]}, 3 * 2 * 3),
    "runs": ({"runs": 5}, 6 * 2 * 2),
    "instances": ({"instances": 3}, 6 * 1 * 3),
    "checkpoints: every run again": ({"checkpoints": [50, 75, 150, 225, 299]}, 36),
    "checkpoints and runs": ({"checkpoints": [75, 150, 225, 250], "runs": 4}, 6 * 2 * 4),
    "both": ({"instances": 4, "runs": 7}, 6 * (4 * 7 - 2 * 3)),
}


@pytest.mark.parametrize(("changes", "new"), GROWTHS.values(), ids=GROWTHS)
def test_only_what_is_new_is_computed(changes: dict[str, Any], new: int, tmp_path: Path) -> None:
    run_spec(spec(), tmp_path / "grown", executor=Threads(1))
    counting = Counting()
    grown = run_spec(spec(**changes), tmp_path / "grown", executor=counting)
    assert counting.runs == new
    whole = run_spec(spec(**changes), tmp_path / "whole", executor=Threads(1))
    assert rows(grown).equals(rows(whole))
    found = Results(tmp_path / "grown")
    assert (found.complete, found.remarks) == (True, [])
    again = Counting()
    run_spec(spec(**changes), tmp_path / "grown", executor=again)
    assert again.tasks == []


def test_growing_again_and_again(tmp_path: Path) -> None:
    counts = []
    for instances, runs in ((1, 2), (3, 2), (3, 5), (6, 8)):
        counting = Counting()
        grown = run_spec(spec(instances=instances, runs=runs), tmp_path / "grown", executor=counting)
        counts.append(counting.runs // 6)
    assert counts == [2, 4, 9, 33]
    assert rows(grown).equals(rows(run_spec(spec(instances=6, runs=8), tmp_path / "whole", executor=Threads(1))))


def test_blocks_cover_every_run_once() -> None:
    plan = Plan(spec(instances=7, runs=5), extents=[(2, 3), (2, 4), (6, 4), (7, 5)])
    covered = [(i, r) for b in plan._main_blocks for i in range(*b.instances) for r in range(*b.runs)]
    assert sorted(covered) == [(i, r) for i in range(7) for r in range(5)]
    assert Block((0, 2), (0, 1)).moved(3, 4) == Block((3, 5), (4, 5))


def test_a_tuned_policy_is_not_tuned_again(tmp_path: Path) -> None:
    run_spec(spec(TUNED), tmp_path, executor=Threads(1))
    counting = Counting()
    run_spec(spec(TUNED, runs=3), tmp_path, executor=counting)
    assert {task.purpose for task in counting.tasks} == {"main"}
    assert counting.runs == 2 * 2 * 2 * 1


def test_added_checkpoints_leave_the_tuning_and_are_said(tmp_path: Path) -> None:
    before = run_spec(spec(TUNED), tmp_path, executor=Threads(1))
    main = [name for name in shard_names(before) if name.startswith("main")]
    said: list[str] = []
    counting = Counting()
    after = run_spec(spec(TUNED, checkpoints=[50, 100, 200]), tmp_path, executor=counting, say=said.append)
    assert {task.purpose for task in counting.tasks} == {"main"}
    assert said == [
        f"checkpoints were added: {len(main)} shards are computed again (a run cannot be resumed from inside)"
    ]
    assert not set(main) & set(shard_names(after))


@pytest.mark.parametrize("changes", [{"runs": 2}, {"instances": 1}, {"runs": 9, "seed": 8}, {"checkpoints": 5}])
def test_what_shrinks_or_differs_is_refused(changes: dict[str, Any], tmp_path: Path) -> None:
    store = run_spec(spec(), tmp_path, executor=Threads(1))
    before = shard_names(store)
    with pytest.raises(AftereffectError, match="holds another experiment"):
        run_spec(spec(**changes), tmp_path)
    assert shard_names(store) == before


def test_growing_waits_for_who_works_there(tmp_path: Path) -> None:
    store = run_spec(spec(), tmp_path, executor=Threads(1))
    with (
        store.opened(Plan(spec()), ""),
        pytest.raises(AftereffectError, match="a spec that has grown must wait for it"),
    ):
        run_spec(spec(runs=4), tmp_path)
    run_spec(spec(runs=4), tmp_path, executor=Threads(1))
    assert Results(tmp_path).complete
