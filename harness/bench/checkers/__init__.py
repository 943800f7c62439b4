"""Four ways to the same answer, to be timed against each other: each is a program of its own, so that each pays for its own start.

They answer for the core checks (lost, duplicate, aborted read, phantom, inconsistent offsets, reordered) on the same files.
`passes` is what they have in common: one line of JSON a pass.
"""
