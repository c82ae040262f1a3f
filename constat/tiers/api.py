"""The tier of the project's APIs: operations as predicates, their answers as rows.

A column that is named by `required` is what the operation is asked with; the others are fields of
its answer. Each row is the API's word, unless the project declares it an authority: then an answer
whose pages were all read, and are valid, is all there is.
"""

from __future__ import annotations

import time
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, cast

from constat.apis import Api, ApiError, PathError, Shape, read_path
from constat.apis.operations import DAY, DECIMAL, MOMENT, NUMBER, TEXT, TRUTH
from constat.apis.shapes import path_text
from constat.catalog import read_column
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.evaluation import (
    Agent,
    Attestation,
    Demand,
    Evidence,
    Exhaustive,
    Observer,
    Origin,
    QueryRun,
    answered_note,
)
from constat.frozen import frozen
from constat.logic import Kind, display_value, null_words
from constat.project.apis import STRICT
from constat.tiers.database import Fetched, RowReader, told_of
from constat.tiers.declarations import api_columns
from constat.tiers.tier import API, UNBOUNDED, TierAnswer, content_hash, failed, scrubbed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.apis import Answered, Description, Operation
    from constat.catalog import Cell
    from constat.logic import Predicate, Row, Value
    from constat.project import Project
    from constat.tiers.declarations import ApiColumns

_SECONDS: Final = 60.0
_SHOWN: Final = 12


@frozen
class _Prepared:
    """A predicate held against its operation: which columns are sent, and what shape answers have.

    `parameters` gives the name of the parameter of each column that is sent, by its position.
    """

    operation: Operation
    parameters: Mapping[int, str]
    shape: Shape
    places: tuple[int, ...]
    fixed: Mapping[str, object]


@frozen
class _Ran:
    """What a question gave, and the evidence of it."""

    fetched: Fetched
    evidence: Evidence
    remark: str = ""


