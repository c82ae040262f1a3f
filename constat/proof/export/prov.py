"""W3C PROV: the records of a proof, and their notations."""

from __future__ import annotations

import hashlib
import json
import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen
from constat.proof.encoding import canonical
from constat.proof.export.document import Document, missing_package
from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, RULE, steps_of
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from types import ModuleType

    from pyoxigraph import Literal, NamedNode, Quad

    from constat.proof.encoding import Json
    from constat.proof.export.document import Members
    from constat.proof.export.steps import Step, Steps

# A record says the same in every notation; relations that others refer to have a name, the rest
# has none.  See PROV-DM, www.w3.org/TR/prov-dm.

NAMESPACES: Final = (
    ("prov", "http://www.w3.org/ns/prov#"),
    ("constat", "urn:constat:terms:"),
    ("fact", "urn:constat:fact:"),
    ("rule", "urn:constat:rule:"),
    ("data", "urn:constat:data:"),
    ("agent", "urn:constat:agent:"),
    ("decision", "urn:constat:decision:"),
)
PROOF: Final = "urn:constat:proof:"


@frozen
class Name:
    """A qualified name; ``local`` holds only letters, digits, ``-``, ``_`` and ``.``."""

    prefix: str
    local: str

    def __str__(self) -> str:
        return f"{self.prefix}:{self.local}"


Value = str | int | Name
Pairs = tuple[tuple[str, Value], ...]


@frozen
class Element:
    """An ``entity``, ``activity`` or ``agent``.

    ``values`` are attributes by the local part of their name; ``label`` and ``value`` are those of
    PROV, the others are ours.  ``ended`` is the end of an activity.
    """

    section: str
    name: Name
    types: tuple[Name, ...] = ()
    values: Pairs = ()
    ended: str | None = None


@frozen
class Relation:
    """A relation between elements; ``ends`` are its arguments by name, in their order in PROV-N."""

    section: str
    ends: tuple[tuple[str, Name], ...]
    name: Name | None = None
    kind: Name | None = None
    role: Name | None = None

    def end(self, name: str) -> Name | None:
        """Return an argument; ``None`` where it was not given."""
        return dict(self.ends).get(name)


Record = Element | Relation


@frozen
class Bundle:
    """The records of one decision; ``namespace`` is what its prefix ``proof`` stands for."""

    name: Name
    namespace: str
    records: tuple[Record, ...]


@frozen
class Provenance:
    """Who made which bundle, and the bundles, the outermost first."""

    records: tuple[Record, ...]
    bundles: tuple[Bundle, ...]


def constat(local: str) -> Name:
    """Return a name of our vocabulary."""
    return Name("constat", local)


def prov(local: str) -> Name:
    """Return a name of PROV."""
    return Name("prov", local)


def named(prefix: str, *parts: str | None) -> Name:
    """Return the name of what these texts identify: the same in every export."""
    told = json.dumps(parts, ensure_ascii=True)
    return Name(prefix, hashlib.sha256(told.encode()).hexdigest())


