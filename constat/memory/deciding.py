"""What of a history belongs into a context: the rules of memory, run over its rows.

In: the rules, and the rows of ``coding``.  Out: the class of each claim, and how near its text is.
Invariants: everything that decides stands in ``rules/*.dl``, where people can read it and replace
it; the whole is computed anew each time, so nothing depends on when it was computed before.

Example: ``decide(load_rules(), rows).pinned`` are the claims that are always in sight.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.engine import LazyEngine
from constat.evaluation import CERTAIN, Limits, ResourceError, Resources
from constat.library import rule_files
from constat.library.loading import read_rules
from constat.logic import OPEN, Atom, Variable
from constat.memory.answering import SaidRows
from constat.syntax import exit_code

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Row

FOLDER: Final = Path(__file__).with_name("rules")
_WANTED: Final = (
    "pinned",
    "of_class",
    "current",
    "nearest",
    "refused",
    "contradiction",
    "mended",
)
FAR: Final = 9
LAST: Final = 7
_MOST_ONE_BY_ONE: Final = 600
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """The rules, analysed; ``digest`` names their text."""

    program: AnalysedProgram = field(repr=False)
    digest: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What the rules say: sets of names of claims, and steps by the names of texts."""

    pinned: frozenset[str]
    current: frozenset[str]
    refused: frozenset[str]
    classes: Mapping[str, int] = field(hash=False)
    hops: Mapping[str, int] = field(hash=False)
    contradictions: tuple[tuple[str, str], ...] = ()
    mended: Mapping[str, str] = field(default_factory=dict, hash=False)

    def level(self, claim: str) -> int:
        """Return the class of a claim: 1 is pinned, 7 is what nobody asked for, 0 is left out."""
        if claim in self.pinned:
            return 1
        if claim not in self.current:
            return 0
        return self.classes.get(claim, LAST)


def load_rules(own: Path | None = None) -> MemoryRules:
    """Load the rules; files in ``own`` take the place of those of the same name, or are added.

    Raises ``ConstatError`` with every mistake in them, and where a predicate is missing.
    """
    with tempfile.TemporaryDirectory(prefix="constat-rules-") as place:
        folder = Path(place)
        for source in (FOLDER, *([] if own is None else [own])):
            for path in sorted(source.glob("*.dl")):
                shutil.copyfile(path, folder / path.name)
        diagnostics: list[Diagnostic] = []
        texts: dict[str, str] = {}
        files = rule_files([folder], diagnostics)
        program = read_rules(files, [folder], diagnostics, texts)
    if program is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    missing = [name for name in _WANTED if name not in program.program.predicates]
    if missing:
        message = f"the rules of memory declare no `{missing[0]}`"
        raise ConstatError([Diagnostic("C0805", message)])
    joined = "\0".join(f"{name}\0{text}" for name, text in sorted(texts.items()))
    return MemoryRules(program, hashlib.sha256(joined.encode()).hexdigest())


def decide(
    rules: MemoryRules, rows: Mapping[str, Sequence[Row]], *, bulk: bool | None = None
) -> Decided:
    """Run the rules over rows; a predicate without rows is empty.

    ``bulk`` says whether whole relations are computed, which pays for many rows; the result is the
    same. ``None`` leaves that to their number.
    """
    if bulk is None:
        bulk = sum(map(len, rows.values())) > _MOST_ONE_BY_ONE
    found = None if bulk else _one_by_one(rules, rows)
    if found is None:
        found = _in_bulk(rules, rows)
    return Decided(
        pinned=_names(found["pinned"]),
        current=_names(found["current"]),
        refused=_names(found["refused"]),
        classes=_least(found["of_class"]),
        hops={str(text): int(str(hops)) for text, hops in found["nearest"]},
        contradictions=tuple(sorted((str(one), str(two)) for one, two in found["contradiction"])),
        mended={str(one): str(two) for one, two in sorted(found["mended"], key=str)},
    )


def _in_bulk(rules: MemoryRules, rows: Mapping[str, Sequence[Row]]) -> dict[str, list[Row]]:
    # Evaluating in bulk loads a database engine, which a short session does not need.
    forward = importlib.import_module("constat.forward")
    wanted = [_free(rules, name) for name in _WANTED]
    inputs = {name: forward.Rows(rows.get(name, ())) for name in rules.program.external}
    options = forward.Options(resources=Resources(seconds=_SECONDS))
    try:
        with forward.evaluate(rules.program, wanted, inputs, options) as results:
            return {
                name: [row for batch in results.batches(place) for row in batch]
                for place, name in enumerate(_WANTED)
            }
    except ResourceError as problem:
        message = f"the rules of memory came to no end: {problem}"
        raise ConstatError([Diagnostic("C0809", message)]) from problem


def _one_by_one(
    rules: MemoryRules, rows: Mapping[str, Sequence[Row]]
) -> dict[str, list[Row]] | None:
    """Ask goal by goal; `None` where that was stopped by a limit."""
    engine = LazyEngine()
    given = {name: SaidRows(rows.get(name, ())) for name in rules.program.external}
    found: dict[str, list[Row]] = {}
    for name in _WANTED:
        goal = _free(rules, name)
        outcome = engine.evaluate(rules.program, goal, given, Limits(), exhaust=True)
        if outcome.stopped not in {"", "settled"}:
            return None
        # Everything is known, so no row has a placeholder.
        found[name] = [row for row in outcome.rows(name, CERTAIN) if OPEN not in row]  # type: ignore[misc]
    return found


def _least(rows: Sequence[Row]) -> dict[str, int]:
    """Return the first class of each claim."""
    ordered = sorted(((str(claim), int(str(level))) for claim, level in rows), reverse=True)
    return dict(ordered)


def _names(rows: Sequence[Row]) -> frozenset[str]:
    return frozenset(str(name) for (name,) in rows)


def _free(rules: MemoryRules, name: str) -> Atom:
    arity = rules.program.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"?v{place}") for place in range(arity)))
