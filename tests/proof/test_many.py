"""Several proofs of a goal: sorted, distinct, each accepted by the checker, and none left out."""

from __future__ import annotations

import json
from itertools import pairwise, product
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.engine import LazyEngine
from constat.evaluation import Answer, Demand, Limits, Portion, Verdict
from constat.proof.levels import Ranking
from constat.proof.proofs import RuleNode
from constat.proof.topk import Effort
from constat.session.many_proofs import Proofs, decide_many
from tests.proof.asking import (
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    checked,
    goal_of,
    matches,
    reach_tables,
    vip_tables,
)
from tests.property.strategies import Case, cases
from tests.property.tables import Manner, tables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.analysis import AnalysedProgram
    from constat.proof import Decision

HEAD = '.decl e(a: number, b: number)\n.input e(source = "s", query = "q")\n'
MANNERS = st.builds(Manner, st.booleans(), st.booleans(), st.booleans())
Rule = tuple[str, tuple[str, ...], str]


def many(
    program: AnalysedProgram,
    goal: str,
    tables: dict[str, Table],
    ranking: Ranking = Ranking.HEIGHT,
    effort: Effort | None = None,
) -> Proofs:
    """Give the proofs of a goal."""
    externals = {name: tables.get(name, Table()) for name in program.external}
    atom = goal_of(program, goal)
    return decide_many(
        LazyEngine(), program, atom, externals, Limits(), ranking=ranking, effort=effort
    )


def listed(proofs: Proofs) -> list[Decision]:
    """Give all proofs, each accepted by the checker with the verdict and confidence it claims."""
    found = []
    for one in proofs:
        report = checked(certificate(one))
        assert report.verdict == one.verdict.value
        assert (report.confidence or "").removeprefix("at least ") == str(one.confidence)
        found.append(one)
    return found


@st.composite
def ground_rules(draw: st.DrawFn) -> tuple[list[Rule], dict[str, str]]:
    """Give rules between ground atoms d(0) to d(4) and leaves e(0) to e(2), with confidences."""
    atoms = [f"d({n})" for n in range(5)] + [f"e({n})" for n in range(3)]
    shares = st.sampled_from(["1", "1", "0.9", "0.5"])
    body = st.lists(st.sampled_from([*atoms, *atoms[5:]]), min_size=1, max_size=2, unique=True)
    rules = draw(st.lists(st.tuples(st.integers(0, 4), body, shares), min_size=5, max_size=12))
    found = {(f"d({head})", tuple(body)): share for head, body, share in rules}
    leaves = {f"e({n})": draw(st.sampled_from(["1", "0.9", "0.7"])) for n in range(3)}
    return [(head, body, share) for (head, body), share in found.items()], leaves


def text_of(rules: list[Rule]) -> str:
    lines = [HEAD.replace("e(a: number, b: number)", "e(a: number)"), ".decl d(a: number)\n"]
    for number, (head, body, share) in enumerate(rules):
        worth = "" if share == "1" else f" @[confidence = {share}]"
        lines.append(f"@[id = R{number}]{worth}\n{head} :- {', '.join(body)}.\n")
    return "".join(lines)


def millions(text: str) -> int:
    return round(float(text) * 1_000_000)


def brute_force(
    rules: list[Rule], leaves: dict[str, str], goal: str
) -> dict[frozenset[tuple[str, int]], tuple[int, int, int]]:
    """Give every choice of a rule for each fact that is used, without a circle, with its worth."""
    by_head: dict[str, list[int]] = {}
    for number, (head, _, _) in enumerate(rules):
        by_head.setdefault(head, []).append(number)
    found = {}
    heads = sorted(by_head)
    for numbers in product(*(by_head[head] for head in heads)):
        choice = dict(zip(heads, numbers, strict=True))
        worth = weighed(goal, choice, rules, leaves, ())
        if worth is not None:
            used = set(reached(goal, choice, rules))
            found[frozenset((head, choice[head]) for head in used if head in choice)] = worth
    return found


def reached(goal: str, choice: dict[str, int], rules: list[Rule]) -> Iterator[str]:
    yield goal
    for below in rules[choice[goal]][1] if goal in choice else ():
        yield from reached(below, choice, rules)


