"""Ask databases with and without each key that is pushed to them; both have to say the same.

In: a kind of database and a number of cases. Each table has a hostile column and hostile cells of
it. A case is one key: the rows that the database finds for it have to be those that are found here
among all rows (p), all other rows (not p) and those whose cell nobody knows (p is unknown) are the
rest, and no row is of two parts. Run it with `python -m tests.servers.metamorphic sqlite`; with
`--log FILE` it goes on where it was stopped.
"""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
import tempfile
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Final

import duckdb

from constat.logic import OPEN, has_null_cells
from tests.servers.leasing import leased
from tests.tiers.building import configured, declare, open_rows, rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.evaluation import Answer
    from constat.logic import OpenRow, Row, Value
    from tests.servers.leasing import ServedDatabase
    from tests.tiers.building import Setting

TABLES: Final = 8
"""Tables of one project; each has so many rows at most."""
ROWS: Final = 9
POLICIES: Final = ("error", "skip", "none", "maybe", "unknown")

TEXTS: Final = (
    *(
        "a",
        "A",
        "a ",
        " a",
        "a  ",
        "",
        " ",
        "é",
        "e\u0301",
        "É",
        "E",
        "ß",
        "ss",
        "SS",
        "\u0131",
        "I",
    ),
    *(
        "i",
        "İ",
        "ae",
        "æ",
        "\uff21",
        "10",
        "10.0",
        "1e1",
        "0",
        "-0",
        "010",
        "NaN",
        "null",
        "a\tb",
        "ﬁ",
    ),
    *("0000-00-00", "2020-01-01", "2020-1-1", "x'", "%", "_", "\\", "ab", "aB", "a-b", "ab\u200b"),
)
NUMBERS: Final = (
    *(0, 1, -1, 2, 10, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1),
    *(2**63 - 1, 2**63 - 2, -(2**63), -(2**63) + 1, 2**63, 2**64 - 1),
)
DECIMALS: Final = (
    *("0", "0.1", "0.10", "-0.1", "10.5", "1e-12", "0.000000000001", "0.0000000000001", "1e25"),
    *("99999999999999999999999999.999999999999", "12345678901234567890", "9007199254740993", "-0"),
    *("1e-30", "0.30000000000000004", "3"),
)
FLOATS: Final = (
    *("0.0", "-0.0", "0.1", "1e308", "5e-324", "9007199254740992", "9007199254740993", "1e16"),
    *("0.30000000000000004", "0.3", "-1.5", "2", "1e-7", "16777217"),
)
DAYS: Final = (
    *("2020-01-01", "0001-01-01", "9999-12-31", "1582-10-10", "1900-02-28", "2020-02-29"),
    *("1970-01-01", "0000-00-00", "2020-00-10", "0044-03-15"),
)
MOMENTS: Final = tuple(f"{day} {time}" for day in DAYS for time in ("00:00:00", "23:59:59.999999"))


@dataclass(frozen=True, slots=True)
class Column:
    """A type of a column as the database writes it, literals of cells, and kinds to declare."""

    written: str
    cells: Sequence[str]
    kinds: Sequence[str]


def text(value: str) -> str:
    """Write a text as a literal that every one of the databases reads."""
    return "'" + value.replace("'", "''") + "'"


def _texts(*written: str, kinds: Sequence[str] = ("symbol",)) -> list[Column]:
    return [Column(one, [text(cell) for cell in TEXTS], kinds) for one in written]


_NUMBERS: Final = [str(number) for number in NUMBERS]
_QUOTED: Final = [text(one) for one in (*FLOATS, "NaN", "Infinity", "-Infinity")]
_DAYS: Final = [text(one) for one in DAYS]
_MOMENTS: Final = [text(one) for one in MOMENTS]
_EXACT: Final = ("Decimal", "number", "float")

