"""How often `catalog search` finds what somebody means who does not know the names.

In: nothing. Out: for each schema of `tests/catalog/search_queries.json` how many of its queries
have a wanted table or column as their first hit, among the first five, and the first twenty, with
synonyms and without. Run it with `python -m tests.bench.bench_search`.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from constat.catalog.schema import SchemaManager
from tests.catalog.schema_worlds import duckdb_file, managed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

QUERIES: Final = Path(__file__).parents[1] / "catalog" / "search_queries.json"
WITHIN: Final = (1, 5, 20)


class WithoutSynonyms(SchemaManager):
    """A catalog that takes each word as it stands."""

    def _alike(self, word: str, vocabulary: object) -> tuple[str, ...]:
        return ()


def worlds() -> Mapping[str, Any]:
    """Give the schemas by name: their tables with columns, comments, queries."""
    found: dict[str, Any] = json.loads(QUERIES.read_text(encoding="utf-8"))
    return found


def definition(world: Mapping[str, Any]) -> Iterator[str]:
    """Write the statements that make a schema; no table has a row."""
    for table, columns in world["tables"].items():
        listed = ", ".join(f'"{column}" VARCHAR' for column in columns)
        yield f'CREATE TABLE "{table}" ({listed})'
    for path, comment in world["comments"].items():
        table, column = path.split(".")
        said = comment.replace("'", "''")
        yield f"""COMMENT ON COLUMN "{table}"."{column}" IS '{said}'"""


def places(world: Mapping[str, Any], *, synonyms: bool = True) -> list[int]:
    """Give for each query how many hits come before a wanted one; 20 where none is found."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        duckdb_file(folder / "world.duckdb", *definition(world))
        catalog = managed(folder, 'databases: {s: "duckdb:///world.duckdb"}')
        if not synonyms:
            catalog = WithoutSynonyms(catalog.project, catalog._index)
        found = [_place(catalog, one) for one in world["queries"]]
        catalog.close()
    return found


def _place(catalog: SchemaManager, query: Mapping[str, Any]) -> int:
    hits = catalog.search(query["query"], ("table", "column"), WITHIN[-1]).hits
    names = [hit.name.removeprefix("s.").removeprefix("main.") for hit in hits]
    return next((at for at, one in enumerate(names) if one in query["wanted"]), WITHIN[-1])


def main() -> None:
    """Print the table."""
    sys.stdout.write(
        "| schema | queries | first | of five | of twenty | by words alone, of five |\n"
    )
    sys.stdout.write("|---|---:|---:|---:|---:|---:|\n")
    for name, world in worlds().items():
        found, plain = places(world), places(world, synonyms=False)
        counts = [sum(at < most for at in found) for most in WITHIN]
        cells = [name, len(found), *counts, sum(at < WITHIN[1] for at in plain)]
        sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")


if __name__ == "__main__":
    main()
