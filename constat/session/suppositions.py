"""Read what is supposed: facts, values of the configuration, and rules."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.analysis.goals import is_written_in_rules, rests_on
from constat.diagnostics import ConstatError, Diagnostic, Severity, Span, nearest
from constat.frozen import frozen
from constat.logic import (
    OPEN,
    Atom,
    Column,
    Constant,
    Kind,
    NullPolicy,
    Positive,
    Predicate,
    with_null_cells,
)
from constat.logic.structures import example_of, is_same_definition
from constat.proof.overlay import STANDS, Overlay, Removal
from constat.syntax import (
    exit_code,
    load_program,
    parse_fact,
    parse_goal,
    parse_stated,
    print_stated,
)
from constat.tiers import SUPPOSED
from constat.tiers.config import CONFIG, config_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Row, Rule, TypeDefinition, Value
    from constat.project import Project

# A supposed rule is a proposed one, and a rule that is dropped stays with a guard, so that both
# are assumptions in the certificate: no conclusion from them can be taken for one of the real
# world. What the files do not change is as it was.
# A rule takes the place of the one with its id. A file with the name of one of the project's rule
# files takes that file's place: rules of that file which it does not repeat are dropped.

_COUNTED: Final = re.compile(r"[A-Za-z]\w*\.[0-9]+[a-z]*\Z")
_GUARD: Final = Predicate(
    STANDS,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={"says": "rule {rule} stands"},
)


@frozen
class SupposedProgram:
    """A program with other rules; `dropped` are the ids of those that do not stand."""

    program: AnalysedProgram
    dropped: tuple[str, ...] = ()
    supposed: tuple[str, ...] = ()


def suppose_rules(
    program: AnalysedProgram,
    files: Sequence[Path | str],
    roots: Sequence[Path],
    texts: dict[str, str],
) -> SupposedProgram:
    """Give the program with the rules of files. Raises `ConstatError` with their mistakes."""
    if not files:
        return SupposedProgram(program)
    merging = _Merging(program, texts)
    for file in files:
        merging.take(Path(file), roots)
    return merging.merged()


class _Merging:
    """Collects the rules of files beside those of a program."""

    def __init__(self, program: AnalysedProgram, texts: dict[str, str]) -> None:
        self.base = program
        self.texts = texts
        self.program: Program = program.program
        self.fresh: list[Rule] = []
        self.replaced_files: set[str] = set()

    def take(self, file: Path, roots: Sequence[Path]) -> None:
        """Read a file; only its own rules count, what it includes is there already."""
        read: dict[str, str] = {}
        diagnostics: list[Diagnostic] = []
        fragment = load_program(
            [file],
            [*roots, file.resolve().parent],
            diagnostics,
            texts=read,
            known=self.program.predicates,
        )
        self.texts.update({name: text for name, text in read.items() if name not in self.texts})
        _raise_errors(diagnostics)
        own = next(iter(read))
        self.declare(fragment, own)
        if any(_file(rule) == file.name for rule in self.base.rules):
            self.replaced_files.add(file.name)
        for rule in fragment.rules:
            if rule.span is None or rule.span.source == own:
                self.fresh.append(rule)

    def declare(self, fragment: Program, own: str) -> None:
        """Take over what a file declares and the program does not."""
        predicates = dict(self.program.predicates)
        for name, predicate in fragment.predicates.items():
            known = predicates.setdefault(name, predicate)
            if predicate.span is not None and predicate.span.source != own:
                continue
            if _shape(known) != _shape(predicate):
                self.refuse(f"`{name}` is declared with other columns in the project", predicate)
            if predicate.source is not None:
                self.refuse(f"a supposed file may not say where rows of `{name}` lie", predicate)
        for name, definition in fragment.types.items():
            if not is_same_definition(self.program.types.get(name, definition), definition):
                self.refuse(f"the type `{name}` is another one in the project", definition)
        types = {**fragment.types, **self.program.types}
        self.program = replace(self.program, predicates=predicates, types=types)

    @staticmethod
    def refuse(message: str, where: Predicate | TypeDefinition) -> None:
        note = "a supposition changes rules and facts, not sources and columns"
        hint = "delete this from the supposed file"
        raise ConstatError([Diagnostic("C0703", message, where.span, note=note, help=hint)])

    def merged(self) -> SupposedProgram:
        """Give the program of the supposed world."""
        taken = {rule.id for rule in self.base.rules}
        named = [self.named(rule, taken) for rule in self.fresh]
        typed = self.analysed((*self.base.rules, *named))
        known = {(rule.head, rule.body) for rule in self.base.rules}
        repeated = {(one.head, one.body) for one in typed.rules[len(self.base.rules) :]}
        supposed = [
            rule
            for rule, one in zip(named, typed.rules[len(self.base.rules) :], strict=True)
            if (one.head, one.body) not in known
        ]
        self.check_heads(supposed)
        replaced = {rule.id for rule in self.fresh if not _COUNTED.match(rule.id)}
        dropped = tuple(
            rule.id
            for rule in self.base.rules
            if (rule.head, rule.body) not in repeated
            and (rule.id in replaced or _file(rule) in self.replaced_files)
        )
        kept = [_guarded(rule) if rule.id in dropped else rule for rule in self.base.rules]
        final = self.analysed((*kept, *(replace(one, proposed=True) for one in supposed)))
        return SupposedProgram(final, dropped, tuple(rule.id for rule in supposed))

    def named(self, rule: Rule, taken: set[str]) -> Rule:
        """Give a rule an id that no other has and that tells what it is."""
        name, number = f"{SUPPOSED}:{rule.id}", 1
        while name in taken:
            number += 1
            name = f"{SUPPOSED}:{rule.id}:{number}"
        taken.add(name)
        return replace(rule, id=name)

    def check_heads(self, supposed: Sequence[Rule]) -> None:
        """Refuse rules that would turn a predicate of outside into a derived one."""
        for rule in supposed:
            name = rule.head.predicate
            source = self.program.predicates[name].source
            if name in self.base.program.predicates and name in self.base.external and not source:
                message = f"rows of `{name}` come from outside, and a supposed rule derives it"
                hint = f'suppose the facts: `--add "{name}(...)"`'
                raise ConstatError([Diagnostic("C0703", message, rule.span, help=hint)])

    def analysed(self, rules: Sequence[Rule]) -> AnalysedProgram:
        predicates = {**self.program.predicates, STANDS: _GUARD}
        diagnostics: list[Diagnostic] = []
        program = replace(self.program, predicates=predicates, rules=tuple(rules))
        found = analyse(program, diagnostics)
        if found is None:
            _raise_errors(diagnostics)
            raise TypeError("a program without errors was not analysed")
        return found


def _guarded(rule: Rule) -> Rule:
    guard = Positive(Atom(STANDS, (Constant(rule.id, Kind.SYMBOL),)))
    return replace(rule, body=(*rule.body, guard))


def _file(rule: Rule) -> str:
    return "" if rule.span is None else Path(rule.span.source).name


def _shape(predicate: Predicate) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.type_name) for column in predicate.columns)


def _errors(diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    return (one for one in diagnostics if one.severity is Severity.ERROR)


def _raise_errors(diagnostics: Sequence[Diagnostic]) -> None:
    errors = list(_errors(diagnostics))
    if errors:
        raise ConstatError(errors, exit_code=exit_code(errors))


# Only what comes from outside can be supposed; a conclusion follows from its rules, in every
# world. `--add` adds as `constat facts add` does, `--set` replaces.

MOST: Final = 1_000
_EXAMPLES: Final = MappingProxyType(
    {
        Kind.NUMBER: "5",
        Kind.UNSIGNED: "5",
        Kind.FLOAT: "0.5",
        Kind.DECIMAL: "10.50",
        Kind.SYMBOL: "text",
        Kind.DATE: "2026-01-31",
        Kind.TIMESTAMP: "2026-01-31T10:00:00Z",
        Kind.BOOL: "true",
    }
)


@frozen
class Suppositions:
    """What somebody supposes, as it was typed."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    settings: tuple[tuple[str, str], ...] = ()
    rules: tuple[Path | str, ...] = ()

    def places(self) -> dict[str, str]:
        """Give the texts by the names that diagnostics use."""
        named = {f"<add {place}>": text for place, text in enumerate(self.add, start=1)}
        named |= {f"<remove {place}>": text for place, text in enumerate(self.remove, start=1)}
        settings = (setting_text(name, value) for name, value in self.settings)
        return named | {f"<set {place}>": text for place, text in enumerate(settings, start=1)}


