"""Each code has a wrong and a right example, and both do what they say."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

import constat
import constat.syntax
from constat.diagnostics.catalogue import FOLDER, Entry, catalogue, chapter
from constat.syntax.words import RESERVED
from tests.diagnostics.rendered import RUNNABLE, diagnostics_of, rendered

GOLDEN = Path(__file__).parent / "golden"
SYNTAX = chapter("syntax")
RUN = [entry for entry in SYNTAX if entry.kind in RUNNABLE]
CODE = re.compile(r"C0[0-9]{3}\Z")


def by_code(entry: Entry) -> str:
    return entry.code


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_wrong_example_gives_its_code_and_no_other(entry: Entry) -> None:
    assert [one.code for one in diagnostics_of(entry, entry.wrong)] == [entry.code]


def test_every_reserved_word_is_named_where_the_code_is_explained() -> None:
    explanation = catalogue()["C0125"].explanation
    assert {word for word in RESERVED if f"`{word}`" not in explanation} == set()


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_right_example_gives_nothing(entry: Entry) -> None:
    assert diagnostics_of(entry, entry.right) == []


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_the_rendered_diagnostic_is_the_golden_one(entry: Entry) -> None:
    path = GOLDEN / f"{entry.code}.txt"
    text = rendered(entry)
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.read_text(encoding="utf-8") == text


def test_every_code_has_one_golden_file() -> None:
    known = {entry.code for entry in SYNTAX}
    assert {path.stem for path in GOLDEN.glob("C01*.txt")} == known


@pytest.mark.parametrize("entry", RUN, ids=by_code)
def test_every_diagnostic_has_a_place_a_note_and_a_help(entry: Entry) -> None:
    for one in diagnostics_of(entry, entry.wrong):
        assert one.span is not None
        assert one.note
        assert one.help
        assert one.message[:1] == one.message[:1].lower()
        assert not one.message.endswith(".")


def test_codes_are_unique_and_in_their_ranges() -> None:
    codes = [entry.code for file in FOLDER.glob("*.md") for entry in chapter(file.stem)]
    assert len(codes) == len(set(codes))
    ranges = {"syntax": "1", "analysis": "2", "portability": "2", "sources": "5"}
    for name, digit in ranges.items():
        assert {entry.code[2] for entry in chapter(name)} == {digit}


@pytest.mark.parametrize("file", sorted(FOLDER.glob("*.md")), ids=lambda file: file.stem)
def test_a_chapter_has_a_title_and_its_codes_in_order(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    codes = [entry.code for entry in chapter(file.stem)]
    assert re.match(r"# .+\n\n## C0", text)
    assert codes == sorted(codes)
    assert codes == re.findall(r"^#+ *(C[0-9]+)", text, flags=re.MULTILINE)


@pytest.mark.parametrize(
    "text",
    [
        "C0999: no examples\n\nWhy.\n",
        "C999: a short code\n\nWhy.\n\nWrong:\n\n```text\na\n```\n\nRight:\n\n```text\nb\n```\n",
        "C0999: two kinds\n\nWhy.\n\nWrong:\n\n```text\na\n```\n\nRight:\n\n```yaml\nb\n```\n",
        "C0999: no kind\n\nWhy.\n\nWrong:\n\n```sql\na\n```\n\nRight:\n\n```sql\nb\n```\n",
    ],
)
def test_an_entry_of_another_form_is_refused(
    text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("constat.diagnostics.catalogue.FOLDER", tmp_path)
    (tmp_path / "x.md").write_text(f"# X\n\n## {text}", encoding="utf-8")
    with pytest.raises(ValueError, match=r"x\.md: no entry"):
        catalogue()


def test_the_catalogue_holds_every_entry_in_order() -> None:
    found = catalogue()
    assert list(found) == sorted(found)
    assert {entry.code for entry in SYNTAX} <= set(found)
    assert all(code == entry.code for code, entry in found.items())


def test_every_entry_says_something() -> None:
    for entry in catalogue().values():
        assert entry.title
        assert len(entry.explanation.split()) >= 5, entry.code
        assert entry.wrong != entry.right, entry.code


def codes_in(folder: Path) -> set[str]:
    found: set[str] = set()
    for path in folder.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found.update([node.value] if CODE.match(node.value) else [])
    return found


def test_every_code_that_the_syntax_gives_is_in_the_catalogue() -> None:
    assert codes_in(Path(constat.syntax.__file__).parent) == {entry.code for entry in SYNTAX}


# Codes of the past, which no text may use again.
RETIRED = {"C0161", "C0162", "C0173"}


def test_the_product_gives_every_code_of_the_catalogue_and_no_other() -> None:
    files = Path(constat.__file__).parent.rglob("*.py")
    texts = [file.read_text(encoding="utf-8") for file in files]
    given = {code for text in texts for code in re.findall(r"\bC0[1-9][0-9]{2}\b", text)}
    assert given - RETIRED == set(catalogue())
