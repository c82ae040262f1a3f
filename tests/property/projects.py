"""Random projects by seed: rules, sources that answer, hold nulls, fail or say nothing, and goals.

In: a seed.  Out: a ``Drawn``, the same each time: the files of a project, and the *choices* that
nobody has made about the world outside.  A choice is a tuple of alternatives, each some facts; one
alternative of each choice makes a completion.  Invariant: every completion is a world that the
project's files allow, whatever the tiers make of them.

Example: a table that fails has one choice for each row over the domain: it is there, or it is not.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field, replace
from itertools import product
from random import Random
from typing import TYPE_CHECKING, TypeVar, cast

from constat.evaluation import Assumption
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Literal,
    Predicate,
    Row,
    Rule,
    Source,
    Term,
    Value,
    Variable,
    literal_variables,
)
from constat.tiers.tier import declared_closed, stated_by
from tests.property.rules import RuleDraw, Shape, counter
from tests.property.showing import show_row, show_rule

if TYPE_CHECKING:
    from pathlib import Path

    from hypothesis.strategies import DrawFn

T = TypeVar("T")
Fact = tuple[str, Row]
Choice = tuple[frozenset[Fact], ...]

VALUES: dict[Kind, tuple[Value, ...]] = {
    Kind.NUMBER: (0, 1, 2),
    Kind.SYMBOL: ("a", "b", "1"),
    Kind.FLOAT: (0.5, 1.0),
}
AUTHORS = ("tester", "alice")
NOTHING: frozenset[Fact] = frozenset()


class SeededDraw(RuleDraw):
    """Draws a rule from a seed, with columns that a negation leaves open."""

    def __init__(
        self, random: Random, shape: Shape, lower: list[Predicate], layer: list[Predicate]
    ) -> None:
        super().__init__(cast("DrawFn", _no_strategy), shape, lower, layer)
        self.random = random
        self.is_inside = False

    def one(self, *options: T) -> T:
        return self.random.choice(options)

    def chance(self, percent: int) -> bool:
        return self.random.randrange(100) < percent

    def number(self, least: int, most: int) -> int:
        return self.random.randint(least, most)

    def shuffled(self, body: list[Literal]) -> list[Literal]:
        return self.random.sample(body, len(body))

    def ground(self, predicate: Predicate) -> Atom:
        drawn = super().ground(predicate)
        if self.is_inside or not self.chance(25):
            return drawn
        terms: list[Term] = list(drawn.terms)
        if terms:
            place = self.random.randrange(len(terms))
            terms[place] = Variable(self.name(predicate.kinds[place], "any"))
        return replace(drawn, terms=tuple(terms))

    def aggregate(self) -> Literal:  # type: ignore[override]  # the same, told more widely
        self.is_inside = True
        found = super().aggregate()
        self.is_inside = False
        return found

    def threshold(self) -> tuple[Literal, Literal]:
        self.is_inside = True
        found = super().threshold()
        self.is_inside = False
        return found


def _no_strategy(_: object) -> object:
    raise AssertionError("a seed draws no strategy")


@dataclass
class Drawn:
    """A project: the text of its rules, what is configured, tables, and what is stated.

    ``sure`` are facts of every completion, ``choices`` what nobody has chosen; a choice under an
    assumption is made by whoever accepts it: its first alternative.
    """

    seed: int
    rules: list[str] = field(default_factory=list)
    facts: dict[str, list[Row]] = field(default_factory=dict)
    closed: dict[str, str] = field(default_factory=dict)
    tables: dict[str, list[tuple[Value | None, ...]]] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    stated: list[tuple[str, str]] = field(default_factory=list)
    predicates: dict[str, Predicate] = field(default_factory=dict)
    sure: set[Fact] = field(default_factory=set)
    choices: list[tuple[Choice, Assumption | None]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write the project's files."""
        lines = ["project: random", "rules: [r.dl]", "databases:"]
        lines += [f'  {name}: {{uri: "sqlite:///{name}.sqlite"}}' for name in ("ok", "gone")]
        lines += ["facts:"] if self.facts else []
        for name, rows in self.facts.items():
            lines.append(f"  {name}: [{', '.join(map(_configured, rows))}]")
        lines += ["closed:"] if self.closed else []
        lines += [f"  {name}: {who}" for name, who in self.closed.items()]
        (folder / "constat.yaml").write_text("\n".join(lines) + "\n")
        (folder / "r.dl").write_text('.pragma "constat" "0.1"\n' + "\n".join(self.rules) + "\n")
        database = sqlite3.connect(folder / "ok.sqlite")
        database.execute("PRAGMA synchronous = OFF")
        database.execute("PRAGMA journal_mode = MEMORY")
        database.execute("CREATE TABLE least AS SELECT -9223372036854775808 AS x")
        for name in self.broken:
            listed = (f"abs(x) AS {c.name}" for c in self.predicates[name].columns)
            database.execute(f"CREATE VIEW {name} AS SELECT {', '.join(listed)} FROM least")
        for name, cells in self.tables.items():
            columns = self.predicates[name].columns
            declared = ", ".join(f"{one.name} {_SQL[one.kind]}" for one in columns)
            database.execute(f"CREATE TABLE {name}({declared})")
            places = ", ".join("?" * len(columns))
            database.executemany(f"INSERT INTO {name} VALUES ({places})", cells)
        database.commit()
        database.close()


