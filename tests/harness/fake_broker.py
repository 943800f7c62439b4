"""Stands in for a broker where only its life as a process matters: it answers /health, ends on SIGTERM, and misbehaves on request.

Its settings file is a broker's. What it shall do is said by the arguments before `--config`:
`--last-words TEXT` ends at once with that text, `--deaf` ignores SIGTERM, `--never-ready` stays in state "starting".
"""

import argparse
import json
import signal
import sys
import time
import tomllib
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--last-words")
    parser.add_argument("--deaf", action="store_true")
    parser.add_argument("--never-ready", action="store_true")
    parser.add_argument("--config", type=Path)
    arguments = parser.parse_args()
    if arguments.last_words:
        sys.exit(arguments.last_words)
    signal.signal(signal.SIGTERM, signal.SIG_IGN if arguments.deaf else lambda number, frame: sys.exit(0))
    settings = tomllib.loads(arguments.config.read_text())
    print(json.dumps({"event": "started", "node": settings["node"]["id"]}), flush=True)
    serve(settings, "starting" if arguments.never_ready else "running")


def serve(settings: dict, state: str) -> None:
    class Health(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            clocks = {"wall_ms": time.time_ns() // 1_000_000, "mono_ns": time.monotonic_ns()}
            body = json.dumps({"node": settings["node"]["id"], "state": state, "controller": 1, "metadata_offset": 7, **clocks}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    host, port = settings["http"]["listener"].split(":")
    HTTPServer((host, int(port)), Health).serve_forever()


if __name__ == "__main__":
    main()
