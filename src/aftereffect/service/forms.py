"""What people type into the dashboard's forms, read as programs take it."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import FormData

from aftereffect.errors import AftereffectError
from aftereffect.programs.program import Program
from aftereffect.programs.rewards_table import Row, by_round, read_number, read_rewards


def number(what: str, text: Any) -> float:
    """A finite number, also with a percent sign."""
    return read_number(what, str(text).strip().removesuffix("%"))


def whole(what: str, text: Any) -> int:
    """A whole number from one on."""
    value = number(what, text)
    if value != int(value) or not 1 <= value <= 10**12:
        raise AftereffectError(f"{what} must be a whole number from 1 on, got {str(text)[:40]!r}")
    return int(value)


def _column(form: FormData, name: str) -> list[str]:
    return [str(value).strip() for value in form.getlist(name)]


def _by_arm(program: Program, form: FormData, word: str) -> dict[str, float]:
    given = _column(form, word)
    if len(given) != len(program.names):
        raise AftereffectError("the arms have changed since this page was made: load it again")
    return {name: number(f"the {word} of {name!r}", text) for name, text in zip(program.names, given, strict=True)}


def allocation(program: Program, form: FormData) -> dict[str, float] | None:
    """Percents or units of each arm as shares of their sum; None where the form has none."""
    given = _column(form, "share")
    if not given:
        return None
    parts = _by_arm(program, form, "share")
    total = sum(parts.values())
    if total <= 0 or min(parts.values()) < 0:
        raise AftereffectError(f"shares must be 0 or more and not all 0, got {', '.join(given)}")
    return {name: part / total for name, part in parts.items()}


def told(program: Program, form: FormData) -> dict[str, Any]:
    """A round's rewards: totals (successes) where there are trials, means where there are none."""
    rewards: dict[str, float] = {}
    trials: dict[str, float] = {}
    unit = program.reward_range
    for name, reward, count in zip(program.names, _column(form, "reward"), _column(form, "trials"), strict=False):
        if reward:
            value = number(f"the reward of {name!r}", reward)
            if count:
                tried = whole(f"the trials of {name!r}", count)
                least, most = unit.low * tried, unit.high * tried
                if not least <= value <= most:
                    what = "successes lie" if unit.usual else "total lies"
                    raise AftereffectError(
                        f"{name!r} has {tried} trials, so its {what} between {least:.12g} and {most:.12g}, got {reward}"
                    )
                rewards[name], trials[name] = value / tried, float(tried)
            else:
                rewards[name] = value
    if not rewards:
        raise AftereffectError("nothing was filled in: give at least one arm's reward")
    if trials and len(trials) < len(rewards):
        raise AftereffectError("give trials for all of the arms that report, or for none")
    return {
        "rewards": rewards,
        "trials": trials or None,
        "round": whole("the round", form.get("round")),
        "replace": form.get("replace") == "yes",
    }


def limits(program: Program, form: FormData) -> dict[str, Any]:
    """Floors and caps in percent."""
    return {
        f"{word}s": {name: percent / 100 for name, percent in _by_arm(program, form, word).items()}
        for word in ("floor", "cap")
    }


def reward_range(form: FormData) -> tuple[float, float] | None:
    """The lowest and the highest reward; None where the form has neither."""
    given = [str(form.get(name, "")).strip() for name in ("lowest", "highest")]
    if not any(given):
        return None
    return number("the lowest reward", given[0]), number("the highest reward", given[1])


def arm(form: FormData) -> str:
    """An arm's name."""
    return str(form.get("arm", "")).strip()


def as_text(content: bytes) -> str:
    """A file's text."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def rows_of(program: Program, text: str) -> list[Row]:
    """A table of rewards as it will be told, every round and arm of it known."""
    rows = read_rewards(text, program.reward_range)
    for row in rows:
        if row.round is None:
            raise AftereffectError("the table needs the column round: it says which rounds the rewards are of")
        if row.arm not in program.names:
            raise AftereffectError(
                f"line {row.line}: there is no arm {row.arm!r}; there are {', '.join(program.names)}"
            )
    return rows


def tell_rows(program: Program, text: str, signed: dict[str, Any]) -> None:
    """Tell a table, one write a round, or nothing of it; the same table again changes nothing."""
    program.tell_each(by_round(rows_of(program, text)), by=signed["by"], key=signed["key"] or None)
