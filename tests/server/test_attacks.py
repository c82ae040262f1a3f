"""Rights on rows and columns over HTTP: what they show, and that no attack gets around them."""

from __future__ import annotations

import hashlib
import json
import re
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from tests.server.attacks import (
    ALSO_ADMIN,
    ATTACKS,
    BOUNDS,
    COUNTED,
    LOWERED,
    MODEL,
    NAMESAKE,
    NOBODY,
    SECRETS,
    SHAPES,
    Attack,
    Call,
    of_a_twin,
    tells,
)
from tests.server.test_server import served

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    import httpx2

server = pytest.importorskip("constat.server", reason="the extra `server` is not installed")

RULES = """
@[key = id]
.decl customer(id: symbol, name: symbol, region: symbol, number: symbol)
.input customer(source = "sales", query = "SELECT id, name, region, ssn FROM customers")
@[key = order]
.decl placed(order: number, customer: symbol, amount: number)
.input placed(source = "sales", query = "SELECT id, customer, amount FROM orders")
.decl blocked(customer: symbol)
.input blocked(source = "sales", query = "SELECT customer FROM blocked")
.decl threshold(amount: number)
.input threshold(source = "config")
.decl contract(customer: symbol, note: symbol)

.decl north(customer: symbol)
north(?c) :- customer(?c, _, "north", _).
.decl known(customer: symbol)
known(?c) :- customer(?c, _, _, _).
.decl ok(customer: symbol)
ok(?c) :- customer(?c, _, _, _), !blocked(?c).
.decl ssn_of(customer: symbol, number: symbol)
ssn_of(?c, ?s) :- customer(?c, _, _, ?s).
.decl total(customer: symbol, amount: number)
total(?c, ?t) :- customer(?c, _, _, _), ?t = sum ?a : { placed(_, ?c, ?a) }.
.decl everything(amount: number)
everything(?t) :- ?t = sum ?a : { placed(_, _, ?a) }.
.decl least(amount: number)
least(?t) :- ?t = min ?a : { placed(_, _, ?a) }.
.decl greatest(amount: number)
greatest(?t) :- ?t = max ?a : { placed(_, _, ?a) }.
.decl numbers(number: number)
numbers(?n) :- ?n = count : { customer(_, _, _, _) }.
.decl digits(customer: symbol, digits: symbol)
digits(?c, ?d) :- customer(?c, _, _, ?s), ?d = substr(?s, 0, 3).
.decl rich(customer: symbol)
@[id = R1]
rich(?c) :- total(?c, ?t), threshold(?x), ?t > ?x.
"""
CONFIG = """
rules: rules.dl
databases:
  sales: {uri: "sqlite:///data.sqlite"}
facts:
  threshold: THRESHOLD
log: {on: true}
rights:
  viewer:
    customer: {rows: {region: north}, columns: [id, name, region]}
    placed: {rows: {customer: [C1, C2]}}
  analyst:
    customer: {rows: {name: $caller}}
    placed: all
  admin: all
"""
WORLDS = (
    {"threshold": 77777, "south": [("C3", "Harald", "333-SSN")], "order": (3, "C3", 987654)},
    {
        "threshold": 66666,
        "south": [("C3", "Sigrid", "999-SSN"), ("C4", "FOURTH", "999-SSN")],
        "order": (4, "C3", 123321),
    },
)
TOKENS = {
    "clerk": server.Caller("clerk", "analyst"),
    "Ada": server.Caller("Ada", "analyst"),
    "analyst": server.Caller("analyst", "analyst"),
    MODEL: server.Caller("bot", "viewer", model=True),
    LOWERED: server.Caller("admin", "analyst"),
    **{name: server.Caller(name, "admin") for name in ALSO_ADMIN},
    NAMESAKE: server.Caller("admin", "viewer"),
}
SHAPED_RULES = """
@[key = id]
.decl staff(id: number, name: symbol, @[null = unknown] pay: number)
.input staff(source = "lists", query = "SELECT id, name, pay FROM staff")
@[key = id]
.decl visit(id: number, guest: symbol, @[null = unknown] note: symbol)
.input visit(source = "books", max_age = "10m", query = "SELECT id, guest, note FROM visits")
.decl refers(a: symbol, b: symbol)
.input refers(source = "books", query = "SELECT a, b FROM refers")
.decl measured(guest: symbol, value: number)
.input measured(source = "books", query = "SELECT guest, value FROM measured")
.decl likes(guest: symbol, what: symbol)
.decl allowed(name: symbol)
.input allowed(source = "config")
.decl notice(document: symbol, days: number)
.input notice(source = "letters", pattern = "Notice period: {days} days")
.decl titled(document: symbol, title: symbol)
.input titled(source = "letters", pattern = "Title: {title}")

.decl well_paid(name: symbol)
well_paid(?n) :- staff(_, ?n, ?p), ?p > 50000.
.decl unpaid(name: symbol)
unpaid(?n) :- staff(_, ?n, _), !well_paid(?n).
.decl payroll(pay: number)
payroll(?t) :- ?t = sum ?p : { staff(_, _, ?p) }.
.decl visits(number: number)
visits(?n) :- ?n = count : { visit(_, _, _) }.
.decl reach(a: symbol, b: symbol)
reach(?a, ?b) :- refers(?a, ?b).
reach(?a, ?c) :- reach(?a, ?b), refers(?b, ?c).
.decl circle(a: symbol)
circle(?a) :- reach(?a, ?a).
.decl last(a: symbol)
last(?b) :- refers(_, ?b), !refers(?b, _).
.decl sum_of(guest: symbol, total: number)
sum_of(?g, ?t) :- refers(_, _), visit(_, ?g, _), ?t = sum ?v : { measured(?g, ?v) }.
.decl highest(value: number)
highest(?v) :- ?v = max ?x : { measured(_, ?x) }.
.constraint wrong_visit: visit(?i, ?g, _) => measured(?g, _).
.decl soon(document: symbol)
soon(?d) :- notice(?d, ?n), ?n < 40.
"""
SHAPED_CONFIG = """
rules: rules.dl
databases:
  books: {uri: "sqlite:///data.sqlite"}
  lists: {files: {staff: staff.csv}}
documents:
  letters: letters/
facts:
  allowed: ALLOWED
log: {on: true}
rights:
  viewer:
    staff: {columns: [id, name]}
    visit: {rows: {guest: G1}}
    refers: {rows: {a: [A, B]}}
    measured: {rows: {guest: G1}}
    likes: {rows: {guest: G1}}
    titled: all
  admin: all
"""
SHAPED_WORLDS = (
    {
        "staff": "id,name,pay\n1,Ann,41111\n2,Bea,60000\n",
        "allowed": "[LISTED, Ann]",
        "letters": {"a.txt": "Notice period: 30 days\nTitle: Leave\n"},
        "visits": [(2, "G2", "FLU-OF"), (7, "G2", "FLU-OF")],
        "refers": [("D", "E")],
        "measured": [("G2", 5)],
        "likes": "FLU-OF",
    },
    {
        "staff": "id,name,pay\n1,Ann,42222\n2,Bea,\n",
        "allowed": "[LISTED]",
        "letters": {
            "a.txt": "Notice period: 60000 days\nTitle: Leave\n",
            "b.txt": "Notice period: 1.5 days\n",
        },
        "visits": [(2, "G2", None), (7, "G2", "COLD-OF"), (7, "G3", "COLD-OF"), (9, "G9", None)],
        "refers": [("C", "A"), ("D", "A")],
        "measured": [("G2", "no-number"), ("G3", 5_000_000_000_000_000_000_000.5)],
        "likes": "COLD-OF",
    },
)

