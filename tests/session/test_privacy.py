"""No value of data goes to a provider without leave: every request of every task is looked through.

Values that stand nowhere else are planted in tables, configured facts, rules and stated facts. The
provider is a server of ours that speaks the real protocol and answers as somebody wrote, code that
raises errors with cells in them included. `TASKS` names each place that asks a model; a new place
that is not in it fails `test_every_place_that_asks_a_model_is_in_the_table`.
"""

from __future__ import annotations

import ast
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.explore.sandbox import Level, unavailable
from constat.model import Task
from constat.session.repl import Notebook
from tests.cli.running import run
from tests.loopback.server import Asked, ModelServer, Written

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT: Final = Path(__file__).parents[2] / "constat"
CONFINED: Final = not (unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL))
PEOPLE: Final = (
    ("Jx1Wexl", "Zyxwortley", "7318.42", "1987-03-14"),
    ("Jx2Quib", "Quibblefax", "9127.06", "1991-11-29"),
    ("Jx3Brim", "Brimstoke", "6450.73", "1979-07-08"),
)
# One of each kind of number: cells, their sum, mean, difference, and what is configured.
NUMBERS: Final = ("7318.42", "9127.06", "6450.73", "22896.21", "7632.07", "2676.33", "40961.77")
WORDS: Final = (
    *(one for person in PEOPLE for one in person[:2]),
    *("Vorpalbex", "Mimsydon", "Tulgeywood"),
)
DAYS: Final = (
    "1987-03-14",
    "14.03.1987",
    "03/14/1987",
    "March 14, 1987",
    "14 March 1987",
    "19870314",
)
CONFIGURATION: Final = """
project: people
rules: [people.dl]
databases: {{hr: {{uri: "sqlite:///hr.sqlite"}}}}
facts: {{bonus: [[Tulgeywood, 40961.77]]}}
sub_plans: {{predicates: [contract]}}
models:
  named:
    author: {{provider: {provider}, model: written-answers, base_url: "{address}", key: NO_SECRET}}
{more}
"""
RULES: Final = """
.pragma "constat" "0.1"
.include "constat/prelude.dl"
.once
/// People who work here.
.decl person(id: symbol, name: symbol, salary: Decimal, born: Date)
.input person(source = "hr", query = "SELECT id, name, salary, born FROM people")
.decl bonus(id: symbol, amount: Decimal)
.decl nickname(id: symbol, nick: symbol)
nickname("Jx1Wexl", "Vorpalbex").
.decl office(id: symbol, place: symbol)
.decl trade(name: symbol, of: symbol)
.input trade(source = "model", model = "knowledge", given = "name")
.decl guess(name: symbol, of: symbol)
.input guess(source = "model", model = "heuristic", given = "name")
.decl smith(id: symbol)
smith(?i) :- person(?i, ?n, _, _), trade(?n, "smith").
.decl perhaps(id: symbol)
perhaps(?i) :- person(?i, ?n, _, _), guess(?n, "smith").
.decl placed(name: symbol)
placed(?n) :- person(?i, ?n, _, _), office(?i, _).
placed(?n) :- person(_, ?n, _, _), trade(?n, "smith").
.decl rich(id: symbol)
rich(?i) :- person(?i, _, ?s, _), ?s > 7000.0.
.decl paid(t: Decimal)
paid(?t) :- ?t = sum ?s : { person(_i, _n, ?s, _b) }.
.decl known(id: symbol)
known(?i) :- person(?i, _, _, _), nickname(?i, _), bonus(_, ?a), ?a > 1.0, office(?i, _).
.decl contract(id: symbol, v: Decimal)
.decl bound(id: symbol)
bound(?i) :- person(?i, _, _, _), contract(?i, ?v), ?v > 1.0.
"""


