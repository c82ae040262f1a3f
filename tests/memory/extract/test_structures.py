"""Tables, files, commands, ends of programs and lists of tasks are found where they stand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from constat.memory import Author, Fact, Passage, Place, facts_of

if TYPE_CHECKING:
    from collections.abc import Iterable


def answer(text: str) -> Passage:
    return Passage(text, Author.TOOL, Place.ANSWER, 1, "c1", "run", "run({})")


def arguments(tool: str, **given: object) -> Passage:
    text = json.dumps(given)
    return Passage(text, Author.ASSISTANT, Place.ARGUMENTS, 1, "c1", tool, f"{tool}({text})")


def found(passage: Passage, *predicates: str) -> list[Fact]:
    return [one for one in facts_of([passage]) if one.predicate in predicates]


def pairs(facts: Iterable[Fact]) -> list[tuple[str, str]]:
    return [(one.key, one.value) for one in facts]


def check_quotes(passage: Passage, facts: Iterable[Fact]) -> None:
    for one in facts:
        assert passage.content[one.span.start : one.span.end].decode() == one.value


TABLES = {
    "csv": """id,total,day
7,12.50,2025-01-03
8,1.50,
""",
    "tabs": "id\ttotal\tday\n7\t12.50\t2025-01-03\n8\t1.50\t\n",
    "markdown": """| id | total | day |
|----|------:|-----|
| 7 | 12.50 | 2025-01-03 |
| 8 | 1.50 | |
""",
    "psql": """ id | total | day
----+-------+-----
  7 | 12.50 | 2025-01-03
  8 | 1.50 |
(2 rows)
""",
    "box": """+----+-------+------------+
| id | total | day        |
+----+-------+------------+
| 7  | 12.50 | 2025-01-03 |
| 8  | 1.50  |            |
+----+-------+------------+
""",
    "lines": """│ id │ total │ day │
