"""An independent, naive simulation of the paper's experiments, straight from its pseudocode.

Plain NumPy, vectorised over runs, one loop over time, closed-form inverses. It shares no line
with the package: no tables, no policies, no streams. `python -m tests.oracles.simulation`
writes the numbers that the small version of the experiments is compared with;
`python -m tests.oracles.simulation normal` prints Table 3 with rewards that may leave [0, 1].
"""

import json
import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

PRICES = np.arange(8, 20) * 0.05
STORED = Path(__file__).parent.parent / "lab" / "oracle_numbers.json"
HORIZON, RUNS = 2_000, 2_000  # of the stored numbers


class Problem(NamedTuple):
    """Mean functions theta (runs,) -> (runs, arms), and the inverse of each run's own arm."""

    n_arms: int
    means: Callable
    inverse: Callable  # (arm (runs,), value (runs,)) -> theta (runs,)


PRICING = Problem(
    12,
    lambda theta: PRICES * (1 - PRICES * theta[:, None]) ** 2,
    lambda arm, value: np.clip(
        (1 - np.sqrt(np.maximum(value, 0) / PRICES[arm])) / PRICES[arm], 0, 1
    ),
)


def lines(slopes):
    """mu_k = slope_k * theta on [0, 1] (positive slope), or 1 + slope_k * theta (negative)."""
    slopes = np.asarray(slopes, dtype=float)
    starts = np.where(slopes > 0, 0.0, 1.0)
    return Problem(
        len(slopes),
        lambda theta: starts + slopes * theta[:, None],
        lambda arm, value: np.clip((value - starts[arm]) / slopes[arm], 0, 1),
    )


def power_pair(g):
    """theta**g and 1 - theta**g, the arms of Theorem 6."""
    return Problem(
        2,
        lambda theta: np.stack([theta**g, 1 - theta**g], axis=1),
        lambda arm, value: np.clip(np.where(arm == 0, value, 1 - value), 0, 1) ** (1 / g),
    )


class World(NamedTuple):
    """What is true: a path of the parameter, shifts of the arms, and how rewards are drawn."""

    path: np.ndarray  # (horizon, runs)
    shift: np.ndarray  # (runs, arms)
    draw: Callable  # (means (runs,), rng) -> rewards (runs,)


def beta(mean, rng):
    """Beta(1, (1 - mean) / mean) through its inverse distribution function."""
    return 1 - rng.random(mean.shape) ** (mean / (1 - mean))


def bernoulli(mean, rng):
    return (rng.random(mean.shape) < mean).astype(float)


def normal(mean, rng, deviation=0.3):
    """Rewards that may leave [0, 1], as no reward of the package can."""
    return mean + deviation * rng.standard_normal(mean.shape)


def constant_world(problem, theta, horizon, runs, draw=beta):
    return World(np.full((horizon, runs), theta), np.zeros((runs, problem.n_arms)), draw)


def biased_world(problem, theta, bias, horizon, runs, rng):
    shift = rng.uniform(-bias, bias, (runs, problem.n_arms))
    return World(np.full((horizon, runs), theta), shift, beta)


def walking_world(problem, start, drift_time, horizon, runs, rng):
    """theta_1 = start, then steps of +1/tau (60 %) or -1/tau, reflected at 0 and 1."""
    path = np.empty((horizon, runs))
    path[0] = start
    for t in range(1, horizon):
        step = np.where(rng.random(runs) < 0.6, 1, -1) / drift_time
        walked = np.abs(path[t - 1] + step)
        path[t] = np.where(walked > 1, 2 - walked, walked)
    return World(path, np.zeros((runs, problem.n_arms)), beta)


class Wagp:
    """Algorithm 1."""

    def __init__(self, problem, runs, rng):
        self.problem, self.rng, self.rows = problem, rng, np.arange(runs)
        self.clear()

    def clear(self):
        shape = (len(self.rows), self.problem.n_arms)
        self.counts, self.sums, self.thetas = np.zeros(shape), np.zeros(shape), np.zeros(shape)

    def estimate(self):
        return (self.counts * self.thetas).sum(axis=1) / self.counts.sum(axis=1)

    def select(self, t):
        if t == 1:
            return self.rng.integers(self.problem.n_arms, size=len(self.rows))
        return self.problem.means(self.estimate()).argmax(axis=1)

    def update(self, arm, reward):
        self.counts[self.rows, arm] += 1
        self.sums[self.rows, arm] += reward
        mean = self.sums[self.rows, arm] / self.counts[self.rows, arm]
        self.thetas[self.rows, arm] = self.problem.inverse(arm, mean)


