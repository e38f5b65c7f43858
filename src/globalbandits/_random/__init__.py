"""Random streams: one seed, and a stream of its own for each purpose and run.

The key of a stream is a fixed number of 32-bit words: a tag of this package, the purpose, the
seed (up to 2**128) and the run (up to 2**64). Keys that differ anywhere give streams that have
nothing to do with each other, nor with ``numpy.random.default_rng(seed)``.

Every policy of a run gets a fresh copy of the same reward, drift and bias streams, so
comparisons are paired, and a result does not depend on which policies run side by side.
"""

from globalbandits._random.keys import States, Stream, generator, key_words, stream_states
from globalbandits._random.source import Source

__all__ = ["Source", "States", "Stream", "generator", "key_words", "stream_states"]
