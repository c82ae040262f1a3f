"""The claim that an answer is what its plan gives, as a program whose goal others can check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError
from constat.explore.chain import PERIODS, plain_columns
from constat.explore.plan import Work, plan_rule, rows_relation
from constat.explore.relations import Computed, answer_text, attested, listed_hash, stated
from constat.frozen import frozen
from constat.logic import (
    Aggregate,
    Apply,
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
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Diagnostic
    from constat.evaluation import ExternalPredicate
    from constat.explore.chain import Chain, Link
    from constat.explore.plan import Plan, PlanWord, Ranking, Step
    from constat.logic import Literal, Row, Term

# The place of a row is one more than the rows of its group that come before it: for each column it
# is ranked by, those that are equal in the columns ahead of it and better in this one are counted.


def ranking_rule(step: Step, ranking: Ranking, predicates: Mapping[str, Predicate]) -> Rule:
    """Write the rule of a ranking that `check_ranking` has passed."""
    return _Writing(ranking, predicates[ranking.of], predicates[step.outputs[0].name]).rule()


def fresh_variable(name: str, relation: Predicate) -> Variable:
    """Name a variable as no column of a relation is named."""
    while any(one.name in {name, f"_{name}"} for one in relation.columns):
        name += "_"
    return Variable(name)


def first_key(
    one: Variable, other: Variable, kind: Kind, *, descending: bool
) -> tuple[Comparison, ...]:
    """Say that one value comes before another."""
    if kind is Kind.BOOL:
        # No value of this kind is less than another, as `<` has it.
        first = Constant("true" if descending else "false", Kind.BOOL)
        return (Comparison("!=", one, other), Comparison("=", one, first))
    return (Comparison(">" if descending else "<", one, other),)


@dataclass(frozen=True)
class _Writing:
    """One ranking: of which relation, into which."""

    ranking: Ranking
    ranked: Predicate
    output: Predicate

    @cached_property
    def keys(self) -> dict[str, bool]:
        """The columns that decide, each descending or not: a column decides once."""
        keys: dict[str, bool] = {}
        shown = any(one.name == self.ranking.place for one in self.output.columns)
        if not (self.ranking.top or shown):
            # An order alone is none of the rows' business.
            return keys
        for name, descending in self.ranking.by:
            keys.setdefault(name, descending)
        return {name: one for name, one in keys.items() if name not in self.ranking.within}

    def rule(self) -> Rule:
        """Write the rule."""
        counts = [self.fresh(f"before_{place}") for place, _ in enumerate(self.keys, start=1)]
        place: Term = Constant(1, Kind.NUMBER)
        for count in counts:
            place = Apply("+", (place, count))
        used = {*self.keys, *self.ranking.within, *(one.name for one in self.output.columns)}
        rows = tuple(self.plain(one.name, used) for one in self.ranked.columns)
        body: list[Literal] = [Positive(Atom(self.ranked.name, rows))]
        for count, name in zip(counts, self.keys, strict=True):
            body.append(Aggregate("count", count, None, self.before(name)))
        if self.ranking.top:
            body.append(Comparison("<=", place, Constant(self.ranking.top, Kind.NUMBER)))
        head = tuple(
            self.placed(place, one.kind) if one.name == self.ranking.place else Variable(one.name)
            for one in self.output.columns
        )
        return Rule(f"{self.output.name}.1", Atom(self.output.name, head), tuple(body))

    def before(self, key: str) -> tuple[Positive | Comparison, ...]:
        """Give the rows of the group that this column, and none ahead of it, puts first."""
        keys = list(self.keys)
        shared = {*self.ranking.within, *keys[: keys.index(key)]}
        own, other = Variable(key), self.fresh(f"{key}_1")
        # Every other variable is the aggregate's own: one of the same name outside would bind it.
        terms = tuple(
            other
            if one.name == key
            else Variable(one.name)
            if one.name in shared
            else self.fresh(f"_{one.name}_1")
            for one in self.ranked.columns
        )
        rows = Positive(Atom(self.ranked.name, terms))
        kind = next(one.kind for one in self.ranked.columns if one.name == key)
        return (rows, *first_key(other, own, kind, descending=self.keys[key]))

    @staticmethod
    def plain(name: str, used: set[str]) -> Variable:
        """Name the variable of a column, as one that is not used where it is not."""
        return Variable(name if name in used else f"_{name}")

    @staticmethod
    def placed(place: Term, kind: Kind) -> Term:
        """Give the place as a value of the column that it goes to."""
        return Apply("as", (place,), kind, type_name=kind.value) if kind is Kind.UNSIGNED else place

    def fresh(self, name: str) -> Variable:
        """Name a variable as no column is named."""
        return fresh_variable(name, self.ranked)


# Whatever is stated, where there is no `short` group the rules give exactly the rows of the
# ranking.

_NUMBER = "number"


@frozen
class TopNames:
    """The names of the relations that the rules need."""

    near: str
    ends: str
    groups: str
    short: str


@frozen
class TopRules:
    """Predicates and rules; `ends` are the rows of the relation that is stated."""

    predicates: tuple[Predicate, ...]
    rules: tuple[Rule, ...]
    ends: tuple[Row, ...]
    near: int
    """How many pairs of rows the ranking among `near` looks at."""


def top_rules(
    step: Step,
    ranking: Ranking,
    predicates: Mapping[str, Predicate],
    rows: Sequence[Row],
    names: TopNames,
) -> TopRules:
    """Write the rules of a ranking of these rows that has a `top`."""
    return _Top(step, ranking, predicates[ranking.of], names).rules(predicates, rows)


@frozen
class _Top:
    step: Step
    ranking: Ranking
    ranked: Predicate
    names: TopNames

    @property
    def keys(self) -> list[str]:
        """The columns that decide."""
        names = (name for name, _ in self.ranking.by)
        return [name for name in dict.fromkeys(names) if name not in self.ranking.within]

    def rules(self, predicates: Mapping[str, Predicate], rows: Sequence[Row]) -> TopRules:
        near = replace(self.ranked, name=self.names.near, source=None, attributes={})
        groups = self.declared(self.names.groups, self.ranking.within)
        ends = self.declared(self.names.ends, (*self.ranking.within, *self.keys))
        count = Column("rows", _NUMBER, Kind.NUMBER)
        short = replace(groups, name=self.names.short, columns=(*groups.columns, count))
        among = replace(self.ranking, of=near.name)
        ranked = ranking_rule(self.step, among, {**predicates, near.name: near})
        found, pairs = self.ends(rows)
        own = [near, ends, short]
        rules = [*self.near_rules(), self.short_rule(), ranked]
        if self.ranking.within:
            own.append(groups)
            rules.append(self.groups_rule())
        return TopRules(tuple(own), tuple(rules), found, pairs)

    def declared(self, name: str, columns: Sequence[str]) -> Predicate:
        by_name = {one.name: one for one in self.ranked.columns}
        return Predicate(name, tuple(replace(by_name[one], attributes={}) for one in columns))

    def near_rules(self) -> Iterator[Rule]:
        """Write a rule for each column that may put a row before the end, and one for the end."""
        names = [one.name for one in self.ranked.columns]
        rows = Atom(self.ranked.name, tuple(map(Variable, names)))
        head = Atom(self.names.near, rows.terms)
        for place, key in enumerate([*self.keys, None], start=1):
            shared = {*self.ranking.within, *self.keys[: place - 1]}
            terms = tuple(
                self.end_of(one) if one == key else Variable(one if one in shared else f"_{one}")
                for one in (*self.ranking.within, *self.keys)
            )
            body: list[Literal] = [Positive(Atom(self.names.ends, terms)), Positive(rows)]
            if key is not None:
                body += self.better(key)
            yield Rule(f"{self.names.near}.{place}", head, tuple(body))

    def better(self, key: str) -> tuple[Comparison, ...]:
        kind = next(one.kind for one in self.ranked.columns if one.name == key)
        return first_key(Variable(key), self.end_of(key), kind, descending=self.descending(key))

    def descending(self, key: str) -> bool:
        return next(one for name, one in self.ranking.by if name == key)

    def end_of(self, key: str) -> Variable:
        return fresh_variable(f"{key}_end", self.ranked)

    def groups_rule(self) -> Rule:
        within = self.ranking.within
        terms = (
            Variable(one.name if one.name in within else f"_{one.name}")
            for one in self.ranked.columns
        )
        head = Atom(self.names.groups, tuple(map(Variable, within)))
        body = (Positive(Atom(self.ranked.name, tuple(terms))),)
        return Rule(f"{self.names.groups}.1", head, body)

    def short_rule(self) -> Rule:
        """Name a group of which too few rows are near."""
        near, there = (fresh_variable(one, self.ranked) for one in ("rows_near", "rows_there"))
        within = tuple(map(Variable, self.ranking.within))
        body: list[Literal] = []
        if within:
            body.append(Positive(Atom(self.names.groups, within)))
        body += [
            self.counted(near, self.names.near),
            Comparison("<", near, Constant(self.ranking.top, Kind.NUMBER)),
            self.counted(there, self.ranked.name),
            Comparison("<", near, there),
        ]
        return Rule(f"{self.names.short}.1", Atom(self.names.short, (*within, near)), tuple(body))

    def counted(self, result: Variable, name: str) -> Aggregate:
        terms = tuple(
            Variable(one.name if one.name in self.ranking.within else f"_{one.name}")
            for one in self.ranked.columns
        )
        return Aggregate("count", result, None, (Positive(Atom(name, terms)),))

    def ends(self, rows: Sequence[Row]) -> tuple[tuple[Row, ...], int]:
        """Find the row at which each group's first ones end, and how many pairs are near."""
        places = {one.name: place for place, one in enumerate(self.ranked.columns)}
        within = [places[one] for one in self.ranking.within]
        keys = [places[one] for one in self.keys]
        groups: dict[Row, list[Row]] = {}
        for row in rows:
            group = tuple([row[place] for place in within])
            groups.setdefault(group, []).append(tuple([row[place] for place in keys]))
        found, pairs = [], 0
        for group, listed in groups.items():
            for place, key in reversed(list(enumerate(self.keys))):
                listed.sort(key=lambda one, at=place: one[at], reverse=self.descending(key))  # type: ignore[misc]
            end = listed[min(self.ranking.top, len(listed)) - 1]
            found.append((*group, *end))
            count = self.ranking.top
            while count < len(listed) and listed[count] == end:
                count += 1
            pairs += min(count, len(listed)) ** 2
        return tuple(found), pairs


