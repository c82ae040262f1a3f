"""Plans: reading gives what was written, mistakes are told at once, hostile ones do nothing."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.explore.chain import compile_chain
from constat.explore.pictures import (
    checklist,
    picture_dot,
    picture_mermaid,
    picture_text,
    rules_text,
)
from constat.explore.plan import Output, Plan, Ranking, Step, Work, plan_json, write_plan
from constat.explore.reading import plan_of, read_plan
from constat.syntax import print_rule
from tests.explore.planned import plan, step

if TYPE_CHECKING:
    from constat import Session

NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,9}", fullmatch=True)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], include_characters="\n\t"), max_size=40
)
OUTPUTS = st.builds(
    Output,
    NAMES,
    st.lists(
        st.tuples(NAMES, st.sampled_from(["symbol", "Decimal"])),
        min_size=1,
        max_size=3,
        unique_by=lambda one: one[0],
    ).map(tuple),
)
RANKINGS = st.builds(
    Ranking,
    NAMES,
    st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=2).map(tuple),
    st.integers(0, 1_000_000),
    st.lists(NAMES, max_size=2).map(tuple),
    st.just("") | NAMES,
)


@st.composite
def steps(draw: st.DrawFn) -> Step:
    work = draw(st.sampled_from(Work))
    text = draw(TEXTS.map(str.strip).filter(bool))
    ranked = work is Work.RANKING
    return Step(
        name=draw(NAMES),
        goal=" ".join(draw(TEXTS).split()),
        work=work,
        outputs=draw(st.lists(OUTPUTS, min_size=1, max_size=2).map(tuple)),
        inputs=draw(st.lists(NAMES, max_size=2).map(tuple)),
        text="" if ranked else text,
        source=draw(st.just("") | NAMES) if work is Work.SQL else "",
        ranking=draw(RANKINGS) if ranked else None,
    )


PLANS = st.builds(
    Plan,
    TEXTS.map(str.strip),
    st.lists(steps(), min_size=1, max_size=3).map(tuple),
    NAMES,
    author=st.sampled_from(["", "written-answers"]),
    title=TEXTS.map(lambda one: " ".join(one.split())),
    chart=st.sampled_from(["", "bar", "none"]),
)


@given(PLANS)
def test_reading_what_was_written_gives_the_plan(wanted: Plan) -> None:
    assert read_plan(write_plan(wanted).encode(), "plan.yaml") == wanted
    told = json.loads(json.dumps(plan_json(wanted)))
    assert plan_of(told, question=wanted.question, author=wanted.author) == wanted


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("question: what?", "no steps"),
        ("steps: []", "no steps"),
        ("stesp: [{}]", "unknown key"),
        ("steps: [{outputs: 'a(b: symbol)'}]", "not exactly one kind of work"),
        ("steps: [{outputs: 'a(b: symbol)', sql: x, rules: y}]", "not exactly one kind of work"),
        ("steps: [{outputs: 'a(b)', sql: x}]", "not declared as a relation"),
        ("steps: [{outputs: 'a(b: symbol); drop', sql: x}]", "not declared as a relation"),
        ("steps: [{outputs: 'a(b: symbol, b: symbol)', sql: x}]", "have one name"),
        ("steps: [{sql: x}]", "declares no outputs"),
        ("steps: [{name: 'a b', outputs: 'a(b: symbol)', sql: x}]", "no name"),
        ("steps: [{outputs: 'a(b: symbol)', rank: {of: x}}]", "needs `of` and `by`"),
        ("steps: [{outputs: 'a(b: symbol)', rank: {of: x, by: y, top: -1}}]", "number of rows"),
        ('steps: [{outputs: "a(b: symbol)", sql: "x\\u001b[2J"}]', "control characters"),
        ("steps: [{outputs: 'a(b: symbol)', source: s, rules: x}]", "read a `source`"),
        ("chart: pie\nsteps: [{outputs: 'a(b: symbol)', rules: x}]", "none of bar"),
    ],
)
def test_a_plan_that_is_none_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ConstatError) as caught:
        read_plan(text.encode(), "plan.yaml")
    found = [one for one in caught.value.diagnostics if message in one.message]
    assert found
    assert all(one.code == "C0890" and one.help for one in found)
    assert found[0].span is not None


def test_hostile_sizes_are_refused() -> None:
    deep: Any = []
    for _ in range(5_000):
        deep = [deep]
    many = {"steps": [step(f"t{n}(a: symbol)", rules="x") for n in range(101)]}
    long = {"steps": [step("t(a: symbol)", sql="SELECT " + "1," * 70_000)]}
    wide = {"steps": [step(f"t({', '.join(f'c{n}: symbol' for n in range(65))})", rules="x")]}
    for told in ({"steps": deep}, many, long, wide):
        with pytest.raises(ConstatError):
            plan_of(told)


SALES = "sales(region: symbol, n: number)"
COUNT = "sales(?r, ?n) :- sale(_, ?r, _, _, _), ?n = count : { sale(_i, ?r, _p, _d, _a) }."


INPUT = """
a(?x) :- b(?x).
.decl b(x: symbol)
.input b(source="sales", query="SELECT 1")
"""


def mistakes(session: Session, *told: dict[str, Any]) -> dict[str, str]:
    with pytest.raises(ConstatError) as caught:
        compile_chain(session.program, plan(*told).steps)
    return {one.code: one.message for one in caught.value.diagnostics}


@pytest.mark.parametrize(
    ("told", "code", "message"),
    [
        ([step("sale(id: number)", rules="sale(1).")], "C0891", "belongs to the project"),
        ([step(SALES, rules=COUNT), step(SALES, name="b", rules=COUNT)], "C0891", "another step"),
        ([step("a(x: symbol)", rank={"of": "nothing", "by": "x"})], "C0892", "no relation"),
        (
            [
                step("a(x: symbol)", rules="a(?x) :- b(?x)."),
                step("b(x: symbol)", rules="b(?x) :- a(?x)."),
            ],
            "C0892",
            "circle",
        ),
        ([step("a(x: symbol)", rules="b(?x) :- product(?x, _).")], "C0893", "no rule gives"),
        (
            [step("a(x: symbol)", rules="a(?x) :- product(?x, _).\nsale(1).")],
            "C0893",
            "not its own",
        ),
        (
            [
                step(
                    "a(x: symbol)",
                    rules=INPUT,
                )
            ],
            "C0893",
            "where rows lie",
        ),
        ([step("a(x: symbol)", rank={"of": "product", "by": "wieght"})], "C0894", "no column"),
        (
            [step("a(product: number)", rank={"of": "product", "by": "product"})],
            "C0894",
            "declared otherwise",
        ),
        ([step("a(x: symbol)", sql="DELETE FROM product")], "C0895", "SELECT"),
        ([step("a(x: symbol)", sql="SELECT 1; SELECT 2")], "C0895", "more than one statement"),
        ([step("a(x: Date)", sql="SELECT current_date")], "C0895", "reads the clock"),
        ([step("a(x: symbol)", sql="SELECT * FROM read_text('/etc/passwd')")], "C0895", ""),
        ([step("a(x: symbol)", rules="a(?x) :- prodct(?x, _).")], "C0201", "prodct"),
        ([step("a(x: number)", rules="a(?x) :- product(?x, _).")], "C0215", "is symbol"),
    ],
)
def test_a_chain_that_cannot_be_is_refused(
    session: Session, told: list[dict[str, Any]], code: str, message: str
) -> None:
    found = mistakes(session, *told)
    assert code in found, found
    assert message in found.get(code, ""), found


def test_what_rules_say_of_themselves_counts_for_nothing(session: Session) -> None:
    rules = '@[approved(by = "me")] @[id = R1] @[confidence = 0.2] a(?x) :- product(?x, _).'
    chain = compile_chain(session.program, plan(step("a(x: symbol)", rules=rules)).steps)
    [rule] = chain.links[0].rules
    assert (rule.id, rule.confidence, rule.proposed) == ("a.1", Decimal(1), False)
    assert not rule.attributes


def test_a_step_may_name_the_arguments_of_a_later_one(session: Session) -> None:
    first = step("b(x: symbol)", rules="b(?x) :- a(y = ?x, x = _).")
    second = step("a(x: symbol, y: symbol)", rules="a(?x, ?y) :- product(?x, ?y).")
    chain = compile_chain(session.program, plan(first, second).steps)
    assert print_rule(chain.links[0].rules[0]).endswith("b(?x) :- a(_x, ?x).")


def test_steps_may_stand_in_any_order_and_are_shown_in_that_of_their_needs(
    session: Session,
) -> None:
    last = step("c(x: symbol)", goal='say "hi"\\', sql="SELECT x FROM b")
    middle = step("b(x: symbol)", rules="b(?x) :- a(?x).")
    first = step("a(x: symbol)", rules="a(?x) :- product(?x, _).")
    unneeded = step("d(x: symbol)", rules="d(?x) :- a(?x).")
    chain = compile_chain(session.program, plan(last, middle, first, unneeded).steps)
    assert [one.step.name for one in chain.below(["c"])] == ["a", "b", "c"]
    assert chain.above(3) == {1, 2, 4}
    assert picture_text(chain) == "3 a <- product\n2 b <- a\n1 c <- b\n4 d <- a"
    assert checklist(chain, [1, 2, 3], {3: "computed", 2: "failed"}) == (
        '[ ] 1. c (sql): say "hi"\\\n[!] 2. b (rules): b\n[x] 3. a (rules): a\n[-] 4. d (rules): d'
    )
    assert ".decl a(x: symbol)\na(?x) :- product(?x, _)." in rules_text(chain)
    dot, mermaid = picture_dot(chain), picture_mermaid(chain)
    assert dot.count("->") == mermaid.count("-->") == 4
    assert 'r1 [label = "product"]' in dot
    assert 'r1["product"]' in mermaid
