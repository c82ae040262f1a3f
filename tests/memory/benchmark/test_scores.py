"""The benchmark counts what it says it counts."""

from __future__ import annotations

import pytest

from constat.memory import Call, Message, Result, Role, Text
from constat.memory.tokens import estimate
from tests.bench.memory import logs
from tests.bench.memory.measure import Row, area, found_again, known_view, retention, table
from tests.bench.memory.methods import baselines
from tests.bench.memory.picture import curves
from tests.memory.logs import public_logs

SAID = [
    Message(Role.USER, (Text("Cancel order O-7 for Ann, please."),)),
    Message(Role.ASSISTANT, (Call("1", "cancel", '{"id": "O-7", "fee": 12}'),), plain=False),
    Message(Role.TOOL, (Result("1", (Text('{"state": "cancelled"}'),)),)),
]


@pytest.mark.parametrize(
    ("text", "value", "there"),
    [
        ("order o-7.", "o-7", True),
        ("order o-77", "o-7", False),
        ("12:30", "12", True),
        ("112", "12", False),
        ("112 12", "12", True),
        ("", "12", False),
    ],
)
def test_a_value_is_there_as_a_whole_word(text: str, value: str, there: bool) -> None:  # noqa: FBT001
    assert logs.names(text, value) is there


def test_retention_is_the_share_of_values_in_any_of_their_spellings() -> None:
    gold = [frozenset({"o-7"}), frozenset({"anne", "ann"}), frozenset({"eve"}), frozenset({"13"})]
    assert retention(logs.text_of(SAID), gold) == 0.5
    assert retention("", gold) == 0


def test_the_area_is_the_mean_over_the_logarithm() -> None:
    assert area([(1, 1.0), (10, 0.0)]) == pytest.approx(0.5)
    assert area([(10, 0.5), (1, 1.0), (100, 0.0)]) == pytest.approx(0.5)
    assert area([(4, 0.7)]) == 0.7


def test_every_method_makes_some_text_of_a_session() -> None:
    for name, method in baselines():
        assert isinstance(method(SAID), str), name
    by_name = dict(baselines())
    assert by_name["arguments of calls"](SAID) == "id=o-7\nfee=12"
    assert "cancel order" in by_name["all that people said"](SAID)


def test_the_table_and_the_picture_show_every_method() -> None:
    rows = [
        Row("tau", "even", "memory, 1/10", 10.0, 0.95),
        Row("tau", "odd", "memory, 1/10", 12.0, 0.85),
        Row("tau", "even", "last <10>", 100.0, 0.1),
    ]
    assert "| tau | memory, 1/10 | 10.0x | 95.0 % | 12.0x | 85.0 % |" in table(rows)
    assert "| tau | last <10> | 100.0x | 10.0 % | - | - |" in table(rows)
    rows.append(Row("tau", "even", "memory, 1/10", 12.0, 0.85))
    assert "| 11.0x | 90.0 % (85 to 95) | 12.0x | 85.0 % |" in table(rows)
    picture = curves(rows[:3])
    assert picture.count("<circle") == 3
    assert "&lt;10&gt;" in picture


@pytest.mark.data
def test_sessions_hold_their_gold_and_one_search_finds_it() -> None:
    from constat.memory import Memory

    folder = public_logs()
    for session in (next(logs.tau_sessions(folder)), next(logs.swe_sessions(folder))):
        whole = logs.text_of(session.messages)
        assert len(session.gold) > 20
        assert retention(whole, session.gold) == 1
    few = session.gold[:10]
    with Memory() as memory:
        memory.append(session.messages)
        assert found_again(memory, few) == 1
        view = memory.view(2_000)
        shown = known_view(memory, view, session.gold)
        assert retention(shown.lower(), session.gold) >= retention(view.text.lower(), session.gold)
        assert estimate(shown) <= view.tokens
