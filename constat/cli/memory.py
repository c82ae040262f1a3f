"""`constat memory`: keep conversations as facts, and compact them."""

from __future__ import annotations

import hashlib
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from constat.cli.groups import LazyGroup, PlainCommand, format_option
from constat.cli.options import asked, project_option
from constat.cli.output import (
    note,
    read_file,
    show_error,
    write,
    write_certificate,
    write_file,
    write_json,
)
from constat.diagnostics import ConstatError, Diagnostic, counted
from constat.model import ModelError, Task
from constat.session import Session, remembering

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.memory import Line
    from constat.memory.archive import Found
    from constat.memory.extract.by_model import Extraction
    from constat.model import Client
    from constat.session.remembering import Checked, Compaction, Contradiction, Statistics

# A mistake is told as everywhere, with its exit code.

PROFILES: Final = ("reconciled", "seed001", "seed002", "seed003", "seed004")

session_option = click.option(
    "--session", metavar="NAME", required=True, help="The session, as `compact` has named it."
)
store_option = click.option(
    "--store", metavar="DIR", help="Where sessions are kept; by default in the project's state."
)
rules_option = click.option(
    "--rules", metavar="DIR", help="Rules that take the place of those of memory, file by file."
)
goal_option = click.option(
    "--goal", default="", metavar="TEXT", help="What is to be done next; what it names comes first."
)
budget_option = click.option(
    "--budget", type=click.IntRange(min=1), metavar="TOKENS", help="At most so many tokens."
)


@contextmanager
def remembered() -> Iterator[None]:
    """Show the mistakes that are found, then leave with their exit code."""
    try:
        yield
    except ConstatError as problem:
        as_json = bool(click.get_current_context().find_root().obj)
        show_error(problem, as_json=as_json)
        raise click.exceptions.Exit(problem.exit_code) from None


# What was said is shown in quotes or as one plain word, as in a context.


def compaction_text(one: Compaction) -> str:
    """Write a report."""
    read = f"{counted(one.messages, 'message')}, {one.before:,} tokens"
    shown = f"{counted(one.kept_messages, 'message')}, {one.after:,} tokens"
    fewer = f" ({one.ratio:.1f}x fewer)" if one.compacted else ", not compacted"
    lines = [
        f"read: {read}, {counted(one.facts, 'fact')}",
        f"context: {shown}{fewer}{f': {one.reason}' if one.reason else ''}",
    ]
    if one.extraction is not None:
        lines += _extraction(one.extraction)
    if one.compacted and not one.block:
        lines.append(f"in sight: {_kinds(one.kept)}")
    lines.append(
        f"hold: {one.current:,}; superseded: {one.superseded:,}; "
        f"refused, for their speaker may not say so: {one.refused:,}"
    )
    lines += [f"contradiction: {_contradiction(pair)}" for pair in one.contradictions]
    lines += ["", *(line.text for line in one.lines)] if one.lines else []
    lines += ["", one.block] if one.block else []
    return "\n".join(lines)


def _extraction(one: Extraction) -> list[str]:
    found = counted(len(one.facts), "fact")
    told = f"by model: {found} that the texts say, {len(one.rejected):,} that they do not"
    return [told, *(f"no reply: {failure}" for failure in one.failures)]


def compaction_json(one: Compaction) -> dict[str, object]:
    """Give a report as JSON."""
    return {
        "session": one.session,
        "messages": one.messages,
        "facts": one.facts,
        "tokens_before": one.before,
        "tokens_after": one.after,
        "ratio": round(one.ratio, 2),
        "context_messages": one.kept_messages,
        "compacted": one.compacted,
        "reason": one.reason,
        "kept": dict(one.kept),
        "current": one.current,
        "superseded": one.superseded,
        "refused": one.refused,
        "contradictions": [
            {
                "slot": pair.slot,
                "values": [
                    {"value": pair.one, "place": pair.one_place},
                    {"value": pair.other, "place": pair.other_place},
                ],
            }
            for pair in one.contradictions
        ],
        "by_model": None
        if one.extraction is None
        else {
            "facts": len(one.extraction.facts),
            "rejected": len(one.extraction.rejected),
            "failures": list(one.extraction.failures),
        },
        "lines": lines_json(one.lines),
        "block": one.block,
    }


