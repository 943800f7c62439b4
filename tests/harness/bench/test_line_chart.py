"""A chart draws what it was given: gaps stay gaps, names are text, the scale holds every value."""

import math
import re

from harness.bench.line_chart import Line, line_chart


def paths(chart):
    return re.findall(r'<path d="([^"]*)"', chart.split('class="legend"')[0])


def test_every_line_is_drawn_and_named():
    chart = line_chart("Rate", "", [Line("sent", [(0, 1), (1, 2)]), Line("read", [(0, 1), (1, 1)])])
    assert [path.count("L") for path in paths(chart)] == [1, 1]
    assert "sent" in chart and "read" in chart and 'aria-label="Rate"' in chart


def test_what_is_not_known_leaves_a_gap():
    (path,) = paths(line_chart("p99", "ms", [Line("p99", [(0, 5), (1, math.nan), (2, 5), (3, 5)])]))
    assert (path.count("M"), path.count("L")) == (2, 1)


def test_the_highest_value_lies_below_the_top_of_the_scale():
    (path,) = paths(line_chart("p99", "ms", [Line("p99", [(0, 0), (1, 900)])]))
    heights = [float(height) for height in re.findall(r"[ML][\d.]+ ([\d.]+)", path)]
    assert 12 <= heights[1] < heights[0] == 196


def test_names_are_text_and_not_markup():
    assert "<b>" not in line_chart("<b>", "<b>", [Line("<b>", [(0, 1)])])


def test_nothing_to_draw_is_an_empty_chart():
    assert "<svg" in line_chart("Rate", "", [Line("sent", [])])
