"""Good certificates whose evidence is more than rows: attestations, nested proofs, levels.

``MORE`` lists them all, as ``certificates.BASIC`` does.
"""

from __future__ import annotations

import json
import random
from typing import Any, Final

from tests.check import certificates as c
from tests.check.certificates import Make, customer
from tests.check.writer import (
    START,
    Tree,
    Writer,
    agg,
    canonical,
    cmp,
    con,
    neg,
    pos,
    rows_hash,
    seal,
    sha256,
)


def attestation(kind: str, name: str, **members: Any) -> Tree:  # noqa: ANN401  any JSON
    """Return an attestation; a model's names what it was asked and what it said."""
    asked = kind == "model"
    return {
        "agent": {"kind": kind, "name": name, "version": "4" if asked else None, "digest": None},
        "prompt": sha256("asked") if asked else None,
        "response": None if kind == "person" else sha256("answered"),
        "quote": None,
        "reviewer": None,
        "note": None,
        **members,
    }


QUOTE: Final = {
    "document": "letter.txt",
    "hash": sha256("letter"),
    "start": 10,
    "end": 19,
    "text": "pays §12",
}


def said(w: Writer, who: str, origin: str, word: Tree | None, text: str = "so it is said") -> int:
    """Add a tier that somebody gave; return the assumption."""
    assumption = w.assume("fact", text, "0.9")
    if word is not None and origin == "SUB_PLAN" and word["agent"]["kind"] == "service":
        word = {**word, "response": rows_hash([[who, "gold"]])}
    w.facts(
        "tier",
        [[who, "gold"]],
        origin=origin,
        confidence="0.9",
        assumption=assumption,
        attestation=word,
    )
    return assumption


def gold_said(rng: random.Random, origin: str, word: Tree | None) -> Writer:
    w, who = Writer(), customer(rng)
    rule = c.gold(w)
    assumption = said(w, who, origin, word)
    given = w.given("tier", who, "gold", confidence="0.9")
    w.derived(rule, [who], {"c": who}, [given], "0.9")
    return w.conclude("PROVED_UNDER", "gold", who, under=(assumption,), confidence="0.9")


def attested_by_a_model(rng: random.Random) -> Writer:
    reviewer = {"name": "bob", "at": START}
    word = attestation("model", "writer", quote=QUOTE, reviewer=reviewer, note="read twice")
    return gold_said(rng, "LLM_KNOWLEDGE", word)


def attested_by_a_model_with_a_digest(rng: random.Random) -> Writer:
    agent = {"kind": "model", "name": "w", "version": None, "digest": sha256("weights")}
    return gold_said(rng, "LLM_HEURISTIC", attestation("model", "w", agent=agent))


def attested_by_a_person(rng: random.Random) -> Writer:
    return gold_said(rng, "USER_PROVIDED", attestation("person", "alice", note="by telephone"))


def attested_by_a_service(rng: random.Random) -> Writer:
    return gold_said(rng, "API", attestation("service", "rates.example"))


def attested_in_a_sub_plan(rng: random.Random) -> Writer:
    return gold_said(rng, "SUB_PLAN", attestation("service", "planner"))


def attested_in_a_sub_plan_by_a_model(rng: random.Random) -> Writer:
    """What a model answered need not be the rows that were read in it."""
    return gold_said(rng, "SUB_PLAN", attestation("model", "planner"))


def attested_twice(rng: random.Random) -> Writer:
    """One assumption takes two statements on trust."""
    w, who = Writer(), customer(rng)
    rule = c.gold(w)
    assumption = said(w, who, "USER_PROVIDED", attestation("person", "alice"))
    word = attestation("model", "writer", quote={**QUOTE, "hash": None})
    w.facts("tier", [[who, "new"]], origin="API", assumption=assumption, attestation=None)
    w.facts("tier", [[who, "old"]], origin="LLM_KNOWLEDGE", assumption=assumption, attestation=word)
    given = w.given("tier", who, "gold", confidence="0.9")
    w.derived(rule, [who], {"c": who}, [given], "0.9")
    return w.conclude("PROVED_UNDER", "gold", who, under=(assumption,), confidence="0.9")


