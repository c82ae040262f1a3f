"""Certificates: a report for any bytes, and what is accepted is true.

In: damaged bytes; trees whose parts are changed, dropped, doubled or taken from another
certificate, with all hashes made right again, so that the passes behind the hashes are reached;
any JSON; nesting and long numbers.  An accepted certificate is judged by `rereading`, and one with
damaged bytes may not be accepted at all.
"""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import TYPE_CHECKING, Any

from constat.check import check_certificate
from tests.check.catalog import good, small
from tests.check.mutants import find, places
from tests.check.writer import canonical, rows_hash, seal, seal_hashes
from tests.fuzz.damage import NUMBERS, any_text, damaged_bytes, damaged_text, nested
from tests.fuzz.rereading import UndecidedError, confidence_is_possible, verdict_is_so

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from constat.check import Report
    from tests.check.writer import Tree
    from tests.fuzz.reading import Input

_PLAIN = (None, 0, 1, 7, 2**31 - 1, 2**31, -1, 10**30, 1.5, True, "", "x", "1", "C001", "0.5", "v")
_JSON = (
    *'{}[]",:\\ \n',
    *("null", "true", "1e5", "NaN", "Infinity", "-0", "1.0", '"\\ud800"', '"\\u0000"', '"digest"'),
    *NUMBERS,
)
_BRACKETS = (("[", "]"), ('{"a":', "}"), ('{"digest":', "}"), ('["v",', "]"))


@cache
def trees() -> tuple[Tree, ...]:
    return tuple(good(name).tree for name in small())


@cache
def originals() -> frozenset[bytes]:
    return frozenset(map(seal, trees()))


class Certificates:
    """Reads certificates."""

    def __init__(self, folder: Path) -> None:
        del folder

    def make(self, chance: Random) -> Input:
        match chance.randrange(16):
            case 0:
                return damaged_bytes(seal(chance.choice(trees())), chance)
            case 1:
                text = seal(chance.choice(trees())).decode()
                return damaged_text(text, chance, _JSON, 3).encode("utf-8", "surrogatepass")
            case 2:
                return nested(chance, _BRACKETS, 3_000).encode()
            case 3:
                return chance.choice(
                    (
                        chance.randbytes(chance.randrange(200)),
                        any_text(chance).encode("utf-8", "surrogatepass"),
                        (canonical(_any_json(chance, 5)) + "\n").encode(),
                    )
                )
            case _:
                return _changed(chance)

    def check(self, given: Input) -> str:
        assert isinstance(given, bytes)
        report = check_certificate(given)
        check_report(report)
        if not report.accepted:
            return f"refused: {report.code}"
        tree = json.loads(given)
        assert given == (canonical(tree) + "\n").encode()
        assert confidence_is_possible(tree)
        if given in originals():
            return "accepted: unchanged"
        try:
            assert verdict_is_so(tree), f"{report.verdict} is not so"
        except UndecidedError:
            return "accepted: not judged"
        return "accepted: judged true"


def check_report(report: Report) -> None:
    assert report.accepted == (report.exit_code != 1)
    assert report.accepted == (report.verdict is not None)
    assert report.accepted == (report.code is None)
    report.to_text().encode()
    json.loads(report.to_json())


def _changed(chance: Random) -> bytes:
    tree = copy.deepcopy(chance.choice(trees()))
    for _ in range(chance.choice((1, 1, 1, 1, 1, 2, 2, 3))):
        _change(tree, chance)
    if chance.random() < 0.5:
        _mend_sources(tree)
    sealer = seal if isinstance(tree.get("header"), dict) else seal_hashes
    return sealer(tree)


def _change(tree: Tree, chance: Random) -> None:
    """Change one place of the tree: most often for something that fits there."""
    listed = list(places(tree))
    if not listed:
        return
    path, value = chance.choice(listed)
    parent, last = find(tree, path[:-1]), path[-1]
    match chance.randrange(10):
        case 0:
            parent[last] = _any_json(chance, 2)
        case 1:
            parent[last] = copy.deepcopy(chance.choice(listed)[1])
        case 2:
            del parent[last]
        case 3 if isinstance(parent, list):
            parent.insert(int(last), copy.deepcopy(value))
        case 4 if isinstance(parent, list):
            chance.shuffle(parent)
        case 5:
            _take_over(tree, path, chance)
        case 6:
            parent[last] = _next_to(value, chance)
        case _:
            same = [other for _, other in listed if type(other) is type(value)]
            parent[last] = copy.deepcopy(chance.choice(same))


def _next_to(value: Any, chance: Random) -> Any:  # noqa: ANN401  any JSON
    """Give a value that differs little."""
    if isinstance(value, int):
        return max(0, value + chance.choice((-1, 1)))
    if isinstance(value, str) and value.lstrip("-").isdecimal():
        return str(int(value) + chance.choice((-1, 1)))
    if isinstance(value, str):
        return chance.choice((value[:-1], value + "0", value.upper(), "0"))
    return None if value else [value]


def _take_over(tree: Tree, path: tuple[str | int, ...], chance: Random) -> None:
    """Take what stands in the same place of another certificate."""
    other: Any = chance.choice(trees())
    try:
        found = find(other, path)
    except (KeyError, IndexError, TypeError):
        return
    find(tree, path[:-1])[path[-1]] = copy.deepcopy(found)


def _mend_sources(tree: Tree) -> None:
    """Make sources say that the rows shown are all they gave, where the tree still has them."""
    try:
        for group in tree["facts"]:
            group["rows"].sort()
            source = tree["sources"][group["source"]]
            source["rows"], source["hash"] = len(group["rows"]), rows_hash(group["rows"])
    except (KeyError, IndexError, TypeError, AttributeError):
        return


def _any_json(chance: Random, depth: int) -> Any:  # noqa: ANN401  any JSON
    if depth == 0 or chance.random() < 0.5:
        return chance.choice((*_PLAIN, "\ud800", "a\0"))
    if chance.random() < 0.7:
        return [_any_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    return {str(_any_json(chance, 0)): _any_json(chance, depth - 1) for _ in range(3)}
