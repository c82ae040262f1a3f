"""Typed rules and stated facts: list them, keep them, take them back; certificates out.

In: a desk and the rest of a command. Out: text on stdout, files where they are asked for.
Invariants: a fact that is stated carries a name; what a model read in a sentence is kept only when
somebody who is there says yes; a file appears whole. Example: `/facts customer_tier(C009, gold)`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from constat.cli.facts_tell import beside, print_again
from constat.cli.files import read_file, write_file
from constat.cli.output import counted, note, write
from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.formats import FORMATS, format_named, write_format
from constat.session.repl import Kind, kind_of
from constat.syntax import parse_fact, print_signature

if TYPE_CHECKING:
    from constat.cli.repl.desk import Desk

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
        parse_fact(text.strip().rstrip("."), desk.session.program.program)
    except ConstatError:
        return False
    return True


def _lacking(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0921", message, help=hint)])
