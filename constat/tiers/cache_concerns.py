"""What a kept answer depends on, in one text: when it differs the answer is not served.

In: an external predicate and the project. Out: canonical JSON of the declaration as far as rows
depend on it, the `.input`, the source without its password, and the configuration that the
predicate's tiers read. Invariants: what does not change the rows is not in it, so a comment, a
sentence, another predicate's facts or a longer `max_age` keep the answers; no password is in it.
Example: `facts: {rate: 3}` concerns the predicate `rate` and nothing else.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlsplit

from constat.logic.structure_forms import column_form
from constat.tiers.cache_age import MAX_AGE
from constat.tiers.config import config_key

if TYPE_CHECKING:
    from constat.logic import Predicate
    from constat.project import Cell, CustomTier, Database, Project

# Changes with the form of answers and with what a tier makes of a source's cells.
FORMAT: Final = 3
_SECRET: Final = re.compile(r"(?i)pass|pwd|secret|token|key|auth|cred|connect|sig")
_UNIMPORTANT: Final = frozenset({MAX_AGE, "IO", "filename", "name", "delimiter", "headers"})
_ROW_ATTRIBUTES: Final = ("key", "null", "distinct", "closed")


def concerns(predicate: Predicate, project: Project, use: str) -> str:
    """Give the text; `use` tells answers of one predicate apart that serve different questions."""
    parameters = predicate.source.parameters if predicate.source else {}
    database = project.databases.get(predicate.source.name if predicate.source else "")
    name = predicate.name
    return json.dumps(
        {
            "format": FORMAT,
            "use": use,
            "predicate": name,
            "columns": [
                [column.name, column_form(column), column.attributes.get("null")]
                for column in predicate.columns
            ],
            "attributes": [predicate.attributes.get(one) for one in _ROW_ATTRIBUTES],
            "input": {k: v for k, v in parameters.items() if k not in _UNIMPORTANT},
            "source": None if database is None else _identity(database, project),
            "facts": _facts(predicate, project),
            "closed": project.closed.get(name),
            "tiers": [
                _tier(one)
                for one in project.tiers.values()
                if one.predicates is None or name in one.predicates
            ],
        },
        sort_keys=True,
        separators=(",", ":"),
    )


def _identity(database: Database, project: Project) -> list[object]:
    """Say which source it is. Paths are relative to the project, so its folder belongs to them."""
    options = {k: v for k, v in database.options.items() if not _SECRET.search(k)}
    where = str(project.folder)
    return [database.name, database.kind, _address(database), options, dict(database.files), where]


def _address(database: Database) -> list[object]:
    text = database.address.text
    if text is None:
        return ["not set", *database.address.missing]
    try:
        parts = urlsplit(text)
        port = parts.port
        query = parse_qsl(parts.query, keep_blank_values=True)
    except ValueError:
        return ["unreadable", text.partition(":")[0]]
    # A name that may hold a secret counts with its name only.
    plain = [(name, "" if _SECRET.search(name) else value) for name, value in query]
    host = "" if parts.hostname is None else parts.hostname
    return [parts.scheme, parts.username, host, port, parts.path, sorted(plain)]


def _facts(predicate: Predicate, project: Project) -> object:
    table = project.facts.get(config_key(predicate))
    if table is None:
        return None
    rows = [[fact.columns, [_cell(cell) for cell in fact.cells]] for fact in table.rows]
    return [table.name, table.form, rows, project.config_name]


def _cell(cell: Cell) -> list[object]:
    parts = [] if cell.parts is None else [[_cell(one) for one in cell.parts]]
    return [cell.text, cell.variables, cell.missing, *parts]


def _tier(tier: CustomTier) -> list[object]:
    options = {k: "" if _SECRET.search(k) else v for k, v in tier.options.items()}
    return [tier.name, tier.factory, tier.after, options]