class Records:
    """Collects the records of a bundle; an element that is met again is written once."""

    def __init__(self) -> None:
        self._elements: dict[Name, Element] = {}
        self._relations: list[Relation] = []

    def entity(self, name: Name, *types: Name, **values: Value | None) -> Name:
        """Add an entity; what is ``None`` or empty is left out."""
        return self._element("entity", name, types, values)

    def agent(self, name: Name, *types: Name, **values: Value | None) -> Name:
        """Add an agent."""
        return self._element("agent", name, types, values)

    def activity(
        self, name: Name, *types: Name, ended: str | None = None, **values: Value | None
    ) -> Name:
        """Add an activity."""
        return self._element("activity", name, types, values, ended)

    def _element(
        self,
        section: str,
        name: Name,
        types: tuple[Name, ...],
        values: Mapping[str, Value | None],
        ended: str | None = None,
    ) -> Name:
        stated = tuple((key, one) for key, one in values.items() if one is not None and one != "")
        self._elements.setdefault(name, Element(section, name, types, stated, ended))
        return name

    def generation(self, entity: Name, activity: Name, name: Name | None = None) -> None:
        """An activity made an entity."""
        self._relate("wasGeneratedBy", (("entity", entity), ("activity", activity)), name=name)

    def usage(
        self, activity: Name, entity: Name, role: Name | None = None, name: Name | None = None
    ) -> None:
        """An activity used an entity."""
        ends = (("activity", activity), ("entity", entity))
        self._relate("used", ends, name=name, role=role)

    def association(
        self, activity: Name, agent: Name, plan: Name | None = None, role: Name | None = None
    ) -> None:
        """An agent is responsible for an activity, and followed a plan."""
        ends = (("activity", activity), ("agent", agent))
        planned = () if plan is None else (("plan", plan),)
        self._relate("wasAssociatedWith", (*ends, *planned), role=role)

    def attribution(self, entity: Name, agent: Name) -> None:
        """An agent is responsible for an entity."""
        self._relate("wasAttributedTo", (("entity", entity), ("agent", agent)))

    def derivation(self, entity: Name, used: Name, kind: Name | None = None, **more: Name) -> None:
        """An entity was made from another; ``more`` are ``activity``, ``generation``, ``usage``."""
        ends = (("generatedEntity", entity), ("usedEntity", used), *more.items())
        self._relate("wasDerivedFrom", ends, kind=kind)

    def specialization(self, specific: Name, general: Name) -> None:
        """An entity presents aspects of a more general one."""
        ends = (("specificEntity", specific), ("generalEntity", general))
        self._relate("specializationOf", ends)

    def alternate(self, one: Name, other: Name) -> None:
        """Two entities present aspects of the same thing."""
        self._relate("alternateOf", (("alternate1", one), ("alternate2", other)))

    def member(self, collection: Name, entity: Name) -> None:
        """An entity belongs to a collection."""
        self._relate("hadMember", (("collection", collection), ("entity", entity)))

    def mention(self, specific: Name, general: Name, bundle: Name) -> None:
        """An entity is the one that another bundle describes."""
        ends = (("specificEntity", specific), ("generalEntity", general), ("bundle", bundle))
        self._relate("mentionOf", ends)

    def _relate(
        self,
        section: str,
        ends: tuple[tuple[str, Name], ...],
        *,
        name: Name | None = None,
        kind: Name | None = None,
        role: Name | None = None,
    ) -> None:
        self._relations.append(Relation(section, ends, name, kind, role))

    def finished(self) -> tuple[Record, ...]:
        """Return elements, then relations, each once."""
        return (*self._elements.values(), *dict.fromkeys(self._relations))


# A cached answer is the alternate of the one that was fetched; a nested certificate is mentioned,
# and told in a bundle of its own; what a reviewer accepted is a revision of what was said.

_KINDS: Final = MappingProxyType(
    {"LLM_KNOWLEDGE": "SoftwareAgent", "LLM_HEURISTIC": "SoftwareAgent", "CONFIG": "Agent"}
)
"""What an author is who is no person."""
_ACTIVITIES: Final = (
    ("LLM_KNOWLEDGE", "ModelCall"),
    ("LLM_HEURISTIC", "ModelCall"),
    ("USER_PROVIDED", "Statement"),
    ("API", "ServiceCall"),
)
_DIGITS: Final = re.compile(r"[0-9a-f]{64}\Z")


def printed(text: str | None) -> str | None:
    """Return printable text, or ``None``."""
    return None if text is None else printable(text)


def describe_sources(document: Document, records: Records, engine: Name) -> None:
    """Tell all sources of a certificate."""
    for place, source in enumerate(document.sources):
        _Source(document, records, place, source).tell(engine)


