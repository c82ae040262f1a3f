"""Attestations and nested certificates that are damaged in one place, and why each is rejected.

The entries are as in ``malformed``: (name, bytes, reason code).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from tests.check.catalog import good
from tests.check.committed import Relation, sealed, wide
from tests.check.evidence_constructs import proved_by_many
from tests.check.forged_evidence import refit, resigned
from tests.check.mutants import changed
from tests.check.writer import Tree, Writer, canonical, seal, seal_hashes, sha256

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.check.mutants import Path

Case = tuple[str, bytes, str]

WORD: Final = ("sources", 0, "attestation")
PROOF: Final = ("sources", 0, "proof")
ROOT: Final = ("sources", 1, "commitment")
OPENING: Final = (*ROOT, "openings", 0)
DAMAGES: Final[tuple[tuple[str, Path, object, str], ...]] = (
    ("attested_by_a_model", WORD, [], "schema"),
    ("attested_by_a_model", WORD, {}, "schema"),
    ("attested_by_a_model", (*WORD, "prompt"), "sha256:" + "A" * 64, "schema"),
    ("attested_by_a_model", (*WORD, "response"), "said", "schema"),
    ("attested_by_a_model", (*WORD, "note"), 1, "schema"),
    ("attested_by_a_model", (*WORD, "agent"), None, "schema"),
    ("attested_by_a_model", (*WORD, "agent", "kind"), "machine", "schema"),
    ("attested_by_a_model", (*WORD, "agent", "name"), None, "schema"),
    ("attested_by_a_model", (*WORD, "agent", "version"), 4, "schema"),
    ("attested_by_a_model", (*WORD, "agent", "digest"), "4", "schema"),
    ("attested_by_a_model", (*WORD, "quote"), "x", "schema"),
    ("attested_by_a_model", (*WORD, "quote", "hash"), "x", "schema"),
    ("attested_by_a_model", (*WORD, "quote", "start"), None, "schema"),
    ("attested_by_a_model", (*WORD, "quote", "end"), "19", "schema"),
    ("attested_by_a_model", (*WORD, "quote", "text"), None, "schema"),
    ("attested_by_a_model", (*WORD, "reviewer"), "bob", "schema"),
    ("attested_by_a_model", (*WORD, "reviewer", "at"), "yesterday", "value"),
    ("attested_by_a_model", ("assumptions", 0, "attestations"), None, "schema"),
    ("attested_by_a_model", ("assumptions", 0, "attestations"), ["x"], "schema"),
    ("attested_by_a_model", ("sources", 0, "commitment"), {}, "commitment"),
    ("committed", ROOT, {}, "schema"),
    ("committed", ROOT, [], "schema"),
    ("committed", ROOT, "", "schema"),
    ("committed", (*ROOT, "predicate"), 1, "schema"),
    ("committed", (*ROOT, "predicate"), "nothing", "declaration"),
    ("committed", (*ROOT, "predicate"), "good", "declaration"),
    ("committed", (*ROOT, "predicate"), "member", "schema"),
    ("committed", (*ROOT, "root"), "0" * 64, "schema"),
    ("committed", (*ROOT, "rows"), None, "schema"),
    ("committed", (*ROOT, "rows"), "8", "schema"),
    ("committed", (*ROOT, "order"), [0, 1], "schema"),
    ("committed", (*ROOT, "order"), [0, 1, 3], "schema"),
    ("committed", (*ROOT, "order"), [1, 0, 0], "commitment"),
    ("committed", (*ROOT, "openings"), None, "schema"),
    ("committed", (*OPENING, "columns"), None, "schema"),
    ("committed", (*OPENING, "columns"), [3], "schema"),
    ("committed", (*OPENING, "columns"), [1, 1], "schema"),
    ("committed", (*OPENING, "columns"), [1, 0], "schema"),
    ("committed", (*OPENING, "key"), ["C001", "O1"], "schema"),
    ("committed", (*OPENING, "key"), [None], "schema"),
    ("committed", (*OPENING, "start"), "1", "schema"),
    ("committed", (*OPENING, "start"), None, "schema"),
    ("committed", (*OPENING, "before"), ["O1", "A"], "schema"),
    ("committed", (*OPENING, "before"), ["O1", "A", "01"], "value"),
    ("committed", (*OPENING, "after"), ["O1", None, "1"], "schema"),
    ("committed", (*OPENING, "after"), 1, "schema"),
    ("committed", (*OPENING, "path"), None, "schema"),
    ("committed", (*OPENING, "path"), ["0" * 64], "schema"),
    ("nested_under_a_word", PROOF, [], "schema"),
    ("nested_under_a_word", (*PROOF, "certificate"), -1, "number"),
    ("nested_under_a_word", (*PROOF, "certificate"), None, "schema"),
    ("nested_under_a_word", (*PROOF, "assumptions"), None, "schema"),
    ("nested_under_a_word", (*PROOF, "assumptions"), [1], "schema"),
    ("nested_under_a_word", (*PROOF, "assumptions"), [0, 0], "proof"),
    ("nested_under_a_word", ("proofs",), None, "schema"),
    ("nested_under_a_word", ("proofs",), {}, "schema"),
    ("nested_under_a_word", ("proofs",), [None], "schema"),
    ("nested_under_a_word", ("proofs",), [[]], "schema"),
    ("nested_under_a_word", ("proofs",), [{}], "schema"),
    ("nested_under_a_word", ("proofs", 0, "proofs"), None, "digest"),
    ("nested_under_a_word", ("proofs", 0, "digest"), sha256("x"), "digest"),
    ("nested_under_a_word", ("proofs", 0, "record", "host"), "elsewhere", "digest"),
    ("nested_under_a_word", ("facts", 0, "assumption"), 0, "assumption"),
)


def evidence_cases() -> Iterator[Case]:
    for name, path, value, code in DAMAGES:
        shown = ".".join(map(str, path))
        yield (
            f"{name}: {shown} = {value!r}"[:100],
            seal(changed(good(name).tree, path, value)),
            code,
        )
    yield from commitment_cases()
    yield "a nested identity", seal(_inside("identity")), "identity"
    yield "a nested program", seal(_inside("program")), "program"
    yield "one more than allowed", proved_by_many(257).data(), "proof"
    yield "a stranger in a nested one", seal(_refitted("extra", None)), "schema"


def commitment_cases() -> Iterator[Case]:
    """Yield openings that are twice there, not in their order, or of too many kinds."""
    for name, places, code in (
        ("an opening twice", [0, 0], "order"),
        ("openings in another order", [1, 0], "order"),
    ):
        tree = good("committed_by_two_sources").tree
        openings = tree["sources"][1]["commitment"]["openings"]
        tree["sources"][1]["commitment"]["openings"] = [openings[place] for place in places]
        yield name, seal(tree), code
    tree = opened_by_one_column_and_two().tree
    tree["sources"][0]["commitment"]["openings"].reverse()
    yield "openings by more columns first", seal(tree), "order"
    yield "too many lists of columns", wide(17).data(), "limit"


def opened_by_one_column_and_two() -> Writer:
    w, rows = Writer(), [["a", "b"], ["z", "c"]]
    w.outside("pair", "a:symbol b:symbol")
    w.facts("pair", rows, covers=([0], [["z"]]))
    w.cover("pair", [0, 1], [["a", "b"]], 0)
    w.given("pair", "a", "b")
    w.conclude("PROVED", "pair", "a", "b")
    return sealed(w, Relation("pair", rows, [0, 1]))


def _inside(member: str) -> Tree:
    """Return a certificate whose nested one says another hash than its own."""
    tree = good("nested_proof").tree
    inner = tree["proofs"][0]
    if member == "program":
        inner["header"]["program"] = sha256("x")
        inner.update(json.loads(seal_hashes(inner)))
    else:
        inner["identity"] = sha256("x")
        kept = {key: value for key, value in inner.items() if key != "digest"}
        inner["digest"] = sha256(canonical(kept))
    return tree


def _refitted(member: str, value: object) -> Tree:
    tree = good("nested_proof").tree
    tree["proofs"][0][member] = value
    return refit(tree)


def reworded(name: str) -> bytes:
    """Return a certificate whose word was changed, the assumption with it: a leaf forgery."""
    tree = good(name).tree
    tree["sources"][0]["attestation"]["note"] = "another remark"
    return seal(resigned(tree))
