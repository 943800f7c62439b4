"""Fetch, by hand: what consumers and followers send all day. Hot path, measured by `bench micro`.

A response is a list of parts. Records are placed between the bytes around them as opaque objects of known size, so
that the network can send them straight from a file; only what lies in memory and is small is copied. The follower's
side reads records as slices of the frame.

Versions differ in the layout of one partition and in how topics are named (by id from 13 on); layouts are chosen once
a message, so that the loops do not ask for the version at every field.
"""

from broker_impl.protocol.fetch.request import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    encode_fetch_request,
    parse_fetch,
)
from broker_impl.protocol.fetch.response import (
    FetchedPartition,
    FetchedTopic,
    FetchResponse,
    encode_fetch_response,
    parse_fetch_response,
)

__all__ = [
    "FetchPartition",
    "FetchRequest",
    "FetchResponse",
    "FetchTopic",
    "FetchedPartition",
    "FetchedTopic",
    "encode_fetch_request",
    "encode_fetch_response",
    "parse_fetch",
    "parse_fetch_response",
]
