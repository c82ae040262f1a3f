"""Where every run of the command line begins and ends.

In: arguments. Out: an exit code. Invariant: 1 is returned only where `verify` rejects; whatever
goes wrong is said on stderr in a few lines, without a traceback unless CONSTAT_DEBUG is set.

The codes (semantics of the verdicts): 0 PROVED, 3 PROVED UNDER assumptions, 4 UNRESOLVED, 5
DISPROVED, 6 DISPROVED UNDER assumptions, 2 bad usage, 70 internal error, 78 refused construct, 130
interrupted by Ctrl-C, 143 by SIGTERM, 129 when the terminal is closed.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import sys
import traceback
from typing import TYPE_CHECKING, Final

import click

from constat.cli.commands import cli
from constat.cli.output import complain, prepare_streams, show_error, show_failure, silence
from constat.diagnostics import ConstatError
from constat.diagnostics.interruption import exit_code, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.diagnostics.interruption import Interruption

_COMPLETING: Final = "_CONSTAT_COMPLETE"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
USAGE: Final = 2
INTERNAL: Final = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    prepare_streams()
    if _COMPLETING in os.environ:
        from constat.cli.completion import complete  # noqa: PLC0415  loaded when it is used

        code: int = complete(os.environ)
        return code
    given = list(sys.argv[1:] if arguments is None else arguments)
    with listening() as signals:
        try:
            code = _flushed(given, signals)
            signals.raise_again()
        except (KeyboardInterrupt, click.Abort) as problem:
            signals.settle()
            return _interrupted(problem, as_json=wants_json(given))
    return code


def _flushed(arguments: list[str], signals: Interruption) -> int:
    try:
        code = _run(arguments, signals)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has enough. The pipe must not break again at exit.
        silence(sys.stdout)
        return 0
    except OSError:
        # Click prints help by itself; what Constat could not write was told where that was tried.
        silence(sys.stdout)
        return USAGE
    return code


def _run(arguments: list[str], signals: Interruption) -> int:
    as_json = wants_json(arguments)
    try:
        result = cli.main(args=arguments, prog_name="constat", standalone_mode=False, obj=as_json)
    except click.ClickException as problem:
        if as_json:
            show_failure(problem.format_message(), USAGE)
        else:
            # There is nobody to tell that stderr cannot be written; the exit code says enough.
            with contextlib.suppress(OSError):
                problem.show()
        return USAGE
    except (KeyboardInterrupt, click.Abort, BrokenPipeError):
        raise
    except ConstatError as problem:
        signals.raise_again()
        show_error(problem, as_json=as_json)
        return problem.exit_code
    except OSError as problem:
        signals.raise_again()
        if problem.errno not in _FULL:
            return _internal(problem, as_json=as_json)
        return _failed("no space is left to write to", USAGE, as_json=as_json)
    except Exception as problem:  # noqa: BLE001  the outermost boundary: said, and shown in full on demand
        # A library may put an error of its own in the place of an interruption.
        signals.raise_again()
        return _internal(problem, as_json=as_json)
    return result if isinstance(result, int) else 0


def _interrupted(problem: BaseException, *, as_json: bool) -> int:
    """Say that a signal ended the command, and what was finished until then.

    Click wraps the interruption; what was finished is noted at it.
    """
    cause = problem.__cause__ or problem
    number = int(getattr(cause, "number", signal.SIGINT))
    by = "" if number == signal.SIGINT else f" by {signal.Signals(number).name}"
    notes = getattr(cause, "__notes__", [])
    return _failed("\n  ".join([f"interrupted{by}", *notes]), exit_code(number), as_json=as_json)


def wants_json(arguments: Sequence[str]) -> bool:
    """Tell whether arguments ask for JSON, also where they are wrong otherwise."""
    for place, argument in enumerate(arguments):
        if argument == "--":
            return False
        name, _, value = argument.partition("=")
        if name == "--format":
            given = value or (arguments[place + 1] if place + 1 < len(arguments) else "")
            return given in {"json", "jsonl"}
    return False


def _internal(problem: Exception, *, as_json: bool) -> int:
    if os.environ.get("CONSTAT_DEBUG"):
        traceback.print_exc()
        return INTERNAL
    # The message of an unexpected exception may quote outside bytes; its type does not.
    message = (
        f"internal error ({type(problem).__name__}); "
        "this is a mistake in Constat, CONSTAT_DEBUG=1 shows where"
    )
    return _failed(message, INTERNAL, as_json=as_json)


def _failed(message: str, code: int, *, as_json: bool) -> int:
    if as_json:
        show_failure(message, code)
    else:
        complain(message)
    return code
