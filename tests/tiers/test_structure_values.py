"""Every way into an evaluation: a structure that is none of its column's type is never a row."""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.catalog import read_column
from constat.catalog.connection import Spelled
from constat.diagnostics import ConstatError
from constat.evaluation import Answer, Demand, Evidence, Opening, Origin, Portion
from constat.logic import OPEN, Column, Kind, Predicate, Source, has_null_cells
from constat.model.retrying import arguments_of
from constat.project import load_project
from constat.tiers import TierAnswer, TierSettings
from constat.tiers.building import _row as row_of_certificate
from constat.tiers.cache import answer_text, concerns, read_answer
from constat.tiers.model import facts_prompt, key_answers, tell_tool
from tests.structures import EXPRESSION, LIST, TYPES, structure, structures
from tests.tiers.building import configured, declare, open_rows, reasons, rows, setting

if TYPE_CHECKING:
    from pathlib import Path

    from constat.catalog.connection import Cell

ID = Column("id", "symbol", Kind.SYMBOL)
CRM = '{factory: "tests.tiers.sample_tiers:Sample", options: '
ZERO = ("o1", "$Zero")
# Other spellings of a value, other constructors, other fields, other types, and no structures.
WRONG = ("$Number(1 )", "$Zero()", "$One(1)", "$Add($Zero)", "$Zero(1)", "nil", "[1, nil]", "1", "")


def terms(source: Source | None = None, **attributes: str) -> Predicate:
    return Predicate("terms", (ID, EXPRESSION), source, attributes)


def from_sales(text: str = "SELECT id, e FROM terms", **parameters: str) -> Source:
    return Source({"source": "sales", "query": text, **parameters})


def script(*cells: str | None) -> str:
    told = ("NULL" if cell is None else "'" + cell.replace("'", "''") + "'" for cell in cells)
    values = ", ".join(f"('o{number}', {cell})" for number, cell in enumerate(told, 1))
    return f"CREATE TABLE terms (id TEXT, e TEXT); INSERT INTO terms VALUES {values}"


def test_a_database_is_read_as_people_write_and_what_does_not_fit_is_open(tmp_path: Path) -> None:
    cells = ("$Add( $Number(1),$Zero() )", "$Named(a b, $Zero)", "$Add($Zero)", "[1, nil]", "nil")
    found = setting(tmp_path, terms(from_sales()), script=script(*cells)).ask("terms")
    assert rows(found) == {
        ("o1", "$Add($Number(1), $Zero)"),
        ("o2", '$Named("a b", $Zero)'),
    }
    assert open_rows(found) == {("o3", OPEN), ("o4", OPEN), ("o5", OPEN)}
    assert reasons(found).count("column e (declared Expression)") == 3
    assert reasons(found).count("[C0525]") == 3


@pytest.mark.parametrize("policy", ["skip", "error", "none", "unknown"])
def test_null_is_no_structure(tmp_path: Path, policy: str) -> None:
    declared = terms(from_sales(null=policy))
    found = setting(tmp_path, declared, script=script("$Zero", None)).ask("terms")
    assert {row for row in rows(found) if not has_null_cells(row)} == {ZERO}
    assert len(rows(found)) == (1 if policy in {"skip", "error"} else 2)
    assert open_rows(found) == ({("o2", OPEN)} if policy == "error" else set())


def test_a_bound_structure_is_not_sent_for_a_source_spells_it_otherwise(tmp_path: Path) -> None:
    found = setting(tmp_path, terms(from_sales()), script=script("$Number( 1 )", "$Zero()"))
    answer = found.ask("terms", (1,), ("$Number(1)",), ("$Number(2)",))
    assert rows(answer) == {("o1", "$Number(1)")}
    assert answer.answered == {("$Number(1)",), ("$Number(2)",)}
    assert [query.parameters for query in found.queries] == [0]
    both = found.ask("terms", (0, 1), ("o2", "$Zero"))
    assert rows(both) == {("o2", "$Zero")}


def test_equal_structures_in_two_spellings_are_equal_rows(tmp_path: Path) -> None:
    text = "SELECT 'o1', e FROM terms"
    twice = setting(tmp_path, terms(from_sales(text)), script=script("$Zero", "$Zero()"))
    assert "more than once" in reasons(twice.ask("terms"))


def test_duckdb_hands_out_no_structures_unread(tmp_path: Path) -> None:
    (tmp_path / "terms.csv").write_text('id,e\no1,$Zero\no2,$Add\no3,"[1, nil]"\n')
    text = "databases: {sales: {files: {terms: terms.csv}}}\n"
    found = configured(tmp_path, text, terms(from_sales()))
    external = found.tiers.externals["terms"]
    demand = Demand(found.predicates["terms"], (), ((),))
    whole = external.as_relation(demand, 1_000_000)  # type: ignore[attr-defined]  # a chain has it
    assert whole is None
    answer = found.ask("terms")
    assert rows(answer) == {ZERO}
    assert open_rows(answer) == {("o2", OPEN), ("o3", OPEN)}


