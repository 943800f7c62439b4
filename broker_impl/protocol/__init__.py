"""The Kafka wire protocol as a library without I/O: bytes in, messages out, and back."""
