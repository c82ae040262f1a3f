"""A certificate in a parcel: an in-toto statement about it, or an RO-Crate around it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.logic import CONSTRUCTOR_OF, FIELD_OF
from constat.proof.export.document import Document
from constat.proof.export.prov import to_prov_json
from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, steps_of
from constat.proof.export.tables import to_csv, zipped
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.proof.export.steps import Step

# A proof for other checkers: CertifyingDatalog in Lean 4, and the JSON of Nemo and evee.

# Only proofs of the positive fragment are written, and nothing is left out of them; what is
# outside is refused and named, because that checker has no word for it.
# The fragment: PROVED goals, rules of plain atoms over variables and constants.  Rows of sources
# are leaves, and facts of the program; that checker believes them, as ours does.  Numbers are
# constants like others: a column has one kind, so two spellings never mean one value. Reference:
# github.com/knowsys/CertifyingDatalog.

_OUTSIDE: Final = (
    ("-", "negates an atom"),
    ("?", "compares values"),
    ("a", "aggregates"),
)


def to_lean(certificate: bytes) -> str:
    """Return the proof as a graph; ``ValueError`` for what is no certificate."""
    document = _checked(certificate)
    edges = [
        {
            "vertex": _fact(node["fact"]),
            "predecessors": [_fact(document.nodes[one]["fact"]) for one in _below(node)],
        }
        for node in document.nodes
    ]
    return _written(document, edges)


def to_lean_ordered(certificate: bytes) -> str:
    """Return the proof as an ordered graph; ``ValueError`` for what is no certificate."""
    document = _checked(certificate)
    edges = [
        {"label": _fact(node["fact"]), "predecessors": _below(node)} for node in document.nodes
    ]
    return _written(document, edges)


def _written(document: Document, edges: list[dict[str, Any]]) -> str:
    used = dict.fromkeys(node["rule"] for node in document.nodes if node["kind"] == "rule")
    rules = [document.rules[place] for place in used]
    program: list[dict[str, Any]] = [
        {"head": _fact(node["fact"]), "body": []}
        for node in document.nodes
        if node["kind"] == "fact"
    ]
    program += [
        {"head": _atom(rule["head"]), "body": [_atom(literal[1]) for literal in rule["body"]]}
        for rule in rules
    ]
    return json.dumps({"graph": {"edges": edges}, "program": program}, indent=1) + "\n"


def _below(node: dict[str, Any]) -> list[int]:
    return list(node.get("premises", ()))


def _fact(fact: Sequence[Any]) -> dict[str, Any]:
    predicate, row = fact
    return {"symbol": predicate, "terms": [{"constant": cell} for cell in row]}


def _atom(atom: Sequence[Any]) -> dict[str, Any]:
    predicate, terms = atom
    return {"symbol": predicate, "terms": [_term(term) for term in terms]}


def _term(term: Sequence[Any]) -> dict[str, str]:
    return {"variable": f"?{term[1]}"} if term[0] == "v" else {"constant": term[2]}


def _checked(certificate: bytes) -> Document:
    """Return the certificate if its proof is in the fragment."""
    document = Document(certificate)
    if not document.header["verdict"].startswith("PROVED"):
        raise _refusal(
            f"the verdict is {document.header['verdict']}",
            "only what is proved has a derivation that it could check",
        )
    for node in document.nodes:
        if node["kind"] == "rule":
            _check_rule(document, node["rule"])
    return document


def _check_rule(document: Document, place: int) -> None:
    rule = document.rules[place]
    for at, literal in enumerate(rule["body"], 1):
        reason = dict(_OUTSIDE).get(literal[0])
        if literal[0] == "?" and any(_takes_apart(side) for side in literal[2:]):
            reason = "takes a structure apart"
        if reason is None and _computes(literal[1]):
            reason = "computes a value"
        if reason is not None:
            raise _refused_rule(rule["id"], f"literal {at} {reason}")
    if _computes(rule["head"]):
        raise _refused_rule(rule["id"], "its head computes a value")


def _computes(atom: Sequence[Any]) -> bool:
    return any(term[0] == "f" for term in atom[1])


def _takes_apart(term: Sequence[Any]) -> bool:
    return term[0] == "f" and term[1] in {CONSTRUCTOR_OF, FIELD_OF}


def _refused_rule(name: str, reason: str) -> ConstatError:
    return _refusal(f"rule {printable(name)}: {reason}", "its rules have only atoms that hold")


def _refusal(what: str, note: str) -> ConstatError:
    diagnostic = Diagnostic(
        "C0771",
        f"the checker in Lean knows no such proof: {what}",
        note=note,
        help="`constat verify` checks every certificate; `--to nemo` writes every proof",
    )
    return ConstatError([diagnostic])


# Every premise is the conclusion of an earlier inference; texts stand in quotes, so that equal
# strings mean equal facts.
# What those programs do not know stands there in words of ours: `!p("a")` for an absence, and `sum
# = 3` with its place for an aggregate.

# What Nemo calls a fact that was given to it.
_GIVEN: Final = "Asserted"
_TEXTS: Final = frozenset({"symbol", "Date", "Timestamp", "structure"})


def to_nemo(certificate: bytes) -> str:
    """Return the proof as inferences; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    steps = steps_of(document)
    shown = [_conclusion(document, step) for step in steps.steps]
    # An absence that two rules rest on is one inference.
    inferences = {
        (
            _rule_name(document, step),
            shown[number],
            tuple(shown[premise.step] for premise in step.premises),
        ): None
        for number, step in enumerate(steps.steps)
    }
    members = {
        "finalConclusion": [shown[answer] for answer in steps.answers],
        "inferences": [
            {"ruleName": name, "conclusion": conclusion, "premises": premises}
            for name, conclusion, premises in inferences
        ],
    }
    return json.dumps(members, indent=1) + "\n"


