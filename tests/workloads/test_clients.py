import pytest
from confluent_kafka import KafkaError

from workloads.clients import ClientSettings, consumer_config, is_fatal, new_consumer, new_producer, producer_config

NOBODY = "127.0.0.1:1"
FIRE_AND_FORGET = ClientSettings(acks="0", idempotence=False, retries=0)


@pytest.mark.parametrize(
    "settings",
    [
        ClientSettings(),
        FIRE_AND_FORGET,
        ClientSettings(acks="1", idempotence=False, in_flight=1000, linger_ms=0.0, batch_bytes=1, compression="zstd"),
        ClientSettings(request_timeout_ms=100, delivery_timeout_ms=100, isolation="read_committed", record_bytes=1_000_000),
        ClientSettings(request_timeout_ms=300_000, delivery_timeout_ms=900_000, compression="snappy"),
    ],
)
def test_librdkafka_takes_the_settings(settings):
    new_producer(NOBODY, settings, "p", lambda _error: None)
    new_consumer(NOBODY, settings, "c", tell_ends=True).close()


def test_a_producer_has_the_settings_of_the_scenario():
    config = producer_config(NOBODY, FIRE_AND_FORGET, "p")
    assert (config["acks"], config["enable.idempotence"], config["retries"]) == ("0", False, 0)


def test_a_consumer_checks_crcs_and_never_moves_on_its_own():
    config = consumer_config(NOBODY, ClientSettings(isolation="read_committed"), "c")
    names = ("check.crcs", "auto.offset.reset", "enable.auto.commit", "enable.auto.offset.store", "isolation.level")
    assert [config[name] for name in names] == [True, "error", False, False, "read_committed"]


def test_a_closed_loop_never_fills_the_queue():
    largest = ClientSettings(idempotence=False, in_flight=1000, batch_bytes=10_000_000, record_bytes=64)
    assert (
        100 <= ClientSettings(batch_bytes=1).window < largest.window < producer_config(NOBODY, largest, "p")["queue.buffering.max.messages"]
    )


@pytest.mark.parametrize(
    "error, fatal", [(KafkaError(KafkaError._FATAL), True), (KafkaError(45, fatal=True), True), (KafkaError(45), False)]
)
def test_a_fatal_error_is_known(error, fatal):
    assert is_fatal(error) is fatal
