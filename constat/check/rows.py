"""Certain and possible rows, and the patterns for which they are complete.

In: a certificate.  Out: answers to "which rows of p may match this pattern" and "is this row
certain".  Invariant: a pattern is answered only where a coverage or a closure entry serves it;
otherwise the check stops, because a row that nobody showed could match.  FORMAT.md, section 6.

Example: with coverage of column 0 for "C001", the pattern ("C001", unbound) is served.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from .evaluation import Evaluator
from .fillings import Filling, filled_row
from .levels import DECLARED, DERIVED, UNCLAIMED, Lookups, coverage_level
from .rejection import Rejected
from .values import NONE, Hole, Label, OpenRow, Row, Value, is_known, is_vague, surely

if TYPE_CHECKING:
    from .certificate import Certificate
    from .records import FactGroup

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

    ``served`` gives the level of completeness for the keys of some columns; ``columns_of_none``
    are those in which some row has no value.
    """

    rows: list[Entry] = field(default_factory=list)
    served: dict[Columns, dict[Row, int]] = field(default_factory=dict)
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
        self.evaluator = Evaluator(self.spend, certificate.structures)
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
            served = self.external[coverage.predicate].served.setdefault(coverage.columns, {})
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
                # What the row matched before is decided by whoever filled it.
                accepted = set(shown.rests_on) - set(group.rests_on)
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

    def _serving(self, part: Part, pattern: OpenRow) -> Served | None:
        """Return the best that serves the pattern: its level, its columns and its key."""
        self.spend(len(part.served) + 1)
        best: Served | None = None
        for columns, keys in part.served.items():
            # A hole equals no value of a key, so unbound columns serve nothing.
            key = tuple([pattern[column] for column in columns])
            level = keys.get(key)  # type: ignore[arg-type]
            if level is not None and (best is None or level > best[0]):
                best = (level, columns, key)  # type: ignore[assignment]
        return best

    def possible(self, predicate: str, pattern: OpenRow) -> list[OpenRow]:
        """Return the possible rows that match the pattern; ``Rejected`` where it is not served."""
        found: list[OpenRow] = []
        node = self._node_of(predicate, pattern)
        for part in self._parts(predicate):
            served = self._serving(part, pattern)
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