class ApiTier:
    """Asks APIs; implements `Tier`. Used by one thread at a time; `cancel` may be any thread's."""

    name = API
    cost = 100

    def __init__(self, project: Project, observe: Observer) -> None:
        self._project = project
        self._observe = observe
        self._apis: dict[str, Api] = {}
        self._prepared: dict[str, _Prepared] = {}
        self._ran: dict[tuple[str, tuple[int, ...], Row], _Ran] = {}
        self._until: float | None = None

    def configured(self, predicate: Predicate) -> bool:
        """Whether the predicate's `.input` names an API of the project."""
        return predicate.source is not None and predicate.source.name in self._project.apis

    def start(self, seconds: float) -> None:
        """Begin an evaluation: what it asks ends in time."""
        self._until = time.monotonic() + seconds
        for api in self._apis.values():
            api.transport.restart()
            api.forget()

    def release(self) -> None:
        """End the evaluation."""
        self._until = None

    def forget(self) -> None:
        """Drop what is remembered; the next question asks whether it still holds."""
        self._ran.clear()
        for api in self._apis.values():
            api.forget()

    def cancel(self) -> None:
        """End the requests that run, from any thread."""
        for api in list(self._apis.values()):
            api.cancel()

    def close(self) -> None:
        """Close all connections."""
        for api in self._apis.values():
            api.close()
        self._apis.clear()
        self._ran.clear()

    def answer(self, demand: Demand) -> TierAnswer:
        """Ask the API for each distinct value of what it is asked with.

        Raises `ConstatError` where the declaration does not fit the API.
        """
        predicate = demand.predicate
        name = predicate.source.name if predicate.source else ""
        columns = api_columns(predicate)
        if not set(columns.sent) <= set(demand.columns):
            listed = ", ".join(predicate.columns[place].name for place in columns.sent)
            return failed(demand, f"API {name} is asked about {predicate.name} by {listed}")
        try:
            prepared = self._prepare(predicate, columns)
        except ApiError as problem:
            return failed(demand, self._reason(name, problem))
        groups: dict[Row, list[Row]] = {}
        for key in demand.clock.over(demand.keys):
            pairs = dict(zip(demand.columns, key, strict=True))
            groups.setdefault(tuple(pairs[place] for place in prepared.parameters), []).append(key)
        answers = []
        for sent, keys in groups.items():
            demand.clock.check()
            answers.append(self._of_group(demand, prepared, sent, tuple(keys)))
        return joined(answers)

    def _of_group(
        self, demand: Demand, prepared: _Prepared, sent: Row, keys: tuple[Row, ...]
    ) -> TierAnswer:
        """Answer for the keys that one question answers for."""
        predicate = demand.predicate
        name = predicate.source.name if predicate.source else ""
        part = replace(demand, keys=keys)
        ran = self._ran.get((predicate.name, predicate.unread, sent))
        if ran is None:
            try:
                ran = self._run(predicate, prepared, sent, demand)
            except ApiError as problem:
                return failed(part, self._reason(name, problem))
            if not ran.fetched.failure:
                self._ran[predicate.name, predicate.unread, sent] = ran
        where = f"API {name}: `{prepared.operation.name}` for {predicate.name}"
        answer = told_of(part, keys, ran.fetched, ran.evidence, where)
        if ran.evidence.exhaustive is not None:
            return answer
        remark = f"API {name} tells some facts of {predicate.name}, which need not be all"
        if ran.remark:
            remark += f": {ran.remark}"
        remarks = {key: remark for key in keys if key not in answer.failures}
        return replace(answer, complete=frozenset(), authorities=(), remarks=remarks)

    def _run(self, predicate: Predicate, prepared: _Prepared, sent: Row, demand: Demand) -> _Ran:
        name = predicate.source.name if predicate.source else ""
        api, began = self._api(name), time.perf_counter()
        kinds = [predicate.kinds[place] for place in prepared.parameters]
        values = dict(zip(prepared.parameters.values(), map(_sent, sent, kinds), strict=True))
        asked: dict[str, object] = {**prepared.fixed, **values}
        # Its bytes and pages bound it, too: of rows that whoever asks may not see none counts.
        most = UNBOUNDED if demand.only else self._project.limits.query_rows
        answered = api.answer(prepared.operation.name, asked, prepared.shape, self._end(), most)
        fetched = Fetched()
        reader = RowReader(predicate, f"API {name}: answer for {predicate.name}", API)
        given = _given(predicate, dict(zip(prepared.parameters, sent, strict=True)))
        rows = [_whole(given, cells, prepared, predicate) for cells in answered.rows]
        for block in demand.clock.blocks(rows):
            reader.take(block, fetched)
        if answered.failure:
            told = scrubbed(answered.failure, api.transport.secrets())
            fetched.failure = f"{told} [{answered.code}]"
        shown = tuple(f"{key}={value}" for key, value in asked.items())
        evidence = self._evidence(api, prepared.operation, answered, shown)
        evidence = replace(
            evidence,
            row_count=len(fetched.rows),
            content_hash=content_hash(fetched.rows, predicate.kinds, demand.clock),
        )
        seconds = time.perf_counter() - began
        self._observe(QueryRun(name, prepared.operation.form, len(asked), fetched.count, seconds))
        return _Ran(fetched, evidence, answered.remark)

    def _evidence(
        self, api: Api, operation: Operation, answered: Answered, shown: tuple[str, ...]
    ) -> Evidence:
        description = api.description(self._end())
        authority, _, _ = api.setting.of(operation.name)
        checked = "no schema says what it holds" if operation.result is None else "as described"
        if api.setting.kind == "graphql":
            checked = "as described"
        note = answered_note(answered.status, answered.pages, answered.remark or checked)
        whole = authority and answered.whole
        return Evidence(
            tier=API,
            origin=Origin.API,
            source=api.setting.name,
            executed_at=answered.at,
            query=operation.form,
            parameters=shown,
            attestation=Attestation(
                Agent("service", api.setting.name, description.version or None, description.digest),
                answered.request,
                answered.response,
                note=note,
            ),
            exhaustive=Exhaustive(operation.form, answered.pages) if whole else None,
        )

    # ------------------------------------------------------------------------- declarations

    def _prepare(self, predicate: Predicate, columns: ApiColumns) -> _Prepared:
        """Hold a declaration against its operation, once; raises `ConstatError` and `ApiError`."""
        if predicate.name not in self._prepared:
            api = self._api(predicate.source.name if predicate.source else "")
            description = api.description(self._end())
            self._prepared[predicate.name] = prepare(predicate, columns, description, api)
        return self._prepared[predicate.name]

    def _api(self, name: str) -> Api:
        if name not in self._apis:
            project = self._project
            self._apis[name] = Api(project.apis[name], project.folder, project.state)
        return self._apis[name]

    def _end(self) -> float:
        return time.monotonic() + _SECONDS if self._until is None else self._until

    def _reason(self, name: str, problem: ApiError) -> str:
        secrets = self._api(name).transport.secrets()
        return f"API {name}: {scrubbed(problem.reason, secrets)} [{problem.code}]"


