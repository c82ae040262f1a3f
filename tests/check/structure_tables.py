r"""What functions of structures, their comparisons and their spellings give, value by value.

``None`` as a result is ⚡: the evaluation has no value.
"""

from __future__ import annotations

from typing import Final

N, U, F, D, S = "number", "unsigned", "float", "Decimal", "symbol"
DAY, TIME, BOOL, X = "Date", "Timestamp", "Bool", "structure"
LARGEST: Final = 1_048_576
HALF: Final = (0.5).hex()
NOON: Final = "2025-01-31T12:00:00.000000Z"
DEEP: Final = 100_000
LONG: Final = ", ".join(["1"] * 1000)
LIST: Final = "[1, " * DEEP + "nil" + "]" * DEEP
NINES: Final = "9" * 38

# Every kind of field; each is asked for as every kind below.
MIXED: Final = f'$M(7, -7, 0.5, {HALF}, "a", "2025-01-31", "{NOON}", "true", $Z, nil, [], [1])'
_NUMBERS: Final = (
    (N, ("7", "-7", "0", "0")),
    (U, ("7", "0", "0", "0")),
    (F, ("0x0.0p+0", "0x0.0p+0", "0x0.0p+0", HALF)),
    (D, ("7", "-7", "0.5", "0")),
)
_TEXTS: Final = (
    (S, ("a", "2025-01-31", NOON, "true")),
    (DAY, ("0001-01-01", "2025-01-31", "0001-01-01", "0001-01-01")),
    (TIME, ("0001-01-01T00:00:00.000000Z",) * 2 + (NOON, "0001-01-01T00:00:00.000000Z")),
    (BOOL, ("false", "false", "false", "true")),
)
_NOTHING: Final = (
    (N, "0"),
    (U, "0"),
    (F, "0x0.0p+0"),
    (D, "0"),
    (S, ""),
    (DAY, "0001-01-01"),
    (TIME, "0001-01-01T00:00:00.000000Z"),
    (BOOL, "false"),
    (X, "nil"),
)
_PARTS: Final = ("$Z", "nil", "[]", "[1]")

Call = tuple[str, tuple[str, ...], str, tuple[str, ...], str | None]


def _field(text: str, place: object, kind: str, found: str) -> Call:
    return ("field_of", (X, N), kind, (text, str(place)), found)


def _of_every_kind() -> tuple[Call, ...]:
    """Return each field of the mixed structure, asked for as each kind."""
    found: list[Call] = []
    for kind, nothing in _NOTHING:
        own: tuple[str, ...] = dict(_NUMBERS).get(kind, (nothing,) * 4) + dict(_TEXTS).get(
            kind, (nothing,) * 4
        )
        own += _PARTS if kind == X else (nothing,) * 4
        found += [_field(MIXED, place, kind, value) for place, value in enumerate(own)]
        found += [_field(MIXED, place, kind, nothing) for place in (-1, -12, 12, 2**63 - 1)]
        found += [_field(text, 0, kind, nothing) for text in ("nil", "[]", "$Z")]
    return tuple(found)


