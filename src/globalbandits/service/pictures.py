"""What the page draws: curves of a model, and how the evidence came about."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from globalbandits.model import RewardModel

POINTS = 81  # of a curve
MOST_EVENTS = 5_000  # that are gone through again for a history


def curves(model: RewardModel) -> dict[str, Any]:
    """Means and worths of all arms over the parameter, and which arm is best where."""
    low, high = model.domain
    thetas = np.linspace(low, high, POINTS)
    means = np.asarray(model.means(thetas), float)
    worths = np.asarray(model.worth(thetas), float) if model.valued else means
    return {
        "thetas": thetas.tolist(),
        "means": [_finite(column) for column in means.T],
        "worths": [_finite(column) for column in worths.T],
        "valued": bool(model.valued),
        "regions": [
            {"arm": int(region.arm), "low": float(region.low), "high": float(region.high)}
            for region in model.regions
        ],
        "reward_range": [float(end) for end in model.reward_range],
    }


def _finite(values: Iterable[float]) -> list[float | None]:
    return [float(value) if math.isfinite(value) else None for value in values]


def marks(version: int) -> list[int]:
    """Versions at which a history is drawn, denser at the beginning; the same for any end.

    >>> marks(20)
    [1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 20]
    """
    found, mark = [], 1
    while mark < version:
        found.append(mark)
        mark = max(mark + 1, math.ceil(mark * 1.25))
    return [*found, version] if version else []


def trace(
    model: str, events: Sequence[tuple[str, int, float]], known: Iterable[int]
) -> dict[int, dict[str, Any]]:
    """The evidence after each mark: least refuted theta, interval, e-value against the model.

    Args:
        model: as JSON.
        events: kind, arm and value, from the first one on.
        known: versions that need not be computed again.
    """
    from globalbandits.evidence import Evidence
    from globalbandits.service.evidence_reader import plain
    from globalbandits.service.log.settings import build_model

    evidence = Evidence(build_model(model))
    wanted = set(marks(len(events))) - set(known)
    found = {}
    for version, (kind, arm, value) in enumerate(events, 1):
        if kind == "retraction":
            evidence.forget(arm, value)
        else:
            evidence.update(arm, value)
        if version in wanted:
            span, against = evidence.interval(), evidence.against_model()
            point = (version, against.theta, span.low, span.high, against.log_e_value)
            names = ("version", "theta", "low", "high", "log_e_value")
            found[version] = dict(zip(names, plain(point), strict=True))
    return found
