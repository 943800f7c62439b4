"""To come."""

from __future__ import annotations

from analysis.check import Check, Joined

CHECKS: tuple[Check, ...] = ()
JOINED: tuple[Joined, ...] = ()
