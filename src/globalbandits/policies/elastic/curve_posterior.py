"""The posterior of the parameter and of the size of the curves' errors, on a grid.

The mean of arm k is ``mu_k(theta) + b_k``. Errors have one size on the log-odds scale, where an
error e moves a mean m by about ``m (1 - m) e``. So the error ``b_k`` is Normal with mean 0 and
variance ``s**2 r_k**2 f_k``, where r_k is known (1 by default) and ``f_k = (4 m (1 - m))**2`` at a
first guess m of the curve's mean. One arm may be an exception, whose error has a variance larger
by z_k. Given the arms' mean rewards x_k, the weight of (s, theta) is ::

    prior(s) * prior(theta) * prod_k w_k**(-1/2) * exp(-g_k / (2 w_k)),
    w_k = s**2 r_k**2 f_k + v_k / N_k

times the odds of the arm that is most likely the exception, if they are above 1. Here v_k is the
variance of the rewards of arm k, N_k their number, and g_k the squared gap between x_k and
``mu_k(theta)``. It is measured by the divergence of Bernoulli rewards, ``g_k = 2 u_k
kl(x_k, mu_k(theta))``, where u_k is the variance that Bernoulli rewards would have. For means far
from 0 and 1 this is the square of the difference. For exact curves (s = 0) and Bernoulli rewards
the weight is the exact likelihood: no success in 50 rounds is weak evidence against a mean of 3 %.
If the curve of an exception carries no information, z_k is .1 and g_k is the plain square.

An index needs the weights of the scales s, and the mean and variance of ``mu_k(theta)`` given each
s.
"""

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, require
from globalbandits.errors import PolicyError
from globalbandits.policies.shared.divergence import negative_entropy
from globalbandits.policies.shared.noise_variance import Noise, guess_mean
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


# The grid, with priors of the parameter and of the scales.

