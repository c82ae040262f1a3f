"""Arbitrary bytes and arbitrary JSON never raise; ``CONSTAT_FUZZ_ROUNDS`` sets how many."""

from __future__ import annotations

import json
import os
import random
from typing import Any

from constat.check import check_certificate
from tests.check.catalog import GOOD, good
from tests.check.mutants import changed, places, removed, repeated
from tests.check.writer import canonical, seal, seal_hashes

ROUNDS = int(os.environ.get("CONSTAT_FUZZ_ROUNDS", "600"))


def check(data: bytes) -> None:
    report = check_certificate(data)
    assert report.accepted == (report.exit_code != 1)
    assert report.accepted == (report.verdict is not None)
    assert report.accepted == (report.code is None)
    report.to_text().encode()
    json.loads(report.to_json())


def test_random_bytes_never_raise() -> None:
    rng = random.Random(1)
    for _ in range(ROUNDS):
        check(rng.randbytes(rng.randrange(200)))
        check(bytes(rng.choices(b'{}[]",:0123456789\\untrefalsE-.', k=rng.randrange(60))))


def test_certificates_with_damaged_bytes_never_raise() -> None:
    rng = random.Random(2)
    texts = [bytearray(good(name).data()) for name in GOOD]
    for _ in range(ROUNDS):
        data = bytearray(rng.choice(texts))
        for _ in range(rng.randrange(1, 6)):
            at = rng.randrange(len(data))
            data[at : at + rng.randrange(4)] = rng.randbytes(rng.randrange(4))
        check(bytes(data))


def any_json(rng: random.Random, depth: int = 3) -> Any:  # noqa: ANN401  any JSON
    plain: list[Any] = [None, 0, 1, 7, 2**31 - 1, "", "x", "1", "C001", "0.5", "\ud800", "a\0", "v"]
    if depth == 0 or rng.random() < 0.5:
        return rng.choice(plain)
    if rng.random() < 0.7:
        return [any_json(rng, depth - 1) for _ in range(rng.randrange(4))]
    return {str(any_json(rng, 0)): any_json(rng, depth - 1) for _ in range(rng.randrange(3))}


def test_certificates_with_other_parts_never_raise() -> None:
    """Parts are changed, dropped, doubled, swapped with others; then all hashes are made to fit."""
    rng = random.Random(3)
    trees = [good(name).tree for name in GOOD]
    for _ in range(ROUNDS):
        tree = rng.choice(trees)
        for _ in range(rng.randrange(1, 4)):
            found = list(places(tree))
            path, _ = rng.choice(found)
            _, other = rng.choice(found)
            step = rng.randrange(4)
            if step == 0:
                tree = changed(tree, path, any_json(rng))
            elif step == 1:
                tree = changed(tree, path, other)
            elif step == 2:
                tree = removed(tree, path)
            else:
                tree = repeated(tree, path)
        sealer = seal if isinstance(tree.get("header"), dict) else seal_hashes
        check(sealer(tree))


def test_any_object_never_raises() -> None:
    rng = random.Random(4)
    for _ in range(ROUNDS):
        check((canonical(any_json(rng, 5)) + "\n").encode())
