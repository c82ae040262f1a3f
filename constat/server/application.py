"""The application that a server runs: routes, checks, limits, failures, the log.

In: requests with JSON bodies and a bearer token. Out: the answers of `constat.service`. Invariants:
whoever has no token of a sufficient role gets nothing; a body is checked against the schema that
the document shows; nothing that an exception says leaves, only the number under which the operator
finds it. A request that is given up ends the work.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import secrets
import sys
import time
import traceback
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import uvicorn
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from constat.apis.shapes import members_once
from constat.evaluation import spans
from constat.proof.report.page import page_style, report_scripts
from constat.server.operations import (
    ARROW,
    MOST_BODY,
    PERSON,
    ROWS,
    TOKEN,
    Operation,
    openapi,
    operations,
)
from constat.server.workers import PeerGoneError, Peers, SharedTurns
from constat.service import (
    UNSEEN,
    Access,
    Bounds,
    Caller,
    DeniedError,
    Refused,
    Service,
    Turns,
    what_happens,
)
from constat.store.clock import now

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from socket import socket

    from jsonschema_rs import ValidationError, Validator

    from constat.diagnostics.diagnostic import JsonObject
    from constat.evaluation import Event

Found = TypeVar("Found")
_Key = tuple[str, str, str]
_LONGEST_KEY: Final = 200
_MOST_KEYS: Final = 10_000
_EVENTS: Final = 1_000
_ASKED: Final = "constat.asked"
_OF: Final = "~"
"""What stands between the number of a process and the name of a cursor."""
_REFERRING: Final = ("certificate", "reference")
_LONGEST_REFERENCE: Final = 100
_DONE: Final = 200
_FAILED: Final = 500
_STATUS_OF: Final = MappingProxyType({"C0401": 404, UNSEEN: 403})
_BODY_SECONDS: Final = 30.0
_HEADERS: Final = (
    ("Cache-Control", "no-store"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("X-Content-Type-Options", "nosniff"),
)
_PAGE_HEADERS: Final = MappingProxyType(
    {
        **dict(_HEADERS),
        # What becomes HTML passes one policy of the scripts, by which the report alone comes.
        "Content-Security-Policy": (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'; trusted-types report"
        ),
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)
_KINDS: Final = MappingProxyType(
    {".html": "text/html", ".css": "text/css", ".js": "text/javascript"}
)


class _Server(uvicorn.Server):
    """A server whose service ends in order, also for who is in a hurry and interrupts twice."""

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        """Stop answering, then close the service."""
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()


def run(
    project: Path | str | None, access: Access, listening: socket, peers: Peers | None = None
) -> None:
    """Serve until somebody ends it; what runs then is answered, or stopped after five seconds.

    With `peers` it is one process of several that listen.
    """
    mark = "" if peers is None else f"{peers.number}{_OF}"
    service = Service(project, by=access.anybody.name if access.anybody else "", mark=mark)
    config = uvicorn.Config(
        Application(service, access, peers=peers).asgi(),
        access_log=False,
        log_level="error",
        limit_concurrency=256,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
    _Server(config).run([listening])
    spans.flush()


class _Refusal(Exception):  # noqa: N818  it is an answer
    """A status with what to say."""

    def __init__(self, status: int, message: str, **headers: str) -> None:
        super().__init__(message)
        self.status = status
        self.answer: JsonObject = {"error": [{"code": f"HTTP{status}", "message": message}]}
        self.headers = {name.replace("_", "-"): text for name, text in headers.items()}


class _Placed(StreamingResponse):
    """An answer that goes on for a while in a place of its own, which is given back in any case."""

    def __init__(
        self,
        content: AsyncIterator[Any],
        give_back: Callable[[], None],
        **how: Any,  # noqa: ANN401  as above
    ) -> None:
        super().__init__(content, **how)
        self._give_back = give_back

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:  # noqa: ANN401  of ASGI
        """Send it."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._give_back()


