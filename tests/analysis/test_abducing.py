"""What declarations say of missing facts, and rules of reasons, is checked where rules are."""

from __future__ import annotations

import pytest

from constat.analysis import analyse
from constat.diagnostics import Diagnostic, render
from constat.diagnostics.catalogue import chapter
from constat.syntax import parse_text

TIER = ".decl tier(c: symbol, t: symbol)\n.decl blocked(c: symbol)\n.decl ok(c: symbol)\n"
EXAMPLES = {one.code: one for one in chapter("hypotheses")}


def mistakes(text: str) -> list[Diagnostic]:
    found: list[Diagnostic] = []
    program = parse_text('.pragma "constat" "0.1"\n' + text, "rules.dl", found)
    assert found == []
    analyse(program, found)
    return found


@pytest.mark.parametrize("code", ["C0705", "C0706", "C0707"])
def test_the_examples_of_the_catalogue_do_what_they_say(code: str) -> None:
    entry = EXAMPLES[code]
    around = TIER if code == "C0706" else ""
    if code == "C0707":
        wrong = entry.wrong + "\n.decl tier(c: symbol, t: symbol)"
        right = entry.right + "\n.decl ok(c: symbol)"
    else:
        wrong, right = entry.wrong, entry.right
    (found,) = mistakes(around + wrong)
    assert found.code == code
    assert found.span is not None
    assert found.note
    assert found.help
    assert code in render([found], {"rules.dl": wrong}, colour=False)
    assert mistakes(around + right) == []


@pytest.mark.parametrize("cost", ["0", "-1", '"much"', '"1e7"', '"0.0000001"', '"NaN"', '"inf"'])
def test_a_cost_is_a_decimal_above_0(cost: str) -> None:
    (found,) = mistakes(f"@[removable(cost = {cost})]\n.decl tier(c: symbol, t: symbol)\n")
    assert found.code == "C0705"


@pytest.mark.parametrize("cost", ["(cost = 2)", "(cost = 0.5)", " = 3", ""])
def test_costs_may_be_written_short(cost: str) -> None:
    assert mistakes(f"@[abducible{cost}]\n.decl tier(c: symbol, t: symbol)\n") == []


@pytest.mark.parametrize(
    ("reasons", "right"),
    [
        *(("-,R12", True), ("R12,-", True), ("-,-", True), ("R12", False), ("-,R1,R2", False)),
        *(("-,R 12", False), ("-,", False), (f"-,{'x' * 33}", False)),
    ],
)
def test_reasons_fit_the_body(reasons: str, *, right: bool) -> None:
    rule = f'@[reasons = "{reasons}"]\nok(?c) :- tier(?c, "gold"), !blocked(?c).\n'
    codes = [one.code for one in mistakes(TIER + rule)]
    assert codes == ([] if right else ["C0706"])


@pytest.mark.parametrize(
    ("text", "help_text"),
    [
        ("LOW01 = 'blocked', LOW01_de = 'gesperrt'", ""),
        ("LOW_01_de = 'gesperrt'", "write `LOW01_de`"),
        ("LOW1 = 'blocked'", "write `LOW01`"),
        ("X = 'blocked'", "name the code in `reasons`, or delete it"),
        ("LOW01_DE = 'gesperrt'", "write `LOW01_de`"),
    ],
)
def test_a_text_belongs_to_a_code_of_its_rule(text: str, help_text: str) -> None:
    reason = f"@[reason({text})]\n".replace("'", '"')
    rule = f'{reason}ok(?c) :- tier(?c, "gold"), !blocked(?c).\n'
    assert {one.code for one in mistakes(TIER + rule)} == {"C0706"}
    found = mistakes(f'{TIER}@[reasons = "-,LOW01"]\n{rule}')
    assert [one.help for one in found] == ([help_text] if help_text else [])


def test_each_alternative_of_a_body_has_its_reasons() -> None:
    rule = '@[reasons = "R1,R2"]\nok(?c) :- tier(?c, "gold"), (!blocked(?c); tier(?c, "silver")).\n'
    assert mistakes(TIER + rule) == []
    uneven = '@[reasons = "R1,R2"]\nok(?c) :- tier(?c, "gold"); tier(?c, "silver"), !blocked(?c).\n'
    assert {one.code for one in mistakes(TIER + uneven)} == {"C0706"}
