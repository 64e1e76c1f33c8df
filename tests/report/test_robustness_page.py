"""The robustness page: one section can be measured again without the others."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from aftereffect.experiments import robustness_rows
from aftereffect.experiments.long_run import Growth, LargestRuns, ManyArms
from aftereffect.experiments.robustness import Alarms, Bands, Changes, FalseAlarms, QuietRewards, UnknownMemory
from aftereffect.report import robustness_page as page


def test_a_section_is_written_again_and_the_others_stay() -> None:
    change = {
        "rows": [asdict(Changes("loan", 100.0, 80.0, 60.0, 40.0, 30.0, 8))],
        "horizon": 20_000,
        "commit": "0123456789",
        "seed": 7,
    }
    alarms = {"rows": [asdict(Alarms("loan", 0.5, None, 10_000, contradicted=0.05, can_tell=0.9, instances=20))]}
    both = page.page({"change": change, "alarms": alarms})
    assert list(page.sections_of(both)) == [page.SECTIONS[name][0] for name in ("alarms", "change")]  # the page's order
    assert both.count("Measured at commit 0123456, seed 7.") == 1
    again = page.page({"change": {**change, "horizon": 500}}, both)
    assert again == both.replace("T = 20,000", "T = 500")


def test_a_section_is_measured_again_and_the_others_stay(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    times: list[str] = []

    def measured(name: str, seed: int) -> dict[str, Any]:
        times.append(name)
        return {"rows": [], "time": len(times)}

    monkeypatch.setattr(robustness_rows, "PARTS", {name: partial(measured, name) for name in robustness_rows.PARTS})
    out = tmp_path / "new" / "robustness.json"
    for arguments in ([], ["--section", "change", "--seed", "5"]):
        monkeypatch.setattr(sys, "argv", ["robustness_rows", "--out", str(out), *arguments])
        robustness_rows.main()
    assert list(page.SECTIONS) == list(robustness_rows.PARTS) == times[:-1]
    found = json.loads(out.read_text())
    assert {name: (part["time"], part["seed"]) for name, part in found.items()} == {
        name: (len(times), 5) if name == "change" else (i + 1, robustness_rows.SEED)
        for i, name in enumerate(page.SECTIONS)
    }


def test_tables_and_what_they_add_up_to() -> None:
    change = page.changes_section([Changes("loan", 100.0, 80.0, 60.0, 40.0, 30.0, 8)], 20_000)
    assert "| loan | 100 | 80 | 1.25 | 60 | 40 | 1.50 | 30 |" in change
    noise = page.noise_section([Bands("x", 208, 0.95, 40)], [QuietRewards("loan", 3.0, 2.0, 4)], 260, 0.02)
    assert "| all | 3.00 | 2.00 | 1.50 | 4 |" in noise
    assert "625 trials" in noise
    false = page.false_alarms_section([FalseAlarms("30 units", 200, 0.05, (0.0, 0.1), 0.5, 0.9, 20)])
    assert "| all | 200 | 5.0% | 0.0% | 10.0% | | 9 of 10 | 20 |" in false
    unknown = page.unknown_memory_section([UnknownMemory("loan, K 2", 10.0, 12.0, [11.0, 14.4])], 100, 6, (0.8, 0.95))
    assert "| loan, K 2 | 10 | 12 | 1.20 | 11 | 1.10 | 14 | 1.44 |" in unknown
    largest = page.largest_section([LargestRuns("loan, K 2", 72, 60.0, 700.0, 600.0, 1)] * 2, 100_000)
    assert "| loan, K 2 | 72 | 60 | 700 | 600 | 1 |" in largest
    assert "| all | 144 | | | | 2 |" in largest
    growth = page.growth_section([Growth(1_000_000, 2_000.0, 1_500.0, 8)])
    assert "| 1,000,000 | 2,000 | 0.00200 | 1,500 | 8 |" in growth
    many = page.many_arms_section([ManyArms("loan", 300.0, 250.0, 200.0, 150.0, 8)], 100_000, 20)
    assert "| loan | 300 | 250 | 200 | 150 | 1.50 | 8 |" in many
