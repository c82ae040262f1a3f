"""Patterns become functions, and the rule means the same."""

from __future__ import annotations

import pytest

from constat.analysis import analyse_or_raise
from constat.analysis.attributes import reason_codes
from constat.logic import Aggregate, Kind, is_never_negative, threshold_of
from constat.syntax import print_rule
from tests.analysis.programs import program_of
from tests.analysis.structured import TYPES, body, codes, opened, rule_of

PAIR = "constructor_of(pair_1) = '[]/2'"


def test_a_pattern_of_an_atom_is_a_variable_and_a_group_behind_it() -> None:
    assert body("n(?x) :- pair([?x, _]), s(_).") == (
        f"pair(pair_1), {PAIR}, x = field_of(pair_1, 0), s(_2)"
    )


def test_fields_that_do_not_matter_leave_only_the_constructor() -> None:
    assert body("n(1) :- pair([_, _]).") == f"pair(pair_1), {PAIR}"
    assert body("n(1) :- pair([_some, _more]).") == f"pair(pair_1), {PAIR}"


def test_variables_of_left_out_fields_have_no_kind() -> None:
    (kinds,) = analyse_or_raise(program_of(TYPES + "n(?x) :- pair([?x, _]).")).variable_kinds
    assert kinds == {"x": Kind.NUMBER, "pair_1": Kind.STRUCTURE}


def test_a_name_with_an_underscore_that_stands_twice_is_kept() -> None:
    assert body("n(?x) :- pair([?x, _b]), s(_b).").endswith("_b = field_of(pair_1, 1), s(_b)")


def test_constants_in_a_pattern_are_compared() -> None:
    assert body('n(?x) :- pair([?x, "a"]).').endswith(
        "x = field_of(pair_1, 0), 'a' = field_of(pair_1, 1)"
    )
    assert body("expr(?l) :- expr($Add(?l, $Zero)).").endswith("'$Zero' = field_of(expr_1, 1)")


def test_a_nested_pattern_has_a_group_of_its_own_behind() -> None:
    assert body("n(?x) :- expr(?e), ?e = $Add($Number(?x), ?r), expr(?r).") == (
        "expr(e), constructor_of(e) = '$Add/2', expr_1 = field_of(e, 0), r = field_of(e, 1), "
        "constructor_of(expr_1) = '$Number/1', x = field_of(expr_1, 0), expr(r)"
    )


def test_a_variable_twice_in_a_pattern_is_read_twice() -> None:
    assert body("expr(?l) :- expr($Add(?l, ?l)).").endswith(
        "l = field_of(expr_1, 0), l = field_of(expr_1, 1)"
    )


def test_what_is_bound_before_makes_the_structure() -> None:
    assert body("n(?x) :- q(?x, ?y), pair([?x, ?y]).") == "q(x, y), pair(pair_1), pair_1 = [](x, y)"
    assert body("pair(?p) :- q(?x, ?y), ?p = [?x, ?y].") == "q(x, y), p = [](x, y)"


def test_what_is_bound_later_is_taken_from_the_structure() -> None:
    assert body("n(?x) :- pair([?x, ?y]), q(?x, ?y).") == (
        f"pair(pair_1), {PAIR}, x = field_of(pair_1, 0), y = field_of(pair_1, 1), q(x, y)"
    )


def test_of_two_patterns_the_first_is_opened_and_the_second_looked_up() -> None:
    assert body("n(?x) :- pair([?x, ?y]), other([?x, ?y]).").endswith(
        "y = field_of(pair_1, 1), other(pair_2), pair_2 = [](x, y)"
    )


def test_a_field_bound_elsewhere_is_compared() -> None:
    assert body("s(?y) :- n(?x), pair(?p), ?p = [?x, ?y].") == (
        "n(x), pair(p), constructor_of(p) = '[]/2', x = field_of(p, 0), y = field_of(p, 1)"
    )


@pytest.mark.parametrize("first", ["?r = [?x, ?a], ?t = [?y, ?b]", "?t = [?y, ?b], ?r = [?x, ?a]"])
def test_patterns_that_need_each_other_are_opened_in_any_order(first: str) -> None:
    text = body(f"n(?x) :- {first}, pair(?r), ?y = ?x + 1, ?b = cat(?a, ?a), other(?t).")
    assert "constructor_of(r)" in text
    assert text.endswith("other(t)")


