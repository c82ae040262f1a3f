"""Records and algebraic data types: declarations, terms, and what is wrong with them."""

from __future__ import annotations

import pytest

from constat.analysis import analyse, analyse_or_raise, check_goal
from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.logic import Atom, Branch, Column, Constant, Kind, Program, TypeDefinition
from constat.session.running import with_machine_words
from constat.syntax import parse_goal
from tests.analysis.programs import diagnostics_of, program_of
from tests.analysis.structured import TYPES, body, codes, mistakes

Q = "n(?x) :- q(?x, ?y), "


def the(rules: str, code: str) -> Diagnostic:
    """Give the only diagnostic, which has that code."""
    found = mistakes(rules)
    assert [one.code for one in found] == [code]
    return found[0]


# ------------------------------------------------------------------------------- declarations


def test_columns_and_fields_know_what_they_are_made_of() -> None:
    program = analyse_or_raise(program_of(TYPES)).program
    (column,) = program.predicates["owned"].columns
    assert column.kind is Kind.STRUCTURE
    assert column.structures is not None
    branch = column.structures.branch("Owned", "[]")
    assert branch is not None
    owner, pair = branch.fields
    assert (owner.kind, owner.structures) == (Kind.SYMBOL, None)
    assert pair.kind is Kind.STRUCTURE
    assert pair.structures is column.structures
    assert column.structures is program.predicates["expr"].columns[0].structures


def test_an_alias_has_the_branches_of_its_type() -> None:
    column = analyse_or_raise(program_of(TYPES)).program.predicates["term"].columns[0]
    assert column.structures is not None
    assert column.structures.branches["Term"] == column.structures.branches["Expr"]
    assert analyse(program_of(TYPES + "term(?e) :- expr(?e).\nterm($Zero)."), []) is not None


def test_types_may_refer_to_each_other() -> None:
    text = (
        ".type Tree = Node { kids: Forest } | Leaf { n: number }\n"
        ".type Forest = [first: Tree, rest: Forest]\n.decl tree(t: Tree)\n"
        "tree($Node([$Leaf(1), [$Node(nil), nil]])).\n"
        "tree(?t) :- tree($Node([?t, _])).\n"
    )
    assert diagnostics_of(text) == []


def test_a_branch_name_belongs_to_one_type() -> None:
    (found,) = mistakes(".type Shape = Zero {} | One { x: number }\n")
    assert found.code == "C0232"
    assert found.related


@pytest.mark.parametrize("base", ["Pair", "Expr", "Term"])
def test_a_structure_has_no_subtypes(base: str) -> None:
    assert codes(f".type Sub <: {base}\n.decl sub(s: Sub)\nsub(nil).\n") == ["C0233"]


@pytest.mark.parametrize("members", ["Pair | Expr", "symbol | Pair", "Couple | Pair", "Pair | Id"])
def test_a_structure_is_no_member_of_a_union(members: str) -> None:
    assert codes(f".type Union = {members}\n.decl of_union(s: Union)\n") == ["C0233"]


def test_a_field_of_an_unknown_type_is_named() -> None:
    (found,) = mistakes(".type Bad = [x: numbr]\n.decl bad(b: Bad)\nn(?x) :- bad([?x]).\n")
    assert (found.code, "`number`" in found.help) == ("C0212", True)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (".type T = A { t: T }\n", ["C0248"]),
        (".type T = A { t: U }\n.type U = B { t: T } | C { u: U }\n", ["C0248", "C0248"]),
        (".type T = A { t: U }\n.type U = B { t: T } | C {}\n", []),
        (".type T = A { t: R }\n.type R = [t: T]\n", []),
        (".type T = A { t: Other }\n.type Other = T\n", ["C0248"]),
    ],
)
def test_a_type_without_values_is_a_warning(types: str, expected: list[str]) -> None:
    found = diagnostics_of(types)
    assert [one.code for one in found] == expected
    assert all(one.severity is Severity.WARNING for one in found)


def test_a_type_of_very_many_branches_is_analysed() -> None:
    branches = " | ".join(f"B{one} {{ x: T }}" for one in range(5000))
    assert diagnostics_of(f".type T = {branches} | End {{}}\n.decl t(t: T)\nt($B7($End)).") == []


