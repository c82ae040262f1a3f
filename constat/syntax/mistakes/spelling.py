"""Mistakes inside one token: texts, numbers, names, comments, characters. Codes C0101 to C0115."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Final

from constat.diagnostics import Diagnostic, Severity, Span
from constat.patterns import regex

Plain = Callable[[Span], Diagnostic]
_LONGEST = 40
MONEY: Final = "€$£¥"
HUMAN: Final = regex(
    rf"[{MONEY}]?[0-9][0-9.,'\u2019]{{0,40}}(?<=[0-9])[kKM%{MONEY}]?(?![A-Za-z0-9_])"
)
"""A number as people write it: with separators, a sign of money, `%` or a letter for zeros."""
IN_SINGLE: Final = r"[^'\n\r]*(?:(?:''|(?<=\w)'(?=\w))[^'\n\r]*)*"
"""What stands in single quotes: an apostrophe between letters, or written twice, ends nothing."""
_PLAIN: Final = regex(
    r"[0-9]+([.][0-9]+)?|[0-9]+,[0-9]+|[0-9]{1,3}(['\u2019][0-9]{3})+([.,][0-9]+)?"
    r"|[0-9]{1,3}([.][0-9]{3})+,[0-9]+|[0-9]{1,3}([.][0-9]{3}){2,}"
)
_GROUPED: Final = regex(r"[0-9]{1,3}(,[0-9]{3})+([.][0-9]+)?")


def shown(text: str) -> str:
    """Cut a spelling short enough for a message."""
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"


def quoted(text: str) -> str:
    """Write a text as the rule language does."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def open_text(span: Span) -> Diagnostic:
    """A text whose closing quote is missing."""
    return Diagnostic(
        "C0101",
        "this text is not closed",
        span,
        label='no closing `"` on this line',
        note="a text begins and ends with a double quote on one line",
        help='close it, for example `"gold"`; a quote inside a text is written `\\"`',
    )


def text_over_lines(span: Span) -> Diagnostic:
    """A text with a raw line break."""
    return Diagnostic(
        "C0102",
        "this text goes over the end of the line",
        span,
        note="a text stays on one line; a raw line break inside it is not allowed",
        help='write the line break as `\\n`, for example `"first\\nsecond"`',
    )


def bad_escape(span: Span, escape: str) -> Diagnostic:
    """A backslash before a character that has no meaning there."""
    return Diagnostic(
        "C0103",
        f"`\\{escape}` has no meaning in a text",
        span,
        note="the escapes are \\\" \\' \\\\ \\a \\b \\f \\n \\r \\t \\v",
        help='write a backslash as two, for example `"C:\\\\data"`',
    )


def single_quotes(span: Span, inner: str) -> Diagnostic:
    """A text in single quotes."""
    return Diagnostic(
        "C0104",
        "texts stand in double quotes",
        span,
        note="single quotes mark texts in Prolog and SQL; here they have no meaning",
        help=f"write `{quoted(shown(inner))}`",
    )


def bare_words(span: Span, text: str) -> Diagnostic:
    """`Jane Doe` and `O'Neil` as an argument."""
    return Diagnostic(
        "C0122",
        f"`{shown(text)}` has neither quotes nor commas",
        span,
        note="texts stand in double quotes; arguments are separated by commas",
        help=f"write `{quoted(shown(text))}`",
    )


def odd_character(span: Span, character: str) -> Diagnostic:
    """A character that begins nothing."""
    name = unicodedata.name(character, f"U+{ord(character):04X}").lower()
    return Diagnostic(
        "C0105",
        f"the character {name} has no meaning here",
        span,
        note="outside texts and comments the language uses ASCII letters, digits and punctuation",
        help='delete it, or put it into a text such as `"…"`',
    )


def odd_name(span: Span, name: str) -> Diagnostic:
    """A name with letters outside ASCII."""
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    plain = "".join(letter for letter in plain if letter.isalnum() or letter == "_").strip("_")
    return Diagnostic(
        "C0106",
        f"`{shown(name)}` is not a name",
        span,
        note="names are ASCII letters, digits and `_`; texts may hold any letter",
        help=f"write `{shown(plain) or 'name'}`, or quote it when a text is meant",
    )


def nul_character(span: Span) -> Diagnostic:
    """A NUL in the text."""
    return Diagnostic(
        "C0107",
        "the text contains a NUL character",
        span,
        note="rule files are text; a NUL often means that the file is in UTF-16 or no text at all",
        help="save the file as UTF-8 text and delete the NUL character",
    )


def half_surrogate(span: Span) -> Diagnostic:
    """A lone surrogate in the text."""
    return Diagnostic(
        "C0108",
        "the text contains half a surrogate pair",
        span,
        note="half a surrogate pair is no character and cannot be written as UTF-8",
        help="write the whole character, or delete the half",
    )


def not_utf8(span: Span) -> Diagnostic:
    """Bytes that are no UTF-8."""
    return Diagnostic(
        "C0109",
        "the file is not UTF-8 text",
        span,
        label="the first byte that is no UTF-8 is here",
        note="rule files are UTF-8; the rest of this file was not read",
        help="save the file as UTF-8",
    )


