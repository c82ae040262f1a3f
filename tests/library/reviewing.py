"""Ten proofs as pages for somebody who knows the field and no logic: two rest on wrong rules.

    python -m tests.library.reviewing FOLDER

In: a folder that does not exist yet.  Out: `01.html` to `10.html` in it, and no word of which two
are wrong.  Each wrong one comes from a copy of a library with one comparison turned round, so that
certificate and page are in order, and only what the rule requires is not what its words say.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from constat import Session
from constat.proof.report.page import to_html
from tests.examples.projects import ROOT, copy_example

USAGE: Final = "usage: python -m tests.library.reviewing FOLDER"


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A goal of an example, and what of which rule file is written otherwise, if anything."""

    example: str
    library: str
    goal: str
    file: str = ""
    old: str = ""
    new: str = ""


EXHIBITS: Final = (
    Exhibit("software", "software-supply-chain", "may_release(Harbor)"),
    Exhibit("ownership", "ownership-control", "controls(Birch, Dogwood)"),
    Exhibit("laundering", "anti-money-laundering", "report_overdue(Orwell, 2026-05-04)"),
    Exhibit(
        "lending",
        "lending",
        "approved(A103)",
        *("credit.dl", "?worked >= ?years,", "?years >= ?worked,"),
    ),
    Exhibit("families", "tax-benefit", "entitled(Carol, Cal, 2025-06-02)"),
    Exhibit("privacy", "data-protection", "lawful(A3)"),
    Exhibit("parts", "supply-chain", "untraceable(PA-1)"),
    Exhibit("screening", "clinical-eligibility", "eligible(Ada, PRESS)"),
    Exhibit(
        "access",
        "access-control",
        'open_breach(anna, "four eyes on payments")',
        *("separation.dl", "?day <= ?last,", "?last <= ?day,"),
    ),
    Exhibit("credit", "credit-decision", "declined(A2)"),
)


def prove(exhibit: Exhibit, folder: Path, *, broken: bool = True) -> tuple[str, str]:
    """Prove an exhibit in a copy below `folder`; give the verdict and the page."""
    if exhibit.example == "lending":
        ignored = shutil.ignore_patterns(".constat", "cases")
        project = folder / "examples" / exhibit.example
        shutil.copytree(ROOT / "examples" / exhibit.example, project, ignore=ignored)
        rules = folder / "rules" / exhibit.library
        shutil.copytree(ROOT / "rules" / exhibit.library, rules, ignore=ignored)
    else:
        project = copy_example(exhibit.example, exhibit.library, folder)
    if exhibit.old and broken:
        file = folder / "rules" / exhibit.library / exhibit.file
        text = file.read_text(encoding="utf-8")
        if text.count(exhibit.old) != 1:
            message = f"{exhibit.file} has {text.count(exhibit.old)} times: {exhibit.old}"
            raise ValueError(message)
        file.write_text(text.replace(exhibit.old, exhibit.new), encoding="utf-8")
    with Session(project) as session:
        result = session.prove(exhibit.goal)
    return result.verdict.value, to_html(result.certificate)


def main(arguments: list[str]) -> int:
    """Write the ten pages."""
    if len(arguments) != 1 or Path(arguments[0]).exists():
        sys.stderr.write(f"{USAGE}\nThe folder must not exist yet.\n")
        return 2
    target = Path(arguments[0])
    target.mkdir(parents=True)
    for number, exhibit in enumerate(EXHIBITS, start=1):
        with tempfile.TemporaryDirectory() as folder:
            verdict, page = prove(exhibit, Path(folder))
        (target / f"{number:02d}.html").write_text(page, encoding="utf-8")
        sys.stdout.write(f"{number:02d}.html {verdict} {exhibit.goal}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
