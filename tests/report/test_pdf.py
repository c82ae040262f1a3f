"""The report as PDF: PDF/A-3, the same each time, with the certificate inside."""

from __future__ import annotations

import os
import re
import sys
import time
import zlib

import pytest

from constat.diagnostics import ConstatError
from constat.proof.export.account import account_of
from constat.proof.report import pdf
from constat.proof.report.pdf import MOST_TOLD, paper, to_pdf
from tests.extras import loaded
from tests.report.certificates import VERDICTS, deep, good, hostile_everywhere, many

# WeasyPrint leaves the file of its colour profile to the garbage collector.
_LEFT_OPEN = pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def streams(content: bytes) -> list[bytes]:
    """Return the streams of a PDF that can be inflated."""
    found = []
    for part in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", content, re.DOTALL):
        try:
            found.append(zlib.decompress(part))
        except zlib.error:
            found.append(part)
    return found


def holds(written: bytes, content: bytes) -> None:
    found = streams(written)
    assert content in found
    assert any(b'pdfaid:part="3"' in one for one in found)
    assert any(b"certificate.json" in one for one in [written, *found])


@_LEFT_OPEN
def test_a_pdf_holds_the_certificate_and_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded("weasyprint")
    # A page of one line: setting a whole report takes seconds.
    monkeypatch.setattr(pdf, "paper", lambda account: f"<p>{account.question}")
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    holds(to_pdf(good()["unresolved"]), good()["unresolved"])
    assert "SOURCE_DATE_EPOCH" not in os.environ
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "7")
    to_pdf(good()["unresolved"])
    assert os.environ["SOURCE_DATE_EPOCH"] == "7"


@_LEFT_OPEN
@pytest.mark.slow
@pytest.mark.parametrize("name", VERDICTS)
def test_a_report_as_pdf_is_the_same_each_time(name: str) -> None:
    loaded("weasyprint")
    first = to_pdf(good()[name])
    holds(first, good()[name])
    # The fonts in it bear a time in whole seconds.
    time.sleep(1.1)
    assert to_pdf(good()[name]) == first


def test_nothing_that_data_names_is_fetched() -> None:
    address = "<img src=https://127.0.0.1:9/a.png><link rel=stylesheet href=file:///etc/passwd>"
    page = paper(account_of(hostile_everywhere(address)))
    assert "<img" not in page
    assert "<link" not in page


def test_paper_has_no_scripts_and_nothing_to_press() -> None:
    page = paper(account_of(good()["under"]))
    assert "<script" not in page
    assert "The certificate is attached to this file" in page
    assert "var(--" not in page


@pytest.mark.parametrize("certificate", [deep(400), many(120)], ids=["deep", "wide"])
def test_paper_tells_the_steps_nearest_to_the_conclusion_and_counts_the_others(
    certificate: bytes,
) -> None:
    account = account_of(certificate)
    page = paper(account)
    told = set(re.findall(r"<li id=s(\d+) ", page))
    listed = set(re.findall(r"<tr id=a(\d+)>", page))
    assert told <= listed
    assert len(listed) == MOST_TOLD
    left = len(account.steps) - MOST_TOLD
    assert (
        page.count(f"{left:,} more steps further from the conclusion stand in the certificate") >= 1
    )
    assert told.issuperset(str(account.numbers[root]) for root in account.roots)
    below = {one.step for root in account.roots for one in account.steps[root].premises}
    named = {str(account.numbers[one]) for one in below}
    assert named <= listed or len(named) + len(account.roots) > MOST_TOLD
    assert re.search(r"It also rests on [\d,]+ steps? not told here", page)


def test_every_link_on_paper_leads_somewhere() -> None:
    for certificate in (deep(400), many(120), good()["under"]):
        page = paper(account_of(certificate))
        there = set(re.findall(r' id="?([^" >]+)', page))
        assert set(re.findall(r'<a href="?#([^" >]+)', page)) - there == set()


def test_a_short_proof_is_told_whole() -> None:
    account = account_of(deep(MOST_TOLD // 2))
    page = paper(account)
    assert len(set(re.findall(r"<tr id=a(\d+)>", page))) == len(account.steps) == MOST_TOLD
    assert "further from the conclusion" not in page


def test_without_weasyprint_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    with pytest.raises(ConstatError) as caught:
        to_pdf(good()["proved"])
    (diagnostic,) = caught.value.diagnostics
    assert diagnostic.code == "C0770"
    assert "pip install 'constat[pdf]'" in diagnostic.help
