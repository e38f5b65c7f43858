"""Panels that several tests use."""

import numpy as np

from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.rows import HistoryColumns, panels_from_rows

COLUMNS = {"group": "group", "arm": "arm", "reward": "reward"}


def panel_of(history, reward_range=None):
    return panels_from_rows(history, HistoryColumns(**COLUMNS, reward_range=reward_range))[0]


def bernoulli_panel(counts, successes, arms=None):
    """A panel of Bernoulli rewards from two nested lists."""
    counts, successes = np.array(counts, float), np.array(successes, float)
    arms = tuple(range(1, counts.shape[1] + 1)) if arms is None else tuple(arms)
    return Panel(
        counts, successes, successes, tuple(range(len(counts))), arms, (0.0, 1.0), binary=True
    )


def rows_of(cells):
    """Rows of Bernoulli rewards from {(group, arm): rewards}."""
    rows = [(g, a, r) for (g, a), rewards in cells.items() for r in rewards]
    group, arm, reward = zip(*rows, strict=True)
    return {"group": list(group), "arm": list(arm), "reward": list(reward)}
