"""Mistakes in rules and facts: habits of other languages, punctuation. Codes C0116 to C0143."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from constat.diagnostics import Diagnostic, Related, Span, nearest
from constat.patterns import regex
from constat.syntax.mistakes.spelling import quoted, shown
from constat.syntax.words import (
    AGGREGATE_HABITS,
    NO_VALUE_HABITS,
    TODAY_EDIT,
    TODAY_HABITS,
)

TRUTHS = frozenset({"true", "false"})
MAX_DEPTH = 200
MAX_ALTERNATIVES = 256


GROUPED = regex(r"[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?")
_WILD = regex("[%_]")


def bare_name(span: Span, name: str, *, compared: bool = False) -> Diagnostic:
    """`Gold` or `gold` as an argument, or `gold = "yes"` where it is `compared`."""
    variable = name if name[:1].islower() else name.lower()
    advice = f"write `{quoted(shown(name))}` for the text or `?{shown(variable)}` for a variable"
    if compared:
        # Who writes it means a column; a text is hardly ever compared with another one.
        advice = (
            f"write `?{shown(variable)}` here, and in the atom of that column "
            f"`{shown(name)} = ?{shown(variable)}`, or `?{shown(variable)}` in its place"
        )
    if name.casefold() in TODAY_HABITS:
        advice = TODAY_EDIT
    elif name.casefold() in TRUTHS:
        advice = f'write `"{name.casefold()}"`: a Bool is `"true"` or `"false"`'
    elif name.casefold() in NO_VALUE_HABITS:
        advice += "; `constat help nulls` says how rows without a value are asked for"
    return Diagnostic(
        "C0116",
        f"`{shown(name)}` is neither a variable nor a text",
        span,
        note="variables begin with `?`, texts stand in double quotes; a bare name could be either",
        help=advice,
    )


def today_habit(span: Span, name: str) -> Diagnostic:
    """`@today`."""
    return Diagnostic(
        "C0163",
        f"`@{shown(name)}` is not there: an answer of today can be told again tomorrow",
        span,
        note="nothing that a rule says depends on when it is asked",
        help=TODAY_EDIT,
    )


def negation_habit(span: Span, spelling: str, after: str) -> Diagnostic:
    """`not p(?x)`."""
    return Diagnostic(
        "C0117",
        f"`{spelling}` does not negate",
        span,
        note="an atom is negated by `!` directly before it",
        help=f"write `!{shown(after) or 'p(...)'}`",
    )


def comparison_habit(span: Span, spelling: str, right: str) -> Diagnostic:
    """`==`, `=<`, `is`."""
    return Diagnostic(
        "C0118",
        f"`{spelling}` is not a comparison",
        span,
        note="the comparisons are `=`, `!=`, `<`, `<=`, `>` and `>=`; `=` also binds a variable",
        help=f"write `{right}`",
    )


def null_habit(span: Span, word: str, column: str, edit: str = "") -> Diagnostic:
    """`state = NULL`; `edit` is the goal that asks for what has no value."""
    name = shown(column) or "it"
    advice = (
        f"for rows without a value declare `@[null = none]` for {name}, name the rows that have"
        " one, and deny that (`constat help nulls`)"
    )
    if edit:
        advice = f"for rows without a value ask `{edit}`; certain where {name} is `@[null = none]`"
    return Diagnostic(
        "C0118",
        f"`{word}` is no value, and nothing equals it",
        span,
        note="a column that a rule reads has a value, or is not known",
        help=f'{advice}; a text of this name is `"{word}"`',
    )


def sql_statement(span: Span, text: str) -> Diagnostic:
    """`SELECT name FROM customer WHERE city = 'Rome'`."""
    edit = as_atom(text)
    return Diagnostic(
        "C0136",
        "SQL stands in the `query` of an `.input`, and nowhere else",
        span,
        note="a rule or goal names columns of a relation: what WHERE says is written as values, and"
        " what is selected as variables",
        help=f"write `{edit}`"
        if edit
        else "write an atom for each table of FROM, joined by"
        " variables of the same name: `p(id = ?i), q(id = ?i)`; or put the SQL into a file, and"
        " `constat rules import FILE.sql` writes the rules",
    )


_IDENTIFIER = r'"?[A-Za-z_][A-Za-z0-9_]*"?'
_FOLDED = "count|sum|avg|min|max"
_FOLD = regex(rf"({_FOLDED})\s*\(\s*(\*|{_IDENTIFIER})\s*\)", re.IGNORECASE)
_SELECT = regex(
    rf"select\s+(\*|(?:{_FOLDED})\s*\(\s*(?:\*|{_IDENTIFIER})\s*\)|"
    rf"{_IDENTIFIER}(?:\s*,\s*{_IDENTIFIER})*)\s+from\s+({_IDENTIFIER})"
    r"(?:\s+where\s+(.+?))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_EQUALS = regex(rf"({_IDENTIFIER})\s*=\s*('[^'\"\\]*'|\"[^'\"\\]*\"|-?[0-9]+(?:[.][0-9]+)?)")
_LONGEST = 2_000


def as_atom(text: str) -> str:
    """Write a plain SELECT from one table as an atom; nothing where it is more than that."""
    found = _SELECT.fullmatch(text[:_LONGEST])
    fold = None if found is None else _FOLD.fullmatch(found[1])
    if found is None:
        return ""
    conditions: list[str] = []
    for one in re.split(r"\s+and\s+", found[3] or "", flags=re.IGNORECASE):
        equal = _EQUALS.fullmatch(one.strip())
        if one and equal is None:
            return ""
        if equal is not None:
            value = quoted(equal[2][1:-1]) if equal[2][0] in "'\"" else equal[2]
            conditions.append(f"{snake_case(equal[1])} = {value}")
    given = {one.partition(" ")[0] for one in conditions}
    named = (
        []
        if found[1] == "*" or fold is not None
        else [snake_case(one.strip()) for one in found[1].split(",")]
    )
    chosen = [f"{one} = ?{one}" for one in named if one not in given]
    if fold is not None:
        return _as_aggregate(fold, snake_case(found[2]), conditions)
    terms = ", ".join([*chosen, *conditions])
    return f"{snake_case(found[2])}({terms})" if terms else ""


def _as_aggregate(fold: re.Match[str], table: str, conditions: list[str]) -> str:
    """Write `count(*)` and `sum(total)` of a SELECT as an aggregate."""
    word = fold[1].casefold()
    function = AGGREGATE_HABITS.get(word, word)
    column = "" if fold[2] == "*" else snake_case(fold[2])
    target = "" if function == "count" or not column else f" ?{column}"
    given = [f"{column} = {target.strip() or '_'}"] if column else []
    terms = ", ".join([*given, *conditions])
    if not terms or (function != "count" and not target):
        return ""
    return f"?n = {function}{target} : {{ {table}({terms}) }}"


def snake_case(name: str) -> str:
    """Write the name of a table as `constat init` does: `Order Details` becomes `order_details`."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name.strip('"'))
    plain = re.sub(r"[^A-Za-z0-9]+", "_", words).strip("_").lower()
    return f"t_{plain}" if plain[:1].isdigit() or not plain else plain


