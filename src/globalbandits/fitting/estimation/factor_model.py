"""The one-factor model: an expectation-maximisation (EM) fit with one number per group.

Notation, for group g, arm k, point q of the grid: n rewards with mean y, curve f, responsibility
w, and the effective count ``m = n / (phi + n rho)``. Rewards of one cell share the group's own
error at that arm, so m grows more slowly than n.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import logit

from globalbandits._types import FloatArray
from globalbandits.errors import FitError
from globalbandits.fitting.estimation.curve_model import unit_means
from globalbandits.fitting.estimation.fitted_population import (
    CURVE_MARGIN,
    GRID,
    MAX_RHO,
    MIN_PHI,
    ONE_POINT,
    FittedPopulation,
    Selection,
    Shrinkage,
    curve_table,
    effective_counts,
    log_curves,
    normal_weights,
    prior_weights,
    shifted,
)
from globalbandits.fitting.estimation.group_posterior import log_scores
from globalbandits.fitting.estimation.offered_arms import ArmScale
from globalbandits.fitting.panel import Panel
from globalbandits.model import RewardModel

MAX_STEPS = 150
STEP_TOLERANCE = 1e-4  # of a, c and sqrt(rho); smaller changes end the fit
STEPS_WITH_FIXED_WEIGHTS = 3  # before the population's weights are fitted, too
N_STARTS = 3
TRIAL_STEPS = 25  # before the best start is chosen
# With more groups, the fit is computed on a sample of them and finished on all.
MAX_GROUPS_IN_FULL = 5_000
SAMPLED_GROUPS = 2_000
FINAL_STEPS = 10

SMOOTHING_REWARDS = 4.0  # pseudo-rewards of the pooled mean in a cell's first logit
INITIAL_RHO = 0.02
INITIAL_PHI = 0.2  # of rewards that are not 0 or 1

RIDGE = 1e-3
MAX_STEP_LENGTH = 1.5
MAX_STEP_HALVINGS = 30
TAU_RANGE = (1e-4, 1e4)
PSEUDO_GROUPS = 10.0
MIN_KERNEL_WIDTH = 0.25
POOLED_GROUPS = 30.0  # weight of the pooled rho in each arm's rho
POOLED_DEGREES = 2.0  # weight of the pooled phi in each arm's phi, in degrees of freedom
MIN_RHO = 1e-6
MIN_LEVEL_SPREAD = 0.1  # of the groups' logits at the start of a fit inside groups
MIN_DEVIATION_VARIANCE = 0.05  # of z around what the choice of arms explains


class GivenCurves(NamedTuple):
    """The means of the user's own model on the grid, on the unit scale of the rewards."""

    curves: FloatArray  # (n_points, n_arms)
    domain: tuple[float, float]


def fit_shared(
    panel: Panel, scale: ArmScale, *, seed: int = 0, within: bool = False
) -> FittedPopulation:
    """Fit curves that share one number per group.

    The fit starts along each of the three main directions in which groups differ, and continues
    from the start with the largest likelihood after a few steps. With more than 5,000 groups it
    is computed on 2,000 of them, drawn with ``seed``, and finished on all.

    With ``within``, the curves come from differences inside groups: a group's number may depend on
    the arms that it chose (a correlated random effect), and the fit starts from the slope inside
    groups.
    """
    if panel.n_groups > MAX_GROUPS_IN_FULL:
        sampled = fit_shared(sample_groups(panel, seed), scale, within=within)
        return with_rising_steepest_arm(run_em(panel, scale, sampled, FINAL_STEPS))
    if within:
        return with_rising_steepest_arm(
            run_em(panel, scale, initial_within(panel, scale), MAX_STEPS)
        )
    tried = [
        run_em(panel, scale, start, TRIAL_STEPS) for start in initial_populations(panel, N_STARTS)
    ]
    best = max(tried, key=lambda fitted: float(log_scores(panel, fitted).sum()))
    return with_rising_steepest_arm(run_em(panel, scale, best, MAX_STEPS - TRIAL_STEPS))


