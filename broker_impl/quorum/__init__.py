"""One controller for the cluster: a Raft quorum, the metadata log it keeps, and the decisions written to it."""