def test_functions_in_a_pattern_only_compare() -> None:
    assert body("n(?x) :- n(?x), pair([?x + 1, _]).").endswith("+(x, 1) = field_of(pair_1, 0)")
    assert body("n(?x) :- pair(?p), ?p = [?y + 1, _], ?q = [?x + 1, _], other(?q), n(?x), n(?y).")


def test_a_part_that_calculates_with_another_part() -> None:
    assert body("n(?x) :- list([?x, [?x + 1, _]]).").endswith(
        "x = field_of(list_1, 0), list_2 = field_of(list_1, 1), "
        "constructor_of(list_2) = '[]/2', +(x, 1) = field_of(list_2, 0)"
    )


def test_equal_constructors_are_equal_parts() -> None:
    text = body("expr(?k) :- expr(?k), expr(?m), $Add($Number(?x), ?k) = $Add(?m, $Number(?x)).")
    assert text == (
        "expr(k), expr(m), constructor_of(m) = '$Number/1', x = field_of(m, 0), k = $Number(x)"
    )


def test_different_constructors_are_never_equal_and_still_safe() -> None:
    assert body("n(?x) :- expr(?e), $Number(?x) = $Add(?e, ?e).") == (
        "expr(e), expr_1 = $Add(e, e), constructor_of(expr_1) = '$Number/1', "
        "x = field_of(expr_1, 0)"
    )


def test_a_constant_is_taken_apart_by_way_of_a_variable() -> None:
    text = body("expr(?l) :- $Add($Zero, $Number(1)) = $Add(?l, ?r), expr(?r).")
    assert text.startswith("expr_1 = '$Add($Zero, $Number(1))', constructor_of(expr_1) = '$Add/2'")


def test_heads_and_negated_atoms_keep_their_constructors() -> None:
    rule = rule_of("pair([?x, ?y]) :- q(?x, ?y), !other([?x, ?y]), !couple([?x, ?y]).")
    assert [len(one.body) for one in (rule,)] == [3]
    assert body("pair([?x, ?y]) :- q(?x, ?y), !other([?x, ?y]).").endswith("!other([](x, y))")


def test_different_from_keeps_its_constructor() -> None:
    assert body("pair(?p) :- pair(?p), q(?x, ?y), ?p != [?x, ?y].").endswith("p != [](x, y)")


def test_constants_are_one_text() -> None:
    texts = opened(
        'pair(nil). pair([1, "a\\"b"]). expr($Add($Number(1), $Zero())). list([1, nil]).'
    )
    assert texts == ["", "", "", ""]
    rules = analyse_or_raise(program_of(TYPES + 'price([1, 2, "2025-01-31"]).')).rules
    assert [term.value for term in rules[0].head.terms] == [  # type: ignore[union-attr]
        '[1, 0x1.0000000000000p+1, "2025-01-31"]'
    ]


def test_the_variables_of_a_pattern_in_an_aggregate_are_local_to_it() -> None:
    rule = rule_of("n(?c) :- ?c = count : { pair([?x, _]), ?x > 0 }.")
    aggregate = rule.body[0]
    assert isinstance(aggregate, Aggregate)
    assert body("n(?c) :- ?c = count : { pair([?x, _]), ?x > 0 }.") == (
        f"c = count : {{pair(pair_1), {PAIR}, x = field_of(pair_1, 0), x > 0}}"
    )


def test_the_group_of_an_aggregate_is_compared_inside() -> None:
    assert body("n(?c) :- n(?x), ?c = sum ?v : { list([?v, [?x, _]]) }.").endswith(
        "constructor_of(list_2) = '[]/2', x = field_of(list_2, 0)}"
    )


def test_fresh_names_are_new_in_the_whole_rule() -> None:
    text = body("n(?pair_1) :- n(?pair_1), ?c = count : { pair([?pair_1, _]) }, pair([?c, _]).")
    assert "pair(pair_2)" in text
    assert "pair(pair_3)" in text


def test_an_alias_names_the_variable_after_its_type() -> None:
    assert body("term(?l) :- term($Add(?l, _)).").startswith("term(expr_1), ")


