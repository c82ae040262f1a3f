"""`constat watch`: conclusions that come and go while facts change."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import note, write
from constat.cli.results import print_result
from constat.diagnostics import ConstatError, Diagnostic
from constat.session import Session

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.session.current import ChangedConclusion, Watch, Watching

_PATIENCE: Final = 60
"""Seconds that a command may take which is told of changes."""


@click.command(name="watch", cls=PlainCommand)
@click.argument("goals", nargs=-1, required=True, metavar="GOAL...")
@click.option(
    "--changes",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help='Take changes of rows from FILE, one on each line: {"op": "insert", "relation": "edge", '
    '"row": [1, 2]}; op is insert, delete or update (with the old row in "before").',
)
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 86_400),
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once, and end.")
@click.option("--keep", is_flag=True, help="Keep what is known, and begin with it the next time.")
@click.option("--proofs", is_flag=True, help="Print the proof of each change.")
@click.option(
    "--on-change",
    metavar="COMMAND",
    help="Run COMMAND, without a shell, with the changes as lines of JSON on its input.",
)
@format_option
@project_option
def watch_command(  # noqa: PLR0913  each option has a name
    goals: tuple[str, ...],
    *,
    changes: str | None,
    interval: float,
    once: bool,
    keep: bool,
    proofs: bool,
    on_change: str | None,
    form: str,
    project: str | None,
) -> int:
    """Print which conclusions of GOAL come (+) and go (-) while facts change.

    Sources and stated facts are looked at again after each interval, and only what has changed is
    followed through the rules. A goal that cannot be kept row by row, for example because it rests
    on assumptions, is asked anew as a whole when its sources change; which and why is said at the
    beginning. With --keep a later `watch` begins with what has changed since. With --format json
    each look that finds something is one line. Ctrl-C ends it.

    Examples:
      constat watch "is_vip(?c)" --once
      constat watch "is_vip(?c)" "is_regular(?c)" --once --keep --format json

    Exit codes: 0 the one look is done; 130 ended by Ctrl-C; 2 bad usage, configuration or rules,
    also a line of --changes that is no change.
    """
    command = None if on_change is None else _words(on_change)
    with (
        Session(project, cache=False) as session,
        asked(session, goal=goals[0]),
        session.watch(goals, keep=keep) as watch,
    ):
        feed = None if changes is None else _Feed(Path(changes), watch)
        told = _Told(session, form, command, proofs=proofs)
        if form == "text":
            _introduce(watch.goals())
        found = [*watch.since, *([] if feed is None else feed.take())]
        told.tell(found, watch.goals())
        while not once:
            time.sleep(interval)
            found = watch.poll() + ([] if feed is None else feed.take())
            if found:
                told.tell(found, None)
    return 0


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--on-change") from None
    if not words:
        raise click.BadParameter("it is empty", param_hint="--on-change")
    return words


def _introduce(goals: Sequence[Watching]) -> None:
    for one in goals:
        how = "kept current row by row" if not one.why else f"asked anew as a whole: {one.why}"
        write(f"watching {one.query}: {one.rows:,} now, {how}")


class _Feed:
    """A file of changes, read as it grows; a line counts once it is ended."""

    def __init__(self, path: Path, watch: Watch) -> None:
        self._path = path
        self._watch = watch
        self._place = 0
        self._lines = 0

    def take(self) -> list[ChangedConclusion]:
        """Take the lines that were added, and give what follows."""
        from constat.session.current import read_changes  # noqa: PLC0415  loaded when it is used

        try:
            with self._path.open("rb") as file:
                file.seek(self._place)
                content = file.read()
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            message = f"the file of changes cannot be read: {reason}"
            raise ConstatError([Diagnostic("C0676", message, help="name a file")]) from None
        content = content[: content.rfind(b"\n") + 1]
        lines = content.decode("utf-8", "replace").splitlines()
        facts = read_changes(lines, self._watch, self._path.name, self._lines + 1)
        self._place += len(content)
        self._lines += len(lines)
        return self._watch.tell(facts) if facts else []


class _Told:
    """Prints changes and hands them on."""

    def __init__(
        self, session: Session, form: str, command: list[str] | None, *, proofs: bool
    ) -> None:
        self._session = session
        self._form = form
        self._command = command
        self._proofs = proofs

    def tell(self, found: Sequence[ChangedConclusion], goals: Sequence[Watching] | None) -> None:
        """Print what one look has found; `goals` at the first one."""
        lines = [self._json(one) for one in found]
        if self._form == "json":
            watched = [
                {"query": one.query, "rows": one.rows, "row_by_row": not one.why, "reason": one.why}
                for one in goals or ()
            ]
            write(json.dumps({"watched": watched, "changes": lines}))
        else:
            for one, line in zip(found, lines, strict=True):
                sign = "+" if one.came else "-"
                write(f"{sign} {one.goal}  {one.verdict.label}  ({line['prove']})")
                if self._proofs:
                    print_result(self._session.prove(one.goal))
        sys.stdout.flush()
        if self._command is not None and lines:
            self._run(self._command, lines)

    def _json(self, one: ChangedConclusion) -> dict[str, object]:
        told: dict[str, object] = {
            "change": "+" if one.came else "-",
            "query": one.query,
            "goal": one.goal,
            "verdict": one.verdict.value,
            "prove": f"constat prove {shlex.quote(one.goal)}",
        }
        if self._proofs and self._form == "json":
            result = self._session.prove(one.goal)
            told["proof"] = {"verdict": result.verdict.value, "text": str(result)}
        return told

    @staticmethod
    def _run(command: list[str], lines: Sequence[dict[str, object]]) -> None:
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        try:
            ended = subprocess.run(  # noqa: S603  the command of whoever watches, without a shell
                command,
                input=text.encode(),
                timeout=_PATIENCE,
                check=False,
                stdout=subprocess.DEVNULL,
                env=os.environ,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            note(f"the command of --on-change failed: {type(problem).__name__}")
            return
        if ended.returncode:
            note(f"the command of --on-change ended with {ended.returncode}")
