"""The evidence at selected versions of a bandit, recomputed from the events of its log."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

MOST_EVENTS = 5_000  # longer logs are not replayed for a history


def marks(version: int) -> list[int]:
    """Versions at which a history is drawn, denser at the start. The last one is ``version``.

    All marks but the last are permanent: they are also the marks of longer logs.

    >>> marks(20)
    [1, 2, 3, 4, 5, 7, 9, 12, 15, 19, 20]
    """
    found, mark = [], 1
    while mark < version:
        found.append(mark)
        mark = max(mark + 1, math.ceil(mark * 1.25))
    return [*found, version] if version else []


def trace(
    model: str, events: Sequence[tuple[str, int, float, int]], known: Iterable[int]
) -> dict[int, dict[str, Any]]:
    """The evidence at each mark: least refuted theta, interval, e-value against the model.

    Args:
        model: the model as JSON.
        events: kind, arm, value and count of all events, from the first.
        known: versions to skip, because their evidence is already known.
    """
    from globalbandits._plain_data import plain
    from globalbandits._rewards import as_summary
    from globalbandits.evidence import Evidence
    from globalbandits.model import VectorModel
    from globalbandits.service.log.settings import build_model

    evidence = Evidence(build_model(model))
    wanted = set(marks(len(events))) - set(known)
    found = {}
    low, high = evidence.model.reward_range
    for version, (kind, arm, value, count) in enumerate(events, 1):
        rewards = [value]
        if count > 1:
            rewards = [low + (high - low) * unit for unit in as_summary(value, count, (low, high))]
        for reward in rewards if kind != "decision" else []:
            if kind == "retraction":
                evidence.forget(arm, reward)
            else:
                evidence.update(arm, reward)
        if version in wanted:
            against = evidence.against_model()
            # Several unknown numbers have no interval; only the e-value is drawn.
            where: tuple[float | None, ...] = (None, None, None)
            if not isinstance(evidence.model, VectorModel):
                span = evidence.interval()
                where = against.theta, span.low, span.high
            point = (version, *where, against.log_e_value)
            names = ("version", "theta", "low", "high", "log_e_value")
            found[version] = dict(zip(names, plain(point), strict=True))
    return found
