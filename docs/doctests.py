"""Doctests in docstrings as code blocks: the site would read their brackets as links."""

from __future__ import annotations

from typing import Any

import griffe


def fenced(text: str) -> str:
    """The text with every run of lines from a prompt to the next empty line between fences."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if not inside and line.lstrip().startswith(">>>"):
            lines.append("```pycon")
            inside = True
        elif inside and not line.strip():
            lines.append("```")
            inside = False
        lines.append(line)
    return "\n".join([*lines, "```"] if inside else lines)


class Fenced(griffe.Extension):
    """Every docstring that is collected."""

    def on_object(self, *, obj: Any, **_: Any) -> None:
        """Fence its doctests."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)
