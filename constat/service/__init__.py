"""What other programs ask of a project, the same behind every face: small answers as JSON values.

In: texts and numbers from outside. Out: objects of texts, numbers and lists, each bounded; what
does not fit is named by a reference that can be read on. Invariants: nothing here approves a rule
or confirms a goal; facts are kept only in the name of a person who has said yes; a mistake is an
`error` with code, place, note and help, and no text of an exception that nobody foresaw leaves.
"""

from __future__ import annotations

from constat.service.service import UNSEEN, Refused, Service, what_happens

__all__ = ["UNSEEN", "Refused", "Service", "what_happens"]
