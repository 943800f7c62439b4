import errno
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_impl.machine.disk import RealDisk
from broker_impl.quorum.raft import Entry, HardState, Ready, Snapshot
from broker_impl.quorum.raft_log import DiskFull, RaftLog, RaftLogDamaged
from tests.broker_impl.forgetful_disk import ForgetfulDisk
from tests.broker_impl.quorum.power_loss_disk import PowerLossDisk, PowerLost

DIRECTORY = "/data/quorum"
ENTRIES = f"{DIRECTORY}/entries.log"


def ready(*append, hard_state=None, truncate_from=None, snapshot=None, compacted=None):
    return Ready(hard_state, truncate_from, list(append), snapshot, compacted, [], [])


def entries(first, last, term=1):
    return [Entry(index, term, b"payload %d of term %d" % (index, term)) for index in range(first, last + 1)]


def opened(disk, directory=DIRECTORY):
    log = RaftLog(disk, directory)
    return log, *log.load()


def reloaded(disk, directory=DIRECTORY):
    return opened(disk, directory)[1:]


def with_entries(*units):
    disk = PowerLossDisk()
    log, *_ = opened(disk)
    log.persist(ready(hard_state=HardState(9, 3)))
    for unit in units:
        log.persist(unit)
    return disk


def damage(disk, path, position, data):
    file = disk.open(path)
    file.pwrite(data, position)
    file.sync()


def test_a_new_directory_is_empty():
    assert reloaded(PowerLossDisk()) == (HardState(0, None), None, [])


def test_what_was_persisted_is_loaded():
    disk = with_entries(ready(*entries(1, 3)), ready(*entries(4, 5, term=2)))
    assert reloaded(disk) == (HardState(9, 3), None, entries(1, 3) + entries(4, 5, term=2))


def test_it_works_on_a_real_disk(tmp_path):
    directory = f"{tmp_path}/a/quorum"
    log, *_ = opened(RealDisk(), directory)
    log.persist(ready(*entries(1, 5), hard_state=HardState(2, None)))
    log.persist(ready(*entries(4, 6, term=2), truncate_from=4, compacted=Snapshot(2, 1, b"state")))
    log.close()
    assert reloaded(RealDisk(), directory) == (HardState(2, None), Snapshot(2, 1, b"state"), entries(3, 3) + entries(4, 6, term=2))


def test_a_cut_removes_entries_and_the_next_ones_take_their_place():
    disk = with_entries(ready(*entries(1, 5)), ready(*entries(3, 3, term=2), truncate_from=3))
    assert reloaded(disk)[2] == entries(1, 2) + entries(3, 3, term=2)


def test_compaction_keeps_what_follows_the_snapshot():
    disk = with_entries(ready(*entries(1, 5)), ready(compacted=Snapshot(3, 1, b"state")), ready(*entries(6, 6)))
    assert reloaded(disk) == (HardState(9, 3), Snapshot(3, 1, b"state"), entries(4, 6))


def test_an_installed_snapshot_replaces_all_entries():
    disk = with_entries(ready(*entries(1, 5)), ready(*entries(4, 4, term=2), snapshot=Snapshot(3, 2, b"state")))
    assert reloaded(disk) == (HardState(9, 3), Snapshot(3, 2, b"state"), entries(4, 4, term=2))


def test_a_snapshot_may_lie_beyond_all_entries():
    disk = with_entries(ready(*entries(1, 5)), ready(snapshot=Snapshot(50, 2, b"state")), ready(*entries(51, 52, term=2)))
    assert reloaded(disk)[2] == entries(51, 52, term=2)


@pytest.mark.parametrize("kind", ["snapshot", "compacted"])
def test_an_end_between_snapshot_and_clean_up_leaves_what_follows_the_snapshot(kind):
    disk = with_entries(ready(*entries(1, 5)))
    log, *_ = opened(disk)
    disk.fuse = 1
    with pytest.raises(PowerLost):
        log.persist(ready(**{kind: Snapshot(3, 1, b"state")}))
    disk.lose_power(Random(0))
    assert reloaded(disk) == (HardState(9, 3), Snapshot(3, 1, b"state"), entries(4, 5))
    assert reloaded(disk) == (HardState(9, 3), Snapshot(3, 1, b"state"), entries(4, 5))


def test_entries_that_do_not_lead_to_the_snapshot_are_dropped_after_such_an_end():
    disk = with_entries(ready(*entries(1, 5)))
    log, *_ = opened(disk)
    disk.fuse = 1
    with pytest.raises(PowerLost):
        log.persist(ready(snapshot=Snapshot(3, 2, b"state")))
    disk.lose_power(Random(0))
    assert reloaded(disk)[2] == []


