"""What can be wrong with a text, one function per mistake.

In: the place and the spelling. Out: a `Diagnostic` with its code, a note that gives the rule and
a help whose edit parses. Invariant: each code made here has an entry in the catalogue of
`diagnostics`. Spellings from outside are cut short; control characters are escaped by whoever
renders.
"""

from __future__ import annotations
