"""Write certificates from Python values, without the checker's code.

In: declarations, rules, rows, nodes, told one by one.  Out: a tree of JSON values, and its bytes in
canonical form with identity and digest.  Invariant: ``seal`` makes any tree consistent as far as
bytes and hashes go, so what is wrong with a forgery is its logic alone.
"""

from __future__ import annotations

import copy
import hashlib
import json
from typing import Any

Tree = dict[str, Any]
Term = list[Any]
Literal = list[Any]

START = "2026-01-31T09:00:00.000000Z"


def canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=True, sort_keys=True, separators=(",", ":"))


def sha256(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode()).hexdigest()


def rows_hash(rows: list[list[str]]) -> str:
    return sha256("".join(canonical(row) + "\n" for row in sorted(rows)))


def seal(tree: Tree) -> bytes:
    """Return the bytes of the tree with program, identity and digest made to fit."""
    sealed = copy.deepcopy(tree)
    if isinstance(sealed.get("header"), dict) and "program" in sealed["header"]:
        rules = {name: sealed.get(name) for name in ("declarations", "rules")}
        sealed["header"]["program"] = sha256(canonical(rules))
    return seal_hashes(sealed)


def seal_hashes(tree: Tree) -> bytes:
    """Return the bytes of the tree with identity and digest made to fit."""
    sealed = dict(tree)
    for name, left_out in (
        ("identity", {"proofs", "record", "identity", "digest"}),
        ("digest", {"digest"}),
    ):
        if name in sealed:
            kept = {key: value for key, value in sealed.items() if key not in left_out}
            sealed[name] = sha256(canonical(kept))
    return (canonical(sealed) + "\n").encode()


def level_of(tree: Tree) -> str | None:
    """Return the weakest level of completeness that a tree rests on."""
    shown: dict[int, int] = {}
    spoken: dict[int, set[str]] = {}
    for group in tree["facts"]:
        shown[group["source"]] = shown.get(group["source"], 0) + len(group["rows"])
        spoken.setdefault(group["source"], set()).add(group["predicate"])
    found: list[str] = ["C1"] * bool(tree["summaries"]) + ["C4"] * bool(tree["closure"]["entries"])
    accepted = [tree["assumptions"][index]["kind"] for index in tree["header"]["under"]]
    found += ["C0"] * bool({"closure", "fall-through"} & set(accepted))
    found += [proof["header"]["level"] for proof in tree["proofs"] if proof["header"]["level"]]
    for entry in tree["coverage"]:
        sources = {index: tree["sources"][index] for index in entry["sources"]}
        if any(source["origin"] in {"CONFIG", "DATABASE"} for source in sources.values()):
            others = [
                source
                for index, source in sources.items()
                if shown.get(index, 0) != source["rows"] or len(spoken.get(index, ())) > 1
            ]
            opened = all(_opens(tree, source, entry) for source in others)
            found.append(("C2" if opened else "C1") if others else "C3")
    return min(found, default=None)


def _opens(tree: Tree, source: Tree, entry: Tree) -> bool:
    """Tell whether the keys of a coverage are opened in the root of a source."""
    if source["commitment"] is None:
        return False
    said = (source["commitment"]["predicate"], source["commitment"]["root"])
    opened = [
        [opening["columns"], opening["key"]]
        for one in tree["sources"]
        if one["commitment"] and (one["commitment"]["predicate"], one["commitment"]["root"]) == said
        for opening in one["commitment"]["openings"]
    ]
    return all([entry["columns"], key] in opened for key in entry["keys"])


def attested_by(tree: Tree) -> list[list[str]]:
    """Return for each assumption the hashes of the attestations that it takes on trust."""
    found: list[set[str]] = [set() for _ in tree["assumptions"]]
    for group in tree["facts"]:
        source = tree["sources"][group["source"]]
        if source["attestation"] is not None and group["assumption"] is not None:
            found[group["assumption"]].add(sha256(canonical(source["attestation"])))
    for source in tree["sources"]:
        if source["proof"] is not None:
            inner = tree["proofs"][source["proof"]["certificate"]]
            pairs = zip(source["proof"]["assumptions"], inner["header"]["under"], strict=True)
            for outer, own in pairs:
                found[outer].update(inner["assumptions"][own]["attestations"])
    return [sorted(hashes) for hashes in found]


def var(name: str) -> Term:
    return ["v", name]


def con(kind: str, value: str) -> Term:
    return ["c", kind, value]


def fun(function: str, kind: str, *args: Term | str) -> Term:
    return ["f", function, kind, [var(a) if isinstance(a, str) else a for a in args]]


def pos(predicate: str, *args: Term | str) -> Literal:
    return ["+", [predicate, list(args)]]


def neg(predicate: str, *args: Term | str) -> Literal:
    return ["-", [predicate, list(args)]]


def cmp(operator: str, left: Term | str, right: Term | str) -> Literal:
    return ["?", operator, *(var(t) if isinstance(t, str) else t for t in (left, right))]


def agg(function: str, result: str, target: Term | str | None, *body: Literal) -> Literal:
    folded = var(target) if isinstance(target, str) else target
    return ["a", function, var(result), folded, list(body)]


