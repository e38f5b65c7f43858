"""Means that are checked at every evaluation of the analysis, not only on a grid."""

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.checks import flat_stretch
from globalbandits.model.curves import Evaluate

_MOST_POINTS = 4_000_000  # remembered; with thousands of arms there are more evaluations
_SLACK = 1e-9  # of the reward range: what rounding may exceed it by
_STEP_BACK = 1e-10  # of the reward range: more than rounding explains
_NARROWEST_FLAT = 1e-5  # of the domain
_EPS = float(np.finfo(float).eps)


class Recorder:
    """Means that are finite and in range wherever they are evaluated; otherwise an error.

    Args:
        observed: ``observed(arms, thetas)``, elementwise, in the user's units.
        reward_range: The interval means must lie in.
        names: What messages call each arm's mean.
        monotone: Whether to remember the places for `check_monotone`.
    """

    def __init__(
        self,
        observed: Evaluate,
        reward_range: tuple[float, float],
        names: list[str],
        monotone: bool = True,
    ) -> None:
        self._observed = observed
        self._range = reward_range
        self._names = names
        self._seen: list[tuple[FloatArray, FloatArray, FloatArray]] = []
        self._n_left = _MOST_POINTS if monotone else 0

    def __call__(self, arms: IntArray, thetas: FloatArray) -> FloatArray:
        """The means, which are then known to be usable."""
        values = self._observed(arms, thetas)
        if values.size == 0:
            return values
        low, high = self._range
        slack = _SLACK * (high - low)
        # One comparison for all: nan fails it too.
        if not (values.min() >= low - slack and values.max() <= high + slack):
            self._refuse(arms, thetas, values)
        if self._n_left > 0:
            self._n_left -= values.size
            # Copies: searches reuse the arrays that they pass.
            places = np.empty((2, values.size))
            places[0].reshape(values.shape)[...] = arms
            places[1].reshape(values.shape)[...] = thetas
            self._seen.append((places[0], places[1], values.flatten()))
        return values

    def _refuse(self, arms: IntArray, thetas: FloatArray, values: FloatArray) -> None:
        low, high = self._range
        slack = _SLACK * (high - low)
        wrong = ~((values >= low - slack) & (values <= high + slack))
        place = tuple(np.argwhere(wrong)[0])
        if (~np.isfinite(values)).any():
            place = tuple(np.argwhere(~np.isfinite(values))[0])
        name = self._names[int(np.broadcast_to(arms, values.shape)[place])]
        theta = float(np.broadcast_to(thetas, values.shape)[place])
        if not np.isfinite(values[place]):
            raise ModelError(f"{name} must be finite, got {values[place]} at theta = {theta:.6g}")
        raise ModelError(
            f"{name} must lie in the reward range [{low:g}, {high:g}], "
            f"got {values[place]:.6g} at theta = {theta:.6g}"
        )

    def check_monotone(self) -> None:
        """Refuse an arm that steps back or stands still between places it was looked at."""
        if not self._seen:
            return
        arm, theta, mean = (np.concatenate([part[k] for part in self._seen]) for k in range(3))
        self._seen.clear()
        order = np.lexsort((theta, arm))
        arm, theta, mean = arm[order], theta[order], mean[order]
        first = np.flatnonzero(np.append(True, arm[1:] != arm[:-1]))
        last = np.append(first[1:], arm.size) - 1
        direction = np.repeat(np.sign(mean[last] - mean[first]), last - first + 1)
        low, high = self._range
        slack = max(_STEP_BACK * (high - low), 256.0 * _EPS * max(abs(low), abs(high)))
        step = np.diff(mean)
        same = arm[1:] == arm[:-1]
        back = same & (direction[1:] * step < -slack)
        if back.any():
            at = int(np.argmax(back))
            raise ModelError(
                f"{self._names[int(arm[at])]} must be strictly monotone in theta, "
                f"turns at theta = {theta[at]:.6g}"
            )
        still = same & (step == 0.0) & (np.diff(theta) > 0.0)
        length = theta[last].max() - theta[first].min()
        for start, stop in zip(first, last, strict=True):
            flat = still[start:stop]
            if flat.any():
                places, means = theta[start : stop + 1], mean[start : stop + 1]
                stretch = flat_stretch(flat, means, places, _NARROWEST_FLAT * length)
                if stretch is not None:
                    raise ModelError(
                        f"{self._names[int(arm[start])]} must be strictly monotone in theta, is "
                        f"flat from theta = {places[stretch[0]]:.6g} to {places[stretch[1]]:.6g}"
                    )


def unit_means(observed: Evaluate, reward_range: tuple[float, float]) -> Evaluate:
    """The means on the unit scale."""
    low, high = reward_range

    def unit_mean(arms: IntArray, thetas: FloatArray) -> FloatArray:
        return np.clip((observed(arms, thetas) - low) / (high - low), 0.0, 1.0)

    return unit_mean
