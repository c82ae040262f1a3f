"""Write the scripts of reports anew in their short form: `make scripts`.

In: terser, fetched by `make browser`; the checker's files and `page.js`.  Out: `checker.min.js` and
`page.min.js` beside them, each with the hash of what it was made from.  Nobody else needs npm: the
short forms are checked in, and tests fail when one is older than its source.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Final

from constat.proof.report.markup import checker_source
from tests.browser.finding import TERSER, TERSER_VERSION

FOLDER: Final = Path(str(files("constat.proof.report")))
# Lines of at most 4,000 signs keep the files readable for editors and reviews.
_COMPRESS: Final = "passes=3,unsafe_arrows=true,hoist_funs=true"
_FORMAT: Final = "max_line_len=4000"
_OPTIONS: Final = ("--ecma", "2020", "--compress", _COMPRESS, "--mangle", "--format", _FORMAT)
_PATIENCE: Final = 60


def main() -> int:
    """Write both short forms."""
    if not available():
        sys.stderr.write("No terser to shorten the scripts with: run `make browser` with npm.\n")
        return 1
    for name, source in sources().items():
        (FOLDER / name).write_text(shortened(source), encoding="utf-8")
    return 0


def available() -> bool:
    """Say whether terser and what runs it are there."""
    return TERSER.is_file() and shutil.which("node") is not None


def sources() -> dict[str, str]:
    """Return the whole script of each short one."""
    page = (FOLDER / "page.js").read_text(encoding="utf-8")
    return {"checker.min.js": checker_source(), "page.min.js": page}


def heading(source: str) -> str:
    """Return the first line of a short form: what it was made from, and with what."""
    digest = hashlib.sha256(source.encode()).hexdigest()
    return f"// terser {TERSER_VERSION} made this of a script with SHA-256 {digest}\n"


def shortened(source: str) -> str:
    """Return the short form of a script."""
    done = subprocess.run(
        [shutil.which("node") or "node", str(TERSER), *_OPTIONS],
        input=source,
        check=True,
        capture_output=True,
        encoding="utf-8",
        timeout=_PATIENCE,
    )
    return heading(source) + done.stdout.rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(main())
