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

from constat.logic import Spoken
from constat.proof.export.account import account_of, reading_certificate, with_absences
from constat.proof.export.drawing import DARK, KINDS, LIGHT, drawing_of, resolved, variables
from constat.proof.export.pictures import MOST_DRAWN, STYLE, svg_of
from constat.proof.report.audit import audit, boundary
from constat.proof.report.explanation import explanation, opening, verdict_label
from constat.proof.report.markup import text
from constat.proof.sentences import PLAIN

if TYPE_CHECKING:
    from constat.proof.export.account import Account
    from constat.proof.sentences import Speech


_MANY: Final = 400


@reading_certificate()
def to_html(certificate: bytes, speech: Speech = PLAIN) -> str:
    """Return the report in a language; ``ValueError`` for what is no certificate."""
    account = with_absences(account_of(certificate, speech))
    style = page_style()
    scripts = tuple(report_scripts().values())
    hashes = " ".join(_hash(script) for script in scripts)
    policy = (
        f"default-src 'none'; style-src {_hash(style)}; script-src {hashes}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = (
        f'<!doctype html>\n<html lang="{language(account)}"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{page_title(account)}</title><style>{style}</style></head>"
    )
    tail = "".join(f"<script>{script}</script>" for script in scripts)
    return (
        f"{head}\n<body>{_top(speech)}{_main(account, certificate)}{_foot(account)}{tail}"
        "</body></html>\n"
    )


def report_scripts() -> dict[str, str]:
    """Return the scripts of a report by their names: the checker, then what shows its report."""
    return {name: _asset(name) for name in ("checker.min.js", "page.min.js")}


def page_title(account: Account) -> str:
    """Return the title of a page: the verdict and the question."""
    return f"{verdict_label(account)}: {text(account.question, 120)}"


def language(account: Account) -> str:
    """Return the language of a page's words."""
    return account.document.speech.say("en", "de")


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
    titles = section_titles(account.document.speech)
    bodies = (
        explanation(account),
        picture(account),
        boundary(account),
        audit(account, folded=True),
    )
    return tuple((*title, body) for title, body in zip(titles, bodies, strict=True))


def section_titles(speech: Speech) -> tuple[tuple[str, str], ...]:
    """Return the parts of a report: name and title."""
    return (
        ("explanation", speech.say("Explanation", "Erklärung")),
        ("picture", speech.say("Picture", "Bild")),
        ("boundary", speech.say("Model boundary", "Wessen Wort gilt")),
        ("audit", speech.say("Audit", "Prüfspur")),
    )


_ZOOM: Final = Spoken(
    '<p class="js zoom" hidden><button type="button" data-by="0.8">Smaller</button> '
    '<button type="button" data-by="1.25">Larger</button> '
    '<button type="button" data-by="0">Fit the page</button> <output></output> '
    '<span class="quiet">Drag it, or use the keys + - 0 and the arrows.</span></p>',
    '<p class="js zoom" hidden><button type="button" data-by="0.8">Kleiner</button> '
    '<button type="button" data-by="1.25">Größer</button> '
    '<button type="button" data-by="0">An die Seite anpassen</button> <output></output> '
    '<span class="quiet">Ziehen, oder die Tasten + - 0 und die Pfeile.</span></p>',
)


def picture(account: Account, *, paper: bool = False) -> str:
    """Return the drawing, or say that there is too much to draw."""
    drawing, speech = drawing_of(account), account.document.speech
    boxes = len(drawing.figures)
    if boxes > MOST_DRAWN:
        return speech.say(
            "<p>The proof has {0} boxes. A picture of more than {1} cannot be read, so there is "
            "none; the explanation is the outline of the whole.</p>",
            "<p>Der Beweis hat {0} Kästen. Ein Bild von mehr als {1} kann niemand lesen, darum "
            "gibt es keines; die Erklärung ist der Umriss des Ganzen.</p>",
            speech.number(boxes),
            str(MOST_DRAWN),
        )
    present = {figure.kind for figure in drawing.figures}
    shapes = "".join(
        f'<li class="{kind}"><span aria-hidden="true"></span>{speech.said(said)}'
        for kind, said in KINDS
        if kind in present
    )
    lines = speech.say(
        "Each line leads from a conclusion to what it rests on. A box that rests on an assumption "
        "says so.",
        "Jede Linie führt von einem Schluss zu dem, worauf er beruht. Ein Kasten, der auf einer "
        "Annahme beruht, sagt es.",
    )
    legend = f'<ul class="legend">{shapes}</ul><p class="quiet">{lines}</p>'
    if paper:
        style = f"<style>{resolved(STYLE, LIGHT)}</style>"
        return f'<div class="drawing">{svg_of(drawing, style=style)}</div>'
    return (
        f'{legend}{speech.said(_ZOOM)}<div class="drawing scroll" tabindex="0" role="region" '
        f'aria-label="{speech.say("Picture of the proof", "Bild des Beweises")}">'
        f"{svg_of(drawing, links=True)}</div>"
    )


def _top(speech: Speech) -> str:
    colours = speech.say("Colours: as the system", "Farben: wie das System")
    return (
        f'<a class="skip" href="#main">{speech.say("To the report", "Zum Bericht")}</a>'
        '<header class="top"><strong>Constat</strong>'
        f"<span>{speech.say('Report of a proof', 'Bericht über einen Beweis')}</span>"
        f'<button type="button" id="theme" class="js" hidden>{colours}</button></header>'
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
    speech = account.document.speech
    parts_of = speech.say("Parts of the report", "Teile des Berichts")
    return (
        f'<main id="main"{many}>{opening(account)}<nav aria-label="{parts_of}"><ul>{links}'
        f'<li><a href="#file">{speech.said(_CERTIFICATE)}</a></ul></nav>{body}'
        f"{_file(certificate, speech)}</main>"
    )


_CERTIFICATE: Final = Spoken("Certificate", "Bescheinigung")


def _file(certificate: bytes, speech: Speech) -> str:
    """Embed the certificate; as text, so that it can be read and copied without scripts."""
    content = escape(certificate.decode(), quote=False)
    trusted = speech.say(
        "Everything on this page was written from the certificate below. Save it, run "
        "<code>constat verify FILE</code>, and export it again: then neither this page nor its "
        "scripts have to be trusted.",
        "Alles auf dieser Seite ist aus der Bescheinigung unten geschrieben. Speichern Sie sie, "
        "rufen Sie <code>constat verify DATEI</code> auf und schreiben Sie die Seite daraus neu: "
        "dann muss man weder dieser Seite noch ihren Skripten trauen.",
    )
    save = speech.say("Save the certificate", "Bescheinigung speichern")
    size = speech.number(len(certificate))
    show = speech.say("Show the certificate ({0} bytes)", "Bescheinigung zeigen ({0} Bytes)", size)
    return (
        '<section class="view" id="file" aria-labelledby="file-title"><h2 id="file-title">'
        f'{speech.said(_CERTIFICATE)}</h2><p>{trusted}</p><p class="js" hidden>'
        f'<button type="button" id="save">{save}</button></p>'
        f"<details><summary>{show}</summary>"
        f'<pre id="certificate" tabindex="0">{content}</pre></details></section>'
    )


def _foot(account: Account) -> str:
    proof = account.document.speech.say("Proof", "Beweis")
    return f"<footer><p>{proof} <code>{text(account.document.identity)}</code></p></footer>"


def _asset(name: str) -> str:
    return (files(__package__) / name).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    digest = hashlib.sha256(content.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"
