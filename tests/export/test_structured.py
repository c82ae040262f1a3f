"""Records and algebraic data types in exports: said as they are written, and one value each."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.proof.export.account import account_of
from constat.proof.export.markdown import to_markdown
from constat.proof.export.packages import to_lean, to_nemo
from tests.export.worlds import calculated, hostile_fields, offered

if TYPE_CHECKING:
    from collections.abc import Callable


def test_a_report_says_how_far_a_pattern_fits() -> None:
    (attempt,) = account_of(offered("nested(b, ?least, ?k)")).attempts
    assert (attempt.reached, attempt.of) == (1, 4)
    assert attempt.literal == "?cond_1 = $Both(?cond_2, ?cond_3)"
    assert (attempt.actual, attempt.required) == ("$AtLeast/1", "= Both(cond 2, cond 3)")


def test_a_report_says_which_field_is_another() -> None:
    (attempt,) = account_of(offered("nested(c, 7, FR)")).attempts
    assert (attempt.reached, attempt.of) == (2, 4)
    assert (attempt.actual, attempt.required, attempt.distance) == ("5", "= 7", "2")


def test_a_pattern_is_one_comparison_with_its_structure() -> None:
    account = account_of(offered("nested(c, 5, FR)"))
    (root,) = account.roots
    assert [one.sentence for one in account.tests(account.steps[root])] == [
        'w of c is $Both($AtLeast(5), $In("FR")), of the form Both(cond 2, cond 3)',
        "$AtLeast(5) is of the form AtLeast(least)",
        '$In("FR") is of the form In(k)',
    ]


def test_no_report_shows_a_function_that_nobody_wrote() -> None:
    for made in (offered("nested(c, 5, FR)"), offered("nested(b, ?least, ?k)"), calculated()):
        text = to_markdown(made)
        assert "constructor_of" not in text
        assert "field_of" not in text


def test_a_structure_is_one_text_for_other_programs() -> None:
    conclusions = [one["conclusion"] for one in json.loads(to_nemo(calculated()))["inferences"]]
    assert 'value("$Number(1)", 1)' in conclusions


@pytest.mark.parametrize("make", [calculated, hostile_fields])
def test_what_takes_a_structure_apart_is_refused_where_there_is_no_word_for_it(
    make: Callable[[], bytes],
) -> None:
    with pytest.raises(ConstatError) as refused:
        to_lean(make())
    (one,) = refused.value.diagnostics
    assert (one.code, "takes a structure apart" in one.message) == ("C0771", True)