def test_what_a_killed_process_left_in_the_page_cache_is_synced_before_it_is_vouched_for():
    disk = with_entries(ready(*entries(1, 2)))
    log, *_ = opened(disk)
    disk.fuse = 1
    with pytest.raises(PowerLost):
        log.persist(ready(*entries(3, 4)))
    disk.fuse = None
    assert reloaded(disk)[2] == entries(1, 4)
    disk.lose_power(Random(0))
    assert reloaded(disk)[2] == entries(1, 4)


def test_a_torn_tail_is_cut_and_reported_once():
    disk = with_entries(ready(*entries(1, 3)))
    file = disk.open(ENTRIES)
    file.truncate(file.size() - 5)
    log, _, _, left = opened(disk)
    assert left == entries(1, 2) and log.torn_bytes > 0
    log.persist(ready(*entries(3, 3, term=2)))
    again, _, _, left = opened(disk)
    assert left == entries(1, 2) + entries(3, 3, term=2) and again.torn_bytes == 0


def test_a_hole_in_the_last_write_is_a_torn_tail():
    disk = with_entries(ready(*entries(1, 2)), ready(*entries(3, 5)))
    first_two = disk.open(ENTRIES).size() * 2 // 5
    damage(disk, ENTRIES, first_two + 10, b"\xff" * 4)
    assert reloaded(disk)[2] == entries(1, 2)


def test_a_hole_in_the_very_first_write_is_a_torn_tail():
    disk = with_entries(ready(*entries(1, 3)))
    damage(disk, ENTRIES, 10, b"\xff" * 4)
    assert reloaded(disk)[2] == []


@pytest.mark.parametrize("position", [1, 6, 20, 40])
def test_damage_in_front_of_later_writes_is_no_torn_tail_and_stops_the_node(position):
    disk = with_entries(ready(*entries(1, 1)), ready(*entries(2, 2)))
    damage(disk, ENTRIES, position, b"\xff")
    with pytest.raises(RaftLogDamaged, match=r"entry 1 is damaged, and entry 2 was written after it.*controller\.quorum\.voters"):
        reloaded(disk)


@pytest.mark.parametrize("name", ["quorum-state", "snapshot"])
def test_a_damaged_state_or_snapshot_stops_the_node(name):
    disk = with_entries(ready(*entries(1, 2)), ready(compacted=Snapshot(2, 1, b"state")))
    damage(disk, f"{DIRECTORY}/{name}", 9, b"7")
    with pytest.raises(RaftLogDamaged, match=name):
        reloaded(disk)


def test_a_term_older_than_the_log_stops_the_node():
    disk = PowerLossDisk()
    log, *_ = opened(disk)
    log.persist(ready(*entries(1, 1, term=4)))
    with pytest.raises(RaftLogDamaged, match="knows term 0"):
        reloaded(disk)


def test_a_missing_snapshot_stops_the_node():
    disk = with_entries(ready(*entries(1, 5)), ready(compacted=Snapshot(3, 1, b"state")))
    orphaned = PowerLossDisk()
    for name in ("quorum-state", "entries.log"):
        orphaned.write_atomically(f"{DIRECTORY}/{name}", disk.read(f"{DIRECTORY}/{name}"))
    with pytest.raises(RaftLogDamaged, match="begins with entry 4"):
        reloaded(orphaned)


def test_after_a_failed_write_nothing_is_tried_again():
    disk = PowerLossDisk()
    log, *_ = opened(disk)
    disk.fuse = 1
    with pytest.raises(PowerLost):
        log.persist(ready(*entries(1, 1)))
    disk.fuse = None
    with pytest.raises(OSError, match="must be restarted"):
        log.persist(ready(*entries(1, 1)))


