"""References that are written from the code's tables say all of it, and what they show is true."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from constat import Session
from constat.analysis import attributes
from constat.cli.help import MEANINGS
from constat.diagnostics.catalogue import catalogue
from constat.logic.vocabulary import AGGREGATES, FUNCTIONS
from constat.project.loading import TOP_LEVEL
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

BEGIN = '.pragma "constat" "0.1"\n.include "constat/prelude.dl"\n'


def names(topic: str) -> set[str]:
    return set(re.findall(r"^  (\S+)(?:  |$)", run("help", topic).out, re.MULTILINE))


def test_every_attribute_function_aggregate_and_key_is_listed() -> None:
    known = {*attributes.OF_PREDICATES, *attributes.OF_COLUMNS}
    known |= {*attributes.OF_TYPES, *attributes.OF_RULES}
    assert set(MEANINGS) == known
    assert known <= names("attributes")
    assert set(FUNCTIONS) <= names("functions")
    assert set(AGGREGATES) <= names("language")
    assert set(TOP_LEVEL) <= names("configuration")


def answers(folder: Path, text: str, query: str) -> set[str]:
    (folder / "constat.yaml").write_text("rules: [rules.dl]\n")
    (folder / "rules.dl").write_text(BEGIN + text)
    with Session(folder) as session:
        assert session.query(query).exit_code == 0
        return {str(row.values[0]) for row in session.query(query).rows}


def test_the_rules_of_the_page_about_nulls_do_what_it_says(tmp_path: Path) -> None:
    text = run("help", "nulls").out
    rules = "\n".join(re.findall(r"^  ((?:\.decl|has_fax|without_fax).*)$", text, re.MULTILINE))
    (tmp_path / "c.csv").write_text("id,fax\n1,x\n2,\n")
    source = ".decl customer(customer_id: number, @[null = none] fax: symbol)\n"
    source += '.input customer(source = "c", query = "SELECT id, fax FROM c")\n'
    (tmp_path / "constat.yaml").write_text("rules: [r.dl]\ndatabases: {c: {files: {c: c.csv}}}\n")
    (tmp_path / "r.dl").write_text(BEGIN + source + rules)
    with Session(tmp_path) as session:
        found = session.query("without_fax(?c)")
        assert (found.exit_code, [row.values for row in found.rows]) == (0, [(2,)])


def test_the_rules_of_the_page_about_the_language_do_what_it_says(tmp_path: Path) -> None:
    text = run("help", "language").out
    rules = text[text.index("  .decl spent") : text.index("A variable is")]
    world = ".decl customer(id: number)\n.decl blocked(id: number)\n"
    world += ".decl invoice(id: number, customer_id: number, total: Decimal)\n"
    world += "customer(1). customer(2). customer(3). blocked(3).\n"
    world += "invoice(1, 1, 30.0). invoice(2, 1, 30.0). invoice(3, 2, 30.0). invoice(4, 3, 90.0).\n"
    assert answers(tmp_path, world + rules, "spends_much(?c)") == {"1"}


def test_explain_without_a_code_lists_all_of_them_by_topic() -> None:
    told = run("explain").out
    assert set(re.findall(r"^  (C0[0-9]{3})  \S", told, re.MULTILINE)) == set(catalogue())
    assert "\nRules, facts and goals as text:\n" in told
    assert run("explain", "--format", "json").code == 0


def test_a_command_that_is_mistyped_gets_the_nearest_one() -> None:
    for words, right in (
        (("prov", "x"), "constat prove"),
        (("rules", "chek"), "constat rules check"),
        (("help", "langauge"), "constat help language"),
    ):
        ran = run(*words)
        assert (ran.code, f"`{right}`" in ran.err) == (2, True), ran.err
    assert "Write" not in run("zzzzzzzz").err


def test_a_command_of_a_group_is_found_by_its_own_name() -> None:
    ran = run("check")
    assert ran.code == 2
    assert all(one in ran.err for one in ("`constat check-data`", "`constat rules check`")), ran.err
    assert "`constat facts add`" in run("add").err
