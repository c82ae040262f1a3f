"""The doctor finds what is wrong, says what mends it, and shows no secret."""

from __future__ import annotations

import importlib.util
import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.explore.sandbox import Level, choose_level
from constat.project import load_project
from constat.session.diagnosis import diagnose, sandbox_findings
from tests.catalog.schema_worlds import sqlite_file
from tests.cli.running import run
from tests.examples.fixtures import shop_database, still_shop

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from constat.session.diagnosis import Finding

__all__ = ["shop_database", "still_shop"]

RULES = """
.decl orders(id: number, c: symbol)
.input orders(source = "sales", query = "SELECT id, customer_id FROM orders")
"""


def project(
    folder: Path, text: str = "", rules: str = RULES, database: str = "shop.sqlite"
) -> Path:
    sqlite_file(folder / "shop.sqlite")
    (folder / "r.dl").write_text(rules, encoding="utf-8")
    config = f'databases: {{sales: "sqlite:///{database}"}}\nrules: [r.dl]\n{text}'
    (folder / "constat.yaml").write_text(config, encoding="utf-8")
    return folder


def bad(folder: Path) -> list[Finding]:
    return [one for one in diagnose(folder) if one.state in {"error", "warning"}]


def test_a_sound_project_has_no_findings_to_mend(still_shop: Path) -> None:
    assert bad(still_shop) == []
    ran = run("doctor", "--project", still_shop)
    assert ran.code == 0
    assert ran.out.endswith("0 errors, 0 warnings\n")


@pytest.mark.parametrize(
    ("text", "rules", "check", "message", "hint"),
    [
        ("limts: {rows: 1}", RULES, "configuration", "unknown key", "limits"),
        ("", RULES + "p(?x) :- orders(?x, ?y).", "rules", "", ""),
        ("", RULES.replace('"sales"', '"sale"'), "rules", "source `sale`", 'source = "sales"'),
        ("", RULES.replace("FROM orders", "FROM oders"), "database sales", "`oders`", "`orders`"),
        ("", RULES.replace("customer_id", "custmer_id"), "database sales", "custmer_id", ""),
        ("", RULES.replace(", customer_id", ""), "database sales", "gives 1 columns", "exactly"),
        ("", RULES.replace("SELECT id", "DELETE id"), "database sales", "not", "explain"),
        ("facts: {oders: 1}", RULES, "rules", "no predicate", "orders"),
    ],
)
def test_what_is_wrong_is_named_with_what_mends_it(
    tmp_path: Path, text: str, rules: str, check: str, message: str, hint: str
) -> None:
    found = bad(project(tmp_path, text, rules))
    if not check:
        assert found == []
        return
    assert {one.check for one in found} == {check}
    assert message in found[0].message
    assert hint in found[0].help
    assert all(one.help for one in found)
    assert run("doctor", "--project", tmp_path).code == (
        2 if any(one.state == "error" for one in found) else 0
    )


def test_a_database_that_is_not_there_is_an_error_of_its_own(tmp_path: Path) -> None:
    (found,) = bad(project(tmp_path, database="gone.sqlite"))
    assert (found.check, found.state) == ("database sales", "error")
    assert "no file" in found.message


