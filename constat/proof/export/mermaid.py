"""Write a proof as a Mermaid flow chart, for pages that draw such charts.

In: the bytes of a certificate.  Out: one ``flowchart``.  Invariant: whatever is no letter, digit or
plain punctuation is written as a character code, so data can end no label and begin no directive.
See mermaid.js.org, "flowchart".

Example: ``n0("rule VIP1#58; C001 is a VIP")`` is a conclusion.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.diagnostics import ConstatError
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.drawing import drawing_of
from constat.proof.export.svg import too_large
from constat.proof.export.wording import shortened

MOST_DRAWN: Final = 150

_LONGEST: Final = 90
_PLAIN: Final = frozenset(" .,'$+-/_=()")
_SHAPES: Final = MappingProxyType(
    {
        "rule": ("(", ")"),
        "fact": ("[", "]"),
        "absence": ("[/", "\\]"),
        "aggregate": ("{{", "}}"),
        "closure": ("[[", "]]"),
        "source": ("[(", ")]"),
        "question": ("([", "])"),
        "missing": ("([", "])"),
        "more": ("[", "]"),
    }
)


@reading_certificate()
def to_mermaid(certificate: bytes) -> str:
    """Return the proof as a Mermaid flow chart; ``ValueError`` for what is no certificate."""
    drawing = drawing_of(account_of(certificate))
    if len(drawing.figures) > MOST_DRAWN:
        raise ConstatError([too_large(len(drawing.figures), MOST_DRAWN)])
    lines = ["flowchart LR"]
    for place, figure in enumerate(drawing.figures):
        left, right = _SHAPES[figure.kind]
        text = _coded(f"{figure.label}: {shortened(figure.text, _LONGEST)}")
        lines.append(f'  n{place}{left}"{text}"{right}')
    lines += [f"  n{source} --> n{target}" for source, target in drawing.edges]
    for kind, style in (("root", "stroke-width:3px"), ("assumed", "stroke-dasharray:6 2")):
        marked = [f"n{at}" for at, one in enumerate(drawing.figures) if getattr(one, kind)]
        if marked:
            lines += [f"  classDef {kind} {style}", f"  class {','.join(marked)} {kind}"]
    return "\n".join([*lines, ""])


def _coded(text: str) -> str:
    return "".join(one if one.isalnum() or one in _PLAIN else f"#{ord(one)};" for one in text)
