"""Nodes: hosts with an address, on which commands run and processes are started and signalled."""
