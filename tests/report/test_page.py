"""The page: what it says is what the results hold, and a reader's browser agrees."""

from __future__ import annotations

import csv
import json
import re
import shutil
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import polars
import pytest

from aftereffect.errors import AftereffectError
from aftereffect.experiments.frontier import read_frontier
from aftereffect.experiments.manifest import sealed
from aftereffect.experiments.run import Results, run_spec
from aftereffect.experiments.spec import parse_spec
from aftereffect.report.page import as_toml, shared, write_page
from aftereffect.report.page_data import embedded_json
from aftereffect.report.style import arm_looks, contrast, on_dark
from aftereffect.simulation.result import mean_interval
from tests.report.browser import Browser
from tests.simulation.cases import OURS

NASTY = """Shares & <b>"old" sins</b> </script><script>document.title='x'</script>"""
SPEC = {
    "name": "small",
    "title": NASTY,
    "caption": "Two memories, <i>three</i> policies & one search.",
    "horizon": 300,
    "checkpoints": 30,
    "instances": 2,
    "runs": 3,
    "seed": 5,
    "tuning": {"instances": 2, "runs": 1},
    "problems": [{"family": "patrol", "memory": [0.0, 0.5]}],
    "policies": [
        {"policy": "round-robin"},
        {"policy": "ucb1"},
        {"policy": "d-ucb", "tune": {"discount": [0.7, 0.9]}},
    ],
}
VERDICTS: list[dict[str, Any]] = [
    {
        "id": "first",
        "figures": ["small", "elsewhere"],
        "sentence": "UCB1 <loses> to round-robin & says so.",
        "statistic": "difference of regret at T",
        "estimate": 12.345,
        "low": 8.0,
        "high": 16.5,
        "level": 0.95,
        "verdict": "holds",
        "explanation": "Because of <impact>.",
    },
    {
        "id": "second",
        "figures": [],
        "sentence": "Nothing is known.",
        "statistic": "nothing",
        "estimate": None,
        "low": None,
        "high": None,
        "level": 0.95,
        "verdict": "undecided",
        "explanation": "",
    },
]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    directory = tmp_path_factory.mktemp("small")
    run_spec(parse_spec(SPEC), directory, command="aftereffect run small.toml --out 'a <b> & c'")
    return Results(directory)


@pytest.fixture(scope="module")
def page(results, tmp_path_factory):
    single = tmp_path_factory.mktemp("single")
    lone = {**SPEC, "name": "lone", "title": "", "instances": 1, "runs": 1, "policies": [{"policy": "round-robin"}]}
    run_spec(parse_spec(lone), single)
    return write_page(tmp_path_factory.mktemp("page") / "report.html", [results, Results(single)], VERDICTS)


def data_of(page: Path):
    found = re.search(
        r'<script type="application/json" id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.S
    )
    assert found
    return json.loads(found[1])


def test_the_data_is_that_of_the_results(page, results):
    experiment = data_of(page)["experiments"][0]
    assert experiment["rounds"] == results.rounds.tolist()
    assert [p["name"] for p in experiment["policies"]] == results.policies
    for problem in experiment["problems"]:
        for policy, curve in zip(results.policies, problem["curves"], strict=True):
            regret = results.curves(problem["name"], policy)
            interval = mean_interval(regret, 2)
            expected = {
                "mean": regret.mean(axis=0),
                "sd": regret.std(axis=0, ddof=1),
                "half": interval.high - interval.mean,
            }
            for key, values in expected.items():
                np.testing.assert_allclose(curve[key], values, rtol=1e-5, atol=1e-12)
            for key in ("allocation", "impact"):
                shares = results.averages(problem["name"], policy, key)
                np.testing.assert_allclose(np.transpose(curve[key]), shares, rtol=1e-3)


