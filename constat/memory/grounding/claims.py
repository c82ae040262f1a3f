"""What goes into the gate and what comes out of it.

In: nothing.  Out: frozen values.  Invariant: places are bytes of the text in UTF-8, as the archive
keeps it; they hold the constants in the order of the claim.

Example: ``Refused(Reason.CONSTANT, "250001")`` says that the sentence does not name that number.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Force(Enum):
    """How a text has to speak for a claim to follow from it."""

    STATED = "stated"  # plainly: no question, no supposition, no "about" before a number
    DEMANDED = "demanded"  # as what shall be so
    MENTIONED = "mentioned"  # in any way, also asking for it


@dataclass(frozen=True, slots=True)
class Claim:
    """An atom that somebody proposes; a constant is a value as it is written in goals."""

    predicate: str
    constants: tuple[str, ...]
    negated: bool = False
    force: Force = Force.STATED


class Reason(Enum):
    """Why a claim is refused."""

    AUTHOR = "the author of this text cannot say such a thing"
    EMPTY = "there is no constant or no quote to look for"
    TOO_LONG = "the quote, a constant or the text is too long"
    NOT_FOUND = "the quote does not stand in the text"
    SEVERAL_SENTENCES = "no single one of the sentences that the quote runs over says all of it"
    CONSTANT = "the sentence of the quote does not name this constant"
    MIXED = "between two constants the sentence names another thing with a number of its own"
    INEXACT = "the sentence gives this number only about, or as a bound"
    POLARITY = "the sentence denies what the claim affirms, or the reverse"
    QUESTION = "the sentence asks and does not state"
    SUPPOSED = "the sentence supposes, wishes or guesses and does not state"
    NOT_DEMANDED = "the sentence demands nothing"


@dataclass(frozen=True, slots=True)
class Grounded:
    """Where the text says it: the sentence, the quote in it, and each constant."""

    sentence: tuple[int, int]
    quote: tuple[int, int]
    constants: tuple[tuple[int, int], ...]
    exact: bool  # the quote stands there letter by letter


@dataclass(frozen=True, slots=True)
class Refused:
    """Why the text does not say it; ``detail`` is the constant or word that decided, as given."""

    reason: Reason
    detail: str = ""
