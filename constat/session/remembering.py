"""Memories on behalf of people: logs compacted, places opened, texts forgotten, proofs checked.

In: the folder of a project or a store, and what is asked.  Out: values to print.  Invariants: a log
is read whole before anything of it is kept; messages that a session has already are not appended
again; a proof is shown with what the independent checker says of it.

Example: ``compacted(log, CompactionOptions(budget=2_000)).ratio``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.frozen import frozen
from constat.memory import Context, Memory
from constat.memory.archive import Archive
from constat.memory.history import SILENT
from constat.memory.logs import Log, read_log, write_log
from constat.memory.messages import Message, MessageFormatError, Role, Text
from constat.memory.policy import Window, context_limit
from constat.memory.profiles import NAMES, events, made_by, proactive, profile
from constat.memory.tokens import estimate, messages_tokens
from constat.project import find_project, load_project
from constat.session.result import checked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from constat.check import Report
    from constat.memory import Checkpoint, Claim, Line
    from constat.memory.decisions import Proof
    from constat.memory.extract.by_model import Extraction
    from constat.memory.journal import Forgotten
    from constat.memory.profiles.proactive import Knowledge
    from constat.model import Client
    from constat.project import Project

MOST_BYTES: Final = 256 << 20
RECONCILED: Final = NAMES[0]


@frozen
class CompactionOptions:
    """How to compact: within ``budget`` tokens, or as a profile does it.

    ``rules`` is a folder with rules of one's own. One of the four designs does its work where its
    threshold is reached, or ``now``. ``branch`` is one that the messages belong to.
    """

    budget: int | None = None
    profile: str = "reconciled"
    goal: str = ""
    model: str = ""
    rules: Path | None = None
    now: bool = False
    branch: str = ""


@frozen
class Contradiction:
    """Two claims about one slot, neither of which corrects the other."""

    slot: str
    one: str
    one_place: str
    other: str
    other_place: str


@dataclass(frozen=True)
class Compaction:
    """What became of a history; counts are of facts, by their kinds where they are many."""

    session: str
    messages: int
    facts: int
    before: int
    after: int
    kept_messages: int
    compacted: bool
    reason: str
    kept: Mapping[str, int]
    current: int
    superseded: int
    refused: int
    contradictions: tuple[Contradiction, ...]
    lines: tuple[Line, ...]
    log: Log = field(repr=False)
    extraction: Extraction | None = None
    block: str = ""

    @property
    def ratio(self) -> float:
        """How many times fewer the tokens are."""
        return self.before / max(1, self.after)


@dataclass(frozen=True)
class Checked:
    """A proof with the report of the checker on its certificate."""

    proof: Proof
    report: Report


@frozen
class Statistics:
    """What is kept of a session."""

    session: str
    messages: int
    tokens: int
    texts: int
    bytes: int
    facts: Mapping[str, int]
    branches: int
    checkpoints: int


def store_of(project: str | None, store: str | None) -> Path:
    """Return the folder in which memories are kept: the given one, or the project's state."""
    if store is not None:
        return Path(store)
    return _project_of(project).state


def _project_of(project: str | None) -> Project:
    """Load the project; where there is none, memory may be kept in a folder."""
    try:
        folder = find_project(None if project is None else Path(project))
    except ConstatError as problem:
        hint = "memory needs no project: name a folder for it, `--store DIR`; or"
        told = [replace(one, help=f"{hint} {one.help}") for one in problem.diagnostics]
        raise ConstatError(told) from None
    return load_project(folder)


def rules_of(project: str | None, given: str | None, *, wanted: bool = True) -> Path | None:
    """Return the folder of somebody's own rules: the given one, or that of the project.

    The project is looked at only where it is ``wanted``. Raises ``ConstatError`` C0933 for what is
    no folder.
    """
    if given is not None:
        if Path(given).is_dir():
            return Path(given)
        message = "the rules of memory are no folder"
        told = Diagnostic("C0933", message, help="copy a file of `rules/memory` into one")
        raise ConstatError([told])
    if not wanted:
        return None
    return _project_of(project).memory.rules


def opened(folder: Path, session: str, *, options: CompactionOptions | None = None) -> Memory:
    """Open the memory of a session that is kept; raises ``ConstatError`` C0927 for another."""
    known = Archive(folder).sessions()
    if session not in known:
        near = nearest(session, known)
        raise ConstatError([_no_session(session, near)])
    return _memory(folder, session, options or CompactionOptions())


