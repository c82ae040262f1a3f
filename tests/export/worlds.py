"""Certificates to export: one for each verdict, with every kind of step, and hostile values.

In: rules and tables as in ``tests.proof.asking``.  Out: the bytes of certificates that the checker
has accepted.
"""

from __future__ import annotations

import json
from dataclasses import replace
from decimal import Decimal
from functools import cache
from typing import TYPE_CHECKING, Final

from constat.evaluation import (
    Agent,
    Answer,
    Assumption,
    Attestation,
    Evidence,
    Origin,
    Portion,
    Proved,
    Quote,
    Review,
)
from constat.logic import quoted
from constat.proof.encoding import sha256
from tests.proof.asking import (
    NOW,
    REACH,
    VIP,
    Table,
    analysed,
    ask,
    certificate,
    matches,
    reach_tables,
    vip_tables,
)
from tests.proof.structures import (
    EXPRESSIONS,
    OFFERS,
    SEVEN,
    expression_tables,
    offer_tables,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from constat.evaluation import Demand

# What terminals, XML, JSON, spreadsheets and browsers would take for something else.
HOSTILE: Final = (
    "\x1b[2J\x1b]0;title\x07",
    "line\nbreak\r\ttab",
    "<script>alert(1)</script>",
    "]]>&lt;&amp;\"'",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "-2-3",
    "@SUM(A1)",
    "\t=1+1",
    "\uff1d1+1",
    "\u202egnp.exe\u202c",
    "\u2066hidden\u2069",
    "\u2028\u2029",
    "_x0041_",
    '"quotes", commas; and `ticks`',
    "back\\slash",
    "\ufffe\uffff",
    "\U0001f600 \u00e4\u00f6\u00fc",
    "proof:node0",
    "x" * 40_000,
)

HOSTILE_RULES: Final = """
@[says = "the note of {id} is {text} & <b>]]>"]
.decl note(id: number, text: symbol)
.input note(source="s", query="q")
.decl noted(text: symbol)
@[says = "=HYPERLINK({text})"]
noted(?text) :- note(_id, ?text).
"""


class HostileTable(Table):
    """A table whose source is called and asked in ways that break other programs."""

    def evidence(self, demand: Demand) -> Evidence:
        shown = "".join(HOSTILE[:-1])
        return replace(
            super().evidence(demand),
            source=f"=sales{shown}",
            query=f"SELECT '{shown}'",
            parameters=HOSTILE[:-1],
            snapshot=f"+{shown}",
        )


class Attested(Table):
    """A table whose rows a model says, with a reviewer who agreed."""

    def answer(self, demand: Demand) -> Answer:
        text = "C7 is one of our gold customers"
        attestation = Attestation(
            Agent("model", "reader", "2.1", sha256("weights")),
            sha256("Is C7 a gold customer?"),
            sha256("yes"),
            Quote("minutes.txt", text, 100, 100 + len(text), sha256("minutes")),
            Review("bob", NOW),
            "read twice",
        )
        rows = tuple(row for row in self.rows if matches(demand, row))
        evidence = Evidence(
            "model",
            Origin.LLM_KNOWLEDGE,
            "reader",
            NOW,
            row_count=len(rows),
            confidence=Decimal("0.8"),
            author="reader 2.1",
            attestation=attestation,
        )
        assumption = Assumption("fact", "tier", "the model reader says tier", Decimal("0.8"))
        return Answer((Portion(rows, evidence, assumption),) if rows else ())


class Certified(Table):
    """A table whose row another certificate proves."""

    def answer(self, demand: Demand) -> Answer:
        inner = vip("is_vip(C1)")
        row = ("C1",)
        if not matches(demand, row):
            return Answer()
        identity = json.loads(inner)["identity"]
        evidence = Evidence(
            "certificates", Origin.DERIVED, identity, NOW, row_count=1, proved=Proved(inner)
        )
        return Answer((Portion((row,), evidence),))


@cache
def attested() -> bytes:
    """Return a certificate that rests on what a model said and a person reviewed."""
    tables = vip_tables(tier=Attested((("C7", "gold"),)))
    return certificate(ask(analysed(VIP), "is_vip(C7)", tables))


@cache
def nested() -> bytes:
    """Return a certificate that rests on another."""
    rules = """
    .decl is_vip(c: symbol)
    .input is_vip(source="certificates", query="q")
    .decl invited(c: symbol)
    invited(?c) :- is_vip(?c).
    """
    return certificate(ask(analysed(rules), "invited(C1)", {"is_vip": Certified()}))


@cache
def vip(goal: str) -> bytes:
    """Return a certificate about customers."""
    return certificate(ask(analysed(VIP), goal, vip_tables()))


@cache
def unresolved() -> bytes:
    """Return a certificate of what is not known."""
    tables = vip_tables(tier=Table(silent=True))
    return certificate(ask(analysed(VIP), "is_vip(C2)", tables))


@cache
def undecided() -> bytes:
    """Return a certificate in which an assumption alone decides nothing."""
    tables = vip_tables(blocked=Table(silent=True))
    return certificate(ask(analysed(VIP), "is_vip(C3)", tables))


@cache
def reach(goal: str) -> bytes:
    """Return a certificate with recursion."""
    return certificate(ask(analysed(REACH), goal, reach_tables()))


@cache
def hostile() -> bytes:
    """Return a certificate whose values are made to break other programs."""
    rows = tuple((number, text) for number, text in enumerate(HOSTILE))
    program = analysed(HOSTILE_RULES)
    return certificate(ask(program, "noted(?text)", {"note": HostileTable(rows)}))


HOSTILE_FIELDS: Final = """
.type Note = [id: number, text: symbol]
@[says = "the note is {note} & <b>]]>"]
.decl note(note: Note)
.input note(source="s", query="q")
.decl noted(text: symbol)
@[says = "=HYPERLINK({text})"]
noted(?text) :- note([_, ?text]).
"""


@cache
def hostile_fields() -> bytes:
    """Return a certificate with the same values inside of records."""
    rows = tuple((f"[{number}, {quoted(text)}]",) for number, text in enumerate(HOSTILE))
    return certificate(ask(analysed(HOSTILE_FIELDS), "noted(?text)", {"note": HostileTable(rows)}))


@cache
def offered(goal: str) -> bytes:
    """Return a certificate about records and algebraic data types."""
    return certificate(ask(analysed(OFFERS), goal, offer_tables()))


@cache
def calculated() -> bytes:
    """Return a certificate of the value of an expression."""
    return certificate(ask(analysed(EXPRESSIONS), f"value({SEVEN}, 7)", expression_tables()))


WORLDS: Final[tuple[tuple[str, Callable[[], bytes]], ...]] = (
    ("proved", lambda: vip("is_vip(C1)")),
    ("all", lambda: vip("is_vip(?c)")),
    ("under", lambda: vip("is_vip(C3)")),
    ("disproved", lambda: vip("is_vip(C2)")),
    ("unresolved", unresolved),
    ("undecided", undecided),
    ("attested", attested),
    ("nested", nested),
    ("recursive", lambda: reach("reach(A, C)")),
    ("counted", lambda: reach("reached(A, 3)")),
    ("apart", lambda: reach("apart(A, D)")),
    ("unreached", lambda: reach("reach(A, D)")),
    ("structured", lambda: offered("nested(c, 5, FR)")),
    ("misshapen", lambda: offered("nested(b, ?least, ?k)")),
    ("fields counted", lambda: offered("total(EUR, ?s)")),
    ("calculated", calculated),
)
