"""Run the second checker under Node: one process for many certificates.

In: the bytes of certificates.  Out: what ``constatCheck`` reports about each, as plain values.
Invariant: the process is started once and ends with the tests; an answer belongs to its question.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

Report = dict[str, Any]

DRIVER: Final = """
const answer = (line) => {
  const { content, options, plain } = JSON.parse(line);
  const bytes = Uint8Array.from(Buffer.from(content, "base64"));
  const report = constatCheck(plain ? Buffer.from(bytes).toString("utf8") : bytes, options);
  process.stdout.write(JSON.stringify(report) + "\\n");
};
require("node:readline").createInterface({ input: process.stdin }).on("line", answer);
"""


@cache
def node() -> str | None:
    """Return a JavaScript engine: the one on the path, or the one that playwright brings."""
    found = shutil.which("node")
    if found is not None:
        return found
    try:
        from playwright._impl._driver import compute_driver_executable
    except ImportError:
        return None
    path = str(compute_driver_executable()[0])
    return path if os.access(path, os.X_OK) else None


class SecondChecker:
    """A process that checks certificates."""

    def __init__(self, source: str) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._process = subprocess.Popen(
            _command(source + DRIVER, self._folder.name),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def check(self, content: bytes, *, plain: bool = False, **options: object) -> Report:
        """Return the report about one certificate, read as bytes or as text."""
        return next(self.check_all([content], plain=plain, **options))

    def check_all(
        self, contents: Iterable[bytes], *, plain: bool = False, **options: object
    ) -> Iterator[Report]:
        """Yield the report about each certificate."""
        asked, answers = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answers is not None
        for content in contents:
            encoded = base64.b64encode(content).decode()
            line = {"content": encoded, "options": options, "plain": plain}
            asked.write(json.dumps(line) + "\n")
            asked.flush()
            answer = answers.readline()
            if not answer:
                message = f"the second checker ended with {self._process.wait()}"
                raise RuntimeError(message)
            yield json.loads(answer)

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()
        self._folder.cleanup()


def evaluate(source: str, value: object) -> Any:  # noqa: ANN401  whatever the script prints
    """Return what a script prints as JSON when it is given a value as JSON."""
    script = f'{source}\nconst given = JSON.parse(require("fs").readFileSync(0, "utf8"));\n'
    with tempfile.TemporaryDirectory() as folder:
        command = _command(script + "console.log(JSON.stringify(main(given)));", folder)
        done = subprocess.run(
            command, input=json.dumps(value), capture_output=True, text=True, check=True
        )
    return json.loads(done.stdout)


def _command(script: str, folder: str) -> list[str]:
    """Return the command that runs a script; it is too long to be an argument."""
    engine = node()
    assert engine is not None
    path = Path(folder) / "script.js"
    path.write_text(script, encoding="utf-8")
    return [engine, str(path)]
