"""`what_if`: what policies would earn in the markets that the evidence of a log allows."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from globalbandits import pages
from globalbandits._extras import needs_extra
from globalbandits._random import States
from globalbandits._types import FloatArray
from globalbandits._validation import as_fraction, as_integer, as_seed, require
from globalbandits.counterfactuals.markets import MarketDraws, MarketPosterior, market_posterior
from globalbandits.environments.environment import Environment, worth_of_means
from globalbandits.environments.noises.noise import BernoulliNoise, Noise
from globalbandits.errors import EvidenceError
from globalbandits.evidence import DecisionLog, Evidence, evidence_from_log
from globalbandits.evidence.off_policy import OffPolicyEstimate, off_policy
from globalbandits.model import RegionalModel, VectorModel
from globalbandits.plots import interval_figure
from globalbandits.policies import Learner
from globalbandits.policies.base import Policy
from globalbandits.simulation.play.arena import compiled_arena
from globalbandits.simulation.play.job import empty_records, make_job
from globalbandits.statistics import Statistics, copy, count_many, no_statistics

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DEFAULT_MARKETS = 400
MAX_MARKETS = 100_000
# False-alarm rate of the tests of the curves and of drift.
TEST_ALPHA = 0.05


@dataclasses.dataclass(frozen=True, kw_only=True, eq=False)
class WhatIf:
    """What policies would earn in markets drawn from the evidence.

    Attributes:
        policies: names of the policies; the first one is the baseline of differences.
        horizon: number of decisions of each policy.
        earnings: worth of all decisions by the true means of a market: (n_policies, n_markets).
            The policies of a market see the same random numbers.
        means: the arms' mean rewards in each market: (n_markets, n_arms).
        confidence: the confidence of the intervals.
        n_observations: rewards behind the evidence.
        curve_error: posterior mean of the size of the curves' errors, in log-odds.
        refuted: whether the e-value refutes the curves; intervals then rest on each arm's own
            rewards.
        notes: which test decided what, for a reader.
        model_free: estimates of fixed policies (`FixedArm`, `Uniform`) without curves, by name; a
            text says why there is none.
    """

    policies: tuple[str, ...]
    horizon: int
    earnings: FloatArray
    means: FloatArray
    confidence: float
    n_observations: int
    curve_error: float
    refuted: bool
    notes: tuple[str, ...]
    model_free: Mapping[str, OffPolicyEstimate | str]

    def interval(self, policy: str) -> tuple[float, float]:
        """The interval of a policy's earnings over markets and runs."""
        return ranked_interval(self.earnings[self._place(policy)], self.confidence)

    def difference(self, policy: str, other: str) -> tuple[float, float, float]:
        """Mean and interval of what a policy earns more than another one in the same market."""
        gains = self.earnings[self._place(policy)] - self.earnings[self._place(other)]
        return float(gains.mean()), *ranked_interval(gains, self.confidence)

    def probability(self, policy: str, other: str) -> float:
        """The probability that a policy earns more than another one; ties count half."""
        gains = self.earnings[self._place(policy)] - self.earnings[self._place(other)]
        return float(np.mean(gains > 0.0) + 0.5 * np.mean(gains == 0.0))

    def _place(self, policy: str) -> int:
        rule = f"be one of {', '.join(self.policies)}"
        require(policy in self.policies, "policy", rule, policy, EvidenceError)
        return self.policies.index(policy)

    def rows(self) -> list[dict[str, Any]]:
        """One dict of plain values per policy, with the columns of `summary`."""
        rows = []
        for name, earned in zip(self.policies, self.earnings, strict=True):
            low, high = self.interval(name)
            gain, gain_low, gain_high = self.difference(name, self.policies[0])
            rows.append(
                {
                    "policy": name,
                    "earned": float(earned.mean()),
                    "low": low,
                    "high": high,
                    "per_decision": float(earned.mean()) / self.horizon,
                    "gain": gain,
                    "gain_low": gain_low,
                    "gain_high": gain_high,
                    "beats_first": self.probability(name, self.policies[0]),
                }
            )
        return rows

    def summary(self) -> "pd.DataFrame":
        """One row per policy: mean earnings with their interval, and the gain over the first.

        Columns are ``earned``, ``low``, ``high``, ``per_decision``, ``gain``, ``gain_low``,
        ``gain_high`` and ``beats_first``, the probability to earn more than the first policy.
        """
        with needs_extra("lab"):
            import pandas as pd

        return pd.DataFrame(self.rows()).set_index("policy")

    @property
    def heading(self) -> str:
        """One line about what was played."""
        n_markets = self.earnings.shape[1]
        return (
            f"Earnings of {self.horizon:,} decisions in {n_markets:,} markets that "
            f"{self.n_observations:,} rewards allow, {self.confidence:.0%} intervals"
        )

    def text_rows(self) -> list[list[str]]:
        """The cells of a table for a reader, one row per policy."""
        return [
            [
                row["policy"],
                f"{row['earned']:,.4g}",
                f"{row['low']:,.4g} to {row['high']:,.4g}",
                f"{row['per_decision']:.4g}",
                "" if first else f"{row['gain']:+,.3g}",
                "" if first else f"{row['gain_low']:+,.3g} to {row['gain_high']:+,.3g}",
                "" if first else f"{row['beats_first']:.0%}",
            ]
            for first, row in zip([True] + [False] * len(self.policies), self.rows(), strict=False)
        ]

    def plot(self) -> "Figure":
        """Mean earnings of each policy with their intervals."""
        ends = [self.interval(name) for name in self.policies]
        return interval_figure(
            list(self.policies),
            self.earnings.mean(axis=1),
            low=[low for low, _ in ends],
            high=[high for _, high in ends],
            xlabel=f"earnings of {self.horizon:,} decisions, {self.confidence:.0%} intervals",
        )

    def __str__(self) -> str:
        best = max(self.rows(), key=lambda row: row["earned"])
        return (
            f"{best['policy']} earns most: {best['earned']:,.4g} in {self.horizon:,} decisions, "
            f"between {best['low']:,.4g} and {best['high']:,.4g}"
        )

    def _repr_html_(self) -> str:
        notes = "".join(pages.paragraph(note) for note in self.notes)
        head = pages.paragraph(self.heading, strong=True)
        return head + pages.table(COLUMNS, self.text_rows()) + notes


