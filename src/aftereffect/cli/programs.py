"""What the commands of `aftereffect program` do: read the words, call the program, print."""

from __future__ import annotations

import getpass
import json
import math
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from rich.table import Table
from rich.text import Text

from aftereffect._files import read_regular
from aftereffect.cli.console import show
from aftereffect.cli.reading import once, read_columns, read_pair, read_real, shares
from aftereffect.errors import AftereffectError, require
from aftereffect.model.reward_range import RewardRange
from aftereffect.programs.importing import import_program
from aftereffect.programs.program import Program
from aftereffect.programs.rewards_table import Told, by_round, read_rewards
from aftereffect.programs.store import open_store
from aftereffect.records.reading import read_records
from aftereffect.records.table import Records

LARGEST = 100_000_000  # bytes of a table of rewards


class Asked(NamedTuple):
    """What every command is told: of which program, whether to answer in JSON and, where it writes, the key and who does it."""

    store: str | None
    name: str
    as_json: bool
    key: str | None = None
    by: str | None = None

    @property
    def program(self) -> Program:
        """The program, which must be there."""
        return open_store(self.store, create=False).program(self.name)

    @property
    def signed(self) -> dict[str, Any]:
        """The key, and who does it: as given, else this machine's user, where there is one."""
        by = self.by
        if by is None:
            with suppress(OSError, KeyError, ImportError):
                by = getpass.getuser()
        return {"key": self.key, "by": by}

    def answer(self, document: Any, *parts: Any) -> None:
        """Print a document, or what it says in words and tables."""
        _print(self.as_json, document, *parts)


def create(asked: Asked, arms: str, records: Records | None, options: dict[str, Any]) -> None:
    """`program create`."""
    names = [word.strip() for word in arms.split(",")]
    made = open_store(asked.store).create(asked.name, names, records=records, **asked.signed, **options).show()
    said = f"{', '.join(made['arms'])}, {made['policy']}, {made['rounds']} past rounds"
    asked.answer(made, f"created {asked.name!r}: {said}")


def import_file(asked: Asked, file: str) -> None:
    """`program import`."""
    made = import_program(open_store(asked.store), asked.name, file, **asked.signed).show()
    said = f"{', '.join(made['arms'])}, {made['rounds']} rounds, head {made['head']}"
    asked.answer(made, f"imported {asked.name!r}: {said}")


def list_all(store: str | None, as_json: bool) -> None:
    """`program list`."""
    found = open_store(store, create=False).programs()
    table = _table("program", "rounds", "arms", "policy", "created", "")
    for one in found:
        table.add_row(
            one["name"],
            str(one["rounds"]),
            ", ".join(one["arms"]),
            one["policy"],
            one["created"][:10],
            "archived" if one["archived"] else "",
        )
    _print(as_json, found, table)


def show_one(asked: Asked) -> None:
    """`program show`."""
    found = asked.program.show()
    table = _table("", "")
    for what, value in found.items():
        table.add_row(what.replace("_", " "), _words(value))
    asked.answer(found, table)


def ask(asked: Asked) -> None:
    """`program ask`."""
    advice = asked.program.advise(**asked.signed)
    table = _table("arm", "share", *(["units"] if "units" in advice else []))
    for arm, share in advice["allocation"].items():
        table.add_row(arm, f"{share:.4f}", *([str(advice["units"][arm])] if "units" in advice else []))
    asked.answer(advice, f"round {advice['round']}", table)


def deploy(asked: Asked, words: list[str]) -> None:
    """`program deploy`."""
    answer = asked.program.note_deployment(shares("ARM=share", words), **asked.signed)
    asked.answer(answer, f"round {answer['round']} deployed: {_words(answer['allocation'])}")


def tell(
    asked: Asked,
    words: list[str],
    allocation: dict[str, float] | None,
    unknown: bool,
    number: int | None,
    replace: bool,
) -> None:
    """`program tell`."""
    require(
        bool(words) != unknown, "tell needs either ARM=reward for the arms that were seen, or --csv FILE, or --unknown"
    )
    program = asked.program
    rewards, trials = (None, None) if unknown else _outcomes(words, program.reward_range)
    answer = program.tell(rewards, trials=trials, allocation=allocation, round=number, replace=replace, **asked.signed)
    asked.answer(answer, f"round {answer['round']} told")


def tell_table(asked: Asked, file: str, words: list[str], number: int | None, replace: bool) -> None:
    """`program tell --csv`: a tell for each round in the table."""
    require(not words, "give ARM=reward or --csv, not both")
    program, found = asked.program, _rewards(file, asked.program.reward_range)
    if None in found:  # it is about one round
        rewards, trials = found[None]
        answers = [program.tell(rewards, trials=trials, round=number, replace=replace, **asked.signed)]
    else:
        answers = program.tell_each(found, replace=replace, **asked.signed)
    asked.answer(answers, *(f"round {answer['round']} told" for answer in answers))


def explain(asked: Asked) -> None:
    """`program explain`: in words, or all of it as data."""
    program = asked.program
    print(json.dumps(program.explain(), indent=2) if asked.as_json else program.explain(words=True))


def log(asked: Asked, after: int, limit: int | None) -> None:
    """`program log`."""
    found = asked.program.events(after=after, limit=limit)
    table = _table("event", "at", "by", "what", "round", "")
    for event in found:
        table.add_row(
            str(event["sequence"]),
            event["at"][:19].replace("T", " "),
            event["by"] or "",
            event["kind"],
            str(event["round"] or ""),
            _in_short(event),
        )
    asked.answer(found, table)


