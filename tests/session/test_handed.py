"""Rules as text, and frames of the running program as sources."""

from __future__ import annotations

import gc
import json
from datetime import date, datetime
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast
from zoneinfo import ZoneInfo

import duckdb
import numpy as np
import pandas as pd
import pytest

from constat import ConstatError, Session, Settled, Verdict
from constat.logic import (
    Atom,
    Variable,
    aggregate,
    atom,
    compare,
    declare,
    function,
    negated,
    rule,
)

if TYPE_CHECKING:
    from collections.abc import Callable

pl = pytest.importorskip("polars", reason="the extra `polars` is not installed")

BIG = """
.decl big(customer: symbol)
@[id = BIG]
@[says = "{c} has an order of {a}"]
big(?c) :- orders(_, ?c, ?a), ?a > 50.0.
"""
DECLARED = ".decl orders(id: number, customer: symbol, amount: float)\n" + BIG


def rows() -> pd.DataFrame:
    return pd.DataFrame({"id": [1, 2], "customer": ["C1", "C2"], "amount": [60.5, 10.0]})


def arrow(frame: pd.DataFrame) -> object:
    return pytest.importorskip("pyarrow", reason="pyarrow is not installed").Table.from_pandas(
        frame
    )


def relation(frame: pd.DataFrame) -> object:
    connection = duckdb.connect()
    connection.from_df(frame).create("t")
    return connection.table("t")


FORMS: dict[str, Callable[[pd.DataFrame], object]] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.DataFrame(frame.to_dict(orient="list")),
    "arrow": arrow,
    "duckdb": relation,
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("rules", [BIG, DECLARED], ids=["undeclared", "declared"])
def test_a_frame_is_a_source_of_any_library(form: str, rules: str) -> None:
    with Session(rules=rules, facts={"orders": FORMS[form](rows())}) as session:
        assert session.prove("big(C1)").verdict is Verdict.PROVED
        assert session.prove("big(C2)").verdict is Verdict.DISPROVED
        assert [row["c"] for row in session.query("big(?c)")] == ["C1"]


def snapshot(frame: object) -> str:
    with Session(rules=DECLARED, facts={"orders": frame}) as session:
        result = session.prove("big(C1)")
        assert session.verify(result.certificate).accepted
    (source,) = json.loads(result.certificate)["sources"]
    assert source["name"] == "frames"
    return str(source["snapshot"])


def test_the_certificate_names_the_content_whoever_holds_it_and_in_whatever_order() -> None:
    forms = [form for form in FORMS if form != "arrow" or find_spec("pyarrow")]
    names = {form: snapshot(FORMS[form](rows())) for form in forms}
    assert set(names.values()) == {names["pandas"]}
    assert names["pandas"].startswith("content sha256:")
    assert snapshot(rows().iloc[::-1]) == names["pandas"]
    assert snapshot(rows().assign(amount=[60.5, 10.5])) != names["pandas"]


def test_columns_that_no_relation_can_have_do_not_count() -> None:
    mixed: pd.Series = pd.Series([["x"], {"y": 1}])
    assert snapshot(rows().assign(note=mixed)) == snapshot(rows())
    assert snapshot(rows().assign(note=["x", "y"])) != snapshot(rows())


def test_a_frame_is_looked_at_anew_in_each_evaluation() -> None:
    frame = rows()
    with Session(rules=DECLARED, facts={"orders": frame}) as session:
        before = session.prove("big(C2)")
        frame.loc[1, "amount"] = 70.0
        after = session.prove("big(C2)")
    assert (before.verdict, after.verdict) == (Verdict.DISPROVED, Verdict.PROVED)
    states = [json.loads(one.certificate)["sources"][0]["snapshot"] for one in (before, after)]
    assert states[0] != states[1]


