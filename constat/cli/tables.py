"""Rows as a table for people, and the sentences below it."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Final

from constat.cli.output import safe
from constat.cli.results import conflict_text, not_one_text
from constat.diagnostics import counted
from constat.evaluation import NOT_ONE, Verdict
from constat.logic import NullCell, display_value
from constat.session import Settled
from constat.session.answers import THE_QUERY, Computed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from constat.cli.row_formats import Shown
    from constat.recount import Recount
    from constat.session import AnswerRow, Answers
    from constat.session.answers import OpenReason, RowCheck, RowVerdict

_GAP: Final = "  "
_LEAST: Final = 4
_ELLIPSIS: Final = "…"


class Table:
    """Columns whose widths are found first; then lines are written one by one."""

    def __init__(self, names: Sequence[str], numbers: Sequence[bool], most: int | None) -> None:
        self._names = [plain(name) for name in names]
        self._numbers = tuple(numbers)
        self._most = most
        self.widths = [width(name) for name in self._names]
        self.cut: tuple[str, ...] = ()

    def fit(self, rows: Iterable[Sequence[str]]) -> None:
        """Make the columns as wide as their cells, and no wider together than allowed."""
        for row in rows:
            for place, cell in enumerate(row):
                self.widths[place] = max(self.widths[place], width(plain(cell)))
        if self._most is None or not self.widths:
            return
        full = list(self.widths)
        space = self._most - len(_GAP) * (len(self.widths) - 1)
        while sum(self.widths) > space and max(self.widths) > _LEAST:
            self.widths[self.widths.index(max(self.widths))] -= 1
        self.cut = tuple(
            name
            for name, now, then in zip(self._names, self.widths, full, strict=True)
            if now < then
        )

    def heading(self) -> str:
        """Write the names."""
        return self.line(self._names)

    def line(self, cells: Sequence[str]) -> str:
        """Write one row."""
        return _GAP.join(self._padded(cells)).rstrip()

    def _padded(self, cells: Sequence[str]) -> Iterator[str]:
        for cell, wide, number in zip(cells, self.widths, self._numbers, strict=True):
            text = shortened(plain(cell), wide)
            blank = " " * (wide - width(text))
            yield blank + text if number else text + blank


def plain(text: str) -> str:
    """Show line ends and tabs too as escapes, so that a cell is one line."""
    if text.isprintable():
        return text
    return safe(text).replace("\n", "\\n").replace("\t", "\\t")


def width(text: str) -> int:
    """Count the places that a text takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(map(_places, text))


