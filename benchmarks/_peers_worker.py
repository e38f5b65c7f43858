"""Seconds a step of UCB1 in other libraries, printed as JSON; runs in their environment.

Rewards are drawn beforehand and only looked up, which is in the libraries' favour. A library
that cannot be loaded is left out, with the reason.
"""

import json
import time
from collections.abc import Callable
from typing import Any

import numpy as np

PRICES = np.arange(8, 20) * 0.05
MEANS = PRICES * (1 - 0.4 * PRICES) ** 2
N_ARMS = len(MEANS)
REPEATS = 5


def rewards(horizon: int) -> list[list[float]]:
    """Bernoulli rewards of every arm at every step."""
    uniforms = np.random.default_rng(0).random((horizon, N_ARMS))
    table: list[list[float]] = (uniforms < MEANS).astype(float).tolist()
    return table


def play(select: Callable[[], Any], update: Callable[[Any, float], Any], horizon: int) -> float:
    """Seconds a step of one game."""
    table = rewards(horizon)
    begin = time.process_time()
    for row in table:
        arm = select()
        update(arm, row[arm])
    return (time.process_time() - begin) / horizon


def pymab_policy() -> float:
    """Its policy object."""
    from pymab.policies import UCBPolicy

    policy, rng = UCBPolicy(n_arms=N_ARMS), np.random.default_rng(0)
    return play(
        lambda: policy.select_action(rng=rng),
        lambda arm, reward: policy.update(action=arm, reward=reward),
        20_000,
    )


def pymab_experiment() -> float:
    """Its own simulator, with its compiled backend where it has one."""
    from pymab.distributions import BernoulliReward
    from pymab.environments import BanditEnvironment
    from pymab.policies import UCBPolicy
    from pymab.simulation import Experiment, ExperimentConfig

    horizon, runs = 10_000, 5
    experiment = Experiment(
        environment=BanditEnvironment(means=MEANS, reward_model=BernoulliReward()),
        policies={"ucb": UCBPolicy(n_arms=N_ARMS)},
        config=ExperimentConfig(horizon=horizon, n_replicates=runs, seed=0),
    )
    begin = time.process_time()
    experiment.run()
    return (time.process_time() - begin) / (horizon * runs)


def river_policy() -> float:
    """Its policy object; delta 1 is UCB1."""
    from river.bandit import UCB

    policy, arms = UCB(delta=1, seed=0), range(N_ARMS)
    return play(lambda: policy.pull(arms), policy.update, 10_000)


def smpybandits_policy() -> float:
    """Its policy object."""
    from SMPyBandits.Policies import UCB

    policy = UCB(N_ARMS)
    policy.startGame()
    return play(policy.choice, policy.getReward, 10_000)


def mabwiser_policy() -> float:
    """Its policy object, updated after every reward."""
    from mabwiser.mab import MAB, LearningPolicy

    policy = MAB(list(range(N_ARMS)), LearningPolicy.UCB1(alpha=1.0), seed=0)
    policy.fit(list(range(N_ARMS)), rewards(1)[0])
    return play(policy.predict, lambda arm, reward: policy.partial_fit([arm], [reward]), 1_000)


LIBRARIES = {
    "pymab, policy": pymab_policy,
    "pymab, simulator": pymab_experiment,
    "river": river_policy,
    "SMPyBandits": smpybandits_policy,
    "MABWiser": mabwiser_policy,
}


def main() -> None:
    """Best of several for each."""
    found: dict[str, Any] = {}
    for name, measure in LIBRARIES.items():
        try:
            found[name] = min(measure() for _ in range(REPEATS))
        except Exception as error:  # whatever another library does
            found[name] = f"{type(error).__name__}: {error}"
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
