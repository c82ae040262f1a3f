"""What rule files declare, and a file in the canonical layout."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, Severity, Span
from constat.frozen import frozen
from constat.library.loading import CASES, SUFFIX, read_rules, rule_files
from constat.logic import Predicate
from constat.syntax import decode_rules, exit_code, print_atom
from constat.syntax.argument_styles import ArgumentStyle
from constat.syntax.formatting import format_text
from constat.syntax.loading import MAX_FILE
from constat.syntax.mistakes.spelling import too_large
from constat.syntax.parser import parse_file
from constat.syntax.printing import UNDECLARED, Predicates
from constat.syntax.surface import Declaration

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.logic import Program, Rule

# Nothing is evaluated and no source is asked.

_SIGN: Final = re.compile(r'\\.|["),]|(?:[A-Za-z]\w*)?\s*\(', re.DOTALL)
_LAST_WORD: Final = re.compile(r"[A-Za-z]\w*\Z")
_UNFIT: Final = 3


@frozen
class ListedRule:
    """A rule; `owner` is its own or that of its predicate.

    `status` is `proposed` (a model wrote it and nobody approved it), `approved`, or `written`: by
    a person, and it counts without anybody's approval.
    """

    id: str
    predicate: str
    head: str
    says: str
    owner: str
    confidence: str
    status: str
    author: str
    approved_by: str
    file: str
    line: int


@frozen
class ListedPredicate:
    """A predicate; `columns` are its columns' names, types and kinds.

    `source` is the connection it is read from, empty for one that rules derive or that no file
    gives a source; `external` tells whether its rows can come from outside.
    """

    name: str
    columns: tuple[tuple[str, str, str], ...]
    external: bool
    source: str
    owner: str
    says: str
    description: str
    rules: int
    facts: int
    file: str
    line: int


@frozen
class Listing:
    """Rules and predicates, in the order of the text."""

    rules: tuple[ListedRule, ...]
    predicates: tuple[ListedPredicate, ...]

    def only(self, *, predicate: str = "", owner: str = "", proposed: bool = False) -> Listing:
        """Give the part about a predicate, of an owner, or that is only proposed."""
        rules = tuple(
            rule
            for rule in self.rules
            if predicate in {"", rule.predicate}
            and owner in {"", rule.owner}
            and (not proposed or rule.status == "proposed")
        )
        wanted = {rule.predicate for rule in rules}
        predicates = tuple(
            one
            for one in self.predicates
            if predicate in {"", one.name}
            and ((owner in {"", one.owner} and not proposed) or one.name in wanted)
        )
        return Listing(rules, predicates)


def read_listing(paths: Sequence[Path], texts: dict[str, str]) -> Listing:
    """List rule files and folders. Raises `ConstatError` with their mistakes."""
    diagnostics: list[Diagnostic] = []
    files = rule_files(paths, diagnostics)
    analysed = None
    if not diagnostics:
        folders = [path if path.is_dir() else path.parent for path in paths]
        analysed = read_rules(files, folders, diagnostics, texts)
    if analysed is None:
        errors = [one for one in diagnostics if one.severity is Severity.ERROR]
        raise ConstatError(errors, exit_code=exit_code(errors))
    return list_rules(analysed)


def list_rules(analysed: AnalysedProgram) -> Listing:
    """List a program."""
    program = analysed.program
    rules = Counter(rule.head.predicate for rule in analysed.rules if rule.body)
    facts = Counter(rule.head.predicate for rule in analysed.rules if not rule.body)
    # What analysis made, as for a range, is in no file.
    written = [rule for rule in analysed.rules if "." not in rule.head.predicate]
    return Listing(
        tuple(_rule(rule, program) for rule in written if rule.body),
        tuple(
            _predicate(
                one, rules[one.name], facts[one.name], external=one.name in analysed.external
            )
            for one in program.predicates.values()
            if "." not in one.name
        ),
    )


def unfinished(text: str) -> tuple[str | None, str, int]:
    """Say where a goal that is being written ends: its last word, in whose arguments, and where.

    Gives the word, the predicate whose arguments are being written, and the place of the argument.

    The word is `None` within a text and for a variable, where no predicate can stand.
    """
    calls: list[tuple[str, int]] = []
    quoted = False
    for found in _SIGN.finditer(text):
        sign = found[0]
        if quoted or sign == '"':
            quoted = quoted != (sign == '"')
        elif sign.endswith("("):
            calls.append((sign[:-1].strip(), 0))
        elif sign == ")" and calls:
            calls.pop()
        elif sign == "," and calls:
            calls[-1] = (calls[-1][0], calls[-1][1] + 1)
    called, place = calls[-1] if calls else ("", 0)
    word = _LAST_WORD.search(text)
    variable = text[: word.start()].endswith("?") if word else False
    return None if quoted or variable else word[0] if word else "", called, place


def proposals(known: Sequence[ListedPredicate], word: str) -> list[ListedPredicate]:
    """Give the predicates that a word may stand for: by their names, then by what they say."""
    wanted = word.casefold()

    def rank(one: ListedPredicate) -> int:
        name = one.name.casefold()
        if name.startswith(wanted):
            return 0
        if wanted in name:
            return 1
        return 2 if wanted in f"{one.says} {one.description}".casefold() else _UNFIT

    ranked = sorted((rank(one), one.name) for one in known)
    named = {one.name: one for one in known}
    return [named[name] for place, name in ranked if place < _UNFIT]


def _rule(rule: Rule, program: Program) -> ListedRule:
    predicate = program.predicates[rule.head.predicate]
    approver = _approver(rule)
    return ListedRule(
        id=rule.id,
        predicate=predicate.name,
        head=print_atom(rule.head, program.predicates),
        says=rule.attributes.get("says", "") or predicate.attributes.get("says", ""),
        owner=rule.attributes.get("owner", "") or predicate.attributes.get("owner", ""),
        confidence=f"{rule.confidence:f}",
        status="proposed" if rule.proposed else "approved" if approver else "written",
        author=rule.attributes.get("author", ""),
        approved_by=approver,
        file=_file(rule.span),
        line=_line(rule.span),
    )


def _approver(rule: Rule) -> str:
    """Say who approved a rule; of one that a model wrote only the record tells (semantics 19)."""
    named = (rule.attributes.get(key) for key in ("approved.by", "approved"))
    return "" if rule.proposed else next((one for one in named if one), "")


def _predicate(one: Predicate, rules: int, facts: int, *, external: bool) -> ListedPredicate:
    return ListedPredicate(
        name=one.name,
        columns=tuple((column.name, column.type_name, column.kind.value) for column in one.columns),
        external=external,
        source=one.source.name if one.source else "",
        owner=one.attributes.get("owner", ""),
        says=one.attributes.get("says", ""),
        description=one.description,
        rules=rules,
        facts=facts,
        file=_file(one.span),
        line=_line(one.span),
    )


def _file(span: Span | None) -> str:
    return span.source if span else ""


def _line(span: Span | None) -> int:
    return span.line if span else 0


_CRLF = b"\r\n"


@frozen
class Rewritten:
    """A file before and after; `after` is `None` where the file has errors."""

    name: str
    before: bytes
    after: bytes | None
    diagnostics: tuple[Diagnostic, ...]
    texts: Mapping[str, str]

    @property
    def changed(self) -> bool:
        """Whether the file is not in the canonical layout."""
        return self.after is not None and self.after != self.before

    @property
    def status(self) -> str:
        """`error`, `changed` or `unchanged`."""
        if self.after is None:
            return "error"
        return "changed" if self.changed else "unchanged"


def rewrite(
    content: bytes,
    name: str,
    *,
    known: Predicates = UNDECLARED,
    style: ArgumentStyle = ArgumentStyle.WIDE_NAMED,
) -> Rewritten:
    """Lay out a file; `known` are predicates that other files declare."""
    found: list[Diagnostic] = []
    text = ""
    if len(content) > MAX_FILE:
        # Counted in bytes: who reads a file within bounds has cut off what lies beyond them.
        found.append(too_large(Span(name, 1, 1, 1, 1), "4 MiB"))
    else:
        text = decode_rules(content, name, found)
    written = None if found else format_text(text, name, found, known=known, style=style)
    errors = tuple(one for one in found if one.severity is Severity.ERROR)
    if written is None:
        return Rewritten(name, content, None, errors, {name: text})
    after = written.encode()
    if 2 * content.count(_CRLF) > content.count(b"\n"):
        after = after.replace(b"\n", _CRLF)
    return Rewritten(name, content, after, (), {name: text})


def declared_near(files: Sequence[Path]) -> dict[str, Predicate]:
    """Give what the files and those beside them declare; not what two declare differently.

    Cases speak of predicates that the folder above declares.
    """
    folders = dict.fromkeys(file.parent for file in files)
    folders.update({one.parent: None for one in folders if one.name == CASES})
    beside = (path for folder in folders for path in sorted(folder.glob(f"*{SUFFIX}")))
    found: dict[str, Predicate] = {}
    differing: set[str] = set()
    for path in dict.fromkeys((*files, *beside)):
        for one in _declared(path):
            first = found.setdefault(one.name, one)
            if [column.name for column in first.columns] != [column.name for column in one.columns]:
                differing.add(one.name)
    return {name: one for name, one in found.items() if name not in differing}


def _declared(path: Path) -> Iterator[Predicate]:
    """Yield what a file declares; one that cannot be read declares nothing here."""
    with suppress(OSError, ValueError), path.open("rb") as stream:
        text = stream.read(MAX_FILE).decode()
        for item in parse_file(text, path.name, []).items:
            if isinstance(item, Declaration):
                yield Predicate(item.name, item.columns)
