"""Certain and possible rows, and the patterns for which they are complete.

In: a certificate.  Out: answers to "which rows of p may match this pattern" and "is this row
certain".  Invariant: a pattern is answered only where a coverage or a closure entry serves it;
otherwise the check stops, because a row that nobody showed could match.  FORMAT.md, section 6.

Example: with coverage of column 0 for "C001", the pattern ("C001", unbound) is served.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from .evaluation import Evaluator
from .levels import DECLARED, DERIVED, UNCLAIMED, Lookups, coverage_level
from .rejection import Rejected
from .values import Hole, OpenRow, Row, Value

if TYPE_CHECKING:
    from .certificate import Certificate

Columns: TypeAlias = tuple[int, ...]
Served: TypeAlias = tuple[int, Columns, Row]
"""What serves a pattern: its level of completeness, its columns and its key."""
COUNTS: Final = -1


@dataclass(frozen=True, slots=True)
class Entry:
    """A possible row; ``until`` is the accepted assumption that removes it, or -1.

    ``stated`` tells that it is no open row, which nobody says to be there.
    """

    row: OpenRow
    until: int
    stated: bool = True


@dataclass(slots=True)
class Part:
    """The rows of one predicate from one side (outside or closure), indexed on demand.

    ``served`` gives the level of completeness for the keys of some columns.
    """

    rows: list[Entry] = field(default_factory=list)
    served: dict[Columns, dict[Row, int]] = field(default_factory=dict)
    indexes: dict[Columns, tuple[dict[OpenRow, list[Entry]], list[Entry]]] = field(
        default_factory=dict
    )


@dataclass(frozen=True, slots=True)
class Certainty:
    """Why a row is certain: the best confidence, in millionths, and the node if there is one."""

    confidence: int
    node: int | None


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
        self.evaluator = Evaluator(self.spend)
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
        for group in evidence.facts:
            sure = evidence.sources[group.source].confidence
            part = self.external[group.predicate]
            for row in group.rows:
                part.rows.append(Entry(row, COUNTS))
                if self.under.issuperset(group.rests_on):
                    self._add_certain((group.predicate, row), sure, group.rests_on)
        for opened in evidence.open:
            until = opened.assumption
            gone = until is not None and until in self.under
            removed = until if gone and until is not None else COUNTS
            entry = Entry(opened.row, removed, stated=False)
            self.external[opened.predicate].rows.append(entry)
        for coverage in evidence.coverage:
            served = self.external[coverage.predicate].served.setdefault(coverage.columns, {})
            level = coverage_level(evidence, coverage)
            for key in coverage.keys:
                served[key] = max(level, served.get(key, level))

    def _add_certain(self, fact: tuple[str, OpenRow], sure: int, rests_on: tuple[int, ...]) -> None:
        known = self.groups.get(fact)
        if known is None or sure > known[0]:
            self.groups[fact] = (sure, rests_on)

    def _add_closure(self, certificate: Certificate) -> None:
        for predicate in certificate.program.derived:
            rows = certificate.closure_rows.get(predicate, ())
            self.derived[predicate] = Part([Entry(row, COUNTS) for row in rows])
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
        if (predicate, pattern) in self.nodes:
            return True
        return all(self._serving(part, pattern) is not None for part in self._parts(predicate))

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
        node = self.nodes.get((predicate, pattern))  # type: ignore[arg-type]
        for part in self._parts(predicate):
            served = self._serving(part, pattern)
            if served is not None:
                self._note(predicate, served)
                found += self._matching(part, pattern)
            elif node is not None:
                # A ground pattern has one row only, and this one is known to be true.
                self.consulted.add(node)
                return [pattern]
            elif any(value is Hole.STAR or value is Hole.ERROR for value in pattern):
                found.append(
                    tuple(Hole.STAR if isinstance(value, Hole) else value for value in pattern)
                )
            else:
                shown = ", ".join("_" if isinstance(v, Hole) else v[:40] for v in pattern)
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
        """Return the matching fact rows and closure rows without ⋆: what may be certain.

        Such a look-up does not ask what is possible, so no open row is met or used by it.
        """
        found = [entry for part in self._parts(predicate) for entry in self._find(part, pattern)]
        return [one.row for one in found if one.stated and Hole.STAR not in one.row]

    def _matching(self, part: Part, pattern: OpenRow) -> list[OpenRow]:
        rows: list[OpenRow] = []
        for entry in self._find(part, pattern):
            self._keep(entry, rows)
        return rows

    def _find(self, part: Part, pattern: OpenRow) -> list[Entry]:
        columns = tuple(c for c, value in enumerate(pattern) if not isinstance(value, Hole))
        key = tuple(pattern[column] for column in columns)
        exact, starred = self._index(part, columns)
        found = exact.get(key, [])
        self.spend(len(found) + len(starred) + 1)
        if not starred:
            return found
        fits = [e for e in starred if all(e.row[c] in (Hole.STAR, pattern[c]) for c in columns)]
        return found + fits

    def _keep(self, entry: Entry, rows: list[OpenRow]) -> None:
        if entry.until == COUNTS:
            rows.append(entry.row)
        else:
            self.used_assumptions.add(entry.until)
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
            if Hole.STAR in key:
                starred.append(entry)
            else:
                exact.setdefault(key, []).append(entry)
        part.indexes[columns] = (exact, starred)
        return exact, starred