def lines_json(lines: Sequence[Line]) -> list[dict[str, object]]:
    """Give lines of a context as JSON."""
    return [
        {"text": one.text, "place": one.place, "class": one.level, "claims": list(one.claims)}
        for one in lines
    ]


def proof_text(one: Checked) -> str:
    """Write a proof, and what the checker says of it."""
    report = one.report
    told = "checked" if report.accepted else f"REJECTED at {report.place}: {report.reason}"
    return f"{one.proof.text.rstrip()}\n{told}"


def proof_json(one: Checked) -> dict[str, object]:
    """Give a proof as JSON."""
    return {
        "goal": one.proof.goal,
        "verdict": one.proof.verdict.name,
        "accepted": one.report.accepted,
        "proof": one.proof.text,
    }


def found_text(one: Found) -> str:
    """Write a text that was found."""
    return f"@{one.place} {one.speaker}: {' '.join(one.snippet.split())}"


def found_json(one: Found) -> dict[str, object]:
    """Give a text that was found as JSON."""
    return {
        "place": one.place,
        "speaker": one.speaker,
        "snippet": one.snippet,
        "score": round(one.score, 6),
    }


def statistics_text(one: Statistics) -> str:
    """Write what is kept of a session."""
    branches = f"{one.branches:,} branch{'' if one.branches == 1 else 'es'}"
    parts = (
        counted(one.messages, "message"),
        counted(one.tokens, "token"),
        f"{counted(one.texts, 'text')} of {one.bytes:,} bytes",
        branches,
        counted(one.checkpoints, "checkpoint"),
    )
    return f"{one.session}: {', '.join(parts)}\n  {_kinds(one.facts)}"


def statistics_json(one: Statistics) -> dict[str, object]:
    """Give what is kept of a session as JSON."""
    return {
        "session": one.session,
        "messages": one.messages,
        "tokens": one.tokens,
        "texts": one.texts,
        "bytes": one.bytes,
        "facts": dict(one.facts),
        "branches": one.branches,
        "checkpoints": one.checkpoints,
    }


def _kinds(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items()) or "nothing"


def _contradiction(pair: Contradiction) -> str:
    slot = " ".join(pair.slot.split())[:100]
    return f"{slot}: {pair.one[:60]!r} @{pair.one_place}, {pair.other[:60]!r} @{pair.other_place}"


@click.command(name="compact", cls=PlainCommand)
@click.argument("logs", nargs=-1, required=True, metavar="LOG...")
@budget_option
@goal_option
@click.option(
    "--profile",
    type=click.Choice(PROFILES),
    default=PROFILES[0],
    show_default=True,
    help="Whose thresholds, summary, keep set and markers count where there is no budget.",
)
@click.option("--now", is_flag=True, help="Let a seed's design work below its threshold as well.")
@click.option(
    "--model", default="", metavar="NAME", help="The model whose window and tokens count."
)
@click.option(
    "--log-format",
    type=click.Choice(("anthropic", "openai")),
    help="The format of the logs; by default it is found out.",
)
@click.option("--session", metavar="NAME", help="Keep the messages as this session.")
@click.option("--branch", default="", metavar="NAME", help="Keep them in this branch of it.")
@store_option
@rules_option
@click.option("--with-model", is_flag=True, help="Let the project's model look for more facts.")
@click.option("-o", "--output", metavar="FILE", help="Write the compacted messages.")
@format_option
@project_option
def compact_command(  # noqa: PLR0913  one argument for each option
    logs: tuple[str, ...],
    *,
    budget: int | None,
    goal: str,
    profile: str,
    now: bool,
    model: str,
    log_format: str | None,
    session: str | None,
    branch: str,
    store: str | None,
    rules: str | None,
    with_model: bool,
    output: str | None,
    form: str,
    project: str | None,
) -> None:
    """Read LOGs, one after the other, and say what they come to.

    A LOG is JSON or JSON Lines with messages of Anthropic or OpenAI; `-` is stdin. No model is
    asked, unless --with-model says so; then only facts count whose every value stands in a sentence
    of the text that they cite. With --session the messages are kept, so that `show`, `why` and
    `open` find them; the log of a session that has gone on since is read from where it is known to.

    Examples:
      constat memory compact examples/memory/refund.json --budget 700
      constat memory compact examples/memory/refund.json --budget 700 --session refund -o short.json
      constat memory compact examples/memory/refund.json --goal "order O-7" --format json
      constat memory compact examples/memory/refund.json --profile seed003 --now

    Exit codes: 0 compacted (or small enough as it is), 2 no log, bad usage or configuration, or
    the message to be answered alone does not fit.
    """
    with remembered(), _client(project, wanted=with_model) as client:
        own = _own_rules(project, store, session, rules)
        asked = (budget, profile, goal, model, own)
        options = remembering.CompactionOptions(*asked, now=now, branch=branch)
        folder = None if session is None else remembering.store_of(project, store)
        found = remembering.compacted(
            [(name, read_file(name, remembering.MOST_BYTES)) for name in logs],
            options,
            folder=folder,
            session=session or "main",
            form=log_format or "",
            client=client,
        )
        if output is not None:
            _write(output, found, folder)
    _print(found, form)


