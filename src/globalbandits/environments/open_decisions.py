"""`Pending`: the decisions that wait for their rewards, and the weights of their outcomes."""

from collections.abc import Hashable
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_integer, as_positive, require
from globalbandits.environments.delay import Delay
from globalbandits.errors import RewardError

# A learned law needs this many reported rewards.
MIN_DELAYS = 20


class Waiting(NamedTuple):
    """A decision without a reward: its arm, and when it was made."""

    arm: int
    at: float


class Pending:
    """Decisions that wait for their rewards, with a law of the delay.

    Add every decision, and close it when its reward is learned. `weights` gives the arms and
    weights for `Learner.set_pending`: the probability that a reward of 1 would have been reported
    at the decision's age. Times are numbers in any unit.

    Args:
        delay: the law of the delay, in your unit of time, such as ``UniformDelay(28)``. None to
            learn it from the delays of rewards that were reported; see `learned_chance`.
        window: the age at which a decision without a reward counts as a 0; needed to learn a law.

    >>> from globalbandits.environments import UniformDelay
    >>> pending = Pending(UniformDelay(28, deadline=28))
    >>> pending.add("patient 1", arm=2, at=0)
    >>> pending.add("patient 2", arm=3, at=14)
    >>> pending.weights(21)
    (array([2, 3]), array([0.75, 0.25]))
    >>> pending.close("patient 1", at=22)
    >>> pending.weights(21 + 7)
    (array([3]), array([0.5]))
    """

    def __init__(self, delay: Delay | None = None, *, window: float | None = None) -> None:
        rule = "be a Delay such as UniformDelay(28), or None to learn it"
        valid = delay is None or isinstance(delay, Delay)
        require(valid, "delay", rule, delay, RewardError)
        rule = "be given to learn the law of the delay, and only then"
        require((window is None) == (delay is not None), "window", rule, window, RewardError)
        self._delay = delay
        self._window = 0.0 if window is None else as_positive("window", window, RewardError)
        self._waiting: dict[Hashable, Waiting] = {}
        self._decided: list[float] = []  # of closed decisions with a reward of 1
        self._delays: list[float] = []

    def __len__(self) -> int:
        """The number of decisions without a reward."""
        return len(self._waiting)

    def add(self, key: Hashable, arm: int, at: float) -> None:
        """Add a decision, under a key of yours."""
        require(key not in self._waiting, "key", "be new", key, RewardError)
        arm = as_integer("arm", arm, 0, RewardError)
        self._waiting[key] = Waiting(arm, as_float("at", at, RewardError))

    def close(self, key: Hashable, at: float, happened: bool = True) -> None:
        """Remove a decision whose reward has been learned.

        Args:
            key: the key of the decision.
            at: when the reward was reported.
            happened: whether the reward was 1. Only then its delay belongs to the law.
        """
        require(key in self._waiting, "key", "be one that waits", key, RewardError)
        at = as_float("at", at, RewardError)
        decided = self._waiting[key].at
        require(at >= decided, "at", f"be at least {decided:g}, the decision's", at, RewardError)
        del self._waiting[key]
        if happened:
            self._decided.append(decided)
            self._delays.append(at - decided)

    def weights(self, now: float) -> tuple[IntArray, FloatArray]:
        """Return arms and weights of the decisions that wait; those of weight 0 are left out."""
        now = as_float("now", now, RewardError)
        arms = np.array([waiting.arm for waiting in self._waiting.values()], np.int64)
        ages = now - np.array([waiting.at for waiting in self._waiting.values()])
        if self._delay is not None:
            chances = self._delay.chance(ages, arms)
        elif len(self._delays) < MIN_DELAYS:
            chances = np.where(ages >= self._window, 1.0, 0.0)
        else:
            limits = np.minimum(now - np.array(self._decided), self._window)
            chances = learned_chance(np.array(self._delays), limits, ages)
            chances = np.where(ages >= self._window, 1.0, chances)
        positive = chances > 0.0
        return arms[positive], np.minimum(chances[positive], 1.0)


def learned_chance(delays: FloatArray, limits: FloatArray, ages: FloatArray) -> FloatArray:
    """Return the distribution function of delays that were observed only below a limit each.

    A reward with a delay above the age of its decision has not been reported yet, so that short
    delays are overrepresented. The product-limit estimate in reversed time corrects this: for
    right-truncated data ``F(x)`` is the product over delays ``y > x`` of ``1 - d(y) / n(y)``, where
    d counts the delays equal to y and n those with ``delay <= y <= limit`` (Lagakos, Barraj and De
    Gruttola 1988). It is 1 at the longest delay observed.

    Args:
        delays: the delays of reported rewards.
        limits: the ages that their decisions have now.
        ages: where to evaluate the function.
    """
    inside = delays <= limits
    delays, limits = delays[inside], limits[inside]
    values = np.unique(delays)
    deaths = np.array([(delays == value).sum() for value in values])
    at_risk = np.array([((delays <= value) & (limits >= value)).sum() for value in values])
    survival = np.cumprod((1.0 - deaths / at_risk)[::-1])[::-1]
    # chances[i] is F just below values[i]; the last one is F at the longest delay.
    chances = np.append(survival, 1.0)
    return np.asarray(chances[np.searchsorted(values, ages, side="right")])
