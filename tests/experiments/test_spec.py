"""Specs: what they expand to, and how mistakes in them are said."""

from __future__ import annotations

import tomllib
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from aftereffect.errors import AftereffectError
from aftereffect.experiments.paper import EXTRA, FIGURES, SCALES, shipped_specs
from aftereffect.experiments.plan import Plan
from aftereffect.experiments.spec import Spec, at_scale, load_spec, load_specs, parse_spec, parse_specs
from aftereffect.model.delay import check_delay
from tests.experiments.specs import SMALL, TUNED, spec, write_spec

BARE: dict[str, Any] = {
    "name": "bare",
    "horizon": 100,
    "problems": [{"family": "gaussian"}],
    "policies": [{"policy": "d-ucb"}],
}


def _bare(**changes: Any) -> Spec:
    return parse_spec({**BARE, **changes})


def _problems(**entry: Any) -> list[str]:
    return list(_bare(problems=[entry]).families)


def _policies(**entry: Any) -> list[str]:
    return [e.notation for e in _bare(policies=[entry]).entrants]


# What specs expand to.


def test_a_list_is_a_grid_and_grids_multiply() -> None:
    assert _problems(family="gaussian", arms=[2, 3], memory=[0.2, 0.4]) == [
        "gaussian:arms=2,memory=0.2",
        "gaussian:arms=2,memory=0.4",
        "gaussian:arms=3,memory=0.2",
        "gaussian:arms=3,memory=0.4",
    ]
    assert _policies(policy="history-ucb", log=["lemma", "printed"], zero=True) == [
        "history-ucb:log=lemma,zero=true",
        "history-ucb:log=printed,zero=true",
    ]


def test_a_name_in_the_short_notation_may_stand_alone() -> None:
    alone = _bare(problems=["gaussian:arms=3", {"family": "patrol"}], policies=["fixed:allocation=[0.5,0.25,0.25]"])
    assert list(alone.families) == ["gaussian:arms=3", "patrol"]
    assert alone.families["gaussian:arms=3"].arms == 3
    assert [e.notation for e in alone.entrants] == ["fixed:allocation=[0.5,0.25,0.25]"]
    assert parse_spec(alone.model_dump(mode="json")) == alone


def test_entries_come_one_after_the_other() -> None:
    wanted = spec()
    assert list(wanted.families) == ["gaussian:memory=0.2", "gaussian:memory=0.6"]
    assert [e.notation for e in wanted.entrants] == ["d-ucb:discount=0.7", "d-ucb:discount=0.9", "round-robin"]


def test_lists_that_are_values_are_no_grids() -> None:
    assert _problems(family="patrol", floors=[0.1, 0.2], caps=[0.8, 0.9]) == ["patrol:floors=[0.1,0.2],caps=[0.8,0.9]"]
    assert _problems(family="loan", start=[0.4, 0.6], units=[50, 300], shock="each(deviation=0.02)") == [
        f"loan:start=[0.4,0.6],units={units},shock=each(deviation=0.02)" for units in (50, 300)
    ]
    assert _policies(policy="fixed", allocation=[0.3, 0.7]) == ["fixed:allocation=[0.3,0.7]"]
    assert _problems(family="loan", delay=[0.5, 0.25, 0.25]) == [
        "loan:delay=[0.5,0.25,0.25]"
    ]  # chances: they sum to one


@pytest.mark.parametrize("rounds", [[0, 1], [1], [0, 4], [2, 3], [1, 0]])
def test_whole_delays_are_rounds_to_try(rounds: list[int]) -> None:
    assert _problems(family="loan", delay=rounds) == [f"loan:delay={delay}" for delay in rounds]


@pytest.mark.parametrize("chances", [[1.0], [0.0, 1.0], [0, 1.0], [0.5, 0.5]])
def test_a_delay_with_a_fraction_is_chances(chances: list[float]) -> None:
    (family,) = _bare(problems=[{"family": "loan", "delay": chances}], policies=["fixed"]).families.values()
    assert check_delay(family.delay) == tuple(chances)


def test_lists_of_words_are_grids() -> None:
    assert _problems(family="loan", start=["even", "none"]) == ["loan:start=even", "loan:start=none"]
    impacts = ["discounted(memory=0.2)", "window(length=5)"]
    assert _problems(family="gaussian", impact=impacts) == [f"gaussian:impact={impact}" for impact in impacts]
    assert _problems(family="gaussian", impact=[impacts]) == [f"gaussian:impact=[{','.join(impacts)}]"]
    assert _problems(family="loan", start=["even", [0.4, 0.6]]) == ["loan:start=even", "loan:start=[0.4,0.6]"]
    delays = [3, "geometric(mean=4)"]
    assert _problems(family="loan", delay=delays) == ["loan:delay=3", "loan:delay=geometric(mean=4)"]


