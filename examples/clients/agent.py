"""What an agent does over MCP, with the official client: it proves, asks why not, drafts a rule.

    python agent.py "free(R1)" "free(R2)"               proves, and says why not
    python agent.py --draft goodwill.dl "goodwill(R2)"  hands in the rules of a file for a goal

The client starts `constat mcp` and talks to it over stdin and stdout; a person's program would give
these calls to a language model as tools.  `pip install 'constat[mcp]'`
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any, Final

from mcp import Client, StdioServerParameters
from mcp.types import TextContent

SERVER: Final = StdioServerParameters(
    command="constat", args=["mcp", "--project", str(Path(__file__).parent), "--by", "alice"]
)


class RefusedError(Exception):
    """What a tool refuses, with the edit that works."""


async def call(client: Client, tool: str, **arguments: str) -> dict[str, Any]:
    """Call a tool and give what it answers."""
    found = await client.call_tool(tool, arguments)
    if found.is_error:
        raise RefusedError(*(part.text for part in found.content if isinstance(part, TextContent)))
    answer: dict[str, Any] = found.structured_content or {}
    return answer


async def prove(client: Client, goal: str) -> None:
    """Prove a goal, have the certificate checked with its rows read again, and say why not."""
    answer = await call(client, "prove", goal=goal)
    checked = await call(client, "verify", certificate=answer["certificate"])
    accepted = "accepted" if checked["accepted"] else f"REJECTED, {checked['reason']}"
    print(f"{answer['verdict']}: {goal} (certificate {accepted})")
    if answer["verdict"] == "DISPROVED":
        why = await call(client, "why_not", goal=goal)
        print(why["why"].rstrip())


async def draft(client: Client, rules: str, goal: str) -> None:
    """Hand rules in. What follows from them rests on them as an assumption."""
    purpose = f"Should it be that {goal}?"
    answer = await call(client, "draft_rules", goal=goal, rules=rules, purpose=purpose)
    print(f"{answer['verdict']}: {goal}")
    for assumption in answer["assumptions"]:
        print(f"  assuming: {assumption}")
    print(f"draft: {answer['draft']}")


async def main(goals: list[str], rules: str) -> None:
    """Prove goals over one connection, or hand in rules for them."""
    async with Client(SERVER) as client:
        try:
            for goal in goals:
                await (draft(client, rules, goal) if rules else prove(client, goal))
        except RefusedError as refused:
            print(refused)


if __name__ == "__main__":
    if sys.argv[1] == "--draft":
        asyncio.run(main(sys.argv[3:], Path(sys.argv[2]).read_text(encoding="utf-8")))
    else:
        asyncio.run(main(sys.argv[1:], ""))
