"""A certificate as exports read it: its members, its labels, who speaks for what, in words."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from constat.diagnostics import ConstatError, Diagnostic
from constat.evaluation import CONFLICT
from constat.logic import OPEN, Constant, Kind, Spoken
from constat.proof.decoding import decode_program, read_members
from constat.proof.encoding import said_digest
from constat.proof.render import printable
from constat.proof.sentences import (
    ASKED,
    PLAIN,
    describe_fact,
    said_predicates,
    show_value,
    words,
)
from constat.proof.written import as_written
from constat.syntax import parse_goal, print_literal, print_rule

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import OpenRow, Predicate, Slot, Term
    from constat.proof.sentences import Speech

# Nothing hides or turns what stands around it, and what is cut off is counted.

LONGEST: Final = 600

ORIGINS: Final = MappingProxyType(
    {
        "CONFIG": Spoken("configuration", "Konfiguration"),
        "DATABASE": Spoken("database", "Datenbank"),
        "USER_PROVIDED": Spoken("a person's word", "das Wort einer Person"),
        "LLM_KNOWLEDGE": Spoken("a model's word", "das Wort eines Modells"),
        "LLM_HEURISTIC": Spoken("a model's guess", "die Vermutung eines Modells"),
        "SUB_PLAN": Spoken("a drafted plan", "ein entworfener Plan"),
        "API": Spoken("a service's word", "das Wort eines Dienstes"),
        "DOCUMENT": Spoken("a document's word", "das Wort eines Dokuments"),
        "DERIVED": Spoken("another certificate", "eine andere Bescheinigung"),
    }
)
"""What people call the origins of rows."""

_RIGHT: Final = (
    "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]"
)
_RIGHT_TO_LEFT: Final = re.compile(f"{_RIGHT}+(?:[ ._'-]+{_RIGHT}+)*")


def shortened(text: str, most: int = LONGEST) -> str:
    """Return printable text that is not endless; what is cut off is counted."""
    if len(text) <= most:
        return printable(text)
    return f"{printable(text[:most])}… ({len(text):,} characters)"


def shortened_lines(text: str, most: int = LONGEST) -> str:
    """Return text of several lines, each printable and none endless."""
    return "\n".join(shortened(line, most) for line in text.split("\n"))


def capital(data: str) -> str:
    """Begin a sentence; a word that holds a capital or a digit further on is a name and stays."""
    first = data.split(" ", 1)[0]
    return data[:1].upper() + data[1:] if first.islower() and first.isalpha() else data


def isolated(text: str) -> str:
    """Set words of right-to-left scripts apart, so that figures beside them stay where they are.

    Without it a name in Hebrew and a figure behind it would be shown exchanged.  For what is
    written out last: ``printable`` would escape the marks.  See Unicode Standard Annex 9, 2.4.
    """
    return text if text.isascii() else _RIGHT_TO_LEFT.sub("\u2068\\g<0>\u2069", text)


def origin_of(source: Members, speech: Speech = PLAIN) -> str:
    """Return where the rows of a source come from, in words."""
    spoken = ORIGINS.get(source["origin"])
    return shortened(source["origin"]) if spoken is None else speech.said(spoken)


TIERS: Final = MappingProxyType(
    {
        "cache": Spoken("cache", "Zwischenspeicher"),
        "config": Spoken("config", "Konfiguration"),
        "database": Spoken("database", "Datenbank"),
        "api": Spoken("api", "Dienst"),
        "document": Spoken("document", "Dokument"),
        "user": Spoken("user", "Person"),
        "model": Spoken("model", "Modell"),
        "knowledge": Spoken("knowledge", "Wissen eines Modells"),
        "heuristic": Spoken("heuristic", "Vermutung eines Modells"),
        "supposed": Spoken("supposed", "angenommen"),
        "rules": Spoken("rules", "Regeln"),
        "frames": Spoken("frames", "Tabellen des Programms"),
        "certificates": Spoken("certificates", "Bescheinigungen"),
        "rights": Spoken("rights", "Rechte"),
    }
)
"""What people call the tiers of ours; those of others have names of their own."""
SEARCHED: Final = MappingProxyType(
    {
        "exhausted": Spoken("exhausted", "zu Ende geführt"),
        "stopped": Spoken("stopped", "beendet, sobald es feststand"),
    }
)
"""How far it was searched, as the header says it."""
SNAPSHOTS: Final = MappingProxyType(
    {
        "one": Spoken("one", "einer"),
        "not one snapshot": Spoken("not one snapshot", "kein gemeinsamer Abzug"),
    }
)
"""Whether what was read is of one state, as the header says it."""
# Texts of ours that stand in certificates, each as a whole: what others worded stays as it is.
_RAISES: Final = r"(?:; `(\w+)` of `limits` in (\S+) raises it)?"
_RAISED: Final = "; `{0}` von `limits` in {1} hebt sie"
_IN_GERMAN: Final = tuple(
    (re.compile(english), german)
    for english, german in (
        (r"entry (\d+) of the log, after (sha256:\w+)", "Eintrag {0} des Protokolls, nach {1}"),
        (
            rf"the time limit of (\S+) seconds was reached{_RAISES}",
            "die Zeitgrenze von {0} Sekunden wurde erreicht{raised}",
        ),
        (
            rf"the limit of (\S+) (\w+) was reached{_RAISES}",
            "die Grenze `{1}` von {0} wurde erreicht{raised}",
        ),
        (r"it does not know", "es weiß es nicht"),
        (r"it said nothing about this key", "es sagte nichts zu diesem Schlüssel"),
        (r"it answered twice for this key", "es antwortete zweimal zu diesem Schlüssel"),
        (
            r"it knows of no row, and does not speak for all",
            "es weiß von keiner Zeile und spricht nicht für alle",
        ),
        (
            r"nothing tells all facts of (\w+): it has no source that does",
            "nichts nennt alle Tatsachen von {0}: es gibt keine Quelle, die das tut",
        ),
    )
)


def own_words(told: str, speech: Speech = PLAIN) -> str:
    """Return a text of ours that a certificate holds, in the language of a page."""
    if not speech.german:
        return told
    for english, german in _IN_GERMAN:
        found = english.fullmatch(told)
        if found is not None:
            parts = found.groups()
            more = _RAISED.format(*parts[-2:]) if "{raised}" in german and parts[-1] else ""
            return german.format(*parts, raised=more)
    return told


def by_code(code: str, spoken: Mapping[str, Spoken], speech: Speech = PLAIN) -> str:
    """Return what people call a code of the format; one that nobody names stays as it is."""
    return speech.said(spoken[code]) if code in spoken else code


def tier_of(source: Members, speech: Speech = PLAIN) -> str:
    """Return the tier of a source, and what came before it: ``cache, database``."""
    parts = source["tier"].split(", ")
    return shortened(", ".join(by_code(one, TIERS, speech) for one in parts))


def said_of(source: Members, speech: Speech = PLAIN) -> str:
    """Return who stated the rows of a source or set them, or what its project says it is."""
    said = shortened(source["author"] or "")
    if source["origin"] == "DATABASE":
        return said
    if source["origin"] == "CONFIG":
        return speech.say("set by {0}", "festgesetzt von {0}", said)
    return speech.say("stated by {0}", "angegeben von {0}", said)


# Labels are printable, so no export carries control characters of data.  `ValueError` for what is
# no certificate; whether it is *right* is for the checker to say, not for an export.

Members = dict[str, Any]
TextRow = tuple[str | None, ...]
TextFact = tuple[str, TextRow]


def rule_title(rule_id: str, speech: Speech = PLAIN) -> str:
    """Return a rule's name; one that nobody named is the first, or so, of what it concludes."""
    found = _UNNAMED.fullmatch(rule_id)
    if found is None:
        return rule_id
    name, made, number = found.groups()
    if f"{name}{made or ''}" == ASKED:
        return speech.say("of the question itself", "der Frage selbst")
    told = words(name).removeprefix("is ")
    quoted = speech.say("\u2018{0}\u2019", "\u201a{0}\u2018", told)
    told = quoted if " " in told or speech.german else told
    ours = speech.say(", made by Constat", ", von Constat gebildet") if made else ""
    return speech.say("{0} of {1}{2}", "{0} für {1}{2}", number, told, ours)