def test_a_definition_without_places_is_analysed() -> None:
    column = Column("x", "numbr")
    types = {"T": TypeDefinition("T", "record", (), branches=(Branch("[]", (column,)),))}
    found: list[Diagnostic] = []
    assert analyse(Program({}, (), types), found) is None
    assert [one.code for one in found] == ["C0212"]


# -------------------------------------------------------------------------------------- types


@pytest.mark.parametrize(
    "rule",
    [
        "n(?x) :- ?r = [?x, _], pair(?r).",
        "n(?x) :- [?x, _] = ?r, pair(?r).",
        "n(?x) :- ?s = ?r, ?r = [?x, _], ?t = ?s, pair(?t).",
        "n(?x) :- owned([_, [?x, _]]).",
        "n(?x) :- owned([_, ?p]), ?p = [?x, _].",
        "n(?x) :- ?o = [_, ?p], ?p = [?x, _], owned(?o).",
        "n(?x) :- pair(?p), n(?x), q(?x, ?y), ?p != [?x, ?y].",
        "n(?x) :- pair(?p), ?p != nil, ?p = [?x, _].",
        "list([?x, nil]) :- n(?x).",
        "expr($Add($Number(?x), $Zero)) :- n(?x).",
        "n(?c) :- ?c = count : { pair([_, _]) }.",
        "n(?x) :- n(?x), ?c = count : { ?p = [?x, _], pair(?p) }, ?c > 1.",
    ],
)
def test_the_type_of_a_record_is_told_from_anywhere(rule: str) -> None:
    assert codes(rule) == []


def test_a_chain_of_equations_in_the_worst_order_is_typed() -> None:
    chain = ", ".join(f"?x{one} = [1, ?x{one + 1}]" for one in range(1500))
    assert codes(f"list(?x1500) :- {chain}, list(?x0).") == []


def test_numbers_in_fields_fit_the_kind_of_the_field() -> None:
    rule = analyse_or_raise(program_of(TYPES + 'price([1.50, 3, "2025-01-31"]).')).rules[0]
    (term,) = rule.head.terms
    assert isinstance(term, Constant)
    assert term.value == '[1.5, 0x1.8000000000000p+1, "2025-01-31"]'


