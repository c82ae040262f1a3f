"""Read `authoring:` and `sub_plans:`: how a model may draft, and for which predicates.

In: nodes of the configuration. Out: `AuthoringSetting` and `SubPlanSetting`. Invariant: bounds have
an upper end, whatever is written. Example: `sub_plans: {predicates: [contract_value], depth: 1}`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from constat.project.authoring import SPELLINGS, STRICT, AuthoringSetting, SubPlanSetting
from constat.project.suggesting import suggestion

if TYPE_CHECKING:
    from constat.project.document import Node
    from constat.project.sections import Sections

_AUTHORING_KEYS: Final = (
    *("rounds", "lookups", "variables", "context", "queries", "query_rows", "facts"),
)
_SUB_PLAN_KEYS: Final = ("predicates", "depth")
_MOST_ROUNDS: Final = 20
_MOST_LOOKUPS: Final = 200
_MOST_CONTEXT: Final = 20_000
_MOST_DEPTH: Final = 5
_MOST_ROWS: Final = 1_000_000_000


def read_authoring(node: Node | None, sections: Sections) -> AuthoringSetting:
    """Read `authoring:`, a table."""
    plain = AuthoringSetting()
    if node is None:
        return plain
    found = sections.table(node, "`authoring`", _AUTHORING_KEYS)
    return AuthoringSetting(
        rounds=_bounded(found.get("rounds"), "`rounds`", plain.rounds, _MOST_ROUNDS, sections),
        lookups=_bounded(found.get("lookups"), "`lookups`", plain.lookups, _MOST_LOOKUPS, sections),
        variables=_spelling(found.get("variables"), sections),
        context=_context(found.get("context"), sections),
        queries=sections.flag(found["queries"], "`queries`") if "queries" in found else True,
        query_rows=_bounded(
            found.get("query_rows"), "`query_rows`", plain.query_rows, _MOST_ROWS, sections
        ),
        facts=sections.flag(found.get("facts"), "`facts`"),
    )


def read_sub_plans(node: Node | None, sections: Sections) -> SubPlanSetting:
    """Read `sub_plans:`, a table. Whether the predicates exist is known once rules are read."""
    plain = SubPlanSetting()
    if node is None:
        return plain
    found = sections.table(node, "`sub_plans`", _SUB_PLAN_KEYS)
    named = sections.texts(found.get("predicates"), "`predicates`")
    return SubPlanSetting(
        predicates=tuple(dict.fromkeys(one.text for one in named)),
        depth=_bounded(found.get("depth"), "`depth`", plain.depth, _MOST_DEPTH, sections),
    )


def _bounded(node: Node | None, what: str, default: int, most: int, sections: Sections) -> int:
    number = sections.integer(node, what, default)
    if number > most and node is not None:
        hint = f"write a number up to {most}"
        sections.complain("C0860", f"{what} is more than {most:,}", node, hint=hint)
        return default
    return number


def _spelling(node: Node | None, sections: Sections) -> str:
    written = sections.text(node, "`variables`", STRICT)
    if written not in SPELLINGS and node is not None:
        hint = suggestion(written, SPELLINGS) or "write `variables: strict`"
        sections.complain("C0860", "`variables` is neither strict nor bare", node, hint=hint)
        return STRICT
    return written


def _context(node: Node | None, sections: Sections) -> str:
    written = sections.text(node, "`context`")
    if len(written) > _MOST_CONTEXT and node is not None:
        hint = f"keep it below {_MOST_CONTEXT:,} characters"
        sections.complain("C0860", "`context` is too long", node, hint=hint)
        return ""
    return written
