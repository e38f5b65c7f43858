"""Arms and rewards at the edge: checked, and rewards mapped to the unit scale."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, require
from globalbandits.errors import RewardError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel

_SLACK = 1e-12  # rounding may put a reward this far beyond an end of the range, on the unit scale


def as_arm(model: "RewardModel", arm: object) -> int:
    """The index of an arm."""
    index = as_integer("arm", arm, 0, RewardError)
    require(index < model.n_arms, "arm", f"be an index below {model.n_arms}", arm, RewardError)
    return index


def as_unit(model: "RewardModel", reward: object) -> float:
    """A reward in the model's units, on the unit scale."""
    low, high = model.reward_range
    unit = (as_float("reward", reward, RewardError) - low) / (high - low)
    inside = -_SLACK <= unit <= 1.0 + _SLACK
    require(inside, "reward", f"lie in [{low:g}, {high:g}]", reward, RewardError)
    return min(max(unit, 0.0), 1.0)


def as_log(
    model: "RewardModel", arms: "ArrayLike", rewards: "ArrayLike"
) -> tuple[IntArray, FloatArray]:
    """Arms and rewards of a log, checked, the rewards on the unit scale."""
    indices, values = np.asarray(arms), np.asarray(rewards)
    if indices.ndim != 1 or indices.shape != values.shape:
        raise RewardError(
            "arms and rewards must be two sequences of one length, "
            f"got shapes {indices.shape} and {values.shape}"
        )
    if indices.size == 0:
        return np.empty(0, np.int64), np.empty(0)
    if indices.dtype.kind not in "iu":
        raise RewardError(f"arms must be indices, got values of type {indices.dtype}")
    if values.dtype.kind not in "iuf":
        raise RewardError(f"rewards must be numbers, got values of type {values.dtype}")
    wrong = np.flatnonzero((indices < 0) | (indices >= model.n_arms))
    if wrong.size:
        at = int(wrong[0])
        raise RewardError(
            f"arms[{at}] must be an index below {model.n_arms}, got {int(indices[at])}"
        )
    low, high = model.reward_range
    units = (values.astype(float) - low) / (high - low)
    wrong = np.flatnonzero(~((units >= -_SLACK) & (units <= 1.0 + _SLACK)))
    if wrong.size:
        at = int(wrong[0])
        raise RewardError(
            f"rewards[{at}] must lie in [{low:g}, {high:g}], got {float(values[at])!r}"
        )
    return indices.astype(np.int64), np.clip(units, 0.0, 1.0)
