"""Read directives: declarations, types, ports, includes, pragmas, and what stands before items."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Span
from constat.logic import RECORD, Branch, Column, Kind, TypeDefinition
from constat.syntax.bodies import BodyParser
from constat.syntax.cursor import Mode, ResyncError, read_text
from constat.syntax.lexer import Tokens
from constat.syntax.mistakes import declarations, habits, records, refusals, spelling
from constat.syntax.surface import Attribute, Declaration, Include, Notes, Port, Pragma, SurfaceItem
from constat.syntax.words import BASE_TYPES, HINTS, LEGACY_TAGS, REFUSED_DIRECTIVES, STAND_INS

# Values are kept as text, and the parts of `@[approved(by = "J. Doe")]` get keys such as
# `approved.by`.

GIVEN: Final = "given"
_VALUES: Final = frozenset({"name", "number", "text"})
_OPENERS: Final = frozenset({"@[", "@!["})


class NoteParser(BodyParser):
    """The part of the parser that reads descriptions and attributes."""

    described = 0

    def notes(self) -> Notes:
        """Read every description and attribute before the current item."""
        lines = self._descriptions()
        attributes: list[Attribute] = []
        while self.kind in _OPENERS:
            self.attribute(attributes)
            lines.extend(self._descriptions())
        return Notes("\n".join(lines), tuple(attributes))

    def _descriptions(self) -> list[str]:
        """Take the descriptions before the current token; report those inside an item."""
        lines: list[str] = []
        pending = self.tokens.descriptions
        while self.described < len(pending) and pending[self.described][0] <= self.position:
            place, line, start, end = pending[self.described]
            self.described += 1
            if place == self.position:
                lines.append(line)
            else:
                self.report(habits.misplaced_description(self.tokens.stretch(start, end)))
        return lines

    def forget_descriptions(self) -> None:
        """Skip the descriptions inside a statement that could not be read."""
        pending = self.tokens.descriptions
        while self.described < len(pending) and pending[self.described][0] < self.position:
            self.described += 1

    def attribute(self, found: list[Attribute]) -> None:
        """Read one `@[...]` and add it, unless its key is there already."""
        try:
            fresh = self._attribute()
        except ResyncError:
            self._skip_attribute()
            return
        known = {one.key for one in found}
        for one in fresh:
            if one.key in known:
                self.report(declarations.attribute_twice(one.span, one.key))
            else:
                found.append(one)
                known.add(one.key)

    def _skip_attribute(self) -> None:
        """Go on behind an attribute that could not be read: the item itself may be fine."""
        while self.kind not in {"]", "end", "directive", ":-"}:
            if self.kind == "name" and self.tokens.begins_line(self.position):
                return
            self.advance()
        self.accept("]")

    def _attribute(self) -> list[Attribute]:
        opener = self.advance()
        start = self.position
        key = self._key()
        fresh = self._parts(key) if self.kind == "(" else [self._value(key, start)]
        if self.kind == ",":
            here, why = self.here, "each attribute has its own brackets: `@[a = 1] @[b = 2]`"
            self.fail(declarations.odd_attribute(here, why, self._whole_key(key, fresh[-1].value)))
        self.close(opener, "]")
        return fresh

    def _key(self) -> str:
        if self.kind != "name":
            self.fail(declarations.odd_attribute(self.here, "an attribute begins with a name"))
        key = self.word
        self.advance()
        if self.kind in {".", ":"}:
            self.fail(declarations.odd_attribute(self.here, "the key of an attribute is one name"))
        return key

    def _value(self, key: str, start: int) -> Attribute:
        """Read `= value`; a key alone means true."""
        if self.kind == "]":
            return Attribute(key, "true", self.since(start))
        if not self.accept("="):
            self.fail(declarations.odd_attribute(self.here, "expected `=` or `]` after the key"))
        return Attribute(key, self.attribute_value(), self.since(start))

    def _parts(self, key: str) -> list[Attribute]:
        opener = self.advance()
        if key == GIVEN:
            return [self._names(key, opener)]
        parts: list[Attribute] = []
        while self.kind != ")":
            start = self.position
            name = self._key()
            if not self.accept("="):
                here = self.here
                edit = self._whole_key(key, name)
                self.fail(declarations.odd_attribute(here, "expected `name = value`", edit))
            parts.append(Attribute(f"{key}.{name}", self.attribute_value(), self.since(start)))
            if not self.accept(","):
                break
        self.close(opener, ")")
        return parts or [Attribute(key, "true", self.since(opener))]

    def _whole_key(self, key: str, first: str) -> str:
        """Give the key of several columns as it is written; another attribute has none."""
        names = [first]
        while key == "key" and self.accept(",") and self.kind == "name":
            names.append(self.word)
            self.advance()
        several = len(names) > 1 and self.kind in {")", "]"}
        return f'@[key = "{", ".join(names)}"]' if several else ""

    def _names(self, key: str, opener: int) -> Attribute:
        """Read `a, b)`: the names of columns."""
        names: list[str] = []
        while self.kind != ")":
            names.append(self._key())
            if not self.accept(","):
                break
        self.close(opener, ")")
        return Attribute(key, ",".join(names), self.since(opener))

    def attribute_value(self) -> str:
        """Read a name, number or text, and give it as text."""
        sign = "-" if self.accept("-") else ""
        if self.kind not in _VALUES:
            self.fail(declarations.odd_attribute(self.here, "expected a name, a number or a text"))
        word = self.word
        if self.kind != "text":
            self.advance()
            return sign + word
        text, wrong = read_text(word)
        if wrong is not None:
            self.report(spelling.bad_escape(self.here, wrong))
        self.advance()
        return sign + text


# What stands between the brackets of a record or branch is read to its end where that is possible,
# so one mistake gives one message.

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
                habits.unexpected(self.here, self.word, f"the name of a {what}", f"write `{bare}`")
            )
        elif self.kind not in _NAMES:
            self.unexpected(f"the name of a {what}", f"write the name of the {what} here")
        elif self.word in self.reserved:
            self.report(habits.reserved_word(self.here, self.word, what))
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
            self.report(habits.reserved_word(span, name, "type"))
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
                self.fail(habits.open_bracket(place, span, bracket, closer))
            if self.kind not in _NAMES or self.begins_statement(self.position):
                self.close(opener, closer)
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

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


# A directive that is not supported is named, and the parser goes on behind it.

_LEGACY_TYPES: Final = MappingProxyType({"number_type": "number", "symbol_type": "symbol"})


class DirectiveParser(TypeParser):
    """The part of the parser that reads directives."""

    def __init__(
        self, tokens: Tokens, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
    ) -> None:
        super().__init__(tokens, diagnostics, mode)
        self.items: list[SurfaceItem] = []
        self.once = False
        self.pragmas: list[Pragma] = []
        self.hinted: set[str] = set()

    def directive(self, notes: Notes) -> None:
        """Read one directive."""
        word = self.word[1:]
        if notes.attributes and word not in {"decl", "type", "input", "output", "plan"}:
            self.report(declarations.lost_attribute(notes.attributes[0].span))
        match word:
            case "decl":
                self._declaration(notes)
            case "type":
                definition = self.type_definition(notes)
                self.items.extend([] if definition is None else [definition])
            case "input" | "output" | "printsize":
                self._ports(word, notes)
            case "include":
                self._include()
            case "once":
                self.once = True
                self.advance()
            case "pragma":
                self._pragma()
            case "plan":
                self._plan()
            case _:
                self._refused(word, notes)
        if self.kind == "." and not self.begins_statement(self.position):
            self.report(habits.stray_dot(self.here))
            self.advance()

    def _refused(self, word: str, notes: Notes) -> None:
        if self.souffle and word in _LEGACY_TYPES:
            self._legacy_type(_LEGACY_TYPES[word], notes)
            return
        if self.souffle and word == "strict":
            self._hint(self.tokens.span(self.advance(), self.position - 1), ".strict")
            return
        construct = REFUSED_DIRECTIVES.get(word)
        if construct is None:
            self.fail(declarations.unknown_directive(self.here, word))
        self.report(refusals.refused(construct, self.here))
        if word == "comp":
            self._skip_braces()
            return
        raise ResyncError

    def _skip_braces(self) -> None:
        """Step over the body of a component, whose rules end with dots like all others."""
        depth = 0
        while self.kind != "end":
            kind = self.kinds[self.advance()]
            if kind == "{":
                depth += 1
            elif kind == "}":
                depth -= 1
                if depth == 0:
                    return

    def _declaration(self, notes: Notes) -> None:
        self.advance()
        names = [self.plain_name("predicate")]
        while self.accept(","):
            names.append(self.plain_name("predicate"))
        opener = self.position
        if not self.accept("("):
            self.unexpected("`(` and the columns", f"write `.decl {names[0][0]}(x: symbol)`")
        columns = self._columns(opener)
        self.items.extend(Declaration(name, columns, notes, span) for name, span in names)
        self._tags(names)

    def _columns(self, opener: int) -> tuple[Column, ...]:
        columns: dict[str, Column] = {}
        if self.accept(")"):
            return ()
        while True:
            column = self._column()
            first = columns.setdefault(column.name, column)
            if first is not column:
                self.report(
                    declarations.column_twice(column.span or self.here, column.name, first.span)
                )
            if self.accept(","):
                continue
            if self.accept(")"):
                return tuple(columns.values())
            if self.kind not in {"name", "@[", "@!["} or self.begins_statement(self.position):
                self.close(opener, ")")
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

    def _column(self) -> Column:
        attributes: list[Attribute] = []
        while self.kind in {"@[", "@!["}:
            self.attribute(attributes)
        name, span = self.plain_name("column")
        if not self.accept(":"):
            if self.kind in {")", ","}:
                self.report(declarations.untyped(span, name))
                return Column(name, "symbol", Kind.SYMBOL, {}, span)
            self.unexpected("`:` and a type", f"write, for example, `{name}: symbol`")
        place = self.position
        type_name = self.type_name()
        closer = self.tokens.closer(self.position) if self.kind == "(" else None
        if closer is not None:
            length = self.tokens.span(place, closer)
            self.report(declarations.type_with_length(length, type_name))
            self.position, type_name = closer + 1, "symbol"
        return Column(
            name,
            type_name,
            KINDS.get(type_name, Kind.SYMBOL),
            {one.key: one.value for one in attributes},
            span,
        )

    def _tags(self, names: list[tuple[str, Span]]) -> None:
        """Read what may follow the columns: hints are ignored, other tags refused.

        In souffle mode `input`, `output` and `printsize` say what the directives of today say.
        """
        while self.kind == "name":
            word = self.word
            if word == "choice" and self.ahead() == "-":
                self.fail(refusals.refused("choice", self.here))
            elif word in HINTS:
                self._hint(self.here, word)
            elif word in LEGACY_TAGS:
                self.report(refusals.refused("legacy", self.here))
                ports = (Port(word, name, (), Notes(), span) for name, span in names)
                self.items.extend(ports if self.souffle else ())
            elif word == "eqrel":
                self.report(refusals.refused("eqrel", self.here))
            elif word == "overridable":
                self.report(refusals.refused("component", self.here))
            else:
                return
            self.advance()

    def _legacy_type(self, base: str, notes: Notes) -> None:
        """Read `.number_type Age`, which is `.type Age <: number`."""
        start = self.advance()
        name, span = self.plain_name("type")
        self.report(refusals.refused("legacy", self.since(start)))
        attributes = {one.key: one.value for one in notes.attributes}
        self.items.append(TypeDefinition(self.own_type(name), "subtype", (base,), span, attributes))

    def _ports(self, directive: str, notes: Notes) -> None:
        self.advance()
        # Parameters belong to all the names before them, as in Souffle.
        waiting: list[tuple[str, Span]] = []
        while True:
            waiting.append(self.plain_name("predicate"))
            if self.kind != ",":
                parameters = self._parameters(self.advance()) if self.kind == "(" else []
                for name, span in waiting:
                    self.items.append(Port(directive, name, tuple(parameters), notes, span))
                waiting.clear()
            if not self.accept(","):
                return

    def _parameters(self, opener: int) -> list[Attribute]:
        """Read `key = value` pairs."""
        found: dict[str, Attribute] = {}
        while self.kind != ")":
            start = self.position
            if self.kind != "name":
                self.unexpected("the name of a parameter", 'write, for example, `source = "sales"`')
            key = self.word
            self.advance()
            if not self.accept("="):
                self.unexpected("`=`", f'write, for example, `{key} = "value"`')
            one = Attribute(key, self.attribute_value(), self.since(start))
            if key in found:
                self.report(declarations.attribute_twice(one.span, key))
            found.setdefault(key, one)
            if not self.accept(","):
                break
        self.close(opener, ")")
        return list(found.values())

    def _text_argument(self) -> str:
        text, wrong = read_text(self.word)
        if wrong is not None:
            self.report(spelling.bad_escape(self.here, wrong))
        self.advance()
        return text

    def _include(self) -> None:
        self.advance()
        if self.kind != "text":
            self.unexpected(
                "the name of a file in quotes", 'write, for example, `.include "types.dl"`'
            )
        span = self.here
        self.items.append(Include(self._text_argument(), span))

    def _pragma(self) -> None:
        start = self.advance()
        texts: list[str] = []
        while self.kind == "text":
            texts.append(self._text_argument())
        if not 1 <= len(texts) <= 2:  # noqa: PLR2004  a name and a value
            self.fail(declarations.odd_pragma(self.since(start)))
        self.pragmas.append(Pragma(tuple(texts), self.since(start)))
        if texts[0] != "constat":
            self._hint(self.since(start), f".pragma {texts[0]}")
        elif len(texts) == 1:
            self.report(declarations.odd_pragma(self.since(start)))
        elif texts[1] != declarations.LANGUAGE_VERSION:
            self.report(declarations.other_version(self.since(start), texts[1]))

    def _plan(self) -> None:
        """Step over `.plan 0: (1, 2), 1: (2, 1)`, which tells Souffle an order of joins."""
        start = self.advance()
        while self.kind in {"number", ":", "(", ")", ","}:
            self.advance()
        self._hint(self.since(start), ".plan")

    def _hint(self, span: Span, spelled: str) -> None:
        """Say once for each file that a hint is ignored."""
        if spelled not in self.hinted:
            self.hinted.add(spelled)
            self.report(declarations.hint(span, spelled))
