from __future__ import annotations

import datetime as dt
import os
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import numpy as np
import pandas
import polars
import pytest

import aftereffect as ae

ROWS: list[dict[str, Any]] = [
    {"round": 1, "arm": "north", "share": 0.6, "reward": 0.5, "trials": 60},
    {"round": 1, "arm": "south", "share": 0.4, "reward": 0.25, "trials": 40},
    {"round": 2, "arm": "north", "share": 0.5, "reward": 0.4, "trials": 50},
    {"round": 2, "arm": "south", "share": 0.5, "reward": None, "trials": 50},
]


def changed(row: int, **values):
    rows = [dict(r) for r in ROWS]
    rows[row].update(values)
    return rows


def test_the_same_rounds_from_every_source(tmp_path):
    frame = polars.DataFrame(ROWS)
    frame.write_csv(tmp_path / "h.csv")
    frame.write_csv(tmp_path / "semicolon.csv", separator=";")
    frame.write_parquet(tmp_path / "h.parquet")
    wide = polars.DataFrame(
        {
            "week": [1, 2],
            "share_north": [0.6, 0.5],
            "share_south": [0.4, 0.5],
            "reward_north": [0.5, 0.4],
            "reward_south": [0.25, None],
            "trials_north": [60, 50],
            "trials_south": [40, 50],
        }
    )
    first = ae.read_records(ROWS)
    others = [
        ae.read_records(frame),
        ae.read_records(frame.lazy()),
        ae.read_records(frame.to_dict(as_series=False)),
        ae.read_records(pandas.DataFrame(ROWS)),
        ae.read_records(str(tmp_path / "h.csv")),
        ae.read_records(tmp_path / "semicolon.csv"),
        ae.read_records(tmp_path / "h.parquet"),
        ae.read_records(wide, wide="{what}_{arm}", columns={"round": "week"}),
    ]
    assert first.names == ("north", "south")
    assert first.labels == ("1", "2")
    np.testing.assert_allclose(first.shares, [[0.6, 0.4], [0.5, 0.5]])
    np.testing.assert_array_equal(first.rewards, [[0.5, 0.25], [0.4, np.nan]])
    np.testing.assert_array_equal(first.trials, [[60, 40], [50, 0]])
    for other in others:
        assert other.names == first.names
        for part in ("shares", "rewards", "trials"):
            np.testing.assert_array_equal(getattr(other, part), getattr(first, part))


def test_amounts_become_shares_and_successes_rewards():
    rows = [
        {"date": dt.date(2026, 1, 5), "arm": "a", "amount": 300, "successes": 30, "trials": 60},
        {"date": dt.date(2026, 1, 5), "arm": "b", "amount": 100, "successes": 0, "trials": 0},
    ]
    records = ae.read_records(rows)
    np.testing.assert_allclose(records.shares, [[0.75, 0.25]])
    np.testing.assert_array_equal(records.rewards, [[0.5, np.nan]])
    np.testing.assert_array_equal(records.trials, [[60, 0]])


def test_money_is_mapped_and_comes_back():
    rows = [dict(r, reward=None if r["reward"] is None else 500 * r["reward"]) for r in ROWS]
    records = ae.read_records(rows, reward_range=(0, 500))
    np.testing.assert_array_equal(records.rewards, ae.read_records(ROWS).rewards)
    assert records.frame()["reward"].to_list() == [250.0, 125.0, 200.0, None]


def test_rounded_shares_are_normalised_and_the_sum_is_said_when_they_are_too_far_off():
    rows = [{"round": 1, "arm": a, "share": 0.3333, "reward": 0.5} for a in "abc"]
    np.testing.assert_allclose(ae.read_records(rows).shares.sum(axis=1), 1.0)
    with pytest.raises(ae.AftereffectError, match=r"row 1, column share: .* add up to 0\.9; must be 1"):
        ae.read_records(changed(1, share=0.3))


def test_gaps_count_as_rounds_with_the_last_split_and_that_is_said():
    rows = [*ROWS, {"round": 5, "arm": "north", "share": 1.0, "reward": 0.1, "trials": 10}]
    records = ae.read_records(rows)
    assert records.labels == ("1", "2", "3", "4", "5")
    np.testing.assert_allclose(records.shares[1:4], [[0.5, 0.5]] * 3)
    np.testing.assert_allclose(records.shares[4], [1.0, 0.0])  # an arm that disappears has no share
    assert records.trials[2:4].sum() == 0
    assert any("2 rounds without a row (3 to 4)" in note for note in records.notes)


