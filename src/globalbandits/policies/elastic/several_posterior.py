"""The posterior of two unknown numbers and of the size of the curves' errors.

It is that of `curve_posterior`, with a ridge grid for each size of the errors. For large sizes the
posterior is wider than a coarse cell of the square, so the coarse cells are enough.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.policies.elastic.curve_posterior import (
    FAR_SHARE,
    FAR_VARIANCE,
    MIN_CHANCE,
    NEAR_GROWTH,
    SCALES,
    Sketch,
    error_variance,
    normalise,
)
from globalbandits.policies.shared.divergence import negative_entropy
from globalbandits.policies.shared.noise_variance import Noise
from globalbandits.policies.shared.ridge_grid import (
    N_COARSE,
    NEVER,
    Box,
    Density,
    Grid,
    build_box,
    cell_middle,
    derive_prior,
    lay_grid,
    log_density,
    log_prior,
    no_density,
    no_grid,
    scan_coarse,
)
from globalbandits.policies.shared.ridge_posterior import unit_prior
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import VectorModel

N_SLICES, N_INNER = 17, 5
# Sizes of errors from here on use the coarse cells.
WIDE_SCALE = 0.08


class SeveralPrior(NamedTuple):
    """The curves on the unit square, with prior weights of the errors' sizes.

    The arrays over coarse cells have the names that `guess_means` reads.
    """

    box: Box
    means: FloatArray  # (n_cells, n_arms)
    log_odds: FloatArray  # (n_cells, n_arms)
    log_misses: FloatArray  # (n_cells, n_arms)
    log_thetas: FloatArray  # (n_cells,) logarithm of the prior density
    narrow: bool  # whether the prior is narrower than a coarse cell
    relative: FloatArray  # (n_arms,) as in `Prior`
    scales: FloatArray  # (n_scales,)
    log_weights: FloatArray  # (n_scales,)


class SeveralFit(NamedTuple):
    """The posterior of the scales, and of the curves and numbers given each scale."""

    scale_weights: FloatArray  # (n_scales,)
    means: FloatArray  # (n_arms, n_scales) of mu_k
    variances: FloatArray  # (n_arms, n_scales)
    moments: FloatArray  # (n_scales, 4) means of x, y and of their squares
    grid: Grid
    density: Density
    logs: FloatArray  # (max_points,)
    sums: FloatArray  # (2, n_arms) scratch array: sums of the curves and of their squares
    sketch: Sketch


def build_several_prior(
    model: "VectorModel",
    weights: tuple[float, ...],
    relative: tuple[float, ...] | None,
) -> SeveralPrior:
    """Return the curves of one model; the arguments are those of `build_prior`."""
    box = build_box(model.tables, n_slices=N_SLICES, n_inner=N_INNER, prior=unit_prior(model))
    chances = np.clip(box.coarse, MIN_CHANCE, 1.0 - MIN_CHANCE)
    log_misses = np.log1p(-chances)
    mass = np.array(weights)
    used = mass > 0.0
    sizes = np.ones(model.n_arms) if relative is None else np.array(relative)
    cells = range(len(box.coarse))
    log_thetas = np.array([log_prior(box, *cell_middle(cell)) for cell in cells])
    local = np.zeros(6)
    derive_prior(box, *cell_middle(int(log_thetas.argmax())), local)
    return SeveralPrior(
        box=box,
        means=box.coarse,
        log_odds=np.log(chances) - log_misses,
        log_misses=log_misses,
        log_thetas=log_thetas,
        narrow=bool(max(local[3], local[5]) > N_COARSE**2),
        relative=sizes * sizes,
        scales=np.array(SCALES)[used],
        log_weights=np.log(mass[used] / np.sum(mass)),
    )


def no_several_fit(prior: SeveralPrior) -> SeveralFit:
    """An empty fit."""
    n_cells, n_arms = prior.means.shape
    n_scales = prior.scales.shape[0]
    grid = no_grid(prior.box)
    return SeveralFit(
        scale_weights=np.zeros(n_scales),
        means=np.zeros((n_arms, n_scales)),
        variances=np.zeros((n_arms, n_scales)),
        moments=np.zeros((n_scales, 4)),
        grid=grid,
        density=no_density(n_arms),
        logs=np.zeros(len(grid.points)),
        sums=np.zeros((2, n_arms)),
        sketch=Sketch(
            means=np.zeros(n_arms),
            factors=np.zeros(n_arms),
            own=np.zeros(n_arms),
            rewards=np.zeros(n_arms),
            logs=np.zeros(n_cells),
        ),
    )


def fit_several(
    prior: SeveralPrior, exception: float, stats: Statistics, noise: Noise, fit: SeveralFit
) -> None:
    """Fit the posterior to the statistics; the arguments are those of `fit_errors`."""
    grid, density, logs = fit.grid, fit.density, fit.logs
    top = -math.inf
    mass = 0.0
    for i in range(prior.scales.shape[0]):
        is_wide = prior.scales[i] >= WIDE_SCALE and not prior.narrow
        if (
            i > 0
            and stats.total[0] == 0
            and is_wide == (prior.scales[i - 1] >= WIDE_SCALE and not prior.narrow)
        ):
            # Without rewards all sizes have the same posterior. Plain Python takes long to lay it.
            copy_scale(fit, i - 1, i)
            fit.scale_weights[i] = prior.log_weights[i] + top + math.log(mass)
            continue
        log = prior.log_weights[i]
        log += set_density(prior, exception, stats, noise, fit, prior.scales[i])
        clear_sums(fit, i)
        top = -math.inf
        mass = 0.0
        if is_wide:
            n_cells = prior.means.shape[0]
            top = grid.seen[scan_coarse(prior.box, density, grid)]
            for cell in range(n_cells):
                x, y = cell_middle(cell)
                weight = math.exp(grid.seen[cell] - top) / n_cells
                mass += weight
                add_point(fit, i, weight, x, y, prior.means[cell])
        else:
            lay_grid(prior.box, density, grid)
            for point in range(grid.n_points[0]):
                x, y = grid.points[point, 0], grid.points[point, 1]
                logs[point] = grid.log_areas[point]
                logs[point] += log_density(prior.box, density, grid.means[point], x, y)
                top = max(top, logs[point])
            for point in range(grid.n_points[0]):
                weight = math.exp(logs[point] - top)
                mass += weight
                add_point(
                    fit, i, weight, grid.points[point, 0], grid.points[point, 1], grid.means[point]
                )
        for arm in range(stats.counts.shape[0]):
            mean = fit.sums[0, arm] / mass
            fit.means[arm, i] = mean
            fit.variances[arm, i] = max(0.0, fit.sums[1, arm] / mass - mean * mean)
        for j in range(fit.moments.shape[1]):
            fit.moments[i, j] /= mass
        fit.scale_weights[i] = log + top + math.log(mass)
    normalise(fit.scale_weights)


def copy_scale(fit: SeveralFit, source: int, target: int) -> None:
    """Copy curves and numbers given one scale to another scale."""
    for arm in range(fit.means.shape[0]):
        fit.means[arm, target] = fit.means[arm, source]
        fit.variances[arm, target] = fit.variances[arm, source]
    for j in range(fit.moments.shape[1]):
        fit.moments[target, j] = fit.moments[source, j]


def set_density(
    prior: SeveralPrior,
    exception: float,
    stats: Statistics,
    noise: Noise,
    fit: SeveralFit,
    scale: float,
) -> float:
    """Set the density for one scale, and return the part of its logarithm without the numbers."""
    density = fit.density
    log = 0.0
    near, far = NEVER, NEVER
    if exception > 0.0:
        near = math.log(exception * (1.0 - FAR_SHARE) / (1.0 - exception))
        far = math.log(exception * FAR_SHARE / (1.0 - exception))
    for arm in range(stats.counts.shape[0]):
        count = stats.counts[arm]
        density.weights[arm] = 0.0
        density.odds[arm] = NEVER
        density.far_odds[arm] = NEVER
        if count > 0:
            own = stats.sums[arm] / count
            error = scale * scale * prior.relative[arm] * fit.sketch.factors[arm]
            spread = error + noise.variances[arm] / count
            wide = spread + error_variance(fit.sketch.means[arm], NEAR_GROWTH)
            widest = spread + FAR_VARIANCE
            log -= 0.5 * math.log(spread)
            density.own[arm] = own
            density.entropies[arm] = negative_entropy(own)
            density.weights[arm] = noise.bernoulli[arm] / spread
            density.wide[arm] = noise.bernoulli[arm] / wide
            density.far_precisions[arm] = 1.0 / widest
            if exception > 0.0:
                density.odds[arm] = near - 0.5 * math.log(wide / spread)
                density.far_odds[arm] = far - 0.5 * math.log(widest / spread)
    return log


def clear_sums(fit: SeveralFit, scale: int) -> None:
    """Start the sums of one scale."""
    for arm in range(fit.sums.shape[1]):
        fit.sums[0, arm] = 0.0
        fit.sums[1, arm] = 0.0
    for j in range(fit.moments.shape[1]):
        fit.moments[scale, j] = 0.0


def add_point(
    fit: SeveralFit, scale: int, weight: float, x: float, y: float, means: FloatArray
) -> None:
    """Add a point of the square to the sums of one scale."""
    moments, first, second = fit.moments[scale], fit.sums[0], fit.sums[1]
    moments[0] += weight * x
    moments[1] += weight * y
    moments[2] += weight * x * x
    moments[3] += weight * y * y
    for arm in range(means.shape[0]):
        term = weight * means[arm]
        first[arm] += term
        second[arm] += term * means[arm]
