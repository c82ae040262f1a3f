"""What an entry of the REPL does: a goal, rules, a question, an exploration, or a command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.ask import print_answered
from constat.cli.confirmation import translation_lines
from constat.cli.exploration import FORMS, SHOWN, displayed, plan_file, print_explored
from constat.cli.facts import beside, print_again
from constat.cli.files import read_file, write_file
from constat.cli.history import state_lines
from constat.cli.hypotheses import print_both, print_missing, print_why_not
from constat.cli.output import PLAIN, complain, note, show_error, write, write_heading
from constat.cli.progress import watching
from constat.cli.results import print_result
from constat.cli.row_formats import Shown
from constat.cli.tables import Cells, Table, ground_text, summary
from constat.cli.tables import Table as Columns
from constat.diagnostics import ConstatError, Diagnostic, counted, nearest, render
from constat.diagnostics.catalogue import catalogue
from constat.diagnostics.interruption import heard
from constat.frozen import frozen
from constat.logic import Kind as LogicKind
from constat.logic import display_value
from constat.proof.formats import FORMATS, format_named, write_format
from constat.session.exploring import exchange_of
from constat.session.hypotheses import WhatIf
from constat.session.repl import TYPED, Kind, kind_of, query_tables, refuse_fact
from constat.session.suppositions import Suppositions
from constat.syntax import parse_stated, print_signature

if TYPE_CHECKING:
    from constat.cli.repl.desk import Desk
    from constat.explore.answered import Explored
    from constat.session.answers import Answers
    from constat.session.result import Result
    from constat.store.table_forms import Table as TablesFormatTable

_LARGEST_FILE: Final = 1 << 20
_CERTIFICATE: Final = "certificate"
_SHOWN: Final = 200


def add_rules(desk: Desk, text: str) -> None:
    """Suppose typed rules."""
    names = desk.notebook.add_rules(text)
    if names:
        write(f"supposed: {counted(len(names), 'typed rule')} in all")
    else:
        write("declared; a rule for it can follow")


def rules(desk: Desk, _: str) -> None:
    """List the typed rules."""
    write(desk.notebook.text.rstrip("\n") or "no rule has been typed")


def undo(desk: Desk, _: str) -> None:
    """Take the last change back."""
    what = desk.notebook.undo()
    write(f"taken back: {what}" if what else "there is nothing to take back")


def forget(desk: Desk, _: str) -> None:
    """Suppose nothing any more."""
    desk.notebook.forget()
    write("nothing is supposed any more; /undo brings it back")


def facts(desk: Desk, text: str) -> None:
    """List the stated facts; state one; or read them in a sentence."""
    if not text:
        stated = desk.session.facts.list()
        for one in stated:
            write(f"{desk.session.facts.show(one)}, stated by {one.author} at {one.added_at}")
        if not stated:
            note("no facts are stated")
    elif kind_of(text) is Kind.QUESTION:
        _tell(desk, text)
    else:
        _state(desk, text.removesuffix("."))


def _state(desk: Desk, fact: str) -> None:
    base, draft = desk.notebook.base, desk.notebook.draft
    with beside(base, draft) as session:
        stored = session.facts.add(fact, author=desk.by)
        shown = session.facts.show(stored)

    def undo() -> None:
        with beside(base, draft) as session:
            session.facts.retract(fact, by=desk.by, author=desk.by)

    desk.notebook.undone_by(f"the fact {shown}", undo)
    write(f"added: {shown}, stated by {stored.author}")
    _try_again(desk)


def _try_again(desk: Desk) -> None:
    """Show what becomes of the last question by a fact that was stated for it."""
    result = desk.notebook.again()
    if result is not None:
        print_again(result)


def _tell(desk: Desk, text: str) -> None:
    with beside(desk.notebook.base, desk.notebook.draft) as session:
        told = session.provide_facts(text, author=desk.by)
        for one in told.said:
            write(f"says: {one.fact}")
        for refused in told.refused:
            note(f"refused: {refused.atom or 'what the model gave'}: {refused.reason}")
        if told.model:
            note(f"found by {told.model}")
        if not told.said or not _confirmed(desk):
            note("nothing was kept")
            return
        for stored in told.keep():
            write(f"added: {session.facts.show(stored)}, told by {stored.author}")
    _try_again(desk)


def _confirmed(desk: Desk) -> bool:
    """Ask whoever types; a script is nobody, and says it with `/facts FACT`."""
    return desk.interactive and click.confirm("Keep this?", err=True)


def retract(desk: Desk, fact: str) -> None:
    """Take a stated fact back."""
    if not fact:
        raise _lacking("which fact is taken back?", "/retract FACT")
    with beside(desk.notebook.base, desk.notebook.draft) as session:
        for stored in session.facts.retract(fact.removesuffix("."), by=desk.by):
            write(f"retracted: {session.facts.show(stored)}, stated by {stored.author}")
    _try_again(desk)


def predicates(desk: Desk, word: str) -> None:
    """List the predicates with their columns, those with a word in their name or all."""
    known = desk.session.program.program.predicates
    found = [one for name, one in sorted(known.items()) if word.lower() in name.lower()]
    for one in found[:_SHOWN]:
        write(print_signature(one))
    if not found:
        note("there is no such predicate")
    elif len(found) > _SHOWN:
        note(f"and {len(found) - _SHOWN} more; add a word of their names")


def export(desk: Desk, rest: str) -> None:
    """Write the certificate of the last result into a file, or the proof in another format."""
    form, _, file = rest.partition(" ")
    file = file.strip()
    last = desk.notebook.last
    names = ", ".join((_CERTIFICATE, *(one.name for one in FORMATS)))
    if last is None:
        raise _lacking("no goal has been proved yet", "type a goal first")
    if not file or form not in {_CERTIFICATE, *(one.name for one in FORMATS)}:
        raise _lacking(f"the formats are {names}", "/export certificate c001.json")
    certificate = last.certificate
    content = certificate if form == _CERTIFICATE else write_format(format_named(form), certificate)
    write_file(file, content)
    write(f"written to {file}: {last.goal}")


def save(desk: Desk, file: str) -> None:
    """Write the typed rules into a file."""
    if not file or not desk.notebook.rules:
        raise _lacking("no rule was typed, or no file was named", "/save FILE")
    write_file(file, desk.notebook.text.encode())
    write(f"written to {file}; add it to `rules:` to make these rules the project's")


def load(desk: Desk, file: str) -> None:
    """Suppose the rules of a file."""
    if not file:
        raise _lacking("which file?", "/load FILE")
    text = read_file(str(Path(file).expanduser()), _LARGEST_FILE).decode("utf-8", "replace")
    add_rules(desk, text)


def is_fact(desk: Desk, text: str) -> bool:
    """Tell whether a text is a fact of a predicate that is there."""
    try:
        parse_stated(text.strip().rstrip("."), desk.session.program.program)
    except ConstatError:
        return False
    return True


def _lacking(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0921", message, help=hint)])


# A goal is answered with the typed rules and suppositions, and what rests on them says so.

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


def tell_checks(desk: Desk, seconds: float = 0.0) -> None:
    """Say what came of checks that went on; those that have not ended wait for the next time."""
    waiting, desk.going = desk.going, []
    for before in waiting:
        answers = before.checked(seconds)
        if answers.checking is not None:
            desk.going.append(before)
            continue
        write(f"{answers.query}: {len(before):,} rows were shown")
        shown = Shown(answers, answers.rows, answers.columns, confidence=False)
        shown.given_before = True
        for line in summary(shown, 0):
            write(f"  {line}")


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
    if answers.checking is not None and (not desk.interactive or not answers.columns):
        answers = answers.checked()
    if answers.checking is not None:
        desk.going.append(answers)
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


# The exploration in use is the one that was asked, followed or resumed last.

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
        wanted = _exploring_lacking(question)
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
        explored = desk.notebook.base.solve(_exploring_lacking(question), by=desk.by, observe=tell)
    _show(desk, explored)


def plan(desk: Desk, file: str) -> None:
    """Explore by a plan that a person wrote; no model is asked."""
    written = plan_file(str(Path(_exploring_lacking(file)).expanduser())).plan()
    with displayed(FORMS[0]) as tell:
        explored = desk.notebook.base.solve("", plan=written, by=desk.by, observe=tell)
    _show(desk, explored)


def follow(desk: Desk, question: str) -> None:
    """Ask on, from the exploration in use."""
    wanted = _exploring_lacking(question)
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
    _print_table(desk, query_tables(desk.tables(), _exploring_lacking(text)))


def state(desk: Desk, _: str) -> None:
    """Show what the exploration in use holds: questions, tables, variables, notes."""
    held = desk.notebook.base.get_state(desk.exploration().identity)
    write("\n".join(state_lines(held)))


def _print_table(desk: Desk, table: TablesFormatTable) -> None:
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
    desk.saw([cell for row in rows[:SHOWN] for cell in row])


def variables(desk: Desk, _: str) -> None:
    """Show the state variables of the exploration in use."""
    found = desk.tables().state()
    for name, value in found.items():
        write(f"{name} = {json.dumps(value, ensure_ascii=False)}")
    if not found:
        note("the exploration has no state variables")


def _exploring_lacking(text: str) -> str:
    if text:
        return text
    message = "the command needs what it is about on the same line"
    raise ConstatError([Diagnostic("C0921", message, help="/help shows how commands are written")])


Run = Callable[["Desk", str], None]


@frozen
class Command:
    """A command: its name, what stands behind it, what it does, and whether goals fit there."""

    name: str
    operands: str
    purpose: str
    run: Run
    goals: bool = False


def enter(desk: Desk, text: str) -> bool:
    """Do what an entry says; tells whether it was understood."""
    try:
        _enter(desk, text)
    except ConstatError as problem:
        show_error(problem, _texts(desk, text))
        return False
    except KeyboardInterrupt as problem:
        heard(problem)
        complain("interrupted")
        return False
    _remark(desk)
    return True


def _remark(desk: Desk) -> None:
    """Say what the session has to say besides, each thing once."""
    session = desk.notebook.base
    lines = [*session.model_notes]
    if session.warnings:
        lines.append(render(session.warnings, {}, colour=False).rstrip("\n"))
    for line in lines:
        if line not in desk.told:
            desk.told.add(line)
            note(line)


def _enter(desk: Desk, text: str) -> None:
    bare = text.strip()
    match kind_of(bare):
        case Kind.NOTHING:
            return
        case Kind.COMMAND:
            _command(desk, bare[1:])
        case Kind.RULES if ":-" not in bare and is_fact(desk, bare):
            raise refuse_fact(bare)
        case Kind.RULES:
            add_rules(desk, bare)
        case Kind.GOAL:
            answer(desk, bare)
        case Kind.QUESTION:
            ask(desk, bare)


def _command(desk: Desk, text: str) -> None:
    name, _, rest = text.partition(" ")
    known = {one.name: one for one in COMMANDS}
    found = known.get(name)
    if found is None:
        near = nearest(name, list(known))
        hint = f"write `/{near}`" if near else "/help lists them"
        shown = name[:40] if name.isprintable() else "..."
        raise ConstatError([Diagnostic("C0920", f"there is no command `/{shown}`", help=hint)])
    found.run(desk, rest.strip())


def _texts(desk: Desk, text: str) -> dict[str, str]:
    """Give the texts that diagnostics are about, by the names that they use."""
    bare = text.strip()
    operand = bare.partition(" ")[2].strip() if bare.startswith("/") else bare_goal(bare)
    supposed = operand.partition(" ")[2].strip()
    typed = {TYPED: f"{desk.notebook.text}{bare}\n", "<goal>": operand, "<fact>": operand}
    places = {"<add 1>": supposed, "<remove 1>": supposed, "<set 1>": supposed}
    return {**desk.notebook.base.texts, **typed, **places}


def _help(_: Desk, __: str) -> None:
    for what, purpose in _ENTRIES:
        write(f"{what:<30} {purpose}")
    for one in COMMANDS:
        write(f"{f'/{one.name} {one.operands}'.rstrip():<30} {one.purpose}")


_ENTRIES: Final = (
    ("GOAL", "prove it, or find all answers where it has variables: is_vip(?c)"),
    ("RULE.", "suppose a rule or declaration; it ends with a full stop"),
    ("any sentence", "ask a model of the project to read it as a goal"),
)


def _explain(_: Desk, code: str) -> None:
    entry = catalogue().get(code.upper())
    if entry is None:
        message = "there is no such code"
        raise ConstatError([Diagnostic("C0921", message, help="/explain C0203")])
    write(f"{entry.code}: {entry.title}\n\n{entry.explanation.strip()}")


def _quit(desk: Desk, _: str) -> None:
    desk.done = True


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
