"""A project over HTTP: REST with an OpenAPI document, over the service that every face has.

In: requests with JSON bodies and a bearer token. Out: the answers of `constat.service`. Invariants:
no operation approves a rule or confirms a goal; whoever has no token of a sufficient role gets
nothing; a body is checked against the schema that the document shows; nothing that an exception
says leaves, only the number under which the operator finds it. A request that is given up ends the
work.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
import secrets
import sys
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from constat import __version__
from constat.diagnostics import ConstatError, Diagnostic
from constat.frozen import frozen
from constat.service import Refused, Service

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from socket import socket

    from jsonschema_rs import Validator

    from constat.diagnostics.json_form import JsonObject

Found = TypeVar("Found")
Schema = dict[str, Any]

ROLES: Final = ("viewer", "analyst", "approver", "admin")
"""Each may do what those before it may."""

_MOST_BODY: Final = 8 << 20
_BODY_SECONDS: Final = 30.0
_TOKEN_BYTES: Final = 32
_TOKEN_LINE: Final = re.compile(r"(\S{1,100})\s+(\w+)\s+sha256:([0-9a-f]{64})")
_CODE: Final = "C0592"
_HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
)


@frozen
class Caller:
    """Who asks, and as what."""

    name: str
    role: str

    def may(self, role: str) -> bool:
        """Whether this role, or one above it, is the caller's."""
        return ROLES.index(self.role) >= ROLES.index(role)


@frozen
class Access:
    """Who may come in. `tokens` are callers by the SHA-256 of their token; without any, `anybody`.

    `hosts` are the names that a request may have for this server where nobody shows a token: a page
    of a browser gets to loopback by a name of its own.
    """

    tokens: Mapping[str, Caller]
    anybody: Caller | None = None
    hosts: frozenset[str] = frozenset()

    def caller(self, authorization: str) -> Caller | None:
        """Give who asks; nothing for a token that nobody has."""
        if self.anybody is not None:
            return self.anybody
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self.tokens.get(hashlib.sha256(token.strip().encode()).hexdigest())


@frozen
class Bounds:
    """What a server bears: requests at once, requests of a caller in a second, seconds of one."""

    pending: int = 64
    rate: float = 50.0
    burst: int = 200
    seconds: float = 120.0


