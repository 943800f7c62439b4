"""The corpus: histories written by hand, each with exactly what is to be found in it. Every checker is held against all of them."""

from tests.analysis.corpus import availability, cycles, delivery, legal_behaviour, offsets, order, replicas, transactions
from tests.analysis.corpus.case import ALL, Case

__all__ = ["ALL", "Case", "availability", "cycles", "delivery", "legal_behaviour", "offsets", "order", "replicas", "transactions"]
