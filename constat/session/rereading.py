"""The comparisons behind `leaves`: facts, coverage, sources and summaries of one certificate.

In: the certificate as JSON, which the checker has accepted, so its shape is known. Out: `Leaf`
values. Invariant: rows are compared as the texts that certificates use, so no value is read in two
ways. Example: a `vip_threshold` of 100000 that is 90000 now gives two leaves, one `gone` and one
`new`.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from constat.evaluation import Demand
from constat.logic import Atom, Constant, Variable, format_value
from constat.session.spelling import canonical_value, shown_row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.evaluation import Answer, Call, Evidence, Externals
    from constat.logic import Predicate, Program, Row, Term

Texts = tuple[str, ...]
Ground = tuple[str, str, str, str | None, str | None]


@dataclass(frozen=True, slots=True)
class Leaf:
    """A fact or source of a certificate and what became of it.

    `status` is `same`, `gone`, `new`, `changed` or `unknown`; `detail` says more.
    """

    text: str
    status: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A row of the certificate with what it rests on."""

    predicate: str
    row: Texts
    ground: Ground


class Rereading:
    """One certificate and the external predicates of a project."""

    def __init__(self, document: Mapping[str, Any], program: Program, externals: Externals) -> None:
        self._document = document
        self._program = program
        self._externals = externals
        self._seen: list[tuple[str, Evidence]] = []
        self._shown: dict[str, dict[Texts, list[Ground]]] = {}
        for group in document["facts"]:
            ground = self._ground(group["source"], group["assumption"])
            rows = self._shown.setdefault(group["predicate"], {})
            for row in group["rows"]:
                rows.setdefault(tuple(row), []).append(ground)

    def facts(self) -> Iterator[Leaf]:
        """Ask for every shown row by itself."""
        for name, rows in sorted(self._shown.items()):
            predicate = self._declared(name)
            if predicate is None:
                yield Leaf(name, "unknown", "the project does not declare it so")
                continue
            places = tuple(range(predicate.arity))
            answer = self._ask(predicate, places, list(rows))
            found = _grounds(answer, predicate)
            for row, grounds in sorted(rows.items()):
                yield _compared(shown_row(predicate, name, row), grounds, found.get(row))

    def coverage(self) -> Iterator[Leaf]:
        """Ask for every covered key, for rows that exist and are not shown."""
        for covered in self._document["coverage"]:
            predicate = self._declared(covered["predicate"])
            if predicate is None:
                continue
            columns = tuple(covered["columns"])
            keys = [tuple(key) for key in covered["keys"]]
            answer = self._ask(predicate, columns, keys)
            yield from self._beyond(predicate, columns, set(keys), answer)

    def sources(self, calls: Sequence[Call]) -> Iterator[Leaf]:
        """Compare count and hash of each source with the same question asked now."""
        for call in calls:
            self._note(call.demand.predicate.name, call.answer)
        now: dict[tuple[object, ...], set[tuple[int, str]]] = {}
        for _, evidence in self._seen:
            found = now.setdefault(_question(evidence), set())
            found.add((evidence.row_count, evidence.content_hash.removeprefix("sha256:")))
        for source in self._document["sources"]:
            question = (
                source["tier"],
                source["origin"],
                source["name"],
                source["query"],
                tuple(source["parameters"]),
                source["author"],
            )
            text = f"{source['origin']} {source['name']}"
            told = (source["rows"], source["hash"].removeprefix("sha256:"))
            if question not in now:
                yield Leaf(text, "unknown", "the project does not ask this now")
            elif told not in now[question]:
                counts = ", ".join(str(count) for count, _ in sorted(now[question]))
                yield Leaf(text, "changed", f"{source['rows']} rows then, {counts} now")
            else:
                yield Leaf(text, "same")

    def summaries(self, again: Mapping[str, Any]) -> Iterator[Leaf]:
        """Compare the sums that stand for rows which are not shown."""
        now = [_summary(one, again) for one in again.get("summaries", ())]
        for summary in self._document["summaries"]:
            shown = _summary(summary, self._document)
            rule = self._document["rules"][summary["rule"]]["id"]
            text = f"aggregate of rule {rule} over {summary['count']} rows"
            yield Leaf(text, "same" if shown in now else "changed")

    def _beyond(
        self, predicate: Predicate, columns: tuple[int, ...], keys: set[Texts], answer: Answer
    ) -> Iterator[Leaf]:
        """Yield rows, shapes and gaps of an answer that the certificate does not show."""
        shown = self._shown.get(predicate.name, {})
        for row in _grounds(answer, predicate):
            if row not in shown and tuple(row[place] for place in columns) in keys:
                yield Leaf(shown_row(predicate, predicate.name, row), "new", "it is not shown")
        open_now = {tuple(_spelled(predicate, opening.row)) for opening in answer.openings}
        open_then = {
            tuple(one["row"])
            for one in self._document["open"]
            if one["predicate"] == predicate.name
        }
        for opened in sorted(open_now - open_then, key=str):
            slots = ", ".join("?" if slot is None else slot for slot in opened)
            yield Leaf(f"{predicate.name}({slots})", "unknown", "the source does not say it now")

    def _declared(self, name: str) -> Predicate | None:
        """Give the project's predicate when it has the columns of the certificate."""
        predicate = self._program.predicates.get(name)
        if predicate is None or name not in self._externals:
            return None
        for declaration in self._document["declarations"]:
            if declaration["name"] == name:
                kinds = [kind for _, kind in declaration["columns"]]
                return predicate if kinds == [kind.value for kind in predicate.kinds] else None
        return None

    def _ask(self, predicate: Predicate, columns: tuple[int, ...], keys: list[Texts]) -> Answer:
        rows = tuple(
            tuple(
                canonical_value(text, predicate.kinds[column])
                for text, column in zip(key, columns, strict=True)
            )
            for key in keys
        )
        answer = self._externals[predicate.name].answer(Demand(predicate, columns, rows))
        self._note(predicate.name, answer)
        return answer

    def _note(self, predicate: str, answer: Answer) -> None:
        self._seen += [(predicate, portion.evidence) for portion in answer.portions]
        self._seen += [(predicate, evidence) for evidence in answer.authorities]

    def _ground(self, source: int, assumption: int | None) -> Ground:
        told = self._document["sources"][source]
        text = None if assumption is None else self._document["assumptions"][assumption]["text"]
        return (told["tier"], told["origin"], told["name"], told["author"], text)