class _Source:
    """Tells one source."""

    def __init__(self, document: Document, records: Records, place: int, source: Members) -> None:
        self.document = document
        self.records = records
        self.place = place
        self.source = source
        self.answer = Name("proof", f"source{place}")
        self.reading = Name("proof", f"reading{place}")
        self.attestation: Members | None = source.get("attestation")

    def tell(self, engine: Name) -> None:
        """Tell the answer, the reading, the data, and who said it."""
        source, records = self.source, self.records
        records.entity(
            self.answer,
            constat("Answer"),
            label=printable(source["name"] or source["tier"]),
            origin=source["origin"],
            tier=printable(source["tier"]),
            parameters=json.dumps(source["parameters"]) if source["parameters"] else None,
            rows=source["rows"],
            hash=source["hash"],
            confidence=source["confidence"],
        )
        kind = dict(_ACTIVITIES).get(source["origin"], "Reading")
        executed = self.document.record["executed"][self.place]
        records.activity(self.reading, constat(kind), ended=executed)
        records.generation(self.answer, self.reading)
        records.association(self.reading, engine, self.query(), constat("reader"))
        self.tell_data()
        self.tell_author()
        self.tell_cache(executed)
        self.tell_proof()

    def query(self) -> Name | None:
        """Tell the query; it is the plan of the reading."""
        query = self.source["query"]
        if query is None:
            return None
        types = prov("Plan"), constat("Query")
        return self.records.entity(named("data", "query", query), *types, value=printable(query))

    def tell_data(self) -> None:
        """Tell the data set, and its snapshot where it has one."""
        source, records = self.source, self.records
        label = printable(source["name"] or source["tier"])
        dataset = named("data", source["origin"], source["name"])
        more = {"description": printable(source["author"])} if source["author"] else {}
        told = more if source["origin"] == "DATABASE" else {}
        records.entity(dataset, constat("Dataset"), label=label, origin=source["origin"], **told)
        read = dataset
        if source["snapshot"] is not None:
            read = named("data", source["origin"], source["name"], source["snapshot"])
            snapshot = printable(source["snapshot"])
            records.entity(read, constat("Snapshot"), label=f"{label}: {snapshot}")
            records.specialization(read, dataset)
            records.derivation(self.answer, read)
        records.usage(self.reading, read)
        records.derivation(self.answer, dataset, prov("PrimarySource"))

    def tell_author(self) -> None:
        """Tell whose word it is: by its attestation, else by the name of its author."""
        source, records = self.source, self.records
        told = self.attestation
        if told is None:
            if source["author"] is not None and source["origin"] != "DATABASE":
                kind = _KINDS.get(source["origin"], "Person")
                self.say(named("agent", "author", source["author"]), kind, source["author"], {})
            return
        agent = told["agent"]
        more = {"version": printed(agent["version"]), "digest": agent["digest"]}
        kind = "Person" if agent["kind"] == "person" else "SoftwareAgent"
        # Of a person the name alone says who it is; a model is another one with another version.
        parts = ("author",) if agent["kind"] == "person" else (agent["version"], agent["digest"])
        self.say(named("agent", *parts, agent["name"]), kind, agent["name"], more)
        self.tell_prompt(told)
        self.tell_quote(told["quote"])
        self.tell_review(told["reviewer"])
        if told["note"]:
            note = records.entity(
                Name("proof", f"note{self.place}"), constat("Note"), value=printable(told["note"])
            )
            records.derivation(self.answer, note)

    def say(self, agent: Name, kind: str, label: str, more: dict[str, str | None]) -> None:
        """Attribute the answer to an agent."""
        self.agent = self.records.agent(agent, prov(kind), label=printable(label), **more)
        self.records.attribution(self.answer, agent)

    def tell_prompt(self, told: Members) -> None:
        """Tell by which prompt the agent was asked, and what it responded, by their hashes."""
        records, plan = self.records, None
        if told["prompt"] is not None:
            plan = records.entity(
                _hashed(told["prompt"]), prov("Plan"), constat("Prompt"), hash=told["prompt"]
            )
        records.association(self.reading, self.agent, plan, constat("author"))
        if told["response"] is not None:
            response = records.entity(
                _hashed(told["response"]), constat("Response"), hash=told["response"]
            )
            records.derivation(self.answer, response)

    def tell_quote(self, quote: Members | None) -> None:
        """Tell which words of which document it rests on."""
        if quote is None:
            return
        records = self.records
        document = records.entity(
            named("data", "document", quote["document"], quote["hash"]),
            constat("Document"),
            label=printable(quote["document"]),
            hash=quote["hash"],
        )
        span = records.entity(
            Name("proof", f"quote{self.place}"),
            constat("Quote"),
            value=printable(quote["text"]),
            start=quote["start"],
            end=quote["end"],
        )
        records.derivation(span, document, prov("Quotation"))
        records.derivation(self.answer, span)

    def tell_review(self, reviewer: Members | None) -> None:
        """Tell who looked at what was said before it was accepted."""
        if reviewer is None:
            return
        records = self.records
        person = named("agent", "author", reviewer["name"])
        records.agent(person, prov("Person"), label=printable(reviewer["name"]))
        said = records.entity(Name("proof", f"said{self.place}"), constat("Said"))
        records.attribution(said, self.agent)
        review = records.activity(
            Name("proof", f"review{self.place}"), constat("Review"), ended=reviewer["at"]
        )
        records.usage(review, said)
        records.association(review, person, role=constat("reviewer"))
        records.derivation(self.answer, said, prov("Revision"), activity=review)

    def tell_cache(self, executed: str | None) -> None:
        """Tell that the answer is a copy of one that was fetched before."""
        if self.source["tier"].partition(",")[0] != "cache":
            return
        source, records = self.source, self.records
        fetched = named("data", "answer", source["hash"], source["query"], executed)
        records.entity(fetched, constat("Answer"), hash=source["hash"], rows=source["rows"])
        records.alternate(self.answer, fetched)
        records.derivation(self.answer, fetched)

    def tell_proof(self) -> None:
        """Tell the nested certificate that proves the row."""
        proof = self.source.get("proof")
        if proof is None:
            return
        identity = self.source["name"].removeprefix("sha256:")
        if not _DIGITS.match(identity):
            raise ValueError("this is no certificate: a nested identity has another form")
        verdict = Name("decision", f"{identity}.verdict")
        cited = self.records.entity(Name("proof", f"cited{self.place}"), constat("Proof"))
        self.records.mention(cited, verdict, Name("decision", identity))
        self.records.derivation(self.answer, cited)
        self.records.derivation(self.answer, verdict)