def say_change(
    predicate: Predicate, row: OpenRow, other: OpenRow | None, speech: Speech = PLAIN
) -> str:
    """Say that a row is not there, or that one number of it is another."""
    fact = describe_fact(predicate, row, speech)
    if other is None:
        return speech.say("without the entry that {0}", "ohne diesen Eintrag: {0}", fact)
    place = next(at for at, cell in enumerate(row) if cell != other[at])
    column, was, now = predicate.columns[place], row[place], other[place]
    by = abs(Decimal(str(now)) - Decimal(str(was)))
    shown = [_number(one, column.kind, speech) for one in (now, was, by)]
    less = Decimal(str(now)) < Decimal(str(was))
    way = speech.say("less", "weniger") if less else speech.say("more", "mehr")
    return speech.say(
        "{0} {1} in place of {2} ({3} {4}), where {5}",
        "{0} {1} statt {2} ({3} {4}), wo gilt: {5}",
        *(words(column.name), *shown, way, fact),
    )


def _number(value: Slot, kind: Kind, speech: Speech) -> str:
    # Sums of decimals keep zeros that nobody wrote.
    bare = (
        value if isinstance(value, int) else Decimal(format(Decimal(str(value)).normalize(), "f"))
    )
    return show_value(int(bare) if kind is not Kind.DECIMAL else bare, kind, "", speech)