def _print(found: Compaction, form: str) -> None:
    if form == "json":
        write_json(compaction_json(found))
    else:
        write(compaction_text(found))


def _own_rules(
    project: str | None, store: str | None, session: str | None, rules: str | None
) -> Path | None:
    """Give the folder of own rules; a log that nobody keeps needs no project."""
    kept_there = store is None and (session is not None or project is not None)
    return remembering.rules_of(project, rules, wanted=kept_there)


@contextmanager
def _client(project: str | None, *, wanted: bool) -> Iterator[Client | None]:
    """Give the client for extraction, if it is wanted."""
    if not wanted:
        yield None
        return
    with Session(project) as session, asked(session):
        try:
            client = session.models.client(Task.EXTRACT)
        except ModelError as problem:
            raise ConstatError([Diagnostic(problem.code, str(problem))]) from problem
        yield client


def _write(output: str, found: remembering.Compaction, folder: Path | None) -> None:
    write_file(output, remembering.written(found, folder))
    note(f"compacted messages written to {output}")


@click.command(name="show", cls=PlainCommand)
@session_option
@click.option(
    "--budget",
    type=click.IntRange(min=1),
    default=2_000,
    show_default=True,
    metavar="TOKENS",
    help="At most so many tokens.",
)
@goal_option
@store_option
@rules_option
@format_option
@project_option
def show_command(  # noqa: PLR0913  one argument for each option
    *,
    session: str,
    budget: int,
    goal: str,
    store: str | None,
    rules: str | None,
    form: str,
    project: str | None,
) -> None:
    """Show the facts of a session that matter most, each with the bytes that say it.

    Examples:
      constat memory show --session refund
      constat memory show --session refund --budget 500 --goal "order O-7" --format json

    Exit codes: 0 shown, 2 bad usage or configuration.
    """
    with remembered(), remembering.opened_by(project, store, session, rules) as memory:
        view = memory.view(budget, goal)
    if form == "json":
        write_json(
            {
                "session": session,
                "tokens": view.tokens,
                "passed_over": view.passed_over,
                "left_out": view.left_out,
                "lines": lines_json(view.lines),
            }
        )
        return
    for line in view.lines:
        write(line.text)
    pinned = f", {view.left_out:,} that are pinned" if view.left_out else ""
    note(f"{view.tokens:,} tokens; {counted(view.passed_over, 'fact')}{pinned} did not fit")


