"""The durable second level under a chain's memory: answers cached across programs."""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import contextmanager
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final, cast
from urllib.parse import parse_qsl, urlsplit

from constat.catalog import QueryMistakeError, SourceFailureError, guard
from constat.evaluation import (
    UNTIMED,
    Answer,
    Assumption,
    Clock,
    Demand,
    Evidence,
    Exhaustive,
    LimitReachedError,
    Opening,
    Origin,
    Portion,
    TierAsked,
)
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    NullCell,
    Open,
    format_value,
    null_policies,
    parse_decimal,
    with_null_cells,
)
from constat.logic.structures import column_form
from constat.store.answers import AnswerStore, AnswerStoreError, Fresh
from constat.tiers.asking import attestation_text, read_attestation
from constat.tiers.cache_age import (
    CACHE,
    MAX_AGE,
    UNREACHED,
    age_allowed,
    age_in_words,
    moments,
    seconds_now,
)
from constat.tiers.config import config_key
from constat.tiers.memory import Memory
from constat.tiers.tier import openings_for, read_canonical, rows_for

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.catalog import Connection, SourceTable
    from constat.evaluation import Observer
    from constat.logic import Column, Kind, OpenRow, Predicate, Row, Value
    from constat.project import Cell, CustomTier, Database, Project
    from constat.project.apis import ApiSetting
    from constat.store.answers import Stored
    from constat.tiers.building import Connections

# Tables that the query does not read have no part in it. A view counts with its own columns, not
# with the tables behind it.

_GONE: Final = "gone"
_LENGTH: Final = 16


def tables_read(connection: Connection, query: str) -> Mapping[str, str]:
    """Give the shape of each table that a query reads."""
    return shapes(connection, sorted(guard(query, connection.dialect).tables))


def shapes(connection: Connection, names: Iterable[str]) -> Mapping[str, str]:
    """Give the shape of each named table as it is now."""
    known = connection.tables()
    return {name: _shape(known[name]) if name in known else _GONE for name in names}


def _shape(table: SourceTable) -> str:
    columns = [[one.name, one.declared, one.never_null] for one in table.columns]
    text = json.dumps([table.name, table.plain, columns])
    return hashlib.sha256(text.encode()).hexdigest()[:_LENGTH]


# Changes with the form of answers and with what a tier makes of a source's cells.
FORMAT: Final = 4
_SECRET: Final = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred|connect|sig")
_UNIMPORTANT: Final = frozenset({MAX_AGE, "IO", "filename", "name", "delimiter", "headers"})
_ROW_ATTRIBUTES: Final = ("key", "null", "distinct", "closed")