def test_fairness_is_that_of_the_results(page, results):
    """Patrol has a measure: gaps of each pair, violation so far and what fairness costs are on the page."""
    for problem in data_of(page)["experiments"][0]["problems"]:
        assert problem["fairness"]["tolerance"] == 0.1
        assert "prevent" in problem["fairness"]["meaning"]
        for policy, curve in zip(results.policies, problem["curves"], strict=True):
            rows = results.rows(problem["name"], policy)
            violation = rows["violation"].to_numpy().reshape(-1, 30) / results.rounds
            assert curve["fair"]["violation"] == pytest.approx(violation.mean(axis=0), rel=1e-3)
            assert curve["fair"]["pairs"] == [[0, 1]]
            measures = np.array(rows["measure"].to_list()).reshape(-1, 30, 2)
            gaps = np.abs(measures[..., 0] - measures[..., 1]).mean(axis=0)
            assert curve["fair"]["gaps"][0] == pytest.approx(gaps, rel=1e-3, abs=1e-6)
    shown = page.read_text(encoding="utf-8")
    assert "<h3>Fairness</h3>" in shown
    assert "that patrols prevent" in shown


def test_a_single_run_has_no_bands(page):
    curve = data_of(page)["experiments"][1]["problems"][0]["curves"][0]
    assert curve["sd"] is None
    assert curve["half"] is None


def test_nothing_is_asked_of_anywhere(page):
    text = page.read_text(encoding="utf-8")
    assert (
        re.findall(r"""(?:src|href|url|action)\s*[=(]\s*["']?\s*(?!#|data:,)([^"'\s>)]+)""", text.split('id="data"')[0])
        == []
    )
    assert "default-src 'none'" in text
    assert "@import" not in text
    names = {"http://www.w3.org/2000/svg", "https://github.com/leeoniya/uPlot"}  # a namespace, and who wrote a script
    assert set(re.findall(r"https?://[^\"'\s<]+", text)) == names


def test_what_others_wrote_is_unchanged_and_under_its_licence(page):
    text = page.read_text(encoding="utf-8")
    for name in ("uPlot.iife.min.js", "uPlot.min.css", "uPlot.LICENSE"):
        assert shared(name) in text


def test_special_characters_stay_text(page):
    text = page.read_text(encoding="utf-8")
    assert text.count("</script>") == 2
    assert "<b>" not in text
    assert "&lt;b&gt;&#34;old&#34; sins&lt;/b&gt;" in text
    assert "UCB1 &lt;loses&gt; to round-robin &amp; says so." in text
    assert data_of(page)["experiments"][0]["title"] == NASTY


def test_the_summary_counts_and_the_verdicts_say_a_word(page):
    text = page.read_text(encoding="utf-8")
    assert "Of 2 claims" in text
    assert re.search(r'class="holds"><span aria-hidden="true">✓</span> <strong>1</strong> holds', text)
    assert re.search(r'class="fails"><span aria-hidden="true">✗</span> <strong>0</strong> fail<', text)
    assert "12.35 " in text
    assert "(95 % interval 8.000 to 16.50)" in text
    assert '<a href="#experiment-small">small</a>, elsewhere' in text


def test_provenance_regenerates_the_experiment(page, results):
    text = page.read_text(encoding="utf-8")
    assert "aftereffect run small.toml --out &#39;a &lt;b&gt; &amp; c&#39;" in text
    assert results.manifest["hash"] in text
    assert parse_spec(tomllib.loads(as_toml(results.manifest["spec"]))) == results.spec


def test_a_search_is_shown_with_its_choice(page, results):
    text = page.read_text(encoding="utf-8")
    for search in results.tuning():
        assert f"<td><code>{search['chosen']}</code></td>" in text
    assert text.count("<code>d-ucb:discount=0.7</code>") >= 2


def test_an_unfinished_experiment_shows_what_there_is(tmp_path):
    run_spec(
        parse_spec({**SPEC, "policies": [{"policy": "round-robin"}, {"policy": "ucb1"}]}), tmp_path / "e", piece=(1, 4)
    )
    page = write_page(tmp_path / "report.html", [Results(tmp_path / "e")])
    assert "Incomplete" in page.read_text(encoding="utf-8")
    curves = [c for p in data_of(page)["experiments"][0]["problems"] for c in p["curves"]]
    assert any(c is None for c in curves)
    assert any(c is not None and c["half"] is None and c["runs"] < 6 for c in curves)


