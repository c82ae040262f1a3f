"""Write a proof in DOT, the notation of Graphviz.

In: the bytes of a certificate.  Out: one digraph.  Invariant: every text is quoted, so data can
neither end a string nor add an attribute.  See graphviz.org/doc/info/lang.html.

Example: what is given by a source is ``"node0" [shape=note, label="..."];``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.drawing import drawing_of

_SHAPES: Final = MappingProxyType(
    {
        "rule": "shape=box, style=rounded",
        "fact": "shape=note",
        "absence": 'shape=octagon, style="dashed"',
        "aggregate": "shape=hexagon",
        "closure": "shape=box, peripheries=2",
        "source": "shape=cylinder",
        "question": "shape=ellipse",
        "missing": 'shape=ellipse, style="dashed"',
        "more": "shape=box3d",
    }
)


@reading_certificate()
def to_dot(certificate: bytes) -> str:
    """Return the proof in DOT; ``ValueError`` for what is no certificate."""
    drawing = drawing_of(account_of(certificate))
    lines = [
        "digraph proof {",
        f"  label={_quoted(drawing.title)}; labelloc=t; rankdir=LR;",
        '  node [fontname="Helvetica"]; edge [color="#818b96"];',
    ]
    for figure in drawing.figures:
        text = f"{_escaped(figure.label)}\\n{_escaped(figure.text)}"
        extra = ", penwidth=2" if figure.root else ""
        extra += ', color="#7d4a00"' if figure.assumed else ""
        name = _quoted(figure.name)
        lines.append(f'  {name} [{_SHAPES[figure.kind]}{extra}, label="{text}"];')
    for source, target in drawing.edges:
        names = (_quoted(drawing.figures[end].name) for end in (source, target))
        lines.append(f"  {' -> '.join(names)};")
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return f'"{_escaped(text)}"'


def _escaped(text: str) -> str:
    # A backslash would begin one of DOT's own escapes, such as \N for the name of the node.
    return text.replace("\\", "\\\\").replace('"', '\\"')
