"""Certificates and exports as files: whole or not at all, and never instead of the verdict."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.cli.running import run, run_process

if TYPE_CHECKING:
    from pathlib import Path


def prove(shop: Path, file: Path | str) -> int:
    ran = run("prove", "is_vip(C001)", "--project", shop, "--certificate", file)
    assert ran.out.startswith("PROVED: is_vip(C001)\n"), "the verdict is printed whatever follows"
    if ran.code:
        assert "cannot be written" in ran.err
        assert "Traceback" not in ran.err
    return ran.code


@pytest.mark.parametrize(
    ("command", "printer"),
    [
        (("prove", "is_vip(C001)"), "constat.cli.prove.print_result"),
        (("prove", "is_vip(C001)", "--top-k", "1"), "constat.cli.prove.print_verdict"),
        (("what-if", "is_vip(C001)"), "constat.cli.hypotheses.print_both"),
    ],
)
def test_whoever_reads_the_verdict_finds_the_certificate(
    command: tuple[str, ...],
    printer: str,
    still_shop: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "c.json"
    found: list[int] = []

    def printed(*_: object, **__: object) -> None:
        found.append(run("verify", file).code)

    monkeypatch.setattr(printer, printed)
    assert run(*command, "--project", still_shop, "--certificate", file).code == 0
    assert found == [0]


def test_a_missing_folder_is_an_error_after_the_verdict(still_shop: Path, tmp_path: Path) -> None:
    assert prove(still_shop, tmp_path / "none" / "c.json") == 2


def test_a_folder_in_place_of_the_file_is_an_error(still_shop: Path, tmp_path: Path) -> None:
    assert prove(still_shop, tmp_path) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_may_not_grow_is_an_error_after_the_verdict(
    still_shop: Path, tmp_path: Path
) -> None:
    # The system refuses to write beyond 512 bytes, as a full disk does.
    program = (
        "import resource, signal, sys; from constat.cli import main; "
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (512, 512)); sys.exit(main(sys.argv[1:]))"
    )
    goal = ["prove", "is_vip(C001)", "--project", str(still_shop)]
    ran = subprocess.run(
        [sys.executable, "-c", program, *goal, "--certificate", str(tmp_path / "c.json")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 2
    assert ran.stdout.startswith("PROVED: is_vip(C001)\n")
    assert "cannot be written" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_to_and_not_replaced(still_shop: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # Opened for both, so that the writer need not wait for a reader.
    descriptor = os.open(pipe, os.O_RDWR)
    assert prove(still_shop, pipe) == 0
    assert pipe.is_fifo()
    assert os.read(descriptor, 1 << 16).startswith(b'{"assumptions":')
    os.close(descriptor)


def test_a_failed_write_leaves_the_old_file_and_nothing_else(
    still_shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.json"
    file.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    assert prove(still_shop, file) == 2
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_certificate_replaces_the_target_of_a_link(still_shop: Path, tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    assert prove(still_shop, link) == 0
    assert link.is_symlink()
    assert json.loads(target.read_text())["header"]["verdict"] == "PROVED"
    assert target.stat().st_mode & 0o777 == 0o600


def test_a_new_certificate_may_be_read_by_its_owner_alone(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    assert prove(still_shop, file) == 0
    assert file.stat().st_mode & 0o777 == 0o600


def test_verify_reads_stdin(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    prove(still_shop, file)
    ran = run_process("verify", "-", given=file.read_bytes())
    assert (ran.code, ran.err) == (0, "")


@pytest.mark.parametrize("content", [b"", b"{}", b"\x00\xff", b"[" * 100_000, b'{"a":1e999}'])
def test_what_is_no_certificate_is_rejected_with_1(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "c.json"
    file.write_bytes(content)
    ran = run("verify", file)
    assert ran.code == 1
    assert ran.out.startswith("REJECTED")
    told = run("verify", file, "--format", "json")
    assert (told.code, told.json["accepted"]) == (1, False)
    assert run("export", file, "--to", "graphml").code == 2


def test_a_changed_character_is_rejected(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    prove(still_shop, file)
    file.write_bytes(file.read_bytes().replace(b"150000", b"160000"))
    assert run("verify", file).code == 1
    assert run("verify", file, "--source", "--project", still_shop).code == 1


def test_a_pin_refuses_other_rules(still_shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "c.json"
    prove(still_shop, file)
    program = run("verify", file, "--format", "json").json["program"]
    assert run("verify", file, "--pin", program).code == 0
    assert run("verify", file, "--pin", "sha256:" + "0" * 64).code == 1


def test_a_missing_certificate_is_bad_usage(tmp_path: Path) -> None:
    ran = run("verify", tmp_path / "none.json")
    assert ran.code == 2
    assert ran.err.startswith("error[C0401]")


@pytest.mark.parametrize(("form", "start"), [("graphml", "<?xml"), ("prov-json", "{")])
def test_a_certificate_is_exported(still_shop: Path, tmp_path: Path, form: str, start: str) -> None:
    file, graph = tmp_path / "c.json", tmp_path / "graph"
    prove(still_shop, file)
    assert run("export", file, "--to", form, "-o", graph).code == 0
    assert graph.read_text().startswith(start)
    assert run("export", file, "--to", form).out.strip() == graph.read_text().strip()
