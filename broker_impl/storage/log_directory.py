"""The folder a broker keeps its logs in, and what is remembered about all of them together.

Two promises. Nobody else uses the folder while we do (a lock). And the marker of a clean stop is there only if
everything was flushed before: it is written last, and taken away, with the directory synced, before anything else
happens at the next start.
"""

import base64
import json
import random
import uuid
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from broker_impl.machine.disk import DirectoryLocked, Disk, Entry, Lock
from broker_impl.storage.checkpoints import Malformed, OffsetCheckpoint
from broker_impl.storage.durability import METADATA, Durability
from broker_impl.storage.epochs import LeaderEpochs
from broker_impl.storage.files import LogFiles
from broker_impl.storage.loading import LogLoader, Remembered
from broker_impl.storage.log import Log, LogConfig
from broker_impl.storage.segment import DELETED, IndexLimits, Segment
from broker_impl.storage.segments import Segments
from broker_impl.storage.snapshots import ProducerSnapshots

Name = tuple[str, int]
NO_TOPIC_ID = bytes(16)

_MARKER = ".kafka_cleanshutdown"
_TO_DELETE = "-delete"
_UNFINISHED = (DELETED, ".tmp", ".cleaned", ".swap")
_LONGEST_NAME = 255


class DirectoryUnusable(Exception):
    """The message says what to do."""


@dataclass(frozen=True, slots=True)
class _Checkpoints:
    high_watermarks: OffsetCheckpoint
    recovery_points: OffsetCheckpoint
    start_offsets: OffsetCheckpoint


