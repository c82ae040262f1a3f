"""Facts that another certificate proves: the nested certificates and what is taken over from them.

In: a certificate with its nested ones, all of them read.  Out: nothing, or ``Rejected``.
Invariant: a row is taken over as the goal that its certificate proves, with its confidence and with
every assumption it was proved under, so PROVED UNDER stays UNDER; nesting is by containment, so no
proof can rest on itself.  That a nested certificate is right, its own check says.  FORMAT.md,
section 5a.

Example: a nested certificate of ``is_vip("C002")`` for the row ``("C001",)`` is rejected.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .canonical import Rejected
from .values import is_known

if TYPE_CHECKING:
    from collections.abc import Iterator

    from .canonical import Json
    from .certificate import Certificate
    from .records import Assumption, FactGroup, Proved, Source

MOST_DEEP: Final = 8
MOST: Final = 256
_PROVED: Final = frozenset({"PROVED", "PROVED_UNDER"})


def check_nesting(tree: dict[str, Json]) -> None:
    """Reject certificates that nest too deep, or that are too many, before they are read."""
    level = [tree]
    total = 0
    for _ in range(MOST_DEEP):
        level = [inner for outer in level for inner in _inner(outer)]
        total += len(level)
        if total > MOST:
            raise Rejected("proof", f"more than {MOST} certificates are nested", "proofs")
        if not level:
            return
    raise Rejected("proof", f"certificates nest more than {MOST_DEEP} deep", "proofs")


def _inner(tree: dict[str, Json]) -> list[dict[str, Json]]:
    listed = tree.get("proofs")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def every(certificate: Certificate) -> Iterator[Certificate]:
    """Yield the certificate and all that are nested in it."""
    waiting = [certificate]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += one.nested


def check_proofs(certificate: Certificate) -> None:
    """Reject a row that its certificate does not prove, and assumptions that were left out."""
    evidence = certificate.evidence
    attested: list[set[str]] = [set() for _ in evidence.assumptions]
    groups: dict[int, list[FactGroup]] = {}
    for group in evidence.facts:
        groups.setdefault(group.source, []).append(group)
        hashed = evidence.sources[group.source].attestation
        if hashed is not None and group.assumption is not None:
            attested[group.assumption].add(hashed.hash)
    for one in evidence.filled:
        hashed = evidence.sources[one.source].attestation
        if hashed is not None:
            attested[one.assumption].add(hashed.hash)
    used: set[int] = set()
    for position, source in enumerate(evidence.sources):
        if source.proof is None:
            continue
        used.add(source.proof.certificate)
        try:
            inner = _check_row(certificate, source, source.proof, groups.get(position, []))
            _check_imported(evidence.assumptions, source.proof, inner, attested)
        except Rejected as rejected:
            rejected.within(f"sources[{position}].proof")
            raise
    for position in range(len(certificate.nested)):
        if position not in used:
            raise Rejected("unused", "no fact rests on this certificate", f"proofs[{position}]")
    _check_attested(evidence.assumptions, attested)


def _check_row(
    certificate: Certificate, source: Source, proved: Proved, groups: list[FactGroup]
) -> Certificate:
    """Return the certificate that proves the source's only row."""
    if proved.certificate >= len(certificate.nested):
        raise Rejected("proof", "there is no such certificate", "certificate")
    inner = certificate.nested[proved.certificate]
    header = inner.header
    if header.verdict not in _PROVED:
        raise Rejected("proof", "the certificate does not prove its goal")
    if source.name != inner.identity:
        raise Rejected("proof", "the source has the name of another certificate")
    if source.confidence != header.confidence:
        raise Rejected("proof", "the certificate has another confidence")
    shown = [(group.predicate, row) for group in groups for row in group.rows]
    ground = all(map(is_known, (*header.goal.pattern, *(cell for _, row in shown for cell in row))))
    # Each certificate makes structures of its own, so texts are compared.
    wanted = (header.goal.predicate, tuple(map(str, header.goal.pattern)))
    if not ground or len(groups) != 1 or source.rows != 1:
        raise Rejected("proof", "the certificate proves another fact")
    if [(name, tuple(map(str, row))) for name, row in shown] != [wanted]:
        raise Rejected("proof", "the certificate proves another fact")
    kinds = [one.program.declarations[header.goal.predicate].kinds for one in (certificate, inner)]
    if kinds[0] != kinds[1]:
        raise Rejected("proof", "the certificate declares columns of other kinds")
    return inner


def _check_imported(
    assumptions: tuple[Assumption, ...],
    proved: Proved,
    inner: Certificate,
    attested: list[set[str]],
) -> None:
    """Reject assumptions that are not those of the nested verdict, in their order."""
    under = sorted(inner.header.under)
    if len(under) != len(proved.assumptions):
        raise Rejected("proof", "not all its assumptions are taken over", "assumptions")
    for number, (outer, own) in enumerate(zip(proved.assumptions, under, strict=True)):
        taken, meant = assumptions[outer], inner.evidence.assumptions[own]
        if (taken.kind, taken.text, taken.confidence) != (meant.kind, meant.text, meant.confidence):
            raise Rejected("proof", "the assumption is another", f"assumptions[{number}]")
        attested[outer].update(meant.attestations)


def _check_attested(assumptions: tuple[Assumption, ...], attested: list[set[str]]) -> None:
    """Reject an assumption that does not name exactly what was said by whom."""
    for position, (assumption, found) in enumerate(zip(assumptions, attested, strict=True)):
        if list(assumption.attestations) != sorted(found):
            place = f"assumptions[{position}].attestations"
            raise Rejected("attestation", "these are not the attestations it rests on", place)
