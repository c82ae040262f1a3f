"""Numbers and days as people of a country write them, read plainly or not at all."""

from __future__ import annotations

from decimal import Decimal

import pytest

from constat.logic.locales import LOCALES, Locale, find_locale


def locale(name: str) -> Locale:
    found = find_locale(name)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "words", "plain"),
    [
        ("de_DE", "1.234,5", "1234.5"),
        ("de_DE", "1234,5", "1234.5"),
        ("de_DE", "12.34", ""),
        ("de_DE", "+7", "7"),
        ("de_DE", "(1.234)", "-1234"),
        ("de_DE", "1.234-", "-1234"),
        ("de_DE", "1,5,0", ""),
        ("en_US", "1,234,567.25", "1234567.25"),
        ("en_US", "12,34,567", ""),
        ("en_IN", "12,34,567", "1234567"),
        ("en_IN", "1,234,567", "1234567"),
        ("en_US", "x", ""),
        # Four digits without a group, where people write none in them; with one all the same.
        ("pl_PL", "1234", "1234"),
        ("pl_PL", "1 234", "1234"),
        ("pl_PL", "12 345,5", "12345.5"),
    ],
)
def test_a_number_is_read_where_groups_stand_as_the_country_writes_them(
    name: str, words: str, plain: str
) -> None:
    assert locale(name).read_number(words) == plain


@pytest.mark.parametrize("one", LOCALES, ids=lambda one: one.name)
def test_what_a_locale_writes_it_reads(one: Locale) -> None:
    for text in ("0", "12", "999", "1000", "1234", "12345", "1234567", "-1234.5"):
        written = one.number(Decimal(text))
        assert one.read_number(written) == text
        assert (one.group in written.lstrip("-")) is (
            len(text.split(".")[0].lstrip("-")) >= one.least
        )
    assert one.read_day(one.date("2024-02-09")) == "2024-02-09"


def test_a_cell_is_read_as_a_day_then_as_a_number_and_else_marked() -> None:
    german = locale("de_DE")
    assert german.read("9.2.2024") == "2024-02-09"
    assert german.read("9.2.2024 7:05") == "2024-02-09 07:05"
    assert german.read("1.234,5") == "1234.5"
    assert german.read("12.34") == "12.34 is not written as in de_DE"
    assert german.read("Oslo") == "Oslo"
    assert german.read("1.234,5 €", "€") == "1234.5"
    assert german.read("12.34", "€") == "12.34 has no €"
    assert german.read("Oslo", "€") == "Oslo"
