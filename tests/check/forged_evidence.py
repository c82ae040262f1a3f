"""Forged evidence: levels forged up, words swapped, certificates nested that prove something else.

In: a seed.  Out: as in ``forger``, where these are registered when this module is imported.  What
is changed inside a nested certificate is made to fit by ``refit``, so that only its logic is wrong.
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

from tests.check import certificates as c
from tests.check import evidence_constructs as e
from tests.check.forger import FORGERIES, coverage, forge, forgery, goal_of, group, replaced
from tests.check.writer import (
    START,
    Tree,
    Writer,
    attested_by,
    level_of,
    pos,
    rows_hash,
    seal,
    sha256,
)

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["FORGERIES", "forge"]


def refit(tree: Tree) -> Tree:
    """Make the hashes of nested certificates fit, and the names that sources give them."""
    names = []
    for place, inner in enumerate(tree["proofs"]):
        old = inner["identity"]
        tree["proofs"][place] = json.loads(seal(refit(inner)))
        names.append((old, tree["proofs"][place]["identity"]))
    for source in tree["sources"]:
        if source["proof"] is not None:
            source["name"] = dict(names).get(source["name"], source["name"])
    return tree


def nested(change: Callable[[Tree], None], make: c.Make, rng: random.Random) -> Tree:
    """Return a certificate in which the nested one was changed."""
    tree = make(rng).tree
    change(tree["proofs"][0])
    return refit(tree)


def proof_of(tree: Tree) -> Tree:
    """Return the source that rests on a nested certificate."""
    found: Tree = next(source for source in tree["sources"] if source["proof"] is not None)
    return found


# --------------------------------------------------------------------------------- levels


@forgery("level")
def a_level_forged_up(rng: random.Random) -> Tree:
    tree = rng.choice([e.levels_of_all_kinds, c.summary_proved, c.vip_disproved])(rng).tree
    tree["header"]["level"] = f"C{rng.randrange(int(tree['header']['level'][1]) + 1, 5)}"
    return tree


@forgery("level")
def a_level_that_is_left_out(rng: random.Random) -> Tree:
    tree = rng.choice([e.levels_of_all_kinds, c.vip_proved, c.reach_disproved])(rng).tree
    tree["header"]["level"] = None
    return tree


@forgery("level")
def a_level_where_nothing_is_complete(rng: random.Random) -> Tree:
    tree = c.gold_by_user(rng).tree
    tree["header"]["level"] = rng.choice(["C0", "C1", "C2", "C3", "C4"])
    return tree


@forgery("level")
def a_level_that_forgets_what_is_nested(rng: random.Random) -> Tree:
    tree = e.nested_summary(rng).tree
    tree["header"]["level"] = "C3"
    return tree


@forgery("level")
def a_nested_level_forged_up(rng: random.Random) -> Tree:
    def change(inner: Tree) -> None:
        inner["header"]["level"] = "C3"

    tree = nested(change, e.nested_summary, rng)
    tree["header"]["level"] = level_of(tree)
    return tree


@forgery("level")
def rows_kept_back_and_called_inline(rng: random.Random) -> Tree:
    """The source gave more than is shown, so nobody recomputed its hash."""
    tree = c.vip_proved(rng).tree
    source = tree["sources"][group(tree, "order")["source"]]
    source["rows"] += rng.randrange(1, 9)
    source["hash"] = sha256(str(rng.random()))
    return tree


@forgery("level")
def a_declared_closure_passed_off_as_read(rng: random.Random) -> Tree:
    tree = c.gold_disproved_by_closure(rng).tree
    tree["header"]["level"] = "C4"
    return tree


# --------------------------------------------------------------------------- attestations


def attested(rng: random.Random) -> Tree:
    return e.attested_by_a_model(rng).tree


def word_of(tree: Tree) -> Tree:
    found: Tree = tree["sources"][group(tree, "tier")["source"]]["attestation"]
    return found


def resigned(tree: Tree) -> Tree:
    """Make the assumptions name the attestations as they are now."""
    for assumption, hashes in zip(tree["assumptions"], attested_by(tree), strict=True):
        assumption["attestations"] = hashes
    return tree


@forgery("attestation")
def an_answer_edited_after_the_fact(rng: random.Random) -> Tree:
    """The assumption that was accepted named another answer, or another question."""
    tree = attested(rng)
    word_of(tree)[rng.choice(["prompt", "response"])] = sha256(str(rng.random()))
    return tree


@forgery("attestation")
def other_rows_than_a_service_computed(rng: random.Random) -> Tree:
    """Who accepted the word of a service accepted these rows of it and no others."""
    tree = e.attested_in_a_sub_plan(rng).tree
    word_of(tree)["response"] = rows_hash([[goal_of(tree), f"gold{rng.random()}"]])
    return resigned(tree)


@forgery("attestation")
def an_agent_swapped(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)["agent"][rng.choice(["name", "version"])] = f"better {rng.random()}"
    return tree


@forgery("attestation")
def a_digest_swapped(rng: random.Random) -> Tree:
    tree = e.attested_by_a_model_with_a_digest(rng).tree
    word_of(tree)["agent"]["digest"] = sha256(str(rng.random()))
    return tree


@forgery("attestation")
def a_reviewer_invented(rng: random.Random) -> Tree:
    tree = e.attested_by_a_service(rng).tree
    word_of(tree)["reviewer"] = {"name": f"R{rng.random()}", "at": START}
    return tree


@forgery("attestation")
def a_quote_changed(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)["quote"]["text"] = f"owes §{rng.randrange(10, 99)}"
    return tree


@forgery("attestation")
def a_quote_that_is_too_long_for_its_place(rng: random.Random) -> Tree:
    """Bytes count, not characters."""
    tree = attested(rng)
    word_of(tree)["quote"]["end"] += rng.choice([-1, 1, 7])
    return resigned(tree)


@forgery("attestation")
def a_word_taken_away(rng: random.Random) -> Tree:
    tree = attested(rng)
    tree["sources"][group(tree, "tier")["source"]]["attestation"] = None
    return tree


@forgery("attestation")
def a_word_nobody_accepted(rng: random.Random) -> Tree:
    tree = e.attested_twice(rng).tree
    hashes = tree["assumptions"][0]["attestations"]
    hashes.pop(rng.randrange(2))
    return tree


@forgery("attestation")
def a_word_that_was_never_said(rng: random.Random) -> Tree:
    tree = attested(rng)
    hashes = tree["assumptions"][0]["attestations"]
    tree["assumptions"][0]["attestations"] = sorted([*hashes, sha256(str(rng.random()))])
    return tree


@forgery("attestation")
def words_named_twice(rng: random.Random) -> Tree:
    tree = attested(rng)
    tree["assumptions"][0]["attestations"] *= 2
    return tree


@forgery("attestation")
def a_model_without_a_question(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)[rng.choice(["prompt", "response"])] = None
    return resigned(tree)


@forgery("attestation")
def a_model_nobody_can_identify(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)["agent"]["version"] = None
    return resigned(tree)


@forgery("attestation")
def a_service_without_an_answer(rng: random.Random) -> Tree:
    tree = e.attested_by_a_service(rng).tree
    word_of(tree)["response"] = None
    return resigned(tree)


@forgery("attestation")
def a_model_passed_off_as_a_person(rng: random.Random) -> Tree:
    """The origin is what the tier set; the agent must fit it."""
    tree = e.attested_by_a_person(rng).tree
    tree["sources"][0]["attestation"] = e.attestation("model", "alice")
    return resigned(tree)


@forgery("attestation")
def the_word_of_somebody_else(rng: random.Random) -> Tree:
    tree = e.attested_by_a_person(rng).tree
    word_of(tree)["agent"]["name"] = f"mallory {rng.random()}"
    return resigned(tree)


@forgery("attestation")
def a_review_of_their_own(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)["reviewer"]["name"] = word_of(tree)["agent"]["name"]
    return resigned(tree)


@forgery("attestation")
def a_nameless_agent(rng: random.Random) -> Tree:
    tree = attested(rng)
    place = rng.choice([("agent", "name"), ("quote", "document"), ("reviewer", "name")])
    word_of(tree)[place[0]][place[1]] = ""
    return resigned(tree)


@forgery("attestation")
def an_empty_quote(rng: random.Random) -> Tree:
    tree = attested(rng)
    word_of(tree)["quote"].update(text="", end=word_of(tree)["quote"]["start"])
    return resigned(tree)


@forgery("attestation")
def a_database_that_is_attested(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    rng.choice(tree["sources"])["attestation"] = e.attestation("service", "database")
    return tree


@forgery("attestation")
def a_proof_that_is_attested(rng: random.Random) -> Tree:
    tree = e.nested_proof(rng).tree
    proof_of(tree)["attestation"] = e.attestation("service", "checker")
    return tree


# -------------------------------------------------------------------------- nested proofs


@forgery("proof")
def a_certificate_of_another_goal(rng: random.Random) -> Tree:
    """The nested certificate is good, and about somebody else."""
    tree = e.nested_proof(rng).tree
    other = c.vip_proved(random.Random(rng.random())).tree
    if goal_of(other) == tree["proofs"][0]["header"]["goal"][1][0]:
        return a_certificate_of_another_goal(rng)
    proof_of(tree)["name"] = other["identity"]
    tree["proofs"] = [other]
    return tree


@forgery("proof")
def a_certificate_of_another_predicate(rng: random.Random) -> Tree:
    inner = c.vip_proved(rng)
    w, who = Writer(), goal_of(inner.tree)
    w.outside("is_rich", "c:symbol")
    w.proved(inner)
    w.tree["facts"][0]["predicate"] = "is_rich"
    w.given("is_rich", who)
    return w.conclude("PROVED", "is_rich", who).tree


@forgery("proof")
def a_certificate_that_says_the_opposite(rng: random.Random) -> Tree:
    """An absence was proved, or nothing."""
    inner = rng.choice([c.vip_disproved, c.vip_orders_unknown])(rng)
    sure = inner.tree["header"]["confidence"]
    w, who = Writer(), goal_of(inner.tree)
    w.outside("is_vip", "c:symbol")
    w.proved(inner)
    w.given("is_vip", who, confidence=sure)
    return w.conclude("PROVED", "is_vip", who, confidence=sure).tree


@forgery("proof")
def a_certificate_of_anybody(rng: random.Random) -> Tree:
    inner = c.answers(rng)
    header = inner.tree["header"]
    w = Writer()
    w.declare(header["goal"][0], "c:symbol", external=True)
    w.proved(inner)
    w.tree["facts"][0]["rows"] = [[c.customer(rng)]]
    w.tree["sources"][0]["hash"] = rows_hash(w.tree["facts"][0]["rows"])
    who = w.tree["facts"][0]["rows"][0][0]
    w.given(header["goal"][0], who, confidence=header["confidence"])
    return w.conclude("PROVED", header["goal"][0], who, confidence=header["confidence"]).tree


@forgery("proof")
def an_assumption_dropped_on_the_way(rng: random.Random) -> Tree:
    """What was proved under an assumption is passed off as proved."""
    tree = e.nested_under_a_word(rng).tree
    proof_of(tree)["proof"]["assumptions"] = []
    tree["assumptions"] = []
    tree["header"].update(verdict="PROVED", under=[])
    return tree


@forgery("proof")
def an_assumption_exchanged_on_the_way(rng: random.Random) -> Tree:
    tree = e.nested_under_a_word(rng).tree
    member, value = rng.choice([("text", "the sun shines"), ("kind", "rule"), ("confidence", "1")])
    tree["assumptions"][0][member] = value
    return tree


@forgery("attestation")
def words_dropped_on_the_way(rng: random.Random) -> Tree:
    """The outer assumption does not say what the inner one takes on trust."""
    tree = e.nested_under_a_word(rng).tree
    tree["assumptions"][0]["attestations"] = []
    return tree


@forgery("assumption")
def an_imported_assumption_that_is_not_accepted(rng: random.Random) -> Tree:
    tree = e.nested_under_a_word(rng).tree
    tree["header"].update(verdict="PROVED", under=[])
    return tree


@forgery("negation")
def a_certificate_that_is_only_possible_ignored(rng: random.Random) -> Tree:
    """A row proved under what nobody accepted may hold all the same."""
    inner = e.vip_said(rng)
    w, who = Writer(), goal_of(inner.tree)
    w.outside("is_vip", "c:symbol")
    w.outside("member", "c:symbol")
    w.declare("plain", "c:symbol")
    rule = w.rule("plain", pos("plain", "c"), pos("member", "c"), ["-", ["is_vip", ["c"]]])
    w.proved(inner, (w.assume("fact", "a model says so", "0.8"),))
    w.facts("member", [[who]])
    w.cover("is_vip", [0], [[who]], w.source([]))
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "plain", who).tree


@forgery("proof")
def a_confidence_raised_on_the_way(rng: random.Random) -> Tree:
    inner = e.vip_said(rng)
    w, who = Writer(), goal_of(inner.tree)
    w.outside("is_vip", "c:symbol")
    taken = w.assume("fact", "a model says so", "0.8")
    w.proved(inner, (taken,))
    w.tree["sources"][0]["confidence"] = "1"
    w.given("is_vip", who)
    return w.conclude("PROVED_UNDER", "is_vip", who, under=(taken,)).tree


@forgery("proof")
def the_name_of_another_certificate(rng: random.Random) -> Tree:
    tree = e.nested_proof(rng).tree
    proof_of(tree)["name"] = sha256(str(rng.random()))
    return tree


@forgery("proof")
def a_certificate_that_is_not_there(rng: random.Random) -> Tree:
    """Whoever points outside the file, or at the file itself, points at nothing."""
    tree = e.nested_proof(rng).tree
    proof_of(tree)["proof"]["certificate"] = rng.randrange(1, 9)
    return tree


@forgery("proof")
def a_proof_of_itself(rng: random.Random) -> Tree:
    """Circular: the certificate names itself as what proves its goal."""
    w, who = Writer(), c.customer(rng)
    w.outside("is_vip", "c:symbol")
    source = w.source([[who]], "DERIVED")
    w.tree["facts"].append(
        {"predicate": "is_vip", "source": source, "assumption": None, "rows": [[who]]}
    )
    w.given("is_vip", who)
    w.conclude("PROVED", "is_vip", who)
    proof = {"certificate": 0, "assumptions": []}
    w.tree["sources"][source].update(author=None, name=w.tree["identity"], proof=proof)
    return w.tree


@forgery("proof")
def two_that_prove_each_other(rng: random.Random) -> Tree:
    """Circular over two: the inner one rests on an outer one that is not in it."""
    tree = a_proof_of_itself(rng)
    who = goal_of(tree)
    w = Writer()
    w.outside("is_vip", "c:symbol")
    inner = Writer()
    inner.tree = json.loads(seal(tree))
    w.proved(inner)
    w.given("is_vip", who)
    return w.conclude("PROVED", "is_vip", who).tree


@forgery("proof")
def nested_deeper_than_allowed(rng: random.Random) -> Tree:
    return e.as_deep_as_allowed(rng, 9 + rng.randrange(3)).tree


@forgery("proof")
def a_row_more_than_was_proved(rng: random.Random) -> Tree:
    tree = e.nested_proof(rng).tree
    shown = group(tree, "is_vip")
    shown["rows"] = sorted([*shown["rows"], ["Z" + c.customer(rng)]])
    source = tree["sources"][shown["source"]]
    source["rows"], source["hash"] = 2, rows_hash(shown["rows"])
    return tree


@forgery("proof")
def more_rows_than_one_goal(rng: random.Random) -> Tree:
    """The source says that the certificate proved more than is shown."""
    tree = e.nested_proof(rng).tree
    proof_of(tree)["rows"] = rng.randrange(2, 99)
    return tree


@forgery("proof")
def columns_of_another_kind(rng: random.Random) -> Tree:
    """The text is the same; what it means is not."""
    inner, number = Writer(), str(rng.randrange(99))
    inner.outside("code", "c:number")
    inner.facts("code", [[number]])
    inner.given("code", number)
    inner.conclude("PROVED", "code", number)
    w = Writer()
    w.outside("code", "c:symbol")
    w.proved(inner)
    w.given("code", number)
    return w.conclude("PROVED", "code", number).tree


@forgery("proof")
def a_proof_by_a_database(rng: random.Random) -> Tree:
    """Only what is proved has a proof, and what is proved has one."""
    tree = e.nested_proof(rng).tree
    source = proof_of(tree)
    if rng.random() < 0.5:
        source["origin"] = "DATABASE"
    else:
        source["proof"] = None
    return tree


@forgery("coverage")
def a_certificate_that_closes_a_predicate(rng: random.Random) -> Tree:
    """That one row is proved says nothing of others, also beside an authority of another list."""
    tree = e.nested_proof(rng).tree
    speaking = [tree["sources"].index(proof_of(tree)), coverage(tree, "thief")["sources"][0]]
    tree["coverage"].append(
        {"predicate": "is_vip", "columns": [], "keys": [[]], "sources": sorted(speaking)}
    )
    return tree


@forgery("unused")
def a_certificate_that_nothing_needs(rng: random.Random) -> Tree:
    tree = c.vip_proved(rng).tree
    tree["proofs"] = [c.vip_proved(random.Random(rng.random())).tree]
    return tree


@forgery("aggregate")
def a_wrong_sum_inside(rng: random.Random) -> Tree:
    def change(inner: Tree) -> None:
        right = inner["nodes"][1]["fact"][1][1]
        inner["nodes"] = replaced(inner["nodes"], right, str(int(right) + rng.randrange(1, 99)))

    return nested(change, e.nested_proof, rng)


@forgery("negation")
def a_skipped_row_inside(rng: random.Random) -> Tree:
    def change(inner: Tree) -> None:
        who = goal_of(inner)
        source = next(one for one in inner["coverage"] if one["predicate"] == "blocked")["sources"][
            0
        ]
        inner["sources"][source].update(rows=1, hash=rows_hash([[who]]))
        inner["facts"].append(
            {"predicate": "blocked", "source": source, "assumption": None, "rows": [[who]]}
        )

    return nested(change, e.nested_proof, rng)


@forgery("assumption")
def a_verdict_forged_inside(rng: random.Random) -> Tree:
    """The nested header says PROVED, and its leaf rests on a model's word."""
    tree = e.nested_under_a_word(rng).tree
    tree["proofs"][0]["header"].update(verdict="PROVED", under=[])
    proof_of(tree)["proof"]["assumptions"] = []
    tree["assumptions"] = []
    tree["header"].update(verdict="PROVED", under=[])
    return refit(tree)


@forgery("confidence")
def a_confidence_forged_inside(rng: random.Random) -> Tree:
    tree = e.nested_under_a_word(rng).tree
    tree["proofs"][0]["header"]["confidence"] = "1"
    proof_of(tree)["confidence"] = "1"
    tree["nodes"] = replaced(tree["nodes"], "0.8", "1")
    tree["header"]["confidence"] = "1"
    return refit(tree)


@forgery("aggregate")
def a_wrong_sum_two_certificates_down(rng: random.Random) -> Tree:
    inner = e.welcomed(c.vip_proved(rng))
    w, who = Writer(), goal_of(inner.tree)
    w.outside("welcome", "c:symbol")
    w.proved(inner)
    w.given("welcome", who)
    tree = w.conclude("PROVED", "welcome", who).tree
    deep: Any = tree["proofs"][0]["proofs"][0]
    right = deep["nodes"][1]["fact"][1][1]
    deep["nodes"] = replaced(deep["nodes"], right, str(int(right) + rng.randrange(1, 99)))
    return refit(tree)
