"""Load the rules of a project, or check rule files without one."""

from __future__ import annotations

import os
import re
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.analysis.attributes import incomplete_sentences
from constat.analysis.names import atoms_of
from constat.diagnostics import ConstatError, Diagnostic, Severity, nearest
from constat.frozen import frozen
from constat.logic import Column, Kind, Predicate, Source, parse_value
from constat.project import APPROVALS_FILE
from constat.syntax import exit_code, load_program
from constat.syntax.words import RESERVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Program
    from constat.project import Database, Project
    from constat.project.settings import Cell, FactTable, Frame

# Find rule files.

SUFFIX: Final = ".dl"
CASES: Final = "cases"
_MOST_FILES: Final = 10_000


def rule_files(
    paths: Sequence[Path], diagnostics: list[Diagnostic], *, with_cases: bool = False
) -> tuple[Path, ...]:
    """List the rule files that the paths name; folders are searched with what is below them."""
    files: dict[Path, None] = {}
    for path in paths:
        try:
            found = (
                [path.resolve()] if path.is_file() else list(_below(path, with_cases=with_cases))
            )
        except (OSError, RuntimeError, ValueError):
            found = []
        if not found:
            diagnostics.append(_nothing(path))
        files.update(dict.fromkeys(found))
    if len(files) > _MOST_FILES:
        diagnostics.append(Diagnostic("C0405", f"more than {_MOST_FILES} rule files are named"))
    return tuple(files)


def _below(folder: Path, *, with_cases: bool) -> Iterator[Path]:
    """Yield rule files of a folder; links to folders are not followed, nor hidden ones entered."""
    root = folder.resolve()
    for place, folders, names in os.walk(root):
        folders[:] = sorted(
            name for name in folders if not name.startswith(".") and (with_cases or name != CASES)
        )
        for name in sorted(names):
            found = Path(place, name).resolve()
            if name.endswith(SUFFIX) and found.is_relative_to(root):
                yield found


def _nothing(path: Path) -> Diagnostic:
    if path.exists():
        message = f"`{path}` holds no rule files"
        return Diagnostic("C0405", message, note=f"rule files end in `{SUFFIX}`")
    return Diagnostic("C0405", f"there is no file or folder `{path}`")


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


# Frames of the running program are sources: of declared predicates in place of the `.input`, of
# others with the columns that they have.


def with_frames(
    program: Program, project: Project | None, diagnostics: list[Diagnostic]
) -> Program:
    """Give the program with the project's frames as sources; what does not fit is reported."""
    database = _frames_of(project)
    if database is None:
        return program
    from constat.catalog.frames import check_columns  # noqa: PLC0415  loaded when it is used

    predicates = dict(program.predicates)
    heads = {rule.head.predicate for rule in program.rules}
    used = {atom.predicate for rule in program.rules for atom in atoms_of(rule)}
    empty = (used | program.predicates.keys()) - heads - database.frames.keys()
    for name, frame in database.frames.items():
        declared = predicates.get(name)
        if name in heads:
            message = f"`{name}` is derived by rules, and a frame would be another source of it"
            hint = "give the frame the name of a relation that the rules rest on"
            diagnostics.append(Diagnostic("C0506", message, help=hint, about=name))
        elif declared is not None:
            kinds = {column.name: column.kind for column in declared.columns}
            check_columns(name, frame, kinds, diagnostics)
            predicates[name] = replace(declared, source=_source(database.name, declared))
        elif name not in used and (near := nearest(name, sorted(empty))):
            message = f"there is a frame `{name}`, and no relation of that name"
            hint = f'write `facts={{"{near}": frame}}`, or `{name}` in the rules'
            diagnostics.append(Diagnostic("C0506", message, help=hint, about=near))
        else:
            found = _framed(database.name, name, frame)
            if isinstance(found, Diagnostic):
                diagnostics.append(found)
            else:
                predicates[name] = found
    return replace(program, predicates=predicates)


def _frames_of(project: Project | None) -> Database | None:
    databases = () if project is None else project.databases.values()
    return next((one for one in databases if one.frames), None)


def _framed_predicates(project: Project | None) -> dict[str, Predicate]:
    """Give the declaration of each frame whose columns tell one."""
    database = _frames_of(project)
    if database is None:
        return {}
    found = {name: _framed(database.name, name, one) for name, one in database.frames.items()}
    return {name: one for name, one in found.items() if isinstance(one, Predicate)}


