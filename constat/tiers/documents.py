"""The tier of the project's documents: what they say as rows, each with the words that say it.

Each row is the document's word, and an assumption: a document never tells all there is. How rows
are found is declared, so that everybody finds the same ones; no model takes part.
"""

from __future__ import annotations

import hashlib
import time
from typing import TYPE_CHECKING, Final

from constat.diagnostics import Diagnostic, Severity
from constat.documents import Collection, Finder, PatternError, read_pattern
from constat.documents.extraction import COLUMNS, PLACES, QUOTES, TABLE
from constat.documents.extraction import DOCUMENT as NAMED
from constat.evaluation import (
    SERVICE,
    Agent,
    Attestation,
    Demand,
    Evidence,
    Observer,
    Opening,
    Origin,
    Portion,
    QueryRun,
    Quote,
)
from constat.frozen import frozen
from constat.logic import Kind
from constat.project import suggestion
from constat.store.clock import now
from constat.tiers.cache_age import MAX_AGE
from constat.tiers.database import Fetched, RowReader, said_of_input
from constat.tiers.tier import (
    DOCUMENT,
    UNBOUNDED,
    TierAnswer,
    content_hash,
    matched_keys,
    openings_for,
    pairs_of,
    rows_for,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.documents import Document, Found
    from constat.evaluation import Clock
    from constat.logic import Predicate, Row
    from constat.project import Project
    from constat.project.documents import DocumentsSetting

_SECONDS: Final = 60.0
_MOST_TOLD: Final = 8
_MOST_SEEN: Final = 1_000
_MOST_SHOWN: Final = 400
_LONGEST: Final = 60
_ITSELF: Final = "constat text 1"
"""Who is named where the text of a document is the file itself, decoded and nothing else."""


@frozen
class _Said:
    """What a document says of a predicate, and why more of it cannot be told."""

    document: Document
    portions: tuple[Portion, ...]
    openings: tuple[Opening, ...]
    failures: tuple[str, ...]


class DocumentTier:
    """Reads documents; implements `Tier`. Used by one thread at a time; `cancel` may be any's."""

    name = DOCUMENT
    cost = 50

    def __init__(self, project: Project, observe: Observer) -> None:
        self._project = project
        self._observe = observe
        self._collections: dict[str, Collection] = {}
        self._said: dict[tuple[str, str, str, Row], _Said] = {}
        self._states: dict[str, tuple[int, object]] = {}
        # One evaluation sees one state of the documents.
        self._seen: dict[str, int] = {}
        self._read: dict[str, tuple[Document, ...]] = {}
        self._until: float | None = None

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate's `.input` names documents of the project."""
        return predicate.source is not None and predicate.source.name in self._project.documents

    def generation(self, name: str) -> int:
        """Count how often files of a source were found to have changed."""
        if name in self._seen:
            return self._seen[name]
        number, known = self._states.get(name, (0, None))
        state = self._collection(name).state()
        if state != known:
            number += 1
            self._states[name] = number, state
        if self._until is not None:
            self._seen[name] = number
        return number

    def start(self, seconds: float) -> None:
        """Begin an evaluation: what it reads ends in time."""
        self._forget_state()
        self._until = time.monotonic() + seconds

    def release(self) -> None:
        """End the evaluation."""
        self._forget_state()
        self._until = None

    def forget(self) -> None:
        """Drop what is remembered; files that have not changed are not read again."""
        self._said.clear()
        self._forget_state()

    def _forget_state(self) -> None:
        self._seen.clear()
        self._read.clear()

    def cancel(self) -> None:
        """End the reading of documents, from any thread."""
        for one in list(self._collections.values()):
            one.cancel()

    def documents(self, name: str) -> tuple[Document, ...]:
        """Read the documents of a source, once in an evaluation."""
        if name not in self._read:
            self._read[name] = self._collection(name).documents(self._end())
        return self._read[name]

    def answer(self, demand: Demand) -> TierAnswer:
        """Look for rows in every document that may be asked about."""
        predicate = demand.predicate
        name = predicate.source.name if predicate.source else ""
        finder = finder_of(predicate, self._project.documents[name])
        asked = _asked(finder, predicate)
        if asked and asked[0] not in demand.columns:
            reason = f"documents {name} are asked about {predicate.name} by the words of a quote"
            return TierAnswer(failures=dict.fromkeys(demand.keys, reason))
        groups: dict[Row, list[Row]] = {}
        for key in demand.clock.over(demand.keys):
            pairs = dict(zip(demand.columns, key, strict=True))
            groups.setdefault(tuple(pairs[place] for place in asked), []).append(key)
        began = time.perf_counter()
        documents = self.documents(name)
        answers = [
            self._of_group(demand, finder, documents, quote, tuple(keys))
            for quote, keys in groups.items()
        ]
        count = sum(len(one.rows) for answer in answers for one in answer.portions)
        seconds = time.perf_counter() - began
        self._observe(QueryRun(name, described(predicate), len(groups), count, seconds))
        return TierAnswer(
            tuple(portion for answer in answers for portion in answer.portions),
            tuple(dict.fromkeys(one for answer in answers for one in answer.openings)),
            frozenset(),
            {key: reason for answer in answers for key, reason in answer.failures.items()},
            (),
            {key: reason for answer in answers for key, reason in answer.remarks.items()},
        )

    def misfits(self, predicate: Predicate, clock: Clock) -> Iterator[Diagnostic]:
        """Hold a declaration against what the documents say, as they are now."""
        name = predicate.source.name if predicate.source else ""
        finder = finder_of(predicate, self._project.documents[name])
        if finder.rows == QUOTES:
            return
        read = [one for one in self.documents(name) if not one.failure]
        demand = Demand(predicate, (), ((),), clock)
        said = [self._of_document(finder, demand, one, ()) for one in read]
        reasons = [reason for one in said for reason in one.failures]
        reasons += [one.reason for each in said for one in each.openings]
        if not reasons and not any(one.portions for one in said):
            looked = f"no document of `{name}` has what it looks for, {described(predicate)}"
            yield _misfit(predicate, looked, _nearest(finder, read))
        for one in dict.fromkeys(reasons[:_MOST_TOLD]):
            more = len(reasons) - _MOST_TOLD if one == reasons[:_MOST_TOLD][-1] else 0
            also = f", and {more:,} more of this kind" if more > 0 else ""
            yield _misfit(predicate, f"{one}{also}", "mend the document, or the declaration")

    def _of_group(
        self,
        demand: Demand,
        finder: Finder,
        documents: Sequence[Document],
        quote: Row,
        keys: tuple[Row, ...],
    ) -> TierAnswer:
        """Answer for the keys that ask about one quotation, or about none."""
        predicate, columns = demand.predicate, demand.columns
        name = predicate.source.name if predicate.source else ""
        portions: list[Portion] = []
        openings: list[Opening] = []
        failures: dict[Row, str] = {}
        for document in documents:
            demand.clock.check()
            said = self._of_document(finder, demand, document, quote)
            for reason in said.failures:
                told = f"documents {name}: {reason} [C0581]"
                failures |= dict.fromkeys(_about(demand, document.name, keys), told)
            portions += _wanted(said.portions, columns, keys, demand.clock)
            openings += openings_for(said.openings, columns, keys, demand.clock)
        remarks = dict.fromkeys(
            (key for key in keys if key not in failures),
            f"documents {name} tell some facts of {predicate.name}, which need not be all",
        )
        for one in openings:
            # What stands there and cannot be read is the nearer reason.
            remarks |= {
                key: one.reason for key in matched_keys(one.row, columns, keys) if key in remarks
            }
        return TierAnswer(
            tuple(portions),
            tuple(openings),
            failures=failures,
            remarks=remarks,
        )

    def _of_document(self, finder: Finder, demand: Demand, document: Document, quote: Row) -> _Said:
        """Look for rows in one document; what was found is remembered by the document's hash."""
        key = (demand.predicate.name, document.name, document.hash, quote)
        known = self._said.get(key)
        if known is not None and known.document == document:
            return known
        if document.failure:
            return _Said(document, (), (), (f"{document.name}: {document.failure}",))
        said = self._found(finder, demand, document, quote)
        self._said[key] = said
        return said

    def _found(self, finder: Finder, demand: Demand, document: Document, quote: Row) -> _Said:
        predicate, clock = demand.predicate, demand.clock
        fetched = Fetched()
        places: dict[Row, Found] = {}
        failures = list(finder.troubles(document))
        # Its size bounds a document's rows, too: none counts that whoever asks may not see.
        most = UNBOUNDED if demand.only else self._project.limits.query_rows
        for found in finder.find(document, [str(one) for one in quote], clock.check):
            before, line = len(fetched.rows), self._line(document, found)
            where = f"{document.name}, line {line}, says of {predicate.name}"
            RowReader(predicate, where, DOCUMENT).take([found.cells], fetched)
            if len(fetched.rows) > before:
                places[next(reversed(fetched.rows))] = found
            if fetched.count > most:
                failures.append(f"{document.name} says more than {most:,} rows")
                break
        distinct = said_of_input(predicate, "distinct") == "true" or bool(quote)
        if fetched.repeated and not distinct:
            line = self._line(document, places[next(iter(fetched.repeated))])
            failures.append(
                f"{document.name} says a row of {predicate.name} more than once: add a column"
                f" `line: number`, or write `@[distinct]` before `.decl` (at line {line})"
            )
        evidence = _Evidences(predicate, document, now())
        portions = tuple(
            Portion((row,), evidence.of(row, found, clock)) for row, found in places.items()
        )
        return _Said(document, portions, tuple(fetched.openings), tuple(failures))

    @staticmethod
    def _line(document: Document, found: Found) -> int:
        return document.places.line(found.start) if document.places is not None else 0

    def _collection(self, name: str) -> Collection:
        if name not in self._collections:
            project = self._project
            setting = project.documents[name]
            self._collections[name] = Collection(setting, project.folder, project.state)
        return self._collections[name]

    def _end(self) -> float:
        return time.monotonic() + _SECONDS if self._until is None else self._until


def _misfit(predicate: Predicate, message: str, hint: str) -> Diagnostic:
    span = predicate.source.span if predicate.source else predicate.span
    text = f"`{predicate.name}`: {message}"
    return Diagnostic("C0854", text, span, severity=Severity.WARNING, help=hint)


def _nearest(finder: Finder, documents: Sequence[Document]) -> str:
    """Say what documents have of the kind that is looked for, such as the headings of tables."""
    parsed = [one.parsed for one in documents if one.parsed is not None]
    what = "headings of tables"
    if finder.section and not any(one.within(finder.section) for one in parsed):
        what, known = "sections", [each.title for one in parsed for each in one.sections]
    elif finder.rows == TABLE:
        known = [head for one in parsed for table in one.tables for head in table.header]
    else:
        what, known = "keys of lines", [each.key for one in parsed for each in one.fields()]
    listed = ", ".join(f"`{one[:_LONGEST]}`" for one in dict.fromkeys(known[:_MOST_SEEN]))
    return f"there are {what} {listed[:_MOST_SHOWN]}" if known else f"there are no {what}"


class _Evidences:
    """Makes the evidence of the rows of one document."""

    def __init__(self, predicate: Predicate, document: Document, at: str) -> None:
        self._predicate = predicate
        self._document = document
        self._at = at
        self._query = described(predicate)
        parsed = document.parsed
        self._text = "" if parsed is None else parsed.text
        reader = "" if parsed is None else parsed.reader
        name, _, version = (reader or _ITSELF).rpartition(" ")
        # Where the text is the file itself, its hash is that of the file.
        digest = hashlib.sha256(self._text.encode()).hexdigest()
        self._agent = Agent(SERVICE, name, version)
        self._response = f"sha256:{digest}"

    def of(self, row: Row, found: Found, clock: Clock) -> Evidence:
        """Make the evidence of a row: the words that it stands in, and what they were read by."""
        document, places = self._document, self._document.places
        start = 0 if places is None else places.byte(found.start)
        words = self._text[found.start : found.end]
        quote = Quote(document.name, words, start, start + len(words.encode()), document.hash)
        return Evidence(
            tier=DOCUMENT,
            origin=Origin.DOCUMENT,
            source=document.name,
            executed_at=self._at,
            query=self._query,
            row_count=1,
            content_hash=content_hash([row], self._predicate.kinds, clock),
            attestation=Attestation(self._agent, response=self._response, quote=quote),
        )


def described(predicate: Predicate) -> str:
    """Say how rows of a predicate are found, as its `.input` does."""
    told = predicate.source.parameters if predicate.source else {}
    names = ("pattern", "rows", "columns", "section")
    return ", ".join(f'{name} = "{told[name]}"' for name in names if name in told)


def _asked(finder: Finder, predicate: Predicate) -> tuple[int, ...]:
    """Give the column that documents are asked with: the words of a quotation."""
    if finder.rows != QUOTES:
        return ()
    return tuple(place for place, one in enumerate(predicate.columns) if one.name == "quote")


def _about(demand: Demand, document: str, keys: Sequence[Row]) -> Iterator[Row]:
    """Yield the keys that may be about a document."""
    columns = demand.predicate.columns
    places = [n for n, place in enumerate(demand.columns) if columns[place].name == NAMED]
    for key in keys:
        if all(key[place] == document for place in places):
            yield key


def _wanted(
    portions: Sequence[Portion], columns: Sequence[int], keys: Sequence[Row], clock: Clock
) -> Iterator[Portion]:
    """Yield the portions whose row has one of the keys."""
    rows = {portion.rows[0]: portion for portion in clock.over(portions)}
    for row in rows_for(rows, columns, keys, clock):
        yield rows[row]


# Documents are looked through as the `.input` declares: by a pattern of words, or for rows of one
# kind. What they hold is not looked at here.

_ROWS: Final = (TABLE, *(name for name in COLUMNS if name != TABLE))
_OF_OTHERS: Final = ("query", "operation", "fixed", "model", "given", "about", MAX_AGE)


def finder_of(predicate: Predicate, setting: DocumentsSetting) -> Finder:
    """Read what an `.input` says of documents; `check_documents` reports what is wrong with it."""
    told = predicate.source.parameters if predicate.source else {}
    written = told.get("pattern", "")
    heads = dict(pairs_of(told.get("columns", "")))
    names = [column.name for column in predicate.columns]
    return Finder(
        columns=tuple((column.name, column.kind) for column in predicate.columns),
        rows="" if written else told.get("rows", ""),
        pattern=read_pattern(written) if written else None,
        heads={
            name: heads.get(name, name) for name in names if name in heads or name not in PLACES
        },
        section=" ".join(told.get("section", "").split()),
        locale=setting.locale,
    )


def mistakes(predicate: Predicate) -> Iterator[Diagnostic]:
    """Yield what an `.input` says wrongly about documents."""
    span = predicate.source.span if predicate.source else None
    for message, hint in _mistakes(predicate):
        yield Diagnostic("C0582", message, span, help=hint)


def _mistakes(predicate: Predicate) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, each with an edit."""
    name, told = predicate.name, predicate.source.parameters if predicate.source else {}
    for unused in [one for one in _OF_OTHERS if one in told]:
        message = f"`{name}` has documents as its source, and `{unused}`"
        yield message, f"delete `{unused}`: documents are read anew when they have changed"
    written, rows = told.get("pattern", ""), told.get("rows", "")
    if bool(written) == bool(rows):
        said = "both `pattern` and `rows`" if written else "neither `pattern` nor `rows`"
        yield (
            f"`{name}` has {said}",
            'write `pattern="Notice period: {days} days"` or `rows="table"`',
        )
        return
    if rows and rows not in _ROWS:
        hint = suggestion(rows, _ROWS)
        yield f"the `rows` of `{name}` are none of {', '.join(_ROWS)}", hint
        return
    try:
        given = read_pattern(written).names if written else COLUMNS[rows]
    except PatternError as problem:
        yield f"the `pattern` of `{name}`: {problem}", 'write `pattern="Fee: {amount} EUR"`'
        return
    yield from _column_mistakes(predicate, rows, given)


def _column_mistakes(
    predicate: Predicate, rows: str, given: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield which columns nothing fills, or cannot be filled."""
    name, told = predicate.name, predicate.source.parameters if predicate.source else {}
    columns = [column.name for column in predicate.columns]
    for column, head in pairs_of(told.get("columns", "")):
        if rows != TABLE:
            yield f'`{name}` has `columns` and no `rows="table"`', "delete `columns`"
            return
        if column not in columns or not head:
            hint = suggestion(column, columns) or 'write `columns="amount = Amount due"`'
            yield f"`columns` of `{name}` names a column that it has not", hint
    for one in predicate.columns:
        if one.kind is Kind.STRUCTURE:
            yield f"column `{one.name}` of `{name}` is a structure", "documents have none"
        if rows != TABLE and one.name not in {*given, *PLACES}:
            hint = suggestion(one.name, (*given, *PLACES))
            yield f"nothing fills the column `{one.name}` of `{name}`", hint
    missing = [one for one in given if one not in columns]
    if missing and (rows in {"", QUOTES}):
        hint = f"declare `{missing[0]}` as a column"
        yield f"`{name}` has no column `{missing[0]}`, which its `.input` names", hint
    if rows == QUOTES and told.get("required", "").strip() != "quote":
        yield (
            f"`{name}` looks for quotations, and is not asked with one",
            'write `required="quote"`',
        )
    if rows != QUOTES and "required" in told:
        yield f"`{name}` has `required`, which only quotations have", "delete `required`"
