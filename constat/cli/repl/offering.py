"""What can be typed next: commands, predicates with variables for their columns, constants, tables.

In: the text before the cursor and the words of a desk. Out: offers. Invariants: nothing is asked of
a source for it; what is offered can be typed and draws nothing on a terminal. Example: behind
`is_v` stands the offer `is_vip(?customer)`; behind `is_vip(C0` a constant such as `C001`.
"""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.cli.repl.dispatching import COMMANDS
from constat.cli.vocabulary import columns_by_name, typed_arguments, whole_atom
from constat.diagnostics import ConstatError
from constat.diagnostics.catalogue import catalogue
from constat.logic import null_words
from constat.proof.formats import FORMATS
from constat.session.repl import Kind, kind_of
from constat.syntax import print_column

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.cli.repl.desk import Desk
    from constat.logic import Predicate

_WORD: Final = re.compile(r"[\w.:-]*\Z")
_CALLED: Final = re.compile(r"([A-Za-z_]\w*)\s*\(([^()]*)\Z")
_NAME: Final = re.compile(r"[A-Za-z_]\w*\Z")
_PLAIN: Final = re.compile(r"[A-Za-z0-9][\w.:-]*\Z")
_TEXTS: Final = re.compile(r'"([^"\\\n]{1,60})"')
_MOST: Final = 200


@dataclass(frozen=True, slots=True)
class Offer:
    """A text that takes the place of so many characters before the cursor; `about` explains it."""

    text: str
    replaced: int
    about: str = ""


def offers(desk: Desk, before: str) -> list[Offer]:
    """Give what fits, the likeliest first."""
    bare = before.lstrip()
    if bare.startswith("/"):
        found = _behind_command(desk, bare)
    elif kind_of(before) is Kind.RULES or _CALLED.search(before) or " " not in bare:
        found = _in_goal(desk, before)
    else:
        start = before[: len(before) - len(_last_word(before))].rstrip()
        found = _in_goal(desk, before) if start.endswith((",", "!", "?-")) else iter(())
    return [one for _, one in zip(range(_MOST), found, strict=False)]


def _behind_command(desk: Desk, text: str) -> Iterator[Offer]:
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
        yield from _in_goal(desk, rest)
    elif name == "query":
        yield from _matching(word, _tables(desk))
    else:
        yield from _matching(word, _operands(desk, name))


def _operands(desk: Desk, name: str) -> Iterable[tuple[str, str]]:
    match name:
        case "what-if":
            return [("add", "a fact"), ("remove", "a fact"), ("set", "a value"), ("nothing", "")]
        case "export":
            return [("certificate", "JSON"), *((one.name, one.purpose) for one in FORMATS)]
        case "explain":
            return [(code, entry.title) for code, entry in catalogue().items()]
        case "resume":
            with suppress(ConstatError):
                history = desk.notebook.base.history
                return [(one.identity, one.title) for one in reversed(history)]
            return ()
        case "predicates":
            return [(one, "") for one in desk.session.program.program.predicates]
        case _:
            return ()


def _tables(desk: Desk) -> Iterator[tuple[str, str]]:
    """Give the tables of the exploration in use, and their columns."""
    with suppress(ConstatError):
        found = desk.tables().tables()
        for one in found:
            yield one.name, f"{one.rows:,} rows"
        for one in found:
            for column, kind in one.columns:
                plain = column if column.isidentifier() else f'"{column}"'
                yield plain, f"{kind}, column of {one.name}"
    yield from ((word, "") for word in ("SELECT", "FROM", "WHERE", "GROUP BY", "ORDER BY"))


def _in_goal(desk: Desk, before: str) -> Iterator[Offer]:
    """Offer atoms, or what fits as the next operand of one."""
    opened = typed_arguments(before)
    predicates = desk.session.program.program.predicates
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
        yield from _by_name(desk, known, names, typed)
        return
    column = known.columns[place]
    end = ")" if place == len(known.columns) - 1 else ", "
    for text in (f"?{column.name}", *constants(desk)):
        if text.startswith(typed):
            yield Offer(text + end, len(typed), print_column(column, null_words(known)[place]))


def _by_name(desk: Desk, known: Predicate, names: list[str], typed: str) -> Iterator[Offer]:
    """Offer columns by name, or the value of the one that is being written."""
    name, sign, value = typed.partition("=")
    if not sign:
        for column, word in zip(known.columns, null_words(known), strict=True):
            if column.name in names:
                about = print_column(column, word)
                yield Offer(f"{column.name} = ?{column.name}", len(typed), about)
        return
    value = value.lstrip()
    for text in (f"?{name.strip()}", *constants(desk)):
        if text.startswith(value):
            yield Offer(text, len(value), name.strip())


def _about(columns: Iterable[object]) -> str:
    return ", ".join(
        f"{getattr(one, 'name', '')}: {getattr(one, 'type_name', '')}" for one in columns
    )


def constants(desk: Desk) -> Iterator[str]:
    """Give the constants that were seen, configured, or written in rules, as goals spell them."""
    found: dict[str, None] = dict(desk.seen)
    project = desk.notebook.base.project
    for table in project.facts.values():
        for row in table.rows[:_MOST]:
            found |= dict.fromkeys(cell.text for cell in row.cells if cell.text)
    for text in desk.session.texts.values():
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
