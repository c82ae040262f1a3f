"""What a picture of a proof shows: a figure per step and source, in colours for light and dark."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from constat.frozen import frozen, slotted
from constat.logic import Spoken
from constat.proof.export.denial import ATTEMPTED, became
from constat.proof.export.document import origin_of, rule_title, shortened
from constat.proof.export.steps import ABSENCE, AGGREGATE, CLOSURE, FACT, ROW, RULE
from constat.proof.sentences import words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from constat.proof.export.account import Account
    from constat.proof.export.steps import Step
    from constat.proof.sentences import Speech

# Every colour of text has a contrast of at least 4.5 to 1 on the ground it stands on, and no
# colour is the only bearer of a meaning.  See WCAG 2.2, 1.4.1 and 1.4.3.

LIGHT: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#ffffff",
        "sheet": "#f5f6f8",
        "ink": "#1c2127",
        "quiet": "#555f6b",
        "line": "#d3d8de",
        "edge": "#818b96",
        "link": "#0b57a4",
        "focus": "#b3007d",
        "good": "#12663a",
        "good-ground": "#e6f4eb",
        "warn": "#7d4a00",
        "warn-ground": "#fdf2dd",
        "bad": "#9a1b2f",
        "bad-ground": "#fbe9ec",
        "open": "#4a3f9a",
        "open-ground": "#eeecfb",
        "rule": "#0b57a4",
        "rule-ground": "#eaf2fb",
        "fact": "#4b5560",
        "fact-ground": "#ffffff",
        "absence": "#6b3fa0",
        "absence-ground": "#f5effb",
        "aggregate": "#00625c",
        "aggregate-ground": "#e5f4f2",
        "source": "#4b5560",
        "source-ground": "#eceff2",
    }
)
DARK: Final[Mapping[str, str]] = MappingProxyType(
    {
        "paper": "#15181c",
        "sheet": "#1d2126",
        "ink": "#e7eaed",
        "quiet": "#a3adb8",
        "line": "#373e46",
        "edge": "#7d8894",
        "link": "#82b8f2",
        "focus": "#ff8ad8",
        "good": "#7ad6a1",
        "good-ground": "#12301f",
        "warn": "#f0bd6a",
        "warn-ground": "#382708",
        "bad": "#ff9ba8",
        "bad-ground": "#3d161c",
        "open": "#bdb4ff",
        "open-ground": "#27224a",
        "rule": "#82b8f2",
        "rule-ground": "#15283c",
        "fact": "#b3bcc6",
        "fact-ground": "#1d2126",
        "absence": "#d0aef5",
        "absence-ground": "#2b1f3a",
        "aggregate": "#75d0c8",
        "aggregate-ground": "#0f2e2b",
        "source": "#b3bcc6",
        "source-ground": "#2a3037",
    }
)
_USED: Final = re.compile(r"var\(--([a-z-]+)\)")


def variables(colours: Mapping[str, str]) -> str:
    """Return the colours as declarations of a style sheet."""
    return "".join(f"--{name}:{colour};" for name, colour in colours.items())


def resolved(style: str, colours: Mapping[str, str]) -> str:
    """Return a style sheet without variables, for readers that know none."""
    return _USED.sub(lambda found: colours[found.group(1)], style)


# Every step is a figure, but for the rows of an aggregate beyond the first few, which are counted
# in a figure of their own; edges lead from what is concluded to what it rests on.

ROWS_DRAWN: Final = 5
SOURCE: Final = "source"
QUESTION: Final = "question"
MISSING: Final = "missing"
MORE: Final = "more"

KINDS: Final = (
    (RULE, Spoken("concluded by a rule", "aus einer Regel gefolgert")),
    (FACT, Spoken("given by a source", "von einer Quelle gegeben")),
    (ABSENCE, Spoken("is not so", "ist nicht so")),
    (AGGREGATE, Spoken("folded from rows", "aus Zeilen zusammengefasst")),
    (CLOSURE, Spoken("all that can be", "alles, was sein kann")),
    (SOURCE, Spoken("source", "Quelle")),
    (QUESTION, Spoken("the question", "die Frage")),
    (MISSING, Spoken("not known", "nicht bekannt")),
    (MORE, Spoken("more rows", "weitere Zeilen")),
)
VERDICTS: Final = MappingProxyType(
    {
        "PROVED": Spoken("PROVED", "BEWIESEN"),
        "PROVED_UNDER": Spoken("PROVED UNDER assumptions", "BEWIESEN UNTER Annahmen"),
        "DISPROVED": Spoken("DISPROVED", "WIDERLEGT"),
        "DISPROVED_UNDER": Spoken("DISPROVED UNDER assumptions", "WIDERLEGT UNTER Annahmen"),
        "UNRESOLVED": Spoken("UNRESOLVED", "UNGEKLÄRT"),
    }
)


@frozen
class Figure:
    """One box: ``label`` says what it is, ``text`` what it says; ``number`` is its step's."""

    name: str
    kind: str
    label: str
    text: str
    number: int | None = None
    node: int | None = None
    root: bool = False
    assumed: bool = False
    says: str = ""
    """What its kind says in words."""
    taken: str = ""
    """The word for what is assumed, where it is."""


