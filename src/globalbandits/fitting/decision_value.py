"""`Worth`: what a decision is worth, as a function of its arm's mean reward."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, require
from globalbandits.errors import FitError
from globalbandits.fitting.panel.rows import is_number
from globalbandits.model.analysis.functions import as_value
from globalbandits.model.formulas import Expression
from globalbandits.model.objectives import Profit

Value = Callable[..., Any] | str
Offset = float | Mapping[Any, float] | Callable[[Any], float]


class Worth:
    """``value(mean, arm) + offset`` of every arm, from means on the unit scale.

    Args:
        arms: The arms' values.
        reward_range: The lowest and the highest possible reward: 0 and 1 of the unit scale.
        value: ``value(mean, arm)``, with the mean in the rewards' own units, or a formula of
            these two; None for the mean itself.
        offset: Added to the value: one number, ``offset(arm)``, or a dict by arm.
        cost: Short for ``value=lambda mean, arm: (arm - cost) * mean``.
    """

    def __init__(
        self,
        arms: Sequence[Any],
        reward_range: tuple[float, float],
        *,
        value: Value | None = None,
        offset: Offset | None = None,
        cost: float | None = None,
    ) -> None:
        if cost is not None:
            require(value is None, "value", "be left out where cost is given", value, FitError)
            value = _profit(arms, cost)
        if isinstance(value, str):
            value = Expression(value, ("mean", "arm"), "value")
            value.check_arms(tuple(arms))
        rule = "be a function or a formula"
        require(value is None or callable(value), "value", rule, value, FitError)
        self.arms = tuple(arms)
        self.reward_range = reward_range
        self.value: Callable[..., Any] | None = value
        bound = as_value(value)
        self._valued = None if bound is None else bound.bind(self.arms, "value", *reward_range)
        self.offsets = np.array([_offset_of(arm, offset) for arm in arms])

    @property
    def cost(self) -> float | None:
        """The cost of a unit, if worth is the profit of sales."""
        return self.value.cost if isinstance(self.value, Profit) else None

    @property
    def plain(self) -> bool:
        """Whether the worth of an arm is its mean."""
        return self.value is None and not self.offsets.any()

    def __call__(self, means: FloatArray) -> FloatArray:
        """Return the worth of means on the unit scale: shape (..., n_arms)."""
        low, high = self.reward_range
        observed = low + (high - low) * means
        if self._valued is not None:
            observed = self._valued(np.arange(len(self.arms)), observed)
        return np.asarray(observed + self.offsets)

    def slopes(self, curves: FloatArray, weights: FloatArray) -> FloatArray:
        """Return |v_k|: the change of worth per unit of the mean, rms over the population."""
        step = 1e-3
        above, below = np.minimum(curves + step, 1.0), np.maximum(curves - step, 0.0)
        slope = (self(above) - self(below)) / (above - below)
        return np.asarray(np.sqrt(weights @ slope**2))

    def check(self) -> None:
        """Refuse values that are not finite, and arms whose worth does not depend on the mean."""
        probes = np.linspace(0.0, 1.0, 11)[:, None].repeat(len(self.arms), axis=1)
        worth = self(probes)
        for place, arm in enumerate(self.arms):
            column = worth[:, place]
            require(
                bool(np.isfinite(column).all()), f"value of arm {arm!r}", "be finite",
                column.tolist(), FitError,
            )  # fmt: skip
            if np.ptp(column) == 0.0:
                raise FitError(
                    f"value of arm {arm!r} must not be 0: its profit would not depend on sales"
                )

    def falling(self) -> list[Any]:
        """Return the arms whose worth falls with their mean."""
        ends = self(np.array([[0.0], [1.0]]).repeat(len(self.arms), axis=1))
        return [arm for arm, low, high in zip(self.arms, *ends, strict=True) if high < low]


def _profit(arms: Sequence[Any], cost: object) -> Profit:
    number = as_float("cost", cost, FitError)
    require(number >= 0.0, "cost", "be at least 0", cost, FitError)
    for arm in arms:
        require(is_number(arm), "arms", "be numbers where cost is given", arm, FitError)
    return Profit(number)


def _offset_of(arm: Any, offset: Offset | None) -> float:
    if offset is None:
        return 0.0
    if isinstance(offset, Mapping):
        require(arm in offset, "offset", f"have the arm {arm!r}", sorted(offset), FitError)
        return as_float(f"offset of arm {arm!r}", offset[arm], FitError)
    if callable(offset):
        return as_float(f"offset of arm {arm!r}", offset(arm), FitError)
    return as_float("offset", offset, FitError)