class Metrics:
    """Counts requests; `client` is the package that keeps the figures.

    With a `folder` the figures are those of all processes that have it.
    """

    def __init__(self, client: Any, folder: Path | None) -> None:  # noqa: ANN401  a module
        self._client = client
        self._folder = folder
        self._registry = client.CollectorRegistry()
        self._requests = client.Counter(
            "constat_requests", "Requests.", ["operation", "status"], registry=self._registry
        )
        self._seconds = client.Histogram(
            "constat_request_seconds", "Seconds.", ["operation"], registry=self._registry
        )
        self._pending = client.Gauge(
            "constat_pending_requests",
            "Worked on or waiting.",
            registry=self._registry,
            multiprocess_mode="livesum",
        )
        self.kind: str = client.CONTENT_TYPE_LATEST

    def count(self, operation: str, status: int, seconds: float) -> None:
        """Count a request that was answered."""
        self._requests.labels(operation, str(status)).inc()
        self._seconds.labels(operation).observe(seconds)

    def text(self, pending: int) -> bytes:
        """Give all figures."""
        self._pending.set(pending)
        registry = self._registry
        if self._folder is not None:
            from prometheus_client import multiprocess  # noqa: PLC0415  heavy library, loaded on first use

            registry = self._client.CollectorRegistry()
            collector: Any = multiprocess.MultiProcessCollector
            collector(registry, path=str(self._folder))
        found: bytes = self._client.generate_latest(registry)
        return found


@cache
def explorer() -> Mapping[str, tuple[bytes, str]]:
    """Give the files of the explorer with their types, by their paths; those of reports with them.

    The page is at `/explore`, everything else beneath.
    """
    found = {one.name: one.read_bytes() for one in (files(__package__) / "explore").iterdir()}
    page = found.pop("explore.html")
    found |= {name: text.encode() for name, text in report_scripts().items()}
    found["explore.css"] = page_style().encode() + found["explore.css"]
    paths = {"/explore": (page, "text/html")}
    return paths | {
        f"/explore/{name}": (content, _KINDS[Path(name).suffix]) for name, content in found.items()
    }


def metrics(folder: Path | None = None) -> Metrics | None:
    """Give what counts, where the extra `metrics` is installed."""
    if folder is not None:
        # The package looks at it once, when it is loaded.
        os.environ.update(PROMETHEUS_MULTIPROC_DIR=str(folder))
    try:
        import prometheus_client  # noqa: PLC0415  heavy library, loaded on first use
    except ImportError:
        return None
    return Metrics(prometheus_client, folder)


