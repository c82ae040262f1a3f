"""All readers of outside input by name, with the share each has of a run."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tests.fuzz.cells import Cells
from tests.fuzz.certificates import Certificates
from tests.fuzz.configurations import Configurations
from tests.fuzz.goals_and_facts import GoalsAndFacts
from tests.fuzz.rule_texts import RuleTexts
from tests.fuzz.stored_facts import StoredFacts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.fuzz.reading import OpenReader

READERS: Final[Mapping[str, OpenReader]] = MappingProxyType(
    {
        "rules": RuleTexts,
        "goals": GoalsAndFacts,
        "configurations": Configurations,
        "certificates": Certificates,
        "cells": Cells,
        "facts": StoredFacts,
    }
)
# Of a thousand inputs; damaged files of facts are written to a disk each and take longest.
SHARES: Final[Mapping[str, int]] = MappingProxyType(
    {
        "rules": 330,
        "goals": 90,
        "configurations": 200,
        "certificates": 250,
        "cells": 100,
        "facts": 30,
    }
)
