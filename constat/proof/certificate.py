"""Write a certificate: everything needed to see that a verdict follows (check/FORMAT.md)."""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from constat.evaluation import CONFLICT, UNTIMED
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Kind,
    NullCell,
    canonical_bytes,
    canonical_lines,
    format_value,
    unread_columns,
)
from constat.proof.encoding import (
    Notation,
    canonical,
    canonical_within,
    clean,
    encode_program,
    object_form,
    sha256,
    sorted_rows,
)
from constat.proof.groups import Chunk
from constat.proof.instances import AggregateCode
from constat.proof.levels import Completeness, millionths, spell
from constat.proof.proofs import FactNode
from constat.proof.reading import timely
from constat.proof.shown import Outsides

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from constat.evaluation import Clock
    from constat.logic import OpenRow, Slot, Value
    from constat.proof.decide import Decision
    from constat.proof.encoding import EncodedProgram, Json
    from constat.proof.groups import Exact, GroupKey
    from constat.proof.instances import RuleCode
    from constat.proof.outside import Fact
    from constat.proof.proofs import Node, Proof, RuleNode

# The same chunks whichever way they are made; whole numbers go through columns, which spell and
# sort all at once, everything else through Python.

CHUNK: Final = 1024
MOST_CHUNKS: Final = 512
# Below this many, Python is done before numpy is loaded.
_MANY: Final = 50_000
_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})


@frozen
class Assignments:
    """Distinct values of local variables, and what each adds (nothing where rows are counted)."""

    rows: Sequence[tuple[Value, ...]]
    kinds: Sequence[Kind]
    targets: Sequence[Value]
    kind: Kind | None


def chunk_size(count: int) -> int:
    """Return how many assignments a chunk has where there are so many in all."""
    size = CHUNK
    while size * MOST_CHUNKS < count:
        size *= 2
    return size


def chunks_of(given: Assignments, *, many: int = _MANY) -> list[Chunk]:
    """Return the chunks of assignments, in order."""
    size = chunk_size(len(given.rows))
    if given.kinds and {*given.kinds} <= _WHOLE and len(given.rows) >= max(1, many):
        found = _by_numpy(given, size)
        if found is not None:
            return found
    return _by_python(given, size)


def _by_python(given: Assignments, size: int) -> list[Chunk]:
    nulls = unread_columns(given.rows)
    if any(NullCell in set(map(type, cells)) for cells in _other_columns(given, nulls)):
        return _with_nulls(given, size)
    lines = canonical_lines(given.rows, given.kinds, nulls)
    order = sorted(range(len(lines)), key=lines.__getitem__)
    found = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        digest = hashlib.sha256()
        for block in canonical_bytes([lines[place] for place in part], len(given.kinds), nulls):
            digest.update(block)
        targets = [given.targets[place] for place in part] if given.kind else []
        found.append(_chunk(len(part), targets, given.kind, digest.hexdigest()))
    return found


def _other_columns(given: Assignments, nulls: AbstractSet[int]) -> Iterator[Iterator[Value]]:
    for place in range(len(given.kinds)):
        if place not in nulls:
            yield map(itemgetter(place), given.rows)


def _with_nulls(given: Assignments, size: int) -> list[Chunk]:
    """Return the chunks where some assignments have null cells, which come before values."""
    texts = [
        [
            None if isinstance(cell, NullCell) else format_value(cell, kind)
            for cell, kind in zip(row, given.kinds, strict=True)
        ]
        for row in given.rows
    ]
    keys = [[(text is not None, text or "") for text in row] for row in texts]
    order = sorted(range(len(texts)), key=keys.__getitem__)
    found = []
    for start in range(0, len(order), size):
        part = order[start : start + size]
        lines = (f"{json.dumps(texts[place], separators=(',', ':'))}\n" for place in part)
        targets = [given.targets[place] for place in part] if given.kind else []
        digest = hashlib.sha256("".join(lines).encode()).hexdigest()
        found.append(_chunk(len(part), targets, given.kind, digest))
    return found


def _chunk(count: int, targets: list[Value], kind: Kind | None, digest: str) -> Chunk:
    if kind is None:
        return Chunk(count, None, None, None, f"sha256:{digest}")
    total = None
    if kind in _WHOLE:
        total = f"{sum(targets)}/1"  # type: ignore[arg-type]  # whole numbers
    elif kind.numeric:
        added = _exact_sum(targets)
        total = f"{added.numerator}/{added.denominator}"
    least, greatest = format_value(min(targets), kind), format_value(max(targets), kind)
    return Chunk(count, total, least, greatest, f"sha256:{digest}")