def written_goal(goal: Sequence[Any], analysed: AnalysedProgram) -> Atom | None:
    """Read the goal of a certificate; `None` where the project does not declare it so."""
    name, pattern = goal
    predicate = analysed.program.predicates.get(name)
    if predicate is None or predicate.arity != len(pattern):
        return None
    terms: list[Term] = []
    for column, text in zip(predicate.columns, pattern, strict=True):
        if text is None:
            terms.append(Variable(column.name))
            continue
        try:
            terms.append(Constant(canonical_value(text, column.kind), column.kind))
        except ValueError:
            return None
    return Atom(name, tuple(terms))


def _grounds(answer: Answer, predicate: Predicate) -> dict[Texts, list[Ground]]:
    found: dict[Texts, list[Ground]] = {}
    for portion in answer.portions:
        evidence = portion.evidence
        assumed = None if portion.assumption is None else portion.assumption.text
        ground = (evidence.tier, evidence.origin.value, evidence.source, evidence.author, assumed)
        for row in portion.rows:
            found.setdefault(_texts(predicate, row), []).append(ground)
    return found


def _compared(text: str, shown: list[Ground], found: list[Ground] | None) -> Leaf:
    if found is None:
        return Leaf(text, "gone")
    if not set(shown) <= set(found):
        return Leaf(text, "changed", "it comes from elsewhere now")
    return Leaf(text, "same")


def _question(evidence: Evidence) -> tuple[object, ...]:
    return (
        evidence.tier,
        evidence.origin.value,
        evidence.source,
        evidence.query,
        evidence.parameters,
        evidence.author,
    )


def _summary(summary: Mapping[str, Any], document: Mapping[str, Any]) -> dict[str, Any]:
    """Give a summary without the numbers that depend on the certificate it stands in."""
    return {**summary, "rule": document["rules"][summary["rule"]]["id"], "sources": None}


def _spelled(predicate: Predicate, row: Sequence[Any]) -> Iterator[str | None]:
    for slot, kind in zip(row, predicate.kinds, strict=True):
        yield (format_value(slot, kind) if isinstance(slot, int | float | str | Decimal) else None)


def _texts(predicate: Predicate, row: Row) -> Texts:
    return tuple(
        format_value(value, kind) for value, kind in zip(row, predicate.kinds, strict=True)
    )
