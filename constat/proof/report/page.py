"""Write a certificate as one HTML page that explains, can be audited, and verifies itself.

In: the bytes of a certificate.  Out: one page.  Invariant: it needs nothing from outside and may
fetch nothing (``default-src 'none'``; style and scripts are named by their hashes), it reads
without scripts, and it holds the certificate byte for byte.

Example: ``to_html(content)`` begins with ``<!doctype html>``; the text of its element
``certificate`` is ``content``.  See Content Security Policy Level 3 and WCAG 2.2.
"""

from __future__ import annotations

import base64
import hashlib
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from constat.proof.export.account import account_of, reading_certificate, with_absences
from constat.proof.export.drawing import DARK, KINDS, LIGHT, drawing_of, resolved, variables
from constat.proof.export.pictures import MOST_DRAWN, STYLE, svg_of
from constat.proof.report.audit import audit, boundary
from constat.proof.report.explanation import LABELS, explanation, opening
from constat.proof.report.markup import text

if TYPE_CHECKING:
    from constat.proof.export.account import Account


_MANY: Final = 400


@reading_certificate()
def to_html(certificate: bytes) -> str:
    """Return the report; ``ValueError`` for what is no certificate."""
    account = with_absences(account_of(certificate))
    style = page_style()
    scripts = tuple(report_scripts().values())
    hashes = " ".join(_hash(script) for script in scripts)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{page_title(account)}</title><style>{style}</style></head>"
    )
    tail = "".join(f"<script>{script}</script>" for script in scripts)
    return (
        f"{head}\n<body>{_top()}{_main(account, certificate)}{_foot(account)}{tail}</body></html>\n"
    )


def report_scripts() -> dict[str, str]:
    """Return the scripts of a report by their names: the checker, then what shows its report."""
    return {name: _asset(name) for name in ("checker.min.js", "page.min.js")}


def page_title(account: Account) -> str:
    """Return the title of a page: the verdict and the question."""
    label = LABELS[account.document.header["verdict"]][2]
    return f"{label}: {text(account.question, 120)}"


def page_style() -> str:
    """Return the style sheet, for light and dark."""
    dark = variables(DARK)
    return (
        f":root{{{variables(LIGHT)}color-scheme:light dark}}"
        f"@media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}"
        f":root[data-theme=dark]{{{dark}color-scheme:dark}}"
        ":root[data-theme=light]{color-scheme:light}"
        f"{STYLE}{_asset('page.css')}"
        f"@media print{{:root:root:root{{{variables(LIGHT)}color-scheme:light}}}}"
    )


def paper_style() -> str:
    """Return the style sheet for paper, in which colours are written out."""
    return resolved(f"{STYLE}{_asset('page.css')}{_asset('paper.css')}", LIGHT)


def sections(account: Account) -> tuple[tuple[str, str, str], ...]:
    """Return the parts of a report below the first screen: name, title, HTML."""
    return (
        ("explanation", "Explanation", explanation(account)),
        ("picture", "Picture", picture(account)),
        ("boundary", "Model boundary", boundary(account)),
        ("audit", "Audit", audit(account, folded=True)),
    )


_ZOOM = (
    '<p class="js zoom" hidden><button type="button" data-by="0.8">Smaller</button> '
    '<button type="button" data-by="1.25">Larger</button> '
    '<button type="button" data-by="0">Fit the page</button> <output></output> '
    '<span class="quiet">Drag it, or use the keys + - 0 and the arrows.</span></p>'
)


def picture(account: Account, *, paper: bool = False) -> str:
    """Return the drawing, or say that there is too much to draw."""
    drawing = drawing_of(account)
    boxes = len(drawing.figures)
    if boxes > MOST_DRAWN:
        return (
            f"<p>The proof has {boxes:,} boxes. A picture of more than {MOST_DRAWN} cannot be "
            "read, so there is none; the explanation is the outline of the whole.</p>"
        )
    present = {figure.kind for figure in drawing.figures}
    shapes = "".join(
        f'<li class="{kind}"><span aria-hidden="true"></span>{said}'
        for kind, said in KINDS
        if kind in present
    )
    legend = (
        f'<ul class="legend">{shapes}</ul><p class="quiet">Each line leads from a conclusion to '
        "what it rests on. A box that rests on an assumption says so.</p>"
    )
    if paper:
        style = f"<style>{resolved(STYLE, LIGHT)}</style>"
        return f'<div class="drawing">{svg_of(drawing, style=style)}</div>'
    return (
        f'{legend}{_ZOOM}<div class="drawing scroll" tabindex="0" role="region" '
        f'aria-label="Picture of the proof">{svg_of(drawing, links=True)}</div>'
    )


def _top() -> str:
    return (
        '<a class="skip" href="#main">To the report</a><header class="top"><strong>Constat</strong>'
        '<span>Report of a proof</span><button type="button" id="theme" class="js" hidden>'
        "Colours: as the system</button></header>"
    )


def _main(account: Account, certificate: bytes) -> str:
    parts = sections(account)
    links = "".join(f'<li><a href="#{name}">{title}</a>' for name, title, _ in parts)
    body = "".join(
        f'<section class="view" id="{name}" aria-labelledby="{name}-title">'
        f'<h2 id="{name}-title">{title}</h2>{said}</section>'
        for name, title, said in parts
    )
    # Only what is on the screen is laid out where there is too much to lay out at once.
    many = ' class="many"' if len(account.steps) > _MANY else ""
    return (
        f'<main id="main"{many}>{opening(account)}<nav aria-label="Parts of the report"><ul>{links}'
        f'<li><a href="#file">Certificate</a></ul></nav>{body}{_file(certificate)}</main>'
    )


def _file(certificate: bytes) -> str:
    """Embed the certificate; as text, so that it can be read and copied without scripts."""
    content = escape(certificate.decode(), quote=False)
    return (
        '<section class="view" id="file" aria-labelledby="file-title"><h2 id="file-title">'
        "Certificate</h2><p>Everything on this page was written from the certificate below. Save "
        "it, run <code>constat verify FILE</code>, and export it again: then neither this page nor "
        'its scripts have to be trusted.</p><p class="js" hidden><button type="button" id="save">'
        "Save the certificate</button></p>"
        f"<details><summary>Show the certificate ({len(certificate):,} bytes)</summary>"
        f'<pre id="certificate" tabindex="0">{content}</pre></details></section>'
    )


def _foot(account: Account) -> str:
    identity = text(account.document.identity)
    return f"<footer><p>Proof <code>{identity}</code></p></footer>"


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
