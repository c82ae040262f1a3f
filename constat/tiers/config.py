"""The tier of facts that the project's configuration states.

In: the texts under `facts:`, typed by the declarations. Out: rows of origin CONFIG. Invariants: a
single value closes its predicate, and so does a predicate that names `config` as its source; a
value from an environment variable is recorded as `env:NAME`; where the variable is missing the fact
is unknown, and the reason names it. Example: `facts: {vip_threshold: 150000}` is the only row.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from constat.diagnostics import Diagnostic
from constat.evaluation import Answer, Demand, Evidence, Opening, Origin, Portion
from constat.frozen import frozen
from constat.logic import OPEN, RECORD, read_as
from constat.logic.structures import construct
from constat.project import suggestion
from constat.project.settings import joined_cells
from constat.store.clock import now
from constat.tiers.tier import (
    TierAnswer,
    content_hash,
    failed,
    matched_keys,
    rows_as_read,
    rows_for,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.evaluation import ExternalPredicate
    from constat.logic import Column, Constant, OpenRow, Predicate, Row, Rule, Slot, Value
    from constat.project import Cell, FactRow, FactTable, Project

CONFIG: Final = "config"


@frozen
class Configured:
    """The typed facts of a predicate: rows by where they come from, and rows with holes."""

    rows: Mapping[str, tuple[Row, ...]]
    unset: tuple[tuple[OpenRow, str], ...]
    closed: bool
    key: str


def config_key(predicate: Predicate) -> str:
    """Give the key under `facts:` that holds a predicate's facts."""
    source = predicate.source
    if source is not None and source.name == CONFIG:
        return source.parameters.get("key", predicate.name)
    return predicate.name


def typed_facts(
    predicate: Predicate, table: FactTable, config_name: str, diagnostics: list[Diagnostic]
) -> Configured:
    """Read the texts of a fact table as the predicate's columns declare."""
    rows: dict[str, dict[Row, None]] = {}
    unset: list[tuple[OpenRow, str]] = []
    for fact in table.rows:
        cells = _ordered(predicate, fact, diagnostics)
        if cells is None:
            continue
        row = tuple(_value(predicate, place, cell, diagnostics) for place, cell in enumerate(cells))
        missing = [name for cell in cells for name in cell.missing]
        if missing:
            names = ", ".join(dict.fromkeys(missing))
            unset.append((row, f"the environment variable {names} is not set"))
            continue
        used = dict.fromkeys(name for cell in cells for name in cell.variables)
        source = f"env:{','.join(used)}" if used else config_name
        rows.setdefault(source, {})[tuple(slot for slot in row if slot is not OPEN)] = None
    own = predicate.source is not None and predicate.source.name == CONFIG
    distinct = {source: tuple(found) for source, found in rows.items()}
    return Configured(distinct, tuple(unset), own or table.form == "scalar", table.name)


def _ordered(
    predicate: Predicate, fact: FactRow, diagnostics: list[Diagnostic]
) -> tuple[Cell, ...] | None:
    """Give the cells in the order of the columns."""
    names = [column.name for column in predicate.columns]
    if fact.columns is None:
        if len(fact.cells) == predicate.arity:
            return fact.cells
        if _is_record(predicate, len(fact.cells)):
            return (joined_cells(fact.cells, fact.span),)
        message = f"{len(fact.cells)} values where `{predicate.name}` has {predicate.arity} columns"
        note = f"the columns are {', '.join(names)}"
        diagnostics.append(Diagnostic("C0507", message, fact.span, note=note))
        return None
    by_name = dict(zip(fact.columns, fact.cells, strict=True))
    for name in by_name:
        if name not in names:
            message = f"`{predicate.name}` has no column of that name"
            hint = suggestion(name, names)
            diagnostics.append(Diagnostic("C0507", message, fact.span, help=hint))
            return None
    absent = [name for name in names if name not in by_name]
    if absent:
        message = f"no value for column {', '.join(absent)} of `{predicate.name}`"
        diagnostics.append(Diagnostic("C0507", message, fact.span))
        return None
    return tuple(by_name[name] for name in names)


def _is_record(predicate: Predicate, fields: int) -> bool:
    """Tell whether a list of so many values is the one record of a row."""
    if predicate.arity != 1 or predicate.columns[0].structures is None:
        return False
    (column,) = predicate.columns
    branch = predicate.columns[0].structures.branch(column.type_name, RECORD)
    return branch is not None and len(branch.fields) == fields


def _value(predicate: Predicate, place: int, cell: Cell, diagnostics: list[Diagnostic]) -> Slot:
    if cell.text is None:
        return OPEN
    column = predicate.columns[place]
    try:
        return _read(cell, column)
    except ValueError as reason:
        message = f"a fact of `{predicate.name}`: column {column.name} {reason}"
        note = f"the column is declared {column.type_name}"
        diagnostics.append(Diagnostic("C0507", message, cell.span, note=note))
        return OPEN


def _read(cell: Cell, column: Column) -> Value:
    """Read a text, or a list as the record of its parts; raises `ValueError`."""
    if cell.parts is None:
        return read_as(cell.text or "", column)
    structures = column.structures
    branch = structures.branch(column.type_name, RECORD) if structures is not None else None
    if branch is None:
        raise ValueError(f"is a list, and no value of {column.type_name} is one")
    if len(cell.parts) != len(branch.fields):
        raise ValueError(f"has {len(cell.parts)} values for {len(branch.fields)} fields")
    pairs = zip(cell.parts, branch.fields, strict=True)
    values = [_part(part, replace(field, structures=structures)) for part, field in pairs]
    return construct(RECORD, tuple(field.kind for field in branch.fields))(*values)


