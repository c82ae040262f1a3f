"""Each exception from a check carries its reason."""

from __future__ import annotations

import io
import itertools
import re
import tokenize
from typing import TYPE_CHECKING

import pytest

from tests.architecture.sources import (
    PACKAGE,
    ROOT,
    Source,
    configuration,
    folders,
    shown,
    sources_in,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

IGNORED_RULE = re.compile(r'^\s*"(?P<rule>[A-Z]+\d*)",(?P<reason>.*)$')


def ignored_rules() -> Iterator[tuple[str, str]]:
    for line in (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines():
        if found := IGNORED_RULE.match(line):
            yield found["rule"], found["reason"].strip()


def test_every_ruff_rule_that_is_switched_off_has_a_reason() -> None:
    lint = configuration()["tool"]["ruff"]["lint"]
    listed = [*lint["ignore"], *(r for rules in lint["per-file-ignores"].values() for r in rules)]
    found = list(ignored_rules())
    assert sorted(rule for rule, _ in found) == sorted(listed), "one rule on each line"
    assert [rule for rule, reason in found if len(reason) < len("# a reason")] == []
    assert lint["select"] == ["ALL"]


def test_every_warning_that_is_let_through_has_a_reason() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    bare = [
        line
        for before, line in itertools.pairwise(lines)
        if line.strip().startswith('"ignore:') and not before.strip().startswith("#")
    ]
    assert bare == []


def comments(source: Source) -> Iterator[tuple[int, str]]:
    """Give the comments of a file in which one may silence a check."""
    if not re.search(r"noqa|type:\s*ignore", source.text, re.IGNORECASE):
        return
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


@pytest.mark.parametrize("folder", folders(PACKAGE, ROOT / "tests"), ids=shown)
def test_no_check_is_silenced_without_a_code(folder: Path) -> None:
    for source in sources_in(folder):
        naked = [
            (line, comment)
            for line, comment in comments(source)
            if re.search(r"#\s*type:\s*ignore(?!\[)", comment)
            or re.search(r"#\s*noqa(?!:\s*[A-Z])", comment, re.IGNORECASE)
        ]
        assert naked == []
        assert not re.search(r"^#\s*(ruff: noqa|mypy: ignore-errors)", source.text, re.MULTILINE)
