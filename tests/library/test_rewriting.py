"""Files in the canonical layout, as bytes."""

from __future__ import annotations

import pytest

from constat.library.listing import rewrite


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"p( 1 ).", b"p(1).\n"),
        (b"p( 1 ).\r\nq(2).\r\n", b"p(1).\r\nq(2).\r\n"),
        (b"p(1).\r\nq(2).\nr(3).\n", b"p(1).\nq(2).\nr(3).\n"),
        (b"\xef\xbb\xbfp(1).\n", b"p(1).\n"),
        (b"\xef\xbb\xbf", b""),
        (b"", b""),
        ('p("é☃"). // ☃\n'.encode(), 'p("é☃").  // ☃\n'.encode()),
        (b"/* a\r\n b */\r\np(1).\r\n", b"/* a\r\n b */\r\np(1).\r\n"),
    ],
)
def test_only_the_layout_changes(before: bytes, after: bytes) -> None:
    written = rewrite(before, "x.dl")
    assert written.after == after
    assert written.changed == (before != after)
    assert rewrite(after, "x.dl").status == "unchanged"


@pytest.mark.parametrize(
    ("content", "code"), [(b"p(1)\n", "C0121"), (b"p(\xff).\n", "C0109"), (b"p(\0).", "C0107")]
)
def test_a_file_with_errors_is_left_as_it_is(content: bytes, code: str) -> None:
    written = rewrite(content, "x.dl")
    assert written.after is None
    assert written.status == "error"
    assert not written.changed
    assert [one.code for one in written.diagnostics] == [code]
    assert [one.span.source for one in written.diagnostics if one.span] == ["x.dl"]


@pytest.mark.parametrize("letter", ["x", "é"])
def test_a_file_that_is_too_large_is_left_as_it_is(letter: str) -> None:
    # Whoever reads within bounds gives one byte more than the most: the rest is cut off.
    content = ("// " + letter * (4 << 20)).encode()[: (4 << 20) + 1]
    written = rewrite(content, "x.dl")
    assert [one.code for one in written.diagnostics] == ["C0110"]
    assert written.after is None
