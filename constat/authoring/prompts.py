"""What a model is told before it drafts: the language, the duties, and what is there."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Final, NamedTuple

from constat.authoring.discovery import RULE, database_lines, fenced, schema_lines
from constat.catalog.schema.words import singular, words_of
from constat.frozen import frozen
from constat.logic import FUNCTIONS, null_policies, null_words
from constat.logic.structures import types_text
from constat.logic.vocabulary import BITWISE
from constat.memory.tokens import estimate
from constat.model.prompts import Tool, plain
from constat.project.settings import BARE
from constat.syntax import missing_note, print_rule, print_signature

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.authoring.discovery import DiscoveryTools
    from constat.logic import Predicate
    from constat.project import AuthoringSetting

_MOST: Final = 6
_IN_NAME: Final = 3.0
_SHORTEST: Final = 3
# Beginnings stand for words: `ordered`, `orders` and `order` are alike.
_COMPARED: Final = 5


def likely(predicates: Sequence[Predicate], question: str, most: int = _MOST) -> list[Predicate]:
    """Give the predicates that have rare words of the question in their name or description."""
    asked = stems([question])
    known = [(one, stems([one.name]), stems(_told(one))) for one in predicates]
    weights = _weights([name | told for _, name, told in known])
    scored = [
        (_score(asked & (name | told), name, weights), place, one)
        for place, (one, name, told) in enumerate(known)
    ]
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: (-one[0], one[1]))
    return [one for _, _, one in best[:most]]


def _told(predicate: Predicate) -> Iterable[str]:
    yield from (one.name for one in predicate.columns)
    yield predicate.description
    yield predicate.attributes.get("says", "")


def stems(texts: Iterable[str]) -> set[str]:
    """Give the beginnings of the words in some texts, which stand for the words."""
    found = (word for text in texts for part in text.split() for word in words_of(part))
    return {singular((word,))[0][:_COMPARED] for word in found if len(word) >= _SHORTEST}


def _weights(found: Sequence[set[str]]) -> Mapping[str, float]:
    """Weigh words by how few predicates have them; one that all have weighs nothing."""
    counts = Counter(word for words in found for word in words)
    return {word: math.log(len(found) / count) for word, count in counts.items()}


def _score(shared: set[str], name: set[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] * (_IN_NAME if word in name else 1.0) for word in shared)


MOST_PREDICATES: Final = 80
"""Beyond so many predicates of a project only their names are listed; a tool shows each."""
_MOST_NAMES: Final = 1_000
_MOST_SAID: Final = 300
_MOST_SHOWN: Final = 8_000
_MOST_SIGNATURES: Final = 300
_MOST_TYPES: Final = 40
_SIGNS: Final = BITWISE | {"neg", "min", "max", "to_unsigned", "to_float", "to_decimal"}
"""Functions of which a first prompt does not tell."""
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
- Decimals have a point, 40.0; as({q}n, Decimal) makes one. Timestamp: "2025-01-31T10:00:00Z".
- Functions: {functions}.
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
    functions = ", ".join(name for name in FUNCTIONS if name[0].isalpha() and name not in _SIGNS)
    language = _LANGUAGE.format(
        q="" if bare else "?", variables=_SPELLINGS[bare], functions=functions
    )
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


# Models of before there were tools; whatever is newer, or not known here, can call them.
_WITHOUT_TOOLS: Final = re.compile(
    r"(?:.*/)?(?:claude-(?:1|2|instant)|gpt-3(?:\.5-turbo-instruct)?$|gpt-3\.5-turbo-instruct"
    r"|text-(?:ada|babbage|curie|davinci)|davinci|curie|babbage|ada$)",
    re.IGNORECASE,
)
_MOST_TOKENS: Final = 60_000
_HOW: Final = (
    "Look up names before you use them, never guess one: `search_tables` finds tables, columns, "
    "predicates and rules by words."
)


class BuiltPrompt(NamedTuple):
    """The text, and whether tools go with it."""

    text: str
    use_tools: bool


@frozen
class TokenEstimate:
    """About how many tokens a prompt takes, beside what telling everything would take.

    `mode` is `tool_discovery` or `full_metadata`; `savings_percent` is 0 for the latter. Members
    can be asked for as those of a dictionary: `estimate["mode"]`.
    """

    mode: str
    tokens: int
    full_tokens: int
    savings_percent: int

    def __getitem__(self, name: str) -> str | int:
        """Give a member by its name; raises `KeyError`."""
        members: dict[str, str | int] = asdict(self)
        return members[name]


class PromptBuilder:
    """Builds the part of a system prompt that is about sources."""

    def __init__(self, tools: DiscoveryTools, most_tokens: int = _MOST_TOKENS) -> None:
        self._tools = tools
        self._most = most_tokens

    def build_prompt(self, model: str) -> BuiltPrompt:
        """Give the text for a model, and whether it can look up the rest."""
        if can_call_tools(model):
            return BuiltPrompt(self._minimal(), use_tools=True)
        return BuiltPrompt(self._full(), use_tools=False)

    def estimate_tokens(self, model: str) -> TokenEstimate:
        """Estimate the tokens of the text with the definitions of its tools."""
        text, use_tools = self.build_prompt(model)
        full = sum(estimate(piece) for piece in self._pieces())
        if not use_tools:
            return TokenEstimate("full_metadata", estimate(text), full, 0)
        tokens = estimate(text) + sum(tool_tokens(tool) for tool, _ in self._tools.needed())
        return TokenEstimate(
            "tool_discovery", tokens, full, max(0, round(100 * (1 - tokens / full))) if full else 0
        )

    def _minimal(self) -> str:
        databases = fenced(database_lines(self._tools.catalog.databases()))
        return f"{RULE}\nThe databases:\n{databases}\n{_HOW}"

    def _full(self) -> str:
        lines: list[str] = []
        left = self._most
        pieces = list(self._pieces())
        for place, piece in enumerate(pieces):
            left -= estimate(piece)
            if left < 0:
                lines.append(f"... {len(pieces) - place:,} tables are left out: there are too many")
                break
            lines.append(piece)
        tables = fenced("\n\n".join(lines) or "no tables")
        return f"{RULE}\nAll tables:\n{tables}"

    def _pieces(self) -> Iterator[str]:
        """Give all that is known, a table at a time."""
        for table in self._tools.shown_tables():
            yield schema_lines(table, self._tools.readers(table.path))


def can_call_tools(model: str) -> bool:
    """Whether a model of that name can call tools."""
    return _WITHOUT_TOOLS.match(model.strip()) is None


def tool_tokens(tool: Tool) -> int:
    """Estimate what the definition of a tool takes."""
    return estimate(f"{tool.name} {tool.description} {json.dumps(plain(tool.parameters))}")
