"""Check one certificate from its bytes to its verdict.

In: bytes, and optionally the hash that the rules must have.  Out: a ``Report``; never an exception.
Invariant: a certificate is accepted only after every pass below has run to its end, for it and for
every certificate nested in it.

Example: ``check_certificate(b"{}").code == "canonical"``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from .aggregates import Aggregates, absence_confidence
from .canonical import read
from .certificate import Certificate, read_certificate
from .closure import Closure
from .levels import Levels
from .nodes import Nodes, check_all_used
from .proofs import check_nesting, check_proofs, every
from .rejection import Rejected
from .report import Report, accepted, rejected
from .rows import Rows
from .strata import check_program
from .undecided import check_undecided
from .verdict import check_level, check_under, check_verdict

if TYPE_CHECKING:
    from collections.abc import Collection

LEAST_STEPS: Final = 5_000_000
STEPS_PER_CLOSURE_ROW: Final = 2_000


def check_certificate(
    data: bytes, *, pin: str | None = None, trusted: Collection[str] = ()
) -> Report:
    """Check a certificate; ``pin`` is the ``sha256:...`` of the rules that it must have.

    Where there is a pin, the rules of nested certificates are these or among the ``trusted``.
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
            check_undecided(certificate, allowed_steps(certificate))
        return accepted(certificate, document, levels)
    except Rejected as reason:
        return rejected(reason)
    except (RecursionError, MemoryError):
        return rejected(Rejected("limit", "the certificate is too large to check"))


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
