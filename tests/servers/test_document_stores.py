"""Stores of documents on servers that nobody here wrote: keys, ranges, faults, catalog."""

from __future__ import annotations

import random
from contextlib import closing, contextmanager
from operator import eq, ge, gt, le, lt
from typing import TYPE_CHECKING, Any, cast

import duckdb
import pytest

from constat import Session, Verdict
from constat.catalog.connection import ReadBounds, Whole
from constat.catalog.drivers import open_connection
from constat.catalog.guard import guard
from constat.catalog.schema import introspection
from constat.catalog.stores import StoreConnection
from constat.evaluation import Demand
from constat.evaluation.external import Range
from constat.logic import Kind
from constat.session import starting
from constat.testing import Trial, check_source
from constat.tiers.building import Connections
from constat.tiers.database import DatabaseTier
from tests.servers import stores

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.project import Project
    from constat.sources import Source
    from constat.tiers.tier import TierAnswer

RULES = """
.decl ordered(order: symbol, customer: symbol, n: number) @[null = skip]
.input ordered(source = "shop", query = "SELECT _id, customer, n FROM orders")
.decl line(order: symbol, place: number, sku: symbol)
.input line(source = "shop", query = "SELECT _parent, _position, sku FROM orders__lines")
.decl late(order: symbol)
late(?o) :- ordered(?o, _, ?n), ?n >= 290.
.decl of(customer: symbol, sku: symbol)
of(?c, ?s) :- ordered(?o, ?c, _), line(?o, _, ?s).
"""


def orders(count: int) -> list[dict[str, Any]]:
    return [
        {
            "_id": f"o{number}",
            "customer": f"c{number % 20}",
            "n": number,
            "lines": [{"sku": f"s{number}"}, {"sku": "all"}],
            "note": {"by": "Kim", "stars": number % 5},
        }
        for number in range(count)
    ]


def project(folder: Path, server: stores.Served, more: str = "") -> Path:
    folder.mkdir(exist_ok=True)
    setting = f"databases: {{shop: {{{server.setting}{more}}}}}"
    (folder / "constat.yaml").write_text(f"project: p\nrules: [r.dl]\n{setting}\n")
    (folder / "r.dl").write_text(RULES)
    return folder


def test_documents_and_their_lists_are_rows(store_server: stores.Served, tmp_path: Path) -> None:
    store_server.fill("orders", orders(8))
    with Session(project(tmp_path, store_server)) as session:
        assert session.prove('ordered("o3", "c3", 3)').verdict is Verdict.PROVED
        assert session.prove('ordered("o3", "c3", 4)').verdict is Verdict.DISPROVED
        assert session.prove('line("o7", 1, "all")').verdict is Verdict.PROVED
        assert session.prove('of("c5", "s5")').verdict is Verdict.PROVED
        assert session.prove('of("c5", "s6")').verdict is Verdict.DISPROVED


def test_keys_are_sent_and_written_down(store_server: stores.Served, tmp_path: Path) -> None:
    store_server.fill("orders", orders(300))
    with Session(project(tmp_path, store_server, ", sample: 50")) as session:
        found = session.prove('ordered("o299", "c19", 299)')
        assert found.verdict is Verdict.PROVED
        assert session.prove('line("o299", 0, "s299")').verdict is Verdict.PROVED
        assert session.prove('line("o300", 0, "s300")').verdict is Verdict.DISPROVED
    said = str(found.certificate).partition("sent to the store: ")[2].partition("query")[0]
    assert "o299" in said.partition("source")[0]


def test_a_part_says_what_the_whole_says(store_server: stores.Served, tmp_path: Path) -> None:
    store_server.fill("orders", orders(300))
    chance = random.Random(5)
    numbers = [chance.randrange(310) for _ in range(6)]
    goals = [f'ordered("o{n}", "c{n % 20}", {n})' for n in numbers]
    goals += [f'of("c{n % 20}", "s{n}")' for n in numbers] + ['late("o290")', 'late("o289")']
    told = []
    for name, more in (("whole", ", sample: 5000"), ("part", ", sample: 50")):
        with Session(project(tmp_path / name, store_server, more)) as session:
            verdicts = [session.prove(one).verdict for one in goals]
            rows = sorted(map(str, session.query("late(?o)")))
            told.append((verdicts, rows))
    assert told[0] == told[1]
    assert len(told[0][1]) == 10


