"""Read queries: a conjunction of atoms, negated atoms and comparisons, as people type it.

In: a text such as `is_vip(?c), customer_revenue(?c, ?r), ?r > 100000`, and a program whose columns
have kinds. Out: a `Query`: literals with typed constants, and the variables that are asked for, in
the order in which they are first written. Invariant: atoms are read as in goals, and the spans of
all mistakes lie in `<goal>`. A variable may stand twice; `_`, variables that begin with `_` and
columns left out are not asked for. A goal is a query of one atom.
"""

from __future__ import annotations

import re
from typing import Final, NoReturn

from constat.diagnostics import Diagnostic, Span
from constat.frozen import frozen
from constat.logic import (
    COMPARISONS,
    Apply,
    Atom,
    Column,
    Comparison,
    Kind,
    Literal,
    Negative,
    Positive,
    Program,
    Term,
    Variable,
)
from constat.syntax.goals import GOAL_NAME, Argument, GoalReader, GoalScanner
from constat.syntax.mistakes.habits import GROUPED, in_double_quotes, separators

MAX_LITERALS: Final = 100
_OPERATOR: Final = re.compile(r"<=|>=|!=|<|>|=")
_COMPARED: Final = re.compile(r"\s*(?:\?|_)")
_BLANK: Final = re.compile(r"\s*")
_WORD: Final = re.compile(r"[A-Za-z]+")
_BARE_WORD: Final = re.compile(r"[^\s,()\"'<>=!]+")


_ENDINGS: Final = frozenset({"order", "limit", "group", "having"})
_ORDER: Final = re.compile(r"order\s+by\s+\??(\w+)(\s+desc)?", re.IGNORECASE)
_LIMIT: Final = re.compile(r"limit\s+(\d+)", re.IGNORECASE)


@frozen
class Query:
    """What is asked: literals, and the columns of the answer with their declarations."""

    literals: tuple[Literal, ...]
    columns: tuple[Column, ...]
    text: str
    span: Span

    @property
    def goal(self) -> Atom | None:
        """The one atom, where each of its variables is a column of the answer once."""
        if len(self.literals) != 1 or not isinstance(self.literals[0], Positive):
            return None
        atom = self.literals[0].atom
        if any(isinstance(term, Apply) for term in atom.terms):
            return None
        names = [term.name for term in atom.terms if isinstance(term, Variable)]
        return atom if names == [column.name for column in self.columns] else None


def parse_query(text: str, program: Program) -> Query:
    """Read a query. Raises `ConstatError` with the mistakes found, placed in `<goal>`."""
    return _QueryReader(text, program).query()


class _QueryScanner(GoalScanner):
    """A position in the text of a query: an atom may be followed by more."""

    def _end(self) -> None:
        self.skip_blank()

    def take(self, wanted: str) -> bool:
        """Step over a text if it is next."""
        self.skip_blank()
        found = self.text.startswith(wanted, self.position)
        self.position += len(wanted) if found else 0
        return found

    def at_end(self) -> bool:
        """Whether nothing but a final dot is left."""
        self.skip_blank()
        return self.text[self.position :].rstrip() in {"", "."}

    def operand(self, *, of_text: bool = False) -> Argument:
        """Read one side of a comparison; where texts are compared, `[a` is one."""
        self.skip_blank()
        start = self.position
        if self.begins_structure() and not of_text:
            text = self.structure()
            return Argument("structure", text, self.tokens.stretch(start, self.position))
        found = _BARE_WORD.match(self.text, start)
        if found is None:
            form, text = self._value()
        else:
            self.position = found.end()
            span = self.tokens.stretch(start, self.position)
            form, text = self._token(found.group(), span)
        return Argument(form, text, self.tokens.stretch(start, self.position))

    def operator(self) -> str:
        """Read the sign of a comparison."""
        self.skip_blank()
        found = _OPERATOR.match(self.text, self.position)
        if found is None or found.group() not in COMPARISONS:
            reason = "a comparison such as `?x > 5` is expected here"
            edit = "write one of < <= > >= = !=; of a Bool, `= true` or `= false`"
            self.fail(_malformed(self.here(), reason, edit))
        self.position = found.end()
        return found.group()


@frozen
class _Compared:
    """A comparison whose constants wait for the kinds of the variables."""

    operator: str
    left: Argument
    right: Argument


