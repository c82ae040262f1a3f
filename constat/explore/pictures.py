"""Show a chain: as rules, as a checklist, and as a picture in text, DOT or Mermaid.

In: a chain, and what became of its steps where it has run. Out: texts. Invariants: names and goals
are data: in DOT and Mermaid nothing of them can end a label; steps are listed in the order in which
they would run. Example: `picture_text(chain)` has the line `3 top_customers <- quarter_revenue`.
"""

from __future__ import annotations

import base64
import html
import io
import json
from datetime import date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.explore.plan import Work, one_line, ranking_json, ranking_query
from constat.frozen import frozen
from constat.logic import Kind
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.explore.answered import Explored
    from constat.explore.chain import Chain, Link
    from constat.explore.relations import Relation

_MARKS: Final = MappingProxyType({"computed": "x", "kept": "x", "failed": "!", "not needed": "-"})


def rules_text(chain: Chain, links: Iterable[Link] | None = None) -> str:
    """Write steps as the rules that they are; work of other kinds stands in comments."""
    chosen = chain.ordered() if links is None else links
    return "\n\n".join("\n".join(_rule_lines(one)) for one in chosen) + "\n"


def checklist(chain: Chain, needed: Iterable[int], states: Mapping[int, str]) -> str:
    """List the steps: done, failed, not needed, or to do."""
    wanted = frozenset(needed)
    lines = []
    for link in chain.links:
        mark = _MARKS.get(states.get(link.number, ""), " " if link.number in wanted else "-")
        goal = f": {one_line(link.step.goal)}" if link.step.goal else ""
        lines.append(f"[{mark}] {link.number}. {link.step.name} ({link.step.work.value}){goal}")
    return "\n".join(lines)


def picture_text(chain: Chain) -> str:
    """Draw what each step reads, one line each."""
    lines = []
    for link in chain.ordered():
        reads = ", ".join((*link.reads, *(f"database {one}" for one in link.step.sources)))
        gives = ", ".join(link.gives)
        name = link.step.name if (link.step.name,) == link.gives else f"{link.step.name}: {gives}"
        lines.append(f"{link.number} {name} <- {reads or 'nothing'}")
    return "\n".join(lines)


def picture_dot(chain: Chain) -> str:
    """Draw the steps for Graphviz."""
    lines = ["digraph plan {", "  rankdir = LR;", '  node [shape = box, fontname = "Helvetica"];']
    for link in chain.links:
        label = f"{link.number}. {link.step.name}\\n{_dot(link.step.work.value)}"
        lines.append(f'  s{link.number} [label = "{label}", style = rounded];')
    outside, edges = _edges(chain)
    lines += [f'  r{place} [label = "{_dot(name)}"];' for name, place in outside.items()]
    lines += [f'  {start} -> s{end} [label = "{_dot(label)}"];' for start, end, label in edges]
    return "\n".join([*lines, "}"])


def picture_mermaid(chain: Chain) -> str:
    """Draw the steps for Mermaid."""
    lines = ["flowchart LR"]
    for link in chain.links:
        label = f"{link.number}. {link.step.name}<br/>{link.step.work.value}"
        lines.append(f'  s{link.number}("{label}")')
    outside, edges = _edges(chain)
    lines += [f'  r{place}["{_mermaid(name)}"]' for name, place in outside.items()]
    lines += [
        f'  {start} -- "{_mermaid(label)}" --> s{end}' if label else f"  {start} --> s{end}"
        for start, end, label in edges
    ]
    return "\n".join(lines)


def _edges(chain: Chain) -> tuple[dict[str, int], list[tuple[str, int, str]]]:
    """Give the relations from outside, numbered, and edges with what flows along them."""
    outside: dict[str, int] = {}
    edges: list[tuple[str, int, str]] = []
    for link in chain.links:
        for name in (*link.reads, *(f"database {one}" for one in link.step.sources)):
            giver = chain.link_of(name)
            if giver is not None:
                label = "" if giver.step.name == name else name
                edges.append((f"s{giver.number}", link.number, label))
            else:
                place = outside.setdefault(name, len(outside) + 1)
                edges.append((f"r{place}", link.number, ""))
    return outside, edges


def _rule_lines(link: Link) -> Iterator[str]:
    step = link.step
    yield f"// step {link.number}, by {step.work.value}"
    if step.goal:
        yield f"/// {one_line(step.goal)}"
    yield from (f".decl {one.declaration}" for one in step.outputs)
    if step.work is Work.RULES:
        yield from map(print_rule, link.rules)
        return
    where = f" on {step.source}" if step.source else ""
    yield f"// its rows come from{where} {'code' if step.work is Work.PYTHON else 'a SELECT'}:"
    text = step.text
    if step.ranking is not None:
        yield f"//   {json.dumps(ranking_json(step.ranking))}"
        text = ranking_query(step, step.ranking)
    yield from (f"//   {one_line(line)}" for line in text.splitlines())


def _dot(text: str) -> str:
    return one_line(text).replace("\\", "\\\\").replace('"', '\\"')


def _mermaid(text: str) -> str:
    kept = (one if one.isalnum() or one in " _.,-" else f"#{ord(one)};" for one in one_line(text))
    return "".join(kept)


# Draw an answer: bars over names, a line over days.

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
