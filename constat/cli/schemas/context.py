"""What the commands print about memory and language models."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Final, Literal, TypedDict

from constat.cli.schemas.forms import Amount, Count, Digest, Items, Quantity, Result


class ContradictingValue(TypedDict):
    """A contradicting value."""

    value: Annotated[str, "The value."]
    place: Annotated[str, "Where it was said."]


class Contradiction(TypedDict):
    """A contradiction."""

    slot: Annotated[str, "What two values were given for."]
    values: Annotated[Annotated[list[ContradictingValue], Items(2, 2)], "The two values."]


class ContextLine(TypedDict):
    """A context line."""

    text: Annotated[str, "The line, which ends with its place."]
    place: Annotated[str, "The bytes it is taken from: `m3[12:58]`."]
    class_: Annotated[Count, "1 is always in sight; greater ones follow."]
    claims: Annotated[list[str], "The names of the facts that it shows."]


class ByModel(TypedDict):
    """A by model."""

    facts: Annotated[Count, "How many facts the texts say."]
    rejected: Annotated[Count, "How many they do not say, which are kept as such."]
    failures: Annotated[list[str], "Why no reply came."]


class MemoryCompactResult(TypedDict):
    """What a conversation comes to within a budget."""

    session: Annotated[str, "The name of the session; `main` where it is not kept."]
    messages: Annotated[Count, "How many messages were read, those of the session before included."]
    facts: Annotated[Count, "How many facts were found in them."]
    tokens_before: Annotated[Count, "The tokens of all messages, estimated."]
    tokens_after: Annotated[Count, "The tokens of the context, estimated."]
    ratio: Annotated[Quantity, "How many times fewer they are."]
    context_messages: Annotated[Count, "How many messages the context has."]
    compacted: Annotated[bool, "Whether it was compacted, or small enough as it is."]
    reason: Annotated[str, "Why, or why not."]
    kept: Annotated[dict[str, Count], "How many facts the context shows, by their kinds."]
    current: Annotated[Count, "How many facts hold."]
    superseded: Annotated[Count, "How many were superseded or taken back."]
    refused: Annotated[Count, "How many are kept out, for their speaker may not say so."]
    contradictions: Annotated[
        list[Contradiction],
        "Facts that contradict each other, of which neither corrects the other.",
    ]
    lines: Annotated[
        list[ContextLine], "The lines of the context, in the order in which things were said."
    ]
    by_model: Annotated[
        ByModel | None, "What a model found beyond that; null where none was asked."
    ]


class MemoryEvent(TypedDict):
    """One compaction by a design."""

    profile: Annotated[str, "The design."]
    number: Annotated[Count, "Which compaction of it."]
    round: Annotated[Count, "Which round of compactions it belongs to."]
    first_message: Annotated[Count, "The first message that was compacted."]
    last_message: Annotated[Count, "The last one."]
    tokens_before: Annotated[Count, "The tokens before it, estimated."]
    tokens_after: Annotated[Count, "The tokens after it, estimated."]
    messages_compacted: Annotated[Count, "How many messages were compacted."]
    summary: Annotated[str, "The text in their place."]
    places: Annotated[list[str], "The places of the facts that the text says."]
    snapshot: Annotated[str, "The name of what was kept of the messages; empty where nothing was."]


class MemoryKnowledge(TypedDict):
    """A fact worth remembering of a finished task."""

    content: Annotated[str, "The fact."]
    confidence: Annotated[float, "How sure it is, from 0 to 1."]
    source: Annotated[str, "Where it is from."]
    tags: Annotated[list[str], "Words that it is found by."]


class MemoryForgetResult(TypedDict):
    """What was forgotten."""

    digests: Annotated[list[str], "The digests of the texts, which stay."]
    messages: Annotated[Count, "How many messages held them."]
    notes: Annotated[Count, "How many facts, found by other means, went with them."]
    checkpoints: Annotated[Count, "How many contexts went with them."]


class MemoryOpenResult(TypedDict):
    """What was said at a place."""

    place: Annotated[str, "The place as it was asked for."]
    bytes: Annotated[Count, "How many bytes it has."]
    digest: Annotated[str, "The digest of the bytes: `sha256:` and 64 hexadecimal digits."]
    text: Annotated[str, "The bytes as text; what is no UTF-8 is escaped."]


class FoundText(TypedDict):
    """A found text."""

    place: Annotated[str, "The name of the text: `m3`."]
    speaker: Annotated[Literal["system", "human", "tool", "assistant", "extracted"], "Who said it."]
    snippet: Annotated[str, "A piece of it."]
    score: Annotated[Quantity, "How well it fits; only the order means something."]


class MemoryShowResult(TypedDict):
    """The facts of a session that a context would show."""

    session: Annotated[str, "The name of the session."]
    tokens: Annotated[Count, "The tokens of the lines, estimated."]
    passed_over: Annotated[Count, "How many facts did not fit."]
    lines: Annotated[
        list[ContextLine], "The lines of the context, in the order in which things were said."
    ]


class SessionSize(TypedDict):
    """A session size."""

    session: Annotated[str, "The name of the session."]
    messages: Annotated[Count, "How many messages it has."]
    tokens: Annotated[Count, "Their tokens, estimated."]
    texts: Annotated[Count, "How many different texts they hold."]
    bytes: Annotated[Count, "The size of these texts."]
    facts: Annotated[dict[str, Count], "How many facts were found, by their kinds."]
    branches: Annotated[Count, "How many agents of their own it had."]
    checkpoints: Annotated[Count, "How many of its contexts are kept."]


class FactProof(TypedDict):
    """A fact proof."""

    goal: Annotated[str, "What was decided."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "The verdict.",
    ]
    accepted: Annotated[bool, "Whether the checker accepts the certificate."]
    proof: Annotated[str, "The proof for people."]


class ModelsClearResult(TypedDict):
    """How many kept replies were removed."""

    cleared: Annotated[Count, "How many replies were removed."]


class ModelsShowResult(TypedDict):
    """A prompt that is kept or on the tape, with its reply, word for word."""

    prompt_hash: Annotated[Digest, "The hash of `request`, as certificates show it."]
    response_hash: Annotated[Digest, "The hash of `reply`, as certificates show it."]
    task: Annotated[str, "What it was asked for; empty for a reply on a tape."]
    model: Annotated[
        str, "The name of the model in the project; on a tape, of the model that replied."
    ]
    at: Annotated[str, "When it was answered, in UTC."]
    usable: Annotated[bool, "Whether the reply was of use."]
    request: Annotated[str, "The canonical JSON of the request."]
    reply: Annotated[str, "The canonical JSON of the reply."]


class ConfiguredModel(TypedDict):
    """A configured model."""

    name: Annotated[str, "The name that tasks use."]
    provider: Annotated[Literal["anthropic", "openai"], "Whose interface it has."]
    model: Annotated[str, "The provider's name of the model."]
    host: Annotated[str, "Where it is asked."]
    key_variable: Annotated[
        str, "The environment variable with the key; empty where none is needed."
    ]
    key_set: Annotated[bool, "Whether that variable is set."]
    tasks: Annotated[list[str], "What it is asked for."]
    priced: Annotated[bool, "Whether the project tells its prices."]


class ModelBudgets(TypedDict):
    """The most that may be spent."""

    question: Annotated[list[str], "The bounds of one question, in words."]
    session: Annotated[list[str], "The bounds of one session, in words."]


class RecordedTape(TypedDict):
    """The file of replies that are replayed; null where there is none."""

    file: Annotated[str, "Its name."]
    mode: Annotated[Literal["replay", "record"], "Whether what is missing is asked."]
    answers: Annotated[Literal["recorded", "written by hand"], "Whose replies they are."]


class ModelTask(TypedDict):
    """A model task."""

    task: Annotated[str, "What was asked for."]
    model: Annotated[str, "The name of the model in the project."]
    calls: Annotated[Count, "How often it was asked."]
    read: Annotated[Count, "Tokens read at the full price."]
    cached: Annotated[Count, "Tokens that the provider had in its cache."]
    stored: Annotated[Count, "Tokens that the provider put into its cache."]
    written: Annotated[Count, "Tokens written."]
    cost: Annotated[Amount, "What it cost, an exact decimal."]
    currency: Annotated[str, "The currency of the prices."]


class ModelsResult(TypedDict):
    """The language models of the project, and what they have used so far."""

    models: Annotated[list[ConfiguredModel], "The configured models."]
    budgets: ModelBudgets
    tape: RecordedTape | None
    used: Annotated[list[ModelTask], "What was used so far, in all programs."]


RESULTS: Final = MappingProxyType(
    {
        "memory-compact": Result(MemoryCompactResult),
        "memory-events": Result(
            Annotated[list[MemoryEvent], "What the designs have compacted, in order."]
        ),
        "memory-forget": Result(MemoryForgetResult),
        "memory-knowledge": Result(
            Annotated[list[MemoryKnowledge], "What is worth remembering of finished tasks."]
        ),
        "memory-open": Result(MemoryOpenResult),
        "memory-search": Result(
            Annotated[list[FoundText], "The texts that fit best, the best first."]
        ),
        "memory-show": Result(MemoryShowResult),
        "memory-stats": Result(Annotated[list[SessionSize], "What is kept of each session."]),
        "memory-why": Result(Annotated[list[FactProof], "Proofs about the facts at a place."]),
        "models": Result(ModelsResult),
        "models-clear": Result(
            ModelsClearResult, "Result of `constat models --clear AGE --format json`"
        ),
        "models-show": Result(
            ModelsShowResult, "Result of `constat models --show HASH --format json`"
        ),
    }
)
