"""One goal over a server and a file: proved, certified, verified against both, in few queries."""

from __future__ import annotations

import json
import re
import runpy
import shutil
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from constat.cli.explain_plan import open_lines
from constat.diagnostics import ConstatError
from constat.evaluation import CallFinished, CallStarted, QueryRun
from constat.session import Session
from constat.session.plan_explaining import PlanQuestion
from tests.apis.servers import JSONResponse, Request, Response, serving
from tests.examples.projects import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from constat.evaluation import Event
    from tests.servers.leasing import ServedDatabase

RULES = """
.pragma "constat" "0.1"
.decl customer(c: symbol, region: symbol)
.input customer(source="crm", query="SELECT id, region FROM customers WHERE region LIKE '%'")
.decl paid(o: number, c: symbol, amount: Decimal)
.input paid(source="sales", query="SELECT id, customer, amount FROM orders")
.decl spends(c: symbol, total: Decimal)
spends(?c, ?t) :- customer(?c, _region), ?t = sum ?x : { paid(_order, ?c, ?x) }.
.decl big(c: symbol)
big(?c) :- spends(?c, ?t), ?t > 100.0.
.decl north_is_big(c: symbol)
north_is_big(?c) :- customer(?c, "north"), big(?c).
"""


def project(folder: Path, source: ServedDatabase, customers: int) -> Path:
    source.run("CREATE TABLE customers (id VARCHAR(20) PRIMARY KEY, region VARCHAR(20))")
    regions = ("north", "south")
    source.insert("customers", [(f"C{n}", regions[n % 2]) for n in range(customers)])
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute(
        "CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount NUMERIC)"
    )
    orders = [(n, f"C{n % customers}", 60.5) for n in range(customers * 2)]
    connection.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
    connection.commit()
    connection.close()
    (folder / "rules.dl").write_text(RULES)
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl]\ndatabases:\n  sales: {uri: 'sqlite:///shop.sqlite'}\n"
        f"  crm: {{uri: '{source.uri}'}}\n"
    )
    return folder


@pytest.mark.parametrize("goal", ["big(C0)", "north_is_big(?c)"])
def test_a_goal_across_a_server_and_a_file(
    source: ServedDatabase, tmp_path: Path, goal: str
) -> None:
    customers = 400
    folder = project(tmp_path, source, customers)
    events: list[Event] = []
    with Session(folder) as session:
        result = session.prove(goal, observe=events.append)
        assert result.verdict.value == "PROVED"
        queries = [event for event in events if isinstance(event, QueryRun)]
        assert {one.source for one in queries} == {"crm", "sales"}
        assert len(queries) <= 6
        report = session.verify(result.certificate)
        assert report.accepted
        again = session.verify_source(result.certificate)
        assert again.drift == ()
        assert again.exit_code == 0
        text = result.certificate.decode()
        assert source.server.password not in text
        # A hash may hold any five digits.
        assert str(source.server.port) not in re.sub(r"[0-9a-f]{64}", "", text)
        named = "cluster " if source.server.kind == "postgresql" else "repeatable read since "
        assert named in text
        # A changed row at the server is noticed.
        source.run("UPDATE customers SET region = 'west'")
        assert session.verify_source(result.certificate).exit_code != 0


def test_a_server_that_does_not_answer_leaves_the_goal_open(
    source: ServedDatabase, tmp_path: Path
) -> None:
    folder = project(tmp_path, source, 4)
    config = folder / "constat.yaml"
    config.write_text(config.read_text().replace(f":{source.server.port}/", ":1/"))
    with Session(folder) as session:
        result = session.prove("big(C0)")
        assert result.verdict.value == "UNRESOLVED"
        assert source.server.password not in result.certificate.decode()
        assert session.verify(result.certificate).accepted


TWO = """
.pragma "constat" "0.1"
.decl customer(c: symbol, region: symbol)
.input customer(source="crm", query="SELECT id, region FROM customers")
.decl known(c: symbol, region: symbol)
.input known(source="erp", query="SELECT id, region FROM customers")
.decl same(c: symbol)
same(?c) :- customer(?c, _), known(?c, _).
"""


