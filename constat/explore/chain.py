"""Compile the steps of a plan into a chain of rules."""

from __future__ import annotations

from dataclasses import field, replace
from datetime import date, timedelta
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import FLOOR, analyse, refused_in_drafts
from constat.catalog import QueryMistakeError, guard
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.explore.plan import Output, Work, check_ranking
from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Atom,
    Column,
    Kind,
    NullPolicy,
    Positive,
    Predicate,
    Rule,
    Source,
    Variable,
    null_policies,
)
from constat.logic.structures import is_same_definition
from constat.plan.compilation import predicates_of
from constat.syntax import exit_code, parse_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from sqlglot import exp

    from constat.analysis import AnalysedProgram
    from constat.explore.plan import Step
    from constat.logic import Program, Row

# They are functions of that day, so a question that is asked again with the same day means the
# same. Names: `2024`, `2024-Q4`, `Q4 2024`, `2024-12`, and `this`, `last` or `next` with `month`,
# `quarter`, `year`, besides `year to date`, `last 12 months`, `last 30 days`.

_MONTHS: Final = 12
_BEFORE, _AFTER = 40, 10
_SPANS: Final = (("month", 1), ("quarter", 3), ("year", 12))
_DAYS_BACK: Final = (7, 30, 90, 365)


def _column(name: str, kind: Kind) -> Column:
    return Column(name, kind.value, kind)


PERIODS: Final = MappingProxyType(
    {
        "today": Predicate(
            "today",
            (_column("day", Kind.DATE),),
            attributes={"says": "today is {day}"},
            description="The day on which the question is asked.",
        ),
        "period": Predicate(
            "period",
            (
                _column("name", Kind.SYMBOL),
                _column("first", Kind.DATE),
                _column("last", Kind.DATE),
            ),
            attributes={"says": "{name} is from {first} to {last}"},
            description="Periods by name, such as `this quarter`, `last year`, `2024-Q4`.",
        ),
    }
)
"""The relations that every plan may read besides those of the project."""


def period_rows(today: date) -> tuple[Row, ...]:
    """Give the rows of `period` for a day, sorted."""
    found: dict[str, tuple[date, date]] = {}
    for year in range(max(1, today.year - _BEFORE), min(9998, today.year + _AFTER) + 1):
        found |= dict(_of_year(year))
    found |= dict(_relative(today))
    return tuple(sorted((name, str(first), str(last)) for name, (first, last) in found.items()))


def _of_year(year: int) -> Iterator[tuple[str, tuple[date, date]]]:
    yield f"{year:04}", _months(year, 1, _MONTHS)
    for quarter in range(1, 5):
        days = _months(year, 3 * quarter - 2, 3)
        yield f"{year:04}-Q{quarter}", days
        yield f"Q{quarter} {year:04}", days
    for half in (1, 2):
        yield f"{year:04}-H{half}", _months(year, 6 * half - 5, 6)
    for month in range(1, _MONTHS + 1):
        yield f"{year:04}-{month:02}", _months(year, month, 1)


def _relative(today: date) -> Iterator[tuple[str, tuple[date, date]]]:
    for name, length in _SPANS:
        first = (today.month - 1) // length * length + 1
        for word, shift in (("last", -1), ("this", 0), ("next", 1)):
            yield f"{word} {name}", _months(today.year, first + shift * length, length)
        # The same part of the year before, to compare this one with.
        yield f"this {name} last year", _months(today.year - 1, first, length)
        yield f"{name} to date", (_months(today.year, first, 1)[0], today)
    yield "last 12 months", (_months(today.year, today.month - _MONTHS, 1)[0], _eve(today))
    for days in _DAYS_BACK:
        yield f"last {days} days", (today - timedelta(days=days - 1), today)
    yield "today", (today, today)
    yield "yesterday", (today - timedelta(days=1), today - timedelta(days=1))


def _eve(day: date) -> date:
    """The last day of the month before."""
    return day.replace(day=1) - timedelta(days=1)


