"""Random structures, what is nearly one, and calls that make them and take them apart.

In: a random generator.  Out: cases that both checkers and the engine can be asked.  Invariant: a
structure is drawn with the kinds of its fields, so that fields are asked for as what they are, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.report.checker import function_cases as drawn

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

STRUCTURE: Final = "structure"
KINDS: Final = (*drawn.KINDS, STRUCTURE)
NUMERIC: Final = drawn.NUMERIC
CONSTRUCTORS: Final = ("[]", "[]", "$A", "$Add", "$_1", "$nil")
WHOLE: Final = ("nil", "[]", "$A", "$Zero", "$nil", "[[]]", "[nil]")
SIGNS: Final = ("", *'[](),$"\\ nil019-+.xp:aA_\n\té', ", ", "()", "[]", "nil", '\\"', "$A", "-0")

Made = tuple[str, list[str], list[str]]
"""A constructor, the kinds of its fields, and their values."""


def made(rng: random.Random, depth: int = 3) -> Made:
    """Return a constructor with its fields."""
    kinds = [rng.choice(KINDS) for _ in range(rng.choice([1, 1, 2, 2, 3, 5]))]
    args = [value_of(rng, kind, depth) for kind in kinds]
    return rng.choice(CONSTRUCTORS), kinds, args


def value_of(rng: random.Random, kind: str, depth: int = 3) -> str:
    """Return a value of a kind, structures included."""
    if kind != STRUCTURE:
        return drawn.value_of(rng, kind)
    if depth == 0 or rng.random() < 0.2:
        return rng.choice(WHOLE)
    return written(*made(rng, depth - 1))


def written(constructor: str, kinds: list[str], args: list[str]) -> str:
    """Return the structure as the format writes it."""
    fields = []
    for kind, text in zip(kinds, args, strict=True):
        plain = kind in NUMERIC or kind == STRUCTURE
        fields.append(text if plain else '"' + text.translate({92: "\\\\", 34: '\\"'}) + '"')
    inner = ", ".join(fields)
    return f"[{inner}]" if constructor == "[]" else f"{constructor}({inner})"


def calls(rng: random.Random, rounds: int) -> Iterator[drawn.Call]:
    """Yield calls of each function, so many of each."""
    for _ in range(rounds):
        constructor, kinds, args = made(rng)
        yield constructor, kinds, STRUCTURE, args
        text = written(constructor, kinds, args)
        yield "constructor_of", [STRUCTURE], "symbol", [text]
        place = rng.randrange(-1, len(kinds) + 1)
        near = kinds[place] if 0 <= place < len(kinds) and rng.random() < 0.7 else rng.choice(KINDS)
        yield "field_of", [STRUCTURE, "number"], near, [text, str(place)]


def spellings(rng: random.Random, rounds: int) -> Iterator[tuple[str, str]]:
    """Yield texts that are, or nearly are, structures."""
    for _ in range(rounds):
        text = value_of(rng, STRUCTURE)
        for _ in range(rng.choice([0, 1, 1, 2])):
            place, gone = rng.randrange(len(text) + 1), rng.randrange(3)
            text = text[:place] + rng.choice(SIGNS) + text[place + gone :]
        yield STRUCTURE, text
