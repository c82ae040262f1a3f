"""Views of a certificate: hidden values in place of some, and nothing that tells what they were.

In: the members of a certificate, the columns to hide, a secret.  Out: the members of a view.
Invariants: a hidden value is hidden wherever it stands, also inside of longer ones; no text, hash,
query parameter, length or order is left that depends on it; with one secret a certificate has one
view.  What has to be told about hidden values for the check is not here: a checker names it.

Example: with ``placed_order.amount`` hidden, the amount 60000 is ``["hidden", "sha256:..."]`` in
rows, nodes and keys.  FORMAT.md, section 5c, says what a view is.
"""

from __future__ import annotations

import hashlib
import heapq
import hmac
import json
import re
from dataclasses import dataclass, field
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.proof.encoding import canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Members = dict[str, Any]
Column = tuple[str, int]
Pair = tuple[str, str]
"""A kind and the spelling of a value."""

HIDDEN: Final = "hidden"
WITHHELD: Final = "(hidden)"
SALT: Final = 32
_SHORTEST_INSIDE: Final = 3
"""A value of so many characters is looked for inside of longer ones as well."""
_VERDICTS: Final = MappingProxyType({"PROVED": "PROVED_UNDER", "DISPROVED": "DISPROVED_UNDER"})
_CONFLICT: Final = "conflict: "


class CannotHideError(Exception):
    """What a certificate says of the values cannot be hidden; the message tells why."""


def sha256(value: object) -> str:
    """Return the hash of the canonical form of JSON."""
    return "sha256:" + hashlib.sha256(canonical(value).encode()).hexdigest()


@dataclass
class Commitments:
    """Commitments under one secret; ``made`` are the values by their hash."""

    secret: bytes
    made: dict[str, Pair] = field(default_factory=dict)

    def salt(self, kind: str, text: str) -> str:
        """Return the salt of a value: nobody without the secret can tell it from noise."""
        return self.keyed([kind, text])[:SALT]

    def of(self, kind: str, text: str) -> str:
        """Return the commitment of a value, and remember the value."""
        found = self.other(kind, text)
        self.made[found] = (kind, text)
        return found

    def other(self, kind: str, text: str) -> str:
        """Return the commitment of what is no value: a hash."""
        return sha256([self.salt(kind, text), kind, text])

    def keyed(self, value: object) -> str:
        """Return what sorts without telling the order of values."""
        return hmac.new(self.secret, canonical(value).encode(), hashlib.sha256).hexdigest()


def cell_order(cell: Any) -> tuple[int, int, str]:  # noqa: ANN401  JSON
    """Order cells as FORMAT.md says, section 2."""
    if cell is None:
        return (0, 0, "")
    if isinstance(cell, str):
        return (6, 0, cell)
    if isinstance(cell, int):
        return (4, cell, "")
    match cell:
        case ["hidden", found]:
            return (5, 0, found)
        case ["maybe", ordinal]:
            return (2, ordinal, "")
        case ["unknown", number]:
            return (3, number, "")
        case ["unknown", number, *made]:
            return (3, number, canonical(made))
        case _:
            return (1, 0, "")


def row_order(row: Sequence[Any]) -> list[tuple[int, int, str]]:
    """Order rows cell by cell."""
    return [cell_order(cell) for cell in row]


def structure_texts(values: Iterable[Sequence[Any]]) -> list[str]:
    """Return the structures of the table as texts."""
    texts: list[str] = []
    for constructor, *fields in values:
        inner = ", ".join(texts[one] if isinstance(one, int) else one for one in fields)
        texts.append(f"[{inner}]" if constructor == "[]" else f"{constructor}({inner})")
    return texts


def text_of(cell: Any, texts: Sequence[str]) -> str | None:  # noqa: ANN401  JSON
    """Return the value in a cell, ``None`` where it holds none."""
    return texts[cell] if isinstance(cell, int) else cell if isinstance(cell, str) else None


