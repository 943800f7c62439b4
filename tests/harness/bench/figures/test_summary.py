"""From rounds to figures: medians, ratios of neighbours, and what must be said beside them."""

from dataclasses import replace

import pytest

from harness.bench.figures.results import Disturbance, LostUnderKills, WarmUp, read_result, write_result
from harness.bench.figures.summary import Summary, behind_mb, broker_cpu_gb, mb_s, mb_s_seen
from harness.bench.suites.case import Case
from harness.errors import UserMistake
from tests.harness.bench.made_up import load, result


def test_a_result_survives_its_file(tmp_path):
    made = result(("highwater", "kafka"))
    write_result(tmp_path, made)
    assert read_result(tmp_path) == made


def test_what_is_no_result_is_told(tmp_path):
    with pytest.raises(UserMistake, match="holds no result"):
        read_result(tmp_path)
    (tmp_path / "result.json").write_text("{}")
    with pytest.raises(UserMistake, match="no result of a benchmark that this version reads"):
        read_result(tmp_path)


def test_quantities_have_their_units():
    one = load(mb_s=100.0, replicated_seconds=20.0, behind=1000)
    assert (mb_s_seen(one), mb_s(one)) == (pytest.approx(100), pytest.approx(50))
    assert broker_cpu_gb(one) == pytest.approx(4.0) and behind_mb(one) == pytest.approx(1.0)


def test_a_cell_has_the_median_and_the_range_of_its_rounds():
    spread = Summary(result()).cells[2][0].spread(mb_s)
    assert (spread.low, spread.median, spread.high) == (pytest.approx(100.5), pytest.approx(101.5), pytest.approx(102.5))


def test_ratios_are_the_first_system_over_the_other():
    ratios = {what: ratio for what, ratio, _ in Summary(result(("highwater", "kafka"), rates=[130.0, 100.0])).ratios(2, 1)}
    assert ratios["throughput, until all replicas are equal"].value == pytest.approx(1.3)
    assert ratios["p99 at 2,000 messages/s"].value == pytest.approx(0.5, rel=0.15)


def test_latencies_of_all_rounds_are_one_histogram():
    at = Summary(result()).cells[1][0].usual_latency
    assert (at.rate, at.share, at.publish.samples) == (2000.0, 0.5, 150_000)
    assert at.publish.percentile_ms(99.9) is not None


def test_the_first_table_has_what_differs_in_acks_and_single_messages_alone():
    cases = (Case(acks="1"), Case(acks="all"), Case(acks="all", batch_messages=1, linger_ms=0), Case(record_bytes=100), Case(replicas=1))
    assert Summary(result(cases=cases)).headline == [0, 1, 2]


@pytest.mark.parametrize(
    "changed, bound",
    [({}, False), ({"waited": 0.01}, True), ({"busiest_thread": 0.97}, True), ({"waited": 0.3, "busiest_thread": 0.8}, False)],
)
def test_a_client_that_never_waits_or_never_rests_bounds_the_figure(changed, bound):
    summary = Summary(result(cases=(Case(),), loads=tuple(load(number=number, **changed) for number in (1, 2, 3))))
    assert summary.cells[0][0].client_bound == bound
    assert any("client-bound" in remark for remark in summary.remarks()) == bound


@pytest.mark.parametrize(
    "changed, told",
    [
        ({"c_client": False}, "throughput here is the client's"),
        ({"warm_ups": (WarmUp(0, 60.0, False, ()),)}, "cut short after 60 s"),
        ({"loads": (load(disturbance=Disturbance(0.3, 0.0)),)}, "the host stole more than 10%"),
        ({"loads": (load(segments=1.5),)}, "Fewer than 3 segments"),
    ],
)
def test_what_weakens_a_figure_is_said(changed, told):
    assert not list(Summary(result()).remarks())
    assert any(told in remark for remark in Summary(result(**changed)).remarks())


def test_messages_that_the_brokers_do_not_know_of_are_said():
    [account] = result().lifetimes
    short = replace(account, counted=account.messages - 7)
    assert any("7 messages more" in remark for remark in Summary(result(lifetimes=(short,))).remarks())


def test_losses_under_kills_belong_to_their_acks_setting():
    summary = Summary(result(losses=(LostUnderKills(0, "1", (3, 0, 5)),)))
    assert summary.cells[1][0].lost_under_kills == (3, 0, 5) and summary.cells[2][0].lost_under_kills is None
