"""From which columns of sources each derived column comes, and OpenLineage events of it."""

from __future__ import annotations

import json
import uuid
from collections import defaultdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.frozen import frozen
from constat.proof.export.document import Document
from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.proof.export.document import Members as DocumentMembers

# An input is named once for each column, by the closest transformation; recursion ends.

# The closest first: a value that is only passed on is known better than one that went into a sum.
TRANSFORMATIONS: Final = ("IDENTITY", "TRANSFORMATION", "AGGREGATION")

Column = tuple[str, int]


@frozen
class Input:
    """A column that another comes from; ``how`` is one of ``TRANSFORMATIONS``."""

    predicate: str
    column: int
    how: str


class Lineage:
    """The columns that the rules of a certificate connect."""

    def __init__(self, document: Document) -> None:
        self._external = document.program.external
        self._direct: dict[Column, dict[Column, str]] = defaultdict(dict)
        for rule in document.rules:
            for column, below, how in _connections(rule):
                known = self._direct[column].get(below)
                self._direct[column][below] = how if known is None else min(known, how, key=_rank)

    def inputs(self, predicate: str, column: int) -> list[Input]:
        """Return the columns of sources that a column comes from."""
        best: dict[Column, str] = {(predicate, column): TRANSFORMATIONS[0]}
        waiting = [(predicate, column)]
        while waiting:
            at = waiting.pop()
            for below, how in self._direct.get(at, {}).items():
                whole = max(best[at], how, key=_rank)
                if below not in best or _rank(whole) < _rank(best[below]):
                    best[below] = whole
                    waiting.append(below)
        return [
            Input(name, place, how)
            for (name, place), how in sorted(best.items())
            if name in self._external
        ]


def _rank(how: str) -> int:
    return TRANSFORMATIONS.index(how)


def _connections(rule: DocumentMembers) -> Iterator[tuple[Column, Column, str]]:
    predicate, terms = rule["head"]
    origins = _origins(rule)
    for place, term in enumerate(terms):
        how = TRANSFORMATIONS[0 if term[0] == "v" else 1]
        for name in _variables(term):
            for below, own in origins.get(name, {}).items():
                yield (predicate, place), below, max(how, own, key=_rank)


def _origins(rule: DocumentMembers) -> dict[str, dict[Column, str]]:
    """Return for each variable the columns of body atoms that it takes values from."""
    found: dict[str, dict[Column, str]] = defaultdict(dict)
    for literal in _atoms(rule["body"]):
        predicate, terms = literal[1]
        for place, term in enumerate(terms):
            if term[0] == "v":
                found[term[1]].setdefault((predicate, place), TRANSFORMATIONS[0])
    # A chain of equations is as long as the body at most.
    for _ in rule["body"]:
        for name, sources, how in _bindings(rule["body"]):
            for source in sources:
                for column, own in list(found.get(source, {}).items()):
                    found[name].setdefault(column, max(how, own, key=_rank))
    return found


def _atoms(body: Sequence[Any]) -> Iterator[Any]:
    for literal in body:
        if literal[0] == "+":
            yield literal
        elif literal[0] == "a":
            yield from (inner for inner in literal[4] if inner[0] == "+")


def _bindings(body: Sequence[Any]) -> Iterator[tuple[str, Iterable[str], str]]:
    """Yield variables that an equation or an aggregate binds, and the variables they come from."""
    for literal in body:
        inner = literal[4] if literal[0] == "a" else ()
        for one in (literal, *inner):
            if one[0] == "?" and one[1] == "=":
                for side, other in ((one[2], one[3]), (one[3], one[2])):
                    if side[0] == "v":
                        how = TRANSFORMATIONS[0 if other[0] == "v" else 1]
                        yield side[1], list(_variables(other)), how
        if literal[0] == "a":
            target = [] if literal[3] is None else list(_variables(literal[3]))
            counted = target or [name for one in _atoms(literal[4]) for name in _named(one)]
            yield literal[2][1], counted, TRANSFORMATIONS[2]


def _named(literal: Sequence[Any]) -> Iterator[str]:
    for term in literal[1][1]:
        yield from _variables(term)


