"""Give what a library declares other names, so that two libraries do not clash.

Texts are renamed token by token, so that comments, layout and everything else stay as they are.
"""

from __future__ import annotations

import re
from dataclasses import field
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Severity
from constat.frozen import frozen
from constat.logic import TypeDefinition
from constat.project.packages import unreadable
from constat.syntax.lexer import lex
from constat.syntax.loading import decode_rules
from constat.syntax.parser import parse_file
from constat.syntax.surface import ConstraintText, Declaration, RuleText

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from constat.diagnostics import Diagnostic
    from constat.syntax.lexer import Tokens
    from constat.syntax.surface import SurfaceFile

_CASES: Final = "cases/"
_PORTS: Final = frozenset({".input", ".output", ".printsize", ".plan"})
_WORDS: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|[A-Za-z][A-Za-z0-9_]*")
_ATTRIBUTE: Final = "@["
# The parts of `expect` that hold goals, and those that hold names of rules and predicates.
_GOALS: Final = frozenset(
    {"proved", "disproved", "unresolved", "proved_under", "disproved_under", "unknown"}
)
_NAMED: Final = frozenset({"by", "uses"})
_WORLD: Final = frozenset({"open", "closed", "unknown", "source"})


@frozen
class NameTable:
    """Names and what they become: of predicates, types, branches, constraints, ids of rules."""

    predicates: Mapping[str, str] = field(default_factory=dict)
    types: Mapping[str, str] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)
    constraints: Mapping[str, str] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)

    def __or__(self, other: NameTable) -> NameTable:
        """Give both; what the other says counts."""
        pairs = zip(self.parts, other.parts, strict=True)
        return NameTable(*({**mine, **theirs} for mine, theirs in pairs))

    @property
    def parts(self) -> tuple[Mapping[str, str], ...]:
        """The tables of all kinds."""
        return (self.predicates, self.types, self.branches, self.constraints, self.ids)

    def declared(self) -> frozenset[str]:
        """Everything that is declared, as it is called here. Kinds are told apart."""
        kinds = ("", "type ", "$", "constraint ", "rule ")
        pairs = zip(kinds, self.parts, strict=True)
        return frozenset(f"{kind}{name}" for kind, part in pairs for name in part.values())

    def without(self, prefix: str) -> NameTable:
        """Give the table from the names before they had a prefix."""
        start = f"{prefix}_"
        return NameTable(
            *({one.removeprefix(start): one for one in part.values()} for part in self.parts)
        )


def names_of(files: Mapping[str, bytes], prefix: str) -> NameTable:
    """Give what rule files declare, each with its name under a prefix. Cases declare nothing."""
    start = f"{prefix}_" if prefix else ""
    table: tuple[dict[str, str], ...] = ({}, {}, {}, {}, {})
    for path, content in files.items():
        if path.endswith(".dl") and not path.startswith(_CASES):
            for part, name in _declared(_parsed(path, content)):
                table[part][name] = f"{start}{name}"
    return NameTable(*table)


def _parsed(path: str, content: bytes) -> SurfaceFile:
    mistakes: list[Diagnostic] = []
    found = parse_file(decode_rules(content, path, mistakes), path, mistakes)
    if any(one.severity is Severity.ERROR for one in mistakes):
        raise ConstatError(mistakes)
    return found


def _declared(file: SurfaceFile) -> Iterator[tuple[int, str]]:
    for item in file.items:
        match item:
            case Declaration(name=name):
                yield 0, name
            case TypeDefinition(name=name, branches=branches, form=form):
                yield 1, name
                if form == "algebraic":
                    yield from ((2, one.constructor.removeprefix("$")) for one in branches)
            case ConstraintText(name=name):
                yield 3, name
            case RuleText(notes=notes):
                yield from ((4, one.value) for one in notes.attributes if one.key == "id")


def renamed(files: Mapping[str, bytes], table: NameTable) -> dict[str, bytes]:
    """Give the files with the names of the table. What holds no rules stays as it is."""
    if not any(name != new for part in table.parts for name, new in part.items()):
        return dict(files)
    found = {}
    for path, content in files.items():
        if path.endswith(".dl"):
            mistakes: list[Diagnostic] = []
            text = decode_rules(content, path, mistakes)
            if mistakes:
                raise unreadable(f"`{path}` is not UTF-8")
            found[path] = _Text(lex(text, path, []), table).renamed().encode()
        else:
            found[path] = content
    return found


