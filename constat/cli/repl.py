"""The REPL: goals, rules, questions and commands typed line by line.

In: lines, from a terminal or a pipe. Out: answers. Invariant: the library that draws on terminals
is loaded when there is a terminal. Example: `constat repl --project examples/vip`.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import shutil
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click
from prompt_toolkit import PromptSession
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.filters import has_completions
from prompt_toolkit.history import FileHistory, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from constat.cli.ask import print_answered
from constat.cli.completion import columns_by_name, typed_arguments, whole_atom
from constat.cli.confirmation import translation_lines
from constat.cli.exploration import (
    FORMS,
    SHOWN,
    allow_unconfined,
    displayed,
    plan_file,
    print_explored,
    unconfined_option,
)
from constat.cli.facts import beside, print_again
from constat.cli.groups import PlainCommand
from constat.cli.hypotheses import print_both, print_missing, print_why_not
from constat.cli.options import asked, project_option
from constat.cli.output import (
    PLAIN,
    complain,
    note,
    read_file,
    show_error,
    write,
    write_file,
    write_heading,
)
from constat.cli.progress import watching
from constat.cli.results import print_result
from constat.cli.row_formats import Shown
from constat.cli.solve import state_lines
from constat.cli.tables import Cells, Table, ground_text, summary
from constat.cli.tables import Table as Columns
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest, render
from constat.diagnostics.catalogue import catalogue
from constat.diagnostics.interruption import heard
from constat.frozen import frozen, slotted
from constat.logic import Kind as LogicKind
from constat.logic import display_value, null_words
from constat.proof.formats import FORMATS, format_named, write_format
from constat.session import Session
from constat.session.exploring import exchange_of
from constat.session.hypotheses import WhatIf
from constat.session.repl import (
    TYPED,
    Kind,
    Notebook,
    is_complete,
    kind_of,
    query_tables,
    refuse_fact,
)
from constat.session.suppositions import Suppositions
from constat.store.tables import DataStore
from constat.syntax import parse_stated, print_column, print_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from prompt_toolkit.document import Document
    from prompt_toolkit.formatted_text import StyleAndTextTuples
    from prompt_toolkit.history import History
    from prompt_toolkit.key_binding import KeyPressEvent

    from constat.explore.answered import Explored
    from constat.logic import Predicate
    from constat.session.answers import Answers
    from constat.session.result import Result
    from constat.store.explored import Exploration
    from constat.store.table_forms import Table as TablesFormatTable

# What the commands of the REPL work with.

MOST_SEEN = 5_000


@slotted
class ReplContext:
    """The notebook, who types, whether somebody is there; constants seen, and remarks made."""

    notebook: Notebook
    by: str
    interactive: bool = False
    done: bool = False
    seen: dict[str, None] = field(default_factory=dict)
    told: set[str] = field(default_factory=set)
    going: list[Answers] = field(default_factory=list)
    """Answers that were shown while their check went on."""

    @property
    def session(self) -> Session:
        """The session that answers."""
        return self.notebook.session

    def exploration(self, prefix: str = "") -> Exploration:
        """Give an exploration: the named one, the one in use, or the latest.

        Raises `ConstatError` where there is none.
        """
        history = self.notebook.base.history
        wanted = prefix or self.notebook.exploration
        found = [one for one in history if one.identity.startswith(wanted)]
        if prefix and len(found) != 1:
            message = "there is no such exploration" if not found else "several begin like this"
            raise ConstatError([Diagnostic("C0921", message, help="`/history` lists them")])
        if not found:
            message = "nothing has been explored yet"
            raise ConstatError([Diagnostic("C0921", message, help="/solve QUESTION")])
        return found[-1]

    def tables(self) -> DataStore:
        """Give the tables of the exploration in use."""
        project = self.notebook.base.project
        identity = self.exploration().identity
        return DataStore(project.state, identity, address=project.explore.store)

    def warn(self, remarks: Iterable[Diagnostic]) -> None:
        """Say what went wrong beside an answer, each thing once."""
        for one in remarks:
            if one.message not in self.told:
                self.told.add(one.message)
                note(one.message)

    def saw(self, values: object) -> None:
        """Remember constants, for completion."""
        for value in values if isinstance(values, list | tuple | set) else ():
            text = str(value)
            if text.isprintable() and 0 < len(text) <= 60 and len(self.seen) < MOST_SEEN:  # noqa: PLR2004  a word
                self.seen[text] = None


# What an entry of the REPL does: a goal, rules, a question, an exploration, or a command.

_LARGEST_FILE: Final = 1 << 20
_CERTIFICATE: Final = "certificate"
_SHOWN: Final = 200


def add_rules(context: ReplContext, text: str) -> None:
    """Suppose typed rules."""
    names = context.notebook.add_rules(text)
    if names:
        write(f"supposed: {counted(len(names), 'typed rule')} in all")
    else:
        write("declared; a rule for it can follow")


def rules(context: ReplContext, _: str) -> None:
    """List the typed rules."""
    write(context.notebook.text.rstrip("\n") or "no rule has been typed")


def undo(context: ReplContext, _: str) -> None:
    """Take the last change back."""
    what = context.notebook.undo()
    write(f"taken back: {what}" if what else "there is nothing to take back")


def forget(context: ReplContext, _: str) -> None:
    """Suppose nothing any more."""
    context.notebook.forget()
    write("nothing is supposed any more; /undo brings it back")


def facts(context: ReplContext, text: str) -> None:
    """List the stated facts; state one; or read them in a sentence."""
    if not text:
        stated = context.session.facts.list()
        for one in stated:
            write(f"{context.session.facts.show(one)}, stated by {one.author} at {one.added_at}")
        if not stated:
            note("no facts are stated")
    elif kind_of(text) is Kind.QUESTION:
        _tell(context, text)
    else:
        _state(context, text.removesuffix("."))


def _state(context: ReplContext, fact: str) -> None:
    base, draft = context.notebook.base, context.notebook.draft
    with beside(base, draft) as session:
        stored = session.facts.add(fact, author=context.by)
        shown = session.facts.show(stored)

    def undo() -> None:
        with beside(base, draft) as session:
            session.facts.retract(fact, by=context.by, author=context.by)

    context.notebook.undone_by(f"the fact {shown}", undo)
    write(f"added: {shown}, stated by {stored.author}")
    _try_again(context)


def _try_again(context: ReplContext) -> None:
    """Show what becomes of the last question by a fact that was stated for it."""
    result = context.notebook.again()
    if result is not None:
        print_again(result)


def _tell(context: ReplContext, text: str) -> None:
    with beside(context.notebook.base, context.notebook.draft) as session:
        told = session.provide_facts(text, author=context.by)
        for one in told.said:
            write(f"says: {one.fact}")
        for refused in told.refused:
            note(f"refused: {refused.atom or 'what the model gave'}: {refused.reason}")
        if told.model:
            note(f"found by {told.model}")
        if not told.said or not _confirmed(context):
            note("nothing was kept")
            return
        for stored in told.keep():
            write(f"added: {session.facts.show(stored)}, told by {stored.author}")
    _try_again(context)


def _confirmed(context: ReplContext) -> bool:
    """Ask whoever types; a script is nobody, and says it with `/facts FACT`."""
    return context.interactive and click.confirm("Keep this?", err=True)


def retract(context: ReplContext, fact: str) -> None:
    """Take a stated fact back."""
    if not fact:
        raise _lacking("which fact is taken back?", "/retract FACT")
    with beside(context.notebook.base, context.notebook.draft) as session:
        for stored in session.facts.retract(fact.removesuffix("."), by=context.by):
            write(f"retracted: {session.facts.show(stored)}, stated by {stored.author}")
    _try_again(context)


def predicates(context: ReplContext, word: str) -> None:
    """List the predicates with their columns, those with a word in their name or all."""
    known = context.session.program.program.predicates
    found = [one for name, one in sorted(known.items()) if word.lower() in name.lower()]
    for one in found[:_SHOWN]:
        write(print_signature(one))
    if not found:
        note("there is no such predicate")
    elif len(found) > _SHOWN:
        note(f"and {len(found) - _SHOWN} more; add a word of their names")


def export(context: ReplContext, rest: str) -> None:
    """Write the certificate of the last result into a file, or the proof in another format."""
    form, _, file = rest.partition(" ")
    file = file.strip()
    last = context.notebook.last
    names = ", ".join((_CERTIFICATE, *(one.name for one in FORMATS)))
    if last is None:
        raise _lacking("no goal has been proved yet", "type a goal first")
    if not file or form not in {_CERTIFICATE, *(one.name for one in FORMATS)}:
        raise _lacking(f"the formats are {names}", "/export certificate c001.json")
    certificate = last.certificate
    content = certificate if form == _CERTIFICATE else write_format(format_named(form), certificate)
    write_file(file, content)
    write(f"written to {file}: {last.goal}")


def save(context: ReplContext, file: str) -> None:
    """Write the typed rules into a file."""
    if not file or not context.notebook.rules:
        raise _lacking("no rule was typed, or no file was named", "/save FILE")
    write_file(file, context.notebook.text.encode())
    write(f"written to {file}; add it to `rules:` to make these rules the project's")


def load(context: ReplContext, file: str) -> None:
    """Suppose the rules of a file."""
    if not file:
        raise _lacking("which file?", "/load FILE")
    text = read_file(str(Path(file).expanduser()), _LARGEST_FILE).decode("utf-8", "replace")
    add_rules(context, text)


def is_fact(context: ReplContext, text: str) -> bool:
    """Tell whether a text is a fact of a predicate that is there."""
    try:
        parse_stated(text.strip().rstrip("."), context.session.program.program)
    except ConstatError:
        return False
    return True


def _lacking(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0921", message, help=hint)])


# A goal is answered with the typed rules and suppositions, and what rests on them says so.

_SHOWN_ROWS: Final = 50
_DEPTH: Final = 1


def answer(context: ReplContext, goal: str) -> None:
    """Prove a goal that is closed; find all answers of another."""
    bare = bare_goal(goal)
    notebook = context.notebook
    if notebook.is_ground(bare):
        found = notebook.prove(bare)
        if isinstance(found, WhatIf):
            print_both(found, depth=_DEPTH, quiet=False)
        else:
            print_result(found, depth=_DEPTH)
            _tell_more(context, found)
            context.warn(notebook.converse(bare, found.verdict.value))
        return
    answers = notebook.query(bare)
    if isinstance(answers, WhatIf):
        print_both(answers, depth=None, quiet=True)
    else:
        _print_answers(context, answers)


def tell_checks(context: ReplContext, seconds: float = 0.0) -> None:
    """Say what came of checks that went on; those that have not ended wait for the next time."""
    waiting, context.going = context.going, []
    for before in waiting:
        answers = before.checked(seconds)
        if answers.checking is not None:
            context.going.append(before)
            continue
        write(f"{answers.query}: {len(before):,} rows were shown")
        shown = Shown(answers, answers.rows, answers.columns, confidence=False)
        shown.given_before = True
        for line in summary(shown, 0):
            write(f"  {line}")


def bare_goal(text: str) -> str:
    """Give a goal without what may stand around it."""
    return text.strip().removeprefix("?-").strip().removesuffix("?").strip()


def _tell_more(context: ReplContext, result: Result) -> None:
    if context.interactive:
        more = (
            "/why shows the proof" if result.exit_code in {0, 3} else "/why-not shows the reasons"
        )
        note(f"{more}; /export writes it")


def _print_answers(context: ReplContext, answers: Answers) -> None:
    if answers.checking is not None and (not context.interactive or not answers.columns):
        answers = answers.checked()
    if answers.checking is not None:
        context.going.append(answers)
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
        context.saw(one.values)


def why(context: ReplContext, goal: str) -> None:
    """Print the whole proof of a goal, or of the last one."""
    print_result(_proved(context, goal))


def why_not(context: ReplContext, goal: str) -> None:
    """Say why a goal, or the last one, does not hold."""
    wanted = goal or _last(context).goal
    with watching() as observe:
        print_why_not(context.session.why_not(wanted, observe=observe), 0)


def missing(context: ReplContext, goal: str) -> None:
    """Find the facts that would prove a goal, or the last one."""
    wanted = goal or _last(context).goal
    with watching() as observe:
        search = context.session.missing_facts
        print_missing(search(wanted, observe=observe), partial(search, wanted, top=1))


def unresolved(context: ReplContext, _: str) -> None:
    """List the goals that lack facts, with those facts."""
    found = context.notebook.unresolved()
    if not (found.goals or found.untried):
        note("nothing that was asked lacks a fact")
    for goal, facts in found.goals:
        write(goal)
        for fact in facts:
            write(f"  missing: {fact}")
    if found.untried:
        allowed = f"{context.session.project.limits.seconds:g} seconds"
        write(f"not tried again to the end within the limits of the project ({allowed}):")
        for goal in found.untried:
            write(f"  {goal}")


def what_if(context: ReplContext, rest: str) -> None:
    """Suppose a fact, its absence or a value; without words list what is supposed."""
    notebook, supposed = context.notebook, context.notebook.supposed
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


def _proved(context: ReplContext, goal: str) -> Result:
    if not goal:
        return _last(context)
    found = context.notebook.prove(goal)
    return found.after if isinstance(found, WhatIf) else found


def _last(context: ReplContext) -> Result:
    last = context.notebook.last
    if last is None:
        message = "no goal has been proved yet"
        raise ConstatError([Diagnostic("C0921", message, help="type a goal first")])
    return last


# The exploration in use is the one that was asked, followed or resumed last.

_NUMBERS: Final = frozenset({"number", "unsigned", "float", "Decimal"})


def ask(context: ReplContext, question: str) -> None:
    """Answer a question in words, with a proof."""
    base = context.notebook.base
    if not base.project.models.named:
        message = "this is neither a goal nor a rule, and no model is there to read a question"
        note_ = "a goal is a predicate with constants or variables: is_vip(?c)"
        hint = "/predicates lists what can be asked; `models:` in constat.yaml names models"
        raise ConstatError([Diagnostic("C0921", message, note=note_, help=hint)])
    with watching() as observe:
        conversation = context.notebook.conversation
        wanted = _exploring_lacking(question)
        found = base.ask(wanted, by=context.by, observe=observe, conversation=conversation)
    if found.note and found.note not in context.told:
        context.told.add(found.note)
        note(found.note)
    context.notebook.answered(found)
    print_answered(found, depth=_DEPTH, quiet=False, told=False)


def confirm(context: ReplContext, _: str) -> None:
    """Keep that the last question was read as what it asks."""
    for line in translation_lines(context.notebook.confirm(context.by)):
        write(line)


def solve(context: ReplContext, question: str) -> None:
    """Explore a question by a plan of steps."""
    with displayed(FORMS[0]) as tell:
        explored = context.notebook.base.solve(
            _exploring_lacking(question), by=context.by, observe=tell
        )
    _show(context, explored)


def plan(context: ReplContext, file: str) -> None:
    """Explore by a plan that a person wrote; no model is asked."""
    written = plan_file(str(Path(_exploring_lacking(file)).expanduser())).plan()
    with displayed(FORMS[0]) as tell:
        explored = context.notebook.base.solve("", plan=written, by=context.by, observe=tell)
    _show(context, explored)


def follow(context: ReplContext, question: str) -> None:
    """Ask on, from the exploration in use."""
    wanted = _exploring_lacking(question)
    identity = context.exploration().identity
    with displayed(FORMS[0]) as tell:
        explored = context.notebook.base.follow_up(
            wanted, exploration=identity, by=context.by, observe=tell
        )
    _show(context, explored)


def resume(context: ReplContext, prefix: str) -> None:
    """Go on with an exploration; without an id with the one in use."""
    identity = context.exploration(prefix).identity
    with displayed(FORMS[0]) as tell:
        explored = context.notebook.base.resume(identity, observe=tell)
    _show(context, explored)


def _show(context: ReplContext, explored: Explored) -> None:
    if explored.replaying and explored.replaying not in context.told:
        context.told.add(explored.replaying)
        note(explored.replaying)
    notebook = context.notebook
    notebook.exploration = explored.exploration
    notebook.answer = explored
    values = notebook.base.project.authoring.facts
    context.warn(notebook.keep(exchange_of(explored, values=values)))
    print_explored(explored, SHOWN)


def history(context: ReplContext, _: str) -> None:
    """List the explorations of the project."""
    found = context.notebook.base.history
    for one in found:
        used = "*" if one.identity == context.notebook.exploration else " "
        questions = counted(len(one.questions), "question")
        write(f"{used} {one.identity}  {one.began[:19]}Z  {questions}: {one.title}")
    if not found:
        note("nothing has been explored yet")


def tables(context: ReplContext, _: str) -> None:
    """List the tables of the exploration in use."""
    found = context.tables().tables()
    for one in found:
        columns = ", ".join(f"{name}: {kind}" for name, kind in one.columns)
        write(f"{one.name}({columns})  step {one.step}, version {one.version}, {one.rows:,} rows")
    if not found:
        note("the exploration has no tables yet")


def query(context: ReplContext, text: str) -> None:
    """Run a SELECT over the tables of the exploration in use."""
    _print_table(context, query_tables(context.tables(), _exploring_lacking(text)))


def state(context: ReplContext, _: str) -> None:
    """Show what the exploration in use holds: questions, tables, variables, notes."""
    held = context.notebook.base.get_state(context.exploration().identity)
    write("\n".join(state_lines(held)))


def _print_table(context: ReplContext, table: TablesFormatTable) -> None:
    kinds = [LogicKind(kind) for kind in table.kinds]
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
    context.saw([cell for row in rows[:SHOWN] for cell in row])


def variables(context: ReplContext, _: str) -> None:
    """Show the state variables of the exploration in use."""
    found = context.tables().state()
    for name, value in found.items():
        write(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    if not found:
        note("the exploration has no state variables")


def _exploring_lacking(text: str) -> str:
    if text:
        return text
    message = "the command needs what it is about on the same line"
    raise ConstatError([Diagnostic("C0921", message, help="/help shows how commands are written")])


Run = Callable[["ReplContext", str], None]


@frozen
class Command:
    """A command: its name, what stands behind it, what it does, and whether goals fit there."""

    name: str
    operands: str
    purpose: str
    run: Run
    goals: bool = False


def enter(context: ReplContext, text: str) -> bool:
    """Do what an entry says; tells whether it was understood."""
    try:
        _enter(context, text)
    except ConstatError as problem:
        show_error(problem, _texts(context, text))
        return False
    except KeyboardInterrupt as problem:
        heard(problem)
        complain("interrupted")
        return False
    _remark(context)
    return True


def _remark(context: ReplContext) -> None:
    """Say what the session has to say besides, each thing once."""
    session = context.notebook.base
    lines = [*session.model_notes]
    if session.warnings:
        lines.append(render(session.warnings, {}, colour=False).rstrip("\n"))
    for line in lines:
        if line not in context.told:
            context.told.add(line)
            note(line)


def _enter(context: ReplContext, text: str) -> None:
    bare = text.strip()
    match kind_of(bare):
        case Kind.NOTHING:
            return
        case Kind.COMMAND:
            _command(context, bare[1:])
        case Kind.RULES if ":-" not in bare and is_fact(context, bare):
            raise refuse_fact(bare)
        case Kind.RULES:
            add_rules(context, bare)
        case Kind.GOAL:
            answer(context, bare)
        case Kind.QUESTION:
            ask(context, bare)


def _command(context: ReplContext, text: str) -> None:
    name, _, rest = text.partition(" ")
    known = {one.name: one for one in COMMANDS}
    found = known.get(name)
    if found is None:
        near = nearest(name, list(known))
        hint = f"write `/{near}`" if near else "/help lists them"
        shown = name[:40] if name.isprintable() else "..."
        raise ConstatError([Diagnostic("C0920", f"there is no command `/{shown}`", help=hint)])
    found.run(context, rest.strip())


def _texts(context: ReplContext, text: str) -> dict[str, str]:
    """Give the texts that diagnostics are about, by the names that they use."""
    bare = text.strip()
    operand = bare.partition(" ")[2].strip() if bare.startswith("/") else bare_goal(bare)
    supposed = operand.partition(" ")[2].strip()
    typed = {TYPED: f"{context.notebook.text}{bare}\n", "<goal>": operand, "<fact>": operand}
    places = {"<add 1>": supposed, "<remove 1>": supposed, "<set 1>": supposed}
    return {**context.notebook.base.texts, **typed, **places}


def _help(_: ReplContext, __: str) -> None:
    for what, purpose in _ENTRIES:
        write(f"{what:<30} {purpose}")
    for one in COMMANDS:
        write(f"{f'/{one.name} {one.operands}'.rstrip():<30} {one.purpose}")


_ENTRIES: Final = (
    ("GOAL", "prove it, or find all answers where it has variables: is_vip(?c)"),
    ("RULE.", "suppose a rule or declaration; it ends with a full stop"),
    ("any sentence", "ask a model of the project to read it as a goal"),
)


def _explain(_: ReplContext, code: str) -> None:
    entry = catalogue().get(code.upper())
    if entry is None:
        message = "there is no such code"
        raise ConstatError([Diagnostic("C0921", message, help="/explain C0203")])
    write(f"{entry.code}: {entry.title}\n\n{entry.explanation.strip()}")


def _quit(context: ReplContext, _: str) -> None:
    context.done = True


COMMANDS: Final = (
    Command(
        "why",
        "[GOAL]",
        "show the whole proof of a goal, or of the last one",
        why,
        goals=True,
    ),
    Command(
        "why-not",
        "[GOAL]",
        "say why it does not hold, and how far it is from it",
        why_not,
        goals=True,
    ),
    Command("missing", "[GOAL]", "find the facts that would prove it", missing, goals=True),
    Command(
        "what-if",
        "[add|remove|set ...]",
        "suppose a fact or a value; list what is supposed",
        what_if,
    ),
    Command("unresolved", "", "list the goals that lack facts, with those facts", unresolved),
    Command("ask", "QUESTION", "answer a question in words, with a proof", ask),
    Command("confirm", "", "keep that the goal is what the last question asks", confirm),
    Command("solve", "QUESTION", "explore a question by a plan of steps", solve),
    Command("plan", "FILE", "explore by a plan in a file; no model is asked", plan),
    Command("follow", "QUESTION", "ask on, from the exploration in use", follow),
    Command("history", "", "list the explorations", history),
    Command("resume", "[ID]", "go on with an exploration", resume),
    Command("tables", "", "list the tables of the exploration in use", tables),
    Command("query", "SELECT", "run a SELECT over those tables", query),
    Command("state", "", "show what the exploration holds", state),
    Command("variables", "", "show its state variables", variables),
    Command(
        "facts",
        "[FACT or TEXT]",
        "list stated facts; state one; read them in a sentence",
        facts,
        goals=True,
    ),
    Command("retract", "FACT", "take a stated fact back", retract, goals=True),
    Command("predicates", "[WORD]", "list predicates with their columns", predicates),
    Command("rules", "", "list the typed rules", rules),
    Command("load", "FILE", "suppose the rules of a file", load),
    Command("save", "FILE", "write the typed rules into a file", save),
    Command("export", "FORMAT FILE", "write the last proof", export),
    Command("undo", "", "take the last change back", undo),
    Command("forget", "", "suppose nothing any more", forget),
    Command("explain", "CODE", "explain a code such as C0203", _explain),
    Command("help", "", "show this list", _help),
    Command("quit", "", "leave", _quit),
)
"""What can be typed behind `/`."""


_WORD: Final = re.compile(r"[\w.:-]*\Z")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\Z")
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][\w.:-]*\Z")
_TEXTS: Final = re.compile(r'"([^"\\\n]{1,60})"')
_MOST: Final = 200


@frozen
class Offer:
    """A text that takes the place of so many characters before the cursor; `about` explains it."""

    text: str
    replaced: int
    about: str = ""


def offers(context: ReplContext, before: str) -> list[Offer]:
    """Give what fits, the likeliest first."""
    bare = before.lstrip()
    if bare.startswith("/"):
        found = _behind_command(context, bare)
    elif kind_of(before) is Kind.RULES or _CALLED.search(before) or " " not in bare:
        found = _in_goal(context, before)
    else:
        start = before[: len(before) - len(_last_word(before))].rstrip()
        found = _in_goal(context, before) if start.endswith((",", "!", "?-")) else iter(())
    return [one for _, one in zip(range(_MOST), found, strict=False)]


def _behind_command(context: ReplContext, text: str) -> Iterator[Offer]:
    name, space, rest = text[1:].partition(" ")
    if not space:
        for one in COMMANDS:
            if one.name.startswith(name):
                yield Offer(f"/{one.name}", len(name) + 1, one.purpose)
        return
    found = next((one for one in COMMANDS if one.name == name), None)
    word = _last_word(rest)
    if found is None:
        return
    if found.goals or (name == "what-if" and " " in rest):
        yield from _in_goal(context, rest)
    elif name == "query":
        yield from _matching(word, _tables(context))
    else:
        yield from _matching(word, _operands(context, name))


def _operands(context: ReplContext, name: str) -> Iterable[tuple[str, str]]:
    match name:
        case "what-if":
            return [("add", "a fact"), ("remove", "a fact"), ("set", "a value"), ("nothing", "")]
        case "export":
            return [("certificate", "JSON"), *((one.name, one.purpose) for one in FORMATS)]
        case "explain":
            return [(code, entry.title) for code, entry in catalogue().items()]
        case "resume":
            with suppress(ConstatError):
                history = context.notebook.base.history
                return [(one.identity, one.title) for one in reversed(history)]
            return ()
        case "predicates":
            return [(one, "") for one in context.session.program.program.predicates]
        case _:
            return ()


def _tables(context: ReplContext) -> Iterator[tuple[str, str]]:
    """Give the tables of the exploration in use, and their columns."""
    with suppress(ConstatError):
        found = context.tables().tables()
        for one in found:
            yield one.name, f"{one.rows:,} rows"
        for one in found:
            for column, kind in one.columns:
                plain = column if column.isidentifier() else f'"{column}"'
                yield plain, f"{kind}, column of {one.name}"
    yield from ((word, "") for word in ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY"))


def _in_goal(context: ReplContext, before: str) -> Iterator[Offer]:
    """Offer atoms, or what fits as the next operand of one."""
    opened = typed_arguments(before)
    predicates = context.session.program.program.predicates
    if opened is None:
        word = _last_word(before)
        for name, predicate in sorted(predicates.items()):
            if name.startswith(word) and "." not in name:
                text = whole_atom(name, [one.name for one in predicate.columns])
                yield Offer(text, len(word), _about(predicate.columns))
        return
    called, written = _NAME.search(before[: opened[0]].rstrip()), opened[1]
    known = predicates.get(called[0]) if called else None
    place = len(written) - 1
    if known is None or not 0 <= place < len(known.columns):
        return
    typed = written[-1].lstrip()
    names = columns_by_name([one.name for one in known.columns], written)
    if names is not None:
        yield from _by_name(context, known, names, typed)
        return
    column = known.columns[place]
    end = ")" if place == len(known.columns) - 1 else ", "
    for text in (f"?{column.name}", *constants(context)):
        if text.startswith(typed):
            yield Offer(text + end, len(typed), print_column(column, null_words(known)[place]))


def _by_name(
    context: ReplContext, known: Predicate, names: list[str], typed: str
) -> Iterator[Offer]:
    """Offer columns by name, or the value of the one that is being written."""
    name, sign, value = typed.partition("=")
    if not sign:
        for column, word in zip(known.columns, null_words(known), strict=True):
            if column.name in names:
                about = print_column(column, word)
                yield Offer(f"{column.name} = ?{column.name}", len(typed), about)
        return
    value = value.lstrip()
    for text in (f"?{name.strip()}", *constants(context)):
        if text.startswith(value):
            yield Offer(text, len(value), name.strip())


def _about(columns: Iterable[object]) -> str:
    return ", ".join(
        f"{getattr(one, 'name', '')}: {getattr(one, 'type_name', '')}" for one in columns
    )


def constants(context: ReplContext) -> Iterator[str]:
    """Give the constants that were seen, configured, or written in rules, as goals spell them."""
    found: dict[str, None] = dict(context.seen)
    project = context.notebook.base.project
    for table in project.facts.values():
        for row in table.rows[:_MOST]:
            found |= dict.fromkeys(cell.text for cell in row.cells if cell.text)
    for text in context.session.texts.values():
        found |= dict.fromkeys(_TEXTS.findall(text))
    for one in found:
        if one.isprintable():
            quoted = one.replace("\\", "\\\\").replace('"', '\\"')
            yield one if _PLAIN.match(one) else f'"{quoted}"'


def _matching(word: str, known: Iterable[tuple[str, str]]) -> Iterator[Offer]:
    for text, about in known:
        if text.lower().startswith(word.lower()):
            shown = about if about.isprintable() else ""
            yield Offer(text, len(word), shown[:80])


def _last_word(text: str) -> str:
    found = _WORD.search(text)
    return found[0] if found else ""


HISTORY: Final = "repl-history"
_PROMPT: Final = "constat> "
_MORE: Final = "     ... "
_TOKENS: Final = re.compile(
    r'(?P<command>^[/:][a-z][\w-]*|^/)|(?P<comment>//.*)|(?P<string>"(?:[^"\\]|\\.)*"?)'
    r"|(?P<variable>\?\w+|\b_\b)|(?P<number>(?<!\w)-?\d+(?:\.\d+)?\b)"
    r"|(?P<declaration>\.(?:decl|type)\b)|(?P<constructor>\$\w+|\bnil\b)|(?P<predicate>[A-Za-z_]\w*(?=\s*\())|(?P<operator>:-|!=|<=|>=|[<>=!])"
)
_STYLE: Final = Style.from_dict(
    {
        "command": "bold",
        "comment": "ansibrightblack",
        "string": "ansigreen",
        "variable": "ansicyan",
        "number": "ansigreen",
        "declaration": "bold",
        "constructor": "ansigreen",
        "predicate": "ansiblue",
        "unknown": "ansired",
        "operator": "bold",
    }
)


def loop(context: ReplContext, *, keep_history: bool) -> None:
    """Ask for entries until somebody leaves."""
    name = context.notebook.base.project.name
    note(f"constat on {name}; /help lists what can be typed, Ctrl-D leaves")
    prompt: PromptSession[str] = PromptSession(
        history=_history(context.notebook.base.project.state)
        if keep_history
        else InMemoryHistory(),
        completer=_Offering(context),
        complete_while_typing=False,
        lexer=_Colours(context),
        style=_STYLE,
        key_bindings=_keys(),
        multiline=True,
        prompt_continuation=lambda width, number, soft: _MORE,  # noqa: ARG005  their protocol
        enable_history_search=True,
    )
    while not context.done:
        tell_checks(context)
        try:
            text = prompt.prompt(_PROMPT)
        except KeyboardInterrupt as problem:
            heard(problem)
            continue
        except EOFError:
            return
        _entered(context, text)


def _entered(context: ReplContext, text: str) -> None:
    try:
        enter(context, text)
    except Exception as problem:
        # The outermost boundary of an entry: typed rules and suppositions, which are kept nowhere,
        # outlive a mistake of ours. It is said, and CONSTAT_DEBUG shows all of it.
        if os.environ.get("CONSTAT_DEBUG"):
            raise
        kind = type(problem).__name__
        complain(
            f"internal error ({kind}); this is a mistake in Constat, CONSTAT_DEBUG=1 shows where"
        )


def _history(state: Path) -> History:
    """Keep what is typed in the project's state folder, where that can be written."""
    path = state / HISTORY
    try:
        state.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
    except OSError:
        return InMemoryHistory()
    return FileHistory(path)


