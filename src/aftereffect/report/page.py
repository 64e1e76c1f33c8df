"""`write_page`: experiments and verdicts as one HTML file that needs nothing else, offline and for good.

Everything that comes from files is data: the template escapes it, and the page runs no script and takes no style
but the two whose hashes its content security policy names.
"""

from __future__ import annotations

import base64
import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import tomli_w
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from aftereffect import __version__
from aftereffect._files import write_output
from aftereffect.experiments.run import Results
from aftereffect.report.frontier import described_frontier
from aftereffect.report.page_data import describe, embedded_json
from aftereffect.report.style import arm_looks, free_name, plural

Verdict = Mapping[str, Any]

_SYMBOLS = {"holds": "✓", "fails": "✗", "undecided": "?"}
_MINUS, _NOTHING = "\N{MINUS SIGN}", "\N{EN DASH}"
_WORDS = {"holds": "hold", "fails": "fail", "undecided": "undecided"}  # of several claims


def write_page(
    path: Path,
    experiments: Sequence[Results],
    verdicts: Sequence[Verdict] = (),
    frontiers: Sequence[dict[str, Any]] = (),
) -> Path:
    """Write one self-contained HTML file with verdicts, interactive curves, tables, frontiers and provenance."""
    described = [describe(results, name) for results, name in zip(experiments, _anchors(experiments), strict=True)]
    data = {
        "version": __version__,
        "arms": arm_looks(),
        "experiments": described,
        "verdicts": [dict(v) for v in verdicts],
    }
    style, script = shared("uPlot.min.css") + page_style(), _script()
    text = template("template.html").render(
        title=_title(described) if described else "Aftereffect: what fairness costs",
        style=Markup(style),
        style_hash=content_hash(style),
        script=Markup(script),
        script_hash=content_hash(script),
        data=Markup(embedded_json(data)),
        experiments=described,
        rounds=_rounds(described),
        verdicts=[{"explanation": "", "level": None, **v} for v in verdicts],
        anchors={d["name"]: d["id"] for d in reversed(described)},
        frontiers=[described_frontier(document) for document in frontiers],
    )
    return write_output(path, text.encode())


def content_hash(text: str) -> str:
    """A text as a content security policy names it."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def shared(name: str) -> str:
    """A file that the reports and the dashboard have in common."""
    return (files("aftereffect.report") / "shared" / name).read_text("utf-8")


def _own(name: str) -> str:
    return (files("aftereffect.report") / "page" / name).read_text("utf-8")


def page_style() -> str:
    """The style of a page: what all pages have in common, and a report's own."""
    return shared("theme.css") + shared("charts.css") + _own("page.css")


def _script() -> str:
    """The page's script: uPlot as it is published, under its licence, the charts it draws, and what is the report's own."""
    licence = f"/*! uPlot:\n{shared('uPlot.LICENSE')}*/"
    return "\n".join(
        ('"use strict";', licence, shared("uPlot.iife.min.js"), shared("charts.js"), _own("page.js")),
    )


@cache
def template(name: str) -> Any:
    """A page's template; it escapes whatever it is given."""
    environment = Environment(
        loader=PackageLoader("aftereffect.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals.update(
        version=__version__,
        symbols=_SYMBOLS,
        words=_WORDS,
        number=number,
        general=lambda value: f"{value:g}",
        fixed=lambda value, digits: f"{value:.{digits}f}",
        thousands=lambda value: f"{value:,}",
        percent=lambda level: number(100 * float(level or 0.95)).rstrip("0").rstrip("."),
        sort_key=lambda value: "-1e300" if value is None else f"{value:.6g}",
        plural=plural,
        about=_about,
        breakable=_breakable,
        regret_rows=_regret_rows,
        parity_rows=lambda experiment: list(_parity_rows(experiment)),
        as_toml=as_toml,
    )
    return environment.get_template(name)


def _anchors(experiments: Sequence[Results]) -> list[str]:
    """An id for each section, also where two experiments share a name."""
    found: list[str] = []
    for results in experiments:
        found.append(free_name(f"experiment-{results.spec.name}", found))
    return found


def number(value: float | None, digits: int = 4) -> str:
    """A number as a reader wants it.

    >>> number(12345.678), number(-0.0123456), number(None), number(100000.0)
    ('12,346', '−0.01235', '–', '100,000')
    """
    if value is None or not math.isfinite(value):
        return _NOTHING
    if value == 0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -4:
        return f"{value:.{digits - 1}e}".replace("-", _MINUS)
    return f"{value:,.{max(0, digits - 1 - size)}f}".replace("-", _MINUS)


def _title(experiments: Sequence[dict[str, Any]]) -> str:
    if len(experiments) == 1:
        return f"Aftereffect: {experiments[0]['title']}"
    return f"Aftereffect: report on {len(experiments)} experiments"


def _rounds(experiments: Sequence[dict[str, Any]]) -> int:
    return sum(
        curve["runs"] * e["horizon"] for e in experiments for p in e["problems"] for curve in p["curves"] if curve
    )


def _regret_rows(experiment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each policy on each problem at the end."""
    for problem in experiment["problems"]:
        for policy, curve in zip(experiment["policies"], problem["curves"], strict=True):
            if curve is None:
                continue
            mean = curve["mean"][-1]
            half, sd = (curve[key][-1] if curve[key] else None for key in ("half", "sd"))
            yield {
                "policy": policy["name"],
                "problem": problem["name"],
                "mean": mean,
                "low": mean if half is None else mean - half,
                "interval": _NOTHING if half is None else f"{number(mean - half)} to {number(mean + half)}",
                "sd": sd,
                "per_round": mean / experiment["horizon"],
            }


def _parity_rows(experiment: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """How fair the policies were, on the problems that have a fairness measure."""
    for problem in (p for p in experiment["problems"] if p["fairness"] is not None):
        for policy, curve in zip(experiment["policies"], problem["curves"], strict=True):
            fair = curve and curve["fair"]
            if fair:
                ends = [fair["violation"][-1], fair["violated"][-1], fair["lost"], fair["price"]]
                yield {"policy": policy["name"], "problem": problem["name"], "ends": ends}


def as_toml(spec: Mapping[str, Any]) -> str:
    """A spec written as the TOML file that gives it again.

    >>> print(as_toml({"name": "mine", "scales": {}, "problems": [{"family": "tent", "memory": [0.0, 0.5]}]}))
    name = "mine"
    <BLANKLINE>
    [[problems]]
    family = "tent"
    memory = [
        0.0,
        0.5,
    ]
    """
    return tomli_w.dumps(_written(spec)).strip()


def _written(value: Any) -> Any:
    """What a TOML file says of a value: nothing of what is left open."""
    if isinstance(value, Mapping):
        return {k: _written(v) for k, v in value.items() if v not in (None, {}, "")}
    return [_written(v) for v in value] if isinstance(value, (list, tuple)) else value


def _breakable(name: str) -> Markup:
    """A name in the short notation, which may be broken after its commas and colons."""
    escaped = str(Markup.escape(name))
    return Markup(escaped.replace(",", ",<wbr>").replace(":", ":<wbr>"))


def _about(count: int) -> str:
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count:,}"
