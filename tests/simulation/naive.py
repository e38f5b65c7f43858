"""A simulation written straight down: one step after the other, nothing drawn ahead or shared."""

import numpy as np

from globalbandits._random import Stream, generator
from globalbandits.evidence.histogram import add, empty
from globalbandits.simulation.play.job import Records
from globalbandits.statistics import count, no_statistics


def naive_records(
    env, policies, horizon, times, *, runs, seed, first_run=0, evidence=False, batch=1
):
    """What the simulator should record, from the parts' own functions and NumPy's generators."""
    per_run = [
        [_play(env, policy, horizon, times, seed, first_run + run, batch) for policy in policies]
        for run in range(runs)
    ]

    def stack(name):
        return np.array([[run[at][name] for run in per_run] for at in range(len(policies))])

    n_arms = env.model.n_arms
    histograms = stack("histograms")
    return Records(
        regret=stack("regret"),
        nominal_regret=stack("nominal_regret"),
        estimate=stack("estimate"),
        pulls=stack("pulls"),
        last_suboptimal=stack("last_suboptimal"),
        choice=stack("choice"),
        stopped=np.zeros((len(policies), runs), np.int64),
        stop_reason=np.zeros((len(policies), runs), np.int64),
        theta=np.array([run[0]["theta"] for run in per_run])[:, : len(times) if env.drift else 0],
        bias=np.array([run[0]["bias"] for run in per_run])[:, : n_arms if env.bias else 0],
        histograms=histograms if evidence else histograms[:, :, :0],
        context_regret=np.zeros((len(policies), runs, len(times), 0)),
    )


def _delayed(env, arm, reward, u):
    """Rounds until a reward is known, None for never, and the reward as it is reported."""
    if env.delay is None:
        return 0, reward
    delay = env.delay.rules.draw(env.delay.parameters(env.model.n_arms), arm, u)
    deadline = env.delay.deadline
    if deadline is None:
        return (None if delay < 0 else delay), reward
    in_time = reward > 0.0 and 0 <= delay <= deadline
    return (delay, reward) if in_time else (deadline, 0.0)


def _play(env, policy, horizon, times, seed, run, batch=1):
    model, noise = env.model, env.noise
    parameters = noise.parameters(model)
    low, high = model.reward_range
    uniforms = generator(Stream.REWARD, seed, run).random(horizon)
    moves = generator(Stream.DRIFT, seed, run).random(horizon)
    late = generator(Stream.DELAY, seed, run).random(horizon)
    waiting = []  # (step in which the delay is over, arm, reward), in the order of decisions
    shifts = np.zeros(model.n_arms)
    if env.bias is not None:
        shifts = env.bias.shifts(model.n_arms, generator(Stream.BIAS, seed, run))
    track = None if env.drift is None else env.drift.track(model.domain, env.theta)
    rules, setup, rng = policy.rules, policy.setup(model), generator(Stream.POLICY, seed, run)
    stats, state, histogram = no_statistics(model.n_arms), rules.init(setup), empty(model.n_arms)
    theta, regret, nominal_regret, last_suboptimal = env.theta, 0.0, 0.0, 0
    pulls = np.zeros(model.n_arms, np.int64)
    kept = {name: [] for name in ("regret", "nominal_regret", "estimate", "theta", "histograms")}
    for step in range(horizon):
        if track is not None and step > 0:
            theta = env.drift.rules.move(track, step + 1, theta, moves[step])
        arm = int(rules.select(setup, stats, state, rng))
        means = model.means(theta)
        paid = np.clip(means + shifts, low, high)
        worth = np.array([float(model.worth_of(k, paid[k])) for k in range(model.n_arms)])
        shape = noise.rules.prepare(parameters, arm, (paid[arm] - low) / (high - low))
        reward = noise.rules.draw(parameters, arm, shape, uniforms[step])
        if rules.decide is not None:
            rules.decide(setup, stats, state, arm)
        delay, reward = _delayed(env, arm, reward, late[step])
        if delay is not None:
            waiting.append((step + delay, arm, reward))
        if (step + 1) % batch == 0 or step + 1 == horizon:
            known = [entry for entry in waiting if entry[0] <= step]
            waiting = [entry for entry in waiting if entry[0] > step]
            for _, known_arm, known_reward in known:
                count(stats, known_arm, known_reward)
                add(histogram, known_arm, known_reward, 1.0)
                rules.update(setup, stats, state, known_arm, known_reward)
        pulls[arm] += 1
        regret += worth.max() - worth[arm]
        nominal_regret += model.gaps(theta)[arm]
        if worth.max() - worth[arm] > 1e-9:
            last_suboptimal = step + 1
        if step + 1 in times:
            kept["regret"].append(regret)
            kept["nominal_regret"].append(nominal_regret)
            kept["estimate"].append(rules.estimate(setup, stats, state))
            kept["theta"].append(theta)
            kept["histograms"].append(histogram.counts.copy())
    return {
        **kept,
        "pulls": pulls,
        "last_suboptimal": last_suboptimal,
        "choice": int((rules.recommend or rules.select)(setup, stats, state, rng)),
        "bias": shifts,
    }
