"""Measure a random dozen of the figures in docs/measured again, with other random numbers.

``python -m benchmarks._remeasure [number] [seed]`` prints each figure as it stands in the page, the
new one, and their difference in standard errors. About one in twenty lies beyond two, and one in
370 beyond three.
"""

import dataclasses
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np

import globalbandits as gb
from benchmarks.shops import POLICIES, SHOPS, error_of, exact_world, regrets_of

PAGES = Path(__file__).parents[1] / "docs" / "measured"
SEED = 12_345  # of all measurements; the pages use smaller ones
N_RUNS = 200

Measured = tuple[float, float]  # a mean and its standard error


@dataclasses.dataclass(frozen=True)
class Figure:
    """One figure of a page.

    Attributes:
        page: Name of the page in docs/measured.
        quote: The words and figures as they stand in the page.
        stated: The figure.
        se: Its standard error.
        measure: Measures it again.
    """

    page: str
    quote: str
    stated: float
    se: float
    measure: Callable[[], Measured]

    @property
    def is_quoted(self) -> bool:
        """Whether the page still has these words."""
        return self.quote in (PAGES / self.page).read_text(encoding="utf-8")

    def deviation(self) -> tuple[Measured, float]:
        """Return the new figure, and its distance from the stated one in standard errors."""
        found = self.measure()
        return found, (found[0] - self.stated) / float(np.hypot(found[1], self.se))


def _pricing() -> gb.RewardModel:
    return gb.demand.linear_power(np.round(np.arange(0.4, 0.951, 0.05), 2))


def _regret(policy: gb.Policy, theta: float, horizon: int, runs: int = N_RUNS) -> Measured:
    env = gb.Environment(_pricing(), theta)
    row = gb.simulate(env, [policy], horizon, runs, seed=SEED).summary().iloc[0]
    return float(row["regret_mean"]), float(row["regret_sem"])


def _experiment(name: str, shown: str, **options: float) -> Figure:
    policy = getattr(gb, name)(**options)
    stated, se = (float(part) for part in shown.split(" ± "))
    return Figure(
        "policies-compared.md", f"{policy.label} | {shown} |", stated, se,
        lambda: _regret(policy, 0.4, 10_000),
    )  # fmt: skip


def _elastic(
    quote: str, stated: float, se: float, theta: float, caution: float | None = None
) -> Figure:
    policy = gb.Elastic(horizon=10_000, caution=caution)
    return Figure("elastic.md", quote, stated, se, lambda: _regret(policy, theta, 10_000))


def _shop(quote: str, place: int, label: str, stated: float, se: float) -> Figure:
    """A cell of the table of shops with exact curves."""

    def measure() -> Measured:
        world = exact_world(SHOPS[place])
        regrets, _ = regrets_of(world, {label: POLICIES[label]}, N_RUNS, SEED)[label]
        return float(regrets.mean()), error_of(regrets)

    return Figure("elastic.md", quote, stated, se, measure)


def _bias(quote: str, history: str, groups: int, stated: float, sd: float, **how: float) -> Figure:
    """A cell of the table of estimated biases: a mean of eight histories, and their spread."""

    def measure() -> Measured:
        found = [
            gb.fit(
                getattr(gb.histories, history)(groups, 140, seed=SEED + number, **how),
                group="group", arm="arm", reward="reward", verdict=False,
            ).bias_scale
            for number in range(8)
        ]  # fmt: skip
        return float(np.mean(found)), float(np.std(found, ddof=1) / np.sqrt(8))

    return Figure("fit.md", quote, stated, sd / np.sqrt(8), measure)


def _guarded(quote: str, policy: gb.Policy, stated: float) -> Figure:
    """A cell of the table of guarded policies without bias, which states an error of 4 %."""
    return Figure("evidence.md", quote, stated, 0.04 * stated, lambda: _regret(policy, 0.4, 10_000))


def _few_decisions(name: str, shown: str) -> Figure:
    """A cell of the table of 36 decisions: the mean regret over four parameters."""
    stated, se = (float(part) for part in shown.split(" ± "))

    def measure() -> Measured:
        found = []
        for theta in (0.2, 0.4, 0.6, 0.8):
            env = gb.Environment(_pricing(), theta, noise=gb.BernoulliNoise())
            row = gb.simulate(env, [getattr(gb, name)()], 36, 1_000, seed=SEED).summary().iloc[0]
            found.append((float(row["regret_mean"]), float(row["regret_sem"])))
        means, errors = np.array(found).T
        return float(means.mean()), float(np.hypot.reduce(errors) / 4)

    return Figure("policies-compared.md", f"%, {shown}", stated, se, measure)