@frozen
class Drawing:
    """Figures by place, and edges between places."""

    title: str
    description: str
    figures: tuple[Figure, ...]
    edges: tuple[tuple[int, int], ...]


def drawing_of(account: Account) -> Drawing:
    """Return the picture of an account."""
    sketch = _Sketch(account)
    if account.denial and account.denial[0].paths:
        sketch.denied()
    else:
        if not account.roots:
            sketch.question()
        for step in account.order:
            sketch.step(step)
        sketch.join()
    speech = account.document.speech
    verdict = account.document.header["verdict"].replace("_", " ")
    if speech.german:
        verdict = VERDICTS[account.document.header["verdict"]].german.removesuffix(" Annahmen")
    kinds = [figure.kind for figure in sketch.figures]
    counted = ", ".join(
        f"{kinds.count(kind)} {speech.said(said)}" for kind, said in KINDS if kind in kinds
    )
    return Drawing(
        f"{verdict}: {account.question}",
        speech.say(
            "{0} boxes ({1}); each line leads from a conclusion to what it rests on.",
            "{0} Kästen ({1}); jede Linie führt von einem Schluss zu dem, worauf er beruht.",
            str(len(kinds)),
            counted,
        ),
        tuple(_worded(one, speech) for one in sketch.figures),
        _without_circles(tuple(dict.fromkeys(sketch.edges))),
    )


def _without_circles(edges: tuple[tuple[int, int], ...]) -> tuple[tuple[int, int], ...]:
    """Leave out edges that lead back: what a circle of rules lacks is what is lacking already."""
    below: dict[int, list[int]] = {}
    for above, one in edges:
        below.setdefault(above, []).append(one)
    back: set[tuple[int, int]] = set()
    done: set[int] = set()
    for start, first in below.items():
        # Boxes on the way down, each with those below it that are still to be seen.
        way = {} if start in done else {start: iter(first)}
        while way:
            place, left = next(reversed(way.items()))
            lower = next(left, None)
            if lower is None:
                done.add(place)
                del way[place]
            elif lower in way:
                back.add((place, lower))
            elif lower not in done:
                way[lower] = iter(below.get(lower, ()))
    return tuple(edge for edge in edges if edge not in back)


def _worded(figure: Figure, speech: Speech) -> Figure:
    taken = speech.say("assumed", "angenommen") if figure.assumed else ""
    return replace(figure, says=speech.said(dict(KINDS)[figure.kind]), taken=taken)


