"""A learner's state as a plain dict that survives JSON bit for bit, and back.

What is saved: the statistics, the fields of the policy's state that do not follow from them,
the evidence, the generator, and where the learner comes from. All else is derived again.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from globalbandits._encoding import check_keys, decode_array, decode_tuple, encode_tuple, plain
from globalbandits._random import Stream, generator
from globalbandits._validation import as_seed, show
from globalbandits.errors import PolicyError, StateError
from globalbandits.evidence.saving import decode_statistics
from globalbandits.policies.base import Policy, Rules, Setup, State
from globalbandits.policies.parts.nesting import check_kept, derive
from globalbandits.statistics import Statistics

FORMAT = "globalbandits.learner"
VERSION = 2
KEYS = (
    "format",
    "version",
    "policy",
    "model",
    "generator",
    "lineage",
    "statistics",
    "kept",
    "evidence",
)

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")


def check_header(state: Any) -> None:
    """Refuse what is not a learner's state, or is one of another version of the format."""
    kind = state.get("format") if isinstance(state, Mapping) else None
    if kind != FORMAT:
        raise StateError(f"state must be a dict with format {FORMAT!r}, got {show(kind)}")
    version = state.get("version")
    if version != VERSION or type(version) is not int:
        raise StateError(
            f"state must have version {VERSION}, got {show(version)}: "
            "states of other versions cannot be read; tell the learner its rewards again"
        )
    check_keys("state", state, KEYS)


def kept_fields(rules: Rules, state: State) -> tuple[str, ...]:
    """The fields of a policy's state to be saved: all of them where order matters."""
    return tuple(state._fields) if rules.rebuild is None else rules.kept


def encode_kept(rules: Rules, state: State) -> dict[str, Any]:
    """What of a policy's state does not follow from the statistics."""
    return {name: encode_tuple(getattr(state, name)) for name in kept_fields(rules, state)}


def decode_kept(rules: Rules, setup: Setup, stats: Statistics, saved: Any) -> State:
    """The policy's state: derived from the statistics and the kept fields.

    Raises:
        StateError: if the kept fields cannot be those of a learner with these statistics.
    """
    derived = derive(rules, setup, stats)
    names = kept_fields(rules, derived)
    check_keys("kept", saved, names)
    fields = {
        name: decode_tuple(f"kept.{name}", saved[name], getattr(derived, name)) for name in names
    }
    state = derived._replace(**fields)
    check_kept(rules, setup, stats, state, derived)
    return state


def as_generator(seed: int | np.random.Generator | None) -> np.random.Generator:
    """The generator of a new learner: a given one, one of a seed, or one of fresh entropy."""
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    return generator(Stream.LEARNER, as_seed(seed, PolicyError))


def encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as plain numbers and lists."""
    encoded: dict[str, Any] = plain(rng.bit_generator.state)
    return encoded


def decode_generator(saved: Any) -> np.random.Generator:
    """The generator that goes on where the saved one stopped."""
    kind = saved.get("bit_generator") if isinstance(saved, Mapping) else None
    if not isinstance(kind, str) or kind not in _BIT_GENERATORS:
        known = ", ".join(_BIT_GENERATORS)
        raise StateError(f"generator must be the state of one of {known}, got {show(saved)}")
    bits = getattr(np.random, kind)()
    try:
        # Numbers of thousands of digits, or lists nested a thousand deep, fail in their own ways.
        bits.state = saved
        same = plain(bits.state) == saved
    except Exception as error:
        raise StateError(
            f"generator must be a state of {kind}, got {show(saved)}: {show(error)}"
        ) from None
    if not same:
        raise StateError(f"generator must be a state of {kind}, got {show(saved)}")
    return np.random.Generator(bits)


def decode_policy(saved: Any) -> Policy:
    """The policy of a saved state."""
    if not isinstance(saved, Mapping):
        raise StateError(f"policy must be a dict, got {show(saved)}")
    try:
        return Policy.from_dict(saved)
    except (PolicyError, TypeError, OverflowError, RecursionError) as error:
        raise StateError(f"policy must be a known spec, got {show(saved)}: {show(error)}") from None


__all__ = [
    "FORMAT",
    "VERSION",
    "as_generator",
    "check_header",
    "decode_array",
    "decode_generator",
    "decode_kept",
    "decode_policy",
    "decode_statistics",
    "encode_generator",
    "encode_kept",
    "encode_tuple",
]
