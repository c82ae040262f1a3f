"""Codes C0232 to C0238, C0244 and C0248: records and algebraic data types."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_PAIR: Final = (
    ".type Pair = [a: number, b: symbol]\n.decl pair(p: Pair)\n.decl known(n: number)\n"
    ".decl found(n: number)\n"
)
_EXPR: Final = (
    ".type Expr = Number { x: number } | Add { l: Expr, r: Expr }\n.decl expr(e: Expr)\n"
    ".decl leaf(n: number)\n"
)
_TWO: Final = (
    ".type Place = [x: number, y: number]\n.type Span = [low: number, high: number]\n"
    ".decl place(p: Place)\n.decl span(r: Span)\n.decl both(p: Place)\n"
)

CONSTRUCTORS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0232",
        "a branch name that another type has",
        "`$Name` alone tells which algebraic data type is meant. So a branch name belongs to one "
        "type of a program.",
        ".type Shape = Circle { r: number } | Point {}\n.type Mark = Point {} | Cross {}\n",
        ".type Shape = Circle { r: number } | Point {}\n.type Mark = Dot {} | Cross {}\n",
    ),
    Entry(
        "C0233",
        "a subtype or a union of a structure",
        "A record or an algebraic data type stands for itself: it has no subtypes and is no member "
        "of a union. Another name for the same type is allowed.",
        ".type Pair = [a: number, b: symbol]\n.type Key <: Pair\n",
        ".type Pair = [a: number, b: symbol]\n.type Key = Pair\n",
    ),
    Entry(
        "C0234",
        "a branch that no type has",
        "A branch is declared by `.type T = Name { field: type } | ...` before `$Name(...)` can be "
        "written.",
        _EXPR + "leaf(?n) :- expr($Nmber(?n)).\n",
        _EXPR + "leaf(?n) :- expr($Number(?n)).\n",
    ),
    Entry(
        "C0235",
        "a structure with too few or too many fields",
        "A record or a branch is written with all fields of its declaration, in their order. In a "
        "pattern `_` stands for a part that does not matter.",
        _PAIR + "found(?n) :- pair([?n]).\n",
        _PAIR + "found(?n) :- pair([?n, _]).\n",
    ),
    Entry(
        "C0236",
        "a record of which nothing tells the type",
        "Records of all types are written alike. Which one is meant is told by its column, "
        "by the field it fills, or by what it is equal to.",
        _PAIR + "found(?n) :- known(?n), [?n, 1] != nil.\n",
        _PAIR + 'found(?n) :- known(?n), pair(?p), [?n, "a"] != ?p.\n',
    ),
    Entry(
        "C0237",
        "structures of different types meet",
        "Two structures are compared, joined or handed on only when they are of one type. Equal "
        "fields do not make types equal, and `[...]` and `nil` are values of records only.",
        _TWO + "both(?p) :- place(?p), span(?p).\n",
        _TWO + "both([?x, ?y]) :- place([?x, ?y]), span([?x, ?y]).\n",
    ),
    Entry(
        "C0238",
        "a structure that is too long",
        "A structure is kept as its text, which has at most 1,048,576 bytes. Longer data are rows "
        "of a predicate.",
        'text(["a text of more than a million letters"])',
        'text(["a short text"])',
        kind="text",
    ),
    Entry(
        "C0244",
        "`_` in a structure that is made",
        "`_` stands for any value where a structure is taken apart. Where one is made or looked "
        "for, in a head, under `!` or beside `!=`, each part needs a value.",
        _PAIR + "found(?n) :- known(?n), !pair([?n, _]).\n",
        _PAIR + ".decl first(n: number)\nfirst(?n) :- pair([?n, _]).\n"
        "found(?n) :- known(?n), !first(?n).\n",
    ),
    Entry(
        "C0248",
        "a type without values",
        "Values are finite. Where every branch of a type needs another value of the type, no value "
        "can be written down, and its columns stay empty.",
        ".type Chain = Link { next: Chain }\n",
        ".type Chain = Link { next: Chain } | End {}\n",
    ),
)