def test_constants_of_patterns_fit_the_kind_of_the_field() -> None:
    assert "1.5 = field_of(price_1, 0)" in body("n(1) :- price([1.50, _, ?d]), price([_, _, ?d]).")
    assert codes('n(1) :- price([_, _, "2025-02-30"]).') == ["C0219"]
    assert codes("n(1) :- pair([1.5, _]).") == ["C0221"]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (Q + "pair([?x, ?y, 1]).", "C0235"),
        (Q + "pair([[?x], ?y, nil]).", "C0235"),
        (Q + '?y != "a", expr($Number()).', "C0235"),
        (Q + '?y != "a", expr($Zero(?x)).', "C0235"),
        (Q + '?y != "a", expr($Nmber(?x)).', "C0234"),
        (Q + '?y != "a", expr($Nmber([?x, [1, nil]])).', "C0234"),
        (Q + '?y != "a", expr(nil).', "C0237"),
        (Q + '?y != "a", expr([?x, [1, nil]]).', "C0237"),
        (Q + '?y != "a", pair($Number(?x)).', "C0237"),
        (Q + '?y != "a", expr($Add([1, nil], $Zero)).', "C0237"),
        (Q + '?y != "a", pair(?p), couple(?p).', "C0237"),
        (Q + '?y != "a", pair(?p), couple(?c), ?p = ?c.', "C0237"),
        (Q + '?y != "a", pair(?p), couple(?c), ?p != ?c.', "C0237"),
        (Q + '?y != "a", pair(?p), owned([_, ?c]), couple(?c), ?p != nil.', "C0237"),
        ("couple(?p) :- pair(?p).", "C0237"),
        ("couple(?p) :- owned([_, ?p]).", "C0237"),
        (Q + "[?x, ?y] = [?x, ?y].", "C0236"),
        (Q + "nil != [?x, [?y, nil]].", "C0236"),
        (Q + '?y != "a", nil = nil.', "C0236"),
        (Q + '?y != "a", n([?x, [1, 2]]).', "C0215"),
        (Q + '?y != "a", n(nil).', "C0215"),
        (Q + '?y != "a", n($Zero).', "C0215"),
        (Q + '?y != "a", pair(?x).', "C0215"),
        (Q + '?y != "a", pair(1).', "C0215"),
        (Q + '?y != "a", pair("[1, a]").', "C0215"),
        (Q + "pair([?y, _]), n(?x).", "C0215"),
        (Q + '?y != "a", pair(?p), ?p < nil.', "C0225"),
        (Q + '?y != "a", pair(?p), ?p >= ?p.', "C0225"),
        ("n(?x) :- n(?x), ?m = max ?p : { pair(?p) }, pair(?m).", "C0224"),
        ("n(?x) :- n(?x), ?m = sum ?p : { pair(?p) }, pair(?m).", "C0224"),
        ("n(?x) :- n(?x), ?m = mean ?p : { pair(?p) }, ?m > 1.", "C0224"),
        ("s(?x) :- pair(?p), ?x = to_string(?p).", "C0223"),
        ('s(?x) :- pair(?p), ?x = cat(?p, "a").', "C0223"),
        ("n(?x) :- pair(?p), ?x = as(?p, number).", "C0226"),
        ("couple(?x) :- pair(?p), ?x = as(?p, Couple).", "C0226"),
        ("n(?x) :- pair(?p), ?x = ?p + 1.", "C0215"),
        ("pair(?x) :- pair(?p), ?x = ?p + ?p.", "C0223"),
        (Q + '!pair([?x, _]), ?y != "a".', "C0244"),
        (Q + '!expr($Add($Number(?x), $Number(_z))), ?y != "a".', "C0244"),
        (Q + 'pair(?p), ?p != [?x, _], ?y != "a".', "C0244"),
        ("pair([?x, _]) :- n(?x).", "C0244"),
        ("found(?c) :- ?c = count : { n(?x), !pair([?x, _]) }.", "C0244"),
        ("found(?c) :- ?c = count : { n(?x), pair([?x, _]) }.", "C0209"),
        ("n(?x) :- pair([?x + 1, _]).", "C0203"),
        ("n(?x) :- pair([?x, ?y]).", "C0206"),
        ("n(?x) :- n(?x), !pair([?x, ?y]).", "C0204"),
    ],
)  # fmt: skip
def test_one_mistake_is_one_error(rule: str, code: str) -> None:
    assert codes(rule) == [code]


def test_two_mistakes_in_one_structure_are_two_errors() -> None:
    assert codes('pair(["a", 1]).') == ["C0215", "C0215"]


def test_a_misspelt_branch_offers_the_nearest() -> None:
    assert the("expr($Ad($Zero, $Zero)).", "C0234").help == "write `$Add`"


def test_without_types_no_branch_is_offered() -> None:
    (found,) = diagnostics_of(".decl p(n: number)\np(?x) :- p(?x), ?y = $A(1), ?y = ?y.\n")
    assert found.code == "C0234"
    assert "declare it" in found.help


def test_a_clash_of_types_shows_both_declarations() -> None:
    found = the("couple(?p) :- pair(?p).", "C0237")
    assert "column `p` of `pair` is Pair" in found.message
    assert "column `c` of `couple` is Couple" in found.message
    assert len(found.related) == 2


def test_a_kind_in_a_field_is_shown_with_the_field() -> None:
    found = the(Q + "pair([?y, _]), n(?x).", "C0215")
    assert "field `a` of the record is number" in found.message


def test_a_structure_that_is_too_long_is_an_error() -> None:
    found = the(f'pair([1, "{"a" * 1_048_570}"]).', "C0238")
    assert "1048576 bytes" in found.message
    assert codes(f'pair([1, "{"a" * 1_048_000}"]).') == []


def test_quotes_and_backslashes_count_as_they_are_spelt() -> None:
    text = "\\\\" * 524_290
    assert codes(f'pair([1, "{text}"]).') == ["C0238"]