def _given(predicate: Predicate, sent: Mapping[int, Value]) -> Mapping[int, Cell]:
    """Give the values of columns that are sent as cells of the rows; raises `ApiError`."""
    for place, value in sent.items():
        try:
            again = read_column(value, predicate.columns[place])
        except ValueError:
            again = None
        if again != value:
            name = predicate.columns[place].name
            raise ApiError(f"a value of the column {name} cannot be sent", "C0573")
    return sent


def _whole(
    given: Mapping[int, Cell],
    cells: tuple[object, ...],
    prepared: _Prepared,
    predicate: Predicate,
) -> tuple[Cell, ...]:
    """Put the cells of an answer between the values that it was asked with."""
    told = dict(zip(prepared.places, cells, strict=True))
    found = [
        given[place] if place in given else cast("Cell", told[place])
        for place in range(predicate.arity)
    ]
    # What nobody reads is not there, whatever the answer has in its place (semantics 50).
    return tuple(None if n in predicate.unread else cell for n, cell in enumerate(found))


def prepare(
    predicate: Predicate, columns: ApiColumns, description: Description, api: Api
) -> _Prepared:
    """Hold a declaration against its operation; raises `ConstatError`."""
    source = predicate.source
    told = source.parameters if source is not None else {}
    written = told.get("operation", "")
    operation = description.operations.get(written)
    if operation is None:
        near = nearest(written, description.operations)
        hint = f'write `operation="{near}"`' if near else "`constat catalog list` names them"
        message = f"API {api.setting.name} has no operation `{written}`"
        raise _mistake(predicate, "C0572", message, hint)
    if not operation.safe:
        message = f"`{operation.form}` may change something, and is not asked"
        hint = f"if it only reads, write `safe: [{operation.name}]` below the API"
        raise _mistake(predicate, "C0572", message, hint)
    parameters = _parameters(predicate, columns, operation)
    fixed = columns.fixed
    missing = [
        one.name
        for one in operation.parameters
        if one.required and one.name not in {*parameters.values(), *fixed}
    ]
    if missing:
        message = f"`{operation.name}` needs the parameter `{missing[0]}`"
        hint = f'add a column for it and `required="{missing[0]}"`, or `fixed="{missing[0]}=..."`'
        raise _mistake(predicate, "C0573", message, hint)
    places = tuple(place for place in range(predicate.arity) if place not in parameters)
    shape = _shape(predicate, places, columns, description, operation)
    if api.setting.schema == STRICT:
        _check_fields(predicate, places, shape, description, operation)
    kinds = {one.name: one.kind for one in operation.parameters}
    try:
        sent = {name: _fixed(text, kinds[name]) for name, text in fixed.items()}
    except ValueError as problem:
        hint = 'write `fixed="limit=100"`'
        raise _mistake(predicate, "C0573", f"`fixed`: {problem}", hint) from None
    return _Prepared(operation, parameters, shape, places, sent)


