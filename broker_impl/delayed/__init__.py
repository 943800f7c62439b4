"""Requests that wait: a hierarchical timing wheel and the purgatory whose operations complete exactly once."""