class LogDirectory:
    def __init__(self, disk: Disk, path: str, randomness: random.Random) -> None:
        self.path = path
        self.clean_epoch: int | None = None
        self.high_watermarks: dict[Name, int] = {}
        self.events: list[dict[str, object]] = []
        self._disk = disk
        self._random = randomness
        self._lock: Lock | None = None
        self._logs: dict[Name, Log] = {}
        self._leftovers: list[str] = []
        self._recovery_points: dict[Name, int] = {}
        self._start_offsets: dict[Name, int] = {}
        self._checkpoints = _Checkpoints(
            OffsetCheckpoint(disk, f"{path}/replication-offset-checkpoint"),
            OffsetCheckpoint(disk, f"{path}/recovery-point-offset-checkpoint"),
            OffsetCheckpoint(disk, f"{path}/log-start-offset-checkpoint"),
        )

    def open(self) -> None:
        """Takes the folder and forgets the clean stop; raises DirectoryUnusable. Blocks."""
        try:
            self._make_path()
            self._lock = self._disk.lock(f"{self.path}/.lock")
            self._take_marker()
        except DirectoryLocked:
            raise DirectoryUnusable(f"{self.path} is in use by another broker: stop it, or set log.dirs to another folder") from None
        except OSError as problem:
            raise DirectoryUnusable(f"{self.path}: {problem.strerror}: make it writable, or set log.dirs to another folder") from problem
        self.high_watermarks = self._read(self._checkpoints.high_watermarks)
        self._recovery_points = self._read(self._checkpoints.recovery_points)
        self._start_offsets = self._read(self._checkpoints.start_offsets)

    def load(self, config_for: Callable[[str], LogConfig], wall_ms: int) -> dict[Name, Log]:
        """Every log in the folder, recovered where the last stop was not a clean one. Blocks."""
        for entry in self._disk.list(self.path):
            if not entry.is_dir:
                continue
            if entry.name.endswith(_TO_DELETE):
                self._leftovers.append(f"{self.path}/{entry.name}")
                continue
            name = _parse(entry.name)
            if name is not None:
                self._load(name, f"{self.path}/{entry.name}", config_for(name[0]), wall_ms)
        return dict(self._logs)

    def log_ends(self) -> list[tuple[bytes, int, int, int]]:
        """Topic id, partition, last epoch and end of each log."""
        return [(log.topic_id, partition, log.latest_epoch(), log.end_offset) for (_, partition), log in self._logs.items()]

    def create(self, topic: str, partition: int, topic_id: bytes, config: LogConfig) -> Log:
        """An empty log. Raises OSError and leaves nothing behind where the disk is full."""
        name, directory = (topic, partition), f"{self.path}/{topic}-{partition}"
        assert name not in self._logs
        try:
            self._disk.make_dirs(directory)
            self._disk.write_atomically(f"{directory}/{METADATA}", _format_topic_id(topic_id), sync=False)
            segment = Segment.create(self._disk, directory, 0, IndexLimits(config.index_bytes, config.index_interval_bytes), 0)
        except OSError:
            with suppress(OSError):
                self._disk.remove_tree(directory)
            raise
        durability = Durability(self._disk, directory, 0)
        durability.created()
        epochs, snapshots = LeaderEpochs(self._disk, directory, []), ProducerSnapshots(self._disk, directory)
        files = LogFiles(self._disk, Segments([segment]), epochs, snapshots, durability)
        log = self._logs[name] = Log(name, topic_id, config, files, 0, 0)
        return log

    def delete(self, topic: str, partition: int) -> str:
        """Out of sight at once; returns the path to remove later."""
        log = self._logs.pop((topic, partition))
        self.high_watermarks.pop((topic, partition), None)
        log.abandon("the partition was deleted")
        identity = uuid.UUID(int=self._random.getrandbits(128), version=4)
        suffix = f"-{partition}.{identity.hex}{_TO_DELETE}"
        doomed = f"{self.path}/{topic[: _LONGEST_NAME - len(suffix)]}{suffix}"
        self._disk.rename(log.directory, doomed)
        return doomed

    def leftovers(self) -> list[str]:
        """What earlier runs meant to remove, found by `load`; to be removed in the background."""
        found, self._leftovers = self._leftovers, []
        return found

    def logs(self) -> list[Log]:
        """All of them, also those that nobody uses yet."""
        return list(self._logs.values())

    def checkpoint(self, high_watermarks: Mapping[Name, int]) -> None:
        """Writes down high watermarks, recovery points and start offsets. Blocks. A log that is not among the watermarks, because
        its broker does not know yet what it holds, keeps the one it was found with."""
        logs = list(self._logs.items())
        found = {name: watermark for name, watermark in self.high_watermarks.items() if name in self._logs}
        self._checkpoints.high_watermarks.write({**found, **high_watermarks})
        points = {name: min(log.flushed_offset, log.end_offset) for name, log in logs}
        for name, log in logs:
            log.recovery_point_written(points[name], before=True)
        self._checkpoints.recovery_points.write(points)
        for name, log in logs:
            log.recovery_point_written(points[name], before=False)
        starts = {name: log.start_offset for name, log in logs if log.start_offset > log.first_segment_offset}
        self._checkpoints.start_offsets.write(starts)

    def mark_clean(self, broker_epoch: int) -> None:
        """Only after each of `logs` was closed and `checkpoint` was called. Blocks."""
        marker = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        self._disk.write_atomically(f"{self.path}/{_MARKER}", marker.encode())

    def close(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _make_path(self) -> None:
        """Made so that it is still there after a power loss: each new folder is a name that its parent must have synced."""
        made, folder = [], self.path
        while folder and not self._disk.exists(folder):
            made.append(folder)
            folder = folder.rpartition("/")[0]
        self._disk.make_dirs(self.path)
        for folder in made:
            self._disk.sync_dir(folder.rpartition("/")[0] or ("/" if folder.startswith("/") else "."))
        self._disk.spread(self.path)

    def _take_marker(self) -> None:
        """A marker that cannot be read is none."""
        path = f"{self.path}/{_MARKER}"
        if not self._disk.exists(path):
            return
        with suppress(ValueError, TypeError, KeyError):
            self.clean_epoch = int(json.loads(self._disk.read(path))["brokerEpoch"])
        self._disk.unlink(path)
        self._disk.sync_dir(self.path)

    def _read(self, checkpoint: OffsetCheckpoint) -> dict[Name, int]:
        """Nothing remembered is always safe: then everything is looked at."""
        try:
            return checkpoint.read()
        except Malformed as problem:
            self.events.append({"event": "checkpoint-unreadable", "why": str(problem)})
            return {}

    def _load(self, name: Name, directory: str, config: LogConfig, wall_ms: int) -> None:
        sizes = self._sizes(directory, self._disk.list(directory))
        topic_id = self._read_topic_id(directory)
        if topic_id == NO_TOPIC_ID and not any(size for file, size in sizes.items() if file.endswith(".log")):
            self._abandon(directory, name)
            return
        remembered = Remembered(
            clean=self.clean_epoch is not None,
            recovery_point=self._recovery_points.get(name, 0),
            start_offset=self._start_offsets.get(name, 0),
            high_watermark=self.high_watermarks.get(name, 0),
        )
        try:
            loader = LogLoader(self._disk, directory, sizes, config, wall_ms)
            self._logs[name] = loader.load(name, topic_id, remembered, self.events.append)
        except OSError as problem:
            raise DirectoryUnusable(f"{directory}: {problem.strerror or problem}: mend the disk, or remove this folder") from problem

    def _sizes(self, directory: str, entries: list[Entry]) -> dict[str, int]:
        self._leftovers.extend(f"{directory}/{entry.name}" for entry in entries if entry.name.endswith(_UNFINISHED))
        return {entry.name: entry.size for entry in entries if not entry.is_dir and not entry.name.endswith(_UNFINISHED)}

    def _read_topic_id(self, directory: str) -> bytes:
        """Zeros where it cannot be read."""
        with suppress(FileNotFoundError, ValueError):
            for line in self._disk.read(f"{directory}/{METADATA}").decode().splitlines():
                key, _, value = line.partition(":")
                if key == "topic_id":
                    identity = base64.urlsafe_b64decode(value.strip() + "==")
                    return identity if len(identity) == len(NO_TOPIC_ID) else NO_TOPIC_ID
        return NO_TOPIC_ID

    def _abandon(self, directory: str, name: Name) -> None:
        """A folder whose creation was interrupted."""
        doomed = f"{self.path}/{name[1]}.{uuid.UUID(int=self._random.getrandbits(128), version=4).hex}{_TO_DELETE}"
        self._disk.rename(directory, doomed)
        self._leftovers.append(doomed)


def _parse(folder: str) -> Name | None:
    topic, dash, partition = folder.rpartition("-")
    return (topic, int(partition)) if dash and topic and partition.isascii() and partition.isdigit() else None


def _format_topic_id(topic_id: bytes) -> bytes:
    return f"version: 0\ntopic_id: {base64.urlsafe_b64encode(topic_id).decode().rstrip('=')}\n".encode()
