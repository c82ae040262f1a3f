"""Kept answers: whole or not there, never older than allowed, never more than there is room for."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing, suppress
from typing import TYPE_CHECKING

import pytest

from constat.store.answers import AnswerStore, AnswerStoreError, Fresh, Stored

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOON = 1_800_000_000.0


class Clock:
    def __init__(self, now: float = NOON) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def fresh(
    body: str = "rows", *, concerns: str = "tier", pattern: str = "0", at: float = NOON
) -> Fresh:
    return Fresh(
        concerns=concerns,
        predicate=concerns.partition("@")[0],
        source="sales",
        pattern=pattern,
        rows=1,
        fetched_at=at,
        max_age=600,
        tables="{}",
        body=body,
    )


def found(store: AnswerStore, *keys: str, concerns: str = "tier", pattern: str = "0") -> list[str]:
    scope = store.scope(concerns)
    return [one.body for one in store.find(scope, pattern, keys, 600)]


def stored(store: AnswerStore) -> tuple[Stored, ...]:
    return store.list()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> Iterator[AnswerStore]:
    with closing(AnswerStore(tmp_path / "state", clock=clock)) as opened:
        yield opened


def test_reading_creates_nothing(store: AnswerStore, tmp_path: Path) -> None:
    assert store.scope("tier") == ""
    assert store.find("x", "0", ["a"], 600) == ()
    assert (store.list(), store.counts(), store.patterns("x"), store.clear()) == ((), (), (), 0)
    store.told("tier", 1)
    assert list(tmp_path.iterdir()) == []


def test_an_answer_is_found_by_each_of_its_keys_and_by_no_other(store: AnswerStore) -> None:
    assert store.keep(fresh(), ["a", "b"])
    assert found(store, "a") == found(store, "x", "b") == found(store, "a", "b") == ["rows"]
    assert found(store, "c") == []
    assert found(store, "a", pattern="") == []
    assert found(store, "a", concerns="blocked") == []
    assert store.patterns(store.scope("tier")) == ("0",)


def test_another_program_finds_it(store: AnswerStore, tmp_path: Path, clock: Clock) -> None:
    store.keep(fresh(), ["a"])
    store.close()
    with closing(AnswerStore(tmp_path / "state", clock=clock)) as other:
        assert found(other, "a") == ["rows"]


def test_an_answer_is_served_until_its_age_and_no_longer(store: AnswerStore, clock: Clock) -> None:
    store.keep(fresh(), ["a"])
    clock.now = NOON + 600
    assert found(store, "a") == ["rows"]
    clock.now = NOON + 601
    assert found(store, "a") == []


def test_a_clock_that_went_backwards_leaves_nothing(store: AnswerStore, clock: Clock) -> None:
    store.keep(fresh(), ["a"])
    clock.now = NOON - 61
    assert found(store, "a") == []
    assert stored(store) == ()
    # And what is kept from now on is served.
    store.keep(fresh("new", at=clock.now), ["a"])
    assert found(store, "a") == ["new"]


def test_entries_do_not_grow_younger_when_the_clock_is_set_a_little(
    store: AnswerStore, clock: Clock
) -> None:
    store.keep(fresh(), ["a"])
    clock.now = NOON + 590
    assert found(store, "a") == ["rows"]
    clock.now = NOON + 605
    store.told("tier", 1)
    clock.now = NOON + 605 - 50
    assert found(store, "a") == []


def test_an_answer_from_the_future_is_not_served(store: AnswerStore) -> None:
    store.keep(fresh(at=NOON + 10_000_000), ["a"])
    assert found(store, "a") == []
    store.keep(fresh(), ["b"])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE answers SET fetched_at = 1e300")
        connection.commit()
    assert found(store, "b") == []


def test_a_new_answer_takes_the_place_of_the_old_one(store: AnswerStore) -> None:
    store.keep(fresh("old"), ["a", "b"])
    store.keep(fresh("new"), ["a"])
    assert found(store, "a") == ["new"]
    assert found(store, "b") == ["old"]
    assert len(stored(store)) == 2
    store.keep(fresh("newer"), ["b"])
    assert [one.pattern for one in stored(store)] == ["0", "0"]
    assert found(store, "a", "b") == ["new", "newer"]


def test_what_was_not_used_longest_leaves_when_there_is_no_room(
    tmp_path: Path, clock: Clock
) -> None:
    with closing(AnswerStore(tmp_path, most_bytes=10_000, clock=clock)) as store:
        for number in range(9):
            clock.now += 1
            store.keep(fresh("x" * 1_000, at=clock.now), [f"k{number}"])
        clock.now += 1
        (first,) = store.find(store.scope("tier"), "0", ["k0"], 600)
        store.told("tier", 1, [first.id])
        for number in range(9, 13):
            clock.now += 1
            store.keep(fresh("x" * 1_000, at=clock.now), [f"k{number}"])
        kept = {key for key in (f"k{n}" for n in range(13)) if found(store, key)}
        assert sum(one.size for one in stored(store)) <= 10_000
    assert "k0" in kept
    assert "k1" not in kept
    assert "k12" in kept


def test_room_that_was_used_is_given_back(tmp_path: Path, clock: Clock) -> None:
    with closing(AnswerStore(tmp_path, clock=clock)) as store:
        for number in range(20):
            store.keep(fresh("x" * 200_000), [str(number)])
        assert store.clear() == 20
    assert store.path.stat().st_size < 1_000_000


def test_an_answer_that_would_fill_the_room_is_not_kept(tmp_path: Path) -> None:
    with closing(AnswerStore(tmp_path, most_bytes=10_000)) as store:
        assert not store.keep(fresh("x" * 2_501), ["a"])
        assert store.keep(fresh("x" * 2_400), ["a"])


def test_what_is_too_old_leaves_when_something_new_comes(store: AnswerStore, clock: Clock) -> None:
    store.keep(fresh("old"), ["a"])
    clock.now += 601
    assert len(stored(store)) == 1
    store.keep(fresh("new", at=clock.now), ["b"])
    assert [one.rows for one in stored(store)] == [1]
    assert found(store, "b") == ["new"]


def test_clearing_takes_what_fits_every_condition(store: AnswerStore, clock: Clock) -> None:
    store.keep(fresh(concerns="tier"), ["a"])
    clock.now += 300
    store.keep(fresh(concerns="tier", at=clock.now), ["b"])
    store.keep(fresh(concerns="blocked", at=clock.now), ["b"])
    assert store.clear("tier", older_than=400) == 0
    assert store.clear("blocked", older_than=200) == 0
    assert store.clear("tier", older_than=200) == 1
    clock.now += 601
    assert store.clear("tier", expired=True) == 1
    assert [one.predicate for one in stored(store)] == ["blocked"]
    assert store.clear() == 1
    assert found(store, "b", concerns="blocked") == []


def test_what_was_served_is_counted(store: AnswerStore) -> None:
    store.keep(fresh(), ["a"])
    (one,) = stored(store)
    store.told("tier", 3, [one.id])
    store.told("tier", 1, [one.id])
    (counted,) = store.counts()
    assert (counted.predicate, counted.hits, counted.misses) == ("tier", 4, 1)
    assert stored(store)[0].served == 2


def test_what_an_answer_depends_on_is_not_in_the_file(store: AnswerStore) -> None:
    store.keep(fresh(concerns="tier@uri of the source"), ["a"])
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (1,)
        connection.execute("UPDATE answers SET predicate = ''")
        connection.commit()
        connection.execute("VACUUM")
    assert b"uri of the source" not in store.path.read_bytes()


def test_only_its_owner_may_read_the_file(store: AnswerStore) -> None:
    store.keep(fresh(), ["a"])
    files = [path for path in store.path.parent.iterdir() if path.name.startswith("answers")]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o077 for path in files} == {0}


def test_two_files_give_the_same_thing_different_names(tmp_path: Path) -> None:
    names = set()
    for folder in ("a", "b"):
        with closing(AnswerStore(tmp_path / folder)) as store:
            store.keep(fresh(), ["a"])
            names.add(store.scope("tier"))
    assert len(names) == 2


def test_a_text_that_was_changed_is_told_apart(store: AnswerStore) -> None:
    store.keep(fresh(), ["a"])
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute("UPDATE answers SET body = 'rowz'")
        connection.commit()
    (one,) = store.find(store.scope("tier"), "0", ["a"], 600)
    assert not one.whole


def test_eight_threads_keep_and_find_at_the_same_time(store: AnswerStore) -> None:
    problems: list[str] = []

    def work(name: int) -> None:
        for number in range(20):
            key = f"{name}/{number}"
            store.keep(fresh(key), [key])
            if found(store, key) != [key]:
                problems.append(key)

    threads = [threading.Thread(target=work, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    assert len(stored(store)) == 160


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE meta SET value = 'soon' WHERE name = 'seen'",
        "DELETE FROM meta",
        "UPDATE meta SET value = 'zz' WHERE name = 'secret'",
        "DROP TABLE keys",
        "UPDATE answers SET fetched_at = 'then'",
    ],
)
def test_a_file_that_was_tampered_with_is_an_error_of_ours(store: AnswerStore, damage: str) -> None:
    store.keep(fresh(), ["a"])
    scope = store.scope("tier")
    store.close()
    with closing(sqlite3.connect(store.path)) as connection:
        connection.execute(damage)
        connection.commit()
    again = AnswerStore(store.path.parent, clock=Clock())
    # An entry without a time is merely not young enough.
    with closing(again), suppress(AnswerStoreError):
        assert again.find(scope, "0", ["a"], 600) == ()
