"""How goals are spelled: between values and kept texts, and constants that no source has.

A text that is no value of its column's type is shown as it was kept: the goal `is_vip("C001")` of a
rule file is shown as `is_vip(C001)`.
"""

from __future__ import annotations

import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.diagnostics import nearest
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Aggregate,
    Comparison,
    Constant,
    Kind,
    Positive,
    Variable,
    is_wildcard,
)
from constat.patterns import regex
from constat.proof.sentences import ASKED
from constat.syntax import print_row, print_stated, print_term
from constat.tiers.tier import read_canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

    from constat.logic import Atom, Literal, Predicate, Program, Rule, Term


def shown_row(predicate: Predicate | None, name: str, texts: Sequence[str]) -> str:
    """Write a row as a goal; as it was kept where it is not of the predicate's kinds."""
    if predicate is not None and predicate.arity == len(texts):
        try:
            row = tuple(map(read_canonical, texts, predicate.columns))
            return print_row(predicate, row)
        except ValueError:
            pass
    return f"{name}({', '.join(texts)})"


def shown_stated(predicate: Predicate | None, name: str, texts: Sequence[str | None]) -> str:
    """Write what somebody stated of a row as it can be typed; columns may be left out."""
    if predicate is None or predicate.arity != len(texts):
        return f"{name}({', '.join('_' if text is None else text for text in texts)})"
    written = [text for text in texts if text is not None]
    if len(written) == len(texts):
        return shown_row(predicate, name, written)
    pairs = list(zip(texts, predicate.columns, strict=True))
    try:
        cells = [None if text is None else read_canonical(text, column) for text, column in pairs]
    except ValueError:
        listed = (f"{column.name} = {text}" for text, column in pairs if text is not None)
        return f"{name}({', '.join(listed)})"
    return print_stated(predicate, cells)


def shown_goal(predicate: Predicate, goal: Atom) -> str:
    """Write a goal as it can be typed, with the names that its variables have."""
    columns = tuple(
        replace(column, name="_" if is_wildcard(term) else term.name)
        if isinstance(term, Variable)
        else column
        for column, term in zip(predicate.columns, goal.terms, strict=True)
    )
    slots = tuple(term.value if isinstance(term, Constant) else OPEN for term in goal.terms)
    return print_row(replace(predicate, columns=columns), slots)


# A constant that is written in another way than the sources write it makes a goal fail silently:
# `quick` for `QUICK`. Constants are followed from the goal and the rules below it, through
# variables, to the columns of sources; one that none of these columns holds is named, with what
# comes nearest to it there.

_MOST_PLACES: Final = 200
_DASHES: Final = frozenset("-_\u00ad\u2010\u2011\u2012\u2013\u2014\u2015\u2212")
_ZEROS: Final = regex(r"(?<![\d.,])0+(?=\d)")
_WRITTEN: Final = (("ae", "a"), ("oe", "o"), ("ue", "u"), ("æ", "a"), ("ø", "o"), ("œ", "o"))


@frozen
class Unmet:
    """A constant that no source has: the columns where it was looked for, and what is near it.

    `rule` is the rule that writes it; empty where the goal does.
    """

    constant: Constant
    columns: tuple[tuple[str, str], ...]
    near: str
    rule: str = ""

    @property
    def text(self) -> str:
        """Say it in one sentence, with the edit."""
        predicate, column = self.columns[0]
        if self.near.startswith("?"):
            said = f"no {predicate} has the {column} {print_term(self.constant)}"
            return f"{said}; if a variable is meant, write {self.near}"
        meant = print_term(Constant(self.near, Kind.SYMBOL))
        where = f" in rule {self.rule}" if self.rule else ""
        begun = f"no {predicate} has the {column} {print_term(self.constant)}"
        if _folded(self.near) == _folded(str(self.constant.value)):
            alike = ", which looks the same and is made of other characters"
            seen = alike if _composed(self.near) == _composed(str(self.constant.value)) else ""
            return f"{begun}; there is {meant}{seen}: write {meant}{where}"
        return f"{begun}; the nearest is {meant}: if it is meant, write {meant}{where}"


def unmet_constants(
    goal: Atom, program: Program, values: Callable[[str, int], Collection[str] | None]
) -> Iterator[Unmet]:
    """Yield the constants that no source has and that are near to a value of one.

    `values` gives the texts in a column of a source; `None` where they cannot be told.
    """
    places = _Places(program)
    places.follow_atom(goal, "")
    for (constant, rule), found in places.found.items():
        known = {place: _texts(program, place, values) for place in found}
        texts = [one for one in known.values() if one is not None]
        if len(texts) < len(known) or any(constant.value in one for one in texts):
            continue
        near = _nearest(str(constant.value), {text for one in texts for text in one})
        meant = _variable(str(constant.value), found, program) if not rule and near is None else ""
        if meant:
            named = tuple(
                (name, program.predicates[name].columns[n].name) for name, n in sorted(found)
            )
            yield Unmet(constant, named, meant)
        if near is not None:
            holding = [place for place, one in known.items() if one and near in one]
            columns = program.predicates
            named = tuple((name, columns[name].columns[n].name) for name, n in sorted(holding))
            yield Unmet(constant, named, near, rule)


