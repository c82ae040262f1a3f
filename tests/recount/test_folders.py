"""An answer in a folder is accepted as it was written, and in no other form."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING, Any

import duckdb
import pytest

from constat.catalog import duck_session
from constat.logic import Atom, NullCell, NullPolicy, Variable
from constat.recount import (
    Answered,
    Bounds,
    Claim,
    Computed,
    FolderError,
    RefusedError,
    State,
    check_folder,
    write_folder,
)
from constat.recount import folders as module
from constat.recount.tables import Tables
from tests.oracle import naive
from tests.property.tables import tables
from tests.recount.test_recount import EDGES, GRAPH, HEAD, PATHS, program_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from constat.logic import Row

ONE = Bounds(threads=1)
DAYS = HEAD + (
    ".decl born(who: symbol, day: Date, weight: float, paid: Decimal, ok: Bool)\n.input born\n"
    ".decl early(who: symbol, paid: Decimal)\n"
    'early(?w, ?p) :- born(?w, ?d, ?x, ?p, "true"), ?d < "2000-01-01", ?x > 0.5.\n'
)
BORN: tuple[Row, ...] = (("a", "1999-02-03", 0.75, 1, "true"), ("b", "2001-02-03", 1.0, 2, "true"))


def write(
    target: Path, text: str, name: str, given: Mapping[str, Iterable[Row]], rows: Iterable[Row]
) -> Path:
    program = program_of(text)
    world = naive.World({one: tuple((row, None) for row in found) for one, found in given.items()})
    arity = program.program.predicates[name].arity
    claim = Claim(
        Atom(name, tuple(Variable(f"v{n}") for n in range(arity))), tuple(range(arity)), list(rows)
    )
    write_folder(target, Computed(program, claim, tables(program, world), "2026-01-01"), ONE)
    return target


def paths(target: Path, rows: Iterable[Row] = PATHS) -> Path:
    return write(target, GRAPH, "t", {"e": EDGES}, rows)


def checked(folder: Path, pin: str | None = None) -> Answered:
    return check_folder(folder, ONE, pin)


def test_what_follows_is_accepted(tmp_path: Path) -> None:
    found = checked(paths(tmp_path / "answer"))
    assert found.found.state is State.PASSED
    assert (found.goal, found.answer.rows) == ("t(?v0, ?v1)", len(PATHS))
    assert [(one.predicate, one.rows) for one in found.inputs] == [("e", len(EDGES))]


def test_every_kind_of_value_goes_and_comes(tmp_path: Path) -> None:
    folder = write(tmp_path / "answer", DAYS, "early", {"born": BORN}, [("a", 1)])
    assert checked(folder).found.state is State.PASSED


def test_a_relation_without_columns_goes_and_comes(tmp_path: Path) -> None:
    text = HEAD + ".decl e(a: number)\n.input e\n.decl some()\nsome() :- e(_).\n"
    folder = write(tmp_path / "answer", text, "some", {"e": [(1,)]}, [()])
    assert checked(folder).found.state is State.PASSED


@pytest.mark.parametrize("rows", [PATHS[1:], (*PATHS, (3, 1)), (*PATHS[1:], (9, 9))])
def test_another_answer_is_noticed(tmp_path: Path, rows: tuple[Row, ...]) -> None:
    assert checked(paths(tmp_path / "answer", rows)).found.state is State.DIFFERS


@pytest.mark.parametrize("name", ["rules.dl", "input-1.parquet", "answer.parquet"])
def test_a_file_that_was_changed_is_rejected(tmp_path: Path, name: str) -> None:
    folder = paths(tmp_path / "answer")
    content = bytearray((folder / name).read_bytes())
    content[len(content) // 2] ^= 1
    (folder / name).write_bytes(content)
    with pytest.raises(FolderError, match=f"`{name}` is not the file that `answer.json` names"):
        checked(folder)


@pytest.mark.parametrize("name", ["rules.dl", "input-1.parquet", "answer.parquet", "answer.json"])
def test_a_file_that_is_missing_is_rejected(tmp_path: Path, name: str) -> None:
    folder = paths(tmp_path / "answer")
    (folder / name).unlink()
    with pytest.raises(FolderError, match=f"`{name}` is missing"):
        checked(folder)


def forged(folder: Path, file: str, query: str) -> None:
    """Put other rows into a file, and its hash and number into `answer.json`."""
    target = folder / file
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({query}) TO '{target}' (FORMAT parquet)")
        (rows,) = connection.execute(f"SELECT count(*) FROM ({query})").fetchone() or (0,)
    about = json.loads((folder / "answer.json").read_text())
    entry = about["answer"] if file == "answer.parquet" else about["inputs"][0]
    entry.update(rows=rows, sha256=module._hash(target))
    (folder / "answer.json").write_text(json.dumps(about))


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT 1.5 AS a, 2.5 AS b", "other columns"),
        ("SELECT 1::BIGINT AS a", "other columns"),
        ("SELECT 1::BIGINT AS a, NULL::BIGINT AS b", "a cell without a value"),
    ],
)
def test_columns_that_no_relation_has_are_rejected(tmp_path: Path, query: str, why: str) -> None:
    folder = paths(tmp_path / "answer")
    forged(folder, "input-1.parquet", query)
    with pytest.raises(FolderError, match=why):
        checked(folder)


@pytest.mark.parametrize(
    "values",
    ["'1999-2-3', 0.75, 1, 'true'", "'1999-02-03', 'nan', 1, 'true'", "'1999-02-03', 1, 1, 'yes'"],
)
def test_values_that_no_kind_has_are_rejected(tmp_path: Path, values: str) -> None:
    folder = write(tmp_path / "answer", DAYS, "early", {"born": BORN}, [("a", 1)])
    day, weight, paid, ok = values.split(", ")
    forged(
        folder,
        "input-1.parquet",
        f"SELECT 'a' AS who, {day} AS day, {weight}::DOUBLE AS weight,"
        f" {paid}::DECIMAL(38, 12) AS paid, {ok} AS ok",
    )
    with pytest.raises(FolderError, match="a value that its kind does not have"):
        checked(folder)


def test_a_file_that_takes_far_more_room_in_rows_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = HEAD + (
        ".decl e(a: symbol, n: number)\n.input e\n.decl t(n: number)\nt(?n) :- e(_a, ?n).\n"
    )
    folder = write(tmp_path / "answer", text, "t", {"e": [("a", 1)]}, [(1,)])
    many = "SELECT {} AS a, i AS n FROM range({}) AS r(i)"
    bounds = Bounds(threads=1, memory=1 << 22)
    forged(folder, "input-1.parquet", many.format("repeat('x', 200_000)", 60))
    found = check_folder(folder, bounds).found
    assert (found.state, found.why) == (State.NOT_CHECKED, "it needs more memory than there is")
    monkeypatch.setattr(duck_session, "_MOST_TEXT", 1 << 20)
    found = check_folder(folder, ONE).found
    assert found.state is State.NOT_CHECKED
    assert found.why == "`input-1.parquet` repeats long texts in very many rows"
    forged(folder, "input-1.parquet", many.format("'x'", 3_000_000))
    monkeypatch.setattr(Tables, "empty", None)
    assert "more memory" in check_folder(folder, bounds).found.why


def test_an_input_with_a_row_twice_is_rejected(tmp_path: Path) -> None:
    text = HEAD + (
        ".decl e(a: number)\n.input e\n.decl n(x: number)\nn(?n) :- ?n = count : { e(_a) }.\n"
    )
    folder = write(tmp_path / "answer", text, "n", {"e": [(1,)]}, [(1,)])
    forged(folder, "input-1.parquet", "SELECT 1::BIGINT AS a UNION ALL SELECT 1")
    with pytest.raises(FolderError, match="has a row twice"):
        checked(folder)


KEYED = HEAD + (
    "@[key = id]\n.decl e(id: number, @[null = unknown] a: number)\n.input e\n"
    ".decl t(id: number)\nt(?i) :- e(?i, _a).\n"
)


@pytest.mark.parametrize(
    "rows",
    [
        "SELECT 1::BIGINT AS id, 2::BIGINT AS a UNION ALL SELECT 1, 3",
        "FROM '{before}' UNION ALL SELECT * REPLACE (7 AS a, NULL AS \"a.mark\") FROM '{before}'",
    ],
    ids=["known cells", "a cell that nobody knows"],
)
def test_certain_rows_of_one_key_are_rejected(tmp_path: Path, rows: str) -> None:
    """Of such rows none is certain (semantics 6), so nothing follows from them."""
    label = NullCell(NullPolicy.UNKNOWN, "e", 1, (1, None))
    given: list[Any] = [(1, label if "mark" in rows else 2)]
    folder = write(tmp_path / "answer", KEYED, "t", {"e": given}, [(1,)])
    assert checked(folder).found.passed
    before = shutil.copy(folder / "input-1.parquet", tmp_path / "before.parquet")
    forged(folder, "input-1.parquet", rows.format(before=before))
    with pytest.raises(FolderError, match="two certain rows for one key of e"):
        checked(folder)


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ("7::BIGINT AS a", "with neither a value nor a mark"),
        ('false AS ".certain"', "`.certain` is true"),
    ],
)
def test_marks_that_no_row_has_are_rejected(tmp_path: Path, other: str, why: str) -> None:
    rows: list[Any] = [(1, NullCell(NullPolicy.UNKNOWN, "e", 1, (1, None)))]
    folder = write(tmp_path / "answer", KEYED, "t", {"e": rows}, [(1,)])
    before = shutil.copy(folder / "input-1.parquet", tmp_path / "before.parquet")
    forged(folder, "input-1.parquet", f"SELECT * REPLACE ({other}) FROM '{before}'")
    with pytest.raises(FolderError, match=why):
        checked(folder)


def test_a_number_of_rows_that_is_not_true_is_rejected(tmp_path: Path) -> None:
    folder = paths(tmp_path / "answer")
    about = json.loads((folder / "answer.json").read_text())
    about["answer"]["rows"] += 1
    (folder / "answer.json").write_text(json.dumps(about))
    with pytest.raises(FolderError, match="not as many rows"):
        checked(folder)


@pytest.mark.parametrize(
    "change",
    [
        {"goal": "e(?a, ?b)"},
        {"goal": "t(?a"},
        {"goal": "t(1, ?b)"},
        {"places": [0]},
        {"places": [0, 0]},
        {"places": [0, 7]},
        {"inputs": []},
        {"format": "constat-bulk/2"},
        {"note": "one member more"},
        {"answer": None},
    ],
)
def test_a_folder_that_says_something_else_is_not_accepted(
    tmp_path: Path, change: dict[str, object]
) -> None:
    folder = paths(tmp_path / "answer")
    about = json.loads((folder / "answer.json").read_text())
    (folder / "answer.json").write_text(json.dumps({**about, **change}))
    try:
        found = checked(folder)
    except FolderError:
        return
    assert found.found.state is State.DIFFERS


def test_an_index_that_says_a_thing_twice_is_rejected(tmp_path: Path) -> None:
    folder = paths(tmp_path / "answer")
    content = (folder / "answer.json").read_text()
    (folder / "answer.json").write_text(content.replace("{", '{"goal": "t(1, 2)",', 1))
    with pytest.raises(FolderError, match="not of the format"):
        checked(folder)


def other_rules(folder: Path, old: str, new: str) -> Path:
    """Put another text into the rules of a folder, and their hash into `answer.json`."""
    file = folder / "rules.dl"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new, 1))
    about = json.loads((folder / "answer.json").read_text())
    about["rules"]["sha256"] = module._hash(file)
    (folder / "answer.json").write_text(json.dumps(about))
    return folder


def test_a_mistake_in_the_rules_is_told_with_its_line_and_no_word_of_them(tmp_path: Path) -> None:
    folder = other_rules(paths(tmp_path / "answer"), "t(?a, ?b) :-", "t(?a, ?secret) :-")
    with pytest.raises(FolderError) as told:
        checked(folder)
    text = (folder / "rules.dl").read_text().splitlines()
    line = next(number for number, one in enumerate(text, 1) if "secret" in one)
    assert f"`rules.dl` has mistakes, the first of them line {line}: C0" in str(told.value)
    assert "secret" not in str(told.value)


def test_a_rule_that_is_an_assumption_is_named(tmp_path: Path) -> None:
    folder = other_rules(
        paths(tmp_path / "answer"), "t(?a, ?b) :-", "@[confidence = 0.5] t(?a, ?b) :-"
    )
    found = checked(folder).found
    assert not found.passed
    assert "rule t.1 is an assumption: it has a confidence, or nobody approved it" in found.why


def test_rules_that_are_not_trusted_are_refused(tmp_path: Path) -> None:
    folder = paths(tmp_path / "answer")
    rules = checked(folder).rules
    assert checked(folder, rules).found.passed
    with pytest.raises(FolderError, match="not those that are trusted"):
        checked(folder, "sha256:" + "0" * 64)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "answer").mkdir()
    (tmp_path / "answer" / "mine").write_text("x")
    with pytest.raises(OSError, match="not empty"):
        paths(tmp_path / "answer")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["answer"]
    assert (tmp_path / "answer" / "mine").read_text() == "x"


def test_what_has_no_clause_is_not_written(tmp_path: Path) -> None:
    given = "t(@[given] a: number, b: number)"
    text = GRAPH.replace("t(a: number, b: number)", given)
    with pytest.raises(RefusedError):
        write(tmp_path / "answer", text, "t", {"e": EDGES}, PATHS)
    assert not list(tmp_path.iterdir())


def altered(content: bytes, chance: random.Random) -> bytes:
    """Change, drop, add or double some bytes."""
    place, found = chance.randrange(len(content)), bytearray(content)
    match chance.randrange(5):
        case 0:
            found[place] ^= 1 << chance.randrange(8)
        case 1:
            del found[place : place + chance.randrange(1, 40)]
        case 2:
            found[place:place] = chance.randbytes(chance.randrange(1, 9))
        case 3:
            found += found[place:]
        case _:
            found = found[:place]
    return bytes(found)


@pytest.mark.sampled(7, "laws")
@pytest.mark.parametrize("seed", range(48))
def test_a_file_that_was_altered_anyhow_is_rejected(tmp_path: Path, seed: int) -> None:
    folder = paths(tmp_path / "answer")
    before = checked(folder)
    chance = random.Random(seed)
    files = sorted(folder.iterdir())
    file = files[seed % len(files)]
    content = file.read_bytes()
    new = altered(content, chance)
    while new == content:
        new = altered(content, chance)
    file.write_bytes(new)
    try:
        found = checked(folder)
    except FolderError:
        return
    # Only what the index says of itself may stay (when it was computed), under another hash.
    assert file.name == "answer.json"
    assert found.sha256 != before.sha256


def test_every_file_altered_with_every_hash_mended_is_no_other_answer(tmp_path: Path) -> None:
    """A forger who owns the whole folder still cannot have rows that do not follow."""
    folder = paths(tmp_path / "answer")
    forged(folder, "answer.parquet", "SELECT 7::BIGINT AS a, 7::BIGINT AS b")
    assert checked(folder).found.state is State.DIFFERS
    # Rules and inputs of his own are another answer, which `pin` and a signature tell apart.
    other = write(tmp_path / "other", GRAPH, "t", {"e": [(7, 7)]}, [(7, 7)])
    assert checked(other).found.state is State.PASSED
    assert checked(other).sha256 != checked(paths(tmp_path / "again")).sha256


def test_a_file_that_is_not_named_is_rejected(tmp_path: Path) -> None:
    folder = paths(tmp_path / "answer")
    (folder / "input-2.parquet").write_bytes(b"")
    with pytest.raises(FolderError, match="a file that `answer"):
        checked(folder)
    (folder / "input-2.parquet").unlink()
    (folder / "answer.json.dsse").write_bytes(b"")
    assert checked(folder).found.state is State.PASSED
