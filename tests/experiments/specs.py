"""Small experiments for the tests, and what is compared of their directories."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import polars

from aftereffect.experiments.spec import Spec, parse_spec
from aftereffect.experiments.store import Store

SMALL = """\
name = "small"
horizon = 300
instances = 2
runs = 3
checkpoints = 4
seed = 7

[[problems]]
family = "gaussian"
memory = [0.2, 0.6]

[[policies]]
policy = "d-ucb"
discount = [0.7, 0.9]

[[policies]]
policy = "round-robin"
"""

TUNED = """\
name = "tuned"
horizon = 300
instances = 2
runs = 2
checkpoints = 3

[tuning]
instances = 3
runs = 2
horizon = 200

[[problems]]
family = "gaussian"
memory = [0.2, 0.6]

[[policies]]
policy = "d-ucb"
tune = { discount = [0.5, 0.7, 0.95] }

[[policies]]
policy = "round-robin"
"""

KEY = ["problem", "policy", "instance", "run", "round"]


def spec(text: str = SMALL, **changes: Any) -> Spec:
    return parse_spec({**tomllib.loads(text), **changes})


def rows(store: Store, purpose: str = "main") -> polars.DataFrame:
    """Every row, in a fixed order, read from the files as anyone would."""
    return polars.read_parquet(store.shards / f"{purpose}-*.parquet").sort(KEY)


def shard_names(store: Store) -> list[str]:
    """File names hold the hash of their content, so equal names are equal bytes."""
    return sorted(path.name for path in store.shards.glob("*.parquet"))


def check_whole(store: Store, wanted: Spec, problems: int, policies: int) -> None:
    """No row is lost, none is there twice."""
    found = rows(store)
    assert found.height == problems * policies * wanted.instances * wanted.runs * len(wanted.rounds)
    assert found.select(KEY).is_unique().all()


def write_spec(directory: Path, text: str) -> Path:
    path = directory / "spec.toml"
    path.write_text(text, encoding="utf-8")
    return path
