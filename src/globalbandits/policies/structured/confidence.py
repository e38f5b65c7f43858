"""The confidence set of structured policies: intervals of the parameter, without a grid.

If an arm's mean is monotone, ``{theta: |mu_k(theta) - mean_k| <= r_k}`` is an interval. The
confidence set is the intersection of all arms' intervals. Invertible means are monotone on the
whole domain: the ends are two values of the arm's inverse. Other means are monotone on the pieces
between their turning points. The set then has a part, perhaps empty, in each piece, and bisection
finds the ends.

Radii grow with log t, so the interval of an arm that is not played only widens. The old interval
lies inside the new one. Hence only the intervals that bind the intersection are computed again:
O(K) comparisons and a few evaluations per round, with the same result to the last bit as computing
all intervals. With a learned variance a radius may also shrink. Then every interval is computed
once per round.
"""

import dataclasses
import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_positive
from globalbandits.errors import PolicyError
from globalbandits.model import AnyModel, RewardModel
from globalbandits.model.analysis.curves import evaluate_many
from globalbandits.model.tables import Curves, Tables, evaluate
from globalbandits.model.vector_model import VectorModel
from globalbandits.policies import base
from globalbandits.policies.shared.index import init_widths, rebuild_widths, update_arm
from globalbandits.policies.shared.noise_variance import as_number_or_learned, set_student_widths
from globalbandits.policies.structured import several_confidence
from globalbandits.statistics import Statistics

# Halvings of a piece: ends are found to 1e-13 of its length.
_BISECTIONS = 44


class Setup(NamedTuple):
    """The model's tables, the radius, and the cells of the envelope in which each arm is best."""

    tables: Tables
    factor: float  # the radius of arm k is sqrt(factor * log t) * its width
    variance: float  # of a reward, on the unit scale; 1 if it is learned
    learned: bool  # whether widths are Student's and include the variance
    starts: IntArray  # (n_arms + 1,) start of each arm's cells in `cells`
    cells: IntArray  # cells of all arms, one arm after the other, each from left to right
    edges: FloatArray  # (n_pieces + 1,) between neighbouring edges every mean is monotone
    at_edges: FloatArray  # (n_pieces + 1, n_arms) means at the edges


class State(NamedTuple):
    """Means and widths, and the confidence set. Intervals are ordered by piece, then by arm."""

    means: FloatArray  # (n_arms,) as in `index.Widths`
    widths: FloatArray  # (n_arms,) radii divided by sqrt(factor * log t)
    played: IntArray  # (1,)
    lows: FloatArray  # (n_pieces * n_arms,) left end of each interval when last computed
    highs: FloatArray  # (n_pieces * n_arms,) right end
    seen: IntArray  # (n_pieces * n_arms,) the number of rewards when last computed
    parts: FloatArray  # (2 * n_pieces,) [low, high] of each part of the set; empty where low > high


@dataclasses.dataclass(frozen=True, kw_only=True)
class ConfidenceSetPolicy(base.Policy):
    """Base of UCB-S, UCB-C and TS-C: policies that decide by a confidence set of the parameter."""

    alpha: float
    variance: float | str

    # The radius of arm k is sqrt(log_factor * alpha * variance * log t / N_k).
    log_factor: ClassVar[float]
    # For models with several unknown numbers.
    several: ClassVar[base.Rules]

    def __post_init__(self) -> None:
        """Check the two factors."""
        object.__setattr__(self, "alpha", as_positive("alpha", self.alpha, PolicyError))
        object.__setattr__(self, "variance", as_number_or_learned(self.variance))

    def rules_of(self, setup: Any) -> base.Rules:
        """The rules for one unknown number, or for several."""
        several = isinstance(setup, several_confidence.Setup)
        return self.several if several else self.rules

    def setup(self, model: AnyModel) -> Any:
        """Return the model's tables and the radius."""
        alpha = self.log_factor * self.alpha
        if isinstance(model, VectorModel):
            name = type(self).__name__
            return several_confidence.build(model, name, alpha, self.variance)
        return build(model, alpha, self.variance)

    def explain_set(self, setup: Any, state: Any) -> str:
        """Describe the confidence set."""
        if isinstance(setup, several_confidence.Setup):
            return several_confidence.explain(setup, state)
        return explain(getattr(state, "allowed", state))


