"""What went wrong, as tools tell it: exceptions, exit codes, statuses of HTTP, refusals.

In: the answer of a tool.  Out: ``error`` (key: its kind, value: the line that says it).
Invariants: of an exception's trace the last line is taken, which says what it was; an answer that
was marked as failed has at least one error.

Example: ``KeyError: 'total'`` at the end of a trace is an error of the kind ``KeyError``.
"""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_MOST: Final = 50
_LINE: Final = 500
_KINDS: Final = re.compile(
    r"""
      ^(?P<exception>(?:[A-Za-z_]\w{0,60}\.){0,5}[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit))\b[:(]?
    | ^\s{0,8}(?P<said>Error|ERROR|error|FATAL|fatal|Failure|FAILED)\b[: ]
    | \b(?:exit(?:ed)?\ (?:code|status|with)|return\ code)\D{0,12}(?P<exit>[1-9][0-9]{0,2})\b
    | \b(?:HTTP(?:/[0-9.]{1,4})?|status)\D{0,12}(?P<status>[45][0-9]{2})\b
    | (?P<shell>command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|timed\ out)
    """,
    re.VERBOSE | re.MULTILINE,
)


def from_failures(passage: Passage) -> Iterator[Fact]:
    """Yield a fact for each line that says what went wrong."""
    if passage.place is not Place.ANSWER:
        return
    told = False
    for found in islice(_KINDS.finditer(passage.text), _MOST):
        kind = found.group("exception") or found.lastgroup or ""
        code = found.group("exit") or found.group("status")
        start = passage.text.rfind("\n", 0, found.end()) + 1
        yield _error(passage, f"{kind} {code}" if code else kind, start)
        told = True
    if passage.failed and not told:
        yield _error(passage, "failed", 0)


def _error(passage: Passage, kind: str, start: int) -> Fact:
    end = passage.text.find("\n", start)
    line = passage.text[start : end if end >= 0 else None][:_LINE]
    return fact(passage, Said("error", kind, line), start, start + len(line), "failure")
