"""Tables that are kept in versions, written by the libraries of their formats."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from constat import Session, Verdict
from constat.diagnostics import ConstatError
from constat.project import load_project
from constat.session import starting
from tests.extras import Late

deltalake = Late("deltalake", extra="delta")
arrow = Late("pyarrow", extra="iceberg")
iceberg = Late("pyiceberg.catalog.sql", extra="iceberg")

RULES = """
.decl placed(id: symbol, n: number)
.input placed(source = "shop", query = "SELECT id, n FROM orders")
.decl large(id: symbol)
large(?i) :- placed(?i, ?n), ?n > 100.
"""
Opened = Callable[..., Session]
Rows = Sequence[tuple[str, int]]


class Lake:
    """A table of one of the formats, in the folder `lake/orders` of a project."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.kind, self.folder, self.path = kind, folder, folder / "lake" / "orders"
        self._iceberg: Any = None

    def _rows(self, rows: Rows) -> Any:  # noqa: ANN401  a table of Arrow
        ids, numbers = zip(*rows, strict=True)
        return arrow.table({"id": list(ids), "n": list(numbers)})

    def append(self, rows: Rows) -> str:
        """Add rows; gives the version."""
        if self.kind == "delta":
            deltalake.write_deltalake(str(self.path), self._rows(rows), mode="append")
            return str(deltalake.DeltaTable(str(self.path)).version())
        if self._iceberg is None:
            place = self.folder / "lake"
            place.mkdir()
            catalog = iceberg.SqlCatalog(
                "t", uri=f"sqlite:///{self.folder}/names.db", warehouse=f"file://{place}"
            )
            catalog.create_namespace("s")
            self._iceberg = catalog.create_table(
                "s.orders", self._rows(rows).schema, location=f"file://{self.path}"
            )
        self._iceberg.append(self._rows(rows))
        return str(self._iceberg.current_snapshot().snapshot_id)

    def remove(self, name: str) -> None:
        if self.kind == "delta":
            deltalake.DeltaTable(str(self.path)).delete(f"id = '{name}'")
        else:
            self._iceberg.delete(f"id == '{name}'")


