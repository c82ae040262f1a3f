"""What Spark computes is what DuckDB computes, and what it cannot compute exactly is refused."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.evaluation import ResourceError, Resources
from constat.forward import Options, Rows, evaluate
from constat.project.settings import SparkSetting
from constat.syntax import parse_goal
from tests.language.worlds_of_text import program

if TYPE_CHECKING:
    from pathlib import Path

    from constat.logic import Row

CLOSURE = """
.decl edge(a: number, b: number)
.input edge(source="memory")
.decl path(a: number, b: number)
path(?x, ?y) :- edge(?x, ?y).
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z).
.decl many(a: number, n: number)
many(?x, ?n + 1) :- edge(?x, _), ?n = count : { path(?x, _) }, ?n > 1, !edge(?x, 0).
"""
TYPES = """
.decl given(c: symbol, n: number, u: unsigned, f: float, m: Decimal, d: Date)
.input given(source="memory")
.decl made(c: symbol, n: number, u: unsigned, f: float, m: Decimal, k: number)
made(cat(?c, "!'"), ?n % 7 - ?n / 2, ?u * 2, ?f / 2.0, ?m * ?m + ?m, days_between(?d, "2024-01-01"))
  :- given(?c, ?n, ?u, ?f, ?m, ?d).
.decl total(n: number, u: unsigned, m: Decimal, least: symbol)
total(?n, ?u, ?m, ?c) :-
  ?n = sum ?x : { given(_, ?x, _, _, _, _) }, ?u = sum ?y : { given(_, _, ?y, _, _, _) },
  ?m = sum ?z : { given(_, _, _, _, ?z, _) }, ?c = min ?t : { given(?t, _, _, _, _, _) }.
