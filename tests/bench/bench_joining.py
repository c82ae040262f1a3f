"""One goal over four sources: calls and bytes, beside a plan that reads each of them whole.

In: a number of customers, each with forty orders and a row of a file; of one in twenty there is a
contract, and one in ten is on the list of the API. Out: figures. The plan beside it is the obvious
program: every table, every page of the list, every document, then a join in memory. Bytes are those
of the rows as JSON, of the bodies of answers, and of documents as files. Rows that SQLite and
DuckDB look at inside are in neither. With `postgresql` the orders lie in a server that is started
for it, and the contract of the customer is a PDF.
Example: `python -m tests.bench.bench_joining 2000 postgresql`.
"""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import sqlite3
import sys
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx2
import psycopg

from constat import Session, Verdict
from constat.evaluation import Origin, QueryRun
from tests.apis.servers import Request, Response, serving
from tests.servers.leasing import leased

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.session import Result

CUSTOMERS: Final = 2_000
CONTRACT_EVERY: Final = 20
BLOCKED_EVERY: Final = 10
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "rebates"
SOURCES: Final = ("shop", "lists", "compliance", "contracts")


@dataclass
class Read:
    """What a plan took out of one source."""

    calls: int = 0
    size: int = 0

    def took(self, texts: Iterable[bytes]) -> None:
        """Count one call and what it gave."""
        self.calls += 1
        self.size += sum(map(len, texts))


Plan = dict[str, Read]


def lay_out(folder: Path, customers: int, address: str) -> dict[str, dict[str, str]]:
    """Write the example for so many customers; give the entries of the API."""
    kept = shutil.ignore_patterns("data", "contracts", ".constat", "__pycache__")
    shutil.copytree(EXAMPLE, folder, ignore=kept)
    made = runpy.run_path(str(EXAMPLE / "make_data.py"))
    (folder / "data").mkdir()
    if address:
        made["fill"](address, customers)
        settings = folder / "constat.yaml"
        text = settings.read_text().replace("sqlite:///data/orders.sqlite", address)
        settings.write_text(text)
    else:
        made["build"](folder / "data" / "orders.sqlite", customers)
    names = [f"C{number:03}" for number in range(1, customers + 1)]
    lines = [f"{one},{('gold', 'silver')[place % 2]}\n" for place, one in enumerate(names)]
    (folder / "data" / "tiers.csv").write_text("customer,level\n" + "".join(lines))
    text = (EXAMPLE / "contracts" / "c001.md").read_text()
    (folder / "contracts").mkdir()
    for one in names[::CONTRACT_EVERY]:
        (folder / "contracts" / f"{one.lower()}.md").write_text(text.replace("C001", one))
    if address:
        (folder / "contracts" / "c001.md").unlink()
        content = (EXAMPLE / "contracts" / "c006.pdf").read_bytes()
        (folder / "contracts" / "c001.pdf").write_bytes(content.replace(b"C006", b"C001"))
    blocked = names[1::BLOCKED_EVERY]
    return {
        one: {"customer": one, "reason": "invoices are open", "since": "2026-01-09"}
        for one in blocked
    }


def whole(folder: Path, url: str, customer: str, address: str) -> tuple[Plan, Decimal | None]:
    """Read every source whole, and join in memory."""
    plan = {name: Read() for name in SOURCES}
    opened: Any = (
        psycopg.connect(address) if address else sqlite3.connect(folder / "data" / "orders.sqlite")
    )
    with closing(opened) as connection:
        found = connection.execute("SELECT id, customer, day, amount FROM orders").fetchall()
    orders = [(number, one, str(day), str(amount)) for number, one, day, amount in found]
    plan["shop"].took(json.dumps(one).encode() for one in orders)
    with (folder / "data" / "tiers.csv").open(newline="") as file:
        tiers = list(csv.reader(file))[1:]
    plan["lists"].took(json.dumps(one).encode() for one in tiers)
    blocked, cursor = set[str](), "0"
    while cursor is not None:
        answer = httpx2.get(f"{url}/entries", params={"cursor": cursor})
        plan["compliance"].took([answer.content])
        found = answer.json()
        blocked |= {one["customer"] for one in found["entries"]}
        cursor = found["next"]
    agreed = set()
    for path in sorted((folder / "contracts").iterdir()):
        content = path.read_bytes()
        plan["contracts"].took([content])
        said = (f"Customer:** {customer}\n", f"Customer: {customer}")
        if any(one.encode() in content for one in said):
            agreed.add(customer)
    total = sum(
        Decimal(amount) for _, one, day, amount in orders if one == customer and "2025" in day
    )
    fits = [customer, "gold"] in tiers and customer in agreed and customer not in blocked
    return plan, total * 4 / 100 if fits and total >= Decimal(20_000) else None


