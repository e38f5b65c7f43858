"""A learner's state as a plain dict that survives JSON bit for bit, and back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from globalbandits.errors import PolicyError, StateError
from globalbandits.evidence import Evidence
from globalbandits.policies.base import Policy
from globalbandits.policies.observations import Observations

FORMAT = "globalbandits.learner"
VERSION = 1
KEYS = ("format", "version", "policy", "model", "generator", "observations", "arrays", "evidence")

_BIT_GENERATORS = ("PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64")
_SPECIAL = ("nan", "inf", "-inf")  # JSON has no such numbers, so they are written as strings


def encode_arrays(arrays: Any) -> dict[str, Any]:
    """A NamedTuple of arrays, or of such NamedTuples, as nested lists by field."""
    return {
        field: encode_arrays(value) if hasattr(value, "_fields") else _encode(value.tolist())
        for field, value in zip(arrays._fields, arrays, strict=True)
    }


def decode_arrays(name: str, saved: Any, template: Any) -> Any:
    """Nested lists as a NamedTuple like the template: same fields, shapes and kinds of number."""
    check_keys(name, saved, template._fields)
    return type(template)(
        *(
            _decode(f"{name}.{field}", saved[field], getattr(template, field))
            for field in template._fields
        )
    )


def encode_generator(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator as plain numbers and lists."""
    encoded: dict[str, Any] = _plain(rng.bit_generator.state)
    return encoded


def decode_generator(saved: Any) -> np.random.Generator:
    """The generator that goes on where the saved one stopped."""
    kind = saved.get("bit_generator") if isinstance(saved, Mapping) else None
    if kind not in _BIT_GENERATORS:
        known = ", ".join(_BIT_GENERATORS)
        raise StateError(f"generator must be the state of one of {known}, got {saved!r}")
    bits = getattr(np.random, kind)()
    try:
        bits.state = saved
    except (TypeError, ValueError, KeyError, OverflowError, AttributeError) as error:
        raise StateError(f"generator must be a state of {kind}, got {saved!r}: {error}") from None
    return np.random.Generator(bits)


def check_header(state: Any) -> None:
    """Refuse what is not a learner's state, or is one of another version of the format."""
    kind = state.get("format") if isinstance(state, Mapping) else None
    if kind != FORMAT:
        raise StateError(f"state must be a dict with format {FORMAT!r}, got {kind!r}")
    if state.get("version") != VERSION:
        raise StateError(f"state must have version {VERSION}, got {state.get('version')!r}")
    check_keys("state", state, KEYS)


def decode_policy(saved: Any) -> Policy:
    """The policy of a saved state."""
    if not isinstance(saved, Mapping):
        raise StateError(f"policy must be a dict, got {saved!r}")
    try:
        return Policy.from_dict(saved)
    except PolicyError as error:
        raise StateError(f"policy must be a known spec, got {dict(saved)!r}: {error}") from None


def decode_observations(saved: Any, template: Observations) -> Observations:
    """Counts and sums that rewards on the unit scale can have."""
    observed: Observations = decode_arrays("observations", saved, template)
    counts, sums = observed
    slack = 1e-9 * (1.0 + counts)
    if np.any(counts < 0) or np.any(sums < -slack) or np.any(sums > counts + slack):
        raise StateError(
            "observations must have counts of at least 0 and sums from 0 to the counts, "
            f"got {counts.tolist()} and {sums.tolist()}"
        )
    return observed


def check_agreement(observed: Observations, arrays: Any, additive: tuple[str, ...]) -> None:
    """Refuse a policy's statistics that are not those of the observations beside them."""
    if "counts" in additive and not np.array_equal(arrays.counts, observed.counts):
        raise StateError(
            "arrays.counts must be those of the observations, "
            f"got {arrays.counts.tolist()} and {observed.counts.tolist()}"
        )
    if "sums" in additive and not np.allclose(arrays.sums, observed.sums, rtol=1e-9, atol=1e-9):
        raise StateError(
            "arrays.sums must be those of the observations, "
            f"got {arrays.sums.tolist()} and {observed.sums.tolist()}"
        )


def check_evidence(observed: Observations, evidence: Evidence) -> None:
    """Refuse evidence that rests on other rewards than the observations beside it."""
    knots = np.linspace(0.0, 1.0, evidence.counts.shape[1])
    counts, sums = evidence.counts.sum(axis=1), evidence.counts @ knots
    slack = 1e-7 * (1.0 + observed.counts)
    if np.any(counts != observed.counts) or np.any(np.abs(sums - observed.sums) > slack):
        raise StateError(
            "evidence must rest on the observations, "
            f"got {counts.tolist()} and {observed.counts.tolist()} rewards an arm"
        )


def check_keys(name: str, saved: Any, keys: tuple[str, ...]) -> None:
    """Refuse anything but a dict with exactly these keys."""
    if not isinstance(saved, Mapping):
        raise StateError(f"{name} must be a dict, got {saved!r}")
    missing = [key for key in keys if key not in saved]
    extra = [key for key in saved if key not in keys]
    if missing or extra:
        raise StateError(
            f"{name} must have the keys {', '.join(keys)}, got missing {missing} and extra {extra}"
        )


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    return value


def _encode(value: Any) -> Any:
    if isinstance(value, list):
        return [_encode(item) for item in value]
    return value if math.isfinite(value) else str(value)


def _decode(name: str, saved: Any, template: Any) -> Any:
    if hasattr(template, "_fields"):
        return decode_arrays(name, saved, template)
    if not isinstance(saved, list):
        raise StateError(f"{name} must be a list, got {saved!r}")
    values = np.array(saved, dtype=object)
    if values.shape != template.shape:
        raise StateError(f"{name} must have the shape {template.shape}, got {values.shape}")
    check = _check_integer if template.dtype.kind == "i" else _check_float
    numbers = [check(name, value) for value in values.ravel()]
    return np.array(numbers, dtype=template.dtype).reshape(template.shape)


def _check_integer(name: str, value: Any) -> int:
    if type(value) is not int or abs(value) >= 2**63:
        raise StateError(f"{name} must hold 64-bit integers, got {value!r}")
    return value


def _check_float(name: str, value: Any) -> float:
    if isinstance(value, str) and value in _SPECIAL:
        return float(value)
    if type(value) not in (int, float) or not math.isfinite(value):
        raise StateError(f"{name} must hold finite numbers, got {value!r}")
    return float(value)
