"""What the commands print about the log, signatures and what was kept."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from constat.cli.schemas.forms import Count, Digest, Items, Ordinal, Result, Root, Time


class ExportFormat(TypedDict):
    """An export format."""

    name: Annotated[str, "What `--to` takes."]
    purpose: Annotated[str, "What it is for, in a few words."]
    suffix: Annotated[str, "How the names of its files end."]
    binary: Annotated[bool, "Whether it is no text."]
    extra: Annotated[str | None, "The extra of the package `constat` that it needs, if any."]


class ExportResult(TypedDict):
    """The formats that a certificate can be exported in.

    An export itself has the form of its format.
    """

    formats: list[ExportFormat]


class HistoryQuestionHead(TypedDict):
    """A question."""

    number: Ordinal
    question: str
    status: Literal["planned", "running", "answered", "failed", "interrupted"]
    asked_by: str
    at: str
    plans: Annotated[Count, "How many versions its plan has."]


class Exploration(TypedDict):
    """An exploration."""

    exploration: Annotated[str, "Its id."]
    title: Annotated[str, "Its first question."]
    began: Annotated[str, "When it began, UTC."]
    questions: Annotated[list[HistoryQuestionHead], "Its questions."]


class HistoryQuestion(TypedDict):
    """A question."""

    number: int
    question: str
    status: str


class HistoryTable(TypedDict):
    """A table."""

    name: str
    step: Annotated[Count, "The step that made it."]
    version: Annotated[Count, "Its version."]
    rows: Annotated[Count, "Its rows."]
    columns: Annotated[list[list[str]], "Names and kinds."]
    sha256: Annotated[str, "The hash of its content."]
    at: Annotated[str, "When it was kept, UTC."]


class ExplorationState(TypedDict):
    """What an exploration holds."""

    exploration: Annotated[str, "Its id."]
    title: str
    today: str
    questions: Annotated[list[HistoryQuestion], "Its questions."]
    tables: Annotated[list[HistoryTable], "Its tables."]
    variables: Annotated[dict[str, object], "State variables, any JSON."]
    notes: Annotated[list[str], "The scratchpad."]


class StepAttempt(TypedDict):
    """A try."""

    number: Annotated[Ordinal, "The how manieth of its run."]
    text: Annotated[str, "What ran."]
    output: Annotated[str, "What it printed, on stdout and stderr."]
    error: Annotated[str, "Why it failed; empty where it ended well."]
    queries: Annotated[list[str], "What code asked databases."]
    ended: Annotated[str, "When it was kept, UTC."]


class HistoryStep(TypedDict):
    """What is kept of a step."""

    number: Annotated[Ordinal, "Its number, over all questions."]
    name: Annotated[str, "Its name."]
    goal: Annotated[str, "What it is for."]
    work: Annotated[str, "By what it works: rules, rank, sql, python."]
    question: Annotated[Ordinal, "The question whose plan has it."]
    source: Annotated[str, "The database that it asks; empty where none."]
    inputs: Annotated[list[str], "The relations that it is expected to read."]
    outputs: Annotated[list[str], "Its relations, as declared."]
    attempts: Annotated[list[StepAttempt], "Its tries, the oldest first."]
    tables: Annotated[list[HistoryTable], "Its tables."]


class BulkDifference(TypedDict):
    """An answer in bulk that was counted again and was another one."""

    query: Annotated[str, "The query."]
    why: Annotated[str, "What differed."]
    found_at: Annotated[Time, "When it was found."]


class HistoryResult(TypedDict):
    """The explorations of a project; with an id, what one of them holds.

    Members are only ever added.
    """

    explorations: Annotated[list[Exploration], "All of them; empty with an id."]
    differences: NotRequired[
        Annotated[list[BulkDifference], "Answers in bulk that were others, counted again."]
    ]
    state: NotRequired[ExplorationState]
    step: NotRequired[HistoryStep]


class KeygenResult(TypedDict):
    """The key that was made; the private half is in its file only."""

    private_key: Annotated[str, "The file of the private key."]
    public_key: Annotated[str, "The file of the public key."]
    encrypted: Annotated[bool, "Whether the private key has a passphrase."]
    role: Annotated[str, "The role its owner signs in."]
    name: Annotated[str, "Whose key it is."]
    key: Annotated[Digest, "The id of the key: the sha256 of its DER form."]


class LogExpireResult(TypedDict):
    """What was removed, and what would have been."""

    expired: Annotated[list[Count], "The decisions whose content was removed."]
    held: Annotated[list[Count], "The decisions that are over their time and held."]


class LogEntry(TypedDict):
    """One entry of the log, with what later entries say about it."""

    entry: Annotated[Count, "Its number."]
    time: Annotated[str, "When it was written."]
    kind: Annotated[
        Literal["begin", "decision", "hold", "release", "expire", "repair"],
        "What kind of entry it is.",
    ]
    hash: Annotated[str, "The hash of its head, which the next entry holds."]
    previous: Annotated[str, "The hash of the entry before it."]
    retention: Annotated[str, "Its class of retention."]
    until: Annotated[str | None, "The time it is kept to; null is for ever."]
    expired: Annotated[bool, "Whether its content is gone."]
    goal: Annotated[str | None, "What was decided."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"] | None,
        "The verdict; null where it is no decision, or has expired.",
    ]
    who: Annotated[str | None, "Who decided, held, released or expired."]
    identity: Annotated[str | None, "The identity of the proof."]
    certificate: Annotated[str | None, "The sha256 of the certificate's bytes."]
    supersedes: Annotated[Count | None, "The number of the decision that it takes the place of."]
    superseded_by: Annotated[Count | None, "The number of the decision that takes its place."]
    held_for: Annotated[list[str], "The matters that it is held for."]
    targets: Annotated[list[int], "The entries that it is about."]
    matter: Annotated[str | None, "What entries are held for or released from."]
    reason: Annotated[str | None, "Why."]


class LogVerifyResult(TypedDict):
    """Whether the log is what was written."""

    whole: Annotated[bool, "Whether nothing is wrong."]
    anchored: Annotated[bool, "Whether it was held against a signed head."]
    problems: Annotated[list[str], "What is wrong, in the order of the entries."]
    entries: Annotated[Count, "How many entries there are."]
    decisions: Annotated[Count, "How many of them are decisions."]
    expired: Annotated[Count, "How many decisions have expired."]
    held: Annotated[Count, "How many decisions are held."]
    repairs: Annotated[Count, "How many torn lines were moved aside."]
    log: Annotated[str, "The id of the log."]
    hash: Annotated[str, "The hash of its last entry."]
    time: Annotated[str, "The time of its last entry."]


class SignResult(TypedDict):
    """The signature that was added."""

    signature: Annotated[str, "The file of signatures."]
    role: Annotated[str, "The role its owner signs in."]
    name: Annotated[str, "Who signed."]
    meaning: Annotated[
        Literal["produced", "approved", "reviewed", "audited"],
        "What the signature says of the certificate.",
    ]
    key: Annotated[str, "The id of the key."]


class SnapshotResult(TypedDict):
    """What was committed to."""

    statement: Annotated[str, "The file of the signed statement."]
    root: Annotated[Root, "The Merkle root of the rows."]
    predicate: Annotated[str, "The predicate."]
    columns: Annotated[list[Annotated[list[str], Items(2, 2)]], "Its columns: name and kind."]
    order: Annotated[list[str], "The columns that the rows are sorted by, in order."]
    rows: Annotated[Count, "How many rows there are."]
    hash: Annotated[str, "The hash of the rows, as certificates define it."]
    source: Annotated[str, "The source."]
    origin: Annotated[Literal["CONFIG", "DATABASE"], "Its kind."]
    query: Annotated[str, "The query that gave the rows."]
    state: Annotated[str, "The state of the source, where it has a name."]
    executed: Annotated[str, "When they were read."]


RESULTS: Final = MappingProxyType(
    {
        "export": Result(ExportResult, "Result of `constat export --list --format json`"),
        "history": Result(HistoryResult),
        "keygen": Result(KeygenResult),
        "log-expire": Result(LogExpireResult),
        "log-list": Result(
            Annotated[list[LogEntry], "Entries in the order in which they were written."]
        ),
        "log-show": Result(LogEntry),
        "log-verify": Result(LogVerifyResult),
        "sign": Result(SignResult),
        "snapshot": Result(SnapshotResult),
    }
)
