"""Questions become rules and goals: drafted by a language model, checked, and repaired.

In: a question, an analysed program, what can be looked up, and a client of a model. Out: a goal and
drafted rules that pass every check, or why not, with the transcript. Invariant: nothing that a
model writes is believed: it is read as data, checked as rules are, and what follows from it rests
on an assumption that names it.
"""

from constat.authoring.discovery import DiscoveryTools, FactAccess, discovery_tools
from constat.authoring.prompts import PromptBuilder

__all__ = [
    "DiscoveryTools",
    "FactAccess",
    "PromptBuilder",
    "discovery_tools",
]