@dataclass
class World:
    """A project with planted values, and what was asked of the provider by the name of a tool."""

    folder: Path
    server: ModelServer
    scripts: dict[str, list[Written]] = field(default_factory=dict)

    @property
    def tells_facts(self) -> bool:
        """Whether the tools about facts are on offer."""
        return "facts: true" in (self.folder / "constat.yaml").read_text()

    def requests(self) -> list[tuple[str, str]]:
        """Give each request by what it is for, with all of its texts, however they were encoded."""
        return [(kind_of(one), "\n".join(texts(dict(one.body)))) for one in self.server.asked]

    def leaks(self) -> list[tuple[str, str]]:
        return [
            (kind, value)
            for kind, text in self.requests()
            for value in planted()
            if value.casefold() in text.casefold()
        ]


def planted() -> list[str]:
    """Give what is planted in each spelling in which it could go out."""
    found = [*WORDS, *DAYS]
    for number in NUMBERS:
        whole, _, places = number.partition(".")
        found += [number, f"{float(number):,.2f}", f"{whole},{places}", f"{float(number):,.1f}"]
        found += [f"{int(whole):,}.", f"{whole}.", f"{whole}{places}", f"{float(number):e}"]
    return found


def texts(told: object) -> Iterator[str]:
    """Yield every text of a request, what is JSON inside of a text as well."""
    if isinstance(told, dict):
        for name, one in told.items():
            yield str(name)
            yield from texts(one)
    elif isinstance(told, list):
        for one in told:
            yield from texts(one)
    else:
        text = str(told)
        yield text
        if text[:1] in {"{", "["}:
            with suppress(ValueError):
                yield from texts(json.loads(text))
        # `é` or a letter of a name may be spelled by its number.
        yield text.encode().decode("unicode_escape", "replace")


def kind_of(asked: Asked) -> str:
    """Tell what a request is for by the tool that its answer calls."""
    ours = [one for one in asked.tools if one in {site.tool for site in TASKS.values()}]
    assert len(ours) < 2, ours
    return ours[0] if ours else ""


def answer_of(world: list[World]) -> Callable[[Asked], Written]:
    def answer(asked: Asked) -> Written:
        kind = kind_of(asked)
        waiting = world[0].scripts.get(kind, [])
        if waiting:
            return waiting.pop(0)
        if kind == "tell":
            keys = json.loads(asked.last.splitlines()[-1])
            told = [{"key": one["key"], "known": False} for one in keys]
            return Written(calls=(("tell", {"answers": told}),))
        return Written("It is in the table.")

    return answer


def world_of(folder: Path, provider: str = "anthropic", more: str = "") -> Iterator[World]:
    worlds: list[World] = []
    with ModelServer(answer_of(worlds)) as server:
        worlds.append(World(folder, server))
        address = server.address if provider == "anthropic" else server.chat_address
        (folder / "people.dl").write_text(RULES)
        text = CONFIGURATION.format(provider=provider, address=address, more=more)
        (folder / "constat.yaml").write_text(text)
        with closing(sqlite3.connect(folder / "hr.sqlite")) as connection:
            connection.execute("CREATE TABLE people (id TEXT, name TEXT, salary TEXT, born TEXT)")
            connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", PEOPLE)
            connection.commit()
        with Session(folder) as session:
            session.facts.add('office("Jx1Wexl", "Mimsydon")', author="bob")
        yield worlds[0]


@pytest.fixture(params=["anthropic", pytest.param("openai", marks=pytest.mark.slow)])
def world(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[World]:
    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    yield from world_of(tmp_path, request.param)


@pytest.fixture
def allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("NO_SECRET", "sk-planted-key")
    yield from world_of(tmp_path, more="authoring: {facts: true}\ncatalog: {samples: true}")


# ---------------------------------------------------------------------------- what models answer


def calls(*listed: tuple[str, dict[str, Any]]) -> Written:
    return Written(calls=listed)


LOOKUPS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("list_tables", {}),
    ("get_table_schema", {"table": "hr.people"}),
    ("search_tables", {"query": "people salary name bonus nickname"}),
    ("get_table_relationships", {"table": "hr.people"}),
    ("get_sample_values", {"table": "hr.people", "column": "name"}),
    ("get_sample_values", {"table": "hr.people"}),
    ("show_predicate", {"name": "nickname"}),
    ("show_predicate", {"name": "person"}),
)
FACTS: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("list_known_facts", {}),
    ("resolve_fact", {"goal": "known(?id)"}),
    ("resolve_fact", {"goal": "paid(?t)"}),
    ("get_unresolved_facts", {}),
    ("extract_facts_from_text", {"text": "Somebody is in an office."}),
)
BROKEN: Final = "found(?i) :- people(?i)."
QUERIED: Final = """.decl named(id: symbol)
.input named(source="hr", query="SELECT id FROM people WHERE name = CAST(salary AS TEXT)")
"""