def _hashed(digest: str) -> Name:
    return named("data", "hash", digest)


# A decision is a bundle and an entity; a rule application an activity with the rule as its plan,
# each premise used in the role of its place; an absence and an aggregate entities that an activity
# made; the rows of an aggregate members of a collection.  `prov_sources` tells what came from
# outside. Reference: PROV-DM and PROV-CONSTRAINTS, www.w3.org/TR/prov-overview.

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
        asked_by = self.document.header.get("asked_by")
        if asked_by:
            who = named("agent", "author", asked_by)
            records.agent(who, prov("Person"), label=printable(asked_by))
            records.association(self.run, who, role=constat("decider"))

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
                version=printed(rule.get("version")),
            )
            records.member(program, plan)
            self.tell_people(plan, rule)
            abstract = named("rule", rule["head"][0], rule["id"])
            records.entity(abstract, prov("Plan"), label=printable(rule["id"]))
            records.specialization(plan, abstract)
            if rule["assumption"] is not None:
                assumed = own(f"assumption{rule['assumption']}")
                records.derivation(plan, assumed, constat("Acceptance"))
        names = {digest: place for place, digest in enumerate(document.rule_digests)}
        for approval in document.header["approvals"]:
            place = names[approval["rule"]]
            label = f"{document.rules[place]['id']} approved by {approval['by']}"
            name = records.activity(
                named("decision", "approval", canonical(approval)),
                constat("Approval"),
                label=printable(label),
            )
            records.usage(name, self.rule(place))
            records.association(name, self.person(approval["by"]), role=constat("approver"))

    def person(self, name: str) -> Name:
        """Tell somebody who is named: the one of this name who states facts, too."""
        return self.records.agent(
            named("agent", "author", name), prov("Person"), label=printable(name)
        )

    def tell_people(self, plan: Name, rule: Members) -> None:
        """Tell whose rule it is: who wrote it, and which role of an organisation owns it."""
        records = self.records
        if rule.get("author"):
            records.attribution(plan, self.person(rule["author"]))
        if rule.get("owner"):
            owner = named("agent", "owner", rule["owner"])
            label = printable(rule["owner"])
            records.attribution(plan, records.agent(owner, prov("Organization"), label=label))
        if not (rule.get("author") or rule.get("owner")):
            nobody = records.agent(
                named("agent", "nobody"), constat("Unnamed"), label="nobody named"
            )
            records.attribution(plan, nobody)

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
            if step.kind in {FACT, ROW}:
                told = self.document.sources[source]
                dataset = named("data", told["origin"], told["name"])
                self.records.derivation(name, dataset, prov("PrimarySource"))

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


# It says what `prov_mapping` says and nothing else.  See the W3C submission PROV-JSON.

_OF_PROV = frozenset({"label", "value"})


