"""Ask goals that a database computes or narrows, and the same goal by goal; both have to agree.

In: a kind of database and a number of cases. Two tables with the same hostile column are joined,
denied, counted, added up, compared with constants, and followed in a recursion. A case is a goal:
what bulk evaluation gives that leaves work to the database (to PostgreSQL all of it), and what the
reference engine gives over rows that it reads. `x < c`, `x >= c` and what is not known partition
the rows. Goals of several pairs of tables are asked as one, each over relations of its own; some
are asked by themselves as well. Run it with `python -m tests.servers.metamorphic_goals postgresql
--cases 1000`.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

from constat import Session
from constat.diagnostics import ConstatError
from constat.logic import has_null_cells
from tests.servers.leasing import leased
from tests.servers.metamorphic import COLUMNS, KEYS, Table, drawn, files, served, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.logic import Value
    from tests.servers.leasing import ServedDatabase

Place = tuple[str, "Callable[[Sequence[str]], None]"]
Rows = frozenset[tuple[tuple[Any, ...], str]]

_ORDERED: Final = frozenset({"number", "unsigned", "float", "Decimal", "symbol", "Date"})
_ADDED: Final = frozenset({"number", "unsigned", "Decimal"})
_COMPARED: Final = {
    "below": "<",
    "upto": "<=",
    "over": ">",
    "from": ">=",
    "same": "=",
    "other": "!=",
}
_PARTS: Final = (("below", "from"), ("upto", "over"), ("same", "other"))
_CALLED: Final = {"H": "{}", "T": "t_{}", "U": "u_{}"}
PAIRS: Final = 8
"""Pairs of tables of one project at most; their columns are of one kind."""
CONSTANTS: Final = 3
"""Constants that the column of a pair is compared with."""
ALONE: Final = 6
"""Goals of a pair that PostgreSQL is asked to compute, where all rows are certain."""
_DIGITS: Final = 38
_REFUSED: Final = frozenset({"C0681", "C0682"})
CONFIGURATION: Final = """project: shop
rules: [rules.dl]
limits: {{seconds: 600}}
databases: {{sales: {{uri: "{uri}"}}}}
"""


def written(value: Value, kind: str) -> str:
    """Write a constant; a kind that has no literal of its own is a text."""
    if kind in {"number", "unsigned"}:
        return f"{value}u" if kind == "unsigned" else str(value)
    if kind in {"Decimal", "float"}:
        plain = format(Decimal(str(value)), "f")
        return plain if "." in plain else f"{plain}.0"
    return json.dumps(value, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Goal:
    """A goal: its name, the kinds of its columns, and its rules over two relations of its own.

    No other goal reads these relations, so that what a database is asked for is this goal's.
    """

    name: str
    kinds: tuple[str, ...]
    rules: str

    @property
    def read(self) -> tuple[str, ...]:
        """Name the relations that it reads, each with the number of its table."""
        return tuple(f"{one}_{self.name}" for one in "tu" if f"{one}_{self.name}(" in self.rules)

    @property
    def text(self) -> str:
        """Write it as a query."""
        return f"{self.name}({_variables(self.kinds)})"


def _variables(kinds: Sequence[str]) -> str:
    return ", ".join(f"?v{number}" for number in range(len(kinds)))


def goals(kind: str, constants: Sequence[str], end: str) -> Iterator[Goal]:
    """Give the goals over two tables; `end` ends each name."""
    number = "number"
    for n, constant in enumerate(constants):
        for name, operator in _COMPARED.items():
            if operator in {"=", "!="} or kind in _ORDERED:
                yield _goal(
                    f"{name}{n}{end}", (number,), f"(?i) :- T(?i, ?x), ?x {operator} {constant}."
                )
    yield _goal(f"every{end}", (number, kind), "(?i, ?x) :- T(?i, ?x).")
    yield _goal(f"pair{end}", (number, number), "(?a, ?b) :- T(?a, ?x), U(?b, ?x).")
    pick = f"(?a, ?x) :- T(?a, ?x), U(_, ?x), ?x != {constants[0]}."
    yield _goal(f"pick{end}", (number, kind), pick)
    yield _goal(f"lone{end}", (number,), "(?a) :- T(?a, ?x), !U(_, ?x).")
    many = "(?x, ?n) :- T(_, ?x), ?n = count : { U(_, ?x) }."
    yield _goal(f"many{end}", (kind, number), many)
    reach = ("(?a, ?b) :- T(?a, ?x), U(?b, ?x).", "(?a, ?c) :- H(?a, ?b), T(?b, ?x), U(?c, ?x).")
    yield _goal(f"reach{end}", (number, number), *reach)
    if kind in _ORDERED:
        ends = "(?l, ?g) :- ?l = min ?x : { T(_, ?x) }, ?g = max ?x : { U(_, ?x) }."
        yield _goal(f"ends{end}", (kind, kind), ends)
        before = "(?a, ?b) :- T(?a, ?x), U(?b, ?y), ?x < ?y."
        yield _goal(f"before{end}", (number, number), before)
    if kind in _ADDED:
        yield _goal(f"total{end}", (kind,), "(?n) :- ?n = sum ?x : { T(_, ?x) }.")


def _goal(name: str, kinds: tuple[str, ...], *bodies: str) -> Goal:
    whole = [
        re.sub(r"\b([HTU])\(", lambda found: _CALLED[found[1]].format(name) + "(", f"H{body}")
        for body in bodies
    ]
    named = [f'@[id = "{name}{n}"]\n{rule}' for n, rule in enumerate(whole)]
    return Goal(name, kinds, "\n".join(named))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two tables, the constants that they are compared with, and the goals over them."""

    tables: tuple[Table, Table]
    constants: tuple[str, ...]
    number: int

    @property
    def goals(self) -> tuple[Goal, ...]:
        """The goals over the two tables."""
        return tuple(goals(self.tables[0].kind, self.constants, f"_{self.number}"))

    @property
    def whole(self) -> tuple[str, str]:
        """Name a relation of each table."""
        return f"t_every_{self.number}", f"u_pair_{self.number}"

    def input(self, name: str) -> str:
        """Declare the relation that reads a table."""
        table = self.tables["tu".index(name[0])]
        query = json.dumps(table.way.format(t=table.name))
        return (
            f"@[distinct] .decl {name}(id: number, @[null = {table.policy}] x: {table.kind})\n"
            f'.input {name}(source = "sales", query = {query})'
        )

    def told(self) -> str:
        """Tell how the tables are made."""
        made = [
            (one.column.written, one.kind, one.policy, one.way, one.cells) for one in self.tables
        ]
        return f"{made}, {self.constants}"


