"""`Guarded`: a structured policy, a test of its model, and a fallback for a refuted model.

`guard` combines the rules of the two policies. A fallback whose state follows from statistics is
rebuilt when it takes over. Any other fallback is updated with every reward.
"""

import dataclasses
import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import as_float, as_fraction, as_integer, require
from globalbandits.errors import PolicyError
from globalbandits.evidence.drift_test import EVERY, Snapshots, no_snapshots, slots_of
from globalbandits.evidence.histogram import DEFAULT_BINS, Histogram, add, empty
from globalbandits.evidence.live_refutation import change_explains, find_witness
from globalbandits.model import RewardModel
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules, register, require_one_number
from globalbandits.policies.elastic.elastic import Elastic
from globalbandits.policies.paper.wagp import WAGP
from globalbandits.policies.shared.worth import choose_any
from globalbandits.policies.wrappers.inner_policy import as_policy, label_around, resume_inside
from globalbandits.statistics import Statistics, are_part, clear, count, no_statistics

_FIRST_TEST_REWARDS = 8
# The number of rewards grows by this factor from one test to the next.
_TEST_GROWTH = 1.08


class Setup(NamedTuple):
    """The model's tables, both policies' setups, and the constants of the guard."""

    tables: Tables
    inner: Any
    fallback: Any
    exploration: float
    thresholds: FloatArray  # (restarts + 1,) of the evidence, for each start of the inner policy


class State(NamedTuple):
    """Both policies' states, and what the tests need, all since the last restart."""

    since: Statistics  # of the rewards since the last restart
    inner: Any  # not updated after the model is refuted
    fallback: Any  # if it can be rebuilt: its initial state until the model is refuted
    histogram: Histogram
    snapshots: Snapshots  # of the histogram
    next_test: IntArray  # (1,) number of rewards at the next test of the model
    witness: FloatArray  # (1,) a theta that the last test did not refute
    n_restarts: IntArray  # (1,)
    refuted: IntArray  # (1,) 1 once the fallback plays for good


