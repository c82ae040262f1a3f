"""Which tokens touch, and which have a space between them.

In: the tokens of a text and a place. Out: whether a space stands before that token. Invariant:
two tokens that touch are still two when they are read again: signs that could join, such as `-`
and `-`, stay apart. Example: `p(?x,-1):-q(?x).` has spaces as in `p(?x, -1) :- q(?x).`
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.syntax.operators import INFIX
from constat.syntax.words import AGGREGATE_WORDS

if TYPE_CHECKING:
    from constat.syntax.tokens import Tokens

_OPEN: Final = frozenset({"(", "[", "$", "@[", "@![", "!"})
_TOUCHES: Final = frozenset({")", "]", ",", ";", "."})
_TERM_ENDS: Final = frozenset({"variable", "number", "text", "wild", "date", ")", "]", "}"})


def spaced(tokens: Tokens, place: int, *, in_rule: bool, commented: bool = False) -> bool:
    """Whether a space stands before the token at `place`, on one line with the token before it.

    With `commented`, whether one stands before the comments between the two.
    """
    kinds = tokens.kinds
    before, kind = kinds[place - 1], kinds[place]
    if commented:
        return before not in _OPEN
    if before in _OPEN or kind in _TOUCHES or (before == "{" and kind == "}"):
        return False
    if before == "-" and kinds[place - 2] not in _TERM_ENDS:
        return kind == "-"
    if kind == ":":
        # `x: symbol` in a declaration, `sum ?x : { ... }` in a rule.
        return in_rule
    if kind == "(" and before == "name":
        return tokens.word(place - 1) in INFIX or _is_aggregate(tokens, place)
    return True


def _is_aggregate(tokens: Tokens, opener: int) -> bool:
    """Whether a bracket behind a word is the target of an aggregate and no list of arguments."""
    return tokens.word(opener - 1) in AGGREGATE_WORDS and tokens.is_target(opener)
