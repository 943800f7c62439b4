import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analysis.synth.pattern import BLOCK, STORED, noise, outcomes, stream_of


@given(st.integers(0, 2**64 - 1), st.integers(0, 10**9), st.integers(1, 5))
def test_every_block_has_the_same_number_of_each_outcome(stream, first, blocks):
    for info, failed, stored in zip(*(flags.reshape(blocks, BLOCK) for flags in outcomes(stream, first, blocks)), strict=True):
        assert (info.sum(), failed.sum(), stored.sum()) == (BLOCK // 20, 1, STORED)
        assert (info & stored).sum() == 2
        assert not (failed & (info | stored)).any()
        assert (info.reshape(-1, 20).sum(axis=1) == 1).all()


def test_blocks_differ_and_so_do_seeds_and_partitions():
    info, _, _ = outcomes(stream_of(1, 0, 0), 0, 50)
    assert len(np.unique(info.reshape(50, BLOCK), axis=0)) == 50
    assert (info != outcomes(stream_of(2, 0, 0), 0, 50)[0]).any()
    assert (info != outcomes(stream_of(1, 1, 0), 0, 50)[0]).any()


def test_noise_is_spread_over_all_bits():
    bits = noise(3, np.arange(10_000, dtype=np.int64))
    ones = [(bits >> np.uint64(bit) & np.uint64(1)).mean() for bit in range(64)]
    assert min(ones) > 0.47 and max(ones) < 0.53