BOUNDED_CONFIG = """
rules: rules.dl
databases:
  books: {uri: "sqlite:///data.sqlite"}
  lists: {files: {listed: listed.csv}}
documents:
  letters: letters/
limits: {query_rows: 3, rows: 60}
log: {on: true}
rights:
  viewer:
    wanted: all
    keyed: {rows: {region: north}}
    plain: {rows: {region: [north, west]}}
    listed: {rows: {region: north}, columns: [id, value]}
    dated: {rows: {region: "2025-01-31"}}
    spelled: {rows: {region: north}}
    noted: {rows: {region: north}}
    stamped: {rows: {region: ["1.50"]}}
  admin: all
"""


def bounded(folder: Path, world: int) -> Path:
    """Make a project whose sources may give three rows to a query; one world has hidden ones."""
    (folder / "letters").mkdir(parents=True)
    kinds = {"dated": "Date", "stamped": "Decimal"}
    inputs = {
        "listed": 'source = "lists", query = "SELECT id, region, value FROM listed"',
        "spelled": 'source = "books", query = "SELECT id, lower(region), value FROM spelled"',
        "noted": 'source = "letters", pattern = "Note {id} of {region}: {value}"',
    }
    rules = [
        ".decl said(c: symbol)\n.decl wanted(id: number)",
        '.input wanted(source = "books", query = "SELECT id FROM wanted")',
    ]
    for name in COUNTED:
        given = inputs.get(
            name, f'source = "books", query = "SELECT id, region, value FROM {name}"'
        )
        key = "@[key = id]\n" if name in {"keyed", "listed"} else ""
        rules += [
            f"{key}.decl {name}(id: number, region: {kinds.get(name, 'symbol')}, value: number)",
            f".input {name}({given})",
            f".decl sum_{name}(total: number)",
            f"sum_{name}(?t) :- ?t = sum ?v : {{ {name}(_, _, ?v) }}.",
            f".decl without_{name}(id: number)",
            f"without_{name}(?i) :- wanted(?i), !{name}(?i, _, _).",
        ]
    (folder / "rules.dl").write_text("\n".join(rules) + "\n")
    (folder / "constat.yaml").write_text(BOUNDED_CONFIG)
    with sqlite3.connect(folder / "data.sqlite") as data:
        data.execute("CREATE TABLE wanted (id INTEGER)")
        data.executemany("INSERT INTO wanted VALUES (?)", [(1,), (5001,), (5002,)])
        for name in COUNTED:
            shown, other = {"dated": ("2025-01-31", "2025-02-01"), "stamped": ("1.50", "2.50")}.get(
                name, ("north", "south")
            )
            rows: list[tuple[object, ...]] = [(1, shown, 7), (2, shown, 8)]
            if name == "plain":
                # So many that a bound is reached with what is shown.
                rows += [(n, "west", 7) for n in range(3, 9)]
            if world:
                # Before them and behind; some are no rows of the declared kinds.
                hidden = [(5001 + n, other, 7 if n % 2 else "no-number") for n in range(1_300)]
                rows = [*hidden[:900], *rows, *hidden[900:]]
            if name == "listed":
                lines = "".join(f"{','.join(map(str, row))}\n" for row in rows)
                (folder / "listed.csv").write_text(
                    f"id,region,value\n{lines}".replace("no-number", "9")
                )
            elif name == "noted":
                text = "".join(f"Note {row[0]} of {row[1]}: {row[2]}\n" for row in rows)
                (folder / "letters" / "a.txt").write_text(text)
            else:
                data.execute(f"CREATE TABLE {name} (id INTEGER, region TEXT, value)")
                data.executemany(f"INSERT INTO {name} VALUES (?, ?, ?)", rows)
    data.close()
    return folder


