"""The members of a certificate that say what came from outside (FORMAT.md, sections 5 and 5a)."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import UNTIMED, Assumption, Origin, state_of
from constat.frozen import frozen
from constat.logic import OPEN, NullPolicy, null_cells
from constat.proof.encoding import (
    Notation,
    canonical,
    clean,
    notation_of,
    rows_hash,
    sha256,
    sort_key,
    sorted_rows,
    speller,
)
from constat.proof.levels import millionths, spell
from constat.proof.outside import Grounds
from constat.proof.reading import timely

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.evaluation import Attestation, Clock, Evidence, FilledRow, Quote, Word
    from constat.logic import OpenRow, Row
    from constat.proof.encoding import Json, TextRow
    from constat.proof.outside import Covered, Side, Sifted
    from constat.proof.proofs import Proof

_MOST_QUOTED: Final = 400
"""Characters of a quotation that people are shown; certificates hold all of them."""

# What a certificate may not hold is cleaned the same way wherever the attestation is written, so
# its hash is always the same.


def attestation_json(one: Attestation | None) -> Json:
    """Encode an attestation."""
    if one is None:
        return None
    quote, review = one.quote, one.reviewer
    return {
        "agent": {
            "kind": one.agent.kind,
            "name": clean(one.agent.name),
            "version": _clean(one.agent.version),
            "digest": one.agent.digest,
        },
        "prompt": one.prompt,
        "response": one.response,
        "quote": _quote_json(quote),
        "reviewer": None if review is None else {"name": clean(review.name), "at": review.at},
        "note": _clean(one.note),
    }


def _quote_json(quote: Quote | None) -> Json:
    """Encode a quotation: the words of a document, and where they stand."""
    if quote is None:
        return None
    return {
        "document": clean(quote.document),
        "hash": quote.hash,
        "start": quote.start,
        "end": quote.end,
        "text": clean(quote.text),
    }


def _span_json(evidence: Evidence) -> Json:
    """Encode where in its document a row stands; nothing where it is no document's word."""
    if evidence.origin is not Origin.DOCUMENT or evidence.attestation is None:
        return None
    return _quote_json(evidence.attestation.quote)


def attestation_hash(one: Attestation) -> str:
    """Return the hash by which an assumption names what was said."""
    return sha256(canonical(attestation_json(one)))


def attested_lines(one: Attestation) -> list[str]:
    """Write for people who said it, from what it was got, and who looked at it."""
    agent, quote, review = one.agent, one.quote, one.reviewer
    lines = []
    if agent.kind != "person":
        marks = ", ".join(mark for mark in (agent.version, agent.digest) if mark)
        lines.append(f"said by: {agent.kind} {agent.name}" + (f" ({marks})" if marks else ""))
    lines += [f"prompt: {one.prompt}"] if one.prompt else []
    lines += [f"response: {one.response}"] if one.response else []
    if quote is not None:
        # Without the hash of the whole nobody says where in it the words stand.
        place = "" if quote.hash is None else f", bytes {quote.start} to {quote.end}"
        rest = len(quote.text) - _MOST_QUOTED
        more = f"… and {rest:,} more characters" if rest > 0 else ""
        lines.append(f"quoting {quote.document}{place}: {quote.text[:_MOST_QUOTED]}{more}")
    if review is not None:
        lines.append(f"reviewed by: {review.name} at {review.at}")
    return [*lines, *([f"remark: {one.note}"] if one.note else [])]


def _clean(text: str | None) -> str | None:
    return None if text is None else clean(text)


# Each stands there once, byte for byte as it was found.

MOST: Final = 256
MOST_BYTES: Final = 200 << 20


