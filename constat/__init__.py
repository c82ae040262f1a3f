"""Constat answers questions with proofs.

In: nothing.  Out: the version, and the few names a program needs to ask a question and read the
answer.  Invariant: ``import constat`` loads no other module of Constat.  Each name is looked up in
its own package when it is first used (PEP 562), so the command line starts fast and a program that
only reads ``__version__`` loads no database driver.

Example::

    from constat import Session

    with Session("examples/vip") as session:
        result = session.prove("is_vip(C001)")
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from constat.check import Report, check_certificate
    from constat.diagnostics import ConstatError
    from constat.evaluation import Verdict
    from constat.notebook import load_ipython_extension
    from constat.session import (
        Answered,
        AnswerRow,
        Answers,
        AsyncSession,
        MissingFacts,
        Result,
        Session,
        Settled,
        WhatIf,
        WhyNotResult,
    )
    from constat.session.cases import run_cases

__version__ = "0.1.0"

__all__ = [
    "AnswerRow",
    "Answered",
    "Answers",
    "AsyncSession",
    "ConstatError",
    "MissingFacts",
    "Report",
    "Result",
    "Session",
    "Settled",
    "Verdict",
    "WhatIf",
    "WhyNotResult",
    "__version__",
    "check_certificate",
    "load_ipython_extension",
    "run_cases",
]

_HOME_OF_NAME: Final = (
    ("AnswerRow", "constat.session"),
    ("Answered", "constat.session"),
    ("Answers", "constat.session"),
    ("AsyncSession", "constat.session"),
    ("ConstatError", "constat.diagnostics"),
    ("MissingFacts", "constat.session"),
    ("Report", "constat.check"),
    ("Result", "constat.session"),
    ("Session", "constat.session"),
    ("Settled", "constat.session"),
    ("Verdict", "constat.evaluation"),
    ("WhatIf", "constat.session"),
    ("WhyNotResult", "constat.session"),
    ("check_certificate", "constat.check"),
    ("load_ipython_extension", "constat.notebook"),
    ("run_cases", "constat.session.cases"),
)


def __getattr__(name: str) -> object:
    """Find a public name in its own package; ``AttributeError`` for any other name."""
    for public, home in _HOME_OF_NAME:
        if public == name:
            value: object = getattr(importlib.import_module(home), name)
            return value
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    """List the public names without loading their packages."""
    return list(__all__)
