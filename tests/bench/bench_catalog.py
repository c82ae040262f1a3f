"""The catalog: how fast 10,000 tables and 2,000 operations are indexed and searched; what it saves.

In: nothing, or a number of tables. Out: figures; with `python -m tests.bench.bench_catalog` also
the tokens of a prompt that tells everything, of databases, files, APIs and documents, beside those
of one that lets a model look up what it needs: the calls are those that a question about one table
and its neighbours, one operation, or one section takes.
Example: `python -m tests.bench.bench_catalog 10000`.
"""

from __future__ import annotations

import json
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.authoring import DiscoveryTools, PromptBuilder
from constat.catalog import SchemaManager
from constat.documents import Documents
from constat.memory.tokens import estimate
from constat.project import load_project
from constat.store.catalog import CatalogIndex
from tests.bench.measuring import Timing, figure, once

if TYPE_CHECKING:
    from tests.bench.measuring import Figure

TABLES: Final = 10_000
OPERATIONS: Final = 2_000
_NOUNS: Final = (
    *("customer", "order", "invoice", "product", "shipment", "payment", "account", "ledger"),
    *("claim", "policy", "contract", "supplier", "warehouse", "employee", "campaign", "ticket"),
)
_PARTS: Final = ("", "_line", "_item", "_history", "_audit", "_tag", "_note", "_event", "_state")
_COLUMNS: Final = (
    *("name TEXT", "created_at TEXT", "updated_at TEXT", "status TEXT", "amount NUMERIC(12, 2)"),
    *("region TEXT", "currency TEXT", "quantity INTEGER", "due_on DATE", "note TEXT"),
    *("external_reference TEXT", "approved_by TEXT", "discount REAL", "priority INTEGER"),
)
_QUESTIONS: Final = (
    "customer",
    "invoice line amount",
    "ledger audit",
    "status",
    "amount region currency",
    "warehouse history 4711",
    "approved discount",
    "shipm",
    "nothing of that sort",
    "payment due",
    # Words that most tables have, many of them at once, and beginnings of words.
    "id",
    "name status amount",
    "created at updated at status amount region currency quantity due on note external reference",
    "customer order invoice product",
    "cust ord inv prod",
    "customers who bought products last year",
)
_ROUNDS: Final = 5
_ENDINGS: Final = ("csv", "jsonl", "json")


def schema(tables: int, columns: int, seed: int = 1) -> str:
    """Write the definitions of a database, always the same ones."""
    chosen = random.Random(seed)
    found = []
    for number in range(tables):
        noun = _NOUNS[number % len(_NOUNS)]
        name = f"{noun}{_PARTS[number // len(_NOUNS) % len(_PARTS)]}_{number}"
        other = chosen.choice(_NOUNS)
        listed = ", ".join(chosen.sample(_COLUMNS, columns))
        found.append(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, {other}_id INTEGER, {listed});")
    return "\n".join(found)


def project(folder: Path, databases: int, tables: int, columns: int = 8) -> SchemaManager:
    """Make a project of some SQLite files, and its catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(databases):
        with closing(sqlite3.connect(folder / f"db{number}.sqlite")) as connection:
            script = schema(tables, columns, number)
            connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script} COMMIT;")
    listed = "".join(f"  db{n}: sqlite:///db{n}.sqlite\n" for n in range(databases))
    (folder / "constat.yaml").write_text(f"databases:\n{listed}", encoding="utf-8")
    return manager(folder)


def description(operations: int, seed: int = 1) -> dict[str, object]:
    """Describe an API: each operation has a parameter and a list of rows, always the same ones."""
    chosen = random.Random(seed)
    paths = {}
    for number in range(operations):
        noun = _NOUNS[number % len(_NOUNS)]
        named = [one.split()[0] for one in chosen.sample(_COLUMNS, 8)]
        fields = {one: {"type": "string"} for one in named}
        row = {"type": "object", "required": named[:4], "properties": fields}
        content = {"application/json": {"schema": {"type": "array", "items": row}}}
        key = {"name": f"{noun}_id", "in": "path", "required": True, "schema": {"type": "integer"}}
        paths[f"/{noun}/{number}/{{{noun}_id}}"] = {
            "get": {
                "operationId": f"list{noun.title()}{number}",
                "summary": f"The {named[0]} and {named[1]} of one {noun}.",
                "parameters": [key],
                "responses": {"200": {"description": "The rows.", "content": content}},
            }
        }
    return {"openapi": "3.0.3", "info": {"title": "shop", "version": "1"}, "paths": paths}


def apis(folder: Path, number: int, operations: int) -> SchemaManager:
    """Add APIs to a project, or make one of them; give its catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    listed = "apis:\n"
    for one in range(number):
        text = json.dumps(description(operations, one))
        (folder / f"api{one}.json").write_text(text, encoding="utf-8")
        listed += f"  api{one}: {{spec_file: api{one}.json, url: 'https://api.example/{one}'}}\n"
    with (folder / "constat.yaml").open("a", encoding="utf-8") as file:
        file.write(listed)
    return manager(folder)