GOALS = (
    *(f"{name}(C{n})" for name in ("north", "known", "ok", "rich") for n in range(1, 5)),
    *(f"total(C{n}, {amount})" for n in (1, 3) for amount in (0, 100, 987654)),
    *("everything(987804)", "everything(150)", "least(50)", "greatest(100)", "numbers(2)"),
    *('ssn_of(C1, "222-SSN")', 'customer(C1, "Ada", "north", _)', "placed(3, _, _)"),
)


def guarded(folder: Path, world: int) -> Path:
    """Make a project; the worlds differ in what only an admin may see."""
    folder.mkdir()
    made: dict[str, Any] = WORLDS[world]
    (folder / "rules.dl").write_text(RULES)
    (folder / "constat.yaml").write_text(CONFIG.replace("THRESHOLD", str(made["threshold"])))
    with sqlite3.connect(folder / "data.sqlite") as data:
        data.execute(
            "CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT, region TEXT, ssn TEXT)"
        )
        data.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, amount INTEGER)")
        data.execute("CREATE TABLE blocked (customer TEXT)")
        rows = [
            ("C1", "Ada", "north", f"{'111' if world else '222'}-SSN"),
            ("C2", "Bob", "north", "222-SSN"),
        ]
        rows += [(key, name, "south", number) for key, name, number in made["south"]]
        data.executemany("INSERT INTO customers VALUES (?, ?, ?, ?)", rows)
        orders = [(1, "C1", 100), (2, "C2", 50), made["order"]]
        data.executemany("INSERT INTO orders VALUES (?, ?, ?)", orders)
        if world:
            data.execute("INSERT INTO blocked VALUES ('C2')")
    data.close()
    return folder


