"""What Constat keeps: facts that people state, certificates, and in `answers` what sources said.

`answers` is loaded by whoever needs it: most programs keep none.
"""

from constat.store.facts import FactStore, StoredFact
from constat.store.replacing import CertificateStore

__all__ = [
    "CertificateStore",
    "FactStore",
    "StoredFact",
]
