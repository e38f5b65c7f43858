"""Evidence from logged data: what a learner would have known, without a learner."""

from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.errors import RewardError
from globalbandits.evidence import drift, histogram
from globalbandits.evidence.ledger import Evidence

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel


def evidence(
    model: "RewardModel",
    arms: "ArrayLike",
    rewards: "ArrayLike",
    *,
    bins: int = histogram.DEFAULT_BINS,
    every: int = drift.EVERY,
) -> Evidence:
    """Evidence from a log of plays, in the order they happened.

    Only `Evidence.drift` depends on the order. The rule that chose the arms does not matter,
    as long as it did not see a reward before choosing the arm it was paid for.

    Args:
        model: the reward model.
        arms: index of the arm of each play.
        rewards: reward of each play, in the model's units.
        bins: cells of the histogram, see `Evidence`.
        every: observations between copies of the histogram, see `Evidence`.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> found = gb.evidence(model, arms=[0, 1, 2, 2], rewards=[0.3, 0.3, 0.4, 0.2])
    >>> found.n_observations
    4
    """
    collected = Evidence(model, bins=bins, every=every)
    indices, units = as_log(model, arms, rewards)
    collected.add_many(indices, units)
    return collected


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
    wrong = np.flatnonzero(~((units >= -1e-12) & (units <= 1.0 + 1e-12)))
    if wrong.size:
        at = int(wrong[0])
        raise RewardError(
            f"rewards[{at}] must lie in [{low:g}, {high:g}], got {float(values[at])!r}"
        )
    return indices.astype(np.int64), np.clip(units, 0.0, 1.0)