class Writer:
    """A certificate under construction."""

    def __init__(self) -> None:
        self.columns: dict[str, list[str]] = {}
        self.names: list[list[str]] = []
        self.tree: Tree = {
            "format": "constat-cert/1",
            "header": {
                "goal": ["p", []],
                "verdict": "PROVED",
                "under": [],
                "confidence": "1",
                "search": "exhausted",
                "program": "",
                "level": None,
                "as_of": None,
                "snapshot": "one",
                "decision": None,
                "supersedes": None,
                "libraries": [],
                "approvals": [],
            },
            "declarations": [],
            "rules": [],
            "sources": [],
            "facts": [],
            "coverage": [],
            "open": [],
            "assumptions": [],
            "nodes": [],
            "closure": {"entries": [], "rows": []},
            "summaries": [],
            "missing": [],
            "proofs": [],
            "record": {
                "created": START,
                "engine": "test",
                "executed": [],
                "host": None,
                "signatures": [],
            },
            "identity": "",
            "digest": "",
        }

    def declare(self, name: str, columns: str, *, external: bool = False) -> None:
        """Declare a predicate, its columns written as ``"c:symbol n:number"``."""
        listed = [column.split(":") for column in columns.split()]
        self.columns[name] = [kind for _, kind in listed]
        self.tree["declarations"].append(
            {"name": name, "columns": listed, "external": int(external), "says": None}
        )

    def outside(self, name: str, columns: str) -> None:
        self.declare(name, columns, external=True)

    def rule(
        self,
        name: str,
        head: Literal,
        *body: Literal,
        confidence: str = "1",
        assumption: int | None = None,
        **kinds: str,
    ) -> int:
        """Add a rule; kinds of variables come from the atoms, the others by name."""
        read = _RuleWriter(self.columns, kinds)
        atom = read.atom(head[1])
        literals = [read.literal(literal) for literal in body]
        self.names.append([variable for variable, _ in read.variables()])
        self.tree["rules"].append(
            {
                "id": name,
                "head": atom,
                "body": literals,
                "variables": read.variables(),
                "confidence": confidence,
                "says": None,
                "assumption": assumption,
            }
        )
        return len(self.tree["rules"]) - 1

    def source(
        self,
        rows: list[list[str]],
        origin: str = "DATABASE",
        confidence: str = "1",
        count: int | None = None,
    ) -> int:
        """Add a source that answered these rows, or ``count`` rows of which these are shown."""
        self.tree["sources"].append(
            {
                "tier": "config" if origin == "CONFIG" else "database",
                "origin": origin,
                "name": "sales",
                "query": "SELECT * FROM t WHERE k = ?",
                "parameters": ["C001"],
                "rows": len(rows) if count is None else count,
                "hash": rows_hash(rows),
                "snapshot": None,
                "confidence": confidence,
                "author": None if origin in {"CONFIG", "DATABASE"} else "alice",
                "attestation": None,
                "commitment": None,
                "proof": None,
            }
        )
        self.tree["record"]["executed"].append(START)
        return len(self.tree["sources"]) - 1

    def assume(self, kind: str, text: str = "somebody says so", confidence: str = "1") -> int:
        self.tree["assumptions"].append(
            {"kind": kind, "text": text, "confidence": confidence, "attestations": []}
        )
        return len(self.tree["assumptions"]) - 1

    def facts(
        self,
        predicate: str,
        rows: list[list[str]],
        *,
        origin: str = "DATABASE",
        confidence: str = "1",
        assumption: int | None = None,
        covers: tuple[list[int], list[list[str]]] | None = None,
        attestation: Tree | None = None,
    ) -> int:
        """Add rows of a new source, and the coverage that the source gives."""
        source = self.source(rows, origin, confidence)
        self.tree["sources"][source]["attestation"] = attestation
        self.tree["facts"].append(
            {
                "predicate": predicate,
                "source": source,
                "assumption": assumption,
                "rows": sorted(rows),
            }
        )
        if covers is not None:
            self.cover(predicate, *covers, source)
        return len(self.tree["facts"]) - 1

    def proved(self, inner: Writer, imported: tuple[int, ...] = ()) -> int:
        """Add the goal of another certificate as a fact that it proves."""
        header = inner.tree["header"]
        predicate, row = header["goal"]
        if inner.tree not in self.tree["proofs"]:
            self.tree["proofs"].append(inner.tree)
        source = self.source([row], "DERIVED", header["confidence"])
        self.tree["sources"][source].update(
            tier="certificates",
            name=inner.tree["identity"],
            query="proof.json",
            parameters=[],
            author=None,
            proof={
                "certificate": self.tree["proofs"].index(inner.tree),
                "assumptions": list(imported),
            },
        )
        self.tree["facts"].append(
            {"predicate": predicate, "source": source, "assumption": None, "rows": [row]}
        )
        return len(self.tree["facts"]) - 1

    def cover(
        self, predicate: str, columns: list[int], keys: list[list[str]], *sources: int
    ) -> None:
        self.tree["coverage"].append(
            {"predicate": predicate, "columns": columns, "keys": keys, "sources": list(sources)}
        )

    def opens(self, predicate: str, row: list[str | None], assumption: int | None = None) -> None:
        self.tree["open"].append(
            {"predicate": predicate, "row": row, "reason": "no answer", "assumption": assumption}
        )

    def given(self, predicate: str, *row: str, confidence: str = "1") -> int:
        """Add the node of a fact that is shown."""
        group, found = next(
            (position, group["rows"].index(list(row)))
            for position, group in enumerate(self.tree["facts"])
            if group["predicate"] == predicate and list(row) in group["rows"]
        )
        return self._node(
            {
                "kind": "fact",
                "fact": [predicate, list(row)],
                "facts": group,
                "row": found,
                "confidence": confidence,
            }
        )

    def derived(
        self,
        rule: int,
        row: list[str],
        bind: dict[str, str],
        premises: list[Any],
        confidence: str = "1",
    ) -> int:
        """Add the node of a rule's instance."""
        return self._node(
            {
                "kind": "rule",
                "fact": [self.tree["rules"][rule]["head"][0], row],
                "rule": rule,
                "bind": [bind.get(name) for name in self.names[rule]],
                "premises": premises,
                "confidence": confidence,
            }
        )

    def _node(self, node: Tree) -> int:
        self.tree["nodes"].append(node)
        return len(self.tree["nodes"]) - 1

    def entry(
        self,
        predicate: str,
        columns: list[int],
        keys: list[list[str]],
        rows: list[list[str | None]] | None = None,
        orders: dict[int, list[int]] | None = None,
    ) -> None:
        """Bound a derived predicate for these keys; ``rows`` are added to its closure rows."""
        listed = [
            [position, (orders or {}).get(position, list(range(len(rule["body"]))))]
            for position, rule in enumerate(self.tree["rules"])
            if rule["head"][0] == predicate
        ]
        closure = self.tree["closure"]
        closure["entries"].append(
            {"predicate": predicate, "columns": columns, "orders": listed, "keys": sorted(keys)}
        )
        if rows is not None:
            ordered = sorted(rows, key=lambda row: [(v is not None, v or "") for v in row])
            closure["rows"].append([predicate, ordered])
            closure["rows"].sort()

    def summary(
        self,
        rule: int,
        literal: int,
        group: list[str],
        chunks: list[list[Any]],
        *sources: int,
    ) -> None:
        self.tree["summaries"].append(
            {
                "rule": rule,
                "literal": literal,
                "group": group,
                "count": sum(chunk[0] for chunk in chunks),
                "chunks": chunks,
                "hash": sha256("".join(chunk[4] + "\n" for chunk in chunks)),
                "sources": list(sources),
            }
        )

    def conclude(
        self,
        verdict: str,
        predicate: str,
        *pattern: str | None,
        under: tuple[int, ...] = (),
        confidence: str = "1",
        missing: tuple[list[Any], ...] = (),
    ) -> Writer:
        self.tree["header"].update(
            goal=[predicate, list(pattern)],
            verdict=verdict,
            under=list(under),
            confidence="0" if verdict == "UNRESOLVED" else confidence,
        )
        self.tree["missing"] = list(missing)
        self.tree["header"]["level"] = level_of(self.tree)
        for assumption, hashes in zip(
            self.tree["assumptions"], attested_by(self.tree), strict=True
        ):
            assumption["attestations"] = hashes
        self.tree = json.loads(seal(self.tree))
        return self

    def data(self) -> bytes:
        return seal(self.tree)


