"""Read `catalog:`: what of the sources is shown to people and models besides names and types.

In: a node of the configuration. Out: a `CatalogSetting`. Invariant: without the section no value of
a source is shown, kept or sent. Names are a database, `database.table` or `database.table.column`.
Example: `catalog: {samples: [sales.accounts.tier], hidden: [sales.salaries]}`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from constat.project.document import Text, printable
from constat.project.suggesting import suggestion

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.project.document import Node
    from constat.project.sections import Sections

_KEYS: Final = ("samples", "hidden", "seconds")
_FLAGS: Final = frozenset({"true", "false"})
_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class CatalogSetting:
    """Whose values may be shown (`every` or `samples`), what is `hidden`, how long a look takes."""

    every: bool = False
    samples: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    seconds: float = _SECONDS

    def shows(self, database: str, table: str, column: str) -> bool:
        """Whether values of a column may be shown."""
        return self.every or not self.samples.isdisjoint(_names(database, table, column))

    def shows_all(self, databases: Iterable[str]) -> bool:
        """Whether values of all databases may be shown, and so whatever follows from them."""
        return self.every or all(name.casefold() in self.samples for name in databases)

    def hides(self, database: str, table: str = "", column: str = "") -> bool:
        """Whether a table or a column is left out of the catalog."""
        return not self.hidden.isdisjoint(_names(database, table, column))


def read_catalog(node: Node | None, databases: Iterable[str], sections: Sections) -> CatalogSetting:
    """Read `catalog:`; `databases` are the names of the project's databases."""
    if node is None:
        return CatalogSetting()
    found = sections.table(node, "`catalog`", _KEYS)
    known = tuple(databases)
    samples = found.get("samples")
    flag = isinstance(samples, Text) and samples.text in _FLAGS
    return CatalogSetting(
        every=flag and sections.flag(samples, "`samples`"),
        samples=frozenset() if flag else _listed(samples, "`samples`", known, sections),
        hidden=_listed(found.get("hidden"), "`hidden`", known, sections),
        seconds=sections.seconds(found.get("seconds"), "`seconds`", _SECONDS),
    )


def _listed(
    node: Node | None, what: str, known: tuple[str, ...], sections: Sections
) -> frozenset[str]:
    """Read names; each begins with a database, so that a slip cannot show or hide nothing."""
    named = sections.texts(node, f"{what} of `catalog`")
    for one in named:
        if not any(one.text == name or one.text.startswith(f"{name}.") for name in known):
            first = one.text.partition(".")[0]
            hint = suggestion(first, known) or "write a database, or `database.table.column`"
            message = f"`{printable(one.text)}` in {what} begins with no database of the project"
            sections.complain("C0841", message, one, hint=hint)
    return frozenset(one.text.casefold() for one in named)


def _names(database: str, table: str, column: str) -> tuple[str, ...]:
    """Give the names under which a column may stand in the configuration."""
    parts = [database]
    if table:
        parts.append(f"{database}.{table}")
    if column:
        parts.append(f"{database}.{table}.{column}")
    return tuple(part.casefold() for part in parts)
