"""The one way in which evaluating a term, a comparison or an aggregate fails."""

from __future__ import annotations


class EvaluationError(ValueError):
    """A rule instance errs. `str()` is the reason; it never quotes text that came from outside.

    What follows is the engine's business: an instance that errs is unknown, it is never dropped.
    """