# -------------------------------------------------------------------------- nested proofs


def welcome(w: Writer) -> int:
    """Return the rule that a VIP of another project who is no thief is welcome."""
    w.outside("is_vip", "c:symbol")
    w.outside("thief", "c:symbol")
    w.declare("welcome", "c:symbol")
    return w.rule("welcome", pos("welcome", "c"), pos("is_vip", "c"), neg("thief", "c"))


def welcomed(inner: Writer, *, imported: tuple[tuple[str, str, str], ...] = ()) -> Writer:
    """Return a certificate that rests on another: its goal is somebody's being a VIP."""
    w, who = Writer(), c.goal_of(inner)
    sure = inner.tree["header"]["confidence"]
    rule = welcome(w)
    under = tuple(w.assume(*one) for one in imported)
    w.proved(inner, under)
    w.cover("thief", [0], [[who]], w.source([]))
    closing = [one[2] for one in imported if one[0] in {"closure", "fall-through"}]
    given = w.given("is_vip", who, confidence=sure)
    w.derived(rule, [who], {"c": who}, [given, None], min([sure, *closing]))
    verdict = "PROVED_UNDER" if under else "PROVED"
    return w.conclude(verdict, "welcome", who, under=under, confidence=min([sure, *closing]))


def nested_proof(rng: random.Random) -> Writer:
    return welcomed(c.vip_proved(rng))


def nested_summary(rng: random.Random) -> Writer:
    """What the nested certificate could not show counts for the outer level as well."""
    return welcomed(c.summary_proved(rng))


def nested_read_at_two_moments(rng: random.Random) -> Writer:
    """The sources of the nested certificate were not read in one snapshot, the outer ones were."""
    inner = c.vip_proved(rng)
    inner.tree["header"]["snapshot"] = "not one snapshot"
    inner.tree = json.loads(seal(inner.tree))
    return welcomed(inner)


def recorded_as_of_a_day(rng: random.Random) -> Writer:
    """The facts are those that were recorded then, which the report says first."""
    w = c.vip_proved(rng)
    w.tree["header"]["as_of"] = "2026-01-31T00:00:00.000000Z"
    w.tree = json.loads(seal(w.tree))
    return w


def rules_approved(rng: random.Random) -> Writer:
    """Two people let the rules in, one of them with a key."""
    w = c.vip_proved(rng)
    w.tree["header"]["approvals"] = sorted(
        (
            {"at": START, "by": by, "key": key, "rule": spoken(rule)}
            for rule, by, key in zip(
                w.tree["rules"], ("Ada", "Bob"), (None, "sha256:" + "5" * 64), strict=True
            )
        ),
        key=canonical,
    )
    w.tree = json.loads(seal(w.tree))
    return w


def spoken(rule: Tree) -> str:
    """Return the hash of what a rule says, as approvals have it."""
    return sha256(canonical({name: one for name, one in rule.items() if name != "assumption"}))


def nested_rules_approved(rng: random.Random) -> Writer:
    """The rules of the nested certificate were approved, the outer ones are nobody's draft."""
    return welcomed(rules_approved(rng))


def vip_said(rng: random.Random) -> Writer:
    """Return a certificate under an assumption, in which a model says who is a VIP."""
    w, who = Writer(), customer(rng)
    w.outside("is_vip", "c:symbol")
    assumption = w.assume("fact", "a model says so", "0.8")
    w.facts(
        "is_vip",
        [[who]],
        origin="LLM_KNOWLEDGE",
        confidence="0.8",
        assumption=assumption,
        attestation=attestation("model", "writer"),
    )
    w.given("is_vip", who, confidence="0.8")
    return w.conclude("PROVED_UNDER", "is_vip", who, under=(assumption,), confidence="0.8")


