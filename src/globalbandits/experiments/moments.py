"""Means and standard errors over runs, gathered batch by batch in constant memory."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.experiments.verdicts import Z95


class Moments:
    """Running mean and sum of squared deviations of equally shaped values, one per run.

    Batches are merged by Chan's formula, so the answer does not lose digits with their number.

    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0]))
    >>> moments.add(np.array([3.0]))
    >>> moments.runs, moments.mean.item(), round(moments.sem.item(), 4)
    (3, 2.0, 0.5774)
    """

    def __init__(self) -> None:
        self.runs = 0
        self._mean: FloatArray = np.zeros(())
        self._deviations: FloatArray = np.zeros(())

    def add(self, values: FloatArray) -> None:
        """Add a batch: values of shape (runs, ...)."""
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
        """Standard error of the mean; 0 for a single run, which tells nothing of it."""
        return np.asarray(np.sqrt(self._deviations / max(self.runs - 1, 1) / max(self.runs, 1)))

    @property
    def low(self) -> FloatArray:
        """Lower end of the 95 % interval."""
        return self.mean - Z95 * self.sem

    @property
    def high(self) -> FloatArray:
        """Upper end of the 95 % interval."""
        return self.mean + Z95 * self.sem
