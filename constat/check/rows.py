"""Certain and possible rows, and the assignments under which a body may be true."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar, cast

from . import functions
from .canonical import Rejected
from .levels import DECLARED, DERIVED, UNCLAIMED, Lookups, coverage_level
from .pattern import work
from .records import Filling, filled_row
from .redaction import spelled
from .rules import (
    Atom,
    Binding,
    Call,
    Comparison,
    Constant,
    Negative,
    Positive,
    Term,
    Variable,
    Wildcard,
)
from .values import (
    NONE,
    STRUCTURE,
    Hole,
    Label,
    Null,
    OpenRow,
    Row,
    Structure,
    Value,
    is_hidden,
    is_known,
    is_vague,
    read_structure,
    surely,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from .canonical import Json
    from .certificate import Certificate
    from .records import FactGroup, Reader
    from .redaction import Redaction
    from .rules import Test
    from .values import Known, Structures

# An error or a hole never turns into a value; long texts and large patterns cost steps, so a small
# certificate cannot ask for much work.

CHARACTERS_PER_STEP: Final = 256
TESTS_PER_STEP: Final = 4
_WORST_FIRST: Final = (Hole.UNBOUND, Hole.ERROR, Hole.STAR)

# A label stands for one value, which equals itself; all else about it is open.
_OF_ONE_LABEL: Final = MappingProxyType(
    {"=": True, "<=": True, ">=": True, "!=": False, "<": False, ">": False}
)


def _structure(structures: Structures, text: str) -> Value:
    found = read_structure(structures, text)
    return Hole.ERROR if found is None else found


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str) else 1


class Evaluator:
    """Evaluates; ``spend`` takes the steps that it costs."""

    def __init__(
        self,
        spend: Callable[[int], None],
        structures: Structures,
        redaction: Redaction | None = None,
    ) -> None:
        self.spend = spend
        self.structures = structures
        self.redaction = redaction

    def value(self, term: Term, binding: Binding) -> Value:
        """Return the value of the term; a hole in an argument is a hole in the result."""
        if type(term) is Variable:
            return binding[term.position]
        if type(term) is Constant:
            return term.value
        if type(term) is Wildcard:
            # Only a group binds it, to the cell that it met.
            cell = binding[term.position]
            return Hole.ANY if cell is Hole.UNBOUND else cell
        return self._call(term, binding)  # type: ignore[arg-type]

    def _call(self, term: Call, binding: Binding) -> Value:
        args = [self.value(inner, binding) for inner in term.args]
        for worst in _WORST_FIRST:
            if worst in args:
                return worst
        hidden = self.redaction is not None and any(map(is_hidden, args))
        if any(type(value) is Label for value in args):
            return Hole.STAR if hidden else functions.made_of(term.function, args)
        self.spend(1 + sum(map(_length, args)) // CHARACTERS_PER_STEP)
        if hidden:
            return self._told(term, args)
        return self._computed(term, args)

    def _told(self, term: Call, args: list[Value]) -> Value:
        """Return what is told of a function of hidden values."""
        redaction = cast("Redaction", self.redaction)
        texts = list(map(str, args))
        pairs: list[Json] = [
            [inner.kind, spelled(text)] for inner, text in zip(term.args, texts, strict=True)
        ]

        def compute(real: Sequence[str]) -> str | None:
            # A structure that was opened is read again: it may stand nowhere else.
            known: list[Value] = [
                _structure(self.structures, text) if inner.kind == STRUCTURE else text
                for inner, text in zip(term.args, real, strict=True)
            ]
            found = self._computed(term, known)
            return None if isinstance(found, Hole) else str(found)

        found = redaction.value(["f", term.function, term.kind, pairs], texts, compute)
        if term.kind == STRUCTURE and type(found) is str and not is_hidden(found):
            return _structure(self.structures, found)
        return found

    def _computed(self, term: Call, args: list[Value]) -> Value:
        kinds = tuple(inner.kind for inner in term.args)
        result: Known | None
        if functions.is_about_structures(term.function):
            known: list[Known] = args  # type: ignore[assignment]  # no hole and no label is left
            result = functions.field_call(self.structures, term.function, kinds, term.kind, known)
        else:
            texts = tuple(map(str, args))
            result = functions.call(term.function, kinds, term.kind, texts)
        return Hole.ERROR if result is None else result

    def instance(self, atom: Atom, binding: Binding) -> OpenRow:
        """Return the values of the atom's arguments."""
        return tuple([self.value(term, binding) for term in atom.args])

    def truth(self, comparison: Comparison, binding: Binding) -> bool | Hole:
        """Return whether the comparison holds, or the hole that leaves it open."""
        left = self.value(comparison.left, binding)
        right = self.value(comparison.right, binding)
        for worst in _WORST_FIRST:
            if left is worst or right is worst:
                return worst
        if type(left) is Label or type(right) is Label:
            return _OF_ONE_LABEL.get(comparison.operator, Hole.STAR) if left == right else Hole.STAR
        if isinstance(left, Structure) or isinstance(right, Structure):
            return (left is right) == (comparison.operator == "=")
        texts = str(left), str(right)
        self.spend(sum(map(len, texts)) // CHARACTERS_PER_STEP)
        if self.redaction is not None and any(map(is_hidden, texts)):
            operator, kind = comparison.operator, comparison.left.kind
            compare = partial(functions.compare, operator, kind)
            return self.redaction.truth(operator, kind, texts, compare)
        if comparison.operator in {"match", "!match"}:
            self.spend(work(*texts) // TESTS_PER_STEP)
        found = functions.compare(comparison.operator, comparison.left.kind, *texts)
        return Hole.ERROR if found is None else found


# A pattern is answered only where a coverage or a closure entry serves it; otherwise the check
# stops, because a row that nobody showed could match.  FORMAT.md, section 6.

Columns: TypeAlias = tuple[int, ...]
Served: TypeAlias = tuple[int, Columns, Row]
"""What serves a pattern: its level of completeness, its columns and its key."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A possible row; ``until`` are the accepted assumptions that remove it, if any.

    ``stated`` tells that it is no open row, which nobody says to be there.
    """

    row: OpenRow
    until: tuple[int, ...] = ()
    stated: bool = True


@dataclass(slots=True)
class Part:
    """The rows of one predicate from one side (outside or closure), indexed on demand.

    ``served`` gives the level of completeness for the keys of some columns, ``for_one`` the same
    for one literal alone; ``columns_of_none`` are those in which some row has no value.
    """

    rows: list[Entry] = field(default_factory=list)
    served: dict[Columns, dict[Row, int]] = field(default_factory=dict)
    for_one: dict[Reader, dict[Columns, dict[Row, int]]] = field(default_factory=dict)
    columns_of_none: set[int] = field(default_factory=set)
    indexes: dict[Columns, tuple[dict[OpenRow, list[Entry]], list[Entry]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class Certainty:
    """Why a row is certain: the best confidence, in millionths, and the node if there is one."""

    confidence: int
    node: int | None


@dataclass(frozen=True, slots=True)
class ShownRow:
    """A row of a source under the reading: with the values that are accepted for null cells."""

    row: Row
    confidence: int
    rests_on: tuple[int, ...]


def _may_have(row: OpenRow, columns: Columns, pattern: OpenRow) -> bool:
    return all(row[c] == pattern[c] or is_vague(row[c]) for c in columns)


def is_starred(pattern: OpenRow) -> bool:
    """Tell whether a bound value of the pattern is one that nobody knows."""
    return any(v is Hole.STAR or v is Hole.ERROR or type(v) is Label for v in pattern)


class Rows:
    """All rows of a certificate under its reading; counts the steps of every enumeration."""

    def __init__(self, certificate: Certificate, steps: int) -> None:
        self.under = certificate.header.under
        self.external: dict[str, Part] = {}
        self.derived: dict[str, Part] = {}
        self.groups: dict[tuple[str, OpenRow], tuple[int, tuple[int, ...]]] = {}
        self.nodes = {
            (node.predicate, node.fact): position for position, node in enumerate(certificate.nodes)
        }
        self.confidences = [node.confidence for node in certificate.nodes]
        self.evaluator = Evaluator(self.spend, certificate.structures, certificate.redaction)
        self.filled: dict[tuple[int, int], list[Filling]] = {}
        for one in certificate.evidence.filled:
            self.filled.setdefault((one.group, one.row), []).append(one)
        self.sources = certificate.evidence.sources
        self.used_assumptions: set[int] = set()
        self.consulted: set[int] = set()
        self.steps = steps
        self.lookups = Lookups()
        self._add_outside(certificate)
        self._add_closure(certificate)

    def _add_outside(self, certificate: Certificate) -> None:
        evidence = certificate.evidence
        for declaration in certificate.program.declarations.values():
            if declaration.external:
                self.external[declaration.name] = Part()
        for number, group in enumerate(evidence.facts):
            self._add_group(number, group)
        for opened in evidence.open:
            until = opened.assumption
            removed = (until,) if until is not None and until in self.under else ()
            entry = Entry(opened.row, removed, stated=False)
            self.external[opened.predicate].rows.append(entry)
        for coverage in evidence.coverage:
            part = self.external[coverage.predicate]
            alone = coverage.reader
            all_served = part.served if alone is None else part.for_one.setdefault(alone, {})
            served = all_served.setdefault(coverage.columns, {})
            level = coverage_level(evidence, coverage)
            for key in coverage.keys:
                served[key] = max(level, served.get(key, level))

    def _add_group(self, number: int, group: FactGroup) -> None:
        part = self.external[group.predicate]
        for place, row in enumerate(group.rows):
            shown = self.shown_row(number, group, place)
            if NONE in row:
                part.columns_of_none.update(c for c, cell in enumerate(row) if cell == NONE)
            part.rows.append(Entry(shown.row))
            if shown.row is not row:
                # What the row matched before is decided by whoever filled it, though the group may
                # rest on that word as well.
                accepted = shown.rests_on[len(group.rests_on) :]
                part.rows.append(Entry(row, tuple(sorted(accepted))))
            if self.under.issuperset(shown.rests_on):
                self._add_certain((group.predicate, shown.row), shown)

    def shown_row(self, number: int, group: FactGroup, place: int) -> ShownRow:
        """Return a row of a group under the reading."""
        row = group.rows[place]
        sure = self.sources[group.source].confidence
        fillings = [f for f in self.filled.get((number, place), ()) if f.assumption in self.under]
        if not fillings:
            return ShownRow(row, sure, group.rests_on)
        told = [self.sources[one.source].confidence for one in fillings]
        basis = tuple(dict.fromkeys(one.assumption for one in fillings))
        filled = filled_row(row, fillings, self.under.__contains__)
        return ShownRow(filled, min(sure, *told), (*group.rests_on, *basis))

    def _add_certain(self, fact: tuple[str, OpenRow], shown: ShownRow) -> None:
        known = self.groups.get(fact)
        if known is None or shown.confidence > known[0]:
            self.groups[fact] = (shown.confidence, shown.rests_on)

    def _add_closure(self, certificate: Certificate) -> None:
        for predicate in certificate.program.derived:
            rows = certificate.closure_rows.get(predicate, ())
            self.derived[predicate] = Part([Entry(row) for row in rows])
        for entry in certificate.entries:
            served = self.derived[entry.predicate].served
            served[entry.columns] = dict.fromkeys(entry.keys, DERIVED)

    def holds(self, assumption: int | None) -> bool:
        """Tell whether what rests on the assumption holds under the reading."""
        return assumption is None or assumption in self.under

    def spend(self, steps: int) -> None:
        """Count steps; ``Rejected`` when the certificate is too large to check."""
        self.steps -= steps
        if self.steps < 0:
            raise Rejected("limit", "the certificate takes too many steps to check")

    def certain(self, predicate: str, row: OpenRow) -> Certainty | None:
        """Return why the row is certain, or ``None``; its assumption then counts as used."""
        fact = (predicate, row)
        node = self.nodes.get(fact)  # type: ignore[arg-type]
        group = self.groups.get(fact)
        if node is not None:
            best = self.confidences[node]
            return Certainty(best if group is None else max(best, group[0]), node)
        if group is None:
            return None
        self.used_assumptions.update(group[1])
        return Certainty(group[0], None)

    def is_served(self, predicate: str, pattern: OpenRow) -> bool:
        """Tell whether everything that matches the pattern is known."""
        if self._node_of(predicate, pattern) is not None:
            return True
        return all(self._serving(part, pattern) is not None for part in self._parts(predicate))

    def _node_of(self, predicate: str, pattern: OpenRow) -> int | None:
        """Return the node that stands for a pattern without a hole or a label."""
        node = self.nodes.get((predicate, pattern))  # type: ignore[arg-type]
        return node if node is not None and all(map(is_known, pattern)) else None

    def _parts(self, predicate: str) -> list[Part]:
        parts = (self.external.get(predicate), self.derived.get(predicate))
        return [part for part in parts if part is not None]

    def _serving(self, part: Part, pattern: OpenRow, reader: Reader | None = None) -> Served | None:
        """Return the best that serves the pattern: its level, its columns and its key."""
        alone = part.for_one.get(reader, {}) if reader is not None else {}
        self.spend(len(part.served) + len(alone) + 1)
        best: Served | None = None
        for columns, keys in (*part.served.items(), *alone.items()):
            # A hole equals no value of a key, so unbound columns serve nothing.
            key = tuple([pattern[column] for column in columns])
            level = keys.get(key)  # type: ignore[arg-type]
            if level is not None and (best is None or level > best[0]):
                best = (level, columns, key)  # type: ignore[assignment]
        return best

    def possible(
        self, predicate: str, pattern: OpenRow, reader: Reader | None = None
    ) -> list[OpenRow]:
        """Return the possible rows that match the pattern; ``Rejected`` where it is not served.

        With a ``reader`` rows may be left out that its comparisons do not let pass.
        """
        found: list[OpenRow] = []
        node = self._node_of(predicate, pattern)
        for part in self._parts(predicate):
            served = self._serving(part, pattern, reader)
            if served is not None:
                self._note(predicate, served)
                found += self._matching(part, pattern)
            elif node is not None:
                # A ground pattern has one row only, and this one is known to be true.
                self.consulted.add(node)
                return [pattern]
            elif is_starred(pattern):
                found.append(
                    tuple(Hole.STAR if isinstance(value, Hole) else value for value in pattern)
                )
            else:
                shown = ", ".join("_" if isinstance(v, Hole) else str(v)[:40] for v in pattern)
                raise Rejected("unserved", f"nothing tells all rows of {predicate}({shown})")
        return found

    def _note(self, predicate: str, served: Served) -> None:
        level, columns, key = served
        if level == DERIVED:
            self.lookups.keys.add((predicate, columns, key))
        if UNCLAIMED < level < self.lookups.weakest:
            self.lookups.weakest = level

    def inline(self, predicate: str, pattern: OpenRow) -> list[OpenRow]:
        """Return the matching rows that happen to be in the certificate."""
        return [row for part in self._parts(predicate) for row in self._matching(part, pattern)]

    def shown(self, predicate: str, pattern: OpenRow) -> list[OpenRow]:
        """Return the fact rows and closure rows that match for sure: what may be certain.

        Such a look-up does not ask what is possible, so no open row is met or used by it.
        """
        found = [entry for part in self._parts(predicate) for entry in self._find(part, pattern)]
        rows = [one.row for one in found if one.stated and Hole.STAR not in one.row]
        return [row for row in rows if surely(pattern, row)]

    def _matching(self, part: Part, pattern: OpenRow) -> list[OpenRow]:
        rows: list[OpenRow] = []
        for entry in self._find(part, pattern):
            self._keep(entry, rows)
        return rows

    def _find(self, part: Part, pattern: OpenRow) -> list[Entry]:
        columns = tuple([c for c, value in enumerate(pattern) if is_known(value)])
        key = tuple([pattern[column] for column in columns])
        exact, starred = self._index(part, columns)
        found = exact.get(key, [])
        self.spend(len(found) + len(starred) + 1)
        if starred:
            found = found + [e for e in starred if _may_have(e.row, columns, pattern)]
        read = [c for c in part.columns_of_none if pattern[c] is not Hole.ANY]
        if read:
            return [entry for entry in found if all(entry.row[c] != NONE for c in read)]
        return found

    def _keep(self, entry: Entry, rows: list[OpenRow]) -> None:
        if not entry.until:
            rows.append(entry.row)
        else:
            self.used_assumptions.update(entry.until)
            self.lookups.weakest = DECLARED

    def _index(
        self, part: Part, columns: Columns
    ) -> tuple[dict[OpenRow, list[Entry]], list[Entry]]:
        known = part.indexes.get(columns)
        if known is not None:
            return known
        self.spend(len(part.rows))
        exact: dict[OpenRow, list[Entry]] = {}
        starred: list[Entry] = []
        for entry in part.rows:
            key: tuple[Value, ...] = tuple([entry.row[column] for column in columns])
            if any(map(is_vague, key)):
                starred.append(entry)
            else:
                exact.setdefault(key, []).append(entry)
        part.indexes[columns] = (exact, starred)
        return exact, starred


# Every assignment under which the body *is* true is among those enumerated or is an instance of
# one with ⋆; only what is certain removes an assignment.

AnyLiteral = TypeVar("AnyLiteral")


def search(
    start: Binding,
    literals: tuple[AnyLiteral, ...],
    choose: Callable[[Binding, tuple[AnyLiteral, ...]], int],
    extend: Callable[[AnyLiteral, Binding], Iterable[Binding]],
) -> Iterator[Binding]:
    """Yield the bindings that survive all literals; ``choose`` picks which literal comes next."""
    branches: list[tuple[Iterator[Binding], tuple[AnyLiteral, ...]]] = [(iter([start]), literals)]
    while branches:
        candidates, left = branches[-1]
        binding = next(candidates, None)
        if binding is None:
            branches.pop()
        elif not left:
            yield binding
        else:
            chosen = choose(binding, left)
            rest = left[:chosen] + left[chosen + 1 :]
            branches.append((iter(extend(left[chosen], binding)), rest))


class Joins:
    """Extends bindings by literals; ``lookup`` gives the rows that may match a pattern."""

    def __init__(self, rows: Rows, lookup: Callable[[str, OpenRow], list[OpenRow]]) -> None:
        self.rows = rows
        self.evaluator = rows.evaluator
        self.lookup = lookup
        self.free: frozenset[int] = frozenset()
        self.consulted: set[int] = set()

    def extend(
        self, test: Test, binding: Binding, reader: Reader | None = None
    ) -> Iterable[Binding]:
        """Return the bindings under which the literal may be true as well.

        With a ``reader``, which is the literal's place, what is shown for it alone serves it, too.
        """
        self.rows.spend(1)
        match test:
            case Positive(atom):
                return self._positive(atom, binding, reader)
            case Negative(atom):
                return () if self._is_certain(atom, binding) else (binding,)
            case Comparison():
                return self._compared(test, binding)

    def _positive(self, atom: Atom, binding: Binding, reader: Reader | None) -> Iterator[Binding]:
        pattern = self.evaluator.instance(atom, binding)
        check_arguments(atom, pattern)
        found = (
            self.lookup(atom.predicate, pattern)
            if reader is None
            else self.rows.possible(atom.predicate, pattern, reader)
        )
        for row in found:
            extended = unify(atom, pattern, row, binding)
            if extended is not None:
                yield extended

    def _is_certain(self, atom: Atom, binding: Binding) -> bool:
        row = self.evaluator.instance(atom, binding)
        if Hole.STAR in row or Hole.ERROR in row:
            return False
        if Hole.UNBOUND not in row and Hole.ANY not in row:
            return self.certain(atom.predicate, row) is not None
        for term, value in zip(atom.args, row, strict=True):
            # Any other unbound variable waits for a later literal: "any" would remove too much.
            free = isinstance(term, Variable) and term.position in self.free
            if value is Hole.UNBOUND and not free:
                return False
        # What is certain needs no completeness, so this is no look-up that has a level.
        shown = self.rows.shown(atom.predicate, row)
        return any(self.certain(atom.predicate, found) is not None for found in shown)

    def _compared(self, test: Comparison, binding: Binding) -> tuple[Binding, ...]:
        found = self.evaluator.truth(test, binding)
        if found is Hole.UNBOUND:
            return (self._assigned(test, binding),)
        return (binding,) if found is not False else ()

    def _assigned(self, test: Comparison, binding: Binding) -> Binding:
        for side, other in ((test.left, test.right), (test.right, test.left)):
            if is_assignment(test, side, binding):
                value = self.evaluator.value(other, binding)
                if value is not Hole.UNBOUND:
                    return assign(side, value, binding)
        raise Rejected("unbound", "a comparison comes before what binds its variables")

    def certain(self, predicate: str, row: OpenRow) -> Certainty | None:
        """Return why a ground row is certain, and note the node that says so."""
        found = self.rows.certain(predicate, row)
        if found is not None and found.node is not None:
            self.consulted.add(found.node)
        return found


def check_arguments(atom: Atom, pattern: OpenRow) -> None:
    """Reject a function of variables that are not bound yet: no row can be matched with it."""
    for term, value in zip(atom.args, pattern, strict=True):
        if value is Hole.UNBOUND and not isinstance(term, Variable):
            raise Rejected("unbound", "a function in an atom comes before what binds it")


def unify(atom: Atom, pattern: OpenRow, row: OpenRow, binding: Binding) -> Binding | None:
    """Return the binding with the row's values, ``None`` where they differ.

    What is known takes the place of what is not: a value that of a label, either that of ⋆.
    """
    extended = list(binding)
    for term, bound, cell in zip(atom.args, pattern, row, strict=True):
        form, value = type(term), cell
        if form is Wildcard:
            extended[term.position] = value  # type: ignore[union-attr]  # it has a place
            continue
        if type(value) is Null:
            if value == NONE:
                return None
            value = Hole.STAR
        if form is Variable:
            # Looked up again: the same variable may stand in an earlier column of this atom.
            known = extended[term.position]  # type: ignore[union-attr]
            if _gives_way(known, value):
                extended[term.position] = value  # type: ignore[union-attr]
                continue
        else:
            known = bound
        if known != value and is_known(known) and is_known(value):
            return None
    return extended


def _gives_way(known: Value, value: Value) -> bool:
    """Tell whether a variable takes the value instead of what it has."""
    return known is Hole.UNBOUND or known is Hole.STAR or (type(known) is Label and is_known(value))


def is_assignment(test: Comparison, side: Term, binding: Binding) -> bool:
    """Tell whether the side is a variable that this test can bind."""
    return (
        test.operator == "="
        and isinstance(side, Variable)
        and binding[side.position] is Hole.UNBOUND
    )


def assign(side: Term, value: Value, binding: Binding) -> Binding:
    """Return the binding with the variable bound; an error is a value that nobody knows."""
    extended = list(binding)
    if isinstance(side, Variable):
        extended[side.position] = Hole.STAR if value is Hole.ERROR else value
    return extended
