"""Choosing among indices: the largest one, ties at random.

Both functions make a first pass for the maximum and the number of arms that share it, and
draw one random number only when there are several: without a tie the generator stays as it
is. They allocate nothing and are compiled into the simulator's loop.
"""

import numpy as np

from globalbandits._types import FloatArray


def choose_largest(values: FloatArray, rng: np.random.Generator) -> int:
    """Position of the largest value, ties at random.

    >>> choose_largest(np.array([0.2, 0.7, 0.5]), np.random.default_rng(0))
    1
    """
    best = 0
    n_best = 1
    for arm in range(1, values.shape[0]):
        if values[arm] > values[best]:
            best = arm
            n_best = 1
        elif values[arm] == values[best]:
            n_best += 1
    if n_best > 1:
        skip = int(rng.random() * n_best)
        largest = values[best]
        while skip > 0:
            best += 1
            if values[best] == largest:
                skip -= 1
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
    n_best = 1
    for arm in range(1, means.shape[0]):
        value = means[arm] + bonus * widths[arm]
        if value > largest:
            best = arm
            largest = value
            n_best = 1
        elif value == largest:
            n_best += 1
    if n_best > 1:
        skip = int(rng.random() * n_best)
        while skip > 0:
            best += 1
            if means[best] + bonus * widths[best] == largest:
                skip -= 1
    return best
