"""Streams: the same key gives the same numbers, another key gives others."""

import itertools

import numpy as np
import pytest

from globalbandits._random import Stream, generator
from globalbandits.errors import SimulationError


def first(seed, run, stream):
    return generator(seed, run, stream).random(4).tolist()


def test_a_key_fixes_the_stream():
    assert first(3, 5, Stream.DRIFT) == first(3, 5, Stream.DRIFT)
    # NumPy promises that PCG64 seeded this way never changes: results of old seeds stay.
    expected = np.random.Generator(np.random.PCG64([3, 5, 2])).random(4).tolist()
    assert first(3, 5, Stream.DRIFT) == expected


def test_every_part_of_the_key_matters():
    keys = list(itertools.product((0, 1, 2**40), (0, 1, 2), Stream))
    streams = {tuple(first(*key)) for key in keys}
    assert len(streams) == len(keys)


def test_streams_are_uncorrelated():
    size = 20_000
    draws = np.stack([generator(0, run, s).random(size) for run in range(3) for s in Stream])
    correlation = np.corrcoef(draws) - np.eye(len(draws))
    # 66 pairs, each with standard error 1 / sqrt(size): 4.5 of them have chance 5e-4 in all.
    assert np.abs(correlation).max() < 4.5 / np.sqrt(size)


@pytest.mark.parametrize(
    ("seed", "rule"), [(-1, "at least 0, got -1"), (1.5, "an integer, got 1.5")]
)
def test_a_wrong_seed_is_refused(seed, rule):
    with pytest.raises(SimulationError, match=f"seed must be {rule}"):
        generator(seed, 0, Stream.REWARD)
