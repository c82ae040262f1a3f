"""How proofs speak: the language of templates, and how numbers and days are written.

In: a locale, or none.  Out: ``Speech``.  Invariant: the process's own locale plays no part; without
one numbers have commas between thousands and days are as in ISO 8601.

Example: in ``de_DE`` the template of ``@[says(de = "...")]`` comes before that of ``@[says]``, and
150000 is ``150.000``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

from constat.diagnostics import ConstatError, Diagnostic, nearest
from constat.logic import LOCALES, Kind, Open, display_value, find_locale

if TYPE_CHECKING:
    from constat.logic import Attributes, Locale, Slot

# A year or a number that only names something is not written with separators.
_NAMING: Final = re.compile(r"(^|_)(id|ids|key|no|nr|number|code|year|zip)$", re.IGNORECASE)
_GROUPED_FROM: Final = 1_000


@dataclass(frozen=True, slots=True)
class Speech:
    """Writes values for people; ``locale`` is empty for the spelling that no place has."""

    locale: Locale | None = None

    def template(self, attributes: Attributes, form: str) -> str | None:
        """Return a template: ``says``, ``says_not`` or ``says_unknown``, in the language if any."""
        if self.locale is not None:
            found = attributes.get(f"{form}.{self.locale.language}")
            if found is not None:
                return found
        return attributes.get(form)

    def value(self, slot: Slot, kind: Kind, name: str = "") -> str:
        """Write a value; ``name`` is the column or variable it stands in."""
        if isinstance(slot, Open):
            return "something unknown"
        shown = display_value(slot, kind)
        if _NAMING.search(name) and kind.numeric:
            return shown
        return (
            self._plain(slot, kind, shown)
            if self.locale is None
            else _local(self.locale, slot, kind, shown)
        )

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
