"""Suppose other rules: those of files are added, or take the place of others.

In: an analysed program and rule files. Out: the program of the supposed world, and the ids of the
rules that do not stand in it. Invariant: a supposed rule is a proposed one, and a rule that is
dropped stays with a guard, so that both are assumptions in the certificate: no conclusion from
them can be taken for one of the real world. What the files do not change is as it was.

A rule takes the place of the one with its id. A file with the name of one of the project's rule
files takes that file's place: rules of that file which it does not repeat are dropped.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.logic import Atom, Column, Constant, Kind, Positive, Predicate
from constat.logic.structure_forms import is_same_definition
from constat.proof.overlay import STANDS
from constat.syntax import exit_code, load_program
from constat.tiers import SUPPOSED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Rule, TypeDefinition

_COUNTED: Final = re.compile(r"[A-Za-z]\w*\.[0-9]+[a-z]*\Z")
_GUARD: Final = Predicate(
    STANDS,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={"says": "rule {rule} stands"},
)


@dataclass(frozen=True, slots=True)
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
