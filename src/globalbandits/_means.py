"""Means over runs, with their standard errors and confidence intervals."""

import numpy as np

from globalbandits._types import FloatArray

Z95 = 1.959963984540054  # half width of a 95 % interval of a normal mean, in standard errors


def mean_and_error(values: FloatArray, axis: int = -1) -> tuple[FloatArray, FloatArray]:
    """Return the mean along an axis and its standard error, which is nan for a single value.

    >>> mean, error = mean_and_error(np.array([1.0, 2.0, 3.0]))
    >>> mean.item(), round(error.item(), 4)
    (2.0, 0.5774)
    """
    n = values.shape[axis]
    mean = np.asarray(values.mean(axis=axis))
    if n < 2:
        return mean, np.full_like(mean, np.nan)
    return mean, np.asarray(values.std(axis=axis, ddof=1) / np.sqrt(n))


def mean_interval(values: FloatArray, confidence: float) -> tuple[FloatArray, ...]:
    """Return mean, standard error and both ends of Student's interval along the last axis.

    For a single value the error and the ends are nan.

    >>> [round(float(value), 3) for value in mean_interval(np.array([1.0, 2.0, 3.0]), 0.95)]
    [2.0, 0.577, -0.484, 4.484]
    """
    from scipy.special import stdtrit

    n = values.shape[-1]
    mean, error = mean_and_error(values)
    reach = stdtrit(n - 1, 0.5 + confidence / 2) * error if n > 1 else error
    return mean, error, mean - reach, mean + reach


class Moments:
    """Mean and standard error over runs that arrive in batches, in constant memory.

    Batches are merged by the formula of Chan, Golub and LeVeque, which is numerically stable.

    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0]))
    >>> moments.add(np.array([3.0]))
    >>> moments.runs, moments.mean.item(), round(moments.sem.item(), 4)
    (3, 2.0, 0.5774)
    """

    def __init__(self) -> None:
        self.runs = 0
        self._mean: FloatArray = np.zeros(())
        self._deviations: FloatArray = np.zeros(())  # sum of squared deviations from the mean

    def add(self, values: FloatArray) -> None:
        """Add a batch of shape (runs, ...)."""
        n = values.shape[0]
        mean = values.mean(axis=0)
        deviations = ((values - mean) ** 2).sum(axis=0)
        total = self.runs + n
        step = mean - self._mean
        self._deviations = self._deviations + deviations + step**2 * (self.runs * n / total)
        self._mean = self._mean + step * (n / total)
        self.runs = total

    @property
    def mean(self) -> FloatArray:
        """Mean over runs."""
        return self._mean

    @property
    def sem(self) -> FloatArray:
        """Standard error of the mean; 0 for a single run."""
        return np.asarray(np.sqrt(self._deviations / max(self.runs - 1, 1) / max(self.runs, 1)))

    @property
    def low(self) -> FloatArray:
        """Lower end of the 95 % interval."""
        return self.mean - Z95 * self.sem

    @property
    def high(self) -> FloatArray:
        """Upper end of the 95 % interval."""
        return self.mean + Z95 * self.sem
