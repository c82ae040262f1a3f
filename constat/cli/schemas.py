"""The results that commands print as JSON: their types, by the names of the commands.

`constat schema` writes the JSON Schema of each from its type; there is no other copy. A result is
a TypedDict: its docstring is the description, an attribute's description stands in `Annotated`,
beside bounds (`Least`, `Matching`, `Items`). An attribute whose name is a word of Python ends in
`_`. What the schema refuses is a member that no type names.
"""

from __future__ import annotations

import inspect
import re
import types
from collections.abc import Mapping
from types import MappingProxyType
from typing import (
    Annotated,
    Final,
    Literal,
    NotRequired,
    TypedDict,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from constat.frozen import frozen

Schema = dict[str, object]

_SIMPLE: Final[Mapping[object, str]] = MappingProxyType(
    {
        str: "string",
        int: "integer",
        float: "number",
        bool: "boolean",
        type(None): "null",
    }
)


@frozen
class Least:
    """The least number that may stand here."""

    value: int


@frozen
class Matching:
    """The regular expression that a text matches as a whole."""

    pattern: str


@frozen
class Items:
    """How many items a list has."""

    least: int
    most: int | None = None


class Open(TypedDict):
    """An object that may have other members than those that are named."""

    __others__: NotRequired[object]


Count = Annotated[int, Least(0)]
Ordinal = Annotated[int, Least(1)]
Quantity = Annotated[float, Least(0)]
Amount = Annotated[str, Matching(r"^[0-9]+(\.[0-9]+)?$")]
Code = Annotated[str, Matching(r"^C[0-9]{4}$")]
Confidence = Annotated[str, Matching(r"^(0|1)(\.[0-9]{1,6})?$")]
Digest = Annotated[str, Matching(r"^sha256:[0-9a-f]{64}$")]
Gap = Annotated[str, Matching(r"^[01]\.[0-9]{6}$")]
Root = Annotated[str, Matching(r"^[0-9a-f]{64}$")]
Time = Annotated[str, Matching(r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,6})?Z$")]


@frozen
class Result:
    """What a command prints, and a title where it is not `Result of ...`."""

    form: object
    title: str = ""


def schema_of(name: str, result: Result) -> Schema:
    """Write the JSON Schema (draft 2020-12) of a result."""
    definitions: dict[str, Schema] = {}
    form = _form(result.form, definitions)
    reference = form.pop("$ref", None)
    if isinstance(reference, str):
        form = {**definitions[reference.removeprefix("#/$defs/")], **form}
    head: Schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"constat:{name}",
        "title": result.title or f"Result of `constat {name.replace('-', ' ')} --format json`",
    }
    return {**head, **form, **({"$defs": definitions} if definitions else {})}


def _form(of: object, definitions: dict[str, Schema]) -> Schema:
    origin, parts = get_origin(of), get_args(of)
    if origin is Annotated:
        return {**_form(parts[0], definitions), **_bounds(parts[1:])}
    if origin is NotRequired:
        return _form(parts[0], definitions)
    if origin is Literal:
        return _choice(parts)
    if origin in {Union, types.UnionType}:
        return _union([_form(part, definitions) for part in parts])
    if origin is list:
        return {"type": "array", "items": _form(parts[0], definitions)}
    if origin is dict:
        rest = {} if parts[1] is object else {"additionalProperties": _form(parts[1], definitions)}
        return {"type": "object", **rest}
    if isinstance(of, type) and is_typeddict(of):
        return _object(of, definitions)
    return {"type": _SIMPLE[of]}


def _bounds(marks: tuple[object, ...]) -> Schema:
    """Give what the marks of a type add; the last description counts."""
    found: Schema = {}
    for mark in marks:
        match mark:
            case str(description):
                found["description"] = description
            case Least(value):
                found["minimum"] = value
            case Matching(pattern):
                found["pattern"] = pattern
            case Items(least, most):
                found |= {"minItems": least} if least else {}
                found |= {} if most is None else {"maxItems": most}
            case _:
                raise TypeError(f"no mark of a form: {mark!r}")
    return found


