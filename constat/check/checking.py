"""Check one certificate from its bytes to its verdict.

In: bytes, and optionally the hash that the rules must have.  Out: a ``Report``; never an exception.
Invariant: a certificate is accepted only after every pass below has run to its end.

Example: ``check_certificate(b"{}").code == "canonical"``.
"""

from __future__ import annotations

from .aggregates import Aggregates, absence_confidence
from .canonical import read
from .certificate import Certificate, read_certificate
from .closure import Closure
from .nodes import Nodes, check_all_used
from .rejection import Rejected
from .report import Report, accepted, rejected
from .rows import Rows
from .strata import check_program
from .verdict import check_under, check_verdict


def check_certificate(data: bytes, *, pin: str | None = None) -> Report:
    """Check a certificate; ``pin`` is the ``sha256:...`` of the rules that are trusted."""
    try:
        document = read(data)
        certificate = read_certificate(document)
        _check_pin(certificate, pin)
        check_program(certificate.program)
        _check_conclusions(certificate)
        return accepted(certificate, document)
    except Rejected as reason:
        return rejected(reason)
    except (RecursionError, MemoryError):
        return rejected(Rejected("limit", "the certificate is too large to check"))


def _check_pin(certificate: Certificate, pin: str | None) -> None:
    if pin is not None and certificate.header.program != pin:
        raise Rejected("pin", "these are not the rules that are pinned", "header.program")


def _check_conclusions(certificate: Certificate) -> None:
    rows = Rows(certificate)
    absence = absence_confidence(certificate)
    aggregates = Aggregates(certificate, rows, absence)
    closure = Closure(certificate, rows, aggregates)
    closure.check()
    nodes = Nodes(certificate, rows, aggregates)
    nodes.check()
    carrying = check_verdict(certificate, rows, absence)
    check_under(certificate, rows)
    check_all_used(nodes.rests_on, carrying | closure.consulted | rows.consulted)
    for position in range(len(certificate.summaries)):
        if position not in aggregates.used_summaries:
            raise Rejected("unused", "nothing needs this summary", f"summaries[{position}]")
