"""Hand a question to a driver in the style of parameters that the driver reads.

In: a `Question`, whose placeholders are the last `?` of its text, and the style's DB-API name. Out:
the text and parameters for the driver. Invariant: the user's query reaches the server verbatim,
whatever `%`, `:name`, `?` or backslash stands in it. Example, style `format`:
`... LIKE '5%' ... c0 = ?` becomes `... LIKE '5%%' ... c0 = %s`, of which the driver makes one `%`.
Reference: PEP 249, `paramstyle`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from constat.catalog.connection import Parameter, Question


def driver_text(question: Question, style: str) -> tuple[str, tuple[Parameter, ...] | None]:
    """Give the text and the parameters. `None` tells the driver not to look for placeholders.

    Styles that have names or numbers (`named`, `numeric`) cannot be told apart from what a query
    may hold; sources with such drivers are never asked for keys.
    """
    if not question.parameters:
        return question.text, None
    if style == "qmark":
        return question.text, question.parameters
    if style not in {"format", "pyformat"}:
        raise ValueError(f"no parameters in the style {style}")
    # Our own part of the text stands last and has nothing but placeholders that looks like one.
    pieces = question.text.rsplit("?", len(question.parameters))
    return "%s".join(piece.replace("%", "%%") for piece in pieces), question.parameters
