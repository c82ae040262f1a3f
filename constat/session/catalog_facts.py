"""What a model may learn about facts of a project while it works on a question.

In: goals and facts as text. Out: lines. Invariants: nothing is written: a goal that is looked up is
no decision of anybody's, and a fact that a model proposes is a proposal; values that the model has
not named itself are given only where the project lets samples of all its databases be shown; what
was missing is remembered for as long as the question is worked on. Example:
`resolve("is_vip(C001)")` gives `PROVED: is_vip(C001)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from constat.analysis import check_goal
from constat.authoring.discovery_text import quoted
from constat.logic import OPEN, Constant, Open, Variable, display_value
from constat.proof import decide
from constat.session.spelling import shown_goal
from constat.syntax import parse_fact, parse_goal, print_row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sized

    from constat.logic import Atom, OpenRow
    from constat.session.answers import Answers
    from constat.session.bench import Bench
    from constat.session.stated import StatedFacts
    from constat.session.telling import Told

_NOBODY: Final = "nobody yet"
# What is told at once is bounded by the tools, which give a reference to the rest.
_MOST_LINES: Final = 2_000
_HIDDEN: Final = "their values are not shown: `samples` of `catalog:` does not allow it"


class Telling(Protocol):
    """A session, as far as reading facts out of a text needs one."""

    def provide_facts(self, text: str, *, author: str) -> Told:
        """Read facts from a text; nothing is kept."""
        ...


def told_lines(session: Telling, text: str) -> str:
    """Give the facts that a text says, with their sentences, and what it does not say."""
    told = session.provide_facts(text, author=_NOBODY)
    lines = [f"proposed: {one.fact}, because of {quoted(one.sentence)}" for one in told.said]
    lines += [f"not said: {quoted(one.atom)}, {quoted(one.reason)}" for one in told.refused]
    return "\n".join(lines) or "the text states no fact of a predicate that can be stated"


class ProjectFacts:
    """Implements `FactAccess` over a session's parts."""

    def __init__(
        self,
        bench: Bench,
        stated: StatedFacts,
        query: Callable[[str], Answers],
        extract: Callable[[str], str],
    ) -> None:
        self._bench = bench
        self._stated = stated
        self._query = query
        self._extract = extract
        self._shows = bench.project.catalog.shows_all(bench.project.databases)
        self._missing: dict[str, None] = {}
        self._proposed: dict[str, str] = {}

    def resolve(self, goal: str) -> str:
        """Decide a goal, or find its answers; tell what is missing."""
        program = self._bench.program
        atom = check_goal(parse_goal(goal, program.program), program)
        return "\n".join([*self._decided(atom), *self._answers(goal, atom)])

    def propose(self, fact: str, reason: str) -> str:
        """Keep a fact as a proposal for a person, and tell what it takes to become one."""
        parse_fact(fact, self._bench.program.program)
        self._proposed[fact] = reason
        return (
            "proposed; it does not count before a person states it: "
            f'constat facts add "{fact}" --by NAME'
        )

    def extract(self, text: str) -> str:
        """Find the facts that a text may state, in the predicates of the project."""
        return self._extract(text)

    def known(self, predicate: str) -> str:
        """List facts that people have stated or the configuration holds; all where it is empty."""
        return "\n".join(self._known(predicate)) or "no facts are stated or configured"

    def unresolved(self) -> str:
        """List the facts that were missing for the goals so far."""
        return "\n".join(self._missing) or "nothing was missing"

    @property
    def proposed(self) -> tuple[tuple[str, str], ...]:
        """The facts that were proposed, with their reasons."""
        return tuple(self._proposed.items())

    def _decided(self, atom: Atom) -> Iterator[str]:
        bench = self._bench
        with bench.evaluating(None) as tiers:
            decision = decide(
                bench.engine,
                bench.program,
                atom,
                tiers.externals,
                bench.limits,
                observe=bench.observe,
            )
        predicates = bench.program.program.predicates
        goal = shown_goal(predicates[atom.predicate], atom)
        yield f"{decision.verdict.label}: {goal}, confidence {decision.confidence:f}"
        for one in decision.assumptions:
            yield f"assuming: {one.text}"
        said: set[object] = {term.value for term in atom.terms if isinstance(term, Constant)}
        for name, row in decision.missing[:_MOST_LINES]:
            text = print_row(predicates[name], self._masked(row, said))
            self._missing[text] = None
            yield f"missing: {text}"
        yield from _more(decision.missing)

    def _masked(self, row: OpenRow, said: set[object]) -> OpenRow:
        """Leave out values that came from a source, where they may not be shown."""
        if self._shows:
            return row
        return tuple(slot if isinstance(slot, Open) or slot in said else OPEN for slot in row)

    def _answers(self, goal: str, atom: Atom) -> Iterator[str]:
        """Tell the values of the variables, if the goal has any."""
        if not any(isinstance(term, Variable) for term in atom.terms):
            return
        found = self._query(goal)
        more = "" if found.exit_code == 0 else "; there may be more"
        yield f"{len(found):,} answers{more}" + ("" if self._shows else f"; {_HIDDEN}")
        for row in found.rows[:_MOST_LINES] if self._shows else ():
            pairs = zip(found.columns, row.values, strict=True)
            values = ", ".join(
                f"{one.name} = {display_value(value, one.kind)}" for one, value in pairs
            )
            yield f"{row.verdict.label}: {values}"
        if self._shows:
            yield from _more(found.rows)

    def _known(self, predicate: str) -> Iterator[str]:
        project = self._bench.project
        for name, table in project.facts.items():
            if predicate in {"", name}:
                for row in table.rows[:_MOST_LINES]:
                    cells = ", ".join(cell.text or "?" for cell in row.cells)
                    yield f"{name}({cells}), configured in {project.config_name}"
                yield from _more(table.rows)
        stated = self._stated.list(predicate or None)
        if stated and not self._shows:
            yield f"{len(stated):,} stated by people; {_HIDDEN}"
        if self._shows:
            shown = stated[:_MOST_LINES]
            yield from (f"{self._stated.show(one)}, stated by {one.author}" for one in shown)
            yield from _more(stated)


def _more(listed: Sized) -> Iterator[str]:
    """Say how many are not told."""
    left = len(listed) - _MOST_LINES
    if left > 0:
        yield f"... and {left:,} more that are not listed"
