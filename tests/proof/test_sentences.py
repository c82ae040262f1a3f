"""Sentences name every value, in the way people write numbers."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import (
    AGGREGATES,
    COMPARISONS,
    FUNCTIONS,
    OPEN,
    SPOKEN,
    Apply,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Source,
    Value,
    Variable,
)
from constat.proof.sentences import (
    PLAIN,
    Instance,
    Measured,
    RuleWords,
    article_of,
    demand_comparison,
    describe_comparison,
    describe_fact,
    describe_pattern,
    explain,
    fill,
    refute_comparison,
    show_fact,
    show_value,
    speech_in,
)
from tests.proof.asking import analysed


def column(name: str, kind: Kind = Kind.SYMBOL) -> Column:
    return Column(name, kind.value, kind)


REVENUE = Predicate("revenue", (column("c"), column("total", Kind.DECIMAL)))
THRESHOLD = Predicate("threshold", (column("x", Kind.DECIMAL),), Source({"source": "config"}))
PLACE = Predicate(
    "place",
    (column("faa"), column("zone", Kind.NUMBER), column("lon", Kind.FLOAT)),
    Source({"source": "geo"}),
)
BLOCKED = Predicate("blocked", (column("c"),))
VIP = Predicate("is_vip", (column("c"),))
PREDICATES = {one.name: one for one in (REVENUE, THRESHOLD, BLOCKED, VIP)}
C, TOTAL, X = Variable("c"), Variable("total"), Variable("x")
ABOVE = Comparison(">", TOTAL, X)
RULE = Rule(
    "R1",
    Atom("is_vip", (C,)),
    (
        Positive(Atom("revenue", (C, TOTAL))),
        Positive(Atom("threshold", (X,))),
        ABOVE,
        Negative(Atom("blocked", (C,))),
    ),
)
KINDS = {"c": Kind.SYMBOL, "total": Kind.DECIMAL, "x": Kind.DECIMAL}


def instance(total: Decimal, threshold: Decimal, rule: Rule = RULE) -> Instance:
    values: dict[str, Value] = {"c": "C001", "total": total, "x": threshold}
    return Instance(rule, values, KINDS, PREDICATES)


@pytest.mark.parametrize(
    ("value", "kind", "name", "text"),
    [
        (150000, Kind.NUMBER, "total", "150,000"),
        (-1234567, Kind.NUMBER, "", "-1,234,567"),
        (999, Kind.NUMBER, "", "999"),
        (2025, Kind.NUMBER, "year", "2025"),
        (12345, Kind.NUMBER, "customer_id", "12345"),
        (Decimal("1234.5"), Kind.DECIMAL, "", "1,234.5"),
        (0.1, Kind.FLOAT, "", "0.1"),
        ("2025-01-31", Kind.DATE, "", "2025-01-31"),
        ("C001", Kind.SYMBOL, "", "C001"),
        (OPEN, Kind.SYMBOL, "", "something unknown"),
    ],
)
def test_values_are_written_for_people(value: Value, kind: Kind, name: str, text: str) -> None:
    assert show_value(value, kind, name) == text


def test_placeholders_are_filled_and_others_stay() -> None:
    assert fill("{c} has {?total}, not {other}", {"c": "C1", "total": "5"}) == (
        "C1 has 5, not {other}"
    )


def test_a_value_does_not_become_a_template() -> None:
    assert fill("{a}", {"a": "{b}", "b": "no"}) == "{b}"


@pytest.mark.parametrize(
    ("predicate", "row", "text"),
    [
        (REVENUE, ("C001", Decimal(150000)), "revenue(c=C001) = 150000"),
        (THRESHOLD, (Decimal(100000),), "threshold = 100000"),
        (VIP, ("C001",), "is_vip(c=C001) = True"),
        (PLACE, ("JFK", -5, -73.5), "place(faa=JFK, zone=-5, lon=-73.5) = True"),
    ],
)
def test_facts_are_written_as_in_a_trace(
    predicate: Predicate, row: tuple[Value, ...], text: str
) -> None:
    assert show_fact(predicate, row) == text


@pytest.mark.parametrize(
    ("predicate", "row", "text"),
    [
        (REVENUE, ("C001", Decimal(150000)), "the revenue of C001 is 150,000"),
        (THRESHOLD, (Decimal(100000),), "the threshold is 100,000"),
        (VIP, ("C001",), "C001 is vip"),
        (BLOCKED, ("C001",), "\u2018blocked\u2019 holds for C001"),
    ],
)
def test_facts_have_default_sentences(
    predicate: Predicate, row: tuple[Value, ...], text: str
) -> None:
    assert describe_fact(predicate, row) == text


def test_a_rule_instance_is_explained_by_its_comparison_and_what_is_absent() -> None:
    said = explain(instance(Decimal(150000), Decimal(100000)))
    assert "revenue of C001 is 150,000, more than the threshold 100,000" in said
    assert "it is not so that \u2018blocked\u2019 holds for C001" in said


def test_a_comparison_that_does_not_hold_is_refuted_in_words() -> None:
    said = refute_comparison(instance(Decimal(10), Decimal(100000)), ABOVE)
    assert said == "revenue of C001 is 10, not more than the threshold 100,000"


def twice(term: Variable) -> Apply:
    return Apply("*", (term, Constant(Decimal(2), Kind.DECIMAL)), Kind.DECIMAL)


def test_a_term_that_is_calculated_is_said_with_its_value_and_how() -> None:
    above = Comparison(">", TOTAL, twice(X))
    said = refute_comparison(instance(Decimal(150000), Decimal(100000)), above)
    formula = "200,000 (100,000 times 2)"
    assert said == f"revenue of C001 is 150,000, not more than {formula}"
    turned = Comparison("<", twice(X), TOTAL)
    assert refute_comparison(instance(Decimal(1), Decimal(5)), turned) == (
        "10 (5 times 2) is not less than 1, the revenue of C001"
    )


def test_a_term_without_a_value_is_said_as_far_as_it_is_known() -> None:
    unknown = Instance(RULE, {"c": "C001", "total": Decimal(7), "x": OPEN}, KINDS, PREDICATES)
    assert refute_comparison(unknown, Comparison(">", TOTAL, twice(X))) == (
        "revenue of C001 is 7, not more than the threshold times 2"
    )
    nothing = Apply("/", (TOTAL, Constant(Decimal(0), Kind.DECIMAL)), Kind.DECIMAL)
    said = refute_comparison(instance(Decimal(7), Decimal(5)), Comparison(">", nothing, X))
    assert said == "7 divided by 0 is not more than the threshold 5"


def test_a_premise_of_a_calculated_value_is_said_with_it() -> None:
    body = (Positive(Atom("revenue", (C, TOTAL))), Positive(Atom("threshold", (twice(TOTAL),))))
    said = explain(instance(Decimal(7), Decimal(5), Rule("R2", Atom("is_vip", (C,)), body)))
    assert said == "the revenue of C001 is 7, and the threshold is 14"


@pytest.mark.parametrize("operator", ["=", "!=", "<", "<=", ">", ">="])
@given(left=st.integers(-(10**6), 10**6), right=st.integers(-(10**6), 10**6))
def test_default_sentences_name_all_values(operator: str, left: int, right: int) -> None:
    rule = Rule(
        "R1",
        Atom("is_vip", (C,)),
        (
            Positive(Atom("revenue", (C, TOTAL))),
            Comparison(operator, TOTAL, Constant(Decimal(right), Kind.DECIMAL)),
        ),
    )
    said = explain(instance(Decimal(left), Decimal(0), rule))
    for value in ("C001", show_value(left, Kind.NUMBER), show_value(right, Kind.NUMBER)):
        assert value in said


@pytest.mark.parametrize("operator", ["contains", "!contains", "match", "!match"])
def test_text_comparisons_name_both_sides(operator: str) -> None:
    rule = Rule(
        "R1",
        Atom("is_vip", (C,)),
        (Positive(Atom("blocked", (C,))), Comparison(operator, Constant("C0", Kind.SYMBOL), C)),
    )
    said = explain(instance(Decimal(1), Decimal(1), rule))
    assert "C0 is" in said
    assert "C001" in said


# ---------------------------------------------------------------------- the words themselves


def test_every_function_aggregate_and_comparison_has_words_in_both_languages() -> None:
    wanted = {*FUNCTIONS, *COMPARISONS, *(f"{one} of" for one in AGGREGATES)}
    wanted |= {f"not {one}" for one in COMPARISONS}
    assert wanted <= SPOKEN.keys()
    for name, spoken in SPOKEN.items():
        for form in (spoken.english, spoken.german):
            said = form.format("x", "y", "z", all="x and y")
            assert not re.search(r"[=<>*/^%{}_?]|!=", said), name
            assert "  " not in said


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_no_function_is_half_code_in_a_condition(name: str) -> None:
    spoken = SPOKEN[name].english
    arity = next((n for n in (3, 2) if f"{{{n - 1}}}" in spoken or "{all}" in spoken), 1)
    arguments = (X, TOTAL, X)[:arity]
    body = (
        Positive(Atom("revenue", (C, TOTAL))),
        Positive(Atom("threshold", (X,))),
        Comparison("<=", TOTAL, Apply(name, arguments, Kind.DECIMAL)),
    )
    told = RuleWords.of(Rule("R", Atom("is_vip", (C,)), body), PREDICATES).requires(body[2])
    assert told.startswith("the revenue is at most ")
    assert not re.search(r"[?_=<>*/^%{}]", told)


_WORDS = st.one_of(
    st.from_regex(r"[A-Za-z][a-z]{0,9}", fullmatch=True), st.integers(0, 99_999).map("{:,}".format)
)


@given(word=_WORDS, kind=st.sampled_from(["a", "an", "A", "An"]))
def test_the_article_before_a_value_fits_it(word: str, kind: str) -> None:
    said = fill(f"{kind} {{x}} criterion of the trial", {"x": word})
    assert said == f"{kind[0]}{article_of(word)[1:]} {word} criterion of the trial"
    assert (
        fill("Daten gehen an {x} in der Schweiz", {"x": word})
        == f"Daten gehen an {word} in der Schweiz"
    )


@pytest.mark.parametrize(
    ("article", "texts"),
    [
        ("a", ("part", "unit", "user", "one-off", "European", "17", "1,800", "118", "USB", "NATO")),
        (
            "an",
            (
                "inclusion",
                "hour",
                "unimportant",
                "umbrella",
                "8",
                "80",
                "11",
                "18,000",
                "MRI",
                "A1",
            ),
        ),
    ],
)
def test_articles_go_by_how_a_word_is_said(article: str, texts: tuple[str, ...]) -> None:
    assert [one for one in texts if article_of(one) != article] == []


_NOUNS = st.from_regex(r"[a-z]{2,6}[a-rt-z]s?", fullmatch=True)


@given(unit=_NOUNS, number=st.integers(0, 999), plural=st.booleans())
def test_a_unit_that_the_noun_says_is_not_repeated(unit: str, number: int, plural: bool) -> None:  # noqa: FBT001  generated
    value = Measured(str(number), unit)
    beside = f"{unit.removesuffix('s')}s" if plural else unit.removesuffix("s")
    assert fill(f"it has {{x}} {beside} now", {"x": value}) == f"it has {number} {beside} now"
    assert fill(f"the {beside}: {{x}}", {"x": value}) == f"the {beside}: {number}"
    assert fill("it has {x} 0left", {"x": value}) == f"it has {number} {unit} 0left"
    styled = replace(column("n", Kind.NUMBER), attributes={"unit": unit})
    declared = Predicate(beside, (column("c"), styled))
    rule = Rule(
        "R",
        Atom(beside, (C, TOTAL)),
        (Positive(Atom(beside, (C, TOTAL))), Comparison(">", TOTAL, Constant(0, Kind.NUMBER))),
    )
    kinds = {"c": Kind.SYMBOL, "total": Kind.NUMBER}
    said = explain(Instance(rule, {"c": "C1", "total": number}, kinds, {beside: declared}))
    assert said == f"{beside} of C1 is {number}, more than 0"


@given(number=st.integers(-(10**6), 10**6))
def test_equal_values_are_told_once(number: int) -> None:
    equal = Comparison("=", TOTAL, Constant(Decimal(number), Kind.DECIMAL))
    shown = show_value(Decimal(number), Kind.DECIMAL)
    told = describe_comparison(instance(Decimal(number), Decimal(number)), equal)
    assert told == f"revenue of C001 is {shown}"
    named = describe_comparison(
        instance(Decimal(number), Decimal(number)), Comparison("=", TOTAL, X)
    )
    assert named == f"revenue of C001 is {shown}, the same as the threshold"


def test_days_are_before_and_after_one_another_and_german_is_german() -> None:
    day, german = Comparison("<", TOTAL, X), speech_in("de_DE")
    kinds = {"c": Kind.SYMBOL, "total": Kind.DATE, "x": Kind.DATE}
    dates = {"c": "C001", "total": "2026-01-31", "x": "2026-02-01"}
    predicates = {
        "is_vip": VIP,
        "blocked": BLOCKED,
        "revenue": replace(REVENUE, columns=(REVENUE.columns[0], column("day", Kind.DATE))),
        "threshold": replace(THRESHOLD, columns=(column("day", Kind.DATE),)),
    }
    said = [
        describe_comparison(Instance(RULE, dates, kinds, predicates, speech), day)
        for speech in (PLAIN, german)
    ]
    assert "2026-01-31, before the threshold 2026-02-01" in said[0]
    assert said[1] == "revenue von C001 ist 31.01.2026, vor threshold 01.02.2026"
    product = Comparison(">", TOTAL, twice(X))
    spoken = refute_comparison(replace(instance(Decimal(1), Decimal(5)), speech=german), product)
    assert spoken == "revenue von C001 ist 1, nicht größer als 10 (5 mal 2)"


def test_a_rule_without_values_goes_by_its_columns() -> None:
    says = "a total of ${total} exceeds {x} for {c} (the {total})"
    told = RuleWords.of(replace(RULE, attributes={"says": says}), PREDICATES)
    said = told.says()
    assert not re.search(r"[{}\[\]$_]|\(\)", said)
    assert "the threshold" in said
    assert told.requires(ABOVE) == "the revenue is more than the threshold"


COMPUTED = """
.decl paid(c: symbol, amount: Decimal, day: Date)
.input paid(source = "s", query = "q")
.decl late(c: symbol, amount: Decimal, day: Date)
late(?c, ?a, ?d) :- paid(?c, ?a, ?d), {0}.
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("?s = ?a * 2.0, ?s > 9.0", "4 (2 times 2) is more than 9"),
        (
            "?least = ?a * 2.0, ?a > ?least",
            "amount in paid of C1 and 2026-01-01 is 2, more than 4 (2 times 2)",
        ),
        ("?s = ?a * 2.0, ?t = ?s + 1.0, ?t > 9.0", "5 (4 plus 1) is more than 9"),
        ("?margin = ?a * 2.0, ?margin > 9.0", "margin is 4, more than 9"),
        (
            '?silent = days_between(?d, "2026-02-01"), ?silent > 90',
            "31 (the number of days from 2026-01-01 to 2026-02-01) is more than 90",
        ),
        (
            '?mid = date_add(?d, 0 - 90), ?mid < "2025-01-01"',
            "2025-10-03 (the day that is 90 days before 2026-01-01) is before 2025-01-01",
        ),
    ],
)
def test_what_is_computed_stands_where_a_name_is_no_word(body: str, said: str) -> None:
    program = analysed(COMPUTED.format(body))
    rule = program.rules[0]
    values: dict[str, Value] = {"c": "C1", "a": Decimal(2), "d": "2026-01-01"}
    values |= {"s": Decimal(4), "t": Decimal(5), "least": Decimal(4), "margin": Decimal(4)}
    values |= {"silent": 31, "mid": "2025-10-03"}
    kinds = program.variable_kinds[0]
    known = {name: value for name, value in values.items() if name in kinds}
    found = Instance(rule, known, kinds, program.program.predicates)
    last = rule.body[-1]
    assert isinstance(last, Comparison)
    assert describe_comparison(found, last) == said
    told = explain(found)
    assert said in told
    assert not any(re.search(rf"\b{name}\b", told) for name in ("s", "t", "least", "silent", "mid"))
    german = replace(found, speech=speech_in("de_DE"))
    assert not re.search(r"\b(margin|silent|mid)\b(?!\u2018)", explain(german))


