"""Competency questions: what an auditor asks of the provenance, in SPARQL and of the certificate.

Each question has a query and a function that answers it from the certificate's JSON alone, without
the code under test.  The answers are sets of rows of texts.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Members = dict[str, Any]
Answer = set[tuple[str, ...]]

PREFIXES: Final = """
PREFIX prov: <http://www.w3.org/ns/prov#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
PREFIX constat: <urn:constat:terms:>
"""


def row_text(row: Sequence[str | None]) -> str:
    return json.dumps(row)


def rule_nodes(cert: Members) -> Iterator[Members]:
    return (node for node in cert["nodes"] if node["kind"] == "rule")


def fact_nodes(cert: Members) -> Iterator[Members]:
    return (node for node in cert["nodes"] if node["kind"] == "fact")


def bound(node: Members, cert: Members) -> dict[str, str | None]:
    names = [name for name, _ in cert["rules"][node["rule"]]["variables"]]
    return dict(zip(names, node["bind"], strict=True))


def pattern(atom: list[Any], values: dict[str, str | None]) -> list[str | None]:
    return [values.get(term[1]) if term[0] == "v" else term[2] for term in atom[1]]


def fits(wanted: list[str | None], row: list[str]) -> bool:
    return all(cell is None or cell == mine for cell, mine in zip(wanted, row, strict=True))


def literals(cert: Members, sign: str) -> Iterator[tuple[Members, list[Any]]]:
    for node in rule_nodes(cert):
        for literal in cert["rules"][node["rule"]]["body"]:
            if literal[0] == sign:
                yield node, literal


def counted(cert: Members) -> Iterator[tuple[str, list[str], int]]:
    """Yield the rows of sources that aggregates count, with their sources."""
    for node, literal in literals(cert, "a"):
        values = bound(node, cert)
        for inner in (one for one in literal[4] if one[0] != "?"):
            wanted = pattern(inner[1], values)
            for group in cert["facts"]:
                if group["predicate"] == inner[1][0]:
                    for row in group["rows"]:
                        cells = dict(zip(map(str, inner[1][1]), row, strict=True))
                        if fits(wanted, row) and fields_fit(literal[4], cells, values):
                            yield group["predicate"], row, group["source"]


def fields_fit(body: list[Any], cells: dict[str, str], values: dict[str, str | None]) -> bool:
    """Tell whether the records of a row have the fields that an aggregate's group has."""
    for one in body:
        if one[0] == "?" and one[3][:2] == ["f", "field_of"]:
            record, place = one[3][3]
            wanted = values.get(one[2][1]) if one[2][0] == "v" else one[2][2]
            # A record of numbers and texts without escapes is a list of JSON.
            if wanted is not None and str(json.loads(cells[str(record)])[int(place[2])]) != wanted:
                return False
    return True


def supporting(cert: Members) -> Answer:
    rows = {(node["fact"][0], row_text(node["fact"][1])) for node in fact_nodes(cert)}
    return rows | {(name, row_text(row)) for name, row, _ in counted(cert)}


def from_sources(cert: Members) -> Answer:
    found = {
        (*node["fact"][:1], row_text(node["fact"][1]), cert["facts"][node["facts"]]["source"])
        for node in fact_nodes(cert)
    }
    found |= {(name, row_text(row), source) for name, row, source in counted(cert)}
    return {(name, row, cert["sources"][source]["hash"]) for name, row, source in found}


def uses(cert: Members) -> Answer:
    return {
        (
            node["fact"][0],
            row_text(node["fact"][1]),
            str(place),
            cert["nodes"][premise]["fact"][0],
            row_text(cert["nodes"][premise]["fact"][1]),
        )
        for node in rule_nodes(cert)
        for place, premise in enumerate(node["premises"], 1)
        if isinstance(premise, int)
    }


def absent(cert: Members) -> Answer:
    found: Answer = {
        (literal[1][0], row_text(pattern(literal[1], bound(node, cert))))
        for node, literal in literals(cert, "-")
    }
    if cert["header"]["verdict"].startswith("DISPROVED"):
        found.add((cert["header"]["goal"][0], row_text(cert["header"]["goal"][1])))
    return found


def absent_by(cert: Members) -> Answer:
    found: Answer = set()
    for name, row in absent(cert):
        for coverage in cert["coverage"]:
            if coverage["predicate"] != name:
                continue
            key = [json.loads(row)[column] for column in coverage["columns"]]
            if key in coverage["keys"]:
                for source in coverage["sources"]:
                    found.add((name, row, cert["sources"][source]["hash"]))
    return found


