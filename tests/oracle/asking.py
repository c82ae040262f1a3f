"""Asks the definition and the product the same: one goal over one small outside.

`decided` runs rules over the relations `e` and `f` of `families`, by the goal-directed engine;
`Keyed` is a predicate `tier(c, t)` with a chain of tiers, in a project that a session reads.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.engine import LazyEngine
from constat.evaluation import ABSENT, ACCEPTED, CERTAIN, CONCEIVABLE, POSSIBLE
from constat.logic import NullPolicy, Value
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program
from tests.oracle.definition import (
    STAR,
    Body,
    Decision,
    Outside,
    Program,
    Reading,
    Truth,
    decide,
)
from tests.oracle.families import DECLARATIONS, Database, Item, declared
from tests.oracle.tiers import USER, Predicate, Said, Tier, as_read, chain
from tests.oracle.translation import goal_of, outside_of, program_of
from tests.property.running import LIMITS
from tests.property.tables import tables

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram
    from constat.session import Result
    from tests.oracle.naive import World

VERDICTS: Final = {
    CERTAIN: "PROVED",
    ACCEPTED: "PROVED_UNDER",
    POSSIBLE: "UNRESOLVED",
    CONCEIVABLE: "DISPROVED_UNDER",
    ABSENT: "DISPROVED",
}
NONE, MAYBE, UNKNOWN = NullPolicy.NONE, NullPolicy.MAYBE, NullPolicy.UNKNOWN


def e(a: Value | None, b: Value | None, how: str = "row") -> Item:
    """Give a row of `e`; `how` is `row`, `assumed`, `open` or `declared` (open until accepted)."""
    return ("e", how, (a, b))


def f(a: Value | None, how: str = "row") -> Item:
    """Give a row of `f`."""
    return ("f", how, (a,))


@dataclass(frozen=True)
class Small:
    """Rules over `e` and `f`, and what is said of these."""

    rules: str
    items: tuple[Item, ...] = ()
    nulls: NullPolicy = MAYBE

    @property
    def analysed(self) -> AnalysedProgram:
        return program(DECLARATIONS + declared(self.rules))

    @property
    def program(self) -> Program:
        return program_of(self.analysed)

    @property
    def world(self) -> World:
        return Database(self.items, self.nulls).world()

    @property
    def outside(self) -> Outside:
        return outside_of(self.world)

    def goal(self, text: str) -> Body:
        return goal_of(parse_goal(text, self.analysed.program))

    def decide(self, text: str) -> Decision:
        """Decide a goal by the definition; the engine says the same."""
        found = decide(self.program, self.outside, self.goal(text))
        assert self.by_engine(text) == found.verdict, text
        return found

    def verdict(self, text: str) -> str:
        return self.decide(text).verdict

    def by_engine(self, text: str) -> str:
        analysed = self.analysed
        goal = parse_goal(text, analysed.program)
        outcome = LazyEngine().evaluate(analysed, goal, tables(analysed, self.world), LIMITS)
        return VERDICTS[outcome.strength(goal)]

    def reading(self, *accepted: str) -> Reading:
        return Reading(self.program, self.outside, accepted)

    def rows(self, predicate: str, *accepted: str) -> dict[tuple[object, ...], bool]:
        """Give the possible rows, ⋆ as None, each with whether it is certain."""
        relation = self.reading(*accepted).relations[predicate]
        return {
            tuple(None if cell == STAR else cell for cell in row): certain
            for row, certain in relation.items()
        }


_KEYED: Final = """\
.pragma "constat" "0.1"
{key}.decl tier(c: symbol, t: symbol)
.input tier(source = "sales", query = "{query}"{more})
.decl gold(c: symbol)
gold(?c) :- tier(?c, "gold").
.decl common(n: number)
common(?n) :- ?n = count : {{ tier(_c, _t) }}.
.decl keys(n: number)
keys(?n) :- ?n = count : {{ tier(_c, _) }}.
.decl listed(c: symbol)
listed(?c) :- tier(?c, _).
.decl unlisted(c: symbol)
unlisted("C1") :- !tier("C1", _).
"""


@dataclass(frozen=True)
class Keyed:
    """`tier(c, t)` of three tiers: configuration, a database that is the authority, people."""

    config: tuple[tuple[str, str], ...] = ()
    database: tuple[tuple[str, str | None], ...] = ()
    user: tuple[tuple[str, str], ...] = ()
    key: bool = True
    conflicts: str = "source"
    null: str = "error"
    distinct: bool = False
    broken: bool = False
    """Whether the database cannot be read."""
    query: str = "SELECT c, t FROM tiers"

    @property
    def rules(self) -> str:
        more = f', null = "{self.null}"' + (', distinct = "true"' if self.distinct else "")
        key = '@[key = "c"]\n' if self.key else ""
        return _KEYED.format(key=key, more=more, query=self.query)

    @property
    def analysed(self) -> AnalysedProgram:
        return program(self.rules)

    def said(self, goal: Body | None = None) -> Said:
        """Give what all tiers say to a goal; to whoever reads all columns without one."""
        declared = Predicate(
            "tier",
            ("error" if self.key else self.null, self.null),
            (0,) if self.key else (),
            "sales",
            conflicts=self.conflicts,
            distinct=self.distinct,
        )
        predicate = declared
        if goal is not None:
            predicate = as_read(declared, program_of(self.analysed), goal)
        failed = ((STAR, STAR),) if self.broken else ()
        tiers = [
            Tier("config", self.config),
            Tier("sales", () if self.broken else self.database, failed),
            Tier(USER, self.user, assumed=True),
        ]
        return chain(predicate, tiers)

    def goal(self, text: str) -> Body:
        return goal_of(parse_goal(text, self.analysed.program))

    def decide(self, text: str) -> Decision:
        """Decide a goal by the definition alone."""
        goal = self.goal(text)
        said = self.said(goal)
        outside = Outside({"tier": said.facts}, {"tier": said.openings})
        return decide(program_of(self.analysed), outside, goal)

    def verdict(self, text: str) -> str:
        """Decide a goal by the definition; a session says the same."""
        found = self.decide(text)
        assert self.by_session(text) == [found.verdict], text
        return found.verdict

    def by_session(self, *goals: str) -> list[str]:
        with TemporaryDirectory() as name:
            self.write(Path(name))
            with Session(Path(name)) as session:
                for c, t in self.user:
                    session.facts.add(f"tier({c}, {t})", author="alice")
                results = [session.prove(text) for text in goals]
                for text, result in zip(goals, results, strict=True):
                    # What it does not take from one tier it tells of.
                    assert bool(result.conflicts) <= bool(self.said(self.goal(text)).conflicts)
                return [result.verdict.value for result in results]

    def write(self, folder: Path) -> None:
        connection = sqlite3.connect(folder / "sales.sqlite")
        connection.execute("CREATE TABLE tiers (c, t)")
        connection.executemany("INSERT INTO tiers VALUES (?, ?)", self.database)
        connection.commit()
        connection.close()
        if self.broken:
            (folder / "sales.sqlite").write_text("no database")
        (folder / "rules.dl").write_text(self.rules)
        rows = "".join(f"    - [{c}, {t}]\n" for c, t in self.config)
        (folder / "constat.yaml").write_text(
            'rules: rules.dl\ndatabases: {sales: {uri: "sqlite:///sales.sqlite"}}\n'
            f"conflicts: {self.conflicts}\n" + (f"facts:\n  tier:\n{rows}" if rows else "")
        )


_CELLS: Final = """\
.pragma "constat" "0.1"
@[key = "c"]
.decl item(c: symbol, @[null = {null}] a: symbol, @[null = {null}] b: symbol)
.input item(source = "sales", query = "SELECT c, a, b FROM items")
.decl same(c: symbol)
same(?c) :- item(?c, ?v, ?v).
.decl known(c: symbol)
known(?c) :- item(?c, _a, _).
.decl nothing(c: symbol)
nothing(?c) :- item(?c, _, _), !known(?c).
.decl pairs(n: number)
pairs(?n) :- ?n = count : {{ item(_c, _a, _b) }}.
"""
Cells = tuple[str | None, str | None]


@dataclass(frozen=True)
class Filled:
    """`item(C1, a, b)` of a database, and what people state of its cells, each some or both."""

    row: Cells | None
    said: tuple[Cells, ...] = ()
    null: str = "maybe"

    def decide(self, text: str) -> Decision:
        """Decide a goal by the definition alone."""
        declared = Predicate("item", ("error", self.null, self.null), (0,), "sales")
        rows = [] if self.row is None else [("C1", *self.row)]
        people = Tier(USER, [("C1", *cells) for cells in self.said], assumed=True)
        analysed = program(_CELLS.format(null=self.null))
        rules, goal = program_of(analysed), goal_of(parse_goal(text, analysed.program))
        said = chain(as_read(declared, rules, goal), [Tier("sales", rows), people])
        outside = Outside({"item": said.facts}, {"item": said.openings})
        return decide(rules, outside, goal)

    def by_session(self, *goals: str) -> list[Result]:
        with TemporaryDirectory() as name:
            folder = Path(name)
            with closing(sqlite3.connect(folder / "sales.sqlite")) as connection, connection:
                connection.execute("CREATE TABLE items (c, a, b)")
                rows = [] if self.row is None else [("C1", *self.row)]
                connection.executemany("INSERT INTO items VALUES (?, ?, ?)", rows)
            (folder / "rules.dl").write_text(_CELLS.format(null=self.null))
            uri = 'databases: {sales: {uri: "sqlite:///sales.sqlite"}}'
            (folder / "constat.yaml").write_text(f"rules: rules.dl\n{uri}\n")
            with Session(folder) as session:
                for number, cells in enumerate(self.said):
                    named = dict(zip("ab", cells, strict=True))
                    listed = (f", {column} = {text}" for column, text in named.items() if text)
                    session.facts.add(f"item(c = C1{''.join(listed)})", author=f"user{number}")
                return [session.prove(text) for text in goals]


def truths_of(strength: int) -> tuple[Truth, Truth]:
    """Give what a strength says of the hard and of the accepted reading."""
    readings: dict[int, tuple[Truth, Truth]] = {
        CERTAIN: (True, True),
        ACCEPTED: (None, True),
        POSSIBLE: (None, None),
        CONCEIVABLE: (None, False),
        ABSENT: (False, False),
    }
    return readings[strength]
