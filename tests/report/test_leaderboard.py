"""The leaderboard's page and document."""

from __future__ import annotations

import json
import re

import pytest

from aftereffect.experiments.scores import Board
from aftereffect.policies import base
from aftereffect.report.leaderboard import SMOKE, document, in_scenarios, luck_line, overall, page, under_stress
from tests.experiments.boards import GAUSSIAN, SCALE, TENT, Own, arena_of, made_up, with_defaults

ABSENT = "fixed:allocation=[0.2,0.8]"


@pytest.fixture
def board() -> Board:
    arena = arena_of(TENT, GAUSSIAN, policies=["round-robin", "d-ucb", ABSENT])
    regrets = with_defaults(TENT) | with_defaults(GAUSSIAN, round_robin=15.0, d_ucb=15.1, **{"history-ucb": 14.0})
    return made_up(arena, {**regrets, (TENT, ABSENT): 250.0})


def test_a_policy_that_could_not_start_has_a_dash_and_a_reason(board: Board) -> None:
    sheets = list(in_scenarios(board))
    assert sheets[1].rows[-1] == (ABSENT, *["-"] * 7)
    text = page(board, "aftereffect arena", None)
    assert f"{ABSENT} cannot start in {GAUSSIAN}: fixed: allocation needs 4 shares, got 2" in text
    row = next(row for row in overall(board).rows if row[0] == ABSENT)
    assert (row[1], row[2], row[4], row[7]) == ("-", "-150.0*", "1 of 2", "0.40")


def test_the_page_says_where_it_comes_from_and_what_it_means(board: Board) -> None:
    text = page(board, "aftereffect arena --seed 5", "abc")
    for words in (
        "generated",
        "`aftereffect arena --seed 5`",
        "aftereffect 0.",
        "commit abc",
        "seed 0",
        "divided by T",
    ):
        assert words in text
    assert SMOKE not in text  # this scale is not the smoke version's
    assert "```" not in text  # the docs' tests would run it
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_the_lucky_are_named_with_the_reason(board: Board) -> None:
    assert luck_line(board.luck[0], SCALE.horizon) == (
        "gaussian-k4-m0.5: round-robin (and d-ucb, which comes down to it) does not learn and is rank 2 with a regret of 15.0; "
        "the best that learns, history-ucb, has 14.0. Taking turns meets each arm at an impact of 0.53, which happens to lie "
        "where the curves are high."
    )


def test_those_that_cannot_share_are_named_too() -> None:
    loan = "loan-k2-m0.5"
    text = page(
        made_up(arena_of(loan, policies=["thompson"]), with_defaults(loan, thompson=50.0)), "aftereffect arena", None
    )
    assert (
        "- loan-k2-m0.5: thompson, which gives everything to one arm whatever it learns, is rank 1 with a regret of 50.0"
        in text
    )


@pytest.mark.parametrize(
    ("scenario", "regrets", "words"),
    [
        ("gaussian-k2-m0.5", {"fixed": 1.5}, "equal shares that it holds, 0.50 each"),
        ("gaussian-k2-m0.5", {"round-robin": 90.0}, "loses 0.090 a round, but within this horizon nobody learns"),
        ("convex-gaussian", {"round-robin": -9.0}, "more here than holding any allocation"),
        ("convex-gaussian", {"round-robin": 9.0}, "happens to suit this scenario"),
    ],
)
def test_other_kinds_of_luck(scenario: str, regrets: dict[str, float], words: str) -> None:
    arena = arena_of(scenario, policies=["round-robin", "d-ucb", "fixed"])
    found = made_up(arena, with_defaults(scenario, **{"fixed": 400.0, **regrets})).luck
    assert [words in luck_line(entry, SCALE.horizon) for entry in found] == [True]


def test_negative_regret_is_shown_and_gives_no_ratio() -> None:
    board = made_up(arena_of(TENT, GAUSSIAN), with_defaults(TENT, round_robin=-50.0) | with_defaults(GAUSSIAN))
    row = next(row for row in next(in_scenarios(board)).rows if row[0] == "round-robin")
    assert row == ("round-robin", "1", "-50.0", "-50.0 to -50.0", "-50.0", "150.0", "150 %", "-")
    standing = next(row for row in overall(board).rows if row[0] == "round-robin")
    assert (standing[2], standing[7]) == ("-125.0", "0.20 (1)")


def test_stress_is_counted_on_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(base._REGISTRY, "own", Own)
    board = made_up(
        arena_of("drift-loan", policies=["own", "d-ucb", "round-robin"]), with_defaults("drift-loan", own=5.0)
    )
    assert under_stress(board).rows == [("drift", "own", "1 of 1", "1", "loan")]
    text = page(board, "aftereffect arena --stress", None)
    assert "| drift | own | 1 of 1 | 1 | loan |" in text
    assert "The library's own policies: none took part." in text  # a user's policy is not ours
    assert "Compared with: `d-ucb`, `history-ucb`, `history-ucb:log=printed`." in text


def test_the_document_is_plain_data(board: Board) -> None:
    found = json.loads(json.dumps(document(board), allow_nan=False))
    assert [p["policy"] for p in found["policies"]] == [s.policy for s in board.standings]
    assert [c["scenario"] for c in found["scenarios"]] == [TENT, GAUSSIAN]
    assert list(found["scenarios"][1]["refused"]) == [ABSENT]
    assert found["luck"][0]["scenario"] == GAUSSIAN
    assert found["stress"] is None