def _places(character: str) -> int:
    if unicodedata.combining(character) or unicodedata.category(character) in {"Cf", "Me", "Mn"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1


def shortened(text: str, most: int) -> str:
    """Cut a text to so many places; a cut one ends with an ellipsis."""
    if width(text) <= most:
        return text
    kept, room = [], most - 1
    for character in text:
        room -= _places(character)
        if room < 0:
            break
        kept.append(character)
    return "".join(kept) + _ELLIPSIS


# Whether there may be more answers is always said, with the reasons and a goal to ask for each;
# what was left out is counted.

_MOST_REASONS: Final = 8
_MOST_NAMED: Final = 5
_MOST_ASSUMPTIONS: Final = 20


class Cells:
    """How rows become cells: the verdict is a column where it is not the same for all."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        answers = shown.answers
        self._verdicts = not answers.alike
        self._numbers = {one: place for place, one in enumerate(answers.assumptions, start=1)}
        names = [column.name for column in shown.columns]
        extra = dict(zip(("verdict", "confidence"), shown.extra(), strict=False))
        if self._verdicts:
            names.append(extra["verdict"])
        if shown.confidence:
            names.append(extra["confidence"])
        self.names = tuple(names)
        flags = [column.kind.numeric for column in shown.columns]
        self.numbers = (*flags, *([False] if self._verdicts else []), *[True] * shown.confidence)

    def __iter__(self) -> Iterator[tuple[str, ...]]:
        return map(self._cells, self._shown.rows)

    def _cells(self, row: AnswerRow) -> tuple[str, ...]:
        kinds = [column.kind for column in self._shown.columns]
        values = zip(self._shown.values(row), kinds, strict=True)
        cells = [
            "?" if isinstance(value, NullCell) else display_value(value, kind)
            for value, kind in values
        ]
        if self._verdicts:
            cells.append(self._verdict(row))
        if self._shown.confidence:
            cells.append("" if row.confidence is None else f"{row.confidence:f}")
        return tuple(cells)

    def _verdict(self, row: AnswerRow) -> str:
        if row.verdict not in {Verdict.PROVED_UNDER, Computed.UNDER}:
            return str(row.verdict.value)
        known = [self._numbers[one] for one in row.assumptions if one in self._numbers]
        word = row.verdict.value.replace("_", " ")
        return f"{word} {', '.join(map(str, known))}".rstrip()


def ground_text(answers: Answers) -> str:
    """Say what became of a query without variables, and how to see why."""
    if answers.recount is not None and answers.recount.differs:
        return f"not decided: {answers.query}\n`constat prove` decides it."
    if answers.computed and not len(answers):
        return (
            f"COMPUTED not to hold, not checked: {answers.query}\n"
            "A query without variables: `constat prove` decides it."
        )
    verdict: RowVerdict
    if len(answers):
        verdict = answers.rows[0].verdict
    elif answers.settled is Settled.UNDER:
        verdict = Verdict.DISPROVED_UNDER
    else:
        verdict = Verdict.DISPROVED
    told = conflict_text(answers.conflicts)
    why = "A query without variables: `constat prove` shows why."
    return f"{verdict.label}: {answers.query}{told}\n{why}"


def summary(shown: Shown, left_out: int) -> Iterator[str]:
    """Yield the lines below a table, or beside rows that other programs read."""
    answers = shown.answers
    if answers.columns:
        yield f"{_counts(answers)}. {_whole(answers)}"
    if answers.fewest is not None and answers.fewest < len(answers):
        yield "rows that differ only in what is unknown may be one row"
    if answers.check is not None:
        yield from _checked(answers.check, len(answers), in_bulk=answers.in_bulk)
    if answers.recount is not None:
        is_open = answers.settled is Settled.OPEN
        yield from _recounted(answers.recount, given_before=shown.given_before, is_open=is_open)
    if answers.kept:
        yield f"kept at {answers.created[:19]}Z; nothing that it rests on has changed since"
    if answers.checking is not None:
        yield "the check goes on: all that follows is being counted again from the rules"
    if left_out:
        yield f"{left_out:,} of them {'is' if left_out == 1 else 'are'} not shown"
    if shown.unplaced:
        rows = counted(shown.unplaced, "row")
        yield f"{rows} of those may belong further up: what it is sorted by is not known"
    if answers.snapshot == NOT_ONE:
        yield not_one_text()
    yield from _assumptions(answers)
    yield from _reasons(answers)
    yield from _conflicts(answers)


def _recounted(found: Recount, *, given_before: bool, is_open: bool) -> Iterator[str]:
    """Say what became of checking all rows."""
    if found.passed and is_open:
        yield "checked: what is proved was counted again from the rules, and follows"
    elif found.passed:
        yield "checked: all that follows was counted again from the rules, and is the same"
    elif found.differs:
        yield f"DIFFERENCE: counted again from the rules, {found.why}"
        shown = "none of the rows above counts" if given_before else "no row is shown"
        yield f"{shown}; `--engine reference` answers goal by goal"
        yield (
            "bulk evaluation is wrong there, or a source was written in between; please report it "
            "with the rules"
        )
    else:
        yield f"not checked as a whole: {found.why}"


def _checked(check: RowCheck, total: int, *, in_bulk: bool) -> Iterator[str]:
    """Say what became of a check."""
    for one in check.differences:
        yield f"DIFFERENCE: {one.goal} was {one.said}, and {one.reason}; it is not shown"
    if check.differences:
        yield (
            "bulk evaluation is wrong there, or a source was written in between; please report it "
            "with the output of `constat prove`"
        )
    count = len(check.proved)
    rest = total - count
    if not in_bulk:
        # All of them were proved goal by goal.
        has = "has a certificate" if count == 1 else "have certificates"
        yield f"checked: {count:,} of {counted(total, 'row')} {has} that the checker accepts"
        return
    noun = "row was proved" if count == 1 else "rows were proved, each"
    yield f"checked: {count:,} {noun} by a certificate of its own" + (
        f"; that says nothing of the other {rest:,}" if rest > 0 else ""
    )


def _counts(answers: Answers) -> str:
    total = len(answers)
    if not total:
        return "No answers"
    kinds: tuple[tuple[RowVerdict, str], ...] = (
        (Verdict.PROVED, "proved"),
        (Verdict.PROVED_UNDER, "proved under assumptions"),
        (Computed.CERTAIN, "computed, not checked"),
        (Computed.UNDER, "computed under assumptions, not checked"),
        (Verdict.UNRESOLVED, "unresolved"),
    )
    parts = [(answers.count(verdict), words) for verdict, words in kinds]
    parts = [(count, words) for count, words in parts if count]
    noun = "answer" if total == 1 else "answers"
    least = total if answers.fewest is None else answers.fewest
    shown = f"{total:,}" if least == total else f"{least:,} to {total:,}"
    if [words for _, words in parts] == ["unresolved"]:
        return f"No answer is certain; {shown} may hold"
    if len(parts) == 1:
        return f"{shown} {noun}, {'' if total == 1 else 'all '}{parts[0][1]}"
    return f"{shown} {noun}: " + ", ".join(f"{count:,} {words}" for count, words in parts)


def _whole(answers: Answers) -> str:
    others = "no others were found" if answers.computed else "there are no others"
    if answers.settled is Settled.FOR_CERTAIN:
        if len(answers):
            return f"{others.capitalize()}."
        return "None was found." if answers.computed else "There is none."
    if answers.settled is Settled.UNDER:
        return f"Under the assumptions below {others}."
    if answers.open_shapes or answers.stopped:
        return "There may be more answers."
    if answers.recount is not None and answers.recount.differs:
        return "Some may be wrong, and some may be missing: see the difference below."
    return f"{others.capitalize()}, but not all of these are decided."


def _assumptions(answers: Answers) -> Iterator[str]:
    if not answers.assumptions:
        return
    yield "assumptions:"
    for number, one in enumerate(answers.assumptions[:_MOST_ASSUMPTIONS], start=1):
        yield f"  {number}. {one.text}"
    more = len(answers.assumptions) - _MOST_ASSUMPTIONS
    if more > 0:
        yield f"  and {more:,} more; `--format json` lists them"


def _named(one: OpenReason) -> str:
    """Name the goals that a reason leaves open; JSON has a hundred of them."""
    if one.predicate == THE_QUERY:
        places = " or ".join((one.goal, *one.others)[:_MOST_NAMED])
        more = f" and {one.count - _MOST_NAMED:,} more" if one.count > _MOST_NAMED else ""
        return f"where {places}{more}"
    if not one.others:
        return f"that is {one.goal}" if one.count == 1 else f"one of them: {one.goal}"
    shown = (one.goal, *one.others)[:_MOST_NAMED]
    more = f" and {one.count - len(shown):,} more" if one.count > len(shown) else ""
    return f"these: {', '.join(shown)}{more}"


def _reasons(answers: Answers) -> Iterator[str]:
    if not answers.reasons:
        return
    yield "not known:"
    for one in answers.reasons[:_MOST_REASONS]:
        times = f" ({one.count:,} times)" if one.count > 1 else ""
        yield f"  {one.predicate}: {one.reason}{times}"
        if one.contested or one.reason.endswith("of this group is not known"):
            yield f"    {_named(one)}"
        elif one.goal and one.predicate != THE_QUERY and not one.reason.startswith("rule "):
            yield f"    ask for it, or state a fact: {one.goal}"
        elif one.goal:
            shown = (one.goal, *one.others)[:_MOST_NAMED]
            yield from (f"    with {each}" for each in shown)
            if one.count > len(shown):
                yield f"    and {one.count - len(shown):,} more"
        if one.edit:
            yield f"    {one.edit}"
    more = len(answers.reasons) - _MOST_REASONS
    if more > 0:
        yield f"  and {more:,} more reasons; `--format json` lists them"


def _conflicts(answers: Answers) -> Iterator[str]:
    conflicts = answers.conflicts if answers.columns else ()
    if conflicts:
        yield "different values for one key:"
        yield from (f"  {one}" for one in conflicts[:_MOST_REASONS])
    if len(conflicts) > _MOST_REASONS:
        yield f"  and {len(conflicts) - _MOST_REASONS:,} more; `--format json` lists them"
