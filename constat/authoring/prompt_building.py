"""What a model is told about the sources of a project before it is asked anything.

In: tools to look things up, and the name of a model. Out: the text, and whether the tools go with
it. A model that can call tools is told where to look; one that cannot is told everything, within
bounds. Invariants: texts of sources are fenced; the same project gives the same text. Example:
`PromptBuilder(tools).build_prompt("claude-2")` gives all tables and `False`.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from constat.authoring.discovery_schema import database_lines, schema_lines
from constat.authoring.discovery_text import RULE, fenced
from constat.memory.tokens import estimate
from constat.model.canonical import plain
from constat.model.prompts import Tool

if TYPE_CHECKING:
    from collections.abc import Iterator

    from constat.authoring.discovery import DiscoveryTools

# Models of before there were tools; whatever is newer, or not known here, can call them.
_WITHOUT_TOOLS: Final = re.compile(
    r"(?:.*/)?(?:claude-(?:1|2|instant)|gpt-3(?:\.5-turbo-instruct)?$|gpt-3\.5-turbo-instruct"
    r"|text-(?:ada|babbage|curie|davinci)|davinci|curie|babbage|ada$)",
    re.IGNORECASE,
)
_MOST_TOKENS: Final = 60_000
_HOW: Final = (
    "Look up names before you use them, never guess one: `search_tables` finds tables, columns, "
    "predicates and rules by words."
)


class BuiltPrompt(NamedTuple):
    """The text, and whether tools go with it."""

    text: str
    use_tools: bool


class TokenEstimate(NamedTuple):
    """About how many tokens a prompt takes, beside what telling everything would take.

    `mode` is `tool_discovery` or `full_metadata`; `savings_percent` is 0 for the latter.
    """

    mode: str
    tokens: int
    full_tokens: int
    savings_percent: int


class PromptBuilder:
    """Builds the part of a system prompt that is about sources."""

    def __init__(self, tools: DiscoveryTools, most_tokens: int = _MOST_TOKENS) -> None:
        self._tools = tools
        self._most = most_tokens

    def build_prompt(self, model: str) -> BuiltPrompt:
        """Give the text for a model, and whether it can look up the rest."""
        if can_call_tools(model):
            return BuiltPrompt(self._minimal(), use_tools=True)
        return BuiltPrompt(self._full(), use_tools=False)

    def estimate_tokens(self, model: str) -> TokenEstimate:
        """Estimate the tokens of the text with the definitions of its tools."""
        text, use_tools = self.build_prompt(model)
        full = sum(estimate(piece) for piece in self._pieces())
        if not use_tools:
            return TokenEstimate("full_metadata", estimate(text), full, 0)
        tokens = estimate(text) + sum(tool_tokens(tool) for tool, _ in self._tools.needed())
        return TokenEstimate(
            "tool_discovery", tokens, full, max(0, round(100 * (1 - tokens / full))) if full else 0
        )

    def _minimal(self) -> str:
        databases = fenced(database_lines(self._tools.catalog.databases()))
        return f"{RULE}\nThe databases:\n{databases}\n{_HOW}"

    def _full(self) -> str:
        lines: list[str] = []
        left = self._most
        pieces = list(self._pieces())
        for place, piece in enumerate(pieces):
            left -= estimate(piece)
            if left < 0:
                lines.append(f"... {len(pieces) - place:,} tables are left out: there are too many")
                break
            lines.append(piece)
        tables = fenced("\n\n".join(lines) or "no tables")
        return f"{RULE}\nAll tables:\n{tables}"

    def _pieces(self) -> Iterator[str]:
        """Give all that is known, a table at a time."""
        for table in self._tools.catalog.all_tables():
            yield schema_lines(table, self._tools.readers(table.path))


def can_call_tools(model: str) -> bool:
    """Whether a model of that name can call tools."""
    return _WITHOUT_TOOLS.match(model.strip()) is None


def tool_tokens(tool: Tool) -> int:
    """Estimate what the definition of a tool takes."""
    return estimate(f"{tool.name} {tool.description} {json.dumps(plain(tool.parameters))}")