def read_suppositions(
    supposed: Suppositions, program: AnalysedProgram, project: Project
) -> Overlay:
    """Read what is supposed of facts and values."""
    reader = _Reader(program, project)
    if len(supposed.add) + len(supposed.remove) + len(supposed.settings) > MOST:
        message = f"more than {MOST:,} suppositions"
        hint = "suppose a rule that gives these facts: `--rules FILE`"
        raise ConstatError([Diagnostic("C0708", message, help=hint)])
    for place, text in enumerate(supposed.add, start=1):
        reader.attempt(f"<add {place}>", text, reader.add)
    for place, text in enumerate(supposed.remove, start=1):
        reader.attempt(f"<remove {place}>", text, reader.remove)
    for place, (name, value) in enumerate(supposed.settings, start=1):
        reader.attempt(f"<set {place}>", setting_text(name, value), reader.change)
    if not reader.diagnostics:
        reader.check_keys()
    if reader.diagnostics:
        raise ConstatError(reader.diagnostics)
    return Overlay(tuple(reader.added), tuple(dict.fromkeys(reader.removed)))


def setting_text(name: str, value: str) -> str:
    """Write a setting as it is typed: `vip_threshold=50000`, or a row alone."""
    return name if "(" in name and not value else f"{name}={value}"


class _Reader:
    """Collects suppositions and mistakes."""

    def __init__(self, program: AnalysedProgram, project: Project) -> None:
        self.program = program
        self.project = project
        self.diagnostics: list[Diagnostic] = []
        self.added: dict[tuple[str, Row], str] = {}
        self.removed: list[Removal] = []

    def attempt(self, name: str, text: str, read: Callable[[str, str], None]) -> None:
        """Read one supposition; its mistakes get its name as their place."""
        try:
            read(name, text)
        except ConstatError as problem:
            self.diagnostics += [_placed(one, name) for one in problem.diagnostics]

    def add(self, name: str, text: str) -> None:
        predicate, cells = parse_stated(text, self.program.program)
        self.require_external(name, text, predicate)
        policies = (NullPolicy.MAYBE,) * len(cells)
        self.added.setdefault((predicate, with_null_cells(predicate, cells, policies)), name)

    def remove(self, name: str, text: str) -> None:
        atom = parse_goal(text, self.program.program)
        self.require_external(name, text, atom.predicate)
        pattern = tuple(term.value if isinstance(term, Constant) else OPEN for term in atom.terms)
        self.removed.append(Removal(atom.predicate, pattern))

    def change(self, name: str, text: str) -> None:
        """Read `vip_threshold=50000` or `tier(C001, gold)`: what there is of a key is replaced."""
        wanted, _, value = text.partition("=")
        if "(" in wanted:
            self.require_row(name, text)
            self.replace_row(name, text)
            return
        predicate = self.scalar(name, text, wanted.strip())
        fact = f"{predicate.name}({value.strip()})"
        try:
            _, row = parse_fact(fact, self.program.program)
        except ConstatError as problem:
            column = predicate.columns[0]
            first = problem.diagnostics[0]
            message = f"`{value.strip()}` is no value of {column.name}, which is {column.type_name}"
            example = _EXAMPLES.get(column.kind) or example_of(column) or "VALUE"
            hint = f"write `--set {wanted.strip()}={example}`"
            raise ConstatError(
                [Diagnostic("C0701", message, _whole(name, text), note=first.message, help=hint)]
            ) from None
        self.removed.append(Removal(predicate.name, (OPEN,)))
        self.added.setdefault((predicate.name, row), name)

    def replace_row(self, name: str, text: str) -> None:
        """Suppose a row in place of whatever its key has."""
        predicate, cells = self.set_row(text)
        self.require_external(name, text, predicate)
        declared = self.program.program.predicates[predicate]
        row = tuple(cell for cell in cells if cell is not None)
        if len(row) < len(cells):
            key = (cell if at in declared.key else None for at, cell in enumerate(cells))
            whole = shlex.quote(print_stated(declared, tuple(key)))
            cell = shlex.quote(print_stated(declared, cells))
            message = f"`--set` gives a whole row, and columns of `{predicate}` are left out"
            note = "the row is hidden, and what is not said of the new one is not known"
            hint = f"write `--remove {whole} --add {cell}`"
            raise ConstatError(
                [Diagnostic("C0701", message, _whole(name, text), note=note, help=hint)]
            )
        if not declared.key and not self.is_scalar(declared):
            message = f"`{predicate}` has no key, so nothing says what is replaced"
            hint = f"declare `@[key = ...]`, or use `--remove` and `--add {shlex.quote(text)}`"
            raise ConstatError([Diagnostic("C0701", message, _whole(name, text), help=hint)])
        pattern = tuple(cell if at in declared.key else OPEN for at, cell in enumerate(row))
        self.removed.append(Removal(predicate, pattern))
        self.added.setdefault((predicate, row), name)

    def set_row(self, text: str) -> tuple[str, tuple[Value | None, ...]]:
        """Read a row, or the cells of one by name; the first may go by their places."""
        try:
            return parse_stated(text, self.program.program)
        except ConstatError as problem:
            mixed = [one for one in problem.diagnostics if one.code == "C0185"]
            if not mixed:
                raise
            return parse_stated(mixed[0].help.split("`")[1], self.program.program)

    def scalar(self, name: str, text: str, wanted: str) -> Predicate:
        """Find the predicate whose one value the configuration gives under a name."""
        scalars = {
            known: one
            for one in self.program.program.predicates.values()
            if self.is_scalar(one)
            for known in (config_key(one), one.name)
        }
        found = scalars.get(wanted)
        if found is None:
            near = nearest(wanted, sorted(scalars))
            declared = self.program.program.predicates.get(wanted)
            if declared is not None:
                self.require_external(name, text, declared.name)
            note = "`--set` takes single values of the configuration, and rows with a key"
            hint = f"write `--set {near}=...`" if near else "`--add` supposes a fact"
            if declared is not None:
                note += "; rows are supposed by `--add` and hidden by `--remove`"
                hint = self.written_whole(declared)
            message = f"`{wanted}` is no single value of the configuration"
            raise ConstatError(
                [Diagnostic("C0701", message, _whole(name, text), note=note, help=hint)]
            )
        return found

    def require_row(self, name: str, text: str) -> None:
        """Refuse what looks like a row and is none: `balance(7)=100`, or columns that it lacks."""
        found = self.program.program.predicates.get(text.partition("(")[0].strip())
        if found is None:
            return
        self.require_external(name, text, found.name)
        _, closed, value = text.rpartition(")")
        if closed and value.lstrip().startswith("="):
            message = "`--set` gives a whole row, and nothing stands behind it"
            hint = self.written_whole(found)
            raise ConstatError([Diagnostic("C0701", message, _whole(name, text), help=hint)])

    def written_whole(self, predicate: Predicate) -> str:
        """Give an option with a row of a predicate; one that has no key is added."""
        option = "--set" if predicate.key else "--add"
        return f"write a whole row, such as `{option} {shlex.quote(example_row(predicate))}`"

    def is_scalar(self, predicate: Predicate) -> bool:
        if predicate.arity != 1 or predicate.name not in self.program.external:
            return False
        table = self.project.facts.get(config_key(predicate))
        if table is not None:
            return table.form == "scalar"
        return predicate.source is not None and predicate.source.name == CONFIG

    def require_external(self, name: str, text: str, predicate: str) -> None:
        """Refuse what rules derive."""
        if predicate in self.program.external:
            return
        below = ", ".join(f"`{one}`" for one in rests_on(self.program, predicate))
        message = f"`{predicate}` is derived by rules and cannot be supposed"
        hint = f"suppose a fact of {below}" if below else "suppose another rule: `--rules FILE`"
        outside = [
            self.program.program.predicates[one] for one in rests_on(self.program, predicate)
        ]
        if outside:
            row = shlex.quote(example_row(outside[0]))
            hint += f", such as `--add {row}`"
        note = "a conclusion holds where its rules give it"
        if is_written_in_rules(self.program, predicate):
            message = f"the facts of `{predicate}` stand in rule files; none is supposed alone"
            hint = (
                "write the fact into a file, such as `more.dl`, and suppose it: `--rules more.dl`"
            )
            note = "a file with the name of one of the project's takes its place, fewer facts too"
        raise ConstatError([Diagnostic("C0700", message, _whole(name, text), note=note, help=hint)])

    def check_keys(self) -> None:
        """Refuse suppositions that contradict each other."""
        predicates = self.program.program.predicates
        first: dict[tuple[str, Row], tuple[str, Row]] = {}
        for (predicate, row), name in self.added.items():
            declared = predicates[predicate]
            if not declared.key and not self.is_scalar(declared):
                continue
            key = (predicate, tuple(row[column] for column in declared.key))
            other = first.setdefault(key, (name, row))
            if other[1] != row:
                message = (
                    f"two values are supposed for one key: {print_stated(declared, other[1])} and "
                    f"{print_stated(declared, row)}"
                )
                hint = f"leave one of them out, for example {name}"
                self.diagnostics.append(Diagnostic("C0702", message, help=hint))


def example_row(predicate: Predicate) -> str:
    """Write a row with a value of each column's kind; a text goes by the name of its column."""
    cells = [
        f'"{one.name}"'
        if one.kind is Kind.SYMBOL and not example_of(one)
        else f'"{_EXAMPLES[one.kind]}"'
        if one.kind in _QUOTED
        else _EXAMPLES.get(one.kind) or example_of(one) or "VALUE"
        for one in predicate.columns
    ]
    named = (f"{one.name} = {cell}" for one, cell in zip(predicate.columns, cells, strict=True))
    return f"{predicate.name}({', '.join(named)})"


_QUOTED: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})


def _placed(diagnostic: Diagnostic, name: str) -> Diagnostic:
    span = diagnostic.span
    return diagnostic if span is None else replace(diagnostic, span=replace(span, source=name))


def _whole(name: str, text: str) -> Span:
    return Span(name, 1, 1, 1, max(2, len(text) + 1))
