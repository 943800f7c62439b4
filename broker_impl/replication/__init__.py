"""Partitions across brokers: leader, followers, in-sync replicas and the high watermark."""