def test_dates_are_rounds_in_whatever_order_they_come():
    weeks = [dt.date(2026, 1, 5) + dt.timedelta(weeks=n) for n in (2, 0, 3)]
    rows = [{"date": str(w), "arm": a, "share": 0.5, "reward": 0.1 * i} for i, w in enumerate(weeks) for a in "ab"]
    records = ae.read_records(rows)
    assert records.labels == ("2026-01-05", "2026-01-12", "2026-01-19", "2026-01-26")
    np.testing.assert_allclose(records.rewards[:, 0], [0.1, np.nan, 0.0, 0.2])
    months = [{"date": f"2026-{m:02d}-01", "arm": a, "share": 0.5, "reward": 0.5} for m in (1, 2, 4) for a in "ab"]
    assert ae.read_records(months).labels == ("2026-01", "2026-02", "2026-03", "2026-04")


def on(days):
    return [{"date": day, "arm": a, "share": 0.5, "reward": 0.5} for day in days for a in "ab"]


@pytest.mark.parametrize("as_text", [True, False])
def test_a_date_that_would_tear_the_weeks_apart_is_refused(as_text):
    """One Tuesday among Mondays would make every week seven rounds, six of them without a row."""
    days = [dt.date(2026, 3, 2) + dt.timedelta(weeks=n) for n in range(8)]
    days[5] += dt.timedelta(days=1)
    with pytest.raises(
        ae.AftereffectError, match=r"row 11, column date: 2026-04-07 does not fit dates .* 7 days apart"
    ):
        ae.read_records(on([str(day) for day in days] if as_text else days))


@pytest.mark.parametrize(
    ("days", "rounds"),
    [
        ([dt.date(2026, m, 1) for m in (7, 8, 9, 10, 11)], 5),  # three of four are 31 days apart
        ([dt.date(2026, 3, 2) + dt.timedelta(days=d) for d in (0, 3, 7, 10, 14)], 5),  # Mondays and Thursdays
        ([dt.date(2026, 3, 2) + dt.timedelta(days=d) for d in (0, 1, 2, 3, 4, 7, 8, 9, 10, 11)], 12),  # no weekends
        ([dt.date(2026, 3, 2) + dt.timedelta(days=d) for d in (0, 7, 14, 28, 35)], 6),  # one week left out
    ],
)
def test_months_uneven_days_and_gaps_are_no_slips(days, rounds):
    assert ae.read_records(on(days)).rounds == rounds


def test_years_have_four_digits():
    with pytest.raises(ae.AftereffectError, match=r"row 1, column date: the year 26; it must have four digits"):
        ae.read_records(on(["02.03.26", "09.03.26"]))


@pytest.mark.parametrize("kept_in", [list, pandas.Series, polars.Series])
def test_weeks_begin_where_people_are(kept_in):
    """Midnight in Berlin is another day in Greenwich, and an hour further from it in summer."""
    berlin = ZoneInfo("Europe/Berlin")
    days = [dt.datetime(2026, 3, 16, tzinfo=berlin) + dt.timedelta(weeks=n) for n in range(4) for _ in "ab"]
    records = ae.read_records({"date": kept_in(days), "arm": ["a", "b"] * 4, "share": [0.5] * 8, "reward": [0.5] * 8})
    assert records.labels == ("2026-03-16", "2026-03-23", "2026-03-30", "2026-04-06")


def test_what_a_spreadsheet_program_keeps_is_named(tmp_path):
    book = tmp_path / "rounds.xlsx"
    book.write_bytes(b"PK\x03\x04 and so on")
    with pytest.raises(ae.AftereffectError, match=r"are an Excel file: save it as CSV"):
        ae.read_records(book)


def test_columns_may_be_called_by_numbers_and_hold_what_prints():
    columns = {0: [1, 1, 2, 2], 1: [Path("a"), Path("b")] * 2, "share": [0.5] * 4, "reward": [0.5] * 4}
    ours: dict[str, Any] = {"round": 0, "arm": 1}
    records = ae.read_records(columns, columns=ours)
    assert (records.names, records.rounds) == (("a", "b"), 2)
    with pytest.raises(ae.AftereffectError, match=r"column 'arm' must be a list of values, got 5"):
        ae.read_records({"round": [1, 2], "arm": 5})


def test_encodings(tmp_path):
    text = "round,arm,share,reward\n1,Süd,0.5,0.5\n1,Nord,0.5,0.5\n"
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        (tmp_path / "h.csv").write_bytes(text.encode(encoding))
        assert ae.read_records(tmp_path / "h.csv").names == ("Süd", "Nord")
    (tmp_path / "h.csv").write_bytes(text.encode("latin-1"))
    with pytest.raises(ae.AftereffectError, match=r"line 2: byte 0xfc is not utf-8"):
        ae.read_records(tmp_path / "h.csv")
    assert ae.read_records(tmp_path / "h.csv", encoding="latin-1").names == ("Süd", "Nord")
    (tmp_path / "german.csv").write_text("round;arm;share;reward\n1;a;0,5;0,25\n1;b;0,5;0,75\n")
    np.testing.assert_array_equal(ae.read_records(tmp_path / "german.csv").rewards, [[0.25, 0.75]])