def _variables(term: Sequence[Any]) -> Iterator[str]:
    waiting = [term]
    while waiting:
        one = waiting.pop()
        if one[0] == "v":
            yield one[1]
        elif one[0] == "f":
            waiting += one[3]


# The job is the goal's predicate, its output the predicate's relation.  What OpenLineage has no
# facet for (verdict, query, hash) stands in facets whose names begin with `constat`. Reference:
# openlineage.io/spec.

_SCHEMA: Final = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent"
_FACETS: Final = "https://openlineage.io/spec/facets"
_PRODUCER: Final = "urn:constat:engine"
_OWN: Final = "urn:constat:facet"
_NAMESPACE: Final = uuid.uuid5(uuid.NAMESPACE_URL, "urn:constat:run")
_KINDS: Final = (("number", "int64"), ("unsigned", "uint64"), ("float", "double"))

Members = dict[str, Any]


def to_openlineage(certificate: bytes, namespaces: Mapping[str, str] = MappingProxyType({})) -> str:
    """Return the events that began and ended the run.

    ``namespaces`` tell what others call a database of the project, as the specification names it
    (``postgres://db.example:5432``), and behind it what is before a table's name (``/shop``).
    Raises ``ValueError`` for what is no certificate, and for a database that it does not name.
    """
    document = Document(certificate)
    known = {one["name"] for one in document.sources if one["origin"] == "DATABASE"}
    for unknown in sorted(namespaces.keys() - known):
        raise ValueError(f"the proof reads no database {unknown}")
    predicate = document.header["goal"][0]
    output = {
        "namespace": "constat",
        "name": printable(predicate),
        "facets": {"schema": _schema(document, predicate), "columnLineage": _lineage(document)},
    }
    run = str(uuid.uuid5(_NAMESPACE, document.members["digest"]))
    read = [time for time in document.record["executed"] if time is not None]
    common = {
        "producer": _PRODUCER,
        "schemaURL": _SCHEMA,
        "job": {"namespace": "constat", "name": printable(predicate), "facets": _job(document)},
        "inputs": list(_inputs(document, namespaces)),
    }
    # The record has the beginning of the run; it ended when the last source had answered.
    began, ended = document.record["created"], max([document.record["created"], *read])
    start = {
        "eventType": "START",
        "eventTime": min([began, *read]),
        **common,
        "run": {"runId": run, "facets": {"processing_engine": _engine(document)}},
        "outputs": [],
    }
    complete = {
        "eventType": "COMPLETE",
        "eventTime": ended,
        **common,
        "run": {"runId": run, **_run(document)},
        "outputs": [output],
    }
    return json.dumps([start, complete], indent=1) + "\n"


def _facet(schema: str, **members: object) -> Members:
    return {"_producer": _PRODUCER, "_schemaURL": schema, **members}


def _run(document: Document) -> Members:
    header = document.header
    decision = _facet(
        f"{_OWN}:decision",
        verdict=header["verdict"],
        goal=document.goal(),
        confidence=header["confidence"],
        level=header["level"],
        identity=document.identity,
        assumptions=[printable(document.assumptions[one]["text"]) for one in header["under"]],
        missing=[document.atom(*missing) for missing in document.members["missing"]],
    )
    return {"facets": {"constatDecision": decision, "processing_engine": _engine(document)}}


def _engine(document: Document) -> Members:
    return _facet(
        f"{_FACETS}/1-1-1/ProcessingEngineRunFacet.json",
        name="constat",
        version=printable(document.record["engine"]).removeprefix("constat "),
    )


def _job(document: Document) -> Members:
    kind = _facet(
        f"{_FACETS}/2-0-3/JobTypeJobFacet.json",
        processingType="BATCH",
        integration="CONSTAT",
        jobType="DECISION",
    )
    rules = _facet(
        f"{_OWN}:rules",
        program=document.header["program"],
        rules=[printable(" ".join(text.split())) for text in document.rule_texts],
    )
    return {"jobType": kind, "constatRules": rules}