def test_leaves_are_read_again_from_frames() -> None:
    frame = rows()
    with Session(rules=DECLARED, facts={"orders": frame}) as session:
        certificate = session.prove("big(C1)").certificate
        assert session.verify_source(certificate).exit_code == 0
        frame.loc[0, "amount"] = 55.0
        assert session.verify_source(certificate).exit_code == 1


@pytest.mark.parametrize("form", ["pandas", "polars", "duckdb"])
def test_a_cell_that_is_missing_has_a_value_or_none(form: str) -> None:
    frame = pd.DataFrame({"id": [1, 2], "customer": ["C1", None], "amount": [None, 70.0]})
    given = pl.DataFrame({k: [None if pd.isna(v) else v for v in c] for k, c in frame.items()})
    made = given if form == "polars" else FORMS[form](frame)
    with Session(rules=BIG, facts={"orders": made}) as session:
        # The order of nobody we know may be C1's: nothing is denied.
        assert session.prove("big(C1)").verdict is Verdict.UNRESOLVED
        assert len(session.query("orders(?i, _, _)")) == 2


def test_people_s_declarations_decide_about_nulls() -> None:
    frame = pd.DataFrame({"id": [1, 2], "customer": ["C1", None], "amount": [60.0, 70.0]})
    strict = Session(rules=DECLARED, facts={"orders": frame}).prove("big(C9)")
    assert strict.verdict is Verdict.UNRESOLVED
    without = DECLARED + '.input orders(null = "skip")\n'
    assert Session(rules=without, facts={"orders": frame}).prove("big(C9)").verdict is (
        Verdict.DISPROVED
    )


def test_equal_rows_are_told_of_and_may_be_meant() -> None:
    frame = pd.concat([rows(), rows()])
    # Rows are equal where every column is read.
    whole = DECLARED.replace("orders(_, ?c, ?a), ", "orders(?i, ?c, ?a), ?i > 0, ")
    with Session(rules=whole, facts={"orders": frame}) as session:
        assert session.prove("big(C2)").verdict is Verdict.UNRESOLVED
    meant = whole + '.input orders(distinct = "true")\n'
    with Session(rules=meant, facts={"orders": frame}) as session:
        assert session.prove("big(C2)").verdict is Verdict.DISPROVED


def test_frames_and_rules_join_a_project(still_shop: Path) -> None:
    accounts = pd.DataFrame({"customer": ["C002"], "tier": ["gold"]})
    with Session(still_shop, facts={"customer_tier": accounts}) as session:
        assert session.prove("is_vip(C002)").verdict is Verdict.PROVED
    more = ".decl first_class(c: symbol)\nfirst_class(?c) :- is_vip(?c).\n"
    with Session(still_shop, rules=more) as session:
        assert session.prove("first_class(C001)").verdict is Verdict.PROVED


def test_rules_may_be_a_file_or_a_folder(tmp_path: Path) -> None:
    file = tmp_path / "big.dl"
    file.write_text(BIG, encoding="utf-8")
    for rules in (file, str(file), tmp_path, str(tmp_path)):
        with Session(rules=rules, facts={"orders": rows()}) as session:
            assert session.prove("big(C1)").verdict is Verdict.PROVED


def test_a_session_without_a_project_keeps_what_people_state_as_long_as_it_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = Session(rules=DECLARED, facts={"orders": rows()})
    session.facts.add("orders(3, C3, 99.0)", author="alice")
    assert session.prove("big(C3)").verdict is Verdict.PROVED_UNDER
    folder = session.project.folder
    session.close()
    assert session.prove("big(C3)").verdict is Verdict.PROVED_UNDER
    session.close()
    del session
    gc.collect()
    assert not folder.exists()
    assert list(tmp_path.iterdir()) == []


