"""Which output columns of a query are columns of tables, passed on as they are (semantics 26d).

Only of those does a NULL say something of one cell of a source. Elsewhere the query has made it: of
rows that it merged, or of a row that an outer join found no partner for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sqlglot import exp

MERGED: Final = "the query merges rows"
JOINED: Final = "an outer join leaves it out where there is no partner"
COMPUTED: Final = "the query computes it"
UNCLEAR: Final = "the query does not say of which table it is"
STRANGE: Final = "where the query takes it from is not understood"


def origins(query: exp.Query) -> tuple[str, ...]:
    """Give for each output why it is no column of a table passed on; "" where it is.

    One reason stands for all outputs where a star hides how many there are, or rows are merged.
    """
    return tuple(reason for _, reason in _outputs(query, {}))


def origin(reasons: tuple[str, ...], position: int) -> str:
    """Give the reason for the output at a position."""
    return reasons[min(position, len(reasons) - 1)] if reasons else STRANGE


# A name of an output, lower case, and why it is none; a star has the name "*".
_Outputs = list[tuple[str, str]]


@dataclass(slots=True)
class _Source:
    """What stands behind FROM under one name: a table without outputs, or a query with them."""

    outputs: _Outputs | None = None
    reason: str = ""

    def of(self, column: str) -> str:
        """Say why a column is none of a table passed on."""
        if self.reason or self.outputs is None:
            return self.reason
        found = dict(self.outputs)
        return found.get(column, found.get("*", STRANGE))

    def of_all(self) -> str:
        if self.reason or self.outputs is None:
            return self.reason
        return next((reason for _, reason in self.outputs if reason), "")


@dataclass(slots=True)
class _Sources:
    """The sources of one SELECT by name."""

    by_name: dict[str, _Source] = field(default_factory=dict)

    def of(self, column: exp.Column) -> str:
        name = column.name.lower()
        if column.table:
            found = self.by_name.get(column.table.lower())
            return STRANGE if found is None else found.of(name)
        reasons = {one.of(name) for one in self.by_name.values()}
        if reasons == {""} or len(self.by_name) == 1:
            return next(iter(reasons))
        return UNCLEAR

    def of_star(self, table: str) -> str:
        strange = _Source(None, STRANGE)
        found = [self.by_name.get(table, strange)] if table else self.by_name.values()
        return next((reason for reason in (one.of_all() for one in found) if reason), "")


def _outputs(query: exp.Expr, common: Mapping[str, _Outputs]) -> _Outputs:
    """Give the outputs of a query; `common` are those of table expressions that it can name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(query, exp.Subquery) and isinstance(query.this, exp.Query):
        return _outputs(query.this, common)
    if not isinstance(query, exp.Select) or _merges(query):
        return [("*", MERGED)]
    known = {**common, **dict(_common(query, common))}
    sources = _sources(query, known)
    found = [_output(one, sources) for one in query.selects]
    if any(name == "*" for name, _ in found):
        # Behind a star nobody counts the columns here.
        return [("*", next((reason for _, reason in found if reason), ""))]
    return found


def _merges(query: exp.Select) -> bool:
    """Tell whether rows of the query may stand for several."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if any(query.args.get(part) for part in ("distinct", "group", "having")):
        return True
    folds = (fold for one in query.selects for fold in one.find_all(exp.AggFunc))
    return any(not isinstance(fold.parent, exp.Window) for fold in folds)


def _common(query: exp.Select, common: Mapping[str, _Outputs]) -> Iterator[tuple[str, _Outputs]]:
    listed = query.args.get("with_")
    if listed is None:
        return
    known = dict(common)
    for one in listed.expressions:
        name = one.alias.lower()
        outputs = [("*", MERGED)] if listed.args.get("recursive") else _outputs(one.this, known)
        renamed = [each.name.lower() for each in one.args["alias"].columns]
        if renamed and len(renamed) == len(outputs):
            outputs = [(new, reason) for new, (_, reason) in zip(renamed, outputs, strict=True)]
        known[name] = outputs
        yield name, outputs


def _sources(query: exp.Select, common: Mapping[str, _Outputs]) -> _Sources:
    """Give what the query reads from; what an outer join may leave out is none of a table."""
    found = _Sources()
    first = query.args.get("from_")
    if first is None:
        return found
    found.by_name[first.this.alias_or_name.lower()] = _source(first.this, common)
    for join in query.args.get("joins") or ():
        before = list(found.by_name.values())
        new = _source(join.this, common)
        side = (join.side or "").upper()
        if side in {"RIGHT", "FULL"}:
            for one in before:
                one.reason = one.reason or JOINED
        if side in {"LEFT", "FULL"}:
            new.reason = new.reason or JOINED
        found.by_name[join.this.alias_or_name.lower()] = new
    return found


def _source(source: exp.Expr, common: Mapping[str, _Outputs]) -> _Source:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if source.args.get("joins") or source.args.get("pivots"):
        return _Source(None, STRANGE)
    if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
        return _Source(None if source.db else common.get(source.name.lower()))
    alias = source.args.get("alias")
    if isinstance(source, exp.Subquery) and not (alias is not None and alias.columns):
        return _Source(_outputs(source, common))
    return _Source(None, STRANGE)


def _output(expression: exp.Expr, sources: _Sources) -> tuple[str, str]:
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    name = expression.alias_or_name.lower()
    inner = expression.unalias()
    while isinstance(inner, exp.Paren) or _keeps(inner):
        inner = inner.this
    if isinstance(inner, exp.Star):
        return "*", sources.of_star("")
    if isinstance(inner, exp.Column):
        if isinstance(inner.this, exp.Star):
            return "*", sources.of_star(inner.table.lower())
        return name, sources.of(inner)
    return name, COMPUTED


def _keeps(expression: exp.Expr) -> bool:
    """Tell whether an expression spells a value as text, or takes a member of an object.

    The one is NULL where the value is, and nowhere else; the other is a cell of its own.
    """
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    if isinstance(expression, exp.Cast):
        return isinstance(expression.to, exp.DataType) and (
            expression.to.this in exp.DataType.TEXT_TYPES
        )
    if isinstance(expression, exp.JSONExtract | exp.JSONExtractScalar):
        return not expression.expression.find(exp.Column)
    return False
