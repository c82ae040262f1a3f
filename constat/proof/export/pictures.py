"""Draw a proof: as DOT, as a Mermaid flow chart, as SVG."""

from __future__ import annotations

import unicodedata
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.document import isolated, shortened
from constat.proof.export.drawing import DARK, KINDS, LIGHT, drawing_of, resolved
from constat.proof.export.layout import Box, layered

if TYPE_CHECKING:
    from constat.proof.export.drawing import Drawing, Figure
    from constat.proof.export.layout import Layout, Point

# Every text is quoted, so data can neither end a string nor add an attribute.  See
# graphviz.org/doc/info/lang.html.

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


# No script, no reference to anything outside, all data escaped; equal certificates give equal
# bytes. See SVG 1.1 (second edition); the shapes are those of flow charts.

MOST_DRAWN: Final = 250
BOX: Final = Box(width=232, height=62, beside=16, between=56)

_INSET: Final = 18
# A box is placed by the beginning of its first line, which then needs no place of its own.
_SHIFT: Final = f'transform="translate(-{_INSET} -{_INSET})"'
_TEXT_SIZE: Final = 12.5
_LINE: Final = 15
_SVG_SHAPES: Final = (
    ("rule", '<rect width="232" height="62" rx="11"/>'),
    ("fact", '<path d="M0 0H218L232 14V62H0ZM218 0V14H232"/>'),
    ("absence", '<path d="M13 0H219L232 13V49L219 62H13L0 49V13Z"/>'),
    ("aggregate", '<path d="M14 0H218L232 31L218 62H14L0 31Z"/>'),
    ("closure", '<path d="M0 0H232V62H0ZM5 5H227V57H5Z"/>'),
    (
        "source",
        '<path d="M0 7C0-2 232-2 232 7V55C232 64 0 64 0 55ZM0 7C0 16 232 16 232 7"/>',
    ),
    ("question", '<rect width="232" height="62" rx="31"/>'),
    ("missing", '<rect width="232" height="62" rx="31"/>'),
    ("more", '<path d="M0 6H226V62H0ZM6 6V0H232V56H226"/>'),
)
STYLE: Final = (
    ".g text{font:12.5px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,"
    "sans-serif;fill:var(--ink)}"
    ".g .k{font-size:10px;font-weight:600;letter-spacing:.04em;fill:var(--quiet)}"
    ".g use{fill:var(--fact-ground);stroke:var(--fact);stroke-width:1.25}"
    ".g .rule use{fill:var(--rule-ground);stroke:var(--rule)}.g .rule .k{fill:var(--rule)}"
    ".g .absence use{fill:var(--absence-ground);stroke:var(--absence);stroke-dasharray:5 3}"
    ".g .absence .k{fill:var(--absence)}"
    ".g .aggregate use{fill:var(--aggregate-ground);stroke:var(--aggregate)}"
    ".g .aggregate .k{fill:var(--aggregate)}"
    ".g .closure use{fill:var(--absence-ground);stroke:var(--absence)}"
    ".g .source use{fill:var(--source-ground);stroke:var(--source)}"
    ".g .question use,.g .missing use{fill:var(--open-ground);stroke:var(--open)}"
    ".g .missing use{stroke-dasharray:5 3}"
    ".g .assumed use{stroke:var(--warn);stroke-width:2}.g .assumed .k{fill:var(--warn)}"
    ".g .root use{stroke-width:2.75}.g .root text+text{font-weight:600}"
    ".g .e{fill:none;stroke:var(--edge);stroke-width:1.25}.g .h{fill:var(--edge)}"
)


@reading_certificate()
def to_svg(certificate: bytes) -> str:
    """Return the proof as an SVG document; ``ValueError`` for what is no certificate."""
    drawing = drawing_of(account_of(certificate))
    if len(drawing.figures) > MOST_DRAWN:
        raise ConstatError([too_large(len(drawing.figures), MOST_DRAWN)])
    light, dark = resolved(STYLE, LIGHT), resolved(STYLE, DARK)
    style = f"<style>{light}@media (prefers-color-scheme:dark){{{dark}}}</style>"
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + svg_of(drawing, style=style) + "\n"


def too_large(count: int, most: int) -> Diagnostic:
    """Return what to tell who asks for a picture nobody could read."""
    return Diagnostic(
        "C0780",
        f"the proof has {count:,} boxes, and a picture of more than {most} cannot be read",
        help="take `--to html`, which has an outline of any length, or `--to dot` for Graphviz",
    )


def svg_of(drawing: Drawing, *, style: str = "", links: bool = False) -> str:
    """Return the drawing as an SVG element; with ``links`` its boxes lead to steps of a page."""
    layout = layered(len(drawing.figures), drawing.edges, BOX)
    width, height = f"{layout.width:.0f}", f"{layout.height:.0f}"
    present = {figure.kind for figure in drawing.figures}
    shapes = "".join(
        shape.replace(" ", f' id="b-{kind}" {_SHIFT} ', 1)
        for kind, shape in _SVG_SHAPES
        if kind in present
    )
    opening = (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="g" width="{width}" height="{height}"'
        f' viewBox="0 0 {width} {height}" role="{"group" if links else "img"}"'
        ' aria-labelledby="g-title g-desc">'
    )
    head = (
        '<marker id="g-head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7"'
        ' markerHeight="7" orient="auto"><path class="h" d="M0 1L8 4L0 7Z"/></marker>'
    )
    figures = zip(drawing.figures, layout.corners, strict=True)
    parts = [
        opening,
        f'<title id="g-title">{_text(drawing.title)}</title>',
        f'<desc id="g-desc">{_text(drawing.description)}</desc>{style}',
        f"<defs>{shapes}{head}</defs>",
        *_lines(layout),
        *(_figure(figure, corner, links=links) for figure, corner in figures),
        "</svg>",
    ]
    return "\n".join(parts)


