"""What a set of rule files declares, for people who look for a rule.

In: an analysed program. Out: a `Listing` of rules and predicates in the order of the text. Facts
are counted with their predicate. Invariant: nothing is evaluated and no source is asked. Example:
the rule `VIP1` is listed with its sentence, the owner of `is_vip` and its place.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from constat.diagnostics import ConstatError, Diagnostic, Severity
from constat.library.files import rule_files
from constat.library.loading import read_rules
from constat.syntax import exit_code, print_atom

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from constat.analysis import AnalysedProgram
    from constat.diagnostics import Span
    from constat.logic import Predicate, Program, Rule


@dataclass(frozen=True, slots=True)
class ListedRule:
    """A rule; `owner` is its own or that of its predicate, `status` `proposed` or `approved`."""

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
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


def _rule(rule: Rule, program: Program) -> ListedRule:
    predicate = program.predicates[rule.head.predicate]
    return ListedRule(
        id=rule.id,
        predicate=predicate.name,
        head=print_atom(rule.head, program.predicates),
        says=rule.attributes.get("says", "") or predicate.attributes.get("says", ""),
        owner=rule.attributes.get("owner", "") or predicate.attributes.get("owner", ""),
        confidence=f"{rule.confidence:f}",
        status="proposed" if rule.proposed else "approved",
        author=rule.attributes.get("author", ""),
        approved_by=_approver(rule),
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