class CrampedDisk(PowerLossDisk):
    """Has room for so many more writes; the one that does not fit leaves half of itself behind."""

    room = 1_000_000

    def write_atomically(self, path, data, *, sync=True):
        self.take_room()
        super().write_atomically(path, data, sync=sync)

    def open(self, path, *, create=False):
        file = super().open(path, create=create)
        whole = file.pwrite

        def pwrite(data, offset):
            try:
                self.take_room()
            except OSError:
                whole(data[: len(data) // 2], offset)
                raise
            whole(data, offset)

        file.pwrite = pwrite  # type: ignore[method-assign]
        return file

    def take_room(self):
        if self.room == 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= 1


@st.composite
def units_of_work(draw):
    """Units as a Raft node makes them, and the (hard state, snapshot, entries) that each leaves behind."""
    term, last_applied = 1, 0
    hard_state, snapshot = HardState(0, None), None
    log: list[Entry] = []
    units, states = [], []
    for _ in range(draw(st.integers(1, 12))):
        base = snapshot.index if snapshot else 0
        term += draw(st.integers(0, 1))
        changed = HardState(term, draw(st.sampled_from([None, 1, 2]))) if term != hard_state.term else None
        installed = compacted = truncate_from = None
        if draw(st.integers(0, 5)) == 0:
            installed = snapshot = Snapshot(base + len(log) + draw(st.integers(1, 9)), term, draw(st.binary(max_size=30)))
            log = []
            base = last_applied = snapshot.index
        elif len(log) > last_applied - base and draw(st.booleans()):
            truncate_from = draw(st.integers(last_applied + 1, base + len(log)))
            log = log[: truncate_from - base - 1]
        payloads = draw(st.lists(st.binary(max_size=20), max_size=4))
        append = [Entry(index, term, payload) for index, payload in enumerate(payloads, base + len(log) + 1)]
        log = log + append
        last_applied = draw(st.integers(last_applied, base + len(log)))
        if installed is None and last_applied > base and draw(st.integers(0, 3)) == 0:
            kept_from = last_applied - base
            compacted = snapshot = Snapshot(last_applied, log[kept_from - 1].term, draw(st.binary(max_size=30)))
            log = log[kept_from:]
        hard_state = changed or hard_state
        units.append(Ready(changed, truncate_from, append, installed, compacted, [], []))
        states.append((hard_state, snapshot, log))
    return units, states


@given(units_of_work(), st.integers(0, 12))
def test_a_unit_for_which_there_was_no_room_is_done_when_there_is(case, room):
    disk = CrampedDisk()
    log, *_ = opened(disk)
    disk.room = room
    for unit, state in zip(*case, strict=True):
        try:
            log.persist(unit)
        except DiskFull:
            before = disk.room
            disk.room = 1_000_000
            reloaded(disk)
            log.persist(unit)
            assert before == 0
        assert reloaded(disk) == state


@given(units_of_work(), st.integers())
def test_after_every_unit_of_work_the_disk_holds_exactly_what_memory_holds(case, seed):
    random = Random(seed)
    disk = ForgetfulDisk()
    for unit, state in zip(*case, strict=True):
        opened(disk)[0].persist(unit)
        disk.crash(random)
        assert reloaded(disk) == state


def test_a_directory_made_at_the_first_start_survives_a_power_loss():
    for seed in range(20):
        disk = ForgetfulDisk()
        opened(disk, "/new/disk/quorum")[0].persist(ready(hard_state=HardState(1, 1)))
        disk.crash(Random(seed))
        assert reloaded(disk, "/new/disk/quorum")[0] == HardState(1, 1)


@given(units_of_work(), st.integers(min_value=0))
def test_entries_cut_at_any_byte_reload_as_a_prefix(case, cut):
    disk = PowerLossDisk()
    log, *_ = opened(disk)
    for unit in case[0]:
        log.persist(unit)
    _, snapshot, whole = case[1][-1]
    file = disk.open(ENTRIES)
    file.truncate(cut % (file.size() + 1))
    _, loaded_snapshot, left = reloaded(disk)
    assert loaded_snapshot == snapshot and left == whole[: len(left)]


@given(units_of_work(), st.integers(0, 5), st.integers())
def test_power_lost_in_the_middle_of_a_unit_leaves_the_old_log_or_a_part_of_the_new_one(case, fuse, seed):
    units, states = case
    disk = PowerLossDisk()
    log, *_ = opened(disk)
    for unit in units[:-1]:
        log.persist(unit)
    disk.fuse = fuse
    try:
        log.persist(units[-1])
    except PowerLost:
        disk.lose_power(Random(seed))
    else:
        disk.lose_power(Random(seed))
        assert reloaded(disk) == states[-1]
        return
    before = states[-2] if len(states) > 1 else (HardState(0, None), None, [])
    hard_state, snapshot, left = reloaded(disk)
    assert hard_state in (before[0], states[-1][0])
    assert snapshot in (before[1], states[-1][1])
    known = {entry.index: {entry} for entry in before[2]}
    for entry in units[-1].append:
        known.setdefault(entry.index, set()).add(entry)
    assert all(entry in known[entry.index] for entry in left)
    assert [entry.index for entry in left] == [(snapshot.index if snapshot else 0) + 1 + position for position in range(len(left))]
    assert [entry.term for entry in left] == sorted(entry.term for entry in left)