def vip_declared(rng: random.Random) -> Writer:
    """Return a certificate under a closure of its own."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("late", "c:symbol")
    w.declare("is_vip", "c:symbol")
    rule = w.rule("punctual", pos("is_vip", "c"), pos("member", "c"), neg("late", "c"))
    declared = w.assume("closure", "the list is complete", "0.75")
    w.facts("member", [[who]])
    w.opens("late", [who], declared)
    w.cover("late", [0], [[who]])
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None], "0.75")
    return w.conclude("PROVED_UNDER", "is_vip", who, under=(declared,), confidence="0.75")


def nested_under_a_word(rng: random.Random) -> Writer:
    return welcomed(vip_said(rng), imported=(("fact", "a model says so", "0.8"),))


def nested_under_a_closure(rng: random.Random) -> Writer:
    return welcomed(vip_declared(rng), imported=(("closure", "the list is complete", "0.75"),))


def nested_in_nested(rng: random.Random) -> Writer:
    """The welcome of one project is the membership of the next."""
    inner = nested_under_a_word(rng)
    w, who = Writer(), c.goal_of(inner)
    w.outside("welcome", "c:symbol")
    w.declare("served", "c:symbol")
    rule = w.rule("served", pos("served", "c"), pos("welcome", "c"))
    taken = w.assume("fact", "a model says so", "0.8")
    w.proved(inner, (taken,))
    given = w.given("welcome", who, confidence="0.8")
    w.derived(rule, [who], {"c": who}, [given], "0.8")
    return w.conclude("PROVED_UNDER", "served", who, under=(taken,), confidence="0.8")


def as_deep_as_allowed(rng: random.Random, depth: int = 8) -> Writer:
    """Nest the same membership as often as it may be."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.facts("member", [[who]])
    w.given("member", who)
    w.conclude("PROVED", "member", who)
    for _ in range(depth - 1):
        inner, w = w, Writer()
        w.outside("member", "c:symbol")
        w.proved(inner)
        w.given("member", who)
        w.conclude("PROVED", "member", who)
    return w


def proved_by_many(count: int) -> Writer:
    """Prove one membership, which so many certificates prove as well."""
    inner = Writer()
    inner.outside("member", "c:symbol")
    inner.facts("member", [["C001"]])
    inner.given("member", "C001")
    inner.conclude("PROVED", "member", "C001")
    w = Writer()
    w.outside("member", "c:symbol")
    for number in range(count):
        w.proved(inner)
        w.tree["sources"][number]["proof"]["certificate"] = number
    w.tree["proofs"] = [inner.tree] * count
    w.given("member", "C001")
    return w.conclude("PROVED", "member", "C001")


def nested_and_own_assumption(rng: random.Random) -> Writer:
    """The same assumption carries a row here and one in the nested certificate."""
    inner = vip_said(rng)
    w, who = Writer(), c.goal_of(inner)
    rule = welcome(w)
    w.outside("friend", "c:symbol")
    w.declare("dear", "c:symbol")
    dear = w.rule("dear", pos("dear", "c"), pos("welcome", "c"), pos("friend", "c"))
    taken = w.assume("fact", "a model says so", "0.8")
    w.proved(inner, (taken,))
    word = attestation("model", "writer", prompt=sha256("asked again"))
    w.facts(
        "friend",
        [[who]],
        origin="LLM_KNOWLEDGE",
        confidence="0.8",
        assumption=taken,
        attestation=word,
    )
    w.cover("thief", [0], [[who]], w.source([]))
    vip = w.given("is_vip", who, confidence="0.8")
    here = w.derived(rule, [who], {"c": who}, [vip, None], "0.8")
    friend = w.given("friend", who, confidence="0.8")
    w.derived(dear, [who], {"c": who}, [here, friend], "0.8")
    return w.conclude("PROVED_UNDER", "dear", who, under=(taken,), confidence="0.8")


def nested_with_a_fall_through(rng: random.Random) -> Writer:
    """A tier that should have told did not, and the certificate has an assumption of its own."""
    inner = vip_said(rng)
    w, who = Writer(), c.goal_of(inner)
    w.outside("is_vip", "c:symbol")
    w.declare("welcome", "c:symbol")
    rule = w.rule("welcome", pos("welcome", "c"), pos("is_vip", "c"))
    silent = w.assume("fall-through", "the list did not answer", "0.9")
    taken = w.assume("fact", "a model says so", "0.8")
    group = w.proved(inner, (taken,))
    w.tree["facts"][group]["assumption"] = silent
    given = w.given("is_vip", who, confidence="0.8")
    w.derived(rule, [who], {"c": who}, [given], "0.8")
    return w.conclude("PROVED_UNDER", "welcome", who, under=(silent, taken), confidence="0.8")


