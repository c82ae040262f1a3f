"""The meaning of a predicate never depends on which columns a demand binds (semantics 5).

Random facts in the configuration, the database and the store are asked for in every way; each
answer is held against a model of the rules that was written for this test.
"""

from __future__ import annotations

import itertools
import sqlite3
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.logic import OPEN
from tests.tiers.building import Setting, declare, open_rows, rows, setting

if TYPE_CHECKING:
    from collections.abc import Iterable

    from constat.logic import OpenRow, Row

NAMES = ("a", "b", "c")
PAIRS = st.lists(st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)), unique=True, max_size=5)
CELLS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.sampled_from((*NAMES, None))), unique=True, max_size=5
)
Known = tuple[set["OpenRow"], set["OpenRow"], set["OpenRow"]]


def expected(
    config: list[Row], stored: list[tuple[str, str | None]], stated: list[Row], *, keyed: bool
) -> Known:
    """Give the certain rows, the rows under an assumption, and the open rows."""
    database = [(c, OPEN if t is None else t) for c, t in stored]
    if not keyed:
        united = {*config, *(row for row in database if OPEN not in row)}
        return united, set(stated), {row for row in database if OPEN in row}
    certain: set[OpenRow] = set()
    assumed: set[OpenRow] = set()
    possible: set[OpenRow] = set()
    for key in NAMES:
        silent = False
        for tier, facts in (("config", config), ("database", database), ("user", stated)):
            here = {row for row in facts if row[0] == key}
            known = {row for row in here if OPEN not in row}
            possible |= here - known
            if known:
                alone = len(here) == 1
                target = assumed if silent or tier == "user" else certain
                (target if alone else possible).update(known)
                break
            silent = silent or bool(here)
    return certain, assumed, possible


def matching(
    found: Iterable[OpenRow], columns: tuple[int, ...], key: tuple[str, ...]
) -> set[OpenRow]:
    return {
        row
        for row in found
        if all(row[c] in {value, OPEN} for c, value in zip(columns, key, strict=True))
    }


def build(
    factory: pytest.TempPathFactory,
    config: list[tuple[str, str]],
    stored: list[tuple[str, str | None]],
    stated: list[tuple[str, str]],
    key: str,
) -> Setting:
    folder = factory.mktemp("shop")
    listed = ", ".join(f"[{c}, {t}]" for c, t in config)
    predicate = declare("tier(c: symbol, t: symbol)", "SELECT c, t FROM x", key=key)
    found = setting(
        folder, predicate, config=f"facts: {{tier: [{listed}]}}", script="CREATE TABLE x (c, t)"
    )
    connection = sqlite3.connect(folder / "shop.sqlite")
    connection.execute("PRAGMA synchronous = OFF")
    connection.executemany("INSERT INTO x VALUES (?, ?)", stored)
    connection.commit()
    connection.close()
    for row in stated:
        found.store.add("tier", row, "alice")
    return found


@given(
    config=PAIRS,
    stored=CELLS,
    stated=st.lists(st.tuples(*[st.sampled_from(NAMES)] * 2), max_size=2),
    keyed=st.booleans(),
    order=st.randoms(use_true_random=False),
)
def test_every_way_of_asking_gives_the_same_rows(
    tmp_path_factory: pytest.TempPathFactory,
    config: list[tuple[str, str]],
    stored: list[tuple[str, str | None]],
    stated: list[tuple[str, str]],
    keyed: bool,  # noqa: FBT001  drawn by hypothesis
    order: object,
) -> None:
    found = build(tmp_path_factory, config, stored, stated, "c" if keyed else "")
    certain, assumed, possible = expected(
        list(config), stored, list(dict.fromkeys(stated)), keyed=keyed
    )
    ways: list[tuple[tuple[int, ...], tuple[str, ...]]] = [((), ())]
    ways += [((column,), (name,)) for column in (0, 1) for name in NAMES]
    ways += [((0, 1), pair) for pair in itertools.product(NAMES, NAMES)]
    order.shuffle(ways)  # type: ignore[attr-defined]
    for columns, key in ways:
        answer = found.ask("tier", columns, key)
        told = rows(answer, assumed=False)
        assert matching(told, columns, key) == matching(certain, columns, key), (columns, key)
        told = rows(answer, assumed=True) - certain
        assert matching(told, columns, key) == matching(assumed - certain, columns, key)
        assert matching(open_rows(answer), columns, key) == matching(possible, columns, key)
        assert answer.answered == {key}
    found.tiers.close()