SQLITE: Final = [
    *_texts("TEXT", "TEXT COLLATE NOCASE", "TEXT COLLATE RTRIM", "CHAR(3)", "", "BLOB"),
    *_texts("DATE", "DATETIME", kinds=("Date", "symbol", "Timestamp")),
    *(
        Column(one, [*_NUMBERS, *DECIMALS, *FLOATS, *map(text, TEXTS), "9e999"], kinds)
        for one in ("INTEGER", "REAL", "NUMERIC", "TEXT", "", "DECIMAL(10,2)", "BOOLEAN")
        for kinds in (("number", "unsigned", "float", "Decimal", "symbol", "Bool"),)
    ),
    Column("DATE", [*_DAYS, *_MOMENTS], ("Date", "symbol")),
]
DUCKDB: Final = [
    *_texts("VARCHAR", "VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT", "CHAR(3)"),
    *_texts("VARCHAR COLLATE NOCASE.NOACCENT", "VARCHAR"),
    *(
        Column(one, _NUMBERS, ("number", "unsigned", "Decimal", "float"))
        for one in ("HUGEINT", "BIGINT", "UBIGINT", "INTEGER", "VARCHAR")
    ),
    *(
        Column(one, DECIMALS, _EXACT)
        for one in ("DECIMAL(38,12)", "DECIMAL(38,2)", "DECIMAL(18,3)")
    ),
    *(Column(one, _QUOTED, ("float", "Decimal", "number")) for one in ("DOUBLE", "REAL")),
    *(Column(one, _DAYS, ("Date", "symbol")) for one in ("DATE", "VARCHAR")),
    *(Column(one, _MOMENTS, ("Timestamp",)) for one in ("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMPTZ")),
    Column("BOOLEAN", ["true", "false"], ("Bool", "number")),
]
POSTGRESQL: Final = [
    *_texts("text", "varchar(20)", "char(5)", 'text COLLATE "C"', "name", '"char"'),
    *_texts("text COLLATE loose", "text COLLATE german"),
    *(
        Column(one, _NUMBERS, ("number", "unsigned", "Decimal", "float"))
        for one in ("bigint", "integer", "smallint", "numeric(20)", "text", "oid")
    ),
    *(
        Column(one, [*map(text, DECIMALS), "'NaN'"], _EXACT)
        for one in ("numeric", "numeric(38,12)", "numeric(12,2)", "money")
    ),
    *(Column(one, _QUOTED, ("float", "Decimal", "number")) for one in ("double precision", "real")),
    *(
        Column(one, [*_DAYS, "'infinity'", "'0044-03-15 BC'"], ("Date", "symbol"))
        for one in ("date", "text")
    ),
    *(
        Column(one, [*_MOMENTS, "'infinity'"], ("Timestamp",))
        for one in ("timestamp", "timestamptz")
    ),
    Column("timestamp(0)", _MOMENTS, ("Timestamp",)),
    Column("boolean", ["true", "false"], ("Bool",)),
]
MARIADB: Final = [
    *_texts(
        "VARCHAR(20) COLLATE utf8mb4_general_ci",
        "VARCHAR(20) COLLATE utf8mb4_bin",
        "VARCHAR(20) COLLATE utf8mb4_unicode_ci",
        "VARCHAR(20) COLLATE utf8mb4_nopad_bin",
        "VARCHAR(20) COLLATE utf8mb4_unicode_520_nopad_ci",
        "VARCHAR(20) CHARACTER SET latin1",
        "CHAR(5)",
        "CHAR(5) COLLATE utf8mb4_bin",
        "TEXT",
        "ENUM('a', 'A ', 'b', '')",
        "SET('a', 'b')",
    ),
    *(
        Column(one, _NUMBERS, ("number", "unsigned", "Decimal", "float"))
        for one in ("BIGINT", "BIGINT UNSIGNED", "INT", "DECIMAL(20)", "VARCHAR(30)", "YEAR")
    ),
    *(Column(one, DECIMALS, _EXACT) for one in ("DECIMAL(38,12)", "DECIMAL(12,2)", "DOUBLE")),
    *(Column(one, FLOATS, ("float", "Decimal", "number")) for one in ("DOUBLE", "FLOAT")),
    *(Column(one, _DAYS, ("Date", "symbol")) for one in ("DATE", "VARCHAR(20)")),
    *(Column(one, _MOMENTS, ("Timestamp",)) for one in ("DATETIME(6)", "DATETIME", "TIMESTAMP(6)")),
    Column("TINYINT(1)", ["0", "1", "2"], ("Bool", "number")),
    Column("BIT(1)", ["0", "1"], ("Bool", "number")),
]
COLUMNS: Final = {"sqlite": SQLITE, "duckdb": DUCKDB, "postgresql": POSTGRESQL, "mariadb": MARIADB}
WAYS: Final = (
    *("SELECT id, x FROM {t}", "SELECT id, x FROM {t}", "SELECT id, x AS y FROM {t} WHERE id >= 0"),
    *("SELECT id, coalesce(x, x) FROM {t}", "SELECT q.id, q.x FROM (SELECT * FROM {t}) q"),
    *("SELECT a.id, a.x FROM {t} a JOIN {t} b ON a.id = b.id", "SELECT DISTINCT id, x FROM {t}"),
    "SELECT id, max(x) FROM {t} GROUP BY id",
)
_MOST: Final = ("1582-10-10T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z")
KEYS: Final[dict[str, tuple[Value, ...]]] = {
    "symbol": (*TEXTS, *DAYS, *map(str, NUMBERS[:8])),
    "number": tuple(n for n in NUMBERS if -(2**63) <= n < 2**63),
    "unsigned": tuple(n for n in NUMBERS if n >= 0),
    "Decimal": tuple(Decimal(one) for one in ("0", "0.1", "-0.1", "10.5", "1E-12", "3", "12345")),
    "float": (*map(float, FLOATS),),
    "Date": tuple(day for day in DAYS if "-00" not in day),
    "Timestamp": ("2020-01-01T00:00:00.000000Z", "0001-01-01T00:00:00.000000Z", *_MOST),
    "Bool": ("true", "false"),
}  # fmt: skip