@pytest.mark.parametrize(
    "cell", [None, b"$Zero", 1, 1.5, True, Decimal(1), Spelled("$Zero"), *WRONG[2:]]
)
def test_a_cell_is_a_text_of_the_type(cell: Cell) -> None:
    with pytest.raises(ValueError, match=r"NULL|bytes|text|names|lacks|goes on|holds"):
        read_column(cell, EXPRESSION)


CONFIGURED = """\
facts:
  terms:
    - [a, $Zero]
    - {id: b, e: "$Add($Zero, $Number(2))"}
  lists:
    - [a, [1, [2, nil]]]
    - [b, nil]
    - [c, "[3, nil]"]
  one: [[4, [5, nil]]]
"""
LISTS = Predicate("lists", (ID, LIST))


def test_the_configuration_writes_texts_and_lists(tmp_path: Path) -> None:
    one = Predicate("one", (LIST,))
    found = configured(tmp_path, CONFIGURED, terms(), LISTS, one)
    assert rows(found.ask("terms")) == {("a", "$Zero"), ("b", "$Add($Zero, $Number(2))")}
    lists = {("a", "[1, [2, nil]]"), ("b", "nil"), ("c", "[3, nil]")}
    assert rows(found.ask("lists")) == lists
    assert rows(found.ask("one")) == {("[4, [5, nil]]",)}


def test_a_text_in_a_configured_list_is_taken_as_it_is(tmp_path: Path) -> None:
    types = structures(Pair={"[]": ("a: symbol", "b: Date")})
    pairs = Predicate("pairs", (structure("p", "Pair", types), ID))
    text = """facts: {pairs: [[['x, "y"]', 2026-01-31], k]]}\n"""
    found = configured(tmp_path, text, pairs)
    assert rows(found.ask("pairs")) == {('["x, \\"y\\"]", "2026-01-31"]', "k")}


def test_a_variable_in_a_configured_list_is_recorded_or_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEAD_OF_LIST", "7")
    monkeypatch.delenv("TAIL_OF_LIST", raising=False)
    text = 'facts: {lists: [[a, ["${HEAD_OF_LIST}", nil]], [b, [1, "${TAIL_OF_LIST}"]]]}\n'
    found = configured(tmp_path, text, LISTS).ask("lists")
    assert rows(found) == {("a", "[7, nil]")}
    assert [one.evidence.source for one in found.portions] == ["env:HEAD_OF_LIST"]
    assert open_rows(found) >= {("b", OPEN)}
    assert "TAIL_OF_LIST" in reasons(found)


@pytest.mark.parametrize(
    ("facts", "reason"),
    [
        ("lists: [[a, [1]]]", "column l has 1 values for 2 fields"),
        ("lists: [[a, [x, nil]]]", "column l has a field head that is not an integer"),
        ("lists: [[a, [1, [2, 3]]]]", "has a field tail that has a field tail that lacks `[`"),
        ("lists: [[a, $Zero]]", "column l lacks `[`"),
        ("terms: [[a, [1, nil]]]", "column e is a list, and no value of Expression is one"),
        ("terms: [[[a], $Zero]]", "column id is a list, and no value of symbol is one"),
        ("terms: [[a, nil]]", "column e names no branch of Expression"),
    ],
)
def test_a_configured_value_of_another_type_is_a_mistake(
    tmp_path: Path, facts: str, reason: str
) -> None:
    with pytest.raises(ConstatError) as caught:
        configured(tmp_path, f"facts: {{{facts}}}\n", terms(), LISTS)
    (found,) = caught.value.diagnostics
    assert found.code == "C0507"
    assert reason in found.message


@pytest.mark.parametrize("text", WRONG)
def test_a_stated_fact_that_does_not_fit_opens_the_pattern(tmp_path: Path, text: str) -> None:
    found = setting(tmp_path, terms())
    found.store.add("terms", ("o1", "$Zero"), "alice", "", None)
    found.store.add("terms", ("o2", text), "alice", "", None)
    answer = found.ask("terms", (0,), ("o1",), ("o2",))
    assert rows(answer) == {ZERO}
    assert "stated fact 2 does not fit the declaration of terms" in reasons(answer)


@pytest.mark.parametrize("text", WRONG)
def test_a_tier_of_a_project_that_gives_another_type_has_failed(tmp_path: Path, text: str) -> None:
    told = f'{{rows: "o1/$Zero o2/{text}"}}' if " " not in text and text else '{mode: "wrong kind"}'
    found = setting(tmp_path, terms(), config=f"tiers: {{crm: {CRM}{told}}}}}")
    answer = found.ask("terms")
    assert rows(answer) == set()
    assert "tier crm gave a row that does not fit terms" in reasons(answer)


class OpenTier:
    """Knows of one open row, whose structure its options say."""

    def __init__(self, settings: TierSettings) -> None:
        self.name, self.cost, self._text = settings.name, settings.cost, settings.options["e"]

    def configured(self, predicate: Predicate) -> bool:
        return True

    def answer(self, demand: Demand) -> TierAnswer:
        return TierAnswer(openings=(Opening((OPEN, self._text), "it is not said of whom", "crm"),))


