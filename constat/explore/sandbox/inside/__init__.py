"""What runs inside of the sandbox; its modules are sent there as text, and import only each other.

In: frames over one socket. Out: frames. Invariant: nothing here is trusted by what runs outside.
"""

from __future__ import annotations

__all__: list[str] = []
