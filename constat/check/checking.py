"""Check one certificate from its bytes to its verdict."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from .aggregates import Aggregates, absence_confidence
from .canonical import Rejected, document_of, each, read
from .certificate import Certificate, read_certificate
from .closure import Closure
from .documents import compare_documents
from .levels import Levels, Lookups, weakest_level
from .nodes import Nodes, check_all_used
from .program import check_program
from .proofs import check_nesting, check_proofs, every
from .redaction import Writing
from .report import Report, accepted, rejected
from .rows import Rows
from .undecided import check_undecided
from .values import is_vague, perhaps, surely

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from .canonical import Json
    from .certificate import Goal
    from .values import OpenRow

# PROVED needs a node, DISPROVED needs the absence of every possible row, UNRESOLVED needs that
# neither is given; an assumption is listed exactly where one is used.


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
    """Reject an accepted assumption that nothing uses, and a verdict on hidden values alone."""
    redaction, header = certificate.redaction, certificate.header
    if redaction is not None and redaction.closed:
        if header.verdict != "UNRESOLVED" and redaction.assumption not in header.under:
            raise Rejected("redaction", "the verdict rests on hidden values", "header.under")
        rows.used_assumptions.add(redaction.assumption)
    for assumption in sorted(certificate.header.under - rows.used_assumptions):
        raise Rejected("under", f"nothing uses assumption {assumption}", "header.under")


# A certificate is accepted only after every pass below has run to its end, for it and for every
# certificate nested in it.

LEAST_STEPS: Final = 5_000_000
STEPS_PER_CLOSURE_ROW: Final = 2_000
UNDECIDED_SHARE: Final = 10
"""One step in so many is allowed again, to see that an ``UNRESOLVED`` goal is not decided."""


def check_certificate(
    data: bytes,
    *,
    pin: str | None = None,
    trusted: Collection[str] = (),
    documents: Path | None = None,
) -> Report:
    """Check a certificate; ``pin`` is the ``sha256:...`` of the rules that it must have.

    Where there is a pin, the rules of nested certificates are these or among the ``trusted``. With
    a folder of ``documents`` what is quoted of them must stand there.
    """
    try:
        document = read(data)
        check_nesting(document.tree)
        certificate = read_certificate(document)
        if pin is not None:
            _check_pin(certificate, {pin})
            _check_nested_pins(certificate, {pin, *trusted})
        levels, _ = _check(certificate, allowed_steps(certificate))
        if certificate.header.verdict == "UNRESOLVED":
            check_undecided(certificate, allowed_steps(certificate) // UNDECIDED_SHARE)
        if documents is None:
            return accepted(certificate, document, levels)
        compared = compare_documents(certificate, documents)
        report = accepted(certificate, document, levels)
        return replace(report, notes=(f"documents: {compared}", *report.notes))
    except Rejected as reason:
        return rejected(reason)
    except (RecursionError, MemoryError):
        return rejected(Rejected("limit", "the certificate is too large to check"))


@dataclass(frozen=True, slots=True)
class ViewAnswers:
    """What a view has to tell: questions with answers, sorted; results of functions; its level."""

    answers: tuple[tuple[Json, Json], ...]
    made: frozenset[tuple[str, str]]
    level: str | None


def questions_about_hidden(
    tree: dict[str, Json],
    values: dict[str, tuple[str, str]],
    commit: Callable[[str, str], str],
) -> ViewAnswers:
    """Check a view to which nothing is told yet, with its ``values`` by commitment; give answers.

    ``commit`` gives the commitment of a value that stands in no cell.  ``Rejected`` where nothing
    that may be told makes the view follow.
    """
    read_one = read_certificate(document_of(tree))
    if read_one.redaction is None:
        return ViewAnswers((), frozenset(), read_one.header.level)
    writing = Writing(read_one.redaction, values, commit)
    certificate = replace(read_one, redaction=writing)
    check_program(certificate.program)
    check_proofs(certificate)
    _check_conclusions(certificate, Rows(certificate, allowed_steps(certificate)))
    if certificate.header.verdict == "UNRESOLVED":
        check_undecided(certificate, allowed_steps(certificate) // UNDECIDED_SHARE)
    answers = tuple(pair for _, pair in sorted(writing.noted.items()))
    return ViewAnswers(answers, frozenset(writing.made), weakest_level(certificate))


def allowed_steps(certificate: Certificate) -> int:
    """Return how many steps a certificate and those nested in it may take together."""
    rows = (len(found) for one in every(certificate) for found in one.closure_rows.values())
    return max(LEAST_STEPS, STEPS_PER_CLOSURE_ROW * sum(rows))


def _check_pin(certificate: Certificate, pins: Collection[str]) -> None:
    if certificate.header.program not in pins:
        raise Rejected("pin", "these are not the rules that are pinned", "header.program")


def _check_nested_pins(certificate: Certificate, pins: Collection[str]) -> None:
    for position, inner in enumerate(certificate.nested):
        try:
            _check_pin(inner, pins)
            _check_nested_pins(inner, pins)
        except Rejected as reason:
            reason.within(f"proofs[{position}]")
            raise


def _check(certificate: Certificate, steps: int) -> tuple[Levels, int]:
    """Check a certificate after those nested in it; give its levels and the steps that are left."""
    for position, inner in enumerate(certificate.nested):
        try:
            _, steps = _check(inner, steps)
        except Rejected as reason:
            reason.within(f"proofs[{position}]")
            raise
    check_program(certificate.program)
    check_proofs(certificate)
    rows = Rows(certificate, steps)
    levels = _check_conclusions(certificate, rows)
    check_level(certificate)
    return levels, rows.steps


def _check_conclusions(certificate: Certificate, rows: Rows) -> Levels:
    absence = absence_confidence(certificate)
    levels = Levels()
    aggregates = Aggregates(certificate, rows, absence)
    closure = Closure(certificate, rows, aggregates, levels)
    closure.check()
    nodes = Nodes(certificate, rows, aggregates, levels)
    nodes.check()
    carrying = check_verdict(certificate, rows, absence, levels)
    check_under(certificate, rows)
    check_all_used(nodes.rests_on, carrying | closure.consulted | rows.consulted)
    for position in range(len(certificate.summaries)):
        if position not in aggregates.used_summaries:
            raise Rejected("unused", "nothing needs this summary", f"summaries[{position}]")
    return levels
