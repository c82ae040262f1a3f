"""`constat cache`, `recorded`, `materialize`, `watch`: answers cached, recorded, kept, watched."""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final, Self

import click

from constat.cli.groups import PlainCommand, PlainGroup, format_option
from constat.cli.options import STDIN, asked, project_option
from constat.cli.output import note, write, write_json
from constat.cli.progress import watching
from constat.cli.results import not_one_text, print_result
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.evaluation import NOT_ONE
from constat.project.loading import is_private_line
from constat.project.settings import CHECKS
from constat.session import Session
from constat.session.answers import DIFFERENT
from constat.store.answers import MOST_BYTES
from constat.store.materialized import PASSED
from constat.store.state_file import LOCKS, NO_LOCKS
from constat.tiers import age_in_words, parse_age

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.session.current import ChangedConclusion, Outbox, Receiving, Watch, Watching
    from constat.session.recording import RecordedAnswer
    from constat.session.stored_answers import KeptAnswer, KeptOfPredicate, Materialized

# Nothing here touches what people have stated, which is in another file.


@click.group(name="cache", cls=PlainGroup)
def cache_command() -> None:
    """Look at the answers of sources that are kept, or clear them.

    Answers are kept only where an .input has a max_age, such as max_age="10m". What people
    have stated is not among them.
    """


@cache_command.command()
@click.argument("predicate", required=False)
@format_option
@project_option
def show(predicate: str | None, *, form: str, project: str | None) -> None:
    """List the kept answers, of PREDICATE or all.

    Examples:
      constat cache show
      constat cache show customer_tier --format json

    Exit codes: 0 shown, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.cache.list(predicate)
    if form == "json":
        write_json({"answers": [_answer_json(one) for one in found]})
        return
    for one in found:
        write(_answer_text(one))
    if not found:
        write("nothing is kept")


@cache_command.command()
@format_option
@project_option
def stats(*, form: str, project: str | None) -> None:
    """Print how much is kept, and how often it served.

    Examples:
      constat cache stats
      constat cache stats --format json

    Exit codes: 0 printed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        found = session.cache.statistics()
    if form == "json":
        totals: dict[str, object] = {**_totals(found), "most_bytes": MOST_BYTES}
        write_json({**totals, "predicates": [_figures_json(one) for one in found]})
        return
    total = _totals(found)
    write(
        f"{counted(total['entries'], 'answer')}, {total['bytes']:,} of {MOST_BYTES:,} bytes, "
        f"{counted(total['hits'], 'key')} served, {counted(total['misses'], 'key')} asked"
    )
    for one in found:
        write(
            f"  {one.predicate}: {counted(one.entries, 'answer')}, {counted(one.rows, 'row')}, "
            f"{one.size:,} bytes, {one.hits:,} served, {one.misses:,} asked"
        )


@cache_command.command()
@click.argument("predicate", required=False)
@click.option("--older-than", metavar="AGE", help="Only what is older: 90, 10m, 24h or 7d.")
@click.option("--expired", is_flag=True, help="Only what is older than its max_age.")
@format_option
@project_option
def clear(
    predicate: str | None,
    *,
    older_than: str | None,
    expired: bool,
    form: str,
    project: str | None,
) -> None:
    """Remove kept answers, of PREDICATE or all. Stated facts stay.

    Without arguments a damaged file of kept answers is removed as well.

    Examples:
      constat cache clear --older-than 1h --format json
      constat cache clear customer_tier
      constat cache clear

    Exit codes: 0 cleared, 2 bad usage or configuration.
    """
    seconds = None if older_than is None else _seconds(older_than)
    with Session(project) as session, asked(session):
        cleared = session.cache.clear(predicate, older_than=seconds, expired=expired)
    if form == "json":
        write_json({"cleared": cleared.answers, "file_removed": cleared.file})
    elif cleared.file:
        write("the damaged file of kept answers was removed")
    else:
        write(f"cleared: {counted(cleared.answers, 'answer')}")


def _seconds(written: str) -> int:
    try:
        return parse_age(written)
    except ValueError as problem:
        raise click.BadParameter(f"it {problem}", param_hint="--older-than") from None


def _answer_text(one: KeptAnswer) -> str:
    bound = f"by {', '.join(one.bound)}" if one.bound else "everything"
    text = (
        f"{one.predicate} {bound}: {counted(one.keys, 'key')}, {counted(one.rows, 'row')} "
        f"of {one.source}, {age_in_words(one.age)} old, served {counted(one.served, 'time')}"
    )
    if not one.current:
        return f"{text}, no longer served: the declaration or the configuration has changed"
    left = f"expires in {age_in_words(one.expires_in)}" if one.expires_in else "expired"
    return f"{text}, {left}"