def texts(folder: Path, number: int) -> SchemaManager:
    """Make a project of documents, each of eight sections, and its catalog."""
    chosen = random.Random(1)
    (folder / "papers").mkdir(parents=True, exist_ok=True)
    for one in range(number):
        lines = [f"# Contract {one}", f"Customer: C{one:03}"]
        for noun in chosen.sample(_NOUNS, 8):
            words = (chosen.choice(_NOUNS) for _ in range(25))
            lines += [f"## Terms of the {noun}", f"The {noun} is {' or '.join(words)}."]
        (folder / "papers" / f"c{one:03}.md").write_text("\n\n".join(lines), encoding="utf-8")
    setting = "documents: {papers: {files: papers/, read_by_model: true}}\n"
    (folder / "constat.yaml").write_text(setting, encoding="utf-8")
    return manager(folder)


def manager(folder: Path) -> SchemaManager:
    """Open the catalog of a project."""
    return SchemaManager(load_project(folder), CatalogIndex(folder / "catalog.sqlite"))


def measure(folder: Path, tables: int = TABLES) -> list[Figure]:
    """Read, index, open again and search."""
    project(folder, 1, tables).close()
    catalog = apis(folder, 1, OPERATIONS)
    reading = once(catalog.tables)
    catalog.close()
    again = []
    for _ in range(5):
        catalog = manager(folder)
        again.append(once(lambda catalog=catalog: catalog.search("customer")))  # type: ignore[misc]
        catalog.close()
    catalog = manager(folder)
    catalog.search("customer")
    asked = [_search(catalog, words) for words in _QUESTIONS * _ROUNDS]
    described = [once(lambda: catalog.table("db0.customer_0")) for _ in range(50)]
    catalog.close()
    slowest = max(asked, key=lambda one: one.clock)
    # What other programs do at the same time stretches the clock, and this less.
    dearest = max(one.processor for one in asked)
    return [
        figure(
            f"{tables:,} tables and {OPERATIONS:,} operations read, indexed and kept",
            [reading],
            10.0,
        ),
        figure("the first search of the next program", again, 0.5),
        figure("a search, median", _middle(asked), 0.020, milliseconds=True),
        figure(f"a search, the slowest of {len(asked)}", [slowest], 0.020, milliseconds=True),
        figure(
            f"a search, the most processor time of {len(asked)}",
            [Timing(dearest, dearest)],
            0.020,
            milliseconds=True,
        ),
        figure("the columns of one table", _middle(described), 0.020, milliseconds=True),
    ]


def _search(catalog: SchemaManager, words: str) -> Timing:
    """Time a search; the clock that counts processes ticks too coarsely for it."""
    clock, processor = time.perf_counter(), time.process_time()
    catalog.search(words)
    return Timing(time.perf_counter() - clock, time.process_time() - processor)


def _middle(timings: list[Timing]) -> list[Timing]:
    return [
        Timing(
            statistics.median(one.clock for one in timings),
            statistics.median(one.processor for one in timings),
        )
    ]


