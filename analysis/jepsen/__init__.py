"""Histories made elsewhere: Jepsen's form, in EDN or JSON Lines, laid out once into ours."""

from analysis.jepsen.importing import Imported, Problem, import_history

__all__ = ["Imported", "Problem", "import_history"]