def _choice(values: tuple[object, ...]) -> Schema:
    texts = all(isinstance(value, str) for value in values)
    return {**({"type": "string"} if texts else {}), "enum": list(values)}


def _union(forms: list[Schema]) -> Schema:
    """Join forms: simple types as a list of types, choices with null as one choice, else anyOf."""
    null: Schema = {"type": "null"}
    rest = [form for form in forms if form != null]
    if len(rest) < len(forms) and len(rest) == 1 and isinstance(rest[0].get("enum"), list):
        return {"enum": [*_listed(rest[0]["enum"]), None]}
    simple = [form.get("type") for form in forms]
    keys = [key for form in forms for key in form if key != "type"]
    if all(isinstance(kind, str) for kind in simple) and len(keys) == len(set(keys)):
        return {"type": simple, **{key: form[key] for form in forms for key in form if key in keys}}
    return {"anyOf": forms}


def _listed(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _object(of: type, definitions: dict[str, Schema]) -> Schema:
    """Define a TypedDict and refer to it; one that holds itself is defined once."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "-", of.__name__).lower()
    if name not in definitions:
        body: Schema = {"type": "object"}
        definitions[name] = body
        body["description"] = " ".join((inspect.getdoc(of) or "").split())
        hints = get_type_hints(of, include_extras=True)
        if hints.pop("__others__", None) is None:
            body["additionalProperties"] = False
        body["required"] = [
            _member(key) for key, hint in hints.items() if get_origin(hint) is not NotRequired
        ]
        body["properties"] = {_member(key): _form(hint, definitions) for key, hint in hints.items()}
    return {"$ref": f"#/$defs/{name}"}


def _member(attribute: str) -> str:
    return attribute.removesuffix("_")


# What the results of several chapters share: places, costs, diagnostics.


class Translation(TypedDict):
    """Which question was read as which goal, and whether a person stands for that."""

    question: Annotated[str | None, "The question; null where the goal was typed."]
    goal: Annotated[str, "The goal that was proved."]
    words: Annotated[str, "The goal in words, by the sentence of its predicate."]
    status: Annotated[
        Literal["stated", "confirmed", "unconfirmed"],
        (
            "Stated: the goal was typed, or the question is its sentence. Confirmed: a "
            "person named the goal, and nothing it rests on has changed. Unconfirmed: "
            "nobody did."
        ),
    ]
    lacks: Annotated[
        list[str],
        (
            "What the question says and neither the goal nor its rules do, as far as that"
            " was noticed."
        ),
    ]
    confirmed_by: Annotated[str | None, "Who confirmed it; null where nobody has."]
    confirmed_at: Annotated[str | None, "When, in UTC; null where nobody has."]
    ended: Annotated[
        str | None, "Why an earlier confirmation counts no more; null where there is none."
    ]


class Span(TypedDict):
    """A place in a text; lines and columns count from 1."""

    source: Annotated[str, "The file, or <goal>, <fact>."]
    line: Ordinal
    column: Ordinal
    end_line: Ordinal
    end_column: Ordinal


class RelatedPlace(TypedDict):
    """Another place that matters."""

    span: Span
    label: Annotated[str, "What it is."]


class Diagnostic(TypedDict):
    """A mistake, a warning or a note."""

    code: Annotated[Code, "`constat explain CODE` says more."]
    severity: Annotated[Literal["error", "warning", "note"], "How bad it is."]
    message: Annotated[str, "What is wrong."]
    span: Annotated[Span | None, "Where; null where no text is meant."]
    label: Annotated[str, "What stands under the marked place; may be empty."]
    note: Annotated[str, "Why; may be empty."]
    help: Annotated[str, "What to write instead; may be empty."]
    related: list[RelatedPlace]


class Assumption(TypedDict):
    """Something taken on trust."""

    kind: Annotated[Literal["fact", "rule", "closure", "fall-through"], "What it is about."]
    subject: Annotated[str, "The atom, rule, predicate or tier it is about."]
    text: Annotated[str, "The assumption in a sentence; the same sentence for the same assumption."]
    confidence: Annotated[Confidence, "An exact decimal from 0 to 1 with at most six places."]


class ModelCosts(TypedDict):
    """What language models were asked for this, or whose replies were replayed.

    Null where none was.
    """

    calls: Annotated[Count, "How often a model was asked."]
    replayed: Annotated[Count, "How many replies were there already."]
    read: Annotated[Count, "Tokens that models read at the full price."]
    cached: Annotated[Count, "Tokens that the provider had in its cache."]
    stored: Annotated[Count, "Tokens that the provider put into its cache."]
    written: Annotated[Count, "Tokens that models wrote."]
    cost: Annotated[Amount, "What it cost, an exact decimal; 0 where the project tells no prices."]
    currency: Annotated[str, "The currency of the prices."]
    note: Annotated[str, "Whose replies were replayed, in words; empty where none was."]


# What the commands print that answer and verify.

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
    rules_changed: NotRequired[
        Annotated[
            list[str],
            "With --source: what the project has otherwise now of the rules and words used.",
        ]
    ]
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


_ANSWERS: Final = MappingProxyType(
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


# What the commands print about memory and language models.


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
    left_out: Annotated[Count, "How many pinned facts could not even be named."]
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


_CONTEXT: Final = MappingProxyType(
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


# What the commands print that explore.


class PlanApproveResult(TypedDict):
    """What the approval came to."""

    id: Annotated[str, "The exploration whose plan it is."]
    kind: Annotated[Literal["plan"], "Always a plan."]
    status: Annotated[Literal["proposed", "approved", "rejected"], "What it is now."]
    rules: Annotated[list[str], "The id of the rule that stands for the plan in certificates."]
    file: Annotated[str, "Always empty."]
    signed: Annotated[bool, "Whether the word is signed."]
    approvals: Annotated[Count, "How many approvals count."]
    needed: Annotated[Count, "How many are needed."]
    translation: NotRequired[Translation]


class Ranking(TypedDict):
    """A ranking."""

    of: Annotated[str, "The relation that is ranked."]
    by: Annotated[list[str], "Columns, each with asc or desc."]
    top: NotRequired[Annotated[Ordinal, "How many ranks."]]
    within: NotRequired[Annotated[list[str], "The columns of a group."]]
    place: NotRequired[Annotated[str, "The column that holds the rank."]]


class PlannedStep(TypedDict):
    """A step, with one kind of work."""

    name: Annotated[str, "Its name."]
    goal: Annotated[str, "What it is for."]
    inputs: Annotated[list[str], "The relations that it is expected to read."]
    outputs: Annotated[list[str], "The relations that it gives, as declarations."]
    source: NotRequired[Annotated[str, "The databases that it asks."]]
    rules: NotRequired[Annotated[str, "Rules."]]
    rank: NotRequired[Ranking]
    sql: NotRequired[Annotated[str, "A SELECT."]]
    python: NotRequired[Annotated[str, "Code."]]


class PlanResult(TypedDict):
    """A plan that passed the checks.

    Members are only ever added.
    """

    question: Annotated[str, "What is asked."]
    title: NotRequired[Annotated[str, "What the answer is, in a few words."]]
    chart: NotRequired[Annotated[Literal["bar", "line", "none"], "How the answer is drawn."]]
    author: NotRequired[Annotated[str, "The model that drafted it."]]
    answer: Annotated[str, "The relation that answers."]
    steps: Annotated[list[PlannedStep], "The steps."]


class SolveColumn(TypedDict):
    """A column."""

    name: Annotated[str, "Its name."]
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


class SolvedStep(TypedDict):
    """A step and what became of it."""

    step: Annotated[Ordinal, "Its number in the exploration."]
    name: Annotated[str, "Its name."]
    goal: Annotated[str, "What it is for."]
    work: Annotated[Literal["rules", "rank", "sql", "python"], "The kind of its work."]
    how: Annotated[Literal["computed", "kept", "not needed"], "What became of it."]
    seconds: Annotated[Quantity, "How long it took."]
    attempts: Annotated[Count, "How often it was tried."]
    rows: Annotated[Count, "How many rows it gave."]
    sandbox: Annotated[str, "How code was kept in; empty for other work."]
    reads: Annotated[list[str], "What it read."]
    gives: Annotated[list[str], "What it gave."]
    check: NotRequired[
        Annotated[str, "`passed`, or why it was not counted again; empty: there was no need."]
    ]


class SolveProof(TypedDict):
    """The certificate that was made of the answer, or why there is none."""

    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED"] | None,
        "What the certificate says of the answer; `null` where there is none.",
    ]
    identity: Annotated[str, "The identity of the certificate; empty where there is none."]
    why: Annotated[str, "Why there is none; else empty."]


class SolveUsage(TypedDict):
    """What models were asked."""

    calls: Annotated[Count, "Calls of models."]
    tokens: Annotated[Count, "Their tokens."]
    cost: Annotated[str, "Their price, where the project tells prices."]


class SolveResult(TypedDict):
    """An explored answer, as `constat solve` gives it.

    Members are only ever added.
    """

    exploration: Annotated[str, "The id for `resume`, `history`, `plan show`."]
    number: Annotated[Ordinal, "The question's number in the exploration."]
    question: Annotated[str, "What was asked."]
    today: Annotated[str, "The day that counts as today."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "COMPUTED_NOT_CHECKED"],
        (
            "The verdict of the answer's certificate; `COMPUTED_NOT_CHECKED` where there "
            "is none, and `proof` says why."
        ),
    ]
    settled: Annotated[
        Literal["SETTLED", "SETTLED_UNDER", "OPEN"],
        "What the verdict says of the rows: settled, under the assumptions, or open.",
    ]
    exit_code: Annotated[Literal[0, 3, 4], "The exit code of the command."]
    translation: Translation
    sentence: Annotated[str, "The answer in words."]
    narrated: Annotated[bool, "Whether a model worded it; its numbers were checked."]
    relation: Annotated[str, "The relation that answers."]
    columns: Annotated[list[SolveColumn], "The columns."]
    rows: Annotated[list[list[str | float]], "The rows; decimals and large integers are texts."]
    unresolved: Annotated[Count, "Rows that may hold besides."]
    assumptions: Annotated[list[Assumption], "What the answer rests on."]
    reasons: Annotated[list[str], "What is not known."]
    notes: Annotated[list[str], "Remarks."]
    steps: Annotated[list[SolvedStep], "The steps."]
    plan: Annotated[PlanResult, "A plan, as `solve --plan` takes it in YAML."]
    approved_by: Annotated[list[str], "Who approved the plan before it ran, as far as that counts."]
    proof: SolveProof
    seconds: Annotated[Quantity, "How long it took."]
    replaying: Annotated[
        str, "Whose replies were replayed; empty where a model was asked, or none was needed."
    ]
    usage: SolveUsage


_EXPLORING: Final = MappingProxyType(
    {
        "plan-approve": Result(PlanApproveResult),
        "plan-check": Result(PlanResult),
        "plan-show": Result(Annotated[PlanResult, "A plan. Members are only ever added."]),
        "resume": Result(SolveResult),
        "solve": Result(Annotated[SolveResult, "An explored answer. Members are only ever added."]),
    }
)


# What the commands print that compare, suppose and give reasons.


class Change(TypedDict):
    """A change."""

    number: Annotated[Ordinal, "Its place."]
    kind: Annotated[
        Literal[
            "data", "rule", "assumption", "source", "conclusion", "shape", "verdict", "wording"
        ],
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
    rules: Annotated[list[str], "What changed in the rules that the proof rests on, words too."]
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
            "wording",
        ],
        (
            "`unreached`: a source did not answer, `wording`: a used rule has other words now;"
            " alone they make nothing stale."
        ),
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
    before: Annotated[
        str | None, "The row as it is; one that became known here if it does not hold."
    ]
    after: Annotated[
        str | None, "The row as supposed; one that became unknown here if it did not hold."
    ]


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


_REASONS: Final = MappingProxyType(
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


# What the commands print about the log, signatures and what was kept.


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


_RECORDS: Final = MappingProxyType(
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


# What the commands print about rules, facts and plans of whole relations.


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
    signer: Annotated[str, "Who signed it in the role that is wanted; empty where none is."]


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
    signed: Annotated[bool, "Whether a signature is in it."]
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


_RULES: Final = MappingProxyType(
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


# What the commands print about sources, caches and new projects.


class CacheClearResult(TypedDict):
    """What was removed."""

    cleared: Annotated[Count, "How many answers were removed."]
    file_removed: Annotated[bool, "Whether the file was damaged and was removed as a whole."]


class CachedAnswer(TypedDict):
    """A cached answer."""

    predicate: Annotated[str, "The predicate that the answer is about."]
    bound: Annotated[
        list[str], "The columns that the question had bound; empty where all rows were asked for."
    ]
    keys: Annotated[Count, "How many keys the answer speaks for."]
    rows: Annotated[Count, "How many rows it has."]
    source: Annotated[str, "The database or tier of the project that it was asked of."]
    fetched_at: Annotated[str, "When the oldest part of it was fetched, UTC."]
    age_seconds: Annotated[Count, "Its age in whole seconds."]
    expires_in_seconds: Annotated[Count, "How long it may be served still; 0 where it has expired."]
    served: Annotated[Count, "How often a program has loaded it."]
    bytes: Annotated[Count, "How much room it takes."]
    current: Annotated[
        bool,
        ("False where the declaration or the configuration has changed, so that it is not served."),
    ]


class CacheShowResult(TypedDict):
    """The answers of sources that are kept, in the order of predicates and age."""

    answers: Annotated[list[CachedAnswer], "One object for each kept answer."]


class CachedPredicate(TypedDict):
    """A cached predicate."""

    predicate: Annotated[str, "The predicate."]
    entries: Annotated[Count, "How many answers are kept."]
    rows: Annotated[Count, "How many rows they have."]
    bytes: Annotated[Count, "How much room they take."]
    hits: Annotated[Count, "How many keys were served."]
    misses: Annotated[Count, "How many keys had to be asked for."]


class CacheStatsResult(TypedDict):
    """How much is kept, and how often it served."""

    entries: Annotated[Count, "How many answers are kept."]
    bytes: Annotated[Count, "How much room they take."]
    hits: Annotated[Count, "How many keys were served."]
    misses: Annotated[
        Count, "How many keys had to be asked for, of predicates whose answers are kept."
    ]
    most_bytes: Annotated[
        Count, "How much room there is; beyond it what was not used for the longest time leaves."
    ]
    predicates: Annotated[list[CachedPredicate], "The same figures for each predicate."]


class CatalogDraftResult(TypedDict):
    """Declarations for tables."""

    database: Annotated[str, "The database that the predicates read."]
    predicates: Annotated[list[str], "The predicates with their columns and kinds."]
    findings: Annotated[list[str], "What the tables declare and is not so."]
    text: Annotated[str, "The rule file."]
    output: Annotated[str | None, "The file that was written; null where none was asked for."]
    hints: Annotated[list[str], "What may be said of files, or mended in rows; without values."]
    problems: Annotated[
        list[Diagnostic], "Tables of a database that were left out, with the reasons."
    ]


class CatalogDatabase(TypedDict):
    """A catalog database."""

    name: Annotated[str, "Its name in constat.yaml."]
    kind: Annotated[
        Literal["sql", "files", "openapi", "graphql"],
        "Whether it is a database, a folder of files, or an API.",
    ]
    tables: Annotated[Count, "How many tables are known."]
    seen_at: Annotated[str, "When they were read, UTC; empty where that never succeeded."]
    failure: Annotated[str, "Why it does not answer now; empty where it does."]
    problems: Annotated[list[str], "What is left out."]


class CatalogTable(TypedDict):
    """A catalog table."""

    database: Annotated[str, "The database."]
    table: Annotated[str, "The table's name within it."]
    kind: Annotated[str, "`table`, `view`, `file`, `operation` or `document`."]
    rows: Annotated[Count | None, "How many rows it has, about; null where that is not known."]
    columns: Annotated[Count, "How many columns it has."]
    comment: Annotated[str, "The beginning of its comment."]


class CatalogListResult(TypedDict):
    """Databases of the project and the tables that are known of them."""

    databases: Annotated[list[CatalogDatabase], "The databases."]
    tables: Annotated[list[CatalogTable], "The tables, in the order of databases and names."]


class RefreshedDatabase(TypedDict):
    """A refreshed database."""

    name: Annotated[str, "Its name in constat.yaml."]
    tables: Annotated[Count, "How many tables are known."]
    changed: Annotated[bool, "Whether its tables were others before."]
    failure: Annotated[str, "Why it does not answer; empty where it does."]
    problems: Annotated[list[str], "What is left out."]


class CatalogRefreshResult(TypedDict):
    """What a look at the sources found."""

    databases: Annotated[list[RefreshedDatabase], "The databases."]
    declarations: Annotated[
        list[DoctorFinding], "The declarations that do not fit what their sources are now."
    ]


class SampledValue(TypedDict):
    """A sampled value."""

    value: Annotated[str, "The value as text, cut where it is long."]
    count: Annotated[Ordinal, "In how many of the rows looked at it stands."]


class SampledColumn(TypedDict):
    """A sampled column."""

    column: Annotated[str, "The column."]
    values: Annotated[list[SampledValue], "The values, the most frequent first."]
    cut: Annotated[bool, "Whether there are more."]


class CatalogSampleResult(TypedDict):
    """Values of columns, the most frequent among the first rows."""

    columns: Annotated[list[SampledColumn], "The columns."]


class SearchHit(TypedDict):
    """A search hit."""

    kind: Annotated[Literal["table", "operation", "column", "predicate", "rule"], "What it is."]
    name: Annotated[str, "Its name; a predicate with its columns, a rule's id."]
    place: Annotated[str, "Its database, or the file of a rule or predicate."]
    about: Annotated[str, "A comment, a description or a sentence."]


class CatalogSearchResult(TypedDict):
    """What fits some words, the best first."""

    hits: Annotated[list[SearchHit], "The hits."]
    meant: Annotated[list[str], "Where nothing fits: words of the catalog that were perhaps meant."]


class CatalogColumn(TypedDict):
    """A catalog column."""

    name: Annotated[str, "Its name as the source spells it."]
    declared: Annotated[str, "Its type in the source's words; empty where it has none."]
    kind: Annotated[str, "What a draft declares it as; empty where no row was read for it."]
    nullable: Annotated[bool, "Whether NULL may stand in it."]
    computed: Annotated[bool, "Whether the source computes it."]
    comment: Annotated[str, "Its comment."]


class Relationship(TypedDict):
    """A relationship."""

    table: Annotated[str, "The table that points; with its database where the other has another."]
    columns: Annotated[list[str], "Its columns."]
    target: Annotated[str, "The table that is pointed to, named in the same way."]
    target_columns: Annotated[list[str], "Its columns."]
    declared: Annotated[bool, "Whether the source declares it; else it is inferred."]
    evidence: Annotated[str, "What it was inferred from; empty where it is declared."]


class CatalogShowResult(TypedDict):
    """A table of a source."""

    database: Annotated[str, "The database."]
    table: Annotated[str, "The table's name within it."]
    kind: Annotated[str, "`table`, `view`, `file` or `operation`."]
    rows: Annotated[Count | None, "How many rows it has; null where that is not known."]
    counted: Annotated[bool, "Whether the rows were counted; else their number is an estimate."]
    comment: Annotated[str, "Its comment."]
    columns: Annotated[list[CatalogColumn], "The columns, in their order."]
    key: Annotated[list[str], "The columns of the primary key."]
    unique: Annotated[list[list[str]], "What else is declared to be a key."]
    relationships: Annotated[list[Relationship], "What the table points to, and what points to it."]
    problems: Annotated[list[str], "What could not be found out."]
    checked: Annotated[bool, "Whether rows were read, with --check."]
    findings: Annotated[
        list[Diagnostic], "What is declared and not so, as diagnostics; empty without --check."
    ]
    remarks: Annotated[list[str], "What a draft says of its columns."]


class DoctorFinding(TypedDict):
    """A doctor finding."""

    check: Annotated[str, "What was looked at: `configuration`, `rules`, `database sales`, ..."]
    state: Annotated[Literal["ok", "note", "warning", "error"], "How it is."]
    message: Annotated[str, "What was found."]
    help: Annotated[
        str, "An edit or a command that mends it; empty where there is nothing to mend."
    ]
    code: Annotated[str, "The code to explain it; empty where there is none."]


class DoctorResult(TypedDict):
    """What was looked at, and what was found."""

    findings: Annotated[list[DoctorFinding], "In the order in which they were looked at."]
    errors: Annotated[Count, "How many errors there are."]
    warnings: Annotated[Count, "How many warnings there are."]


class InitResult(TypedDict):
    """A new project."""

    folder: Annotated[str, "The project's folder."]
    files: Annotated[list[str], "The files that were written, relative to it."]
    database: Annotated[str, "The name of the database or API in constat.yaml."]
    tables: Annotated[list[str], "The tables or operations that have predicates."]
    left_out: Annotated[Count, "How many of them were left out."]
    predicates: Annotated[list[str], "The predicates with their columns."]
    goal: Annotated[str, "The first goal; empty for an API."]
    verdict: Annotated[str, "What became of it when it was tried; empty for an API."]
    variables: Annotated[
        list[str], "Environment variables that have to be set: what was secret in the address."
    ]
    hints: Annotated[list[str], "What looks like a key, and the rows that keep it from being one."]


class CheckedKey(TypedDict):
    """A key that is broken, and what proves it."""

    text: Annotated[str, "What is wrong, in words."]
    certificate: Annotated[str | None, "The file of its certificate, if it has one."]
    why_none: Annotated[str, "Why it has none; empty where it has one."]


class CheckedData(TypedDict):
    """A constraint or a key, and what breaks it."""

    name: Annotated[str, "The constraint, or `key of` and a predicate."]
    kind: Annotated[Literal["constraint", "key"], "Which of both it is."]
    text: Annotated[str, "What it demands, in words; empty where nobody said it."]
    verdict: Annotated[
        Literal["PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER"],
        "Whether it holds for all rows.",
    ]
    broken: Annotated[Count, "How many rows, or keys, break it."]
    possible: Annotated[Count, "How many more rows, or shapes of rows, may break it."]
    columns: Annotated[list[str], "The columns of the rows."]
    rows: Annotated[list[list[str]], "The first rows that break it."]
    possible_rows: Annotated[list[list[str]], "The first rows that may break it."]
    goals: Annotated[list[str], "For each row of a constraint the goal that is proved."]
    certificates: Annotated[list[str | None], "The file of each goal, with `--certificates`."]
    reasons: Annotated[list[str], "Why more may break it."]
    keys: Annotated[list[CheckedKey], "Of a key that is broken, with `--certificates`."]


class NearKeyFound(TypedDict):
    """A column that nearly is a key, of a predicate of which no key is declared."""

    predicate: Annotated[str, "The predicate."]
    column: Annotated[str, "The column."]
    text: Annotated[str, "How many rows keep it from being a key."]
    examples: Annotated[str, "Values that several rows share; empty where rows have none."]
    help: Annotated[str, "The edit that has these rows checked."]


class CheckDataResult(TypedDict):
    """What breaks the constraints and keys of a project."""

    exit_code: Annotated[
        Literal[0, 3, 4, 5, 6],
        "0 all hold, 3 under assumptions, 4 some are not known, 5 some are broken, 6 broken under "
        "assumptions.",
    ]
    checks: Annotated[list[CheckedData], "One object for each constraint and key."]
    nearly_keys: Annotated[list[NearKeyFound], "What looks like a key and is not declared."]


class ListedDocument(TypedDict):
    """A document of a project."""

    source: Annotated[str, "Its name in `documents:`; empty where one document is shown."]
    document: Annotated[str, "Its path in the project."]
    kind: Annotated[str, "Its format: text, markdown, html, pdf, docx or mail."]
    bytes: Annotated[Count, "Its size."]
    hash: Annotated[str, "The hash of its bytes; empty where they cannot be read."]
    title: Annotated[str, "Its title, or its first words."]
    sections: Annotated[Count, "How many sections it has."]
    tables: Annotated[Count, "How many tables it has."]
    reader: Annotated[str, "What made a text of it; empty where the text is the file itself."]
    failure: Annotated[str, "Why it cannot be read; empty where it can."]


class DocumentsListResult(TypedDict):
    """The documents of a project."""

    documents: Annotated[list[ListedDocument], "One object for each document."]


class DocumentPart(TypedDict):
    """A section, a table or a field of a document."""

    kind: Annotated[Literal["section", "table", "field"], "What it is."]
    line: Annotated[Count, "The line that it begins in."]
    words: Annotated[list[str], "Its title; its headings; its key and its value."]


class DocumentsShowResult(TypedDict):
    """A document."""

    document: ListedDocument
    text: Annotated[str, "The text that is read of it, or of a section."]
    parts: Annotated[list[DocumentPart], "What was found in it."]


class FoundPassage(TypedDict):
    """A paragraph that holds some of the words."""

    source: Annotated[str, "The name in `documents:`."]
    document: Annotated[str, "The path of the document."]
    section: Annotated[str, "The innermost section; may be empty."]
    line: Annotated[Count, "The line that it begins in."]
    text: Annotated[str, "The paragraph; of a long one the beginning."]
    score: Annotated[float, "How well it fits; the first fits best."]


class DocumentsSearchResult(TypedDict):
    """The paragraphs that hold some words, the best first."""

    passages: Annotated[list[FoundPassage], "One object for each paragraph."]


_SOURCES: Final = MappingProxyType(
    {
        "cache-clear": Result(CacheClearResult),
        "cache-show": Result(CacheShowResult),
        "cache-stats": Result(CacheStatsResult),
        "catalog-draft": Result(CatalogDraftResult),
        "catalog-list": Result(CatalogListResult),
        "catalog-refresh": Result(CatalogRefreshResult),
        "catalog-sample": Result(CatalogSampleResult),
        "catalog-search": Result(CatalogSearchResult),
        "catalog-show": Result(CatalogShowResult),
        "check-data": Result(CheckDataResult),
        "doctor": Result(DoctorResult),
        "documents-list": Result(DocumentsListResult),
        "documents-search": Result(DocumentsSearchResult),
        "documents-show": Result(DocumentsShowResult),
        "init": Result(InitResult),
    }
)


# All results, by the names of their commands.


def results() -> Mapping[str, Result]:
    """Give the result of each command, by its name with dashes; `error` is that of failures."""
    chapters = (_ANSWERS, _CONTEXT, _EXPLORING, _REASONS, _RECORDS, _RULES, _SOURCES)
    return {name: result for chapter in chapters for name, result in chapter.items()}


def json_schema(name: str) -> Schema:
    """Write the JSON Schema of what a command prints; `KeyError` where there is none."""
    return schema_of(name, results()[name])
