"""Where randomness enters the broker: one generator a process, seeded by the kernel here and by a number in a simulation."""

import random
import uuid


def fresh() -> random.Random:
    return random.Random(uuid.uuid4().int)


def unique_id(source: random.Random) -> bytes:
    """Sixteen bytes that name a topic or an incarnation, in the form of a version 4 UUID."""
    return uuid.UUID(int=source.getrandbits(128), version=4).bytes
