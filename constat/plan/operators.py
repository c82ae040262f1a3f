"""The plan: relational operators over flat binding tuples.

A rule for one adornment (the set of head columns that are bound) becomes a straight line of
steps. A *binding* is a tuple of values; each step filters bindings or appends slots to them. The
first slots are the demanded key, then the rule's constants, so that every key of every step is a
choice of slots. Invariant: a step reads only slots that exist before it.

Example: `p(?x) :- q(?x, "a").` with ?x bound starts with `(x, "a")` and has one step, `Join("q",
(0, 1), (0, 1), (), ...)`. See Ullman, Principles of Database and Knowledge-Base Systems, chapter
13, for rule evaluation by supplementary relations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from constat.frozen import frozen
from constat.logic import Kind, Row, Value

Columns = tuple[int, ...]
ProcedureKey = tuple[str, Columns]


@frozen
class Slot:
    """The value of a slot."""

    place: int


@frozen
class Literally:
    """A constant inside an expression.

    Its kind tells 1 from 1.0, which Python takes for equal.
    """

    value: Value
    kind: Kind


@frozen
class Call:
    """A function applied to expressions, with the kinds that select its implementation."""

    function: str
    arguments: tuple[Expression, ...]
    parameters: tuple[Kind, ...]
    result: Kind


Expression = Slot | Literally | Call


@frozen
class Join:
    """Extend each binding with the rows of `predicate`.

    Whose `columns` equal the binding's `key` slots.

    `kept` columns are appended; `same` lists pairs of columns that must be equal (a variable that
    occurs twice in the atom). `literal` is the place in the rule's body, -1 inside an aggregate.
    `read` are the columns besides `columns` that the atom reads: those where it writes no `_`.
    The first `fixed` slots keep what they hold whatever they meet: the group of an aggregate.
    """

    predicate: str
    columns: Columns
    key: tuple[int, ...]
    kept: Columns
    same: tuple[tuple[int, int], ...]
    arity: int
    literal: int
    read: Columns = ()
    fixed: int = 0


@frozen
class Absence:
    """Keep the bindings for which no row of `predicate` has the `key` slots in `columns`.

    `read` are the columns besides that the atom reads.
    """

    predicate: str
    columns: Columns
    key: tuple[int, ...]
    arity: int
    read: Columns = ()


@frozen
class Filter:
    """Keep the bindings for which the comparison holds."""

    operator: str
    left: Expression
    right: Expression
    kind: Kind


@frozen
class Compute:
    """Append the value of an expression."""

    expression: Expression


@frozen
class Beyond:
    """What a recursive `sum` or `count` must be: `>` or `>=` than `bound`.

    The bound is read from the outer binding. With `proven`, no summand can be negative (`count`,
    unsigned, or a guard such as `?w >= 0` among the steps); without it a summand below zero or
    unknown leaves its group undecided: it may be beyond the bound and is never certainly so.
    """

    operator: str
    bound: Expression
    proven: bool


@frozen
class Fold:
    """Append the aggregate over the assignments that `steps` find for the binding's `group` slots.

    The inner bindings start with the group and `constants`; assignments are told apart by their
    `distinct` slots, whose variables are `names`; `target` is read from the inner binding.

    `threshold` is set exactly where the aggregate is over the rule's own component (`steps` reads
    it): then the step keeps the bindings whose total is beyond the bound, the total being exact
    and never an overflow, and the slot it appends is one that nothing reads. No `Filter` follows.
    It is monotone: once beyond the bound, more rows change nothing.
    """

    function: str
    kind: Kind | None
    group: tuple[int, ...]
    constants: tuple[Value, ...]
    steps: tuple[Step, ...]
    target: Expression | None
    distinct: tuple[int, ...]
    threshold: Beyond | None = None
    names: tuple[str, ...] = ()


Step = Join | Absence | Filter | Compute | Fold


@frozen
class RulePlan:
    """One rule for one adornment.

    `order` lists the body literals in the order they are taken; `head` makes the row;
    `variables` says in which slot each variable stands at the end.
    """

    rule: int
    columns: Columns
    constants: tuple[Value, ...]
    checks: tuple[tuple[int, int], ...]
    steps: tuple[Step, ...]
    head: tuple[Expression, ...]
    order: tuple[int, ...]
    assumed: bool
    variables: Mapping[str, int] = field(hash=False)


@frozen
class GroundFact:
    """A row that the rules state outright, with the number of the rule that states it."""

    row: Row
    rule: int
    assumed: bool


@frozen
class Procedure:
    """A derived predicate for one adornment: stated facts, then rules, cheapest first.

    Facts are kept apart so that thousands of them are one indexed relation and not thousands of
    rules to try for each demand.
    """

    predicate: str
    columns: Columns
    facts: tuple[GroundFact, ...]
    rules: tuple[RulePlan, ...]


@frozen
class Plan:
    """All procedures a goal can need.

    `component[p]` numbers the strongly connected component of a derived predicate; `costs` are
    those of all predicates, by which bodies are ordered.
    """

    goal: ProcedureKey
    procedures: Mapping[ProcedureKey, Procedure]
    component: Mapping[str, int]
    recursive: frozenset[int]
    costs: Mapping[str, int]


def slots_of(expression: Expression) -> tuple[int, ...]:
    """The slots an expression reads."""
    match expression:
        case Slot(place):
            return (place,)
        case Literally():
            return ()
        case Call(arguments=arguments):
            return tuple(place for one in arguments for place in slots_of(one))