def build(model: RewardModel, alpha: float, variance: float | str) -> Setup:
    """Return the setup, with the envelope's cells sorted by arm, and the pieces.

    The radius of arm k is ``sqrt(alpha * variance * log t / N_k)``, or, for a learned variance,
    Student's radius of ``alpha * log t / 2`` nats.
    """
    learned = isinstance(variance, str)
    known = 1.0 if isinstance(variance, str) else variance
    tables, envelope = model.tables, model.tables.envelope
    cell_of_entry = np.repeat(np.arange(envelope.starts.shape[0] - 1), np.diff(envelope.starts))
    order = np.argsort(envelope.arms, kind="stable")
    counts = np.bincount(envelope.arms, minlength=tables.n_arms)
    starts = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    edges = np.concatenate(([tables.low], model.turning_points, [tables.high]))
    at_edges = [evaluate_many(tables.mean, arm, edges) for arm in range(tables.n_arms)]
    return Setup(
        tables=tables,
        factor=alpha * known,
        variance=known,
        learned=learned,
        starts=starts,
        cells=cell_of_entry[order].astype(np.int64),
        edges=edges,
        at_edges=np.ascontiguousarray(np.transpose(at_edges)),
    )


def init(setup: base.Setup) -> State:
    """No reward yet; the confidence set is the domain."""
    n, edges = setup.tables.n_arms, setup.edges
    return State(
        *init_widths(setup),
        lows=np.repeat(edges[:-1], n),
        highs=np.repeat(edges[1:], n),
        seen=np.zeros(n * (edges.shape[0] - 1), np.int64),
        parts=np.column_stack([edges[:-1], edges[1:]]).ravel(),
    )


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Update one arm and the intersection."""
    update_arm(stats, state, arm)
    if setup.learned:
        compute_learned_widths(setup, stats, state)
    else:
        discard_intervals(setup, state, arm)
    intersect(setup, stats, state)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute means, widths and the confidence set from counts and sums."""
    rebuild_widths(setup, stats, state)
    if setup.learned:
        compute_learned_widths(setup, stats, state)
    else:
        for arm in range(setup.tables.n_arms):
            discard_intervals(setup, state, arm)
    intersect(setup, stats, state)