def test_what_is_no_file_or_too_large_is_refused_at_once(tmp_path):
    pipe, large = tmp_path / "pipe.csv", tmp_path / "large.parquet"
    os.mkfifo(pipe)
    with large.open("wb") as file:
        file.truncate(1 << 40)
    for path in (pipe, "/dev/zero"):
        with pytest.raises(ae.AftereffectError, match=r"cannot be read: it is no regular file"):
            ae.read_records(path)
    with pytest.raises(ae.AftereffectError, match=r"cannot be read: it has more than 2,000,000,000 bytes"):
        ae.read_records(large)


@pytest.mark.parametrize(
    ("rows", "line"),
    [
        (changed(2, share=-0.1), r"row 3, column share: -0\.1; must be a share from 0 to 1"),
        (changed(2, share=40), r"row 3, column share: 40\.0; .*amount"),
        (changed(2, share="half"), r"row 3, column share: 'half'; must be"),
        (changed(0, share=None), r"row 1, column share: missing"),
        (changed(0, reward=250), r"row 1, column reward: 250\.0; must be a number from 0 to 1; .*reward_range"),
        (changed(0, reward="oops"), r"row 1, column reward: 'oops'"),
        (changed(0, trials=-3), r"row 1, column trials: -3; must be"),
        (changed(0, trials=0.5), r"row 1, column trials: 0\.5; must be at least 1"),
        (changed(1, trials=None), r"row 2, column trials: missing; must be given where there is a reward"),
        (changed(1, arm=None), r"row 2, column arm: missing"),
        (changed(1, arm="North"), r"row 2, column arm: 'North' differs from 'north' in capitals only"),
        (changed(1, arm="north"), r"row 2 repeats row 1: round 1, arm 'north'"),
        (changed(1, round=None), r"row 2, column round: missing"),
        (changed(1, round=1.5), r"row 2, column round: 1\.5; must be a whole number"),
        (changed(3, round=10**7), r"row 4, column round: 10000000 comes 9,999,998 rounds after 2"),
        (changed(0, reward=float("inf")), r"row 1, column reward: inf"),
        ([], r"records (are empty|have no column)"),
        ([{"round": 1, "arm": "a", "share": 1.0, "reward": 0.5}], r"at least two arms, got only 'a'"),
        ([{"week": 1, "arm": "a"}], r"no column round or date; columns are week, arm"),
        ([dict(r, reward=None) for r in ROWS], r"no reward at all"),
        (42, r"records must be a CSV or Parquet file.*got 42"),
        ("nowhere.csv", r"'nowhere.csv' cannot be read: No such file"),
    ],
)
def test_every_mistake_names_row_column_value_and_what_is_allowed(rows, line):
    with pytest.raises(ae.AftereffectError, match=line) as caught:
        ae.read_records(rows)
    assert "\n" not in str(caught.value)


def test_successes_beyond_trials_and_rewards_without_a_share_are_refused():
    rows = [{"round": 1, "arm": a, "share": s, "successes": 5, "trials": 4} for a, s in (("a", 1.0), ("b", 0.0))]
    with pytest.raises(ae.AftereffectError, match=r"row 1, column successes: 5; must be at most the trials"):
        ae.read_records(rows)
    rows = [{"round": 1, "arm": a, "share": s, "reward": 0.5} for a, s in (("a", 1.0), ("b", 0.0))]
    with pytest.raises(
        ae.AftereffectError, match=r"row 2, column reward: 0\.5; must be none where the arm had no share"
    ):
        ae.read_records(rows)


def test_an_agent_goes_on_where_the_records_end():
    agent = ae.recommended(2).start(
        2, feedback="split", names=["north", "south"], history=ae.read_records(ROWS).history()
    )
    assert agent.rounds == 2
    assert agent.ask().sum() == pytest.approx(1.0)


def test_weeks_of_the_iso_calendar_are_rounds():
    rows = [{**row, "round": {1: "2025-W52", 2: "2026-W01"}[row["round"]]} for row in ROWS]
    assert ae.read_records(rows).labels == ("2025-12-22", "2025-12-29")


@pytest.mark.parametrize("amount", ["1,200", "4.534,37 €", "60%"])
def test_numbers_as_people_write_them_are_refused_with_what_to_write(amount):
    rows = [{"round": 1, "arm": "a", "amount": amount, "reward": 0.5}, {"round": 1, "arm": "b", "amount": "1"}]
    with pytest.raises(ae.AftereffectError, match=r"row 1, column amount: .* write digits and a decimal point"):
        ae.read_records(rows)


