"""The only package that touches files, the wall clock, randomness and threads.

Everything else gets them from here through a `Machine`, so a test can hand over a disk that forgets or a clock
that jumps. Connections and timers are not here: they come from the running event loop.
"""
