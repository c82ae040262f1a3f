"""Check one certificate from its bytes to its verdict."""

from __future__ import annotations

import hashlib
import stat
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, cast

from .aggregates import Aggregates, Group, absence_confidence, some_may_be_one
from .canonical import Rejected, document_of, each, read
from .certificate import Certificate, FactNode, RuleNode, read_certificate
from .closure import Bound, Closure, Growth, assigned, covers, exceeds, unified
from .levels import Levels, Lookups, weakest_level
from .program import check_program, components, dependencies
from .proofs import check_nesting, check_proofs, every
from .redaction import Writing
from .report import Report, accepted, rejected
from .rows import Entry, Joins, Rows, is_assignment, unify
from .rules import Aggregate, Binding, Comparison, Negative, Positive
from .values import MILLION, Hole, OpenRow, Row, is_vague, perhaps, surely

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from .canonical import Json
    from .certificate import ClosureEntry, Goal
    from .records import Quoted, Source
    from .rules import Atom, Literal, Rule, Test, Threshold

# Check that what a certificate shows does not decide a goal that it calls unresolved.
#
# Invariant: rows are taken for true only as nodes are, and rows for false only as the closure
# says; so whoever empties the nodes of a decided goal does not hide the decision. What is not
# shown stays the writer's word, and so does what takes more steps than this may. FORMAT.md,
# section 6.
#
# Example: with the three shares in the facts, a sum that passes its bound needs no node to do so.

_NOT_KNOWN: Final = frozenset({"unserved", "unbound"})
"""Why a look-up says nothing: the certificate does not show all that matches."""


@dataclass(slots=True)
class _Known:
    """Rows of one predicate that are true, found by any columns."""

    rows: dict[OpenRow, None] = field(default_factory=dict)
    indexes: dict[tuple[int, ...], dict[OpenRow, list[OpenRow]]] = field(default_factory=dict)

    def add(self, row: OpenRow) -> bool:
        """Add a row; tell whether it is new."""
        if row in self.rows:
            return False
        self.rows[row] = None
        for columns, index in self.indexes.items():
            index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        return True

    def find(self, pattern: OpenRow) -> list[OpenRow]:
        """Return the rows that match a pattern."""
        columns = tuple([c for c, value in enumerate(pattern) if not isinstance(value, Hole)])
        index = self.indexes.get(columns)
        if index is None:
            index = self.indexes[columns] = {}
            for row in self.rows:
                index.setdefault(tuple([row[column] for column in columns]), []).append(row)
        found = index.get(tuple([pattern[column] for column in columns]), ())
        return [row for row in found if surely(pattern, row)]


def check_undecided(certificate: Certificate, steps: int) -> None:
    """Reject a certificate whose goal follows, or cannot hold, by what it shows."""
    rows = Rows(certificate, steps)
    try:
        _Deciding(certificate, rows).run()
        _Bounding(certificate, rows).run()
    except Rejected as rejected:
        # Knowing more may ask for more than is shown; whatever else stops this decides nothing.
        if rejected.code == "verdict":
            raise


