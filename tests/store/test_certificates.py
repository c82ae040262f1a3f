"""Kept certificates: one file for each proof, whole or not there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest

from constat.diagnostics import ConstatError
from constat.store import CertificateStore

if TYPE_CHECKING:
    from pathlib import Path

ONE = "sha256:" + "1" * 64
TWO = "sha256:" + "2" * 64


def test_reading_creates_nothing(tmp_path: Path) -> None:
    assert CertificateStore(tmp_path / "state").paths() == ()
    assert list(tmp_path.iterdir()) == []


def test_a_certificate_lies_under_the_name_of_its_proof(tmp_path: Path) -> None:
    store = CertificateStore(tmp_path)
    path = store.add(ONE, b"first")
    assert path.name == "1" * 64 + ".json"
    assert path.read_bytes() == b"first"
    store.add(TWO, b"second")
    assert store.add(ONE, b"later") == path
    assert path.read_bytes() == b"later"
    assert [one.name[0] for one in store.paths()] == ["1", "2"]


@pytest.mark.parametrize("identity", ["", "1" * 64, "sha256:../../x", "sha256:" + "G" * 64])
def test_only_the_identity_of_a_proof_names_a_file(tmp_path: Path, identity: str) -> None:
    with pytest.raises(ValueError):
        CertificateStore(tmp_path).add(identity, b"x")
    assert list(tmp_path.iterdir()) == []


def test_other_files_of_the_folder_are_not_listed(tmp_path: Path) -> None:
    store = CertificateStore(tmp_path)
    path = store.add(ONE, b"x")
    (path.parent / ".new.abc").write_bytes(b"half")
    (path.parent / "notes.json").write_bytes(b"{}")
    assert store.paths() == (path,)


def test_a_folder_that_cannot_be_written_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConstatError, match="C0563"):
        CertificateStore(tmp_path / "file").add(ONE, b"x")


def test_a_writer_that_is_killed_leaves_whole_files(tmp_path: Path) -> None:
    text = """
        import sys
        from pathlib import Path
        from constat.store import CertificateStore
        store = CertificateStore(Path(sys.argv[1]))
        print("ready", flush=True)
        for number in range(10_000):
            store.add(f"sha256:{number % 3:064x}", bytes([number % 256]) * 300_000)
    """
    for pause in (0.01, 0.03, 0.06):
        with subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(text), str(tmp_path)], stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(pause)
            os.kill(process.pid, signal.SIGKILL)
        for path in CertificateStore(tmp_path).paths():
            content = path.read_bytes()
            assert len(content) == 300_000
            assert len(set(content)) == 1
