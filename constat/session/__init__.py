"""The Python SDK, and the one place where the parts of Constat are put together.

In: a project folder. Out: verdicts with certificates, stated facts, checked rules and certificates.
Invariant: nothing is read before it is needed, and each answer is read anew from its sources
unless its `.input` has a `max_age`.
Example: `Session("examples/vip").prove("is_vip(C001)").verdict`.
"""

from __future__ import annotations

from constat.session.answers import (
    AnswerColumn,
    AnswerRow,
    Answers,
    OpenReason,
    Rows,
    SecondRows,
    Settled,
)
from constat.session.leaves import LeafReport
from constat.session.rereading import Leaf
from constat.session.result import Result
from constat.session.session import Session
from constat.session.stated import StatedFacts

__all__ = [
    "AnswerColumn",
    "AnswerRow",
    "Answers",
    "Leaf",
    "LeafReport",
    "OpenReason",
    "Result",
    "Rows",
    "SecondRows",
    "Session",
    "Settled",
    "StatedFacts",
]