_SQL = {Kind.NUMBER: "integer", Kind.SYMBOL: "text"}


def _configured(row: Row) -> str:
    return f"[{', '.join(f'{str(value)!r}' for value in row)}]"


def draw_project(seed: int) -> Drawn:
    """Draw a project; the same seed gives the same."""
    random = Random(seed)
    drawn = Drawn(seed)
    # Where all columns are of one kind, more of them join, and more stays unknown.
    kinds = random.choice(((Kind.SYMBOL,), (Kind.NUMBER, Kind.SYMBOL, Kind.SYMBOL)))
    count = random.randint(2, 4)
    lower = [_external(random, drawn, f"e{number}", kinds) for number in range(count)]
    for depth in range(random.randint(1, 3)):
        layer = [
            _predicate(random, f"{'pqr'[depth]}{place}", kinds)
            for place in range(random.randint(1, 2))
        ]
        for predicate in layer:
            _declare(drawn, predicate)
        shape = Shape(errors=random.random() < 0.3, assumed=random.random() < 0.4)
        for predicate in layer:
            for number, rule in enumerate(_rules(random, shape, lower, layer, predicate), 1):
                _write_rule(random, drawn, replace(rule, id=f"{predicate.name}.{number}"))
        lower = lower + layer
    return drawn


def _rules(
    random: Random, shape: Shape, lower: list[Predicate], layer: list[Predicate], head: Predicate
) -> list[Rule]:
    count = random.randint(1, 3)
    drawn = [SeededDraw(random, shape, lower, layer).rule(head, n) for n in range(1, count + 1)]
    if head.kinds == (Kind.NUMBER,) and random.random() < 0.1:
        drawn.append(counter(head, 9))
    return drawn


def _write_rule(random: Random, drawn: Drawn, rule: Rule) -> None:
    """Write a rule; now and then a test of it in two ways, one after the other."""
    if rule.proposed:
        rule = replace(rule, proposed=False)
    totals = {one.result.name for one in rule.body if isinstance(one, Aggregate)}
    tests = [
        place
        for place, one in enumerate(rule.body)
        if isinstance(one, Comparison)
        and totals.isdisjoint(variable.name for variable in literal_variables(one))
    ]
    text = show_rule(rule)
    if tests and random.random() < 0.2:
        chosen = rule.body[random.choice(tests)]
        assert isinstance(chosen, Comparison)
        if chosen.operator != "=":
            from_text = show_rule(replace(rule, head=Atom("x", ()), body=(chosen,)))
            shown = from_text.rpartition(":- ")[2].rstrip(".")
            other = shown.replace(f" {chosen.operator} ", f" {random.choice(('<', '!='))} ")
            text = text.replace(shown, f"({shown}; {other})", 1)
    drawn.rules.append(text)