# ---------------------------------------------------------------------------------- subtypes


IDS = ".type Other <: symbol\n.decl o(o: Other)\n"


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("id(?i) :- owned([?i, _]).", []),
        ("o(?i) :- owned([?i, _]).", ["C0216"]),
        ("n(1) :- owned([?i, _]), o(?i).", ["C0216"]),
        ("n(1) :- owned(?w), ?w = [?i, _], o(?i).", ["C0216"]),
        ("n(1) :- id(?i), pair(?p), !owned([?i, ?p]).", []),
        ("n(1) :- o(?i), pair(?p), !owned([?i, ?p]).", ["C0216"]),
        ("n(1) :- o(?i), pair(?p), owned(?w), ?w != [?i, ?p].", []),
        ("owned([?i, ?p]) :- id(?i), pair(?p).", []),
        ("owned([?i, ?p]) :- o(?i), pair(?p).", ["C0216"]),
        ("owned([?s, ?p]) :- s(?s), pair(?p).", ["C0217"]),
        ("owned(?w) :- s(?s), pair(?p), ?w = [?s, ?p].", ["C0217"]),
        ("owned(?w) :- ?v = ?w, s(?s), pair(?p), [?s, ?p] = ?v.", ["C0217"]),
        ("id(?s) :- owned(?w), s(?s), pair(?p), ?w = [?s, ?p].", []),
        ("owned([as(?s, Id), ?p]) :- s(?s), pair(?p).", []),
        ('owned(["i", ?p]) :- pair(?p).', []),
        ("s(?i) :- owned([?i, _]).", []),
    ],
)
def test_fields_are_columns_for_ids(rule: str, expected: list[str]) -> None:
    assert codes(IDS + rule) == expected


# ------------------------------------------------------------------------------------- goals


def test_a_goal_names_a_value_of_the_type() -> None:
    found = analyse_or_raise(program_of(TYPES))
    goal = check_goal(parse_goal('pair([1, "a"])', found.program), found)
    assert goal.terms == (Constant('[1, "a"]', Kind.STRUCTURE),)
    for wrong in ('[1, "a", 2]', "$Zero", '["a", 1]', "[1, a]"):
        with pytest.raises(ConstatError):
            check_goal(Atom("pair", (Constant(wrong, Kind.STRUCTURE),)), found)


# ------------------------------------------------------------------------------ machine words


@pytest.mark.parametrize(
    ("fact", "width", "expected"),
    [
        ("list([2147483647, nil]).", 32, []),
        ("list([2147483648, nil]).", 32, ["C0611"]),
        ("list([-2147483649, nil]).", 32, ["C0611"]),
        ("list([2147483648, nil]).", 64, []),
        ('pair([1, "2147483648, 0x1p+999"]).', 32, []),
        ('pair([1, "\\"2147483648"]).', 32, []),
        ("expr($Add($Zero, $Number(2147483648))).", 32, ["C0611"]),
    ],
)
def test_numbers_in_structures_fit_in_a_word(fact: str, width: int, expected: list[str]) -> None:
    found: list[Diagnostic] = []
    analysed = analyse_or_raise(program_of(TYPES + fact))
    words = with_machine_words(analysed, width, found)
    assert [one.code for one in found] == expected
    assert words.rules == analysed.rules


def test_floats_in_structures_are_narrowed() -> None:
    analysed = analyse_or_raise(program_of(TYPES + 'price([1, 0.1, "2025-01-31"]).'))
    (term,) = with_machine_words(analysed, 32, []).rules[0].head.terms
    assert isinstance(term, Constant)
    assert term.value == '[1, 0x1.99999a0000000p-4, "2025-01-31"]'


def test_an_unsigned_field_lets_greater_numbers_in() -> None:
    text = ".type U = [u: unsigned]\n.decl u(u: U)\nu([4294967295u]).\n"
    found: list[Diagnostic] = []
    with_machine_words(analyse_or_raise(program_of(text)), 32, found)
    assert found == []
    with_machine_words(analyse_or_raise(program_of(text.replace("295u", "296u"))), 32, found)
    assert [one.code for one in found] == ["C0611"]
