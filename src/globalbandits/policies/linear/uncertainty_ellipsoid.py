"""`UncertaintyEllipsoid` (Rusmevichientong and Tsitsiklis, arXiv 0812.3465).

Mean rewards are assumed linear in known features of the arms. The arm with the largest upper bound
of its prediction is played.
"""

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Rules, register
from globalbandits.policies.linear.features import FeaturePolicy, arm_features, spread_arms, whiten
from globalbandits.policies.linear.least_squares import (
    Spread,
    Work,
    add_reward,
    clear_spread,
    compute_spread,
    is_near,
    is_rebuild_due,
    no_spread,
    no_work,
    predict,
    tolerance_of,
)
from globalbandits.policies.linear.least_squares import resume as resume_spread
from globalbandits.policies.shared.index import no_estimate
from globalbandits.policies.shared.worth import (
    choose_any,
    choose_bound_offered,
    choose_by_worth,
    is_offered,
    largest_bound,
    unit_scale,
)
from globalbandits.statistics import Statistics

MAX_FIRST_PLAYS = 10_000
# Singular values of whitened features below this are rounding errors.
_RANK_TOLERANCE = 1e-10


class Setup(NamedTuple):
    """The model's tables, the arms' features, and the constants of the index."""

    tables: Tables
    features: FloatArray  # (n_arms, r) u_k, in coordinates where sum_k u_k u_k' = 1
    start: IntArray  # (n,) arms of the first plays, in order; they span the features
    needed: IntArray  # (n,) the number of the arm's rewards after this play
    alpha: float  # scale * 4 * sigma * kappa**2
    offset: float  # added to a unit reward: the reward whose mean is linear in the features


class State(NamedTuple):
    """Least squares, with M = ``sum_k N_k u_k u_k'`` after the first plays."""

    spread: Spread
    means: FloatArray  # (n_arms,) u_k' z, z the coefficients of least squares
    ready: IntArray  # (1,) 1 after the first plays
    work: Work


def init(setup: Setup) -> State:
    """No reward yet."""
    return State(
        spread=no_spread(setup.features),
        means=np.zeros(setup.features.shape[0]),
        ready=np.zeros(1, np.int64),
        work=no_work(setup.features),
    )


def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
    """Return the arm of the next first play, then the one with the largest upper bound."""
    if state.ready[0] == 0:
        return first_missing(setup, stats)
    widths, factor = state.spread.widths, bonus(setup, stats)
    return choose_by_worth(setup.tables, state.means, setup.offset, widths, factor, rng)


def select_among(
    setup: Setup,
    stats: Statistics,
    state: State,
    offered: IntArray,
    rng: np.random.Generator,
) -> int:
    """`select` among the offered arms. Any of them, at random, if other first plays are left."""
    if state.ready[0] == 0:
        for i in range(setup.start.shape[0]):
            arm = int(setup.start[i])
            if stats.counts[arm] < setup.needed[i] and is_offered(offered, arm):
                return arm
        return choose_any(offered, rng)
    widths, factor = state.spread.widths, bonus(setup, stats)
    return choose_bound_offered(
        setup.tables, state.means, setup.offset, widths, factor, offered, rng
    )


def first_missing(setup: Setup, stats: Statistics) -> int:
    """Return the arm of the next first play; -1 if all of them are done."""
    for i in range(setup.start.shape[0]):
        if stats.counts[setup.start[i]] < setup.needed[i]:
            return int(setup.start[i])
    return -1


def bonus(setup: Setup, stats: Statistics) -> float:
    """Return the factor of a width: alpha sqrt(log t) sqrt(min(r log t, n_arms))."""
    n, r = setup.features.shape
    log_t = math.log(stats.total[0])
    return setup.alpha * math.sqrt(log_t) * math.sqrt(min(r * log_t, float(n)))


def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
    """Add one reward, or rebuild everything on schedule to keep rounding errors small."""
    if state.ready[0] == 0 or is_rebuild_due(stats, state.spread, arm):
        rebuild(setup, stats, state)
    else:
        error = reward + setup.offset - state.means[arm]
        add_reward(setup.features, state.spread, state.work, state.means, arm, error)


def rebuild(setup: Setup, stats: Statistics, state: State) -> None:
    """Compute least squares from counts and sums."""
    state.ready[0] = 1 if first_missing(setup, stats) < 0 else 0
    if state.ready[0] == 1:
        compute_spread(setup.features, stats.counts, 0.0, state.spread, state.work)
        predict(setup.features, stats, setup.offset, state.spread, state.work, state.means)
    else:
        clear_spread(state.spread)
        state.means[:] = 0.0