def rows_of(members: Members) -> Iterator[tuple[str, list[Any]]]:
    """Yield the rows and patterns of a certificate that have all columns, with their predicate."""
    for group in members["facts"]:
        yield from ((group["predicate"], row) for row in group["rows"])
    yield from ((one["predicate"], one["row"]) for one in members["open"])
    yield from ((node["fact"][0], node["fact"][1]) for node in members["nodes"])
    for predicate, rows in members["closure"]["rows"]:
        yield from ((predicate, row) for row in rows)
    yield from ((predicate, row) for predicate, row in members["missing"])
    yield from ((one[0], one[1]) for one in members["labels"])
    yield (members["header"]["goal"][0], members["header"]["goal"][1])


def values_of(
    members: Members, columns: Iterable[Column], keep: Callable[[str, list[Any]], bool]
) -> set[Pair]:
    """Return the values that stand in these columns, but those of rows that are kept."""
    texts = structure_texts(members["values"])
    kinds = {one["name"]: [kind for _, kind in one["columns"]] for one in members["declarations"]}
    named = set(columns)
    cells = (
        (predicate, column, cell)
        for predicate, row in rows_of(members)
        if not keep(predicate, row)
        for column, cell in enumerate(row)
    )
    return {
        (kinds[predicate][column], text)
        for predicate, column, cell in chain(cells, _other_cells(members))
        if (predicate, column) in named and (text := text_of(cell, texts)) is not None
    }


def _other_cells(members: Members) -> Iterator[tuple[str, int, Any]]:
    """Yield the cells of keys and fillings, with predicate and column."""
    for one in (*members["coverage"], *members["closure"]["entries"]):
        for key in one["keys"]:
            for column, cell in zip(one["columns"], key, strict=True):
                yield one["predicate"], column, cell
    for one in members["filled"]:
        yield members["facts"][one["facts"]]["predicate"], one["column"], one["value"]


@dataclass(frozen=True)
class NestedView:
    """The view of a nested certificate; ``moved`` tells where its assumptions went."""

    whole: Members
    members: Members
    moved: dict[int, int]

    def taken(self, number: int) -> int | None:
        """Return which of its imported assumptions one in `under` was; ``None`` for the new one."""
        was = next((old for old, new in self.moved.items() if new == number), None)
        return None if was is None else sorted(self.whole["header"]["under"]).index(was)


