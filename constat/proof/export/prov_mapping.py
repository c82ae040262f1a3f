"""What a certificate says in the terms of W3C PROV.

In: a certificate.  Out: ``Provenance``: one bundle for each decision, those of nested certificates
included.  Invariants: one entity for each fact and derivation, because two generations of one
entity would have to happen at one time; logical steps carry no times, since the order of PROV is
strict and logic has none; what two certificates share (a fact, a rule, a query, a data set) has one
name in both.

A decision is a bundle and an entity; a rule application an activity with the rule as its plan, each
premise used in the role of its place; an absence and an aggregate entities that an activity made;
the rows of an aggregate members of a collection.  ``prov_sources`` tells what came from outside.
Reference: PROV-DM and PROV-CONSTRAINTS, www.w3.org/TR/prov-overview.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.proof.canonical import canonical
from constat.proof.encoding import said_digest
from constat.proof.export.document import Document
from constat.proof.export.prov_records import (
    PROOF,
    Bundle,
    Name,
    Provenance,
    Record,
    Records,
    constat,
    named,
    prov,
)
from constat.proof.export.prov_sources import describe_sources, printed
from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, RULE, steps_of
from constat.proof.render import printable

if TYPE_CHECKING:
    from constat.proof.export.steps import Step, Steps

_DIGEST: Final = re.compile(r"sha256:([0-9a-f]{64})\Z")
_DEEPEST: Final = 8


def provenance(certificate: bytes) -> Provenance:
    """Return the provenance of a decision; ``ValueError`` for what is no certificate."""
    bundles: list[Bundle] = []
    outside: list[Record] = []
    waiting = [(Document(certificate), 1)]
    while waiting:
        document, depth = waiting.pop(0)
        teller = _Teller(document)
        bundles.append(teller.bundle())
        outside += teller.outside()
        nested = document.members.get("proofs", ())
        if nested and depth == _DEEPEST:
            raise ValueError("this is no certificate: it is nested too deeply")
        waiting += [(Document(canonical(one).encode()), depth + 1) for one in nested]
    unique = {bundle.name: bundle for bundle in bundles}
    return Provenance(tuple(dict.fromkeys(outside)), tuple(unique.values()))


def digits(identity: object) -> str:
    """Return the hexadecimal digits of an identity."""
    found = _DIGEST.match(identity) if isinstance(identity, str) else None
    if found is None:
        raise ValueError("this is no certificate: its identity has another form")
    return found[1]


class _Teller:
    """Tells one certificate."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.records = Records()
        own = digits(document.identity)
        self.bundle_name = Name("decision", own)
        self.decision = Name("decision", f"{own}.verdict")
        self.run = Name("decision", f"{own}.run")
        self.engine = named("agent", "engine", document.record["engine"])
        self.namespace = f"{PROOF}{own}:"

    def bundle(self) -> Bundle:
        """Return the bundle of this decision."""
        steps = steps_of(self.document)
        self.tell_run(self.records)
        self.tell_decision(steps)
        self.tell_rules()
        describe_sources(self.document, self.records, self.engine)
        for step in steps.steps:
            self.tell_step(step, steps.steps)
        return Bundle(self.bundle_name, self.namespace, self.records.finished())

    def outside(self) -> tuple[Record, ...]:
        """Return what is said about the bundle."""
        records = Records()
        label = f"the proof of {self.document.goal()}"
        records.entity(self.bundle_name, prov("Bundle"), label=label)
        self.tell_run(records)
        records.generation(self.bundle_name, self.run)
        records.attribution(self.bundle_name, self.engine)
        return records.finished()

    def tell_run(self, records: Records) -> None:
        """Tell the engine and when it ran."""
        record = self.document.record
        records.agent(self.engine, prov("SoftwareAgent"), label=printable(record["engine"]))
        records.activity(self.run, constat("Run"), ended=record["created"])
        records.association(self.run, self.engine, role=constat("engine"))

    # ------------------------------------------------------------------------- the decision

    def tell_decision(self, steps: Steps) -> None:
        """Tell the verdict, what it is derived from, what is assumed, what is missing."""
        document, records = self.document, self.records
        header, members = document.header, document.members
        records.entity(
            self.decision,
            constat("Decision"),
            label=document.verdict(),
            value=header["verdict"],
            goal=document.goal(),
            confidence=header["confidence"],
            search=header["search"],
            level=header["level"],
            snapshot=printed(header["snapshot"]),
            asOf=printed(header["as_of"]),
            identity=document.identity,
            digest=members["digest"],
            program=named("rule", header["program"]),
        )
        records.generation(self.decision, self.run)
        records.attribution(self.decision, self.engine)
        for answer in steps.answers:
            records.derivation(self.decision, own(steps.steps[answer].name))
        if header["supersedes"] is not None:
            older = named("decision", header["supersedes"])
            records.entity(older, constat("Decision"), label=printable(header["supersedes"]))
            records.derivation(self.decision, older, prov("Revision"))
        self.tell_assumptions()
        for place, missing in enumerate(members["missing"]):
            lacking = records.entity(
                own(f"missing{place}"), constat("Missing"), label=document.atom(*missing)
            )
            records.usage(self.run, lacking, constat("missing"))

    def tell_assumptions(self) -> None:
        """Tell all assumptions, and which of them the verdict accepts."""
        under = frozenset(self.document.header["under"])
        for place, assumption in enumerate(self.document.assumptions):
            name = self.records.entity(
                own(f"assumption{place}"),
                constat("Assumption"),
                label=printable(assumption["text"]),
                assumed=assumption["kind"],
                confidence=assumption["confidence"],
                accepted="yes" if place in under else "no",
            )
            if place in under:
                self.records.usage(self.run, name, constat("assumption"))
                self.records.derivation(self.decision, name, constat("Acceptance"))

    def tell_rules(self) -> None:
        """Tell the program and its rules: plans, with the text that is checked."""
        document, records = self.document, self.records
        program = records.entity(
            named("rule", document.header["program"]),
            prov("Collection"),
            constat("Program"),
            label=document.header["program"],
        )
        for place, rule in enumerate(document.rules):
            plan = records.entity(
                self.rule(place),
                prov("Plan"),
                constat("Rule"),
                label=printable(rule["id"]),
                value=printable(" ".join(document.rule_texts[place].split())),
                says=printed(rule["says"]),
                confidence=rule["confidence"],
            )
            records.member(program, plan)
            abstract = named("rule", rule["head"][0], rule["id"])
            records.entity(abstract, prov("Plan"), label=printable(rule["id"]))
            records.specialization(plan, abstract)
            if rule["assumption"] is not None:
                assumed = own(f"assumption{rule['assumption']}")
                records.derivation(plan, assumed, constat("Acceptance"))
        names = {said_digest(rule): place for place, rule in enumerate(document.rules)}
        for approval in document.header["approvals"]:
            place = names[approval["rule"]]
            label = f"{document.rules[place]['id']} approved by {approval['by']}"
            name = records.activity(
                named("decision", "approval", canonical(approval)),
                constat("Approval"),
                label=printable(label),
            )
            records.usage(name, self.rule(place))

    def rule(self, place: int) -> Name:
        """Return the name of a version of a rule; what it assumes is not part of the version."""
        told = {key: one for key, one in self.document.rules[place].items() if key != "assumption"}
        return named("rule", canonical(told))

    # ---------------------------------------------------------------------------- the steps

    def tell_step(self, step: Step, steps: tuple[Step, ...]) -> None:
        """Tell a step and how it was made."""
        self.records.entity(
            own(step.name),
            *_TYPES[step.kind],
            label=step.fact,
            value=json.dumps(step.row) if step.row else None,
            predicate=printable(step.predicate),
            sentence=step.sentence,
            reasoning=step.reasoning,
            confidence=step.confidence,
            level=step.level,
            note=step.note,
        )
        if step.assumption is not None:
            assumed = own(f"assumption{step.assumption}")
            self.records.derivation(own(step.name), assumed, constat("Acceptance"))
        match step.kind:
            case "rule":
                self.tell_application(step, steps)
            case "absence":
                self.tell_made(step, steps, constat("AbsenceCheck"))
            case "aggregate":
                self.tell_aggregate(step, steps)
            case "closure":
                self.tell_sources(own(step.name), step)
            case _:
                self.tell_fact(step)
                self.tell_sources(own(step.name), step)

    def tell_fact(self, step: Step) -> None:
        """Tell which fact it is, whoever derives it."""
        fact = named("fact", step.predicate, *step.row)
        self.records.entity(fact, label=step.fact)
        self.records.specialization(own(step.name), fact)

    def tell_sources(self, name: Name, step: Step) -> None:
        """Tell from which answers of sources something is derived."""
        for source in step.sources:
            self.records.derivation(name, own(f"source{source}"))

    def tell_application(self, step: Step, steps: tuple[Step, ...]) -> None:
        """Tell a rule application: what it used in which place."""
        records, entity = self.records, own(step.name)
        self.tell_fact(step)
        activity = records.activity(own(f"apply-{step.name}"), constat("RuleApplication"))
        plan = None if step.rule is None else self.rule(step.rule)
        records.association(activity, self.engine, plan, constat("engine"))
        made = own(f"generation-{step.name}")
        records.generation(entity, activity, made)
        for count, premise in enumerate(step.premises):
            below = own(steps[premise.step].name)
            used = own(f"usage-{step.name}-{count}")
            records.usage(activity, below, constat(f"body-{premise.place}"), used)
            records.derivation(entity, below, activity=activity, generation=made, usage=used)

    def tell_made(self, step: Step, steps: tuple[Step, ...], kind: Name) -> None:
        """Tell what an activity found out from premises and answers."""
        records, entity = self.records, own(step.name)
        activity = records.activity(own(f"check-{step.name}"), kind)
        records.association(activity, self.engine, role=constat("engine"))
        records.generation(entity, activity)
        below = [own(steps[premise.step].name) for premise in step.premises]
        below += [own(f"source{source}") for source in step.sources]
        for one in below:
            records.usage(activity, one)
            records.derivation(entity, one)

    def tell_aggregate(self, step: Step, steps: tuple[Step, ...]) -> None:
        """Tell an aggregate: a fold over a collection, whose members are listed or summarised."""
        records, entity = self.records, own(step.name)
        activity = records.activity(own(f"fold-{step.name}"), constat("Aggregation"))
        records.association(activity, self.engine, role=constat("engine"))
        records.generation(entity, activity)
        told = None if step.summary is None else self.document.members["summaries"][step.summary]
        group = records.entity(
            own(f"rows-{step.name}"),
            prov("Collection"),
            label=f"the rows of {step.fact}",
            rows=None if told is None else told["count"],
            hash=None if told is None else told["hash"],
        )
        records.usage(activity, group)
        records.derivation(entity, group)
        self.tell_sources(group, step)
        for premise in step.premises:
            below = steps[premise.step]
            if below.kind == CLOSURE:
                records.derivation(group, own(below.name))
            else:
                records.member(group, own(below.name))


def own(local: str) -> Name:
    """Return a name of this proof."""
    return Name("proof", local)


_TYPES: Final = MappingProxyType(
    {
        FACT: (constat("Fact"), constat("Row")),
        ROW: (constat("Row"),),
        RULE: (constat("Fact"),),
        ABSENCE: (constat("Absence"),),
        AGGREGATE: (constat("Aggregate"),),
        CLOSURE: (constat("Closure"),),
    }
)
