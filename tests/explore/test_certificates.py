"""Certificates of explored answers: what they show, and forged ones that two checkers refuse."""

from __future__ import annotations

import copy
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat import Session
from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.engine import LazyEngine
from constat.evaluation import Limits, Verdict
from constat.explore import proofs
from constat.explore.chain import compile_chain
from constat.explore.plan import PlanWord, ranking_query
from constat.explore.relations import Computed, Relation, sorted_rows
from constat.explore.sandbox import Level, unavailable
from constat.explore.tables import OutputRequest, TableLimits, select
from constat.proof import build_certificate, decide
from constat.proof.report.markup import checker_source
from constat.session import exploring
from tests.check.writer import rows_hash, seal
from tests.explore.planned import Scripted, call, plan, step
from tests.explore.worlds import TODAY
from tests.report.checker.second_checker import SecondChecker, node

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.explore.answered import Explored
    from constat.explore.plan import Plan

Tree = dict[str, Any]
CONFINED: Final = not (unavailable(Level.BUBBLEWRAP) and unavailable(Level.KERNEL))

TOTALS = step(
    "totals(region: symbol, product: symbol, total: Decimal)",
    rules="totals(?r, ?p, ?t) :-"
    " sale(_, ?r, ?p, _, _), ?t = sum ?a : { sale(_i, ?r, ?p, _d, ?a) }.",
)
BEST = step(
    "best(region: symbol, product: symbol, total: Decimal)",
    rank={"of": "totals", "by": "total desc", "top": 3},
)
SHARES = step(
    "shares(region: symbol, percent: Decimal)",
    inputs=["totals"],
    sql="SELECT region, round(100 * sum(total) / (SELECT sum(total) FROM totals), 1) FROM totals"
    " GROUP BY region",
)
HIGHEST = step(
    "highest(region: symbol, most: Decimal)",
    inputs=["totals"],
    python="store.put('highest', store.get('totals').groupby('region', as_index=False)"
    ".agg(most=('total', 'max')))",
)
BOTH = step(
    "both(region: symbol, percent: Decimal, best: symbol)",
    rules="both(?r, ?s, ?p) :- shares(?r, ?s), best(?r, ?p, _).",
)


@pytest.fixture(scope="module")
def answers(still_regions: Path) -> Iterator[dict[str, Explored]]:
    """Give answers by rules, a ranking, a SELECT and code, by a person's plan and a model's."""
    with Session(still_regions) as session:
        found = {
            "ranked": session.solve("best?", plan=plan(TOTALS, BEST), today=TODAY),
            "selected": session.solve(
                "shares?", plan=plan(TOTALS, BEST, SHARES, BOTH), today=TODAY
            ),
        }
        written = call("propose_plan", steps=[TOTALS, BEST], answer="best")
        client = Scripted.of(written, "The result is in the table.")
        found["drafted"] = session.solve("best?", client=client, today=TODAY)
        if CONFINED:
            found["coded"] = session.solve("highest?", plan=plan(TOTALS, HIGHEST), today=TODAY)
        yield found


def tree_of(explored: Explored) -> Tree:
    found: Tree = json.loads(explored.certificate)
    return found


def source_of(tree: Tree, predicate: str) -> Tree:
    group = next(one for one in tree["facts"] if one["predicate"] == predicate)
    found: Tree = tree["sources"][group["source"]]
    return found


def rows_of(tree: Tree, predicate: str) -> list[list[str]]:
    found: list[list[str]] = next(
        one["rows"] for one in tree["facts"] if one["predicate"] == predicate
    )
    return found


def put_rows(tree: Tree, predicate: str, rows: list[list[str]]) -> None:
    """Put rows into a group, and make its source say that these are all."""
    rows_of(tree, predicate)[:] = sorted(rows)
    source = source_of(tree, predicate)
    source["rows"], source["hash"] = len(rows), rows_hash(rows)