def below(cert: Members, start: int) -> set[int]:
    found, waiting = set(), [start]
    while waiting:
        place = waiting.pop()
        if place not in found:
            found.add(place)
            premises = cert["nodes"][place].get("premises", ())
            waiting += [one for one in premises if isinstance(one, int)]
    return found - {start}


def facts_below(cert: Members, place: int) -> Answer:
    """Return the facts under a node, those of the proofs that it cites with them."""
    found: Answer = set()
    for lower in below(cert, place) | {place}:
        node = cert["nodes"][lower]
        if lower != place:
            found.add((node["fact"][0], row_text(node["fact"][1])))
        proof = node["kind"] == "fact" and cert["sources"][cert["facts"][node["facts"]]["source"]]
        if proof and proof["proof"] is not None:
            nested = cert["proofs"][proof["proof"]["certificate"]]
            for at, one in enumerate(nested["nodes"]):
                if one["fact"] == nested["header"]["goal"]:
                    found |= {(one["fact"][0], row_text(one["fact"][1]))}
                    found |= facts_below(nested, at)
    return found


def rests_on(cert: Members) -> Answer:
    return {
        (node["fact"][0], row_text(node["fact"][1]), *lower)
        for place, node in enumerate(cert["nodes"])
        for lower in facts_below(cert, place)
    }


def assumed(cert: Members, accepted: bool) -> Answer:  # noqa: FBT001  which of two lists
    under = cert["header"]["under"]
    return {
        (one["kind"], one["text"], one["confidence"])
        for place, one in enumerate(cert["assumptions"])
        if (place in under) == accepted
    }


def assumed_facts(cert: Members) -> Answer:
    return {
        (node["fact"][0], row_text(node["fact"][1]), cert["assumptions"][place]["text"])
        for node in fact_nodes(cert)
        for place in [cert["facts"][node["facts"]]["assumption"]]
        if place is not None
    }


def stated(cert: Members) -> Answer:
    return {
        (node["fact"][0], row_text(node["fact"][1]), source["author"])
        for node in fact_nodes(cert)
        for source in [cert["sources"][cert["facts"][node["facts"]]["source"]]]
        if source["origin"] == "USER_PROVIDED"
    }


def attestations(cert: Members) -> Iterator[tuple[Members, Members]]:
    return ((one, one["attestation"]) for one in cert["sources"] if one["attestation"] is not None)


def everything(cert: Members) -> Iterator[Members]:
    """Yield a certificate and those that it rests on."""
    yield cert
    for nested in cert["proofs"]:
        yield from everything(nested)


def moment(time: str) -> str:
    """Return a time as a store of RDF spells it."""
    return time.removesuffix(".000000Z") + "Z" if time.endswith(".000000Z") else time


def label(source: Members) -> str:
    return str(source["name"] or source["tier"])