def test_an_unknown_value_is_asked_by_its_column_and_never_twice() -> None:
    program = analysed(COMPUTED.format("?s = ?a * 2.0, ?s > 9.0"))
    rule, kinds = program.rules[0], program.variable_kinds[0]
    found = Instance(rule, {"c": "C1", "a": OPEN, "d": OPEN}, kinds, program.program.predicates)
    told = [demand_comparison(found, one) for one in rule.body if isinstance(one, Comparison)]
    assert told == ["", "the amount in paid of C1 times 2 is more than 9"]


def test_what_only_stands_behind_a_colon_is_something_that_a_row_has() -> None:
    says = {"says": "item {c}: total {total}"}
    item = replace(REVENUE, attributes=says)
    assert describe_pattern(item, ("B", OPEN)) == "item B has some total"
    german = describe_pattern(item, ("B", OPEN), speech=speech_in("de_DE"))
    assert german == "item B hat \u201atotal\u2018"


def test_a_rule_in_words_names_no_variable_that_is_no_word() -> None:
    body = '?s = ?a * 2.0, ?s > 9.0, ?silent = days_between(?d, "2026-02-01"), ?silent > 90'
    program = analysed(COMPUTED.format(body))
    told = RuleWords.of(program.rules[0], program.program.predicates)
    assert [told.requires(one) for one in program.rules[0].body[1:]] == [
        "",
        "the amount times 2 is more than 9",
        "",
        "the number of days from the day to 2026-02-01 is more than 90",
    ]
