"""Records as they arrive: a thousand damaged tables are read rightly or refused in one line."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np

import aftereffect as ae

HEADER = "date,arm,amount,successes,trials,measure"
ROWS = [
    f"2026-01-{5 + 7 * week:02d},{arm},{10 * (k + 1) + week},{k + week},{10 * (k + 1)},0.{k + 1}"
    for week in range(4)
    for k, arm in enumerate(("north", "centre", "south"))
]
WRONG = (
    *(
        "",
        "-1",
        "nan",
        "inf",
        "-inf",
        "1e400",
        "1,5",
        "0x10",
        "north",
        "2026-13-40",
        "2026-01-05",
        "12.5",
        "9" * 40,
        "None",
    ),
    *("'", '"', "é", "\x00", "٣", "1_000", "true", "+5", " 7 ", "5%", "€5", "<b>", "-0", "1e-320", "NULL"),
)


def mutated(rng: random.Random) -> bytes:
    lines = [HEADER, *ROWS]
    for _ in range(rng.randint(1, 3)):
        kind, at = rng.randrange(9), rng.randrange(len(lines))
        cells = lines[at].split(",")
        if kind <= 3:
            cells[rng.randrange(len(cells))] = rng.choice(WRONG)
            lines[at] = ",".join(cells)
        elif kind == 4:
            lines.insert(at, lines[at])
        elif kind == 5 and len(lines) > 1:
            del lines[at]
        elif kind == 6:
            lines[1:] = rng.sample(lines[1:], len(lines) - 1)
        elif kind == 7:
            lines[at] = ",".join(cells[:-1]) if rng.random() < 0.5 else lines[at] + ",more"
        else:
            column = rng.randrange(HEADER.count(",") + 1)
            lines = [",".join(c for i, c in enumerate(line.split(",")) if i != column) for line in lines]
    text = rng.choice(["\n", "\r\n"]).join(lines)
    content = text.encode(rng.choice(["utf-8"] * 6 + ["utf-16", "latin-1", "utf-8-sig"]), errors="replace")
    if rng.random() < 0.1:
        at = rng.randrange(len(content) + 1)
        content = content[:at] + bytes([rng.randrange(256)]) + content[at:]
    return content


def reading(path: Path) -> tuple[ae.Records | None, str]:
    try:
        return ae.read_records(path), ""
    except ae.AftereffectError as error:
        return None, str(error)


def test_a_thousand_damaged_tables(tmp_path):
    rng, path = random.Random(7), tmp_path / "history.csv"
    read = refused = 0
    for _ in range(1000):
        path.write_bytes(mutated(rng))
        records, said = reading(path)
        if records is None:
            refused += 1
            assert said.strip()
            assert "\n" not in said
            continue
        read += 1
        np.testing.assert_allclose(records.shares.sum(axis=1), 1.0)
        seen = records.trials > 0
        assert np.all((records.rewards[seen] >= 0) & (records.rewards[seen] <= 1))
        assert np.isnan(records.rewards[~seen]).all()
        assert len(records.labels) == len(records.shares)
    assert read > 50
    assert refused > 300