# ------------------------------------------------------------------------------------ a table


@dataclass(frozen=True, slots=True)
class Table:
    """A table: how it is made, how it is read, and the kind of its second column."""

    name: str
    column: Column
    cells: tuple[str, ...]
    kind: str
    policy: str
    way: str

    def statements(self) -> list[str]:
        """Make the table; a cell that its type refuses is left out, and so is an odd type."""
        made = [f"CREATE TABLE {self.name} (id INTEGER, x {self.column.written})"]
        for number, cell in enumerate(self.cells):
            made.append(f"INSERT INTO {self.name} VALUES ({number}, {cell})")
        return made


def drawn(kind: str, random: Random, number: int) -> Table:
    """Draw a table of a kind of database."""
    column = random.choice(COLUMNS[kind])
    pool = random.sample(list(column.cells), min(len(column.cells), ROWS - 2))
    cells = [random.choice(pool) for _ in range(random.randrange(1, ROWS))]
    cells += ["NULL"] * random.randrange(3)
    return Table(
        f"t{number}",
        column,
        tuple(cells),
        random.choice(column.kinds),
        random.choice(POLICIES),
        random.choice(WAYS),
    )


def difference(found: Setting, table: Table, random: Random, counts: Counter[str]) -> str:
    """Give the first difference between asking with a key and asking for all rows."""
    try:
        whole = found.ask(table.name)
    except Exception as refused:  # noqa: BLE001  what cannot be read at all is no case
        counts[f"unread: {type(refused).__name__}"] += 1
        return ""
    every = rows(whole)
    known = {row[1] for row in every if not has_null_cells(row)}
    keys = list(
        dict.fromkeys([*known, *random.sample(KEYS[table.kind], min(6, len(KEYS[table.kind])))])
    )
    parts: dict[Value, set[Row]] = {}
    for key in keys:
        counts["cases"] += 1
        answer = found.ask(table.name, (1,), (key,))
        parts[key] = {row for row in rows(answer) if row[1] == key and not has_null_cells(row)}
        expected = {row for row in every if row[1] == key and not has_null_cells(row)}
        if parts[key] != expected:
            return f"key {key!r}: {parts[key]} in place of {expected}"
        problem = _unknown(whole, answer, key)
        if problem:
            return f"key {key!r}: {problem}"
    return _together(found, table, keys, every, parts)


