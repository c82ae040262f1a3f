"""What came from outside, in the terms of W3C PROV: answers, data sets, queries, who said what.

In: a ``Document``.  Out: records.  Invariants: the reading of a source is an activity with its
time; the answer is derived from the snapshot, or the data set, that was read; what a model, a
person or a service said is attributed to it, and never to the engine.

A cached answer is the alternate of the one that was fetched; a nested certificate is mentioned, and
told in a bundle of its own; what a reviewer accepted is a revision of what was said.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from constat.proof.export.prov_records import Name, Records, constat, named, prov
from constat.proof.render import printable

if TYPE_CHECKING:
    from constat.proof.export.document import Document, Members

_MODELS: Final = frozenset({"LLM_KNOWLEDGE", "LLM_HEURISTIC"})
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
        records.entity(dataset, constat("Dataset"), label=label, origin=source["origin"])
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
            if source["author"] is not None:
                kind = "SoftwareAgent" if source["origin"] in _MODELS else "Person"
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