def test_lists_of_such_lists_are_grids() -> None:
    assert _policies(policy="fixed", allocation=[[0.3, 0.7], [0.5, 0.5]]) == [
        "fixed:allocation=[0.3,0.7]",
        "fixed:allocation=[0.5,0.5]",
    ]
    impacts = ["window(length=5)", ["instant", "discounted(memory=0.6)"]]
    assert _problems(family="gaussian", impact=impacts) == [
        "gaussian:impact=window(length=5)",
        "gaussian:impact=[instant,discounted(memory=0.6)]",
    ]


def test_inner_policies_are_written_in_the_short_notation() -> None:
    assert _policies(policy="phased", inner=["cucb", "cucb(zero=true)"], memory=0.4) == [
        "phased:inner=cucb,memory=0.4",
        "phased:inner=cucb(zero=true),memory=0.4",
    ]


def test_tuning_lists_every_candidate_beside_the_grid() -> None:
    entry = {"policy": "d-ucb", "xi": [0.5, 1.0], "tune": {"discount": [0.7, 0.9]}}
    assert [(e.notation, list(e.policies)) for e in _bare(policies=[entry]).entrants] == [
        ("d-ucb:xi=0.5", ["d-ucb:xi=0.5,discount=0.7", "d-ucb:xi=0.5,discount=0.9"]),
        ("d-ucb:xi=1", ["d-ucb:xi=1,discount=0.7", "d-ucb:xi=1,discount=0.9"]),
    ]
    assert Plan(_bare(policies=[entry])).labels == ["d-ucb:xi=0.5 (tuned)", "d-ucb:xi=1 (tuned)"]


def test_several_parameters_can_be_tuned_together() -> None:
    entry = {"policy": "d-ucb", "tune": {"discount": [0.7, 0.9], "xi": [0.5, 1.0]}}
    [found] = _bare(policies=[entry]).entrants
    assert (found.label, len(found.policies)) == ("d-ucb (tuned)", 4)


@pytest.mark.parametrize(
    ("checkpoints", "rounds"),
    [
        (4, [25, 50, 75, 100]),
        ([10, 30], [10, 30, 100]),
        ({"count": 4}, [25, 50, 75, 100]),
        ({"count": 3, "spacing": "log"}, [1, 10, 100]),
        ({"count": 1, "spacing": "log"}, [1, 100]),
        (100_000, list(range(1, 101))),
    ],
)
def test_checkpoints(checkpoints: Any, rounds: list[int]) -> None:
    assert _bare(checkpoints=checkpoints).rounds == rounds


def test_a_scale_changes_only_what_it_names() -> None:
    scales = {"quick": {"runs": 2}, "paper": {"horizon": 200, "checkpoints": [50], "tuning": {"instances": 3}}}
    both = {**BARE, "runs": 5, "scales": scales}
    quick, paper = (parse_spec(at_scale(both, scale)) for scale in ("quick", "paper"))
    assert (quick.runs, quick.horizon) == (2, 100)
    assert (paper.runs, paper.rounds, paper.tuning.instances, paper.scales) == (5, [50, 200], 3, {})
    assert parse_spec(at_scale(BARE, "quick")) == _bare()
    with pytest.raises(AftereffectError, match=r"bare has no scale 'huge' \(it has paper, quick\)"):
        at_scale(both, "huge")


def test_lists_of_horizons_and_seeds_are_experiments_of_their_own() -> None:
    found = parse_specs({**BARE, "horizon": [100, 40], "seed": [1, 2], "checkpoints": 2})
    assert [(s.name, s.horizon, s.seed, s.rounds) for s in found] == [
        ("bare-100-seed1", 100, 1, [50, 100]),
        ("bare-100-seed2", 100, 2, [50, 100]),
        ("bare-40-seed1", 40, 1, [20, 40]),
        ("bare-40-seed2", 40, 2, [20, 40]),
    ]
    assert [s.name for s in parse_specs({**BARE, "horizon": [100]})] == ["bare-100"]
    assert parse_specs(BARE) == [_bare()]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"horizon": []}, "horizon: an empty list has no values to try"),
        ({"horizon": [5, 7, 5]}, "horizon: '5' is given twice"),
        ({"horizon": [5, "x"]}, r"^horizon: .*got 'x'"),
        ({"horizon": [5, -1]}, r"^horizon: .*got -1"),
        ({"seed": list(range(1001))}, "seed: 1,001 experiments are more than 1,000"),
        ({"horizon": [5], "name": 3}, "^name: "),
        ({"horizon": [100, 40], "checkpoints": [60]}, "^checkpoints: "),
    ],
)
def test_wrong_lists_of_horizons_and_seeds(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AftereffectError, match=said):
        parse_specs({**BARE, **changes})


