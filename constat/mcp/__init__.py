"""Constat for agents: a server of the Model Context Protocol over one project.

In: requests of a client, over stdio or over HTTP on loopback. Out: small answers with references,
certificates and rules as resources, progress while something is asked outside. Invariants: the
client's model approves nothing and confirms nothing: what it drafts lies in the quarantine, and a
fact is kept only after the person behind the client has said yes. Needs the extra `mcp`.
Reference: https://modelcontextprotocol.io/specification
"""

from __future__ import annotations

from constat.mcp.server import security_of, server_of

__all__ = ["security_of", "server_of"]
