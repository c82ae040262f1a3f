"""Facts in told words: atoms of declared predicates, each held against the words that say it.

In: a text that a person tells, and atoms that a model or that person reads out of it. Out: facts
with the place of the sentence that says them, and what was refused with the reason. Invariants: a
model only points, it is no source; no fact leaves here whose every value does not stand in one
sentence that affirms it, as it is or in another spelling; only what people can state is a fact.
Example: "There were 1 million people at the march." says `march_size(1000000)`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from constat.analysis.goals import what_to_state
from constat.diagnostics import ConstatError
from constat.frozen import frozen
from constat.logic import Kind, display_value
from constat.logic.structures import branches_of, leaves_of, types_text
from constat.memory.facts import Author
from constat.memory.grounding import Claim, Grounded, Reason, ground, sentences
from constat.model import Prompt, Task, Tool, Turn
from constat.syntax import parse_fact, print_row, print_signature
from constat.syntax.printing import print_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Column, Predicate, Value
    from constat.model import Reply

TOOL: Final = "state_facts"
_MOST_PREDICATES: Final = 200
_MOST_FACTS: Final = 50
_MOST_SENTENCES: Final = 2_000
_LONGEST_VALUE: Final = 2_000
_FAR: Final = frozenset({Reason.NOT_FOUND, Reason.CONSTANT})
_NUMBER: Final = re.compile(r"[-+]?[0-9][0-9_]*(?:\.[0-9]+)?\Z", re.ASCII)
# What a document says to the model that reads it is no statement about the world.
_INSTRUCTS: Final = re.compile(
    r"\A\W*(?:system|assistant|developer|tool|user)\s*:"
    r"|</?\s*(?:data|system|assistant|tool|user|instructions?)\b"
    r"|\b(?:ignore|disregard|override|bypass|forget)\s+(?:\w+\s+){0,4}"
    r"(?:rules?|instructions?|prompts?|checks?|polic(?:y|ies)|guidelines?|above)\b",
    re.IGNORECASE,
)
_SYSTEM: Final = """\
You read facts out of what a person tells you. Call the tool once with every fact that the text
plainly states and that is an atom of one of the predicates below, and with no other. Each fact
has a value for each column, in the order of the columns: numbers in digits without separators
(1 million is 1000000), days as YYYY-MM-DD, names as the text spells them. With each fact give
the words of the text that state it, copied letter by letter. What the text asks, supposes, denies
or only says roughly is no fact. Complete nothing from your own knowledge: where the text does not
give a value there is no fact. If the text states none, call the tool with an empty list.

Predicates:
"""


@frozen
class Pointed:
    """An atom that somebody reads out of a text, and the words they point to; empty for any."""

    atom: str
    words: str = ""


@frozen
class Said:
    """A fact that a sentence says: bytes `start` to `end` of the text."""

    fact: str
    start: int
    end: int
    sentence: str


@frozen
class NotSaid:
    """An atom that the text does not say, and why."""

    atom: str
    reason: str


def prompt_for(program: AnalysedProgram, text: str, wanted: Sequence[str] = ()) -> Prompt:
    """Give what a model is asked; `wanted` are predicates that are looked for most."""
    names = dict.fromkeys([one for one in wanted if one in program.program.predicates])
    names.update(dict.fromkeys(one.name for one in statable(program)))
    listed = [program.program.predicates[name] for name in list(names)[:_MOST_PREDICATES]]
    types = types_text([column for one in listed for column in one.columns])
    system = _SYSTEM + "\n".join([*map(_described, listed), *types])
    return Prompt(Task.EXTRACT, system, (Turn("user", text),), (_tool(),), must_call=TOOL)


def statable(program: AnalysedProgram) -> tuple[Predicate, ...]:
    """Give the predicates whose facts people can state."""
    return tuple(
        one
        for one in program.program.predicates.values()
        if one.name in program.external and "." not in one.name
    )


def _described(predicate: Predicate) -> str:
    told = predicate.description or predicate.attributes.get("says", "")
    line = f"- {print_signature(predicate)}"
    return f"{line}: {' '.join(told.split())}" if told else line


def _tool() -> Tool:
    fact = {
        "type": "object",
        "additionalProperties": False,
        "required": ["predicate", "values", "words"],
        "properties": {
            "predicate": {"type": "string", "description": "The name of the predicate."},
            "values": {
                "type": "array",
                "items": {"type": "string"},
                "description": "A value for each column, in order.",
            },
            "words": {"type": "string", "description": "The words of the text that state it."},
        },
    }
    facts = {"type": "array", "items": fact, "description": "The facts that the text states."}
    parameters = {
        "type": "object",
        "additionalProperties": False,
        "required": ["facts"],
        "properties": {"facts": facts},
    }
    return Tool(TOOL, "Give the facts that the text states.", parameters)


# ---------------------------------------------------------------------- what a model points to


def pointed(
    reply: Reply, program: AnalysedProgram
) -> tuple[tuple[Pointed, ...], tuple[NotSaid, ...]]:
    """Read a model's reply: what it points to, and what of it is no atom."""
    found: list[Pointed] = []
    refused: list[NotSaid] = []
    calls = [one for one in reply.calls if one.name == TOOL]
    if not calls:
        return (), (NotSaid("", "the model has not called the tool"),)
    facts = calls[0].arguments.get("facts")
    listed = facts if isinstance(facts, list) else []
    for one in listed[:_MOST_FACTS]:
        try:
            found.append(_pointed(one, program))
        except ValueError as problem:
            refused.append(NotSaid(_shown(one), str(problem)))
    if len(listed) > _MOST_FACTS:
        refused.append(NotSaid("", f"more than {_MOST_FACTS} facts: the others were not looked at"))
    return tuple(found), tuple(refused)