def _rule_name(document: Document, step: Step) -> str:
    if step.rule is not None:
        return printable(document.rules[step.rule]["id"])
    return _GIVEN if step.kind in {FACT, ROW} else step.kind


def _conclusion(document: Document, step: Step) -> str:
    if step.kind in {AGGREGATE, CLOSURE}:
        # Two groups may have one value; the step's name tells them apart.
        return f"{step.fact} [{step.name}]"
    kinds = document.program.program.predicates[step.predicate].kinds
    cells = (
        "_" if cell is None else json.dumps(cell) if kind.value in _TEXTS else cell
        for cell, kind in zip(step.row, kinds, strict=True)
    )
    return f"{'!' if step.kind == ABSENCE else ''}{step.predicate}({', '.join(cells)})"


# A certificate in a parcel: an in-toto statement about it, or an RO-Crate around it.

STATEMENT: Final = "https://in-toto.io/Statement/v1"
PREDICATE: Final = "constat:decision/v1"


def to_in_toto(certificate: bytes) -> str:
    """Return the statement; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    header, record = document.header, document.record
    members = {
        "_type": STATEMENT,
        "subject": [
            {
                "name": document.goal(),
                "digest": {"sha256": hashlib.sha256(certificate).hexdigest()},
            }
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "goal": document.goal(),
            "verdict": header["verdict"],
            "confidence": header["confidence"],
            "search": header["search"],
            "level": header["level"],
            "identity": document.identity,
            "program": header["program"],
            "decidedAt": record["created"],
            "engine": printable(record["engine"]),
            "assumptions": [
                printable(document.assumptions[place]["text"]) for place in header["under"]
            ],
            "missing": [document.atom(*missing) for missing in document.members["missing"]],
            "sources": [
                {
                    "name": printable(source["name"]),
                    "origin": source["origin"],
                    "digest": {"sha256": source["hash"].removeprefix("sha256:")},
                    "readAt": time,
                }
                for source, time in zip(document.sources, record["executed"], strict=True)
            ],
        },
    }
    return json.dumps(members, indent=1) + "\n"


_METADATA: Final = "ro-crate-metadata.json"
_CERTIFICATE: Final = "certificate.proof.json"
_PROVENANCE: Final = "provenance.prov.json"
_STEPS: Final = "steps.csv"
_CRATE: Final = "https://w3id.org/ro/crate/1.1"
_PROFILE: Final = "https://w3id.org/ro/wfrun/process/0.5"

Members = dict[str, Any]


def to_ro_crate(certificate: bytes) -> bytes:
    """Return the crate; ``ValueError`` for what is no certificate."""
    document = Document(certificate)
    files = {
        _CERTIFICATE: certificate,
        _PROVENANCE: to_prov_json(certificate).encode(),
        _STEPS: to_csv(certificate).encode(),
    }
    graph = [
        _descriptor(),
        _root(document, list(files)),
        {"@id": _PROFILE, "@type": "CreativeWork", "name": "Process Run Crate", "version": "0.5"},
        *(_file(name, content) for name, content in files.items()),
        *_run(document),
        *_data(document),
    ]
    metadata = {"@context": f"{_CRATE}/context", "@graph": graph}
    text = json.dumps(metadata, indent=1) + "\n"
    return zipped([(_METADATA, text.encode()), *files.items()])


def _descriptor() -> Members:
    return {
        "@id": _METADATA,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": _CRATE},
    }


def _root(document: Document, names: list[str]) -> Members:
    return {
        "@id": "./",
        "@type": "Dataset",
        "name": document.verdict(),
        "description": f"The decision about {document.goal()} with its proof, which "
        "`constat verify` checks without the engine that made it.",
        "datePublished": document.record["created"],
        "identifier": document.identity,
        "license": {"@id": "#rights"},
        "conformsTo": {"@id": _PROFILE},
        "hasPart": [{"@id": name} for name in names],
        "mentions": [{"@id": "#run"}],
    }


def _file(name: str, content: bytes) -> Members:
    told = {
        _CERTIFICATE: ("The certificate, profile constat-cert", "application/json"),
        _PROVENANCE: ("The provenance of the decision in PROV-JSON", "application/json"),
        _STEPS: ("The steps of the proof, one on each line", "text/csv"),
    }
    title, encoding = told[name]
    return {
        "@id": name,
        "@type": "File",
        "name": title,
        "encodingFormat": encoding,
        "contentSize": str(len(content)),
        "sha256": hashlib.sha256(content).hexdigest(),
    }


def _run(document: Document) -> list[Members]:
    engine = printable(document.record["engine"])
    people = {
        f"#author-{place}": printable(source["author"])
        for place, source in enumerate(document.sources)
        if source["author"] is not None and source["origin"] == "USER_PROVIDED"
    }
    return [
        {
            "@id": "#rights",
            "@type": "CreativeWork",
            "name": "Rights in the data",
            "description": "The rows shown here belong to the sources they were read from.",
        },
        {"@id": "#engine", "@type": "SoftwareApplication", "name": engine, "version": engine},
        {
            "@id": "#run",
            "@type": "CreateAction",
            "name": f"Decision about {document.goal()}",
            "instrument": {"@id": "#engine"},
            "agent": [{"@id": "#engine"}, *({"@id": name} for name in people)],
            "object": [{"@id": f"#source-{place}"} for place in range(len(document.sources))],
            "result": {"@id": _CERTIFICATE},
            "endTime": document.record["created"],
            "actionStatus": "http://schema.org/CompletedActionStatus",
        },
        *({"@id": name, "@type": "Person", "name": person} for name, person in people.items()),
    ]


def _data(document: Document) -> list[Members]:
    return [
        {
            "@id": f"#source-{place}",
            "@type": "PropertyValue",
            "name": printable(source["name"] or source["tier"]),
            "description": printable(source["query"] or source["origin"]),
            "value": source["hash"],
            "dateModified": document.record["executed"][place] or document.record["created"],
        }
        for place, source in enumerate(document.sources)
    ]
