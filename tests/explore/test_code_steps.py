"""Steps of Python: in the sandbox, with typed outputs, mended where their text is wrong."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from constat import Session
from constat.diagnostics import ConstatError
from constat.explore.events import StepFailed, StepStarted
from constat.explore.relations import Settlement
from constat.explore.sandbox import Level, unavailable
from constat.store.tables import DataStore
from tests.explore.planned import Scripted, call, plan, step, told

if TYPE_CHECKING:
    from pathlib import Path

if unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL):
    pytest.skip("nothing here keeps code in", allow_module_level=True)

RIGHT = """
sales = store.get("sale")
found = sales.groupby("region", as_index=False).agg(total=("amount", "sum"))
store.put("totals", found)
store.put("rows", int(len(sales)))
print("groups:", len(found))
"""
PUT = "store.put('totals', pd.DataFrame("
MISSPELT = RIGHT.replace('("amount"', '("amuont"')
OUTPUT = "totals(region: symbol, total: Decimal)"


def coded(text: str, output: str = OUTPUT, source: str = "") -> dict[str, Any]:
    more = {"source": source} if source else {}
    return step(output, inputs=["sale"], python=text, **more)


def test_code_gives_a_typed_relation_that_rests_on_the_code(session: Session) -> None:
    ranked = step("best(region: symbol)", rules="best(?r) :- totals(?r, ?t), ?t > 0.")
    explored = session.solve("totals?", plan=plan(coded(RIGHT), ranked))
    assert len(explored.rows) == 4
    assert explored.settlement is Settlement.UNDER
    assert "code of step `totals`" in explored.assumptions[0].text
    assert explored.steps[0].level in {"bubblewrap", "landlock"}
    exact = step(
        "exact(region: symbol, total: Decimal)",
        rules="exact(?r, ?t) :- sale(_, ?r, _, _, _), ?t = sum ?a : { sale(_i, ?r, _p, _d, ?a) }.",
    )
    rules = session.follow_up("exactly?", plan=plan(exact))
    store = DataStore(session.project.state, explored.exploration)
    assert list(store.table("totals").iterate()) == list(store.table("exact").iterate())
    assert rules.settlement is Settlement.CERTAIN
    # What it said, and its variables, are kept with the code.
    assert store.state() == {"rows": 240}
    kinds = {one.kind: store.content(one) for one in store.artifacts(step=1)}
    assert kinds["output"] == b"groups: 4\n"
    assert kinds["code"].decode() == RIGHT.strip()
    events: list[object] = []
    session.resume(observe=events.append)
    assert told(events, StepStarted) == []


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize("leave", [False, True])
def test_a_misspelt_column_goes_back_with_its_line_and_variables(
    regions: Path,
    leave: bool,  # noqa: FBT001
) -> None:
    if leave:
        with (regions / "constat.yaml").open("a") as file:
            file.write("authoring: {facts: true}\n")
    client = Scripted.of(call("rewrite_step", text=RIGHT))
    events: list[object] = []
    with Session(regions) as session:
        explored = session.solve(
            "totals?", plan=plan(coded(MISSPELT)), mend=True, client=client, observe=events.append
        )
    assert len(explored.rows) == 4
    [failure] = told(events, StepFailed)
    assert (failure.kind, failure.retryable) == ("missing column", True)
    said = client.asked[0].turns[0].text
    assert "amuont" in said
    assert "in line 2 of the step" in said
    # Traces and variables hold values of data.
    assert ("Traceback" in said) is leave
    assert ("DataFrame of" in said) is leave


@pytest.mark.sampled(2, "laws")
@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import os\nos.listdir('/')", "blocked import"),
        ("store.put('totals', pd.DataFrame({'region': ['a'], 'totl': [1]}))", "result"),
        *(
            pytest.param(text, kind, marks=pytest.mark.slow)
            for text, kind in (
                ("found = (", "syntax"),
                ('x = "hello" + 123', "type"),
                (f"{PUT} {{'region': ['a', 'a'], 'total': [1, 1]}}))", "result"),
                (f"{PUT} {{'region': ['a'], 'total': [None]}}))", "result"),
                ("while True: pass", "timeout"),
            )
        ),
    ],
)
def test_code_that_fails_says_how(session: Session, regions: Path, text: str, kind: str) -> None:
    events: list[object] = []
    if kind == "timeout":
        written = (regions / "constat.yaml").read_text()
        (regions / "constat.yaml").write_text(written + "explore: {seconds: 2}\n")
    client = Scripted.of(call("rewrite_step", text=RIGHT))
    # After a correction there is an answer; without one there is none.
    with suppress(ConstatError):
        session.solve(
            "totals?", plan=plan(coded(text)), mend=True, client=client, observe=events.append
        )
    [failure] = told(events, StepFailed)
    assert failure.kind == kind
    # What asked for what is not allowed is not tried again.
    assert len(client.asked) == (0 if kind in {"blocked import", "timeout"} else 1)


def test_code_asks_only_the_databases_that_it_names(session: Session) -> None:
    text = """
found = db_sales.sql("SELECT region, count(*) AS n FROM sales GROUP BY region")
store.put("counts", found)
"""
    output = "counts(region: symbol, n: number)"
    explored = session.solve("counts?", plan=plan(coded(text, output, source="sales")))
    assert len(explored.rows) == 4
    for wrong in ("", "crm"):
        with pytest.raises(ConstatError):
            session.solve("counts?", plan=plan(coded(text, output, source=wrong)))


def test_a_project_may_have_no_code_at_all(regions: Path) -> None:
    text = (regions / "constat.yaml").read_text()
    (regions / "constat.yaml").write_text(text + "explore: {python: false}\n")
    with Session(regions) as session, pytest.raises(ConstatError) as caught:
        session.solve("totals?", plan=plan(coded(RIGHT)))
    assert "explore: {python: true}" in caught.value.diagnostics[0].help
