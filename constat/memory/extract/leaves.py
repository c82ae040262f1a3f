"""Arguments and answers that are JSON, leaf by leaf.

In: a passage that is one JSON value.  Out: ``tool_arg`` or ``leaf``: key is the path, value the
leaf.  Invariants: the span is exactly the leaf's; texts are without their quotes and escapes; what
is no JSON, or holds more than a bounded number of leaves, gives none here.

Example: ``{"order": {"lines": [{"price": 7}]}}`` has ``order.lines[0].price`` = 7.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from constat.memory.extract.making import Said, fact_at
from constat.memory.facts import Span
from constat.memory.json_spans import JsonSpanError, json_leaves
from constat.memory.passages import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory.facts import Fact
    from constat.memory.json_spans import Leaf, Path
    from constat.memory.passages import Passage

_MOST_LEAVES: Final = 20_000
_PLAIN: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_KINDS: Final = (("t", "truth"), ("f", "truth"), ("n", "nothing"), ('"', "text"))


def from_json(passage: Passage) -> Iterator[Fact]:
    """Yield a fact for each leaf."""
    if passage.place is Place.SAID or passage.content.lstrip()[:1] not in {b"{", b"["}:
        return
    try:
        leaves = json_leaves(passage.content)
    except JsonSpanError:
        return
    predicate = "tool_arg" if passage.place is Place.ARGUMENTS else "leaf"
    for leaf in leaves[:_MOST_LEAVES]:
        said = _said(predicate, passage.content, leaf)
        span = Span(passage.archive, leaf.start, leaf.end)
        yield fact_at(passage, said, span, "json")


def _said(predicate: str, content: bytes, leaf: Leaf) -> Said:
    written = content[leaf.start : leaf.end].decode()
    kind = dict(_KINDS).get(written[0], "number")
    value = str(json.loads(written)) if kind == "text" else written
    return Said(predicate, path_text(leaf.path), value, kind)


def path_text(path: Path) -> str:
    """Write a path: ``order.lines[0].price``; names that are no words are quoted."""
    parts = []
    for step in path:
        if isinstance(step, int):
            parts.append(f"[{step}]")
        elif _PLAIN.fullmatch(step):
            parts.append(f".{step}" if parts else step)
        else:
            parts.append(f"[{json.dumps(step, ensure_ascii=False)}]")
    return "".join(parts)