class View:
    """Makes the members of a view; ``hidden`` are the values, ``columns`` what was asked for.

    ``nested`` are the views of the nested certificates, under the same secret: what is hidden in
    one of them is hidden by the same commitment in all.
    """

    def __init__(
        self,
        members: Members,
        columns: Sequence[Column],
        hidden: set[Pair],
        commitments: Commitments,
        name: str | None,
        *,
        nested: Sequence[NestedView] = (),
    ) -> None:
        self.members = members
        self.nested = nested
        self.assumed: dict[int, int] = {}
        self.columns = sorted(set(columns))
        self.hidden = {text for _, text in hidden}
        self.commitments = commitments
        self.name = name
        self.texts = structure_texts(members["values"])
        self.kinds = {
            one["name"]: [kind for _, kind in one["columns"]] for one in members["declarations"]
        }
        self.within = self._pattern(_SHORTEST_INSIDE)
        self.words = self._pattern(1)
        self.labels: dict[int, int] = {}
        self.used: set[int] = set()
        self._refuse(hidden)

    def _pattern(self, shortest: int) -> re.Pattern[str] | None:
        """Return what finds values of at least this length, ``None`` where there is none."""
        spelled = {form for text in self.hidden for form in _spellings(text)}
        listed = sorted((one for one in spelled if len(one) >= shortest), key=len, reverse=True)
        # A name is found anywhere, a number where it is not a part of another number.
        words = [
            re.escape(one) for one in listed if len(one) >= _SHORTEST_INSIDE and _has_letter(one)
        ]
        others = [
            re.escape(one)
            for one in listed
            if not (len(one) >= _SHORTEST_INSIDE and _has_letter(one))
        ]
        parts = words + ([rf"(?<![\w.])(?:{'|'.join(others)})(?!\.?\w)"] if others else [])
        return re.compile("|".join(parts), re.IGNORECASE) if parts else None

    def _refuse(self, hidden: set[Pair]) -> None:
        """Refuse what would tell a hidden value whatever is done."""
        for rule in self.members["rules"]:
            for kind, text in constants_of(rule):
                if (kind, text) in hidden:
                    raise CannotHideError(
                        f"rule {rule['id']} names one of the values, so whoever reads the proof "
                        "knows it"
                    )
        named = {predicate for predicate, _ in self.columns}
        for summary in self.members["summaries"]:
            rule = self.members["rules"][summary["rule"]]
            body = rule["body"][summary["literal"]][4]
            if any(one[0] != "?" and one[1][0] in named for one in body):
                raise CannotHideError(
                    f"a total of rule {rule['id']} is over {summary['count']} rows that the "
                    "certificate does not show, and their sums would tell of them"
                )
            if any(self.hides(text_of(cell, self.texts)) for cell in summary["group"]):
                raise CannotHideError(f"a value names a group of rows of rule {rule['id']}")

    def hides(self, text: str | None) -> bool:
        """Tell whether a value is hidden: one of the values, or one that holds such a one."""
        if text is None:
            return False
        return text in self.hidden or (self.within is not None and bool(self.within.search(text)))

    def said(self, text: str | None) -> str | None:
        """Return a text of the certificate, which is withheld where it tells a hidden value."""
        told = text is not None and self.words is not None and self.words.search(text)
        if not told and not self.hides(text):
            return text
        return WITHHELD

    # Cells and rows.

    def cell(self, cell: Any, kind: str) -> Any:  # noqa: ANN401  JSON
        """Return a cell of the view."""
        text = text_of(cell, self.texts)
        if text is not None:
            if self.hides(text):
                return [HIDDEN, self.commitments.of(kind, text)]
            if isinstance(cell, int):
                self.used.add(cell)
            return cell
        match cell:
            case ["unknown", number]:
                return ["unknown", self.labels[number]]
            case ["unknown", number, function, given]:
                if any(self.hides(one) for one in given):
                    raise CannotHideError(f"a function ({function}) of an unknown value names it")
                return ["unknown", self.labels[number], function, given]
            case _:
                return cell

    def row(self, row: Sequence[Any], kinds: Sequence[str]) -> list[Any]:
        """Return a row of the view."""
        return [self.cell(cell, kind) for cell, kind in zip(row, kinds, strict=True)]

    def rows(self, rows: Iterable[Sequence[Any]], kinds: Sequence[str]) -> list[list[Any]]:
        """Return rows of the view in the order of the view."""
        return sorted((self.row(row, kinds) for row in rows), key=row_order)

    def made(self) -> Members:
        """Return the members of the view, without what has to be told."""
        members = self.members
        labels = self._labels()
        sources, source_places, hidden_sources = self._sources()
        facts, fact_places = self._facts(source_places)
        assumptions, assumed = self._assumptions()
        nodes = self._nodes(fact_places)
        closure = self._closure()
        header = self._header(len(assumptions), assumed)
        found = {
            **members,
            "header": header,
            "sources": sources,
            "facts": [_moved(one, assumed) for one in facts],
            "coverage": self._coverage(source_places),
            "open": [_moved(one, assumed) for one in self._open()],
            "assumptions": assumptions,
            "filled": self._filled(fact_places, source_places, assumed),
            "nodes": nodes,
            "closure": closure,
            "summaries": [
                {**one, "sources": sorted(source_places[at] for at in one["sources"])}
                for one in members["summaries"]
            ],
            "missing": self._missing(),
            "labels": labels,
            "redaction": {
                "of": self.commitments.other("identity", members["identity"]),
                "assumption": len(assumptions),
                "columns": [list(one) for one in self.columns],
                "view": self.name,
                "sources": hidden_sources,
                "opened": [],
                "told": [],
            },
            "record": self._record(source_places, hidden_sources),
        }
        found["assumptions"] = [*assumptions, self._assumption()]
        self.assumed = assumed
        if not self.commitments.made:
            # Nothing stands here that could be hidden, so nothing rests on what is.
            header |= {"verdict": members["header"]["verdict"]}
            header["under"] = [at for at in header["under"] if at < len(assumptions)]
        if self.nested:
            self._take_over(found, source_places)
        return self._without_unused(found)

    def _take_over(self, found: Members, places: dict[int, int]) -> None:
        """Put the nested views in, and take over what they rest on: also that they hide values."""
        order = sorted(self.nested, key=lambda one: one.members["identity"])
        header, assumptions = found["header"], found["assumptions"]
        found["proofs"] = [one.members for one in order]
        added: list[int] = []
        for at, source in enumerate(self.members["sources"]):
            if source["proof"] is None:
                continue
            inner = self.nested[source["proof"]["certificate"]]
            taken: list[int] = []
            for number in sorted(inner.members["header"]["under"]):
                told, was = inner.members["assumptions"][number], inner.taken(number)
                if was is None:
                    place = _place_of(assumptions, told)
                    added += [place] if self._is_held(source) else []
                else:
                    place = self.assumed[source["proof"]["assumptions"][was]]
                    whole = inner.whole["assumptions"][sorted(inner.whole["header"]["under"])[was]]
                    others = set(assumptions[place]["attestations"]) - {*whole["attestations"]}
                    hashes = sorted(others | {*told["attestations"]})
                    assumptions[place] = {**told, "attestations": hashes}
                taken.append(place)
            shown = found["sources"][places[at]]
            shown["name"] = inner.members["identity"]
            shown["proof"] = {"certificate": order.index(inner), "assumptions": taken}
        if added and header["verdict"] != "UNRESOLVED":
            header["under"] = sorted({*header["under"], *added})
            header["verdict"] = _VERDICTS.get(header["verdict"], header["verdict"])

    def _is_held(self, source: Members) -> bool:
        """Tell whether what a nested certificate proves counts in the reading."""
        return set(source["proof"]["assumptions"]) <= set(self.members["header"]["under"])

    def _assumption(self) -> Members:
        """Say exactly what is hidden: of each column how many of its values, and what else."""
        hidden = set(self.commitments.made.values())
        parts: list[str] = []
        counted: set[Pair] = set()
        for column in sorted(self.columns, key=self._column_name):
            values = values_of(self.members, [column], lambda _, __: False)
            some = values & hidden
            counted |= some
            if some:
                parts.append(_how_many(len(some), len(values), self._column_name(column)))
        rest = len(hidden - counted)
        more = f", and {rest} more that would tell them" if rest else ""
        text = (
            f"hidden: {', '.join(parts)}{more}. They are as whoever holds the whole certificate "
            "says, and so is what is told about them"
        )
        return {"kind": "fact", "text": text, "confidence": "1", "attestations": []}

    def _column_name(self, column: Column) -> str:
        predicate, place = column
        declared = next(one for one in self.members["declarations"] if one["name"] == predicate)
        return f"{predicate}.{declared['columns'][place][0]}"

    def _header(self, hidden: int, assumed: dict[int, int]) -> Members:
        header = self.members["header"]
        predicate, pattern = header["goal"]
        verdict = _VERDICTS.get(header["verdict"], header["verdict"])
        under = sorted(assumed[at] for at in header["under"])
        under += [] if verdict == "UNRESOLVED" else [hidden]
        return {
            **header,
            "goal": [predicate, self.row(pattern, self.kinds[predicate])],
            "verdict": verdict,
            "under": under,
            "asked_by": self.said(header["asked_by"]),
            "decision": self.said(header["decision"]),
            "libraries": [self.said(one) for one in header["libraries"]],
        }

    def _labels(self) -> list[Any]:
        """Return what the labels are of, sorted as the view is, and note where each went."""
        told = []
        for number, (predicate, row, column, ordinal) in enumerate(self.members["labels"]):
            cells = self.row(row, self.kinds[predicate])
            told.append((predicate, row_order(cells), column, ordinal, number, cells))
        told.sort(key=lambda one: one[:4])
        for place, one in enumerate(told):
            self.labels[one[4]] = place
        return [
            [predicate, cells, column, ordinal] for predicate, _, column, ordinal, _, cells in told
        ]

    # What came from outside.

    def _sources(self) -> tuple[list[Members], dict[int, int], list[int]]:
        members = self.members
        touched = self._touched()
        order = list(range(len(members["sources"])))
        if touched:
            order.sort(key=lambda at: self.commitments.keyed(members["sources"][at]))
        places = {at: place for place, at in enumerate(order)}
        committed = {
            (one["commitment"]["predicate"], one["commitment"]["root"])
            for at, one in enumerate(members["sources"])
            if at in touched and one["commitment"] is not None
        }
        found = [self._source(at, committed, hidden=at in touched) for at in order]
        return found, places, sorted(places[at] for at in touched)

    def _touched(self) -> set[int]:
        """Return the sources of which something is hidden, shown or not."""
        members = self.members
        named = {predicate for predicate, _ in self.columns}
        found: set[int] = set()
        for group in members["facts"]:
            shown = (text_of(cell, self.texts) for row in group["rows"] for cell in row)
            if group["predicate"] in named or any(map(self.hides, shown)):
                found.add(group["source"])
        for one in members["coverage"]:
            keys = (text_of(cell, self.texts) for key in one["keys"] for cell in key)
            if one["predicate"] in named or any(map(self.hides, keys)):
                found |= set(one["sources"])
        found |= {one["source"] for one in members["filled"]}
        return found

    def _source(self, at: int, committed: set[tuple[str, str]], *, hidden: bool) -> Members:
        source = self.members["sources"][at]
        root = source["commitment"]
        # The root of rows that are hidden in part could be tried out.
        dropped = root is not None and (root["predicate"], root["root"]) in committed
        parameters = [WITHHELD if hidden else self.said(one) for one in source["parameters"]]
        span = source["span"]
        if span is not None and (hidden or self.said(span["text"]) == WITHHELD):
            raise CannotHideError("a document is quoted, and the quotation tells the value")
        found = {
            **source,
            "name": self.said(source["name"]),
            "query": self.said(source["query"]),
            "parameters": parameters,
            "hash": self.commitments.other("hash", source["hash"]) if hidden else source["hash"],
            "author": self.said(source["author"]),
            "snapshot": self.said(source["snapshot"]),
            "commitment": None if dropped else root,
        }
        return {**found, "attestation": self._attestation(source, found["hash"], hidden=hidden)}

    def _attestation(self, source: Members, shown: str, *, hidden: bool) -> Members | None:
        told = source["attestation"]
        if told is None:
            return None

        def hashed(name: str) -> str | None:
            if told[name] is None or not hidden:
                return told[name]  # type: ignore[no-any-return]  # JSON
            same = told[name] == source["hash"]
            return shown if same else self.commitments.other(name, told[name])

        quote = told["quote"]
        quoted = quote is not None and (hidden or self.said(quote["text"]) == WITHHELD)
        reviewer = told["reviewer"]
        return {
            **told,
            "agent": {**told["agent"], "name": self.said(told["agent"]["name"])},
            "prompt": hashed("prompt"),
            "response": hashed("response"),
            "quote": None if quoted else quote,
            "reviewer": reviewer and {**reviewer, "name": self.said(reviewer["name"])},
            "note": None if hidden else self.said(told["note"]),
        }

    def _facts(
        self, places: dict[int, int]
    ) -> tuple[list[Members], dict[int, tuple[int, list[int]]]]:
        """Return the groups, and of each where it went and where its rows went."""
        told: list[tuple[str, int, list[int], Members]] = []
        for at, group in enumerate(self.members["facts"]):
            kinds = self.kinds[group["predicate"]]
            rows = [self.row(row, kinds) for row in group["rows"]]
            order = sorted(range(len(rows)), key=lambda place: row_order(rows[place]))
            moved = [0] * len(rows)
            for place, was in enumerate(order):
                moved[was] = place
            shown = [rows[was] for was in order]
            found = {**group, "source": places[group["source"]], "rows": shown}
            told.append((self.commitments.keyed(group), at, moved, found))
        told.sort(key=lambda one: (one[0], one[1]))
        where = {at: (place, moved) for place, (_, at, moved, _) in enumerate(told)}
        return [one[3] for one in told], where

    def _assumptions(self) -> tuple[list[Members], dict[int, int]]:
        """Return the assumptions; those with a withheld text change places with each other."""
        members = self.members
        hashes = self._attested()
        withheld = self._withheld()
        rules = {rule["assumption"] for rule in members["rules"]}
        found = [
            {
                **one,
                "text": withheld.get(at, one["text"]),
                "attestations": sorted({hashes.get(h, h) for h in one["attestations"]}),
            }
            for at, one in enumerate(members["assumptions"])
        ]
        slots = [at for at in sorted(withheld) if at not in rules]
        order = sorted(
            slots, key=lambda at: self.commitments.keyed([at, members["assumptions"][at]])
        )
        places = {at: at for at in range(len(found))}
        result = list(found)
        for place, at in zip(slots, order, strict=True):
            places[at] = place
            result[place] = found[at]
        return result, places

    def _attested(self) -> dict[str, str]:
        """Return the new hash of each attestation by its hash."""
        touched = self._touched()
        found: dict[str, str] = {}
        for at, source in enumerate(self.members["sources"]):
            if source["attestation"] is not None:
                shown = self._source(at, set(), hidden=at in touched)["attestation"]
                found[sha256(source["attestation"])] = sha256(shown)
        return found

    def _withheld(self) -> dict[int, str]:
        """Return the texts in place of those of assumptions that tell a hidden value."""
        members = self.members
        about: dict[int, set[str]] = {}
        for one in (*members["facts"], *members["open"]):
            rows = one["rows"] if "rows" in one else [one["row"]]
            cells = (text_of(cell, self.texts) for row in rows for cell in row)
            if one["assumption"] is not None and any(map(self.hides, cells)):
                about.setdefault(one["assumption"], set()).add(one["predicate"])
        for one in members["filled"]:
            predicate = members["facts"][one["facts"]]["predicate"]
            about.setdefault(one["assumption"], set()).add(predicate)
        found: dict[int, str] = {}
        for at, one in enumerate(members["assumptions"]):
            if at in about:
                found[at] = f"{WITHHELD} about {', '.join(sorted(about[at]))}"
            elif self.said(one["text"]) == WITHHELD:
                conflict = one["text"].startswith(_CONFLICT)
                found[at] = f"{_CONFLICT if conflict else ''}{WITHHELD}"
        return found

    def _open(self) -> list[Members]:
        found = [
            {
                **one,
                "row": self.row(one["row"], self.kinds[one["predicate"]]),
                "reason": self.said(one["reason"]),
            }
            for one in self.members["open"]
        ]
        return sorted(found, key=self.commitments.keyed)

    def _coverage(self, places: dict[int, int]) -> list[Members]:
        found = []
        for one in self.members["coverage"]:
            kinds = [self.kinds[one["predicate"]][column] for column in one["columns"]]
            sources = sorted(places[at] for at in one["sources"])
            found.append({**one, "keys": self.rows(one["keys"], kinds), "sources": sources})
        return sorted(found, key=self.commitments.keyed)

    def _filled(
        self,
        facts: dict[int, tuple[int, list[int]]],
        sources: dict[int, int],
        assumed: dict[int, int],
    ) -> list[Members]:
        found = []
        for one in self.members["filled"]:
            kind = self.kinds[self.members["facts"][one["facts"]]["predicate"]][one["column"]]
            group, rows = facts[one["facts"]]
            found.append(
                {
                    **one,
                    "facts": group,
                    "row": rows[one["row"]],
                    "value": self.cell(one["value"], kind),
                    "source": sources[one["source"]],
                    "assumption": assumed[one["assumption"]],
                }
            )
        return sorted(found, key=lambda one: (one["facts"], one["row"], one["column"]))

    # What follows.

    def _nodes(self, facts: dict[int, tuple[int, list[int]]]) -> list[Members]:
        """Return the nodes: each behind its premises, and in an order that tells no value."""
        nodes = self.members["nodes"]
        needs = [sorted(set(_premises(node))) for node in nodes]
        above: list[list[int]] = [[] for _ in nodes]
        for at, below in enumerate(needs):
            for one in below:
                above[one].append(at)
        waiting = [len(below) for below in needs]
        ready = [(self._priority(at), at) for at, left in enumerate(waiting) if not left]
        heapq.heapify(ready)
        places: dict[int, int] = {}
        found: list[Members] = []
        while ready:
            _, at = heapq.heappop(ready)
            places[at] = len(found)
            found.append(self._node(nodes[at], facts, places))
            for one in above[at]:
                waiting[one] -= 1
                if not waiting[one]:
                    heapq.heappush(ready, (self._priority(one), one))
        return found

    def _priority(self, at: int) -> str:
        return self.commitments.keyed([at, self.members["nodes"][at]["fact"]])

    def _node(
        self, node: Members, facts: dict[int, tuple[int, list[int]]], places: dict[int, int]
    ) -> Members:
        predicate, row = node["fact"]
        found = {**node, "fact": [predicate, self.row(row, self.kinds[predicate])]}
        if node["kind"] == "fact":
            group, rows = facts[node["facts"]]
            return {**found, "facts": group, "row": rows[node["row"]]}
        rule = self.members["rules"][node["rule"]]
        kinds = [kind for _, kind in rule["variables"]]
        premises = [
            self._summands(rule, literal, one, places)
            if isinstance(one, list)
            else None
            if one is None
            else places[one]
            for literal, one in zip(rule["body"], node["premises"], strict=True)
        ]
        return {**found, "bind": self.row(node["bind"], kinds), "premises": premises}

    def _summands(
        self, rule: Members, literal: list[Any], listed: list[Any], places: dict[int, int]
    ) -> list[Any]:
        names = variables_of(literal[3:])
        outer = variables_of([rule["head"], *(one for one in rule["body"] if one[0] != "a")])
        outer |= {one[2][1] for one in rule["body"] if one[0] == "a"}
        kinds = [kind for name, kind in rule["variables"] if name in names - outer]
        found = [
            [self.row(cells, kinds), [None if one is None else places[one] for one in premises]]
            for cells, premises in listed
        ]
        return sorted(found, key=lambda one: row_order(one[0]))

    def _closure(self) -> Members:
        closure = self.members["closure"]
        entries = []
        for one in closure["entries"]:
            kinds = [self.kinds[one["predicate"]][column] for column in one["columns"]]
            entries.append({**one, "keys": self.rows(one["keys"], kinds)})
        rows = [[name, self.rows(found, self.kinds[name])] for name, found in closure["rows"]]
        return {"entries": entries, "rows": rows}

    def _missing(self) -> list[Any]:
        found = [[name, self.row(row, self.kinds[name])] for name, row in self.members["missing"]]
        return sorted(found, key=self.commitments.keyed)

    def _record(self, places: dict[int, int], hidden: list[int]) -> Members:
        record = self.members["record"]
        executed: list[str | None] = [None] * len(places)
        for at, place in places.items():
            # When several were asked tells in which order, and that may be the order of values.
            executed[place] = None if place in hidden else record["executed"][at]
        # By how much a number falls short tells the number: a view has no changes.
        kept = {name: one for name, one in record.items() if name != "changes"}
        return {**kept, "executed": executed, "host": self.said(record["host"])}

    def _without_unused(self, found: Members) -> Members:
        """Leave out shared structures that nothing shows any more."""
        values = self.members["values"]
        waiting = list(self.used)
        kept: set[int] = set()
        while waiting:
            at = waiting.pop()
            if at not in kept:
                kept.add(at)
                waiting += [one for one in values[at][1:] if isinstance(one, int)]
        places = {at: place for place, at in enumerate(sorted(kept))}
        moved = [
            [name, *(places[one] if isinstance(one, int) else one for one in fields)]
            for name, *fields in (values[at] for at in sorted(kept))
        ]
        return (
            {**found, "values": moved}
            if len(kept) == len(values)
            else _renumbered({**found, "values": moved}, places)
        )


