"""Read what a case expects: `@[expect(proved = "p(1); p(2)", by = "R7")]`.

In: the annotations of a case file and its program. Out: one `Expectation` for each goal, in the
order of the text. Invariant: a goal is typed and its predicate declared; what is wrong has a place.
`by` names the rule of the last step, one for all proved goals or one for each; `uses` names rules
and predicates that occur in the proof of each of them. `question` is a question in words whose
answer is yes exactly when the goal holds.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import check_goal
from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.evaluation import Verdict
from constat.library.files import CASES
from constat.syntax import parse_goal, read_annotations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Atom
    from constat.syntax import Annotated, Annotations

EXPECT: Final = "expect"
_VERDICTS: Final = MappingProxyType(
    {verdict.value.casefold(): verdict for verdict in Verdict if verdict.value}
)
_PROOFS: Final = ("by", "uses")
QUESTION: Final = "question"
_PARTS: Final = (*_VERDICTS, *_PROOFS, QUESTION)
_PROVED: Final = frozenset({Verdict.PROVED, Verdict.PROVED_UNDER})


@dataclass(frozen=True, slots=True)
class Expectation:
    """A goal and what should become of it; `text` is the goal as the case has it."""

    text: str
    goal: Atom
    verdict: Verdict
    by: str
    uses: tuple[str, ...]
    span: Span


def read_expectations(
    annotations: Annotations, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
) -> tuple[Expectation, ...]:
    """Give what the items of a case expect."""
    found: list[Expectation] = []
    for item in annotations.items:
        found.extend(_Item(item, analysed, diagnostics).expectations())
    return tuple(found)


class _Item:
    """One annotated item."""

    def __init__(
        self, item: Annotated, analysed: AnalysedProgram, diagnostics: list[Diagnostic]
    ) -> None:
        self.item = item
        self.analysed = analysed
        self.diagnostics = diagnostics
        self.values: dict[str, str] = {}
        self.places: dict[str, Span] = {}

    def expectations(self) -> Iterator[Expectation]:
        self._collect()
        listed = [
            (text, verdict, self.places[key])
            for key, verdict in _VERDICTS.items()
            for text in split_goals(self.values.get(key, ""))
        ]
        proved = sum(verdict in _PROVED for _, verdict, _ in listed)
        last_steps = iter(self._last_steps(proved))
        uses = self._uses(proved)
        if QUESTION in self.values and len(listed) != 1:
            message = f"`question` is one goal's, and there are {len(listed)}"
            self._complain(message, self.places[QUESTION], "proved")
        for text, verdict, place in listed:
            shown = verdict in _PROVED
            by = next(last_steps, "") if shown else ""
            goal = self._goal(text, place)
            if goal is not None:
                yield Expectation(text, goal, verdict, by, uses if shown else (), place)

    def _collect(self) -> None:
        """Sort out the parts of `expect`; report those that mean nothing."""
        for one in self.item.attributes:
            name, _, part = one.key.partition(".")
            if name != EXPECT:
                continue
            if part not in _PARTS:
                near = nearest(part, _PARTS) or "proved"
                self._complain(f"`expect` has no part `{part or '='}`", one.span, near)
            elif not split_goals(one.value):
                self._complain(f"`{part}` names nothing", one.span, part)
            else:
                self.values[part] = one.value
                self.places[part] = one.span

    def _complain(self, message: str, span: Span, part: str) -> None:
        self.diagnostics.append(
            Diagnostic(
                "C0442",
                message,
                span,
                note=f"the parts are {', '.join(_PARTS)}",
                help=f'write `@[expect({part} = "{self.item.subject}(...)")]`',
            )
        )

    def _last_steps(self, proved: int) -> list[str]:
        names = split_goals(self.values.get("by", ""))
        for name in names:
            self._check_rule(name)
        if len(names) == 1 and proved:
            return names * proved
        if len(names) != proved and names:
            message = f"`by` names {len(names)} rules for {proved} proved goals"
            self._complain(message, self.places["by"], "proved")
        return names

    def _uses(self, proved: int) -> tuple[str, ...]:
        names = split_goals(self.values.get("uses", ""))
        if names and not proved:
            message = "`uses` is about proofs, and no goal is expected to be proved"
            self._complain(message, self.places["uses"], "proved")
        predicates = self.analysed.program.predicates
        rules = {rule.id for rule in self.analysed.rules}
        for name in names:
            if name not in predicates and not any(is_rule(name, rule) for rule in rules):
                self._unknown(name, self.places["uses"], sorted({*predicates, *rules}))
        return tuple(names)

    def _check_rule(self, name: str) -> None:
        rules = [rule.id for rule in self.analysed.rules]
        if not any(is_rule(name, one) for one in rules):
            self._unknown(name, self.places["by"], sorted(rules))

    def _unknown(self, name: str, span: Span, known: list[str]) -> None:
        near = nearest(name, known)
        self.diagnostics.append(
            Diagnostic(
                "C0442",
                f"`{name}` is no rule here, nor anything else a proof could use",
                span,
                note="rules are named by `@[id = ...]`, others by their predicate and number",
                help=f"write `{near}`" if near else "`constat rules list` shows the names",
            )
        )

    def _goal(self, text: str, place: Span) -> Atom | None:
        try:
            return check_goal(parse_goal(text, self.analysed.program), self.analysed)
        except ConstatError as problem:
            first = problem.diagnostics[0]
            self.diagnostics.append(
                Diagnostic(
                    "C0441",
                    f"the expected goal `{text}` is wrong: {first.message}",
                    place,
                    note=first.note,
                    help=first.help,
                )
            )
            return None


def goals_asked(files: Iterable[Path], question: str) -> tuple[str, ...]:
    """Give the goals for which cases beside these rule files have a question, word for word.

    A case that cannot be read, or is wrong about it, states nothing.
    """
    found: list[str] = []
    for folder in dict.fromkeys(one.parent / CASES for one in files):
        for path in sorted(folder.glob("*.dl")):
            with suppress(OSError, UnicodeDecodeError):
                text = path.read_text(encoding="utf-8")
                if question in text:
                    found += _asked(read_annotations(text, path.name), question)
    return tuple(found)


def _asked(annotations: Annotations, question: str) -> Iterator[str]:
    for item in annotations.items:
        values = {
            one.key.partition(".")[2]: one.value
            for one in item.attributes
            if one.key.partition(".")[0] == EXPECT
        }
        goals = [goal for part in _VERDICTS for goal in split_goals(values.get(part, ""))]
        if values.get(QUESTION) == question and len(goals) == 1:
            yield goals[0]


def is_rule(name: str, rule_id: str) -> bool:
    """Whether a rule has that name; `R7` also names `R7a`, an alternative of `R7`."""
    rest = rule_id.removeprefix(name)
    return rule_id == name or (rest != rule_id and rest.isalpha() and rest.islower())


def split_goals(text: str) -> list[str]:
    """Split at the semicolons that stand outside quotes."""
    parts = [""]
    quoted = escaped = False
    for one in text:
        if one == ";" and not quoted:
            parts.append("")
            continue
        parts[-1] += one
        quoted ^= one == '"' and not escaped
        escaped = one == "\\" and not escaped
    return [part.strip() for part in parts if part.strip()]


def verdict_names() -> Mapping[str, Verdict]:
    """The parts of `expect` that name verdicts."""
    return _VERDICTS
