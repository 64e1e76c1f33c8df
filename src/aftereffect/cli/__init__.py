"""The command line: thin, no logic of its own. Nothing heavy is imported before a command needs it."""

from __future__ import annotations

import errno
import os
import sys

from aftereffect.cli.messages import remarks, say
from aftereffect.cli.streams import ensure_streams, give_up_output
from aftereffect.errors import AftereffectError

FAILURE, MISTAKE, INTERRUPTED = 1, 2, 130


def main() -> None:
    """Run the command line with the process's own arguments and end the process with its exit code."""
    ensure_streams()
    sys.exit(_run(sys.argv[1:]))


def _run(arguments: list[str]) -> int:
    """Exit code of a command: a mistake and an interruption say so in one line, any other error is left to surface."""
    try:
        from aftereffect.cli.app import execute

        if any("\0" in argument for argument in arguments):  # only from within Python: no process is given such
            raise AftereffectError("arguments cannot hold null characters")
        with remarks():
            code = execute(arguments or ["--help"])
        sys.stdout.flush()  # at the interpreter's end it would be too late to say what went wrong
    except AftereffectError as error:
        say(str(error))
        return FAILURE if getattr(error, "retryable", False) else MISTAKE  # nobody's mistake: try again
    except MemoryError as error:
        say(f"not enough memory for what was asked: {error}")
        return MISTAKE
    except OSError as error:
        return _said_of_files(error)
    except KeyboardInterrupt:
        code = INTERRUPTED
    if code == INTERRUPTED:
        say("interrupted")
    return code


def _said_of_files(error: OSError) -> int:
    """What names a file is about a path that was given; what names none is about standard output."""
    reason = error.strerror or str(error)
    if error.filename is not None:
        say(f"cannot use {os.fsdecode(error.filename)!r}: {reason}")
        return MISTAKE
    give_up_output()
    if error.errno != errno.EPIPE:  # a reader that has seen enough is nobody's mistake
        say(f"cannot write to standard output: {reason}")
    return FAILURE
