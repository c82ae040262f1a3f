"""A source of one's own: the events of a calendar file (RFC 5545), as rows."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TYPE_CHECKING

from constat.sources import Request, Source, SourceError

if TYPE_CHECKING:
    from collections.abc import Iterator


class Calendar(Source):
    """Gives an event as (uid, room, starts, ends, title); times are those of UTC."""

    authority = True  # what stands in the file is all there is

    def rows(self, request: Request) -> Iterator[tuple[str | datetime | None, ...]]:
        """Give every event; those that nobody asked for are left out by Constat."""
        event: dict[str, str] = {}
        for line in self._text().replace("\n ", "").splitlines():
            request.check()  # stop when nobody waits any longer
            name, _, value = line.partition(":")
            name = name.partition(";")[0].upper()
            if name == "BEGIN":
                event = {}
            elif name == "END" and value == "VEVENT":
                uid, title = event.get("UID"), event.get("SUMMARY")
                times = (_moment(event.get("DTSTART")), _moment(event.get("DTEND")))
                yield (uid, event.get("LOCATION"), *times, title)
            else:
                event[name] = value

    def state(self) -> str:
        """Name what was read by its hash, so that a certificate tells which file it was."""
        return hashlib.sha256(self._text().encode()).hexdigest()

    def _text(self) -> str:
        try:
            return (self.settings.folder / self.settings.options["file"]).read_text("utf-8")
        except (OSError, ValueError) as problem:
            raise SourceError("the calendar cannot be read") from problem


def _moment(text: str | None) -> datetime | None:
    try:
        return datetime.strptime(text or "", "%Y%m%dT%H%M%S%z")
    except ValueError:
        return None  # a day without an hour, or no UTC: nobody knows which moment is meant