class _Deciding:
    """Finds all that is certain for the keys of the closure, rule by rule until nothing is new."""

    def __init__(self, certificate: Certificate, rows: Rows) -> None:
        self.certificate = certificate
        self.rows = rows
        self.known: dict[str, _Known] = {}
        self.aggregates = Aggregates(certificate, rows, MILLION)
        self.growth = Growth(self.aggregates, rows)
        self.joins = Joins(rows, self.find)
        for predicate, row in (*rows.groups, *rows.nodes):
            self.known.setdefault(predicate, _Known()).add(row)

    def run(self) -> None:
        """Reject where the goal becomes certain."""
        goal = self.certificate.header.goal
        new = True
        while new:
            new = False
            self.aggregates = Aggregates(self.certificate, self.rows, MILLION)
            self.growth = Growth(self.aggregates, self.rows)
            for predicate, row in self._heads():
                self.rows.groups.setdefault((predicate, row), (MILLION, ()))
                new |= self.known.setdefault(predicate, _Known()).add(row)
                if predicate == goal.predicate and surely(goal.pattern, row):
                    raise Rejected("verdict", "what is shown makes the goal true", "header.verdict")

    def find(self, predicate: str, pattern: OpenRow) -> list[OpenRow]:
        """Return the rows that are certain and match a pattern."""
        known = self.known.get(predicate)
        found = [] if known is None else known.find(pattern)
        self.rows.spend(1 + len(found))
        return found

    def _heads(self) -> Iterator[tuple[str, OpenRow]]:
        for entry in self.certificate.entries:
            for number, order in entry.orders:
                rule = self.certificate.program.rules[number]
                if self.rows.holds(rule.assumption):
                    for key in entry.keys:
                        start = unified(rule, entry.columns, key)
                        self.rows.spend(1 + len(rule.body))
                        if start is not None:
                            yield from self._heads_of(entry, key, (number, rule, order), start)

    def _heads_of(
        self,
        entry: ClosureEntry,
        key: OpenRow,
        ordered: tuple[int, Rule, tuple[int, ...]],
        start: Binding,
    ) -> Iterator[tuple[str, OpenRow]]:
        number, rule, order = ordered
        for binding in self._bindings(number, rule, order, start):
            head = self.rows.evaluator.instance(rule.head, binding)
            known = not any(isinstance(value, Hole) for value in head)
            if known and all(head[c] == v for c, v in zip(entry.columns, key, strict=True)):
                yield entry.predicate, head

    def _bindings(
        self, number: int, rule: Rule, order: tuple[int, ...], start: Binding
    ) -> list[Binding]:
        """Return the bindings under which a body is true."""
        decided = {one.threshold.place for _, one in rule.growing if one.threshold}
        found = [start]
        for at in order:
            literal = rule.body[at]
            if at not in decided and not isinstance(literal, Negative):
                found = [more for one in found for more in self._true(number, at, literal, one)]
        # Taken last: by now all is bound but what means "any".
        negated = [literal for literal in rule.body if isinstance(literal, Negative)]
        return [one for one in found if all(self._is_absent(literal, one) for literal in negated)]

    def _true(self, number: int, at: int, literal: Literal, binding: Binding) -> Iterable[Binding]:
        """Return the bindings under which a literal that negates nothing is true as well."""
        self.rows.spend(1)
        if isinstance(literal, Positive):
            pattern = self.rows.evaluator.instance(literal.atom, binding)
            rows = self.find(literal.atom.predicate, pattern)
            extended = (unify(literal.atom, pattern, row, binding) for row in rows)
            return [one for one in extended if one is not None]
        if isinstance(literal, Comparison):
            return self._compared(literal, binding)
        try:
            if isinstance(literal, Aggregate) and literal.threshold is not None:
                return self._exceeding(number, at, literal, literal.threshold, binding)
            if isinstance(literal, Aggregate):
                return self._folded(number, at, literal, binding)
        except Rejected as rejected:
            if rejected.code not in _NOT_KNOWN:
                raise
        return ()

    def _compared(self, test: Comparison, binding: Binding) -> tuple[Binding, ...]:
        truth = self.rows.evaluator.truth(test, binding)
        if truth is not Hole.UNBOUND:
            return (binding,) if truth is True else ()
        for side, other in ((test.left, test.right), (test.right, test.left)):
            value = self.rows.evaluator.value(other, binding)
            if is_assignment(test, side, binding) and not isinstance(value, Hole):
                extended = list(binding)
                extended[side.position] = value  # type: ignore[union-attr]  # it is a variable
                return (extended,)
        return ()

    def _folded(
        self, number: int, at: int, literal: Aggregate, binding: Binding
    ) -> tuple[Binding, ...]:
        value = self.aggregates.exact(number, at, literal, binding).value
        known = binding[literal.result.position]
        if value is None or isinstance(value, Hole):
            return ()
        if not isinstance(known, Hole):
            return (binding,) if known == value else ()
        extended = list(binding)
        extended[literal.result.position] = value
        return (extended,)

    def _exceeding(
        self, number: int, at: int, literal: Aggregate, threshold: Threshold, binding: Binding
    ) -> tuple[Binding, ...]:
        """Return the binding where the summands that are certain pass the bound."""
        group = Group(self.aggregates, literal, Joins(self.rows, self.find))
        group.only_inline = True
        total = Fraction()
        start = list(binding)
        for variable in literal.inner:
            start[variable] = Hole.UNBOUND
        counted: list[Row] = []
        for values in group.found(start):
            inner = assigned(literal, start, values)
            added = self.growth.summand(literal, inner)
            if added is not None and added >= 0 and self._all_true(literal, inner):
                total += added
                counted.append(values)  # type: ignore[arg-type]  # no hole is left
        if some_may_be_one(counted, self.rows.spend):
            return ()
        bound = self.growth.bound(threshold, binding)
        if bound is None or not exceeds(total, threshold, bound):
            return ()
        if threshold.proven or self.growth.top(number, at, literal, binding).grows:
            return (binding,)
        return ()

    def _all_true(self, literal: Aggregate, inner: Binding) -> bool:
        """Tell whether a summand's tests hold; its positive literals were found among what is."""
        for test in literal.body:
            if isinstance(test, Negative) and not self._is_absent(test, inner):
                return False
            if isinstance(test, Comparison) and self.rows.evaluator.truth(test, inner) is not True:
                return False
        return not any(isinstance(inner[variable], Hole) for variable in literal.inner)

    def _is_absent(self, literal: Negative, binding: Binding) -> bool:
        row = self.rows.evaluator.instance(literal.atom, binding)
        if Hole.STAR in row or Hole.ERROR in row:
            return False
        try:
            return not self.rows.possible(literal.atom.predicate, row)
        except Rejected as rejected:
            if rejected.code not in _NOT_KNOWN:
                raise
            return False


