"""Certificates in the notations of others: provenance, graphs, tables, drawings.

In: the bytes of a certificate.  Out: text or bytes; a module for each notation, and
``constat.proof.formats`` names them.  Invariant: an export adds nothing to the certificate and
proves nothing by itself; it carries the proof's identity, so that the certificate can be found.

All are written from the same ``Document`` and its ``Steps``, in which premises come first.
"""

from constat.proof.export.document import Document
from constat.proof.export.steps import Premise, Step, Steps, steps_of

__all__ = ["Document", "Premise", "Step", "Steps", "steps_of"]
