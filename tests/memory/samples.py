"""Texts of many kinds, and how many tokens three public tokenizers find in them.

The counts were taken once, on 2026-11-21, with tiktoken's o200k_base and cl100k_base and the
tokenizer that Anthropic published for Claude 2; none of them is needed to run the tests.
"""

from __future__ import annotations

import base64
import json
import random
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

STATES: Final = ("open", "closed", "pending")
LOUD: Final = ("CONSTRAINT", "UNIQUE", "REFERENCES", "TIMESTAMP", "REPOSITORY", "ISOLATION")
CAMEL: Final = ("getCustomerById", "parseHttpRequest", "isVipCustomer", "innerHTML", "toString")
MARKS: Final = "!@#$%^&*()_+-=[]{};:,./<>?|~`"


def rows(rng: random.Random) -> list[tuple[str, ...]]:
    return [
        (
            str(rng.randrange(10**6)),
            f"{rng.random() * 1e4:.2f}",
            f"2025-{rng.randrange(1, 13):02d}-{rng.randrange(1, 29):02d}",
            f"C{rng.randrange(1000):04d}",
            rng.choice(STATES),
        )
        for _ in range(200)
    ]


def json_text(rng: random.Random, indent: int | None = None) -> str:
    names = ("id", "amount", "day", "customer", "state")
    return json.dumps([dict(zip(names, row, strict=True)) for row in rows(rng)], indent=indent)


def joined(rng: random.Random, choices: tuple[str, ...]) -> str:
    return " ".join(rng.choice(choices) for _ in range(400))


MAKERS: Final[MappingProxyType[str, Callable[[random.Random], str]]] = MappingProxyType(
    {
        "json": json_text,
        "json, indented": lambda rng: json_text(rng, 2),
        "csv": lambda rng: "\n".join(map(",".join, rows(rng))),
        "table": lambda rng: "\n".join(f"| {' | '.join(row)} |" for row in rows(rng)),
        "digests": lambda rng: "\n".join(f"{rng.getrandbits(128):032x}" for _ in range(100)),
        "short digests": lambda rng: " ".join(f"{rng.getrandbits(32):08x}" for _ in range(200)),
        "base64": lambda rng: base64.b64encode(rng.randbytes(2000)).decode(),
        "marks": lambda rng: "".join(rng.choice(MARKS) for _ in range(1500)),
        "capitals": lambda rng: joined(rng, LOUD),
        "camel case": lambda rng: joined(rng, CAMEL),
        "paths": lambda rng: "\n".join(
            f"/srv/data/{rng.choice(STATES)}_{rng.randrange(99)}/main.py:{rng.randrange(999)}"
            for _ in range(150)
        ),
        "sql": lambda _: (
            "SELECT customer_id, SUM(amount) AS total FROM orders "
            "WHERE ordered_on >= DATE '2025-01-01' GROUP BY customer_id;\n" * 20
        ),
        "english": lambda _: (
            "The customer asked twice whether the refund would arrive before "
            "Friday, and was told that nobody could promise it. " * 20
        ),
        "german": lambda _: (
            "Die Geschäftsführung prüft jährlich die Übereinstimmung der "
            "Verträge mit den gültigen Vorschriften. " * 20
        ),
        "russian": lambda _: "Каждый ответ сопровождается доказательством. " * 20,
        "chinese": lambda _: "证据不足，无法得出结论。每个事实都有来源。" * 20,  # noqa: RUF001
        "japanese": lambda _: "この証明は独立した検査器によって検証されます。" * 20,
        "korean": lambda _: "이 증명은 독립적인 검사기에 의해 검증됩니다. " * 20,
        "arabic": lambda _: "كل إجابة مصحوبة ببرهان يتحقق منه برنامج مستقل. " * 20,
        "hindi": lambda _: "हर उत्तर के साथ एक प्रमाण होता है। " * 20,
        "thai": lambda _: "ทุกคำตอบมีหลักฐานที่โปรแกรมอิสระตรวจสอบได้ " * 20,
        "emoji": lambda _: "Done ✅ ship it 🚀 thanks 🙏🏽 ok 🎉 " * 20,
        "boxes": lambda _: "│ total  │ 1,234 │\n├────────┼───────┤\n" * 20,
    }
)

# By o200k_base, cl100k_base and the tokenizer of Claude 2.
COUNTS: Final = MappingProxyType(
    {
        "json": (8179, 8179, 8260),
        "json, indented": (9986, 9986, 10054),
        "csv": (3979, 3979, 4258),
        "table": (4979, 4979, 4711),
        "digests": (1954, 1949, 1998),
        "short digests": (1098, 1098, 1002),
        "base64": (1803, 1893, 1861),
        "marks": (1027, 1013, 1040),
        "capitals": (792, 595, 728),
        "camel case": (1102, 968, 1046),
        "paths": (1739, 1739, 2251),
        "sql": (580, 580, 680),
        "english": (421, 421, 421),
        "german": (421, 641, 701),
        "russian": (162, 321, 381),
        "chinese": (320, 420, 380),
        "japanese": (321, 540, 480),
        "korean": (281, 501, 621),
        "arabic": (301, 661, 820),
        "hindi": (181, 601, 661),
        "thai": (301, 860, 1561),
        "emoji": (281, 381, 401),
        "boxes": (400, 420, 420),
    }
)
