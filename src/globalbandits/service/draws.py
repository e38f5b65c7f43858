"""Randomness that belongs to a request, not to a place in a stream.

A retry, a crash or a second process then changes no other decision, and a past decision can be
made again from the state it was made in.
"""

import hashlib
import struct

import numpy as np

from globalbandits._random import Source, Stream, key_words

_PERSON = b"gb.request"


class Draws:
    """The generators of one bandit's decisions.

    Args:
        seed: the bandit's.

    >>> draws = Draws(7)
    >>> first = draws.at("r:order-1").random()
    >>> _ = draws.at("r:order-2").random()
    >>> draws.at("r:order-1").random() == first
    True
    """

    def __init__(self, seed: int) -> None:
        words = key_words(Stream.REQUEST, seed, 0)
        self._start = hashlib.blake2b(
            struct.pack(f"<{len(words)}I", *words), digest_size=32, person=_PERSON
        )
        self._source = Source()

    def at(self, key: str, purpose: str = "policy") -> np.random.Generator:
        """The generator of a request, good until the next call.

        Args:
            key: of the request.
            purpose: what it is drawn for; other purposes give unrelated numbers.
        """
        digest = self._start.copy()
        digest.update(f"{purpose}\0{key}".encode())
        words = np.frombuffer(digest.digest(), "<u8").astype(np.uint64)
        words[2] |= np.uint64(1)  # PCG64's increment is odd
        self._source.set(words)
        return self._source.rng