def test_two_servers_are_asked_at_the_same_time(source: ServedDatabase, tmp_path: Path) -> None:
    folder = project(tmp_path, source, 4)
    (folder / "rules.dl").write_text(TWO)
    (folder / "constat.yaml").write_text(
        "rules: [rules.dl]\n"
        f"databases:\n  crm: {{uri: '{source.uri}'}}\n  erp: {{uri: '{source.uri}'}}\n"
    )
    events: list[Event] = []
    with Session(folder) as session:
        result = session.prove("same(C1)", observe=events.append)
        assert result.verdict.value == "PROVED"
        assert session.verify(result.certificate).accepted
        assert session.verify_source(result.certificate).drift == ()
    calls = [type(one) for one in events if isinstance(one, CallStarted | CallFinished)]
    assert calls == [CallStarted, CallStarted, CallFinished, CallFinished]


async def entry(request: Request, _: dict[str, Any]) -> Response:
    blocked = request.path_params["customer"] == "C002"
    found = {"customer": "C002", "reason": "open invoices", "since": "2026-01-09"}
    return JSONResponse(found if blocked else {"error": "not found"}, 200 if blocked else 404)


def test_orders_in_postgresql_a_tier_in_a_file_a_list_behind_an_api_and_a_contract_in_a_pdf(
    postgresql: ServedDatabase, tmp_path: Path
) -> None:
    folder = tmp_path / "rebates"
    kept = shutil.ignore_patterns("*.sqlite", ".constat", "__pycache__")
    shutil.copytree(ROOT / "examples" / "rebates", folder, ignore=kept)
    runpy.run_path(str(folder / "make_data.py"))["fill"](postgresql.uri)
    settings = folder / "constat.yaml"
    text = settings.read_text().replace("sqlite:///data/orders.sqlite", postgresql.uri)
    text += "limits: {seconds: 300}\n"
    with serving({"/entries/{customer}": entry}) as server:
        settings.write_text(text.replace("http://127.0.0.1:8643", server.url))
        with Session(folder) as session:
            queries: list[QueryRun] = []
            result = session.prove(
                "rebate(C006, 987.7376)",
                observe=lambda one: queries.append(one) if isinstance(one, QueryRun) else None,
            )
            assert result.verdict.value == "PROVED_UNDER"
            assert result.snapshot == "not one snapshot"
            sources = json.loads(result.certificate)["sources"]
            assert {(one["origin"], one["name"]) for one in sources} == {
                ("DATABASE", "shop"),
                ("DATABASE", "lists"),
                ("API", "compliance"),
                ("DOCUMENT", "contracts/c006.pdf"),
            }
            # The server is asked for the orders of one customer, the API for one entry.
            assert {one.rows for one in queries if one.source == "shop"} == {40}
            assert server.seen.paths == ["/entries/C006"]
            assert session.verify(result.certificate).accepted
            assert session.verify_source(result.certificate).exit_code == result.exit_code
            assert session.prove("rebate(C002, 996.2176)").verdict.value == "DISPROVED"


def test_why_mariadb_adds_nothing_up_stands_in_the_plan(
    mariadb: ServedDatabase, tmp_path: Path
) -> None:
    folder = project(tmp_path, mariadb, 4)
    goal = "customer(?c, ?r), customer(?d, ?r)"
    with Session(folder) as session:
        found = session.explain_plan(goal, PlanQuestion(), analyze=True)
        assert "by collations" in found.here["customer"]
        assert "by collations" in "\n".join(open_lines(found))
        with pytest.raises(ConstatError) as refused:
            session.query(goal, engine="postgres")
        assert "by collations" in str(refused.value.diagnostics[0])
        assert len(session.query(goal, engine="forward", check="off")) == 8


def test_constants_that_few_rows_have_are_asked_for_goal_by_goal(
    mariadb: ServedDatabase, tmp_path: Path
) -> None:
    mariadb.run(
        "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL, KEY by_n (n))",
        "INSERT INTO t SELECT seq, mod(seq, 9999) FROM seq_1_to_210000",
        "ANALYZE TABLE t",
    )
    rules = """
    .pragma "constat" "0.1"
    .decl t(id: number, n: number)
    .input t(source="crm", query="SELECT id, n FROM t")
    .decl some(id: number)
    some(?i) :- t(?i, 7).
    .decl others(id: number)
    others(?i) :- t(?i, ?n), ?n > 9000.
    """
    (tmp_path / "rules.dl").write_text(rules)
    setting = f"rules: [rules.dl]\ndatabases:\n  crm: {{uri: '{mariadb.uri}'}}\n"
    (tmp_path / "constat.yaml").write_text(setting)
    with Session(tmp_path) as session:
        few = session.query("some(?i)", check="off")
        many = session.query("others(?i)", check="off")
        assert (few.in_bulk, many.in_bulk) == (False, True)
        assert (len(few), len(many)) == (22, 20_958)
