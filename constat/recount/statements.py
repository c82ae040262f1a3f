"""Write the instances of one rule as one statement of SQL, literal by literal.

In: a rule of an analysed program, and for each of its atoms the table to read. Out: the text of a
query whose rows are the heads of the instances that hold. Nothing is reordered, shared or left
out: every atom of the body is a table of its own, every comparison a condition, `!p` is NOT EXISTS,
an aggregate a subquery of its own. Invariants: a term that can err is evaluated for every instance
whose other literals hold, and then the statement fails (`may_err` tells such rules); a construct
without a clause here raises `RefusedError`. Example: `p(?x) :- e(?x, ?y), !q(?y).` becomes
`SELECT DISTINCT a0.c0 AS c0 FROM e AS a0 WHERE NOT EXISTS (SELECT 1 FROM q AS a1 WHERE ...)`.
"""

from __future__ import annotations

from dataclasses import field
from decimal import Decimal
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Protocol

from constat.frozen import frozen, slotted
from constat.logic import (
    Aggregate,
    Apply,
    Comparison,
    Constant,
    Kind,
    Negative,
    Positive,
    Variable,
    literal_variables,
    outer_names,
    term_variables,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from constat.logic import Atom, Literal, Rule, Term, Value

PLACES: Final = 12
_WHOLE_DIGITS: Final = 26
DECIMAL: Final = f"DECIMAL(38, {PLACES})"
_TYPES: Final = MappingProxyType(
    {
        Kind.NUMBER: "BIGINT",
        Kind.UNSIGNED: "UBIGINT",
        Kind.FLOAT: "DOUBLE",
        Kind.DECIMAL: DECIMAL,
    }
)
INTEGERS: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_EXACT: Final = frozenset({"+", "-", "*"})
_ADDED: Final = frozenset({"+", "-"})
PLAIN: Final = MappingProxyType({"=": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="})


class RefusedError(Exception):
    """Something has no clause in the check. The text says what."""


def type_of(kind: Kind) -> str:
    """Give the type of a column: what is neither number nor text is the text of its value."""
    return _TYPES.get(kind, "VARCHAR")


def literal(value: Value, kind: Kind) -> str:
    """Write a constant. Raises `RefusedError` for one that no column holds exactly."""
    if kind is Kind.DECIMAL:
        fits(Decimal(value))
    text = repr(float(value)) if kind is Kind.FLOAT else str(value)
    if "\0" in text:
        raise RefusedError("a text holds the character 0")
    quoted = text.replace("'", "''")
    return f"CAST('{quoted}' AS {type_of(kind)})"


def fits(value: Decimal) -> None:
    """Raise `RefusedError` for a Decimal that the columns here would round."""
    exponent = value.as_tuple().exponent
    whole = not isinstance(exponent, int) or exponent < -PLACES
    if whole or (value and value.adjusted() >= _WHOLE_DIGITS):
        raise RefusedError("a Decimal has more digits than fit beside twelve places")


def conjunction(conditions: Sequence[str]) -> str:
    """Write conditions that all have to hold."""
    return " AND ".join(conditions) if conditions else "true"


def select(outputs: Sequence[str], sources: Sequence[str], conditions: Sequence[str]) -> str:
    """Write a query."""
    read = ", ".join(sources) if sources else "(SELECT 1) AS nothing"
    return " ".join(["SELECT", ", ".join(outputs), "FROM", read, "WHERE", conjunction(conditions)])


@frozen
class Functions:
    """The names of the functions in SQL that compute what SQL itself does not say our way.

    `empty` says that they give nothing where an instance errs; else they fail the statement.
    """

    call: Callable[[str, tuple[Kind, ...], Kind], str]
    test: Callable[[str, Kind], str]
    fold: Callable[[str, Kind, Kind], str]
    empty: bool = False


class Typed(Protocol):
    """A statement that knows the kinds of its terms, and the functions of SQL."""

    @property
    def functions(self) -> Functions:
        """The names of functions in SQL."""
        ...

    def kind(self, term: Term) -> Kind:
        """Give the kind of a term."""
        ...


@slotted
class Statement:
    """One rule on its way into SQL."""

    rule: Rule
    kinds: Mapping[str, Kind]
    functions: Functions
    used: int = field(default=0, init=False)

    def alias(self) -> str:
        """Give a name that no other table of the statement has."""
        self.used += 1
        return f"a{self.used}"

    def kind(self, term: Term) -> Kind:
        """Give the kind of a term."""
        if isinstance(term, Variable):
            return self.kinds[term.name]
        if term.kind is None:
            raise RefusedError("a function without a kind")
        return term.kind


@slotted
class RuleStatement(Statement):
    """One rule on its way into SQL; `table` gives the table of an atom, by its place in the body.

    The place of an atom inside an aggregate, or of a denied one, is that of the literal.
    """

    table: Callable[[int, Atom], str]
    outer: frozenset[str] = frozenset()

    def text(self, *, distinct: bool = True) -> str:
        """Give the query. Its columns are `c0`, `c1` and so on; one that is 0 without columns."""
        self.outer = frozenset(outer_names(self.rule))
        body = _Body(self, {})
        body.add(list(enumerate(self.rule.body)))
        outputs = [
            f"{body.term(term)} AS c{place}" for place, term in enumerate(self.rule.head.terms)
        ]
        outputs = outputs or ["CAST(0 AS BIGINT) AS c0"]
        first = f"DISTINCT {outputs[0]}" if distinct else outputs[0]
        return select([first, *outputs[1:]], body.sources, body.conditions)


@slotted
class _Body:
    """A conjunction: the tables it reads, its conditions, and what its variables are there."""

    statement: RuleStatement
    names: dict[str, str]
    sources: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)

    def add(self, literals: Sequence[tuple[int, Literal]]) -> None:
        """Take all literals, each when what it reads is bound."""
        computed: list[tuple[str, Term]] = []
        waiting: list[tuple[int, Literal]] = []
        for place, one in literals:
            if isinstance(one, Positive):
                computed += self._positive(place, one.atom)
            else:
                waiting.append((place, one))
        free = once(self.statement.rule)
        while waiting or computed:
            left = [one for one in waiting if not self._taken(*one, free)]
            more = [one for one in computed if not self._matched(*one)]
            if len(left) == len(waiting) and len(more) == len(computed):
                raise RefusedError("a body whose literals cannot be taken one after the other")
            waiting, computed = left, more

    def _positive(self, place: int, atom: Atom) -> list[tuple[str, Term]]:
        """Read a table; give the columns whose terms have to be computed."""
        alias = self.statement.alias()
        self.sources.append(f"{self.statement.table(place, atom)} AS {alias}")
        computed: list[tuple[str, Term]] = []
        for number, term in enumerate(atom.terms):
            column = f"{alias}.c{number}"
            if isinstance(term, Variable) and term.name not in self.names:
                self.names[term.name] = column
            elif isinstance(term, Apply):
                computed.append((column, term))
            else:
                self.conditions.append(f"{column} = {self.term(term)}")
        return computed

    def _matched(self, column: str, term: Term) -> bool:
        if not self._is_bound([term]):
            return False
        self.conditions.append(f"{column} = {self.term(term)}")
        return True

    def _taken(self, place: int, one: Literal, free: frozenset[str]) -> bool:
        """Take a literal if its turn has come."""
        match one:
            case Comparison():
                return self._comparison(one)
            case Negative(atom):
                return self._negative(place, atom, free)
            case Aggregate():
                return self._aggregate(place, one)
            case _:
                raise RefusedError("a literal of an unknown form")

    def _comparison(self, one: Comparison) -> bool:
        if one.operator == "=":
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if (
                    isinstance(side, Variable)
                    and side.name not in self.names
                    and self._is_bound([other])
                ):
                    self._bind(side.name, self.term(other), other)
                    return True
        if not self._is_bound([one.left, one.right]):
            return False
        self.conditions.append(self._compared(one))
        return True

    def _compared(self, one: Comparison) -> str:
        kind = self.statement.kind(one.left)
        left, right = self.term(one.left), self.term(one.right)
        if one.operator in PLAIN and (kind is not Kind.STRUCTURE or one.operator in {"=", "!="}):
            return f"({left} {PLAIN[one.operator]} {right})"
        return f"{self.statement.functions.test(one.operator, kind)}({left}, {right})"

    def _bind(self, name: str, text: str, term: Term) -> None:
        self.names[name] = text
        if isinstance(term, Apply):
            # It errs for an instance also where nobody reads the variable.
            self.conditions.append(f"({text}) IS NOT NULL")

    def _negative(self, place: int, atom: Atom, free: frozenset[str]) -> bool:
        read = [term for term in atom.terms if not _is_free(term, free, self.names)]
        if not self._is_bound(read):
            return False
        alias = self.statement.alias()
        same: list[str] = []
        for number, term in enumerate(atom.terms):
            if _is_free(term, free, self.names):
                continue
            text = self.term(term)
            same.append(f"{alias}.c{number} = {text}")
            if isinstance(term, Apply):
                # It errs also where the table is empty.
                self.conditions.append(f"({text}) IS NOT NULL")
        table = f"{self.statement.table(place, atom)} AS {alias}"
        self.conditions.append(f"NOT EXISTS ({select(['1'], [table], same)})")
        return True

    def _aggregate(self, place: int, one: Aggregate) -> bool:
        outer = self.statement.outer
        inside = [variable for item in one.body for variable in literal_variables(item)]
        inside += [] if one.target is None else term_variables(one.target)
        if any(v.name in outer and v.name not in self.names for v in inside):
            return False
        body = _Body(self.statement, dict(self.names))
        body.add([(place, item) for item in one.body])
        alias = self.statement.alias()
        value = body.folded(one)
        self.sources.append(
            f"LATERAL ({select([f'{value} AS v'], body.sources, body.conditions)}) AS {alias}"
        )
        found = f"{alias}.v"
        if one.function not in {"count", "sum"}:
            self.conditions.append(f"{found} IS NOT NULL")
        if one.result.name in self.names:
            self.conditions.append(f"{self.names[one.result.name]} = {found}")
        else:
            self.names[one.result.name] = found
        return True

    def folded(self, one: Aggregate) -> str:
        """Write the value of an aggregate over the rows of this body.

        Every column of every atom has a variable or a constant, and tables hold a row once: so a
        row of the join is a binding of all variables of the body, and none comes twice.
        """
        if one.target is None:
            return "CAST(count(*) AS BIGINT)"
        kind, target = self.statement.kind(one.target), self.term(one.target)
        if one.function == "count":
            return f"CAST(count({target}) AS BIGINT)"
        if one.function in {"min", "max"} and kind is not Kind.STRUCTURE:
            return f"{one.function}({target})"
        if one.function == "sum" and kind in INTEGERS:
            total = f"coalesce(sum(CAST({target} AS HUGEINT)), 0)"
            # A total that is only compared is no value, and does not overflow.
            return total if one.recursive else f"CAST({total} AS {type_of(kind)})"
        if one.function == "sum" and kind is Kind.DECIMAL:
            # Exact: each summand has twelve places at most, and what does not fit fails.
            return f"coalesce(sum({target}), {literal(0, kind)})"
        if one.recursive:
            raise RefusedError("a recursive sum that is not exact")
        result = self.statement.kinds[one.result.name]
        found = f"{self.statement.functions.fold(one.function, kind, result)}(list({target}))"
        return f"coalesce({found}, {literal(0, result)})" if one.function == "sum" else found

    def _is_bound(self, terms: Sequence[Term]) -> bool:
        return all(v.name in self.names for term in terms for v in term_variables(term))

    def term(self, term: Term) -> str:
        """Write a term whose variables are bound."""
        match term:
            case Variable(name):
                return self.names[name]
            case Constant(value, kind):
                return literal(value, kind)
            case Apply():
                return self._applied(term)

    def _applied(self, term: Apply) -> str:
        return applied(self.statement, term, [self.term(one) for one in term.arguments])


def applied(statement: Typed, term: Apply, arguments: Sequence[str]) -> str:
    """Write a function applied to arguments."""
    kind = statement.kind(term)
    given = tuple(statement.kind(one) for one in term.arguments)
    if kind in INTEGERS and all(one is kind for one in given):
        # 128 bits hold what comes of 64; the way back errs where the value does not fit.
        wide = [f"CAST({one} AS HUGEINT)" for one in arguments]
        back = "TRY_CAST" if statement.functions.empty else "CAST"
        if term.function in _EXACT and len(wide) == 2:  # noqa: PLR2004  a left and a right side
            return f"{back}(({wide[0]} {term.function} {wide[1]}) AS {type_of(kind)})"
        if term.function == "neg":
            return f"{back}((- {wide[0]}) AS {type_of(kind)})"
    if kind is Kind.DECIMAL and all(one is kind for one in given) and term.function in _ADDED:
        # As exact as a sum.
        return f"({f' {term.function} '.join(arguments)})"
    name = statement.functions.call(term.function, given, kind)
    return f"{name}({', '.join(arguments)})"


def may_err(rule: Rule) -> bool:
    """Whether an instance of a rule may err: it computes, adds up, or compares our way."""

    def computes(one: Literal) -> bool:
        match one:
            case Positive(atom) | Negative(atom):
                return any(isinstance(term, Apply) for term in atom.terms)
            case Comparison():
                sides = (one.left, one.right)
                return one.operator not in PLAIN or any(isinstance(t, Apply) for t in sides)
            case Aggregate():
                return True
            case _:
                return True

    return any(map(computes, (Positive(rule.head), *rule.body)))


def _is_free(term: Term, free: frozenset[str], names: Mapping[str, str]) -> bool:
    return isinstance(term, Variable) and term.name in free and term.name not in names


def is_apart(rule: Rule, key: Callable[[Atom], int | None]) -> bool:
    """Whether no two instances of a rule have the same head.

    `key` gives a column of an atom's table in which no two rows are the same. An instance is one
    row of each table, and a row follows from the head where its key does, or all of its columns do.
    """
    known = {term.name for term in rule.head.terms if isinstance(term, Variable)}
    waiting = [one.atom for one in rule.body if isinstance(one, Positive)]

    def follows(atom: Atom) -> bool:
        place = key(atom)
        terms = atom.terms if place is None else (atom.terms[place],)
        return all(v.name in known for term in terms for v in term_variables(term))

    while found := [one for one in waiting if follows(one)]:
        waiting = [one for one in waiting if one not in found]
        known |= {t.name for one in found for t in one.terms if isinstance(t, Variable)}
    return not waiting


def once(rule: Rule) -> frozenset[str]:
    """Name the variables that stand in one place of a rule: in a denied atom they mean "any"."""
    times: dict[str, int] = {}
    found = [one for term in rule.head.terms for one in term_variables(term)]
    found += [one for item in rule.body for one in literal_variables(item)]
    for one in found:
        times[one.name] = times.get(one.name, 0) + 1
    return frozenset(name for name, count in times.items() if count == 1)