def _answer_json(one: KeptAnswer) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "bound": list(one.bound),
        "keys": one.keys,
        "rows": one.rows,
        "source": one.source,
        "fetched_at": one.fetched_at,
        "age_seconds": one.age,
        "expires_in_seconds": one.expires_in,
        "served": one.served,
        "bytes": one.size,
        "current": one.current,
    }


def _totals(found: tuple[KeptOfPredicate, ...]) -> dict[str, int]:
    return {
        "entries": sum(one.entries for one in found),
        "bytes": sum(one.size for one in found),
        "hits": sum(one.hits for one in found),
        "misses": sum(one.misses for one in found),
    }


def _figures_json(one: KeptOfPredicate) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "entries": one.entries,
        "rows": one.rows,
        "bytes": one.size,
        "hits": one.hits,
        "misses": one.misses,
    }


@click.command(name="recorded", cls=PlainCommand)
@click.argument("predicate", required=False)
@click.option("--forget-before", metavar="TIME", help="Remove what was recorded before a time.")
@format_option
@project_option
def recorded_command(
    predicate: str | None, *, forget_before: str | None, form: str, project: str | None
) -> None:
    """List what sources said and when, as far as it was recorded, of PREDICATE or all.

    `constat prove GOAL --as-of TIME` answers from it. Answers are recorded by `constat prove
    --keep` (up to 100,000 rows each), and always for the sources that `record:` in constat.yaml or
    record="true" of an .input names. What people state has a history of its own:
    `constat facts list --history`.

    Examples:
      constat recorded
      constat recorded customer_tier --format json
      constat recorded --forget-before 2026-01-01

    Exit codes: 0 listed or removed, 2 bad usage or configuration.
    """
    with Session(project) as session, asked(session):
        if forget_before is not None:
            count = session.recorded.forget(forget_before, predicate)
            told = {"forgotten": count, "answers": []}
            write_json(told) if form == "json" else write(f"{counted(count, 'answer')} removed")
            return
        found = session.recorded.list(predicate)
    if form == "json":
        write_json({"forgotten": 0, "answers": [_as_json(one) for one in found]})
        return
    for one in found:
        bound = ", ".join(one.bound) or "everything"
        write(
            f"{one.recorded_at}  {one.predicate} by {bound}: {counted(one.keys, 'key')}, "
            f"{counted(one.rows, 'row')}" + (f", from {one.source}" if one.source else "")
        )
    if not found:
        write("nothing is recorded")


def _as_json(one: RecordedAnswer) -> dict[str, object]:
    return {
        "predicate": one.predicate,
        "bound": list(one.bound),
        "keys": one.keys,
        "rows": one.rows,
        "source": one.source,
        "recorded_at": one.recorded_at,
        "bytes": one.size,
    }


# What is kept is used only where `constat query --materialized` asks for it, and never once
# anything it rests on has changed.


@click.command(name="materialize", cls=PlainCommand)
@click.argument("goal", required=False)
@click.option("--list", "listing", is_flag=True, help="List what is kept.")
@click.option(
    "--check",
    type=click.Choice(CHECKS),
    help="Count the answers again: beside what follows where it takes long (background, unless the "
    "project says otherwise), always before they are kept, or never.",
)
@click.option("--drop", "dropping", is_flag=True, help="Forget the result of GOAL.")
@click.option(
    "--current",
    is_flag=True,
    help="Follow only what has changed since GOAL was kept like this; checked before it is kept.",
)
@format_option
@project_option
def materialize_command(  # noqa: PLR0913  each option has a name
    goal: str | None,
    *,
    listing: bool,
    check: str | None,
    dropping: bool,
    current: bool,
    form: str,
    project: str | None,
) -> int:
    """Compute all answers of GOAL, a query or a predicate, and keep them with an index.

    `constat query "is_vip(C001)" --materialized` then finds rows by key without asking a source; it
    refuses once rules, configuration, stated facts or a source have changed. What is kept is proved
    where it was counted again from the rules and was the same, else it is computed, not checked;
    each says which. A certificate never rests on it. Only answers that are settled for certain are
    kept. Ctrl-C while the check goes on leaves what is kept unchecked.

    Examples:
      constat materialize "is_vip(?c)"
      constat materialize customer_revenue --format json
      constat materialize "is_vip(?c)" --check always
      constat materialize "is_vip(?c)" --current
      constat materialize --list
      constat materialize "is_vip(?c)" --drop

    Exit codes: 0 done, 7 the answers are others when they are counted again: nothing is kept; 2 bad
    usage, configuration or rules; also answers that are not settled, and sources that cannot tell
    when they change.
    """
    _require_sense(goal, listing=listing, dropping=dropping)
    with Session(project, cache=False) as session, asked(session, goal=goal or ""):
        if goal is None:
            found = session.materialized.list()
            told: dict[str, object] = {"action": "list", "results": [_json(one) for one in found]}
            lines = [_line(one) for one in found] or ["nothing is kept"]
        elif dropping:
            gone = session.materialized.drop(goal)
            told = {"action": "drop", "dropped": gone, "results": []}
            lines = ["dropped" if gone else "nothing was kept for it"]
        else:
            one = _current(session, goal) if current else _kept(session, goal, check)
            told = {"action": "keep", "results": [_json(one)]}
            lines = [f"kept: {_line(one)}"]
            lines += [not_one_text()] * (one.snapshot == NOT_ONE)
    if form == "json":
        write_json({**told, "models": session.model_usage})
    else:
        write("\n".join(lines))
    return 0


