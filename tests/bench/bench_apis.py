"""APIs: how fast 2,000 operations are read, indexed and searched, and how fast answers become rows.

In: nothing, or numbers of operations and of rows. Out: figures. The server is one of Starlette on
the loopback interface, in a process of its own thread, so its work is in the figures.
Example: `python -m tests.bench.bench_apis 2000 10000`.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from constat.catalog import SchemaManager
from constat.evaluation import Verdict
from constat.project import load_project
from constat.session import Session
from constat.store.catalog import CatalogIndex
from tests.apis.servers import Request, Response, serving

OPERATIONS: Final = 2_000
ROWS: Final = 10_000
_NOUNS: Final = ("customer", "order", "invoice", "product", "shipment", "payment", "account")
_VERBS: Final = ("list", "get", "find", "search", "count")
_WORDS: Final = ("customer", "invoice status", "shipment 17", "nothing of that sort", "get acc")


def specification(operations: int) -> dict[str, Any]:
    """Describe so many operations, each with parameters and an answer of nested tables."""
    line = {"type": "object", "properties": {"sku": {"type": "string"}, "n": {"type": "integer"}}}
    row = {
        "type": "object",
        "required": ["id"],
        "properties": {
            "id": {"type": "integer"},
            "status": {"type": "string"},
            "total": {"type": "number"},
            "lines": {"type": "array", "items": line},
        },
    }
    paths: dict[str, Any] = {}
    for number in range(operations):
        noun, verb = _NOUNS[number % len(_NOUNS)], _VERBS[number % len(_VERBS)]
        paths[f"/{noun}/{number}/{{region}}"] = {
            "get": {
                "operationId": f"{verb}_{noun}_{number}",
                "summary": f"{verb} what is known of the {noun} with its lines",
                "responses": _answer(row),
            }
        }
    paths["/rows"] = {"get": {"operationId": "rows", "responses": _answer(row)}}
    return {"openapi": "3.0.3", "info": {"title": "bench", "version": "1"}, "paths": paths}


def _answer(row: dict[str, Any]) -> dict[str, Any]:
    return {"200": {"content": {"application/json": {"schema": {"type": "array", "items": row}}}}}


def measure_catalog(folder: Path, operations: int) -> tuple[float, float]:
    """Give the seconds to read and index, and the mean milliseconds of a search."""
    project = load_project(folder)
    with closing(SchemaManager(project, CatalogIndex(folder / "index.sqlite"))) as catalog:
        begun = time.perf_counter()
        (found,) = catalog.refresh()
        seconds = time.perf_counter() - begun
        assert found.tables == operations + 1, found
        catalog.search("warm")
        times = []
        for words in _WORDS * 5:
            begun = time.perf_counter()
            catalog.search(words)
            times.append(time.perf_counter() - begun)
    return seconds, statistics.mean(times) * 1_000


def measure_rows(folder: Path) -> float:
    """Give the seconds of a goal that asks for all rows of one answer."""
    (folder / "spec.json").write_text(json.dumps(specification(0)))
    with Session(folder) as session:
        session.prove("warm(1)")
        begun = time.perf_counter()
        result = session.prove("row(2, open, 2.5)")
        assert result.verdict is Verdict.PROVED
        return time.perf_counter() - begun


def main(operations: int = OPERATIONS, rows: int = ROWS) -> None:
    """Print the figures."""
    lines = [{"sku": "a", "n": 1}]
    body = [{"id": n, "status": "open", "total": n + 0.5, "lines": lines} for n in range(rows)]
    content = json.dumps(body).encode()

    async def answer(request: Request, state: dict[str, Any]) -> Response:
        return Response(content, media_type="application/json")

    with serving({"/rows": answer}) as server, tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        (folder / "spec.json").write_text(json.dumps(specification(operations)))
        (folder / "rules").mkdir()
        (folder / "rules" / "a.dl").write_text(
            ".decl row(id: number, status: symbol, total: Decimal)\n"
            '.input row(source = "crm", operation = "rows")\n'
            ".decl warm(n: number)\nwarm(1).\n"
        )
        (folder / "constat.yaml").write_text(
            "project: bench\nrules: rules\napis:\n"
            f"  crm: {{spec_file: spec.json, url: '{server.url}', "
            "private: true, authority: true}\n"
        )
        seconds, search = measure_catalog(folder, operations)
        print(f"{operations:,} operations: {seconds:.2f} s; a search: {search:.1f} ms")  # noqa: T201  what it is for
        asked = measure_rows(folder)
        print(f"{rows:,} rows ({len(content) >> 10} KiB) asked, checked, typed: {asked:.2f} s")  # noqa: T201  as above


if __name__ == "__main__":
    main(*map(int, sys.argv[1:3]))
