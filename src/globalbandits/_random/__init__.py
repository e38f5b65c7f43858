"""Random streams: one seed gives an independent stream for each purpose and run.

The key of a stream is a fixed number of 32-bit words: a tag of this package, the purpose, the
seed (below 2**128) and the run (below 2**64). Streams with different keys are independent of each
other and of ``numpy.random.default_rng(seed)``.

Every policy of a run gets a fresh copy of the same reward, drift and bias streams. So comparisons
are paired, and a policy's result is the same whichever other policies are compared with it.
"""

from globalbandits._random.keys import States, Stream, generator, key_words, stream_states
from globalbandits._random.source import Source

__all__ = ["Source", "States", "Stream", "generator", "key_words", "stream_states"]
