"""`write_page`: experiments and verdicts as one HTML file that needs nothing else, offline and for good."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from aftereffect import __version__
from aftereffect._files import write_output
from aftereffect.experiments.run import Results
from aftereffect.report.frontier import frontier_section
from aftereffect.report.page_data import arm_looks, describe, embedded_json

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
    assets = files("aftereffect.report") / "page"
    anchors = {d["name"]: d["id"] for d in reversed(described)}
    text = Template((assets / "template.html").read_text("utf-8")).substitute(
        title=escape(_title(described) if described else "Aftereffect: what fairness costs"),
        version=escape(__version__),
        style=(assets / "page.css").read_text("utf-8"),
        script="\n".join((assets / name).read_text("utf-8") for name in ("chart.js", "page.js")),
        data=embedded_json(data),
        summary=_summary(described, verdicts) if described else "",
        verdicts=_verdict_table(verdicts, anchors) if verdicts else "",
        contents=_contents(described) if len(described) > 1 else "",
        experiments="\n".join(_section(d) for d in described) + frontier_section(frontiers),
    )
    return write_output(path, text.encode())


def _anchors(experiments: Sequence[Results]) -> list[str]:
    """An id for each section, also where two experiments share a name."""
    found: list[str] = []
    for results in experiments:
        base, nth = f"experiment-{results.spec.name}", 1
        while (name := base if nth == 1 else f"{base}-{nth}") in found:
            nth += 1
        found.append(name)
    return found


# The page's words: plain HTML that is there without JavaScript and on paper.


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


def _summary(experiments: Sequence[dict[str, Any]], verdicts: Sequence[Verdict]) -> str:
    rounds = sum(
        curve["runs"] * e["horizon"] for e in experiments for p in e["problems"] for curve in p["curves"] if curve
    )
    text = (
        f"<p>{_plural(len(experiments), 'experiment')}, {_about(rounds)} rounds simulated. "
        "Regret is how much more the best fixed allocation would have earned: lower is better. "
        "Policies meet the same random numbers, so their curves can be compared run by run.</p>"
    )
    if not verdicts:
        return text
    counts = {word: sum(v["verdict"] == word for v in verdicts) for word in _SYMBOLS}
    items = "".join(
        f'<li class="{word}"><span aria-hidden="true">{_SYMBOLS[word]}</span> <strong>{count}</strong> '
        f"{word if count == 1 else _WORDS[word]}</li>"
        for word, count in counts.items()
    )
    return f'{text}\n<p>Of {_plural(len(verdicts), "claim")}:</p>\n<ul class="counts">{items}</ul>'


def _verdict_table(verdicts: Sequence[Verdict], anchors: Mapping[str, str]) -> str:
    rows = "\n".join(_verdict_row(v, anchors) for v in verdicts)
    return (
        '<section id="verdicts"><h2>Claims and verdicts</h2>\n'
        '<p class="muted">The arrow before a claim opens its explanation.</p>\n'
        '<div class="scroll"><table class="claims"><thead><tr><th scope="col">Claim</th><th scope="col">Measured</th>'
        f'<th scope="col">Verdict</th></tr></thead>\n<tbody>{rows}</tbody></table></div></section>'
    )


def _verdict_row(verdict: Verdict, anchors: Mapping[str, str]) -> str:
    links = ", ".join(
        f'<a href="#{escape(anchors[f])}">{escape(f)}</a>' if f in anchors else escape(f) for f in verdict["figures"]
    )
    sentence, explanation = escape(verdict["sentence"]), escape(verdict.get("explanation") or "")
    if explanation:
        claim = f'<details class="explanation"><summary>{sentence}</summary><p>{explanation}</p></details>'
    else:
        claim = f"<div>{sentence}</div>"
    measured = number(verdict["estimate"])
    if verdict["low"] is not None and verdict["high"] is not None:
        level = number(100 * float(verdict.get("level") or 0.95))
        measured += (
            f' <span class="muted">({level.rstrip("0").rstrip(".")} % interval '
            f"{number(verdict['low'])} to {number(verdict['high'])})</span>"
        )
    word = verdict["verdict"]
    return (
        f'<tr id="claim-{escape(verdict["id"])}"><td>{claim}<span class="muted">{links}</span></td>'
        f'<td>{measured}<br><span class="muted">{escape(verdict["statistic"])}</span></td>'
        f'<td class="verdict {word}"><span aria-hidden="true">{_SYMBOLS[word]}</span> {word}</td></tr>'
    )


def _contents(experiments: Sequence[dict[str, Any]]) -> str:
    items = "".join(f'<li><a href="#{escape(e["id"])}">{escape(e["title"])}</a></li>' for e in experiments)
    return f'<nav aria-label="experiments"><h2>Experiments</h2><ul>{items}</ul></nav>'


def _section(experiment: dict[str, Any]) -> str:
    e = experiment
    runs = _plural(e["runs"], "run")
    scale = f"{_plural(e['instances'], 'instance')} &times; {runs}" if e["instances"] > 1 else runs
    missing = (
        "" if e["complete"] else '<p class="notice">Incomplete: some runs are not finished; this is what there is.</p>'
    )
    return "\n".join(
        [
            f'<section class="experiment" id="{escape(e["id"])}">',
            f"<h2>{escape(e['title'])}</h2>",
            f"<p>{escape(e['caption'])}</p>" if e["caption"] else "",
            f'<p class="muted">{scale}, T = {e["horizon"]:,} rounds, experiment <code>{escape(e["name"])}</code></p>',
            missing,
            "<h3>Regret over rounds</h3>",
            '<div class="curves"></div>',
            f"<h3>Regret at T = {e['horizon']:,}</h3>",
            _regret_table(e),
            _parity_table(e),
            _tuning(e["tuning"]),
            _provenance(e),
            "</section>",
        ]
    )


def _regret_table(experiment: dict[str, Any]) -> str:
    rows = []
    for problem in experiment["problems"]:
        for policy, curve in zip(experiment["policies"], problem["curves"], strict=True):
            if curve is None:
                continue
            mean = curve["mean"][-1]
            half, sd = (curve[key][-1] if curve[key] else None for key in ("half", "sd"))
            interval = _NOTHING if half is None else f"{number(mean - half)} to {number(mean + half)}"
            low = mean if half is None else mean - half
            rows.append(
                f'<tr><td class="name">{_breakable(policy["name"])}</td><td class="name">{_breakable(problem["name"])}</td>'
                f"{_cell(mean)}{_cell(low, interval)}{_cell(sd)}{_cell(mean / experiment['horizon'])}</tr>"
            )
    heads = [("Policy", ""), ("Problem", "")]
    heads += [(t, "number") for t in ("Mean regret", "95 % interval", "Standard deviation", "Regret per round")]
    head = "".join(
        f'<th scope="col"{f" class={kind!r}" if kind else ""}><button type="button">{text}</button></th>'
        for text, kind in heads
    )
    return (
        '<div class="scroll"><table class="sortable regret"><caption class="hidden-label">'
        f"Regret of each policy on each problem at the end; the headers sort.</caption>"
        f"<thead><tr>{head}</tr></thead>\n<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _parity_table(experiment: dict[str, Any]) -> str:
    """How fair the policies were, on the problems that have a fairness measure."""
    rows, meanings = [], []
    for problem in (p for p in experiment["problems"] if p["fairness"] is not None):
        fairness = problem["fairness"]
        meanings.append(
            f"<code>{escape(problem['name'])}</code>: {escape(fairness['meaning'])} Tolerance {fairness['tolerance']:g}."
        )
        for policy, curve in zip(experiment["policies"], problem["curves"], strict=True):
            fair = curve and curve["fair"]
            if not fair:
                continue
            ends = [fair["violation"][-1], fair["violated"][-1], fair["lost"], fair["price"]]
            rows.append(
                f'<tr><td class="name">{_breakable(policy["name"])}</td><td class="name">{_breakable(problem["name"])}</td>'
                + "".join(map(_cell, ends))
                + "</tr>"
            )
    if not rows:
        return ""
    titles = ("Violation", "Rounds in violation", "Below fair optimum", "Price")
    heads = "".join(f'<th scope="col"><button type="button">{t}</button></th>' for t in ("Policy", "Problem"))
    heads += "".join(f'<th scope="col" class="number"><button type="button">{t}</button></th>' for t in titles)
    return (
        "<h3>Fairness</h3>\n<p>A round's violation is how far the largest gap between two arms' measures exceeds the "
        "tolerance, at the true curves and the true impact; shown is its mean over rounds, and the share of rounds that "
        "have any. The last two columns are utility a round: what a policy earned less than the best fair allocation "
        "(negative: violations paid), and what that allocation gives up for fairness.</p>\n"
        f"<p>{'<br>'.join(meanings)}</p>\n"
        f'<div class="scroll"><table class="sortable"><thead><tr>{heads}</tr></thead>\n<tbody>{chr(10).join(rows)}</tbody>'
        "</table></div>"
    )


def _cell(value: float | None, text: str | None = None) -> str:
    key = "-1e300" if value is None else f"{value:.6g}"
    return f'<td class="number" data-value="{key}">{number(value) if text is None else text}</td>'


def _tuning(searches: Iterable[Mapping[str, Any]]) -> str:
    rows = []
    for search in searches:
        best = search["chosen"]
        tried = ", ".join(
            f"{'<strong>' if c == best else ''}<code>{escape(c)}</code> {number(r)}{'</strong>' if c == best else ''}"
            for c, r in search["candidates"].items()
        )
        rows.append(
            f'<tr><td class="name">{_breakable(search["policy"])}</td><td class="name">{_breakable(search["problem"])}</td>'
            f"<td><code>{escape(best)}</code></td><td>{tried}</td></tr>"
        )
    if not rows:
        return ""
    heads = "".join(f'<th scope="col">{t}</th>' for t in ("Policy", "Problem", "Chosen", "Tried, with mean regret"))
    return (
        "<h3>Tuning</h3>\n<p>Parameters were chosen by mean regret on instances of their own, apart from those above.</p>\n"
        f'<div class="scroll"><table class="tuning"><thead><tr>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _provenance(experiment: dict[str, Any]) -> str:
    manifest, anchor = experiment["manifest"], escape(experiment["id"])
    machine = manifest["machine"]
    facts = {
        "seed": manifest["seed"],
        "versions": ", ".join(f"{name} {version}" for name, version in manifest["versions"].items() if version),
        "commit": manifest["commit"] or "not run from a checkout",
        "machine": f"{machine['system']} {machine['architecture']}, {machine['cores']} cores",
        "spec hash": manifest["hash"],
    }
    entries = "".join(f"<dt>{name}</dt><dd>{escape(str(fact))}</dd>" for name, fact in facts.items())
    command = (
        f"<p>To regenerate:</p>\n<pre><code>{escape(manifest['command'])}</code></pre>" if manifest["command"] else ""
    )
    return (
        f"<h3>Where this comes from</h3>\n<dl>{entries}</dl>\n{command}\n"
        f"<details><summary>Spec (TOML, runs with <code>aftereffect run</code>)</summary>"
        f'<pre class="spec"><code>{escape(as_toml(manifest["spec"]))}</code></pre></details>\n'
        f'<p class="downloads">Data of this experiment: <button type="button" data-download="csv" data-experiment="{anchor}">CSV'
        f'</button> <button type="button" data-download="json" data-experiment="{anchor}">JSON</button></p>'
    )


def as_toml(spec: Mapping[str, Any]) -> str:
    """A spec written as the TOML file that gives it again.

    >>> print(as_toml({"name": "mine", "scales": {}, "problems": [{"family": "tent", "memory": [0.0, 0.5]}]}))
    name = "mine"
    <BLANKLINE>
    [[problems]]
    family = "tent"
    memory = [0.0, 0.5]
    """
    plain = {k: v for k, v in spec.items() if k not in ("problems", "policies")}
    blocks = [_toml_lines(plain)]
    for name in ("problems", "policies"):
        blocks += [f"[[{name}]]\n{_toml_lines(entry)}" for entry in spec.get(name, ())]
    return "\n\n".join(blocks)


def _toml_lines(table: Mapping[str, Any]) -> str:
    return "\n".join(f"{key} = {_toml(value)}" for key, value in table.items() if value not in (None, {}, ""))


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items() if v is not None) + " }"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(_toml(v) for v in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def _breakable(name: str) -> str:
    """A name in the short notation, which may be broken after its commas and colons."""
    return escape(name).replace(",", ",<wbr>").replace(":", ":<wbr>")


def _about(count: int) -> str:
    for size, word in ((10**9, "billion"), (10**6, "million")):
        if count >= size:
            return f"{count / size:.3g} {word}"
    return f"{count:,}"


def _plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