def compute_learned_widths(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute all widths from learned variances. One reward may change those of all arms."""
    set_student_widths(stats, setup.factor, state.widths)
    for arm in range(setup.tables.n_arms):
        discard_intervals(setup, state, arm)


def discard_intervals(setup: Setup, state: State, arm: int) -> None:
    """Mark the arm's intervals as unknown, so that `intersect_piece` computes them."""
    for at in range(arm, state.lows.shape[0], setup.tables.n_arms):
        state.lows[at] = math.inf
        state.highs[at] = -math.inf
        state.seen[at] = -1


def intersect(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute the confidence set of the next round."""
    root = math.sqrt(setup.factor * math.log(stats.total[0] + 1))
    for piece in range(setup.edges.shape[0] - 1):
        if setup.tables.invertible or is_piece_possible(setup, stats, state, piece, root):
            intersect_piece(setup, stats, state, piece, root)
        else:
            state.parts[2 * piece] = math.inf
            state.parts[2 * piece + 1] = -math.inf


def is_piece_possible(
    setup: Setup, stats: Statistics, state: State, piece: int, root: float
) -> bool:
    """Whether every arm, taken alone, allows some parameter of the piece."""
    for arm in range(setup.tables.n_arms):
        if stats.counts[arm] > 0:
            mean, radius = state.means[arm], root * state.widths[arm]
            one, other = setup.at_edges[piece, arm], setup.at_edges[piece + 1, arm]
            if not (mean - radius <= max(one, other) and mean + radius >= min(one, other)):
                return False
    return True


def intersect_piece(setup: Setup, stats: Statistics, state: State, piece: int, root: float) -> None:
    """Compute the part of the set in a piece, and the intervals that are unknown or binding."""
    start = piece * setup.tables.n_arms
    lowest, highest = start, start
    for at in range(start, start + setup.tables.n_arms):
        if state.seen[at] < 0:
            compute_interval(setup, stats, state, piece, at - start, root)
            # Among arms that bind equally, one that is up to date saves a computation.
            lowest, highest = at, at
    binding = start
    while binding >= 0:
        for at in range(start, start + setup.tables.n_arms):
            if state.lows[at] > state.lows[lowest]:
                lowest = at
            if state.highs[at] < state.highs[highest]:
                highest = at
        binding = -1
        if state.seen[lowest] < stats.total[0]:
            binding = lowest
        elif state.seen[highest] < stats.total[0]:
            binding = highest
        if binding >= 0:
            compute_interval(setup, stats, state, piece, binding - start, root)
    state.parts[2 * piece] = state.lows[lowest]
    state.parts[2 * piece + 1] = state.highs[highest]


def compute_interval(
    setup: Setup, stats: Statistics, state: State, piece: int, arm: int, root: float
) -> None:
    """Compute the interval of one arm in a piece at the next round; empty if low > high."""
    low, high = setup.edges[piece], setup.edges[piece + 1]
    if stats.counts[arm] > 0:
        radius = root * state.widths[arm]
        if setup.tables.invertible:
            low, high = invert(setup, arm, state.means[arm], radius)
        else:
            low, high = search(setup, piece, arm, state.means[arm], radius)
    at = piece * setup.tables.n_arms + arm
    state.lows[at] = low
    state.highs[at] = high
    state.seen[at] = stats.total[0]


def invert(setup: Setup, arm: int, mean: float, radius: float) -> tuple[float, float]:
    """Return the interval where an invertible mean is within the radius of ``mean``."""
    inverse = setup.tables.inverse
    low, high = math.inf, -math.inf
    value = mean - radius
    if value <= inverse.high[arm] and value + 2.0 * radius >= inverse.low[arm]:
        for _ in range(2):
            theta = evaluate(inverse, arm, value)
            low, high = min(low, theta), max(high, theta)
            value = mean + radius
    return low, high


def search(setup: Setup, piece: int, arm: int, mean: float, radius: float) -> tuple[float, float]:
    """Return the interval of a piece where an arm's mean is within the radius of ``mean``.

    The mean is monotone in the piece, and the interval must not be empty. A falling mean is
    negated. Bisection keeps one end inside, so a wider radius never gives a narrower interval,
    despite rounding.
    """
    left, right = setup.edges[piece], setup.edges[piece + 1]
    at_left, at_right = setup.at_edges[piece, arm], setup.at_edges[piece + 1, arm]
    sign = 1.0
    if at_right < at_left:
        sign, at_left, at_right, mean = -1.0, -at_left, -at_right, -mean
    low, high = left, right
    if at_left < mean - radius:
        low = bisect(setup.tables.mean, arm, sign, mean - radius, right, left)
    if at_right > mean + radius:
        high = bisect(setup.tables.mean, arm, -sign, -(mean + radius), left, right)
    return low, high


def bisect(
    curves: Curves, arm: int, sign: float, value: float, inside: float, outside: float
) -> float:
    """Return the point nearest to ``outside`` with ``sign * curve >= value``, as at ``inside``."""
    for _ in range(_BISECTIONS):
        middle = 0.5 * (inside + outside)
        if sign * evaluate(curves, arm, middle) >= value:
            inside = middle
        else:
            outside = middle
    return inside


def is_empty(state: State) -> bool:
    """Whether the arms contradict each other."""
    empty = True
    for at in range(0, state.parts.shape[0], 2):
        empty = empty and state.parts[at] > state.parts[at + 1]
    return bool(empty)


def estimate(setup: Setup, stats: Statistics, state: State) -> float:
    """Return the middle of the confidence set's hull; nan without a reward or for an empty set.

    If the set has several parts, this may lie in a gap between them.
    """
    if stats.total[0] == 0 or is_empty(state):
        return math.nan
    low, high = math.inf, -math.inf
    for at in range(0, state.parts.shape[0], 2):
        if state.parts[at] <= state.parts[at + 1]:
            low, high = min(low, state.parts[at]), max(high, state.parts[at + 1])
    return float(0.5 * (low + high))


def explain(state: State) -> str:
    """Describe the confidence set."""
    if is_empty(state):
        return "the confidence set is empty: the rewards contradict the model"
    intervals: list[list[float]] = []
    for low, high in state.parts.reshape(-1, 2):
        if low <= high and intervals and low <= intervals[-1][1]:
            intervals[-1][1] = high
        elif low <= high:
            intervals.append([low, high])
    return "theta in " + " or ".join(f"[{low:.6g}, {high:.6g}]" for low, high in intervals)
