"""Forged structures: other fields, other constructors, other spellings, and what is left out.

In: a seed.  Out: as in ``forger``, where these are registered when this module is imported.
"""

from __future__ import annotations

import random

from tests.check import structured as s
from tests.check.forger import FORGERIES, forge, forgery, group, replaced, show_rows
from tests.check.structured import N, S, X
from tests.check.writer import Literal, Tree, Writer, agg, cmp, con, fun, pos

__all__ = ["FORGERIES", "forge"]


def opened(row: list[str], bind: dict[str, str], *body: Literal, v: str) -> Tree:
    """Return a proof that a rule over one structure, ``p(?e)``, has a conclusion."""
    w = Writer()
    w.outside("p", f"e:{X}")
    w.declare("q", f"v:{v}")
    w.rule("open", pos("q", "v"), pos("p", "e"), *body, v=v)
    w.facts("p", [[bind["e"]]])
    w.derived(0, row, bind, [w.given("p", bind["e"]), *[None] * len(body)])
    return w.conclude("PROVED", "q", *row).tree


def field_claimed(text: str, place: int, kind: str, claimed: str) -> Tree:
    """Return a proof that the field of a structure is what is claimed."""
    return opened([claimed], {"e": text, "v": claimed}, s.has_field("e", place, kind, "v"), v=kind)


# ------------------------------------------------------------------------ what is taken apart


@forgery("comparison")
def worth_more_than_its_parts(rng: random.Random) -> Tree:
    left = rng.randrange(100)
    return s.evaluated(left, left + 1, 2 * left + 2).tree


@forgery("comparison")
def fields_in_another_order(rng: random.Random) -> Tree:
    """What is left of a sum is said to be right of it, everywhere in that node."""
    tree = s.expression_proved(rng).tree
    bind = tree["nodes"][-1]["bind"]
    bind[2:] = [bind[3], bind[2], bind[5], bind[4]]
    premises = tree["nodes"][-1]["premises"]
    premises[4:6] = [premises[5], premises[4]]
    return tree


@forgery("comparison")
def field_of_another_place(rng: random.Random) -> Tree:
    fields = [str(rng.randrange(10)), str(rng.randrange(10, 20)), str(rng.randrange(20, 30))]
    return field_claimed(f"[{', '.join(fields)}]", rng.randrange(2), N, fields[2])


@forgery("comparison")
def field_counted_from_one(rng: random.Random) -> Tree:
    first = rng.randrange(1, 99)
    return field_claimed(f"$P({first}, {first + 1})", 1, N, str(first))


@forgery("comparison")
def field_counted_from_the_end(rng: random.Random) -> Tree:
    last = rng.randrange(1, 99)
    return field_claimed(f"[0, {last}]", -1, N, str(last))


@forgery("comparison")
def field_behind_the_last(rng: random.Random) -> Tree:
    return field_claimed(f"[{rng.randrange(1, 9)}]", 1, N, str(rng.randrange(1, 9)))


@forgery("comparison")
def part_of_a_part(rng: random.Random) -> Tree:
    """The field of an inner structure is none of the outer one."""
    inner = rng.randrange(1, 99)
    return field_claimed(f"[[{inner}, 2], 3]", 0, N, str(inner))


@forgery("comparison")
def text_taken_for_a_number(rng: random.Random) -> Tree:
    number = str(rng.randrange(1, 99))
    return field_claimed(f'["{number}"]', 0, N, number)


@forgery("comparison")
def number_taken_for_a_text(rng: random.Random) -> Tree:
    number = str(rng.randrange(99))
    return field_claimed(f"[{number}]", 0, S, number)


@forgery("comparison")
def whole_number_taken_for_a_float(rng: random.Random) -> Tree:
    number = rng.randrange(1, 99)
    return field_claimed(f"[{number}]", 0, "float", float(number).hex())


