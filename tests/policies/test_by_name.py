"""Numbers by their names, and what was saved before they had any."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.model.curves import record
from aftereffect.policies.by_name import by_part, cut, named
from tests.policies.test_state_files import SAVED
from tests.policies.test_storage import _rewritten

PAIR = np.dtype([("whole", "i8"), ("part", "f8")])


def test_a_record_has_what_it_is_given_by_name() -> None:
    made = record(PAIR, part=0.5, whole=3)
    assert made.tolist() == [(3, 0.5)]
    with pytest.raises(ValueError, match="no field"):
        record(PAIR, parts=0.5)


def test_rows_go_to_their_places() -> None:
    saved: dict[str, Any] = {"codes": [7, 8], "table": [1, 2, 3, 4, 5, 6], "rng": [9]}
    named(codes=("now.a", "now.b"), table=("low", "arms.x", "arms.y"))(saved, {})
    assert saved == {"now": {"a": [7], "b": [8]}, "low": [1, 2], "arms": {"x": [3, 4], "y": [5, 6]}, "rng": [9]}


def test_blocks_of_rows_become_the_parts_of_records() -> None:
    """Two banks of two sums of three arms each."""
    table = np.arange(12.0).reshape(2, 2, 3)
    found = by_part("table", table.ravel().tolist(), np.zeros((2, 3), dtype=PAIR))
    assert found == {"whole": table[:, 0].ravel().tolist(), "part": table[:, 1].ravel().tolist()}


@pytest.mark.parametrize("wrong", [[1, 2, 3], None, "ab", {"a": 1}])
def test_what_has_no_such_rows_is_refused(wrong: Any) -> None:
    with pytest.raises(ae.CorruptFile, match="table must hold 2 rows"):
        cut("table", wrong, 2)


@pytest.mark.parametrize("policy", [ae.DUCB(), ae.SWUCB(window=3)], ids=lambda p: p.name)
def test_a_file_says_what_its_numbers_are(policy: ae.Policy, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    agent = policy.start(2, seed=1)
    agent.ask()
    agent.tell([0.5, float("nan")], allocation=[1, 0])
    agent.save(path)
    state = json.loads(path.read_text())["agent"]["state"]
    assert state["settings"]["xi"] == [1.0]
    assert state["arms"]["reward"] == [0.5, 0.0]
    assert ae.load_agent(path).explain() == agent.explain()


@pytest.mark.parametrize(
    ("name", "part", "value"),
    [("settings", "xi", [2.0]), ("settings", "discount", ["nan"]), ("arms", "count", [-1.0, 0.0])],
)
def test_what_no_rounds_lead_to_is_refused_by_its_name(name: str, part: str, value: list[Any], tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    ae.DUCB().start(2, seed=1).save(path)
    _rewritten(path, lambda a: a["state"][name].update({part: value}))
    with pytest.raises(ae.CorruptFile, match=f"{name}.{part} cannot be"):
        ae.load_agent(path)


@pytest.mark.parametrize("name", ["d-ucb", "sw-ucb", "thompson-split"])
def test_what_was_saved_without_names_is_refused_where_rows_are_missing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "agent.json"
    for table in ("tally", "ring" if name == "sw-ucb" else "limits" if name == "thompson-split" else "constants"):
        path.write_text((SAVED / f"{name}.json").read_text())
        _rewritten(path, lambda a, table=table: a["state"][table].pop())
        with pytest.raises(ae.CorruptFile, match=table):
            ae.load_agent(path)
