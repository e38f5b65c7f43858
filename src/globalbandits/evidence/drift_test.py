"""Has theta moved? Old histograms, subtracted from the new one, leave what came since.

A copy of the histogram is taken every b observations. E_j(theta) is the pooled process of the
rewards since copy j; while theta does not change,

    D(theta) = sum_j E_j(theta) / ((j + 1)(j + 2)),    j = 0, 1, ... (copy 0 is empty),

is an e-process for the true theta, so it ever reaches 1/alpha with probability at most alpha:
a theta at which it once did is dead for good. If every theta is dead, no constant theta
explains the rewards. Few copies suffice, some with ages about b 2^i and some taken at times
b 2^i: leaving others out only makes D smaller.
"""

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.e_processes import (
    PooledSets,
    UnitMeans,
    log_sum,
)
from globalbandits.evidence.search import (
    bernoulli_fit,
    find_infimum,
    likely_edges,
)

if TYPE_CHECKING:
    from globalbandits.model import RewardModel


EVERY = 100  # b
MAX_EVERY = 1_000_000_000
_N_SLOTS = 24  # enough for b 2**24 observations
_N_THETAS = 513  # at which a change is dated
_ENOUGH = 20.0  # log e-values beyond this are not distinguished


class Snapshots(NamedTuple):
    """Copies of the histogram: a slot for each age, then one for each power of two."""

    times: IntArray  # (n_slots,) observations before the copy was taken; 0: no copy
    counts: FloatArray  # (n_slots, n_arms, n_bins + 1)


def no_snapshots(n_arms: int, n_bins: int) -> Snapshots:
    """No copy yet."""
    n_slots = 2 * _N_SLOTS
    return Snapshots(np.zeros(n_slots, np.int64), np.zeros((n_slots, n_arms, n_bins + 1)))


def record(snapshots: Snapshots, counts: FloatArray, time: int, every: int) -> None:
    """Keep a copy if it is time for one, in the slots that `slots_of` says.

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
    """The two slots for a copy taken now, or -1 for none. Numba compiles this.

    Copy j goes to the slot that says how often 2 divides j. So slot i always holds one that
    is at most b 2**(i+1) old: ages double from slot to slot. If j is a power of two, a second
    copy is kept for good.

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
    """Times of the copies that are kept now, if none was dropped after ``since``, rising.

    >>> times_kept(0, 1301, 100), times_kept(400, 1301, 100)
    ([100, 200, 400, 800, 1000, 1200, 1300], [800, 1000, 1200, 1300])
    """
    numbers: set[int] = set()
    for slot in range(_N_SLOTS):
        latest = now // every >> slot
        if slot < _N_SLOTS - 1 and latest % 2 == 0:
            latest -= 1  # even ones belong to later slots
        numbers.update((latest << slot, 1 << slot))
    times = sorted(number * every for number in numbers if number > 0)
    return [time for time in times if since < time <= now]


def kept(snapshots: Snapshots, before: int) -> tuple[IntArray, FloatArray]:
    """Times and counts of the copies taken before some time, the oldest first."""
    times, slots = np.unique(snapshots.times, return_index=True)
    use = (times > 0) & (times < before)
    return times[use], snapshots.counts[slots[use]]


class ConstantTheta:
    """The logarithm of the largest D so far, as a function of theta.

    D of now comes from the rewards since each copy. D at an earlier time is at least half
    the pooled process of the rewards until then, which the copies hold too.
    """

    def __init__(
        self, model: "RewardModel", counts: FloatArray, snapshots: Snapshots, time: int, every: int
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
    model: "RewardModel", counts: FloatArray, snapshots: Snapshots, time: int, every: int
) -> float:
    """Logarithm of inf D over theta, the evidence against every constant theta.

    If it is 0 or less, some theta explains everything; then it is the value at such a theta.
    """
    process = ConstantTheta(model, counts, snapshots, time, every)
    edges = likely_edges(model, counts)
    return find_infimum(process, edges, tolerance=0.05, least=0.0, enough=_ENOUGH).certified


def date_change(
    model: "RewardModel", counts: FloatArray, snapshots: Snapshots, time: int
) -> tuple[int, int, int] | None:
    """When theta most likely changed, between two other times; None without copies.

    The split that two thetas, one before and one after, explain best by the likelihood of
    coins with the model's means; it can be no finer than the copies that are kept.
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