def _unknown(whole: Answer, answer: Answer, key: Value) -> str:
    """Rows whose cell nobody knows, and openings, are found with the key as without."""
    for what, of in (("null cells", _with_nulls), ("openings", open_rows)):
        expected = {row for row in of(whole) if _may_be(row, key)}
        got = {row for row in of(answer) if _may_be(row, key)}
        if got != expected:
            return f"{what} {got} in place of {expected}"
    return ""


def _with_nulls(answer: Answer) -> set[OpenRow]:
    return {row for row in rows(answer) if has_null_cells(row)}


def _may_be(row: OpenRow, key: Value) -> bool:
    cell: Any = row[1]
    if cell is OPEN:
        return True
    if has_null_cells((cell,)):
        return str(cell.policy.name) != "NONE"
    return bool(cell == key)


def _together(
    found: Setting,
    table: Table,
    keys: Sequence[Value],
    every: set[Row],
    parts: dict[Value, set[Row]],
) -> str:
    """All keys at once give what each gives; p, not p and p is unknown are all rows, once."""
    answer = found.ask(table.name, (1,), *((key,) for key in keys))
    plain = {row for row in rows(answer) if not has_null_cells(row) and row[1] in parts}
    if plain != set().union(*parts.values()):
        return f"all keys at once: {plain}"
    pairs = [(row[0], row[1]) for row in every if not has_null_cells(row)]
    if pairs:
        both = {
            row for row in rows(found.ask(table.name, (0, 1), *pairs)) if not has_null_cells(row)
        }
        if not set(pairs) <= both:
            return f"both columns: {set(pairs) - both} are not found"
    for key in keys:
        rest = {row for row in every if not has_null_cells(row) and row[1] != key}
        unknown = {row for row in every if has_null_cells(row)}
        if len(parts[key]) + len(rest) + len(unknown) != len(every):
            return f"key {key!r}: no partition"
    return ""


# ----------------------------------------------------------------------------------- databases


@contextmanager
def files(kind: str, folder: Path) -> Iterator[tuple[str, Callable[[Sequence[str]], None]]]:
    """Give the address of a new file, and how statements are run in it."""
    path = folder / f"shop.{kind}"

    def run(statements: Sequence[str]) -> None:
        link = sqlite3.connect(path) if kind == "sqlite" else duckdb.connect(str(path))
        problems = (sqlite3.Error, duckdb.Error)
        try:
            for statement in statements:
                try:
                    link.execute(statement)
                except problems:
                    continue
            link.commit() if kind == "sqlite" else None
        finally:
            link.close()

    yield f"{kind}:///{path.name}", run


@contextmanager
def served(database: ServedDatabase) -> Iterator[tuple[str, Callable[[Sequence[str]], None]]]:
    """Give the address of a server's database, and how statements are run in it."""

    def run(statements: Sequence[str]) -> None:
        link = database.server.link(database.name)
        try:
            cursor = link.cursor()
            for statement in (*PREPARED[database.server.kind], *statements):
                try:
                    cursor.execute(statement)
                except Exception:  # noqa: BLE001, S112  a type or a cell that is not there
                    continue
        finally:
            link.close()

    yield database.uri, run


