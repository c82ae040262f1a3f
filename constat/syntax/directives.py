"""Read directives: declarations, types, ports, includes, pragmas; refuse all others.

In: a cursor on a `directive` token. Out: surface items. Invariant: a directive that is not
supported is named, and the parser goes on behind it. Example: `.decl p(x: symbol)` is a
`Declaration`.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Span
from constat.logic import Column, Kind, TypeDefinition
from constat.syntax.constants import read_text
from constat.syntax.cursor import ResyncError
from constat.syntax.mistakes import declarations, refusals, spelling, structure
from constat.syntax.modes import Mode
from constat.syntax.surface import (
    Attribute,
    Declaration,
    Include,
    Notes,
    Port,
    Pragma,
    SurfaceItem,
)
from constat.syntax.tokens import Tokens
from constat.syntax.type_definitions import KINDS, TypeParser
from constat.syntax.words import (
    HINTS,
    LEGACY_TAGS,
    REFUSED_DIRECTIVES,
)

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
            self.report(structure.stray_dot(self.here))
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
            self.report(structure.missing_comma(self.tokens.after(self.position - 1)))

    def _column(self) -> Column:
        attributes: list[Attribute] = []
        while self.kind in {"@[", "@!["}:
            self.attribute(attributes)
        name, span = self.plain_name("column")
        if not self.accept(":"):
            self.unexpected("`:` and a type", f"write, for example, `{name}: symbol`")
        type_name = self.type_name()
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