def opened_by(project: str | None, store: str | None, session: str, rules: str | None) -> Memory:
    """Open a memory that is kept in a project or a folder, with the rules that are wished for."""
    options = CompactionOptions(rules=rules_of(project, rules, wanted=store is None))
    return opened(store_of(project, store), session, options=options)


def sessions(folder: Path) -> tuple[str, ...]:
    """Name the sessions that are kept."""
    return Archive(folder).sessions()


def compacted(
    contents: Sequence[tuple[str, bytes]],
    options: CompactionOptions,
    *,
    folder: Path | None = None,
    session: str = "main",
    form: str = "",
    client: Client | None = None,
) -> Compaction:
    """Read logs, one after the other, and compact them; with a folder they are kept there.

    With a client a model also looks for facts in the prose of messages that are new.
    Raises ``ConstatError``: C0925 for what is no log, C0803 where what is pinned does not fit.
    """
    with _memory(folder, session, options) as whole:
        memory = whole.resume(options.branch) if options.branch else whole
        log = _read(contents, memory, form)
        had = tuple(memory.history.messages)
        # The log of a session that goes on begins with what is known of it.
        start = len(had) if log.messages[: len(had)] == had else 0
        memory.append(log.messages[start:], after=len(had))
        extraction = None if client is None else _extracted(memory, len(had), client)
        context, block = _context(memory, options)
        report = _report(memory, context, options, Log(log.format, context.messages))
        return replace(report, extraction=extraction, block=block)


def _context(memory: Memory, options: CompactionOptions) -> tuple[Context, str]:
    """Return the context that is wished for, and the block of the design that made it."""
    if options.budget is not None or options.profile == RECONCILED:
        return memory.context(options.budget, options.goal), ""
    made = made_by(options.profile, memory, model=options.model, now=options.now)
    before, after = (messages_tokens(one) for one in (memory.history.messages, made.messages))
    done = bool(made.number)
    return Context(
        made.messages, after, before, done, made.reason, checkpoint=made.number
    ), made.block


def written(compaction: Compaction, store: Path | None) -> bytes:
    """Return the compacted messages in the format of the log."""
    if store is None:
        with Memory() as scratch:
            return write_log(compaction.log, scratch.attachments)
    return write_log(compaction.log, Archive(store))


def proved(memory: Memory, place: str, goal: str) -> tuple[Checked, ...]:
    """Prove why what is said at a place is in sight or not, and let the checker look at it."""
    return tuple(
        Checked(proof, checked(proof.certificate, None, ())) for proof in memory.why(place, goal)
    )


def statistics(folder: Path, session: str) -> Statistics:
    """Count what is kept of a session."""
    with opened(folder, session) as memory:
        history = memory.history
        texts = {one.passage.archive: one.passage.content for one in history.texts}
        from constat.memory.journal import Checkpoints, Journal  # noqa: PLC0415  loaded when it is used

        return Statistics(
            session,
            len(history.messages),
            sum(estimate(one.passage.text) for one in history.texts),
            len(texts),
            sum(map(len, texts.values())),
            _by_kind(history.claims),
            len(Journal(memory.archive, session).branches()),
            len(Checkpoints(memory.archive, session).all()),
        )


def forgotten(folder: Path, session: str, place: str, *, by: str, reason: str) -> Forgotten:
    """Forget the texts of a place (``m3``, all of a message; or a digest), or of a session."""
    from constat.memory.journal import forget  # noqa: PLC0415  loaded when it is used

    with opened(folder, session) as memory:
        digests = _digests(memory, place)
        archive = memory.archive
    found: Forgotten = forget(archive, digests, by=by, reason=reason)
    return found


def _extracted(memory: Memory, first: int, client: Client) -> Extraction:
    """Let a model look for facts in the messages from a number on, and keep what it found."""
    from constat.memory.extract.by_model import extract_by_model  # noqa: PLC0415  loaded when it is used

    texts = (one.passage for one in memory.history.texts if one.passage.message >= first)
    found: Extraction = extract_by_model(texts, client)
    memory.note((*found.facts, *found.rejected))
    return found


def _digests(memory: Memory, place: str) -> list[str]:
    if place.startswith("sha256:"):
        return [place]
    texts = memory.history.texts
    if place == "all":
        return [one.passage.archive for one in texts]
    name = place.removeprefix("@").removeprefix("ref:").partition("[")[0]
    found = [
        one.passage.archive for one in texts if one.name == name or one.name.startswith(f"{name}.")
    ]
    if not found:
        message = f"`{place}` names no text of session `{memory.session}`"
        told = Diagnostic(
            "C0926", message, help="write `m3` for message 3, a digest `sha256:...`, or `all`"
        )
        raise ConstatError([told])
    return found


