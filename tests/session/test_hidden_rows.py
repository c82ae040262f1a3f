"""What a role is told is the same to the byte, whatever the rows are that it may not see."""

from __future__ import annotations

import asyncio
import json
import random
import re
import shutil
import sqlite3
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, tzinfo
from typing import TYPE_CHECKING, Self

import pytest

from constat.project.settings import Sight, SightOf
from constat.service import Refused, Service

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

CONFIG = 'rules: rules.dl\ndatabases: {d: {uri: "sqlite:///d.sqlite"}}\n'
RULES = """
.decl claim(id: number, region: symbol, NULLcity: symbol, owner: number)
.input claim(source = "d", query = "SELECT id, REGION, city, owner FROM claim"AGE)
@[key = id]
.decl charge(id: number, claim: number, region: symbol, amount: number)
.input charge(source = "d", query = "SELECT id, claim, region, amount FROM charge"AGE)
.decl seen(city: symbol)
seen(?c) :- claim(city = ?c).
.decl total(claim: number, t: number)
total(?c, ?t) :- claim(id = ?c), ?t = sum ?a : { charge(_, ?c, _, ?a) }.
.decl number_of(claim: number, t: number)
number_of(?c, ?t) :- claim(id = ?c), ?t = count : { charge(_, ?c, _, _) }.
.decl big(claim: number)
big(?c) :- total(?c, ?t), ?t > 4.
.decl free(claim: number)
free(?c) :- claim(id = ?c), !charge(_, ?c, _, _).
.decl colleague(a: number, b: number)
colleague(?a, ?b) :- claim(?a, _, ?x, _), claim(?b, _, ?x, _), ?a != ?b.
.decl reach(a: number, b: number)
reach(?a, ?b) :- claim(id = ?a, owner = ?b).
reach(?a, ?c) :- reach(?a, ?b), claim(id = ?b, owner = ?c).
.decl pays(city: symbol, a: number)
pays(?c, ?a) :- claim(?i, _, ?c, _), charge(_, ?i, _, ?a).
"""
GOALS = (
    "claim(#, @, &, #)",
    "seen(&)",
    "seen(&)",
    "total(#, #)",
    "number_of(#, #)",
    "big(#)",
    "free(#)",
    "colleague(#, #)",
    "reach(#, #)",
    "pays(&, #)",
    "charge(#, #, @, _)",
)
PARTS = ("region = @", "city = &", "owner = #")
SHOWN = ("north", "west")
HIDDEN = ("south", "east")
CITIES = ("Bonn", "Graz", "Ulm")
LATER = 7
"""A key that is supposed to be there, and is no hidden one."""
Rows = list[tuple[object, ...]]