def to_prov_json(certificate: bytes) -> str:
    """Return the proof as PROV-JSON; ``ValueError`` for what is no certificate."""
    told = provenance(certificate)
    members = _sections(told.records)
    members["prefix"] = {prefix: full for prefix, full in NAMESPACES if prefix != "prov"}
    members["bundle"] = {
        str(bundle.name): {"prefix": {"proof": bundle.namespace}, **_sections(bundle.records)}
        for bundle in told.bundles
    }
    return json.dumps(members, indent=1) + "\n"


def _sections(records: tuple[Record, ...]) -> dict[str, Json]:
    sections: dict[str, dict[str, Json]] = {}
    for place, record in enumerate(records):
        section = sections.setdefault(record.section, {})
        if isinstance(record, Element):
            section[str(record.name)] = _element(record)
        else:
            # A relation without a name still needs one to stand in an object; `_:` says so.
            name = f"_:r{place}" if record.name is None else str(record.name)
            members: dict[str, Json] = {f"prov:{key}": str(end) for key, end in record.ends}
            if record.kind is not None:
                members["prov:type"] = _value(record.kind)
            if record.role is not None:
                members["prov:role"] = _value(record.role)
            section[name] = members
    return dict(sections)


def _element(element: Element) -> Json:
    members: dict[str, Json] = {}
    if element.ended is not None:
        members["prov:endTime"] = element.ended
    types = [_value(one) for one in element.types]
    if types:
        members["prov:type"] = types if len(types) > 1 else types[0]
    for key, value in element.values:
        members[f"{'prov' if key in _OF_PROV else 'constat'}:{key}"] = _value(value)
    return members


def _value(value: Value) -> Json:
    if isinstance(value, Name):
        return {"$": str(value), "type": "prov:QUALIFIED_NAME"}
    return value


# It says what `prov_mapping` says and nothing else.  See www.w3.org/TR/prov-n.

# The arguments of each relation, in the order of the notation; one that is not given is a dash.
_ARGUMENTS: Final = MappingProxyType(
    {
        "wasGeneratedBy": ("entity", "activity", "time"),
        "used": ("activity", "entity", "time"),
        "wasAssociatedWith": ("activity", "agent", "plan"),
        "wasAttributedTo": ("entity", "agent"),
        "wasDerivedFrom": ("generatedEntity", "usedEntity", "activity", "generation", "usage"),
        "specializationOf": ("specificEntity", "generalEntity"),
        "alternateOf": ("alternate1", "alternate2"),
        "mentionOf": ("specificEntity", "generalEntity", "bundle"),
        "hadMember": ("collection", "entity"),
    }
)
_PROV_OF_PROV: Final = frozenset({"label", "value"})
_ESCAPES: Final = MappingProxyType(str.maketrans({"\\": "\\\\", '"': '\\"'}))


def to_prov_n(certificate: bytes) -> str:
    """Return the proof as PROV-N; ``ValueError`` for what is no certificate."""
    return "\n".join(_lines(certificate)) + "\n"


def _lines(certificate: bytes) -> Iterator[str]:
    told = provenance(certificate)
    yield "document"
    for prefix, full in NAMESPACES:
        if prefix != "prov":
            yield f"  prefix {prefix} <{full}>"
    yield ""
    for record in told.records:
        yield f"  {_record(record)}"
    for bundle in told.bundles:
        yield f"  bundle {bundle.name}"
        yield f"    prefix proof <{bundle.namespace}>"
        yield ""
        for record in bundle.records:
            yield f"    {_record(record)}"
        yield "  endBundle"
    yield "endDocument"


def _record(record: Record) -> str:
    return _prov_element(record) if isinstance(record, Element) else _relation(record)


def _prov_element(element: Element) -> str:
    ends = [str(element.name)]
    if element.section == "activity":
        ends += ["-", element.ended or "-"]
    pairs = [("prov:type", _prov_value(one)) for one in element.types]
    pairs += [
        (f"{'prov' if key in _PROV_OF_PROV else 'constat'}:{key}", _prov_value(value))
        for key, value in element.values
    ]
    return f"{element.section}({', '.join(ends)}{_attributes(pairs)})"


def _relation(relation: Relation) -> str:
    ends = ", ".join(str(relation.end(name) or "-") for name in _ARGUMENTS[relation.section])
    name = "" if relation.name is None else f"{relation.name}; "
    pairs = [("prov:type", relation.kind), ("prov:role", relation.role)]
    told = [(key, _prov_value(value)) for key, value in pairs if value is not None]
    return f"{relation.section}({name}{ends}{_attributes(told)})"