def _cell(term: Term) -> Slot:
    return term.value if isinstance(term, Constant) else OPEN


_UNNAMED: Final = re.compile(r"([A-Za-z_]\w*)(\.[\w.]+)?\.([0-9]+[a-z]*)")


class Document:
    """The parsed certificate, with how its sentences are said."""

    def __init__(self, certificate: bytes, speech: Speech = PLAIN) -> None:
        self.speech = speech
        try:
            members = read_members(certificate)
        except json.JSONDecodeError:
            raise ValueError("this is no certificate: it is not JSON") from None
        except (UnicodeDecodeError, RecursionError):
            raise ValueError("this is no certificate: it is not JSON") from None
        self.members: Members = members
        self._certificate = certificate
        try:
            self.header: Members = members["header"]
            self.nodes: list[Members] = members["nodes"]
            self.rules: list[Members] = members["rules"]
            self.sources: list[Members] = members["sources"]
            self.facts: list[Members] = members["facts"]
            self.record: Members = members["record"]
            self.assumptions: list[Members] = members["assumptions"]
            self.identity: str = members["identity"]
            self.columns = {
                one["name"]: [name for name, _ in one["columns"]] for one in members["declarations"]
            }
        except (KeyError, TypeError, ValueError):
            raise ValueError("this is no certificate: a member is missing") from None

    @cached_property
    def program(self) -> AnalysedProgram:
        """The rules and declarations as values of the logic, and how their values are said."""
        found = decode_program(self.members)
        told = replace(found.program, predicates=said_predicates(found))
        return replace(found, program=told)

    @cached_property
    def rule_digests(self) -> list[str]:
        """The hashes of what the rules say, by which approvals name them."""
        # As they stand in the file: `members` has variables for what is not read.
        return [said_digest(rule) for rule in json.loads(self._certificate)["rules"]]

    def fed_by(self, sources: Collection[int]) -> list[str]:
        """Name the predicates whose rows, or whose absence, rest on some sources."""
        members = self.members
        found = [one["predicate"] for one in self.facts if one["source"] in sources]
        wanted = set(sources)
        found += [
            o["predicate"] for o in members["coverage"] if not wanted.isdisjoint(o["sources"])
        ]
        return sorted(set(found))

    @cached_property
    def rule_texts(self) -> list[str]:
        """The rules as text for people, printed from what a checker checks.

        Atoms of more than five columns are written by name; the certificate's own texts are not.
        """
        predicates = self.program.program.predicates
        return [print_rule(rule, predicates) for rule in self.program.rules]

    @cached_property
    def changes(self) -> list[dict[str, str]]:
        """What its writer found to turn a "no", with printable texts; nothing proves it."""
        listed = self.record.get("changes", ())
        told = [{name: shortened(one[name] or "") for name in one} for one in listed]
        if not self.speech.german:
            return told
        return [{**one, "text": self._said_change(one) or one["text"]} for one in told]

    def _said_change(self, change: Mapping[str, str]) -> str:
        """Say a change by its rows, in the language of the page; empty where they are unlike."""
        program = self.program.program
        try:
            atoms = [parse_goal(change[one], program) for one in ("remove", "add") if change[one]]
        except ConstatError:
            return ""
        predicate = program.predicates[atoms[0].predicate]
        rows = [tuple(_cell(term) for term in one.terms) for one in atoms]
        if atoms[-1].predicate != predicate.name:
            return ""
        return say_change(predicate, rows[0], rows[1] if rows[1:] else None, self.speech)

    @cached_property
    def conflicts(self) -> list[str]:
        """Who says another value for a key: assumptions that nothing names (decision 0050)."""
        texts = (one["text"] for one in self.assumptions if one["kind"] == "fact")
        return [one.removeprefix(CONFLICT) for one in texts if one.startswith(CONFLICT)]

    def goal(self) -> str:
        """Return the goal as text; of several literals as they were asked."""
        name = self.header["goal"][0]
        if name == ASKED:
            rules = [one for one in self.program.program.rules if one.head.predicate == name]
            predicates = self.program.program.predicates
            return ", ".join(print_literal(one, predicates) for one in as_written(rules[0].body))
        return self.atom(*self.header["goal"])

    def verdict(self) -> str:
        """Return the verdict and the goal as people read them."""
        return f"{self.header['verdict'].replace('_', ' ')}: {self.goal()}"

    def answers(self) -> list[int]:
        """Return the nodes that the goal's pattern matches."""
        predicate, pattern = self.header["goal"]
        return [
            place
            for place, node in enumerate(self.nodes)
            if node["fact"][0] == predicate and matches(pattern, node["fact"][1])
        ]

    def holds(self, group: Members) -> bool:
        """Tell whether the rows of a fact group hold in the certificate's reading."""
        under = self.header["under"]
        proof = self.sources[group["source"]].get("proof")
        imported = proof["assumptions"] if proof else ()
        assumption = group["assumption"]
        return (assumption is None or assumption in under) and all(one in under for one in imported)

    @cached_property
    def fillings(self) -> dict[tuple[int, int], list[Members]]:
        """Return what fills the null cells of rows in the reading, by fact group and row."""
        found: dict[tuple[int, int], list[Members]] = {}
        for one in self.members["filled"]:
            if one["assumption"] in self.header["under"]:
                found.setdefault((one["facts"], one["row"]), []).append(one)
        return found

    def rows(self, number: int) -> list[TextRow]:
        """Return the rows of a fact group in the reading: their null cells filled."""
        found: list[TextRow] = [tuple(row) for row in self.facts[number]["rows"]]
        for (group, at), told in self.fillings.items():
            if group == number:
                values = {one["column"]: one["value"] for one in told}
                found[at] = tuple(values.get(place, c) for place, c in enumerate(found[at]))
        return found

    def atom(self, predicate: str, row: Sequence[str | None]) -> str:
        """Return an atom as text; what is open or a variable is its column with a ``?``."""
        columns = self.columns.get(predicate, [])
        shown = [
            printable(cell) if cell is not None else f"?{columns[at] if at < len(columns) else at}"
            for at, cell in enumerate(row)
        ]
        return f"{printable(predicate)}({', '.join(shown)})"

    def instance(self, node: Members, place: int) -> str:
        """Return a body literal of a rule node with the values of its variables."""
        rule = self.rules[node["rule"]]
        names = [name for name, _ in rule["variables"]]
        values = dict(zip(names, node["bind"], strict=True))
        literal = rule["body"][place]
        if literal[0] == "a":
            result = values.get(literal[2][1])
            shown = "beyond its bound" if result is None else f"= {printable(result)}"
            return f"{printable(str(literal[1]))} {shown}"
        if literal[0] == "?":
            return f"{_term(literal[2], values)} {literal[1]} {_term(literal[3], values)}"
        predicate, terms = literal[1]
        inside = ", ".join(_term(term, values) for term in terms)
        return f"{'!' if literal[0] == '-' else ''}{printable(predicate)}({inside})"

    def premises(self, node: Members, place: int) -> list[int]:
        """Return the nodes a body literal rests on; of a threshold those of all its summands."""
        premise = node["premises"][place]
        if isinstance(premise, list):
            below = [one for _, premises in premise for one in premises if one is not None]
            return list(dict.fromkeys(below))
        return [] if premise is None else [premise]

    def literal_predicates(self, node: Members, place: int) -> list[str]:
        """Return the predicates a body literal speaks about."""
        literal = self.rules[node["rule"]]["body"][place]
        if literal[0] == "a":
            return [inner[1][0] for inner in literal[4] if inner[0] != "?"]
        return [] if literal[0] == "?" else [literal[1][0]]

    def sources_of(self, predicate: str) -> list[int]:
        """Return the sources that speak for a predicate."""
        return list(self._speaking.get(predicate, ()))

    def reads(self, predicate: str) -> tuple[str, ...]:
        """Return the predicates that the rules of a predicate speak about, through others too."""
        found: dict[str, None] = {}
        waiting = [predicate]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found[name] = None
                waiting += self._below.get(name, ())
        return tuple(found)

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """For each derived predicate those its rules mention."""
        found: dict[str, list[str]] = {}
        for rule in self.rules:
            mentioned = found.setdefault(rule["head"][0], [])
            for literal in rule["body"]:
                inner = literal[4] if literal[0] == "a" else [literal]
                mentioned += [one[1][0] for one in inner if one[0] != "?"]
        return found

    def coverages(self, predicate: str, pattern: Sequence[str | None]) -> list[Members]:
        """Return the coverages that serve a pattern."""
        return [
            coverage
            for columns, keys in self._coverage.get(predicate, ())
            for coverage in keys.get(tuple([pattern[column] for column in columns]), ())
        ]

    def has_closed_set(self, predicate: str) -> bool:
        """Tell whether the closure speaks about a predicate."""
        return predicate in self._closed

    def is_closed(self, predicate: str, pattern: Sequence[str | None]) -> bool:
        """Tell whether an entry of the closure serves a pattern."""
        return any(
            tuple([pattern[column] for column in columns]) in keys
            for columns, keys in self._closed.get(predicate, ())
        )

    def speakers(self, predicate: str, pattern: Sequence[str | None]) -> list[int]:
        """Return the sources whose answers say that these are all rows of a pattern."""
        return next((list(one["sources"]) for one in self.coverages(predicate, pattern)), [])

    @cached_property
    def _speaking(self) -> dict[str, dict[int, None]]:
        """The sources that coverages name, by predicate."""
        found: dict[str, dict[int, None]] = {}
        for one in self.members["coverage"]:
            found.setdefault(one["predicate"], {}).update(dict.fromkeys(one["sources"]))
        return found

    @cached_property
    def _closed(self) -> dict[str, list[tuple[tuple[int, ...], frozenset[TextRow]]]]:
        """The closure's entries by predicate: columns and keys."""
        found: dict[str, list[tuple[tuple[int, ...], frozenset[TextRow]]]] = {}
        for one in self.members["closure"]["entries"]:
            keys = frozenset(tuple(key) for key in one["keys"])
            found.setdefault(one["predicate"], []).append((tuple(one["columns"]), keys))
        return found

    @cached_property
    def _coverage(self) -> dict[str, list[tuple[tuple[int, ...], dict[TextRow, list[Members]]]]]:
        """The coverage by predicate: columns, and the entries for each of their keys.

        What is shown for one literal alone serves no others.
        """
        found: dict[str, dict[tuple[int, ...], dict[TextRow, list[Members]]]] = {}
        for one in (one for one in self.members["coverage"] if "for" not in one):
            keys = found.setdefault(one["predicate"], {}).setdefault(tuple(one["columns"]), {})
            for key in one["keys"]:
                keys.setdefault(tuple(key), []).append(one)
        return {name: list(shapes.items()) for name, shapes in found.items()}


def matches(pattern: Sequence[str | None], row: Sequence[str | None]) -> bool:
    """Tell whether a row has the pattern's values."""
    return all(cell is None or cell == mine for cell, mine in zip(pattern, row, strict=True))


def _term(term: list[Any], values: dict[str, str | None]) -> str:
    match term:
        case ["v", name]:
            value = values.get(name)
            return f"?{printable(name)}" if value is None else printable(value)
        case ["c", _, value]:
            return printable(value)
        case ["f", function, _, _]:
            # Deep terms are named, not written out: a label is no place for recursion.
            return f"{printable(function)}(...)"
        case _:
            raise ValueError("this is no certificate: a term has another shape")


def missing_package(package: str, extra: str) -> ConstatError:
    """Return the error that says how to install a package."""
    return ConstatError(
        [
            Diagnostic(
                "C0770",
                f"this format needs the package `{package}`, which is not installed",
                note="`constat export --list` names what each format needs",
                help=f"run `pip install 'constat[{extra}]'`",
            )
        ]
    )
