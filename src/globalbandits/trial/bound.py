"""The non-parametric benchmark: a bound for every design (O'Quigley et al. 2002)."""

from collections.abc import Sequence

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, as_integer
from globalbandits.errors import PolicyError


def benchmark(
    truth: Sequence[float], target: float, patients: int, *, runs: int = 10_000, seed: int = 0
) -> FloatArray:
    """Return the selection shares of the non-parametric benchmark (O'Quigley et al. 2002).

    Every patient's outcome is known at all doses, so no design can select better.

    Args:
        truth: the true rates of the doses.
        target: the target rate.
        patients: the number of patients.
        runs: the number of trials.
        seed: the seed.
    """
    rates = np.asarray([as_fraction(f"truth[{i}]", p, PolicyError) for i, p in enumerate(truth)])
    target = as_fraction("target", target, PolicyError)
    patients = as_integer("patients", patients, 1, PolicyError)
    runs = as_integer("runs", runs, 1, PolicyError)
    drawn = tolerances(runs, patients, seed)
    found = np.stack([(drawn < rate).mean(axis=1) for rate in rates], axis=1)
    chosen = np.abs(found - target).argmin(axis=1)
    return np.bincount(chosen, minlength=len(rates)) / runs


def tolerances(runs: int, patients: int, seed: int) -> FloatArray:
    """Return the tolerance of every patient, shape (run, patient).

    A patient has a DLT at a dose whose rate is above the tolerance. Designs that are simulated with
    the same seed treat the same patients, so that they are compared in pairs.
    """
    return np.random.default_rng(seed).random((runs, patients))
