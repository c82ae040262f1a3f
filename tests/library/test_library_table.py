"""What each library has of what a library should have: the table of the guide is made of it.

python -m tests.library.test_library_table
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from tests.bench.bench_libraries import WORLDS
from tests.examples.test_libraries_as_of import CHANGED, IN_FILES
from tests.library.reviewing import ROUNDS

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = sorted(path for path in (ROOT / "rules").iterdir() if path.is_dir())
GUIDE: Final = ROOT / "docs" / "guide" / "rules.md"
HEAD: Final = (
    *("library", "languages", "says no", "says unknown", "reasons", "versions", "verdicts"),
    *("as of", "mutants", "bulk", "page"),
)
VERDICTS: Final = ("proved", "proved_under", "unresolved", "disproved", "disproved_under")

ARGUED: Final = {
    (
        "customer-value",
        "reasons",
    ): (
        "no law gives anybody a notice of why they are no VIP, and a notice of refused credit is "
        "in credit-decision; the refutation names what fails"
    ),
    (
        "memory",
        "as of",
    ): "a history only grows: what held then is what the history up to there says",
    (
        "memory",
        "bulk",
    ): "the figures of a million tokens are those of the whole memory, and its rules run in it",
}
"""Why a cell is empty, and is to stay so."""


def table() -> list[str]:
    """The lines of the table."""
    rows = [HEAD, tuple("---" for _ in HEAD), *(row(folder) for folder in FOLDERS)]
    lines = [f"| {' | '.join(cells)} |" for cells in rows]
    return [*lines, "", *(f"- {one}, *{cell}*: {why}." for (one, cell), why in ARGUED.items())]


def row(folder: Path) -> tuple[str, ...]:
    """The cells of a library."""
    rules = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.dl"))
    cases = "".join(path.read_text(encoding="utf-8") for path in folder.glob("cases/*.dl"))
    forms = ("says", "says_not", "says_unknown")
    german = all(rules.count(f"@[{one}(de = ") == rules.count(f"@[{one} = ") for one in forms)
    german = german and codes_said(rules) == codes_said(rules, "_de")
    tried = sum(1 for one in VERDICTS if re.search(rf"\b{one} = ", cases))
    return (
        folder.name,
        "en, de" if german else "en",
        str(rules.count("@[says_not = ")),
        str(rules.count("@[says_unknown = ")),
        _yes("@[reason" in rules),
        _yes("@[version" in rules),
        f"{tried} of {len(VERDICTS)}",
        _yes(folder.name in {*IN_FILES, *(one[1] for one in CHANGED)}),
        mutants(folder.name),
        _yes(any(one.library == folder.name for one in WORLDS.values())),
        _yes(any(one.library == folder.name for pages in ROUNDS.values() for one in pages)),
    )


def codes_said(rules: str, ending: str = "") -> set[str]:
    """Give the reason codes that a library says what they mean, in a language."""
    return set(re.findall(rf'\b([A-Z]\d\d){ending} = "', rules))


def mutants(library: str) -> str:
    """How many mutants are noticed, as the table of figures has it."""
    text = (ROOT / "tests" / "bench" / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^\| {library} \| (\d+) \| (\d+) \|", text, re.MULTILINE)
    return f"{found[2]} of {found[1]}" if found else "-"


def _yes(so: bool) -> str:  # noqa: FBT001  one cell
    return "yes" if so else "-"


def test_the_guide_tells_what_each_library_has() -> None:
    assert "\n".join(table()) in GUIDE.read_text(encoding="utf-8")


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_the_cases_of_a_library_have_all_verdicts(folder: Path) -> None:
    tried = dict(zip(HEAD, row(folder), strict=True))["verdicts"]
    assert tried == "5 of 5"


def test_an_empty_cell_has_a_reason_and_a_reason_an_empty_cell() -> None:
    rows = {folder.name: dict(zip(HEAD, row(folder), strict=True)) for folder in FOLDERS}
    empty = {(one, name) for one in rows for name in HEAD if rows[one][name] in {"-", "0", "en"}}
    assert empty == set(ARGUED)


if __name__ == "__main__":
    print("\n".join(table()))  # noqa: T201  this is a command
