"""Random generators that belong to a request instead of to a place in a stream.

A retry, a crash or a second process therefore changes no other decision, and a past decision can be
recomputed from the state it was made in.
"""

import hashlib
import struct

import numpy as np

from globalbandits._random import Source, Stream, key_words

_PERSON = b"gb.request"


class RequestGenerators:
    """The random generators of one bandit's decisions.

    Args:
        seed: the bandit's seed.

    >>> generators = RequestGenerators(7)
    >>> first = generators.request_rng("r:order-1").random()
    >>> _ = generators.request_rng("r:order-2").random()
    >>> generators.request_rng("r:order-1").random() == first
    True
    """

    def __init__(self, seed: int) -> None:
        words = key_words(Stream.REQUEST, seed, 0)
        self._seeded = hashlib.blake2b(
            struct.pack(f"<{len(words)}I", *words), digest_size=32, person=_PERSON
        )
        self._source = Source()

    def request_rng(self, key: str, purpose: str = "policy") -> np.random.Generator:
        """The generator of a request. The next call resets it.

        Args:
            key: the key of the request, see `Decision.key`.
            purpose: different purposes give independent numbers.
        """
        digest = self._seeded.copy()
        digest.update(f"{purpose}\0{key}".encode())
        words = np.frombuffer(digest.digest(), "<u8").astype(np.uint64)
        words[2] |= np.uint64(1)  # the increment of PCG64 must be odd
        self._source.set(words)
        return self._source.rng
