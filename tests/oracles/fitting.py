"""The fit straight from its formulas: plain loops, numerical integrals, general optimisers.

Nothing is shared with the package. A history is a list of (group, arm, reward); a panel is three
nested lists n, total, square [group][arm].
"""

import math
from collections import defaultdict

import numpy as np
from scipy import integrate, optimize, stats

RIDGE = 1e-3


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


def panel(rows, low, high):
    """{(group, arm): (n, sum, sum of squares)} on the unit scale."""
    cells = defaultdict(lambda: [0, 0.0, 0.0])
    for group, arm, reward in rows:
        unit = (reward - low) / (high - low)
        cell = cells[group, arm]
        cell[0] += 1
        cell[1] += unit
        cell[2] += unit * unit
    return {key: tuple(value) for key, value in cells.items()}


def effective(n, rho, phi):
    """Effective number of independent Bernoulli rewards among n rewards."""
    return n / (phi + n * rho)


def group_log(n, y, a, c, rho, phi, z):
    """Σ_k m (y log f + (1 - y) log(1 - f)) of one group at one z."""
    total = 0.0
    for k in range(len(a)):
        if n[k] == 0:
            continue
        f = sigmoid(a[k] + c[k] * z)
        m = effective(n[k], rho[k], phi[k])
        total += m * (y[k] * math.log(f) + (1 - y[k]) * math.log(1 - f))
    return total


def responsibilities(n, y, a, c, rho, phi, grid, weights):
    """Posterior of every group over the grid."""
    table = []
    for g in range(len(n)):
        terms = [
            weights[q] * math.exp(group_log(n[g], y[g], a, c, rho, phi, grid[q]))
            for q in range(len(grid))
        ]
        table.append([term / sum(terms) for term in terms])
    return table


def bend_matrix(places):
    """Residual of a vector over the arms without its constant (and its straight line)."""
    n_arms = len(places)
    columns = [np.ones(n_arms)]
    if not np.isnan(places[0]):
        columns.append(np.array(places, float))
    basis, _ = np.linalg.qr(np.column_stack(columns))
    return np.eye(n_arms) - basis @ basis.T


def penalised_log_likelihood(parameters, n, y, rho, phi, grid, weights, bends, tau_a, tau_c):
    """Marginal quasi log likelihood of (a, c), less what pulls them to a straight line."""
    n_arms = len(parameters) // 2
    a, c = parameters[:n_arms], parameters[n_arms:]
    total = 0.0
    for g in range(len(n)):
        logs = [
            math.log(weights[q]) + group_log(n[g], y[g], a, c, rho, phi, grid[q])
            for q in range(len(grid))
        ]
        top = max(logs)
        total += top + math.log(sum(math.exp(each - top) for each in logs))
    penalty = a @ bends @ a / (2 * tau_a) + c @ bends @ c / (2 * tau_c)
    return total - penalty - RIDGE / 2 * (a @ a + c @ c)


def best_curves(start, *arguments):
    """(a, c) that maximise the penalised likelihood, by a general optimiser."""
    found = optimize.minimize(
        lambda x: -penalised_log_likelihood(x, *arguments), start, method="BFGS",
        options={"gtol": 1e-7},
    )  # fmt: skip
    return found.x, -found.fun


def bernoulli_score(n, total, f, rho):
    """Likelihood of ordered Bernoulli rewards of a cell: an integral over the group's own mean."""
    precision = (1 - rho) / rho
    density = stats.beta(precision * f, precision * (1 - f)).pdf
    value, _ = integrate.quad(
        lambda p: p**total * (1 - p) ** (n - total) * density(p), 0, 1, epsabs=1e-13, limit=200
    )
    return value


def normal_score(n, total, f, rho, phi):
    """Density of a cell's mean."""
    return stats.norm(f, math.sqrt(f * (1 - f) * (phi / n + rho))).pdf(total / n)


def marginal_score(n, total, curves, weights, rho, phi, binary):
    """log Σ_q pi_q Π_k p(cell) of one group; curves[q][k]."""
    value = 0.0
    for q in range(len(weights)):
        product = weights[q]
        for k in range(len(n)):
            if n[k] == 0:
                continue
            f = curves[q][k]
            if binary:
                product *= bernoulli_score(n[k], total[k], f, rho[k])
            else:
                product *= normal_score(n[k], total[k], f, rho[k], phi[k])
        value += product
    return math.log(value)


def random_effect(means, n, centre, phi):
    """rho of maximum likelihood: means are Normal around f with f (1 - f) (phi / n + rho)."""
    variance = centre * (1 - centre)

    def loss(rho):
        spread = variance * (phi / n + rho)
        return 0.5 * sum(math.log(spread) + (mean - centre) ** 2 / spread for mean in means)

    return optimize.minimize_scalar(loss, bounds=(0, 1), method="bounded",
                                    options={"xatol": 1e-12}).x  # fmt: skip


def homogeneity(successes, counts):
    """Pearson's statistic and degrees of freedom, arm by arm, from contingency tables."""
    statistic, freedom = 0.0, 0
    for k in range(len(counts[0])):
        table = np.array(
            [
                (successes[g][k], counts[g][k] - successes[g][k])
                for g in range(len(counts))
                if counts[g][k] > 0
            ]
        ).T
        found = stats.chi2_contingency(table, correction=False)
        statistic += found.statistic
        freedom += found.dof
    return statistic, freedom