QUESTIONS: Final[tuple[tuple[str, str, Callable[[Members], Answer]], ...]] = (
    (
        "what was decided",
        "SELECT ?v ?c { ?d a constat:Decision; prov:value ?v; constat:confidence ?c }",
        lambda c: {(c["header"]["verdict"], c["header"]["confidence"])},
    ),
    (
        "which proof and which certificate is it",
        "SELECT ?i ?g { ?d a constat:Decision; constat:identity ?i; constat:digest ?g }",
        lambda c: {(c["identity"], c["digest"])},
    ),
    (
        "which rules were in force",
        "SELECT ?p ?r { ?d constat:program ?q. ?q rdfs:label ?p; prov:hadMember/rdfs:label ?r }",
        lambda c: {(c["header"]["program"], rule["id"]) for rule in c["rules"]},
    ),
    (
        "which rules were applied",
        (
            "SELECT ?r { ?a a constat:RuleApplication;"
            " prov:qualifiedAssociation/prov:hadPlan/rdfs:label ?r }"
        ),
        lambda c: {(c["rules"][node["rule"]]["id"],) for node in rule_nodes(c)},
    ),
    (
        "which conclusions does each rule give",
        (
            "SELECT ?r ?p ?v { ?f prov:wasGeneratedBy ?a; constat:predicate ?p; prov:value ?v."
            " ?a a constat:RuleApplication; prov:qualifiedAssociation/prov:hadPlan/rdfs:label ?r }"
        ),
        lambda c: {
            (c["rules"][n["rule"]]["id"], n["fact"][0], row_text(n["fact"][1]))
            for n in rule_nodes(c)
        },
    ),
    (
        "what is known to be true",
        (
            "SELECT ?p ?v ?c { ?f a constat:Fact; constat:predicate ?p; prov:value ?v;"
            " constat:confidence ?c }"
        ),
        lambda c: {(n["fact"][0], row_text(n["fact"][1]), n["confidence"]) for n in c["nodes"]},
    ),
    (
        "which rows support it",
        "SELECT ?p ?v { ?r a constat:Row; constat:predicate ?p; prov:value ?v }",
        supporting,
    ),
    (
        "which answer is each row from",
        (
            "SELECT ?p ?v ?h { ?r a constat:Row; constat:predicate ?p; prov:value ?v;"
            " prov:wasDerivedFrom ?s. ?s a constat:Answer; constat:hash ?h }"
        ),
        from_sources,
    ),
    (
        "which sources were read, and when",
        (
            "SELECT ?n ?o (STR(?t) AS ?time) { ?s a constat:Answer; rdfs:label ?n;"
            " constat:origin ?o;"
            " prov:wasGeneratedBy/prov:endedAtTime ?t }"
        ),
        lambda c: {
            (label(source), source["origin"], moment(time))
            for source, time in zip(c["sources"], c["record"]["executed"], strict=True)
        },
    ),
    (
        "which queries were asked",
        (
            "SELECT ?n ?q { ?s a constat:Answer; rdfs:label ?n; prov:wasGeneratedBy"
            " [ prov:qualifiedAssociation/prov:hadPlan ?plan ]."
            " ?plan a constat:Query; prov:value ?q }"
        ),
        lambda c: {(label(s), s["query"]) for s in c["sources"] if s["query"] is not None},
    ),
    (
        "with which parameters",
        "SELECT ?h ?p { ?s a constat:Answer; constat:hash ?h; constat:parameters ?p }",
        lambda c: {
            (s["hash"], json.dumps(s["parameters"])) for s in c["sources"] if s["parameters"]
        },
    ),
    (
        "how many rows did each source answer",
        "SELECT ?h (STR(?n) AS ?count) { ?s a constat:Answer; constat:hash ?h; constat:rows ?n }",
        lambda c: {(s["hash"], str(s["rows"])) for s in c["sources"]},
    ),
    (
        "which state of the data was read",
        (
            "SELECT ?n ?s { ?a a constat:Answer; rdfs:label ?n; prov:wasDerivedFrom ?p."
            " ?p a constat:Snapshot; rdfs:label ?s }"
        ),
        lambda c: {
            (label(s), f"{label(s)}: {s['snapshot']}") for s in c["sources"] if s["snapshot"]
        },
    ),
    (
        "which data sets are primary sources",
        (
            "SELECT DISTINCT ?n ?o { ?a prov:hadPrimarySource ?d. ?d a constat:Dataset;"
            " rdfs:label ?n; constat:origin ?o }"
        ),
        lambda c: {(label(s), s["origin"]) for s in c["sources"]},
    ),
    (
        "who stated what",
        (
            "SELECT ?p ?v ?w { ?f a constat:Fact; constat:predicate ?p; prov:value ?v;"
            " prov:wasDerivedFrom/prov:wasAttributedTo ?who. ?who a prov:Person; rdfs:label ?w }"
        ),
        stated,
    ),
    (
        "which model said it, and to which prompt",
        (
            "SELECT ?h ?n ?v ?p ?r { ?s a constat:Answer; constat:hash ?h;"
            " prov:wasAttributedTo ?m; prov:wasGeneratedBy ?c; prov:wasDerivedFrom ?a."
            " ?m a prov:SoftwareAgent; rdfs:label ?n; constat:version ?v."
            " ?c a constat:ModelCall; prov:qualifiedAssociation [ prov:agent ?m;"
            " prov:hadPlan [ a constat:Prompt; constat:hash ?p ] ]."
            " ?a a constat:Response; constat:hash ?r }"
        ),
        lambda c: {
            (s["hash"], a["agent"]["name"], a["agent"]["version"], a["prompt"], a["response"])
            for s, a in attestations(c)
            if a["agent"]["kind"] == "model"
        },
    ),
    (
        "which words of which document say it",
        (
            "SELECT ?h ?d ?t (STR(?b) AS ?begin) { ?s a constat:Answer; constat:hash ?h;"
            " prov:wasDerivedFrom ?q. ?q a constat:Quote; prov:value ?t; constat:start ?b;"
            " prov:wasQuotedFrom/rdfs:label ?d }"
        ),
        lambda c: {
            (s["hash"], a["quote"]["document"], a["quote"]["text"], str(a["quote"]["start"]))
            for s, a in attestations(c)
            if a["quote"] is not None
        },
    ),
    (
        "who looked at it before it was accepted, and when",
        (
            "SELECT ?h ?w (STR(?t) AS ?time) { ?s constat:hash ?h; prov:wasRevisionOf ?o."
            " ?r a constat:Review; prov:used ?o; prov:endedAtTime ?t;"
            " prov:wasAssociatedWith/rdfs:label ?w }"
        ),
        lambda c: {
            (s["hash"], a["reviewer"]["name"], moment(a["reviewer"]["at"]))
            for s, a in attestations(c)
            if a["reviewer"] is not None
        },
    ),
    (
        "on which other proofs does it rest",
        (
            "SELECT ?i ?v { ?s prov:wasDerivedFrom ?e. ?e a constat:Proof; prov:mentionOf ?d;"
            " prov:asInBundle ?b. ?b a prov:Bundle. ?d constat:identity ?i; prov:value ?v }"
        ),
        lambda c: {(one["identity"], one["header"]["verdict"]) for one in c["proofs"]},
    ),
    (
        "what is assumed",
        (
            'SELECT ?k ?t ?c { ?a a constat:Assumption; constat:accepted "yes"; constat:assumed ?k;'
            " rdfs:label ?t; constat:confidence ?c }"
        ),
        lambda c: assumed(c, True),
    ),
    (
        "what could have been assumed and was not",
        (
            'SELECT ?k ?t ?c { ?a a constat:Assumption; constat:accepted "no"; constat:assumed ?k;'
            " rdfs:label ?t; constat:confidence ?c }"
        ),
        lambda c: assumed(c, False),
    ),
    (
        "which facts stand on an assumption",
        (
            "SELECT ?p ?v ?t { ?f a constat:Fact; constat:predicate ?p; prov:value ?v;"
            " prov:wasDerivedFrom ?a. ?a a constat:Assumption; rdfs:label ?t }"
        ),
        assumed_facts,
    ),
    (
        "what is used in which place of the body",
        (
            "SELECT ?p ?v ?at ?q ?w { ?f prov:wasGeneratedBy ?a; constat:predicate ?p;"
            " prov:value ?v."
            " ?a prov:qualifiedUsage ?u. ?u prov:entity ?e; prov:hadRole ?role."
            " ?e a constat:Fact; constat:predicate ?q; prov:value ?w."
            ' BIND(STRAFTER(STR(?role), "body-") AS ?at) }'
        ),
        uses,
    ),
    (
        "what does each derivation use and when was it made",
        (
            "SELECT ?p ?v ?at ?q ?w { ?f constat:predicate ?p; prov:value ?v;"
            " prov:qualifiedDerivation ?d. ?d prov:entity ?e; prov:hadActivity ?a;"
            " prov:hadUsage [ prov:hadRole ?role; prov:entity ?e ];"
            " prov:hadGeneration [ prov:activity ?a ]. ?f prov:wasGeneratedBy ?a."
            " ?e a constat:Fact; constat:predicate ?q; prov:value ?w."
            ' BIND(STRAFTER(STR(?role), "body-") AS ?at) }'
        ),
        uses,
    ),
    (
        "which conclusions rest on which facts",
        (
            "SELECT ?p ?v ?q ?w { ?f a constat:Fact; constat:predicate ?p; prov:value ?v;"
            " prov:wasDerivedFrom+ ?e."
            " ?e a constat:Fact; constat:predicate ?q; prov:value ?w }"
        ),
        rests_on,
    ),
    (
        "what is absent",
        "SELECT ?p ?v { ?a a constat:Absence; constat:predicate ?p; prov:value ?v }",
        absent,
    ),
    (
        "who says that it is absent",
        (
            "SELECT ?p ?v ?h { ?a a constat:Absence; constat:predicate ?p; prov:value ?v;"
            " prov:wasGeneratedBy/prov:used ?s. ?s a constat:Answer; constat:hash ?h }"
        ),
        absent_by,
    ),
    (
        "what is missing",
        "SELECT ?l { ?m a constat:Missing; rdfs:label ?l }",
        lambda c: {(f"{name}({', '.join(row)})",) for name, row in c["missing"]},
    ),
    (
        "which engine decided, and when",
        (
            "SELECT ?e (STR(?t) AS ?time) { ?d a constat:Decision; prov:wasGeneratedBy ?r;"
            " prov:wasAttributedTo/rdfs:label ?e. ?r prov:endedAtTime ?t }"
        ),
        lambda c: {(c["record"]["engine"], moment(c["record"]["created"]))},
    ),
)
