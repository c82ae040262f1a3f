"""Values that break other programs stay values in every format."""

from __future__ import annotations

import csv
import io
import json
import unicodedata
import xml.dom.minidom as dom
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from constat.proof.export.graph import to_graphml
from constat.proof.export.packages import to_lean
from constat.proof.export.prov import to_prov_n
from constat.proof.export.tables import to_csv
from constat.proof.formats import FORMATS, Format, write_format
from constat.proof.render import printable
from tests.export.worlds import HOSTILE, HOSTILE_RULES, hostile
from tests.proof.asking import Table, analysed, ask, certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

TEXTS = [one for one in FORMATS if not one.binary]
DRAWN = {"html", "markdown", "svg", "dot", "mermaid"}
HIDDEN = {"Cc", "Cf", "Cs", "Cn", "Co", "Zl", "Zp"}


def hidden(text: str) -> Iterator[str]:
    """Yield what a terminal would obey and a reader would not see."""
    for one in set(text):
        if one not in "\n\t\r" and unicodedata.category(one) in HIDDEN:
            yield f"U+{ord(one):04X}"


@pytest.mark.parametrize(
    "form", [one for one in TEXTS if one.name not in DRAWN], ids=lambda one: one.name
)
def test_no_export_holds_what_a_terminal_obeys_or_hides(form: Format) -> None:
    text = write_format(form, hostile()).decode()
    assert sorted(hidden(text)) == []
    assert ("\r" in text) == (form.name == "csv")
    assert text.endswith("\n")


@pytest.mark.parametrize("name", ["graphml", "gexf"])
def test_xml_is_well_formed_and_holds_no_element_of_the_data(name: str) -> None:
    (form,) = (one for one in FORMATS if one.name == name)
    document = dom.parseString(write_format(form, hostile()))  # noqa: S318  we wrote it
    assert document.getElementsByTagName("script") == []
    assert document.getElementsByTagName("b") == []


def test_the_checker_in_lean_gets_the_values_themselves() -> None:
    edges = json.loads(to_lean(hostile()))["graph"]["edges"]
    noted = {
        edge["vertex"]["terms"][0]["constant"]
        for edge in edges
        if edge["vertex"]["symbol"] == "noted"
    }
    assert noted == set(HOSTILE)


@settings(max_examples=15)
@given(
    st.lists(
        st.text(
            alphabet=st.characters(blacklist_characters="\0", blacklist_categories=["Cs"]),
            max_size=12,
        ),
        min_size=1,
        max_size=4,
        unique=True,
    )
)
def test_any_text_is_one_value_everywhere(texts: list[str]) -> None:
    rows = tuple((number, text) for number, text in enumerate(texts))
    program = analysed(HOSTILE_RULES)
    data = certificate(ask(program, "noted(?text)", {"note": Table(rows)}))
    shown = {f"noted({printable(text)})" for text in texts}
    table = csv.DictReader(io.StringIO(to_csv(data), newline=""))
    assert shown <= {row["fact"].removeprefix("'") for row in table}
    graph = dom.parseString(to_graphml(data))  # noqa: S318  we wrote it
    told = {
        element.firstChild.data
        for element in graph.getElementsByTagName("data")
        if isinstance(element.firstChild, dom.Text)
    }
    assert shown <= told
    assert sorted(hidden(to_prov_n(data))) == []