_VARIABLE: Final = regex(r"[$:]?([A-Za-z][A-Za-z_]*)\Z")


def _variable(text: str, places: Collection[tuple[str, int]], program: Program) -> str:
    """Give the variable that is meant by `X`, `$x`, `:x`, or a column's own name, as in Prolog."""
    found = _VARIABLE.match(text)
    if found is None:
        return ""
    names = {program.predicates[name].columns[place].name for name, place in places}
    alone = len(found[1]) == 1 or text[0] in "$:" or found[1].casefold() in names
    return f"?{found[1].lower()}" if alone else ""


def _texts(
    program: Program,
    place: tuple[str, int],
    values: Callable[[str, int], Collection[str] | None],
) -> Collection[str] | None:
    """Give the texts in a column: those of the source, and those of facts in rule files."""
    name, column = place
    terms = (one.head.terms[column] for one in program.rules_for(name) if not one.body)
    written = {str(term.value) for term in terms if isinstance(term, Constant)}
    if program.predicates[name].source is None:
        return written
    found = values(name, column)
    return None if found is None else written.union(found)


def _nearest(text: str, candidates: Collection[str]) -> str | None:
    """Give the value that is alike, else one that sounds alike, else that with the fewest edits."""
    ordered = sorted(candidates)
    for fold in (_folded, _plain):
        folded = fold(text)
        if folded and (alike := next((one for one in ordered if fold(one) == folded), None)):
            return alike
    return nearest(text, ordered)


def _composed(text: str) -> str:
    """Give what shows the same letters in one way."""
    return unicodedata.normalize("NFC", text)


def _folded(text: str) -> str:
    """Leave out case, blanks, dashes, zeros before a number and how wide letters are."""
    wide = unicodedata.normalize("NFKC", text).casefold()
    joined = "".join(one for one in wide if not one.isspace() and one not in _DASHES)
    return _ZEROS.sub("", joined)


def _plain(text: str) -> str:
    """Leave out marks over letters, too, and what is written for them."""
    marked = unicodedata.normalize("NFD", _folded(text))
    letters = "".join(one for one in marked if not unicodedata.combining(one))
    for written, letter in _WRITTEN:
        letters = letters.replace(written, letter)
    return letters


class _Places:
    """Follows constants to the columns of sources; `found` names these by constant and rule."""

    def __init__(self, program: Program) -> None:
        self.found: dict[tuple[Constant, str], set[tuple[str, int]]] = {}
        self._program = program
        self._met: set[object] = set()

    def follow_atom(self, atom: Atom, rule: str) -> None:
        """Follow the constants of an atom, and those of the rules that derive it."""
        for place, term in enumerate(atom.terms):
            if isinstance(term, Constant) and term.kind is Kind.SYMBOL:
                self._follow(atom.predicate, place, term, rule)
        if self._is_new(atom.predicate):
            for one in self._program.rules_for(atom.predicate):
                for literal in _atoms(one.body):
                    self.follow_atom(literal, _named(one))
                for name, constant in _equal(one.body):
                    self._bind(one, name, constant, _named(one))

    def _follow(self, predicate: str, place: int, constant: Constant, rule: str) -> None:
        if not self._is_new((predicate, place, constant, rule)):
            return
        facts = any(not one.body for one in self._program.rules_for(predicate))
        if facts or self._program.predicates[predicate].source is not None:
            self.found.setdefault((constant, rule), set()).add((predicate, place))
        for one in self._program.rules_for(predicate):
            term = one.head.terms[place]
            if isinstance(term, Variable):
                self._bind(one, term.name, constant, rule)

    def _bind(self, rule: Rule, name: str, constant: Constant, written: str) -> None:
        for atom in _atoms(rule.body):
            for place, term in enumerate(atom.terms):
                if isinstance(term, Variable) and term.name == name:
                    self._follow(atom.predicate, place, constant, written)

    def _is_new(self, what: object) -> bool:
        if what in self._met or len(self._met) > _MOST_PLACES:
            return False
        self._met.add(what)
        return True


def _named(rule: Rule) -> str:
    """Name a rule; that of a goal of several literals has no name of the writer's."""
    return "" if rule.head.predicate == ASKED else rule.id


def _atoms(body: Sequence[Literal]) -> Iterator[Atom]:
    for literal in body:
        if isinstance(literal, Positive):
            yield literal.atom
        elif isinstance(literal, Aggregate):
            yield from _atoms(literal.body)


def _equal(body: Sequence[Literal]) -> Iterator[tuple[str, Constant]]:
    """Yield the variables that have to be a text that is written out."""
    for literal in body:
        if isinstance(literal, Comparison) and literal.operator == "=":
            sides: list[tuple[Term, Term]] = [
                (literal.left, literal.right),
                (literal.right, literal.left),
            ]
            for one, other in sides:
                is_text = isinstance(other, Constant) and other.kind is Kind.SYMBOL
                if isinstance(one, Variable) and isinstance(other, Constant) and is_text:
                    yield one.name, other