def _framed(database: str, name: str, frame: Frame) -> Predicate | Diagnostic:
    """Declare a relation with the columns of a frame; each cell is a value or none."""
    from constat.catalog.frames import kind_of  # noqa: PLC0415  loaded when it is used

    kinds = {column: kind_of(written) for column, written in frame.columns.items()}
    wrong = [one for one in (name, *kinds) if not _NAME.match(one) or one in RESERVED]
    unfit = [one for one, kind in kinds.items() if kind is None]
    if wrong or unfit or not kinds:
        fit = [f"{c}: {k.value}" for c, k in kinds.items() if k and c not in {*wrong, *unfit}]
        if not kinds:
            hint = "give it columns"
            message = f"the frame `{name}` has no columns"
            return Diagnostic("C0514", message, help=hint, about=name)
        why = "no kind can hold the values of its column" if unfit else "rules cannot write"
        first = "convert" if unfit else "rename"
        declared = f", or declare the columns that are needed: `.decl {name}({', '.join(fit)})`"
        message = f"the frame `{name}` is declared by no rule, and {why} `{(unfit or wrong)[0]}`"
        hint = f"{first} it{declared if fit else ''}"
        return Diagnostic("C0514", message, help=hint, about=name)
    columns = tuple(Column(one, kind.value, kind) for one, kind in kinds.items() if kind)
    relation = Predicate(name, columns)
    return replace(relation, source=_source(database, relation, null="maybe"))


def _causes_first(diagnostics: Sequence[Diagnostic], project: Project | None) -> list[Diagnostic]:
    """Leave out what only follows from a frame that is refused; say whose columns are meant."""
    database = _frames_of(project)
    if database is None:
        return list(diagnostics)
    refused = [one for one in diagnostics if one.code in {"C0506", "C0514"}]
    frames = {one.about for one in refused if one.about}
    found = []
    for one in diagnostics:
        if one.code == "C0181" and one.about in frames:
            continue
        if one.code == "C0183" and one.about in database.frames:
            names = ", ".join(f"`{each}`" for each in database.frames[one.about].columns)
            hint = f"{one.help}; or give the frame that column: it has {names}"
            found.append(replace(one, help=hint))
            continue
        found.append(one)
    return found


def _source(database: str, predicate: Predicate, **more: str) -> Source:
    """Give the `.input` of a frame; what was said of equal rows and nulls stays."""
    before = {} if predicate.source is None else predicate.source.parameters
    listed = ", ".join(f'"{column.name}"' for column in predicate.columns)
    query = f'SELECT {listed} FROM "{predicate.name}"'  # noqa: S608  names of the language
    stays = {key: text for key, text in before.items() if key in {"null", "distinct"}}
    span = None if predicate.source is None else predicate.source.span
    return Source({"source": database, "query": query, **stays, **more}, span)


def load_rules(
    project: Project,
    texts: dict[str, str],
    places: dict[str, Path] | None = None,
    warnings: list[Diagnostic] | None = None,
    left_out: list[LeftOut] | None = None,
) -> AnalysedProgram:
    """Load and analyse; `texts` receives what was read, by the names that diagnostics use.

    `places` receives the files by these names, `warnings` what is wrong and no error. With a list
    for what was `left_out`, a mistake within a rule leaves the relations out that rest on it.
    """
    diagnostics: list[Diagnostic] = []
    files, roots = project.rules, project.rule_roots
    analysed = read_rules(files, roots, diagnostics, texts, Reading(project, places, left_out))
    if analysed is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    if warnings is not None:
        warnings[:] = diagnostics
    return analysed


@frozen
class Reading:
    """What may be told to a reader of rules: whose approvals count, and where to write places.

    Without a project every recorded approval counts: nobody has said which do not.
    """

    project: Project | None = None
    places: dict[str, Path] | None = None
    left_out: list[LeftOut] | None = None


_NO_COLUMN: Final = "C0183"
"""A column that an atom names and its relation does not have: the text around it is whole."""


_SENTENCE: Final = "C0243"
"""A sentence that names what is not there."""


@frozen
class LeftOut:
    """The relations that rest on rules with mistakes: no goal about one of them is answered."""

    errors: tuple[Diagnostic, ...]
    predicates: frozenset[str]


def _without_mistakes(
    program: Program, diagnostics: list[Diagnostic], project: Project | None
) -> tuple[AnalysedProgram, LeftOut] | None:
    """Analyse what does not rest on a rule with a mistake; nothing where that cannot be told.

    A relation is whole or it is gone: where one of its rules is wrong, none of them is there, nor
    its declaration, nor anything that reads it. So a goal about it is a mistake, and no other goal
    could tell that it is gone. A rule for what nobody declares may be meant for any relation, and a
    mistake outside of rules may change any of them.
    """
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    gone: frozenset[str] = frozenset()
    while True:
        wrong: set[str] = set()
        for one in errors:
            heads = _rules_at(program, one)
            if not heads or not heads <= program.predicates.keys():
                return None
            wrong |= heads
        before, gone = gone, _resting_on(program, wrong)
        if gone == before or (project and not gone.isdisjoint({*project.facts, *project.closed})):
            return None
        left = replace(
            program,
            predicates={name: one for name, one in program.predicates.items() if name not in gone},
            rules=tuple(rule for rule in program.rules if rule.head.predicate not in gone),
            outputs={name: one for name, one in program.outputs.items() if name not in gone},
            sizes=tuple(name for name in program.sizes if name not in gone),
        )
        found: list[Diagnostic] = []
        analysed = analyse(left, found)
        if analysed is not None:
            return analysed, LeftOut(tuple(errors), gone)
        errors += [one for one in found if one.severity is Severity.ERROR]