def fit_independent(panel: Panel, scale: ArmScale) -> FittedPopulation:
    """Fit every arm for itself: its mean, and how much groups differ around it."""
    return run_em(panel, scale, initial_independent(panel), MAX_STEPS)


def fit_identical(panel: Panel, scale: ArmScale) -> FittedPopulation:
    """Fit identical groups: a mean per arm, and no difference between groups."""
    start = initial_independent(panel)
    fitted = run_em(panel, scale, start, MAX_STEPS, identical_groups=True)
    return fitted._replace(rho=np.zeros(panel.n_arms))


def fit_given(panel: Panel, scale: ArmScale, given: GivenCurves) -> FittedPopulation:
    """Fit the population, noise and bias around the user's own curves."""
    n_arms, n_points = panel.n_arms, GRID.size
    unknown = np.full(n_arms, np.nan)
    start = FittedPopulation(
        a=unknown,
        c=unknown,
        rho=np.full(n_arms, INITIAL_RHO),
        phi=np.full(n_arms, 1.0 - INITIAL_RHO if panel.binary else INITIAL_PHI),
        weights=np.full(n_points, 1.0 / n_points),
        grid=GRID,
        curves=given.curves,
        binary=panel.binary,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=0.0,
        n_steps=0,
    )
    return run_em(panel, scale, start, MAX_STEPS)


def read_curves(model: RewardModel, panel: Panel) -> GivenCurves:
    """Read the user's own curves at the middles of equal cells of theta, for the panel's arms."""
    for arm in panel.arms:
        if arm not in model.arms:
            known = ", ".join(repr(each) for each in model.arms)
            raise FitError(f"curves must have the history's arm {arm!r}, has: {known}")
    low, high = model.domain
    middles = low + (high - low) * (np.arange(GRID.size) + 0.5) / GRID.size
    unit = unit_means(model, panel, middles)
    if unit.min() < -CURVE_MARGIN or unit.max() > 1 + CURVE_MARGIN:
        bottom, top = panel.reward_range
        raise FitError(
            f"curves must lie in the history's reward_range [{bottom:g}, {top:g}], got means "
            f"from {bottom + (top - bottom) * unit.min():.6g} "
            f"to {bottom + (top - bottom) * unit.max():.6g}"
        )
    return GivenCurves(np.clip(unit, CURVE_MARGIN, 1 - CURVE_MARGIN), (low, high))


def sample_groups(panel: Panel, seed: int) -> Panel:
    """Draw 2,000 random groups of a large panel; they keep their order."""
    chosen = np.random.default_rng(seed).choice(panel.n_groups, SAMPLED_GROUPS, replace=False)
    return panel.take(np.sort(chosen))


def initial_populations(panel: Panel, number: int) -> list[FittedPopulation]:
    """Return starts of the fit, one for each of the first singular vectors of the logits."""
    pooled = _smoothed_pooled_means(panel)
    cells = (panel.counts * panel.means + SMOOTHING_REWARDS * pooled) / (
        panel.counts + SMOOTHING_REWARDS
    )
    deviations = np.where(panel.tried, logit(cells) - logit(pooled), 0.0)
    weight = np.sqrt(panel.counts.mean(axis=0))
    _, values, directions = np.linalg.svd(deviations * weight, full_matrices=False)
    found = []
    for value, direction in list(zip(values, directions, strict=True))[:number]:
        spread = value / np.sqrt(panel.n_groups)
        slopes = spread * direction / np.maximum(weight, 1e-12)
        if _steepest_falls(slopes):
            slopes = -slopes
        found.append(initial_population(panel, logit(pooled), slopes, GRID))
    return found


def average_places(panel: Panel, scale: ArmScale) -> FloatArray:
    """Return the average place of each group's arms, weighted by their rewards: (n_groups,)."""
    assert scale.places is not None
    counts = panel.counts
    return np.asarray(counts @ scale.places / np.maximum(counts.sum(axis=1), 1.0))