COLUMNS = [
    "policy",
    "earned",
    "interval",
    "per decision",
    "gain over the first",
    "interval of the gain",
    "beats the first",
]


def ranked_interval(values: FloatArray, confidence: float) -> tuple[float, float]:
    """Return the order statistics between which one more draw falls with this probability.

    Of n + 1 exchangeable numbers each rank is equally likely, so the probability is exact.

    >>> ranked_interval(np.arange(1.0, 40.0), 0.95)
    (1.0, 39.0)
    """
    ordered = np.sort(values)
    n = len(ordered)
    left = math.floor(0.5 * (1.0 - confidence) * (n + 1) + 1e-9)
    return float(ordered[max(left - 1, 0)]), float(ordered[min(n - left, n - 1)])


def what_if(
    log: Learner | DecisionLog,
    policies: Sequence[Policy] | Mapping[str, Policy],
    horizon: int | None = None,
    *,
    confidence: float = 0.95,
    markets: int = DEFAULT_MARKETS,
    noise: Noise | None = None,
    seed: int = 0,
) -> WhatIf:
    """Play policies in markets that the rewards of a log allow, each from its first decision on.

    A market is a draw of all arms' means from their posterior: the unknown numbers of the model,
    the size of the curves' errors, and each arm's own error, as `Elastic` has them. The intervals
    contain the market's uncertainty and the chance of a run.

    Args:
        log: a learner, or a `DecisionLog`.
        policies: policies with different labels, or a mapping from names to policies.
        horizon: decisions of each policy; the number of logged rewards by default.
        confidence: the confidence of the intervals.
        markets: number of markets, at least 39 for a 95 % interval.
        noise: the noise of simulated rewards; `BernoulliNoise` if all logged rewards are 0 or 1.
        seed: the seed of all randomness.

    Raises:
        EvidenceError: if there are no rewards, or if the drift test says that the market has moved.

    >>> import globalbandits as gb
    >>> model = gb.demand.exponential([4.0, 5.0, 6.0, 7.0], cost=1.5)
    >>> rng = np.random.default_rng(0)
    >>> arms = rng.integers(4, size=500)
    >>> sold = 1.0 * (rng.random(500) < model.means(0.2)[arms])
    >>> log = gb.DecisionLog(model, arms=arms, rewards=sold)
    >>> found = what_if(log, {"today": gb.FixedArm(arm=0), "WAGP": gb.WAGP()}, horizon=1_000)
    >>> found.probability("WAGP", "today") > 0.8
    True
    """
    evidence, stats = _evidence_of(log)
    model = evidence.model
    rule = "have one market, not one per group of arms or per context"
    single = not isinstance(model, RegionalModel) and getattr(model, "contexts", None) is None
    require(single, "model", rule, model, EvidenceError)
    n = int(stats.total[0])
    require(n > 0, "log", "have at least one reward", 0, EvidenceError)
    confidence = as_fraction("confidence", confidence, EvidenceError)
    markets = as_integer("markets", markets, 2, EvidenceError, maximum=MAX_MARKETS)
    least = math.ceil(2.0 / (1.0 - confidence) - 1e-9) - 1
    rule = f"be at least {least} for a {confidence:g} interval"
    require(markets >= least, "markets", rule, markets, EvidenceError)
    horizon = n if horizon is None else as_integer("horizon", horizon, 1, EvidenceError)
    seed = as_seed(seed, EvidenceError)
    named = _by_name(policies)
    _require_steady(evidence)
    refuted = evidence.against_model().refuted(TEST_ALPHA)
    posterior = market_posterior(model, stats)
    means, pulls = _play(model, stats, posterior, named, horizon, markets, noise, seed)
    return WhatIf(
        policies=tuple(named),
        horizon=horizon,
        earnings=np.einsum("pra,ra->pr", pulls.astype(np.float64), worth_of_means(model, means)),
        means=means,
        confidence=confidence,
        n_observations=n,
        curve_error=posterior.curve_error,
        refuted=refuted,
        notes=_notes(posterior, refuted),
        model_free=_model_free(log, named, confidence),
    )