@pytest.fixture(params=["delta", "iceberg"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Lake:
    return Lake(request.param, tmp_path)


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Opened]:
    sessions: list[Session] = []

    def make(lake: Lake, version: str = "", path: str = "lake/orders") -> Session:
        more = f", version: {version}" if version else ""
        (tmp_path / "constat.yaml").write_text(
            "project: t\nrules: a.dl\n"
            f"databases: {{shop: {{files: {{orders: {{{lake.kind}: {path}{more}}}}}}}}}\n"
        )
        (tmp_path / "a.dl").write_text(RULES)
        sessions.append(Session(tmp_path))
        return sessions[-1]

    yield make
    for one in sessions:
        one.close()


def reason_of(session: Session) -> str:
    result = session.prove("large(B)")
    assert result.verdict is Verdict.UNRESOLVED
    return " ".join(str(one) for call in result.calls for one in call.answer.openings)


def notes(certificate: bytes) -> list[str]:
    told = [one["query"] or "" for one in json.loads(certificate)["sources"]]
    return [line for one in told for line in one.splitlines() if line.startswith("-- read:")]


def test_the_newest_version_counts_and_stands_in_the_evidence(lake: Lake, opened: Opened) -> None:
    lake.append([("A", 50), ("B", 150)])
    session = opened(lake)
    found = session.prove("large(B)")
    assert (found.verdict, found.snapshot) == (Verdict.PROVED, "one")
    version = lake.append([("C", 200)])
    found = session.prove("large(C)")
    assert found.verdict is Verdict.PROVED
    (said,) = notes(found.certificate)
    word = "version" if lake.kind == "delta" else "snapshot"
    assert said.startswith(f"-- read: {lake.kind} lake/orders: {word} {version}, sha256:")


def test_rows_that_were_removed_are_gone(lake: Lake, opened: Opened) -> None:
    lake.append([("A", 150), ("B", 150)])
    lake.remove("B")
    session = opened(lake)
    assert session.prove("large(B)").verdict is Verdict.DISPROVED
    assert session.prove("large(A)").verdict is Verdict.PROVED


def test_a_version_that_is_named_is_what_a_checker_reads_again(lake: Lake, opened: Opened) -> None:
    first = lake.append([("A", 50), ("B", 150)])
    pinned = opened(lake, first)
    certificate = pinned.prove("large(B)").certificate
    lake.remove("B")
    lake.append([("C", 200)])
    assert pinned.prove("large(C)").verdict is Verdict.DISPROVED
    assert {one.status for one in pinned.verify_source(certificate).leaves} == {"same"}
    newest = opened(lake)
    assert {"gone", "changed"} & {one.status for one in newest.verify_source(certificate).leaves}


def test_types_of_the_format_are_exact(
    lake: Lake, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from datetime import date
    from decimal import Decimal

    table = arrow.table(
        {
            "d": arrow.array([Decimal("1.50"), None], arrow.decimal128(10, 2)),
            "day": arrow.array([date(2025, 1, 2)] * 2),
            "t": arrow.array([True, False]),
            "n": arrow.array([2**62, -1]),
        }
    )
    monkeypatch.setattr(lake, "_rows", lambda _: table)
    lake.append([])
    session = opened(lake)
    (tmp_path / "a.dl").write_text(
        ".decl placed(d: Decimal, day: Date, t: Bool, n: number) @[null = skip]\n"
        '.input placed(source = "shop", query = "SELECT d, day, t, n FROM orders")\n'
    )
    session.reload_rules()
    assert session.prove(f"placed(1.5, 2025-01-02, true, {2**62})").verdict is Verdict.PROVED
    shown = session.catalog.table("orders")
    assert [one.name for one in shown.columns] == ["d", "day", "t", "n"]


def test_an_empty_table_has_no_rows(lake: Lake, opened: Opened) -> None:
    lake.append([("B", 150)])
    lake.remove("B")
    assert opened(lake).prove("large(B)").verdict is Verdict.DISPROVED


def test_init_begins_with_tables_and_not_with_their_files(lake: Lake, tmp_path: Path) -> None:
    lake.append([("A", 50), ("B", 150)])
    lake.remove("B")
    for given in ("lake", "lake/orders"):
        begun = starting.beginning(given, tmp_path, tmp_path)
        assert {name: (one.lake, one.pattern) for name, one in begun.files.items()} == {
            "orders": (lake.kind, "lake/orders")
        }
        assert f"orders: {{{lake.kind}: " in "\n".join(
            starting._entry("orders", begun.files["orders"])
        )


# ------------------------------------------------------------------- what is refused


def test_a_version_that_is_not_there_leaves_the_goal_open(lake: Lake, opened: Opened) -> None:
    lake.append([("B", 150)])
    assert "no" in reason_of(opened(lake, "77"))


def test_no_table_and_no_folder(lake: Lake, opened: Opened, tmp_path: Path) -> None:
    assert "C0541" in reason_of(opened(lake))
    (tmp_path / "lake" / "orders").mkdir(parents=True)
    assert "C0541" in reason_of(opened(lake))


def test_a_file_that_is_gone_is_no_empty_table(lake: Lake, opened: Opened) -> None:
    lake.append([("A", 150)])
    for one in lake.path.rglob("*.parquet"):
        one.unlink()
    assert "C0543" in reason_of(opened(lake))


def test_a_damaged_file_says_nothing(lake: Lake, opened: Opened) -> None:
    lake.append([("A", 150), ("B", 150)])
    for one in lake.path.rglob("*.parquet"):
        one.write_bytes(one.read_bytes()[:100] + b"canary" * 100)
    told = reason_of(opened(lake))
    assert "C0543" in told
    assert "canary" not in told


def test_files_outside_of_the_project_are_not_read(
    lake: Lake, opened: Opened, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake.append([("B", 150)])
    other = tmp_path_factory.mktemp("outside")
    for one in lake.path.rglob("*.parquet"):
        moved = other / one.name
        shutil.move(one, moved)
        one.symlink_to(moved)
    assert "leads out of the project" in reason_of(opened(lake))


def test_files_that_metadata_name_elsewhere_are_not_read(
    lake: Lake, opened: Opened, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lake.append([("B", 150)])
    outside = tmp_path_factory.mktemp("outside")
    if lake.kind == "iceberg":
        for one in lake.path.rglob("snap-*.avro"):
            shutil.move(one, outside / one.name)
        for one in lake.path.rglob("*.metadata.json"):
            there = f"file://{lake.path}/metadata/snap"
            one.write_text(one.read_text().replace(there, f"file://{outside}/snap"))
        assert "leads out of the project" in reason_of(opened(lake))
        return
    entry = lake.path / "_delta_log" / f"{0:020}.json"
    file = next(lake.path.glob("*.parquet"))
    moved = outside / file.name
    shutil.move(file, moved)
    text, relative = entry.read_text(), os.path.relpath(moved, lake.path)
    for named in (f"file://{moved}", relative, relative.replace("..", "%2E%2E")):
        entry.write_text(text.replace(file.name, named))
        assert "leads out of" in reason_of(opened(lake))


def test_files_on_other_machines_are_not_fetched(lake: Lake, opened: Opened) -> None:
    lake.append([("B", 150)])
    if lake.kind == "iceberg":
        for one in lake.path.rglob("*.metadata.json"):
            text = one.read_text().replace(f"file://{lake.path}/metadata/snap", "s3://canary/snap")
            one.write_text(text)
    else:
        entry = lake.path / "_delta_log" / f"{0:020}.json"
        file = next(lake.path.glob("*.parquet"))
        entry.write_text(entry.read_text().replace(file.name, "s3://canary/a.parquet"))
    told = reason_of(opened(lake))
    assert "another machine" in told
    assert "canary" not in told


def test_a_table_does_not_say_which_code_reads_it(
    lake: Lake, opened: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if lake.kind != "iceberg":
        pytest.skip("metadata of Iceberg name a class; those of Delta do not")
    lake.append([("B", 150)])
    (tmp_path / "canary_module.py").write_text("import os\nos.environ['CANARY'] = 'ran'\n")
    monkeypatch.syspath_prepend(tmp_path)
    for one in lake.path.rglob("*.metadata.json"):
        told = json.loads(one.read_text())
        told["properties"]["py-io-impl"] = "canary_module.Files"
        one.write_text(json.dumps(told))
    assert opened(lake).prove("large(B)").verdict is Verdict.PROVED
    assert "CANARY" not in os.environ


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ("{orders: {delta: ../orders}}", "leads out"),
        ("{orders: {delta: /orders}}", "leads out"),
        ("{orders: {delta: 's3://b/orders'}}", "leads out"),
        ("{orders: {delta: orders, version: newest}}", "no number"),
        ("{orders: {delta: orders, separator: ';'}}", "does not go together"),
        ("{orders: {delta: orders, iceberg: orders}}", "does not go together"),
        ("{orders: {file: a.csv, version: 3}}", "does not go together"),
    ],
)
def test_settings_that_cannot_be_meant_are_mistakes(tmp_path: Path, files: str, said: str) -> None:
    (tmp_path / "constat.yaml").write_text(f"project: t\ndatabases: {{shop: {{files: {files}}}}}\n")
    with pytest.raises(ConstatError) as caught:
        load_project(tmp_path)
    assert said in str(caught.value)
