"""`aftereffect learn`: from a file to a split, on the screen, as JSON and as a page."""

from __future__ import annotations

import json
import re

import polars
import pytest

from tests.records.worlds import usual

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("records") / "history.csv"
    names = {"arm 0": "north", "arm 1": HOSTILE, "arm 2": "south", "arm 3": "$west$"}
    polars.DataFrame([{**row, "arm": names[row["arm"]]} for row in usual().rows(40, seed=1)]).write_csv(path)
    return path


def test_a_table_a_page_and_figures(run, table, tmp_path):
    done = run("learn", str(table), "--floor", "north=0.1", "--cap", "south=0.5", "--out", str(tmp_path))
    assert done.code == 0, done.err
    for words in ("suggested", "What we know", "How sure we are", "What we do not know", "north"):
        assert words in done.out
    page = (tmp_path / "report.html").read_text()
    assert HOSTILE not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert not re.search(r"(src|href)=\"(?!data:)", page)
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")


def test_json_is_one_document_within_the_limits(run, table):
    done = run("learn", str(table), "--memory", "0.6", "--floor", "north=0.1", "--cap", "south=0.5", "--json")
    assert done.code == 0, done.err
    document = json.loads(done.out)
    split = document["best"]["allocation"]
    assert sum(split.values()) == pytest.approx(1.0)
    assert split["north"] >= 0.1
    assert split["south"] <= 0.5
    assert document["memory"]["given"]
    assert document["records"]["rounds"] == 40
    assert document["check"]["foretold"] == 4 * 32


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--floor", "north"), "--floor: write ARM=number, got 'north'"),
        (("--floor", "nroth=0.1"), "did you mean 'north'?"),
        (("--memory", "much"), "--memory must be a number, got 'much'"),
        (("--memory", "0.5", "--memory-bound", "0.9"), "memory or memory_bound, not both"),
        (("--reward-range", "5"), "--reward-range must be LOW,HIGH, for example 0,500, got '5'"),
    ],
)
def test_mistakes_are_one_line(run, table, arguments, said):
    done = run("learn", str(table), *arguments)
    assert (done.code, done.out) == (2, "")
    assert said in done.err
    assert done.err.count("\n") == 1


def test_a_file_that_is_not_there(run):
    done = run("learn", "nowhere.csv")
    assert done.code == 2
    assert "'nowhere.csv' cannot be read" in done.err
