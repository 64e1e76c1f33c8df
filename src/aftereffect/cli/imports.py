"""`--import MODULE`, which every command takes: a module with policies and problems of one's own."""

from __future__ import annotations

from typing import Any

from aftereffect.errors import MissingParameter

OPTION = "--import"
HELP = (
    "Every command also takes --import MODULE: a module, also one in this folder, that registers policies or problems."
)


def take_imports(arguments: list[str]) -> tuple[list[str], list[str]]:
    """The arguments without `--import MODULE`, and the modules, wherever they stand.

    >>> take_imports(["policies", "--import", "mine", "--json"])
    (['policies', '--json'], ['mine'])
    """
    rest: list[str] = []
    modules: list[str] = []
    remaining = iter(arguments)
    for argument in remaining:
        option, equals, value = argument.partition("=")
        if argument == "--":
            return [*rest, argument, *remaining], modules
        if option != OPTION:
            rest.append(argument)
            continue
        value = value if equals else next(remaining, "")
        if not value or value.startswith("-"):
            raise MissingParameter(f"{OPTION} needs the name of a module")
        modules.append(value)
    return rest, modules


def say_in_help(command: Any) -> None:
    """Put the option below every command's help."""
    command.epilog = HELP
    for inner in getattr(command, "commands", {}).values():
        say_in_help(inner)
