"""The upper envelope of the arms' worth: which arms are best at which parameters.

The algorithm is divide and conquer over the arms. The envelope of one arm is the arm itself. Two
envelopes are merged interval by interval, and on each interval only two arms have to be compared.
Their difference is sampled, every sign change is bisected to the last bit, and where the
difference comes close to zero without a sign change its minimum is searched for, so that short
intervals between two crossings are found. Intervals are cut where an arm's worth has a kink or an
extremum (``cuts``), so that it is smooth in between. NumPy handles all intervals of all pairs of a
level together. K arms cost about K log K evaluations.
"""

from typing import NamedTuple

import numpy as np

from globalbandits._types import BoolArray, FloatArray, IntArray
from globalbandits.errors import ModelError
from globalbandits.model.analysis.curves import Pieces, cut_pieces
from globalbandits.model.analysis.refinement import bisect, find_crossing, find_minimum
from globalbandits.model.analysis.values import Worth
from globalbandits.model.tables import Envelope

# The domain is sampled on this number of intervals at first, and on up to the maximum if needed.
_N_BASE_INTERVALS = 16
_MAX_BASE_INTERVALS = 1024

# Samples per interval.
_N_NODES = 9

# Shortest interval, as a share of the domain; shorter ones are rounding errors.
_MIN_WIDTH = 1e-13

# Shortest interval on which arms tie, as a share of the domain.
_MIN_TIE_WIDTH = 1e-6

# Smallest difference of worth between arms that are not tied, as a share of the range of worth.
_MIN_DIFFERENCE = 1e-11

_NODES = 0.5 - 0.5 * np.cos(np.pi * np.arange(_N_NODES) / (_N_NODES - 1))


class _Pieces(NamedTuple):
    """Intervals with the label of their best arms, sorted by group and place."""

    group: IntArray
    left: FloatArray
    right: FloatArray
    label: IntArray

    def where(self, chosen: BoolArray | IntArray) -> "_Pieces":
        return _Pieces(
            self.group[chosen], self.left[chosen], self.right[chosen], self.label[chosen]
        )


class _Labels:
    """Numbers for sets of tied arms; numbers below n_arms are single arms."""

    def __init__(self, n_arms: int) -> None:
        self._sets: list[frozenset[int]] = [frozenset((arm,)) for arm in range(n_arms)]
        self._numbers: dict[frozenset[int], int] = {}
        self.first = np.arange(n_arms)

    def union(self, one: int, other: int) -> int:
        arms = self._sets[one] | self._sets[other]
        if arms not in self._numbers:
            self._numbers[arms] = len(self._sets)
            self._sets.append(arms)
            self.first = np.append(self.first, min(arms))
        return self._numbers[arms]

    def arms(self, label: int) -> tuple[int, ...]:
        return tuple(sorted(self._sets[label]))


def upper_envelope(
    worth: Worth,
    n_arms: int,
    domain: tuple[float, float],
    cuts: FloatArray,
    grid: FloatArray,
    means: FloatArray,
    on_grid: FloatArray,
) -> tuple[FloatArray, list[tuple[int, ...]]]:
    """Return the breakpoints (including the domain's ends) and the best arms between them.

    The regions must agree with the worth ``on_grid``, which belongs to the ``means`` on the grid.
    If they do not, curves cross more often than the samples show, and the sampling is refined. If
    the finest sampling still disagrees, the model is an error. ``cuts`` has one row per arm: the
    parameters of its worth's kinks and extrema, filled up with nan.
    """
    n_base = _N_BASE_INTERVALS
    while True:
        breakpoints, best = _sampled_envelope(worth, n_arms, domain, cuts, n_base)
        missed = _first_missed(worth, breakpoints, best, grid, means, on_grid)
        if missed is None:
            return breakpoints, best
        n_base *= 4
        if n_base > _MAX_BASE_INTERVALS:
            raise ModelError(
                "arms must change ranks rarely enough to find all regions, fails near "
                f"theta = {missed:.6g}"
            )


