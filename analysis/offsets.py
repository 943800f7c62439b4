"""To come."""

from __future__ import annotations

from analysis.check import Check

CHECKS: tuple[Check, ...] = ()