def _exact_sum(targets: list[Value]) -> Fraction:
    """Add decimals or floats exactly: over one denominator, which is reduced but once."""
    ratios = [value.as_integer_ratio() for value in targets]  # type: ignore[union-attr]  # numbers
    by_denominator: dict[int, int] = {}
    for above, below in ratios:
        by_denominator[below] = by_denominator.get(below, 0) + above
    return sum((Fraction(above, below) for below, above in by_denominator.items()), Fraction())


def _by_numpy(given: Assignments, size: int) -> list[Chunk] | None:
    # Only sums over very many rows need numpy, which takes a tenth of a second to load.
    from constat.proof.given_columns import sorted_hashes  # noqa: PLC0415  loaded when it is used

    found = sorted_hashes(given.rows, given.kinds, given.targets, size)
    if found is None:
        return None
    sizes = [min(size, len(given.rows) - start) for start in range(0, len(given.rows), size)]
    return [
        _chunk(count, targets, given.kind, digest)
        for count, (digest, targets) in zip(sizes, found, strict=True)
    ]


# The chunks add up to the value that the proof used.


def _chunked(code: RuleCode, place: int, exact: Exact) -> list[Chunk]:
    """Return the chunks of an aggregate, which only the group and its rows decide."""
    literal = _aggregate(code, place)
    kind = None if literal.target is None else literal.target.kind
    inner = [code.kinds[slot] for slot in literal.inner]
    return chunks_of(Assignments(exact.assignments, inner, exact.targets, kind))


def _aggregate(code: RuleCode, place: int) -> AggregateCode:
    literal = code.body[place]
    if not isinstance(literal, AggregateCode):
        raise TypeError(literal)
    return literal


# The same decision gives the same bytes but for the record, and what the verdict does not need is
# not in it.
# The writer is not trusted: whatever it leaves out or gets wrong, the checker rejects.

FORMAT = "constat-cert/2"
MOST_CONFLICTS = 100


@frozen
class Circumstances:
    """What a project says of a proof that is no part of its logic.

    `asked_by` is who asked, `decision` where the log of decisions stood when it was written,
    `libraries` are those whose rules were there: name and hash.  `changes` would have turned a
    "no": each with `text`, `remove`, `add` (`None` where no row comes in) and `verdict`.
    """

    asked_by: str | None = None
    decision: str | None = None
    libraries: tuple[str, ...] = ()
    changes: tuple[Mapping[str, str | None], ...] = ()


def build_certificate(  # noqa: PLR0913  # what is said besides the decision
    decision: Decision,
    *,
    created: str,
    engine_version: str,
    supersedes: str | None = None,
    as_of: str | None = None,
    told: Circumstances | None = None,
    shares: bool = True,
    clock: Clock = UNTIMED,
) -> bytes:
    """Write the certificate of a decision; ``created`` is a UTC time in ``Timestamp`` spelling.

    ``supersedes`` is the identity of the proof that this one takes the place of, ``as_of`` the time
    at which the facts had been recorded, ``told`` who asked and the like.
    Unless it `shares`, every structure is written out. Raises ``LateError`` where the clock's
    time is up.
    """
    if decision.program is not None:
        from constat.proof.given_columns import as_written  # noqa: PLC0415  loaded when it is used

        decision = as_written(decision)
    writer = _Writer(decision, clock, supersedes, as_of, shares=shares)
    writer.told = told or Circumstances()
    members = writer.members()
    members["record"] = {
        "created": created,
        "engine": clean(engine_version),
        "executed": writer.outside.executed(),
        "host": None,
        "signatures": [],
        **_changes(writer.told),
    }
    known = writer.encoded.texts
    parts = {
        name: known[name] if name in known else canonical_within(clock, value)
        for name, value in members.items()
    }
    writer.outside.nested.check()
    parts["proofs"] = writer.outside.nested.text()
    parts["identity"] = canonical(sha256(object_form(parts, frozenset({"proofs", "record"}))))
    parts["digest"] = canonical(sha256(object_form(parts)))
    return (object_form(parts) + "\n").encode()


