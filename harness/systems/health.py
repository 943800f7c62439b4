"""What a broker says of itself over HTTP: whether it runs, and whom it takes for the controller."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass

from harness.systems.free_ports import LOOPBACK


@dataclass(frozen=True, slots=True)
class Health:
    node: int
    state: str
    wall_ms: int
    mono_ns: int
    controller: int | None
    metadata_offset: int

    @property
    def ready(self) -> bool:
        return self.state == "running" and self.controller is not None


def ask_health(http_port: int, timeout: float = 2.0) -> Health | None:
    """None where nothing answers, or not in time, or no sense: a broker that starts, hangs or is gone."""
    connection = http.client.HTTPConnection(LOOPBACK, http_port, timeout=timeout)
    try:
        connection.request("GET", "/health")
        answer = json.loads(connection.getresponse().read())
        controller = answer["controller"] if answer["controller"] not in (None, -1) else None
        return Health(answer["node"], answer["state"], answer["wall_ms"], answer["mono_ns"], controller, answer["metadata_offset"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return None
    finally:
        connection.close()
