"""Read what is supposed: facts that are there or not, and values of the configuration.

In: texts, and the analysed program. Out: an `Overlay`. Raises `ConstatError` with every mistake;
its places lie in `<add 1>`, `<remove 1>`, `<set 1>` and so on. Invariant: only what comes from
outside can be supposed; a conclusion follows from its rules, in every world. `--add` adds as
`constat facts add` does, `--set` replaces. Example: `--set vip_threshold=50000` hides the
configured threshold and adds another, `--set "tier(C1, gold)"` does so with the row of C1.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Span, nearest
from constat.logic import OPEN, Constant, Kind
from constat.logic.structure_forms import example_of
from constat.proof.overlay import Overlay, Removal
from constat.syntax import parse_fact, parse_goal, print_row
from constat.tiers.config import CONFIG, config_key

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Predicate, Row
    from constat.project import Project

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


@dataclass(frozen=True, slots=True)
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
        predicate, row = parse_fact(text, self.program.program)
        self.require_external(name, text, predicate)
        self.added.setdefault((predicate, row), name)

    def remove(self, name: str, text: str) -> None:
        atom = parse_goal(text, self.program.program)
        self.require_external(name, text, atom.predicate)
        pattern = tuple(term.value if isinstance(term, Constant) else OPEN for term in atom.terms)
        self.removed.append(Removal(atom.predicate, pattern))

    def change(self, name: str, text: str) -> None:
        """Read `vip_threshold=50000` or `tier(C001, gold)`: what there is of a key is replaced."""
        wanted, _, value = text.partition("=")
        if "(" in wanted:
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
        predicate, row = parse_fact(text, self.program.program)
        self.require_external(name, text, predicate)
        declared = self.program.program.predicates[predicate]
        if not declared.key and not self.is_scalar(declared):
            message = f"`{predicate}` has no key, so nothing says what is replaced"
            hint = f"declare `@[key = ...]`, or use `--remove` and `--add {shlex.quote(text)}`"
            raise ConstatError([Diagnostic("C0701", message, _whole(name, text), help=hint)])
        pattern = tuple(cell if at in declared.key else OPEN for at, cell in enumerate(row))
        self.removed.append(Removal(predicate, pattern))
        self.added.setdefault((predicate, row), name)

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
            note = "`--set` takes single values of the configuration, and rows with a key"
            if declared is not None:
                note += "; rows are supposed by `--add` and hidden by `--remove`"
            hint = f"write `--set {near}=...`" if near else "`--add` supposes a fact"
            message = f"`{wanted}` is no single value of the configuration"
            raise ConstatError(
                [Diagnostic("C0701", message, _whole(name, text), note=note, help=hint)]
            )
        return found

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
        note = "a conclusion holds where its rules give it"
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
                    f"two values are supposed for one key: {print_row(declared, other[1])} and "
                    f"{print_row(declared, row)}"
                )
                hint = f"leave one of them out, for example {name}"
                self.diagnostics.append(Diagnostic("C0702", message, help=hint))


def rests_on(program: AnalysedProgram, predicate: str) -> Sequence[str]:
    """Name the outside predicates that the rules of a predicate rest on, the nearest first."""
    found: dict[str, None] = {}
    seen = {predicate}
    waiting = [predicate]
    while waiting:
        for rule in program.program.rules_for(waiting.pop(0)):
            for literal in rule.body:
                for one in getattr(literal, "body", (literal,)):
                    atom = getattr(one, "atom", None)
                    if atom is None:
                        continue
                    if atom.predicate in program.external:
                        found[atom.predicate] = None
                    elif atom.predicate not in seen:
                        seen.add(atom.predicate)
                        waiting.append(atom.predicate)
    return tuple(found)


def _placed(diagnostic: Diagnostic, name: str) -> Diagnostic:
    span = diagnostic.span
    return diagnostic if span is None else replace(diagnostic, span=replace(span, source=name))


def _whole(name: str, text: str) -> Span:
    return Span(name, 1, 1, 1, max(2, len(text) + 1))
