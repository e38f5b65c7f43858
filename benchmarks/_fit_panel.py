"""Policies from half of the stores of a real panel, played in the other half.

The panel is orange juice of the R package bayesm, which is not part of this project. Write it with
``data(orangeJuice); write.csv(orangeJuice$yx, "orange.csv", row.names=FALSE)`` in R, then
``python -m benchmarks._fit_panel orange.csv``: about three minutes on one core.

Arms are six price levels of a brand, the cost is the mean purchase price, and a game has 1,000
rounds. Rewards of a held-out store are drawn from its own weeks at the price. A price has 10 to 40
weeks with much noise, so their mean is not the store's true mean. Therefore decisions are valued
twice: by the weeks that the rewards are drawn from, and by the store's other weeks. Only the second
value is unbiased. Both are compared with always the best price of the other stores, in rounds of
its worth, with standard errors over stores.
"""

import sys
from typing import Any

import numpy as np
import pandas as pd

import globalbandits as gb
from globalbandits._types import FloatArray

BRANDS, HORIZON, N_SPLITS, MIN_WEEKS = (4, 10), 1_000, 4, 3
COLUMNS: dict[str, Any] = {
    "group": "group", "arm": "arm", "reward": "reward", "reward_range": (0.0, 1.0)
}  # fmt: skip


class NormalThompson:
    """Thompson sampling whose Normal prior has the covariance of the history's stores."""

    def __init__(self, found: gb.Fit, margins: FloatArray, seed: int) -> None:
        panel = found.panel
        self.noise = found.fitted.noise**2
        self.margins = margins
        self.centre = panel.sums.sum(axis=0) / panel.counts.sum(axis=0)
        gaps = np.where(panel.tried, panel.means - self.centre, 0.0)
        spread = gaps.T @ gaps / panel.n_groups
        spread -= np.diag((self.noise / np.maximum(panel.counts, 1)).mean(axis=0))
        values, vectors = np.linalg.eigh(spread)
        self.spread = (vectors * np.maximum(values, 1e-8)) @ vectors.T
        self.rng = np.random.default_rng(seed)

    def select(self) -> int:
        """Return the arm that is worth most in a draw."""
        drawn = self.rng.multivariate_normal(self.centre, self.spread)
        return int((self.margins * drawn).argmax())

    def update(self, arm: int, reward: float) -> None:
        """Condition on a reward."""
        gain = self.spread[:, arm] / (self.spread[arm, arm] + self.noise[arm])
        self.centre = self.centre + gain * (reward - self.centre[arm])
        self.spread = self.spread - np.outer(gain, self.spread[arm])


def weeks_by_price(rows: pd.DataFrame, arms: FloatArray) -> list[FloatArray]:
    """The rewards of the weeks at each price."""
    rewards, prices = rows["reward"].to_numpy(), rows["arm"].to_numpy()
    return [rewards[prices == arm] for arm in arms]


def count_decisions(player: Any, weeks: list[FloatArray], seed: int) -> FloatArray:
    """Play a game, and return how often each price was chosen."""
    rng = np.random.default_rng(seed)
    counts = np.zeros(len(weeks))
    for _ in range(HORIZON):
        arm = player.select()
        player.update(arm, float(rng.choice(weeks[arm])))
        counts[arm] += 1
    return counts


def measure(path: str, brand: int) -> None:
    """Print what the policies earn in the held-out stores of a brand."""
    rows = pd.read_csv(path)
    rows = rows[rows["brand"] == brand]
    cost = float((rows[f"price{brand}"] * (1.0 - rows["profit"] / 100.0)).mean())
    history = pd.DataFrame(gb.histories.read_orange_juice(path, brand))
    stores, arms = np.unique(history["group"]), np.unique(history["arm"])
    rng = np.random.default_rng(1)
    rng.shuffle(stores)
    known, new = np.split(stores, [stores.size // 2])
    past = history[history["group"].isin(known)]
    found = gb.fit(past, **COLUMNS, cost=cost, verdict=False)
    fixed = found.value_of_information.fixed
    policies = {
        "found.policy": found.policy,
        "Elastic(horizon)": gb.Elastic(horizon=HORIZON),
        "WAGP": gb.WAGP(),
        "IndependentGittins": gb.IndependentGittins(),
        "Normal Thompson": None,
    }
    same: dict[str, list[float]] = {name: [] for name in policies}
    other: dict[str, list[float]] = {name: [] for name in policies}
    for store in new.tolist():
        mine = history[history["group"] == store]
        earned: dict[str, list[tuple[float, float]]] = {name: [] for name in policies}
        for split in range(N_SPLITS):
            first = rng.permutation(len(mine)) % 2 == 0
            weeks, held_out = (weeks_by_price(mine[part], arms) for part in (first, ~first))
            if min(part.size for part in weeks + held_out) < MIN_WEEKS:
                continue
            worths = [
                (arms - cost) * np.array([part.mean() for part in half])
                for half in (weeks, held_out)
            ]
            for name, policy in policies.items():
                player = (
                    NormalThompson(found, arms - cost, split)
                    if policy is None
                    else gb.Learner(policy, found.model, seed=split, compiled=True)
                )
                counts = count_decisions(player, weeks, split)
                gains = [float(counts @ worth - HORIZON * worth[fixed]) for worth in worths]
                earned[name].append((gains[0], gains[1]))
        for name, pairs in earned.items():
            if pairs:
                gain = np.mean(pairs, axis=0)
                same[name].append(float(gain[0]))
                other[name].append(float(gain[1]))
    means = past[past["arm"] == arms[fixed]]["reward"].mean()
    unit = float((arms[fixed] - cost) * means)
    print(f"\nbrand {brand}: {len(other['WAGP'])} stores, beyond always {arms[fixed]:g} per ounce")
    for name in policies:
        cells = []
        for gains in (same[name], other[name]):
            error = np.std(gains, ddof=1) / np.sqrt(len(gains))
            cells.append(f"{np.mean(gains) / unit:+7.0f} ± {error / unit:.0f}")
        print(f"  {name:20s} same weeks {cells[0]}, other weeks {cells[1]}", flush=True)


if __name__ == "__main__":
    for each in BRANDS:
        measure(sys.argv[1], each)
