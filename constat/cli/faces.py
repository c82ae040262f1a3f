"""`constat mcp` and `constat serve`: a project for agents and for other programs."""

from __future__ import annotations

import getpass
import ipaddress
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from constat.cli.groups import PlainCommand
from constat.cli.options import project_option
from constat.cli.output import note, write, write_json
from constat.diagnostics import ConstatError, Diagnostic
from constat.project import find_project, load_project

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType

    from constat.project.settings import LoginSetting
    from constat.server.workers import Peers
    from constat.service import Access

_PORT = 8377
_SERVER_PORT = 8378


@click.command(name="mcp", cls=PlainCommand)
@click.option("--http", is_flag=True, help="Serve streamable HTTP on loopback, not stdio.")
@click.option(
    "--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="With --http."
)
@click.option(
    "--port",
    metavar="N",
    type=click.IntRange(1, 65_535),
    default=_PORT,
    show_default=True,
    help="With --http: at this port, under /mcp.",
)
@click.option("--by", metavar="NAME", default="", help="Who asks; by default you.")
@click.option("--tokens", metavar="FILE", help="With --http: who may come in, as for serve.")
@project_option
def mcp_command(
    *, http: bool, host: str, port: int, by: str, tokens: str | None, project: str | None
) -> int:
    """Serve a project to agents, by the Model Context Protocol.

    Tools: prove, ask, query, why_not, what_if, missing, verify, read_on, provide_facts,
    draft_rules, list_rules, search_catalog, get_schema, recall, and memory_save, _search, _open,
    _why. Resources: certificates, rules, tables. What tools answer goes to the agent, and so to its
    model's provider. The agent approves nothing: its rules lie in the quarantine (`constat rules
    review`), and facts are kept only once the person behind it has said yes.

    Over stdio the client starts this command and ends it; with --http only this machine connects,
    unless --tokens says who may: then each request has a bearer token, and who shows it asks, with
    the rights of its role. Needs the extra: pip install 'constat[mcp]'

    Example:
      constat mcp --by alice < /dev/null

    Exit codes: 0 the client has gone, 2 bad usage, 130 interrupted.
    """
    login = _login(project) if http else None
    _check_host(host, tokens is not None or login is not None or not http)
    if tokens is not None and not http:
        raise click.BadParameter("it needs --http", param_hint="--tokens")
    try:
        from constat.mcp import security_of, server_of  # noqa: PLC0415  loaded when it is used
    except ImportError:
        message = "agents need the package mcp, which is not installed"
        hint = "pip install 'constat[mcp]'"
        raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None
    from constat.service import Service, access_of  # noqa: PLC0415  loaded when it is used

    known = tokens is not None or login is not None
    access = access_of(tokens, host, port, by, login) if known else None
    url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    server = server_of(Service(project, by=by or getpass.getuser()), access, url)
    if http:
        _listening(host, port).close()
        note(f"serving http://{host}:{port}/mcp; Ctrl-C ends it")
        security = security_of(host, port, tokens=access is not None)
        server.run("streamable-http", host=host, port=port, transport_security=security)
    else:
        server.run("stdio")
    return 0


