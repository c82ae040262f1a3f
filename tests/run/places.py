"""Where a case runs: a folder with the program, its facts, and a place for results."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from tests.cli.running import Ran, run

ENGINES = ("reference", "forward")
CODE = re.compile(r"^(?:error|warning|note)\[(C[0-9]{4})\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to run in."""

    folder: Path

    def __post_init__(self) -> None:
        for name in ("facts", "results"):
            (self.folder / name).mkdir(exist_ok=True)

    def fact(self, name: str, content: str | bytes) -> Path:
        """Write a fact file."""
        path = self.folder / "facts" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def run(self, program: str, *options: str, engine: str = "reference") -> Ran:
        """Run a program with the folders of this place."""
        path = self.folder / "program.dl"
        path.write_text(program, encoding="utf-8")
        folders = ("-F", str(self.folder / "facts"), "-D", str(self.folder / "results"))
        return run("run", path, *folders, "--engine", engine, *options)

    def results(self) -> dict[str, str]:
        """Give what was written, by name."""
        root = self.folder / "results"
        found = [path for path in root.rglob("*") if path.is_file()]
        return {path.relative_to(root).as_posix(): path.read_text("utf-8") for path in found}


def codes(ran: Ran) -> list[str]:
    """Give the codes on stderr, sorted."""
    return sorted(CODE.findall(ran.err))
