"""What is asked of Locust, and the command line that says so. Pure."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workloads.clients import Acks

Shape = Literal["flat", "step", "spike", "ramp"]
LOCUSTFILE = Path(__file__).resolve().parents[3] / "workloads" / "locustfile.py"
PREFIX = "locust"


@dataclass(frozen=True, slots=True)
class LoadPlan:
    """`users`: producers at the most; `rate`: messages a second of each; `consumers`: readers of everything beside them."""

    shape: Shape = "step"
    users: int = 20
    seconds: int = 60
    rate: float = 100.0
    acks: Acks = "all"
    record_bytes: int = 1024
    consumers: int = 1
    delivery_timeout: float = 10.0


def locust_command(plan: LoadPlan, bootstrap: str, topic: str, folder: Path, ui_port: int | None = None) -> list[str]:
    """Without a port for its web pages it runs headless and ends by itself; with one the pages stay until it is ended."""
    prefix = str(folder / PREFIX)
    shown: Sequence[str] = (
        ["--headless", "--only-summary"] if ui_port is None else ["--autostart", "--web-host", "127.0.0.1", "--web-port", str(ui_port)]
    )
    load = {
        "--users": plan.users,
        "--run-time": f"{plan.seconds}s",
        "--shape": plan.shape,
        "--rate": plan.rate,
        "--acks": plan.acks,
        "--record-bytes": plan.record_bytes,
        "--consumers": plan.consumers,
        "--delivery-timeout": plan.delivery_timeout,
        "--bootstrap-servers": bootstrap,
        "--topic": topic,
    }
    files = ["--csv", prefix, "--csv-full-history", "--json-file", prefix, "--exit-code-on-error", "0"]
    said = [word for name, value in load.items() for word in (name, str(value))]
    return [sys.executable, "-m", "locust", "-f", str(LOCUSTFILE), *shown, *said, *files]
