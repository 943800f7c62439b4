"""The clients of the benchmark against a real broker: what they count is what the broker counts."""

import shutil
import urllib.request
from array import array

import pytest

from harness.bench.against_floor import floor_process
from harness.bench.deliveries import read_deliveries
from harness.bench.driver import Driver, Load, Target, drive_raw, find_librdkafka, make_driver, outcome_of, python_driver, result_of, start
from harness.bench.floor import TOPIC as FLOOR_TOPIC
from harness.bench.raw_driver import RawTask
from harness.bench.throughput import behind_mb, broker_pids, make_topic
from harness.bench.usage import cpu_of, peak_mb, reset_peaks, resident_mb
from harness.errors import EnvironmentFault
from harness.systems.local_cluster import LocalCluster

PARTITIONS = 2


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster.create(tmp_path_factory.mktemp("bench") / "cluster", 1) as running:
        yield running


@pytest.fixture(scope="module")
def c_driver(tmp_path_factory) -> Driver:
    if shutil.which("gcc") is None and shutil.which("cc") is None:
        pytest.skip("there is no C compiler")
    return make_driver(tmp_path_factory.mktemp("driver"))


@pytest.fixture(params=["c", "python"])
def driver(request) -> Driver:
    return python_driver() if request.param == "python" else request.getfixturevalue("c_driver")


@pytest.fixture
def target(cluster, request) -> Target:
    topic = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    make_topic(cluster, topic, PARTITIONS, 1)
    return Target(cluster.bootstrap, topic, PARTITIONS)


def test_the_library_in_the_wheel_is_found_and_the_driver_compiles(c_driver):
    assert find_librdkafka() is not None
    assert c_driver.name == "librdkafka, C driver"


def test_without_a_compiler_the_python_driver_is_used_and_named(tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    assert make_driver(tmp_path) == python_driver()


def test_what_was_produced_is_what_the_broker_counted_and_what_is_read_back(cluster, driver, target):
    before = _produced(cluster)
    produced = driver.produce(target, Load(100, 1000, 30.0, {"acks": "all"}))
    assert (produced.messages, produced.bytes, produced.warmup, produced.errors) == (1000, 100_000, PARTITIONS, 0)
    assert _produced(cluster) - before == 1000 + PARTITIONS
    read = driver.consume(target, 1000 + PARTITIONS, {})
    assert (read.messages, read.bytes) == (1000 + PARTITIONS, (1000 + PARTITIONS) * 100)
    assert behind_mb(cluster, target.topic, PARTITIONS) == 0


def test_at_a_given_rate_every_message_is_due_in_its_turn(driver, target, tmp_path):
    path = tmp_path / "deliveries"
    outcome = driver.produce(target, Load(100, 200, 30.0, {"acks": "1"}, rate=1000.0, deliveries=path))
    deliveries = read_deliveries(path)
    assert outcome.messages == len(deliveries.due_us) == 200
    steps = {later - earlier for earlier, later in zip(deliveries.due_us, deliveries.due_us[1:], strict=False)}
    assert steps <= {999, 1000, 1001}
    assert min(deliveries.latencies_ms) > 0


def test_several_producers_and_consumers_share_the_work(cluster, driver, target):
    before = _produced(cluster)
    load = Load(100, 1000, 30.0, {"acks": "all"}, producers=3, replicated=True)
    produced = driver.produce(target, load)
    assert (produced.messages, produced.warmup, produced.errors, produced.behind) == (1000, 3 * PARTITIONS, 0, 0)
    assert produced.replicated_seconds > 0
    assert _produced(cluster) - before == 1000 + 3 * PARTITIONS
    read = outcome_of(result_of(start(driver.consume_command(target, 1000 + 3 * PARTITIONS, {}, consumers=2))))
    assert (read.messages, read.errors) == (1000 + 3 * PARTITIONS, 0)


def test_a_load_writes_at_least_what_it_is_asked_even_when_its_time_is_over(driver, target):
    assert driver.produce(target, Load(100, 5000, 0.001, {"acks": "1"}, least=3000)).messages >= 3000


def test_in_an_exchange_every_message_is_timed_from_when_it_was_due_to_when_it_was_read(driver, target, tmp_path):
    deliveries, received = tmp_path / "deliveries", tmp_path / "received"
    load = Load(100, 200, 30.0, {"acks": "1"}, rate=500.0, deliveries=deliveries, received=received, consumers=2)
    outcome = driver.produce(target, load)
    assert outcome.messages == outcome.received == 200
    rows = sorted(zip(*[iter(array("q", received.read_bytes()))] * 2, strict=True))
    assert [due for due, _received in rows] == list(read_deliveries(deliveries).due_us)
    assert all(received > due for due, received in rows)


def test_messages_are_stretches_of_the_payload_file(driver, target, tmp_path):
    """Text that repeats compresses: what the broker stored is less than what was sent, and it is read back whole."""
    payload = tmp_path / "payload"
    payload.write_bytes(b"2026-01-02 INFO a line of a log\n" * 1000)
    driver.produce(target, Load(1000, 500, 30.0, {"acks": "all", "compression.type": "gzip", "linger.ms": 50}, payload=payload))
    read = driver.consume(target, 500 + PARTITIONS, {})
    assert read.bytes == (500 + PARTITIONS) * 1000


def test_a_setting_that_librdkafka_does_not_know_is_told(driver, target):
    with pytest.raises(EnvironmentFault, match=r"no\.such\.setting"):
        driver.produce(target, Load(100, 1, 1.0, {"no.such.setting": "1"}))


@pytest.mark.parametrize("acks", [0, 1, -1])
def test_the_raw_driver_counts_what_the_broker_counts(cluster, target, acks):
    before = _produced(cluster)
    result = drive_raw(RawTask(cluster.plan.nodes[0].address, target.topic, 1, acks, batch=400, records=3, window=4, seconds=0.05))
    assert result["messages"] == result["requests"] * 3 > 0
    assert _produced(cluster) - before == result["messages"] + 3


def test_the_raw_driver_tells_an_error_of_the_broker(cluster, target):
    with pytest.raises(EnvironmentFault, match="answered with error 3"):
        drive_raw(RawTask(cluster.plan.nodes[0].address, target.topic, partition=99))


def test_the_floor_stores_what_it_answers_for(tmp_path):
    path = tmp_path / "floor"
    with floor_process(path) as (address, process):
        result = drive_raw(RawTask(address, FLOOR_TOPIC, batch=65_536, window=4, seconds=0.05))
        assert path.stat().st_size == result["bytes"] + result["warmup_bytes"]
    assert process.poll() is not None and not path.exists()


def test_what_a_broker_used_can_be_read_from_outside(cluster):
    [pid] = broker_pids(cluster)
    reset_peaks([pid])
    used = cpu_of([pid])
    assert used.user > 0 and (used - used).system == 0
    assert 5 < resident_mb(pid) <= peak_mb([pid]) < 1000


def _produced(cluster: LocalCluster) -> int:
    with urllib.request.urlopen(f"http://{cluster.plan.nodes[0].http_address}/metrics") as page:
        lines = page.read().decode().splitlines()
    return int(float(next(line.split()[1] for line in lines if line.startswith("highwater_produce_messages_total "))))