def _text(data: str) -> str:
    return escape(isolated(data))


def _lines(layout: Layout) -> list[str]:
    """Return the edges, first what has no arrow head; what several of them share is drawn once."""
    plain: dict[str, None] = {}
    headed: dict[str, None] = {}
    for line in layout.lines:
        for at in range(len(line) - 1):
            pieces = headed if at == len(line) - 2 else plain
            curve = _curve(line[at], line[at + 1], across=layout.across)
            pieces[f'<path d="{curve}"/>'] = None
    return [
        '<g class="e">',
        *plain,
        '<g marker-end="url(#g-head)">',
        *headed,
        "</g></g>",
    ]


def _curve(start: Point, end: Point, *, across: bool) -> str:
    (x1, y1), (x2, y2) = _whole(start), _whole(end)
    x, y = x2 - x1, y2 - y1
    if (y == 0) if across else (x == 0):
        return f"M{x1} {y1}l{x} {y}"
    if across:
        return f"M{x1} {y1}c{x / 2:g} 0 {x / 2:g} {y} {x} {y}"
    return f"M{x1} {y1}c0 {y / 2:g} {x} {y / 2:g} {x} {y}"


def _whole(point: Point) -> tuple[int, int]:
    """Round to whole pixels."""
    return round(point[0]), round(point[1])


def _figure(figure: Figure, corner: Point, *, links: bool) -> str:
    classes = [figure.kind]
    classes += ["root"] if figure.root else []
    classes += ["assumed"] if figure.assumed else []
    label = figure.label if figure.number is None else f"{figure.number} · {figure.label}"
    label += " · assumed" if figure.assumed else ""
    lines = wrapped(figure.text, BOX.width - 2 * _INSET)
    # What does not fit in the box is told by the title.
    cut = lines[-1].endswith("…") and not figure.text.endswith("…")
    title = f"<title>{_text(f'{_kind(figure)}: {figure.text}')}</title>" if cut else ""
    # The lid of a drum takes room at the top.
    lid = 6 if figure.kind == "source" else 0
    first = 21 if len(lines) == 1 else 16
    texts = "".join(
        f'<text y="{first + (_LINE - lid // 4) * at}">{_text(line)}</text>'
        for at, line in enumerate(lines)
    )
    x, y = _whole((corner[0] + _INSET, corner[1] + _INSET + lid))
    above = f' y="-{lid}"' if lid else ""
    shape = f'<use href="#b-{figure.kind}"{above}/>'
    linked = links and figure.number is not None
    tag, link = ("a", f' href="#s{figure.number}"') if linked else ("g", "")
    return (
        f'<{tag}{link} class="{" ".join(classes)}" transform="translate({x} {y})">{title}{shape}'
        f'<text class="k">{_text(label)}</text>{texts}</{tag}>'
    )


def _kind(figure: Figure) -> str:
    return dict(KINDS)[figure.kind]


def wrapped(text: str, width: float, most: int = 2) -> list[str]:
    """Break a text into at most so many lines of a width; what does not fit ends in an ellipsis."""
    lines: list[str] = []
    rest = text.strip()
    while rest:
        line = _fitting(rest, width)
        if line != rest and len(lines) == most - 1:
            return [*lines, _fitting(rest, width - _breadth("…"), words=False).rstrip() + "…"]
        lines.append(line.strip())
        rest = rest[len(line) :].strip()
    return lines or [""]


def _fitting(text: str, width: float, *, words: bool = True) -> str:
    """Return the longest beginning that fits, up to a blank where there is one."""
    used = 0.0
    for at, one in enumerate(text):
        used += _breadth(one)
        if used > width:
            blank = text.rfind(" ", 0, at) if words else -1
            return text[: blank if blank > at // 2 else max(at, 1)]
    return text


def _breadth(one: str) -> float:
    """Estimate the breadth of a character in a common sans-serif face."""
    if unicodedata.east_asian_width(one) in {"W", "F"}:
        share = 1.0
    elif one in "iljtf.,:;'|!()[] ":
        share = 0.34
    elif one in "mwMW@%&—…":
        share = 0.95
    else:
        share = 0.7 if one.isupper() else 0.58
    return share * _TEXT_SIZE


# Whatever is no letter, digit or plain punctuation is written as a character code, so data can end
# no label and begin no directive. See mermaid.js.org, "flowchart".

MOST_IN_MERMAID: Final = 150

_LONGEST: Final = 90
_PLAIN: Final = frozenset(" .,'$+-/_=()")
_MERMAID_SHAPES: Final = MappingProxyType(
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
    if len(drawing.figures) > MOST_IN_MERMAID:
        raise ConstatError([too_large(len(drawing.figures), MOST_IN_MERMAID)])
    lines = ["flowchart LR"]
    for place, figure in enumerate(drawing.figures):
        left, right = _MERMAID_SHAPES[figure.kind]
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