@forgery("comparison")
def number_that_its_kind_cannot_hold(rng: random.Random) -> Tree:
    """Of what lies above 64 bits the low ones are claimed."""
    low = rng.randrange(1, 99)
    return field_claimed(f"[{2**64 + low}]", 0, N, str(low))


@forgery("comparison")
def text_in_its_quotes(rng: random.Random) -> Tree:
    text = f"a{rng.randrange(99)}"
    return field_claimed(f'["{text}"]', 0, S, f'"{text}"')


@forgery("comparison")
def text_with_its_escapes(rng: random.Random) -> Tree:
    return field_claimed(f'["\\"{rng.randrange(99)}"]', 0, S, f'\\"{rng.randrange(99)}')


@forgery("comparison")
def comma_in_a_text_taken_for_an_end(rng: random.Random) -> Tree:
    # Not 7, which is what the field really is.
    number = str(rng.randrange(8, 99))
    return field_claimed(f'["a, {number}", 7]', 1, N, number)


@forgery("comparison")
def bracket_in_a_text_taken_for_an_end(rng: random.Random) -> Tree:
    # Not 7, which is what the field really is.
    number = str(rng.randrange(8, 99))
    return field_claimed(f'[["]", {number}], 7]', 1, N, number)


@forgery("comparison")
def quoted_branch_taken_for_a_branch(rng: random.Random) -> Tree:
    branch = f"$A({rng.randrange(99)})"
    return field_claimed(f'["{branch}"]', 0, X, branch)


@forgery("comparison")
def text_that_is_no_day(rng: random.Random) -> Tree:
    day = f"2023-02-2{rng.randrange(1, 9)}"
    return field_claimed(f'["2023-02-29", "{day}"]', 0, "Date", day)


@forgery("comparison")
def branch_of_another_name(rng: random.Random) -> Tree:
    """A rule about numbers is applied to a price; the field would fit."""
    value = str(rng.randrange(99))
    asked = s.is_made_by("e", "$Number/1"), s.has_field("e", 0, N, "v")
    return opened([value], {"e": f"$Price({value})", "v": value}, *asked, v=N)


@forgery("comparison")
def branch_of_another_width(rng: random.Random) -> Tree:
    value = str(rng.randrange(99))
    asked = s.is_made_by("e", "$Number/1"), s.has_field("e", 0, N, "v")
    return opened([value], {"e": f"$Number({value}, 1)", "v": value}, *asked, v=N)


@forgery("comparison")
def branch_without_the_field(_: random.Random) -> Tree:
    """The value that stands for nothing is taken for a field."""
    asked = s.is_made_by("e", "$Number/1"), s.has_field("e", 0, N, "v")
    return opened(["0"], {"e": "$Number", "v": "0"}, *asked, v=N)


@forgery("comparison")
def nothing_taken_for_a_record(_: random.Random) -> Tree:
    asked = s.is_made_by("e", "[]/1"), s.has_field("e", 0, N, "v")
    return opened(["0"], {"e": "nil", "v": "0"}, *asked, v=N)


@forgery("comparison")
def record_taken_for_a_branch(rng: random.Random) -> Tree:
    value = str(rng.randrange(99))
    asked = s.is_made_by("e", "$Pair/2"), s.has_field("e", 0, N, "v")
    return opened([value], {"e": f"[{value}, 1]", "v": value}, *asked, v=N)


@forgery("comparison")
def structures_that_only_look_equal(rng: random.Random) -> Tree:
    number = rng.randrange(99)
    one, other = rng.choice(
        [
            (f"[{number}]", f'["{number}"]'),
            ("[]", "nil"),
            ("[nil]", '["nil"]'),
            ("$A", "[$A]"),
            (f"[{number}]", f"[[{number}]]"),
            (f"[{number}]", f"[{float(number).hex()}]"),
            ('["é"]', '["e\u0301"]'),
        ]
    )
    return opened(
        [one], {"e": one, "v": one}, cmp("=", "v", "e"), cmp("=", con(X, other), "e"), v=X
    )


