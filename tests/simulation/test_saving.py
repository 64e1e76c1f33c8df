"""Results that can be kept, sent and cited: files, pickles, provenance, tables, named arrays."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import aftereffect as ae
from aftereffect.errors import AftereffectError, CorruptFile
from aftereffect.model.catalog import catalog


@pytest.fixture(scope="module")
def found() -> ae.Comparison:
    family = ae.family("patrol", arms=3, memory=0.4)
    policies = [ae.DUCB(), ae.Fixed([0.2, 0.3, 0.5])]
    return ae.simulate(family, policies, 60, runs=2, instances=2, seed=4, threads=1, checkpoints=3, trace=True)


def _same(first: Any, second: Any) -> None:
    for name in ("regret", "realised_regret", "utility", "allocations", "impacts", "rounds"):
        assert np.array_equal(getattr(first, name), getattr(second, name))
    assert all(np.array_equal(a, b, equal_nan=True) for a, b in zip(first.trace, second.trace, strict=True))
    assert np.array_equal(first.parity.fair_regret, second.parity.fair_regret)
    assert [b.bound for b in first.best] == [b.bound for b in second.best]
    assert (first.provenance, first.names, repr(first)) == (second.provenance, second.names, repr(second))


def test_saved_and_loaded(found: ae.Comparison, tmp_path: Path) -> None:
    found.save(tmp_path / "both.npz")
    found["d-ucb"].save(tmp_path / "one.npz")
    both, one = ae.load_result(tmp_path / "both.npz"), ae.load_result(tmp_path / "one.npz")
    assert isinstance(both, ae.Comparison)
    assert isinstance(one, ae.Result)
    assert list(both) == list(found)
    _same(found["d-ucb"], one)
    for name in found:
        _same(found[name], both[name])


@pytest.mark.parametrize(
    "damage", [lambda b: b[:200], lambda _: b"", lambda b: b[:-30], lambda _: b"PK\x03\x04 nothing"]
)
def test_damaged_files_are_found_out(damage: Any, found: ae.Comparison, tmp_path: Path) -> None:
    path = tmp_path / "result.npz"
    found.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(CorruptFile, match="is no saved result, or damaged"):
        ae.load_result(path)


def test_files_that_are_something_else(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", document=np.frombuffer(b'{"format": "another"}', dtype=np.uint8))
    with pytest.raises(CorruptFile, match="is no saved result"):
        ae.load_result(tmp_path / "other.npz")
    with pytest.raises(AftereffectError, match="there is no such file"):
        ae.load_result(tmp_path / "nowhere.npz")
    np.savez(tmp_path / "run.npz", document=np.array([{"a": 1}], dtype=object))  # a pickle must not be run
    with pytest.raises(CorruptFile):
        ae.load_result(tmp_path / "run.npz")


def test_provenance_says_what_it_was_computed_with(found: ae.Comparison) -> None:
    said = found["d-ucb"].provenance
    assert said["seed"] == 4
    assert said["policy"] == {"name": "d-ucb", **ae.DUCB().parameters}
    assert (said["problem"]["name"], said["problem"]["arms"]) == ("patrol", 3)
    assert said["own_code"] == ""
    assert set(said["versions"]) == {"aftereffect", "numpy", "numba", "python"}
    assert json.loads(json.dumps(said, allow_nan=False)) == said
    own = ae.simulate(ae.Problem([lambda x: 0.5 * x, ae.Gaussian(0.5)]), ae.RoundRobin(), 5, runs=1, threads=1)
    assert own.provenance["own_code"]


@pytest.mark.parametrize("name", sorted(catalog()))
def test_problems_and_families_can_be_pickled(name: str) -> None:
    family = ae.family(name, memory=0.3)
    problem = family.draw(3)
    again, drawn = pickle.loads(pickle.dumps(problem)), pickle.loads(pickle.dumps(family)).draw(3)
    even = np.full(problem.arms, 1 / problem.arms)
    assert again.utility(even) == problem.utility(even) == drawn.utility(even)
    if problem.fairness is not None:
        assert np.array_equal(again.measure(even), problem.measure(even))


def test_results_and_policies_can_be_pickled(found: ae.Comparison) -> None:
    _same(found["d-ucb"], pickle.loads(pickle.dumps(found))["d-ucb"])
    policy = ae.Phased(ae.CUCB(zero=True), memory=0.4)
    assert pickle.loads(pickle.dumps(policy)) == policy


def test_tables_in_a_notebook_escape_what_they_quote(found: ae.Comparison) -> None:
    text = found._repr_html_()
    assert text.count("<tr>") == 3
    assert f"{found['d-ucb'].mean[-1]:,.1f}" in text
    problem = ae.Problem([ae.Gaussian(0.4)], label="<script>")
    alone = ae.simulate(problem, ae.RoundRobin(), 5, runs=1, threads=1)._repr_html_()
    assert "<script>" not in alone
    assert "one run only" in alone


def test_named_arrays(found: ae.Comparison) -> None:
    pytest.importorskip("xarray")
    data = found.to_xarray()
    assert data["regret"].dims == ("policy", "run", "round")
    mine = data["regret"].sel(policy="d-ucb")
    assert np.array_equal(mine.values, found["d-ucb"].regret)
    first = data["allocation"].sel(arm="arm 1", policy="d-ucb").where(data["instance"] == 1, drop=True)
    assert np.array_equal(first.values, found["d-ucb"].allocations[2:, :, 1])
    assert found["d-ucb"].to_xarray()["utility"].shape == (1, 4, 3)
    assert json.loads(data.attrs["provenance"])["d-ucb"]["seed"] == found["d-ucb"].provenance["seed"]


def test_short_reprs() -> None:
    problem = ae.Problem([ae.LinearDecline(0.9, 0.3)] * 2, impact=ae.Discounted(0.5))
    assert repr(ae.best_fixed(problem)) == "BestFixed(allocation=[0.5, 0.5], utility=0.6)"
    for thing in (ae.dynamic_optimum(problem, steps=60), ae.dynamic_upper_bound(problem, steps=60)):
        assert len(repr(thing)) < 200
        assert "utility=0.6)" in repr(thing)
