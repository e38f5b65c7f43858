"""Inference about several unknown numbers, from the counts and sums of the arms.

For a vector theta let L(theta) be the product over the arms of mu^S (1 - mu)^(N - S), with the
arm's mean mu at theta, its N rewards and their sum S. For rewards in [0, 1] with mean m,

    (m'/m)^x ((1 - m')/(1 - m))^(1 - x)  <=  x m'/m + (1 - x) (1 - m')/(1 - m),

whose expectation is 1. So the marginal likelihood M, the mean of L over the box, divided by
L(theta) is a nonnegative supermartingale at the true theta, whatever arms are played. By Ville's
inequality it ever reaches 1/alpha with probability at most alpha. Means are kept off 0 and 1;
the inequality then holds as well, because both m and m' are moved.

Suprema of L must be bounded from above, and M from below, for statements to be valid. Both come
from cells of the box that are halved until the bounds are close: the means at the corners of a
cell bound the means, and thereby the likelihood, in the whole cell.
"""

import itertools
import math
from functools import cached_property
from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.evidence.contenders import SMALLEST_P, free_bounds, free_p_values
from globalbandits.model import VectorModel
from globalbandits.model.vector_tables import MEAN_MARGIN

# Cells along each parameter at the start, and halvings of a cell at most.
_FIRST_CELLS = {1: 64, 2: 16, 3: 6}
_MAX_HALVINGS = 40

# Cells that are bounded together; more cells stop a search, which stays valid and gets wider.
_MAX_CELLS = {1: 20_000, 2: 60_000, 3: 60_000}

# The bounds of suprema are exact to this, in nats.
_SUPREMUM_TOLERANCE_NATS = 0.05

# A cell in which the likelihood changes by less, in nats, counts in the marginal likelihood with
# the value in its middle; other cells count with their lower bound.
_SMOOTH_CELL_NATS = 2.0

# Error of the sum over smooth cells, in nats, which is subtracted.
_QUADRATURE_ERROR = 0.1

# Cells with a smaller share of the marginal likelihood are not halved.
_MIN_HALVED_SHARE = 1e-6

# Halvings of the cells that describe the set, from the first cells on.
_SET_HALVINGS = {1: 8, 2: 6, 3: 3}

# Points of the box, and precisions, of the means near the family that its test bets on.
_NEAR_POINTS = {1: 128, 2: 24, 3: 8}
_MAX_NEAR_MEANS = 300_000  # with very many arms there are fewer points
_NEAR_PRECISIONS = (20.0, 80.0, 320.0, 1280.0)

# Grid of means on which minima of value functions are searched.
_N_MEANS = 2_049


class Cells(NamedTuple):
    """Boxes in unit coordinates, and bounds of the log-likelihood in them."""

    low: FloatArray  # (n, d)
    high: FloatArray  # (n, d)
    least: FloatArray  # (n,) lower bound of log L in the cell
    most: FloatArray  # (n,) upper bound
    middle: FloatArray  # (n,) log L in the middle

    @property
    def log_volume(self) -> FloatArray:
        """Logarithm of the share of the box."""
        return np.asarray(np.log(self.high - self.low).sum(axis=1))

    def chosen(self, which: BoolArray) -> "Cells":
        """Some of the cells."""
        return Cells(*(part[which] for part in self))


class Cover(NamedTuple):
    """Cells that cover the confidence set."""

    low: FloatArray  # (n, d) in unit coordinates
    high: FloatArray
    share: float  # of the box

    def corners(self) -> list[FloatArray]:
        """All corners and the middles of the cells, each of shape (n, d)."""
        signs = itertools.product(*[(False, True)] * self.low.shape[1])
        corners = [np.where(sign, self.high, self.low) for sign in signs]
        return [*corners, 0.5 * (self.low + self.high)]