def pair_of(kind: str, random: Random, number: int, wanted: str) -> Pair:
    """Draw two tables of a kind of database, with the same column of the wanted kind."""
    first = drawn(kind, random, 2 * number)
    while wanted and first.kind != wanted:
        first = drawn(kind, random, 2 * number)
    second = replace(
        drawn(kind, random, 2 * number + 1),
        column=first.column,
        kind=first.kind,
        policy=first.policy,
        cells=first.cells[::-1],
    )
    if random.random() < 0.5:
        cells = random.choices(first.column.cells, k=random.randrange(1, 6))
        second = replace(second, cells=(*cells, *second.cells[:4]))
    # No literal has more digits.
    keys = [one for key in KEYS[first.kind] if len(one := written(key, first.kind)) < _DIGITS]
    chosen = random.sample(keys, min(CONSTANTS, len(keys)))
    return Pair((first, second), tuple(chosen), number)


def program(pairs: Sequence[Pair], readable: Mapping[int, bool]) -> str:
    """Write the rule file: each goal, and two that have the rows of many."""
    lines = ['.pragma "constat" "0.1"']
    for pair in pairs:
        for goal in pair.goals:
            lines += [pair.input(name) for name in goal.read]
            lines += [f".decl {goal.name}({_columns(goal.kinds)})", goal.rules]
    for group in groups(pairs, readable):
        lines += [f".decl {group.name}({_columns(group.kinds)})", group.rules]
    return "\n".join(lines) + "\n"


def _columns(kinds: Sequence[str]) -> str:
    return ", ".join(f"v{number}: {kind}" for number, kind in enumerate(kinds))


@dataclass(frozen=True, slots=True)
class Group(Goal):
    """A goal with the rows of each of its members, under the member's name."""

    members: tuple[Goal, ...] = ()


def groups(pairs: Sequence[Pair], readable: Mapping[int, bool]) -> Iterator[Group]:
    """Give the goals with the rows of all goals of one number, and with those of all others.

    Pairs whose rows are all certain, which `readable` says, are asked beside the others: bulk
    evaluation goes other ways with them. What a goal does not have of the columns two numbers and
    two values is filled with constants.
    """
    kind = pairs[0].tables[0].kind
    for certain in (True, False):
        chosen = [one for one in pairs if readable.get(one.number) is certain]
        every = [goal for pair in chosen for goal in pair.goals]
        ids = tuple(goal for goal in every if goal.kinds == ("number",))
        rest = tuple(goal for goal in every if goal.kinds != ("number",))
        if chosen:
            end = "certain" if certain else "open"
            columns = ("symbol", "number", "number", kind, kind)
            yield _group(f"ids_{end}", columns[:2], ids, "0")
            yield _group(f"rest_{end}", columns, rest, pairs[0].constants[0])


