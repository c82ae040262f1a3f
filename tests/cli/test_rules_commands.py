"""`constat rules check|fmt|list|test` from outside."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sqlite3
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator

from constat.cli import main
from constat.cli.schemas import json_schema
from tests.cli.running import Ran, run, run_process
from tests.library.folders import FACTS, library

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "rules" / "customer-value"
GOOD = f'{FACTS}@[expect(proved = "good(a)")] .output good\n'


def valid(ran: Ran, name: str) -> Any:  # noqa: ANN401  any JSON value
    schema = json_schema(name)
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(ran.json)
    assert ran.json.get("exit_code", ran.code) == ran.code
    return ran.json


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "rules.dl"
    path.write_bytes(b".decl p(x:number)\r\np( 1 ). // one\r\n")
    return path


# ------------------------------------------------------------------------------------------- fmt


def test_fmt_writes_the_layout_and_keeps_line_ends_and_permissions(file: Path) -> None:
    file.chmod(0o640)
    ran = run("rules", "fmt", file)
    assert (ran.code, ran.out.splitlines()[-1]) == (0, "1 changed, 0 unchanged")
    assert file.read_bytes() == b".decl p(x: number)\r\np(1).  // one\r\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    assert run("rules", "fmt", file).out == "0 changed, 1 unchanged\n"
    assert [path.name for path in file.parent.iterdir()] == ["rules.dl"]


def test_fmt_check_and_diff_write_nothing(file: Path) -> None:
    before = file.read_bytes()
    checked = run("rules", "fmt", "--check", file)
    assert (checked.code, checked.out.splitlines()[-1]) == (1, "1 would change, 0 unchanged")
    shown = run("rules", "fmt", "--diff", file)
    assert shown.code == 0
    assert shown.out.splitlines()[3:] == [
        *("-.decl p(x:number)", "-p( 1 ). // one", "+.decl p(x: number)", "+p(1).  // one"),
    ]
    assert run("rules", "fmt", "--diff", "--check", file).code == 1
    assert file.read_bytes() == before


WIDE = ".decl sold(a: number, b: number, c: number, d: number, e: number, f: number)\n"


def test_fmt_names_the_arguments_of_wide_predicates_and_takes_the_names_away(
    tmp_path: Path,
) -> None:
    (tmp_path / "declared.dl").write_text(f"{WIDE}sold(1, 2, 3, 4, 5, 6).\n", encoding="utf-8")
    rules = tmp_path / "rules.dl"
    before = ".decl p(x: number)\np(?x) :- sold(?x, _, _, _, 2, _), !sold(_, _, _, _, _, ?x).\n"
    rules.write_text(before, encoding="utf-8")
    # The declaration is found beside the file.
    assert run("rules", "fmt", rules).code == 0
    named = ".decl p(x: number)\np(?x) :- sold(a = ?x, e = 2), !sold(f = ?x).\n"
    assert rules.read_text(encoding="utf-8") == named
    assert run("rules", "fmt", "--check", tmp_path).code == 0
    assert run("rules", "fmt", "--positional", rules).code == 0
    assert rules.read_text(encoding="utf-8") == before


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("p(?x) :- sold(a = ?x, bb = 2).", "C0183"),
        ("p(?x) :- sold(a = ?x, a = 2).", "C0184"),
        ("p(?x) :- sold(?x, a = 2).", "C0185"),
        ("p(?x) :- sale(a = ?x).", "C0181"),
        ("p(x = ?x), sold(a = ?x) :- q(?x).", "C0159"),
    ],
)
def test_fmt_takes_no_names_away_that_are_wrong(tmp_path: Path, rule: str, code: str) -> None:
    file = tmp_path / "rules.dl"
    text = f"{WIDE}.decl p(x: number)\n{rule}\n"
    file.write_text(text, encoding="utf-8")
    ran = run("rules", "fmt", "--positional", file)
    assert (ran.code, code in ran.err) == (2, True)
    assert file.read_text(encoding="utf-8") == text


def test_fmt_leaves_a_file_with_errors_and_goes_on_with_others(file: Path) -> None:
    broken = file.with_name("a_broken.dl")
    broken.write_text("p( 1 )\n", encoding="utf-8")
    ran = run("rules", "fmt", file.parent)
    assert ran.code == 2
    assert "C0121" in ran.err
    assert ran.out.splitlines()[-1] == "1 changed, 0 unchanged, 1 with errors"
    assert broken.read_text(encoding="utf-8") == "p( 1 )\n"
    assert b"p(1)." in file.read_bytes()


def test_fmt_lays_out_cases_too_and_follows_a_link_to_its_file(tmp_path: Path) -> None:
    folder = library(tmp_path / "lib", {"one": "p( 1 ).\n"}, ".decl p(x: number)\n")
    link = tmp_path / "link.dl"
    link.symlink_to(folder / "cases" / "one.dl")
    assert run("rules", "fmt", "--check", folder).code == 1
    assert run("rules", "fmt", link).code == 0
    assert link.is_symlink()
    assert (folder / "cases" / "one.dl").read_text(encoding="utf-8") == "p(1).\n"


@pytest.mark.faults
def test_fmt_reads_stdin_and_writes_stdout() -> None:
    assert run_process("rules", "fmt", "-", given="p( 1 ). // ☃".encode()).out == "p(1).  // ☃\n"
    checked = run_process("rules", "fmt", "--check", "-", given=b"p( 1 ).")
    assert (checked.code, "p(" in checked.out) == (1, False)
    broken = run_process("rules", "fmt", "-", given=b"p(")
    assert (broken.code, "C01" in broken.err) == (2, True)
    assert run_process("rules", "fmt", "-", "x.dl").code == 2


def test_fmt_says_what_it_cannot_find_or_read(tmp_path: Path) -> None:
    missing = run("rules", "fmt", tmp_path / "nothing.dl")
    assert (missing.code, "C0405" in missing.err) == (2, True)
    assert run("rules", "fmt", "--project", tmp_path).code == 2


def test_fmt_as_json(file: Path) -> None:
    told = valid(run("rules", "fmt", "--check", "--diff", "--format", "json", file), "rules-fmt")
    (one,) = told["files"]
    assert one["status"] == "changed"
    assert one["diff"].startswith("--- ")
    file.write_text("p(", encoding="utf-8")
    (one,) = valid(run("rules", "fmt", "--format", "json", file), "rules-fmt")["files"]
    assert (one["status"], bool(one["diagnostics"])) == ("error", True)


# ------------------------------------------------------------------------------------------ list


def test_list_shows_rules_and_predicates_of_paths() -> None:
    ran = run("rules", "list", LIBRARY)
    assert ran.code == 0
    rules, predicates = ran.out.split("\n\n")
    assert rules.splitlines()[0].split() == [
        *("RULE", "HEAD", "OWNER", "CONFIDENCE", "STATE", "PLACE", "SAYS"),
    ]
    assert any(line.startswith("VIP1 ") and "vip.dl:" in line for line in rules.splitlines())
    assert any("customer_tier(" in line for line in predicates.splitlines())


def test_list_shows_the_project_where_no_path_is_given(shop: Path) -> None:
    told = valid(run("rules", "list", "--project", shop, "--format", "json"), "rules-list")
    assert {rule["id"] for rule in told["rules"]} >= {"VIP1", "DRAFT1"}
    sources = {one["name"]: one["source"] for one in told["predicates"]}
    assert sources["customer"] == "sales"
    proposed = run("rules", "list", "--project", shop, "--proposed", "--format", "json")
    assert [rule["id"] for rule in valid(proposed, "rules-list")["rules"]] == ["DRAFT1"]
    of_one = run("rules", "list", LIBRARY, "--predicate", "is_vip", "--format", "json")
    assert [rule["id"] for rule in of_one.json["rules"]] == ["VIP1", "VIP2"]
    assert run("rules", "list", LIBRARY, "--owner", "nobody").out.startswith("no rules\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_list_counts_wide_characters_twice_and_cuts_only_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "wide.dl"
    says = "a long sentence" + " and more" * 9
    rules = [
        f'@[id = "{name}"] @[owner = "{owner}"] @[says = "{says}"] p(1) :- q().'
        for name, owner in (("R1", "経理部"), ("R2", "finance"))
    ]
    file.write_text("\n".join([".decl p(x: number)", ".decl q()", "q().", *rules]), "utf-8")
    titles, wide, narrow = run("rules", "list", file).out.splitlines()[:3]
    assert titles.index("SAYS") == narrow.index(says) == wide.index(says) + len("経理部")
    # A number ends where its title ends.
    assert narrow.index("1  written") == titles.index("  STATE") - 1

    terminal = Terminal()
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("NO_COLOR", "1")
    with contextlib.redirect_stdout(terminal):
        assert main(["rules", "list", str(file)]) == 0
    shown = terminal.getvalue().splitlines()
    assert (len(shown[2]), shown[2][-1]) == (100, "…")
    assert shown[3] == "cut to fit: SAYS; `--format json` shows all"


def test_list_shows_the_mistakes_of_files(file: Path) -> None:
    file.write_text("p(1).\n", encoding="utf-8")
    ran = run("rules", "list", file)
    assert (ran.code, "C0201" in ran.err, ran.out) == (2, True, "")


# ----------------------------------------------------------------------------------------- check


def test_check_leaves_cases_out_and_tells_what_is_portable(tmp_path: Path) -> None:
    folder = library(tmp_path / "lib", {"one": GOOD})
    assert run("rules", "check", folder).out == "1 file, 5 predicates, 3 rules: no errors\n"
    ran = run("rules", "check", "--portable", folder)
    assert ran.code == 1
    assert "3 constructs not portable" in ran.out
    assert "Souffle 2.5 answers differently" in ran.out
    told = valid(run("rules", "check", "--portable", "--format", "json", folder), "rules-check")
    assert told["portable"] is False
    assert {one["code"] for one in told["portability"]} == {"C0262"}
    plain = valid(run("rules", "check", "--format", "json", folder), "rules-check")
    assert "portable" not in plain


# ------------------------------------------------------------------------------------------ test


def test_test_passes_fails_and_breaks_with_its_own_exit_codes(tmp_path: Path) -> None:
    folder = library(tmp_path / "lib", {"one": GOOD})
    passed = run("rules", "test", folder)
    assert (passed.code, passed.out.splitlines()[-1]) == (0, "1 passed, 0 failed in 1 case")
    library(tmp_path / "failing", {"one": GOOD.replace("good(a)", "good(b)")})
    failed = run("rules", "test", tmp_path)
    assert (failed.code, failed.out.splitlines()[-1]) == (1, "1 passed, 1 failed in 2 cases")
    assert "cases/one.dl:2: good(b): expected PROVED, got DISPROVED" in failed.out
    library(tmp_path / "broken", {"one": FACTS})
    broken = run("rules", "test", tmp_path)
    assert (broken.code, "C0440" in broken.err, "BROKEN" in broken.out) == (2, True, True)
    assert run("rules", "test", tmp_path / "nothing").code == 2
    assert run("rules", "test", folder, "-k", "two").code == 2


def test_test_as_json_and_as_junit(tmp_path: Path) -> None:
    folder = library(
        tmp_path / "lib", {"a": GOOD, "b": GOOD.replace("good(a)", "good(b)"), "c": "p("}
    )
    report = tmp_path / "cases.xml"
    ran = run("rules", "test", folder, "--coverage", "--format", "json", "--junit", report)
    told = valid(ran, "rules-test")
    assert (told["passed"], told["failed"], told["broken"]) == (1, 1, 1)
    assert [len(case["expectations"]) for case in told["cases"]] == [1, 1, 0]
    assert [rule["fired"] for rule in told["coverage"][0]["rules"]] == [1, 0, 0]
    root = ET.fromstring(report.read_text(encoding="utf-8"))  # noqa: S314  our own text
    assert (root.get("tests"), root.get("failures"), root.get("errors")) == ("3", "1", "1")
    assert "coverage" not in valid(run("rules", "test", folder, "--format", "json"), "rules-test")


def test_an_audit_of_proofs_has_all_that_sarif_requires(tmp_path: Path) -> None:
    folder = library(
        tmp_path / "lib é", {"a": GOOD, "b": GOOD.replace("good(a)", "good(b)"), "c": "p("}
    )
    audit = tmp_path / "audit.sarif"
    assert run("rules", "test", folder, "--sarif", audit).code == 2
    told = json.loads(audit.read_bytes().decode("ascii"))
    assert told["version"] == "2.1.0"
    (one,) = told["runs"]
    driver = one["tool"]["driver"]
    names = [rule["id"] for rule in driver["rules"]]
    assert driver["name"] == "constat"
    assert len(set(names)) == len(names)
    for result in one["results"]:
        assert names[result["ruleIndex"]] == result["ruleId"]
        assert result["message"]["text"]
        # SARIF 2.1.0, 3.27.10: what is no failure has no level.
        assert (result["kind"] == "fail") is (result["level"] == "error")
        (place,) = result["locations"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert uri.isascii()
        assert " " not in uri
        region = place["physicalLocation"].get("region", {"startLine": 1, "startColumn": 1})
        assert min(region.values()) >= 1
    kinds = [(result["ruleId"], result["kind"]) for result in one["results"]]
    assert kinds.count(("goal-as-expected", "pass")) == 1
    assert kinds.count(("goal-not-as-expected", "fail")) == 1
    assert ("case-broken", "fail") in kinds
    assert ("rule-not-tried", "review") in kinds


def test_test_runs_the_cases_of_the_project(shop: Path) -> None:
    ran = run("rules", "test", "--project", shop, "--coverage", "-k", "customer-value/v")
    assert ran.code == 0
    assert ran.out.startswith("passed customer-value/cases/vip.dl: 10 goals, ")
    assert "coverage of customer-value: " in ran.out


# --------------------------------------------------------------------------------------- sources

SHOP = """.decl orders(id: number, who: symbol)
.input orders(source = "sales", query = "SELECT id, who FROM orders")
"""
STATED = SHOP.replace('.input orders(source = "sales", query = "SELECT id, who FROM orders")\n', "")


def shop_of(folder: Path, rules: str = SHOP, sources: str = "") -> Path:
    with contextlib.closing(sqlite3.connect(folder / "shop.sqlite")) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id INTEGER, who TEXT)")
    (folder / "r.dl").write_text(rules, encoding="utf-8")
    sources = sources or 'databases: {sales: "sqlite:///shop.sqlite"}'
    (folder / "constat.yaml").write_text(f"rules: [r.dl]\n{sources}\n", encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("written", "edit"),
    [
        ("sale", 'write `source = "sales"`, or add `sale:` under `databases:` of constat.yaml'),
        ("confg", 'write `source = "config"`'),
        ("warehouse", "the project has `sales`: name one, or add `warehouse:` under `databases:`"),
    ],
)
def test_a_source_that_is_not_there_is_told_before_any_question(
    tmp_path: Path, written: str, edit: str
) -> None:
    shop_of(tmp_path, SHOP.replace('"sales"', f'"{written}"'))
    there = ("--project", tmp_path)
    checked = run("rules", "check", *there)
    assert (checked.code, "error[C0510]" in checked.out, edit in checked.out) == (2, True, True)
    assert "delete the `.input`" in checked.out
    assert 'under `facts:` of constat.yaml have `source = "config"`' in checked.out
    named = run("rules", "check", tmp_path / "r.dl", *there)
    assert (named.code, "error[C0510]" in named.out) == (2, True)
    listed = run("rules", "list", *there)
    assert (listed.code, "orders(id: number" in listed.out) == (0, True)
    assert "warning[C0510]" in listed.err
    # Both edits: another name, and no `.input`.
    assert run("rules", "check", "--project", shop_of(tmp_path)).code == 0
    assert run("rules", "check", "--project", shop_of(tmp_path, STATED)).code == 0
    added = run("facts", "add", "orders(1, ann)", "--by", "ann", *there)
    assert (added.code, run("prove", "orders(1, ann)", *there).code) == (0, 3)


def test_the_key_of_the_configuration_gives_the_rows(tmp_path: Path) -> None:
    rules = SHOP.replace(
        'source = "sales", query = "SELECT id, who FROM orders"', 'source="config"'
    )
    shop_of(tmp_path, rules, "facts: {orders: [[1, ann]]}")
    assert run("rules", "check", "--project", tmp_path).code == 0
    assert run("prove", "orders(1, ann)", "--project", tmp_path).code == 0


@pytest.mark.parametrize(
    ("rules", "sources", "code", "told"),
    [
        (SHOP.replace("FROM orders", "FROM oders"), "", 2, "error[C0517]"),
        (SHOP.replace("SELECT id, who", "SELECT id, whom"), "", 2, "whom"),
        (SHOP, 'databases: {sales: "sqlite:///gone.sqlite"}', 0, "warning[C0520]"),
        (SHOP, "databases: {sales: {files: {orders: gone.csv}}}", 0, "there is no file gone.csv"),
        (SHOP, 'databases: {sales: "postgresql://reader@127.0.0.1:1/x"}', 0, "no errors"),
        (SHOP, "facts: {odders: [[1, ann]]}", 2, "C0506"),
    ],
)
def test_tables_and_files_of_this_machine_are_looked_at(
    tmp_path: Path, rules: str, sources: str, code: int, told: str
) -> None:
    if sources.startswith("facts"):
        sources += '\ndatabases: {sales: "sqlite:///shop.sqlite"}'
    checked = run("rules", "check", "--project", shop_of(tmp_path, rules, sources))
    assert (checked.code, told in checked.out) == (code, True), checked.out


# ------------------------------------------------------------------------------------------ help


def examples() -> Iterator[list[str]]:
    for name in ("check", "fmt", "list", "test"):
        text = run("rules", name, "--help").out
        block = text.partition("Examples:")[2].partition("Exit codes:")[0]
        lines = (line.partition("#")[0] for line in block.splitlines())
        yield from (line.split() for line in lines if line.strip())


@pytest.mark.sampled(4, "examples")
@pytest.mark.parametrize("words", list(examples()), ids=" ".join)
def test_the_examples_of_the_help_run(words: list[str], shop: Path, tmp_path: Path) -> None:
    assert words[:2] == ["constat", "rules"]
    arguments = [word if word != "cases.xml" else str(tmp_path / word) for word in words[1:]]
    before = os.getcwd()  # noqa: PTH109  the examples are typed in the folder of the checkout
    os.chdir(shop.parent.parent)
    try:
        code = run(*arguments).code
    finally:
        os.chdir(before)
    assert code in {0, 1}


def test_the_help_of_each_command_has_examples_and_exit_codes() -> None:
    for name in ("check", "fmt", "list", "test"):
        text = run("rules", name, "--help").out
        assert "Examples:" in text
        assert "Exit codes: 0 " in text
