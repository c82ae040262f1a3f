"""Declare what `facts:` of a project has and no rule file declares: the values tell the types.

A column is a number, a Decimal, a Date, a Timestamp, a Bool or a text; digits that no number is
written with, such as `007`, are a text.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from constat.analysis.names import atoms_of
from constat.diagnostics import Diagnostic, nearest
from constat.logic import Column, Kind, Predicate, parse_value
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from constat.logic import Program
    from constat.project import Project
    from constat.project.project import Cell, FactTable

_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*\Z")
_NUMBER: Final = re.compile(r"(?:0|-?[1-9][0-9]*)\Z")
_DECIMAL: Final = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+\Z")
_TRUTHS: Final = frozenset({"true", "false"})
_MIXED: Final = frozenset({Kind.NUMBER, Kind.DECIMAL})


def configured_predicates(project: Project | None) -> dict[str, Predicate]:
    """Give a declaration for each key of `facts:` whose values tell one."""
    tables = {} if project is None else project.facts
    found = {name: _declaration(table) for name, table in tables.items()}
    return {name: one for name, one in found.items() if isinstance(one, Predicate)}


def with_configured(
    program: Program, project: Project | None, diagnostics: list[Diagnostic]
) -> Program:
    """Give the program with what only `facts:` declares; values that disagree are reported."""
    if project is None or not project.facts:
        return program
    predicates = dict(program.predicates)
    heads = {rule.head.predicate for rule in program.rules}
    keys = {
        one.source.parameters.get("key", one.name)
        for one in predicates.values()
        if one.source is not None and one.source.name == "config"
    }
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule)}
    without = [one for one in program.predicates if one not in project.facts and one not in heads]
    for name, table in project.facts.items():
        if name in predicates or name in keys or name in heads:
            continue
        if name not in used and nearest(name, without) is not None:
            # Most likely a slip: the other predicate would be without its facts, silently.
            continue
        found = _declaration(table)
        if isinstance(found, Diagnostic):
            diagnostics.append(found)
        elif found is not None:
            predicates[name] = found
    if len(predicates) == len(program.predicates):
        return program
    return replace(program, predicates=predicates)


def _declaration(table: FactTable) -> Predicate | Diagnostic | None:
    """Declare a key of `facts:`; nothing where its name is none or it has no row."""
    if not _NAME.match(table.name) or table.name in RESERVED or not table.rows:
        return None
    first = table.rows[0]
    width = len(first.cells)
    names = first.columns or tuple(f"c{place}" for place in range(1, width + 1))
    if table.form == "scalar":
        names = ("value",)
    if any(not _NAME.match(name) or name in RESERVED for name in names):
        return None
    columns = []
    for place, name in enumerate(names):
        cells = list(_cells(table, place, name))
        found = _type(table, name, cells)
        if isinstance(found, Diagnostic):
            return found
        columns.append(Column(name, found.value, found, span=table.span))
    return Predicate(table.name, tuple(columns), span=table.span)


def _cells(table: FactTable, place: int, name: str) -> Iterator[Cell]:
    """Yield the cells of a column; rows that do not fit are reported with the declaration."""
    for row in table.rows:
        if row.columns is None:
            yield from row.cells[place : place + 1]
        elif name in row.columns:
            yield row.cells[row.columns.index(name)]


def _type(table: FactTable, name: str, cells: Iterable[Cell]) -> Kind | Diagnostic:
    """Give the kind that all values of a column have."""
    kinds: dict[Kind, Cell] = {}
    for cell in cells:
        if cell.parts is not None:
            return _unclear(table, name, cell, "a value is a list")
        if cell.text is not None:
            kinds.setdefault(_kind(cell.text), cell)
    if not kinds:
        return _unclear(table, name, None, "no value of it is set")
    if kinds.keys() <= _MIXED:
        return Kind.DECIMAL if Kind.DECIMAL in kinds else Kind.NUMBER
    if len(kinds) == 1:
        return next(iter(kinds))
    shown = [f"a {one.value}" for one in kinds]
    other = list(kinds.values())[1]
    return _unclear(table, name, other, f"one value is {shown[0]} and another {shown[1]}")


def _kind(text: str) -> Kind:
    if _NUMBER.match(text):
        return Kind.NUMBER
    if _DECIMAL.match(text):
        return Kind.DECIMAL
    if text in _TRUTHS:
        return Kind.BOOL
    for kind in (Kind.DATE, Kind.TIMESTAMP):
        try:
            parse_value(text, kind)
        except ValueError:
            continue
        return kind
    return Kind.SYMBOL


def _unclear(table: FactTable, name: str, cell: Cell | None, why: str) -> Diagnostic:
    columns = (table.rows[0].columns or ("c1",)) if table.form != "scalar" else ("value",)
    declared = f".decl {table.name}({', '.join(f'{one}: symbol' for one in columns)})"
    return Diagnostic(
        "C0508",
        f"the values of `{table.name}` do not tell the type of column `{name}`: {why}",
        table.span if cell is None else cell.span,
        note="no rule file declares it, so its values have to: all of one type, in each row",
        help=f"declare it in a rule file, with the types that are meant: `{declared}`",
    )
