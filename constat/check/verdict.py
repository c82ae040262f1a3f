"""Check that the verdict follows from nodes and upper bounds, and on which assumptions.

In: a certificate whose nodes and closure are checked.  Out: the nodes that carry the verdict, or
``Rejected``.  Invariant: PROVED needs a node, DISPROVED needs the absence of every possible row,
UNRESOLVED needs that neither is given; an assumption is listed exactly where one is used.

Example: PROVED with a non-empty ``under`` is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .levels import Lookups, weakest_level
from .rejection import Rejected, each
from .values import is_vague, perhaps, surely

if TYPE_CHECKING:
    from .certificate import Certificate, Goal
    from .levels import Levels
    from .rows import Rows
    from .values import OpenRow


def check_verdict(certificate: Certificate, rows: Rows, absence: int, levels: Levels) -> set[int]:
    """Return the goal's nodes; note the level of its absence."""
    header = certificate.header
    if header.verdict.endswith("_UNDER") != bool(header.under):
        raise Rejected("verdict", "the assumptions do not fit the verdict", "header.under")
    if header.verdict != "UNRESOLVED" and certificate.missing:
        raise Rejected("verdict", "nothing is missing where the goal is decided", "missing")
    carrying = {
        position
        for position, node in enumerate(certificate.nodes)
        if node.predicate == header.goal.predicate and surely(header.goal.pattern, node.fact)
    }
    if header.verdict in {"PROVED", "PROVED_UNDER"}:
        confidence = _proved(certificate, carrying)
    elif header.verdict in {"DISPROVED", "DISPROVED_UNDER"}:
        rows.lookups = Lookups()
        levels.literals.append((None, None, rows.lookups))
        confidence = _disproved(header.goal, rows, absence)
    else:
        confidence = _unresolved(certificate, rows, carrying)
    if confidence != header.confidence:
        raise Rejected("confidence", "the confidence is another", "header.confidence")
    return carrying


def _proved(certificate: Certificate, carrying: set[int]) -> int:
    if not carrying:
        raise Rejected("verdict", "no node is the goal", "header.verdict")
    return max(certificate.nodes[position].confidence for position in carrying)


def _disproved(goal: Goal, rows: Rows, absence: int) -> int:
    if rows.possible(goal.predicate, goal.pattern):
        raise Rejected("verdict", "the goal may be true", "header.verdict")
    return absence


def _unresolved(certificate: Certificate, rows: Rows, carrying: set[int]) -> int:
    goal = certificate.header.goal
    possible = rows.possible(goal.predicate, goal.pattern)
    if not possible:
        raise Rejected("verdict", "the goal is false", "header.verdict")
    if carrying or any(
        surely(goal.pattern, row) and rows.certain(goal.predicate, row) for row in possible
    ):
        raise Rejected("verdict", "the goal is true", "header.verdict")
    undecided = _undecided(certificate)

    def step(missing: Goal) -> None:
        rows.spend(len(undecided))
        _check_missing(missing, undecided)

    each("missing", certificate.missing, step)
    return 0


def _undecided(certificate: Certificate) -> list[tuple[str, OpenRow]]:
    """Return the rows that are open, that rest on an assumption, or that have unknown cells."""
    evidence = certificate.evidence
    rows: list[tuple[str, OpenRow]] = [(row.predicate, row.row) for row in evidence.open]
    for group in evidence.facts:
        rows += [
            (group.predicate, row)
            for row in group.rows
            if group.rests_on or any(map(is_vague, row))
        ]
    return rows


def _check_missing(missing: Goal, undecided: list[tuple[str, OpenRow]]) -> None:
    if not any(
        predicate == missing.predicate and perhaps(missing.pattern, row)
        for predicate, row in undecided
    ):
        raise Rejected("missing", "nothing open and nothing assumed matches this")


def check_level(certificate: Certificate) -> None:
    """Reject a level of completeness that is not the weakest that occurs."""
    weakest = weakest_level(certificate)
    if certificate.header.level != weakest:
        raise Rejected("level", f"the weakest level is {weakest or 'none'}", "header.level")


def check_under(certificate: Certificate, rows: Rows) -> None:
    """Reject an accepted assumption that nothing uses."""
    for assumption in sorted(certificate.header.under - rows.used_assumptions):
        raise Rejected("under", f"nothing uses assumption {assumption}", "header.under")
