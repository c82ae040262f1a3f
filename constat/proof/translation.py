"""What was asked and the goal that was proved: two things, and who says that they are one.

Verdict and certificate are about the goal alone. Whether the goal is what a question asks is no
part of the proof: a person typed the goal, or confirmed it, or nobody has.
"""

from __future__ import annotations

from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.logic import Constant, Variable, is_wildcard
from constat.proof.sentences import PLAIN, Speech, describe_row, style_of
from constat.syntax import print_term

if TYPE_CHECKING:
    from constat.logic import Atom, Column, Predicate, Term

NOBODY: Final = "whether that is what you asked, nobody has confirmed"
_UNRESOLVED: Final = 4
# What nobody has confirmed is settled for the goal, and for the question only if it is the same.
_UNDER: Final = MappingProxyType({0: 3, 5: 6})


class Status(Enum):
    """Who says that a goal is what was asked."""

    STATED = "stated"
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"


@frozen
class Translation:
    """A question, the goal that it was read as, and on whose word.

    `question` is empty where a person typed the goal. `lacks` tells what the question says and
    neither the goal nor its rules do, as far as that was noticed. `by` confirmed it at the time
    `at`. `ended` tells why an earlier confirmation counts no more. A confirmation is bound to
    question, goal, `day` (where the goal depends on the present day) and `below`, the hash of rules
    and sources below the goal. With `required` nothing is settled before somebody confirms it.
    """

    goal: str
    words: str
    status: Status = Status.STATED
    question: str = ""
    lacks: tuple[str, ...] = ()
    by: str = ""
    at: str = ""
    ended: str = ""
    day: str = ""
    below: str = ""
    required: bool = False

    @property
    def confirmed(self) -> bool:
        """Whether a person stands for it: by typing the goal, or by confirming it."""
        return self.status is not Status.UNCONFIRMED

    def exit_code(self, code: int) -> int:
        """Give the exit code of an answer whose goal has this one."""
        if self.confirmed:
            return code
        return _UNRESOLVED if self.required else _UNDER.get(code, code)

    def as_json(self) -> dict[str, object]:
        """Give it as JSON; who confirmed it and when are null where nobody has."""
        return {
            "question": self.question or None,
            "goal": self.goal,
            "words": self.words,
            "status": self.status.value,
            "lacks": list(self.lacks),
            "confirmed_by": self.by or None,
            "confirmed_at": self.at or None,
            "ended": self.ended or None,
        }


def goal_words(predicate: Predicate, goal: Atom, speech: Speech = PLAIN) -> str:
    """Say a goal by the sentence of its predicate: `?c is a VIP, for some ?c`."""
    shown = {
        column.name: speech.value(term.value, column.kind, column.name, style_of(column))
        if isinstance(term, Constant)
        else _asked(column, term)
        for column, term in zip(predicate.columns, goal.terms, strict=True)
    }
    said = describe_row(predicate, shown, speech)
    pairs = zip(predicate.columns, goal.terms, strict=True)
    names = " and ".join(_asked(column, one) for column, one in pairs if isinstance(one, Variable))
    return f"{said}, for some {names}" if names else said


def _asked(column: Column, term: Term) -> str:
    """Write what a goal asks for; `_` by its column, so that a sentence can speak of it."""
    return f"?{column.name}" if is_wildcard(term) else print_term(term)