class Still(datetime):
    """A clock that stands."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Self:
        return cls(2026, 1, 1, tzinfo=tz)


@dataclass
class Case:
    """A project, the rows of its tables in two worlds, and what is stated and asked there."""

    rules: str
    rights: Mapping[str, SightOf]
    config: str
    worlds: list[tuple[Rows, Rows]]
    stated: list[str]
    others: list[str]
    asked: list[tuple[str, str]]


def made(seed: int) -> Case:
    chance = random.Random(seed)
    keyed, nulls = chance.random() < 0.7, chance.choice(["", "", "unknown", "maybe", "none"])
    rules = RULES.replace("AGE", ', max_age = "1h"' if chance.random() < 0.3 else "")
    rules = rules.replace("NULL", f"@[null = {nulls}] " if nulls else "")
    rules = rules.replace("REGION", chance.choice(["region", "region", "lower(region)"]))
    of_claim = chance.choice([None, None, ("id", "region", "city"), ("id", "city", "owner")])
    of_charge: Mapping[str, tuple[str, ...]] = chance.choice(
        [{}, {"region": SHOWN}, {"region": ("north",)}]
    )
    rights = {"claim": SightOf({"region": SHOWN}, of_claim), "charge": SightOf(of_charge)}
    stated = [_fact(chance) for _ in range(chance.choice([0, 1, 1, 2]))]
    taken = {int(one[len("claim(id = ")]) for one in stated if re.search("north|west", one)}
    shown, charges = _claims(chance, SHOWN, {LATER}, nulls), _charges(chance, ["north"])
    if keyed:
        taken |= {LATER, *(int(str(one[0])) for one in shown)}
    worlds = []
    for world in range(2):
        hides = random.Random(f"{seed} {world}")
        claims = _mixed(hides, shown, _claims(hides, HIDDEN, taken if keyed else set(), nulls))
        hidden = _charges(hides, HIDDEN) if of_charge else []
        worlds.append(
            (claims, _mixed(hides, charges, [(int(str(n)) + 50, *r) for n, *r in hidden]))
        )
    goals = [_filled(chance, chance.choice(GOALS)) for _ in range(9)]
    how = ["why", "why", "why_not", "missing", "what_if", "query"]
    return Case(
        f"@[{'key = id' if keyed else 'distinct'}]{rules}",
        rights,
        CONFIG + ("limits: {query_rows: 3}\n" if chance.random() < 0.2 else ""),
        worlds,
        stated,
        goals[:2] if chance.random() < 0.5 else [],
        [(chance.choice(how), goal) for goal in goals[2:]],
    )


def _filled(chance: random.Random, text: str) -> str:
    """Give a text with values, wildcards and variables in the places for them."""
    numbers, cities = ["1", "2", "3", "4", "5", "_", "?n"], [*CITIES, *CITIES, "_", "?c"]
    places = {"#": numbers, "&": cities, "@": [*SHOWN, "south", "_", "_"]}
    names = iter("xyz")
    filled = re.sub("[#&@]", lambda one: chance.choice(places[one[0]]), text)
    return re.sub(r"\?n", lambda _: f"?{next(names)}", filled)


def _fact(chance: random.Random) -> str:
    values = {"@": [*SHOWN, "south"], "&": CITIES, "#": "12345"}
    said = [part for part in PARTS if chance.random() < 0.6]
    parts = [part[:-1] + chance.choice(values[part[-1]]) for part in said]
    return f"claim({', '.join([f'id = {chance.randint(1, 6)}', *parts])})"


def _claims(chance: random.Random, regions: tuple[str, ...], taken: set[int], nulls: str) -> Rows:
    ids = [one for one in range(1, 10) if one not in taken]
    return [
        (
            one,
            chance.choice(regions),
            None if nulls and chance.random() < 0.3 else chance.choice(CITIES),
            chance.randint(1, 6),
        )
        for one in chance.sample(ids, min(len(ids), chance.randint(1, 4)))
    ]


def _charges(chance: random.Random, regions: list[str] | tuple[str, ...]) -> Rows:
    return [
        (one, chance.randint(1, 6), chance.choice(regions), chance.randint(1, 6))
        for one in range(1, chance.randint(2, 6))
    ]


def _mixed(chance: random.Random, shown: Rows, hidden: Rows) -> Rows:
    mixed = list(shown)
    for row in hidden:
        mixed.insert(chance.randint(0, len(mixed)), row)
    return mixed


def write(folder: Path, case: Case, world: int) -> None:
    """Write the project with the rows of one of the worlds."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "rules.dl").write_text(case.rules)
    (folder / "constat.yaml").write_text(case.config)
    with sqlite3.connect(folder / "d.sqlite") as data:
        data.execute("CREATE TABLE claim (id INT, region TEXT NOT NULL, city TEXT, owner INT)")
        data.execute("CREATE TABLE charge (id INT, claim INT, region TEXT NOT NULL, amount INT)")
        data.executemany("INSERT INTO claim VALUES (?, ?, ?, ?)", case.worlds[world][0])
        data.executemany("INSERT INTO charge VALUES (?, ?, ?, ?)", case.worlds[world][1])
    data.close()


async def told(folder: Path, case: Case) -> list[tuple[str, ...]]:
    """Give all answers in a world, each with its certificate."""
    sight = Sight("viewer", "vera", case.rights)
    async with Service(folder) as admin, Service(folder, sight=sight) as viewer:
        for fact in case.stated:
            with suppress(Refused):  # only of a key may columns be left out
                await admin.state(fact, by="boss")
        for goal in case.others:
            await admin.why(goal)
        return [(how, goal, await _answer(viewer, how, goal)) for how, goal in case.asked]


