"""What the commands print that answer and verify."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from constat.cli.schemas.forms import (
    Confidence,
    Count,
    Items,
    Open,
    Ordinal,
    Quantity,
    Result,
    Time,
)
from constat.cli.schemas.parts import Assumption, Diagnostic, ModelCosts, Translation

AnswerValue = Annotated[
    str | bool | float | None,
    (
        "number and unsigned: an integer, beyond 2^53 - 1 a text of digits. float: a "
        'number. Decimal: a text such as "10.5". Bool: true or false. symbol, Date '
        '(2025-01-31), Timestamp (2025-01-31T10:00:00Z), structure ([1, "a"], $Add($Zero,'
        " $Zero)): a text. null: a value that nobody knows."
    ),
]


class AskedDraft(TypedDict):
    """What was drafted; nobody has approved it."""

    id: Annotated[str, "Its identity."]
    short: Annotated[str, "The beginning of it, for `constat rules review`."]
    status: Annotated[
        Literal["proposed", "approved", "rejected", "superseded"], "What became of it."
    ]
    text: Annotated[str, "Declarations, queries and rules."]
    rules: Annotated[list[str], "The rules, one by one."]


class AskedRow(TypedDict):
    """An asked row."""

    values: Annotated[list[str], "A value for each column."]
    verdict: Annotated[Literal["PROVED", "PROVED_UNDER", "UNRESOLVED"], "The verdict of the row."]


class AskedAnswers(TypedDict):
    """The answers of a goal with variables: at most 1,000 rows."""

    columns: Annotated[list[str], "The variables."]
    rows: Annotated[list[AskedRow], "The first rows, values as texts."]
    total: Annotated[Count, "How many rows there are."]
    settled: Annotated[Literal["SETTLED", "SETTLED_UNDER", "OPEN"], "Whether there can be others."]


class ModelUsage(TypedDict):
    """What the whole question has used: drafting, sub-plans, and facts that models told."""

    calls: Annotated[Count, "Calls that were paid for; replayed ones are not."]
    read: Annotated[Count, "Tokens read at the full price."]
    cached: Annotated[Count, "Tokens that the provider had kept."]
    stored: Annotated[Count, "Tokens that it keeps from now on."]
    written: Annotated[Count, "Tokens written."]
    cost: Annotated[str, "The price, an exact decimal; 0 where no prices are configured."]
    currency: Annotated[str, "The currency of the prices."]


class RecordEntry(Open):
    """A record entry.

    `told` what the model was told, `reply` what it said, `lookup` what a tool gave, `check`
    what was found in a proposal.
    """

    kind: Annotated[Literal["told", "reply", "lookup", "check"], "What happened."]


class DraftRecord(TypedDict):
    """The transcript of a question."""

    id: Annotated[str, "Its id."]
    question: Annotated[str, "The question."]
    at: Annotated[Time, "UTC, ISO 8601 with microseconds."]
    entries: Annotated[list[RecordEntry], "What happened, in order."]
    outcome: Annotated[
        dict[str, object],
        "Goal, verdict and draft, or the error that ended it; empty while it goes on.",
    ]


class AttestingAgent(TypedDict):
    """Whose word it is."""

    kind: Annotated[Literal["model", "person", "service"], "What it is."]
    name: Annotated[str, "Its name."]
    version: Annotated[str | None, "Its version."]
    digest: Annotated[str | None, "Its digest."]


class Quote(TypedDict):
    """A place in a document."""

    document: Annotated[str, "The document."]
    text: Annotated[str, "The words."]
    start: Annotated[Count, "First byte."]
    end: Annotated[Count, "Byte behind the last."]
    hash: Annotated[str | None, "Hash of the document."]


class Reviewer(TypedDict):
    """A person and a time."""

    name: Annotated[str, "The person."]
    at: Annotated[str, "When, in UTC."]


class Attestation(TypedDict):
    """Who said a fact, and how it was got."""

    agent: AttestingAgent
    prompt: Annotated[str | None, "Hash of what was asked."]
    response: Annotated[str | None, "Hash of what came back."]
    quote: Annotated[Quote | None, "The words of a document that say it."]
    reviewer: Annotated[Reviewer | None, "Who looked at it and agreed."]
    note: Annotated[str | None, "A remark of whoever stated it."]


class Source(TypedDict):
    """Where a row or an absence was read."""

    tier: Annotated[str, "The tier that answered."]
    origin: Annotated[str, "Whose word it is."]
    name: Annotated[str, "The source's name."]
    query: Annotated[str | None, "The exact query."]
    parameters: Annotated[list[str], "Its parameters, in order."]
    executed_at: Annotated[str, "When; empty where it was not read at a time."]
    rows: Annotated[Count, "How many rows came."]
    author: Annotated[str | None, "Who stated it."]
    attestation: Annotated[
        Attestation | None,
        "Who said it and how it was got; null where nobody did or it is not attested.",
    ]


class Step(TypedDict):
    """One fact of the proof."""

    kind: Annotated[Literal["fact", "rule", "absence", "aggregate"], "How it is known."]
    fact: Annotated[str, "The fact."]
    sentence: Annotated[str, "The fact in words."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]
    reasoning: Annotated[str, "The reason in words; may be empty."]
    rule: Annotated[str, "The rule; may be empty."]
    rule_text: Annotated[str, "The rule's text; may be empty."]
    assumption: Annotated[str, "What must be accepted for it; may be empty."]
    sources: list[Source]
    derived_from: Annotated[list[Count], "The steps it rests on, as places in `steps`."]
    hidden_rows: Annotated[Count, "Rows of an aggregate that are not steps."]
    note: Annotated[str, "A remark; may be empty."]
    level: Annotated[
        Literal["", "C0", "C1", "C2", "C3", "C4"],
        "How well an absence or an aggregate is founded; empty for other steps.",
    ]


class Counterexample(TypedDict):
    """A counterexample."""

    fact: Annotated[str, "The row, or the rows together."]
    because: Annotated[list[str], "What it rests on."]
    sources: Annotated[list[Source], "Sources that were asked for the goal itself."]


class Attempt(TypedDict):
    """What became of one rule that could have given the goal."""

    rule: Annotated[str, "The rule."]
    rule_text: Annotated[str, "Its body, with what is bound filled in."]
    state: Annotated[str, "How it ended."]
    reached: Annotated[Count, "How many were tried before it stopped; depends on the order."]
    of: Annotated[Count, "How many literals there are."]
    literal: Annotated[str, "The literal it stopped at; may be empty."]
    required: Annotated[str, "What a comparison needed; may be empty."]
    actual: Annotated[str, "What there was; may be empty."]
    distance: Annotated[str, "How far off; may be empty."]
    tried: Annotated[Count, "Bindings that got this far; the first is described."]
    counterexamples: Annotated[list[Counterexample], 'The first rows that contradict an "every".']
    counted: Annotated[Count, "How many rows contradict it."]
    at_least: Annotated[bool, "Whether there may be more: the engine stopped when one was enough."]
    summed: Annotated[bool, "Whether they make a sum too large together, and none by itself."]
    untried: Annotated[list[str], "The conditions behind the one that it stopped at."]
    sentence: Annotated[str, "The reason in words."]


class MissingFactPattern(TypedDict):
    """A missing fact."""

    goal: Annotated[str, "It as a goal to paste back."]
    reason: Annotated[str, "Why it is not known."]
    tier: Annotated[str, "The tier that did not know; may be empty."]
    if_true: Annotated[str, "What the goal becomes if it holds; empty where not tried."]
    if_false: Annotated[str, "What the goal becomes if it does not; empty where not tried."]
    sentence: Annotated[str, "That it is not known, in a sentence."]
    edit: Annotated[str, "A declaration that decides it, where NULL is no value; may be empty."]


class Proof(TypedDict):
    """The derivation as flat steps."""

    goal: Annotated[str, "The goal."]
    verdict: Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]
    exact: bool
    assumptions: list[str]
    roots: Annotated[list[Count], "The steps that prove the goal, as places in `steps`."]
    steps: list[Step]
    attempts: Annotated[list[Attempt], "Why the goal's rules do not give it."]
    looked_up: Annotated[list[Source], "Sources that were asked for the goal itself."]
    missing: list[MissingFactPattern]
    missing_left: Annotated[Count, "What is missing besides."]
    failures: Annotated[list[str], "Rule instances that erred."]
    stopped: Annotated[str, "The limit that ended the search; empty or `settled` otherwise."]
    as_of: Annotated[
        str, "The time at which the facts had been recorded; empty for those of the present."
    ]


class Call(TypedDict):
    """One question that went outside."""

    number: Annotated[Ordinal, "Its place in the order."]
    predicate: Annotated[str, "The predicate that was asked."]
    bound: Annotated[list[str], "The columns whose values were given."]
    keys: Annotated[Count, "For how many keys."]
    rows: Annotated[Count, "How many rows came."]
    open: Annotated[Count, "How many shapes of rows stayed open."]
    unanswered: Annotated[Count, "How many keys nobody answered."]
    milliseconds: Annotated[Quantity, "How long it took."]


class ProveResult(TypedDict):
    """The verdict on the goal, as `constat prove` gives it."""

    goal: Annotated[str, "The goal as it can be typed."]
    translation: NotRequired[Translation]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of it.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the command."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]
    confidence_is_exact: Annotated[
        bool, "Whether no better proof exists; otherwise the confidence is a lower bound."
    ]
    created: Annotated[Time, "UTC, ISO 8601 with microseconds."]
    as_of: Annotated[
        str | None, "The time at which the facts had been recorded; null for those of the present."
    ]
    snapshot: Annotated[
        Literal["one", "not one snapshot"] | None,
        (
            "Whether the verdict rests on one state of one source (`one`); with `not one "
            "snapshot` what was read may have changed in between. Null where no database, "
            "API or document was read."
        ),
    ]
    assumptions: Annotated[list[Assumption], "What the verdict rests on; empty unless it is UNDER."]
    missing: Annotated[list[str], "Goals whose answers would decide an unresolved goal."]
    conflicts: Annotated[list[str], "Who says another value for a key than what counts."]
    unapproved: NotRequired[
        Annotated[list[str], "Rules whose approval would decide it, with --require-approved."]
    ]
    proof: Proof
    calls: Annotated[list[Call], "What was asked outside, in order."]
    logged: NotRequired[
        Annotated[
            Count | None,
            "The number of the entry in the log of decisions; null where nothing was written down.",
        ]
    ]
    supersedes: NotRequired[
        Annotated[str | None, "The identity of the proof that this one takes the place of."]
    ]
    models: NotRequired[ModelCosts | None]


class AskResult(TypedDict):
    """A question, how it was read, what was drafted for it, and the verdict.

    With --show the transcript alone, which is `record`. Members are only ever added.
    """

    question: Annotated[str, "The question."]
    goal: Annotated[str, "How the model read it; the verdict is about this."]
    translation: Translation
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the command."]
    reused: Annotated[list[str], "Predicates of the project that goal and draft use."]
    draft: Annotated[
        AskedDraft | None, "What was drafted besides; null where existing predicates sufficed."
    ]
    answers: Annotated[
        AskedAnswers | None, "The answers where the goal has variables; otherwise null."
    ]
    invented: Annotated[
        list[str], "Constants of the draft that were neither asked for nor looked up."
    ]
    remarks: Annotated[list[Diagnostic], "Warnings about goal and draft."]
    model: Annotated[str, "Who answered; `written-answers` are people's."]
    replayed: Annotated[
        bool, "Whether the answer came from a tape or was kept, so that no model was asked."
    ]
    rounds: Annotated[Count, "How many proposals there were."]
    usage: ModelUsage
    transcript: Annotated[str, "The id of the record, for `constat ask --show`."]
    record: Annotated[DraftRecord | None, "What was exchanged, where --transcript asks for it."]
    result: ProveResult


class Failure(TypedDict):
    """One object on stderr, whatever the command; stdout is empty.

    The same exit code as without JSON.
    """

    error: Annotated[str, "What is wrong, in a sentence."]
    exit_code: Annotated[Literal[2, 8, 9, 70, 78, 130], "The exit code of the command."]
    diagnostics: Annotated[
        list[Diagnostic],
        (
            "Mistakes of goal, rules, configuration and files; empty where the command "
            "line itself is wrong."
        ),
    ]
    models: NotRequired[ModelCosts | None]


class OpenShape(TypedDict):
    """An open shape."""

    facts: Annotated[Ordinal, "Its different facts, rows that an aggregate reads included."]
    height: Annotated[Count, "The height of the proof tree: 0 for a row of a source."]
    size: Annotated[
        Ordinal, "The size of the proof tree, in which a fact counts as often as it is used."
    ]


class ProveAllResult(TypedDict):
    """The proofs of a goal, the most confident first.

    A goal that is not proved has the one result that `constat prove` gives. Members are only
    ever added.
    """

    goal: Annotated[str, "The goal as it can be typed."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of it.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the command."]
    count: Annotated[Count, "How many proofs are given; 0 where the goal is not proved."]
    complete: Annotated[bool, "Whether there are no other proofs."]
    stopped: Annotated[str, "What ended the search for others; empty where nothing did."]
    shapes: Annotated[list[OpenShape], "How large each proof is; empty where none was looked for."]
    proofs: Annotated[Annotated[list[ProveResult], Items(1, None)], "The proofs, in order."]
    models: NotRequired[ModelCosts | None]


class ProveEngineResult(TypedDict):
    """The word of another engine about a goal: no verdict, and without a certificate."""

    goal: Annotated[str, "The goal as it can be typed."]
    engine: Annotated[Literal["pydatalog"], "Who answered."]
    answer: Annotated[
        Literal["yes", "no", "none"],
        "Whether a row matches; none when the engine was stopped before its end.",
    ]
    exit_code: Annotated[Literal[0, 4, 5], "0 for yes, 5 for no, 4 for none."]
    rows: Annotated[Count | None, "How many rows match the goal; null where there is no answer."]
    reason: Annotated[
        str, "Why there is no answer: a limit, an error of a rule instance; else empty."
    ]


class QueryEngineColumn(TypedDict):
    """A variable of the query."""

    name: Annotated[str, "Its name without `?`."]
    kind: Annotated[
        Literal[
            "number",
            "unsigned",
            "float",
            "symbol",
            "Date",
            "Timestamp",
            "Decimal",
            "Bool",
            "structure",
        ],
        "The kind of its values.",
    ]


class QueryEngineResult(TypedDict):
    """The rows that another engine finds, without verdicts and proofs."""

    query: Annotated[str, "The query as it was typed."]
    engine: Literal["pydatalog"]
    exit_code: Annotated[
        Literal[0, 4], "The exit code of the command: 0 these are all rows, 4 no answer."
    ]
    reason: Annotated[str, "Why there is no answer; empty otherwise."]
    columns: list[QueryEngineColumn]
    rows: list[
        Annotated[
            dict[str, str | bool | float], "A value for each column; see `constat schema query`."
        ]
    ]


class QueryExplainRowResult(TypedDict):
    """The proofs of one row of a query's answers, one for each positive atom.

    Members are only ever added.
    """

    query: Annotated[str, "The query as it was typed."]
    row: Annotated[str, "The values of the row as they were typed."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "The verdict of the least certain atom.",
    ]
    proofs: Annotated[list[ProveResult], "A result for each atom."]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the command."]
    models: NotRequired[ModelCosts | None]


class AnswerCounts(TypedDict):
    """How many rows there are, whatever is shown of them."""

    proved: Annotated[Count, "Rows that are proved."]
    proved_under: Annotated[Count, "Rows that are proved under assumptions."]
    computed: Annotated[Count, "Rows that bulk evaluation gives and that nothing has checked."]
    computed_under: Annotated[Count, "Such rows that rest on assumptions."]
    unresolved: Annotated[Count, "Rows that are possible and not decided."]
    excluded_under: Annotated[
        Count, "Rows and shapes of rows that only an assumption rules out; they are not listed."
    ]
    fewest: Annotated[
        Count,
        (
            "How many rows there are at least: rows that differ only in what nobody knows"
            " may be one row."
        ),
    ]
    shown: Annotated[Count, "Rows in `rows`."]
    left_out: Annotated[Count, "Rows that --limit leaves out."]
    unplaced: Annotated[
        Count, "Those of them that may belong further up: what rows are sorted by is not known."
    ]


class OpenReason(TypedDict):
    """One reason."""

    predicate: Annotated[str, "What was not known."]
    reason: Annotated[str, "Why."]
    tier: Annotated[str, "The tier that did not know; may be empty."]
    count: Annotated[Ordinal, "How often."]
    goal: Annotated[str, "One goal to ask for, or the bindings of a rule that erred; may be empty."]
    others: Annotated[list[str], "Further such goals, at most 99."]
    edit: Annotated[
        str, "The declaration that decides it, where NULL means no value; may be empty."
    ]


class OpenAnswers(TypedDict):
    """Why there may be more answers."""

    shapes: Annotated[Count, "Shapes of further rows that are possible."]
    stopped: Annotated[str, "The limit that ended the search; empty otherwise."]
    reasons: list[OpenReason]


class RowDifference(TypedDict):
    """One row."""

    values: Annotated[dict[str, AnswerValue], "A value for each column."]
    goal: Annotated[str, "What to prove for this row."]
    said: Annotated[str, "What the row was called."]
    verdict: Annotated[str | None, "What proving it says; null where it came to no verdict."]
    reason: Annotated[str, "Why it is no answer."]


class RowCheck(TypedDict):
    """Rows that were proved one by one."""

    asked: Annotated[Ordinal, "The N of --check."]
    proved: Annotated[
        Count, "Rows whose certificates the checker accepts; it says nothing of any other."
    ]
    differences: Annotated[
        list[RowDifference], "Rows that were computed and did not prove; they are not among `rows`."
    ]


class Recount(TypedDict):
    """What follows from the rules, counted again by another way, against rows of bulk."""

    state: Annotated[
        Literal["passed", "differs", "not checked"],
        (
            "passed: the rows are exactly what follows, so each is proved and none is missing. "
            "differs: something else follows. not checked: it says nothing."
        ),
    ]
    why: Annotated[str, "What differs, or why it was not checked; empty where it passed."]
    extra: Annotated[Count, "Rows that do not follow."]
    missing: Annotated[Count, "Rows that follow and are not among the answers."]
    examples: Annotated[list[dict[str, AnswerValue]], "A few rows that do not follow."]


class QueryRow(TypedDict):
    """One answer."""

    values: Annotated[dict[str, AnswerValue], "A value for each column."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "COMPUTED", "COMPUTED_UNDER", "UNRESOLVED"],
        (
            "What proving the row says; for an UNRESOLVED row, `prove` may know more. "
            "COMPUTED: bulk evaluation gives the row, and nothing has checked it."
        ),
    ]
    goals: Annotated[list[str], "The goals to prove for this row."]
    assumptions: Annotated[
        list[str], "The sentences of what the row rests on; see `assumptions` of the whole."
    ]
    confidence: NotRequired[
        Annotated[Confidence | None, "Only with --confidence; null where it was not found."]
    ]


class QueryResult(TypedDict):
    """All answers of a query.

    With `--format jsonl` each line is one `#/$defs/row`.
    """

    query: Annotated[str, "The query as it was typed."]
    status: Annotated[
        Literal["SETTLED", "SETTLED_UNDER", "OPEN"],
        (
            "SETTLED: these are all answers, each decided. SETTLED_UNDER: so it is under "
            "the assumptions. OPEN: there may be others, or some are not decided."
        ),
    ]
    exit_code: Annotated[Literal[0, 3, 4, 7], "The exit code of the command."]
    created: Annotated[Time, "UTC, ISO 8601 with microseconds."]
    snapshot: Annotated[
        Literal["one", "not one snapshot"] | None,
        (
            "Whether what was read of databases, APIs and documents is of one state (`one`); with "
            "`not one snapshot` it may have changed in between. Null where none was read."
        ),
    ]
    columns: Annotated[list[QueryEngineColumn], "The columns that are shown, in order."]
    counts: AnswerCounts
    assumptions: Annotated[
        list[Assumption], "What the answers as a whole rest on; not always the fewest."
    ]
    conflicts: Annotated[list[str], "Who says another value for a key than what counts."]
    open: OpenAnswers
    calls: Annotated[list[Call], "What was asked outside, in order."]
    models: NotRequired[ModelCosts | None]
    check: Annotated[RowCheck | None, "What --check N found; null without it."]
    recount: Annotated[
        Recount | None, "What checking rows of bulk as a whole found; null where nobody tried."
    ]
    rows: Annotated[list[QueryRow], "The answers that are shown."]


class AbsenceLevel(TypedDict):
    """One literal of one step; without a step it is the absence of the goal."""

    node: Annotated[Count | None, "The step."]
    premise: Annotated[Count | None, "The place of the literal in the rule."]
    rule: Annotated[str | None, "The rule."]
    literal: Annotated[str, "The literal."]
    level: Annotated[
        Literal["C0", "C1", "C2", "C3", "C4"] | None,
        "Its level; null where nothing had to be complete.",
    ]
    rests_on: Annotated[Literal["C0", "C1", "C2", "C3", "C4"] | None, "The weakest level under it."]


class CheckedDraft(TypedDict):
    """A checked draft."""

    id: Annotated[str, "The id of the draft."]
    status: Annotated[
        Literal["proposed", "approved", "rejected"] | None,
        "What became of it; null where the quarantine does not have it.",
    ]


class Leaf(TypedDict):
    """One leaf."""

    leaf: Annotated[str, "The fact or source."]
    status: Annotated[Literal["same", "gone", "new", "changed", "unknown"], "What became of it."]
    detail: Annotated[str, "More; may be empty."]


class Signature(TypedDict):
    """One signature."""

    status: Annotated[Literal["valid", "not counted", "rejected"], "What it is worth."]
    reason: Annotated[str, "Why it does not count; may be empty."]
    role: Annotated[str | None, "The role it was given in; null where the line is none."]
    name: Annotated[str | None, "Who signed."]
    meaning: Annotated[str | None, "What the signature says."]
    time: Annotated[str | None, "When it was given, by the signer's word."]
    key: Annotated[str | None, "The id of the key."]


class CheckedSignatures(TypedDict):
    """With --key or --role: the signatures."""

    accepted: Annotated[bool, "Whether all that was asked for is there."]
    missing: Annotated[list[str], "What is not there."]
    found: Annotated[list[Signature], "Every signature."]


class SignedSnapshot(TypedDict):
    """One snapshot."""

    predicate: Annotated[str, "The predicate."]
    by: Annotated[str, "Who signed, as what, and when."]


class OpenedPredicate(TypedDict):
    """One predicate."""

    predicate: Annotated[str, "Its name."]
    rows: Annotated[Count, "How many rows were found."]


class CheckedSnapshots(TypedDict):
    """With --snapshot: the leaves in the snapshots."""

    accepted: Annotated[bool, "Whether they are as shown."]
    signed: Annotated[list[SignedSnapshot], "Who signed the snapshots."]
    opened: Annotated[list[OpenedPredicate], "What was found in the snapshots."]
    not_opened: Annotated[list[str], "What no snapshot is of."]


class VerifyResult(TypedDict):
    """What the independent checker says about a certificate.

    With --source also what became of its leaves: `leaves`, `drift` and `leaves_reread`.
    """

    accepted: Annotated[bool, "Whether the certificate is accepted."]
    exit_code: Annotated[
        Literal[0, 1, 3, 4, 5, 6], "The exit code of the command: that of the verdict, or 1."
    ]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"] | None,
        "The verdict; null where it is rejected.",
    ]
    code: Annotated[str | None, "Why it was rejected, as a word."]
    reason: Annotated[str | None, "Why it was rejected."]
    place: Annotated[str | None, "Where in the file."]
    goal: Annotated[str | None, "The goal."]
    confidence: Annotated[str | None, "The confidence, or `at least` and a bound."]
    under: Annotated[list[str], "The assumptions."]
    resting: Annotated[
        list[list[str]],
        (
            "Of each assumption: the rows, the absences and the rules that count because "
            "it is accepted."
        ),
    ]
    rules: Annotated[list[str], "The rules that were used."]
    sentences: Annotated[
        list[str],
        "How declarations and rules are said: bound to the rules' hash, for people alone.",
    ]
    approvals: Annotated[list[str], "Of each rule whose it is, and who approved it."]
    decided: Annotated[
        list[str], "Who asked, the entry in a log of decisions, and the libraries of rules."
    ]
    sources: Annotated[list[str], "The sources of the leaves."]
    proofs: Annotated[list[str], "The certificates that facts of this one rest on."]
    level: Annotated[
        Literal["C0", "C1", "C2", "C3", "C4"] | None,
        (
            "The weakest level of completeness: C0 declared, C1 re-runnable, C2 "
            "committed, C3 inline, C4 derived; null where nothing rests on completeness."
        ),
    ]
    levels: Annotated[list[AbsenceLevel], "How well each absence and each aggregate is founded."]
    missing: Annotated[list[str], "What would decide an unresolved goal."]
    notes: Annotated[list[str], "What was not checked."]
    hidden: Annotated[Count, "How many values are hidden in a view, and not opened."]
    nodes: Annotated[Count, "How many steps were checked."]
    identity: Annotated[str | None, "The hash of the proof without times and hosts."]
    program: Annotated[str | None, "The hash of the rules, for --pin."]
    leaves_reread: NotRequired[
        Annotated[bool, "With --source: whether the leaves were read again."]
    ]
    drift: NotRequired[Annotated[Count, "With --source: how many leaves have changed."]]
    drafts: NotRequired[
        Annotated[
            list[CheckedDraft],
            (
                "The drafts that the leaves were asked with; of those that the quarantine "
                "does not have, the beginning of the id."
            ),
        ]
    ]
    leaves: NotRequired[Annotated[list[Leaf], "With --source: every leaf."]]
    signatures: NotRequired[CheckedSignatures]
    snapshots: NotRequired[CheckedSnapshots]


class StoredInput(TypedDict):
    """An input in a folder of an answer."""

    predicate: Annotated[str, "Its predicate."]
    rows: Annotated[Count, "How many rows the file has."]
    sha256: Annotated[str, "The hash of the file."]


class VerifyBulkResult(TypedDict):
    """What counting an answer of a folder again came to."""

    state: Annotated[
        Literal["passed", "differs", "not checked", "rejected"],
        "Whether the answer is exactly what follows; rejected: the folder is not what was written.",
    ]
    why: Annotated[str, "What differs, or why it was not checked or was rejected."]
    exit_code: Annotated[Literal[0, 1, 4], "The exit code of the command."]
    goal: NotRequired[Annotated[str, "The goal."]]
    rows: NotRequired[Annotated[Count, "How many rows the answer has."]]
    extra: NotRequired[Annotated[Count, "How many of them do not follow."]]
    missing: NotRequired[Annotated[Count, "How many follow and are not there."]]
    created: NotRequired[Annotated[str, "When the answer was computed."]]
    answer: NotRequired[Annotated[str, "The hash of answer.json, which names all the others."]]
    rules: NotRequired[Annotated[str, "The hash of the rules."]]
    inputs: NotRequired[Annotated[list[StoredInput], "The inputs."]]


RESULTS: Final = MappingProxyType(
    {
        "ask": Result(AskResult),
        "error": Result(Failure, "Failure of a command with `--format json` or `jsonl`"),
        "prove": Result(
            Annotated[
                ProveResult,
                (
                    "The verdict on a goal, with its proof. Numbers that count are numbers; exact"
                    " decimals are texts. Members are only ever added."
                ),
            ]
        ),
        "prove-all": Result(
            ProveAllResult, "Result of `constat prove --all --format json`, and of `--top-k N`"
        ),
        "prove-engine": Result(ProveEngineResult, "constat prove --engine pydatalog --format json"),
        "query": Result(QueryResult),
        "query-engine": Result(
            QueryEngineResult, "Result of `constat query --engine pydatalog --format json`"
        ),
        "query-explain-row": Result(
            QueryExplainRowResult, "Result of `constat query --explain-row --format json`"
        ),
        "verify": Result(VerifyResult),
        "verify-bulk": Result(VerifyBulkResult, "Result of `constat verify --bulk --format json`"),
    }
)
