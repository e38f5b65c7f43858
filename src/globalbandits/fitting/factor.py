"""The shared model: one number per group, fitted by alternating steps from several starts."""

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.fitting import steps
from globalbandits.fitting.arms import ArmScale
from globalbandits.fitting.fitted import Fitted
from globalbandits.fitting.likelihood import log_scores
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.start import flat_start, starts, upright

MOST_STEPS = 150
TOLERANCE = 1e-4
FIXED_WEIGHTS = 3  # steps before the population is learned too
N_STARTS = 3
TRIAL_STEPS = 25  # after which the best start is chosen
MANY_GROUPS = 5_000
SAMPLED_GROUPS = 2_000
LAST_STEPS = 10  # on all groups, after a fit to some


def fit_shared(panel: Panel, scale: ArmScale, *, seed: int = 0) -> Fitted:
    """Curves that share one number per group.

    The fit is started along each of the three main directions in which groups differ, and
    goes on from the one whose likelihood is largest after a few steps. With more than 5,000
    groups it is made on 2,000 of them, drawn with ``seed``, and finished on all.
    """
    if panel.n_groups > MANY_GROUPS:
        some = sample_groups(panel, seed)
        first = fit_shared(some, scale)
        return upright_fit(climb(panel, scale, first, LAST_STEPS))
    tried = [climb(panel, scale, start, TRIAL_STEPS) for start in starts(panel, N_STARTS)]
    best = max(tried, key=lambda fitted: float(log_scores(panel, fitted).sum()))
    return upright_fit(climb(panel, scale, best, MOST_STEPS - TRIAL_STEPS))


def fit_independent(panel: Panel, scale: ArmScale) -> Fitted:
    """Every arm for itself: means of the arms, and how much groups differ around them."""
    return climb(panel, scale, flat_start(panel), MOST_STEPS)


def fit_same(panel: Panel, scale: ArmScale) -> Fitted:
    """All groups alike: means of the arms, and no difference between groups."""
    fitted = climb(panel, scale, flat_start(panel), MOST_STEPS, alike=True)
    return fitted._replace(rho=np.zeros(panel.n_arms))


def sample_groups(panel: Panel, seed: int) -> Panel:
    """2,000 random groups of a large panel, in their order."""
    chosen = np.random.default_rng(seed).choice(panel.n_groups, SAMPLED_GROUPS, replace=False)
    return panel.take(np.sort(chosen))


def climb(
    panel: Panel, scale: ArmScale, start: Fitted, most_steps: int, *, alike: bool = False
) -> Fitted:
    """Take steps until a, c and sqrt(rho) hardly move.

    Args:
        panel: The history.
        scale: Of the arms.
        start: Where to start from; the user's curves stay as they are.
        most_steps: At most so many steps.
        alike: Whether to keep the groups' own errors at 0.
    """
    fitted = start
    for _ in range(most_steps):
        before = fitted
        posteriors = steps.responsibilities(panel, fitted)
        if not fitted.given:
            counts = steps.effective_counts(panel, fitted.rho, fitted.phi)
            fitted = steps.improve_curves(
                posteriors.T @ counts, posteriors.T @ (counts * panel.means), fitted, scale
            )
        if fitted.n_steps >= FIXED_WEIGHTS and fitted.grid.size > 1:
            fitted = fitted._replace(weights=steps.renew_weights(posteriors, fitted))
        fitted = renew_noise(panel, posteriors, fitted, alike)
        fitted = fitted._replace(n_steps=fitted.n_steps + 1)
        if fitted.n_steps > FIXED_WEIGHTS and moved(before, fitted) < TOLERANCE:
            break
    return fitted


def renew_noise(panel: Panel, posteriors: FloatArray, fitted: Fitted, alike: bool) -> Fitted:
    """New phi and rho."""
    cells = steps.residuals(panel, posteriors, fitted.curves)
    phi = fitted.phi if panel.binary else steps.renew_phi(panel, cells)
    rho = steps.renew_rho(panel, cells, fitted.rho, phi, fitted.edf)
    if alike:
        rho = np.full(panel.n_arms, steps.RHO_FLOOR)
    return fitted._replace(rho=rho, phi=1.0 - rho if panel.binary else phi)


def moved(before: Fitted, after: Fitted) -> float:
    """The largest change of a, c and sqrt(rho)."""
    change = [np.sqrt(after.rho) - np.sqrt(before.rho)]
    if not after.given:
        change += [after.a - before.a, after.c - before.c]
    return float(np.abs(np.concatenate(change)).max())


def upright_fit(fitted: Fitted) -> Fitted:
    """The same fit with z turned so that the steepest arm rises."""
    if np.array_equal(upright(fitted.c), fitted.c):
        return fitted
    return fitted._replace(
        c=-fitted.c, weights=fitted.weights[::-1].copy(), curves=fitted.curves[::-1].copy()
    )
