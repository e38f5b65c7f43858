"""How often evidence of several numbers is wrong, over 2,000 adaptive runs of Thompson sampling.

The runs of a model are played together: Thompson sampling with a posterior on a fixed grid of
the box, which follows from the counts and sums.
"""

import math
import os
from typing import NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from globalbandits._types import FloatArray, IntArray
from globalbandits.evidence.vector_inference import VectorInference
from globalbandits.model.vector.tabulation import grid_points

N_RUNS = int(os.environ.get("COVERAGE_RUNS", "500"))  # of each model
TIMES = (10, 20, 50, 100, 200, 500, 1_000, 2_000)
ALPHA = 0.05
_GRID = 24
_PRICES = [2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]


def models() -> dict[str, gb.VectorModel]:
    """Return four models: shops that sell seldom and often, log-odds, and a trial of doses."""
    return {
        "shop, level 0.02 to 0.2": gb.demand.exponential(
            _PRICES, cost=1.5, level=(0.02, 0.2), slope=(0.02, 0.6)
        ),
        "shop, level 0.5 to 1": gb.demand.exponential(
            _PRICES, cost=1.5, level=(0.5, 1.0), slope=(0.02, 0.6)
        ),
        "logit demand": gb.demand.logit(
            _PRICES, sensitivity=(0.2, 1.2), level=(-1.0, 4.0), cost=1.5
        ),
        "doses": gb.dose.logistic(
            [1.0, 2.5, 5.0, 10.0, 20.0, 40.0],
            intercept=(-4.0, 0.5),
            slope=(0.3, 3.0),
            reference=10.0,
            target=0.25,
        ),
    }


class Played(NamedTuple):
    """The parameters of all runs, and their counts and sums at the times."""

    thetas: FloatArray  # (n_runs, n_parameters)
    counts: IntArray  # (n_times, n_runs, n_arms)
    sums: FloatArray


def play(model: gb.VectorModel, n_runs: int, seed: int, pseudo_counts: float = 0.0) -> Played:
    """Play Thompson sampling in many runs at once.

    Args:
        model: the model; theta is drawn from the uniform distribution on its box.
        n_runs: runs.
        seed: seed of everything.
        pseudo_counts: parameters of Beta rewards sum to this; 0 for Bernoulli rewards.
    """
    rng = np.random.default_rng(seed)
    points = model.from_unit(grid_points(model.n_parameters, _GRID, middles=True))
    grid = np.clip(model.means(points), 1e-6, 1 - 1e-6)
    best = model.worth(points).argmax(axis=1)
    log_win, log_loss = np.log(grid).T, np.log1p(-grid).T
    thetas = model.from_unit(rng.random((n_runs, model.n_parameters)))
    truth = model.means(thetas)
    every = np.arange(n_runs)
    posterior = np.zeros((n_runs, len(points)))
    counts = np.zeros((n_runs, model.n_arms), np.int64)
    sums = np.zeros((n_runs, model.n_arms))
    kept: list[tuple[IntArray, FloatArray]] = []
    for time in range(1, TIMES[-1] + 1):
        # The largest of log-weights plus Gumbel noise is a draw from the posterior.
        noise = -np.log(rng.standard_exponential(posterior.shape))
        arms = best[(posterior + noise).argmax(axis=1)]
        means = truth[every, arms]
        if pseudo_counts > 0.0:
            rewards = rng.beta(pseudo_counts * means, pseudo_counts * (1 - means))
        else:
            rewards = (rng.random(n_runs) < means).astype(float)
        posterior += rewards[:, None] * log_win[arms] + (1 - rewards)[:, None] * log_loss[arms]
        counts[every, arms] += 1
        sums[every, arms] += rewards
        if time in TIMES:
            kept.append((counts.copy(), sums.copy()))
    return Played(thetas, np.stack([c for c, _ in kept]), np.stack([s for _, s in kept]))


class Errors(NamedTuple):
    """In how many runs a statement was ever wrong."""

    outside: int  # the true vector was outside the confidence set at some time
    missing: int  # the best arm was no contender at some time
    refuted: int  # the model, which is right, was refuted in the end


def errors(model: gb.VectorModel, played: Played) -> Errors:
    """Count the runs with errors.

    A set that holds the true vector implies that the best arm is a contender, so p-values are
    only computed where it does not.
    """
    outside = missing = refuted = 0
    for run, theta in enumerate(played.thetas):
        best = model.best_arms(theta)[0]
        left, lost = False, False
        for counts, sums in zip(played.counts[:, run], played.sums[:, run], strict=True):
            soft = np.stack([counts - sums, sums], axis=1)
            inference = VectorInference(model, counts, sums, soft)
            if not inference.holds(theta, 1.0 - ALPHA):
                left = True
                lost = lost or bool(inference.p_values()[best] <= ALPHA)
        outside, missing = outside + left, missing + lost
        refuted += inference.log_e_against >= -math.log(ALPHA)
    return Errors(outside, missing, refuted)


def run() -> list[Row]:
    """Coverage of the set and of the contenders, and false refutations."""
    rows = []
    total = np.zeros(3, np.int64)
    for number, (name, model) in enumerate(models().items()):
        found = errors(model, play(model, N_RUNS, seed=number))
        total += np.array(found)
        note = f"best arm ever missing in {found.missing}, refuted {found.refuted} of {N_RUNS} runs"
        rows.append(
            Row(name=name, value=found.outside, unit="runs outside", target=None, note=note)
        )
    runs = N_RUNS * len(rows)
    for value, name in zip(total.tolist(), ("confidence set", "contenders", "model"), strict=True):
        rows.append(
            Row(
                name=f"{name}: wrong at any of {len(TIMES)} times",
                value=100.0 * value / runs,
                unit="% of runs",
                target=100.0 * ALPHA,
                note=f"{value} of {runs:,} runs of {TIMES[-1]:,} rounds, confidence 0.95",
            )
        )
    return rows