@pytest.mark.parametrize("text", ["$Zero", "$Add($Zero)", "x", "nil"])
def test_an_open_row_of_a_project_is_of_the_type_too(tmp_path: Path, text: str) -> None:
    tier = f'{{factory: "tests.tiers.test_structure_values:OpenTier", options: {{e: "{text}"}}}}'
    answer = setting(tmp_path, terms(), config=f"tiers: {{crm: {tier}}}").ask("terms")
    assert ((OPEN, text) in open_rows(answer)) is (text == "$Zero")
    assert ("an open row that does not fit" in reasons(answer)) is (text != "$Zero")


def test_a_tier_of_a_project_may_give_structures(tmp_path: Path) -> None:
    found = setting(tmp_path, terms(), config=f'tiers: {{crm: {CRM}{{rows: "o1/$Zero"}}}}}}')
    assert rows(found.ask("terms")) == {ZERO}


@pytest.mark.parametrize("text", WRONG)
def test_a_kept_answer_with_another_type_is_not_used(text: str) -> None:
    evidence = Evidence("database", Origin.DATABASE, "sales", "2026-01-01T00:00:00.000000Z")
    answer = Answer((Portion((ZERO,), evidence),), (), frozenset({ZERO}), (evidence,))
    kept = answer_text(answer, terms(), (0, 1))
    assert read_answer(kept, terms(), (0, 1)) == answer
    for old in ('"$Zero"', '\\"$Zero\\"'):
        damaged = kept.replace(old, old.replace("$Zero", text))
        assert damaged != kept
        with pytest.raises(ValueError, match=r"is no|holds|is neither|half|NUL"):
            read_answer(damaged, terms(), (0, 1))


@pytest.mark.parametrize("text", WRONG)
def test_a_certificate_of_another_type_is_none_of_the_predicate(text: str) -> None:
    def document(value: str) -> object:
        return {"header": {"goal": ["terms", ["o1", value]]}}

    assert row_of_certificate(document("$Zero"), terms()) == ZERO
    assert row_of_certificate(document(text), terms()) is None


def test_a_model_is_told_the_type_and_held_to_it() -> None:
    predicate = terms(Source({"source": "model", "given": "id"}))
    prompt = facts_prompt(predicate, [("o1",)])
    relation = json.loads(prompt.turns[0].text.splitlines()[1].removeprefix("Relation: "))
    assert relation["columns"][1]["type"] == "Expression"
    assert relation["types"] == [
        (
            ".type Expression = Number { x: number } | Add { l: Expression, r: Expression } | "
            "Named { s: symbol, e: Expression } | Zero {}"
        )
    ]
    described = json.dumps(tell_tool(predicate).parameters)
    assert "a value of the type Expression, such as $Number(5)" in described
    policy = Decimal("0.6"), Decimal("0.8")
    told = [("$Named(a, $Zero)", '$Named("a", $Zero)'), ("$Add($Zero)", ""), ("nil", "")]
    for text, wanted in (*told, ("$Named(a\u0007, $Zero)", "")):
        reply = {"answers": [{"key": 0, "known": True, "rows": [{"e": text}]}]}
        arguments = arguments_of(json.dumps(reply), tell_tool(predicate))
        found = key_answers(arguments, predicate, {0: ("o1",)}, policy)[0]
        assert found.rows == ((("o1", wanted),) if wanted else ())
        assert bool(found.reason) is not bool(wanted)


def test_without_structures_a_model_is_asked_as_before() -> None:
    predicate = declare("p(k: symbol, n: number)", source="model", parameters={"given": "k"})
    relation = facts_prompt(predicate, [("a",)]).turns[0].text.splitlines()[1]
    assert set(json.loads(relation.removeprefix("Relation: "))) == {"name", "columns", "meaning"}


OTHER_TYPES: dict[str, dict[str, tuple[str, ...]]] = {
    "fields in another order": {"$Add": ("r: Expression", "l: Expression")},
    "a field of another kind": {"$Number": ("x: unsigned",)},
    "a further branch": {"$One": ()},
    "a field less": {"$Add": ("l: Expression",)},
}


@pytest.mark.parametrize("change", OTHER_TYPES)
def test_what_is_kept_depends_on_the_definition_of_the_type(tmp_path: Path, change: str) -> None:
    (tmp_path / "constat.yaml").write_text("")
    project = load_project(tmp_path)
    branches = {one.constructor: one for one in TYPES.branches["Expression"]}
    own = {
        name: tuple(f"{field.name}: {field.type_name}" for field in one.fields)
        for name, one in branches.items()
    }
    changed = structures(Expression={**own, **OTHER_TYPES[change]})
    other = replace(terms(), columns=(ID, structure("e", "Expression", changed)))
    again = replace(terms(), columns=(ID, structure("e", "Expression", structures(Expression=own))))
    assert concerns(other, project, "x") != concerns(terms(), project, "x")
    assert concerns(again, project, "x") == concerns(terms(), project, "x")