def _attributes(pairs: list[tuple[str, str]]) -> str:
    return f", [{', '.join(f'{key}={text}' for key, text in pairs)}]" if pairs else ""


def _prov_value(value: Value) -> str:
    if isinstance(value, Name):
        return f"'{value}'"
    return str(value) if isinstance(value, int) else f'"{value.translate(_ESCAPES)}"'


_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_RDF_TYPE: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_LABEL: Final = "http://www.w3.org/2000/01/rdf-schema#label"
_PROV: Final = "http://www.w3.org/ns/prov#"
_CLASSES: Final = MappingProxyType({"entity": "Entity", "activity": "Activity", "agent": "Agent"})
# Plain property, qualifying property, class of the qualified relation, property of its object; and
# which argument is the subject, which the object.
_RELATIONS: Final = MappingProxyType(
    {
        "wasGeneratedBy": (
            *("wasGeneratedBy", "qualifiedGeneration", "Generation", "activity"),
            *("entity", "activity"),
        ),
        "used": ("used", "qualifiedUsage", "Usage", "entity", "activity", "entity"),
        "wasAssociatedWith": (
            *("wasAssociatedWith", "qualifiedAssociation", "Association", "agent"),
            *("activity", "agent"),
        ),
        "wasAttributedTo": (
            *("wasAttributedTo", "qualifiedAttribution", "Attribution", "agent"),
            *("entity", "agent"),
        ),
        "wasDerivedFrom": (
            *("wasDerivedFrom", "qualifiedDerivation", "Derivation", "entity"),
            *("generatedEntity", "usedEntity"),
        ),
        "specializationOf": ("specializationOf", "", "", "", "specificEntity", "generalEntity"),
        "alternateOf": ("alternateOf", "", "", "", "alternate1", "alternate2"),
        "mentionOf": ("mentionOf", "", "", "", "specificEntity", "generalEntity"),
        "hadMember": ("hadMember", "", "", "", "collection", "entity"),
    }
)
# Kinds of derivation that have properties of their own.
_DERIVATIONS: Final = MappingProxyType(
    {
        "Revision": ("wasRevisionOf", "qualifiedRevision"),
        "Quotation": ("wasQuotedFrom", "qualifiedQuotation"),
        "PrimarySource": ("hadPrimarySource", "qualifiedPrimarySource"),
    }
)


def to_turtle(certificate: bytes) -> str:
    """Return the proof as Turtle, in one graph; ``ValueError`` for what is no certificate."""
    return _written(certificate, "TURTLE", graphs=False)


def to_trig(certificate: bytes) -> str:
    """Return the proof as TriG; ``ValueError`` for what is no certificate."""
    return _written(certificate, "TRIG", graphs=True)


def to_nquads(certificate: bytes) -> str:
    """Return the proof as N-Quads; ``ValueError`` for what is no certificate."""
    return _written(certificate, "N_QUADS", graphs=True)


def _written(certificate: bytes, notation: str, *, graphs: bool) -> str:
    try:
        import pyoxigraph as rdf  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError as problem:
        raise missing_package("pyoxigraph", "rdf") from problem
    told = provenance(certificate)
    quads = dict.fromkeys(_Writer(rdf, told).quads(graphs=graphs))
    statements = quads if graphs else [quad.triple for quad in quads]
    prefixes = dict(NAMESPACES)
    prefixes |= {"proof": told.bundles[0].namespace, "xsd": _XSD}
    prefixes["rdfs"] = _LABEL.removesuffix("label")
    chosen = getattr(rdf.RdfFormat, notation)
    content = rdf.serialize(statements, format=chosen, prefixes=prefixes)
    return (content or b"").decode()