def near_name(name: str, known: Iterable[str]) -> str | None:
    """Give the declared name that is meant: that of the table as `constat init` writes it first."""
    names = sorted(known)
    plain = snake_case(name)
    return plain if plain in names else nearest(name, names) or nearest(plain, names)


def sql_habit(span: Span, word: str, edit: str, left: str = "") -> Diagnostic:
    """`?x in ("a", "b")`, `?x between 1 and 5`, `?x like "a%"`, `?x is null`."""
    note = "the comparisons are `=`, `!=`, `<`, `<=`, `>` and `>=`, `match` and `contains`"
    advice = f"write `{edit}`" if edit else f"compare with one of these in place of `{word}`"
    if word == "is":
        note = "no value is NULL: a column that a rule reads has a value, or is not known"
        advice = (
            f"delete the condition on `{left}` with the comma before it, if a value is wanted; "
            "`constat help nulls` says how what is missing is asked for"
        )
    return Diagnostic("C0118", f"`{shown(word)}` is not a comparison", span, note=note, help=advice)


def in_double_quotes(text: str) -> str:
    """Write texts in single quotes as the language does; all letters stay in their places."""
    return _SINGLE.sub(lambda one: f'"{one[1]}"'.replace("''", "'").ljust(len(one[0])), text)


_SINGLE = regex(r"""(?<![\w"])'([^'"\\\n\r]*(?:(?:''|(?<=\w)'(?=\w))[^'"\\\n\r]*)*)'""")


