"""Producer identities and the per-partition state that makes retries harmless."""
