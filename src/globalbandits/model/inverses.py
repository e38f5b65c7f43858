"""Closed-form inverses that a user supplies, checked against the means."""

from typing import Any

import numpy as np

from globalbandits.errors import ModelError
from globalbandits.model.functions import ArmFunctions


def verify_inverse(
    inverse: ArmFunctions,
    observed: ArmFunctions,
    arms: tuple[Any, ...],
    domain: tuple[float, float],
    reward_range: tuple[float, float],
) -> None:
    """Raise a ModelError unless the inverse undoes the mean, up to rounding of the mean."""
    low, high = domain
    thetas = np.broadcast_to(np.linspace(low, high, 65), (len(arms), 65))
    every = np.arange(len(arms))[:, None]
    means = observed(every, thetas)
    found = inverse(every, means)
    back = observed(every, np.clip(found, low, high))
    scale = reward_range[1] - reward_range[0]
    wrong = ~(np.abs(found - thetas) <= 1e-9 * (high - low))
    wrong &= ~((np.abs(back - means) <= 1e-14 * scale) & (found >= low) & (found <= high))
    if wrong.any():
        arm, column = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
        raise ModelError(
            f"inverse of arm {arms[arm]!r} must undo its mean, "
            f"got {found[arm, column]:.6g} for the mean {means[arm, column]:.6g} "
            f"at theta = {thetas[arm, column]:.6g}"
        )