def test_a_file_outside_the_project_is_named(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    project(inner, database=str(inner / "shop.sqlite"))
    assert not [one for one in diagnose(inner) if "outside" in one.message]
    sqlite_file(tmp_path / "far.sqlite")
    project(inner, database=str(tmp_path / "far.sqlite"))
    (found,) = [one for one in diagnose(inner) if "outside" in one.message]
    assert (found.check, found.state) == ("database sales", "note")
    assert str(tmp_path / "far.sqlite") in found.message


def test_a_variable_that_is_not_set_is_named_and_no_secret_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project(tmp_path)
    config = (
        'databases: {crm: "postgresql://reader:${CRM_PW}@127.0.0.1:1/crm"}\n'
        "models: {named: {main: {provider: anthropic, model: m, key: MY_KEY}}}\n"
    )
    (tmp_path / "constat.yaml").write_text(config, encoding="utf-8")
    found = {one.check: one for one in bad(tmp_path)}
    assert "CRM_PW" in found["database crm"].message
    assert "MY_KEY is not set" in found["model main"].message
    monkeypatch.setenv("CRM_PW", "hush-hush")
    monkeypatch.setenv("MY_KEY", "sk-hush-hush")
    ran = run("doctor", "--project", tmp_path, "--format", "json")
    assert "hush" not in ran.out + ran.err
    states = {one["check"]: one["state"] for one in ran.json["findings"]}
    assert (states["database crm"], states["model main"]) == ("error", "ok")


def test_what_is_kept_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    state = project(tmp_path) / ".constat"
    state.mkdir()
    (state / "facts.sqlite").write_bytes(b"no database" * 100)
    before = (state / "facts.sqlite").read_bytes()
    (found,) = bad(tmp_path)
    assert (found.check, found.state, "facts.sqlite" in found.message) == ("state", "error", True)
    assert (state / "facts.sqlite").read_bytes() == before
    sqlite_file(state / "facts.sqlite").chmod(0o622)
    (found,) = bad(tmp_path)
    assert (found.state, "other users" in found.message) == ("warning", True)
    (state / "facts.sqlite").unlink()
    state.rmdir()
    state.write_text("a file")
    (found,) = bad(tmp_path)
    assert "is no folder" in found.message


def test_what_leaves_goals_open_is_noted(tmp_path: Path) -> None:
    rules = RULES + (
        '.decl limit_of(n: number)\n.input limit_of(source = "config")\n.decl told(x: symbol)\n'
        ".decl p(x: symbol)\n@[id = P1]\np(?x) :- told(?x), limit_of(?n), orders(?n, ?x).\n"
    )
    notes = [one.message for one in diagnose(project(tmp_path, rules=rules)) if one.state == "note"]
    assert any("limit_of" in one for one in notes)
    assert any("`told`" in one for one in notes)


def test_without_a_project_the_doctor_says_how_to_begin(tmp_path: Path) -> None:
    ran = run("doctor", "--project", tmp_path)
    assert ran.code == 2
    assert "no constat.yaml" in ran.out


def test_keys_that_are_gone_or_expired_are_told(tmp_path: Path) -> None:
    (tmp_path / "ada.pem").write_text("a key")
    keys = (
        "keys:\n  ada: {file: ada.pem, roles: [approver], expires: 2020-01-01}\n"
        "  bob: {file: bob.pem, roles: [approver]}\n"
    )
    found = {one.check: one.message for one in bad(project(tmp_path, keys))}
    assert "expired on 2020-01-01" in found["key ada"]
    assert "no file bob.pem" in found["key bob"]


# What keeps steps of code in.


def sandbox(
    folder: Path, text: str = "", missing: Callable[[Level], str] = lambda _: "not here"
) -> Finding:
    (found,) = sandbox_findings(load_project(project(folder, text)), missing)
    return found


def test_the_level_of_the_sandbox_is_told(tmp_path: Path) -> None:
    found = sandbox(tmp_path, missing=lambda _: "")
    assert (found.state, found.message.partition(":")[0]) == ("ok", "bubblewrap")
    found = sandbox(tmp_path, missing=lambda one: "" if one is Level.KERNEL else "no bwrap")
    assert (found.state, found.message.partition(":")[0]) == ("ok", "landlock")
    assert "bubblewrap: no bwrap" in found.message
    assert "names, sizes and times of files can be probed" in found.message
    found = sandbox(tmp_path)
    assert (found.state, found.code) == ("note", "C0910")
    assert found.message.startswith("none: steps of Python code are refused")
    found = sandbox(tmp_path, "explore: {sandbox: weak}")
    assert (found.state, "--allow-unconfined" in found.message) == ("warning", True)
    # The edit that the help names is one that works.
    edit = found.help.split("`")[3]
    assert sandbox(tmp_path, edit).state == "ok"


def test_the_doctor_tells_the_level_that_solving_would_take(tmp_path: Path) -> None:
    folder = project(tmp_path)
    ran = run("doctor", "--format", "json", "--project", folder)
    (found,) = [one for one in ran.json["findings"] if one["check"] == "sandbox"]
    try:
        level = choose_level().value
    except ConstatError:
        level = "none"
    assert found["message"].partition(":")[0] == level
    assert f"sandbox: {level}" in run("doctor", "--project", folder).out


def test_a_library_that_only_apis_need_is_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "graphql" else found(name)
    )
    (one,) = (each for each in diagnose(project(tmp_path)) if "libraries" in each.message)
    assert (one.state, one.message) == ("error", "libraries are missing: graphql")


CHANGED = """
@[key = id]
.decl a(id: number, price: number, day: Date, @[null = maybe] region: symbol, ok: symbol)
.input a(source = "lists", query = "SELECT id, price, day, region, ok FROM a")
"""
SOUND = [(1, "12", "2026-01-01", None, "y"), (2, "13", "2026-01-02", "s", "n")]
FEW = [*SOUND, (3, "12.5", "x", "s", "n")]
ALL = [(1, "1.5", "2026-01-01", "s", "y"), (2, "2.5", "2026-01-02", "s", None)]
KEY = [*SOUND, (2, "14", "2026-01-02", "s", "n")]