def _evidence_of(log: Any) -> tuple[Evidence, Statistics]:
    if isinstance(log, Learner):
        return log.evidence, copy(log.parts[2])
    valid = isinstance(log, DecisionLog)
    require(valid, "log", "be a Learner or a DecisionLog", log, EvidenceError)
    model, stats = log.model, no_statistics(log.model.n_arms)
    arms, rewards = np.asarray(log.arms), np.asarray(log.rewards)
    low, high = model.reward_range
    count_many(stats, arms, (rewards - low) / (high - low))
    return evidence_from_log(model, arms, rewards), stats


def _by_name(policies: Any) -> dict[str, Policy]:
    rule = "be a list of policies, or a mapping from names to policies"
    if isinstance(policies, Mapping):
        named = dict(policies)
    else:
        listed = isinstance(policies, Sequence) and not isinstance(policies, str)
        require(listed, "policies", rule, policies, EvidenceError)
        for policy in policies:
            require(isinstance(policy, Policy), "policies", rule, policy, EvidenceError)
        named = {policy.label: policy for policy in policies}
        different = "have different labels (give a mapping from names to policies)"
        require(len(named) == len(policies), "policies", different, list(named), EvidenceError)
    require(len(named) > 0, "policies", "be at least one", policies, EvidenceError)
    for name, policy in named.items():
        valid = isinstance(policy, Policy) and isinstance(name, str)
        require(valid, "policies", rule, policy, EvidenceError)
    return named


def _require_steady(evidence: Evidence) -> None:
    """Refuse a log whose market has moved: no market with constant means explains it."""
    if isinstance(evidence.model, VectorModel):
        # There is no test of drift for several unknown numbers.
        return
    drift = evidence.drift(TEST_ALPHA)
    if drift.alarm:
        raise EvidenceError(
            f"log must be of a market without drift, got a drift alarm with the e-value "
            f"{drift.e_value:.3g}: give the decisions since the market has changed"
        )


def _notes(posterior: MarketPosterior, refuted: bool) -> tuple[str, ...]:
    allowed = f"The markets allow errors of the curves of {posterior.curve_error:.2g} in log-odds."
    if refuted:
        return (
            f"The e-value refutes the curves at the {TEST_ALPHA:.0%} level: markets follow each "
            "arm's own rewards, and intervals of arms with few rewards are wide.",
            allowed,
        )
    return (f"The e-value does not refute the curves at the {TEST_ALPHA:.0%} level.", allowed)


def _play(
    model: Any,
    stats: Statistics,
    posterior: MarketPosterior,
    policies: Mapping[str, Policy],
    horizon: int,
    markets: int,
    noise: Noise | None,
    seed: int,
) -> tuple[FloatArray, Any]:
    """Play all policies in markets of their own; return the means and the decisions by arm."""
    center = np.full(model.n_arms, 0.5 * sum(model.reward_range))
    bias = MarketDraws(posterior, center)
    env = Environment(model, None, bias=bias, truth=center.tolist())
    if noise is None and np.allclose(stats.squares, stats.sums):
        # All rewards are 0 or 1.
        noise = BernoulliNoise()
    if noise is not None:
        env = dataclasses.replace(env, noise=noise)
    job = make_job(env, policies, horizon, np.array([horizon]), seed)
    records = empty_records(job, markets)
    arena = compiled_arena(job, States(seed, 0, markets))
    arena.play(0, markets, records, 0, lambda n_steps: True)
    return center + records.bias, records.pulls


def _model_free(
    log: Any, policies: Mapping[str, Policy], confidence: float
) -> dict[str, OffPolicyEstimate | str]:
    """Estimates of the fixed policies without curves, if the log has probabilities."""
    if not isinstance(log, DecisionLog) or log.probabilities is None:
        return {}
    found: dict[str, OffPolicyEstimate | str] = {}
    for name, policy in policies.items():
        if type(policy).__name__ in ("FixedArm", "Uniform"):
            chances = Learner(policy, log.model, seed=0, compiled=False).exact_probabilities()
            try:
                found[name] = off_policy(log, np.asarray(chances), max(confidence, 0.5))
            except EvidenceError as refusal:
                found[name] = str(refusal)
    return found