PREPARED: Final = {
    "postgresql": (
        (
            "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1',"
            " deterministic = false)"
        ),
        "CREATE COLLATION german (provider = icu, locale = 'de')",
    ),
    "mariadb": ("SET sql_mode = ''",),
}


def batch(
    kind: str, seed: int, folder: Path, place: tuple[str, Callable[[Sequence[str]], None]]
) -> tuple[Counter[str], list[str]]:
    """Try the tables of a seed; give what was counted, and the differences."""
    random, counts, problems = Random(f"{kind} {seed}"), Counter[str](), []
    listed = [drawn(kind, random, number) for number in range(TABLES)]
    uri, run = place
    for table in listed:
        run(table.statements())
    found = configured(
        folder,
        f'databases: {{sales: {{uri: "{uri}"}}}}\n',
        *(
            declare(
                f"{one.name}(id: number, x: {one.kind})",
                one.way.format(t=one.name),
                nulls={"x": one.policy},
                parameters={"distinct": "true"},
            )
            for one in listed
        ),
    )
    for table in listed:
        problem = difference(found, table, random, counts)
        if problem:
            problems.append(f"seed {seed}, {table}: {problem}")
    found.tiers.close()
    return counts, problems


def tried(
    kind: str, cases: int, log: Path | None, each: Callable[[int], tuple[Counter[str], list[str]]]
) -> tuple[Counter[str], list[str]]:
    """Try seeds until there are so many cases; go on behind the last seed of the log."""
    total, problems, seed = Counter[str](), list[str](), 0
    if log is not None and log.exists():
        for line in log.read_text("utf-8").splitlines():
            entry = json.loads(line)
            if entry["kind"] == kind:
                total.update(entry["counts"])
                problems += entry["problems"]
                seed = entry["seed"] + 1
    while total["cases"] < cases:
        counts, found = each(seed)
        total += counts
        problems += found
        if log is not None:
            entry = {"kind": kind, "seed": seed, "counts": dict(counts), "problems": found}
            with log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, default=str) + "\n")
        seed += 1
    return total, problems


def of_file(kind: str) -> Callable[[int], tuple[Counter[str], list[str]]]:
    """Give how a seed is tried with a new file."""

    def each(seed: int) -> tuple[Counter[str], list[str]]:
        with tempfile.TemporaryDirectory() as named, files(kind, Path(named)) as place:
            return batch(kind, seed, Path(named), place)

    return each


def of_server(database: ServedDatabase) -> Callable[[int], tuple[Counter[str], list[str]]]:
    """Give how a seed is tried in a server's database."""

    def each(seed: int) -> tuple[Counter[str], list[str]]:
        with tempfile.TemporaryDirectory() as named, served(database) as place:
            place[1]([f"DROP TABLE IF EXISTS t{number}" for number in range(TABLES)])
            return batch(database.server.kind, seed, Path(named), place)

    return each


def main() -> int:
    """Try many cases; 1 where something differs."""
    parser = argparse.ArgumentParser(description="Ask with and without each key.")
    parser.add_argument("kinds", nargs="*", default=list(COLUMNS))
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--log", type=Path)
    told = parser.parse_args()
    wrong = 0
    for kind in told.kinds:
        begun = time.monotonic()
        if kind in {"sqlite", "duckdb"}:
            counts, problems = tried(kind, told.cases, told.log, of_file(kind))
        else:
            with (
                tempfile.TemporaryDirectory() as named,
                leased(kind, Path(named)) as server,
                server.fresh() as database,
            ):
                counts, problems = tried(kind, told.cases, told.log, of_server(database))
        wrong += len(problems)
        sys.stdout.writelines(f"{kind}: {one}\n" for one in problems[:50])
        seconds = time.monotonic() - begun
        sys.stdout.write(f"{kind}: {dict(counts)}, {len(problems)} differ, {seconds:.0f} s\n")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