def _memory(folder: Path | None, session: str, options: CompactionOptions) -> Memory:
    chosen = profile(options.profile)
    window = Window(context_limit(options.model)) if options.model else chosen.window
    return Memory(
        folder,
        session,
        policy=chosen.policy,
        window=window,
        rules=options.rules,
        model=options.model,
    )


def _read(contents: Sequence[tuple[str, bytes]], memory: Memory, form: str) -> Log:
    logs = []
    for name, content in contents:
        if len(content) > MOST_BYTES:
            told = Diagnostic("C0925", f"{name} is no log: it has more than {MOST_BYTES:,} bytes")
            raise ConstatError([told])
        try:
            logs.append(read_log(content, memory.attachments, form))
        except MessageFormatError as problem:
            told = Diagnostic(
                "C0925",
                f"{name} is no log: {problem}",
                note="nothing was kept",
                help='a log is JSON such as [{"role": "user", "content": "..."}], or one message '
                "a line",
            )
            raise ConstatError([told]) from problem
    return Log(logs[0].format, tuple(message for log in logs for message in log.messages))


def _report(memory: Memory, context: Context, options: CompactionOptions, log: Log) -> Compaction:
    _, decided = memory.decided(options.goal)
    every = memory.history.claims
    claims = {one.name: one for one in every if one.fact.predicate not in SILENT}
    lines = () if context.view is None else context.view.lines
    shown = [claims[name] for one in lines for name in one.claims if name in claims]
    refused = sum(1 for name in claims if name in decided.refused)
    current = sum(1 for name in claims if name in decided.current)
    pairs = (
        _contradiction(claims[one], claims[other])
        for one, other in decided.contradictions
        if one in claims and other in claims
    )
    return Compaction(
        memory.session,
        len(memory.history.messages),
        len(every),
        context.before,
        context.tokens,
        len(context.messages),
        context.compacted,
        context.reason,
        _by_kind(shown),
        current,
        len(claims) - current - refused,
        refused,
        tuple(pairs),
        lines,
        log,
    )


def _contradiction(one: Claim, other: Claim) -> Contradiction:
    slot = f"{one.fact.subject} {one.fact.key}".strip()
    return Contradiction(slot, one.fact.value, one.place, other.fact.value, other.place)


def _by_kind(claims: Sequence[Claim]) -> dict[str, int]:
    counts = Counter(one.fact.predicate for one in claims)
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _no_session(session: str, near: str | None) -> Diagnostic:
    return Diagnostic(
        "C0927",
        f"no session `{session}` is kept",
        help=f"write `--session {near}`"
        if near
        else f"keep one: `constat memory compact LOG --session {session}`",
    )


def remembered(folder: Path, session: str, text: str, *, rules: Path | None = None) -> int:
    """Keep a text as said by a model, never by a person; gives the number of the message."""
    with _memory(folder, session, CompactionOptions(rules=rules)) as memory:
        (number,) = memory.append((Message(Role.ASSISTANT, (Text(text),)),))
        return number


def happened(folder: Path, session: str) -> tuple[tuple[str, Checkpoint], ...]:
    """Return what compaction made of a session, and by which profile."""
    with opened(folder, session) as memory:
        return events(memory)


def learned(
    folder: Path, session: str, content: str, *, task: str, confidence: float, tags: Sequence[str]
) -> Knowledge:
    """Keep a fact of a finished task in the working memory; the first tag is the task's title."""
    title, *others = tags
    with opened(folder, session) as memory:
        (found,) = proactive.archive_to_knowledge_graph(
            memory.working, task, title, [(content, confidence)], others
        )
        return found


def taken_back(memory: Memory, place: str, by: str, reason: str) -> bool:
    """Take back what is said at a place; tell whether it holds no longer.

    A person may not take back what the system says.
    """
    memory.retract(place, by, reason)
    return all(one.goal.startswith("superseded(") for one in memory.why(place))


def knowledge(
    folder: Path, session: str, words: str, *, tag: str, source: str, least: float
) -> tuple[Knowledge, ...]:
    """Return the facts of finished tasks that are kept."""
    with opened(folder, session) as memory:
        return proactive.known(memory.working, words, tag=tag, source=source, least=least)
