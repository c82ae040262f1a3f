"""What the commands print that compare, suppose and give reasons."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, NotRequired, TypedDict

from constat.cli.schemas.forms import Amount, Confidence, Count, Digest, Gap, Ordinal, Result, Time
from constat.cli.schemas.parts import ModelCosts


class Change(TypedDict):
    """A change."""

    number: Annotated[Ordinal, "Its place."]
    kind: Annotated[
        Literal["data", "rule", "assumption", "source", "conclusion", "shape", "verdict"],
        "What kind of thing changed; the first four are causes.",
    ]
    subject: Annotated[str, "What it is about."]
    before: Annotated[str | None, "What there was; null where there was nothing."]
    after: Annotated[str | None, "What there is; null where there is nothing."]
    because: Annotated[list[Ordinal], "The numbers of the changes it follows from."]


class UnalignedStep(TypedDict):
    """An unaligned step."""

    text: Annotated[str, "The row, goal or time."]
    side: Annotated[
        Literal["before", "after"],
        "The certificate it stands in: the first, or the second or present one.",
    ]
    reason: Annotated[str, "Why it cannot be aligned."]


class DiffResult(TypedDict):
    """What differs between two certificates, causes before effects.

    Members are only ever added.
    """

    goal: Annotated[str, "The goal of the first certificate."]
    exit_code: Annotated[Literal[0, 7], "The exit code of the command."]
    same: Annotated[bool, "Whether they are the same but for when and where they were made."]
    changes: Annotated[list[Change], "What is different, causes first."]
    unaligned: Annotated[list[UnalignedStep], "What only one certificate speaks about."]


class MissingFact(TypedDict):
    """A fact to suppose."""

    fact: Annotated[str, "It, with variables for what may be chosen."]
    conditions: Annotated[list[str], "What must hold of the variables."]
    tried: Annotated[str, "It, with the values it was tried with."]


class MissingSet(TypedDict):
    """A set of facts."""

    cost: Annotated[Amount, "An exact decimal above 0."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of the goal.",
    ]
    add: Annotated[list[MissingFact], "Facts to suppose."]
    remove: Annotated[list[str], "Facts to take away."]


class MissingResult(TypedDict):
    """The cheapest sets of facts that would prove a goal.

    Members are only ever added.
    """

    goal: Annotated[str, "The goal."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of the goal.",
    ]
    exit_code: Annotated[Literal[0, 4, 5], "The exit code of the command."]
    holds: Annotated[bool, "Whether the goal holds as it is."]
    sets: Annotated[list[MissingSet], "The sets, the cheapest first."]
    others_from_cost: Annotated[
        Amount | None,
        "The cost from which on there may be other sets; null where the search ended.",
    ]
    exhausted: Annotated[bool, "Whether there are no other sets."]
    stopped: Annotated[
        str, "Why the search ended before everything was looked at; empty where it did not."
    ]
    dropped: Annotated[Count, "Sets that did not prove it when tried."]
    not_looked_for: Annotated[list[str], "What was not searched."]
    abducible: Annotated[
        dict[str, Annotated[Amount, "An exact decimal above 0."]],
        "Predicates whose facts may be supposed, with costs.",
    ]
    removable: Annotated[
        dict[str, Annotated[Amount, "An exact decimal above 0."]],
        "Predicates whose facts may be taken away, with costs.",
    ]
    rests_on: Annotated[list[str], "The outside predicates that the goal rests on."]
    missing: Annotated[list[str], "Goals whose answers would decide an unresolved goal."]
    models: NotRequired[ModelCosts | None]


class RecordedAnswer(TypedDict):
    """A recorded answer."""

    predicate: Annotated[str, "The predicate that was asked about."]
    bound: Annotated[list[str], "The columns whose values were given."]
    keys: Annotated[Ordinal, "For how many keys."]
    rows: Annotated[Count, "How many rows there were."]
    source: Annotated[str, "The source; may be empty."]
    recorded_at: Annotated[Time, "When it was recorded: UTC, ISO 8601."]
    bytes: Annotated[Count, "How much room it takes."]


class RecordedResult(TypedDict):
    """What sources said and when, as far as it was recorded.

    Members are only ever added.
    """

    forgotten: Annotated[Count, "How many answers were removed."]
    answers: Annotated[list[RecordedAnswer], "What is recorded, by predicate and time."]


class Replayed(TypedDict):
    """A replayed."""

    exit_code: Literal[0, 4, 7]
    live: Literal[False]
    verdict: Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"]
    identity: Annotated[Digest, "The identity of the proof."]
    same: Annotated[bool, "Whether the same bytes came out."]
    reason: Annotated[str, "Why not; may be empty."]
    members: Annotated[list[str], "The members of the certificate that came out otherwise."]
    made_by: Annotated[str, "What wrote the certificate."]
    replayed_by: Annotated[str, "What made it again."]


class ReplayFact(TypedDict):
    """A replay fact."""

    fact: Annotated[str, "The fact."]
    status: Annotated[
        Literal["unchanged", "changed", "vanished", "appeared", "cannot be read"],
        "What became of it.",
    ]
    detail: Annotated[str, "More; may be empty."]


class RepeatedLive(TypedDict):
    """A repeated live."""

    exit_code: Literal[0, 4, 7]
    live: Literal[True]
    verdict: Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"]
    verdict_now: Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"]
    rules: Annotated[list[str], "What changed in the rules that the proof rests on."]
    facts: Annotated[
        list[ReplayFact], "Every fact that the certificate shows, and new ones of the same shape."
    ]


class StaleReason(TypedDict):
    """A stale reason."""

    kind: Annotated[
        Literal[
            "rejected",
            "rules",
            "configuration",
            "retracted",
            "stated",
            "source",
            "age",
            "unreached",
        ],
        "`unreached`: a source did not answer; alone it makes nothing stale.",
    ]
    text: Annotated[str, "The reason in a sentence."]


class StaleConclusion(TypedDict):
    """A stale conclusion."""

    path: Annotated[str, "The file."]
    goal: Annotated[str | None, "The goal; null where the checker rejects the file."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"] | None,
        "The verdict of the certificate; null where the checker rejects the file.",
    ]
    identity: Annotated[
        str | None, "The identity of the proof; null where the checker rejects the file."
    ]
    status: Annotated[Literal["current", "stale", "unknown"], "Whether it stands."]
    reasons: Annotated[list[StaleReason], "Why it does not simply stand."]


class StaleResult(TypedDict):
    """Certificates and whether they would have to be proved again."""

    exit_code: Annotated[Literal[0, 1, 4], "0 none is stale, 1 some are, 4 some cannot be told."]
    checked: Annotated[Count, "How many certificates were looked at."]
    stale: Annotated[Count, "How many would have to be proved again."]
    unknown: Annotated[Count, "How many cannot be told because a source did not answer."]
    conclusions: Annotated[
        list[StaleConclusion], "One object for each certificate, in the order of their files."
    ]


class WhatIfAssumption(TypedDict):
    """Something taken on trust."""

    kind: Annotated[Literal["fact", "rule", "closure", "fall-through"], "What it is about."]
    subject: Annotated[str, "The atom, rule, predicate or tier it is about."]
    text: Annotated[str, "The assumption in a sentence; a supposition begins with `supposed:`."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]


class BeforeResult(TypedDict):
    """The answer of the real world."""

    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of the goal.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the verdict."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]


class WhatIfChange(TypedDict):
    """A conclusion that differs."""

    kind: Annotated[
        Literal["appeared", "vanished", "changed", "became unknown", "became known"], "How."
    ]
    predicate: Annotated[str, "The predicate."]
    before: Annotated[str | None, "The row as it is."]
    after: Annotated[str | None, "The row as supposed."]


class WhatIfResult(TypedDict):
    """A hypothetical answer and what differs.

    Members are only ever added.
    """

    hypothetical: Annotated[Literal[True], "This is no answer about the real world."]
    goal: Annotated[str, "The goal."]
    supposed: Annotated[list[str], "The suppositions."]
    without_effect: Annotated[list[str], "Those that nothing asked about, or that hide no row."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of the goal.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the verdict."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]
    confidence_is_exact: Annotated[bool, "Whether no better proof exists."]
    created: Annotated[Time, "UTC, ISO 8601 with microseconds."]
    snapshot: Annotated[
        Literal["one", "not one snapshot"] | None,
        (
            "Whether what was read of databases, APIs and documents is of one state (`one`); with "
            "`not one snapshot` it may have changed in between. Null where none was read."
        ),
    ]
    assumptions: Annotated[list[WhatIfAssumption], "What the supposed verdict rests on."]
    missing: Annotated[list[str], "Goals whose answers would decide an unresolved goal."]
    conflicts: Annotated[list[str], "Who says another value for a key than what counts."]
    before: BeforeResult
    changes: Annotated[list[WhatIfChange], "The conclusions that differ."]
    uncompared: Annotated[Count, "How many more rows could not be compared."]
    left_out: Annotated[
        Count, "How many rows of the goal hold in the supposed world and are in no proof."
    ]
    stopped: Annotated[str, "Why a world was not evaluated to its end; else empty."]
    proof: Annotated[
        dict[str, object], "The proof, as `constat schema prove` describes it under `proof`."
    ]
    models: NotRequired[ModelCosts | None]


class RefutedSource(TypedDict):
    """A source that was asked."""

    tier: Annotated[str, "The tier."]
    origin: Annotated[str, "Whose word it is."]
    name: Annotated[str, "The source."]
    query: Annotated[str | None, "The query."]
    parameters: Annotated[list[str], "Its parameters."]
    executed_at: Annotated[str, "When; may be empty."]
    rows: Annotated[Count, "How many rows came."]
    author: Annotated[str | None, "Who stated it."]


class Obstacle(TypedDict):
    """A literal that fails."""

    kind: Annotated[
        Literal["comparison", "lacking", "present", "aggregate", "threshold"],
        (
            "What fails: a comparison, a row that is lacking, a row that must not be "
            "there, the value of an aggregate, a total in a recursion."
        ),
    ]
    literal: Annotated[str, "The literal as the rule has it."]
    claim: Annotated[str, "The literal with its values: it does not hold."]
    actual: Annotated[str, "What there is; may be empty."]
    required: Annotated[str, "What would be needed; may be empty."]
    distance: Annotated[str, "How far off; may be empty."]
    sentence: Annotated[str, "The same in words; may be empty."]


class Candidate(TypedDict):
    """A conclusion that got as far as any."""

    fact: Annotated[str, "The conclusion it would give."]
    kind: Annotated[
        Literal["comparison", "lacking", "present", "aggregate", "threshold"],
        (
            "What fails: a comparison, a row that is lacking, a row that must not be "
            "there, the value of an aggregate, a total in a recursion."
        ),
    ]
    literal: Annotated[str, "The literal as the rule has it."]
    claim: Annotated[str, "The literal with its values: it does not hold."]
    actual: Annotated[str, "What there is; may be empty."]
    required: Annotated[str, "What would be needed; may be empty."]
    distance: Annotated[str, "How far off; may be empty."]
    sentence: Annotated[str, "The same in words; may be empty."]


class RefutedCounterexample(TypedDict):
    """A refuted counterexample."""

    fact: Annotated[str, "The row, or the rows together."]
    because: Annotated[list[str], "What it rests on."]
    sources: Annotated[list[RefutedSource], "What was asked for it."]


class WhyNotAttempt(TypedDict):
    """How far a rule gets."""

    rule: Annotated[str, "The rule."]
    rule_text: Annotated[str, "Its body."]
    state: Annotated[Literal["failed", "open", "not tried"], "How it ended."]
    reached: Annotated[Count, "How many were tried before it stopped; depends on the order."]
    of: Annotated[Count, "How many there are."]
    untried: Annotated[list[str], "Conditions behind it: not tried, or they do not fail."]
    tried: Annotated[Count, "How many candidates got that far."]
    level: Annotated[
        Literal["", "declared", "re-runnable", "inline", "derived"], "On what the no rests."
    ]
    sentence: Annotated[str, "The reason in words; may be empty."]
    holds: Annotated[list[str], "The literals before it, with the values of the nearest candidate."]
    stop: Annotated[Obstacle | None, "The literal that stops it."]
    fails_besides: Annotated[list[Obstacle], "What fails behind it."]
    candidates: Annotated[list[Candidate], "The nearest candidates, where there are several."]
    below: Annotated[list[Count], "Numbers of conclusions that are lacking."]
    because: Annotated[list[Count], "Numbers of proofs of what must not be there."]
    because_left: Annotated[Count, "Rows that must not be there whose proofs are left out."]
    counterexamples: Annotated[
        list[RefutedCounterexample], 'The first rows that contradict an "every".'
    ]
    counterexamples_in_all: Annotated[Count, "How many rows contradict it."]
    counterexamples_at_least: Annotated[
        bool, "Whether there may be more: the engine stopped when one was enough."
    ]


class Lacking(TypedDict):
    """A conclusion or row that is not there."""

    fact: Annotated[str, "It, as a goal."]
    state: Annotated[Literal["absent", "open", "there", "not tried"], "What is known of it."]
    level: Annotated[
        Literal["", "declared", "re-runnable", "inline", "derived"], "On what the no rests."
    ]
    nearest: Annotated[list[str], "Rows that differ in one column."]
    nearest_left: Annotated[Count, "More rows that differ in one column."]
    sources: Annotated[list[RefutedSource], "What was asked for it."]
    attempts: Annotated[list[WhyNotAttempt], "How far its rules get."]


class WhyNotReason(TypedDict):
    """A principal reason."""

    code: Annotated[str, "The reason code of the literal."]
    rule: Annotated[str, "The rule."]
    literal_number: Annotated[Ordinal, "The place of the literal in the body, from 1."]
    gap: Annotated[Gap, "How near it is to holding: 0 nearest, 1 farthest."]
    kind: Annotated[
        Literal["comparison", "lacking", "present", "aggregate", "threshold"],
        (
            "What fails: a comparison, a row that is lacking, a row that must not be "
            "there, the value of an aggregate, a total in a recursion."
        ),
    ]
    literal: Annotated[str, "The literal as the rule has it."]
    claim: Annotated[str, "The literal with its values: it does not hold."]
    actual: Annotated[str, "What there is; may be empty."]
    required: Annotated[str, "What would be needed; may be empty."]
    distance: Annotated[str, "How far off; may be empty."]
    sentence: Annotated[str, "The same in words; may be empty."]


class Refutation(TypedDict):
    """Why the goal does not hold."""

    lacking: Annotated[list[Lacking], "The goal, then what is lacking, by number."]
    proofs: Annotated[
        list[
            Annotated[
                dict[str, object],
                "The proof, as `constat schema prove` describes it under `proof`.",
            ]
        ],
        "Proofs of what must not be there, by number.",
    ]
    not_looked_into: Annotated[Count, "How many conclusions were left out."]
    reasons: Annotated[list[WhyNotReason], "Ranked reason codes; empty unless asked for."]


class WhyNotChange(TypedDict):
    """A change of a row after which the goal would hold."""

    text: Annotated[str, "The change in words."]
    remove: Annotated[str, "What `constat what-if --remove` takes away."]
    add: Annotated[str, "What `constat what-if --add` puts there; may be empty."]
    verdict: Annotated[Literal["PROVED", "PROVED_UNDER"], "What became of the goal then."]


class WhyNotChanges(TypedDict):
    """Changes that were tried by `constat what-if`."""

    found: Annotated[list[WhyNotChange], "Those after which the goal holds."]
    tried: Annotated[Count, "How many were tried."]
    stopped: Annotated[bool, "Whether some were not tried, for want of time."]


class WhyNotResult(TypedDict):
    """Why a goal does not hold.

    Members are only ever added.
    """

    goal: Annotated[str, "The goal."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "What became of the goal.",
    ]
    exit_code: Annotated[Literal[0, 3, 4, 5, 6], "The exit code of the verdict."]
    created: Annotated[Time, "UTC, ISO 8601 with microseconds."]
    snapshot: Annotated[
        Literal["one", "not one snapshot"] | None,
        (
            "Whether what was read of databases, APIs and documents is of one state (`one`); with "
            "`not one snapshot` it may have changed in between. Null where none was read."
        ),
    ]
    assumptions: Annotated[list[WhatIfAssumption], "What the verdict rests on."]
    missing: Annotated[list[str], "Goals whose answers would decide an unresolved goal."]
    proof: Annotated[dict[str, object] | None, "The proof of a goal that holds."]
    refutation: Annotated[Refutation | None, "Why it does not hold; null where it does."]
    reasons_left: Annotated[Count, "Reasons that are not listed."]
    counterfactuals: Annotated[
        WhyNotChanges | None, "Small changes that would help; null unless asked for."
    ]
    models: NotRequired[ModelCosts | None]


RESULTS: Final = MappingProxyType(
    {
        "diff": Result(DiffResult),
        "missing": Result(MissingResult),
        "recorded": Result(RecordedResult),
        "replay": Result(
            Annotated[
                Replayed | RepeatedLive,
                (
                    "Whether a certificate comes out the same: from its own record, or with "
                    "--live from today's sources. Members are only ever added."
                ),
            ]
        ),
        "stale": Result(StaleResult),
        "what-if": Result(WhatIfResult, "Result of `constat what-if --format json`"),
        "why-not": Result(WhyNotResult, "Result of `constat why-not --format json`"),
    }
)
