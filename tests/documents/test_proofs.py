"""Proofs from documents: whose word they are, where the words stand, and what is read again."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from constat.check import check_certificate
from constat.diagnostics import ConstatError
from constat.evaluation import Verdict
from constat.project.settings import Sight, SightOf
from constat.proof.encoding import canonical, sha256
from constat.proof.rebuilding import sealed
from constat.session import Result, Session
from tests.documents.conftest import Write, pdf

NOTICE = """
.decl notice(document: symbol, days: number)
.input notice(source = "papers", pattern = "Notice period: {days} days")
"""
ACME = "# Acme\n\nGrün: 1\n\n**Notice\nperiod:** 30 days\n"


def prove(folder: Path, goal: str) -> Result:
    with Session(folder) as session:
        return session.prove(goal)


def span(result: Result) -> dict[str, Any]:
    (source,) = json.loads(result.certificate)["sources"]
    found: dict[str, Any] = source["span"]
    return found


def test_what_a_document_says_is_its_word_with_the_bytes_that_say_it(write: Write) -> None:
    folder = write(NOTICE, a_md=ACME)
    result = prove(folder, 'notice("papers/a.md", 30)')
    assert result.verdict is Verdict.PROVED_UNDER
    (assumption,) = result.assumptions
    assert assumption.text == "document papers/a.md says notice(papers/a.md, 30)"
    found = span(result)
    words = (folder / "papers" / "a.md").read_bytes()[found["start"] : found["end"]]
    assert words.decode() == found["text"] == "Notice\nperiod:** 30 days"
    with Session(folder) as session:
        assert session.verify_source(result.certificate).exit_code == result.exit_code
        other = session.prove('notice("papers/a.md", 31)')
    assert other.verdict is Verdict.UNRESOLVED


def test_what_is_not_found_is_absent_only_where_somebody_says_so(write: Write) -> None:
    rules = f"{NOTICE}.decl free(document: symbol)\nfree(?d) :- d(?d), !notice(?d, _).\n"
    rules += '.decl d(document: symbol)\nd("papers/b.txt").\n'
    folder = write(rules, b_txt="Nothing about notices.")
    assert prove(folder, 'free("papers/b.txt")').verdict is Verdict.UNRESOLVED
    settings = "documents: {papers: papers/}\nclosed: [notice]\n"
    folder = write(rules, settings, b_txt="Nothing about notices.")
    result = prove(folder, 'free("papers/b.txt")')
    assert result.verdict is Verdict.PROVED_UNDER
    assert [one.kind for one in result.assumptions] == ["closure"]


def test_a_value_that_cannot_be_read_is_unknown_with_its_place(write: Write) -> None:
    folder = write(NOTICE, b_txt="\nNotice period: ninety days\n")
    settings = "documents: {papers: papers/}\nclosed: [notice]\n"
    result = prove(write(NOTICE, settings), 'notice("papers/b.txt", 90)')
    assert result.verdict is Verdict.UNRESOLVED
    told = canonical(json.loads(result.certificate)["open"])
    assert "papers/b.txt, line 2, says of notice" in told
    assert folder.exists()


def test_a_document_that_cannot_be_read_hides_no_other_and_is_never_nothing(write: Write) -> None:
    settings = "documents: {papers: papers/}\nclosed: [notice]\n"
    folder = write(NOTICE, settings, a_md=ACME, b_pdf=b"%PDF-1.4 broken")
    assert prove(folder, 'notice("papers/a.md", 30)').verdict is Verdict.PROVED_UNDER
    open_ = prove(folder, 'notice("papers/b.pdf", 1)')
    assert open_.verdict is Verdict.UNRESOLVED or "did not answer" in open_.assumptions[-1].text
    assert b"it is no PDF that can be read" in open_.certificate


def test_the_documents_are_read_again(write: Write) -> None:
    folder = write(NOTICE, a_md=ACME)
    with Session(folder) as session:
        result = session.prove('notice("papers/a.md", 30)')
        (folder / "papers" / "a.md").write_text(ACME.replace("30", "31"))
        # One session sees the change, and so does who reads the leaves again.
        assert session.prove('notice("papers/a.md", 31)').verdict is Verdict.PROVED_UNDER
        assert session.verify_source(result.certificate).exit_code == 1
        (folder / "papers" / "a.md").write_text(f"{ACME}\nMore.\n")
        report = session.verify_source(result.certificate)
        assert report.exit_code == 1
        assert "its document has changed" in {one.detail for one in report.drift}


@pytest.mark.parametrize("change", ["text", "start", "hash", "document"])
def test_a_forged_place_is_found_by_who_has_the_documents(write: Write, change: str) -> None:
    folder = write(NOTICE, a_md=ACME)
    content = prove(folder, 'notice("papers/a.md", 30)').certificate
    assert check_certificate(content, documents=folder).exit_code == 3
    members = json.loads(content)
    for place in (members["sources"][0]["span"], members["sources"][0]["attestation"]["quote"]):
        if change == "text":
            place["text"] = place["text"].replace("30", "31")
        elif change == "start":
            place["start"], place["end"] = place["start"] + 1, place["end"] + 1
        elif change == "hash":
            place["hash"] = f"sha256:{'0' * 64}"
        else:
            place["document"] = "../a.md"
    said = members["sources"][0]["attestation"]

    members["assumptions"][0]["attestations"] = [sha256(canonical(said))]
    forged = sealed(members)
    # It follows from what it shows; who has the documents, or the project, sees that they differ.
    assert check_certificate(forged).accepted
    report = check_certificate(forged, documents=folder)
    assert (report.accepted, report.code) == (False, "document")
    with Session(folder) as session:
        assert session.verify_source(forged).exit_code == 1


def test_the_checker_alone_compares_documents(write: Write) -> None:
    folder = write(NOTICE, a_md=ACME)
    content = prove(folder, 'notice("papers/a.md", 30)').certificate
    (folder / "c.json").write_bytes(content)
    command = [sys.executable, "-m", "constat.check", str(folder / "c.json"), "--documents"]
    good = subprocess.run([*command, str(folder)], capture_output=True, text=True, check=False)
    assert good.returncode == 3
    assert "1 quotation found in documents, byte by byte" in good.stdout
    bad = subprocess.run([*command, str(folder / "papers")], capture_output=True, check=False)
    assert bad.returncode == 1


def test_who_may_not_see_the_rest_is_told_no_hash_of_it_and_what_is_told_is_compared(
    write: Write,
) -> None:
    folder = write(NOTICE, a_md=ACME)
    sight = Sight("viewer", "vera", {"notice": SightOf()})
    with Session(folder, sight=sight) as session:
        content = session.prove('notice("papers/a.md", 30)').certificate
    (source,) = json.loads(content)["sources"]
    found = source["span"]
    assert (found["hash"], found["start"], found["text"]) == (None, 0, "Notice\nperiod:** 30 days")
    assert check_certificate(content).exit_code == 3
    assert "byte by byte" in check_certificate(content, documents=folder).notes[0]
    with Session(folder) as session:
        (folder / "papers" / "a.md").write_text(f"More.\n{ACME}")
        assert session.verify_source(content).exit_code == 3
        (folder / "papers" / "a.md").write_text(ACME.replace("30", "31"))
        assert session.verify_source(content).exit_code == 1
    report = check_certificate(content, documents=folder)
    assert (report.accepted, report.code) == (False, "document")


def test_words_of_a_pdf_are_those_of_the_text_that_the_reader_made(write: Write) -> None:
    folder = write(NOTICE, a_pdf=pdf("First page", "Contract\nNotice period: 90 days"))
    result = prove(folder, "notice(?d, 90)")
    assert result.verdict is Verdict.PROVED_UNDER
    (source,) = json.loads(result.certificate)["sources"]
    assert source["attestation"]["agent"]["name"] == "pypdf"
    assert source["attestation"]["response"] != source["span"]["hash"]
    report = check_certificate(result.certificate, documents=folder)
    assert report.exit_code == 3
    assert "whoever read them says" in report.notes[0]
    (folder / "papers" / "a.pdf").write_bytes(pdf("Notice period: 90 days"))
    assert check_certificate(result.certificate, documents=folder).exit_code == 1


def test_two_documents_that_contradict_each_other_leave_a_key_open(write: Write) -> None:
    rules = """
