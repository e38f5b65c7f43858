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
    model: str, events: Sequence[tuple[str, int, float]], known: Iterable[int]
) -> dict[int, dict[str, Any]]:
    """The evidence at each mark: least refuted theta, interval, e-value against the model.

    Args:
        model: the model as JSON.
        events: kind, arm and value of all events, from the first.
        known: versions to skip, because their evidence is already known.
    """
    from globalbandits._plain_data import plain
    from globalbandits.evidence import Evidence
    from globalbandits.service.log.settings import build_model

    evidence = Evidence(build_model(model))
    wanted = set(marks(len(events))) - set(known)
    found = {}
    for version, (kind, arm, value) in enumerate(events, 1):
        if kind == "retraction":
            evidence.forget(arm, value)
        elif kind != "decision":
            evidence.update(arm, value)
        if version in wanted:
            span, against = evidence.interval(), evidence.against_model()
            point = (version, against.theta, span.low, span.high, against.log_e_value)
            names = ("version", "theta", "low", "high", "log_e_value")
            found[version] = dict(zip(names, plain(point), strict=True))
    return found
