"""The core checks in DuckDB, on the same Parquet: the fastest that one machine offers without being written for the purpose.

Two groupings, by value and by offset, carry all six; the order of sends is a window over the first.
"""

from __future__ import annotations

from pathlib import Path

import duckdb

from harness.bench.checkers.passes import Counts, arguments, time_passes
from harness.history.beside import Final
from harness.history.readers import history_files
from harness.history.schema import Function, Outcome, Phase

_WORDS = {
    "send": int(Function.SEND), "poll": int(Function.POLL), "ok": int(Outcome.OK), "fail": int(Outcome.FAIL), "final": int(Phase.FINAL),
}  # fmt: skip

_BY_VALUE = """
create temp table by_value as
select part, value,
    min(op) filter (f = {send}) as op,
    any_value(producer) filter (f = {send}) as producer,
    any_value(key) filter (f = {send}) as key,
    any_value(outcome) filter (f = {send}) as sent,
    count(*) filter (f = {poll} and outcome = {ok}) as ok_reads,
    count(*) filter (f = {poll} and outcome = {ok} and phase = {final}) as final_reads,
    min("offset") filter (f = {poll} or outcome <> {fail}) as first,
    max("offset") filter (f = {poll} or outcome <> {fail}) as last
from history where value is not null group by part, value
"""

_COUNTS = """
select
    count(*) filter (sent = {ok} and final_reads = 0 and part in (select part from finals where completed is not null)),
    count(*) filter (first < last),
    coalesce(sum(ok_reads) filter (sent = {fail}), 0),
    count(*) filter (sent is null)
from by_value
"""

_INCONSISTENT = """
select count(*) from (
    select 1 from history where "offset" is not null and value is not null and (f = {poll} or (f = {send} and outcome = {ok}))
    group by part, "offset" having min(value) < max(value)
)
"""

_REORDERED = """
select count(*) from (
    select first, max(first) over (
        partition by part, producer, key order by op rows between unbounded preceding and 1 preceding
    ) as before
    from by_value where sent <> {fail} and first is not null
) where first < before
"""


def check(run: Path, memory_mb: int | None = None) -> Counts:
    with duckdb.connect(config={"memory_limit": f"{memory_mb}MB"} if memory_mb else {}) as database:
        paths = [str(path) for path in history_files(run)]
        database.execute(f"create view history as select * from read_parquet({paths!r}, hive_partitioning = false)")
        database.execute(f"create view finals as select * from read_parquet({str(run / Final.FILE)!r})")
        database.execute(_BY_VALUE.format(**_WORDS))
        lost, duplicate, aborted, phantom = _row(database, _COUNTS)
        (inconsistent,) = _row(database, _INCONSISTENT)
        (reordered,) = _row(database, _REORDERED)
    found = {"lost": lost, "duplicate": duplicate, "G1a": aborted, "phantom": phantom}
    return found | {"inconsistent-offsets": inconsistent, "reordered": reordered}


def _row(database: duckdb.DuckDBPyConnection, sql: str) -> tuple[int, ...]:
    found = database.execute(sql.format(**_WORDS)).fetchone()
    assert found is not None
    return tuple(int(number) for number in found)


if __name__ == "__main__":
    given = arguments()
    time_passes("core", lambda: check(given.run, given.memory_mb), given.passes)
