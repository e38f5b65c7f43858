"""Evidence as a plain dict that survives JSON bit for bit, and back, with all of it checked.

Copies of the histogram are saved as the rewards of one stretch of time after the other. So
the histogram is the sum of what is saved, it must agree with the statistics, and the times of
the copies follow from the number of observations: little can be changed without notice.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits._encoding import check_keys, decode_array, decode_tuple, encode_tuple
from globalbandits._types import FloatArray, IntArray
from globalbandits._validation import show
from globalbandits.errors import StateError
from globalbandits.evidence.drift import MOST_EVERY, kept, record, times_kept
from globalbandits.evidence.histogram import GRAINS, MOST_BINS
from globalbandits.evidence.tally import Tally
from globalbandits.statistics import Statistics, are_possible, assign

if TYPE_CHECKING:
    from globalbandits.model import RewardModel

VERSION = 2
KEYS = ("version", "model", "bins", "every", "since", "forgotten", "statistics", "stretches")
_MOST_OBSERVATIONS = 2**53
_EXACT = 2.0**27  # rewards of one arm whose soft counts add up without any rounding
_SLACK = 1e-9  # rounding in the statistics, for every reward


def encode(
    tally: Tally, observed: dict[str, Any] | None, stats: Statistics | None
) -> dict[str, Any]:
    """All of the state; what is kept elsewhere is None.

    Args:
        tally: the soft counts and their copies.
        observed: samples of what the model observes.
        stats: counts and sums of the same rewards.
    """
    times, copies = kept(tally.snapshots, tally.clock + 1)
    first = np.zeros((1, *tally.counts.shape))
    stretches = np.diff(np.concatenate([first, copies, tally.counts[np.newaxis]]), axis=0)
    return {
        "version": VERSION,
        "model": observed,
        "bins": tally.bins,
        "every": tally.every,
        "since": tally.since,
        "forgotten": tally.clock - round(float(tally.counts.sum())),
        "statistics": None if stats is None else encode_tuple(stats),
        "stretches": [
            [time, _encode_rows(stretch)]
            for time, stretch in zip([*times.tolist(), tally.clock], stretches, strict=True)
        ],
    }


def _encode_rows(counts: FloatArray) -> list[Any]:
    """Pairs of an arm and its row; arms without rewards are left out."""
    return [[arm, counts[arm].tolist()] for arm in np.flatnonzero(counts.any(axis=1)).tolist()]


def decode(state: Any, model: "RewardModel", stats: Statistics, *, shared: bool) -> Tally:
    """What `encode` has written.

    Args:
        state: the saved state.
        model: the model it must be of, unless it is shared.
        stats: counts and sums of the same rewards if they are ``shared``; otherwise they are
            filled with those of the state.
        shared: whether model and statistics are kept elsewhere.

    Raises:
        StateError: if the state is damaged, of another model or not of the same rewards.
    """
    check_keys("evidence", state, KEYS)
    version = state["version"]
    if type(version) is not int or version != VERSION:
        raise StateError(
            f"evidence must have version {VERSION}, got {show(version)}: "
            "states of other versions cannot be read"
        )
    if not shared:
        check_model(state["model"], model)
        assign(stats, decode_statistics(state["statistics"], stats))
    elif state["statistics"] is not None or state["model"] is not None:
        raise StateError(
            "statistics and model must be null where they are kept elsewhere, "
            f"got {show(state['statistics'])} and {show(state['model'])}"
        )
    bins = _decode_integer("bins", state["bins"], 1, MOST_BINS)
    every = _decode_integer("every", state["every"], 1, MOST_EVERY)
    tally = Tally(len(stats.counts), bins, every)
    totals = _decode_stretches(tally, state["since"], state["stretches"])
    forgotten = _decode_integer("forgotten", state["forgotten"], 0, _MOST_OBSERVATIONS)
    if forgotten != tally.clock - int(totals.sum()):
        raise StateError(f"forgotten must be {tally.clock - int(totals.sum())}, got {forgotten}")
    check_agreement(stats, tally.counts, totals)
    return tally


def check_model(samples: Any, model: "RewardModel") -> None:
    """Refuse evidence of a model that observes something else."""
    if not model.same_observed(samples):
        raise StateError(
            "evidence must be of a model with the same curves, domain and reward range, "
            f"got {show(samples)}"
        )


def _decode_stretches(tally: Tally, since: Any, saved: Any) -> IntArray:
    """Fill an empty tally; returns how many rewards each arm has."""
    stretches = [_as_list("stretch", entry, 2) for entry in _as_list("stretches", saved)]
    times = [_decode_integer("time", time, 0, _MOST_OBSERVATIONS) for time, _ in stretches]
    tally.clock = times[-1] if times else 0
    tally.since = _decode_integer("since", since, 0, tally.clock)
    expected = [*times_kept(tally.since, tally.clock, tally.every), tally.clock]
    if times != expected:
        raise StateError(f"stretches must end at the times {expected}, got {show(times)}")
    totals = np.zeros(len(tally.counts), np.int64)
    before = 0
    for time, (_, rows) in zip(times, stretches, strict=True):
        n_rewards = _add_rows(tally.counts, totals, rows)
        if n_rewards > time - before:
            raise StateError(
                f"stretch from {before} to {time} must have at most {time - before} rewards, "
                f"got {n_rewards}"
            )
        if time > tally.since:
            record(tally.snapshots, tally.counts, time, tally.every)
        before = time
    return totals


def decode_statistics(saved: Any, template: Statistics) -> Statistics:
    """Counts and sums that rewards on the unit scale can have."""
    stats: Statistics = decode_tuple("statistics", saved, template)
    with np.errstate(all="ignore"):
        possible = are_possible(stats)
    if not possible:
        raise StateError(
            "statistics must be counts and sums that rewards in the range can have, "
            f"got {show(saved)}"
        )
    return stats


def check_agreement(stats: Statistics, counts: FloatArray, totals: IntArray) -> None:
    """Refuse a histogram that is not one of the rewards in the statistics.

    Args:
        stats: counts and sums.
        counts: soft counts, shape (n_arms, n_bins + 1).
        totals: how many rewards each arm has in them, shape (n_arms,).
    """
    knots = np.linspace(0.0, 1.0, counts.shape[1])
    slack = (_SLACK + 1.0 / (GRAINS * (counts.shape[1] - 1))) * (1.0 + totals)
    squares = counts @ (knots * knots)
    # Sharing a reward between two knots keeps its mean and adds up to a quarter of the squared
    # distance of the knots to its square.
    most = 0.25 * totals * knots[1] * knots[1]
    agree = totals == stats.counts
    agree &= np.abs(counts @ knots - stats.sums) <= slack
    agree &= (stats.squares <= squares + slack) & (stats.squares >= squares - most - slack)
    if not agree.all():
        arm = int(np.argmin(agree))
        raise StateError(
            f"evidence must agree with the statistics, got {totals[arm]} rewards of arm {arm} "
            f"with sum {counts[arm] @ knots:.9g} for {stats.counts[arm]} with sum "
            f"{stats.sums[arm]:.9g}"
        )


def _add_rows(counts: FloatArray, totals: IntArray, rows: Any) -> int:
    """Add pairs of an arm and its row to soft counts and to totals; returns how many rewards."""
    n_arms, n_knots = counts.shape
    pairs = [_as_list("row", entry, 2) for entry in _as_list("rows", rows)]
    arms: list[int] = []
    for arm, _ in pairs:
        arms.append(_decode_integer("arm", arm, arms[-1] + 1 if arms else 0, n_arms - 1))
    saved = [row for _, row in pairs]
    soft = decode_array("soft counts", saved, np.zeros((len(pairs), n_knots)))
    n_rewards = _count_rewards(soft)
    if not n_rewards.all():
        wrong = saved[int(np.argmin(n_rewards))]
        raise StateError(
            f"soft counts must be those of a whole number of rewards, got {show(wrong)}"
        )
    counts[arms] += soft
    totals[arms] += n_rewards
    return int(n_rewards.sum())


def _count_rewards(soft: FloatArray) -> IntArray:
    """How many rewards each row of soft counts is of; 0 if it cannot be those of any."""
    good = np.all((soft >= 0.0) & (soft < _MOST_OBSERVATIONS), axis=1)
    kept = np.where(good[:, np.newaxis], soft, 0.0)
    good &= np.all(kept * GRAINS % 1.0 == 0.0, axis=1)
    totals = kept.sum(axis=1)
    n_rewards = np.round(totals)
    rounding = np.where(n_rewards <= _EXACT, 0.0, n_rewards / GRAINS)
    good &= np.abs(totals - n_rewards) <= rounding
    return np.where(good, n_rewards, 0.0).astype(np.int64)


def _decode_integer(name: str, saved: Any, low: int, high: int) -> int:
    number = int(decode_array(name, saved, np.zeros((), np.int64)))
    if not low <= number <= high:
        raise StateError(f"{name} must lie between {low} and {high}, got {number}")
    return number


def _as_list(name: str, saved: Any, length: int | None = None) -> list[Any]:
    if not isinstance(saved, (list, tuple)):
        raise StateError(f"{name} must be a list, got {show(saved)}")
    if length is not None and len(saved) != length:
        raise StateError(f"{name} must have {length} entries, got {len(saved)}")
    return list(saved)
