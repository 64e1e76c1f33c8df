"""The command line: thin, no logic of its own. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import sys

from aftereffect.cli.messages import remarks, say
from aftereffect.errors import AftereffectError

MISTAKE, INTERRUPTED = 2, 130


def main() -> None:
    """Run the command line with the process's own arguments and end the process with its exit code."""
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    """Exit code of a command: a mistake and an interruption say so in one line, any other error is left to surface."""
    try:
        from aftereffect.cli.app import execute

        with remarks():
            code = execute(arguments or ["--help"])
    except AftereffectError as error:
        say(str(error))
        return MISTAKE
    except MemoryError as error:
        say(f"not enough memory for what was asked: {error}")
        return MISTAKE
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        say("interrupted")
    return code
