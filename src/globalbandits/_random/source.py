"""`Source`: one generator that can be reset to the start of any stream."""

import ctypes

import numpy as np

from globalbandits._random.keys import Stream, UInt64Array, generator, stream_states


class Source:
    """A PCG64 generator whose state can be written directly into its memory.

    If NumPy's memory layout is unknown (`KNOWN_LAYOUT` is False), ``memory`` and ``buffered`` are
    separate arrays without effect, and only `set` changes the generator.

    Attributes:
        rng: the generator.
        memory: its state, shape (4,), in the order of `stream_states`.
        buffered: shape (1,); 0 if the generator has no buffered half of a 64-bit number.
    """

    def __init__(self) -> None:
        self.rng = np.random.Generator(np.random.PCG64(0))
        self.memory = np.zeros(4, np.uint64)
        self.buffered = np.zeros(1, np.uint64)
        if KNOWN_LAYOUT:
            self.memory, self.buffered = _memory_of(self.rng)

    def set(self, words: UInt64Array) -> None:
        """Set the generator to the state with these four words.

        >>> source = Source()
        >>> source.set(stream_states(Stream.REWARD, 7, 3, 1)[0])
        >>> source.rng.random() == generator(Stream.REWARD, 7, 3).random()
        True
        """
        if KNOWN_LAYOUT:
            self.memory[:] = words
            self.buffered[0] = 0
        else:
            self.rng.bit_generator.state = as_state(words)


def as_state(words: UInt64Array) -> dict[str, object]:
    """Four words as the state dict of NumPy's PCG64."""
    low, high, inc_low, inc_high = (int(word) for word in words)
    return {
        "bit_generator": "PCG64",
        "state": {"state": (high << 64) | low, "inc": (inc_high << 64) | inc_low},
        "has_uint32": 0,
        "uinteger": 0,
    }


def _memory_of(rng: np.random.Generator) -> tuple[UInt64Array, UInt64Array]:
    """The memory of a generator: its state and its buffer."""
    address = rng.bit_generator.ctypes.state_address
    state = ctypes.c_uint64.from_address(address).value
    words = (ctypes.c_uint64 * 4).from_address(state)
    buffered = (ctypes.c_uint64 * 1).from_address(address + 8)
    return np.ctypeslib.as_array(words), np.ctypeslib.as_array(buffered)


def _is_layout_known() -> bool:
    """Whether reading and writing a generator's memory work as expected."""
    if np.random.PCG64(0).state["bit_generator"] != "PCG64" or ctypes.sizeof(ctypes.c_void_p) != 8:
        return False
    words = stream_states(Stream.REWARD, 2**100 + 7, 2**40, 2)
    plain = [generator(Stream.REWARD, 2**100 + 7, 2**40 + run) for run in range(2)]
    try:
        memory, buffered = _memory_of(plain[0])
        if not np.array_equal(memory, words[0]) or buffered[0] != 0:
            return False
        plain[0].integers(2**20, dtype=np.uint32)  # buffers half of a 64-bit number
        if buffered[0] == 0:
            return False
        memory[:] = words[1]
        buffered[0] = 0
        return plain[0].bit_generator.state == plain[1].bit_generator.state
    except (AttributeError, TypeError, ValueError):
        return False


KNOWN_LAYOUT = _is_layout_known()