class _QueryReader(GoalReader):
    """Reads one query against the declared predicates."""

    def __init__(self, text: str, program: Program) -> None:
        super().__init__(text, GOAL_NAME, program)
        self.scanner: _QueryScanner = _QueryScanner(text, GOAL_NAME, self.diagnostics)
        self.columns: dict[str, Column] = {}
        self._hidden = 0
        self._negated = False

    def query(self) -> Query:
        """Read all literals."""
        read: list[Literal | _Compared] = [self._literal()]
        while not self.scanner.at_end():
            if not self.scanner.take(","):
                self._no_comma()
            read.append(self._literal())
            if len(read) > MAX_LITERALS:
                reason = f"a query has at most {MAX_LITERALS} literals"
                self.fail(_malformed(self.scanner.here(), reason, "write a rule"))
        literals = tuple(
            self._comparison(one) if isinstance(one, _Compared) else one for one in read
        )
        self.finish()
        shown = tuple(column for name, column in self.columns.items() if not name.startswith("_"))
        return Query(literals, shown, self.scanner.text.strip(), self.scanner.whole())

    def _no_comma(self) -> NoReturn:
        """Say what joins two literals."""
        word = _WORD.match(self.scanner.text, self.scanner.position)
        said = word[0].casefold() if word else ""
        if said == "and":
            span = self.scanner.here(len(said))
            self.fail(
                _malformed(span, f"`{word[0] if word else ''}` does not join literals", "write `,`")
            )
        if said == "or":
            edit = "write two rules with the same head, one for each side, and ask for the head"
            self.fail(_malformed(self.scanner.here(len(said)), "a query has no `or`", edit))
        if said == "where":
            rest = in_double_quotes(self.scanner.text[self.scanner.position + len(said) :].strip())
            span = self.scanner.here(len(self.scanner.text))
            self.fail(_malformed(span, "`where` does not join literals", f"write `, {rest}`"))
        if said in _ENDINGS:
            span = self.scanner.here(len(self.scanner.text))
            reason = f"a query has no `{said}`: it says what holds, and options how rows are shown"
            self.fail(_malformed(span, reason, f"write {self._as_options()} instead"))
        reason = "`,` is missing between two literals"
        self.fail(_malformed(self.scanner.here(), reason, "write a comma"))

    def _as_options(self) -> str:
        """Write `order by ?x desc limit 5` as options of `constat query`."""
        rest = self.scanner.text[self.scanner.position :]
        order, limit = _ORDER.search(rest), _LIMIT.search(rest)
        down = ":desc" if order and order[2] else ""
        told = [f"`--order {order[1]}{down}`"] if order else []
        told += [f"`--limit {limit[1]}`"] if limit else []
        grouped = "an aggregate, `?n = count : { ... }`, beside what names the groups,"
        return " and ".join(told) or grouped

    def _refuse_separators(self) -> None:
        """Refuse `?t > 1,000`."""
        scanner = self.scanner
        start = max(scanner.text.rfind(sign, 0, scanner.position) for sign in "<>= ") + 1
        found = GROUPED.match(scanner.text, start)
        if found is not None and found.end() > scanner.position > start:
            span = scanner.tokens.stretch(start, found.end())
            self.fail(separators(span, found[0].replace(",", "")))

    def _literal(self) -> Literal | _Compared:
        scanner = self.scanner
        scanner.skip_blank()
        self._refuse_separators()
        self._negated = scanner.take("!")
        if not self._negated and _COMPARED.match(scanner.text, scanner.position):
            left, operator = scanner.operand(), scanner.operator()
            known = self.columns.get(left.text)
            of_text = known is not None and known.kind is Kind.SYMBOL
            return _Compared(operator, left, scanner.operand(of_text=of_text))
        start = scanner.position + len(_blank(scanner))
        predicate, terms = self.read()
        atom = Atom(predicate.name, terms, scanner.tokens.stretch(start, scanner.position))
        return Negative(atom) if self._negated else Positive(atom)

    def term(self, column: Column, argument: Argument | None) -> Term:
        """Turn an argument into a term; variables may come again."""
        if argument is None or argument.form == "wild":
            if argument is not None and argument.name:
                # Written by name it is read, as in rules; nobody can type a name with a point.
                self._hidden += 1
                return Variable(f"_{column.name}.{self._hidden}", argument.span)
            return self.unread(0, None if argument is None else argument.span)
        if argument.form != "variable":
            return self.constant(column, argument)
        if not self._negated:
            named = Column(
                argument.text, column.type_name, column.kind, structures=column.structures
            )
            self.columns.setdefault(argument.text, named)
        return Variable(argument.text, argument.span)

    def unread(self, place: int, span: Span | None) -> Variable:  # noqa: ARG002  goals have it
        """Give a variable that no other atom of the query has, as rules have it."""
        self._hidden += 1
        return Variable(f"_{self._hidden}", span)

    def _comparison(self, read: _Compared) -> Comparison:
        sides = [read.left, read.right]
        names = [side.text for side in sides if side.form == "variable"]
        column = next((self.columns[name] for name in names if name in self.columns), None)
        span = read.left.span
        if column is None or any(name not in self.columns for name in names):
            wrong = next((name for name in names if name not in self.columns), "")
            self.fail(_unbound(span, wrong))
        left, right = (
            Variable(side.text, side.span)
            if side.form == "variable"
            else self.constant(column, side)
            for side in sides
        )
        return Comparison(read.operator, left, right, span)


def _blank(scanner: GoalScanner) -> str:
    found = _BLANK.match(scanner.text, scanner.position)
    return found.group() if found else ""


def _malformed(span: Span, reason: str, edit: str) -> Diagnostic:
    note = "a query is atoms, atoms with `!` before them and comparisons, with commas between"
    return Diagnostic("C0430", reason, span, note=note, help=edit)


def _unbound(span: Span, name: str) -> Diagnostic:
    shown = f"`?{name}`" if name else "either side"
    return Diagnostic(
        "C0430",
        f"no atom of the query has a value for {shown}",
        span,
        note="a comparison chooses among values that an atom gives",
        help="write an atom with this variable before it: `revenue(?c, ?r), ?r > 100`",
    )
