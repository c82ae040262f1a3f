"""Join drafts to a program: their rules as proposals, beside or in the place of what is there.

In: an analysed program and drafts of the quarantine. Out: a `JoinedProgram`. Invariants: a drafted
rule is proposed, so what follows from it holds UNDER the assumption that it is right; it gives no
row of a predicate that approved rules define or that has a source, unless that is asked for (an
amendment), and of one that only people and models answer never; a rule that is replaced keeps its
place behind a guard, so that doing without it is an assumption too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.library.reviewing.beyond import left_open
from constat.library.reviewing.drafted_rules import DraftedRules, read_draft
from constat.logic import Atom, Column, Constant, Kind, Positive, Predicate
from constat.logic.structure_forms import is_same_definition
from constat.proof.overlay import STANDS
from constat.syntax import exit_code

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Rule, TypeDefinition
    from constat.store.drafts import Draft

_GUARD: Final = Predicate(
    STANDS,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={"says": "rule {rule} stands"},
)


@dataclass(frozen=True, slots=True)
class JoinedProgram:
    """A program with drafts.

    `rules` are the ids of the drafted rules in it, `amended` the predicates to which they add that
    were there before, `dropped` the ids of the rules that they replace, `notes` what of their texts
    has no effect.
    """

    program: AnalysedProgram
    rules: tuple[str, ...] = ()
    amended: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[Diagnostic, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The texts of the drafts by the names that diagnostics use."""


def join_drafts(
    program: AnalysedProgram, drafts: Sequence[Draft], *, amending: bool = False
) -> JoinedProgram:
    """Give the program with drafts. Raises `ConstatError` where one does not fit.

    With `amending` they may add rules for predicates that are there, and replace rules.
    """
    if not drafts:
        return JoinedProgram(program)
    joining = _Joining(program, amending=amending)
    for draft in dict.fromkeys(drafts):
        joining.take(read_draft(draft, program.program.predicates))
    return joining.joined()


