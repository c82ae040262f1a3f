"""Codes C0160 to C0179: constructs that are refused on purpose, with exit code 78."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_P: Final = ".decl p(x: number)\n.decl q(x: number)\n"
_LATER: Final = "A later version of the language brings them. "
_ORDER: Final = "Its value would depend on the order of evaluation, and a proof could not be "

REFUSALS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0160",
        "components",
        _LATER + "Until then a file with a prefix does the same.",
        ".comp Sales { .decl revenue(x: number) }\n",
        ".decl sales_revenue(x: number)\n",
    ),
    Entry(
        "C0163",
        "user-defined functors",
        "A function in another language could not be checked by an independent program. Use a "
        "built-in function, or a predicate whose rows a tier gives.",
        ".functor double(x: number): number\n",
        _P + "q(?y) :- p(?x), ?y = ?x * 2.\n",
    ),
    Entry(
        "C0164",
        "lattices",
        "What a lattice gives would depend on the engine.",
        ".lattice Interval { Bottom -> @bottom() }\n",
        _P + "q(?y) :- ?y = max ?x : { p(?x) }.\n",
    ),
    Entry(
        "C0165",
        "user-defined aggregates",
        "A function in another language could not be checked by an independent program.",
        _P + "q(?y) :- ?y = @@median ?x : { p(?x) }.\n",
        _P + "q(?y) :- ?y = max ?x : { p(?x) }.\n",
    ),
    Entry(
        "C0166",
        "autoinc",
        _ORDER + "re-checked. A column of the source can identify a row.",
        _P + "q(?y) :- p(_), ?y = autoinc().\n",
        _P + "q(?y) :- p(?y).\n",
    ),
    Entry(
        "C0167",
        "ord",
        _ORDER + "re-checked. Texts can be compared as they are.",
        ".decl name(s: symbol)\n.decl first(s: symbol)\nfirst(?s) :- name(?s), ord(?s) < 100.\n",
        '.decl name(s: symbol)\n.decl first(s: symbol)\nfirst(?s) :- name(?s), ?s < "M".\n',
    ),
    Entry(
        "C0168",
        "limitsize",
        "A relation that was cut short would make what is absent look false. Limits belong into "
        "the configuration, where they lead to UNRESOLVED.",
        _P + ".limitsize p(n=100)\n",
        _P,
    ),
    Entry(
        "C0169",
        "macros",
        "With macros the text that a person approved would not be the text that runs.",
        "#define LIMIT 5\n" + _P,
        _P + "q(?x) :- p(?x), ?x > 5.\n",
    ),
    Entry(
        "C0170",
        "choice domains",
        _LATER + "Until then `min` or `max` chooses a row.",
        ".decl chosen(k: number, x: number) choice-domain k\n",
        ".decl given(k: number, x: number)\n.decl chosen(k: number, x: number)\n"
        "chosen(?k, ?x) :- given(?k, _), ?x = min ?y : { given(?k, ?y) }.\n",
    ),
    Entry(
        "C0171",
        "subsumption",
        _LATER + "Until then `min` or `max` chooses a row.",
        ".decl best(x: number)\nbest(?x) <= best(?y) :- ?x < ?y.\n",
        _P + "q(?y) :- ?y = max ?x : { p(?x) }.\n",
    ),
    Entry(
        "C0172",
        "nested aggregates",
        "Their scopes are easily misread. The inner aggregate gets a predicate of its own.",
        _P + "q(?t) :- ?t = sum ?n : { p(?x), ?n = count : { p(?x) } }.\n",
        _P + ".decl size(n: number)\nsize(?n) :- ?n = count : { p(_) }.\n"
        "q(?t) :- ?t = sum ?n : { size(?n) }.\n",
    ),
    Entry(
        "C0173",
        "range",
        _LATER + "Until then a rule counts, up to a bound that it names.",
        _P + "q(?x) :- ?x = range(1, 3).\n",
        _P + "p(1).\np(?n + 1) :- p(?n), ?n < 2.\nq(?x) :- p(?x).\n",
    ),
    Entry(
        "C0174",
        "eqrel",
        _LATER + "Until then symmetry and transitivity are written as rules.",
        ".decl same(x: number, y: number) eqrel\n",
        ".decl given(x: number, y: number)\n.decl same(x: number, y: number)\n"
        "same(?x, ?y) :- given(?x, ?y).\nsame(?y, ?x) :- same(?x, ?y).\n"
        "same(?x, ?z) :- same(?x, ?y), same(?y, ?z).\n",
    ),
    Entry(
        "C0175",
        "declarations in the legacy form",
        "There is a newer form that says the same: `.type A <: symbol`, `.input p`, `.output p`.",
        ".symbol_type Customer\n",
        ".type Customer <: symbol\n",
    ),
    Entry(
        "C0179",
        "counters of the engine",
        _ORDER + "re-checked.",
        _P + "q(?n) :- p(?x), ?n = recursive_iteration_cnt(?x).\n",
        _P + "q(?x) :- p(?x).\n",
    ),
)
