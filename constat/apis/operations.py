"""What an API can be asked: operations, their parameters, and the fields of their answers."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from constat.frozen import frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.apis.shapes import Json, Listed, Shape
    from constat.apis.transport import Asking

PATH, QUERY, HEADER, BODY, ARGUMENT = "path", "query", "header", "body", "argument"
NUMBER, DECIMAL, TEXT, TRUTH, DAY, MOMENT = (
    "integer",
    "number",
    "string",
    "boolean",
    "day",
    "moment",
)
LIST, TABLE, ANYTHING = "list", "table", "anything"


@frozen
class Parameter:
    """What an operation is asked with. `kind` is that of its value, as fields have it."""

    name: str
    place: str
    required: bool = False
    kind: str = TEXT
    description: str = ""
    type_text: str = ""


@frozen
class Operation:
    """One operation. `form` is what is asked: `GET /orders/{id}` or `query country`.

    `safe` says that it changes nothing by what its kind is.
    """

    name: str
    form: str
    safe: bool
    summary: str = ""
    parameters: tuple[Parameter, ...] = ()
    method: str = "GET"
    path: str = ""
    result: Json = field(default=None, hash=False, repr=False)
    deprecated: bool = False

    def parameter(self, name: str) -> Parameter | None:
        """Give a parameter by its name."""
        return next((one for one in self.parameters if one.name == name), None)


class Description(Protocol):
    """What an API says of itself: its operations, and how each is asked."""

    @property
    def digest(self) -> str:
        """`sha256:<hex>` of its text."""
        ...

    @property
    def version(self) -> str:
        """What it calls its own version; perhaps nothing."""
        ...

    @property
    def title(self) -> str:
        """What it calls itself."""
        ...

    @property
    def operations(self) -> Mapping[str, Operation]:
        """The operations by name."""
        ...

    def fields(self, operation: Operation) -> Listed:
        """Give the fields of an operation's answers."""
        ...

    def rows(self, operation: Operation) -> str:
        """Give the path of the rows of an answer, where none is written."""
        ...

    def asking(self, operation: Operation, sent: Mapping[str, object], shape: Shape) -> Asking:
        """Make the request for values of parameters; raises `ApiError`."""
        ...

    def problem(self, operation: Operation, document: Json) -> str:
        """Tell where an answer does not fit what is said of it; empty where it does."""
        ...

    def payload(self, document: Json) -> Json:
        """Give the part of an answer that paths begin at; raises `ApiError`."""
        ...
