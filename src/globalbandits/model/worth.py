"""What each arm's decision is worth at a parameter: the value of its mean, and its last digits."""

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.curves import Evaluate

_EPS = float(np.finfo(float).eps)


class Worth:
    """The value of every arm's mean as a function of the parameter, in the user's units.

    Args:
        observed: The arms' means.
        value: The arms' values as functions of the mean; None where a mean is its own worth.
        reward_range: The interval means lie in; values are asked for nowhere else.
    """

    def __init__(
        self,
        observed: Evaluate,
        value: Evaluate | None,
        reward_range: tuple[float, float],
    ) -> None:
        self._observed = observed
        self._value = value
        self._range = reward_range

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """Worth of the given arms at the given parameters; both are broadcast together."""
        means = self._observed(arms, thetas)
        return means if self._value is None else self._value(arms, np.clip(means, *self._range))

    def with_rounding(self, arms: IntArray, thetas: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Worth, and the size of its rounding error.

        The last digits of a mean may be lost before it is valued: near a target a worth of
        almost nothing is the difference of two larger numbers.
        """
        means = self._observed(arms, thetas)
        if self._value is None:
            return means, 4.0 * _EPS * np.abs(means)
        means = np.clip(means, *self._range)
        worth = self._value(arms, means)
        return worth, value_rounding(self._value, arms, means, worth, self._range)


def value_rounding(
    value: Evaluate,
    arms: IntArray,
    means: FloatArray,
    worth: FloatArray,
    reward_range: tuple[float, float],
) -> FloatArray:
    """How far the values of means would be off if the means were, by a few last digits."""
    step = 4.0 * _EPS * np.abs(means)
    above = value(arms, np.clip(means + step, *reward_range))
    below = value(arms, np.clip(means - step, *reward_range))
    moved = np.maximum(np.abs(above - worth), np.abs(below - worth))
    return np.maximum(4.0 * _EPS * np.abs(worth), moved)