def weighed(
    fact: str,
    choice: dict[str, int],
    rules: list[Rule],
    leaves: dict[str, str],
    above: tuple[str, ...],
) -> tuple[int, int, int] | None:
    if fact in leaves:
        return millions(leaves[fact]), 0, 1
    if fact in above or fact not in choice:
        return None
    _, body, share = rules[choice[fact]]
    below = [weighed(one, choice, rules, leaves, (*above, fact)) for one in body]
    known = [one for one in below if one is not None]
    if len(known) < len(below):
        return None
    least = min(one[0] for one in known) * millions(share) // 1_000_000
    return least, 1 + max(one[1] for one in known), 1 + sum(one[2] for one in known)


def shape_of(decision: Decision) -> frozenset[tuple[str, int]]:
    """Give which rule proves each derived fact."""
    rules = decision.reading.program.rules
    return frozenset(
        (f"d({row[0]})", int(rules[node.rule].id.removeprefix("R")))
        for (_, row), node in decision.proof.nodes.items()
        if isinstance(node, RuleNode)
    )


@pytest.mark.parametrize("ranking", list(Ranking))
@settings(max_examples=30)
@given(drawn=ground_rules())
def test_the_list_is_sorted_distinct_sound_and_complete(
    ranking: Ranking, drawn: tuple[list[Rule], dict[str, str]]
) -> None:
    rules, leaves = drawn
    said = tuple(((n,), leaves[f"e({n})"]) for n in range(3) if leaves[f"e({n})"] != "1")
    plain = tuple((n,) for n in range(3) if leaves[f"e({n})"] == "1")
    tables = {"e": Table(plain, said)}
    program = analysed(text_of(rules))
    goal = rules[0][0]
    expected = brute_force(rules, leaves, goal)
    proofs = many(program, goal, tables)
    if not expected:
        assert proofs.first.verdict not in {Verdict.PROVED, Verdict.PROVED_UNDER}
        return
    if proofs.first.verdict is Verdict.PROVED:
        # Its proofs are those that rest on nobody's word and on no doubtful rule.
        doubtful = {number for number, rule in enumerate(rules) if rule[2] != "1"}
        sure = {f"e({n})" for (n,) in plain}
        expected = {
            shape: worth
            for shape, worth in expected.items()
            if not doubtful & {number for _, number in shape}
            and all(one in sure or one.startswith("d") for _, n in shape for one in rules[n][1])
        }
    found = listed(many(program, goal, tables, ranking))
    shapes = [shape_of(one) for one in found]
    assert set(shapes) == set(expected)
    assert len(shapes) == len(expected)
    place = 1 if ranking is Ranking.HEIGHT else 2
    ranks = [(-expected[shape][0], expected[shape][place]) for shape in shapes]
    assert ranks == sorted(ranks)
    assert [millions(str(one.confidence)) for one in found] == [-rank[0] for rank in ranks]


def chain(names: str) -> list[Rule]:
    """Give rules from each number to the next: `3 2 e0` are d(3) :- d(2) and d(2) :- e(0)."""
    atoms = [f"e({one[1:]})" if one[0] == "e" else f"d({one})" for one in names.split()]
    return [(head, (body,), "1") for head, body in pairwise(atoms)]


def test_a_fact_that_is_needed_with_two_confidences_does_not_disturb_the_order() -> None:
    # d(1) is needed with 0.9 by the rule of 0.9 and with 0.81 by the other: the lower derivation
    # does for the second only, so no proof is as low as each part by itself would allow.
    rules: list[Rule] = [
        ("d(0)", ("d(2)", "d(3)"), "1"),
        ("d(2)", ("d(1)",), "0.9"),
        *chain("3 4 5 1"),
        *chain("1 e0"),
        *chain("1 6 7 e1"),
        # Another way, by a fact that is surer and higher than it has to be, or just sure enough.
        ("d(0)", ("d(8)", "d(9)"), "1"),
        *chain("9 e2"),
        *chain("8 10 11 12 13 14 15 16 e3"),
        *chain("8 20 21 22 23 e4"),
    ]
    leaves = {"e(0)": "0.85", "e(1)": "0.9", "e(2)": "0.81", "e(3)": "1", "e(4)": "0.9"}
    expected = brute_force(rules, leaves, "d(0)")
    said = tuple(((int(leaf[2]),), share) for leaf, share in leaves.items())
    found = listed(many(analysed(text_of(rules)), "d(0)", {"e": Table(said=said)}))
    worth = [expected[shape_of(one)] for one in found]
    assert [(one[0], one[1]) for one in worth] == [
        (810_000, 6),
        (810_000, 7),
        (810_000, 9),
        (765_000, 5),
    ]