def _predicate(random: Random, name: str, kinds: tuple[Kind, ...], least: int = 0) -> Predicate:
    arity = max(least, random.choice((1, 1, 2, 2, 2, 2, 3, 0)))
    chosen = [random.choice(kinds) for _ in range(arity)]
    columns = tuple(Column(f"c{place}", kind.value, kind) for place, kind in enumerate(chosen))
    return Predicate(name, columns)


def _declare(drawn: Drawn, predicate: Predicate, given: str = "", key: str = "") -> None:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    drawn.rules.append(f"{key}.decl {predicate.name}({columns})")
    if given:
        drawn.rules.append(f".input {predicate.name}({given})")
    drawn.predicates[predicate.name] = predicate


def _query(predicate: Predicate, source: str, more: str = "") -> str:
    listed = ", ".join(one.name for one in predicate.columns)
    return f'source="{source}", query="SELECT {listed} FROM {predicate.name}"{more}'


def _external(random: Random, drawn: Drawn, name: str, kinds: tuple[Kind, ...]) -> Predicate:
    """Draw a predicate from outside, of one of the ways there are."""
    predicate = replace(
        _predicate(random, name, kinds, least=1),
        source=Source({"source": "drawn"}),
    )
    ways = (_table, _table, _with_nulls, _with_nulls, _failing, _failing, _listed, _listed)
    way = random.choice((*ways, _untold, _configured_only, _united, _keyed))
    way(random, drawn, predicate)
    if predicate.name not in drawn.facts and way in {_table, _failing, _untold}:
        _state(random, drawn, predicate)
    return predicate


def _rows(random: Random, predicate: Predicate, most: int = 4) -> list[Row]:
    every = list(product(*(VALUES[kind] for kind in predicate.kinds)))
    return sorted(random.sample(every, min(len(every), random.randint(0, most))), key=str)


