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
# Texts of ours that stand in certificates. Each pattern is held against a whole text, and
# its groups are said anew; what others worded matches nothing and stays as it is.
_SPEAKER: Final = (
    r"(?:user|tier|API|documents?|database|model) [^\s:,]+"
    r"|the (?:database|configuration|model|documents)"
)
_IN_GERMAN: Final = tuple(
    (re.compile(english, re.DOTALL), german)
    for english, german in (
        (r"(.+) \[(C\d{4})\]", "{0} [{1}]"),
        (r"entry (\d+) of the log, after (sha256:\w+)", "Eintrag {0} des Protokolls, nach {1}"),
        # Whose word it is.
        (r"user (\S+)", "Person {0}"),
        *((f"tier {name}", f"Stufe {spoken.german}") for name, spoken in TIERS.items()),
        (r"tier (\S+)", "Stufe {0}"),
        (r"(?:API) (\S+)", "Dienst {0}"),
        (r"document (\S+)", "Dokument {0}"),
        (r"documents (\S+)", "Dokumente {0}"),
        (r"database (\S+)", "Datenbank {0}"),
        (r"model (\S+)", "Modell {0}"),
        (r"the database", "die Datenbank"),
        (r"the configuration", "die Konfiguration"),
        (r"the model", "das Modell"),
        (r"the documents", "die Dokumente"),
        # Limits.
        (
            r"the time limit of (\S+) seconds was reached",
            "die Zeitgrenze von {0} Sekunden wurde erreicht",
        ),
        (r"the limit of (\S+) (\w+) was reached", "die Grenze `{1}` von {0} wurde erreicht"),
        (r"`(\w+)` of `limits` in (\S+) raises it", "`{0}` von `limits` in {1} hebt sie"),
        # What nobody knows, and why.
        (r"it does not know", "es weiß es nicht"),
        (r"it said nothing about this key", "es sagte nichts zu diesem Schlüssel"),
        (r"it answered twice for this key", "es antwortete zweimal zu diesem Schlüssel"),
        (
            r"it knows of no row, and does not speak for all",
            "es weiß von keiner Zeile und spricht nicht für alle",
        ),
        (
            r"its answer has a member `(\w+)`, which is not its to give",
            "seine Antwort hat ein Feld `{0}`, das ihm nicht zusteht",
        ),
        (
            r"nothing tells all facts of (\w+): it has no source that does",
            "nichts nennt alle Tatsachen von {0}: es gibt keine Quelle, die das tut",
        ),
        (r"this was not asked", "danach wurde nicht gefragt"),
        (r"no tier answered", "keine Stufe hat geantwortet"),
        (r"no authority speaks for this", "niemand spricht hierfür mit Vollmacht"),
        (r"rests on what is not accepted", "beruht auf dem, was nicht gelten soll"),
        (
            rf"({_SPEAKER}) tells of some rows, which need not be all",
            "{0} nennt einige Zeilen, und das müssen nicht alle sein",
        ),
        (
            rf"({_SPEAKER}) tells? some facts of (\w+), which need not be all",
            "{0}: einige Tatsachen von {1}, und das müssen nicht alle sein",
        ),
        (
            rf"({_SPEAKER}) tells? some facts of (\w+), which need not be all: (.+)",
            "{0}: einige Tatsachen von {1}, und das müssen nicht alle sein: {2}",
        ),
        (r"(?:a model) is asked about (\w+) by (.+)", "ein Modell wird nach {0} gefragt mit {1}"),
        (r"(API \S+) is asked about (\w+) by (.+)", "{0} wird nach {1} gefragt mit {2}"),
        (
            r"nobody has approved rule (\S+), and only approved ones count",
            "niemand hat Regel {0} gebilligt, und nur gebilligte zählen",
        ),
        (r"not recorded at (\S+)", "am {0} nicht verzeichnet"),
        (
            r"it is not recorded whether a source says otherwise",
            "es ist nicht verzeichnet, ob eine Quelle etwas anderes sagt",
        ),
        (
            r"the role (\S+) may not see everything of (\w+)",
            "die Rolle {0} darf nicht alles von {1} sehen",
        ),
        (
            r"the database may show each caller other rows of (\w+)",
            "die Datenbank zeigt vielleicht jedem andere Zeilen von {0}",
        ),
        (
            r"the database shows each caller rows of their own of (\w+)",
            "die Datenbank zeigt jedem eigene Zeilen von {0}",
        ),
        (
            r"the environment variables? (.+?) (?:is|are) not set",
            "nicht gesetzt in der Umgebung: {0}",
        ),
        (r"(\S+) has no `facts: (\w+)`", "{0} hat kein `facts: {1}`"),
        (
            r"stated fact (\S+) does not fit the declaration of (\w+)",
            "die angegebene Tatsache {0} passt nicht zur Deklaration von {1}",
        ),
        (
            r"(\S.*) was computed from what is assumed, or not all known",
            "{0} wurde aus dem errechnet, was angenommen oder nicht ganz bekannt ist",
        ),
        (
            r"nobody but (\S.*) says that there are no others",
            "niemand außer {0} sagt, dass es keine anderen gibt",
        ),
        (r"a rule is supposed", "eine Regel ist angenommen"),
        (
            r"what is supposed of it leaves columns out",
            "was davon angenommen ist, lässt Spalten aus",
        ),
        (r"its rows are not listed here", "seine Zeilen stehen nicht hier"),
        (
            r"an aggregate reads more rows than can be listed",
            "eine Zusammenfassung liest mehr Zeilen, als hier stehen können",
        ),
        # Cells and keys of a source.
        (r"((?:database|documents|API) \S+), (column .+)", "{0}, {1}"),
        (r"more than (\d+) rows hold cells that are no values", "über {0} Zeilen sind ohne Wert"),
        (r"column (\w+) of its key is NULL", "Spalte {0} des Schlüssels ist NULL"),
        (r"column (\w+) is NULL", "Spalte {0} ist NULL"),
        (
            r"if it may be, say null = (\"maybe\") \(.+ that nobody knows\) or (\"skip\")",
            'darf sie das sein, so sagt man null = {0}, "none", "unknown" oder {1}',
        ),
        (r"column (\w+) \(declared ([^)]+)\) (.+)", "Spalte {0} (deklariert {1}) {2}"),
        (r"is not an integer", "ist keine ganze Zahl"),
        (r"is not a decimal number(?: such as (\S+))?", "ist keine Dezimalzahl"),
        (r"is not a finite number", "ist keine endliche Zahl"),
        (r"is not a date such as (\S+)", "ist kein Tag wie {0}"),
        (r"is not a day of the calendar", "ist kein Tag des Kalenders"),
        (r"is not a time such as (\S+)", "ist keine Zeit wie {0}"),
        (r"is not a time of the calendar", "ist keine Zeit des Kalenders"),
        (r"is neither true nor false", "ist weder true noch false"),
        (r"has more than (\d+) (?:digits|places)", "hat mehr als {0} Stellen"),
        (r"is outside (\S+) to (\S+)", "liegt nicht zwischen {0} und {1}"),
        (r"is longer than (\d+) (?:characters|bytes)", "ist länger als {0} Zeichen"),
        (
            r"if it holds texts now, declare `(\w+: symbol)`",
            "hält sie jetzt Texte, so deklariert man `{0}`",
        ),
        (
            r"where no rule reads it, `@\[key = \.\.\.\]` before `\.decl` leaves it unread",
            "liest sie keine Regel, so bleibt sie mit `@[key = ...]` vor `.decl` ungelesen",
        ),
        (
            r"(.+) gave (\d+) rows for one key, alike in all that is read",
            "{0} gab {1} Zeilen für einen Schlüssel, gleich in allem, was gelesen wird",
        ),
        (
            r"`constat check-data` shows such keys",
            "`constat check-data` zeigt solche Schlüssel",
        ),
        (
            r"(.+) gave (\d+) of (\d+) rows more than once",
            "{0} gab {1} von {2} Zeilen mehr als einmal",
        ),
        (
            r"add the row's own key to it, or write `@\[distinct\]` before `\.decl`",
            "es braucht den Schlüssel der Zeile oder `@[distinct]` vor `.decl`",
        ),
        (
            r"the source gives (\d+) rows for one key of (\w+): none counts",
            "die Quelle gibt {0} Zeilen für einen Schlüssel von {1}: keine zählt",
        ),
        (
            r"the source may have another row for this key of (\w+)",
            "die Quelle hat vielleicht noch eine Zeile für diesen Schlüssel von {0}",
        ),
        (
            r"who states it leaves its (\w+) out, and no source has a row that it agrees with",
            "wer es angibt, lässt {0} aus, und keine Quelle hat eine Zeile, die dazu passt",
        ),
        (
            r"conflict: tiers (\S+) and (\S+) give different values",
            "Widerspruch: die Stufen {0} und {1} geben verschiedene Werte",
        ),
        (
            r"(\S+) does not know all of this row of (\w+)",
            "{0} weiß nicht alles von dieser Zeile von {1}",
        ),
        # What a source answers in place of rows; what a driver says stays as it is.
        (r"tier (\S+) failed: (\w+): (.*)", "Stufe {0} ist ausgefallen: {1}: {2}"),
        (
            r"tier (\S+) gave (?:no TierAnswer|an? (?:open )?row that does not fit (\w+))",
            "Stufe {0} gab eine Antwort, die nicht passt: {1}",
        ),
        (
            r"tier (\S+) gave evidence that does not fit: (.+)",
            "Stufe {0} gab einen Beleg, der nicht passt: {1}",
        ),
        (rf"({_SPEAKER}): (.+)", "{0}: {1}"),
        (r"query of (\w+)([:,]) (.+)", "Anfrage an {0}{1} {2}"),
        (r"query of (\w+)", "Anfrage an {0}"),
        (r"(SQLite|DuckDB|PostgreSQL|SQLAlchemy) says: (.+)", "{0} sagt: {1}"),
        (r"the driver says: (.+)", "der Treiber sagt: {0}"),
        (r"the server says: (.+)", "der Server sagt: {0}"),
        (r"(`\w+`) of (`[^`]+`) in (\S+) allows more", "{0} von {1} in {2} erlaubt mehr"),
        (r"(`\w+`) allows more", "{0} erlaubt mehr"),
        (r"(`[^`]+`) for (\w+): (.+)", "{0} für {1}: {2}"),
        (r"(`[^`]+`) for (\w+)", "{0} für {1}"),
        (r"it cannot be opened, or is damaged", "sie ist nicht zu öffnen oder beschädigt"),
        (r"there is no file (.+)", "es gibt keine Datei {0}"),
        (r"the server (?:does|did) not answer", "der Server antwortet nicht"),
        (r"the server cannot be reached", "der Server ist nicht zu erreichen"),
        (r"the server does not let us in", "der Server lässt uns nicht ein"),
        (r"it gives more than (\S+) rows", "sie gibt mehr als {0} Zeilen"),
        (r"it did not finish within (\S+) s", "sie wurde in {0} s nicht fertig"),
        (r"it was cancelled", "sie wurde abgebrochen"),
        (r"its file changed while it was read", "ihre Datei wurde beim Lesen geändert"),
        # What is accepted.
        (
            rf"((?:{_SPEAKER})(?: and (?:{_SPEAKER}))*) did not answer for (\w+)",
            "ohne Antwort über {1}: {0}",
        ),
        (rf"({_SPEAKER}) and (.+)", "{0} und {1}"),
        (
            r"(\S.*) declares that no fact of (\w+) is missing",
            "{0} erklärt, dass keine Tatsache von {1} fehlt",
        ),
        (
            r"what people state of (\w+) counts before what tier (\S+) assumes",
            "was Personen von {0} angeben, zählt vor dem, was Stufe {1} annimmt",
        ),
        (
            r"what is stated of (\w+) fills the cells that its source does not know",
            "was von {0} angegeben ist, füllt die Zellen, die die Quelle nicht weiß",
        ),
        (
            r"rule (\S+) holds, which is only proposed: (.+)",
            "Regel {0} gilt, die nur vorgeschlagen ist: {1}",
        ),
        (
            r"rule (\S+) holds, which has confidence (\S+): (.+)",
            "Regel {0} gilt, deren Sicherheit {1} ist: {2}",
        ),
        (
            r"the plan that (\S+) drafted, and nobody has approved, answers the question",
            "der Plan, den {0} entwarf und niemand gebilligt hat, beantwortet die Frage",
        ),
        (
            r"the SELECT of (\S+) gives the rows that it says",
            "das SELECT von {0} gibt die Zeilen, die es nennt",
        ),
        (r"the code of step (`\S+`) computes its goal", "der Code von Schritt {0} rechnet richtig"),
        (r"supposed: there is no (.+)", "angenommen: es gibt kein {0}"),
        (r"supposed: rule (\S+) does not stand", "angenommen: Regel {0} gilt nicht"),
        (r"supposed: (.+)", "angenommen: {0}"),
        (r"supposed is (.+)", "angenommen ist {0}"),
        # Who says another value, and what counts.
        (
            r"(?:conflict: )?(.+): (the first|the second|neither|none of them) counts",
            "{0}: {1} zählt",
        ),
        (r"the first", "das Erste"),
        (r"the second", "das Zweite"),
        (r"neither", "keines von beiden"),
        (r"none of them", "keines davon"),
        (
            rf"((?:{_SPEAKER}|supposed is) .+?\)(?: \d+ times)?), ((?:{_SPEAKER}|supposed is) .+)",
            "{0}, {1}",
        ),
        (r"(.+\)) (\d+) times", "{0} {1}-mal"),
        (rf"({_SPEAKER}) says (.+)", "{0} sagt: {1}"),
    )
)
_DEEPEST_WORDS: Final = 8
_LONGEST_WORDS: Final = 4_000
_COUNT: Final = re.compile(r"\d{1,3}(?:,\d{3})+", re.ASCII)
_JOINED: Final = (("; ", "; "), (", and ", ", und "))


