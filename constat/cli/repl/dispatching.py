"""What an entry of the REPL does: a goal, rules, a question, or one of the commands.

In: a desk and the text of an entry. Out: whether it was understood. Invariants: a mistake is shown
and changes nothing; an interruption ends the entry and not the REPL. Example: `/tables`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.cli.output import complain, note, show_error, write
from constat.cli.repl import answering, exploring, keeping
from constat.diagnostics import ConstatError, Diagnostic, nearest, render
from constat.diagnostics.catalogue import catalogue
from constat.diagnostics.interruption import heard
from constat.session.repl import TYPED, Kind, kind_of, refuse_fact

if TYPE_CHECKING:
    from constat.cli.repl.desk import Desk

Run = Callable[["Desk", str], None]


@dataclass(frozen=True, slots=True)
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
        case Kind.RULES if ":-" not in bare and keeping.is_fact(desk, bare):
            raise refuse_fact(bare)
        case Kind.RULES:
            keeping.add_rules(desk, bare)
        case Kind.GOAL:
            answering.answer(desk, bare)
        case Kind.QUESTION:
            exploring.ask(desk, bare)


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
    operand = bare.partition(" ")[2].strip() if bare.startswith("/") else answering.bare_goal(bare)
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
        answering.why,
        goals=True,
    ),
    Command(
        "why-not",
        "[GOAL]",
        "say why it does not hold, and how far it is from it",
        answering.why_not,
        goals=True,
    ),
    Command(
        "missing", "[GOAL]", "find the facts that would prove it", answering.missing, goals=True
    ),
    Command(
        "what-if",
        "[add|remove|set ...]",
        "suppose a fact or a value; list what is supposed",
        answering.what_if,
    ),
    Command(
        "unresolved", "", "list the goals that lack facts, with those facts", answering.unresolved
    ),
    Command("ask", "QUESTION", "answer a question in words, with a proof", exploring.ask),
    Command("confirm", "", "keep that the goal is what the last question asks", exploring.confirm),
    Command("solve", "QUESTION", "explore a question by a plan of steps", exploring.solve),
    Command("plan", "FILE", "explore by a plan in a file; no model is asked", exploring.plan),
    Command("follow", "QUESTION", "ask on, from the exploration in use", exploring.follow),
    Command("history", "", "list the explorations", exploring.history),
    Command("resume", "[ID]", "go on with an exploration", exploring.resume),
    Command("tables", "", "list the tables of the exploration in use", exploring.tables),
    Command("query", "SELECT", "run a SELECT over those tables", exploring.query),
    Command("state", "", "show what the exploration holds", exploring.state),
    Command("variables", "", "show its state variables", exploring.variables),
    Command(
        "facts",
        "[FACT or TEXT]",
        "list stated facts; state one; read them in a sentence",
        keeping.facts,
        goals=True,
    ),
    Command("retract", "FACT", "take a stated fact back", keeping.retract, goals=True),
    Command("predicates", "[WORD]", "list predicates with their columns", keeping.predicates),
    Command("rules", "", "list the typed rules", keeping.rules),
    Command("load", "FILE", "suppose the rules of a file", keeping.load),
    Command("save", "FILE", "write the typed rules into a file", keeping.save),
    Command("export", "FORMAT FILE", "write the last proof", keeping.export),
    Command("undo", "", "take the last change back", keeping.undo),
    Command("forget", "", "suppose nothing any more", keeping.forget),
    Command("explain", "CODE", "explain a code such as C0203", _explain),
    Command("help", "", "show this list", _help),
    Command("quit", "", "leave", _quit),
)
"""What can be typed behind `/`."""
