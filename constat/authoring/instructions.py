"""What a model is told before it drafts: the language, the duties, and what is there.

In: a program, and how variables are spelled. Out: the part of a prompt that stays the same for a
project, and the part for one question. Invariants: whatever comes from people or databases stands
between marks as data, and cannot close them; times, paths and ids of this machine are in neither
part, so that the same question is the same prompt. Example: `system_prompt(program, setting)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.authoring.discovery_text import RULE, fenced
from constat.authoring.likely import likely
from constat.logic import null_policies, null_words
from constat.logic.structure_forms import types_text
from constat.memory.tokens import estimate
from constat.project.authoring import BARE
from constat.syntax import missing_note, print_rule, print_signature

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
_MOST_SIGNATURES: Final = 300
_MOST_TYPES: Final = 40
_PROPOSED: Final = "with rules that nobody has approved"

_DUTIES: Final = """\
Turn the question into a goal that a theorem prover decides over a project's facts and rules. Do not
answer it. What you write is checked, and marked as a draft until a person approves it.
The goal holds exactly when the answer to the question is yes; with variables, exactly for the
answers. Nothing of the question is left out: not, only, every, at least, a name, a date. A goal is
never negated: for "is it not so" derive a predicate with `!` in its rule.
1. Reuse: if an existing predicate says what is asked, the goal is an atom of it and `rules` is
   empty. Never write your own version of existing rules.
2. Else declare predicates with new names, derived from existing ones.
3. Only for a column of a database that no predicate gives: a predicate with a query.
4. Never state facts or invent a threshold, date or id: use a predicate that has it, or declare one
   without rules, which is shown as missing.
Mistakes in what you `propose` come back: hand in all of it, corrected."""

_LANGUAGE: Final = """\
Rules are strict Datalog in Souffle's syntax:
  .decl big_spender(customer: CustomerId)
  @[says = "{{c}} spends {{total}}"]
  big_spender({q}c) :- customer_revenue({q}c, {q}total), {q}total > 5000, !blocked({q}c).
- Types: symbol, number (64 bit), Decimal, float, Date, Timestamp, Bool, or the project's.
- {variables} Texts and dates are quoted: "gold", "2025-01-31".
- In `goal` variables are ?name always, constants need no quotes: is_vip(C001), is_vip(?c).
- `!p(...)` is not; comparisons are = != < <= > >=. Variables of the head, of a negation and of a
  comparison occur in a positive atom of the body. One used once is `_`, in an aggregate `_name`.
- {q}n = count : {{ p({q}x, _y) }}, {q}t = sum {q}v : {{ q({q}x, _id, {q}v) }}; min, max, mean.
  Keep a key such as _id, or equal amounts count once.
- No predicate rests on its own negation or aggregate; nothing counts up without a bound.
- `/` of whole numbers cuts the fraction off: write as({q}n, Decimal) / 2, or `@[floor]` before the
  rule where that is meant.
