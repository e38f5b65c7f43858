"""Histories whose prices follow demand: curves and profit with and without the correction.

``python -m benchmarks._fit_endogenous`` prints, for two worlds of 60 stores, the error of the
fitted mean demand and the share of profit that the best price by the curves loses in new stores;
and how often stores that choose prices by chance are accused.
"""

import numpy as np

from globalbandits.fitting import histories
from globalbandits.fitting.assessment.endogeneity import check_endogeneity
from globalbandits.fitting.estimation.factor_model import fit_independent, fit_shared
from globalbandits.fitting.estimation.offered_arms import arm_scale
from tests.fitting.panels import panel_of
from tests.fitting.test_endogeneity import PRICES, three_prices, usual_price

N_HISTORIES = 24
COST = 1.0


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
            panel = panel_of(
                histories.exponential_demand(groups, 140, seed=seed, rho=0.02, uneven=True)
            )
            scale = arm_scale(panel.arms)
            accused += check_endogeneity(panel, scale, fit_independent(panel, scale)).found
        print(f"by chance, {groups} groups: accused {accused} of 200")


if __name__ == "__main__":
    main()
