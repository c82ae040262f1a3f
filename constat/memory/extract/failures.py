"""What went wrong, as tools tell it: exceptions, exit codes, statuses of HTTP, refusals.

In: the answer of a tool.  Out: ``error`` (key: its kind, value: the line that says it).
Invariants: of an exception's trace the last line is taken, which says what it was; an answer that
was marked as failed has at least one error.  Of an answer in JSON the members count that are named
for it, within three steps of the top.

Example: ``KeyError: 'total'`` at the end of a trace is an error of the kind ``KeyError``.
"""

from __future__ import annotations

import re
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact, fact_at
from constat.memory.facts import Span
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Member, Reading
    from constat.memory.facts import Fact
    from constat.memory.passages import Passage

_MOST: Final = 50
_LINE: Final = 500
_DEEPEST: Final = 3
_MESSAGES: Final = frozenset({"error", "error_message", "errormessage", "exception", "traceback"})
_FLAGS: Final = MappingProxyType(
    {"ok": "false", "success": "false", "iserror": "true", "is_error": "true"}
)
_STATES: Final = frozenset({"status", "state", "result"})
_BAD: Final = frozenset({"error", "failed", "failure"})
_KINDS: Final = re.compile(
    r"""
      ^(?P<exception>(?:[A-Za-z_]\w{0,60}\.){0,5}[A-Z]\w{0,60}(?:Error|Exception|Warning|Interrupt|Exit))\b[:(]?
    | ^\s{0,8}(?P<said>Error|ERROR|error|FATAL|fatal|Failure|FAILED)\b[: ]
    | \b(?:exit(?:ed)?\ (?:code|status|with)|return\ code)\D{0,12}(?P<exit>[1-9][0-9]{0,2})\b
    | \b(?:HTTP(?:/[0-9.]{1,4})?|status)\D{0,12}(?P<status>[45][0-9]{2})\b
    | (?P<sql>\bno\ such\ (?:table|column)|\bsyntax\ error\b|\bSQLSTATE|\bORA-[0-9]{5}
        |\b(?:relation|column|table)\ \S{1,100}\ does\ not\ exist)
    | (?P<shell>command\ not\ found|No\ such\ file\ or\ directory|Permission\ denied|timed\ out)
    """,
    re.VERBOSE | re.MULTILINE,
)


def from_failures(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each line that says what went wrong."""
    passage = reading.passage
    if passage.place is not Place.ANSWER:
        return
    told, last = False, -1
    for member in reading.members or ():
        if _tells(member):
            span = Span(passage.archive, member.start, member.end)
            yield fact_at(passage, Said("error", member.name, member.value), span, "failure")
            told = True
    for found in islice(_KINDS.finditer(passage.text), _MOST):
        kind = found.group("exception") or found.lastgroup or ""
        code = found.group("exit") or found.group("status")
        start = passage.text.rfind("\n", 0, found.end()) + 1
        if start != last:
            # A line tells one error, however many words in it say so.
            yield _error(passage, f"{kind} {code}" if code else kind, start)
        told, last = True, start
    if passage.failed and not told:
        yield _error(passage, "failed", 0)


def _tells(member: Member) -> bool:
    """Tell whether a member of an answer in JSON says that something went wrong."""
    name, value = member.name.lower(), member.value.lower()
    if len(member.path) > _DEEPEST:
        return False
    if name in _MESSAGES:
        return member.kind == "text" and bool(value.strip())
    if name in _FLAGS:
        return value == _FLAGS[name]
    return name in _STATES and value in _BAD


def _error(passage: Passage, kind: str, start: int) -> Fact:
    end = passage.text.find("\n", start)
    line = passage.text[start : end if end >= 0 else None][:_LINE]
    return fact(passage, Said("error", kind, line), start, start + len(line), "failure")