def _current(session: Session, goal: str) -> Materialized:
    """Bring what is kept up to date, or say why everything was computed."""
    one, why = session.materialized.keep_current(
        goal, lambda query: session.watch([query], keep=True)
    )
    if why:
        note(f"everything was computed: {why}")
        return session.materialized.checked(one)
    return one


def _kept(session: Session, goal: str, check: str | None) -> Materialized:
    """Keep the answers, and wait for their check where it goes on."""
    results = session.materialized
    with watching() as observe:
        one = results.keep(goal, check=check, observe=observe)
        if one.checking is None:
            return one
        note(f"{counted(one.result.rows, 'row')} kept; the check goes on")
        try:
            return results.checked(one)
        except KeyboardInterrupt as problem:
            one.checking.stop()
            problem.add_note("what is kept is computed, not checked")
            raise


def _require_sense(goal: str | None, *, listing: bool, dropping: bool) -> None:
    if listing and (dropping or goal is not None):
        message, hint = "`--list` lists everything that is kept", "leave the rest out"
    elif goal is None and not listing:
        message, hint = "a goal is missing", 'write `constat materialize "is_vip(?c)"`'
    else:
        return
    raise ConstatError([Diagnostic("C0432", message, help=hint)])


def _line(one: Materialized) -> str:
    result = one.result
    state = f"out of date: {one.stale}" if one.stale else "current"
    rows = counted(result.rows, "row")
    called = "proved" if result.check == PASSED else "computed, not checked"
    return f"{result.query}: {rows} {called}, {result.created}, {state}"


def _json(one: Materialized) -> dict[str, object]:
    result = one.result
    return {
        "query": result.query,
        "columns": [{"name": name, "kind": kind.value} for name, kind in result.columns],
        "rows": result.rows,
        "created": result.created,
        "current": not one.stale,
        "reason": one.stale,
        "snapshot": one.snapshot,
        "checked": one.result.check == PASSED,
        "check": one.result.check,
    }


# What is watched is looked at again and again; a change is told once.

_PIECE: Final = 1 << 20
_SIGNS: Final = "CONSTAT_WEBHOOK_SECRET"
_FIRST_PAUSE: Final = 1.0
_LAST_PAUSE: Final = 300.0
_PATIENCE: Final = 60
"""Seconds that a command may take which is told of changes."""