class _Bounding(Closure):
    """Finds which rows of the closure anything gives: the others are there to hide something."""

    def __init__(self, certificate: Certificate, rows: Rows) -> None:
        super().__init__(certificate, rows, Aggregates(certificate, rows, MILLION), Levels())
        self.new = False
        for part in rows.derived.values():
            part.rows.clear()
            part.indexes.clear()

    def run(self) -> None:
        """Reject where no row that matches the goal is given."""
        below = dependencies(self.certificate.program.rules)
        # The least numbers are those of the lowest predicates.
        component = components({head: list(found) for head, found in below.items()})
        for number in sorted(set(component.values())):
            entries = [e for e in self.certificate.entries if component[e.predicate] == number]
            self.new = bool(entries)
            while self.new:
                self._round(entries)
        goal = self.certificate.header.goal
        if not self.rows.possible(goal.predicate, goal.pattern):
            raise Rejected("verdict", "what is shown makes the goal false", "header.verdict")

    def _round(self, entries: Sequence[ClosureEntry]) -> None:
        self.new = False
        self.aggregates = Aggregates(self.certificate, self.rows, MILLION)
        self.growth = Growth(self.aggregates, self.rows)
        for entry in entries:
            bound = Bound(self.certificate.closure_rows.get(entry.predicate, ()))
            for rule, order in entry.orders:
                self.check_rule(entry, bound, rule, order)

    def take(self, predicate: str, row: OpenRow) -> None:
        """Add the row of the closure that is this head, or else all that cover it."""
        listed = self.certificate.closure_rows.get(predicate, ())
        part = self.rows.derived[predicate]
        self.rows.spend(len(part.rows))
        given = {entry.row for entry in part.rows}
        if row in given:
            return
        self.rows.spend(len(listed))
        found = [row] if row in listed else [one for one in listed if covers(one, row)]
        for one in found:
            if one not in given:
                part.rows.append(Entry(one))
                part.indexes.clear()
                self.new = True


# Check the nodes: each is a fact shown, or follows by its rule from earlier nodes.
#
# Invariant: premises point backward, so no fact supports itself; absence and aggregates reach
# only into lower strata.
#
# Example: a node whose premise is a later node is rejected with code ``premise``.