def shaped(folder: Path, world: int) -> Path:
    """Make another project; what is hidden in it has another form in each of the worlds."""
    made: dict[str, Any] = SHAPED_WORLDS[world]
    (folder / "letters").mkdir(parents=True)
    (folder / "rules.dl").write_text(SHAPED_RULES)
    (folder / "constat.yaml").write_text(SHAPED_CONFIG.replace("ALLOWED", made["allowed"]))
    (folder / "staff.csv").write_text(made["staff"])
    for name, text in made["letters"].items():
        (folder / "letters" / name).write_text(text)
    with sqlite3.connect(folder / "data.sqlite") as data:
        data.execute("CREATE TABLE visits (id, guest, note)")
        data.execute("CREATE TABLE refers (a, b)")
        data.execute("CREATE TABLE measured (guest, value)")
        visits = [(1, "G1", "well"), *made["visits"]]
        data.executemany("INSERT INTO visits VALUES (?, ?, ?)", visits)
        data.executemany(
            "INSERT INTO refers VALUES (?, ?)", [("A", "B"), ("B", "C"), *made["refers"]]
        )
        data.executemany(
            "INSERT INTO measured VALUES (?, ?)", [("G1", 3), ("G1", 4), *made["measured"]]
        )
    data.close()
    return folder


def access() -> Any:  # noqa: ANN401  the extra may be absent
    callers = {**{role: server.Caller(role, role) for role in server.ROLES}, **TOKENS}
    tokens = {
        hashlib.sha256(f"token-of-{name}".encode()).hexdigest(): one
        for name, one in callers.items()
    }
    return server.Access(tokens)


def shown(name: str) -> dict[str, str]:
    return {"Authorization": f"Bearer token-of-{name}"} if name != NOBODY else {}


async def sent(client: httpx2.AsyncClient, call: Call, known: dict[str, str]) -> httpx2.Response:
    text = json.dumps(call.body)
    path = call.path
    for name, value in known.items():
        text, path = text.replace(f"@{name}", value), path.replace(f"@{name}", value)
    headers = [*shown(call.role).items(), *call.headers]
    how: dict[str, Any] = {} if call.method == "GET" else {"json": json.loads(text)}
    if call.content is not None:
        how = {"content": call.content}
    response = await client.request(
        call.method,
        path,
        headers=[(name.encode(), value.encode("latin-1")) for name, value in headers],
        **how,
    )
    try:
        found = response.json()
    except ValueError:
        # Events, lines and Arrow name nothing to go on with.
        found = {}
    if certificate := found.get("certificate"):
        known |= {"certificate": certificate, "identity": certificate.partition("/")[2]}
    for name in ("cursor", "draft"):
        if value := found.get(name):
            known[name] = value
    return response


