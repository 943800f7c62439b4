"""Where in the dumps of the replicas' logs each partition lies, so that a task reads its own and nothing else.

Dumps are as long as the history itself, once a replica. They were written a partition of a node at a time, so nearly every row group
is about one partition and its statistics say which; the few that are not are looked into. Nothing of this is kept a row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.compute as pc  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]

from harness.history.beside import Batch, Record, schema_of
from harness.history.errors import MalformedFile

Place = tuple[str, int]


@dataclass(frozen=True, slots=True)
class DumpFile:
    """`groups` has the row groups that speak of a partition. Without a path there is no such file."""

    path: Path | None = None
    groups: Mapping[Place, tuple[int, ...]] = field(default_factory=dict)

    def only(self, places: Collection[Place]) -> DumpFile:
        return DumpFile(self.path, {place: groups for place, groups in self.groups.items() if place in places})

    def read(self) -> pa.Table | None:
        """Rows of the partitions in `groups`."""
        if self.path is None or not self.groups:
            return None
        wanted = sorted({group for groups in self.groups.values() for group in groups})
        try:
            with pq.ParquetFile(self.path) as parquet:
                table = parquet.read_row_groups(wanted, use_threads=False)
        except (pa.ArrowException, OSError) as problem:
            raise MalformedFile(self.path, f"cannot be read: {str(problem).splitlines()[0]}") from None
        return table.filter(_is_one_of(self.groups))


def index_dumps(run: Path, kind: type[Batch] | type[Record]) -> DumpFile:
    path = run / kind.FILE
    if not path.exists():
        return DumpFile()
    found: dict[Place, list[int]] = {}
    try:
        with pq.ParquetFile(path) as parquet:
            if parquet.schema_arrow.names != schema_of(kind).names:
                raise MalformedFile(path, f"has the columns {', '.join(parquet.schema_arrow.names)}")
            for number in range(parquet.num_row_groups):
                for place in _places_in(parquet, number):
                    found.setdefault(place, []).append(number)
    except (pa.ArrowException, OSError, ValueError) as problem:
        raise MalformedFile(path, f"cannot be read: {str(problem).splitlines()[0]}") from None
    return DumpFile(path, {place: tuple(numbers) for place, numbers in found.items()})


def _places_in(parquet: pq.ParquetFile, number: int) -> list[Place]:
    about = parquet.metadata.row_group(number)
    names = parquet.schema_arrow.names
    topic, part = (about.column(names.index(name)).statistics for name in ("topic", "part"))
    if _is_one(topic) and _is_one(part):
        return [(topic.min, part.min)]
    seen = parquet.read_row_group(number, columns=["topic", "part"]).group_by(["topic", "part"]).aggregate([])
    return list(zip(seen["topic"].to_pylist(), seen["part"].to_pylist(), strict=True))


def _is_one(statistics: pq.Statistics | None) -> bool:
    return statistics is not None and statistics.has_min_max and bool(statistics.min == statistics.max)


def _is_one_of(places: Collection[Place]) -> pc.Expression:
    by_topic: dict[str, list[int]] = {}
    for topic, part in places:
        by_topic.setdefault(topic, []).append(part)
    wanted = pc.scalar(False)
    for topic, parts in by_topic.items():
        wanted = wanted | ((pc.field("topic") == topic) & pc.field("part").isin(parts))
    return wanted