UNFIT: dict[str, tuple[dict[str, object], str, str]] = {
    "another name": ({"ordrs": rows()}, "C0506", 'write `facts={"orders": frame}`'),
    "a derived name": ({"big": rows()}, "C0506", "the rules rest on"),
    "another case": ({"orders": rows().rename(columns={"id": "Id"})}, "C0514", "column `Id`"),
    "no such column": ({"orders": rows()[["id", "customer"]]}, "C0514", "it has `id`, `customer`"),
    "a date": (
        {"orders": rows().assign(amount=pd.to_datetime(["2025-01-01"] * 2))},
        "C0514",
        "declare `amount: Timestamp`",
    ),
    "numbers for texts": (
        {"orders": rows().assign(customer=[1, 2])},
        "C0514",
        "declare `customer: number`",
    ),
    "lists": (
        {"orders": rows().assign(amount=pd.Series([[1], [2]]))},
        "C0514",
        "numbers, texts or times",
    ),
    "a list": ({"orders": [(1, "C1", 2.0)]}, "C0514", "a frame of pandas"),
    "objects": ({"orders": rows().assign(customer=["a", 1])}, "C0514", "numbers, texts or times"),
    "two cases": ({"orders": rows().assign(ID=[1, 2])}, "C0514", "rename one"),
    "no text": ({"orders": rows().rename(columns={"id": 7})}, "C0514", "name its columns"),
    "one column": ({"orders": rows()["id"]}, "C0514", "`orders.to_frame()`"),
}


@pytest.mark.parametrize("case", UNFIT)
def test_what_does_not_fit_is_one_clear_error(case: str) -> None:
    facts, code, hint = UNFIT[case]
    with Session(rules=DECLARED, facts=facts) as session, pytest.raises(ConstatError) as caught:
        session.prove("big(C1)")
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == code
    assert hint in diagnostic.help
    assert any(diagnostic.help in note for note in caught.value.__notes__)


def test_a_lazy_frame_and_a_stream_are_to_be_read_first() -> None:
    lazy = pl.DataFrame({"id": [1], "customer": ["C1"], "amount": [1.0]}).lazy()
    with pytest.raises(ConstatError) as caught:
        Session(rules=DECLARED, facts={"orders": lazy}).prove("big(C1)")
    assert caught.value.diagnostics[0].help == "collect it first: `orders.collect()`"


def test_an_undeclared_frame_with_a_name_that_rules_cannot_write_shows_what_to_declare() -> None:
    frame = rows().rename(columns={"id": "Order ID"})
    with pytest.raises(ConstatError) as caught:
        Session(rules=BIG, facts={"orders": frame}).prove("big(C1)")
    hint = caught.value.diagnostics[0].help
    assert "`.decl orders(customer: symbol, amount: float)`" in hint


def test_a_frame_that_gets_other_types_is_no_source_any_more() -> None:
    frame = rows()
    with Session(rules=DECLARED, facts={"orders": frame}) as session:
        assert session.prove("big(C1)").verdict is Verdict.PROVED
        frame["amount"] = ["many", "few"]
        result = session.prove("big(C1)")
    assert result.verdict is Verdict.UNRESOLVED
    assert "begin a new session" in result.tree.gaps[0].reason


def test_a_path_that_is_none_is_bad_usage() -> None:
    with pytest.raises(ConstatError, match="C0405"):
        Session(rules=Path("nowhere.dl")).prove("p(1)")
    with pytest.raises(ConstatError, match="C0405"):
        Session(rules="nowhere").prove("p(1)")