def test_two_experiments_may_share_a_name(results, tmp_path):
    page = write_page(tmp_path / "report.html", [results, results])
    ids = [e["id"] for e in data_of(page)["experiments"]]
    assert ids == ["experiment-small", "experiment-small-2"]


def test_a_page_that_cannot_be_written_is_said_in_one_line(results, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AftereffectError, match="cannot write"):
        write_page(tmp_path / "file" / "report.html", [results])


def test_numbers_json_has_no_word_for_become_null():
    assert json.loads(embedded_json({"low": float("-inf"), "x": [1.0, float("nan")]})) == {
        "low": None,
        "x": [1.0, None],
    }


def test_every_policy_can_be_told_from_a_dark_page():
    for look in filter(None, (cls.look for cls in OURS.values())):
        rgb = [int(on_dark(look[0])[i : i + 2], 16) for i in (1, 3, 5)]
        assert contrast(rgb, (0x15, 0x18, 0x1C)) >= 4.5


def test_two_dozen_arms_can_be_told_apart_on_both_pages():
    found = arm_looks()
    assert len({(look["colour"], look["line"]) for look in found}) == len(found) == 24
    for look in found:
        assert contrast([int(look["dark"][i : i + 2], 16) for i in (1, 3, 5)], (0x15, 0x18, 0x1C)) >= 4.5


class Imagined(Results):
    """A full-size experiment without the simulation."""

    def __init__(self, number: int, like: Results) -> None:
        self._draw = np.random.default_rng(number)
        problems = [{"family": "gaussian", "arms": 5, "memory": [0.2, 0.4, 0.6]}]
        policies = [{"policy": "history-ucb", "estimation": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}]
        changes = {"name": f"figure{number}", "horizon": 100_000, "checkpoints": 50, "caption": "taken " * 80}
        self.spec = parse_spec({**SPEC, **changes, "problems": problems, "policies": policies})
        self.problems = [f"gaussian:arms=5,memory={m}" for m in (0.2, 0.4, 0.6)]
        self.policies = [f"history-ucb:estimation=0.{i}" for i in range(1, 7)]
        self.rounds = np.array(self.spec.rounds)
        self.manifest = like.manifest | {"spec": self.spec.model_dump(mode="json")}

    complete = True

    def curves(self, problem, policy, column="regret"):
        return self._draw.uniform(0, 0.2, (6, len(self.rounds))) * self.rounds

    def rows(self, problem, policy):
        return polars.DataFrame()  # no fairness measures

    def averages(self, problem, policy, column):
        return self._draw.dirichlet(np.ones(5), len(self.rounds))

    def tuning(self):
        return []


def test_a_page_of_everything_stays_under_3_mb(results, tmp_path):
    page = write_page(tmp_path / "report.html", [Imagined(i, results) for i in range(16)], VERDICTS * 20)
    assert page.stat().st_size < 3e6


# In a browser.


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("chromium")) as browser:
        yield browser


@pytest.fixture
def reader(chromium, page):
    """A reader with the page freshly open; whatever the test does, the page stays silent and asks for nothing."""
    chromium.requests.clear()
    chromium.complaints.clear()
    chromium.resize(1200, 900)
    chromium.open(page)
    yield chromium
    assert chromium.complaints == []
    assert [r for r in chromium.requests if not r.startswith("blob:")] == [page.resolve().as_uri()]


HERE = "#experiment-small"


def of_charts(browser: Browser, place: str, expression: str, scroll: bool = True) -> list[Any]:
    """An expression for each chart `c` at a place of the page, after scrolling there: only charts near the window are drawn."""
    if scroll:
        browser.centre(f"{place} .chart")
        browser.settle()
    charts = f"Chart.all.filter(c => c.figure.closest({json.dumps(place)}))"
    return list(browser.evaluate(f"{charts}.map(c => ({expression}))"))