def nested_not_accepted(rng: random.Random) -> Writer:
    """Where nothing is accepted, what was proved under an assumption is only possible."""
    inner = vip_said(rng)
    w, who = Writer(), c.goal_of(inner)
    w.outside("is_vip", "c:symbol")
    taken = w.assume("fact", "a model says so", "0.8")
    w.proved(inner, (taken,))
    w.cover("is_vip", [0], [[who]], w.source([]))
    return w.conclude("UNRESOLVED", "is_vip", who, missing=(["is_vip", [who]],))


def nested_row_that_removes(rng: random.Random) -> Writer:
    """A row that another certificate proves is certain, and removes what is negated."""
    inner = vip_said(rng)
    w, who = Writer(), c.goal_of(inner)
    w.outside("is_vip", "c:symbol")
    w.outside("member", "c:symbol")
    w.declare("plain", "c:symbol")
    w.rule("plain", pos("plain", "c"), pos("member", "c"), neg("is_vip", "c"))
    taken = w.assume("fact", "a model says so", "0.8")
    w.proved(inner, (taken,))
    w.facts("member", [[who]], covers=([0], [[who]]))
    w.entry("plain", [0], [[who]])
    return w.conclude("DISPROVED_UNDER", "plain", who, under=(taken,))


# --------------------------------------------------------------------------------- levels


def levels_of_all_kinds(rng: random.Random) -> Writer:
    """Absences that are declared, re-runnable, inline and derived in one proof."""
    w, who = Writer(), customer(rng)
    for name in ("member", "far", "near", "lost"):
        w.outside(name, "c:symbol")
    for name in ("bad", "worse", "fine"):
        w.declare(name, "c:symbol")
    w.rule("bad", pos("bad", "c"), pos("near", "c"))
    w.rule("worse", pos("worse", "c"), pos("bad", "c"), pos("far", "c"))
    literals = [neg(name, "c") for name in ("lost", "far", "near", "bad", "worse")]
    fine = w.rule("fine", pos("fine", "c"), pos("member", "c"), *literals)
    declared = w.assume("closure", "nobody is lost", "0.9")
    w.facts("member", [[who]])
    w.opens("lost", [who], declared)
    w.cover("lost", [0], [[who]])
    w.cover("far", [0], [[who]], w.source([], count=7))
    w.cover("near", [0], [[who]], w.source([]))
    w.entry("bad", [0], [[who]])
    w.entry("worse", [0], [[who]], orders={1: [1, 0]})
    given = w.given("member", who)
    w.derived(fine, [who], {"c": who}, [given, *[None] * 5], "0.9")
    return w.conclude("PROVED_UNDER", "fine", who, under=(declared,), confidence="0.9")


def level_of_the_better_coverage(rng: random.Random) -> Writer:
    """Two coverages serve the pattern: the literal has the level of the better one."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("late", "c:symbol d:number")
    w.declare("fine", "c:symbol")
    rule = w.rule(
        "fine", pos("fine", "c"), pos("member", "c"), neg("late", "c", con("number", "7"))
    )
    w.facts("member", [[who]])
    far, near = w.source([], count=9), w.source([])
    w.cover("late", [0], [[who]], far)
    w.cover("late", [0], [[who]], near, far)
    w.cover("late", [0, 1], [[who, "7"]], near)
    w.cover("late", [1], [["7"]], far)
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "fine", who)


def level_of_a_key_told_twice(rng: random.Random) -> Writer:
    """A key stands in two coverages by the same columns, and one of them shows all its rows."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("late", "c:symbol")
    w.declare("fine", "c:symbol")
    rule = w.rule("fine", pos("fine", "c"), pos("member", "c"), neg("late", "c"))
    w.facts("member", [[who]])
    w.cover("late", [0], [[who]], w.source([], count=9))
    w.cover("late", [0], [[who]], w.source([]))
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "fine", who)


