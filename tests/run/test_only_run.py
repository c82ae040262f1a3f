"""Nothing but `constat run` selects souffle mode (semantics 20), and a file's pragma decides."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import TYPE_CHECKING

import constat
from constat.diagnostics import Diagnostic
from constat.syntax import Mode, load_program, load_run, parse_text
from tests.cli.running import run
from tests.run.places import Place

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(constat.__file__).parent
# Where the mode is defined, read and handed down; and the one place that chooses it.
READERS = {
    "analysis/passes.py",
    "analysis/aggregation.py",
    "analysis/kinds.py",
    "analysis/safety.py",
    "analysis/types.py",
    # It reads a draft with bare variables, and writes it anew with `?`: nothing runs by that mode.
    "authoring/fragments.py",
    "session/running.py",
    "syntax/cursor.py",
    "syntax/loading.py",
    "syntax/parser.py",
    "syntax/lowering.py",
}
BARE = ".decl p(x: number)\np(1).\n.decl q(x: number)\nq(x) :- p(x).\n.output q\n"
STRICT = '.pragma "constat" "0.1"\n'


def modules_with(spelling: str) -> Iterator[tuple[str, ast.Module]]:
    for path in ROOT.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if spelling in text:
            yield path.relative_to(ROOT).as_posix(), ast.parse(text)


def modules_naming(attribute: str) -> set[str]:
    return {
        path
        for path, tree in modules_with(attribute)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr == attribute
    }


def callers_of(name: str) -> set[str]:
    return {
        path
        for path, tree in modules_with(name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == name
    }


def test_souffle_mode_is_named_only_where_it_is_read() -> None:
    assert modules_naming("SOUFFLE") == READERS


def test_only_a_run_loads_by_a_mode() -> None:
    assert callers_of("load_run") == {"session/running.py"}
    # `explain-plan` shows what a run would do, and runs nothing.
    assert callers_of("load_runnable") <= {"session/running.py", "session/plan_explaining.py"}
    assert callers_of("run_program") == {"cli/run.py"}
    assert callers_of("mode_of") == {"syntax/loading.py"}


def test_a_text_and_a_program_are_strict_by_default(tmp_path: Path) -> None:
    for text in (BARE, STRICT + BARE):
        path = tmp_path / "p.dl"
        path.write_text(text, encoding="utf-8")
        found: list[Diagnostic] = []
        parse_text(text, "p.dl", found)
        assert {one.code for one in found if one.severity.value == "error"} == {"C0116"}
        loaded: list[Diagnostic] = []
        load_program([path], [tmp_path], loaded)
        assert "C0116" in {one.code for one in loaded if one.severity.value == "error"}


def test_other_commands_refuse_a_file_that_a_run_takes(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.run(BARE).code == 0
    checked = run("rules", "check", tmp_path / "program.dl")
    assert checked.code == 2
    assert "C0116" in checked.out + checked.err


def test_the_files_own_pragma_decides_and_not_that_of_an_included_file(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "inner.dl").write_text(STRICT + ".decl r(x: number)\nr(2).\n", encoding="utf-8")
    included = '.include "inner.dl"\n.decl q(x: number)\nq(x) :- r(x).\n.output q\n'
    assert place.run(included).code == 0
    assert place.results() == {"q.csv": "2\n"}
    assert place.run(STRICT + included).code == 2


def test_the_option_overrides_the_pragma(tmp_path: Path) -> None:
    place = Place(tmp_path)
    assert place.run(STRICT + BARE).code == 2
    assert place.run(STRICT + BARE, "--mode", "souffle").code == 0
    assert place.run(BARE, "--mode", "strict").code == 2


def test_a_pragma_in_a_comment_or_a_text_decides_nothing(tmp_path: Path) -> None:
    path = tmp_path / "p.dl"
    for text in (
        '// .pragma "constat" "0.1"\n' + BARE,
        '.pragma "other" "constat"\n' + BARE,
        '.decl t(x: symbol)\nt(".pragma \\"constat\\"").\n' + BARE,
    ):
        path.write_text(text, encoding="utf-8")
        assert load_run(path, [tmp_path], []).mode is Mode.SOUFFLE
    path.write_text(BARE + STRICT, encoding="utf-8")
    assert load_run(path, [tmp_path], []).mode is Mode.STRICT


def test_a_program_may_be_a_link_but_no_circle(tmp_path: Path) -> None:
    place = Place(tmp_path)
    (tmp_path / "links").mkdir()
    assert place.run(BARE).code == 0
    link = tmp_path / "links" / "p.dl"
    link.symlink_to(tmp_path / "program.dl")
    assert run("run", link, "-D-", "-w").out.endswith("===============\n1\n===============\n")
    circle = tmp_path / "links" / "c.dl"
    circle.symlink_to(circle)
    assert "C0155" in run("run", circle, "-D-").err
    assert run("run", tmp_path, "-D-").code == 2


def test_files_are_included_from_the_folders_that_are_named(tmp_path: Path) -> None:
    place = Place(tmp_path)
    library = tmp_path.parent / f"{tmp_path.name}-library"
    library.mkdir()
    (library / "inner.dl").write_text(".decl r(x: number)\nr(2).\n", encoding="utf-8")
    program = '.include "inner.dl"\n.decl q(x: number)\nq(x) :- r(x).\n.output q\n'
    assert place.run(program).code == 2
    assert place.run(program, "-I", str(library)).code == 0
    assert place.results() == {"q.csv": "2\n"}
    escaping = program.replace("inner.dl", f"../{library.name}/inner.dl")
    assert "C0152" in place.run(escaping).err
