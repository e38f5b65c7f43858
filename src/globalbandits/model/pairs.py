"""The smallest and the largest of |mu(t) - mu(t')| / |t - t'|**exponent over all pairs.

With exponent 1 these are secants. With any other the ratio of a pair says nothing of the pairs
within it, so all pairs of a graded grid are looked at and the best one is polished.
"""

import numpy as np

from globalbandits._types import FloatArray, IntArray
from globalbandits.model.secants import FINEST, Extremes, Family, Spots

_ROWS_AT_ONCE = 60  # about 8,000 pairs a row


def extreme_ratios(
    family: Family, secants: Extremes, spots: Spots, exponent: FloatArray, sign: int
) -> Extremes:
    """The extreme ratio of every curve for its own exponent; secants and spots as found above."""
    straight = exponent == 1.0
    bent = np.flatnonzero(~straight)
    rows = np.concatenate((bent, spots.rows[~straight[spots.rows]]))
    centers = np.concatenate((np.full(len(bent), family.low), spots.center[~straight[spots.rows]]))
    found = secants.best(sign).take(straight)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found = found.join(_scan(family, rows[part], centers[part], exponent[rows[part]], sign))
    return found.best(sign)


def _scan(
    family: Family, rows: IntArray, centers: FloatArray, exponent: FloatArray, sign: int
) -> Extremes:
    """Best of all pairs of a grid that is graded towards both ends and towards the center."""
    fine = 0.5 ** np.arange(2, FINEST + 1)
    fractions = np.concatenate((np.arange(33) / 32, fine, 1.0 - fine))
    fixed = np.broadcast_to(fractions, (len(rows), len(fractions)))
    steps = np.concatenate((-fine, [0.0], fine)) * (family.high - family.low)
    points = np.concatenate(
        (family.low + (family.high - family.low) * fixed, centers[:, None] + steps), axis=1
    )
    points = np.sort(np.clip(points, family.low, family.high), axis=1)
    values = family.at(rows, points)
    first, second = np.triu_indices(points.shape[1], 1)
    noise = sign * family.noise[rows][:, None]
    width = points[:, second] - points[:, first]
    apart = width > 0.0
    power = np.where(apart, width, 1.0) ** exponent[:, None]
    ratio = (np.abs(values[:, second] - values[:, first]) + noise) / power
    ratio[~apart] = sign * np.inf
    pair = np.argmin(sign * ratio, axis=1)
    every = np.arange(len(rows))
    left, right = points[every, first[pair]], points[every, second[pair]]
    reach = np.maximum(np.diff(points, axis=1, prepend=family.low), 0.0)
    reach = np.maximum(reach, np.diff(points, axis=1, append=family.high))
    found = Extremes(rows, ratio[every, pair], left, right)
    return _polish(
        family, found, reach[every, first[pair]], reach[every, second[pair]], exponent, sign
    )


def _polish(
    family: Family,
    found: Extremes,
    reach_left: FloatArray,
    reach_right: FloatArray,
    exponent: FloatArray,
    sign: int,
) -> Extremes:
    """Move both points of the pairs, within shrinking reach, while the ratio gets better."""
    rows, ratio, left, right = found
    offsets = np.linspace(-1.0, 1.0, 7)
    every = np.arange(len(rows))
    for shrink in 0.4 ** np.arange(12):
        steps = shrink * offsets
        lefts = np.clip(left[:, None] + reach_left[:, None] * steps, family.low, family.high)
        rights = np.clip(right[:, None] + reach_right[:, None] * steps, family.low, family.high)
        change = np.abs(family.at(rows, rights)[:, :, None] - family.at(rows, lefts)[:, None, :])
        width = rights[:, :, None] - lefts[:, None, :]
        apart = width > 0.0
        power = np.where(apart, width, 1.0) ** exponent[:, None, None]
        ratios = (change + sign * family.noise[rows][:, None, None]) / power
        ratios[~apart] = sign * np.inf
        place = np.argmin(sign * ratios.reshape(len(rows), -1), axis=1)
        seen = ratios.reshape(len(rows), -1)[every, place]
        better = sign * seen < sign * ratio
        ratio = np.where(better, seen, ratio)
        left = np.where(better, lefts[every, place % 7], left)
        right = np.where(better, rights[every, place // 7], right)
    return Extremes(rows, ratio, left, right)
