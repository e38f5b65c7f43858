"""What really pays, where that is not the model at some theta: another family, or any means."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_floats, require
from globalbandits.errors import ScenarioError
from globalbandits.model import RewardModel

Truth = RewardModel | ArrayLike | Callable[[Any, Any], Any]

_PROBES = np.array([1, 2, 3, 1000])  # times at which a function is looked at in advance


def fixed_means(model: RewardModel, truth: Any, theta: object) -> FloatArray:
    """The means a truth pays, one per arm, in the units of the rewards.

    Args:
        model: what the policies know.
        truth: a model of the same arms, or an array of means.
        theta: of the truth, where it is a model.
    """
    if isinstance(truth, RewardModel):
        same = truth.arms == model.arms
        require(same, "truth", f"have the arms {model.arms!r}", truth.arms, ScenarioError)
        rule = "be given with a truth that is a model"
        require(theta is not None, "truth_theta", rule, theta, ScenarioError)
        number = as_float("truth_theta", theta, ScenarioError)
        low, high = truth.domain
        rule = f"lie in the truth's domain [{low:g}, {high:g}]"
        require(low <= number <= high, "truth_theta", rule, theta, ScenarioError)
        means = truth.means(number)
    else:
        means = np.array(as_floats("truth", truth, ScenarioError))
        rule = f"be {model.n_arms} means, one per arm"
        require(means.shape == (model.n_arms,), "truth", rule, truth, ScenarioError)
    return check_means(means, model.reward_range)


def check_means(means: FloatArray, reward_range: tuple[float, float]) -> FloatArray:
    """Refuse means that no reward can have; rounding beyond the ends is cut off."""
    low, high = reward_range
    slack = 1e-9 * (high - low)
    bad = ~((means >= low - slack) & (means <= high + slack))
    rule = f"have means in the reward range [{low:g}, {high:g}]"
    require(not bad.any(), "truth", rule, float(means[bad][0]) if bad.any() else 0, ScenarioError)
    return np.clip(means, low, high)


def means_over_time(
    truth: Callable[[Any, Any], Any],
    times: Any,
    arms: tuple[Any, ...],
    reward_range: tuple[float, float],
) -> FloatArray:
    """Means of a truth that is a function of (time, arm): shape (n_times, n_arms).

    The function may take an array of times, or one time after the other.
    """
    table = np.empty((len(times), len(arms)))
    for column, arm in enumerate(arms):
        table[:, column] = _call(truth, times, arm)
    return check_means(table, reward_range)


def _call(truth: Callable[[Any, Any], Any], times: Any, arm: Any) -> FloatArray:
    try:
        found = np.asarray(truth(times, arm), np.float64)
    except (TypeError, ValueError):  # written for one time: `if time > 5`, math.exp
        found = np.empty(0)
    if found.ndim == 0:
        return np.full(len(times), float(found))
    if found.shape == (len(times),):
        return found
    return np.array(
        [as_float("truth", truth(int(time), arm), ScenarioError) for time in times.tolist()]
    )


def check_function(model: RewardModel, truth: Callable[[Any, Any], Any]) -> None:
    """Look at a function at a few times, twice."""
    first = means_over_time(truth, _PROBES, model.arms, model.reward_range)
    again = means_over_time(truth, _PROBES, model.arms, model.reward_range)
    rule = "be the same at every call"
    require(np.array_equal(first, again), "truth", rule, again.tolist(), ScenarioError)


def describe(model: RewardModel, truth: Any, theta: float | None) -> Any:
    """A truth as plain values."""
    if isinstance(truth, RewardModel):
        return {"fingerprint": truth.fingerprint, "theta": theta}
    if callable(truth):
        probed = means_over_time(truth, _PROBES, model.arms, model.reward_range)
        return {"times": _PROBES.tolist(), "means": probed.tolist()}
    return {"means": [float(mean) for mean in truth]}
