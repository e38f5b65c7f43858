"""Keys of random streams, the generator of one stream, and the initial states of many streams."""

import threading
from enum import IntEnum
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from globalbandits._validation import as_seed, require
from globalbandits.errors import SimulationError

_TAG = 0x676C6F62  # "glob" in ASCII
_SEED_WORDS, _RUN_WORDS = 4, 2
_MASK_32_BITS = 2**32 - 1


class Stream(IntEnum):
    """The purpose of a stream. Its number never changes, because it is a part of the key."""

    REWARD = 0
    POLICY = 1
    DRIFT = 2
    BIAS = 3
    LEARNER = 4
    FORK = 5
    REQUEST = 6
    POPULATION = 7
    WORLD = 8
    PROBABILITIES = 9
    DELAY = 11
    OFFER = 12


def key_words(stream: Stream, seed: int, run: int) -> list[int]:
    """The key of one stream, always of the same length; the last two words are the run.

    >>> [hex(word) for word in key_words(Stream.POLICY, 7, 2**32 + 3)]
    ['0x676c6f62', '0x1', '0x7', '0x0', '0x0', '0x0', '0x3', '0x1']
    """
    seed = as_seed(seed, SimulationError)
    require(0 <= run < 2**64, "run", "lie in [0, 2**64)", run, SimulationError)
    words = [_TAG, int(stream)]
    words += [(seed >> (32 * word)) & _MASK_32_BITS for word in range(_SEED_WORDS)]
    return words + [(run >> (32 * word)) & _MASK_32_BITS for word in range(_RUN_WORDS)]


def generator(stream: Stream, seed: int, run: int = 0) -> np.random.Generator:
    """The generator for one purpose in one run.

    >>> generator(Stream.REWARD, 7).random() == generator(Stream.REWARD, 7).random()
    True
    >>> generator(Stream.REWARD, 7, 0).random() == generator(Stream.REWARD, 7, 1).random()
    False
    """
    sequence = np.random.SeedSequence(key_words(stream, seed, run))
    return np.random.Generator(np.random.PCG64(sequence))


# Initial states of many streams at once.
#
# `stream_states` computes the state of `numpy.random.PCG64(SeedSequence(key))` for many runs.
# First comes the hash of `SeedSequence`, where only the last two words of the key differ between
# runs. Then come the two steps by which PCG64 sets its seed, in 64-bit halves. A stream takes a
# few hundred nanoseconds instead of fifteen microseconds. NumPy guarantees that both algorithms
# never change.

UInt32Array = NDArray[np.uint32]
UInt64Array = NDArray[np.uint64]

# Constants of SeedSequence, with NumPy's names INIT_A, MULT_A and so on.
_POOL_WORDS = 4
_SHIFT_BITS = 16
_INIT_A, _MULT_A = 0x43B0D7E5, 0x931E8875  # the hash of the key's words
_INIT_B, _MULT_B = 0x8B51F9DD, 0x58F38DED  # the hash of the output words
_MIX_MULT_L, _MIX_MULT_R = 0xCA01F9DD, 0x4973F715  # the mix of two words
_PCG64_MULTIPLIER = 0x2360ED051FC65DA44385DF649FCCF645


def stream_states(stream: Stream, seed: int, first_run: int, n_runs: int) -> UInt64Array:
    """Initial states of the generators of consecutive runs, shape (n_runs, 4).

    The words are the lower and upper half of PCG64's state, then of its increment.

    >>> state = generator(Stream.BIAS, 7, 12).bit_generator.state["state"]
    >>> words = stream_states(Stream.BIAS, 7, 10, 5)[2].tolist()
    >>> words[0] + (words[1] << 64) == state["state"], words[2] + (words[3] << 64) == state["inc"]
    (True, True)
    """
    *common, _, _ = key_words(stream, seed, first_run + max(n_runs, 1) - 1)
    runs = np.arange(n_runs, dtype=np.uint64) + np.uint64(first_run)
    words = _hash(common, [runs.astype(np.uint32), (runs >> np.uint64(32)).astype(np.uint32)])
    halves = words[0::2].astype(np.uint64) | (words[1::2].astype(np.uint64) << np.uint64(32))
    # The upper half of seed and increment comes first.
    seed_high, seed_low, inc_high, inc_low = halves
    one = np.uint64(1)
    inc_high = (inc_high << one) | (inc_low >> np.uint64(63))
    inc_low = (inc_low << one) | one
    # PCG64 starts at 0, advances one step, adds the seed, and advances another step.
    low, high = _add(inc_low, inc_high, seed_low, seed_high)
    low, high = _multiply(low, high)
    low, high = _add(low, high, inc_low, inc_high)
    return np.stack([low, high, inc_low, inc_high], axis=1)