def test_a_file_of_several_experiments_is_not_one(tmp_path: Path) -> None:
    path = write_spec(tmp_path, SMALL.replace("horizon = 300", "horizon = [300, 400]"))
    assert [s.horizon for s in load_specs(path)] == [300, 400]
    with pytest.raises(AftereffectError, match="is a grid of 2 experiments, not one; use load_specs"):
        load_spec(path)


def test_what_is_dumped_parses_to_the_same() -> None:
    for text in (SMALL, TUNED):
        assert parse_spec(spec(text).model_dump(mode="json")) == spec(text)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", FIGURES + EXTRA)
def test_every_shipped_spec_can_be_planned(name: str, scale: str) -> None:
    for wanted in shipped_specs(name, scale):
        assert wanted.name.startswith(name)
        assert wanted.title
        assert wanted.caption
        assert Plan(wanted).shard_count >= 1


# How mistakes are said.


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"horizn": 3}, "unknown key 'horizn'; did you mean 'horizon'?"),
        ({"int": 3}, "unknown key 'int'; did you mean 'instances'?"),
        ({"zzzzzz": 3}, "unknown key 'zzzzzz'"),
        ({"tuning": {"instance": 2}}, "unknown key 'tuning.instance'; did you mean 'instances'?"),
        ({"checkpoints": {"cout": 3}}, "unknown key 'checkpoints.cout'; did you mean 'count'?"),
        ({"scales": {"quick": {"horizont": 3}}}, "unknown key 'scales.quick.horizont'; did you mean 'horizon'?"),
        ({"scales": {"q": {"tuning": {"rns": 1}}}}, "unknown key 'scales.q.tuning.rns'; did you mean 'runs'?"),
        (
            {"scales": {"q": {"checkpoints": {"spacng": 1}}}},
            "unknown key 'scales.q.checkpoints.spacng'; did you mean 'spacing'?",
        ),
        ({"problems": [{"famly": "gaussian"}]}, "missing key 'problems[0].family'; is 'famly' a slip for it?"),
        ({"problems": [{"name": "gaussian"}]}, "missing key 'problems[0].family'; is 'name' a slip for it?"),
        ({"problems": ["gausian"]}, "problems[0]: unknown problem 'gausian'; did you mean 'gaussian'?"),
        ({"problems": [3]}, "problems[0]: must be a name in the short notation, or a table, got 3"),
        ({"policies": "d-ucb"}, "policies: must be a list, got 'd-ucb'"),
        ({"horizon": 1e5}, "horizon: must be a whole number, got 100000.0"),
        ({"policies": [{"policy": "d-ucb"}, {}]}, "missing key 'policies[1].policy'"),
        (
            {"problems": [{"family": "gaussian", "memroy": 0.3}]},
            "problems[0]: unknown parameter of problem 'gaussian': 'memroy'; did you mean 'memory'?",
        ),
        (
            {"policies": [{"policy": "d-ucb", "discont": 0.5}]},
            "policies[0]: unknown parameter of policy 'd-ucb': 'discont'; did you mean 'discount'?",
        ),
        (
            {"policies": [{"policy": "d-ucb", "tune": {"discont": [0.5]}}]},
            "policies[0]: unknown parameter of policy 'd-ucb': 'discont'; did you mean 'discount'?",
        ),
        ({"problems": [{"family": "gausian"}]}, "problems[0]: unknown problem 'gausian'; did you mean 'gaussian'?"),
        ({"policies": [{"policy": "ducb"}]}, "policies[0]: unknown policy 'ducb'; did you mean 'd-ucb'?"),
        ({"policies": [{"policy": "phased", "inner": "cucbb"}]}, "policies[0]: unknown policy 'cucbb'; did you mean"),
        ({"policies": [{"policy": "phased"}]}, "policies[0]: policy 'phased' needs inner="),
    ],
)  # fmt: skip
def test_wrong_names_are_said_with_their_path_and_the_nearest(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AftereffectError) as error:
        _bare(**changes)
    assert str(error.value).startswith(said)


