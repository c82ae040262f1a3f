"""Kinds of variables, constants and functions."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.analysis import analyse
from constat.diagnostics import Diagnostic, Severity
from constat.logic import Apply, Comparison, Constant, Kind, Value, term_variables
from constat.syntax import Mode
from constat.syntax.lowering import lower
from constat.syntax.parser import parse_file
from tests.analysis.programs import analysed, codes, found, the


def constants(rule: str) -> list[tuple[Value, Kind]]:
    program = analysed(rule)
    terms = [*program.rules[-1].head.terms]
    for literal in program.rules[-1].body:
        if isinstance(literal, Comparison):
            terms += [literal.left, literal.right]
        else:
            terms += getattr(literal, "atom", program.rules[-1].head).terms
    return [(one.value, one.kind) for one in terms if isinstance(one, Constant)]


@pytest.mark.parametrize(
    ("rule", "value", "kind"),
    [
        ("amount_of(5).", Decimal(5), Kind.DECIMAL),
        ("amount_of(10.50).", Decimal("10.5"), Kind.DECIMAL),
        ("float_of(5).", 5.0, Kind.FLOAT),
        ("float_of(0.1).", 0.1, Kind.FLOAT),
        ("float_of(1.5e300).", 1.5e300, Kind.FLOAT),
        ("number_of(-5).", -5, Kind.NUMBER),
        ("amount_of(?a) :- order(_, _, ?a, _), ?a > 5.", Decimal(5), Kind.DECIMAL),
        ("amount_of(?a) :- ?a = 5.", Decimal(5), Kind.DECIMAL),
        ("amount_of(?a) :- ?b = 5, ?a = ?b.", Decimal(5), Kind.DECIMAL),
        ('chosen(?c) :- order(_, ?c, _, "2025-01-31").', "2025-01-31", Kind.DATE),
        ('chosen(?c) :- active(?c, "true").', "true", Kind.BOOL),
        (
            'chosen(?c) :- seen(?c, ?t), ?t > "2025-01-31T10:00:00+02:00".',
            "2025-01-31T08:00:00.000000Z",
            Kind.TIMESTAMP,
        ),
        ('chosen(?c) :- customer(?c, "2025-01-31").', "2025-01-31", Kind.SYMBOL),
        ("chosen(?c) :- size(?c, 18446744073709551615u).", 2**64 - 1, Kind.UNSIGNED),
        ("chosen(?c) :- size(?c, 7).", 7, Kind.UNSIGNED),
    ],
)
def test_constants_become_values_of_their_column(rule: str, value: Value, kind: Kind) -> None:
    assert constants(rule)[-1] == (value, kind)


def test_one_constant_may_have_two_kinds_in_two_places() -> None:
    assert constants("amount_of(1) :- level(_, 1), weight(_, 1).") == [
        (Decimal(1), Kind.DECIMAL),
        (1, Kind.NUMBER),
        (1.0, Kind.FLOAT),
    ]


def test_constants_without_a_column_take_the_widest_kind() -> None:
    assert constants("number_of(1) :- 1 < 1.5.")[1:] == [
        (Decimal(1), Kind.DECIMAL),
        (Decimal("1.5"), Kind.DECIMAL),
    ]


def test_functions_and_variables_get_their_kinds() -> None:
    program = analysed(
        "amount_of(?b) :- order(_, _, ?a, ?d), ?b = ?a * 2 + as(?n, Decimal), level(_, ?n), "
        "?y = year(?d), ?y > 2020, ?s = to_string(?y), text(?s)."
    )
    assert program.variable_kinds[0] == {
        "a": Kind.DECIMAL,
        "b": Kind.DECIMAL,
        "d": Kind.DATE,
        "n": Kind.NUMBER,
        "s": Kind.SYMBOL,
        "y": Kind.NUMBER,
        "_1": Kind.SYMBOL,
        "_2": Kind.SYMBOL,
        "_3": Kind.SYMBOL,
    }
    comparison = program.rules[0].body[1]
    assert isinstance(comparison, Comparison)
    assert isinstance(comparison.right, Apply)
    assert comparison.right.kind is Kind.DECIMAL
    assert comparison.right.arguments[0] == Apply(
        "*",
        (next(term_variables(comparison.right)), Constant(Decimal(2), Kind.DECIMAL)),
        Kind.DECIMAL,
    )


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("number_of(?m) :- level(_, ?n), ?m = max(?n, 0) band 0xFF ^ 2.", Kind.NUMBER),
        ("amount_of(?m) :- order(_, _, ?a, _), ?m = min(?a, 5, ?a ^ 2).", Kind.DECIMAL),
        ("chosen(?c) :- size(?c, ?n), ?m = ?n bshl 1 lor 5, ?m > 0.", Kind.UNSIGNED),
        ("chosen(?c) :- order(_, ?c, _, ?d), ?m = max(?d, ?d), ?m > ?d.", Kind.DATE),
        ("text(?m) :- tier(_, ?n), ?m = min(?n, ?n).", Kind.SYMBOL),
        ("number_of(?m) :- weight(_, ?w), ?m = to_number(?w).", Kind.NUMBER),
        ("float_of(?m) :- level(_, ?n), ?m = to_float(?n).", Kind.FLOAT),
        ("amount_of(?m) :- level(_, ?n), ?m = to_decimal(?n).", Kind.DECIMAL),
        ("chosen(?c) :- level(?c, ?n), ?m = to_unsigned(?n), size(_, ?m).", Kind.UNSIGNED),
    ],
)
def test_operators_and_conversions_have_the_kinds_of_the_format(rule: str, kind: Kind) -> None:
    assert analysed(rule).variable_kinds[0]["m"] is kind


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        ("float_of(?m) :- ?m = mean ?n : { level(_, ?n) }.", Kind.FLOAT),
        ("amount_of(?m) :- ?m = mean ?n : { order(_, _, ?n, _) }.", Kind.DECIMAL),
        ("amount_of(?m) :- ?m = sum ?n : { order(_, _, ?n, _) }.", Kind.DECIMAL),
        ("number_of(?m) :- ?m = count : { order(_, _, _, _) }.", Kind.NUMBER),
        ("text(?m) :- ?m = max ?n : { tier(_, ?n) }.", Kind.SYMBOL),
        ("amount_of(?m) :- ?k = mean 5 : { tier(_, _) }, ?m = as(?k, Decimal).", Kind.DECIMAL),
    ],
)
def test_aggregates_have_the_kind_of_the_format(rule: str, kind: Kind) -> None:
    assert analysed(rule).variable_kinds[0]["m"] is kind


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        ("text(?t) :- tier(_, ?t), ?t > 5.", "C0215"),
        ("text(?t) :- tier(_, ?t), 5 = ?t.", "C0215"),
        ("text(?t) :- tier(_, ?t), level(_, ?t).", "C0215"),
        ("text(?n) :- level(_, ?n).", "C0215"),
        ("number_of(?n) :- level(_, ?n), order(_, _, ?a, _), ?a > ?n.", "C0215"),
        ('number_of(1) :- 1 < "a".', "C0215"),
        ('number_of(?n) :- level(_, ?n), ?n != "five".', "C0215"),
        ("chosen(?c) :- active(?c, 1).", "C0215"),
        ("float_of(?m) :- ?m = sum ?n : { level(_, ?n) }.", "C0215"),
        ("number_of(?m) :- ?m = mean ?n : { level(_, ?n) }.", "C0215"),
        ("float_of(?a) :- order(_, _, ?a, _).", "C0218"),
        ("float_of(?a) :- order(_, _, ?b, _), weight(_, ?w), ?a = ?b * ?w.", "C0218"),
        ('chosen(?c) :- order(_, ?c, _, "2025-02-30").', "C0219"),
        ('chosen(?c) :- order(_, ?c, _, "").', "C0219"),
        ('chosen(?c) :- active(?c, "yes").', "C0219"),
        ('chosen(?c) :- seen(?c, ?t), ?t > "2025".', "C0219"),
        ("chosen(?c) :- order(_, ?c, _, 2025).", "C0220"),
        ("chosen(?c) :- order(_, ?c, _, ?d), ?d > 2025 - 1 - 31.", "C0220"),
        ("chosen(?c) :- order(_, ?c, _, 2025 - 1 - 31).", "C0220"),
        ("number_of(1.5).", "C0221"),
        ("number_of(5.0).", "C0221"),
        ("float_of(9007199254740993).", "C0221"),
        ("chosen(?c) :- size(?c, -1).", "C0221"),
        ("chosen(?c) :- level(?c, 5u).", "C0221"),
        ("number_of(?n) :- text(?s), ?n = length(?s).", "C0222"),
        ("text(?n) :- text(?s), ?n = substr(?s).", "C0223"),
        ("number_of(?n) :- level(_, ?m), ?n = strlen(?m).", "C0223"),
        ("number_of(?n) :- text(?s), ?n = -?s.", "C0215"),
        ("text(?n) :- text(?s), ?n = ?s + ?s.", "C0223"),
        ("amount_of(?n) :- order(_, _, ?a, _), ?n = ?a % 2.", "C0223"),
        ("number_of(?n) :- order(_, _, ?a, _), ?n = year(?a).", "C0223"),
        ("text(?m) :- ?m = mean ?t : { tier(_, ?t) }.", "C0224"),
        ("number_of(?m) :- ?m = sum ?t : { tier(_, ?t) }.", "C0224"),
        ('number_of(1) :- "true" = max ?b : { active(_, ?b) }.', "C0224"),
        ('chosen(?c) :- active(?c, ?b), ?b <= "true".', "C0225"),
        ('chosen(?c) :- level(?c, ?n), match("[0-9]", ?n).', "C0225"),
        ('chosen(?c) :- active(?c, ?b), contains("t", ?b).', "C0225"),
        ("number_of(?n) :- order(_, _, _, ?d), ?n = as(?d, number).", "C0226"),
        (
            'number_of(?n) :- level(_, ?n), as("2025-13-01", Date) > as("2025-01-01", Date).',
            "C0226",
        ),
        ('number_of(?n) :- level(_, ?n), as("yes", Bool) = as("true", Bool).', "C0226"),
        ("amount_of(?n) :- order(_, _, ?a, _), ?n = ?a band 2.", "C0223"),
        ("text(?n) :- text(?s), ?n = bnot ?s.", "C0223"),
        ("text(?n) :- text(?s), ?n = ?s ^ ?s.", "C0223"),
        ("number_of(?n) :- level(_, ?m), ?n = ?m bshl 1.5.", "C0221"),
        ("number_of(?n) :- level(_, ?m), size(_, ?u), ?n = ?m bor ?u.", "C0215"),
        ("number_of(?n) :- level(_, ?m), ?n = min(?m).", "C0223"),
        ("number_of(?n) :- level(_, ?m), tier(_, ?t), ?n = max(?m, ?t).", "C0215"),
        ('chosen(?c) :- active(?c, ?b), ?b = min(?b, "true").', "C0223"),
        ("number_of(?n) :- order(_, _, _, ?d), ?n = to_number(?d).", "C0223"),
        ("number_of(?n) :- level(_, ?m), ?n = pow(?m, 2).", "C0222"),
        ("number_of(?n) :- weight(_, ?w), ?n = ftoi(?w).", "C0222"),
    ],
)
def test_each_mistake_gives_one_error(rule: str, code: str) -> None:
    one = the(rule, code)
    assert one.span is not None
    assert one.help.count("`") >= 2


def test_both_places_are_shown() -> None:
    one = the("text(?t) :- tier(_, ?t), ?t > 5.", "C0215")
    assert one.message == "column `t` of `tier` is symbol, compared with number 5"
    assert str(one.span) == "example.dl:17:31"
    (place,) = one.related
    assert str(place.span) == "example.dl:6:27"
    assert place.label == "declared as symbol here"


def test_two_columns_are_both_shown_with_their_declarations() -> None:
    one = the("text(?t) :- tier(_, ?t), level(_, ?t).", "C0215")
    assert one.message == "column `t` of `tier` is symbol, but column `n` of `level` is number"
    assert {str(place.span)[11:] for place in one.related} >= {"6:27", "7:28"}


def test_one_mistake_is_not_repeated_by_every_use() -> None:
    rule = "number_of(?n) :- tier(_, ?t), ?n = ?t + 1, ?n > 2, ?n < ?t, ?n != 7."
    assert len(found(rule)) == 1


def test_two_mistakes_are_two_errors() -> None:
    rule = 'number_of(?n) :- level(_, ?n), tier(_, ?t), ?t > 5, ?n = "a".'
    assert codes(rule) == ["C0215", "C0215"]


def test_a_name_opposite_an_id_offers_the_join() -> None:
    text = (
        ".decl artist(id: number, name: symbol)\n.decl album(title: symbol, id: number)\n"
        'text(?t) :- album(?t, "AC/DC").'
    )
    assert '`artist(?id, "AC/DC")`' in the(text, "C0215").help
    text = text.replace('album(?t, "AC/DC")', "album(?t, ?a), text(?a)")
    assert "`artist(?a, ?name)`" in the(text, "C0215").help


def test_the_conversion_runs_towards_what_is_needed() -> None:
    assert "to_string(?n)" in the("text(?n) :- level(_, ?n).", "C0215").help
    assert "to_number(?t)" in the("number_of(?t) :- tier(_, ?t).", "C0215").help
    rule = "amount_of(?a) :- level(_, ?n), order(_, _, ?a, _), ?n > ?a."
    assert "as(?n, Decimal)" in the(rule, "C0215").help
    assert (
        "date_add(?d, 30)"
        in the('chosen(?c) :- order(_, ?c, _, ?d), ?d + 30 > "2025-01-01".', "C0223").help
    )
    rule = "number_of(?n) :- order(_, ?c, _, ?d), order(_, ?c, _, ?e), ?n = ?e - ?d."
    assert codes(rule) == ["C0215"]


@pytest.mark.parametrize(
    "rule",
    [
        "number_of(?n / 2) :- level(_, ?n).",
        "number_of(?m) :- level(_, ?n), ?m = ?n / (1 + ?n).",
        "number_of(?m) :- level(_, ?n), ?m = 100 * (?n / 7).",
        "number_of(?n) :- level(_, ?n), ?n / 2 > 3.",
        "number_of(?n) :- level(_, ?n), !level(_, ?n / 2).",
        "number_of(?t) :- ?t = sum ?n / 3 : { level(_, ?n) }.",
        "number_of(?t) :- ?t = count : { level(_, ?n), ?n / 3 = 1 }.",
        'chosen(?c) :- size(?c, ?u), size("C", ?v), ?u / ?v = 0.',
        # The cut is there before the cast sees it.
        "amount_of(as(?n / 2, Decimal)) :- level(_, ?n).",
    ],
)
def test_a_division_of_whole_numbers_is_a_warning_unless_it_is_meant(rule: str) -> None:
    told = the(rule, "C0228")
    assert told.severity is Severity.WARNING
    assert found(f"@[floor]\n{rule}") == []


@pytest.mark.parametrize(
    "rule",
    [
        "number_of(?n / 1) :- level(_, ?n).",
        "amount_of(as(?n, Decimal) / 2) :- level(_, ?n).",
        "amount_of(?a / 2) :- order(_, _, ?a, _).",
        "float_of(?w / 2) :- weight(_, ?w).",
        "number_of(?n % 2) :- level(_, ?n).",
    ],
)
def test_other_divisions_are_left_alone(rule: str) -> None:
    assert found(rule) == []


def test_a_program_of_souffles_is_not_warned_of_its_own_division() -> None:
    text = ".decl p(n: number)\n.decl q(n: number)\np(n / 2) :- q(n).\n"
    diagnostics: list[Diagnostic] = []
    mode = Mode.SOUFFLE
    program = lower(parse_file(text, "souffle.dl", diagnostics, mode).items, diagnostics, mode)
    analyse(program, diagnostics, Mode.SOUFFLE)
    assert "C0228" not in [one.code for one in diagnostics]
    analyse(program, diagnostics)
    assert "C0228" in [one.code for one in diagnostics]