def _place_of(assumptions: list[Members], one: Members) -> int:
    """Return where an assumption stands; it is added where it does not."""
    if one not in assumptions:
        assumptions.append(one)
    return assumptions.index(one)


def _renumbered(members: Members, places: dict[int, int]) -> Members:
    """Return the members in which each index of a structure is its new one."""

    def cells(row: list[Any]) -> list[Any]:
        return [places[one] if isinstance(one, int) else one for one in row]

    def keyed(one: Members) -> Members:
        return {**one, "keys": [cells(key) for key in one["keys"]]}

    header = members["header"]
    closure = members["closure"]
    return {
        **members,
        "header": {**header, "goal": [header["goal"][0], cells(header["goal"][1])]},
        "facts": [{**one, "rows": [cells(row) for row in one["rows"]]} for one in members["facts"]],
        "open": [{**one, "row": cells(one["row"])} for one in members["open"]],
        "coverage": [keyed(one) for one in members["coverage"]],
        "filled": [{**one, "value": cells([one["value"]])[0]} for one in members["filled"]],
        "labels": [[name, cells(row), *rest] for name, row, *rest in members["labels"]],
        "missing": [[name, cells(row)] for name, row in members["missing"]],
        "closure": {
            "entries": [keyed(one) for one in closure["entries"]],
            "rows": [[name, [cells(row) for row in rows]] for name, rows in closure["rows"]],
        },
        "nodes": [_renumbered_node(one, cells) for one in members["nodes"]],
    }


