"""Drafts of rules on their way into a library: joined as proposals, reviewed, approved.

In: drafts of the quarantine, and an analysed program. Out: programs in which they are proposed
rules; records of approvals beside the rules; the text of the files that an approval changes.
Invariants: nothing that a draft says about itself makes it more than a proposal; an approval is a
record outside the text, bound to what the rule says. Each module is loaded by whoever needs it.
"""

from __future__ import annotations

__all__: list[str] = []
