"""Read a YAML file as text with places: no value is guessed, nothing is constructed.

In: the text of a file from outside. Out: a tree of `Text`, `Listing` and `Table`, or `None` with
diagnostics. Invariant: time and memory are linear in the text, which is bounded; depth is bounded
without recursion; anchors, aliases and tags are refused, so that no alias bomb and no object can
be built. Example: `no: 1e3` gives a table whose key is the text `no` and whose value is the text
`1e3`. Reference: YAML 1.2, chapter 3.1 (the event stream is its serialisation tree).
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Final, TypeAlias

import yaml

from constat.diagnostics import Diagnostic, Span
from constat.frozen import frozen, slotted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from yaml.error import Mark as PlainMark

    Mark: TypeAlias = PlainMark | yaml._yaml.Mark | None  # noqa: SLF001  the C parser's own mark

MAX_BYTES: Final = 1 << 20
# The description of an API inside of a configuration is as deep as its schemas.
MAX_DEPTH: Final = 64
MAX_NODES: Final = 200_000


@frozen
class Text:
    """A scalar exactly as written; `bare` when it stood without quotes."""

    text: str
    span: Span
    bare: bool = True


@frozen
class Listing:
    """A sequence of nodes."""

    entries: tuple[Node, ...]
    span: Span


@frozen
class Table:
    """A mapping from texts to nodes, in the order of the file; no key occurs twice."""

    entries: tuple[tuple[Text, Node], ...]
    span: Span


Node: TypeAlias = Text | Listing | Table


class _RefusedError(Exception):
    """The text holds something that is not read; carries the diagnostic."""

    def __init__(self, diagnostic: Diagnostic) -> None:
        self.diagnostic = diagnostic
        super().__init__(diagnostic.message)


@slotted
class _Growing:
    """A listing or table whose end has not been read yet."""

    start: Mark
    is_table: bool
    nodes: list[Node] = field(default_factory=list)


def read_document(
    content: bytes, name: str, diagnostics: list[Diagnostic], most_bytes: int = MAX_BYTES
) -> Node | None:
    """Read one document. Gives `None` after adding a diagnostic when it cannot be read."""
    if len(content) > most_bytes:
        diagnostics.append(Diagnostic("C0501", f"{name} is larger than {most_bytes} bytes"))
        return None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        span = Span(name, line, 1, line, 1)
        diagnostics.append(Diagnostic("C0501", "the text is not UTF-8", span))
        return None
    try:
        return _compose(text, name)
    except _RefusedError as refused:
        diagnostics.append(refused.diagnostic)
    except yaml.YAMLError as problem:
        diagnostics.append(_not_yaml(problem, name))
    return None


def _compose(text: str, name: str) -> Node:
    # The C parser is ten times faster; a build without it gives the same events.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    open_nodes: list[_Growing] = []
    root: Node | None = None
    count = 0
    for event in _events(text, loader, name):
        count += 1
        if count > MAX_NODES:
            raise _refusal(f"more than {MAX_NODES} entries", event, name)
        if isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            if len(open_nodes) >= MAX_DEPTH:
                raise _refusal(f"nested more than {MAX_DEPTH} deep", event, name)
            table = isinstance(event, yaml.MappingStartEvent)
            open_nodes.append(_Growing(event.start_mark, table))
            continue
        if isinstance(event, yaml.ScalarEvent):
            done: Node = Text(event.value, _span(name, event, event), not event.style)
        else:
            done = _finished(open_nodes.pop(), event, name)
        if open_nodes:
            open_nodes[-1].nodes.append(done)
        else:
            root = done
    return root or Table((), Span(name, 1, 1, 1, 1))


def _events(text: str, loader: type, name: str) -> Iterator[yaml.Event]:
    """Yield the events that build nodes, refusing what is not read."""
    documents = 0
    for event in yaml.parse(text, Loader=loader):
        if isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise _refusal("a second document", event, name)
        elif isinstance(event, yaml.AliasEvent):
            raise _refusal("an alias (`*name`)", event, name)
        elif isinstance(event, yaml.NodeEvent):
            if event.anchor is not None:
                raise _refusal("an anchor (`&name`)", event, name)
            if getattr(event, "tag", None) is not None:
                raise _refusal("a tag (`!name`)", event, name)
            yield event
        elif isinstance(event, yaml.CollectionEndEvent):
            yield event


def _finished(growing: _Growing, end: yaml.Event, name: str) -> Node:
    span = _stretch(name, growing.start, end.end_mark)
    if not growing.is_table:
        return Listing(tuple(growing.nodes), span)
    entries: list[tuple[Text, Node]] = []
    seen: dict[str, Text] = {}
    for key, value in zip(growing.nodes[::2], growing.nodes[1::2], strict=True):
        if not isinstance(key, Text):
            raise _RefusedError(Diagnostic("C0502", "a key that is not a text", key.span))
        if key.text in seen:
            raise _RefusedError(_repeated(key, seen[key.text]))
        seen[key.text] = key
        entries.append((key, value))
    return Table(tuple(entries), span)


def _repeated(key: Text, first: Text) -> Diagnostic:
    return Diagnostic(
        "C0502",
        f"the key `{printable(key.text)}` occurs twice",
        key.span,
        note=f"it stands in line {first.span.line} already; only one of the two could count",
    )


def printable(text: str, limit: int = 60) -> str:
    """Give a text for an error message: one line, bounded, without control characters."""
    shown = "".join(letter if letter.isprintable() else "?" for letter in text[: limit + 1])
    return shown if len(shown) <= limit else shown[:limit] + "…"


def _refusal(what: str, event: yaml.Event, name: str) -> _RefusedError:
    return _RefusedError(
        Diagnostic(
            "C0501",
            f"{what} is not read here",
            _span(name, event, event),
            note="the configuration is plain tables, lists and texts",
        )
    )


def _not_yaml(problem: yaml.YAMLError, name: str) -> Diagnostic:
    # The parser's own words can quote bytes of the file, maybe a secret: only its place is used.
    mark = getattr(problem, "problem_mark", None)
    if mark is None:
        return Diagnostic("C0501", f"{name} is not readable as YAML")
    span = Span(name, mark.line + 1, mark.column + 1, mark.line + 1, mark.column + 2)
    return Diagnostic("C0501", "this is not YAML", span, label="the reader stopped here")


def _span(name: str, first: yaml.Event, last: yaml.Event) -> Span:
    return _stretch(name, first.start_mark, last.end_mark)


def _stretch(name: str, start: Mark, end: Mark) -> Span:
    if start is None or end is None:
        return Span(name, 1, 1, 1, 1)
    return Span(name, start.line + 1, start.column + 1, end.line + 1, end.column + 1)