def initial_within(panel: Panel, scale: ArmScale) -> FittedPopulation:
    """Return a start whose curves are parallel lines, with the slope inside groups.

    Cells' logits are regressed on the arms' places with one intercept per group; the intercepts
    are the groups' numbers.
    """
    cells = (panel.sums + 0.5) / (panel.counts + 1.0)
    logits, weights = logit(cells), panel.counts * cells * (1 - cells)
    total = np.maximum(weights.sum(axis=1), 1e-300)
    assert scale.places is not None
    centre = weights @ scale.places / total
    x = scale.places - centre[:, None]
    mean = (weights * logits).sum(axis=1) / total
    slope = float((weights * x * (logits - mean[:, None])).sum() / (weights * x * x).sum())
    levels = mean - slope * centre
    spread = max(float(levels.std()), MIN_LEVEL_SPREAD)
    a = levels.mean() + slope * scale.places
    start = initial_population(panel, a, np.full(panel.n_arms, spread), GRID)
    selection = Selection(np.zeros(panel.n_arms), start.weights)
    return _with_selection(panel, start._replace(selection=selection), scale,
                           (levels - levels.mean()) / spread)  # fmt: skip


def _with_selection(
    panel: Panel, fitted: FittedPopulation, scale: ArmScale, z: FloatArray
) -> FittedPopulation:
    """Return the population with the slope of the groups' z on their average places."""
    assert fitted.selection is not None
    assert scale.places is not None
    average = average_places(panel, scale)
    x = average - average.mean()
    slope = float(x @ (z - z.mean()) / max(float(x @ x), 1e-300))
    slopes = slope * (scale.places - average.mean())
    return fitted._replace(selection=fitted.selection._replace(slopes=slopes))


def update_population(
    panel: Panel, posteriors: FloatArray, fitted: FittedPopulation, scale: ArmScale
) -> FittedPopulation:
    """Return the population with new weights, and with a new selection if arms were chosen."""
    if fitted.selection is None:
        return fitted._replace(weights=update_weights(posteriors, fitted))
    fitted = _with_selection(panel, fitted, scale, posteriors @ fitted.grid)
    assert fitted.selection is not None
    shares = panel.counts / np.maximum(panel.counts.sum(axis=1, keepdims=True), 1.0)
    shifts = shares @ fitted.selection.slopes
    # z keeps the variance 1 that fixes its scale: selection explains a part of it.
    left = float(np.sqrt(max(1.0 - float(shifts.var()), MIN_DEVIATION_VARIANCE)))
    own = update_weights(shifted(posteriors, fitted.grid, -shifts), fitted, left)
    found = fitted._replace(selection=Selection(fitted.selection.slopes, own))
    return found._replace(weights=prior_weights(panel, found).mean(axis=0))


def initial_independent(panel: Panel) -> FittedPopulation:
    """Return the start for independent arms: no number is shared, so the grid has one point."""
    a = logit(_smoothed_pooled_means(panel))
    return initial_population(panel, a, np.zeros(panel.n_arms), ONE_POINT)


def initial_population(
    panel: Panel, a: FloatArray, c: FloatArray, grid: FloatArray
) -> FittedPopulation:
    """Return a population with these curves and a first guess of everything else."""
    n_arms = panel.n_arms
    return FittedPopulation(
        a=a,
        c=c,
        rho=np.full(n_arms, INITIAL_RHO),
        phi=np.full(n_arms, 1.0 - INITIAL_RHO if panel.binary else INITIAL_PHI),
        weights=normal_weights(grid),
        grid=grid,
        curves=curve_table(a, c, grid),
        binary=panel.binary,
        shrinkage=Shrinkage(1.0, 1.0),
        edf=0.0,
        n_steps=0,
    )


def _smoothed_pooled_means(panel: Panel) -> FloatArray:
    """Return the pooled means with one pseudo-reward of 1/2, so that logits are finite."""
    counts = panel.counts.sum(axis=0)
    return np.asarray((panel.sums.sum(axis=0) + 0.5) / (counts + 1.0))


