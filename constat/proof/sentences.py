"""Sentences about facts and rule instances, with every value in them."""

from __future__ import annotations

import re
from dataclasses import field, replace
from decimal import Decimal
from itertools import chain, count
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, Self, cast

from constat.diagnostics import ConstatError, Diagnostic, counted, nearest
from constat.frozen import frozen
from constat.logic import (
    FIELD_OF,
    LOCALES,
    OPEN,
    RECORD,
    SPOKEN,
    UNREAD_CELL,
    Aggregate,
    Apply,
    Attributes,
    Comparison,
    Constant,
    EvaluationError,
    Kind,
    Negative,
    NullCell,
    NullPolicy,
    Open,
    Positive,
    Spoken,
    Variable,
    display_value,
    find_locale,
    implementation,
    is_constructor,
    is_wildcard,
    literal_variables,
    made_of,
    unread_variables,
)
from constat.logic.arithmetic import unwrapped
from constat.patterns import regex
from constat.proof.written import PROJECTION, as_written, pattern_sides
from constat.syntax import print_term

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from constat.analysis import AnalysedProgram
    from constat.logic import Atom, Column, Literal, Locale, OpenRow, Predicate, Rule, Slot, Term

# What sentences are made of besides the words of the language, which `SPOKEN` has.
_UNKNOWN: Final = Spoken("something unknown", "etwas Unbekanntes")
_IS: Final = Spoken("{0} is {1}", "{0} ist {1}")
_THE: Final = Spoken("the {0}", "{0}")
_THE_ONE: Final = Spoken("the {0} {1}", "{0} {1}")
_THE_KNOWN: Final = Spoken("the {0} ({1})", "{0} ({1})")
_OF: Final = Spoken("{0} of {1}", "{0} von {1}")
_HOLDS: Final = Spoken("\u2018{0}\u2019 holds", "\u201a{0}\u2018 gilt")
_HOLDS_FOR: Final = Spoken("\u2018{0}\u2019 holds for {1}", "\u201a{0}\u2018 gilt für {1}")
_NOT_SO: Final = Spoken("it is not so that {0}", "es trifft nicht zu, dass gilt: {0}")
_SOME: Final = Spoken("some {0}", "ein {0}")
_NO: Final = Spoken("no {0}", "kein {0}")
_NOTHING_SAYS: Final = Spoken("nothing says that {0}", "nichts sagt, dass gilt: {0}")
_NOTHING_ASKED: Final = Spoken(
    "nothing says of {0} what is asked", "nichts sagt über {0}, was gefragt ist"
)
_SUCH: Final = Spoken("there is {0} such that {1}", "für {0} gilt: {1}")
_ENTRY: Final = Spoken("there is {0} of {1}", "es gibt {0} von {1}")
_ENTRY_WITH: Final = Spoken("there is {0} of {1} with {2}", "es gibt {0} von {1} mit {2}")
_NOT_KNOWN: Final = Spoken("it is not known whether {0}", "es ist nicht bekannt, ob gilt: {0}")
_STATED: Final = Spoken("this is stated by the rules", "das steht so in den Regeln")
_AND: Final = Spoken(" and ", " und ")
_BESIDES: Final = Spoken(", and ", ", und ")
_AT_LEAST: Final = Spoken("at least {0}", "mindestens {0}")
_AT_MOST: Final = Spoken("at most {0}", "höchstens {0}")
_COMPARED: Final = Spoken("{0} is {1}, {2} {3}", "{0} ist {1}, {2} {3}")
_WHICH_IS: Final = Spoken("{0} is {1}, which is {2} {3}", "{0} ist {1}, {2} {3}")
_IS_SO: Final = Spoken("{0} is {1} {2}", "{0} ist {1} {2}")
_THE_SAME: Final = Spoken("{0} is {1}, the same as the {2}", "{0} ist {1}, wie auch {2}")
_FORM: Final = Spoken("{0}of the form {1}", "{0}von der Form {1}")
_NOT: Final = Spoken("not ", "nicht ")
NOT_READ: Final = Spoken("(not read)", "(nicht gelesen)")
"""What is said of a cell that nobody reads."""
_WHICH_OF: Final = Spoken("{1}, the {0}", "{1}, {0}")

# The process's own locale plays no part; without one numbers have commas between thousands and
# days are as in ISO 8601.

# A year or a number that only names something is not written with separators.
_NAMING: Final = regex(
    r"(^|_)(id|ids|key|no|number|code|year|zip|plz|anno|ann[eé]e|año)$|(nr|nummer|jahr)$",
    re.IGNORECASE,
)
_GROUPED_FROM: Final = 1_000


# What a column can say of how its values are written.
STYLES: Final = ("id", "percent", "places", "unit", "year")
DISCLOSURE: Final = ("confidential", "personal")
"""What a column says of who may see its values."""
_NAMES: Final = frozenset({"id", "year"})
_NO_STYLE: Final[Attributes] = MappingProxyType({})
_AS_ID: Final[Attributes] = MappingProxyType({"id": ""})
_WHOLE: Final = frozenset({Kind.NUMBER, Kind.UNSIGNED})
_TAKEN: Final = frozenset({"min", "max"})
_MOST_ROUNDS: Final = 8


_CURRENCIES: Final = frozenset("$€£")
"""Units of which parts are written in hundredths: ``$49,979.90``."""


class Measured(str):
    """A value with its unit; ``bare`` is for a template that has the unit beside it already."""

    __slots__ = ("bare", "unit")
    bare: str
    unit: str

    def __new__(cls, bare: str, unit: str) -> Self:
        """Put a sign such as ``$`` before the value, and a word behind it."""
        sign = not any(one.isalnum() or one.isspace() for one in unit) and unit != "%"
        minus = "-" if sign and bare.startswith("-") else ""
        told = f"{minus}{unit}{bare.removeprefix('-')}" if sign else f"{bare} {unit}"
        found = super().__new__(cls, told)
        found.bare, found.unit = bare, unit
        return found


_COUNTED_IN_GERMAN: Final = MappingProxyType(
    {
        "assumption": ("Annahme", "Annahmen", ""),
        "chunk": ("Teil", "Teile", "r"),
        "condition": ("Bedingung", "Bedingungen", ""),
        "day": ("Tag", "Tage", "r"),
        "entry": ("Eintrag", "Einträge", "r"),
        "fact": ("Tatsache", "Tatsachen", ""),
        "key": ("Schlüssel", "Schlüssel", "r"),
        "node": ("Knoten", "Knoten", "r"),
        "other": ("andere", "andere", ""),
        "reading": ("Abfrage", "Abfragen", ""),
        "reason": ("Grund", "Gründe", "r"),
        "row": ("Zeile", "Zeilen", ""),
        "rule": ("Regel", "Regeln", ""),
        "source": ("Quelle", "Quellen", ""),
        "second": ("Sekunde", "Sekunden", ""),
        "step": ("Schritt", "Schritte", "r"),
        "value": ("Wert", "Werte", "r"),
    }
)
"""What is counted: one, more than one, and how "weitere" ends before one of them."""


_NOUNS_ARTICLE: Final = regex(r"\A(?:the|some|any|no) ")


class Noun(str):
    """What stands for a value that no rule instance gives: ``the application``."""

    __slots__ = ()

    @property
    def bare(self) -> str:
        """The noun without its article."""
        return _NOUNS_ARTICLE.sub("", self)

    @property
    def article(self) -> str:
        """What stands before the noun."""
        return self[: len(self) - len(self.bare)]


def style_of(column: Column) -> Attributes:
    """Return what a column says of how its values are written."""
    if not column.attributes:
        return _NO_STYLE
    return {key: column.attributes[key] for key in STYLES if key in column.attributes}


def _naming_style(column: Column) -> Attributes:
    """Return the style of a number that only names something, as its column's name says."""
    return _AS_ID if column.kind in _WHOLE and _NAMING.search(column.name) else _NO_STYLE


def _placed(number: Decimal, places: str, shift: int = 0) -> Decimal:
    """Return a number moved by so many places, with at least ``places``: no digit is lost."""
    # Digit by digit: arithmetic would round to the digits of the context.
    sign, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        return number
    lowest = min(exponent + shift, 0, -int(places) if places.isdecimal() else 0)
    return Decimal((sign, (*digits, *(0,) * (exponent + shift - lowest)), lowest))


@frozen
class Speech:
    """Writes values for people; ``locale`` is empty for the spelling that no place has."""

    locale: Locale | None = None

    def said(self, spoken: Spoken, *parts: str) -> str:
        """Say something in the language of the locale, in English where it is not spoken."""
        form = spoken.german if self.german else spoken.english
        return form.format(*parts, all=_listed(parts, self)) if parts else form

    @property
    def german(self) -> bool:
        """Whether the locale's language is German."""
        return self.locale is not None and self.locale.language == "de"

    def say(self, english: str, german: str, *parts: str) -> str:
        """Say words that stand in one place only."""
        return self.said(Spoken(english, german), *parts)

    def number(self, number: int) -> str:
        """Write how many there are of something."""
        return f"{number:,}" if self.locale is None else self.locale.number(Decimal(number))

    def counted(self, number: int, noun: str) -> str:
        """Write how many there are, with what is counted."""
        if not self.german:
            return counted(number, noun)
        more, _, last = noun.rpartition(" ")
        one, many, ending = _COUNTED_IN_GERMAN[last]
        more = "" if not more else f"weitere{ending if number == 1 else ''} "
        return f"{self.number(number)} {more}{one if number == 1 else many}"

    def moment(self, time: str) -> str:
        """Write a time of a certificate in whole seconds."""
        if not self.german:
            return f"{time[:10]} {time[11:19]} UTC" if time.endswith("Z") else time
        return f"{self.value(time[:10], Kind.DATE)}, {time[11:19]} UTC"

    def template(self, attributes: Attributes, form: str) -> str | None:
        """Return a template: ``says``, ``says_not`` or ``says_unknown``, in the language if any."""
        if self.locale is not None:
            found = attributes.get(f"{form}.{self.locale.language}")
            if found is not None:
                return found
        return attributes.get(form)

    def reason(self, attributes: Attributes, code: str) -> str:
        """Return what a rule says of a reason code, in the language if any; empty for nothing."""
        own = "" if self.locale is None else f"reason.{code}_{self.locale.language}"
        return attributes.get(own) or attributes.get(f"reason.{code}", "")

    def value(self, slot: Slot, kind: Kind, name: str = "", style: Attributes = _NO_STYLE) -> str:
        """Write a value; ``name`` is the column or variable it stands in.

        ``style`` has the attributes of its column: ``unit``, ``places``, ``percent``, ``id`` and
        ``year`` say how it is written.
        """
        if isinstance(slot, Open):
            return self.said(_UNKNOWN)
        shown = display_value(slot, kind)
        cell: object = slot
        if isinstance(cell, NullCell):
            return shown
        if kind.numeric and (_NAMING.search(name) or not style.keys().isdisjoint(_NAMES)):
            return shown
        if style and kind.numeric:
            number = Decimal(shown if kind is Kind.FLOAT else slot)
            hundredfold = 2 if "percent" in style else 0
            places = style.get("places", "")
            if not places and style.get("unit", "") in _CURRENCIES and number % 1:
                places = "2"
            return self._measured(_placed(number, places, hundredfold), style)
        spelled = (
            self._plain(slot, kind, shown)
            if self.locale is None
            else _local(self.locale, slot, kind, shown)
        )
        return self._with_unit(spelled, style) if style else spelled

    def _measured(self, number: Decimal, style: Attributes) -> str:
        """Write a number in the style of its column."""
        if self.locale is not None:
            spelled = self.locale.number(number)
        else:
            spelled = f"{number:,f}" if abs(number) >= _GROUPED_FROM else f"{number:f}"
        return f"{spelled}%" if "percent" in style else self._with_unit(spelled, style)

    @staticmethod
    def _with_unit(spelled: str, style: Attributes) -> str:
        unit = style.get("unit", "")
        return Measured(spelled, unit) if unit else spelled

    @staticmethod
    def _plain(slot: Slot, kind: Kind, shown: str) -> str:
        if not kind.numeric or kind is Kind.FLOAT:
            return shown
        number = Decimal(slot)  # type: ignore[arg-type]  # no open slot is left
        return f"{number:,f}" if abs(number) >= _GROUPED_FROM else shown


