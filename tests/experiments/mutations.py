"""Broken specs: valid TOML texts with something deleted, repeated, renamed, replaced, swapped or cut off."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from tests.experiments.specs import SMALL, TUNED

NESTED = """\
name = "nested"
title = "Ünïcode ☃"
horizon = 500
runs = 2
checkpoints = { count = 5, spacing = "log" }
tuning = { instances = 2, runs = 1 }

[[problems]]
family = "patrol"
arms = 3
feedback = ["one", "split"]
floors = [0.1, 0.0, 0.0]
caps = 0.9
impact = "smoothed(memory=0.4,start=0)"

[[policies]]
policy = "phased"
inner = ["cucb(zero=true)", "cucb"]
memory = 0.4

[[policies]]
policy = "fixed"
allocation = [0.2, 0.3, 0.5]

[[policies]]
policy = "history-ucb"
levels = 12
log = "printed"

[scales.quick]
horizon = 200
checkpoints = [10, 100]

[scales.paper]
runs = 4
tuning = { instances = 5 }
"""

TEXTS = (SMALL, TUNED, NESTED)

ODD = (
    "-1", "0", "1", "2", "1.5", "-0.0", "1e-300", "1e308", "nan", "inf", "-inf", "true", "false",
    "10000", "1000000", "10000000", "1000000000000", "1000000000000000", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "1" + "0" * 30, "1" + "0" * 5000, "0x" + "f" * 6000,
    '""', '" "', '"x"', '"none"', '"true"', '"nan"', '"1e999"', '"a,b=c"', '"memory=0.3"', '"ü☃"', '"\\u0000"', '"a\\nb"',
    '"\\u2028"', '"cucb(zero=true)"', '"cucb(zero=true"', '"cucb)"', '"((((("', '"[1,2"', '"phased(inner=phased(inner=cucb))"',
    '"gaussian:arms=3"', '"window(length=1000000000000)"', '"discounted(memory=0.4,g=power(exponent=1e9))"', '"d-ucb"', '"log"',
    "[]", "[[]]", "[1, 2]", "[0.5, 0.5]", '["a", 3]', "[nan]", "[0.2, 0.2]", "[true, false]", "[[0.1, 0.1], [0.2, 0.2]]",
    "{}", "{ a = 1 }", "{ count = 3 }", "{ spacing = 'log' }", "{ instances = 0 }", "{ discount = [0.5] }", "{ memory = 0.4 }",
    "[{ family = 'gaussian' }]", "[{ policy = 'd-ucb' }, 3]", "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00",
    "[" * 30 + "]" * 30, "[" * 3000 + "]" * 3000, str(list(range(30_000))), '"' + "x" * 5000 + '"',
)  # fmt: skip

KEYS = (
    "name", "horizon", "runs", "instances", "seed", "checkpoints", "tuning", "problems", "policies", "scales", "family", "policy",
    "tune", "memory", "arms", "levels", "discount", "window", "inner", "floors", "caps", "impact", "noise", "driver", "half_life",
    "allocation", "estimation", "log", "zero", "int", "Checkpoints", "a.b", '"a=1,b"', '"ü"', '"x\\ny"', '""', "knots", "eps",
)  # fmt: skip

HEADS = (
    "[[problems]]",
    "[[policies]]",
    "[tuning]",
    "[checkpoints]",
    "[scales.quick]",
    "[scales]",
    "[x.y]",
    "[problems]",
    "[[x",
)


def mutants(seed: int, count: int) -> Iterator[str]:
    """Texts with one to three mutations each."""
    chance = random.Random(seed)
    for _ in range(count):
        text = chance.choice(TEXTS)
        for _ in range(chance.choice((1, 1, 1, 2, 3))):
            text = chance.choice(MUTATIONS)(text, chance)
        yield text


def _on_a_line(change: Callable[[list[str], int, random.Random], None]) -> Callable[[str, random.Random], str]:
    def mutate(text: str, chance: random.Random) -> str:
        lines = text.split("\n")
        change(lines, chance.randrange(len(lines)), chance)
        return "\n".join(lines)

    return mutate


def _delete(lines: list[str], i: int, chance: random.Random) -> None:
    del lines[i]


def _repeat(lines: list[str], i: int, chance: random.Random) -> None:
    lines.insert(chance.randrange(len(lines)), lines[i])


def _swap(lines: list[str], i: int, chance: random.Random) -> None:
    j = chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]


def _rename(lines: list[str], i: int, chance: random.Random) -> None:
    key, equals, value = lines[i].partition(" = ")
    if equals:
        slip = key[:-1] if len(key) > 2 else key + "x"
        lines[i] = f"{chance.choice((slip, key.upper(), chance.choice(KEYS)))} = {value}"


def _replace(lines: list[str], i: int, chance: random.Random) -> None:
    key, equals, _ = lines[i].partition(" = ")
    if equals:
        lines[i] = f"{key} = {chance.choice(ODD)}"


def _insert(lines: list[str], i: int, chance: random.Random) -> None:
    lines.insert(i, f"{chance.choice(KEYS)} = {chance.choice(ODD)}")


def _head(lines: list[str], i: int, chance: random.Random) -> None:
    lines.insert(i, chance.choice(HEADS))


def _cut(text: str, chance: random.Random) -> str:
    return text[: chance.randrange(len(text) + 1)]


def _strike(text: str, chance: random.Random) -> str:
    """One character becomes another."""
    i = chance.randrange(len(text) + 1)
    return text[:i] + chance.choice("=[]{}\"'\\#,.:()-0 \n\t\x00ü☃") + text[i + 1 :]


MUTATIONS: tuple[Callable[[str, random.Random], str], ...] = (
    _on_a_line(_delete),
    _on_a_line(_repeat),
    _on_a_line(_swap),
    _on_a_line(_rename),
    _on_a_line(_rename),
    _on_a_line(_replace),
    _on_a_line(_replace),
    _on_a_line(_replace),
    _on_a_line(_insert),
    _on_a_line(_insert),
    _on_a_line(_head),
    _cut,
    _strike,
)  # fmt: skip
