"""`constat rules check` fails where a sentence leaves out a value, and only there."""

from __future__ import annotations

from pathlib import Path

import pytest

from constat.library import check_rules
from tests.cli.running import run

ROOT = Path(__file__).resolve().parents[2]
HEAD = '.pragma "constat" "0.1"\n'
TOTAL = """
@[says = "{c} has {amount}"]
.decl total(c: symbol, amount: Decimal)
.input total(source = "s", query = "q")
@[says = "{c} is a VIP"]
.decl is_vip(c: symbol)
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "rules.dl"
    path.write_text(HEAD + text, encoding="utf-8")
    return path


def left_out(folder: Path, text: str) -> list[str]:
    checked = check_rules([written(folder, text)])
    assert checked.errors == ()
    assert {one.code for one in checked.incomplete} <= {"C0791"}
    assert checked.exit_code == (1 if checked.incomplete else 0)
    return [one.message.partition(" leaves out ")[2] for one in checked.incomplete]


RULE = "is_vip(?c) :- total(?c, ?a), ?a > 1000."


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("{a} is more than 1000", []),
        ("{a} is more than 1,000 for {c}", []),
        ("{a} is more than 1.000", []),
        ("{a} is much", ["1000"]),
        ("more than 1000", ["{a}"]),
        ("much", ["{a}, 1000"]),
        ("{a} is more than 100", ["1000"]),
    ],
)
def test_a_rule_says_what_it_compares(tmp_path: Path, sentence: str, missing: list[str]) -> None:
    assert left_out(tmp_path, f'{TOTAL}@[says = "{sentence}"]\n{RULE}') == missing


@pytest.mark.parametrize(
    ("attributes", "missing"),
    [
        ('@[says = "{c} has {amount}"]', []),
        ('@[says = "it is much"]', ["{c}, {amount}"]),
        ('@[says_not = "{c} has nothing"]', ["{amount}"]),
        ('@[says_unknown = "{amount} is open"]', ["{c}"]),
        ('@[says = "{c}: {amount}"] @[says(de = "{c}")]', ["{amount}"]),
        ("", []),
    ],
)
def test_a_predicate_says_every_column_in_every_form(
    tmp_path: Path, attributes: str, missing: list[str]
) -> None:
    declared = '.decl total(c: symbol, amount: Decimal)\n.input total(source="s", query="q")\n'
    assert left_out(tmp_path, f"{attributes}\n{declared}") == missing


def test_values_that_an_aggregate_compares_are_said_and_its_own_are_not(tmp_path: Path) -> None:
    rules = """
    .decl order(c: symbol, day: Date, amount: Decimal)
    .input order(source="s", query="q")
    .decl since(day: Date)
    .input since(source="config")
    .decl revenue(c: symbol, total: Decimal)
    @[says = "SENTENCE"]
    revenue(?c, ?t) :- since(?from), order(?c, _, _),
      ?t = sum ?a : { order(?c, ?d, ?a), ?d >= ?from }.
    """
    assert left_out(tmp_path, rules.replace("SENTENCE", "since {from}")) == []
    assert left_out(tmp_path, rules.replace("SENTENCE", "{t}")) == ["{from}"]


def test_a_column_of_the_head_says_its_variable(tmp_path: Path) -> None:
    rules = (
        '.decl big(x: Decimal)\n@[says = "{x} is more than 5"]\nbig(?a) :- total(_, ?a), ?a > 5.'
    )
    assert left_out(tmp_path, TOTAL + rules) == []


def test_the_command_names_them_and_exits_with_1(tmp_path: Path) -> None:
    path = written(tmp_path, f'{TOTAL}@[says = "much"]\n{RULE}\n')
    done = run("rules", "check", path)
    assert done.code == 1
    assert "C0791" in done.out
    assert "no errors; 1 sentence leaves out values" in done.out
    found = run("rules", "check", path, "--format", "json").json
    assert found["exit_code"] == 1
    assert [one["code"] for one in found["incomplete"]] == ["C0791"]


def test_nothing_else_minds(tmp_path: Path) -> None:
    project = tmp_path / "constat.yaml"
    project.write_text("rules: [rules.dl]\nfacts: {limit: 5}\n", encoding="utf-8")
    text = '@[says = "it is set"]\n.decl limit(x: number)\n.input limit(source="config")\n'
    written(tmp_path, text)
    done = run("prove", "limit(5)", "--project", tmp_path)
    assert done.code == 0
    assert "C0791" not in done.out + done.err


@pytest.mark.parametrize(
    ("library", "example"),
    [("customer-value", "vip"), ("ownership-control", "ownership"), ("access-control", "access")],
)
def test_libraries_and_examples_leave_out_nothing(library: str, example: str) -> None:
    checked = check_rules([ROOT / "rules" / library, ROOT / "examples" / example])
    assert checked.errors == ()
    assert checked.incomplete == ()


@pytest.mark.parametrize("language", ["German", "d", "de_DE", "DE"])
def test_a_language_is_its_code(tmp_path: Path, language: str) -> None:
    text = f'@[says({language} = "{{c}} ist da")]\n.decl p(c: symbol)\n'
    checked = check_rules([written(tmp_path, text)])
    assert [one.code for one in checked.errors] == ["C0792"]
    assert checked.errors[0].help


@pytest.mark.parametrize("form", ["says_not", "says_unknown", "says(fr", "says_not(fr"])
def test_braces_of_every_form_are_checked(tmp_path: Path, form: str) -> None:
    closing = ")" if "(" in form else ""
    text = f'@[{form} = "{{wrong}}"{closing}]\n.decl p(c: symbol)\n'
    checked = check_rules([written(tmp_path, text)])
    assert [one.code for one in checked.errors] == ["C0243"]


STRUCTURED = """
.type Money = [amount: Decimal, currency: symbol]
.decl offer(c: symbol, m: Money)
.input offer(source = "s", query = "q")
@[says = "{c} is dear"]
.decl dear(c: symbol)
"""


@pytest.mark.parametrize(
    ("says", "missing"),
    [
        ("{c} is dear", ["1000, {a}"]),
        ("{c} pays {a}, more than 1000", []),
    ],
)
def test_what_a_pattern_takes_apart_is_asked_for_and_no_name_of_ours(
    tmp_path: Path, says: str, missing: list[str]
) -> None:
    rule = 'dear(?c) :- offer(?c, [?a, "EUR"]), 1000 < ?a.'
    assert left_out(tmp_path, f'{STRUCTURED}@[says = "{says}"]\n{rule}\n') == missing
