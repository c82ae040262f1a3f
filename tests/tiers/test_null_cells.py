"""Rows with null cells (semantics 26): certain, with labels that no way of asking changes."""

from __future__ import annotations

import hashlib
import itertools
import json
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.catalog.keyed import JOINED, MERGED
from constat.diagnostics import ConstatError
from constat.evaluation import Demand, FillablePredicate, TierAsked
from constat.logic import OPEN, NullCell, NullPolicy, with_null_cells
from constat.tiers import Chain
from constat.tiers.cache import answer_text, read_answer
from constat.tiers.tier import content_hash
from tests.tiers.building import assumptions, declare, open_rows, reasons, rows, setting

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.evaluation import Answer
    from constat.logic import Predicate, Row
    from tests.tiers.building import Setting

P = "p(a: number, b: symbol, c: symbol)"
QUERY = "SELECT a, b, c FROM t"
NULLS = {"b": "maybe", "c": "unknown"}
MAYBE, UNKNOWN, NONE = NullPolicy.MAYBE, NullPolicy.UNKNOWN, NullPolicy.NONE
CELLS = st.tuples(
    st.integers(1, 2), st.sampled_from(["x", "y", None]), st.sampled_from(["x", None])
)


def table(folder: Path, cells: Sequence[tuple[object, ...]], predicate: Predicate) -> Setting:
    found = setting(folder, predicate, script="CREATE TABLE t (a INTEGER, b TEXT, c TEXT)")
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", cells)
    connection.commit()
    connection.close()
    return found


def null(*cells: int | str | None, ordinal: int = 0, b: NullPolicy = MAYBE) -> Row:
    return with_null_cells("p", cells, (None, b, UNKNOWN), ordinal)


def test_a_row_with_nulls_is_certain(tmp_path: Path) -> None:
    cells = [(1, "x", "y"), (2, None, "y"), (3, "x", None)]
    answer = table(tmp_path, cells, declare(P, QUERY, nulls=NULLS)).ask("p")
    assert rows(answer, assumed=False) == {(1, "x", "y"), null(2, None, "y"), null(3, "x", None)}
    assert open_rows(answer) == set()
    assert answer.answered == {()}


def test_each_column_has_its_policy_and_beats_its_input(tmp_path: Path) -> None:
    cells = [(1, None, "y"), (2, "x", None), (None, "x", "y")]
    predicate = declare(P, QUERY, nulls={"b": "none", "c": "skip"}, parameters={"null": "unknown"})
    answer = table(tmp_path, cells, predicate).ask("p")
    expected: set[tuple[object, ...]] = {
        (1, NullCell(NONE, "p", 1), "y"),
        (NullCell(UNKNOWN, "p", 0, (None, "x", "y")), "x", "y"),
    }
    assert rows(answer) == expected


def test_a_null_without_a_policy_leaves_its_row_open(tmp_path: Path) -> None:
    cells = [(None, None, "y"), (1, None, None)]
    answer = table(tmp_path, cells, declare(P, QUERY, nulls={"b": "maybe"})).ask("p")
    assert rows(answer) == set()
    assert open_rows(answer) == {(OPEN, OPEN, "y"), (1, OPEN, OPEN)}
    assert 'say null = "maybe" (a value or none)' in reasons(answer)


def test_equal_rows_with_labels_get_ordinals_and_never_merge(tmp_path: Path) -> None:
    cells = [(1, None, "y"), (1, None, "y"), (1, "x", None), (1, "x", None), (1, "x", None)]
    for distinct in ("", "true"):
        folder = tmp_path / f"distinct-{distinct}"
        folder.mkdir()
        parameters = {"distinct": distinct} if distinct else {}
        predicate = declare(P, QUERY, nulls=NULLS, parameters=parameters)
        answer = table(folder, cells, predicate).ask("p")
        assert answer.answered == {()}
        assert rows(answer) == {
            *(null(1, None, "y", ordinal=n) for n in range(2)),
            *(null(1, "x", None, ordinal=n) for n in range(3)),
        }