@slotted
class _Sketch:
    account: Account
    figures: list[Figure] = field(default_factory=list)
    edges: list[tuple[int, int]] = field(default_factory=list)
    places: dict[object, int] = field(default_factory=dict)
    folded: Mapping[int, int] = field(init=False)
    left_out: Mapping[int, str] = field(init=False)

    def __post_init__(self) -> None:
        self.folded = rows_folded(self.account)
        self.left_out = rows_left(self.account, self.folded)

    def add(self, key: object, figure: Figure) -> int:
        self.places[key] = len(self.figures)
        self.figures.append(figure)
        return self.places[key]

    def question(self) -> None:
        """Draw an undecided goal, and what is missing under it."""
        undecided, unknown = (
            self.say("not decided", "offen"),
            self.say("not known", "nicht bekannt"),
        )
        goal = Figure("goal", QUESTION, undecided, self.account.question, root=True)
        top = self.add("goal", goal)
        for at, gap in enumerate(self.account.gaps):
            missing = Figure(f"missing{at}", MISSING, unknown, gap.goal)
            self.edges.append((top, self.add(("missing", at), missing)))

    def denied(self) -> None:
        """Draw a "no", or an open goal, from the goal down to what decides it.

        Of the steps only those stand under it that a rule fails by: what must not be there.
        """
        verdict = self.account.document.header["verdict"]
        under = bool(self.account.document.header["under"])
        if verdict == "UNRESOLVED":
            self.question()
            self.places["denied", 0] = self.places["goal"]
        steps = {
            step.sentence: place
            for place, step in enumerate(self.account.steps)
            if step.kind in {ROW, FACT, RULE}
        }
        for at, one in enumerate(self.account.denial):
            if ("denied", at) not in self.places:
                said = one.sentence if at or verdict != "UNRESOLVED" else self.account.question
                label, taken = self.say("not so", "nicht so"), under and not at
                figure = Figure(f"denied{at}", ABSENCE, label, said, root=not at, assumed=taken)
                self.add(("denied", at), figure)
        wanted: list[tuple[int, int]] = []
        for at, one in enumerate(self.account.denial):
            for number, path in enumerate(one.paths):
                state = became(self.account.document, path.attempt)
                label = self.attempted(state, self.rule(path.attempt.rule))
                said = path.attempt.sentence or self.account.document.speech.said(ATTEMPTED[state])
                name = f"path{at}_{number}"
                here = self.add(name, Figure(name, RULE, label, shortened(said)))
                self.edges.append((self.places["denied", at], here))
                if path.below is not None:
                    self.edges.append((here, self.places["denied", path.below]))
                elif path.attempt.sentence in steps:
                    wanted.append((here, steps[path.attempt.sentence]))
        self.below([step for _, step in wanted])
        self.edges += [(here, self.places[step]) for here, step in wanted if step in self.places]

    def attempted(self, state: str, rule: str) -> str:
        """Say shortly what became of a rule that does not give a row."""
        match state:
            case "failed":
                return self.say("{0}, not met", "{0}, nicht erfüllt", rule)
            case "open":
                return self.say("{0}, open", "{0}, offen", rule)
            case _:
                return self.say("{0}, not followed", "{0}, nicht verfolgt", rule)

    def below(self, wanted: list[int]) -> None:
        """Draw these steps, and all that they rest on."""
        met: set[int] = set()
        while wanted:
            place = wanted.pop()
            if place not in met:
                met.add(place)
                wanted += [premise.step for premise in self.account.steps[place].premises]
        for place in self.account.order:
            if place in met:
                self.step(place)
        self.join()

    def step(self, place: int) -> None:
        if place in self.folded:
            return
        step = self.account.steps[place]
        figure = Figure(
            step.name,
            FACT if step.kind == ROW else step.kind,
            self.label(step),
            shortened(step.sentence),
            self.account.numbers[place],
            self.account.place(step),
            root=place in self.account.roots,
            assumed=bool(self.account.taken[place]),
        )
        self.add(place, figure)

    def label(self, step: Step) -> str:
        """Say what a step is, and how well it is founded that nothing else is there."""
        level = f" ({step.level})" if step.level else ""
        return self.kind(step) + level

    def kind(self, step: Step) -> str:
        match step.kind:
            case "rule" if step.rule is not None:
                return self.rule(self.account.document.rules[step.rule]["id"])
            case "absence":
                return self.say("not so", "nicht so")
            case "aggregate":
                return self.say("folded from rows", "aus Zeilen zusammengefasst")
            case "closure":
                return self.say("closed set", "geschlossene Menge")
            case _:
                return self.say("given", "gegeben")

    def rule(self, rule_id: str) -> str:
        name = shortened(rule_title(rule_id, self.account.document.speech), 32)
        return self.say("rule {0}", "Regel {0}", name)

    def say(self, english: str, german: str, *parts: str) -> str:
        return self.account.document.speech.say(english, german, *parts)

    def join(self) -> None:
        """Draw the edges, and the sources they end in."""
        for place, step in enumerate(self.account.steps):
            here = self.places.get(place)
            if here is None:
                continue
            for premise in step.premises:
                below = self.places.get(premise.step)
                if below is not None:
                    self.edges.append((here, below))
            self.more(place, here)
            for source in step.sources:
                self.edges.append((here, self.source(source)))
        for place in self.account.others:
            if "goal" in self.places and place in self.places:
                self.edges.append((self.places["goal"], self.places[place]))

    def more(self, place: int, here: int) -> None:
        """Draw the rows of an aggregate that are left out as one figure."""
        rest = self.left_out.get(place)
        if rest:
            given, said = self.say("given", "gegeben"), self.say("and {0}", "und {0}", rest)
            figure = Figure(f"more{place}", MORE, given, said)
            self.edges.append((here, self.add(("more", place), figure)))

    def source(self, number: int) -> int:
        known = self.places.get(("source", number))
        if known is not None:
            return known
        source = self.account.document.sources[number]
        name = shortened(source["name"] or source["tier"], 60)
        time = self.account.document.record["executed"][number] or ""
        speech = self.account.document.speech
        text = f"{name}, {speech.counted(source['rows'], 'row')}"
        if time:
            text += f", {speech.moment(time) if speech.german else f'{time[:10]} {time[11:19]}Z'}"
        label = origin_of(source, speech)
        assumed = source["origin"] not in {"CONFIG", "DATABASE", "DERIVED"}
        figure = Figure(f"source{number}", SOURCE, label, text, assumed=assumed)
        return self.add(("source", number), figure)


