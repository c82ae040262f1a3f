"""The words of the language: functions, aggregates, comparisons, each with its meaning.

Syntax, analysis, back ends, portability and `docs/language.md` read them here; what a function
takes and gives is in `functors`. The checkers keep their own, which tests compare with these.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.frozen import frozen


@frozen
class Word:
    """What a function means; `total` where it errs on no values, `souffle` where Soufflé has it."""

    meaning: str
    total: bool = False
    souffle: bool = True


@frozen
class Spoken:
    """How people say a word, in the two languages of libraries.

    `{0}` and `{1}` are its arguments, `{all}` is the list of them; a relation of two values has
    neither, and stands between "is" and the second of them.
    """

    english: str
    german: str


FUNCTIONS: Final = MappingProxyType(
    {
        "+": Word("the sum"),
        "-": Word("the difference"),
        "*": Word("the product"),
        "/": Word("the quotient; of whole numbers cut off towards zero"),
        "^": Word("the power"),
        "%": Word("the remainder, with the sign of the dividend"),
        "band": Word("bits that both have", total=True),
        "bor": Word("bits that one or both have", total=True),
        "bxor": Word("bits that exactly one has", total=True),
        "bshl": Word("bits moved to the left"),
        "bshr": Word("bits moved to the right, the sign kept"),
        "bshru": Word("bits moved to the right, zeros before them"),
        "land": Word("1 where both are not 0, else 0", total=True),
        "lor": Word("1 where one or both are not 0, else 0", total=True),
        "lxor": Word("1 where exactly one is not 0, else 0", total=True),
        "neg": Word("the number with the other sign, written `-?x`"),
        "bnot": Word("all bits turned round", total=True),
        "lnot": Word("1 for 0, else 0", total=True),
        "min": Word("the least of two or more", total=True),
        "max": Word("the greatest of two or more", total=True),
        "cat": Word("texts joined, at most 1,048,576 bytes"),
        "strlen": Word("the number of bytes", total=True),
        "substr": Word("a part of a text: start from 0 and length, in bytes"),
        "to_string": Word("the value as a text", total=True),
        "to_number": Word("a text as a whole number; a number without its fraction"),
        "to_unsigned": Word("the same, not below 0"),
        "to_float": Word("a text or number as a float"),
        "to_decimal": Word("a text or number as a Decimal", souffle=False),
        "days_between": Word("days from the first to the second", total=True, souffle=False),
        "years_between": Word(
            "whole years from the first to the second", total=True, souffle=False
        ),
        "date_add": Word("the day so many days later", souffle=False),
        "year": Word("the year", total=True, souffle=False),
        "month": Word("the month, 1 to 12", total=True, souffle=False),
        "day": Word("the day of the month", total=True, souffle=False),
        "quarter": Word("the quarter, 1 to 4", total=True, souffle=False),
        "date_of": Word("the day of a Timestamp, in UTC", total=True, souffle=False),
        "as": Word("the same value as another type, `as(?x, Decimal)`"),
    }
)
BITWISE: Final = frozenset(
    {"band", "bor", "bxor", "bnot", "bshl", "bshr", "bshru", "land", "lor", "lxor", "lnot"}
)
"""The functions that are words between or before terms."""

AGGREGATES: Final = MappingProxyType(
    {
        "sum": "the sum of the target over all bindings; 0 of none",
        "count": "how many bindings there are; 0 of none",
        "min": "the least target; no row of none",
        "max": "the greatest target; no row of none",
        "mean": "the sum divided by the count, rounded once; no row of none",
    }
)
COMPARISONS: Final = MappingProxyType(
    {
        "=": "the same value; binds a variable that nothing else binds",
        "!=": "another value",
        "<": "less; of texts by code point",
        "<=": "less or the same",
        ">": "greater",
        ">=": "greater or the same",
        "match": "`match(pattern, text)`: the whole text matches",
        "!match": "the text does not match",
        "contains": "`contains(part, text)`: the part is in the text",
        "!contains": "the part is not in the text",
    }
)

SPOKEN: Final = MappingProxyType(
    {
        "+": Spoken("{0} plus {1}", "{0} plus {1}"),
        "-": Spoken("{0} minus {1}", "{0} minus {1}"),
        "*": Spoken("{0} times {1}", "{0} mal {1}"),
        "/": Spoken("{0} divided by {1}", "{0} geteilt durch {1}"),
        "^": Spoken("{0} to the power of {1}", "{0} hoch {1}"),
        "%": Spoken("the remainder of {0} divided by {1}", "der Rest von {0} geteilt durch {1}"),
        "band": Spoken("the bits that both {0} and {1} have", "die Bits von {0} und auch {1}"),
        "bor": Spoken("the bits that {0} or {1} has", "die Bits von {0} oder {1}"),
        "bxor": Spoken(
            "the bits that only one of {0} and {1} has", "die Bits nur eines von {0} und {1}"
        ),
        "bshl": Spoken(
            "{0} with its bits moved left by {1}", "{0}, die Bits um {1} nach links geschoben"
        ),
        "bshr": Spoken(
            "{0} with its bits moved right by {1}, the sign kept",
            "{0}, die Bits um {1} nach rechts geschoben, mit Vorzeichen",
        ),
        "bshru": Spoken(
            "{0} with its bits moved right by {1}, zeros before them",
            "{0}, die Bits um {1} nach rechts geschoben, mit Nullen davor",
        ),
        "land": Spoken(
            "1 if neither {0} nor {1} is 0 and else 0", "1, wenn weder {0} noch {1} 0 ist, sonst 0"
        ),
        "lor": Spoken(
            "0 if both {0} and {1} are 0 and else 1", "0, wenn {0} und {1} beide 0 sind, sonst 1"
        ),
        "lxor": Spoken(
            "1 if exactly one of {0} and {1} is 0 and else 0",
            "1, wenn genau eines von {0} und {1} 0 ist, sonst 0",
        ),
        "neg": Spoken("minus {0}", "minus {0}"),
        "bnot": Spoken("{0} with all bits turned round", "{0}, alle Bits umgekehrt"),
        "lnot": Spoken("1 if {0} is 0 and else 0", "1, wenn {0} 0 ist, sonst 0"),
        "min": Spoken("the least of {all}", "das Kleinste von {all}"),
        "max": Spoken("the greatest of {all}", "das Größte von {all}"),
        "cat": Spoken("the joined texts {all}", "die aneinandergefügten Texte {all}"),
        "strlen": Spoken("the length of {0} in bytes", "die Länge von {0} in Bytes"),
        "substr": Spoken(
            "the part of {0} that begins behind {1} bytes and has {2}",
            "der Teil von {0}, der nach {1} Bytes beginnt und {2} hat",
        ),
        "to_string": Spoken("{0} as a text", "{0} als Text"),
        "to_number": Spoken("{0} as a whole number", "{0} als ganze Zahl"),
        "to_unsigned": Spoken(
            "{0} as a whole number not below 0", "{0} als ganze Zahl nicht unter 0"
        ),
        "to_float": Spoken("{0} as a rounded number", "{0} als gerundete Zahl"),
        "to_decimal": Spoken("{0} as an exact number", "{0} als genaue Zahl"),
        "days_between": Spoken(
            "the number of days from {0} to {1}", "die Anzahl der Tage von {0} bis {1}"
        ),
        "years_between": Spoken(
            "the number of whole years from {0} to {1}",
            "die Anzahl der vollen Jahre von {0} bis {1}",
        ),
        "date_add": Spoken("the day that is {1} days after {0}", "der Tag {1} Tage nach {0}"),
        "year": Spoken("the year of {0}", "das Jahr von {0}"),
        "month": Spoken("the month of {0}", "der Monat von {0}"),
        "day": Spoken("the day of the month of {0}", "der Tag im Monat von {0}"),
        "quarter": Spoken("the quarter of {0}", "das Quartal von {0}"),
        "date_of": Spoken("the day of {0}", "der Tag von {0}"),
        "as": Spoken("{0}", "{0}"),
        # Aggregates: of what, over which rows.
        "sum of": Spoken("the sum of {0} over {1}", "die Summe von {0} über {1}"),
        "count of": Spoken("the number of {1} entries", "die Anzahl der Einträge in {1}"),
        "min of": Spoken("the least {0} over {1}", "das Kleinste von {0} über {1}"),
        "max of": Spoken("the greatest {0} over {1}", "das Größte von {0} über {1}"),
        "mean of": Spoken("the mean of {0} over {1}", "das Mittel von {0} über {1}"),
        # Comparisons; `not` before one says that it fails, `day` that it compares days.
        "=": Spoken("equal to", "gleich"),
        "!=": Spoken("different from", "verschieden von"),
        "<": Spoken("less than", "kleiner als"),
        "<=": Spoken("at most", "höchstens"),
        ">": Spoken("more than", "größer als"),
        ">=": Spoken("at least", "mindestens"),
        "not =": Spoken("not equal to", "nicht gleich"),
        "not !=": Spoken("not different from", "nicht verschieden von"),
        "not <": Spoken("not less than", "nicht kleiner als"),
        # "Not at least the least income" misleads.
        "not <=": Spoken("more than", "größer als"),
        "not >": Spoken("not more than", "nicht größer als"),
        "not >=": Spoken("less than", "kleiner als"),
        "day <": Spoken("before", "vor"),
        "day <=": Spoken("not after", "nicht nach"),
        "day >": Spoken("after", "nach"),
        "day >=": Spoken("not before", "nicht vor"),
        "day not <": Spoken("not before", "nicht vor"),
        "day not <=": Spoken("after", "nach"),
        "day not >": Spoken("not after", "nicht nach"),
        "day not >=": Spoken("before", "vor"),
        "contains": Spoken("contained in", "enthalten in"),
        "!contains": Spoken("not contained in", "nicht enthalten in"),
        "match": Spoken("a pattern that matches", "ein passendes Muster für"),
        "!match": Spoken("a pattern that does not match", "kein passendes Muster für"),
        "not contains": Spoken("not contained in", "nicht enthalten in"),
        "not !contains": Spoken("contained in", "enthalten in"),
        "not match": Spoken("a pattern that does not match", "kein passendes Muster für"),
        "not !match": Spoken("a pattern that matches", "ein passendes Muster für"),
    }
)
"""How every function, aggregate and comparison is said; `sentences` puts values into them."""
