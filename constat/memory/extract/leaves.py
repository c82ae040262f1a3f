"""Arguments and answers that are JSON, leaf by leaf.

In: a passage that is JSON.  Out: ``tool_arg`` or ``leaf``: key is the path, value the leaf; for an
argument that is a statement of SQL also ``query``.  Invariants: the span is exactly the leaf's;
what is no JSON gives none here.

Example: ``{"order": {"lines": [{"price": 7}]}}`` has ``order.lines[0].price`` = 7.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact_at
from constat.memory.extract.reading import path_text
from constat.memory.facts import Span
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.extract.reading import Reading
    from constat.memory.facts import Fact

_STATEMENT: Final = re.compile(
    r"\s{0,50}(?:(?:select|with|insert|update|delete|create|alter|drop|explain|merge)\s)",
    re.IGNORECASE,
)
_STATEMENTS: Final = frozenset({"sql", "query", "statement", "sql_query"})


def from_json(reading: Reading) -> Iterator[Fact]:
    """Yield a fact for each leaf."""
    passage = reading.passage
    asked = passage.place is Place.ARGUMENTS
    for member in reading.members or ():
        span = Span(passage.archive, member.start, member.end)
        said = Said(
            "tool_arg" if asked else "leaf", path_text(member.path), member.value, member.kind
        )
        yield fact_at(passage, said, span, "json")
        if asked and member.name in _STATEMENTS and _STATEMENT.match(member.value):
            yield fact_at(passage, Said("query", passage.tool, member.value), span, "json")
