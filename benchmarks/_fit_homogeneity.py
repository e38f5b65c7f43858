"""How often groups that are alike are called alike: ``python -m benchmarks._fit_homogeneity``."""

from typing import Any

import numpy as np

import globalbandits as gb
from globalbandits._means import mean_and_error
from globalbandits.fitting.assessment.homogeneity import check_homogeneity
from globalbandits.fitting.panel.rows import HistoryColumns, panels_from_rows

N_HISTORIES = 1_000
COLUMNS = HistoryColumns("group", "arm", "reward", reward_range=(0.0, 1.0))
# Histories of 50 groups: title, rewards per group, and how they are drawn.
HISTORIES: tuple[tuple[str, int, dict[str, Any]], ...] = (
    ("140 Bernoulli rewards per group", 140, {}),
    ("20 Bernoulli rewards per group on some arms", 20, {"uneven": True}),
    ("42 continuous rewards per group", 42, {"concentration": 5.0}),
)


def main() -> None:
    """Print the share of histories in which the test at the 5 % level does not reject."""
    for title, rewards, how in HISTORIES:
        alike = []
        for seed in range(N_HISTORIES):
            history = gb.histories.identical_groups(rewards=rewards, seed=seed, **how)
            panel, _ = panels_from_rows(history, COLUMNS)
            alike.append(not check_homogeneity(panel).differ())
        mean, error = mean_and_error(np.array(alike, np.float64))
        print(f"{title}: {100 * mean:.1f} ± {100 * error:.1f} % are called alike", flush=True)


if __name__ == "__main__":
    main()
