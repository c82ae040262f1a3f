"""Certificates that are damaged on purpose: one damage each, and the reason it is rejected for.

Each entry is (name, bytes, reason code).  What is damaged in logic stands in the forger; here are
bytes, numbers, texts, schema, and the limits.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from tests.check import constructs
from tests.check.catalog import good
from tests.check.malformed_evidence import evidence_cases
from tests.check.mutants import changed
from tests.check.writer import Tree, Writer, canonical, cmp, con, fun, pos, seal, seal_hashes
from tests.report.checker import approved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.check.mutants import Path

CHANGE = {"add": None, "remove": "p(1)", "text": "without p(1)", "verdict": "PROVED"}
Case = tuple[str, bytes, str]


def bytes_cases() -> Iterator[Case]:
    tree = good("vip_proved").tree
    data = seal(tree)
    yield "empty", b"", "json"
    yield "an array", b"[]\n", "schema"
    yield "a string", b'"x"\n', "schema"
    yield "an empty object", b"{}\n", "schema"
    yield "no newline", data[:-1], "canonical"
    yield "two newlines", data + b"\n", "canonical"
    yield "a carriage return", data[:-1] + b"\r\n", "canonical"
    yield "a byte order mark", b"\xef\xbb\xbf" + data, "canonical"
    yield "white space", data.replace(b'":', b'": ', 1), "canonical"
    yield "an escape too many", data.replace(b"constat-cert", b"\\u0063onstat-cert"), "canonical"
    yield (
        "an upper-case escape",
        seal({**tree, "format": "é"}).replace(b"\\u00e9", b"\\u00E9"),
        ("canonical"),
    )
    yield "raw UTF-8", seal({**tree, "format": "é"}).replace(b"\\u00e9", "é".encode()), "canonical"
    yield "latin-1", b'"\xe9"', "canonical"
    yield "a key twice", b'{"a":1,"a":1}\n', "canonical"
    yield "keys out of order", b'{"b":1,"a":1}\n', "canonical"
    inner = data.replace(b'"host":null,"signatures":[]', b'"signatures":[],"host":null')
    yield "inner keys out of order", inner, "canonical"
    twice = data.replace(b'"host":null', b'"host":null,"host":null')
    yield "an inner key twice", twice, "canonical"
    yield "nothing but a brace", b"{", "json"
    yield "deep arrays", b"[" * 100_000, "depth"
    yield "deep objects", b'{"a":' * 100_000, "depth"
    yield "a bit too deep", seal({**tree, "format": nest(63)}), "depth"
    yield "just not too deep", seal({**tree, "format": nest(62)}), "schema"


def nest(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def number_cases() -> Iterator[Case]:
    tree = good("vip_proved").tree
    for name, value in (
        ("a fraction", 1.5),
        ("a whole fraction", 1.0),
        ("a truth value", True),
        ("a negative index", -1),
        ("an index of 2^31", 2**31),
        ("infinity", float("inf")),
    ):
        yield name, seal(changed(tree, ("sources", 0, "rows"), value)), "number"
    largest = changed(tree, ("sources", 0, "rows"), 2**31 - 1)
    yield "another largest index", seal(changed(largest, ("format",), "x")), "schema"
    sealed = seal(changed(tree, ("sources", 0, "rows"), 7777777))
    yield "an enormous integer", sealed.replace(b"7777777", b"7" * 5000), "json"


def text_cases() -> Iterator[Case]:
    tree = good("vip_proved").tree
    for name, text in (("NUL", "a\0"), ("a high surrogate", "\ud800"), ("a low one", "\udfff")):
        yield name, seal(changed(tree, ("sources", 0, "name"), text)), "text"
        yield f"{name} in a key", seal({**tree, text: 1}), "text"
    pair = changed(tree, ("sources", 0, "name"), "\U0001f600")
    yield "a character beyond", seal(changed(pair, ("format",), "x")), "schema"


def hash_cases() -> Iterator[Case]:
    tree = json.loads(good("vip_proved").data())
    other = "sha256:" + "0" * 64
    yield "another digest", (canonical({**tree, "digest": other}) + "\n").encode(), "digest"
    yield "another identity", digest_only({**tree, "identity": other}), "identity"
    yield "another program", seal_hashes(changed(tree, ("header", "program"), other)), "program"
    engine = changed(tree, ("record", "engine"), "another engine")
    yield "another record", (canonical(engine) + "\n").encode(), "digest"


def digest_only(tree: Tree) -> bytes:
    kept = canonical({k: v for k, v in tree.items() if k != "digest"})
    digest = "sha256:" + hashlib.sha256(kept.encode()).hexdigest()
    return (canonical({**tree, "digest": digest}) + "\n").encode()


def cases_of(name: str, *damages: tuple[Path, object, str]) -> Iterator[Case]:
    tree = good(name).tree
    for path, value, code in damages:
        shown = ".".join(map(str, path))
        yield f"{name}: {shown} = {value!r}"[:100], seal(changed(tree, path, value)), code


def schema_cases() -> Iterator[Case]:
    tree = good("vip_proved").tree
    for member in tree:
        kept = {key: value for key, value in tree.items() if key != member}
        yield f"without {member}", seal_hashes(kept), "schema"
    yield "with a stranger", seal({**tree, "extra": None}), "schema"
    yield from cases_of(
        "vip_proved",
        (("format",), "constat-cert/2", "schema"),
        (("header", "verdict"), "TRUE", "schema"),
        (("header", "search"), "tired", "schema"),
        (("header", "level"), "C5", "schema"),
        (("header", "level"), "C2", "level"),
        (("header", "level"), "C1", "level"),
        (("header", "level"), None, "level"),
        (("header", "snapshot"), "two", "schema"),
        (("header", "libraries"), [1], "schema"),
        (("header", "approvals"), "x", "schema"),
        (("header", "as_of"), 1, "schema"),
        (("header", "decision"), [], "schema"),
        (("header", "supersedes"), {}, "schema"),
        (("header", "under"), [0], "schema"),
        (("header", "goal"), ["is_vip"], "schema"),
        (("header", "goal"), ["is_vip", []], "schema"),
        (("header", "goal"), ["nothing", []], "declaration"),
        (("header", "confidence"), "1.0", "schema"),
        (("header", "confidence"), "0.1234567", "schema"),
        (("header", "confidence"), "1.5", "schema"),
        (("header", "confidence"), "-0.5", "schema"),
        (("header", "confidence"), "-0", "schema"),
        (("header", "confidence"), ".5", "schema"),
        (("header", "confidence"), "00.5", "schema"),
        (("header", "confidence"), "", "schema"),
        (("header", "confidence"), "1E-3", "schema"),
        (("header", "confidence"), 1, "schema"),
        (("header", "confidence"), "0.5", "confidence"),
        (("missing",), [["blocked", [None]]], "verdict"),
        (("record", "created"), "now", "value"),
        (("record", "created"), "2026-01-31T09:00:00Z", "value"),
        (("record", "executed"), [], "schema"),
        (("record", "executed", 0), "yesterday", "value"),
        (("record", "signatures"), ["x"], "schema"),
        (("record", "engine"), None, "schema"),
        (("record", "host"), 1, "schema"),
        (("record", "changes"), [CHANGE], "record"),
        (("sources", 0, "origin"), "CACHE", "schema"),
        (("sources", 0, "origin"), "DERIVED", "proof"),
        (("sources", 0, "proof"), {}, "proof"),
        (("sources", 0, "commitment"), "", "schema"),
        (("sources", 0, "hash"), "sha256:" + "A" * 64, "schema"),
        (("sources", 0, "hash"), "sha256:" + "0" * 63, "schema"),
        (("sources", 0, "hash"), "sha256:" + "0" * 65, "schema"),
        (("sources", 0, "hash"), "sha512:" + "0" * 64, "schema"),
        (("sources", 0, "hash"), "sha256:" + "0" * 64, "source"),
        (("sources", 0, "query"), 1, "schema"),
        (("sources", 0, "snapshot"), 1, "schema"),
        (("sources", 0, "author"), 1, "schema"),
        (("sources", 0, "parameters"), [None], "schema"),
        (("sources", 0, "confidence"), "2", "schema"),
        (("facts", 0, "source"), 99, "schema"),
        (("facts", 0, "assumption"), 0, "schema"),
        (("facts", 0, "predicate"), "spend", "declaration"),
        (("facts", 0, "predicate"), "nothing", "declaration"),
        (("facts", 0, "rows"), [["a", "b"]], "schema"),
        (("facts", 0, "rows"), [[None]], "schema"),
        (("facts", 0, "rows"), [["b"], ["a"]], "order"),
        (("facts", 0, "rows"), [["a"], ["a"]], "order"),
        (("facts", 1, "rows", 0, 2), "many", "value"),
        (("facts", 1, "rows", 0, 2), "9" * 5000, "value"),
        (("coverage", 0, "columns"), [1], "schema"),
        (("coverage", 0, "columns"), [0, 0], "schema"),
        (
            ("coverage", 1),
            {"predicate": "order", "columns": [2, 1], "keys": [["1", "C"]], "sources": [1]},
            "schema",
        ),
        (("coverage", 0, "keys"), [["a", "b"]], "schema"),
        (("coverage", 0, "sources"), [9], "schema"),
        (("coverage", 0, "predicate"), "is_vip", "declaration"),
        (("nodes", 0, "kind"), "axiom", "schema"),
        (("nodes", 0, "facts"), 99, "node"),
        (("nodes", 0, "facts"), 3, "node"),
        (("nodes", 0, "row"), 99, "node"),
        (("nodes", 0, "row"), 1, "node"),
        (("nodes", 0, "row"), None, "schema"),
        (("nodes", 1, "kind"), "fact", "schema"),
        (("nodes", 1, "rule"), 2, "schema"),
        (("nodes", 1, "rule"), 1, "schema"),
        (("nodes", 1, "bind"), [], "schema"),
        (("nodes", 1, "premises"), [0], "schema"),
        (("nodes", 1, "premises"), [0, None, None], "schema"),
        (("nodes", 1, "fact", 0), "nothing", "declaration"),
        (("nodes", 1, "bind", 0), None, "schema"),
        (("nodes", 3, "premises", 0), 3, "premise"),
        (("nodes", 3, "premises", 0), 99, "premise"),
        (("closure",), {"entries": []}, "schema"),
        (("closure", "rows"), [["spend", []], ["is_vip", []]], "order"),
        (("closure", "rows"), [["spend", []], ["spend", []]], "order"),
        (("closure", "rows"), [["order", []]], "closure"),
        (("closure", "rows"), [["spend", [["a", "1"], [None, "1"]]]], "order"),
        (("assumptions",), [{"kind": "hope", "text": "", "confidence": "1"}], "schema"),
    )


def approval_cases() -> Iterator[Case]:
    """What approvals of rules may not be; the verdicts among them are for others."""
    for name, case in approved.CASES.items():
        data, code = case()
        if code.islower():
            yield name.replace("_", " "), data, code


def program_cases() -> Iterator[Case]:
    body = ("rules", 1, "body")
    yield from cases_of(
        "vip_proved",
        (("declarations", 0, "external"), 2, "schema"),
        (("declarations", 0, "name"), "", "schema"),
        (("declarations", 0, "name"), "?x", "schema"),
        (("declarations", 0, "name"), "1x", "schema"),
        (("declarations", 0, "name"), "p(?x) :- q", "schema"),
        (("declarations", 0, "name"), "é", "schema"),
        (("declarations", 0, "columns", 0), ["c"], "schema"),
        (("declarations", 0, "columns", 0), ["c", "Money"], "schema"),
        (("declarations", 0, "says"), 1, "schema"),
        (("declarations", 1), good("vip_proved").tree["declarations"][0], "declaration"),
        (("rules", 1, "id"), "spend", "rule"),
        (("rules", 1, "id"), 1, "schema"),
        (("rules", 1, "says"), 1, "schema"),
        (("rules", 1, "confidence"), "0", "assumption"),
        (("rules", 1, "confidence"), "0.9", "assumption"),
        (("rules", 1, "assumption"), 0, "schema"),
        (("rules", 1, "variables", 0, 0), "d", "schema"),
        (("rules", 1, "variables", 0, 1), "number", "kind"),
        (("rules", 1, "head"), ["is_vip", []], "kind"),
        (("rules", 1, "head"), ["nothing", []], "declaration"),
        ((*body, 0, 0), "*", "schema"),
        ((*body, 0, 0), None, "schema"),
        ((*body, 2, 1), "==", "kind"),
        ((*body, 2, 1), 1, "schema"),
        ((*body, 2, 2), ["v"], "schema"),
        ((*body, 2, 2), ["v", "nobody"], "schema"),
        ((*body, 2, 2), ["c", "number", "01"], "value"),
        ((*body, 2, 2), ["c", "Money", "1"], "schema"),
        ((*body, 2, 2), ["f", "neg", "number", []], "kind"),
        ((*body, 2, 2), ["f", "%", "number", [["v", "t"]]], "kind"),
        ((*body, 2, 2), ["f", "neg", "number", {}], "schema"),
        ((*body, 0), ["a"], "schema"),
        ((*body, 0), [], "schema"),
    )
    inside = ("rules", 0, "body", 1)
    yield from cases_of(
        "vip_proved",
        ((*inside, 1), "median", "schema"),
        ((*inside, 1), "count", "kind"),
        ((*inside, 1), "mean", "kind"),
        ((*inside, 2), ["c", "number", "1"], "kind"),
        ((*inside, 2), ["v", "c"], "kind"),
        ((*inside, 3), None, "kind"),
        ((*inside, 3), ["v", "o"], "kind"),
        ((*inside, 4, 0), ["a", "count", ["v", "t"], None, []], "schema"),
        ((*inside, 4), [], "rule"),
    )
    extra = good("vip_proved").tree["rules"][0]["variables"]
    yield from cases_of(
        "vip_proved",
        (("rules", 0, "variables"), [*extra, ["z", "number"]], "rule"),
        (("rules", 0, "variables"), [["z", "number"], *extra], "rule"),
        (("rules", 0, "variables"), [*extra, ["?c", "number"]], "rule"),
    )


def closure_cases() -> Iterator[Case]:
    entry = ("closure", "entries", 0)
    twice = good("reach_disproved").tree["closure"]["entries"]
    yield from cases_of(
        "reach_disproved",
        ((*entry, "predicate"), "edge", "closure"),
        ((*entry, "columns"), [2], "schema"),
        ((*entry, "keys"), [["b"], ["a"]], "order"),
        ((*entry, "keys"), [["a"], ["a"]], "order"),
        ((*entry, "keys"), [[None]], "schema"),
        ((*entry, "orders", 0), [0], "schema"),
        ((*entry, "orders", 0), [9, [0]], "schema"),
        ((*entry, "orders"), [[1, [0, 1]], [0, [0]]], "closure"),
        (("closure", "entries"), [*twice, *twice], "closure"),
    )
    yield from cases_of("odd_disproved", (("closure", "rows"), [], "not-covered"))
    yield from cases_of(
        "gold_conflict",
        (("open", 0, "reason"), None, "schema"),
        (("open", 0, "assumption"), 0, "schema"),
        (("open", 0, "row"), [None], "schema"),
        (("open", 0, "row"), [1, None], "schema"),
        (("open", 0, "predicate"), "gold", "declaration"),
        (("header", "confidence"), "0.5", "confidence"),
        (("header", "verdict"), "DISPROVED", "verdict"),
    )
    yield from cases_of(
        "gold_by_user",
        (("header", "under"), [0, 0], "header"),
        (("header", "under"), [1], "schema"),
        (("facts", 0, "assumption"), None, "assumption"),
        (("assumptions", 0, "kind"), "closure", "assumption"),
        (("assumptions", 0, "kind"), "rule", "assumption"),
    )


def summary_cases() -> Iterator[Case]:
    summary = ("summaries", 0)
    tree = good("summary_proved").tree
    first = tree["summaries"][0]["chunks"][0]
    other = "sha256:" + "0" * 64
    low = first[2]
    yield from cases_of(
        "summary_proved",
        ((*summary, "rule"), 9, "schema"),
        ((*summary, "rule"), 1, "summary"),
        ((*summary, "literal"), 0, "summary"),
        ((*summary, "literal"), 2, "schema"),
        ((*summary, "group"), [], "schema"),
        ((*summary, "group"), ["Z"], "unserved"),
        ((*summary, "count"), 2054, "summary"),
        ((*summary, "hash"), other, "summary"),
        ((*summary, "sources"), [], "summary"),
        ((*summary, "sources"), [99], "schema"),
        ((*summary, "chunks", 0, 0), 1025, "summary"),
        ((*summary, "chunks", 0, 0), 1023, "summary"),
        ((*summary, "chunks", 0, 1), "1", "summary"),
        ((*summary, "chunks", 0, 1), "2/2", "summary"),
        ((*summary, "chunks", 0, 1), "1/0", "summary"),
        ((*summary, "chunks", 0, 1), "/1", "summary"),
        ((*summary, "chunks", 0, 1), "1/", "summary"),
        ((*summary, "chunks", 0, 1), "1/-1", "summary"),
        ((*summary, "chunks", 0, 1), "--1/1", "summary"),
        ((*summary, "chunks", 0, 1), "٣/1", "summary"),
        ((*summary, "chunks", 0, 1), "9" * 9999 + "/1", "summary"),
        ((*summary, "chunks", 0, 1), None, "schema"),
        ((*summary, "chunks", 0, 2), None, "schema"),
        ((*summary, "chunks", 0, 2), "900", "summary"),
        ((*summary, "chunks", 0, 3), low, "summary"),
        ((*summary, "chunks", 0, 3), "", "value"),
        ((*summary, "chunks", 0, 4), other, "summary"),
        ((*summary, "chunks", 0), first[:4], "schema"),
        ((*summary, "chunks"), [], "summary"),
        ((*summary, "chunks"), [[1000, *first[1:]]], "summary"),
        (("summaries",), [], "unserved"),
        (("summaries",), [tree["summaries"][0], tree["summaries"][0]], "summary"),
    )


def chunk_cases() -> Iterator[Case]:
    """Summaries that are wrong in one place and right in all others."""
    few = [constructs.full(1000, "1000/1", "1", "1")]
    yield (
        "a thousand rows",
        constructs.summarised("sum", "number", few, "1000", "number").data(),
        ("summary"),
    )
    one = constructs.full(1, None, "2024-01-01", "2024-01-01")
    turned = constructs.full(1024, None, "2024-02-02", "2024-02-01")
    certificate = constructs.summarised("min", "Date", [turned, one], "2024-01-01", "Date")
    yield "least above greatest", certificate.data(), "summary"
    full = constructs.full(1024, None, "2024-02-01", "2024-02-02")
    two = constructs.full(1, None, "2024-01-01", "2024-01-02")
    certificate = constructs.summarised("min", "Date", [full, two], "2024-01-01", "Date")
    yield "one row of two dates", certificate.data(), "summary"
    added = constructs.full(1024, "1/1", "2024-02-01", "2024-02-02")
    certificate = constructs.summarised("min", "Date", [added, one], "2024-01-01", "Date")
    yield "a sum of dates", certificate.data(), "summary"
    empty = constructs.full(0, "0/1", "1", "1")
    full = constructs.full(1024, "1024/1", "1", "1")
    certificate = constructs.summarised("sum", "number", [full, empty], "1024", "number")
    yield "an empty last chunk", certificate.data(), "summary"
    two = constructs.full(1, "3/2", "1", "2")
    certificate = constructs.summarised("sum", "Decimal", [full, two], "1025.5", "Decimal")
    yield "one row of two values", certificate.data(), "summary"
    third = constructs.full(3, "4/3", "0", "1")
    certificate = constructs.summarised("sum", "Decimal", [full, third], "1", "Decimal")
    yield "a third of a Decimal", certificate.data(), "summary"
    third = constructs.full(3, "4/3", (0.0).hex(), (1.0).hex())
    ones = constructs.full(1024, "1024/1", (1.0).hex(), (1.0).hex())
    certificate = constructs.summarised("sum", "float", [ones, third], (1.0).hex(), "float")
    yield "a third of a float", certificate.data(), "summary"


def more_chunk_cases() -> Iterator[Case]:
    full, summarised = constructs.full, constructs.summarised
    short = full(500, "500/1", "1", "1")
    whole = full(1024, "1024/1", "1", "1")
    yield (
        "a short first chunk",
        summarised("sum", "number", [short, whole], "1524", "number").data(),
        ("summary"),
    )
    certificate = summarised(
        "count",
        "symbol",
        [full(1024, None, None, None), full(0, None, None, None)],
        "1024",
        "number",
    )
    yield "an empty last chunk of a count", certificate.data(), "summary"
    named = [full(1024, None, "a", "b"), full(1, None, None, None)]
    certificate = summarised("count", "symbol", named, "1025", "number")
    yield "a count with a least value", certificate.data(), "summary"
    below = full(3, f"{10**39 + 1}/{10**39}", "0", "1")
    certificate = summarised("sum", "Decimal", [whole, below], "1025", "Decimal")
    yield "a sum with 39 places", certificate.data(), "summary"
    tree = summarised("count", "symbol", [full(1024, None, None, None)], "1024", "number").tree
    yield (
        "a model beside a database",
        seal(changed(tree, ("sources", 1, "origin"), "LLM_KNOWLEDGE")),
        "summary",
    )
    w = constructs.writer_of_a_fact()
    w.summary(0, 0, [], [full(1024, None, None, None)], 0)
    yield "a summary of a rule without a body", w.conclude("PROVED", "p", "a").data(), "summary"


def aggregate_cases() -> Iterator[Case]:
    for function, kind, result in (
        ("min", "Bool", "Bool"),
        ("sum", "symbol", "symbol"),
        ("mean", "symbol", "float"),
        ("mean", "Date", "float"),
        ("sum", "Bool", "Bool"),
        ("mean", "Decimal", "float"),
        ("sum", "number", "float"),
        ("max", "number", "unsigned"),
    ):
        value = {"Bool": "true", "symbol": "1", "Date": "2024-01-01"}.get(kind, "1")
        claimed = {"float": (1.0).hex()}.get(result, value)
        tree = constructs.folded(function, kind, [value], claimed, result).tree
        yield f"{function} of {kind} as {result}", seal(tree), "kind"
    yield from cases_of("gold_by_proposed_rule", (("rules", 0, "confidence"), "0", "assumption"))


def matches(count: int) -> bytes:
    """Return a proof of as many expensive matches; two are affordable."""
    w = Writer()
    w.outside("text", "s:symbol")
    w.declare("q", "s:symbol")
    w.rule("q", pos("q", "s"), pos("text", "s"), cmp("match", con("symbol", "a?" * 9_999), "s"))
    w.facts("text", [[f"a{'b' * 990}{n}"] for n in range(count)], covers=([], [[]]))
    w.entry("q", [], [[]])
    return w.conclude("DISPROVED", "q", "x").data()


def limit_cases() -> Iterator[Case]:
    """A join of five lists of 60 has more assignments than anybody wants to check."""
    w = Writer()
    w.outside("p", "x:number")
    w.declare("q", "x:number")
    names = [f"x{n}" for n in range(5)]
    term: list[Any] = ["v", names[0]]
    for name in names[1:]:
        term = fun("+", "number", term, name)
    literals = [pos("p", name) for name in names]
    w.rule("q", pos("q", "t"), *literals, cmp("=", "t", term), t="number")
    w.facts("p", [[str(n)] for n in range(60)], covers=([], [[]]))
    w.entry("q", [0], [["-1"]])
    yield "too much to match", matches(20), "limit"
    yield "too many steps", w.conclude("DISPROVED", "q", "-1").data(), "limit"


def malformed() -> Iterator[Case]:
    yield from bytes_cases()
    yield from number_cases()
    yield from text_cases()
    yield from hash_cases()
    yield from schema_cases()
    yield from approval_cases()
    yield from program_cases()
    yield from closure_cases()
    yield from summary_cases()
    yield from chunk_cases()
    yield from more_chunk_cases()
    yield from aggregate_cases()
    yield from evidence_cases()
