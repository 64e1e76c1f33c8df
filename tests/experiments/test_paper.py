"""The paper's figures: their names, and a miniature of all of them with every claim judged."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from aftereffect.errors import AftereffectError, UnknownName
from aftereffect.experiments import paper
from aftereffect.experiments.claims import CLAIMS, judge_all
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.figures.negative import HORIZONS, NEGATIVE
from aftereffect.experiments.paper import (
    EXTRA,
    FIGURES,
    SCALES,
    Experiment,
    experiments_of,
    figure_names,
    load_experiments,
    reproduce,
    to_do,
)
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.spec import parse_spec
from aftereffect.experiments.statistics import LEVEL
from tests.experiments.specs import spec

# Names.


def test_no_name_or_all_means_all_of_the_papers() -> None:
    assert figure_names([]) == figure_names(["all"]) == list(FIGURES)
    assert figure_names(["long", "all"]) == ["long", *FIGURES]


def test_names_are_kept_in_order_and_once() -> None:
    assert figure_names(["fig3a", "fig1", "fig3a"]) == ["fig3a", "fig1"]
    assert figure_names(["fig1", "all"])[0] == "fig1"
    assert sorted(figure_names(["fig1", "all"])) == sorted(FIGURES)


def test_unknown_figures_and_scales_are_said_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"unknown figure 'fig2'; did you mean 'fig2\w'\? \(allowed: all, "):
        figure_names(["fig2"])
    with pytest.raises(UnknownName, match=r"unknown scale 'quik'; did you mean 'quick'\?"):
        experiments_of("fig1", "quik")
    with pytest.raises(UnknownName, match="unknown figure"):
        to_do(["figure 9"], "quick")


@pytest.mark.parametrize("scale", SCALES)
def test_example_1_is_run_at_several_horizons(scale: str) -> None:
    found = experiments_of("negative", scale)
    assert [e.spec.name for e in found] == list(NEGATIVE)
    assert [e.spec.horizon for e in found] == list(HORIZONS)


@pytest.mark.parametrize("scale", SCALES)
def test_claims_rest_on_experiments_that_exist(scale: str) -> None:
    names = {e.spec.name for figure in FIGURES + EXTRA for e in experiments_of(figure, scale)}
    for claim in CLAIMS:
        assert set(claim.figures) <= names, claim.id
        assert claim.sentence.endswith((".", ").")), claim.id
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)


def test_both_scales_compare_the_same_things() -> None:
    for figure in FIGURES + EXTRA:
        for quick, full in zip(experiments_of(figure, "quick"), experiments_of(figure, "paper"), strict=True):
            assert quick.spec.problems == full.spec.problems
            assert quick.spec.policies == full.spec.policies
            assert quick.spec.horizon == full.spec.horizon


def test_the_paper_scale_is_40_by_40_at_1e5() -> None:
    for figure in ("fig2a", "fig2b", "fig2c", "fig2d", "fig3a", "fig3b", "fig3c", "fig3d"):
        [experiment] = experiments_of(figure, "paper")
        full = experiment.spec
        assert (full.instances, full.runs, full.horizon) == (40, 40, 100_000)


# A miniature of everything.


def _miniature(figure: str, scale: str) -> list[Experiment]:
    small = {"horizon": 200, "instances": 3, "runs": 2, "checkpoints": 10, "tuning": {"instances": 3, "runs": 2}}
    return [
        Experiment(figure, parse_spec({**e.spec.model_dump(), **small})) for e in experiments_of(figure, scale)
    ]  # fmt: skip


@pytest.fixture(scope="module")
def miniature(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every figure, reproduced at a size that takes seconds."""
    out = tmp_path_factory.mktemp("paper") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "experiments_of", _miniature)
        wanted = to_do(["all", "long"], "quick")
        reproduce(wanted, out, command="aftereffect reproduce all long", executor=Threads(2))
    return out


def test_every_experiment_is_complete_and_in_the_figures_order(miniature: Path) -> None:
    results = load_experiments(miniature)
    wanted = [e.spec.name for figure in FIGURES + EXTRA for e in experiments_of(figure, "quick")]
    assert sorted(r.spec.name for r in results) == sorted(wanted)
    figures = [r.spec.name.partition("-")[0] for r in results]
    assert list(dict.fromkeys(figures)) == [*FIGURES, *EXTRA]
    assert all(r.complete for r in results)
    assert {r.manifest["command"] for r in results} == {"aftereffect reproduce all long"}


def test_every_claim_gets_a_verdict(miniature: Path) -> None:
    verdicts = json.loads((miniature / "verdicts.json").read_text())
    assert [v["id"] for v in verdicts] == [claim.id for claim in CLAIMS]
    for verdict in verdicts:
        assert verdict["verdict"] in ("holds", "fails", "undecided")
        assert verdict["low"] <= verdict["high"], verdict["id"]
        assert np.isfinite([verdict["estimate"], verdict["low"], verdict["high"]]).all(), verdict["id"]
        assert verdict["level"] == LEVEL
        assert verdict["statistic"]
        assert verdict["sentence"]


def test_claims_wait_until_all_their_experiments_are_complete(miniature: Path) -> None:
    results = {r.spec.name: r for r in load_experiments(miniature)}
    assert judge_all({}) == []
    assert {v["id"] for v in judge_all({"fig2a": results["fig2a"]})} == {"2a", "2a-meta"}
    without = {name: r for name, r in results.items() if name != "fig2d"}
    missing = {c.id for c in CLAIMS if "fig2d" in c.figures}
    assert missing
    assert {v["id"] for v in judge_all(without)} == {c.id for c in CLAIMS} - missing


def test_reproducing_again_gives_the_same_verdicts(miniature: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (miniature / "verdicts.json").read_bytes()
    monkeypatch.setattr(paper, "experiments_of", _miniature)
    reproduce(to_do(["fig2a"], "quick"), miniature, executor=Threads(1))
    assert (miniature / "verdicts.json").read_bytes() == before


def test_progress_is_told_of_all_that_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paper, "experiments_of", _miniature)
    done: list[int] = []
    experiments = to_do(["fig2b"], "quick")
    [results] = reproduce(experiments, tmp_path, progress=lambda _, rounds: done.append(rounds))
    assert sum(done) == experiments[0].plan.work == len(results.policies) * 3 * 2 * 200


# Directories of results.


def test_one_experiment_or_several_are_found(tmp_path: Path) -> None:
    run_spec(spec(name="b"), tmp_path / "b")
    run_spec(spec(name="a"), tmp_path / "a")
    assert [r.spec.name for r in load_experiments(tmp_path / "b")] == ["b"]
    assert [r.spec.name for r in load_experiments(tmp_path)] == ["a", "b"]
    with pytest.raises(AftereffectError, match="holds no experiment"):
        load_experiments(tmp_path / "a" / "shards")


def test_curves_of_something_that_is_not_there(tmp_path: Path) -> None:
    results = Results(run_spec(spec(), tmp_path / "out").directory)
    with pytest.raises(AftereffectError, match=r"small has no 'exp3' \(it has d-ucb:discount=0.7, "):
        results.curves("gaussian:memory=0.2", "exp3")
    with pytest.raises(AftereffectError, match="small has no 'tent'"):
        results.curves("tent", "round-robin")