ALIKE = (
    (
        re.compile(r"\d{4}-\d\d-\d\dT[0-9:.]+Z|\d{4}-\d\d-\d\d \d\d:\d\d[0-9:.]*|\d\d:\d\d:\d\dZ"),
        "TIME",
    ),
    (re.compile(r"(certificate/|identity\W+(sha256:)?)[0-9a-f]{16,64}"), "IDENTITY"),
    # Over the whole, times included; and over the log before it.
    (re.compile(r"(digest|previous|after|Proof)(\W+)sha256:[0-9a-f]{64}"), r"\1\2DIGEST"),
    (re.compile(r"finds it as [0-9a-f]{12}"), "NUMBER"),
    # Where a field of a document is refused, it is chance whether those beside it came to an end.
    (re.compile(r"entry \d+ of the log"), "entry NUMBER of the log"),
    (re.compile(r"cached (just now|\d+ seconds? ago)"), "cached AGO"),
    # A certificate says when it was made, and so its hash and the names made of it do.
    (re.compile(r"((proof|file)<dd><code>|Proof <code>|data:)(sha256:)?[0-9a-f]{64}"), r"\1HASH"),
    (re.compile(r"(runId\W+)[0-9a-f-]{36}"), r"\1RUN"),
    (
        re.compile(
            r"(<description>|directed[^>]{1,9}id=[^>]{1,3}|digest[^0-9a-f]{1,40})sha256\W+[0-9a-f]{64}"
        ),
        r"\1HASH",
    ),
    (re.compile(r"(decision:|:proof:|Reference: `sha256:)[0-9a-f]{64}"), r"\1IDENTITY"),
    # Nobody guesses it, so it is another each time.
    (re.compile(r'("cursor": )"[^"]+"'), r'\1"CURSOR"'),
)


def alike(text: str) -> str:
    """Give an answer without times, and without names that are made of them."""
    for pattern, word in ALIKE:
        text = pattern.sub(word, text)
    return text


async def played(client: httpx2.AsyncClient, attack: Attack) -> tuple[list[str], int]:
    known: dict[str, str] = {}
    for call in attack.before:
        assert (await sent(client, call, known)).status_code == 200, attack.name
    answers, status = [], 0
    for call in attack.calls:
        response = await sent(client, call, known)
        status = response.status_code
        headers = {
            name: text for name, text in response.headers.items() if name.startswith("constat")
        }
        answers.append(f"{status} {headers} {response.text}")
    return answers, status


@pytest.mark.parametrize(
    ("attacks", "make", "stated"),
    [
        pytest.param(
            ATTACKS,
            guarded,
            ('contract(C1, "KEEP-QUIET")', 'contract(C1, "HUSH-HUSH")'),
            id="who sees what",
        ),
        pytest.param(
            SHAPES,
            shaped,
            ('likes(G2, "PRIVATE-LIKE")', 'likes(G3, "PRIVATE-LIKE-TOO")'),
            id="what hidden rows are like",
        ),
        pytest.param(BOUNDS, bounded, ("said(C1)", "said(C1)"), id="bounds and hidden rows"),
    ],
)
def test_no_attack_over_authorisation_succeeds(
    tmp_path: Path,
    attacks: Sequence[Attack],
    make: Callable[[Path, int], Path],
    stated: Sequence[str],
) -> None:
    found: list[dict[str, list[str]]] = []
    if make is guarded:
        with Session(guarded(tmp_path / "twin", 0)) as session:
            guesses = ("known(C3)", "ok(C2)", "everything(?t)", "customer(C3, ?n, _, _)")
            certificates = {one: session.prove(one).certificate.decode() for one in guesses}
        attacks = (*attacks, *of_a_twin(certificates))

    async def work(client: httpx2.AsyncClient) -> None:
        fact = {"fact": stated[len(found)]}
        assert (await client.post("/v1/facts/add", json=fact, headers=shown("admin"))).is_success
        answers: dict[str, list[str]] = {}
        for attack in attacks:
            told, status = await played(client, attack)
            assert status != 500, (attack.name, told)
            assert (status >= 400) or not attack.refused, (attack.name, told)
            # What the attacker has said may be repeated.
            said = json.dumps([(one.path, one.body) for one in attack.calls])
            for secret in SECRETS:
                told_it = tells(secret, "".join(told))
                assert secret in said or not told_it, (attack.name, secret, told)
            answers[attack.name] = [alike(one) for one in told]
        assert len(answers) == len(attacks)
        found.append(answers)

    for world in range(2):
        served(make(tmp_path / str(world), world), work, let=access())
    other = [name for name, told in found[0].items() if told != found[1][name]]
    assert not other, [(found[0][name], found[1][name]) for name in other]


