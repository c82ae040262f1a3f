"""Certificates to report on: every verdict, hostile data, and proofs that are wide or deep.

In: nothing.  Out: the bytes of certificates; those of ``good`` are accepted by the checker.
"""

from __future__ import annotations

import json
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from constat.evaluation import Assumption
from tests.proof.asking import (
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    vip_tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable

VOUCHED = Assumption("closure", "tier", "bob vouches that no tier is missing", Decimal("0.95"))

PAYLOADS = (
    "<script>globalThis.struck=1</script>",
    "</script><script>globalThis.struck=2</script>",
    "</pre></code></section><img src=x onerror=globalThis.struck=3>",
    '"><svg onload=globalThis.struck=4>',
    "' onmouseover='globalThis.struck=5",
    "</style><style>@import 'https://evil.example/a.css'</style>",
    "</title><base href=https://evil.example/>",
    "<meta http-equiv=refresh content='0;url=//evil.example'>",
    "<!--<script>globalThis.struck=6//-->",
    "]]><iframe srcdoc='<script>parent.struck=7</script>'>",
    "<link rel=stylesheet href=https://evil.example/b.css>",
    "javascript:globalThis.struck=8",
    "&lt;script&gt;globalThis.struck=9&lt;/script&gt;",
    "${globalThis.struck=10}`+(globalThis.struck=11)+`",
    "\u2028globalThis.struck=12\u2029",
    "\u202egnp.exe\u2066\u200b\ufeff",
    "\x01\x1b[31m\x07\r\n\t\x85",
    "=cmd|' /C calc'!A1",
    "url(https://evil.example/c.png)",
)


def vip(goal: str, **tables: Table) -> bytes:
    """Return the certificate of a goal on the small shop."""
    return certificate(ask(analysed(VIP), goal, vip_tables(**tables)))


VERDICTS = ("proved", "under", "disproved", "disproved_under", "unresolved", "answers")


@cache
def good() -> dict[str, bytes]:
    """Return a certificate of each verdict."""
    return {
        "proved": vip("is_vip(C1)"),
        "under": vip("is_vip(C3)"),
        "disproved": vip("is_vip(C2)"),
        "disproved_under": vip("is_vip(C2)", tier=Table(closed=VOUCHED)),
        "unresolved": vip("is_vip(C2)", tier=Table(silent=True)),
        "answers": vip("is_vip(?c)"),
    }


STRUCTURES = """
.type Expr = Number { x: number } | Named { name: symbol } | Add { l: Expr, r: Expr }
.decl given(e: Expr)
.input given(source = "sales", query = "q")
.decl value(name: symbol, x: number)
.input value(source = "sales", query = "v")
.decl part(e: Expr)
part(?e) :- given(?e).
part(?l) :- part($Add(?l, _)).
part(?r) :- part($Add(_, ?r)).
.decl worth(e: Expr, n: number)
worth($Number(?n), ?n) :- part($Number(?n)).
worth(?e, ?n) :- part(?e), ?e = $Named(?name), value(?name, ?n).
worth(?e, ?n) :- part(?e), ?e = $Add(?l, ?r), worth(?l, ?a), worth(?r, ?b), ?n = ?a + ?b.
"""


@cache
def structures(verdict: str = "PROVED") -> bytes:
    """Return a certificate about an expression that holds every payload as a text."""
    said = " ".join(PAYLOADS)
    name = said.replace("\\", "\\\\").replace('"', '\\"')
    whole = f'$Add($Number(-7), $Add($Named("{name}"), $Number(150000)))'
    tables = {"given": Table(((whole,),)), "value": Table(((said, 3),))}
    worth = 149_996 if verdict == "PROVED" else 149_997
    return certificate(ask(analysed(STRUCTURES), f"worth(?e, {worth})", tables))


def chain(length: int) -> bytes:
    """Return a proof that is ``length`` steps deep and has two nodes a step."""
    rows = tuple((f"n{at}", f"n{at + 1}") for at in range(length))
    tables = {"owns": Table(rows), "person": Table()}
    return certificate(ask(analysed(REACH), f"reach(n0, n{length})", tables))


def deep(length: int) -> bytes:
    """Return what ``chain`` returns, without a search, a source for all rows, and the hashes."""
    members = json.loads(chain(2))
    names = [f"n{at:05}" for at in range(length + 1)]
    rows = [[names[at], names[at + 1]] for at in range(length)]
    members["header"]["goal"] = ["reach", [names[0], names[-1]]]
    members["facts"] = [members["facts"][0] | {"rows": rows}]
    leaf, _, first, step = members["nodes"]
    nodes = []
    for at, row in enumerate(rows):
        nodes.append(leaf | {"fact": ["owns", row], "facts": 0, "row": at})
        fact = ["reach", [names[0], row[1]]]
        if at:
            bind = [names[0], row[1], row[0]]
            nodes.append(step | {"fact": fact, "bind": bind, "premises": [2 * at - 1, 2 * at]})
        else:
            nodes.append(first | {"fact": fact, "bind": row, "premises": [0]})
    return json.dumps(members | {"nodes": nodes}).encode()


def many(customers: int, orders: int = 1) -> bytes:
    """Return a proof of as many answers, each over a sum of as many rows."""
    names = [f"C{at}" for at in range(customers)]
    lines = tuple((name, f"o{at}", Decimal(150_000)) for name in names for at in range(orders))
    tables = vip_tables(customer=Table(tuple((name,) for name in names)), order_line=Table(lines))
    return certificate(ask(analysed(VIP), "is_vip(?c)", tables))


@cache
def hostile_values() -> bytes:
    """Return an accepted certificate whose values are all hostile."""
    allowed = tuple(one.replace("\0", "") for one in PAYLOADS)
    tables = vip_tables(
        customer=Table(tuple((one,) for one in allowed)),
        order_line=Table(tuple((one, one, Decimal(150_000)) for one in allowed)),
    )
    return certificate(ask(analysed(VIP), "is_vip(?c)", tables))


def hostile_everywhere(payload: str) -> bytes:
    """Return a certificate in which every name and every text ends in a payload.

    No checker accepts it: a report must be harmless all the same, whoever wrote the file.
    """
    members = json.loads(vip("is_vip(C3)", blocked=Table(open=(("C4",),))))
    for declaration in members["declarations"]:
        declaration["says"] = declaration["says"] or f"{{{declaration['columns'][0][0]}}} holds"
    return json.dumps(_changed(members, lambda text: text + payload)).encode()


# What a report reads as a word of the format, not as data.
_VERDICTS = {"PROVED", "PROVED_UNDER", "DISPROVED", "UNRESOLVED", "constat-cert/2"}
_KINDS = {"number", "unsigned", "float", "symbol", "Date", "Timestamp", "Decimal", "Bool"}
_MARKS = {"+", "-", "?", "a", "v", "c", "f", ">", "=", "sum", "count", "fact", "rule", "closure"}
_ORIGINS = {"DATABASE", "CONFIG", "USER_PROVIDED", "exhausted", "stopped"}
_WORDS = _VERDICTS | _KINDS | _MARKS | _ORIGINS
_PLACES = frozenset({"confidence", "created", "executed", "hash", "program", "kind", "origin"})


def _changed(value: Any, change: Callable[[str], str]) -> Any:  # noqa: ANN401  JSON
    if isinstance(value, dict):
        return {
            name: one if name in _PLACES else _changed(one, change) for name, one in value.items()
        }
    if isinstance(value, list):
        if value[:1] == ["c"]:
            return value
        return [_changed(one, change) for one in value]
    is_data = (
        isinstance(value, str) and value not in _WORDS and not value.replace(".", "").isdigit()
    )
    return change(value) if is_data else value
