"""Terms, atoms and literals: the vocabulary of rules as pure values.

Nodes are frozen and compared by content; spans stand outside equality and hash, so the same rule
written at two places is the same rule. Example: `p(?x, "a")` is
`Atom("p", (Variable("x"), Constant("a", Kind.SYMBOL)))`. See Abiteboul, Hull and Vianu, chapter 12.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from constat.diagnostics import Span
from constat.logic import vocabulary
from constat.logic.values import Kind, Value

COMPARISONS = tuple(vocabulary.COMPARISONS)
AGGREGATES = tuple(vocabulary.AGGREGATES)


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable, named without its question mark; each `_` has been given a name `_1`, `_2` ..."""

    name: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Constant:
    """A value. Before type analysis `kind` is what the literal looks like, after it what it is."""

    value: Value
    kind: Kind
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Apply:
    """A function applied to terms, `?x + 1`. `kind` is the result's, `None` before type analysis.

    `function` is an operator (`+`, `neg`, `band`: see `OPERATORS`), a named functor, `as` (whose
    `kind` is given), or the constructor of a structure: `[]` or `$Name`. After type analysis
    `type_name` is the structure's type. In a body as written a constructor is a pattern, too:
    `?r = [?x, ?y]` binds `?x` where `?r` is bound. The last passes of analysis put functions in
    place of patterns (`constructor_of`, `field_of`), so engines and checkers know functions only.
    """

    function: str
    arguments: tuple[Term, ...]
    kind: Kind | None = None
    span: Span | None = field(default=None, compare=False, repr=False)
    type_name: str = ""


Term = Variable | Constant | Apply


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate applied to terms."""

    predicate: str
    terms: tuple[Term, ...]
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Positive:
    """An atom that must hold."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Negative:
    """An atom that must not hold, `!p(?x)`."""

    atom: Atom


@dataclass(frozen=True, slots=True)
class Comparison:
    """A constraint between two terms; `=` binds a variable that nothing else binds."""

    operator: str
    left: Term
    right: Term
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Aggregate:
    """`result = function target : { body }`.

    `target` is `None` for `count` only.

    A variable is local to the aggregate when it occurs in its body or target and neither in the
    head, nor in a literal that is no aggregate, nor as the result of any aggregate of the rule.

    `recursive` is set by analysis where the rule's own component is aggregated over; then the
    aggregate is a threshold (see `thresholds`) and has no other meaning.
    """

    function: str
    result: Variable
    target: Term | None
    body: tuple[Positive | Negative | Comparison, ...]
    span: Span | None = field(default=None, compare=False, repr=False)
    recursive: bool = field(default=False, compare=False, repr=False)


Literal = Positive | Negative | Comparison | Aggregate
