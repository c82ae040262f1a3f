"""Agents of LangGraph: what their model reads, and their states, with the real package."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import pytest

from constat.memory import Memory
from constat.memory.archive import Archive
from constat.memory.journal import forget
from tests.extras import Late

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from constat.memory.langgraph import GraphMemory, Saver

ours = Late("constat.memory.langgraph")
graphs = Late("langgraph.graph", extra="langgraph")
messages = Late("langchain_core.messages")
WISH = "Refund what was paid for O-7. Never refund more than was paid."
NOTE = "The customer has waited for three weeks and is not pleased about it. " * 12
LAST = 14


def graph_of(graph: GraphMemory, read: list[list[Any]]) -> Any:  # noqa: ANN401  the types of LangGraph
    """A clerk by rule: looks at one order after the other."""

    class State(graphs.MessagesState):  # type: ignore[misc, name-defined]
        """As the prebuilt agent has it: the hook fills the second list, the model reads it."""

        llm_input_messages: list[Any]

    def clerk(state: dict[str, Any]) -> dict[str, Any]:
        read.append(state["llm_input_messages"])
        number = sum(isinstance(one, messages.ToolMessage) for one in state["messages"])
        if number >= LAST:
            return {"messages": [messages.AIMessage("All of them were looked at.")]}
        call = {"id": f"t{number}", "name": "look", "args": {"id": f"O-{number}"}}
        return {"messages": [messages.AIMessage("", tool_calls=[call])]}

    def look(state: dict[str, Any]) -> dict[str, Any]:
        (call,) = state["messages"][-1].tool_calls
        found = json.dumps({"order": call["args"]["id"], "note": NOTE})
        return {"messages": [messages.ToolMessage(found, tool_call_id=call["id"])]}

    def goes_on(state: dict[str, Any]) -> str:
        return "look" if state["messages"][-1].tool_calls else graphs.END

    builder = graphs.StateGraph(State)
    builder.add_node("pre_model_hook", graph.hook)
    builder.add_node("clerk", clerk)
    builder.add_node("look", look)
    builder.add_edge(graphs.START, "pre_model_hook")
    builder.add_edge("pre_model_hook", "clerk")
    builder.add_conditional_edges("clerk", goes_on)
    builder.add_edge("look", "pre_model_hook")
    return builder.compile(checkpointer=graph.saver)


@pytest.mark.examples
def test_a_graph_reads_what_matters_and_keeps_all(tmp_path: Path) -> None:
    read: list[list[Any]] = []
    graph = ours.GraphMemory(tmp_path, budget=1_500)
    agent = graph_of(graph, read)
    config: Any = {"configurable": {"thread_id": "c1"}, "recursion_limit": 100}
    state = agent.invoke({"messages": [messages.HumanMessage(WISH)]}, config)
    assert len(state["messages"]) == 2 * LAST + 2
    assert max(sum(len(str(one.content)) for one in each) for each in read) < 8_000
    for each in read:
        assert "Never refund more than was paid." in str(each)
        calls = [call["id"] for one in each for call in getattr(one, "tool_calls", ())]
        assert calls == [one.tool_call_id for one in each if isinstance(one, messages.ToolMessage)]
    # What stays is the very object of the state.
    assert any(one is other for one in read[-1] for other in state["messages"])
    graph.close()
    again = ours.GraphMemory(tmp_path, budget=1_500)
    later = graph_of(again, read).invoke({"messages": [messages.HumanMessage("And now?")]}, config)
    assert [one.id for one in later["messages"][: len(state["messages"])]] == [
        one.id for one in state["messages"]
    ]
    memory = again.conversation("c1").memory
    assert [one.text for one in memory.history.messages if one.role == "user"] == [WISH, "And now?"]
    assert memory.search("O-7")
    again.close()


@pytest.mark.examples
def test_states_are_found_again_and_take_little(tmp_path: Path) -> None:
    graph = ours.GraphMemory(tmp_path)
    agent = graph_of(graph, [])
    config: Any = {"configurable": {"thread_id": "c1"}, "recursion_limit": 100}
    asyncio.run(agent.ainvoke({"messages": [messages.HumanMessage(WISH)]}, config))
    states = list(agent.get_state_history(config))
    lengths = [len(one.values.get("messages", ())) for one in states]
    assert lengths == sorted(lengths, reverse=True)
    assert (lengths[0], lengths[-1]) == (2 * LAST + 2, 0)
    # An earlier state is there as it was, and a graph can go on from it.
    (early,) = [one for one in states if len(one.values.get("messages", ())) == 3][:1]
    assert [type(one) for one in early.values["messages"]] == [
        messages.HumanMessage,
        messages.AIMessage,
        messages.ToolMessage,
    ]
    with Archive(tmp_path).reading() as connection:
        assert connection is not None
        items = connection.execute("SELECT count(*) FROM state_items").fetchone()[0]
    # Two lists grow here, that of the state and that of the model; each message is in each once.
    assert items <= 2 * (2 * LAST + 2)
    graph.saver.delete_thread("c1")
    assert ours.Saver(tmp_path).get_tuple(config) is None
    graph.close()


def test_a_forgotten_text_is_in_no_state(tmp_path: Path) -> None:
    graph = ours.GraphMemory(tmp_path)
    agent = graph_of(graph, [])
    config: Any = {"configurable": {"thread_id": "c1"}, "recursion_limit": 100}
    agent.invoke({"messages": [messages.HumanMessage(WISH)]}, config)
    memory = graph.conversation("c1").memory
    texts = [one.passage for one in memory.history.texts if WISH in one.passage.text]
    graph.close()
    forget(Archive(tmp_path), [one.archive for one in texts], by="alice", reason="asked to")
    found = b"".join(one.read_bytes() for one in tmp_path.iterdir())
    assert b"Never refund" not in found
    # The same saver goes on, and what it had kept is no beginning of anything.
    agent.invoke({"messages": [messages.HumanMessage("Hello.")]}, config)
    again = graph.saver.get_tuple(config)
    assert again is not None
    assert again.checkpoint["channel_values"]["messages"][0].content == "Hello."
    with Memory(tmp_path, "c1") as kept:
        assert kept.history.messages[0].text == '{"forgotten":true}'


@pytest.mark.examples
def test_the_package_finds_its_contract_kept(tmp_path: Path) -> None:
    """The tests that LangGraph has for every checkpointer, all of those that are asked of one."""
    from langgraph.checkpoint.conformance import checkpointer_test, validate

    async def savers() -> AsyncIterator[Saver]:
        with TemporaryDirectory(dir=tmp_path) as folder:
            yield ours.Saver(Path(folder))

    told = asyncio.run(validate(checkpointer_test(name="constat")(savers)))
    assert told.passed_all_base()
