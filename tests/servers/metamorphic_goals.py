"""Ask goals that a database computes or narrows, and the same goal by goal; both have to agree.

In: a kind of database and a number of cases. Two tables with the same hostile column are joined,
denied, counted, added up, compared with constants, and followed in a recursion. A case is a goal:
what bulk evaluation gives that leaves work to the database (to PostgreSQL all of it), and what the
reference engine gives over rows that it reads. `x < c`, `x >= c` and what is not known partition
the rows. Run it with `python -m tests.servers.metamorphic_goals postgresql --cases 1000`.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import Counter
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Final

from constat import Session
from constat.diagnostics import ConstatError
from tests.servers.leasing import leased
from tests.servers.metamorphic import COLUMNS, KEYS, Table, drawn, files, served, tried

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.logic import Value
    from tests.servers.leasing import ServedDatabase

Place = tuple[str, "Callable[[Sequence[str]], None]"]

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
_HERE: Final = ("postgres", "forward")
_REFUSED: Final = frozenset({"C0681", "C0682"})
CONFIGURATION: Final = 'project: shop\nrules: [rules.dl]\ndatabases: {{sales: {{uri: "{uri}"}}}}\n'


def written(value: Value, kind: str) -> str:
    """Write a constant; a kind that has no literal of its own is a text."""
    if kind in {"number", "unsigned"}:
        return str(value)
    if kind == "Decimal":
        plain = format(value, "f")
        return plain if "." in plain else f"{plain}.0"
    if kind == "float":
        return repr(value)
    return json.dumps(value, ensure_ascii=False)


def rules(tables: tuple[Table, Table], constant: str) -> dict[str, str]:
    """Give the rules of each goal over two tables."""
    kind = tables[0].kind
    found = {
        f"{name}(id: number)": f"{name}(?i) :- t(?i, ?x), ?x {operator} {constant}."
        for name, operator in _COMPARED.items()
        if operator in {"=", "!="} or kind in _ORDERED
    }
    found |= {
        "pair(a: number, b: number)": "pair(?a, ?b) :- t(?a, ?x), u(?b, ?x).",
        f"pick(a: number, x: {kind})": f"pick(?a, ?x) :- t(?a, ?x), u(_, ?x), ?x != {constant}.",
        "lone(a: number)": "lone(?a) :- t(?a, ?x), !u(_, ?x).",
        f"many(x: {kind}, n: number)": "many(?x, ?n) :- t(_, ?x), ?n = count : { u(_, ?x) }.",
        "reach(a: number, b: number)": (
            "reach(?a, ?b) :- t(?a, ?x), u(?b, ?x).\n"
            "reach(?a, ?c) :- reach(?a, ?b), t(?b, ?x), u(?c, ?x)."
        ),
    }
    if kind in _ORDERED:
        found |= {
            f"ends(l: {kind}, g: {kind})": (
                "ends(?l, ?g) :- ?l = min ?x : { t(_, ?x) }, ?g = max ?x : { u(_, ?x) }."
            ),
            "before(a: number, b: number)": "before(?a, ?b) :- t(?a, ?x), u(?b, ?y), ?x < ?y.",
        }
    if kind in _ADDED:
        found[f"total(n: {kind})"] = "total(?n) :- ?n = sum ?x : { t(_, ?x) }."
    return found


def program(tables: tuple[Table, Table], constant: str) -> str:
    """Write the rule file."""
    lines = ['.pragma "constat" "0.1"']
    for name, table in zip("tu", tables, strict=True):
        column = f"@[null = {table.policy}] x: {table.kind}"
        lines.append(f"@[distinct] .decl {name}(id: number, {column})")
        query = json.dumps(table.way.format(t=table.name))
        lines.append(f'.input {name}(source = "sales", query = {query})')
    for declared, text in rules(tables, constant).items():
        lines.append(f".decl {declared}")
        lines += [
            f'@[id = "{declared.partition("(")[0]}{n}"]\n{one}'
            for n, one in enumerate(text.split("\n"))
        ]
    return "\n".join(lines) + "\n"


def asked(session: Session, goal: str, engine: str) -> tuple[object, str]:
    """Ask a goal; give what it came to, and how it was computed or why it was not."""
    try:
        found = session.query(goal, engine=engine, check="off")
    except ConstatError as refused:
        return None, " ".join(sorted({one.code for one in refused.diagnostics}))
    # What nobody checked is certain, what was found goal by goal is proved.
    rows = frozenset(
        (row.values, row.verdict.name.replace("CERTAIN", "PROVED")) for row in found.rows
    )
    pushed = any(
        one.parameters or "GROUP BY" in (one.query or "")
        for call in found.calls
        for one in call.answer.authorities
    )
    return (found.settled.name, rows), "narrowed" if pushed else "whole"


def differences(
    session: Session, kind: str, tables: tuple[Table, Table], constant: str, counts: Counter[str]
) -> Iterator[str]:
    """Yield where a goal's answers differ, or its parts are no partition."""
    engines = [one for one in _HERE if one != "postgres" or kind == "postgresql"]
    truth: dict[str, object] = {}
    for declared in rules(tables, constant):
        name, _, columns = declared.partition("(")
        goal = f"{name}({', '.join(f'?v{n}' for n in range(columns.count(':')))})"
        expected, why = asked(session, goal, "reference")
        truth[name] = expected
        if expected is None:
            counts[f"reference: {why}"] += 1
            continue
        for engine in engines:
            found, how = asked(session, goal, engine)
            if found is None:
                # It may read a cell that the other one does not need, and say that it cannot.
                counts[f"{engine}: {'refused' if set(how.split()) <= _REFUSED else how}"] += 1
                continue
            counts["cases"] += 1
            counts[f"{engine}: {how}"] += 1
            if found != expected:
                yield f"{goal} by {engine} ({how}): {found} in place of {expected}"
    for parts in _PARTS:
        yield from _partition(session, [truth.get(one) for one in parts], parts)


