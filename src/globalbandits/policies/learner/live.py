"""One decision or one reward of a policy, as one function for compiled code."""

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from globalbandits.evidence.histogram import Histogram, add
from globalbandits.policies.base import Rules, Setup, State
from globalbandits.statistics import Statistics, count

CHOOSE = -1  # instead of an arm


class Live(NamedTuple):
    """All that a learner's policy reads and writes."""

    setup: Setup
    stats: Statistics
    state: State
    rng: np.random.Generator
    histogram: Histogram


@cache
def live_loop(rules: Rules) -> Callable[[Live, int, float], int]:
    """The function of one policy."""
    select, update = rules.select, rules.update

    def live(learner: Live, arm: int, reward: float) -> int:
        """Count and learn a reward on the unit scale; or return an arm, if asked to CHOOSE."""
        setup, stats, state = learner.setup, learner.stats, learner.state
        if arm == CHOOSE:
            return int(select(setup, stats, state, learner.rng))
        count(stats, arm, reward)
        update(setup, stats, state, arm, reward)
        add(learner.histogram, arm, reward, 1.0)
        return arm

    return live
