"""A judge that sees nothing would make every storm a success."""

import pytest

from tests.cluster.load import Placed, Seen
from tests.cluster.verdict import broken_promises, differing_replicas

FINAL: list[Placed] = [(0, 0, "0:0:0000000"), (0, 1, "1:0:0000000"), (0, 2, "0:0:0000001"), (1, 0, "0:1:0000000")]


def judged(final: list[Placed], **seen: list) -> str:
    return "\n".join(broken_promises(Seen(**seen), final))


def test_a_log_that_holds_what_was_promised_is_beyond_reproach():
    assert judged(FINAL, acked=[*FINAL[:3], (1, None, "0:1:0000000")], read=FINAL, failed=[("1:0:0000000", "_MSG_TIMED_OUT")]) == ""


@pytest.mark.parametrize(
    ("word", "final", "seen"),
    [
        ("lost", FINAL[:2], {"acked": FINAL[:3]}),
        ("lost", FINAL[:3], {"acked": [(1, None, "0:1:0000000")]}),
        ("stored elsewhere", FINAL, {"acked": [(0, 1, "0:0:0000001")]}),
        ("stored twice", [*FINAL, (1, 1, "1:0:0000000")], {}),
        ("acknowledged twice", FINAL, {"acked": [FINAL[0], FINAL[0]]}),
        ("read, but not there any more", FINAL, {"read": [(0, 3, "0:0:0000002")]}),
        ("out of order", [(0, 0, "0:0:0000001"), (0, 1, "0:0:0000000")], {}),
        ("with a gap before it", [FINAL[0], FINAL[2]], {}),
        ("a producer: fenced", FINAL, {"fatal": ["a producer: fenced"]}),
        ("a producer lost agreement with a broker: skipped", FINAL, {"epochs": ["skipped sequence numbers"]}),
    ],
)
def test_each_broken_promise_is_told(word, final, seen):
    assert word in judged(final, **seen)


def test_replicas_that_differ_in_a_byte_are_told_and_where_segments_end_does_not_matter(tmp_path):
    for node, segments in {"node-1": [b"abc", b"def"], "node-2": [b"abcdef"], "node-3": [b"abcdxf"]}.items():
        folder = tmp_path / node / "data" / "t-0"
        folder.mkdir(parents=True)
        for number, content in enumerate(segments):
            (folder / f"{number:020d}.log").write_bytes(content)
    homes = [tmp_path / f"node-{number}" / "data" for number in (1, 2, 3)]
    assert differing_replicas(homes[:2], "t", 1) == []
    assert "alike up to byte 4" in differing_replicas(homes, "t", 1)[0]
