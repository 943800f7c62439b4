"""Proof that the harness finds bugs: broken brokers are run like any other, and every one must be caught, the sound one never accused."""
