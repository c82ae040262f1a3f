"""Check folders: of an answer in bulk, and of a goal about everybody.

In: a folder. Out: the exit code, what is said of it as JSON, and the lines for people.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.diagnostics import counted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from constat.check.population import Population
    from constat.recount import Answered

REJECTED: Final = 1
POPULATION: Final = "population.json"
ANSWER: Final = "answer.json"
_LONGEST: Final = 3600.0
_UNRESOLVED: Final = 4
_WHEN: Final = "note: the time is what the writer says; a signature over the index holds it"

_Checked = tuple[int, dict[str, object], list[str]]


def checked_folder(folder: Path, pin: str | None = None) -> _Checked:
    """Check a folder: the exit code, what is said of it as JSON, and the lines for people."""
    return (_population if (folder / POPULATION).exists() else _bulk)(folder, pin)


def _rejected(why: object) -> _Checked:
    told: dict[str, object] = {"state": "rejected", "why": str(why), "exit_code": REJECTED}
    return REJECTED, told, [f"REJECTED: {why}"]


def _bulk(folder: Path, pin: str | None) -> _Checked:
    """Count the answer of a folder again."""
    from constat.recount import Bounds, FolderError, check_folder  # noqa: PLC0415  loaded when it is used
    from constat.sql.connection import usual_memory  # noqa: PLC0415  loaded when it is used

    try:
        answered = check_folder(folder, Bounds(_LONGEST, usual_memory() // 2), pin)
    except FolderError as problem:
        return _rejected(problem)
    code = 0 if answered.found.passed else REJECTED if answered.found.differs else _UNRESOLVED
    return code, _bulk_json(answered, code), list(_bulk_lines(answered))


def _population(folder: Path, pin: str | None) -> _Checked:
    """Check a folder about everybody."""
    from constat.check.population import PopulationError, check_population  # noqa: PLC0415  loaded when it is used

    try:
        found = check_population(folder, pin)
    except PopulationError as problem:
        return _rejected(problem)
    code = {"SETTLED": 0, "SETTLED_UNDER": 3}.get(found.whole, _UNRESOLVED)
    sampled = sum(one.sampled for one in found.proofs)
    told: dict[str, object] = {
        "state": "passed",
        "why": "",
        "goal": found.goal,
        "counts": found.counts,
        "status": found.whole,
        "among": found.among,
        "created": found.created,
        "sample": {"seed": found.seed, "size": found.size, "rows": sampled},
        "certificates": found.certificates + len(found.proofs),
        "rules": found.rules,
        "index": found.index,
        "exit_code": code,
    }
    return code, told, list(_population_lines(found, sampled))


def _population_lines(found: Population, sampled: int) -> Iterator[str]:
    from constat.check.population import VERDICTS  # noqa: PLC0415  loaded when it is used

    yield f"ACCEPTED: {found.goal}, {counted(sum(found.counts.values()), 'row')}"
    for verdict in VERDICTS:
        count = found.counts[verdict]
        if count:
            yield f"  {count:,} {verdict.replace('_', ' ')}"
    yield f"index: {found.index}, written at {found.created}"
    yield f"rules: {found.rules}"
    count = found.certificates + len(found.proofs)
    yield f"certificates: {count}, of which {sampled} of a sample by its seed"
    words = {"SETTLED": "there are no other members", "OPEN": "there may be other members"}
    whole = words.get(found.whole, "under assumptions there are no other members")
    proves = "the certificate proves" if found.certificates == 1 else "the certificates prove"
    yield f"note: that {whole} is what the writer says; {proves} the members"
    yield "note: leaves were not re-read: the rows of the sources are taken as they stand"
    yield _WHEN


def _bulk_lines(answered: Answered) -> Iterator[str]:
    found, rows = answered.found, counted(answered.answer.rows, "row")
    if found.passed:
        yield f"PROVED: {rows} of {answered.goal}, and there is no other"
    elif found.differs:
        yield f"REJECTED: {found.why} in the answer of {answered.goal}"
    else:
        yield f"COMPUTED, not checked: {rows} of {answered.goal} ({found.why})"
    yield f"answer: {answered.sha256}, computed at {answered.created}"
    yield f"rules: {answered.rules}"
    for one in answered.inputs:
        yield f"input: {one.predicate}, {counted(one.rows, 'row')}, {one.sha256}"
    yield "note: inputs were not read again: their rows are taken as they stand"
    yield _WHEN


def _bulk_json(answered: Answered, code: int) -> dict[str, object]:
    found = answered.found
    return {
        "state": found.state.value,
        "why": found.why,
        "goal": answered.goal,
        "rows": answered.answer.rows,
        "extra": found.extra,
        "missing": found.missing,
        "created": answered.created,
        "answer": answered.sha256,
        "rules": answered.rules,
        "inputs": [
            {"predicate": one.predicate, "rows": one.rows, "sha256": one.sha256}
            for one in answered.inputs
        ],
        "exit_code": code,
    }
