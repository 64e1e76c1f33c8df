"""Usage errors of the argument parser as this package's own errors, with the nearest valid name."""

from __future__ import annotations

from typing import Any

import typer
import typer.core

from aftereffect.errors import AftereffectError, MissingParameter, UnknownName

# Some versions of typer bring their own copy of click, so its classes are reached through what typer itself exports.
CLICK_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


class Commands(typer.core.TyperGroup):
    """The commands; a name that is none of them gets the nearest one."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise UnknownName("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


def as_mistake(error: Any) -> AftereffectError:
    """The same error in one line of this package's words."""
    kind = type(error).__name__
    if kind == "NoSuchOption":
        where = "option" if error.ctx.parent is None else f"option of {error.ctx.info_name}:"
        return UnknownName(where, error.option_name, _options(error.ctx))
    if kind == "MissingParameter" and error.param is not None:
        return MissingParameter(f"{error.ctx.info_name} needs {error.param.opts[0]} {error.param.metavar or ''}")
    return AftereffectError(_as_sentence(error.format_message()))


def _options(context: Any) -> list[str]:
    return [name for parameter in context.command.get_params(context) for name in parameter.opts]


def _as_sentence(message: str) -> str:
    message = message.rstrip(".")
    return message[:1].lower() + message[1:]
