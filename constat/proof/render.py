"""Write a tree as text for people, or as JSON for programs."""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Final, Protocol

from constat.diagnostics import counted
from constat.logic import SPOKEN
from constat.patterns import regex
from constat.proof.levels import LEVEL_WORDS
from constat.proof.reading import UNAPPROVED
from constat.proof.sentences import ASKED, PLAIN
from constat.proof.shown import attested_lines

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.proof.counterexamples import Counterexample
    from constat.proof.sentences import Speech
    from constat.proof.shown import SourceShown
    from constat.proof.tree import GapShown, Step, Tree
    from constat.proof.whynot import Attempt

# The origin stands beside it and is never replaced (semantics 18).

_CACHE: Final = "cache"
_UNREACHED: Final = "not reached"
_UNITS: Final = ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"))


def cached(tier: str, executed_at: str, moment: str) -> str:
    """Return the phrase for an evidence."""
    if tier.partition(",")[0] != _CACHE:
        return ""
    unreached = "; the source was not reached" if tier.endswith(_UNREACHED) else ""
    return f", cached{_ago(executed_at, moment)}{unreached}"


def _ago(executed_at: str, moment: str) -> str:
    try:
        age = datetime.fromisoformat(moment) - datetime.fromisoformat(executed_at)
    except (ValueError, TypeError):
        return ""
    for size, noun in _UNITS:
        count = int(age.total_seconds() // size)
        if count > 0:
            return f" {count:,} {noun}{'' if count == 1 else 's'} ago"
    return " just now"


# No control character of data reaches a terminal, and depth costs no recursion.
# JSON schema: an object with `goal`, `verdict`, `confidence` (text), `exact`, `assumptions`,
# `roots` (numbers of steps), `steps` (objects with the fields of `Step`; `derived_from` lists
# numbers of steps), `attempts` (`Attempt`), `looked_up` (`SourceShown`), `missing` (`GapShown`),
# `failures`, `stopped`. Steps are numbered by their place.

_INDENT: Final = "  "
_COMPARED: Final = frozenset({"=", "!=", "<", "<=", ">", ">="})
_DAY: Final = regex(r"\d{4}-\d\d-\d\d")
_MOST_PARAMETERS: Final = 10
_LONGEST_PARAMETER: Final = 80
# A walk down a list tells every tail of it; what is cut off here stands in JSON and certificate.
_LONGEST_SAYING: Final = 4_000
_MOST_INDENT: Final = 40
_ASCII_END: Final = 0x100
# What begins a formula in some program, the wide forms with it, also behind blanks and quotes.
_FORMULA: Final = regex(r"[\s\"']*[=+\-@\uff1d\uff0b\uff0d\uff20]")
_NUMBER: Final = regex(r"[+-]?[0-9]+(\.[0-9]+)?\Z", re.ASCII)
# No line of a step: it says that the step's query was told just before.
CONTESTED_ROWS: Final = "rows that contradict each other (stating one as a fact changes nothing):"
_SAME_SOURCE: Final = "\0"

_Line = tuple[int, int, str]
"""A step and its level, or a text (then the step does not matter)."""


def printable(text: str) -> str:
    """Replace what a terminal would obey or hide: controls, direction marks, lone surrogates."""
    if text.isprintable():
        return text
    return "".join(one if _is_shown(one) else _escaped(one) for one in text)


def defused(text: str) -> str:
    """Return printable text that no spreadsheet takes for a formula; numbers stay as they are.

    Source: OWASP, "CSV injection".
    """
    shown = printable(text)
    return f"'{shown}" if _FORMULA.match(shown) and not _NUMBER.match(shown) else shown


def _is_shown(one: str) -> bool:
    return one.isprintable() and unicodedata.category(one) not in {"Cc", "Cf", "Cs", "Zl", "Zp"}


def _escaped(one: str) -> str:
    code = ord(one)
    if one in "\n\t\r":
        return {"\n": "\\n", "\t": "\\t", "\r": "\\r"}[one]
    return f"\\x{code:02x}" if code < _ASCII_END else f"\\u{{{code:x}}}"


def tree_to_json(tree: Tree) -> str:
    """Return the tree as a JSON object; see the module for its schema."""
    members = asdict(tree)
    members["missing"] = members.pop("gaps")
    members["missing_left"] = members.pop("gaps_left")
    for step in members["steps"]:
        step["derived_from"] = step.pop("premises")
        step["hidden_rows"] = sum(count for _, count in step.pop("hidden"))
    return json.dumps(members, indent=2, sort_keys=True)


def render_tree(tree: Tree, *, depth: int | None = None, moment: str = "") -> str:
    """Return the tree as text; ``depth`` bounds how many levels below the goal are shown.

    With a ``moment`` (UTC, as in evidence) rows from the cache say how old they were then.
    """
    lines = _Writer(tree, depth, moment)
    lines.head()
    for root in tree.roots:
        lines.branch(root)
    for attempt in tree.attempts:
        lines.attempt(attempt)
    lines.looked_up()
    lines.unknown()
    return "\n".join(lines.lines) + "\n"


class Against(Protocol):
    """An attempt that may have counterexamples."""

    @property
    def counterexamples(self) -> tuple[Counterexample, ...]:
        """The first of them."""
        ...

    @property
    def counted(self) -> int:
        """How many there are."""
        ...

    @property
    def at_least(self) -> bool:
        """Whether there may be more: the engine stopped when one was enough."""
        ...

    @property
    def summed(self) -> bool:
        """Whether together they make a sum too large."""
        ...


class _Writer:
    """Collects lines; a step that is met again is only named."""

    def __init__(self, tree: Tree, depth: int | None, moment: str = "") -> None:
        self.tree = tree
        self.depth = depth
        self.moment = moment
        self.lines: list[str] = []
        self.shown: set[int] = set()
        self.sourced: set[int] = set()
        self.shared = _shared(tree)

    def line(self, level: int, text: str) -> None:
        # Deep chains would walk off the page: from some level on the depth is written as a number.
        indent = _INDENT * min(level, _MOST_INDENT)
        deep = f"[level {level}] " if level > _MOST_INDENT else ""
        self.lines.append(f"{indent}{deep}{printable(text)}")

    def head(self) -> None:
        tree = self.tree
        words = tree.verdict.replace("_UNDER", " UNDER assumptions")
        self.line(0, f"{words}: {tree.goal}")
        # That everything is certain needs no words.
        if tree.verdict != "UNRESOLVED" and tree.confidence != "1":
            sign = "" if tree.exact else ">= "
            self.line(0, f"confidence: {sign}{tree.confidence}")
        for assumption in tree.assumptions:
            self.line(0, f"assuming: {assumption}")
        if tree.as_of:
            self.line(0, f"as of: {tree.as_of}, as the facts were recorded then")
        self.lines.append("")

    def branch(self, root: int) -> None:
        """Write a step and what stands under it, with a list of our own instead of recursion."""
        waiting: list[_Line] = [(root, 0, "")]
        while waiting:
            number, level, text = waiting.pop()
            if text == _SAME_SOURCE:
                self.sourced.add(number)
            elif text:
                self.line(level, text)
            elif number in self.shown:
                fact = self.tree.steps[number].fact
                self.line(level, f"{_shortened(fact)}  (shown above as [{number}])")
            else:
                waiting += reversed(self.step(number, level))

    def step(self, number: int, level: int) -> list[_Line]:
        """Write the line of a step; give what stands under it."""
        self.shown.add(number)
        step = self.tree.steps[number]
        mark = f"  [{number}]" if number in self.shared else ""
        self.line(level, _shortened(step.fact) + mark)
        return self.below(step, level + 1, told=number in self.sourced)

    def below(self, step: Step, level: int, *, told: bool) -> list[_Line]:
        """List what stands under a step: lines of its own, and the steps it rests on."""
        found: list[_Line] = []
        cut = self.depth is not None and level // 2 >= self.depth
        if step.premises and cut:
            found.append((0, level, f"derived_from: {len(step.premises)} more (depth limit)"))
        elif step.premises:
            found.append((0, level, "derived_from:"))
            found += self.premises(step, level + 1)
            if step.hidden_rows:
                found.append((0, level + 1, f"... and {_hidden(step)}"))
        for source in step.sources:
            texts = source_lines(source, self.moment)
            found += [(0, level, text) for text in (texts[:1] if told else texts)]
        if step.assumption:
            found.append((0, level, f"assuming: {step.assumption}"))
        if step.note:
            found.append((0, level, f"note: {step.note}"))
        if step.level:
            found.append((0, level, f"completeness: {step.level}, {LEVEL_WORDS[step.level]}"))
        if step.rule and not step.rule.startswith(f"{ASKED}."):
            found.append((0, level, f"rule: {step.rule}"))
        if step.confidence != "1":
            found.append((0, level, f"confidence: {step.confidence}"))
        reasoning = step.reasoning or step.sentence
        said = begin_sentence(_shortened(reasoning), step.fact)
        found.append((0, level, f"reasoning: {said}"))
        return found

    def premises(self, step: Step, level: int) -> list[_Line]:
        """List the steps a step rests on; rows of one aggregate read by one query tell it once."""
        found: list[_Line] = []
        seen: set[tuple[SourceShown, ...]] = set()
        for premise in step.premises:
            sources = self.tree.steps[premise].sources
            if step.kind == "aggregate" and sources in seen:
                found.append((premise, level, _SAME_SOURCE))
            seen.add(sources)
            found.append((premise, level, ""))
        return found

    def attempt(self, attempt: Attempt) -> None:
        """Write how far a rule gets."""
        called = "the goal" if attempt.rule == f"{ASKED}.1" else f"rule {attempt.rule}"
        self.line(0, f"{called}: {_state(attempt.state)}")
        said = begin_sentence(attempt.sentence, self.tree.goal)
        if attempt.literal:
            self.line(1, f"stopped at: {said or attempt.literal}")
        for text in stop_lines(attempt.required, attempt.actual, attempt.distance):
            self.line(1, text)
        if said and not attempt.literal:
            self.line(1, f"reasoning: {said}")
        if attempt.untried:
            self.line(1, f"not tried: {counted(len(attempt.untried), 'more condition')}")
        self.lines += counterexample_lines(attempt, 1, self.moment)
        if attempt.tried > 1:
            left = counted(attempt.tried - 1, "more candidate")
            self.line(1, f"and {left} {'stops' if attempt.tried == 2 else 'stop'} there")  # noqa: PLR2004  one beside this one

    def looked_up(self) -> None:
        """Write which sources were asked for the goal itself."""
        if not self.tree.looked_up:
            return
        self.line(0, "asked for the goal itself, without a row that decides it:")
        for source in self.tree.looked_up:
            for text in source_lines(source, self.moment):
                self.line(1, text)

    def unknown(self) -> None:
        tree = self.tree
        # A rule that waits for its approval is no fact that anybody could supply.
        rules = [gap for gap in tree.gaps if gap.goal.startswith(f"{UNAPPROVED}(")]
        contested = [gap for gap in tree.gaps if gap.contested]
        facts = [gap for gap in tree.gaps if gap not in rules and not gap.contested]
        self.gaps("missing approvals (`constat rules review` shows the rules):", rules)
        self.gaps("missing (ask for one of these as a goal, or supply it as a fact):", facts)
        self.gaps(CONTESTED_ROWS, contested)
        if tree.gaps_left:
            self.line(1, f"and {tree.gaps_left:,} more")
        for failure in tree.failures:
            self.line(0, failure)
        if tree.stopped and tree.stopped != "settled":
            self.line(0, f"evaluation stopped: {tree.stopped}")

    def gaps(self, title: str, gaps: Sequence[GapShown]) -> None:
        """Write what is not known, and what would follow from it."""
        if gaps:
            self.line(0, title)
        for gap in gaps:
            self.line(1, gap.goal)
            self.line(2, f"reason: {_reason(gap)}")
            for name, said in (("if it holds", gap.if_true), ("if there is none", gap.if_false)):
                if said:
                    self.line(2, f"{name}: the goal is {_becomes(said)}")
        for edit in dict.fromkeys(gap.edit for gap in gaps if gap.edit):
            self.line(1, f"help: {edit}")


def _state(state: str) -> str:
    match state:
        case "failed":
            return "does not give it"
        case "open":
            return "may give it, but something is unknown"
        case _:
            return "was not looked at: too many possibilities"


def _becomes(said: str) -> str:
    return "still open" if said == "open" else said


def _reason(gap: GapShown) -> str:
    told = gap.tier and not gap.reason.startswith(f"{gap.tier} ")
    return f"{gap.tier}: {gap.reason}" if told else gap.reason


def _shared(tree: Tree) -> set[int]:
    """Return the steps that more than one step rests on."""
    once: set[int] = set()
    twice: set[int] = set()
    for step in tree.steps:
        for premise in step.premises:
            (twice if premise in once else once).add(premise)
    return twice | (once & set(tree.roots))


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST_SAYING:
        return text
    return f"{text[:_LONGEST_SAYING]}... ({len(text):,} characters)"


def _parameter(text: str) -> str:
    """A parameter for people; a batch of keys is long, and whole in JSON and certificate."""
    if len(text) <= _LONGEST_PARAMETER:
        return repr(text)
    return f"{text[:_LONGEST_PARAMETER]!r}... ({len(text):,} characters)"


def _hidden(step: Step) -> str:
    """Say how many rows are not shown, and of which relations where there are several."""
    if len(step.hidden) == 1:
        return counted(step.hidden_rows, "more row")
    (name, count), *others = (one for one in step.hidden if one[1])
    parts = [f"{counted(count, 'more row')} of {name}"]
    return ", ".join([*parts, *(f"{count:,} of {name}" for name, count in others)])


def source_lines(source: SourceShown, moment: str) -> list[str]:
    """Write where a row was read, a line each; with a moment also how old it was then."""
    place = f" ({source.name})" if source.name else ""
    lines = [f"source: {source.origin}{place}{cached(source.tier, source.executed_at, moment)}"]
    if source.author:
        did = {"CONFIG": "set by", "DATABASE": "described as"}.get(source.origin, "stated by")
        lines.append(f"{did}: {source.author}")
    if source.attestation is not None:
        lines += attested_lines(source.attestation)
    if source.query:
        lines.append(f"query: {' '.join(source.query.split())}")
    if source.parameters:
        shown = ", ".join(_parameter(text) for text in source.parameters[:_MOST_PARAMETERS])
        rest = len(source.parameters) - _MOST_PARAMETERS
        lines.append(f"parameters: {shown}" + (f" and {rest:,} more" if rest > 0 else ""))
    if source.executed_at:
        lines.append(f"executed_at: {_moment(source.executed_at)}")
    return lines


def counterexample_lines(attempt: Against, level: int, moment: str) -> list[str]:
    """Write the rows that contradict an "every", with their sources; of many the first."""
    if not attempt.counted:
        return []
    least = "at least " if attempt.at_least else ""
    what = "summed rows" if attempt.summed else "counterexamples"
    lines = [(level, f"{what}: {least}{attempt.counted:,}")]
    told: tuple[SourceShown, ...] = ()
    for one in attempt.counterexamples:
        because = f", because {' and '.join(one.because)}" if one.because else ""
        lines.append((level + 1, one.fact + because))
        # Rows that one query read tell it once.
        for source in one.sources if one.sources != told else ():
            lines += [(level + 2, text) for text in source_lines(source, moment)]
        told = one.sources
    more = attempt.counted - len(attempt.counterexamples)
    if more > 0:
        lines.append((level + 1, f"and {more:,} more"))
    return [f"{_INDENT * depth}{printable(text)}" for depth, text in lines]


def _moment(text: str) -> str:
    # Whole seconds for people; the JSON and the certificate have all six digits.
    return text[:19] + "Z" if text.endswith("Z") else text


def stop_lines(required: str, actual: str, distance: str) -> list[str]:
    """Say in words what would be needed where a rule stops, what is there, and how far it is."""
    told = {"required": in_words(required), "actual": actual, "distance": distance}
    return [f"{name}: {text}" for name, text in told.items() if text]


def in_words(required: str, speech: Speech = PLAIN) -> str:
    """Say a bound in words: `> 100,000` is `more than 100,000`; what has no operator stays."""
    operator, _, bound = required.partition(" ")
    name = f"day {operator}" if _DAY.match(bound) else operator
    spoken = SPOKEN.get(name) or SPOKEN.get(operator) if operator in _COMPARED else None
    return f"{speech.said(spoken)} {bound}" if spoken else required


def begin_sentence(text: str, shown: str) -> str:
    """Begin a sentence; a name of the data keeps its letters, and `shown` has those in play."""
    first, blank, _ = text.partition(" ")
    named = re.search(rf"[=(,] ?{re.escape(first)}(?=[,)]|$| = )", shown)
    return text[:1].upper() + text[1:] if first[:1].islower() and blank and not named else text
