"""Choosing the arm with the largest index, and the worth of arms in models with a value."""

import math

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.tables import Tables, evaluate, find_cell, largest_value
from globalbandits.model.vector_tables import VectorTables

# The largest of several indices, ties at random.
#
# These functions find the largest value and the number of arms that have it without a branch that
# depends on the values, because a processor cannot predict such branches. Among ties, a second
# pass finds the one that a random number has drawn. Nothing is allocated.


def choose_largest(values: FloatArray, rng: np.random.Generator) -> int:
    """Return the position of the largest value, ties at random.

    >>> choose_largest(np.array([0.2, 0.7, 0.5]), np.random.default_rng(0))
    1
    """
    best = 0
    largest = -math.inf
    n_best = 0
    for arm in range(values.shape[0]):
        value = values[arm]
        best = arm if value > largest else best
        n_best = 1 if value > largest else n_best + (value == largest)
        largest = max(largest, value)
    if n_best > 1:
        skip = int(rng.random() * n_best)
        for arm in range(values.shape[0]):
            if values[arm] == largest:
                if skip == 0:
                    return arm
                skip -= 1
    return best


def choose_upper_bound(
    means: FloatArray, widths: FloatArray, bonus: float, rng: np.random.Generator
) -> int:
    """Return the position of the largest ``means + bonus * widths``, ties at random.

    >>> means, widths = np.array([0.5, 0.4]), np.array([0.1, 0.5])
    >>> choose_upper_bound(means, widths, 1.0, np.random.default_rng(0))
    1
    """
    best = 0
    largest = -math.inf
    n_best = 0
    for arm in range(means.shape[0]):
        value = means[arm] + bonus * widths[arm]
        best = arm if value > largest else best
        n_best = 1 if value > largest else n_best + (value == largest)
        largest = max(largest, value)
    if n_best > 1:
        skip = int(rng.random() * n_best)
        for arm in range(means.shape[0]):
            if means[arm] + bonus * widths[arm] == largest:
                if skip == 0:
                    return arm
                skip -= 1
    return best


# Choosing among some arms. ``offered`` holds their indices in increasing order, at least one.


def choose_offered(values: FloatArray, offered: IntArray, rng: np.random.Generator) -> int:
    """Return the offered arm with the largest value, ties at random; ``values`` has all arms.

    >>> choose_offered(np.array([0.2, 0.7, 0.5]), np.array([0, 2]), np.random.default_rng(0))
    2
    """
    best = int(offered[0])
    largest = -math.inf
    n_best = 0
    for i in range(offered.shape[0]):
        value = values[offered[i]]
        best = int(offered[i]) if value > largest else best
        n_best = 1 if value > largest else n_best + (value == largest)
        largest = max(largest, value)
    if n_best > 1:
        skip = int(rng.random() * n_best)
        for i in range(offered.shape[0]):
            if values[offered[i]] == largest:
                if skip == 0:
                    return int(offered[i])
                skip -= 1
    return best


def choose_any(offered: IntArray, rng: np.random.Generator) -> int:
    """Return a random offered arm."""
    return int(offered[int(rng.random() * offered.shape[0])])


def is_offered(offered: IntArray, arm: int) -> bool:
    """Whether an arm is offered, by bisection.

    >>> [is_offered(np.array([1, 4]), arm) for arm in range(6)]
    [False, True, False, False, True, False]
    """
    low, high = 0, offered.shape[0]
    while low < high:
        probe = (low + high) // 2
        if offered[probe] < arm:
            low = probe + 1
        else:
            high = probe
    return bool(low < offered.shape[0] and offered[low] == arm)


def choose_best_offered(
    tables: Tables, theta: float, offered: IntArray, rng: np.random.Generator
) -> int:
    """Return the offered arm that is worth most at theta, ties at random."""
    envelope = tables.envelope
    cell = find_cell(envelope, theta)
    start, end = envelope.starts[cell], envelope.starts[cell + 1]
    n_best = 0
    for at in range(start, end):
        n_best += is_offered(offered, envelope.arms[at])
    if n_best > 0:
        skip = int(rng.random() * n_best) if n_best > 1 else 0
        for at in range(start, end):
            if is_offered(offered, envelope.arms[at]):
                if skip == 0:
                    return int(envelope.arms[at])
                skip -= 1
    worths = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        worths[i] = evaluate(tables.worth, offered[i], theta)
    return int(offered[choose_largest(worths, rng)])