def asked(result: Result, queries: list[QueryRun], folder: Path, bodies: list[bytes]) -> Plan:
    """Count what Constat took: rows of its answers, bodies, and documents, which it reads whole."""
    plan = {name: Read() for name in SOURCES}
    for query in queries:
        if query.source in {"shop", "lists"}:
            plan[query.source].calls += 1
    rows = {
        (evidence.source, call.demand.predicate.name, row)
        for call in result.calls
        for portion in call.answer.portions
        for evidence in portion.evidence.every()
        if evidence.origin is Origin.DATABASE
        for row in portion.rows
    }
    for source, _, row in rows:
        plan[source].size += len(json.dumps([str(cell) for cell in row]))
    for body in bodies:
        plan["compliance"].took([body])
    for path in (folder / "contracts").iterdir():
        plan["contracts"].took([path.read_bytes()])
    return plan


def measure(customers: int, address: str = "") -> tuple[Plan, Plan, float, float, int]:
    """Decide the same goal by both plans; give them, their seconds, and the certificate's bytes."""
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at) / "rebates"
        blocked = lay_out(folder, customers, address)
        ordered, bodies = [blocked[one] for one in sorted(blocked)], list[bytes]()

        def answered(found: object, status: int = 200) -> Response:
            bodies.append(json.dumps(found).encode())
            return Response(bodies[-1], status, media_type="application/json")

        async def entries(request: Request, _: dict[str, Any]) -> Response:
            start = int(request.query_params.get("cursor", "0"))
            more = start + 100 < len(ordered)
            page = {"entries": ordered[start : start + 100]}
            return answered({**page, "next": str(start + 100) if more else None})

        async def entry(request: Request, _: dict[str, Any]) -> Response:
            found = blocked.get(request.path_params["customer"])
            return answered(found or {"error": "not found"}, 200 if found else 404)

        with serving({"/entries": entries, "/entries/{customer}": entry}) as server:
            settings = folder / "constat.yaml"
            text = settings.read_text().replace("http://127.0.0.1:8643", server.url)
            text += "limits: {seconds: 600}\n"
            settings.write_text(text)
            begun = time.perf_counter()
            naive, amount = whole(folder, server.url, "C001", address)
            middle = time.perf_counter()
            bodies.clear()
            queries: list[QueryRun] = []
            with Session(folder) as session:
                result = session.prove(
                    f"rebate(C001, {amount})",
                    observe=lambda one: queries.append(one) if isinstance(one, QueryRun) else None,
                )
            ended = time.perf_counter()
            assert result.verdict is Verdict.PROVED_UNDER, result.verdict
            own = asked(result, queries, folder, bodies)
            return naive, own, middle - begun, ended - middle, len(result.certificate)


def main(customers: str = str(CUSTOMERS), kind: str = "") -> None:
    """Print the figures."""
    if kind:
        with (
            tempfile.TemporaryDirectory() as at,
            leased(kind, Path(at)) as server,
            server.fresh() as database,
        ):
            told = measure(int(customers), database.uri)
    else:
        told = measure(int(customers))
    naive, own, first, second, certificate = told
    print(f"{int(customers):,} customers {kind}")  # noqa: T201  what it is for
    for name in SOURCES:
        one, other = naive[name], own[name]
        print(  # noqa: T201  as above
            f"{name}: read whole {one.calls} calls, {one.size:,} bytes;"
            f" asked {other.calls} calls, {other.size:,} bytes"
        )
    print(  # noqa: T201  as above
        f"read whole {first:.2f} s, asked, proved {second:.2f} s; certificate {certificate:,} bytes"
    )


if __name__ == "__main__":
    main(*sys.argv[1:3])