def test_each_kind_of_answer_is_proved_and_says_on_whose_word(
    answers: dict[str, Explored],
) -> None:
    verdicts = {name: one.proof.verdict for name, one in answers.items()}
    under = Verdict.PROVED_UNDER
    wanted = {"ranked": Verdict.PROVED, "selected": under, "drafted": under, "coded": under}
    assert verdicts == {name: wanted[name] for name in answers}
    for explored in answers.values():
        report = check_certificate(explored.certificate)
        assert report.accepted, report.reason
        assert report.identity == explored.proof.identity
    drafted = check_certificate(answers["drafted"].certificate)
    assert "is only proposed" in drafted.under[0]
    assert all("plan." in one for one in drafted.under)


def test_a_select_over_steps_is_attested_with_its_text_and_all_that_it_read(
    answers: dict[str, Explored],
) -> None:
    tree = tree_of(answers["selected"])
    source, given = source_of(tree, "shares"), source_of(tree, "stated_totals")
    assert (source["origin"], source["tier"]) == ("SUB_PLAN", "exploration")
    assert source["query"] == SHARES["sql"]
    assert source["parameters"] == [f"totals: {given['rows']:,} rows, {given['hash']}"]
    agent = source["attestation"]["agent"]
    assert (agent["kind"], agent["name"]) == ("service", "DuckDB")
    assert source["attestation"]["response"] == source["hash"]
    # What was read is derived again from the rows of the source.
    assert {one["head"][0] for one in tree["rules"]} >= {"totals", "whole_totals"}


@pytest.mark.skipif(not CONFINED, reason="nothing here keeps code in")
def test_code_is_attested_with_its_hash_and_what_kept_it_in(answers: dict[str, Explored]) -> None:
    word = source_of(tree_of(answers["coded"]), "highest")["attestation"]
    assert word["agent"]["name"] == "Python"
    assert word["note"] in {"sandbox: bubblewrap", "sandbox: landlock"}
    assert answers["coded"].steps[1].level in word["note"]


# --------------------------------------------------------------------------------- forgeries


def altered_row(tree: Tree) -> None:
    rows = rows_of(tree, "stated_best")
    put_rows(tree, "stated_best", [[*rows[0][:2], "1"], *rows[1:]])


def dropped_row(tree: Tree) -> None:
    rows = rows_of(tree, "stated_best")
    put_rows(tree, "stated_best", rows[1:])


def dropped_row_and_another_goal(tree: Tree) -> None:
    dropped_row(tree)
    tree["header"]["goal"][1] = ["2"]
    for one in tree["nodes"]:
        if one["fact"][1] == ["3"]:
            one["fact"][1] = ["2"]
            one["bind"] = ["2" if cell == "3" else cell for cell in one["bind"]]


def another_threshold(tree: Tree) -> None:
    """The first two where three were asked for: the rule says so, and the plan's rule does not."""
    text = json.dumps(tree["rules"]).replace('["c", "number", "3"]', '["c", "number", "2"]')
    tree["rules"] = json.loads(text)


def relabelled(tree: Tree) -> None:
    source_of(tree, "shares")["origin"] = "DATABASE"


def relabelled_without_a_word(tree: Tree) -> None:
    relabelled(tree)
    source_of(tree, "shares")["attestation"] = None


def another_text(tree: Tree) -> None:
    source_of(tree, "shares")["attestation"]["agent"]["digest"] = "sha256:" + "0" * 64


def other_rows_of_a_select(tree: Tree) -> None:
    """A row of what DuckDB gave is another one, and its source says so."""
    rows = rows_of(tree, "shares")
    put_rows(tree, "shares", [[rows[0][0], "99"], *rows[1:]])


def other_rows_read(tree: Tree) -> None:
    rows = rows_of(tree, "stated_totals")
    put_rows(tree, "stated_totals", [[*rows[0][:2], "1"], *rows[1:]])


def certain(tree: Tree) -> None:
    """Nobody is told that the plan is a draft."""
    tree["header"].update(verdict="PROVED", under=[])