def _partition(session: Session, parts: Sequence[object], names: Sequence[str]) -> Iterator[str]:
    """No row is sure to be in both parts, and what is in one is a row."""
    if any(one is None for one in parts):
        return
    every, _ = asked(session, "t(?i, ?x)", "reference")
    if every is None:
        return
    ids = [
        {row[0] for row, verdict in one[1] if verdict == "PROVED"}  # type: ignore[index]  # a pair
        for one in parts
    ]
    known = {row[0] for row, _ in every[1]}  # type: ignore[index]  # as above
    if ids[0] & ids[1] or not ids[0] | ids[1] <= known:
        yield f"{names}: {ids} of {known}"


def batch(kind: str, seed: int, folder: Path, place: Place) -> tuple[Counter[str], list[str]]:
    """Try two tables of a seed; give what was counted, and the differences."""
    random, counts, problems = Random(f"goals {kind} {seed}"), Counter[str](), []
    first, second = drawn(kind, random, 0), drawn(kind, random, 1)
    second = replace(
        second, column=first.column, kind=first.kind, policy=first.policy, cells=first.cells[::-1]
    )
    if random.random() < 0.5:
        cells = random.choices(first.column.cells, k=random.randrange(1, 6))
        second = replace(second, cells=(*cells, *second.cells[:4]))
    tables = first, second
    uri, run = place
    for table in tables:
        run(table.statements())
    constant = written(random.choice(KEYS[first.kind]), first.kind)
    (folder / "constat.yaml").write_text(CONFIGURATION.format(uri=uri), encoding="utf-8")
    (folder / "rules.dl").write_text(program(tables, constant), encoding="utf-8")
    try:
        with Session(folder) as session:
            problems = list(differences(session, kind, tables, constant, counts))
    except ConstatError as refused:
        counts[f"not read: {refused.diagnostics[0].code}"] += 1
    told = [(one.column.written, one.kind, one.policy, one.way, one.cells) for one in tables]
    return counts, [f"seed {seed}, {told}, {constant}: {one}" for one in problems]


@contextmanager
def places(kind: str) -> Iterator[Callable[[int], tuple[Counter[str], list[str]]]]:
    """Give how a seed is tried: with a new file, or in a database of a server."""
    if kind in {"sqlite", "duckdb"}:

        def in_file(seed: int) -> tuple[Counter[str], list[str]]:
            with tempfile.TemporaryDirectory() as named, files(kind, Path(named)) as place:
                return batch(kind, seed, Path(named), place)

        yield in_file
        return
    with (
        tempfile.TemporaryDirectory() as home,
        leased(kind, Path(home)) as server,
        server.fresh() as database,
    ):
        yield of_server(database)


def of_server(database: ServedDatabase) -> Callable[[int], tuple[Counter[str], list[str]]]:
    """Give how a seed is tried in a server's database."""

    def each(seed: int) -> tuple[Counter[str], list[str]]:
        with tempfile.TemporaryDirectory() as named, served(database) as place:
            place[1](["DROP TABLE IF EXISTS t0", "DROP TABLE IF EXISTS t1"])
            return batch(database.server.kind, seed, Path(named), place)

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