def _group(name: str, kinds: tuple[str, ...], members: tuple[Goal, ...], filler: str) -> Group:
    rules = []
    for goal in members:
        left, cells = list(range(len(goal.kinds))), []
        for place, kind in enumerate(kinds[1:]):
            fitting = next((one for one in left if goal.kinds[one] == kind), None)
            cells.append(f"?v{fitting}" if fitting is not None else filler if place > 1 else "0")
            left = [one for one in left if one != fitting]
        rules.append(
            f'@[id = "{name}_{goal.name}"]\n'
            f'{name}("{goal.name}", {", ".join(cells)}) :- {goal.text}.'
        )
    return Group(name, kinds, "\n".join(rules), members)


@dataclass(frozen=True, slots=True)
class Asked:
    """What a goal came to; without rows `settled` says why it was not computed."""

    settled: str
    rows: Rows | None = None
    narrowed: frozenset[str] = frozenset()
    open: frozenset[str] = frozenset()


def asked(session: Session, goal: str, engine: str) -> Asked:
    """Ask a goal."""
    try:
        found = session.query(goal, engine=engine, check="off")
    except ConstatError as refused:
        return Asked(" ".join(sorted({one.code for one in refused.diagnostics})))
    if found.stopped:
        return Asked("stopped")
    # What nobody checked is certain, what was found goal by goal is proved.
    rows = frozenset(
        (row.values, row.verdict.name.replace("CERTAIN", "PROVED")) for row in found.rows
    )
    narrowed = frozenset(
        call.demand.predicate.name
        for call in found.calls
        for one in call.answer.authorities
        if one.parameters or "GROUP BY" in (one.query or "")
    )
    openings = (call.demand.predicate.name for call in found.calls if call.answer.openings)
    return Asked(found.settled.name, rows, narrowed, frozenset(openings))


@dataclass(slots=True)
class Trial:
    """Goals that are asked in a session; `truth` is what the reference engine says of each."""

    session: Session
    kind: str
    counts: Counter[str]
    truth: dict[str, Rows] = field(default_factory=dict)

    def together(self, group: Group) -> Iterator[str]:
        """Yield where goals that are asked as one differ; each by itself where one is refused."""
        expected = asked(self.session, group.text, "reference")
        found = expected if expected.rows is None else asked(self.session, group.text, "forward")
        if expected.rows is None or found.rows is None:
            self.counts["groups asked one by one"] += 1
            for goal in group.members:
                yield from self.alone(goal)
            return
        for goal in group.members:
            self.truth[goal.name] = rows = _of(goal.name, expected.rows)
            yield from self._compared("forward", goal, rows, found, _of(goal.name, found.rows))
        if found.settled != expected.settled and not found.open:
            yield f"{group.text}: {found.settled} in place of {expected.settled}"

    def alone(self, goal: Goal) -> Iterator[str]:
        """Yield where a goal that is asked by itself differs."""
        expected = asked(self.session, goal.text, "reference")
        if expected.rows is None:
            self.counts[f"reference: {expected.settled}"] += 1
            return
        self.truth[goal.name] = expected.rows
        for engine in ("forward", "postgres") if self.kind == "postgresql" else ("forward",):
            found = asked(self.session, goal.text, engine)
            if found.rows is None:
                # It may read a cell that the other one does not need, and say that it cannot.
                refused = "refused" if found.settled in _REFUSED else found.settled
                self.counts[f"{engine}: {refused}"] += 1
                continue
            yield from self._compared(engine, goal, expected.rows, found, found.rows)
            if found.settled != expected.settled and not found.open:
                yield f"{goal.text}: {found.settled} in place of {expected.settled}"

    def _compared(
        self, engine: str, goal: Goal, expected: Rows, found: Asked, rows: Rows
    ) -> Iterator[str]:
        self.counts["cases"] += 1
        # What a database computes has another name than what is read.
        by = found.narrowed & {*goal.read, goal.name} or (engine == "postgres" and found.narrowed)
        self.counts[f"{engine}: {'narrowed' if by else 'whole'}"] += 1
        if rows == expected:
            return
        # A cell that is no value is met by who reads all rows, not by who asks with a key: what
        # may hold there is more, and nothing else is another.
        more = {verdict for _, verdict in rows - expected}
        if found.open & set(goal.read) and rows > expected and more == {"UNRESOLVED"}:
            self.counts[f"{engine}: open for a cell that is no value"] += 1
            return
        yield f"{goal.text} by {engine}: {set(rows)} in place of {set(expected)}"

    def partition(self, pair: Pair) -> Iterator[str]:
        """Yield where a row is sure to be in two parts, or a sure one in none, or one is no row."""
        end = f"_{pair.number}"
        if f"every{end}" not in self.truth:
            return
        every = self.truth[f"every{end}"]
        known = {row[0] for row, _ in every}
        sure = {row[0] for row, verdict in every if verdict == "PROVED" and not has_null_cells(row)}
        for n, parts in ((n, parts) for n in range(len(pair.constants)) for parts in _PARTS):
            names = [f"{one}{n}{end}" for one in parts]
            if any(one not in self.truth for one in names):
                continue
            first, second = (
                {row[0] for row, verdict in self.truth[one] if verdict == "PROVED"} for one in names
            )
            if first & second or not sure <= first | second <= known:
                yield f"{names}: {first} and {second} of {known}"