@click.command(name="watch", cls=PlainCommand)
@click.argument("goals", nargs=-1, required=True, metavar="GOAL...")
@click.option(
    "--changes",
    metavar="FILE",
    help="Take changes of rows from FILE, or stdin for -, one on each line: "
    '{"op": "insert", "relation": "edge", "row": [1, 2]}; op is '
    'insert, delete or update (with the old row in "before").',
)
@click.option(
    "--interval",
    type=click.FloatRange(0.05, 86_400),
    default=2.0,
    show_default=True,
    help="Seconds between two looks.",
)
@click.option("--once", is_flag=True, help="Look once, and end.")
@click.option("--check", is_flag=True, help="After each look, count what is kept again.")
@click.option("--keep", is_flag=True, help="Keep what is known, and begin with it the next time.")
@click.option("--proofs", is_flag=True, help="Print the proof of each change.")
@click.option(
    "--on-change",
    metavar="COMMAND|URL|log",
    help="Run COMMAND, without a shell, with the changes as lines of JSON on its input; or send "
    "them to an address (https, or http on this machine), signed; or append them to changes.jsonl "
    "of the state folder (log).",
)
@format_option
@project_option
def watch_command(  # noqa: PLR0913  each option has a name
    goals: tuple[str, ...],
    *,
    changes: str | None,
    interval: float,
    once: bool,
    check: bool,
    keep: bool,
    proofs: bool,
    on_change: str | None,
    form: str,
    project: str | None,
) -> int:
    """Print which conclusions of GOAL come (+) and go (-) while facts change.

    Sources and stated facts are looked at again after each interval, and only what has changed is
    followed through the rules. A goal that cannot be kept row by row, for example because it rests
    on assumptions, is asked anew as a whole when its sources change; which and why is said at the
    beginning. With --keep a later `watch` begins with what has changed since. With --format json
    each look that finds something is one line. Ctrl-C ends it. What a receiver does not take waits
    in the state folder, and is sent again; CONSTAT_WEBHOOK_SECRET signs it.

    Examples:
      constat watch "is_vip(?c)" --once
      constat watch "is_vip(?c)" "is_regular(?c)" --once --keep --format json

    Exit codes: 0 the one look is done; 1 it is, and changes wait for their receiver; 130 ended by
    Ctrl-C; 7 what is kept is not what follows (--check); 2 bad usage, configuration or rules, also
    a line of --changes that is no change.
    """
    with (
        Session(project, cache=False) as session,
        asked(session, goal=goals[0]),
        _Receiver.of(on_change, session) as receiver,
        session.watch(goals, keep=keep, telling=receiver.telling) as watch,
    ):
        feed = None if changes is None else _Feed(Path(changes), watch)
        told = _ChangePrinter(session, form, receiver.command, proofs=proofs)
        if form == "text":
            _introduce(watch.goals())
        found = [*watch.since, *([] if feed is None else feed.take())]
        told.tell(found, watch.goals())
        _checked(watch if check else None)
        waiting = receiver.send(fresh=True)
        while not once:
            time.sleep(interval)
            found = watch.poll() + ([] if feed is None else feed.take())
            told.changes(found, watch if check else None)
            receiver.send(fresh=bool(found))
    return 1 if waiting else 0


class _Receiver:
    """Whoever is told of changes: a command, a file, or an address with what waits for it."""

    def __init__(
        self, command: list[str] | None, telling: Receiving | None, outbox: Outbox | None
    ) -> None:
        self.command = command
        self.telling = telling
        self._outbox = outbox
        self._next = 0.0
        self._pause = _FIRST_PAUSE
        self._said = ""

    @classmethod
    def of(cls, wished: str | None, session: Session) -> Self:
        """Read what --on-change says."""
        from constat.session.current import Outbox, log_changes  # noqa: PLC0415  loaded when it is used

        state = session.project.state
        if wished is None:
            return cls(None, None, None)
        sends = wished.startswith(("https://", "http://"))
        if not LOCKS and (sends or wished == "log"):
            raise click.BadParameter(NO_LOCKS, param_hint="--on-change")
        if wished == "log":
            return cls(None, log_changes(state), None)
        if not sends:
            return cls(_words(wished), None, None)
        secret = os.environ.get(_SIGNS, "")
        why = "" if secret else f"{_SIGNS} is not set, which signs what is sent"
        if not is_private_line(wished):
            why = "only https, or an address of this machine, keeps changes from others"
        if why:
            raise click.BadParameter(why, param_hint="--on-change")
        outbox = Outbox(state, wished, secret)
        return cls(None, outbox.tell, outbox)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._outbox is not None:
            self._outbox.close()

    def send(self, *, fresh: bool) -> int:
        """Send what waits, later and later where it is not taken; give how much still waits."""
        if self._outbox is None or (time.monotonic() < self._next and not fresh):
            return 0
        waiting, why = self._outbox.send()
        self._pause = min(self._pause * 2, _LAST_PAUSE) if waiting else _FIRST_PAUSE
        self._next = time.monotonic() + self._pause if waiting else 0.0
        said = f"{counted(waiting, 'file')} of changes waiting for their receiver: {why}"
        if waiting and said != self._said:
            note(said)
        self._said = said if waiting else ""
        return waiting


def _words(command: str) -> list[str]:
    try:
        words = shlex.split(command)
    except ValueError as problem:
        raise click.BadParameter(str(problem), param_hint="--on-change") from None
    why = "it is empty" if not words else ""
    if words and shutil.which(words[0]) is None:
        there = "may not be executed" if Path(words[0]).is_file() else "is not there"
        why = f"the program `{words[0]}` {there}; name one of the path, a URL, or `log`"
    if why:
        raise click.BadParameter(why, param_hint="--on-change")
    return words


