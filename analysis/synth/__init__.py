"""Synthetic histories: as many rows as wanted, with anomalies of which it is known how many there are and where.

A checker is only worth its speed if it finds exactly what is there. A recorded history of a hundred million rows does not come with
the answer; these do. `synthesise` is the way in; `injections` says what can be injected and what follows from it by definition.
"""

from analysis.synth.injections import INJECTIONS
from analysis.synth.plan import SynthesisError
from analysis.synth.writing import TRUTH_FILE, synthesise

__all__ = ["INJECTIONS", "TRUTH_FILE", "SynthesisError", "synthesise"]
