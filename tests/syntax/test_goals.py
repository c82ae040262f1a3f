"""Goals and facts as people type them."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError, render
from constat.logic import OPEN, Atom, Constant, Kind, OpenRow, Variable
from constat.syntax import parse_fact, parse_goal, parse_text, print_row
from tests.syntax.strategies import VALUES

PROGRAM = parse_text(
    """\
.decl is_vip(customer: symbol)
.decl order(c: symbol, n: number, amount: Decimal, d: Date)
.decl seen(at: Timestamp, ok: Bool, rate: float, u: unsigned)
.decl flag()
""",
    "rules.dl",
    [],
)


def codes(text: str) -> list[str]:
    try:
        parse_goal(text, PROGRAM)
    except ConstatError as error:
        return [one.code for one in error.diagnostics]
    return []


def symbol(text: str) -> Constant:
    return Constant(text, Kind.SYMBOL)


@pytest.mark.parametrize(
    ("text", "atom"),
    [
        ("is_vip(C001)", Atom("is_vip", (symbol("C001"),))),
        ("  is_vip ( C001 ) . ", Atom("is_vip", (symbol("C001"),))),
        ("is_vip(?c)", Atom("is_vip", (Variable("c"),))),
        ("is_vip(_c)", Atom("is_vip", (Variable("_c"),))),
        ("is_vip(_)", Atom("is_vip", (Variable("customer"),))),
        ("is_vip(customer=C001)", Atom("is_vip", (symbol("C001"),))),
        ("is_vip(customer = ?x)", Atom("is_vip", (Variable("x"),))),
        ('is_vip("J. Doe, \\"x\\"")', Atom("is_vip", (symbol('J. Doe, "x"'),))),
        ("is_vip(5)", Atom("is_vip", (symbol("5"),))),
        ("is_vip(2024-01-01T10:00:00Z)", Atom("is_vip", (symbol("2024-01-01T10:00:00Z"),))),
        ("is_vip(a@b.org)", Atom("is_vip", (symbol("a@b.org"),))),
        ("is_vip(日本)", Atom("is_vip", (symbol("日本"),))),
        ("flag()", Atom("flag", ())),
    ],
)
def test_a_goal_is_read(text: str, atom: Atom) -> None:
    assert parse_goal(text, PROGRAM) == atom


def test_bare_tokens_are_read_by_the_kind_of_their_column() -> None:
    goal = parse_goal("order(C001, -5, 10.50, 2024-01-01)", PROGRAM)
    assert goal.terms == (
        symbol("C001"),
        Constant(-5, Kind.NUMBER),
        Constant(Decimal("10.5"), Kind.DECIMAL),
        Constant("2024-01-01", Kind.DATE),
    )
    goal = parse_goal('seen("2024-01-01 10:00", true, 1e-3, 7)', PROGRAM)
    assert goal.terms == (
        Constant("2024-01-01T10:00:00.000000Z", Kind.TIMESTAMP),
        Constant("true", Kind.BOOL),
        Constant(0.001, Kind.FLOAT),
        Constant(7, Kind.UNSIGNED),
    )


@pytest.mark.parametrize(
    ("text", "number", "unsigned"),
    [
        ("0x1F", 31, 31),
        ("0b101", 5, 5),
        ("-0x10", -16, None),
        ("12u", None, 12),
        ("0xFFFFFFFFFFFFFFFF", None, 2**64 - 1),
        ("0xFFFFFFFFFFFFFFFFu", None, 2**64 - 1),
        ("0x7fffffffffffffff", 2**63 - 1, 2**63 - 1),
        ("0x", None, None),
        ("0b2", None, None),
        ("0xG", None, None),
        ("5uu", None, None),
        ("u", None, None),
        ("-", None, None),
        ("0x" + "F" * 5000, None, None),
    ],
)
def test_integers_of_a_goal_have_the_spellings_of_rules(
    text: str, number: int | None, unsigned: int | None
) -> None:
    program = parse_text(".decl n(x: number)\n.decl u(x: unsigned)", "t.dl", [])
    for name, value in (("n", number), ("u", unsigned)):
        if value is None:
            with pytest.raises(ConstatError) as caught:
                parse_goal(f"{name}({text})", program)
            assert [one.code for one in caught.value.diagnostics] == ["C0186"]
        else:
            (term,) = parse_goal(f"{name}({text})", program).terms
            assert isinstance(term, Constant)
            assert term.value == value


def test_columns_that_are_not_named_are_free() -> None:
    goal = parse_goal("order(d = 2024-01-01, c = ?n)", PROGRAM)
    assert goal.terms == (
        Variable("n"),
        Variable("n_2"),
        Variable("amount"),
        Constant("2024-01-01", Kind.DATE),
    )


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("", "C0180"),
        ("is_vip", "C0180"),
        ("is_vip(", "C0180"),
        ("is_vip(C001", "C0180"),
        ("is_vip(C001))", "C0180"),
        ("is_vip(C001), flag()", "C0180"),
        ("!is_vip(C001)", "C0180"),
        ("not is_vip(C001)", "C0180"),
        ("?- is_vip(C001).", "C0180"),
        ("is_vip(J. Doe)", "C0180"),
        ("is_vip(,)", "C0180"),
        ("is_vip(C001,)", "C0180"),
        ("is_vip(f(x))", "C0180"),
        ("is_vip(a==b)", "C0180"),
        ("is_vip('C001')", "C0104"),
        ('is_vip("C001)', "C0101"),
        ('is_vip("\\d")', "C0103"),
        ("is_vip(C\0)", "C0107"),
        ("is_vip(\ud800)", "C0108"),
        ("is_vip(?_x)", "C0115"),
        ("is_vp(C001)", "C0181"),
        ("is_vip(a, b)", "C0182"),
        ("is_vip()", "C0182"),
        ("order(customer = a)", "C0183"),
        ("order(c = a, c = b)", "C0184"),
        ("order(a, n = 5)", "C0185"),
        ('order(a, "5", 1.0, 2024-01-01)', "C0186"),
        ("order(a, 5.5, 1.0, 2024-01-01)", "C0186"),
        ("order(a, 99999999999999999999, 1.0, 2024-01-01)", "C0186"),
        ("order(a, 5, 1.0, 2024-02-30)", "C0186"),
        ("order(?x, ?x, 1.0, 2024-02-03)", "C0187"),
        ("is_vip(" + "x" * 200_000 + ")", "C0189"),
    ],
)
def test_a_goal_that_cannot_be_read_is_explained(text: str, code: str) -> None:
    assert codes(text) == [code]


@pytest.mark.parametrize(
    ("written", "edit"),
    [
        ("c = a, amount = 7,5", "write `7.5`"),
        ("amount = 1.000,50", "write `1000.50`"),
        ("amount = 1'000", "write `1000`"),
        ("amount = €5", "write `amount = 5`"),
        ("amount = $5", "write `amount = 5`"),
        ("amount = 5k", "write `amount = 5000`"),
        (
            "amount = 50%",
            "write `amount = 50`, or `amount = 0.50` where the values are shares of 1",
        ),
        ("mount = 5, c = a", "write `amount = 5`"),
        ("amont = 5, amount = 5", "delete `amont = 5`"),
    ],
)
def test_the_edit_of_a_named_value_is_read(written: str, edit: str) -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal(f"order({written})", PROGRAM)
    assert [one.help for one in caught.value.diagnostics] == [edit]


def test_no_two_edits_give_one_column_and_none_an_unlike_one() -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal("order(amonut = 1, amuont = 2, zzz = 3)", PROGRAM)
    edits = [one.help.partition(";")[0] for one in caught.value.diagnostics]
    assert edits == ["write `amount = 1`", "delete `amuont = 2`", "delete `zzz = 3`"]


def test_where_nothing_is_declared_the_help_leads_to_the_rule_files() -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal("is_vip(C001)", parse_text("", "<empty>", []))
    assert caught.value.diagnostics[0].note == "no rule file declares any predicate"
    assert "`rules:` in constat.yaml" in (caught.value.diagnostics[0].help or "")


def test_several_mistakes_of_a_goal_are_told_together() -> None:
    assert codes("order(a, x, y, z)") == ["C0186", "C0186", "C0186"]
    assert codes("order(x = a, y = b)") == ["C0183", "C0183"]


def test_the_caret_stands_under_the_value() -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal("order(C001, 5, 10.50, today)", PROGRAM)
    text = render(
        caught.value.diagnostics, {"<goal>": "order(C001, 5, 10.50, today)"}, colour=False
    )
    assert "--> <goal>:1:23" in text
    assert "1 | order(C001, 5, 10.50, today)\n  |                       ^^^^^\n" in text


def test_a_fact_is_ground() -> None:
    assert parse_fact("order(C001, 5, 1.0, 2024-01-01)", PROGRAM) == (
        "order",
        ("C001", 5, Decimal(1), "2024-01-01"),
    )


@pytest.mark.parametrize("text", ["order(C001, ?n, 1.0, _)", "order(c = C001)"])
def test_a_fact_with_something_open_is_explained(text: str) -> None:
    with pytest.raises(ConstatError) as caught:
        parse_fact(text, PROGRAM)
    assert {one.code for one in caught.value.diagnostics} == {"C0188"}
    assert all(one.span is not None for one in caught.value.diagnostics)


def test_a_row_is_written_as_a_goal_to_paste_back() -> None:
    predicate = PROGRAM.predicates["order"]
    row = ("C001", 5, Decimal("10.5"), "2024-01-01")
    assert print_row(predicate, row) == "order(C001, 5, 10.5, 2024-01-01)"
    assert print_row(predicate, ("J. Doe", OPEN, OPEN, OPEN)) == 'order("J. Doe", ?n, ?amount, ?d)'


@given(data=st.data())
@pytest.mark.parametrize("name", ["order", "seen", "is_vip"])
def test_a_row_reads_back_from_what_is_written(name: str, data: st.DataObject) -> None:
    predicate = PROGRAM.predicates[name]
    row: OpenRow = tuple(
        data.draw(st.one_of(st.just(OPEN), VALUES[column.kind])) for column in predicate.columns
    )
    if predicate.columns[-1].name == "u" and not isinstance(row[2], type(OPEN)):
        row = (*row[:2], float(str(row[2])) or 0.0, row[3])
    goal = parse_goal(print_row(predicate, row), PROGRAM)
    for slot, term, column in zip(row, goal.terms, predicate.columns, strict=True):
        expected = Variable(column.name) if slot is OPEN else Constant(slot, column.kind)
        assert term == expected


@pytest.mark.parametrize(
    ("goal", "names"),
    [
        ("shipped(7, _)", ["_2"]),
        ("shipped(id = 7)", ["_2"]),
        # What is written by name is read, as in rules.
        ("shipped(id = 7, d = _)", ["d"]),
        ("shipped(7, ?d)", ["d"]),
    ],
)
def test_a_cell_that_may_be_null_is_read_where_its_column_is_written(
    goal: str, names: list[str]
) -> None:
    program = parse_text(".decl shipped(id: number, @[null = maybe] d: Date)", "rules.dl", [])
    terms = parse_goal(goal, program).terms
    assert [one.name for one in terms if isinstance(one, Variable)] == names


def test_a_relation_that_a_goal_lacks_is_not_declared_by_a_word_of_the_language() -> None:
    with pytest.raises(ConstatError) as caught:
        parse_goal("max(1)", PROGRAM)
    (found,) = caught.value.diagnostics
    assert "`.decl max_(x: symbol)`" in found.help
