"""The surface tree: what a text says, close to how it is written.

In: nothing. Out: the node types. Invariant: nothing is resolved yet: `_` has no name, `;` is not
multiplied out, aggregates stand where they were written. `lowering` turns it into `constat.logic`.
Nodes are never compared, so they have no equality. Variables and constants are those of
`constat.logic`: text and logic do not differ there.
"""

from __future__ import annotations

from constat.diagnostics import Span
from constat.frozen import frozen
from constat.logic import Column, Constant, TypeDefinition, Variable


@frozen(eq=False)
class Wildcard:
    """`_`, a variable that nothing else names."""

    span: Span


@frozen(eq=False)
class Call:
    """An operator or a named function applied to terms; `type_name` belongs to `as` alone."""

    function: str
    arguments: tuple[SurfaceTerm, ...]
    span: Span
    type_name: str = ""


@frozen(eq=False)
class AggregateTerm:
    """`sum target : { body }`."""

    function: str
    target: SurfaceTerm | None
    body: tuple[SurfaceLiteral, ...]
    span: Span


SurfaceTerm = Variable | Constant | Wildcard | Call | AggregateTerm


@frozen(eq=False)
class SignedAtom:
    """`p(terms)` or `!p(terms)`; `names` has the column of each term, where columns are named.

    A term without a name among named ones has an empty text.
    """

    predicate: str
    terms: tuple[SurfaceTerm, ...]
    span: Span
    negative: bool = False
    names: tuple[tuple[str, Span], ...] = ()


@frozen(eq=False)
class Compared:
    """A comparison, `match` and `contains` included."""

    operator: str
    left: SurfaceTerm
    right: SurfaceTerm
    span: Span


@frozen(eq=False)
class Choice:
    """A group in parentheses: alternatives, each a conjunction."""

    branches: tuple[tuple[SurfaceLiteral, ...], ...]
    span: Span


SurfaceLiteral = SignedAtom | Compared | Choice


@frozen(eq=False)
class Attribute:
    """`@[key = value]`; the parts of `@[key(name = value)]` have the keys `key.name`."""

    key: str
    value: str
    span: Span


@frozen(eq=False)
class Notes:
    """What stands before an item: its description and attributes."""

    description: str = ""
    attributes: tuple[Attribute, ...] = ()


@frozen(eq=False)
class RuleText:
    """A rule or fact: several heads, alternative bodies (none for a fact)."""

    heads: tuple[SignedAtom, ...]
    branches: tuple[tuple[SurfaceLiteral, ...], ...]
    notes: Notes
    span: Span


@frozen(eq=False)
class ConstraintText:
    """`.constraint name: body => then.`; `then` is `None` for `false`."""

    name: str
    body: tuple[SurfaceLiteral, ...]
    then: SurfaceLiteral | None
    notes: Notes
    span: Span


@frozen(eq=False)
class Declaration:
    """`.decl`: one name of it, with the columns."""

    name: str
    columns: tuple[Column, ...]
    notes: Notes
    span: Span


@frozen(eq=False)
class Port:
    """`.input`, `.output` or `.printsize` of one predicate."""

    directive: str
    name: str
    parameters: tuple[Attribute, ...]
    notes: Notes
    span: Span


@frozen(eq=False)
class Include:
    """`.include "name"`."""

    name: str
    span: Span


@frozen(eq=False)
class Pragma:
    """`.pragma "key" "value"`; the value may be absent."""

    texts: tuple[str, ...]
    span: Span


SurfaceItem = RuleText | ConstraintText | Declaration | Port | Include | TypeDefinition


@frozen(eq=False)
class SurfaceFile:
    """One file: its items in order, whether `.once` stands in it, and its pragmas."""

    items: tuple[SurfaceItem, ...]
    once: bool = False
    pragmas: tuple[Pragma, ...] = ()
