"""Questions in words, and explorations: their tables, variables and history.

In: a desk and the rest of a command. Out: text on stdout. Invariant: the exploration in use is the
one that was asked, followed or resumed last. Example: `/query SELECT * FROM sales`.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.cli.ask_text import print_answered
from constat.cli.confirming_options import translation_lines
from constat.cli.history import state_lines
from constat.cli.output import PLAIN, counted, note, write, write_heading
from constat.cli.progress import watching
from constat.cli.solve_display import FORMS, displayed
from constat.cli.solve_options import plan_file
from constat.cli.solve_text import SHOWN, print_explored
from constat.cli.tables import Table as Columns
from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import Kind, display_value
from constat.session.exploring_exchanges import exchange_of
from constat.session.repl_tables import query_tables

if TYPE_CHECKING:
    from constat.cli.repl.desk import Desk
    from constat.explore.answered import Explored
    from constat.store.tables_format import Table

_DEPTH: Final = 1
_NUMBERS: Final = frozenset({"number", "unsigned", "float", "Decimal"})


def ask(desk: Desk, question: str) -> None:
    """Answer a question in words, with a proof."""
    base = desk.notebook.base
    if not base.project.models.named:
        message = "this is neither a goal nor a rule, and no model is there to read a question"
        note_ = "a goal is a predicate with constants or variables: is_vip(?c)"
        hint = "/predicates lists what can be asked; `models:` in constat.yaml names models"
        raise ConstatError([Diagnostic("C0921", message, note=note_, help=hint)])
    with watching() as observe:
        conversation = desk.notebook.conversation
        wanted = _lacking(question)
        found = base.ask(wanted, by=desk.by, observe=observe, conversation=conversation)
    if found.note and found.note not in desk.told:
        desk.told.add(found.note)
        note(found.note)
    desk.notebook.answered(found)
    print_answered(found, depth=_DEPTH, quiet=False, told=False)


def confirm(desk: Desk, _: str) -> None:
    """Keep that the last question was read as what it asks."""
    for line in translation_lines(desk.notebook.confirm(desk.by)):
        write(line)


def solve(desk: Desk, question: str) -> None:
    """Explore a question by a plan of steps."""
    with displayed(FORMS[0]) as tell:
        explored = desk.notebook.base.solve(_lacking(question), by=desk.by, observe=tell)
    _show(desk, explored)


def plan(desk: Desk, file: str) -> None:
    """Explore by a plan that a person wrote; no model is asked."""
    written = plan_file(str(Path(_lacking(file)).expanduser())).plan()
    with displayed(FORMS[0]) as tell:
        explored = desk.notebook.base.solve("", plan=written, by=desk.by, observe=tell)
    _show(desk, explored)


def follow(desk: Desk, question: str) -> None:
    """Ask on, from the exploration in use."""
    wanted = _lacking(question)
    identity = desk.exploration().identity
    with displayed(FORMS[0]) as tell:
        explored = desk.notebook.base.follow_up(
            wanted, exploration=identity, by=desk.by, observe=tell
        )
    _show(desk, explored)


def resume(desk: Desk, prefix: str) -> None:
    """Go on with an exploration; without an id with the one in use."""
    identity = desk.exploration(prefix).identity
    with displayed(FORMS[0]) as tell:
        explored = desk.notebook.base.resume(identity, observe=tell)
    _show(desk, explored)


def _show(desk: Desk, explored: Explored) -> None:
    if explored.replaying and explored.replaying not in desk.told:
        desk.told.add(explored.replaying)
        note(explored.replaying)
    notebook = desk.notebook
    notebook.exploration = explored.exploration
    notebook.answer = explored
    values = notebook.base.project.authoring.facts
    desk.warn(notebook.keep(exchange_of(explored, values=values)))
    print_explored(explored, SHOWN)


def history(desk: Desk, _: str) -> None:
    """List the explorations of the project."""
    found = desk.notebook.base.history
    for one in found:
        used = "*" if one.identity == desk.notebook.exploration else " "
        questions = counted(len(one.questions), "question")
        write(f"{used} {one.identity}  {one.began[:19]}Z  {questions}: {one.title}")
    if not found:
        note("nothing has been explored yet")


def tables(desk: Desk, _: str) -> None:
    """List the tables of the exploration in use."""
    found = desk.tables().tables()
    for one in found:
        columns = ", ".join(f"{name}: {kind}" for name, kind in one.columns)
        write(f"{one.name}({columns})  step {one.step}, version {one.version}, {one.rows:,} rows")
    if not found:
        note("the exploration has no tables yet")


def query(desk: Desk, text: str) -> None:
    """Run a SELECT over the tables of the exploration in use."""
    _print_table(desk, query_tables(desk.tables(), _lacking(text)))


def state(desk: Desk, _: str) -> None:
    """Show what the exploration in use holds: questions, tables, variables, notes."""
    held = desk.notebook.base.get_state(desk.exploration().identity)
    write("\n".join(state_lines(held)))


def _print_table(desk: Desk, table: Table) -> None:
    kinds = [Kind(kind) for kind in table.kinds]
    rows = [
        ["" if v is None else display_value(v, k) for v, k in zip(row, kinds, strict=True)]
        for row in table.iterate()
    ]
    columns = Columns(
        table.names,
        [kind in _NUMBERS for kind in table.kinds],
        shutil.get_terminal_size().columns,
    )
    columns.fit(rows)
    write_heading(columns.heading(), PLAIN)
    for row in rows[:SHOWN]:
        write(columns.line(row))
    left_out = f", {table.rows - SHOWN:,} of them not shown" if table.rows > SHOWN else ""
    note(f"{counted(table.rows, 'row')}{left_out}")
    desk.saw([cell for row in rows[:SHOWN] for cell in row])


def variables(desk: Desk, _: str) -> None:
    """Show the state variables of the exploration in use."""
    found = desk.tables().state()
    for name, value in found.items():
        write(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    if not found:
        note("the exploration has no state variables")


def _lacking(text: str) -> str:
    if text:
        return text
    message = "the command needs what it is about on the same line"
    raise ConstatError([Diagnostic("C0921", message, help="/help shows how commands are written")])
