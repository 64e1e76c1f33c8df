"""The weekly leaderboard's page and document."""

from __future__ import annotations

import json
import re

import pytest

from aftereffect.experiments.arena import Scale
from aftereffect.experiments.gains import Gains, score_weekly
from aftereffect.experiments.weekly import run_weekly, set_up_weekly, weekly_scenarios
from aftereffect.policies.base import policy_from
from aftereffect.report.leaderboard import SMOKE
from aftereffect.report.weekly_page import document, in_scenarios, overall, page, percent

NAMES = ["lending-k4-m0.8-start", "patrol-k3-m0.5-floors"]
POLICIES = ["quadratic", "fixed:allocation=[0.25,0.25,0.25,0.25]"]


@pytest.fixture(scope="module")
def gains() -> Gains:
    scenarios = [c for c in weekly_scenarios() if c.name in NAMES]
    arena = set_up_weekly([policy_from(p) for p in POLICIES], scale=Scale(26, 2), scenarios=scenarios)
    return score_weekly(arena, run_weekly(POLICIES, 0, 2, horizon=26, scenarios=NAMES, threads=1))


def test_the_page_says_where_it_comes_from_and_what_it_means(gains: Gains) -> None:
    text = page(gains, "aftereffect arena --weekly", "abc")
    for words in (
        "generated",
        "`aftereffect arena --weekly`",
        "commit abc",
        "seed 0",
        "gain share",
        "told 0.9",
        "26 rounds",
    ):
        assert words in text
    assert SMOKE not in text
    assert "```" not in text  # the docs' tests would run it
    for table in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1


def test_flat_scenarios_and_absences_are_said(gains: Gains) -> None:
    text = page(gains, "", None)
    assert "the best gains less than 2 percent over even in patrol-k3-m0.5-floors" in text
    assert f"{POLICIES[1]} cannot start in patrol-k3-m0.5-floors: fixed: allocation needs 3 shares, got 4" in text
    assert f"{POLICIES[1]} *" in text
    flat = next(s for s in in_scenarios(gains) if s.title.startswith("patrol"))
    assert flat.headers[1] == "over even 26"
    assert flat.rows[-1] == (POLICIES[1], *["-"] * (len(flat.headers) - 1))


def test_the_even_split_is_nothing_everywhere(gains: Gains) -> None:
    first, below, *_ = overall(gains)
    assert next(row for row in first.rows if row[0] == "fixed")[1:] == ("0 (0 to 0)",)
    assert next(row for row in below.rows if row[0] == "fixed")[1:] == ("0.0 (0.0)",)
    assert percent(-0.0001) == "0"
    assert percent(None) == "-"


def test_the_document_is_plain_data(gains: Gains) -> None:
    found = json.loads(json.dumps(document(gains), allow_nan=False))
    assert (found["weekly"], found["horizons"], found["runs"]) == (True, [26], 2)
    assert {c["scenario"]: c["flat"] for c in found["scenarios"]} == {NAMES[0]: False, NAMES[1]: True}
