"""What the commands print about rules, facts and plans of whole relations."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from constat.cli.schemas.forms import Code, Count, Ordinal, Quantity, Result
from constat.cli.schemas.parts import Diagnostic, ModelCosts, Translation


class PlanColumn(TypedDict):
    """A plan column."""

    name: Annotated[str, "The column."]
    kind: Annotated[str, "Its base type."]
    encoded: Annotated[bool, "Whether it holds numbers of the shared dictionary in place of texts."]


class PlanRange(TypedDict):
    """A comparison that the source of an input made itself."""

    column: Annotated[Count, "The column's place, from 0."]
    operator: Annotated[str, "How it compares: =, <, <=, > or >=."]
    value: Annotated[str, "The constant."]


class PlanInput(TypedDict):
    """A plan input."""

    relation: Annotated[str, "The relation."]
    columns: Annotated[list[PlanColumn], "Its columns, in order."]
    made_by: Annotated[str, "Empty for a predicate of the rules, else what introduced it."]
    estimated_rows: Annotated[Quantity, "About how many rows it has, to three digits."]
    rows_known: Annotated[bool, "Whether the planner knew how many rows there are."]
    told: Annotated[list[PlanRange], "What its source compared so that other rows did not come."]


class PlanRelation(TypedDict):
    """A plan relation."""

    relation: Annotated[str, "The relation."]
    columns: Annotated[list[PlanColumn], "Its columns, in order."]
    made_by: Annotated[str, "Empty for a predicate of the rules, else what introduced it."]
    estimated_rows: Annotated[Quantity, "About how many rows it has, to three digits."]
    stated_rows: Annotated[Count, "Rows that the rules state outright."]
    rows: Annotated[Count | None, "How many rows there are; null where nothing was computed."]


class PlanStep(TypedDict):
    """A plan step."""

    does: Annotated[str, "The step in words."]
    estimated_rows: Annotated[Quantity, "About how many bindings there are after it."]
    rows: Annotated[
        Count | None, "How many there were, over all rounds; null where that was not counted."
    ]
    drops_duplicates: Annotated[bool, "Whether duplicates are dropped after it."]


class PlanPipeline(TypedDict):
    """A plan pipeline."""

    rule: Annotated[str, "The rule's id."]
    in_each_round: Annotated[bool, "Whether it is taken in each round of a recursion."]
    into: Annotated[str, "The relation that it adds to."]
    steps: Annotated[list[PlanStep], "The steps, in order."]
    ends: Annotated[str, "What it makes, in words."]
    seconds: Annotated[Quantity | None, "How long it took; null where that was not measured."]


class GaveUp(TypedDict):
    """A gave up."""

    strategy: Annotated[str, "The strategy."]
    reason: Annotated[str, "Why it gave up."]


class StageRun(TypedDict):
    """What happened; null without --analyze."""

    strategy: Annotated[str, "The strategy that gave the answer."]
    rounds: Annotated[Count, "Rounds that added something; 0 where nobody counts them."]
    rows: Annotated[Count, "Rows of all its relations."]
    seconds: Annotated[Quantity, "How long it took."]
    bytes: Annotated[Count | None, "The size of its relations; null where that was not measured."]
    gave_up: Annotated[list[GaveUp], "Strategies that were tried before."]


class PlanStage(TypedDict):
    """A plan stage."""

    number: Annotated[Ordinal, "Its place in the order of computation."]
    recursive: Annotated[bool, "Whether a rule reads a relation of this stage."]
    linear: Annotated[bool, "Whether no rule reads the stage twice."]
    strategy: Annotated[
        Literal["statement", "cte", "loop", "bitmap", "runs", "reference"], "The strategy to take."
    ]
    choices: Annotated[
        list[Literal["statement", "cte", "loop", "bitmap", "runs", "reference"]],
        "Strategies that give the right answer, the best estimate first.",
    ]
    why: Annotated[str, "Why this strategy."]
    estimated_rows: Annotated[Quantity, "About how many rows its relations have."]
    estimated_rounds: Annotated[Quantity, "About how many rounds it takes."]
    relations: Annotated[list[PlanRelation], "What it computes."]
    pipelines: Annotated[
        list[PlanPipeline],
        "One for each rule, or for each place where a rule reads the new rows of a round.",
    ]
    run: StageRun | None


class PlanOutput(TypedDict):
    """A plan output."""

    goal: Annotated[str, "The atom."]
    relation: Annotated[str, "The relation that holds its rows."]


class GradedRelation(TypedDict):
    """A graded relation."""

    relation: str
    beside: str


class LeftOut(TypedDict):
    """A left out."""

    predicate: str
    why: str


class PlanRewriting(TypedDict):
    """A plan rewriting."""

    name: Annotated[str, "The pass."]
    subject: Annotated[str, "What it is about."]
    applied: Annotated[bool, "Whether it was done."]
    why: Annotated[str, "Why, or why not."]


class ExplainPlanResult(TypedDict):
    """How the answers of a goal, or the results of a program, are computed in bulk."""

    subject: Annotated[str, "The goal or the file, as it was given."]
    exit_code: Literal[0]
    analyzed: Annotated[bool, "Whether the plan was run."]
    seconds: Annotated[Quantity | None, "How long it took in all; null without --analyze."]
    inputs: Annotated[list[PlanInput], "Relations that are read before the first stage."]
    stages: Annotated[list[PlanStage], "Stages, in the order of computation."]
    results: Annotated[list[PlanOutput], "Where the rows of each wanted atom are."]
    open: Annotated[
        list[str],
        (
            "Wanted atoms that the reference engine answers, because what they rest on "
            "may be unknown."
        ),
    ]
    graded: Annotated[
        list[GradedRelation],
        "Relations with rows that are not certain, computed a second time beside a predicate.",
    ]
    left: Annotated[
        list[LeftOut], "Predicates that bulk evaluation has left to the reference engine, and why."
    ]
    loose: Annotated[
        list[LeftOut], "Predicates of which less may be decided than in a single proof, and why."
    ]
    rewritings: Annotated[list[PlanRewriting], "What was done to the rules, and what was not."]


class ProfileStep(TypedDict):
    """A step of a rule, as it was taken."""

    does: Annotated[str, "The step in words."]
    estimated_rows: Annotated[Quantity | None, "About how many bindings were expected after it."]
    rows: Annotated[
        Count | None, "How many there were, over all rounds; null where that was not counted."
    ]


class ProfileRule(TypedDict):
    """What one rule did in one stage."""

    rule: Annotated[str, "The rule's id."]
    stage: Annotated[Ordinal, "The number of the stage."]
    strategy: Annotated[str, "The strategy that gave the answer."]
    seconds: Annotated[
        Quantity | None,
        "Its part of the time of the stage, by what each rule takes alone; null if not known.",
    ]
    estimated_rows: Annotated[Quantity | None, "About how many rows it was expected to give."]
    rows: Annotated[
        Count | None, "How many it gave, over all rounds, duplicates included; null if not counted."
    ]
    steps: Annotated[list[ProfileStep], "The steps, in order, for each way to take the rule."]


class ProfileStage(TypedDict):
    """What one stage took."""

    number: Annotated[Ordinal, "Its place in the order of computation."]
    relations: Annotated[list[str], "What it computes."]
    strategy: Annotated[str, "The strategy that gave the answer."]
    seconds: Annotated[Quantity, "How long it took."]
    rows: Annotated[Count, "Rows of all its relations."]
    rounds: Annotated[Count, "Rounds that added something; 0 where nobody counts them."]


class ProfileResult(TypedDict):
    """What time and rows each rule took, the slowest first."""

    subject: Annotated[str, "The goal or the file, as it was given."]
    exit_code: Literal[0]
    seconds: Annotated[Quantity, "How long it took in all; reading and counting included."]
    rules: Annotated[list[ProfileRule], "The rules, the slowest first."]
    stages: Annotated[list[ProfileStage], "The stages, in the order of computation."]
    open: Annotated[list[str], "Atoms that the reference engine would answer."]
    left: Annotated[
        list[LeftOut], "Predicates that bulk evaluation has left to the reference engine, and why."
    ]


class ExplainResult(TypedDict):
    """What a code means, with a wrong and a right example."""

    code: Annotated[Code, "The code."]
    title: Annotated[str, "It in a few words."]
    explanation: Annotated[str, "What it means and what to do."]
    kind: Annotated[Literal["rules", "goal", "project", "text"], "What the examples are."]
    rules_for_goal: Annotated[str, "The rules that the examples of a goal need; may be empty."]
    wrong: Annotated[str, "An example that gives the code; may be empty."]
    right: Annotated[str, "The same without the mistake; may be empty."]


class StatedIn(TypedDict):
    """The words that say it, where somebody told it in words."""

    words: Annotated[str, "The words."]
    document: Annotated[str, "The hash of the whole text."]
    start: Annotated[Count, "The first byte of the words in it."]
    end: Annotated[Count, "The byte behind them."]
    tool: Annotated[str, "The model that found the fact in them; empty where none did."]


class DraftVerdict(TypedDict):
    """What became of the goal of the draft; only with --draft."""

    goal: Annotated[str, "The goal of the draft's question."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of it.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the command."]
    missing: Annotated[list[str], "Facts that would decide it, as goals."]


class FactsAddResult(TypedDict):
    """A fact that somebody has stated."""

    id: Annotated[Count, "Its number in the project's store."]
    fact: Annotated[str, "It as it can be typed."]
    author: Annotated[str, "Who stated it."]
    note: Annotated[str, "Why; may be empty."]
    added_at: Annotated[str, "When, UTC."]
    retracted_at: Annotated[str | None, "When it was taken back; null while it stands."]
    retracted_by: Annotated[str | None, "Who took it back."]
    told: StatedIn | None
    conflicts: Annotated[list[str], "Who says another value for a key than what counts."]
    then: NotRequired[DraftVerdict]


class ListedFact(TypedDict):
    """A fact that somebody has stated."""

    id: Annotated[Count, "Its number in the project's store."]
    fact: Annotated[str, "It as it can be typed."]
    author: Annotated[str, "Who stated it."]
    note: Annotated[str, "Why; may be empty."]
    added_at: Annotated[str, "When, UTC."]
    retracted_at: Annotated[str | None, "When it was taken back; null while it stands."]
    retracted_by: Annotated[str | None, "Who took it back."]
    told: StatedIn | None


class StatedFact(TypedDict):
    """A stated fact."""

    fact: Annotated[str, "The fact as it can be typed."]
    sentence: Annotated[str, "The sentence that says it."]
    start: Annotated[Count, "The first byte of the sentence in the text, in UTF-8."]
    end: Annotated[Count, "The byte behind it."]


class RefusedFact(TypedDict):
    """A refused fact."""

    fact: Annotated[str, "What was looked for; may be empty."]
    reason: Annotated[str, "Why it is no fact of this text."]


class FactsTellResult(TypedDict):
    """What the text says, and what was kept of it."""

    said: Annotated[list[StatedFact], "The facts that the text says."]
    refused: Annotated[list[RefusedFact], "What the text does not say."]
    kept: Annotated[list[ListedFact], "The facts that were kept."]
    conflicts: Annotated[list[str], "Who says another value for a key than what counts."]
    model: Annotated[str, "The model that found them; empty where none was asked."]
    goal: Annotated[str | None, "The goal that was proved afterwards."]
    verdict: Annotated[str | None, "Its verdict."]
    exit_code: Annotated[Count, "The exit code."]
    models: NotRequired[ModelCosts | None]


class MaterializedColumn(TypedDict):
    """A materialized column."""

    name: str
    kind: Literal[
        "number", "unsigned", "float", "symbol", "Date", "Timestamp", "Decimal", "Bool", "structure"
    ]


class MaterializedQuery(TypedDict):
    """A materialized query."""

    query: Annotated[str, "The query that it answers."]
    columns: list[MaterializedColumn]
    rows: Count
    created: Annotated[str, "When it was computed, UTC."]
    snapshot: Annotated[
        Literal["one", "not one snapshot"] | None,
        (
            "Whether what was read of databases, APIs and documents is of one state (`one`); with "
            "`not one snapshot` it may have changed in between. Null where none was read, "
            "or the result is listed."
        ),
    ]
    current: Annotated[bool, "Whether it may be used now."]
    checked: NotRequired[
        Annotated[bool, "Whether it was counted again from the rules, and was the same."]
    ]
    check: NotRequired[Annotated[str, "`passed`, or why it was not checked; empty: nobody tried."]]
    reason: Annotated[str, "Why it may not be used; empty where it may."]


class MaterializeResult(TypedDict):
    """What is kept for `constat query --materialized`, or what became of it.

    Members are only ever added.
    """

    action: Annotated[Literal["keep", "list", "drop"], "What was done."]
    dropped: NotRequired[Annotated[bool, "With drop: whether there was a result."]]
    results: Annotated[list[MaterializedQuery], "The kept results: the new one, or all of them."]
    models: NotRequired[ModelCosts | None]


class WatchedQuery(TypedDict):
    """A query that is watched."""

    query: str
    rows: Annotated[Count, "How many answers there are now."]
    row_by_row: Annotated[bool, "Whether its answers are kept current row by row."]
    reason: Annotated[str, "Why it is asked anew as a whole; empty where it is not."]


class ProofOfChange(TypedDict):
    """What can be proved of a conclusion after it changed."""

    verdict: str
    text: str


class ChangedAnswer(TypedDict):
    """A conclusion that came or went."""

    change: Literal["+", "-"]
    query: str
    goal: Annotated[str, "The goal to prove."]
    verdict: Annotated[str, "The verdict with which it came, or had before it went."]
    prove: Annotated[str, "The command that proves it."]
    proof: NotRequired[ProofOfChange]


class WatchResult(TypedDict):
    """What one look has found; one line for each look. Members are only ever added."""

    watched: Annotated[list[WatchedQuery], "The queries, at the first look; then empty."]
    changes: list[ChangedAnswer]


class LockedPackage(TypedDict):
    """A library of others, as `packages.lock` has it."""

    name: Annotated[str, "The library."]
    version: Annotated[str, "Its version."]
    source: Annotated[str, "Where it was read: a path, an address, or what pip installed."]
    prefix: Annotated[str, "What stands before its names here; empty where they are its own."]
    commit: Annotated[str, "The commit of a repository; empty for other sources."]
    requires: Annotated[dict[str, str], "Other libraries, and which versions of them."]
    files: Annotated[str, "The hash of its files as they were published."]
    copy: Annotated[str, "The hash of their copy in the project."]


class RulesAddResult(TypedDict):
    """The libraries of others that a project has now."""

    packages: Annotated[list[LockedPackage], "All of them."]
    changed: Annotated[list[str], "Those that are new, gone or others."]


class RulesLockResult(TypedDict):
    """The libraries of others, and with `--check` whether all are as locked."""

    packages: Annotated[list[LockedPackage], "All of them; with `--check` those that are."]
    changed: Annotated[list[str], "Those that are new, gone or others; with `--check` none."]
    problems: Annotated[list[str], "What is not as locked; without `--check` nothing."]


class ChangedRule(TypedDict):
    """A rule that reads otherwise."""

    rule: Annotated[str, "Its id."]
    before: Annotated[str, "The rule in the project."]
    after: Annotated[str, "The rule in the other version."]


class RulesApproveResult(TypedDict):
    """What the approval came to."""

    id: Annotated[str, "What was named: the identity of a draft in short, or the id of a rule."]
    kind: Annotated[
        Literal["draft", "rule"], "Whether it is a draft of the quarantine or a rule of a file."
    ]
    status: Annotated[Literal["proposed", "approved", "rejected"], "What it is now."]
    rules: Annotated[list[str], "The ids of its rules."]
    file: Annotated[str, "The file they are in, or would be; empty where there is none."]
    signed: Annotated[bool, "Whether the word is signed."]
    approvals: Annotated[Count, "How many approvals count."]
    needed: Annotated[Count, "How many are needed."]
    translation: NotRequired[Translation]


class RulesPublishResult(TypedDict):
    """The wheel that was written."""

    library: Annotated[str, "The library."]
    version: Annotated[str, "Its version."]
    wheel: Annotated[str, "The path of the wheel."]
    files: Annotated[str, "The hash of its files."]
    paths: Annotated[list[str], "The files in it, below its folder."]


class UnusedColumns(TypedDict):
    """Columns of a predicate that no rule uses."""

    predicate: Annotated[str, "Its name."]
    columns: Annotated[list[str], "The names of the columns."]


class RulesCheckResult(TypedDict):
    """Whether rule files are right."""

    files: Annotated[Count, "How many files were read."]
    predicates: Annotated[Count, "How many predicates they declare; 0 where there are errors."]
    rules: Annotated[Count, "How many rules they hold; 0 where there are errors."]
    errors: Annotated[Count, "How many errors there are."]
    exit_code: Annotated[
        Literal[0, 1, 2, 78],
        (
            "The exit code of the command; 1 where a sentence leaves out a value, or the "
            "rules are not portable and that was asked."
        ),
    ]
    diagnostics: Annotated[list[Diagnostic], "Everything found, in the order of places."]
    incomplete: Annotated[
        list[Diagnostic],
        "Sentences of `@[says]` that leave out a column, or a value that their rule compares.",
    ]
    unused: Annotated[
        list[UnusedColumns], "Columns that a query selects and no rule uses; they are not fetched."
    ]
    portable: NotRequired[
        Annotated[
            bool,
            (
                "With --portable, and where there are no errors: whether stock Souffle 2.5 "
                "reads the rules and answers the same."
            ),
        ]
    ]
    portability: NotRequired[
        Annotated[
            list[Diagnostic],
            (
                "With --portable: what it would not load, or would answer differently; the "
                "label says which."
            ),
        ]
    ]


class FormattedFile(TypedDict):
    """One file."""

    file: Annotated[str, "The file as it can be named from here; <stdin> for `-`."]
    status: Annotated[
        Literal["changed", "unchanged", "error"],
        "`changed` is `would change` with --check or --diff.",
    ]
    diff: Annotated[str, "With --diff: the unified difference, else empty."]
    diagnostics: Annotated[list[Diagnostic], "Why the file was left as it is."]


class RulesFmtResult(TypedDict):
    """What became of each file."""

    exit_code: Annotated[
        Literal[0, 1, 2], "0 done, 1 a file would change (with --check), 2 a file has errors."
    ]
    files: Annotated[list[FormattedFile], "The files in the order of the paths."]


class RulesImportResult(TypedDict):
    """The imported rules."""

    exit_code: Annotated[Literal[0, 2], "0 done, 2 errors."]
    predicates: Annotated[Count, "How many predicates were declared."]
    rules: Annotated[Count, "How many facts and rules were written."]
    text: Annotated[str, "The rule file; empty where the Python file has errors."]
    diagnostics: Annotated[list[Diagnostic], "What was found in the file, then in the rules."]


class ListedRule(TypedDict):
    """A rule."""

    id: Annotated[str, "Its id, or its predicate and number."]
    predicate: Annotated[str, "What it derives."]
    head: Annotated[str, "Its head."]
    says: Annotated[
        str, "The sentence of `@[says]`, its own or that of its predicate; may be empty."
    ]
    owner: Annotated[str, "Who answers for it; may be empty."]
    confidence: Annotated[
        str, "A decimal above 0 and at most 1; below 1 the rule is an assumption."
    ]
    status: Annotated[
        Literal["approved", "proposed", "written"],
        "`proposed` until somebody approves what a model wrote; `written` by a person, and approved"
        " by nobody.",
    ]
    author: Annotated[str, "`@[author]`; may be empty."]
    approved_by: Annotated[str, "Who approved it; may be empty."]
    file: Annotated[str, "The file."]
    line: Annotated[Count, "The line, counted from 1."]


class ListedColumn(TypedDict):
    """A column."""

    name: Annotated[str, "Its name."]
    type: Annotated[str, "Its declared type."]
    kind: Annotated[str, "The built-in type behind that."]


class ListedPredicate(TypedDict):
    """A predicate."""

    name: Annotated[str, "Its name."]
    columns: Annotated[list[ListedColumn], "Its columns."]
    external: Annotated[bool, "Whether rows can come from outside."]
    source: Annotated[str, "The connection it is read from; empty where no file names one."]
    owner: Annotated[str, "Who answers for it; may be empty."]
    says: Annotated[str, "The sentence of `@[says]`; may be empty."]
    description: Annotated[str, "The `///` text; may be empty."]
    rules: Annotated[Count, "How many rules derive it."]
    facts: Annotated[Count, "How many facts the files state."]
    file: Annotated[str, "The file."]
    line: Annotated[Count, "The line, counted from 1."]


class ListedDraft(TypedDict):
    """A listed draft."""

    identity: Annotated[str, "The beginning of its identity, for `rules review`."]
    purpose: Annotated[str, "The question behind it."]
    goal: Annotated[str, "The goal it was drafted for; may be empty."]
    model: Annotated[str, "The model that drafted it; may be empty."]
    asked_by: Annotated[str, "Who asked; may be empty."]
    at: Annotated[str, "When, UTC."]
    text: Annotated[str, "The rules as they were drafted."]


class RulesListResult(TypedDict):
    """Rules and predicates in the order of the text; facts are counted with their predicate."""

    rules: Annotated[list[ListedRule], "The rules."]
    predicates: Annotated[list[ListedPredicate], "The predicates."]
    drafts: Annotated[list[ListedDraft], "Drafts that wait in the quarantine; without paths only."]


class RulesRejectResult(TypedDict):
    """What the rejection came to."""

    id: Annotated[str, "What was named: the identity of a draft in short, or the id of a rule."]
    kind: Annotated[
        Literal["draft", "rule"], "Whether it is a draft of the quarantine or a rule of a file."
    ]
    status: Annotated[Literal["proposed", "approved", "rejected"], "What it is now."]
    rules: Annotated[list[str], "The ids of its rules."]
    file: Annotated[str, "The file they are in, or would be; empty where there is none."]
    signed: Annotated[bool, "Whether the word is signed."]
    approvals: Annotated[Count, "How many approvals count."]
    needed: Annotated[Count, "How many are needed."]


class ReviewItem(TypedDict):
    """One of a list."""

    identity: Annotated[str, "What `approve` and `reject` take."]
    kind: Annotated[
        Literal["draft", "rule"], "Whether it is a draft of the quarantine or a rule of a file."
    ]
    status: Annotated[
        Literal["proposed", "approved", "rejected", "superseded"], "What became of it."
    ]
    purpose: Annotated[str, "The question behind it; may be empty."]
    goal: Annotated[str, "The goal it was drafted for; may be empty."]
    model: Annotated[str, "Who drafted it; may be empty."]
    asked_by: Annotated[str, "Who asked for it; may be empty."]
    at: Annotated[str, "When it was drafted, UTC; empty for a rule of a file."]
    rules: Annotated[list[str], "The ids of its rules in the library."]
    approvals: Annotated[list[str], "Who has approved it."]
    needed: Annotated[Ordinal, "How many approvals it needs."]
    reason: Annotated[str, "Why it was decided as it was; may be empty."]


class ReplacedRule(TypedDict):
    """A replaced rule."""

    id: Annotated[str, "Its id."]
    text: Annotated[str, "What it says."]


class ReviewCase(TypedDict):
    """A review case."""

    name: Annotated[str, "The case."]
    own: Annotated[bool, "Whether the draft brings it."]
    problems: Annotated[list[str], "What is not as expected."]


class ReviewTransition(TypedDict):
    """So many rows had one verdict and have another."""

    before: Annotated[str, "The verdict before, or absent."]
    after: Annotated[str, "The verdict after, or absent."]
    count: Annotated[Ordinal, "How many rows."]
    shown: Annotated[list[str], "Some of them."]


class ReviewEffect(TypedDict):
    """What becomes of one predicate."""

    predicate: Annotated[str, "The predicate."]
    rows_before: Annotated[Count, "Rows before."]
    rows_after: Annotated[Count, "Rows after."]
    settled_before: Annotated[
        Literal["", "SETTLED", "SETTLED_UNDER", "OPEN"],
        "Whether the rows before are known; empty where the predicate was not there.",
    ]
    settled_after: Annotated[
        Literal["", "SETTLED", "SETTLED_UNDER", "OPEN"],
        "Whether the rows after are known; empty where nobody looked.",
    ]
    transitions: Annotated[list[ReviewTransition], "The rows that differ."]
    reason: Annotated[str, "Why not all rows were compared; empty where they were."]


class RulesDiffResult(TypedDict):
    """What another version of a library would change."""

    before: Annotated[LockedPackage, "The version in the project."]
    after: Annotated[LockedPackage, "The other one."]
    added: Annotated[list[str], "Rules that are new."]
    removed: Annotated[list[str], "Rules that are gone."]
    changed: Annotated[list[ChangedRule], "Rules that read otherwise."]
    needed: Annotated[list[str], "Predicates that would need rows from outside."]
    effects: Annotated[list[ReviewEffect], "Rows that would be others, with the present data."]


class RuleReview(TypedDict):
    """One that was named."""

    identity: Annotated[str, "What `approve` and `reject` take."]
    kind: Annotated[
        Literal["draft", "rule"], "Whether it is a draft of the quarantine or a rule of a file."
    ]
    status: Annotated[
        Literal["proposed", "approved", "rejected", "superseded"], "What became of it."
    ]
    purpose: Annotated[str, "The question behind it; may be empty."]
    goal: Annotated[str, "The goal it was drafted for; may be empty."]
    model: Annotated[str, "Who drafted it; may be empty."]
    asked_by: Annotated[str, "Who asked for it; may be empty."]
    at: Annotated[str, "When it was drafted, UTC; empty for a rule of a file."]
    rules: Annotated[list[str], "The ids of its rules in the library."]
    approvals: Annotated[list[str], "Who has approved it."]
    needed: Annotated[Ordinal, "How many approvals it needs."]
    reason: Annotated[str, "Why it was decided as it was; may be empty."]
    text: Annotated[str, "The rules as they were drafted."]
    file: Annotated[str, "The file they are in, or would be."]
    difference: Annotated[str, "A unified difference of that file; empty for a rule of a file."]
    amended: Annotated[list[str], "Predicates that were there and get rules."]
    replaced: Annotated[list[ReplacedRule], "Rules that give way."]
    cases: Annotated[list[ReviewCase], "The cases of the library and of the draft."]
    effects: Annotated[list[ReviewEffect], "What changes in the present data."]
    remarks: Annotated[list[str], "What a reviewer should know besides."]
    problem: Annotated[str, "Why it cannot be approved as it is; empty where it can."]


class RulesReviewResult(TypedDict):
    """Drafts and rules of models; with ID one, with all that bears on it."""

    reviews: Annotated[list[ReviewItem | RuleReview], "Them."]


class TestedExpectation(TypedDict):
    """An expected goal."""

    goal: Annotated[str, "The goal as the case has it."]
    expected: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "The expected verdict.",
    ]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "The verdict.",
    ]
    passed: Annotated[bool, "Whether all is as expected."]
    problem: Annotated[str, "What is not as expected; empty where it passed."]
    proof: Annotated[str, "The proof or why there is none, as text; empty where it passed."]
    line: Annotated[Count, "The line of the expectation."]
    seconds: Annotated[Quantity, "How long it took."]


class TestedCase(TypedDict):
    """A case file."""

    library: Annotated[str, "The library."]
    name: Annotated[str, "Library and file, as -k chooses them."]
    file: Annotated[str, "The file."]
    seconds: Annotated[Quantity, "How long it took."]
    expectations: Annotated[
        list[TestedExpectation], "The expected goals in order; empty where the case is broken."
    ]
    diagnostics: Annotated[list[Diagnostic], "Why the case could not be run."]


class TestedLiteral(TypedDict):
    """A literal of a body."""

    text: Annotated[str, "The literal."]
    held: Annotated[Count, "Attempts in which it was certain."]
    failed: Annotated[Count, "Attempts in which it was impossible."]
    never_true: Annotated[bool, "Whether no attempt made it certain."]
    never_false: Annotated[bool, "Whether it could have failed, held, and never failed."]


class TestedRule(TypedDict):
    """A rule."""

    id: Annotated[str, "Its id."]
    file: Annotated[str, "The file."]
    line: Annotated[Count, "The line."]
    fired: Annotated[Count, "How many attempts reached the end of its body."]
    literals: Annotated[list[TestedLiteral], "The literals of its body."]


class TestedLibrary(TypedDict):
    """What the cases have tried of a library."""

    library: Annotated[str, "The library."]
    complete: Annotated[bool, "Whether every evaluation could be looked through."]
    rules: Annotated[list[TestedRule], "The rules in order."]


class RulesTestResult(TypedDict):
    """What became of the cases."""

    exit_code: Annotated[
        Literal[0, 1, 2], "0 all is as expected, 1 an expectation failed, 2 a case is broken."
    ]
    passed: Annotated[Count, "Expected goals that are as expected."]
    failed: Annotated[Count, "Expected goals that are not."]
    broken: Annotated[Count, "Case files that could not be run."]
    cases: Annotated[list[TestedCase], "The case files in order."]
    coverage: NotRequired[
        Annotated[list[TestedLibrary], "With --coverage: what the cases have tried, by library."]
    ]


class ReadRelation(TypedDict):
    """A read relation."""

    relation: Annotated[str, "The relation."]
    file: Annotated[str, "Its file in the folder of facts."]


class RunOutput(TypedDict):
    """A run output."""

    relation: Annotated[str, "The relation."]
    rows: Annotated[Count, "How many rows it has."]
    kind: Annotated[
        Literal["file", "stdout", "size"],
        "Where it went: a file, the standard output, or only its size.",
    ]
    file: Annotated[str | None, "Its file in the folder of results."]


class RunCheck(TypedDict):
    """What came of counting a relation again from the rules."""

    relation: Annotated[str, "The relation."]
    state: Annotated[
        Literal["passed", "not checked"], "A difference ends the run, with nothing written."
    ]
    why: Annotated[str, "Why it was not checked; empty where it passed."]


class RunResult(TypedDict):
    """What a run read, computed and wrote."""

    exit_code: Annotated[
        Literal[0], "A run that fails prints an error instead, see `constat schema error`."
    ]
    mode: Annotated[Literal["strict", "souffle"], "How the program was read."]
    word_size: Annotated[Literal[32, 64], "The bits of an integer; in strict mode always 64."]
    engine: Annotated[Literal["forward", "reference"], "What computed."]
    read: Annotated[list[ReadRelation], "The fact files, as the program names them."]
    results: Annotated[
        list[RunOutput],
        "One object for each output, then one for each size, in the order of the text.",
    ]
    printed: Annotated[str, "What the program printed on the standard output, sizes included."]
    checks: Annotated[list[RunCheck], "One object for each relation; empty without --check."]
    seconds: Annotated[Quantity, "How long it took."]
    warnings: Annotated[
        list[dict[str, object]],
        "What strict mode would refuse and other remarks; one for each code and file.",
    ]


RESULTS: Final = MappingProxyType(
    {
        "explain": Result(ExplainResult),
        "explain-plan": Result(ExplainPlanResult, "Result of `constat explain-plan --format json`"),
        "facts-add": Result(Annotated[FactsAddResult, "The fact that was stated."]),
        "facts-list": Result(
            Annotated[list[ListedFact], "Stated facts, in the order in which they were stated."]
        ),
        "facts-retract": Result(Annotated[list[ListedFact], "The facts that were taken back."]),
        "facts-tell": Result(FactsTellResult),
        "materialize": Result(MaterializeResult),
        "rules-add": Result(RulesAddResult),
        "rules-approve": Result(RulesApproveResult),
        "rules-check": Result(RulesCheckResult),
        "rules-diff": Result(RulesDiffResult),
        "rules-fmt": Result(RulesFmtResult),
        "rules-import": Result(RulesImportResult),
        "rules-list": Result(RulesListResult),
        "rules-lock": Result(RulesLockResult),
        "rules-publish": Result(RulesPublishResult),
        "rules-reject": Result(RulesRejectResult),
        "rules-remove": Result(RulesAddResult),
        "rules-review": Result(RulesReviewResult),
        "rules-test": Result(RulesTestResult),
        "run": Result(RunResult),
        "run-profile": Result(ProfileResult, "Result of `constat run --profile --format json`"),
        "query-profile": Result(ProfileResult, "Result of `constat query --profile --format json`"),
        "watch": Result(WatchResult),
    }
)
