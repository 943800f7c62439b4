"""A Kafka-wire-compatible broker for CPython: `python -m broker_impl --config F.toml`.

State machines are pure and the I/O around them is thin, so the same code runs on real sockets and disks in
production and under a simulated clock, network and disk in tests. The broker does not know that it is tested.
"""
