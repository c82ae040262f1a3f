"""Codes C0101 to C0115: mistakes inside one token."""

from __future__ import annotations

from typing import Final

from constat.diagnostics.entry import Entry

_TIER: Final = ".decl tier(c: symbol, t: symbol)\n"
_SALE: Final = ".decl sale(c: symbol, amount: Decimal)\n.decl large(c: symbol)\n"

SPELLING: Final[tuple[Entry, ...]] = (
    Entry(
        "C0101",
        "a text is not closed",
        "A text begins and ends with a double quote on one line. Without the closing quote nobody "
        "can tell where it ends, so the rest of the line is not read.",
        _TIER + 'tier("C001", "gold).\n',
        _TIER + 'tier("C001", "gold").\n',
    ),
    Entry(
        "C0102",
        "a text goes over the end of the line",
        "A raw line break cannot stand in a text: other programs that read rule files stop at it. "
        "Write `\\n` instead.",
        _TIER + 'tier("C001", "gold\nplated").\n',
        _TIER + 'tier("C001", "gold\\nplated").\n',
    ),
    Entry(
        "C0103",
        "an escape that has no meaning",
        'A backslash in a text begins an escape: `\\"`, `\\\\`, `\\n`, `\\t` and a few more. '
        "A backslash that is meant is written twice.",
        _TIER + 'tier("C:\\data", "gold").\n',
        _TIER + 'tier("C:\\\\data", "gold").\n',
    ),
    Entry(
        "C0104",
        "a text in single quotes",
        "Texts stand in double quotes. Single quotes have no meaning here.",
        _TIER + "tier(\"C001\", 'gold').\n",
        _TIER + 'tier("C001", "gold").\n',
    ),
    Entry(
        "C0105",
        "a character that has no meaning",
        "Outside texts and comments only ASCII letters, digits and punctuation stand. Blanks, "
        "quotes and dashes that an editor has made pretty are a frequent cause.",
        _TIER + 'tier("C001",\N{NO-BREAK SPACE}"gold").\n',
        _TIER + 'tier("C001", "gold").\n',
    ),
    Entry(
        "C0106",
        "a name with letters outside ASCII",
        "Names of predicates, columns, types and variables are ASCII letters, digits and `_`, so "
        "that two names that look alike are alike. Texts and comments may hold any letter.",
        ".decl müller(c: symbol)\n",
        ".decl mueller(c: symbol)\n",
    ),
    Entry(
        "C0107",
        "a NUL character",
        "A rule file is text. A NUL often means that the file is in UTF-16, or no text at all.",
        'tier("C001<NUL>", "gold").  (<NUL> stands for the character with number 0)\n',
        'tier("C001", "gold").\n',
        kind="text",
    ),
    Entry(
        "C0108",
        "half a surrogate pair",
        "Half a surrogate pair is no character and cannot be written as UTF-8. It comes from "
        "programs that cut texts in the middle of a character.",
        'tier("C001<D800>", "gold").  (<D800> stands for half of a pair)\n',
        'tier("C001", "gold").\n',
        kind="text",
    ),
    Entry(
        "C0109",
        "a file that is not UTF-8",
        "Rule files are UTF-8. What stands before the first wrong byte is not used either.",
        "a rule file saved as Latin-1 or UTF-16\n",
        "the same file saved as UTF-8\n",
        kind="text",
    ),
    Entry(
        "C0110",
        "rules that are too large",
        "One rule file holds at most 4 MiB and all files of a program at most 16 MiB. Tables of "
        "facts belong into a source, from which only what is needed is read.",
        "a rule file with a million facts\n",
        '.decl sale(c: symbol, amount: Decimal)\n.input sale(source="shop")\n',
        kind="text",
    ),
    Entry(
        "C0111",
        "a number that is out of range",
        "A number has 64 bits, a decimal at most 38 digits, and an unsigned such as `5u` no sign. "
        "Long identifiers are texts.",
        ".decl account(n: number)\naccount(12345678901234567890).\n",
        '.decl account(n: symbol)\naccount("12345678901234567890").\n',
    ),
    Entry(
        "C0112",
        "a malformed number",
        "A number with a point has digits on both sides of it, for a dot before a digit would end "
        "the rule. Digits followed by letters are no number and no name.",
        _SALE + "large(?c) :- sale(?c, ?a), ?a > .5.\n",
        _SALE + "large(?c) :- sale(?c, ?a), ?a > 0.5.\n",
    ),
    Entry(
        "C0113",
        "a comment that is not closed",
        "A comment that begins with `/*` ends with `*/`. Without its end the rest of the file is "
        "part of it.",
        _TIER + "/* who is gold\n",
        _TIER + "/* who is gold */\n",
    ),
    Entry(
        "C0114",
        "a comment of another language",
        "Comments begin with `//` or stand between `/*` and `*/`. `%`, `#`, `--` and `//!` start "
        "comments elsewhere.",
        "% tiers of customers\n" + _TIER,
        "// tiers of customers\n" + _TIER,
    ),
    Entry(
        "C0115",
        "a spelling that is no variable",
        "Variables are `?x`; a variable that is used once on purpose is `_x`, or `_`. Mixtures "
        "such as `?_x`, and `_1`, could be mistaken for another variable.",
        _TIER + ".decl customer(c: symbol)\ncustomer(?c) :- tier(?c, ?_t).\n",
        _TIER + ".decl customer(c: symbol)\ncustomer(?c) :- tier(?c, _t).\n",
    ),
)
