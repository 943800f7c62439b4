"""Runs people can rely on every night: a suite of scenarios within a budget of time, and results that build servers and people read."""
