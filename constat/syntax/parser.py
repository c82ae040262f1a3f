"""Read one text into a surface tree, reporting every mistake in it.

In: a text, its name, a list for diagnostics. Out: a `SurfaceFile`. Invariant: no text makes the
parser raise or recurse without bound; after a mistake it goes on at the next statement, so one
run reports them all. Example: of `p(?x) :- q(x), not r(?x).` it reports `x` and `not`, each with
what to write.
"""

from __future__ import annotations

from constat.diagnostics import Diagnostic, Severity
from constat.syntax.cursor import Mode, ResyncError
from constat.syntax.directives import DirectiveParser
from constat.syntax.lexer import MAX_ERRORS, Tokens, lex
from constat.syntax.mistakes import declarations, habits, refusals, spelling
from constat.syntax.surface import (
    Attribute,
    Choice,
    ConstraintText,
    Notes,
    RuleText,
    SignedAtom,
    SurfaceFile,
    SurfaceLiteral,
)
from constat.syntax.words import ARROW_HABITS


def parse_file(
    text: str, source: str, diagnostics: list[Diagnostic], mode: Mode = Mode.STRICT
) -> SurfaceFile:
    """Read a text. What could not be read is missing from the result and reported."""
    tokens = lex(text, source, diagnostics, souffle=mode is Mode.SOUFFLE)
    if mode is Mode.SOUFFLE:
        _name_underscored(tokens)
    parser = Parser(tokens, diagnostics, mode)
    parser.run()
    return SurfaceFile(tuple(parser.items), parser.once, tuple(parser.pragmas))


def _name_underscored(tokens: Tokens) -> None:
    """Take `_p` before a bracket for a predicate; strict names begin with a letter."""
    for place, kind in enumerate(tokens.kinds):
        if kind == "variable" and tokens.kinds[place + 1] == "(":
            tokens.kinds[place] = "name" if tokens.word(place)[0] == "_" else kind


class Parser(DirectiveParser):
    """Reads a whole text, statement by statement."""

    def run(self) -> None:
        """Read every statement."""
        seen, errors = len(self.diagnostics), 0
        while self.kind != "end":
            self.statement_start = self.position
            try:
                self._statement()
            except ResyncError:
                self._resync()
                self.forget_descriptions()
            errors += sum(one.severity is Severity.ERROR for one in self.diagnostics[seen:])
            seen = len(self.diagnostics)
            if errors >= MAX_ERRORS:
                self.report(spelling.too_many_errors(self.here, errors))
                return
        self.notes()

    def _statement(self) -> None:
        notes = self.notes()
        match self.kind:
            case "directive" if self.word == ".constraint" and not self.souffle:
                self._constraint_text(notes)
            case "directive":
                self.directive(notes)
            case "name":
                self._rule(notes)
            case "end":
                if notes.attributes:
                    self.report(declarations.lost_attribute(notes.attributes[0].span))
            case _:
                if self.kind == "?-":
                    self.advance()
                self.unexpected(
                    "a declaration, a rule or a fact", "write a rule: `head(?x) :- body(?x).`"
                )

    def _constraint_text(self, notes: Notes) -> None:
        """Read `.constraint name: body => literal.`, or `=> false` where nothing may be so."""
        start = self.position
        self.advance()
        named = self.kind == "name" and self.ahead() == ":"
        name, span = self.plain_name("constraint") if named else ("", self.here)
        if not self.accept(":"):
            self.fail(habits.odd_constraint(span, "has no name", named=False))
        self.constraining = True
        try:
            branches = self.body()
        finally:
            self.constraining = False
        if len(branches) > 1 or any(isinstance(one, Choice) for one in branches[0]):
            self.fail(habits.odd_constraint(self.since(start), "has alternatives"))
        if not self.accept("=>"):
            self.fail(habits.odd_constraint(self.here, "has no `=>`"))
        denied = None
        if self.kind == "name" and self.word == "false":
            self.advance()
        else:
            denied = self.literal()
        self._end_of_rule(has_body=True)
        self.items.append(ConstraintText(name, branches[0], denied, notes, self.since(start)))

    def _rule(self, notes: Notes) -> None:
        start = self.position
        self.spelled.clear()
        heads = [self._head()]
        while self.accept(","):
            heads.append(self._head())
        inner: list[Attribute] = list(notes.attributes)
        branches: tuple[tuple[SurfaceLiteral, ...], ...] = ()
        if self._arrow(heads):
            while self.kind in {"@[", "@!["}:
                self.attribute(inner)
            branches = self.body()
        self._end_of_rule(has_body=bool(branches))
        self.items.append(
            RuleText(
                tuple(heads),
                branches,
                Notes(notes.description, tuple(inner)),
                self.since(start),
            )
        )

    def _head(self) -> SignedAtom:
        if self.kind != "name":
            self.unexpected("the head of a rule", "write an atom such as `is_vip(?c)`")
        self.refuse_qualified()
        if self.ahead() != "(":
            word = self.word
            if word.casefold() == "select" and not self.souffle:
                self.fail(habits.sql_statement(self.here, self.statement_text()))
            self.advance()
            self.unexpected(f"`(` after `{word[:40]}`", f"write `{word[:40]}(...)`")
        return self.atom()

    def _arrow(self, heads: list[SignedAtom]) -> bool:
        """Step over `:-`, or over what somebody wrote for it. False at the end of a fact."""
        if self.accept(":-"):
            return True
        if self.kind == "<" and self.ahead() == "-" and self.tokens.adjacent(self.position + 1):
            self.report(
                habits.arrow_habit(self.tokens.span(self.position, self.position + 1), "<-")
            )
            self.position += 2
            return True
        spelled = self.word
        again = self.ahead() == "name" and self.tokens.word(self.position + 1)
        if spelled == "<=" and again == heads[0].predicate:
            self.fail(refusals.refused("subsumption", self.here))
        if spelled in ARROW_HABITS:
            self.report(habits.arrow_habit(self.here, spelled))
            self.advance()
            return True
        return False

    def _end_of_rule(self, *, has_body: bool) -> None:
        """Step over the final dot, or say that it is missing."""
        if self.accept("."):
            return
        fact = not has_body and self.kind == "name" and self.ahead() == "("
        if fact or self.begins_statement(self.position):
            self.report(habits.missing_dot(self.tokens.after(self.position - 1)))
            return
        self.unexpected("`.` or `,`", "end the rule with `.`, or join the next literal with `,`")

    def _resync(self) -> None:
        """Go on behind the dot of this statement, or at what looks like the next one."""
        start = self.statement_start
        self.position = max(self.position, start)
        if self.position == start:
            self.advance()
        # A dot ends the statement; a new line that starts like a rule does so where it is missing.
        while self.kind != "end":
            if self.kind == ".":
                self.advance()
                return
            if self._looks_fresh():
                return
            self.advance()

    def _looks_fresh(self) -> bool:
        kind = self.kind
        if kind == "directive":
            return True
        if kind not in {"name", "@["} or not self.tokens.begins_line(self.position):
            return False
        if self.tokens.column(self.position) > self.tokens.column(self.statement_start):
            return False
        if kind == "@[":
            return True
        if self.kinds[self.position - 1] == "open text":
            return True
        closer = self.tokens.closer(self.position + 1)
        return closer is not None and self.kinds[closer + 1] in {":-", "."}