def resume(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether saved numbers agree with the statistics, up to rounding."""
    fresh = init(setup)
    rebuild(setup, stats, fresh)
    slack = tolerance_of(setup.features, stats.counts, 0.0) if fresh.ready[0] == 1 else 0.0
    return resume_spread(state.spread, fresh.spread, slack) and is_near(
        state.means, fresh.means, slack
    )


@register("uncertainty_ellipsoid")
@dataclasses.dataclass(frozen=True, kw_only=True)
class UncertaintyEllipsoid(FeaturePolicy):
    """Least squares on features of the arms, and the largest upper bound of a prediction.

    The first plays are of r linearly independent arms, or of the arms in ``start``. After them the
    index of an arm with features u is ``u'z + alpha * sqrt(log t) * sqrt(min(r log t, n_arms)) *
    sqrt(u'Cu)``. Here t is the number of observations so far, ``C = (sum uu')**-1``, z are the
    least-squares coefficients, ``alpha = 4 * sigma * kappa**2`` and ``kappa = 2 * sqrt(1 + log(1 +
    36 * ubar**2 / lambda0))``. lambda0 is the smallest eigenvalue of ``sum uu'`` after the first
    plays, ubar is the largest length of a vector, and sigma = 1/2 covers all rewards in [0, 1].

    Value: any. Features describe the observed rewards; the index is the largest worth of a mean
    within the bonus of the prediction.

    Args:
        features: one vector for each arm. None takes (p, p**2, p**3) of arms p that are numbers,
            or (1, p, p**2) if the model has a value, because sales are not zero at price 0. With
            fewer than three arms there are fewer powers.
        scale: multiplies alpha. The published value 1 explores so much that regret is linear over
            any practical horizon. Tune it on your model.
        start: indices of the arms to play first, in order. An arm may occur several times. Their
            vectors must span the features. None takes arms far apart, once each; the paper
            accepts any independent arms.

    >>> UncertaintyEllipsoid(features=[[1, 0], [1, 1]], scale=0.01).label
    'UncertaintyEllipsoid(features=((1.0, 0.0), (1.0, 1.0)), scale=0.01)'
    >>> UncertaintyEllipsoid(start=[0, 1, 2]).start
    (0, 1, 2)
    """

    scale: float = 1.0
    start: tuple[int, ...] | None = None

    # The last bits of the kept fields depend on the order of rewards.
    rules = Rules(
        init,
        select,
        update,
        no_estimate,
        rebuild,
        ("spread", "means"),
        resume,
        select_among=select_among,
    )

    def __post_init__(self) -> None:
        """Check features, scale and first plays."""
        super().__post_init__()
        if self.start is not None:
            object.__setattr__(self, "start", _as_start(self.start))

    def setup(self, model: RewardModel) -> Setup:
        """Return whitened features, the arms of the first plays, and alpha."""
        raw = arm_features(self.features, model.arms, model.valued)
        features = whiten(raw)
        start = self._first_plays(features)
        smallest = float(np.linalg.svd(raw[start], compute_uv=False)[-1]) ** 2
        largest = float(np.max(np.sum(raw * raw, axis=1)))
        kappa = 2.0 * math.sqrt(1.0 + math.log1p(36.0 * largest / smallest))
        low, high = model.reward_range
        return Setup(
            tables=model.tables,
            features=features,
            start=start,
            needed=np.array([int(np.sum(start[: i + 1] == start[i])) for i in range(len(start))]),
            alpha=self.scale * 4.0 * 0.5 * kappa**2,
            offset=low / (high - low),
        )

    def _first_plays(self, features: FloatArray) -> IntArray:
        """Return the arms of the first plays, and check that they span the features."""
        if self.start is None:
            return spread_arms(features)
        n, r = features.shape
        rule = f"be indices below {n}, the number of arms"
        require(max(self.start) < n, "start", rule, self.start, PolicyError)
        start = np.array(self.start, np.int64)
        rule = f"hold {r} arms with linearly independent features"
        spanned = np.linalg.matrix_rank(features[start], tol=_RANK_TOLERANCE) == r
        require(bool(spanned), "start", rule, self.start, PolicyError)
        return start

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say that this is a first play, or give the largest index."""
        if state.ready[0] == 0:
            return f"first plays: {len(setup.start)} of linearly independent arms"
        widths, factor = state.spread.widths, bonus(setup, stats)
        largest = largest_bound(setup.tables, state.means, setup.offset, widths, factor)
        return f"largest upper bound of a prediction: {largest:.6g} on {unit_scale(setup.tables)}"

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return the constant alpha, and the current factor of the widths."""
        factor = bonus(setup, stats) if state.ready[0] == 1 else math.inf
        return {"alpha": setup.alpha, "bonus": factor}


def _as_start(start: Any) -> tuple[int, ...]:
    """Check indices of arms, at least one. `setup` compares them with the model."""
    try:
        arms = tuple(as_integer("start", arm, 0, PolicyError) for arm in start)
    except TypeError:
        raise PolicyError(f"start must be indices of arms, got {start!r}") from None
    rule = f"be from 1 to {MAX_FIRST_PLAYS} indices of arms"
    require(0 < len(arms) <= MAX_FIRST_PLAYS, "start", rule, len(arms), PolicyError)
    return arms