def _keys() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter", filter=~has_completions)
    def take(event: KeyPressEvent) -> None:
        """Take the entry when it is whole."""
        buffer = event.current_buffer
        if is_complete(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @keys.add("enter", filter=has_completions)
    def choose(event: KeyPressEvent) -> None:
        """Take the offer that is chosen, and go on typing."""
        event.current_buffer.complete_state = None

    return keys


class _Offering(Completer):
    """Completes from the words of the context."""

    def __init__(self, context: ReplContext) -> None:
        self._context = context

    def get_completions(
        self,
        document: Document,
        complete_event: CompleteEvent,  # noqa: ARG002  their protocol
    ) -> Iterable[Completion]:
        """Give what fits before the cursor."""
        for one in offers(self._context, document.text_before_cursor):
            yield Completion(one.text, start_position=-one.replaced, display_meta=one.about)


class _Colours(Lexer):
    """Colours goals and rules; a predicate that is not there is red."""

    def __init__(self, context: ReplContext) -> None:
        self._context = context

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """Give what colours a line."""
        known = frozenset(self._context.session.program.program.predicates)
        lines = document.lines

        def line(number: int) -> StyleAndTextTuples:
            return coloured(lines[number], known) if number < len(lines) else []

        return line


def coloured(text: str, known: frozenset[str]) -> StyleAndTextTuples:
    """Cut a line into pieces, each with its style."""
    pieces: StyleAndTextTuples = []
    place = 0
    for found in _TOKENS.finditer(text):
        if found.start() > place:
            pieces.append(("", text[place : found.start()]))
        kind = found.lastgroup or ""
        if kind == "predicate" and found[0] not in known:
            kind = "unknown"
        if kind == "command" and found[0][1:] not in {one.name for one in COMMANDS}:
            kind = "unknown"
        pieces.append((f"class:{kind}", found[0]))
        place = found.end()
    pieces.append(("", text[place:]))
    return pieces


# With a terminal there is a prompt with history, completion and colours. Without one entries are
# read from stdin, as from a script, and the exit code tells whether all were understood.

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
        context = ReplContext(notebook, by, interactive=terminal)
        if terminal:
            # Loaded on first use: only a terminal needs what draws on it.

            loop(context, keep_history=not forgetful)
            tell_checks(context)
            for one in context.going:
                note(f"{one.query}: the check is stopped; its rows are computed, not checked")
            return 0
        return _run(context, entries(sys.stdin))


def _run(context: ReplContext, texts: Iterable[str]) -> int:
    code = 0
    for text in texts:
        if not enter(context, text):
            code = _FAILED
        if context.done:
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