def paths(edges: frozenset[tuple[int, int]], start: int, end: int) -> list[tuple[int, ...]]:
    """Give the walks from start to end that come to no node twice but perhaps back to the start."""
    found: list[tuple[int, ...]] = []
    waiting: list[tuple[int, ...]] = [(start,)]
    while waiting:
        walk = waiting.pop()
        for one, other in edges:
            if one == walk[-1]:
                if other == end:
                    found.append((*walk, other))
                if other not in walk[1:] and other != end:
                    waiting.append((*walk, other))
    return found


@settings(max_examples=15)
@given(
    edges=st.frozensets(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=7),
    end=st.integers(0, 3),
)
def test_a_proof_of_a_path_is_a_path_without_a_circle(
    edges: frozenset[tuple[int, int]], end: int
) -> None:
    text = HEAD + ".decl p(a: number, b: number)\np(?a, ?b) :- e(?a, ?b).\n"
    text += "p(?a, ?c) :- p(?a, ?b), e(?b, ?c).\n"
    expected = sorted(len(one) - 1 for one in paths(edges, 0, end))
    proofs = listed(many(analysed(text), f"p(0, {end})", {"e": Table(tuple(edges))}))
    if expected:
        derived = [sum(fact[0] == "p" for fact in one.proof.nodes) for one in proofs]
        assert derived == expected
    else:
        assert [one.verdict for one in proofs] == [Verdict.DISPROVED]


def test_a_goal_with_a_variable_has_the_proofs_of_all_its_answers() -> None:
    text = HEAD + ".decl p(a: number)\np(?a) :- e(?a, _).\np(?b) :- e(_, ?b).\n"
    proofs = listed(many(analysed(text), "p(?x)", {"e": Table(((1, 2), (2, 3)))}))
    assert sorted(one.answers[0][1] for one in proofs) == [(1,), (2,), (2,), (3,)]


@pytest.mark.parametrize(("ranking", "rules"), [(Ranking.HEIGHT, "wide"), (Ranking.SIZE, "slim")])
def test_several_answers_are_each_proved_by_what_is_minimal(ranking: Ranking, rules: str) -> None:
    # A low proof with many premises, and a higher one with few.
    text = HEAD + ".decl p(a: number)\n.decl q(a: number)\nq(?a) :- e(?a, 1).\n"
    text += "@[id = slim]\np(?a) :- q(?a).\n"
    text += "@[id = wide]\np(?a) :- e(?a, 1), e(?a, 2), e(?a, 3), e(?a, 4).\n"
    rows = tuple((a, b) for a in (7, 8) for b in (1, 2, 3, 4))
    for goal, count in (("p(?x)", 2), ("p(7)", 1)):
        decision = ask(analysed(text), goal, {"e": Table(rows)}, ranking=ranking)
        nodes = [decision.proof.nodes[answer] for answer in decision.answers]
        chosen = [node.rule for node in nodes if isinstance(node, RuleNode)]
        assert [decision.reading.program.rules[one].id for one in chosen] == [rules] * count


def test_each_proof_under_assumptions_names_its_own() -> None:
    text = HEAD + ".decl p(a: number)\np(?a) :- e(?a, 1).\np(?a) :- e(?a, 2).\n"
    table = Table(said=(((7, 1), "0.5"), ((7, 2), "0.9")))
    proofs = listed(many(analysed(text), "p(7)", {"e": table}))
    told = [[one.subject for one in proof.assumptions] for proof in proofs]
    assert told == [["e(7, 2)"], ["e(7, 1)"]]
    assert [one.exact for one in proofs] == [True, False]


def test_a_proved_goal_has_no_proofs_under_assumptions() -> None:
    proofs = many(
        analysed(VIP), "is_vip(C1)", vip_tables(tier=Table(said=((("C1", "gold"), "0.9"),)))
    )
    assert [one.verdict for one in listed(proofs)] == [Verdict.PROVED]
    assert proofs.complete


def test_aggregates_and_absences_are_part_of_each_proof() -> None:
    proofs = many(analysed(VIP), "is_vip(C1)", vip_tables(tier=Table((("C1", "gold"),))))
    found = listed(proofs)
    nodes = [one.proof.nodes["is_vip", ("C1",)] for one in found]
    assert len({node.rule for node in nodes if isinstance(node, RuleNode)}) == 2
    # The second rests on a total, so it is higher.
    assert [len(one.proof.nodes) for one in found] == [2, 4]


