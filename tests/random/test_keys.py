"""Streams: the same key gives the same numbers, another key gives others."""

import itertools

import numpy as np
import pytest

from globalbandits._random import Stream, generator, key_words
from globalbandits.errors import SimulationError


def first(stream, seed, run):
    return generator(stream, seed, run).random(4).tolist()


def test_a_key_fixes_the_stream():
    assert first(Stream.DRIFT, 3, 5) == first(Stream.DRIFT, 3, 5)
    # NumPy promises that PCG64 seeded this way never changes: results of old seeds stay.
    words = [0x676C6F62, 2, 3, 0, 0, 0, 5, 0]
    expected = np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))
    assert first(Stream.DRIFT, 3, 5) == expected.random(4).tolist()


def test_every_part_of_the_key_matters():
    keys = list(itertools.product(Stream, (0, 1, 2**40, 1 + 5 * 2**32, 2**127), (0, 1, 5, 2**32)))
    streams = {tuple(first(*key)) for key in keys}
    assert len(streams) == len(keys)


def test_streams_are_not_those_of_numpy():
    for seed in (0, 7):
        theirs = np.random.default_rng(seed).random(4).tolist()
        assert theirs not in [first(stream, seed, 0) for stream in Stream]


def test_streams_are_uncorrelated():
    size = 20_000
    draws = np.stack([generator(s, 0, run).random(size) for run in range(3) for s in Stream])
    correlation = np.corrcoef(draws) - np.eye(len(draws))
    # 276 pairs, each with standard error 1 / sqrt(size): 4.9 of them have chance 3e-4 in all.
    assert np.abs(correlation).max() < 4.9 / np.sqrt(size)


@pytest.mark.parametrize(
    ("seed", "rule"),
    [(-1, "at least 0, got -1"), (1.5, "an integer, got 1.5"), (2**128, "at most")],
)
def test_a_wrong_seed_is_refused(seed, rule):
    with pytest.raises(SimulationError, match=f"seed must be {rule}"):
        generator(Stream.REWARD, seed)


@pytest.mark.parametrize("run", [-1, 2**64])
def test_a_wrong_run_is_refused(run):
    with pytest.raises(SimulationError, match=rf"run must lie in \[0, 2\*\*64\), got {run}"):
        key_words(Stream.REWARD, 0, run)
