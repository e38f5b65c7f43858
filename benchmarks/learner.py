"""What one online decision and its update cost, few arms or many, compiled or not."""

import json
import time
from functools import partial
from typing import Any

import numpy as np

import globalbandits as gb
from benchmarks import Row, median_seconds
from benchmarks.analyze import N_LARGE, fan, pricing
from benchmarks.simulation import ARGUMENTS, best_of
from globalbandits.policies import Policy, registered

N_ROUNDS = 2_000
# Tens of microseconds on any machine where an empty NumPy call takes half of one.
TARGET = 200.0
# Microseconds of one compiled update, evidence and all checks included.
TARGET_UPDATE, TARGET_WAGP = 50.0, 5.0


def run() -> list[Row]:
    """Cost of a round in empty NumPy calls, its growth with the number of arms, and saving."""
    scalar = np.zeros(())
    empty = median_seconds(partial(np.add, scalar, scalar), loops=20_000)
    models = {12: pricing(12), N_LARGE: fan(N_LARGE)}
    rows = []
    costs = []
    for n_arms, model in models.items():
        costs.append(round_seconds(gb.WAGP(), model))
        rows.append(cost_row(f"WAGP, {n_arms:,} arms", costs[-1], empty, TARGET))
    rows.append(
        Row(
            name="WAGP, growth",
            value=costs[1] / costs[0],
            unit="times",
            target=2.0,
            note="10,000 arms, all of them best somewhere, against 12",
        )
    )
    others = (
        gb.NonStationaryWAGP(half_window=100),
        gb.UCB1(),
        gb.BUW(),
        gb.UncertaintyEllipsoid(),
    )
    for policy in others:
        seconds = round_seconds(policy, models[12])
        rows.append(cost_row(f"{policy.label}, 12 arms", seconds, empty, None))
    learner = gb.Learner(gb.WAGP(), models[12], seed=0)
    play(learner, 100)
    seconds = median_seconds(partial(save_and_restore, learner), loops=20)
    rows.append(cost_row("WAGP, 12 arms, saved as JSON and restored", seconds, empty, None))
    return rows + live_rows(models[12]) + fit_rows(models[12]) + mask_rows() + cell_rows()


def mask_rows() -> list[Row]:
    """A compiled live decision among some of the arms, against one among all of them."""
    rows = []
    for policy in (gb.WAGP(), gb.Elastic(), gb.ThompsonSampling()):
        learner = gb.Learner(policy, pricing(12), seed=0, compiled=True)
        play(learner, 300)

        def among(allowed: list[int] | None, learner: gb.Learner = learner) -> None:
            for _ in range(300):
                learner.select(allowed=allowed)

        every, some = best_of([partial(among, None), partial(among, [0, 3, 5, 8])], repeats=10)
        rows.append(
            Row(
                name=f"{policy.label}, compiled, one decision among 4 of 12 arms",
                value=some / every,
                unit="times one among all",
                target=10.0,
                note=f"{1e6 * some / 300:.1f} and {1e6 * every / 300:.1f} µs",
            )
        )
    return rows


def cell_rows(n_contexts: int = 500, n_arms: int = 20) -> list[Row]:
    """Building a model of 10,000 cells, and one live round of a compiled learner."""
    contexts = {f"c{place}": place / n_contexts for place in range(n_contexts)}
    arms = np.linspace(1.0, 4.0, n_arms).tolist()
    started = time.process_time()
    # With contexts the class returns a `ContextModel`, which its signature does not say.
    build: Any = gb.RewardModel
    model = build(
        "expit(2 + context - arm*theta)", arms, (0.5, 3.0), contexts=contexts, value="arm * mean"
    )
    built = time.process_time() - started
    cells = f"{model.n_cells:,} cells"
    rows = [Row(name=f"{cells}, the model", value=built, unit="s", target=60.0, note="CPU time")]
    for policy in (gb.WAGP(), gb.GridThompson(), gb.Elastic()):
        learner = gb.Learner(policy, model, seed=0, compiled=True)

        def rounds(learner: gb.Learner = learner) -> None:
            for name in model.contexts[:100]:
                learner.update(learner.select(context=name), 1.0, context=name)

        (first,) = best_of([rounds], repeats=1)
        (later,) = best_of([rounds], repeats=5)
        rows.append(
            Row(
                name=f"{policy.label}, {cells}, compiled, select and update",
                value=1e4 * later,
                unit="µs",
                target=1_000.0 if policy == gb.WAGP() else None,
                note=f"in a context of 20 arms; {1e4 * first:.0f} µs in the first 100 rounds",
            )
        )
    return rows


