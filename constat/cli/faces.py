"""`constat mcp`: a project for agents."""

from __future__ import annotations

import getpass
import ipaddress

import click

from constat.cli.groups import PlainCommand
from constat.cli.options import project_option
from constat.cli.output import note
from constat.diagnostics import ConstatError, Diagnostic

_PORT = 8377


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
@project_option
def mcp_command(*, http: bool, host: str, port: int, by: str, project: str | None) -> int:
    """Serve a project to agents, by the Model Context Protocol.

    Tools: prove, ask, query, why_not, what_if, missing, verify, read_on, provide_facts,
    draft_rules, list_rules, search_catalog, get_schema, recall, remember. Resources: certificates,
    rules, tables. What tools answer goes to the agent, and so to its model's provider. The agent
    approves nothing: its rules lie in the quarantine (`constat rules review`), and facts are kept
    only once the person behind it has said yes.

    Over stdio the client starts this command and ends it; with --http only this machine connects.
    Needs the extra: pip install 'constat[mcp]'

    Example:
      constat mcp --by alice < /dev/null

    Exit codes: 0 the client has gone, 2 bad usage, 130 interrupted.
    """
    if http and not _is_loopback(host):
        raise click.BadParameter("it is no address of loopback", param_hint="--host")
    try:
        from constat.mcp import security_of, server_of  # noqa: PLC0415  loaded when it is used
    except ImportError:
        message = "agents need the package mcp, which is not installed"
        hint = "pip install 'constat[mcp]'"
        raise ConstatError([Diagnostic("C0434", message, help=hint)]) from None
    from constat.service import Service  # noqa: PLC0415  loaded when it is used

    server = server_of(Service(project, by=by or getpass.getuser()))
    if http:
        note(f"serving http://{host}:{port}/mcp; Ctrl-C ends it")
        server.run(
            "streamable-http", host=host, port=port, transport_security=security_of(host, port)
        )
    else:
        server.run("stdio")
    return 0


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
