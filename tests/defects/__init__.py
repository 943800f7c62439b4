"""Broken brokers that the harness must catch.

Each module here is a plugin (`python -m broker_impl --plugin FILE`) that replaces one behaviour of the sound broker. Its docstring tells
the real bug it stands for, the events that expose it and why. Three constants tell how it is to be caught:

- `ARM`: `cluster` (a real run), `wire` (a client that speaks the protocol directly) or `simulation` (the quorum's virtual network);
- `PLAN`: the plan of faults of the arm `cluster`, by name;
- `ANOMALIES`: those of which at least one must be found.

They import nothing but the broker: a node that runs one has nothing else.
"""
