"""Values are written as tables: what is shown once is named once, cited, and never over budget."""

from __future__ import annotations

import json
import random
import re
from itertools import combinations
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from constat.memory import Memory, Policy, messages_tokens
from constat.memory.decisions import Decided, record_of, rows_of
from constat.memory.history import SILENT, WHOLE
from constat.memory.tokens import hundredths
from constat.memory.view import Family, Filling, family_of, fill
from tests.memory.rounds import answered, assistant, called, session, user

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.memory import Message
    from constat.memory.history import Claim


def values(*messages: Message) -> list[Claim]:
    with Memory() as memory:
        memory.append(messages)
        apart = WHOLE | SILENT
        return [one for one in memory.history.claims if one.fact.predicate not in apart]


def written(claims: list[Claim]) -> list[str]:
    family = Family(claims[0])
    for one in claims:
        family.take(one, 2)
    return [line.text for line in family.lines()]


def test_one_text_names_its_keys() -> None:
    claims = values(called("get", 1, id="O-5", tags=["red", "two words"]))
    assert written(claims) == ['call get id=O-5 tags=red "two words" @m0']


def test_texts_of_one_key_share_a_line_and_each_value_has_its_place() -> None:
    claims = values(called("get", 1, id="O-5"), called("get", 2, id="O-7"))
    assert written(claims) == ["call get id: O-5 @m0 O-7 @m1"]


def test_texts_of_several_keys_are_a_table_and_what_is_left_names_its_key() -> None:
    many = {f"k{number}": f"v{number}" for number in range(10)}
    claims = values(called("put", 1, **many), called("put", 2, k7="x", k9="y"))
    first, second = written(claims)
    assert first == "call put k0|k1|k2|k3|k4|k5|k6|k7: v0|v1|v2|v3|v4|v5|v6|v7 k8=v8 k9=v9 @m0"
    assert second == "  |||||||x k9=y @m1"


def test_what_people_name_has_no_key_and_is_apart_from_what_has() -> None:
    claims = values(user("Is order O-7 at 12 Main Street?"), user("Or O-8?"))
    assert len({family_of(one) for one in claims}) == 1
    (line,) = written(claims)
    assert line.startswith("human: ")
    assert line.endswith(" O-8 @m1")


def hard(seed: int) -> list[Message]:
    """Values that may be read as one long code with their key, or that need quotes."""
    rng = random.Random(seed)
    pool = (
        "Aa1" * 9,
        "|",
        'say "hi"',
        "7",
        "a b",
        "ab=cd",
        "x|y",
        "2024-05-20",
        "HAT136",
        "-4",
        "",
    )
    found: list[Message] = []
    for number in range(12):
        keys = rng.sample(["id", "number7", "two words", "a|b", *"cdefghij"], rng.randint(1, 9))
        found.append(called("put", number, **{key: rng.choice(pool) for key in keys}))
        found.append(answered(number, {key: [rng.choice(pool), number] for key in keys[:2]}))
        found.append(user(f"And order O-{number} for {rng.choice(['Ann Lee', '$5', 'May 20th'])}?"))
    return found


@pytest.mark.parametrize("seed", range(8))
def test_no_family_takes_more_than_was_counted_for_it(seed: int) -> None:
    claims = values(*hard(seed), *session(3, seed))
    random.Random(seed).shuffle(claims)
    families: dict[str, Family] = {}
    counted: dict[str, int] = {}
    for one in claims:
        name = family_of(one)
        family = families.setdefault(name, Family(one))
        counted[name] = counted.get(name, 0) + family.cost(one)
        family.take(one, 2)
        lines = family.lines()
        assert hundredths("\n".join(line.text for line in lines)) <= counted[name]
        assert all(line.text.isprintable() for line in lines)
    claimed = [
        name for family in families.values() for line in family.lines() for name in line.claims
    ]
    assert sorted(claimed) == sorted(one.name for one in claims)


@pytest.mark.parametrize("tokens", [300, 900])
def test_a_budget_is_used_to_the_brim(tokens: int) -> None:
    claims = values(*session(60))
    names = frozenset(one.name for one in claims)
    classes = {one.name: 2 + one.at % 5 for one in claims}
    view = fill(claims, Decided(frozenset(), names, frozenset(), classes, {}), tokens)
    assert view.passed_over > 0
    # The blank before a number is counted with it, and a cell of a table has none.
    assert 0.94 * tokens <= view.tokens <= tokens


