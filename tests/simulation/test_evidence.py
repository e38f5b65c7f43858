"""Statements that the compiled simulator records equal those of a live learner."""

import numpy as np
import pytest

from globalbandits._random import Stream, generator
from globalbandits.environments import Jumps
from globalbandits.policies import UCB1, WAGP, Learner
from globalbandits.simulation import simulate
from tests.simulation.worlds import pricing

HORIZON, SEED, TIMES = 200, 6, [4, 50, 200]


def learners(env, policy, thetas):
    """The live learner at the checkpoints, playing run 0."""
    rules, parameters = env.noise.rules, env.noise.parameters(env.model)
    uniforms = generator(Stream.REWARD, SEED).random(HORIZON)
    learner = Learner(policy, env.model, seed=generator(Stream.POLICY, SEED))
    for step, u in enumerate(uniforms):
        arm = learner.select()
        mean = env.model.means(thetas[step])[arm]
        shape = rules.prepare(parameters, arm, mean)
        learner.update(arm, rules.draw(parameters, arm, shape, u))
        if step + 1 in TIMES:
            yield learner


@pytest.mark.parametrize("policy", [WAGP(), UCB1()], ids=repr)
@pytest.mark.parametrize("jump", [None, 0.8], ids=["fixed", "moving"])
def test_a_learner_makes_the_same_statements(policy, jump):
    drift = None if jump is None else Jumps(times=[60], values=[jump])
    env = pricing(drift=drift)
    thetas = np.where((np.arange(1, HORIZON + 1) < 60) | (jump is None), 0.4, jump or 0.4)
    data = simulate(
        env, [policy], HORIZON, runs=1, seed=SEED, checkpoints=TIMES, evidence=True
    ).dataset.isel(policy=0, run=0)
    # A moving world reads means from tables, exact to about 1e-10: rewards may differ in the
    # last digits, and with them the recorded numbers.
    close = {"rel": 0.0, "abs": 0.0} if jump is None else {"rel": 1e-6, "abs": 1e-6}
    for at, learner in enumerate(learners(env, policy, thetas)):
        now = data.isel(time=at)
        interval = learner.interval()
        ends = (now["interval_low"].item(), now["interval_high"].item())
        assert ends == pytest.approx((interval.low, interval.high), nan_ok=True, **close)
        against = learner.evidence_against_model().log_e_value
        assert now["log_e_value"].item() == pytest.approx(against, **close)
        assert tuple(np.flatnonzero(now["contender"].values)) == learner.contenders().arms
    assert at == len(TIMES) - 1
