"""Goals in the words of other languages, written anew as a whole.

In: a goal that cannot be read, and the declared predicates. Out: what is probably meant, or
nothing. Whoever offers it reads it first: an edit that cannot be read is none. Example:
`orders(amount > 100, id = ?i)` becomes `orders(amount = ?amount, id = ?i), ?amount > 100`.
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.syntax.mistakes.habits import literally, snake_case
from constat.syntax.mistakes.spelling import plain_number, quoted
from constat.syntax.words import AGGREGATE_HABITS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.logic import Predicate

_LONGEST: Final = 2_000
_TEXT: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'[^\'"\\\n]*\'')
_KEPT: Final = re.compile("\x01([0-9]+)\x01")
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
_BEFORE: Final = re.compile(
    rf"(?:\?-|(?:exists|is|does|distinct|find|prove|ask|all|show)\s+(?={_NAME}\s*\())\s*",
    re.IGNORECASE,
)
_JOINED: Final = re.compile(r"\s*(?:&&|&|\b(?:and|join|where|with)\b)\s*", re.IGNORECASE)
_CHAIN: Final = re.compile(rf"({_VALUE})\s*(<=|<|>=|>)\s*(\?\w+)\s*(<=|<|>=|>)\s*({_VALUE})")
_UNITED: Final = re.compile(
    rf"({_SIGN}\s*)((?:[$\u20ac\u00a3]|EUR|USD)?\s?-?[0-9][0-9_.']*(?:,[0-9]+)?)"
    r"\s?(?:[$\u20ac\u00a3]|EUR|USD|CHF|GBP)?(?=\s*(?:,|;|\)|$))"
)
_DATED: Final = re.compile(
    "\\b(?:date|to_date|timestamp|datetime)\\s*(?:\\(\\s*)?(\x01[0-9]+\x01)\\s*\\)?", re.IGNORECASE
)
_APART: Final = re.compile(
    "(\\?\\w+|\x01[0-9]+\x01)\\s+-\\s+(\\?\\w+|\x01[0-9]+\x01)(?=\\s*[<>=!])"
)
_FOLDED: Final = re.compile(
    rf"(?:(\?\w+)\s*=\s*)?(count|sum|avg|average|mean|min|max)\s*\(\s*({_NAME})"
    rf"(?:[.]({_NAME})|\s*(\([^()]*\)))\s*\)",
    re.IGNORECASE,
)
_ATOM: Final = re.compile(rf"({_NAME})\s*([(\[])([^()\[\]]*)([)\]])")
_COMPARED: Final = re.compile(rf"\s*({_NAME})\s*({_SIGN})\s*(.+?)\s*\Z", re.DOTALL)
_SELECT: Final = re.compile(
    rf"select\s+(?:distinct\s+)?(.+?)\s+from\s+({_NAME}|\x01[0-9]+\x01)(?:\s+where\s+(.+?))?\s*;?\s*",
    re.IGNORECASE | re.DOTALL,
)
_FOLD: Final = re.compile(rf"(count|sum|avg|min|max)\s*\(\s*([*]|{_NAME})\s*\)", re.IGNORECASE)


def whole_goal(text: str, predicates: Mapping[str, Predicate]) -> str:
    """Write a goal anew; nothing where no word of another language is in it."""
    if len(text) > _LONGEST or "\x01" in text:
        return ""
    kept: list[str] = []

    def keep(found: re.Match[str]) -> str:
        kept.append(quoted(found[0][1:-1]) if found[0][0] == "'" else found[0])
        return f"\x01{len(kept) - 1}\x01"

    plain = _TEXT.sub(keep, text.strip().removesuffix("."))
    selected = _SELECT.fullmatch(plain)
    mended = _of_select(selected, predicates) if selected else _mended(plain, predicates)
    found = _KEPT.sub(lambda one: kept[int(one[1])], mended)
    return "" if found == text.strip() else found


def _mended(text: str, predicates: Mapping[str, Predicate]) -> str:
    text = _BEFORE.sub("", text, count=1) if _BEFORE.match(text) else text
    text = _JOINED.sub(", ", text)
    text = _CHAIN.sub(
        lambda one: f"{one[3]} {_TURNED[one[2]]} {one[1]}, {one[3]} {one[4]} {one[5]}", text
    )
    text = _UNITED.sub(lambda one: f"{one[1]}{_number(one[2])}", text)
    text = _DATED.sub(r"\1", text)
    text = _APART.sub(r"days_between(\2, \1)", text)
    text = _FOLDED.sub(lambda one: _folded(one, predicates), text)
    return _compared(text, predicates)


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
        names = {one.name for one in predicate.columns}
        parts = []
        for part in found[3].split(","):
            one = _COMPARED.match(part)
            several = re.split(r"\s+or\s+", one[3], flags=re.IGNORECASE) if one else []
            if one is None or one[1] not in names or (one[2] == "=" and len(several) == 1):
                parts.append(part.strip())
                continue
            if f"{one[1]} = ?{one[1]}" not in parts:
                parts.append(f"{one[1]} = ?{one[1]}")
            behind.append(_test(f"?{one[1]}", one[2], one[3], several))
        return f"{found[1]}({', '.join(parts)})"

    text = _ATOM.sub(atom, text)
    return ", ".join([_alone(text, predicates), *behind])


def _test(left: str, sign: str, right: str, several: list[str]) -> str:
    if len(several) > 1:
        words = [one.strip().strip('"') for one in several]
        return f'match("{"|".join(map(literally, words))}", {left})'
    plain = re.fullmatch(r"[A-Za-z][\w.-]*", right)
    return f"{left} {_SIGNS.get(sign, sign)} {quoted(right) if plain else right}"


def _alone(text: str, predicates: Mapping[str, Predicate]) -> str:
    """Have `orders(id = ?i), amount > 100` read the column that it compares."""
    literals = re.split(r",(?![^(){}]*[)}])", text)
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
