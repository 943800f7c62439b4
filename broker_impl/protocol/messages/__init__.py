"""One module an API: its key, versions and messages. Nothing here decides anything."""
