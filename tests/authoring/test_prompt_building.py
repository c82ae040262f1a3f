"""What a model is told at first: where to look, or everything where it cannot look."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from constat import Session
from constat.authoring import DiscoveryTools, PromptBuilder
from constat.authoring.discovery import RULE
from constat.authoring.prompts import (
    can_call_tools,
    hint_text,
    likely,
    names_text,
    predicates_text,
    system_prompt,
    tool_tokens,
)
from constat.memory.tokens import estimate
from tests.authoring.scripted import Scripted, proposed
from tests.authoring.worlds import SCHEMAS, build_world, questions
from tests.catalog.schema_worlds import managed, shop, sqlite_file
from tests.examples.fixtures import shop_database, still_shop

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["shop_database", "still_shop"]


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
    assert (lean["mode"], full["mode"]) == ("tool_discovery", "full_metadata")
    assert lean["savings_percent"] == lean.savings_percent
    assert (lean.mode, full.mode) == ("tool_discovery", "full_metadata")
    assert full.savings_percent == 0
    assert lean.full_tokens == full.full_tokens
    assert lean.savings_percent == round(100 * (1 - lean.tokens / lean.full_tokens)) >= 80


# What a model is told before it drafts.


@pytest.mark.parametrize("schema", SCHEMAS)
def test_the_first_prompt_is_short_and_names_every_predicate(tmp_path: Path, schema: str) -> None:
    folder = build_world(schema, tmp_path)
    asked = questions(schema)[0]
    client = Scripted(proposed(asked.reference.goal, asked.reference.rules))
    with Session(folder) as session:
        session.ask(asked.text, client=client)
        names = list(session.program.program.predicates)
    prompt = client.prompts[0]
    told = estimate(prompt.system) + sum(estimate(turn.text) for turn in prompt.turns)
    assert told + sum(map(tool_tokens, prompt.tools)) < 2_350
    listed = prompt.system.replace(",", " ").replace("(", " ").split()
    assert set(names) <= set(listed)
    assert prompt.system.count(RULE) == 1


def test_what_a_question_may_be_about_is_described_with_it(tmp_path: Path) -> None:
    hits = []
    for schema in SCHEMAS:
        with Session(build_world(schema, tmp_path / schema)) as session:
            known = tuple(session.program.program.predicates.values())
        for one in questions(schema):
            text = f" {one.reference.goal}\n {one.reference.rules}".replace("!", " ")
            needed = {p.name for p in known if f" {p.name}(" in text}
            found = likely(known, one.text)
            assert len(found) <= 6
            hits.append(needed <= {p.name for p in found})
    assert sum(hits) / len(hits) > 0.7


def test_a_question_without_words_of_the_project_gets_no_hint(still_shop: Path) -> None:
    with Session(still_shop) as session:
        assert hint_text(session.program, "?? 17 is it") == ""
        hint = hint_text(session.program, "Is C001 a VIP?")
        assert "is_vip(customer: CustomerId)  // Customers who are served first" in hint
        assert hint == hint_text(session.program, "Is C001 a VIP?")


def test_many_predicates_are_listed_by_name_and_thousands_in_part(
    still_shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Session(still_shop) as session:
        program = session.program
        monkeypatch.setattr("constat.authoring.prompts._MOST_SIGNATURES", 900)
        signatures = names_text(program)
        assert "placed_order(customer, order, amount, day)" in signatures
        assert "nobody has approved: may_leave(customer)" in signatures
        monkeypatch.setattr("constat.authoring.prompts._MOST_SIGNATURES", 10)
        names = names_text(program)
        assert "placed_order" in names
        assert "placed_order(" not in names
        monkeypatch.setattr("constat.authoring.prompts._MOST_NAMES", 4)
        cut = names_text(program)
        assert "customer_revenue, order_count, is_vip, is_regular and 14 more" in cut
        assert "placed_order" not in cut
        assert "with facts from outside: 19 more" in cut
        assert len(predicates_text(program)) > len(signatures)


def test_a_model_that_cannot_look_up_is_told_all_of_it(still_shop: Path) -> None:
    with Session(still_shop) as session:
        setting = session.project.authoring
        full = system_prompt(session.program, setting, ["sales"], "tables")
        lean = system_prompt(session.program, setting, ["sales"], "tables", lean=True)
    assert "// Customers who are served first" in full
    assert "// Customers who are served first" not in lean
    # Without the text about sources the rule about data is there all the same.
    assert full.count(RULE) == lean.count(RULE) == 1


def test_tools_that_could_give_nothing_are_not_offered(tmp_path: Path) -> None:
    closed = {tool.name for tool, _ in DiscoveryTools(shop(tmp_path)).needed()}
    assert "get_sample_values" not in closed
    assert {"list_tables", "get_table_schema", "search_tables", "read_reference"} <= closed
    opened = DiscoveryTools(shop(tmp_path, "catalog: {samples: [sales.customers.tier]}")).needed()
    assert "get_sample_values" in {tool.name for tool, _ in opened}
