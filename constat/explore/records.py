"""What is written down of a finished step, beside its tables.

In: a step that has run, with what its relations rest on. Out: JSON in the artifact `step`, kept in
the same transaction as the tables, and the relations again. Invariant: a step counts as finished if
and only if its record is there, so a crash loses no finished step and finds no half one. The key
names the work and everything that was read: a record with the same key is the result of the same
work. Example: `find(store, key)` is `None` where the step has to run.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import Assumption, Verdict
from constat.explore.relations import EveryRow, Relation, Settlement
from constat.logic import Kind
from constat.store.tables_rows import table_rows
from constat.store.tables_values import NewArtifact

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.explore.plan import Output
    from constat.logic import Row
    from constat.store.tables import DataStore
    from constat.store.tables_values import Artifact, StepResult, StoredTable

FORMAT: Final = 1
ARTIFACT: Final = "step"
_MEDIA: Final = "application/json"


@dataclass(frozen=True, slots=True)
class StepRecord:
    """A finished step: its key, how it was done, and its relations by name.

    `states` are those of the project's relations that it read, as far as they have names; `level`
    is the sandbox's, for code. `attempts` counts the tries. `read` names the rows that a SELECT or
    code was given, unless they were many.
    """

    key: str
    step: int
    name: str
    seconds: float
    attempts: int
    level: str = ""
    states: tuple[tuple[str, str], ...] = ()
    relations: Mapping[str, Relation] = field(default_factory=dict, hash=False)
    read: Mapping[str, str] = field(default_factory=dict, hash=False)


def step_key(told: object) -> str:
    """Name a piece of work by everything that it depends on."""
    text = json.dumps([FORMAT, told], sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def record_artifact(record: StepRecord, hashes: Mapping[str, str]) -> NewArtifact:
    """Write a record; `hashes` are those of its tables."""
    told = {
        "format": FORMAT,
        "key": record.key,
        "name": record.name,
        "seconds": record.seconds,
        "attempts": record.attempts,
        "level": record.level,
        "states": [list(one) for one in record.states],
        "read": dict(record.read),
        "relations": {
            name: {"sha256": hashes[name], **_relation_json(one)}
            for name, one in record.relations.items()
        },
    }
    content = json.dumps(told, ensure_ascii=True, separators=(",", ":")).encode()
    return NewArtifact("text", ARTIFACT, content, _MEDIA, record.attempts)


class Records:
    """The finished steps of an exploration, read once and added to."""

    def __init__(self, store: DataStore) -> None:
        self._store = store
        self._artifacts: dict[str, tuple[Artifact, dict[str, Any]]] = {}
        for artifact in store.artifacts(kind="text"):
            if artifact.name == ARTIFACT:
                told = _told(store.content(artifact))
                self._artifacts[str(told["key"])] = (artifact, told)

    def has(self, step: int) -> bool:
        """Whether a step has been finished before, in whatever form."""
        return any(artifact.step == step for artifact, _ in self._artifacts.values())

    def find(self, key: str, outputs: Iterable[Output]) -> StepRecord | None:
        """Give the finished step of a key, with its relations read again."""
        found = self._artifacts.get(key)
        if found is None:
            return None
        artifact, told = found
        by_name = {one.name: one for one in outputs}
        try:
            relations = {
                name: self._relation(by_name[name], about)
                for name, about in told["relations"].items()
            }
            return StepRecord(
                *(key, artifact.step, str(told["name"]), float(told["seconds"])),
                *(int(told["attempts"]), str(told["level"])),
                tuple((str(name), str(state)) for name, state in told["states"]),
                relations,
                {str(name): str(rows) for name, rows in told.get("read", {}).items()},
            )
        except (KeyError, ValueError, TypeError, AttributeError) as problem:
            raise _damaged(problem) from None

    def _relation(self, output: Output, about: dict[str, Any]) -> Relation:
        sha256 = str(about["sha256"])
        kept = self._store.tables(history=True)
        # Equal tables have equal hashes: whichever version it is, its rows are these.
        versions = [one.version for one in kept if (one.name, one.sha256) == (output.name, sha256)]
        if not versions:
            raise ValueError(f"its table `{output.name}` is not there")
        table = self._store.table(output.name, version=versions[-1])
        kinds = tuple(map(Kind, table.kinds))
        rows = table_rows(table)
        return Relation(
            output,
            kinds,
            rows,
            Settlement(about["settlement"]),
            tuple(map(_assumption, about["assumptions"])),
            tuple(map(str, about["reasons"])),
            int(about["unresolved"]),
            _weak(about["weak"], rows),
            _order(about["order"], len(rows)),
        )

    def keep(self, record: StepRecord, result: StepResult) -> tuple[StoredTable, ...]:
        """Keep what a step left together with its record; gives the tables as they are kept."""
        tables = {name: one.table() for name, one in record.relations.items()}
        artifact = record_artifact(record, {name: one.sha256 for name, one in tables.items()})
        whole = replace(
            result,
            tables={**result.tables, **tables},
            artifacts=(*result.artifacts, artifact),
        )
        kept = self._store.commit(whole)
        self._artifacts[record.key] = (kept.artifacts[-1], _told(artifact.content))
        return tuple(one for one in kept.tables if one.name in record.relations)


def _relation_json(relation: Relation) -> dict[str, object]:
    return {
        "settlement": relation.settlement.value,
        "assumptions": [_assumption_json(one) for one in relation.assumptions],
        "reasons": list(relation.reasons),
        "unresolved": relation.unresolved,
        "weak": _weak_json(relation),
        "order": list(relation.order),
    }


def _weak_json(relation: Relation) -> object:
    """Write which rows are not certain: one verdict for all of them, or one for each place."""
    weak = relation.weak
    if isinstance(weak, EveryRow):
        return weak.verdict.value
    places = {row: place for place, row in enumerate(relation.rows)} if weak else {}
    return [[places[row], one.value] for row, one in weak.items()]


def _weak(told: object, rows: Sequence[Row]) -> Mapping[Row, Verdict]:
    if isinstance(told, str):
        return EveryRow(rows, Verdict(told))
    if not isinstance(told, list):
        raise TypeError
    return {rows[place]: Verdict(verdict) for place, verdict in told}


def _order(places: list[int], count: int) -> tuple[int, ...]:
    if places and sorted(places) != list(range(count)):
        raise ValueError("the order of its rows does not fit them")
    return tuple(places)


def _assumption_json(one: Assumption) -> dict[str, object]:
    return {
        "kind": one.kind,
        "subject": one.subject,
        "text": one.text,
        "confidence": str(one.confidence),
        "parts": [_assumption_json(part) for part in one.parts],
    }


def _assumption(told: dict[str, Any]) -> Assumption:
    return Assumption(
        str(told["kind"]),
        str(told["subject"]),
        str(told["text"]),
        Decimal(str(told["confidence"])),
        tuple(map(_assumption, told["parts"])),
    )


def _told(content: bytes) -> dict[str, Any]:
    try:
        found = json.loads(content)
        if found["format"] != FORMAT:
            raise _damaged(ValueError("it was written by another version of Constat"))
    except (ValueError, TypeError, KeyError, RecursionError) as problem:
        raise _damaged(problem) from None
    return dict(found)


def _damaged(problem: Exception) -> ConstatError:
    reason = str(problem) if type(problem) is ValueError else type(problem).__name__
    message = f"the record of a step cannot be read: {reason}"
    hint = "begin a new exploration; the tables of this one are still there"
    return ConstatError([Diagnostic("C0900", message, help=hint)])
