"""Damage to texts and bytes: cuts, copies, foreign pieces, depth, length.

In: a good text and a chance.  Out: another text.  The same chance gives the same damage.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

STRANGE: Final = (
    *("\ud800", "\udfff", "é", "日", "\u202e", "\u2028", "\x1b[31m", "\x85", "\ufeff", "\x07"),
    *("\U0001f600", "\0", "a\u0301", "\u00a0", "\u0660", "\uff11", "ß", "İ", "\r", "\r\n", "\x0b"),
)
NUMBERS: Final = (
    *("0", "-0", "00", "1", "-1", "0x1F", "0b1", "1_000", "9223372036854775807"),
    *("9223372036854775808", "-9223372036854775809", "18446744073709551616", "1" * 39, "9" * 5_000),
    *("0.1", ".5", "5.", "1e308", "1e309", "1e-400", "1e999999999", "0." + "1" * 70, "NaN", "inf"),
    *("2024-02-30", "0000-01-01", "9999-12-31", "10000-01-01", "2024-01-01T25:00:00Z", "-" * 50),
)


def damaged_text(text: str, chance: Random, pieces: Sequence[str], most: int = 6) -> str:
    """Change a text in a few places."""
    for _ in range(min(most, chance.choice((1, 1, 2, 3, most)))):
        start = chance.randrange(len(text) + 1)
        end = min(len(text), start + chance.choice((0, 0, 1, 1, 3, 20)))
        text = text[:start] + _middle(text, start, chance, pieces) + text[end:]
    return text


def rearranged(text: str, chance: Random) -> str:
    """Put one or two words of a text in the place of others: most of it still has a meaning."""
    words = re.findall(r"\s+|[?.@]?\w+|[^\w\s]", text)
    places = [place for place, word in enumerate(words) if not word.isspace()]
    for _ in range(chance.choice((1, 1, 1, 2)) if places else 0):
        place, other = chance.choice(places), chance.choice(places)
        match chance.randrange(6):
            case 0:
                words[place] = ""
            case 1:
                words[place] += words[other]
            case 2:
                words[place], words[other] = words[other], words[place]
            case _:
                alike = [w for w in words if w[:1].isalpha() == words[place][:1].isalpha()]
                words[place] = chance.choice(alike)
    return "".join(words)


def _middle(text: str, start: int, chance: Random, pieces: Sequence[str]) -> str:
    match chance.randrange(10):
        case 0 | 1 | 2 | 3:
            return chance.choice(pieces)
        case 4:
            return chance.choice(NUMBERS)
        case 5:
            return chance.choice(STRANGE)
        case 6:
            other = chance.randrange(len(text) + 1)
            return text[other : other + chance.randint(0, 40)]
        case 7:
            return text[start : start + chance.randint(1, 40)] * chance.randint(1, 5)
        case 8:
            return chr(chance.randrange(0x110000))
        case _:
            return ""


def damaged_bytes(content: bytes, chance: Random, most: int = 5) -> bytes:
    """Change bytes in a few places."""
    found = bytearray(content)
    for _ in range(chance.randint(1, most)):
        start = chance.randrange(len(found) + 1)
        end = start + chance.choice((0, 1, 1, 1, 2, 8))
        found[start:end] = chance.randbytes(chance.choice((0, 1, 1, 1, 2, 8)))
    return bytes(found)


def soup(chance: Random, pieces: Sequence[str], most: int = 40) -> str:
    """Give pieces in any order."""
    glue = chance.choice((" ", " ", "", "\n"))
    return glue.join(chance.choices(pieces, k=chance.randint(0, most)))


def any_text(chance: Random, most: int = 60) -> str:
    """Give letters from anywhere, half surrogates too."""
    high = chance.choice((0x80, 0x250, 0x3000, 0x110000))
    return "".join(chr(chance.randrange(high)) for _ in range(chance.randint(0, most)))


def nested(chance: Random, brackets: Sequence[tuple[str, str]], most: int = 400) -> str:
    """Give brackets in brackets, not always closed."""
    depth = chance.randint(1, most)
    opened = [chance.choice(brackets) for _ in range(chance.randint(1, 3))]
    pairs = [opened[place % len(opened)] for place in range(depth)]
    closed = chance.choice((depth, depth, depth - 1, 0))
    ends = [end for _, end in reversed(pairs)][:closed]
    return "".join(start for start, _ in pairs) + chance.choice(("1", "x", "")) + "".join(ends)