def rows_folded(account: Account) -> Mapping[int, int]:
    """Return the rows that pictures and outlines count instead of showing, each with its owner."""
    used: dict[int, int] = {}
    for step in account.steps:
        for premise in step.premises:
            used[premise.step] = used.get(premise.step, 0) + 1
    found: dict[int, int] = {}
    for place, step in enumerate(account.steps):
        rows = [
            premise.step
            for premise in step.premises
            if account.steps[premise.step].kind == ROW and used[premise.step] == 1
        ]
        if step.kind == AGGREGATE and len(rows) > ROWS_DRAWN + 1:
            found.update(dict.fromkeys(rows[ROWS_DRAWN:], place))
    return found


def rows_left(account: Account, folded: Mapping[int, int]) -> Mapping[int, str]:
    """Say for each aggregate how many rows are not shown, and of which relations if of several."""
    speech, found = account.document.speech, defaultdict[int, Counter[str]](Counter)
    for row, place in folded.items():
        found[place][account.steps[row].predicate] += 1
    said = {}
    for place, counts in found.items():
        of = {account.steps[one.step].predicate for one in account.steps[place].premises}
        (name, count), *others = counts.items()
        text = speech.counted(count, "more row")
        if len(of) > 1:
            text = speech.say("{0} of {1}", "{0} von {1}", text, words(name))
            parts = [
                speech.say("{0} of {1}", "{0} von {1}", speech.number(count), words(name))
                for name, count in others
            ]
            text = ", ".join([text, *parts])
        said[place] = text
    return said