def run_em(
    panel: Panel,
    scale: ArmScale,
    start: FittedPopulation,
    max_steps: int,
    *,
    identical_groups: bool = False,
) -> FittedPopulation:
    """Take EM steps until a, c and sqrt(rho) have converged.

    Args:
        panel: The history.
        scale: The places of the arms.
        start: Where to start; the user's own curves are never changed.
        max_steps: Largest number of steps.
        identical_groups: Whether to keep the groups' own errors at their minimum.
    """
    fitted = start
    for _ in range(max_steps):
        before = fitted
        posteriors = responsibilities(panel, fitted)
        if not fitted.given:
            counts = effective_counts(panel, fitted.rho, fitted.phi)
            fitted = improve_curves(
                posteriors.T @ counts, posteriors.T @ (counts * panel.means), fitted, scale
            )
        if fitted.n_steps >= STEPS_WITH_FIXED_WEIGHTS and fitted.grid.size > 1:
            fitted = update_population(panel, posteriors, fitted, scale)
        cells = residuals(panel, posteriors, fitted.curves)
        phi = fitted.phi if panel.binary else update_phi(panel, cells)
        rho = update_rho(panel, cells, fitted.rho, phi, fitted.edf)
        if identical_groups:
            rho = np.full(panel.n_arms, MIN_RHO)
        # The noise of 0/1 rewards around their group's mean follows from rho.
        phi = 1.0 - rho if panel.binary else phi
        fitted = fitted._replace(rho=rho, phi=phi, n_steps=fitted.n_steps + 1)
        converged = _largest_change(before, fitted) < STEP_TOLERANCE
        if fitted.n_steps > STEPS_WITH_FIXED_WEIGHTS and converged:
            break
    return fitted


def _largest_change(before: FittedPopulation, after: FittedPopulation) -> float:
    """Return the largest change of a, c and sqrt(rho)."""
    change = [np.sqrt(after.rho) - np.sqrt(before.rho)]
    if not after.given:
        change += [after.a - before.a, after.c - before.c]
    return float(np.abs(np.concatenate(change)).max())


def responsibilities(panel: Panel, fitted: FittedPopulation) -> FloatArray:
    """E step: return the posterior of every group over the grid, shape (n_groups, n_points).

    The log-likelihood of a group is ``Σ_k m (y log f + (1 - y) log(1 - f))``.
    """
    counts = effective_counts(panel, fitted.rho, fitted.phi)
    successes = counts * panel.means
    log_f, log_not_f = log_curves(fitted)
    with np.errstate(divide="ignore"):
        prior = np.log(prior_weights(panel, fitted))
    logs: FloatArray = np.asarray(prior + successes @ log_f.T + (counts - successes) @ log_not_f.T)
    logs -= logs.max(axis=1, keepdims=True)
    np.exp(logs, out=logs)
    logs /= logs.sum(axis=1, keepdims=True)
    return logs


