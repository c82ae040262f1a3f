"""Exploring: a plan of steps becomes a chain of rules; the sandbox runs what rules cannot say."""

from __future__ import annotations

__all__: list[str] = []
