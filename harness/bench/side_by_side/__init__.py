"""Measuring systems beside each other on one machine: clusters, clients, rounds. `running.run_suite` is the way in."""
