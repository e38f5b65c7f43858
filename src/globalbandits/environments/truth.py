"""Truths: true means that do not come from the model, such as those of another family."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray
from globalbandits._validation import as_float, as_floats, require
from globalbandits.errors import ModelError, ScenarioError
from globalbandits.model import RewardModel, VectorModel

Truth = RewardModel | VectorModel | ArrayLike | Callable[[Any, Any], Any]

PROBE_TIMES = np.array([1, 2, 3, 1000])  # at which a function is checked in advance


def as_vector(name: str, model: VectorModel, theta: Any) -> tuple[float, ...]:
    """Check the numbers of a model, given as a dict or in order."""
    try:
        return tuple(model.as_theta(theta).tolist())
    except ModelError as error:
        raise ScenarioError(str(error).replace("theta", name, 1)) from None


def fixed_means(model: RewardModel | VectorModel, truth: Any, theta: Any) -> FloatArray:
    """Return the means of a truth, one per arm, in the units of the rewards.

    Args:
        model: the model that the policies know.
        truth: a model of the same arms, or an array of means.
        theta: parameter of a truth that is a model.
    """
    if isinstance(truth, RewardModel | VectorModel):
        same = truth.arms == model.arms
        require(same, "truth", f"have the arms {model.arms!r}", truth.arms, ScenarioError)
    if isinstance(truth, VectorModel):
        means = truth.means(theta)
    elif isinstance(truth, RewardModel):
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
    """Clip rounding errors of means, and raise if a mean is outside the reward range."""
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
    """Return the means of a truth that is a function of (time, arm): shape (n_times, n_arms).

    The function may take an array of times, or a single time.
    """
    table = np.empty((len(times), len(arms)))
    for column, arm in enumerate(arms):
        table[:, column] = _call(truth, times, arm)
    return check_means(table, reward_range)


def _call(truth: Callable[[Any, Any], Any], times: Any, arm: Any) -> FloatArray:
    try:
        found = np.asarray(truth(times, arm), np.float64)
    except (TypeError, ValueError):
        # The function is written for a single time, with `if time > 5` or `math.exp`.
        found = np.empty(0)
    if found.ndim == 0:
        return np.full(len(times), float(found))
    if found.shape == (len(times),):
        return found
    return np.array(
        [as_float("truth", truth(int(time), arm), ScenarioError) for time in times.tolist()]
    )


def check_function(model: RewardModel | VectorModel, truth: Callable[[Any, Any], Any]) -> None:
    """Call a function twice at a few times; raise if its means are invalid or differ."""
    first = means_over_time(truth, PROBE_TIMES, model.arms, model.reward_range)
    again = means_over_time(truth, PROBE_TIMES, model.arms, model.reward_range)
    rule = "be the same at every call"
    require(np.array_equal(first, again), "truth", rule, again.tolist(), ScenarioError)


def describe(model: RewardModel | VectorModel, truth: Any, theta: Any) -> Any:
    """Return a truth as plain values."""
    if isinstance(truth, VectorModel):
        return {"fingerprint": truth.fingerprint, "theta": truth.named(theta)}
    if isinstance(truth, RewardModel):
        return {"fingerprint": truth.fingerprint, "theta": theta}
    if callable(truth):
        probed = means_over_time(truth, PROBE_TIMES, model.arms, model.reward_range)
        return {"times": PROBE_TIMES.tolist(), "means": probed.tolist()}
    return {"means": [float(mean) for mean in truth]}