def read_tokens(path: Path) -> Mapping[str, Caller]:
    """Read `NAME ROLE sha256:HEX` lines; raises `ConstatError` for a line that is none."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise _mistake(f"the file of tokens `{path.name}` cannot be read") from None
    tokens: dict[str, Caller] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        found = _TOKEN_LINE.fullmatch(line.strip())
        if found is None or found[2] not in ROLES:
            raise _mistake(f"line {number} of `{path.name}` is no token")
        tokens[found[3]] = Caller(found[1], found[2])
    if not tokens:
        raise _mistake(f"there is no token in `{path.name}`")
    return tokens


def access_of(tokens: Path | None, host: str, port: int, who: str) -> Access:
    """Say who may come in: who has a token, or without tokens whoever is on this machine."""
    if tokens is not None:
        return Access(read_tokens(tokens))
    shown = f"[{host}]" if ":" in host else host
    names = (shown, "127.0.0.1", "localhost", "[::1]")
    return Access({}, Caller(who, ROLES[-1]), frozenset(f"{one}:{port}" for one in names))


class _Server(uvicorn.Server):
    """A server whose service ends in order, also for who is in a hurry and interrupts twice."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop answering, then close the service."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def run(project: Path | str | None, access: Access, listening: socket) -> None:
    """Serve until somebody ends it; what runs then is answered, or stopped after five seconds."""
    service = Service(project, by=access.anybody.name if access.anybody else "")
    config = uvicorn.Config(
        Application(service, access).asgi(),
        access_log=False,
        log_level="error",
        limit_concurrency=256,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    _Server(config).run([listening])


def new_token(path: Path, name: str, role: str) -> str:
    """Add a token to a file, which keeps its hash alone; gives the token, which is shown once."""
    token = secrets.token_urlsafe(_TOKEN_BYTES)
    line = f"{name} {role} sha256:{hashlib.sha256(token.encode()).hexdigest()}"
    if role not in ROLES or not _TOKEN_LINE.fullmatch(line):
        raise _mistake("a token is of a name without spaces, and of a role")
    path.touch(mode=0o600)
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    return token


def _mistake(message: str) -> ConstatError:
    hint = f"`constat serve --tokens FILE --new-token NAME:ROLE` adds one; {', '.join(ROLES)}"
    return ConstatError([Diagnostic(_CODE, message, help=hint)])


# What can be asked. The body of each operation has a schema, which the document shows and which
# every request is checked against.

Work = Callable[[Service, Caller, dict[str, Any]], Awaitable["JsonObject"]]


def _text(least: int = 0, most: int = 20_000) -> Schema:
    return {"type": "string", "minLength": least, "maxLength": most}


def _texts() -> Schema:
    return {"type": "array", "items": _text(1), "maxItems": 1_000}


def _number_of(least: int, most: int, **more: int) -> Schema:
    return {"type": "integer", "minimum": least, "maximum": most, **more}


def _start() -> Schema:
    return _number_of(0, 1 << 40, default=0)


@frozen
class Operation:
    """One operation: where it is, who may do it, what it takes, and what it does."""

    name: str
    path: str
    role: str
    summary: str
    work: Work
    takes: Schema = field(default_factory=dict, hash=False)
    needs: tuple[str, ...] = ()
    gives: str = "Answer"
    method: str = "POST"

    @property
    def body(self) -> Schema:
        """The schema of the body."""
        return {
            "type": "object",
            "properties": self.takes,
            "required": list(self.needs),
            "additionalProperties": False,
        }


def _about_goals() -> tuple[Operation, ...]:
    goal = {"goal": _text(1)}
    supposed = {"add": _texts(), "remove": _texts()}
    settings = {"type": "object", "additionalProperties": _text(), "maxProperties": 1_000}
    rows = {
        "query": _text(1),
        "start": _start(),
        "most": _number_of(1, 1_000, default=50),
        "check": {"enum": ["background", "always", "off"]},
    }
    top = _number_of(1, 20, default=3)
    return (
        Operation(
            *("prove", "/v1/prove", "viewer", "Prove or disprove a goal."),
            lambda service, caller, given: service.prove(given["goal"], by=caller.name),
            *(goal, ("goal",), "Result"),
        ),
        Operation(
            *("query", "/v1/query", "viewer", "Find all answers of a goal with variables."),
            lambda service, _, given: service.query(given.pop("query"), **given),
            *(rows, ("query",), "Rows"),
        ),
        Operation(
            *("why_not", "/v1/why-not", "viewer", "Say why a goal does not hold."),
            lambda service, _, given: service.why_not(given["goal"]),
            *(goal, ("goal",), "Result"),
        ),
        Operation(
            *("what_if", "/v1/what-if", "viewer", "Answer a goal under suppositions."),
            lambda service, _, given: service.what_if(given.pop("goal"), **given),
            *({**goal, **supposed, "settings": settings}, ("goal",), "Result"),
        ),
        Operation(
            *("missing", "/v1/missing", "viewer", "Find facts that would prove a goal."),
            lambda service, _, given: service.missing(given.pop("goal"), **given),
            *({**goal, "top": top}, ("goal",), "Result"),
        ),
    )


def _about_the_rest() -> tuple[Operation, ...]:
    certificate = _text(1, _MOST_BODY)
    return (
        Operation(
            *("verify", "/v1/verify", "viewer", "Check a certificate, as text or reference."),
            lambda service, _, given: service.verify(given.pop("certificate"), **given),
            {"certificate": certificate, "sources": {"type": "boolean", "default": False}},
            ("certificate",),
        ),
        Operation(
            *("read_on", "/v1/read-on", "viewer", "Read on in a text that was cut."),
            lambda service, _, given: _later(lambda: service.read_on(**given)),
            *({"reference": _text(1), "start": _start()}, ("reference",)),
        ),
        Operation(
            *("rules", "/v1/rules", "viewer", "List predicates and rules."),
            lambda service, _, given: service.rules(given.get("predicate", "")),
            {"predicate": _text()},
        ),
        Operation(
            *("search", "/v1/catalog/search", "viewer", "Find tables, columns, rules by words."),
            lambda service, _, given: service.search(given["words"]),
            *({"words": _text(1)}, ("words",)),
        ),
        Operation(
            *("schema", "/v1/catalog/table", "viewer", "Describe a table, or list all of them."),
            lambda service, _, given: service.schema(given.get("table", "")),
            {"table": _text()},
        ),
    )


def _about_facts() -> tuple[Operation, ...]:
    fact = {"fact": _text(1)}
    return (
        Operation(
            *("facts", "/v1/facts", "viewer", "List the facts that people state."),
            lambda service, _, given: service.stated(given.get("predicate", "")),
            {"predicate": _text()},
        ),
        Operation(
            *("state", "/v1/facts/add", "analyst", "State a fact in the caller's name."),
            lambda service, caller, given: service.state(
                given["fact"], by=caller.name, note=given.get("note", "")
            ),
            *({**fact, "note": _text()}, ("fact",)),
        ),
        Operation(
            *("retract", "/v1/facts/retract", "analyst", "Take back a fact the caller stated."),
            lambda service, caller, given: service.retract(
                given["fact"], by=caller.name, of_anybody=caller.may("admin")
            ),
            *(fact, ("fact",)),
        ),
        Operation(
            *("log", "/v1/log", "admin", "List decisions that were written down."),
            lambda service, _, given: service.decisions(**given),
            {"start": _start(), "most": _number_of(1, 1_000)},
        ),
    )


def operations() -> tuple[Operation, ...]:
    """Give everything that can be asked."""
    return (*_about_goals(), *_about_the_rest(), *_about_facts())


async def _later(work: Callable[[], Found]) -> Found:
    return work()


# The document.

_VERDICTS: Final = ("PROVED", "PROVED_UNDER", "UNRESOLVED", "DISPROVED", "DISPROVED_UNDER")


def _schemas() -> dict[str, Schema]:
    return {
        "Answer": {"type": "object"},
        "Result": {
            "type": "object",
            "properties": {
                "goal": {"type": "string"},
                "verdict": {"enum": list(_VERDICTS)},
                "exit_code": {"enum": [0, 3, 4, 5, 6]},
                "confidence": {"type": "string"},
                "assumptions": {"type": "array", "items": {"type": "string"}},
                "missing": {"type": "array", "items": {"type": "string"}},
                "certificate": {
                    "type": "string",
                    "description": "a reference: GET /v1/certificates/",
                },
            },
            "required": ["goal", "verdict", "exit_code", "confidence", "certificate"],
        },
        "Rows": {
            "type": "object",
            "properties": {
                "total": {"type": "integer"},
                "rows_left": {"type": "integer"},
                "settled": {"enum": ["SETTLED", "FOR_CERTAIN", "OPEN"]},
                "rows": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {"values": {"type": "object"}, "verdict": {"type": "string"}},
                        "required": ["values", "verdict"],
                    },
                },
            },
            "required": ["rows", "rows_left", "settled", "total"],
        },
        "Error": _error(),
    }


