"""A project over HTTP: REST with an OpenAPI document, and GraphQL, over the service of every face.

In: requests with a bearer token. Out: the answers of `constat.service`. Invariant: REST and GraphQL
are made of one table of operations, so that neither can do what the other refuses.
"""

from constat.server.application import Application, run
from constat.server.operations import Operation, openapi, operations
from constat.service import (
    ROLES,
    Access,
    Bounds,
    Caller,
    access_of,
    new_token,
    read_tokens,
)

__all__ = [
    "ROLES",
    "Access",
    "Application",
    "Bounds",
    "Caller",
    "Operation",
    "access_of",
    "new_token",
    "openapi",
    "operations",
    "read_tokens",
    "run",
]
