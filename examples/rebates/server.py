"""A list of who is blocked, as an API: `python server.py` serves it on this machine, at port 8643.

It is written with Starlette, of the extra `server`: `pip install 'constat[server]'`.
"""

from __future__ import annotations

import socket
import sys
from typing import TYPE_CHECKING, Final

import uvicorn
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.requests import Request

PAGE: Final = 100
BLOCKED: Final = {
    "C002": {"customer": "C002", "reason": "invoices are open", "since": "2026-01-09"},
    "C118": {"customer": "C118", "reason": "sanctions", "since": "2025-06-30"},
}


def application(blocked: Mapping[str, Mapping[str, str]]) -> Starlette:
    """Serve these entries, one by one and in pages."""
    ordered = [blocked[name] for name in sorted(blocked)]

    async def entries(request: Request) -> JSONResponse:
        start = int(request.query_params.get("cursor", "0"))
        end = start + PAGE
        following = str(end) if end < len(ordered) else None
        return JSONResponse({"entries": ordered[start:end], "next": following})

    async def entry(request: Request) -> JSONResponse:
        found = blocked.get(request.path_params["customer"])
        return JSONResponse(found or {"error": "not found"}, 200 if found else 404)

    return Starlette(routes=[Route("/entries", entries), Route("/entries/{customer}", entry)])


if __name__ == "__main__":
    port = int(sys.argv[1]) if len(sys.argv) > 1 else 8643
    with socket.create_server(("127.0.0.1", port)) as listener:
        print(f"http://127.0.0.1:{listener.getsockname()[1]}", flush=True)
        config = uvicorn.Config(application(BLOCKED), log_level="critical", lifespan="off")
        uvicorn.Server(config).run(sockets=[listener])
