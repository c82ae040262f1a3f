"""What a step is given, what it leaves, and what is told of its failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.explore.sandbox import Code, ErrorKind, Level, StepLimits, choose_level
from constat.store.table_forms import table_of

if TYPE_CHECKING:
    from constat.explore.sandbox import Sandbox, StepError

SALES = table_of(
    [("region", "symbol"), ("amount", "number"), ("day", "Date")],
    [["N", "S", "N"], [10, 20, None], ["2024-10-01", "2024-11-02", "2024-12-03"]],
)


def failed(box: Sandbox, text: str) -> StepError:
    run = box.run(Code(text, inputs={"sales": SALES}, databases=("sales",)))
    assert run.error is not None
    assert not run.tables
    assert not run.state
    return run.error


def test_a_step_reads_tables_and_leaves_others(steps: Sandbox) -> None:
    code = """
sales = store.load_dataframe("sales")
by_region = sales.groupby("region")["amount"].sum()
store.save_dataframe("by_region", by_region, step=3)
store.set_state("best", by_region.idxmax())
store.note("two regions")
total = by_region.sum()
print("done")
"""
    run = steps.run(Code(code, inputs={"sales": SALES}, outputs=("by_region", "total", "best")))
    assert run.error is None
    assert list(run.tables["by_region"].iterate()) == [("N", 10), ("S", 20)]
    assert run.tables["by_region"].kinds == ("symbol", "number")
    assert run.scalars == {"total": 30, "best": "S"}
    assert (run.notes, run.output) == (("two regions",), "done\n")


def test_every_kind_of_value_comes_back_as_it_was(steps: Sandbox) -> None:
    from decimal import Decimal

    given = table_of(
        [
            *(("n", "number"), ("u", "unsigned"), ("f", "float"), ("s", "symbol")),
            *(("d", "Date"), ("t", "Timestamp"), ("x", "Decimal"), ("b", "Bool")),
        ],
        [
            [1 << 62, None, -5],
            [(1 << 64) - 1, None, 0],
            [0.1, None, -0.0],
            ["é\n", None, ""],
            ["0001-01-01", None, "9999-12-31"],
            ["2024-02-29T23:59:59.999999Z", None, "1969-12-31T00:00:00.000001Z"],
            [Decimal("0.1000000000000000000000000001"), None, Decimal(-12)],
            ["true", None, "false"],
        ],
    )
    run = steps.run(Code('store.put("again", store.get("given"))', inputs={"given": given}))
    assert run.error is None, run.error.traceback
    assert run.tables["again"] == given


def test_an_empty_table_comes_back_with_its_kinds(steps: Sandbox) -> None:
    given = table_of([("n", "number"), ("s", "symbol")], [[], []])
    run = steps.run(Code('store.put("again", store.get("given"))', inputs={"given": given}))
    assert run.tables["again"] == given


def test_state_is_given_and_left(steps: Sandbox) -> None:
    code = Code('store.put("more", {"n": store.get("known")["n"] + 1})', state={"known": {"n": 1}})
    assert steps.run(code).state == {"more": {"n": 2}}


def test_the_same_code_draws_the_same_numbers(steps: Sandbox) -> None:
    code = Code(
        "import random\nstore.put('x', [random.random(), float(np.random.rand()), hash('a')])"
    )
    first, second = steps.run(code), steps.run(code)
    assert first.state == second.state
    assert first.state


@pytest.mark.parametrize(
    ("text", "kind", "line", "retryable"),
    [
        ("df = 1\ndf.groupby('region).sum()", ErrorKind.SYNTAX, 2, True),
        ("df = store.get('sales')\ndf['revnue'].sum()", ErrorKind.MISSING_COLUMN, 2, True),
        ("store.get('nothing')", ErrorKind.MISSING_TABLE, 1, True),
        ("x = 1\n'hello' + 123", ErrorKind.TYPE, 2, True),
        ("int('x')", ErrorKind.VALUE, 1, True),
        ("revenue", ErrorKind.NAME, 1, True),
        ("pd.no_such_thing", ErrorKind.ATTRIBUTE, 1, True),
        ("1 / 0", ErrorKind.ARITHMETIC, 1, True),
        ("store.put('x', object())", ErrorKind.RESULT, 1, True),
        ("store.put('x', pd.DataFrame({'a': [1, 'b']}))", ErrorKind.RESULT, 1, True),
        ("open('x.csv', 'w')", ErrorKind.BLOCKED_CALL, 1, True),
        ("db.sql('SELECT * FROM nowhere')", ErrorKind.QUERY, 1, True),
        ("db.sql('SELECT * FROM down')", ErrorKind.CONNECTION, 1, False),
        ("pd\nimport os", ErrorKind.BLOCKED_IMPORT, 0, False),
        ("__import__('subprocess')", ErrorKind.BLOCKED_IMPORT, 1, False),
        ("np.ones((1 << 34,))", ErrorKind.MEMORY, 1, False),
    ],
)
def test_a_failure_says_its_kind_line_and_whether_to_try_again(
    steps: Sandbox, text: str, kind: ErrorKind, line: int, *, retryable: bool
) -> None:
    error = failed(steps, text)
    assert (error.kind, error.line, error.retryable) == (kind, line, retryable)
    assert text.splitlines()[-1] in error.traceback or line == 0


def test_a_failure_shows_what_the_variables_held(steps: Sandbox) -> None:
    error = failed(steps, "df = store.get('sales')\nn = 3\nclass Bad:\n    def __repr__(self):\n"
                   "        raise SystemExit\nbad = Bad()\ndf['x']")  # fmt: skip
    shown = dict(error.variables)
    assert shown["n"] == "3"
    assert "DataFrame of 3 rows (region: str, amount: Int64, day: datetime64[s])" in shown["df"]
    assert shown["bad"] == "<a Bad that cannot be shown>"
    assert "line 7" in error.traceback
    assert "running" not in error.traceback


def test_a_connection_may_be_tried_again_where_that_is_wished(steps: Sandbox) -> None:
    limits = StepLimits(retry_connections=True)
    run = steps.run(Code("db.sql('down')", databases=("sales",)), limits=limits)
    assert run.error is not None
    assert run.error.retryable


def test_an_output_that_was_not_left_is_a_failure(steps: Sandbox) -> None:
    run = steps.run(Code("x = 1", outputs=("y",)))
    assert run.error is not None
    assert (run.error.kind, run.error.retryable) == (ErrorKind.RESULT, True)
    assert "`y`" in run.error.message


def test_queries_run_outside_and_are_recorded(steps: Sandbox) -> None:
    code = """
