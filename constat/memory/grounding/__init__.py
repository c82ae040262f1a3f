"""The gate that a fact has to pass before it may be said that a text says it.

In: a claim, a short quote that is to stand for it, the text.  Out: where the text says it, or why
it does not.  Invariants: no model is asked; a claim passes only if code finds the quote in that
text, and every constant of the claim in the sentence of the quote, with its polarity and unit.

Example: ``ground(Claim("tier", ("C009", "gold")), "is gold", "C009 is gold.", Author.HUMAN)``.
"""

from __future__ import annotations

from constat.memory.grounding.gate import Claim, Force, Grounded, Reason, Refused, ground

__all__ = ["Claim", "Force", "Grounded", "Reason", "Refused", "ground"]