class NonStationaryWagp:
    """Decides at t from the observations s with max(0, (rho - 1) h) < s <= t - 1."""

    def __init__(self, problem, runs, rng, half_window):
        self.half_window = half_window
        self.current, self.next = Wagp(problem, runs, rng), Wagp(problem, runs, rng)

    def select(self, t):
        h = self.half_window
        # At t = 2h + 1, 3h + 1, ... the older half of the window is dropped.
        if t > 2 * h and (t - 1) % h == 0:
            self.current, self.next = self.next, self.current
            self.next.clear()
        self.t = t
        return self.current.select(t)

    def update(self, arm, reward):
        self.current.update(arm, reward)
        if self.t > self.half_window:
            self.next.update(arm, reward)

    def estimate(self):
        return self.current.estimate()


class Ucb1:
    """Every arm once, then the largest mean plus sqrt(2 log(t - 1) / N)."""

    def __init__(self, problem, runs, rng):
        shape = (runs, problem.n_arms)
        self.n_arms, self.rng, self.rows = problem.n_arms, rng, np.arange(runs)
        self.counts, self.sums = np.zeros(shape), np.zeros(shape)

    def select(self, t):
        if t <= self.n_arms:
            return np.full(len(self.rows), t - 1)
        bonus = np.sqrt(2 * math.log(t - 1) / self.counts)
        return (self.sums / self.counts + bonus).argmax(axis=1)

    def update(self, arm, reward):
        self.counts[self.rows, arm] += 1
        self.sums[self.rows, arm] += reward


class SlidingWindowUcb:
    """UCB over the last W observations: mean_W + sqrt(0.6 log(min(t, W)) / N_W)."""

    def __init__(self, problem, runs, rng, window):
        shape = (runs, problem.n_arms)
        self.window, self.rows, self.past = window, np.arange(runs), []
        self.counts, self.sums = np.zeros(shape), np.zeros(shape)

    def select(self, t):
        with np.errstate(divide="ignore", invalid="ignore"):
            bonus = np.sqrt(0.6 * math.log(min(t, self.window)) / self.counts)
            index = self.sums / self.counts + bonus
        return np.where(self.counts == 0, math.inf, index).argmax(axis=1)

    def update(self, arm, reward):
        self.past.append((arm, reward))
        self.counts[self.rows, arm] += 1
        self.sums[self.rows, arm] += reward
        if len(self.past) > self.window:
            arm, reward = self.past.pop(0)
            self.counts[self.rows, arm] -= 1
            self.sums[self.rows, arm] -= reward


class UncertaintyEllipsoid:
    """Least squares on [p, p**2, p**3] and an ellipsoid of the published width, times scale."""

    def __init__(self, problem, runs, rng, first, scale=1.0):
        self.features = np.stack([PRICES, PRICES**2, PRICES**3], axis=1)
        self.first, self.rows = first, np.arange(runs)
        start = self.features[list(first)]
        smallest = np.linalg.eigvalsh(start.T @ start)[0]
        longest = (self.features**2).sum(axis=1).max()
        kappa = 2 * math.sqrt(1 + math.log(1 + 36 * longest / smallest))
        self.alpha = scale * 4 * 0.5 * kappa**2
        self.gram, self.moment = np.zeros((runs, 3, 3)), np.zeros((runs, 3))

    def select(self, t):
        if t <= 3:
            return np.full(len(self.rows), self.first[t - 1])
        inverse = np.linalg.inv(self.gram)
        fitted = np.einsum("ai,rij,rj->ra", self.features, inverse, self.moment)
        spread = np.sqrt(np.einsum("ai,rij,aj->ra", self.features, inverse, self.features))
        width = math.sqrt(math.log(t)) * math.sqrt(min(3 * math.log(t), len(PRICES)))
        return (fitted + self.alpha * width * spread).argmax(axis=1)

    def update(self, arm, reward):
        vectors = self.features[arm]
        self.gram += vectors[:, :, None] * vectors[:, None, :]
        self.moment += vectors * reward[:, None]


class Outcome(NamedTuple):
    regret: np.ndarray  # (horizon, runs) cumulative, by the means that pay
    nominal: np.ndarray  # (horizon, runs) cumulative, by the model's means
    shares: np.ndarray  # (runs, arms)
    squared_error: np.ndarray  # (horizon, runs) of the estimate; nan without one


def play(problem, policy, world, rng):
    """Let a policy act in a world, all runs side by side."""
    horizon, runs = world.path.shape
    rows = np.arange(runs)
    regret, nominal = np.zeros((horizon, runs)), np.zeros((horizon, runs))
    error = np.full((horizon, runs), math.nan)
    pulls = np.zeros((runs, problem.n_arms))
    for t in range(1, horizon + 1):
        model_means = problem.means(world.path[t - 1])
        means = model_means + world.shift
        arm = policy.select(t)
        policy.update(arm, world.draw(means[rows, arm], rng))
        regret[t - 1] = means.max(axis=1) - means[rows, arm]
        nominal[t - 1] = model_means.max(axis=1) - model_means[rows, arm]
        pulls[rows, arm] += 1
        if hasattr(policy, "estimate"):
            error[t - 1] = (policy.estimate() - world.path[t - 1]) ** 2
    return Outcome(regret.cumsum(axis=0), nominal.cumsum(axis=0), pulls / horizon, error)


