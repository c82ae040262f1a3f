"""Write the arguments of a text's atoms by name or by position.

Only the arguments of atoms change, never what they say: `spelled_rules` is for comparing. Facts are
tables of values and stay as they are, unless positions are wanted; so does an atom whose `_` has a
comment beside it.
"""

from __future__ import annotations

import re
from dataclasses import replace
from enum import Enum
from typing import TYPE_CHECKING

from constat.diagnostics import Diagnostic
from constat.frozen import frozen
from constat.logic import Predicate
from constat.syntax.cursor import Mode
from constat.syntax.lexer import lex
from constat.syntax.lowering import lower
from constat.syntax.mistakes import goals
from constat.syntax.parser import Parser
from constat.syntax.printing import is_wide, print_rule_as
from constat.syntax.surface import Declaration, RuleText

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.diagnostics import Span
    from constat.syntax.lexer import Tokens
    from constat.syntax.printing import Predicates
    from constat.syntax.surface import Notes, SignedAtom, SurfaceItem

_VARIABLE = re.compile(r"\?[A-Za-z]\w*|\b_\w*", re.ASCII)


class ArgumentStyle(Enum):
    """How atoms are written: by name where a predicate has many columns, or always by position."""

    WIDE_NAMED = "wide named"
    POSITIONAL = "positional"


@frozen
class AtomPlace:
    """The tokens of an atom: its predicate, its opening and its closing bracket."""

    name: int
    opener: int
    closer: int
    is_fact: bool = False


class AtomParser(Parser):
    """A parser that notes where the atoms of rules stand."""

    def __init__(self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode) -> None:
        super().__init__(tokens, diagnostics, mode)
        self.atoms: list[AtomPlace] = []

    def atom(self, *, negative: bool = False) -> SignedAtom:
        """Read an atom, and note its place."""
        start = self.position
        read = super().atom(negative=negative)
        self.atoms.append(AtomPlace(start, start + 1, self.position - 1))
        return read

    def _rule(self, notes: Notes) -> None:
        known = len(self.atoms)
        super()._rule(notes)
        item = self.items[-1]
        if isinstance(item, RuleText) and not item.branches:
            self.atoms[known:] = [replace(one, is_fact=True) for one in self.atoms[known:]]


@frozen
class _Argument:
    """An argument with what stands between its separators; `value` is its first token.

    `name` is the column it names.
    """

    first: int
    last: int
    value: int
    name: str = ""


def restyled(
    parser: AtomParser, known: Predicates, style: ArgumentStyle, diagnostics: list[Diagnostic]
) -> str:
    """Give the text of a parser with its atoms in a style; the same text where nothing changes.

    An atom by name of a predicate that nothing declares is a mistake where positions are wanted.
    """
    declared = {**known, **_declarations(parser.items)}
    tokens, parts, behind = parser.tokens, [], 0
    for atom in sorted(parser.atoms, key=lambda one: one.opener):
        written = _restyled(tokens, atom, declared, style, diagnostics)
        if written is not None:
            parts += [tokens.text[behind : tokens.ends[atom.opener]], written]
            behind = tokens.starts[atom.closer]
    return "".join((*parts, tokens.text[behind:]))


def named_atoms(text: str, source: str, known: Predicates) -> Iterator[tuple[Span, str]]:
    """Yield the place of each atom by name in a text, and the atom by position."""
    tokens = lex(text, source, [])
    parser = AtomParser(tokens, [], Mode.STRICT)
    parser.run()
    for atom in parser.atoms:
        style, found = ArgumentStyle.POSITIONAL, list[Diagnostic]()
        written = _restyled(tokens, atom, known, style, found)
        if written is not None:
            plain = " ".join(written.split())
            yield tokens.span(atom.name, atom.closer), f"{tokens.word(atom.name)}({plain})"


def _declarations(items: Sequence[SurfaceItem]) -> dict[str, Predicate]:
    found = (one for one in items if isinstance(one, Declaration))
    return {one.name: Predicate(one.name, one.columns) for one in found}


