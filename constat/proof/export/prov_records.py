"""The records of W3C PROV, as plain values: what its four notations are written from.

In: nothing.  Out: names, values, elements and relations.  Invariant: a record says the same in
every notation; relations that others refer to have a name, the rest has none.  See PROV-DM,
www.w3.org/TR/prov-dm.

Example: ``Relation("used", (("activity", step), ("entity", premise)))``.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMESPACES: Final = (
    ("prov", "http://www.w3.org/ns/prov#"),
    ("constat", "urn:constat:terms:"),
    ("fact", "urn:constat:fact:"),
    ("rule", "urn:constat:rule:"),
    ("data", "urn:constat:data:"),
    ("agent", "urn:constat:agent:"),
    ("decision", "urn:constat:decision:"),
)
PROOF: Final = "urn:constat:proof:"


@dataclass(frozen=True, slots=True)
class Name:
    """A qualified name; ``local`` holds only letters, digits, ``-``, ``_`` and ``.``."""

    prefix: str
    local: str

    def __str__(self) -> str:
        return f"{self.prefix}:{self.local}"


Value = str | int | Name
Pairs = tuple[tuple[str, Value], ...]


@dataclass(frozen=True, slots=True)
class Element:
    """An ``entity``, ``activity`` or ``agent``.

    ``values`` are attributes by the local part of their name; ``label`` and ``value`` are those of
    PROV, the others are ours.  ``ended`` is the end of an activity.
    """

    section: str
    name: Name
    types: tuple[Name, ...] = ()
    values: Pairs = ()
    ended: str | None = None


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between elements; ``ends`` are its arguments by name, in their order in PROV-N."""

    section: str
    ends: tuple[tuple[str, Name], ...]
    name: Name | None = None
    kind: Name | None = None
    role: Name | None = None

    def end(self, name: str) -> Name | None:
        """Return an argument; ``None`` where it was not given."""
        return dict(self.ends).get(name)


Record = Element | Relation


@dataclass(frozen=True, slots=True)
class Bundle:
    """The records of one decision; ``namespace`` is what its prefix ``proof`` stands for."""

    name: Name
    namespace: str
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who made which bundle, and the bundles, the outermost first."""

    records: tuple[Record, ...]
    bundles: tuple[Bundle, ...]


def constat(local: str) -> Name:
    """Return a name of our vocabulary."""
    return Name("constat", local)


def prov(local: str) -> Name:
    """Return a name of PROV."""
    return Name("prov", local)


def named(prefix: str, *parts: str | None) -> Name:
    """Return the name of what these texts identify: the same in every export."""
    told = json.dumps(parts, ensure_ascii=True)
    return Name(prefix, hashlib.sha256(told.encode()).hexdigest())


class Records:
    """Collects the records of a bundle; an element that is met again is written once."""

    def __init__(self) -> None:
        self._elements: dict[Name, Element] = {}
        self._relations: list[Relation] = []

    def entity(self, name: Name, *types: Name, **values: Value | None) -> Name:
        """Add an entity; what is ``None`` or empty is left out."""
        return self._element("entity", name, types, values)

    def agent(self, name: Name, *types: Name, **values: Value | None) -> Name:
        """Add an agent."""
        return self._element("agent", name, types, values)

    def activity(
        self, name: Name, *types: Name, ended: str | None = None, **values: Value | None
    ) -> Name:
        """Add an activity."""
        return self._element("activity", name, types, values, ended)

    def _element(
        self,
        section: str,
        name: Name,
        types: tuple[Name, ...],
        values: Mapping[str, Value | None],
        ended: str | None = None,
    ) -> Name:
        stated = tuple((key, one) for key, one in values.items() if one is not None and one != "")
        self._elements.setdefault(name, Element(section, name, types, stated, ended))
        return name

    def generation(self, entity: Name, activity: Name, name: Name | None = None) -> None:
        """An activity made an entity."""
        self._relate("wasGeneratedBy", (("entity", entity), ("activity", activity)), name=name)

    def usage(
        self, activity: Name, entity: Name, role: Name | None = None, name: Name | None = None
    ) -> None:
        """An activity used an entity."""
        ends = (("activity", activity), ("entity", entity))
        self._relate("used", ends, name=name, role=role)

    def association(
        self, activity: Name, agent: Name, plan: Name | None = None, role: Name | None = None
    ) -> None:
        """An agent is responsible for an activity, and followed a plan."""
        ends = (("activity", activity), ("agent", agent))
        planned = () if plan is None else (("plan", plan),)
        self._relate("wasAssociatedWith", (*ends, *planned), role=role)

    def attribution(self, entity: Name, agent: Name) -> None:
        """An agent is responsible for an entity."""
        self._relate("wasAttributedTo", (("entity", entity), ("agent", agent)))

    def derivation(self, entity: Name, used: Name, kind: Name | None = None, **more: Name) -> None:
        """An entity was made from another; ``more`` are ``activity``, ``generation``, ``usage``."""
        ends = (("generatedEntity", entity), ("usedEntity", used), *more.items())
        self._relate("wasDerivedFrom", ends, kind=kind)

    def specialization(self, specific: Name, general: Name) -> None:
        """An entity presents aspects of a more general one."""
        ends = (("specificEntity", specific), ("generalEntity", general))
        self._relate("specializationOf", ends)

    def alternate(self, one: Name, other: Name) -> None:
        """Two entities present aspects of the same thing."""
        self._relate("alternateOf", (("alternate1", one), ("alternate2", other)))

    def member(self, collection: Name, entity: Name) -> None:
        """An entity belongs to a collection."""
        self._relate("hadMember", (("collection", collection), ("entity", entity)))

    def mention(self, specific: Name, general: Name, bundle: Name) -> None:
        """An entity is the one that another bundle describes."""
        ends = (("specificEntity", specific), ("generalEntity", general), ("bundle", bundle))
        self._relate("mentionOf", ends)

    def _relate(
        self,
        section: str,
        ends: tuple[tuple[str, Name], ...],
        *,
        name: Name | None = None,
        kind: Name | None = None,
        role: Name | None = None,
    ) -> None:
        self._relations.append(Relation(section, ends, name, kind, role))

    def finished(self) -> tuple[Record, ...]:
        """Return elements, then relations, each once."""
        return (*self._elements.values(), *dict.fromkeys(self._relations))