@pytest.mark.laws
def test_what_may_be_seen_is_answered_and_what_may_not_is_unknown(tmp_path: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        async def verdict(goal: str, name: str = "viewer") -> str:
            response = await client.post("/v1/prove", json={"goal": goal}, headers=shown(name))
            assert response.status_code == 200, response.text
            found = response.json()
            report = await client.post(
                "/v1/verify", json={"certificate": found["certificate"]}, headers=shown(name)
            )
            assert report.json()["accepted"], report.text
            assert report.json()["verdict"] == found["verdict"]
            word: str = found["verdict"]
            return word

        assert await verdict("north(C1)") == "PROVED"
        assert await verdict("known(C2)") == "PROVED"
        # A row of which nothing is hidden that the rule reads; all orders of C1 may be seen.
        assert await verdict("total(C1, 100)") == "PROVED"
        assert await verdict("total(C1, 101)") == "DISPROVED"
        assert await verdict("placed(1, C1, 100)") == "PROVED"
        # Never "no": whether C3 exists is not known to a viewer, nor whether C1 is blocked.
        for goal in ("known(C3)", "known(C7)", "ok(C1)", "rich(C1)", 'ssn_of(C1, "x")'):
            assert await verdict(goal) == "UNRESOLVED", goal
            assert await verdict(goal, "approver") == "UNRESOLVED", goal
        for goal in GOALS:
            # Who sees less knows less, and nothing else.
            whole = await verdict(goal, "admin")
            for name in ("viewer", "analyst", "Ada", "approver"):
                assert await verdict(goal, name) in {whole, "UNRESOLVED"}, (goal, name)
        assert await verdict("north(C1)", "approver") == "UNRESOLVED"
        assert await verdict("known(C3)", "admin") == "PROVED"
        assert await verdict("known(C7)", "admin") == "DISPROVED"
        # `$caller` is the name of whoever asks.
        assert await verdict("known(C1)", "Ada") == "PROVED"
        assert await verdict("known(C1)", "clerk") == "UNRESOLVED"
        rows = await client.post(
            "/v1/query", json={"query": "customer(?c, ?n, ?r, _)"}, headers=shown("viewer")
        )
        told = rows.json()
        certain = [one["values"]["c"] for one in told["rows"] if one["verdict"] == "PROVED"]
        assert (certain, told["settled"]) == (["C1", "C2"], "OPEN")

    served(guarded(tmp_path / "0", 0), work, let=access())


def test_a_goal_is_completed_with_what_the_role_may_ask(tmp_path: Path) -> None:
    async def work(client: httpx2.AsyncClient) -> None:
        seen = {}
        for role in ("viewer", "admin"):
            answer = await client.post(
                "/v1/complete", json={"text": "blocked(", "most": 50}, headers=shown(role)
            )
            told = answer.json()
            seen[role] = {one["name"] for one in told["proposals"]}, told["call"] is not None
        assert seen["viewer"][0] >= {"customer", "placed", "rich"}
        assert seen["admin"][0] - seen["viewer"][0] >= {"blocked", "threshold"}
        assert (seen["viewer"][1], seen["admin"][1]) == (False, True)
        for role, names in (("viewer", []), ("admin", ["threshold"])):
            values = await client.post("/v1/settings", json={}, headers=shown(role))
            assert [one["name"] for one in values.json()["settings"]] == names

    served(guarded(tmp_path / "project", 0), work, let=access())


@pytest.mark.parametrize(
    ("slip", "said"),
    [
        ("viewer:\n    custmer: all", "did you mean `customer`"),
        ("viewer:\n    customer: {columns: [names]}", "its columns: id, name"),
        ("viewer:\n    customer: {row: {id: x}}", "unknown key `row`"),
        ("viewers: all", "unknown key `viewers`"),
        ("viewer:\n    north: all", "no relation of a source"),
    ],
)
def test_a_slip_in_the_rights_is_told_and_shows_nothing(
    tmp_path: Path, slip: str, said: str
) -> None:
    folder = guarded(tmp_path / "0", 0)
    config = CONFIG.partition("rights:")[0].replace("THRESHOLD", "1")
    (folder / "constat.yaml").write_text(f"{config}rights:\n  {slip}\n")

    async def work(client: httpx2.AsyncClient) -> None:
        body = {"goal": "north(C1)"}
        response = await client.post("/v1/prove", json=body, headers=shown("viewer"))
        assert (response.status_code, said in response.text) == (400, True), response.text

    served(folder, work, let=access())


def test_no_key_of_a_hidden_row_stands_among_the_parameters_of_a_query(tmp_path: Path) -> None:
    """A look by a column that is no key finds the keys of all rows first, hidden ones too."""
    (tmp_path / "rules.dl").write_text(
        ".decl patient(id: number, name: symbol, ward: symbol, doctor: number)\n"
        "@[key = id]\n.decl visit(id: number, patient: number, ward: symbol)\n"
        '.input visit(source = "sales", query = "SELECT id, patient, ward FROM visits")\n'
        '.input patient(source = "sales", query = "SELECT id, name, ward, doctor FROM patients")\n'
        ".decl colleague(a: number, b: number)\n@[id = C1]\n"
        "colleague(?a, ?b) :- patient(?a, _, _, ?d), patient(?b, _, _, ?d), ?a != ?b.\n".replace(
            ".decl patient", "@[key = id] .decl patient"
        )
    )
    (tmp_path / "constat.yaml").write_text(
        'rules: rules.dl\ndatabases:\n  sales: {uri: "sqlite:///data.sqlite"}\nlog: {on: true}\n'
        "rights:\n  viewer:\n    patient: {rows: {ward: [north]}}\n  admin: all\n"
    )
    hidden = [771_000 + number for number in range(9)]
    rows = [(1, "Ada", "north", 13), (2, "Bob", "north", 13), (3, "Cy", "north", None)]
    rows += [(one, "Eve", "south", None if one % 3 else 13) for one in hidden]
    with sqlite3.connect(tmp_path / "data.sqlite") as data:
        data.execute("CREATE TABLE patients (id INTEGER PRIMARY KEY, name, ward, doctor INTEGER)")
        data.execute("CREATE TABLE visits (id INTEGER PRIMARY KEY, patient INTEGER, ward)")
        data.executemany("INSERT INTO patients VALUES (?, ?, ?, ?)", rows)
    data.close()
    goals = (
        *("patient(?p, _, _, 13)", "patient(1, _, _, 13)", "colleague(1, ?b)", "colleague(1, 2)"),
        *("patient(?p, _, _, 99)", 'patient(?p, "Eve", _, _)', 'patient(?p, _, "north", ?d)'),
    )

    async def work(client: httpx2.AsyncClient) -> None:
        told, verdicts = [], []
        for goal in goals:
            answer = await client.post("/v1/prove", json={"goal": goal}, headers=shown("viewer"))
            verdicts.append(answer.json()["verdict"])
            why = await client.post("/v1/why", json={"goal": goal}, headers=shown("viewer"))
            name = answer.json()["certificate"].partition("/")[2]
            whole = await client.get(f"/v1/certificates/{name}", headers=shown("viewer"))
            told += [answer.text, why.text, whole.text]
        assert verdicts[:4] == ["PROVED"] * 4
        assert [one for one in hidden if any(str(one) in text for text in told)] == []
        # Who may see them is shown what was asked.
        answer = await client.post("/v1/prove", json={"goal": goals[0]}, headers=shown("admin"))
        name = answer.json()["certificate"].partition("/")[2]
        whole = await client.get(f"/v1/certificates/{name}", headers=shown("admin"))
        assert str(hidden[0]) in whole.text

    served(tmp_path, work, let=access())