class _Writer:
    """Turns records into quads."""

    def __init__(self, rdf: ModuleType, told: Provenance) -> None:
        self.rdf = rdf
        self.told = told
        self.namespaces = dict(NAMESPACES)
        self.graph: object = None

    def quads(self, *, graphs: bool) -> Iterator[Quad]:
        """Give every statement, those about the bundles first."""
        self.graph = self.rdf.DefaultGraph()
        yield from self.records(self.told.records)
        for bundle in self.told.bundles:
            self.namespaces["proof"] = bundle.namespace
            if graphs:
                self.graph = self.node(bundle.name)
            yield from self.records(bundle.records)

    def records(self, records: tuple[Record, ...]) -> Iterator[Quad]:
        """Give the statements of records."""
        for place, record in enumerate(records):
            if isinstance(record, Element):
                yield from self.element(record)
            else:
                yield from self.relation(record, place)

    def node(self, name: Name) -> NamedNode:
        """Give the node of a name."""
        return self.rdf.NamedNode(self.namespaces[name.prefix] + name.local)  # type: ignore[no-any-return]  # an untyped module

    def literal(self, value: Value) -> NamedNode | Literal:
        """Give the term of a value."""
        if isinstance(value, Name):
            return self.node(value)
        return self.rdf.Literal(value)  # type: ignore[no-any-return]  # an untyped module

    def quad(self, subject: object, predicate: str, target: object) -> Quad:
        """Give one statement in the present graph."""
        return self.rdf.Quad(subject, self.rdf.NamedNode(predicate), target, self.graph)  # type: ignore[no-any-return]  # an untyped module

    def element(self, element: Element) -> Iterator[Quad]:
        """Give the statements of an element."""
        node = self.node(element.name)
        classes = (Name("prov", _CLASSES[element.section]), *element.types)
        for one in dict.fromkeys(classes):
            yield self.quad(node, _RDF_TYPE, self.node(one))
        if element.ended is not None:
            moment = self.rdf.Literal(element.ended, datatype=self.rdf.NamedNode(f"{_XSD}dateTime"))
            yield self.quad(node, f"{_PROV}endedAtTime", moment)
        for key, value in element.values:
            yield self.quad(node, self.attribute(key), self.literal(value))

    def attribute(self, key: str) -> str:
        """Give the property of an attribute."""
        if key == "label":
            return _LABEL
        return f"{_PROV}value" if key == "value" else f"{self.namespaces['constat']}{key}"

    def relation(self, relation: Relation, place: int) -> Iterator[Quad]:
        """Give a relation in its plain and its qualified form."""
        plain, qualified, kind, target, subject_end, object_end = _RELATIONS[relation.section]
        subject = self.node(_given(relation, subject_end))
        ends = self.node(_given(relation, object_end))
        yield self.quad(subject, f"{_PROV}{plain}", ends)
        own = relation.kind.local if relation.kind is not None else ""
        narrower = _DERIVATIONS.get(own)
        if narrower is not None:
            yield self.quad(subject, f"{_PROV}{narrower[0]}", ends)
        if relation.section == "mentionOf":
            yield self.quad(subject, f"{_PROV}asInBundle", self.node(_given(relation, "bundle")))
        if not qualified:
            return
        node = self.qualified(relation, place)
        yield self.quad(subject, f"{_PROV}{qualified}", node)
        yield self.quad(node, _RDF_TYPE, self.rdf.NamedNode(f"{_PROV}{kind}"))
        if narrower is not None:
            yield self.quad(subject, f"{_PROV}{narrower[1]}", node)
        yield self.quad(node, f"{_PROV}{target}", ends)
        yield from self.details(relation, node)

    def qualified(self, relation: Relation, place: int) -> NamedNode:
        """Give the node of a qualified relation; one without a name is numbered."""
        if relation.name is not None:
            return self.node(relation.name)
        prefix = "proof" if "proof" in self.namespaces else "decision"
        return self.node(Name(prefix, f"relation{place}"))

    def details(self, relation: Relation, node: NamedNode) -> Iterator[Quad]:
        """Give what only the qualified form says: kind, role, plan, activity, generation, usage."""
        if relation.kind is not None:
            yield self.quad(node, _RDF_TYPE, self.node(relation.kind))
        if relation.role is not None:
            role = self.node(relation.role)
            yield self.quad(node, f"{_PROV}hadRole", role)
            yield self.quad(role, _RDF_TYPE, self.rdf.NamedNode(f"{_PROV}Role"))
        ends = {"plan": "hadPlan", "generation": "hadGeneration", "usage": "hadUsage"}
        if relation.section == "wasDerivedFrom":
            ends["activity"] = "hadActivity"
        for key, term in ends.items():
            end = relation.end(key)
            if end is not None:
                yield self.quad(node, f"{_PROV}{term}", self.node(end))


def _given(relation: Relation, end: str) -> Name:
    found = relation.end(end)
    if found is None:
        raise ValueError(f"{relation.section} has no {end}")
    return found