@pytest.mark.parametrize(
    ("goal", "verdict"), [("is_vip(C2)", Verdict.DISPROVED), ("is_vip(C3)", Verdict.UNRESOLVED)]
)
def test_what_is_not_proved_has_the_one_decision_there_is(goal: str, verdict: Verdict) -> None:
    proofs = many(analysed(VIP), goal, vip_tables(tier=Table(open=(("C3", "gold"),))))
    assert [one.verdict for one in listed(proofs)] == [verdict]
    assert proofs.complete


def test_a_total_in_a_recursion_is_no_reason_for_another_proof() -> None:
    text = (
        HEAD
        + ".decl c(a: number, b: number)\nc(?a, ?a) :- e(?a, _).\n"
        + "c(?a, ?b) :- e(?b, _), e(?a, _), ?t = sum ?w : { c(?a, ?m), s(?m, ?b, ?w) }, ?t > 50.\n"
        + '.decl s(a: number, b: number, w: unsigned)\n.input s(source = "s", query = "q")\n'
    )
    tables = {
        "e": Table(((1, 0), (2, 0), (3, 0))),
        "s": Table(((1, 2, 60), (1, 3, 30), (2, 3, 30), (3, 2, 10))),
    }
    proofs = many(analysed(text), "c(1, 3)", tables)
    assert [one.verdict for one in listed(proofs)] == [Verdict.PROVED]
    assert proofs.complete


def test_the_search_says_where_it_ended_early() -> None:
    # 2^10 proofs: each of ten facts has two rules.
    lines = [HEAD, ".decl p(a: number)\np(0) :- e(0, 0).\n"]
    lines += [
        f"p({n}) :- p({n - 1}), e(0, 0).\np({n}) :- p({n - 1}), e(1, 1).\n" for n in range(1, 11)
    ]
    program = analysed("".join(lines))
    table = {"e": Table(((0, 0), (1, 1)))}
    bounded = many(program, "p(10)", table, effort=Effort(steps=2_000))
    found = listed(bounded)
    assert found
    assert not bounded.complete
    assert bounded.stopped == "the bound of steps was reached"
    hasty = many(program, "p(10)", table, effort=Effort(seconds=0))
    assert len(list(hasty)) == 1
    assert hasty.stopped == "the time was up"


def test_where_there_are_too_many_instances_one_proof_is_given(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("constat.session.many_proofs._WAYS_STEPS", 1)
    proofs = many(analysed(REACH), "reach(A, C)", reach_tables())
    assert len(listed(proofs)) == 1
    assert not proofs.complete
    assert "too many" in proofs.stopped


def test_proofs_are_made_when_they_are_asked_for() -> None:
    proofs = many(analysed(REACH), "reach(A, A)", reach_tables())
    assert next(proofs).verdict is Verdict.PROVED
    assert not proofs.complete


class Successors(Table):
    """The pairs of a number and the next one: found, not searched for."""

    def answer(self, demand: Demand) -> Answer:
        first, *_ = demand.columns
        rows = tuple((key[0] - first, key[0] - first + 1) for key in demand.keys)  # type: ignore[operator]
        evidence = self.evidence(demand)
        wanted = tuple(row for row in rows if matches(demand, row))
        return Answer((Portion(wanted, evidence),), (), frozenset(demand.keys), (evidence,))


@pytest.mark.laws
def test_a_proof_may_be_deeper_than_python_recurses() -> None:
    text = HEAD + ".decl p(a: number)\np(0).\np(?b) :- e(?a, ?b), p(?a), ?b > 0.\n"
    text += "p(?b) :- e(?a, ?b), p(?a), ?b > 0, ?b < 2.\n"
    proofs = many(analysed(text), "p(1100)", {"e": Successors()}, effort=Effort(seconds=60))
    assert [len(one.proof.nodes) for one in proofs] == [2_201, 2_201]
    assert proofs.complete


@settings(max_examples=12)
@given(cases(), MANNERS)
def test_every_proof_of_every_program_is_accepted(case: Case, manner: Manner) -> None:
    externals = tables(case.program, case.world, manner)
    effort = Effort(seconds=5, steps=100_000)
    proofs = decide_many(LazyEngine(), case.program, case.goal, externals, Limits(), effort=effort)
    identities = []
    for _, one in zip(range(6), proofs, strict=False):
        document = json.loads(certificate(one))
        assert checked(certificate(one)).verdict == one.verdict.value
        identities.append(document["identity"])
    assert len(set(identities)) == len(identities)
