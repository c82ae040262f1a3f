"""Read what stands before an item: descriptions `///` and attributes `@[...]`.

In: a cursor before an item or a column. Out: `Notes`. Invariant: values are kept as text, and the
parts of `@[approved(by = "J. Doe")]` get keys such as `approved.by`. Example: `@[null = skip]` is
`("null", "skip")`.
"""

from __future__ import annotations

from typing import Final

from constat.syntax.bodies import BodyParser
from constat.syntax.constants import read_text
from constat.syntax.cursor import ResyncError
from constat.syntax.mistakes import declarations, spelling, structure
from constat.syntax.surface import Attribute, Notes

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
                self.report(structure.misplaced_description(self.tokens.stretch(start, end)))
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
            self.fail(
                declarations.odd_attribute(
                    self.here, "each attribute has its own brackets: `@[a = 1] @[b = 2]`"
                )
            )
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
                self.fail(declarations.odd_attribute(self.here, "expected `name = value`"))
            parts.append(Attribute(f"{key}.{name}", self.attribute_value(), self.since(start)))
            if not self.accept(","):
                break
        self.close(opener, ")")
        return parts or [Attribute(key, "true", self.since(opener))]

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
