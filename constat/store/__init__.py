"""What Constat keeps: the facts that people state."""

from __future__ import annotations

from constat.store.facts import FactStore, StoredFact

__all__ = ["FactStore", "StoredFact"]