def _months(year: int, month: int, count: int) -> tuple[date, date]:
    """The first and the last day of so many months from a month, which may lie outside 1 to 12."""
    start = year * _MONTHS + month - 1
    end = start + count
    first = date(start // _MONTHS, start % _MONTHS + 1, 1)
    return first, date(end // _MONTHS, end % _MONTHS + 1, 1) - timedelta(days=1)


DIALECT: Final = "duckdb"
_CLOCKS: Final = frozenset(
    {"CurrentDate", "CurrentTime", "CurrentTimestamp", "CurrentDatetime", "CurrentTimestampLTZ"}
    | {"Localtime", "Localtimestamp", "UnixSeconds"}
)
_CLOCK_NAMES: Final = frozenset({"now", "today", "current_localtime", "current_localtimestamp"})


def tables_of(step: Step) -> tuple[tuple[str, ...], Diagnostic | None]:
    """Name the relations that a step's SELECT reads, or say what is wrong with it."""
    try:
        guarded = guard(step.text, DIALECT)
        problem = _clock(_parsed(guarded.text))
    except QueryMistakeError as mistake:
        hint = mistake.help or "write one SELECT over the step's inputs"
        return (), _refused(step, mistake.reason, hint)
    if problem:
        hint = "read the relation `today(day)`, so that the answer can be found again"
        return (), _refused(step, f"`{problem}` reads the clock", hint)
    return tuple(sorted(guarded.tables)), None


def determined(text: str, columns: int) -> str:
    """Write a guarded SELECT so that LIMIT chooses among equal rows by their values."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    root = _parsed(text)
    if root.args.get("limit") is None and root.args.get("offset") is None:
        return text
    order = root.args.get("order")
    places = [exp.Ordered(this=exp.Literal.number(n)) for n in range(1, columns + 1)]
    listed = [*(order.expressions if order is not None else ()), *places]
    root.set("order", exp.Order(expressions=[one.copy() for one in listed]))
    return root.sql(dialect=DIALECT)


def at_most(text: str, rows: int) -> str:
    """Write a guarded SELECT that has no limit of its own so that it gives no more rows."""
    root = _parsed(text)
    if root.args.get("limit") is not None:
        return text
    return root.limit(rows, copy=False).sql(dialect=DIALECT)


def is_ordered(text: str) -> bool:
    """Whether a guarded SELECT says in which order its rows are to be seen."""
    return _parsed(text).args.get("order") is not None


def plain_columns(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Give the relation and the columns of a SELECT that lists columns of one, and no more.

    In which order it shows the rows is none of theirs. `*` stands for itself.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    root = _parsed(text)
    used = {name for name, value in root.args.items() if value} - {"expressions", "order"}
    tables = list(root.find_all(exp.Table))
    if not isinstance(root, exp.Select) or used - {"from", "from_"} or len(tables) != 1:
        return None
    extra = {name for name, value in tables[0].args.items() if value} - {"this", "alias"}
    known = {tables[0].alias_or_name.lower(), ""}
    columns = [one.this if isinstance(one, exp.Alias) else one for one in root.expressions]
    if len(columns) == 1 and type(columns[0]) is exp.Star and not any(columns[0].args.values()):
        return None if extra else (tables[0].name, ("*",))
    plain = all(
        isinstance(one, exp.Column)
        and isinstance(one.this, exp.Identifier)
        and one.table.lower() in known
        for one in columns
    )
    return (tables[0].name, tuple(one.name for one in columns)) if plain and not extra else None


def _parsed(text: str) -> exp.Query:
    import sqlglot  # noqa: PLC0415  heavy library, loaded on first use
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    found = sqlglot.parse_one(text, read=DIALECT)
    if not isinstance(found, exp.Query):
        raise QueryMistakeError("the query is not a SELECT", "C0516")
    return found


def _clock(root: exp.Query) -> str:
    """Name the function of a query that reads the clock, if there is one."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    for node in root.walk():
        if type(node).__name__ in _CLOCKS:
            return node.sql(dialect=DIALECT)[:40]
        if isinstance(node, exp.Anonymous) and str(node.this).lower() in _CLOCK_NAMES:
            return str(node.this).lower()
    return ""


def _refused(step: Step, reason: str, hint: str) -> Diagnostic:
    return Diagnostic("C0895", f"step `{step.name}`: {reason}", step.span, help=hint)


_SAID: Final = "says"


@frozen
class Link:
    """A step in a chain.

    `number` counts from 1 over all questions of an exploration, `reads` are the relations it needs,
    of the project and of other steps, `rules` what derives its relations where rules do.
    """

    number: int
    step: Step
    reads: tuple[str, ...]
    rules: tuple[Rule, ...] = ()
    helpers: tuple[str, ...] = ()

    @property
    def gives(self) -> tuple[str, ...]:
        """The relations of the step that others may read."""
        return tuple(one.name for one in self.step.outputs)


@frozen
class Chain:
    """Steps over a project's program; `analysed` is that program with all of them.

    `warnings` are about the texts of steps.
    """

    base: AnalysedProgram
    links: tuple[Link, ...]
    analysed: AnalysedProgram
    warnings: tuple[Diagnostic, ...] = ()

    def link_of(self, relation: str) -> Link | None:
        """The step that gives a relation; `None` for one of the project."""
        return next((one for one in self.links if relation in one.gives), None)

    def below(self, relations: Iterable[str]) -> tuple[Link, ...]:
        """The steps that relations need, each behind those that it needs itself."""
        wanted: set[int] = set()
        waiting = list(relations)
        while waiting:
            link = self.link_of(waiting.pop())
            if link is not None and link.number not in wanted:
                wanted.add(link.number)
                waiting += link.reads
        return tuple(one for one in self.ordered() if one.number in wanted)

    def above(self, number: int) -> frozenset[int]:
        """The numbers of the steps that need a step, directly or not."""
        found: set[int] = {number}
        for link in self.ordered():
            needed = (self.link_of(name) for name in link.reads)
            if any(one is not None and one.number in found for one in needed):
                found.add(link.number)
        return frozenset(found - {number})

    def ordered(self) -> tuple[Link, ...]:
        """The steps, each behind those that it needs, else by number."""
        return _ordered(self.links)

    def program_with(self, links: Iterable[Link]) -> AnalysedProgram:
        """Give a program in which these steps are derived, and all others come from outside."""
        rules = [rule for link in links for rule in link.rules]
        return _analysed(self.base, self.analysed.program, rules)

    def may_be_empty(self, relation: str) -> tuple[str, ...]:
        """Name the columns of a relation in which a row may have no value (`null = none`)."""
        declared = self.analysed.program.predicates.get(relation)
        if declared is None:
            return ()
        policies = zip(declared.columns, null_policies(declared), strict=True)
        return tuple(one.name for one, policy in policies if policy is NullPolicy.NONE)

    def always_there(self, relation: str) -> str:
        """Write a rule over the columns that have a value in each row, if they tell rows apart."""
        empty, declared = self.may_be_empty(relation), self.analysed.program.predicates[relation]
        names = [one.name for one in declared.columns]
        kept = [one for one in names if one not in empty]
        if not declared.key or any(names[place] in empty for place in declared.key):
            return "name the columns that count, and write `_` for the others"
        head = ", ".join(f"?{one}" for one in kept)
        named = ", ".join(f"{one} = ?{one}" for one in kept)
        return f"`{relation}_({head}) :- {relation}({named}).`"

    def counting(self, relation: str) -> tuple[AnalysedProgram, Output] | None:
        """Give a program that counts all rows of a relation, where some may be without a value."""
        if not self.may_be_empty(relation):
            return None
        program = self.analysed.program
        name = "rows_of_all"
        while name in program.predicates:
            name += "_"
        # `_` reads no column, so that a row counts whatever it lacks.
        terms = tuple(Variable(f"_{n}") for n in range(1, program.predicates[relation].arity + 1))
        rows = Variable("rows")
        body = (Aggregate("count", rows, None, (Positive(Atom(relation, terms)),)),)
        declared = Predicate(name, (_column("rows", Kind.NUMBER),))
        whole = replace(program, predicates={**program.predicates, name: declared})
        rule = Rule(f"{name}.1", Atom(name, (rows,)), body)
        return _analysed(self.base, whole, [rule]), Output(name, (("rows", Kind.NUMBER.value),))


def compile_chain(
    program: AnalysedProgram,
    steps: Sequence[Step],
    *,
    first: int = 1,
    texts: dict[str, str] | None = None,
) -> Chain:
    """Compile steps, numbered from `first`; raises `ConstatError` with every mistake.

    `texts` receives the steps' rules, by the names that diagnostics use.
    """
    return _Compiling(program, {} if texts is None else texts).chain(steps, first)


@slotted
class _Compiling:
    """One compilation."""

    base: AnalysedProgram
    texts: dict[str, str]
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def chain(self, steps: Sequence[Step], first: int) -> Chain:
        predicates: dict[str, Predicate] = {**self.base.program.predicates}
        for name, predicate in PERIODS.items():
            predicates.setdefault(name, predicate)
        program = replace(self.base.program, predicates=predicates)
        # Arguments of what any step gives may be named.
        outputs = "\n".join(f".decl {one.declaration}" for step in steps for one in step.outputs)
        known = {**parse_text(outputs, "<outputs>", []).predicates, **predicates}
        fragments = []
        for number, step in enumerate(steps, start=first):
            fragment = self.fragment(number, step, known)
            program = self.joined(program, fragment, step)
            fragments.append(fragment)
        links = [
            self.link(number, step, fragment, program)
            for number, (step, fragment) in enumerate(
                zip(steps, fragments, strict=True), start=first
            )
        ]
        self.stop()
        self.check_reads(links, program)
        self.check_circles(links)
        self.stop()
        # Analysed at once, so that every mistake of types is told before anything runs.
        rules = [rule for link in links for rule in link.rules]
        told: list[Diagnostic] = []
        analysed = _analysed(self.base, program, rules, told)
        warnings = tuple(one for one in told if one.span and one.span.source in self.texts)
        return Chain(self.base, tuple(links), analysed, warnings)

    def stop(self) -> None:
        """Raise what was found; what comes later would be about the same mistakes."""
        errors = [one for one in self.diagnostics if one.severity is Severity.ERROR]
        if errors:
            raise ConstatError(errors, exit_code=exit_code(errors))

    def complain(self, code: str, message: str, step: Step, *, note: str = "", hint: str) -> None:
        found = Diagnostic(code, f"step `{step.name}`: {message}", step.span, note=note, help=hint)
        self.diagnostics.append(found)

    def fragment(self, number: int, step: Step, known: Mapping[str, Predicate]) -> Program:
        """Read a step as a small program of its own."""
        declared = "\n".join(f".decl {one.declaration}" for one in step.outputs)
        # The declarations come last, so that the lines of the rules keep their numbers.
        text = f"{step.text}\n{declared}\n" if step.work is Work.RULES else f"{declared}\n"
        name = _text_name(number, step)
        self.texts[name] = text
        return parse_text(text, name, self.diagnostics, known)

    def joined(self, program: Program, fragment: Program, step: Step) -> Program:
        """Take over what a step declares."""
        predicates = dict(program.predicates)
        for name, predicate in fragment.predicates.items():
            if name in predicates:
                whose = "belongs to another step"
                if name in self.base.program.predicates:
                    whose = "belongs to the project"
                elif name in PERIODS:
                    whose = "is there in every exploration"
                message = f"the relation `{name}` {whose}"
                self.complain("C0891", message, step, hint=f"name it `{step.name}_{name}`")
            elif predicate.source is not None:
                hint = "delete the `.input`; a step by `sql` reads a database"
                self.complain("C0893", f"`{name}` may not say where rows lie", step, hint=hint)
            else:
                asked = step.source and step.work is Work.SQL
                source = _source(step) if asked else None
                predicates[name] = replace(predicate, source=source)
        for name, definition in fragment.types.items():
            if not is_same_definition(program.types.get(name, definition), definition):
                message = f"the type `{name}` is declared already, in another way"
                self.complain("C0891", message, step, hint="leave it out, or name it otherwise")
        types = {**fragment.types, **program.types}
        return replace(program, predicates=predicates, types=types)

    def link(self, number: int, step: Step, fragment: Program, program: Program) -> Link:
        rules = tuple(_plain(rule, fragment) for rule in fragment.rules)
        given = {one.name for one in step.outputs}
        if step.work is Work.RULES:
            self.check_heads(step, rules, set(fragment.predicates))
        elif not step.outputs or (step.work is not Work.PYTHON and len(step.outputs) != 1):
            hint = "split it into steps of one output each"
            self.complain("C0894", "it has not exactly one output", step, hint=hint)
        helpers = tuple(name for name in fragment.predicates if name not in given)
        return Link(number, step, self.reads(step, rules, program), rules, helpers)

    def check_heads(self, step: Step, rules: Sequence[Rule], own: set[str]) -> None:
        derived = {rule.head.predicate for rule in rules}
        for name in sorted(derived - own):
            hint = f"declare it among the outputs, or write another name than `{name}`"
            message = f"its rules derive `{name}`, which is not its own"
            self.complain("C0893", message, step, hint=hint)
        for output in step.outputs:
            if output.name not in derived:
                columns = ", ".join(f"?{name}" for name, _ in output.columns)
                hint = f"write a rule `{output.name}({columns}) :- ... .`"
                self.complain("C0893", f"no rule gives `{output.name}`", step, hint=hint)

    def reads(self, step: Step, rules: Sequence[Rule], program: Program) -> tuple[str, ...]:
        """Give the relations that a step needs."""
        match step.work:
            case Work.RULES:
                own = {rule.head.predicate for rule in rules}
                found = (
                    name
                    for rule in rules
                    for literal in rule.body
                    for name in predicates_of(literal)
                )
                return tuple(dict.fromkeys(name for name in found if name not in own))
            case Work.SQL:
                return () if step.source else self.tables(step, program)
            case Work.RANKING:
                if step.ranking is None:
                    return ()
                self.diagnostics += check_ranking(step, program)
                return (step.ranking.of,)
            case Work.PYTHON:
                return tuple(dict.fromkeys(step.inputs))

    def tables(self, step: Step, program: Program) -> tuple[str, ...]:
        found, problem = tables_of(step)
        if problem is not None:
            self.diagnostics.append(problem)
        # SQL takes no notice of the case of names.
        known = {name.lower(): name for name in program.predicates}
        return tuple(known.get(one.lower(), one) for one in found)

    def check_reads(self, links: Sequence[Link], program: Program) -> None:
        for link in links:
            for name in link.reads:
                if name in program.predicates or link.step.work is Work.RULES:
                    # The analysis says it of rules, with the place.
                    continue
                near = nearest(name, list(program.predicates))
                hint = f"write `{near}`" if near else "add a step that gives it"
                self.complain("C0892", f"there is no relation `{name}`", link.step, hint=hint)

    def check_circles(self, links: Sequence[Link]) -> None:
        ordered = {one.number for one in _ordered(links)}
        for link in links:
            if link.number not in ordered:
                message = "steps need each other in a circle"
                note = "only the rules of one step may need each other"
                hint = "put them into one step with several outputs"
                self.complain("C0892", message, link.step, note=note, hint=hint)
                return


def draft_errors(chain: Chain, steps: Collection[str]) -> list[Diagnostic]:
    """Give the warnings that are errors because a model wrote those steps."""
    names = {_text_name(one.number, one.step) for one in chain.links if one.step.name in steps}
    own = [one for one in chain.warnings if one.span and one.span.source in names]
    return refused_in_drafts(own)


def _text_name(number: int, step: Step) -> str:
    return f"<step {number}: {step.name}>"


def _source(step: Step) -> Source:
    """A SELECT on a database is asked as any relation of it: guarded, read-only, with evidence."""
    return Source({"source": step.source, "query": step.text}, step.span)


def _plain(rule: Rule, fragment: Program) -> Rule:
    """Drop what a rule says of itself but for its sentence and that whole numbers are meant."""
    kept = {k: v for k, v in rule.attributes.items() if k.startswith(_SAID) or k == FLOOR}
    places = [one for one in fragment.rules if one.head.predicate == rule.head.predicate]
    number = next(place for place, one in enumerate(places, start=1) if one is rule)
    identity = f"{rule.head.predicate}.{number}"
    return replace(rule, id=identity, attributes=kept, proposed=False, confidence=Decimal(1))


def _ordered(links: Sequence[Link]) -> tuple[Link, ...]:
    """Sort topologically (Kahn); what lies on a circle is left out."""
    givers = {name: link.number for link in links for name in link.gives}
    waiting = {
        link.number: {givers[name] for name in link.reads if name in givers} for link in links
    }
    found: list[Link] = []
    done: set[int] = set()
    while True:
        ready = [one for one in links if one.number not in done and not waiting[one.number] - done]
        if not ready:
            return tuple(found)
        found.append(ready[0])
        done.add(ready[0].number)


def _analysed(
    base: AnalysedProgram,
    program: Program,
    rules: Sequence[Rule],
    told: list[Diagnostic] | None = None,
) -> AnalysedProgram:
    diagnostics: list[Diagnostic] = [] if told is None else told
    # The project's rules are taken as the analysis left them: it gives them again.
    found = analyse(replace(program, rules=(*base.rules, *rules)), diagnostics)
    if found is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    return found
