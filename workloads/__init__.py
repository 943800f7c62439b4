"""Workloads: what real clients do against a cluster, and what they record of it in the history."""
