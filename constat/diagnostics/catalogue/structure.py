"""Codes C0116 to C0143, C0158 and C0159: mistakes in rules and facts."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_VIP: Final = (
    ".decl tier(c: symbol, t: symbol)\n.decl blocked(c: symbol)\n.decl is_vip(c: symbol)\n"
)
_SALE: Final = (
    ".decl sale(c: symbol, amount: Decimal)\n.decl customer(c: symbol)\n"
    ".decl total(c: symbol, amount: Decimal)\n.decl large(c: symbol)\n"
)
_DAY: Final = ".decl hired(c: symbol, d: Date)\n.decl recent(c: symbol)\n"
_DEEP: Final = "?a > " + "(" * 201 + "?a" + ")" * 201

STRUCTURE: Final[tuple[Entry, ...]] = (
    Entry(
        "C0116",
        "a bare name as an argument",
        "Variables begin with `?`, texts stand in double quotes. A bare name could be either: in "
        "some languages `Gold` is a variable, and the rule would hold for every tier.",
        _VIP + "is_vip(?c) :- tier(?c, Gold).\n",
        _VIP + 'is_vip(?c) :- tier(?c, "gold").\n',
    ),
    Entry(
        "C0117",
        "a negation of another language",
        "An atom is negated by `!` directly before it, not by `not`, `\\+` or `~`.",
        _VIP + 'is_vip(?c) :- tier(?c, "gold"), not blocked(?c).\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold"), !blocked(?c).\n',
    ),
    Entry(
        "C0118",
        "a comparison of another language",
        "The comparisons are `=`, `!=`, `<`, `<=`, `>` and `>=`. `==`, `=<`, `=>`, `<>` and `is` "
        "belong to other languages.",
        _VIP + 'is_vip(?c) :- tier(?c, ?t), ?t == "gold".\n',
        _VIP + 'is_vip(?c) :- tier(?c, ?t), ?t = "gold".\n',
    ),
    Entry(
        "C0119",
        "a connective of another language",
        "`,` means and, `;` means or; `,` binds more tightly. `&&`, `and`, `||` and `or` belong "
        "to other languages.",
        _VIP + 'is_vip(?c) :- tier(?c, "gold") and !blocked(?c).\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold"), !blocked(?c).\n',
    ),
    Entry(
        "C0120",
        "an arrow of another language",
        "Head and body of a rule are joined by `:-`.",
        _VIP + 'is_vip(?c) <- tier(?c, "gold").\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold").\n',
    ),
    Entry(
        "C0121",
        "a missing final dot",
        "Every rule and every fact ends with a dot.",
        _VIP + 'tier("C001", "gold")\ntier("C002", "silver").\n',
        _VIP + 'tier("C001", "gold").\ntier("C002", "silver").\n',
    ),
    Entry(
        "C0122",
        "a missing comma",
        "Literals, arguments and columns are separated by commas.",
        _VIP + 'is_vip(?c) :- tier(?c, "gold") !blocked(?c).\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold"), !blocked(?c).\n',
    ),
    Entry(
        "C0123",
        "a bracket without its partner",
        "Each bracket is closed within its rule, by one of its own kind.",
        _VIP + 'is_vip(?c :- tier(?c, "gold").\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold").\n',
    ),
    Entry(
        "C0124",
        "a date without quotes",
        "Without quotes `2024-01-01` is a subtraction and means 2022. Dates are quoted.",
        _DAY + "recent(?c) :- hired(?c, ?d), ?d >= 2024-01-01.\n",
        _DAY + 'recent(?c) :- hired(?c, ?d), ?d >= "2024-01-01".\n',
    ),
    Entry(
        "C0125",
        "a reserved word as a name",
        "The names of aggregates, functions and hints cannot name predicates, columns or types, "
        "here and in stock Souffle. With `?` in front every word can name a variable.",
        ".decl stock(article: symbol, count: number)\n",
        ".decl stock(article: symbol, count_: number)\n",
    ),
    Entry(
        "C0129",
        "nested too deeply",
        "Terms and groups nest at most 200 levels deep, so that every program that reads a rule "
        "can do so in bounded space. A long sum is a nested term too.",
        f".decl p(a: number)\n.decl q(a: number)\nq(?a) :- p(?a), {_DEEP}.\n",
        ".decl p(a: number)\n.decl q(a: number)\nq(?a) :- p(?a), ?a > (1 + 2) * 3.\n",
    ),
    Entry(
        "C0130",
        "something unexpected",
        "The text does not follow the grammar: a rule is `head(...) :- literal, literal.`, a fact "
        "is `head(...).`, a declaration is `.decl name(column: type)`.",
        _VIP + 'is_vip(?c) :- , tier(?c, "gold").\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold").\n',
    ),
    Entry(
        "C0131",
        "a named argument in a rule",
        "In a file that is read as Souffle's, arguments go by their position: Souffle does not "
        'know `column = value`. Files with `.pragma "constat" "0.1"` may name arguments.',
        _VIP + 'is_vip(?c) :- tier(?c, t = "gold").\n',
        _VIP + 'is_vip(?c) :- tier(?c, "gold").\n',
        kind="souffle",
    ),
    Entry(
        "C0132",
        "a chain of comparisons",
        "A comparison has one term on each side. A range is two comparisons.",
        _SALE + "large(?c) :- sale(?c, ?a), 10.0 < ?a < 20.0.\n",
        _SALE + "large(?c) :- sale(?c, ?a), 10.0 < ?a, ?a < 20.0.\n",
    ),
    Entry(
        "C0133",
        "a malformed aggregate",
        "Aggregates are `count : { body }`, and `sum term : { body }` with min, max and mean like "
        "sum. `count` counts the rows of its body and has no term.",
        _SALE + "total(?c, ?t) :- customer(?c), ?t = sum : { sale(?c, ?a) }.\n",
        _SALE + "total(?c, ?t) :- customer(?c), ?t = sum ?a : { sale(?c, ?a) }.\n",
    ),
    Entry(
        "C0134",
        "an aggregate as an argument",
        "An aggregate stands in a comparison, which gives its value a name.",
        _SALE + "total(?c, sum ?a : { sale(?c, ?a) }) :- customer(?c).\n",
        _SALE + "total(?c, ?t) :- customer(?c), ?t = sum ?a : { sale(?c, ?a) }.\n",
    ),
    Entry(
        "C0135",
        "a negation of something that is no atom",
        "`!` negates one atom, `match(...)` or `contains(...)`. A comparison is turned around; a "
        "group of literals gets a predicate of its own.",
        _VIP + 'is_vip(?c) :- tier(?c, ?t), !(?t = "silver").\n',
        _VIP + 'is_vip(?c) :- tier(?c, ?t), ?t != "silver".\n',
    ),
    Entry(
        "C0136",
        "something that is no literal",
        "A body consists of atoms, negated atoms, comparisons and aggregates. A name without "
        "parentheses, or a term alone, is none of them.",
        _VIP + "is_vip(?c) :- tier(?c, ?t), gold.\n",
        _VIP + 'is_vip(?c) :- tier(?c, ?t), ?t = "gold".\n',
    ),
    Entry(
        "C0137",
        "a description in the wrong place",
        "`///` describes the declaration or rule that follows. Inside one, a comment is `//`.",
        _VIP + 'is_vip(?c) :-\n  /// the best tier\n  tier(?c, "gold").\n',
        _VIP + 'is_vip(?c) :-\n  // the best tier\n  tier(?c, "gold").\n',
    ),
    Entry(
        "C0138",
        "a dot behind a directive",
        "Only rules and facts end with a dot.",
        ".decl tier(c: symbol, t: symbol).\n",
        ".decl tier(c: symbol, t: symbol)\n",
    ),
    Entry(
        "C0141",
        "a rule that stands for too many rules",
        "`;` and several heads are multiplied out: each combination is a rule of its own, with an "
        "id of its own. A choice with a name is counted once.",
        ".decl p(x: number)\n.decl q(x: number)\nq(?x) :- "
        + ", ".join(["(p(?x); ?x = 1)"] * 9)
        + ".\n",
        ".decl p(x: number)\n.decl q(x: number)\n.decl either(x: number)\n"
        "either(?x) :- p(?x); ?x = 1.\nq(?x) :- either(?x).\n",
    ),
    Entry(
        "C0143",
        "alternatives in an aggregate",
        "The body of an aggregate is one conjunction. A choice gets a predicate of its own.",
        _SALE
        + "total(?c, ?t) :- customer(?c), ?t = sum ?a : { sale(?c, ?a), (?a > 5.0; ?a < 1.0) }.\n",
        _SALE + ".decl counted(c: symbol, amount: Decimal)\n"
        "counted(?c, ?a) :- sale(?c, ?a), ?a > 5.0; sale(?c, ?a), ?a < 1.0.\n"
        "total(?c, ?t) :- customer(?c), ?t = sum ?a : { counted(?c, ?a) }.\n",
    ),
    Entry(
        "C0158",
        "an operator of another language",
        "A power is `^`, the bits of whole numbers are combined by `band bor bxor bnot` and moved "
        "by `bshl bshr bshru`; `land lor lxor lnot` give 1 or 0. `**`, `<<`, `&`, `|` and `mod` "
        "belong to other languages.",
        ".decl flags(n: number)\n.decl odd(n: number)\nodd(?n) :- flags(?n), (?n & 1) = 1.\n",
        ".decl flags(n: number)\n.decl odd(n: number)\nodd(?n) :- flags(?n), ?n band 1 = 1.\n",
    ),
    Entry(
        "C0159",
        "a fact or head that leaves out a column",
        "Where arguments are named, atoms of a body leave out the columns that do not matter. A "
        "fact and the head of a rule say a value for each column.",
        _VIP + 'tier(c = "C001").\n',
        _VIP + 'tier(c = "C001", t = "gold").\n',
    ),
)