def proposed(goal: str, rules: str = "") -> tuple[str, dict[str, Any]]:
    return "propose", {"goal": goal, "rules": rules}


def step(name: str, columns: str, **work: object) -> dict[str, Any]:
    outputs = [f"{name}({columns})"]
    return {"name": name, "goal": f"find {name}", "outputs": outputs, **work}


def planned(*steps: dict[str, Any], answer: str = "") -> Written:
    name = answer or str(steps[-1]["name"])
    return calls(("propose_plan", {"steps": list(steps), "answer": name}))


def rewritten(text: str) -> Written:
    return calls(("rewrite_step", {"text": text}))


STAFF: Final = step(
    *("staff", "id: symbol, name: symbol, salary: Decimal, born: Date"),
    rules="staff(?i, ?n, ?s, ?b) :- person(?i, ?n, ?s, ?b).",
)
PAID: Final = step(
    *("mean_pay", "n: symbol, t: Decimal"),
    inputs=["staff"],
    sql="SELECT min(name), sum(salary) FROM staff",
)
# SELECTs whose errors quote cells, and one that is right.
SELECTS: Final = (
    "SELECT name, CAST(name AS INTEGER) FROM staff",
    "SELECT name, CAST(born || name AS DATE) FROM staff",
    "SELECT min(name), CAST(sum(salary) AS DECIMAL(18, 2)) FROM staff",
)
CODE: Final = (
    "f = store.get('staff')\nfirst = f['name'].iloc[0]\nraise KeyError(first)",
    "f = store.get('staff')\nf[f['name'].iloc[1]]",
    "f = store.get('staff')\nint(f['name'].iloc[0])",
    "f = store.get('staff')\npd.to_numeric(f['name'])",
    "f = store.get('staff')\nprint(f)\npd.to_datetime(f['name'])",
    "f = store.get('staff').pivot(columns='name', values='salary')\nstore.put('odd', f)",
    "f = store.get('staff')\nassert not len(f), f.to_string()",
    "f = store.get('staff')\nclass E(Exception):\n    pass\nraise E(str(f['salary'].sum()))",
    "f = store.get('staff')\nf['salary'] = 'x' + f['name']\nstore.put('odd', f[['id', 'salary']])",
    "f = store.get('staff')\nraise NameError(f\"name '{f['name'].iloc[0]}' is not defined\")",
)


# ------------------------------------------------------------------------- what people ask for


def asks(world: World) -> None:
    """Draft with every lookup, a mistake that comes back, and questions that go on."""
    world.scripts["propose"] = [
        calls(*LOOKUPS[:4]),
        calls(*LOOKUPS[4:]),
        *([calls(*FACTS)] if world.tells_facts else []),
        calls(proposed("found(?id)", BROKEN)),
        calls(proposed("rich(?id)")),
        calls(proposed("known(?id)")),
        calls(proposed("paid(?t)")),
    ]
    with Session(world.folder) as session:
        for question in ("Who is rich?", "And who is known?", "And how much is paid?"):
            session.ask(question, conversation="talk")


def asks_with_a_query(world: World) -> None:
    world.scripts["propose"] = [
        calls(proposed("named(?id)", QUERIED.replace("people", "peopel"))),
        calls(proposed("named(?id)", QUERIED)),
    ]
    with Session(world.folder) as session:
        session.ask("Whose name is a salary?", conversation="talk")


