import numpy as np
import pytest

from analysis.own_retries import COLUMNS, own_retries


def found(places, batches):
    columns = {name: np.array(column, np.int64) for name, column in zip(COLUMNS, zip(*batches, strict=True), strict=True)}
    value, offset = (np.array(column, np.int64) for column in zip(*places, strict=True))
    return own_retries(value, offset, columns).tolist()


@pytest.mark.parametrize(
    "second, own",
    [
        ((10, 19, 7, 1), [1]),  # the next epoch of the same producer
        ((10, 19, 8, 0), [1]),  # another producer id
        ((10, 19, 7, 0), []),  # the same: the broker stored a retry twice
    ],
)
def test_copies_under_another_producer_or_epoch_are_the_client_s_own(second, own):
    assert found([(1, 5), (1, 15)], [(0, 9, 7, 0), second]) == own


def test_two_of_three_copies_under_one_epoch_are_the_broker_s():
    batches = [(0, 9, 7, 0), (10, 19, 7, 1), (20, 29, 7, 1)]
    assert found([(1, 5), (1, 15), (1, 25), (2, 6), (2, 16)], batches) == [2]


def test_a_copy_that_no_batch_holds_and_one_without_a_producer_prove_nothing():
    assert found([(1, 5), (1, 15)], [(0, 9, 7, 0), (20, 29, 7, 1)]) == []
    assert found([(1, 5), (1, 15)], [(0, 9, -1, -1), (10, 19, 7, 1)]) == []


def test_the_batches_of_all_replicas_may_be_given_at_once():
    assert found([(1, 5), (1, 15)], [(0, 9, 7, 0), (0, 9, 7, 0), (10, 19, 7, 1), (10, 19, 7, 1)]) == [1]


def test_without_duplicates_or_without_batches_there_are_none():
    nothing = {name: np.empty(0, np.int64) for name in COLUMNS}
    assert own_retries(np.array([1, 1]), np.array([5, 15]), nothing).tolist() == []
    assert own_retries(np.empty(0, np.int64), np.empty(0, np.int64), nothing).tolist() == []