def files(folder: Path, number: int, columns: int = 12) -> SchemaManager:
    """Make a project of one database of files, and its catalog: CSV, JSON lines, and JSON."""
    chosen = random.Random(1)
    folder.mkdir(parents=True, exist_ok=True)
    listed = []
    for place in range(number):
        noun = _NOUNS[place % len(_NOUNS)]
        name = f"{noun}{_PARTS[place // len(_NOUNS) % len(_PARTS)]}_{place}"
        known = ["id", f"{chosen.choice(_NOUNS)}_id"]
        known += [one.split()[0] for one in chosen.sample(_COLUMNS, columns)]
        path = folder / f"{name}.{_ENDINGS[place % len(_ENDINGS)]}"
        row = json.dumps(dict.fromkeys(known, 1))
        cells = f"{','.join(known)}\n{','.join('1' * len(known))}\n"
        texts = {".csv": cells, ".json": f"[{row}]", ".jsonl": f"{row}\n"}
        path.write_text(texts[path.suffix], encoding="utf-8")
        listed.append(f"    {name}: {path.name}\n")
    text = f"databases:\n  extracts:\n   files:\n{''.join(listed)}"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return manager(folder)


def savings(catalog: SchemaManager) -> list[tuple[str, int]]:
    """Count the tokens of telling everything, and of looking up what one question needs."""
    documents = Documents(catalog.project)
    tools = DiscoveryTools(catalog, documents=documents if catalog.project.documents else None)
    builder = PromptBuilder(tools, most_tokens=10_000_000)
    full = builder.estimate_tokens("claude-2")
    told = full.tokens
    lean, _ = builder.build_prompt("claude-sonnet-4-20250514")
    definitions = builder.estimate_tokens("claude-sonnet-4-20250514").tokens - estimate(lean)
    if catalog.project.documents:
        (passage,) = documents.search("terms of the invoice", 1)
        answers = [tools.search_documents("terms of the invoice", 5)]
        answers.append(tools.get_document_section(passage.document, passage.section))
        told = sum(estimate(one.parsed.text) for _, one in documents.list() if one.parsed)
    elif catalog.project.apis:
        operation = catalog.search("invoice amount region", ("operation",)).hits[0].name
        answers = [tools.search_operations("invoice amount region", 5)]
        answers.append(tools.get_operation_details(operation))
    else:
        answers = [tools.search_tables("invoice amount region", 5)]
        table = catalog.search("invoice amount region", ("table",)).hits[0].name
        answers += [tools.get_table_schema(table), tools.get_table_relationships(table)]
    catalog.close()
    return [
        ("telling everything", told),
        ("the short prompt", estimate(lean)),
        ("the definitions of the tools", definitions),
        (f"{len(answers)} answers", sum(map(estimate, answers))),
    ]


def main() -> None:
    """Print the figures."""
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else TABLES
    with tempfile.TemporaryDirectory() as named:
        folder = Path(named)
        for one in measure(folder / "many", tables):
            print(f"{one.name}: {one.median} ({one.processor} processor), goal {one.goal}")  # noqa: T201  its purpose
        _show("5 databases of 10 tables", project(folder / "few", 5, 10, columns=12))
        _show("10 databases of 50 tables", project(folder / "more", 10, 50, columns=12))
        _show("10 APIs of 10 operations", apis(folder / "apis", 10, 10))
        _show("20 documents", texts(folder / "papers", 20))
        _show("20 files", files(folder / "files", 20))
        _show("500 files", files(folder / "all", 500))


def _show(name: str, catalog: SchemaManager) -> None:
    print(name)  # noqa: T201  as above
    rows = savings(catalog)
    for what, tokens in rows:
        print(f"  {what}: {tokens:,} tokens")  # noqa: T201  as above
    (_, full), *parts = rows
    saved = 100 * (1 - sum(tokens for _, tokens in parts) / full)
    print(f"  saved: {saved:.0f} %")  # noqa: T201  as above


if __name__ == "__main__":
    main()
