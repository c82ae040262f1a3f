"""Sentences of the contract and decision records that are cited exist."""

from __future__ import annotations

import re
from pathlib import Path

from tests.architecture.sources import ROOT

NUMBER = r"[0-9]+[a-f]?"
CITED = re.compile(rf"\bsemantics,? ({NUMBER}(?:(?:,| to| and|, and)\s+{NUMBER})*)")
SENTENCE = re.compile(rf"^ *({NUMBER})\. ", re.MULTILINE)
RECORD = re.compile(r"\b(?:record|decision)s? (0[0-9]{3})\b")


def texts() -> list[tuple[Path, str]]:
    folders = ("constat", "tests", "docs", "examples", "rules", ".github")
    kinds = {".py", ".md", ".dl", ".js"}
    files = [file for name in folders for file in sorted((ROOT / name).rglob("*"))]
    files.append(ROOT / "README.md")
    return [(file, file.read_text("utf-8")) for file in files if file.suffix in kinds]


def sentences() -> set[str]:
    return set(SENTENCE.findall((ROOT / "docs" / "semantics.md").read_text("utf-8")))


def cited(text: str) -> list[str]:
    # A citation may run over the end of a line of a comment.
    joined = re.sub(r"\n\s*(?:#\s*)?", " ", text)
    return [one for run in CITED.findall(joined) for one in re.findall(NUMBER, run)]


def test_sentences_are_numbered_once_and_without_a_gap() -> None:
    found = SENTENCE.findall((ROOT / "docs" / "semantics.md").read_text("utf-8"))
    plain = [int(one) for one in found if one.isdecimal()]
    assert plain == list(range(1, len(plain) + 1))
    assert len(found) == len(set(found))


def test_every_cited_sentence_is_there() -> None:
    known = sentences()
    lost = {(file.name, one) for file, text in texts() for one in cited(text) if one not in known}
    assert lost == set()


def test_every_cited_record_is_there() -> None:
    known = {file.name[:4] for file in (ROOT / ".github" / "decisions").glob("*.md")}
    lost = {
        (file.name, one)
        for file, text in texts()
        for one in RECORD.findall(text)
        if one not in known
    }
    assert lost == set()


def test_citations_are_found() -> None:
    assert cited("as (semantics 4 to 6,\n    # 13 and 26e) say; semantics, 26 to 26f") == [
        "4", "6", "13", "26e", "26", "26f",
    ]  # fmt: skip


PLACE = re.compile(r"`((?:constat|tests|docs|rules|examples|\.github)/[A-Za-z0-9_./-]+)`")
# What the how-tos tell to make.
MADE = {"constat/proof/export/outline.py", "constat/cli/hello.py", "rules/sources.dl"}


def test_every_place_that_a_document_names_is_there() -> None:
    pages = [ROOT / "README.md", ROOT / ".github" / "CONTRIBUTING.md"]
    pages += (ROOT / "docs").rglob("*.md")
    named = {place for file in pages for place in PLACE.findall(file.read_text("utf-8"))}
    assert len(named) > 20
    assert {one for one in named if not (ROOT / one).exists()} == MADE
