from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

import pytest
from starlette.responses import StreamingResponse

from constat.apis import ApiError, Asking, Transport, is_allowed, until_of
from constat.apis.transport import check_status
from constat.project.apis import ApiSetting
from tests.apis.servers import (
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Request,
    Response,
    Served,
    serving,
)

Read = Callable[[str], ApiSetting]
State = dict[str, Any]


async def ok(request: Request, state: State) -> Response:
    return JSONResponse({"host": request.headers["host"], "who": request.headers.get("x-key")})


async def away(request: Request, state: State) -> Response:
    return RedirectResponse("http://elsewhere.example/x")


async def other_port(request: Request, state: State) -> Response:
    return RedirectResponse("http://127.0.0.1:9/x")


async def within(request: Request, state: State) -> Response:
    return RedirectResponse("/ok")


async def circle(request: Request, state: State) -> Response:
    return RedirectResponse("/circle")


async def huge(request: Request, state: State) -> Response:
    async def body() -> AsyncIterator[bytes]:
        for _ in range(1 << 14):
            yield b"x" * (1 << 16)
            await asyncio.sleep(0)  # else nobody else is served until all of it is written

    return StreamingResponse(body(), media_type="application/json")


async def promised(request: Request, state: State) -> Response:
    return Response(b"x", headers={"content-length": str(1 << 30)}, media_type="application/json")


async def dripping(request: Request, state: State) -> Response:
    async def body() -> AsyncIterator[bytes]:
        while True:
            yield b" "
            await asyncio.sleep(0.05)

    return StreamingResponse(body(), media_type="application/json")


async def hanging(request: Request, state: State) -> Response:
    await asyncio.sleep(30)
    return PlainTextResponse("late")


async def compressed(request: Request, state: State) -> Response:
    return Response(gzip.compress(b"{}" * 9), headers={"content-encoding": "gzip"})


async def flaky(request: Request, state: State) -> Response:
    state["tries"] = state.get("tries", 0) + 1
    if state["tries"] < 3:
        return PlainTextResponse("no", 503, headers={"retry-after": "0"})
    return JSONResponse({})


async def busy(request: Request, state: State) -> Response:
    return PlainTextResponse("no", 429, headers={"retry-after": "3600"})


async def token(request: Request, state: State) -> Response:
    state["given"] = state.get("given", 0) + 1
    body = (await request.body()).decode()
    known = request.headers["authorization"] == "Basic aWQ6aHVzaA==" and "client_cred" in body
    said = {"access_token": f"t{state['given']}", "expires_in": 3600}
    return JSONResponse(said if known else {}, 200 if known else 401)


async def guarded(request: Request, state: State) -> Response:
    allowed = request.headers.get("authorization") == f"Bearer {state.get('right', 't1')}"
    return JSONResponse({}, 200 if allowed else 401)


@pytest.fixture(scope="module")
def server() -> Iterator[Served]:
    routes = {
        "/ok": ok,
        "/away": away,
        "/port": other_port,
        "/within": within,
        "/circle": circle,
        "/huge": huge,
        "/promised": promised,
        "/dripping": dripping,
        "/hanging": hanging,
        "/compressed": compressed,
        "/flaky": flaky,
        "/busy": busy,
        "/token": token,
        "/guarded": guarded,
    }
    with serving(routes) as found:
        yield found


@pytest.fixture
def transport(setting: Read) -> Iterator[Callable[[str], Transport]]:
    made: list[Transport] = []

    def make(more: str = "") -> Transport:
        first = "" if "retries" in more else "retries: 0\n"
        made.append(Transport(setting(f"spec_file: a\nprivate: true\n{first}{more}")))
        return made[-1]

    yield make
    for one in made:
        one.close()


def failure(transport: Transport, url: str, seconds: float = 5.0) -> ApiError:
    with pytest.raises(ApiError) as caught:
        check_status(transport.fetch(Asking("GET", url), until_of(seconds)))
    return caught.value


def test_the_name_of_the_host_is_sent_though_the_address_is_connected_to(
    transport: Callable[[str], Transport], server: Served
) -> None:
    url = server.url.replace("127.0.0.1", "localhost")
    reply = transport("").fetch(Asking("GET", f"{url}/ok"), until_of(5))
    assert reply.status == 200
    assert b'"host":"localhost:' in reply.body