.decl fee(name: symbol, amount: number) @[key = "name"]
.input fee(source = "papers", pattern = "The fee for {name} is {amount}")
"""
    rules = rules.replace(' @[key = "name"]', "").replace(".decl", '@[key = "name"]\n.decl', 1)
    texts = {"a_txt": "The fee for gold is 10.", "b_txt": "The fee for gold is 12 EUR."}
    assert prove(write(rules, **texts), "fee(gold, 10)").verdict is Verdict.UNRESOLVED


def test_quotations_are_found_whatever_blanks_stand_between_their_words(write: Write) -> None:
    rules = """
.decl says(document: symbol, section: symbol, quote: symbol)
.input says(source = "papers", rows = "quotes", required = "quote")
"""
    folder = write(rules, a_md="# Use\n\nYou may  not\nassign this.\n\n## Law\n\nMay not\n")
    goal = 'says("papers/a.md", "Use", "may not assign")'
    result = prove(folder, goal)
    assert result.verdict is Verdict.PROVED_UNDER
    assert span(result)["text"] == "may  not\nassign"
    assert prove(folder, 'says(_, "Law", "may not assign")').verdict is Verdict.UNRESOLVED
    assert prove(folder, 'says(_, _, "may not ass")').verdict is Verdict.UNRESOLVED
    with pytest.raises(ConstatError, match="quote"):
        prove(folder, "says(_, _, ?quote)")


def test_rows_of_a_table_are_told_apart_or_not_at_all(write: Write) -> None:
    rules = """
.decl sold(item: symbol, pieces: number)
.input sold(source = "papers", rows = "table", columns = "item = Item, pieces = Pieces")
.decl total(n: number)
total(?n) :- ?n = sum ?p : { sold(_, ?p) }.
"""
    closed = "documents: {papers: papers/}\nclosed: [sold]\n"
    table = "| Item | Pieces |\n|---|---|\n| nut | 2 |\n| nut | 2 |\n"
    assert prove(write(rules, closed, a_md=table), "total(2)").verdict is Verdict.UNRESOLVED
    with_lines = rules.replace("item: symbol,", "line: number, item: symbol,")
    with_lines = with_lines.replace("sold(_,", "sold(_, _,")
    assert prove(write(with_lines, closed), "total(4)").verdict is Verdict.PROVED_UNDER
    spanned = "<table><tr><th>Item<th>Pieces<tr><td rowspan=2>nut<td>2<tr><td>3</table>"
    folder = write(rules, closed, a_md="", b_html=spanned)
    open_ = prove(folder, "total(5)")
    assert open_.verdict is Verdict.UNRESOLVED
    assert b"cells go over several rows or columns" in open_.certificate
