r"""Show a chain: as rules, as a checklist, and as a picture in text, DOT or Mermaid.

In: a chain, and what became of its steps where it has run. Out: texts. Invariants: names and goals
are data: in DOT and Mermaid nothing of them can end a label; steps are listed in the order in which
they would run. Example: `picture_text(chain)` has the line `3 top_customers <- quarter_revenue`.
"""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.explore.plan import Work, one_line, ranking_json, ranking_query
from constat.syntax import print_rule

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from constat.explore.chain import Chain, Link

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