def _part(cell: Cell, column: Column) -> Value:
    try:
        return _read(cell, column)
    except ValueError as problem:
        raise ValueError(f"has a field {column.name} that {problem}") from None


class ConfigTier:
    """Answers from the configuration; costs nothing."""

    name = CONFIG
    cost = 1

    def __init__(self, project: Project, configured: Mapping[str, Configured]) -> None:
        self._config_name = project.config_name
        self._set_by = project.set_by
        self._configured = configured

    def configured(self, predicate: Predicate) -> bool:
        """Whether the configuration has facts of the predicate, or should have."""
        named = predicate.source is not None and predicate.source.name == CONFIG
        return named or predicate.name in self._configured

    def answer(self, demand: Demand) -> TierAnswer:
        """Give the configured rows."""
        predicate = demand.predicate
        found = self._configured.get(predicate.name)
        if found is None:
            return failed(demand, f"{self._config_name} has no `facts: {config_key(predicate)}`")
        portions = []
        authorities = []
        told, unset = found.rows, found.unset
        if predicate.unread:
            told, unset = _as_read(found, predicate, self._config_name)
        for source, rows in (told or {self._config_name: ()}).items():
            author = self._set_by.get(found.key)
            evidence = _evidence(source, rows, found.key, predicate, author)
            authorities.append(evidence)
            wanted = rows_for(rows, demand.columns, demand.keys, demand.clock)
            if wanted:
                portions.append(Portion(wanted, evidence))
        failures: dict[Row, str] = {}
        openings = []
        for row, reason in unset:
            keys = matched_keys(row, demand.columns, demand.keys)
            failures.update(dict.fromkeys(keys, reason))
            if keys:
                openings.append(Opening(row, reason, CONFIG))
        complete = frozenset(demand.keys) - failures.keys() if found.closed else frozenset()
        return TierAnswer(tuple(portions), tuple(openings), complete, failures, tuple(authorities))


def _as_read(
    found: Configured, predicate: Predicate, config_name: str
) -> tuple[Mapping[str, tuple[Row, ...]], tuple[tuple[OpenRow, str], ...]]:
    """Give facts without the columns that nobody reads: a hole there is none (semantics 50)."""
    told = {source: rows_as_read(rows, predicate) for source, rows in found.rows.items()}
    unset: list[tuple[OpenRow, str]] = []
    for row, reason in found.unset:
        (shown,) = rows_as_read([cast("Row", row)], predicate)
        if OPEN in shown:
            unset.append((shown, reason))
        elif shown not in told.get(config_name, ()):
            told[config_name] = (*told.get(config_name, ()), shown)
    return told, tuple(unset)


def _evidence(
    source: str, rows: tuple[Row, ...], key: str, predicate: Predicate, author: str | None
) -> Evidence:
    return Evidence(
        tier=CONFIG,
        origin=Origin.CONFIG,
        source=source,
        executed_at=now(),
        query=f"facts.{key}",
        row_count=len(rows),
        content_hash=content_hash(rows, predicate.kinds),
        author=author,
    )


# Facts of a rule file are answered as configured ones are: one evidence for each file, with the
# number and hash of all its facts; always complete, so a pattern without a row has none.

_RULES: Final = "rules"


class RuleFacts:
    """The facts of one predicate; each list of columns is indexed once."""

    cost = 1

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._files: dict[str, dict[Row, None]] = {}
        for rule in rules:
            file = _RULES if rule.span is None else rule.span.source
            row = tuple(cast("Constant", term).value for term in rule.head.terms)
            self._files.setdefault(file, {})[row] = None
        self._read: dict[tuple[int, ...], dict[str, tuple[Evidence, tuple[Row, ...]]]] = {}
        self._indexes: dict[tuple[tuple[int, ...], tuple[int, ...], str], dict[Row, list[Row]]] = {}

    def answer(self, demand: Demand) -> Answer:
        """Give the facts that have one of the keys."""
        portions, authorities = [], []
        for file, (evidence, rows) in self._as_read(demand.predicate).items():
            authorities.append(evidence)
            if demand.columns:
                index = self._index(demand.predicate.unread, demand.columns, file, rows)
                found = tuple(row for key in demand.keys for row in index.get(key, ()))
            else:
                found = rows
            if found:
                portions.append(Portion(found, evidence))
        return Answer(tuple(portions), (), frozenset(demand.keys), tuple(authorities))

    def _as_read(self, predicate: Predicate) -> dict[str, tuple[Evidence, tuple[Row, ...]]]:
        unread = tuple(predicate.unread)
        if unread not in self._read:
            self._read[unread] = {
                file: (_evidence_of_file(file, shown, predicate), shown)
                for file, rows in self._files.items()
                for shown in [rows_as_read(rows, predicate)]
            }
        return self._read[unread]

    def _index(
        self, unread: Sequence[int], columns: tuple[int, ...], file: str, rows: tuple[Row, ...]
    ) -> dict[Row, list[Row]]:
        place = (tuple(unread), columns, file)
        if place not in self._indexes:
            found: dict[Row, list[Row]] = {}
            for row in rows:
                found.setdefault(tuple(row[column] for column in columns), []).append(row)
            self._indexes[place] = found
        return self._indexes[place]


def rule_facts(apart: Mapping[str, Sequence[Rule]]) -> dict[str, ExternalPredicate]:
    """Give the external predicates of facts, by the names of their predicates."""
    return {name: RuleFacts(rules) for name, rules in apart.items()}


def _evidence_of_file(file: str, rows: tuple[Row, ...], predicate: Predicate) -> Evidence:
    return Evidence(
        tier=_RULES,
        origin=Origin.CONFIG,
        source=file,
        executed_at=now(),
        row_count=len(rows),
        content_hash=content_hash(rows, predicate.kinds),
    )
