"""Elastic where the parameter may move: as described, and what it is good for."""

import json

import numpy as np
import pytest

import globalbandits as gb
from globalbandits.compiling.engine import Engine
from globalbandits.errors import PolicyError, StateError
from globalbandits.policies.base import Policy
from tests.policies.families import beta_reward, model_of
from tests.policies.states import assert_same_state
from tests.simulation.worlds import assert_same_bits, pricing, records_of

KEEP = (1.0, 1.0 - 1 / 1000, 1.0 - 1 / 200)


def learner_of(name="linear", seed=0, **options):
    return gb.Learner(gb.Elastic(drift=True, **options), model_of(name), seed=seed)


def some_rewards(n, n_arms, seed=0):
    """Means that change half-way."""
    rng = np.random.default_rng(seed)
    arms = rng.integers(n_arms, size=n)
    means = np.where(np.arange(n) < n // 2, 0.2 + 0.1 * arms, 0.75 - 0.1 * arms)
    return list(zip(arms.tolist(), beta_reward(means, rng.random(n)).tolist(), strict=True))


def test_scores_and_forgetting_are_as_described():
    learner, data = learner_of(), some_rewards(360, 6)
    views = (learner._state.still, learner._state.slow, learner._state.fast)
    scores = np.zeros(3)
    for step, (arm, reward) in enumerate(data):
        variance = views[0].posterior.noise.variances[arm]
        errors = np.array([reward - view.posterior.means[arm] for view in views])
        scores = 0.999 * scores - errors**2 / (2 * variance) - 0.001 * 9 * np.array([0, 1, 1])
        learner.update(arm, reward)
        if step % 50 == 49:
            assert learner._state.scores == pytest.approx(scores, rel=1e-9)
            assert learner._state.deciding[0] == scores.argmax()
    ages = np.arange(len(data))[::-1]
    arms, rewards = np.array([arm for arm, _ in data]), np.array([x for _, x in data])
    for keep, view in zip(KEEP, views, strict=True):
        weights = keep**ages
        for arm in range(6):
            mine = arms == arm
            assert view.seen.counts[arm] == pytest.approx(weights[mine].sum(), rel=1e-9)
            assert view.seen.sums[arm] == pytest.approx((weights * rewards)[mine].sum(), rel=1e-9)
        assert view.seen.total[0] == pytest.approx(weights.sum(), rel=1e-9)
    assert learner._state.deciding[0] > 0  # the means have changed
    shown = learner.explain()
    assert shown.details["window"] in (1000.0, 200.0)
    assert shown.choice == int(np.argmax(shown.details["indices"]))


@pytest.mark.parametrize("horizon", [None, 160])
def test_what_never_forgets_is_elastic_itself(horizon):
    moving = learner_of(horizon=horizon)
    plain = gb.Learner(gb.Elastic(horizon=horizon), model_of("linear"), seed=0)
    for arm, reward in some_rewards(120, 6, seed=1):
        moving.update(arm, reward)
        plain.update(arm, reward)
    mine, theirs = moving._state.still.posterior, plain._state
    for name in ("due", "horizons", "noise", "fit", "means", "indices"):
        one, other = getattr(mine, name), getattr(theirs, name)
        if isinstance(one, np.ndarray):
            np.testing.assert_array_equal(one, other, err_msg=name)
        else:
            assert_same_state(one, other)


def test_a_window_looks_no_further_than_the_game():
    learner = learner_of(horizon=120)
    for arm, reward in some_rewards(110, 6):
        learner.update(arm, reward)
    for view in (learner._state.slow, learner._state.fast):
        assert (view.posterior.horizons[:2] <= 120 - view.posterior.due[0] + 20).all()


def test_an_arm_that_was_left_long_ago_is_as_new():
    learner = learner_of()
    learner.update([1] + [0] * 40, [0.9] + [0.3] * 40)
    seen = learner._state.fast.seen
    seen.counts[1] *= 1e-7
    learner.update(0, 0.3)
    assert seen.counts[1] == seen.sums[1] == seen.squares[1] == 0.0
    assert np.isfinite(learner._state.fast.posterior.indices).all()


def test_compiled_and_interpreted_rules_give_the_same_bits():
    env = pricing(drift=gb.Jumps(times=(60,), values=(0.9,)))
    engine, policies = Engine(), [gb.Elastic(drift=True)]
    compiled = records_of(env, policies, 120, engine=engine)
    assert not engine.slow
    assert_same_bits(compiled, records_of(env, policies, 120, engine=Engine(interpreted=True)))


def test_it_follows_a_jump_and_loses_nothing_where_nothing_moves():
    policies = {"plain": gb.Elastic(), "moving": gb.Elastic(drift=True)}

    def regrets(drift):
        env = gb.Environment(model_of("pricing"), theta=0.3, drift=drift)
        result = gb.simulate(env, policies, 3000, runs=12, seed=4, checkpoints=[3000])
        return result.dataset["regret"].values[:, :, 0]

    plain, moving = regrets(gb.Jumps(times=(1500,), values=(0.85,)))
    assert moving.mean() < 0.5 * plain.mean()
    plain, moving = regrets(gb.Jumps(times=(1500,), values=(0.3,)))  # stays where it is
    excess = moving - plain
    assert excess.mean() < 1.0 + 4.0 * excess.std(ddof=1) / 12**0.5


def test_a_saved_learner_resumes_bit_for_bit():
    learner = learner_of()
    for arm, reward in some_rewards(60, 6):
        learner.update(arm, reward)
    again = gb.Learner.restore(
        learner.policy, learner.model, json.loads(json.dumps(learner.state()))
    )
    for each in (learner, again):
        each.update([0, 3, 3], [0.2, 0.4, 0.9])
    assert_same_state(again._state, learner._state)
    assert again.select() == learner.select()
    with pytest.raises(PolicyError, match="forget"):
        learner.forget(0, 0.2)


@pytest.fixture(scope="module")
def taught():
    learner = learner_of()
    for arm, reward in some_rewards(30, 6):
        learner.update(arm, reward)
    return learner


def _set(*path_and_value):
    *path, last, value = path_and_value

    def spoil(kept):
        for name in path:
            kept = kept[name]
        kept[last] = value

    spoil.__name__ = "_".join(map(str, path_and_value[:3]))
    return spoil


@pytest.mark.parametrize(
    "spoil",
    [
        _set("deciding", 0, 7),
        _set("scores", 0, 5.0),
        _set("still", "seen", "sums", 0, 0.01),
        _set("slow", "seen", "counts", 0, 500.0),
        _set("fast", "seen", "total", 0, 1.0),
        _set("fast", "posterior", "indices", 0, "nan"),
        _set("fast", "posterior", "fitted", "sums", 0, -3.0),
        _set("slow", "posterior", "due", 0, 1e9),
    ],
    ids=lambda spoil: spoil.__name__,
)
def test_impossible_states_are_refused(spoil, taught):
    learner = taught
    saved = json.loads(json.dumps(learner.state()))
    spoil(saved["kept"])
    with pytest.raises(StateError, match="kept must be fields that these statistics can lead to"):
        gb.Learner.restore(learner.policy, learner.model, saved)


def test_specs_and_refusals():
    policy = gb.Elastic(drift=True, horizon=500)
    assert Policy.from_dict(json.loads(json.dumps(policy.to_dict()))) == policy
    assert policy.label == "Elastic(horizon=500, drift=True)"
    with pytest.raises(PolicyError, match="drift must be True or False, got 1"):
        gb.Elastic(drift=1)
    with pytest.raises(PolicyError, match="proved must be False with a drift"):
        gb.Elastic(drift=True, proved=True)
