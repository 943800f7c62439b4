"""A Kafka node's settings, log configuration and command line, as text. Pure.

Every node is a broker; the first few are controllers as well, on a port of their own. Settings of the run come last and win, but for those
that the deployment decides. Timers have Kafka's own defaults unless the run shortens them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.systems.system import Setting

BROKER_PORT = 9092
CONTROLLER_PORT = 9093
_ELECTION, _FETCH = "controller.quorum.election.timeout.ms", "controller.quorum.fetch.timeout.ms"

# A server's as Kafka's own start script sets them, but for a heap that starts small: several nodes share a machine.
SERVER = (
    "-Xms256m", "-Xmx1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
)  # fmt: skip
TOOL = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_ALWAYS = ("-XX:-UsePerfData", "-Djava.awt.headless=true", "-Djava.net.preferIPv4Stack=true")

LOG_CONFIGURATION = """\
status = error
appender.out.type = Console
appender.out.name = out
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = [%d] %p %m (%c)%n
rootLogger.level = info
rootLogger.appenderRef.out.ref = out
"""


def node_settings(
    number: int, address: str, voters: Mapping[int, str], brokers: int, data: str, settings: Mapping[str, Setting]
) -> dict[str, Setting]:
    """`voters`: addresses of the controllers by number."""
    controls = number in voters
    listener = f"PLAINTEXT://{address}:{BROKER_PORT}"
    replicas = min(3, brokers)
    own: dict[str, Setting] = {
        "offsets.topic.replication.factor": replicas,
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": min(2, replicas),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": min(2, replicas),
    }
    deployment: dict[str, Setting] = {
        "node.id": number,
        "process.roles": "broker,controller" if controls else "broker",
        "controller.quorum.voters": ",".join(f"{voter}@{at}:{CONTROLLER_PORT}" for voter, at in voters.items()),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "listeners": f"{listener},CONTROLLER://{address}:{CONTROLLER_PORT}" if controls else listener,
        "advertised.listeners": listener,
        "log.dirs": data,
    }
    return own | _quorum_timers(settings) | dict(settings) | deployment


def as_properties(settings: Mapping[str, Setting]) -> str:
    """One line a setting; a backslash, the only thing that means something in a value of one line, is doubled."""
    return "".join(f"{name}={_text(value)}\n" for name, value in settings.items())


def java_command(java: str, options: Sequence[str], jars: str, folder: str, main: str, *arguments: str) -> list[str]:
    """Temporary files lie in the node's folder, so that nothing is left behind; its log configuration, too."""
    places = [f"-Djava.io.tmpdir={folder}/tmp", f"-Dlog4j2.configurationFile={folder}/log4j2.properties"]
    return [java, *options, *_ALWAYS, *places, "-cp", f"{jars}/*", main, *arguments]


def _quorum_timers(settings: Mapping[str, Setting]) -> dict[str, Setting]:
    """A follower notices that the controller is gone by its fetches, so this time-out shrinks with the one for elections."""
    election = settings.get(_ELECTION)
    return {_FETCH: round(election * 1.5)} if isinstance(election, int) else {}


def _text(value: Setting) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value).replace("\\", "\\\\")
