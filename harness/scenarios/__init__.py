"""Scenarios: what a run is made of, from a TOML file and flags to a frozen object, and the plan that follows from it.

`resolve` reads one, `shipped` lists those that come with the project, `add_flags` gives a parser a flag for every field; `plan` makes what
a run needs of it. A mistake is told with file, field and what is allowed, all mistakes at once.
"""

from harness.scenarios.flags import add_flags, given_flags
from harness.scenarios.loading import ScenarioMistake, resolve, shipped
from harness.scenarios.model import Scenario

__all__ = ["Scenario", "ScenarioMistake", "add_flags", "given_flags", "resolve", "shipped"]
