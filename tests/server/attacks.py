"""Attacks over authorisation, as a table: who tries what, and by which requests.

Two worlds differ only in what the attackers may not see. An attack succeeds where an answer holds
one of `SECRETS`, where the same requests are answered differently in the two worlds, or where
something is done that has to be `refused`. The first part was written from the OpenAPI document
alone, before there were rights, the last from the sentences of docs/server.md that stand above its
rows, before any was tried; the one between them with the code at hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Final

VIEWER: Final = "viewer"
ANALYST: Final = "analyst"
APPROVER: Final = "approver"
ADMIN: Final = "admin"
MODEL: Final = "model"
NOBODY: Final = ""


@dataclass(frozen=True)
class Call:
    """One request. `@NAME` in a body stands for what the step with that name has answered."""

    path: str
    body: dict[str, Any] = field(default_factory=dict)
    role: str = VIEWER
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = ()
    content: bytes | None = None
    """The body as it is sent, in place of `body`."""


@dataclass(frozen=True)
class Attack:
    """`before` is done by people who may; of `calls`, the attack, the last may be `refused`."""

    name: str
    calls: tuple[Call, ...]
    refused: bool = False
    before: tuple[Call, ...] = ()


def one(name: str, path: str, refused: bool = False, role: str = VIEWER, /, **body: Any) -> Attack:  # noqa: ANN401, FBT001, FBT002  a row of the table
    return Attack(name, (Call(path, body, role),), refused)


def bare(name: str, **headers: str) -> Attack:
    shown = tuple((key.replace("_", "-"), value) for key, value in headers.items())
    call = Call("/v1/prove", {"goal": "north(C1)"}, NOBODY, headers=shown)
    return Attack(name, (call,), refused=True)


def proves(name: str, goal: str, role: str = VIEWER) -> Attack:
    return one(name, "/v1/prove", False, role, goal=goal)


def asks(name: str, query: str, role: str = VIEWER) -> Attack:
    return one(name, "/v1/query", False, role, query=query)


SECRETS: Final = (
    *("Harald", "Sigrid", "111-SSN", "222-SSN", "333-SSN", "999-SSN", "987654"),
    *("123321", "77777", "66666", "KEEP-QUIET", "HUSH-HUSH", "FOURTH"),
    *("41111", "42222", "FLU-OF", "COLD-OF", "no-number", "PRIVATE-LIKE", "LISTED", "letters/b"),
)


def tells(secret: str, text: str) -> bool:
    """Whether a text has a secret; five digits within a hash are none."""
    if not secret.isdigit():
        return secret in text
    return re.search(rf"(?<![0-9A-Fa-f]){secret}(?![0-9A-Fa-f])", text) is not None


FROM_THE_DOCUMENT: Final = (
    # Who comes in.
    bare("no token"),
    bare("an empty token", Authorization="Bearer "),
    bare("a role in place of a token", Authorization="Bearer admin"),
    bare("the hash of a token", Authorization="Bearer sha256:" + "0" * 64),
    bare("another scheme", Authorization="Basic YWRtaW46YWRtaW4="),
    Attack(
        "two headers with tokens",
        (
            Call(
                "/v1/prove",
                {"goal": "north(C1)"},
                NOBODY,
                headers=(("Authorization", "Bearer x"), ("Authorization", "Bearer y")),
            ),
        ),
        refused=True,
    ),
    bare("two tokens", Authorization="Bearer x, Bearer y"),
    bare("a token in another header", X_Api_Key="admin", X_Forwarded_User="admin"),
    bare("a cookie", Cookie="session=admin; role=admin"),
    Attack(
        "a token in the address",
        (Call("/v1/prove?access_token=token-of-admin", {"goal": "north(C1)"}, NOBODY),),
        refused=True,
    ),
    Attack("another method", (Call("/v1/log", {}, VIEWER, "PUT"),), refused=True),
    # A role above one's own.
    one("a viewer reads the log", "/v1/log", True, VIEWER),
    one("an analyst reads the log", "/v1/log", True, ANALYST),
    one("an approver reads the log", "/v1/log", True, APPROVER),
    one("a viewer states", "/v1/facts/add", True, VIEWER, fact="contract(C1, x)"),
    one(
        "a viewer takes back", "/v1/facts/retract", True, VIEWER, fact='contract(C1, "KEEP-QUIET")'
    ),
    one("a viewer asks in words", "/v1/ask", True, VIEWER, question="Who is rich?"),
    one("a viewer explores", "/v1/solve", True, VIEWER, question="Who is rich?"),
    one("a viewer reads the history", "/v1/history", True, VIEWER),
    one("a viewer reads drafts", "/v1/drafts", True, VIEWER),
    one("a viewer approves", "/v1/drafts/approve", True, VIEWER, name="R1", reason="so"),
    one("an analyst approves", "/v1/drafts/approve", True, ANALYST, name="R1", reason="so"),
    one("an analyst rejects", "/v1/drafts/reject", True, ANALYST, name="R1", reason="so"),
    one("a role in the body", "/v1/log", True, ANALYST, start=0, most=1),
    Attack(
        "a role in a header",
        (Call("/v1/log", {}, ANALYST, headers=(("X-Role", ADMIN), ("Role", ADMIN))),),
        refused=True,
    ),
    Attack(
        "a method in a header",
        (Call("/v1/log", {}, VIEWER, headers=(("X-HTTP-Method-Override", "GET"),)),),
        refused=True,
    ),
    # What may not be seen, asked for as it is.
    asks("all customers", "customer(?a, ?b, ?c, ?d)"),
    asks("a hidden column", 'customer("C1", _, _, ?s)'),
    asks("a hidden column through a rule", "ssn_of(?c, ?s)"),
    asks("rows of others", "placed(?o, ?c, ?a)"),
    asks("a closed relation", "blocked(?c)"),
    asks("a configured value", "threshold(?x)"),
    asks("what people state", "contract(?c, ?n)"),
    asks("a sum over hidden rows", "total(?c, ?t)"),
    asks("a sum of everything", "everything(?t)"),
    asks("hidden rows joined with shown ones", "customer(?c, ?n, ?r, _), placed(?o, ?c, ?a)"),
    # What may not be seen, guessed.
    proves("the number of a shown customer", 'ssn_of(C1, "111-SSN")'),
    proves("the name of a hidden customer", 'customer(C3, "Harald", _, _)'),
    proves("that a hidden customer exists", "known(C3)"),
    proves("that one exists in the other world", "known(C4)"),
    proves("that somebody is blocked", "blocked(C2)"),
    proves("that nobody is blocked", "ok(C2)"),
    proves("that a sum is above a limit", "rich(C3)"),
    asks("that a limit lies between two numbers", "threshold(?x), ?x > 70000"),
    # Beside the goal.
    one("a near miss names a hidden value", "/v1/why-not", goal="rich(C1)"),
    one("a near miss names who is blocked", "/v1/why-not", goal="ok(C2)"),
    one("why not a hidden customer", "/v1/why-not", goal="north(C3)"),
    one("what is missing names a hidden fact", "/v1/missing", goal="rich(C1)", top=20),
    one("what is missing of who is blocked", "/v1/missing", goal="ok(C2)", top=20),
    one("what if a hidden row were not", "/v1/what-if", goal="ok(C2)", remove=["blocked(C2)"]),
    one(
        "what if a value were another", "/v1/what-if", goal="rich(C1)", settings={"threshold": "5"}
    ),
    one("the steps of a proof", "/v1/why", goal="total(C1, 100)"),
    one("a search for a hidden name", "/v1/catalog/search", words="Harald Sigrid"),
    one("a table of the catalog", "/v1/catalog/table", table="customers"),
    one("all tables", "/v1/catalog/table"),
    one("facts that people state", "/v1/facts"),
    one("facts of a closed predicate", "/v1/facts", predicate="contract"),
    one("rules with their values", "/v1/rules", predicate="threshold"),
)

# With the code at hand.


def graphs(name: str, query: str, refused: bool = False, role: str = VIEWER, /) -> Attack:  # noqa: FBT001, FBT002  a row of the table
    return one(name, "/graphql", refused, role, query=query)


def supposes(name: str, goal: str, **body: Any) -> Attack:  # noqa: ANN401
    return one(name, "/v1/what-if", goal=goal, **body)


PROVED_BY_ADMIN: Final = Call("/v1/prove", {"goal": "ssn_of(C1, ?s)"}, ADMIN)

STATED: Final = {"fact": 'customer(C9, "HUSH-HUSH", south, "1")'}
KEY: Final = (("Idempotency-Key", "one"),)

WITH_THE_CODE: Final = (
    # References and certificates of others.
    Attack(
        "the certificate of an admin, by its reference",
        (Call("/v1/read-on", {"reference": "@certificate"}),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "the bytes of an admin's certificate",
        (Call("/v1/certificates/@identity", method="GET"),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "an export of an admin's certificate",
        (Call("/v1/export", {"certificate": "@certificate", "to": "markdown"}),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "a check of an admin's certificate",
        (Call("/v1/verify", {"certificate": "@certificate"}),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "an analyst reads an admin's certificate",
        (Call("/v1/read-on", {"reference": "@certificate"}, ANALYST),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "an answer that an admin has just had",
        (Call("/v1/prove", {"goal": "ssn_of(C1, ?s)"}),),
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "rows that an admin has just had",
        (Call("/v1/query", {"query": "placed(?o, ?c, ?a)"}),),
        before=(Call("/v1/query", {"query": "placed(?o, ?c, ?a)"}, ADMIN),),
    ),
    Attack(
        "one's own certificate, read whole",
        (
            Call("/v1/prove", {"goal": "total(C1, 100)"}),
            Call("/v1/read-on", {"reference": "@certificate"}),
        ),
    ),
    Attack(
        "one's own certificate, exported",
        (
            Call("/v1/prove", {"goal": "north(C1)"}),
            Call("/v1/export", {"certificate": "@certificate", "to": "markdown"}),
        ),
    ),
    Attack(
        "a made-up certificate as a question about rows",
        (
            Call("/v1/prove", {"goal": "north(C1)"}),
            Call("/v1/verify", {"certificate": "@certificate", "sources": True}),
        ),
        refused=True,
    ),
    Attack(
        "the cursor of an admin",
        (Call("/v1/query/more", {"cursor": "@cursor"}),),
        refused=True,
        before=(Call("/v1/query", {"query": "customer(?a, ?b, ?c, ?d)", "most": 1}, ADMIN),),
    ),
    one("all rows as lines", "/v1/query/rows", query="customer(?a, ?b, ?c, ?d)"),
    Attack(
        "all rows as Arrow",
        (
            Call(
                "/v1/query/rows",
                {"query": "placed(?o, ?c, ?a)"},
                headers=(("Accept", "application/vnd.apache.arrow.stream"),),
            ),
        ),
    ),
    Attack(
        "the key of an admin's request",
        (Call("/v1/facts/add", STATED, "clerk", headers=KEY),),
        refused=True,
        before=(Call("/v1/facts/add", STATED, ADMIN, headers=KEY),),
    ),
    # Hidden columns as keys, filters, orders.
    asks("a filter on a hidden column", 'customer(?c, ?n, "north", ?s), ?s < "2"'),
    asks("a join over a hidden column", "customer(?a, _, _, ?s), customer(?b, _, _, ?s), ?a != ?b"),
    asks("a count of hidden values", "numbers(?n)"),
    asks("a negated hidden row", "customer(?c, _, _, _), !placed(_, ?c, 987654)"),
    asks("who is not blocked", "ok(?c)"),
    proves("a bound hidden column", 'customer(C1, _, _, "111-SSN")'),
    proves("a hidden row by its key", "placed(3, ?c, ?a)"),
    proves("a hidden row by all but its key", "placed(?o, C3, ?a)"),
    proves("a negated goal", "ok(C1)"),
    proves("a row of the other world", "placed(4, C3, 123321)"),
    proves("a shown row with a hidden column", 'customer(C2, "Bob", "north", ?s)'),
    proves("the least hidden value", "least(?a)"),
    proves("the greatest hidden value", "greatest(?a)"),
    proves("a view over a hidden column", "digits(C1, ?d)"),
    proves("a typo near a hidden name", 'customer(?c, "Haralt", _, _)'),
    # Suppositions.
    supposes("a supposed row beside hidden ones", "rich(C3)", add=["placed(9, C3, 1)"]),
    supposes("a key that is taken", "known(C3)", add=['customer(C3, "X", north, "1")']),
    supposes("a removed pattern", "everything(?t)", remove=["placed(?o, C3, ?a)"]),
    supposes("a value above the hidden one", "rich(C1)", settings={"threshold": "70000"}),
    supposes("a value that is none", "rich(C1)", settings={"threshold": "so"}),
    supposes("a setting without a value", "rich(C1)", settings={"nothing": "1"}),
    supposes("a rule of a hidden fact", "ok(C1)", remove=["blocked(?c)"]),
    # People's facts.
    one("a closed fact is taken back", "/v1/facts/retract", True, "clerk", fact="contract(C1, x)"),
    one("a closed fact is stated", "/v1/facts/add", True, "clerk", fact="contract(C1, x)"),
    one(
        "a guess of what is stated",
        *("/v1/facts/retract", True, "clerk"),
        fact='contract(C1, "KEEP-QUIET")',
    ),
    one(
        "a fact of a hidden row",
        "/v1/facts/add",
        True,
        "clerk",
        fact='customer(C3, "X", south, "1")',
    ),
    one(
        "a fact under the key of another's row",
        *("/v1/facts/add", True, "clerk"),
        fact='customer(C3, "clerk", "south", "1")',
    ),
    one("a fact with a hidden column", "/v1/facts/add", True, "clerk", fact='customer(C9,a,b,"c")'),
    # What is for those who see everything.
    one("a restricted analyst asks", "/v1/ask", True, "clerk", question="Who is rich?"),
    one("a restricted analyst explores", "/v1/solve", True, "clerk", question="Who is rich?"),
    one("a restricted analyst reads drafts", "/v1/drafts", True, "clerk"),
    one("a restricted analyst reviews", "/v1/drafts/review", True, "clerk", name="R1"),
    one(
        "a restricted analyst drafts",
        *("/v1/drafts/add", True, "clerk"),
        goal="leak(?s)",
        purpose="so",
        rules=".decl leak(s: symbol)\nleak(?s) :- customer(_, _, _, ?s).",
    ),
    one(
        "a restricted approver approves",
        "/v1/drafts/approve",
        True,
        APPROVER,
        name="R1",
        reason="so",
    ),
    asks("a role that is not named", "customer(?a, ?b, ?c, ?d)", APPROVER),
    proves("a role that is not named proves", "north(C1)", APPROVER),
    # GraphQL.
    graphs(
        "a hidden column by GraphQL", '{ query(query: "ssn_of(?c, ?s)") { total rows { values } } }'
    ),
    graphs("the log by GraphQL", "{ log { total entries { body } } }"),
    graphs("a mutation by GraphQL", 'mutation { approve(name: "R1", reason: "so") { status } }'),
    graphs("the catalog by GraphQL", '{ search(words: "Harald") { found { text } } }'),
    graphs(
        "many guesses in one document",
        "{"
        + "".join(
            f' g{n}: prove(goal: "placed({n}, C3, ?a)") {{ verdict proof {{ text }} }}'
            for n in range(6)
        )
        + "}",
    ),
    graphs(
        "near misses by GraphQL",
        '{ whyNot(goal: "rich(C1)") { why { text } missing proof { text } } }',
    ),
    graphs(
        "a draft by GraphQL", 'mutation { draft(goal: "a", rules: "b", purpose: "c") { draft } }'
    ),
    Attack(
        "a subscription to hidden rows",
        (
            Call(
                "/graphql",
                {
                    "query": 'subscription { proving(goal: "total(C3, ?t)") { message } }',
                },
                headers=(("Accept", "text/event-stream"),),
            ),
        ),
    ),
    # Everybody, differences, rules while they are written, and subscriptions.
    *(
        one(f"everybody who is {query}", "/v1/query/everybody", query=query, among=among)
        for query, among in (
            ("north(?c)", "known(?c)"),
            ("known(?c)", ""),
            ("rich(?c)", "customer(?c, ?n, ?r, ?s)"),
            ("ssn_of(?c, ?s)", "ssn_of(?c, ?s)"),
            ("ok(?c)", "placed(?o, ?c, ?a)"),
            ("blocked(?c)", "known(?c)"),
        )
    ),
    Attack(
        "a proof of an admin is compared",
        (
            Call("/v1/diff", {"before": "@certificate"}),
            Call("/v1/diff", {"before": "@certificate"}, "clerk"),
        ),
        refused=True,
        before=(Call("/v1/prove", {"goal": "rich(C3)"}, ADMIN),),
    ),
    one("a reference that was guessed is compared", "/v1/diff", True, before="certificate/0"),
    Attack(
        "a made up proof is compared with now",
        (Call("/v1/diff", {"before": '{"format": "constat-cert/2"}'}),),
        refused=True,
    ),
    one("a viewer checks rules", "/v1/drafts/check", True, rules="a(1)."),
    one(
        "a restricted analyst checks rules",
        *("/v1/drafts/check", True, "clerk"),
        rules='.decl leak(s: symbol)\nleak(?s) :- customer(_, "Harald", _, ?s).',
    ),
    *(
        Attack(
            f"a subscription to {field}",
            (
                Call(
                    "/graphql",
                    {"query": f"subscription {{ {field} {{ message }} }}"},
                    headers=(("Accept", "text/event-stream"),),
                ),
            ),
        )
        for field in (
            'querying(query: "customer(?a, ?b, ?c, ?d)")',
            'asking(question: "Who is rich?")',
            'solving(question: "Who is rich?")',
            'followingUp(question: "And who else?")',
        )
    ),
    one("a program approves", "/v1/drafts/approve", True, MODEL, name="R1", reason="so"),
    one("a program states", "/v1/facts/add", True, MODEL, fact="placed(8, C1, 1)"),
    one("a program confirms", "/v1/ask/confirm", True, MODEL, question="so?", goal="north(C1)"),
    one("a program takes back", "/v1/facts/retract", True, MODEL, fact="placed(8, C1, 1)"),
    asks("a program sees what its role sees", "customer(?a, ?b, ?c, ?d)", MODEL),
)

# From the page about the server: what it promises, sentence by sentence.

ASKED_BY_ADMIN: Final = Call("/v1/query", {"query": "placed(?o, ?c, ?a)", "most": 1}, ADMIN)
ROWS_AS_LINES: Final = (("Accept", "application/x-ndjson"),)
EVENTS: Final = (("Accept", "text/event-stream"),)
HANDED_IN: Final = Call(
    "/v1/drafts/add",
    {
        "goal": "poor(C1)",
        "rules": '.decl poor(c: symbol)\npoor(?c) :- customer(?c, "Ada", _, _).',
        "purpose": "Who is poor?",
    },
    ADMIN,
)


def follows(name: str, field_: str, role: str = VIEWER) -> Attack:
    document = {"query": f"subscription {{ {field_} {{ message result {{ goal }} }} }}"}
    return Attack(name, (Call("/graphql", document, role, headers=EVENTS),))


FROM_THE_PAGE: Final = (
    # "The same caller's same request with the same key is done once ... another request is a 409."
    Attack(
        "one's own key for another fact",
        (
            Call("/v1/facts/add", {"fact": "placed(21, C1, 1)"}, ANALYST, headers=KEY),
            Call("/v1/facts/add", {"fact": "placed(22, C1, 1)"}, ANALYST, headers=KEY),
        ),
        refused=True,
    ),
    Attack(
        "the key of another who took back",
        (Call("/v1/facts/retract", {"fact": "placed(23, C1, 1)"}, "clerk", headers=KEY),),
        refused=True,
        before=(
            Call("/v1/facts/add", {"fact": "placed(23, C1, 1)"}, ADMIN),
            Call("/v1/facts/retract", {"fact": "placed(23, C1, 1)"}, ADMIN, headers=KEY),
        ),
    ),
    Attack(
        "the key of an admin's draft",
        (Call("/v1/drafts/add", HANDED_IN.body, VIEWER, headers=KEY),),
        refused=True,
        before=(Call("/v1/drafts/add", HANDED_IN.body, ADMIN, headers=KEY),),
    ),
    Attack(
        "a key that is too long",
        (Call("/v1/facts/add", STATED, ANALYST, headers=(("Idempotency-Key", "k" * 201),)),),
        refused=True,
    ),
    # "An analyst states facts in the caller's own name, and takes these back."
    Attack(
        "a fact of an admin is taken back",
        (Call("/v1/facts/retract", {"fact": "placed(24, C1, 1)"}, ANALYST),),
        refused=True,
        before=(Call("/v1/facts/add", {"fact": "placed(24, C1, 1)"}, ADMIN),),
    ),
    one(
        "a fact in another's name",
        "/v1/facts/add",
        True,
        ANALYST,
        fact="placed(25, C1, 1)",
        by=ADMIN,
    ),
    one(
        "a fact taken back for anybody",
        "/v1/facts/retract",
        True,
        ANALYST,
        fact="a(1)",
        of_anybody=True,
    ),
    graphs(
        "a fact in another's name by GraphQL",
        'mutation { state(fact: "placed(26, C1, 1)", by: "admin") { fact } }',
        False,
        ANALYST,
    ),
    # "approve needs an approver who is somebody else than whoever handed it in".
    Attack(
        "one's own draft is approved",
        (Call("/v1/drafts/approve", {"name": "poor", "reason": "so"}, ADMIN),),
        refused=True,
        before=(HANDED_IN,),
    ),
    Attack(
        "one's own draft is approved, and its goal named",
        (Call("/v1/drafts/approve", {"name": "poor(C1)", "reason": "so"}, ADMIN),),
        refused=True,
        before=(HANDED_IN,),
    ),
    Attack(
        "one's own draft is rejected by who may not",
        (Call("/v1/drafts/reject", {"name": "poor", "reason": "so"}, ANALYST),),
        refused=True,
        before=(HANDED_IN,),
    ),
    Attack(
        "a draft is approved into a file elsewhere",
        (
            Call(
                "/v1/drafts/approve",
                {"name": "poor", "reason": "so", "into": "../../outside.dl"},
                ADMIN,
            ),
        ),
        refused=True,
        before=(HANDED_IN,),
    ),
    # "A program's token can neither approve nor state facts nor confirm."
    graphs(
        "a program states by GraphQL",
        'mutation { state(fact: "placed(27, C1, 1)") { fact } }',
        False,
        MODEL,
    ),
    graphs(
        "a program confirms by GraphQL",
        'mutation { confirm(question: "so?", goal: "north(C1)") { goal } }',
        False,
        MODEL,
    ),
    one("a program reads the log", "/v1/log", True, MODEL),
    # "What may not be seen is unknown, and never absent": in pages, cursors, lines, exports.
    Attack(
        "the cursor of an admin's orders by GraphQL",
        (Call("/graphql", {"query": '{ more(cursor: "@cursor") { total rows { values } } }'}),),
        before=(ASKED_BY_ADMIN,),
    ),
    Attack(
        "the cursor of an admin, for an analyst who sees all orders",
        (Call("/v1/query/more", {"cursor": "@cursor"}, "clerk"),),
        refused=True,
        before=(ASKED_BY_ADMIN,),
    ),
    Attack(
        "a cursor put forward by hand",
        (
            Call("/v1/query", {"query": "customer(?a, ?b, ?c, _)", "most": 1}),
            Call("/v1/query", {"query": "customer(?a, ?b, ?c, _)", "start": 1, "most": 1000}),
        ),
    ),
    Attack(
        "hidden rows as lines, after an admin had them",
        (Call("/v1/query/rows", {"query": "ssn_of(?c, ?s)"}, headers=ROWS_AS_LINES),),
        before=(Call("/v1/query/rows", {"query": "ssn_of(?c, ?s)"}, ADMIN, headers=ROWS_AS_LINES),),
    ),
    *(
        Attack(
            f"one's own certificate as {to}",
            (
                Call("/v1/prove", {"goal": "rich(C1)"}),
                Call("/v1/export", {"certificate": "@certificate", "to": to}),
            ),
        )
        for to in ("mermaid", "dot", "letter", "prov-json")
    ),
    Attack(
        "one's own certificate with another view",
        (
            Call("/v1/prove", {"goal": "known(C1)"}),
            Call(
                "/v1/export", {"certificate": "@certificate", "to": "markdown", "view": "auditor"}
            ),
        ),
    ),
    Attack(
        "an admin's certificate by GraphQL",
        (
            Call(
                "/graphql",
                {"query": '{ export(certificate: "@certificate", to: "markdown") { text } }'},
            ),
        ),
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "an admin's certificate, verified by GraphQL",
        (Call("/graphql", {"query": '{ verify(certificate: "@certificate") { goal } }'}),),
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "a reference with blanks and dots",
        (Call("/v1/read-on", {"reference": " ./@certificate "}),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    # "Each operation is a field, with the same arguments, roles and answers."
    graphs(
        "one field under many names",
        "{ " + " ".join(f"a{n}: log {{ total }}" for n in range(20)) + " }",
    ),
    graphs(
        "an allowed field before a forbidden one",
        '{ prove(goal: "north(C1)") { verdict } history { explorations { title } } }',
    ),
    graphs(
        "a fragment that asks for what is hidden",
        'query { ...on Query { query(query: "placed(?o, ?c, ?a)") { ...r } } }'
        " fragment r on Rows { rows { values } open_because: openBecause }",
    ),
    graphs(
        "a directive over a hidden field",
        "query($y: Boolean = true) { facts @include(if: $y) { facts { fact by note } } }",
    ),
    Attack(
        "another operation than the one that is named",
        (
            Call(
                "/graphql",
                {
                    "query": "query a { caller { name } } query b { log { total } }",
                    "operationName": "b",
                },
            ),
        ),
    ),
    Attack(
        "a batch of documents",
        (Call("/graphql", {"query": "", "batch": [{"query": "{ log { total } }"}]}),),
    ),
    graphs("what a role may, asked by GraphQL", "{ settings { settings { name value } } }"),
    # "It names plans and steps, never a row."
    follows("a subscription to a guess", 'proving(goal: "customer(C3, \\"Harald\\", _, _)")'),
    follows("a subscription to an aggregate", 'proving(goal: "everything(987804)")'),
    Attack(
        "a subscription by who has no token",
        (
            Call(
                "/graphql",
                {"query": 'subscription { proving(goal: "north(C1)") { message } }'},
                NOBODY,
                headers=EVENTS,
            ),
        ),
        refused=True,
    ),
    # "Rights ... reach through near misses", "a verdict that needs it is UNRESOLVED".
    one("a near miss of a sum", "/v1/why-not", goal="total(C1, 987654)"),
    one("a near miss of a hidden column", "/v1/why-not", goal='ssn_of(C2, "333-SSN")'),
    one("a near miss of an aggregate over hidden rows", "/v1/why-not", goal="greatest(1)"),
    one("what is missing of a hidden row", "/v1/missing", goal="known(C3)", top=20),
    one("the steps of a hidden sum", "/v1/why", goal="everything(?t)"),
    asks("arithmetic on a hidden value", "threshold(?x), ?x - 70000 > 0"),
    asks("a disjunction of a hidden and a shown row", "known(?c), !north(?c)"),
    one("an order of hidden rows", "/v1/query", query="placed(?o, ?c, ?a), ?a > 500", start=1),
    one(
        "what if everything were taken away",
        "/v1/what-if",
        goal="numbers(0)",
        remove=["customer(?a, ?b, ?c, ?d)"],
    ),
    supposes("what if a row were twice", "total(C3, 1)", add=["placed(3, C3, 1)"]),
    # "No other origin is let in."
    Attack(
        "a page of another place",
        (
            Call(
                "/v1/prove",
                {"goal": "north(C1)"},
                ADMIN,
                headers=(("Origin", "https://else.where"),),
            ),
        ),
        refused=True,
    ),
    Attack(
        "a page without an origin",
        (Call("/v1/log", {}, ADMIN, headers=(("Origin", "null"),)),),
        refused=True,
    ),
    # "`GET /metrics` ... needs a token", "`/v1/log` is for admins", files of the explorer alone.
    Attack("figures without a token", (Call("/metrics", {}, NOBODY, "GET"),), refused=True),
    Attack(
        "a file beside the explorer",
        (Call("/explore/../../operations.py", {}, NOBODY, "GET"),),
        refused=True,
    ),
    Attack(
        "a coded path beside the explorer",
        (Call("/explore/%2e%2e/operations.py", {}, NOBODY, "GET"),),
        refused=True,
    ),
    Attack(
        "a certificate by a path",
        (Call("/v1/certificates/..%2f..%2fconstat.yaml", {}, VIEWER, "GET"),),
        refused=True,
    ),
    # By somebody who had read neither code nor tests; the last, as what is stated stays.
    Attack(
        "the note of a fact with a hidden column",
        (Call("/v1/why", {"goal": "north(C90)"}),),
        before=(
            Call(
                "/v1/facts/add",
                {"fact": 'customer(C90, "Zed", "north", "5")', "note": "KEEP-QUIET"},
                ADMIN,
            ),
        ),
    ),
)


# Across roles: what others have had, kept, warmed or been taken away. `namesake` is a token of
# the name `admin` whose role was lowered; nothing that the name had before may reach it.

NAMESAKE: Final = "namesake"
LOWERED: Final = "lowered"


ANOTHER_KEY: Final = (("Idempotency-Key", "another"),)
ASKED_WITH_A_KEY: Final = Call(
    "/v1/facts/add",
    {"fact": "placed(71, C3, 66)", "note": "KEEP-QUIET"},
    ADMIN,
    headers=ANOTHER_KEY,
)

ACROSS_ROLES: Final = (
    # Keys of requests, once a role is taken away.
    Attack(
        "the key of one's own request, once the role is lowered",
        (Call(ASKED_WITH_A_KEY.path, ASKED_WITH_A_KEY.body, LOWERED, headers=ANOTHER_KEY),),
        refused=True,
        before=(ASKED_WITH_A_KEY,),
    ),
    Attack(
        "the key of one's own request, as a viewer",
        (Call(ASKED_WITH_A_KEY.path, ASKED_WITH_A_KEY.body, NAMESAKE, headers=ANOTHER_KEY),),
        refused=True,
        before=(ASKED_WITH_A_KEY,),
    ),
    Attack(
        "the key of a draft of before",
        (Call("/v1/drafts/add", HANDED_IN.body, LOWERED, headers=ANOTHER_KEY),),
        refused=True,
        before=(Call("/v1/drafts/add", HANDED_IN.body, ADMIN, headers=ANOTHER_KEY),),
    ),
    # References, once a role is taken away.
    *(
        Attack(
            f"{what} of before, once the role is {role}",
            (Call(path, body, role, method),),
            refused=True,
            before=before,
        )
        for role in (LOWERED, NAMESAKE)
        for what, path, body, method, before in (
            ("a certificate", "/v1/certificates/@identity", {}, "GET", (PROVED_BY_ADMIN,)),
            ("a cursor", "/v1/query/more", {"cursor": "@cursor"}, "POST", (ASKED_BY_ADMIN,)),
            (
                "an export",
                "/v1/export",
                {"certificate": "@certificate", "to": "html"},
                "POST",
                (PROVED_BY_ADMIN,),
            ),
        )
    ),
    Attack(
        "a subscription once the role is lowered",
        (
            Call(
                "/graphql",
                {
                    "query": 'subscription { querying(query: "ssn_of(?c, ?s)") '
                    "{ message result { total rows { values } } } }"
                },
                LOWERED,
                headers=EVENTS,
            ),
        ),
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "the fact of one's own name as another role",
        (Call("/v1/facts/retract", {"fact": "placed(72, C3, 1)"}, NAMESAKE),),
        refused=True,
        before=(Call("/v1/facts/add", {"fact": "placed(72, C3, 1)"}, ADMIN),),
    ),
    # Certificates by their hash, whole and in part.
    *(
        Attack(
            f"an admin's certificate by {what}",
            (Call("/v1/read-on", {"reference": reference}),),
            refused=True,
            before=(PROVED_BY_ADMIN,),
        )
        for what, reference in (
            ("its hash alone", "@identity"),
            ("another kind", "text/@identity"),
            ("its hash in capitals", "CERTIFICATE/@identity"),
            ("its hash with its kind", "certificate/sha256:@identity"),
        )
    ),
    Attack(
        "the head of an admin's certificate",
        (Call("/v1/certificates/@identity", {}, VIEWER, "HEAD"),),
        refused=True,
        before=(PROVED_BY_ADMIN,),
    ),
    Attack(
        "differences between an admin's proof and one's own",
        (Call("/v1/diff", {"before": "@certificate", "after": "@certificate"}),),
        refused=True,
        before=(Call("/v1/prove", {"goal": "rich(C1)"}, ADMIN),),
    ),
    Attack(
        "differences after one's own certificate",
        (
            Call("/v1/prove", {"goal": "rich(C1)"}),
            Call("/v1/diff", {"before": "@certificate"}),
        ),
        before=(Call("/v1/prove", {"goal": "rich(C1)"}, ADMIN),),
    ),
    # Exports through all formats, followed to what they name.
    *(
        Attack(
            f"one's own certificate over a hidden sum as {to}",
            (
                Call("/v1/prove", {"goal": "everything(?t)"}),
                Call("/v1/export", {"certificate": "@certificate", "to": to}),
            ),
        )
        for to in (
            *("html", "svg", "dot", "csv", "prov-n", "turtle", "trig", "n-quads", "openlineage"),
            *("in-toto", "graphml", "gexf", "node-link", "nemo"),
        )
    ),
    Attack(
        "a made-up view of one's own certificate",
        (
            Call("/v1/prove", {"goal": "known(C1)"}),
            Call("/v1/export", {"certificate": "@certificate", "to": "html", "view": "../../x"}),
        ),
        refused=True,
    ),
    # GraphQL: names, fragments, batches, variables.
    Attack(
        "a list of documents",
        (Call("/graphql", {"query": '[{"query": "{ log { total } }"}]'}),),
    ),
    graphs(
        "aliases of a certificate's parts",
        '{ a: why(goal: "rich(C1)") { s: steps { t: sentence } certificate } '
        'b: missing(goal: "rich(C1)") { sets { add { atom } } } }',
    ),
    graphs(
        "a fragment over two verdicts",
        'query { a: prove(goal: "known(C3)") { ...v } b: prove(goal: "known(C7)") { ...v } } '
        "fragment v on Result { verdict missing conflicts sentences snapshot }",
    ),
    Attack(
        "a role among the variables",
        (
            Call(
                "/graphql",
                {
                    "query": "query($role: String) { caller { name role } log { total } }",
                    "variables": {"role": "admin", "caller": {"role": "admin"}},
                },
            ),
        ),
    ),
    Attack(
        "a mutation under the name of a query",
        (
            Call(
                "/graphql",
                {
                    "query": "query q { caller { name } } "
                    'mutation m { state(fact: "placed(77, C1, 1)") { fact } }',
                    "operationName": "m",
                },
            ),
        ),
    ),
    graphs("fields of the schema's own", "{ __schema { types { name description } } }"),
    # Limits and their words.
    one("a page beyond all rows", "/v1/query", query="placed(?o, ?c, ?a)", start=10**9),
    one("a page of nothing", "/v1/query", True, query="placed(?o, ?c, ?a)", most=0),
    asks("a product of hidden rows", "placed(?a, ?b, ?c), placed(?d, ?e, ?f), placed(?g, ?h, ?i)"),
    asks("a division by a hidden value", "threshold(?x), ?y = 1 / (?x - 77777)"),
    asks("an error within a hidden text", "customer(C1, _, _, ?s), ?n = to_number(?s)"),
    asks("a text of a hidden length", "customer(C3, ?n, _, _), ?l = strlen(?n), ?l > 5"),
    # The rule editor and the catalog.
    one(
        "rules that would name a row in a mistake",
        "/v1/drafts/check",
        True,
        "clerk",
        rules=".decl z(s: number)\nz(?s) :- customer(_, _, _, ?s).",
        goal="z(?s)",
    ),
    one("a sample of the catalog", "/v1/catalog/table", True, table="orders"),
    one("a table of another schema", "/v1/catalog/table", True, table="sqlite_master"),
    one("a search for a number", "/v1/catalog/search", True, words="987654 77777"),
    one("what comes after a hidden value", "/v1/complete", text='customer(C3, "H'),
    one("what a closed relation takes", "/v1/complete", text="blocked(", most=50),
    one("settings with their values", "/v1/settings"),
    # Everybody, from a list of one's own making.
    one(
        "everybody among a comparison with a hidden value",
        "/v1/query/everybody",
        query="north(?c)",
        among='customer(?c, _, _, ?s), ?s > "3"',
    ),
    one(
        "everybody of a page behind the last",
        "/v1/query/everybody",
        query="known(?c)",
        among="placed(?o, ?c, ?a)",
        start=2,
        most=1,
    ),
)


# Another project, whose worlds differ in what hidden rows are like: cells that are NULL or no
# number, keys that are broken, edges that close a circle, lists and documents of other lengths.


def misses(name: str, goal: str) -> Attack:
    return one(name, "/v1/why-not", goal=goal)


SHAPES: Final = (
    # A column that is hidden, of a file, with a NULL in one of the worlds.
    asks("pay of a file", "staff(?i, ?n, ?p)"),
    asks("who is there, of a file with a hidden column", "staff(?i, ?n, _)"),
    asks("whose pay is not known", "unpaid(?n)"),
    asks("whose pay is above a number", "staff(_, ?n, ?p), ?p > 41500"),
    misses("a near miss of pay", "well_paid(Ann)"),
    misses("a near miss where pay is NULL", "well_paid(Bea)"),
    one("what is missing of pay", "/v1/missing", goal="well_paid(Ann)", top=20),
    one("pay of everybody", "/v1/query/everybody", query="well_paid(?n)", among="staff(_, ?n, _)"),
    supposes("what if pay were another", "well_paid(Ann)", add=["staff(1, Ann, 99999)"]),
    supposes("what if pay were gone", "payroll(?t)", remove=["staff(?i, ?n, ?p)"]),
    asks("a sum of pay", "payroll(?t)"),
    proves("a guess of a sum of pay", "payroll(41111)"),
    # Rows that are kept for a while, read by an admin first.
    *(
        Attack(
            f"{name}, kept for an admin",
            (Call(path, body),),
            before=(Call("/v1/query", {"query": "visit(?i, ?g, ?n)"}, ADMIN),),
        )
        for name, path, body in (
            ("rows", "/v1/query", {"query": "visit(?i, ?g, ?n)"}),
            ("a row of another", "/v1/prove", {"goal": "visit(2, ?g, ?n)"}),
            ("a count of rows", "/v1/query", {"query": "visits(?c)"}),
            ("a near miss of a row", "/v1/why-not", {"goal": "visit(2, G1, ?n)"}),
            ("rows as lines", "/v1/query/rows", {"query": "visit(?i, ?g, _)"}),
        )
    ),
    asks("a hidden cell that is NULL", "visit(?i, ?g, NULL)"),
    asks("a key that is broken among hidden rows", "visit(7, ?g, ?n)"),
    one("the steps of a broken key", "/v1/why", goal="visit(7, G2, _)"),
    # A circle among hidden edges.
    asks("what is reached over hidden edges", "reach(A, ?x)"),
    proves("a way back over hidden edges", "reach(C, A)"),
    proves("a circle over hidden edges", "circle(A)"),
    misses("a near miss of a circle", "circle(A)"),
    one("what is missing of a way", "/v1/missing", goal="reach(C, A)", top=20),
    asks("where a way ends", "last(?x)"),
    supposes("what if an edge were there", "reach(A, E)", add=["refers(C, E)"]),
    one("the picture of a way", "/v1/why", goal="reach(A, C)"),
    # Hidden cells that are no number: what is wrong with a row of others is not said.
    asks("numbers beside a hidden one that is none", "measured(?g, ?v)"),
    asks("a sum beside a hidden cell that is none", "sum_of(?g, ?s)"),
    proves("a shown sum beside a hidden cell that is none", "sum_of(G1, 7)"),
    misses("a near miss beside a hidden cell that is none", "sum_of(G1, 8)"),
    asks("the greatest beside a hidden cell that is none", "highest(?v)"),
    one("everybody beside a hidden cell", "/v1/query/everybody", query="sum_of(?g, ?s)", among=""),
    # What people state of others, and what breaks a constraint.
    asks("what others like", "likes(?g, ?w)"),
    one("stated facts of others", "/v1/facts"),
    one("stated facts of a relation that is shown in part", "/v1/facts", predicate="likes"),
    proves("a conflict with a stated fact of others", "likes(G2, x)"),
    asks("what breaks a constraint", "visit(?i, ?g, _), !measured(?g, _)"),
    # Lists of the configuration, and documents.
    asks("a hidden list", "allowed(?n)"),
    asks("what is not on a hidden list", "staff(_, ?n, _), !allowed(?n)"),
    proves("a guess of a hidden list", "allowed(Ann)"),
    one("settings of a hidden list", "/v1/settings"),
    asks("what a document says", "notice(?d, ?n)"),
    proves("a guess of what a document says", 'notice("letters/a.txt", 30)'),
    misses("a near miss of a document", "soon(?d)"),
    one("the steps of a document", "/v1/why", goal="soon(?d)"),
    # Of one document a line is shown and another is not, which is longer in one of the worlds.
    proves("a document of which a line is hidden", 'titled("letters/a.txt", "Leave")'),
    one("the steps beside a hidden line", "/v1/why", goal="titled(?d, ?t)"),
    misses("a near miss beside a hidden line", 'titled("letters/a.txt", "Stay")'),
    *(
        Attack(
            f"the certificate of a line beside a hidden one{how}",
            (
                Call("/v1/prove", {"goal": 'titled("letters/a.txt", "Leave")'}),
                *calls,
            ),
        )
        for how, calls in (
            (", whole", (Call("/v1/certificates/@identity", method="GET"),)),
            *(
                (f" as {to}", (Call("/v1/export", {"certificate": "@certificate", "to": to}),))
                for to in ("html", "prov-json", "openlineage")
            ),
            (", checked", (Call("/v1/verify", {"certificate": "@certificate"}),)),
        )
    ),
    *(
        Attack(
            f"{goal} as {to}, with all it read",
            (
                Call("/v1/prove", {"goal": goal}),
                Call("/v1/export", {"certificate": "@certificate", "to": to}),
            ),
        )
        for goal in ("payroll(?t)", "reach(A, C)", "visit(1, ?g, ?n)")
        for to in ("html", "node-link", "prov-json", "openlineage", "csv")
    ),
    Attack(
        "one's own certificate of rows that are kept, whole",
        (
            Call("/v1/prove", {"goal": "visit(1, ?g, ?n)"}),
            Call("/v1/certificates/@identity", method="GET"),
        ),
    ),
    Attack(
        "one's own certificate beside hidden cells, whole",
        (
            Call("/v1/prove", {"goal": "sum_of(G1, 7)"}),
            Call("/v1/certificates/@identity", method="GET"),
        ),
    ),
)

# How a request is written: paths, methods, bodies and headers that two readers take otherwise.

TYPED: Final = ("Content-Type", "application/json")
FORM: Final = ("Content-Type", "application/x-www-form-urlencoded")
TEXT: Final = ("Content-Type", "text/plain")
BLOCKED: Final = "blocked(C2)"
ALSO_ADMIN: Final = ("Admin", "admin ")
"""Names of tokens that read like `admin`."""


def written(
    name: str,
    path: str,
    content: bytes = b"{}",
    /,
    role: str = VIEWER,
    **how: Any,  # noqa: ANN401
) -> Attack:
    """Give a request that is refused, whose body is sent as it stands."""
    headers = how.pop("headers", ())
    if not any(key == "Content-Type" for key, _ in headers):
        headers = (TYPED, *headers)
    return Attack(name, (Call(path, {}, role, headers=headers, content=content, **how),), True)


def headed(name: str, *headers: tuple[str, str], role: str = VIEWER) -> Attack:
    return written(name, "/v1/log", role=role, headers=headers)


AS_WRITTEN: Final = (
    *(
        written(f"the log at {path}", path)
        for path in (
            *("/v1//log", "/v1/log/", "/v1/%6Cog", "//v1/log", "/v1/log%00", "/v1/facts/../log"),
            *("/V1/LOG", "/v1/log;role=admin", "/v1/log?role=admin", "/v1/%2e%2e/v1/log"),
        )
    ),
    *(
        written(f"the log by {method}", "/v1/log", method=method)
        for method in ("OPTIONS", "TRACE", "PATCH", "HEAD", "DELETE", "LOG")
    ),
    written("a goal that stands twice", "/v1/prove", b'{"goal": "north(C1)", "goal": "known(C3)"}'),
    written("the log in UTF-16", "/v1/log", "{}".encode("utf-16")),
    written("a role that stands twice", "/v1/log", b'{"start": 0, "start": 1}', ADMIN),
    headed("another body than is said", ("Content-Encoding", "gzip")),
    headed("a token for a proxy", ("Proxy-Authorization", "Bearer token-of-admin")),
    headed("a token in a header beside", ("X-Authorization", "Bearer token-of-admin")),
    headed("a token and more", ("Authorization", "Bearer token-of-admin x"), role=NOBODY),
    headed("a token behind a blank", ("Authorization", "Bearer \xa0token-of-admin"), role=NOBODY),
    headed("two headers, of which one is an admin's", ("Authorization", "Bearer token-of-admin")),
    written("a mutation as a form", "/graphql", b"query=mutation{x}", ADMIN, headers=(FORM,)),
    written(
        "a mutation as a text", "/graphql", b'{"query": "{caller{name}}"}', ADMIN, headers=(TEXT,)
    ),
    written("a mutation by GET", '/graphql?query=mutation{state(fact:"a(1)"){fact}}', method="GET"),
    written("a list of documents as it is", "/graphql", b'[{"query": "{log{total}}"}]'),
    written("a subscription by GET", "/graphql?query=subscription{x}", method="GET"),
    # What is supposed is not compared with what is hidden.
    supposes("a hidden fact is supposed", "ok(C2)", add=["blocked(C2)"]),
    supposes("a fact is supposed and taken away", "ok(C2)", add=[BLOCKED], remove=[BLOCKED]),
    # References and cursors of another of the same role.
    Attack(
        "a cursor of another analyst",
        (Call("/v1/query/more", {"cursor": "@cursor"}, "Ada"),),
        refused=True,
        before=(Call("/v1/query", {"query": "placed(?o, ?c, ?a)", "most": 1}, "clerk"),),
    ),
    Attack(
        "a certificate of another analyst",
        (Call("/v1/verify", {"certificate": "@certificate"}, "Ada"),),
        refused=True,
        before=(Call("/v1/prove", {"goal": "placed(1, C1, 100)"}, "clerk"),),
    ),
    # Four eyes of one person with two spellings.
    *(
        Attack(
            f"a draft is approved by {name!r}",
            (Call("/v1/drafts/approve", {"name": "@draft", "reason": "so"}, name),),
            refused=True,
            before=(HANDED_IN,),
        )
        for name in ALSO_ADMIN
    ),
)


def of_a_twin(made: dict[str, str]) -> tuple[Attack, ...]:
    """Give attacks with certificates of another project: the same rules, and rows of a guess."""
    return tuple(
        Attack(f"{name} of a twin: {goal}", (Call(path, body),), refused)
        for goal, certificate in made.items()
        for name, path, body, refused in (
            ("a difference", "/v1/diff", {"before": certificate}, False),
            ("a check", "/v1/verify", {"certificate": certificate}, False),
            ("the sources", "/v1/verify", {"certificate": certificate, "sources": True}, True),
            ("an export", "/v1/export", {"certificate": certificate, "to": "markdown"}, False),
        )
    )


# Of later: by ways that none of the above goes.

LATER: Final = (
    # Reasons of everybody, and their counts.
    *(
        one(
            f"reasons of {query} among {among or 'nobody'}",
            *("/v1/query/everybody",),
            query=query,
            among=among,
            reasons=True,
        )
        for query, among in (
            ("ok(?c)", "north(?c)"),
            ("rich(?c)", "north(?c)"),
            ("known(?c)", "placed(?o, ?c, ?a)"),
            ("total(?c, ?t)", ""),
            ("ssn_of(?c, ?s)", ""),
        )
    ),
    graphs(
        "reasons by GraphQL, many at once",
        '{ a: everybody(query: "ok(?c)", among: "north(?c)", reasons: true) '
        "{ counts rows { reasons verdict } } "
        'b: everybody(query: "blocked(?c)", among: "north(?c)", reasons: true) '
        "{ counts notes rows { reasons } } }",
    ),
    # Fragments, directives, types and names of GraphQL that lead around a field.
    graphs("a field behind a skipped one", "{ log @skip(if: true) { total } caller { role } }"),
    graphs("a field that is included late", "{ caller { role } log @include(if: true) { total } }"),
    graphs(
        "a fragment within a fragment",
        "query { ...a } fragment a on Query { ...b } fragment b on Query "
        '{ query(query: "blocked(?c)") { total openBecause rows { values } } }',
    ),
    graphs("a fragment around itself", "query { ...a } fragment a on Query { ...a }"),
    graphs("a mutation within a query", '{ state(fact: "placed(91, C1, 1)") { fact } }'),
    graphs(
        "an alias that is called as an allowed field",
        "{ caller: log { total } }",
    ),
    graphs(
        "the same hidden answer twenty times, counted",
        "{ "
        + " ".join(f'a{n}: missing(goal: "ok(C{n})") {{ sets {{ cost }} }}' for n in range(1, 15))
        + " }",
    ),
    graphs("a type of an operation", '{ __type(name: "Mutation") { fields { name } } }'),
    Attack(
        "a variable in place of a goal",
        (
            Call(
                "/graphql",
                {
                    "query": "query($g: String!) { whyNot(goal: $g) { why { text } missing } }",
                    "variables": {"g": 'ssn_of(C1, "111-SSN")'},
                },
            ),
        ),
    ),
    # Subscriptions of what one may ask, to what one may not see.
    *(
        Attack(
            f"events of {field}, with their result",
            (
                Call(
                    "/graphql",
                    {"query": f"subscription {{ {field} }}"},
                    headers=EVENTS,
                ),
            ),
        )
        for field in (
            'querying(query: "customer(?c, _, _, ?s)") { message result { rows { values } } }',
            'proving(goal: "greatest(?a)") { message result { verdict proof { text } } }',
            'proving(goal: "rich(C3)") { message result { missing sentences } }',
        )
    ),
    Attack(
        "two subscriptions in one document",
        (
            Call(
                "/graphql",
                {
                    "query": 'subscription { a: proving(goal: "north(C1)") { message } '
                    'b: proving(goal: "known(C3)") { message } }'
                },
                headers=EVENTS,
            ),
        ),
    ),
    # Cursors: of another query, made up, with a page that is none.
    Attack(
        "a cursor as a certificate",
        (
            Call("/v1/query", {"query": "customer(?a, ?b, ?c, _)", "most": 1}),
            Call("/v1/read-on", {"reference": "@cursor"}),
        ),
        refused=True,
    ),
    Attack(
        "a certificate as a cursor",
        (
            Call("/v1/prove", {"goal": "north(C1)"}),
            Call("/v1/query/more", {"cursor": "@certificate"}),
        ),
        refused=True,
    ),
    Attack(
        "a cursor that is read to its end and on",
        (
            Call("/v1/query", {"query": "placed(?o, ?c, ?a)", "most": 1}),
            Call("/v1/query/more", {"cursor": "@cursor", "most": 1000}),
            Call("/v1/query/more", {"cursor": "@cursor", "most": 1000}),
        ),
    ),
    Attack(
        "the cursor of a program that sees the same",
        (Call("/v1/query/more", {"cursor": "@cursor"}, MODEL),),
        refused=True,
        before=(Call("/v1/query", {"query": "placed(?o, ?c, ?a)", "most": 1}, ANALYST),),
    ),
    # Keys of requests that read, and those of two people.
    Attack(
        "a key on what reads, after an admin's",
        (
            Call(
                "/v1/prove",
                {"goal": "ssn_of(C1, ?s)"},
                headers=(("Idempotency-Key", "reads"),),
            ),
        ),
        before=(
            Call(
                "/v1/prove",
                {"goal": "ssn_of(C1, ?s)"},
                ADMIN,
                headers=(("Idempotency-Key", "reads"),),
            ),
        ),
    ),
    Attack(
        "a key of an analyst, on a review",
        (Call("/v1/drafts/approve", {"name": "poor", "reason": "so"}, ANALYST, headers=KEY),),
        refused=True,
    ),
    # Near misses, differences and suppositions of what is hidden.
    *(
        misses_of
        for goal in ("everything(1)", "least(1)", "numbers(7)", "digits(C1, x)", "known(C9)")
        for misses_of in (
            one(f"why not {goal}", "/v1/why-not", goal=goal),
            one(f"what is missing for {goal}", "/v1/missing", goal=goal, top=3),
        )
    ),
    supposes("what if a key moved to a shown row", "total(C1, ?t)", add=['placed(3, "C1", 1)']),
    supposes("what if all of a hidden relation went", "ok(?c)", remove=["blocked(?c)"]),
    Attack(
        "two of one's own certificates of hidden sums are compared",
        (
            Call("/v1/prove", {"goal": "total(C1, ?t)"}),
            Call("/v1/diff", {"before": "@certificate", "after": "@certificate"}),
            Call("/v1/verify", {"certificate": "@certificate"}),
        ),
    ),
    # Search, completion and history by rights.
    one("a search for a column that is hidden", "/v1/catalog/search", True, words="ssn"),
    one("a goal that is completed within a hidden key", "/v1/complete", text="placed(3, "),
    one("a page of the history", "/v1/history", True, ANALYST, start=0, most=1),
    one("a page of the log far behind", "/v1/log", True, ANALYST, start=10**6, most=1),
    one(
        "a follow-up of another's exploration",
        "/v1/solve/follow-up",
        True,
        "clerk",
        question="And who else?",
        exploration="1",
    ),
)


ATTACKS: Final = (
    *(*FROM_THE_DOCUMENT, *WITH_THE_CODE, *FROM_THE_PAGE, *ACROSS_ROLES, *AS_WRITTEN, *LATER),
)


# A third project, whose sources may give three rows to a query: in one world no row is hidden, in
# the other more than any bound, of each kind of source and in each way that rows are looked for.

COUNTED: Final = ("keyed", "plain", "listed", "dated", "spelled", "noted", "stamped")
"""Relations of three columns: what it is, whose it is, a number."""

BOUNDS: Final = (
    *(
        attack
        for name in COUNTED
        for attack in (
            asks(f"all of {name}", f"{name}(?i, ?r, ?v)"),
            asks(f"one row of {name} by its value", f"{name}(?i, ?r, 7)"),
            proves(f"one row of {name}", f"{name}(1, ?r, ?v)"),
            proves(f"no row of {name}", f"{name}(999, ?r, ?v)"),
            proves(f"a sum over {name}", f"sum_{name}(?t)"),
            proves(f"what is not in {name}", f"without_{name}(1)"),
            asks(f"{name} joined by what it is", f"wanted(?i), {name}(?i, ?r, ?v)"),
            misses(f"a near miss of {name}", f"{name}(2, ?r, 7)"),
            one(f"what is missing of {name}", "/v1/missing", goal=f"{name}(2, ?r, 7)", top=9),
            one(f"a page of {name}", "/v1/query", query=f"{name}(?i, ?r, ?v)", most=1),
            one(f"{name} as lines", "/v1/query/rows", query=f"{name}(?i, ?r, ?v)"),
            supposes(f"{name} without its rows", f"sum_{name}(?t)", remove=[f"{name}(?i, ?r, ?v)"]),
        )
    ),
    Attack(
        "the cursor of one's own page at a bound",
        (
            Call("/v1/query", {"query": "keyed(?i, ?r, ?v)", "most": 1}),
            Call("/v1/query/more", {"cursor": "@cursor"}),
        ),
    ),
    *(
        Attack(
            f"one's own certificate of {name} at a bound, whole",
            (
                Call("/v1/prove", {"goal": f"{name}(1, ?r, ?v)"}),
                Call("/v1/certificates/@identity", method="GET"),
                Call("/v1/export", {"certificate": "@certificate", "to": "markdown"}),
                Call("/v1/diff", {"before": "@certificate"}),
            ),
        )
        for name in COUNTED
    ),
    *(
        one(
            f"everybody of {name}",
            "/v1/query/everybody",
            query="wanted(?i)",
            among=f"{name}(?i, ?r, ?v)",
        )
        for name in COUNTED
    ),
    graphs(
        "bounds by GraphQL",
        "{ "
        + " ".join(
            f'{name}: query(query: "{name}(?i, ?r, ?v)") '
            "{ total settled openBecause rows { values verdict } }"
            for name in COUNTED
        )
        + " }",
    ),
    *(
        Attack(
            f"a subscription to {name}",
            (
                Call(
                    "/graphql",
                    {
                        "query": f'subscription {{ querying(query: "{name}(?i, ?r, ?v)") '
                        "{ message result { total settled rows { values verdict } } } }"
                    },
                    headers=EVENTS,
                ),
            ),
        )
        for name in COUNTED
    ),
)
