"""Good certificates with structures: made in heads, taken apart in bodies, unknown, long and odd.

The rules stand as they do after records and branches were opened: `constructor_of` asks for the
constructor, and `field_of` for the fields.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from typing import Final

from tests.check.structure_tables import MIXED
from tests.check.writer import Literal, Term, Writer, agg, cmp, con, fun, neg, pos

Make = Callable[[random.Random], Writer]

X, N, S = "structure", "number", "symbol"
ODD: Final = 'a"b\\c, [nil] $A("1")\n\u202e\U0001f600'


def is_made_by(whole: str, indicator: str) -> Literal:
    """Ask for the constructor of a variable."""
    return cmp("=", fun("constructor_of", S, whole), con(S, indicator))


def has_field(whole: str, place: int, kind: str, field: Term | str) -> Literal:
    """Ask for a field of a variable."""
    return cmp("=", field, fun("field_of", kind, whole, con(N, str(place))))


# ------------------------------------------------------------------------ an expression


def expressions() -> Writer:
    """Declare what an expression is worth; the rules are: number, zero, sum, left, right, given."""
    w = Writer()
    w.outside("given", f"e:{X}")
    w.declare("part", f"e:{X}")
    w.declare("worth", f"e:{X} n:{N}")
    added = (is_made_by("e", "$Add/2"), has_field("e", 0, X, "l"), has_field("e", 1, X, "r"))
    number = is_made_by("e", "$Number/1"), has_field("e", 0, N, "n")
    w.rule("number", pos("worth", "e", "n"), pos("part", "e"), *number)
    zero = con(X, "$Zero")
    w.rule("zero", pos("worth", zero, con(N, "0")), pos("part", zero))
    both = pos("worth", "l", "a"), pos("worth", "r", "b"), cmp("=", "n", fun("+", N, "a", "b"))
    w.rule("sum", pos("worth", "e", "n"), pos("part", "e"), *added, *both, l=X, r=X)
    w.rule("left", pos("part", "l"), pos("part", "e"), *added[:2], l=X)
    w.rule("right", pos("part", "r"), pos("part", "e"), added[0], added[2], r=X)
    w.rule("given", pos("part", "e"), pos("given", "e"))
    return w


def evaluated(left: int, right: int, claimed: int) -> Writer:
    """Return a proof that a sum of two numbers is worth what is claimed."""
    w = expressions()
    first, second = f"$Number({left})", f"$Number({right})"
    whole = f"$Add({first}, {second})"
    w.facts("given", [[whole]])
    top = w.derived(5, [whole], {"e": whole}, [w.given("given", whole)])
    one = w.derived(3, [first], {"e": whole, "l": first}, [top, None, None])
    two = w.derived(4, [second], {"e": whole, "r": second}, [top, None, None])
    a = w.derived(0, [first, str(left)], {"e": first, "n": str(left)}, [one, None, None])
    b = w.derived(0, [second, str(right)], {"e": second, "n": str(right)}, [two, None, None])
    bind = {"e": whole, "n": str(claimed), "l": first, "r": second, "a": str(left), "b": str(right)}
    w.derived(2, [whole, str(claimed)], bind, [top, None, None, None, a, b, None])
    return w.conclude("PROVED", "worth", whole, str(claimed))


def expression_proved(rng: random.Random) -> Writer:
    left = rng.randrange(100)
    return evaluated(left, left + 1, 2 * left + 1)


def expression_bounded(rng: random.Random) -> Writer:
    """The closure knows all parts and what each is worth, so nothing else is."""
    w = expressions()
    number = rng.randrange(1, 100)
    first, second = f"$Number({number})", "$Zero"
    whole = f"$Add({first}, {second})"
    w.facts("given", [[whole]], covers=([], [[]]))
    w.entry("part", [], [[]], [[first], [second], [whole]])
    w.entry("worth", [], [[]], [[first, str(number)], [second, "0"], [whole, str(number)]])
    return w.conclude("DISPROVED", "worth", whole, str(number + 1))


def branch_that_is_not_there(_: random.Random) -> Writer:
    """No rule speaks of a product, so it is worth nothing, not even the number 0."""
    w = expressions()
    whole = "$Mul($Number(2), $Number(3))"
    w.facts("given", [[whole]], covers=([], [[]]))
    w.entry("part", [], [[]], [[whole]])
    w.entry("worth", [], [[]], [])
    return w.conclude("DISPROVED", "worth", whole, None)


# ------------------------------------------------------------------------------- a list


def lists(items: list[str]) -> tuple[Writer, list[str]]:
    """Declare the length of lists; return the cells, the whole list first and `nil` last."""
    w = Writer()
    w.outside("list", f"l:{X}")
    w.declare("cell", f"l:{X}")
    w.declare("length", f"l:{X} n:{N}")
    tail = is_made_by("l", "[]/2"), has_field("l", 1, X, "t")
    w.rule("whole", pos("cell", "l"), pos("list", "l"))
    w.rule("tail", pos("cell", "t"), pos("cell", "l"), *tail, t=X)
    w.rule("end", pos("length", con(X, "nil"), con(N, "0")))
    longer = pos("length", "t", "m"), cmp("=", "n", fun("+", N, "m", con(N, "1")))
    w.rule("longer", pos("length", "l", "n"), pos("cell", "l"), *tail, *longer, t=X)
    cells = ["nil"]
    for item in reversed(items):
        cells.insert(0, f"[{item}, {cells[0]}]")
    w.facts("list", [[cells[0]]], covers=([], [[]]))
    return w, cells


def length_proved(rng: random.Random) -> Writer:
    w, cells = lists([str(rng.randrange(10, 99)) for _ in range(4)])
    known = [w.derived(0, [cells[0]], {"l": cells[0]}, [w.given("list", cells[0])])]
    for whole, tail in pairwise(cells[:-1]):
        known.append(w.derived(1, [tail], {"l": whole, "t": tail}, [known[-1], None, None]))
    last = w.derived(2, ["nil", "0"], {}, [])
    count = len(cells) - 1
    for place in reversed(range(count)):
        n = count - place
        bind = {"l": cells[place], "n": str(n), "t": cells[place + 1], "m": str(n - 1)}
        premises = [known[place], None, None, last, None]
        last = w.derived(3, [cells[place], str(n)], bind, premises)
    return w.conclude("PROVED", "length", cells[0], None)


def length_disproved(rng: random.Random) -> Writer:
    w, cells = lists([str(rng.randrange(10, 99)) for _ in range(4)])
    w.entry("cell", [], [[]], [[cell] for cell in cells])
    lengths: list[list[str | None]] = [
        [cell, str(len(cells) - 1 - place)] for place, cell in enumerate(cells)
    ]
    w.entry("length", [], [[]], lengths, orders={3: [0, 1, 2, 3, 4]})
    return w.conclude("DISPROVED", "length", cells[0], str(len(cells)))


# ------------------------------------------------------------------------------- records


def swapped(pair: str, claimed: str) -> Writer:
    """Return a proof that a pair, swapped, is what is claimed; the pair is made in the head."""
    w = Writer()
    w.outside("pair", f"p:{X}")
    w.declare("swap", f"p:{X}")
    fields = has_field("p", 0, S, "a"), has_field("p", 1, N, "b")
    body = pos("pair", "p"), is_made_by("p", "[]/2"), *fields
    w.rule("swap", pos("swap", fun("[]", X, "b", "a")), *body, a=S, b=N)
    w.facts("pair", [[pair]], covers=([], [[]]))
    bind = {"p": pair, "a": "x", "b": "-7"}
    w.derived(0, [claimed], bind, [w.given("pair", pair), None, None, None])
    return w.conclude("PROVED", "swap", claimed)


def swap_proved(_: random.Random) -> Writer:
    return swapped('["x", -7]', '[-7, "x"]')


def swap_bounded(_: random.Random) -> Writer:
    """The head of the only pair is made where the closure is checked."""
    w = swapped('["x", -7]', '[-7, "x"]')
    w.tree["nodes"] = []
    w.entry("swap", [], [[]], [['[-7, "x"]']])
    return w.conclude("DISPROVED", "swap", '["x", -7]')


def odd_texts(_: random.Random) -> Writer:
    """A text that looks like parts of a structure goes into one and out of it."""
    w = Writer()
    w.outside("text", f"t:{S}")
    w.declare("boxed", f"b:{X}")
    w.declare("unboxed", f"t:{S}")
    w.rule("box", pos("boxed", fun("$Box", X, "t", con(N, "1"))), pos("text", "t"))
    opened = is_made_by("b", "$Box/2"), has_field("b", 0, S, "t")
    w.rule("unbox", pos("unboxed", "t"), pos("boxed", "b"), *opened)
    w.facts("text", [[ODD]])
    box = '$Box("' + ODD.translate({34: '\\"', 92: "\\\\"}) + '", 1)'
    made = w.derived(0, [box], {"t": ODD}, [w.given("text", ODD)])
    w.derived(1, [ODD], {"b": box, "t": ODD}, [made, None, None])
    return w.conclude("PROVED", "unboxed", ODD)


def field_of_every_kind(_: random.Random) -> Writer:
    """What a field is not asked for as, it is not: such a field has the value of no field."""
    w = Writer()
    w.outside("mixed", f"m:{X}")
    kinds = (N, N, "Decimal", "float", S, "Date", "Timestamp", "Bool", X, X, X, X)
    columns = " ".join(f"c{place}:{kind}" for place, kind in enumerate(kinds))
    w.declare("fields", f"{columns} none:{N}")
    names = [f"c{place}" for place in range(len(kinds))]
    asked = [has_field("m", place, kind, names[place]) for place, kind in enumerate(kinds)]
    other = has_field("m", 4, N, "none")
    w.rule(
        "open",
        pos("fields", *names, "none"),
        pos("mixed", "m"),
        is_made_by("m", "$M/12"),
        *asked,
        other,
    )
    w.facts("mixed", [[MIXED]])
    noon = "2025-01-31T12:00:00.000000Z"
    texts = ["a", "2025-01-31", noon, "true", "$Z", "nil", "[]", "[1]"]
    row = ["7", "-7", "0.5", (0.5).hex(), *texts, "0"]
    bind = {"m": MIXED, **dict(zip([*names, "none"], row, strict=True))}
    w.derived(0, row, bind, [w.given("mixed", MIXED), *[None] * 14])
    return w.conclude("PROVED", "fields", *row)


# ----------------------------------------------------- absences, aggregates, what is unknown


def single(rng: random.Random) -> Writer:
    """A structure is made in a negated atom."""
    w, who = Writer(), f"C{rng.randrange(100)}"
    w.outside("person", f"c:{S}")
    w.outside("couple", f"p:{X}")
    w.declare("single", f"c:{S}")
    w.rule("single", pos("single", "c"), pos("person", "c"), neg("couple", fun("[]", X, "c", "c")))
    w.facts("person", [[who]], covers=([], [[]]))
    w.facts("couple", [[f'["{who}", "Z"]']], covers=([], [[]]))
    w.derived(0, [who], {"c": who}, [w.given("person", who), None])
    return w.conclude("PROVED", "single", who)


def not_single(rng: random.Random) -> Writer:
    w, who = Writer(), f"C{rng.randrange(100)}"
    w.outside("person", f"c:{S}")
    w.outside("couple", f"p:{X}")
    w.declare("single", f"c:{S}")
    w.rule("single", pos("single", "c"), pos("person", "c"), neg("couple", fun("[]", X, "c", "c")))
    w.facts("person", [[who]], covers=([], [[]]))
    w.facts("couple", [[f'["{who}", "{who}"]']], covers=([], [[]]))
    w.entry("single", [0], [[who]], [])
    return w.conclude("DISPROVED", "single", who)


def sales(function: str, claimed: str, *rows: str) -> Writer:
    """Fold the amounts of the lines of an order; a line is a branch, and not every one has one."""
    w = Writer()
    w.outside("line", f"l:{X}")
    w.declare("total", f"t:{N}")
    opened = is_made_by("l", "$Sold/2"), has_field("l", 1, N, "a")
    target = None if function == "count" else "a"
    fold = agg(function, "t", target, pos("line", "l"), *opened)
    w.rule("total", pos("total", "t"), fold, a=N)
    w.facts("line", [[row] for row in rows], covers=([], [[]]))
    w.derived(0, [claimed], {"t": claimed}, [None])
    return w.conclude("PROVED", "total", claimed)


LINES: Final = ('$Sold("pen", 3)', '$Sold("ink", 3)', '$Sold("ink", 20)', '$Gift("pen")', "$Void")


def sum_of_fields(_: random.Random) -> Writer:
    return sales("sum", "26", *LINES)


def count_of_structures(_: random.Random) -> Writer:
    return sales("count", "3", *LINES)


def least_of_fields(_: random.Random) -> Writer:
    return sales("min", "3", *LINES)


def unknown_structure(_: random.Random) -> Writer:
    """Of a structure that nobody knows no field is known: a row may be there, and no value is."""
    w = expressions()
    w.opens("given", [None])
    w.cover("given", [], [[]])
    w.entry("part", [], [[]], [[None]])
    w.entry("worth", [], [[]], [[None, None]])
    return w.conclude("UNRESOLVED", "worth", "$Zero", None, missing=(["given", [None]],))


def too_long_to_be_one(_: random.Random) -> Writer:
    """A structure of more bytes than allowed is an error, and what errs may be anything."""
    w = Writer()
    w.outside("text", f"t:{S}")
    w.declare("twice", f"b:{X}")
    w.rule("twice", pos("twice", fun("[]", X, *["t"] * 600)), pos("text", "t"))
    w.facts("text", [["é" * 900]], covers=([], [[]]))
    w.entry("twice", [], [[]], [[None]])
    return w.conclude("UNRESOLVED", "twice", "nil")


def keys_that_are_structures(rng: random.Random) -> Writer:
    """The closure is bounded for one structure only, which is not the one that is there."""
    w = Writer()
    w.outside("list", f"l:{X}")
    w.declare("cell", f"l:{X}")
    w.rule("whole", pos("cell", "l"), pos("list", "l"))
    there, asked = f"[{rng.randrange(99)}, nil]", f"[{rng.randrange(99)}, [], nil]"
    w.facts("list", [[there]], covers=([0], [[asked]]))
    w.entry("cell", [0], [[asked]], [])
    return w.conclude("DISPROVED", "cell", asked)


def patterns_as_they_print(_: random.Random) -> Writer:
    """A rule whose literals stand for patterns of every shape, and for some that are none."""
    w = Writer()
    w.outside("p", f"e:{X} f:{X}")
    w.declare("q", f"e:{X}")
    texts = con(S, 'a"b')
    opened = is_made_by("x", "$C/1"), has_field("x", 0, X, "y")
    body = (
        pos("p", "e", "f"),
        is_made_by("e", "$Add/3"),
        has_field("e", 0, X, "l"),
        has_field("e", 2, S, texts),
        has_field("e", 1, N, "n"),
        is_made_by("f", "nil/0"),
        is_made_by("f", "[]/0"),
        has_field("f", 0, N, "n"),
        is_made_by("l", "[]/2"),
        is_made_by("e", "[]/3"),
        has_field("e", -1, X, "l"),
        is_made_by("f", "$D/1"),
        has_field("f", 0, X, "l"),
        has_field("f", 0, N, "n"),
        is_made_by("l", "$A/100"),
        is_made_by("l", "[]/02"),
        is_made_by("l", "$A/99"),
        is_made_by("l", "nil/1"),
        is_made_by("l", "$Zero/0"),
        cmp("!=", fun("constructor_of", S, "l"), con(S, "[]/2")),
        cmp("=", con(S, "[]/2"), fun("constructor_of", S, "l")),
        is_made_by("e", "[]/2"),
        has_field("f", 0, X, "l"),
        is_made_by("e", "[]/2"),
        has_field("e", 1, X, fun("$B", X, "n", fun("[]", X, "l", con("float", (0.5).hex())))),
        has_field("e", 2, X, "l"),
        cmp("=", con(X, f'[{(0.1).hex()}, "{(0.1).hex()}", "\\"\n"]'), "l"),
        agg("count", "k", None, pos("p", "x", "y"), *opened),
    )
    w.rule("shapes", pos("q", "e"), *body, l=X, n=N, k=N, x=X, y=X)
    w.cover("p", [], [[]], w.source([]))
    w.entry("q", [], [[]], [])
    return w.conclude("DISPROVED", "q", None)


def long_to_read(_: random.Random) -> Writer:
    """Of a structure that is taken apart 64 signs are a step, and of one that is made 256."""
    w = Writer()
    w.outside("p", f"e:{X}")
    w.declare("q", f"r:{X}")
    text = '["' + "a" * (6400 - 4) + '"]'
    body = pos("p", "e"), is_made_by("e", "[]/1"), has_field("e", 0, S, "t")
    w.rule("long", pos("q", fun("$Twice", X, "e", "e")), *body, t=S)
    w.facts("p", [[text]], covers=([], [[]]))
    w.entry("q", [], [[]], [[f"$Twice({text}, {text})"]])
    return w.conclude("DISPROVED", "q", "nil")


MORE: Final[tuple[Make, ...]] = (
    expression_proved,
    expression_bounded,
    branch_that_is_not_there,
    length_proved,
    length_disproved,
    swap_proved,
    swap_bounded,
    odd_texts,
    field_of_every_kind,
    single,
    not_single,
    sum_of_fields,
    count_of_structures,
    least_of_fields,
    unknown_structure,
    too_long_to_be_one,
    keys_that_are_structures,
    patterns_as_they_print,
    long_to_read,
)
