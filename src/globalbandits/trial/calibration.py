"""Calibration of a continual reassessment: skeleton, sensitivity and sample size."""

import math
from typing import TYPE_CHECKING

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, as_integer, as_positive, require
from globalbandits.errors import ModelError, PolicyError
from globalbandits.model import RewardModel
from globalbandits.trial.design import Design

if TYPE_CHECKING:
    import pandas as pd


def skeleton(
    halfwidth: float, target: float, mtd: int, n: int, *, intercept: float | None = None
) -> list[float]:
    """Return the skeleton whose indifference intervals have this half-width (Lee and Cheung 2009).

    Where the model changes from one dose to the next, their rates are ``target - halfwidth`` and
    ``target + halfwidth``.

    Args:
        halfwidth: half the width of the indifference interval around the target.
        target: the target rate.
        mtd: the number of the dose whose first guess is the target, from 1 to n.
        n: the number of doses.
        intercept: the intercept of `gb.dose.skeleton_logistic`; None for `gb.dose.power`.

    >>> [round(rate, 3) for rate in skeleton(0.05, 0.25, mtd=3, n=5)]
    [0.084, 0.157, 0.25, 0.355, 0.46]
    """
    target = as_fraction("target", target, ModelError)
    halfwidth = as_positive("halfwidth", halfwidth, ModelError)
    room = min(target, 1.0 - target)
    rule = f"be below {room:g}, so that target - halfwidth and target + halfwidth are rates"
    require(halfwidth < room, "halfwidth", rule, halfwidth, ModelError)
    n = as_integer("n", n, 1, ModelError)
    mtd = as_integer("mtd", mtd, 1, ModelError, maximum=n)
    # On the scale z where the parameter multiplies, a step to the next dose is a constant factor.
    low, middle, high = (
        _scale(rate, intercept) for rate in (target - halfwidth, target, target + halfwidth)
    )
    rule = "be above the log-odds of target + halfwidth"
    require(high < 0.0, "intercept", rule, intercept, ModelError)
    return [_rate(middle * (high / low) ** (k - mtd), intercept) for k in range(1, n + 1)]


def _scale(rate: float, intercept: float | None) -> float:
    """Return log(p), or the scaled dose logit(p) - intercept of the logistic model."""
    return math.log(rate) if intercept is None else math.log(rate / (1.0 - rate)) - intercept


def _rate(z: float, intercept: float | None) -> float:
    return math.exp(z) if intercept is None else 1.0 / (1.0 + math.exp(-z - intercept))


def sensitivity(model: RewardModel) -> "pd.DataFrame":
    """Return the model sensitivity of a dose model with a target (Cheung and Chappell 2002).

    One row per dose that is best somewhere: the interval of theta where it is, and the
    indifference interval: with many patients the CRM recommends this dose if the dose below has a
    rate under ``below`` and the dose above has a rate over ``above``.
    """
    import pandas as pd

    require(model.target is not None, "model", "have a target", model, ModelError)
    rows = []
    seen: set[int] = set()
    for region in model.regions:
        arm, (low, high) = region.arm, (region.low, region.high)
        if arm in seen:
            # At the end of a wide domain all rates are 0 in double precision.
            continue
        seen.add(arm)
        below = float(model.means(low)[arm - 1]) if arm > 0 else math.nan
        is_last = arm == model.n_arms - 1
        above = math.nan if is_last else float(model.means(high)[arm + 1])
        rows.append((model.arms[arm], low, high, below, above))
    columns = ["dose", "theta_low", "theta_high", "below", "above"]
    return pd.DataFrame(rows, columns=columns).set_index("dose")


def calibration_set(target: float, n: int, odds_ratio: float) -> FloatArray:
    """Return the logistic calibration set, shape (n, n): row k has the target at dose k.

    >>> calibration_set(0.25, 3, 2.0).round(3).tolist()[0]
    [0.25, 0.4, 0.571]
    """
    steps = np.arange(n) - np.arange(n)[:, np.newaxis]
    log_odds = math.log(target / (1.0 - target)) + steps * math.log(odds_ratio)
    return np.asarray(1.0 / (1.0 + np.exp(-log_odds)))


def sample_size(
    design: Design,
    correct: float,
    *,
    odds_ratio: float = 1.8,
    runs: int = 2_000,
    most: int = 120,
    seed: int = 0,
) -> int:
    """Return the smallest number of patients with a wanted share of correct recommendations.

    The share is the mean over the logistic calibration set: each dose in turn has the target rate,
    and the odds of a DLT grow by ``odds_ratio`` from one dose to the next (Cheung 2013). It is
    simulated, with a standard error of at most ``0.5 / sqrt(runs * doses)``.

    Args:
        design: the design; its number of patients is not used.
        correct: the wanted mean share of correct recommendations.
        odds_ratio: the effect size.
        runs: the number of trials for each scenario.
        most: the largest number of patients to consider.
        seed: the seed.

    Raises:
        PolicyError: if ``most`` patients are too few.
    """
    correct = as_fraction("correct", correct, PolicyError)
    odds_ratio = as_positive("odds_ratio", odds_ratio, PolicyError)
    truths = calibration_set(design.target, design.n_doses, odds_ratio)

    def share(n_cohorts: int) -> float:
        planned = design.with_patients(n_cohorts * design.cohort)
        found = [planned.simulate(truth, runs=runs, seed=seed).selected for truth in truths]
        return float(np.mean([shares[dose] for dose, shares in enumerate(found)]))

    low, high = 0, as_integer("most", most, design.cohort, PolicyError) // design.cohort
    reached = share(high)
    rule = f"be reached with at most {most} patients, where the share is {reached:.3f}"
    require(reached >= correct, "correct", rule, correct, PolicyError)
    while high - low > 1:
        middle = (low + high) // 2
        if share(middle) >= correct:
            high = middle
        else:
            low = middle
    return high * design.cohort
