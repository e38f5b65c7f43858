"""Evidence over time, drawn by the room of plots."""

from typing import TYPE_CHECKING

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import require
from globalbandits.errors import EvidenceError
from globalbandits.evidence.findings import find_out
from globalbandits.plots.evidence import evidence_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from globalbandits.model import RewardModel


def history_figure(
    model: "RewardModel",
    times: IntArray,
    histograms: FloatArray,
    confidence: float,
    truth: float | None,
    title: str,
) -> "Figure":
    """What histograms taken at some times say.

    Args:
        model: the reward model.
        times: observations in each histogram, shape (n,).
        histograms: soft counts, shape (n, n_arms, n_bins + 1).
        confidence: of interval and contenders.
        truth: the true parameter, if it is known.
        title: a line above the figure.
    """
    seen = times > 0
    require(bool(seen.any()), "evidence", "have observations to draw", 0, EvidenceError)
    found = find_out(model, histograms[seen], confidence)
    return evidence_figure(
        times[seen],
        low=found.low,
        high=found.high,
        log_e_values=found.log_e_value,
        contenders=found.contenders,
        arms=[str(arm) for arm in model.arms],
        confidence=confidence,
        domain=model.domain,
        truth=truth,
        title=title,
    )
