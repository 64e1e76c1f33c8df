"""What agents are told: by name, in whatever it is kept in, or refused in one clear line; never read wrongly."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import polars
import pytest

import aftereffect as ae
from aftereffect.policies.reading import by_arm

NAN = float("nan")
NAMES = ("north", "centre", "south")


def read(values: Any, names: tuple[str, ...] | None = NAMES) -> list[float]:
    return [float(v) for v in by_arm("rewards", values, 3, names)]


WHOLE = {"north": 0.1, "centre": 0.2, "south": 0.3}

BY_NAME: dict[str, Any] = {
    "dict": {"south": 0.3, "north": 0.1, "centre": 0.2},
    "dict of odd numbers": {"south": Fraction(3, 10), "north": Decimal("0.1"), "centre": np.array(0.2)},
    "pandas": pandas.Series({"south": 0.3, "north": 0.1, "centre": 0.2}),
    "pandas objects": pandas.Series({"south": 0.3, "north": 0.1, "centre": Decimal("0.2")}, dtype=object),
    "pandas nullable": pandas.Series({"south": 0.3, "north": 0.1, "centre": 0.2}, dtype="Float64"),
    "pandas arrow": pandas.Series({"south": 0.3, "north": 0.1, "centre": 0.2}, dtype="float64[pyarrow]"),
    "pandas frame": pandas.DataFrame({"south": [0.3], "north": [0.1], "centre": [0.2]}),
    "polars frame": polars.DataFrame({"south": [0.3], "north": [0.1], "centre": [0.2]}),
}


@pytest.mark.parametrize("values", BY_NAME.values(), ids=BY_NAME)
def test_names_count_and_not_places(values: Any) -> None:
    assert read(values) == [0.1, 0.2, 0.3]


IN_ORDER: dict[str, Any] = {
    "list": [0.25, 0.5, 0.75],
    "tuple": (0.25, 0.5, 0.75),
    "array": np.array([0.25, 0.5, 0.75]),
    "float32": np.array([0.25, 0.5, 0.75], dtype=np.float32),
    "strided": np.array([0.25, 9, 0.5, 9, 0.75, 9])[::2],
    "mixed": [0.25, Decimal("0.5"), Fraction(3, 4)],
}


@pytest.mark.parametrize("names", [NAMES, None], ids=["named", "nameless"])
@pytest.mark.parametrize("values", IN_ORDER.values(), ids=IN_ORDER)
def test_what_has_no_names_is_read_in_order(values: Any, names: tuple[str, ...] | None) -> None:
    assert read(values, names) == [0.25, 0.5, 0.75]


def test_series_for_arms_without_names_are_read_in_order_if_nothing_speaks_against_it() -> None:
    assert read(pandas.Series([0.25, 0.5, 0.75]), None) == [0.25, 0.5, 0.75]
    assert read(polars.Series([0.25, 0.5, 0.75]), None) == [0.25, 0.5, 0.75]
    assert read(pandas.Series([0.25, 0.5, 0.75], index=[2, 1, 0]), None) == [0.75, 0.5, 0.25]  # arms by their numbers
    for index in ([1, 2, 3], ["a", "b", "c"]):
        with pytest.raises(ae.WrongTell, match="have no names"):
            read(pandas.Series([0.25, 0.5, 0.75], index=index), None)


DISTRICTS: dict[str, Any] = {
    "dict": {103: 0.3, 101: 0.1, "102": 0.2},
    "NumPy's": {np.int64(103): 0.3, np.int32(101): 0.1, np.uint8(102): 0.2},
    "pandas": pandas.Series([0.3, 0.1, 0.2], index=[103, 101, 102]),
    "pandas frame": pandas.DataFrame({103: [0.3], 101: [0.1], 102: [0.2]}),
}


@pytest.mark.parametrize("values", DISTRICTS.values(), ids=DISTRICTS)
def test_districts_may_have_numbers_for_names(values: Any) -> None:
    agent = ae.Fixed().start(3, names=[101, 102, 103])
    assert agent.names == ("101", "102", "103")
    agent.ask()
    agent.tell(values)
    assert agent.log["reward"].to_list() == [0.1, 0.2, 0.3]


def test_shares_floors_and_parts_go_by_districts_numbers_too() -> None:
    start = {103: 0.2, 101: 0.5, 102: 0.3}
    agent = ae.CurveThompson(memory=0.5).start(
        3, feedback="split", names=[101, 102, 103], floors={102: 0.1}, start=start
    )
    assert agent.ask().tolist() == [0.5, 0.3, 0.2]
    first = agent.deploy(start)
    agent.tell({102: 0.4}, round=first)
    assert agent.open_rounds == [first]
    agent.tell({101: 0.4, 103: 0.4}, round=first)
    assert agent.open_rounds == []
    agent.set_limits(floors={101: 0.3})
    assert agent.setting.limits.floors.tolist() == [0.3, 0.1, 0.0]
    with pytest.raises(ae.AftereffectError, match="names must differ"):
        ae.Fixed().start(2, names=[7, "7"])


@pytest.mark.parametrize("values", [[True, False, True], np.array([1, 0, 1]), [1, 0, 1], np.array([True, False, True])])
def test_truth_and_whole_numbers_are_numbers(values: Any) -> None:
    assert read(values) == [1.0, 0.0, 1.0]


def test_arms_that_are_left_out_or_missing_were_not_seen() -> None:
    for values in (
        {"south": 0.5},
        {"south": 0.5, "north": None},
        {"south": 0.5, "north": NAN},
        pandas.Series({"south": 0.5}),
        pandas.Series({"south": 0.5, "north": None}),
        pandas.Series({"south": 0.5, "north": pandas.NA}, dtype="Float64"),
        polars.DataFrame({"south": [0.5], "north": [None]}),
        [None, None, 0.5],
    ):
        np.testing.assert_array_equal(read(values), [NAN, NAN, 0.5])


DAY = datetime.date(2026, 1, 5)

WRONG: dict[str, tuple[Any, str]] = {
    "masked": (np.ma.masked_array([0.1, 0.2, 0.3], mask=[False, True, False]), "masked array; use .filled"),
    "masked, nothing masked": (np.ma.masked_array([0.1, 0.2, 0.3]), "masked array"),
    "masked value": ({"north": np.ma.masked}, "must be a number, got masked"),
    "complex list": ([0.1, 0.2 + 1j, 0.3], "must be a number, got .*j"),
    "complex array": (np.array([0.1, 0.2 + 1j, 0.3]), "must be a number"),
    "complex in a dict": ({"north": np.complex128(0.5 + 1j)}, "must be a number"),
    "complex series": (pandas.Series({"north": 0.5 + 1j}), "must be a number"),
    "datetimes": (np.array(["2026-01-05"] * 3, dtype="datetime64[D]"), "must be a number"),
    "time spans": (np.array([1, 2, 3], dtype="timedelta64[D]"), "must be a number"),
    "dates": ([DAY] * 3, "must be a number"),
    "datetimes by name": (pandas.Series({"north": pandas.Timestamp("2026-01-05")}), "must be a number"),
    "missing dates": (pandas.Series({"north": pandas.NaT}), "must be a number"),
    "date in a frame": (polars.DataFrame({"north": [DAY]}), "must be a number"),
    "words": (["0.1", "0.2", "0.3"], "must be a number, got .*'0.1'"),
    "truth in words": (["True", "False", "True"], "must be a number"),
    "word by name": ({"north": "0.5"}, "must be a number, got '0.5'"),
    "bytes": ([b"1", b"0", b"1"], "must be a number"),
    "word series": (pandas.Series({"north": "0.5"}), "must be a number"),
    "one word": ("0.5", "must be 3 numbers"),
    "too few": ([0.1, 0.2], "one per arm, got 2"),
    "too many": (np.zeros(4), "one per arm, got 4"),
    "table": (np.zeros((1, 3)), "got a table of 1 x 3"),
    "ragged": ([[0.1], [0.2, 0.3], 0.4], "must be 3 numbers"),
    "lists": ([[0.1], [0.2], [0.3]], "got a table of 3 x 1"),
    "a number": (0.5, "one per arm, got 0.5"),
    "a set": ({0.1, 0.2, 0.3}, "one per arm"),
    "a generator": ((x for x in (0.1, 0.2, 0.3)), "one per arm"),
    "an object": (object(), "one per arm"),
    "huge": ([10**400, 0, 0], "must be a number, got 1000"),
    "huge by name": ({"north": 10**400}, "must be a number, got 1000"),
    "unknown name": ({"nrth": 0.5}, "unknown arm 'nrth'; did you mean 'north'"),
    "unknown label": (pandas.Series({"north": 0.5, "west": 0.5}), "unknown arm 'west'"),
    "unknown column": (polars.DataFrame({"west": [0.5]}), "unknown arm 'west'"),
    "places for names": (pandas.Series([0.1, 0.2, 0.3]), "unknown arm 0"),
    "a number for a name": ({0: 0.5}, "unknown arm 0"),
    "label twice": (pandas.Series([0.1, 0.2], index=["north", "north"]), "names arm 'north' twice"),
    "polars series": (polars.Series([0.1, 0.2, 0.3]), "no labels to go by"),
    "frame of rows": (pandas.DataFrame({"north": [0.1, 0.2]}), "needs one row .* got 2 rows"),
    "empty frame": (polars.DataFrame({"north": []}), "got 0 rows"),
    "an index": (pandas.Index([0.1, 0.2, 0.3]), "got a pandas Index"),
}


@pytest.mark.parametrize(("values", "said"), WRONG.values(), ids=WRONG)
def test_what_could_only_be_read_wrongly_is_refused(values: Any, said: str) -> None:
    with pytest.raises(ae.AftereffectError, match=said) as error:
        read(values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("values", "said"), WRONG.values(), ids=WRONG)
@pytest.mark.parametrize("where", ["rewards", "trials", "allocation", "measures"])
def test_a_refused_tell_changes_nothing(values: Any, said: str, where: str) -> None:
    agent = ae.Fixed().start(3, names=NAMES)
    agent.ask()
    told: dict[str, Any] = {"rewards": [0.5, 0.5, 0.5], where: values}
    with pytest.raises(ae.AftereffectError):
        agent.tell(**told)
    assert agent.rounds == 0
    agent.tell([0.5, 0.5, 0.5])


def test_everything_is_told_by_name() -> None:
    pieces = {"north": 0.5, "centre": 0.25, "south": 0.25}
    by_name, in_order = (ae.ActionUCB(levels=8).start(3, names=NAMES, seed=1, feedback="split") for _ in range(2))
    for _ in range(20):
        by_name.ask(), in_order.ask()
        turned = dict(reversed(pieces.items()))
        measures: Any = polars.DataFrame({"south": [0.2], "north": [0.4]})
        by_name.tell(
            pandas.Series({"south": 0.1, "north": 0.9}),
            trials=pandas.Series({"north": 5, "south": 7}),
            allocation=pandas.Series(turned),
            measures=measures,
        )
        in_order.tell([0.9, NAN, 0.1], trials=[5, 0, 7], allocation=[0.5, 0.25, 0.25], measures=[0.4, NAN, 0.2])
        assert by_name.ask().tolist() == in_order.ask().tolist()


def test_an_allocation_may_leave_out_arms_without_a_share_but_not_say_nan() -> None:
    agent = ae.Fixed().start(3, names=NAMES)
    agent.ask()
    with pytest.raises(ae.WrongTell, match="sum to 1"):
        agent.tell(None, allocation={"north": 1.0, "south": NAN})
    agent.tell(None, allocation=pandas.Series({"north": 1.0}))
    assert agent.rounds == 1


def test_records_of_the_past_are_read_by_name_too() -> None:
    agent = ae.Fixed().start(
        3, names=NAMES, history=[(pandas.Series({"south": 0.5, "north": 0.5}), pandas.Series({"south": 1.0}))]
    )
    assert agent.rounds == 1
    with pytest.raises(ae.AftereffectError, match="history, record 0: unknown arm 'west'"):
        ae.Fixed().start(3, names=NAMES, history=[pandas.Series({"west": 1.0})])


SHUFFLED = {"south": 0.2, "centre": 0.5, "north": 0.3}
THREE = ["north", "centre", "south"]


@pytest.mark.parametrize("label", [dict, pandas.Series, lambda d: polars.DataFrame({k: [v] for k, v in d.items()})])
def test_splits_and_limits_go_by_their_labels(label):
    policy = ae.policy("curve-thompson", memory=0.5)
    agent = policy.start(
        3, feedback="split", names=THREE, start=label(SHUFFLED), floors=label({"south": 0.15, "north": 0.1})
    )
    assert np.array(agent.setting.start).tolist() == [0.3, 0.5, 0.2]
    assert agent.setting.limits.floors.tolist() == [0.1, 0.0, 0.15]
    agent.set_limits(caps=label({"centre": 0.6}))
    assert agent.setting.limits.caps.tolist() == [1.0, 0.6, 1.0]
    rows = [{"round": 1, "arm": name, "share": SHUFFLED[name], "reward": 0.5} for name in THREE]
    assert ae.read_records(rows).limits(label({"south": 0.15}), label({"north": 0.4})).floors.tolist() == [0, 0, 0.15]
    with pytest.raises(ae.AftereffectError, match="unknown arm 'west'"):
        policy.start(3, feedback="split", names=THREE, caps=label({"west": 0.5}))
    with pytest.raises(ae.AftereffectError, match="start by name needs names="):
        policy.start(3, feedback="split", start=label(SHUFFLED))


def test_a_series_that_says_an_arm_twice_or_nothing_is_refused():
    policy = ae.policy("curve-thompson", memory=0.5)
    unlabelled: Any = polars.Series([0.1, 0.2, 0.3])
    twice: Any = pandas.Series([0.1, 0.2], index=["north", "north"])
    with pytest.raises(ae.AftereffectError, match="floors names an arm twice"):
        policy.start(3, feedback="split", names=THREE, floors=twice)
    with pytest.raises(ae.AftereffectError, match="a polars Series has no labels"):
        policy.start(3, feedback="split", names=THREE, floors=unlabelled)
    plain = policy.start(3, feedback="split", start=pandas.Series([0.3, 0.5, 0.2]))
    assert np.array(plain.setting.start).tolist() == [0.3, 0.5, 0.2]
