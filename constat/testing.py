"""Try a source of one's own: types, NULL, keys, limits, evidence, faults.

Its author says what the source holds; each promise of `constat.sources` is tried on it. Example, in
a test of one's own::

    def test_crm() -> None:
        trial = Trial(Crm, "tier(customer: symbol, tier: symbol)", rows=[("C001", "gold")])
        assert check_source(trial) == []
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.evaluation import Demand, Evidence
from constat.evaluation.clock import Clock, LimitReachedError
from constat.frozen import frozen
from constat.logic import Kind, NullCell, Open
from constat.sources import Cell, Request, Row, Source
from constat.syntax import parse_text
from constat.tiers.database import Fetched, RowReader
from constat.tiers.tier import TierAnswer, TierSettings, key_of

if TYPE_CHECKING:
    from constat.diagnostics import Diagnostic
    from constat.logic import OpenRow
    from constat.logic import Row as ReadRow

_SECONDS: Final = 5.0
_ABSENT: Final = "no such value"


@frozen
class Trial:
    """What a source holds, by its author's word.

    `make` makes it from settings; `declared` is the predicate as in a rule file, with or without
    `.decl`; `rows` are all of its rows, `None` for NULL. `broken` is a context in which the source
    cannot be reached; `many` makes one that gives at least 5,000 rows. `secrets` must not be shown.
    """

    make: Callable[[TierSettings], Source]
    declared: str
    rows: Sequence[Sequence[Cell]]
    broken: Callable[[], AbstractContextManager[object]] | None = None
    many: Callable[[TierSettings], Source] | None = None
    secrets: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict, hash=False)
    folder: Path = Path()


def check_source(trial: Trial) -> list[str]:
    """Try a source; give a sentence for each promise that it breaks. None: it keeps them."""
    conformance = _Conformance(trial)
    return [line for test in conformance.tests() for line in test()]


class _Conformance:
    def __init__(self, trial: Trial) -> None:
        self.trial = trial
        text = trial.declared.strip()
        diagnostics: list[Diagnostic] = []
        program = parse_text(
            text if text.startswith((".", "@")) else f".decl {text}", "trial", diagnostics
        )
        if diagnostics or len(program.predicates) != 1:
            raise ConstatError(diagnostics) if diagnostics else ValueError("declare one predicate")
        (self.predicate,) = program.predicates.values()
        self.settings = TierSettings(
            "trial", trial.folder, 100, (self.predicate.name,), trial.options
        )
        fetched = Fetched()
        RowReader(self.predicate, "the trial", "trial").take(
            [tuple(row) for row in trial.rows], fetched
        )
        if fetched.failure:
            raise ValueError(f"the rows of the trial do not fit the declaration: {fetched.failure}")
        self.rows = set(fetched.rows)
        self.openings = {one.row for one in fetched.openings}

    def tests(self) -> tuple[Callable[[], Iterator[str]], ...]:
        """All promises."""
        return (self.types, self.keys, self.again, self.limits, self.evidence, self.faults)

    def ask(self, columns: tuple[int, ...] = (), keys: tuple[ReadRow, ...] = ((),)) -> TierAnswer:
        demand = Demand(self.predicate, columns, keys, Clock().anew(_SECONDS * 10))
        return self.trial.make(self.settings).answer(demand)

    # ------------------------------------------------------------------ promises

    def types(self) -> Iterator[str]:
        """All rows come, and each cell is the value that its column holds."""
        answer = self.ask()
        if answer.failures:
            yield f"types: it fails where it should answer: {next(iter(answer.failures.values()))}"
            return
        yield from self.compare("types", answer, self.rows, self.openings)
        if self.source().authority and () not in answer.complete:
            yield "types: it is an authority and does not speak for all rows"

    def keys(self) -> Iterator[str]:
        """Asked for keys it gives their rows, all of them; a key that it lacks has none."""
        for place, column in enumerate(self.predicate.columns):
            values = sorted({row[place] for row in self.rows if _is_value(row[place])}, key=repr)
            if not values:
                continue
            absent = {_ABSENT} if column.kind is Kind.SYMBOL else set()
            keys = tuple((value,) for value in (*values[:1], *values[-1:], *absent))
            keys = tuple(dict.fromkeys(keys))
            answer = self.ask((place,), keys)
            told = f"keys: asked by `{column.name}`"
            if answer.failures:
                yield f"{told} it fails: {next(iter(answer.failures.values()))}"
                continue
            wanted = {row for row in self.rows if key_of(row, (place,)) in keys}
            wanted |= {row for row in self.rows if isinstance(row[place], NullCell)}
            got = {row for portion in answer.portions for row in portion.rows}
            missing = {row for row in wanted if _is_value(row[place])} - got
            if missing:
                yield f"{told} it leaves out {_shown(missing)}"
            if got - self.rows:
                yield f"{told} it gives {_shown(got - self.rows)}, which it should not hold"

    def again(self) -> Iterator[str]:
        """The same question has the same answer, from the same object and from another."""
        source = self.source()
        demand = Demand(self.predicate, (), ((),), Clock().anew(_SECONDS * 10))
        hashes = [
            tuple(one.evidence.content_hash for one in each.answer(demand).portions)
            for each in (source, source, self.source())
        ]
        if len(set(hashes)) > 1:
            yield "again: the same question has different answers"

    def limits(self) -> Iterator[str]:
        """It stops when nobody waits any longer, and a part is never taken for the whole."""
        make = self.trial.many
        if make is None:
            return
        looks = [0]

        def later() -> float:
            # The time is up at the third look: only who goes on looking notices.
            looks[0] += 1
            return 0.0 if looks[0] < 3 else 10.0  # noqa: PLR2004  the third

        source, ended = make(self.settings), threading.Event()
        counted, whole = source.rows, [False]

        def counting(request: Request) -> Iterator[Row]:
            given = counted(request)
            whole[0] = isinstance(given, Sized)
            yield from given

        source.rows = counting  # type: ignore[method-assign]  # to see how far it goes
        found: list[TierAnswer | BaseException] = []

        def run() -> None:
            demand = Demand(self.predicate, (), ((),), Clock(5.0, now=later))
            try:
                found.append(source.answer(demand))
            except LimitReachedError as problem:
                found.append(problem)
            finally:
                ended.set()

        threading.Thread(target=run, daemon=True).start()
        if not ended.wait(_SECONDS):
            yield f"limits: it goes on for more than {_SECONDS:.0f} seconds after the time is up"
        elif isinstance(found[0], TierAnswer) and found[0].complete:
            yield "limits: it takes a part for the whole"
        elif whole[0] or looks[0] < 3:  # noqa: PLR2004  the third, as above
            yield "limits: it makes all rows at once: yield them, and call request.check()"

    def evidence(self) -> Iterator[str]:
        """What is shown says how it was asked, and no secret."""
        for answer in (self.ask(), *self.broken_answers()):
            shown: list[str] = list(answer.failures.values())
            told: list[Evidence] = [one.evidence for one in answer.portions]
            for one in (*told, *answer.authorities):
                shown += [one.query or "", *one.parameters, one.snapshot or "", one.source]
                if not one.query:
                    yield "evidence: it does not say what it asks"
            if any(secret and secret in text for secret in self.trial.secrets for text in shown):
                yield "evidence: it shows a secret"
                return

    def faults(self) -> Iterator[str]:
        """A source that is not there makes facts unknown, never absent."""
        for answer in self.broken_answers():
            if answer.complete:
                yield "faults: it cannot be reached, and says that there are no rows"
            elif () not in answer.failures:
                yield "faults: it cannot be reached, and gives no reason: raise SourceError"
        if self.trial.broken is not None and self.ask().failures:
            yield "faults: it does not come back after it could not be reached"

    # ------------------------------------------------------------------ help

    def source(self) -> Source:
        return self.trial.make(self.settings)

    def broken_answers(self) -> Iterator[TierAnswer]:
        if self.trial.broken is not None:
            with self.trial.broken():
                yield self.ask()

    def compare(
        self, what: str, answer: TierAnswer, rows: set[ReadRow], openings: set[OpenRow]
    ) -> Iterator[str]:
        got = {row for portion in answer.portions for row in portion.rows}
        opened = {one.row for one in answer.openings}
        if rows - got:
            yield f"{what}: it leaves out {_shown(rows - got)}"
        if got - rows:
            yield f"{what}: it gives {_shown(got - rows)}, which it should not hold"
        if openings - opened:
            yield f"{what}: it leaves out rows with NULL: {_shown(openings - opened)}"
        if opened - openings:
            reason = next(one.reason for one in answer.openings if one.row not in openings)
            yield f"{what}: it gives cells that are no values: {reason}"


def _is_value(cell: object) -> bool:
    return not isinstance(cell, NullCell | Open)


def _cell(value: object) -> str:
    """Spell a cell as the author of a source wrote it: `None` where there is no value."""
    return repr(value) if _is_value(value) else "None"


def _shown(rows: set[ReadRow] | set[OpenRow]) -> str:
    listed = sorted(f"({', '.join(map(_cell, row))})" for row in rows)
    more = f" and {len(listed) - 2} more" if len(listed) > 2 else ""  # noqa: PLR2004  two are shown
    return f"{', '.join(listed[:2])}{more}"
