"""Theorem 8: regret bounds for non-stationary WAGP with a drifting parameter."""

import math

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel
from globalbandits.theory.holder_constants import as_times, constants


def average_regret_under_drift(
    model: RewardModel, drift_time: ArrayLike, half_window: int | None = None
) -> FloatArray:
    """Theorem 8: a bound on the average regret per decision, for every horizon.

    With the theorem's half window ``h = tau**(g2 / (g2 + 1/2))``, the bound is as printed:
    ``1/h + (2 D2 D1bar**g2 [(pi K)**(g1bar/2) + 2 D2**g1bar])**g2
    tau**(-g2**2 g1bar / (1 + 2 g2))``.

    With another half window, the bound is the last line of the proof before the rate is
    inserted: ``1/h + 2 D2 (D1bar [(pi K / h)**(g1bar/2) +
    2 D2**g1bar (2 h / tau)**(g1bar g2)])**g2``. It has a factor ``2**(g1bar g2)`` that the printed
    bound drops, and its factor ``2 D2`` is outside the power.

    With a value function, the second term gets its Lipschitz constant as a factor.

    Args:
        model: The analysed reward model.
        drift_time: tau, a number or an array. The parameter changes by at most 1 / tau per step.
        half_window: h; None for the theorem's half window.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> bound = average_regret_under_drift(pair, [1e3, 1e6, 1e9])
    >>> [round(value, 4) for value in bound.tolist()]
    [0.9113, 0.0902, 0.009]
    >>> round(average_regret_under_drift(pair, 1e6, half_window=10_000).item(), 4)
    0.1302
    """
    c = constants(model)
    tau = np.asarray(drift_time, dtype=np.float64) * c.domain_length
    require(bool(np.all(tau > 0.0)), "drift_time", "be positive", drift_time, ScenarioError)
    g1, g2 = c.inverse_exponent, c.exponent
    if half_window is None:
        noise = (math.pi * c.n_arms) ** (0.5 * g1) + 2.0 * c.constant**g1
        factor = (2.0 * c.constant * c.inverse_constant**g2 * noise) ** g2
        first = tau ** (-g2 / (g2 + 0.5))
        later = factor * tau ** (-(g2**2) * g1 / (1.0 + 2.0 * g2))
    else:
        h = as_integer("half_window", half_window, 1, ScenarioError)
        noise = (math.pi * c.n_arms / h) ** (0.5 * g1)
        shift = 2.0 * c.constant**g1 * (2.0 * h / tau) ** (g1 * g2)
        first = np.full(tau.shape, 1.0 / h)
        later = 2.0 * c.constant * (c.inverse_constant * (noise + shift)) ** g2
    return np.asarray(c.worth_length * first + c.value_length * later)


def regret_under_drift(
    model: RewardModel,
    drift_time: float,
    times: ArrayLike,
    half_window: int | None = None,
) -> FloatArray:
    """Theorem 8 times T: a bound on the cumulative regret of non-stationary WAGP.

    Args:
        model: The analysed reward model.
        drift_time: tau. The parameter changes by at most 1 / tau per step.
        times: T, a number or an array, at least 1.
        half_window: h; None for the theorem's half window.

    >>> from globalbandits.model import RewardModel
    >>> pair = RewardModel.from_functions([lambda x: x, lambda x: 1 - x])
    >>> [round(value, 1) for value in regret_under_drift(pair, 1e6, [1, 10_000]).tolist()]
    [0.1, 902.3]
    """
    return as_times(times) * average_regret_under_drift(model, drift_time, half_window)