def level_of_the_first_entry(rng: random.Random) -> Writer:
    """Two entries of the closure serve alike: the first counts, though it rests on less."""
    w, who = Writer(), customer(rng)
    w.outside("one", "c:symbol")
    for name in ("late", "fine"):
        w.declare(name, "c:symbol")
    w.rule("late", pos("late", "c"), pos("one", "c"))
    fine = w.rule("fine", pos("fine", con("symbol", who)), neg("late", con("symbol", who)))
    w.cover("one", [], [[]], w.source([], count=9))
    w.cover("one", [0], [[who]], w.source([]))
    w.entry("late", [], [[]])
    w.entry("late", [0], [[who]])
    w.derived(fine, [who], {}, [None])
    return w.conclude("PROVED", "fine", who)


def level_beside_the_key_of_a_source(rng: random.Random) -> Writer:
    """What a source tells by one key is no entry of the closure by that key."""
    w, who = Writer(), customer(rng)
    w.outside("one", "c:symbol d:number")
    w.outside("late", "c:symbol d:number")
    w.declare("fine", "c:symbol")
    w.rule("late", pos("late", "c", "d"), pos("one", "c", "d"))
    seventh = neg("late", con("symbol", who), con("number", "7"))
    fine = w.rule("fine", pos("fine", con("symbol", who)), seventh)
    near = w.source([])
    w.cover("one", [0], [[who]], near)
    w.cover("one", [1], [["7"]], w.source([], count=9))
    w.cover("late", [1], [["7"]], near)
    w.entry("late", [0], [[who]])
    w.entry("late", [1], [["7"]])
    w.derived(fine, [who], {}, [None])
    return w.conclude("PROVED", "fine", who)


def level_through_a_cycle(rng: random.Random) -> Writer:
    """Derived predicates that rest on each other rest on the weakest look-up of both."""
    w, who = Writer(), customer(rng)
    w.outside("one", "c:symbol")
    w.outside("two", "c:symbol")
    for name in ("left", "right", "fine"):
        w.declare(name, "c:symbol")
    w.rule("left.1", pos("left", "c"), pos("right", "c"), pos("one", "c"))
    w.rule("left.2", pos("left", "c"), pos("one", "c"))
    w.rule("right.1", pos("right", "c"), pos("left", "c"))
    w.rule("right.2", pos("right", "c"), pos("two", "c"))
    fine = w.rule("fine", pos("fine", con("symbol", who)), neg("left", con("symbol", who)))
    w.cover("one", [0], [[who]], w.source([]))
    w.cover("two", [0], [[who]], w.source([], count=3))
    w.entry("left", [0], [[who]])
    w.entry("right", [0], [[who]])
    w.derived(fine, [who], {}, [None])
    return w.conclude("PROVED", "fine", who)