class Nodes:
    """Checks nodes in order; ``rests_on[i]`` are the nodes that node i uses."""

    def __init__(
        self, certificate: Certificate, rows: Rows, aggregates: Aggregates, levels: Levels
    ) -> None:
        self.nodes = certificate.nodes
        self.rules = certificate.program.rules
        self.evidence = certificate.evidence
        self.rows = rows
        self.aggregates = aggregates
        self.levels = levels
        self.growth = Growth(aggregates, rows)
        self.rests_on: list[list[int]] = []

    def check(self) -> None:
        """Reject the certificate at the first node that does not follow."""
        if len(self.rows.nodes) < len(self.nodes):
            raise Rejected("node", "two nodes have the same fact", "nodes")
        for position, node in enumerate(self.nodes):
            try:
                self._check(position, node)
            except Rejected as rejected:
                rejected.within(f"nodes[{position}]")
                raise

    def _check(self, position: int, node: FactNode | RuleNode) -> None:
        self.rests_on.append([])
        found = self._fact(node) if isinstance(node, FactNode) else self._rule(position, node)
        if found != node.confidence:
            raise Rejected("confidence", "the confidence is another", "confidence")

    def _accept(self, assumption: int | None) -> None:
        if assumption is None:
            return
        if not self.rows.holds(assumption):
            raise Rejected("assumption", "this rests on an assumption that is not accepted")
        self.rows.used_assumptions.add(assumption)

    def _fact(self, node: FactNode) -> int:
        groups = self.evidence.facts
        if node.group >= len(groups):
            raise Rejected("node", "there is no such group of facts", "facts")
        group = groups[node.group]
        if node.row >= len(group.rows):
            raise Rejected("node", "the group has no such row", "row")
        shown = self.rows.shown_row(node.group, group, node.row)
        if (group.predicate, shown.row) != (node.predicate, node.fact):
            raise Rejected("node", "the row of the group is another fact", "fact")
        for assumption in shown.rests_on:
            self._accept(assumption)
        return shown.confidence

    def _rule(self, position: int, node: RuleNode) -> int:
        rule = self.rules[node.rule]
        self._accept(rule.assumption)
        binding: Binding = [Hole.UNBOUND if value is None else value for value in node.bind]
        if (
            rule.head.predicate != node.predicate
            or self.rows.evaluator.instance(rule.head, binding) != node.fact
        ):
            raise Rejected("head", "the head under this binding is another fact", "fact")
        least = MILLION
        decided = {one.threshold.place for _, one in rule.growing if one.threshold}
        for at, literal in enumerate(rule.body):
            try:
                if at in decided:
                    _check_bare(node.premises[at])
                else:
                    least = min(least, self._noted(position, node, at, literal, binding))
            except Rejected as rejected:
                rejected.within(f"premises[{at}]")
                raise
        return least * rule.confidence // MILLION

    def _noted(
        self, position: int, node: RuleNode, at: int, literal: Literal, binding: Binding
    ) -> int:
        """Check a literal; what an absence or an aggregate looks up is noted for its level."""
        if isinstance(literal, Positive):
            return self._premise(position, node.premises[at], literal.atom, binding)
        if isinstance(literal, Negative | Aggregate):
            self.rows.lookups = Lookups()
            self.levels.literals.append((position, at, self.rows.lookups))
        return self._literal(position, node, at, literal, binding)

    def _literal(
        self, position: int, node: RuleNode, at: int, literal: Literal, binding: Binding
    ) -> int:
        if not isinstance(literal, Aggregate):
            return self._test(position, node.premises[at], literal, binding)
        if literal.threshold is not None:
            return self._exceeding(position, node, at, literal, binding)
        _check_bare(node.premises[at])
        return self._aggregated(position, node, at, literal, binding)

    def _test(self, position: int, premise: int | None, test: Test, binding: Binding) -> int:
        if isinstance(test, Positive):
            return self._premise(position, premise, test.atom, binding)
        _check_bare(premise)
        match test:
            case Negative(atom):
                return self._absent(atom, binding)
            case Comparison():
                return self._compared(test, binding)

    def _premise(self, position: int, premise: int | None, atom: Atom, binding: Binding) -> int:
        if premise is None or premise >= position:
            raise Rejected("premise", "a premise is an earlier node")
        earlier = self.nodes[premise]
        wanted = self.rows.evaluator.instance(atom, binding)
        same = earlier.predicate == atom.predicate
        if not same or not (earlier.fact == wanted or surely(wanted, earlier.fact)):
            raise Rejected("premise", "the premise is another fact")
        self.rests_on[position].append(premise)
        return earlier.confidence

    def _absent(self, atom: Atom, binding: Binding) -> int:
        row = self.rows.evaluator.instance(atom, binding)
        # Reading allows an unbound variable here only where it occurs once: then it means "any".
        if Hole.STAR in row or Hole.ERROR in row:
            raise Rejected("negation", "the negated atom has no value")
        if self.rows.possible(atom.predicate, row):
            raise Rejected("negation", "the negated atom may be true")
        return self.aggregates.absence

    def _compared(self, literal: Comparison, binding: Binding) -> int:
        if self.rows.evaluator.truth(literal, binding) is not True:
            raise Rejected("comparison", "the comparison does not hold")
        return MILLION

    def _aggregated(
        self, position: int, node: RuleNode, at: int, literal: Aggregate, binding: Binding
    ) -> int:
        exact = self.aggregates.exact(node.rule, at, literal, binding)
        if exact.value is None or isinstance(exact.value, Hole):
            raise Rejected("aggregate", "the aggregate has no exact value")
        if exact.value != binding[literal.result.position]:
            raise Rejected("aggregate", f"the aggregate is {str(exact.value)[:80]}")
        self.rests_on[position] += exact.consulted
        return exact.confidence

    def _exceeding(
        self,
        position: int,
        node: RuleNode,
        at: int,
        literal: Aggregate,
        binding: Binding,
    ) -> int:
        """Check that what is listed exceeds the bound, and that nothing can take from it."""
        threshold = cast("Threshold", literal.threshold)
        if some_may_be_one([one.values for one in node.listed[at]], self.rows.spend):
            raise Rejected("threshold", "two of what is listed may be one")
        least, total = MILLION, Fraction()
        for number, one in enumerate(node.listed[at]):
            inner = assigned(literal, binding, one.values)
            try:
                sure, value = self._summand(position, one.premises, literal, inner)
            except Rejected as rejected:
                rejected.within(f"[{number}]")
                raise
            least, total = min(least, sure), total + value
        bound = self.growth.bound(threshold, binding)
        if bound is None or not exceeds(total, threshold, bound):
            raise Rejected("threshold", "what is listed does not exceed the bound")
        if threshold.proven:
            return least
        top = self.growth.top(node.rule, at, literal, binding)
        if not top.grows:
            raise Rejected("threshold", "a row of this group may be negative")
        self.rests_on[position] += top.consulted
        return min(least, self.aggregates.absence)

    def _summand(
        self, position: int, premises: tuple[int | None, ...], literal: Aggregate, inner: Binding
    ) -> tuple[int, Fraction]:
        least = MILLION
        for premise, test in zip(premises, literal.body, strict=True):
            least = min(least, self._test(position, premise, test, inner))
        value = self.growth.summand(literal, inner)
        if value is None or value < 0:
            raise Rejected("threshold", "a summand is negative or has no value")
        return least, value


