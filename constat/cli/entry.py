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

from constat import __version__
from constat.cli.groups import LazyGroup
from constat.cli.output import complain, prepare_streams, show_error, show_failure, silence
from constat.diagnostics import ConstatError, Diagnostic
from constat.diagnostics.interruption import exit_code, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.diagnostics.interruption import Interruption

# The tree of commands: names and one-line helps; a module loads when its command runs.

_COMMANDS: Final = (
    ("init", "Begin a project with a database.", "begin.init_command"),
    ("prove", "Prove or disprove a goal.", "prove.command"),
    ("query", "Find all answers of a goal with variables.", "query.command"),
    ("ask", "Answer a question in plain words, with a proof.", "ask.command"),
    ("repl", "Type goals, rules and questions, one after another.", "repl.command"),
    ("solve", "Explore a question by a plan of steps.", "solve.solve_command"),
    ("resume", "Go on with an exploration where it ended.", "solve.resume_command"),
    ("history", "List what was explored.", "solve.history_command"),
    ("plan", "Show, check, edit and promote the plans of explorations.", "plan.command"),
    (
        "why-not",
        "Say why a goal does not hold, and how far it is from it.",
        "hypotheses.why_not_command",
    ),
    (
        "what-if",
        "Answer a goal as if facts, values or rules were others.",
        "hypotheses.what_if_command",
    ),
    ("missing", "Find the facts that would prove a goal.", "hypotheses.missing_command"),
    ("run", "Run a whole program over fact files, as Souffle does.", "run.command"),
    ("verify", "Check a certificate, independently of how it was made.", "verify.command"),
    ("diff", "Tell what differs between two proofs, and why.", "comparison.diff_command"),
    (
        "replay",
        "Make a certificate again, from its record or from today's sources.",
        "comparison.replay_command",
    ),
    ("sign", "Put one's name under a certificate.", "signing.sign_command"),
    ("keygen", "Make a key to sign with.", "signing.keygen_command"),
    ("log", "Look after the log of decisions.", "log.command"),
    ("snapshot", "Commit to all rows of a relation.", "signing.snapshot_command"),
    (
        "openings",
        "Show the rows of a certificate in signed snapshots.",
        "signing.openings_command",
    ),
    (
        "stale",
        "List the certificates that would have to be proved again.",
        "comparison.stale_command",
    ),
    (
        "cache",
        "Look at the answers of sources that are kept, or clear them.",
        "stored.cache_command",
    ),
    ("models", "List the language models, and what they have used.", "models.command"),
    ("memory", "Keep conversations as facts, and compact them.", "memory.command"),
    ("recorded", "Look at what was recorded for answers as of a time.", "stored.recorded_command"),
    ("explain", "Explain a code such as C0203.", "help.explain_command"),
    ("explain-plan", "Show how answers in bulk are computed.", "explain_plan.command"),
    (
        "materialize",
        "Keep the answers of a query, for point queries.",
        "stored.materialize_command",
    ),
    (
        "watch",
        "Print what follows and what does not any more, as facts change.",
        "stored.watch_command",
    ),
    ("facts", "State facts, list them, take them back.", "facts.command"),
    ("mcp", "Serve the project to agents.", "faces.mcp_command"),
    ("serve", "Serve the project over HTTP.", "faces.serve_command"),
    ("doctor", "Look at everything that a project needs.", "begin.doctor_command"),
    ("rules", "Check rule files.", "rules.command"),
    ("check-data", "Check the data against constraints and keys.", "check_data.command"),
    ("catalog", "Look at what the sources hold; draft declarations.", "catalog.command"),
    ("documents", "Look at the documents of a project, and search them.", "documents.command"),
    ("export", "Write a certificate in a standard format.", "export.command"),
    ("help", "Explain exit codes, goals, JSON, files.", "help.help_command"),
    ("schema", "Print the JSON Schema of a command's results.", "help.schema_command"),
    ("completion", "Print the completion script of a shell.", "completion.command"),
)

_SECTIONS: Final = (
    ("Begin", ("init", "doctor", "catalog", "documents")),
    ("Ask", ("prove", "query", "ask", "repl", "why-not", "what-if", "missing", "run")),
    ("Explore", ("solve", "resume", "history", "plan")),
    ("Check what was answered", ("verify", "diff", "replay", "stale", "export")),
    ("Sign and keep", ("sign", "keygen", "log", "snapshot", "openings")),
    (
        "Facts and rules",
        ("facts", "rules", "check-data", "cache", "recorded", "materialize", "watch"),
    ),
    ("Conversations", ("memory",)),
)


@click.group(
    name="constat",
    cls=LazyGroup,
    listed=_COMMANDS,
    sections=_SECTIONS,
    rest="More",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 proved, 3 proved under assumptions, 4 unresolved, 5 disproved, "
    "6 disproved under assumptions, 2 bad usage, 1 rejected by verify.",
)
@click.version_option(__version__, message="constat %(version)s")
def cli() -> None:
    """Answer questions with proofs that an independent program can check.

    Each command also takes, behind its name or before it, -q (no remarks on
    stderr), -v (what is asked meanwhile, on stderr) and --project DIR, as
    CONSTAT_PROJECT names it. For a file that is read or written, - is stdin or
    stdout.

    Example:
      constat prove "is_vip(C001)"
    """


_COMPLETING: Final = "_CONSTAT_COMPLETE"
_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
USAGE: Final = 2
INTERNAL: Final = 70


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; give its exit code."""
    prepare_streams()
    if _COMPLETING in os.environ:
        from constat.cli.completion import complete  # noqa: PLC0415  loaded when it is used

        code: int = complete(os.environ, cli)
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
        _set_up_spans()
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


def _set_up_spans() -> None:
    """Have spans sent where the environment names a collector of OpenTelemetry."""
    if not any(one.startswith("OTEL_EXPORTER_OTLP_") for one in os.environ):
        return
    from constat.evaluation.spans import set_up  # noqa: PLC0415  loaded when it is used

    try:
        set_up()
    except ImportError:
        message = "a collector of spans is named, and OpenTelemetry's SDK is not installed"
        hint = "pip install 'constat[telemetry]', or unset OTEL_EXPORTER_OTLP_ENDPOINT"
        raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None


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