def export(asked: Asked, out: str) -> None:
    """`program export`."""
    asked.program.export(out)
    asked.answer({"program": asked.name, "file": out}, f"written: {out}")


def audit(asked: Asked, head: str | None) -> bool:
    """`program audit`; whether all fits."""
    found = asked.program.audit(head)
    lines = [f"{'all fits' if found.fits else 'DOES NOT FIT'}: {found.events} events, head {found.head}"]
    if found.reason is not None:
        lines.append(found.reason)
    lines.append(f"{found.recomputed} of {found.decisions} decisions recomputed bit by bit")
    if found.not_recomputed:
        lines.append(f"{found.not_recomputed} were made with other versions or another processor: not recomputed")
    asked.answer(found.document(), *lines, *found.remarks)
    return found.fits


def limits(asked: Asked, floors: dict[str, float] | None, caps: dict[str, float] | None) -> None:
    """`program limits`: show them, or change them."""
    program = asked.program
    changed = floors is not None or caps is not None
    answer = program.set_limits(floors=floors, caps=caps, **asked.signed) if changed else program.limits
    table = _table("arm", "floor", "cap")
    for arm, floor in answer["floors"].items():
        table.add_row(arm, f"{floor:g}", f"{answer['caps'][arm]:g}")
    asked.answer(answer, table)


def open_arm(asked: Asked, arm: str, share: float | None) -> None:
    """`program open-arm`."""
    answer = asked.program.open_arm(arm, share, **asked.signed)
    asked.answer(answer, f"arms now: {', '.join(answer['arms'])}")


def close_arm(asked: Asked, arm: str) -> None:
    """`program close-arm`."""
    answer = asked.program.close_arm(arm, **asked.signed)
    asked.answer(answer, f"arms now: {', '.join(answer['arms'])}")


def policy(asked: Asked, policy: str) -> None:
    """`program policy`."""
    answer = asked.program.set_policy(policy, **asked.signed)
    asked.answer(answer, f"policy now: {answer['policy']}")


def archive(asked: Asked) -> None:
    """`program archive`."""
    answer = asked.program.archive(**asked.signed)
    asked.answer(answer, f"archived {asked.name!r}")


# Words on the command line.


def past(file: str | None, columns: list[str], reward_range: tuple[float, ...] | None) -> Records | None:
    """A table of past rounds, if one was given."""
    require(file is not None or not columns, "--column says what a table calls its columns; give --records FILE too")
    return None if file is None else read_records(file, columns=read_columns(columns), reward_range=reward_range)


def _outcomes(words: Sequence[str], unit: RewardRange) -> tuple[dict[str, float], dict[str, float] | None]:
    """Mean rewards, and trials where any were given as counts; an arm without stands for a single observation."""
    read = [(arm, *_outcome(arm, value, unit)) for arm, value in (read_pair("ARM=reward", word) for word in words)]
    rewards = once("ARM=reward", ((arm, reward) for arm, reward, _ in read))
    if all(trials is None for _, _, trials in read):
        return rewards, None
    return rewards, {arm: 1.0 if trials is None else trials for arm, _, trials in read}


def _outcome(arm: str, text: str, unit: RewardRange) -> tuple[float, float | None]:
    total, slash, trials = text.partition("/")
    if not slash:
        return read_real(f"the reward of {arm!r}", text), None
    earned, tried = read_real(f"the total of {arm!r}", total), read_real(f"the trials of {arm!r}", trials)
    if earned == tried == 0:  # it got none this round
        return math.nan, 0.0
    require(tried >= 1 and unit.low * tried <= earned <= unit.high * tried, _wrong_counts(arm, text, unit))
    return earned / tried, tried


def _wrong_counts(arm: str, text: str, unit: RewardRange) -> str:
    if unit.usual:
        return f"counts are successes/trials, at most all of them (0/0: it got none), got {text!r} for arm {arm!r}"
    each = f"{unit.low:g} to {unit.high:g}"
    return f"counts are total/trials, the total {each} times the trials, got {text!r} for arm {arm!r}"


def _rewards(file: str, unit: RewardRange) -> dict[int | None, Told]:
    """Rewards and trials by round, from a table with a row for each arm."""
    text = sys.stdin.read() if file == "-" else _text(file)
    try:
        return by_round(read_rewards(text, unit))
    except AftereffectError as error:
        raise AftereffectError(f"--csv {file!r}: {error}") from None


def _text(file: str) -> str:
    try:
        return read_regular(Path(file), LARGEST).decode("utf-8-sig")
    except OSError as error:
        raise AftereffectError(f"cannot read {file!r}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise AftereffectError(f"cannot read {file!r}: it is not text in UTF-8") from None


# Printing.


def _print(as_json: bool, document: Any, *parts: Any) -> None:
    if as_json:
        print(json.dumps(document, indent=2))
    else:
        show(*(Text(part) if isinstance(part, str) else part for part in parts), as_wide_as_needed=True)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, show_header=any(columns))
    for name in columns:
        table.add_column(name, overflow="fold")
    return table


def _words(value: Any) -> str:
    if isinstance(value, dict):
        return "  ".join(f"{name}={_words(inner)}" for name, inner in value.items())
    if isinstance(value, list):
        return ", ".join(map(_words, value))
    if value is None:
        return "-"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _in_short(event: dict[str, Any]) -> str:
    """What an event was about, in one line."""
    request, answer = event["request"], event["answer"]
    if event["kind"] == "tell":
        return _words(request["rewards"]) + (" (correction)" if request.get("replace") else "")
    if event["kind"] == "create":
        return f"{_words(request['arms'])}: {request['policy']}"
    return _words(answer.get("allocation") or {name: value for name, value in request.items() if name != "made_with"})