def approved_by_nobody(tree: Tree) -> None:
    one = {"at": "2026-01-01T00:00:00.000000Z", "by": "ada", "key": None}
    tree["header"]["approvals"] = [{**one, "rule": "sha256:" + "0" * 64}]


FORGERIES: Final[dict[Callable[[Tree], None], tuple[str, str]]] = {
    altered_row: ("ranked", "aggregate"),
    dropped_row: ("ranked", "aggregate"),
    dropped_row_and_another_goal: ("ranked", "aggregate"),
    another_threshold: ("ranked", "comparison"),
    relabelled: ("selected", "attestation"),
    relabelled_without_a_word: ("selected", "attestation"),
    another_text: ("selected", "attestation"),
    other_rows_of_a_select: ("selected", "attestation"),
    other_rows_read: ("selected", "aggregate"),
    certain: ("drafted", "assumption"),
    approved_by_nobody: ("drafted", "approval"),
}


def test_a_forged_certificate_of_an_answer_is_refused_by_both_checkers(
    answers: dict[str, Explored],
) -> None:
    found, forged = {}, []
    for forge, (name, code) in FORGERIES.items():
        tree = copy.deepcopy(tree_of(answers[name]))
        forge(tree)
        content = seal(tree)
        forged.append(content)
        found[forge.__name__] = check_certificate(content).code, code
    assert {name: one for name, (one, _) in found.items()} == {
        name: wanted for name, (_, wanted) in found.items()
    }
    if node() is not None:
        with closing(SecondChecker(checker_source())) as second:
            right = [second.check(one.certificate) for one in answers.values()]
            assert [one["accepted"] for one in right] == [True] * len(answers)
            assert [second.check(one)["accepted"] for one in forged] == [False] * len(forged)


# --------------------------------------------------------------------------------- rankings

RANKED = "ranked(team: symbol, name: symbol, points: number, extra: float, late: Bool)"


def ranked_rows(chance: random.Random) -> list[tuple[Any, ...]]:
    teams, flags = ("red", "blue", "Ärger")[: chance.randrange(1, 4)], ("true", "false")
    return [
        (
            *(chance.choice(teams), f"n{number}", chance.randrange(-2, 3)),
            *(float(chance.randrange(2)), chance.choice(flags)),
        )
        for number in range(chance.randrange(9))
    ]


def random_ranking(chance: random.Random) -> Plan:
    columns = chance.sample(["points", "extra", "late", "name"], chance.randrange(1, 4))
    rank: Tree = {
        "of": "ranked",
        "by": [f"{one} {chance.choice(['asc', 'desc'])}" for one in columns],
    }
    if chance.random() < 0.7:
        rank["top"] = chance.randrange(1, 4)
    if chance.random() < 0.5:
        rank["within"] = ["team"]
    place = chance.choice(["", "place: number, ", "place: unsigned, "])
    if place:
        rank["place"] = "place"
    given = step(RANKED, python="pass")
    return plan(given, step(f"first({place}name: symbol, team: symbol)", rank=rank))


def proved(session: Session, made: Plan, rows: dict[str, Any]) -> tuple[Verdict, bytes]:
    chain = compile_chain(session.program, made.steps)
    computed = {
        name: Computed(name, "Python", "3", "pass", (), "2026-01-01T00:00:00.000000Z")
        for name in rows
    }
    known = proofs.Known(rows, computed, "2026-01-01T00:00:00.000000Z")
    found = proofs.proof_program(chain, made, known, PlanWord())
    decision = decide(LazyEngine(), found.program, found.goal, found.given, Limits())
    content = build_certificate(
        decision, created="2026-01-01T00:00:00.000000Z", engine_version="test"
    )
    return decision.verdict, content


