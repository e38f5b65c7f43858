"""Test whether groups chose arms by the rewards they expected.

Stores that set high prices because their demand is high make demand look as if it rose with the
price. The test is Mundlak's (1978): rewards are regressed on the arm and on the average arm of the
group. If groups chose their arms by chance, the second slope is 0.
"""

from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting.decision_value import Worth
from globalbandits.fitting.estimation.factor_model import average_places
from globalbandits.fitting.estimation.fitted_population import FittedPopulation, effective_counts
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel

ENDOGENEITY_LEVEL = (
    0.01  # of the test; a false alarm costs precision, a missed alarm makes the verdict wrong
)
MIN_GROUPS_IN_TEST = 4
CLEAR_SLOPE = 2.0  # standard errors


class Slope(NamedTuple):
    """A slope over the arms' places, with its standard error over groups."""

    value: float
    se: float

    @property
    def rises(self) -> bool:
        """Whether the slope is clearly above 0."""
        return self.value > CLEAR_SLOPE * self.se

    @property
    def falls(self) -> bool:
        """Whether the slope is clearly below 0."""
        return self.value < -CLEAR_SLOPE * self.se


class Endogeneity(NamedTuple):
    """How rewards change with the arm, inside groups and between groups."""

    within: Slope  # inside groups
    choice: Slope  # with the average arm of the group, at the same arm
    p_value: float  # of choice = 0; nan if it cannot be tested
    falling: int  # groups in which the highest arm tried has a smaller mean than the lowest
    compared: int  # groups with at least two arms

    @property
    def found(self) -> bool:
        """Whether groups chose arms by the rewards they expected."""
        return self.p_value < ENDOGENEITY_LEVEL


def check_endogeneity(panel: Panel, scale: ArmScale, independent: FittedPopulation) -> Endogeneity:
    """Compare slopes inside groups and between groups.

    Cells are weighted by their effective counts, so that a large group does not dominate. Standard
    errors treat each group as one observation.

    Args:
        panel: The history.
        scale: The places of its arms; labels have no slope, and nothing is tested.
        independent: The fit of every arm for itself; it says how much groups differ.
    """
    unknown = Slope(0.0, float("inf"))
    if scale.places is None:
        return Endogeneity(unknown, unknown, float("nan"), 0, 0)
    from scipy import stats

    weights = effective_counts(panel, independent.rho, independent.phi)
    places = np.broadcast_to(scale.places, weights.shape)
    within = _clustered_slope(
        weights, _centred(weights, places, axis=1), _centred(weights, panel.means, axis=1)
    )
    average = np.broadcast_to(average_places(panel, scale)[:, None], weights.shape)
    # Arms have a mean each, so a bend of the curve does not look like a choice.
    choice = _clustered_slope(
        weights, _centred(weights, average, axis=0), _centred(weights, panel.means, axis=0)
    )
    p_value = float("nan")
    if panel.n_groups >= MIN_GROUPS_IN_TEST and 0.0 < choice.se < np.inf:
        # Each arm's mean costs a degree of freedom.
        freedom = max(panel.n_groups - panel.n_arms, 2)
        p_value = float(2 * stats.t.sf(abs(choice.value) / choice.se, freedom))
    rows = np.flatnonzero(panel.tried.sum(axis=1) > 1)
    low = np.where(panel.tried, places, np.inf).argmin(axis=1)[rows]
    high = np.where(panel.tried, places, -np.inf).argmax(axis=1)[rows]
    falling = panel.means[rows, high] < panel.means[rows, low]
    return Endogeneity(within, choice, p_value, int(falling.sum()), int(rows.size))


def _centred(weights: FloatArray, values: FloatArray, axis: int) -> FloatArray:
    """Return values minus their weighted mean over an axis."""
    total = np.maximum(weights.sum(axis=axis, keepdims=True), 1e-300)
    return np.asarray(values - (weights * values).sum(axis=axis, keepdims=True) / total)


def _clustered_slope(weights: FloatArray, x: FloatArray, y: FloatArray) -> Slope:
    """Return the weighted slope of y on x; groups are the clusters of its standard error."""
    n_groups = len(weights)
    information = float((weights * x * x).sum())
    if information <= 1e-9 * float(weights.sum()) or n_groups < 2:
        return Slope(0.0, float("inf"))
    slope = float((weights * x * y).sum()) / information
    scores = (weights * x * (y - slope * x)).sum(axis=1)
    # The jackknife over groups: a group with much information hides its own deviation.
    left = np.maximum(1.0 - (weights * x * x).sum(axis=1) / information, 1e-3)
    variance = (n_groups - 1) / n_groups * float(((scores / left) ** 2).sum()) / information**2
    return Slope(slope, float(np.sqrt(variance)))


def expected_direction(worth: Worth, arm_name: str, ordered: bool) -> int:
    """Return -1 if the mean should fall with the arm (a price), 1 if it should rise (a dose), or 0.

    An arm is a price if its column says so, or if one unit of reward is worth more at a higher
    arm. It is a dose if its column says so.
    """
    name = arm_name.lower()
    if not ordered:
        return 0
    if "dose" in name or "dosage" in name:
        return 1
    if "price" in name:
        return -1
    order = np.argsort([float(arm) for arm in worth.arms])
    ends = worth(np.array([[0.0], [1.0]]).repeat(len(worth.arms), axis=1))
    gains = (ends[1] - ends[0])[order]
    return -1 if worth.value is not None and bool((np.diff(gains) > 0).all()) else 0


def wrong_direction(
    found: Endogeneity, fitted: FittedPopulation, arms: tuple[Any, ...], direction: int
) -> str:
    """Return a sentence if the fitted curves contradict prices or doses; else an empty text.

    Args:
        found: The slopes.
        fitted: The fit, for the same arms.
        arms: Numbers.
        direction: See `expected_direction`.
    """
    if direction == 0:
        return ""
    places = np.array([float(arm) for arm in arms])
    line = float(np.polyfit(places - places.mean(), fitted.means, 1)[0])
    against = found.within.rises if direction < 0 else found.within.falls
    # Slopes inside groups may be too uncertain to contradict the fitted curves.
    unclear = not (found.within.falls if direction < 0 else found.within.rises)
    bottom, top = fitted.means[places.argmin()], fitted.means[places.argmax()]
    if line * direction >= 0 or not (against or unclear):
        return ""
    if direction < 0:
        return (
            f"Fitted demand rises with the price, from {bottom:.2f} at {min(arms)!r} to {top:.2f} "
            f"at {max(arms)!r}: usually prices were high where or when demand was, and a price "
            "set by this model would lose money."
        )
    return (
        f"The fitted response falls with the dose, from {bottom:.2f} at {min(arms)!r} to {top:.2f} "
        f"at {max(arms)!r}: usually higher doses were given to groups that respond less."
    )
