"""What can go wrong with Spark without anybody's history being at fault."""

from __future__ import annotations


class SparkTrouble(Exception):
    """Spark could not be started, reached or finish its work: the fact and the remedy in one line."""
