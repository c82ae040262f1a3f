"""`constat export` writes every format of its table, and refuses what it must."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from constat.cli import export as command
from constat.proof.formats import FORMATS, Format, format_named, write_format
from tests.cli.running import run
from tests.export.worlds import vip

if TYPE_CHECKING:
    from pathlib import Path

DRAWN = {"html", "markdown", "pdf", "svg", "dot", "mermaid"}
OURS = [one for one in FORMATS if one.name not in DRAWN and not one.name.startswith("lean")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "c1.json"
    found.write_bytes(vip("is_vip(C1)"))
    return found


def test_the_table_has_each_name_and_each_place_once() -> None:
    assert len({one.name for one in FORMATS}) == len(FORMATS)
    assert len({one.write for one in FORMATS}) == len(FORMATS)
    assert all(one.suffix.startswith(".") for one in FORMATS)
    with pytest.raises(KeyError):
        format_named("word")


@pytest.mark.parametrize("form", OURS, ids=lambda one: one.name)
def test_each_format_goes_to_a_file_and_to_a_pipe(form: Format, path: Path) -> None:
    expected = write_format(form, path.read_bytes())
    output = path.with_suffix(form.suffix)
    done = run("export", str(path), "--to", form.name, "-o", str(output))
    assert (done.code, done.out) == (0, "")
    assert done.err == f"written: {output} ({form.name})\n"
    assert output.read_bytes() == expected
    if not form.binary:
        assert run("export", str(path), "--to", form.name).out == expected.decode()


def test_a_view_in_a_file_is_said_and_a_quiet_export_is_not(path: Path) -> None:
    view = path.with_name("view.json")
    words = ("export", str(path), "--redact", "order_line.amount", "-o", str(view))
    assert run(*words).err == f"written: {view} (certificate)\n"
    assert run(*words, "-q").err == ""


def test_the_list_names_every_format() -> None:
    text = run("export", "--list").out
    assert [line.split()[0] for line in text.splitlines()] == [one.name for one in FORMATS]
    told = run("export", "--list", "--format", "json").json["formats"]
    assert [one["name"] for one in told] == [one.name for one in FORMATS]


def test_a_rejected_certificate_is_not_exported(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"150060", b"250060"))
    done = run("export", str(path), "--to", "csv")
    assert done.code == 2
    assert "C0403" in done.err
    assert done.out == ""


def test_bytes_do_not_reach_a_terminal(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    with pytest.raises(Exception, match="is not text") as caught:
        command._check_target(format_named("xlsx"), None)
    (diagnostic,) = caught.value.diagnostics  # type: ignore[attr-defined]  # a ConstatError
    assert (diagnostic.code, diagnostic.help) == ("C0773", "add `--output proof.xlsx`")
    command._check_target(format_named("csv"), None)
    command._check_target(format_named("xlsx"), "x.xlsx")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing argument 'CERT'"),
        (("c.json",), "Missing option '--to'"),
        (("c.json", "--to", "word"), "word"),
    ],
)
def test_what_is_left_out_is_asked_for(words: tuple[str, ...], said: str) -> None:
    done = run("export", *words)
    assert done.code == 2
    assert said in done.err
