"""Validation of arms and rewards that users pass in, and the mapping of rewards to [0, 1]."""

import contextlib
import math
from collections.abc import Sequence, Set
from typing import Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, as_list, require
from globalbandits.errors import RewardError

# Rounding tolerance at the ends of the reward range, on the unit scale.
_TOLERANCE = 1e-12
MAX_COUNT = 10**6  # rewards in one summary


def as_arm(name: str, value: Any, n_arms: int) -> int:
    """Check that a value is the index of an arm."""
    if type(value) is int and 0 <= value < n_arms:  # fast path for the usual case
        return value
    arm = as_integer(name, value, 0, RewardError)
    require(arm < n_arms, name, f"be an index below {n_arms}", value, RewardError)
    return arm


def index_of(value: Any, arms: tuple[Any, ...], name: str = "arm_value") -> int:
    """The index of the arm with this user-facing value. Numbers match up to rounding.

    >>> index_of(0.1 + 0.2, (0.2, 0.3)), index_of("red", ("blue", "red"))
    (1, 1)
    >>> index_of(0.25, (0.2, 0.3))
    Traceback (most recent call last):
        ...
    globalbandits.errors.RewardError: arm_value must be one of the arms 0.2, 0.3, got 0.25
    """
    # The value is missing, or an array that cannot be compared.
    with contextlib.suppress(ValueError):
        return arms.index(value)
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        for index, arm in enumerate(arms):
            if isinstance(arm, (int, float)) and math.isclose(arm, float(value), rel_tol=1e-9):
                return index
    shown = ", ".join(repr(arm) for arm in arms[:8]) + (", ..." if len(arms) > 8 else "")
    raise RewardError(f"{name} must be one of the arms {shown}, got {value!r}")


def given_arm(arm: Any, arm_value: Any, arms: tuple[Any, ...], *, many: bool) -> Any:
    """The index of the arm with a user-facing value, or the indices for a batch of values."""
    if arm is not None:
        raise RewardError(
            f"arm_value must not be given together with arm, got {arm_value!r} and {arm!r}"
        )
    if not many:
        return index_of(arm_value, arms)
    require(is_batch(arm_value), "arm_value", "be as many as the rewards", arm_value, RewardError)
    return [index_of(value, arms, f"arm_value[{i}]") for i, value in enumerate(arm_value)]


def as_allowed(allowed: Any, n_arms: int) -> list[int]:
    """Check a non-empty collection of arm indices; return them in increasing order, each once.

    >>> as_allowed({3, 1}, 4)
    [1, 3]
    """
    given = list(allowed) if isinstance(allowed, Set) else allowed
    arms = as_list("allowed", given, "be indices of arms", RewardError)
    require(len(arms) > 0, "allowed", "leave at least one arm", allowed, RewardError)
    return sorted({as_arm("allowed", arm, n_arms) for arm in arms})


def nearest(arm: int, allowed: Sequence[int]) -> int:
    """The allowed arm with the nearest index; of two, the lower one.

    >>> nearest(2, [0, 1, 3])
    1
    """
    return min(allowed, key=lambda other: (abs(other - arm), other))


def as_unit(name: str, value: Any, reward_range: tuple[float, float]) -> float:
    """Check a reward and map it from the reward range to [0, 1].

    >>> as_unit("reward", 5.0, (0.0, 10.0))
    0.5
    """
    low, high = reward_range
    number = value if type(value) is float else as_float(name, value, RewardError)
    unit = (number - low) / (high - low)
    if -_TOLERANCE <= unit <= 1.0 + _TOLERANCE:
        return min(max(unit, 0.0), 1.0)
    as_float(name, value, RewardError)  # raises a specific message for nan and infinities
    raise RewardError(f"{name} must lie in [{low:g}, {high:g}], got {value!r}")


