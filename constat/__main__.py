"""`python -m constat` and the console script `constat`."""

from __future__ import annotations

import sys

from constat.cli import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
