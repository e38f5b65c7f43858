"""What the arms' values say: an order, a distance, or nothing."""

import math
import numbers
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray

WIDE = 4.0  # arms whose values span more than this ratio are compared by their logarithms


class ArmScale(NamedTuple):
    """Where the arms lie on a line, and what differs from a straight line over it."""

    places: FloatArray | None  # (n_arms,) standardised; None: arms are labels
    logarithmic: bool
    bends: FloatArray  # (n_arms, n_arms) projection on what is not constant or straight
    n_bends: int  # its rank: n_arms - 2, or n_arms - 1 for labels

    @property
    def ordered(self) -> bool:
        """Whether the arms have values."""
        return self.places is not None


def arm_scale(arms: Sequence[Any], labels: bool = False) -> ArmScale:
    """The scale of the arms: their values if they are numbers, by logarithm if they span much.

    Args:
        arms: Values or labels, one per arm.
        labels: Whether to take numbers for labels too.

    >>> arm_scale([0.5, 1, 2, 4, 8]).logarithmic, arm_scale(["a", "b", "c"]).ordered
    (True, False)
    """
    n_arms = len(arms)
    constant = np.ones((n_arms, 1))
    if labels or not all(is_number(arm) for arm in arms) or n_arms < 2:
        bends = np.eye(n_arms) - constant @ constant.T / n_arms
        return ArmScale(None, False, bends, n_arms - 1)
    values = np.array([float(arm) for arm in arms])
    logarithmic = bool(values.min() > 0 and values.max() > WIDE * values.min())
    places = np.log(values) if logarithmic else values
    places = (places - places.mean()) / places.std()
    design = np.column_stack([constant, places])
    bends = np.eye(n_arms) - design @ np.linalg.pinv(design)
    return ArmScale(places, logarithmic, bends, n_arms - 2)


def is_number(arm: Any) -> bool:
    """Whether an arm's value is a finite real number; booleans are labels."""
    real = isinstance(arm, numbers.Real) and not isinstance(arm, bool)
    return real and math.isfinite(float(arm))
