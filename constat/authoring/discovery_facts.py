"""What a model may ask about facts, and what becomes of what it says.

In: goals and facts as text. Out: lines. Invariant: nothing here makes a fact true: `propose` keeps
a wish that a person may confirm; a fact of a model never counts as stated by a person. Example:
`resolve("is_vip(C001)")` gives `PROVED is_vip(C001)`.
"""

from __future__ import annotations

from typing import Protocol


class FactAccess(Protocol):
    """Facts of a project, for as long as one question is worked on. May raise `ConstatError`."""

    def resolve(self, goal: str) -> str:
        """Decide a goal, or find its answers; tell what is missing."""
        ...

    def propose(self, fact: str, reason: str) -> str:
        """Keep a fact as a proposal for a person, and tell what it takes to become one."""
        ...

    def extract(self, text: str) -> str:
        """Find the facts that a text may state, in the predicates of the project."""
        ...

    def known(self, predicate: str) -> str:
        """List facts that people have stated or the configuration holds; all where it is empty."""
        ...

    def unresolved(self) -> str:
        """List the facts that were missing for the goals so far."""
        ...