_EXPONENTIAL = "| exponential, 140 rewards per group | .053 (.024) | .062 (.021) | .057 (.010) |"
_EMAX = "| emax | .046 (.020) | .054 (.018) | .055 (.008) |"

FIGURES = (
    _experiment("IDS", "0.94 ± 0.06"),
    _experiment("GridGreedy", "1.08 ± 0.07"),
    _experiment("OSSB", "1.39 ± 0.08"),
    _experiment("GridThompson", "3.53 ± 0.06"),
    _experiment("UCBC", "11.6 ± 0.1"),
    _experiment("UCBS", "27.1 ± 0.2"),
    _experiment("LinUCB", "35.1 ± 0.1"),
    _experiment("EpsilonGreedy", "49.6 ± 1.3"),
    _experiment("OFUL", "55.0 ± 0.2"),
    _experiment("TSC", "55.9 ± 0.6"),
    _experiment("IMED", "95.9 ± 0.7"),
    _experiment("ThompsonSampling", "97.7 ± 0.7"),
    _experiment("UCBTuned", "104.2 ± 0.7"),
    _experiment("MOSS", "106.3 ± 0.8"),
    _experiment("KLUCB", "119.2 ± 0.6"),
    _experiment("UCB1", "167.0 ± 0.4"),
    _experiment("Uniform", "247.1 ± 0.2"),
    _few_decisions("WAGP", "0.84 ± 0.02"),
    _few_decisions("GridGreedy", "0.52 ± 0.01"),
    _few_decisions("IDS", "0.47 ± 0.01"),
    _elastic("| exact curves | 10^4 | 14.1 ± .4 |", 14.1, 0.4, 0.4),
    _elastic("| exact, `caution=0` | 10^4 | 8.3 ± .2 |", 8.3, 0.2, 0.4, caution=0.0),
    _elastic("15.6 ± .5 / 10.9 ± .3 / 5.7 ± .2", 15.6, 0.5, 0.33),
    _elastic("15.6 ± .5 / 10.9 ± .3 / 5.7 ± .2", 10.9, 0.3, 0.62),
    _elastic("15.6 ± .5 / 10.9 ± .3 / 5.7 ± .2", 5.7, 0.2, 0.9),
    _shop("exponential, 2.7 % buy at the best price | 54 ± 4 |", 0, "Elastic", 54.0, 4.0),
    _shop("| logit, 4.7 % | 51 ± 7 |", 1, "Elastic", 51.0, 7.0),
    _shop("| logit, 18 % | 46 ± 3 |", 2, "Elastic", 46.0, 3.0),
    _shop("| logit, 50 % | 29 ± 3 |", 3, "Elastic", 29.0, 3.0),
    _shop("| 323 ± 9 | 2,672 ± 31 |", 0, "RandomEffectsThompson", 323.0, 9.0),
    _shop("| 323 ± 9 | 2,672 ± 31 |", 0, "IndependentGittins", 2_672.0, 31.0),
    _shop("| 109 ± 3 | 787 ± 10 |", 2, "IndependentGittins", 787.0, 10.0),
    _guarded("| WAGP | 1.3 |", gb.WAGP(), 1.3),
    _guarded("| UCB1 | 167 |", gb.UCB1(), 167.0),
    _guarded("| independent Gittins, no curve | 52 |", gb.IndependentGittins(), 52.0),
    _guarded("| Elastic | 14.2 |", gb.Elastic(), 14.2),
    _bias(_EXPONENTIAL, "exponential_demand", 10, 0.053, 0.024, rho=0.02),
    _bias(_EXPONENTIAL, "exponential_demand", 20, 0.062, 0.021, rho=0.02),
    _bias(_EXPONENTIAL, "exponential_demand", 50, 0.057, 0.010, rho=0.02),
    _bias(_EMAX, "emax", 10, 0.046, 0.020, rho=0.02),
    _bias(_EMAX, "emax", 20, 0.054, 0.018, rho=0.02),
)


def main() -> None:
    """Measure some figures again and print the deviations."""
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else None
    rng = np.random.default_rng(seed)
    places = rng.choice(len(FIGURES), size=min(number, len(FIGURES)), replace=False)
    print(f"{'page':<22} {'stated':>16} {'now':>18} {'SE apart':>9}  quote")
    for place in np.sort(places):
        figure = FIGURES[place]
        (mean, se), apart = figure.deviation()
        stated, now = f"{figure.stated:.4g} ± {figure.se:.2g}", f"{mean:.4g} ± {se:.2g}"
        print(f"{figure.page:<22} {stated:>16} {now:>18} {apart:>+9.1f}  {figure.quote[:60]}")


if __name__ == "__main__":
    main()
