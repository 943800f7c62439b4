"""`python -m broker_impl --config F.toml [--set name=value] [--plugin FILE]`: one broker in one process.

Exit codes: 0 after a clean stop, 254 for a mistake in the settings, 255 where the machine does not allow what was
asked (port in use, directory locked or not writable). SIGTERM and Ctrl-C stop it in good order; a second one at once.
"""

import argparse
import asyncio
import gc
import os
import signal
import sys
import tomllib
from typing import Any

import uvloop

from broker_impl import plugins
from broker_impl.broker import Broker, Deposed
from broker_impl.config import Config, ConfigError, load_config
from broker_impl.machine import limits, real_machine
from broker_impl.quorum.raft_log import RaftLogDamaged
from broker_impl.storage.log_directory import DirectoryUnusable

USER_ERROR = 254
ENVIRONMENT_ERROR = 255


def main() -> int:
    arguments = _parser().parse_args()
    try:
        for path in arguments.plugin:
            plugins.load(path)
        config = load_config(_settings(arguments))
    except (ConfigError, plugins.PluginError) as problem:
        return _complain(str(problem), USER_ERROR)
    try:
        limits.raise_open_files()
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            return runner.run(_serve(config))
    except (DirectoryUnusable, Deposed, RaftLogDamaged) as problem:
        return _complain(str(problem), ENVIRONMENT_ERROR)
    except OSError as problem:
        return _complain(_explain(problem, config), ENVIRONMENT_ERROR)


async def _serve(config: Config) -> int:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    broker = Broker(loop, config, real_machine(config.node_id, config.log_level))

    def asked_to_stop() -> None:
        if stop.is_set():
            os._exit(1)
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked_to_stop)
    await broker.start()
    gc.collect()
    gc.freeze()
    await broker.run(stop)
    await broker.stop()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m broker_impl", description="A Kafka-compatible broker.")
    parser.add_argument("--config", metavar="F.toml", help="settings under Kafka's names (node.id, listeners, log.dirs, ...)")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="one setting; wins over the file")
    parser.add_argument("--plugin", action="append", default=[], metavar="FILE", help="a module whose install() runs before the start")
    return parser


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if arguments.config is not None:
        try:
            with open(arguments.config, "rb") as file:
                settings = _flat(tomllib.load(file))
        except OSError as problem:
            raise ConfigError(f"{arguments.config} cannot be read: {problem.strerror}") from None
        except tomllib.TOMLDecodeError as problem:
            raise ConfigError(f"{arguments.config} is not TOML: {problem}") from None
    for pair in arguments.set:
        name, separator, value = pair.partition("=")
        if not separator:
            raise ConfigError(f"--set takes NAME=VALUE, not {pair!r}")
        settings[name.strip()] = value.strip()
    return settings


def _flat(table: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in table.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat


def _explain(problem: OSError, config: Config) -> str:
    where = f" ({problem.filename})" if problem.filename else ""
    return f"cannot run on {config.listener} with data in {config.log_dir}: {problem.strerror or problem}{where}"


def _complain(message: str, code: int) -> int:
    print(f"broker: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