def _inputs(document: Document, namespaces: Mapping[str, str]) -> Iterator[Members]:
    """Give each relation of a source once, with all answers it gave."""
    found: dict[tuple[str, str], list[int]] = {}
    for predicate, place in _spoken(document):
        key = (_namespace(document.sources[place]), predicate)
        places = found.setdefault(key, [])
        if place not in places:
            places.append(place)
    for (namespace, predicate), places in found.items():
        facets = {
            "schema": _schema(document, predicate),
            "constatSource": _source(document, places),
        }
        snapshot = document.sources[places[0]]["snapshot"]
        version = snapshot or document.sources[places[0]]["hash"]
        facets["version"] = _facet(
            f"{_FACETS}/1-0-1/DatasetVersionDatasetFacet.json", datasetVersion=printable(version)
        )
        tables = sorted({one for place in places for one in _tables(document.sources[place])})
        if tables:
            # The predicate is a view; the tables that it reads are known by the database's names.
            owner = str(document.sources[places[0]]["name"])
            facets["symlinks"] = _facet(
                f"{_FACETS}/1-0-1/SymlinksDatasetFacet.json",
                identifiers=[_table(namespaces.get(owner, owner), one) for one in tables],
            )
        yield {"namespace": namespace, "name": printable(predicate), "facets": facets}


def _table(namespace: str, table: str) -> Members:
    """Name a table as the specification does: what is in the namespace's path is before it."""
    scheme, mark, rest = namespace.partition("://")
    authority, _, before = rest.partition("/")
    name = ".".join(part for part in (before.strip("/").replace("/", "."), table) if part)
    return {
        "namespace": printable(f"{scheme}{mark}{authority}"),
        "name": printable(name),
        "type": "TABLE",
    }


def _tables(source: Members) -> Iterator[str]:
    """Yield the tables that the query of a database reads; none where it cannot be parsed."""
    if source["origin"] != "DATABASE" or not source["query"]:
        return
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    try:
        tree = sqlglot.parse_one(source["query"])
    except sqlglot.errors.SqlglotError:
        return
    own = {one.alias for one in tree.find_all(exp.CTE)}
    for table in tree.find_all(exp.Table):
        name = ".".join(part for part in (table.catalog, table.db, table.name) if part)
        if name and name not in own:
            yield name


def _spoken(document: Document) -> Iterator[tuple[str, int]]:
    for group in document.facts:
        yield group["predicate"], group["source"]
    for coverage in document.members["coverage"]:
        for place in coverage["sources"]:
            yield coverage["predicate"], place


def _namespace(source: Members) -> str:
    name = printable(source["name"] or source["tier"])
    return f"constat:{source['origin'].lower()}:{name}"


def _source(document: Document, places: list[int]) -> Members:
    answers = [
        {
            "query": printable(document.sources[place]["query"] or ""),
            "parameters": [printable(one) for one in document.sources[place]["parameters"]],
            "rows": document.sources[place]["rows"],
            "hash": document.sources[place]["hash"],
            "readAt": document.record["executed"][place],
        }
        for place in places
    ]
    return _facet(f"{_OWN}:source", answers=answers)


def _schema(document: Document, predicate: str) -> Members:
    columns = document.program.program.predicates[predicate].columns
    fields = [
        {
            "name": printable(column.name),
            "type": dict(_KINDS).get(column.kind.value, column.kind.value.lower()),
        }
        for column in columns
    ]
    return _facet(f"{_FACETS}/1-2-0/SchemaDatasetFacet.json", fields=fields)


def _lineage(document: Document) -> Members:
    predicate = document.header["goal"][0]
    namespaces: dict[str, list[str]] = {}
    for name, place in _spoken(document):
        known = namespaces.setdefault(name, [])
        namespace = _namespace(document.sources[place])
        if namespace not in known:
            known.append(namespace)
    lineage = Lineage(document)
    names = document.columns
    fields = {
        printable(column): {
            "inputFields": [
                {
                    "namespace": namespace,
                    "name": printable(one.predicate),
                    "field": printable(names[one.predicate][one.column]),
                    "transformations": [{"type": "DIRECT", "subtype": one.how}],
                }
                for one in lineage.inputs(predicate, place)
                for namespace in namespaces.get(one.predicate, ())
            ]
        }
        for place, column in enumerate(names[predicate])
    }
    return _facet(f"{_FACETS}/1-2-0/ColumnLineageDatasetFacet.json", fields=fields)
