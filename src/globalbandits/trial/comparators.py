"""Designs to compare with: 3+3, BOIN and the keyboard, and a bound for every design.

A rule decides from the patients and the DLTs of every dose, for many trials at once.
"""

import dataclasses
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits._validation import as_fraction, as_integer, as_positive
from globalbandits.errors import PolicyError
from globalbandits.policies.wrappers.limited import MIN_REWARDS_TO_ELIMINATE

# In place of a dose: the trial stops, or no dose is recommended.
NO_DOSE = -1


class Rule(Protocol):
    """A rule of escalation. Arrays have shape (trial, dose); ``dose`` has shape (trial,)."""

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`; ``recent``: DLTs of the last one."""

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the recommended dose, or `NO_DOSE`."""


@dataclasses.dataclass(frozen=True)
class ThreePlusThree:
    """The 3+3 design (Storer 1989): cohorts of three, at most six patients per dose.

    After 0 DLTs in 3 or at most 1 in 6 patients the dose is raised, after 1 in 3 three more
    patients get it, otherwise it is lowered. The recommended dose is the highest one with at most 1
    DLT in 6 patients. The design has no target.
    """

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`."""
        n, y = _at(treated, dose), _at(events, dose)
        top = treated.shape[1] - 1
        safe = ((n == 3) & (y == 0)) | ((n == 6) & (y <= 1))
        # The next dose was left because of its DLTs, or there is none: six patients, then stop.
        last = (dose == top) | (_at(treated, np.minimum(dose + 1, top)) > 0)
        below = np.maximum(dose - 1, 0)
        lowered = np.where((dose == 0) | (_at(treated, below) >= 6), NO_DOSE, below)
        raised = np.where(last, np.where(n == 3, dose, NO_DOSE), dose + 1)
        return np.where(safe, raised, np.where((n == 3) & (y == 1), dose, lowered))

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the highest dose with at most 1 DLT in 6 patients, or `NO_DOSE`."""
        passed = (treated == 6) & (events <= 1)
        top = treated.shape[1] - 1
        return np.where(passed.any(axis=1), top - passed[:, ::-1].argmax(axis=1), NO_DOSE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _IntervalDesign:
    """A design that compares the present dose with the target, and eliminates toxic doses.

    A dose and all above it are eliminated once it has at least three patients and the posterior
    probability of a rate above the target exceeds ``elimination``, under a uniform prior. If the
    lowest dose is eliminated, the trial stops. The recommended dose is nearest to the target
    after isotonic regression.
    """

    elimination: float = 0.95

    def __post_init__(self) -> None:
        checked = as_fraction("elimination", self.elimination, PolicyError)
        object.__setattr__(self, "elimination", checked)

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        raise NotImplementedError

    def next_dose(
        self, treated: IntArray, events: IntArray, dose: IntArray, recent: IntArray, target: float
    ) -> IntArray:
        """Return the dose of the next cohort, or `NO_DOSE`."""
        out = self.eliminated(treated, events, target)
        wanted = dose + self.steps(_at(treated, dose), _at(events, dose), target)
        highest = np.where(out.any(axis=1), out.argmax(axis=1) - 1, treated.shape[1] - 1)
        return np.where(highest < 0, NO_DOSE, np.clip(wanted, 0, highest))

    def eliminated(self, treated: IntArray, events: IntArray, target: float) -> BoolArray:
        """Return which doses are eliminated, shape (trial, dose)."""
        return eliminated(treated, events, target, self.elimination)

    def recommend(self, treated: IntArray, events: IntArray, target: float) -> IntArray:
        """Return the dose nearest to the target after isotonic regression, or `NO_DOSE`."""
        usable = (treated > 0) & ~self.eliminated(treated, events, target)
        rates = isotonic_rates(treated, events)
        # Of equally distant doses take the lower one above the target, the higher one below it.
        slope = 1e-10 * np.arange(treated.shape[1])
        distance = np.where(usable, np.abs(rates + slope - target), np.inf)
        return np.where(usable.any(axis=1), distance.argmin(axis=1), NO_DOSE)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BOIN(_IntervalDesign):
    """The Bayesian optimal interval design (Liu and Yuan 2015).

    Args:
        low: a rate that is too low, as a share of the target.
        high: a rate that is too high, as a share of the target.
        elimination: the posterior probability at which a dose is eliminated.

    >>> [round(edge, 3) for edge in BOIN().boundaries(0.25)]
    [0.197, 0.298]
    """

    low: float = 0.6
    high: float = 1.4

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("low", "high"):
            object.__setattr__(self, name, as_positive(name, getattr(self, name), PolicyError))
        if not self.low < 1.0 < self.high:
            raise PolicyError(f"low and high must lie around 1, got {self.low} and {self.high}")

    def boundaries(self, target: float) -> tuple[float, float]:
        """Return the rates at or below which the dose is raised, and at or above which lowered."""
        low, high = self.low * target, min(self.high * target, 1.0 - 1e-12)
        # Equation 4 of Liu and Yuan (2015).
        up = math.log((1 - low) / (1 - target)) / (_log_odds(target) - _log_odds(low))
        down = math.log((1 - target) / (1 - high)) / (_log_odds(high) - _log_odds(target))
        return up, down

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        up, down = self.boundaries(target)
        rate = y / np.maximum(n, 1)
        return (rate <= up).astype(np.int64) - (rate >= down)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Keyboard(_IntervalDesign):
    """The keyboard design (Yan, Mandrekar and Yuan 2017); its decisions are those of mTPI-2.

    The unit interval is divided into keys as wide as the target's. The dose is raised if the key
    with the largest posterior probability is below the target's, and lowered if it is above.

    Args:
        half_width: half the width of the keys.
        elimination: the posterior probability at which a dose is eliminated.
    """

    half_width: float = 0.05

    def __post_init__(self) -> None:
        super().__post_init__()
        checked = as_fraction("half_width", self.half_width, PolicyError)
        object.__setattr__(self, "half_width", checked)

    def keys(self, target: float) -> FloatArray:
        """Return the lower ends of the keys, shape (n_keys,). Shorter ends are left out."""
        width = 2.0 * self.half_width
        first = target - self.half_width
        n_below = math.floor(first / width + 1e-9)
        n_above = math.floor((1.0 - first - width) / width + 1e-9)
        return np.asarray(first + width * np.arange(-n_below, n_above + 1), np.float64)

    def steps(self, n: IntArray, y: IntArray, target: float) -> IntArray:
        """Return 1, 0 or -1 for a dose with ``y`` DLTs in ``n`` patients."""
        from scipy.special import betainc

        lower = np.clip(self.keys(target), 0.0, 1.0)
        upper = np.clip(lower + 2.0 * self.half_width, 0.0, 1.0)
        a, b = 1.0 + y[..., np.newaxis], 1.0 + (n - y)[..., np.newaxis]
        strongest = (betainc(a, b, upper) - betainc(a, b, lower)).argmax(axis=-1)
        aim = int(np.abs(lower + self.half_width - target).argmin())
        return np.asarray(np.sign(aim - strongest), np.int64)


def eliminated(treated: IntArray, events: IntArray, target: float, probability: float) -> BoolArray:
    """Return which doses are eliminated, shape (trial, dose): a toxic dose, and all above it.

    A dose is toxic if it has at least three patients, and its rate is above the target with a
    posterior probability above ``probability``, under a uniform prior.
    """
    if probability >= 1.0:
        return np.zeros(treated.shape, np.bool_)
    from scipy.special import betainc

    above = 1.0 - betainc(1.0 + events, 1.0 + treated - events, target)
    toxic = (treated >= MIN_REWARDS_TO_ELIMINATE) & (above > probability)
    return np.asarray(np.maximum.accumulate(toxic, axis=1))


def _log_odds(rate: float) -> float:
    return math.log(rate / (1.0 - rate))


def isotonic_rates(treated: IntArray, events: IntArray) -> FloatArray:
    """Return increasing rates of the doses with patients, shape (trial, dose).

    The weighted isotonic regression of ``(y + 0.05) / (n + 0.1)``, by its min-max formula; weights
    are inverse variances of the beta distribution (Liu and Yuan 2015).
    """
    alive = treated > 0
    n, y = treated + 0.1, events + 0.05
    weights = np.where(alive, n**2 * (n + 1.0) / (y * (n - y)), 0.0)
    sums, totals = (np.cumsum(part, axis=1) for part in (weights * y / n, weights))
    pad = ((0, 0), (1, 0))
    sums, totals = np.pad(sums, pad), np.pad(totals, pad)
    n_doses = treated.shape[1]
    rates = np.full(treated.shape, -np.inf)
    with np.errstate(invalid="ignore", divide="ignore"):
        for k in range(n_doses):
            for i in range(k + 1):
                least = np.full(len(treated), np.inf)
                for j in range(k, n_doses):
                    mean = (sums[:, j + 1] - sums[:, i]) / (totals[:, j + 1] - totals[:, i])
                    least = np.fmin(least, mean)
                rates[:, k] = np.maximum(rates[:, k], least)
    return rates


def benchmark(
    truth: Sequence[float], target: float, patients: int, *, runs: int = 10_000, seed: int = 0
) -> FloatArray:
    """Return the selection shares of the non-parametric benchmark (O'Quigley et al. 2002).

    Every patient's outcome is known at all doses: the best that a design can hope for.

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


def _at(table: IntArray, dose: IntArray) -> IntArray:
    return np.asarray(table[np.arange(len(dose)), dose])