def test_equal_rows_without_a_value_merge_and_so_are_a_mistake(tmp_path: Path) -> None:
    cells = [(1, None, "y"), (1, None, "y")]
    predicate = declare(P, QUERY, nulls={"b": "none"})
    found = table(tmp_path, cells, predicate)
    assert found.ask("p").answered == frozenset()
    assert "1 of 2 rows more than once" in reasons(found.ask("p"))
    folder = tmp_path / "distinct"
    folder.mkdir()
    predicate = declare(P, QUERY, nulls={"b": "none"}, parameters={"distinct": "true"})
    none = with_null_cells("p", (1, None, "y"), (None, NONE, None))
    assert rows(table(folder, cells, predicate).ask("p")) == {none}


def test_a_null_in_a_key_leaves_its_row_open(tmp_path: Path) -> None:
    predicate = declare(P, QUERY, nulls=NULLS, key="b")
    answer = table(tmp_path, [(1, None, "y")], predicate).ask("p")
    assert rows(answer) == set()
    assert open_rows(answer) == {(1, OPEN, "y")}
    assert "column b of its key is NULL" in reasons(answer)


def may_have(row: tuple[object, ...], columns: tuple[int, ...], key: tuple[object, ...]) -> bool:
    """A null cell that may be a value may be that of the key; one without a value is none."""
    return all(
        row[column] == value
        or (isinstance(row[column], NullCell) and "NONE" not in repr(row[column]))
        for column, value in zip(columns, key, strict=True)
    )


@given(
    cells=st.lists(CELLS, max_size=5),
    policies=st.tuples(*[st.sampled_from(["none", "maybe", "unknown"])] * 2),
    order=st.randoms(use_true_random=False),
)
def test_a_label_does_not_depend_on_how_its_row_was_fetched(
    tmp_path_factory: pytest.TempPathFactory,
    cells: list[tuple[int, str | None, str | None]],
    policies: tuple[str, str],
    order: object,
) -> None:
    nulls = dict(zip("bc", policies, strict=True))
    predicate = declare(P, QUERY, nulls=nulls, parameters={"distinct": "true"})
    expected = rows(table(tmp_path_factory.mktemp("whole"), cells, predicate).ask("p"))
    found = table(tmp_path_factory.mktemp("keyed"), cells, predicate)
    ways: list[tuple[tuple[int, ...], tuple[object, ...]]] = [((0,), (1,)), ((), ())]
    ways += [((column,), (text,)) for column in (1, 2) for text in "xy"]
    ways += [((1, 2), pair) for pair in itertools.product("xy", "xy")]
    order.shuffle(ways)  # type: ignore[attr-defined]
    for columns, key in ways:
        answer = found.ask("p", columns, key)  # type: ignore[arg-type]
        told = {row for row in rows(answer) if may_have(row, columns, key)}
        assert told == {row for row in expected if may_have(row, columns, key)}, (columns, key)
        assert answer.answered == {key}
    found.tiers.close()


def test_an_answer_that_is_kept_has_the_same_cells(tmp_path: Path) -> None:
    cells = [(1, None, None), (1, None, None), (2, "x", None), (3, None, "y")]
    predicate = declare(P, QUERY, nulls=NULLS)
    answer = table(tmp_path, cells, predicate).ask("p")
    text = answer_text(answer, predicate, ())
    assert read_answer(text, predicate, ()) == answer
    with pytest.raises(ValueError, match="may hold no null"):
        read_answer(text, declare(P, QUERY), ())
    with pytest.raises(ValueError, match="null cells that are none of one row"):
        read_answer(text.replace("[1,1]", "[1,0]").replace("1,1]", "1,0]"), predicate, ())


def test_the_hash_of_rows_with_nulls_is_that_of_what_the_source_said() -> None:
    kinds = declare(P).kinds
    found = [(1, "x", "y"), null(1, None, "y"), null(1, None, "y", ordinal=1)]
    told = content_hash(found, kinds)
    assert told == content_hash(found[::-1], kinds)
    said = b'["1",null,"y"]\n["1",null,"y"]\n["1","x","y"]\n'
    assert told == f"sha256:{hashlib.sha256(said).hexdigest()}"
    assert told != content_hash(found[:2], kinds)
    assert told == content_hash([found[0], null(1, None, "y", b=UNKNOWN), found[2]], kinds)