def _renumbered_node(node: Members, cells: Callable[[list[Any]], list[Any]]) -> Members:
    found = {**node, "fact": [node["fact"][0], cells(node["fact"][1])]}
    if node["kind"] == "rule":
        found["bind"] = cells(node["bind"])
        found["premises"] = [
            [[cells(row), inner] for row, inner in one] if isinstance(one, list) else one
            for one in node["premises"]
        ]
    return found


def _how_many(hidden: int, values: int, column: str) -> str:
    if hidden == values:
        return f"the value of {column}" if values == 1 else f"all {values} values of {column}"
    return f"{hidden} of the {values} values of {column}"


def _has_letter(text: str) -> bool:
    return any(map(str.isalpha, text))


def _moved(one: Members, assumed: dict[int, int]) -> Members:
    assumption = one["assumption"]
    return {**one, "assumption": None if assumption is None else assumed[assumption]}


def _premises(node: Members) -> Iterator[int]:
    for one in node.get("premises", ()):
        if isinstance(one, int):
            yield one
        elif isinstance(one, list):
            yield from (at for _, inner in one for at in inner if at is not None)


def _spellings(text: str) -> Iterator[str]:
    """Yield how a value may be written in a sentence."""
    yield text
    if re.fullmatch(r"-?\d{4,}(?:\.\d+)?", text):
        whole, point, rest = text.partition(".")
        yield f"{int(whole):,}{point}{rest}"


