"""How well a fit foretells groups: the marginal likelihood of all their cells at once."""

import numpy as np
from scipy.special import betaln, logsumexp

from globalbandits._types import FloatArray
from globalbandits.fitting.fitted import Fitted, log_curves
from globalbandits.fitting.panel import Panel

EXACT = 1e-9  # a smaller rho is taken for none
END = 1e-9  # curves are kept this far from 0 and 1, where a Beta has no density


def log_scores(panel: Panel, fitted: Fitted) -> FloatArray:
    """Log Σ_q pi_q Π_k p(cell | f_kq, rho_k, phi_k) per group: shape (n_groups,).

    p is beta-binomial with precision (1 - rho) / rho for coins (without the number of orders
    in which they can fall, the same for every fit) and Normal else.
    """
    with np.errstate(divide="ignore"):
        logs = np.log(fitted.weights) + cell_logs(panel, fitted)
    return np.asarray(logsumexp(logs, axis=1))


def cell_logs(panel: Panel, fitted: Fitted) -> FloatArray:
    """Σ_k log p(cell | f_kq, ...): shape (n_groups, n_points)."""
    total = np.zeros((panel.n_groups, fitted.grid.size))
    log_f, log_not_f = log_curves(fitted)
    inside = np.clip(fitted.curves, END, 1 - END)
    for arm in range(panel.n_arms):
        rows = np.flatnonzero(panel.tried[:, arm])
        n, total_reward = panel.counts[rows, arm, None], panel.sums[rows, arm, None]
        f, rho = inside[:, arm], float(fitted.rho[arm])
        if not panel.binary:
            variance = f * (1 - f) * (fitted.phi[arm] / n + rho)
            error = total_reward / n - f
            logs = -0.5 * (error**2 / variance + np.log(2 * np.pi * variance))
        elif rho < EXACT:
            logs = total_reward * log_f[:, arm] + (n - total_reward) * log_not_f[:, arm]
        else:
            precision = (1 - rho) / rho
            yes, no = precision * f, precision * (1 - f)
            logs = betaln(total_reward + yes, n - total_reward + no) - betaln(yes, no)
        total[rows] += logs
    return total