class Nested:
    """Numbers nested certificates."""

    def __init__(self) -> None:
        self._numbers: dict[bytes, int] = {}
        self._read: list[dict[str, Any]] = []

    def add(self, certificate: bytes) -> int:
        """Return the index of a certificate."""
        number = self._numbers.get(certificate)
        if number is None:
            number = self._numbers[certificate] = len(self._numbers)
            self._read.append(json.loads(certificate))
        return number

    def attested(self, certificate: bytes) -> list[set[str]]:
        """Return for each assumption of its verdict what was said by whom, as hashes."""
        read = self._read[self._numbers[certificate]]
        return [set(read["assumptions"][one]["attestations"]) for one in read["header"]["under"]]

    def levels(self) -> list[str | None]:
        """Return the levels of completeness they rest on."""
        return [one["header"]["level"] for one in self._read]

    def check(self) -> None:
        """Raise `ConstatError` where there are more than a checker accepts."""
        count, size = sum(map(_certificates, self._read)), sum(map(len, self._numbers))
        if count > MOST or size > MOST_BYTES:
            message = f"the proof rests on {count} certificates of {size:,} bytes"
            note = f"a certificate holds {MOST} others and {MOST_BYTES >> 20} MiB of them at most"
            hint = "ask for fewer facts at once, or prove a part of the goal by itself"
            raise ConstatError([Diagnostic("C0691", message, note=note, help=hint)])

    def text(self) -> str:
        """Return the member ``proofs`` in canonical form, which the certificates have already."""
        return f"[{','.join(one.decode('ascii').rstrip() for one in self._numbers)}]"


def _certificates(document: Mapping[str, Any]) -> int:
    return 1 + sum(map(_certificates, document["proofs"]))


# For every coverage, all rows and openings that match its keys are shown, because a checker takes
# what is shown for all there is.

Shown = tuple[str, Grounds]


@frozen
class SourceShown:
    """Where a row or an absence was read: query and parameters are exact."""

    tier: str
    origin: str
    name: str
    query: str | None
    parameters: tuple[str, ...]
    executed_at: str
    rows: int
    author: str | None
    attestation: Attestation | None = None


def source_shown(evidence: Evidence) -> SourceShown:
    """Return what people see of an evidence."""
    return SourceShown(
        evidence.tier,
        evidence.origin.value,
        evidence.source,
        evidence.query,
        evidence.parameters,
        evidence.executed_at,
        evidence.row_count,
        evidence.author,
        evidence.attestation,
    )


def sources_shown(grounds: Grounds) -> tuple[SourceShown, ...]:
    """Return who gave a row, and who filled it."""
    return tuple(map(source_shown, grounds.evidence.every()))