def asks_in_vain(world: World) -> None:
    """A question that ends with an error is told to the next one."""
    with closing(sqlite3.connect(world.folder / "hr.sqlite")) as connection:
        connection.execute("INSERT INTO people VALUES ('Jx1Wexl', 'Zyxwortley', 'much', 'once')")
        connection.commit()
    world.scripts["propose"] = [calls(proposed("paid(?t)")), calls(proposed("rich(?id)"))]
    with Session(world.folder) as session:
        session.ask("How much is paid?", conversation="talk")
        session.ask("And who is rich?", conversation="talk")


def plans_sub_plans(world: World) -> None:
    rules = "contract(?i, ?s) :- person(?i, _, ?s, _)."
    world.scripts["propose"] = [
        calls(*LOOKUPS[4:]),
        calls(proposed("contract(?i, ?v)", "contract(?i) :- x.")),
        calls(proposed("contract(?i, ?v)", rules)),
    ]
    with Session(world.folder) as session:
        session.prove("bound(_)")


def solves(world: World) -> None:
    """Plan, mend SELECTs that fail over cells, word the answer, and go on from it twice."""
    broken = step("pay", "n: symbol, t: Decimal", inputs=["staff"], sql=SELECTS[0])
    world.scripts["propose_plan"] = [
        calls(*LOOKUPS[4:]),
        planned(STAFF, step("x", "n: symbol", rules="x(?n) :- stuff(?n).")),
        planned(STAFF, broken),
        planned(step("shown", "n: symbol", rules="shown(?n) :- pay(?n, _).")),
        planned(step("again", "n: symbol", rules="again(?n) :- shown(?n), office(?n, _).")),
    ]
    world.scripts["rewrite_step"] = [rewritten(one) for one in SELECTS[1:]]
    with Session(world.folder) as session:
        session.solve("What is paid in all?", today="2026-01-01")
        session.follow_up("And to whom?")
        session.follow_up("And where?")


def solves_by_code(world: World) -> None:
    """Have each way in which code quotes cells come back as a correction."""
    if not CONFINED:
        pytest.skip("nothing here keeps code in")
    columns = "id: symbol, salary: Decimal"
    with Session(world.folder) as session:
        for number in range(0, len(CODE), 2):
            odd = step("odd", columns, inputs=["staff"], python=CODE[number])
            world.scripts["propose_plan"] = [planned(STAFF, odd), planned(STAFF, odd)]
            world.scripts["rewrite_step"] = [rewritten(CODE[number + 1]), rewritten(CODE[number])]
            with pytest.raises(ConstatError):
                session.solve("What is odd?", today="2026-01-01")
            follow = step(
                f"then{number}", "n: symbol", rules=f"then{number}(?n) :- person(?n, _, _, _)."
            )
            world.scripts["propose_plan"] = [planned(follow)]
            session.follow_up("And then?")


def solves_on_a_source(world: World) -> None:
    """A SELECT on the database that fails, and one whose cells are of other types."""
    wrong = step("odd", "n: number", source="hr", sql="SELECT name FROM people")
    world.scripts["propose_plan"] = [planned(wrong)]
    world.scripts["rewrite_step"] = [rewritten("SELECT name || salary FROM people")]
    with Session(world.folder) as session, pytest.raises(ConstatError):
        session.solve("What is odd?", today="2026-01-01")


def asks_models_for_facts(world: World) -> None:
    with Session(world.folder) as session:
        session.query("smith(?id)")
        session.query("perhaps(?id)")
        # A goal that is made of a row was typed by nobody.
        session.query("placed(?n)", check=100)
        # A name that a person has said need not come from a row.
        session.prove('trade("Ada", "smith")')


def tells(world: World) -> None:
    world.scripts["state_facts"] = [calls(("state_facts", {"facts": []}))]
    with Session(world.folder) as session:
        session.provide_facts("Ada has an office in Rome.", author="bob", goal="known(_)")


def compacts(world: World) -> None:
    log = world.folder / "log.json"
    log.write_text(json.dumps([{"role": "user", "content": "Never pay twice. " * 20}]))
    words = ("memory", "compact", log, "--budget", "200", "--session", "s", "--with-model")
    run(*words, "--project", world.folder)