def improve_curves(
    counts: FloatArray, successes: FloatArray, fitted: FittedPopulation, scale: ArmScale
) -> FittedPopulation:
    """M step: take one Newton step of (a, c) that does not lower the penalised likelihood.

    Args:
        counts: N = w' m, shape (n_points, n_arms).
        successes: S = w' (m y).
        fitted: The population before the step; its shrinkage gives the penalty.
        scale: The places of the arms; deviations from a straight line over it are penalised.
    """
    n_arms = fitted.a.size
    z = fitted.grid
    eye = np.eye(n_arms)
    penalty_a = scale.bends / fitted.shrinkage.tau_a + RIDGE * eye
    penalty_c = scale.bends / fitted.shrinkage.tau_c + RIDGE * eye
    residual = successes - counts * fitted.curves
    information = counts * fitted.curves * (1 - fitted.curves)
    data = np.zeros((2 * n_arms, 2 * n_arms))
    first, second = np.arange(n_arms), np.arange(n_arms, 2 * n_arms)
    data[first, first] = information.sum(axis=0)
    data[second, second] = z**2 @ information
    data[first, second] = data[second, first] = z @ information
    hessian = data.copy()
    hessian[:n_arms, :n_arms] += penalty_a
    hessian[n_arms:, n_arms:] += penalty_c
    gradient = np.concatenate([residual.sum(axis=0), z @ residual])
    gradient -= np.concatenate([penalty_a @ fitted.a, penalty_c @ fitted.c])
    covariance: FloatArray = np.linalg.inv(hessian).astype(np.float64)
    step = covariance @ gradient
    step *= min(1.0, MAX_STEP_LENGTH / max(float(np.abs(step).max()), 1e-300))

    def penalised_likelihood(a: FloatArray, c: FloatArray) -> float:
        logits = a + z[:, None] * c
        likelihood = np.sum(successes * logits - counts * np.logaddexp(0.0, logits))
        return float(likelihood - 0.5 * (a @ penalty_a @ a + c @ penalty_c @ c))

    before = penalised_likelihood(fitted.a, fitted.c)
    step_a, step_c = step[:n_arms], step[n_arms:]
    part = next(
        (
            each
            for each in (0.5**number for number in range(MAX_STEP_HALVINGS))
            if penalised_likelihood(fitted.a + each * step_a, fitted.c + each * step_c) >= before
        ),
        0.0,
    )
    a, c = fitted.a + part * step_a, fitted.c + part * step_c
    edf = float(np.sum(covariance * data)) / n_arms
    taus = [
        update_tau(vector, covariance[block, block], scale)
        for vector, block in ((a, slice(0, n_arms)), (c, slice(n_arms, 2 * n_arms)))
    ]
    return fitted.with_curves(a, c)._replace(shrinkage=Shrinkage(*taus), edf=edf)


def update_tau(vector: FloatArray, covariance: FloatArray, scale: ArmScale) -> float:
    """Return the arms' variance around a straight line, including the vector's uncertainty."""
    if scale.n_bends < 1:
        return 1.0
    bent = float(vector @ scale.bends @ vector) + float(np.sum(scale.bends * covariance))
    return min(max(bent / scale.n_bends, TAU_RANGE[0]), TAU_RANGE[1])


def update_weights(
    posteriors: FloatArray, fitted: FittedPopulation, spread_of_pseudo: float = 1.0
) -> FloatArray:
    """Return the average posterior, smoothed without changing its width.

    Ten pseudo-groups are added. For fitted curves they come from the standard Normal, which fixes
    the scale of z. The user's own curves have their own scale of theta; there the pseudo-groups
    come from the Normal with the mean and the spread of the average posterior.
    """
    grid, n_groups = fitted.grid, posteriors.shape[0]
    average = posteriors.mean(axis=0)
    centre = float(average @ grid)
    spread = float(np.sqrt(average @ (grid - centre) ** 2))
    width = max(MIN_KERNEL_WIDTH, 0.9 * n_groups**-0.2)
    pseudo = normal_weights(grid / spread_of_pseudo)
    if fitted.given:
        step = float(grid[1] - grid[0])
        width = max(width * spread, step)
        pseudo = normal_weights((grid - centre) / max(spread, step))
    # The points are moved towards the centre by what the kernel will widen.
    shrink = np.sqrt(max(0.0, 1.0 - (width / max(spread, 1e-12)) ** 2))
    points = centre + shrink * (grid - centre)
    kernel = np.exp(-0.5 * ((grid[:, None] - points) / width) ** 2)
    smooth = (kernel / kernel.sum(axis=0)) @ average
    return np.asarray((n_groups * smooth + PSEUDO_GROUPS * pseudo) / (n_groups + PSEUDO_GROUPS))


class Residuals(NamedTuple):
    """Expectations per cell under the responsibilities: shape (n_groups, n_arms) each."""

    squared: FloatArray  # R = E_w (y - f)^2
    variance: FloatArray  # V = E_w f (1 - f)


