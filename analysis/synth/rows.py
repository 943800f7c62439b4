"""From a piece to rows of the history: its sends, its live polls, its final polls, and what injections added. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa  # type: ignore[import-untyped]

from analysis.partition import MISSING, Column
from analysis.synth.injections import INJECTIONS
from analysis.synth.pattern import STRIDE
from analysis.synth.piece import (
    BLOCK_NS,
    FINAL_BLOCKS,
    POLL_NS,
    READ_AFTER_NS,
    Piece,
    clean_piece,
)
from analysis.synth.place import Place, live_readers
from analysis.synth.plan import PartitionPlan, SynthPlan
from harness.history.schema import CORRUPT, MISPLACED, ROWS, Function, Kind, Outcome, Phase

NAMES: Mapping[str, list[str]] = {
    "topic": ["synthetic"],
    "error": ["_MSG_TIMED_OUT", "_QUEUE_FULL", CORRUPT, MISPLACED],
    "group": [],
}
"""Those of `error` in the order of their numbers in `piece`."""

_EPOCH = 1
_DEFAULTS = {"phase": int(Phase.RUN), "topic": 0, "leader_epoch": MISSING, "outcome": int(Outcome.OK)}


def piece_rows(plan: SynthPlan, one: PartitionPlan, file: int) -> pa.Table:
    """A partition's rows in a file, those with a partition."""
    blocks = plan.blocks(one, file)
    if blocks.length <= 0:
        return _table(one.part, _assigns(plan, one)) if file == 0 else ROWS.empty_table()
    piece = clean_piece(blocks)
    for site in one.sites:
        if blocks.first <= site.block < blocks.last:
            INJECTIONS[site.kind].inject(Place(piece, site))
    log = _whole_log(piece)
    parts = [_sends(piece), _live_polls(piece, one, log), _final_polls(plan, piece, log)]
    parts += [_extra(piece)] if piece.extra else []
    parts += [_assigns(plan, one)] if file == 0 else []
    return pa.concat_tables([_table(one.part, part) for part in parts])


def idle_rows(plan: SynthPlan, file: int) -> pa.Table:
    """Polls that returned nothing; all of them are in the first file."""
    idle = [(one.part, number) for one in plan.partitions for number in range(one.idle)] if file == 0 else []
    ops = np.array([plan.numbering.first_idle_poll(part) + number for part, number in idle], np.int64)
    invoked = np.arange(len(idle), dtype=np.int64) * POLL_NS
    columns = _polling(len(idle)) | {"op": ops, "invoked": invoked, "completed": invoked + POLL_NS}
    columns["process"] = np.full(len(idle), plan.numbering.idle_reader(), np.int64)
    return _table(MISSING, columns | {"topic": np.full(len(idle), MISSING, np.int64)})


def _sends(piece: Piece) -> dict[str, Column]:
    acknowledged = piece.sends["offset"] != MISSING
    return piece.sends | {
        "f": np.full(len(acknowledged), Function.SEND, np.int64),
        "leader_epoch": np.where(acknowledged, _EPOCH, MISSING),
    }


def _whole_log(piece: Piece) -> dict[str, Column]:
    if not piece.appended:
        return piece.log
    joined = {
        name: np.concatenate((column, np.array([row[name] for row in piece.appended], np.int64))) for name, column in piece.log.items()
    }
    order = np.argsort(joined["offset"], kind="stable")
    return {name: column[order] for name, column in joined.items()}


def _live_polls(piece: Piece, one: PartitionPlan, log: Mapping[str, Column]) -> dict[str, Column]:
    """One poll a block, when all of it is there."""
    chosen = _read(log, "live")
    block = chosen["offset"] // STRIDE
    invoked = (block + 1) * BLOCK_NS + READ_AFTER_NS
    return chosen | {
        "process": live_readers(one.sites, piece, block),
        "op": piece.blocks.numbering.first_live_poll(one.part) + 1 + block,
        "micro": chosen["offset"] % STRIDE,
        "invoked": invoked,
        "completed": invoked + POLL_NS,
    }


def _final_polls(plan: SynthPlan, piece: Piece, log: Mapping[str, Column]) -> dict[str, Column]:
    chosen = _read(log, "final")
    poll = chosen["offset"] // STRIDE // FINAL_BLOCKS
    invoked = plan.final_start + (1 + poll) * POLL_NS
    numbering, part = piece.blocks.numbering, piece.blocks.part
    return chosen | {
        "process": np.full(len(poll), numbering.final_reader(part), np.int64),
        "op": numbering.first_final_poll(part) + 1 + poll,
        "micro": chosen["offset"] - poll * (STRIDE * FINAL_BLOCKS),
        "phase": np.full(len(poll), Phase.FINAL, np.int64),
        "invoked": invoked,
        "completed": invoked + POLL_NS,
    }


def _read(log: Mapping[str, Column], reader: str) -> dict[str, Column]:
    got = log[f"is_{reader}"] == 1
    chosen = {name: log[name][got] for name in ("offset", "key", "timestamp", "error")}
    count = len(chosen["offset"])
    return _polling(count) | chosen | {"value": log[reader][got], "leader_epoch": np.full(count, _EPOCH, np.int64)}


def _polling(count: int) -> dict[str, Column]:
    return {
        "micro": np.zeros(count, np.int64),
        "kind": np.full(count, Kind.POLL, np.int64),
        "f": np.full(count, Function.POLL, np.int64),
    }


def _extra(piece: Piece) -> dict[str, Column]:
    return {name: np.array([row[name] for row in piece.extra], np.int64) for name in piece.extra[0]}


def _assigns(plan: SynthPlan, one: PartitionPlan) -> dict[str, Column]:
    numbering = plan.numbering
    columns = {
        "process": [numbering.live_reader(one.part), numbering.final_reader(one.part)],
        "op": [numbering.first_live_poll(one.part), numbering.first_final_poll(one.part)],
        "micro": [0, 0],
        "kind": [Kind.ASSIGN, Kind.ASSIGN],
        "f": [Function.KEEP, Function.KEEP],
        "phase": [Phase.RUN, Phase.FINAL],
        "invoked": [0, plan.final_start],
        "completed": [POLL_NS, plan.final_start + POLL_NS // 2],
    }
    return {name: np.array(column, np.int64) for name, column in columns.items()}


def _table(part: int, columns: Mapping[str, Column]) -> pa.Table:
    count = len(columns["op"])
    defaults = _DEFAULTS | {"part": part}
    return pa.Table.from_arrays([_array(field, columns.get(field.name), count, defaults) for field in ROWS], schema=ROWS)


def _array(field: pa.Field, column: Column | None, count: int, defaults: Mapping[str, int]) -> pa.Array:
    if column is None:
        value = defaults.get(field.name, MISSING)
        return pa.nulls(count, field.type) if value == MISSING else pa.repeat(pa.scalar(value, field.type), count)
    null = column == MISSING
    narrow = np.where(null, 0, column) if null.any() else column
    return pa.array(narrow.astype(field.type.to_pandas_dtype(), copy=False), field.type, mask=null if null.any() else None)
