"""What statements cost: in milliseconds, and in evaluations of the process they search."""

import time
from functools import partial
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks import Row, median_seconds
from benchmarks.analyze import pricing
from globalbandits._types import FloatArray
from globalbandits.environments import BetaNoise, Environment
from globalbandits.evidence import Evidence
from globalbandits.evidence.e_processes import Pooled
from globalbandits.evidence.histogram import add, empty
from globalbandits.policies import Guarded, Policy
from globalbandits.simulation.play.job import make_job
from globalbandits.simulation.workers import play_shard

N_ROUNDS = 10_000
N_RUNS = 20


def logged(n_arms: int, n_rounds: int = N_ROUNDS) -> Evidence:
    """Uniform play at theta 0.4 with the paper's rewards."""
    model = pricing(n_arms)
    rng = np.random.default_rng(0)
    means = model.means(0.4)
    arms = rng.integers(n_arms, size=n_rounds)
    rewards = 1.0 - rng.random(n_rounds) ** (means[arms] / (1.0 - means[arms]))
    evidence = Evidence(model)
    evidence.add_many(arms, rewards)
    return evidence


def value_seconds(evidence: Evidence) -> float:
    """One value of H at one theta, when many are computed at once."""
    low, high = evidence.model.domain
    process = Pooled(evidence.model, evidence.counts)
    thetas: FloatArray = np.linspace(low, high, 64)
    return median_seconds(partial(process.at, thetas)) / thetas.size


def statement_rows(n_arms: int, target: float) -> list[Row]:
    """All four statements for one number of arms."""
    evidence = logged(n_arms)
    value = value_seconds(evidence)
    rows = [
        Row(
            name=f"H at one theta, {n_arms:,} arms",
            value=1e6 * value,
            unit="µs",
            target=None,
            note="24 bets, 9 knots an arm",
        )
    ]
    asks: dict[str, Any] = {
        "interval": evidence.interval,
        "evidence against the model": evidence.against_model,
        "contenders": evidence.contenders,
        "drift": evidence.drift,
    }
    for name, ask in asks.items():
        seconds = median_seconds(ask, repeats=5)
        rows.append(
            Row(
                name=f"{name}, {n_arms:,} arms",
                value=1e3 * seconds,
                unit="ms",
                target=target if name == "interval" else None,
                note=f"{seconds / value:,.0f} times H at one theta",
            )
        )
    return rows


def plateau_rows(n_trials: int = 100) -> list[Row]:
    """How often contenders miss the best dose where the curves cannot follow the true rates."""
    rates = np.array([0.02, 0.20, 0.22, 0.23, 0.25, 0.27])  # the fifth is at the target
    model = gb.dose.power([0.05, 0.1, 0.2, 0.3, 0.4, 0.5], target=0.25)
    rows = []
    for n_patients in (36, 300):
        learners = []
        for seed in range(n_trials):
            rng = np.random.default_rng(seed)
            learner = gb.Learner(gb.Elastic(), model, seed=seed, compiled=True)
            for _ in range(n_patients):
                arm = learner.select()
                learner.update(arm, float(rng.random() < rates[arm]))
            learners.append(learner)
        for errors in (0.0, 0.05):
            found = [learner.contenders(errors=errors) for learner in learners]
            size = float(np.mean([len(one) for one in found]))
            rows.append(
                Row(
                    name=f"best dose missing, {n_patients} patients, errors={errors:g}",
                    value=100.0 * float(np.mean([4 not in one for one in found])),
                    unit="%",
                    target=5.0 if errors else None,
                    note=f"{n_trials} trials; {size:.1f} of 6 doses remain",
                )
            )
    return rows


def add_loop(histogram: Any, rewards: Any, weight: float) -> None:
    """Rewards into the histogram, one after the other."""
    for index in range(rewards.shape[0]):
        add(histogram, index % histogram.counts.shape[0], rewards[index], weight)


def update_row() -> Row:
    """A reward into the compiled histogram."""
    from globalbandits.compiling.compiler import compile_kernel
    from globalbandits.compiling.views import View

    view = View(empty(12))
    rewards = np.random.default_rng(0).random(100_000)
    kernel = compile_kernel(add_loop, view, rewards, 1.0)
    seconds = median_seconds(partial(kernel, view, rewards, 1.0), repeats=15) / rewards.size
    return Row(
        name="a reward into the histogram",
        value=1e9 * seconds,
        unit="ns",
        target=30.0,
        note="compiled, one core",
    )


def note_row() -> Row:
    """A reward into the evidence of a live learner."""
    model, rng = pricing(12), np.random.default_rng(0)
    arms, rewards = rng.integers(12, size=N_ROUNDS).tolist(), rng.random(N_ROUNDS).tolist()

    def note_all() -> None:
        note = Evidence(model).note
        for arm, reward in zip(arms, rewards, strict=True):
            note(arm, reward)

    return Row(
        name="a reward into the evidence of a learner",
        value=1e6 * median_seconds(note_all, repeats=9) / N_ROUNDS,
        unit="µs",
        target=1.0,
        note="plain Python",
    )


def simulated_seconds(policy: Policy, *, evidence: bool = False) -> float:
    """One simulated step, on one core; with histograms, but without statements from them."""
    env = Environment(pricing(12), theta=0.4, noise=BetaNoise())
    times = np.array([N_ROUNDS], np.int64)
    job = make_job(env, {"policy": policy}, N_ROUNDS, times, 0, evidence=evidence)
    play_shard(job, 0, N_RUNS)
    seconds = []
    for _ in range(9):
        start = time.process_time()
        play_shard(job, 0, N_RUNS)
        seconds.append(time.process_time() - start)
    return min(seconds) / (N_RUNS * N_ROUNDS)


def run() -> list[Row]:
    """Statements at few and many arms, and what keeping the evidence costs."""
    rows = statement_rows(12, target=20.0) + statement_rows(1_000, target=1_000.0)
    rows += [*plateau_rows(), update_row(), note_row()]
    plain = simulated_seconds(gb.WAGP())
    watched = simulated_seconds(gb.WAGP(), evidence=True)
    guarded = simulated_seconds(Guarded(gb.WAGP()))
    fallback = simulated_seconds(Guarded().fallback)
    rows += [
        Row(
            name="watching a simulated step",
            value=1e9 * (watched - plain),
            unit="ns",
            target=30.0,
            note=f"beside {1e9 * plain:.0f} ns for WAGP and its reward",
        ),
        Row(
            name="guarding a simulated step",
            value=1e9 * (guarded - plain - fallback),
            unit="ns",
            target=None,
            note=f"{1e9 * guarded:.0f} ns in all, with WAGP {1e9 * plain:.0f} and its fallback "
            f"{1e9 * fallback:.0f}",
        ),
    ]
    return rows
