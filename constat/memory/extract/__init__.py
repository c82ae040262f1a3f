"""Extractors: from passages to facts, without a model, each time the same.

In: a passage.  Out: facts with the bytes they stand on.  Invariants: an extractor never fails and
never waits; it takes time in proportion to the text.  ``by_model`` is apart: it asks a model, where
somebody wants that, and everything it says has to pass the gate of ``grounding``.
"""

from constat.memory.extract.calls import EXTRACTORS, facts_of

__all__ = ["EXTRACTORS", "facts_of"]