├────┼───────┼─────┤
│ 7 │ 12.50 │ 2025-01-03 │
│ 8 │ 1.50 │ │
""",
}


@pytest.mark.parametrize("name", TABLES)
def test_a_table_has_its_columns_and_cells(name: str) -> None:
    passage = answer(f"Here it is:\n\n{TABLES[name]}\nThat was it.")
    cells = found(passage, "cell")
    assert pairs(cells) == [
        ("t1.7.id", "7"),
        ("t1.7.total", "12.50"),
        ("t1.7.day", "2025-01-03"),
        ("t1.8.id", "8"),
        ("t1.8.total", "1.50"),
    ]
    check_quotes(passage, cells)
    assert pairs(found(passage, "table")) == [("t1", "2 rows of id, total, day")]
    assert dict(pairs(found(passage, "column"))) == {
        "t1.id": "2 rows, 2 distinct, 7 to 8, sum 15",
        "t1.total": "2 rows, 2 distinct, 1.50 to 12.50, sum 14.00",
        "t1.day": "2 rows, 1 distinct, 1 empty, 2025-01-03 to 2025-01-03",
    }


def test_rows_that_share_their_first_cell_are_told_apart_by_number() -> None:
    passage = answer("name,n\na,1\na,2\n")
    assert pairs(found(passage, "cell"))[1::2] == [("t1.[0].n", "1"), ("t1.[1].n", "2")]


def test_a_long_table_is_profiled_whole_and_shown_in_part() -> None:
    rows = "".join(f"{number},{number * 2}\n" for number in range(2_600))
    passage = answer(f"id,double\n{rows}")
    assert len(found(passage, "cell")) == 5_000
    assert dict(pairs(found(passage, "column")))["t1.double"].endswith("0 to 5198, sum 6757400")


@pytest.mark.parametrize(
    "text",
    [
        "We met Ann, Bob, and Eve.\nThey said hello, then left.\nNobody came, nobody went.",
        "- Ann, born 1990\n- Bob, born 1991\n- Eve, born 1992",
        "one,two\n",
        "1,2\n3,4\n5,6\n",
        "a | b\nc | d\ne | f\n",
    ],
)
def test_prose_is_no_table(text: str) -> None:
    assert found(answer(text), "table") == []


NAMES = st.text("abcdefgh", min_size=1, max_size=5)
CELLS = st.text("abcXYZ0123456789.:$ é€", max_size=8).map(str.strip)


@given(st.lists(NAMES, min_size=2, max_size=4, unique=True), st.data())
def test_any_table_is_read_back_cell_by_cell(head: list[str], data: st.DataObject) -> None:
    width = len(head)
    rows = data.draw(st.lists(st.lists(CELLS, min_size=width, max_size=width), min_size=2))
    lines = [head, ["---"] * width, *rows]
    passage = answer("\n".join(f"| {' | '.join(line)} |" for line in lines))
    cells = found(passage, "cell")
    assert [one.value for one in cells] == [cell for row in rows for cell in row if cell]
    check_quotes(passage, cells)


@pytest.mark.parametrize(
    ("tool", "given", "artifact"),
    [
        ("str_replace_editor", {"command": "create", "path": "a.py"}, ("a.py", "created")),
        ("str_replace_editor", {"command": "str_replace", "path": "a.py"}, ("a.py", "changed")),
        ("Read", {"file_path": "/srv/a.py"}, ("/srv/a.py", "read")),
        ("write_file", {"path": "a b.txt", "content": "x"}, ("a b.txt", "created")),
        ("deleteFile", {"path": "a.txt"}, ("a.txt", "deleted")),
        ("bash", {"command": "rm -rf 'a b'"}, ("a b", "deleted")),
        ("bash", {"command": "ls && echo hi > out.txt"}, ("out.txt", "created")),
        ("bash", {"command": "echo hi >> out.txt"}, ("out.txt", "changed")),
        ("bash", {"command": "sed -i 's/a/b/' conf.ini"}, ("conf.ini", "changed")),
    ],
)
def test_a_call_tells_what_becomes_of_a_file(
    tool: str, given: dict[str, object], artifact: tuple[str, str]
) -> None:
    assert pairs(found(arguments(tool, **given), "artifact")) == [artifact]


def test_moving_deletes_one_name_and_creates_another() -> None:
    moved = found(arguments("bash", command="mv a.txt b.txt"), "artifact")
    assert pairs(moved) == [("a.txt", "deleted"), ("b.txt", "created")]


def test_what_changes_a_file_is_about_the_file_and_what_reads_it_about_the_call() -> None:
    (changed,) = found(arguments("edit", path="a.py"), "artifact")
    (read,) = found(arguments("read", path="a.py"), "artifact")
    assert (changed.subject, read.subject) == ("", 'read({"path": "a.py"})')


@pytest.mark.parametrize("tool", ["search", "get_weather"])
def test_a_call_that_says_nothing_of_a_file_gives_none(tool: str) -> None:
    assert found(arguments(tool, path="a.py", command="2 > 1"), "artifact") == []


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ok\n[The command completed with exit code 0.]", "0"),
        ("Exit code: 127", "127"),
        ("process exited with -9", "-9"),
    ],
)
def test_a_program_ends_with_a_code(text: str, code: str) -> None:
    assert pairs(found(answer(text), "exit_code")) == [("", code)]


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"error": "no such user"}, ("error", "no such user")),
        ({"status": "failed"}, ("status", "failed")),
        ({"ok": False, "id": 1}, ("ok", "false")),
        ({"result": {"isError": True}}, ("isError", "true")),
    ],
)
def test_an_answer_in_json_tells_its_error(value: object, error: tuple[str, str]) -> None:
    assert pairs(found(answer(json.dumps(value)), "error")) == [error]


@pytest.mark.parametrize("value", [{"error": ""}, {"error": None}, {"ok": True}, {"errors": 0}])
def test_an_answer_that_went_well_has_no_error(value: object) -> None:
    assert found(answer(json.dumps(value)), "error") == []


def test_databases_tell_errors_in_their_own_words() -> None:
    passage = answer('ERROR:  relation "ordrs" does not exist\nLINE 1: SELECT * FROM ordrs')
    (error,) = found(passage, "error")
    assert error.value.startswith('ERROR:  relation "ordrs"')


def test_a_list_of_tasks_in_arguments_is_read_by_its_states() -> None:
    todos = [
        {"content": "read", "status": "completed"},
        {"content": "count", "status": "in_progress"},
        {"content": "write", "status": "unheard of"},
    ]
    tasks = found(arguments("todo_write", todos=todos), "done", "pending")
    assert [(one.predicate, one.value) for one in tasks] == [("done", "read"), ("pending", "count")]


def test_json_line_by_line_is_one_list() -> None:
    passage = answer('{"a": 1}\n\n{"a": "é"}\n{"a": 1}')
    leaves = found(passage, "leaf")
    assert pairs(leaves) == [("[0].a", "1"), ("[1].a", "é"), ("[2].a", "1")]
    assert len({one.span for one in leaves}) == 3


def test_a_text_that_only_begins_like_json_is_read_as_prose() -> None:
    passage = answer("[File: /srv/app/main.py (15 lines total)]\n1:import os")
    assert ("path", "/srv/app/main.py") in pairs(found(passage, "entity_value"))


def test_a_statement_of_sql_is_a_query() -> None:
    asked = found(arguments("run", sql="SELECT 1 FROM t", note="SELECT 2"), "query")
    assert pairs(asked) == [("run", "SELECT 1 FROM t")]


SPOKEN = """I will look.
<function=terminal>
<parameter=command>
ls -la
</parameter>
</function>
Then:
```bash
cat a.py
```
```python
print(1)
```
"""


def test_calls_that_a_model_writes_into_its_text_are_read() -> None:
    passage = Passage(SPOKEN, Author.ASSISTANT, Place.SAID, 1)
    facts = found(passage, "tool_call", "tool_arg", "command")
    assert [(one.predicate, one.key, one.value) for one in facts] == [
        ("tool_call", "", "terminal"),
        ("tool_arg", "command", "ls -la"),
        ("command", "", "cat a.py"),
    ]
    check_quotes(passage, facts)
    assert found(Passage(SPOKEN, Author.HUMAN, Place.SAID, 1), "tool_call", "command") == []


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("book it for next Friday", "day", "next Friday"),
        ("come the day after tomorrow", "day", "the day after tomorrow"),
        ("at half past 11 in the morning", "clock", "half past 11 in the morning"),
        ("I live in San Jose. Can you come?", "name", "San Jose"),
        ("I am flying to St. Louis now", "name", "St. Louis"),
        ("on May 20th", "date", "--05-20"),
        ("call 408-247-8880 now", "id", "408-247-8880"),
        ("it has 1.5 million users", "number", "1500000"),
        ("pay $2 million", "money", "2000000"),
        ("order #W4923227 please", "id", "#W4923227"),
        ("we come back on the 13th of March.", "date", "--03-13"),
        ("on march 5th, please", "date", "--03-05"),
        ("it begins on Feb. 3rd", "date", "--02-03"),
        ("come at 5:30 in the evening", "clock", "5:30 in the evening"),
        ("at four in the evening", "clock", "four in the evening"),
        ("it closes at 5:15 pm.", "clock", "5:15 pm"),
        ("the 9th of this month", "day", "9th of this month"),
        ("I leave on the 3rd", "day", "the 3rd"),
        ("a table for three of us", "number", "3"),
        ("find shows in Atlanta, GA", "name", "Atlanta, GA"),
        ("LAX", "name", "LAX"),
        ("book a table at The Grill", "name", "The Grill"),
    ],
)
def test_what_people_say_is_read_for_days_names_and_large_numbers(
    text: str, kind: str, value: str
) -> None:
    passage = Passage(text, Author.HUMAN, Place.SAID, 0)
    assert pairs(found(passage, "entity_value")) == [(kind, value)]


@pytest.mark.parametrize("text", ["Fondue would be fine.", "Right. Thanks!", "the grill is hot"])
def test_a_word_with_which_a_sentence_begins_is_no_name(text: str) -> None:
    passage = Passage(text, Author.HUMAN, Place.SAID, 0)
    assert pairs(found(passage, "entity_value")) == []


def test_days_that_a_model_names_are_read_and_its_names_are_not() -> None:
    passage = Passage("A table at The Grill for two tomorrow?", Author.ASSISTANT, Place.SAID, 0)
    assert pairs(found(passage, "entity_value")) == [("day", "tomorrow")]


@pytest.mark.sampled(4, "laws")
@pytest.mark.parametrize(
    "piece",
    [
        "|a|b\n",
        "a,b\n",
        "```\n",
        "<parameter=a>",
        "> a ",
        "rm a ",
        "Ab ",
        "half past ",
        "--|\n",
        "(",
    ],
)
def test_a_piece_repeated_without_end_is_read_in_linear_time(piece: str) -> None:
    # Were it read again from each character, this would not come to an end.
    text = piece * 4_000
    for author, place in (
        (Author.HUMAN, Place.SAID),
        (Author.ASSISTANT, Place.SAID),
        (Author.TOOL, Place.ANSWER),
    ):
        list(facts_of([Passage(text, author, place, 0)]))
    list(facts_of([arguments("bash", command=text)]))