def lists(folder: Path, rows: Sequence[tuple[object, ...]], kind: str) -> None:
    """Lay out a project over rows in a file or a database."""
    uri = "{files: {a: a.csv}}"
    if kind == "csv":
        text = "".join(",".join("" if c is None else str(c) for c in row) + "\n" for row in rows)
        (folder / "a.csv").write_text(f"id,price,day,region,ok\n{text}")
    else:
        uri = "sqlite:///a.sqlite"
        (folder / "a.sqlite").unlink(missing_ok=True)
        with closing(sqlite3.connect(folder / "a.sqlite")) as connection, connection:
            connection.execute("CREATE TABLE a (id, price, day, region, ok)")
            connection.executemany("INSERT INTO a VALUES (?, ?, ?, ?, ?)", rows)
    (folder / "constat.yaml").write_text(f"rules: [r.dl]\ndatabases: {{lists: {uri}}}\n")
    (folder / "r.dl").write_text(CHANGED)


@pytest.mark.parametrize("kind", ["csv", "sqlite"])
@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (SOUND, []),
        (
            FEW,
            [
                ("C0854", "1 of 3 values of `price` are no number", "write `price: Decimal`"),
                ("C0854", "1 of 3 values of `day` are no Date", "write `day: symbol`"),
            ],
        ),
        (
            ALL,
            [
                ("C0854", "no value of `price` is a number", "write `price: Decimal`"),
                ("C0854", "1 of 2 rows have no value in `ok`", "`@[null = maybe] ok: symbol`"),
            ],
        ),
        (KEY, [("C0847", "different rows have the same `id`", "take `@[key]` from `a`")]),
    ],
)
def test_rows_that_a_declaration_does_not_fit_are_told_with_the_edit(
    tmp_path: Path, kind: str, rows: Sequence[tuple[object, ...]], told: list[tuple[str, str, str]]
) -> None:
    lists(tmp_path, rows, kind)
    found = bad(tmp_path)
    assert [one.code for one in found] == [code for code, _, _ in told]
    for one, (_, message, hint) in zip(found, told, strict=True):
        assert message in one.message
        assert hint in one.help
        assert one.message.startswith("r.dl:4: ")
    # No value of a row is shown but the one that has to be mended.
    shown = [one for one in found if "12.5" in one.message]
    assert shown == [one for one in found if "1 of 3 values of `price`" in one.message]


def test_the_edit_that_is_named_mends_the_declaration(tmp_path: Path) -> None:
    lists(tmp_path, ALL, "csv")
    text = CHANGED.replace("price: number", "price: Decimal")
    (tmp_path / "r.dl").write_text(text.replace(" ok: symbol", " @[null = maybe] ok: symbol"))
    assert bad(tmp_path) == []


@pytest.mark.parametrize(
    ("header", "helps"),
    [
        ("id,prise,day,region", ["write `prise`", "the source has day, id, prise, region: write"]),
        ("id,Preis EUR,day,ok,region", ["the source has day, id, ok, preis eur, region: write"]),
        ("id,unit price,day,ok,region", ['write `"unit price"`']),
    ],
)
def test_a_column_that_is_gone_is_told_with_those_that_are_there(
    tmp_path: Path, header: str, helps: list[str]
) -> None:
    lists(tmp_path, SOUND, "csv")
    (tmp_path / "a.csv").write_text(f"{header}\n")
    (found,) = bad(tmp_path)
    assert (found.state, found.code) == ("error", "C0515")
    assert any(found.help.lower().startswith(one.lower()) for one in helps)


@pytest.mark.parametrize("table", ["stock level", "order", "2025"])
def test_a_table_whose_name_needs_quotes_is_told_with_the_query(tmp_path: Path, table: str) -> None:
    with closing(sqlite3.connect(tmp_path / "s.sqlite")) as made:
        made.execute(f'CREATE TABLE "{table}" (id INTEGER, n INTEGER)')
        made.commit()
    project(tmp_path, "", ORDERS.format(table), "s.sqlite")
    (found,) = bad(tmp_path)
    mended = found.help.partition("needs quotes: `")[2].rstrip("`")
    assert f'FROM "{table}"' in mended
    project(tmp_path, "", ORDERS.format(f'\\"{table}\\"'), "s.sqlite")
    assert bad(tmp_path) == []


ORDERS = """
.decl orders(id: number, n: number)
.input orders(source = "sales", query = "SELECT id, n FROM {}")
"""


@pytest.mark.parametrize(("footer", "lines"), [("[Total]", 2), ("1", 0), ("0", 0)])
def test_how_many_lines_a_footer_leaves_out_is_told(
    tmp_path: Path, footer: str, lines: int
) -> None:
    lists(tmp_path, SOUND, "csv")
    config = (tmp_path / "constat.yaml").read_text()
    (tmp_path / "constat.yaml").write_text(
        config.replace("{a: a.csv}", f"{{a: {{file: a.csv, footer: {footer}}}}}")
    )
    with (tmp_path / "a.csv").open("a") as opened:
        opened.write("Total,25,,,\n,,,,\n* as of May,,,,\n" if lines else "")
    said = "table a: 2 lines below its rows left out, as `footer` says"
    assert [one.message for one in diagnose(tmp_path) if "lines below" in one.message] == [said][
        :lines
    ]