def _hash(common: list[int], last: list[UInt32Array]) -> UInt32Array:
    """The eight output words of SeedSequence for n keys that differ in their last words: (8, n)."""
    constants = _powers(_INIT_A, _MULT_A, _POOL_WORDS * (_POOL_WORDS + len(common) + len(last)))
    used = pairwise(constants)

    def digest(word: int) -> int:
        before, after = next(used)
        word = (word ^ before) * after & _MASK_32_BITS
        return word ^ word >> _SHIFT_BITS

    def mix(x: int, y: int) -> int:
        word = (x * _MIX_MULT_L - y * _MIX_MULT_R) & _MASK_32_BITS
        return word ^ word >> _SHIFT_BITS

    pool = [digest(word) for word in common[:_POOL_WORDS]]
    for source in range(_POOL_WORDS):
        for target in range(_POOL_WORDS):
            if source != target:
                pool[target] = mix(pool[target], digest(pool[source]))
    for word in common[_POOL_WORDS:]:
        pool = [mix(entry, digest(word)) for entry in pool]
    # The last words differ between keys: update the four entries of all pools at once.
    pools = _column(pool)
    for words in last:
        pairs = [next(used) for _ in range(_POOL_WORDS)]
        mixed = (words ^ _column([pair[0] for pair in pairs])) * _column([p[1] for p in pairs])
        mixed ^= mixed >> np.uint32(_SHIFT_BITS)
        pools = pools * np.uint32(_MIX_MULT_L) - mixed * np.uint32(_MIX_MULT_R)
        pools ^= pools >> np.uint32(_SHIFT_BITS)
    constants = _powers(_INIT_B, _MULT_B, 2 * _POOL_WORDS + 1)
    out = np.concatenate([pools, pools]) ^ _column(constants[:-1])
    out *= _column(constants[1:])
    out ^= out >> np.uint32(_SHIFT_BITS)
    return out


def _powers(start: int, factor: int, number: int) -> list[int]:
    found = [start]
    while len(found) < number:
        found.append(found[-1] * factor & _MASK_32_BITS)
    return found


def _column(values: list[int]) -> UInt32Array:
    return np.array(values, np.uint32)[:, np.newaxis]


def _add(
    low: UInt64Array, high: UInt64Array, other_low: UInt64Array, other_high: UInt64Array
) -> tuple[UInt64Array, UInt64Array]:
    """Sums of 128-bit numbers given as 64-bit halves."""
    total = low + other_low
    return total, high + other_high + (total < low)


def _multiply(low: UInt64Array, high: UInt64Array) -> tuple[UInt64Array, UInt64Array]:
    """Products of 128-bit numbers and PCG64's multiplier."""
    by_high, by_low = (np.uint64(part) for part in divmod(_PCG64_MULTIPLIER, 2**64))
    half, lower = np.uint64(32), np.uint64(_MASK_32_BITS)
    a1, a0, b1, b0 = low >> half, low & lower, by_low >> half, by_low & lower
    middle = a1 * b0 + (a0 * b0 >> half)
    carried = (middle & lower) + a0 * b1
    upper = a1 * b1 + (middle >> half) + (carried >> half)
    return low * by_low, upper + low * by_high + high * by_low


_RUNS_PER_CHUNK = 4096
_MAX_CACHED_CHUNKS = 8  # threads work on nearby runs


class States:
    """Initial states of the streams of consecutive runs. Thread-safe.

    >>> states = States(7, first_run=10, n_runs=5_000)
    >>> some = states.of(Stream.REWARD, 2_057, 3)
    >>> np.array_equal(some, stream_states(Stream.REWARD, 7, 2_057, 3))
    True
    """

    def __init__(self, seed: int, first_run: int, n_runs: int) -> None:
        self._first = first_run
        self._lock = threading.Lock()

        @lru_cache(maxsize=_MAX_CACHED_CHUNKS)
        def chunk(stream: Stream, number: int) -> UInt64Array:
            place = number * _RUNS_PER_CHUNK
            return stream_states(
                stream, seed, first_run + place, min(_RUNS_PER_CHUNK, n_runs - place)
            )

        self._chunk = chunk

    def of(self, stream: Stream, first_run: int, n_runs: int) -> UInt64Array:
        """Initial states of consecutive runs, shape (n_runs, 4)."""
        parts = []
        place, left = first_run - self._first, n_runs
        with self._lock:
            while left > 0:
                number, offset = divmod(place, _RUNS_PER_CHUNK)
                part = self._chunk(stream, number)[offset : offset + left]
                parts.append(part)
                place, left = place + len(part), left - len(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)