def fit_rows(model: gb.RewardModel) -> list[Row]:
    """What an estimate costs after a reward, for policies that fit on a schedule.

    Reading the estimate fits them to all rewards. Decisions do not: each would take this much
    longer, and a simulated decision takes less than a microsecond.
    """
    rows = []
    for policy in (gb.Elastic(), gb.RandomEffectsThompson()):
        learner = gb.Learner(policy, model, seed=0, compiled=True)
        play(learner, 1_000)

        def read(learner: gb.Learner = learner) -> None:
            for _ in range(100):
                learner.update(0, 0.3)
                _ = learner.estimate

        def learn(learner: gb.Learner = learner) -> None:
            for _ in range(100):
                learner.update(0, 0.3)

        both, one = best_of([read, learn], repeats=10)
        rows.append(
            Row(
                name=f"{policy.label}, compiled, one estimate after a reward",
                value=1e6 * (both - one) / 100,
                unit="µs",
                target=None,
                note=f"{1e6 * one / 100:.1f} µs for the update itself",
            )
        )
    return rows


def live_rows(model: gb.RewardModel) -> list[Row]:
    """Microseconds of one compiled `update`, and of one `select`, of every policy."""
    rows = []
    for kind, policy in sorted(registered().items()):
        if not policy.__module__.startswith("globalbandits.") or kind == "cohort_design":
            continue
        made = policy(**ARGUMENTS.get(kind, {}))
        update, select = live_seconds(made, model)
        rows.append(
            Row(
                name=f"{made.label}, compiled, one update",
                value=1e6 * update,
                unit="µs",
                target=TARGET_WAGP if kind == "wagp" else TARGET_UPDATE,
                note=f"{1e6 * select:.1f} µs for a select",
            )
        )
    return rows


def live_seconds(policy: Policy, model: gb.RewardModel, n_rounds: int = 300) -> tuple[float, float]:
    """Processor seconds of one `update` and of one `select`: the best of ten stretches."""
    learner = gb.Learner(policy, model, seed=0, compiled=True)
    means = model.means(0.4).tolist()
    told = []
    for error in np.random.default_rng(0).uniform(-0.02, 0.02, n_rounds).tolist():
        arm = learner.select()
        learner.update(arm, means[arm] + error)
        told.append((arm, means[arm] + error))

    def update() -> None:
        for arm, reward in told:
            learner.update(arm, reward)

    def select() -> None:
        for _ in told:
            learner.select()

    one, other = best_of([update, select], repeats=10)
    return one / n_rounds, other / n_rounds


def play(learner: gb.Learner, n_rounds: int) -> None:
    """Ask and tell; every reward is the model's mean at 0.4 plus a little noise."""
    means = learner.model.means(0.4).tolist()
    for noise in np.random.default_rng(0).uniform(-0.02, 0.02, n_rounds).tolist():
        arm = learner.select()
        learner.update(arm, means[arm] + noise)


def round_seconds(policy: Policy, model: gb.RewardModel) -> float:
    """Seconds for one `select` and one `update`, after the first few."""
    learner = gb.Learner(policy, model, seed=0)
    play(learner, 200)
    return median_seconds(partial(play, learner, N_ROUNDS), repeats=5) / N_ROUNDS


def save_and_restore(learner: gb.Learner) -> gb.Learner:
    """The learner, through text."""
    state = json.loads(json.dumps(learner.state()))
    return gb.Learner.restore(learner.policy, learner.model, state)


def cost_row(name: str, seconds: float, empty: float, target: float | None) -> Row:
    """A cost in empty NumPy calls, with its microseconds beside it."""
    return Row(
        name=name,
        value=seconds / empty,
        unit="empty NumPy calls",
        target=target,
        note=f"{1e6 * seconds:.1f} µs, not compiled",
    )
