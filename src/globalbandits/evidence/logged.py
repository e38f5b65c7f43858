"""Evidence from logged data: what a learner would have known, without a learner."""

from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._rewards import as_batch, given_arm
from globalbandits.evidence import drift, histogram
from globalbandits.evidence.ledger import Evidence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from globalbandits.model import RewardModel

_N_MARKS = 40  # moments, evenly spaced in their logarithm, that a picture of the log can show


def evidence_from_log(
    model: "RewardModel",
    arms: "ArrayLike | None" = None,
    rewards: "ArrayLike | None" = None,
    *,
    arm_values: "Sequence[Any] | None" = None,
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
        arm_values: instead of the indices what the arms stand for, such as prices.
        bins: cells of the histogram, see `Evidence`.
        every: observations between copies of the histogram, see `Evidence`.

    >>> import globalbandits as gb
    >>> model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
    >>> found = gb.evidence_from_log(model, arms=[0, 1, 2, 2], rewards=[0.3, 0.3, 0.4, 0.2])
    >>> found.n_observations
    4
    """
    if arm_values is not None:
        arms = given_arm(arms, arm_values, model.arms, many=True)
    collected = Evidence(model, bins=bins, every=every)
    indices, units = as_batch(arms, rewards, model.n_arms, model.reward_range)
    start = 0
    for stop in np.unique(np.geomspace(1, max(1, indices.size), _N_MARKS).round()).astype(int):
        collected.add_many(indices[start:stop], units[start:stop])
        collected.mark()
        start = stop
    return collected