def _summary(values):
    return {"mean": float(np.mean(values)), "sd": float(np.std(values, ddof=1))}


def _comparison(rng):
    first = (0, 6, 11)
    policies = {
        "wagp": Wagp(PRICING, RUNS, rng),
        "ucb1": Ucb1(PRICING, RUNS, rng),
        "ue": UncertaintyEllipsoid(PRICING, RUNS, rng, first),
        "ue_tuned": UncertaintyEllipsoid(PRICING, RUNS, rng, first, 0.001),
    }
    numbers = {}
    for key, policy in policies.items():
        outcome = play(PRICING, policy, constant_world(PRICING, 0.4, HORIZON, RUNS), rng)
        numbers[f"{key}_regret"] = _summary(outcome.regret[-1])
        if key == "wagp":
            percent = 100 * outcome.shares
            numbers["wagp_share_arm_10"] = _summary(percent[:, 9])
            numbers["wagp_share_arm_9"] = _summary(percent[:, 8])
            numbers["wagp_share_other_arms"] = _summary(100 - percent[:, 8] - percent[:, 9])
    # BUW's radius stays above the whole domain: it plays as UCB1 does.
    numbers["buw_regret"] = numbers["ucb1_regret"]
    return numbers


def _distance(rng):
    numbers = {}
    for theta in (0.2, 0.1, 0.3, 0.8, 0.5):
        world = constant_world(PRICING, theta, HORIZON, RUNS)
        outcome = play(PRICING, Wagp(PRICING, RUNS, rng), world, rng)
        numbers[f"regret_{theta:g}"] = _summary(outcome.regret[-1])
    return numbers


def _drift(rng):
    numbers = {}
    for tau in (500, 1000, 2000, 5000, 10000):
        half_window = math.ceil(tau ** (2 / 3) - 1e-6)
        policies = {
            "tracking": NonStationaryWagp(PRICING, RUNS, rng, half_window),
            "wagp": Wagp(PRICING, RUNS, rng),
            "sw_ucb": SlidingWindowUcb(PRICING, RUNS, rng, 2 * half_window),
        }
        for key, policy in policies.items():
            world = walking_world(PRICING, 0.5, tau, HORIZON, RUNS, rng)
            outcome = play(PRICING, policy, world, rng)
            average = 1000 * outcome.regret[-1] / HORIZON
            numbers[f"{key}_regret_{tau}"] = _summary(average)
            if tau == 1000 and key != "sw_ucb":
                error = np.sqrt(outcome.squared_error).mean(axis=0)
                numbers[f"{key}_error"] = _summary(error)
    return numbers


def _misspecification(rng):
    numbers = {}
    for bias in (0.01, 0.05, 0.1):
        for key in ("wagp", "ucb1", "ue", "ue_tuned"):
            world = biased_world(PRICING, 0.4, bias, HORIZON, RUNS, rng)
            policy = {
                "wagp": lambda: Wagp(PRICING, RUNS, rng),
                "ucb1": lambda: Ucb1(PRICING, RUNS, rng),
                "ue": lambda: UncertaintyEllipsoid(PRICING, RUNS, rng, (0, 6, 11)),
                "ue_tuned": lambda: UncertaintyEllipsoid(PRICING, RUNS, rng, (0, 6, 11), 0.001),
            }[key]()
            outcome = play(PRICING, policy, world, rng)
            numbers[f"{key}_nominal_{bias:g}"] = _summary(outcome.nominal[-1])
            numbers[f"{key}_true_{bias:g}"] = _summary(outcome.regret[-1])
    return numbers


def store():
    """Simulate everything and write the numbers; takes a few minutes."""
    experiments = [_comparison, _distance, _drift, _misspecification]
    content = {"horizon": HORIZON, "runs": RUNS}
    for number, experiment in enumerate(experiments, start=1):
        content[f"experiment_{number}"] = experiment(np.random.default_rng([2018, number]))
    STORED.write_text(json.dumps(content, indent=1) + "\n")


def show_normal(horizon=10_000, runs=1_000):
    """Regret of WAGP for the parameters of Table 3, with half its 95 % interval."""
    for theta in (0.2, 0.1, 0.3, 0.8, 0.5):
        rng = np.random.default_rng(0)
        world = constant_world(PRICING, theta, horizon, runs, normal)
        lost = _summary(play(PRICING, Wagp(PRICING, runs, rng), world, rng).regret[-1])
        half = 1.96 * lost["sd"] / math.sqrt(runs)
        print(f"{theta:g}: {lost['mean']:.2f} ± {half:.2f}", flush=True)


if __name__ == "__main__":
    show_normal() if sys.argv[1:] == ["normal"] else store()
