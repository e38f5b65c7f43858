"""Contexts and available arms in the simulator, against games played step by step."""

import numpy as np
import pytest

import globalbandits as gb
from globalbandits._random import Stream, generator
from globalbandits.compiling.engine import Engine
from tests.simulation.worlds import assert_same_bits, records_of

PRICES = [0.4, 0.5, 0.6, 0.7, 0.8]
MODEL = gb.RewardModel(lambda theta, p: p * (1 - p * theta) ** 2, PRICES)
SHOP = gb.RewardModel(
    lambda theta, p: (1 - p * theta) ** 2, PRICES, value=lambda sold, p: (p - 0.1) * sold
)
SEGMENTS = gb.RewardModel(
    lambda theta, p, power: (1 - p * theta) ** power,
    PRICES,
    contexts={"home": 2.0, "abroad": 3.0, "shop": 1.5},
    value=lambda sold, p, power: (p - 0.1) * sold,
)
ROWS = np.array([[True, False, True, False, False], [False, True, False, False, True]])
SHARES = {"home": 0.5, "abroad": 0.3, "shop": 0.2}
WORLDS = {
    "a chance": gb.Environment(MODEL, 0.4, available=0.4),
    "a chance per arm": gb.Environment(SHOP, 0.4, available=[0.9, 0.1, 0.0, 0.5, 1.0]),
    "rows in turn": gb.Environment(MODEL, 0.4, available=ROWS),
    "a function of time": gb.Environment(MODEL, 0.4, available=lambda t: [t % 5, (t + 2) % 5]),
    "with a bias": gb.Environment(SHOP, 0.4, bias=gb.UniformBias(0.1), available=0.4),
    "with a drift": gb.Environment(SHOP, 0.4, drift=gb.RandomWalk(drift_time=50), available=0.4),
    "with a truth": gb.Environment(MODEL, truth=[0.2, 0.4, 0.3, 0.1, 0.35], available=0.4),
    "with a moving truth": gb.Environment(
        MODEL, truth=lambda time, arm: 0.3 + 0.2 * np.sin(time / 9 + 7 * arm), available=0.4
    ),
    "contexts": gb.Environment(SEGMENTS, 0.4, contexts=SHARES),
    "contexts in turn": gb.Environment(SEGMENTS, 0.4, contexts=["home", "home", "shop", "abroad"]),
    "contexts and chances": gb.Environment(SEGMENTS, 0.4, contexts=SHARES, available=0.5),
    "chances by context": gb.Environment(
        SEGMENTS, 0.4, contexts=SHARES, available=[[0.5] * 5, [1.0] * 5, [0.1] * 5]
    ),
}
POLICIES = [gb.WAGP(), gb.UCB1(), gb.ThompsonSampling()]
# A live step of Elastic takes a hundred times as long, so it plays where most comes together.
WITH_ELASTIC = ("a chance", "with a drift", "contexts and chances")


def offers_of(env, horizon, seed, run):
    """The context and the available arms of every round, one round after the other."""
    rng, law = generator(Stream.OFFER, seed, run), env.offers
    names = env.context_names or (None,)
    for time in range(1, horizon + 1):
        place = 0
        if isinstance(env.contexts, dict):
            u = rng.random()
            while place < len(names) - 1 and u >= sum(list(env.contexts.values())[: place + 1]):
                place += 1
        elif env.contexts is not None:
            place = names.index(env.contexts[(time - 1) % len(env.contexts)])
        arms = list(range(5))
        if callable(env.available):
            arms = sorted(env.available(time))
        elif env.available is ROWS:
            arms = np.flatnonzero(ROWS[(time - 1) % 2]).tolist()
        elif env.available is not None:
            chances = np.broadcast_to(env.available, (law.n_contexts, 5))[place]
            uniforms = rng.random(5)
            arms = [arm for arm in range(5) if uniforms[arm] < chances[arm]]
            if not arms:
                ratios = [u / c if c else np.inf for u, c in zip(uniforms, chances, strict=True)]
                arms = [int(np.argmin(ratios))]
        yield place, names[place], arms


def play(env, policy, horizon, times, seed, run):
    """One game with a live learner: pulls, regret at times, and regret by context."""
    cells, noise = env.of_cells, env.noise
    model, parameters = cells.model, noise.parameters(cells.model)
    learner = gb.Learner(policy, env.model, seed=0, compiled=False)
    rng = generator(Stream.POLICY, seed, run)
    uniforms = generator(Stream.REWARD, seed, run).random(horizon)
    moves = generator(Stream.DRIFT, seed, run).random(horizon)
    shifts = np.zeros(model.n_arms)
    if env.bias is not None:
        shifts = env.bias.shifts(model.n_arms, generator(Stream.BIAS, seed, run))
    theta, track = env.theta, None
    if env.drift is not None:
        track = env.drift.track(model.domain, env.theta)
    low, high = model.reward_range
    by_context, kept = np.zeros(max(1, len(env.context_names))), []
    for step, (place, name, arms) in enumerate(offers_of(env, horizon, seed, run)):
        if track is not None and step > 0:
            theta = env.drift.rules.move(track, step + 1, theta, moves[step])
        if callable(env.truth):
            means = np.array([env.truth(step + 1, arm) for arm in model.arms])
        elif env.truth is not None:
            means = cells.true_means()
        else:
            means = model.means(theta)
        means = np.clip(means + shifts, low, high)
        arm = learner.select(context=name, allowed=arms, rng=rng)
        first = place * 5
        worth = {k: float(model.worth_of(first + k, means[first + k])) for k in arms}
        shape = noise.rules.prepare(parameters, first + arm, means[first + arm])
        reward = noise.rules.draw(parameters, first + arm, shape, uniforms[step])
        learner.update(arm, float(reward), context=name)
        by_context[place] += max(worth.values()) - worth[arm]
        if step + 1 in times:
            kept.append(by_context.copy())
    return learner.pulls.ravel(), np.array(kept)


