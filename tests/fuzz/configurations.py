"""Configurations: a project, or diagnostics that show no secret.

In: damaged files, trees of any shape, nesting, aliases and tags, any bytes, now and then a file
that is too long.  The values of environment variables stay out of every message.
"""

from __future__ import annotations

import codecs
import re
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError
from constat.project import load_project
from tests.fuzz.damage import (
    NUMBERS,
    STRANGE,
    any_text,
    damaged_bytes,
    damaged_text,
    nested,
    rearranged,
    soup,
)
from tests.fuzz.reading import check_diagnostics, check_places

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

    from tests.fuzz.reading import Input

GOOD: Final = """\
project: shop
rules: [rules/a.dl]
databases:
  sales: {uri: "sqlite:///${SHOP}/shop.sqlite", seconds: 5, rows: 10}
  sheets: {type: files, files: {a: "a.csv", b: "b/*.parquet"}, immutable: true}
  crm: "postgresql://me:${SHOP}@host/crm"
facts:
  vip_threshold: 150000
  rate: [[north, 0.1], {region: south, rate: "${RATE}"}]
closed: {blocked: compliance}
tiers:
  crm: {factory: "acme.tiers:crm", after: database, cost: 50, predicates: [tier]}
limits: {seconds: 10, query_rows: 1000}
state: .constat
"""
KEYS: Final = (
    *("project", "rules", "libraries", "databases", "facts", "closed", "tiers", "limits", "state"),
    *("uri", "type", "files", "seconds", "rows", "immutable", "factory", "after", "cost"),
    *("predicates", "options", "calls", "query_seconds", "query_rows", "database", "x"),
)
PIECES: Final = (
    *"{}[],:-?&*!|>'\"%@`#\\\n\t $~",
    *("${", "${A}", "${SHOP}", "$${", "<<: *a", "&a ", "*a", "---\n", "...\n", "!!binary "),
    *("!!python/object/apply:os.system [x]", "null", "yes", "../..", "/etc/passwd", "rules/a.dl"),
    *("facts:", "  ", "- ", ": ", "? ", "| \n", ">-\n", "\\x00", "\\ud800", '"\\u0000"', "~"),
    *(f"{key}: " for key in KEYS),
    *NUMBERS,
    *STRANGE,
)
_BRACKETS: Final = (
    ("[", "]"),
    ("{a: ", "}"),
    ("- ", ""),
    ("? ", ""),
    ("&a [*a, ", "]"),
    ("!!map ", ""),
)
_HIDDEN: Final = "hunter2"
_ENVIRONMENT: Final = {"SHOP": _HIDDEN, "RATE": "0.2"}


class Configurations:
    """Reads `constat.yaml` of a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "project"
        (self._folder / "rules").mkdir(parents=True)
        (self._folder / "rules" / "a.dl").write_text("")

    def make(self, chance: Random) -> Input:
        match chance.randrange(12):
            case 0:
                return soup(chance, PIECES).encode("utf-8", "surrogatepass")
            case 1:
                return nested(chance, _BRACKETS, 100).encode()
            case 2 | 3 | 4:
                return _tree(chance, 3).encode("utf-8", "surrogatepass")
            case 5 | 6:
                return damaged_bytes(GOOD.encode(), chance)
            case 7 | 8:
                return rearranged(GOOD, chance).encode()
            case 9:
                return _long(chance)
            case _:
                return damaged_text(GOOD, chance, PIECES, 5).encode("utf-8", "surrogatepass")

    def check(self, given: Input) -> str:
        assert isinstance(given, bytes)
        (self._folder / "constat.yaml").write_bytes(given)
        try:
            project = load_project(self._folder, environment=_ENVIRONMENT)
        except ConstatError as problem:
            _check_problem(problem, given)
            return "refused"
        # Facts are rows, and rows are shown; addresses are not.
        assert _HIDDEN not in repr((project.databases, project.tiers))
        assert project.state.is_relative_to(self._folder.resolve())
        return "read"


def _check_problem(problem: ConstatError, given: bytes) -> None:
    assert problem.diagnostics
    assert all(one.code.startswith("C05") for one in problem.diagnostics)
    assert _HIDDEN not in str(problem)
    check_diagnostics(problem.diagnostics, {})
    check_places(problem.diagnostics, _texts(given))


def _texts(content: bytes) -> dict[str, str]:
    """Give the text with the lines of YAML, which ends every text with a line of its own."""
    text = content.removeprefix(codecs.BOM_UTF8).decode("utf-8", "replace")
    return {"constat.yaml": re.sub("\r\n|[\n\r\x85\u2028\u2029]", " \n", text) + " \n  "}


def _tree(chance: Random, depth: int) -> str:
    """Give a table in flow style, of known and unknown keys with values of any shape."""
    keys = chance.sample(KEYS, chance.randint(0, 6))
    return "{" + ", ".join(f"{key}: {_value(chance, depth - 1)}" for key in keys) + "}"


def _value(chance: Random, depth: int) -> str:
    if depth and chance.random() < 0.4:
        return _tree(chance, depth)
    if depth and chance.random() < 0.5:
        return "[" + ", ".join(_value(chance, depth - 1) for _ in range(chance.randint(0, 4))) + "]"
    return chance.choice(
        (*NUMBERS, *KEYS, "crm:make", "'x y'", '"${SHOP}"', '"${NO}"', "rules", "[]")
    )


def _long(chance: Random) -> bytes:
    """Give much of one thing; one in two thousand is longer than a configuration may be."""
    what = chance.choice(
        ("- a\n", "a: b\n", "[a, ", "# x\n", "&a [*a]\n", "'", " ", any_text(chance, 9))
    )
    too_many = (1 << 20) // max(1, len(what)) + 2
    times = chance.randint(1, 300) if chance.randrange(2_000) else too_many
    return (GOOD + what * times).encode("utf-8", "surrogatepass")
