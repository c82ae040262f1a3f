"""What of a history belongs into a context: the rules of memory, run over its rows.

In: the rules, and the rows of ``coding``.  Out: the class of each claim, and how near its text is.
Invariants: everything that decides stands in ``rules/memory``, where people can read and replace
it; the whole is computed anew each time, so nothing depends on when it was computed before.

Example: ``decide(load_rules(), rows).pinned`` are the claims that are always in sight.
"""

from __future__ import annotations

import hashlib
import importlib
import shutil
from collections import defaultdict
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
from constat.store.scratch import Scratch
from constat.syntax import exit_code

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Row

_WANTED: Final = (
    "pinned",
    "of_class",
    "current",
    "nearest",
    "refused",
    "contradiction",
    "mended",
    "worked_later",
)
FAR: Final = 9
LAST: Final = 8
_MOST_ONE_BY_ONE: Final = 600
_SECONDS: Final = 120.0


@dataclass(frozen=True, slots=True)
class MemoryRules:
    """The rules, analysed; ``digest`` names their text."""

    program: AnalysedProgram = field(repr=False)
    digest: str


@dataclass(frozen=True, slots=True)
class Decided:
    """What the rules say: sets of names of claims, and steps by the names of texts.

    ``mended`` names the answers that put errors right, ``worked`` those to other calls of the tool.
    """

    pinned: frozenset[str]
    current: frozenset[str]
    refused: frozenset[str]
    classes: Mapping[str, int] = field(hash=False)
    hops: Mapping[str, int] = field(hash=False)
    contradictions: tuple[tuple[str, str], ...] = ()
    mended: Mapping[str, str] = field(default_factory=dict, hash=False)
    worked: Mapping[str, str] = field(default_factory=dict, hash=False)

    def level(self, claim: str) -> int:
        """Return the class of a claim: 1 is pinned, 8 is what nobody asked for, 0 is left out."""
        if claim in self.pinned:
            return 1
        if claim not in self.current:
            return 0
        return self.classes.get(claim, LAST)

    def put_right(self, error: str, tool: str) -> str:
        """Say whether an error of a tool was put right; another call proves nothing about it."""
        if error in self.mended:
            return f"put right in @{self.mended[error]}"
        later = self.worked.get(error, "")
        return f"not put right; {tool} did well in @{later}" if later else "not put right"


def rules_folder(package: Path = Path(__file__).parent) -> Path:
    """Return where the rules lie: in an installed package, or in ``rules/memory`` of a checkout.

    Raises ``ConstatError`` C0805 where they are in neither.
    """
    for folder in (package / "rules", package.parents[1] / "rules" / "memory"):
        if (folder / "view.dl").is_file():
            return folder
    message = "the rules of memory are missing"
    told = Diagnostic("C0805", message, help="install Constat again; `rules/memory` has them")
    raise ConstatError([told])


def load_rules(own: Path | None = None) -> MemoryRules:
    """Load the rules; files in ``own`` take the place of those of the same name, or are added.

    Raises ``ConstatError`` with every mistake in them, and where a predicate is missing.
    """
    with Scratch() as place:
        folder = place.path
        for source in (rules_folder(), *([] if own is None else [own])):
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
    return _in_bulk(rules, rows) if found is None else found


class _Gathered:
    """What was found so far; each name is the text that the rows have, and no copy of it."""

    def __init__(self, rows: Mapping[str, Sequence[Row]]) -> None:
        known = [*rows.get("stated", ()), *rows.get("spoken", ())]
        self._known = {name: name for name, *_ in known}
        self._sets: dict[str, set[str]] = defaultdict(set)
        self._classes: dict[str, int] = {}
        self._hops: dict[str, int] = {}
        self._pairs: dict[str, list[tuple[str, str]]] = defaultdict(list)

    def take(self, predicate: str, rows: Iterable[Row]) -> None:
        """Take rows of a predicate over."""
        match predicate:
            case "of_class":
                for claim, level in rows:
                    name, number = self._name(claim), int(str(level))
                    self._classes[name] = min(number, self._classes.get(name, number))
            case "nearest":
                self._hops.update((self._name(text), int(str(hops))) for text, hops in rows)
            case "contradiction" | "mended" | "worked_later":
                self._pairs[predicate] += [(self._name(one), self._name(two)) for one, two in rows]
            case _:
                self._sets[predicate].update(self._name(name) for (name,) in rows)

    def decided(self) -> Decided:
        """Give all of it, in an order that does not depend on that of the rows."""
        return Decided(
            pinned=frozenset(self._sets["pinned"]),
            current=frozenset(self._sets["current"]),
            refused=frozenset(self._sets["refused"]),
            classes=self._classes,
            hops=self._hops,
            contradictions=tuple(sorted(self._pairs["contradiction"])),
            mended=dict(sorted(self._pairs["mended"])),
            worked=dict(sorted(self._pairs["worked_later"])),
        )

    def _name(self, value: object) -> str:
        name = str(value)
        return str(self._known.get(name, name))


def _in_bulk(rules: MemoryRules, rows: Mapping[str, Sequence[Row]]) -> Decided:
    # Evaluating in bulk loads a database engine, which a short session does not need.
    forward = importlib.import_module("constat.forward")
    wanted = [_free(rules, name) for name in _WANTED]
    inputs = {name: forward.Rows(rows.get(name, ())) for name in rules.program.external}
    # Relations of some ten thousand rows: a second thread takes more memory and no less time.
    options = forward.Options(resources=Resources(seconds=_SECONDS, threads=1))
    found = _Gathered(rows)
    try:
        with forward.evaluate(rules.program, wanted, inputs, options) as results:
            for place, name in enumerate(_WANTED):
                for batch in results.batches(place):
                    found.take(name, batch)
    except ResourceError as problem:
        message = f"the rules of memory came to no end: {problem}"
        raise ConstatError([Diagnostic("C0809", message)]) from problem
    return found.decided()


def _one_by_one(rules: MemoryRules, rows: Mapping[str, Sequence[Row]]) -> Decided | None:
    """Ask goal by goal; `None` where that was stopped by a limit."""
    engine = LazyEngine()
    given = {name: SaidRows(rows.get(name, ())) for name in rules.program.external}
    found = _Gathered(rows)
    for name in _WANTED:
        goal = _free(rules, name)
        outcome = engine.evaluate(rules.program, goal, given, Limits(), exhaust=True)
        if outcome.stopped not in {"", "settled"}:
            return None
        # Everything is known, so no row has a placeholder.
        certain: list[Row] = [row for row in outcome.rows(name, CERTAIN) if OPEN not in row]  # type: ignore[misc]
        found.take(name, certain)
    return found.decided()


def _free(rules: MemoryRules, name: str) -> Atom:
    arity = rules.program.program.predicates[name].arity
    return Atom(name, tuple(Variable(f"?v{place}") for place in range(arity)))