LINES = "c.plot.series.slice(1).filter(s => !s.edge).map(s => s.label)"
VALUES = "c.plot.data.slice(1)"


def test_every_problem_has_a_chart_with_a_line_for_each_policy(reader, results):
    assert reader.texts(f"{HERE} .regret figcaption") == results.problems
    assert of_charts(reader, f"{HERE} .regret", LINES) == [results.policies] * 2
    assert reader.evaluate("document.title") == "Aftereffect: report on 2 experiments"


def test_lines_and_bands_are_those_of_the_results(reader, results):
    (bands,) = of_charts(reader, f"{HERE} .regret", "c.plot.bands.map(b => b.series)")[:1]
    (values,) = of_charts(reader, f"{HERE} .regret", VALUES)[:1]
    for policy, line, (high, low) in zip(results.policies, values[-3:], bands, strict=True):
        regret = results.curves(results.problems[0], policy)
        np.testing.assert_allclose(line, regret.mean(axis=0), rtol=1e-5)
        np.testing.assert_allclose(values[high - 1], regret.mean(axis=0) + 2 * regret.std(axis=0, ddof=1), rtol=1e-4)
        np.testing.assert_allclose(
            values[low - 1], regret.mean(axis=0) - 2 * regret.std(axis=0, ddof=1), rtol=1e-4, atol=1e-4
        )


def colours(browser: Browser, place: str) -> set[str]:
    """The colours of a chart's picture, as they are in its canvas."""
    counted = (
        "(() => { const { canvas } = c.plot.ctx, { data } = c.plot.ctx.getImageData(0, 0, canvas.width, canvas.height);"
        " const found = new Map(); for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) {"
        " const key = `#${[0, 1, 2].map(k => data[i + k].toString(16).padStart(2, '0')).join('')}`.toUpperCase();"
        " found.set(key, (found.get(key) ?? 0) + 1); } return [...found].filter(e => e[1] > 20).map(e => e[0]); })()"
    )
    return set(of_charts(browser, place, counted)[0])


def test_lines_have_their_policies_colours_light_dark_and_on_paper(reader, page):
    policies = data_of(page)["experiments"][0]["policies"]
    light, dark = ({policy[key] for policy in policies} for key in ("colour", "dark"))
    assert light <= colours(reader, f"{HERE} .regret")
    reader.click("#theme")
    assert dark <= colours(reader, f"{HERE} .regret")
    reader.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert light <= colours(reader, f"{HERE} .regret")
    assert reader.evaluate("Chart.all.every(c => c.plot)") is True  # the whole page goes to paper
    reader.evaluate("dispatchEvent(new Event('afterprint'))")
    assert dark <= colours(reader, f"{HERE} .regret")
    reader.evaluate("delete document.documentElement.dataset.theme")
    reader.resize(1200, 900, dark=False)
    reader.resize(1200, 900, dark=True)
    assert dark <= colours(reader, f"{HERE} .regret")


def first_chart(reader: Browser, inside: str) -> list[str]:
    return reader.texts(f"{HERE} .regret figure:first-child {inside}")


def ticks(reader: Browser, axis: int) -> list[str]:
    return list(of_charts(reader, f"{HERE} .regret", f"c.plot.axes[{axis}]._values")[0])


def choose(reader, control: str, value: str) -> None:
    reader.click(f'{HERE} [data-control="{control}"] input[value="{value}"]')