def one_of(left: str, values: list[str], *, denied: bool) -> str:
    """Write `in` as alternatives, `not in` as a conjunction."""
    values = [in_double_quotes(one) for one in values]
    if denied:
        return ", ".join(f"{left} != {one}" for one in values)
    return "(" + "; ".join(f"{left} = {one}" for one in values) + ")"


def within(left: str, low: str, high: str, *, denied: bool) -> str:
    """Write `between` as two comparisons."""
    low, high = in_double_quotes(low), in_double_quotes(high)
    if denied:
        return f"({left} < {low}; {left} > {high})"
    return f"{left} >= {low}, {left} <= {high}"


def alike(left: str, pattern: str, *, denied: bool, cased: bool = True) -> str:
    """Write `like` as `contains` or `match`; not `cased`, `ilike` takes letters of both cases."""
    sign, inner = "!" if denied else "", pattern[1:-1]
    plain = inner.strip("%")
    if cased and inner == f"%{plain}%" and not _WILD.search(plain):
        return f'{sign}contains("{plain}", {left})'
    written = _escaped if cased else without_case
    parts = ({"%": ".*", "_": "."}.get(one) or written(one) for one in inner)
    return f'{sign}match("{"".join(parts)}", {left})'


def searched(left: str, pattern: str, *, denied: bool) -> str:
    """Write `regexp`, which finds its pattern anywhere, as `match`, which takes the whole text."""
    return f'{"!" if denied else ""}match(".*({pattern[1:-1]}).*", {left})'


def without_case(text: str) -> str:
    """Write a text as a pattern that takes letters of both cases."""
    pairs = ((one.upper(), one.lower()) for one in text)
    return "".join(
        _escaped(one) if up == low or len(up) != 1 or len(low) != 1 else f"[{up}{low}]"
        for one, (up, low) in zip(text, pairs, strict=True)
    )


def literally(text: str) -> str:
    """Write a text as a pattern that matches it alone."""
    return "".join(map(_escaped, text))


def _escaped(letter: str) -> str:
    return f"[{letter}]" if letter in "$()*+.?[]{|}" else letter


NOT_QUOTED: Final = "the name of a predicate is not quoted"


def quoted_predicate(span: Span, name: str, arguments: str) -> Diagnostic:
    """`"Orders"(?x)`."""
    return Diagnostic(
        "C0136",
        NOT_QUOTED,
        span,
        note="a predicate has the name of its declaration, `constat rules list` lists them; the "
        "name of the table stands in the query of its `.input`",
        help=f"write `{shown(snake_case(name) + (arguments or '(...)'))}`",
    )


def separators(span: Span, whole: str) -> Diagnostic:
    """`1,000`."""
    return Diagnostic(
        "C0112",
        "a number has no separators between thousands",
        span,
        note="a comma separates arguments and literals",
        help=f"write `{whole}`",
    )


def aggregate_habit(span: Span, word: str, right: str) -> Diagnostic:
    """`avg ?x : { ... }`."""
    return Diagnostic(
        "C0133",
        f"there is no aggregate `{word}`",
        span,
        note="the aggregates are `count`, `sum`, `min`, `max` and `mean`",
        help=f"write `{right}`",
    )


def counted_atom(span: Span, atom: str) -> Diagnostic:
    """`count(orders(id = ?i))`."""
    return Diagnostic(
        "C0133",
        "what is counted stands in braces, behind a colon",
        span,
        note="the aggregates are `count`, `sum`, `min`, `max` and `mean`",
        help=f"write `count : {{ {atom} }}`",
    )


def distinct_habit(span: Span, function: str, target: str) -> Diagnostic:
    """`count distinct ?x : { ... }`, `count ?x : { ... }`."""
    name = target.removeprefix("?") or "x"
    return Diagnostic(
        "C0133",
        f"`{function}` has no `distinct`"
        if function != "count"
        else "`count` counts rows and has no target",
        span,
        note="rows are counted; a relation holds each value once",
        help=f"to count rows, write `{function} : {{ ... }}`; to count different values, give them "
        f"a relation, `different(?{name}) :- ...`, and write `count : {{ different(?{name}) }}`",
    )


def call_habit(span: Span, name: str, argument: str) -> Diagnostic:
    """`year ?d`."""
    return Diagnostic(
        "C0116",
        f"the argument of `{name}` stands in parentheses",
        span,
        note="a function is written `name(argument)`",
        help=f"write `{name}({argument})`",
    )


