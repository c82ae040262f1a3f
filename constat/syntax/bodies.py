"""Read atoms, literals and bodies."""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final, NoReturn, assert_never

from constat.diagnostics import Span
from constat.frozen import frozen
from constat.logic import NIL, Constant, Kind
from constat.syntax.cursor import ResyncError
from constat.syntax.mistakes import habits, spelling
from constat.syntax.surface import Choice, Compared, SignedAtom, SurfaceLiteral, SurfaceTerm
from constat.syntax.terms import TermParser
from constat.syntax.words import (
    AGGREGATE_WORDS,
    COMPARISON_HABITS,
    COMPARISON_SIGNS,
    CONNECTIVE_HABITS,
    CONSTRAINT_WORDS,
    INFIX,
    NEGATIONS,
    PREFIX_WORDS,
    SQL_WORDS,
)

# `!` is left at atoms only, so what follows knows nothing of denied groups.

TRUTHS: Final = frozenset({"true", "false"})
_OPPOSITES: Final = MappingProxyType(
    {"=": "!=", "<": ">=", ">": "<=", "match": "!match", "contains": "!contains"}
)
_DENIED: Final = MappingProxyType({**_OPPOSITES, **{b: a for a, b in _OPPOSITES.items()}})


def denial(literal: SurfaceLiteral) -> SurfaceLiteral:
    """Give the opposite of one literal; groups nest as deep as the parser allows, 200 levels."""
    match literal:
        case SignedAtom(negative=negative):
            return replace(literal, negative=not negative)
        case Compared(operator=operator):
            return replace(literal, operator=_DENIED[operator])
        case Choice(branches=branches, span=span):
            return Choice((denied_choice(branches, span),), span)
        case _:
            assert_never(literal)


def denied_choice(
    branches: tuple[tuple[SurfaceLiteral, ...], ...], span: Span
) -> tuple[SurfaceLiteral, ...]:
    """Give the conjunction that denies alternatives: in each branch one literal fails."""
    denied = []
    for branch in branches:
        opposites = tuple((denial(literal),) for literal in branch)
        denied.append(opposites[0][0] if len(opposites) == 1 else Choice(opposites, span))
    return tuple(denied)


# Groups are read on an explicit stack, like brackets in terms. A missing comma is reported and
# read past; a missing dot ends the body.

Branches = list[list[SurfaceLiteral]]
Name = tuple[str, Span]

_ARITHMETIC: Final = frozenset("+-*/%^")
_STARTS: Final = frozenset(
    {"name", "variable", "!", "number", "text", "wild", "(", "[", "$", "date", "\\+", "~", "¬"}
)
_NO_LITERAL: Final = frozenset(
    {".", ",", ";", ":-", "}", ")", "]", "end", "directive", "open text", "@[", "@!["}
)


@frozen
class _Group:
    """An open bracket around literals: what stood before it, its place, whether `!` denies it."""

    outer: Branches
    opener: int
    denied: bool


_JOINTS: Final = frozenset({",", ";", ":-", ".", "end"})
_OPENING: Final = frozenset("([{")
_CLOSING: Final = frozenset(")]}")


