"""A certificate as exports read it: labels for facts, rules, sources.

In: bytes.  Out: a ``Document``.  Invariant: labels are printable, so no export carries control
characters of data.  ``ValueError`` for what is no certificate; whether it is *right* is for the
checker to say, not for an export.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from constat.proof.render import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

Members = dict[str, Any]


class Document:
    """The parsed certificate."""

    def __init__(self, certificate: bytes) -> None:
        try:
            members = json.loads(certificate)
        except (ValueError, RecursionError):
            raise ValueError("this is no certificate: it is not JSON") from None
        if not isinstance(members, dict) or members.get("format") != "constat-cert/1":
            raise ValueError("this is no certificate of the format constat-cert/1")
        self.members: Members = members
        try:
            self.header: Members = members["header"]
            self.nodes: list[Members] = members["nodes"]
            self.rules: list[Members] = members["rules"]
            self.sources: list[Members] = members["sources"]
            self.facts: list[Members] = members["facts"]
            self.record: Members = members["record"]
            self.identity: str = members["identity"]
            self.columns = {
                one["name"]: [name for name, _ in one["columns"]] for one in members["declarations"]
            }
        except (KeyError, TypeError, ValueError):
            raise ValueError("this is no certificate: a member is missing") from None

    def goal(self) -> str:
        """Return the goal as text."""
        return self.atom(*self.header["goal"])

    def atom(self, predicate: str, row: Sequence[str | None]) -> str:
        """Return an atom as text; what is open or a variable is its column with a ``?``."""
        columns = self.columns.get(predicate, [])
        shown = [
            printable(cell) if cell is not None else f"?{columns[at] if at < len(columns) else at}"
            for at, cell in enumerate(row)
        ]
        return f"{printable(predicate)}({', '.join(shown)})"

    def instance(self, node: Members, place: int) -> str:
        """Return a body literal of a rule node with the values of its variables."""
        rule = self.rules[node["rule"]]
        names = [name for name, _ in rule["variables"]]
        values = dict(zip(names, node["bind"], strict=True))
        literal = rule["body"][place]
        if literal[0] == "a":
            result = values.get(literal[2][1])
            shown = "beyond its bound" if result is None else f"= {printable(result)}"
            return f"{printable(str(literal[1]))} {shown}"
        if literal[0] == "?":
            return f"{_term(literal[2], values)} {literal[1]} {_term(literal[3], values)}"
        predicate, terms = literal[1]
        inside = ", ".join(_term(term, values) for term in terms)
        return f"{'!' if literal[0] == '-' else ''}{printable(predicate)}({inside})"

    def premises(self, node: Members, place: int) -> list[int]:
        """Return the nodes a body literal rests on; of a threshold those of all its summands."""
        premise = node["premises"][place]
        if isinstance(premise, list):
            below = [one for _, premises in premise for one in premises if one is not None]
            return list(dict.fromkeys(below))
        return [] if premise is None else [premise]

    def literal_predicates(self, node: Members, place: int) -> list[str]:
        """Return the predicates a body literal speaks about."""
        literal = self.rules[node["rule"]]["body"][place]
        if literal[0] == "a":
            return [inner[1][0] for inner in literal[4] if inner[0] != "?"]
        return [] if literal[0] == "?" else [literal[1][0]]

    def sources_of(self, predicate: str) -> list[int]:
        """Return the sources that speak for a predicate."""
        found: dict[int, None] = {}
        for coverage in self.members["coverage"]:
            if coverage["predicate"] == predicate:
                found.update(dict.fromkeys(coverage["sources"]))
        return list(found)


def _term(term: list[Any], values: dict[str, str | None]) -> str:
    match term:
        case ["v", name]:
            value = values.get(name)
            return f"?{printable(name)}" if value is None else printable(value)
        case ["c", _, value]:
            return printable(value)
        case ["f", function, _, _]:
            # Deep terms are named, not written out: a label is no place for recursion.
            return f"{printable(function)}(...)"
        case _:
            raise ValueError("this is no certificate: a term has another shape")
