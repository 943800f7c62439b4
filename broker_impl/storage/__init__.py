"""Partition logs on disk, byte-compatible with Kafka's files: batches, segments, indexes, recovery, retention."""