def residuals(panel: Panel, posteriors: FloatArray, curves: FloatArray) -> Residuals:
    """Return the cells' squared distance from the curves, and the Bernoulli variance there."""
    first = posteriors @ curves
    second = posteriors @ curves**2
    squared = np.maximum(panel.means**2 - 2 * panel.means * first + second, 0.0)
    return Residuals(squared, np.maximum(first - second, 1e-300))


def update_phi(panel: Panel, cells: Residuals) -> FloatArray:
    """Return the variance of one reward in units of f (1 - f), shrunk towards the pooled one."""
    degrees = np.maximum(panel.counts - 1, 0.0)
    expected = (degrees * cells.variance).sum(axis=0)
    found = panel.within.sum(axis=0)
    # With one reward per cell, noise and bias are not identified; everything is called bias.
    if expected.sum() <= 0.0:
        return np.full(panel.n_arms, MIN_PHI)
    everywhere = found.sum() / expected.sum()
    freedom = degrees.sum(axis=0)
    own = np.divide(found, expected, out=np.zeros_like(found), where=expected > 0)
    phi = (freedom * own + POOLED_DEGREES * everywhere) / (freedom + POOLED_DEGREES)
    return np.asarray(np.clip(phi, MIN_PHI, 1.0))


def rho_moments(
    panel: Panel, cells: Residuals, rho: FloatArray, phi: FloatArray, edf: float
) -> tuple[FloatArray, FloatArray]:
    """Return numerator and denominator of every arm's rho: shape (n_arms,) each.

    ``rho_k = Σ m² (R G_k / (G_k - edf) - phi V / n) / Σ m² V``. The noise of 0/1 rewards is
    ``(1 - rho) / n``; for them the terms are ``V / n`` above and ``V (1 - 1/n)`` below.
    """
    weight = effective_counts(panel, rho, phi) ** 2
    n = np.maximum(panel.counts, 1.0)
    used = panel.tried.sum(axis=0)
    enlarged = cells.squared * (used / np.maximum(used - edf, 1.0))
    if panel.binary:
        noise, share = cells.variance / n, cells.variance * (1 - 1 / n)
        # A single 0/1 reward carries no information about errors.
        weight = weight * (panel.counts > 1)
    else:
        noise, share = phi * cells.variance / n, cells.variance
    return (weight * (enlarged - noise)).sum(axis=0), (weight * share).sum(axis=0)


def update_rho(
    panel: Panel, cells: Residuals, rho: FloatArray, phi: FloatArray, edf: float
) -> FloatArray:
    """Return the groups' own errors per arm, shrunk towards the pooled value.

    Every arm keeps at least a quarter of the pooled value; otherwise the fit could declare one
    arm exact.
    """
    above, below = rho_moments(panel, cells, rho, phi, edf)
    if below.sum() <= 0.0:
        return np.full(panel.n_arms, MIN_RHO)
    everywhere = above.sum() / below.sum()
    own = np.divide(above, below, out=np.full(below.size, everywhere), where=below > 0)
    used = (panel.counts > 1 if panel.binary else panel.tried).sum(axis=0)
    shrunk = (used * own + POOLED_GROUPS * everywhere) / (used + POOLED_GROUPS)
    floor = max(everywhere / 4, MIN_RHO)
    return np.asarray(np.clip(shrunk, min(floor, MAX_RHO), MAX_RHO))


def with_rising_steepest_arm(fitted: FittedPopulation) -> FittedPopulation:
    """Return the same population, with the sign of z for which the steepest arm rises."""
    if not _steepest_falls(fitted.c):
        return fitted
    selection = fitted.selection
    if selection is not None:
        selection = Selection(-selection.slopes, selection.weights[::-1].copy())
    return fitted._replace(
        c=-fitted.c,
        weights=fitted.weights[::-1].copy(),
        curves=fitted.curves[::-1].copy(),
        selection=selection,
    )


def _steepest_falls(slopes: FloatArray) -> bool:
    return bool(slopes[np.argmax(np.abs(slopes))] < 0)