WIDE = 2**53 + 1
BERLIN = ZoneInfo("Europe/Berlin")
NOON = datetime(2025, 1, 1, 12, tzinfo=BERLIN)
COLUMNS: dict[str, tuple[object, list[object]]] = {
    "objects: whole numbers with a gap": (pd.Series([WIDE, None], dtype=object), [WIDE]),
    "nullable whole numbers": (pd.array([WIDE, None], dtype="Int64"), [WIDE]),
    "objects: decimals with NaN": (
        pd.Series([Decimal("1.1"), Decimal("NaN")], dtype=object),
        [Decimal("1.1")],
    ),
    "a category of whole numbers": (
        pd.Categorical.from_codes([0, -1], categories=pd.Index([WIDE, 3])),
        [WIDE],
    ),
    "a category of texts": (pd.Categorical(["x", None], categories=["x", "y"]), ["x"]),
    "moments of a zone": (
        pd.Series([NOON, pd.NaT]).dt.as_unit("us"),
        ["2025-01-01T11:00:00.000000Z"],
    ),
    "objects: moments of a zone": (
        pd.Series([NOON, None], dtype=object),
        ["2025-01-01T11:00:00.000000Z"],
    ),
    "objects: days": (pd.Series([date(2025, 1, 1), pd.NaT], dtype=object), ["2025-01-01"]),
    "objects: truth": (pd.Series([True, None], dtype=object), ["true"]),
    "objects: floats with NaN": (pd.Series([0.1, float("nan")], dtype=object), [0.1]),
    "floats with NaN": (pd.Series([0.1, float("nan")]), [0.1]),
    "nothing": (pd.Series([None, None], dtype=object), []),
    "Polars: nothing": (pl.Series([None, None]), []),
    "Polars: a category": (pl.Series(["x", None], dtype=pl.Categorical), ["x"]),
}


def frame_of(column: object) -> object:
    of = pl.DataFrame if isinstance(column, pl.Series) else pd.DataFrame
    return of({"x": column})


@pytest.mark.parametrize("case", COLUMNS)
def test_values_are_those_that_the_program_holds_and_a_gap_denies_nothing(case: str) -> None:
    column, values = COLUMNS[case]
    with Session(
        rules=".decl none(x: number)\n.input none\n", facts={"t": frame_of(column)}
    ) as one:
        answers = one.query("t(?x)")
    assert [row["x"] for row in answers] == values
    assert answers.settled is Settled.OPEN


INEXACT: dict[str, object] = {
    "decimals that no column can hold": [Decimal("1.1"), Decimal("1e45")],
    "decimals without a bound": [Decimal("1.1"), Decimal("Infinity")],
    "moments with nanoseconds": [pd.Timestamp("2025-01-01 00:00:00.000000001"), None],
    "days and moments": [date(2025, 1, 1), datetime(2025, 1, 1, 5)],  # noqa: DTZ001  without a zone
    "truth of two libraries": [np.bool_(True), False],
    "floats of two lengths": [1.5, np.float32(0.1)],
}


@pytest.mark.parametrize("case", INEXACT)
def test_a_column_that_cannot_be_read_exactly_is_refused_and_hides_no_other(case: str) -> None:
    frame = pd.DataFrame({"x": pd.Series(INEXACT[case], dtype=object), "y": [1, 2]})
    with Session(rules=BIG, facts={"t": frame}) as session, pytest.raises(ConstatError) as caught:
        session.prove("t(?x, 1)")
    assert [one.code for one in caught.value.diagnostics] == ["C0514"]
    assert "`.decl t(y: number)`" in caught.value.diagnostics[0].help
    with Session(rules=".decl t(y: number)\n", facts={"t": frame}) as session:
        assert session.prove("t(2)").verdict is Verdict.PROVED


def test_a_column_that_changes_what_it_holds_is_no_source_any_more() -> None:
    frame = pd.DataFrame({"x": pd.Series([1.5, 2.5], dtype=object)})
    with Session(rules=".decl t(x: float)\n", facts={"t": frame}) as session:
        assert session.prove("t(1.5)").verdict is Verdict.PROVED
        frame["x"] = pd.Series([Decimal("1.5"), Decimal("1e45")], dtype=object)
        assert session.prove("t(1.5)").verdict is Verdict.UNRESOLVED


