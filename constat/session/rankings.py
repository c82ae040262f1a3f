"""By what proofs are ranked, and how many are looked for unless somebody says otherwise.

Invariant: a more confident proof always comes first; the ranking decides among equally confident
ones. Example: `session.proofs("is_vip(C001)", ranking="size")`.
"""

from __future__ import annotations

from typing import Final

RANKINGS: Final = ("confidence", "height", "size")
"""What proofs may be ranked by."""
SECONDS: Final = 10.0
"""How long several proofs are looked for."""
MOST: Final = 1_000
"""How many proofs the command line shows."""
