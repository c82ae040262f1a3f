"""What engines conclude about structures both checkers accept; changed, both refuse it."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

import pytest

from constat.check import check_certificate
from constat.check.values import is_spelled
from constat.proof.report.markup import checker_source
from tests.check.writer import seal
from tests.report.checker.second_checker import SecondChecker, node
from tests.report.checker.structured_runs import runs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.check.writer import Tree

pytestmark = pytest.mark.skipif(node() is None, reason="no Node.js: neither on the path nor here")

Path = tuple[str | int, ...]
CHANGES: Final = (
    ("1", "2"),
    ("$Number", "$Numbe"),
    ("$Zero", "$Number(7)"),
    ("$Add(", "$Mul("),
    ("[", "[nil, "),
    ("]", ", 1]"),
    (", ", ","),
    ("nil", "[]"),
    ('"', '\\"'),
    ("x", "y"),
    ("0x1.999999999999ap-4", "0x1.999999999999bp-4"),
    ("1.75", "1.750"),
    ("1.75", '"1.75"'),
)


@pytest.fixture(scope="module")
def second() -> Iterator[SecondChecker]:
    checker = SecondChecker(checker_source())
    yield checker
    checker.close()


@pytest.mark.parametrize("name", runs())
def test_both_checkers_accept_what_the_engine_concludes(second: SecondChecker, name: str) -> None:
    run = runs()[name]
    data = run.data()
    first, other = check_certificate(data), second.check(data)
    assert (first.verdict, first.reason, other["verdict"]) == (run.verdict, None, run.verdict)
    rules = "\n".join(first.rules)
    assert "constructor_of" not in rules
    assert "field_of" not in rules


def _changed(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:  # noqa: ANN401  any JSON
    """Yield the places of structures with what is to stand there."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _changed(inner, (*path, key))
    elif isinstance(value, str) and value[:1] in {"[", "$"} and is_spelled("structure", value):
        for old, new in CHANGES:
            if old in value:
                yield path, value.replace(old, new, 1)


def _with(tree: Tree, path: Path, text: str) -> Tree:
    found = copy.deepcopy(tree)
    inner: Any = found
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = text
    return found


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize("name", runs())
def test_a_structure_changed_in_one_place_is_refused_alike(
    second: SecondChecker, name: str
) -> None:
    """Beside a changed constant of a rule, of which something else follows, nothing is accepted."""
    tree = json.loads(runs()[name].data())
    for path, text in _changed({"nodes": tree["nodes"], "closure": tree["closure"]}):
        data = seal(_with(tree, path, text))
        first, other = check_certificate(data), second.check(data)
        assert first.accepted is other["accepted"], (path, text, first.reason, other["reason"])
        assert not first.accepted or path[0] == "closure", (path, text)
