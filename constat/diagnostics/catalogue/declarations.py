"""Codes C0126 to C0128 and C0139 to C0157: directives, attributes, files, hints."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_TIER: Final = ".decl tier(c: symbol, t: symbol)\n"
_VIP: Final = _TIER + ".decl is_vip(c: symbol)\n"

DECLARATIONS: Final[tuple[Entry, ...]] = (
    Entry(
        "C0126",
        "an unknown directive",
        "The directives are .decl, .type, .input, .output, .include, .once, .pragma and .plan.",
        ".declare tier(c: symbol, t: symbol)\n",
        ".decl tier(c: symbol, t: symbol)\n",
    ),
    Entry(
        "C0127",
        "a name declared twice",
        "A predicate, a type or an input is declared once in all the files of a program, and the "
        "built-in types are declared already.",
        _TIER + ".decl tier(customer: symbol)\n",
        _TIER + ".decl tier_of(customer: symbol)\n",
    ),
    Entry(
        "C0128",
        "a malformed attribute",
        "An attribute is `@[key = value]`, `@[key]` or `@[key(name = value)]`, each in brackets "
        "of its own. The key is one name; values are names, numbers or texts.",
        "@[owner: compliance]\n" + _TIER,
        "@[owner = compliance]\n" + _TIER,
    ),
    Entry(
        "C0139",
        "a confidence out of range",
        "The confidence of a rule is a decimal above 0 and at most 1. Below 1 every conclusion of "
        "the rule rests on an assumption.",
        _VIP + '@[confidence = 90]\nis_vip(?c) :- tier(?c, "gold").\n',
        _VIP + '@[confidence = 0.9]\nis_vip(?c) :- tier(?c, "gold").\n',
    ),
    Entry(
        "C0140",
        "two rules of one id",
        "Proofs and approvals name rules by their id. Rules without one are numbered: `is_vip.1`.",
        _VIP + '@[id = gold]\nis_vip(?c) :- tier(?c, "gold").\n'
        '@[id = gold]\nis_vip(?c) :- tier(?c, "platinum").\n',
        _VIP + '@[id = gold]\nis_vip(?c) :- tier(?c, "gold").\n'
        '@[id = platinum]\nis_vip(?c) :- tier(?c, "platinum").\n',
    ),
    Entry(
        "C0142",
        "two columns of one name",
        "The columns of a predicate have different names, for goals name them.",
        ".decl knows(person: symbol, person: symbol)\n",
        ".decl knows(person: symbol, other: symbol)\n",
    ),
    Entry(
        "C0144",
        "an input or output of nothing",
        "`.input` and `.output` name a predicate that is declared in one of the files.",
        _TIER + '.input tiers(source="crm")\n',
        _TIER + '.input tier(source="crm")\n',
    ),
    Entry(
        "C0145",
        "a malformed pragma",
        "A pragma has one or two texts. The marker of this language names its version.",
        ".pragma constat\n",
        '.pragma "constat" "0.1"\n',
    ),
    Entry(
        "C0146",
        "a file for another version",
        "The file says that it is written for a version of the language that this program does "
        "not read.",
        '.pragma "constat" "9.0"\n',
        '.pragma "constat" "0.1"\n',
    ),
    Entry(
        "C0147",
        "an attribute given twice",
        "Each attribute of an item, and each parameter of an input, is given once.",
        "@[owner = sales] @[owner = compliance]\n" + _TIER,
        "@[owner = compliance]\n" + _TIER,
    ),
    Entry(
        "C0148",
        "an attribute of nothing",
        "Attributes stand directly before a declaration, `.input`, `.output`, a rule, a fact or a "
        "column.",
        '@[owner = compliance]\n.pragma "constat" "0.1"\n' + _TIER,
        '.pragma "constat" "0.1"\n@[owner = compliance]\n' + _TIER,
    ),
    Entry(
        "C0150",
        "a missing rule file",
        "The name of an included file is relative to the including file, then to the roots of the "
        "project. `constat/prelude.dl` is built in.",
        '.include "constat/prelud.dl"\n',
        '.include "constat/prelude.dl"\n',
    ),
    Entry(
        "C0151",
        "a file that includes itself",
        "Without `.once` an include in a circle never ends.",
        'a.dl:  .include "b.dl"\nb.dl:  .include "a.dl"\n',
        'a.dl:  .once  .include "b.dl"\nb.dl:  .include "a.dl"\n',
        kind="text",
    ),
    Entry(
        "C0152",
        "a rule file outside the project",
        "With links resolved, every rule file lies inside the project, the library or a folder "
        "named on the command line.",
        '.include "../../elsewhere/rules.dl"\n',
        '.include "shared/rules.dl"\n',
        kind="text",
    ),
    Entry(
        "C0153",
        "too many rule files",
        "A program has at most 1,000 files.",
        "a file that includes 1,001 others\n",
        "a few larger files\n",
        kind="text",
    ),
    Entry(
        "C0154",
        "a file included twice",
        "Everything in it would be declared twice. With `.once` at its top the second include has "
        "no effect.",
        '.include "types.dl"\n.include "types.dl"\n',
        '.include "types.dl"\n',
        kind="text",
    ),
    Entry(
        "C0155",
        "a rule file that cannot be read",
        "A rule file is an ordinary file that this user may read: no folder, no pipe.",
        "a file without read permission\n",
        "a file that may be read\n",
        kind="text",
    ),
    Entry(
        "C0156",
        "a hint that is ignored",
        "Hints tell stock Souffle how to evaluate. They never change what is true, so they are "
        "accepted and ignored. This is a note, not an error.",
        ".decl tier(c: symbol, t: symbol) brie\n",
        _TIER,
    ),
    Entry(
        "C0157",
        "too many errors",
        "After 200 errors the rest of a file is not read: it may be no rule file at all.",
        "a spreadsheet with the name of a rule file\n",
        "a rule file\n",
        kind="text",
    ),
)