def _check_bare(premise: int | None) -> None:
    if premise is not None:
        raise Rejected("premise", "only a positive literal has a premise")


def check_all_used(rests_on: list[list[int]], roots: set[int]) -> None:
    """Reject a node that neither the goal nor an upper bound needs."""
    used: set[int] = set()
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if node not in used:
            used.add(node)
            waiting += rests_on[node]
    for position in range(len(rests_on)):
        if position not in used:
            raise Rejected("unused", "nothing needs this node", f"nodes[{position}]")


# Compare what a certificate quotes of documents with the documents themselves.
#
# Gives how many quotations were found word by word, and how many only stand in a document whose
# hash is right; ``Rejected`` where a document is missing or another, or other words stand there.
# Invariant: no path leads out of the folder, and nothing but bytes is read. FORMAT.md, section 5.
#
# Example: bytes 15 to 36 of ``contracts/acme.md`` are ``Supplier: Acme``.

MOST_BYTES: Final = 1 << 30
"""Bytes of one document."""


@dataclass(frozen=True, slots=True)
class Compared:
    """How many quotations were compared: ``words`` byte by byte, ``hashes`` by the file alone."""

    words: int = 0
    hashes: int = 0

    def __str__(self) -> str:
        """Say what was compared, and what has to be believed."""
        parts = []
        if self.words:
            parts.append(f"{_quotations(self.words)} found in documents, byte by byte")
        if self.hashes:
            parts.append(
                f"{_quotations(self.hashes)} of documents that have the hash; that their words are"
                " in the text, whoever read them says"
            )
        return "; ".join(parts) or "nothing rests on documents"


