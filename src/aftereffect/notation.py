"""The short notation of problems and policies: NAME[:k=v,..], nested parameters as NAME(k=v,..).

gaussian:arms=3,memory=0.2      phased:inner=cucb(zero=true),memory=0.4      fixed:allocation=[0.3,0.7]
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from aftereffect.errors import AftereffectError


@dataclass(frozen=True)
class Named:
    """A name with parameters; values are numbers, truth values, None, words, lists, or named things again."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)


def parse(text: str) -> Named:
    """Read the notation.

    >>> parse("phased:inner=cucb(zero=true),memory=0.4").parameters
    {'inner': Named(name='cucb', parameters={'zero': True}), 'memory': 0.4}
    """
    name, colon, rest = text.partition(":")
    if not name.strip() or (colon and not rest.strip()):
        raise AftereffectError(f"expected NAME or NAME:key=value,.., got {text!r}")
    return Named(name.strip(), _parameters(rest, text) if colon else {})


def _parameters(text: str, whole: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in _split(text, whole):
        key, equals, value = part.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise AftereffectError(f"expected key=value, got {part!r} in {whole!r}")
        if key.strip() in found:
            raise AftereffectError(f"{key.strip()!r} is given twice in {whole!r}")
        found[key.strip()] = _value(value.strip(), whole)
    return found


_CLOSING = {"(": ")", "[": "]"}
_DEEPEST = 20  # brackets in brackets; nothing sensible comes near


def _split(text: str, whole: str) -> list[str]:
    """Cut at the commas that are not inside brackets."""
    parts, awaited, start = [], [], 0
    for i, character in enumerate(text):
        if character in _CLOSING:
            awaited.append(_CLOSING[character])
            if len(awaited) > _DEEPEST:
                raise AftereffectError(f"brackets are nested more than {_DEEPEST} deep in {whole[:60]!r}..")
        elif character in _CLOSING.values():
            if not awaited or awaited.pop() != character:
                raise AftereffectError(f"a bracket closes that was not opened in {whole!r}")
        elif character == "," and not awaited:
            parts.append(text[start:i])
            start = i + 1
    if awaited:
        raise AftereffectError(f"a bracket is not closed in {whole!r}")
    return [*parts, text[start:]]


_WORDS: dict[str, Any] = {"true": True, "false": False, "none": None}


def _value(text: str, whole: str) -> Any:
    if not text:
        raise AftereffectError(f"a value is missing between commas in {whole!r}")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [_value(part.strip(), whole) for part in _split(text[1:-1], whole)] if text[1:-1].strip() else []
    if "(" in text:
        name, _, inside = text.partition("(")
        if not inside.endswith(")") or not name.strip():
            raise AftereffectError(f"expected name(key=value,..), got {text!r} in {whole!r}")
        return Named(name.strip(), _parameters(inside[:-1], whole) if inside[:-1].strip() else {})
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