@click.command(name="search", cls=PlainCommand)
@click.argument("words", nargs=-1, required=True)
@session_option
@click.option(
    "--limit",
    type=click.IntRange(1, 1_000),
    default=10,
    show_default=True,
    help="At most so many texts.",
)
@store_option
@format_option
@project_option
def search_command(
    words: tuple[str, ...],
    *,
    session: str,
    limit: int,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Find the texts of a session that fit WORDS best; other forms of a word fit too.

    Examples:
      constat memory search "gift card" --session refund
      constat memory search refund order --session refund --limit 3 --format json

    Exit codes: 0 searched (also where nothing is found), 2 bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        found = memory.search(" ".join(words), limit)
    if form == "json":
        write_json([found_json(one) for one in found])
        return
    for one in found:
        write(found_text(one))
    if not found:
        note("nothing was found")


@click.command(name="open", cls=PlainCommand)
@click.argument("place")
@session_option
@click.option("-o", "--output", metavar="FILE", help="Write the bytes as they are.")
@store_option
@format_option
@project_option
def open_command(
    place: str,
    *,
    session: str,
    output: str | None,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Print what was said at PLACE: `m3`, bytes of it such as `m3[12:58]`, or a digest.

    What a terminal would obey is shown as escapes; with --output the bytes are written unchanged.

    Examples:
      constat memory open m0 --session refund
      constat memory open "m0[0:30]" --session refund --format json

    Exit codes: 0 printed, 2 there is no such place, bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        content = memory.open(place)
        if output is not None:
            write_file(output, content)
    if output is not None:
        note(f"{len(content):,} bytes written to {output}")
    text = content.decode("utf-8", "backslashreplace")
    if form == "json":
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        write_json({"place": place, "bytes": len(content), "digest": digest, "text": text})
    elif output is None:
        write(text)


@click.command(name="why", cls=PlainCommand)
@click.argument("place")
@session_option
@goal_option
@click.option("--certificate", metavar="FILE", help="Write the certificate of the first proof.")
@store_option
@rules_option
@format_option
@project_option
def why_command(  # noqa: PLR0913  one argument for each option
    place: str,
    *,
    session: str,
    goal: str,
    certificate: str | None,
    store: str | None,
    rules: str | None,
    form: str,
    project: str | None,
) -> int:
    """Prove why what is said at PLACE is in sight, or why it is not.

    PLACE is what a line of `show` ends with, such as `m3[12:58]`, or a whole text, `m3`. Each
    proof is checked by the independent checker before it is printed.

    Examples:
      constat memory why "m0[34:66]" --session refund
      constat memory why m12 --session refund --format json

    Exit codes: 0 proved and checked, 1 rejected by the checker, 2 there is no such place, bad usage
    or configuration.
    """
    with remembered(), remembering.opened_by(project, store, session, rules) as memory:
        found = remembering.proved(memory, place, goal)
        if certificate is not None and found:
            write_certificate(certificate, found[0].proof.certificate)
    if form == "json":
        write_json([proof_json(one) for one in found])
    else:
        write("\n\n".join(proof_text(one) for one in found))
    if certificate is not None:
        note(f"certificate written to {certificate}")
    return 0 if all(one.report.accepted for one in found) else 1


@click.command(name="stats", cls=PlainCommand)
@click.option("--session", metavar="NAME", help="Only this session.")
@store_option
@format_option
@project_option
def stats_command(
    *, session: str | None, store: str | None, form: str, project: str | None
) -> None:
    """Count messages, tokens and facts of the sessions that are kept.

    Examples:
      constat memory stats
      constat memory stats --session refund --format json

    Exit codes: 0 counted (also where nothing is kept), 2 bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        names = remembering.sessions(folder) if session is None else (session,)
        found = [remembering.statistics(folder, name) for name in names]
    if form == "json":
        write_json([statistics_json(one) for one in found])
        return
    for one in found:
        write(statistics_text(one))
    if not found:
        note("no session is kept; `constat memory compact LOG --session NAME` keeps one")


@click.command(name="forget", cls=PlainCommand)
@click.argument("place")
@session_option
@click.option("--by", required=True, metavar="NAME", help="Who wants it.")
@click.option("--reason", required=True, metavar="TEXT", help="Why, without quoting the text.")
@store_option
@format_option
@project_option
def forget_command(  # noqa: PLR0913  one argument for each option
    place: str,
    *,
    session: str,
    by: str,
    reason: str,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Forget the texts of PLACE: of a message such as `m3`, of a digest, or `all` of the session.

    The bytes leave the file, with the facts and contexts that were made of them; the digest stays,
    with who wanted it and why. A text is kept once, so it is forgotten in all sessions that hold
    it. What other texts repeat of it stays: `constat memory search` finds them. Nothing brings it
    back.

    Examples:
      constat memory forget m2 --session refund --by ann --reason "a card number"
      constat memory forget all --session refund --by ann --reason "closed" --format json

    Exit codes: 0 forgotten, 2 there is no such place, bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        found = remembering.forgotten(folder, session, place, by=by, reason=reason)
    if form == "json":
        write_json(
            {
                "digests": list(found.texts),
                "messages": found.messages,
                "notes": found.notes,
                "checkpoints": found.checkpoints,
            }
        )
        return
    write(
        f"forgotten: {counted(len(found.texts), 'text')} of {counted(found.messages, 'message')}; "
        f"{counted(found.notes, 'noted fact')} and "
        f"{counted(found.checkpoints, 'checkpoint')} with them"
    )
    for digest in found.texts:
        write(f"  {digest}")


by_option = click.option("--by", required=True, metavar="NAME", help="Who wants it.")


@click.command(name="pin", cls=PlainCommand)
@click.argument("place")
@session_option
@by_option
@store_option
@project_option
def pin_command(
    place: str, *, session: str, by: str, store: str | None, project: str | None
) -> None:
    """Keep what is said at PLACE in sight as long as it holds.

    PLACE is what a line of `show` ends with, such as `m3[12:58]`, or a whole text, `m3`.

    Examples:
      constat memory pin m11 --session refund --by ann

    Exit codes: 0 pinned, 2 there is no such place, bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        memory.pin(place, by)
    write(f"pinned: {place}")


@click.command(name="retract", cls=PlainCommand)
@click.argument("place")
@session_option
@by_option
@click.option("--reason", default="", metavar="TEXT", help="Why.")
@store_option
@project_option
def retract_command(
    place: str, *, session: str, by: str, reason: str, store: str | None, project: str | None
) -> None:
    """Take what is said at PLACE back, in the name of a person: it holds no longer.

    The words stay where they were said; `why` proves that they count no more, and whose word that
    is. What the system said no person takes back; that is told. To remove words use `forget`.

    Examples:
      constat memory retract "m0[34:66]" --session refund --by ann --reason "we may now"

    Exit codes: 0 taken back, 2 there is no such place, bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        gone = remembering.taken_back(memory, place, by, reason)
    write(f"taken back: {place}" if gone else f"it still holds, as `why {place}` proves: {place}")


@click.command(name="branch", cls=PlainCommand)
@click.argument("name")
@session_option
@click.option("--merge", is_flag=True, help="Take what the branch has found into the session.")
@store_option
@project_option
def branch_command(
    name: str, *, session: str, merge: bool, store: str | None, project: str | None
) -> None:
    """Begin branch NAME of a session, for an agent of its own; with --merge it comes back.

    A branch sees the session as it is now, for ever. `compact --branch NAME` keeps the messages of
    its agent. What it has found counts in the session once it has come back.

    Examples:
      constat memory branch letters --session refund
      constat memory branch marco --session refund --merge

    Exit codes: 0 begun or taken in, 2 the name is taken or none, bad usage or configuration.
    """
    with remembered(), remembering.opened(remembering.store_of(project, store), session) as memory:
        if merge:
            memory.merge(name)
        else:
            memory.branch(name).close()
    write(f"branch {name} has {'come back' if merge else 'begun'}")


@click.command(name="events", cls=PlainCommand)
@session_option
@store_option
@format_option
@project_option
def events_command(*, session: str, store: str | None, form: str, project: str | None) -> None:
    """List the compactions of a session: by which profile, of which messages, and what they saved.

    The last five of each profile are kept.

    Examples:
      constat memory events --session refund
      constat memory events --session refund --format json

    Exit codes: 0 listed (also where there are none), 2 bad usage or configuration.
    """
    with remembered():
        found = remembering.happened(remembering.store_of(project, store), session)
    if form == "json":
        write_json(
            [
                {
                    "profile": name,
                    "number": one.number,
                    "round": one.round,
                    "first_message": one.start,
                    "last_message": one.end,
                    "tokens_before": one.before,
                    "tokens_after": one.after,
                    "messages_compacted": one.compressed,
                    "summary": one.summary,
                    "places": list(one.key_facts),
                    "snapshot": one.snapshot,
                }
                for name, one in found
            ]
        )
        return
    for name, one in found:
        write(
            f"{name} {one.number}, round {one.round}: m{one.start}..m{one.end}, {one.before:,} -> "
            f"{one.after:,} tokens ({counted(one.compressed, 'message')} summarized)"
        )
    if not found:
        note("nothing was compacted by a policy; within a --budget nothing is kept of it")


@click.command(name="know", cls=PlainCommand)
@click.argument("fact")
@session_option
@click.option("--task", required=True, metavar="NAME", help="The finished task that found it.")
@click.option("--title", required=True, metavar="TEXT", help="What the task was about.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1),
    default=1.0,
    show_default=True,
    metavar="SHARE",
    help="How sure the fact is, from 0 to 1.",
)
@click.option("--tag", "tags", multiple=True, metavar="WORD", help="A tag; may be given again.")
@store_option
@project_option
def know_command(  # noqa: PLR0913  one argument for each option
    fact: str,
    *,
    session: str,
    task: str,
    title: str,
    confidence: float,
    tags: tuple[str, ...],
    store: str | None,
    project: str | None,
) -> None:
    """Keep a FACT of a finished task, with how sure it is, its source and its tags.

    Examples:
      constat memory know "refunds take 3 days" --session refund --task t1 --title refunds

    Exit codes: 0 kept, 2 bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        told = (title, *tags)
        found = remembering.learned(
            folder, session, fact, task=task, confidence=confidence, tags=told
        )
    write(f"kept: {found.source}, {', '.join(found.tags)}")


@click.command(name="knowledge", cls=PlainCommand)
@click.argument("words", nargs=-1)
@session_option
@click.option("--tag", default="", metavar="WORD", help="Only with this tag.")
@click.option("--source", default="", metavar="NAME", help="Only of this source: `task:NAME`.")
@click.option(
    "--least", type=click.FloatRange(0, 1), default=0.0, metavar="SHARE", help="At least so sure."
)
@store_option
@format_option
@project_option
def knowledge_command(  # noqa: PLR0913  one argument for each option
    words: tuple[str, ...],
    *,
    session: str,
    tag: str,
    source: str,
    least: float,
    store: str | None,
    form: str,
    project: str | None,
) -> None:
    """Ask what finished tasks have found: by WORDS, by tag, by source, by how sure it is.

    Examples:
      constat memory knowledge --session refund --tag refunds --least 0.5
      constat memory knowledge days --session refund --format json

    Exit codes: 0 asked (also where nothing is found), 2 bad usage or configuration.
    """
    with remembered():
        folder = remembering.store_of(project, store)
        found = remembering.knowledge(
            folder, session, " ".join(words), tag=tag, source=source, least=least
        )
    if form == "json":
        names = ("content", "confidence", "source", "tags")
        write_json([{name: getattr(one, name) for name in names} for one in found])
        return
    for one in found:
        write(f"{one.confidence:g} {one.content} ({one.source}; {', '.join(one.tags)})")
    if not found:
        note("nothing was found")


_COMMANDS: Final = (
    ("compact", "Compact logs of conversations to facts.", compact_command),
    ("show", "Show what of a session is in sight.", show_command),
    ("why", "Prove why a fact is in sight, or is not.", why_command),
    ("open", "Print what was said at a place.", open_command),
    ("search", "Find what was said by words.", search_command),
    ("pin", "Keep a fact in sight.", pin_command),
    ("retract", "Take a fact back.", retract_command),
    ("branch", "Begin a branch for an agent, or bring it back.", branch_command),
    ("events", "List what was compacted.", events_command),
    ("know", "Keep a fact of a finished task.", know_command),
    ("knowledge", "Ask what finished tasks have found.", knowledge_command),
    ("stats", "Count what is kept.", stats_command),
    ("forget", "Forget texts; their digests stay.", forget_command),
)


@click.group(name="memory", cls=LazyGroup, listed=_COMMANDS)
def command() -> None:
    """Keep conversations with language models as facts, and show what of them still matters.

    Every message is kept word for word. Facts are found in it without a model, each with the bytes
    that say it; rules decide which of them belong into a context, and each decision has a proof.
    """
