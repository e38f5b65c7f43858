"""The key of a stream, and the plain way from a key to a generator."""

from enum import IntEnum

import numpy as np

from globalbandits._validation import as_seed, require
from globalbandits.errors import SimulationError

_TAG = 0x676C6F62  # "glob" in ASCII
_SEED_WORDS, _RUN_WORDS = 4, 2
_MASK = 2**32 - 1


class Stream(IntEnum):
    """What a stream is used for."""

    REWARD = 0
    POLICY = 1
    DRIFT = 2
    BIAS = 3
    LEARNER = 4
    FORK = 5
    REQUEST = 6
    POPULATION = 7
    WORLD = 8


def key_words(stream: Stream, seed: int, run: int) -> list[int]:
    """The key of one stream, always of the same length; the run's two words stand last.

    >>> [hex(word) for word in key_words(Stream.POLICY, 7, 2**32 + 3)]
    ['0x676c6f62', '0x1', '0x7', '0x0', '0x0', '0x0', '0x3', '0x1']
    """
    seed = as_seed(seed, SimulationError)
    require(0 <= run < 2**64, "run", "lie in [0, 2**64)", run, SimulationError)
    words = [_TAG, int(stream)]
    words += [(seed >> (32 * word)) & _MASK for word in range(_SEED_WORDS)]
    return words + [(run >> (32 * word)) & _MASK for word in range(_RUN_WORDS)]


def generator(stream: Stream, seed: int, run: int = 0) -> np.random.Generator:
    """The generator of one purpose in one run.

    >>> generator(Stream.REWARD, 7).random() == generator(Stream.REWARD, 7).random()
    True
    >>> generator(Stream.REWARD, 7, 0).random() == generator(Stream.REWARD, 7, 1).random()
    False
    """
    sequence = np.random.SeedSequence(key_words(stream, seed, run))
    return np.random.Generator(np.random.PCG64(sequence))