def _parameters(predicate: Predicate, columns: ApiColumns, operation: Operation) -> dict[int, str]:
    """Give the parameters of the columns that are sent, by their positions."""
    names = [one.name for one in operation.parameters]
    found = {
        place: columns.parameters.get(place, predicate.columns[place].name)
        for place in columns.sent
    }
    for place, name in found.items():
        if name not in names:
            column = predicate.columns[place].name
            near = nearest(name, names) or next(iter(names), "")
            hint = f'write `columns="{column} = {{{near}}}"`' if near else "delete `required`"
            message = f"`{operation.name}` has no parameter `{name}`"
            raise _mistake(predicate, "C0573", message, hint)
    for name in columns.fixed:
        if name not in names:
            near = nearest(name, names) or ""
            hint = f'write `fixed="{near}=..."`' if near else "delete it in `fixed`"
            message = f"`{operation.name}` has no parameter `{name}`"
            raise _mistake(predicate, "C0573", message, hint)
    return found


def _shape(
    predicate: Predicate,
    places: tuple[int, ...],
    columns: ApiColumns,
    description: Description,
    operation: Operation,
) -> Shape:
    rows = columns.rows if columns.rows is not None else description.rows(operation)
    try:
        paths = [
            read_path(columns.paths.get(place, predicate.columns[place].name)) for place in places
        ]
        shape = Shape(replace(read_path(rows), whole=True), tuple(paths))
        shape.check()
    except PathError as problem:
        hint = 'write `rows="orders[]"`, `columns="city = address.city"`'
        raise _mistake(predicate, "C0573", str(problem), hint) from None
    return shape


def _check_fields(
    predicate: Predicate,
    places: tuple[int, ...],
    shape: Shape,
    description: Description,
    operation: Operation,
) -> None:
    """Raise `ConstatError` where a column is no field that the description tells of."""
    listed = description.fields(operation)
    if listed.open or not listed.fields:
        return
    known = {one.path for one in listed.fields}
    for place, path in zip(places, shape.columns, strict=True):
        steps = path.steps if path.whole else (*shape.rows.steps, *path.steps)
        if steps[-1:] == ("#",) or steps in known:
            continue
        parent = steps[:-1]
        names = [one[-1] for one in known if one[:-1] == parent]
        if not names:
            continue  # nothing is said about what lies there
        near = nearest(steps[-1], names) or min(names)
        column = predicate.columns[place].name
        inner = near if path.whole or not path.steps[:-1] else ".".join((*path.steps[:-1], near))
        message = f"`{operation.name}` gives no field `{'.'.join(steps)}`"
        hint = f'write `columns="{column} = {inner}"`'
        raise _mistake(predicate, "C0573", message, hint)


_KINDS: Final = MappingProxyType(
    {
        NUMBER: Kind.NUMBER,
        DECIMAL: Kind.DECIMAL,
        TRUTH: Kind.BOOL,
        DAY: Kind.DATE,
        MOMENT: Kind.TIMESTAMP,
    }
)
_NUMBERS: Final = (Kind.NUMBER, Kind.UNSIGNED, Kind.DECIMAL, Kind.FLOAT)
_TIMES: Final = (Kind.DATE, Kind.TIMESTAMP)
_NEVER: Final = MappingProxyType(
    {
        NUMBER: (*_TIMES, Kind.BOOL),
        DECIMAL: (*_TIMES, Kind.BOOL),
        TRUTH: (*_NUMBERS, *_TIMES),
        DAY: (*_NUMBERS, Kind.BOOL),
        MOMENT: (*_NUMBERS, Kind.BOOL),
    }
)
"""Kinds of columns that no value of a field can be, by what its description says of it."""
_PERHAPS: Final = MappingProxyType(
    {
        TEXT: (*_NUMBERS, *_TIMES, Kind.BOOL),
        DECIMAL: (Kind.NUMBER, Kind.UNSIGNED),
        MOMENT: (Kind.DATE,),
        DAY: (Kind.TIMESTAMP,),
    }
)
"""Kinds of columns that some values of a field can be, and others cannot."""