def constants_of(rule: Members) -> Iterator[Pair]:
    """Yield the constants of a rule that are compared with values for being the same."""
    yield from _constants(rule["head"][1])
    for literal in rule["body"]:
        for one in literal[4] if literal[0] == "a" else [literal]:
            if one[0] in {"+", "-"}:
                yield from _constants(one[1][1])
            elif one[1] in {"=", "!="}:
                yield from _constants(one[2:])


def _constants(terms: Iterable[Any]) -> Iterator[Pair]:
    for term in terms:
        match term:
            case ["c", str(kind), str(text)]:
                yield kind, text


def variables_of(stated: Any) -> set[str]:  # noqa: ANN401  JSON
    """Return the names of the variables and wildcards in a part of a rule."""
    if not isinstance(stated, list):
        return set()
    match stated:
        case ["v" | "_", str(name)]:
            return {name}
    return set().union(*map(variables_of, stated))


def finished(members: Members) -> bytes:
    """Return the file of a certificate whose hashes are those of its members."""
    left = ("proofs", "record", "identity", "digest")
    found = {name: one for name, one in members.items() if name not in {"identity", "digest"}}
    found["identity"] = sha256({k: v for k, v in found.items() if k not in left})
    found["digest"] = sha256(found)
    return canonical(found).encode() + b"\n"


def members_of(certificate: bytes) -> Members:
    """Return the members of a certificate of the second format; `CannotHideError` for others."""
    members = json.loads(certificate)
    if members.get("format") != "constat-cert/2":
        raise CannotHideError("it is of the first format; prove the goal again")
    if members["redaction"] is not None:
        raise CannotHideError("it is a view already; make the view of the whole certificate")
    return members  # type: ignore[no-any-return]  # JSON
