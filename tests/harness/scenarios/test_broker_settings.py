"""The names of broker settings a scenario knows are those the broker has."""

import dataclasses

from broker_impl.config import Config
from broker_impl.quorum import topic_configs
from harness.scenarios.broker_settings import DECIDED_ELSEWHERE, KNOWN_TO_HIGHWATER, SHORT_TIMERS, flattened


def test_every_setting_of_the_broker_is_known_here_or_decided_elsewhere():
    own = {field.metadata["name"] for field in dataclasses.fields(Config) if "name" in field.metadata}
    assert (own | set(topic_configs.broker_names())) - set(DECIDED_ELSEWHERE) == KNOWN_TO_HIGHWATER


def test_the_short_timers_are_settings_of_the_broker():
    assert set(SHORT_TIMERS) <= KNOWN_TO_HIGHWATER


def test_dotted_keys_that_toml_nested_are_flat_again():
    assert flattened({"log": {"flush": {"interval": {"ms": 5}}}, "log.roll.ms": 7}) == {"log.flush.interval.ms": 5, "log.roll.ms": 7}