# Sizes s of the errors: standard deviations on the unit reward scale of an arm with mean 1/2. There
# one unit is four units of log-odds.
SCALES = (0.0, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
N_SCALES = len(SCALES)
EQUAL_WEIGHTS = (1.0,) * N_SCALES
# Four fifths for exact curves. A short game is over before large errors can be found.
LONG_GAME_WEIGHTS = (0.8,) + (0.025,) * (N_SCALES - 1)
SHORT_GAME_WEIGHTS = (0.8, 0.04, 0.04, 0.035, 0.03, 0.025, 0.02, 0.007, 0.003)
N_CELLS = 2016  # of the parameter's domain
# The parameter may lie outside of the domain, by up to its length. There the log-odds of the means
# continue on straight lines. Each side has this many cells, as wide as this many of those inside.
# Before any reward the ends of the domain are then ends of blocks of the fine pass.
N_OUTER_CELLS, OUTER_WIDTH = 504, 4
# Of the prior, relative to that at the end of the domain. With .05 a parameter outside explained
# rewards that only errors explain, and a fifth of the runs with such curves stayed with a bad arm.
OUTSIDE_DENSITY = 0.01
N_SLOPE_CELLS = 20  # of the domain, at its end, that give the slope of a line
MAX_OUTSIDE_LOG_ODDS = 2.0  # distance of a line from its start
# Few enough that the coarse pass has a point in each part of a prior of the parameter.
MAX_PRIOR_PARTS = 20
# Relative to the largest weight, so that no part of the domain is impossible.
MIN_PART_WEIGHT = 1e-6
N_COARSE, N_FINE = 32, 48  # points at which a scale's weight is computed in each pass

# Means nearer to 0 or 1 have no useful likelihood.
MIN_CHANCE = 1e-4

# The first guess of the means uses the middle cell of blocks of this size, and at most this many
# rewards per arm.
SKETCH_STRIDE = 75
SKETCH_MAX_REWARDS = 100.0

# Smallest m (1 - m) of an arm in the size of its error.
MIN_ERROR_BOUND = 0.002


class Prior(NamedTuple):
    """The curves on a grid, with prior weights of the parameter and of the errors' sizes."""

    means: FloatArray  # (n_cells, n_arms) mu_k at the middle of each cell, also outside the domain
    log_odds: FloatArray  # (n_cells, n_arms) of the means
    log_misses: FloatArray  # (n_cells, n_arms) logarithm of 1 minus the mean
    thetas: FloatArray  # (n_cells,) the middles; the nearest end outside the domain
    log_thetas: FloatArray  # (n_cells,) logarithm of the prior weight
    masses: FloatArray  # (n_cells + 1,) prior weight of all cells before each
    relative: FloatArray  # (n_arms,) r_k**2: arm k's error has the standard deviation s r_k
    scales: FloatArray  # (n_scales,) s
    log_weights: FloatArray  # (n_scales,)
    n_coarse: int
    n_fine: int


class Sketch(NamedTuple):
    """A first guess of the curves, with its scratch arrays."""

    means: FloatArray  # (n_arms,) of the curves
    factors: FloatArray  # (n_arms,) f_k
    own: FloatArray  # (n_arms,) mean reward
    rewards: FloatArray  # (n_arms,) number of rewards used
    logs: FloatArray  # (n_sketch,) of the weight of each cell


def no_sketch(prior: Prior) -> Sketch:
    """Empty arrays."""
    n_cells, n_arms = prior.means.shape
    n_rows = n_cells // SKETCH_STRIDE
    return Sketch(
        means=np.zeros(n_arms),
        factors=np.zeros(n_arms),
        own=np.zeros(n_arms),
        rewards=np.zeros(n_arms),
        logs=np.zeros(n_rows),
    )


def default_weights(share: float) -> tuple[float, ...]:
    """Return the default weights of the scales for a horizon that is this share of a long one.

    >>> default_weights(1.0) == LONG_GAME_WEIGHTS, default_weights(0.0) == SHORT_GAME_WEIGHTS
    (True, True)
    """
    pairs = zip(LONG_GAME_WEIGHTS, SHORT_GAME_WEIGHTS, strict=True)
    return tuple(share * long + (1.0 - share) * short for long, short in pairs)


def as_weights(name: str, value: Any, least: int, most: int) -> tuple[float, ...]:
    """Return the value as ``least`` to ``most`` weights of at least 0, not all 0.

    >>> as_weights("prior", [1, 0, 1], 2, 3)
    (1.0, 0.0, 1.0)
    """
    number = f"{least}" if least == most else f"{least} to {most}"
    weights = as_numbers(name, value, f"{number} weights")
    valid = least <= len(weights) <= most and min(weights) >= 0.0 and sum(weights) > 0.0
    require(valid, name, f"be {number} weights of at least 0, not all 0", value, PolicyError)
    return weights


def as_numbers(name: str, value: Any, what: str) -> tuple[float, ...]:
    """Return the value as a tuple of finite numbers."""
    try:
        return tuple(as_float(name, number, PolicyError) for number in value)
    except TypeError:
        raise PolicyError(f"{name} must be {what}, got {value!r}") from None


def build_prior(
    model: "RewardModel",
    weights: tuple[float, ...],
    theta_weights: tuple[float, ...] = (1.0,),
    relative: tuple[float, ...] | None = None,
) -> Prior:
    """Return the grid of one model.

    Args:
        model: the curves.
        weights: weights of the scales. They need not sum to 1.
        theta_weights: weights of equal parts of the parameter's domain. They need not sum to 1.
            The prior is linear between the middles of the parts.
        relative: r_k for each arm; None for 1.
    """
    (low, high), (least, most) = model.domain, model.reward_range
    inside = low + (high - low) * (np.arange(N_CELLS) + 0.5) / N_CELLS
    means = widen((model.means(inside) - least) / (most - least))
    # An estimate of the parameter stays in the domain.
    thetas = np.pad(inside, N_OUTER_CELLS, constant_values=(low, high))
    parts = np.array(theta_weights) / max(theta_weights)
    middles = low + (high - low) * (np.arange(len(parts)) + 0.5) / len(parts)
    log_thetas = np.log(np.maximum(np.interp(thetas, middles, parts), MIN_PART_WEIGHT))
    outside = np.log(OUTSIDE_DENSITY * OUTER_WIDTH)
    log_thetas[:N_OUTER_CELLS] += outside
    log_thetas[-N_OUTER_CELLS:] += outside
    mass = np.array(weights)
    used = mass > 0.0
    sizes = np.ones(model.n_arms) if relative is None else np.array(relative)
    chances = np.clip(means, MIN_CHANCE, 1.0 - MIN_CHANCE)
    log_misses = np.log1p(-chances)
    return Prior(
        means=means,
        log_odds=np.log(chances) - log_misses,
        log_misses=log_misses,
        thetas=thetas,
        log_thetas=log_thetas,
        masses=np.append(0.0, np.cumsum(np.exp(log_thetas))),
        relative=sizes * sizes,
        scales=np.array(SCALES)[used],
        log_weights=np.log(mass[used] / np.sum(mass)),
        n_coarse=N_COARSE,
        n_fine=N_FINE,
    )


def widen(means: FloatArray) -> FloatArray:
    """Continue means beyond both ends of the domain, on straight lines of their log-odds.

    >>> wide = widen(np.linspace(0.3, 0.4, N_CELLS)[:, None])
    >>> wide.shape, np.round(wide[[0, N_OUTER_CELLS, -1], 0], 2).tolist()
    ((3024, 1), [0.21, 0.3, 0.5])
    """
    chances = np.clip(means, MIN_CHANCE, 1.0 - MIN_CHANCE)
    log_odds = np.log(chances) - np.log1p(-chances)
    steps = OUTER_WIDTH * (np.arange(N_OUTER_CELLS) + 0.5)[:, None] / N_SLOPE_CELLS
    lines = []
    for end, inner in ((0, N_SLOPE_CELLS), (-1, -1 - N_SLOPE_CELLS)):
        rise = steps * (log_odds[end] - log_odds[inner])
        reached = log_odds[end] + np.clip(rise, -MAX_OUTSIDE_LOG_ODDS, MAX_OUTSIDE_LOG_ODDS)
        lines.append(1.0 / (1.0 + np.exp(-reached)))
    return np.concatenate([lines[0][::-1], means, lines[1]])


def guess_means(prior: Any, stats: Statistics, noise: Noise, memory: Sketch) -> None:
    """Guess the arms' means before the variances of rewards are known, and size their errors.

    The curves are averaged over a few cells, with the likelihood of Bernoulli rewards. Then each
    arm's own rewards are added.
    """
    n_arms = stats.counts.shape[0]
    own, rewards, logs = memory.own, memory.rewards, memory.logs
    stride = prior.means.shape[0] // logs.shape[0]
    for arm in range(n_arms):
        noise.guesses[arm] = 0.0
        own[arm] = 0.0
        rewards[arm] = 0.0
        count = float(stats.counts[arm])
        if count > 0.0:
            own[arm] = stats.sums[arm] / count
            rewards[arm] = min(SKETCH_MAX_REWARDS, count)
    top = -math.inf
    for row in range(logs.shape[0]):
        cell = row * stride + stride // 2
        log = prior.log_thetas[cell]
        for arm in range(n_arms):
            log += rewards[arm] * (
                own[arm] * prior.log_odds[cell, arm] + prior.log_misses[cell, arm]
            )
        logs[row] = log
        top = max(top, log)
    mass = 0.0
    for row in range(logs.shape[0]):
        cell = row * stride + stride // 2
        weight = math.exp(logs[row] - top)
        mass += weight
        for arm in range(n_arms):
            noise.guesses[arm] += weight * prior.means[cell, arm]
    for arm in range(n_arms):
        mean = noise.guesses[arm] / mass
        root = 4.0 * max(mean * (1.0 - mean), MIN_ERROR_BOUND)
        memory.means[arm] = mean
        memory.factors[arm] = root * root
        # Rewards that are rarely above 0 show their variance late.
        noise.rarities[arm] = 1.0 / root
        noise.guesses[arm] = guess_mean(stats, arm, mean)


# The weights of one scale on the cells that matter, by a coarse and a fine pass.
#
# A pass divides a window of cells into blocks of equal size, and uses the middle cell of each
# block.

# There are two kinds of exceptions. The curve of a near one is badly wrong by this much in
# log-odds, which moves a mean of 1/2 by .12.
NEAR_LOG_ODDS = 0.5
NEAR_GROWTH = math.expm1(NEAR_LOG_ODDS)  # of the odds
# The curve of a far one carries no information. Its error has this variance for every mean.
FAR_VARIANCE = 0.1
FAR_SHARE = 0.1  # of all exceptions
# Blocks whose weight is below exp(-14) of the largest are left out.
WINDOW_NATS = 14.0


class Gaps(NamedTuple):
    """Squared gaps between mean rewards and curves, in the blocks of one window."""

    window: IntArray  # (4,) first cell, size of a block, end cell, number of blocks
    gaps: FloatArray  # (n_arms, n_points) g_k, by place in `Scan`, then by block
    largest: FloatArray  # (n_arms,) g_k in any block
    squares: FloatArray  # (n_arms, n_points) of the differences, in the same order
    logs: FloatArray  # (n_points,) of the prior weight of each block


def error_variance(mean: float, growth: float) -> float:
    """Return the variance of an error in log-odds: the square of what it adds to the mean.

    Small means gain more from an error than they lose, and what an arm may gain decides whether
    it is worth a test.

    Args:
        mean: of the curve.
        growth: of the odds, minus 1.

    >>> round(error_variance(0.5, NEAR_GROWTH), 3), round(error_variance(0.03, NEAR_GROWTH), 5)
    (0.015, 0.00034)
    """
    gain = max(mean * (1.0 - mean), MIN_ERROR_BOUND) * growth / (1.0 + mean * growth)
    return gain * gain


class Scan(NamedTuple):
    """Scratch arrays of one scale: the arms with rewards, and the cells of the passes.

    Of the arrays over arms only the first entries are used, one for each arm with rewards.
    """

    arms: IntArray  # (n_arms,)
    means: FloatArray  # (n_arms,) mean reward x_k
    entropies: FloatArray  # (n_arms,) of Bernoulli rewards with that mean, times -1
    bernoulli: FloatArray  # (n_arms,) u_k
    noise: FloatArray  # (n_arms,) v_k / N_k
    relative: FloatArray  # (n_arms,) f_k r_k**2
    sizes: FloatArray  # (n_arms,) z_k
    precisions: FloatArray  # (n_arms,) 1 / (2 w_k)
    gains: FloatArray  # (n_arms,) the precision minus that of a near exception
    odds: FloatArray  # (n_arms,) logarithm of the odds of a near exception without a gap
    far_precisions: FloatArray  # (n_arms,) of a far exception
    far_odds: FloatArray  # (n_arms,) logarithm of the odds of a far exception without a gap
    coarse: Gaps  # of the first pass, the same for all scales
    fine: Gaps  # of the last pass, often the same as for the scale before
    best_odds: FloatArray  # (n_points,) of the likeliest exception, by block


def no_scan(prior: Prior) -> Scan:
    """Empty scratch arrays."""
    n_arms = prior.means.shape[1]
    return Scan(
        arms=np.zeros(n_arms, np.int64),
        means=np.zeros(n_arms),
        entropies=np.zeros(n_arms),
        bernoulli=np.zeros(n_arms),
        noise=np.zeros(n_arms),
        relative=np.zeros(n_arms),
        sizes=np.zeros(n_arms),
        precisions=np.zeros(n_arms),
        gains=np.zeros(n_arms),
        odds=np.zeros(n_arms),
        far_precisions=np.zeros(n_arms),
        far_odds=np.zeros(n_arms),
        coarse=_no_gaps(n_arms, prior.n_coarse),
        fine=_no_gaps(n_arms, prior.n_fine),
        best_odds=np.zeros(prior.n_fine),
    )


def _no_gaps(n_arms: int, n_points: int) -> Gaps:
    shape = (n_arms, n_points)
    return Gaps(
        window=np.zeros(4, np.int64),
        gaps=np.zeros(shape),
        largest=np.zeros(n_arms),
        squares=np.zeros(shape),
        logs=np.zeros(n_points),
    )


def list_pulled_arms(
    prior: Prior, stats: Statistics, noise: Noise, sketch: Sketch, scan: Scan
) -> int:
    """Start a scan: list the arms with rewards, and return their number."""
    clear_scan(scan)
    n_pulled = 0
    for arm in range(stats.counts.shape[0]):
        count = stats.counts[arm]
        if count > 0:
            scan.arms[n_pulled] = arm
            scan.means[n_pulled] = stats.sums[arm] / count
            scan.entropies[n_pulled] = negative_entropy(scan.means[n_pulled])
            scan.bernoulli[n_pulled] = noise.bernoulli[arm]
            scan.noise[n_pulled] = noise.variances[arm] / count
            scan.relative[n_pulled] = prior.relative[arm] * sketch.factors[arm]
            scan.sizes[n_pulled] = error_variance(sketch.means[arm], NEAR_GROWTH)
            n_pulled += 1
    return n_pulled


def clear_scan(scan: Scan) -> None:
    """Set all arrays to zero."""
    scan.arms[:] = 0
    for array in (
        scan.means,
        scan.entropies,
        scan.bernoulli,
        scan.noise,
        scan.relative,
        scan.sizes,
        scan.precisions,
        scan.gains,
        scan.odds,
        scan.far_precisions,
        scan.far_odds,
        scan.best_odds,
        scan.coarse.logs,
        scan.coarse.largest,
        scan.fine.logs,
        scan.fine.largest,
    ):
        array[:] = 0.0
    for gaps in (scan.coarse, scan.fine):
        gaps.window[:] = 0
        gaps.gaps[:] = 0.0
        gaps.squares[:] = 0.0


def set_precisions(scan: Scan, n_pulled: int, scale: float, exception: float) -> float:
    """Set the precisions for one scale, and return the part of the log weight without theta."""
    log = 0.0
    near = -math.inf
    far = -math.inf
    if exception > 0.0:
        near = math.log(exception * (1.0 - FAR_SHARE) / (1.0 - exception))
        far = math.log(exception * FAR_SHARE / (1.0 - exception))
    for k in range(n_pulled):
        spread = scale * scale * scan.relative[k] + scan.noise[k]
        wide = spread + scan.sizes[k]
        log -= 0.5 * math.log(spread)
        scan.precisions[k] = 0.5 / spread
        scan.gains[k] = 0.5 / spread - 0.5 / wide
        scan.odds[k] = near - 0.5 * math.log(wide / spread)
        widest = spread + FAR_VARIANCE
        scan.far_precisions[k] = 0.5 / widest
        scan.far_odds[k] = far - 0.5 * math.log(widest / spread)
    return log


def find_window(
    prior: Prior, scan: Scan, n_pulled: int, window: IntArray, logs: FloatArray
) -> float:
    """Compute log weights on the few cells that matter, and return the largest.

    A coarse pass over the domain finds these cells. Finer passes follow while the posterior may
    be narrower than the distance between points.
    """
    low = 0
    high = prior.thetas.shape[0]
    n_points = prior.n_coarse
    gaps = scan.coarse
    while True:
        stride = (high - low + n_points - 1) // n_points
        # A block with an odd number of cells has a middle cell.
        stride += 1 - stride % 2
        n_blocks = (high - low + stride - 1) // stride
        window[0] = low
        window[1] = stride
        window[2] = high
        window[3] = n_blocks
        compute_gaps(prior, scan, n_pulled, window, gaps)
        top = compute_log_weights(scan, n_pulled, gaps, logs)
        first = 0
        while logs[first] < top - WINDOW_NATS:
            first += 1
        last = n_blocks - 1
        while logs[last] < top - WINDOW_NATS:
            last -= 1
        done = n_points == prior.n_fine and 4 * (last - first + 1) >= n_blocks
        if done or stride == 1:
            return top
        high = min(high, low + (last + 2) * stride)
        low = max(low, low + (first - 1) * stride)
        n_points = prior.n_fine
        gaps = scan.fine


def compute_gaps(prior: Prior, scan: Scan, n_pulled: int, window: IntArray, gaps: Gaps) -> None:
    """Compute the squared gaps in the blocks of a window, unless the window is unchanged."""
    same = True
    for i in range(4):
        same = same and gaps.window[i] == window[i]
        gaps.window[i] = window[i]
    if same:
        return
    # Local names save look-ups in compiled code.
    own, arms, squares, logs = scan.means, scan.arms, gaps.squares, gaps.logs
    means, log_odds, log_misses = prior.means, prior.log_odds, prior.log_misses
    entropies, bernoulli = scan.entropies, scan.bernoulli
    for k in range(n_pulled):
        gaps.largest[k] = 0.0
    for j in range(window[3]):
        cell = block_middle(window, j)
        # The prior jumps at the ends of the domain, which may lie inside a block.
        logs[j] = math.log(block_mass(prior, window, j))
        for k in range(n_pulled):
            arm = arms[k]
            divergence = entropies[k] - own[k] * log_odds[cell, arm] - log_misses[cell, arm]
            gaps.gaps[k, j] = 2.0 * bernoulli[k] * divergence
            gaps.largest[k] = max(gaps.largest[k], gaps.gaps[k, j])
            gap = own[k] - means[cell, arm]
            squares[k, j] = gap * gap


def compute_log_weights(scan: Scan, n_pulled: int, gaps: Gaps, logs: FloatArray) -> float:
    """Compute log weights of the blocks for one scale, and return the largest.

    The inner loop runs over blocks. It has no running sum, so the compiler can vectorise it.
    """
    squares, priors, odds = gaps.squares, gaps.logs, scan.best_odds
    all_gaps = gaps.gaps
    n_blocks = gaps.window[3]
    for j in range(n_blocks):
        logs[j] = priors[j]
        odds[j] = 0.0
    for k in range(n_pulled):
        precision = scan.precisions[k]
        gain = scan.gains[k]
        near = scan.odds[k]
        far_precision = scan.far_precisions[k]
        far = scan.far_odds[k]
        for j in range(n_blocks):
            gap = all_gaps[k, j]
            logs[j] -= gap * precision
            odds[j] = max(odds[j], gap * gain + near)
        # In most windows no gap is large enough for a far exception.
        if gaps.largest[k] * precision + far > 0.0:
            for j in range(n_blocks):
                gap = all_gaps[k, j]
                odds[j] = max(odds[j], gap * precision - squares[k, j] * far_precision + far)
    top = -math.inf
    for j in range(n_blocks):
        logs[j] += odds[j]
        top = max(top, logs[j])
    return top


def block_middle(window: IntArray, block: int) -> int:
    """Return the middle cell of a block."""
    start = window[0] + block * window[1]
    return int((start + min(start + window[1], window[2]) - 1) // 2)


def block_size(window: IntArray, block: int) -> int:
    """Return the number of cells of a block. The last block may be shorter."""
    start = window[0] + block * window[1]
    return int(min(start + window[1], window[2]) - start)


def block_mass(prior: Prior, window: IntArray, block: int) -> float:
    """Return the prior weight of a block."""
    start = window[0] + block * window[1]
    end = min(start + window[1], window[2])
    return float(prior.masses[end] - prior.masses[start])


# The fit: all scales together.


class Fit(NamedTuple):
    """The posterior of the scales, and of the curves given each scale."""

    scale_weights: FloatArray  # (n_scales,)
    means: FloatArray  # (n_arms, n_scales) of mu_k(theta)
    variances: FloatArray  # (n_arms, n_scales)
    theta: FloatArray  # (1,) posterior mean of the parameter
    thetas: FloatArray  # (n_scales,) the same given each scale
    windows: IntArray  # (n_scales, 4) first cell, stride, end cell and points of the last pass
    weights: FloatArray  # (n_scales, n_fine) of those points, relative to the largest
    scan: Scan  # scratch arrays of the passes
    first: FloatArray  # (n_arms,) scratch array: sums of the curves
    second: FloatArray  # (n_arms,) scratch array: sums of their squares
    sketch: Sketch  # a first guess of the curves


def no_fit(prior: Prior) -> Fit:
    """An empty fit."""
    n_arms, n_scales = prior.means.shape[1], prior.scales.shape[0]
    return Fit(
        scale_weights=np.zeros(n_scales),
        means=np.zeros((n_arms, n_scales)),
        variances=np.zeros((n_arms, n_scales)),
        theta=np.zeros(1),
        thetas=np.zeros(n_scales),
        windows=np.zeros((n_scales, 4), np.int64),
        weights=np.zeros((n_scales, prior.n_fine)),
        scan=no_scan(prior),
        first=np.zeros(n_arms),
        second=np.zeros(n_arms),
        sketch=no_sketch(prior),
    )


def fit_errors(prior: Prior, exception: float, stats: Statistics, noise: Noise, fit: Fit) -> None:
    """Fit the posterior to the statistics.

    Args:
        prior: the grid.
        exception: the prior probability that an arm is the exception; 0 for none.
        stats: the rewards.
        noise: variances of the arms' rewards.
        fit: has the first guess of the curves, and receives the result.
    """
    n_scales = prior.scales.shape[0]
    n_arms = stats.counts.shape[0]
    n_pulled = list_pulled_arms(prior, stats, noise, fit.sketch, fit.scan)
    # Local names save look-ups in compiled code.
    means, thetas, first, second = prior.means, fit.thetas, fit.first, fit.second
    for i in range(n_scales):
        log = prior.log_weights[i] + set_precisions(fit.scan, n_pulled, prior.scales[i], exception)
        window = fit.windows[i]
        weights = fit.weights[i]
        top = find_window(prior, fit.scan, n_pulled, window, weights)
        mass = 0.0
        theta = 0.0
        for arm in range(n_arms):
            first[arm] = 0.0
            second[arm] = 0.0
        for j in range(window[3]):
            cell = block_middle(window, j)
            weight = math.exp(weights[j] - top)
            weights[j] = weight
            mass += weight
            theta += weight * prior.thetas[cell]
            for arm in range(n_arms):
                mean = means[cell, arm]
                first[arm] += weight * mean
                second[arm] += weight * mean * mean
        for j in range(window[3], weights.shape[0]):
            # An earlier pass may have left numbers here.
            weights[j] = 0.0
        thetas[i] = theta / mass
        for arm in range(n_arms):
            mean = first[arm] / mass
            fit.means[arm, i] = mean
            fit.variances[arm, i] = max(0.0, second[arm] / mass - mean * mean)
        fit.scale_weights[i] = log + top + math.log(mass)
    normalise(fit.scale_weights)
    fit.theta[0] = 0.0
    for i in range(n_scales):
        fit.theta[0] += fit.scale_weights[i] * thetas[i]


def estimate_theta(stats: Statistics, fit: Fit) -> float:
    """Return the posterior mean of the parameter at the last fit; nan before any reward."""
    if stats.total[0] == 0:
        return math.nan
    return float(fit.theta[0])


def normalise(logs: FloatArray) -> None:
    """Turn log weights into weights that sum to 1, in place."""
    top = -math.inf
    for i in range(logs.shape[0]):
        top = max(top, logs[i])
    total = 0.0
    for i in range(logs.shape[0]):
        logs[i] = math.exp(logs[i] - top)
        total += logs[i]
    for i in range(logs.shape[0]):
        logs[i] /= total
