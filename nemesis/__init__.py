"""Nemesis: what goes wrong on purpose (processes, networks, clocks, disks), and the proof that it did."""
