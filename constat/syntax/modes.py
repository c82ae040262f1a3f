"""The two readings of a rule file: our strict dialect, and all of what Souffle takes so far.

In: the text of a file. Out: its mode. Invariant: the parser is one; the mode only tells it which
of its errors are warnings, because the text still has one meaning in Souffle. Example: a file with
`.pragma "constat" "0.1"` is strict; in souffle mode `p(x) :- q(x).` draws C0116 as a warning.
"""

from __future__ import annotations

from dataclasses import replace
from enum import Enum
from typing import Final

from constat.diagnostics import Diagnostic, Severity
from constat.syntax.constants import read_text
from constat.syntax.lexer import lex
from constat.syntax.words import RESERVED


class Mode(Enum):
    """How a file is read. The value is how users write it."""

    STRICT = "strict"
    SOUFFLE = "souffle"


# What strict refuses and Souffle reads in one way: bare names, declarations in the old form, an
# aggregate as an argument, a negated group, a comment with three strokes inside a rule.
_ACCEPTED: Final = frozenset({"C0116", "C0134", "C0135", "C0137", "C0175"})

NOT_RESERVED: Final = frozenset({"and", "if", "is", "not", "or"})
"""Words that strict reserves for its help on habits of other languages; Souffle does not."""


def reserved_words(mode: Mode) -> frozenset[str]:
    """Give the words that cannot be names."""
    return RESERVED - NOT_RESERVED if mode is Mode.SOUFFLE else RESERVED


def softened(diagnostic: Diagnostic, mode: Mode) -> Diagnostic:
    """Give the diagnostic, as a warning where the mode accepts what strict refuses."""
    if mode is Mode.SOUFFLE and diagnostic.code in _ACCEPTED:
        return replace(diagnostic, severity=Severity.WARNING)
    return diagnostic


def mode_of(text: str, source: str) -> Mode:
    """Tell the mode of a file by its pragma `constat`."""
    tokens = lex(text, source, [])
    for place, kind in enumerate(tokens.kinds):
        if kind == "directive" and tokens.word(place) == ".pragma":
            after = place + 1
            named = tokens.kinds[after] == "text" and read_text(tokens.word(after))[0]
            if named == "constat":
                return Mode.STRICT
    return Mode.SOUFFLE
