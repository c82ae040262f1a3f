"""Read rule files in pyDatalog's syntax and write them as rules of this language.

In: the text of a Python file. Out: the text of a rule file, with what could not be carried over.
Invariant: the file is parsed and never run; whatever has another meaning here is refused or
reported, so that nothing is translated into something else. Example: `p(X) <= q(X, Y) & ~r(Y)`
becomes `p(?x) :- q(?x, ?y), !r(?y).` Reference: https://sites.google.com/site/pydatalog/reference
"""

from __future__ import annotations

from constat.library.pydatalog_rules.translation import WRITTEN, Imported, import_rules

__all__ = ["WRITTEN", "Imported", "import_rules"]
