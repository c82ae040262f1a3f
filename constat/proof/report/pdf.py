"""Write a report as PDF/A-3 with the certificate inside.

In: the bytes of a certificate.  Out: the bytes of a PDF.  Invariant: equal certificates give equal
bytes with one version of WeasyPrint and its fonts; nothing is fetched while it is made; the
attached file is the certificate, byte for byte.

Example: the attachment ``certificate.json`` of ``to_pdf(content)`` is ``content``; see ISO 19005-3.
"""

from __future__ import annotations

import importlib
import os
import re
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from constat.proof.export.account import account_of, reading_certificate, with_absences
from constat.proof.export.document import missing_package
from constat.proof.report.audit import audit, boundary
from constat.proof.report.explanation import explanation, opening
from constat.proof.report.page import (
    language,
    page_title,
    paper_style,
    picture,
    section_titles,
)
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from constat.proof.export.account import Account
    from constat.proof.sentences import Speech

# See reproducible-builds.org, "SOURCE_DATE_EPOCH".
_CLOCK: Final = "SOURCE_DATE_EPOCH"
MOST_TOLD: Final = 300
"""How many steps a printed report tells."""
_NAMED: Final = re.compile(r' id=(?:"([^"]*)"|([^ >]*))')
_LINK: Final = re.compile(r'<a href="?#([^" >]*)"?>(.*?)</a>')


@reading_certificate()
def to_pdf(certificate: bytes, speech: Speech = PLAIN) -> bytes:
    """Return the report as PDF in a language; ``ValueError`` for what is no certificate."""
    account = with_absences(account_of(certificate, speech))
    weasyprint = _weasyprint()
    created = account.document.record["created"]
    attachment = weasyprint.Attachment(
        string=certificate,
        name="certificate.json",
        description="The certificate that this report was written from",
        relationship="Source",
        created=_time(created),
        modified=_time(created),
    )
    # Nothing may be fetched: the page holds all it needs, and data may name any address.
    fetcher = weasyprint.urls.URLFetcher(allowed_protocols=())
    page = weasyprint.HTML(string=paper(account), base_url="about:blank", url_fetcher=fetcher)
    with _stopped_clock(created):
        content: bytes = page.write_pdf(
            pdf_variant="pdf/a-3u",
            pdf_identifier=account.document.identity.encode(),
            attachments=[attachment],
        )
    return content


def paper(account: Account) -> str:
    """Return the page that is printed: unfolded, no scripts.

    Of a long proof it tells the steps nearest to the conclusion, and says how many others there
    are: setting one takes some 20 ms, and nobody reads a thousand pages.
    """
    told = _nearest(account)
    parts = (
        explanation(account, told),
        picture(account, paper=True),
        boundary(account),
        audit(account, told),
    )
    titles = section_titles(account.document.speech)
    body = "".join(
        f'<section class="view" id="{name}"><h2>{title}</h2>{said}</section>'
        for (name, title), said in zip(titles, parts, strict=True)
    )
    created = account.document.record["created"]
    return _without_dead_links(
        f'<!doctype html><html lang="{language(account)}"><head><meta charset="utf-8">'
        f"<title>{page_title(account)}</title>"
        f'<meta name="dcterms.created" content="{created[:19]}Z">'
        f'<meta name="dcterms.modified" content="{created[:19]}Z">'
        f"<style>{paper_style()}</style></head><body><main>{opening(account, paper=True)}{body}"
        "</main></body></html>"
    )


def _nearest(account: Account) -> Collection[int] | None:
    """Give the steps that are told, level by level from the conclusion; nothing where all are."""
    if len(account.steps) <= MOST_TOLD:
        return None
    found: dict[int, None] = {}
    for start in (account.roots, account.others):
        level = [place for place in start if place not in found]
        while level and len(found) < MOST_TOLD:
            found |= dict.fromkeys(level[: MOST_TOLD - len(found)])
            below = (one.step for place in level for one in account.steps[place].premises)
            level = [place for place in dict.fromkeys(below) if place not in found]
    return frozenset(found)


def _without_dead_links(page: str) -> str:
    """Take the links away that lead to what is not told."""
    there = {found[1] or found[2] for found in _NAMED.finditer(page)}
    return _LINK.sub(lambda found: found[0] if found[1] in there else found[2], page)


@contextmanager
def _stopped_clock(created: str) -> Iterator[None]:
    """Let the fonts in the file bear the certificate's time; this variable is all they go by."""
    before = os.environ.get(_CLOCK)
    os.environ[_CLOCK] = str(int(_time(created).timestamp()))
    try:
        yield
    finally:
        if before is None:
            del os.environ[_CLOCK]
        else:
            os.environ[_CLOCK] = before


def _time(created: str) -> datetime:
    return datetime.fromisoformat(created)


def _weasyprint() -> Any:  # noqa: ANN401  the module has no types of its own
    """Load the writer of PDF, or say how to get it."""
    try:
        return importlib.import_module("weasyprint")
    except (ImportError, OSError):
        # OSError: the Python part is there, and the library Pango is not.
        raise missing_package("weasyprint", "pdf") from None