def _local(locale: Locale, slot: Slot, kind: Kind, shown: str) -> str:
    match kind:
        case Kind.FLOAT:
            return locale.plain(shown)
        case Kind.DATE:
            return locale.date(shown)
        case Kind.TIMESTAMP:
            return locale.moment(shown)
        case _ if kind.numeric:
            return locale.number(Decimal(slot))  # type: ignore[arg-type]  # no open slot is left
        case _:
            return shown


PLAIN: Final = Speech()


def speech_in(name: str) -> Speech:
    """Return the speech of a locale, the plain one of no name; ``ConstatError`` for others."""
    if not name:
        return PLAIN
    found = find_locale(name)
    if found is None:
        known = [one.name for one in LOCALES]
        near = nearest(name, known)
        help_ = f"write `{near}`" if near else f"known: {', '.join(known)}"
        raise ConstatError([Diagnostic("C0790", "this locale is not known", help=help_)])
    return Speech(found)


# A default sentence names every value of what it speaks about, so no comparison and no threshold
# is left out.  How numbers and days are written, and in which language templates are taken, is
# told by a `Speech`.

_PLACEHOLDER: Final = regex(r"\{([?A-Za-z_][A-Za-z0-9_]*)\}")
_BETWEEN: Final = regex(r"(, and |, | and )")


def show_value(slot: Slot, kind: Kind, name: str = "", speech: Speech = PLAIN) -> str:
    """Write a value for people; ``name`` is the column or variable it stands in."""
    return speech.value(slot, kind, name)


def fill(template: str, values: Mapping[str, str]) -> str:
    """Put values into a template; a placeholder nobody fills stays as it is.

    A unit that stands beside is not said again, and the article before a value fits it.
    """
    parts: list[str] = []
    end = 0
    english = bool(_ENGLISH.search(template)) and not _GERMAN.search(template)
    for found in _PLACEHOLDER.finditer(template):
        before, behind = template[end : found.start()], template[found.end() :]
        told = values.get(found.group(1).removeprefix("?"), found.group(0))
        if isinstance(told, Noun):
            before, told, behind = _fitted(told, before, behind)
        elif isinstance(told, Measured) and _is_beside(told.unit, before, behind):
            told = told.bare
        article = _ARTICLE.search(before) if english else None
        if article is not None and not told.startswith("{"):
            first = article.group(1)[0]
            before = f"{before[: article.start(1)]}{first}{article_of(told)[1:]} "
        parts += [before, told]
        end = len(template) - len(behind)
    return "".join([*parts, template[end:]])


_ARTICLE: Final = regex(r"(?<![^\W_])(an?|An?) $")
# `an` is a preposition of German; only a sentence that is English has an article there.
_ENGLISH: Final = regex(r"\b(?:is|are|the|of|has|have|had|be|by|with|for|may|must|not|as)\b")
_GERMAN: Final = regex(r"\b(?:der|die|das|den|dem|und|von|ist|sind|nicht|für|mit|gilt)\b")
_AS_YOU: Final = regex(r"(?:uni(?![nmd])|ubi|us[aeiu]|ut[eio]|eu|ur[aio]|one\b|once\b|u\b)")
_SILENT: Final = regex(r"(?:hour|honest|honou?r|heir)")
_AS_LETTERS: Final = regex(r"[A-Z](?![a-z])[A-Z0-9]*")
_SAID_WITH_VOWEL: Final = frozenset("AEFHILMNORSX")


def _fitted(noun: Noun, before: str, behind: str) -> tuple[str, str, str]:
    """Fit a noun between two texts: neither it nor an article is said twice, nor a currency."""
    before = _CURRENCY_BEFORE.sub("", before)
    sign = _SIGN_BEHIND.match(behind)
    behind = behind[sign.end() :] if sign else behind
    last = noun.split()[-1]
    said, next_word = _WORD_BEFORE.search(before), _WORD_BEHIND.match(behind)
    if said and _is_same_unit(last, said.group(1)) and not before.rstrip().endswith(("(", ":")):
        head, own = before[: said.start(1)], before[said.start(1) :].rstrip()
        bare = noun.bare == last and not _DETERMINED.search(head) and own.islower()
        # "Of application {application}" is of the application.
        return f"{head}{(noun.article or 'the ') if bare else ''}{own}", "", behind
    if f" {before.casefold()}".endswith(f" {last.casefold()} of "):
        return before[: -len(" of ")], "", behind
    if next_word and _is_same_unit(last, next_word.group(1)):
        behind = behind[next_word.end() :]
    return before, noun.bare if _DETERMINED.search(before) else str(noun), behind


_CURRENCY_BEFORE: Final = regex(r"[$€£¥]\Z")
_SIGN_BEHIND: Final = regex(r"\s?[%€£$¥]")
_DETERMINED: Final = regex(
    r"(?<![^\W_])(?:an?|the|no|its|his|her|their|this|each|every|any) \Z", re.IGNORECASE
)


def article_of(word: str) -> str:
    """Return the article that fits how a word or number begins when it is said."""
    word = word.lstrip("$€£¥\"'(")
    if word[:1].isdigit():
        digits = re.split(r"[^0-9]", word.replace(",", ""), maxsplit=1)[0]
        # "Eleven" and "eighteen", also before "thousand".
        eleven = digits[:2] in {"11", "18"} and len(digits) % 3 == 2  # noqa: PLR2004
        return "an" if word.startswith("8") or eleven else "a"
    letters = _AS_LETTERS.match(word)
    # What is short or has no vowel is spelled: an MRI, but a NATO.
    if letters and (len(letters[0]) < 4 or not re.search("[AEIOU]", letters[0][1:])):  # noqa: PLR2004
        return "an" if word[0] in _SAID_WITH_VOWEL else "a"
    said = word.casefold()
    vowel = said[:1] in {*"aeiou"} and not _AS_YOU.match(said)
    return "an" if vowel or _SILENT.match(said) else "a"


def _is_beside(unit: str, before: str, behind: str) -> bool:
    """Tell whether the text around a value says its unit already."""
    if not unit[-1:].isalpha():
        return before.endswith(unit) or behind.lstrip().startswith(unit)
    near = (_WORD_BEFORE.search(before), _WORD_BEHIND.match(behind))
    return any(one is not None and _is_same_unit(unit, one.group(1)) for one in near)


_WORD_BEFORE: Final = regex(r"([^\W\d_]+)[\s:(]*\Z")
_WORD_BEHIND: Final = regex(r"\s*([^\W\d_]+)")


def _is_same_unit(unit: str, word: str) -> bool:
    """Tell whether a word is a unit, in the plural or not."""
    return unit.casefold().removesuffix("s") == word.casefold().removesuffix("s")


def _said_once(value: str, noun: str) -> str:
    """Return a value without the unit that the noun before it says: ``points 57``."""
    if isinstance(value, Measured) and any(
        _is_same_unit(value.unit, word) for word in noun.partition(" of ")[0].split()
    ):
        return value.bare
    return value


def words(name: str) -> str:
    """Return a name in words: ``customer_revenue`` is ``customer revenue``."""
    return name.replace("_", " ").strip() or name


def value_column(predicate: Predicate) -> int | None:
    """Return the column that is *the value* of a predicate, if it reads like a function.

    That is the one column outside its key, the column of a scalar of the configuration, or a last
    column that alone holds an amount. A row of a source of three columns or more has no such value
    without a key: a place is not its longitude.
    """
    width = predicate.arity
    if predicate.key:
        rest = [place for place in range(width) if place not in predicate.key]
        return rest[0] if len(rest) == 1 else None
    if width == 1:
        return 0 if predicate.source is not None and predicate.source.name == "config" else None
    amounts = [place for place, kind in enumerate(predicate.kinds) if kind in _AMOUNTS]
    rows = predicate.source is not None and width > _PAIR
    return width - 1 if width > 1 and amounts == [width - 1] and not rows else None


_AMOUNTS: Final = frozenset({Kind.DECIMAL, Kind.FLOAT})
_PAIR: Final = 2


ASKED: Final = "the.goal"
"""The relation of a goal of several literals; no text can spell it, so no project declares it."""


def show_fact(predicate: Predicate, row: OpenRow, *, holds: bool = True) -> str:
    """Write a fact as in a trace: ``is_vip(customer_id=C001) = True``."""
    if predicate.name == ASKED:
        told = zip(predicate.columns, row, strict=True)
        values = [f"?{one.name} = {display_value(slot, one.kind)}" for one, slot in told]
        return f"the goal with {', '.join(values)}" if values else "the goal"
    place = value_column(predicate) if holds else None
    if place is not None and is_left_out(row[place]):
        place = None
    shown = [
        f"{column.name}={display_value(slot, column.kind)}"
        for at, (column, slot) in enumerate(zip(predicate.columns, row, strict=True))
        if at != place and not is_left_out(slot)
    ]
    inside = f"({', '.join(shown)})" if shown or place is None else ""
    # What "no row with these values" is called within an evaluation says nothing to a reader.
    name = predicate.name.partition(PROJECTION)[0]
    if place is None:
        return f"{name}{inside} = {holds}"
    return f"{name}{inside} = {display_value(row[place], predicate.columns[place].kind)}"


