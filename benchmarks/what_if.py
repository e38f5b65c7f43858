"""How often the intervals of `off_policy` and `what_if` miss, and how wide they are.

    python -m benchmarks.what_if 1000
    python -m benchmarks.what_if markets 500

Every log has a theta of its own, drawn from the domain, and is written by EpsilonGreedy,
Uniform or GridThompson in turn. For each log five policies are asked about.
Model-free: three fixed policies, by `off_policy`; the truth is the worth at the true means.
Model-based: the same three and two that learn, by `what_if`; the truth is a fresh run of the policy
in the true market. In the worlds with errors each true mean is off by a Normal number in log-odds.
"""

import sys

import numpy as np

import globalbandits as gb
from globalbandits._types import FloatArray
from globalbandits.counterfactuals.markets import market_posterior
from globalbandits.counterfactuals.what_if import ranked_interval
from globalbandits.environments.environment import worth_of_means
from globalbandits.errors import EvidenceError
from globalbandits.statistics import count_many, no_statistics

PRICES = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
N_DECISIONS = 500
N_MARKETS = 119
WRITERS: tuple[gb.Policy, ...] = (
    gb.EpsilonGreedy(epsilon=0.5),
    gb.Uniform(),
    gb.GridThompson(cells=200),
)
ERRORS = (0.0, 0.3, 1.0)  # standard deviations in log-odds
POLICIES: dict[str, gb.Policy] = {
    "price 4": gb.FixedArm(arm=1),
    "price 6": gb.FixedArm(arm=3),
    "uniform": gb.Uniform(),
    "WAGP": gb.WAGP(),
    "UCB1": gb.UCB1(),
}
FIXED = {"price 4": np.eye(6)[1], "price 6": np.eye(6)[3], "uniform": np.full(6, 1 / 6)}


def true_markets(model: gb.RewardModel, n: int, error: float, seed: int) -> FloatArray:
    """The true means of each log's market: (n, n_arms)."""
    rng = np.random.default_rng(seed)
    low, high = model.domain
    means = model.means(rng.uniform(low, high, n))
    odds = np.log(means) - np.log1p(-means) + error * rng.standard_normal(means.shape)
    return np.asarray(1.0 / (1.0 + np.exp(-odds)))


def fresh_runs(model: gb.RewardModel, means: FloatArray, seed: int) -> FloatArray:
    """What each policy earns in one run in a market: (n_policies,)."""
    env = gb.Environment(model, None, truth=means.tolist(), noise=gb.BernoulliNoise())
    played = gb.simulate(env, POLICIES, N_DECISIONS, runs=1, seed=seed, checkpoints=1, threads=1)
    worths = worth_of_means(model, means)
    return np.asarray(played.dataset["pulls"].values[:, 0] @ worths)


def write_log(model: gb.RewardModel, means: FloatArray, seed: int) -> gb.DecisionLog:
    """A log of a policy that explores, with the probabilities of all arms."""
    rng = np.random.default_rng([seed, 1])
    policy = WRITERS[seed % len(WRITERS)]
    learner = gb.Learner(policy, model, seed=seed, compiled=True)
    arms, rewards, rows = [], [], []
    for _ in range(N_DECISIONS):
        found = learner.exact_probabilities()
        assert found is not None
        chances = found.values / found.values.sum()
        arm = int(rng.choice(model.n_arms, p=chances))
        reward = float(rng.random() < means[arm])
        learner.update(arm, reward)
        arms.append(arm)
        rewards.append(reward)
        rows.append(chances)
    return gb.DecisionLog(model, arms=arms, rewards=rewards, probabilities=rows)


class Tally:
    """Misses, refusals and widths of one kind of statement about one policy."""

    def __init__(self) -> None:
        self.n_made = self.n_missed = self.n_refused = 0
        self.widths: list[float] = []

    def add(self, low: float, high: float, truth: float) -> None:
        """Count an interval."""
        self.n_made += 1
        slack = 1e-9 * (1.0 + abs(truth))
        self.n_missed += not low - slack <= truth <= high + slack
        self.widths.append(high - low)

    def __str__(self) -> str:
        if self.n_made == 0:
            return f"none made, {self.n_refused} refused"
        share = self.n_missed / self.n_made
        error = np.sqrt(max(share * (1 - share), 1e-9) / self.n_made)
        return (
            f"missed {self.n_missed} of {self.n_made} ({share:.1%} ± {error:.1%}), "
            f"{self.n_refused} refused, median width {np.median(self.widths):.4g}"
        )


