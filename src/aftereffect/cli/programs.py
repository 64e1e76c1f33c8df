"""What the commands of `aftereffect program` do: read the words, call the program, print."""

from __future__ import annotations

import getpass
import json
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

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


def create(
    store: str | None,
    name: str,
    arms: str,
    records: Records | None,
    options: dict[str, Any],
    key: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """`program create`."""
    names = [word.strip() for word in arms.split(",")]
    made = open_store(store).create(name, names, records=records, key=key, by=_who(by), **options).show()
    _print(
        as_json, made, f"created {name!r}: {', '.join(made['arms'])}, {made['policy']}, {made['rounds']} past rounds"
    )


def import_file(store: str | None, name: str, file: str, key: str | None, by: str | None, as_json: bool) -> None:
    """`program import`."""
    made = import_program(open_store(store), name, file, key=key, by=_who(by)).show()
    _print(as_json, made, f"imported {name!r}: {', '.join(made['arms'])}, {made['rounds']} rounds, head {made['head']}")


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


def show_one(store: str | None, name: str, as_json: bool) -> None:
    """`program show`."""
    found = _program(store, name).show()
    table = _table("", "")
    for what, value in found.items():
        table.add_row(what.replace("_", " "), _words(value))
    _print(as_json, found, table)


def ask(store: str | None, name: str, key: str | None, by: str | None, as_json: bool) -> None:
    """`program ask`."""
    advice = _program(store, name).advise(key=key, by=_who(by))
    table = _table("arm", "share", *(["units"] if "units" in advice else []))
    for arm, share in advice["allocation"].items():
        table.add_row(arm, f"{share:.4f}", *([str(advice["units"][arm])] if "units" in advice else []))
    _print(as_json, advice, Text(f"round {advice['round']}"), table)


def deploy(store: str | None, name: str, words: list[str], key: str | None, by: str | None, as_json: bool) -> None:
    """`program deploy`."""
    answer = _program(store, name).note_deployment(shares("ARM=share", words), key=key, by=_who(by))
    _print(as_json, answer, f"round {answer['round']} deployed: {_words(answer['allocation'])}")


def tell(
    store: str | None,
    name: str,
    words: list[str],
    allocation: dict[str, float] | None,
    unknown: bool,
    number: int | None,
    replace: bool,
    key: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """`program tell`."""
    require(
        bool(words) != unknown, "tell needs either ARM=reward for the arms that were seen, or --csv FILE, or --unknown"
    )
    program = _program(store, name)
    rewards, trials = (None, None) if unknown else _outcomes(words, program.reward_range)
    answer = program.tell(
        rewards, trials=trials, allocation=allocation, round=number, replace=replace, key=key, by=_who(by)
    )
    _print(as_json, answer, f"round {answer['round']} told")


def tell_table(
    store: str | None,
    name: str,
    file: str,
    words: list[str],
    number: int | None,
    replace: bool,
    key: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """`program tell --csv`: a tell for each round in the table."""
    require(not words, "give ARM=reward or --csv, not both")
    program, who = _program(store, name), _who(by)
    answers = []
    for found, (rewards, trials) in _rewards(file, program.reward_range).items():
        round = number if found is None else found
        own = None if key is None else key if found is None else f"{key}-{found}"
        answers.append(program.tell(rewards, trials=trials, round=round, replace=replace, key=own, by=who))
    _print(as_json, answers, *(f"round {answer['round']} told" for answer in answers))


def explain(store: str | None, name: str, as_json: bool) -> None:
    """`program explain`: in words, or all of it as data."""
    program = _program(store, name)
    print(json.dumps(program.explain(), indent=2) if as_json else program.explain(words=True))


def log(store: str | None, name: str, after: int, limit: int | None, as_json: bool) -> None:
    """`program log`."""
    found = _program(store, name).events(after=after, limit=limit)
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
    _print(as_json, found, table)


def export(store: str | None, name: str, out: str, as_json: bool) -> None:
    """`program export`."""
    _program(store, name).export(out)
    _print(as_json, {"program": name, "file": out}, f"written: {out}")


def audit(store: str | None, name: str, head: str | None, as_json: bool) -> bool:
    """`program audit`; whether all fits."""
    found = _program(store, name).audit(head)
    lines = [f"{'all fits' if found.fits else 'DOES NOT FIT'}: {found.events} events, head {found.head}"]
    if found.reason is not None:
        lines.append(found.reason)
    lines.append(f"{found.recomputed} of {found.decisions} decisions recomputed bit by bit")
    if found.not_recomputed:
        lines.append(f"{found.not_recomputed} were made with other versions or another processor: not recomputed")
    _print(as_json, found.document(), *lines, *found.remarks)
    return found.fits


def limits(
    store: str | None,
    name: str,
    floors: dict[str, float] | None,
    caps: dict[str, float] | None,
    key: str | None,
    by: str | None,
    as_json: bool,
) -> None:
    """`program limits`: show them, or change them."""
    program = _program(store, name)
    if floors is None and caps is None:
        answer = program.limits
    else:
        answer = program.set_limits(floors=floors, caps=caps, key=key, by=_who(by))
    table = _table("arm", "floor", "cap")
    for arm, floor in answer["floors"].items():
        table.add_row(arm, f"{floor:g}", f"{answer['caps'][arm]:g}")
    _print(as_json, answer, table)


def open_arm(
    store: str | None, name: str, arm: str, share: float | None, key: str | None, by: str | None, as_json: bool
) -> None:
    """`program open-arm`."""
    answer = _program(store, name).open_arm(arm, share, key=key, by=_who(by))
    _print(as_json, answer, f"arms now: {', '.join(answer['arms'])}")


def close_arm(store: str | None, name: str, arm: str, key: str | None, by: str | None, as_json: bool) -> None:
    """`program close-arm`."""
    answer = _program(store, name).close_arm(arm, key=key, by=_who(by))
    _print(as_json, answer, f"arms now: {', '.join(answer['arms'])}")


def policy(store: str | None, name: str, policy: str, key: str | None, by: str | None, as_json: bool) -> None:
    """`program policy`."""
    answer = _program(store, name).set_policy(policy, key=key, by=_who(by))
    _print(as_json, answer, f"policy now: {answer['policy']}")


def archive(store: str | None, name: str, key: str | None, by: str | None, as_json: bool) -> None:
    """`program archive`."""
    answer = _program(store, name).archive(key=key, by=_who(by))
    _print(as_json, answer, f"archived {name!r}")


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
    require(tried >= 1 and unit.low * tried <= earned <= unit.high * tried, _wrong_counts(arm, text, unit))
    return earned / tried, tried


def _wrong_counts(arm: str, text: str, unit: RewardRange) -> str:
    if unit.usual:
        return f"counts are successes/trials, at most all of them, got {text!r} for arm {arm!r}"
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


def _program(store: str | None, name: str) -> Program:
    return open_store(store, create=False).program(name)


def _who(by: str | None) -> str | None:
    """Who does it: as given, else this machine's user, where there is one."""
    if by is None:
        with suppress(OSError, KeyError, ImportError):
            return getpass.getuser()
    return by


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
