"""The generalised logarithm, and the times from which a linear function beats a logarithm."""

import math

import numpy as np
from numpy.typing import ArrayLike

from globalbandits._types import FloatArray


def glog(x: ArrayLike) -> FloatArray:
    """The larger y with ``x = exp(y) / y``: the paper's glog, ``-W_{-1}(-1 / x)``.

    No real y exists below e: the answer there is nan. It is accurate for every float from e
    up to the largest, and infinite for an infinite x.

    Args:
        x: Where to evaluate, a number or an array.

    >>> glog(math.e).item(), round(glog(10.0).item(), 6), round(glog(1e300).item(), 3)
    (1.0, 3.577152, 697.323)
    """
    from scipy.special import lambertw

    at = np.asarray(x, dtype=np.float64)
    # SciPy gives nan at the branch point itself, which is the float nearest to e.
    inside = np.where((at > math.e) & (at < math.inf), at, 3.0)
    y = np.maximum(-lambertw(-1.0 / inside, -1).real, 1.0)
    y = np.where(at == math.e, 1.0, y)
    y = np.where(at == math.inf, math.inf, y)
    return np.where(at >= math.e, y, math.nan)


def linear_beats_log(factor: ArrayLike) -> FloatArray:
    """The first integer from which on ``t >= factor * log(t)`` holds for good.

    This is ``ceil(A glog(A))`` for A = factor > 3 / log(3) = 2.7307. Up to there the inequality
    holds for every integer (between e and there it fails only strictly between 2 and 3) and the
    answer is 1. Where the number exceeds a float the answer is inf.

    Args:
        factor: A, a number or an array, not negative.

    >>> linear_beats_log(np.array([1.0, 2.73, 10.0, 1e307, math.inf])).tolist()
    [1.0, 1.0, 36.0, inf, inf]
    """
    a = np.asarray(factor, dtype=np.float64)
    large = np.maximum(a, math.e)
    with np.errstate(over="ignore"):
        root = np.ceil(large * glog(large))
    return np.where(a <= 3.0 / math.log(3.0), 1.0, root)