def _sampled_envelope(
    worth: Worth, n_arms: int, domain: tuple[float, float], cuts: FloatArray, n_base: int
) -> tuple[FloatArray, list[tuple[int, ...]]]:
    """Return the envelope found by sampling ``n_base`` intervals."""
    low, high = domain
    labels = _Labels(n_arms)
    pieces = _Pieces(
        np.arange(n_arms), np.full(n_arms, low), np.full(n_arms, high), np.arange(n_arms)
    )
    while pieces.group.size and pieces.group[-1] > 0:
        pieces = _merge_level(worth, pieces, labels, domain, cuts, n_base)
    breakpoints = np.append(pieces.left, high)
    return breakpoints, [labels.arms(label) for label in pieces.label]


def _first_missed(
    worth: Worth,
    breakpoints: FloatArray,
    best: list[tuple[int, ...]],
    grid: FloatArray,
    means: FloatArray,
    on_grid: FloatArray,
) -> float | None:
    """Return the first grid point at which a region's arm is not best, or None."""
    region = np.searchsorted(breakpoints[1:-1], grid, side="right")
    arm, place = np.array([arms[0] for arms in best])[region], np.arange(grid.size)
    chosen = on_grid[arm, place]
    rounding = worth.rounding(arm, means[arm, place], chosen)
    top = on_grid.max(axis=0)
    span = float(top.max() - on_grid.min())
    missed = top - chosen > 4.0 * rounding + _MIN_DIFFERENCE * span
    return float(grid[np.argmax(missed)]) if missed.any() else None


