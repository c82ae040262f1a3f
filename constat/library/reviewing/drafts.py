"""Drafts read, joined to a program as proposals, and what a reviewer should know of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.analysis import analyse
from constat.analysis.attributes import incomplete_sentences
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.frozen import frozen
from constat.library.approvals import is_fenced_in, left_open
from constat.logic import Atom, Column, Constant, Kind, Positive, Predicate
from constat.logic.structures import is_same_definition
from constat.plan.compilation import predicates_of
from constat.proof.overlay import STANDS
from constat.store.drafts import mentioned
from constat.syntax import exit_code, parse_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Rule, TypeDefinition
    from constat.store.drafts import Draft

# The attributes `@[approved]`, `@[id]`, `@[confidence]` and `@[author]` of the text have no
# effect, and each that is dropped is noted; where rows of a predicate lie a draft cannot say.

_COUNTED: Final = re.compile(r"[A-Za-z_]\w*\.[0-9]+[a-z]*\Z")
_ID_DIGITS: Final = 8
MOST_RULES: Final = 200


@frozen
class DraftedRules:
    """What a draft declares and proposes; `notes` tell what of its text has no effect.

    `source` is the name that places in the text have, for diagnostics.
    """

    draft: Draft
    source: str
    predicates: Mapping[str, Predicate] = field(hash=False)
    types: Mapping[str, TypeDefinition] = field(hash=False)
    rules: tuple[Rule, ...]
    notes: tuple[str, ...]


def source_name(draft: Draft) -> str:
    """Give the name by which diagnostics speak of a draft's text."""
    return f"<draft {draft.short}>"


def read_draft(draft: Draft, known: Mapping[str, Predicate]) -> DraftedRules:
    """Read a draft over known predicates. Raises `ConstatError` with the mistakes of its text."""
    source = source_name(draft)
    diagnostics: list[Diagnostic] = []
    program = parse_text(draft.text, source, diagnostics, known)
    if not any(one.severity is Severity.ERROR for one in diagnostics):
        diagnostics += _refusals(program)
    errors = [one for one in diagnostics if one.severity is Severity.ERROR]
    if errors:
        raise ConstatError(errors, exit_code=exit_code(errors))
    notes: dict[str, None] = {}
    rules = tuple(
        _proposed(rule, draft, number, notes) for number, rule in enumerate(program.rules, start=1)
    )
    for name in (*program.outputs, *program.sizes):
        notes[f"`.output` and `.printsize` of {name} are left out"] = None
    return DraftedRules(draft, source, program.predicates, program.types, rules, tuple(notes))


def _refusals(program: Program) -> Iterator[Diagnostic]:
    if not program.rules:
        hint = "a draft is at least one rule, such as `p(?x) :- q(?x).`"
        yield Diagnostic("C0882", "the draft proposes no rule", help=hint)
    if len(program.rules) > MOST_RULES:
        message = f"the draft proposes more than {MOST_RULES} rules"
        yield Diagnostic("C0882", message, help="have it drafted in parts")
    for predicate in program.predicates.values():
        # A query behind a proposed rule of its own is a proposal like any other (decision 0026).
        if predicate.source is not None and not is_fenced_in(predicate.name, program.rules):
            yield Diagnostic(
                "C0882",
                f"the draft says where rows of `{predicate.name}` lie",
                predicate.source.span or predicate.span,
                note="what is read from where is the project's to say, not a draft's",
                help=f"delete `.input {predicate.name}`",
            )


def _proposed(rule: Rule, draft: Draft, number: int, notes: dict[str, None]) -> Rule:
    """Give a rule the id and the author that it has as a proposal."""
    if not is_numbered(rule.id):
        notes[f"`@[id = {rule.id}]` has no effect in a draft"] = None
    if rule.confidence != 1:
        notes["`@[confidence]` has no effect in a draft"] = None
    attributes = {}
    for key, value in rule.attributes.items():
        name = key.partition(".")[0]
        if name in {"approved", "author"}:
            notes[f"`@[{name}]` has no effect in a draft"] = None
        else:
            attributes[key] = value
    return replace(
        rule,
        id=f"D{draft.identity[:_ID_DIGITS]}-{number}",
        confidence=Decimal(1),
        proposed=True,
        attributes={"author": author_of(draft), **attributes},
    )


def is_numbered(identity: str) -> bool:
    """Tell whether an id is only the number of a rule, which other rules may come to have."""
    return bool(_COUNTED.match(identity))


def author_of(draft: Draft) -> str:
    """Give the author as the attribute of a rule spells it: a model even where none is named."""
    return f"llm:{draft.model or 'draft'}"


_GUARD: Final = Predicate(
    STANDS,
    (Column("rule", "symbol", Kind.SYMBOL),),
    attributes={"says": "rule {rule} stands"},
)


@frozen
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


# Nothing here stops an approval.


def lint(joined: JoinedProgram, drafted: DraftedRules, before: AnalysedProgram) -> tuple[str, ...]:
    """Give the remarks about one draft; `before` is the program without it."""
    found: dict[str, None] = dict.fromkeys(joined.notes)
    for one in (*joined.warnings, *incomplete_sentences(joined.program)):
        if one.span is not None and one.span.source == drafted.source:
            found[f"line {one.span.line}: {one.message} [{one.code}]"] = None
    found.update(dict.fromkeys(_loose_ends(joined.program, drafted, before)))
    return tuple(found)


def _loose_ends(
    program: AnalysedProgram, drafted: DraftedRules, before: AnalysedProgram
) -> Iterator[str]:
    known = {(rule.head, rule.body): rule.id for rule in before.rules}
    for rule in program.rules:
        if rule.id in {one.id for one in drafted.rules}:
            if (rule.head, rule.body) in known:
                yield f"rule {rule.id} says what {known[rule.head, rule.body]} says already"
            predicate = program.program.predicates[rule.head.predicate]
            if "says" not in rule.attributes and "says" not in predicate.attributes:
                yield f"rule {rule.id} has no sentence: `@[says = ...]`"
    asked = mentioned(drafted.draft.goal)
    bodies = (literal for rule in program.rules for literal in rule.body)
    used = {name for literal in bodies for name in predicates_of(literal)}
    for name in drafted.predicates:
        if name in before.program.predicates:
            continue
        if name in program.external and program.program.predicates[name].source is None:
            yield f"rows of the new predicate `{name}` come from people and models only"
        elif name not in used | asked:
            yield f"no rule uses the new predicate `{name}`"