class Application:
    """One project for many callers. `tell` writes a line of the log for each request."""

    def __init__(
        self,
        service: Service,
        access: Access,
        bounds: Bounds | None = None,
        tell: Callable[[str], None] | None = None,
        peers: Peers | None = None,
    ) -> None:
        self._service = service
        self._access = access
        self._bounds = bounds or Bounds()
        self._tell = tell or _to_stderr
        self._pending = 0
        self._peers = peers
        self._turns: Turns | SharedTurns = Turns(self._bounds)
        if peers is not None:
            self._turns = SharedTurns(self._bounds, peers.folder / "turns")
        self._validators: dict[str, Validator] = {}
        self._keys: dict[_Key, asyncio.Lock] = {}
        self._answered: OrderedDict[_Key, tuple[str, JsonObject]] = OrderedDict()
        self._metrics = metrics(None if peers is None else peers.folder)

    def asgi(self) -> Starlette:
        """Give what a server runs; the service is closed when it ends."""

        @asynccontextmanager
        async def lifespan(_: Starlette) -> AsyncIterator[None]:
            async with AsyncExitStack() as open_ones:
                await open_ones.enter_async_context(self._service)
                if self._peers is not None:
                    answered = await self._peers.serve(self._asked_by_peer)
                    open_ones.callback(answered.close)
                yield

        routes = [
            Route("/healthz", self._telling("healthz", self._healthy), methods=["GET"]),
            Route("/readyz", self._telling("readyz", self._ready), methods=["GET"]),
            Route("/openapi.json", self._telling("openapi", self._document), methods=["GET"]),
            *(
                Route(path, self._telling("explore", partial(self._page, path)), methods=["GET"])
                for path in explorer()
            ),
            Route(
                "/v1/certificates/{identity}",
                self._answering("certificate", "viewer", self._certificate),
                methods=["GET"],
            ),
        ]
        for one in operations():
            work = self._answering(one.name, one.role, self._operating(one))
            routes.append(Route(one.path, work, methods=["POST"]))
        rows = self._answering(ROWS.name, ROWS.role, self._rows)
        routes.append(Route(ROWS.path, rows, methods=["POST"]))
        routes.append(Route("/metrics", self._answering("metrics", "viewer", self._figures)))
        graph = self._answering("graphql", "", self._graphql)
        routes.append(Route("/graphql", graph, methods=["POST"]))
        application = Starlette(
            routes=routes,
            lifespan=lifespan,
            exception_handlers={HTTPException: self._unrouted},
        )
        # An address in an answer would be made of what the request calls this server.
        application.router.redirect_slashes = False
        return application

    @staticmethod
    async def _healthy(_: Request) -> Response:
        return _json({"status": "ok"})

    async def _ready(self, _: Request) -> Response:
        try:
            # Without the sources that the rules name no goal over them is answered.
            await self._service.run(lambda session: session.externals)
        except Refused:
            # What is wrong is told to who has a token.
            return _json({"status": "not ready"}, 503)
        return _json({"status": "ready"})

    @staticmethod
    async def _document(_: Request) -> Response:
        return _json(openapi())

    async def _page(self, path: str, request: Request) -> Response:
        """Give a file of the explorer: it says nothing of the project, and needs no token."""
        try:
            self._check_place(request)
        except _Refusal as problem:
            return _refused(problem)
        content, kind = explorer()[path]
        return Response(content, headers=_PAGE_HEADERS, media_type=kind)

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

    def _told(
        self, who: str, name: str, response: Response, started: float, asked: Sequence[str] = ()
    ) -> None:
        seconds = time.monotonic() - started
        identity = secrets.token_hex(8)
        response.headers["Request-Id"] = identity
        if self._metrics is not None:
            self._metrics.count(name, response.status_code, seconds)
        told = {"at": now(), "id": identity, "who": who, "operation": name}
        fields = {"asked": list(asked)} if asked else {}
        status = {"status": response.status_code, "seconds": round(seconds, 3)}
        self._tell(json.dumps({**told, **fields, **status}))

    async def _certificate(self, request: Request, caller: Caller) -> Response:
        """Give the bytes as they are: what a checker accepts is these and no others."""
        reference = f"certificate/{request.path_params['identity']}"
        service = await self._holding(caller, {"certificate": reference})
        content = service.read(reference)
        return Response(content, media_type="application/json", headers=dict(_HEADERS))

    def _operating(self, one: Operation) -> Callable[[Request, Caller], Awaitable[Response]]:
        async def work(request: Request, caller: Caller) -> Response:
            async with self._place():
                given = await _read_body(request)
                if not one.changes:
                    return _json(await self._bounded(request, self._perform(one, caller, given)))
                return _json(await self._once(request, one, caller, given))

        return work

    async def _once(
        self, request: Request, one: Operation, caller: Caller, given: dict[str, Any]
    ) -> JsonObject:
        """Do an operation; a request with a key that was answered gets the same answer again."""
        key = request.headers.get("idempotency-key")
        if key is None:
            return await self._bounded(request, self._perform(one, caller, given))
        if not 1 <= len(key) <= _LONGEST_KEY:
            raise _Refusal(400, f"an Idempotency-Key has 1 to {_LONGEST_KEY} characters")
        # Who may not any more gets no answer of before, either.
        self._check(one, caller, given)
        if self._peers is not None:
            owner = self._peers.of(caller.name, one.name, key)
            if owner != self._peers.number:
                return await self._bounded(request, self._by_peer(owner, one, caller, given, key))
        return await self._bounded(request, self._once_here(one, caller, given, key))

    async def _once_here(
        self, one: Operation, caller: Caller, given: dict[str, Any], key: str
    ) -> JsonObject:
        """Do an operation, unless it was done under this key.

        Whose role is another by now has made another request: what was answered is not theirs.
        """
        asked = json.dumps([given, caller.role, caller.model], sort_keys=True)
        digest = hashlib.sha256(asked.encode()).hexdigest()
        place = (caller.name, one.name, key)
        lock = self._keys.setdefault(place, asyncio.Lock())
        while len(self._keys) > _MOST_KEYS:
            del self._keys[next(iter(self._keys))]
        async with lock:
            if place in self._answered:
                before, answer = self._answered[place]
                if before != digest:
                    raise _Refusal(409, "this Idempotency-Key was given for another request")
                return answer
            answer = await self._perform(one, caller, given)
            self._answered[place] = (digest, answer)
            while len(self._answered) > _MOST_KEYS:
                self._answered.popitem(last=False)
            return answer

    async def _rows(self, request: Request, caller: Caller) -> Response:
        """Write all answers of a query: as JSON lines, or as a stream of Arrow."""
        given = await _read_body(request)
        self._check(ROWS, caller, given)
        service = await self._seen(caller)
        async with self._place():
            asked = service.answers(given["query"], check=given.get("check"))
            answers = await self._bounded(request, asked)
        arrow = ARROW in request.headers.get("accept", "")
        pieces = service.arrow_of(answers) if arrow else service.row_lines(answers)
        # What cannot be written is said before the first byte.
        first = await anext(pieces, b"")
        headers = {
            "Constat-Total": str(len(answers)),
            "Constat-Settled": answers.settled.value,
            "Constat-Exit-Code": str(answers.exit_code),
        }
        return _Placed(
            self._following(first, pieces),
            self._taken(),
            media_type=ARROW if arrow else "application/x-ndjson",
            headers={**dict(_HEADERS), **headers},
        )

    async def _following(self, first: bytes, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        """Give pieces as long as a request may take."""
        async with asyncio.timeout(self._bounds.seconds):
            yield first
            async for piece in pieces:
                yield piece

    async def _figures(self, _: Request, __: Caller) -> Response:
        """Give figures for Prometheus."""
        if self._metrics is None:
            raise _Refusal(404, "the package prometheus-client is not installed: constat[metrics]")
        headers = {**dict(_HEADERS), "Content-Type": self._metrics.kind}
        return Response(self._metrics.text(self._pending), headers=headers)

    async def _perform(self, one: Operation, caller: Caller, given: dict[str, Any]) -> JsonObject:
        """Do an operation for a caller who may; raises `_Refusal` and `Refused`."""
        self._check(one, caller, given)
        owner = self._owner(given)
        if owner is not None:
            return await self._by_peer(owner, one, caller, given)
        return await one.work(await self._holding(caller, given), caller, given)

    # What several processes of one server do for each other.

    def _owner(self, given: dict[str, Any]) -> int | None:
        """Give which other process has the answers of a cursor; nothing where it is this one."""
        number, mark, _ = str(given.get("cursor", "")).partition(_OF)
        if self._peers is None or not mark or not (number.isascii() and number.isdigit()):
            return None
        found = int(number)
        return found if found in self._peers.others else None

    async def _by_peer(
        self, number: int, one: Operation, caller: Caller, given: dict[str, Any], key: str = ""
    ) -> JsonObject:
        """Have another process do an operation; raises `_Refusal` as it did."""
        told = {"ask": one.name, "caller": asdict(caller), "given": given, "key": key}
        try:
            answer = await self._ask_peer(number, told)
        except PeerGoneError:
            raise _Refusal(503, "a process of the server is begun anew", Retry_After="1") from None
        if (status := answer["status"]) != _DONE:
            problem = _Refusal(status, "")
            problem.answer = answer["answer"]
            raise problem
        found: JsonObject = answer["answer"]
        return found

    async def _ask_peer(self, number: int, told: dict[str, Any]) -> dict[str, Any]:
        if self._peers is None:
            raise PeerGoneError
        found: dict[str, Any] = await self._peers.ask(number, told, self._bounds.seconds)
        return found

    async def _asked_by_peer(self, told: dict[str, Any]) -> JsonObject | None:
        """Answer another process, which has looked at who asks."""
        caller = Caller(**told["caller"])
        if "reference" in told:
            service = await self._seen(caller)
            content = service.kept(told["reference"])
            return None if content is None else {"content": content}
        one = next(one for one in operations() if one.name == told["ask"])
        given, key = told["given"], told["key"]
        work = (
            self._once_here(one, caller, given, key) if key else self._perform(one, caller, given)
        )
        status, answer = await self._outcome(work)
        return {"status": status, "answer": answer}

    async def _outcome(self, work: Awaitable[JsonObject]) -> tuple[int, JsonObject]:
        try:
            return _DONE, await work
        except _Refusal as problem:
            return problem.status, problem.answer
        except Refused as problem:
            return _status_of(problem), problem.answer
        except Exception as problem:  # noqa: BLE001  what nobody foresaw is told to the operator alone
            unforeseen = self._unforeseen(problem)
            return unforeseen.status, unforeseen.answer

    async def _holding(self, caller: Caller, given: dict[str, Any]) -> Service:
        """Give the service of a caller, with what they refer to, whichever process has made it."""
        service = await self._seen(caller)
        if self._peers is not None:
            for name in _REFERRING:
                reference = str(given.get(name, "")).strip()
                if not 0 < len(reference) <= _LONGEST_REFERENCE:
                    continue
                if service.kept(reference) is None:
                    told = {"reference": reference, "caller": asdict(caller)}
                    found = await self._peers.first(told)
                    if found is not None:
                        service.keep(reference, found["content"])
        return service

    async def _seen(self, caller: Caller) -> Service:
        return await self._service.as_seen(caller.role, caller.name)

    def _check(self, one: Operation, caller: Caller, given: dict[str, Any]) -> None:
        """Raise `_Refusal` where the caller may not, or the body does not fit."""
        _check_may(one, caller)
        validator = self._validators.get(one.name)
        if validator is None:
            from jsonschema_rs import validator_for  # noqa: PLC0415  heavy library, loaded on first use

            validator = self._validators[one.name] = validator_for(one.body)
        if (problem := next(iter(validator.iter_errors(given)), None)) is not None:
            place = "/".join(map(str, problem.instance_path)) or "the body"
            # What the request holds is not repeated.
            message = f"{place} does not fit the schema of {one.name} (see /openapi.json)"
            raise _Refusal(400, message[:400] + _wanted(one, problem))

    # GraphQL.

    async def _graphql(self, request: Request, caller: Caller) -> Response:
        """Answer a document: with JSON, or event by event where that is accepted."""
        from constat.server import graph  # noqa: PLC0415  loaded when it is used

        given = graph.read_document(await _read_body(request))
        if given is None:
            raise _Refusal(400, "the body has to have a `query`, and may have `variables`")
        asked = request.scope[_ASKED] = []
        context = graph.Context(
            partial(self._field, caller), partial(self._followed, caller), asked
        )
        if "text/event-stream" in request.headers.get("accept", ""):
            events = self._streamed(graph.events_of(given, context))
            headers = {**dict(_HEADERS), "X-Accel-Buffering": "no"}
            kind = "text/event-stream"
            return _Placed(events, self._taken(), media_type=kind, headers=headers)
        async with self._place():
            return _json(await self._bounded(request, graph.result_of(given, context)))

    async def _streamed(self, events: AsyncIterator[str]) -> AsyncIterator[str]:
        """Give events as long as a request may take."""
        async with asyncio.timeout(self._bounds.seconds):
            async for event in events:
                yield event

    async def _field(self, caller: Caller, one: Operation, given: dict[str, Any]) -> JsonObject:
        """Do an operation for a field."""
        return await self._told_of(caller, lambda: self._perform(one, caller, given))

    async def _told_of(
        self, caller: Caller, work: Callable[[], Awaitable[JsonObject]]
    ) -> JsonObject:
        """Take a turn and do some work; what is wrong becomes an error of the result."""
        from graphql import GraphQLError  # noqa: PLC0415  heavy library, loaded on first use

        try:
            self._take_turn(caller)
            return await work()
        except (_Refusal, Refused) as problem:
            answer = problem.answer
        except Exception as problem:  # noqa: BLE001  what nobody foresaw is told to the operator alone
            answer = self._unforeseen(problem).answer
        errors: Any = answer["error"]
        first = errors[0]
        raise GraphQLError(
            str(first["message"]), extensions={"code": first["code"], "error": errors}
        )

    async def _followed(
        self, caller: Caller, one: Operation, given: dict[str, Any]
    ) -> AsyncIterator[dict[str, Any]]:
        """Do an operation; tell what happens meanwhile, and what comes of it at last."""
        loop = asyncio.get_running_loop()
        events: asyncio.Queue[str] = asyncio.Queue(_EVENTS)

        def put(shown: str) -> None:
            if not events.full():
                events.put_nowait(shown)

        def observe(event: Event) -> None:
            if shown := what_happens(event):
                loop.call_soon_threadsafe(put, shown)

        async def work() -> JsonObject:
            self._check(one, caller, given)
            if one.follow is None:
                raise _Refusal(400, "nothing is told of this meanwhile")
            return await one.follow(await self._holding(caller, given), caller, given, observe)

        doing = asyncio.ensure_future(self._told_of(caller, work))
        try:
            while not doing.done() or not events.empty():
                told = asyncio.ensure_future(events.get())
                await asyncio.wait({told, doing}, return_when=asyncio.FIRST_COMPLETED)
                if told.done():
                    yield {"message": told.result(), "result": None}
                else:
                    told.cancel()
            yield {"message": "done", "result": await doing}
        finally:
            doing.cancel()

    @asynccontextmanager
    async def _place(self) -> AsyncIterator[None]:
        """Take one of the places for requests at once."""
        give_back = self._taken()
        try:
            yield
        finally:
            give_back()

    def _taken(self) -> Callable[[], None]:
        """Take a place, and give what gives it back; raises `_Refusal` where there is none."""
        if self._pending >= self._bounds.pending:
            raise _Refusal(503, "too many requests at once", Retry_After="1")
        self._pending += 1

        def give_back() -> None:
            self._pending -= 1

        return give_back

    def _answering(
        self, name: str, role: str, work: Callable[[Request, Caller], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Let in who may, within the bounds, and give every failure a form that tells nothing."""

        async def answer(request: Request) -> Response:
            made_by = spans.tracer()
            if made_by is None:
                return await plain(request)
            told = {"http.request.method": request.method, "constat.operation": name}
            with spans.span(made_by, f"{request.method} {name}", told, request.headers) as made:
                response = await plain(request)
                made.set_attribute("http.response.status_code", response.status_code)
                made.set_attribute("constat.request", response.headers["Request-Id"])
                if response.status_code >= _FAILED:
                    spans.fail(made, str(response.status_code))
                return response

        async def plain(request: Request) -> Response:
            started, who = time.monotonic(), "-"
            try:
                self._check_place(request)
                caller = await self._caller(request)
                who = caller.name
                self._let_in(caller, role)
                response = await work(request, caller)
            except _Refusal as problem:
                response = _refused(problem)
            except Refused as problem:
                response = _json(problem.answer, _status_of(problem))
            except ClientDisconnect:
                response = Response(status_code=499)
            except asyncio.CancelledError:
                # The server ends, and has waited as long as it does.
                response = _refused(_Refusal(503, "the server ends", Retry_After="5"))
            except Exception as problem:  # noqa: BLE001  what nobody foresaw is told to the operator alone
                response = _refused(self._unforeseen(problem))
            self._told(who, name, response, started, request.scope.get(_ASKED, ()))
            return response

        return answer

    def _check_place(self, request: Request) -> None:
        """Refuse pages of a browser that are none of this server's."""
        host = request.headers.get("host", "")
        if self._access.hosts and host not in self._access.hosts:
            raise _Refusal(421, "this server has another name")
        if {"content-length", "transfer-encoding"} <= set(request.headers):
            # Who stands in between may see another end of this request, and so another one behind.
            raise _Refusal(400, "the length of a request is said in one way", Connection="close")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise _Refusal(403, "pages of other places may not ask")

    async def _caller(self, request: Request) -> Caller:
        several = request.headers.getlist("authorization")
        shown = several[0] if len(several) == 1 else ""
        how = 'Bearer error="invalid_token"'
        try:
            if self._access.issuer is None:
                caller = self._access.caller(shown)
            else:
                caller = await asyncio.to_thread(self._access.caller, shown)
        except DeniedError as problem:
            raise _Refusal(problem.status, str(problem), WWW_Authenticate=how) from None
        if caller is None and shown.lower().startswith("bearer "):
            raise _Refusal(401, "nobody has this token", WWW_Authenticate=how)
        if caller is None:
            raise _Refusal(401, "a bearer token is needed", WWW_Authenticate="Bearer")
        return caller

    def _let_in(self, caller: Caller, role: str) -> None:
        self._take_turn(caller)
        if role and not caller.may(role):
            raise _Refusal(403, f"the role {role} is needed")

    def _take_turn(self, caller: Caller) -> None:
        if not self._turns.take(caller.name):
            raise _Refusal(429, "too many requests", Retry_After="1")

    async def _bounded(self, request: Request, work: Awaitable[Found]) -> Found:
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


def _status_of(problem: Refused) -> int:
    codes = {one["code"] for one in problem.answer["error"]}  # type: ignore[attr-defined]  # objects
    return _STATUS_OF.get(min(codes), 400)


def _wanted(one: Operation, problem: ValidationError) -> str:
    """Name the members that a body may have, or has to have, where that is what is wrong."""
    broken = str(list(problem.schema_path)[-1])
    if problem.instance_path or broken not in {"additionalProperties", "required"}:
        return ""
    verb, members = ("needs", "required") if broken == "required" else ("takes", "properties")
    return f": it {verb} {', '.join(one.body.get(members, ())) or 'nothing'}"


def _check_may(one: Operation, caller: Caller) -> None:
    """Raise `_Refusal` where an operation is not for this caller."""
    if not caller.may(one.role):
        raise _Refusal(403, f"the role {one.role} is needed")
    if one.asks == PERSON and caller.model:
        raise _Refusal(403, "this is a person's word, and the token is that of a program")
    if one.asks == TOKEN and not caller.person:
        raise _Refusal(403, "this is a person's word, which takes the token of a person")


async def _read_body(request: Request) -> dict[str, Any]:
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await _body(request)
    except TimeoutError:
        raise _Refusal(408, "the body did not come to its end") from None


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
        if len(content) > MOST_BODY:
            raise _Refusal(413, f"the body is longer than {MOST_BODY:,} bytes")
    try:
        given = json.loads(content or b"{}", parse_float=_number, object_pairs_hook=members_once)
        # Half a surrogate pair is no character, and could be written nowhere.
        json.dumps(given, ensure_ascii=False).encode()
    except (ValueError, RecursionError):
        raise _Refusal(400, "the body is no JSON, or has a name twice") from None
    if not isinstance(given, dict):
        raise _Refusal(400, "the body has to be a JSON object")
    return given


def _json(answer: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    content = json.dumps(answer, default=str, ensure_ascii=False, allow_nan=False).encode()
    told = {**dict(_HEADERS), **(headers or {})}
    return Response(content, status, headers=told, media_type="application/json")


def _refused(problem: _Refusal) -> Response:
    return _json(problem.answer, problem.status, problem.headers)


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()
