"""The arms of a history, their scale, and the arms that a model offers."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import AnyArray, FloatArray
from globalbandits._validation import as_list
from globalbandits.errors import FitError
from globalbandits.fitting.estimation.fitted_population import (
    MAX_RHO,
    FittedPopulation,
    curve_table,
)
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.rows import as_named, as_plain, is_number

MAX_LINEAR_RATIO = 4.0  # arms that span a larger ratio are compared by their logarithms


class ArmScale(NamedTuple):
    """The arms' places on a line, and the projection on what is not a straight line over it."""

    places: FloatArray | None  # (n_arms,) standardised; None if the arms are labels
    logarithmic: bool
    bends: FloatArray  # (n_arms, n_arms) projection that removes constants and straight lines
    n_bends: int  # its rank: n_arms - 2, or n_arms - 1 for labels

    @property
    def ordered(self) -> bool:
        """Whether the arms are numbers with an order."""
        return self.places is not None


def arm_scale(arms: Sequence[Any], labels: bool = False) -> ArmScale:
    """Return the scale of the arms; numbers that span a large ratio get a logarithmic one.

    Args:
        arms: Values or labels, one per arm.
        labels: Whether to treat numbers as labels.

    >>> arm_scale([0.5, 1, 2, 4, 8]).logarithmic, arm_scale(["a", "b", "c"]).ordered
    (True, False)
    """
    n_arms = len(arms)
    constant = np.ones((n_arms, 1))
    if labels or not all(is_number(arm) for arm in arms) or n_arms < 2:
        bends = np.eye(n_arms) - constant @ constant.T / n_arms
        return ArmScale(None, False, bends, n_arms - 1)
    values = np.array([float(arm) for arm in arms])
    logarithmic = bool(values.min() > 0 and values.max() > MAX_LINEAR_RATIO * values.min())
    places = np.log(values) if logarithmic else values
    places = (places - places.mean()) / places.std()
    design = np.column_stack([constant, places])
    bends = np.eye(n_arms) - design @ np.linalg.pinv(design)
    return ArmScale(places, logarithmic, bends, n_arms - 2)


def check_offered_arms(arms: Any, panel: Panel, scale: ArmScale) -> tuple[Any, ...]:
    """Return the arms to offer; None and "labels" mean all arms of the history.

    Arms may be named by their texts. A new arm must be a number between two arms of a history
    whose arms are ordered.
    """
    if arms is None or (isinstance(arms, str) and arms == "labels"):
        return panel.arms
    rule = "be None, 'labels' or a list of arms"
    listed = as_list("arms", arms, rule, FitError)
    offered = tuple(as_named(as_plain(arm), panel.arms) for arm in listed)
    if len(offered) < 2 or len(set(offered)) < len(offered):
        raise FitError(f"arms must be at least two distinct arms, got {offered!r}")
    for arm in offered:
        if arm in panel.arms:
            continue
        if not scale.ordered or not is_number(arm):
            known = ", ".join(repr(each) for each in panel.arms)
            raise FitError(f"arm {arm!r} must be one of the history's: {known}")
        low, high = min(panel.arms), max(panel.arms)
        if not low <= arm <= high:
            raise FitError(
                f"arm {arm!r} lies outside of the history's {panel.arm_name}s "
                f"[{low:g}, {high:g}]: fit does not extrapolate"
            )
    return offered


def offer_arms(
    fitted: FittedPopulation, arms: Sequence[Any], panel: Panel, scale: ArmScale
) -> FittedPopulation:
    """Return the population for the offered arms; new arms are interpolated.

    An interpolated curve is less certain than its neighbours. The typical error of interpolating
    an arm of the history from its neighbours is added to the bias of a new arm.
    """
    known = {arm: place for place, arm in enumerate(panel.arms)}
    if tuple(arms) == panel.arms:
        return fitted
    columns = [known.get(arm, -1) for arm in arms]
    chosen = fitted._replace(
        a=fitted.a[columns],
        c=fitted.c[columns],
        rho=fitted.rho[columns],
        phi=fitted.phi[columns],
        curves=fitted.curves[:, columns],
    )
    new = np.array([place for place, arm in enumerate(arms) if arm not in known], np.int64)
    if new.size == 0:
        return chosen
    values = np.array([float(arm) for arm in panel.arms])
    wanted = np.array([float(arms[place]) for place in new])
    if scale.logarithmic:
        values, wanted = np.log(values), np.log(wanted)
    order = np.argsort(values)

    def interpolated(known_values: FloatArray) -> FloatArray:
        return np.asarray(np.interp(wanted, values[order], known_values[order]))

    a, c = chosen.a.copy(), chosen.c.copy()
    a[new], c[new] = interpolated(fitted.a), interpolated(fitted.c)
    curves = curve_table(a, c, fitted.grid)
    spread = fitted.weights @ (curves[:, new] * (1 - curves[:, new]))
    squared = interpolated(fitted.bias**2) + interpolation_error(fitted, values, order) ** 2
    rho, phi = chosen.rho.copy(), chosen.phi.copy()
    rho[new] = np.minimum(squared / spread, MAX_RHO)
    phi[new] = interpolated(fitted.phi) if not fitted.binary else 1.0 - rho[new]
    return chosen._replace(a=a, c=c, rho=rho, phi=phi, curves=curves)


def interpolation_error(fitted: FittedPopulation, values: FloatArray, order: AnyArray) -> float:
    """Return the rms error of interpolating an arm's curve from its two neighbours.

    With two arms no arm lies between others; half of their distance is used instead.
    """
    if values.size < 3:
        apart = fitted.curves[:, 0] - fitted.curves[:, 1]
        return float(np.sqrt(fitted.weights @ apart**2)) / 2
    errors = []
    for left, arm, right in zip(order[:-2], order[1:-1], order[2:], strict=True):
        share = (values[arm] - values[left]) / (values[right] - values[left])
        a, c = (
            (1 - share) * vector[left] + share * vector[right] for vector in (fitted.a, fitted.c)
        )
        found = curve_table(np.array([a]), np.array([c]), fitted.grid)[:, 0]
        errors.append(float(fitted.weights @ (found - fitted.curves[:, arm]) ** 2))
    return float(np.sqrt(np.mean(errors)))