async def _answer(viewer: Service, how: str, goal: str) -> str:
    given = {"add": [f"claim({LATER}, north, Bonn, 3)"]} if how == "what_if" else {}
    try:
        answer = await getattr(viewer, how)(goal, **given)
    except Refused as problem:
        return f"refused: {problem}"
    kept = answer.get("certificate")
    text = f"{json.dumps(answer, ensure_ascii=False)}\n{'' if kept is None else viewer.read(kept)}"
    return re.sub(r'cached (just now|\d+ seconds? ago)|"cursor": "[^"]+"', "", text)


def both(folder: Path, case: Case) -> list[list[tuple[str, ...]]]:
    """Give what is told in each of the worlds."""
    found = []
    for world in range(2):
        write(folder, case, world)
        found.append(asyncio.run(told(folder, case)))
    return found


@pytest.fixture(autouse=True)
def _still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("constat.store.clock.datetime", Still)


@pytest.mark.parametrize("seed", [3, 4, 6, 7, 8, 9, 12, 17, 18, 19])
def test_nothing_that_a_role_is_told_depends_on_hidden_rows(tmp_path: Path, seed: int) -> None:
    one, other = both(tmp_path / "project", made(seed))
    for here, there in zip(one, other, strict=True):
        assert here == there


KEYED = "@[key = id]" + RULES.replace("AGE", "").replace("NULL", "").replace("REGION", "region")
SOUTH = (2, "south", "Graz", 5)


@pytest.mark.parametrize(
    ("stated", "hidden", "goals", "said"),
    [
        pytest.param("", (2, "south", "Bonn", 5), ["seen(Bonn)"], ["PROVED"], id="its query"),
        pytest.param(
            "",
            (2, "south", b"Bonn", "five"),
            ["seen(Bonn)", "claim(_, _, Ulm, _)", "claim(_, north, _, 5)"],
            ["PROVED", "UNRESOLVED", "PROVED"],
            id="a condition on cells that are no values",
        ),
        pytest.param(
            "claim(id = 1, region = north)",
            (2, "south", "Ulm", 5),
            ["seen(Ulm)", "claim(1, _, Bonn, _)"],
            ["UNRESOLVED", "PROVED"],
            id="a query that was asked before",
        ),
        pytest.param(
            "claim(id = 2)",
            None,
            ["claim(2, north, _, _)", "claim(1, west, _, _)"],
            ["UNRESOLVED", "DISPROVED"],
            id="a key of which somebody says no region",
        ),
        pytest.param(
            "claim(id = 1)",
            None,
            ["claim(1, west, _, _)", "claim(1, north, _, _)"],
            ["DISPROVED", "PROVED"],
            id="a key of which somebody says no region, and which is shown",
        ),
        pytest.param(
            "",
            (3, "south", "Graz", 5),
            ["number_of(1, 1)", "charge(1, _, _, _)"],
            ["PROVED", "PROVED"],
            id="the state of a source all of whose rows are shown",
        ),
    ],
)
def test_a_hidden_row_does_not_show_by(
    tmp_path: Path,
    stated: str,
    hidden: tuple[object, ...] | None,
    goals: Sequence[str],
    said: Sequence[str],
) -> None:
    shown: Rows = [(1, "north", "Bonn", 5)]
    charges: Rows = [(1, 1, "north", 3)]
    worlds = [([*shown, *filter(None, [row])], charges) for row in (SOUTH, hidden)]
    rights = {"claim": SightOf({"region": SHOWN}), "charge": SightOf()}
    asked = [("why", goal) for goal in goals]
    case = Case(KEYED, rights, CONFIG, worlds, [stated] if stated else [], [], asked)
    one, other = both(tmp_path / "project", case)
    assert one == other
    assert [json.loads(text.partition("\n")[0])["verdict"] for *_, text in one] == list(said)
