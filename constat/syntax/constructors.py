"""Read what begins a structure in a term: `[`, `$Name`, `nil`; and refuse what others write for it.

In: a cursor on such a token. Out: constructors. Invariant: nothing here reads a term, so nothing
recurses. Example: `$Add(?l, ?r)` is the function `$Add` with two arguments, `[1, 2]` is `[]`.
"""

from __future__ import annotations

from typing import Final

from constat.logic import NIL, RECORD
from constat.syntax.cursor import Cursor
from constat.syntax.mistakes import records, refusals, structure
from constat.syntax.surface import Call
from constat.syntax.words import AGGREGATE_WORDS

_NAMES: Final = frozenset({"name", "variable"})


class StructureParser(Cursor):
    """The part of the parser that knows how structures begin."""

    def closer_of(self, function: str) -> str:
        """What closes the brackets of a function."""
        return "]" if function == RECORD else ")"

    def refuse_qualified(self) -> None:
        """Report `component.relation`."""
        place = self.position + 1
        touching = self.tokens.adjacent(place) and self.kinds[place] == "."
        if touching and self.kinds[place + 1] == "name" and self.tokens.adjacent(place + 1):
            span = self.tokens.span(self.position, place + 1)
            # Behind the name, so that its dot is not taken for the end of the statement.
            self.position = place + 2
            self.fail(refusals.refused("component", span))

    def branch_name(self) -> str:
        """Step over `$` and the name of a branch, and give the constructor."""
        start = self.advance()
        if self.kind not in _NAMES or (self.kind != "name" and not self.souffle):
            self.fail(records.no_branch(self.since(start)))
        name = self.word.removeprefix("?")
        if name in self.reserved:
            self.report(structure.reserved_word(self.here, name, "branch"))
        self.refuse_qualified()
        self.advance()
        if self.kind in {"{", "["}:
            self.fail(records.branch_brackets(self.here, name))
        return f"${name}"

    def constant_constructor(self) -> Call:
        """Read `nil`; or `$Name`, behind which no bracket stands."""
        start = self.position
        if self.kind == "$":
            return Call(self.branch_name(), (), self.since(start))
        self.advance()
        return Call(NIL, (), self.since(start))

    def has_fields(self) -> bool:
        """Whether `(` stands behind the `$Name` here."""
        return self.ahead() in _NAMES and self.ahead(2) == "("

    def refuse_nil_arguments(self) -> None:
        """Refuse `nil(...)`."""
        if self.word == NIL:
            self.fail(records.nil_arguments(self.tokens.span(self.position, self.position + 1)))

    def refuse_field_name(self) -> None:
        """Refuse `x:` and `x =` before the value of a field."""
        named = self.kind in {"name", "variable"} and self.ahead() in {":", "="}
        if named and self.word not in AGGREGATE_WORDS:
            span = self.tokens.span(self.position, self.position + 1)
            self.fail(records.named_field(span, self.word.removeprefix("?")))

    def refuse_habit(self, function: str, opener: int) -> None:
        """Refuse what other languages write between fields, behind a field that has been read."""
        if function == RECORD and self.kind == "|":
            self.fail(records.list_habit(self.here))
        if function or self.kind != ",":
            return
        if self._is_balanced(opener):
            closer = self.tokens.closer(opener) or opener
            self.fail(records.tuple_habit(self.tokens.span(opener, closer)))
        place = self.tokens.after(self.position - 1)
        self.fail(structure.open_bracket(place, self.tokens.span(opener, opener), "(", ")"))

    def _is_balanced(self, opener: int) -> bool:
        """Whether all brackets up to here are closed: else it is one of those that is meant."""
        places = range(self.statement_start, opener + 1)
        openers = (place for place in places if self.kinds[place] in {"(", "[", "{"})
        return all(self.tokens.closer(place) is not None for place in openers)