a = db.sql("SELECT ?", [7])
b = pd.read_sql("SELECT ?", db_docs, params=[8])
x = int(a.n[0] + b.n[0])
"""
    run = steps.run(Code(code, outputs=("x",), databases=("sales", "docs")))
    assert run.scalars == {"x": 15}
    assert [(one.database, one.parameters, one.rows) for one in run.queries] == [
        ("sales", (7,), 1),
        ("docs", (8,), 1),
    ]
    assert run.queries[0].sha256 == table_of([("n", "number")], [[7]]).sha256


def test_more_rows_than_agreed_are_refused(steps: Sandbox) -> None:
    run = steps.run(
        Code("db.sql('SELECT ?, ?', [1, 2])", databases=("sales",)), limits=StepLimits(rows=1)
    )
    assert run.error is not None
    assert run.error.kind is ErrorKind.QUERY


@pytest.mark.examples
def test_a_picture_is_kept_as_png(steps: Sandbox) -> None:
    code = """
import matplotlib.pyplot as plt
plt.plot([1, 2])
plt.savefig("charts/growth.pdf")
plt.figure()
plt.plot([2, 1])
"""
    # A library that draws takes its time to load where other programs run.
    run = steps.run(Code(code), limits=StepLimits(seconds=60.0))
    assert run.error is None, run.error.traceback
    assert [plot.name for plot in run.plots] == ["growth", "figure_2"]
    assert all(plot.png.startswith(b"\x89PNG") for plot in run.plots)


@pytest.mark.parametrize(
    "code",
    [
        Code("x" * (1 << 20)),
        Code("1\0"),
        Code("1", outputs=("top 5",)),
        Code("1", inputs={"a-b": SALES}),
        Code("1", databases=("secret",)),
    ],
    ids=["long", "NUL", "output", "input", "database"],
)
def test_what_cannot_be_a_step_is_refused(steps: Sandbox, code: Code) -> None:
    with pytest.raises(ConstatError) as caught:
        steps.run(code)
    assert caught.value.diagnostics[0].code == "C0913"


def test_without_isolation_code_is_refused_unless_that_is_allowed() -> None:
    def nothing(level: Level) -> str:
        return "not here" if level.strong else ""

    with pytest.raises(ConstatError) as caught:
        choose_level(missing=nothing)
    assert caught.value.diagnostics[0].code == "C0910"
    with pytest.raises(ConstatError) as caught:
        choose_level(Level.NONE, missing=nothing)
    assert caught.value.diagnostics[0].code == "C0910"
    with pytest.raises(ConstatError) as caught:
        choose_level(Level.KERNEL, allow_none=True, missing=nothing)
    assert caught.value.diagnostics[0].code == "C0911"
    assert choose_level(allow_none=True, missing=nothing) is Level.NONE
    assert not Level.NONE.strong


def test_the_strongest_level_is_taken() -> None:
    assert choose_level(missing=lambda _: "") is Level.BUBBLEWRAP
    here = choose_level(missing=lambda level: "x" if level is Level.BUBBLEWRAP else "")
    assert here is Level.KERNEL