class VectorInference:
    """Statements about one model and the counts and sums of its arms.

    Args:
        model: the model.
        counts: rewards of each arm, shape (n_arms,).
        sums: sums of rewards on the unit scale.
        soft_counts: soft counts, shape (n_arms, n_bins + 1), for statements without the model.
        peak: the largest log e-value against the model at earlier times.
    """

    def __init__(
        self,
        model: VectorModel,
        counts: IntArray,
        sums: FloatArray,
        soft_counts: FloatArray,
        peak: float = -math.inf,
    ) -> None:
        self._model = model
        self._peak = peak
        self._d = model.n_parameters
        self._seen = np.flatnonzero(counts)
        self._counts = counts[self._seen].astype(np.float64)
        self._sums = np.minimum(sums[self._seen], self._counts)
        self._soft_counts = soft_counts

    # The likelihood.

    def _means(self, points: FloatArray) -> FloatArray:
        """Unit means of all arms at points of the unit box, off 0 and 1, shape (n, n_arms)."""
        low, high = self._model.reward_range
        means = self._model.means(self._model.from_unit(points))
        return np.clip((means - low) / (high - low), MEAN_MARGIN, 1.0 - MEAN_MARGIN)

    def _log_likelihood(self, means: FloatArray) -> FloatArray:
        """Return log L of means of the arms with rewards, shape (..., n_seen) to (...)."""
        losses = self._counts - self._sums
        return np.asarray(np.log(means) @ self._sums + np.log1p(-means) @ losses)

    def log_likelihood(self, theta: FloatArray) -> float:
        """Return log L at a vector in the user's units."""
        point = self._model.to_unit(theta)
        return float(self._log_likelihood(self._means(point[None])[:, self._seen])[0])

    def _ranges(self, low: FloatArray, high: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest mean of every arm in cells, shape (n, n_arms) each."""
        if self._model.monotone:
            corners = itertools.product(*[(0, 1)] * self._d)
            means = [self._means(np.where(corner, high, low)) for corner in corners]
            return np.min(means, axis=0), np.max(means, axis=0)
        middle = self._means(0.5 * (low + high))
        reach = 0.5 * (high - low) @ self._slopes
        return (
            np.maximum(middle - reach, MEAN_MARGIN),
            np.minimum(middle + reach, 1.0 - MEAN_MARGIN),
        )

    @cached_property
    def _slopes(self) -> FloatArray:
        """Bounds of the slopes of means that turn, from the table, shape (d, n_arms)."""
        tables = self._model.tables
        n = tables.n_nodes
        grid = tables.nodes.reshape((n,) * self._d + (-1,))
        steps = [np.abs(np.diff(grid, axis=axis)) for axis in range(self._d)]
        largest = [step.reshape(-1, grid.shape[-1]).max(axis=0) for step in steps]
        return np.asarray(1.1 * (n - 1) * np.stack(largest))

    def _bound(self, low: FloatArray, high: FloatArray) -> Cells:
        """Bound the likelihood in cells."""
        least, most = (part[:, self._seen] for part in self._ranges(low, high))
        observed = self._sums / self._counts
        # The likelihood of one arm rises up to its mean reward and falls beyond it.
        near = self._log_likelihood(np.clip(observed, least, most))
        losses = self._counts - self._sums
        at_least = np.log(least) * self._sums + np.log1p(-least) * losses
        at_most = np.log(most) * self._sums + np.log1p(-most) * losses
        far = np.minimum(at_least, at_most).sum(axis=1)
        middle = self._log_likelihood(self._means(0.5 * (low + high))[:, self._seen])
        return Cells(low, high, far, near, middle)

    def _halved(self, cells: Cells) -> Cells:
        """The 2**d halves of cells."""
        middle = 0.5 * (cells.low + cells.high)
        lows, highs = [], []
        for corner in itertools.product(*[(False, True)] * self._d):
            lows.append(np.where(corner, middle, cells.low))
            highs.append(np.where(corner, cells.high, middle))
        return self._bound(np.concatenate(lows), np.concatenate(highs))

    @cached_property
    def _first(self) -> Cells:
        n = _FIRST_CELLS[self._d]
        axes = np.meshgrid(*[np.arange(n) / n] * self._d, indexing="ij")
        low = np.stack(axes, axis=-1).reshape(-1, self._d)
        return self._bound(low, low + 1.0 / n)

    # The largest and the marginal likelihood.

    @cached_property
    def top(self) -> tuple[float, FloatArray]:
        """An upper bound of log L over the box, and the best point in unit coordinates."""
        cells, best, place = self._first, -math.inf, np.full(self._d, 0.5)
        bound = -math.inf
        for _ in range(_MAX_HALVINGS):
            index = int(cells.middle.argmax())
            if cells.middle[index] > best:
                best = float(cells.middle[index])
                place = 0.5 * (cells.low[index] + cells.high[index])
            open_cells = cells.most > best + _SUPREMUM_TOLERANCE_NATS
            n_open = int(open_cells.sum())
            if n_open == 0 or n_open << self._d > _MAX_CELLS[self._d]:
                bound = float(cells.most.max(initial=-math.inf)) if n_open else -math.inf
                break
            cells = self._halved(cells.chosen(open_cells))
        return max(bound, best + _SUPREMUM_TOLERANCE_NATS), place

    @cached_property
    def log_marginal(self) -> float:
        """A lower bound of log M, the logarithm of the mean of L over the box."""
        if self._seen.size == 0:
            return 0.0
        cells, done = self._first, -math.inf
        for _ in range(_MAX_HALVINGS):
            mass = cells.log_volume + cells.middle
            total = np.logaddexp(done, np.logaddexp.reduce(mass))
            matters = cells.log_volume + cells.most > total + math.log(_MIN_HALVED_SHARE)
            rough = cells.most - cells.least > _SMOOTH_CELL_NATS
            split = matters & rough
            n_split = int(split.sum())
            full = n_split << self._d > _MAX_CELLS[self._d]
            value = np.where(rough, cells.least, cells.middle) + cells.log_volume
            kept = value if full else value[~split]
            done = float(np.logaddexp.reduce(kept, initial=done))
            if full or n_split == 0:
                break
            cells = self._halved(cells.chosen(split))
        return done - _QUADRATURE_ERROR

    # The confidence set.

    def cover(self, confidence: float) -> Cover:
        """Cells that cover every theta with L(theta) >= M * (1 - confidence)."""
        threshold = self.log_marginal + math.log(1.0 - confidence)
        cells = self._first
        for _ in range(_SET_HALVINGS[self._d]):
            cells = cells.chosen(cells.most >= threshold)
            inside = cells.least >= threshold
            edge = cells.chosen(~inside)
            if len(edge.low) << self._d > _MAX_CELLS[self._d]:
                break
            halves = self._halved(edge)
            joined = zip(cells.chosen(inside), halves, strict=True)
            cells = Cells(*(np.concatenate(parts) for parts in joined))
        cells = cells.chosen(cells.most >= threshold)
        return Cover(cells.low, cells.high, float(np.exp(cells.log_volume).sum()))

    def worth_bounds(self, cover: Cover) -> FloatArray:
        """Smallest and largest worth of every arm over the cells, shape (n_arms, 2)."""
        least, most = self.worth_ranges(*self._ranges(cover.low, cover.high))
        return np.stack([least.min(axis=0), most.max(axis=0)], axis=1)

    def holds(self, theta: FloatArray, confidence: float) -> bool:
        """Whether the confidence set contains a vector in the user's units."""
        return self.log_likelihood(theta) >= self.log_marginal + math.log(1.0 - confidence)

    # The best arm.

    def p_values(self, rows: slice = slice(None)) -> FloatArray:
        """The p-values of "arm k is best": the largest L where k is best over M, at most 1.

        Args:
            rows: positions of the arms that are compared, such as those of a context. The rewards
                of all arms are evidence.
        """
        floor = self.log_marginal + math.log(SMALLEST_P)
        n_arms = len(self._model.arms[rows])
        found = np.full(n_arms, -math.inf)
        possible: BoolArray = np.zeros(n_arms, np.bool_)
        cells = self._first
        rest = np.full(n_arms, -math.inf)
        for _ in range(_MAX_HALVINGS):
            can = self._can_be_best(cells.low, cells.high, rows)
            if not possible.any():
                possible = np.asarray(can.any(axis=0))
            means = self._means(0.5 * (cells.low + cells.high))
            best = self._worth(means)[:, rows].argmax(axis=1)
            np.maximum.at(found, best, cells.middle)
            bounds = np.where(can, cells.most[:, None], -math.inf)
            # A p-value of 1 or more, or below the smallest one, needs no better bound.
            enough = np.minimum(np.maximum(found, floor), self.log_marginal)
            split = (bounds > enough + _SUPREMUM_TOLERANCE_NATS).any(axis=1)
            n_split = int(split.sum())
            if n_split == 0:
                break
            if n_split << self._d > _MAX_CELLS[self._d]:
                rest = bounds[split].max(axis=0)
                break
            cells = self._halved(cells.chosen(split))
        tops = np.maximum(found + _SUPREMUM_TOLERANCE_NATS, rest)
        p_values = np.exp(np.minimum(tops - self.log_marginal, 0.0))
        return np.where(possible, np.maximum(p_values, SMALLEST_P), 0.0)

    def _worth(self, means: FloatArray) -> FloatArray:
        low, high = self._model.reward_range
        return self._model.worth_at(low + (high - low) * means)

    def _can_be_best(self, low: FloatArray, high: FloatArray, rows: slice) -> BoolArray:
        """Whether each compared arm can be best somewhere in each cell, shape (n, n_rows)."""
        least, most = (part[:, rows] for part in self.worth_ranges(*self._ranges(low, high)))
        slack = 1e-12 * np.abs(most).max(initial=1.0)
        return np.asarray(most >= least.max(axis=1)[:, None] - slack)

    def worth_ranges(self, least: FloatArray, most: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Smallest and largest worth of arms whose unit means lie in intervals, (n, n_arms)."""
        ends = self._worth(least), self._worth(most)
        low, high = np.minimum(*ends), np.maximum(*ends)
        for arm, places, worths in self._turns:
            for place, worth in zip(places, worths, strict=True):
                inside = (least[:, arm] < place) & (place < most[:, arm])
                low[inside, arm] = np.minimum(low[inside, arm], worth)
                high[inside, arm] = np.maximum(high[inside, arm], worth)
        return low, high

    @cached_property
    def _turns(self) -> list[tuple[int, FloatArray, FloatArray]]:
        """Means at which an arm's value has a local extremum, and its values there."""
        tables = self._model.tables
        if tables.affine_increasing:
            return []
        grid = np.linspace(0.0, 1.0, _N_MEANS)
        worth = self._worth(np.repeat(grid[:, None], tables.n_arms, axis=1))
        turns = []
        for arm in range(tables.n_arms):
            column = worth[:, arm]
            inner = (column[1:-1] <= column[:-2]) & (column[1:-1] < column[2:])
            peaks = tables.peaks.positions[slice(*tables.peaks.starts[arm : arm + 2])]
            places = np.concatenate([grid[1:-1][inner], peaks])
            if places.size:
                all_arms = np.repeat(places[:, None], tables.n_arms, axis=1)
                turns.append((arm, places, self._worth(all_arms)[:, arm]))
        return turns

    def free_p_values(self, ranked: VectorModel, rows: slice = slice(None)) -> FloatArray:
        """The p-values of "arm k is best" without curves, for the arms of a model at these rows."""
        return free_p_values(ranked, self._soft_counts[rows])

    def free_bounds(self, confidence: float) -> FloatArray:
        """Simultaneous intervals for all mean rewards without the model, shape (n_arms, 2)."""
        low, high = self._model.reward_range
        return low + (high - low) * free_bounds(self._soft_counts, confidence)

    # The family.

    def refutes(self, confidence: float) -> bool:
        """Whether the family is or was refuted at level 1 - confidence."""
        threshold = -math.log(1.0 - confidence)
        return self._peak >= threshold or self.log_e_against >= threshold

    @cached_property
    def log_e_against(self) -> float:
        """Log e-value against the family: against every theta of the box."""
        return 0.0 if self._seen.size == 0 else self._log_bets - self.top[0]

    def log_e_at(self, theta: FloatArray) -> float:
        """Log e-value against one vector in the user's units; at least `log_e_against`."""
        return self._log_bets - self.log_likelihood(theta)

    @cached_property
    def _log_bets(self) -> float:
        """Log of the mixture likelihood that the e-value against the family bets on.

        Half of the bets are on any means, with Jeffreys' prior for every arm, and half are on
        means near those of the family, with Beta distributions around them.
        """
        wins, losses = self._sums, self._counts - self._sums
        log_beta = log_gamma(wins + 0.5) + log_gamma(losses + 0.5) - log_gamma(self._counts + 1.0)
        anything = float((log_beta - math.log(math.pi)).sum())
        most = int((_MAX_NEAR_MEANS / self._model.n_arms) ** (1.0 / self._d))
        n = max(2, min(_NEAR_POINTS[self._d], most))
        axes = np.meshgrid(*[(np.arange(n) + 0.5) / n] * self._d, indexing="ij")
        points = np.stack(axes, axis=-1).reshape(-1, self._d)
        means = self._means(points)[:, self._seen]
        near = []
        for precision in _NEAR_PRECISIONS:
            a, b = precision * means, precision * (1.0 - means)
            ratios = log_gamma(a + wins) + log_gamma(b + losses) - log_gamma(a) - log_gamma(b)
            common = log_gamma(precision + self._counts) - math.lgamma(precision)
            near.append(ratios.sum(axis=1) - common.sum())
        family = float(np.logaddexp.reduce(np.concatenate(near))) - math.log(4.0 * len(points))
        return float(np.logaddexp(anything, family)) - math.log(2.0)

    def shares(self) -> FloatArray:
        """Each arm's share of the misfit at the most likely theta, shape (n_arms,)."""
        means = self._means(self.top[1][None])[0, self._seen]
        observed = np.clip(self._sums / self._counts, MEAN_MARGIN, 1.0 - MEAN_MARGIN)
        losses = self._counts - self._sums
        misfit = self._sums * np.log(observed / means)
        misfit += losses * np.log((1.0 - observed) / (1.0 - means))
        shares = np.zeros(self._model.n_arms)
        total = float(misfit.sum())
        if total > 0.0:
            shares[self._seen] = misfit / total
        return shares


# Coefficients of 1/x, 1/x^3, ... in Stirling's series of log gamma, from the Bernoulli numbers.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360)
# Arguments are raised by this much first; the series then has an error below 1e-13.
_STIRLING_SHIFT = 8


def log_gamma(x: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma function of positive numbers.

    >>> log_gamma(np.array([0.5, 5.0])).round(6).tolist()
    [0.572365, 3.178054]
    """
    product = x.copy()
    for step in range(1, _STIRLING_SHIFT):
        product *= x + step
    y = x + _STIRLING_SHIFT
    square = 1.0 / (y * y)
    series = np.zeros_like(y)
    for coefficient in reversed(_STIRLING):
        series = series * square + coefficient
    # At arguments of 10^38 and above the product is infinite; rewards are never that many.
    return np.asarray(
        (y - 0.5) * np.log(y) - y + 0.5 * math.log(2.0 * math.pi) + series / y - np.log(product)
    )
