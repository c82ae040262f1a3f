"""Goals, and what is asked about them: why, why not, what if, what is missing.

In: a desk and a goal. Out: text on stdout. Invariant: a goal is answered with the typed rules and
suppositions, and what rests on them says so. Example: `is_vip(C001)` prints a verdict and, in one
line each, on what it rests.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Final

from constat.cli.answer_text import Cells, ground_text, summary
from constat.cli.missing import print_missing
from constat.cli.output import PLAIN, note, write, write_heading
from constat.cli.progress import watching
from constat.cli.row_formats import Shown
from constat.cli.tables import Table
from constat.cli.verdict_text import print_result
from constat.cli.what_if import print_both
from constat.cli.why_not import print_why_not
from constat.diagnostics import ConstatError, Diagnostic
from constat.session.suppositions import Suppositions
from constat.session.what_if import WhatIf

if TYPE_CHECKING:
    from constat.cli.repl.desk import Desk
    from constat.session.answers import Answers
    from constat.session.result import Result

_SHOWN_ROWS: Final = 50
_DEPTH: Final = 1


def answer(desk: Desk, goal: str) -> None:
    """Prove a goal that is closed; find all answers of another."""
    bare = bare_goal(goal)
    notebook = desk.notebook
    if notebook.is_ground(bare):
        found = notebook.prove(bare)
        if isinstance(found, WhatIf):
            print_both(found, depth=_DEPTH, quiet=False)
        else:
            print_result(found, depth=_DEPTH)
            _tell_more(desk, found)
            desk.warn(notebook.converse(bare, found.verdict.value))
        return
    answers = notebook.query(bare)
    if isinstance(answers, WhatIf):
        print_both(answers, depth=None, quiet=True)
    else:
        _print_answers(desk, answers)


def bare_goal(text: str) -> str:
    """Give a goal without what may stand around it."""
    return text.strip().removeprefix("?-").strip().removesuffix("?").strip()


def _tell_more(desk: Desk, result: Result) -> None:
    if desk.interactive:
        more = (
            "/why shows the proof" if result.exit_code in {0, 3} else "/why-not shows the reasons"
        )
        note(f"{more}; /export writes it")


def _print_answers(desk: Desk, answers: Answers) -> None:
    if not answers.columns:
        write(ground_text(answers))
        return
    rows = answers.rows[:_SHOWN_ROWS]
    shown = Shown(answers, rows, answers.columns, confidence=False)
    left_out = len(answers.rows) - len(rows)
    if len(rows):
        cells = Cells(shown)
        table = Table(cells.names, cells.numbers, shutil.get_terminal_size().columns)
        table.fit(cells)
        write_heading(table.heading(), PLAIN)
        for row in cells:
            write(table.line(row))
        write("")
    for line in summary(shown, left_out):
        write(line)
    for one in rows:
        desk.saw(one.values)


def why(desk: Desk, goal: str) -> None:
    """Print the whole proof of a goal, or of the last one."""
    print_result(_proved(desk, goal))


def why_not(desk: Desk, goal: str) -> None:
    """Say why a goal, or the last one, does not hold."""
    wanted = goal or _last(desk).goal
    with watching() as observe:
        print_why_not(desk.session.why_not(wanted, observe=observe), 0)


def missing(desk: Desk, goal: str) -> None:
    """Find the facts that would prove a goal, or the last one."""
    wanted = goal or _last(desk).goal
    with watching() as observe:
        print_missing(desk.session.missing_facts(wanted, observe=observe))


def unresolved(desk: Desk, _: str) -> None:
    """List the goals that lack facts, with those facts."""
    found = desk.notebook.unresolved()
    if not (found.goals or found.untried):
        note("nothing that was asked lacks a fact")
    for goal, facts in found.goals:
        write(goal)
        for fact in facts:
            write(f"  missing: {fact}")
    if found.untried:
        allowed = f"{desk.session.project.limits.seconds:g} seconds"
        write(f"not tried again to the end within the limits of the project ({allowed}):")
        for goal in found.untried:
            write(f"  {goal}")


def what_if(desk: Desk, rest: str) -> None:
    """Suppose a fact, its absence or a value; without words list what is supposed."""
    notebook, supposed = desk.notebook, desk.notebook.supposed
    word, _, said = rest.partition(" ")
    said = said.strip()
    match word:
        case "":
            _list_suppositions(supposed)
            return
        case "add" if said:
            changed = Suppositions((*supposed.add, said), supposed.remove, supposed.settings)
        case "remove" if said:
            changed = Suppositions(supposed.add, (*supposed.remove, said), supposed.settings)
        case "set" if "=" in said:
            name, _, value = said.partition("=")
            others = tuple(one for one in supposed.settings if one[0] != name.strip())
            settings = (*others, (name.strip(), value.strip()))
            changed = Suppositions(supposed.add, supposed.remove, settings)
        case "nothing":
            changed = Suppositions()
        case _:
            hint = "/what-if add FACT   /what-if remove FACT   /what-if set NAME=VALUE"
            message = "a supposition is a fact that is there, one that is not, or a value"
            raise ConstatError([Diagnostic("C0921", message, help=hint)])
    notebook.check(changed)
    notebook.suppose(changed)
    _list_suppositions(changed)


def _list_suppositions(supposed: Suppositions) -> None:
    lines = [f"supposed: {one}" for one in supposed.add]
    lines += [f"supposed absent: {one}" for one in supposed.remove]
    lines += [f"supposed: {name} = {value}" for name, value in supposed.settings]
    write("\n".join(lines) or "nothing is supposed")


def _proved(desk: Desk, goal: str) -> Result:
    if not goal:
        return _last(desk)
    found = desk.notebook.prove(goal)
    return found.after if isinstance(found, WhatIf) else found


def _last(desk: Desk) -> Result:
    last = desk.notebook.last
    if last is None:
        message = "no goal has been proved yet"
        raise ConstatError([Diagnostic("C0921", message, help="type a goal first")])
    return last