def test_what_several_texts_say_is_cited_from_one_that_is_cited_anyway() -> None:
    offers = [{"town": "Oslo"}, {"town": "Rome", "price": 120}, {"town": "Oslo", "price": 950}]
    asked = called("go", 9, town="Bern", price=99)
    answers = [
        m for n, one in enumerate(offers) for m in (called("list", n, n=n), answered(n, one))
    ]
    with Memory() as memory:
        memory.append([asked, *answers, called("list", 3, n=3), answered(3, {"town": "Oslo"})])
        shown = memory.view(400).text
    assert "list -> town|price: Rome|120 @m4\n  Oslo|950 @m6" in shown
    assert len(re.findall("Oslo", shown)) == 1


def test_what_may_be_asked_with_goes_before_what_nobody_asks_with() -> None:
    rows = [{"made": "abcdefgh"[n % 8] * (3 + n // 8), "seat": f"S-{n:03d}"} for n in range(40)]
    with Memory() as memory:
        memory.append([called("take", 0, seat="S-999"), called("list", 1), answered(1, rows)])
        memory.append([assistant("Here they are."), user("Fine.")])
        shown = memory.view(120).text
    assert len(re.findall(r"\bS-0", shown)) > 20
    assert "made" not in shown


def test_cells_of_a_record_stay_beside_what_may_be_chosen() -> None:
    flights = [
        {"number": "HAT-1", "date": "2024-05-20", "mood": "calm"},
        {"number": "HAT-2", "date": "2024-05-20", "mood": "wild"},
        {"number": "HAT-3", "date": "2024-05-21", "mood": "calm"},
    ]
    with Memory() as memory:
        memory.append([called("find", 0, date="2024-05-20"), answered(0, {"flights": flights})])
        lines = memory.view(400).text.splitlines()
        (line,) = [one for one in lines if "HAT-1" in one]
        # The date was asked with, and stands beside the flights all the same: once in their row.
        assert line.count("2024-05-20") == 1
        assert "2024-05-21" in line
        assert any("call find date=2024-05-20" in one for one in lines)


def test_a_list_of_very_many_values_is_no_record() -> None:
    with Memory() as memory:
        memory.append(
            [called("find", 0, code="C-1"), answered(0, {"code": [f"C-{n}" for n in range(400)]})]
        )
        memory.append(
            [called("find", 1, code="D-1"), answered(1, {"code": [f"D-{n}" for n in range(9)]})]
        )
        rows = rows_of(memory.known())["within"]
        decided = memory.decided()[1]
    assert len(rows) == 2 + 9
    assert all(key.startswith("m3[") for key in decided.beside)


def test_keys_give_way_before_values_in_play_do() -> None:
    offers = [{"offer_number": f"HAT-{n:03d}", "offered_by": f"K-{n:03d}"} for n in range(30)]
    ask = user("Which of them is it, then, and who of them all can tell me more about it?")
    with Memory(policy=Policy(keep_last=0, keep_human=1)) as memory:
        memory.append([user("Begin."), called("find", 0), answered(0, offers), ask])
        roomy, small = (
            "\n".join(one.text for one in memory.context(budget).messages)
            for budget in (messages_tokens(memory.history.messages) - 50, 210)
        )
    assert "offer_number" in roomy
    assert "offer_number" not in small
    assert small.count("HAT-") + small.count("K-") > 20
    assert "tool: " in small


def test_where_keys_give_way_numbers_in_play_keep_theirs_behind_what_they_are_of() -> None:
    cards = [
        {"amount": 100 + n, "weight": 500 + n, "id": f"card_{n}", "holder_name": f"H-{n:03d}"}
        for n in range(20)
    ]
    ask = user("Which of them is it, then, and who of them all can tell me more about it?")
    with Memory(policy=Policy(keep_last=0, keep_human=1)) as memory:
        memory.append([user("Begin."), called("pay", 0, card="card_5", amount=105, holder="X")])
        memory.append([answered(0, [*cards, {"amount": 999}]), ask])
        texts = ["\n".join(one.text for one in memory.context(n).messages) for n in (160, 240)]
        roomy = fill(memory.history.claims, memory.decided()[1], 600, Filling(terse=True)).text
    assert "H-019 amount=119" in roomy
    assert "999" not in roomy
    for text in texts:
        assert "amount=105 @m1" in text
        said = text.partition("tool: ")[2].partition(" @m2")[0]
        of = re.findall(r"(?:card_[0-9]+ )?H-([0-9]+) amount=1([0-9]+)", said)
        assert len(of) > 10
        assert all(int(holder) == int(amount) for holder, amount in of)
        # No number stands alone, and none that nobody asks with.
        assert len(of) == said.count("amount=")
        assert "weight" not in said


def test_the_numbers_that_tools_are_asked_with_count() -> None:
    with Memory() as memory:
        memory.append([called("take", 0, seats=3, window=True), answered(0, "done")])
        decided = memory.decided()[1]
        levels = {one.fact.key: decided.level(one.name) for one in memory.history.claims}
    assert (levels["seats"], levels["window"]) == (2, 10)


def test_no_value_looks_like_a_place_or_a_key() -> None:
    claims = values(called("get", 1, a=["@m0", "id:", "x=1", "p|q", "b@c:d"]))
    assert written(claims) == ['call get a="@m0" "id:" "x=1" "p|q" b@c:d @m0']


KEYS = ("guide", "slot id", "day", "each")
CELLS = st.sampled_from(
    [
        *(f"SL-{n:03d}" for n in range(9)),
        "Ada",
        "Jon",
        "Oslo",
        "a; b",
        "each:",
        "x|y",
        "each",
        "B=4",
    ]
) | st.integers(10, 12)
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(KEYS), CELLS, min_size=1), min_size=1, max_size=7
)
ANSWERS = (
    RECORDS
    | st.lists(st.lists(CELLS, min_size=1, max_size=4), max_size=6)
    | st.dictionaries(st.sampled_from(["a.b", "a", "b c"]), RECORDS | CELLS, min_size=1)
    | RECORDS.map(lambda found: {f"id-{n}": one for n, one in enumerate(found)})
)


def records(value: object) -> Iterator[set[str]]:
    """Yield what stands together in a value: an object's values and lists, or a row."""
    members = list(value.values()) if isinstance(value, dict) else value
    if not isinstance(members, list):
        return
    own: set[str] = set()
    for one in members:
        if isinstance(one, list) and isinstance(value, dict):
            own |= {str(each) for each in one if not isinstance(each, dict | list)}
        elif not isinstance(one, dict | list):
            own.add(str(one))
        yield from records(one)
    yield own


def told(line: str) -> Iterator[set[str]]:
    """Yield what the line of one text says of one record each, read without the program."""
    names = r'(?!each: )(?:(?:"(?:[^"\\]|\\.)*"|[^ |":]*)\|)*(?:"(?:[^"\\]|\\.)*"|[^ |":]+): '
    body = re.sub(rf"^(?:find -> (?:{names})?|tool: | *)", "", line)
    body = re.sub(r" @m[0-9]+$", "", body)
    tokens = re.findall(r'(?:"(?:[^"\\]|\\.)*"|[^\s|;="]+)=?|;', body)
    common: set[str] | None = None
    found: set[str] = set()
    for one in [*tokens, ";"]:
        if one == ";":
            yield found
            found, common = set(), None
        elif one == "each:":
            common, found = found, set()
        elif not one.endswith("="):
            value = json.loads(one) if one.startswith('"') else one
            if common is None:
                found.add(value)
            else:
                yield {*common, value}


@settings(max_examples=60, deadline=None)
@given(answer=ANSWERS, terse=st.booleans(), seed=st.integers(0, 99))
@example(
    answer=[{"guide": "Ada", "slot id": "SL-001"}, {"guide": "Jon", "slot id": "SL-002"}],
    terse=True,
    seed=0,
)
def test_two_values_that_a_line_tells_of_one_record_are_of_one(
    answer: object, seed: int, *, terse: bool
) -> None:
    real, kinds = list(records(answer)), {"leaf", "cell", "entity_value"}
    with Memory() as memory:
        memory.append([called("find", 0, day="Oslo", guide="Jon"), answered(0, answer)])
        claims = memory.history.claims
        kept = [one for one in claims if random.Random(f"{seed} {one.name}").random() < 0.7]
        classes = {one.name: 2 for one in kept}
        decided = Decided(frozenset(), frozenset(classes), frozenset(), classes, {})
        view = fill(kept, decided, 500, Filling(terse=terse))
        with Memory() as other:
            other.append(memory.context(200).messages)
            returned = [one for one in other.history.claims if one.fact.predicate in kinds]
    lines = [one for one in view.text.splitlines() if one.startswith(("find ->", "tool:", "  "))]
    parts = [
        {re.sub(r"^[a-z]+=", "", one) for one in part} for line in lines for part in told(line)
    ]
    back: dict[str, set[str]] = {}
    for one in returned:
        if one.text.passage.author.name == "TOOL":
            back.setdefault(record_of(one), set()).add(one.fact.value)
    for part in [*parts, *back.values()]:
        for pair in combinations(sorted(part), 2):
            assert any({*pair} <= record for record in real), (pair, view.text)