def test_reasons_stay_with_the_literals_they_came_from() -> None:
    rule = rule_of('@[reasons = "R1,-,R3"]\nn(?x) :- pair([?x, ?y]), ?x > 1, s(?y).')
    codes_of = reason_codes(rule.attributes)
    assert len(codes_of) == len(rule.body) == 6
    assert codes_of == ("R1", "R1", "R1", "R1", "-", "R3")


def test_reasons_are_printed_for_the_literals_as_they_are_printed() -> None:
    rule = rule_of('@[reasons = "R1,-,R3"]\nn(?x) :- pair([?x, ?y]), ?x > 1, s(?y).')
    assert print_rule(rule) == (
        '@[reasons = "R1,R1,-,R3"]\nn(?x) :- pair(?pair_1), ?pair_1 = [?x, ?y], ?x > 1, s(?y).'
    )


def test_a_threshold_beside_a_pattern_is_still_one() -> None:
    text = "n(?x) :- pair([?x, _]), ?c = sum ?v : { list([?v, _]), ?v >= 0 }, ?c > 5."
    found = analyse_or_raise(program_of(TYPES + text))
    (rule,) = found.rules
    place = next(at for at, one in enumerate(rule.body) if isinstance(one, Aggregate))
    aggregate = rule.body[place]
    assert threshold_of(rule, place) is not None
    assert isinstance(aggregate, Aggregate)
    assert is_never_negative(aggregate, found.variable_kinds[0])


REQUIRED = '.decl api(p: Pair, v: number)\n.input api(source = "web", required = "p")\n'


def test_a_structure_that_a_source_requires_is_made_before() -> None:
    rules = TYPES + REQUIRED
    text = "n(?v) :- api([?x, ?y], ?v), q(?x, ?y)."
    (rule,) = analyse_or_raise(program_of(rules + text)).rules
    assert len(rule.body) == 3
    assert codes(REQUIRED + 'n(?v) :- api([?v, "a"], ?v).') == ["C0230"]
    assert codes(REQUIRED + "n(?v) :- api([?x, _], ?v), n(?x).") == ["C0230"]


def test_a_pattern_gives_what_a_source_requires() -> None:
    declared = '.decl more(x: number, v: number)\n.input more(source = "web", required = "x")\n'
    rules = TYPES + declared
    (rule,) = analyse_or_raise(program_of(rules + "n(?v) :- more(?x, ?v), pair([?x, _]).")).rules
    assert len(rule.body) == 4
    text = "n(?v) :- pair(?p), more(?x, ?v), ?p = [?x]."
    assert codes(declared + text) == ["C0235"]
    single = ".type One = [x: number]\n.decl one(o: One)\n"
    (rule,) = analyse_or_raise(
        program_of(rules + single + "n(?v) :- more(?x, ?v), one([?x]).")
    ).rules
    assert len(rule.body) == 4, "opened: the source cannot be asked for all its rows"


def test_an_analysed_program_can_be_analysed_again() -> None:
    text = TYPES + (
        "n(?x) :- expr($Add($Number(?x), ?r)), expr(?r), !expr($Number(?x)).\n"
        "pair(?p) :- q(?x, ?y), ?p = [?x, ?y], ?p != nil.\n"
        '@[reasons = "R1"]\nn(?c) :- ?c = count : { list([_, [_, nil]]) }.\n'
    )
    once = analyse_or_raise(program_of(text))
    again = analyse_or_raise(once.program)
    assert again.rules == once.rules
    assert again.variable_kinds == once.variable_kinds


def test_the_functions_of_opened_rules_cannot_be_written() -> None:
    assert codes("n(?x) :- pair(?p), ?x = field_of(?p, 0).") == ["C0222"]
    assert codes("s(?x) :- pair(?p), ?x = constructor_of(?p).") == ["C0222"]


def test_many_patterns_in_one_body_are_opened() -> None:
    parts = ", ".join(f"list([?x{one}, _]), n(?x{one})" for one in range(1000))
    assert body(f"n(?x0) :- {parts}.").count("constructor_of") == 1000


def test_deep_patterns_are_opened() -> None:
    pattern = "?t"
    for _ in range(60):
        pattern = f"[_, {pattern}]"
    assert body(f"list(?t) :- list({pattern}).").count("constructor_of") == 60
