"""What a simulated step costs: against drawing its reward, and over arms.

Two things that are compared are measured in turns, on one core, and the best of many short
stretches counts: what else the machine does makes both slower, but not their best moments.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

import globalbandits as gb
from benchmarks import Row
from globalbandits._types import FloatArray
from globalbandits.compiling.engine import Engine
from globalbandits.environments import Environment
from globalbandits.policies import registered
from globalbandits.policies.base import Policy
from globalbandits.simulation import simulate

PRICES = [round(0.05 * step, 2) for step in range(8, 20)]
ARGUMENTS: dict[str, dict[str, Any]] = {  # of policies that cannot be made without
    "nonstationary_wagp": {"half_window": 1_000},
    "sliding_window_ucb": {"window": 1_000},
}


def pricing(n_arms: int = 12) -> gb.RewardModel:
    """The paper's pricing model with its closed-form inverse."""
    prices = PRICES if n_arms == 12 else np.linspace(0.4, 0.95, n_arms).tolist()
    return gb.RewardModel(
        lambda theta, price: price * (1 - price * theta) ** 2,
        prices,
        inverse=lambda value, price: (1 - np.sqrt(value / price)) / price,
    )


def own_curve() -> gb.RewardModel:
    """A mean that has no closed-form inverse: demand with two kinds of customers."""
    return gb.RewardModel(
        lambda theta, p: p * (np.exp(-3 * p * theta) + 1 / (1 + np.exp(6 * p + 4 * theta - 5))) / 2,
        [0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9],
    )


class Draws(NamedTuple):
    """Rewards of one arm, and the uniform numbers behind them."""

    noise: Any
    arm: int
    shape: float
    uniforms: FloatArray
    total: FloatArray


def draw_loop(draw: Any) -> Callable[..., None]:
    """Nothing but drawing the rewards of one arm."""

    def loop(draws: Draws, n_steps: int) -> None:
        for step in range(n_steps):
            draws.total[0] += draw(draws.noise, draws.arm, draws.shape, draws.uniforms[step])

    return loop


def draw_call(env: Environment, n_steps: int) -> Callable[[], None]:
    """A function that draws so many uniform numbers, and the rewards of the best arm from them."""
    model, rules = env.model, env.noise.rules
    parameters = env.noise.parameters(model)
    low, high = model.reward_range
    arm = int(model.best_arms(env.start)[0])
    mean = float((model.means(env.start)[arm] - low) / (high - low))
    shape = float(rules.prepare(parameters, arm, mean))
    draws = Draws(parameters, arm, shape, np.zeros(n_steps), np.zeros(1))
    loop = Engine().bind(draw_loop(rules.draw), "drawing", (draws,), 0)
    rng = np.random.default_rng(0)

    def call() -> None:
        rng.random(out=draws.uniforms)
        loop(n_steps)

    return call


def step_costs(
    env: Environment, policies: Sequence[Policy], horizon: int = 2**14, runs: int = 40
) -> tuple[float, list[float]]:
    """Seconds for drawing one reward, and for one step of each policy, all of `simulate` included.

    Both hold the uniform number that is behind the reward.
    """
    calls: list[Callable[[], object]] = [draw_call(env, horizon)]
    calls += [
        partial(simulate, env, [policy], horizon, runs, checkpoints=1, threads=1)
        for policy in policies
    ]
    for call in calls:
        call()
    drawing, *playing = best_of(calls, repeats=7)
    return drawing / horizon, [seconds / (horizon * runs) for seconds in playing]


def best_of(
    calls: Sequence[Callable[[], object]],
    repeats: int = 5,
    clock: Callable[[], float] = time.process_time,
) -> list[float]:
    """Shortest time of each call, measured in turns; time of one core unless told otherwise."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(repeats):
        for call, measured in zip(calls, times, strict=True):
            begin = clock()
            call()
            measured.append(clock() - begin)
    return [min(measured) for measured in times]


SECOND_PROCESS = """
import time
begin = time.perf_counter()
import globalbandits as gb
from globalbandits.environments import Environment
from globalbandits.simulation import simulate
model = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, [0.4, 0.6, 0.8])
simulate(Environment(model, 0.4), [gb.WAGP(), gb.UCB1()], 1_000, 10)
print(time.perf_counter() - begin)
"""


def second_process() -> Row:
    """From the first import to the first result, when everything has been compiled before."""
    seconds = []
    for _ in range(4):
        done = subprocess.run(
            [sys.executable, "-c", SECOND_PROCESS], capture_output=True, text=True, check=True
        )
        seconds.append(float(done.stdout))
    return Row(
        name="a new process, from import to result",
        value=min(seconds[1:]),
        unit="s",
        target=1.5,
        note=f"{seconds[0]:.1f} s the first time, which may compile",
    )


def every_policy() -> list[Row]:
    """Cost of a step of every policy on the pricing model."""
    rows = []
    env = Environment(pricing(), theta=0.4)
    for kind, policy in sorted(registered().items()):
        if kind == "cohort_design":  # for dose models
            continue
        made = policy(**ARGUMENTS.get(kind, {}))
        draw, (step,) = step_costs(env, [made], horizon=10_000, runs=20)
        rows.append(
            Row(
                name=f"{made.label}, one step",
                value=step * 1e9,
                unit="ns",
                target=None,
                note=f"{step / draw:.1f} times the draw of its reward",
            )
        )
    return rows


def run() -> list[Row]:
    """All of it."""
    env = Environment(pricing(), theta=0.4)
    draw, (wagp,) = step_costs(env, [gb.WAGP()])
    own_draw, (own,) = step_costs(Environment(own_curve(), theta=0.4), [gb.WAGP()])
    _, (many,) = step_costs(Environment(pricing(10_000), theta=0.4), [gb.WAGP()])
    return [
        Row(
            name="WAGP step ÷ drawing its reward, closed form",
            value=wagp / draw,
            unit="times",
            target=1.5,
            note=f"{wagp * 1e9:.1f} and {draw * 1e9:.1f} ns, pricing model, 12 arms",
        ),
        Row(
            name="WAGP step ÷ drawing its reward, own curve",
            value=own / own_draw,
            unit="times",
            target=2.5,
            note=f"{own * 1e9:.1f} and {own_draw * 1e9:.1f} ns, no closed-form inverse",
        ),
        Row(
            name="WAGP step with 10,000 arms ÷ with 12",
            value=many / wagp,
            unit="times",
            target=2.0,
            note=f"{many * 1e9:.1f} and {wagp * 1e9:.1f} ns",
        ),
        second_process(),
        *every_policy(),
    ]