def as_summary(total: Any, count: Any, reward_range: tuple[float, float]) -> list[float]:
    """The rewards of a summary on the unit scale: zeros and ones, evenly spread.

    >>> as_summary(2, 5, (0.0, 1.0))
    [0.0, 0.0, 1.0, 0.0, 1.0]
    >>> as_summary(2.5, 5, (0.0, 1.0))
    Traceback (most recent call last):
        ...
    globalbandits.errors.RewardError: reward must be the sum of 5 rewards that are 0 or 1, got 2.5
    """
    n = as_integer("count", count, 1, RewardError, maximum=MAX_COUNT)
    low, high = reward_range
    number = as_float("reward", total, RewardError)
    exact = (number - n * low) / (high - low)
    n_high = round(exact)
    rule = f"be the sum of {n} rewards that are {low:g} or {high:g}"
    whole = abs(exact - n_high) <= 1e-6 and 0 <= n_high <= n
    require(whole, "reward", rule, total, RewardError)
    return [float((place + 1) * n_high // n - place * n_high // n) for place in range(n)]


def as_pending(arms: Any, weights: Any, n_arms: int) -> list[tuple[int, float]]:
    """Check arms and weights of outcomes that are awaited.

    >>> as_pending([0, 2], [0.5, 1.0], 3)
    [(0, 0.5), (2, 1.0)]
    """
    given = [as_list(name, np.atleast_1d(values).tolist(), "be a list", RewardError)
             for name, values in (("arms", arms), ("weights", weights))]  # fmt: skip
    lengths = len(given[0]), len(given[1])
    require(lengths[0] == lengths[1], "arms and weights", "have one length", lengths, RewardError)
    pairs = []
    for place, (arm, weight) in enumerate(zip(*given, strict=True)):
        number = as_float(f"weights[{place}]", weight, RewardError)
        rule = "be above 0 and at most 1"
        require(0.0 < number <= 1.0, f"weights[{place}]", rule, weight, RewardError)
        pairs.append((as_arm(f"arms[{place}]", arm, n_arms), number))
    return pairs


def is_batch(value: Any) -> bool:
    """Whether a value is a batch: a sequence or an array with at least one dimension."""
    if isinstance(value, (int, float, str, bytes, bytearray)):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) or (
        hasattr(value, "__array__") and getattr(value, "ndim", 0) > 0
    )


def as_batch(
    arms: Any, rewards: Any, n_arms: int, reward_range: tuple[float, float]
) -> tuple[IntArray, FloatArray]:
    """Check arms and rewards of equal length, and map the rewards to the unit scale.

    >>> as_batch([0, 2], [5.0, 10.0], 3, (0.0, 10.0))
    (array([0, 2]), array([0.5, 1. ]))
    >>> as_batch([1], [12.0], 3, (0.0, 10.0))
    Traceback (most recent call last):
        ...
    globalbandits.errors.RewardError: reward[0] must lie in [0, 10], got 12.0
    """
    both = is_batch(arms) and is_batch(rewards)
    require(both, "arm and reward", "be two numbers or two batches", (arms, rewards), RewardError)
    indices, values = _as_array("arm", arms), _as_array("reward", rewards)
    lengths = indices.shape[0], values.shape[0]
    require(lengths[0] == lengths[1], "arm and reward", "have one length", lengths, RewardError)
    low, high = reward_range
    if indices.dtype.kind in "iu" and values.dtype.kind in "iuf":
        units = (values.astype(float) - low) / (high - low)
        good = (indices >= 0) & (indices < n_arms)
        good &= (units >= -_TOLERANCE) & (units <= 1.0 + _TOLERANCE)
        if good.all():
            return indices.astype(np.int64), np.clip(units, 0.0, 1.0)
    # Slow path: check each entry, to find the invalid one or to convert unusual types.
    pairs = [
        (as_arm(f"arm[{i}]", k, n_arms), as_unit(f"reward[{i}]", x, reward_range))
        for i, (k, x) in enumerate(zip(indices.tolist(), values.tolist(), strict=True))
    ]
    return (
        np.array([arm for arm, _ in pairs], np.int64),
        np.array([unit for _, unit in pairs], np.float64),
    )


def _as_array(name: str, values: Any) -> Any:
    """A batch as a one-dimensional array; of objects if the entries are not plain numbers."""
    try:
        array = np.asarray(values)
        mixed = not isinstance(values, np.ndarray) and any(type(x) is bool for x in values)
        if mixed or array.dtype.kind not in "iuf":  # NumPy would convert True to 1
            array = np.empty(len(values), dtype=object)
            array[:] = list(values)
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"{name} must be a sequence of numbers, got {values!r}") from None
    require(array.ndim == 1, name, "have one dimension", f"shape {array.shape}", RewardError)
    return array
