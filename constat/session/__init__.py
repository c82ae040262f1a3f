"""The Python SDK, and the one place where the parts of Constat are put together.

In: a project folder. Out: verdicts with certificates, stated facts, checked rules and certificates.
Invariant: nothing is read before it is needed, and each answer is read anew from its sources
unless its `.input` has a `max_age`.
A name is looked up in its module when it is first used: running a program over files needs no
project, and loads nothing that reads one.
Example: `Session("examples/vip").prove("is_vip(C001)").verdict`.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from constat.session.answers import (
        AnswerColumn,
        AnswerRow,
        Answers,
        OpenReason,
        Rows,
        SecondRows,
        Settled,
    )
    from constat.session.asynchronous import AsyncSession
    from constat.session.hypotheses import MissingFacts, WhatIf, WhyNotResult
    from constat.session.leaves import Leaf, LeafReport
    from constat.session.options import LogAs
    from constat.session.result import Answered, Result
    from constat.session.session import Session
    from constat.session.stated import StatedFacts

__all__ = [
    "AnswerColumn",
    "AnswerRow",
    "Answered",
    "Answers",
    "AsyncSession",
    "Leaf",
    "LeafReport",
    "LogAs",
    "MissingFacts",
    "OpenReason",
    "Result",
    "Rows",
    "SecondRows",
    "Session",
    "Settled",
    "StatedFacts",
    "WhatIf",
    "WhyNotResult",
]

_OTHER_HOMES: Final = (
    ("Answered", "result"),
    ("AsyncSession", "asynchronous"),
    ("Leaf", "leaves"),
    ("LeafReport", "leaves"),
    ("LogAs", "options"),
    ("MissingFacts", "hypotheses"),
    ("Result", "result"),
    ("Session", "session"),
    ("StatedFacts", "stated"),
    ("WhatIf", "hypotheses"),
    ("WhyNotResult", "hypotheses"),
)


def __getattr__(name: str) -> object:
    """Find a public name in its module; `AttributeError` for any other name."""
    if name not in __all__:
        message = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(message)
    home = dict(_OTHER_HOMES).get(name, "answers")
    value: object = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    return value


def __dir__() -> list[str]:
    """List the public names without loading their modules."""
    return list(__all__)
