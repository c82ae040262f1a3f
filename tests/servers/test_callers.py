"""PostgreSQL is told who asks: callers see different rows, and nothing of those of others."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from constat import ConstatError, Session
from constat.catalog import Question, SourceFailureError
from constat.catalog.drivers import connect
from constat.catalog.server_reading import ServerConnection
from constat.project import Database, Expanded, load_project
from constat.project.settings import Asker
from tests.server.test_server import served
from tests.servers.building import BOUNDS, read

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx2

    from tests.servers.leasing import ServedDatabase

server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")

PASSWORD = "of-the-reader"  # noqa: S105  nobody's
RULES = """
@[key = id]
.decl placed(id: number, customer: symbol, amount: number)
.input placed(source = "sales", query = "SELECT id, customer, amount FROM orders", max_age = "1h")
.decl country(name: symbol)
.input country(source = "sales", query = "SELECT name FROM countries")
.decl total(customer: symbol, amount: number)
.input total(source = "sales", query = "TOTALS")
.decl viewed(id: number)
.input viewed(source = "sales", query = "SELECT id FROM viewed_orders")

.decl buys(customer: symbol)
buys(?c) :- placed(_, ?c, _).
.decl idle(customer: symbol)
idle(?c) :- ?c = "Olga", !buys(?c).
.decl large(customer: symbol)
large(?c) :- placed(_, ?c, ?a), ?a > 500.
"""
TOTALS = "SELECT customer, sum(amount)::bigint FROM orders GROUP BY customer"
CONFIG = """
rules: rules.dl
databases:
  sales:
    uri: "URI"
    caller: CALLER
