"""Evidence as a plain dict that survives JSON bit for bit, and back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from globalbandits._types import FloatArray
from globalbandits._validation import as_integer, require
from globalbandits.errors import StateError
from globalbandits.evidence.drift import Snapshots

KEYS = ("model", "bins", "every", "clock", "counts", "snapshots")


def encode(
    bins: int, every: int, clock: int, counts: FloatArray, snapshots: Snapshots
) -> dict[str, Any]:
    """All of the state but the model it belongs to; arms without rewards are left out."""
    return {
        "bins": bins,
        "every": every,
        "clock": clock,
        "counts": _encode_counts(counts),
        "snapshots": [
            [slot, int(snapshots.times[slot]), _encode_counts(snapshots.counts[slot])]
            for slot in np.flatnonzero(snapshots.times).tolist()
        ],
    }


def _encode_counts(counts: FloatArray) -> list[Any]:
    return [[arm, counts[arm].tolist()] for arm in np.flatnonzero(counts.any(axis=1)).tolist()]


def check_keys(state: object) -> None:
    """Refuse anything but a dict with exactly the keys of `encode` and the model."""
    if not isinstance(state, Mapping):
        raise StateError(f"evidence must be a dict, got {state!r}")
    wrong = sorted(set(KEYS) ^ set(state))
    require(not wrong, "evidence", f"have the keys {', '.join(KEYS)}", sorted(state), StateError)


def decode_counts(name: str, saved: object, shape: tuple[int, int]) -> FloatArray:
    """Soft counts of the given shape from pairs of an arm and its row."""
    counts = np.zeros(shape)
    for entry in _as_list(name, saved, None):
        arm, row = _as_list(f"{name} entry", entry, 2)
        index = as_integer(f"{name} arm", arm, 0, StateError)
        require(index < shape[0], f"{name} arm", f"be below {shape[0]}", arm, StateError)
        for knot, value in enumerate(_as_list(f"{name} row", row, shape[1])):
            good = type(value) in (int, float) and math.isfinite(value) and value >= 0.0
            require(good, f"{name} value", "be a finite number of 0 or more", value, StateError)
            counts[index, knot] = value
    return counts


def decode_snapshots(saved: object, snapshots: Snapshots, clock: int) -> None:
    """Fill empty snapshots with saved ones."""
    n_slots, *shape = snapshots.counts.shape
    for entry in _as_list("snapshots", saved, None):
        slot, time, rows = _as_list("snapshot", entry, 3)
        index = as_integer("snapshot slot", slot, 0, StateError)
        require(index < n_slots, "snapshot slot", f"be below {n_slots}", slot, StateError)
        moment = as_integer("snapshot time", time, 1, StateError)
        require(moment <= clock, "snapshot time", f"be at most {clock}", time, StateError)
        snapshots.times[index] = moment
        counts = decode_counts("snapshot counts", rows, (shape[0], shape[1]))
        snapshots.counts[index] = counts


def _as_list(name: str, value: object, length: int | None) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        raise StateError(f"{name} must be a list, got {value!r}")
    good = length is None or len(value) == length
    require(good, name, f"have {length} entries", len(value), StateError)
    return list(value)
