"""Read a plan: from a file that a person wrote, or from the tool call of a model.

In: YAML, or the JSON of a call. Out: a `Plan`, or `ConstatError` with every mistake at its place.
Invariants: sizes and numbers are bounded; what a plan may not hold is refused and never ignored; a
plan that is read, written and read again is the same. Nothing is looked up: whether relations and
columns are there is told by `chain`. Example: `read_plan(b"question: ...", "top.yaml")`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Span, nearest
from constat.explore.plan import (
    LONGEST_QUESTION,
    MOST_COLUMNS,
    MOST_STEPS,
    MOST_TEXT,
    PLAN_NAME,
    Output,
    Plan,
    Ranking,
    Step,
    Work,
)
from constat.frozen import slotted
from constat.project.document import Listing, Node, Table, Text, read_document

if TYPE_CHECKING:
    from collections.abc import Iterable

NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}\Z")
_DECLARATION: Final = re.compile(r"\s*([A-Za-z]\w{0,62})\s*\(([^()]*)\)\s*\Z", re.ASCII)
_COLUMN: Final = re.compile(r"\s*([A-Za-z]\w{0,62})\s*:\s*([A-Za-z]\w{0,62})\s*\Z", re.ASCII)
_ORDER: Final = re.compile(r"\s*([A-Za-z]\w{0,62})(?:\s+(asc|desc))?\s*\Z", re.ASCII)
_KEYS: Final = ("question", "title", "answer", "chart", "author", "steps")
_STEP_KEYS: Final = (
    *("name", "goal", "inputs", "outputs", "source"),
    *(one.value for one in Work),
)
_RANK_KEYS: Final = ("of", "by", "top", "within", "place")
_CHARTS: Final = ("bar", "line", "none")
_MOST_DIAGNOSTICS: Final = 50
_MOST_TOP: Final = 1_000_000
_MOST_DIGITS: Final = 9
_MOST_DEPTH: Final = 8


def read_plan(content: bytes, name: str) -> Plan:
    """Read a plan file. Raises `ConstatError` with all its mistakes."""
    diagnostics: list[Diagnostic] = []
    node = read_document(content, name, diagnostics)
    if node is None:
        raise ConstatError(diagnostics)
    return _read(node, name)


def plan_of(value: object, *, question: str = "", author: str = "") -> Plan:
    """Read a plan from JSON, such as the arguments of a model's call.

    What is handed in takes the place of what the JSON says: a model says neither what was asked
    nor who it is.
    """
    node = _node(value, _MOST_DEPTH)
    if isinstance(node, Table):
        told = {"question": question, "author": author}
        kept = [(key, one) for key, one in node.entries if key.text not in told]
        said = [(_text(key), _text(one)) for key, one in told.items() if one]
        node = Table((*said, *kept), node.span)
    return _read(node, PLAN_NAME)


def read_output(text: str) -> Output | None:
    """Read `totals(customer: symbol, total: Decimal)`; `None` where it is something else."""
    found = _DECLARATION.match(text)
    if found is None:
        return None
    columns = []
    for part in found[2].split(",") if found[2].strip() else ():
        column = _COLUMN.match(part)
        if column is None:
            return None
        columns.append((column[1], column[2]))
    return Output(found[1], tuple(columns))


def _read(node: Node, name: str) -> Plan:
    reader = _Reader(name)
    plan = reader.plan(node)
    if reader.diagnostics:
        raise ConstatError(reader.diagnostics)
    return plan


def _text(value: str) -> Text:
    return Text(value, Span(PLAN_NAME, 1, 1, 1, 1))


def _node(value: object, depth: int) -> Node:
    """Make nodes of JSON; what is nested deeper than a plan can be is left out, and missed."""
    span = Span(PLAN_NAME, 1, 1, 1, 1)
    if depth and isinstance(value, Mapping):
        return Table(tuple((_text(str(k)), _node(v, depth - 1)) for k, v in value.items()), span)
    if depth and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return Listing(tuple(_node(one, depth - 1) for one in value), span)
    if isinstance(value, str):
        return Text(value, span, bare=False)
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return Text(str(value) if plain else "", span)


@slotted
class _Reader:
    """One reading of one plan."""

    name: str
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def complain(self, message: str, node: Node, hint: str, note: str = "") -> None:
        if len(self.diagnostics) < _MOST_DIAGNOSTICS:
            self.diagnostics.append(Diagnostic("C0890", message, node.span, note=note, help=hint))

    def table(self, node: Node, what: str, known: Sequence[str]) -> dict[str, Node]:
        """Give the entries of a table whose keys are all known."""
        if not isinstance(node, Table):
            self.complain(f"{what} is not a table of `key: value`", node, "write `key: value`")
            return {}
        found = {}
        for key, value in node.entries:
            if key.text in known:
                found[key.text] = value
                continue
            near = nearest(key.text, list(known)) if len(key.text) < MOST_COLUMNS else None
            hint = f"write `{near}`" if near else f"leave it out; known are {', '.join(known)}"
            self.complain(f"{what} has an unknown key", key, hint)
        return found

    def text(self, node: Node | None, what: str, most: int, *, lines: bool = False) -> str:
        """Give a text without control characters; with `lines` it may have several lines."""
        if node is None:
            return ""
        if not isinstance(node, Text):
            self.complain(f"{what} is not a text", node, "write one text")
            return ""
        allowed = "\n\t\r" if lines else ""
        if len(node.text) > most:
            self.complain(f"{what} is longer than {most} characters", node, "shorten it")
        elif any(one < " " and one not in allowed for one in node.text) or not _encodes(node.text):
            self.complain(f"{what} holds control characters", node, "take them out")
        else:
            return node.text.replace("\r\n", "\n")
        return ""

    def names(self, node: Node | None, what: str) -> tuple[Text, ...]:
        """Give a list of names; one name is a list of one."""
        if node is None:
            return ()
        entries = node.entries if isinstance(node, Listing) else (node,)
        found = [one for one in entries if isinstance(one, Text) and one.text.strip()]
        if len(found) != len(entries) or len(found) > MOST_STEPS + MOST_COLUMNS:
            self.complain(f"{what} is not a list of names", node, "write `[first, second]`")
        return tuple(found)

    def plan(self, node: Node) -> Plan:
        top = self.table(node, "the plan", _KEYS)
        steps = self.steps(top.get("steps"), node)
        answer = self.text(top.get("answer"), "`answer`", 63).strip()
        last = steps[-1].outputs[-1:] if steps else ()
        chart = self.choice(top.get("chart"), "`chart`", _CHARTS)
        return Plan(
            self.text(top.get("question"), "`question`", LONGEST_QUESTION, lines=True).strip(),
            steps,
            answer or (last[0].name if last else ""),
            self.text(top.get("author"), "`author`", 200).strip(),
            self.text(top.get("title"), "`title`", 300).strip(),
            chart,
        )

    def choice(self, node: Node | None, what: str, known: Iterable[str]) -> str:
        written = self.text(node, what, 63).strip()
        if node is not None and written and written not in known:
            self.complain(f"{what} is none of {', '.join(known)}", node, "choose one of them")
            return ""
        return written

    def steps(self, node: Node | None, top: Node) -> tuple[Step, ...]:
        entries = node.entries if isinstance(node, Listing) else ()
        if not entries:
            self.complain("the plan has no steps", node or top, "add `steps:` with a list")
        elif len(entries) > MOST_STEPS and node is not None:
            self.complain(f"the plan has more than {MOST_STEPS} steps", node, "take fewer steps")
            return ()
        return tuple(self.step(one) for one in entries)

    def step(self, node: Node) -> Step:
        told = self.table(node, "a step", _STEP_KEYS)
        works = [one for one in Work if one.value in told]
        outputs = self.outputs(told.get("outputs"), node)
        name = self.text(told.get("name"), "the name of a step", 63).strip()
        if not name and len(outputs) == 1:
            name = outputs[0].name
        if not NAME.match(name):
            hint = "begin with a small letter; then letters, digits and `_`"
            self.complain("a step has no name, or not one that it can have", node, hint)
        if len(works) != 1:
            kinds = ", ".join(f"`{one.value}`" for one in Work)
            self.complain("a step has not exactly one kind of work", node, f"write one of {kinds}")
        work = works[0] if works else Work.RULES
        return Step(
            name=name,
            goal=self.text(told.get("goal"), "the goal of a step", 1_000).strip(),
            work=work,
            outputs=outputs,
            inputs=tuple(one.text.strip() for one in self.names(told.get("inputs"), "`inputs`")),
            text=self.work_text(work, told.get(work.value), node),
            source=self.source(work, told.get("source")),
            ranking=self.ranking(told.get(work.value), node) if work is Work.RANKING else None,
            span=node.span,
        )

    def work_text(self, work: Work, node: Node | None, step: Node) -> str:
        if work is Work.RANKING:
            return ""
        found = self.text(node, f"`{work.value}`", MOST_TEXT, lines=True).strip()
        if not found and node is not None:
            self.complain(f"`{work.value}` is empty", step, "write what the step does")
        return found

    def source(self, work: Work, node: Node | None) -> str:
        found = self.text(node, "`source`", 200).strip()
        if found and work not in {Work.SQL, Work.PYTHON} and node is not None:
            self.complain("only `sql` and `python` read a `source`", node, "leave `source` out")
        return found

    def outputs(self, node: Node | None, step: Node) -> tuple[Output, ...]:
        found = []
        for one in self.names(node, "`outputs`"):
            output = read_output(one.text)
            if output is None or not NAME.match(output.name):
                hint = "write `totals(customer: symbol, total: Decimal)`"
                self.complain("an output is not declared as a relation", one, hint)
                continue
            if not 0 < len(output.columns) <= MOST_COLUMNS:
                hint = f"declare between 1 and {MOST_COLUMNS}"
                self.complain("an output has no columns, or too many", one, hint)
                continue
            if len({name for name, _ in output.columns}) != len(output.columns):
                self.complain("two columns of an output have one name", one, "rename one of them")
                continue
            found.append(output)
        if node is None:
            hint = "add `outputs: totals(customer: symbol, total: Decimal)`"
            self.complain("a step declares no outputs", step, hint)
        return tuple(found)

    def ranking(self, node: Node | None, step: Node) -> Ranking | None:
        if node is None:
            return None
        told = self.table(node, "`rank`", _RANK_KEYS)
        order = []
        for one in self.names(told.get("by"), "`by`"):
            found = _ORDER.match(one.text)
            if found is None:
                self.complain("`by` names columns with `asc` or `desc`", one, "write `total desc`")
            else:
                order.append((found[1], found[2] == "desc"))
        of = self.text(told.get("of"), "`of`", 63).strip()
        if not of or not order:
            hint = "write `{of: totals, by: total desc}`"
            self.complain("`rank` needs `of` and `by`", step, hint)
        within = tuple(one.text.strip() for one in self.names(told.get("within"), "`within`"))
        place = self.text(told.get("place"), "`place`", 63).strip()
        return Ranking(of, tuple(order), self.top(told.get("top")), within, place)

    def top(self, node: Node | None) -> int:
        if node is None:
            return 0
        written = node.text.strip() if isinstance(node, Text) else ""
        number = (
            int(written)
            if written.isascii() and written.isdigit() and len(written) <= _MOST_DIGITS
            else 0
        )
        if 0 < number <= _MOST_TOP:
            return number
        self.complain("`top` is not a number of rows", node, "write `top: 5`")
        return 0


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