@pytest.mark.parametrize(
    "column",
    [
        pd.period_range("2025-01", periods=2, freq="M"),
        pd.arrays.SparseArray([1, 2]),
        pl.Series([2**100, 1], dtype=pl.Int128),
    ],
    ids=["periods", "sparse", "wide"],
)
def test_what_duckdb_cannot_read_hides_no_other_column(column: object) -> None:
    frame = (pl if isinstance(column, pl.Series) else pd).DataFrame({"x": column, "y": [1, 2]})
    with Session(rules=".decl t(y: number)\n", facts={"t": frame}) as session:
        assert session.prove("t(2)").verdict is Verdict.PROVED


C, A, T = Variable("c"), Variable("a"), Variable("t")
SPENT: list[Any] = [
    declare("spent", {"customer": "symbol", "total": "float"}),
    rule(
        atom("spent", C, T),
        atom("orders", ..., C, ...),
        aggregate("sum", T, A, atom("orders", ..., C, A)),
    ),
    declare("big", {"customer": "symbol"}, description="Who spent much."),
    rule(atom("big", C), atom("spent", C, T), compare(T, ">", 50.0), id="BIG", says="{c} is big"),
    declare("small", {"customer": "symbol"}),
    rule(atom("small", C), atom("spent", C, ...), negated(atom("big", C))),
    rule(atom("small", 'a "quoted"\nname')),
]


def test_rules_and_goals_may_be_built() -> None:
    with Session(rules=SPENT, facts={"orders": rows()}) as session:
        assert session.prove(atom("big", "C1")).verdict is Verdict.PROVED
        assert "C1 is big" in session.prove("big(C1)").explain()
        assert session.why_not(atom("big", "C2")).verdict is Verdict.DISPROVED
        assert session.prove(atom("small", 'a "quoted"\nname')).verdict is Verdict.PROVED
        found = session.query([atom("spent", C, T), compare(T, "<", 50.0)])
        assert [(row["c"], row["t"]) for row in found] == [("C2", 10.0)]
        assert [row["c"] for row in session.query(atom("small", C))] == ["C2", 'a "quoted"\nname']
        what = session.what_if(atom("small", "C1"), remove=["orders(1, C1, 60.5)"])
        assert what.verdict is Verdict.DISPROVED_UNDER
        assert session.missing_facts(atom("big", "C1")).holds


VALUES: dict[str, Any] = {
    "symbol": 'say "x"\t\\',
    "number": -3,
    "float": -1e-300,
    "Decimal": Decimal("-0.10"),
    "Date": date(2025, 1, 31),
    "Timestamp": NOON,
    "Bool": True,
}


@pytest.mark.parametrize("kind", VALUES)
def test_a_value_that_a_program_holds_is_that_of_the_rule_and_of_the_goal(kind: str) -> None:
    fact = atom("p", VALUES[kind])
    with Session(rules=[declare("p", {"x": kind}), rule(fact)]) as session:
        assert session.prove(fact).verdict is Verdict.PROVED
        (row,) = session.query(atom("p", Variable("x")))
        assert session.prove(row.goals[0]).verdict is Verdict.PROVED


FORGED = "p(1). q"


@pytest.mark.parametrize(
    "forged",
    [
        rule(atom(FORGED, 1)),
        rule(atom("p", Variable("x) :- q(?x"))),
        rule(atom("p", function("f(1)", 2))),
        rule(atom("p", 1), compare(1, "= 1, 2 =", 2)),
        declare("p", {"x: symbol)\np(1": "symbol"}),
        declare("p", {"x": "number)\np(1). .decl q(y: number"}),
        declare("p", {"x": "number"}, **{"a]\n@[b": "c"}),
        rule(atom("p", 1), aggregate("count : { q(1) }, ?x = sum", T, None)),
    ],
)
def test_no_name_says_more_than_a_name(forged: Any) -> None:  # noqa: ANN401  rules of several types
    with pytest.raises(ConstatError, match="C0590"):
        Session(rules=[forged])
    with Session(rules=".decl p(x: number)\np(1).\n") as session:
        goals: tuple[Any, ...] = (Atom(FORGED, ()), [atom("p", 1), negated(atom(FORGED, 2))])
        for goal in goals:
            with pytest.raises(ConstatError, match="C0590"):
                session.prove(goal)