def concerns(predicate: Predicate, project: Project, use: str) -> str:
    """Give the text; `use` tells answers of one predicate apart that serve different questions."""
    parameters = predicate.source.parameters if predicate.source else {}
    database = project.databases.get(predicate.source.name if predicate.source else "")
    api = project.apis.get(predicate.source.name if predicate.source else "")
    identity = None if database is None else _identity(database, project)
    name = predicate.name
    return json.dumps(
        {
            "format": FORMAT,
            "use": use,
            "predicate": name,
            "columns": [
                [column.name, column_form(column), column.attributes.get("null")]
                for column in predicate.columns
            ],
            "attributes": [predicate.attributes.get(one) for one in _ROW_ATTRIBUTES],
            "input": {k: v for k, v in parameters.items() if k not in _UNIMPORTANT},
            "source": _api_identity(api) if api is not None else identity,
            "facts": _facts(predicate, project),
            "closed": project.closed.get(name),
            "tiers": [
                _tier(one)
                for one in project.tiers.values()
                if one.predicates is None or name in one.predicates
            ],
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _tells_apart(predicate: Predicate, project: Project) -> bool:
    """Tell whether a predicate's database answers each caller for themselves."""
    database = project.databases.get(predicate.source.name if predicate.source else "")
    return database is not None and database.caller is not None


def _api_identity(api: ApiSetting) -> list[object]:
    """Say which API it is, and what its answers mean; who asks is no part of it."""
    addresses = [one.text or "" for one in (api.url, api.spec_url) if one is not None]
    where = hashlib.sha256("\n".join(addresses).encode()).hexdigest()
    said = [repr(api.paging), repr(sorted(api.operations.items())), api.not_found, api.authority]
    spec = json.dumps([api.spec_file, api.spec_inline], sort_keys=True, default=str)
    return [api.name, api.kind, where, *said, api.schema, sorted(api.safe), spec]


def _identity(database: Database, project: Project) -> list[object]:
    """Say which source it is. Paths are relative to the project, so its folder belongs to them."""
    options = {k: v for k, v in database.options.items() if not _SECRET.search(k)}
    where = str(project.folder)
    asker = database.asker
    told = () if asker is None else (asker.setting, asker.value, asker.role)
    files = {name: one.identity for name, one in database.files.items()}
    return [database.name, database.kind, _address(database), options, files, where, *told]


def _address(database: Database) -> list[object]:
    text = database.address.text
    if text is None:
        return ["not set", *database.address.missing]
    try:
        parts = urlsplit(text)
        port = parts.port
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return ["unreadable", text.partition(":")[0]]
    # A name that may hold a secret counts with its name only.
    plain = [(name, "" if _SECRET.search(name) else value) for name, value in query]
    host = "" if parts.hostname is None else parts.hostname
    return [parts.scheme, parts.username, host, port, parts.path, sorted(plain)]


def _facts(predicate: Predicate, project: Project) -> object:
    table = project.facts.get(config_key(predicate))
    if table is None:
        return None
    rows = [[fact.columns, [_cell(cell) for cell in fact.cells]] for fact in table.rows]
    return [table.name, table.form, rows, project.config_name]


def _cell(cell: Cell) -> list[object]:
    parts = [] if cell.parts is None else [[_cell(one) for one in cell.parts]]
    return [cell.text, cell.variables, cell.missing, *parts]


def _tier(tier: CustomTier) -> list[object]:
    options = {k: "" if _SECRET.search(k) else v for k, v in tier.options.items()}
    return [tier.name, tier.factory, tier.after, options]


# The text is untrusted; a row, key or evidence that does not fit the declaration raises
# `ValueError`, and then nothing of the text is used.

_HASH: Final = re.compile(r"((sha256:)?[0-9a-f]{64})?\Z")
_KINDS: Final = frozenset({"fact", "rule", "closure", "fall-through"})
_TIME: Final = re.compile(r"[0-9TZ:.+ -]{0,40}\Z")


def key_text(key: Row, kinds: Sequence[Kind]) -> str:
    """Write the values of the bound columns, so that equal keys are equal texts."""
    return _dumped([format_value(v, kind) for v, kind in zip(key, kinds, strict=True)])


def answer_text(
    answer: Answer, predicate: Predicate, columns: Sequence[int], clock: Clock = UNTIMED
) -> str:
    """Write an answer about keys of those columns."""
    writer = _Writer(predicate)
    kinds = [predicate.kinds[column] for column in columns]
    return _dumped(
        {
            "portions": [
                [
                    writer.evidence(portion.evidence),
                    writer.assumption(portion.assumption),
                    [writer.row(row) for row in clock.over(portion.rows)],
                ]
                for portion in answer.portions
            ],
            "openings": [
                [writer.row(one.row), one.reason, one.tier, writer.assumption(one.assumption)]
                for one in clock.over(answer.openings)
            ],
            "answered": [key_text(key, kinds) for key in clock.over(answer.answered)],
            "authorities": [writer.evidence(one) for one in answer.authorities],
            "evidence": writer.evidences,
            "assumptions": writer.assumptions,
        }
    )


def read_answer(
    text: str, predicate: Predicate, columns: Sequence[int], clock: Clock = UNTIMED
) -> Answer:
    """Read an answer; raises `ValueError` where anything does not fit."""
    try:
        return _Reader(json.loads(text), predicate, clock).answer(columns)
    except (TypeError, KeyError, IndexError, AttributeError, RecursionError, ArithmeticError):
        raise ValueError("is not of the form that answers have") from None


class _Writer:
    """Numbers what several portions share."""

    def __init__(self, predicate: Predicate) -> None:
        self._kinds = predicate.kinds
        self._numbers: dict[int, int] = {}
        self._assumed: dict[Assumption, int] = {}
        self.evidences: list[list[object]] = []
        self.assumptions: list[list[str]] = []

    def row(self, row: OpenRow) -> list[str | int | None]:
        return [_slot_text(slot, kind) for slot, kind in zip(row, self._kinds, strict=True)]

    def evidence(self, one: Evidence) -> int:
        whole = one.exhaustive
        if id(one) not in self._numbers:
            self._numbers[id(one)] = len(self.evidences)
            self.evidences.append(
                [
                    *(one.tier, one.origin.value, one.source, one.executed_at, one.query),
                    *(list(one.parameters), one.row_count, one.content_hash, one.snapshot),
                    *(f"{one.confidence:f}", one.author, attestation_text(one.attestation)),
                    None if whole is None else [whole.operation, whole.pages],
                ]
            )
        return self._numbers[id(one)]

    def assumption(self, one: Assumption | None) -> int | None:
        if one is None:
            return None
        if one not in self._assumed:
            self._assumed[one] = len(self.assumptions)
            self.assumptions.append([one.kind, one.subject, one.text, f"{one.confidence:f}"])
        return self._assumed[one]


def _slot_text(slot: object, kind: Kind) -> str | int | None:
    """Write a value, `None` for the placeholder, the ordinal of a null cell."""
    if isinstance(slot, Open):
        return None
    return slot.ordinal if isinstance(slot, NullCell) else format_value(cast("Value", slot), kind)


class _Reader:
    """Reads one document; every value is checked on its way."""

    def __init__(
        self, document: dict[str, list[list[object]]], predicate: Predicate, clock: Clock
    ) -> None:
        self._document = document
        self._clock = clock
        self._predicate = predicate
        self._nulls = null_policies(predicate)
        self._columns = predicate.columns
        self._evidence = [_evidence(one) for one in _listed(document["evidence"])]
        self._assumptions = [_assumption(one) for one in _listed(document["assumptions"])]

    def answer(self, columns: Sequence[int]) -> Answer:
        document, over = self._document, self._clock.over
        bound = [self._columns[place] for place in columns]
        keys = (_row(json.loads(_text(one)), bound) for one in over(_listed(document["answered"])))
        return Answer(
            tuple(map(self._portion, _listed(document["portions"]))),
            tuple(map(self._opening, over(_listed(document["openings"])))),
            frozenset(keys),
            tuple(self._evidence[_index(one)] for one in _listed(document["authorities"])),
        )

    def _portion(self, written: object) -> Portion:
        evidence, assumption, rows = _listed(written)
        found = self._evidence[_index(evidence)]
        assumed = self._assumed(assumption)
        if assumed is None and found.assumed:
            raise ValueError("holds a fact of somebody's word without the assumption")
        return Portion(tuple(map(self._row, self._clock.over(_listed(rows)))), found, assumed)

    def _row(self, written: object) -> Row:
        """Read a row; numbers in it are the ordinals of null cells."""
        cells = _listed(written)
        numbers = {_index(cell) for cell in cells if not isinstance(cell, str)}
        if not numbers:
            return _row(cells, self._columns)
        known = [
            _row([cell], [column])[0] if isinstance(cell, str) else None
            for cell, column in zip(cells, self._columns, strict=True)
        ]
        # A cell without a value has the ordinal 0 wherever it stands.
        row = with_null_cells(self._predicate.name, known, self._nulls, max(numbers))
        told = [cell for cell in cells if not isinstance(cell, str)]
        if told != [cell.ordinal for cell in row if isinstance(cell, NullCell)]:
            raise ValueError("holds a row with null cells that are none of one row")
        return row

    def _opening(self, written: object) -> Opening:
        row, reason, tier, assumption = _listed(written)
        slots = _listed(row)
        if len(slots) != len(self._columns):
            raise ValueError("holds a row of another width")
        opened: OpenRow = tuple(
            OPEN if slot is None else _row([slot], [column])[0]
            for slot, column in zip(slots, self._columns, strict=True)
        )
        return Opening(opened, _text(reason), _text(tier), self._assumed(assumption))

    def _assumed(self, number: object) -> Assumption | None:
        return None if number is None else self._assumptions[_index(number)]


def _row(texts: Iterable[object], columns: Sequence[Column]) -> Row:
    """Read values that are in canonical spelling; `007` is no number here."""
    values = []
    for text, column in zip(list(texts), columns, strict=True):
        value = read_canonical(_text(text), column)
        if format_value(value, column.kind) != text:
            raise ValueError("holds a value in a spelling of its own")
        values.append(value)
    return tuple(values)


def _evidence(written: object) -> Evidence:
    tier, origin, source, executed, query, parameters, count, found, *rest = _listed(written)
    snapshot, sure, author, said, whole = rest
    if not _HASH.match(_text(found)) or not _TIME.match(_text(executed)):
        raise ValueError("holds an evidence with a hash or time that is none")
    whose, who = Origin(origin), None if author is None else _text(author)
    return Evidence(
        tier=_text(tier),
        origin=whose,
        source=_text(source),
        executed_at=_text(executed),
        query=None if query is None else _text(query),
        parameters=tuple(map(_text, _listed(parameters))),
        row_count=_index(count),
        content_hash=_text(found),
        snapshot=None if snapshot is None else _text(snapshot),
        confidence=_share(sure),
        author=who,
        attestation=read_attestation(said, whose, who),
        exhaustive=None if whole is None else _exhaustive(whole, whose),
    )


def _exhaustive(written: object, origin: Origin) -> Exhaustive:
    operation, pages = _listed(written)
    if origin is not Origin.API or not _text(operation) or not _index(pages):
        raise ValueError("holds an authority that is none")
    return Exhaustive(_text(operation), _index(pages))


def _assumption(written: object) -> Assumption:
    kind, subject, text, confidence = _listed(written)
    if kind not in _KINDS:
        raise ValueError("holds an assumption of no known kind")
    return Assumption(_text(kind), _text(subject), _text(text), _share(confidence))


def _share(written: object) -> Decimal:
    value = parse_decimal(_text(written))
    if not 0 <= value <= 1:
        raise ValueError("holds a confidence that is none")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("holds something else where a text belongs")  # noqa: TRY004  callers catch one type
    return value


def _index(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("holds something else where a number belongs")
    return value


def _listed(value: object) -> list[object]:
    if not isinstance(value, list):
        raise ValueError("holds something else where a list belongs")  # noqa: TRY004  as in _text
    return value


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":"))


USES: Final = ("settled", "found")
_NOT_KEPT: Final = "C0561"
_DOES_NOT_FIT: Final = "C0562"


class AnswerCache:
    """What the chains of a project share: the file, and whether it may be read at present."""

    def __init__(self, project: Project, connections: Connections, observe: Observer) -> None:
        self.store = AnswerStore(project.state)
        self.reading = True
        self.keeping = True
        self.troubles: dict[tuple[str, str], None] = {}
        self._project = project
        self._connections = connections
        self._observe = observe
        self._resting = False

    def of(self, predicate: Predicate) -> Kept | None:
        """Give the kept answers of a predicate; `None` where none are to be kept."""
        if not age_allowed(predicate) or _tells_apart(predicate, self._project):
            return None
        settled, found = (
            CachedAnswers(
                self, predicate, concerns(predicate, self._project, use), self._connections
            )
            for use in USES
        )
        return Kept(settled, found)

    @contextmanager
    def anew(self) -> Iterator[None]:
        """Serve and keep nothing meanwhile: for whoever only looks."""
        before = self.reading, self.keeping
        self.reading = self.keeping = False
        try:
            yield
        finally:
            self.reading, self.keeping = before

    def usable(self) -> bool:
        """Whether the file has not failed since the last `release`."""
        return not self._resting

    def failed(self, predicate: str, keys: int, problem: AnswerStoreError) -> None:
        """Do without the file for the rest of the evaluation."""
        self._resting = True
        self.warn(predicate, keys, _NOT_KEPT, f"the file of kept answers: {problem}")

    def warn(self, predicate: str, keys: int, code: str, reason: str) -> None:
        """Say what was wrong; once for each kind of trouble."""
        self.troubles[code, reason] = None
        self.tell(predicate, keys, "unknown", f"{reason} [{code}]")

    def tell(self, predicate: str, keys: int, outcome: str, detail: str) -> None:
        """Report what the cache had to say."""
        self._observe(TierAsked(CACHE, predicate, keys, outcome, detail))

    def release(self) -> None:
        """Try the file again from the next evaluation on."""
        self._resting = False

    def close(self) -> None:
        """Close the file."""
        self.store.close()


class CachedAnswers:
    """The kept answers about one predicate, for one use of it."""

    def __init__(
        self, cache: AnswerCache, predicate: Predicate, text: str, connections: Connections
    ) -> None:
        self._cache = cache
        self._predicate = predicate
        self._max_age = age_allowed(predicate)
        self._concerns = text
        self._connections = connections
        self._source = predicate.source.name if predicate.source else ""
        self._loaded = Memory()
        self._state = -1
        self._until = 0.0
        self._scope = ""
        self._labels: dict[int, tuple[Evidence, Evidence]] = {}

    def recall(self, demand: Demand, generation: int) -> tuple[Answer, tuple[Row, ...]]:
        """Give what is kept about a demand, and the keys about which nothing is."""
        if not self._cache.reading:
            return Answer(), demand.keys
        now = seconds_now()
        if generation != self._state or not 0 <= self._until - now <= self._max_age:
            # Kept answers grow too old, and the source may have other tables now.
            self._loaded.forget()
            self._labels.clear()
            self._state, self._until = generation, now + self._max_age
        known, missing = self._loaded.recall(demand)
        if missing and self._cache.usable():
            used = self._load(demand, missing)
            if used:
                left = len(missing)
                known, missing = self._loaded.recall(demand)
                self._count(left - len(missing), used)
        self._report(known, len(demand.keys) - len(missing), len(missing), now)
        return known, missing

    def keep(self, columns: Sequence[int], answer: Answer, clock: Clock) -> None:
        """Keep the answered keys of an answer that the tiers have just given."""
        if not answer.answered or not self._cache.keeping or not self._cache.usable():
            return
        name, keys = self._predicate.name, answer.answered
        kinds = [self._predicate.kinds[column] for column in columns]
        try:
            tables = self._tables()
            if tables is None:
                return
            fresh = self._fresh(columns, _lasting(answer, columns, clock), tables, clock)
            texts = [key_text(key, kinds) for key in clock.over(keys)]
            self._cache.store.keep(fresh, texts)
        except LimitReachedError:
            return  # the answer is there, and the time to keep it is not
        except AnswerStoreError as problem:
            self._cache.failed(name, len(keys), problem)

    def labelled(self, answer: Answer) -> Answer:
        """Say of each evidence that came from the cache that it did."""
        if not self._labels:
            return answer
        return replace(
            answer,
            portions=tuple(
                replace(one, evidence=self._label(one.evidence)) for one in answer.portions
            ),
            authorities=tuple(map(self._label, answer.authorities)),
        )

    def _label(self, evidence: Evidence) -> Evidence:
        found = self._labels.get(id(evidence))
        return evidence if found is None else found[1]

    def _fresh(self, columns: Sequence[int], answer: Answer, tables: str, clock: Clock) -> Fresh:
        every = [portion.evidence for portion in answer.portions] + list(answer.authorities)
        return Fresh(
            concerns=self._concerns,
            predicate=self._predicate.name,
            source=self._source,
            pattern=",".join(map(str, columns)),
            rows=sum(len(portion.rows) for portion in answer.portions),
            fetched_at=min([seconds_now(), *moments(every)]),
            max_age=self._max_age,
            tables=tables,
            body=answer_text(answer, self._predicate, columns, clock),
        )

    def _tables(self) -> str | None:
        """Give the shape of what was read; `None` where it cannot be told, so nothing is kept."""
        query = self._predicate.source.parameters.get("query") if self._predicate.source else None
        if not query or not self._connections.knows(self._source):
            return "{}"
        try:
            connection = self._connections.reading(self._source)
            return json.dumps(tables_read(connection, query), sort_keys=True)
        except (SourceFailureError, QueryMistakeError):
            return None

    def _report(self, known: Answer, served: int, missing: int, now: float) -> None:
        name = self._predicate.name
        if served:
            oldest = now - min([now, *moments(known.authorities)])
            self._cache.tell(name, served, "complete", f"{age_in_words(oldest)} old")
        if missing:
            self._cache.tell(name, missing, "skipped", "nothing young enough is kept")

    def _count(self, hits: int, used: Sequence[int]) -> None:
        try:
            self._cache.store.told(self._predicate.name, hits, used)
        except AnswerStoreError as problem:
            self._cache.failed(self._predicate.name, hits, problem)

    def _load(self, demand: Demand, missing: tuple[Row, ...]) -> list[int]:
        """Load what is kept about the keys; gives the numbers of the answers."""
        store = self._cache.store
        used: list[int] = []
        try:
            scope = self._scope = self._scope or store.scope(self._concerns)
            for pattern in store.patterns(scope) if scope else ():
                columns = _columns(pattern)
                if not set(columns) <= set(demand.columns):
                    continue
                keys = self._keys(demand, columns, missing)
                for stored in store.find(scope, pattern, keys, self._max_age):
                    if self._take(stored, columns, demand.clock):
                        used.append(stored.id)
                        self._until = min(self._until, stored.fetched_at + self._max_age)
        except AnswerStoreError as problem:
            self._cache.failed(self._predicate.name, len(missing), problem)
        return used

    def _keys(
        self, demand: Demand, columns: Sequence[int], missing: tuple[Row, ...]
    ) -> tuple[str, ...]:
        places = [demand.columns.index(column) for column in columns]
        kinds = [self._predicate.kinds[column] for column in columns]
        texts = (
            key_text(tuple(key[place] for place in places), kinds)
            for key in demand.clock.over(missing)
        )
        return tuple(dict.fromkeys(texts))

    def _take(self, stored: Stored, columns: tuple[int, ...], clock: Clock) -> bool:
        """Load one answer, unless its tables have changed or its text does not fit."""
        label = self._reached(stored)
        if label is None:
            return False
        answer, problem = None, "is not what was written"
        if stored.whole:
            try:
                answer = read_answer(stored.body, self._predicate, columns, clock)
            except ValueError as reason:
                problem = str(reason)
        if answer is None:
            name = self._predicate.name
            said = f"a kept answer about {name} {problem}; it is not used"
            self._cache.warn(name, stored.keys, _DOES_NOT_FIT, said)
            return False
        self._loaded.keep(columns, answer)
        for one in (*(portion.evidence for portion in answer.portions), *answer.authorities):
            self._labels[id(one)] = one, replace(one, tier=label)
        return True

    def _reached(self, stored: Stored) -> str | None:
        """Give the tier to show: the cache, with the source seen or not; `None` after a change."""
        if not self._connections.knows(self._source):
            return CACHE
        try:
            then = json.loads(stored.tables)
            connection = self._connections.reading(self._source)
            return CACHE if then == shapes(connection, then) else None
        except SourceFailureError:
            # The user allows answers of that age; the evidence says that nobody could look.
            return UNREACHED
        except (ValueError, TypeError):
            return None


@frozen
class Kept:
    """The kept answers of a chain: what it settled, and which rows it found to settle by key."""

    settled: CachedAnswers
    found: CachedAnswers

    def labelled(self, answer: Answer) -> Answer:
        """Say of each evidence that came from the cache that it did."""
        return self.found.labelled(self.settled.labelled(answer))


def scopes(store: AnswerStore, predicate: Predicate, project: Project) -> tuple[str, ...]:
    """Give the names under which answers of a predicate are kept at present."""
    if not age_allowed(predicate):
        return ()
    return tuple(store.scope(concerns(predicate, project, use)) for use in USES)


def _lasting(answer: Answer, columns: Sequence[int], clock: Clock) -> Answer:
    """Give what an answer says about its answered keys."""
    keys = answer.answered
    portions = (
        replace(one, rows=rows_for(one.rows, columns, keys, clock)) for one in answer.portions
    )
    return replace(
        answer,
        portions=tuple(one for one in portions if one.rows),
        openings=openings_for(answer.openings, columns, keys, clock),
    )


def _columns(pattern: str) -> tuple[int, ...]:
    try:
        return tuple(int(place) for place in pattern.split(",")) if pattern else ()
    except ValueError:
        raise AnswerStoreError("a record in it is damaged", damaged=True) from None
