"""Long texts are saved by reference, read in pieces, and put in only where a tool is called."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from constat.diagnostics import ConstatError
from constat.memory import Memory
from constat.memory.tokens import chunks, ends, sandwich
from tests.memory.rounds import answered, assistant, called, user

if TYPE_CHECKING:
    from pathlib import Path

LONG = "\n".join(f"line {n} says {n * n}." for n in range(900))


def test_a_long_text_is_shown_by_its_ends_and_read_in_pieces(tmp_path: Path) -> None:
    with Memory(tmp_path, "s") as memory:
        pad = memory.scratchpad
        shown = pad.gate("orders", LONG)
        assert shown.startswith("line 0 says 0.\n")
        assert shown.endswith("[Full result saved as ref:orders]")
        assert "line 899 says" in shown
        assert len(shown) < 1_600
        assert pad.gate("again", shown) == shown
        assert pad.gate("short", "short") == "short"
        assert [one.key for one in pad.list()] == ["orders"]
    with Memory(tmp_path, "s") as memory:
        pad = memory.scratchpad
        first = pad.read_chunk("ref:orders", 0, 1_000)
        head, _, body = first.partition("\n")
        assert head == f"[piece 0 of 0 to {len(list(chunks(LONG, 1_000))) - 1}]"
        assert LONG.startswith(body)
        assert body.endswith(".\n")
        with pytest.raises(ConstatError, match="C0808"):
            pad.read_chunk("ref:orders", 99)


def test_references_are_resolved_only_where_a_tool_is_called() -> None:
    with Memory() as memory:
        pad = memory.scratchpad
        ref = pad.write("report", LONG)
        arguments = {"to": "ann", "parts": [{"text": ref}, f"see {ref}"], "n": 7}
        resolved = pad.resolved(arguments)
        assert resolved == {"to": "ann", "parts": [{"text": LONG}, f"see {ref}"], "n": 7}
        assert arguments["parts"] == [{"text": ref}, f"see {ref}"]
        with pytest.raises(ConstatError, match="C0808"):
            pad.resolved({"text": "ref:nothing"})
        deep: object = "ref:report"
        for _ in range(5_000):
            deep = [deep]
        found = pad.resolved(deep)
        for _ in range(5_000):
            (found,) = found
        assert found == LONG


def test_a_key_means_one_text_for_ever() -> None:
    with Memory() as memory:
        pad = memory.scratchpad
        assert pad.write("a", "one") == pad.write("a", "one") == "ref:a"
        with pytest.raises(ConstatError, match="C0808"):
            pad.write("a", "two")
        with pytest.raises(ConstatError, match="C0808"):
            pad.write("../a b", "two")
        assert pad.read("a") == "one"


def test_a_huge_result_enters_no_context_and_can_be_read() -> None:
    with Memory() as memory:
        memory.append([user("Read it."), called("read", 1), answered(1, LONG), assistant("Done.")])
        context = memory.context()
        text = context.messages[2].results[0].text
        assert text.endswith("[Full result saved as ref:m2]")
        assert len(text) < 1_600
        assert memory.open("ref:m2").decode() == LONG
        assert memory.scratchpad.read("ref:m2") == LONG
        tools = {tool.name: answer for tool, answer in memory.scratchpad.tools()}
        assert tools["scratchpad_list"]({}) == "nothing is saved"
        assert tools["scratchpad_read_chunk"]({"ref": "ref:m2"}).startswith("[piece 0 of 0 to ")
        with pytest.raises(ConstatError, match="C0808"):
            tools["scratchpad_read_chunk"]({"ref": "ref:m2", "number": "x"})


@example("a bbbbbbbbbbb b", 6)
@given(st.text(st.sampled_from("ab .\n!"), max_size=60), st.integers(1, 20))
def test_pieces_are_the_text_and_end_where_something_ends(text: str, most: int) -> None:
    found = list(chunks(text, most))
    assert "".join(found) == text
    assert all(0 < len(one) <= most for one in found)
    for one, following in pairwise(found):
        if any(mark in one for mark in " \n"):
            assert one[-1] in " \n" or following[0] in " \n"


@given(st.text(max_size=400), st.integers(1, 200))
def test_a_preview_is_no_longer_than_it_was_told(text: str, most: int) -> None:
    shown = sandwich(text, most)
    assert len(shown) <= max(most, 0)
    assert shown == text or len(text) > most
    assert ends(text, most, "...") in {text, f"{text[:most]}...{text[-most:]}"}
