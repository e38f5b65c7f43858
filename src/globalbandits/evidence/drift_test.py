"""The test for drift: whether one constant theta explains the rewards of every period.

A copy of the histogram is taken every b observations. The current histogram minus copy j contains
the rewards since copy j, and E_j(theta) is their pooled process. While theta is constant,

    D(theta) = sum_j E_j(theta) / ((j + 1)(j + 2)),    j = 0, 1, ... (copy 0 is empty),

is an e-process for the true theta, so it ever reaches 1/alpha with probability at most alpha. A
theta is refuted once D reached 1/alpha there. If every theta is refuted, no constant theta
explains the rewards. Only some copies are kept: some with ages of about b 2^i and some taken at
the times b 2^i. Leaving out the others only makes D smaller.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.e_processes import PooledSets, UnitMeans, log_sum
from globalbandits.evidence.search import bernoulli_fit, find_infimum, likely_edges
from globalbandits.model import RewardModel

EVERY = 100  # b, observations between two copies
MAX_EVERY = 1_000_000_000
_N_SLOTS = 24  # enough for b 2**24 observations
_N_THETAS = 513  # grid on which a change is dated
_MAX_LOG_E = 20.0  # larger log e-values are not computed precisely


class Snapshots(NamedTuple):
    """Copies of the histogram: one slot per age, then one slot per power of two."""

    times: IntArray  # (n_slots,) number of observations when the copy was taken; 0 if empty
    counts: FloatArray  # (n_slots, n_arms, n_bins + 1)


def no_snapshots(n_arms: int, n_bins: int) -> Snapshots:
    """Snapshots with empty slots."""
    n_slots = 2 * _N_SLOTS
    return Snapshots(np.zeros(n_slots, np.int64), np.zeros((n_slots, n_arms, n_bins + 1)))


def record(snapshots: Snapshots, counts: FloatArray, time: int, every: int) -> None:
    """Store a copy in the slots given by `slots_of`, if a copy is due.

    >>> snapshots = no_snapshots(1, 1)
    >>> for time in range(1, 1301):
    ...     record(snapshots, np.zeros((1, 2)), time, 100)
    >>> kept(snapshots, 1301)[0].tolist()
    [100, 200, 400, 800, 1000, 1200, 1300]
    """
    for slot in slots_of(time, every):
        if slot >= 0:
            snapshots.times[slot] = time
            snapshots.counts[slot] = counts


def slots_of(time: int, every: int) -> tuple[int, int]:
    """The two slots for a copy taken now; -1 for no slot. Numba compiles this.

    The first slot of copy j is the number of times that 2 divides j. So the copy in slot i is at
    most b 2**(i+1) old, and ages double from slot to slot. If j is a power of two, a second copy
    is kept permanently.

    >>> slots_of(150, 100), slots_of(300, 100), slots_of(400, 100)
    ((-1, -1), (0, -1), (2, 26))
    """
    if time % every != 0:
        return -1, -1
    odd_part = time // every
    slot = 0
    while odd_part % 2 == 0 and slot < _N_SLOTS - 1:
        odd_part //= 2
        slot += 1
    return slot, _N_SLOTS + slot if odd_part == 1 else -1


def times_kept(since: int, now: int, every: int) -> list[int]:
    """Increasing times of the copies that are kept now, if copies were last dropped at ``since``.

    >>> times_kept(0, 1301, 100), times_kept(400, 1301, 100)
    ([100, 200, 400, 800, 1000, 1200, 1300], [800, 1000, 1200, 1300])
    """
    numbers: set[int] = set()
    for slot in range(_N_SLOTS):
        latest = now // every >> slot
        if slot < _N_SLOTS - 1 and latest % 2 == 0:
            latest -= 1  # even numbers belong to later slots
        numbers.update((latest << slot, 1 << slot))
    times = sorted(number * every for number in numbers if number > 0)
    return [time for time in times if since < time <= now]


def kept(snapshots: Snapshots, before: int) -> tuple[IntArray, FloatArray]:
    """Times and counts of the copies taken before a time, oldest first."""
    times, slots = np.unique(snapshots.times, return_index=True)
    use = (times > 0) & (times < before)
    return times[use], snapshots.counts[slots[use]]


class ConstantTheta:
    """A lower bound of the logarithm of the largest D so far, as a function of theta.

    The current D is computed from the rewards since each copy. D at the time of a copy was at
    least half the pooled process of the rewards in that copy.
    """

    def __init__(
        self, model: RewardModel, counts: FloatArray, snapshots: Snapshots, time: int, every: int
    ) -> None:
        times, copies = kept(snapshots, time)
        numbers = np.concatenate([[0.0], times / every])
        self._log_weights = -np.log((numbers + 1.0) * (numbers + 2.0))[:, np.newaxis]
        sets = np.concatenate([counts[np.newaxis], counts - copies, copies])
        self._sets = PooledSets(model, sets)

    def at(self, thetas: FloatArray) -> FloatArray:
        """Values at points."""
        return self._combine(self._sets.at(thetas))

    def survey(
        self, lows: FloatArray, highs: FloatArray, floor: float
    ) -> tuple[FloatArray, FloatArray]:
        """Values at the middles of cells, and lower bounds over the cells."""
        values, bounds = self._sets.survey(lows, highs, -np.inf)
        return self._combine(values), self._combine(bounds)

    def _combine(self, values: FloatArray) -> FloatArray:
        n_since = len(self._log_weights)
        now = log_sum(values[:n_since] + self._log_weights, axis=0)
        earlier = values[n_since:].max(axis=0, initial=-np.inf) + self._log_weights[0]
        return np.asarray(np.maximum(now, earlier))


def constant_log_e(
    model: RewardModel, counts: FloatArray, snapshots: Snapshots, time: int, every: int
) -> float:
    """Logarithm of the infimum of D over theta: the evidence against every constant theta.

    A result of at most 0 is the value at some theta that explains all rewards.
    """
    process = ConstantTheta(model, counts, snapshots, time, every)
    edges = likely_edges(model, counts)
    return find_infimum(process, edges, tolerance=0.05, least=0.0, enough=_MAX_LOG_E).certified


def date_change(
    model: RewardModel, counts: FloatArray, snapshots: Snapshots, time: int
) -> tuple[int, int, int] | None:
    """The most likely time of a change, between its two neighbours; None without copies.

    The rewards are split at each copy and each part gets its own theta. The result is the copy
    with the largest Bernoulli likelihood, and the times of the copies before and after it.
    """
    kept_times, copies = kept(snapshots, time)
    if kept_times.size == 0:
        return None
    arms = np.flatnonzero(counts.any(axis=1))
    thetas = np.linspace(*model.domain, _N_THETAS)
    means = UnitMeans(model, arms)(thetas)
    fits = [
        bernoulli_fit(means, before).max() + bernoulli_fit(means, counts[arms] - before).max()
        for before in copies[:, arms]
    ]
    best = int(np.argmax(fits))
    times = [0, *kept_times.tolist(), time]
    return times[best], times[best + 1], times[best + 2]
