"""Lends kafka-python the codecs of cramjam: it looks for three other packages, which nothing else here needs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import cramjam
import kafka.codec
import kafka.record.default_records as default_records


def lend() -> None:
    kafka.codec.snappy = SimpleNamespace(compress=_snappy, decompress=_unsnappy)
    kafka.codec.lz4 = cramjam.lz4
    kafka.codec.zstd = cramjam.zstd
    for module in (kafka.codec, default_records):
        module.lz4_encode, module.lz4_decode = _lz4, _unlz4
        module.zstd_encode, module.zstd_decode = _zstd, _unzstd


def _snappy(data: Any) -> bytes:
    return bytes(cramjam.snappy.compress_raw(bytes(data)))


def _unsnappy(data: Any) -> bytes:
    return bytes(cramjam.snappy.decompress_raw(bytes(data)))


def _lz4(data: Any) -> bytes:
    return bytes(cramjam.lz4.compress(bytes(data)))


def _unlz4(data: Any) -> bytes:
    return bytes(cramjam.lz4.decompress(bytes(data)))


def _zstd(data: Any) -> bytes:
    return bytes(cramjam.zstd.compress(bytes(data)))


def _unzstd(data: Any) -> bytes:
    return bytes(cramjam.zstd.decompress(bytes(data)))
