"""What a learner has observed: checked at the edge, then counted per arm."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import RewardError

# Rounding may put a reward at an end of the range this far beyond it (on the unit scale).
_SLACK = 1e-12
_FORGET_SLACK = 1e-9  # rounding of a sum of many rewards


class Observations(NamedTuple):
    """Counts and sums of all rewards so far, on the unit scale; they add up over learners."""

    counts: IntArray  # (n_arms,)
    sums: FloatArray  # (n_arms,)


def no_observations(n_arms: int) -> Observations:
    """Nothing seen yet."""
    return Observations(np.zeros(n_arms, np.int64), np.zeros(n_arms))


def record(observed: Observations, arm: int, unit: float) -> None:
    """Count one reward on the unit scale."""
    observed.counts[arm] += 1
    observed.sums[arm] += unit


def take_back(observed: Observations, arm: int, unit: float) -> None:
    """Undo `record`; the sum stays one that rewards in [0, 1] can have."""
    left = observed.counts[arm] - 1
    observed.counts[arm] = left
    observed.sums[arm] = min(max(observed.sums[arm] - unit, 0.0), float(left))


def check_observed(observed: Observations, arm: int, unit: float, reward: object) -> None:
    """Refuse to take back a reward that cannot be among those of the arm."""
    left = int(observed.counts[arm]) - 1
    if left < 0:
        raise RewardError(f"arm must have a reward to forget, got {arm!r} with none")
    rest = float(observed.sums[arm]) - unit
    if not -_FORGET_SLACK <= rest <= left + _FORGET_SLACK:
        raise RewardError(
            f"reward must be one that arm {arm} has had, got {reward!r}: "
            f"the other {left} would be outside the range"
        )


def combine(observed: Observations, other: Observations) -> None:
    """Add another learner's observations."""
    observed.counts[:] += other.counts
    observed.sums[:] += other.sums


def as_pairs(
    arm: Any, reward: Any, n_arms: int, reward_range: tuple[float, float]
) -> list[tuple[int, float]]:
    """One (arm, unit reward) or several, all checked before any is used.

    >>> as_pairs([0, 2], [5.0, 10.0], 3, (0.0, 10.0))
    [(0, 0.5), (2, 1.0)]
    >>> as_pairs(1, 12.0, 3, (0.0, 10.0))
    Traceback (most recent call last):
        ...
    globalbandits.errors.RewardError: reward must lie in [0, 10], got 12.0
    """
    if not (_is_batch(arm) or _is_batch(reward)):
        return [(as_arm("arm", arm, n_arms), as_unit("reward", reward, reward_range))]
    both = _is_batch(arm) and _is_batch(reward)
    require(both, "arm and reward", "be two numbers or two batches", (arm, reward), RewardError)
    arms, rewards = list(arm), list(reward)
    lengths = len(arms), len(rewards)
    require(lengths[0] == lengths[1], "arm and reward", "have one length", lengths, RewardError)
    return [
        (as_arm(f"arm[{i}]", k, n_arms), as_unit(f"reward[{i}]", x, reward_range))
        for i, (k, x) in enumerate(zip(arms, rewards, strict=True))
    ]


def as_arm(name: str, value: Any, n_arms: int) -> int:
    """Value as the index of an arm."""
    if type(value) is int and 0 <= value < n_arms:  # the usual case, without a message to build
        return value
    arm = as_integer(name, value, 0, RewardError)
    require(arm < n_arms, name, f"be an index below {n_arms}", value, RewardError)
    return arm


def as_unit(name: str, value: Any, reward_range: tuple[float, float]) -> float:
    """Value as a reward, mapped from the range to [0, 1]."""
    low, high = reward_range
    number = value if type(value) is float else as_float(name, value, RewardError)
    unit = (number - low) / (high - low)
    if -_SLACK <= unit <= 1.0 + _SLACK:
        return min(max(unit, 0.0), 1.0)
    as_float(name, value, RewardError)  # nan and infinities have their own message
    raise RewardError(f"{name} must lie in [{low:g}, {high:g}], got {value!r}")


def _is_batch(value: Any) -> bool:
    if isinstance(value, (int, float, str)):
        return False
    return isinstance(value, Iterable) and getattr(value, "ndim", 1) > 0