@forgery("comparison")
def difference_of_equals(rng: random.Random) -> Tree:
    one = f"$A({rng.randrange(99)})"
    return opened([one], {"e": one, "v": one}, cmp("=", "v", "e"), cmp("!=", "v", "e"), v=X)


# ------------------------------------------------------------------------------- what is made


@forgery("head")
def made_with_the_fields_as_they_were(_: random.Random) -> Tree:
    return s.swapped('["x", -7]', '["x", -7]').tree


@forgery("head")
def made_with_another_field(rng: random.Random) -> Tree:
    return s.swapped('["x", -7]', f'[{rng.randrange(99)}, "x"]').tree


@forgery("head")
def made_by_another_constructor(_: random.Random) -> Tree:
    return s.swapped('["x", -7]', '$Pair(-7, "x")').tree


@forgery("head")
def made_with_one_field_more(_: random.Random) -> Tree:
    return s.swapped('["x", -7]', '[-7, "x", nil]').tree


@forgery("head")
def number_made_into_a_text(_: random.Random) -> Tree:
    return s.swapped('["x", -7]', '["-7", "x"]').tree


@forgery("comparison")
def structure_that_is_too_long(rng: random.Random) -> Tree:
    """What is too long to be a structure is an error, and equal to nothing."""
    text = '["' + "a" * rng.randrange(1000, 1040) + '"]'
    long = cmp("!=", fun("[]", X, *["e"] * 1100), con(X, "nil"))
    return opened([text], {"e": text, "v": text}, cmp("=", "v", "e"), long, v=X)


# --------------------------------------------------------------------------- how it is spelled


def respelled(old: str, new: str) -> Tree:
    """Return a proof about a structure that stands everywhere in another spelling."""
    tree = opened([old], {"e": old, "v": old}, cmp("=", "v", "e"), v=X)
    tree.update(replaced(tree, old, new))
    show_rows(tree, tree["facts"][0], [[new]])
    return tree


@forgery("value")
def spelled_with_other_blanks(rng: random.Random) -> Tree:
    return respelled("[1, 2]", rng.choice(["[1,2]", "[1,  2]", "[ 1, 2]", "[1, 2 ]", "[1, 2]\n"]))


@forgery("value")
def branch_with_empty_brackets(rng: random.Random) -> Tree:
    return respelled("$Zero", rng.choice(["$Zero()", "$Zero( )", "Zero", "$Zero ", "$0"]))


@forgery("value")
def number_in_another_spelling(rng: random.Random) -> Tree:
    return respelled("[1]", rng.choice(["[1.0]", "[01]", "[+1]", "[1e0]", "[0x1p+0]", "[-0]"]))


@forgery("value")
def text_in_another_spelling(rng: random.Random) -> Tree:
    return respelled('["a"]', rng.choice(["['a']", "[a]", '["\\a"]', '["\\u0061"]', '["a]']))


@forgery("value")
def truth_without_quotes(rng: random.Random) -> Tree:
    return respelled('["true"]', rng.choice(["[true]", "[false]", "[null]"]))


@forgery("value")
def brackets_that_do_not_fit(rng: random.Random) -> Tree:
    return respelled(
        "[[1], 2]", rng.choice(["[[1], 2", "[[1, 2]", "[1], 2]", "[(1), 2]", "[[1), 2]"])
    )


@forgery("value")
def value_of_another_kind(rng: random.Random) -> Tree:
    return respelled("[]", rng.choice(["1", '"a"', "", "true", "2025-01-31", "Nil"]))


@forgery("value")
def another_indicator_of_no_structure(rng: random.Random) -> Tree:
    """A constant of the rule is none."""
    tree = opened(["$A"], {"e": "$A", "v": "$A"}, cmp("=", "v", "e"), v=X)
    tree["rules"][0]["body"][1][3] = con(X, rng.choice(["$A/0", "$A()", "A"]))
    return tree