def operator_habit(span: Span, spelling: str, right: str) -> Diagnostic:
    """`**`, `<<`, `?x & 3`."""
    return Diagnostic(
        "C0158",
        f"`{spelling}` is not an operator",
        span,
        note="the operators are `+ - * / % ^`, `band bor bxor bnot bshl bshr bshru` on bits, and "
        "`land lor lxor lnot`, which give 1 or 0",
        help=f"write `{right}`",
    )


def connective_habit(span: Span, spelling: str, right: str) -> Diagnostic:
    """`&&`, `or`."""
    return Diagnostic(
        "C0119",
        f"`{spelling}` does not join literals",
        span,
        note="`,` means and, `;` means or; `,` binds more tightly",
        help=f"write `{right}`",
    )


def arrow_habit(span: Span, spelling: str) -> Diagnostic:
    """`<-` between head and body."""
    return Diagnostic(
        "C0120",
        f"`{spelling}` does not join head and body",
        span,
        note="a rule is a head, `:-` and a body",
        help="write `:-`",
    )


def odd_constraint(span: Span, reason: str, *, named: bool = True) -> Diagnostic:
    """A constraint that is not `name: body => literal.`."""
    edit = "`.constraint known_customer: orders(?o, ?c) => customers(?c, _).`"
    return Diagnostic(
        "C0149",
        f"this constraint {reason}",
        span,
        label="" if named else "a name and `:` come first",
        note="wherever the left side of `=>` holds, the one literal on the right must hold; "
        "`=> false` says that the left side may never hold",
        help=f"write, for example, {edit}",
    )


def missing_dot(span: Span) -> Diagnostic:
    """A rule without its final dot."""
    return Diagnostic(
        "C0121",
        "the final dot is missing",
        span,
        label="expected `.` here",
        note="every rule and every fact ends with a dot",
        help="write `.` here",
    )


def missing_comma(span: Span) -> Diagnostic:
    """Two literals, terms or columns without a comma between them."""
    return Diagnostic(
        "C0122",
        "a comma is missing",
        span,
        label="expected `,` here",
        note="literals of a body, arguments and columns are separated by commas",
        help="write `,` here",
    )


def open_bracket(span: Span, opener: Span, bracket: str, closer: str) -> Diagnostic:
    """A bracket that is not closed where it should be."""
    return Diagnostic(
        "C0123",
        f"`{bracket}` is not closed",
        span,
        label=f"expected `{closer}` here",
        note="each bracket is closed within its rule",
        help=f"write `{closer}` here",
        related=(Related(opener, "opened here"),),
    )


def stray_bracket(span: Span, bracket: str) -> Diagnostic:
    """A bracket that closes nothing."""
    return Diagnostic(
        "C0123",
        f"`{bracket}` closes nothing",
        span,
        note="each bracket is closed within its rule",
        help=f"delete `{bracket}`",
    )


def bare_date(span: Span, spelling: str) -> Diagnostic:
    """`2024-01-01` without quotes."""
    return Diagnostic(
        "C0124",
        "dates are quoted",
        span,
        note="without quotes this is a subtraction of numbers",
        help=f"write `{quoted(shown(spelling))}`",
    )


def reserved_word(span: Span, word: str, what: str) -> Diagnostic:
    """A reserved word as a name."""
    return Diagnostic(
        "C0125",
        f"`{word}` is a reserved word and cannot name a {what}",
        span,
        note="the language uses this word itself; with `?` in front it can name a variable",
        help=f"write `{word}_`",
    )


def too_deep(span: Span) -> Diagnostic:
    """Terms or groups nested without end."""
    return Diagnostic(
        "C0129",
        f"this is nested more than {MAX_DEPTH} levels deep",
        span,
        note="terms and groups nest at most 200 levels deep, and a long sum is a nested term",
        help="give a part of it a name, for example `?part = ?x + ?y`",
    )


def unexpected(span: Span, found: str, expected: str, edit: str) -> Diagnostic:
    """A token that cannot stand where it stands."""
    what = f"`{shown(found)}`" if found else "the end of the file"
    return Diagnostic(
        "C0130",
        f"expected {expected}, found {what}",
        span,
        note="a rule is `head(...) :- literal, literal.`; a fact is `head(...).`",
        help=edit,
    )


