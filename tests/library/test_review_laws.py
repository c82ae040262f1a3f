"""What an approval is bound to, which records count, and what an edit leaves alone: laws."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.analysis import analyse_or_raise
from constat.diagnostics import ConstatError
from constat.library.approvals import (
    APPROVED,
    WITHDRAWN,
    Approval,
    Hashes,
    Trust,
    hashes_of,
    parse_approvals,
    standing,
)
from constat.library.reviewing.placement import joined_text, replaced_text
from constat.logic import Comparison, Constant, Kind
from constat.project import ReviewSetting
from constat.syntax import parse_text, print_program
from tests.property.strategies import programs

if TYPE_CHECKING:
    from constat.analysis import AnalysedProgram

HASHES = Hashes("sha256:" + "a" * 64)
OTHER = Hashes("sha256:" + "b" * 64)
TIME = "2026-11-21T10:00:00.000000Z"
QUERIED = """\
.decl gold_as_queried(c: symbol)
.input gold_as_queried(source="db", query="SELECT c FROM t WHERE {0}")
.decl gold(c: symbol)
gold(?c) :- gold_as_queried(?c).
"""


def read(text: str) -> AnalysedProgram:
    return analyse_or_raise(parse_text(text, "rules.dl", []))


@settings(max_examples=15)
@given(programs())
def test_what_is_printed_and_read_again_keeps_its_approvals(program: AnalysedProgram) -> None:
    again = read(print_program(program.program))
    numbers = range(len(program.rules))
    assert [hashes_of(again, one) for one in numbers] == [
        hashes_of(program, one) for one in numbers
    ]


@settings(max_examples=15)
@given(programs(), st.data())
def test_a_rule_that_says_something_else_has_other_hashes(
    program: AnalysedProgram, data: st.DataObject
) -> None:
    number = data.draw(st.sampled_from(range(len(program.rules))))
    rule = program.rules[number]
    more = Comparison("=", Constant(1, Kind.NUMBER), Constant(1, Kind.NUMBER))
    changed = data.draw(
        st.sampled_from(
            [
                replace(rule, id=f"{rule.id}x"),
                replace(rule, confidence=rule.confidence / 2),
                replace(rule, body=(*rule.body, more)),
                replace(rule, attributes={**rule.attributes, "says": "otherwise"}),
            ]
        )
    )
    rules = tuple(changed if place == number else one for place, one in enumerate(program.rules))
    assert hashes_of(replace(program, rules=rules), number) != hashes_of(program, number)
    renamed = replace(rule, attributes={**rule.attributes, "owner": "somebody", "author": "me"})
    rules = tuple(renamed if place == number else one for place, one in enumerate(program.rules))
    assert hashes_of(replace(program, rules=rules), number) == hashes_of(program, number)


def test_a_drafted_query_is_part_of_what_is_approved() -> None:
    first, second = (hashes_of(read(QUERIED.format(one)), 0) for one in ("x = 1", "x = 2"))
    assert (first.rule == second.rule, first.queries == second.queries) == (True, False)
    plain = QUERIED.replace("_as_queried", "_given")
    assert hashes_of(read(plain), 0).queries == ""


# ---------------------------------------------------------------------- records


def record(
    by: str = "ada", hashes: Hashes = HASHES, action: str = APPROVED, **told: str
) -> Approval:
    return Approval("R", hashes.rule, action, by, "why", TIME, queries=hashes.queries, **told)


records = st.lists(
    st.builds(
        record,
        st.sampled_from(["ada", " Ada", "bob", "eve"]),
        st.sampled_from([HASHES, OTHER, Hashes(HASHES.rule, OTHER.rule)]),
        st.sampled_from([APPROVED, APPROVED, WITHDRAWN]),
        asked_by=st.sampled_from(["", "eve"]),
    ),
    max_size=8,
)


@given(lines=records, approvers=st.integers(1, 3), four_eyes=st.booleans())
def test_a_rule_is_approved_by_enough_different_people_since_the_last_withdrawal(
    lines: list[Approval], approvers: int, *, four_eyes: bool
) -> None:
    about = [one for one in lines if one.hashes == HASHES]
    withdrawn = [place for place, one in enumerate(about) if one.action == WITHDRAWN]
    alive = about[withdrawn[-1] + 1 :] if withdrawn else about
    asked = next((one.asked_by for one in alive if one.asked_by), "")
    people = {one.by.strip().lower() for one in alive}
    if four_eyes:
        people.discard(asked)
    needed = max(approvers, 2) if four_eyes and not asked else approvers
    trust = Trust(ReviewSetting(four_eyes, approvers, signed=False))
    found = standing(lines, HASHES, trust)
    assert (len(found.counted), found.needed) == (len(people), needed)
    assert found.approved == (len(people) >= needed)


@given(records)
def test_records_are_read_as_they_were_written(lines: list[Approval]) -> None:
    content = b"".join(one.to_line() for one in lines)
    assert parse_approvals(content) == tuple(lines)


@pytest.mark.parametrize(
    "change",
    [
        {"action": "blessed"},
        {"digest": "sha256:1"},
        {"queries": "none"},
        {"by": ""},
        {"by": "a\nb"},
        {"by": "a" * 5_000},
        {"at": "yesterday"},
        {"rule": " "},
        {"format": "constat-approval/2"},
        {"reason": None},
        {"more": "1"},
    ],
)
def test_a_record_of_another_form_is_damage(change: dict[str, object]) -> None:
    line = json.dumps(
        json.loads(record().to_line()) | change, sort_keys=True, separators=(",", ":")
    )
    with pytest.raises(ConstatError, match="C0885"):
        parse_approvals(line.encode() + b"\n")
    spaced = json.dumps(json.loads(record().to_line()), sort_keys=True).encode() + b"\n"
    with pytest.raises(ConstatError, match="C0885"):
        parse_approvals(spaced)


# ---------------------------------------------------------------------- edits


NOTES = ("/// Told.", '@[says = "{x}"]', "@[owner = me]")
BODIES = (["p(?x) :- p(?x), ?x > 1."], ["p(?x) :-", "  p(?x),", "  ?x > 1."])


@st.composite
def files(draw: st.DrawFn) -> tuple[str, list[str], list[str]]:
    """Give a file, the ids of rules to replace, and the lines of the others."""
    count = draw(st.integers(1, 6))
    gone = draw(st.lists(st.sampled_from(range(count)), min_size=1, unique=True))
    lines = ["// a heading", ".decl p(x: number)", ""]
    kept = list(lines)
    for number in range(count):
        above = draw(st.lists(st.sampled_from(["// a remark", "", "/* one */"]), max_size=2))
        notes = draw(
            st.lists(
                st.sampled_from(["/// Told.", '@[says = "{x}"]', "@[owner = me]"]), unique=True
            )
        )
        notes.sort(key=lambda one: not one.startswith("///"))
        body = draw(
            st.sampled_from([["p(?x) :- p(?x), ?x > 1."], ["p(?x) :-", "  p(?x),", "  ?x > 1."]])
        )
        own = [*notes, f"@[id = R{number}]", *body]
        lines += [*above, *own]
        kept += above if number in gone else [*above, *own]
    return "\n".join(lines) + "\n", [f"R{number}" for number in gone], kept


@given(given_file=files(), crlf=st.booleans())
def test_an_edit_changes_no_line_of_another_rule(
    given_file: tuple[str, list[str], list[str]], *, crlf: bool
) -> None:
    text, gone, kept = given_file
    before = text.replace("\n", "\r\n") if crlf else text
    rules = parse_text(text, "rules.dl", []).rules
    replaced = [one for one in rules if one.id in gone]
    after = replaced_text(before, "rules.dl", replaced, rules, "@[id = NEW]\np(7).\n")
    assert (after.count("\r\n") == after.count("\n")) is crlf
    lines = after.replace("\r\n", "\n").split("\n")
    place = lines.index("@[id = NEW]")
    assert lines[place + 1] == "p(7)."
    assert [*lines[:place], *lines[place + 2 :]] == [*kept, ""]
    left = {one.id for one in parse_text(after, "rules.dl", []).rules}
    assert left == {one.id for one in rules} - set(gone) | {"NEW"}
    added = joined_text(before, "p(7).")
    assert added.replace("\r\n", "\n") == f"{text.rstrip()}\n\np(7).\n"