def types_goals(world: World) -> None:
    """What was typed in one sitting is told to the model that reads the next question."""
    with Session(world.folder) as session, closing(Notebook(session)) as notebook:
        notebook.converse("rich(?id)", "PROVED")
        world.scripts["propose"] = [calls(proposed("rich(?id)"))]
        session.ask("Who is that?", conversation=notebook.conversation)


@dataclass(frozen=True)
class Site:
    """A place that asks a model: the tool that its answer calls, its tasks, and who gets there."""

    tool: str
    tasks: frozenset[Task]
    scenes: tuple[Callable[[World], None], ...]


TASKS: Final = {
    "authoring/drafting.py": Site(
        "propose",
        frozenset({Task.DRAFT, Task.SUB_PLAN}),
        (asks, asks_with_a_query, asks_in_vain, plans_sub_plans, types_goals),
    ),
    "authoring/telling.py": Site("state_facts", frozenset({Task.EXTRACT}), (tells,)),
    "explore/planning.py": Site(
        "propose_plan", frozenset({Task.PLAN}), (solves, solves_by_code, solves_on_a_source)
    ),
    "explore/planning.py again": Site(
        "rewrite_step", frozenset({Task.CODE}), (solves, solves_by_code)
    ),
    "explore/answered.py": Site("", frozenset({Task.NARRATE}), (solves,)),
    "memory/extract/by_model.py": Site("note_facts", frozenset({Task.EXTRACT}), (compacts,)),
    "tiers/model.py": Site(
        "tell", frozenset({Task.KNOWLEDGE, Task.HEURISTIC}), (asks_models_for_facts,)
    ),
}
SCENES: Final = tuple(dict.fromkeys(scene for site in TASKS.values() for scene in site.scenes))
# Without leave no model words an answer: whoever wants one to has to allow values.
ONLY_WITH_LEAVE: Final = frozenset({"explore/answered.py"})


def test_every_place_that_asks_a_model_is_in_the_table() -> None:
    found = {
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        if "Prompt" in (text := path.read_text(encoding="utf-8"))
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Prompt"
    }
    assert found == {place.removesuffix(" again") for place in TASKS}
    assert {task for site in TASKS.values() for task in site.tasks} == set(Task)


@pytest.mark.sampled(3, "laws")
@pytest.mark.parametrize("scene", SCENES, ids=lambda one: one.__name__)
def test_no_planted_value_is_in_any_request(world: World, scene: Callable[[World], None]) -> None:
    scene(world)
    assert world.leaks() == []
    asked = {kind for kind, _ in world.requests()}
    for place, site in TASKS.items():
        if scene in site.scenes:
            assert (site.tool in asked) is (place not in ONLY_WITH_LEAVE), place


@pytest.mark.parametrize(
    ("scene", "kinds"),
    [
        (asks, {"propose"}),
        (solves, {"", "propose_plan", "rewrite_step"}),
        (asks_models_for_facts, {"tell"}),
    ],
    ids=["asks", "solves", "facts"],
)
def test_with_leave_the_values_do_go(
    allowed: World, scene: Callable[[World], None], kinds: set[str]
) -> None:
    """The scenes would show a leak: where it is allowed, the planted values are in the requests."""
    scene(allowed)
    assert {kind for kind, _ in allowed.leaks()} >= kinds


def test_a_correction_without_leave_names_what_stands_in_the_step(world: World) -> None:
    wrong = step("pay", "n: symbol", inputs=["staff"], sql="SELECT nmae FROM staff")
    world.scripts["propose_plan"] = [planned(STAFF, wrong)]
    world.scripts["rewrite_step"] = [rewritten("SELECT name FROM staff")]
    with Session(world.folder) as session:
        assert len(session.solve("Who is there?", today="2026-01-01").rows) == len(PEOPLE)
    [told] = [text for kind, text in world.requests() if kind == "rewrite_step"]
    assert "missing column" in told
    assert "`nmae`" in told
    assert "staff(id: symbol, name: symbol, salary: Decimal, born: Date)" in told
