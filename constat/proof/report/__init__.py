"""Reports of proofs, and the second checker that sits in them.

In: the bytes of a certificate.  Out: pages that people read.  Invariant: a report says nothing that
the certificate does not.

Example: ``checker_source()`` is the script by which a report checks itself.
"""

from constat.proof.report.markup import checker_source

__all__ = ["checker_source"]