def describe_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say a fact in a sentence: by its template, else with all its values."""
    return describe_row(predicate, _shown(predicate, row, speech), speech)


def describe_row(predicate: Predicate, shown: Mapping[str, str], speech: Speech = PLAIN) -> str:
    """Say a fact whose values are texts already, by column; columns may be left out."""
    template = speech.template(predicate.attributes, "says")
    if template:
        return _said(template, predicate, shown, speech)
    place = value_column(predicate)
    valued = "" if place is None else predicate.columns[place].name
    names = [name for name in shown if name != valued]
    subject = words(predicate.name).removesuffix(" of")
    if valued in shown:
        value = _said_once(shown[valued], subject)
        keys = _listed([shown[name] for name in names], speech)
        whole = speech.said(_OF, subject, keys) if keys else subject
        return speech.said(_IS, speech.said(_THE, whole), value)
    if len(names) == 1:
        return _unary(subject, shown[names[0]], speech)
    if not names:
        return speech.said(_HOLDS, subject)
    told = [_column_said(words(name), shown[name]) for name in names]
    return speech.said(_HOLDS_FOR, subject, _listed(told, speech))


def _column_said(column: str, value: str) -> str:
    """Say a column with its value; a noun that is the column's own says both."""
    if isinstance(value, Noun) and value.bare == column:
        return value
    return f"{column} {_said_once(value, column)}"


