"""Mistakes in goals and facts on the command line. Codes C0180 to C0189."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Related, Span
from constat.logic import NIL, RECORD, Branch, Column, Kind, Predicate, parse_value
from constat.patterns import regex
from constat.syntax.mistakes.habits import literally, near_name, snake_case
from constat.syntax.mistakes.spelling import number_edit, plain_number, quoted, shown, truth_meant
from constat.syntax.words import AGGREGATE_HABITS, RESERVED

_EXAMPLES: Final = MappingProxyType(
    {
        Kind.NUMBER: "5",
        Kind.UNSIGNED: "5",
        Kind.FLOAT: "1.5",
        Kind.SYMBOL: '"gold"',
        Kind.DATE: "2025-01-31",
        Kind.TIMESTAMP: "2025-01-31T10:00:00Z",
        Kind.DECIMAL: "10.50",
        Kind.BOOL: "true",
    }
)


_DEEPEST: Final = 3
_MOST: Final = 8
_LONGEST_EDIT: Final = 300


def example(predicate: Predicate) -> str:
    """A goal of that predicate with every column open."""
    return f"{predicate.name}({', '.join(f'?{column.name}' for column in predicate.columns)})"


def malformed(span: Span, reason: str, edit: str, about: str = "") -> Diagnostic:
    """A goal that is no atom; `about` is the atom that stands before what is too much."""
    return Diagnostic(
        "C0180",
        reason,
        span,
        note="a goal is one atom: a predicate and its arguments in parentheses",
        help=edit,
        about=about,
    )


def unknown_predicate(span: Span, name: str, known: list[str], whole: str = "") -> Diagnostic:
    """A predicate that the rules do not declare; `whole` is the atom with the names that are."""
    near = whole or near_name(name, known)
    names = ", ".join(known[:10]) + (", …" if len(known) > 10 else "")  # noqa: PLR2004  a line full
    edit = f"write `{near}`"
    if not near:
        # A word of the language names no relation, so that one is called a little otherwise.
        called = f"{name}_" if name in RESERVED else shown(name)
        edit = f"declare it, `.decl {called}(x: symbol)`, and write a rule that gives it"
    if not known:
        edit = f"name the rule files under `rules:` in constat.yaml; else {edit}"
    return Diagnostic(
        "C0181",
        f"there is no predicate `{shown(name)}`",
        span,
        note=f"the rules declare: {names}" if known else "no rule file declares any predicate",
        help=edit,
        about=name,
    )


def counted_relation(span: Span, name: str, predicate: Predicate, inner: str = "") -> Diagnostic:
    """`count(customer)`, `count(customer(country = "Chile"))`."""
    first = predicate.columns[predicate.key[0] if predicate.key else 0].name
    edit = f"?n = count : {{ {predicate.name}({inner or f'{first} = _'}) }}"
    return Diagnostic(
        "C0133",
        f"`{name}` stands before what it counts",
        span,
        note="the aggregates are `count`, `sum`, `min`, `max` and `mean`",
        help=f"write `{edit}`",
    )


def wrong_arity(span: Span, predicate: Predicate, written: Sequence[str]) -> Diagnostic:
    """Too many or too few arguments; those of the first columns keep what was written."""
    named = ", ".join(
        f"{column.name} = {one}" for column, one in zip(predicate.columns, written, strict=False)
    )
    few = 0 < len(written) < predicate.arity
    columns = ", ".join(f"{column.name}: {column.type_name}" for column in predicate.columns)
    plural = "" if predicate.arity == 1 else "s"
    return Diagnostic(
        "C0182",
        f"`{predicate.name}` has {predicate.arity} column{plural}, not {len(written)}",
        span,
        note=f"its columns are ({columns})",
        help=_APART_FROM
        if any(_NO_VALUE.search(one) for one in written)
        else _fitting(predicate, written, named if few else ""),
        related=() if predicate.span is None else (Related(predicate.span, "declared here"),),
    )


_NO_VALUE: Final = regex(r'\A"?\s*[<>=!]|[\u20ac$\u00a3](?=[0-9])')
_APART_FROM: Final = (
    "a comparison stands behind the atom, `, ?x > 5`, and a number has no other signs"
)


def _fitting(predicate: Predicate, written: Sequence[str], named: str) -> str:
    """Say how as many columns are given as there are; or none, where any row will do."""
    if named:
        text = f"{predicate.name}({named})"
        text = text if len(text) <= _LONGEST_EDIT else shown(text)
        return f"write `{text}`; columns that are not named may be anything"
    if not written:
        first = predicate.columns[predicate.key[0] if predicate.key else 0].name
        return f"for any row write `{predicate.name}({first} = ?{first})`"
    return f"write `{example(predicate)}`"


def unknown_columns(
    written: Sequence[tuple[str, Span, str]], predicate: Predicate
) -> Iterator[Diagnostic]:
    """Yield the named arguments that are no columns, of all: names, places and values.

    No edit gives a column that stands already, or that another edit gives.
    """
    names = [column.name for column in predicate.columns]
    given = {name for name, _, _ in written}
    for name, span, value in written:
        if name in names:
            continue
        near = _free_column(name, names, given)
        given.add(near)
        edit = f"write `{near} = {value}`"
        if not near:
            edit = f"delete `{shown(name)} = {value}`"
            if predicate.source is not None and names:
                edit += (
                    f"; or, where the source has it, add `{shown(name)}` to"
                    f" `.decl {predicate.name}` and to the `query` of its `.input`"
                )
        yield Diagnostic(
            "C0183",
            f"`{predicate.name}` has no column `{shown(name)}`",
            span,
            note=f"its columns are {', '.join(names) or 'none'}",
            help=edit if names else f"write `{predicate.name}()`",
            about=predicate.name,
        )


def _free_column(name: str, names: Sequence[str], given: Collection[str]) -> str:
    """Give the column that is meant, or one that contains the word; never one given beside it.

    Where none is like it there is none: another column would ask something else.
    """
    free = [one for one in names if one not in given]
    near = near_name(name, free)
    if near is None and near_name(name, names) is not None:
        return ""
    within = [one for one in free if len(name) > 2 and name in one.replace("_", "")]  # noqa: PLR2004  a word
    # `c` may be short for `customer`, where no other column is.
    short = [one for one in free if name.startswith(one)]
    return near or next(iter(within), "") or (short[0] if len(short) == 1 else "")


def column_again(span: Span, name: str) -> Diagnostic:
    """One column given twice."""
    return Diagnostic(
        "C0184",
        f"column `{shown(name)}` is given twice",
        span,
        note="each column is given at most once; those left out are free",
        help="delete one of the two",
    )


def mixed_arguments(span: Span, edit: str) -> Diagnostic:
    """Named and positional arguments in one atom."""
    return Diagnostic(
        "C0185",
        "named and unnamed arguments stand in one atom",
        span,
        note="either all arguments are named, or they go by position",
        help=f"write `{edit}`",
    )


def incomplete_head(span: Span, missing: list[str]) -> Diagnostic:
    """A fact or the head of a rule without some of the columns."""
    names = ", ".join(f"`{shown(name)}`" for name in missing)
    return Diagnostic(
        "C0159",
        f"a fact or head has every column; {names} {'is' if len(missing) == 1 else 'are'} left out",
        span,
        note="columns can be left out in bodies and goals, where any value will do",
        help=f"add `{missing[0]} = ` and its value",
    )


def wrong_value(
    span: Span, column: Column, reason: str, written: str = "", name: str = ""
) -> Diagnostic:
    """A value that is none of the column's type; `written` behind a `name`, where there is one."""
    numeric = column.kind in {Kind.NUMBER, Kind.UNSIGNED, Kind.FLOAT, Kind.DECIMAL}
    before = f"{name} = " if name else ""
    edit = number_edit(written, before) if numeric else ""
    if column.kind is Kind.BOOL:
        edit = f"write `{before}{truth_meant(written) or 'true'}`"
        edit += "" if truth_meant(written) else f" or `{before}false`, as it is meant"
    if column.kind is Kind.DATE and (days := _days_of(written)):
        edit = " or ".join(f"`{before}{day}`" for day in days)
        edit = f"write {edit}, as it is meant" if len(days) > 1 else f"write {edit}"
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` {reason}",
        span,
        note=f"column `{column.name}` is of type {column.type_name}{_made_of(column)}",
        help=edit or f"write{_for_example(column)} `?{column.name}` for any value",
        about="" if edit else column.name,
    )


_DAY: Final = regex(
    r"(\d{1,4})[./-](\d{1,2})[./-](\d{1,4})(?:[T ]00:00(?::00(?:[.]0+)?)?Z?)?\Z", re.ASCII
)
"""A day, or the midnight with which it begins."""


def _days_of(written: str) -> list[str]:
    """Write a day as the language does; two days where it may be either."""
    found = _DAY.match(written.strip())
    if found is None:
        return []
    first, second, third = found.groups()
    year = 4
    orders = [(third, second, first), (third, first, second), (first, second, third)]
    days = dict.fromkeys(
        f"{one[0]}-{int(one[1]):02}-{int(one[2]):02}" for one in orders if len(one[0]) == year
    )
    if "." in written:
        days = dict.fromkeys(list(days)[:1])
    return [one for one in days if _is_day(one)]


def _is_day(text: str) -> bool:
    try:
        parse_value(text, Kind.DATE)
    except ValueError:
        return False
    return True


def _made_of(column: Column) -> str:
    """What the type of a column is, where its name does not tell."""
    if column.structures is not None:
        branches = column.structures.branches.get(column.type_name, ())
        shapes = [f"`{shown(_shape(branch))}`" for branch in branches[:3]]
        return f", which is {' or '.join(shapes)}{' …' if len(branches) > len(shapes) else ''}"
    return "" if column.type_name == column.kind.value else f", a {column.kind.value}"


def _shape(branch: Branch) -> str:
    fields = ", ".join(f"{one.name}: {one.type_name}" for one in branch.fields)
    if branch.constructor == RECORD:
        return f"[{fields}]"
    return f"{branch.constructor}({fields})" if fields else branch.constructor


def _for_example(column: Column) -> str:
    value = _example(column, 0)
    return "" if value is None else f", for example, `{value}`, or"


def _example(column: Column, depth: int) -> str | None:
    """A value of a column; nothing where a structure needs many levels."""
    if column.structures is None or column.kind is not Kind.STRUCTURE:
        return _EXAMPLES.get(column.kind)
    if depth and column.structures.is_record(column.type_name):
        return NIL
    if depth > _DEEPEST:
        return None
    branches = column.structures.branches.get(column.type_name, ())
    # Each level tries what needs least, and one branch only: types may be large.
    for branch in sorted(branches, key=lambda one: _parts(one, column.type_name))[:1]:
        fields = [_example(one, depth + 1) for one in branch.fields[:_MOST]]
        texts = [one for one in fields if one is not None]
        if len(texts) < len(branch.fields):
            return None
        if branch.constructor == RECORD:
            return f"[{', '.join(texts)}]"
        return f"{branch.constructor}({', '.join(texts)})" if texts else branch.constructor
    return None


def _parts(branch: Branch, type_name: str) -> tuple[bool, int]:
    """How much a branch needs: one that holds its own type needs another branch."""
    own = any(one.type_name == type_name for one in branch.fields)
    return own, sum(one.kind is Kind.STRUCTURE for one in branch.fields)


def quoted_number(span: Span, column: Column, text: str, name: str = "") -> Diagnostic:
    """`"5"` for a column of numbers."""
    try:
        parse_value(text, column.kind)
    except ValueError as error:
        return wrong_value(span, column, str(error))
    return Diagnostic(
        "C0186",
        f"the value of column `{column.name}` is a quoted text",
        span,
        note=f"column `{column.name}` is of type {column.type_name}: its values are not quoted",
        help=f"write `{f'{name} = ' if name else ''}{shown(text)}`",
    )


def repeated_variable(span: Span, name: str) -> Diagnostic:
    """One variable twice in a goal."""
    return Diagnostic(
        "C0187",
        f"`?{shown(name)}` stands twice in the goal",
        span,
        note="each variable of a goal is a question of its own",
        help=f"name the second `?{shown(name)}_2`, or write a rule: `same(?x) :- p(?x, ?x).`",
    )


def open_fact(
    span: Span, predicate: Predicate, given: Mapping[int, str], *, leaves_out: bool
) -> Diagnostic:
    """A fact with variables, or without columns that may not be left out; `given` are values."""
    name = shown(predicate.name)
    columns = predicate.columns
    missing = [shown(one.name) for place, one in enumerate(columns) if place not in given]
    note = "a fact is ground: it says something about particular values"
    if leaves_out and not predicate.key:
        note = f"columns are left out only where a key names the row; `{name}` has no `@[key]`"
    elif leaves_out and not {*predicate.key} <= given.keys():
        key = ", ".join(f"`{shown(columns[place].name)}`" for place in predicate.key)
        note = f"columns are left out only where the key of the row is given: {key}"
    edit = f"write a value in each column, as in `{fact_example(predicate, given)}`"
    if leaves_out and predicate.key:
        key_cells = {place: _example(columns[place], 0) or "..." for place in predicate.key}
        stated = {**key_cells, **given}
        named = ", ".join(f"{columns[place].name} = {stated[place]}" for place in sorted(stated))
        what = "leave out" if {*predicate.key} <= given.keys() else "give the key, and leave out"
        edit = f"{what} what is not stated: `{_short(f'{name}({named})', predicate)}`"
    listed = ", ".join(f"`{one}`" for one in missing[:_MOST])
    more = ", …" if len(missing) > _MOST else ""
    has = "has" if len(missing) == 1 else "have"
    message = f"a fact has a value in each column; {listed}{more} {has} none"
    return Diagnostic("C0188", message, span, note=note, help=edit)


def fact_example(predicate: Predicate, given: Mapping[int, str] = MappingProxyType({})) -> str:
    """A fact of a predicate: what is given, and for the rest values of the columns' types."""
    cells = [
        given.get(place) or _example(column, 0) or "..."
        for place, column in enumerate(predicate.columns)
    ]
    return _short(f"{predicate.name}({', '.join(cells)})", predicate)


def _short(text: str, predicate: Predicate) -> str:
    return text if len(text) <= _LONGEST_EDIT else f"{shown(predicate.name)}(...)"


def of_fact(one: Diagnostic, text: str, predicates: Mapping[str, Predicate]) -> Diagnostic:
    """Give the edit for a fact, where that for a goal leads to what no fact may be."""
    name = text.partition("(")[0].strip()
    predicate = predicates.get(name)
    edit = ""
    if one.code == "C0181" and predicates and near_name(one.about, predicates) is None:
        columns = len(text.partition("(")[2].rstrip(" .)").split(","))
        listed = ", ".join(f"c{place}: symbol" for place in range(1, columns + 1))
        edit = (
            f"facts are of declared predicates: write `.decl {shown(name)}({listed})` in a rule"
            " file, each column with its type, and no rule and no `.input` for it"
        )
    elif one.code == "C0182" and predicate is not None:
        edit = f"write a value in each column, as in `{fact_example(predicate)}`"
        if predicate.key:
            edit = open_fact(one.span or Span("", 1, 1, 1, 1), predicate, {}, leaves_out=True).help
    elif one.code == "C0186" and one.about and predicate is not None:
        column = next(each for each in predicate.columns if each.name == one.about)
        value = _example(column, 0)
        edit = "" if value is None else f"write, for example, `{value}`"
    elif one.code == "C0180" and one.about:
        edit = f"state one fact at a time, first `{shown(one.about)}`"
    return replace(one, help=edit) if edit else one


def too_long(span: Span, limit: int) -> Diagnostic:
    """A goal of absurd length."""
    return Diagnostic(
        "C0189",
        f"the goal is longer than {limit} characters",
        span,
        note="a goal is one atom; tables of values belong into facts or a source",
        help="write a rule that names what is asked, and prove its head",
    )


def needs_quotes(span: Span, text: str) -> Diagnostic:
    """A bare token with a character that only a quoted text may hold."""
    return malformed(
        span,
        "this value needs quotes",
        f"write `{quoted(shown(text))}`",
    )


# Goals in the words of other languages, written anew as a whole.

_LONGEST: Final = 2_000
_TEXT: Final = regex(r'"(?:[^"\\\n]|\\.)*"|\'[^\'"\\\n]*\'')
_KEPT: Final = regex("\x01([0-9]+)\x01")
_NAME: Final = r"[A-Za-z][A-Za-z0-9_]*"
_VALUE: Final = "(?:\x01[0-9]+\x01|[^\\s,();]+)"
_SIGN: Final = r"(?:!=|<>|<=|>=|=<|=>|==|=|<|>|\u2265|\u2264|\u2260)"
_SIGNS: Final = MappingProxyType(
    {
        "<>": "!=",
        "=<": "<=",
        "=>": ">=",
        "==": "=",
        "\u2265": ">=",
        "\u2264": "<=",
        "\u2260": "!=",
    }
)
_TURNED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})
_BEFORE: Final = regex(
    rf"(?:\?-|(?:exists|is|does|distinct|find|prove|ask|all|show)\s+(?={_NAME}\s*\())\s*",
    re.IGNORECASE,
)
_JOINED: Final = regex(
    r"\s*(?:&&|&|\b(?:and|join|where|with)\b)\s*(?=[?!(\x01]|[A-Za-z]\w*\s*[(<>=!]|\d+\s*[<>=!])",
    re.IGNORECASE,
)
_CHAIN: Final = regex(rf"({_VALUE})\s*(<=|<|>=|>)\s*(\?\w+)\s*(<=|<|>=|>)\s*({_VALUE})")
_UNITED: Final = regex(
    rf"({_SIGN}\s*)((?:[$\u20ac\u00a3]|EUR|USD)?\s?-?[0-9][0-9_.']*(?:(?:,[0-9]{{3}})+(?:[.][0-9]+)?"
    r"|,[0-9]+)?)\s?(?:[$\u20ac\u00a3]|EUR|USD|CHF|GBP)?(?=\s*(?:,|;|\)|$))"
)
_DATED: Final = regex(
    "\\b(?:date|to_date|timestamp|datetime)\\s*(?:\\(\\s*)?(\x01[0-9]+\x01)\\s*\\)?", re.IGNORECASE
)
_APART: Final = regex("(\\?\\w+|\x01[0-9]+\x01)\\s+-\\s+(\\?\\w+|\x01[0-9]+\x01)(?=\\s*[<>=!])")
_FOLDED: Final = regex(
    rf"(?:(\?\w+)\s*=\s*)?(count|sum|avg|average|mean|min|max)\s*\(\s*({_NAME})"
    rf"(?:[.]({_NAME})|\s*(\([^()]*\)))\s*\)",
    re.IGNORECASE,
)
_ATOM: Final = regex(rf"({_NAME})\s*([(\[])([^()\[\]]*)([)\]])")
_COMPARED: Final = regex(rf"\s*({_NAME})\s*({_SIGN})\s*(.+?)\s*\Z", re.DOTALL)
_QUOTED_TEST: Final = regex(rf"\s*{_SIGN}\s*-?[0-9][0-9.,]*\s*")
_PRICED: Final = regex(r"[\u20ac$\u00a3]\s?[0-9][0-9.,'_]*(?<=[0-9])")
_TRUTH: Final = regex(rf"\s*(!|not\s+)?\s*({_NAME}|\?\w+)\s*")
_INNER: Final = regex(
    rf"\s*(?:({_NAME})\s*=\s+)?(\?\w+)?\s*(?!=(?!>)){_SIGN.replace('(?:', '(', 1)}\s*(.+?)\s*\Z",
    re.DOTALL,
)
"""`> 99`, `?x > 99` and `total = > 99` among arguments."""
_UP_TO: Final = "\x02"
_EITHER: Final = "\x03"
_ANY_OF: Final = regex("\x03([^\x03].*)\x03(?=, )")
_LISTED: Final = regex(
    rf"(?<![?\w])({_NAME})\s+in\s*[(\[]\s*({_VALUE}(?:\s*,\s*{_VALUE})+)\s*[)\]]", re.IGNORECASE
)
_BOUNDS: Final = regex(rf"(between\s+{_VALUE})\s+and\s+({_VALUE})", re.IGNORECASE)
_BETWEEN: Final = regex(
    rf"\s*(?:({_NAME})\s*=?\s*)?between\s+({_VALUE})\s+{_UP_TO}\s+({_VALUE})\s*", re.IGNORECASE
)
_DENIED: Final = regex(rf"\s*(?:({_NAME})\s*=\s*)?(?:!|not\s+)\s*({_VALUE})\s*", re.IGNORECASE)
_WORDS: Final = regex(rf"({_NAME}\s*=\s*)?([^\W\d_][^?\"=$<>\[\]\x01]*\s[^?\"=$<>\[\]\x01]*)")
_SELECT: Final = regex(
    rf"select\s+(?:distinct\s+)?(.+?)\s+from\s+({_NAME}|\x01[0-9]+\x01)(?:\s+where\s+(.+?))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_FOLD: Final = regex(rf"(count|sum|avg|min|max)\s*\(\s*([*]|{_NAME})\s*\)", re.IGNORECASE)


def whole_goal(text: str, predicates: Mapping[str, Predicate]) -> str:
    """Write a goal anew; nothing where no word of another language is in it."""
    if len(text) > _LONGEST or "\x01" in text:
        return ""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        if _QUOTED_TEST.fullmatch(found[0][1:-1]):
            return found[0][1:-1]
        kept.append(quoted(found[0][1:-1]) if found[0][0] == "'" else found[0])
        return f"\x01{len(kept) - 1}\x01"

    plain = _TEXT.sub(keep, text.strip().removesuffix("."))
    selected = _SELECT.fullmatch(plain)
    mended = _of_select(selected, predicates) if selected else _mended(plain, predicates)
    found = _KEPT.sub(lambda one: kept[int(one[1])], mended)
    found = _ANY_OF.sub(lambda one: _pattern(one[1].split(_EITHER)), found)
    return "" if found == text.strip() else found


def _pattern(texts: list[str]) -> str:
    """Write texts, quoted or not, as a pattern that matches one of them."""
    plain = (one[1:-1].replace('\\"', '"') if one[:1] == '"' else one for one in texts)
    return quoted("|".join(map(literally, plain)))


def _mended(text: str, predicates: Mapping[str, Predicate]) -> str:
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    text = _LISTED.sub(lambda one: f"{one[1]} = {' or '.join(re.split(r',', one[2]))}", text)
    text = _BOUNDS.sub(rf"\1 {_UP_TO} \2", text)
    text = _JOINED.sub(", ", text)
    text = _CHAIN.sub(
        lambda one: f"{one[3]} {_TURNED[one[2]]} {one[1]}, {one[3]} {one[4]} {one[5]}", text
    )
    text = _PRICED.sub(lambda one: _number(one[0]), text)
    text = _UNITED.sub(lambda one: f"{one[1]}{_number(one[2])}", text)
    text = _DATED.sub(r"\1", text)
    text = _APART.sub(r"days_between(\2, \1)", text)
    text = _FOLDED.sub(lambda one: _folded(one, predicates), text)
    return _compared(text, predicates).replace(_UP_TO, "and")


def _number(text: str) -> str:
    """Write a number plainly; what is none stays."""
    digits = text.strip(" $\u20ac\u00a3EURSD").replace("_", "")
    return plain_number(digits) or digits


def _folded(found: re.Match[str], predicates: Mapping[str, Predicate]) -> str:
    """Write `max(orders.amount)` and `count(orders(id = 1))` as aggregates."""
    name, column, inner = found[3], found[4], found[5]
    if name not in predicates:
        return found[0]
    word = found[2].casefold()
    function = AGGREGATE_HABITS.get(word, word)
    result = found[1] or "?n"
    if inner is not None:
        return f"{result} = count : {{ {name}{inner} }}" if function == "count" else found[0]
    target = "" if function == "count" else f" ?{column}"
    key = _naming(predicates[name], column)
    given = "_" if function == "count" else f"?{column}"
    return f"{result} = {function}{target} : {{ {name}({key}{column} = {given}) }}"


def _naming(predicate: Predicate, *without: str) -> str:
    """Name the key, so that equal values of several rows count each."""
    names = (predicate.columns[place].name for place in predicate.key)
    return "".join(f"{name} = _, " for name in names if name not in without)


def _of_select(found: re.Match[str], predicates: Mapping[str, Predicate]) -> str:
    """Write a SELECT from one table."""
    predicate = predicates.get(snake_case(found[2]))
    if predicate is None:
        return ""
    names = [one.name for one in predicate.columns]
    conditions = [] if found[3] is None else re.split(r"\s+and\s+", found[3], flags=re.IGNORECASE)
    fold = _FOLD.fullmatch(found[1].strip())
    columns = [snake_case(one) for one in found[1].split(",")] if not fold else []
    if found[1].strip() == "*":
        columns = names
    if not {*columns} <= {*names}:
        return ""
    if fold is None:
        given = ", ".join(f"{one} = ?{one}" for one in columns)
        return _compared(", ".join([f"{predicate.name}({given})", *conditions]), predicates)
    word, column = fold[1].casefold(), snake_case(fold[2]) if fold[2] != "*" else ""
    if column and column not in names:
        return ""
    function = AGGREGATE_HABITS.get(word, word)
    given = f"{column} = ?{column}" if column else f"{names[0]} = _"
    inner = f"{predicate.name}({_naming(predicate, column, names[0])}{given})"
    body = _compared(", ".join([inner, *conditions]), predicates)
    return f"?n = {function}{f' ?{column}' if function != 'count' else ''} : {{ {body} }}"


def _compared(text: str, predicates: Mapping[str, Predicate]) -> str:
    """Take comparisons out of atoms, and have columns that stand alone read by one."""
    behind: list[str] = []

    def atom(found: re.Match[str]) -> str:
        predicate = predicates.get(found[1])
        if predicate is None:
            return found[0]
        return f"{found[1]}({', '.join(_arguments(found[3].split(','), predicate, behind))})"

    text = _ATOM.sub(atom, text)
    return ", ".join([_alone(text, predicates), *behind])


def _arguments(written: list[str], predicate: Predicate, behind: list[str]) -> list[str]:
    """Write the arguments of an atom; comparisons among them go behind it."""
    columns = {one.name: one for one in predicate.columns}
    parts: list[str] = []
    for place, part in enumerate(written):
        inner = _INNER.match(_with_sign(part, columns))
        one = _COMPARED.match(part) if inner is None else None
        several = re.split(r"\s+or\s+", one[3], flags=re.IGNORECASE) if one else []
        if inner is not None and place < predicate.arity:
            name = inner[1] or predicate.columns[place].name
            left = inner[2] or f"?{name}"
            parts.append(f"{name} = {left}" if inner[1] else left)
            tests = [_test(left, inner[3], one, []) for one in inner[4].split(_UP_TO)]
            behind += [tests[0], *(one.replace(">=", "<=") for one in tests[1:])]
        elif one is None or one[1] not in columns or (one[2] == "=" and len(several) == 1):
            named = columns.get(one[1]) if one and one[2] == "=" else None
            at_place = predicate.columns[place] if place < predicate.arity else None
            parts.append(_quoting(part.strip(), named or (None if one else at_place)))
        elif len(several) > 1 and one[2] not in {"=", "=="}:
            # Which of them are meant nobody knows.
            parts.append(part.strip())
        else:
            if f"{one[1]} = ?{one[1]}" not in parts:
                parts.append(f"{one[1]} = ?{one[1]}")
            behind.append(_test(f"?{one[1]}", one[2], one[3], several))
    return _by_name(parts, predicate)


def _with_sign(part: str, columns: Collection[str]) -> str:
    """Write `between 3 and 9` and `not 5` among arguments with a sign."""
    between, denied = _BETWEEN.fullmatch(part), _DENIED.fullmatch(part)
    found = between or denied
    if found is None or (found[1] and found[1] not in columns):
        return part
    named = f"{found[1]} = " if found[1] else ""
    return f"{named}>= {between[2]}{_UP_TO}{between[3]}" if between else f"{named}!= {found[2]}"


def _quoting(part: str, column: Column | None) -> str:
    """Put quotes around a text with blanks."""
    found = _WORDS.fullmatch(part)
    if column is None or column.kind is not Kind.SYMBOL or found is None:
        return part
    return f"{found[1] or ''}{quoted(found[2])}"


def _by_name(parts: list[str], predicate: Predicate) -> list[str]:
    """Name arguments that are fewer than the columns: they are those of the first."""
    mixed = any("=" in one for one in parts)
    if not 0 < len(parts) <= predicate.arity or (len(parts) == predicate.arity and not mixed):
        return parts
    pairs = zip(predicate.columns, parts, strict=False)
    return [
        one if "=" in one else f"{column.name} = {one}"
        for column, one in pairs
        if one not in {"", "_", "?"}
    ]


def _test(left: str, sign: str, right: str, several: list[str]) -> str:
    if len(several) > 1:
        return f"match({_EITHER}{_EITHER.join(one.strip() for one in several)}{_EITHER}, {left})"
    plain = re.fullmatch(r"[A-Za-z][\w.-]*", right)
    return f"{left} {_SIGNS.get(sign, sign)} {quoted(right) if plain else right}"


def _alone(text: str, predicates: Mapping[str, Predicate]) -> str:
    """Have `orders(id = ?i), amount > 100` read the column that it compares.

    A literal that is the name of a column, or a variable, asks whether it is true.
    """
    literals = re.split(r",(?![^(){}]*[)}])", text)
    for place, literal in enumerate(literals):
        if place and (truth := _TRUTH.fullmatch(literal)):
            literals[place] = f"{truth[2]} = {'false' if truth[1] else 'true'}"
    found = [(place, _COMPARED.match(one)) for place, one in enumerate(literals)]
    for place, one in found:
        if one is None:
            continue
        for at, other in enumerate(literals):
            atom = _ATOM.search(other)
            predicate = predicates.get(atom[1]) if atom else None
            names = {each.name for each in predicate.columns} if predicate else set()
            if atom is None or one[1] not in names or "=" not in atom[3]:
                continue
            given = re.search(rf"\b{one[1]}\s*=\s*(\?\w+)", atom[3])
            if given is None and one[2] in {"=", "=="}:
                literals[at] = other.replace(atom[3], f"{atom[3]}, {one[1]} = {one[3]}", 1)
                literals[place] = ""
                break
            variable = given[1] if given else f"?{one[1]}"
            if given is None:
                literals[at] = other.replace(atom[3], f"{atom[3]}, {one[1]} = {variable}", 1)
            literals[place] = _test(variable, one[2], one[3], [])
            break
    return ", ".join(one.strip() for one in literals if one.strip())