def test_a_legend_entry_hides_and_shows_its_policy(reader, results):
    button = f'{HERE} .legend button[data-name="ucb1"]'
    pressed = f"document.querySelector({json.dumps(button)}).getAttribute('aria-pressed')"
    others = [p for p in results.policies if p != "ucb1"]
    reader.click(button)
    assert of_charts(reader, f"{HERE} .regret", LINES) == [others] * 2
    assert reader.evaluate(pressed) == "false"
    reader.evaluate(f"document.querySelector({json.dumps(button)}).focus()")
    reader.press(" ", 32, " ")
    assert of_charts(reader, f"{HERE} .regret", LINES) == [results.policies] * 2
    assert reader.evaluate(pressed) == "true"
    for name in results.policies:
        reader.click(f'{HERE} .legend button[data-name="{name}"]')
    assert of_charts(reader, f"{HERE} .regret", LINES) == [[], []]
    assert ticks(reader, 1)  # the axes stay


def test_the_pointer_on_a_legend_entry_dims_the_others(reader, results):
    x, y = reader.centre(f'{HERE} .legend button[data-name="ucb1"]')
    reader.move(x, y)
    opacities = "Object.fromEntries(c.plot.series.slice(1).filter(s => !s.edge).map(s => [s.label, s.alpha]))"
    for chart in of_charts(reader, f"{HERE} .regret", opacities, scroll=False):
        assert chart.pop("ucb1") == 1
        assert set(chart.values()) == {0.15}


@pytest.mark.parametrize(("control", "axis"), [("x", 0), ("y", 1)])
def test_axes_can_be_logarithmic(reader, control, axis):
    linear = ticks(reader, axis)
    choose(reader, control, "log")
    logarithmic = ticks(reader, axis)
    assert logarithmic != linear
    assert "0" in linear
    assert "0" not in logarithmic
    choose(reader, control, "linear")
    assert ticks(reader, axis) == linear


def test_bands_can_be_chosen(reader, results):
    edge = "c.plot.bands.length ? c.plot.data[c.plot.bands[0].series[0]] : null"
    choose(reader, "band", "ci")
    interval = mean_interval(results.curves(results.problems[0], results.policies[0]), 2)
    np.testing.assert_allclose(of_charts(reader, f"{HERE} .regret", edge)[0], interval.high, rtol=1e-4)
    choose(reader, "band", "none")
    assert of_charts(reader, f"{HERE} .regret", edge) == [None, None]


def shown_values(reader) -> dict[str, str]:
    x, y = reader.centre(f"{HERE} .regret .chart")
    reader.move(x, y)
    cells = first_chart(reader, ".tooltip td:nth-child(3)")
    names = first_chart(reader, ".tooltip td:nth-child(2)")
    return dict(zip(names, cells, strict=True))


def hovered_round(reader) -> int:
    return int(first_chart(reader, ".tooltip strong")[0].removeprefix("round ").replace(",", ""))


def as_number(text: str) -> float:
    return float(text.replace(",", "").replace("\N{MINUS SIGN}", "-"))


def test_hovering_shows_the_round_and_each_policy_scaled_or_not(reader, results):
    for measure, power in (("regret", 0.0), ("scaled", 2 / 3)):
        choose(reader, "measure", measure)
        values, t = shown_values(reader), hovered_round(reader)
        at = results.rounds.tolist().index(t)
        for policy in results.policies:
            expected = results.curves(results.problems[0], policy)[:, at].mean() / t**power
            assert as_number(values[policy]) == pytest.approx(expected, rel=1e-4)
    assert "t^(2/3)" in "".join(first_chart(reader, ".axis-title"))
    reader.move(2, 2)
    hidden = f"document.querySelector('{HERE} .regret .tooltip').hidden"
    assert reader.evaluate(hidden) is True


def test_arrow_keys_read_the_values_too(reader):
    reader.evaluate(f"document.querySelector('{HERE} .regret .chart').focus()")
    reader.settle()
    reader.press("End", 35)
    assert hovered_round(reader) == 300
    reader.press("ArrowLeft", 37)
    assert hovered_round(reader) == 290
    reader.press("Home", 36)
    assert hovered_round(reader) == 10
    reader.press("Escape", 27)
    assert reader.evaluate(f"document.querySelector('{HERE} .regret .tooltip').hidden") is True


