"""Comparison of models by their observed means, to a tolerance."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits.errors import ModelError

N_SAMPLES = 33
_TOLERANCE = 1e-7  # of the reward range, or of an interval's length


def as_samples(
    curves: FloatArray, domain: tuple[float, float], reward_range: tuple[float, float]
) -> dict[str, Any]:
    """What is observed, as plain data; ``curves`` are unit means at even points, a row per arm."""
    return {
        "domain": list(domain),
        "reward_range": list(reward_range),
        "means": np.round(curves, 12).tolist(),
    }


def is_same(
    mine: Mapping[str, Any], other: object, rows: Sequence[int | None] | None = None
) -> bool:
    """Whether two samples show the same curves; ``rows``: which of the other's rows arms have."""
    if not isinstance(other, Mapping):
        return False
    try:
        spans = [
            np.array([side[key] for key in ("domain", "reward_range")], float)
            for side in (mine, other)
        ]
        curves, others = (np.array(side["means"], float) for side in (mine, other))
    except (KeyError, TypeError, ValueError, OverflowError):
        return False
    if spans[1].shape != (2, 2) or others.ndim != 2 or others.shape[1] != N_SAMPLES:
        return False
    length = spans[0][:, 1:] - spans[0][:, :1]
    if not (np.abs(spans[0] - spans[1]) <= _TOLERANCE * length).all():
        return False
    if rows is None:
        rows = range(len(others))
        if len(others) != len(curves):
            return False
    pairs = [(arm, row) for arm, row in enumerate(rows) if row is not None]
    if len(rows) != len(curves) or any(not 0 <= row < len(others) for _, row in pairs):
        raise ModelError(
            f"rows must name a row of the samples, or None, for each of {len(curves)} arms, "
            f"got {list(rows)!r}"
        )
    if not pairs:
        return True
    own, theirs = np.array(pairs, dtype=np.int64).T
    return bool((np.abs(curves[own] - others[theirs]) <= _TOLERANCE).all())


def short_text(
    arms: tuple[Any, ...],
    domain: tuple[float, float],
    reward_range: tuple[float, float],
    curves: FloatArray,
) -> str:
    """Arms, domain, range and curves in 32 letters."""
    digest = hashlib.sha256()
    digest.update(json.dumps([[repr(arm) for arm in arms], domain, reward_range]).encode())
    digest.update(np.rint(curves * 1e9).astype("<i8").tobytes())
    return digest.hexdigest()[:32]
