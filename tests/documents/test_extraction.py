"""Patterns, numbers and days: what they find, and what they leave open."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.documents import Document, Finder, Parsed, PatternError, Places, read_pattern
from constat.documents.extraction import plain_cell
from constat.logic import Kind, find_locale, parse_value

Cells = list[tuple[str | int | None, ...]]


def found(
    text: str, finder: Finder, *, marked: bool = False, quotes: tuple[str, ...] = ()
) -> Cells:
    parsed = Parsed(text, marked=marked)
    document = Document("d", "text", parsed=parsed, places=Places(parsed))
    rows = list(finder.find(document, quotes))
    for row in rows:
        assert 0 <= row.start < row.end <= len(text)
    return [row.cells for row in rows]


def pattern(written: str, kind: Kind = Kind.SYMBOL, locale: str = "") -> Finder:
    (name,) = read_pattern(written).names
    return Finder(((name, kind),), pattern=read_pattern(written), locale=locale)


@pytest.mark.parametrize(
    ("written", "kind", "text", "cells"),
    [
        ("Fee: {a} EUR", Kind.NUMBER, "Fee: 12 EUR", ["12"]),
        ("Fee: {a} EUR", Kind.NUMBER, "Fee:\n12 EUR, Fee:  13\nEUR", ["12", "13"]),
        ("Fee: {a}", Kind.NUMBER, "Fee: 12.", ["12"]),
        ("Fee: {a}", Kind.DECIMAL, "Fee: -12.50 EUR a month", ["-12.50"]),
        ("Fee: {a}", Kind.NUMBER, "Fee: 12% of it", ["12% of it"]),
        ("Fee: {a}", Kind.NUMBER, "Fee: 12x", ["12x"]),
        ("Fee: {a}", Kind.NUMBER, "Fee: none", ["none"]),
        ("Fee: {a}", Kind.NUMBER, "Coffee Fee: 1, aFee: 2", ["1"]),
        (
            "Version: {a}",
            Kind.SYMBOL,
            "Metadata-Version: 2\nmy_Version: 3\nx.Version: 4\nMy Version: 5\n_Version: 6",
            ["5", "6"],
        ),
        ("term {a} days", Kind.NUMBER, "term 30 days-long, term 31 days.", ["31"]),
        ("by {a} of", Kind.SYMBOL, "by Acme Inc. of\nby\nBirch of", ["Acme Inc.", "Birch"]),
        ("by {a}", Kind.SYMBOL, "by Acme Inc.  \nmore", ["Acme Inc."]),
        ("by {a} of", Kind.SYMBOL, "by Acme\n\nanother of", []),
        ("by {a} of", Kind.SYMBOL, "by Acme\n\nof", []),
        ("by {a} of", Kind.SYMBOL, "by of", []),
        (
            "by {a} of",
            Kind.SYMBOL,
            "by Prof. Hofer of it, nearby X of, by Y offers",
            ["Prof. Hofer"],
        ),
        ("x {a}pcs", Kind.NUMBER, "x 30pcs, x 4pcsx", ["30"]),
        ("x{a} y", Kind.NUMBER, "x30 y", ["30"]),
        ("due {a}", Kind.DATE, "due 2026-02-01, then", ["2026-02-01"]),
        ("due {a}", Kind.DATE, "due soon", ["soon"]),
        ("fee {a}", Kind.NUMBER, "Fee 1", []),
    ],
)
def test_a_value_stands_between_the_words(
    written: str, kind: Kind, text: str, cells: list[str]
) -> None:
    assert found(text, pattern(written, kind)) == [(one,) for one in cells]


def test_marks_of_emphasis_are_no_words() -> None:
    finder = pattern("Notice period: {days} days", Kind.NUMBER)
    text = "**Notice\n  period:** _30_ days"
    assert found(text, finder, marked=True) == [("30",)]
    assert found(text, finder) == [("** _30_",)]


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("no column", "names no column"),
        ("{a} first", "begins with a column"),
        ("x {a}{b}", "side by side"),
        ("x {a} y {a}", "twice"),
        ("x {a y", "followed by a name"),
        ("x {a} {", "followed by a name"),
    ],
)
def test_a_pattern_that_means_nothing_is_refused(written: str, reason: str) -> None:
    with pytest.raises(PatternError, match=reason):
        read_pattern(written)


@pytest.mark.parametrize(
    ("words", "locale", "plain"),
    [
        ("1250", "", "1250"),
        ("+5", "", "5"),
        ("12.5", "", "12.5"),
        ("1,250", "", None),
        ("1.250", "", None),
        ("1,250.50", "en_US", "1250.50"),
        ("1.250,50", "de_DE", "1250.50"),
        ("1.250", "de_DE", "1250"),
        ("1.250", "en_US", "1.250"),
        ("1'250", "de_CH", "1250"),
        ("12 500", "fr_FR", "12500"),
        ("12,34,567", "en_IN", "1234567"),
        ("12,34,567", "en_US", None),
        ("12,50", "en_US", None),
        ("1,2500", "en_US", None),
        ("1250,5", "de_DE", "1250.5"),
        ("0,125", "en_US", None),
        ("1e5", "", None),
        ("٣", "", None),
    ],
)
def test_a_number_is_read_where_it_means_one_number(
    words: str, locale: str, plain: str | None
) -> None:
    told = plain_cell(words, Kind.DECIMAL, find_locale(locale) if locale else None)
    if plain is not None:
        assert told == plain
    else:
        with pytest.raises(ValueError, match=r"is no|is not"):
            parse_value(told, Kind.DECIMAL)


@given(st.integers(-(10**12), 10**12), st.sampled_from(["en_US", "de_DE", "fr_FR", "en_IN"]))
def test_what_a_locale_writes_is_what_is_read(number: int, name: str) -> None:
    locale = find_locale(name)
    assert locale is not None
    assert plain_cell(locale.number(Decimal(number)), Kind.NUMBER, locale) == str(number)


def test_days_are_read_as_the_locale_writes_them() -> None:
    assert plain_cell("1.2.2026", Kind.DATE, find_locale("de_DE")) == "2026-02-01"
    assert plain_cell("1/2/2026", Kind.DATE, find_locale("en_US")) == "2026-01-02"
    assert plain_cell("1/2/2026", Kind.DATE, None) == "1/2/2026"
    assert found("due 1.2.2026.", pattern("due {a}", Kind.DATE, "de_DE")) == [("2026-02-01",)]


@given(st.text("Fee: 1\n*", max_size=60))
def test_every_text_can_be_looked_through(text: str) -> None:
    found(text, pattern("Fee: {a} Fee", Kind.NUMBER), marked=True)
    found(text, Finder((("key", Kind.SYMBOL), ("value", Kind.SYMBOL)), rows="fields"), marked=True)
    found(text, Finder((("quote", Kind.SYMBOL),), rows="quotes"), quotes=("Fee: 1", "*"))


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("text", ["a " * 300_000, "a" * 600_000, "a: " * 200_000, "\n" * 500_000])
def test_long_texts_come_to_their_end(text: str) -> None:
    found(text, pattern("a {x} zz", Kind.SYMBOL))
    found(text, Finder((("key", Kind.SYMBOL), ("value", Kind.SYMBOL)), rows="fields"))


def test_who_looks_through_a_text_can_be_stopped() -> None:
    class StoppedError(Exception):
        pass

    def stop() -> None:
        raise StoppedError

    parsed = Parsed("a b a b")
    document = Document("d", "text", parsed=parsed, places=Places(parsed))
    with pytest.raises(StoppedError):
        list(pattern("a {x} zz").find(document, (), stop))