ODD_TEXTS = st.one_of(st.none(), st.sampled_from(["", "\1", "a", "ab", "é", '"', "\\"]))


@given(st.lists(st.tuples(st.integers(1, 2), ODD_TEXTS, ODD_TEXTS), max_size=9, unique=True))
def test_the_hash_is_that_of_the_sorted_lines(
    cells: list[tuple[int, str | None, str | None]],
) -> None:
    texts = [[None if one is None else str(one) for one in row] for row in cells]
    texts.sort(key=lambda row: [(one is not None, one or "") for one in row])
    lines = "".join(json.dumps(row, separators=(",", ":")) + "\n" for row in texts)
    told = content_hash([null(*row) for row in cells], declare(P).kinds)
    assert told == f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}"


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT DISTINCT a, b, c FROM t", MERGED),
        ("SELECT t.a, u.b, t.c FROM t LEFT JOIN t u ON u.a = t.a + 1", JOINED),
    ],
)
def test_a_null_that_the_query_makes_needs_another_policy(
    tmp_path: Path, query: str, reason: str
) -> None:
    found = table(tmp_path, [(1, "x", None)], declare(P, query, nulls={"b": "maybe"}))
    with pytest.raises(ConstatError) as caught:
        found.ask("p")
    (problem,) = caught.value.diagnostics
    assert problem.code == "C0519"
    assert reason in problem.message
    assert "@[null = none] b: symbol" in problem.help
    folder = tmp_path / "none"
    folder.mkdir()
    declared = declare(P, query, nulls={"b": "none", "c": "none"})
    assert rows(table(folder, [(1, "x", None)], declared).ask("p"))


# Filling (semantics 26e).

KEYED = "tier(c: symbol, t: symbol, since: number)"
ROWS = "SELECT c, t, since FROM accounts"
ACCOUNTS = """
    CREATE TABLE accounts (c TEXT PRIMARY KEY, t TEXT, since INTEGER);
    INSERT INTO accounts VALUES ('C001', NULL, 2020), ('C002', 'gold', 2021), ('C003', NULL, NULL);
"""
UNSURE = {"t": "maybe", "since": "unknown"}
T = {"t": "maybe"}


def keyed(folder: Path, nulls: dict[str, str] | None = None, config: str = "") -> Setting:
    predicate = declare(KEYED, ROWS, key="c", nulls=nulls or UNSURE)
    return setting(folder, predicate, script=ACCOUNTS, config=config)


def filled(found: Setting, key: str) -> Answer:
    chain = found.tiers.externals["tier"]
    assert isinstance(chain, Chain)
    return chain.filled().answer(Demand(found.predicates["tier"], (0,), ((key,),)))


def test_a_lower_row_is_never_another_row(tmp_path: Path) -> None:
    found = keyed(tmp_path)
    before = found.ask("tier", (0,), ("C001",))
    found.store.add("tier", ("C001", "gold", "2020"), "alice")
    after = found.ask("tier", (0,), ("C001",))
    assert rows(after) == rows(before)
    assert len(rows(after, assumed=False)) == 1
    assert open_rows(after) == set()
    assert after.conflicts == ()
    assert rows(found.ask("tier")) == rows(keyed(_folder(tmp_path, "other")).ask("tier"))


def _folder(folder: Path, name: str) -> Path:
    (folder / name).mkdir()
    return folder / name


