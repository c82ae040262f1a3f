"""What is kept current, in a file of DuckDB that survives the end of its process at any moment.

In: a `Maintained` and what it depends on. Out: the same again in another process. Invariants: an
update is one transaction, so the file is always that of a whole update; whoever opens it compares
what it depends on with the present; a file that is damaged, of another program or of another
version gives nothing, and everything is evaluated anew. Example: `StateFile(path).load(kept)`.
"""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import numpy as np

from constat.evaluation.processor import set_up_duckdb
from constat.logic import Kind, format_value, parse_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    import duckdb

    from constat.incremental.maintaining import Maintained
    from constat.incremental.relations import Array
    from constat.logic import Value

# Relations are tables of numbers (`r0`, `r1`, ...); `changes` has the rows that came and went since
# these were written, in the order of the updates. Where they become many the tables are written
# anew, in the transaction of the update that makes them so.

_VERSION: Final = 1
_MANY: Final = 0.25
_LEAST: Final = 50_000
About = dict[str, object]


class StateBusyError(Exception):
    """Another process has the file open."""


class StateFile:
    """The file of one set of results."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._driver: duckdb.DuckDBPyConnection | None = None
        self._step = 0
        self._logged = 0

    def close(self) -> None:
        """Close the file."""
        if self._driver is not None:
            self._driver.close()
            self._driver = None

    def _connection(self) -> duckdb.DuckDBPyConnection:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if self._driver is None:
            # DuckDB makes its files by itself, so what is for its owner alone is their folder.
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            try:
                self._driver = set_up_duckdb(
                    duckdb.connect(str(self.path), config={"enable_external_access": "false"})
                )
            except duckdb.IOException as problem:
                if "lock" in str(problem):
                    raise StateBusyError(str(self.path)) from None
                raise
        return self._driver

    # ------------------------------------------------------------------------------- writing

    def save(self, kept: Maintained, about: About) -> None:
        """Write everything, in place of what was there."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        try:
            driver = self._connection()
        except duckdb.Error:
            # It is damaged, or no file of DuckDB; what is kept is a copy.
            self.path.unlink(missing_ok=True)
            driver = self._connection()
        driver.execute("BEGIN")
        try:
            self._write_all(driver, kept, about)
            driver.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                driver.execute("ROLLBACK")
            raise

    def _write_all(self, driver: duckdb.DuckDBPyConnection, kept: Maintained, about: About) -> None:
        for (name,) in driver.execute(
            "SELECT table_name FROM information_schema.tables"
        ).fetchall():
            driver.execute(f'DROP TABLE "{name}"')
        widest = max((len(one.kinds) for one in kept.relations.values()), default=0)
        columns = "".join(f", c{place} BIGINT" for place in range(widest))
        driver.execute("CREATE TABLE codes (kind VARCHAR, number BIGINT, text VARCHAR)")
        line = f"step BIGINT, relation BIGINT, came BOOLEAN, mark BIGINT{columns}"
        driver.execute(f"CREATE TABLE changes ({line})")
        for number, relation in enumerate(kept.relations.values()):
            arrays, marks = relation.arrays()
            _insert(
                driver, f"CREATE TABLE r{number} AS", [*arrays, marks], [*_labels(arrays), "mark"]
            )
        kept.codes.fresh.clear()
        entries = [
            (kind, number, value)
            for kind in Kind
            for number, value in enumerate(kept.codes.listed(kind))
        ]
        _enter(driver, entries)
        self._step = self._logged = 0
        self._describe(driver, kept, about)

    def _describe(self, driver: duckdb.DuckDBPyConnection, kept: Maintained, about: About) -> None:
        told = {
            "version": _VERSION,
            "relations": list(kept.relations),
            "ranked": [name for one in kept.stages if one.ranked for name in one.predicates],
            "about": about,
        }
        driver.execute("CREATE TABLE IF NOT EXISTS meta (told VARCHAR)")
        driver.execute("DELETE FROM meta")
        driver.execute("INSERT INTO meta VALUES (?)", [json.dumps(told)])

    def append(self, kept: Maintained, about: About, *, anew: bool = False) -> None:
        """Write what the last update has changed, as one transaction."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if anew or self._logged > max(_MANY * kept.size, _LEAST):
            self.save(kept, about)
            return
        driver = self._connection()
        driver.execute("BEGIN")
        try:
            self._append(driver, kept)
            self._describe(driver, kept, about)
            driver.execute("COMMIT")
        except BaseException:
            with suppress(duckdb.Error):
                driver.execute("ROLLBACK")
            raise

    def _append(self, driver: duckdb.DuckDBPyConnection, kept: Maintained) -> None:
        self._step += 1
        widest = max((len(one.kinds) for one in kept.relations.values()), default=0)
        lines: list[list[int]] = []
        for number, (name, relation) in enumerate(kept.relations.items()):
            for row, before, after in kept.marks(name):
                codes = [
                    kept.codes.number(kind, value)
                    for kind, value in zip(relation.kinds, row, strict=True)
                ]
                codes += [0] * (widest - len(codes))
                if before is not None:
                    lines.append([self._step, number, 0, before, *codes])
                if after is not None:
                    lines.append([self._step, number, 1, after, *codes])
        if kept.codes.fresh:
            _enter(driver, kept.codes.fresh)
            kept.codes.fresh.clear()
        if lines:
            self._logged += len(lines)
            arrays = list(np.array(lines, dtype=np.int64).T)
            labels = ["step", "relation", "came", "mark", *[f"c{n}" for n in range(widest)]]
            _insert(driver, "INSERT INTO changes", arrays, labels)

    # ------------------------------------------------------------------------------- reading

    def about(self) -> About | None:
        """Give what the file depends on; nothing where there is no such file."""
        told = self._told()
        found = None if told is None else told.get("about")
        return found if isinstance(found, dict) else None

    def _told(self) -> Mapping[str, object] | None:
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        if not self.path.is_file():
            return None
        try:
            found = self._connection().execute("SELECT told FROM meta").fetchone()
            told = json.loads(found[0]) if found else None
        except (duckdb.Error, ValueError):
            return None
        return told if isinstance(told, dict) and told.get("version") == _VERSION else None

    def load(self, kept: Maintained) -> bool:
        """Fill relations from the file; tells whether it is one of this program."""
        import duckdb  # noqa: PLC0415  heavy library, loaded on first use

        told = self._told()
        if told is None or told.get("relations") != list(kept.relations):
            return False
        driver = self._connection()
        try:
            for kind in Kind:
                listed = driver.execute(
                    "SELECT text FROM codes WHERE kind = ? ORDER BY number", [kind.value]
                ).fetchall()
                kept.codes.restore(kind, [_read(kind, text) for (text,) in listed])
            for number, relation in enumerate(kept.relations.values()):
                found = driver.execute(f"SELECT * FROM r{number}").fetchnumpy()  # noqa: S608  a name of our own
                arrays = [np.asarray(one, dtype=np.int64) for one in found.values()]
                relation.put(arrays[:-1], arrays[-1])
            self._replay(driver, kept)
        except (duckdb.Error, ValueError, KeyError):
            return False
        ranked = told.get("ranked")
        kept.rank(ranked if isinstance(ranked, list) else [])
        return True

    def _replay(self, driver: duckdb.DuckDBPyConnection, kept: Maintained) -> None:
        relations = list(kept.relations.values())
        lines = driver.execute(
            "SELECT * FROM changes ORDER BY step, relation, came, rowid"
        ).fetchall()
        for step, number, came, mark, *codes in lines:
            relation = relations[number]
            row = tuple(
                kept.codes.value(kind, code)
                for kind, code in zip(relation.kinds, codes, strict=False)
            )
            if came:
                relation.add(row, mark)
            else:
                relation.remove(row)
            self._step = step
        self._logged = len(lines)


def _labels(columns: Sequence[Array]) -> list[str]:
    return [f"c{place}" for place in range(len(columns))]


def _insert(
    driver: duckdb.DuckDBPyConnection, into: str, arrays: Sequence[Array], labels: Sequence[str]
) -> None:
    """Put arrays into a table."""
    given = {label: np.ascontiguousarray(one) for label, one in zip(labels, arrays, strict=True)}
    driver.register("arrays", given)
    try:
        driver.execute(f"{into} SELECT {', '.join(labels)} FROM arrays")  # noqa: S608  names of our own
    finally:
        driver.unregister("arrays")


def _enter(driver: duckdb.DuckDBPyConnection, entries: Iterable[tuple[Kind, int, Value]]) -> None:
    listed = list(entries)
    if not listed:
        return
    given = {
        "kind": np.array([kind.value for kind, _, _ in listed], dtype=object),
        "number": np.array([number for _, number, _ in listed], dtype=np.int64),
        "text": np.array([format_value(value, kind) for kind, _, value in listed], dtype=object),
    }
    driver.register("entries", given)
    try:
        driver.execute("INSERT INTO codes SELECT kind, number, text FROM entries")
    finally:
        driver.unregister("entries")


def _read(kind: Kind, text: str) -> Value:
    return float.fromhex(text) if kind is Kind.FLOAT else parse_value(text, kind)