class _Joining:
    """Collects the rules of drafts beside those of a program."""

    def __init__(self, program: AnalysedProgram, *, amending: bool) -> None:
        self.base = program
        self.amending = amending
        self.predicates = dict(program.program.predicates)
        self.types: dict[str, TypeDefinition] = dict(program.program.types)
        self.derived = frozenset(rule.head.predicate for rule in program.rules)
        self.rules: dict[str, Rule] = {}
        self.dropped: dict[str, None] = {}
        self.amended: dict[str, None] = {}
        self.notes: dict[str, None] = {}
        self.texts: dict[str, str] = {}
        self.diagnostics: list[Diagnostic] = []

    def take(self, drafted: DraftedRules) -> None:
        """Take over what one draft declares and proposes."""
        self.texts[drafted.source] = drafted.draft.text
        self.notes.update(dict.fromkeys(drafted.notes))
        self.declare(drafted)
        known = {rule.id for rule in self.base.rules}
        for rule in drafted.rules:
            if rule.id in known:
                self.notes[f"rule {rule.id} is in the library already"] = None
                continue
            self.rules[rule.id] = rule
            self.place(rule)
        for identity in drafted.draft.replaces:
            self.drop(identity, known)

    def declare(self, drafted: DraftedRules) -> None:
        """Take over new predicates and types; those that are there have to be the same."""
        for name, predicate in drafted.predicates.items():
            known = self.predicates.setdefault(name, predicate)
            if _shape(known) != _shape(predicate):
                message = f"`{name}` is declared with other columns in the project"
                hint = f"declare {_declaration(known)}"
                self.diagnostics.append(Diagnostic("C0882", message, predicate.span, help=hint))
        for name, definition in drafted.types.items():
            known_type = self.types.setdefault(name, definition)
            if not is_same_definition(known_type, definition):
                message = f"the type `{name}` is another one in the project"
                hint = f"leave `.type {name}` out, or give it another name"
                self.diagnostics.append(Diagnostic("C0882", message, definition.span, help=hint))

    def place(self, rule: Rule) -> None:
        """See whether a rule may give rows of its predicate."""
        name = rule.head.predicate
        known = self.base.program.predicates.get(name)
        if known is None:
            return
        if name not in self.derived and known.source is None:
            message = f"rows of `{name}` come from people and models, and the draft derives them"
            note = "with a rule for it, what people have stated would no longer be asked for"
            hint = f"derive a predicate of another name from `{name}`"
            self.diagnostics.append(Diagnostic("C0882", message, rule.span, note=note, help=hint))
            return
        self.amended[name] = None
        if not self.amending:
            there = (
                f"has rows of its own from `{known.source.name}`" if known.source else "is there"
            )
            message = f"the draft adds a rule for `{name}`, which {there}"
            note = "a draft that changes what is approved joins only where that is asked for"
            hint = "name it: `constat prove GOAL --draft ID`, or `constat rules review ID`"
            self.diagnostics.append(Diagnostic("C0882", message, rule.span, note=note, help=hint))

    def drop(self, identity: str, known: set[str]) -> None:
        """Replace a rule of the program."""
        if identity not in known:
            message = f"the draft replaces the rule `{identity}`, which is not there"
            note = "it was renamed or deleted since the draft was written"
            hint = "have it drafted again"
            self.diagnostics.append(Diagnostic("C0887", message, note=note, help=hint))
        elif not self.amending:
            message = f"the draft replaces the rule `{identity}`"
            hint = "name it: `constat prove GOAL --draft ID`, or `constat rules review ID`"
            self.diagnostics.append(Diagnostic("C0882", message, help=hint))
        else:
            self.dropped[identity] = None

    def joined(self) -> JoinedProgram:
        """Give the program."""
        if self.diagnostics:
            raise ConstatError(self.diagnostics)
        kept = [_guarded(one) if one.id in self.dropped else one for one in self.base.rules]
        warnings: list[Diagnostic] = []
        program = self.analysed((*kept, *self.rules.values()), warnings)
        return JoinedProgram(
            program,
            tuple(self.rules),
            tuple(self.amended),
            tuple(self.dropped),
            tuple(self.notes),
            tuple(one for one in warnings if one.span and one.span.source in self.texts),
            self.texts,
        )

    def analysed(self, rules: tuple[Rule, ...], diagnostics: list[Diagnostic]) -> AnalysedProgram:
        predicates = dict(self.predicates)
        if self.dropped:
            predicates[STANDS] = _GUARD
        base: Program = self.base.program
        program = replace(base, predicates=predicates, types=self.types, rules=rules)
        # That something does not follow from a draft is an assumption too (decision 0026).
        program = left_open(program, self.whole())
        found = analyse(program, diagnostics)
        if found is None:
            errors = list(_errors(diagnostics))
            raise ConstatError(errors, exit_code=exit_code(errors))
        return found

    def whole(self) -> dict[str, str]:
        """Name the predicates that drafts alone derive, each with the draft that does."""
        return {
            rule.head.predicate: f"draft {rule.id[1:].partition('-')[0]}"
            for rule in self.rules.values()
            if rule.head.predicate not in self.base.program.predicates
        }


def _errors(diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    return (one for one in diagnostics if one.severity is Severity.ERROR)


def _guarded(rule: Rule) -> Rule:
    guard = Positive(Atom(STANDS, (Constant(rule.id, Kind.SYMBOL),)))
    return replace(rule, body=(*rule.body, guard))


def _shape(predicate: Predicate) -> tuple[tuple[str, str], ...]:
    return tuple((column.name, column.type_name) for column in predicate.columns)


def _declaration(predicate: Predicate) -> str:
    columns = ", ".join(f"{one.name}: {one.type_name}" for one in predicate.columns)
    return f"`.decl {predicate.name}({columns})`"
