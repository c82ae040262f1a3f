"""Goals as of a time: from what was recorded then, and from nothing else.

In: a goal and a time. Out: a `Result` that names the time. Invariants: no source is asked and no
configured value is read; the rules are those of today, and the certificate pins them. Example:
`session.prove("is_vip(C001)", as_of="2026-11-20").as_of`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.proof import decide
from constat.session.recording import as_of_externals, record
from constat.session.recording_times import parse_moment
from constat.session.result import result_of
from constat.store.answer_file import AnswerStoreError
from constat.store.clock import now

if TYPE_CHECKING:
    from constat.evaluation import Observer
    from constat.logic import Atom
    from constat.proof.speech import Speech
    from constat.proof.topk import Ranking
    from constat.session.bench import Bench
    from constat.session.result import Result

_TROUBLE = "C0726"


def decide_as_of(  # noqa: PLR0913  what a decision takes, handed through
    bench: Bench,
    goal: Atom,
    time: str,
    *,
    exhaust: bool,
    ranking: Ranking | None,
    speech: Speech,
    observe: Observer | None,
) -> tuple[Result, tuple[Diagnostic, ...]]:
    """Decide a goal from the record; also gives what was wrong with it.

    Raises `ConstatError` for a time that is none, and where the record cannot be read.
    """
    moment = parse_moment(time)
    created = now()
    try:
        # The sources of the present are at hand for what they cost, and are not asked.
        with bench.evaluating(observe) as tiers:
            externals = as_of_externals(bench.project, bench.program, moment, tiers.externals)
            decision = decide(
                bench.engine,
                bench.program,
                goal,
                externals,
                bench.limits,
                exhaust=exhaust,
                ranking=ranking,
                observe=bench.observe,
            )
    except AnswerStoreError as problem:
        hint = f"`{bench.project.state}` holds it; a damaged file may be moved away"
        message = f"the record cannot be read: {problem}"
        raise ConstatError([Diagnostic(_TROUBLE, message, help=hint)]) from problem
    damaged = sorted(name for name, one in externals.items() if one.damaged)
    troubles = tuple(
        _warning(f"a recorded answer about {name} is not what was written; it is not used")
        for name in damaged
    )
    result = result_of(decision, bench.program, created, speech)
    return replace(result, as_of=moment), troubles


def record_result(bench: Bench, result: Result, *, every: bool) -> tuple[Diagnostic, ...]:
    """Record what a result was made from; gives what was wrong, which changes no verdict."""
    try:
        record(bench.project, result.calls, now(), every=every)
    except AnswerStoreError as problem:
        return (_warning(f"what was answered could not be recorded: {problem}"),)
    return ()


def _warning(message: str) -> Diagnostic:
    return Diagnostic(_TROUBLE, message, severity=Severity.WARNING)