def test_private_addresses_are_refused_unless_they_are_allowed(
    setting: Read, server: Served
) -> None:
    before = len(server.seen.requests)
    problem = failure(Transport(setting("spec_file: a")), f"{server.url}/ok")
    assert problem.code == "C0575"
    assert "`private: true`" in problem.reason
    assert len(server.seen.requests) == before


@pytest.mark.parametrize(
    ("address", "public", "private"),
    [
        ("93.184.216.34", True, True),
        ("127.0.0.1", False, True),
        ("10.0.0.7", False, True),
        ("192.168.1.1", False, True),
        ("169.254.169.254", False, False),
        ("0.0.0.0", False, False),  # noqa: S104  nothing is bound to it
        ("224.0.0.1", False, False),
        ("::1", False, True),
        ("fe80::1%eth0", False, False),
        ("fd00::1", False, True),
        ("::ffff:169.254.169.254", False, False),
        ("::ffff:127.0.0.1", False, True),
        ("64:ff9b::7f00:1", False, True),
        ("64:ff9b::a9fe:a9fe", False, False),
        ("2002:7f00:1::", False, True),
        ("2606:2800:220:1:248:1893:25c8:1946", True, True),
        ("100.64.0.1", False, False),
    ],
)
def test_which_addresses_are_connected_to(address: str, *, public: bool, private: bool) -> None:
    assert is_allowed(address, private=False) is public
    assert is_allowed(address, private=True) is private


def test_redirects_stay_within_the_origin(
    transport: Callable[[str], Transport], server: Served
) -> None:
    one = transport("")
    assert one.fetch(Asking("GET", f"{server.url}/within"), until_of(5)).status == 200
    for path in ("away", "port", "circle"):
        assert failure(one, f"{server.url}/{path}").code == "C0575"


@pytest.mark.parametrize("path", ["huge", "promised"])
def test_a_body_of_a_gigabyte_is_not_read(
    transport: Callable[[str], Transport], server: Served, path: str
) -> None:
    problem = failure(transport("bytes: 100000"), f"{server.url}/{path}")
    assert problem.code == "C0576"
    assert "`bytes` allows more" in problem.reason


@pytest.mark.parametrize("path", ["dripping", "hanging"])
def test_a_request_ends_at_its_time(
    transport: Callable[[str], Transport], server: Served, path: str
) -> None:
    problem = failure(transport("seconds: 0.4"), f"{server.url}/{path}")
    assert problem.code == "C0574"


@pytest.mark.parametrize("retries", [0, 2])
def test_another_thread_ends_a_request_which_is_not_sent_again(
    transport: Callable[[str], Transport], server: Served, retries: int
) -> None:
    one = transport(f"retries: {retries}")
    server.seen.requests.clear()
    timer = threading.Timer(0.3, one.cancel)
    timer.start()
    assert "stopped" in failure(one, f"{server.url}/hanging", seconds=20).reason
    # Who asks after that asks nobody, until an evaluation begins.
    assert "stopped" in failure(one, f"{server.url}/ok", seconds=20).reason
    assert server.seen.paths in (["/hanging"], [])
    one.restart()
    assert one.fetch(Asking("GET", f"{server.url}/ok"), until_of(5)).status == 200