def _restyled(
    tokens: Tokens,
    atom: AtomPlace,
    declared: Predicates,
    style: ArgumentStyle,
    diagnostics: list[Diagnostic],
) -> str | None:
    """Write the arguments of an atom anew; nothing where they stay as they are."""
    predicate = declared.get(tokens.word(atom.name))
    arguments = list(_arguments(tokens, atom))
    named = any(one.name for one in arguments)
    if style is ArgumentStyle.POSITIONAL and named:
        if predicate is None:
            span, known = tokens.span(atom.name, atom.name), sorted(declared)
            diagnostics.append(goals.unknown_predicate(span, tokens.word(atom.name), known))
            return None
        return _by_position(tokens, arguments, predicate)
    if style is ArgumentStyle.POSITIONAL or named or atom.is_fact or predicate is None:
        return None
    if not is_wide(predicate) or len(arguments) != predicate.arity:
        return None
    return _by_name(tokens, arguments, predicate)


def _arguments(tokens: Tokens, atom: AtomPlace) -> Iterator[_Argument]:
    """Yield the arguments of an atom: what stands between commas that no bracket holds."""
    first = place = atom.opener + 1
    while place <= atom.closer:
        if place == atom.closer or tokens.kinds[place] == ",":
            if place > first:
                named = tokens.kinds[first] == "name" and tokens.kinds[first + 1] == "="
                name = tokens.word(first) if named else ""
                yield _Argument(first, place - 1, first + 2 * named, name)
            first = place + 1
        place = (tokens.closer(place) or place) + 1


def _by_name(tokens: Tokens, arguments: list[_Argument], predicate: Predicate) -> str | None:
    parts = []
    for column, one in zip(predicate.columns, arguments, strict=True):
        before, written, behind = _pieces(tokens, one)
        if tokens.kinds[one.value] != "wild" or one.last > one.value:
            parts.append(f"{before}{column.name} = {written}{behind}")
        elif before.strip() or behind.strip():
            return None
    return ",".join(parts) or None


def _by_position(tokens: Tokens, arguments: list[_Argument], predicate: Predicate) -> str:
    given = {one.name: one for one in arguments}
    taken = {tokens.word(place) for place, kind in enumerate(tokens.kinds) if kind == "variable"}
    parts = []
    for column in predicate.columns:
        one = given.get(column.name)
        if one is None:
            parts.append(" _")
            continue
        before, written, behind = _pieces(tokens, one)
        if written == "_":
            # By name it is read: another `_` would not be.
            written, number = f"_{column.name}", 1
            while written in taken:
                number += 1
                written = f"_{column.name}{number}"
            taken.add(written)
        parts.append(f"{before}{written}{behind}")
    return ",".join(parts)


def _pieces(tokens: Tokens, argument: _Argument) -> tuple[str, str, str]:
    """Give what stands before a value, the value, and what stands behind it, up to a separator."""
    text, starts, ends = tokens.text, tokens.starts, tokens.ends
    before = text[ends[argument.first - 1] : starts[argument.first]]
    if argument.name:
        # Comments beside the sign stay; the name and the sign go.
        places = range(argument.first, argument.value)
        before += "".join(text[ends[place] : starts[place + 1]] for place in places)
    last = argument.last
    return before, text[starts[argument.value] : ends[last]], text[ends[last] : starts[last + 1]]


def spelled_rules(parser: Parser, known: Predicates, diagnostics: list[Diagnostic]) -> list[str]:
    """Write the rules of a text by position, with numbers for the names of variables."""
    items = [one for one in parser.items if isinstance(one, Declaration | RuleText)]
    program = lower(items, diagnostics, parser.mode, known)
    return [_numbered(print_rule_as(rule, with_id=True)) for rule in program.rules]


def _numbered(rule: str) -> str:
    """Write the variables of a rule by their numbers."""
    numbers: dict[str, int] = {}

    def number(found: re.Match[str]) -> str:
        name = found[0]
        return name if name == "_" else f"?{numbers.setdefault(name, len(numbers))}"

    return _VARIABLE.sub(number, rule)
