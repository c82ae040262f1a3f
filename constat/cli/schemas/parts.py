"""What the results of several chapters share: places, costs, diagnostics."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from constat.cli.schemas.forms import Amount, Code, Confidence, Count, Ordinal


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