def too_large(span: Span, limit: str) -> Diagnostic:
    """A file, or all files together, above the limit."""
    return Diagnostic(
        "C0110",
        f"the rules are larger than {limit}",
        span,
        note="one file holds at most 4 MiB, all files together at most 16 MiB; it was not read",
        help='keep large tables in a source and declare it: `.input sale(source="shop")`',
    )


def number_out_of_range(span: Span, range_text: str, written: str) -> Diagnostic:
    """A number outside its kind."""
    edit = 'write a smaller number, or quote it when it is an identifier, for example `"1"`'
    if written.startswith("-") and written.endswith("u"):
        edit = "write it without the sign, or without the `u` where the column is a number"
    elif written.isalnum() and not written.endswith("u"):
        edit += "; an unsigned has a `u` behind it and goes to 18446744073709551615u"
    return Diagnostic(
        "C0111",
        "this number is out of range",
        span,
        note=f"{range_text}",
        help=edit,
    )


def bare_fraction(span: Span, spelling: str) -> Diagnostic:
    """`.5` without a digit before the point."""
    return Diagnostic(
        "C0112",
        "a number has digits on both sides of the point",
        span,
        note="`.` before a digit would end the rule",
        help=f"write `0{shown(spelling)}`",
    )


def plain_number(text: str) -> str:
    """Give the number that `7,5`, `1.000,50`, `1'000`, `€5`, `50%` or `5k` means; or nothing."""
    if not HUMAN.fullmatch(text):
        return ""
    digits = text.strip(f"kKM%{MONEY}")
    if _GROUPED.fullmatch(digits):
        digits = digits.replace(",", "")
    elif _PLAIN.fullmatch(digits):
        dots = "." if "," in digits or digits.count(".") > 1 else ""
        digits = re.sub(rf"['\u2019{dots}]", "", digits).replace(",", ".")
    else:
        return ""
    zeros = {"k": 3, "K": 3, "M": 6}.get(text[-1], 0)
    return f"{Decimal(digits).scaleb(zeros):f}" if zeros else digits


def number_edit(text: str, before: str = "") -> str:
    """Say how a number is written that people write otherwise; nothing for what is none.

    `before` is repeated before it, such as `total = `.
    """
    plain = plain_number(text)
    if plain and text.endswith("%"):
        share = f"{Decimal(plain).scaleb(-2):f}"
        return f"write `{before}{plain}`, or `{before}{share}` where the values are shares of 1"
    return f"write `{before}{plain}`" if plain and plain != text else ""


_TRUTHS: Final = MappingProxyType(
    {
        **dict.fromkeys(("true", "yes", "y", "t", "1", "1.0", "on", "ja", "wahr"), "true"),
        **dict.fromkeys(("false", "no", "n", "f", "0", "0.0", "off", "nein", "falsch"), "false"),
    }
)


def truth_meant(text: str) -> str:
    """Give the truth value that `yes`, `0` or `TRUE` means; nothing for anything else."""
    return _TRUTHS.get(text.casefold(), "")


def human_number(span: Span, text: str) -> Diagnostic:
    """`7,5`, `1'000`, `€5`, `50%`."""
    return Diagnostic(
        "C0112",
        f"`{shown(text)}` is not how a number is written",
        span,
        note="a number has digits and at most one point: no separators, units or signs of money",
        help=number_edit(text),
    )


def odd_number(span: Span, text: str = "") -> Diagnostic:
    """Digits followed by letters, or more than one point."""
    if number_edit(text):
        return human_number(span, text)
    return Diagnostic(
        "C0112",
        "this is not a number",
        span,
        note="numbers are `5`, `-5`, `5u`, `0x1F`, `0b101`, `10.50` and `1.5e300`",
        help='quote it when a text is meant, for example `"5a"`',
    )


def open_comment(span: Span) -> Diagnostic:
    """`/*` without its end."""
    return Diagnostic(
        "C0113",
        "this comment is not closed",
        span,
        note="a comment that begins with `/*` ends with `*/`; the rest of the file was not read",
        help="close it with `*/`, or use `//` for one line",
    )


def comment_sign(span: Span, sign: str) -> Diagnostic:
    """A comment as other languages write it."""
    return Diagnostic(
        "C0114",
        f"`{sign}` does not start a comment",
        span,
        note="`%`, `#`, `--` and `//!` start comments elsewhere; the rest of the line was skipped",
        help="write `//`, or `///` for a description of what follows",
    )


def odd_variable(span: Span, spelling: str) -> Diagnostic:
    """A spelling such as `?_x`, `_1`, `??x`, `?é`."""
    plain = "".join(letter for letter in spelling if letter.isascii() and letter.isalnum())
    plain = plain.lstrip("0123456789") or "x"
    edit = f"write `?{shown(plain)}` or `_{shown(plain)}`"
    return Diagnostic(
        "C0115",
        f"`{shown(spelling)}` is not a variable",
        span,
        note="a variable is `?` and a name, `_` and a name where it is used once, or `_`",
        help=edit if spelling.strip("?_") else "write `_`",
    )


def too_many_errors(span: Span, count: int) -> Diagnostic:
    """The point where reporting stops."""
    return Diagnostic(
        "C0157",
        f"stopped after {count} errors in this file",
        span,
        note="the rest of the file was not read",
        help="mend the errors above first; the rest will be reported then",
        severity=Severity.NOTE,
    )