class _RuleWriter:
    """Completes terms and finds the variables of one rule: their kinds and their scopes."""

    def __init__(self, columns: dict[str, list[str]], kinds: dict[str, str]) -> None:
        self.columns = columns
        self.kinds = dict(kinds)
        self.outer: list[str] = []
        self.inner: list[str] = []

    def atom(self, atom: list[Any], *, local: bool = False) -> list[Any]:
        predicate, args = atom
        terms = [var(arg) if isinstance(arg, str) else arg for arg in args]
        for term, kind in zip(terms, self.columns[predicate], strict=True):
            if term[0] == "v":
                self.kinds.setdefault(term[1], kind)
            self.note(term, local=local)
        return [predicate, terms]

    def note(self, term: Term, *, local: bool) -> None:
        if term[0] == "v":
            (self.inner if local else self.outer).append(term[1])
        elif term[0] == "f":
            for arg in term[3]:
                self.note(arg, local=local)

    def literal(self, literal: Literal, *, local: bool = False) -> Literal:
        if literal[0] in {"+", "-"}:
            return [literal[0], self.atom(literal[1], local=local)]
        if literal[0] == "?":
            for term in literal[2:]:
                self.note(term, local=local)
            return literal
        _, function, result, target, body = literal
        self.note(result, local=False)
        if target is not None:
            self.note(target, local=True)
        return ["a", function, result, target, [self.literal(b, local=True) for b in body]]

    def variables(self) -> list[list[str]]:
        listed = list(dict.fromkeys(self.outer)) + [
            name for name in dict.fromkeys(self.inner) if name not in self.outer
        ]
        return [[name, self.kinds[name]] for name in listed]