class World:
    """The tallies of one kind of world."""

    def __init__(self, error: float) -> None:
        self.model = gb.demand.exponential(PRICES, cost=1.5)
        self.error = error
        self.free = {name: Tally() for name in FIXED}
        self.based = {name: Tally() for name in POLICIES}
        self.ratios: list[float] = []
        self.n_logs = self.n_refuted = self.n_drift = 0

    def add(self, seed: int, means: FloatArray) -> None:
        """Write a log in a market, and ask about every policy."""
        model = self.model
        self.n_logs += 1
        truths = dict(zip(POLICIES, fresh_runs(model, means, seed), strict=True))
        log = write_log(model, means, seed)
        widths = {}
        for name, pi in FIXED.items():
            try:
                found = gb.off_policy(log, pi)
            except EvidenceError:
                self.free[name].n_refused += 1
                continue
            self.free[name].add(found.low, found.high, float(pi @ worth_of_means(model, means)))
            widths[name] = N_DECISIONS * found.width
        try:
            answer = gb.what_if(log, POLICIES, markets=N_MARKETS, seed=seed)
        except EvidenceError:
            self.n_drift += 1
            for tally in self.based.values():
                tally.n_refused += 1
            return
        self.n_refuted += answer.refuted
        for name, truth in truths.items():
            low, high = answer.interval(name)
            self.based[name].add(low, high, truth)
            if name in widths:
                self.ratios.append((high - low) / widths[name])

    def show(self) -> None:
        """Print all tallies."""
        size = f"{self.n_logs} logs of {N_DECISIONS} decisions"
        print(f"\n{size}, errors of {self.error:g} in log-odds")
        for name, tally in self.free.items():
            print(f"  model-free  {name:8s} {tally} per decision")
        for name, tally in self.based.items():
            print(f"  model-based {name:8s} {tally} in {N_DECISIONS} decisions")
        quantiles = np.quantile(self.ratios, [0.1, 0.5, 0.9]).round(3).tolist()
        print("  width model-based / model-free, 10 %, 50 %, 90 %:", quantiles)
        print(f"  curves refuted in {self.n_refuted}, drift alarms in {self.n_drift}", flush=True)


def measure(n_logs: int, error: float) -> None:
    """Print the tallies of one kind of world after every hundred logs."""
    world = World(error)
    for seed, means in enumerate(true_markets(world.model, n_logs, error, 7)):
        world.add(seed, means)
        if world.n_logs % 100 == 0 or world.n_logs == n_logs:
            world.show()


def measure_markets(n_logs: int, error: float) -> None:
    """Print how often intervals of fixed policies from draws of markets miss. Nothing is played."""
    model = gb.demand.exponential(PRICES, cost=1.5)
    rng = np.random.default_rng(3)
    tallies = {name: Tally() for name in FIXED}
    for number in range(n_logs):
        means = model.means(rng.uniform(*model.domain))
        odds = np.log(means) - np.log1p(-means) + error * rng.standard_normal(6)
        means = 1.0 / (1.0 + np.exp(-odds))
        # In every second log two prices have half of the decisions and two have hardly any.
        shares = np.full(6, 1 / 6) if number % 2 == 0 else [0.02, 0.02, 0.06, 0.1, 0.3, 0.5]
        arms = rng.integers(6, size=500) if number % 2 == 0 else rng.choice(6, 500, p=shares)
        stats = no_statistics(6)
        count_many(stats, arms, (rng.random(500) < means[arms]).astype(float))
        worths = worth_of_means(model, market_posterior(model, stats).draw(399, rng))
        for name, pi in FIXED.items():
            low, high = ranked_interval(worths @ pi, 0.95)
            tallies[name].add(low, high, float(pi @ worth_of_means(model, means)))
    print(f"\n{n_logs} logs of 500 decisions, errors of {error:g} in log-odds, markets alone")
    for name, tally in tallies.items():
        print(f"  {name:8s} {tally} per decision", flush=True)


def main() -> None:
    """Measure worlds; the arguments are the number of logs and the errors, all by default."""
    if sys.argv[1:2] == ["markets"]:
        for error in ERRORS:
            measure_markets(int(sys.argv[2]), error)
        return
    n_logs = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for error in [float(text) for text in sys.argv[2:]] or ERRORS:
        measure(n_logs, error)


if __name__ == "__main__":
    main()
