"""What `catalog:` of a configuration may say, and what shows or hides what."""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.diagnostics import ConstatError
from constat.diagnostics.catalogue import catalogue
from constat.project import load_project
from constat.project.settings import CatalogSetting


def setting(folder: Path, text: str) -> CatalogSetting:
    (folder / "constat.yaml").write_text(
        f"databases: {{sales: 'sqlite:///s', hr: 'sqlite:///h'}}\n{text}", encoding="utf-8"
    )
    return load_project(folder).catalog


def test_nothing_is_shown_and_nothing_hidden_by_itself(tmp_path: Path) -> None:
    found = setting(tmp_path, "")
    assert found == CatalogSetting()
    assert not found.shows("sales", "orders", "id")
    assert not found.hides("sales", "orders", "id")
    assert not found.shows_all(["sales"])


@pytest.mark.parametrize(
    ("samples", "shown"),
    [
        ("true", {"sales.a.x", "sales.a.y", "sales.b.x", "hr.a.x"}),
        ("false", set()),
        ("sales", {"sales.a.x", "sales.a.y", "sales.b.x"}),
        ("[sales.a]", {"sales.a.x", "sales.a.y"}),
        ("[SALES.A.X, hr]", None),
        ("[sales.A.X, hr]", {"sales.a.x", "hr.a.x"}),
    ],
)
def test_names_show_a_database_a_table_or_a_column(
    tmp_path: Path, samples: str, shown: set[str] | None
) -> None:
    text = f"catalog: {{samples: {samples}}}"
    if shown is None:
        # Names of databases are spelled as they are.
        with pytest.raises(ConstatError):
            setting(tmp_path, text)
        return
    found = setting(tmp_path, text)
    paths = [("sales", "a", "x"), ("sales", "a", "y"), ("sales", "b", "x"), ("hr", "a", "x")]
    assert {".".join(one) for one in paths if found.shows(*one)} == shown


def test_whatever_follows_is_shown_where_all_databases_are(tmp_path: Path) -> None:
    assert not setting(tmp_path, "catalog: {samples: [sales]}").shows_all(["sales", "hr"])
    assert setting(tmp_path, "catalog: {samples: [sales, hr]}").shows_all(["sales", "hr"])
    # A part of a database is not the database.
    assert not setting(tmp_path, "catalog: {samples: [sales.a, hr]}").shows_all(["sales", "hr"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("catalog: {sample: [sales]}", "C0503"),
        ("catalog: {samples: [sale]}", "C0841"),
        ("catalog: {hidden: [orders]}", "C0841"),
        ("catalog: {hidden: [salesorders]}", "C0841"),
        ("catalog: {seconds: never}", "C0504"),
        ("catalog: [sales]", "C0504"),
        ("catalog: {samples: {a: b}}", "C0504"),
    ],
)
def test_mistakes_are_reported(tmp_path: Path, text: str, code: str) -> None:
    with pytest.raises(ConstatError) as caught:
        setting(tmp_path, text)
    assert [one.code for one in caught.value.diagnostics] == [code]
    assert caught.value.diagnostics[0].span is not None


def test_the_examples_of_the_code_do_what_they_say(tmp_path: Path) -> None:
    entry = catalogue()["C0841"]
    (tmp_path / "constat.yaml").write_text(entry.right, encoding="utf-8")
    assert load_project(tmp_path).catalog.hides("sales", "customers")
    (tmp_path / "constat.yaml").write_text(entry.wrong, encoding="utf-8")
    with pytest.raises(ConstatError) as caught:
        load_project(tmp_path)
    assert [one.code for one in caught.value.diagnostics] == ["C0841"]
