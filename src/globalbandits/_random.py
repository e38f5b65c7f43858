"""Random streams: one seed, keyed by run, one stream for each purpose.

Every policy of a run gets a fresh copy of the same reward, drift and bias streams, so
comparisons are paired, and a result does not depend on which policies run side by side.
"""

from enum import IntEnum

import numpy as np

from globalbandits._validation import as_seed
from globalbandits.errors import SimulationError


class Stream(IntEnum):
    """What a stream is used for."""

    REWARD = 0
    POLICY = 1
    DRIFT = 2
    BIAS = 3


def generator(seed: int, run: int, stream: Stream) -> np.random.Generator:
    """The generator of one purpose in one run.

    >>> generator(7, 0, Stream.REWARD).random() == generator(7, 0, Stream.REWARD).random()
    True
    >>> generator(7, 0, Stream.REWARD).random() == generator(7, 1, Stream.REWARD).random()
    False
    """
    seed = as_seed(seed, SimulationError)
    return np.random.Generator(np.random.PCG64([seed, run, int(stream)]))
