"""Histories whose prices follow demand: curves and profit with and without the correction.

``python -m benchmarks._fit_endogenous`` prints, for two worlds of 60 stores, the error of the
fitted mean demand and the share of profit that the best price by the curves loses in new stores;
and how often stores that choose prices by chance are accused.
"""

import numpy as np

from globalbandits._types import AnyArray, FloatArray, IntArray
from globalbandits.fitting import histories
from globalbandits.fitting.assessment.endogeneity import check_endogeneity
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.offered_arms import arm_scale
from globalbandits.fitting.panel import Panel
from globalbandits.fitting.panel.rows import HistoryColumns, panels_from_rows

N_HISTORIES = 24
COST = 1.0
PRICES = np.array(histories.PRICES)

Rows = dict[str, AnyArray]


def demand(levels: FloatArray) -> FloatArray:
    """Mean sales of stores: they differ in the level, and all sell less at a higher price."""
    return np.asarray(1 / (1 + np.exp(-(1.5 + levels[:, None] - 0.66 * (PRICES - 5)))))


def draw_rows(counts: IntArray, means: FloatArray, rng: np.random.Generator) -> Rows:
    """Draw Bernoulli rewards: ``counts`` of them with these means in every store and arm."""
    group, arm = (np.repeat(index.ravel(), counts.ravel()) for index in np.indices(counts.shape))
    sold = (rng.random(group.size) < means[group, arm]).astype(float)
    return {"group": group, "arm": PRICES[arm], "reward": sold}


def three_prices(seed: int, each: int = 40) -> tuple[Rows, FloatArray]:
    """60 stores with three neighbouring prices each, higher ones where demand is high.

    Returns their history, and mean sales of 4,000 new stores.
    """
    rng = np.random.default_rng(seed)
    levels = rng.normal(0.0, 2.0, 60)
    centre = np.clip(np.round(3 + 0.85 * levels + rng.normal(0, 0.3, 60)), 1, 5).astype(int)
    counts = np.zeros((60, 7), np.int64)
    for step in (-1, 0, 1):
        counts[np.arange(60), centre + step] = each
    return draw_rows(counts, demand(levels), rng), demand(rng.normal(0.0, 2.0, 4_000))


def usual_price(seed: int) -> tuple[Rows, FloatArray]:
    """60 stores whose usual price follows their demand; other prices are rare."""
    rng = np.random.default_rng(seed)
    levels = rng.normal(0.0, 1.5, 60)
    chance = np.exp(-0.5 * ((np.arange(7) - 3 - 1.5 * levels[:, None]) / 0.6) ** 2)
    counts = np.array([rng.multinomial(140, row / row.sum()) for row in chance])
    return draw_rows(counts, demand(levels), rng), demand(rng.normal(0.0, 1.5, 4_000))


def panel_of(history: Rows) -> Panel:
    """Return the panel of a history in memory."""
    return panels_from_rows(history, HistoryColumns("group", "arm", "reward"))[0]


def main() -> None:
    """Print both tables."""
    for world in (three_prices, usual_price):
        rows = []
        for seed in range(N_HISTORIES):
            history, fresh = world(seed)
            panel = panel_of(history)
            scale = arm_scale(panel.arms)
            found = check_endogeneity(panel, scale, fit_independent(panel, scale))
            profit = (PRICES - COST) * fresh.mean(axis=0)
            row = [float(found.found)]
            for within in (False, True):
                means = fit_shared(panel, scale, within=within).means
                chosen = int(((PRICES - COST) * means).argmax())
                row += [np.abs(means - fresh.mean(axis=0)).max(), 1 - profit[chosen] / profit.max()]
            rows.append(row)
        table = np.array(rows)
        mean, se = table.mean(axis=0), table.std(axis=0, ddof=1) / np.sqrt(N_HISTORIES)
        print(world.__name__, "found", f"{mean[0]:.0%}")
        for place, name in ((1, "usual fit"), (3, "inside groups")):
            print(
                f"  {name:<14} error {mean[place]:.3f} ± {se[place]:.3f}, "
                f"profit lost {mean[place + 1]:.1%} ± {se[place + 1]:.1%}"
            )
    for groups in (8, 20, 60):
        accused = 0
        for seed in range(200):
            drawn = histories.exponential_demand(groups, 140, seed=seed, rho=0.02, uneven=True)
            panel = panel_of(drawn)
            scale = arm_scale(panel.arms)
            accused += check_endogeneity(panel, scale, fit_independent(panel, scale)).found
        print(f"by chance, {groups} groups: accused {accused} of 200")


if __name__ == "__main__":
    main()
