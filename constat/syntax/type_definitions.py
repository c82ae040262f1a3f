"""Read type definitions: subtypes, unions, aliases, records, algebraic data types.

In: a cursor on `.type`. Out: a `TypeDefinition`. Invariant: what stands between the brackets of a
record or branch is read to its end where that is possible, so one mistake gives one message.
Example: `.type List = [head: number, tail: List]` has the form `record` and one branch `[]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Span
from constat.logic import RECORD, Branch, Column, Kind, TypeDefinition
from constat.syntax.mistakes import declarations, records, refusals, structure
from constat.syntax.notes import NoteParser
from constat.syntax.surface import Notes
from constat.syntax.words import BASE_TYPES, STAND_INS

KINDS: Final = MappingProxyType({kind.value: kind for kind in Kind if kind is not Kind.STRUCTURE})
_NAMES: Final = frozenset({"name", "variable"})


@dataclass(slots=True)
class _Definition:
    """What stands behind `=` or `<:`."""

    form: str
    members: tuple[str, ...] = ()
    branches: tuple[Branch, ...] = ()


class TypeParser(NoteParser):
    """The part of the parser that reads types."""

    def plain_name(self, what: str) -> tuple[str, Span]:
        """Read the name of a predicate, column, field, branch or type."""
        if self.kind == "variable" and not self.souffle:
            bare = self.word.lstrip("?_") or "x"
            self.report(
                structure.unexpected(
                    self.here, self.word, f"the name of a {what}", f"write `{bare}`"
                )
            )
        elif self.kind not in _NAMES:
            self.unexpected(f"the name of a {what}", f"write the name of the {what} here")
        elif self.word in self.reserved:
            self.report(structure.reserved_word(self.here, self.word, what))
        self.refuse_qualified()
        name, span = self.word.removeprefix("?"), self.here
        self.advance()
        return name, span

    def type_name(self) -> str:
        """Read the name of a type where one is used."""
        if self.kind != "name":
            self.unexpected(
                "a type", "write a type such as `symbol`, `number`, `Decimal` or `Date`"
            )
        self.refuse_qualified()
        name = self.own_type(self.word)
        self.advance()
        return name

    def own_type(self, name: str) -> str:
        """Give the name of a type; what is built in here only is any type's name in Souffle."""
        return f"{name}_" if self.souffle and name in STAND_INS else name

    def type_definition(self, notes: Notes) -> TypeDefinition | None:
        """Read a definition; nothing where it only repeats what is built in."""
        start = self.advance()
        if self.kind != "name":
            self.unexpected(
                "the name of a type", "write, for example, `.type CustomerId <: symbol`"
            )
        name, span = self.own_type(self.word), self.here
        if name in self.reserved:
            self.report(structure.reserved_word(span, name, "type"))
        self.refuse_qualified()
        self.advance()
        parts = self._defined(start)
        # The prelude declares what stock Souffle lacks; here these types are there already.
        if name not in BASE_TYPES:
            attributes = {one.key: one.value for one in notes.attributes}
            return TypeDefinition(
                name,
                parts.form,
                parts.members,
                span,
                attributes,
                notes.description,
                parts.branches,
            )
        if parts.form != "subtype" or STAND_INS.get(name) != parts.members[0]:
            self.report(declarations.built_in_type(span, name))
        return None

    def _defined(self, start: int) -> _Definition:
        """Read the sign and what stands behind it."""
        if self.accept("<:"):
            if self.kind in {"[", "{", "$"}:
                reason = "a record or an algebraic data type is below no other type"
                self.fail(records.odd_type(self.here, reason, "write `=` for `<:`"))
            return _Definition("subtype", (self.type_name(),))
        if self.accept("="):
            return self._record() if self.kind == "[" else self._alternatives()
        if not self.souffle:
            self.fail(refusals.refused("legacy", self.since(start)))
        self.report(refusals.refused("legacy", self.since(start)))
        return _Definition("subtype", ("symbol",))

    def _record(self) -> _Definition:
        opener = self.advance()
        fields = self._fields(opener, "]", "the record")
        if self.kind == "|":
            reason = "a record type has one form"
            edit = "write branches, each with a name: `Some { x: number } | None {}`"
            self.fail(records.odd_type(self.here, reason, edit))
        return _Definition("record", (), (Branch(RECORD, fields, self.since(opener)),))

    def _alternatives(self) -> _Definition:
        """Read names with `|` between them: branches where any of them has braces."""
        if self.kind == "|":
            edit = "delete it: `|` stands between two branches only"
            self.report(records.odd_type(self.here, "nothing stands before this `|`", edit))
            self.advance()
        members: list[str] = []
        branches: list[Branch] = []
        bare: list[Branch] = []
        while True:
            self._refuse_brackets()
            start = self.position
            if self.ahead() == "{":
                branches.append(self._branch())
            else:
                members.append(self.type_name())
                bare.append(Branch(f"${members[-1]}", (), self.since(start)))
            if not self._another():
                break
        if not branches:
            return _Definition("union" if len(members) > 1 else "alias", tuple(members))
        if bare:
            self.report(self._without_braces(bare[0]))
        return _Definition("algebraic", (), self._distinct([*branches, *bare]))

    def _refuse_brackets(self) -> None:
        """Refuse what other languages write for a record, a branch or its name."""
        if self.kind in {"{", "("}:
            reason = "the fields of a record type stand in square brackets"
            self.fail(records.odd_type(self.here, reason, "write, for example, `[x: number]`"))
        if self.kind == "[":
            reason = "a record type has a name of its own"
            edit = "define it alone, and give it a branch: `Some { p: Pair } | None {}`"
            self.fail(records.odd_type(self.here, reason, edit))
        if self.kind == "$":
            reason = "`$` stands before a branch in terms only"
            self.report(records.odd_type(self.here, reason, "delete it"))
            self.advance()
        if self.kind in _NAMES and self.ahead() in {"(", "["}:
            place = self.tokens.span(self.position + 1, self.position + 1)
            reason = "the fields of a branch stand in braces"
            edit = f"write, for example, `{self.word[:40]} {{ x: number }}`"
            self.fail(records.odd_type(place, reason, edit))

    def _without_braces(self, branch: Branch) -> Diagnostic:
        name = branch.constructor[1:41]
        reason = f"branch `{name}` has no braces"
        return records.odd_type(branch.span or self.here, reason, f"write `{name} {{}}`")

    def _branch(self) -> Branch:
        name, span = self.plain_name("branch")
        fields = self._fields(self.advance(), "}", f"branch `{name[:40]}`")
        return Branch(f"${name}", fields, span)

    def _another(self) -> bool:
        """Step over `|`, or say that it is missing between two branches."""
        if self.accept("|"):
            return True
        place = self.position + (self.kind in {",", ";"})
        goes_on = self.kinds[place] == "name" and self.kinds[place + 1] == "{"
        if not goes_on:
            return False
        reason = "`|` is missing between two branches"
        span = self.tokens.after(self.position - 1) if place == self.position else self.here
        self.report(records.odd_type(span, reason, "write `|` here"))
        self.position = place
        return True

    def _distinct(self, branches: list[Branch]) -> tuple[Branch, ...]:
        found: dict[str, Branch] = {}
        for branch in branches:
            first = found.setdefault(branch.constructor, branch)
            if first is not branch and branch.span is not None:
                name = branch.constructor[1:]
                self.report(records.branch_twice(branch.span, name, first.span))
        return tuple(found.values())

    def _fields(self, opener: int, closer: str, owner: str) -> tuple[Column, ...]:
        """Read `name: type` up to the closing bracket."""
        fields: dict[str, Column] = {}
        if self.accept(closer):
            return ()
        while True:
            one = self._field()
            first = fields.setdefault(one.name, one)
            if first is not one:
                self.report(records.field_twice(one.span or self.here, one.name, owner, first.span))
            if self.accept(","):
                if self.kind == closer:
                    self.fail(records.no_field(self.here, closer))
                continue
            if self.accept(closer):
                return tuple(fields.values())
            if self.kind == "|":
                place, bracket = self.tokens.after(self.position - 1), self.tokens.word(opener)
                span = self.tokens.span(opener, opener)
                self.fail(structure.open_bracket(place, span, bracket, closer))
            if self.kind not in _NAMES or self.begins_statement(self.position):
                self.close(opener, closer)
            self.report(structure.missing_comma(self.tokens.after(self.position - 1)))

    def _field(self) -> Column:
        if self.kind in {"@[", "@!["}:
            closer = self.tokens.closer(self.position) or self.position
            self.fail(records.field_attribute(self.tokens.span(self.position, closer)))
        name, span = self.plain_name("field")
        if name in BASE_TYPES and self.kind != ":":
            edit = f"write a name before the type, for example `x: {name}`"
            self.fail(records.odd_type(span, "a field has a name and a type", edit))
        if not self.accept(":"):
            self.unexpected("`:` and a type", f"write, for example, `{name[:40]}: symbol`")
        type_name = self.type_name()
        return Column(name, type_name, KINDS.get(type_name, Kind.SYMBOL), {}, span)