def _error() -> Schema:
    return {
        "type": "object",
        "properties": {
            "error": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "code": {"type": "string"},
                        "message": {"type": "string"},
                        "help": {"type": "string"},
                    },
                    "required": ["code", "message"],
                },
            }
        },
        "required": ["error"],
    }


_STATUSES: Final = (
    ("400", "A mistake, with code, place and an edit that works."),
    ("401", "No token, or one that nobody has."),
    ("403", "The caller's role is not enough."),
    ("404", "There is no such thing."),
    ("413", "The body is too long."),
    ("415", "The body is no JSON."),
    ("429", "Too many requests of one caller."),
    ("500", "Something that nobody foresaw; the operator finds it under the number."),
    ("503", "Too many requests at once."),
    ("504", "The work took too long and was stopped."),
)


def openapi() -> Schema:
    """Give the OpenAPI document."""
    paths: Schema = {one.path: {one.method.lower(): _described(one)} for one in operations()}
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
    security = {"bearer": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "Constat", "version": __version__},
        "paths": paths,
        "components": {"schemas": _schemas(), "securitySchemes": security},
        "security": [{"bearer": []}],
    }


def _described(one: Operation) -> Schema:
    return {
        "operationId": one.name,
        "summary": one.summary,
        "x-role": one.role,
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


# The application.


class _Refusal(Exception):  # noqa: N818  it is an answer
    """A status with what to say."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.answer: JsonObject = {"error": [{"code": f"HTTP{status}", "message": message}]}
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


class Application:
    """One project for many callers. `tell` writes a line of the log for each request."""

    def __init__(
        self,
        service: Service,
        access: Access,
        bounds: Bounds | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._service = service
        self._access = access
        self._bounds = bounds or Bounds()
        self._tell = tell or _to_stderr
        self._pending = 0
        self._buckets: dict[str, tuple[float, float]] = {}

    def asgi(self) -> Starlette:
        """Give what a server runs; the service is closed when it ends."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with self._service:
                yield

        routes = [
            Route("/healthz", self._telling("healthz", self._healthy), methods=["GET"]),
            Route("/readyz", self._telling("readyz", self._ready), methods=["GET"]),
            Route("/openapi.json", self._telling("openapi", self._document), methods=["GET"]),
            Route(
                "/v1/certificates/{identity}",
                self._answering("certificate", "viewer", self._certificate),
                methods=["GET"],
            ),
        ]
        for one in operations():
            work = self._answering(one.name, one.role, self._operating(one))
            routes.append(Route(one.path, work, methods=[one.method]))
        return Starlette(
            routes=routes,
            lifespan=lifespan,
            exception_handlers={HTTPException: self._unrouted},
        )

    @staticmethod
    async def _healthy(_: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        try:
            await self._service.run(lambda session: session.program)
        except Refused:
            # What is wrong is told to who has a token.
            return _json({"status": "not ready"}, 503)
        return _json({"status": "ready"})

    @staticmethod
    async def _document(_: Request) -> Response:
        return _json(openapi())

    async def _unrouted(self, request: Request, problem: Exception) -> Response:
        status = getattr(problem, "status_code", 404)

        async def refused(_: Request) -> Response:
            return _refused(_Refusal(status, "there is nothing here that answers this method"))

        # What was asked for may be anything, and is not repeated.
        return await self._telling("-", refused)(request)

    def _telling(
        self, name: str, work: Callable[[Request], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Write the line of the log for what needs no token."""

        async def answer(request: Request) -> Response:
            started = time.monotonic()
            response = await work(request)
            self._told("-", name, response, started)
            return response

        return answer

    def _told(self, who: str, name: str, response: Response, started: float) -> None:
        seconds = round(time.monotonic() - started, 3)
        told = {"who": who, "operation": name, "status": response.status_code}
        self._tell(json.dumps({**told, "seconds": seconds}))

    async def _certificate(self, request: Request, _: Caller) -> Response:
        """Give the bytes as they are: what a checker accepts is these and no others."""
        content = self._service.read(f"certificate/{request.path_params['identity']}")
        return Response(content, media_type="application/json", headers=dict(_HEADERS))

    def _operating(self, one: Operation) -> Callable[[Request, Caller], Awaitable[Response]]:
        from jsonschema_rs import validator_for  # noqa: PLC0415  heavy library, loaded on first use

        validator = validator_for(one.body)

        async def work(request: Request, caller: Caller) -> Response:
            async with self._place():
                return _json(await self._operated(one, validator, request, caller))

        return work

    async def _operated(
        self, one: Operation, validator: Validator, request: Request, caller: Caller
    ) -> JsonObject:
        try:
            async with asyncio.timeout(_BODY_SECONDS):
                given = await _body(request)
        except TimeoutError:
            raise _Refusal(408, "the body did not come to its end") from None
        if (problem := next(iter(validator.iter_errors(given)), None)) is not None:
            place = "/".join(map(str, problem.instance_path)) or "the body"
            # What the request holds is not repeated.
            message = f"{place} does not fit the schema of {one.name} (see /openapi.json)"
            raise _Refusal(400, message[:400])
        return await self._bounded(request, one.work(self._service, caller, given))

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Take one of the places for requests at once."""
        if self._pending >= self._bounds.pending:
            raise _Refusal(503, "too many requests at once", Retry_After="1")
        self._pending += 1
        try:
            yield
        finally:
            self._pending -= 1

    def _answering(
        self, name: str, role: str, work: Callable[[Request, Caller], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Let in who may, within the bounds, and give every failure a form that tells nothing."""

        async def answer(request: Request) -> Response:
            started, who = time.monotonic(), "-"
            try:
                self._check_place(request)
                caller = self._caller(request)
                who = caller.name
                self._let_in(caller, role)
                response = await work(request, caller)
            except _Refusal as problem:
                response = _refused(problem)
            except Refused as problem:
                codes = {one["code"] for one in problem.answer["error"]}  # type: ignore[attr-defined]  # objects
                response = _json(problem.answer, 404 if codes == {"C0401"} else 400)
            except ClientDisconnect:
                response = Response(status_code=499)
            except Exception as problem:  # noqa: BLE001  what nobody foresaw is told to the operator alone
                response = _refused(self._unforeseen(problem))
            self._told(who, name, response, started)
            return response

        return answer

    def _check_place(self, request: Request) -> None:
        """Refuse pages of a browser that are none of this server's."""
        host = request.headers.get("host", "")
        if self._access.hosts and host not in self._access.hosts:
            raise _Refusal(421, "this server has another name")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise _Refusal(403, "pages of other places may not ask")

    def _caller(self, request: Request) -> Caller:
        shown = request.headers.get("authorization", "")
        caller = self._access.caller(shown)
        if caller is None and shown.lower().startswith("bearer "):
            how = 'Bearer error="invalid_token"'
            raise _Refusal(401, "nobody has this token", WWW_Authenticate=how)
        if caller is None:
            raise _Refusal(401, "a bearer token is needed", WWW_Authenticate="Bearer")
        return caller

    def _let_in(self, caller: Caller, role: str) -> None:
        self._take_turn(caller.name)
        if role and not caller.may(role):
            raise _Refusal(403, f"the role {role} is needed")

    def _take_turn(self, name: str) -> None:
        """Count requests of a caller: so many at once, and so many more each second."""
        left, before = self._buckets.get(name, (float(self._bounds.burst), time.monotonic()))
        now = time.monotonic()
        left = min(self._bounds.burst, left + (now - before) * self._bounds.rate) - 1
        self._buckets[name] = (max(left, -1.0), now)
        if left < 0:
            raise _Refusal(429, "too many requests", Retry_After="1")

    async def _bounded(self, request: Request, work: Awaitable[JsonObject]) -> JsonObject:
        """Do the work as long as somebody waits for it, and no longer than the bound."""
        task = asyncio.ensure_future(work)
        gone = asyncio.ensure_future(_gone(request, task))
        try:
            async with asyncio.timeout(self._bounds.seconds):
                return await task
        except TimeoutError:
            raise _Refusal(504, "the work took too long and was stopped") from None
        except asyncio.CancelledError:
            if gone.done():
                raise ClientDisconnect from None
            raise
        finally:
            gone.cancel()
            task.cancel()

    def _unforeseen(self, problem: Exception) -> _Refusal:
        """Tell the operator where, without what: the text of an exception may hold values."""
        number = secrets.token_hex(6)
        frames = traceback.extract_tb(problem.__traceback__)
        places = [f"{Path(one.filename).name}:{one.lineno}" for one in frames[-12:]]
        self._tell(json.dumps({"error": number, "type": type(problem).__name__, "at": places}))
        return _Refusal(500, f"an error that nobody foresaw; the operator finds it as {number}")


async def _gone(request: Request, task: asyncio.Future[Any]) -> None:
    """Cancel the work once nobody waits for it."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    task.cancel()


def _number(text: str) -> float:
    """Give a number; `1.0` is a whole one, as schemas say."""
    number = float(text)
    return int(number) if number.is_integer() else number


async def _body(request: Request) -> dict[str, Any]:
    """Read a JSON object of bounded length."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise _Refusal(415, "the body has to be application/json")
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > _MOST_BODY:
            raise _Refusal(413, f"the body is longer than {_MOST_BODY:,} bytes")
    try:
        given = json.loads(content or b"{}", parse_float=_number)
        # Half a surrogate pair is no character, and could be written nowhere.
        json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise _Refusal(400, "the body is no JSON") from None
    if not isinstance(given, dict):
        raise _Refusal(400, "the body has to be a JSON object")
    return given


def _json(answer: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.loads(json.dumps(answer, default=str))
    return JSONResponse(content, status, headers={**dict(_HEADERS), **(headers or {})})


def _refused(problem: _Refusal) -> Response:
    return _json(problem.answer, problem.status, problem.headers)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
