"""Codes C0191 to C0197: records and algebraic data types, in terms, types and goals."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_SHAPE: Final = ".type Shape = Circle { r: number } | Point {}\n.decl shape(s: Shape)\n"
_PAIR: Final = ".type Pair = [x: number, y: number]\n.decl pair(p: Pair)\n"

RECORDS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0191",
        "a branch that is not spelled as one",
        "A value of an algebraic data type is `$Name(fields)`, or `$Name` where the branch has no "
        "fields. `nil` is the value of every record type that is no record.",
        _SHAPE + "shape($Circle { r: 5 }).\n",
        _SHAPE + "shape($Circle(5)).\n",
    ),
    Entry(
        "C0192",
        "a record that is not spelled as one",
        "A record is its fields in square brackets, in the order of its type, with commas between "
        "them. A list is a record of its head and its tail.",
        _PAIR + "pair((1, 2)).\n",
        _PAIR + "pair([1, 2]).\n",
    ),
    Entry(
        "C0193",
        "a type in a form that does not exist",
        "A record type is its fields in square brackets. An algebraic data type is branches with "
        "`|` between them, and each branch has braces, also one without fields.",
        ".type Shape = Circle { r: number } | Point\n",
        ".type Shape = Circle { r: number } | Point {}\n",
    ),
    Entry(
        "C0194",
        "two fields of one name",
        "The fields of a record or of a branch have different names.",
        ".type Pair = [x: number, x: number]\n",
        ".type Pair = [x: number, y: number]\n",
    ),
    Entry(
        "C0195",
        "two branches of one name",
        "The name of a branch tells which branch it is, also where nothing tells its type.",
        ".type Shape = Circle { r: number } | Circle {}\n",
        ".type Shape = Circle { r: number } | Point {}\n",
    ),
    Entry(
        "C0196",
        "an attribute on a field",
        "Attributes belong to columns, which have a source. A field is a part of one value.",
        ".type Pair = [@[null = skip] x: number, y: number]\n",
        _PAIR,
    ),
    Entry(
        "C0197",
        "a variable inside a structure of a goal",
        "In a goal a structure is one value. A rule can ask for values of a certain form.",
        "pair([?x, 1])",
        "pair([5, 1])",
        kind="goal",
        rules_for_goal=_PAIR,
    ),
)
