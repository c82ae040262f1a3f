"""`files:` of a database: tables, and the files of the project that they stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError, Diagnostic
from constat.project import Database, load_project
from constat.project.files import EVERY, TableFiles

if TYPE_CHECKING:
    from pathlib import Path


def load(folder: Path, text: str) -> Database:
    (folder / "constat.yaml").write_text(text)
    return load_project(folder, environment={}).databases["shop"]


def complaint(folder: Path, text: str) -> Diagnostic:
    with pytest.raises(ConstatError) as caught:
        load(folder, text)
    (found,) = caught.value.diagnostics
    assert found.span is not None
    return found


def test_tables_and_their_files_are_read_as_written(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        databases:
          shop:
            files:
              Customers: data/customers.csv
              orders: "data/orders-*.parquet"
              events: data/Events.JSONL
        """,
    )
    assert found.kind == "files"
    assert found.files == {
        "customers": TableFiles("data/customers.csv"),
        "orders": TableFiles("data/orders-*.parquet"),
        "events": TableFiles("data/Events.JSONL"),
    }


def test_the_type_may_be_said(tmp_path: Path) -> None:
    found = load(tmp_path, "databases: {shop: {type: files, files: {t: t.tsv}}}")
    assert (found.kind, found.files) == ("files", {"t": TableFiles("t.tsv")})


@pytest.mark.parametrize(
    ("files", "code", "said"),
    [
        ("{t: ../t.csv}", "C0505", "leads out"),
        ("{t: data/../../t.csv}", "C0505", "leads out"),
        ("{t: /srv/t.csv}", "C0505", "leads out"),
        ("{t: t.docx}", "C0504", "kind that cannot be read"),
        ("{t: t.csv.gz}", "C0504", "kind that cannot be read"),
        ("{t: data}", "C0504", "kind that cannot be read"),
        ("{t: [a.csv, b.csv]}", "C0504", "not a text"),
        ("{t: }", "C0504", "not a text"),
        ("{}", "C0504", "names no table"),
        ("t.csv", "C0504", "not a table"),
        ("{a-b: t.csv}", "C0504", "no name for a table"),
        ("{main.t: t.csv}", "C0504", "no name for a table"),
        ("{1t: t.csv}", "C0504", "no name for a table"),
        ("{t: t.csv, T: u.csv}", "C0502", "twice"),
        ("{t: {separator: x}}", "C0504", "names no `file`"),
        ("{t: {file: t.csv, separator: xx}}", "C0504", "cannot stand there"),
        ("{t: {file: t.csv, separator: a}}", "C0504", "cannot stand there"),
        ("{t: {file: t.csv, encoding: utf-9}}", "C0504", "`encoding`"),
        ("{t: {file: t.csv, encoding: rot13}}", "C0504", "`encoding`"),
        ("{t: {file: t.csv, encoding: idna}}", "C0504", "`encoding`"),
        ("{t: {file: t.csv, skip: 5000}}", "C0504", "too large"),
        ("{t: {file: t.csv, null: []}}", "C0504", "names no texts"),
        ("{t: {file: t.csv, footer: 5000}}", "C0504", "too large"),
        ("{t: {file: t.csv, footer: []}}", "C0504", "names no words"),
        ("{t: {file: t.csv, unit: {a: 5}}}", "C0504", "`unit`"),
        ("{t: {file: t.json, footer: 1}}", "C0504", "says nothing of `.json`"),
        ("{t: {file: t.csv, locale: {a: xx_YY}}}", "C0504", "`locale`"),
        ("{t: {file: t.csv, locale: de_DE}}", "C0504", "not a table"),
        ("{t: {file: t.csv, heading: false}}", "C0503", "unknown key"),
        ("{t: {file: t.parquet, null: [NA]}}", "C0504", "says nothing of `.parquet`"),
        ("{t: {file: t.jsonl, encoding: utf-16}}", "C0504", "says nothing of `.jsonl`"),
    ],
)
def test_a_mistake_is_shown_where_it_stands(
    tmp_path: Path, files: str, code: str, said: str
) -> None:
    (tmp_path / "constat.yaml").write_text(f"databases: {{shop: {{files: {files}}}}}")
    with pytest.raises(ConstatError) as caught:
        load_project(tmp_path)
    first = caught.value.diagnostics[0]
    assert first.code == code
    assert said in first.message


@pytest.mark.parametrize(
    ("database", "said"),
    [
        ("{type: files}", "names no `files`"),
        ("{files: {t: t.csv}, uri: 'sqlite:///x'}", "has `files` beside `uri`"),
        ("{files: {t: t.csv}, type: sql}", "has `files` beside `uri` or a `type`"),
        ("{seconds: 3}", "has no `uri`"),
    ],
)
def test_a_database_is_an_address_or_files(tmp_path: Path, database: str, said: str) -> None:
    assert said in complaint(tmp_path, f"databases: {{shop: {database}}}").message


def test_how_a_file_is_written_is_said_beside_it(tmp_path: Path) -> None:
    found = load(
        tmp_path,
        """
        databases:
          shop:
            files:
              t:
                file: t.csv
                separator: tab
                encoding: CP1252
                null: {Price: [NA, "-"]}
                locale: {Price: de-DE}
              u: {file: u.xlsx#Sheet, null: NA, footer: [Total, Sum], skip: 2}
              v: {file: v.csv, footer: 0}
        """,
    ).files
    assert (found["t"].separator, found["t"].encoding) == ("\t", "windows-1252")
    assert found["t"].null == {"price": ("NA", "-")}
    assert found["t"].locale["price"].name == "de_DE"
    assert found["u"].null == {EVERY: ("NA",)}
    assert (found["u"].footer, found["u"].skip) == (("Total", "Sum"), 2)
    states = [TableFiles("v.csv", footer=one).identity for one in (None, 0, 1, ("Total",))]
    assert (found["v"].footer, len({*states})) == (0, 4)
    assert found["t"].footer is None
