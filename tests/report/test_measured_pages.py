"""Pages that show what was measured elsewhere: every number of the file is on the page, and nothing is computed."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from aftereffect.experiments.parity import Kept, WeeklyRow
from aftereffect.report import fairness_page, theory_page

SLOPE = {"estimate": 0.1234, "low": 0.11, "high": 0.135, "predicted": 0.1}
MEASURED: dict[str, list[dict[str, Any]]] = {
    "example": [
        {"policy": "ucb1", "memory": 0.4, "horizon": 50_000, "falls": False, "slope": SLOPE},
        {"policy": "history-ucb", "memory": 0.4, "horizon": 50_000, "falls": True, "slope": SLOPE},
    ],
    "hard": [
        {
            "learner": "cucb",
            "slope": SLOPE,
            "horizons": [2000, 8000],
            "intervals": [3, 4],
            "regret": [321.0, 654.0],
            "share": [0.5, 0.75],
            "twin": [300.0, 600.0],
        }
    ],
    "properness": [
        {
            "problem": "brier",
            "memory": 0.4,
            "policy": "ucb1",
            "history": 12.5,
            "action": 11.0,
            "slack": 1.5,
            "holds": True,
        }
    ],
    "switching": [
        {"levels": None, "feedback": "split", "noise": "none", "regret": [1e3, 2e4, 3e5], "slope": SLOPE},
    ],
    "standing": [
        {
            "policy": "history-ucb",
            "memory": 0.4,
            "problem": "one best",
            "feedback": "split",
            "noise": "none",
            "regret": [1e3, 2e4],
            "slope": SLOPE,
        },
    ],
}
ROWS = [
    "| ucb1 | 0.4 | 50,000 | 0.1234 [0.1100, 0.1350] | 0.100 |",
    "| history-ucb | 0.4 | 50,000 | 0.1234 [0.1100, 0.1350] | falls with T |",
    "| cucb | 0.123 [0.110, 0.135] | 321 (50%); twin 300 | 654 (75%); twin 600 |",
    "| brier | 0.4 | ucb1 | 12.5 | 11.0 | 1.50 | yes |",
    "| tuned | split | none | 1,000 | 20,000 | 300,000 | 0.123 [0.110, 0.135] |",
    "| history-ucb | 0.4 | one best | split | none | 1,000 | 20,000 | 0.123 [0.110, 0.135] | 0.100 |",
]


def _run(module: Any, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["page", *arguments])
    module.main()


def test_the_theory_page_shows_what_was_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "theory.json").write_text(json.dumps(MEASURED))
    _run(theory_page, monkeypatch, str(tmp_path / "theory.json"), "--docs", str(tmp_path))
    lines = (tmp_path / "theory.md").read_text().splitlines()
    assert [line for line in lines if line in ROWS] == ROWS


def test_a_part_of_the_fairness_page_that_was_not_measured_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = tmp_path / "fairness.md"
    marks = (
        fairness_page.BEGIN,
        "kept",
        fairness_page.END,
        fairness_page.WEEKLY_BEGIN,
        "old",
        fairness_page.WEEKLY_END,
    )
    page.write_text("\n".join(marks))
    kept: dict[str, Any] = {
        "fair": Kept(0.5, 0.25, 0.0125),
        "unknown": Kept(0.45, 0.375, 0.02),
        "even": Kept(0.75, 0.5, 0.025),
    }
    there: dict[str, Any] = {
        "runs_even_is_fair": 3,
        "fair_there": Kept(0.25, 0.125, 0.5),
        "even_there": Kept(0.2, 0.0, 0.0),
    }
    nowhere: dict[str, Any] = {"runs_even_is_fair": 0, "fair_there": None, "even_there": None}
    weekly = [
        asdict(WeeklyRow("loan", 2, horizon=104, optimum=0.625, **kept, **there)),
        asdict(WeeklyRow("lending", 2, horizon=104, optimum=0.625, **kept, **nowhere)),
    ]
    (tmp_path / "parity.json").write_text(
        json.dumps({"seed": 7, "weekly_instances": 20, "weekly": weekly, "commit": "0123456789"})
    )
    _run(fairness_page, monkeypatch, str(tmp_path / "parity.json"), "--docs", str(tmp_path))
    text = page.read_text()
    assert "kept" in text
    assert "old" not in text.split()
    assert text.count("Measured at commit 0123456.") == 1
    rows = [line for line in text.splitlines() if line.startswith("| l")]
    assert rows == [
        "| loan, K 2 | 104 | 0.5000 / 0.4500 / 0.7500 | 0.6250 | 25.0% / 37.5% / 50.0% | 0.0125 / 0.0200 / 0.0250 |",
        "| lending, K 2 | 104 | 0.5000 / 0.4500 / 0.7500 | 0.6250 | 25.0% / 37.5% / 50.0% | 0.0125 / 0.0200 / 0.0250 |",
        "| loan, K 2 | 104 | 3 | 0.2500 / 0.2000 | 12.5% / 0 | 0.5000 / 0 |",
    ]