class Outsides:
    """Collects what a certificate shows and numbers it; the numbers are final after ``collect``."""

    def __init__(
        self, proof: Proof, rule_assumptions: Iterable[Assumption], clock: Clock = UNTIMED
    ) -> None:
        self._clock = clock
        self._proof = proof
        self._outside = proof.slice.outside
        self._program = proof.reading.program.program
        self.assumptions: dict[Assumption, int] = {}
        for assumption in rule_assumptions:
            self.assumption(assumption)
        self.sources: dict[tuple[str, int], tuple[int, Evidence]] = {}
        self._number_of = proof.slice.outside.book.number
        self._rows: dict[Shown, dict[Row, None]] = defaultdict(dict)
        self._openings: dict[tuple[str, OpenRow], None] = {}
        # Of rows with null cells that are filled: the filled row, and who says so of each cell.
        self._filled: dict[tuple[str, Row], tuple[Row, FilledRow]] = {}
        self._given: dict[str, dict[int, list[Row]]] = {}
        self._places: dict[tuple[str, Row], tuple[int, int]] = {}
        self._groups: list[tuple[Shown, list[TextRow]]] = []
        self._contents: dict[tuple[str, int], tuple[int, str]] = {}
        self._counts: dict[tuple[str, int], int] | None = None
        self.nested = Nested()
        self.notation = Notation()

    def assumption(self, assumption: Assumption | None) -> int | None:
        """Return the index of an assumption, which has no parts."""
        if assumption is None:
            return None
        return self.assumptions.setdefault(assumption, len(self.assumptions))

    def _own(self, grounds: Grounds) -> int | None:
        """Return the index of what a group rests on besides what its certificate rests on."""
        held, proved = grounds.assumption, grounds.evidence.proved
        imported = () if proved is None else proved.assumptions
        parts = () if held is None else held.parts or (held,)
        return next((self.assumption(one) for one in parts if one not in imported), None)

    def source(self, predicate: str, evidence: Evidence) -> int:
        """Return the index of a source; each speaks of one predicate."""
        key = (predicate, self._number_of(evidence))
        return self.sources.setdefault(key, (len(self.sources), evidence))[0]

    def collect(self, *, shares: bool = True) -> None:
        """Gather all rows and openings that the used coverage and facts need, and number them."""
        self._gather()
        self.notation = notation_of(self._proof, self._shown_rows(), shares=shares)
        self._number_all()

    def _gather(self) -> None:
        usage = self._outside.usage
        for covered in sorted(usage.covered, key=_covered_order):
            self._collect_covered(covered)
        for (predicate, columns, key, *_), rows in self._sifted():
            side = self._outside.side(predicate)
            closed = side.closed.matching(columns, key)
            for row in timely(self._clock, (*rows, *closed)):
                self._show_covered(side, predicate, row)
        for predicate, row in sorted(usage.facts, key=str):
            self._show(predicate, row)
        self._show_labels()

    def _show_labels(self) -> None:
        """Show the rows of the labels that the closure and coverage name: each is of a shown row.

        Evaluation may know of a row by a key that this goal does not ask for.
        """
        inside = self._proof.slice.inside
        named = [row for rows in inside.shown_rows().values() for row in rows]
        named += [key for entry in inside.entries.values() for key in entry.keys]
        named += [key for _, _, key in self._outside.usage.every()]
        known = {cell for rows in self._rows.values() for row in rows for cell in null_cells(row)}
        cells = {cell.source for row in named for cell in null_cells(row)} - known
        for cell in cells:
            if cell.policy is NullPolicy.UNKNOWN:
                for row in self._outside.side(cell.predicate).given:
                    if cell in null_cells(row):
                        self._show(cell.predicate, row)

    def _shown_rows(self) -> Iterator[tuple[str, OpenRow]]:
        """Yield what is shown of each predicate: rows, openings, and keys as rows with ⋆."""
        for (predicate, _), rows in self._rows.items():
            yield from ((predicate, row) for row in rows)
        yield from self._openings
        yield from ((predicate, row) for (predicate, _), (row, _) in self._filled.items())
        for predicate, columns, key in self._outside.usage.every():
            places = dict(zip(columns, key, strict=True))
            arity = self._program.predicates[predicate].arity
            yield predicate, tuple([places.get(column, OPEN) for column in range(arity)])

    def _number_all(self) -> None:
        """Number what was gathered; its order is that of its cells."""
        groups = sorted(
            self._rows,
            key=lambda shown: (
                shown[0],
                shown[1].assumption is not None,
                shown[1].assumption.text if shown[1].assumption else "",
                str(shown[1].evidence.query),
                shown[1].evidence.parameters,
                *self._content(shown[0], shown[1].evidence),
                shown[1].evidence.executed_at,
            ),
        )
        for shown in groups:
            self._number(shown)
        for (predicate, bare), (row, filled) in self._filled.items():
            self._places[predicate, row] = self._places[predicate, bare]
            for word in filled.words:
                self.source(predicate, word.evidence)
                self.assumption(word.assumption)

    def _collect_covered(self, covered: Covered) -> None:
        predicate, columns, key = covered
        side = self._outside.side(predicate)
        for relation in (side.rows, side.closed):
            for row in timely(self._clock, relation.matching(columns, key)):
                self._show_covered(side, predicate, row)

    def _show_covered(self, side: Side, predicate: str, row: OpenRow) -> None:
        if row in side.given:
            self._show(predicate, row)  # type: ignore[arg-type]  # answered rows are ground
        if row in side.fillings:
            self._show(predicate, side.fillings[row][0])
        if row in side.openings:
            self._openings[predicate, row] = None

    def _sifted(self) -> list[tuple[Sifted, list[OpenRow]]]:
        """Return what is shown for one literal alone, and not for all, in order."""
        usage = self._outside.usage
        found = [one for one in usage.sifted.items() if one[0][:3] not in usage.covered]
        return sorted(found, key=lambda one: (_covered_order(one[0][:3]), one[0][3:]))

    def _show(self, predicate: str, row: Row) -> None:
        grounds = self._outside.side(predicate).shown(row)
        if grounds.evidence.fills is not None:
            filled = grounds.filled(row)
            self._filled[predicate, filled.bare.row] = (row, filled)
            row = filled.bare.row
            grounds = self._outside.book.grounds(filled.bare.evidence, None)
        self._rows[predicate, grounds][row] = None

    def _number(self, shown: Shown) -> None:
        predicate, grounds = shown
        spell_row = self.notation.speller_of(predicate)
        self.source(predicate, grounds.evidence)
        self._own(grounds)
        if grounds.evidence.proved is not None:
            for one in grounds.evidence.proved.assumptions:
                self.assumption(one)
            self.nested.add(grounds.evidence.proved.certificate)
        pairs = ((spell_row(row), row) for row in timely(self._clock, self._rows[shown]))
        spelled = sorted(pairs, key=lambda pair: sort_key(pair[0]))
        for place, (_, row) in enumerate(spelled):
            self._places[predicate, row] = (len(self._groups), place)
        self._groups.append((shown, [texts for texts, _ in spelled]))

    def place(self, predicate: str, row: Row) -> tuple[int, int]:
        """Return the group and place of a shown row."""
        return self._places[predicate, row]

    # ------------------------------------------------------------------ members

    def facts_json(self) -> list[Json]:
        """Encode the fact groups."""
        return [
            {
                "predicate": predicate,
                "source": self.source(predicate, grounds.evidence),
                "assumption": self._own(grounds),
                "rows": [list(row) for row in rows],
            }
            for (predicate, grounds), rows in self._groups
        ]

    def filled_json(self) -> list[Json]:
        """Encode who says what stands in null cells, by group, row and column."""
        found: list[tuple[tuple[int, int, int], Json]] = []
        for (predicate, bare), (row, filled) in self._filled.items():
            group, place = self._places[predicate, bare]
            texts = self.notation.speller_of(predicate)(row)
            told = [(column, word) for word in filled.words for column in _differing(bare, word)]
            for column, word in told:
                entry: Json = {
                    "facts": group,
                    "row": place,
                    "column": column,
                    "value": texts[column],
                    "source": self.source(predicate, word.evidence),
                    "assumption": self.assumption(word.assumption),
                }
                found.append(((group, place, column), entry))
        return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]

    def open_json(self) -> list[Json]:
        """Encode the open rows, each once per assumption."""
        found: list[tuple[tuple[str, object, str], Json]] = []
        for predicate, row in self._openings:
            side = self._outside.side(predicate)
            texts = self.notation.speller_of(predicate)(row)
            for assumption, opening in side.openings[row].items():
                text = "" if assumption is None else assumption.text
                entry: Json = {
                    "predicate": predicate,
                    "row": list(texts),
                    "reason": clean(opening.reason),
                    "assumption": self.assumption(assumption),
                }
                found.append(((predicate, sort_key(texts), text), entry))
        return [entry for _, entry in sorted(found, key=lambda pair: pair[0])]

    def coverage_json(self, place_of_rule: Mapping[int, int]) -> list[Json]:
        """Encode the coverage, keys of one authority together."""
        keys: dict[
            tuple[str, tuple[int, ...], tuple[int, ...], tuple[int, ...]], list[TextRow]
        ] = {}
        ordered = sorted(self._outside.usage.covered, key=_covered_order)
        told: list[tuple[Covered, tuple[int, ...]]] = [(covered, ()) for covered in ordered]
        told += [(one[:3], (place_of_rule[one[3]], one[4])) for one, _ in self._sifted()]
        for covered, reader in told:
            predicate, columns, key = covered
            kinds = self._program.predicates[predicate].kinds
            spoken = self._outside.sources(covered)
            sources = tuple(sorted({self.source(predicate, evidence) for evidence in spoken}))
            texts = self.notation.speller([kinds[column] for column in columns])(key)
            keys.setdefault((predicate, columns, sources, reader), []).append(texts)
        return [
            {
                "predicate": predicate,
                "columns": list(columns),
                "keys": [list(row) for row in sorted_rows(rows)],
                "sources": list(sources),
                **({"for": list(reader)} if reader else {}),
            }
            for (predicate, columns, sources, reader), rows in sorted(keys.items())
        ]

    def sources_json(self) -> list[Json]:
        """Encode the sources, in the order of their numbers."""
        return [
            self._source(predicate, evidence)
            for (predicate, _), (_, evidence) in self.sources.items()
        ]

    def _source(self, predicate: str, evidence: Evidence) -> Json:
        count, found = self._content(predicate, evidence)
        return {
            "tier": clean(evidence.tier),
            "origin": evidence.origin.value,
            "name": clean(evidence.source),
            "query": None if evidence.query is None else clean(evidence.query),
            "parameters": [clean(text) for text in evidence.parameters],
            "rows": count,
            "hash": found,
            "snapshot": None if evidence.snapshot is None else clean(evidence.snapshot),
            "confidence": spell(millionths(evidence.confidence)),
            "author": None if evidence.author is None else clean(evidence.author),
            "attestation": attestation_json(evidence.attestation),
            "commitment": None,
            "authority": None
            if evidence.exhaustive is None
            else {
                "operation": clean(evidence.exhaustive.operation),
                "pages": evidence.exhaustive.pages,
            },
            "span": _span_json(evidence),
            "proof": None
            if evidence.proved is None
            else {
                "certificate": self.nested.add(evidence.proved.certificate),
                "assumptions": [self.assumption(one) for one in evidence.proved.assumptions],
            },
        }

    def is_inline(self, predicate: str, evidence: Evidence) -> bool:
        """Tell whether all rows that a source answered are shown."""
        if self._counts is None:
            self._counts = defaultdict(int)
            for (name, grounds), rows in self._groups:
                self._counts[name, self._number_of(grounds.evidence)] += len(rows)
        shown = self._counts.get((predicate, self._number_of(evidence)), 0)
        return shown == self._content(predicate, evidence)[0]

    def _content(self, predicate: str, evidence: Evidence) -> tuple[int, str]:
        key = (predicate, self._number_of(evidence))
        if key not in self._contents:
            self._contents[key] = self._counted(predicate, evidence)
        return self._contents[key]

    def _counted(self, predicate: str, evidence: Evidence) -> tuple[int, str]:
        """Return count and hash of all a source answered; made from the record if it told none."""
        if evidence.content_hash:
            digest = evidence.content_hash.removeprefix("sha256:")
            return evidence.row_count, f"sha256:{digest}"
        given = self._rows_given(predicate).get(self._number_of(evidence), [])
        spelled = [speller(self._program.predicates[predicate].kinds)(row) for row in given]
        return max(len(given), evidence.row_count), rows_hash(spelled) if given else sha256("")

    def _rows_given(self, predicate: str) -> dict[int, list[Row]]:
        """Return the recorded rows of a predicate by the number of their evidence."""
        given = self._given.get(predicate)
        if given is None:
            given = self._given[predicate] = defaultdict(list)
            for row, grounds in self._outside.side(predicate).answers.rows.items():
                for one in grounds:
                    if one.evidence.fills is None:
                        given[self._number_of(one.evidence)].append(row)
                        continue
                    filled = one.filled(row)
                    given[self._number_of(filled.bare.evidence)].append(filled.bare.row)
                    for word in filled.words:
                        given[self._number_of(word.evidence)].append(word.row)
        return given

    def assumptions_json(self) -> list[Json]:
        """Encode the assumptions, in the order of their numbers."""
        attested: dict[int, set[str]] = defaultdict(set)
        for (_, grounds), _ in self._groups:
            own, proved = self._own(grounds), grounds.evidence.proved
            if own is not None and grounds.evidence.attestation is not None:
                attested[own].add(attestation_hash(grounds.evidence.attestation))
            if proved is not None:
                taken = self.nested.attested(proved.certificate)
                for one, hashes in zip(proved.assumptions, taken, strict=True):
                    attested[self.assumptions[one]] |= hashes
        for word in (one for _, filled in self._filled.values() for one in filled.words):
            own = self.assumption(word.assumption)
            if own is not None and word.evidence.attestation is not None:
                attested[own].add(attestation_hash(word.evidence.attestation))
        return [
            {
                "kind": one.kind,
                "text": clean(one.text),
                "confidence": spell(millionths(one.confidence)),
                "attestations": sorted(attested[number]),
            }
            for one, number in self.assumptions.items()
        ]

    def executed(self) -> list[Json]:
        """Return when each source was read."""
        return [evidence.executed_at or None for _, evidence in self.sources.values()]

    def snapshot(self) -> str | None:
        """Tell whether all that was read is of one state; ``None`` where nothing was read."""
        return state_of(evidence for _, evidence in self.sources.values())


def _differing(bare: Row, word: Word) -> list[int]:
    """Return the columns that a word fills."""
    pairs = zip(bare, word.row, strict=True)
    return [column for column, (cell, said) in enumerate(pairs) if cell != said]


def _covered_order(covered: Covered) -> tuple[str, tuple[int, ...], str]:
    return (covered[0], covered[1], str(covered[2]))
