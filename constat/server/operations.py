"""What can be asked over HTTP: one table, of which routes, checks, documents and GraphQL are made.

In: a service, a caller, a body that fits the schema of its operation. Out: the answer as JSON.
Invariants: an answer fits the schema that the documents show; what changes anything says so; what
needs a person's word is not done for a token of a program.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat import __version__
from constat.evaluation import Verdict
from constat.frozen import frozen
from constat.project.settings import CHECKS
from constat.proof.formats import FORMATS
from constat.service import Caller, Service
from constat.session.answers import Settled

if TYPE_CHECKING:
    from constat.diagnostics.diagnostic import JsonObject

Schema = dict[str, Any]
Work = Callable[[Service, Caller, dict[str, Any]], Awaitable["JsonObject"]]
Tell = Callable[[Any], None]
Follow = Callable[[Service, Caller, dict[str, Any], Tell], Awaitable["JsonObject"]]

MOST_BODY: Final = 8 << 20
VIEWS: Final = ("subject", "authority", "auditor")
ANYBODY: Final = "anybody"
PERSON: Final = "person"
TOKEN: Final = "a person's token"  # noqa: S105  no password


@frozen
class Operation:
    """One operation: where it is, who may do it, what it takes, and what it does.

    `changes` tells that something is kept, or money spent. `asks` says whose token that takes:
    anybody's, a person's (where there are no tokens, whoever is there), or a person's in any case.
    `follow` does it and tells what happens meanwhile, to whom subscribes under `following`.
    """

    name: str
    path: str
    role: str
    summary: str
    work: Work
    takes: Schema = field(default_factory=dict, hash=False)
    needs: tuple[str, ...] = ()
    gives: str = "Answer"
    changes: bool = False
    asks: str = ANYBODY
    follow: Follow | None = None
    following: str = ""

    @property
    def body(self) -> Schema:
        """The schema of the body."""
        return {
            "type": "object",
            "properties": self.takes,
            "required": list(self.needs),
            "additionalProperties": False,
        }


# Schemas of bodies.


def _text(least: int = 0, most: int = 20_000) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


def _texts() -> Schema:
    return {"type": "array", "items": _text(1), "maxItems": 1_000}


def _number_of(least: int, most: int, **more: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, **more}


def _page(most: int = 1_000) -> Schema:
    return {
        "start": _number_of(0, (1 << 31) - 1, default=0),
        "most": _number_of(1, most, default=50),
    }


def _check() -> Schema:
    return {"enum": [*CHECKS]}


def _flag() -> Schema:
    return {"type": "boolean", "default": False}


# The table.


def operations() -> tuple[Operation, ...]:
    """Give everything that can be asked."""
    return (
        *_about_goals(),
        *_about_rows(),
        *_about_certificates(),
        *_about_the_project(),
        *_in_words(),
        *_about_facts(),
        *_reviews(),
    )


def _about_goals() -> tuple[Operation, ...]:
    goal = {"goal": _text(1)}
    supposed = {"add": _texts(), "remove": _texts()}
    settings = {"type": "object", "additionalProperties": _text(), "maxProperties": 1_000}
    top = _number_of(1, 20, default=3)
    return (
        Operation(
            *("prove", "/v1/prove", "viewer", "Prove or disprove a goal."),
            lambda service, caller, given: service.prove(given["goal"], by=caller.name),
            *(goal, ("goal",), "Result"),
            follow=lambda service, caller, given, tell: service.prove(
                given["goal"], by=caller.name, observe=tell
            ),
            following="proving",
        ),
        Operation(
            *("why", "/v1/why", "viewer", "Prove or disprove a goal, with each step."),
            lambda service, caller, given: service.why(given["goal"], by=caller.name),
            *(goal, ("goal",), "Why"),
        ),
        Operation(
            *("why_not", "/v1/why-not", "viewer", "Say why a goal does not hold."),
            lambda service, _, given: service.why_not(given["goal"]),
            *(goal, ("goal",), "WhyNot"),
        ),
        Operation(
            *("what_if", "/v1/what-if", "viewer", "Answer a goal under suppositions."),
            lambda service, _, given: service.what_if(given.pop("goal"), **given),
            *({**goal, **supposed, "settings": settings}, ("goal",), "WhatIf"),
        ),
        Operation(
            *("missing", "/v1/missing", "viewer", "Find facts that would prove a goal."),
            lambda service, _, given: service.missing(given.pop("goal"), **given),
            *({**goal, "top": top}, ("goal",), "Missing"),
        ),
    )


def _about_rows() -> tuple[Operation, ...]:
    rows = {"query": _text(1), **_page(), "check": _check()}
    return (
        Operation(
            *("query", "/v1/query", "viewer", "Find all answers of a goal with variables."),
            lambda service, _, given: service.query(given.pop("query"), **given),
            *(rows, ("query",), "Rows"),
            follow=lambda service, _, given, tell: service.query(
                given.pop("query"), observe=tell, **given
            ),
            following="querying",
        ),
        Operation(
            *("everybody", "/v1/query/everybody", "viewer", "List for whom a goal holds, or not."),
            lambda service, _, given: service.everybody(given.pop("query"), **given),
            {"query": _text(1), "among": _text(), **_page(), "reasons": _flag()},
            *(("query",), "Everybody"),
        ),
        Operation(
            *("more", "/v1/query/more", "viewer", "Give the rows after those of a page."),
            lambda service, _, given: service.more(given.pop("cursor"), **given),
            {"cursor": _text(1, 200), "most": _page()["most"]},
            *(("cursor",), "Rows"),
        ),
    )


def _about_certificates() -> tuple[Operation, ...]:
    certificate = {"certificate": _text(1, MOST_BODY)}
    to = {"enum": [one.name for one in FORMATS]}
    return (
        Operation(
            *("verify", "/v1/verify", "viewer", "Check a certificate, as text or reference."),
            lambda service, _, given: service.verify(given.pop("certificate"), **given),
            *({**certificate, "sources": _flag()}, ("certificate",), "Checked"),
        ),
        Operation(
            *("export", "/v1/export", "viewer", "Write a certificate in another format."),
            lambda service, _, given: service.export(given.pop("certificate"), **given),
            {**certificate, "to": to, "view": {"enum": list(VIEWS)}},
            *(("certificate", "to"), "Exported"),
        ),
        Operation(
            *("diff", "/v1/diff", "viewer", "Tell what differs between a proof and a later one."),
            lambda service, _, given: service.diff(given.pop("before"), **given),
            {"before": _text(1, MOST_BODY), "after": _text(0, MOST_BODY)},
            *(("before",), "Difference"),
        ),
        Operation(
            *("read_on", "/v1/read-on", "viewer", "Read on in a text that was cut."),
            lambda service, _, given: _later(lambda: service.read_on(**given)),
            *({"reference": _text(1), "start": _page()["start"]}, ("reference",), "Part"),
        ),
    )


def _about_the_project() -> tuple[Operation, ...]:
    return (
        Operation(
            *("rules", "/v1/rules", "viewer", "List predicates and rules."),
            lambda service, _, given: service.rules(given.get("predicate", "")),
            *({"predicate": _text()}, (), "Rules"),
        ),
        Operation(
            *("complete", "/v1/complete", "viewer", "Say how a goal may go on after a text."),
            lambda service, _, given: service.complete(given.pop("text"), **given),
            *({"text": _text(), "most": _number_of(1, 50, default=12)}, ("text",), "Completed"),
        ),
        Operation(
            *("settings", "/v1/settings", "viewer", "List configured values that stand alone."),
            lambda service, _, __: service.settings(),
            *({}, (), "Settings"),
        ),
        Operation(
            *("caller", "/v1/caller", "viewer", "Say who asks, and what they may do."),
            lambda service, caller, _: _later(lambda: _described_caller(service, caller)),
            *({}, (), "Caller"),
        ),
        Operation(
            *("search", "/v1/catalog/search", "viewer", "Find tables, columns, rules by words."),
            lambda service, _, given: service.search(given["words"]),
            *({"words": _text(1)}, ("words",), "Found"),
        ),
        Operation(
            *("schema", "/v1/catalog/table", "viewer", "Describe a table, or list all of them."),
            lambda service, _, given: service.schema(given.get("table", "")),
            *({"table": _text()}, (), "Described"),
        ),
    )


def _asked(
    service: Service, caller: Caller, given: dict[str, Any], tell: Tell | None = None
) -> Awaitable[JsonObject]:
    return service.ask(given.pop("question"), by=caller.name, observe=tell, **given)


def _solved(
    service: Service, caller: Caller, given: dict[str, Any], tell: Tell | None = None
) -> Awaitable[JsonObject]:
    return service.solve(given.pop("question"), by=caller.name, observe=tell, **given)


def _followed_up(
    service: Service, caller: Caller, given: dict[str, Any], tell: Tell | None = None
) -> Awaitable[JsonObject]:
    return _solved(service, caller, {"exploration": "", **given}, tell)


def _in_words() -> tuple[Operation, ...]:
    asked = {"question": _text(1, 4_000), "require_approved": _flag()}
    on = {**asked, "exploration": _text(0, 100), "check": _check()}
    # The day that counts as today; without it, today.
    day = {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"}
    return (
        Operation(
            *("ask", "/v1/ask", "analyst", "Answer a question in words; a model reads it."),
            _asked,
            *(asked, ("question",), "Asked", True),
            follow=_asked,
            following="asking",
        ),
        Operation(
            *("confirm", "/v1/ask/confirm", "analyst", "Ask, and stand for the goal meant."),
            lambda service, caller, given: _asked(
                service, caller, {"accept_goal": given.pop("goal"), **given}
            ),
            *({**asked, "goal": _text(1)}, ("question", "goal"), "Asked", True),
            asks=PERSON,
        ),
        Operation(
            *("solve", "/v1/solve", "analyst", "Answer a question by steps that a model plans."),
            _solved,
            *({**asked, "today": day, "check": _check()}, ("question",), "Explored", True),
            follow=_solved,
            following="solving",
        ),
        Operation(
            *("follow_up", "/v1/solve/follow-up", "analyst", "Go on from an earlier exploration."),
            _followed_up,
            *(on, ("question",), "Explored", True),
            follow=_followed_up,
            following="following_up",
        ),
        Operation(
            *("history", "/v1/history", "analyst", "List explorations, the latest first."),
            lambda service, _, given: service.history(**given),
            *(_page(), (), "History"),
        ),
    )


def _about_facts() -> tuple[Operation, ...]:
    fact = {"fact": _text(1)}
    return (
        Operation(
            *("facts", "/v1/facts", "viewer", "List the facts that people state."),
            lambda service, _, given: service.stated(given.get("predicate", "")),
            *({"predicate": _text()}, (), "Facts"),
        ),
        Operation(
            *("state", "/v1/facts/add", "analyst", "State a fact in the caller's name."),
            lambda service, caller, given: service.state(
                given["fact"], by=caller.name, note=given.get("note", "")
            ),
            *({**fact, "note": _text()}, ("fact",), "Stated", True),
            asks=PERSON,
        ),
        Operation(
            *("retract", "/v1/facts/retract", "analyst", "Take back a fact the caller stated."),
            lambda service, caller, given: service.retract(
                given["fact"], by=caller.name, of_anybody=caller.may("admin")
            ),
            *(fact, ("fact",), "Retracted", True),
            asks=PERSON,
        ),
        Operation(
            *("log", "/v1/log", "admin", "List decisions that were written down."),
            lambda service, _, given: service.decisions(**given),
            *(_page(), (), "Log"),
        ),
    )


def _reviews() -> tuple[Operation, ...]:
    named = {"name": _text(1, 200)}
    decided = {**named, "reason": _text(1, 4_000)}
    rules = {"goal": _text(1), "rules": _text(1), "purpose": _text(1, 4_000)}
    status = {"enum": ["", "proposed", "approved", "rejected", "superseded"], "default": "proposed"}
    return (
        Operation(
            *("draft", "/v1/drafts/add", "analyst", "Hand in rules, which people review."),
            lambda service, caller, given: service.hand_in(**given, by=caller.name),
            *(rules, ("goal", "rules", "purpose"), "Drafted", True),
        ),
        Operation(
            *(
                "check",
                "/v1/drafts/check",
                "analyst",
                "Say what is wrong with rules; keep nothing.",
            ),
            lambda service, _, given: service.check(given["rules"], given.get("goal", "")),
            *({"rules": _text(), "goal": _text()}, ("rules",), "Mistakes"),
        ),
        Operation(
            *("drafts", "/v1/drafts", "analyst", "List drafts and proposed rules."),
            lambda service, _, given: service.drafts(**given),
            *({"status": status}, (), "Drafts"),
        ),
        Operation(
            *("review", "/v1/drafts/review", "analyst", "Say what a draft would change."),
            lambda service, _, given: service.review(given["name"]),
            *(named, ("name",), "Review"),
        ),
        Operation(
            *("approve", "/v1/drafts/approve", "approver", "Let in what somebody else asked for."),
            lambda service, caller, given: service.approve(
                given.pop("name"), by=caller.name, **given
            ),
            {**decided, "into": _text(), "rule_id": _text()},
            *(("name", "reason"), "Decided", True),
            asks=TOKEN,
        ),
        Operation(
            *("reject", "/v1/drafts/reject", "approver", "Refuse a draft or a rule of a model."),
            lambda service, caller, given: service.reject(
                given["name"], by=caller.name, reason=given["reason"]
            ),
            *(decided, ("name", "reason"), "Decided", True),
            asks=TOKEN,
        ),
    )


ARROW: Final = "application/vnd.apache.arrow.stream"
ROWS: Final = Operation(
    *("rows", "/v1/query/rows", "viewer", "Find all answers, written whole as `Accept` says."),
    lambda service, _, given: service.query(given.pop("query"), **given),
    {"query": _text(1), "check": _check()},
    ("query",),
)
"""All rows at once, which is no field of GraphQL: JSON lines, or a stream of Arrow."""


async def _later(work: Callable[[], JsonObject]) -> JsonObject:
    return work()


def _described_caller(service: Service, caller: Caller) -> JsonObject:
    told = {"name": caller.name, "role": caller.role, "person": caller.person}
    return {**told, "model": caller.model, "sees_all": service.sees_all}


# Schemas of answers: members with their kinds, `[of a list]`, `? or null`, `~ or left out`. A kind
# with a capital is another schema.

_KINDS: Final = MappingProxyType(
    {
        "text": {"type": "string"},
        "number": {"type": "integer"},
        "flag": {"type": "boolean"},
        "any": {"type": "object"},
    }
)
_PROVED: Final = (
    "goal text, verdict Verdict, exit_code number, confidence text, sentences [text],"
    " assumptions [text], missing [text], conflicts [text], snapshot text?, proof Text,"
    " certificate text"
)
_STATED: Final = "fact text, by text, at text, note text"
_ITEM: Final = (
    "identity text, kind text, status text, purpose text, goal text, model text, asked_by text,"
    " at text, rules [text], approvals [text], needed number, reason text"
)
_ANSWERS: Final = MappingProxyType(
    {
        "Result": _PROVED,
        "Why": f"{_PROVED}, roots [number], steps [Step], steps_left number",
        "Step": "kind text, fact text, sentence text, rule text, assumption text, confidence text,"
        " premises [number], sources [Source]",
        "Source": "name text, origin text, query text?, parameters [text], at text, rows number",
        "WhyNot": f"{_PROVED}, why Text",
        "WhatIf": f"{_PROVED}, before Verdict, supposed [text], without_effect [text],"
        " changes [any], changes_left number",
        "Missing": f"{_PROVED}, sets [MissingSet], others_are_possible flag, candidates [text]",
        "MissingSet": "cost text, add [any], remove [text], verdict Verdict",
        "Rows": "query text, total number, start number, rows_left number, settled Settled,"
        " exit_code number, computed_not_checked flag, check any?, assumptions [text],"
        " open_because [any], columns [Column], rows [Row],"
        " cursor text?",
        "Everybody": "query text, among text, settled Settled, total number, start number,"
        " rows_left number, counts any, columns [Column], rows [Row], notes [text]",
        "Difference": "goal text, same flag, changes [Change], changes_left number,"
        " unaligned [any], unaligned_left number",
        "Change": "number number, kind text, subject text, before text?, after text?,"
        " because [number]",
        "Mistakes": "mistakes [any], goal text, rules text",
        "Column": "name text, type text",
        "Row": "values any, verdict text, goals [text], reasons [text]~",
        "Checked": "accepted flag, verdict text?, goal text?, reason text?, identity text?,"
        " notes [text], leaves text~, leaves_exit_code number~,"
        " rules_changed [text]~",
        "Exported": "format text, suffix text, text text?, base64 text?",
        "Part": "text text, start number, left number",
        "Rules": "predicates [any], predicates_left number, rules [any], rules_left number",
        "Completed": "word text, proposals [Proposal], proposals_left number, call Proposal?,"
        " place number",
        "Proposal": "name text, goal text, columns [Column], says text, description text",
        "Settings": "settings [Setting], settings_left number",
        "Setting": "name text, value text, type text, kind text, says text, description text",
        "Caller": "name text, role text, person flag, model flag, sees_all flag",
        "Found": "found Text",
        "Described": "schema Text",
        "Asked": f"{_PROVED}, question text, confirmed text, draft text?, rules [text],"
        " answers any?",
        "Explored": "exploration text, question text, sentence text, verdict Verdict?,"
        " exit_code number, confirmed text?, columns [text], rows [[text]], rows_left number,"
        " assumptions [text], notes [text], steps [any], why_not_checked text, certificate text?",
        "History": "explorations [Exploration], explorations_left number",
        "Exploration": "exploration text, title text, began text, questions [text]",
        "Facts": "facts [Fact], facts_left number",
        "Fact": _STATED,
        "Stated": f"{_STATED}, conflicts [text]",
        "Retracted": "retracted [Fact]",
        "Log": "entries [Entry], total number, entries_left number",
        "Entry": "number number, time text, kind text, body any?",
        "Drafted": f"{_PROVED}, draft text, status text, review text",
        "Drafts": "drafts [Draft], drafts_left number",
        "Draft": _ITEM,
        "Review": f"{_ITEM}, text text, file text, difference text, amended [text], replaced [any],"
        " cases [any], effects [any], remarks [text], problem text,"
        " meanings [text], rests_on [text], shown Text",
        "Decided": "identity text, kind text, status text, rules [text], file text, signed flag,"
        " have number, needed number",
    }
)


def _members(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in text.split(","):
        name, word = one.split()
        found[name] = word
    return found


def _kind(word: str) -> Schema:
    if word.endswith(("?", "~")):
        return {"anyOf": [_kind(word[:-1]), {"type": "null"}]}
    if word.startswith("["):
        return {"type": "array", "items": _kind(word[1:-1])}
    found = _KINDS.get(word)
    return {"$ref": f"#/components/schemas/{word}"} if found is None else dict(found)


def answers() -> dict[str, Schema]:
    """Give the schemas of answers by name; `~` marks what may be left out."""
    found: dict[str, Schema] = {
        name: {
            "type": "object",
            "properties": {one: _kind(word) for one, word in _members(text).items()},
            "required": [one for one, word in _members(text).items() if not word.endswith("~")],
        }
        for name, text in _ANSWERS.items()
    }
    cut = _members("text text, left number, reference text?")
    whole = {
        "type": "object",
        "properties": {one: _kind(word) for one, word in cut.items()},
        "required": list(cut),
        "description": "a text that was cut: read_on gives more of it",
    }
    found["Text"] = {"anyOf": [_kind("text"), whole]}
    found["Verdict"] = {"enum": [one.value for one in Verdict]}
    found["Settled"] = {"enum": [one.value for one in Settled]}
    properties = found["Result"]["properties"]
    properties["exit_code"] = {"type": "integer", "enum": [one.exit_code for one in Verdict]}
    properties["certificate"]["description"] = "a reference: GET /v1/certificates/"
    return {**found, "Answer": {"type": "object"}, "Error": _error()}


def _error() -> Schema:
    members = ("code", "message", "note", "help", "severity")
    one = {
        "type": "object",
        "properties": {name: _kind("text?") for name in members} | {"code": _kind("text")},
        "required": ["code", "message"],
    }
    return {
        "type": "object",
        "properties": {"error": {"type": "array", "items": one}},
        "required": ["error"],
    }


# The document.

_STATUSES: Final = (
    ("400", "A mistake, with code, place and an edit that works."),
    ("401", "No token, or one that nobody has."),
    ("403", "The caller's role is not enough."),
    ("404", "There is no such thing."),
    ("409", "The key of the request was given for another one."),
    ("413", "The body is too long."),
    ("415", "The body is no JSON."),
    ("429", "Too many requests of one caller."),
    ("500", "Something that nobody foresaw; the operator finds it under the number."),
    ("503", "Too many requests at once."),
    ("504", "The work took too long and was stopped."),
)


_KEY: Final = MappingProxyType(
    {
        "name": "Idempotency-Key",
        "in": "header",
        "required": False,
        "schema": {"type": "string", "minLength": 1, "maxLength": 200},
        "description": "The same request with the same key is done once.",
    }
)


def openapi() -> Schema:
    """Give the OpenAPI document."""
    paths: Schema = {one.path: {"post": _described(one)} for one in operations()}
    identity = {"name": "identity", "in": "path", "required": True, "schema": {"type": "string"}}
    paths["/v1/certificates/{identity}"] = {
        "get": {
            "operationId": "certificate",
            "summary": "A certificate that an answer has named.",
            "x-role": "viewer",
            "parameters": [identity],
            "responses": _responses("Answer"),
        }
    }
    paths[ROWS.path] = {"post": _described(ROWS)}
    streamed = {"schema": {"type": "string", "format": "binary"}}
    written = {"application/x-ndjson": {"schema": {"type": "string"}}, ARROW: streamed}
    paths[ROWS.path]["post"]["responses"]["200"]["content"] = written
    security = {"bearer": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Constat", "version": __version__},
        "paths": paths,
        "components": {"schemas": answers(), "securitySchemes": security},
        "security": [{"bearer": []}],
    }


def _described(one: Operation) -> Schema:
    return {
        "operationId": one.name,
        "summary": one.summary,
        "x-role": one.role,
        "x-asks": one.asks,
        "parameters": [dict(_KEY)] if one.changes else [],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": one.body}},
        },
        "responses": _responses(one.gives),
    }


def _responses(gives: str) -> Schema:
    def of(name: str) -> Schema:
        return {"application/json": {"schema": {"$ref": f"#/components/schemas/{name}"}}}

    failed = {code: {"description": text, "content": of("Error")} for code, text in _STATUSES}
    return {"200": {"description": "The answer.", "content": of(gives)}, **failed}
