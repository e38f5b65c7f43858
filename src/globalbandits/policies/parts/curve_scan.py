"""The weights of one scale on the cells of a grid that matter, by a coarse and a fine pass.

A pass divides a window of cells into blocks of equal size, and uses the middle cell of each block.
"""

import math
from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.policies.parts.curve_grid import Prior
from globalbandits.statistics import Statistics

EXCEPTION_VARIANCE = 0.015  # z, of the error of an arm whose curve is badly wrong
# Blocks whose weight is below exp(-14) of the largest are left out.
WINDOW_NATS = 14.0


class Gaps(NamedTuple):
    """Squared gaps between mean rewards and curves, in the blocks of one window."""

    window: IntArray  # (4,) first cell, size of a block, end cell, number of blocks
    squares: FloatArray  # (n_arms, n_points) by place in `Scan`, then by block
    logs: FloatArray  # (n_points,) of the prior weight of the parameter


class Scan(NamedTuple):
    """Scratch arrays of one scale: the arms with rewards, and the cells of the passes.

    Of the arrays over arms only the first entries are used, one for each arm with rewards.
    """

    arms: IntArray  # (n_arms,)
    means: FloatArray  # (n_arms,) mean reward
    noise: FloatArray  # (n_arms,) v_k / N_k
    relative: FloatArray  # (n_arms,) r_k**2
    precisions: FloatArray  # (n_arms,) 1 / (2 (s**2 r_k**2 + noise))
    gains: FloatArray  # (n_arms,) the precision minus that of an exception
    odds: FloatArray  # (n_arms,) logarithm of the odds of an exception without a gap
    coarse: Gaps  # of the first pass, the same for all scales
    fine: Gaps  # of the last pass, often the same as for the scale before
    best_odds: FloatArray  # (n_points,) of the likeliest exception, by block


def no_scan(prior: Prior) -> Scan:
    """Empty scratch arrays."""
    n_arms = prior.means.shape[1]
    return Scan(
        arms=np.zeros(n_arms, np.int64),
        means=np.zeros(n_arms),
        noise=np.zeros(n_arms),
        relative=np.zeros(n_arms),
        precisions=np.zeros(n_arms),
        gains=np.zeros(n_arms),
        odds=np.zeros(n_arms),
        coarse=_no_gaps(n_arms, prior.n_coarse),
        fine=_no_gaps(n_arms, prior.n_fine),
        best_odds=np.zeros(prior.n_fine),
    )


def _no_gaps(n_arms: int, n_points: int) -> Gaps:
    return Gaps(np.zeros(4, np.int64), np.zeros((n_arms, n_points)), np.zeros(n_points))


def list_pulled_arms(prior: Prior, stats: Statistics, variances: FloatArray, scan: Scan) -> int:
    """Begin a scan: list the arms with rewards; returns how many there are."""
    clear_scan(scan)
    n_pulled = 0
    for arm in range(stats.counts.shape[0]):
        count = stats.counts[arm]
        if count > 0:
            scan.arms[n_pulled] = arm
            scan.means[n_pulled] = stats.sums[arm] / count
            scan.noise[n_pulled] = variances[arm] / count
            scan.relative[n_pulled] = prior.relative[arm]
            n_pulled += 1
    return n_pulled


def clear_scan(scan: Scan) -> None:
    """Set all arrays to zero."""
    for arm in range(scan.arms.shape[0]):
        scan.arms[arm] = 0
    for array in (
        scan.means,
        scan.noise,
        scan.relative,
        scan.precisions,
        scan.gains,
        scan.odds,
        scan.best_odds,
        scan.coarse.logs,
        scan.fine.logs,
    ):
        for i in range(array.shape[0]):
            array[i] = 0.0
    for gaps in (scan.coarse, scan.fine):
        for i in range(4):
            gaps.window[i] = 0
        for k in range(gaps.squares.shape[0]):
            for j in range(gaps.squares.shape[1]):
                gaps.squares[k, j] = 0.0


def set_precisions(scan: Scan, n_pulled: int, scale: float, exception: float) -> float:
    """Set the precisions for one scale; returns the part of the log weight without theta."""
    log = 0.0
    before = -math.inf
    if exception > 0.0:
        before = math.log(exception / (1.0 - exception))
    for k in range(n_pulled):
        spread = scale * scale * scan.relative[k] + scan.noise[k]
        wide = spread + EXCEPTION_VARIANCE
        log -= 0.5 * math.log(spread)
        scan.precisions[k] = 0.5 / spread
        scan.gains[k] = 0.5 / spread - 0.5 / wide
        scan.odds[k] = before - 0.5 * math.log(wide / spread)
    return log


def find_window(
    prior: Prior, scan: Scan, n_pulled: int, window: IntArray, logs: FloatArray
) -> float:
    """Log weights on the few cells that matter; returns the largest.

    A coarse pass over the domain finds them. Finer passes follow while the posterior may be
    narrower than the distance of the points.
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
    """Compute the squared gaps in the blocks of a window, unless they are known."""
    same = True
    for i in range(4):
        same = same and gaps.window[i] == window[i]
        gaps.window[i] = window[i]
    if same:
        return
    # Local names save look-ups in compiled code.
    means, own, arms, squares, logs = prior.means, scan.means, scan.arms, gaps.squares, gaps.logs
    for j in range(window[3]):
        cell = block_middle(window, j)
        logs[j] = prior.log_thetas[cell]
        for k in range(n_pulled):
            gap = own[k] - means[cell, arms[k]]
            squares[k, j] = gap * gap


def compute_log_weights(scan: Scan, n_pulled: int, gaps: Gaps, logs: FloatArray) -> float:
    """Log weights of the blocks for one scale; returns the largest.

    The inner loop runs over blocks: it has no running sum, so a compiler can vectorise it.
    """
    squares, priors, odds = gaps.squares, gaps.logs, scan.best_odds
    n_blocks = gaps.window[3]
    for j in range(n_blocks):
        logs[j] = priors[j]
        odds[j] = 0.0
    for k in range(n_pulled):
        precision = scan.precisions[k]
        gain = scan.gains[k]
        before = scan.odds[k]
        for j in range(n_blocks):
            square = squares[k, j]
            logs[j] -= square * precision
            odds[j] = max(odds[j], square * gain + before)
    top = -math.inf
    for j in range(n_blocks):
        logs[j] += odds[j]
        top = max(top, logs[j])
    return top


def block_middle(window: IntArray, block: int) -> int:
    """The middle cell of a block."""
    start = window[0] + block * window[1]
    return int((start + min(start + window[1], window[2]) - 1) // 2)


def block_size(window: IntArray, block: int) -> int:
    """The number of cells of a block; the last block may be shorter."""
    start = window[0] + block * window[1]
    return int(min(start + window[1], window[2]) - start)