def named_argument(span: Span, name: str) -> Diagnostic:
    """`is_vip(customer = ?c)` in a file that is read as Souffle's."""
    return Diagnostic(
        "C0131",
        f"`{shown(name)} =` names an argument, which Souffle does not know",
        span,
        note="a file with the pragma `constat` may name arguments; this one is read as Souffle's",
        help=f"write the value alone, in the place of `{shown(name)}`, and `_` for the others",
    )


def comparison_chain(span: Span) -> Diagnostic:
    """`1 < ?x < 5`."""
    return Diagnostic(
        "C0132",
        "comparisons do not chain",
        span,
        note="a comparison has one term on each side",
        help="write two, for example `1 < ?x, ?x < 5`",
    )


def odd_aggregate(span: Span, function: str, reason: str) -> Diagnostic:
    """An aggregate in a form that does not exist."""
    target = "" if function == "count" else " ?x"
    return Diagnostic(
        "C0133",
        f"{reason}",
        span,
        note="aggregates are `count : { ... }` and `sum ?x : { ... }`; min, max, mean are like sum",
        help=f"write `{function}{target} : {{ sale(?k, ?x) }}`",
    )


def misplaced_aggregate(span: Span, function: str) -> Diagnostic:
    """An aggregate as an argument."""
    return Diagnostic(
        "C0134",
        f"`{function}` stands in a comparison, not in an argument",
        span,
        note="an aggregate is a term of a comparison; its value is then used by name",
        help=f"write `?value = {function} ...` in the body, and `?value` here",
    )


def odd_negation(span: Span, variable: str = "") -> Diagnostic:
    """`!` before a comparison or a group, or before a variable alone."""
    edit = "turn a comparison around (`!=` for `=`); give a group a name: `!named(?x)`"
    if variable:
        edit = f'write `{variable} = "false"` where it is a Bool'
    return Diagnostic(
        "C0135",
        "`!` negates one atom",
        span,
        note="`!` stands before an atom, `match(...)` or `contains(...)`",
        help=edit,
    )


def compared_argument(span: Span, edit: str) -> Diagnostic:
    """`orders(id = ?i, total > 99)` and `orders(?i, > 99)`."""
    return Diagnostic(
        "C0136",
        "a comparison stands among the arguments of an atom",
        span,
        note="an argument is a value or a variable; a comparison is a literal of its own",
        help=f"write `{edit}`",
    )


def no_literal(span: Span, name: str, variable: str = "") -> Diagnostic:
    """A term, such as a variable, or a bare name where a literal is due."""
    written = f"`{shown(name)}`" if name else "a term alone"
    edit = f"write `{shown(name) or 'p'}(?x)` for an atom, or compare it, for example `?x = 1`"
    if variable:
        edit = (
            f'compare it: `{variable} = "true"` where it is a Bool, else such as `{variable} = 1`'
        )
    return Diagnostic(
        "C0136",
        f"{written} is not a literal",
        span,
        note="a body consists of atoms such as `p(?x)`, negated atoms, and comparisons",
        help=edit,
    )


def misplaced_description(span: Span) -> Diagnostic:
    """`///` inside a rule."""
    return Diagnostic(
        "C0137",
        "a description stands before what it describes",
        span,
        note="`///` describes the declaration or rule that follows; here it stands inside one",
        help="write `//` for a comment, or move the line up",
    )


def stray_dot(span: Span) -> Diagnostic:
    """`.decl p(x: symbol).`."""
    return Diagnostic(
        "C0138",
        "a directive has no final dot",
        span,
        note="only rules and facts end with a dot",
        help="delete the dot",
    )


def too_many_alternatives(span: Span) -> Diagnostic:
    """`(a;b),(c;d),...` multiplied out."""
    return Diagnostic(
        "C0141",
        f"this rule stands for more than {MAX_ALTERNATIVES} rules",
        span,
        note="`;` and several heads are multiplied out: each combination is a rule",
        help="give a group a name: `either(?x) :- p(?x); q(?x).`",
    )


def alternatives_in_aggregate(span: Span) -> Diagnostic:
    """`sum ?x : { p(?x); q(?x) }`."""
    return Diagnostic(
        "C0143",
        "`;` cannot stand in an aggregate",
        span,
        note="the body of an aggregate is one conjunction",
        help="give the choice a name: `either(?k, ?x) :- p(?k, ?x); q(?k, ?x).`",
    )