def deny_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say that a fact is absent: by ``@[says_not]``, else by the sentence of the fact."""
    return deny_row(predicate, _shown(predicate, row, speech), speech)


def deny_row(predicate: Predicate, shown: Mapping[str, str], speech: Speech = PLAIN) -> str:
    """Say that a fact is absent whose values are texts already, by column."""
    template = speech.template(predicate.attributes, "says_not")
    if not template and speech.said(_AND) == _AND.english:
        template = _turned_round(speech.template(predicate.attributes, "says") or "")
    if template:
        return _said(template, predicate, shown, speech)
    return speech.said(_NOT_SO, describe_row(predicate, shown, speech))


def _turned_round(template: str) -> str:
    """Return ``{c} is not blocked`` for ``{c} is blocked``; empty where more than that is said."""
    found = _STATING.match(template)
    if found is None or _NEGATING.search(template) or _QUALIFYING.search(template):
        return ""
    return f"{found.group()} not{template[found.end() :]}"


_STATING: Final = regex(r"[^,:;()]*?\} (?:is|was|are|were|may|can)(?= )")
_QUALIFYING: Final = regex(
    r"[,:;()]|\b(?:and|or|but|if|both|still|always|already|also|too|exactly|least|most|more|less"
    r"|fewer|some|several|that|which|who|because|since)\b"
)


def doubt_fact(predicate: Predicate, row: OpenRow, speech: Speech = PLAIN) -> str:
    """Say that a fact is not known: by ``@[says_unknown]``, else by the sentence of the fact."""
    template = speech.template(predicate.attributes, "says_unknown")
    if template:
        return _said(template, predicate, _shown(predicate, row, speech), speech)
    return speech.said(_NOT_KNOWN, describe_fact(predicate, row, speech))


def _shown(predicate: Predicate, row: OpenRow, speech: Speech) -> dict[str, str]:
    return {
        column.name: speech.value(slot, column.kind, column.name, style_of(column))
        for column, slot in zip(predicate.columns, row, strict=True)
        if not is_left_out(slot)
    }


def describe_pattern(
    predicate: Predicate, row: OpenRow, *, holds: bool = True, speech: Speech = PLAIN
) -> str:
    """Say a row, or that there is none, whose open columns go by their names: ``the customer``."""
    shown: dict[str, str] = {}
    for column, slot in zip(predicate.columns, row, strict=True):
        if isinstance(slot, Open):
            shown[column.name] = Noun(speech.said(_COLUMN, column_noun(column)))
        elif not is_left_out(slot):
            style = style_of(column)
            shown[column.name] = speech.value(slot, column.kind, column.name, style)
    if holds:
        return _details(predicate, row, shown, speech) or describe_row(predicate, shown, speech)
    if not any(slot is OPEN for slot in row):
        return deny_row(predicate, shown, speech)
    # That a value is not some value says nothing: there is none at all.
    known = {
        column.name: shown[column.name]
        for column, slot in zip(predicate.columns, row, strict=True)
        if slot is not OPEN and column.name in shown
    }
    return describe_some(predicate, known, holds=False, speech=speech)


def _details(predicate: Predicate, row: OpenRow, shown: Mapping[str, str], speech: Speech) -> str:
    """Say ``item B has some price`` where all that is open stands behind a colon."""
    head, colon, tail = (speech.template(predicate.attributes, "says") or "").partition(": ")
    pairs = zip(predicate.columns, row, strict=True)
    free = {one.name: one for one, slot in pairs if slot is OPEN}
    behind = {one.removeprefix("?") for one in _PLACEHOLDER.findall(tail)}
    if not colon or not free or not free.keys() <= behind:
        return ""
    told = [
        speech.said(_SOME_OF, column_noun(free[name]))
        if name in free
        else _column_said(words(name), value)
        for name, value in shown.items()
        if name in behind
    ]
    return speech.said(_HAS, _said(head, predicate, shown, speech), _listed(told, speech))


_HAS: Final = Spoken("{0} has {1}", "{0} hat {1}")
_SOME_OF: Final = Spoken("some {0}", "\u201a{0}\u2018")


# What a column is called where it stands for a value: names that are no nouns are quoted.

_NO_NOUN: Final = frozenset(
    {
        *("at", "by", "from", "how", "in", "most", "on", "since", "to", "until", "what", "when"),
        *("where", "who", "why", "above", "below", "began", "born", "bought", "given", "held"),
        *("kept", "known", "least", "made", "missing", "own", "paid", "said", "sent", "shown"),
        *("spent", "sold", "taken", "refer", "approve", "idle", "due", "out", "back", "valid"),
        *("active", "open", "new", "old", "against", "between", "before", "after", "within"),
        *("with", "without", "over", "under", "during", "per", "each"),
    }
)
_PREPOSITIONS: Final = frozenset(
    {
        *("after", "at", "before", "by", "from", "in", "on", "per", "since", "to", "until", "with"),
        *(
            "ab",
            "am",
            "bei",
            "bis",
            "durch",
            "im",
            "mit",
            "nach",
            "seit",
            "vom",
            "von",
            "vor",
            "zum",
        ),
    }
)
_ADJECTIVES: Final = frozenset(
    {"earlier", "first", "high", "last", "later", "longer", "low", "next", "second", "whole"}
)
_DONE: Final = regex(r"[a-z]{3,}(?<!e)ed")
_DAYS: Final = frozenset({Kind.DATE, Kind.TIMESTAMP})
_OF_KIND: Final = MappingProxyType(
    {
        Kind.DATE: "day",
        Kind.TIMESTAMP: "moment",
        Kind.NUMBER: "number",
        Kind.DECIMAL: "amount",
        Kind.FLOAT: "amount",
    }
)


def column_noun(column: Column) -> str:
    """Return the noun of a column: ``order``; ``first day``, or a quoted name of no noun."""
    name = words(column.name)
    return "other one" if name == "other" else as_noun(name, column.kind)


def as_noun(name: str, kind: Kind | None) -> str:
    """Return a name as a noun; what is none gets one that fits its kind."""
    said = "value" if kind is None else _OF_KIND.get(kind, "value")
    first, *_, last = f"{name} {name}".split()
    if name in _ADJECTIVES and kind in _DAYS:
        return f"{name} {said}"
    if (
        first in _NO_NOUN
        or last in _PREPOSITIONS
        or (first == name and _DONE.fullmatch(name))
        or name in _ADJECTIVES
    ):
        return f"{said} \u2018{name}\u2019"
    return name


_NEGATING: Final = regex(
    r"\b(?:no|none|not|nothing|nobody|never|neither|nor|without|cannot|unless|only|every|each|all|any"
    r"|nicht|nichts|kein|keine|keinen|niemand|ohne)\b",
    re.IGNORECASE,
)
_VERB: Final = regex(
    r"(?:is|was|has|had|may|must|can|does|did|will|should|[a-z]{3,}(?:[^su\W]s|ed))\b(?! and\b)"
)


def describe_some(
    predicate: Predicate, shown: Mapping[str, str], *, holds: bool = True, speech: Speech = PLAIN
) -> str:
    """Say that there is some row with these values, or none; the other columns may be anything.

    Of ``{supplier} supplied {lot} on {day}`` and a lot there is "no supplier that supplied L1 on
    any day". Values may be placeholders: then it is a template.
    """
    free = [one for one in predicate.columns if one.name not in shown]
    template = speech.template(predicate.attributes, "says")
    article = _SOME if holds else _NO
    if template is None:
        return _entry(predicate, shown, speech, holds=holds)
    head, colon, tail = template.partition(": ")
    names = {one.name for one in free}
    if colon and names == set(_PLACEHOLDER.findall(tail)):
        # What is behind the colon is only the details; the row may be there and lack one of them.
        said = fill(head, shown)
        return said if holds else speech.said(_NOTHING_ASKED, said)
    nouns = {one.name: column_noun(one) for one in free}
    # "Article 17(3)({point})": within a reference stands the bare noun.
    within = {name for name in nouns if f"({{{name}}})" in _INSIDE.sub("", template)}
    named = {
        name: noun if name in within else Noun(speech.said(_COLUMN, noun))
        for name, noun in nouns.items()
    }
    plain = describe_row(predicate, {**shown, **named}, speech)
    simple = not _NEGATING.search(template)
    if speech.said(_AND) == _AND.english and not within and (simple or not free[1:]):
        said = _that(predicate, shown, nouns, article=article.english.partition(" ")[0])
        if said or (simple and (said := _direct(predicate, shown, free, holds=holds))):
            return said
    if free[_FEW_FREE:]:
        # Half a sentence of things without a name is read by nobody.
        return _entry(predicate, shown, speech, holds=holds)
    if simple and free[1:] and not holds:
        if speech.said(_AND) == _AND.english:
            # "The due" of nobody knows what reads as if there were one.
            any_of = {name: Noun(f"any {noun}") for name, noun in nouns.items()}
            plain = describe_row(predicate, {**shown, **any_of}, speech)
        return speech.said(_NOTHING_SAYS, plain)
    every = speech.said(article, _listed(list(nouns.values()), speech))
    if holds:
        every = _listed([speech.said(article, one) for one in nouns.values()], speech)
    return speech.said(_SUCH, every, plain)


# A blank in parentheses of its own, behind a space, is no part of a reference.
_INSIDE: Final = regex(r"(?:^|\s)\(\{\w+\}\)")
_SOME_ENTRY: Final = Spoken("some entry", "einen Eintrag")
_FEW_FREE: Final = 2


def _entry(predicate: Predicate, shown: Mapping[str, str], speech: Speech, *, holds: bool) -> str:
    """Say that there is some row, or none, by its relation and the columns that are given."""
    told = _listed([_column_said(words(name), value) for name, value in shown.items()], speech)
    entry = speech.said(_SOME_ENTRY if holds else _NO_ENTRY)
    parts = (entry, words(predicate.name), *filter(None, [told]))
    return speech.said(_ENTRY_WITH if told else _ENTRY, *parts)


_NO_ENTRY: Final = Spoken("no entry", "keinen Eintrag")


def _that(
    predicate: Predicate, shown: Mapping[str, str], nouns: Mapping[str, str], *, article: str
) -> str:
    """Say ``there is no supplier that supplied L1``, if the sentence begins with a free column."""
    others = "some" if article == "some" else "any"
    for name, noun in nouns.items():
        told = {one: Noun(f"{others} {other}") for one, other in nouns.items()}
        said = describe_row(predicate, {**shown, **told, name: Noun(f"the {noun}")})
        rest = said.removeprefix(f"the {noun} ")
        if rest != said and _VERB.match(rest):
            return f"there is {article} {noun} that {rest}"
    return ""


def _direct(
    predicate: Predicate, shown: Mapping[str, str], free: Sequence[Column], *, holds: bool
) -> str:
    """Say ``it is a version of no package``: what is free stands where its value would stand."""
    places = _PLACEHOLDER.findall(predicate.attributes["says"])
    order = sorted(free, key=lambda one: places.index(one.name) if one.name in places else -1)
    if any(one.kind.numeric and not one.name.endswith("s") for one in free):
        return ""
    if order[0].kind in _DAYS or order[0].name not in places:
        return ""
    if any("\u2018" in column_noun(one) for one in free):
        # What is quoted does not stand behind "no".
        return ""
    told = {one.name: Noun(f"{'some' if holds else 'any'} {column_noun(one)}") for one in free}
    if not holds:
        told[order[0].name] = Noun(f"no {column_noun(order[0])}")
    return describe_row(predicate, {**shown, **told})


def is_left_out(cell: object) -> bool:
    """Tell whether nobody reads a cell: a sentence says nothing of it."""
    return isinstance(cell, NullCell) and cell.policy is NullPolicy.UNREAD


def _said(template: str, predicate: Predicate, shown: Mapping[str, str], speech: Speech) -> str:
    """Put values into a template, without the parts of lists that are about what is left out."""
    left_out = {column.name for column in predicate.columns} - shown.keys()
    if left_out:
        head, colon, rest = template.partition(": ")
        # Whatever has a subject of its own begins with it.
        head = _without(head, left_out, first=True)
        rest = _without(rest, left_out, first=False)
        template = f"{head}{colon}{rest}" if rest else head
        # What is left of the sentence says of which value nobody asked.
        shown = {**dict.fromkeys(left_out, speech.said(NOT_READ)), **shown}
    return fill(template, shown)


def _without(text: str, left_out: set[str], *, first: bool) -> str:
    """Return a list in words without the items all of whose placeholders are left out."""
    parts = _BETWEEN.split(text)
    kept: list[str] = []
    for number in range(0, len(parts), 2):
        part = parts[number]
        names = {name.removeprefix("?") for name in _PLACEHOLDER.findall(part)}
        if names and names <= left_out:
            # "loan {id}" is still about a loan; what begins with a value has no other subject.
            part = part if part.startswith("{") else _PLACEHOLDER.sub("", part).rstrip()
            if not first or number:
                continue
        kept += [parts[number - 1] if kept and number else "", part]
    return "".join(kept)


def _unary(subject: str, value: str, speech: Speech) -> str:
    if subject.startswith("is "):
        return speech.said(_IS, value, subject.removeprefix("is "))
    return speech.said(_HOLDS_FOR, subject, value)


def _listed(parts: Sequence[str], speech: Speech = PLAIN) -> str:
    if len(parts) < 2:  # noqa: PLR2004  two parts need a conjunction
        return "".join(parts)
    return f"{', '.join(parts[:-1])}{speech.said(_AND)}{parts[-1]}"


@frozen
class Instance:
    """A rule with values for its variables; ``kinds`` are those of the variables."""

    rule: Rule
    values: Mapping[str, Slot]
    kinds: Mapping[str, Kind]
    predicates: Mapping[str, Predicate]
    speech: Speech = PLAIN
    _known: list[dict[str, Attributes]] = field(
        default_factory=list, init=False, compare=False, repr=False
    )
    """The styles, once somebody has asked for them."""

    def shown(self) -> dict[str, str]:
        """Return the values as people read them, by variable and by column of the head."""
        head = self.predicates[self.rule.head.predicate]
        columns = {
            column.name: self.term(term)
            for column, term in zip(head.columns, self.rule.head.terms, strict=True)
        }
        styles = self.styles
        return columns | {
            name: self.speech.value(slot, self.kinds[name], name, styles.get(name, {}))
            for name, slot in self.values.items()
        }

    @property
    def styles(self) -> dict[str, Attributes]:
        """How the values of variables are written: as the first column of theirs says."""
        if not self._known:
            self._known.append(self._found_styles())
        return self._known[0]

    def _found_styles(self) -> dict[str, Attributes]:
        found: dict[str, Attributes] = {}
        folded: list[Aggregate] = []
        for literal in (Positive(self.rule.head), *self.rule.body):
            inside = literal.body if isinstance(literal, Aggregate) else (literal,)
            folded += [literal] if isinstance(literal, Aggregate) else []
            for one in inside:
                if isinstance(one, Positive):
                    self._add_styles(one.atom, found)
        compared = [one for one in self.rule.body if isinstance(one, Comparison)]
        for one in compared:
            for side, other in ((one.left, one.right), (one.right, one.left)):
                if isinstance(side, Variable) and _gives_year(other):
                    found.setdefault(side.name, _AS_YEAR)
        for aggregate in folded:
            target = aggregate.target
            if aggregate.function == "count" or not isinstance(target, Variable):
                continue
            style = found.get(target.name, _NO_STYLE)
            # A sum of numbers that name something names nothing.
            if aggregate.function in _TAKEN or style.keys().isdisjoint(_NAMES):
                found.setdefault(aggregate.result.name, style)
        return found

    def _add_styles(self, atom: Atom, found: dict[str, Attributes]) -> None:
        for column, term in zip(self.predicates[atom.predicate].columns, atom.terms, strict=True):
            if isinstance(term, Variable) and term.name not in found:
                style = style_of(column) or _naming_style(column)
                if style:
                    found[term.name] = style

    def knows(self, names: Sequence[str]) -> bool:
        """Tell whether variables and columns of the head have values."""
        head = self.predicates[self.rule.head.predicate]
        columns = zip(head.columns, self.row(self.rule.head), strict=True)
        slots = {column.name: slot for column, slot in columns} | dict(self.values)
        return all(slots.get(name.removeprefix("?"), OPEN) is not OPEN for name in names)

    def term(self, term: Term) -> str:
        """Write a term: a value where it has one, else as in the rule."""
        match term:
            case Variable(name=name) if name in self.values:
                style = self.styles.get(name, {})
                return self.speech.value(self.values[name], self.kinds[name], name, style)
            case Variable():
                return self.formula(term)
            case Constant(value=value, kind=kind):
                return self.speech.value(value, kind)
            case Apply(kind=Kind() as kind):
                slot, formula = self.slot(term), self.formula(term)
                if slot is OPEN:
                    return formula
                style = _AS_YEAR if _gives_year(term) else _NO_STYLE
                shown = self.speech.value(slot, kind, style=style)
                # What makes a structure of values is spelled as the structure, and what only takes
                # a value as another type says nothing.
                told = is_constructor(term.function) and display_value(slot, kind) == formula
                return shown if told or shown == formula else f"{shown} ({formula})"
            case _:
                return print_term(term)

    def formula(self, term: Term) -> str:
        """Say how a value is calculated: ``1,700 times 0.35``."""
        if isinstance(term, Variable) and self.slot(term) is OPEN:
            made = self.inlined(term)
            named = _side(self, term, set())
            return self.speech.said(_THE, named) if made is term else self.formula(made)
        if not isinstance(term, Apply):
            return self.term(term)
        spoken = spoken_of(term.function)
        if spoken is None:
            return print_term(self._filled(term))
        whole = replace(term, arguments=tuple(map(self._unfolded, term.arguments)))
        return say_applied(spoken, whole, self.formula, self.speech)

    def _unfolded(self, term: Term) -> Term:
        """Return what a term without a value is computed from."""
        return self.inlined(term) if self.slot(term) is OPEN else term

    def inlined(self, term: Term) -> Term:
        """Return what a variable is computed from whose name is no word of a sentence."""
        made = self.made(term) if isinstance(term, Variable) else None
        return term if made is None else made[1]

    def made(self, variable: Variable) -> tuple[Comparison, Term] | None:
        """Return the equation that alone gives a variable, with its other side.

        ``None`` where an atom, an aggregate or a column of the head names it, or its name does.
        """
        return _equation_of(self.rule, variable, self.predicates, german=self.speech.german)

    def computes(self, literal: Comparison) -> tuple[Variable, Term] | None:
        """Return a variable without a word, and its term, where a literal is its equation."""
        return _computed_by(self.rule, literal, self.predicates, german=self.speech.german)

    def is_told_elsewhere(self, literal: Comparison) -> bool:
        """Tell whether an equation only computes what another comparison tells."""
        own = self.computes(literal)
        return own is not None and _is_compared(self.rule, literal, own[0])

    def slot(self, term: Term) -> Slot:
        """Return the value of a term, ``OPEN`` where it has none or nobody knows it."""
        match term:
            case Variable(name=name):
                return self.values.get(name, OPEN)
            case Constant(value=value):
                return value
            case Apply(function=function, arguments=arguments, kind=Kind() as kind):
                return self._called(function, arguments, kind)
            case _:
                return OPEN

    def _called(self, function: str, arguments: Sequence[Term], kind: Kind) -> Slot:
        slots = [self.slot(one) for one in arguments]
        kinds = [self.kind_of(one) for one in arguments]
        given = tuple(one for one in kinds if one is not None)
        if OPEN in slots or len(given) < len(kinds):
            return OPEN
        if NullCell in map(type, slots):
            return cast("Slot", made_of(function, slots))
        try:
            return implementation(function, given, kind)(*slots)
        except EvaluationError:
            return OPEN

    def kind_of(self, term: Term) -> Kind | None:
        """Return the kind of a term, where it has one."""
        return self.kinds.get(term.name) if isinstance(term, Variable) else term.kind

    def _filled(self, term: Term) -> Term:
        """Return a term with values in the places of variables."""
        if isinstance(term, Apply):
            return replace(term, arguments=tuple(map(self._filled, term.arguments)))
        slot, kind = self.slot(term), self.kind_of(term)
        if isinstance(slot, Open | NullCell) or kind is None:
            return term
        return Constant(slot, kind)

    def wanted(self, structure: Term, pattern: Apply) -> Apply:
        """Return a pattern with the values that a structure has not; what it has stays a name."""
        whole = self.slot(structure)
        arguments = list(pattern.arguments)
        for place, part in enumerate(arguments if isinstance(whole, str) else ()):
            kind, slot = self.kind_of(part), self.slot(part)
            if not isinstance(part, Variable) or kind is None or isinstance(slot, Open):
                continue
            field_of = implementation(FIELD_OF, (Kind.STRUCTURE, Kind.NUMBER), kind)
            if field_of(whole, place) != slot:
                arguments[place] = Constant(slot, kind)
        return replace(pattern, arguments=tuple(arguments))

    def row(self, atom: Atom) -> OpenRow:
        """Return the row of an atom as far as its terms have values."""
        return tuple(self.slot(term) for term in atom.terms)

    def row_read(self, atom: Atom) -> OpenRow:
        """Return the same, without the cells that the rule does not read."""
        unread = unread_variables(self.rule)
        return tuple(
            cast("Slot", UNREAD_CELL)
            if isinstance(term, Variable) and term.name in unread
            else slot
            for term, slot in zip(atom.terms, self.row(atom), strict=True)
        )


def said_predicates(program: AnalysedProgram) -> dict[str, Predicate]:
    """Return the predicates with the style of a key, or a year, where every rule gives one."""
    found = dict(program.program.predicates)
    heads: dict[str, list[Rule]] = {}
    for rule in program.rules:
        if rule.head.predicate not in program.external:
            heads.setdefault(rule.head.predicate, []).append(rule)
    # Where rules go on from others that stand behind them, one round is not enough.
    for _ in range(_MOST_ROUNDS):
        before = list(found.values())
        for name, mine in heads.items():
            if any(map(_is_unstyled, found[name].columns)):
                found[name] = _with_given_styles(found, mine)
        if before == list(found.values()):
            break
    return found


def _is_unstyled(column: Column) -> bool:
    return column.kind in _WHOLE and not style_of(column) and not _NAMING.search(column.name)


def _with_given_styles(predicates: Mapping[str, Predicate], rules: Sequence[Rule]) -> Predicate:
    """Return the predicate of some rules, as all that give its rows say of its columns."""
    predicate = predicates[rules[0].head.predicate]
    given = [(rule, Instance(rule, {}, {}, predicates).styles) for rule in rules]
    columns = list(predicate.columns)
    for place, column in enumerate(columns):
        terms = [(rule.head.terms[place], styles) for rule, styles in given]
        styles = [
            styles.get(term.name, _NO_STYLE) if isinstance(term, Variable) else _NO_STYLE
            for term, styles in terms
        ]
        if _is_unstyled(column) and not any(_NAMES.isdisjoint(one) for one in styles):
            columns[place] = replace(column, attributes={**column.attributes, **styles[0]})
    return replace(predicate, columns=tuple(columns))


_AS_YEAR: Final[Attributes] = MappingProxyType({"year": ""})


def _gives_year(term: Term) -> bool:
    """Tell whether a term is the year of a day, which is written without separators."""
    return isinstance(term, Apply) and unwrapped(term.function)[0] == "year"


_INFIX: Final = frozenset({"+", "-", "*", "/", "^"})


def _is_compared(rule: Rule, equation: Literal, variable: Variable) -> bool:
    """Tell whether another comparison has the variable that an equation gives."""
    others = [one for one in rule.body if one is not equation]
    return any(isinstance(one, Comparison) and variable in literal_variables(one) for one in others)


def _computed_by(
    rule: Rule, literal: Comparison, predicates: Mapping[str, Predicate], *, german: bool
) -> tuple[Variable, Term] | None:
    """Return the variable, and its term, that a literal alone gives; see `made`."""
    for side in (literal.left, literal.right):
        if isinstance(side, Variable):
            made = _equation_of(rule, side, predicates, german=german)
            if made is not None and made[0] is literal:
                return side, made[1]
    return None


def _equation_of(
    rule: Rule, variable: Variable, predicates: Mapping[str, Predicate], *, german: bool
) -> tuple[Comparison, Term] | None:
    """Return the equation that computes a variable which nothing else names; see `made`."""
    heads = zip(predicates[rule.head.predicate].columns, rule.head.terms, strict=True)
    if any(term == variable and len(column.name) >= _TELLING for column, term in heads):
        return None
    for literal in rule.body:
        is_row = isinstance(literal, Positive) and variable in literal.atom.terms
        if is_row or (isinstance(literal, Aggregate) and literal.result == variable):
            return None
    for literal in rule.body:
        if not isinstance(literal, Comparison) or literal.operator != "=":
            continue
        for side, other in ((literal.left, literal.right), (literal.right, literal.left)):
            if side != variable or isinstance(other, Variable) or pattern_sides(literal):
                continue
            named = isinstance(other, Apply) and _is_infix(other) and not german
            own = words(variable.name.strip("_"))
            if named and len(own) >= _TELLING and as_noun(own, other.kind) == own:
                return None
            return literal, other
    return None


def spoken_of(function: str) -> Spoken | None:
    """Return how a function is said; of what makes or takes apart structures there is nothing."""
    return SPOKEN.get(unwrapped(function)[0])


def say_applied(spoken: Spoken, term: Apply, say: Callable[[Term], str], speech: Speech) -> str:
    """Say a function of terms, with parentheses where it would be read in another way."""
    less = _taken_away(term.arguments[1]) if unwrapped(term.function)[0] == "date_add" else None
    if less is not None:
        spoken, term = _DAYS_BEFORE, replace(term, arguments=(term.arguments[0], less))
    parts = [
        f"({said})" if isinstance(one, Apply) and _is_infix(one) and _is_infix(term) else said
        for one in term.arguments
        for said in [say(one)]
    ]
    return speech.said(spoken, *parts)


_DAYS_BEFORE: Final = Spoken("the day that is {1} days before {0}", "der Tag {1} Tage vor {0}")


def _taken_away(days: Term) -> Term | None:
    """Return how many days are taken away where a number below 0 is added: `0 - ?days`."""
    match days:
        case Constant(value=int() as number) if number < 0:
            return replace(days, value=-number)
        case Apply(function=function, arguments=(one,)) if unwrapped(function)[0] == "neg":
            return one
        case Apply(function=function, arguments=(Constant(value=0), other)):
            return other if unwrapped(function)[0] == "-" else None
        case _:
            return None


def _is_infix(term: Apply) -> bool:
    return unwrapped(term.function)[0] in _INFIX


def relation(operator: str, kind: Kind | None, *, holds: bool = True) -> Spoken:
    """Return how a comparison of two values is said, or that it does not hold."""
    name = operator if holds else f"not {operator}"
    days = SPOKEN.get(f"day {name}") if kind in {Kind.DATE, Kind.TIMESTAMP} else None
    return days or SPOKEN[name]


def explain(instance: Instance) -> str:
    """Say why a rule instance gives its head: by its template, else literal by literal."""
    template = instance.speech.template(instance.rule.attributes, "says")
    if template:
        return fill(template, instance.shown())
    compared: set[int] = set()
    body = as_written(instance.rule.body)
    parts = [
        _comparison(instance, literal, compared)
        for literal in body
        if isinstance(literal, Comparison) and not instance.is_told_elsewhere(literal)
    ]
    told = [
        _literal(instance, literal)
        for literal in body
        if not isinstance(literal, Comparison) and id(literal) not in compared
    ]
    sentence = instance.speech.said(_BESIDES).join([*told, *parts])
    return sentence or instance.speech.said(_STATED)


def _literal(instance: Instance, literal: Literal) -> str:
    match literal:
        case Positive(atom):
            declared = instance.predicates[atom.predicate]
            return describe_fact(declared, instance.row_read(atom), instance.speech)
        case Negative(atom):
            declared = instance.predicates[atom.predicate]
            return deny_fact(declared, instance.row_read(atom), instance.speech)
        case Aggregate():
            return describe_aggregate(instance, literal)
        case Comparison():
            return ""


def describe_aggregate(instance: Instance, literal: Aggregate) -> str:
    """Say what an aggregate folds: ``the sum of amount over order_line is 150,000``."""
    speech, found = instance.speech, instance.term(literal.result)
    what = name_aggregate(instance, literal)
    return speech.said(_IS, what, speech.said(_AT_LEAST, found) if literal.recursive else found)


def name_aggregate(instance: Instance, literal: Aggregate) -> str:
    """Say what an aggregate gives: ``the sum of amount over order_line``."""
    speech = instance.speech
    over = _listed(list(dict.fromkeys(_folded(literal))), speech) or speech.said(_NOTHING)
    return speech.said(_fold_words(literal), name_target(instance, literal), over)


_NOTHING: Final = Spoken("nothing", "nichts")


def fold_name(function: str, speech: Speech = PLAIN) -> str:
    """Return what an aggregate gives: ``the number`` for ``count``."""
    return " ".join(speech.said(SPOKEN[f"{unwrapped(function)[0]} of"]).split()[:2])


_OF_NO_ROWS: Final = Spoken("of no rows there is no {0}", "ohne Zeilen gibt es dies nicht: {0}")


def say_folded(function: str, actual: str | None, speech: Speech = PLAIN) -> str:
    """Say what an aggregate comes to; without a value that it has none."""
    name = fold_name(function, speech)
    if actual is None:
        return speech.said(_OF_NO_ROWS, name.partition(" ")[2])
    return speech.said(_IS, name, actual)


def say_beyond(function: str, member: str, speech: Speech = PLAIN) -> str:
    """Say what a least or greatest is at most or at least, where nobody knows it."""
    return speech.said(_AT_LEAST if function == "max" else _AT_MOST, member)


def _folded(literal: Aggregate) -> list[str]:
    return [words(one.atom.predicate) for one in literal.body if not isinstance(one, Comparison)]


def _fold_words(literal: Aggregate) -> Spoken:
    return SPOKEN[f"{unwrapped(literal.function)[0]} of"]


def name_target(instance: Instance, literal: Aggregate) -> str:
    """Name what is folded: a variable that is no word by the column in which it stands."""
    if literal.target is None:
        return ""
    atoms = [one.atom for one in literal.body if isinstance(one, Positive)]
    return _term_named(instance, literal.target, atoms)


def _term_named(instance: Instance, term: Term, atoms: Sequence[Atom]) -> str:
    """Name a term without its values."""
    if isinstance(term, Variable):
        return _variable_named(instance, term, atoms)
    spoken = spoken_of(term.function) if isinstance(term, Apply) else None
    if spoken is None or not isinstance(term, Apply):
        return instance.term(term) if isinstance(term, Constant) else bare_term(term)
    return say_applied(spoken, term, lambda one: _term_named(instance, one, atoms), instance.speech)


def _variable_named(instance: Instance, variable: Variable, atoms: Sequence[Atom]) -> str:
    """Return a variable in words; one of a letter or two goes by a column in which it stands."""
    own = words(variable.name.strip("_"))
    if len(own) >= _TELLING:
        return own
    for atom in atoms:
        for column, term in zip(
            instance.predicates[atom.predicate].columns, atom.terms, strict=True
        ):
            if term == variable and len(column.name) >= _TELLING:
                return words(column.name)
    return own


def bare_term(term: Term) -> str:
    """Write a term without the signs of the language: `Add(left, ...)` for `$Add(?left, _)`."""
    match term:
        case Variable(name=name):
            return "..." if is_wildcard(term) else words(name.strip("_"))
        case Apply(function=function, arguments=arguments) if is_constructor(function):
            inside = ", ".join(map(bare_term, arguments))
            name = function.removeprefix("$")
            return f"[{inside}]" if function == RECORD else f"{name}({inside})" if inside else name
        case Apply(function=function, arguments=arguments):
            spoken = spoken_of(function)
            if spoken is not None:
                return say_applied(spoken, term, bare_term, PLAIN)
            return f"{words(function)}({', '.join(map(bare_term, arguments))})"
        case _:
            return print_term(term)


def _comparison(
    instance: Instance, literal: Comparison, compared: set[int], *, holds: bool = True
) -> str:
    if pattern_sides(literal) is not None:
        return _form(instance, literal, compared, holds=holds)
    speech = instance.speech
    own = instance.computes(literal) if holds else None
    if own is not None:
        return speech.said(_IS, instance.formula(own[1]), instance.term(own[0]))
    literal = _with_inlined(instance, literal)
    left, right = (_side(instance, side, compared) for side in (literal.left, literal.right))
    shown = _said_once(instance.term(literal.left), left)
    other = _said_once(instance.term(literal.right), right)
    if holds and literal.operator == "=" and shown.partition(" (")[0] == other.partition(" (")[0]:
        return _equal(speech, (left, shown), (right, other))
    if _is_lower_bound(instance, literal.left):
        shown = speech.said(_AT_LEAST, shown)
    spoken = speech.said(relation(literal.operator, instance.kind_of(literal.left), holds=holds))
    if not holds and literal.operator in {">=", "<="} and _is_lower_bound(instance, literal.left):
        # What is at least so much may be more: that it is less nobody has said.
        spoken = f"{speech.said(_NOT)}{speech.said(SPOKEN[literal.operator])}"
    target = _named_value(speech, right, other) if right else other
    if not left:
        return speech.said(_IS_SO, shown, spoken, target)
    of_texts = literal.operator.lstrip("!") in {"contains", "match"}
    return speech.said(_WHICH_IS if of_texts else _COMPARED, left, shown, spoken, target)


def _with_inlined(instance: Instance, literal: Comparison) -> Comparison:
    """Put what is computed in the place of variables whose names are no words."""
    left, right = instance.inlined(literal.left), instance.inlined(literal.right)
    return replace(literal, left=left, right=right)


def _named_value(speech: Speech, name: str, value: str) -> str:
    """Say a value with its name: ``the least age 18``, but ``3, the bays of 8 and 3``."""
    return speech.said(_WHICH_OF if _ENDS_IN_VALUE.search(name) else _THE_ONE, name, value)


_ENDS_IN_VALUE: Final = regex(r" (?:of|von) ")


def _equal(speech: Speech, left: tuple[str, str], right: tuple[str, str]) -> str:
    """Say that two sides are one value, which is told once."""
    (name, shown), (other_name, other) = left, right
    if name and other_name and name != other_name:
        return speech.said(_THE_SAME, name, shown, other_name)
    # How a value is calculated stands behind it.
    told = max(shown, other, key=len)
    if not name and not other_name:
        return speech.said(_IS, shown, other)
    return speech.said(_IS, name or other_name, told)


def _form(instance: Instance, literal: Comparison, compared: set[int], *, holds: bool) -> str:
    """Say which form a structure has: `e is $Add(1, 2), of the form $Add(?l, ?r)`."""
    sides = pattern_sides(literal)
    if sides is None:
        raise TypeError(literal)
    structure, pattern = sides
    speech = instance.speech
    form = bare_term(pattern if holds else instance.wanted(structure, pattern))
    of_form = speech.said(_FORM, "" if holds else speech.said(_NOT), form)
    shown = instance.term(structure)
    subject = _side(instance, structure, compared) if _is_named(instance, structure) else ""
    if subject:
        return f"{speech.said(_IS, subject, shown)}, {of_form}"
    return speech.said(_IS, shown, of_form)


def say_form(instance: Instance, literal: Comparison) -> str:
    """Say which form a structure has to have of which nothing is known."""
    sides = pattern_sides(literal)
    if sides is None or not _is_named(instance, sides[0]):
        return ""
    written = [one for one in as_written(instance.rule.body) if isinstance(one, Comparison)]
    nested = dict(pair for one in written if (pair := pattern_sides(one)) is not None)
    speech = instance.speech
    name = speech.said(_THE, _side(instance, sides[0], set()) or bare_term(sides[0]))
    form = bare_term(_with_nested(sides[1], nested))
    return speech.said(_IS, name, speech.said(_FORM, "", form))


def _with_nested(pattern: Apply, nested: Mapping[Term, Apply]) -> Apply:
    """Put the patterns of its parts into a pattern."""
    parts = (nested.get(one) for one in pattern.arguments)
    pairs = zip(pattern.arguments, parts, strict=True)
    inner = tuple(own if one is None else _with_nested(one, nested) for own, one in pairs)
    return replace(pattern, arguments=inner)


def _is_named(instance: Instance, term: Term) -> bool:
    """Tell whether a variable is more than the name that analysis gave to a part of a pattern."""
    patterns = [
        sides[1]
        for one in as_written(instance.rule.body)
        if isinstance(one, Comparison) and (sides := pattern_sides(one)) is not None
    ]
    return not any(term in pattern.arguments for pattern in patterns)


def _is_lower_bound(instance: Instance, side: Term) -> bool:
    """Tell whether the value of a variable is what some rows reach, and may be more."""
    return any(
        isinstance(literal, Aggregate) and literal.recursive and literal.result == side
        for literal in instance.rule.body
    )


_MAY: Final = Spoken("it would, if {0}", "sie gäbe es, wenn gilt: {0}")
_MORE_SUCH: Final = Spoken("{0}, and {1} more such", "{0}, und {1} weitere solche")
_THERE_IS_NO: Final = Spoken("there is no {0}", "es gibt nicht {0}")
_THERE_IS: Final = Spoken("there is {0}", "es gibt {0}")
_FAR_BELOW: Final = Spoken(
    "{0} is {1} at most, and {2} {3} is needed", "{0} ist höchstens {1}, nötig ist {2} {3}"
)


def say_possible(unknown: Sequence[str], speech: Speech = PLAIN) -> str:
    """Say that a rule may give something, if what nobody knows is so; empty where nothing is."""
    every = speech.said(_AND).join(dict.fromkeys(unknown))
    return speech.said(_MAY, every) if every else ""


def say_more(sentence: str, more: int, speech: Speech = PLAIN) -> str:
    """Add how many more there are to the sentence of the first."""
    return speech.said(_MORE_SUCH, sentence, f"{more:,}") if more else sentence


def say_there(shown: str, speech: Speech = PLAIN, *, holds: bool = True) -> str:
    """Say that something is there, or not, that is written as a goal."""
    return speech.said(_THERE_IS if holds else _THERE_IS_NO, shown)


def say_below(function: str, total: str, operator: str, least: str, speech: Speech = PLAIN) -> str:
    """Say how far a total can grow at most, and what is needed."""
    wanted = speech.said(SPOKEN[">" if operator == ">" else ">="])
    return speech.said(_FAR_BELOW, fold_name(function, speech), total, wanted, least)


def describe_comparison(instance: Instance, literal: Comparison) -> str:
    """Say that a comparison holds, with its values."""
    return _comparison(instance, literal, set())


_HAS_VALUE: Final = Spoken("{0} has a value", "{0} hat einen Wert")


def demand_comparison(instance: Instance, literal: Comparison) -> str:
    """Say what a comparison asks of what nobody knows: ``the contract value of C009 is more than``.

    Empty where both sides are known.
    """
    sides = (literal.left, literal.right)
    known = all(instance.slot(side) is not OPEN for side in sides)
    return "" if known else ask_comparison(instance, literal)


def ask_comparison(instance: Instance, literal: Comparison) -> str:
    """Say what a comparison asks; empty where another one tells what it computes."""
    if instance.is_told_elsewhere(literal):
        return ""
    own = instance.computes(literal)
    if own is not None:
        return instance.speech.said(_HAS_VALUE, instance.formula(own[1]))
    literal = _with_inlined(instance, literal)
    sides = (literal.left, literal.right)
    left, right = (
        _demanded(instance, side, form)
        for side, form in zip(sides, (_THE_KNOWN, _THE_ONE), strict=True)
    )
    speech = instance.speech
    spoken = speech.said(relation(literal.operator, instance.kind_of(literal.left)))
    return speech.said(_IS_SO, left, spoken, right)


def _demanded(instance: Instance, side: Term, form: Spoken) -> str:
    if not isinstance(side, Variable):
        return instance.term(side)
    name = _side(instance, side, set())
    known = instance.slot(side) is not OPEN
    speech = instance.speech
    if not known:
        return speech.said(_THE, name)
    value = _said_once(instance.term(side), name)
    return _named_value(speech, name, value) if form is _THE_ONE else speech.said(form, name, value)


def refute_comparison(instance: Instance, literal: Literal) -> str:
    """Say that a comparison does not hold, with its values; empty for other literals.

    The rule's ``@[says_not]`` says it, where every value that it names is known.
    """
    if not isinstance(literal, Comparison):
        return ""
    template = instance.speech.template(instance.rule.attributes, "says_not")
    if template and instance.knows(_PLACEHOLDER.findall(template)):
        return fill(template, instance.shown())
    return _comparison(instance, literal, set(), holds=False)


def _side(instance: Instance, side: Term, compared: set[int]) -> str:
    """Say where the value of a variable comes from: ``revenue of C001``; empty for constants."""
    if not isinstance(side, Variable):
        return ""
    for literal in instance.rule.body:
        match literal:
            case Positive(atom):
                found = _source(instance, atom, side.name)
                if found:
                    compared.add(id(literal))
                    return found
            case Aggregate(result=result) if result.name == side.name:
                compared.add(id(literal))
                return _aggregate_name(instance, literal)
            case _:
                pass
    name = _variable_named(instance, side, [instance.rule.head])
    speech = instance.speech
    return speech.said(_COLUMN, name) if speech.german else as_noun(name, instance.kind_of(side))


def _aggregate_name(instance: Instance, literal: Aggregate) -> str:
    """Name what an aggregate folds, without an article: ``sum of amount``."""
    speech = instance.speech
    over = _listed(list(dict.fromkeys(_folded(literal))), speech)
    said = speech.said(_fold_words(literal), name_target(instance, literal), over)
    said = said.partition(" ")[2] or said
    # Of what is counted its rows are what names it.
    ends = (f" over {over}", f" über {over}") if literal.target is not None else ()
    for end in ends:
        said = said.removesuffix(end)
    return said


def _naming(instance: Instance, atom: Atom, place: int) -> list[int]:
    """Return the columns that say of which row a value is.

    Those of the key where one is declared, else those that the head or another atom names too.
    """
    predicate = instance.predicates[atom.predicate]
    others = [at for at in range(predicate.arity) if at != place and at not in predicate.unread]
    key = [at for at in others if at in predicate.key]
    if key or len(others) < 2:  # noqa: PLR2004  one names it
        return key or others
    atoms = [one.atom for one in instance.rule.body if isinstance(one, Positive | Negative)]
    beside = [one for one in (instance.rule.head, *atoms) if one is not atom]
    if others[0] == 0 and atom.terms[0] in instance.rule.head.terms:
        # What the head is about, and the first column names, is that row: no key says more.
        beside = [instance.rule.head]
    names = {term for one in beside for term in one.terms if isinstance(term, Variable)}
    joined = [at for at in others if atom.terms[at] in names]
    return joined or others


def _source(instance: Instance, atom: Atom, name: str) -> str:
    places = [
        at for at, term in enumerate(atom.terms) if isinstance(term, Variable) and term.name == name
    ]
    if len(places) != 1:
        return ""
    predicate = instance.predicates[atom.predicate]
    naming = _naming(instance, atom, places[0])
    # What nobody knows says not which row it is.
    known = [atom.terms[at] for at in naming if instance.slot(atom.terms[at]) is not OPEN]
    others = [instance.term(one) for one in known]
    subject = words(predicate.name)
    if (
        predicate.arity > len(naming) + 1
        or len(naming) > 1
        or value_column(predicate)
        not in {
            places[0],
            None,
        }
    ):
        column = words(predicate.columns[places[0]].name)
        alone = others and column not in _VAGUE and _is_only(instance, atom, places[0])
        subject = column if alone else f"{column} in {subject}"
    if not others:
        return as_noun(subject, predicate.columns[places[0]].kind)
    named = _listed(others, instance.speech)
    return instance.speech.said(_OF, subject.removesuffix(" of"), named)


def _is_only(instance: Instance, atom: Atom, place: int) -> bool:
    """Tell whether no other relation of the rule gives a value that goes by this column's name.

    The one value of a relation goes by the relation's name.
    """
    name = instance.predicates[atom.predicate].columns[place].name
    atoms = [one.atom for one in instance.rule.body if isinstance(one, Positive | Negative)]
    others = [instance.predicates[one.predicate] for one in atoms if one is not atom]
    return not any(
        column.name == name and at != value_column(predicate)
        for predicate in others
        for at, column in enumerate(predicate.columns)
    )


# A rule without values: what its words and conditions are about goes by the names of columns.

_GENERIC: Final = frozenset({"id", "key", "no", "nr", "code", "name"})
_VAGUE: Final = _GENERIC | {"value", "number", "count", "amount", "type", "kind", "other", "one"}
"""Names of columns that say nothing without the name of their relation."""
_TELLING: Final = 3
"""A variable of so many letters is a word."""
_COUNTED: Final = ("other ", "third ", "fourth ", "fifth ")


@frozen
class RuleWords:
    """A rule in words: each variable goes by the column it stands in, ``the order's total``."""

    rule: Rule
    predicates: Mapping[str, Predicate]

    nouns: Mapping[str, Noun]

    speech: Speech = PLAIN

    @classmethod
    def of(cls, rule: Rule, predicates: Mapping[str, Predicate], speech: Speech = PLAIN) -> Self:
        """Name the variables of a rule: no two have the same noun."""
        best: dict[str, tuple[int, str, str]] = {}
        for rank, atom in _atoms_in(rule):
            for place, term in enumerate(atom.terms):
                if isinstance(term, Variable) and not is_wildcard(term):
                    found = _column_noun(predicates[atom.predicate], place, rank)
                    if term.name not in best or found[0] < best[term.name][0]:
                        best[term.name] = found
        kinds = _kinds_in(rule, predicates)
        nouns: dict[str, Noun] = {}
        taken: set[str] = set()
        years = {
            one.left.name
            for one in rule.body
            if isinstance(one, Comparison)
            and isinstance(one.left, Variable)
            and _gives_year(one.right)
        }
        for variable in _variables_in(rule):
            own = words(variable.strip("_"))
            if len(own) < _TELLING and variable in years:
                own = "year"
            named = as_noun(own, kinds.get(variable))
            _, noun, owned = best.get(variable, (0, named, named))
            telling = len(own) >= _TELLING and own not in {"one", "other"}
            ways = (noun, named if telling else noun, owned)
            numbered = (
                f"{prefix}{noun}" for prefix in chain(_COUNTED, map("{}th ".format, count(6)))
            )
            way = next(one for one in chain(ways, numbered) if one not in taken)
            taken.add(way)
            # The names of columns have one language: in another they are quoted.
            bare = way == "today" and not speech.german
            nouns[variable] = Noun(way if bare else speech.said(_COLUMN, way))
        return cls(rule, predicates, nouns, speech)

    def says(self, known: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return the rule's own words; empty for none.

        In the places of variables are the values that are known, and columns for the others.
        """
        template = self.speech.template(self.rule.attributes, "says") or ""
        columns = self.predicates[self.rule.head.predicate].columns
        head = zip(columns, self.rule.head.terms, strict=True)
        # What has no value and no column goes by its own name.
        every = _PLACEHOLDER.findall(template)
        values: dict[str, str] = {
            name.lstrip("?"): Noun(self.speech.said(_COLUMN, words(name))) for name in every
        }
        columns_of_head = {
            one.name: known.get(t.name, self.term(t)) if isinstance(t, Variable) else self.term(t)
            for one, t in head
        }
        return fill(template, values | columns_of_head | dict(self.nouns) | dict(known))

    def contradicted(self) -> tuple[tuple[str, str], ...]:
        """Give what its words say of two values, and what is checked of them instead.

        Only comparisons are looked at that stand between two values of the rule's own words.
        """
        template = self.rule.attributes.get("says", "")
        columns = self.predicates[self.rule.head.predicate].columns
        names = {
            column.name: term.name
            for column, term in zip(columns, self.rule.head.terms, strict=True)
            if isinstance(term, Variable)
        }
        found: dict[tuple[str, str], None] = {}
        places = list(_PLACEHOLDER.finditer(template))
        for place, one in enumerate(places):
            end = places[place + 1].start() if place + 1 < len(places) else len(template)
            between = template[one.end() : end]
            said = list(_COMPARING.finditer(between))
            number = _FIRST_NUMBER.search(between, said[0].end()) if said else None
            others = [places[place + 1].group(1)] if place + 1 < len(places) else []
            if len(said) != 1 or not (number or others):
                continue
            if _NEGATING.search(between[: said[0].start()]):
                continue
            left, *right = (
                names.get(name.lstrip("?"), name.lstrip("?")) for name in (one.group(1), *others)
            )
            checked = self._checked(left, number.group() if number else right[0])
            operator = _OPERATOR_OF[_COMPARING_KEY.sub(" ", said[0].group().casefold())]
            if checked and not any(_operator_from(one, left) == operator for one in checked):
                found[said[0].group(), "; ".join(self.requires(one) for one in checked)] = None
        return tuple(found)

    def _checked(self, left: str, right: str) -> list[Comparison]:
        """Return the orderings of the rule between a variable and another, or a number."""
        return [
            one
            for one in self.rule.body
            if isinstance(one, Comparison)
            and one.operator in _MIRRORED
            and {_named(one.left), _named(one.right)} == {left, right.replace(",", "")}
        ]

    def term(self, term: Term) -> str:
        """Say a term: the column of a variable, a constant, how something is calculated."""
        match term:
            case Variable(name=name):
                made = self._made(term)
                noun = self.nouns.get(name, self.speech.said(_SOME_VALUE))
                return noun if made is None else self.term(made[1])
            case Constant(value=value, kind=kind):
                return self.speech.value(value, kind)
            case Apply(function=function):
                spoken = spoken_of(function)
                if spoken is not None:
                    parts = ((one, self._made(one)) for one in term.arguments)
                    inner = tuple(one if made is None else made[1] for one, made in parts)
                    whole = replace(term, arguments=inner)
                    return say_applied(spoken, whole, self.term, self.speech)
        return bare_term(term)

    def _made(self, term: Term) -> tuple[Comparison, Term] | None:
        """Return the equation that gives a variable whose name is no word, as `Instance` does."""
        if not isinstance(term, Variable):
            return None
        return _equation_of(self.rule, term, self.predicates, german=self.speech.german)

    def _only_computes(self, literal: Comparison) -> bool:
        """Tell whether an equation only computes what another comparison tells."""
        german = self.speech.german
        own = _computed_by(self.rule, literal, self.predicates, german=german)
        return own is not None and _is_compared(self.rule, literal, own[0])

    def requires(self, literal: Literal) -> str:
        """Say what a literal of the body asks: ``the age is at least the least age``.

        Empty for an equation of which another comparison tells.
        """
        match literal:
            case Comparison() if self._only_computes(literal):
                return ""
            case Comparison(operator=operator):
                return self._compares(literal, operator)
            case Negative(atom):
                return deny_row(self.predicates[atom.predicate], self._row(atom), self.speech)
            case Positive(atom):
                return describe_row(self.predicates[atom.predicate], self._row(atom), self.speech)
            case Aggregate():
                return self._folds(literal)

    def _compares(self, literal: Comparison, operator: str) -> str:
        sides = pattern_sides(literal)
        if sides is not None:
            form = bare_term(sides[1])
            said = self.speech.said
            return said(_IS, self.term(sides[0]), said(_FORM, "", form))
        left, right = self.term(literal.left), self.term(literal.right)
        if operator == "=":
            same = left == right
            return (
                self.speech.said(_HAS_VALUE, left) if same else self.speech.said(_IS, left, right)
            )
        kinds = [self._kind(side) for side in (literal.left, literal.right)]
        kind = next((one for one in kinds if one is not None), None)
        return self.speech.said(_IS_SO, left, self.speech.said(relation(operator, kind)), right)

    def _kind(self, term: Term) -> Kind | None:
        if not isinstance(term, Variable):
            return term.kind
        for _, atom in _atoms_in(self.rule):
            for kind, one in zip(self.predicates[atom.predicate].kinds, atom.terms, strict=True):
                if one == term:
                    return kind
        return None

    def _row(self, atom: Atom) -> dict[str, str]:
        columns = self.predicates[atom.predicate].columns
        pairs = zip(columns, atom.terms, strict=True)
        return {column.name: self.term(one) for column, one in pairs if not is_wildcard(one)}

    def _folds(self, literal: Aggregate) -> str:
        speech = self.speech
        over = _listed(list(dict.fromkeys(_folded(literal))), speech) or speech.said(_NOTHING)
        target = "" if literal.target is None else self.term(literal.target)
        over = over if literal.target is None else speech.said(_ALL_ENTRIES, over)
        what = speech.said(_fold_words(literal), target.removeprefix("the "), over)
        same = self._group(literal)
        group = speech.said(_OF_THE_SAME, _listed(same, speech)) if same else ""
        asked = [said for one in as_written(literal.body) for said in self.filters(one)]
        where = speech.said(_FOR_WHICH, _listed(asked, speech)) if asked else ""
        return f"{speech.said(_IS, self.term(literal.result), what)}{group}{where}"

    def _group(self, literal: Aggregate) -> list[str]:
        """Name the columns of what is folded that the rest of the rule decides."""
        outside = {
            term
            for rank, atom in _atoms_in(self.rule)
            if rank < _FOLDED
            for term in atom.terms
            if isinstance(term, Variable) and not is_wildcard(term)
        }
        nouns = (
            column_noun(column)
            for atom in (one.atom for one in literal.body if isinstance(one, Positive))
            for column, term in zip(
                self.predicates[atom.predicate].columns, atom.terms, strict=True
            )
            if term in outside
        )
        return list(dict.fromkeys(nouns))

    def joined(self, literal: Aggregate) -> list[str]:
        """Say that an entry counts only with entries of the other relations that are folded."""
        read = [words(one.atom.predicate) for one in literal.body if isinstance(one, Positive)]
        others = [one for one in dict.fromkeys(read[1:]) if one != read[0]]
        return [self.speech.said(_GOES_WITH, _listed(others, self.speech))] if others else []

    def filters(self, literal: Literal) -> list[str]:
        """Say what a literal of an aggregate asks of its rows: of an atom, the constants in it."""
        if not isinstance(literal, Positive):
            return [self.requires(literal)]
        columns = self.predicates[literal.atom.predicate].columns
        return [
            self.speech.said(_IS, self.speech.said(_COLUMN, column_noun(column)), self.term(term))
            for column, term in zip(columns, literal.atom.terms, strict=True)
            if isinstance(term, Constant)
        ]

    def unsaid(self) -> list[str]:
        """Say which conditions of what is folded the rule's own words leave out.

        Only constants are looked at: a kind of row, a least number of points.
        """
        told = " ".join(text for name, text in self._texts() if name.startswith("says"))
        if not self.rule.attributes.get("says"):
            return []
        folded = [one for one in self.rule.body if isinstance(one, Aggregate)]
        return [
            said
            for aggregate in folded
            for one in as_written(aggregate.body)
            for said, values in zip(self.filters(one), _constants_of(one), strict=False)
            if not all(_is_told(told, value) for value in values)
        ]

    def unread(self) -> list[str]:
        """Say of rows whose values are compared which of their columns the rule never reads."""
        compared = {
            variable.name
            for one in self.rule.body
            if isinstance(one, Comparison)
            for variable in literal_variables(one)
        }
        found: dict[str, None] = {}
        for literal in self.rule.body:
            atom = literal.atom if isinstance(literal, Positive) else None
            declared = None if atom is None else self.predicates[atom.predicate]
            if atom is None or declared is None or not declared.unread:
                continue
            pairs = list(zip(declared.columns, atom.terms, strict=True))
            read = [
                column_noun(column)
                for column, term in pairs
                if isinstance(term, Variable) and term.name in compared
            ]
            left = [
                f"\u2018{words(declared.columns[at].name)}\u2019" for at in sorted(declared.unread)
            ]
            if read:
                whole = words(declared.name)
                named = (_listed(one, self.speech) for one in (read, left))
                found[self.speech.said(_UNREAD_OF, whole, *named)] = None
        return list(found)

    def _texts(self) -> list[tuple[str, str]]:
        head = self.predicates[self.rule.head.predicate].attributes
        return [*self.rule.attributes.items(), *head.items()]

    def unchecked(self) -> str:
        """Return the part of its own words that denies something, where the rule denies nothing."""
        template = self.rule.attributes.get("says", "")
        if any(map(_may_deny, self.rule.body)):
            return ""
        # What it looks up may be a denial itself: `forbidden` says "must not".
        looked_up = (one.atom.predicate for one in self.rule.body if isinstance(one, Positive))
        said = (self.predicates[one].attributes.get("says", "") for one in looked_up)
        if any(map(_DENYING.search, said)):
            return ""
        for part in re.split(r"[,;:]| and | but ", template):
            if _DENYING.search(_COMPARING.sub(" ", part)):
                nouns: dict[str, str] = {
                    name.lstrip("?"): Noun(self.speech.said(_COLUMN, words(name)))
                    for name in _PLACEHOLDER.findall(part)
                }
                return fill(part.strip(), nouns | dict(self.nouns))
        return ""


_COLUMN: Final = Spoken("the {0}", "\u201a{0}\u2018")
_SOME_VALUE: Final = Spoken("some value", "irgendein Wert")
_ALL_ENTRIES: Final = Spoken("all {0} entries", "alle Einträge von {0}")
_OF_THE_SAME: Final = Spoken(" of the same {0}", ", jeweils für dasselbe {0}")
_FOR_WHICH: Final = Spoken(" for which {0}", ", für die gilt: {0}")
_GOES_WITH: Final = Spoken("an entry of {0} goes with it", "ein Eintrag von {0} gehört dazu")
_UNREAD_OF: Final = Spoken(
    "of the {0} it compares the {1}, and never reads {2}",
    "von {0} vergleicht sie {1}, und liest nie {2}",
)
_DENYING: Final = regex(r"\b(?:no|not|never|none|nobody|nothing|without)\b", re.IGNORECASE)


def _may_deny(literal: Literal) -> bool:
    """Tell whether a literal can stand for words that deny something."""
    if isinstance(literal, Comparison):
        constants = [one for one in (literal.left, literal.right) if isinstance(one, Constant)]
        ordered = literal.operator in _MIRRORED
        return literal.operator.startswith("!") or any(
            not ordered or one.value == 0 for one in constants
        )
    if isinstance(literal, Aggregate):
        return any(map(_may_deny, literal.body))
    # A constant may say it, as in `state(?x, "unpaid")`.
    return isinstance(literal, Negative) or any(
        isinstance(term, Constant) for term in literal.atom.terms
    )


def _constants_of(literal: Literal) -> list[list[Constant]]:
    """Return the constants of each filter of a literal."""
    match literal:
        case Positive(atom):
            return [[term] for term in atom.terms if isinstance(term, Constant)]
        case Comparison(left=left, right=right):
            return [[one for one in (left, right) if isinstance(one, Constant)]]
        case _:
            return [[]]


def _is_told(text: str, constant: Constant) -> bool:
    """Tell whether words name a constant; that something is above 0 or 1 is often in a noun."""
    shown = display_value(constant.value, constant.kind)
    if constant.kind.numeric and shown in {"0", "1"}:
        return True
    number = _NUMBERS.get(shown, shown)
    bare = text.casefold().replace(",", "")
    return any(re.search(rf"(?<!\w){re.escape(one.casefold())}", bare) for one in (shown, number))


_NUMBERS: Final = MappingProxyType(
    dict(
        zip(
            map(str, range(2, 13)),
            [
                *("two", "three", "four", "five", "six", "seven"),
                *("eight", "nine", "ten", "eleven", "twelve"),
            ],
            strict=True,
        )
    )
)


# How words compare two values, for what a rule says to be held against what it checks.

_WORDS_OF: Final = MappingProxyType(
    {
        ">=": "at least|not less than|no less than|not below|not under|not fewer than|not before"
        "|no earlier than|never less than|never below|never under|never fewer than|never before",
        "<=": "at most|not more than|no more than|not above|not over|not after|no later than|up to"
        "|never more than|never above|never over|never after",
        ">": "more than|exceeds|exceed|above|greater than|higher than|after|later than|longer than"
        "|older than",
        "<": "less than|fewer than|below|lower than|before|earlier than|shorter than|younger than"
        "|not yet",
    }
)
_OPERATOR_OF: Final = MappingProxyType(
    {said: operator for operator, several in _WORDS_OF.items() for said in several.split("|")}
)
_COMPARING: Final = regex(
    rf"\b(?:{'|'.join(sorted(_OPERATOR_OF, key=len, reverse=True))})\b".replace(" ", r"\s+"),
    re.IGNORECASE,
)
_COMPARING_KEY: Final = regex(r"\s+")
_FIRST_NUMBER: Final = regex(r"(?<![\w.])[0-9][0-9,]*(?:\.[0-9]+)?")
_MIRRORED: Final = MappingProxyType({"<": ">", "<=": ">=", ">": "<", ">=": "<="})


def _named(side: Term) -> str:
    """Return the name of a variable or the spelling of a constant; empty for what is computed."""
    if isinstance(side, Variable):
        return side.name
    return display_value(side.value, side.kind) if isinstance(side, Constant) else ""


def _operator_from(literal: Comparison, left: str) -> str:
    """Return the operator of an ordering as it is read from one of its sides."""
    return literal.operator if _named(literal.left) == left else _MIRRORED[literal.operator]


_FOLDED: Final = 2


def _atoms_in(rule: Rule) -> Iterator[tuple[int, Atom]]:
    """Yield the atoms, with 0 for the head, 1 for the body and 2 for what is folded."""
    yield 0, rule.head
    for literal in rule.body:
        rank = _FOLDED if isinstance(literal, Aggregate) else 1
        for one in literal.body if isinstance(literal, Aggregate) else (literal,):
            if isinstance(one, Positive | Negative):
                yield rank, one.atom


def _kinds_in(rule: Rule, predicates: Mapping[str, Predicate]) -> dict[str, Kind]:
    """Return the kinds of variables, as far as a column or what computes them tells."""
    found = {
        term.name: kind
        for _, atom in _atoms_in(rule)
        for kind, term in zip(predicates[atom.predicate].kinds, atom.terms, strict=True)
        if isinstance(term, Variable)
    }
    for one in rule.body:
        if isinstance(one, Comparison) and isinstance(one.left, Variable):
            kind = one.right.kind if isinstance(one.right, Apply) else None
            if kind is not None:
                found.setdefault(one.left.name, kind)
    return found


def _column_noun(predicate: Predicate, place: int, rank: int) -> tuple[int, str, str]:
    """Return how far from the head a column is, what it is called, and that with its owner."""
    kind = predicate.columns[place].kind
    name, whole = words(predicate.columns[place].name), words(predicate.name)
    whole = whole.removeprefix("is ").removesuffix(" of")
    column = name if name == whole else as_noun(name, kind)
    owned = f"{whole}' {column}" if whole.endswith("s") else f"{whole}'s {column}"
    if rank == 0:
        return rank, column, owned
    if column in _GENERIC and place in predicate.key:
        return rank, whole, owned
    if place in predicate.key or column == whole:
        return rank, column, owned
    if kind.numeric and rank == 1 and (predicate.arity == 1 or value_column(predicate) == place):
        return rank + 2, whole, owned
    # An order has a total; what is done, such as `uses` or `born`, has nothing.
    has = kind.numeric and rank == 1 and whole.isalpha() and not whole.endswith(("s", "ed", "rn"))
    return rank + 2, owned if has else column, owned


def _variables_in(rule: Rule) -> list[str]:
    """Return the variables of a rule in the order in which they are met, without wildcards."""
    found: dict[str, None] = {}
    for literal in (Positive(rule.head), *rule.body):
        # What is folded is met before what it gives.
        inner = literal.body if isinstance(literal, Aggregate) else ()
        for one in chain.from_iterable(map(literal_variables, (*inner, literal))):
            if not is_wildcard(one):
                found[one.name] = None
    return list(found)
