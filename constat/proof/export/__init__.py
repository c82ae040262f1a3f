"""Certificates in the notations of others: GraphML for graphs, PROV-JSON for provenance.

In: the bytes of a certificate.  Out: text.  Invariant: an export adds nothing to the certificate
and proves nothing by itself; it carries the proof's identity, so that the certificate can be found.
"""

from __future__ import annotations

from constat.proof.export.graphml import to_graphml
from constat.proof.export.prov_json import to_prov_json

__all__ = ["to_graphml", "to_prov_json"]