FUNCTIONS: Final[tuple[Call, ...]] = (
    *_of_every_kind(),
    # Constructors.
    ("[]", (N,), X, ("-7",), "[-7]"),
    ("[]", (N, S), X, ("1", "a"), '[1, "a"]'),
    ("[]", (F, D, U), X, (HALF, "-0.5", "0"), f"[{HALF}, -0.5, 0]"),
    ("[]", (DAY, TIME, BOOL), X, ("2025-01-31", NOON, "true"), f'["2025-01-31", "{NOON}", "true"]'),
    ("[]", (X, X, X), X, ("nil", "[]", "$A"), "[nil, [], $A]"),
    ("[]", (S, S, S), X, ("nil", "1", ""), '["nil", "1", ""]'),
    ("[]", (S,), X, ('a"b\\c\\"d',), '["a\\"b\\\\c\\\\\\"d"]'),
    ("[]", (S,), X, ("a, b)]\n\té\U0001f600",), '["a, b)]\n\té\U0001f600"]'),
    ("$A", (S,), X, ("x",), '$A("x")'),
    ("$_", (N,), X, ("1",), "$_(1)"),
    ("$aZ_9", (X,), X, ("$A(1)",), "$aZ_9($A(1))"),
    ("$Add", (X, X), X, ("$Number(1)", "$Zero"), "$Add($Number(1), $Zero)"),
    ("[]", (S,), X, ("a" * (LARGEST - 4),), '["' + "a" * (LARGEST - 4) + '"]'),
    ("[]", (S,), X, ("a" * (LARGEST - 3),), None),
    ("[]", (S,), X, ("a" * (LARGEST + 1),), None),
    ("[]", (S,), X, ("é" * (LARGEST // 2 - 2),), '["' + "é" * (LARGEST // 2 - 2) + '"]'),
    ("[]", (S,), X, ("é" * (LARGEST // 2 - 2) + "a",), None),
    ("[]", (S,), X, ('"' * (LARGEST // 2 - 2),), '["' + '\\"' * (LARGEST // 2 - 2) + '"]'),
    ("[]", (S,), X, ('"' * (LARGEST // 2 - 1),), None),
    ("[]", (X, X), X, ("[" * DEEP + "]" * DEEP, "nil"), "[" * (DEEP + 1) + "]" * DEEP + ", nil]"),
    # Constructors of what is there.
    ("constructor_of", (X,), S, ("nil",), "nil/0"),
    ("constructor_of", (X,), S, ("[]",), "[]/0"),
    ("constructor_of", (X,), S, ("[[]]",), "[]/1"),
    ("constructor_of", (X,), S, ("[nil]",), "[]/1"),
    ("constructor_of", (X,), S, ('[1, "a"]',), "[]/2"),
    ("constructor_of", (X,), S, ("$Zero",), "$Zero/0"),
    ("constructor_of", (X,), S, ("$Number(1)",), "$Number/1"),
    ("constructor_of", (X,), S, ("$Add($Number(1), $Zero)",), "$Add/2"),
    ("constructor_of", (X,), S, ("[$A(1, 2), [1, 2], $B]",), "[]/3"),
    ("constructor_of", (X,), S, ('$A(", ")',), "$A/1"),
    ("constructor_of", (X,), S, ('$A("(", ")", "\\"", "\\\\")',), "$A/4"),
    ("constructor_of", (X,), S, ('["\\\\", "]"]',), "[]/2"),
    ("constructor_of", (X,), S, ('["\\\\\\"], ["]',), "[]/1"),
    ("constructor_of", (X,), S, (MIXED,), "$M/12"),
    ("constructor_of", (X,), S, (f"[{LONG}]",), "[]/1000"),
    ("constructor_of", (X,), S, ("[" * DEEP + "nil" + ", 1]" * DEEP,), "[]/2"),
    ("constructor_of", (X,), S, ("$A(" * DEEP + "$A" + ")" * DEEP,), "$A/1"),
    # Fields where they lie.
    _field("$Add($Number(1), $Zero)", 0, X, "$Number(1)"),
    _field("$Add($Number(1), $Zero)", 1, X, "$Zero"),
    _field("[[1, [2]], [3], 4]", 0, X, "[1, [2]]"),
    _field("[[1, [2]], [3], 4]", 1, X, "[3]"),
    _field("[[1, [2]], [3], 4]", 2, N, "4"),
    _field('["a", "b", "c"]', 1, S, "b"),
    _field('["\\"", "\\\\", "\\\\\\"", ""]', 0, S, '"'),
    _field('["\\"", "\\\\", "\\\\\\"", ""]', 1, S, "\\"),
    _field('["\\"", "\\\\", "\\\\\\"", ""]', 2, S, '\\"'),
    _field('["\\"", "\\\\", "\\\\\\"", ""]', 3, S, ""),
    _field('["a, b", "]", "("]', 0, S, "a, b"),
    _field('["a, b", "]", "("]', 1, S, "]"),
    _field('["\n\té\U0001f600"]', 0, S, "\n\té\U0001f600"),
    _field('[$A("]"), 5]', 1, N, "5"),
    _field('[["\\"]"], 5]', 1, N, "5"),
    _field(f"[{LONG}, 2]", 1000, N, "2"),
    _field("[" * DEEP + "nil" + ", 1]" * DEEP, 1, N, "1"),
    _field(
        "[1, " * DEEP + "nil" + "]" * DEEP, 1, X, "[1, " * (DEEP - 1) + "nil" + "]" * (DEEP - 1)
    ),
    # Fields at the edges of their kinds.
    _field(f"[{2**63 - 1}]", 0, N, str(2**63 - 1)),
    _field(f"[{2**63}]", 0, N, "0"),
    _field(f"[{-(2**63)}]", 0, N, str(-(2**63))),
    _field(f"[{-(2**63) - 1}]", 0, N, "0"),
    _field(f"[{2**64 - 1}]", 0, U, str(2**64 - 1)),
    _field(f"[{2**64}]", 0, U, "0"),
    _field(f"[{2**64}]", 0, D, str(2**64)),
    _field(f"[{NINES}]", 0, D, NINES),
    _field(f"[{NINES}]", 0, F, "0x0.0p+0"),
    _field("[1]", 0, F, "0x0.0p+0"),
    _field('["1"]', 0, N, "0"),
    _field('["1.5"]', 0, D, "0"),
    _field(f'["{HALF}"]', 0, F, "0x0.0p+0"),
    _field(f'["{HALF}"]', 0, S, HALF),
    _field('["$A"]', 0, X, "nil"),
    _field('["nil"]', 0, X, "nil"),
    _field('["nil"]', 0, S, "nil"),
    _field("[1]", 0, S, ""),
    _field("[$A]", 0, S, ""),
    _field("[$A]", 0, N, "0"),
    _field('["2025-02-29"]', 0, DAY, "0001-01-01"),
    _field('["20250131"]', 0, DAY, "0001-01-01"),
    _field('["2025-01-31T12:00:00Z"]', 0, TIME, "0001-01-01T00:00:00.000000Z"),
    _field('["True"]', 0, BOOL, "false"),
)

NO_SIGNATURES: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("[]", (), X),
    ("[]", (N,), S),
    ("[", (N,), X),
    ("$", (N,), X),
    ("$1", (N,), X),
    ("$A ", (N,), X),
    ("$A\n", (N,), X),
    ("$é", (N,), X),
    ("A", (N,), X),
    ("nil", (N,), X),
    ("$A", (), X),
    ("$A", (N,), N),
    ("constructor_of", (), S),
    ("constructor_of", (S,), S),
    ("constructor_of", (X,), X),
    ("constructor_of", (X, X), S),
    ("field_of", (X,), N),
    ("field_of", (X, U), N),
    ("field_of", (S, N), N),
    ("field_of", (X, N), "Pair"),
    ("field_of", (X, N, N), N),
    ("as", (X,), X),
    ("as", (X,), S),
    ("as", (S,), X),
    ("to_string", (X,), S),
    ("to_number", (X,), N),
    ("cat", (X, X), X),
    ("cat", (S, X), S),
    ("strlen", (X,), N),
    ("min", (X, X), X),
    ("max", (X, X), X),
    ("+", (X, X), X),
)

COMPARISONS: Final[tuple[tuple[str, str, str, str, bool | None], ...]] = (
    ("=", X, "[1]", "[1]", True),
    ("=", X, "[1]", '["1"]', False),
    ("=", X, "[]", "nil", False),
    ("!=", X, "$A", "$B", True),
    ("!=", X, "$A", "$A", False),
)
NO_OPERATORS: Final = tuple(
    (operator, X) for operator in ("<", "<=", ">", ">=", "match", "contains", "!contains")
)
OPERATORS: Final = (("=", X), ("!=", X))

SPELLED: Final = tuple(
    (X, text)
    for text in (
        "nil",
        "[]",
        "[[]]",
        "[nil]",
        "[1]",
        '[1, "a"]',
        "$A",
        "$_",
        "$a_9Z",
        "$A(1)",
        "$nil",
        "$nil(nil)",
        "$A($B($C), [], nil, 1)",
        "[0, -1, 0.5, -0.5, 10, 100]",
        f"[{NINES}, -{NINES}, -0.{'0' * 37}1, 0.{'0' * 37}1, {'1' * 19}.{'1' * 19}]",
        f"[{HALF}, 0x0.0p+0, -0x1.8000000000000p+0, {(5e-324).hex()}]",
        '["", "\\"", "\\\\", "\\\\\\"", "a, b", "[", ")", "nil", "$A", "\n\té\U0001f600\uffff"]',
        MIXED,
        "[" * DEEP + "]" * DEEP,
        "$A(" * DEEP + "[]" + ")" * DEEP,
        LIST,
        '["' + '\\"' * (LARGEST // 2 - 2) + '"]',
        '["' + "é" * (LARGEST // 2 - 2) + '"]',
        '["' + "a" * (LARGEST - 4) + '"]',
        "$" + "a" * (LARGEST - 1),
    )
)
MISSPELLED: Final = tuple(
    (X, text)
    for text in (
        "",
        " ",
        "1",
        '"a"',
        "a",
        "true",
        "nill",
        "ni",
        "Nil",
        "nil ",
        " nil",
        "nil, nil",
        "nil()",
        "[",
        "]",
        "[1",
        "1]",
        "[1]]",
        "[[1]",
        "[1)",
        "$A(1]",
        "$",
        "$()",
        "$1",
        "$ A",
        "$A ",
        "$A()",
        "$A(",
        "$A)",
        "$A (1)",
        "$é",
        "$A-b",
        "$$A",
        "A(1)",
        "A",
        "(1)",
        "[,]",
        "[, 1]",
        "[1,2]",
        "[1,  2]",
        "[1 , 2]",
        "[1;2]",
        "[1, ]",
        "[1,]",
        "[1, , 2]",
        "[1 2]",
        "[ 1]",
        "[1 ]",
        "[ ]",
        "[1]\n",
        "[1], [2]",
        "[1], ",
        "[][]",
        "$A$B",
        "$A[]",
        "[]1",
        "[nilnil]",
        "[true]",
        "[a]",
        "[-]",
        "[-0]",
        "[-0.0]",
        "[+1]",
        "[01]",
        "[-01]",
        "[00]",
        "[1.]",
        "[.5]",
        "[1.50]",
        "[1.0]",
        "[1e5]",
        "[1.5.5]",
        "[1--1]",
        "[0x1]",
        "[0x1p+0]",
        "[-0x0.0p+0]",
        "[0x1.0p+0]",
        "[0x1.8000000000000p+1024]",
        "[0x1.8000000000000p0]",
        "[0X1.8000000000000P+0]",
        "[inf]",
        "[nan]",
        "[٣]",
        f"[{'9' * 39}]",
        f"[-{'9' * 39}]",
        f"[0.{'0' * 38}1]",
        f"[{'1' * 20}.{'1' * 19}]",
        "[" + "1" * 100_000 + "]",
        '["a]',
        '["a""b"]',
        '["a"b]',
        '["\\n"]',
        '["\\a"]',
        '["\\"]',
        '["\\',
        '[""a]',
        "['a']",
        '["a\0b"]',
        '["\ud800"]',
        "[1]]" * 1000,
        "[" * (DEEP + 1) + "]" * DEEP,
        "[" * DEEP + "]" * (DEEP + 1),
        "[" * LARGEST,
        "$A(" * DEEP + ")" * DEEP,
        "$" + "a" * LARGEST,
        '["' + "a" * (LARGEST - 3) + '"]',
        '["' + "é" * (LARGEST // 2 - 2) + 'a"]',
        '["' + "\U0001f600" * (LARGEST // 4) + '"]',
    )
)
