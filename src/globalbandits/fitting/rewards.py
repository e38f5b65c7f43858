"""Rewards on the unit scale of their range, and whether they are coins."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import FitError

NEEDED = (
    "reward_range is needed for rewards that are not 0 or 1: "
    "the lowest and highest a reward can ever be"
)


class RewardScale:
    """Reads rewards block by block, and knows in the end what they were.

    Args:
        reward_range: The lowest and the highest a reward can be; None: they must be 0 or 1.
        dropna: Whether missing rewards are left out instead of refused.
    """

    def __init__(self, reward_range: tuple[float, float] | None, dropna: bool = False) -> None:
        self.given = reward_range is not None
        self.low, self.high = (0.0, 1.0) if reward_range is None else reward_range
        self.dropna = dropna
        self.dropped = 0
        self.binary = True

    @property
    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest a reward can be."""
        return self.low, self.high

    def keep(self, rewards: FloatArray, first_row: int) -> FloatArray:
        """The rewards on the unit scale; nan for those to be left out.

        ``first_row`` is the number of the block's first row, for messages.
        """
        missing = np.isnan(rewards)
        refused = np.isinf(rewards) if self.dropna else ~np.isfinite(rewards)
        if refused.any():
            row = int(np.argmax(refused))
            raise FitError(f"reward must be finite, row {first_row + row} has {rewards[row]:g}")
        self.dropped += int(missing.sum())
        at_ends = (rewards == self.low) | (rewards == self.high) | missing
        if not at_ends.all():
            if not self.given:
                raise FitError(NEEDED)
            self.binary = False
            outside = (rewards < self.low) | (rewards > self.high)
            if outside.any():
                row = int(np.argmax(outside))
                raise FitError(
                    f"reward must lie in [{self.low:g}, {self.high:g}], "
                    f"row {first_row + row} has {rewards[row]:g}: give reward_range=(low, high)"
                )
        return np.asarray((rewards - self.low) / (self.high - self.low))