def _quotations(count: int) -> str:
    return f"{count:,} quotation{'' if count == 1 else 's'}"


def compare_documents(certificate: Certificate, folder: Path) -> Compared:
    """Compare all quotations, those of nested certificates included."""
    contents: dict[str, bytes] = {}
    words = hashes = 0
    for one in every(certificate):
        for position, source in enumerate(one.evidence.sources):
            if source.span is None:
                continue
            try:
                if _compare(source, source.span, folder, contents):
                    words += 1
                else:
                    hashes += 1
            except Rejected as reason:
                reason.within(f"sources[{position}].span")
                raise
    return Compared(words, hashes)


def _compare(source: Source, span: Quoted, folder: Path, contents: dict[str, bytes]) -> bool:
    """Compare one quotation; tell whether its words were found."""
    if span.document not in contents:
        contents.clear()  # quotations of one document stand together; one at a time is held
        contents[span.document] = _content(span.document, folder)
    content, named = contents[span.document], f"{span.document!r:.80}"
    found = f"sha256:{hashlib.sha256(content).hexdigest()}"
    if span.hash is not None and span.hash != found:
        raise Rejected("document", f"the document {named} has another hash")
    told = source.attestation
    # Words of a text that a reader made of the file stand in that text.
    if told is not None and told.answered is not None and told.answered != found:
        if span.hash is not None:
            return False
        # Whoever hides the rest tells neither hash nor place: the words stand there somewhere.
        if span.text.encode() not in content:
            raise Rejected("document", f"nothing says which document {named} is")
        return True
    if content[span.start : span.end] != span.text.encode():
        raise Rejected("document", f"other words stand there in {named}")
    return True


def _content(name: str, folder: Path) -> bytes:
    parts = PurePosixPath(name)
    if parts.is_absolute() or ".." in parts.parts or "\\" in name or "\0" in name:
        raise Rejected("document", "its name leads out of the folder")
    try:
        path = (folder / parts).resolve(strict=True)
        if not path.is_relative_to(folder.resolve(strict=True)):
            raise Rejected("document", "its name leads out of the folder")
        if not stat.S_ISREG(path.stat().st_mode):
            raise Rejected("document", "it is no file")
        with path.open("rb") as file:
            content = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError):
        message = f"the document {name!r:.80} is not in this folder, which is that of the project"
        raise Rejected("document", message) from None
    if len(content) > MOST_BYTES:
        raise Rejected("document", f"the document {name!r:.80} is too large")
    return content


# Check one certificate from its bytes to its verdict.

# PROVED needs a node, DISPROVED needs the absence of every possible row, UNRESOLVED needs that
# neither is given; an assumption is listed exactly where one is used.


def check_verdict(certificate: Certificate, rows: Rows, absence: int, levels: Levels) -> set[int]:
    """Return the goal's nodes; note the level of its absence."""
    header = certificate.header
    if header.verdict.endswith("_UNDER") != bool(header.under):
        raise Rejected("verdict", "the assumptions do not fit the verdict", "header.under")
    if header.verdict != "UNRESOLVED" and certificate.missing:
        raise Rejected("verdict", "nothing is missing where the goal is decided", "missing")
    carrying = {
        position
        for position, node in enumerate(certificate.nodes)
        if node.predicate == header.goal.predicate and surely(header.goal.pattern, node.fact)
    }
    if header.verdict in {"PROVED", "PROVED_UNDER"}:
        confidence = _proved(certificate, carrying)
    elif header.verdict in {"DISPROVED", "DISPROVED_UNDER"}:
        rows.lookups = Lookups()
        levels.literals.append((None, None, rows.lookups))
        confidence = _disproved(header.goal, rows, absence)
    else:
        confidence = _unresolved(certificate, rows, carrying)
    if confidence != header.confidence:
        raise Rejected("confidence", "the confidence is another", "header.confidence")
    return carrying