def _resting_on(program: Program, names: set[str]) -> frozenset[str]:
    """Give relations with all that read them, directly or through others."""
    found: set[str] = set()
    while not names <= found:
        found |= names
        names = {
            rule.head.predicate
            for rule in program.rules
            if not found.isdisjoint(atom.predicate for atom in atoms_of(rule))
        }
    return frozenset(found)


def _rules_at(program: Program, one: Diagnostic) -> set[str]:
    """Give the heads of the rules in whose text a mistake stands.

    A sentence with a mistake stands before a declaration, and is about that relation alone.
    """
    if one.span is None:
        return set()
    if one.code == _SENTENCE:
        declared = program.predicates.items()
        told = {name for name, each in declared if each.span and _covers(each.span, one.span)}
        if told:
            return told
    return {
        rule.head.predicate
        for rule in program.rules
        if rule.span is not None and _covers(rule.span, one.span)
    }


def _covers(rule: Span, one: Span) -> bool:
    place = (one.line, one.column)
    begin, end = (rule.line, rule.column), (rule.end_line, rule.end_column)
    return rule.source == one.source and begin <= place < end


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
    known = configured_predicates(told.project) | _framed_predicates(told.project)
    program = load_program(files, roots, diagnostics, texts=texts, places=places, known=known)
    program = with_configured(program, told.project, diagnostics)
    program = with_frames(program, told.project, diagnostics)
    diagnostics[:] = _causes_first(diagnostics, told.project)
    wrong = {one.code for one in diagnostics if one.severity is Severity.ERROR}
    if wrong and (wrong != {_NO_COLUMN} or told.left_out is None):
        # After an error of the text, names and types would be reported that are not wrong.
        return None
    analysed = None if wrong else analyse(program, diagnostics)
    if analysed is None and told.left_out is not None:
        found_left = _without_mistakes(program, diagnostics, told.project)
        if found_left is not None:
            analysed, left = found_left
            told.left_out.append(left)
            diagnostics[:] = [one for one in diagnostics if one.severity is not Severity.ERROR]
    if analysed is None or not _asks_approvals(analysed, places.values(), told.project):
        return analysed
    # Few libraries have approvals or need them: the others are read without what judges them.
    from constat.library.approvals import approved_program  # noqa: PLC0415  loaded when it is used

    found: AnalysedProgram | None = approved_program(
        analysed, places.values(), told.project, diagnostics
    )
    return found


def _asks_approvals(
    program: AnalysedProgram, files: Iterable[Path], project: Project | None
) -> bool:
    """Tell whether approvals matter: for what models wrote, by policy, or because there are any."""
    if project is not None and project.review.required:
        return True
    if any(rule.proposed for rule in program.rules):
        return True
    folders = dict.fromkeys(one.parent for one in files)
    return any((one / APPROVALS_FILE).exists() for one in folders)


# Files are read as one program and may include only what lies beside or below a named path.


@frozen
class Checked:
    """What a check found. `predicates` and `rules` are 0 where there are errors."""

    files: tuple[Path, ...]
    predicates: int
    rules: int
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]
    unused: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Columns that a query selects and no rule uses, by predicate: they are not fetched."""
    incomplete: tuple[Diagnostic, ...] = ()
    """Sentences that leave out a value."""
    program: AnalysedProgram | None = field(default=None, compare=False, repr=False)
    """What was read; `None` where there are errors."""
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
    paths: Sequence[Path],
    roots: Sequence[Path] = (),
    *,
    portable: bool = False,
    project: Project | None = None,
) -> Checked:
    """Check files together. `roots` are further folders that includes may reach.

    With `portable`, also what stock Souffle would make of them; with a `project` its facts and
    policies count.
    """
    diagnostics: list[Diagnostic] = []
    texts: dict[str, str] = {}
    files = rule_files(paths, diagnostics)
    analysed = None
    if not diagnostics:
        folders = [path if path.is_dir() else path.parent for path in paths]
        reading = Reading(project)
        analysed = read_rules(files, [*folders, *roots], diagnostics, texts, reading)
    return Checked(
        files,
        len(analysed.program.predicates) if analysed else 0,
        len(analysed.rules) if analysed else 0,
        tuple(sorted(diagnostics, key=lambda one: one.place)),
        texts,
        _unused(analysed) if analysed else (),
        tuple(incomplete_sentences(analysed)) if analysed else (),
        analysed,
        _portability(analysed, texts) if portable and analysed else None,
    )


def _unused(analysed: AnalysedProgram) -> tuple[tuple[str, tuple[str, ...]], ...]:
    # Whoever only proves goals does not ask for it.
    from constat.proof.projection import unread_by_rules  # noqa: PLC0415  loaded when it is used

    found: tuple[tuple[str, tuple[str, ...]], ...] = unread_by_rules(analysed)
    return found


def _portability(analysed: AnalysedProgram, texts: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    # Only this needs what is known about Souffle.
    from constat.library.portability import portability_notes  # noqa: PLC0415  loaded when it is used

    notes: tuple[Diagnostic, ...] = portability_notes(analysed, texts)
    return notes