def _checked(watch: Watch | None) -> None:
    """Count again what is kept, if asked; raises `ConstatError` where something else follows."""
    for query, found in () if watch is None else watch.check():
        if found.differs:
            message = f"what is kept of `{query}` is not what follows: {found.why}"
            hint = "remove the file of what is kept, and report the rules"
            raise ConstatError([Diagnostic("C0675", message, help=hint)], exit_code=DIFFERENT)
        note(f"checked {query}: {'the same' if found.passed else f'not checked, {found.why}'}")


def _introduce(goals: Sequence[Watching]) -> None:
    for one in goals:
        how = "kept current row by row" if not one.why else f"asked anew as a whole: {one.why}"
        write(f"watching {one.query}: {one.rows:,} now, {how}")


class _Feed:
    """A file of changes, read as it grows; a line counts once it is ended."""

    def __init__(self, path: Path, watch: Watch) -> None:
        self._path = path
        self._watch = watch
        self._place = 0
        self._lines = 0
        self._begun = b""

    def take(self) -> list[ChangedConclusion]:
        """Take the lines that were added, and give what follows."""
        from constat.session.current import read_changes  # noqa: PLC0415  loaded when it is used

        try:
            content = self._piped() if str(self._path) == STDIN else self._read()
        except OSError as problem:
            reason = problem.strerror or type(problem).__name__
            message = f"the file of changes cannot be read: {reason}"
            raise ConstatError([Diagnostic("C0676", message, help="name a file")]) from None
        self._begun = content[content.rfind(b"\n") + 1 :]
        content = content[: content.rfind(b"\n") + 1]
        lines = content.decode("utf-8", "replace").splitlines()
        facts = read_changes(lines, self._watch, self._path.name, self._lines + 1)
        self._place += len(content)
        self._lines += len(lines)
        return self._watch.tell(facts) if facts else []

    def _read(self) -> bytes:
        with self._path.open("rb") as file:
            file.seek(self._place)
            return file.read()

    def _piped(self) -> bytes:
        """Give what has come on stdin, without waiting for more."""
        found = self._begun
        while select.select([sys.stdin], [], [], 0)[0]:
            piece = os.read(sys.stdin.fileno(), _PIECE)
            if not piece:
                break
            found += piece
        return found


class _ChangePrinter:
    """Prints changes and hands them on."""

    def __init__(
        self, session: Session, form: str, command: list[str] | None, *, proofs: bool
    ) -> None:
        self._session = session
        self._form = form
        self._command = command
        self._proofs = proofs

    def tell(self, found: Sequence[ChangedConclusion], goals: Sequence[Watching] | None) -> None:
        """Print what one look has found; `goals` at the first one."""
        lines = [self._line_of(one) for one in found]
        if self._form == "json":
            watched = [
                {"query": one.query, "rows": one.rows, "row_by_row": not one.why, "reason": one.why}
                for one in goals or ()
            ]
            write(json.dumps({"watched": watched, "changes": lines}))
        else:
            for one, line in zip(found, lines, strict=True):
                sign = "+" if one.came else "-"
                write(f"{sign} {one.goal}  {one.verdict.label}  ({line['prove']})")
                if self._proofs:
                    print_result(self._session.prove(one.goal))
        sys.stdout.flush()
        if self._command is not None and lines:
            self._run(self._command, lines)

    def changes(self, found: Sequence[ChangedConclusion], check: Watch | None) -> None:
        """Print what a later look has found, and count again what is kept."""
        if found:
            self.tell(found, None)
            _checked(check)

    def _line_of(self, one: ChangedConclusion) -> dict[str, object]:
        told = one.told()
        if self._proofs and self._form == "json":
            result = self._session.prove(one.goal)
            told["proof"] = {"verdict": result.verdict.value, "text": str(result)}
        return told

    @staticmethod
    def _run(command: list[str], lines: Sequence[dict[str, object]]) -> None:
        text = "".join(f"{json.dumps(line)}\n" for line in lines)
        try:
            ended = subprocess.run(  # noqa: S603  the command of whoever watches, without a shell
                command,
                input=text.encode(),
                timeout=_PATIENCE,
                check=False,
                stdout=subprocess.DEVNULL,
                env=os.environ,
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            note(f"the command of --on-change failed: {type(problem).__name__}")
            return
        if ended.returncode:
            note(f"the command of --on-change ended with {ended.returncode}")