def _proved(certificate: Certificate, carrying: set[int]) -> int:
    if not carrying:
        raise Rejected("verdict", "no node is the goal", "header.verdict")
    return max(certificate.nodes[position].confidence for position in carrying)


def _disproved(goal: Goal, rows: Rows, absence: int) -> int:
    if rows.possible(goal.predicate, goal.pattern):
        raise Rejected("verdict", "the goal may be true", "header.verdict")
    return absence


def _unresolved(certificate: Certificate, rows: Rows, carrying: set[int]) -> int:
    goal = certificate.header.goal
    possible = rows.possible(goal.predicate, goal.pattern)
    if not possible:
        raise Rejected("verdict", "the goal is false", "header.verdict")
    if carrying or any(
        surely(goal.pattern, row) and rows.certain(goal.predicate, row) for row in possible
    ):
        raise Rejected("verdict", "the goal is true", "header.verdict")
    undecided = _undecided(certificate)

    def step(missing: Goal) -> None:
        rows.spend(len(undecided))
        _check_missing(missing, undecided)

    each("missing", certificate.missing, step)
    return 0


def _undecided(certificate: Certificate) -> list[tuple[str, OpenRow]]:
    """Return the rows that are open, that rest on an assumption, or that have unknown cells."""
    evidence = certificate.evidence
    rows: list[tuple[str, OpenRow]] = [(row.predicate, row.row) for row in evidence.open]
    for group in evidence.facts:
        rows += [
            (group.predicate, row)
            for row in group.rows
            if group.rests_on or any(map(is_vague, row))
        ]
    return rows


def _check_missing(missing: Goal, undecided: list[tuple[str, OpenRow]]) -> None:
    if not any(
        predicate == missing.predicate and perhaps(missing.pattern, row)
        for predicate, row in undecided
    ):
        raise Rejected("missing", "nothing open and nothing assumed matches this")


def check_level(certificate: Certificate) -> None:
    """Reject a level of completeness that is not the weakest that occurs."""
    weakest = weakest_level(certificate)
    if certificate.header.level != weakest:
        raise Rejected("level", f"the weakest level is {weakest or 'none'}", "header.level")


def check_under(certificate: Certificate, rows: Rows) -> None:
    """Reject an accepted assumption that nothing uses, and a verdict on hidden values alone."""
    redaction, header = certificate.redaction, certificate.header
    if redaction is not None and redaction.closed:
        if header.verdict != "UNRESOLVED" and redaction.assumption not in header.under:
            raise Rejected("redaction", "the verdict rests on hidden values", "header.under")
        rows.used_assumptions.add(redaction.assumption)
    for assumption in sorted(certificate.header.under - rows.used_assumptions):
        raise Rejected("under", f"nothing uses assumption {assumption}", "header.under")


# A certificate is accepted only after every pass below has run to its end, for it and for every
# certificate nested in it.

LEAST_STEPS: Final = 5_000_000
STEPS_PER_CLOSURE_ROW: Final = 2_000
UNDECIDED_SHARE: Final = 10
"""One step in so many is allowed again, to see that an ``UNRESOLVED`` goal is not decided."""