class Tier:
    """A store as a source, for `constat.testing`."""

    authority = True

    def __init__(self, given: Project) -> None:
        self._given = given

    def answer(self, demand: Demand) -> TierAnswer:
        with closing(Connections(self._given)) as connections:
            return DatabaseTier(connections, lambda _: None).answer(demand)


@pytest.mark.parametrize("sample", [50, 5_000])
def test_what_sources_promise_is_kept(
    store_server: stores.Served, tmp_path: Path, sample: int
) -> None:
    rows = orders(120)
    store_server.fill("orders", rows)
    with Session(project(tmp_path, store_server, f", sample: {sample}")) as session:
        given = session.project
    declared = RULES.strip().partition(".decl line")[0]
    trial = Trial(
        lambda _: cast("Source", Tier(given)),
        declared,
        [(one["_id"], one["customer"], one["n"]) for one in rows],
        secrets=("canary-key",),
    )
    assert check_source(trial) == []


def test_the_catalog_tells_what_was_looked_at(store_server: stores.Served, tmp_path: Path) -> None:
    documents = [*orders(30), {"_id": "odd", "n": 7}]
    store_server.fill("orders", documents)
    with Session(project(tmp_path, store_server, ", sample: 20")) as session:
        given = session.project
    look = introspection.look_at(given.databases["shop"], given, "")
    assert look.schema is not None
    told = {one.name: one for one in look.schema.tables}
    assert {"orders", "orders__lines"} <= told.keys()
    assert "first 20 documents" in str(told["orders"].comment)
    assert "unverified" not in str(told["orders"].comment)
    names = {one.name for one in told["orders"].columns}
    assert {"_id", "customer", "n", "note.by", "note.stars", "lines.length"} <= names


@contextmanager
def stopped(kind: str) -> Iterator[stores.Served]:
    with stores.served(kind) as server:
        server.stop()
        yield server


def test_a_server_that_is_gone_leaves_the_question_open(
    store_server: stores.Served, tmp_path: Path
) -> None:
    with (
        stopped(store_server.kind) as server,
        Session(project(tmp_path, server)) as session,
    ):
        answer = session.prove('ordered("o3", "c3", 3)')
    assert answer.verdict is Verdict.UNRESOLVED
    assert "canary-key" not in str(answer)


def test_init_begins_a_project_with_a_store(
    store_server: stores.Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    store_server.fill("orders", orders(20))
    address = store_server.setting.partition("uri: '")[2].partition("'")[0]
    scheme, _, rest = address.partition("://")
    if scheme == "http":
        address = f"{'opensearch' if store_server.kind == 'opensearch' else 'dynamodb'}+{address}"
    if store_server.kind == "mongodb":
        address = f"mongodb://{rest}/shop"
    made = starting.start(address, tmp_path / "new", tmp_path, tables=["orders", "orders__lines"])
    assert made.result.verdict is Verdict.PROVED
    written = (tmp_path / "new" / "constat.yaml").read_text()
    assert "canary-key" not in written
    assert "type: " in written


@pytest.mark.parametrize(
    ("operator", "value", "wanted"),
    [(">=", 290, 10), ("<", 3, 3), ("<=", 3, 4), (">", 297, 2), ("=", 7, 1), (">=", 2**70, 0)],
)
def test_bounds_leave_out_what_is_outside_and_nothing_else(
    store_server: stores.Served, tmp_path: Path, operator: str, value: int, wanted: int
) -> None:
    odd = [{"_id": "x", "customer": "c", "n": [5]}] if store_server.kind == "mongodb" else []
    store_server.fill("orders", [*orders(300), *odd])
    with Session(project(tmp_path, store_server, ", sample: 50")) as session:
        given = session.project
    connection = open_connection(given.databases["shop"], tmp_path, 30)
    connection.begin()
    assert isinstance(connection, StoreConnection)
    query = guard("SELECT _id, n FROM orders", "duckdb")
    kinds = (Kind.SYMBOL, Kind.NUMBER)
    told = Range(1, operator, value)
    whole = Whole(query, kinds, ("skip", "skip"), False, (), (told,))
    stream = connection.stream(whole, ReadBounds(30, 100_000))
    assert stream is not None
    sent = store_server.kind not in {"redis", "valkey"} and value < 2**63
    assert (told in stream.told) is (sent or (bool(stream.told) and value >= 2**63))
    compare = {">=": ge, "<": lt, "<=": le, ">": gt, "=": eq}[operator]
    got = duckdb.from_arrow(stream.open()).fetchall()
    assert sum(compare(n, value) for _, n in got) == wanted
    assert len(got) <= (wanted + 2 if sent else 300)
    connection.close()