# ---------------------------------------------------------------------------- what is left out


@forgery("not-covered")
def bound_without_a_part(rng: random.Random) -> Tree:
    """No part, no worth: the zero of the sum is not among the parts."""
    tree = s.expression_bounded(rng).tree
    rows = tree["closure"]["rows"]
    rows[0][1] = [row for row in rows[0][1] if row != ["$Zero"]]
    return tree


@forgery("not-covered")
def bound_without_a_branch(rng: random.Random) -> Tree:
    """What the branch without fields is worth is hidden, and so is the sum."""
    tree = s.expression_bounded(rng).tree
    rows = tree["closure"]["rows"]
    rows[1][1] = [row for row in rows[1][1] if row[0].startswith("$Number")]
    return tree


@forgery("not-covered")
def bound_with_another_worth(rng: random.Random) -> Tree:
    tree = s.expression_bounded(rng).tree
    row = next(row for row in tree["closure"]["rows"][1][1] if row[0].startswith("$Number"))
    row[1] = str(int(row[1]) + 1)
    return tree


@forgery("not-covered")
def bound_without_a_tail(rng: random.Random) -> Tree:
    tree = s.length_disproved(rng).tree
    rows = tree["closure"]["rows"][0][1]
    rows.pop(rng.randrange(len(rows)))
    return tree


@forgery("not-covered")
def bound_without_what_is_made(_: random.Random) -> Tree:
    tree = s.swap_bounded(random.Random(0)).tree
    tree["closure"]["rows"][0][1] = []
    return tree


@forgery("not-covered")
def unknown_taken_for_nothing(rng: random.Random) -> Tree:
    """Of a structure that nobody knows the fields are said to be those of `nil`."""
    tree = s.unknown_structure(rng).tree
    tree["closure"]["rows"] = [["part", [[None]]], ["worth", [["nil", "0"]]]]
    return tree


@forgery("not-covered")
def unknown_taken_for_another_branch(rng: random.Random) -> Tree:
    tree = s.unknown_structure(rng).tree
    tree["closure"]["rows"] = [["part", [["$Zero"]]], ["worth", [["$Zero", "0"]]]]
    return tree


@forgery("not-covered")
def error_taken_for_no_structure(rng: random.Random) -> Tree:
    """What is too long to be one may be anything, and is said to be nothing."""
    tree = s.too_long_to_be_one(rng).tree
    tree["closure"]["rows"] = [["twice", []]]
    return tree


@forgery("negation")
def absence_of_what_is_made(rng: random.Random) -> Tree:
    tree = s.single(rng).tree
    who = tree["header"]["goal"][1][0]
    show_rows(tree, group(tree, "couple"), [[f'["{who}", "{who}"]']])
    return tree


@forgery("not-covered")
def certain_structure_that_removes_another(rng: random.Random) -> Tree:
    """The pair that is there begins alike."""
    tree = s.not_single(rng).tree
    who = tree["header"]["goal"][1][0]
    show_rows(tree, group(tree, "couple"), [[f'["{who}", "{who}", nil]']])
    return tree


@forgery("aggregate")
def sum_of_another_branch(_: random.Random) -> Tree:
    """The amount of what is no sale is added."""
    return s.sales("sum", "33", *s.LINES, '$Lent("pen", 7)').tree


@forgery("aggregate")
def sum_of_different_fields(_: random.Random) -> Tree:
    """Two lines of one amount are two assignments, as they are two structures."""
    return s.sales("sum", "23", *s.LINES).tree


@forgery("aggregate")
def count_of_all_branches(_: random.Random) -> Tree:
    return s.sales("count", "5", *s.LINES).tree


@forgery("aggregate")
def least_with_the_fields_that_are_not_there(_: random.Random) -> Tree:
    """A gift has no amount, and not the amount 0."""
    return s.sales("min", "0", *s.LINES).tree