def _pointed(told: object, program: AnalysedProgram) -> Pointed:
    if not isinstance(told, dict):
        raise ValueError("this is no fact")  # noqa: TRY004  callers catch one type
    name, values, words = told.get("predicate"), told.get("values"), told.get("words")
    if not isinstance(name, str) or not isinstance(values, list) or not isinstance(words, str):
        raise ValueError("the fact has no predicate, values or words")  # noqa: TRY004  as above
    predicate = program.program.predicates.get(name)
    if predicate is None:
        raise ValueError("there is no such predicate")
    if len(values) != predicate.arity or not all(isinstance(one, str | int) for one in values):
        raise ValueError(f"`{name}` has {predicate.arity} columns")
    written = (
        _written(str(one), column) for one, column in zip(values, predicate.columns, strict=True)
    )
    return Pointed(f"{name}({', '.join(written)})", words)


def _written(value: str, column: Column) -> str:
    """Write a value as goals do; a number that is none stays a text, which the column refuses."""
    if len(value) > _LONGEST_VALUE:
        raise ValueError("a value is too long")
    plain = value.strip().replace(",", "")
    if column.kind.numeric and _NUMBER.match(plain):
        return plain
    return print_text(value)


def _shown(told: object) -> str:
    if not isinstance(told, dict):
        return ""
    values = told.get("values")
    listed = ", ".join(map(str, values)) if isinstance(values, list) else ""
    return f"{told.get('predicate', '')}({listed})"[:200]


# ---------------------------------------------------------------------- what the text says


def examine(
    program: AnalysedProgram, text: str, claims: Sequence[Pointed]
) -> tuple[tuple[Said, ...], tuple[NotSaid, ...]]:
    """Hold atoms against the text; each comes out on one of the two sides."""
    said: dict[str, Said] = {}
    many = f"more than {_MOST_FACTS} facts are asked for at once"
    refused = [NotSaid(claim.atom, many) for claim in claims[_MOST_FACTS:]]
    for claim in claims[:_MOST_FACTS]:
        found = _examined(program, text, claim)
        if isinstance(found, Said):
            said.setdefault(found.fact, found)
        else:
            refused.append(found)
    return tuple(said.values()), tuple(refused)


def _examined(program: AnalysedProgram, text: str, claim: Pointed) -> Said | NotSaid:
    try:
        name, row = parse_fact(claim.atom, program.program)
    except ConstatError as problem:
        mistake = problem.diagnostics[0]
        edit = f"; {mistake.help}" if mistake.help else ""
        return NotSaid(claim.atom, f"{mistake.message}{edit}")
    if name not in program.external:
        edit = what_to_state(program, name)
        return NotSaid(claim.atom, f"`{name}` is derived by rules and cannot be stated; {edit}")
    predicate = program.program.predicates[name]
    fact = print_row(predicate, row)
    pairs = zip(row, predicate.kinds, strict=True)
    asked = Claim(name, tuple(text for value, kind in pairs for text in _words(value, kind)))
    answers = []
    for words, part, before in _candidates(claim.words, text):
        found = ground(asked, words, part, Author.HUMAN)
        if isinstance(found, Grounded):
            start, end = (before + place for place in found.sentence)
            sentence = text.encode()[start:end].decode()
            if _INSTRUCTS.search(sentence):
                return NotSaid(fact, "the sentence instructs whoever reads it, and states nothing")
            return Said(fact, start, end, sentence)
        answers.append(found)
    # The reason that came nearest to saying it is the one worth telling.
    told = min(answers, key=lambda one: one.reason in _FAR, default=None)
    if told is None:
        return NotSaid(fact, Reason.NOT_FOUND.value)
    detail = f": {told.detail}" if told.detail else ""
    return NotSaid(fact, f"{told.reason.value}{detail}")


def _words(value: Value, kind: Kind) -> Iterator[str]:
    """Yield what a text has to say for a value: for a structure all that stands in it."""
    if kind is not Kind.STRUCTURE:
        yield display_value(value, kind)
        return
    words = [display_value(*leaf) for leaf in leaves_of(str(value))]
    words += branches_of(str(value))
    # `nil` and a record of no fields say nothing that could be looked for, but themselves.
    yield from words or [str(value)]


def _candidates(words: str, text: str) -> Iterator[tuple[str, str, int]]:
    """Yield words that may state it, the text they stand in, and how many bytes come before it.

    Those that are pointed to may stand anywhere; else every sentence is one, and stands alone.
    """
    if words.strip():
        yield words, text, 0
        return
    before, counted = 0, 0
    for place, (start, end) in enumerate(sentences(text)):
        if place >= _MOST_SENTENCES:
            return
        before, counted = before + len(text[counted:start].encode()), start
        yield text[start:end], text[start:end], before