class _Text:
    """One text that is renamed."""

    def __init__(self, tokens: Tokens, table: NameTable) -> None:
        self.tokens = tokens
        self.table = table
        self.edits: list[tuple[int, int, str]] = []

    def renamed(self) -> str:
        directive, place = "", 0
        kinds = self.tokens.kinds
        while kinds[place] != "end":
            kind = kinds[place]
            if kind == _ATTRIBUTE:
                place = self.attribute(place)
                continue
            if kind == "directive":
                directive = self.tokens.word(place)
            elif kind == ".":
                directive = ""
            elif kind == "name":
                # A directive has no end of its own: a name and a bracket, first on its line, begin
                # a rule behind it.
                if directive and kinds[place + 1] == "(" and self.begins_rule(place, directive):
                    directive = ""
                self.name(place, directive)
            elif kind == "text" and directive == ".pragma" and place > 1:
                self.pragma(place)
            place += 1
        return self.written()

    def begins_rule(self, place: int, directive: str) -> bool:
        before = self.tokens.kinds[place - 1]
        return (
            before not in {"directive", ",", ":"}
            and directive != ".constraint"
            and (self.tokens.begins_line(place))
        )

    def name(self, place: int, directive: str) -> None:
        """Rename a name by what it stands for."""
        kinds, word = self.tokens.kinds, self.tokens.word(place)
        before, after = kinds[place - 1] if place else "", kinds[place + 1]
        if before == "$":
            part = self.table.branches
        elif before == "directive" and directive == ".constraint":
            part = self.table.constraints
        elif directive == ".type" and before != "directive":
            part = self.table.branches if after == "{" else self.table.types
            part = {} if after == ":" else part
        elif directive == ".type" or (before == ":" and directive == ".decl"):
            part = self.table.types
        elif before == "directive" or after == "(" or (directive in _PORTS and before == ","):
            part = self.table.predicates
        elif before == "," and after == ")" and not directive:
            # `as(?x, Type)`: a bare name is nothing else there.
            part = self.table.types
        else:
            return
        self.edit(self.tokens.starts[place], word, part)

    def edit(self, start: int, word: str, part: Mapping[str, str]) -> None:
        if word in part:
            self.edits.append((start, start + len(word), part[word]))

    def pragma(self, place: int) -> None:
        """Rename what a case leaves open or closes."""
        tokens = self.tokens
        if tokens.kinds[place - 1] == "text" and tokens.word(place - 1).strip('"') in _WORLD:
            self.goals(place)

    def attribute(self, place: int) -> int:
        """Rename in `@[id = ...]` and `@[expect(...)]`; give the place behind."""
        tokens = self.tokens
        last = tokens.closer(place) or place
        key = ""
        for at in range(place + 1, last):
            kind = tokens.kinds[at]
            if kind == "name" and tokens.kinds[at + 1] in {"=", "("}:
                key = tokens.word(at)
            elif key in _NAMED and kind == "name":
                self.named(tokens.starts[at], tokens.word(at))
            elif key == "id" and kind in {"name", "text"}:
                start = tokens.starts[at] + (kind == "text")
                self.edit(start, tokens.word(at).strip('"'), self.table.ids)
            elif kind == "text" and key in _GOALS:
                self.goals(at)
            elif kind == "text" and key in _NAMED:
                self.goals(at, ids=True)
        return last + 1

    def goals(self, place: int, *, ids: bool = False) -> None:
        """Rename predicates in a text that holds goals, or names of rules and predicates."""
        start, end = self.tokens.starts[place] + 1, self.tokens.ends[place] - 1
        inner = self.tokens.text[start:end]
        whole = inner.strip()
        # Quotes are escaped inside of a text: what stands between them is a value.
        shown = inner.replace('\\"', ' "')
        for found in _WORDS.finditer(shown):
            word = found[0]
            follows = shown[found.end() : found.end() + 1]
            if word[0] == '"' or shown[found.start() - 1 : found.start()] in {"?", "_"}:
                continue
            branch = shown[found.start() - 1 : found.start()] == "$"
            if branch:
                self.edit(start + found.start(), word, self.table.branches)
            elif ids:
                self.named(start + found.start(), word)
            elif follows == "(" or word == whole:
                self.edit(start + found.start(), word, self.table.predicates)

    def named(self, start: int, word: str) -> None:
        """Rename the id of a rule or a predicate; `R7a` is an alternative of `R7`."""
        for stem in (word, word.rstrip("abcdefghijklmnopqrstuvwxyz")):
            for part in (self.table.ids, self.table.predicates):
                if stem in part:
                    self.edit(start, stem, part)
                    return

    def written(self) -> str:
        text, parts, done = self.tokens.text, [], 0
        for start, end, new in sorted(self.edits):
            parts += [text[done:start], new]
            done = end
        return "".join((*parts, text[done:]))