def _merge_level(
    worth: Worth,
    pieces: _Pieces,
    labels: _Labels,
    domain: tuple[float, float],
    cuts: FloatArray,
    n_base: int,
) -> _Pieces:
    """Merge the envelopes of groups 2g and 2g + 1 into group g, for all g at once."""
    n_groups = int(pieces.group[-1]) + 1
    has_partner = pieces.group < 2 * (n_groups // 2)
    alone, paired = pieces.where(~has_partner), pieces.where(has_partner)
    pair, left, right, one, other = _overlay(paired, domain, n_base)
    if cuts.size:
        both = np.concatenate([cuts[labels.first[one]], cuts[labels.first[other]]], axis=1)
        whole = Pieces(np.arange(left.size), left, right)
        interval, left, right = cut_pieces(whole, both)
        pair, one, other = pair[interval], one[interval], other[interval]
    part, start, stop, side = _compare(worth, labels.first[one], labels.first[other], left, right)
    label = np.where(side > 0, one[part], other[part])
    for index in np.flatnonzero(side == 0):
        label[index] = labels.union(int(one[part[index]]), int(other[part[index]]))
    merged = _compress(_Pieces(pair[part], start, stop, label), side == 0, domain)
    return _Pieces(
        np.concatenate([merged.group, alone.group // 2]),
        np.concatenate([merged.left, alone.left]),
        np.concatenate([merged.right, alone.right]),
        np.concatenate([merged.label, alone.label]),
    )


def _overlay(
    pieces: _Pieces, domain: tuple[float, float], n_base: int
) -> tuple[IntArray, FloatArray, FloatArray, IntArray, IntArray]:
    """Return the common refinement of both envelopes of every pair, also cut at base points."""
    n_pairs = (int(pieces.group[-1]) + 1) // 2
    base = np.linspace(domain[0], domain[1], n_base + 1)[:-1]
    pair = np.concatenate([pieces.group // 2, np.repeat(np.arange(n_pairs), n_base)])
    left = np.concatenate([pieces.left, np.tile(base, n_pairs)])
    side = np.concatenate([pieces.group % 2, np.full(n_pairs * n_base, 2)])
    label = np.concatenate([pieces.label, np.zeros(n_pairs * n_base, np.int64)])
    order = np.lexsort((left, pair))
    pair, left, side, label = pair[order], left[order], side[order], label[order]
    places = np.arange(left.size)
    one = label[np.maximum.accumulate(np.where(side == 0, places, 0))]
    other = label[np.maximum.accumulate(np.where(side == 1, places, 0))]
    right = np.append(left[1:], domain[1])
    right[np.append(pair[1:] != pair[:-1], True)] = domain[1]
    wide = right - left > _MIN_WIDTH * (domain[1] - domain[0])
    return pair[wide], left[wide], right[wide], one[wide], other[wide]


def _compare(
    worth: Worth, one: IntArray, other: IntArray, left: FloatArray, right: FloatArray
) -> tuple[IntArray, FloatArray, FloatArray, IntArray]:
    """Find where on each interval arm ``one`` is above (1), below (-1) or equal to (0) ``other``.

    Returns, for each part, the index of its interval, its ends, and its sign.
    """
    # The searches below make hundreds of short calls, so both arms share one call.
    both = np.array([one, other])

    def difference(which: IntArray, theta: FloatArray) -> FloatArray:
        values, rounding = worth.with_rounding(both[:, which], np.array([theta, theta]))
        gap = values[0] - values[1]
        same = np.abs(gap) <= np.maximum(rounding[0], rounding[1])
        return np.asarray(np.where(same, 0.0, gap))

    def plain_difference(which: IntArray, theta: FloatArray) -> FloatArray:
        values = worth(both[:, which], np.array([theta, theta]))
        return np.asarray(values[0] - values[1])

    n = left.size
    theta = left[:, None] + (right - left)[:, None] * _NODES
    theta[:, -1] = right
    rows = np.broadcast_to(np.arange(n)[:, None], theta.shape)
    gap = difference(rows, theta)

    which = rows[:, :-1].ravel()
    start, stop = theta[:, :-1].ravel(), theta[:, 1:].ravel()
    gap_start, gap_stop = gap[:, :-1].ravel(), gap[:, 1:].ravel()
    suspects = np.flatnonzero(_may_dip(theta, gap).ravel())
    if suspects.size:
        dip_at, dip = find_minimum(
            lambda index, at: (
                np.sign(gap_start[suspects[index]]) * difference(which[suspects[index]], at)
            ),
            start[suspects],
            stop[suspects],
            at_ends=(np.abs(gap_start[suspects]), np.abs(gap_stop[suspects])),
        )
        crossed = suspects[dip <= 0.0]
        at, value = dip_at[dip <= 0.0], dip[dip <= 0.0] * np.sign(gap_start[crossed])
        which = np.concatenate([which, which[crossed]])
        start = np.concatenate([start, at])
        gap_start = np.concatenate([gap_start, value])
        stop = np.concatenate([stop, stop[crossed]])
        gap_stop = np.concatenate([gap_stop, gap_stop[crossed]])
        stop[crossed], gap_stop[crossed] = at, value

    sign_start, sign_stop = np.sign(gap_start), np.sign(gap_stop)
    crossing = np.flatnonzero(sign_start * sign_stop < 0.0)
    parting = np.flatnonzero((sign_start != sign_stop) & (sign_start * sign_stop == 0.0))
    changes = np.concatenate([crossing, parting])
    place = np.concatenate(
        [
            find_crossing(
                lambda index, at: plain_difference(which[crossing[index]], at),
                start[crossing],
                stop[crossing],
                gap_start[crossing],
                gap_stop[crossing],
            ),
            bisect(
                lambda index, at: (
                    np.sign(difference(which[parting[index]], at)) == sign_start[parting[index]]
                ),
                start[parting],
                stop[parting],
            ),
        ]
    )
    later_stop = stop[changes]
    stop[changes] = place
    return (
        np.concatenate([which, which[changes]]),
        np.concatenate([start, place]),
        np.concatenate([stop, later_stop]),
        np.concatenate([sign_start, sign_stop[changes]]).astype(np.int64),
    )


def _may_dip(theta: FloatArray, gap: FloatArray) -> BoolArray:
    """Find cells inside which a difference with one sign at both ends might reach zero.

    A convex |difference| lies above the lines through the neighbouring samples, extended into the
    cell. Where those lines stay above zero, the difference does not reach zero.
    """
    height = np.abs(gap)
    slope = np.diff(height, axis=1) / np.diff(theta, axis=1)
    width = np.diff(theta, axis=1)
    n_cells = width.shape[1]
    from_left = np.full_like(width, -np.inf)
    from_left[:, 1:] = height[:, 1:n_cells] + slope[:, : n_cells - 1] * width[:, 1:]
    from_right = np.full_like(width, -np.inf)
    from_right[:, : n_cells - 1] = height[:, 1:n_cells] - slope[:, 1:] * width[:, : n_cells - 1]
    one_sign = gap[:, :-1] * gap[:, 1:] > 0.0
    reaches_zero = np.where(
        np.isinf(from_left),
        from_right <= 0.0,
        np.where(np.isinf(from_right), from_left <= 0.0, (from_left <= 0.0) | (from_right <= 0.0)),
    )
    return np.asarray(one_sign & reaches_zero)


def _compress(pieces: _Pieces, is_tie: BoolArray, domain: tuple[float, float]) -> _Pieces:
    """Drop parts that are too short and join neighbours with the same label.

    Two arms that only touch are equal up to rounding on a short interval, which is no region.
    """
    length = domain[1] - domain[0]
    wide = pieces.right - pieces.left > np.where(is_tie, _MIN_TIE_WIDTH, _MIN_WIDTH) * length
    pieces = pieces.where(wide)
    group, left, right, label = pieces.where(np.lexsort((pieces.left, pieces.group)))
    new_group = np.append(True, group[1:] != group[:-1])
    starts = np.flatnonzero(new_group | np.append(True, label[1:] != label[:-1]))
    # The neighbours of a dropped part share its width evenly.
    left = 0.5 * (left[starts] + np.append(domain[0], right[:-1])[starts])
    group, label = group[starts], label[starts]
    new_group = np.append(True, group[1:] != group[:-1])
    left[new_group] = domain[0]
    right = np.append(left[1:], domain[1])
    right[np.append(new_group[1:], True)] = domain[1]
    return _Pieces(group, left, right, label)


def envelope_table(
    breakpoints: FloatArray,
    best: list[tuple[int, ...]],
    at_ends: tuple[tuple[int, ...], tuple[int, ...]],
) -> Envelope:
    """Return the envelope as flat arrays, with breakpoints and intervals in alternation.

    ``best`` are the best arms of each interval, ``at_ends`` those at the ends of the domain.
    """
    cells = [at_ends[0]]
    for index, arms in enumerate(best):
        if index > 0:
            cells.append(tuple(sorted({*best[index - 1], *arms})))
        cells.append(arms)
    cells.append(at_ends[1])
    sub_low = np.full(len(cells), -np.inf)
    sub_high = np.full(len(cells), np.inf)
    for cell, arms in enumerate(cells):
        # Cell 2i is the breakpoint i, cell 2i + 1 the interval i after it.
        sub_low[cell], sub_high[cell] = suboptimal_sides(
            breakpoints, best, arms, first=cell // 2, last=(cell - 1) // 2
        )
    sizes = np.array([len(arms) for arms in cells], np.int64)
    return Envelope(
        breakpoints=breakpoints,
        starts=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        arms=np.array([arm for arms in cells for arm in arms], np.int64),
        sub_low=sub_low,
        sub_high=sub_high,
    )


def suboptimal_sides(
    breakpoints: FloatArray,
    best: list[tuple[int, ...]],
    arms: tuple[int, ...],
    first: int,
    last: int,
) -> tuple[float, float]:
    """Return the nearest parameters left and right where none of ``arms`` is best, or infinity.

    The search to the left starts at interval ``last``, the search to the right at ``first``.
    """
    wanted = set(arms)
    index = last
    while index >= 0 and not wanted.isdisjoint(best[index]):
        index -= 1
    low = float(breakpoints[index + 1]) if index >= 0 else -np.inf
    index = first
    while index < len(best) and not wanted.isdisjoint(best[index]):
        index += 1
    high = float(breakpoints[index]) if index < len(best) else np.inf
    return low, high
