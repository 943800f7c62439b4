"""What both directions of Fetch share: since when there is what, and how a topic is named."""

from broker_impl.protocol.wire import Reader, string

SESSIONS_SINCE = 7
PREFERRED_REPLICA_SINCE = 11
RACK_SINCE = 11
FLEXIBLE_SINCE = 12
TOPIC_IDS_SINCE = 13
REPLICA_STATE_SINCE = 15
NODE_ENDPOINTS_SINCE = 16


def topic_key(name: str | None, topic_id: bytes | None, version: int) -> bytes:
    if version < TOPIC_IDS_SINCE:
        assert name is not None, f"Fetch {version} names topics by name"
        return string(name, version >= FLEXIBLE_SINCE)
    assert topic_id is not None and len(topic_id) == 16, f"Fetch {version} names topics by id"
    return topic_id


def read_topic_key(reader: Reader, version: int) -> tuple[str | None, bytes | None]:
    if version >= TOPIC_IDS_SINCE:
        return None, bytes(reader.take(16))
    return reader.text(reader.length(version >= FLEXIBLE_SINCE, short=True)), None