def test_a_finger_reads_the_values_too(reader):
    x, y = reader.centre(f"{HERE} .regret .chart")
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        reader.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    reader.settle()
    assert 100 < hovered_round(reader) < 200


def test_the_table_sorts_by_its_headers(reader):
    column = f"{HERE} table.regret tbody td:nth-child(3)"
    header = f"{HERE} table.regret thead th:nth-child(3)"
    as_given = reader.texts(column)
    reader.click(f"{header} button")
    ascending = reader.texts(column)
    assert ascending == sorted(as_given, key=as_number)
    reader.click(f"{header} button")
    assert [as_number(v) for v in reader.texts(column)] == sorted(map(as_number, as_given), reverse=True)
    assert reader.evaluate(f"document.querySelector('{header}').getAttribute('aria-sort')") == "descending"
    reader.click(f"{HERE} table.regret thead th:nth-child(1) button")
    names = reader.texts(f"{HERE} table.regret tbody td:nth-child(1)")
    assert names == sorted(names)


def test_allocation_impact_and_gaps_follow_the_chosen_policy(reader, results):
    select = f"document.querySelector('{HERE} select[data-choice=policy]')"
    reader.evaluate(f"{select}.value = '1'; {select}.dispatchEvent(new Event('change'))")
    for what, shown in zip(("allocation", "impact"), of_charts(reader, f"{HERE} .shares", VALUES), strict=True):
        shares = results.averages(results.problems[0], results.policies[1], what)
        np.testing.assert_allclose(np.transpose(shown), shares, rtol=1e-3)
    gaps, tolerance = of_charts(reader, f"{HERE} .parity", VALUES)[0]
    measures = np.array(results.rows(results.problems[0], results.policies[1])["measure"].to_list()).reshape(-1, 30, 2)
    np.testing.assert_allclose(gaps, np.abs(measures[..., 0] - measures[..., 1]).mean(axis=0), rtol=1e-3, atol=1e-6)
    assert set(tolerance) == {0.1}


def test_light_and_dark(reader):
    background = "getComputedStyle(document.body).backgroundColor"
    light = reader.evaluate(background)
    reader.click("#theme")
    dark = reader.evaluate(background)
    assert (light, dark) == ("rgb(255, 255, 255)", "rgb(21, 24, 28)")
    reader.click("#theme")
    assert reader.evaluate(background) == light
    reader.evaluate("delete document.documentElement.dataset.theme")
    reader.resize(1200, 900, dark=True)
    assert reader.evaluate(background) == dark


