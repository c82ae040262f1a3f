"""Structures on whose spelling or size two checkers could disagree, as certificates.

In: nothing.  Out: as in ``told_apart``, which lists these with its own.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from tests.check.structure_tables import DEEP, LARGEST
from tests.check.structured import N, S, X, has_field, is_made_by
from tests.check.writer import Writer, agg, cmp, con, fun, pos

if TYPE_CHECKING:
    from collections.abc import Mapping

Case = tuple[bytes, str | None]


def shown(text: str, refused: str | None = None) -> Case:
    """A structure of a source is the goal, as it stands."""
    w = Writer()
    w.outside("p", f"e:{X}")
    w.facts("p", [[text]])
    w.given("p", text)
    return w.conclude("PROVED", "p", text).data(), refused


def opened(text: str, indicator: str, place: int, kind: str, field: str) -> Case:
    """A structure is taken apart and, where it is a record of two, put together again."""
    w = Writer()
    w.outside("p", f"e:{X}")
    w.declare("q", f"f:{kind} r:{X}")
    made = fun("[]", X, "f", con(S, 'é"\\'))
    body = pos("p", "e"), is_made_by("e", indicator), has_field("e", place, kind, "f")
    w.rule("open", pos("q", "f", made), *body, f=kind)
    w.facts("p", [[text]])
    first = field if kind in {N, "float", "Decimal", X} else f'"{field}"'
    row = [field, f'[{first}, "é\\"\\\\"]']
    w.derived(0, row, {"e": text, "f": field}, [w.given("p", text), None, None])
    return w.conclude("PROVED", "q", *row).data(), None


def taken_apart_often(rows: int, code: str | None) -> Case:
    """A structure of 6,400 signs costs 100 steps each time that it is taken apart."""
    text = '["' + "a" * (6400 - 4) + '"]'
    w = Writer()
    w.outside("p", f"e:{X}")
    w.outside("n", f"n:{N}")
    w.declare("q", f"k:{N}")
    asked = [is_made_by("e", "[]/1") for _ in range(100)]
    body = pos("n", "n"), pos("p", "e"), *asked
    w.rule("count", pos("q", "k"), agg("count", "k", None, *body), k=N)
    w.facts("p", [[text]], covers=([], [[]]))
    w.facts("n", [[str(number)] for number in range(rows)], covers=([], [[]]))
    w.derived(0, [str(rows)], {"k": str(rows)}, [None])
    return w.conclude("PROVED", "q", str(rows)).data(), code


def structure_of_bytes(size: int, code: str | None) -> Case:
    """A structure that may be just as long as it is: one byte more is an error.

    Beside the texts it has two brackets, four quotes, a comma and a blank.
    """
    text = "a" * (LARGEST - 8 - 9) + "€€€"
    w = Writer()
    w.outside("t", f"t:{S}")
    w.declare("q", f"t:{S}")
    rest = con(S, "a" * size)
    made = cmp("!=", fun("[]", X, "t", rest), con(X, "nil"))
    w.rule("long", pos("q", "t"), pos("t", "t"), made)
    w.facts("t", [[text]])
    w.derived(0, [text], {"t": text}, [w.given("t", text), None])
    return w.conclude("PROVED", "q", text).data(), code


LONG: Final = "a" * (LARGEST - 8) + "\U0001f600"

CASES: Final[Mapping[str, partial[Case]]] = {
    "nested_as_deep_as_it_is_long": partial(shown, "[" * DEEP + "]" * DEEP),
    "nested_without_an_end": partial(shown, "$A(" * DEEP + "$A" + ")" * (DEEP - 1), "value"),
    "as_large_as_allowed": partial(shown, f'["{LONG}"]'),
    "a_byte_too_large": partial(shown, f'["{LONG}a"]', "value"),
    "a_zero_with_a_sign": partial(shown, "[-0]", "value"),
    "a_zero_float_with_a_sign": partial(shown, "[-0x0.0p+0]", "value"),
    "a_zero_at_the_end": partial(shown, "[1.50]", "value"),
    "a_float_of_few_digits": partial(shown, "[0x1.8p+1]", "value"),
    "a_float_too_large": partial(shown, "[0x1.0000000000000p+1024]", "value"),
    "a_number_of_38_digits": partial(shown, f"[-{'9' * 38}]"),
    "a_number_of_39_digits": partial(shown, f"[{'9' * 39}]", "value"),
    "a_branch_with_empty_brackets": partial(shown, "$A()", "value"),
    "a_record_without_fields": partial(shown, "[[], $A([])]"),
    "blanks_between": partial(shown, "[1,  2]", "value"),
    "a_wide_blank_between": partial(shown, "[1,\u00a02]", "value"),
    "a_full_width_digit": partial(shown, "[\uff11]", "value"),
    "a_long_s_in_a_name": partial(shown, "$\u017f", "value"),
    "an_escape_of_json": partial(shown, '["\\u0061"]', "value"),
    "a_line_break_behind": partial(shown, "[]\n", "value"),
    "a_line_break_inside": partial(shown, '["\n\r\u2028\x85"]'),
    "a_pair_of_surrogates": partial(opened, '["\U0001f600", 1]', "[]/2", 0, S, "\U0001f600"),
    "quotes_and_backslashes": partial(opened, '["a, ]\\\\", "b"]', "[]/2", 1, S, "b"),
    "a_field_that_is_a_float": partial(
        opened, f"$F({(0.1).hex()})", "$F/1", 0, "float", (0.1).hex()
    ),
    "a_field_that_is_no_float": partial(opened, "$F(1)", "$F/1", 0, "float", "0x0.0p+0"),
    "a_field_of_another_kind": partial(opened, "[1, nil]", "[]/2", 1, N, "0"),
    "a_field_deep_inside": partial(
        opened, "[nil, [[1, [2]], nil]]", "[]/2", 1, X, "[[1, [2]], nil]"
    ),
    "as_long_as_may_be": partial(structure_of_bytes, 0, None),
    "one_byte_longer": partial(structure_of_bytes, 1, "comparison"),
    "taken_apart_often": partial(taken_apart_often, 300, None),
}