@pytest.mark.parametrize("key", ["name", "horizon", "problems", "policies"])
def test_missing_keys(key: str) -> None:
    with pytest.raises(AftereffectError, match=f"^missing key '{key}'$"):
        parse_spec({k: v for k, v in BARE.items() if k != key})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"runs": -1}, r"^runs: .*greater than or equal to 1, got -1"),
        ({"runs": True}, r"^runs: .*got True"),
        ({"instances": 2.0}, r"^instances: .*got 2.0"),
        ({"horizon": "long"}, r"^horizon: .*got 'long'"),
        ({"seed": -3}, r"^seed: .*got -3"),
        ({"name": "../up"}, r"^name: .*got '../up'"),
        ({"name": ""}, r"^name: "),
        ({"name": "x" * 300}, r"^name: "),
        ({"problems": []}, r"^problems: .*at least 1"),
        ({"policies": {}}, r"^policies: .*list"),
        ({"problems": [{"family": 3}]}, r"^problems\[0\].family: .*got 3"),
        ({"checkpoints": "x"}, r"^checkpoints: .*got 'x'"),
        ({"checkpoints": [1, "x"]}, r"^checkpoints\[1\]: .*got 'x'"),
        ({"checkpoints": {"count": "x"}}, r"^checkpoints.count: .*got 'x'"),
        ({"checkpoints": {"spacing": "sqrt"}}, r"^checkpoints.spacing: .*'linear' or 'log'"),
        ({"checkpoints": [1, 101]}, r"^checkpoints: .*1\.\.100"),
        ({"checkpoints": []}, r"^checkpoints: "),
        ({"scales": {"quick": {"runs": 0}}}, r"^scales.quick.runs: "),
        ({"problems": [{"family": "gaussian", "memory": 1.5}]}, r"^problems\[0\]: .*memory must lie in \[0, 1\), got 1.5"),
        ({"problems": [{"family": "gaussian", "memory": [0.2, "x"]}]}, r"^problems\[0\]: .*memory must be a number.*'x'"),
        ({"problems": [{"family": "gaussian", "memory": []}]}, r"^problems\[0\].memory: an empty list"),
        ({"problems": [{"family": "gaussian", "memory": {"a": 1}}]}, r"^problems\[0\].memory: a number, .*\{'a': 1\}"),
        ({"problems": [{"family": "gaussian", "memory": float("nan")}]}, r"^problems\[0\].memory: .*finite, got nan"),
        ({"problems": [{"family": "gaussian", "seed": 3}]}, r"^problems\[0\].seed: .*top-level seed"),
        ({"problems": [{"family": "gaussian", "arms": 10**30}]}, r"^problems\[0\].arms: whole numbers go up to"),
        ({"problems": [{"family": "gaussian"}] * 2}, r"^problems: 'gaussian' is given twice"),
        ({"policies": [{"policy": "d-ucb", "discount": [0.5, 0.5]}]}, r"^policies: 'd-ucb:discount=0.5' is given twice"),
        ({"policies": [{"policy": "d-ucb", "tune": {"discount": 0.5}}]}, r"^policies\[0\].tune.discount: .*list, got 0.5"),
        ({"policies": [{"policy": "d-ucb", "tune": {"discount": []}}]}, r"^policies\[0\].tune.discount: .*at least 1"),
        (
            {"policies": [{"policy": "d-ucb", "tune": {"discount": [0.5, 0.5]}}]},
            r"^policies\[0\].tune: 'd-ucb:discount=0.5' is given twice",
        ),
        (
            {"policies": [{"policy": "d-ucb", "discount": 0.5, "tune": {"discount": [0.5]}}]},
            r"^policies\[0\].tune.discount: given as a parameter too",
        ),
        ({"problems": [{"family": "gaussian", "feedback": "one,arms=3"}]}, r"^problems\[0\].feedback: .*not one parameter"),
        ({"problems": [{"family": "gaussian", "arms=3,memory": 0.2}]}, r"^problems\[0\].'arms=3,memory': .*not one"),
        ({"problems": [{"family": "gaussian:arms=3", "memory": 0.2}]}, r"^problems\[0\]: 'gaussian:arms=3' holds"),
    ],
)  # fmt: skip
def test_wrong_values_are_said_with_their_key(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(AftereffectError, match=said) as error:
        _bare(**changes)
    assert len(str(error.value).splitlines()) == 1


def test_a_policy_that_cannot_run_on_a_problem_is_said_before_anything_runs() -> None:
    wanted = _bare(problems=[{"family": "gaussian", "floors": [0.2, 0.2]}])
    with pytest.raises(AftereffectError, match=r"'d-ucb' on 'gaussian:floors=\[0.2,0.2\]': .*floors"):
        Plan(wanted)


# Files.


@pytest.mark.parametrize(
    "text",
    ["name = ", "name = 'x'\nname = 'y'", "[problems\n", "horizon = 1" + "0" * 5000, "a = " + "[" * 5000, "name = 'a' 'b'"],
)  # fmt: skip
def test_text_that_is_not_toml(text: str, tmp_path: Path) -> None:
    path = write_spec(tmp_path, text)
    with pytest.raises(AftereffectError, match=r"spec.toml' is not valid TOML: ") as error:
        load_spec(path)
    assert len(str(error.value).splitlines()) == 1


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(AftereffectError, match=r"cannot read the spec .*No such file"):
        load_spec(tmp_path / "absent.toml")
    with pytest.raises(AftereffectError, match=r"cannot read the spec .*directory"):
        load_spec(tmp_path)
    path = tmp_path / "latin.toml"
    path.write_bytes(b"name = '\xe9'")
    with pytest.raises(AftereffectError, match=r"cannot read the spec .*utf-8"):
        load_spec(path)


def test_a_file_is_its_content(tmp_path: Path) -> None:
    assert load_spec(write_spec(tmp_path, SMALL)) == parse_spec(tomllib.loads(SMALL))


# Absurd amounts are refused, quickly and in little memory.

MANY = [i / 2000 for i in range(1000)]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"horizon": 10**15}, "^horizon: "),
        ({"runs": 10**9}, "^runs: "),
        ({"checkpoints": 10**15}, "^checkpoints: "),
        ({"horizon": 10**12, "checkpoints": {"count": 10**12, "spacing": "log"}}, "^checkpoints.count: "),
        ({"seed": 10**30}, "^seed: "),
        ({"runs": 10**6, "instances": 10**6}, r"come to [\d,]+ shards, more than 100,000"),
        ({"horizon": 10**12, "runs": 10**6}, r"^bare: .* runs of horizon .* come to [\d,]+ shards"),
        ({"tuning": {"horizon": 10**12, "runs": 10**6}, "policies": [{"policy": "d-ucb", "tune": {"xi": [1, 2]}}]}, "shards"),
        ({"problems": [{"family": "gaussian", "memory": MANY, "half_life": MANY}]}, r"^problems\[0\]: .*1,000,000 combinations"),
        ({"policies": [{"policy": "d-ucb", "discount": MANY, "xi": MANY}]}, r"^policies\[0\]: .*1,000,000 combinations"),
        ({"policies": [{"policy": "d-ucb", "tune": {"discount": MANY, "xi": MANY}}]}, r"^policies\[0\].tune: .*combinations"),
        (
            {
                "problems": [{"family": "gaussian", "memory": MANY}],
                "policies": [{"policy": "d-ucb", "discount": [m + 0.1 for m in MANY[:800]]}],
            },
            "shards",
        ),
        (
            {"problems": [{"family": "gaussian", "arms": 10_000}], "policies": [{"policy": "action-ucb"}]},
            "^'action-ucb' on 'gaussian:arms=10000': 10,000 arms x .* cells",
        ),
        ({"policies": [{"policy": "history-ucb", "levels": 10**12}]}, "^'history-ucb:levels=1000000000000' on .*levels"),
        ({"problems": [{"family": "gaussian", "impact": "window(length=1000000000000)"}]}, r"^problems\[0\]: .*length"),
        ({"name": "a", "title": [[[[[[[[[[[[[[1]]]]]]]]]]]]]]}, "^title.*nested more than 10 deep"),
    ],
)  # fmt: skip
def test_absurd_amounts_are_refused(changes: dict[str, Any], said: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(AftereffectError, match=said):
            Plan(_bare(**changes))
        assert tracemalloc.get_traced_memory()[1] < 100e6
    finally:
        tracemalloc.stop()


def test_very_long_runs_are_only_counted_not_listed() -> None:
    plan = Plan(_bare(horizon=10**11, runs=100))
    assert plan.work == 10**13
    assert plan.shard_count == 100
    assert plan.estimated_seconds == pytest.approx(1e6)


def test_time_is_told_only_where_it_is_known() -> None:
    policies = ["d-ucb", "curve-thompson:memory=0.4", {"policy": "thompson-split"}]
    known = Plan(_bare(problems=["loan:delay=0"], runs=1))
    assert known.unknown_cost == []
    assert Plan(_bare(policies=policies)).unknown_cost == [*policies[1:2], "thompson-split"]
    assert Plan(_bare(problems=["loan", "loan:delay=2"])).unknown_cost == ["loan:delay=2"]
    more = Plan(_bare(runs=50))
    assert more.estimated_seconds == pytest.approx(50 * known.estimated_seconds)
