"""`learn`: from a table of past rounds to a split, on the terminal, as JSON, and as a page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from aftereffect.cli.console import ranking, show
from aftereffect.cli.reading import read_columns, read_reward_range, real, shares
from aftereffect.policies.explanation import amount
from aftereffect.records.fit import fit
from aftereffect.records.reading import read_records


def learn_from(
    source: str,
    memory: str | None,
    memory_bound: str | None,
    floors: list[str],
    caps: list[str],
    reward_range: str | None,
    wide: str | None,
    columns: list[str],
    tolerance: str | None,
    out: str | None,
    as_json: bool,
) -> None:
    """`aftereffect learn`."""
    records = read_records(
        source, reward_range=read_reward_range(reward_range), wide=wide, columns=read_columns(columns)
    )
    learned = fit(
        records,
        memory=real("--memory", memory),
        memory_bound=real("--memory-bound", memory_bound),
        floors=shares("--floor", floors),
        caps=shares("--cap", caps),
    )
    document = learned.summary(real("--tolerance", tolerance))
    files: list[Path] = []
    if out is not None:
        from aftereffect.report.fit_page import write_learned

        files = write_learned(Path(out), learned, document, Path(source).name)
    if as_json:
        print(json.dumps(document, allow_nan=False, default=_plain))
        return
    written = ["", *map(str, files)] if files else []
    show(
        Text(f"{source}\n", "bold"),
        _table(document),
        Text("\n".join(_lines(document) + written)),
        as_wide_as_needed=True,
    )


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _table(document: dict[str, Any]) -> Table:
    table = ranking("arm", "today", "suggested", "response today", "response then", "seen from", "to")
    for arm in document["arms"]:
        seen = ["-" if arm[key] is None else f"{100 * arm[key]:.1f} %" for key in ("seen_from", "seen_to")]
        table.add_row(
            Text(arm["arm"]),
            f"{100 * arm['share_now']:.1f} %",
            f"{100 * arm['share_best']:.1f} %",
            f"{amount(arm['response_now'])} ({amount(arm['response_now_low'])} to {amount(arm['response_now_high'])})",
            f"{amount(arm['response_best'])} ({amount(arm['response_best_low'])} to {amount(arm['response_best_high'])})",
            *seen,
        )
    return table


def _lines(document: dict[str, Any]) -> list[str]:
    words, experiment = document["words"], document["experiment"]
    parts = [
        ("What we suggest", words["suggested"]),
        ("What we know", words["known"]),
        ("How sure we are", words["sure"]),
        ("What we do not know", words["unknown"]),
    ]
    if experiment:
        parts.append(("What would teach most", [experiment["words"]]))
    return [line for title, lines in parts for line in ("", title, *(f"  - {text}" for text in lines))]