@pytest.mark.parametrize("kind", WORLDS)
def test_a_simulation_is_the_game_of_a_live_learner(kind):
    env, times = WORLDS[kind], [1, 20, 55, 80]
    policies = POLICIES + [gb.Elastic(horizon=80)] * (kind in WITH_ELASTIC)
    found = records_of(env, policies, 80, runs=2, seed=9, times=times)
    for at, policy in enumerate(policies):
        for run in range(2):
            pulls, regrets = play(env, policy, 80, times, 9, run)
            np.testing.assert_array_equal(found.pulls[at, run], pulls)
            np.testing.assert_allclose(found.regret[at, run], regrets.sum(axis=1), atol=1e-9)
            if env.context_names:
                np.testing.assert_allclose(found.context_regret[at, run], regrets, atol=1e-9)


@pytest.mark.parametrize("kind", ["contexts and chances", "with a drift", "a function of time"])
def test_blocks_and_interpreted_code_change_nothing(kind):
    policies = POLICIES[:2]
    whole = records_of(WORLDS[kind], policies, 60, runs=3)
    assert_same_bits(whole, records_of(WORLDS[kind], policies, 60, runs=3, block=16))
    plain = records_of(WORLDS[kind], policies, 60, runs=3, engine=Engine(interpreted=True))
    assert_same_bits(whole, plain)


def test_all_arms_available_change_nothing():
    free = records_of(gb.Environment(MODEL, 0.4), POLICIES, 80, runs=2)
    every = records_of(gb.Environment(MODEL, 0.4, available=1.0), POLICIES, 80, runs=2)
    np.testing.assert_array_equal(free.pulls, every.pulls)
    np.testing.assert_array_equal(free.choice, every.choice)
    np.testing.assert_allclose(free.regret, every.regret, atol=1e-12)


def test_a_result_has_the_regret_of_every_context():
    result = gb.simulate(WORLDS["contexts"], [gb.WAGP()], horizon=200, runs=3, checkpoints=4)
    data = result.dataset
    assert data["context"].values.tolist() == ["home", "abroad", "shop"]
    np.testing.assert_allclose(data["context_regret"].sum("context"), data["regret"], atol=1e-9)
    assert data["arm"].values[5] == "abroad: 0.4"
    assert (data["gap"].values.reshape(3, 5).min(axis=1) == 0.0).all()
    assert result.spec["environment"]["contexts"] == SHARES


def test_one_learner_for_all_contexts_loses_less_than_one_for_each():
    """Regret of 40 runs, measured: 8.6 ± 1.0 together, 16.8 ± 1.0 in four learners."""
    shares = {"north": 0.4, "east": 0.3, "south": 0.2, "west": 0.1}
    model = gb.RewardModel(
        "context * exp(-theta * arm)",
        [2.0, 3.0, 4.0, 5.0, 6.0, 7.0],
        domain=(0.1, 0.6),
        contexts={"north": 0.9, "east": 0.6, "south": 0.4, "west": 0.3},
        value="(arm - 1) * mean",
    )

    def regret(law, horizon, **parts):
        env = gb.Environment(law, 0.25, noise=gb.BernoulliNoise(), **parts)
        played = gb.simulate(env, [gb.WAGP()], horizon, 40, seed=1, checkpoints=1)
        return float(played.dataset["regret"].mean())

    together = regret(model, 2_000, contexts=shares)
    apart = sum(regret(model.in_context(name), int(2_000 * s)) for name, s in shares.items())
    assert together < 0.75 * apart


class Stubborn(gb.Policy):
    rules = gb.UCB1.rules._replace(select_among=None)

    def setup(self, model):
        return gb.UCB1().setup(model)


@pytest.mark.parametrize("kind", ["a chance", "contexts"])
def test_a_policy_that_cannot_choose_among_some_arms_is_refused_by_name(kind):
    with pytest.raises(gb.PolicyError, match="Stubborn cannot choose among some of the arms"):
        gb.simulate(WORLDS[kind], [Stubborn()], horizon=10, runs=1)


@pytest.mark.parametrize(
    ("model", "parts", "message"),
    [
        (MODEL, {"contexts": {"home": 1.0}}, "contexts must be None for a model without contexts"),
        (SEGMENTS, {"contexts": {"home": 0.5}}, "contexts must have shares that sum to 1"),
        (SEGMENTS, {"contexts": {"sea": 1.0}}, "contexts must be among 'home', 'abroad', 'shop'"),
        (SEGMENTS, {"contexts": ["home", "sea"]}, "names in turn, of 'home', .* got 'sea'"),
        (SEGMENTS, {"contexts": []}, "contexts must be a dict of shares"),
        (MODEL, {"available": 1.5}, r"available must be chances in \[0, 1\], got 1.5"),
        (MODEL, {"available": [0.5, 0.5]}, "available must be a chance, one chance per arm"),
        (MODEL, {"available": 0.0}, "a chance of at least 0.001 in every context"),
        (MODEL, {"available": [[False] * 5]}, "have an arm in every row, got 'row 0'"),
        (MODEL, {"available": lambda time: []}, "return one True or False per arm"),
        (MODEL, {"available": lambda time: [7]}, "return one True or False per arm"),
        (MODEL, {"available": "all"}, "available must be a chance"),
        (SEGMENTS, {"truth": [0.1] * 5}, r"truth must be an array of shape \(contexts, arms\)"),
    ],
)
def test_bad_offers_are_refused(model, parts, message):
    with pytest.raises(gb.ScenarioError, match=message):
        gb.Environment(model, 0.4, **parts)