def test_the_data_can_be_saved(reader, results, page):
    reader.click('header [data-download="csv"]')
    with reader.downloaded("aftereffect-report.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 30 * 2 * (3 + 1)
    last = next(
        r for r in rows if r["policy"] == "ucb1" and r["problem"] == results.problems[1] and r["round"] == "300"
    )
    assert float(last["regret_mean"]) == pytest.approx(
        results.curves(results.problems[1], "ucb1")[:, -1].mean(), rel=1e-5
    )
    reader.click('header [data-download="json"]')
    assert json.loads(reader.downloaded("aftereffect-report.json").read_text(encoding="utf-8")) == data_of(page)
    reader.click(f'{HERE} [data-download="csv"]')
    assert reader.downloaded("aftereffect-small.csv").stat().st_size > 0


@pytest.mark.parametrize("width", [360, 800, 1600])
@pytest.mark.parametrize("kind", ["linear", "log"])
def test_it_fits_its_window_and_tick_labels_keep_apart(reader, width, kind):
    reader.resize(width, 800)
    choose(reader, "x", kind)
    choose(reader, "y", kind)
    assert reader.evaluate("document.documentElement.scrollWidth") <= width
    for chart in of_charts(reader, f"{HERE} .regret", LABELS):
        for labels in chart:
            assert len(labels) >= 2
            assert all(a[1] < b[0] for a, b in pairwise(sorted(labels)))


# Where each axis's labels begin and end along it, in the canvas's pixels.
LABELS = (
    "c.plot.axes.map((axis, i) => { c.plot.ctx.font = axis.font[0]; return axis._splits.map((v, k) => {"
    " const at = c.plot.valToPos(v, i ? 'y' : 'x', true), size = i ? 12 : c.plot.ctx.measureText(axis._values[k]).width;"
    " return [at - size / 2, at + size / 2]; }); })"
)


@pytest.mark.parametrize(("width", "dark"), [(390, False), (1440, True)])
def test_people_with_other_needs_can_use_it(reader, width, dark):
    reader.resize(width, 900, dark)
    assert reader.serious() == []


# Hostile files.

MARKUP = (
    "<script>window.hacked=1</script>",
    '"><img src=x onerror="window.hacked=1">',
    "</script><script>window.hacked=1</script>",
    "<!--<script>window.hacked=1",
    "' onmouseover='window.hacked=1' x='",
    "</title></style></textarea><svg onload=window.hacked=1>",
    "{{ 7 * 7 }}{% raw %}&amp;",
    "javascript:window.hacked=1",
)


def _everywhere(value: Any, markup: str) -> Any:
    """The same with markup in every text, and beside every number one that is no number at all."""
    if isinstance(value, dict):
        return {f"{key}{markup}" if key in VERSIONS else key: _everywhere(v, markup) for key, v in value.items()}
    if isinstance(value, list):
        return [_everywhere(v, markup) for v in value]
    return value + markup if isinstance(value, str) else value


VERSIONS = ("numpy", "numba", "polars", "python", "aftereffect")
TRUSTED = (
    "format",
    "version",
    "code",
    "digest",
    "name",
    "figure",
    "spec",
)  # what a page could not be made from otherwise


def _hostile(results: Results, directory: Path, markup: str) -> Path:
    """A copy of an experiment whose manifest, with a fitting digest, holds markup wherever a page could still be made."""
    shutil.copytree(results.store.directory, directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    hostile = {k: v if k in TRUSTED else _everywhere(v, markup) for k, v in manifest.items() if k != "digest"}
    hostile["spec"] = {**manifest["spec"], "title": markup, "caption": f"x{markup}"}
    (directory / "manifest.json").write_bytes(sealed(hostile))
    return directory


FRONTIER = {
    "problem": "lending",
    "meaning": "what it means",
    "levels": 20,
    "arms": ["first", "second"],
    "unconstrained": 0.5,
    "frontier": [
        {"tolerance": t, "utility": 0.4 + t, "price": 0.1 - t, "allocation": [0.5, 0.5], "measures": [0.1, 0.2]}
        for t in (0.0, 0.1)
    ],
    "relaxation": [{"tolerance": 0.0, "value": 0.5, "gap": 0.1, "multipliers": [0.1, -0.1]}],
}


@pytest.mark.filterwarnings("ignore:constrained_layout not applied")  # long names leave a figure little room
@pytest.mark.parametrize("markup", MARKUP, ids=range(len(MARKUP)))
def test_no_markup_in_any_file_does_anything(markup, results, chromium, tmp_path):
    directory = _hostile(results, tmp_path / "hostile", markup)
    (directory / "frontier.json").write_text(json.dumps(_everywhere(FRONTIER, markup)))
    frontier = read_frontier(directory)
    assert frontier is not None
    verdicts = [{**_everywhere(v, markup), "verdict": v["verdict"]} for v in VERDICTS]
    page = write_page(tmp_path / "report.html", [Results(directory)], verdicts, [frontier])
    chromium.complaints.clear()
    chromium.requests.clear()
    chromium.open(page)
    assert chromium.evaluate("window.hacked === undefined") is True
    assert chromium.complaints == []
    assert [r for r in chromium.requests if not r.startswith(("blob:", "data:"))] == [page.resolve().as_uri()]
    assert chromium.evaluate("document.querySelectorAll('script').length") == 2
    shown = chromium.evaluate("document.body.textContent")
    for text in (markup, f"lending{markup}", f"what it means{markup}", f"first{markup}", f"Nothing is known.{markup}"):
        assert text in shown
    assert f"numpy{markup}" in shown
    assert f"small.toml --out 'a <b> & c'{markup}" in shown


def test_no_script_runs_but_the_pages_own(page, chromium, tmp_path):
    """Even if something escaped the escaping."""
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    for markup in (MARKUP[0], MARKUP[1]):
        assert "</main>" in text
        broken.write_text(text.replace("</main>", f"{markup}</main>"), encoding="utf-8")
        chromium.complaints.clear()
        chromium.open(broken)
        assert chromium.evaluate("window.hacked === undefined") is True
        assert any("Content Security Policy" in complaint for complaint in chromium.complaints)
        assert [len(lines) for lines in of_charts(chromium, f"{HERE} .regret", LINES)] == [3, 3]  # the page's own did
    chromium.complaints.clear()


def test_no_style_counts_but_the_pages_own(page, chromium, tmp_path):
    """Even if something escaped the escaping; the lines have their policies' colours all the same."""
    broken = tmp_path / "broken.html"
    text = page.read_text(encoding="utf-8")
    for markup in ("<style>h1 { display: none }</style>", "<p id='planted' style='position: fixed'>x</p>"):
        broken.write_text(text.replace("</main>", f"{markup}</main>"), encoding="utf-8")
        chromium.complaints.clear()
        chromium.open(broken)
        assert chromium.evaluate("getComputedStyle(document.querySelector('h1')).display") == "block"
        assert (
            chromium.evaluate("getComputedStyle(document.querySelector('#planted') ?? document.body).position")
            == "static"
        )
        assert any("Content Security Policy" in complaint for complaint in chromium.complaints)
    chromium.complaints.clear()
    chromium.resize(1200, 900)
    assert {policy["colour"] for policy in data_of(page)["experiments"][0]["policies"]} <= colours(
        chromium, f"{HERE} .regret"
    )


@pytest.mark.parametrize("key", list(FRONTIER))
@pytest.mark.parametrize("value", [None, "<b>", [], {}, [None], 10**400, [["x"]], float("nan")], ids=str)
def test_a_frontier_that_is_none_is_refused(key, value, tmp_path):
    if type(value) is type(FRONTIER[key]) and value:
        pytest.skip("that would be one")
    (tmp_path / "frontier.json").write_text(json.dumps({**FRONTIER, key: value}))
    if (key, value) == ("relaxation", []):
        assert read_frontier(tmp_path) is not None
        return
    with pytest.raises(AftereffectError, match=r"frontier.json' does not hold a frontier") as error:
        read_frontier(tmp_path)
    assert len(str(error.value).splitlines()) == 1
    (tmp_path / "frontier.json").write_text(json.dumps({k: v for k, v in FRONTIER.items() if k != key}))
    with pytest.raises(AftereffectError, match="does not hold a frontier"):
        read_frontier(tmp_path)


def test_frontiers_with_points_of_other_lengths_or_no_file_are_refused(tmp_path):
    (tmp_path / "frontier.json").write_text(json.dumps({**FRONTIER, "arms": ["only one"]}))
    with pytest.raises(AftereffectError, match="1 shares and measures"):
        read_frontier(tmp_path)
    (tmp_path / "frontier.json").unlink()
    (tmp_path / "frontier.json").symlink_to("/dev/zero")
    with pytest.raises(AftereffectError, match="no regular file"):
        read_frontier(tmp_path)


def test_a_figure_in_the_manifest_names_no_file_elsewhere(results, tmp_path):
    directory = tmp_path / "copy"
    shutil.copytree(results.store.directory, directory)
    manifest = json.loads((directory / "manifest.json").read_text())
    (directory / "manifest.json").write_bytes(sealed({**manifest, "figure": "../elsewhere"}))
    with pytest.raises(AftereffectError, match="figure"):
        Results(directory)