def _of(name: str, rows: Rows) -> Rows:
    return frozenset((row[1:], verdict) for row, verdict in rows if row[0] == name)


def readable_pairs(session: Session, pairs: Sequence[Pair]) -> dict[int, bool]:
    """Say of each pair that can be read whole whether all its rows are certain."""
    found = {}
    for pair in pairs:
        both = [asked(session, f"{one}(?i, ?x)", "reference") for one in pair.whole]
        if all(one.rows is not None for one in both):
            nulls = any("NULL" in table.cells for table in pair.tables)
            certain = all(one.settled == "FOR_CERTAIN" for one in both)
            found[pair.number] = certain and (not nulls or pair.tables[0].policy == "skip")
    return found


def batch(
    kind: str, seed: int, folder: Path, place: Place, count: int = PAIRS
) -> tuple[Counter[str], list[str]]:
    """Try the tables of a seed; give what was counted, and the differences."""
    random, counts, problems = Random(f"goals {kind} {seed}"), Counter[str](), list[str]()
    pairs = [pair_of(kind, random, 0, "")]
    pairs += [pair_of(kind, random, n, pairs[0].tables[0].kind) for n in range(1, count)]
    uri, run = place
    run([one for pair in pairs for table in pair.tables for one in table.statements()])
    (folder / "constat.yaml").write_text(CONFIGURATION.format(uri=uri), encoding="utf-8")
    path = folder / "rules.dl"
    try:
        path.write_text("\n".join(one.input(name) for one in pairs for name in one.whole))
        with Session(folder) as session:
            readable = readable_pairs(session, pairs)
        counts["pairs that cannot be read"] += count - len(readable)
        path.write_text(program(pairs, readable), encoding="utf-8")
        with Session(folder) as session:
            trial = Trial(session, kind, counts)
            for group in groups(pairs, readable):
                problems += trial.together(group)
            for pair in pairs:
                problems += trial.partition(pair)
                asking = kind == "postgresql" and readable.get(pair.number)
                for goal in random.sample(pair.goals, ALONE if asking else 1):
                    problems += trial.alone(goal)
    except ConstatError as refused:
        counts[f"not read: {refused.diagnostics[0].code}"] += 1
    told = "; ".join(pair.told() for pair in pairs)
    return counts, [f"seed {seed}: {one} [{told}]" for one in problems]


@contextmanager
def places(
    kind: str, count: int = PAIRS
) -> Iterator[Callable[[int], tuple[Counter[str], list[str]]]]:
    """Give how a seed is tried: with a new file, or in a database of a server."""
    if kind in {"sqlite", "duckdb"}:

        def in_file(seed: int) -> tuple[Counter[str], list[str]]:
            with tempfile.TemporaryDirectory() as named, files(kind, Path(named)) as place:
                return batch(kind, seed, Path(named), place, count)

        yield in_file
        return
    with (
        tempfile.TemporaryDirectory() as home,
        leased(kind, Path(home)) as server,
        server.fresh() as database,
    ):
        yield of_server(database, count)


def of_server(
    database: ServedDatabase, count: int = PAIRS
) -> Callable[[int], tuple[Counter[str], list[str]]]:
    """Give how a seed is tried in a server's database."""

    def each(seed: int) -> tuple[Counter[str], list[str]]:
        with tempfile.TemporaryDirectory() as named, served(database) as place:
            place[1]([f"DROP TABLE IF EXISTS t{number}" for number in range(2 * PAIRS)])
            return batch(database.server.kind, seed, Path(named), place, count)

    return each


def main() -> int:
    """Try many goals; 1 where something differs."""
    parser = argparse.ArgumentParser(description="Ask goals of a database and of its rows.")
    parser.add_argument("kinds", nargs="*", default=list(COLUMNS))
    parser.add_argument("--cases", type=int, default=1_000)
    parser.add_argument("--log", type=Path)
    told = parser.parse_args()
    wrong = 0
    for kind in told.kinds:
        with places(kind) as each:
            counts, problems = tried(kind, told.cases, told.log, each)
        wrong += len(problems)
        sys.stdout.writelines(f"{kind}: {one}\n" for one in problems[:50])
        sys.stdout.write(f"{kind}: {dict(counts)}, {len(problems)} differ\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
