"""Why a rule of a user's own cannot be compiled, in words that help who wrote it: numba's are about numba."""

from __future__ import annotations

import re
from pathlib import Path

# What numba says, and what to do about it.
ADVICE = (
    (
        r"NRT required|NRT_|[Mm]em[Ii]nfo|Only accept returning of array passed",
        "it creates an array or a list; give the state a field with room for it, and fill that in place",
    ),
    (r"Unknown attribute '(\w+)' of type \w+\(", "the state has no field {0!r}"),
    (
        r"Untyped global name '(\w+)'|name '(\w+)' is not defined",
        "it uses {0!r}, which is no number, tuple, array or compiled function; decorate a function with author.compiled",
    ),
    (
        r"Cannot unify .+? and .+? for ",
        "a variable of it is of two types, a number here and a word there, say",
    ),
    (
        r"No implementation of function Function\(<(?:built-in )?function (?!ask|tell|skip|note)(\w+)",
        "it calls {0!r} with what numba cannot compile that for",
    ),
)


def explained(error: Exception) -> str:
    """One line about an error of numba's."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))  # without its colours
    places = re.findall(r'File "([^"]+)", line (\d+)', text)
    theirs = [(path, line) for path, line in places if "/numba/" not in path and "/aftereffect/" not in path]
    where = f" ({Path(theirs[0][0]).name}, line {theirs[0][1]})" if theirs else ""
    for pattern, advice in ADVICE:
        found = re.search(pattern, text)
        if found:
            return f"a rule cannot be compiled{where}: {advice.format(*filter(None, found.groups()))}"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = next((line for line in lines if not line.startswith(("Failed in", "No implementation", "During"))), "")
    return f"a rule cannot be compiled{where}: {said or type(error).__name__}; a PlainPolicy needs no compiling"
