"""The history: the record of every client operation, which the analysis judges without the cluster."""