@cache
def guard(inner: Rules, fallback: Rules) -> Rules:
    """Combine the rules of a policy and of its fallback."""
    waits = fallback.rebuild is not None
    can_restart = inner.rebuild is not None and waits
    rebuild_inner = inner.rebuild or rebuild_nothing
    rebuild_fallback = fallback.rebuild or rebuild_nothing
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate
    fallback_select, fallback_update = fallback.select, fallback.update
    fallback_estimate = fallback.estimate
    inner_among, fallback_among = inner.select_among, fallback.select_among

    def init(setup: Setup) -> State:
        """No reward yet."""
        n_arms = setup.tables.n_arms
        return State(
            since=no_statistics(n_arms),
            inner=inner.init(setup.inner),
            fallback=fallback.init(setup.fallback),
            histogram=empty(n_arms),
            snapshots=no_snapshots(n_arms, DEFAULT_BINS),
            next_test=np.full(1, _FIRST_TEST_REWARDS, np.int64),
            witness=np.full(1, 0.5 * (setup.tables.low + setup.tables.high)),
            n_restarts=np.zeros(1, np.int64),
            refuted=np.zeros(1, np.int64),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """Return the inner policy's arm or a random one; after a refutation the fallback's."""
        if state.refuted[0] == 1:
            return fallback_select(setup.fallback, state.since, state.fallback, rng)
        if explores(setup.exploration, state.since.total[0], rng.random()):
            return int(rng.random() * setup.tables.n_arms)
        return inner_select(setup.inner, state.since, state.inner, rng)

    def select_among(
        setup: Setup,
        stats: Statistics,
        state: State,
        offered: IntArray,
        rng: np.random.Generator,
    ) -> int:
        """Choose as `select` does, among the offered arms."""
        if state.refuted[0] == 1:
            return fallback_among(setup.fallback, state.since, state.fallback, offered, rng)  # type: ignore[misc]
        if explores(setup.exploration, state.since.total[0], rng.random()):
            return choose_any(offered, rng)
        return inner_among(setup.inner, state.since, state.inner, offered, rng)  # type: ignore[misc]

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the policy that plays, and test the model on schedule."""
        since = state.since
        count(since, arm, reward)
        refuted = state.refuted[0] == 1
        if refuted or not waits:
            fallback_update(setup.fallback, since, state.fallback, arm, reward)
        if refuted:
            return
        inner_update(setup.inner, since, state.inner, arm, reward)
        add_evidence(state, arm, reward)
        if since.total[0] < state.next_test[0]:
            return
        state.next_test[0] = next_test_after(since.total[0])
        if has_witness(setup, state, inner_estimate(setup.inner, since, state.inner)):
            return
        may_restart = can_restart and state.n_restarts[0] < setup.thresholds.shape[0] - 1
        if may_restart and change_explains(
            setup.tables, state.histogram.counts, state.snapshots, since.total[0]
        ):
            restart(state)
            rebuild_inner(setup.inner, since, state.inner)
        else:
            state.refuted[0] = 1
            rebuild_fallback(setup.fallback, since, state.fallback)

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        """The estimate of the policy that plays."""
        if state.refuted[0] == 1:
            return fallback_estimate(setup.fallback, state.since, state.fallback)
        return inner_estimate(setup.inner, state.since, state.inner)

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Check and complete the saved states of both policies and of the tests."""
        if not are_consistent(setup, stats, state):
            return False
        refuted = state.refuted[0] == 1
        known = state.since if refuted or not waits else no_statistics(setup.tables.n_arms)
        playing = refuted or resume_inside(inner, setup.inner, state.since, state.inner)
        return playing and resume_inside(fallback, setup.fallback, known, state.fallback)

    can_mask = inner_among is not None and fallback_among is not None
    among = select_among if can_mask else None
    return Rules(init, select, update, estimate, resume=resume, select_among=among)


def rebuild_nothing(setup: Any, stats: Statistics, state: Any) -> None:
    """Do nothing, for a policy without `rebuild`."""


def next_test_after(n_rewards: int) -> int:
    """Return the number of rewards at the test after the one at ``n_rewards``.

    >>> next_test_after(8), next_test_after(1000)
    (9, 1080)
    """
    return math.ceil(_TEST_GROWTH * n_rewards)


def explores(exploration: float, n_rewards: int, u: float) -> bool:
    """Whether to play a random arm, for a uniform u.

    True with probability ``exploration * (n_rewards + 1)**(-1/3)``.
    """
    return u * u * u * (n_rewards + 1) < exploration * exploration * exploration


def add_evidence(state: State, arm: int, reward: float) -> None:
    """Add one reward to the histogram, and take snapshots that are due.

    The statistics must already contain the reward.
    """
    counts = state.histogram.counts
    total = state.since.total[0]
    add(state.histogram, arm, reward, 1.0)
    for slot in slots_of(total, EVERY):
        if slot >= 0:
            state.snapshots.times[slot] = total
            # Loops compile much faster than the assignment of an array.
            for row in range(counts.shape[0]):
                for knot in range(counts.shape[1]):
                    state.snapshots.counts[slot, row, knot] = counts[row, knot]


def has_witness(setup: Setup, state: State, estimate: float) -> bool:
    """Whether some theta is not refuted. The last witness and the estimate are tried first."""
    theta = find_witness(
        setup.tables,
        state.histogram.counts,
        state.snapshots,
        EVERY,
        setup.thresholds[state.n_restarts[0]],
        state.witness[0],
        estimate,
    )
    if math.isnan(theta):
        return False
    state.witness[0] = theta
    return True


def restart(state: State) -> None:
    """Clear statistics and evidence, and count a restart."""
    clear(state.since)
    state.histogram.counts.fill(0.0)
    state.snapshots.times.fill(0)
    state.next_test[0] = _FIRST_TEST_REWARDS
    state.n_restarts[0] += 1


def are_consistent(setup: Setup, stats: Statistics, state: State) -> bool:
    """Whether a learner with these statistics can have the guard's saved numbers."""
    total = int(state.since.total[0])
    counts = state.histogram.counts
    refuted, n_restarts = int(state.refuted[0]), int(state.n_restarts[0])
    if not are_part(state.since, stats) or (n_restarts == 0 and total != int(stats.total[0])):
        return False
    if refuted not in (0, 1) or not 0 <= n_restarts < setup.thresholds.shape[0]:
        return False
    last = max(_FIRST_TEST_REWARDS, next_test_after(total))
    if not (refuted or total < state.next_test[0]) or not 0 < state.next_test[0] <= last:
        return False
    if not setup.tables.low <= state.witness[0] <= setup.tables.high:
        return False
    times, copies = state.snapshots
    taken = times > 0
    if np.any(times < 0) or np.any(times > total) or not np.all(counts >= 0.0):
        return False
    if not np.all((copies[taken] >= 0.0) & (copies[taken] <= counts)):
        return False
    observed = counts.sum(axis=1)
    slack = 1e-6 * (1.0 + state.since.counts)
    missing = state.since.counts - observed
    return bool(np.all((missing >= -slack) & ((missing <= slack) | (refuted == 1))))


_WAGP, _ELASTIC = WAGP(), Elastic()


@register("guarded")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Guarded(Policy):
    """Play a structured policy, test its model, and switch to a fallback if it is refuted.

    Round t plays a random arm with probability ``exploration * t**(-1/3)``, because rewards of a
    single arm can never refute a model. Over T rounds that is about ``1.5 * exploration *
    T**(2/3)`` plays, each of which costs the mean gap of the arms (`exploration_cost`).

    The test is the spike-and-slab process, with false-alarm rate ``alpha`` over all time. The
    model is refuted when no theta explains the rewards of all arms. If a change of theta explains
    them better than a wrong model, the inner policy restarts without rewards, at most ``restarts``
    times. Otherwise the fallback takes over for the rest of the game, with all rewards since the
    last restart. The test uses the observed rewards, not their value. Value: as the two policies
    use it.

    Use it as an alarm, and for a parameter that jumps. It does not protect against an arm with a
    wrong curve, because random plays detect it late. For that use `Elastic`, or `Safe` around the
    policy.

    Args:
        inner: the structured policy; may be given by position.
        fallback: a policy that trusts the model less, or does not use it.
        alpha: the probability of ever switching or restarting if the model is right and theta
            does not change.
        exploration: the factor of the exploration probability, at least 0; at 0 the model may
            never become testable.
        restarts: the largest number of restarts after changes of theta; 0 for none.

    >>> from globalbandits.policies import WAGP
    >>> Guarded(WAGP()).label
    'Guarded(WAGP)'
    """

    inner: Policy = dataclasses.field(default=_WAGP, kw_only=False)
    fallback: Policy = _ELASTIC
    alpha: float = 0.05
    exploration: float = 0.5
    restarts: int = 3

    def __post_init__(self) -> None:
        for name in ("inner", "fallback"):
            object.__setattr__(self, name, as_policy(name, getattr(self, name)))
        object.__setattr__(self, "alpha", as_fraction("alpha", self.alpha, PolicyError))
        exploration = as_float("exploration", self.exploration, PolicyError)
        require(exploration >= 0.0, "exploration", "be at least 0", exploration, PolicyError)
        object.__setattr__(self, "exploration", exploration)
        restarts = as_integer("restarts", self.restarts, 0, PolicyError)
        object.__setattr__(self, "restarts", restarts)

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The combined rules of both policies."""
        return guard(self.inner.rules, self.fallback.rules)

    @property
    def compiled(self) -> bool:  # type: ignore[override]
        """Whether the rules of both policies can be compiled."""
        return self.inner.compiled and self.fallback.compiled

    @property
    def ignores_value(self) -> bool:  # type: ignore[override]
        """What the inner policy declares."""
        return self.inner.ignores_value

    @property
    def curve_errors(self) -> float:  # type: ignore[override]
        """What the inner policy assumes."""
        return self.inner.curve_errors

    def setup(self, model: RewardModel) -> Setup:
        """Return the setups of both policies, and thresholds that share alpha among restarts."""
        require_one_number(model, "Guarded")
        starts = np.arange(1.0, self.restarts + 2.0)
        shares = 1.0 / (starts * (starts + 1.0)) if self.restarts else np.ones(1)
        return Setup(
            tables=model.tables,
            inner=self.inner.setup(model),
            fallback=self.fallback.setup(model),
            exploration=self.exploration,
            thresholds=-np.log(self.alpha * shares),
        )

    def exploration_cost(self, model: RewardModel, theta: float, horizon: int) -> float:
        """Return the expected regret of the random plays in the first ``horizon`` rounds."""
        rounds = np.arange(1.0, horizon + 1.0)
        n_plays = np.minimum(1.0, self.exploration * rounds ** (-1.0 / 3.0)).sum()
        return float(n_plays * model.gaps(theta).mean())

    def reason(self, setup: Setup, stats: Statistics, state: State) -> str:
        """Say which policy plays, and its reason."""
        if state.refuted[0] == 1:
            reason = self.fallback.reason(setup.fallback, state.since, state.fallback)
            return f"model refuted, {reason}"
        return f"model not refuted, {self.inner.reason(setup.inner, state.since, state.inner)}"

    def limit(
        self, setup: Setup, stats: Statistics, state: State, rng: np.random.Generator
    ) -> str | None:
        """Say that this is a random play, or what moved the choice of the policy that plays."""
        if state.refuted[0] == 1:
            return self.fallback.limit(setup.fallback, state.since, state.fallback, rng)
        if explores(setup.exploration, state.since.total[0], rng.random()):
            return "any arm, to test the model"
        return self.inner.limit(setup.inner, state.since, state.inner, rng)

    def details(self, setup: Setup, stats: Statistics, state: State) -> dict[str, Any]:
        """Return whether the model is refuted, and the number of restarts."""
        return {"refuted": bool(state.refuted[0]), "restarts": int(state.n_restarts[0])}

    def observed(self, stats: Statistics, state: State) -> Statistics:
        """What the policy that plays decides by: nothing from before the last restart."""
        if state.refuted[0] == 1:
            return self.fallback.observed(state.since, state.fallback)
        return self.inner.observed(state.since, state.inner)

    @property
    def label(self) -> str:
        """The inner policy's label, and the parameters that are not default."""
        return label_around(self)