"""


def rows(
    text: str, goal: str, inputs: dict[str, tuple[Row, ...]], spark: SparkSetting | None
) -> set[Row]:
    found = program(text)
    atom = parse_goal(goal, found.program)
    given = {name: Rows(one) for name, one in inputs.items()}
    options = Options(Resources(seconds=60.0), spark=spark)
    with evaluate(found, [atom], given, options) as results:
        assert results.is_closed(0)
        return {row for batch in results.batches(0) for row in batch}


@pytest.mark.parametrize("goal", ["path(?x, ?y)", "many(?x, ?n)", "path(3, ?y)", "path(?x, 3)"])
def test_a_recursion_and_what_rests_on_it_are_those_of_duckdb(
    goal: str, spark: SparkSetting
) -> None:
    edges = tuple((one, (one * 3 + 1) % 11) for one in range(11))
    found = rows(CLOSURE, goal, {"edge": edges}, spark)
    assert found == rows(CLOSURE, goal, {"edge": edges}, None)
    assert found


@pytest.mark.parametrize("goal", ["made(?c, ?n, ?u, ?f, ?m, ?k)", "total(?n, ?u, ?m, ?c)"])
def test_every_kind_has_the_values_that_duckdb_gives(goal: str, spark: SparkSetting) -> None:
    given = tuple(
        (text, n, u, f, Decimal(m), d)
        for text, n, u, f, m, d in zip(
            _TEXTS, _NUMBERS, _UNSIGNED, _FLOATS, _DECIMALS, _DAYS, strict=True
        )
    )
    on_spark = rows(TYPES, goal, {"given": given}, spark)
    assert on_spark == rows(TYPES, goal, {"given": given}, None)
    assert on_spark


_TEXTS = ["", "it's", "a\\b", "é", "\U0001f600", "\uffff", "line\nbreak", 'quote"']
_NUMBERS = [0, -1, 7, -7, 2**62, -(2**62), 123456789, -13]
_UNSIGNED = [0, 1, 2**63 - 1, 5, 6, 7, 8, 2**60]
_FLOATS = [0.0, 1e-320, 1.5, -2.25, 1e308, 0.1, 3.0, -0.5]
_DECIMALS = ["0", "0.000001", "1.5", "-2.25", "99999.999999", "0.1", "3", "-0.5"]
_DAYS = ["2024-01-01", "0001-01-01", "9999-12-31", "2000-02-29"] * 2
OVERFLOWS = [
    ("?n + ?n", 2**62),
    ("?n * ?n", 2**32),
    ("-?n", -(2**63)),
    ("?n / ?m", 1),
    ("?n % ?m", 1),
]


@pytest.mark.parametrize(("expression", "value"), OVERFLOWS)
def test_what_overflows_is_an_error_and_never_a_value(
    expression: str, value: int, spark: SparkSetting
) -> None:
    text = f"""
    .decl given(n: number, m: number)
    .input given(source="memory")
    .decl made(n: number)
    made({expression}) :- given(?n, ?m), ?m < 1.
    """
    with pytest.raises(ConstatError) as refused:
        rows(text, "made(?n)", {"given": ((value, 0),)}, spark)
    assert [one.code for one in refused.value.diagnostics] == ["C0682"]


def test_a_sum_that_overflows_is_an_error(spark: SparkSetting) -> None:
    text = """
    .decl given(n: number)
    .input given(source="memory")
    .decl total(n: number)
    total(?n) :- ?n = sum ?x : { given(?x) }.
    """
    with pytest.raises(ConstatError, match="overflow"):
        rows(text, "total(?n)", {"given": ((2**63 - 1,), (1,))}, spark)


def test_what_an_earlier_step_removes_is_not_divided_by(spark: SparkSetting) -> None:
    text = """
    .decl given(n: number, m: number)
    .input given(source="memory")
    .decl left(m: number)
    .input left(source="memory")
    .decl made(n: number)
    made(?n / ?m) :- given(?n, ?m), !left(?m), ?m != 0.
    """
    inputs: dict[str, tuple[Row, ...]] = {"given": ((8, 2), (9, 0), (9, 3)), "left": ((3,),)}
    assert rows(text, "made(?n)", inputs, spark) == {(4,)}


def test_a_function_without_an_exact_form_is_refused_before_anything_is_asked() -> None:
    nowhere = SparkSetting("sc://127.0.0.1:1")
    text = """
    .decl given(n: symbol)
    .input given(source="memory")
    .decl made(n: symbol)
    made(?n) :- given(?n), match("a.*", ?n).
    """
    with pytest.raises(ConstatError) as refused:
        rows(text, "made(?n)", {"given": (("a",),)}, nowhere)
    assert refused.value.exit_code == 78
    assert [one.code for one in refused.value.diagnostics] == ["C0681"]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("remote", "message"),
    [("sc://127.0.0.1:1", "no Spark Connect server"), ("spark://here", "none of Spark Connect")],
)
def test_a_server_that_is_not_there_is_said_at_once(
    remote: str, message: str, spark_server: str
) -> None:
    with pytest.raises(ConstatError, match=message) as refused:
        rows(CLOSURE, "path(?x, ?y)", {"edge": ((1, 2),)}, SparkSetting(remote))
    assert [one.code for one in refused.value.diagnostics] == ["C0680"]


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"rounds": 5}, "5 rounds"),
        ({"rows": 50}, "50 rows"),
        ({"seconds": 0.001}, "did not finish within"),
    ],
)
def test_a_computation_ends_at_its_limits(
    limits: dict[str, float], message: str, spark: SparkSetting
) -> None:
    found = program(CLOSURE)
    edges = Rows(tuple((one, one + 1) for one in range(40)))
    options = Options(Resources(**{"seconds": 60.0, **limits}), spark=spark)  # type: ignore[arg-type]  # a limit of any kind
    with pytest.raises(ResourceError, match=message):
        evaluate(found, [parse_goal("path(?x, ?y)", found.program)], {"edge": edges}, options)


def test_nothing_is_left_in_the_folder(spark: SparkSetting, tmp_path: Path) -> None:
    there = SparkSetting(spark.remote, str(tmp_path))
    assert rows(CLOSURE, "path(1, ?y)", {"edge": ((1, 2), (2, 3))}, there) == {(1, 2), (1, 3)}
    assert list(tmp_path.iterdir()) == []


def test_rows_travel_where_this_machine_does_not_see_the_folder(
    spark: SparkSetting, tmp_path: Path
) -> None:
    far = SparkSetting(spark.remote, f"file://{tmp_path}")
    edges = tuple((one, one + 1) for one in range(5))
    found = rows(CLOSURE, "path(?x, ?y)", {"edge": edges}, far)
    assert found == rows(CLOSURE, "path(?x, ?y)", {"edge": edges}, None)


def test_many_facts_of_the_rules_are_sent_as_a_table(spark: SparkSetting) -> None:
    facts = "\n".join(f'fact({one}, "a{one}", {one}.5).' for one in range(80))
    text = f"""
    .decl fact(n: number, t: symbol, d: Decimal)
    {facts}
    .decl half(t: symbol, d: Decimal)
    half(?t, ?d + ?d) :- fact(?n, ?t, ?d), ?n % 2 = 0.
    """
    found = rows(text, "half(?t, ?d)", {}, spark)
    assert found == rows(text, "half(?t, ?d)", {}, None)
    assert len(found) == 40
