"""Rule files and what they include: found, bounded, and kept inside the roots."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from constat.syntax import load_program, loading

if TYPE_CHECKING:
    from pathlib import Path

    from constat.diagnostics import Diagnostic
    from constat.logic import Program


def write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.dl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def load(root: Path, *names: str) -> tuple[Program, list[Diagnostic]]:
    found: list[Diagnostic] = []
    return load_program([root / name for name in names], [root], found), found


def codes(root: Path, *names: str) -> list[str]:
    return [one.code for one in load(root, *names)[1]]


def test_an_include_is_read_in_its_place(tmp_path: Path) -> None:
    write(tmp_path, a='p(1).\n.include "sub/b.dl"\np(3).', sub__b='.include "c.dl"', sub__c="p(2).")
    program, found = load(tmp_path, "a.dl")
    assert found == []
    assert [str(rule.head.terms[0].span) for rule in program.rules] == [
        "a.dl:1:3",
        "sub/c.dl:1:3",
        "a.dl:3:3",
    ]


def test_an_include_is_looked_for_beside_the_file_and_then_in_the_roots(tmp_path: Path) -> None:
    write(tmp_path, sub__a='.include "types.dl"', types="p(1).")
    assert codes(tmp_path, "sub/a.dl") == []


def test_the_prelude_is_built_in(tmp_path: Path) -> None:
    write(tmp_path, a='.include "constat/prelude.dl"\n.decl p(d: Date)', constat__prelude="p(.")
    assert codes(tmp_path, "a.dl") == []


def test_texts_are_given_by_the_name_people_know(tmp_path: Path) -> None:
    write(tmp_path, a='.include "b.dl"', b="p(X).")
    texts: dict[str, str] = {}
    load_program([tmp_path / "a.dl"], [tmp_path], [], texts=texts)
    assert texts == {"a.dl": '.include "b.dl"', "b.dl": "p(X)."}


def test_files_of_one_name_in_two_roots_have_names_of_their_own(tmp_path: Path) -> None:
    write(tmp_path, one__a="p(X).", two__a="q(Y).")
    roots = [tmp_path / "one", tmp_path / "two"]
    found: list[Diagnostic] = []
    texts: dict[str, str] = {}
    load_program([root / "a.dl" for root in roots], roots, found, texts=texts)
    assert texts == {"a.dl": "p(X).", "two/a.dl": "q(Y)."}
    assert [str(one.span) for one in found] == ["a.dl:1:3", "two/a.dl:1:3"]


def test_mistakes_of_all_files_are_reported_together(tmp_path: Path) -> None:
    write(tmp_path, a='p(X).\n.include "b.dl"\n.include "none.dl"', b="q(Y).")
    _, found = load(tmp_path, "a.dl")
    assert [(one.code, str(one.span)) for one in found] == [
        ("C0116", "a.dl:1:3"),
        ("C0116", "b.dl:1:3"),
        ("C0150", "a.dl:3:10"),
    ]


def test_a_file_included_twice_needs_once(tmp_path: Path) -> None:
    write(tmp_path, a='.include "b.dl"\n.include "c.dl"', b='.include "c.dl"', c="p(1).")
    assert codes(tmp_path, "a.dl") == ["C0154"]
    write(tmp_path, c=".once\np(1).")
    assert codes(tmp_path, "a.dl") == []


def test_files_that_are_listed_are_read_once_whoever_includes_them(tmp_path: Path) -> None:
    write(tmp_path, a='.include "c.dl"', b='.include "c.dl"', c=".decl p(x: number)")
    assert codes(tmp_path, "a.dl", "b.dl", "c.dl", "a.dl") == []


def test_an_include_in_a_circle_is_drawn(tmp_path: Path) -> None:
    write(tmp_path, a='.include "b.dl"', b='.include "c.dl"', c='.include "b.dl"')
    _, found = load(tmp_path, "a.dl")
    assert [one.code for one in found] == ["C0151"]
    assert found[0].label == "`b.dl` -> `c.dl` -> `b.dl`"
    write(tmp_path, b='.once\n.include "c.dl"')
    assert codes(tmp_path, "a.dl") == []
    write(tmp_path, self='.include "self.dl"')
    assert codes(tmp_path, "self.dl") == ["C0151"]


def test_a_missing_file_is_reported_with_the_nearest_name(tmp_path: Path) -> None:
    write(tmp_path, a='.include "typs.dl"', types="")
    _, found = load(tmp_path, "a.dl")
    assert [one.code for one in found] == ["C0150"]
    assert 'write `.include "types.dl"`' in found[0].help
    assert codes(tmp_path, "absent.dl") == ["C0150"]


def test_no_file_outside_the_roots_is_opened(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    write(outside, hidden="p(SECRET).")
    write(root, a='.include "../outside/hidden.dl"')
    _, found = load(root, "a.dl")
    assert [one.code for one in found] == ["C0152"]
    assert "SECRET" not in str(found)
    write(root, b=f'.include "{outside / "hidden.dl"}"')
    assert codes(root, "b.dl") == ["C0152"]
    assert codes(root, "../outside/hidden.dl") == ["C0152"]


def test_links_are_resolved_before_the_roots_are_checked(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside", tmp_path / "root"
    write(outside, hidden="p(1).")
    write(root, a='.include "link.dl"', b='.include "inner.dl"', c="p(1).")
    (root / "link.dl").symlink_to(outside / "hidden.dl")
    (root / "inner.dl").symlink_to(root / "c.dl")
    (root / "loop.dl").symlink_to(root / "loop.dl")
    assert codes(root, "a.dl") == ["C0152"]
    assert codes(root, "b.dl") == []
    write(root, d='.include "loop.dl"')
    assert codes(root, "d.dl") == ["C0150"]


@pytest.mark.parametrize("name", ["a\\\\b", "x" * 5_000, "", ".", "..", "/", "/etc"])
def test_a_strange_name_is_one_error(tmp_path: Path, name: str) -> None:
    write(tmp_path, a=f'.include "{name}"')
    found = codes(tmp_path, "a.dl")
    assert len(found) == 1
    assert found[0] in {"C0150", "C0152", "C0155"}


def test_a_folder_or_pipe_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "folder.dl").mkdir()
    os.mkfifo(tmp_path / "pipe.dl")
    write(tmp_path, a='.include "folder.dl"\n.include "pipe.dl"')
    assert codes(tmp_path, "a.dl") == ["C0155", "C0155"]


def test_a_file_that_is_not_utf8_is_reported_where_it_stops_being_text(tmp_path: Path) -> None:
    (tmp_path / "a.dl").write_bytes(b'p(1).\nq("caf\xe9").\n')
    _, found = load(tmp_path, "a.dl")
    assert [(one.code, str(one.span)) for one in found] == [("C0109", "a.dl:2:7")]
    (tmp_path / "b.dl").write_bytes(b"\xef\xbb\xbfp(1).")
    assert codes(tmp_path, "b.dl") == []
    (tmp_path / "c.dl").write_bytes("p(1).".encode("utf-16"))
    assert codes(tmp_path, "c.dl") == ["C0109"]
    (tmp_path / "d.dl").write_bytes(b"p(1).\0")
    assert codes(tmp_path, "d.dl") == ["C0107"]


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    with (tmp_path / "big.dl").open("wb") as stream:
        stream.truncate(100 << 20)
    write(tmp_path, a='.include "big.dl"')
    assert codes(tmp_path, "a.dl") == ["C0110"]
    assert codes(tmp_path, "big.dl") == ["C0110"]


def test_all_files_together_are_bounded(tmp_path: Path) -> None:
    filler = "// " + "x" * ((4 << 20) - 10)
    for number in range(5):
        write(tmp_path, **{f"f{number}": filler})
    names = [f"f{number}.dl" for number in range(5)]
    assert codes(tmp_path, *names) == ["C0110"]
    assert codes(tmp_path, *names[:3]) == []


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_FILES", 3)
    for number in range(6):
        write(tmp_path, **{f"f{number}": f'.include "f{number + 1}.dl"'})
    assert codes(tmp_path, "f0.dl") == ["C0153"]
