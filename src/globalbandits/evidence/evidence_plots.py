"""Plots of evidence: its statements over time, and the worth of the arms."""

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import EvidenceError
from globalbandits.evidence.inference import infer_many
from globalbandits.model import AnyModel, RewardModel
from globalbandits.plots.arm_worth import Seen, worth_picture
from globalbandits.plots.evidence_over_time import evidence_figure
from globalbandits.plots.labels import drawn_label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def history_figure(
    model: RewardModel,
    times: IntArray,
    histograms: FloatArray,
    confidence: float,
    truth: float | None,
    title: str,
) -> "Figure":
    """Plot interval, e-value and contenders over time.

    Args:
        model: the reward model.
        times: number of observations in each histogram, shape (n,).
        histograms: soft counts, shape (n, n_arms, n_bins + 1).
        confidence: confidence of interval and contenders.
        truth: the true parameter, if known.
        title: title of the figure.
    """
    seen = times > 0
    require(bool(seen.any()), "evidence", "have observations to draw", 0, EvidenceError)
    found = infer_many(model, histograms[seen], confidence)
    return evidence_figure(
        times[seen],
        low=found.low,
        high=found.high,
        log_e_values=found.log_e_value,
        contenders=found.contenders,
        arms=[drawn_label(arm) for arm in model.arms],
        confidence=confidence,
        domain=model.domain,
        truth=truth,
        title=title,
    )


def worth_figure(
    model: AnyModel,
    counts: IntArray,
    sums: FloatArray,
    theta: Any,
    bounds: FloatArray | None,
    confidence: float,
    baseline: int | None,
    ax: "Axes | None",
    observed_bounds: FloatArray,
    *,
    title: str = "",
    arm_name: str = "arm",
    currency: str = "",
) -> "Figure":
    """Plot the worth of each arm by the model and by its own rewards, and mark the best arm.

    Args:
        model: the reward model.
        counts: rewards of each arm.
        sums: their sums on the unit scale.
        theta: the estimate, a number or a vector.
        bounds: smallest and largest worth of every arm; None if the model is refuted.
        confidence: confidence of the bounds.
        baseline: index of the baseline arm, such as the current price, or None.
        ax: axes to draw into; None for a new figure.
        observed_bounds: intervals of the arms' worth without the curves, shape (n_arms, 2).
        title: above the picture.
        arm_name: what arms are, such as "price".
        currency: the unit of worth.
    """
    low, high = model.reward_range
    worth = model.worth(theta)
    seen = []
    for arm, (count, total) in enumerate(zip(counts, sums, strict=True)):
        if count > 0:
            mean = low + (high - low) * float(total) / int(count)
            observed = float(model.worth_of(arm, mean))
            seen.append(Seen(arm, observed, int(count), *observed_bounds[arm].tolist()))
    numbers = all(isinstance(arm, (int, float)) and math.isfinite(arm) for arm in model.arms)
    return worth_picture(
        np.array(model.arms, dtype=np.float64) if numbers else None,
        [drawn_label(arm) for arm in model.arms],
        worth,
        bounds,
        seen,
        baseline=baseline,
        title=title,
        subtitle=f"{int(counts.sum()):,} decisions, confidence {confidence:g}",
        arm_name=arm_name,
        currency=currency,
        ax=ax,
    )