def test_an_arm_that_has_had_nothing_for_long_is_named():
    rows: list[dict[str, Any]] = [
        {"round": t, "arm": "a", "share": 0.5 if t < 3 else 1.0, "reward": 0.5} for t in range(11)
    ]
    rows += [{"round": t, "arm": "b", "share": 0.5, "reward": 0.5} for t in range(3)]
    assert "b has had no share since 3: if it is closed, give it a cap of 0" in ae.read_records(rows).notes[-1]
    assert not ae.read_records([row for row in rows if row["round"] < 10]).notes


def weeks_or_months(numbers):
    return [{"round": n, "arm": a, "share": 0.5, "reward": 0.5} for n in numbers for a in ("north", "south")]


MONTHS, WEEKS = [202410, 202411, 202412, 202501, 202502], [202451, 202452, 202501, 202502]


@pytest.mark.parametrize("kept_as", [int, float, str])
def test_months_and_weeks_as_numbers_pass_a_years_end(kept_as):
    months = ae.read_records(weeks_or_months(map(kept_as, MONTHS)))
    assert months.labels == ("2024-10", "2024-11", "2024-12", "2025-01", "2025-02")
    assert len(months.notes) == 1
    assert "were read as months" in months.notes[0]
    weeks = ae.read_records(weeks_or_months(map(kept_as, WEEKS)))
    assert weeks.labels == ("2024-12-16", "2024-12-23", "2024-12-30", "2025-01-06")
    assert ae.read_records(weeks_or_months(map(kept_as, [202053, 202101]))).rounds == 2


@pytest.mark.parametrize("numbers", [[202401, 202402, 202412], [202353, 202354, 202401], [99, 100, 101]])
def test_other_numbers_stay_numbers(numbers):
    assert ae.read_records(weeks_or_months(numbers)).labels[-1] == str(numbers[-1])


def test_a_month_that_is_missing_is_one_round():
    records = ae.read_records(weeks_or_months([202411, 202412, 202502, 202503]))
    assert records.labels == ("2024-11", "2024-12", "2025-01", "2025-02", "2025-03")
    assert "1 round without a row (2025-01)" in records.notes[1]


def test_a_week_that_its_year_does_not_have_is_refused():
    with pytest.raises(ae.AftereffectError, match=r"row 3, column round: 202453; the year 2024 has 52 weeks"):
        ae.read_records(weeks_or_months([202452, 202453, 202501]))


def test_districts_that_pandas_made_floats_of_keep_their_numbers():
    frame = pandas.DataFrame([{**row, "arm": {"north": 7.0, "south": 8.0}[row["arm"]]} for row in ROWS])
    assert ae.read_records(frame).names == ("7", "8")
    assert ae.read_records(frame.replace({"arm": {8.0: 8.5}})).names == ("7", "8.5")
    frame.loc[2, "arm"] = np.nan
    with pytest.raises(ae.AftereffectError, match=r"row 3, column arm: missing"):
        ae.read_records(frame)


def test_spaces_around_columns_names_do_not_count_wherever_they_come_from(tmp_path):
    frame = polars.DataFrame(ROWS).rename({"round": "Woche ", "reward": " reward"})
    frame.write_csv(tmp_path / "h.csv")
    for source in (frame, frame.to_pandas(), frame.to_dicts(), frame.to_dict(as_series=False), tmp_path / "h.csv"):
        for name in ("Woche", "Woche "):
            assert ae.read_records(source, columns={"round": name}).labels == ("1", "2")
    with pytest.raises(ae.AftereffectError, match=r"two columns called 'reward'"):
        ae.read_records(frame.with_columns(reward=0.5), columns={"round": "Woche"})


@pytest.mark.parametrize("wide", [False, True])
def test_points_for_thousands_among_decimal_commas_are_refused(tmp_path, wide):
    path = tmp_path / "german.csv"
    tidy = "round;arm;amount;reward;people\n1;a;800;0,5;2.100.000\n1;b;{};0.250;9.000\n"
    text = "round;amount_a;reward_a;amount_b;reward_b\n1;800;0,5;{};0.250\n" if wide else tidy
    pattern = "{what}_{arm}" if wide else None
    for amount, whole in (("1.200", "1200"), (" 12.345.678 ", "12345678")):
        path.write_text(text.format(amount))
        line = rf"row 2, column amount: '{amount.strip()}'; .* write {whole}, or a comma"
        with pytest.raises(ae.AftereffectError, match=line):
            ae.read_records(path, wide=pattern)
    path.write_text(text.format("200"))
    np.testing.assert_allclose(ae.read_records(path, wide=pattern).shares, [[0.8, 0.2]])
    path.write_text(text.format("1.200").replace("0,5", "0.5"))  # without a decimal comma a point is one
    assert ae.read_records(path, wide=pattern).shares[0, 1] == pytest.approx(1.2 / 801.2)
