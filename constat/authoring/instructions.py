"""What a model is told before it drafts: the language, the duties, and what is there.

In: a program, and how variables are spelled. Out: the part of a prompt that stays the same for a
project, and the part for one question. Invariants: whatever comes from people or databases stands
between marks as data, and cannot close them; times, paths and ids of this machine are in neither
part, so that the same question is the same prompt. Example: `system_prompt(program, setting)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.authoring.discovery_text import RULE, fenced
from constat.project.authoring import BARE
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Predicate
    from constat.project import AuthoringSetting

MOST_PREDICATES: Final = 80
"""Beyond so many predicates of a project only their names are listed; a tool shows each."""
_MOST_NAMES: Final = 1_000
_MOST_SAID: Final = 300
_MOST_SHOWN: Final = 8_000

_DUTIES: Final = """\
You turn a question into a goal that a theorem prover decides over a project's facts and rules.
You do not answer the question yourself, and nothing you write is believed: it is checked, and what
follows from it is marked as resting on your draft until a person approves it.

Duties, in this order:
1. Reuse. If an existing predicate says what the question asks, the goal is an atom of it and
   `rules` is empty. Existing rules are approved; do not write your own version of them.
2. If not, declare new predicates with names of their own, and derive them from existing ones.
3. Only where no predicate gives a column of a database that is needed: declare a predicate and
   give it a query. One SELECT, read-only; its columns are those of the predicate, in order.
4. Never state facts, and never invent a threshold, date or id: use a predicate that supplies it.
   If there is none, declare one without rules: it is shown as missing.

Hand the result in with the tool `propose`. If checks find mistakes you get them with code, place
and help: hand in the whole corrected proposal. If the question cannot be expressed, say so with
`cannot_express`."""

_LANGUAGE: Final = """\
The language is strict Datalog in Souffle's syntax:
  .decl big_spender(customer: CustomerId)
  big_spender({q}c) :- customer_revenue({q}c, {q}total), {q}total > 5000, !blocked({q}c).
- Every predicate has a .decl with typed columns: symbol, number (64 bit), Decimal, float, Date,
  Timestamp, Bool, or a type that the project declares.
- {variables} Texts and dates are quoted: "gold", "2025-01-31". Decimals: 10.50.
- In `goal` variables are ?name always, and constants need no quotes: is_vip(C001), is_vip(?c).
- `,` is and; several rules are or; `!p(...)` is not; comparisons are = != < <= > >=.
- Every variable of the head, of a negation and of a comparison occurs in a positive atom of the
  body. A variable that is used once is written `_`, inside an aggregate `_name`.
- Aggregates: {q}n = count : {{ p({q}x, _y) }}, {q}t = sum {q}v : {{ q({q}x, _id, {q}v) }};
  also min, max, mean. Keep a key column such as _id in the body, or equal amounts are counted once.
- No predicate rests on its own negation or aggregate. No number is counted up without a bound.
- A query: .input gold(source = "NAME", query = "SELECT customer_id FROM accounts WHERE ...")
  after its .decl, for a predicate that you declare. Values that a goal binds are pushed down.
  Equal rows are an error: write SELECT DISTINCT where rows can repeat. No NULLs, no parameters.
- @[says = "{{customer}} spends much"] before .decl or a rule gives the sentence of the proof; it
  names every column or variable. Other attributes are removed."""

_SPELLINGS: Final = (
    "Variables are written ?name, constants never so.",
    "Variables are bare words.",
)


def system_prompt(
    program: AnalysedProgram, setting: AuthoringSetting, databases: Sequence[str], sources: str
) -> str:
    """Give the part that stays the same for a project; `sources` tells about its databases."""
    bare = setting.variables == BARE
    language = _LANGUAGE.format(q="" if bare else "?", variables=_SPELLINGS[bare])
    parts = [_DUTIES, RULE, language, predicates_text(program)]
    if setting.queries and databases:
        parts.append(f"A query names one of these sources: {', '.join(databases)}\n{sources}")
    if setting.context:
        parts.append(f"About the domain:\n{as_data(setting.context)}")
    return "\n\n".join(parts)


def question_text(question: str, rejected: Iterable[tuple[str, str]]) -> str:
    """Give the first turn: the question, and what people rejected before, with their reasons."""
    lines = [f"The question:\n{as_data(question)}"]
    told = [
        f"{as_data(text[: _MOST_SAID * 4])}\nbecause: {as_data(reason[:_MOST_SAID])}"
        for text, reason in rejected
    ]
    if told:
        lines.append("These drafts were rejected by people. Do not repeat them:")
        lines += told
    return "\n\n".join(lines)


def predicates_text(program: AnalysedProgram) -> str:
    """List the predicates of a program, the derived ones first."""
    known = list(program.program.predicates.values())
    approved = {rule.head.predicate for rule in program.rules if not rule.proposed}
    inside = [one for one in known if one.name not in program.external]
    derived = [one for one in inside if one.name in approved]
    proposed = [one for one in inside if one.name not in approved]
    given = [one for one in known if one.name in program.external]
    if len(known) > MOST_PREDICATES:
        names = [one.name for one in (*derived, *given, *proposed)]
        more = len(names) - _MOST_NAMES
        listed = ", ".join(names[:_MOST_NAMES]) + (f" and {more:,} more" if more > 0 else "")
        return f"Existing predicates (`show_predicate` describes each):\n{listed}"
    lines = ["Existing predicates with approved rules:", *map(_line, derived)]
    lines += ["Existing predicates with facts from outside:", *map(_line, given)]
    if proposed:
        lines += ["Predicates with rules that nobody has approved:", *map(_line, proposed)]
    return "\n".join(lines)


def show_predicate(program: AnalysedProgram, name: str) -> str | None:
    """Describe a predicate with its rules and its query; `None` where there is none."""
    predicate = program.program.predicates.get(name)
    if predicate is None:
        return None
    lines = [_line(predicate)]
    if predicate.source is not None:
        given = sorted(predicate.source.parameters.items())
        lines.append("from: " + ", ".join(f"{key} = {value}" for key, value in given))
    lines += [print_rule(rule) for rule in program.program.rules_for(name)]
    shown = "\n".join(lines)
    return shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "\n(shortened)"


def as_data(text: str) -> str:
    """Put a foreign text between marks that it cannot imitate, without control characters."""
    shown = "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
    return fenced(shown)


def _line(predicate: Predicate) -> str:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    said = predicate.attributes.get("says", "")
    told = " ".join([*predicate.description.split(), f"({said})" if said else ""]).strip()
    note = f"  // {told[:_MOST_SAID]}" if told else ""
    return f"  {predicate.name}({columns}){note}"
