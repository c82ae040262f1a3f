"""Where every run of the command line begins and ends.

In: arguments. Out: an exit code. Invariant: 1 is returned only where `verify` rejects; whatever
goes wrong is said on stderr in a few lines, without a traceback unless CONSTAT_DEBUG is set.

The codes (semantics of the verdicts): 0 PROVED, 3 PROVED UNDER assumptions, 4 UNRESOLVED, 5
DISPROVED, 6 DISPROVED UNDER assumptions, 2 bad usage, 70 internal error, 78 refused construct, 130
interrupted.
"""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING, Final

import click

from constat.cli.commands import cli
from constat.cli.output import complain, prepare_streams, show_error, silence
from constat.diagnostics import ConstatError

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE: Final = 2
INTERNAL: Final = 70
INTERRUPTED: Final = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    prepare_streams()
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code = _run(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read the output has enough. The pipe must not break again at exit.
        silence(sys.stdout)
        return 0
    return code


def _run(arguments: list[str]) -> int:
    try:
        result = cli.main(args=arguments, prog_name="constat", standalone_mode=False)
    except click.ClickException as problem:
        problem.show()
        return USAGE
    except (KeyboardInterrupt, click.Abort):
        complain("interrupted")
        return INTERRUPTED
    except ConstatError as problem:
        show_error(problem)
        return problem.exit_code
    except BrokenPipeError:
        raise
    except Exception as problem:  # noqa: BLE001  the outermost boundary: said, and shown in full on demand
        return _internal(problem)
    return result if isinstance(result, int) else 0


def _internal(problem: Exception) -> int:
    if os.environ.get("CONSTAT_DEBUG"):
        traceback.print_exc()
    else:
        # The message of an unexpected exception may quote outside bytes; its type does not.
        complain(
            f"internal error ({type(problem).__name__}); "
            "this is a mistake in Constat, CONSTAT_DEBUG=1 shows where"
        )
    return INTERNAL