class BodyParser(TermParser):
    """The part of the parser that reads literals."""

    constraining = False
    """Whether the body is that of a constraint, which `=>` ends."""

    def body(self) -> tuple[tuple[SurfaceLiteral, ...], ...]:
        """Read alternatives up to what cannot continue them."""
        stack: list[_Group] = []
        branches: Branches = [[]]
        while True:
            denied = self._denials()
            while self.kind == "(" and self._opens_group():
                if len(stack) >= habits.MAX_DEPTH:
                    self.fail(habits.too_deep(self.here))
                stack.append(_Group(branches, self.advance(), denied=denied))
                branches = [[]]
                denied = self._denials()
            literal = self.literal()
            branches[-1].append(denial(literal) if denied else literal)
            while stack and self.kind == ")":
                branches = self._close_group(stack, branches)
            joined = self._connective(grouped=bool(stack))
            if joined == ";":
                branches.append([])
            elif joined != ",":
                break
        if stack:
            self.close(stack[-1].opener, ")")
        return tuple(tuple(branch) for branch in branches)

    def _denials(self) -> bool:
        """Step over the `!` before a group, a comparison or another `!`: souffle mode only.

        True where their number is odd. Before an atom `!` is left to `literal`.
        """
        denied = False
        while self.souffle and self.kind == "!" and not self._denies_atom():
            self.report(habits.odd_negation(self.here))
            self.advance()
            denied = not denied
        return denied

    def _denies_atom(self) -> bool:
        self.position += 1
        try:
            if self.kind != "name" or self.word in TRUTHS:
                return self.kind == "name" and self.word not in TRUTHS
            return self.word in CONSTRAINT_WORDS or not self._is_comparison()
        finally:
            self.position -= 1

    def _close_group(self, stack: list[_Group], branches: Branches) -> Branches:
        group = stack.pop()
        outer, opener = group.outer, group.opener
        self.advance()
        inner = tuple(tuple(branch) for branch in branches)
        if group.denied:
            outer[-1].extend(denied_choice(inner, self.since(opener)))
        elif len(inner) == 1:
            # Brackets around one conjunction mean nothing; without them there is less to expand.
            outer[-1].extend(inner[0])
        else:
            outer[-1].append(Choice(inner, self.since(opener)))
        return outer

    def _opens_group(self) -> bool:
        """Whether `(` opens a group of literals rather than a term: what follows its end tells."""
        closer = self.tokens.closer(self.position)
        if closer is None:
            return True
        return not self._continues_term(closer + 1)

    def _continues_term(self, place: int) -> bool:
        kind = self.kinds[place]
        if kind == "=>" and self.constraining:
            return False
        if kind == "name":
            word = self.tokens.word(place)
            return word in COMPARISON_HABITS or word in INFIX
        return kind in COMPARISON_SIGNS or kind in COMPARISON_HABITS or kind in _ARITHMETIC

    def _meant_by_or(self) -> tuple[Span, str]:
        """Give what is meant by `or` behind other literals: the two beside it, in brackets.

        Without brackets `;` would end all that stands before it.
        """
        first, last = self.position - 1, self.position + 1
        depth = 0
        while first > self.statement_start and (depth or self.kinds[first] not in _JOINTS):
            depth += (self.kinds[first] in _CLOSING) - (self.kinds[first] in _OPENING)
            first -= 1
        depth = 0
        while last < len(self.kinds) - 1 and (depth or self.kinds[last] not in _JOINTS):
            depth += (self.kinds[last] in _OPENING) - (self.kinds[last] in _CLOSING)
            last += 1
        if self.kinds[first] != "," or last == self.position + 1:
            return self.here, ";"
        left = self._spelled(first + 1, self.position - 1)
        right = self._spelled(self.position + 1, last - 1)
        return self.tokens.span(first + 1, last - 1), f"({left}; {right})"

    def _connective(self, *, grouped: bool) -> str:
        """Step over what joins two literals; give `,`, `;` or nothing at the end of a body."""
        kind = self.kind
        if kind in {",", ";"}:
            self.advance()
            return kind
        spelled = self.word if kind == "name" else kind
        # In SQL's capitals, unless that begins an atom.
        if kind == "name" and self.ahead() != "(":
            spelled = spelled.casefold()
        if spelled in CONNECTIVE_HABITS:
            right = CONNECTIVE_HABITS[spelled]
            place, edit = self._meant_by_or() if right == ";" else (self.here, right)
            self.report(habits.connective_habit(place, self.word, edit))
            self.advance()
            return right
        if kind not in _STARTS:
            return ""
        # Inside brackets no rule can begin, so only a comma can be missing there.
        inside = grouped or self.in_aggregate
        if not inside and self.begins_statement(self.position):
            return ""
        self.report(habits.missing_comma(self.tokens.after(self.position - 1)))
        return ","

    def literal(self) -> SurfaceLiteral:
        """Read one literal."""
        kind = self.kind
        if kind == "!":
            self.advance()
            return self._negated()
        if self.souffle and kind == "name" and self.word in TRUTHS:
            return self._truth()
        if kind in NEGATIONS or (kind == "name" and self._says_not()):
            return self._negation_habit()
        if kind == "name":
            return self._named()
        if kind in _NO_LITERAL:
            self.unexpected(
                "a literal", "write a literal such as `p(?x)`, or delete what stands before"
            )
        return self._comparison()

    def _says_not(self) -> bool:
        """Whether a name is `not`, or `NOT` before an atom."""
        if self.souffle:
            return False
        return self.word == "not" or (self.word.casefold() == "not" and self.ahead() == "name")

    def _truth(self) -> Compared:
        """Read `true` or `false` as a comparison that always or never holds."""
        span = self.here
        operator = "=" if self.word == "true" else "!="
        self.advance()
        same = Constant(0, Kind.NUMBER, span)
        return Compared(operator, same, same, span)

    def _negation_habit(self) -> SurfaceLiteral:
        place, spelled = self.here, self.word
        self.advance()
        if self.kind == "name" and self.word.casefold() == "exists":
            spelled = f"{spelled} {self.word}"
            self.advance()
        if self.kind == "(" and self.ahead() == "name" and self.ahead(2) == "(":
            self.report(habits.negation_habit(place, spelled, self._atom_text(self.position + 1)))
            opener = self.advance()
            negated = self._negated()
            self.close(opener, ")")
            return negated
        self.report(habits.negation_habit(place, spelled, self._atom_text(self.position)))
        return self._negated()

    def _atom_text(self, place: int) -> str:
        """Give the text of the atom that begins at a token; nothing where none does."""
        named = self.kinds[place] == "name" and self.kinds[place + 1] == "("
        closer = self.tokens.closer(place + 1) if named else None
        return "" if closer is None else self._spelled(place, closer)

    def _negated(self) -> SurfaceLiteral:
        if self.kind != "name":
            self.fail(habits.odd_negation(self.here))
        if self.word in CONSTRAINT_WORDS and self.ahead() == "(":
            return self._constraint("!")
        if self._is_comparison():
            self.fail(habits.odd_negation(self.here))
        return self.atom(negative=True)

    def _named(self) -> SurfaceLiteral:
        if self.word in CONSTRAINT_WORDS and self.ahead() == "(":
            return self._constraint("")
        if self._is_comparison():
            return self._comparison()
        return self.atom()

    def _is_comparison(self) -> bool:
        """Whether the current name begins a term rather than an atom."""
        word = self.word
        if word in PREFIX_WORDS or (word in AGGREGATE_WORDS and self._at_aggregate()):
            return True
        if self.ahead() != "(":
            return self._continues_term(self.position + 1)
        closer = self.tokens.closer(self.position + 1)
        return closer is not None and self._continues_term(closer + 1)

    def _constraint(self, sign: str) -> Compared:
        start, name = self.position, self.word
        self.advance()
        terms, names = self.arguments(self.advance())
        if len(terms) != 2 or names:  # noqa: PLR2004  a pattern and a text
            self.fail(
                habits.unexpected(
                    self.since(start),
                    name,
                    f"two arguments of `{name}`",
                    f'write `{name}("part", ?text)`',
                )
            )
        return Compared(sign + name, terms[0], terms[1], self.since(start))

    def _comparison(self) -> Compared:
        start = self.position
        left = self.term()
        if not self.souffle and self.kind == "name" and self._at_sql_word():
            return self._sql_comparison(start, left)
        operator = self._comparison_sign()
        if not operator:
            if self.kind == "open text":
                raise ResyncError
            self._no_literal(start, left)
        begun = self.position
        right = self.term()
        if self.kind == "||" and not self.souffle:
            right = self._joined_texts(begun, right)
        compared = Compared(operator, left, right, self.since(start))
        ends = self.kind == "=>" and self.constraining
        if not ends and (self.kind in COMPARISON_SIGNS or self.kind in COMPARISON_HABITS):
            self.fail(habits.comparison_chain(self.here))
        return compared

    def _joined_texts(self, begun: int, first: SurfaceTerm) -> SurfaceTerm:
        """Report `?a || " " || ?b` with `cat`, and read past; a comparison behind it is another."""
        sign, parts = self.here, [self._spelled(begun, self.position - 1)]
        self.joins_texts = True
        while self.kind == "||":
            before = self.position
            self.advance()
            start = self.position
            self.term()
            if self.kind in COMPARISON_SIGNS:
                self.position = before
                break
            parts.append(self._spelled(start, self.position - 1))
        self.joins_texts = False
        if len(parts) > 1:
            written = f"cat({', '.join(map(habits.in_double_quotes, parts))})"
            self.report(habits.operator_habit(sign, "||", written))
        return first

    def _at_sql_word(self) -> bool:
        """Whether `in`, `between`, `like`, one of them denied, or `is null` stands here."""
        word = self.word.casefold()
        after = self.tokens.word(self.position + 1) if self.ahead() == "name" else ""
        if word == "is":
            denied = after.casefold() == "not"
            second = self.tokens.word(self.position + 2) if denied else after
            return second.casefold() == "null"
        return (after.casefold() if word == "not" else word) in SQL_WORDS

    def _sql_comparison(self, start: int, left: SurfaceTerm) -> Compared:
        """Report `in`, `between`, `like` and `is null` with what says the same, and read past."""
        place, shown, first = self.here, self._spelled(start, self.position - 1), self.position
        denied = self.word.casefold() == "not"
        self.position += denied
        word = self.word.casefold()
        self.advance()
        edit = ""
        if word == "in" and self.kind in {"(", "["}:
            edit = self._listed(place, shown, denied=denied)
        elif word == "between":
            low = self._read_operand()
            if self.kind == "name" and self.word.casefold() == "and":
                self.advance()
                edit = habits.within(shown, low, self._read_operand(), denied=denied)
        elif word in {"like", "ilike"} and self.kind == "text":
            edit = habits.alike(shown, self._read_operand(), denied=denied, cased=word == "like")
        elif word in {"regexp", "rlike"} and self.kind == "text":
            edit = habits.searched(shown, self._read_operand(), denied=denied)
        elif word == "is":
            self.position += self.word.casefold() == "not"
            self.advance()
        self.report(habits.sql_habit(place, word, edit, shown))
        if self.position <= first:
            raise ResyncError
        return Compared("=", left, left, self.since(start))

    def _listed(self, place: Span, left: str, *, denied: bool) -> str:
        """Step over the list of `in`, in brackets of either kind; give what says the same."""
        closer = self.tokens.closer(self.position)
        opener = self.position
        if closer is None or closer == opener + 1:
            self.fail(habits.sql_habit(place, "in", ""))
        if self.kind == "(":
            self.arguments(self.advance())
        else:
            self.term()
        return habits.one_of(left, self._texts_between(opener + 1, closer), denied=denied)

    def _read_operand(self) -> str:
        start = self.position
        self.term()
        return self._spelled(start, self.position - 1)

    def _texts_between(self, first: int, closer: int | None) -> list[str]:
        """Give the texts between the commas of a list that ends at a bracket."""
        parts, start, depth = [], first, 0
        for place in range(first, closer or first):
            kind = self.kinds[place]
            depth += (kind in {"(", "["}) - (kind in {")", "]"})
            if kind == "," and not depth:
                parts.append(self._spelled(start, place - 1))
                start = place + 1
        return [*parts, self._spelled(start, (closer or first) - 1)]

    def _spelled(self, first: int, last: int) -> str:
        """Give the text of tokens as it was written."""
        return self.tokens.text[self.tokens.starts[first] : self.tokens.ends[last]]

    def _no_literal(self, start: int, left: SurfaceTerm) -> NoReturn:
        """Say what is wrong with a term that stands alone."""
        place = self.since(start)
        if isinstance(left, Constant) and left.kind is Kind.SYMBOL and self.kind == "(":
            closer = self.tokens.closer(self.position)
            arguments = "" if closer is None else self._spelled(self.position, closer)
            self.fail(habits.quoted_predicate(place, str(left.value), arguments))
        whole = self._with_separators(start)
        if whole:
            self.fail(habits.separators(place, whole))
        pair = self._spelled(start - 2, start) if start > 1 else ""
        if self.kinds[start - 1] == "," and spelling.number_edit(pair):
            self.fail(spelling.human_number(self.tokens.span(start - 2, start), pair))
        self.fail(habits.no_literal(place, ""))

    def _with_separators(self, start: int) -> str:
        """Give the number that `1,000` is meant to be; nothing where it is no such number."""
        first = start
        while (
            first > 1
            and self.kinds[first - 1] == ","
            and self.kinds[first - 2] == "number"
            and self._spelled(first - 2, first).count(" ") == 0
        ):
            first -= 2
        spelled = self._spelled(first, start)
        found = first < start and habits.GROUPED.fullmatch(spelled)
        return spelled.replace(",", "") if found else ""

    def _comparison_sign(self) -> str:
        kind = self.kind
        if kind in COMPARISON_SIGNS:
            self.advance()
            return kind
        spelled = self.word if kind == "name" else kind
        right = COMPARISON_HABITS.get(spelled, "")
        if right:
            self.report(habits.comparison_habit(self.here, spelled, right))
            self.advance()
        return right

    def atom(self, *, negative: bool = False) -> SignedAtom:
        """Read a predicate and its arguments."""
        start, name = self.position, self.word
        self.refuse_qualified()
        if self.ahead() != "(":
            if name.casefold() == "select" and not self.souffle:
                self.fail(habits.sql_statement(self.here, self.statement_text()))
            self.fail(habits.no_literal(self.here, "" if name == NIL else name))
        if name in self.reserved:
            self.report(habits.reserved_word(self.here, name, "predicate"))
        self.advance()
        terms, names = self.arguments(self.advance())
        return SignedAtom(name, terms, self.since(start), negative, names)

    def statement_text(self) -> str:
        """Give the text from here to where the rule ends."""
        place = self.position
        while self.kinds[place] not in {".", "end", "directive"}:
            place += 1
        return self._spelled(self.position, place - 1)

    def arguments(self, opener: int) -> tuple[tuple[SurfaceTerm, ...], tuple[Name, ...]]:
        """Read the arguments of an atom whose bracket has been opened, and their names."""
        terms: list[SurfaceTerm] = []
        names: dict[int, Name] = {}
        if self.accept(")"):
            return (), ()
        while True:
            if (
                self.kind == "name"
                and self.ahead() in {"=", "=="}
                and not (self.souffle and self.ahead() == "==")
            ):
                names[len(terms)] = self._argument_name()
            terms.append(self._argument_term())
            if self.accept(","):
                continue
            if self.accept(")"):
                return tuple(terms), self._names_of(terms, names)
            if (
                self.kind not in _STARTS
                or self.kind in {"!", "("}
                or self.begins_statement(self.position)
            ):
                self.close(opener, ")")
            self.report(habits.missing_comma(self.tokens.after(self.position - 1)))

    def _argument_name(self) -> Name:
        """Step over `column =`; Souffle knows no such form."""
        start, name = self.position, self.word
        self.advance()
        if self.kind == "==":
            self.report(habits.comparison_habit(self.here, "==", "="))
        self.advance()
        span = self.since(start)
        if self.souffle:
            self.report(habits.named_argument(span, name))
        return name, self.tokens.span(start, start)

    def _names_of(self, terms: list[SurfaceTerm], names: dict[int, Name]) -> tuple[Name, ...]:
        """Give the name of each argument, if any has one; in souffle mode they are dropped."""
        if not names or self.souffle:
            return ()
        here = self.since(self.position - 1)
        return tuple(names.get(place, ("", one.span or here)) for place, one in enumerate(terms))

    def _argument_term(self) -> SurfaceTerm:
        # Nearly every argument is one token: those do without the stack of operators.
        kind = self.kind
        if kind in {"variable", "text", "wild"} and self.ahead() in {",", ")"}:
            return self._leaf()
        return self.term()

    def aggregate_body(self) -> tuple[SurfaceLiteral, ...]:
        """Read `{ body }`, or one atom."""
        if self.kind != "{":
            # What follows the atom belongs to the comparison that the aggregate stands in.
            bare = self.kind == "name" and self.ahead() == "("
            return (self.atom() if bare else self.literal(),)
        opener = self.advance()
        branches = self.body()
        self.close(opener, "}")
        choices = (one for branch in branches for one in branch if isinstance(one, Choice))
        if len(branches) > 1 or next(choices, None) is not None:
            self.report(habits.alternatives_in_aggregate(self.since(opener)))
            return ()
        return branches[0]