@click.command(name="serve", cls=PlainCommand)
@click.option(
    *("--host", "host"),
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="Where it listens; beyond this machine it needs tokens.",
)
@click.option(
    *("--port", "port"),
    metavar="N",
    type=click.IntRange(1, 65_535),
    default=_SERVER_PORT,
    show_default=True,
    help="At which port.",
)
@click.option(
    *("--workers", "workers"),
    metavar="N",
    type=click.IntRange(1, 64),
    default=1,
    help="Processes that answer.  [default: 1]",
)
@click.option("--tokens", metavar="FILE", help="Who may come in: NAME ROLE sha256:HEX lines.")
@click.option("--new-token", metavar="NAME:ROLE[:model]", help="Add a token; print it.")
@click.option("--openapi", is_flag=True, help="Print the OpenAPI document and end.")
@click.option("--graphql", is_flag=True, help="Print the schema of GraphQL and end.")
@click.option("--by", metavar="NAME", default="", help="Who asks where no token is needed.")
@project_option
def serve_command(  # noqa: PLR0913  one argument for each option
    *,
    host: str,
    port: int,
    workers: int,
    tokens: str | None,
    new_token: str | None,
    openapi: bool,
    graphql: bool,
    by: str,
    project: str | None,
) -> int:
    """Serve a project over HTTP: REST, with an OpenAPI document at /openapi.json, and GraphQL.

    Roles: a viewer asks, an analyst also states facts in their own name and asks in words, an
    approver also decides about drafts of others, an admin also reads the log. NAME:ROLE:model is
    the token of a program that a model drives: it approves and states nothing. Tokens are kept as
    hashes; `login:` in constat.yaml takes those of an issuer of OpenID Connect. Without either
    everybody on this machine is an admin, who approves nothing, and only loopback is served. For
    other machines let a proxy that speaks TLS stand before it. Needs the extra: pip install
    'constat[server]'

    Examples:
      constat serve --openapi
      constat serve --tokens tokens.txt --new-token alice:analyst

    Exit codes: 0 ended, 2 bad usage, 130 interrupted, 143 SIGTERM.
    """
    login = None if openapi or graphql or new_token else _login(project)
    _check_host(host, tokens is not None or login is not None)
    try:
        from constat import server  # noqa: PLC0415  loaded when it is used
    except ImportError:
        message = "a server needs packages that are not installed: starlette, uvicorn, strawberry"
        hint = "pip install 'constat[server]'"
        raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None
    if openapi:
        write_json(server.openapi())
    elif graphql:
        from constat.server.graph import schema_text  # noqa: PLC0415  loaded when it is used

        write(schema_text().rstrip())
    elif new_token is not None:
        write(_added_token(server, tokens, new_token))
    else:
        access = server.access_of(tokens, host, port, by or getpass.getuser(), login)
        listening = _shared(host, port, workers)
        note(f"serving http://{host}:{port}, for people at /explore; Ctrl-C ends it")
        return _served(server, project, access, listening, workers)
    return 0


def _served(
    server: ModuleType,
    project: str | None,
    access: Access,
    listening: Sequence[socket.socket],
    workers: int,
) -> int:
    """Serve with one process, or with several, which end together."""
    if workers == 1:
        server.run(project, access, listening[0])
        return 0
    if not hasattr(os, "fork"):
        message = "this system begins no process as a copy of another, so one answers alone"
        raise click.BadParameter(message, param_hint="--workers")
    from constat.server.workers import Workers  # noqa: PLC0415  loaded when it is used

    def work(peers: Peers) -> None:
        server.run(project, access, listening[peers.number], peers)

    return Workers(workers).run(work)


def _login(project: str | None) -> LoginSetting | None:
    """Give whose tokens let somebody in beside those of a file."""
    folder = find_project(None if project is None else Path(project))
    return load_project(folder).login


def _check_host(host: str, known: bool) -> None:  # noqa: FBT001  one of two
    """Raise `BadParameter` where strangers would come in; `known` callers show who they are."""
    if not known and not _is_loopback(host):
        hint = "it is no address of loopback, so it needs --tokens, or `login:` in constat.yaml"
        raise click.BadParameter(hint, param_hint="--host")


def _added_token(server: ModuleType, tokens: str | None, wanted: str) -> str:
    """Add a token, described as NAME:ROLE or NAME:ROLE:model; gives it."""
    if tokens is None:
        raise click.BadParameter("it needs --tokens FILE", param_hint="--new-token")
    name, _, rest = wanted.partition(":")
    role, _, kind = rest.partition(":")
    found: str = server.new_token(Path(tokens), name, role, kind)
    return found


def _listening(host: str, port: int, *, shared: bool = False) -> socket.socket:
    """Take the port before it is said that something is served there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.create_server((host, port), family=family, backlog=2_048, reuse_port=shared)
    except OSError as problem:
        message = f"nothing can be served at {host}:{port}: {problem.strerror or problem}"
        raise click.BadParameter(message, param_hint="--port") from None
    # Head and body of an answer are two packets: the second would wait until the first is
    # confirmed, which takes 40 ms. The event loop sees to that only where a socket names TCP.
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def _shared(host: str, port: int, workers: int) -> list[socket.socket]:
    """Take the port for so many processes: on Linux each has a queue of its own there.

    From one queue whoever wakes first takes all connections, and the others have nothing to do.
    """
    one = _listening(host, port)
    if workers == 1 or sys.platform != "linux":
        return [one] * workers
    # That nobody else has the port was shown by taking it alone.
    one.close()
    return [_listening(host, port, shared=True) for _ in range(workers)]


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