log: {on: true}
"""
BY_SETTING = "{setting: app.caller, account: [admin]}"
BY_ROLE = "{role: {viewer: VIEWER, analyst: ANALYST}, account: [approver, admin]}"
CALLERS = {
    "alice": server.Caller("alice", "analyst"),
    "bob": server.Caller("bob", "analyst"),
    "eve": server.Caller("eve", "viewer"),
    "root": server.Caller("root", "admin"),
}
SECRETS = ("Harald", "777111")


@pytest.fixture
def secured(postgresql: ServedDatabase) -> Iterator[tuple[ServedDatabase, str]]:
    """Give a database whose rows belong to callers, and the account that reads it."""
    reader = f"reader_{postgresql.name}"
    roles = [f"{one}_{postgresql.name}" for one in ("viewer", "analyst")]
    _drop(postgresql, reader, *roles)
    postgresql.run(
        "CREATE TABLE orders (id INT PRIMARY KEY, owner TEXT, customer TEXT, amount INT)",
        "CREATE TABLE countries (name TEXT PRIMARY KEY)",
        "INSERT INTO countries VALUES ('Norway')",
        """INSERT INTO orders VALUES (1, 'alice', 'Ada', 900), (2, 'bob', 'Harald', 777111),
           (3, 'bob', 'Ada', 50)""",
        "ALTER TABLE orders ENABLE ROW LEVEL SECURITY",
        f"CREATE ROLE {reader} LOGIN NOINHERIT PASSWORD '{PASSWORD}'",
        *(f"CREATE ROLE {one}" for one in roles),
        *(f"GRANT {one} TO {reader}" for one in roles),
        f"CREATE POLICY of_setting ON orders TO {reader}"
        " USING (owner = current_setting('app.caller', true))",
        f"CREATE POLICY of_viewers ON orders TO {roles[0]} USING (owner = 'alice')",
        f"CREATE POLICY of_analysts ON orders TO {roles[1]} USING (true)",
        "CREATE VIEW viewed_orders WITH (security_invoker = true) AS SELECT * FROM orders",
        f"GRANT SELECT ON orders, countries, viewed_orders TO {reader}, {', '.join(roles)}",
    )
    yield postgresql, reader
    _drop(postgresql, reader, *roles)


def _drop(database: ServedDatabase, *roles: str) -> None:
    known = {name for (name,) in database.rows("SELECT rolname::text FROM pg_roles")}
    for one in known.intersection(roles):
        database.run(f"DROP OWNED BY {one}", f"DROP ROLE {one}")


def project(folder: Path, secured: tuple[ServedDatabase, str], caller: str = BY_SETTING) -> Path:
    database, reader = secured
    folder.mkdir(exist_ok=True)
    (folder / "rules.dl").write_text(RULES.replace("TOTALS", TOTALS))
    caller = caller.replace("VIEWER", f"viewer_{database.name}")
    caller = caller.replace("ANALYST", f"analyst_{database.name}")
    uri = database.server.uri(database.name, reader, PASSWORD)
    (folder / "constat.yaml").write_text(CONFIG.replace("URI", uri).replace("CALLER", caller))
    return folder


def access() -> Any:  # noqa: ANN401  the extra may be absent
    return server.Access(
        {hashlib.sha256(f"of-{name}".encode()).hexdigest(): one for name, one in CALLERS.items()}
    )


async def asked(client: httpx2.AsyncClient, who: str, path: str, **body: object) -> Any:  # noqa: ANN401  JSON
    shown = {"Authorization": f"Bearer of-{who}"}
    return await client.post(f"/v1/{path}", json=body, headers=shown)


async def verdict(client: httpx2.AsyncClient, who: str, goal: str) -> str:
    response = await asked(client, who, "prove", goal=goal)
    assert response.status_code == 200, response.text
    return str(response.json()["verdict"])


def test_each_caller_is_answered_from_rows_of_their_own(
    secured: tuple[ServedDatabase, str], tmp_path: Path
) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        for _ in range(2):
            # The second time from what is remembered.
            assert await verdict(client, "alice", "buys(Ada)") == "PROVED"
            assert await verdict(client, "alice", "large(Ada)") == "PROVED"
            assert await verdict(client, "bob", "large(Ada)") == "UNRESOLVED"
            assert await verdict(client, "bob", "large(Harald)") == "PROVED"
            assert await verdict(client, "alice", "large(Harald)") == "UNRESOLVED"
            rows = {
                who: (await asked(client, who, "query", query="placed(?id, ?c, ?a)")).json()
                for who in ("alice", "bob", "eve")
            }
            ids = {
                who: {one["values"]["id"] for one in found["rows"]} for who, found in rows.items()
            }
            assert ids == {"alice": {"1"}, "bob": {"2", "3"}, "eve": set()}
            assert all(one["settled"] == "OPEN" for one in rows.values())
        # What is not shown is not absent; a shown row of a key has no other beside it.
        assert await verdict(client, "alice", "idle(Olga)") == "UNRESOLVED"
        for number, settled in ((1, True), (2, False)):
            query = f"placed({number}, ?c, ?a)"
            found = (await asked(client, "alice", "query", query=query)).json()
            assert (found["settled"] == "SETTLED") is settled
        # A sum over what is shown is nobody's sum, and a view may say what it likes.
        assert await verdict(client, "alice", "total(Ada, 900)") == "UNRESOLVED"
        assert await verdict(client, "alice", "viewed(1)") == "UNRESOLVED"
        # Where no policy is, everything is shown.
        assert await verdict(client, "alice", "country(Norway)") == "PROVED"
        assert await verdict(client, "alice", "country(Atlantis)") == "DISPROVED"

    served(project(tmp_path / "p", secured), work, let=access())


def test_nothing_of_others_is_in_any_answer(
    secured: tuple[ServedDatabase, str], tmp_path: Path
) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        theirs = (await asked(client, "bob", "prove", goal="large(Harald)")).json()["certificate"]
        for path, body in (
            ("why-not", {"goal": "large(Harald)"}),
            ("missing", {"goal": "large(Harald)"}),
            ("what-if", {"goal": "large(Ada)", "add": ["placed(9, Ada, 800)"]}),
            ("why", {"goal": "buys(Ada)"}),
            ("query/rows", {"query": "placed(?id, ?c, ?a)"}),
            ("export", {"certificate": theirs, "to": "html"}),
            ("verify", {"certificate": theirs}),
            ("read-on", {"reference": theirs}),
            ("complete", {"text": "lar"}),
            ("facts", {}),
        ):
            response = await asked(client, "alice", path, **body)
            goal = "Harald" if "Harald" in json.dumps(body) else "@"
            assert SECRETS[1] not in response.text, path
            assert SECRETS[0] not in response.text.replace(goal, "@"), path
        certificate = theirs.replace("certificate/", "certificates/")
        shown = {"Authorization": "Bearer of-alice"}
        assert (await client.get(f"/v1/{certificate}", headers=shown)).status_code == 404
        # What shows more than the rows of one caller is for those who read as the account does.
        for path, body in (
            ("catalog/search", {"words": "Harald"}),
            ("ask", {"question": "Does Harald buy?"}),
            ("log", {}),
            ("drafts", {}),
            ("history", {}),
        ):
            assert (await asked(client, "alice", path, **body)).status_code == 403, path
        assert (await asked(client, "root", "catalog/search", words="orders")).status_code == 200

    served(project(tmp_path / "p", secured), work, let=access())


def test_the_role_that_reads_is_that_of_the_callers_role(
    secured: tuple[ServedDatabase, str], tmp_path: Path
) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        assert await verdict(client, "bob", "large(Harald)") == "PROVED"
        assert await verdict(client, "eve", "large(Harald)") == "UNRESOLVED"
        assert await verdict(client, "eve", "large(Ada)") == "PROVED"

    served(project(tmp_path / "p", secured, BY_ROLE), work, let=access())


def test_nobody_becomes_somebody_else_by_what_they_ask(
    secured: tuple[ServedDatabase, str], tmp_path: Path
) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        for text in ("bob", "bob'; SET app.caller = 'bob", '"; RESET ROLE; --'):
            goal = f"buys({json.dumps(text)})"
            await asked(client, "alice", "prove", goal=goal)
            assert await verdict(client, "alice", "large(Harald)") == "UNRESOLVED"

    served(project(tmp_path / "p", secured), work, let=access())


def test_who_asks_counts_after_a_query_that_failed(secured: tuple[ServedDatabase, str]) -> None:
    database, reader = secured
    uri = Expanded(database.server.uri(database.name, reader, PASSWORD))
    asker = Asker("app.caller", "alice", "")
    connection = connect(Database("sales", "sql", uri, asker=asker), 5)
    for _ in range(2):
        connection.begin()
        with pytest.raises(SourceFailureError):
            read(connection, Question("SELECT customer::int FROM orders"))
        assert read(connection, Question("SELECT id FROM orders"), BOUNDS) == [(1,)]
        connection.release()
    # Nobody is left behind in the connection.
    assert isinstance(connection, ServerConnection)
    told = connection.look("SELECT current_setting('app.caller', true)", 5)
    assert told in ([("",)], [(None,)])
    connection.close()


def test_without_a_caller_the_account_reads_and_what_it_sees_is_not_all(
    secured: tuple[ServedDatabase, str], tmp_path: Path
) -> None:
    with Session(project(tmp_path / "p", secured)) as session:
        assert session.prove("large(Harald)").verdict.value == "UNRESOLVED"
        assert session.prove("country(Atlantis)").verdict.value == "DISPROVED"
    database, _ = secured
    # An account for which no policy is in force sees everything, and says so.
    whole = tmp_path / "whole"
    project(whole, secured)
    config = CONFIG.replace("URI", database.uri).replace("CALLER", BY_SETTING)
    (whole / "constat.yaml").write_text(config)
    with Session(whole) as session:
        assert session.prove("idle(Olga)").verdict.value == "PROVED"
        assert session.prove("total(Ada, 950)").verdict.value == "PROVED"


@pytest.mark.parametrize(
    "caller",
    [
        "{setting: row_security}",
        '{setting: "app.caller\'; SET ROLE postgres"}',
        "{role: {viewer: none, analyst: a, approver: b, admin: c}}",
        "{role: {viewer: a}}",
        "{account: [admin]}",
        "{setting: app.caller, account: [nobody]}",
        "{name: alice}",
    ],
)
def test_a_slip_in_who_is_told_is_said(tmp_path: Path, caller: str) -> None:
    (tmp_path / "constat.yaml").write_text(
        f"databases: {{sales: {{uri: 'postgresql://a@b/c', caller: {caller}}}}}\n"
    )
    with pytest.raises(ConstatError, match=r"C0593|C0503"):
        load_project(tmp_path)


def test_a_database_that_cannot_be_told_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "rules.dl").write_text(
        '.decl p(x: number)\n.input p(source = "s", query = "SELECT x FROM t")\n'
    )
    (tmp_path / "constat.yaml").write_text(
        "rules: rules.dl\n"
        'databases: {s: {uri: "sqlite:///s.sqlite", caller: {setting: app.caller}}}\n'
    )
    with Session(tmp_path) as session, pytest.raises(ConstatError, match="PostgreSQL alone"):
        session.prove("p(1)")
