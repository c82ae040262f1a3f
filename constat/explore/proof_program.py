"""The claim that an answer is what its plan gives, as a program whose goal others can check.

In: a chain, a plan, the relations of steps that no rule derives, and the answer. Out: a
`ProofProgram`: rules, rows stated or attested, and the goal `explored_answer(rows)`. Invariants:
the goal holds only if the answer's rows are those, all of those and no others, that the plan's last
relation has; if every row that a SELECT over steps or a step of code was given is derived here
again, and no other; and if no ranking left out a row. What derives is the project's rules and the
steps'; rankings become rules, and what no rule can say is attested. Example: an answer of 5 rows
gives the goal `explored_answer(5)`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError
from constat.explore.given_rows import Computed, answer_text, attested, listed_hash, stated
from constat.explore.periods import PERIODS
from constat.explore.plan import Work
from constat.explore.plan_approval import plan_rule, rows_relation
from constat.explore.ranked_rules import ranking_rule
from constat.explore.step_sql import plain_columns
from constat.explore.top_rules import TopNames, top_rules
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Predicate,
    Rule,
    Variable,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import ExternalPredicate
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Plan, Ranking
    from constat.explore.plan_approval import PlanWord
    from constat.logic import Literal, Row

MOST_PAIRS: Final = 20_000
"""How many pairs of rows a ranking may look at; a larger one is attested."""
COUNTED_PAIRS: Final = 5_000
"""How many pairs of rows a ranking looks at before the rows at which its first end are stated."""


@dataclass(frozen=True, slots=True)
class Known:
    """What a run knows of the steps and of the relations that they read.

    `relations` are whole relations by name: the answer, what no rule derives, and what was read by
    that. `computed` tells of relations by SELECT or code how they were, `at` is the present time,
    `today` the day that counts.
    """

    relations: Mapping[str, Sequence[Row]]
    computed: Mapping[str, Computed]
    at: str
    today: str = ""


@dataclass(frozen=True, slots=True)
class ProofProgram:
    """A program with a goal; `given` answers what the steps and the claim state."""

    program: AnalysedProgram
    goal: Atom
    given: Mapping[str, ExternalPredicate] = field(hash=False)


def proof_program(chain: Chain, plan: Plan, known: Known, word: PlanWord) -> ProofProgram:
    """Write the program. Raises `ConstatError` where it cannot be analysed."""
    return _Writing(chain, plan, known).program(word)


def needed_relations(chain: Chain, plan: Plan) -> tuple[tuple[Link, str], ...]:
    """Name the relations that `Known` has to have, each once.

    With each comes the step that gives it, or the first that reads it where no step does.
    """
    found: dict[str, Link] = {}
    for link in computing_links(chain, plan):
        for name in (*link.gives, *link.reads):
            found.setdefault(name, chain.link_of(name) or link)
    giver = chain.link_of(plan.answer)
    if giver is not None:
        found.setdefault(plan.answer, giver)
    return tuple((link, name) for name, link in found.items())


def computing_links(chain: Chain, plan: Plan) -> tuple[Link, ...]:
    """Give the steps below an answer whose rows no rule derives and no source answers."""
    below = chain.below([plan.answer])
    return tuple(one for one in below if one.step.work is not Work.RULES and not is_asked(one))


def is_asked(link: Link) -> bool:
    """Whether a step is a SELECT on a source, which is asked like any relation of it."""
    return link.step.work is Work.SQL and bool(link.step.source)


class _Writing:
    def __init__(self, chain: Chain, plan: Plan, known: Known) -> None:
        self.chain = chain
        self.plan = plan
        self.known = known
        self.predicates: dict[str, Predicate] = {**chain.analysed.program.predicates}
        self.rules: list[Rule] = []
        self.given: dict[str, ExternalPredicate] = {}
        self.whole: dict[str, str] = {}
        self.asked: list[Literal] = []

    def program(self, word: PlanWord) -> ProofProgram:
        """Write everything."""
        links = self.chain.below([self.plan.answer])
        for link in links:
            self.take(link)
        self.days(links)
        count = Variable("rows")
        whole = Atom(self.be_whole(self.plan.answer), (count,))
        rule, declared = plan_rule(self.chain, self.plan, word)
        self.predicates[declared.name] = declared
        rows = rows_relation(self.chain)
        self.predicates[rows] = Predicate(rows, declared.columns)
        self.rules.append(Rule(f"{rows}.1", Atom(rows, (count,)), (Positive(whole), *self.asked)))
        goal = Atom(
            declared.name, (Constant(len(self.known.relations[self.plan.answer]), Kind.NUMBER),)
        )
        return ProofProgram(self.analysed((*self.rules, rule)), goal, self.given)

    def analysed(self, rules: Sequence[Rule]) -> AnalysedProgram:
        program = self.chain.analysed.program
        diagnostics: list[Diagnostic] = []
        whole = replace(program, predicates=self.predicates, rules=(*self.chain.base.rules, *rules))
        found = analyse(whole, diagnostics)
        if found is None:
            raise ConstatError(diagnostics)
        return found

    def take(self, link: Link) -> None:
        """Take a step over: its rules, or what stands for them."""
        step = link.step
        if step.work is Work.RULES:
            self.rules += link.rules
        elif step.ranking is not None and self.ranked(link, step.ranking):
            return
        elif not is_asked(link) and not self.listed(link):
            self.attest(link)

    def listed(self, link: Link) -> bool:
        """Write a SELECT that only lists columns, in whatever order it shows them, as a rule."""
        step = link.step
        found = plain_columns(step.text) if step.work is Work.SQL else None
        if found is None:
            return False
        named = {one.name.lower(): one for one in self.predicates[link.reads[0]].columns}
        names = list(named) if found[1] == ("*",) else [one.lower() for one in found[1]]
        output = self.predicates[step.outputs[0].name]
        if not named.keys() >= set(names) or len(names) != output.arity:
            return False
        same = (
            named[name].kind is one.kind for name, one in zip(names, output.columns, strict=True)
        )
        if not all(same):
            # A cell that is cast is another value.
            return False
        terms = (Variable(key if key in names else f"_{key}") for key in named)
        head = Atom(output.name, tuple(map(Variable, names)))
        body = (Positive(Atom(link.reads[0], tuple(terms))),)
        self.rules.append(Rule(f"{output.name}.1", head, body))
        return True

    def ranked(self, link: Link, ranking: Ranking) -> bool:
        """Write a ranking as rules, unless that takes too long to check."""
        rows, step = self.known.relations[ranking.of], link.step
        placed = any(name == ranking.place for name, _ in step.outputs[0].columns)
        # An order alone looks at no pair of rows: the rows are the same in any.
        pairs = len(rows) ** 2 if ranking.top or placed else 0
        if pairs <= (COUNTED_PAIRS if ranking.top else MOST_PAIRS):
            self.rules.append(ranking_rule(step, ranking, self.predicates))
            return True
        if not ranking.top:
            return False
        name = step.outputs[0].name
        names = TopNames(*(self.fresh(f"{one}_{name}") for one in ("near", "ends", "in", "short")))
        found = top_rules(step, ranking, self.predicates, rows, names)
        if found.near > MOST_PAIRS:
            return False
        self.predicates.update({one.name: one for one in found.predicates})
        self.rules += found.rules
        ends = self.predicates[names.ends]
        what = f"the rows at which the first of `{name}` end"
        self.given[ends.name] = stated(ends, found.ends, what, self.known.at)
        short = self.predicates[names.short]
        anything = tuple(Variable(f"_{one.name}") for one in short.columns)
        self.asked.append(Negative(Atom(short.name, anything)))
        return True

    def attest(self, link: Link) -> None:
        """Take the rows of a step on the word of who computed them, from rows that are derived."""
        for name in link.gives:
            computed = self.known.computed[name]
            rows = self.known.relations[name]
            self.given[name] = attested(self.predicates[name], rows, computed)
        for name in link.reads:
            whole = self.be_whole(name, f"what step {link.step.name} read")
            literal = Positive(Atom(whole, (Variable(f"_{whole}"),)))
            if literal not in self.asked:
                self.asked.append(literal)

    def be_whole(self, name: str, what: str = "") -> str:
        """Write the rule that a relation has exactly the rows that are stated of it.

        `what` says what these are, if they are not the answer.
        """
        if name in self.whole:
            return self.whole[name]
        relation = self.predicates[name]
        told = replace(
            relation, name=self.fresh(f"stated_{name}"), source=None, attributes={}, description=""
        )
        self.predicates[told.name] = told
        rows = self.known.relations[name]
        listed = listed_hash(name, rows, relation.kinds)
        what = f"{what}: {listed}" if what else answer_text(listed)
        self.given[told.name] = stated(told, rows, what, self.known.at)
        head = self.declare(f"whole_{name}", (Column("rows", "number", Kind.NUMBER),))
        found, both, said = (Variable(one) for one in ("rows", "rows_that_are_both", "stated"))
        inner = tuple(Variable(f"{one.name}_") for one in relation.columns)
        loose = tuple(Variable(f"_{one.name}") for one in relation.columns)
        body = (
            _count(found, Atom(name, loose)),
            _count(said, Atom(told.name, loose)),
            _count(both, Atom(told.name, inner), Atom(name, inner)),
            Comparison("=", said, found),
            Comparison("=", both, found),
        )
        self.rules.append(Rule(f"{head}.1", Atom(head, (found,)), body))
        self.whole[name] = head
        return head

    def days(self, links: Sequence[Link]) -> None:
        """State the day that counts, where a step reads it."""
        for name, declared in PERIODS.items():
            own = name in self.chain.base.program.predicates
            if not own and any(name in link.reads for link in links):
                rows = self.known.relations[name]
                what = f"the day that counts as today: {self.known.today}"
                self.given[name] = stated(declared, rows, what, self.known.at)

    def declare(self, name: str, columns: tuple[Column, ...]) -> str:
        fresh = self.fresh(name)
        self.predicates[fresh] = Predicate(fresh, columns)
        return fresh

    def fresh(self, name: str) -> str:
        while name in self.predicates:
            name += "_"
        return name


def _count(result: Variable, *atoms: Atom) -> Aggregate:
    return Aggregate("count", result, None, tuple(map(Positive, atoms)))
