"""The history: the record of every client operation, which the analysis judges without the cluster.

`recorder` writes it while clients run, `convert` saves what a dead worker left, `layout` is the form of a file, `readers` reads
it back, `beside` and `plan` are the files next to it, `stalls` the record of the harness's own pauses. `schema` says what a row is.
"""
