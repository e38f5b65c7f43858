"""The largest of several indices, ties at random.

Both functions find the largest value and the runner-up without a branch that depends on the
values, because a processor cannot predict such branches. If the two are equal, a second pass draws
one random number among the ties. Nothing is allocated.
"""

import math

import numpy as np

from globalbandits._types import FloatArray


def choose_largest(values: FloatArray, rng: np.random.Generator) -> int:
    """Position of the largest value, ties at random.

    >>> choose_largest(np.array([0.2, 0.7, 0.5]), np.random.default_rng(0))
    1
    """
    best = 0
    largest = values[0]
    second = -math.inf
    for arm in range(1, values.shape[0]):
        value = values[arm]
        best = arm if value > largest else best
        second = max(second, min(value, largest))
        largest = max(largest, value)
    if second == largest:
        n_best = 0
        for arm in range(values.shape[0]):
            n_best += values[arm] == largest
        skip = int(rng.random() * n_best)
        best = 0
        while skip > 0 or values[best] != largest:
            skip -= values[best] == largest
            best += 1
    return best


def choose_upper_bound(
    means: FloatArray, widths: FloatArray, bonus: float, rng: np.random.Generator
) -> int:
    """Position of the largest ``means + bonus * widths``, ties at random.

    >>> means, widths = np.array([0.5, 0.4]), np.array([0.1, 0.5])
    >>> choose_upper_bound(means, widths, 1.0, np.random.default_rng(0))
    1
    """
    best = 0
    largest = means[0] + bonus * widths[0]
    second = -math.inf
    for arm in range(1, means.shape[0]):
        value = means[arm] + bonus * widths[arm]
        best = arm if value > largest else best
        second = max(second, min(value, largest))
        largest = max(largest, value)
    if second == largest:
        n_best = 0
        for arm in range(means.shape[0]):
            n_best += means[arm] + bonus * widths[arm] == largest
        skip = int(rng.random() * n_best)
        best = 0
        while skip > 0 or means[best] + bonus * widths[best] != largest:
            skip -= means[best] + bonus * widths[best] == largest
            best += 1
    return best
