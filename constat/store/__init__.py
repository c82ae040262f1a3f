"""What Constat keeps: facts that people state, certificates, and in `answers` what sources said.

`answers` is loaded by whoever needs it: most programs keep none.
"""

from __future__ import annotations

from constat.store.certificates import CertificateStore
from constat.store.facts import FactStore, StoredFact

__all__ = [
    "CertificateStore",
    "FactStore",
    "StoredFact",
]
