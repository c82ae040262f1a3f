"""Whatever key a database is asked for, it finds what is found without it; more: `metamorphic`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.servers import metamorphic, metamorphic_goals
from tests.tiers.building import rows

if TYPE_CHECKING:
    from constat import Session
    from constat.evaluation import Answer
    from constat.logic import Row
    from tests.servers.leasing import ServedDatabase


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_files_are_asked_with_keys_as_without(kind: str) -> None:
    counts, problems = metamorphic.tried(kind, 60, None, metamorphic.of_file(kind))
    assert not problems
    assert counts["cases"] >= 60


def test_servers_are_asked_with_keys_as_without(source: ServedDatabase) -> None:
    counts, problems = metamorphic.tried("", 100, None, metamorphic.of_server(source))
    assert not problems
    assert counts["cases"] >= 100


@pytest.mark.laws
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_goals_of_files_are_what_their_rows_say(kind: str) -> None:
    with metamorphic_goals.places(kind, 2) as each:
        counts, problems = metamorphic.tried(kind, 40, None, each)
    assert not problems
    assert counts["forward: narrowed"]


def test_goals_of_servers_are_what_their_rows_say(source: ServedDatabase) -> None:
    counts, problems = metamorphic.tried("", 60, None, metamorphic_goals.of_server(source, 2))
    assert not problems
    assert counts["cases"] >= 60
    # Which goals it computes, and that it does, `test_postgres_engine` tries.
    tried = counts["postgres: whole"] + counts["postgres: refused"]
    assert source.server.kind != "postgresql" or tried


@pytest.mark.laws
def test_a_goal_that_a_database_answers_otherwise_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    real = metamorphic_goals.asked

    def one_less(session: Session, goal: str, engine: str) -> metamorphic_goals.Asked:
        found = real(session, goal, engine)
        if engine == "reference" or found.rows is None:
            return found
        return replace(found, rows=frozenset(sorted(found.rows, key=repr)[1:]))

    monkeypatch.setattr(metamorphic_goals, "asked", one_less)
    with metamorphic_goals.places("sqlite", 2) as each:
        _, problems = metamorphic.tried("sqlite", 20, None, each)
    assert problems


def test_a_row_that_is_not_found_with_its_key_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def one_less(answer: Answer) -> set[Row]:
        """Lose a row of every second answer."""
        asked.append(answer)
        return set(sorted(rows(answer), key=repr)[len(asked) % 2 :])

    monkeypatch.setattr(metamorphic, "rows", one_less)
    _, problems = metamorphic.tried("sqlite", 30, None, metamorphic.of_file("sqlite"))
    assert problems
