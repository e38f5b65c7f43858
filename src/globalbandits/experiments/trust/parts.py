"""Pieces of the answer: entries for shares of runs and for medians."""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray
from globalbandits.experiments.entries import Entry
from globalbandits.experiments.outcome import Chart, Grid


class Part(NamedTuple):
    """One world's share of the page."""

    entries: dict[str, Entry]
    grids: tuple[Grid, ...]
    charts: tuple[Chart, ...]


def share_of_runs(hits: BoolArray, *, label: str) -> Entry:
    """In how many of the runs something happened, in percent.

    The standard error is Agresti and Coull's, with two more hits and two more misses: 60 of
    60 runs are no certainty.

    >>> entry = share_of_runs(np.array([True, True, False, False]), label="heads")
    >>> entry.value, round(entry.sem, 1)
    (50.0, 17.7)
    """
    n = hits.size
    cautious = (np.count_nonzero(hits) + 2.0) / (n + 4.0)
    sem = math.sqrt(cautious * (1.0 - cautious) / (n + 4.0))
    return Entry(label=label, value=100.0 * float(hits.mean()), sem=100.0 * sem, runs=n, unit="%")


def median_of_runs(values: FloatArray, *, label: str) -> Entry:
    """The median over runs.

    About two thirds of the time the true median lies between the quantiles that are one
    standard deviation of a binomial count apart from the middle; that is the standard error.

    >>> entry = median_of_runs(np.arange(101.0), label="rank")
    >>> entry.value, round(entry.sem, 2)
    (50.0, 4.98)
    """
    reach = min(0.5, 0.5 / math.sqrt(values.size))
    low, middle, high = np.quantile(values, [0.5 - reach, 0.5, 0.5 + reach])
    sem = 0.5 * float(high - low)
    return Entry(label=label, value=float(middle), sem=sem, runs=values.size)
