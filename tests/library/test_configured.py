"""What only `facts:` has declares itself, by its values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import ConstatError, Session, Verdict

if TYPE_CHECKING:
    from pathlib import Path


def project(folder: Path, facts: str, rules: str = "") -> Path:
    (folder / "rules.dl").write_text(f'.pragma "constat" "0.1"\n{rules}', encoding="utf-8")
    text = f"project: p\nrules: [rules.dl]\nfacts: {facts}\n"
    (folder / "constat.yaml").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(
    ("facts", "columns"),
    [
        ("{limit: 100000}", "value: number"),
        ("{limit: 0.5}", "value: Decimal"),
        ("{since: 2025-01-01}", "value: Date"),
        ("{at: 2025-01-01T10:00:00Z}", "value: Timestamp"),
        ("{open: true}", "value: Bool"),
        ("{name: no}", "value: symbol"),
        ("{code: 007}", "value: symbol"),
        ("{rate: [[north, 1], [south, 0.25]]}", "c1: symbol, c2: Decimal"),
        (
            "{rate: [{region: north, rate: 1}, {region: b, rate: 2}]}",
            "region: symbol, rate: number",
        ),
        ("{partner: [C001, C020]}", "c1: symbol"),
    ],
)
def test_values_tell_the_types(tmp_path: Path, facts: str, columns: str) -> None:
    with Session(project(tmp_path, facts)) as session:
        (found,) = session.program.program.predicates.values()
    assert ", ".join(f"{one.name}: {one.type_name}" for one in found.columns) == columns


def test_rules_and_goals_use_what_declares_itself(tmp_path: Path) -> None:
    facts = "{rate: [{region: north, rate: 1}, {region: south, rate: 0.25}]}"
    rules = ".decl dear(region: symbol)\ndear(?r) :- rate(region = ?r, rate = ?x), ?x > 0.5.\n"
    with Session(project(tmp_path, facts, rules)) as session:
        result = session.prove("dear(north)")
        assert result.verdict is Verdict.PROVED
        assert session.verify(result.certificate).accepted
        assert session.verify_source(result.certificate).drift == ()
        assert session.prove("rate(south, 0.25)").verdict is Verdict.PROVED


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ("{rate: [[north, 1], [south, high]]}", "column `c2`: one value is a number and another"),
        ("{rate: [[a, 2025-01-01], [b, soon]]}", "one value is a Date and another a symbol"),
        ("{rate: '${NOT_SET_ANYWHERE}'}", "column `value`: no value of it is set"),
        ("{rate: [[[1, 2], a]]}", "column `c1`: a value is a list"),
    ],
)
def test_values_that_disagree_are_an_error_with_an_edit(
    tmp_path: Path, facts: str, message: str
) -> None:
    with (
        pytest.raises(ConstatError, match="C0508") as caught,
        Session(project(tmp_path, facts)) as session,
    ):
        session.prove("rate(?x)")
    (found,) = caught.value.diagnostics
    assert message in found.message
    assert found.span is not None
    assert ".decl rate(" in found.help
    # As the help has it, the types are the author's to say.
    width = facts.count(",") and 2
    declared = ".decl rate(a: symbol, b: symbol)" if width else ".decl rate(a: symbol)"
    if "[[[" not in facts:
        with Session(project(tmp_path, facts, declared)) as session:
            assert len(session.program.program.predicates) == 1


def test_a_slip_in_a_name_is_still_an_error(tmp_path: Path) -> None:
    rules = ".decl vip_threshold(x: number)\n.decl p(x: number)\np(?x) :- vip_threshold(?x).\n"
    with (
        pytest.raises(ConstatError, match="C0506"),
        Session(project(tmp_path, "{vip_treshold: 1}", rules)) as session,
    ):
        session.prove("p(1)")


def test_what_rules_derive_is_not_declared_by_facts(tmp_path: Path) -> None:
    with (
        pytest.raises(ConstatError, match="C0201"),
        Session(project(tmp_path, "{p: [1]}", "p(2).")) as session,
    ):
        session.prove("p(1)")


def test_a_key_that_an_input_names_is_no_predicate_of_its_own(tmp_path: Path) -> None:
    rules = '.decl limit(x: number)\n.input limit(source = "config", key = "top")\n'
    with Session(project(tmp_path, "{top: 5}", rules)) as session:
        assert list(session.program.program.predicates) == ["limit"]
        assert session.prove("limit(5)").verdict is Verdict.PROVED
