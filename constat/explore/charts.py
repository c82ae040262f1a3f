"""Draw an answer: bars over names, a line over days.

In: an answer, where to. Out: the bytes of a PNG, an SVG, or a page of HTML that holds the picture
and its numbers. Invariants: texts of data are labels and never markup; the same answer gives the
same drawing; what no chart can show is refused with a reason. Example: `chart(explored, "html")`.
"""

from __future__ import annotations

import base64
import html
import io
from datetime import date, datetime
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.plan import one_line
from constat.frozen import frozen
from constat.logic import Kind

if TYPE_CHECKING:
    from constat.explore.answered import Explored
    from constat.explore.relations import Relation

FORMATS: Final = ("png", "svg", "html")
BAR, LINE, NONE = "bar", "line", "none"
_MOST_BARS: Final = 60
_MOST_POINTS: Final = 2_000
_MOST_LINES: Final = 6
_LONGEST_LABEL: Final = 30
_MOST_APART: Final = 20
_MOST_LEVEL: Final = 8
_TIMES: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_PAGE: Final = """\
<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body{{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:60rem;padding:0 1rem}}
img{{max-width:100%}}table{{border-collapse:collapse}}td,th{{padding:.2rem .8rem;text-align:left;
border-bottom:1px solid #ddd}}td.n{{text-align:right;font-variant-numeric:tabular-nums}}</style>
</head><body><h1>{title}</h1><p>{sentence}</p>
<img alt="{title}" src="data:image/png;base64,{picture}">
<table><thead><tr>{heads}</tr></thead><tbody>
{rows}
</tbody></table><p><small>{rests}</small></p></body></html>
"""


@frozen
class Shape:
    """What a chart shows: the column along it, the columns of numbers, and how."""

    along: int
    numbers: tuple[int, ...]
    form: str


def shape_of(relation: Relation, wished: str = "") -> Shape | None:
    """Choose what to draw; `None` where a chart would not help."""
    kinds = relation.kinds
    names = [place for place, kind in enumerate(kinds) if not kind.numeric]
    times = [place for place in names if kinds[place] in _TIMES]
    numeric = [place for place, kind in enumerate(kinds) if kind.numeric]
    along = (times or names or numeric[:1] or [-1])[0]
    numbers = [place for place in numeric if place != along]
    # A rank beside a value says nothing that the order of the bars does not say.
    values = [place for place in numbers if kinds[place] is not Kind.NUMBER] or numbers
    # Percentages beside millions are not to be seen.
    tops = {
        place: max((abs(float(row[place])) for row in relation.rows), default=0) for place in values
    }
    values = [place for place in values if tops[place] * _MOST_APART >= tops[values[0]]]
    values = [place for place in values if tops[place] <= tops[values[0]] * _MOST_APART]
    count = len(relation.rows)
    form = wished if wished in {BAR, LINE} else LINE if times else BAR
    most = _MOST_BARS if form == BAR else _MOST_POINTS
    if along < 0 or not values or not 0 < count <= most or wished == NONE:
        return None
    return Shape(along, tuple(values[:_MOST_LINES]), form)


def chart(explored: Explored, form: str) -> bytes:
    """Draw an answer. Raises `ConstatError` for what cannot be drawn."""
    shape = shape_of(explored.relation, explored.plan.chart if explored.plan.chart != NONE else "")
    if form not in FORMATS:
        raise _refused("the file of a chart ends in .png, .svg or .html", "name it `chart.html`")
    if shape is None:
        message = "this answer is not one that a chart can show"
        raise _refused(message, "ask for names or days with numbers, at most 60 bars")
    if form != "html":
        return _drawn(explored, shape, form)
    return _page(explored, _drawn(explored, shape, "png"))


def _drawn(explored: Explored, shape: Shape, form: str) -> bytes:
    try:
        # Drawn on a canvas of its own: no window is opened, and no state is shared.
        from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415  heavy library, loaded on first use
        from matplotlib.figure import Figure  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError:
        raise _refused("charts need matplotlib", "install `constat[charts]`") from None
    figure = Figure(figsize=(9, 5), layout="constrained")
    FigureCanvasAgg(figure)
    _draw(figure.add_subplot(), explored, shape)
    stream = io.BytesIO()
    unchanging = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
    figure.savefig(stream, format=form, dpi=120, metadata=unchanging)
    return stream.getvalue()


def _draw(axes: Any, explored: Explored, shape: Shape) -> None:  # noqa: ANN401  of a lazy library
    relation = explored.relation
    rows = relation.rows if shape.form == LINE else relation.shown
    along = [_position(row[shape.along], relation.kinds[shape.along]) for row in rows]
    width = 0.8 / len(shape.numbers)
    for number, place in enumerate(shape.numbers):
        values = [float(row[place]) for row in rows]
        label = _plain(relation.names[place])
        if shape.form == LINE:
            axes.plot(along, values, marker="o", label=label)
        else:
            places = [n - 0.4 + width * (number + 0.5) for n in range(len(rows))]
            axes.bar(places, values, width, label=label)
    if shape.form == BAR:
        axes.set_xticks(range(len(rows)), [_plain(str(one)) for one in along])
        axes.tick_params(axis="x", rotation=90 if len(rows) > _MOST_LEVEL else 0)
    axes.set_title(_plain(explored.plan.title or explored.question, 90), parse_math=False)
    axes.set_xlabel(_plain(relation.names[shape.along]), parse_math=False)
    axes.ticklabel_format(axis="y", style="plain", useOffset=False)
    for text in (*axes.get_xticklabels(), axes.xaxis.label):
        text.set_parse_math(False)
    if len(shape.numbers) > 1:
        axes.legend()
    else:
        axes.set_ylabel(_plain(relation.names[shape.numbers[0]]), parse_math=False)


def _position(value: Any, kind: Kind) -> Any:  # noqa: ANN401  any value
    if kind is Kind.DATE:
        return date.fromisoformat(value)
    if kind is Kind.TIMESTAMP:
        return datetime.fromisoformat(value)
    return float(value) if kind.numeric else value


def _plain(text: str, most: int = _LONGEST_LABEL) -> str:
    return one_line(text, most)


def _page(explored: Explored, picture: bytes) -> bytes:
    relation = explored.relation
    rows = "\n".join(
        "<tr>"
        + "".join(
            f'<td class="n">{html.escape(cell)}</td>'
            if kind.numeric
            else f"<td>{html.escape(cell)}</td>"
            for cell, kind in zip(cells, relation.kinds, strict=True)
        )
        + "</tr>"
        for cells in explored.cells()
    )
    rests = "; ".join(one.text for one in explored.assumptions) or "sources and rules alone"
    return _PAGE.format(
        title=html.escape(explored.plan.title or explored.question),
        sentence=html.escape(explored.sentence),
        picture=base64.b64encode(picture).decode(),
        heads="".join(f"<th>{html.escape(name)}</th>" for name in relation.names),
        rows=rows,
        rests=html.escape(f"{explored.settlement.value}; rests on: {rests}"),
    ).encode()


def _refused(message: str, hint: str) -> ConstatError:
    return ConstatError([Diagnostic("C0903", message, help=hint)])
