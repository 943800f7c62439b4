"""The file that a group of nodes leaves in its folder, by which a later command finds it: one name a kind, read without the kind's code."""

STATE_FILES = {"namespaces": "keeper.json", "docker": "docker.json"}
