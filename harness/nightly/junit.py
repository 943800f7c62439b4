"""Results as JUnit XML, which GitHub, GitLab and Jenkins read: a run is a test case, its failure text the first witness and the command
that reproduces it. "Cannot tell" is an error there: neither side has a word for it, and it must not look green."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from harness.nightly.ledger import Entry

_NOT_ALLOWED = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def junit(night: str, entries: Sequence[Entry]) -> str:
    failures = sum(entry.outcome == "failed" for entry in entries)
    errors = sum(entry.outcome in ("cannot tell", "error") for entry in entries)
    counts = {"tests": str(len(entries)), "failures": str(failures), "errors": str(errors)}
    seconds = f"{sum(entry.seconds for entry in entries):.1f}"
    root = ElementTree.Element("testsuites", {"name": "highwater nightly", "time": seconds, **counts})
    suite = ElementTree.SubElement(root, "testsuite", {"name": night, "time": seconds, "skipped": "0", **counts})
    for entry in entries:
        scenario, _, where = entry.case.partition("/")
        name = f"{scenario} seed {entry.seed}"
        case = ElementTree.SubElement(
            suite, "testcase", classname=f"highwater.{where.replace('/', '.')}", name=name, time=f"{entry.seconds:.1f}"
        )
        if entry.outcome != "passed":
            kind = "failure" if entry.outcome == "failed" else "error"
            told = ElementTree.SubElement(case, kind, message=_clean(entry.why), type=entry.outcome)
            told.text = _clean("\n".join(filter(None, (entry.first_witness, f"again: {entry.command}", f"kept in {entry.folder}"))))
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _clean(text: str) -> str:
    """XML has no way to write most control characters."""
    return _NOT_ALLOWED.sub("\ufffd", text)