def test_what_is_no_value_is_no_term() -> None:
    with pytest.raises(TypeError, match="list"):
        atom("p", cast("Any", [1]))


def test_attributes_and_descriptions_are_texts_whatever_they_say() -> None:
    text = 'says "]\n.decl q(x: number)\r.decl r(x: number)\u2028.decl s(x: number)'
    made: list[Any] = [
        declare("p", {"x": "number"}, description=text, says=text),
        rule(atom("p", 1), id=text),
    ]
    with Session(rules=made) as session:
        assert session.prove("p(1)").verdict is Verdict.PROVED
        assert set(session.program.program.predicates) == {"p"}


def test_a_null_that_is_an_error_leaves_open_what_reads_it_and_says_why() -> None:
    frame = rows()
    frame.loc[1, "amount"] = None
    with Session(rules=DECLARED, facts={"orders": frame}) as session:
        found = session.query("big(?c)")
        verdicts = found.to_pandas().set_index("c")["verdict"].to_dict()
        assert verdicts == {"C1": "PROVED", "C2": "UNRESOLVED"}
        shown = repr(found)
        assert "not known: orders: frame orders, column amount is NULL" in shown
        assert "database" not in shown
        assert "row 2" not in shown
        told = session.prove("orders(2, ?c, ?a)").explain()
    assert "reason: database: frame orders, column amount is NULL" in told


@pytest.mark.parametrize(("name", "counted", "warned"), [("_", 2, False), ("_o", 1, True)])
def test_a_name_that_leaves_rows_out_of_a_total_is_told(
    name: str,
    counted: int,
    warned: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    frame = pd.DataFrame({"id": [1.0, None], "customer": ["C1", "C1"], "amount": [1.0, 2.0]})
    rules = (
        ".decl orders(@[null = none] id: float, customer: symbol, amount: float)\n"
        ".decl n(c: symbol, k: number)\n"
        f"n(?c, ?k) :- orders(_, ?c, _), ?k = count : {{ orders({name}, ?c, _) }}.\n"
    )
    with Session(rules=rules, facts={"orders": frame}) as session:
        assert session.query("n(?c, ?k)").to_pandas()["k"].tolist() == [counted]
        assert ("C0251" in {one.code for one in session.rule_warnings}) == warned


RESTING = ".decl big(id: number)\nbig(?i) :- orders(id = ?i, amount = ?a), ?a > 2.0."


@pytest.mark.parametrize(
    ("name", "columns", "code", "told"),
    [
        ("orders", {"id": [1], "who is": ["x"], "amount": [3.5]}, "C0514", "rename it"),
        ("orders", {"id": [1], "who": [[1]], "amount": [3.5]}, "C0514", "convert it"),
        ("order", {"id": [1], "amount": [3.5]}, "C0506", 'write `facts={"orders": frame}`'),
        ("orders", {"id": [1], "amont": [3.5]}, "C0183", "`amont`"),
        ("orders", {"id": [1]}, "C0183", "or give the frame that column: it has `id`"),
    ],
)
def test_the_first_mistake_told_of_a_frame_is_the_cause(
    name: str, columns: dict[str, list[object]], code: str, told: str
) -> None:
    with Session(rules=RESTING, facts={name: pd.DataFrame(columns)}) as session:
        with pytest.raises(ConstatError) as caught:
            session.prove("big(1)")
        mistake = caught.value.diagnostics[0]
        assert (mistake.code, told in mistake.help) == (code, True), mistake.help
    mended = pd.DataFrame({"id": [1], "amount": [3.5]})
    with Session(rules=RESTING, facts={"orders": mended}) as session:
        assert session.prove("big(1)").verdict.name == "PROVED"
