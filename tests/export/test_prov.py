"""PROV documents are read by the library of their format, and say what was decided on what."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest
from prov.model import ProvDocument

from constat.proof.export.prov import to_prov_json, to_prov_n
from tests.check.catalog import good, small
from tests.export.worlds import WORLDS, hostile, hostile_fields, vip

if TYPE_CHECKING:
    from collections.abc import Callable

# The library writes a time with its zone, and without a fraction of zero.
_MOMENT = re.compile(r"(\d\d:\d\d:\d\d)(?:\.000000)?(?:\+00:00|Z)")
MAKERS: list[Callable[[], bytes]] = [*(make for _, make in WORLDS), hostile, hostile_fields]
Section = dict[str, dict[str, Any]]


def read(data: bytes) -> ProvDocument:
    return ProvDocument.deserialize(content=to_prov_json(data), format="json")


def bundle(data: bytes) -> dict[str, Section]:
    # The outermost decision comes first, those it cites after it.
    found: dict[str, Section] = next(iter(json.loads(to_prov_json(data))["bundle"].values()))
    return found


@pytest.mark.parametrize("make", MAKERS)
def test_prov_json_is_read_back_and_written_the_same(make: Callable[[], bytes]) -> None:
    provenance = read(make())
    again = ProvDocument.deserialize(content=provenance.serialize(format="json"), format="json")
    assert again == provenance
    assert len(list(provenance.bundles)) == len(json.loads(to_prov_json(make()))["bundle"])


@pytest.mark.parametrize("make", MAKERS)
def test_prov_n_says_what_the_library_writes_of_the_same_document(
    make: Callable[[], bytes],
) -> None:
    def lines(text: str) -> list[str]:
        told = (_MOMENT.sub(r"\1Z", line.strip()) for line in text.splitlines())
        # Prefixes that a bundle inherits need not be said in it again.
        return sorted(line for line in told if line and not line.startswith("prefix"))

    data = make()
    assert lines(to_prov_n(data)) == lines(read(data).get_provn())


def test_every_construct_of_certificates_has_a_provenance() -> None:
    for name in small():
        data = good(name).data()
        document = json.loads(to_prov_json(data))
        assert len(document["bundle"]) >= 1 + bool(json.loads(data)["proofs"]), name


def test_every_name_that_is_used_is_described() -> None:
    for make in MAKERS:
        data = bundle(make())
        document = json.loads(to_prov_json(make()))
        described = {
            name
            for part in (document, *document["bundle"].values())
            for kind in ("entity", "activity", "agent")
            for name in part[kind]
        } | set(document["bundle"])
        relations = {
            name: one for kind in data for name, one in data[kind].items() if kind != "prefix"
        }
        for kind, members in data.items():
            if kind in {"prefix", "entity", "activity", "agent"}:
                continue
            for one in members.values():
                ends = [end for key, end in one.items() if key not in {"prov:type", "prov:role"}]
                assert [end for end in ends if end not in described | set(relations)] == []


def test_every_rule_application_is_an_activity_with_its_rule_as_plan() -> None:
    data = vip("is_vip(C1)")
    steps = [node for node in json.loads(data)["nodes"] if node["kind"] == "rule"]
    planned = [
        one
        for one in bundle(data)["wasAssociatedWith"].values()
        if one["prov:activity"].startswith("proof:apply-")
    ]
    assert len(planned) == len(steps)
    assert all("prov:plan" in one for one in planned)


def test_premises_are_used_with_their_place_as_role() -> None:
    roles = [
        one["prov:role"]["$"]
        for one in bundle(vip("is_vip(C1)"))["used"].values()
        if "prov:role" in one
    ]
    assert {"constat:body-1", "constat:body-2", "constat:body-4"} <= set(roles)


def test_logical_steps_carry_no_time() -> None:
    activities = bundle(vip("is_vip(C1)"))["activity"]
    timed = [name for name, one in activities.items() if "prov:endTime" in one]
    assert timed
    assert not any(name.startswith(("proof:apply", "proof:check", "proof:fold")) for name in timed)


def test_no_entity_is_generated_twice() -> None:
    for make in MAKERS:
        made = [one["prov:entity"] for one in bundle(make())["wasGeneratedBy"].values()]
        assert len(made) == len(set(made))


def test_what_two_certificates_share_has_one_name() -> None:
    one, other = bundle(vip("is_vip(C1)"))["entity"], bundle(vip("is_vip(?c)"))["entity"]
    shared = set(one) & set(other)
    assert any(name.startswith("fact:") for name in shared)
    assert any(name.startswith("rule:") for name in shared)
    assert any(name.startswith("data:") for name in shared)


def test_the_same_certificate_gives_the_same_text() -> None:
    data = vip("is_vip(C1)")
    assert to_prov_json(data) == to_prov_json(bytes(data))
    assert to_prov_n(data) == to_prov_n(bytes(data))