def check_certificate(
    data: bytes,
    *,
    pin: str | None = None,
    trusted: Collection[str] = (),
    documents: Path | None = None,
) -> Report:
    """Check a certificate; ``pin`` is the ``sha256:...`` of the rules that it must have.

    Where there is a pin, the rules of nested certificates are these or among the ``trusted``. With
    a folder of ``documents`` what is quoted of them must stand there.
    """
    try:
        document = read(data)
        check_nesting(document.tree)
        certificate = read_certificate(document)
        if pin is not None:
            _check_pin(certificate, {pin})
            _check_nested_pins(certificate, {pin, *trusted})
        levels, _ = _check(certificate, allowed_steps(certificate))
        if certificate.header.verdict == "UNRESOLVED":
            check_undecided(certificate, allowed_steps(certificate) // UNDECIDED_SHARE)
        if documents is None:
            return accepted(certificate, document, levels)
        compared = compare_documents(certificate, documents)
        report = accepted(certificate, document, levels)
        return replace(report, notes=(f"documents: {compared}", *report.notes))
    except Rejected as reason:
        return rejected(reason)
    except (RecursionError, MemoryError):
        return rejected(Rejected("limit", "the certificate is too large to check"))


@dataclass(frozen=True, slots=True)
class ViewAnswers:
    """What a view has to tell: questions with answers, sorted; results of functions; its level."""

    answers: tuple[tuple[Json, Json], ...]
    made: frozenset[tuple[str, str]]
    level: str | None


def questions_about_hidden(
    tree: dict[str, Json],
    values: dict[str, tuple[str, str]],
    commit: Callable[[str, str], str],
) -> ViewAnswers:
    """Check a view to which nothing is told yet, with its ``values`` by commitment; give answers.

    ``commit`` gives the commitment of a value that stands in no cell.  ``Rejected`` where nothing
    that may be told makes the view follow.
    """
    read_one = read_certificate(document_of(tree))
    if read_one.redaction is None:
        return ViewAnswers((), frozenset(), read_one.header.level)
    writing = Writing(read_one.redaction, values, commit)
    certificate = replace(read_one, redaction=writing)
    check_program(certificate.program)
    check_proofs(certificate)
    _check_conclusions(certificate, Rows(certificate, allowed_steps(certificate)))
    if certificate.header.verdict == "UNRESOLVED":
        check_undecided(certificate, allowed_steps(certificate) // UNDECIDED_SHARE)
    answers = tuple(pair for _, pair in sorted(writing.noted.items()))
    return ViewAnswers(answers, frozenset(writing.made), weakest_level(certificate))


def allowed_steps(certificate: Certificate) -> int:
    """Return how many steps a certificate and those nested in it may take together."""
    rows = (len(found) for one in every(certificate) for found in one.closure_rows.values())
    return max(LEAST_STEPS, STEPS_PER_CLOSURE_ROW * sum(rows))


def _check_pin(certificate: Certificate, pins: Collection[str]) -> None:
    if certificate.header.program not in pins:
        raise Rejected("pin", "these are not the rules that are pinned", "header.program")


def _check_nested_pins(certificate: Certificate, pins: Collection[str]) -> None:
    for position, inner in enumerate(certificate.nested):
        try:
            _check_pin(inner, pins)
            _check_nested_pins(inner, pins)
        except Rejected as reason:
            reason.within(f"proofs[{position}]")
            raise


def _check(certificate: Certificate, steps: int) -> tuple[Levels, int]:
    """Check a certificate after those nested in it; give its levels and the steps that are left."""
    for position, inner in enumerate(certificate.nested):
        try:
            _, steps = _check(inner, steps)
        except Rejected as reason:
            reason.within(f"proofs[{position}]")
            raise
    check_program(certificate.program)
    check_proofs(certificate)
    rows = Rows(certificate, steps)
    levels = _check_conclusions(certificate, rows)
    check_level(certificate)
    return levels, rows.steps


def _check_conclusions(certificate: Certificate, rows: Rows) -> Levels:
    absence = absence_confidence(certificate)
    levels = Levels()
    aggregates = Aggregates(certificate, rows, absence)
    closure = Closure(certificate, rows, aggregates, levels)
    closure.check()
    nodes = Nodes(certificate, rows, aggregates, levels)
    nodes.check()
    carrying = check_verdict(certificate, rows, absence, levels)
    check_under(certificate, rows)
    check_all_used(nodes.rests_on, carrying | closure.consulted | rows.consulted)
    for position in range(len(certificate.summaries)):
        if position not in aggregates.used_summaries:
            raise Rejected("unused", "nothing needs this summary", f"summaries[{position}]")
    return levels
