"""Real servers on the loopback interface: applications of Starlette, run by uvicorn in a thread."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping


@dataclass
class Seen:
    """What a server was asked: method, path with its query, headers."""

    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)

    @property
    def paths(self) -> list[str]:
        return [path for _, path, _ in self.requests]


@dataclass
class Served:
    """A server that runs."""

    url: str
    seen: Seen
    state: dict[str, Any]


@contextmanager
def serving(
    routes: Mapping[str, Callable[[Request, dict[str, Any]], Awaitable[Response]]],
) -> Iterator[Served]:
    """Run an application; each route is called with the request and a state of its own."""
    seen, state = Seen(), dict[str, Any]()

    def endpoint(
        call: Callable[[Request, dict[str, Any]], Awaitable[Response]],
    ) -> Callable[[Request], Awaitable[Response]]:
        async def answer(request: Request) -> Response:
            query = f"?{request.url.query}" if request.url.query else ""
            seen.requests.append((request.method, request.url.path + query, dict(request.headers)))
            return await call(request, state)

        return answer

    listed = [Route(path, endpoint(call), methods=["GET", "POST"]) for path, call in routes.items()]
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    config = uvicorn.Config(
        Starlette(routes=listed), log_level="critical", lifespan="off", timeout_keep_alive=30
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    until = time.monotonic() + 10
    while not server.started and time.monotonic() < until:
        time.sleep(0.01)
    state["url"] = url = f"http://127.0.0.1:{listener.getsockname()[1]}"
    try:
        yield Served(url, seen, state)
    finally:
        server.should_exit = server.force_exit = True
        thread.join(10)
        listener.close()


__all__ = [
    "JSONResponse",
    "PlainTextResponse",
    "RedirectResponse",
    "Request",
    "Response",
    "Served",
    "serving",
]
