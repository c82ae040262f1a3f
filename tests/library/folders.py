"""Small libraries on the disk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from constat.library.cases import run_cases
from constat.session.cases import checked_verdict

if TYPE_CHECKING:
    from pathlib import Path

    from constat.library.cases import CasesRun

RULES = """
.decl given(x: symbol, n: number)
.decl banned(x: symbol)
.decl least(n: number)
@[says = "{x} is good"]
@[owner = tests]
.decl good(x: symbol)
@[id = R1]
good(?x) :- given(?x, ?n), least(?m), ?n >= ?m, !banned(?x).
@[id = R2]
good(?x) :- given(?x, 0).
.decl alone(x: symbol)
alone(?x) :- good(?x), ?all = count : { good(_) }, ?all = 1.
"""
FACTS = 'given("a", 5). given("b", 1). given("c", 0). given("d", 9). banned("d"). least(3).\n'


def library(folder: Path, cases: dict[str, str], rules: str = RULES) -> Path:
    """Write a library; give its folder."""
    (folder / "cases").mkdir(parents=True)
    (folder / "rules.dl").write_text(rules, encoding="utf-8")
    for name, text in cases.items():
        (folder / "cases" / f"{name}.dl").write_text(text, encoding="utf-8")
    return folder


def run(folder: Path, text: str, rules: str = RULES) -> CasesRun:
    """Run one case, checker included."""
    return run_cases([library(folder / "lib", {"one": text}, rules)], checker=checked_verdict)
