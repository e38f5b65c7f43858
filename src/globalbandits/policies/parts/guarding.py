"""The rules of a guard: two policies, and a test of the model that decides which one plays.

`guard` builds them from the rules of the two policies, by closures; helpers that need no
closure follow below it.
"""

import math
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.coins import change_explains
from globalbandits.evidence.drift import EVERY, Snapshots, no_snapshots, slots_of
from globalbandits.evidence.histogram import DEFAULT_BINS, Histogram, add, empty
from globalbandits.evidence.witness import find_witness
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Rules

_FIRST_TEST = 8  # observations
_SPACING = 1.08  # each test comes this many times later than the one before


class Setup(NamedTuple):
    """The model's tables, both policies' setups, and the constants of the guard."""

    tables: Tables
    inner: Any
    fallback: Any
    exploration: float
    thresholds: FloatArray  # (restarts + 1,) of the evidence, for each start of the inner policy


class State(NamedTuple):
    """Both policies' states, and what the tests need, counted since the last restart."""

    inner: Any
    fallback: Any
    histogram: Histogram
    snapshots: Snapshots  # of the histogram
    total: IntArray  # (1,) observations
    next_test: IntArray  # (1,) when the model is tested next
    witness: FloatArray  # (1,) a theta that was not refuted when last looked at
    n_restarts: IntArray  # (1,)
    refuted: IntArray  # (1,) 1 once the fallback plays for good


@cache
def guard(inner: Rules, fallback: Rules) -> Rules:
    """The rules of a policy and of its fallback as the rules of one policy."""
    restart_inner, restart_fallback = restart(inner), restart(fallback)
    can_restart = bool(inner.additive and fallback.additive)
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate
    fallback_select, fallback_update = fallback.select, fallback.update
    fallback_estimate = fallback.estimate

    def init(setup: Setup) -> State:
        """No observation yet."""
        n_arms = setup.tables.n_arms
        return State(
            inner=inner.init(setup.inner),
            fallback=fallback.init(setup.fallback),
            histogram=empty(n_arms),
            snapshots=no_snapshots(n_arms, DEFAULT_BINS),
            total=np.zeros(1, np.int64),
            next_test=np.full(1, _FIRST_TEST, np.int64),
            witness=np.full(1, 0.5 * (setup.tables.low + setup.tables.high)),
            n_restarts=np.zeros(1, np.int64),
            refuted=np.zeros(1, np.int64),
        )

    def select(setup: Setup, state: State, rng: np.random.Generator) -> int:
        """The inner policy's arm, now and then any arm; the fallback's after a refutation."""
        if state.refuted[0] == 1:
            return fallback_select(setup.fallback, state.fallback, rng)
        if explores(setup.exploration, state.total[0], rng.random()):
            return int(rng.random() * setup.tables.n_arms)
        return inner_select(setup.inner, state.inner, rng)

    def update(setup: Setup, state: State, arm: int, reward: float) -> None:
        """Both policies learn, and on schedule the model is tested."""
        fallback_update(setup.fallback, state.fallback, arm, reward)
        if state.refuted[0] == 1:
            return
        inner_update(setup.inner, state.inner, arm, reward)
        note(state, arm, reward)
        if state.total[0] < state.next_test[0]:
            return
        state.next_test[0] = math.ceil(_SPACING * state.total[0])
        if survives(setup, state, inner_estimate(setup.inner, state.inner)):
            return
        may_restart = can_restart and state.n_restarts[0] < setup.thresholds.shape[0] - 1
        if may_restart and change_explains(
            setup.tables, state.histogram.counts, state.snapshots, state.total[0]
        ):
            restart_inner(setup.inner, state.inner)
            restart_fallback(setup.fallback, state.fallback)
            begin_anew(state)
        else:
            state.refuted[0] = 1

    def estimate(setup: Setup, state: State) -> float:
        """That of the policy that plays."""
        if state.refuted[0] == 1:
            return fallback_estimate(setup.fallback, state.fallback)
        return inner_estimate(setup.inner, state.inner)

    return Rules(init, select, update, estimate)


def restart(rules: Rules) -> Callable[[Any, Any], None]:
    """A function that empties a policy's state: all that adds up to 0, the rest rebuilt."""
    clear: Callable[[Any], None] = clear_nothing
    for name in rules.additive:
        clear = clear_also(name, clear)
    refresh = rules.refresh or refresh_nothing

    def empty_state(setup: Any, state: Any) -> None:
        clear(state)
        refresh(setup, state)

    return empty_state


def clear_also(name: str, clear: Callable[[Any], None]) -> Callable[[Any], None]:
    """A function that zeroes one more field of a state."""

    def clear_both(state: Any) -> None:
        clear(state)
        getattr(state, name).fill(0)

    return clear_both


def clear_nothing(state: Any) -> None:
    """Zero no field."""


def refresh_nothing(setup: Any, state: Any) -> None:
    """Rebuild no field."""


def explores(exploration: float, n_observations: int, u: float) -> bool:
    """Whether to try any arm, with probability exploration * (n + 1)**(-1/3); u is uniform."""
    return u * u * u * (n_observations + 1) < exploration * exploration * exploration


def note(state: State, arm: int, reward: float) -> None:
    """Add one reward to the evidence."""
    counts = state.histogram.counts
    add(state.histogram, arm, reward, 1.0)
    state.total[0] += 1
    for slot in slots_of(state.total[0], EVERY):
        if slot >= 0:
            state.snapshots.times[slot] = state.total[0]
            # By loops, which compile much faster than the assignment of an array.
            for row in range(counts.shape[0]):
                for knot in range(counts.shape[1]):
                    state.snapshots.counts[slot, row, knot] = counts[row, knot]


def survives(setup: Setup, state: State, estimate: float) -> bool:
    """Whether some theta is not refuted: the last one that was not, the estimate, or any."""
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


def begin_anew(state: State) -> None:
    """Empty the evidence and count a restart."""
    state.histogram.counts.fill(0.0)
    state.snapshots.times.fill(0)
    state.total[0] = 0
    state.next_test[0] = _FIRST_TEST
    state.n_restarts[0] += 1
