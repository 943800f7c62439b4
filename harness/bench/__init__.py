"""Benchmarks: what each promise costs in throughput and latency."""