MOST_PAIRS: Final = 20_000
"""How many pairs of rows a ranking may look at; a larger one is attested."""
COUNTED_PAIRS: Final = 5_000
"""How many pairs of rows a ranking looks at before the rows at which its first end are stated."""


@frozen
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


@frozen
class ProofProgram:
    """A program with a goal; `given` answers what the steps and the claim state."""

    program: AnalysedProgram
    goal: Atom
    given: Mapping[str, ExternalPredicate] = field(hash=False)


def proof_program(chain: Chain, plan: Plan, known: Known, word: PlanWord) -> ProofProgram:
    """Write the program. Raises `ConstatError` where it cannot be analysed."""
    return _ProofWriting(chain, plan, known).program(word)


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


class _ProofWriting:
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
            return
        for name in filter(self.chain.may_be_empty, link.reads):
            self.ask_whole(name, link)
        if step.ranking is not None and self.ranked(link, step.ranking):
            return
        if not is_asked(link) and not self.listed(link):
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
            self.ask_whole(name, link)

    def ask_whole(self, name: str, link: Link) -> None:
        """Have the proof look at all that a step read."""
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
        # A row without a value in a column is no match where that is read.
        everything = tuple(Variable(f"_{n}") for n in range(1, relation.arity + 1))
        all_rows = (_count(found, Atom(name, everything)),) if self.chain.may_be_empty(name) else ()
        body = (
            *all_rows,
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
