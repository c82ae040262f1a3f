"""Templates have a negative and an unknown form, languages, and numbers as a place writes them."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat import Session
from constat.diagnostics import ConstatError
from constat.logic import (
    LOCALES,
    OPEN,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Locale,
    Predicate,
    Rule,
    Slot,
    Value,
    Variable,
    find_locale,
)
from constat.proof import proof_tree
from constat.proof.sentences import (
    PLAIN,
    Instance,
    Speech,
    deny_fact,
    describe_some,
    refute_comparison,
    speech_in,
)
from constat.proof.whynot import attempts_at
from tests.cli.running import run
from tests.proof.asking import Table, analysed, ask

if TYPE_CHECKING:
    from pathlib import Path

RULES = """
@[says = "{c} has {total}"] @[says(de = "{c} hat {total}")]
.decl revenue(c: symbol, total: Decimal)
.input revenue(source="s", query="q")
@[says = "{c} is blocked"]
@[says_not = "nothing blocks {c}"] @[says_not(de = "nichts sperrt {c}")]
@[says_unknown = "nobody knows whether {c} is blocked"]
.decl blocked(c: symbol)
.input blocked(source="s", query="q")
@[says = "{c} is a VIP"]
.decl is_vip(c: symbol)
@[says = "{total} is more than 1,000"] @[says(de = "{total} ist mehr als 1.000")]
is_vip(?c) :- revenue(?c, ?total), ?total > 1000, !blocked(?c).
"""
TABLES = {"revenue": Table((("C1", Decimal("12345.5")),))}


def sentences(locale: str, **other: Table) -> dict[str, str]:
    decision = ask(analysed(RULES), "is_vip(C1)", {**TABLES, "blocked": Table(), **other})
    tree = proof_tree(decision, speech_in(locale))
    return {step.fact: step.reasoning or step.sentence for step in tree.steps}


def test_an_absence_is_said_by_its_own_template() -> None:
    assert sentences("")["blocked(c=C1) = False"] == "nothing blocks C1"


def test_the_language_of_the_locale_comes_first_and_the_template_without_one_after() -> None:
    told = sentences("de_AT")
    assert told["blocked(c=C1) = False"] == "nichts sperrt C1"
    assert told["is_vip(c=C1) = True"] == "12.345,5 ist mehr als 1.000"
    assert sentences("fr_FR")["is_vip(c=C1) = True"] == "12 345,5 is more than 1,000"


def test_what_is_missing_is_said_to_be_unknown() -> None:
    decision = ask(analysed(RULES), "is_vip(C1)", {**TABLES, "blocked": Table(silent=True)})
    (gap,) = proof_tree(decision).gaps
    assert gap.sentence == "nobody knows whether C1 is blocked"


def test_without_a_template_the_default_says_it() -> None:
    rules = RULES.replace('@[says_not = "nothing blocks {c}"]', "").replace(
        '@[says_unknown = "nobody knows whether {c} is blocked"]', ""
    )
    decision = ask(analysed(rules), "is_vip(C1)", {**TABLES, "blocked": Table()})
    absent = [step.sentence for step in proof_tree(decision).steps if step.kind == "absence"]
    assert absent == ["C1 is not blocked"]
    decision = ask(analysed(rules), "is_vip(C1)", {**TABLES, "blocked": Table(silent=True)})
    (gap,) = proof_tree(decision).gaps
    assert gap.sentence == "it is not known whether C1 is blocked"


def test_a_rule_says_in_its_own_words_why_it_does_not_hold() -> None:
    rules = RULES.replace(
        "\nis_vip(?c) :-",
        ' @[says_not = "{c} has {total}, no more than 1,000"]\nis_vip(?c) :-',
    )
    tables = {"revenue": Table((("C1", Decimal(500)),)), "blocked": Table()}
    decision = ask(analysed(rules), "is_vip(C1)", tables)
    assert [one.sentence for one in attempts_at(decision)] == ["C1 has 500, no more than 1,000"]
    decision = ask(analysed(rules.replace("{c} has {total}", "{c}")), "is_vip(C2)", tables)
    assert [one.sentence for one in attempts_at(decision)] != ["C2, no more than 1,000"]


def test_what_is_not_known_leaves_the_words_of_a_rule_unused() -> None:
    rule = Rule(
        "R",
        Atom("p", (Variable("x"),)),
        (Comparison(">", Variable("x"), Constant(5, Kind.NUMBER)),),
        attributes={"says_not": "{x} of {y}"},
    )
    predicates = {"p": Predicate("p", (Column("a", "number", Kind.NUMBER),))}
    kinds = {"x": Kind.NUMBER, "y": Kind.NUMBER}

    def said(values: dict[str, Slot]) -> str:
        return refute_comparison(Instance(rule, values, kinds, predicates), rule.body[0])

    assert said({"x": 3, "y": 4}) == "3 of 4"
    assert said({"x": 3}) == said({"x": 3, "y": OPEN}) == "x is 3, not more than 5"


def test_a_column_of_the_head_stands_in_the_sentence_of_a_rule() -> None:
    rules = """
    .decl p(a: number)
    .input p(source="s", query="q")
    .decl q(b: number)
    @[says = "{b} is there, from {x}"]
    q(?x) :- p(?x).
    """
    decision = ask(analysed(rules), "q(5)", {"p": Table(((5,),))})
    assert [step.reasoning for step in proof_tree(decision).steps][:1] == ["5 is there, from 5"]


@pytest.mark.parametrize(
    ("locale", "kind", "value", "text"),
    [
        ("", Kind.DECIMAL, Decimal("1234567.5"), "1,234,567.5"),
        ("de_DE", Kind.DECIMAL, Decimal("1234567.5"), "1.234.567,5"),
        ("de_CH", Kind.DECIMAL, Decimal("1234567.5"), "1'234'567.5"),
        ("en_IN", Kind.NUMBER, 123456789, "12,34,56,789"),
        ("es_ES", Kind.NUMBER, 1234, "1234"),
        ("es_ES", Kind.NUMBER, 12345, "12.345"),
        ("de_DE", Kind.NUMBER, -1234, "-1.234"),
        ("de_DE", Kind.FLOAT, 0.25, "0,25"),
        ("de_DE", Kind.DATE, "2025-01-31", "31.01.2025"),
        ("en_US", Kind.DATE, "2025-01-31", "01/31/2025"),
        ("sv_SE", Kind.DATE, "2025-01-31", "2025-01-31"),
        ("de_DE", Kind.TIMESTAMP, "2025-01-31T09:05:00.250000Z", "31.01.2025 09:05:00,250000 UTC"),
        ("en_GB", Kind.TIMESTAMP, "2025-01-31T09:05:00.000000Z", "31/01/2025 09:05:00 UTC"),
        ("de_DE", Kind.SYMBOL, "1234.5", "1234.5"),
        ("de_DE", Kind.BOOL, "true", "true"),
    ],
)
def test_values_are_written_as_in_the_place(
    locale: str, kind: Kind, value: Value, text: str
) -> None:
    assert speech_in(locale).value(value, kind) == text


def test_what_only_names_something_has_no_groups_anywhere() -> None:
    assert speech_in("de_DE").value(12345, Kind.NUMBER, "order_id") == "12345"
    assert PLAIN.value(2025, Kind.NUMBER, "year") == "2025"


@given(st.sampled_from(LOCALES), st.decimals(allow_nan=False, allow_infinity=False, places=3))
def test_no_digit_is_lost_and_the_number_can_be_read_back(locale: Locale, number: Decimal) -> None:
    shown = Speech(locale).value(number, Kind.DECIMAL)
    bare = shown.replace(locale.group, "").replace(locale.mark, ".")
    assert Decimal(bare) == number


@given(st.sampled_from(LOCALES), st.dates())
def test_days_can_be_read_back(locale: Locale, day: object) -> None:
    shown = locale.date(str(day))
    order = re.findall("[Ymd]", locale.day)
    parts = dict(zip(order, re.findall(r"\d+", shown), strict=True))
    assert f"{parts['Y']}-{parts['m']}-{parts['d']}" == str(day)


def test_locales_are_found_by_either_spelling_and_others_are_refused() -> None:
    assert find_locale("de-DE") is find_locale("de_DE")
    assert len({one.name for one in LOCALES}) == len(LOCALES)
    with pytest.raises(ConstatError) as caught:
        speech_in("de_XX")
    (diagnostic,) = caught.value.diagnostics
    assert (diagnostic.code, bool(diagnostic.help)) == ("C0790", True)


def project(folder: Path, more: str = "") -> Path:
    (folder / "rules.dl").write_text(
        '.pragma "constat" "0.1"\n.decl turnover(x: Decimal)\n.input turnover(source="config")\n'
        ".decl big(x: Decimal)\nbig(?x) :- turnover(?x), ?x > 1000.\n",
        encoding="utf-8",
    )
    (folder / "constat.yaml").write_text(
        f"rules: [rules.dl]\nfacts: {{turnover: 12345.5}}\n{more}", encoding="utf-8"
    )
    return folder


def told(session: Session) -> str:
    return " ".join(step.sentence for step in session.prove("big(?x)").tree.steps)


def test_the_project_names_a_locale_and_a_session_another(tmp_path: Path) -> None:
    folder = project(tmp_path, "locale: de-DE\n")
    with Session(folder) as session:
        assert session.project.locale == "de_DE"
        assert "12.345,5" in told(session)
    with Session(folder, locale="de_CH") as session:
        assert "12'345.5" in told(session)
    done = run("prove", "big(?x)", "--project", folder, "--locale", "fr_FR")
    assert "12 345,5" in done.out


def test_certificates_do_not_depend_on_the_locale(tmp_path: Path) -> None:
    identities = []
    for locale in ("", "de_DE"):
        with Session(project(tmp_path), locale=locale) as session:
            identities.append(json.loads(session.prove("big(?x)").certificate)["identity"])
    assert identities[0] == identities[1]


def test_a_locale_that_is_not_known_is_a_mistake_of_the_project(tmp_path: Path) -> None:
    with pytest.raises(ConstatError) as caught, Session(project(tmp_path, "locale: de_XX\n")) as s:
        s.prove("big(?x)")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "C0790"
    assert diagnostic.span is not None
    assert diagnostic.help


@pytest.mark.parametrize(
    ("says", "absent"),
    [
        ("{c} is blocked", "L1 is not blocked"),
        ("{c} is blocked and known", "it is not so that L1 is blocked and known"),
        ("{c} must be blocked", "it is not so that L1 must be blocked"),
        ("nothing of {c} is blocked", "it is not so that nothing of L1 is blocked"),
    ],
)
def test_only_a_plain_sentence_is_turned_round(says: str, absent: str) -> None:
    rules = (
        f'@[says = "{says}"]\n.decl blocked(c: symbol)\n.input blocked(source = "s", query = "q")\n'
    )
    predicate = analysed(rules).program.predicates["blocked"]
    assert deny_fact(predicate, ("L1",)) == absent


@pytest.mark.parametrize(
    ("says", "none", "some"),
    [
        (
            "lot {lot} was used in lot {made}",
            "there is no lot that was used in lot L1",
            "there is some lot that was used in lot L1",
        ),
        (
            "lot {made} was made of lot {lot} on {day}",
            "lot L1 was made of no lot on any day",
            "lot L1 was made of some lot on some day",
        ),
        (
            "{made} does not need {lot}: {day}",
            "there is no lot and day such that L1 does not need the lot: the day",
            "there is some lot and some day such that L1 does not need the lot: the day",
        ),
        (
            "Article 17({lot}) keeps {made}",
            "there is no lot such that Article 17(lot) keeps L1",
            "there is some lot such that Article 17(lot) keeps L1",
        ),
        (
            None,
            "there is no entry of used in with made L1",
            "there is some entry of used in with made L1",
        ),
    ],
)
def test_some_row_is_said_without_saying_a_noun_twice(
    says: str | None, none: str, some: str
) -> None:
    told = f'@[says = "{says}"]\n' if says else ""
    day = ", day: Date" if says and "{day}" in says else ""
    rules = f"{told}.decl used_in(lot: symbol, made: symbol{day})\n"
    rules += '.input used_in(source = "s", query = "q")\n'
    predicate = analysed(rules).program.predicates["used_in"]
    assert describe_some(predicate, {"made": "L1"}, holds=False) == none
    assert describe_some(predicate, {"made": "L1"}) == some


def test_an_entry_has_its_case_in_german() -> None:
    rules = '.decl used_in(lot: symbol)\n.input used_in(source = "s", query = "q")\n'
    predicate, german = analysed(rules).program.predicates["used_in"], speech_in("de_DE")
    said = [describe_some(predicate, {}, holds=one, speech=german) for one in (True, False)]
    assert said == ["es gibt einen Eintrag von used in", "es gibt keinen Eintrag von used in"]


def test_a_row_that_may_be_there_without_a_detail_is_not_denied() -> None:
    rules = '@[says = "customer {id}: parent {parent}"]\n'
    rules += ".decl customer(id: symbol, @[null = none] parent: symbol)\n"
    predicate = analysed(rules).program.predicates["customer"]
    said = describe_some(predicate, {"id": "K3"}, holds=False)
    assert said == "nothing says of customer K3 what is asked"


def test_of_a_wide_row_only_what_is_given_is_said() -> None:
    rules = '@[says = "day {id}: date {date}, place {place}, rain {rain}, wind {wind}"]\n'
    rules += ".decl weather(id: number, date: Date, place: symbol, rain: number, wind: number)\n"
    predicate = analysed(rules).program.predicates["weather"]
    given = {"place": "Boise", "rain": "40"}
    said = [describe_some(predicate, given, holds=one) for one in (True, False)]
    assert said == [
        "there is some entry of weather with place Boise and rain 40",
        "there is no entry of weather with place Boise and rain 40",
    ]
