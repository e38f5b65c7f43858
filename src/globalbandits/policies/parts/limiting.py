"""The rules of `Limited`: another policy's choice, moved into the arms that may be played now.

Limits are relative to the arm of the last reward, not of the last decision. `select` changes no
state, so any number of decisions may be open, and a log of rewards suffices to derive every
decision again.
"""

from functools import cache
from typing import Any, NamedTuple

import numpy as np

from globalbandits._types import IntArray
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Rules
from globalbandits.policies.parts.nesting import resume_inside
from globalbandits.statistics import Statistics


class Setup(NamedTuple):
    """The model's tables, the inner policy's setup, and the limits."""

    tables: Tables
    inner: Any
    largest_step: int
    no_skipping: bool
    start: int
    low: int
    high: int
    cohort: int


class State(NamedTuple):
    """The inner policy's state, and the arm of the last reward."""

    inner: Any
    last: IntArray  # (1,) the arm of the last reward; the start before any reward
    streak: IntArray  # (1,) the number of rewards of this arm without another in between


@cache
def limit(inner: Rules) -> Rules:
    """The rules of a policy inside limits."""
    inner_select, inner_update, inner_estimate = inner.select, inner.update, inner.estimate

    def init(setup: Setup) -> State:
        """No reward yet."""
        return State(
            inner=inner.init(setup.inner),
            last=np.full(1, setup.start, np.int64),
            streak=np.zeros(1, np.int64),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        """The inner policy's arm, or the nearest one that may be played."""
        wanted = int(inner_select(setup.inner, stats, state.inner, rng))
        if not 0 <= wanted < setup.tables.n_arms:
            # Not an arm: the engine reports it.
            return wanted
        return min(max(wanted, lowest(setup, state)), highest(setup, stats, state))

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        """Update the inner policy; the limits move with the arm."""
        inner_update(setup.inner, stats, state.inner, arm, reward)
        if arm != state.last[0]:
            state.last[0] = arm
            state.streak[0] = 0
        state.streak[0] += 1

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        """The inner policy's estimate."""
        return inner_estimate(setup.inner, stats, state.inner)

    def resume(setup: Setup, stats: Statistics, state: State) -> bool:
        """Whether a saved state can be that of a learner with these statistics."""
        last, streak, total = int(state.last[0]), int(state.streak[0]), int(stats.total[0])
        if total == 0:
            fits = last == setup.start and streak == 0
        else:
            fits = 0 <= last < setup.tables.n_arms and 0 < streak <= int(stats.counts[last])
        return fits and resume_inside(inner, setup.inner, stats, state.inner)

    return Rules(init, select, update, estimate, resume=resume)


def anchor(setup: Setup, state: State) -> int:
    """The arm that steps are counted from."""
    return int(min(max(state.last[0], setup.low), setup.high))


def is_bound(setup: Setup, state: State) -> bool:
    """Whether only one arm may be played: the first decision, or a cohort not complete."""
    streak = state.streak[0]
    return bool(streak == 0 or streak % setup.cohort != 0)


def lowest(setup: Setup, state: State) -> int:
    """The lowest arm that may be played now."""
    here = anchor(setup, state)
    if is_bound(setup, state):
        return here
    return max(here - setup.largest_step, setup.low)


def highest(setup: Setup, stats: Statistics, state: State) -> int:
    """The highest arm that may be played now."""
    here = anchor(setup, state)
    if is_bound(setup, state):
        return here
    top = min(here + setup.largest_step, setup.high)
    if setup.no_skipping:
        # An arm without a reward may be entered, but not passed.
        arm = min(here + 1, top)
        while arm < top and stats.counts[arm] > 0:
            arm += 1
        top = arm
    return top
