"""A mistake in one rule stops what rests on it, and no goal about anything else."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.session import Session
from tests.cli.running import run

if TYPE_CHECKING:
    from pathlib import Path

SOUND = """\
.decl a(x: number)
a(1). a(2).
.decl b(x: number)
b(?x) :- a(?x), ?x > 1.
.decl c(x: number)
c(?x) :- b(?x).
.decl d(x: number)
d(?x) :- a(?x), !c(?x).
.decl e(n: number)
e(?n) :- ?n = count : { c(_) }.
.decl f(x: number)
f(?x) :- a(?x), ?x < 2.
"""
RESTING = ("b(2)", "c(2)", "d(1)", "e(1)")
OTHERS = {"a(1)": "PROVED", "f(1)": "PROVED", "f(2)": "DISPROVED"}
"""Goals that read no `b`, with their verdicts."""


def laid(folder: Path, more: str) -> Path:
    """Lay out a project with one more line of rules."""
    (folder / "r.dl").write_text(SOUND + more + "\n")
    (folder / "constat.yaml").write_text("rules: [r.dl]\n")
    return folder


@pytest.mark.parametrize(
    "wrong",
    [
        'b(?x) :- a(?x), ?x > "u".',
        "b(?x) :- a(?y).",
        "b(?x) :- a(?x), nowhere(?x).",
        "b(?x, ?y) :- a(?x), a(?y).",
        "b(?x) :- a(?x), !c(?x).",
        "b(?x) :- a(y = ?x).",
        'b("u").',
        '@[says = "{y} is b"] b(?x) :- a(?x).',
    ],
)
def test_a_mistake_in_one_rule_stops_what_rests_on_it_and_nothing_else(
    tmp_path: Path, wrong: str
) -> None:
    laid(tmp_path, wrong)
    checked = run("rules", "check", "--project", tmp_path)
    codes = re.findall(r"error\[(C\d+)\]", checked.out + checked.err)
    for goal, verdict in OTHERS.items():
        found = run("prove", goal, "--project", tmp_path)
        assert found.out.startswith(f"{verdict}: {goal}"), found.err
        assert re.findall(r"warning\[(C\d+)\]", found.err) == codes
        assert "`b`, `c`, `d`, `e`; nothing that was asked for does" in found.err
    for goal, command in zip(RESTING, ("prove", "query", "why-not", "missing"), strict=True):
        found = run(command, goal, "--project", tmp_path)
        assert (found.code, found.out) == (2, "")
        assert f"error[{codes[0]}]" in found.err


def test_a_mistake_in_a_sentence_stops_only_what_rests_on_its_relation(tmp_path: Path) -> None:
    laid(tmp_path, "")
    (tmp_path / "r.dl").write_text(SOUND.replace(".decl b(", '@[says = "{y} is b"] .decl b('))
    assert run("prove", "f(1)", "--project", tmp_path).out.startswith("PROVED: f(1)")
    for goal in RESTING:
        assert "error[C0243]" in run("prove", goal, "--project", tmp_path).err


@pytest.mark.parametrize(
    "wrong",
    [
        # Who wrote this may have meant a rule of any relation.
        'ff(?x) :- a(?x), ?x > "u".',
        # A declaration speaks of every rule that reads it.
        ".decl g(x: nothing)",
        # Where the text ends nobody knows what it was to say.
        "b(?x) :- a(?x)",
    ],
)
def test_a_mistake_that_may_be_about_any_relation_stops_everything(
    tmp_path: Path, wrong: str
) -> None:
    laid(tmp_path, wrong)
    for goal in (*OTHERS, *RESTING):
        found = run("prove", goal, "--project", tmp_path)
        assert (found.code, found.out) == (2, "")


def test_nothing_is_left_out_where_drafts_join_or_everything_is_asked(tmp_path: Path) -> None:
    laid(tmp_path, 'b(?x) :- a(?x), ?x > "u".')
    for command in (
        ("prove", "a(1)", "--require-approved"),
        ("check-data",),
        ("rules", "check"),
        ("what-if", "a(1)", "--add", "a(3)"),
    ):
        assert run(*command, "--project", tmp_path).code == 2
    with Session(tmp_path) as session, pytest.raises(ConstatError, match="C0215"):
        session.prove("a(1)")


def test_a_configured_value_of_a_relation_that_would_be_gone_stops_everything(
    tmp_path: Path,
) -> None:
    laid(tmp_path, '.decl limit(x: number)\nlimit(?x) :- a(?x), ?x > "u".')
    (tmp_path / "constat.yaml").write_text("rules: [r.dl]\nfacts: {limit: 3}\n")
    assert run("prove", "a(1)", "--project", tmp_path).code == 2
