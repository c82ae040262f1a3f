"""What rows of bulk evaluation would be called if what is computed were proved."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from constat.evaluation import Verdict
from constat.session.answers import Computed

if TYPE_CHECKING:
    from constat.session import AnswerRow

_HELD = MappingProxyType({Computed.CERTAIN: Verdict.PROVED, Computed.UNDER: Verdict.PROVED_UNDER})
_WORDS = (
    ("COMPUTED", "PROVED"),
    ("computed under assumptions, not checked", "proved under assumptions"),
    ("computed, not checked", "proved"),
    ("None was found", "There is none"),
    ("No others were found", "There are no others"),
    ("no others were found", "there are no others"),
)


def held(row: AnswerRow) -> Verdict:
    """Give a row's verdict, as if what was computed were proved."""
    return row.verdict if isinstance(row.verdict, Verdict) else _HELD[row.verdict]


def as_proved(text: str) -> str:
    """Write a text as it would be if what was computed were proved."""
    for word, other in _WORDS:
        text = text.replace(word, other)
    return text