@pytest.mark.sampled(3)
@pytest.mark.parametrize("stating", [False, True], ids=["counting", "stating where the first end"])
@pytest.mark.parametrize("seed", range(12))
def test_the_rules_of_a_ranking_give_what_duckdb_gives(
    session: Session, seed: int, *, stating: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ranking is proved of exactly the rows that the SELECT gives, of one less or more not."""
    if stating:
        monkeypatch.setattr(proofs, "COUNTED_PAIRS", -1)
    chance = random.Random(seed)
    made, rows = random_ranking(chance), ranked_rows(chance)
    chain = compile_chain(session.program, made.steps)
    ranked, first = (link.step for link in chain.links)
    predicates = chain.analysed.program.predicates
    relation = Relation(ranked.outputs[0], predicates["ranked"].kinds, sorted_rows(rows))
    assert first.ranking is not None
    wanted = OutputRequest(first.outputs[0], predicates["first"].kinds, 100, TableLimits(), False)
    found = select(ranking_query(first, first.ranking), {"ranked": relation}, wanted)
    right = list(found.rows)
    verdict, content = proved(session, made, {"ranked": relation.rows, "first": right})
    assert verdict is Verdict.PROVED_UNDER
    assert check_certificate(content).accepted
    rules = {one["head"][0] for one in json.loads(content)["rules"]}
    # Stated ends are used where there is a first part to end.
    assert ("near_first" in rules) == (stating and bool(first.ranking.top))
    wrong = [right[1:]] if right else []
    added = (*([9] if first.ranking.place else []), "nobody", "red")
    for other in (*wrong, [*right, added]):
        assert proved(session, made, {"ranked": relation.rows, "first": other})[0] not in {
            Verdict.PROVED,
            Verdict.PROVED_UNDER,
        }


def test_an_end_that_is_stated_too_early_proves_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the first are said to end before as many are there, the group is short of rows."""
    monkeypatch.setattr(proofs, "COUNTED_PAIRS", -1)
    made = plan(
        step("r(name: symbol, points: number)", python="pass"),
        step("first(name: symbol)", rank={"of": "r", "by": "points desc", "top": 2}),
    )
    rows = [("a", 3), ("b", 2), ("c", 1)]
    _, content = proved(session, made, {"r": rows, "first": [("a",), ("b",)]})
    tree = json.loads(content)
    assert rows_of(tree, "ends_first") == [["2"]]
    put_rows(tree, "ends_first", [["3"]])
    put_rows(tree, "stated_first", [["a"]])
    assert not check_certificate(seal(tree)).accepted
    # The whole proof made anew from the false end fails as well.
    monkeypatch.setattr("constat.explore.proofs._Top.ends", lambda _, rows: (((3,),), len(rows)))
    verdict, _ = proved(session, made, {"r": rows, "first": [("a",)]})
    assert verdict in {Verdict.DISPROVED, Verdict.DISPROVED_UNDER}


# --------------------------------------------------------------------------- keeping and asking


def test_a_certificate_is_kept_with_the_answer_and_handed_out_after_the_sources_changed(
    session: Session, regions: Path
) -> None:
    explored = session.solve("best?", plan=plan(TOTALS, BEST), today=TODAY)
    again = session.resume()
    assert again.certificate == explored.certificate
    # Proved anew it is the same proof, but for the time.
    anew = session.resume(certify=True)
    assert anew.certificate != explored.certificate
    assert anew.proof.identity == explored.proof.identity
    with closing(sqlite3.connect(regions / "sales.sqlite")) as connection:
        connection.execute("INSERT INTO sales VALUES (900, 'North', 'pen', '2024-01-01', '99999')")
        connection.commit()
    assert session.kept_certificate(explored.exploration) == anew.certificate
    changed = session.resume()
    assert changed.rows != explored.rows
    assert check_certificate(changed.certificate).accepted
    assert changed.proof.identity != explored.proof.identity


def test_an_answer_without_a_certificate_says_why(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exploring, "MOST_STATED_ROWS", 100)
    monkeypatch.setattr(exploring, "UNASKED_ROWS", 300)
    everything = step("all(id: number)", rules="all(?i) :- sale(?i, _, _, _, _).")
    explored = session.solve("all?", plan=plan(everything), today=TODAY)
    assert explored.certificate == b""
    assert "more rows were read" in explored.proof.why
    asked = session.resume(certify=True)
    assert (asked.rows, asked.verdict, asked.exit_code) == (explored.rows, None, 4)
    assert "a proof states 100 at most" in asked.proof.why
    assert session.history[-1].questions[0].status == "answered"
    with pytest.raises(ConstatError) as caught:
        session.kept_certificate()
    assert [one.code for one in caught.value.diagnostics] == ["C0951"]


def test_names_and_questions_of_a_plan_are_nobody_elses_business(session: Session) -> None:
    """Steps may be called what the proof calls its own, and a question is no template."""
    answer = step(
        "explored_answer(rows: symbol, stated: number)",
        rules="explored_answer(?r, ?n) :-"
        " sale(_, ?r, _, _, _), ?n = count : { sale(_i, ?r, _p, _d, _a) }.",
    )
    whole = step(
        "whole_explored_answer(rows: symbol, rows_: number)",
        inputs=["explored_answer"],
        sql="SELECT rows, max(stated) FROM explored_answer GROUP BY rows",
    )
    ranked = step(
        "explored_rows(rows: symbol, place: number)",
        rank={"of": "whole_explored_answer", "by": ["rows_ desc"], "top": 2, "place": "place"},
    )
    made = plan(answer, whole, ranked)
    report = check_certificate(session.solve("is {x} in }{ \\?", plan=made).certificate)
    assert (report.accepted, report.goal) == (True, "explored_answer_(2)")
    nothing = step(
        "nothing(rows: symbol)",
        inputs=["explored_rows"],
        sql="SELECT rows FROM explored_rows WHERE place > 5",
    )
    report = check_certificate(session.follow_up("and?", plan=plan(nothing)).certificate)
    assert (report.accepted, report.goal) == (True, "explored_answer_(0)")


def test_an_answer_that_its_sources_do_not_give_is_not_proved(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_a_row(chain: Any, made: Any, known: Any, word: Any) -> Any:  # noqa: ANN401
        rows = {**known.relations, "best": known.relations["best"][1:]}
        return proofs.proof_program(chain, made, replace(known, relations=rows), word)

    monkeypatch.setattr(exploring, "proof_program", without_a_row)
    explored = session.solve("best?", plan=plan(TOTALS, BEST), today=TODAY)
    assert len(explored.rows) == 3
    assert explored.certificate == b""
    assert "do not give these rows" in explored.proof.why
    assert session.resume(certify=True).exit_code == 4


def test_a_project_may_make_certificates_only_when_asked(regions: Path) -> None:
    with (regions / "constat.yaml").open("a") as file:
        file.write("explore: {certificates: false}\n")
    with Session(regions) as session:
        explored = session.solve("best?", plan=plan(TOTALS, BEST), today=TODAY)
        assert (explored.certificate, explored.proof.verdict) == (b"", None)
        asked = session.resume(certify=True)
        assert check_certificate(asked.certificate).accepted


def test_the_relations_of_a_plan_are_none_that_the_project_has_lost(
    session: Session, regions: Path
) -> None:
    certificate = session.solve("best?", plan=plan(TOTALS, BEST), today=TODAY).certificate
    report = session.verify_source(certificate)
    (told,) = report.rules
    assert told.startswith(
        "it is the answer of a plan, whose own relations are none of the project"
    )
    assert "best, " in told
    assert "`constat solve --plan FILE`" in told
    assert report.exit_code == 1
    assert all("stated_best" in one.text or "the answer: " in one.text for one in report.drift)
    # What the project has is read again.
    with closing(sqlite3.connect(regions / "sales.sqlite")) as connection:
        connection.execute("DELETE FROM sales WHERE id = 1")
        connection.commit()
    texts = [one.text for one in session.verify_source(certificate).drift if one.status == "gone"]
    assert [one[:5] for one in texts] == ["sale("]
