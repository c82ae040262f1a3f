"""`constat repl`: goals, rules, questions and commands, one after another.

With a terminal there is a prompt with history, completion and colours. Without one entries are read
from stdin, as from a script, and the exit code tells whether all were understood.
"""

from __future__ import annotations

import getpass
import sys
from typing import TYPE_CHECKING

import click

from constat.cli.exploration import allow_unconfined, unconfined_option
from constat.cli.groups import PlainCommand
from constat.cli.options import asked, project_option
from constat.cli.repl.commands import enter
from constat.cli.repl.desk import Desk
from constat.session import Session
from constat.session.repl import Notebook, is_complete

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FAILED = 2


@click.command(name="repl", cls=PlainCommand)
@click.option(
    "--by", metavar="NAME", help="Who states facts and asks; by default who is logged in."
)
@click.option("--no-history", "forgetful", is_flag=True, help="Keep nothing of what is typed.")
@unconfined_option
@project_option
def command(*, by: str | None, forgetful: bool, project: str | None) -> int:
    """Type goals, rules and questions, and look at what came of them.

    A goal with constants is proved, one with variables is answered in full. A rule or declaration,
    which ends with a full stop, is supposed from then on. A sentence is a question for the models
    of the project. What begins with `/` is a command; /help lists them.

    Without a terminal the entries are read from stdin, one per line; a rule ends where its full
    stop does.

    Examples:
      echo "is_vip(C001)" | constat repl
      echo "/predicates vip" | constat repl

    Exit codes: 0 done, 2 bad usage or configuration, or stdin held what was not understood.
    """
    with Session(project) as session:
        # Mistakes of the project are told before anything is typed.
        with asked(session):
            _ = session.program
        allow_unconfined(session)
        return _served(session, by or _somebody(), forgetful=forgetful)


def _served(session: Session, by: str, *, forgetful: bool) -> int:
    with Notebook(session) as notebook:
        terminal = sys.stdin.isatty() and sys.stdout.isatty()
        desk = Desk(notebook, by, interactive=terminal)
        if terminal:
            # Loaded on first use: only a terminal needs what draws on it.
            from constat.cli.repl.prompt import loop  # noqa: PLC0415  loaded when it is used

            loop(desk, keep_history=not forgetful)
            return 0
        return _run(desk, entries(sys.stdin))


def _run(desk: Desk, texts: Iterable[str]) -> int:
    code = 0
    for text in texts:
        if not enter(desk, text):
            code = _FAILED
        if desk.done:
            break
    return code


def entries(lines: Iterable[str]) -> Iterator[str]:
    """Put lines together to entries: a line is one, unless it has to go on."""
    waiting = ""
    for line in lines:
        waiting += line
        if is_complete(waiting):
            yield waiting
            waiting = ""
    if waiting.strip():
        yield waiting


def _somebody() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # An account without a name, as containers have them.
        return "somebody"
