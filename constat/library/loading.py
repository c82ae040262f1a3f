"""Load the rules of a project, or check rule files without one."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.analysis.attributes import incomplete_sentences
from constat.analysis.names import atoms_of
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.library.files import rule_files
from constat.logic import Column, Kind, Predicate, parse_value
from constat.syntax import exit_code, load_program
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Program
    from constat.project import Project
    from constat.project.settings import Cell, FactTable

# A column is a number, a Decimal, a Date, a Timestamp, a Bool or a text; digits that no number is
# written with, such as `007`, are a text.

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


def load_rules(
    project: Project,
    texts: dict[str, str],
    places: dict[str, Path] | None = None,
    warnings: list[Diagnostic] | None = None,
) -> AnalysedProgram:
    """Load and analyse; `texts` receives what was read, by the names that diagnostics use.

    `places` receives the files by these names, `warnings` what is wrong and no error.
    """
    diagnostics: list[Diagnostic] = []
    files, roots = project.rules, project.rule_roots
    analysed = read_rules(files, roots, diagnostics, texts, Reading(project, places))
    if analysed is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    if warnings is not None:
        warnings[:] = diagnostics
    return analysed


@dataclass(frozen=True, slots=True)
class Reading:
    """What may be told to a reader of rules: whose approvals count, and where to write places.

    Without a project every recorded approval counts: nobody has said which do not.
    """

    project: Project | None = None
    places: dict[str, Path] | None = None


def read_rules(
    files: Sequence[Path],
    roots: Sequence[Path],
    diagnostics: list[Diagnostic],
    texts: dict[str, str],
    reading: Reading | None = None,
) -> AnalysedProgram | None:
    """Read and analyse; `None` where there are errors."""
    told = reading or Reading()
    places = {} if told.places is None else told.places
    known = configured_predicates(told.project)
    program = load_program(files, roots, diagnostics, texts=texts, places=places, known=known)
    program = with_configured(program, told.project, diagnostics)
    if any(one.severity is Severity.ERROR for one in diagnostics):
        # After an error of the text, names and types would be reported that are not wrong.
        return None
    analysed = analyse(program, diagnostics)
    if analysed is None or not any(rule.proposed for rule in analysed.rules):
        return analysed
    # Few libraries hold what a model wrote: the others are read without what judges approvals.
    from constat.library.approvals import approved_program  # noqa: PLC0415  loaded when it is used

    found: AnalysedProgram | None = approved_program(
        analysed, places.values(), told.project, diagnostics
    )
    return found


# Files are read as one program and may include only what lies beside or below a named path.


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found. `predicates` and `rules` are 0 where there are errors."""

    files: tuple[Path, ...]
    predicates: int
    rules: int
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    incomplete: tuple[Diagnostic, ...] = ()
    """Sentences that leave out a value."""
    portability: tuple[Diagnostic, ...] | None = None
    """What stock Souffle would not load or answer differently; `None` where it was not asked."""

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that are errors."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)

    @property
    def exit_code(self) -> int:
        """0 without errors, 78 where all errors are constructs refused on purpose, else 2.

        1 where there are no errors, but a sentence leaves out a value, or the rules are not
        portable, when that was asked.
        """
        if self.errors:
            return exit_code(self.errors)
        return 1 if self.incomplete or self.portability else 0


def check_rules(
    paths: Sequence[Path], roots: Sequence[Path] = (), *, portable: bool = False
) -> Checked:
    """Check files together. `roots` are further folders that includes may reach.

    With `portable`, also what stock Souffle would make of them.
    """
    diagnostics: list[Diagnostic] = []
    texts: dict[str, str] = {}
    files = rule_files(paths, diagnostics)
    analysed = None
    if not diagnostics:
        folders = [path if path.is_dir() else path.parent for path in paths]
        analysed = read_rules(files, [*folders, *roots], diagnostics, texts)
    return Checked(
        files,
        len(analysed.program.predicates) if analysed else 0,
        len(analysed.rules) if analysed else 0,
        tuple(sorted(diagnostics, key=lambda one: one.place)),
        texts,
        tuple(incomplete_sentences(analysed)) if analysed else (),
        _portability(analysed, texts) if portable and analysed else None,
    )


def _portability(analysed: AnalysedProgram, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    # Only this needs what is known about Souffle.
    from constat.library.portability import portability_notes  # noqa: PLC0415  loaded when it is used

    notes: tuple[Diagnostic, ...] = portability_notes(analysed, texts)
    return notes
