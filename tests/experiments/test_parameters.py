"""Parameters as values and as columns: what was given, the defaults, and what tuning chose."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars
import pytest

from aftereffect.errors import AftereffectError
from aftereffect.experiments.executors import Threads
from aftereffect.experiments.parameters import Which, in_words, which, with_parameters
from aftereffect.experiments.run import Results, run_spec, write_rows
from aftereffect.experiments.shards import SCHEMA
from aftereffect.experiments.spec import Spec
from aftereffect.model.family_notation import family_from
from aftereffect.model.impacts import Discounted, Power
from tests.experiments.specs import TUNED, spec

SQUARE = "discounted(g=power(exponent=2),memory=0.4)"
MIXED: dict[str, Any] = {
    "problems": [
        {"family": "gaussian", "memory": [0, 0.25]},
        {"family": "patrol:impact=" + SQUARE},
        {"family": "tent", "eps": 0.1, "half_life": 1},
    ],
    "policies": [
        {"policy": "d-ucb", "discount": [0.7, 0.9]},
        {"policy": "phased", "inner": "cucb(zero=true)", "memory": 0.3},
        {"policy": "phased", "inner": "cucb", "estimation": 0.4},
        {"policy": "round-robin"},
    ],
}


def _columns(wanted: Spec) -> polars.DataFrame:
    """The columns of a row for every problem and policy."""
    pairs = [(p, n) for p in wanted.families for e in wanted.entrants for n in e.policies]
    rows = polars.DataFrame({"problem": [p for p, _ in pairs], "parameters": [n for _, n in pairs]})
    return with_parameters(rows.lazy(), wanted).collect()


def test_what_was_given_is_a_column_with_defaults_where_it_was_not() -> None:
    found = _columns(spec(**MIXED))
    problems = found.unique("problem", maintain_order=True)
    assert problems["problem_name"].to_list() == ["gaussian", "gaussian", "patrol", "tent"]
    assert problems["problem_memory"].to_list() == [0.0, 0.25, 0.4, 0.5]
    assert problems["problem_arms"].to_list() == [2] * 4
    assert problems["problem_eps"].to_list() == [None, None, None, 0.1]
    assert problems["problem_impact"].to_list() == [None, None, "discounted(memory=0.4,g=power(exponent=2))", None]
    policies = found.unique("parameters", maintain_order=True)
    assert policies["policy_name"].to_list() == ["d-ucb", "d-ucb", "phased", "phased", "round-robin"]
    assert policies["policy_discount"].to_list() == [0.7, 0.9, None, None, None]
    assert policies["policy_inner"].to_list() == [None, None, "cucb(zero=true)", "cucb", None]
    assert policies["policy_memory"].to_list() == [None, None, 0.3, None, None]
    assert policies["policy_estimation"].to_list() == [None, None, 0.2, 0.4, None]  # .2 is the default
    assert (set(found["horizon"]), set(found["seed"])) == ({300}, {7})
    assert "policy_xi" not in found.columns  # nobody gave it
    assert "problem_half_life" not in found.columns  # it is the memory


def test_the_order_of_keys_does_not_matter() -> None:
    entries = [{"family": "lipschitz", "arms": 3, "memory": 0.2}, {"family": "lipschitz", "memory": 0.2, "arms": 3}]
    first, second = (_columns(spec(problems=[entry])).drop("problem") for entry in entries)
    assert first.select(sorted(first.columns)).equals(second.select(sorted(second.columns)))


def test_columns_have_the_type_of_their_values() -> None:
    policies = [
        {"policy": "history-ucb", "zero": [True, False], "levels": [4, 6]},
        {"policy": "fixed", "allocation": [0.3, 0.7]},
    ]
    schema = _columns(spec(policies=policies)).schema
    wanted = {"policy_zero": polars.Boolean, "policy_levels": polars.Int64, "policy_allocation": polars.String}
    assert {name: schema[name] for name in wanted} == wanted


@pytest.fixture(scope="module")
def tuned(tmp_path_factory: pytest.TempPathFactory) -> Results:
    out = tmp_path_factory.mktemp("tuned") / "out"
    return Results(run_spec(spec(TUNED), out, executor=Threads(1)).directory)


def test_a_tuned_policy_has_what_was_chosen(tuned: Results) -> None:
    rows = tuned.frame().filter(polars.col("policy_name") == "d-ucb").collect()
    values = tuned.candidates("d-ucb (tuned)")
    for search in tuned.tuning():
        here = rows.filter(polars.col("problem") == search["problem"])
        assert set(here["policy_discount"]) == {values[search["chosen"]]["discount"]}
    assert tuned.policy_values["d-ucb (tuned)"]["discount"] is None
    assert tuned.policy_values["d-ucb (tuned)"]["xi"] == 1


def test_one_file_has_all_rows(tuned: Results, tmp_path: Path) -> None:
    other = Results(run_spec(spec(), tmp_path / "other", executor=Threads(1)).directory)
    rows = polars.read_parquet(write_rows(tmp_path, [tuned, other]))
    for results in (tuned, other):
        mine = rows.filter(polars.col("experiment") == results.spec.name).sort(
            "problem", "policy", "instance", "run", "round"
        )
        there = results.frame().collect().sort("problem", "policy", "instance", "run", "round")
        assert mine["regret"].to_list() == there["regret"].to_list()
        assert mine["policy_discount"].to_list() == there["policy_discount"].to_list()
    assert rows.height == tuned.frame().collect().height + other.frame().collect().height
    assert {"allocation", "impact", "measure"} == set(SCHEMA) - set(rows.columns)


@pytest.mark.parametrize(
    ("wanted", "label"),
    [
        (which("d-ucb", discount=0.7), "d-ucb:discount=0.7"),
        (which("phased", memory=0.3), "phased:inner=cucb(zero=true),memory=0.3"),
        (which("phased", memory=None), "phased:inner=cucb,estimation=0.4"),
        (which("round-robin"), "round-robin"),
    ],
)
def test_a_policy_is_found_by_its_parameters(wanted: Which, label: str, tmp_path: Path) -> None:
    results = Results(run_spec(spec(**MIXED, runs=1, instances=1), tmp_path, executor=Threads(1)).directory)
    assert results.policy(wanted) == label
    assert results.problem(which("patrol", impact=Discounted(0.4, Power(2)))) == f"patrol:impact={SQUARE}"
    with pytest.raises(AftereffectError, match=r"^2 of .* are d-ucb, not one$"):
        results.policy(which("d-ucb"))
    with pytest.raises(AftereffectError, match=r"^0 of .* are tent memory=0.9, not one$"):
        results.problem(which("tent", memory=0.9))


def test_values_in_words() -> None:
    assert in_words((0.1, True, "a", None)) == "[0.1,true,a,none]"


@pytest.mark.parametrize(
    ("key", "written"),
    [
        ("noise", "continuous(deviation=0.02)"),
        ("noise", "beta(concentration=4)"),
        ("noise", "beta"),
        ("noise", "none"),
        ("shock", "each(deviation=0.02)"),
        ("shock", "common(deviation=0.1)"),
        ("shock", "0.05"),
        ("delay", "geometric(mean=4)"),
        ("delay", "poisson(mean=2.5)"),
        ("delay", "[0.5,0.25,0.25]"),
        ("delay", "3"),
        ("start", "[0.4,0.6]"),
        ("impact", "[instant,smoothed(memory=0.5,start=1,g=logistic(steepness=5,midpoint=0.25))]"),
        ("impact", "discounted(memory=0.4,g=table(x=[0,0.5,1],y=[0,0.2,1]))"),
    ],
)
def test_values_in_words_can_be_fed_back(key: str, written: str) -> None:
    value = getattr(family_from(f"loan:{key}={written}")[0], key)
    assert in_words(value) == written
    column = _columns(spec(problems=[f"loan:{key}={written}"]))[f"problem_{key}"]
    again = in_words(column[0])
    assert getattr(family_from(f"loan:{key}={again}")[0], key) == value
    other = [f"loan:{key}={written}", "loan:noise=beta,shock=each(deviation=0.3),delay=poisson(mean=9)"]
    assert in_words(_columns(spec(problems=other))[f"problem_{key}"][0]) == written