@forgery("premise")
def tail_of_another_list(rng: random.Random) -> Tree:
    tree = s.length_proved(rng).tree
    tree["nodes"][-1]["premises"][3] = len(tree["nodes"]) - 3
    return tree


@forgery("premise")
def list_that_is_its_own_tail(rng: random.Random) -> Tree:
    tree = s.length_proved(rng).tree
    tree["nodes"][-1]["premises"][3] = len(tree["nodes"]) - 1
    return tree


@forgery("node")
def fact_that_another_structure_is(rng: random.Random) -> Tree:
    """The source gave another structure than the node says."""
    tree = s.expression_proved(rng).tree
    show_rows(tree, group(tree, "given"), [["$Zero"]])
    return tree


# ---------------------------------------------------------------------------- rules and kinds


def rule_of(*body: Literal, v: str) -> Tree:
    """Return a certificate whose only rule has this body."""
    w = Writer()
    w.outside("p", f"e:{X}")
    w.declare("q", f"v:{v}")
    w.rule("odd", pos("q", "v"), *body, v=v)
    w.cover("p", [], [[]], w.source([]))
    w.entry("q", [], [[]], [])
    return w.conclude("DISPROVED", "q", None).tree


@forgery("safety")
def structure_bound_by_its_fields(_: random.Random) -> Tree:
    """A field says what the structure has, and not which one it is."""
    return rule_of(pos("p", "e"), s.has_field("v", 0, X, "e"), v=X)


@forgery("safety")
def pattern_that_was_not_opened(_: random.Random) -> Tree:
    return rule_of(pos("p", "e"), cmp("=", "e", fun("[]", X, "v")), v=X)


@forgery("unbound")
def fields_before_their_structure(_: random.Random) -> Tree:
    body = s.has_field("e", 0, N, "v"), pos("p", "e")
    return rule_of(*body, v=N)


@forgery("kind")
def order_of_structures(rng: random.Random) -> Tree:
    operator = rng.choice(["<", "<=", ">", ">=", "match", "contains"])
    return rule_of(pos("p", "e"), cmp("=", "v", "e"), cmp(operator, "v", "e"), v=X)


@forgery("kind")
def least_of_structures(rng: random.Random) -> Tree:
    return rule_of(agg(rng.choice(["min", "max"]), "v", "e", pos("p", "e")), v=X)


@forgery("kind")
def function_that_takes_no_structure(rng: random.Random) -> Tree:
    name, kind = rng.choice(
        [("as", S), ("to_string", S), ("strlen", N), ("as", X), ("to_number", N)]
    )
    return rule_of(pos("p", "e"), cmp("=", "v", fun(name, kind, "e")), v=kind)


@forgery("kind")
def constructor_without_fields(rng: random.Random) -> Tree:
    name = rng.choice(["[]", "$A", "nil"])
    return rule_of(pos("p", "e"), cmp("=", "v", fun(name, X)), v=X)


@forgery("kind")
def constructor_of_another_name(rng: random.Random) -> Tree:
    name = rng.choice(["$", "$1", "A", "$A b", "[ ]", "$é", "$A/1"])
    return rule_of(pos("p", "e"), cmp("=", "v", fun(name, X, "e")), v=X)


@forgery("kind")
def field_without_a_number(rng: random.Random) -> Tree:
    place = rng.choice([con("unsigned", "0"), con(S, "0"), con("Decimal", "0")])
    return rule_of(pos("p", "e"), cmp("=", "v", fun("field_of", N, "e", place)), v=N)


@forgery("schema")
def kind_that_is_the_name_of_a_type(_: random.Random) -> Tree:
    """All records and branches are of one kind; a type has no name in a certificate."""
    tree = rule_of(pos("p", "e"), cmp("=", "v", "e"), v=X)
    tree.update(replaced(tree, X, "Expr"))
    return tree
