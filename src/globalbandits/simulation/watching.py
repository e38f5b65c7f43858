"""Policies watched while they play: histograms of their rewards at checkpoints.

A watched policy is the policy itself with a soft histogram beside its state. What it plays
does not change by a bit.
"""

import dataclasses
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.histogram import Histogram, add, empty
from globalbandits.model.tables import Tables
from globalbandits.policies.base import Policy, Rules
from globalbandits.statistics import Statistics

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


class Setup(NamedTuple):
    """The policy's setup, and when to copy the histogram."""

    tables: Tables
    inner: Any
    times: IntArray  # (n_times,)


class State(NamedTuple):
    """The policy's state, the histogram, and its copies."""

    inner: Any
    histogram: Histogram
    copies: FloatArray  # (n_times, n_arms, n_bins + 1)
    next_copy: IntArray  # (1,)


@cache
def watch(rules: Rules) -> Rules:
    """The rules of a policy, with a histogram kept beside."""
    inner_init, inner_select = rules.init, rules.select
    inner_update, inner_estimate = rules.update, rules.estimate

    def init(setup: Setup) -> State:
        histogram = empty(setup.tables.n_arms)
        return State(
            inner=inner_init(setup.inner),
            histogram=histogram,
            copies=np.zeros((setup.times.shape[0], *histogram.counts.shape)),
            next_copy=np.zeros(1, np.int64),
        )

    def select(setup: Setup, stats: Statistics, state: State, rng: np.random.Generator) -> int:
        return inner_select(setup.inner, stats, state.inner, rng)

    def update(setup: Setup, stats: Statistics, state: State, arm: int, reward: float) -> None:
        inner_update(setup.inner, stats, state.inner, arm, reward)
        add(state.histogram, arm, reward, 1.0)
        at = state.next_copy[0]
        if at < setup.times.shape[0] and setup.times[at] == stats.total[0]:
            copy_counts(state, at)
            state.next_copy[0] = at + 1

    def estimate(setup: Setup, stats: Statistics, state: State) -> float:
        return inner_estimate(setup.inner, stats, state.inner)

    return Rules(init, select, update, estimate)


def copy_counts(state: State, at: int) -> None:
    """Put the histogram into one place of the copies."""
    counts = state.histogram.counts
    for arm in range(counts.shape[0]):
        for knot in range(counts.shape[1]):
            state.copies[at, arm, knot] = counts[arm, knot]


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False)
class Watched(Policy):
    """A policy that is watched; it goes by the name of the policy."""

    inner: Policy
    times: tuple[int, ...]  # when the histogram is copied

    @property
    def rules(self) -> Rules:  # type: ignore[override]
        """The policy's rules, with a histogram kept beside."""
        return watch(self.inner.rules)

    def setup(self, model: "RewardModel") -> Setup:
        """The policy's setup, and the times."""
        return Setup(model.tables, self.inner.setup(model), np.array(self.times, np.int64))

    @property
    def kind(self) -> str:  # type: ignore[override]
        """The policy's own kind, if it is registered."""
        return self.inner.kind

    def __repr__(self) -> str:
        return repr(self.inner)

    def to_dict(self) -> dict[str, Any]:
        """The policy's own spec."""
        return self.inner.to_dict()
