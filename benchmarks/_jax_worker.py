"""UCB1, WAGP and Thompson sampling written by hand in JAX, on one core; prints seconds as JSON.

This file runs in the environment of JAX, which does not have our package. Every run is a row of
the arrays, and one step of all rows is one step of `lax.scan`. Rewards are Bernoulli. Regret is
counted, as in our simulator. JAX_ENABLE_X64=1 sets the precision to 64 bits, which ours has.
"""

import json
import os
import sys
import time
from functools import partial
from typing import Any

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

# JAX reads the settings above when it is imported.
import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

PRICES = jnp.array([round(0.05 * step, 2) for step in range(8, 20)])
THETA = 0.4
MEANS = PRICES * (1 - PRICES * THETA) ** 2
N_ARMS = len(PRICES)
GAPS = MEANS.max() - MEANS
SHAPES = ((10_000, 100), (1_000, 1_000))  # decisions of a run, and runs
N_TURNS = 5


def rewards_of(key: Any, t: Any, arm: Any) -> Any:
    """A Bernoulli reward for each run."""
    return (jax.random.uniform(jax.random.fold_in(key, t), arm.shape) < MEANS[arm]) * 1.0


def add_at(table: Any, rows: Any, arm: Any, amount: Any) -> Any:
    """Add an amount to one arm of each run."""
    return table.at[rows, arm].add(amount)


@partial(jax.jit, static_argnums=(0, 1))
def ucb1(horizon: int, runs: int, key: Any) -> Any:
    """UCB1: every arm once, then the largest mean + sqrt(2 log(t - 1) / N)."""
    rows = jnp.arange(runs)

    def step(state: Any, t: Any) -> tuple[Any, None]:
        counts, sums = state
        bound = sums / counts + jnp.sqrt(2 * jnp.log(t - 1.0) / counts)
        arm = jnp.argmax(jnp.where(counts == 0, jnp.inf, bound), axis=1)
        reward = rewards_of(key, t, arm)
        return (add_at(counts, rows, arm, 1.0), add_at(sums, rows, arm, reward)), None

    start = (jnp.zeros((runs, N_ARMS)), jnp.zeros((runs, N_ARMS)))
    (counts, _), _ = jax.lax.scan(step, start, jnp.arange(1, horizon + 1))
    return (counts @ GAPS).mean()


@partial(jax.jit, static_argnums=(0, 1))
def wagp(horizon: int, runs: int, key: Any, edges: Any, best: Any) -> Any:
    """WAGP with the closed-form inverse: the best arm at the weighted mean of the estimates."""
    rows = jnp.arange(runs)

    def step(state: Any, t: Any) -> tuple[Any, None]:
        counts, sums, terms, total, arm = state
        reward = rewards_of(key, t, arm)
        counts = add_at(counts, rows, arm, 1.0)
        sums = add_at(sums, rows, arm, reward)
        played, price = counts[rows, arm], PRICES[arm]
        own = jnp.clip((1 - jnp.sqrt(sums[rows, arm] / played / price)) / price, 0.0, 1.0)
        total = total - terms[rows, arm] + played * own
        terms = terms.at[rows, arm].set(played * own)
        arm = best[jnp.searchsorted(edges, total / t)]
        return (counts, sums, terms, total, arm), None

    first = jax.random.randint(key, (runs,), 0, N_ARMS)
    start = (*jnp.zeros((3, runs, N_ARMS)), jnp.zeros(runs), first)
    (counts, *_), _ = jax.lax.scan(step, start, jnp.arange(1, horizon + 1))
    return (counts @ GAPS).mean()


@partial(jax.jit, static_argnums=(0, 1))
def thompson(horizon: int, runs: int, key: Any) -> Any:
    """Thompson sampling with Beta posteriors."""
    rows = jnp.arange(runs)

    def step(state: Any, t: Any) -> tuple[Any, None]:
        counts, sums = state
        drawn = jax.random.beta(jax.random.fold_in(key, -t), 1 + sums, 1 + counts - sums)
        arm = jnp.argmax(drawn, axis=1)
        reward = rewards_of(key, t, arm)
        return (add_at(counts, rows, arm, 1.0), add_at(sums, rows, arm, reward)), None

    start = (jnp.zeros((runs, N_ARMS)), jnp.zeros((runs, N_ARMS)))
    (counts, _), _ = jax.lax.scan(step, start, jnp.arange(1, horizon + 1))
    return (counts @ GAPS).mean()


def main(edges: list[float], best: list[int]) -> None:
    """Seconds per step of each rule in each shape, its regret, and the time to a first result."""
    bounds = (jnp.array(edges), jnp.array(best))
    rules: dict[str, Any] = {
        "ucb1": (ucb1, ()),
        "wagp": (wagp, bounds),
        "thompson_sampling": (thompson, ()),
    }
    found: dict[str, Any] = {}
    for name, (rule, more) in rules.items():
        for horizon, runs in SHAPES:
            # Draws of Beta numbers take a thousand times as long as the rest: fewer are enough.
            rows = runs // 50 if name == "thompson_sampling" else runs
            begin = time.perf_counter()
            regret = float(rule(horizon, rows, jax.random.key(0, impl="rbg"), *more))
            first = time.perf_counter() - begin
            best_time = float("inf")
            for turn in range(1 if name == "thompson_sampling" else N_TURNS):
                # Processor time, as ours: by the clock, other work on the machine would count.
                begin = time.process_time()
                rule(horizon, rows, jax.random.key(turn, impl="rbg"), *more).block_until_ready()
                best_time = min(best_time, time.process_time() - begin)
            found[f"{name} {horizon}"] = (best_time / (horizon * rows), regret, first)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*json.loads(sys.argv[1]))
