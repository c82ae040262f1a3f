"""What a model is told at first: where to look, or everything where it cannot look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat.authoring import DiscoveryTools, PromptBuilder
from constat.authoring.discovery_text import RULE
from constat.authoring.prompt_building import can_call_tools
from constat.memory.tokens import estimate
from tests.catalog.schema_worlds import managed, shop, sqlite_file

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("model", "can"),
    [
        ("claude-sonnet-4-20250514", True),
        ("claude-3-haiku-20240307", True),
        ("gpt-4", True),
        ("gemini-pro", True),
        ("some-new-model", True),
        ("claude-2", False),
        ("claude-2.1", False),
        ("claude-instant-1.2", False),
        ("gpt-3.5-turbo-instruct", False),
        ("provider/text-davinci-003", False),
        ("gpt-3.5-turbo", True),
    ],
)
def test_a_model_is_told_by_its_name(model: str, can: bool) -> None:  # noqa: FBT001  a case
    assert can_call_tools(model) is can


def test_a_model_with_tools_is_told_where_to_look(tmp_path: Path) -> None:
    builder = PromptBuilder(DiscoveryTools(shop(tmp_path)))
    prompt, use_tools = builder.build_prompt("claude-sonnet-4-20250514")
    assert use_tools
    assert RULE in prompt
    assert "sales (sql): 4 tables" in prompt
    assert "customer_id" not in prompt
    assert prompt == builder.build_prompt("gpt-4").text


def test_a_model_without_tools_is_told_everything(tmp_path: Path) -> None:
    prompt, use_tools = PromptBuilder(DiscoveryTools(shop(tmp_path))).build_prompt("claude-2")
    assert not use_tools
    assert RULE in prompt
    assert "customer_id TEXT not null -> customers.id" in prompt


def test_too_much_is_cut_and_said(tmp_path: Path) -> None:
    script = "".join(f"CREATE TABLE t{n} (id INTEGER, name TEXT);" for n in range(50))
    sqlite_file(tmp_path / "shop.sqlite", script)
    builder = PromptBuilder(DiscoveryTools(managed(tmp_path)), most_tokens=300)
    text = builder.build_prompt("claude-2").text
    assert "tables are left out" in text
    assert estimate(text) < 700


def test_what_is_saved_is_estimated(tmp_path: Path) -> None:
    script = "".join(
        f"CREATE TABLE t{n} (id INTEGER, {', '.join(f'column_{c} TEXT' for c in range(30))});"
        for n in range(30)
    )
    sqlite_file(tmp_path / "shop.sqlite", script)
    builder = PromptBuilder(DiscoveryTools(managed(tmp_path)))
    lean, full = builder.estimate_tokens("gpt-4"), builder.estimate_tokens("claude-2")
    assert (lean.mode, full.mode) == ("tool_discovery", "full_metadata")
    assert full.savings_percent == 0
    assert lean.full_tokens == full.full_tokens
    assert lean.savings_percent == round(100 * (1 - lean.tokens / lean.full_tokens)) >= 80