def misfits(
    predicate: Predicate, prepared: _Prepared, description: Description
) -> Iterator[Diagnostic]:
    """Hold a declaration against what the description says of the fields, as it is now."""
    listed = description.fields(prepared.operation)
    known = listed.by_path
    shape, words = prepared.shape, null_words(predicate)
    for place, path in zip(prepared.places, shape.columns, strict=True):
        field = known.get(path.steps if path.whole else (*shape.rows.steps, *path.steps))
        if field is None:
            continue
        column = predicate.columns[place]
        of = f"field `{path_text(field.path)}` of `{prepared.operation.name}`"
        if column.kind in _NEVER.get(field.kind, ()):
            kind = _KINDS[field.kind].value
            said = (
                f"{of} is of type {field.kind}, and `{column.name}` is declared {column.type_name}"
            )
            yield _doubt(predicate, said, f"write `{column.name}: {kind}`", Severity.WARNING)
        elif column.kind in _PERHAPS.get(field.kind, ()):
            kind = _KINDS.get(field.kind, Kind.SYMBOL).value
            said = f"{of} is of type {field.kind}: a value that is no {column.type_name}, as "
            said += f"`{column.name}` is declared, leaves its row open"
            hint = f"if there are such values, write `{column.name}: {kind}`"
            yield _doubt(predicate, said, hint, Severity.NOTE)
        rows = () if path.whole else shape.rows.steps
        if listed.may_lack(field, rows) and words[place] == "error":
            said = f"{of} may be missing, and its declaration does not say what that means"
            hint = f"write `@[null = maybe] {column.name}: {column.type_name}`"
            yield _doubt(predicate, said, hint, Severity.NOTE)


def _doubt(predicate: Predicate, said: str, hint: str, severity: Severity) -> Diagnostic:
    span = predicate.source.span if predicate.source else predicate.span
    text = f"`{predicate.name}`: {said}"
    return Diagnostic("C0854", text, span, severity=severity, help=hint)


def _mistake(predicate: Predicate, code: str, message: str, hint: str) -> ConstatError:
    span = predicate.source.span if predicate.source else predicate.span
    return ConstatError([Diagnostic(code, f"`{predicate.name}`: {message}", span, help=hint)])


def _fixed(text: str, kind: str) -> object:
    """Read the text of a parameter that is always the same; raises `ValueError`."""
    if kind == NUMBER:
        return int(text)
    if kind == DECIMAL:
        return float(text)
    if kind == TRUTH and text not in {"true", "false"}:
        raise ValueError(f"{text[:40]} is neither true nor false")
    return text == "true" if kind == TRUTH else text


def _sent(value: Value, kind: Kind) -> object:
    """Give a value as a request has it: numbers as such in a body, everything else as text."""
    if kind in {Kind.NUMBER, Kind.UNSIGNED}:
        return value
    if kind is Kind.BOOL:
        return value == "true"
    return display_value(value, kind)


def joined(answers: list[TierAnswer]) -> TierAnswer:
    """Make one answer of those of several questions."""
    openings = dict.fromkeys(one for answer in answers for one in answer.openings)
    return TierAnswer(
        tuple(portion for answer in answers for portion in answer.portions),
        tuple(openings),
        frozenset().union(*(answer.complete for answer in answers)),
        {key: reason for answer in answers for key, reason in answer.failures.items()},
        tuple(evidence for answer in answers for evidence in answer.authorities),
        {key: remark for answer in answers for key, remark in answer.remarks.items()},
    )
