"""Structure types that tests share, with strategies of their values.

`Node = [n: number, f: float, s: symbol, next: Node]`, `List = [head: number, tail: List]` and
`Expression = Number { x: number } | Add { l: Expression, r: Expression } |
Named { s: symbol, e: Expression } | Zero {}`.
"""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from constat.logic import Branch, Column, Kind, Structures
from constat.logic.structures import construct

_NODE = ("n: number", "f: float", "s: symbol", "next: Node")


def _field(told: str) -> Column:
    name, _, kind = told.partition(": ")
    known = kind in {one.value for one in Kind}
    return Column(name, kind, Kind(kind) if known else Kind.STRUCTURE)


def structures(**types: dict[str, tuple[str, ...]]) -> Structures:
    """Give types by name, each with its constructors and their fields, `x: number`."""
    branches = {
        name: tuple(
            Branch(constructor, tuple(map(_field, fields))) for constructor, fields in made.items()
        )
        for name, made in types.items()
    }
    # A field knows what its type is made of, as a column does.
    found = Structures(branches)
    for name, made in branches.items():
        branches[name] = tuple(
            replace(
                one,
                fields=tuple(
                    replace(field, structures=found) if field.kind is Kind.STRUCTURE else field
                    for field in one.fields
                ),
            )
            for one in made
        )
    return found


TYPES = structures(
    Node={"[]": _NODE},
    List={"[]": ("head: number", "tail: List")},
    Expression={
        "$Number": ("x: number",),
        "$Add": ("l: Expression", "r: Expression"),
        "$Named": ("s: symbol", "e: Expression"),
        "$Zero": (),
    },
)


def structure(name: str, type_name: str, types: Structures = TYPES) -> Column:
    """Give a column of a structure type."""
    return Column(name, type_name, Kind.STRUCTURE, structures=types)


NODE, LIST = structure("node", "Node"), structure("l", "List")
EXPRESSION = structure("e", "Expression")
_MADE = Kind.STRUCTURE


def nodes(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give values of `Node`."""
    floats = st.floats(allow_nan=False, allow_infinity=False).map(lambda value: value or 0.0)
    make = construct("[]", (Kind.NUMBER, Kind.FLOAT, Kind.SYMBOL, _MADE))
    numbers = st.integers(-(2**63), 2**63 - 1)
    return st.recursive(
        st.just("nil"),
        lambda inner: st.builds(lambda *of: str(make(*of)), numbers, floats, texts, inner),
        max_leaves=3,
    )


def expressions(texts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Give values of `Expression`."""
    number = construct("$Number", (Kind.NUMBER,))
    add, named = construct("$Add", (_MADE, _MADE)), construct("$Named", (Kind.SYMBOL, _MADE))
    return st.recursive(
        st.just("$Zero") | st.integers(-9, 9).map(lambda value: str(number(value))),
        lambda inner: (
            st.builds(lambda *of: str(add(*of)), inner, inner)
            | st.builds(lambda *of: str(named(*of)), texts, inner)
        ),
        max_leaves=4,
    )
