"""The statements that make, change, read and drop tables, as sqlglot trees.

In: names, queries, settings. Out: trees. Invariant: as in `trees`, names are quoted and constants
are literals. Example: `create("r1", query)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.sql import trees

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from sqlglot import exp


def create(target: str, query: exp.Query, *, replace: bool = False) -> exp.Expr:
    """Make a table of the rows of a query."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Create(this=trees.table(target), kind="TABLE", expression=query, replace=replace)


def create_empty(target: str, columns: Sequence[tuple[str, exp.DataType]]) -> exp.Expr:
    """Make a table without rows."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    listed = [exp.ColumnDef(this=trees.name(label), kind=kind) for label, kind in columns]
    return exp.Create(this=exp.Schema(this=trees.table(target), expressions=listed), kind="TABLE")


def insert(target: str, query: exp.Query) -> exp.Expr:
    """Add the rows of a query to a table."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Insert(this=trees.table(target), expression=query)


def drop(target: str) -> exp.Expr:
    """Take a table away."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Drop(tables=[trees.table(target)], kind="TABLE", exists=True)


def empty(target: str) -> exp.Expr:
    """Take all rows of a table away."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Delete(this=trees.table(target))


def rename(target: str, to: str) -> exp.Expr:
    """Give a table another name."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Alter(
        this=trees.table(target), kind="TABLE", actions=[exp.AlterRename(this=trees.table(to))]
    )


def setting(label: str, value: exp.Expr) -> exp.Expr:
    """Change a setting of the whole database."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    assigned = exp.EQ(this=exp.Column(this=exp.Identifier(this=label)), expression=value)
    return exp.Set(expressions=[exp.SetItem(this=assigned, kind="GLOBAL")])


def truth(value: bool) -> exp.Expr:  # noqa: FBT001  a constant
    """A truth value."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Boolean(this=value)


def texts(values: Iterable[str]) -> exp.Expr:
    """A list of texts."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Array(expressions=[trees.text(one) for one in values])


def read_csv(
    path: str, columns: Sequence[str], options: Sequence[tuple[str, exp.Expr]]
) -> exp.Expr:
    """The lines of a file of separated texts, all columns as texts."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    kinds = exp.Struct(
        expressions=[
            exp.PropertyEQ(this=trees.name(one), expression=trees.text("VARCHAR"))
            for one in columns
        ]
    )
    listed = [*options, ("columns", kinds)]
    named = [exp.EQ(this=exp.Column(this=exp.Identifier(this=a)), expression=b) for a, b in listed]
    return exp.Table(this=exp.ReadCSV(this=trees.text(path), expressions=named))


def attach(path: str, label: str) -> exp.Expr:
    """Open a DuckDB file, for reading only."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    option = exp.AttachOption(this=exp.Var(this="read_only"))
    file = exp.Alias(this=trees.text(path), alias=trees.name(label))
    return exp.Attach(this=file, exists=False, expressions=[option])


def detach(label: str) -> exp.Expr:
    """Close a DuckDB file."""
    from sqlglot import exp  # noqa: PLC0415  heavy library, loaded on first use

    return exp.Detach(this=trees.name(label), exists=False)