- @[says = "..."] before .decl or a rule is its sentence and names every column or variable. No
  other attributes."""
_MISSING: Final = """\
- A column that may be missing is read by whatever is written there but `_`. What is missing has no
  value or one that nobody knows, so the answer stays open, or the row does not count. Write `_`,
  or leave the column out by name, `p(id = {q}x)`, wherever its value does not matter."""
_QUERIES: Final = """\
- A query, after its .decl: .input gold(source = "{names}", query = "SELECT customer_id
  FROM accounts"). One read-only SELECT of the predicate's columns in order, DISTINCT where rows can
  repeat; no NULLs, no parameters."""

_TYPED: Final = (
    "Types with fields. `[a, b]` is a record, `nil` the empty one, `$Name(a, b)` a branch. In a "
    "body they are patterns, in an atom or on a side of `=`, with `_` for fields that do not "
    "matter; in a head they make values. They have no order."
)

_SPELLINGS: Final = (
    "Variables are written ?name, constants never so.",
    "Variables are bare words.",
)


def system_prompt(
    program: AnalysedProgram,
    setting: AuthoringSetting,
    databases: Sequence[str],
    sources: str,
    *,
    lean: bool = False,
) -> str:
    """Give the part that stays the same for a project; `sources` tells about its databases.

    `lean` for a model that can look things up: it is told how predicates are called, no more.
    """
    bare = setting.variables == BARE
    language = _LANGUAGE.format(q="" if bare else "?", variables=_SPELLINGS[bare])
    if any(any(null_policies(one)) for one in program.program.predicates.values()):
        language += "\n" + _MISSING.format(q="" if bare else "?")
    queried = bool(setting.queries and databases)
    if queried:
        language += "\n" + _QUERIES.format(names='" or "'.join(databases))
    parts = [_DUTIES, language, names_text(program) if lean else predicates_text(program)]
    if queried:
        parts.append(sources)
    if RULE not in parts[-1]:
        parts.append(RULE)
    if setting.context:
        parts.append(f"About the domain:\n{as_data(setting.context)}")
    return "\n\n".join(parts)


def question_text(
    question: str, rejected: Iterable[tuple[str, str]], before: str = "", hint: str = ""
) -> str:
    """Give the first turn: the question, and what people rejected before, with their reasons.

    `before` is what was said earlier in the conversation, `hint` what the question may be about.
    """
    parts = (hint, f"The question:\n{as_data(question)}", before)
    lines = [one for one in parts if one]
    told = [
        f"{as_data(text[: _MOST_SAID * 4])}\nbecause: {as_data(reason[:_MOST_SAID])}"
        for text, reason in rejected
    ]
    if told:
        lines.append("These drafts were rejected by people. Do not repeat them:")
        lines += told
    return "\n\n".join(lines)


def hint_text(program: AnalysedProgram, question: str) -> str:
    """Describe the predicates that share words with a question; empty where none does."""
    found = likely(_spelled(program), question)
    return "\n".join(["Perhaps:", *map(_described, found)]) if found else ""


def names_text(program: AnalysedProgram) -> str:
    """List the predicates of a program in few words: with their columns, or their names alone."""
    groups = _grouped(program)
    listed = [(title, ", ".join(map(_signature, found))) for title, found in groups]
    if sum(estimate(names) for _, names in listed) > _MOST_SIGNATURES:
        return "\n".join([_names(groups), *_types(program.program.predicates.values())])
    lines = [f"{title}: {names}" for title, names in listed if names]
    lines += _types(program.program.predicates.values())
    return "\n".join(["Existing predicates (`show_predicate` describes each):", *lines])


def predicates_text(program: AnalysedProgram) -> str:
    """List the predicates of a program with all that is said of them, the derived ones first."""
    groups = _grouped(program)
    types = _types(program.program.predicates.values())
    if sum(len(found) for _, found in groups) > MOST_PREDICATES:
        return "\n".join([_names(groups), *types])
    lines: list[str] = []
    for title, found in groups:
        if found or title != _PROPOSED:
            lines += [f"Existing predicates {title}:", *map(_line, found)]
    return "\n".join([*lines, *types])


def _spelled(program: AnalysedProgram) -> tuple[Predicate, ...]:
    """Return the predicates that a text can name: relations that analysis made have a point."""
    return tuple(one for one in program.program.predicates.values() if "." not in one.name)


def _grouped(program: AnalysedProgram) -> tuple[tuple[str, Sequence[Predicate]], ...]:
    known = _spelled(program)
    approved = {rule.head.predicate for rule in program.rules if not rule.proposed}
    inside = [one for one in known if one.name not in program.external]
    return (
        ("with approved rules", [one for one in inside if one.name in approved]),
        ("with facts from outside", [one for one in known if one.name in program.external]),
        (_PROPOSED, [one for one in inside if one.name not in approved]),
    )


def _names(groups: Sequence[tuple[str, Sequence[Predicate]]]) -> str:
    """List names alone, and not all of thousands."""
    lines = ["Existing predicates (`show_predicate` describes each):"]
    left = _MOST_NAMES
    for title, found in groups:
        if found:
            shown = ", ".join(one.name for one in found[:left])
            more = f"{len(found) - left:,} more" if len(found) > left else ""
            lines.append(f"{title}: " + " and ".join(one for one in (shown, more) if one))
            left = max(0, left - len(found))
    return "\n".join(lines)


def show_predicate(program: AnalysedProgram, name: str, *, values: bool) -> str | None:
    """Describe a predicate with its rules and its query; `None` where there is none.

    Its facts in rule files are rows: only how many there are is told without leave for `values`.
    """
    predicate = program.program.predicates.get(name)
    if predicate is None:
        return None
    lines = [_line(predicate), *_types([predicate])]
    if predicate.source is not None:
        given = sorted(predicate.source.parameters.items())
        lines.append("from: " + ", ".join(f"{key} = {value}" for key, value in given))
    rules = program.program.rules_for(name)
    lines += [print_rule(rule, program.program.predicates) for rule in rules if rule.body or values]
    facts = sum(not rule.body for rule in rules)
    if facts and not values:
        lines.append(f"facts in rule files, which are not shown: {facts:,}")
    shown = "\n".join(lines)
    return shown if len(shown) <= _MOST_SHOWN else shown[:_MOST_SHOWN] + "\n(shortened)"


def _types(predicates: Iterable[Predicate]) -> list[str]:
    """Tell of records and branches, where there are any: elsewhere they only cost room."""
    lines = types_text([column for one in predicates for column in one.columns])
    return [*([_TYPED] if lines else []), *lines[:_MOST_TYPES]]


def as_data(text: str) -> str:
    """Put a foreign text between marks that it cannot imitate, without control characters."""
    shown = "".join(one if one.isprintable() or one in "\n\t" else " " for one in text)
    return fenced(shown)


def _signature(predicate: Predicate) -> str:
    columns = zip(predicate.columns, null_words(predicate), strict=True)
    listed = ", ".join(f"{one.name}{missing_note(word)}" for one, word in columns)
    return f"{predicate.name}({listed})"


def _described(predicate: Predicate) -> str:
    """Describe a predicate in one sentence, its own words before those of its proofs."""
    told = " ".join(predicate.description.split()) or predicate.attributes.get("says", "")
    return f"  {print_signature(predicate)}" + (f"  // {told[:_MOST_SAID]}" if told else "")


def _line(predicate: Predicate) -> str:
    said = predicate.attributes.get("says", "")
    told = " ".join([*predicate.description.split(), f"({said})" if said else ""]).strip()
    return f"  {print_signature(predicate)}" + (f"  // {told[:_MOST_SAID]}" if told else "")
