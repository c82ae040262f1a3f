"""Read `record:`: whose answers are recorded, and for how long.

In: a node of the configuration. Out: a `RecordSetting`. Invariant: each name is a source of the
project. Example: `record: {sources: [shop, config], keep: 400d}`; `record: true` means all sources.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.project.document import Table, Text
from constat.project.suggesting import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.project.document import Node
    from constat.project.sections import Sections

CONFIG: Final = "config"
_KEYS: Final = ("sources", "keep")
_FLAGS: Final = frozenset({"true", "false"})
_DAYS: Final = re.compile(r"([1-9][0-9]{0,5})d\Z", re.ASCII)


@dataclass(frozen=True, slots=True)
class RecordSetting:
    """The sources whose answers are recorded, and for how many days; `None` is for ever."""

    every: bool = False
    sources: frozenset[str] = frozenset()
    days: int | None = None

    def covers(self, source: str) -> bool:
        """Whether answers of a source are recorded."""
        return self.every or source in self.sources


def read_record(node: Node | None, names: Iterable[str], sections: Sections) -> RecordSetting:
    """Read `record:`; `names` are the sources there are besides the configuration."""
    known = (CONFIG, *names)
    if node is None:
        return RecordSetting()
    if isinstance(node, Text) and node.text in _FLAGS:
        return RecordSetting(every=sections.flag(node, "`record`"))
    if not isinstance(node, Table):
        return RecordSetting(sources=_sources(node, known, sections))
    found = sections.table(node, "`record`", _KEYS)
    listed = found.get("sources")
    every = listed is None or (isinstance(listed, Text) and listed.text == "true")
    return RecordSetting(
        every=every,
        sources=frozenset() if every else _sources(listed, known, sections),
        days=_days(found.get("keep"), sections),
    )


def _sources(node: Node | None, known: tuple[str, ...], sections: Sections) -> frozenset[str]:
    named = sections.texts(node, "`record`")
    for one in named:
        if one.text not in known:
            hint = suggestion(one.text, known)
            sections.complain("C0725", "`record` names no source of the project", one, hint=hint)
    return frozenset(one.text for one in named)


def _days(node: Node | None, sections: Sections) -> int | None:
    if node is None:
        return None
    written = sections.text(node, "`keep`")
    days = _DAYS.match(written)
    if days is None:
        hint = "write days, such as `400d`"
        sections.complain("C0725", "`keep` is no number of days", node, hint=hint)
        return None
    return int(days[1])
