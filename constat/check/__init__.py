"""The independent checker: standard library only, and nothing of the rest of Constat.

In: the bytes of a certificate.  Out: a ``Report``.  Invariant: what is accepted follows from the
rules and rows that the certificate shows, whoever wrote it and however.  FORMAT.md is the contract.

Example::

    from constat.check import check_certificate

    report = check_certificate(data, pin=trusted_rules)
    print(report.verdict or report.reason)
"""

from .checking import check_certificate
from .report import Report

__all__ = ["Report", "check_certificate"]
