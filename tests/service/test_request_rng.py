"""Randomness by key: the same for the same request, unrelated otherwise."""

import hashlib
import struct

import numpy as np

from globalbandits.service.log.request_rng import RequestGenerators


def naive(seed, key, purpose="policy"):
    """The generator of a key, written out."""
    words = [0x676C6F62, 6, seed & 0xFFFFFFFF, seed >> 32, 0, 0, 0, 0]
    text = struct.pack("<8I", *words) + purpose.encode() + b"\0" + key.encode()
    low, high, inc_low, inc_high = struct.unpack(
        "<4Q", hashlib.blake2b(text, digest_size=32, person=b"gb.request").digest()
    )
    bits = np.random.PCG64()
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": low | high << 64, "inc": (inc_low | 1) | inc_high << 64},
        "has_uint32": 0,
        "uinteger": 0,
    }
    return np.random.Generator(bits)


def test_numbers_are_those_of_the_key():
    for seed in (0, 7, 2**63 - 1):
        generators = RequestGenerators(seed)
        for key in ("r:1", "r:2", "d:1", "r:é\U0001f600"):
            for purpose in ("policy", "held back"):
                ours = generators.request_rng(key, purpose)
                theirs = naive(seed, key, purpose)
                assert ours.random(3).tolist() == theirs.random(3).tolist()
                assert ours.standard_normal() == theirs.standard_normal()
                assert ours.integers(0, 2**32, dtype=np.uint32) == theirs.integers(
                    0, 2**32, dtype=np.uint32
                )


def test_other_keys_seeds_and_purposes_give_unrelated_numbers():
    first = [
        generators.request_rng(f"{kind}:{n}", purpose).random()
        for generators in (RequestGenerators(1), RequestGenerators(2))
        for kind in "rd"
        for n in range(500)
        for purpose in ("policy", "held back")
    ]
    assert len(set(first)) == len(first) == 4_000
    # Uniform: the standard error of the mean of 4,000 is 0.29 / sqrt(4000) = 0.0046.
    assert abs(np.mean(first) - 0.5) < 4 * 0.0046
