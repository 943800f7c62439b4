"""The front door: finds the command, and turns however it ends into an exit code and at most one line.

Nothing of a command is imported before it is asked for, so that help is there at once. No stack trace for what a user can mend;
HIGHWATER_DEBUG=1 shows it all the same.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence

from harness.errors import DONE, ENVIRONMENT, HighwaterError, UserMistake

INTERRUPTED = 130

# Command -> what it does. Its module is harness.cli.<command>, with main(argv) -> exit code.
COMMANDS = {
    "run": "deploy, drive, break, check, report: a scenario becomes a verdict",
    "check": "analyse a history again, or a foreign one",
    "checks": "every anomaly that is looked for, and when it is an error",
    "cluster": "a cluster to play with, with any client: up, down, status, topics, elect, logs",
    "bench": "throughput and latency across acks, replicas, batches, compression; beside Apache Kafka or an older revision",
    "prove": "run the broken brokers; every one must be caught",
    "shrink": "a smaller plan that still fails",
    "nightly": "the whole matrix within a budget of time; JUnit XML, HTML index, exit code",
    "synth": "a synthetic history with known anomalies, of any size, to try a checker on",
    "scenarios": "what a run can be made of: list them, show one with every setting and its planned faults",
    "fault": "strike a cluster on namespaces or containers by hand",
    "faults": "what can go wrong on purpose: kinds, variants, parameters, targets, proofs",
    "clean": "remove what runs have left whose harness was killed",
    "doctor": "what this machine can do, and how to get the rest",
    "test": "the project's tests",
}

# Command -> (what it will do, what is missing until then).
TO_COME = {
    "serve": ("browse the results", "pages of results"),
}


def main(argv: Sequence[str]) -> int:
    try:
        code = _dispatch(list(argv))
        sys.stdout.flush()
        return code
    except HighwaterError as problem:
        return _report(str(problem), problem.exit_code)
    except KeyboardInterrupt:
        return _report("interrupted", INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # whoever read our output has left: nothing to say to them
        return DONE
    except OSError as problem:
        return _report(str(problem), ENVIRONMENT)
    except Exception as problem:
        return _report(f"a defect of highwater: {type(problem).__name__}: {problem} (HIGHWATER_DEBUG=1 shows where)", ENVIRONMENT)


def usage() -> str:
    lines = ["usage: ./highwater COMMAND [ARGUMENTS]", "", "Does a Kafka-compatible broker keep its promises, and what does each cost?", ""]
    lines += [f"  {name:9} {what}" for name, what in COMMANDS.items()]
    lines += ["", "to come:"]
    lines += [f"  {name:9} {what}" for name, (what, _) in TO_COME.items()]
    lines += ["", "./highwater COMMAND --help tells more."]
    return "\n".join(lines)


def _dispatch(argv: list[str]) -> int:
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(usage())
        return DONE
    name, *rest = argv
    if name in TO_COME:
        raise UserMistake(f"`{name}` is not built yet: {TO_COME[name][1]} are missing; `./highwater cluster up` starts a cluster")
    if name not in COMMANDS:
        nearest = difflib.get_close_matches(name, [*COMMANDS, *TO_COME], n=1)
        hint = f"did you mean `{nearest[0]}`?" if nearest else "`./highwater --help` lists them"
        raise UserMistake(f"there is no command `{name}`; {hint}")
    code: int = importlib.import_module(f"harness.cli.{name}").main(rest)
    return code


def _report(text: str, code: int) -> int:
    if os.environ.get("HIGHWATER_DEBUG") == "1":
        traceback.print_exc()
    print(f"highwater: {text}", file=sys.stderr)
    return code
