"""The harness: scenario -> run -> verdict.

Its floor (`history`, `nodes`, `systems`) holds the contracts that workloads, nemesis and analysis stand on; its roof
(`bench`, `cli`) uses everything through public entries. Imports go downwards only.
"""