def test_what_connects_while_it_is_stopped_is_ended(
    transport: Callable[[str], Transport], server: Served
) -> None:
    one, note = transport(""), Transport._note_socket

    def noted(event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            one._stopped = True
        note(one, event, info)

    one._note_socket = noted  # type: ignore[method-assign]  # stands where a thread would be
    server.seen.requests.clear()
    assert "stopped" in failure(one, f"{server.url}/hanging").reason
    assert server.seen.paths == []


def test_what_is_compressed_is_refused(
    transport: Callable[[str], Transport], server: Served
) -> None:
    assert failure(transport(""), f"{server.url}/compressed").code == "C0576"


def test_a_server_that_asks_to_wait_is_asked_again(setting: Read, server: Served) -> None:
    one = Transport(setting("spec_file: a\nprivate: true\nretries: 2"))
    assert one.fetch(Asking("GET", f"{server.url}/flaky"), until_of(10)).status == 200
    assert server.state["tries"] == 3
    problem = failure(one, f"{server.url}/busy")
    assert problem.status == 429
    assert "3600 s" in problem.reason
    one.close()


def test_nothing_listens_there(transport: Callable[[str], Transport]) -> None:
    assert failure(transport(""), "http://127.0.0.1:9/").code == "C0574"


def test_a_token_is_asked_for_once_and_again_when_it_is_refused(
    setting: Read, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "hush")
    whose = "client_id: id, client_secret: '${SECRET}'"
    auth = f"{{type: oauth, token_url: '{server.url}/token', {whose}}}"
    one = Transport(setting(f"spec_file: a\nprivate: true\nauth: {auth}"))
    for _ in range(2):
        assert one.fetch(Asking("GET", f"{server.url}/guarded"), until_of(5)).status == 200
    assert server.state["given"] == 1
    server.state["right"] = "t2"
    assert one.fetch(Asking("GET", f"{server.url}/guarded"), until_of(5)).status == 200
    assert server.state["given"] == 2
    assert set(one.secrets()) >= {"hush", "t2"}
    one.close()


@pytest.mark.parametrize(
    ("auth", "header", "value"),
    [
        ("{token: '${KEY}'}", "authorization", "Bearer hush"),
        ("{type: basic, user: a, password: '${KEY}'}", "authorization", "Basic YTpodXNo"),
        ("{type: header, name: X-Key, value: '${KEY}'}", "x-key", "hush"),
    ],
)
def test_who_asks_is_said_in_a_header(
    setting: Read,
    server: Served,
    monkeypatch: pytest.MonkeyPatch,
    auth: str,
    header: str,
    value: str,
) -> None:
    monkeypatch.setenv("KEY", "hush")
    one = Transport(setting(f"spec_file: a\nprivate: true\nauth: {auth}"))
    asking = Asking("GET", f"{server.url}/ok")
    one.fetch(asking, until_of(5))
    assert server.seen.requests[-1][2][header] == value
    one.fetch(Asking("GET", f"{server.url}/ok", keyed=False), until_of(5))
    assert header not in server.seen.requests[-1][2]
    one.close()


def test_a_key_in_the_address_is_no_part_of_what_was_asked(
    setting: Read, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY", "hush")
    auth = "{type: query, name: key, value: '${KEY}'}"
    one = Transport(setting(f"spec_file: a\nprivate: true\nauth: {auth}"))
    asking = Asking("GET", f"{server.url}/ok")
    before = asking.digest()
    one.fetch(asking, until_of(5))
    assert server.seen.paths[-1] == "/ok?key=hush"
    assert asking.digest() == before
    one.close()


def test_a_rate_is_kept_and_requests_are_counted(setting: Read, server: Served) -> None:
    limited = Transport(setting("spec_file: a\nprivate: true\nrate: 2/h"))
    counted = Transport(setting("spec_file: a\nprivate: true\nrequests: 2"))
    for one, word in ((limited, "`rate`"), (counted, "`requests`")):
        for _ in range(2):
            one.fetch(Asking("GET", f"{server.url}/ok"), until_of(20))
        problem = failure(one, f"{server.url}/ok")
        assert problem.code == "C0578"
        assert word in problem.reason
    counted.restart()
    counted.fetch(Asking("GET", f"{server.url}/ok"), until_of(20))
    counted.close()
    limited.close()


def test_a_name_is_resolved_once_and_what_it_is_later_changes_nothing(
    setting: Read, server: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, asked = socket.getaddrinfo, list[str]()

    def rebinding(host: str, *rest: object, **more: object) -> object:
        asked.append(host)
        first = asked.count("localhost") == 1
        there = "127.0.0.1" if host != "localhost" or first else "10.0.0.1"
        return real(there, *rest, **more)  # type: ignore[arg-type]

    monkeypatch.setattr("constat.apis.transport.socket.getaddrinfo", rebinding)
    one = Transport(setting("spec_file: a\nprivate: true"))
    url = server.url.replace("127.0.0.1", "localhost")
    for _ in range(3):
        one.fetch(Asking("GET", f"{url}/ok"), until_of(5))
    assert asked.count("localhost") == 1
    one.close()
