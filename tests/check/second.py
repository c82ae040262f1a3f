"""Certificates of the first format as ones of the second: the same logic and no nulls."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.check.writer import Tree

LATER = ("author", "owner", "version")


def upgraded(tree: Tree) -> Tree:
    """Return the tree in the second format; what is malformed stays so."""
    found = copy.deepcopy(tree)
    if found.get("format") != "constat-cert/1":
        return found
    found["format"] = "constat-cert/2"
    found |= {"values": [], "labels": [], "filled": [], "redaction": None}
    for one in _objects(found.get("declarations")):
        columns = one.get("columns")
        width = len(columns) if isinstance(columns, list) else 0
        one |= {"texts": [], "nulls": [None] * width, "given": []}
    for rule in _objects(found.get("rules")):
        rule |= {"texts": [], **dict.fromkeys(LATER)}
    for one in _objects(found.get("sources")):
        one |= {"authority": None, "span": None}
    header = found.get("header")
    if isinstance(header, dict):
        header["asked_by"] = None
    return found


def _objects(value: object) -> list[Tree]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
