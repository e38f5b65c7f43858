"""The arms a model is to offer: those of the history, some of them, or new ones between them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from globalbandits._types import AnyArray, FloatArray
from globalbandits._validation import as_list
from globalbandits.errors import FitError
from globalbandits.fitting.arms import ArmScale, is_number
from globalbandits.fitting.columns import as_plain
from globalbandits.fitting.fitted import Fitted, curve_table
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.steps import RHO_LARGEST
from globalbandits.fitting.texts import as_named


def as_offered(arms: Any, panel: Panel, scale: ArmScale) -> tuple[Any, ...]:
    """The arms to offer: None or "labels" for all of the history's; they may be named by texts.

    A new arm must be a number between two of the history's, where those have an order.
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


def offer_arms(fitted: Fitted, arms: Sequence[Any], panel: Panel, scale: ArmScale) -> Fitted:
    """The fit for the offered arms; new ones get the curve between their neighbours'.

    What is between two arms' curves is known less well than they are: the usual error of
    finding an arm of the history from its neighbours is added to a new arm's bias.
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

    def between(known_values: FloatArray) -> FloatArray:
        return np.asarray(np.interp(wanted, values[order], known_values[order]))

    a, c = chosen.a.copy(), chosen.c.copy()
    a[new], c[new] = between(fitted.a), between(fitted.c)
    curves = curve_table(a, c, fitted.grid)
    spread = fitted.weights @ (curves[:, new] * (1 - curves[:, new]))
    squared = between(fitted.bias**2) + neighbour_error(fitted, values, order) ** 2
    rho, phi = chosen.rho.copy(), chosen.phi.copy()
    rho[new] = np.minimum(squared / spread, RHO_LARGEST)
    phi[new] = between(fitted.phi) if not fitted.binary else 1.0 - rho[new]
    return chosen._replace(a=a, c=c, rho=rho, phi=phi, curves=curves)


def neighbour_error(fitted: Fitted, values: FloatArray, order: AnyArray) -> float:
    """Rms error of an arm's curve when it is found from its two neighbours.

    With two arms there is none between others; half of their distance is taken instead.
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
