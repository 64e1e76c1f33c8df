"""`aftereffect frontier`: what fairness costs, on the screen and in files that the report picks up."""

from __future__ import annotations

import csv
import json

import pytest

import aftereffect as ae


@pytest.fixture
def folder(run, tmp_path):
    assert run("frontier", "--problem", "lending:arms=3", "--levels", "40", "--out", str(tmp_path)).code == 0
    return tmp_path


def test_the_files_hold_the_whole_frontier(folder):
    document = json.loads((folder / "frontier.json").read_text())
    expected = ae.fair_frontier(ae.problem("lending", arms=3), 40)
    assert [p["tolerance"] for p in document["frontier"]] == [e.tolerance for e in expected]
    rows = list(csv.DictReader((folder / "frontier.csv").open()))
    assert [float(r["utility"]) for r in rows] == pytest.approx([e.utility for e in expected])
    assert [float(r["share black"]) for r in rows] == pytest.approx([e.allocation[1] for e in expected])
    assert (folder / "frontier.png").read_bytes().startswith(b"\x89PNG")
    assert all(r["gap"] > -1e-9 for r in document["relaxation"])


def test_the_report_shows_it_again(folder, run):
    (folder / "report.html").unlink()
    done = run("report", str(folder))
    assert done.code == 0
    assert "report.html" in done.out
    page = (folder / "report.html").read_text()
    assert "What fairness costs" in page
    assert "data:image/svg+xml" in page


def test_json_is_one_document(run):
    done = run("frontier", "--problem", "patrol:arms=2,seed=4", "--levels", "20", "--json")
    assert done.code == 0
    assert not done.err
    assert json.loads(done.out)["arms"] == ["arm 0", "arm 1"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--problem", "gaussian"), "'gaussian' has no fairness measure"),
        (("--problem", "lending", "--levels", "2"), "--levels"),
        (("--problem", "lendink"), "lending"),
    ],
)
def test_mistakes_are_one_line(arguments, said, run):
    done = run("frontier", *arguments)
    assert done.code == 2
    assert not done.out
    assert said in done.err
    assert done.err.count("\n") == 1