def test_a_stated_fact_fills_the_cells_of_a_row_for_who_accepts_it(tmp_path: Path) -> None:
    found = keyed(tmp_path)
    chain = found.tiers.externals["tier"]
    assert isinstance(chain, FillablePredicate)
    found.ask("tier", (0,), ("C001",))
    assert not chain.may_fill
    found.store.add("tier", ("C001", "gold", "2020"), "alice")
    found.ask("tier", (0,), ("C001",))
    assert chain.may_fill
    answer = filled(found, "C001")
    assert rows(answer, assumed=True) == {("C001", "gold", 2020)}
    assert rows(answer, assumed=False) == set()
    # Who does not accept it has a row of which not all is known.
    said = "user alice says tier(C001, gold, 2020)"
    assert open_rows(answer) == {("C001", OPEN, 2020)}
    (opening,) = answer.openings
    assert opening.assumption is not None
    assert opening.assumption.text == said
    assert assumptions(answer) == {("fact", said)}
    assert opening.filled is not None
    unfilled = opening.filled.evidence.fills
    assert unfilled is not None
    assert (unfilled.row,) == tuple(rows(found.ask("tier", (0,), ("C001",))))
    assert answer.answered == {("C001",)}


@pytest.mark.parametrize(
    ("key", "row", "nulls"),
    [
        ("C001", ("C001", "gold", "1999"), UNSURE),  # another cell is known, and differs
        ("C002", ("C002", "silver", "2021"), UNSURE),  # nothing is left to fill
        ("C001", ("C001", "gold", "2020"), {"t": "none", "since": "unknown"}),  # there is none
    ],
)
def test_a_fact_that_disagrees_is_a_conflict_and_fills_nothing(
    tmp_path: Path, key: str, row: tuple[str, ...], nulls: dict[str, str]
) -> None:
    found = keyed(tmp_path, nulls)
    before = found.ask("tier", (0,), (key,))
    found.store.add("tier", row, "alice")
    after = found.ask("tier", (0,), (key,))
    assert rows(after) == rows(before)
    (conflict,) = after.conflicts
    assert "user alice says" in conflict.text
    assert conflict.text.endswith("the first counts")
    assert rows(filled(found, key)) == rows(before)


def test_two_people_who_fill_a_cell_with_different_values_fill_nothing(tmp_path: Path) -> None:
    found = keyed(tmp_path)
    found.store.add("tier", ("C001", "gold", "2020"), "alice")
    found.store.add("tier", ("C001", "silver", "2020"), "bob")
    before = rows(found.ask("tier", (0,), ("C001",)))
    answer = filled(found, "C001")
    assert rows(answer) == before
    assert len(answer.conflicts) == 1


def test_a_row_above_hides_what_is_not_known_below(tmp_path: Path) -> None:
    found = keyed(tmp_path, config="facts: {tier: [[C001, gold, 2020]]}")
    answer = found.ask("tier", (0,), ("C001",))
    assert rows(answer, assumed=False) == {("C001", "gold", 2020)}
    assert answer.conflicts == ()
    assert open_rows(answer) == set()


def test_tiers_below_are_asked_for_cells_only_where_they_are_to_be_filled(tmp_path: Path) -> None:
    crm = '{factory: "tests.tiers.sample_tiers:Sample", options: {rows: C001/silver C002/iron}}'
    predicate = declare("tier(c: symbol, t: symbol)", "SELECT c, t FROM accounts", key="c", nulls=T)
    found = setting(tmp_path, predicate, script=ACCOUNTS, config=f"tiers: {{crm: {crm}}}")
    keys = (("C001",), ("C002",))
    answer = found.ask("tier", (0,), *keys)
    assert rows(answer, assumed=True) == set()
    assert asked_of(found, "crm") == {"skipped"}
    chain = found.tiers.externals["tier"]
    assert isinstance(chain, Chain)
    assert chain.may_fill
    demand = Demand(predicate, (0,), keys)
    answer = chain.filled().answer(demand)
    assert rows(answer, assumed=True) == {("C001", "silver")}
    assert rows(answer, assumed=False) == {("C002", "gold")}
    assert open_rows(answer) == {("C001", OPEN)}
    assert asked_of(found, "crm") == {"skipped", "partial"}
    # Who had no word before has none now: nobody asks them about what is known.
    assert answer.conflicts == ()


def asked_of(found: Setting, tier: str) -> set[str]:
    told = [event for event in found.events if isinstance(event, TierAsked)]
    return {event.outcome for event in told if event.tier == tier}
