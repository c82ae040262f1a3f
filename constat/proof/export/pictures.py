"""Drawings of a proof: where its boxes stand, and SVG, Graphviz and Mermaid."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right, insort
from html import escape
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.proof.export.account import account_of, reading_certificate
from constat.proof.export.document import isolated, shortened
from constat.proof.export.drawing import DARK, LIGHT, drawing_of, resolved

if TYPE_CHECKING:
    from collections.abc import Sequence

    from constat.proof.export.drawing import Drawing, Figure

# Each layer keeps its items, crossings are never more than at the start, and equal input gives
# equal output.  Medians sweep down and up, then neighbours are swapped where that helps; see
# Gansner, Koutsofios, North and Vo (1993), section 3.

Edge = tuple[int, int]
Neighbours = dict[int, list[int]]

_SWEEPS: Final = 10
# Swapping looks at every pair of neighbours; in huge layers medians have to do.
_MOST_SWAPPED: Final = 400


def ordered(layers: Sequence[Sequence[int]], links: Sequence[Edge]) -> list[list[int]]:
    """Return the layers with few crossings."""
    above, below = _neighbours(links)
    best = [list(layer) for layer in layers]
    least = _all_crossings(best, below)
    order = [list(layer) for layer in best]
    for sweep in range(_SWEEPS):
        if not least:
            break
        down = sweep % 2 == 0
        places = range(1, len(order)) if down else range(len(order) - 2, -1, -1)
        for at in places:
            fixed = order[at - 1 if down else at + 1]
            _by_median(order[at], fixed, above if down else below)
        _swap(order, above, below)
        crossings = _all_crossings(order, below)
        if crossings < least:
            best, least = [list(layer) for layer in order], crossings
    return best


def _neighbours(links: Sequence[Edge]) -> tuple[Neighbours, Neighbours]:
    above: Neighbours = {}
    below: Neighbours = {}
    for upper, lower in links:
        below.setdefault(upper, []).append(lower)
        above.setdefault(lower, []).append(upper)
    return above, below


def _by_median(layer: list[int], fixed: Sequence[int], neighbours: Neighbours) -> None:
    """Sort a layer by the medians of its neighbours; items without any keep their place."""
    place = {item: at for at, item in enumerate(fixed)}
    medians = {
        item: _median(sorted(place[one] for one in neighbours[item]))
        for item in layer
        if item in neighbours
    }
    moving = iter(sorted((item for item in layer if item in medians), key=medians.__getitem__))
    layer[:] = [next(moving) if item in medians else item for item in layer]


def _median(places: Sequence[int]) -> float:
    half = len(places) // 2
    return places[half] if len(places) % 2 else (places[half - 1] + places[half]) / 2


def _swap(order: list[list[int]], above: Neighbours, below: Neighbours) -> None:
    """Exchange neighbours of a layer where that leaves fewer crossings on both of its sides."""
    for at, layer in enumerate(order):
        if len(layer) > _MOST_SWAPPED:
            continue
        sides = [
            ({item: place for place, item in enumerate(order[side])}, neighbours)
            for side, neighbours in ((at - 1, above), (at + 1, below))
            if 0 <= side < len(order)
        ]
        for left in range(len(layer) - 1):
            one, other = layer[left], layer[left + 1]
            gain = sum(_gain(one, other, place, around) for place, around in sides)
            if gain > 0:
                layer[left], layer[left + 1] = other, one


def _gain(one: int, other: int, place: dict[int, int], neighbours: Neighbours) -> int:
    """Return how many crossings of two neighbours an exchange saves."""
    mine = [place[item] for item in neighbours.get(one, ())]
    theirs = [place[item] for item in neighbours.get(other, ())]
    return sum((left > right) - (left < right) for left in mine for right in theirs)


def _all_crossings(order: Sequence[Sequence[int]], below: Neighbours) -> int:
    return sum(_crossings(order[at], order[at + 1], below) for at in range(len(order) - 1))


def _crossings(upper: Sequence[int], lower: Sequence[int], below: Neighbours) -> int:
    """Count pairs of links in opposite order."""
    place = {item: at for at, item in enumerate(lower)}
    passed: list[int] = []
    crossings = 0
    for item in upper:
        ends = sorted(place[one] for one in below.get(item, ()))
        crossings += sum(len(passed) - bisect_right(passed, end) for end in ends)
        for end in ends:
            insort(passed, end)
    return crossings


# Items of a layer keep their order and do not touch.
# Each layer in turn takes the places nearest to the mean of its neighbours in the sense of least
# squares, under the condition of order: an isotonic regression, solved by pooling adjacent
# violators (Barlow, Bartholomew, Bremner and Brunk, 1972).  What has much below it weighs more, so
# that the main line of a proof runs straight and its leaves stand beside it.

_PLACES_SWEEPS: Final = 16


def placed(
    layers: Sequence[Sequence[int]], links: Sequence[Edge], sizes: Sequence[float], gap: float
) -> list[float]:
    """Return the middle of every item."""
    places = [0.0] * len(sizes)
    offsets = [_offsets(layer, sizes, gap) for layer in layers]
    for layer, offset in zip(layers, offsets, strict=True):
        for item, at in zip(layer, offset, strict=True):
            places[item] = at - offset[-1] / 2
    above: list[list[int]] = [[] for _ in sizes]
    below: list[list[int]] = [[] for _ in sizes]
    for upper, lower in links:
        below[upper].append(lower)
        above[lower].append(upper)
    weights = _weights(layers, below)
    for sweep in range(_PLACES_SWEEPS):
        down = sweep % 2 == 0
        for at in range(len(layers)) if down else reversed(range(len(layers))):
            wishes = _wishes(layers[at], places, weights, _wanted(sweep, above, below))
            _settle(layers[at], offsets[at], places, wishes)
    least = min((place - size / 2 for place, size in zip(places, sizes, strict=True)), default=0.0)
    return [round(place - least, 2) for place in places]


def _wanted(
    sweep: int, above: list[list[int]], below: list[list[int]]
) -> Sequence[list[list[int]]]:
    """Return whose mean counts: one side at first, both in the end."""
    if sweep >= _PLACES_SWEEPS - 4:
        return (above, below)
    return (above,) if sweep % 2 == 0 else (below,)


def _offsets(layer: Sequence[int], sizes: Sequence[float], gap: float) -> list[float]:
    """Return the least distance of each item from the first."""
    found: list[float] = []
    for at, item in enumerate(layer):
        room = sizes[item] / 2 + gap + sizes[layer[at - 1]] / 2 if at else 0.0
        found.append(found[-1] + room if found else 0.0)
    return found


def _weights(layers: Sequence[Sequence[int]], below: list[list[int]]) -> list[float]:
    """Return how much each item weighs, from the longest way down from it."""
    heights = [0] * len(below)
    for layer in reversed(layers):
        for item in layer:
            heights[item] = 1 + max((heights[one] for one in below[item]), default=0)
    return [float(height**3) for height in heights]


def _wishes(
    layer: Sequence[int],
    places: Sequence[float],
    weights: Sequence[float],
    sides: Sequence[list[list[int]]],
) -> list[tuple[float, float]]:
    """Return for each item where it would stand, and how much that matters."""
    found = []
    for item in layer:
        near = [one for side in sides for one in side[item]]
        if near:
            total = sum(weights[one] for one in near)
            wish = sum(places[one] * weights[one] for one in near) / total
            found.append((wish, weights[item]))
        else:
            found.append((places[item], weights[item] / 10))
    return found


def _settle(
    layer: Sequence[int],
    offsets: Sequence[float],
    places: list[float],
    wishes: Sequence[tuple[float, float]],
) -> None:
    """Move the items of a layer as near to where they would stand as the order allows."""
    pools: list[tuple[float, float, int]] = []
    for (wish, weight), offset in zip(wishes, offsets, strict=True):
        pool = ((wish - offset) * weight, weight, 1)
        while pools and pools[-1][0] / pools[-1][1] > pool[0] / pool[1]:
            before = pools.pop()
            pool = (before[0] + pool[0], before[1] + pool[1], before[2] + pool[2])
        pools.append(pool)
    at = 0
    for total, weight, count in pools:
        for _ in range(count):
            places[layer[at]] = total / weight + offsets[at]
            at += 1


# Equal input gives equal output; no two boxes overlap, and along an edge the layer only grows.
# Ranks by longest path, lines through empty places of the layers between, crossings reduced by
# medians and swaps, places by least squares within each layer.  networkx gives the ranks; it has
# no layout that does the rest.  See Sugiyama, Tagawa and Toda (1981) and Gansner, Koutsofios,
# North and Vo (1993); the least squares are an isotonic regression.

Point = tuple[float, float]

# Lines that pass more layers than this are drawn straight: routing them costs more than it shows.
_LONGEST_CHAIN: Final = 60
_MOST_PASSED: Final = 4_000
# Up to this width the page is filled from left to right, which is how proofs are read.
_READABLE: Final = 1_180.0


@frozen
class Box:
    """The size of every box, and the room between neighbours and between layers."""

    width: float
    height: float
    beside: float
    between: float
    margin: float = 12.0


@frozen
class Layout:
    """``corners`` by box (left, top), ``lines`` by edge, ``across`` where layers are columns."""

    corners: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]
    width: float
    height: float
    across: bool


@frozen
class Layers:
    """Boxes and the empty places that lines pass, layer by layer.

    ``passed`` holds for a box the empty places that lead to it, by layer.  ``links`` join
    neighbouring layers.
    """

    ranks: list[int]
    layers: list[list[int]]
    links: list[Edge]
    passed: dict[int, dict[int, int]]


def layered(count: int, edges: Sequence[Edge], box: Box) -> Layout:
    """Lay out boxes 0 to ``count`` - 1; ``ValueError`` where edges run in a circle."""
    layers = _layers(count, edges)
    order = ordered(layers.layers, layers.links)
    widest = max(map(len, order), default=0)
    across = _is_across(len(order), widest, box)
    breadth = box.height if across else box.width
    sizes = [breadth if item < count else breadth / 4 for item in range(_items(layers))]
    places = placed(order, layers.links, sizes, box.beside)
    return _drawn(count, edges, layers, places, box, across=across)


def _items(layers: Layers) -> int:
    return sum(map(len, layers.layers))


def _is_across(depth: int, widest: int, box: Box) -> bool:
    """Tell whether layers become columns: where they fit, or are fewer than boxes abreast."""
    across = depth * (box.width + box.between)
    down = widest * (box.width + box.beside)
    return across <= max(_READABLE, down)


def _layers(count: int, edges: Sequence[Edge]) -> Layers:
    """Give every box a layer, and lines over several layers a place in each they pass."""
    ranks = _ranks(count, edges)
    layers: list[list[int]] = [[] for _ in range(max(ranks, default=-1) + 1)]
    for item, rank in enumerate(ranks):
        layers[rank].append(item)
    links: list[Edge] = []
    passed: dict[int, dict[int, int]] = {}
    total = count
    for source, target in edges:
        span = ranks[target] - ranks[source]
        chain = passed.setdefault(target, {})
        if span > _LONGEST_CHAIN or total - count + span > _MOST_PASSED:
            continue
        above = source
        # Lines to one box share their places: they join on the way, as roads do.
        for rank in range(ranks[source] + 1, ranks[target]):
            known = chain.get(rank)
            if known is None:
                known = chain[rank] = total
                layers[rank].append(total)
                total += 1
                links.append((above, known))
            elif (above, known) not in links[-1:]:
                links.append((above, known))
            above = known
        links.append((above, target))
    return Layers(ranks, layers, list(dict.fromkeys(links)), passed)


def _ranks(count: int, edges: Sequence[Edge]) -> list[int]:
    """Return the longest path from a box without edges to it; such a box moves to its first use."""
    import networkx as nx  # noqa: PLC0415  heavy library, loaded on first use

    graph: nx.DiGraph[int] = nx.DiGraph(edges)
    graph.add_nodes_from(range(count))
    try:
        generations = list(nx.topological_generations(graph))
    except nx.NetworkXUnfeasible:
        raise ValueError("the edges run in a circle") from None
    ranks = {item: rank for rank, items in enumerate(generations) for item in items}
    roots = [item for item in range(count) if not graph.in_degree(item)]
    for item in roots[1:]:
        ranks[item] = min((ranks[target] - 1 for target in graph[item]), default=0)
    return [ranks[item] for item in range(count)]


def _drawn(
    count: int,
    edges: Sequence[Edge],
    layers: Layers,
    places: Sequence[float],
    box: Box,
    *,
    across: bool,
) -> Layout:
    """Turn layers and places into corners and lines."""
    deep, broad = (box.width, box.height) if across else (box.height, box.width)
    start = [box.margin + rank * (deep + box.between) for rank in range(len(layers.layers))]

    def point(along: float, beside: float) -> Point:
        beside += box.margin
        return (along, beside) if across else (beside, along)

    corners = [point(start[layers.ranks[item]], places[item] - broad / 2) for item in range(count)]
    lines = []
    for source, target in edges:
        first, last = layers.ranks[source], layers.ranks[target]
        chain = layers.passed.get(target, {})
        line = [point(start[first] + deep, places[source])]
        for rank in range(first + 1, last):
            if rank in chain and last - first <= _LONGEST_CHAIN:
                place = places[chain[rank]]
                line += [point(start[rank], place), point(start[rank] + deep, place)]
        line.append(point(start[last], places[target]))
        lines.append(tuple(line))
    length = (start[-1] + deep if start else box.margin) + box.margin
    breadth = max((place + broad / 2 for place in places), default=0.0) + 2 * box.margin
    size = (length, breadth) if across else (breadth, length)
    return Layout(tuple(corners), tuple(lines), *size, across)


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
    label += f" · {figure.taken}" if figure.assumed else ""
    lines = wrapped(figure.text, BOX.width - 2 * _INSET)
    # What does not fit in the box is told by the title.
    cut = lines[-1].endswith("…") and not figure.text.endswith("…")
    title = f"<title>{_text(f'{figure.says}: {figure.text}')}</title>" if cut else ""
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
