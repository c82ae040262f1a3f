"""`cache show|stats|clear`, `prove --no-cache`, and what a reader sees of kept answers."""

from __future__ import annotations

import re
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import Ran, run, run_process
from tests.tiers.kept import allow_age

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def kept(shop: Path) -> Path:
    """Return a project in which `blocked` and `customer_tier` may be ten minutes old."""
    for name in ("blocked", "customer_tier"):
        allow_age(shop, name, "10m")
    return shop


def prove(project: Path, *arguments: str) -> Ran:
    return run("prove", "is_vip(C001)", "--project", project, *arguments)


def cache(project: Path, *arguments: str) -> Ran:
    return run("cache", *arguments, "--project", project)


def change(project: Path, statement: str) -> None:
    with closing(sqlite3.connect(project / "data" / "shop.sqlite")) as connection, connection:
        connection.execute(statement)


def test_the_reader_sees_the_source_and_that_it_was_cached(kept: Path) -> None:
    first = prove(kept)
    assert "cached" not in first.out
    again = prove(kept)
    assert re.search(r"source: DATABASE \(sales\), cached (just now|\d+ seconds? ago)\n", again.out)
    assert re.search(r"executed_at: \d{4}-", again.out)
    with closing(sqlite3.connect(kept / ".constat" / "answers.sqlite")) as connection, connection:
        connection.execute("UPDATE answers SET body = replace(body, 'T', 'T')")
    (kept / "data" / "shop.sqlite").rename(kept / "data" / "away")
    away = run("prove", "blocked(C001)", "--project", kept)
    assert away.code == 5
    assert "the source was not reached" in away.out


def test_no_cache_asks_anew_and_keeps_that(kept: Path) -> None:
    assert prove(kept).code == 0
    change(kept, "INSERT INTO blocked_customers VALUES ('C001', 'late', NULL)")
    assert prove(kept).code == 0
    assert prove(kept, "--no-cache").code == 5
    assert prove(kept).code == 5


def test_show_lists_what_is_kept(kept: Path) -> None:
    assert cache(kept, "show").out == "nothing is kept\n"
    prove(kept)
    prove(kept)
    shown = cache(kept, "show").out
    assert re.search(
        r"^blocked by customer: 1 key, 0 rows of sales, .* old, served 1 time, expires in 9 min",
        shown,
        re.MULTILINE,
    )
    (one,) = cache(kept, "show", "blocked", "--format", "json").json["answers"]
    assert (one["bound"], one["keys"], one["served"], one["current"]) == (["customer"], 1, 1, True)
    assert cache(kept, "show", "owns", "--format", "json").json == {"answers": []}


def test_show_says_what_is_no_longer_served(kept: Path) -> None:
    prove(kept)
    file = kept / "sources.dl"
    file.write_text(file.read_text().replace("lifted_on IS NULL", "lifted_on IS NOT NULL"))
    assert "no longer served" in cache(kept, "show").out
    (one,) = cache(kept, "show", "--format", "json").json["answers"]
    assert not one["current"]


def test_stats_count_what_was_served(kept: Path) -> None:
    prove(kept)
    prove(kept)
    told = cache(kept, "stats", "--format", "json").json
    assert (told["entries"], told["hits"], told["misses"]) == (1, 1, 1)
    assert [one["predicate"] for one in told["predicates"]] == ["blocked"]
    assert 0 < told["bytes"] < told["most_bytes"]
    assert cache(kept, "stats").out.startswith("1 answer, ")


def test_clear_removes_answers_and_never_a_stated_fact(kept: Path) -> None:
    run("facts", "add", "blocked(C002)", "--by", "alice", "--project", kept)
    prove(kept)
    assert cache(kept, "clear", "customer_tier").out == "cleared: 0 answers\n"
    assert cache(kept, "clear", "--older-than", "1h").out == "cleared: 0 answers\n"
    assert cache(kept, "clear", "--expired").out == "cleared: 0 answers\n"
    assert cache(kept, "clear", "--format", "json").json == {"cleared": 1, "file_removed": False}
    assert cache(kept, "show").out == "nothing is kept\n"
    assert "blocked(C002)" in run("facts", "list", "--project", kept).out


@pytest.mark.parametrize("age", ["", "soon", "-1h", "1y"])
def test_an_age_that_is_none_is_bad_usage(kept: Path, age: str) -> None:
    ran = cache(kept, "clear", "--older-than", age)
    assert (ran.code, ran.out) == (2, "")
    assert "--older-than" in ran.err


def test_a_damaged_file_is_a_warning_for_a_proof_and_an_error_for_its_commands(kept: Path) -> None:
    run("facts", "add", "blocked(C002)", "--by", "alice", "--project", kept)
    path = kept / ".constat" / "answers.sqlite"
    path.write_bytes(b"garbage" * 1_000)
    ran = prove(kept)
    assert ran.code == 0
    assert "warning[C0561]" in ran.err
    shown = cache(kept, "show")
    assert (shown.code, shown.out) == (2, "")
    assert "constat cache clear" in shown.err
    assert cache(kept, "clear", "blocked").code == 2
    assert path.read_bytes() == b"garbage" * 1_000
    assert cache(kept, "clear").out == "the damaged file of kept answers was removed\n"
    assert prove(kept).err == ""
    assert "blocked(C002)" in run("facts", "list", "--project", kept).out


def test_a_full_disk_is_a_warning_and_the_proof_goes_on(kept: Path) -> None:
    program = """
        import resource, sys
        from constat.cli import main
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))
        sys.exit(main(["prove", "is_vip(C001)", "-q", "--project", sys.argv[1]]))
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(kept)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stdout) == (0, "PROVED: is_vip(C001)\n")
    assert "warning[C0561]" in ran.stderr
    assert prove(kept).err == ""


def test_another_programs_database_in_its_place_is_never_removed(kept: Path) -> None:
    (kept / ".constat").mkdir()
    path = kept / ".constat" / "answers.sqlite"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    before = path.read_bytes()
    assert prove(kept).code == 0
    assert cache(kept, "clear").code == 2
    assert path.read_bytes() == before


def test_without_max_age_the_file_is_never_opened(shop: Path) -> None:
    (shop / ".constat").mkdir()
    (shop / ".constat" / "answers.sqlite").write_bytes(b"garbage" * 1_000)
    assert prove(shop).err == ""


@pytest.mark.faults
def test_two_programs_prove_at_the_same_time(kept: Path) -> None:
    from concurrent.futures import ThreadPoolExecutor

    def one(_: int) -> Ran:
        return run_process("prove", "is_vip(C001)", "-q", "--project", str(kept))

    with ThreadPoolExecutor(2) as pool:
        ran = list(pool.map(one, range(4)))
    assert {(one.code, one.err) for one in ran} == {(0, "")}


def test_a_max_age_that_means_nothing_is_shown_where_it_is_written(kept: Path) -> None:
    file = kept / "sources.dl"
    file.write_text(file.read_text().replace('max_age = "10m"', 'max_age = "soon"'))
    ran = prove(kept)
    assert (ran.code, ran.out) == (2, "")
    assert "C0560" in ran.err
    assert "sources.dl" in ran.err