def _changes(told: Circumstances) -> dict[str, object]:
    cleaned = [
        {name: None if text is None else clean(text) for name, text in one.items()}
        for one in told.changes
    ]
    return {"changes": cleaned} if cleaned else {}


class _Writer:
    """Encodes one decision; indices are given out as members are made."""

    def __init__(
        self,
        decision: Decision,
        clock: Clock,
        supersedes: str | None,
        as_of: str | None,
        *,
        shares: bool,
    ) -> None:
        self.clock = clock
        self.decision = decision
        self.shares = shares
        self.supersedes = supersedes
        self.as_of = as_of
        self.told = Circumstances()
        self.proof: Proof = decision.proof
        self.program = decision.reading.program
        self.encoded: EncodedProgram = encode_program(self.program, decision.goal.predicate)
        self.outside = Outsides(self.proof, self.encoded.assumptions, self.clock)
        self.notation = Notation()
        self.place_of_node = {fact: place for place, fact in enumerate(self.proof.nodes)}
        self.completeness = Completeness(self.proof, self.outside.is_inline)

    def members(self) -> dict[str, object]:
        """Encode all members but the record and the hashes."""
        self.outside.collect(shares=self.shares)
        self.notation = self.outside.notation
        facts, opened = self.outside.facts_json(), self.outside.open_json()
        filled = self.outside.filled_json()
        coverage = self.outside.coverage_json(self.encoded.place_of_rule)
        summaries = self.summaries()
        return {
            "format": FORMAT,
            "declarations": self.encoded.declarations,
            "rules": self.encoded.rules,
            "facts": facts,
            "open": opened,
            "coverage": coverage,
            "nodes": [self.node(node) for node in timely(self.clock, self.proof.nodes.values())],
            "closure": self.closure(),
            "summaries": summaries,
            "missing": self.missing(),
            "header": self.header(summaries),
            "sources": self.outside.sources_json(),
            "assumptions": [*self.outside.assumptions_json(), *self.conflicts()],
            "values": self.notation.shared.entries,
            "labels": self.notation.labels_json,
            "filled": filled,
            "redaction": None,
        }

    def conflicts(self) -> list[Json]:
        """Record who says another value for a key: assumptions that nobody accepts."""
        told = list(self.decision.conflicts)
        if len(told) > MOST_CONFLICTS and not self.decision.recorded_conflicts:
            told[MOST_CONFLICTS:] = [f"and {len(told) - MOST_CONFLICTS} more"]
        return [
            {
                "kind": "fact",
                "text": clean(f"{CONFLICT}{text.removeprefix(CONFLICT)}"),
                "confidence": "1",
                "attestations": [],
            }
            for text in told
        ]

    def header(self, summaries: list[Json]) -> dict[str, Json]:
        """Encode the header."""
        decision = self.decision
        predicate = decision.goal.predicate
        pattern = [OPEN if cell is None else cell for cell in self.proof.pattern]
        texts: list[Json] = list(self.notation.speller_of(predicate)(pattern))
        for place in self.proof.unread:
            texts[place] = ["_"]
        under = {self.outside.assumption(one) for one in decision.assumptions}
        exhausted = decision.exact and decision.verdict.value != "UNRESOLVED"
        return {
            "goal": [predicate, texts],
            "verdict": decision.verdict.value,
            "under": sorted(one for one in under if one is not None),
            "confidence": spell(millionths(decision.confidence)),
            "search": "exhausted" if exhausted else "stopped",
            "program": self.encoded.pin,
            "level": self.completeness.weakest(
                decision.assumptions, self.outside.nested.levels(), summarised=bool(summaries)
            ),
            "as_of": self.as_of,
            "snapshot": self.outside.snapshot(),
            "decision": self.told.decision,
            "supersedes": self.supersedes,
            "libraries": sorted(map(clean, self.told.libraries)),
            "approvals": self.encoded.approvals,
            "asked_by": None if self.told.asked_by is None else clean(self.told.asked_by),
        }

    def node(self, node: Node) -> Json:
        """Encode one node."""
        predicate, row = node.predicate, node.row
        texts = list(self.notation.speller_of(predicate)(row))
        confidence = spell(self.proof.confidences[predicate, row])
        if isinstance(node, FactNode):
            group, place = self.outside.place(predicate, row)
            return {
                "fact": [predicate, texts],
                "kind": "fact",
                "facts": group,
                "row": place,
                "confidence": confidence,
            }
        return {
            "fact": [predicate, texts],
            "kind": "rule",
            "rule": self.encoded.place_of_rule[node.rule],
            "bind": self.bind(node),
            "premises": self.premises(node),
            "confidence": confidence,
        }

    def bind(self, node: RuleNode) -> list[Json]:
        """Encode a substitution."""
        code = self.proof.code(node.rule)
        known: list[Slot] = [
            OPEN if place in code.unread else value for place, value in enumerate(node.values)
        ]
        for place, _ in node.totals:
            literal = code.body[place]
            if isinstance(literal, AggregateCode):
                # A lower bound is no value; it need not even fit the kind.
                known[literal.result] = OPEN
        outer: list[Json] = list(self.notation.speller(code.kinds[: code.outer])(known))
        return [*outer, *[None] * (len(code.names) - code.outer)]

    def premises(self, node: RuleNode) -> list[Json]:
        """Encode the premises of a node, and the summands of its thresholds."""
        found: list[Json] = [self.premise(premise) for premise in node.premises]
        code = self.proof.code(node.rule)
        for place, total in node.totals:
            literal = code.body[place]
            if not isinstance(literal, AggregateCode):
                raise TypeError(literal)
            spelled = self.notation.speller([code.kinds[slot] for slot in literal.inner])
            pairs = {spelled(one.values): one.premises for one in total.summands}
            found[place] = [
                [list(values), [self.premise(one) for one in pairs[values]]]
                for values in sorted_rows(pairs)
            ]
        return found

    def timed(self, rows: Iterable[OpenRow]) -> Iterator[OpenRow]:
        """Yield rows as long as the clock allows."""
        return timely(self.clock, rows)

    def premise(self, fact: Fact | None) -> int | None:
        """Encode a premise."""
        return None if fact is None else self.place_of_node[fact]

    def closure(self) -> Json:
        """Encode the upper bound of what was called absent or aggregated."""
        predicates = self.program.program.predicates
        inside = self.proof.slice.inside
        entries: list[Json] = []
        for (predicate, columns), entry in sorted(inside.entries.items()):
            if not entry.keys:
                continue
            kinds = predicates[predicate].kinds
            spelled = self.notation.speller([kinds[column] for column in columns])
            orders = sorted(
                (self.encoded.place_of_rule[number], order)
                for number, order in entry.orders.items()
            )
            entries.append(
                {
                    "predicate": predicate,
                    "columns": list(columns),
                    "orders": [[place, list(order)] for place, order in orders],
                    "keys": [
                        list(key) for key in sorted_rows(map(spelled, self.timed(entry.keys)))
                    ],
                }
            )
        spells = self.notation.speller_of
        rows: list[Json] = [
            [name, [list(row) for row in sorted_rows(map(spells(name), self.timed(shown)))]]
            for name, shown in sorted(inside.shown_rows().items())
        ]
        return {"entries": entries, "rows": rows}

    def summaries(self) -> list[Json]:
        """Encode the summaries of large aggregates."""
        known = self.proof.slice.aggregates.known
        return [self.summary(key, exact) for key, exact in known.items() if exact.sources]

    def summary(self, key: GroupKey, exact: Exact) -> dict[str, Json]:
        """Encode one."""
        number, place, group = key
        code = self.proof.code(number)
        # A decision that goes into a log is written twice: the entry is named in it.
        chunks = self.proof.slice.aggregates.chunks.setdefault(key, [])
        if not chunks:
            chunks += _chunked(code, place, exact)
        kinds = [code.kinds[slot] for slot in _aggregate(code, place).outer]
        sources = {self.outside.source(name, evidence) for name, evidence in exact.sources}
        return {
            "rule": self.encoded.place_of_rule[number],
            "literal": place,
            "group": list(self.notation.speller(kinds)(group)),
            "count": len(exact.assignments),
            "chunks": [[one.count, one.total, one.least, one.greatest, one.hash] for one in chunks],
            "hash": sha256("".join(f"{one.hash}\n" for one in chunks)),
            "sources": sorted(sources),
        }

    def missing(self) -> list[Json]:
        """Encode what would decide the goal."""
        return [
            [predicate, list(self.notation.speller_of(predicate)(row))]
            for predicate, row in self.decision.missing
        ]