def level_of_a_sum_over_both(rng: random.Random) -> Writer:
    """A count over derived rows and a source, in a closure and in a node."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol")
    w.outside("paid", "o:symbol")
    w.outside("client", "c:symbol")
    w.declare("due", "c:symbol o:symbol")
    w.declare("owes", "c:symbol n:number")
    w.rule("due", pos("due", "c", "o"), pos("order", "o", "c"))
    owes = w.rule(
        "owes",
        pos("owes", "c", "n"),
        pos("client", "c"),
        agg("count", "n", None, pos("due", "c", "o"), neg("paid", "o")),
        n="number",
    )
    w.facts("client", [[who]])
    w.facts("order", [["O1", who]], covers=([1], [[who]]))
    w.cover("paid", [0], [["O1"]], w.source([], count=1))
    w.entry("due", [0], [[who]], [[who, "O1"]])
    w.derived(0, [who, "O1"], {"c": who, "o": "O1"}, [w.given("order", "O1", who)])
    w.derived(owes, [who, "1"], {"c": who, "n": "1"}, [w.given("client", who), None])
    return w.conclude("PROVED", "owes", who, "1")


def level_of_a_declared_sum(rng: random.Random) -> Writer:
    """An accepted closure takes an open row from a sum: its level is that of the declaration."""
    w, who = Writer(), customer(rng)
    w.outside("order", "o:symbol c:symbol a:number")
    w.outside("client", "c:symbol")
    w.declare("spend", "c:symbol t:number")
    rule = w.rule(
        "spend",
        pos("spend", "c", "t"),
        pos("client", "c"),
        agg("sum", "t", "a", pos("order", "o", "c", "a"), cmp(">", "a", con("number", "0"))),
    )
    declared = w.assume("closure", "all orders are known")
    w.facts("client", [[who]])
    w.facts("order", [["O1", who, "5"]], covers=([1], [[who]]))
    w.opens("order", [None, who, None], declared)
    w.derived(rule, [who, "5"], {"c": who, "t": "5"}, [w.given("client", who), None])
    return w.conclude("PROVED_UNDER", "spend", who, "5", under=(declared,))


def level_of_a_mixed_coverage(rng: random.Random) -> Writer:
    """Two sources speak for one coverage, and one of them showed less than it gave."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.outside("late", "c:symbol")
    w.declare("fine", "c:symbol")
    rule = w.rule("fine", pos("fine", "c"), pos("member", "c"), neg("late", "c"))
    w.facts("member", [[who]])
    w.cover("late", [0], [[who]], w.source([]), w.source([], count=2))
    w.derived(rule, [who], {"c": who}, [w.given("member", who), None])
    return w.conclude("PROVED", "fine", who)


def level_where_all_is_open(rng: random.Random) -> Writer:
    """A coverage that an open row backs says that nothing is complete."""
    w, who = Writer(), customer(rng)
    w.outside("member", "c:symbol")
    w.opens("member", [who])
    w.cover("member", [0], [[who]])
    return w.conclude("UNRESOLVED", "member", who, missing=(["member", [who]],))


def words_that_carry_many_rows(rng: random.Random) -> Writer:
    """Of the rows that rest on an assumption a report shows the first five."""
    w, who = Writer(), customer(rng)
    w.outside("tier", "c:symbol t:symbol")
    w.outside("known", "c:symbol")
    w.declare("gold", "c:symbol")
    rule = w.rule(
        "gold", pos("gold", "c"), pos("tier", "c", con("symbol", "gold")), pos("known", "c")
    )
    tiers, others = w.assume("fact", "alice says so"), w.assume("fact", "bob says so")
    names = [f"{who}{letter}" for letter in "abcde"]
    for predicate, said, rows in (
        ("tier", tiers, [[name, "gold"] for name in (who, *names)]),
        ("known", others, [[name] for name in (who, *names[:4])]),
    ):
        w.facts(predicate, rows, origin="USER_PROVIDED", assumption=said)
    premises = [w.given("tier", who, "gold"), w.given("known", who)]
    w.derived(rule, [who], {"c": who}, premises)
    return w.conclude("PROVED_UNDER", "gold", who, under=(tiers, others))


MORE: Final[tuple[Make, ...]] = (
    as_deep_as_allowed,
    attested_by_a_model,
    attested_by_a_model_with_a_digest,
    attested_by_a_person,
    attested_by_a_service,
    attested_in_a_sub_plan,
    attested_in_a_sub_plan_by_a_model,
    attested_twice,
    level_beside_the_key_of_a_source,
    level_of_a_declared_sum,
    level_of_a_key_told_twice,
    level_of_a_mixed_coverage,
    level_of_a_sum_over_both,
    level_of_the_first_entry,
    level_of_the_better_coverage,
    level_through_a_cycle,
    level_where_all_is_open,
    levels_of_all_kinds,
    nested_and_own_assumption,
    nested_in_nested,
    nested_not_accepted,
    nested_proof,
    nested_read_at_two_moments,
    nested_row_that_removes,
    nested_rules_approved,
    nested_summary,
    nested_under_a_closure,
    nested_under_a_word,
    nested_with_a_fall_through,
    recorded_as_of_a_day,
    rules_approved,
    words_that_carry_many_rows,
)