def own_words(told: str, speech: Speech = PLAIN, deep: int = _DEEPEST_WORDS) -> str:
    """Return a text of ours that a certificate holds, in the language of a page."""
    if not speech.german or deep == 0 or len(told) > _LONGEST_WORDS:
        return told
    for english, german in _IN_GERMAN:
        found = english.fullmatch(told)
        if found is not None:
            return german.format(
                *(own_words(one or "", speech, deep - 1) for one in found.groups())
            )
    if _COUNT.fullmatch(told):
        return speech.number(int(told.replace(",", "")))
    # Reasons of several tiers stand one behind the other, and so do words that are taken together.
    for between, word in _JOINED:
        if between in told:
            return word.join(own_words(one, speech, deep - 1) for one in told.split(between))
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

    def assumption(self, place: int) -> str:
        """Return the text of an assumption, in the language of the page."""
        return own_words(self.assumptions[place]["text"], self.speech)

    @cached_property
    def conflicts(self) -> list[str]:
        """Who says another value for a key: assumptions that nothing names (decision 0050)."""
        texts = (one["text"] for one in self.assumptions if one["kind"] == "fact")
        told = [one.removeprefix(CONFLICT) for one in texts if one.startswith(CONFLICT)]
        return [own_words(one, self.speech) for one in told]

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