def _table(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """A database that answers: its rows, and no others."""
    _declare(drawn, predicate, _query(predicate, "ok"))
    rows = _rows(random, predicate)
    drawn.tables[predicate.name] = list(rows)
    drawn.sure.update((predicate.name, row) for row in rows)


def _with_nulls(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """A database with NULL under a policy: left out, an unknown value, or an error."""
    policy = random.choice(("skip", "unknown", "error", ""))
    more = f', null="{policy}"' if policy else ""
    _declare(drawn, predicate, _query(predicate, "ok", more))
    rows: list[tuple[Value | None, ...]] = list(_rows(random, predicate))
    places = range(len(predicate.columns))
    holed = {place: random.choice(places) for place in range(len(rows)) if random.random() < 0.4}
    rows = [
        tuple(None if holed.get(n) == place else cell for place, cell in enumerate(row))
        for n, row in enumerate(rows)
    ]
    rows = list(dict.fromkeys(rows))
    drawn.tables[predicate.name] = rows
    for row in rows:
        if None not in row:
            drawn.sure.add((predicate.name, row))  # type: ignore[arg-type]  # no cell is NULL
        elif policy != "skip":
            fills = [
                frozenset({(predicate.name, filled)})
                for filled in _instances(predicate, dict(enumerate(row)))
            ]
            if policy == "unknown":
                drawn.choices.append((tuple(fills), None))
            else:
                drawn.choices += [((NOTHING, fill), None) for fill in fills]


def _instances(predicate: Predicate, known: dict[int, Value | None]) -> list[Row]:
    cells = [
        VALUES[kind] if known.get(place) is None else (known[place],)
        for place, kind in enumerate(predicate.kinds)
    ]
    return list(product(*cells))  # type: ignore[arg-type]  # None was asked for


def _open(drawn: Drawn, predicate: Predicate, word: Assumption | None, given: set[Row]) -> None:
    """Let every row of the domain be there or not, but for those that are decided."""
    for row in _instances(predicate, {}):
        if row not in given:
            drawn.choices.append(((NOTHING, frozenset({(predicate.name, row)})), word))


def _failing(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """A database that is not there, or a query that errs; somebody may vouch for it."""
    source = "gone"
    _declare(drawn, predicate, _query(predicate, source))
    if source == "ok":
        drawn.broken.append(predicate.name)
    if random.random() < 0.3:
        drawn.closed[predicate.name] = AUTHORS[0]
    _open(drawn, predicate, None, set())


def _listed(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """Rows in the configuration: open, or somebody declares that these are all."""
    _declare(drawn, predicate)
    rows = _rows(random, predicate, 3) or [_instances(predicate, {})[0]]
    drawn.facts[predicate.name] = rows
    drawn.sure.update((predicate.name, row) for row in rows)
    word = None
    if random.random() < 0.7:
        drawn.closed[predicate.name] = AUTHORS[0]
        word = declared_closed(AUTHORS[0], predicate)
    _open(drawn, predicate, word, set(rows))


def _configured_only(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """The configuration is the source: its rows are all."""
    _declare(drawn, predicate, f'source="config", key="{predicate.name}"')
    rows = _rows(random, predicate, 3) or [_instances(predicate, {})[0]]
    drawn.facts[predicate.name] = rows
    drawn.sure.update((predicate.name, row) for row in rows)


def _untold(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """Nobody tells it; somebody may vouch that there is none."""
    _declare(drawn, predicate)
    word = None
    if random.random() < 0.4:
        drawn.closed[predicate.name] = AUTHORS[0]
        word = declared_closed(AUTHORS[0], predicate)
    _open(drawn, predicate, word, set())


def _united(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """Rows of the configuration and rows of a table, without a key: both."""
    _table(random, drawn, predicate)
    rows = _rows(random, predicate, 2)
    if rows:
        drawn.facts[predicate.name] = rows
        drawn.sure.update((predicate.name, row) for row in rows)


def _keyed(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """A key: a row of the configuration hides those of the database that have its value."""
    fails = random.random() < 0.3
    _declare(drawn, predicate, _query(predicate, "gone" if fails else "ok"), '@[key = "c0"]\n')
    table = {row[0]: row for row in _rows(random, predicate)}
    own = {row[0]: row for row in _rows(random, predicate, 2)}
    if own:
        drawn.facts[predicate.name] = list(own.values())
    if fails:
        hidden = {row for row in _instances(predicate, {}) if row[0] in own}
        _open(drawn, predicate, None, hidden)
    else:
        drawn.tables[predicate.name] = list(table.values())
    shown = {**({} if fails else table), **own}
    drawn.sure.update((predicate.name, row) for row in shown.values())


def _state(random: Random, drawn: Drawn, predicate: Predicate) -> None:
    """Let a person state a row or two."""
    for row in _rows(random, predicate, 1 if random.random() < 0.3 else 0):
        word = stated_by(AUTHORS[1], predicate, row)
        drawn.stated.append((show_row(predicate.name, row), AUTHORS[1]))
        drawn.choices.append(((frozenset({(predicate.name, row)}), NOTHING), word))


def draw_goals(random: Random, drawn: Drawn, rows: dict[str, set[Row]], count: int) -> list[Atom]:
    """Draw goals, most of them about rows that may be there; some with variables."""
    names = [name for name in drawn.predicates if not name.startswith("e")]
    goals = []
    for _ in range(count):
        name = random.choice(names[-3:] * 2 + list(drawn.predicates))
        predicate = drawn.predicates[name]
        row: Row = tuple(random.choice(VALUES[kind]) for kind in predicate.kinds)
        if rows.get(name) and random.random() < 0.5:
            row = random.choice(sorted(rows[name], key=str))
        free = random.choice((0.0, 0.0, 0.5, 1.0))
        terms: list[Term] = [
            Variable(f"g{place}") if random.random() < free else Constant(value, kind)
            for place, (value, kind) in enumerate(zip(row, predicate.kinds, strict=True))
        ]
        goals.append(Atom(name, tuple(terms)))
    return goals