def choose_bound_offered(
    tables: Tables,
    means: FloatArray,
    shift: float,
    widths: FloatArray,
    bonus: float,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """Return the offered arm of `choose_by_worth`, which explains the other arguments."""
    bounds = np.empty(offered.shape[0])
    for i in range(offered.shape[0]):
        arm = offered[i]
        if tables.valued:
            bounds[i] = bound_of(tables, means, shift, widths, bonus, arm)
        else:
            bounds[i] = means[arm] + bonus * widths[arm]
    return int(offered[choose_largest(bounds, rng)])


# The worth of arms, given their means or bounds of their means, for models with a value.
#
# For a model without a value every function returns the mean or bound itself. Means are on the
# unit reward scale, results on the unit scale of worth. A mean or a bound may lie outside [0, 1].
# A value that rises linearly for every arm is extended there, so that a policy decides as it would
# with rescaled rewards. Any other value is constant outside [0, 1].

# Factor of the worth of an interval's middle, which orders arms with equal largest worths.
TIE_BREAKER = 1e-9
_BISECTIONS = 40


def worth_of(tables: Tables | VectorTables, arm: int, mean: float) -> float:
    """Return what a decision for the arm is worth if its mean is ``mean``.

    >>> from globalbandits.model import demand
    >>> worth_of(demand.linear([0.4, 0.8], cost=0.3).tables, 1, 0.5)
    0.5
    """
    if not tables.valued:
        return mean
    if tables.affine_increasing:
        return float(tables.value_slope[arm] * mean + tables.value_offset[arm])
    return evaluate(tables.value, arm, mean)


def worth_within(tables: Tables | VectorTables, arm: int, low: float, high: float) -> float:
    """Return the most a decision for the arm can be worth if its mean lies in [low, high].

    The intervals of several arms may contain the peak of a value, such as a target. Their largest
    worths would then be equal. So a tiny multiple of the worth of the interval's middle is added,
    which prefers the arm that is likelier to be at the peak.

    >>> from globalbandits.model import dose
    >>> trial = dose.power([0.1, 0.3], target=0.25).tables
    >>> worth_within(trial, 0, 0.0, 0.1) < worth_within(trial, 0, 0.1, 0.9)
    True
    """
    if not tables.valued:
        return high
    if tables.affine_increasing:
        return float(tables.value_slope[arm] * high + tables.value_offset[arm])
    middle = evaluate(tables.value, arm, 0.5 * (low + high))
    return largest_value(tables, arm, low, high) + TIE_BREAKER * middle


def choose_by_worth(
    tables: Tables,
    means: FloatArray,
    shift: float,
    widths: FloatArray,
    bonus: float,
    rng: np.random.Generator,
) -> int:
    """Return the arm that can be worth most with a mean within ``bonus * width`` of its own.

    An arm's own mean is ``means - shift``. Ties are broken at random. Without a value this is the
    arm with the largest ``means + bonus * widths``.
    """
    if not tables.valued:
        return choose_upper_bound(means, widths, bonus, rng)
    best = 0
    largest = -math.inf
    n_best = 0
    for arm in range(means.shape[0]):
        value = bound_of(tables, means, shift, widths, bonus, arm)
        best = arm if value > largest else best
        n_best = 1 if value > largest else n_best + (value == largest)
        largest = max(largest, value)
    if n_best > 1:
        skip = int(rng.random() * n_best)
        for arm in range(means.shape[0]):
            if bound_of(tables, means, shift, widths, bonus, arm) == largest:
                if skip == 0:
                    return arm
                skip -= 1
    return best


def bound_of(
    tables: Tables, means: FloatArray, shift: float, widths: FloatArray, bonus: float, arm: int
) -> float:
    """Return the most one arm can be worth, by its mean and width."""
    mean, width = means[arm] - shift, bonus * widths[arm]
    return worth_within(tables, arm, mean - width, mean + width)


def largest_bound(
    tables: Tables, means: FloatArray, shift: float, widths: FloatArray, bonus: float
) -> float:
    """Return the largest bound of all arms, for explanations. Not compiled."""
    arms = range(tables.n_arms)
    return max(bound_of(tables, means, shift, widths, bonus, arm) for arm in arms)


def nearest_below(tables: Tables, arm: int, mean: float, worth: float) -> float:
    """Return the largest mean in [0, mean] that is worth at least ``worth``; -1 if there is none.

    The mean itself must be worth less. To its left, the value can rise only towards a peak or
    towards 0. The result lies between the first of these points that is worth enough and the
    point before it.
    """
    if tables.affine_increasing:
        return -1.0
    outer = mean
    for index in range(tables.peaks.starts[arm + 1] - 1, tables.peaks.starts[arm] - 1, -1):
        peak = float(tables.peaks.positions[index])
        if peak < outer:
            if evaluate(tables.value, arm, peak) >= worth:
                return bisect_worth(tables, arm, peak, outer, worth)
            outer = peak
    if evaluate(tables.value, arm, 0.0) >= worth:
        return bisect_worth(tables, arm, 0.0, outer, worth)
    return -1.0


def nearest_above(tables: Tables, arm: int, mean: float, worth: float) -> float:
    """Return the smallest mean in [mean, 1] that is worth at least ``worth``; -1 for none."""
    if tables.affine_increasing:
        above = (worth - tables.value_offset[arm]) / tables.value_slope[arm]
        return float(above) if above <= 1.0 else -1.0
    outer = mean
    for index in range(tables.peaks.starts[arm], tables.peaks.starts[arm + 1]):
        peak = float(tables.peaks.positions[index])
        if peak > outer:
            if evaluate(tables.value, arm, peak) >= worth:
                return bisect_worth(tables, arm, peak, outer, worth)
            outer = peak
    if evaluate(tables.value, arm, 1.0) >= worth:
        return bisect_worth(tables, arm, 1.0, outer, worth)
    return -1.0


def bisect_worth(tables: Tables, arm: int, inside: float, outside: float, worth: float) -> float:
    """Return the mean nearest to ``outside`` that is worth at least ``worth``.

    The mean ``inside`` is worth this much, and ``outside`` is not.
    """
    for _ in range(_BISECTIONS):
        middle = 0.5 * (inside + outside)
        if evaluate(tables.value, arm, middle) >= worth:
            inside = middle
        else:
            outside = middle
    return inside


def unit_scale(tables: Tables) -> str:
    """Return the name of the scale of indices, for explanations.

    >>> from globalbandits.model import demand
    >>> unit_scale(demand.linear([0.4, 0.8]).tables)
    'the unit reward scale'
    """
    return "the unit scale of worth" if tables.valued else "the unit reward scale"
